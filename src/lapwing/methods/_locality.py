"""Methods that keep neighbours together."""

from __future__ import annotations

from typing import Any, ClassVar

from ..graphs import KNN, Graph
from ..problem import ORTHOGONAL, Problem, degree_sum, laplacian_sum
from ..reducers import Graphs, LinearReducer, Rules, linked
from ..rows import Rows
from .about import About

NEIGHBORS = "L of a neighbour graph"


def locality(data: Rows, graphs: Graphs, constraint: str = "matrix") -> Problem:
    """The problem of LPP, whatever the map: L over D, or over the Laplacian of ``penalty``, as ``constraint`` puts it."""
    terms, penalty, ratio = (
        linked("graph", graphs.graph, data, graphs.equal_say),
        graphs.penalty,
        constraint == "trace-ratio",
    )
    if constraint == "orthogonal":
        if penalty is not None:
            raise ValueError(
                f'penalty={penalty!r} has no part in constraint="orthogonal"; use constraint="trace-ratio", or subtract it from '
                "graph="
            )
        return Problem(terms, ORTHOGONAL)
    if penalty is None:
        return Problem(terms, degree_sum(terms), ratio=ratio)
    return Problem(terms, laplacian_sum(linked("penalty", penalty, data)), ratio=ratio)


class LPP(LinearReducer):
    r"""Locality Preserving Projections.

    .. math::
        \min_V \operatorname{tr}(V^\top X^\top L X V)
        \quad\text{subject to}\quad V^\top X^\top D X V = I                          \tag{1}

    with L = D - W the Laplacian of a graph of neighbours and D its degrees: linked samples stay close [1]_. Labels act through
    the graph: ``graph="supervised"`` is linear discriminant analysis with a ridge (without one, and with ``pca=None``, it is
    linear discriminant analysis itself), and ``graph="semi"`` is for labels of which some are unknown. After a projection on
    principal components, on faces, it is known as Laplacianfaces [2]_.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        Directions to keep, those of the smallest eigenvalues; None keeps all there are (``rank_``). Asking for more directions
        than there are raises an error. ``"auto"`` is the number of classes minus one, where classes alone say what attracts.
        A float between 0 and 1 keeps as many directions as it takes to hold this share of the objective: of the sum of
        :math:`1 - \lambda` over all eigenvalues below 1, which is the weight of the links, :math:`\operatorname{tr}(V^\top X^\top
        W X V)`, that the directions keep. With ``penalty`` there is no such sum, and a float raises.
    graph : None, int, "supervised", "semi", graph or matrix, default=None
        What attracts (and, with a negative sign, repels). None is ``KNN(5)``, an integer k is ``KNN(k)``, ``"supervised"`` is
        ``SameClass()``, ``"semi"`` is ``KNN(5) + SameClass()`` (-1 marks an unknown label), a matrix W is ``Precomputed(W)``;
        any graph of :mod:`lapwing.graphs` will do. Of more than 100,000 rows, None, k and ``"semi"`` search for the neighbours
        of a sample of 20,000 rows (``sampling_`` says how certain the result is); ``KNN(5)`` searches for those of all rows.
    penalty : None, int, graph or matrix, default=None
        The ratio form: the Laplacian of this graph takes the place of D in (1), so that what it links is kept apart. An
        integer k is ``Repulsion(k)``.
    constraint : {"matrix", "orthogonal", "trace-ratio"}, default="matrix"
        What the directions are subject to. ``"matrix"`` is (1). ``"orthogonal"`` is :math:`V^\top V = I`, the problem of
        :class:`OLPP`. ``"trace-ratio"`` takes orthogonal directions and the quotient of both traces,

        .. math:: \min_V \frac{\operatorname{tr}(V^\top X^\top L X V)}{\operatorname{tr}(V^\top X^\top D X V)}
            \quad\text{subject to}\quad V^\top V = I                                            \tag{2}

        or that over the Laplacian of ``penalty``, within the row space of the centred data; Newton's method finds its least
        value [3]_, and not that of the ratios one by one, as (1) does. With ``graph="supervised"`` it is the trace-ratio form of
        discriminant analysis. Neither takes a ridge, and ``scaling`` is ``"unit"``. With ``"orthogonal"``, ``pca="auto"`` keeps
        as few directions as that of :class:`OLPP`.
    pca : "auto", None, int or float, default="auto"
        Projection on principal components first. A float in (0, 1] is the share of the variance to keep, an integer the
        number of directions, None keeps all. Without it the smallest eigenvalues belong to noise, unless a ridge takes its
        place. ``"auto"`` keeps all directions where ``ridge`` is above 0. Otherwise it keeps 90 % of the variance, and at
        least 1.25 directions per component. The graph is built before the projection.
    center : "auto", "mean", "degree" or False, default="auto"
        What is subtracted. ``"auto"`` is the mean weighted by the degrees D, which keeps the constant embedding out of (1),
        and the plain mean where there are no degrees (``penalty``).
    scaling : {"auto", "unit", "constraint", "objective"}, default="auto"
        Length of the directions: unit vectors, such that the constraint (1) holds, or such that the objective, with the ridge
        beside it, is 1. For a graph of classes the last one is a variance of 1 within classes, which discriminant analysis has
        too. The space that the directions span is the same, the distances in it are not. ``"auto"`` is ``"objective"`` where
        classes alone attract, nothing repels, and the variance is spread over fewer than 12.5 directions. It is
        ``"constraint"`` where no labels attract and a few directions of X hold most of its variance, as light does in pictures
        of faces (three principal directions more than 58 %, while 98 % take more than 40). Elsewhere it is ``"unit"``
        (docs/defaults.md).
    ridge : "auto" or float, default="auto"
        Adds a multiple of the identity to the constraint, so that directions of little variance do not win by chance: this
        number times the mean eigenvalue of :math:`X^\top D X`. What X does not see goes to the graph's mean eigenvalue (1 for L
        and D). ``"auto"`` is 0 where ``pca`` is a number. On sparse X with more than 4,000 rows and columns, where the problem
        is solved by operators alone, it is 30 (0 with ``penalty`` or ``normalize="trace"``). On other X it is above 0 only where
        ``pca`` is ``"auto"``, labels attract and nothing repels: 0.3 if labels and neighbours attract; if labels alone attract,
        the number of directions that the variance is spread over, divided by 50, and at most 1 (docs/defaults.md).
    normalize : {"auto", None, "degree", "trace"}, default="auto"
        How graphs that are added up compare. ``"degree"`` scales each one that attracts, except :class:`~lapwing.graphs.Pairs`,
        so that its degrees add up to the number of samples: in ``KNN(5) + SameClass()`` both then have an equal say. ``"auto"``
        does so where ``graph=`` adds two or more of them. ``"trace"`` scales the matrix of each graph to trace 1. None takes
        the weights as they are.
    standardize : {"auto", True, False}, default="auto"
        Whether columns are divided by their standard deviations. ``"auto"`` does so, with a warning, where they seem to be in
        different units: where the largest deviation is more than 10 times the median one. It leaves alone columns that come by
        falling deviation, as those of a PCA do, columns of a sparse X that are mostly zeros, and X whose distances are not
        Euclidean.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions. Of each, the entry of largest absolute value (the first of several) is positive.
    mean_ : ndarray of shape (n_features,)
        What :meth:`transform` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by; ``components_`` are for X as given, and ``components_ * scale_`` are the directions
        among the divided columns. None where X was taken as it is.
    eigenvalues_ : ndarray of shape (n_components,)
        Ascending; with ``"trace-ratio"``, of :math:`X^\top (L - \rho D) X` at the least ratio :math:`\rho`: they add up to 0.
    trace_ratio_ : float
        With ``constraint="trace-ratio"``, :math:`\rho`, the least value of (2).
    explained_ratio_ : ndarray of shape (n_components,) or None
        Of the variance of X (with columns divided by ``scale_``, where there is one), the share that each direction adds to what
        the directions before it hold: that along the part of it that is orthogonal to them. The sum is the share that
        :meth:`inverse_transform` can restore. None where X is sparse and read in blocks.
    rank_ : int or None
        How many directions the data and the constraint leave; None where finding it would need a dense n x n matrix. A
        column ten million times smaller than another counts as constant, so scale such columns first.
    n_pca_ : int or None
        Principal directions kept; None where the projection was not needed.
    n_connected_components_ : int or None
        Of the graph that attracts; None where only a sample of its links was built.
    graph_ : Graph
        The graph that was used.
    solver_ : str
        The solver that was used.
    certificate_ : Certificate
        How well the solution solves its problem: residual, constraint, gap (:class:`lapwing.Certificate`).
    sampling_ : dict or None
        Where the graph has ``queries``, how certain the result is (docs/scaling.md): ``excess``, by how much, as a share, the
        objective is estimated to miss that of the graph of all rows; ``held_out`` and ``in_sample``, the objective of the
        directions that one half of the links found, on the other half and on their own; ``angle``, the largest between the
        subspaces of the halves.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    OLPP : The same with orthogonal directions.
    NPE : Keeps the shape of neighbourhoods.

    References
    ----------
    .. [1] X. He and P. Niyogi, "Locality Preserving Projections", Advances in Neural Information Processing Systems 16,
       2003; X. He's thesis of the same title, University of Chicago, 2005, chapter 2.
    .. [2] X. He, S. Yan, Y. Hu, P. Niyogi and H.-J. Zhang, "Face recognition using Laplacianfaces", IEEE Trans. Pattern
       Analysis and Machine Intelligence 27, 2005. https://doi.org/10.1109/TPAMI.2005.55
    .. [3] T. T. Ngo, M. Bellalij and Y. Saad, "The trace ratio optimization problem", SIAM Review 54, 2012.
       https://doi.org/10.1137/120864799

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN, Repulsion, SameClass
    >>> X, y = load_digits(return_X_y=True)
    >>> LPP(10, graph=7).fit_transform(X).shape
    (1797, 10)
    >>> LPP("auto", graph="supervised").fit(X, y).components_.shape
    (9, 64)
    >>> LPP(10, graph=KNN(7) + SameClass() - 0.2 * Repulsion(15)).fit(X, y).components_.shape
    (10, 64)
    """

    about = About("neighbours", NEIGHBORS, "D", ("dense", "sparse"))
    _takes_sparse_blocks: ClassVar[bool] = True

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        graph: Any = None,
        penalty: Any = None,
        constraint: str = "matrix",
        pca: Any = "auto",
        center: Any = "auto",
        scaling: str = "auto",
        ridge: Any = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
    ):
        super().__init__(
            n_components, graph=graph, pca=pca, center=center, normalize=normalize, standardize=standardize
        )
        self.penalty = penalty
        self.constraint = constraint
        self.scaling = scaling
        self.ridge = ridge

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors)

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return locality(data, graphs, self.constraint)  # (1), (2)


class OLPP(LinearReducer):
    r"""Orthogonal Locality Preserving Projections.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top L X V) \quad\text{subject to}\quad V^\top V = I       \tag{1}

    within the row space of the centred data [1]_. Not the method of the same name that orthogonalises Laplacianfaces one by
    one. With the class graph and repulsion it is OLPP-R [2]_:
    ``OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace")``.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        As in :class:`LPP`; a float between 0 and 1 is a share of the least value that (1) takes for any number of directions,
        the sum of all negative eigenvalues, so that something must repel: with ``graph=-Complete()`` it is the share of the
        variance, as in PCA.
    graph : None, int, "supervised", "semi", graph or matrix, default=None
        As in :class:`LPP`: None is ``KNN(5)``, an integer k is ``KNN(k)``.
    pca, center, normalize, standardize
        As in :class:`LPP`. Directions of little variance have small eigenvalues whatever the graph, so ``pca`` decides much:
        ``"auto"`` keeps 1.25 directions per component (all, where labels alone say what attracts and classes have fewer than ten
        samples on average). The first directions of a fit with more components are therefore not those of one with fewer,
        unless ``pca`` is given.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows; with ``scale_``, those of ``components_ * scale_``.
    mean_, scale_, eigenvalues_, explained_ratio_, rank_, n_pca_, n_connected_components_, graph_, solver_, sampling_
        As in :class:`LPP`.
    certificate_
        As in :class:`LPP`.

    References
    ----------
    .. [1] E. Kokiopoulou and Y. Saad, "Orthogonal neighborhood preserving projections: a projection-based dimensionality
       reduction technique", IEEE Trans. Pattern Analysis and Machine Intelligence 29, 2007.
       https://doi.org/10.1109/TPAMI.2007.1131
    .. [2] E. Kokiopoulou and Y. Saad, "Enhanced graph-based dimensionality reduction with repulsion Laplaceans", Pattern
       Recognition 42, 2009. https://doi.org/10.1016/j.patcog.2009.04.005

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import OLPP
    >>> from lapwing.graphs import Repulsion, SameClass
    >>> X, y = load_digits(return_X_y=True)
    >>> olpp_r = OLPP(15, graph=SameClass() - 0.2 * Repulsion(15), normalize="trace").fit(X, y)
    >>> olpp_r.inverse_transform(olpp_r.transform(X)).shape
    (1797, 64)
    """

    about = About("neighbours", NEIGHBORS, "orthogonal", ("dense",))
    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energies=(0.0, 1.0))  # the fewer directions the better, until it is PCA

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors)

    def _problem(self, data: Rows, graphs: Graphs) -> Problem:
        return Problem(self._terms(data, graphs), ORTHOGONAL)  # (1)
