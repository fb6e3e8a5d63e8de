"""Methods that need labels, or pairs that are known to belong together."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin
from sklearn.utils import column_or_1d

from .._validation import check_below_one, check_count, check_not_negative
from ..auto import GraphFacts, Rules, Settings
from ..data import Data, Summary, as_data, total
from ..graphs import KNN, ClosestPairs, Complete, Graph, LocalClass, OtherClass, Pairs, SameClass
from ..maps import ROUNDING, Coordinates
from ..operators import Structured, diagonal
from ..problem import Problem, Term, degree_sum, laplacian_sum
from ..reducers import FeatureSelector, Found, KernelReducer, LinearReducer, build_terms
from ..solvers import RankError, numerical_rank, solve, too_few
from .locality import LPP, About, negligible

BINARY = staticmethod(partial(KNN, weights="binary"))


class Supervised:
    """Methods that cannot do without labels."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags

    def _check_reads_classes(self, graph: Graph) -> None:
        """Raise where no part of a graph of neighbours reads labels, as ``KNN(k)`` does not, and the method's own graph does."""
        if graph.reads_features and not (graph.reads_labels or graph.counts_pairs):
            own = self.default_graph(getattr(graph, "n_neighbors", self.n_neighbors))  # type: ignore[attr-defined]
            what = (
                f"{type(self).__name__} would be another method; use {own!r}, an integer, or (your graph) & SameClass()"
            )
            raise ValueError(f"graph={graph!r} reads no labels, and with it {what}")


class MMC(Supervised, LinearReducer, without=("graph", "normalize")):
    r"""Maximum Margin Criterion: a linear map that draws classes apart and each class together.

    .. math:: \max_V \operatorname{tr}(V^\top (S_b - S_w) V) \quad\text{subject to}\quad V^\top V = I     \tag{1}

    with the scatter :math:`S_b` between the classes and :math:`S_w` within them, of the samples that have a label [1]_. It also
    works with fewer samples than features.

    Parameters
    ----------
    pca
        As in :class:`LPP`. ``"auto"`` keeps 99 % of the variance, and all of it of small classes and of rows of words.
    ... : As in :class:`OLPP`

    References
    ----------
    .. [1] H. Li, T. Jiang and K. Zhang, "Efficient and robust feature extraction by maximum margin criterion", IEEE TNN 17,
       2006. https://doi.org/10.1109/TNN.2005.860852
    """

    about = About("classes", "S_w − S_b", "orthogonal", ("dense", "sparse"))
    _orthogonal: ClassVar[bool] = True
    # The margin overfits less than neighbourhoods do, so that most directions are kept.
    _rules: ClassVar[Rules] = Rules(energy=0.99, small_energy=1.0, by_form=True)

    def default_graph(self, n_neighbors: int) -> Graph:
        return SameClass() * 2 - Complete(among="labelled")  # S_w - S_b of (1), since S_b = S_t - S_w


class LPDP(Supervised, LinearReducer):
    r"""Locality Preserving Discriminant Projections: :class:`LPP` that also keeps classes apart, by the margin of :class:`MMC`.

    .. math:: \min_V \operatorname{tr}(V^\top (X^\top L X - \alpha (S_b - S_w)) V)
        \quad\text{subject to}\quad V^\top X^\top D X V = I \tag{1}

    L and D are the Laplacian and the degrees of a neighbour graph of all samples. :math:`S_b` and :math:`S_w`, the scatter
    between and within classes, are sums over the samples that have a label [1]_. Equation 6 of the paper has priors n_c / n,
    which make them averages: ``alpha=1 / n`` for n samples with a label is that.

    Parameters
    ----------
    graph
        As in :class:`LPP`. None is ``KNN(5, weights="binary")``, and an integer k is the same with k neighbours.
    alpha : float, default=1.0
        How much the margin between classes counts beside the neighbours. 0 leaves :class:`LPP`.
    normalize
        As in :class:`LPP`. With ``"trace"``, each of the three matrices of (1) is scaled by itself.
    ... : As in :class:`LPP`

    References
    ----------
    .. [1] J. Gui, C. Wang and L. Zhu, "Locality preserving discriminant projections", ICIC, Springer LNCS, 2010.
    """

    alpha: float = 1.0
    scaling: str = "auto"
    ridge: float | str = "auto"

    about = About("classes", "L − α (S_b − S_w)", "D", ("dense", "sparse"))
    _rules: ClassVar[Rules] = Rules(paper={"center": False})
    default_graph: ClassVar[Any] = BINARY

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        local = build_terms("graph", graphs.graph, data, graphs.equal_say)
        alpha = check_not_negative("alpha", self.alpha)
        # S_w - S_b, since S_b = S_t - S_w
        margin = [term.scaled(2 * alpha) for term in SameClass().terms(data)]
        margin += [term.scaled(-alpha) for term in Complete(among="labelled").terms(data)]
        return Problem(local + margin, degree_sum(local))  # (1)


class MFA(Supervised, LPP):
    r"""Marginal Fisher Analysis: near samples of a class come together, and near samples of different classes come apart.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top L X V) \quad\text{subject to}\quad V^\top X^\top L^p X V = I \tag{1}

    It is :class:`LPP` with a penalty. L is the Laplacian of a graph that links each sample to its nearest neighbours of the
    same class, and :math:`L^p` that of the closest pairs across classes [1]_.

    Parameters
    ----------
    graph
        As in :class:`LPP`. None is ``KNN(5, weights="binary", among="same_class")``, and an integer k is the same with k
        neighbours. ``KNN(5)`` alone reads no labels and raises an error.
    penalty : None, int, graph or matrix, default=None
        The graph of :math:`L^p`: which samples are kept apart. None is ``ClosestPairs(20)``, and an integer is the number of
        pairs per class.
    constraint : {"matrix", "orthogonal", "trace-ratio"}, default="matrix"
        ``"matrix"`` is (1), and ``"trace-ratio"`` takes orthogonal directions of the least quotient of both traces.
        ``"orthogonal"`` has no place for the penalty, and raises an error.
    ridge
        As in :class:`LPP`. ``"auto"`` is 0: ``pca`` leaves out the directions of little variance.
    pca
        As in :class:`LPP`. ``"auto"`` keeps twice as many directions as components, and 98 % of the variance of small classes.
    center : As in :class:`OLPP`
    ... : As in :class:`LPP`

    Attributes
    ----------
    trace_ratio_
        As in :class:`LPP`. The eigenvalues are then those of :math:`X^\top (L - \rho L^p) X`, and add up to 0.
    ... : As in :class:`LPP`, without ``n_samples_seen_`` and ``moments_``

    References
    ----------
    .. [1] S. Yan, D. Xu, B. Zhang, H.-J. Zhang, Q. Yang and S. Lin, "Graph embedding and extensions: a general framework for
       dimensionality reduction", IEEE TPAMI 29, 2007. https://doi.org/10.1109/TPAMI.2007.250598
    """

    about = About("classes", "L of the nearest of the same class", "L of the closest pairs across classes")
    _rules: ClassVar[Rules] = Rules(energy=0.0, small_energy=0.98, directions=2.0)
    default_penalty: ClassVar[Any] = ClosestPairs
    _needs_penalty: ClassVar[bool] = True
    default_graph: ClassVar[Any] = staticmethod(partial(KNN, weights="binary", among="same_class"))

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        if isinstance(graphs.graph, KNN):
            self._check_reads_classes(graphs.graph)
        return super()._problem(data, graphs)  # (1)


class DNE(Supervised, LinearReducer):
    r"""Discriminant Neighborhood Embedding: neighbours of the same class attract, neighbours of other classes repel.

    .. math:: \min_V \operatorname{tr}(V^\top X^\top (L^s - L^d) X V) \quad\text{subject to}\quad V^\top V = I \tag{1}

    :math:`L^s` is the Laplacian of the links of neighbours inside classes, and :math:`L^d` of those across classes [1]_.

    Parameters
    ----------
    n_components : int, "auto" or None, default=2
        How many directions to keep: None keeps those of negative eigenvalue, along which repulsion wins, as the authors of the
        method prescribe, and ``"auto"`` one fewer than there are classes in y.
    graph
        As in :class:`LPP`. None is ``(K & SameClass()) - (K & OtherClass())`` with ``K = KNN(5, weights="binary")``, and an
        integer k is the same with k neighbours. ``KNN(5)`` alone reads no labels and raises an error.
    ... : As in :class:`OLPP`

    References
    ----------
    .. [1] W. Zhang, X. Xue, H. Lu and Y.-F. Guo, "Discriminant neighborhood embedding for classification", Pattern Recognition
       39, 2006. https://doi.org/10.1016/j.patcog.2006.05.011
    """

    about = About("classes", "L of near samples of the same class − L of near ones of other classes", "orthogonal")
    _orthogonal: ClassVar[bool] = True

    def default_graph(self, n_neighbors: int) -> Graph:
        near = KNN(n_neighbors, weights="binary")
        return (near & SameClass()) - (near & OtherClass())

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        self._check_reads_classes(graphs.graph)
        return super()._problem(data, graphs)  # (1)

    def _solve(self, F: Coordinates, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Found:
        found = super()._solve(F, data, problem, graphs, chosen)
        if self.n_components is not None:
            return found
        values = found.solution.values
        negative = int(np.count_nonzero(values < -1e-10 * np.abs(values).max()))
        if not negative:
            raise ValueError("n_components=None keeps directions of negative eigenvalue: there are none; give a number")
        return found._replace(solution=found.solution.first(negative))


def local_fisher(data: Data, graphs: GraphFacts) -> Problem:
    """The problem of LFDA for any map and any graph within classes. With SameClass() it is discriminant analysis.

    S_lw divides the weights of class c by n_c, and S_lm divides them by n. So they are n_c / n times as large in S_lm.
    """
    if hasattr(graphs.graph, "labels_"):  # which have spread
        data = as_data(data.X, graphs.graph.labels_)
    within, classes = build_terms("graph", graphs.graph, data, graphs.equal_say), data.classes
    L, sizes = laplacian_sum(within), data.class_sizes
    by_sample = L if data.weights is None else L.repeated(data.weights)  # a row may stand for several samples
    across = by_sample @ (classes[:, None] == np.arange(sizes.size)).astype(np.float64)
    if np.abs(across).max() > 1e-8 * np.abs(by_sample.diagonal()).max():
        remedy = "use LocalClass(7), SameClass(), or (your graph) & SameClass()"
        raise ValueError(f"graph={graphs.graph!r} links samples of different classes, or of unknown ones; {remedy}")
    shares = np.where(classes >= 0, sizes[classes] / sizes.sum(), 0.0)
    return Problem(within, L.rescaled(np.sqrt(shares)) + laplacian_sum(OtherClass().terms(data)))


class LFDA(Supervised, LinearReducer):
    r"""Local Fisher Discriminant Analysis: discriminant analysis of classes that have several clusters.

    .. math:: \max_V \operatorname{tr}\left((V^\top S_{lw} V)^{-1} V^\top S_{lb} V\right)                        \tag{1}

    The scatters are sums of :math:`\tfrac12 W_{ij} (x_i - x_j)(x_i - x_j)^\top` over all pairs [1]_. Within class c,
    :math:`W^{lw}_{ij} = A_{ij}/n_c` and :math:`W^{lb}_{ij} = A_{ij}(1/n - 1/n_c)`, where the affinity A is 0 for far samples,
    which need not come together. Across classes, :math:`W^{lw}_{ij} = 0` and :math:`W^{lb}_{ij} = 1/n`. The same directions solve

    .. math:: \min_V \operatorname{tr}(V^\top S_{lw} V)
        \quad\text{subject to}\quad V^\top S_{lm} V = I, \quad S_{lm} = S_{lw} + S_{lb} \tag{2}

    An eigenvalue of (2) is 1 / (1 + that of (1)).

    Parameters
    ----------
    graph : None, int, "supervised", "propagate", graph or matrix, default=None
        The graph of :math:`W^{lw}`, of links within classes. None is ``LocalClass(7)``, an integer k ``LocalClass(k)``, and
        ``"supervised"`` and ``"propagate"`` give linear discriminant analysis. ``KNN(5) & SameClass()`` is another.
    center : As in :class:`OLPP`
    ... : As in :class:`LPP`

    References
    ----------
    .. [1] M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis", JMLR 8,
       2007. https://jmlr.org/papers/v8/sugiyama07b.html
    """

    scaling: str = "auto"
    ridge: float | str = "auto"

    about = About("classes", "S_lw: within classes, near samples only", "S_lm = S_lw + S_lb")
    default_graph: ClassVar[Any] = LocalClass
    n_neighbors: ClassVar[int] = 7

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return local_fisher(data, graphs)  # (2)


class LSDA(Supervised, LinearReducer):
    r"""Locality Sensitive Discriminant Analysis: neighbours of the same class together, those of other classes apart.

    .. math:: \max_V \operatorname{tr}(V^\top X^\top (\alpha L_b + (1 - \alpha) W_w) X V)
        \quad\text{subject to}\quad V^\top X^\top D_w X V = I \tag{1}

    A graph of neighbours is split in two: links within classes have weights :math:`W_w`, degrees :math:`D_w` and Laplacian
    :math:`L_w = D_w - W_w`, and links across classes :math:`L_b` [1]_. Less the constant :math:`1 - \alpha` per direction, it is

    .. math:: \min_V \operatorname{tr}(V^\top X^\top ((1 - \alpha) L_w - \alpha L_b) X V)
        \quad\text{subject to}\quad V^\top X^\top D_w X V = I \tag{2}

    Parameters
    ----------
    graph : None, int, graph or matrix, default=None
        The graph of neighbours, not of all pairs, whose links are split by class. None is ``KNN(5, weights="binary")``, and an
        integer k is the same with k neighbours.
    alpha : float, default=0.1
        How much the links across classes count, from 0, where nothing is kept apart, to less than 1.
    ridge
        As in :class:`LPP`. ``"auto"`` is 1: samples without a neighbour of their own class are missing in the constraint.
    pca
        As in :class:`LPP`. ``"auto"`` keeps all directions, unless ``ridge=0``.
    normalize
        As in :class:`LPP`. With ``"trace"``, the two forms of (2) are scaled one by one.
    ... : As in :class:`LPP`, without ``n_samples_seen_`` and ``moments_``

    References
    ----------
    .. [1] D. Cai, X. He, K. Zhou, J. Han and H. Bao, "Locality sensitive discriminant analysis", IJCAI, 2007.
    """

    alpha: float = 0.1
    scaling: str = "auto"
    ridge: float | str = "auto"

    about = About("classes", "(1 − α) L of near samples of the same class − α L of near ones of other classes", "D_w")
    # Samples without a neighbour of their class are missing in D_w.
    _rules: ClassVar[Rules] = Rules(ridge=1.0, paper={"center": False})
    default_graph: ClassVar[Any] = BINARY

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        near, alpha = graphs.graph, check_below_one("alpha", self.alpha)
        split = (1 - alpha) * (near & SameClass()) - alpha * (near & OtherClass())
        terms = build_terms("graph", split, data)
        return Problem(terms, degree_sum(terms) * (1 / (1 - alpha)))  # (2)


def covariance(members: np.ndarray) -> Term:
    """The covariance of some rows about their mean: the scatter of their complete graph, divided by their number."""
    members = members.astype(np.float64)
    n = members.sum()
    scatter = Structured(members.size, factors=((members[:, None], np.array([-1 / n**2])),), diag=members / n)
    return Term(1.0, scatter, diagonal(members / n))


class RCA(LinearReducer, without=("graph", "pca", "center", "normalize")):
    r"""Relevant Component Analysis: directions that vary much among all samples, and little within known pairs.

    .. math:: \max_V \operatorname{tr}(V^\top T V)
        \quad\text{subject to}\quad V^\top (P + \rho \frac{\operatorname{tr} P}{p} I) V = I \tag{1}

    T is the covariance of the samples, and :math:`P = \frac{1}{2m} \sum (x_i - x_j)(x_i - x_j)^\top` is that of the m pairs,
    such as queries with the documents that answered them [1]_. The ridge :math:`\rho` draws P towards the identity. From a
    thousand pairs on, and on their topics, searches get better; with fifty they get worse.

    Parameters
    ----------
    n_components : int or None, default=2
        How many directions to keep. None keeps all.
    pairs : array-like of shape (n_pairs, 2), graph or None, default=None
        The row indices of the pairs. A :class:`~lapwing.graphs.Pairs` names rows by their id, or weighs the pairs; any other
        graph links rows by weights. None is ``SameClass()``: P is the covariance within the classes of y.
    sides : array-like of shape (n_samples,) or None, default=None
        Which side each sample is on, where there are two kinds, such as ``"query"`` and ``"document"``: T is then the mean of
        the covariances of the sides, each about its own mean. A series of pandas goes by the row names of a data frame.
    ridge : "auto" or float, default="auto"
        :math:`\rho` in (1): how far P is drawn towards the identity. ``"auto"`` is 1, a shrinkage of one half,
        :math:`\rho / (1 + \rho)`, and 0 with ``preset="paper"``. Choose it by cross-validation over pairs.
    scaling : {"auto", "unit", "constraint", "objective"}, default="constraint"
        As in :class:`LPP`.
    standardize : {True, False}, default=False
        Whether columns are divided by their standard deviations.
    ... : As in :class:`LPP`, without ``n_samples_seen_`` and ``moments_``

    References
    ----------
    .. [1] A. Bar-Hillel, T. Hertz, N. Shental and D. Weinshall, "Learning a Mahalanobis metric from equivalence constraints",
       JMLR 6, 2005. https://jmlr.org/papers/v6/bar-hillel05a.html

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import RCA
    >>> X = np.random.RandomState(0).randn(250, 10)  # 50 queries, and 200 documents
    >>> pairs = np.column_stack([np.arange(50), np.arange(50, 100)])
    >>> RCA(4, pairs=pairs, sides=np.arange(250) >= 50).fit_transform(X).shape
    (250, 4)
    """

    pairs: Graph | ArrayLike | None = None
    sides: ArrayLike | None = None
    ridge: float | str = "auto"
    scaling: str = "constraint"
    standardize: bool | str = False

    about = About("classes", "−T: variance among all samples", "P: variance within pairs")
    _rules: ClassVar[Rules] = Rules(ridge=1.0)
    _takes_weights = _takes_blocks = _takes_sums = False  # pairs count rows one by one

    @property
    def penalty(self) -> Graph:
        """The graph of P."""
        if self.pairs is None:
            return SameClass()
        return self.pairs if isinstance(self.pairs, Graph) else Pairs(self.pairs)

    def default_graph(self, n_neighbors: int) -> Graph:
        return -Complete()

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        P = laplacian_sum(build_terms("pairs", graphs.penalty, data))
        return Problem(self._variance(data), P * (1 / total(data, P.diagonal())))  # (1)

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Coordinates:
        """All columns: one pass over the rows gives T, and P is one of the few rows of the pairs."""
        if data.is_wide or data.is_large:
            return super()._map(data, problem, graphs, chosen)
        mean = data.mean()
        return Coordinates(data, mean, np.transpose, mean)

    def _eigenpairs(self, F: Coordinates, data: Data, problem: Problem, chosen: Settings) -> Found:
        """Unlike elsewhere, directions of which no pair says anything take part, and the ridge is all that they have of P."""
        if data.is_large:
            raise ValueError(f"X is too large to be decomposed whole, {data.X.shape}; put a TruncatedSVD before RCA")
        k = self.n_components if self.n_components is None else check_count("n_components", self.n_components)
        T, P = F.form(laplacian_sum(problem.minimise)), F.form(problem.subject_to)
        P = P + np.trace(P) / data.d * (chosen.ridge or 0.0) * np.eye(len(P))
        vary = numerical_rank(np.linalg.eigvalsh(-T), ROUNDING[data.dtype.name] * (F.mean @ F.mean - np.trace(T)))
        if (k or 0) > vary:
            raise RankError(too_few(k, vary))
        found = solve(T, P, k)
        rank = min(vary, found.rank or 0)
        return Found(F._replace(n_pca=vary), (T, P), found.first(rank)._replace(rank=rank), chosen)

    def _variance(self, data: Data) -> list[Term]:
        """-T, in as many terms as there are sides."""
        if self.sides is None:
            return [term.scaled(-1 / data.size) for term in Complete().terms(data)]
        given = self.sides
        if hasattr(given, "reindex") and hasattr(data.given, "iloc"):
            given = given.reindex(data.given.index)
            if given.isna().any():
                unknown = given.index[given.isna()][0]
                raise ValueError(f"sides does not know the row {unknown!r} of X; give each row a side")
        names, sides = np.unique(column_or_1d(given), return_inverse=True)
        if sides.size != data.n:
            raise ValueError(f"sides has {sides.size} entries, and X has {data.n} rows: give one per row")
        return [covariance(sides == side).scaled(-1 / names.size) for side in range(names.size)]


class KernelLDA(Supervised, KernelReducer, without=("graph", "normalize")):
    r"""Kernel discriminant analysis: linear discriminant analysis among the features that a kernel stands for.

    .. math:: K L K \alpha = \lambda K^2 \alpha, \qquad L = I - W, \quad W_{ij} = 1/n_c \text{ within class } c      \tag{1}

    for the centred kernel matrix K [1]_ [2]_. It minimises the scatter within classes over the total scatter. A kernel of full
    rank, such as ``"rbf"``, separates any classes of the fitted samples; the ridge makes the separation hold on new ones. With
    ``features=`` rows may come in batches (``partial_fit``), also of new classes, and the model is that of one fit to all.

    Parameters
    ----------
    n_components : int, "auto" or None, default="auto"
        As in :class:`LPP`. ``"auto"`` is all that classes tell apart.
    features : transformer or None, default=None
        Approximate the kernel by features of each row by itself, as :class:`~sklearn.kernel_approximation.RBFSampler` and
        :class:`~sklearn.kernel_approximation.Nystroem` do; ``kernel``, ``gamma`` and ``landmarks`` then do not act. A copy, and
        the units of the columns, are fitted to X or to the first batch, unless a ``sklearn.frozen.FrozenEstimator`` holds it.
    gamma
        As in :class:`KernelLPP`. The share follows from how many directions the variance is spread over.
    scaling
        As in :class:`KernelLPP`. ``"auto"`` is ``"unit"``.
    ridge
        As in :class:`KernelLPP`. ``"auto"`` is 0.03.
    pca
        As in :class:`KernelLPP`. ``"auto"`` keeps all.
    ... : As in :class:`KernelLPP`

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        The share of the variance along each direction that is within classes, in ascending order.
    features_ : transformer
        The fitted copy of ``features``. Set only with it, as are ``n_samples_seen_`` and ``moments_``.
    n_samples_seen_, moments_ : As in :class:`LPP`

    References
    ----------
    .. [1] S. Mika, G. Rätsch, J. Weston, B. Schölkopf and K.-R. Müller, "Fisher discriminant analysis with kernels", IEEE
       NNSP, 1999. https://doi.org/10.1109/NNSP.1999.788121
    .. [2] G. Baudat and F. Anouar, "Generalized discriminant analysis using a kernel approach", Neural Computation 12, 2000.
       https://doi.org/10.1162/089976600300014980

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import KernelLDA
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelLDA(features=RBFSampler(gamma=0.001, n_components=300, random_state=0)).partial_fit(X[y < 5], y[y < 5])
    >>> model.partial_fit(X[y >= 5], y[y >= 5]).transform(X).shape
    (1797, 9)
    """

    n_components: int | str | None = "auto"
    features: TransformerMixin | None = None

    about = About("classes", "S_w", "S_w + S_b")
    # Sums over the rows of each class are enough where features of each row are known by themselves.
    _takes_sums = property(lambda self: self.features is not None)

    def default_graph(self, n_neighbors: int) -> Graph:
        return SameClass()


class KernelLFDA(Supervised, KernelReducer):
    r"""Kernel Local Fisher Discriminant Analysis: :class:`LFDA` among the features that a kernel stands for.

    .. math:: K L^{lw} K \alpha = \lambda K L^{lm} K \alpha                                              \tag{1}

    for the centred kernel matrix K, with the Laplacians of the weights of LFDA (section 3.4 of [1]_). With a linear kernel it
    is LFDA.

    Parameters
    ----------
    n_components : As in :class:`LFDA`
    graph
        As in :class:`LFDA`. It is built on X, or by the distances of the kernel with ``kernel="precomputed"``.
    gamma, scaling, ridge, pca : As in :class:`KernelLDA`
    center : As in :class:`OLPP`
    ... : As in :class:`KernelLPP`

    References
    ----------
    .. [1] M. Sugiyama, "Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis", JMLR 8,
       2007. https://jmlr.org/papers/v8/sugiyama07b.html
    """

    about = About("classes", LFDA.about.minimises, LFDA.about.constraint)
    default_graph: ClassVar[Any] = LocalClass
    n_neighbors: ClassVar[int] = 7

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        return local_fisher(data, graphs)  # (1)


class FisherScore(Supervised, FeatureSelector):
    r"""Fisher criterion score: selects the features whose class means differ much, compared with the variance within classes.

    .. math:: F_r = \frac{\sum_c n_c (\mu_{rc} - \mu_r)^2}{\sum_c n_c \sigma_{rc}^2}                  \tag{1}

    with the mean :math:`\mu_{rc}` and the variance :math:`\sigma_{rc}^2` of feature r in class c [1]_. It equals
    :math:`1 / L_r - 1`, where :math:`L_r` is the score of :class:`LaplacianScore` with ``graph=SameClass()``.

    Parameters
    ----------
    ... : As in :class:`LaplacianScore`

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each feature, infinite for one that is constant in every class, and 0 for one that is constant. The largest
        are the best.

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, chapter 6, eq. 6.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import FisherScore
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherScore(2).fit(X, y).scores_.round(1)
    array([ 1.6,  0.7, 16.1, 13.1])
    """

    about = About("features", "S_w", "S_b")
    _largest: ClassVar[bool] = True

    def default_graph(self, n_neighbors: int) -> Graph:
        return SameClass()

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = graphs.graph.terms(data)
        return Problem(terms, degree_sum(terms))

    def _scores(self, data: Data, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        mean, n = data.mean((data.classes >= 0).astype(np.float64)), data.class_sizes.sum()
        between, within = np.zeros((2, data.d))
        for rows in (np.flatnonzero(data.classes == c) for c in range(data.class_sizes.size)):
            own = as_data(data.X[rows], weights=None if data.weights is None else data.weights[rows])
            between += own.size / n * (own.mean() - mean) ** 2
            within += own.form_diagonal(diagonal(np.full(own.n, 1 / n)), own.mean())
        if isinstance(data, Summary):  # the rows are class means, and L of the class graph gives the scatter about them
            within = data.form_diagonal(laplacian_sum(problem.minimise), mean) / n
        squares = between + within + mean**2
        varying = ~negligible(between + within, squares, data.dtype)
        spread = varying & ~negligible(within, squares, data.dtype)
        return np.divide(between, within, out=np.where(varying, np.inf, 0.0), where=spread), varying  # (1)
