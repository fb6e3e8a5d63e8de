"""Methods that keep neighbours together."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import ArrayLike

from ..auto import GraphFacts, Rules
from ..data import Data
from ..graphs import KNN, Graph
from ..problem import ORTHOGONAL, Problem
from ..reducers import LinearReducer
from .about import About

NEIGHBORS = "L of a neighbour graph"


class LPP(LinearReducer):
    r"""Locality Preserving Projections: a linear map that keeps linked samples, such as neighbours, close.

    A graph says which samples are linked. The map takes a sample to its coordinates along a few directions, the columns of V,
    and the directions are chosen so that linked samples have similar coordinates [1]_:

    .. math::
        \min_V \operatorname{tr}(V^\top X^\top L X V)
        \quad\text{subject to}\quad V^\top X^\top D X V = I                          \tag{1}

    The rows of X are the samples. W holds the weights of the links, the diagonal matrix D their row sums (the degrees), and
    L = D - W is the Laplacian of the graph.

    Labels act through the graph. ``graph="supervised"`` is linear discriminant analysis with a
    ridge; without a ridge, and with ``pca=None``, it is linear discriminant analysis itself. ``graph="semi"`` is for labels
    of which some are unknown. After a projection on principal components, on faces, the method is known as Laplacianfaces
    [2]_.

    What ``"auto"`` stands for in each case is on the page "Defaults" of the documentation, with the measurements behind it.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        How many directions to keep, those of the smallest eigenvalues first. None keeps all that there are (``rank_``). Asking
        for more directions than there are raises an error.

        ``"auto"`` keeps one fewer than there are classes, and is for graphs of classes alone. A float between 0 and 1 is a
        share of what all directions together reach.
    graph : None, int, "supervised", "semi", graph or matrix, default=None
        Which samples attract each other and, with a negative sign, which repel each other. It may be a number of neighbours, a
        word, a graph of :mod:`lapwing.graphs`, or a matrix W of weights, which stands for ``Precomputed(W)``.

        None is ``KNN(5)``, and an integer k is ``KNN(k)``. ``"supervised"`` is ``SameClass()``, and ``"semi"`` is
        ``KNN(5) + SameClass()``, for labels of which some are unknown (-1). With more than 100,000 rows (2,000,000 of a
        tensor on a GPU), None, k and ``"semi"`` search for the neighbours of a sample of 20,000 rows.
    penalty : None, int, graph or matrix, default=None
        Which samples are kept apart: the Laplacian of this graph takes the place of D in (1). An integer k is ``Repulsion(k)``.
        None keeps D.
    constraint : {"matrix", "orthogonal", "trace-ratio"}, default="matrix"
        What the directions are subject to. ``"matrix"`` is (1). ``"orthogonal"`` is :math:`V^\top V = I`, the problem of
        :class:`OLPP`. ``"trace-ratio"`` takes orthogonal directions and the least quotient of both traces [3]_,

        .. math:: \min_V \frac{\operatorname{tr}(V^\top X^\top L X V)}{\operatorname{tr}(V^\top X^\top D X V)}
            \quad\text{subject to}\quad V^\top V = I                                            \tag{2}

        or that over the Laplacian of ``penalty``. With either of them there is no ridge, and ``scaling`` is ``"unit"``.
    pca : "auto", None, int or float, default="auto"
        How many principal directions of X the method may use. A float in (0, 1] is the share of the variance to keep, an
        integer is the number of directions, and None keeps all. The graph is built before the projection.

        ``"auto"`` keeps all where there is a ridge, or where labels alone attract and classes are small; otherwise it keeps 90 %
        of the variance, and at least 1.25 directions per component.
    center : "auto", "mean", "degree" or False, default="auto"
        What is subtracted from the samples. ``"mean"`` is their mean, and False subtracts nothing.

        ``"degree"`` is the mean weighted by the degrees D of the graph, which keeps the constant embedding out of the answer.
        ``"auto"`` is ``"degree"`` where the constraint has degrees, and ``"mean"`` elsewhere, where ``"degree"`` raises an error.
    scaling : {"auto", "unit", "constraint", "objective"}, default="auto"
        How long the directions are, which matters to distances. ``"unit"`` makes them unit vectors. ``"constraint"`` makes the
        constraint above hold. ``"objective"`` makes the objective, with the ridge beside it, 1 along each direction.

        ``"auto"`` chooses by how the variance is spread over directions.
    ridge : "auto" or float, default="auto"
        How strongly directions of little variance are kept from winning by chance. This number, times the mean eigenvalue of
        the constraint's matrix, is added to the diagonal of that matrix. 0 adds nothing.

        ``"auto"`` is above 0 where labels attract and nothing repels, and on large sparse X.
    normalize : {"auto", None, "degree", "trace"}, default="auto"
        How much each graph counts where ``graph=`` adds up several. ``"degree"`` scales each one that attracts, except
        :class:`~lapwing.graphs.Pairs`, so that all have an equal say, ``"trace"`` scales the matrix of each graph to trace 1,
        and None takes the weights as they are. ``"auto"`` is ``"degree"`` where two or more attract, and None otherwise.
    standardize : {"auto", True, False}, default="auto"
        Whether columns are divided by their standard deviations. ``"auto"`` does so, with a warning, where they seem to be in
        different units: where the largest deviation is more than 10 times the median one.
    verbose : bool or None, default=None
        Whether a line says how far the work has come and how long it will take, where rows are read from disk or a cluster.
        None shows it on a terminal and in a notebook, once the work takes longer than two seconds. True always shows it, and
        False never.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, one per row. Their sign is chosen so that, in each row, the entry of largest absolute value (the first
        of several) is positive.
    mean_ : ndarray of shape (n_features,)
        What :meth:`transform` subtracts.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by; None where X was taken as it is. ``components_`` are for X as given, and
        ``components_ * scale_`` are the directions among the divided columns.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalue of each direction, in ascending order.

        With ``constraint="trace-ratio"`` they are those of :math:`X^\top (L - \rho D) X` at the least ratio :math:`\rho`, and
        add up to 0.
    trace_ratio_ : float
        The least ratio, :math:`\rho`, that the directions attain. Set only with ``constraint="trace-ratio"``.
    explained_ratio_ : ndarray of shape (n_components,) or None
        The share of the variance of X that each direction adds to what the directions before it hold. The sum is the share
        that :meth:`inverse_transform` can restore. Where there is a ``scale_``, it is the variance of the divided columns.
        None where X is sparse and read in blocks.
    rank_ : int or None
        How many directions the data and the constraint leave. None where finding it would need a dense matrix of n x n. A
        column ten million times smaller than another counts as constant, so scale such columns first.
    n_pca_ : int or None
        How many principal directions were kept; None where the projection was not needed.
    n_connected_components_ : int or None
        How many pieces the graph that attracts falls into; None where only a sample of its links was built.
    graph_ : Graph
        The graph that was used.
    settings_ : dict
        What was decided in this fit where a parameter leaves it to the data, as ``"auto"`` does, by the name of the parameter.
    solver_ : str
        The name of the solver that was used.
    certificate_ : Certificate
        How well the solution solves its problem, checked after the fit: the residual, the error of the constraint, and the
        gap to the next eigenvalue (:class:`lapwing.Certificate`).
    n_samples_seen_ : float
        How many samples :meth:`partial_fit` has seen, each counted by its weight. Set only by ``partial_fit``.
    moments_ : dict
        The sums over rows that :meth:`partial_fit` keeps in the place of the rows. Set only by ``partial_fit``.
    n_features_in_ : int
        The number of features that :meth:`fit` has seen.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features. Set only where X had names that are all strings, as a data frame has.

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
    _reads_links_alone: ClassVar[bool] = True
    default_graph: ClassVar[Any] = KNN

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        penalty: Graph | int | ArrayLike | None = None,
        constraint: str = "matrix",
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        scaling: str = "auto",
        ridge: float | str = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        self.n_components = n_components
        self.graph = graph
        self.penalty = penalty
        self.constraint = constraint
        self.pca = pca
        self.center = center
        self.scaling = scaling
        self.ridge = ridge
        self.normalize = normalize
        self.standardize = standardize
        self.verbose = verbose

    # Equations (1) and (2) are the problem of every estimator that has none of its own: Reducer._problem.


class OLPP(LinearReducer):
    r"""Orthogonal Locality Preserving Projections: :class:`LPP` with orthogonal directions.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top L X V) \quad\text{subject to}\quad V^\top V = I       \tag{1}

    within the row space of the centred data, with L the Laplacian of a graph [1]_. Another method of the same name
    orthogonalises Laplacianfaces one by one; this is not that method. With the class graph and repulsion it is OLPP-R [2]_:
    ``OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace")``.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        As in :class:`LPP`. ``"auto"`` keeps one fewer than there are classes. It is for graphs of classes alone, such as
        ``graph="supervised"``, and raises an error with others. A float between 0 and 1 keeps as many directions as it takes to
        hold this share of the objective. The whole of it is the sum of all negative eigenvalues, the least value that (1) takes
        for any number of directions. So something must repel: with ``graph=-Complete()`` it is the share of the variance, as in
        PCA.
    graph
        As in :class:`LPP`.
    pca
        As in :class:`LPP`. ``"auto"`` keeps 1.25 directions per component, and all of them where labels alone say what attracts
        and classes have fewer than ten samples on average. Directions of little variance have small eigenvalues whatever the
        graph is, so ``pca`` matters much here. The first directions of a fit with more components are not those of a fit with
        fewer, unless ``pca`` is given.
    center : "auto", "mean" or False, default="auto"
        As in :class:`LPP`. ``"auto"`` is ``"mean"``.
    normalize, standardize, verbose
        As in :class:`LPP`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The directions, orthonormal rows. Where there is a ``scale_``, the rows of ``components_ * scale_`` are.
    mean_, scale_
        As in :class:`LPP`.
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalue of each direction, in ascending order.
    explained_ratio_, rank_, n_pca_
        As in :class:`LPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.
    n_samples_seen_, moments_
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
    default_graph: ClassVar[Any] = KNN
    _orthogonal: ClassVar[bool] = True
    _rules: ClassVar[Rules] = Rules(energy=0.0)  # fewer directions do better; with the fewest it is PCA

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return Problem(self._terms(data, graphs), ORTHOGONAL)  # (1)
