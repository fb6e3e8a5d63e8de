"""Methods that need labels."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..auto import GraphFacts, Rules, Settings
from ..data import Data
from ..graphs import KNN, ClosestPairs, Complete, Graph, LocalClass, OtherClass, SameClass
from ..maps import Coordinates
from ..problem import ORTHOGONAL, Problem, degree_sum, laplacian_sum
from ..reducers import Found, LinearReducer, build_terms
from .about import About
from .locality import LPP


class Supervised:
    """Methods that cannot do without labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags


class OfClasses(Supervised):
    """Methods whose graphs are always of classes, so that ``sample_weight`` always acts, and stands in the signature."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn the map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples. They may also be rows on disk or on a cluster: a numpy.memmap larger than scikit-learn's
            ``working_memory``, a Parquet data set of pyarrow, a Zarr array, or a dask array.
        y : array-like of shape (n_samples,)
            Class labels, -1 where unknown. For a Parquet data set it may also be the name of the column of labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How many samples each row stands for. A weight of 2 is the row twice, a weight of 0 is no such row, and fractions
            are in between.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight=sample_weight)  # type: ignore[misc]


class MMC(OfClasses, LinearReducer):  # type: ignore[misc]
    r"""Maximum Margin Criterion: a linear map that draws classes apart and each class together.

    .. math:: \max_V \operatorname{tr}(V^\top (S_b - S_w) V) \quad\text{subject to}\quad V^\top V = I     \tag{1}

    with the scatter :math:`S_b` between the classes and :math:`S_w` within them, of the samples that have a label [1]_. No
    matrix is inverted, so that it also works with fewer samples than features.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        As in :class:`LPP`. ``"auto"`` keeps one fewer than there are classes. A float between 0 and 1 keeps as many directions
        as it takes to hold this share of the largest value of (1), the sum of all positive eigenvalues of :math:`S_b - S_w`.
    pca
        As in :class:`LPP`. ``"auto"`` keeps 99 % of the variance, and all of it where classes have fewer than ten samples on
        average.
    center, standardize
        As in :class:`OLPP`.
    verbose
        As in :class:`LPP`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of :math:`S_w - S_b`, in ascending order. A negative one belongs to a direction along which classes
        differ more than they vary.
    components_, mean_, scale_, explained_ratio_, rank_, n_pca_
        As in :class:`OLPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`OLPP`.
    n_samples_seen_, moments_
        As in :class:`OLPP`.

    References
    ----------
    .. [1] H. Li, T. Jiang and K. Zhang, "Efficient and robust feature extraction by maximum margin criterion", IEEE Trans.
       Neural Networks 17, 2006. https://doi.org/10.1109/TNN.2005.860852

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import MMC
    >>> MMC(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "S_w − S_b", "orthogonal", ("dense", "sparse"))
    _orthogonal: ClassVar[bool] = True
    # The margin overfits less than neighbourhoods do, so that most directions are kept.
    _rules: ClassVar[Rules] = Rules(energy=0.99, small_energy=1.0)

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        self.n_components = n_components
        self.pca = pca
        self.center = center
        self.standardize = standardize
        self.verbose = verbose

    def default_graph(self, n_neighbors: int) -> Graph:
        return SameClass() * 2 - Complete(among="labelled")  # S_w - S_b, since S_b = S_t - S_w

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return Problem(self._terms(data, graphs), ORTHOGONAL)  # (1)


class LPDP(Supervised, LinearReducer):
    r"""Locality Preserving Discriminant Projections: :class:`LPP` that also keeps classes apart, by the margin of :class:`MMC`.

    .. math::
        \min_V \operatorname{tr}(V^\top (X^\top L X - \alpha (S_b - S_w)) V)
        \quad\text{subject to}\quad V^\top X^\top D X V = I                             \tag{1}

    L and D are the Laplacian and the degrees of a neighbour graph of all samples. :math:`S_b` and :math:`S_w`, the scatter
    between and within classes, are sums (not averages) over the samples that have a label [1]_.

    Parameters
    ----------
    n_components
        As in :class:`LPP`. ``"auto"`` keeps one fewer than there are classes, with ``graph="supervised"``. It raises an error
        with other graphs. A float between 0 and 1 keeps as many directions as it takes to reach this share of what all directions
        together reach, where a direction of eigenvalue :math:`\lambda` below 1 contributes :math:`1 - \lambda`.
    graph
        As in :class:`LPP`. None is ``KNN(5, weights="binary")``, and an integer k is the same with k neighbours.
        ``"supervised"`` is ``SameClass()``, and ``"semi"`` adds ``SameClass()`` to the graph of None.
    alpha : float, default=1.0
        How much the margin between classes counts beside the neighbours. 0 leaves :class:`LPP`.
    pca, center, scaling, ridge
        As in :class:`LPP`.
    normalize
        As in :class:`LPP`. With ``"trace"``, :math:`X^\top L X`, the within-class scatter and the total scatter are scaled
        one by one.
    standardize, verbose
        As in :class:`LPP`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of (1), in ascending order. They may be negative.
    components_, mean_, scale_, explained_ratio_, rank_, n_pca_
        As in :class:`LPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.
    n_samples_seen_, moments_
        As in :class:`LPP`.

    References
    ----------
    .. [1] J. Gui, C. Wang and L. Zhu, "Locality preserving discriminant projections", International Conference on
       Intelligent Computing, Lecture Notes in Computer Science, Springer, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPDP
    >>> LPDP(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "L − α (S_b − S_w)", "D", ("dense", "sparse"))

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        alpha: float = 1.0,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        scaling: str = "auto",
        ridge: float | str = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        super().__init__(
            n_components,
            graph=graph,
            pca=pca,
            center=center,
            normalize=normalize,
            standardize=standardize,
            verbose=verbose,
        )
        self.alpha = alpha
        self.scaling = scaling
        self.ridge = ridge

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors, weights="binary")

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real) or not np.isfinite(float(self.alpha)):
            raise ValueError(f"alpha={self.alpha!r} must be a finite number")
        local, alpha = self._terms(data, graphs), float(self.alpha)
        # S_w - S_b, since S_b = S_t - S_w
        margin = [term.scaled(2 * alpha) for term in SameClass().terms(data)]
        margin += [term.scaled(-alpha) for term in Complete(among="labelled").terms(data)]
        return Problem(local + margin, degree_sum(local))  # (1)


class MFA(Supervised, LPP):
    r"""Marginal Fisher Analysis: near samples of a class come together, and near samples of different classes come apart.

    .. math::
        \min_V \operatorname{tr}(V^\top X^\top L X V)
        \quad\text{subject to}\quad V^\top X^\top L^p X V = I                           \tag{1}

    It is :class:`LPP` with a penalty. L is the Laplacian of a graph that links each sample to its nearest neighbours of the
    same class. :math:`L^p` is that of a graph that links each class to the closest samples of other classes [1]_.

    Parameters
    ----------
    n_components : int, "auto" or None, default=2
        As in :class:`LPP`. ``"auto"`` keeps one fewer than there are classes, with ``graph="supervised"``. It raises an error
        with other graphs. So does a share of the objective, a float, because a ratio of two graphs has no total.
    graph
        As in :class:`LPP`. None is ``KNN(5, weights="binary", among="same_class")``, and an integer k is the same with k
        neighbours. ``"supervised"`` is ``SameClass()``, and ``"semi"`` is ``KNN(5) + SameClass()``.
    penalty : None, int, graph or matrix, default=None
        The graph of :math:`L^p`: which samples are kept apart. None is ``ClosestPairs(20)``, and an integer is the number of
        pairs per class.
    constraint : {"matrix", "orthogonal", "trace-ratio"}, default="matrix"
        What the directions are subject to. ``"matrix"`` is (1). ``"trace-ratio"`` takes orthogonal directions and the least
        :math:`\operatorname{tr}(V^\top X^\top L X V) / \operatorname{tr}(V^\top X^\top L^p X V)` over them, as in :class:`LPP`.
        ``"orthogonal"`` alone has no place for the penalty, and raises an error.
    pca
        As in :class:`LPP`. ``"auto"`` keeps twice as many directions as components, and 98 % of the variance where classes have
        fewer than ten samples on average.
    center : "auto", "mean" or False, default="auto"
        As in :class:`LPP`. ``"auto"`` is ``"mean"``.
    scaling
        As in :class:`LPP`. ``"auto"`` is ``"unit"`` where the graph reads labels.
    ridge
        As in :class:`LPP`. ``"auto"`` is 0: ``pca`` leaves out the directions of little variance.
    normalize, standardize, verbose
        As in :class:`LPP`.

    Attributes
    ----------
    components_, mean_, scale_
        As in :class:`LPP`.
    eigenvalues_
        As in :class:`LPP`. With ``constraint="trace-ratio"`` they are those of :math:`X^\top (L - \rho L^p) X` at the least
        ratio :math:`\rho`, and add up to 0.
    trace_ratio_, explained_ratio_
        As in :class:`LPP`.
    rank_
        As in :class:`LPP`. It is at most the number of linked pairs of ``penalty``.
    n_pca_
        As in :class:`LPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.

    References
    ----------
    .. [1] S. Yan, D. Xu, B. Zhang, H.-J. Zhang, Q. Yang and S. Lin, "Graph embedding and extensions: a general framework
       for dimensionality reduction", IEEE Trans. Pattern Analysis and Machine Intelligence 29, 2007.
       https://doi.org/10.1109/TPAMI.2007.250598

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import MFA
    >>> MFA(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "L of the nearest of the same class", "L of the closest pairs across classes")
    _rules: ClassVar[Rules] = Rules(energy=0.0, small_energy=0.98, directions=2.0)
    default_penalty: ClassVar[Any] = ClosestPairs
    _needs_penalty: ClassVar[bool] = True

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors, weights="binary", among="same_class")


class DNE(Supervised, LinearReducer):
    r"""Discriminant Neighborhood Embedding: neighbours of the same class attract, neighbours of other classes repel.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top (L^s - L^d) X V) \quad\text{subject to}\quad V^\top V = I \tag{1}

    Nearest neighbours are linked. :math:`L^s` is the Laplacian of the links inside classes, which attract, and :math:`L^d`
    that of the links across classes, which repel [1]_.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default=2
        How many directions to keep, those of the smallest eigenvalues first. Asking for more directions than there are raises
        an error. None keeps the directions of negative eigenvalue, as the authors of the method prescribe: those along which
        repulsion wins. It raises an error where there are none. A float between 0 and 1 keeps as many of these as hold this
        share of the sum of all negative eigenvalues. ``"auto"`` is for ``graph="supervised"`` alone, and keeps one fewer than
        there are classes.
    graph
        As in :class:`LPP`. None is ``(K & SameClass()) - (K & OtherClass())`` with ``K = KNN(5, weights="binary")``, and an
        integer k is the same with k neighbours. ``"supervised"`` is ``SameClass()``, and ``"semi"`` is
        ``KNN(5) + SameClass()``.
    pca, center, normalize, standardize
        As in :class:`OLPP`.
    verbose
        As in :class:`LPP`.

    Attributes
    ----------
    components_, mean_, scale_, eigenvalues_, explained_ratio_, rank_, n_pca_
        As in :class:`OLPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`OLPP`.
    n_samples_seen_, moments_
        As in :class:`OLPP`.

    References
    ----------
    .. [1] W. Zhang, X. Xue, H. Lu and Y.-F. Guo, "Discriminant neighborhood embedding for classification", Pattern
       Recognition 39, 2006. https://doi.org/10.1016/j.patcog.2006.05.011

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import DNE
    >>> DNE(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "L of near samples of the same class − L of near ones of other classes", "orthogonal")
    _orthogonal: ClassVar[bool] = True

    def default_graph(self, n_neighbors: int) -> Graph:
        near = KNN(n_neighbors, weights="binary")
        return (near & SameClass()) - (near & OtherClass())

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        if isinstance(graphs.graph, KNN) and not graphs.graph.reads_labels:
            k = graphs.graph.n_neighbors
            raise ValueError(
                f"graph={graphs.graph!r} reads no labels, and with it DNE would be OLPP; use graph={k}, which is "
                f"{self.default_graph(k)!r}"
            )
        return Problem(self._terms(data, graphs), ORTHOGONAL)  # (1)

    def _solve(self, F: Coordinates, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Found:
        found = super()._solve(F, data, problem, graphs, chosen)
        if self.n_components is not None:
            return found
        values, vectors = found.solution.values, found.solution.vectors
        negative = values < -1e-10 * np.abs(values).max()
        if not negative.any():
            raise ValueError(
                "n_components=None keeps the directions of negative eigenvalue, and there are none here; give a number"
            )
        kept = {"values": values[negative], "vectors": vectors[:, negative]}
        return found._replace(solution=found.solution._replace(**kept, following=values[~negative].min(initial=np.inf)))


def local_fisher(data: Data, graphs: GraphFacts) -> Problem:
    """The problem of LFDA for any map and any graph within classes. With SameClass() it is discriminant analysis.

    S_lw divides the weights of class c by n_c, and S_lm divides them by n. So they are n_c / n times as large in S_lm.
    """
    within, classes = build_terms("graph", graphs.graph, data, graphs.equal_say), data.classes
    L, sizes = laplacian_sum(within), data.class_sizes
    by_sample = L if data.weights is None else L.repeated(data.weights)  # a row may stand for several samples
    across = by_sample @ (classes[:, None] == np.arange(sizes.size)).astype(np.float64)
    if np.abs(across).max() > 1e-8 * np.abs(by_sample.diagonal()).max():
        raise ValueError(
            f"graph={graphs.graph!r} links samples of different classes, or of unknown class, and this method takes links within "
            "classes; use LocalClass(7), SameClass(), or (your graph) & SameClass()"
        )
    shares = np.where(classes >= 0, sizes[classes] / sizes.sum(), 0.0)
    return Problem(within, L.rescaled(np.sqrt(shares)) + laplacian_sum(OtherClass().terms(data)))


class LFDA(Supervised, LinearReducer):
    r"""Local Fisher Discriminant Analysis: discriminant analysis of classes that have several clusters.

    .. math::
        \max_V \operatorname{tr}\left((V^\top S_{lw} V)^{-1} V^\top S_{lb} V\right)                        \tag{1}

    The scatters are sums of :math:`\tfrac12 W_{ij} (x_i - x_j)(x_i - x_j)^\top` over all pairs [1]_. For a pair within class
    c, :math:`W^{lw}_{ij} = A_{ij}/n_c` and :math:`W^{lb}_{ij} = A_{ij}(1/n - 1/n_c)`, where the affinity A is large for near
    samples and 0 for far ones. For a pair of different classes, :math:`W^{lw}_{ij} = 0` and :math:`W^{lb}_{ij} = 1/n`. So
    samples of a class that are far apart need not come together. The same directions solve

    .. math::
        \min_V \operatorname{tr}(V^\top S_{lw} V)
        \quad\text{subject to}\quad V^\top S_{lm} V = I, \quad S_{lm} = S_{lw} + S_{lb}                      \tag{2}

    with a constraint that is never indefinite; an eigenvalue of (2) is 1 / (1 + that of (1)).

    Parameters
    ----------
    n_components : int, "auto" or None, default=2
        As in :class:`LPP`. It may be more than the number of classes minus one. ``"auto"``, which is that number, is for
        ``graph="supervised"`` alone, and raises an error with other graphs. So does a share of the objective, a float, because
        a ratio of two graphs has no total.
    graph : None, int, "supervised", graph or matrix, default=None
        The graph of :math:`W^{lw}`: which samples of a class attract each other. None is ``LocalClass(7)``, and an integer k is
        ``LocalClass(k)``. Any other graph within classes will do, such as ``KNN(5) & SameClass()``. ``"supervised"``, which is
        ``SameClass()``, gives linear discriminant analysis. ``"semi"`` raises an error, because it also links samples of
        different classes.
    pca
        As in :class:`LPP`.
    center : "auto", "mean" or False, default="auto"
        As in :class:`LPP`. ``"auto"`` is ``"mean"``.
    scaling, ridge, normalize, standardize, verbose
        As in :class:`LPP`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of (2), in ascending order.
    components_, mean_, scale_, explained_ratio_, rank_, n_pca_
        As in :class:`LPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.
    n_samples_seen_, moments_
        As in :class:`LPP`.

    See Also
    --------
    KernelLFDA : The kernel map of the same problem.

    References
    ----------
    .. [1] M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis", Journal of
       Machine Learning Research 8, 2007. https://jmlr.org/papers/v8/sugiyama07b.html

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LFDA
    >>> LFDA(12).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 12)
    """

    about = About("classes", "S_lw: within classes, near samples only", "S_lm = S_lw + S_lb")
    default_graph: ClassVar[Any] = LocalClass
    n_neighbors: ClassVar[int] = 7

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        scaling: str = "auto",
        ridge: float | str = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        super().__init__(
            n_components,
            graph=graph,
            pca=pca,
            center=center,
            normalize=normalize,
            standardize=standardize,
            verbose=verbose,
        )
        self.scaling = scaling
        self.ridge = ridge

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return local_fisher(data, graphs)  # (2)


class LSDA(Supervised, LinearReducer):
    r"""Locality Sensitive Discriminant Analysis: neighbours of the same class together, those of other classes apart.

    .. math::
        \max_V \operatorname{tr}(V^\top X^\top (\alpha L_b + (1 - \alpha) W_w) X V)
        \quad\text{subject to}\quad V^\top X^\top D_w X V = I                                         \tag{1}

    A graph of neighbours is split in two: :math:`W_w` has its links within classes, with degrees :math:`D_w` and Laplacian
    :math:`L_w = D_w - W_w`, and :math:`L_b` is the Laplacian of its links across classes [1]_. What is solved is

    .. math::
        \min_V \operatorname{tr}(V^\top X^\top ((1 - \alpha) L_w - \alpha L_b) X V)
        \quad\text{subject to}\quad V^\top X^\top D_w X V = I                                         \tag{2}

    which differs from (1) by the constant :math:`1 - \alpha` per direction.

    Parameters
    ----------
    n_components : int, float or None, default=2
        As in :class:`LPP`. A float between 0 and 1 keeps as many directions as it takes to reach this share of what all
        directions together reach.
    graph : None, int, graph or matrix, default=None
        The graph of neighbours whose links are split by class. None is ``KNN(5, weights="binary")``, and an integer k is the
        same with k neighbours. ``"supervised"`` and ``"semi"`` raise an error, as do ``Complete()`` and all graphs of classes:
        they have too many links to list.
    alpha : float, default=0.1
        How much the links across classes count, from 0, where nothing is kept apart, to less than 1. Where many samples have no
        neighbour of their own class, as where classes have few samples, a large one leaves little that attracts.
    pca
        As in :class:`LPP`. ``"auto"`` keeps all directions, unless ``ridge=0``.
    center, scaling
        As in :class:`LPP`.
    ridge
        As in :class:`LPP`. ``"auto"`` is 1: samples without a neighbour of their own class are missing in the constraint.
    normalize
        As in :class:`LPP`. With ``"trace"``, the two forms of (2) are scaled one by one.
    standardize, verbose
        As in :class:`LPP`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The eigenvalues of (2), in ascending order.
    components_, mean_, scale_, explained_ratio_, rank_, n_pca_
        As in :class:`LPP`.
    n_connected_components_, graph_, settings_, solver_, certificate_, n_features_in_, feature_names_in_
        As in :class:`LPP`.

    References
    ----------
    .. [1] D. Cai, X. He, K. Zhou, J. Han and H. Bao, "Locality sensitive discriminant analysis", International Joint Conference
       on Artificial Intelligence, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LSDA
    >>> LSDA(9).fit_transform(*load_digits(return_X_y=True)).shape
    (1797, 9)
    """

    about = About("classes", "(1 − α) L of near samples of the same class − α L of near ones of other classes", "D_w")
    _rules: ClassVar[Rules] = Rules(ridge=1.0)  # samples without a neighbour of their class are missing in D_w

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        alpha: float = 0.1,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        scaling: str = "auto",
        ridge: float | str = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
        verbose: bool | None = None,
    ):
        super().__init__(
            n_components,
            graph=graph,
            pca=pca,
            center=center,
            normalize=normalize,
            standardize=standardize,
            verbose=verbose,
        )
        self.alpha = alpha
        self.scaling = scaling
        self.ridge = ridge

    def default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors, weights="binary")

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        if isinstance(self.alpha, bool) or not (isinstance(self.alpha, Real) and 0 <= float(self.alpha) < 1):
            raise ValueError(f"alpha={self.alpha!r} must be a number from 0 to less than 1")
        near, alpha = graphs.graph, float(self.alpha)
        unlisted = [leaf for _, leaf in near.signed() if leaf.adjacency(data) is None]
        if unlisted:
            raise ValueError(
                f"graph={self.graph!r}: LSDA splits the links of its graph by class, and {unlisted[0]!r} has no list of "
                "links, or too many; use a graph of neighbours, such as graph=KNN(5), or LPP or MMC for graphs of classes alone"
            )
        split = (1 - alpha) * (near & SameClass()) - alpha * (near & OtherClass())
        terms = build_terms("graph", split, data)
        return Problem(terms, degree_sum(terms) * (1 / (1 - alpha)))  # (2)
