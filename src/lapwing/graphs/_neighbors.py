"""Graphs made by a neighbour search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from .._validation import check_choice, check_count, check_positive
from ..devices import Links
from ..neighbors import (
    DeviceRows,
    Edges,
    Search,
    find,
    find_fitted,
    is_exact,
    is_named,
    nearest_there,
    require_features,
    within,
)
from ..operators import Structured, diagonal
from ..problem import Term
from ..rows import Rows
from ._base import Graph
from ._weights import (
    FAINT,
    OUTLIERS,
    SYMMETRY,
    VANISHED,
    WEIGHTS,
    Heat,
    edge_weights,
    local_squares,
    reach_of,
    require_positive_degrees,
    sees_reach,
    symmetric,
    unknown_reach,
)


def require_mean(search: Search, symmetry: str, n: int) -> None:
    if search.is_sampled(n) and symmetry not in ("auto", "mean"):
        raise ValueError(
            f'symmetry="{symmetry}" needs the neighbours of both ends of a link, and queries={search.queries} searches for those '
            'of one; use symmetry="mean"'
        )


def directed(edges: Edges, values: np.ndarray, data: Rows, search: Search, symmetry: str) -> sparse.csr_array:
    """The weights of links as a symmetric matrix.

    Where a sample of rows was searched for, its links are scaled up to all rows.
    """
    if not search.is_sampled(data.n_samples):
        return symmetric(edges, values, data.n, "or" if symmetry == "auto" else symmetry)
    require_mean(search, symmetry, data.n_samples)
    return search.scale(data) * symmetric(edges, values, data.n, "mean")


class _Weighted(Graph):
    """Graphs whose edges are weighted by their length."""

    weights: Any
    t: Any
    metric: Any
    metric_params: dict | None

    def _heat(self, reach: np.ndarray | None = None) -> Heat:
        exact = is_exact(getattr(self, "search", None))
        return Heat(self.t, self.metric, self.metric_params, getattr(self, "queries", None), exact, reach)

    def _edges(self, data: Rows) -> Edges:
        raise NotImplementedError

    def resolved(self, data: Rows) -> Graph:
        if not (isinstance(self.weights, str) and self.weights == "heat" and isinstance(self.t, str)):
            return self
        edges = self._edges(data)
        return clone(self).set_params(t=self._heat().width(edges.distances.astype(np.float64) ** 2, data, edges.rows))

    def _linked(self, both: Rows, edges: Edges, heat: Heat) -> sparse.csr_array:
        values = edge_weights(self.weights, both, edges, heat)
        shape = (both.n - both.n_fitted, both.n_fitted)
        rows = edges.rows - both.n_fitted
        dead = np.bincount(rows, values, minlength=shape[0])[rows] == 0
        if dead.any() and isinstance(self.weights, str) and self.weights in ("heat", "self-tuning"):
            # Rows are so far away that all weights are 0 in floating point. Only their proportions are kept.
            squares = (
                local_squares(edges, heat)
                if self.weights == "self-tuning"
                else edges.distances.astype(float) ** 2 / self.t
            )
            least = np.full(shape[0], np.inf)
            np.minimum.at(least, rows, squares)
            values = np.where(dead, 1e-100 * np.exp(least[rows] - squares), values)
        return sparse.csr_array((values, (rows, edges.cols)), shape=shape)


class KNN(_Weighted):
    r"""Links each row to its k nearest neighbours.

    Rows i and j are linked when i is among the k nearest of j **or** j is among the k nearest of i. A row is never its own
    neighbour, even where rows are repeated. Self-tuning weights are those of [1]_.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours of each row are searched, k. It is never changed silently: a k of n_samples or more raises an error.
    weights : {"heat", "binary", "cosine", "dot", "self-tuning"} or callable, default="heat"
        How much a link counts. ``"binary"`` is 1. ``"heat"`` is :math:`\exp(-d_{ij}^2 / t)` for the distance d in the chosen
        metric. ``"cosine"`` and ``"dot"`` are the cosine and the product of the two rows, which must not be negative.
        ``"self-tuning"`` is :math:`\exp(-d_{ij}^2 / (\sigma_i \sigma_j))`, where :math:`\sigma_i` is the distance from row i
        to its k-th neighbour, so that dense and sparse regions have weights of the same size. A callable maps an array of
        distances to weights; one of three arguments is given :math:`\sigma_i` and :math:`\sigma_j` as well. Where
        :math:`\sigma_i` is 0, among equal rows, the mean of the others takes its place.
    t : float, "auto" or "half-median", default="auto"
        The width of heat weights: the larger t is, the more equal the weights are. ``"auto"`` is the mean squared distance over
        the links, each direction counted, and ``"half-median"`` is half the square of the median distance among 1,000 rows.
        A row that is so far away from all others that its weights would be rounding, or 0, keeps faint links (2e-16) to its
        neighbours. Where more than one row in a hundred has weights of 0, t is too small, and that is an error.
    metric : str or callable, default="euclidean"
        How distances are measured: any metric of :class:`sklearn.neighbors.NearestNeighbors`, ``"precomputed"`` included,
        where X holds the distances.
    metric_params : dict, default=None
        Further parameters of the metric.
    among : {"all", "same_class", "other_class"}, default="all"
        Where neighbours are searched. ``"same_class"`` takes the k nearest rows *inside* the class (all of a smaller class).
        That differs from ``KNN(k) & SameClass()``, which keeps those of the k nearest rows overall that share the class.
    symmetry : {"auto", "or", "and", "mean"}, default="auto"
        What becomes of a link that only one of its two rows has. ``"or"`` keeps it, ``"and"`` drops it, and ``"mean"`` halves
        its weight. ``"auto"`` is ``"or"``, and ``"mean"`` with ``queries``, where the neighbours of the other rows are
        unknown.
    search : None, "torch" or neighbours transformer, default=None
        Which program searches. None compares exactly, in memory. ``"torch"`` finds the same neighbours on a GPU, where there
        is one, for Euclidean distances and cosines. Any object with the interface of
        :class:`~sklearn.neighbors.KNeighborsTransformer` will do as well, such as pynndescent's ``PyNNDescentTransformer()``,
        which misses a few neighbours. It brings its own metric. It may look for more neighbours than k, of which the nearest
        are taken; where its ``n_neighbors`` is smaller than k, it is set to k.
    queries : int, default=None
        Search for the neighbours of this many random rows only, exactly and among all rows. The time then grows with the
        number of rows, and not with its square. For linear maps and scores.

        The links of these rows, times n / queries, estimate the sums over all links without bias, and
        :func:`lapwing.sampling_error` says how certain the result is. A number of n or more takes all rows, as None does.
    random_state : int, default=0
        The seed by which the rows of ``queries`` are drawn.

    References
    ----------
    .. [1] L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", Advances in Neural Information Processing Systems
       17, 2004.

    Examples
    --------
    >>> from lapwing.graphs import KNN
    >>> (term,) = KNN(1, weights="binary").build([[0.0], [1.0], [5.0]])
    >>> term.laplacian.toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: str | Callable[..., ArrayLike] = "heat",
        t: float | str = "auto",
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict | None = None,
        among: str = "all",
        symmetry: str = "auto",
        search: str | BaseEstimator | None = None,
        queries: int | None = None,
        random_state: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.t = t
        self.metric = metric
        self.metric_params = metric_params
        self.among = among
        self.symmetry = symmetry
        self.search = search
        self.queries = queries
        self.random_state = random_state

    @property
    def reads_labels(self) -> bool:
        return self.among != "all"

    @property
    def _search(self) -> Search:
        return Search(
            self.n_neighbors,
            self.metric,
            self.metric_params,
            self.among,
            self.search,
            self.queries,
            self.random_state,
        )

    def searches(self) -> list[Search]:
        return [self._search]

    def require_blocks(self, n: int) -> None:
        super().require_blocks(n)
        check_choice("symmetry", self.symmetry, ("auto", *SYMMETRY))
        if not callable(self.weights):
            check_choice("weights", self.weights, WEIGHTS)
        if not isinstance(self.t, str):
            check_positive("t", self.t)
        require_mean(self._search, self.symmetry, n)
        if self._search.is_sampled(n) and sees_reach(self.weights):
            raise ValueError(unknown_reach(self.weights))

    def _edges(self, data: Rows) -> Edges:
        return find(data, self._search)

    def _reach(self, edges: Edges, data: Rows) -> np.ndarray | None:
        """The distance from each row to its k-th neighbour; None where a sample of the rows was searched for."""
        if self._search.is_sampled(data.n_samples):
            return None
        if data.n_fitted < data.n:  # the k-th neighbours of fitted rows are those of the fit
            fitted = data.fitted()
            edges = Edges.joined([find(fitted, self._search._replace(among="all")), edges])
        return reach_of(edges, data.n)

    def new_links(self, both: Rows) -> sparse.csr_array | None:
        if is_named(self.metric, "precomputed") or not is_exact(self.search):
            return None
        edges = find_fitted(both, self._search)
        return self._linked(both, edges, self._heat(self._reach(edges, both) if sees_reach(self.weights) else None))

    def _links_there(self, data: DeviceRows) -> Links | None:
        """The graph of rows on a device, as links that stay there.

        None where the weights, or a search for a sample of rows, do not allow it.
        """
        if self.weights not in ("heat", "binary"):
            return None
        found = nearest_there(data, self._search)
        if found is None:
            return None
        cols, d = found
        weights = d**2
        if self.weights == "heat":
            weights /= -self._heat().width(np.array([float(weights.mean())]), data)
            nearest = weights.amax(1, keepdim=True)
            if float((nearest < -VANISHED).double().mean()) > OUTLIERS:
                return None  # the search on the CPU raises the error
            weights = weights.sub_((nearest + FAINT).clamp_(max=0)).exp_()
        else:
            weights.fill_(1.0)
        return Links.joined(data.n, cols, weights, "or" if self.symmetry == "auto" else self.symmetry)

    def adjacency(self, data: Rows) -> Any:
        check_choice("symmetry", self.symmetry, ("auto", *SYMMETRY))
        search = self._search
        links = self._links_there(data) if isinstance(data, DeviceRows) else None
        if links is not None:
            return links
        edges = find(data, search)
        heat = self._heat(self._reach(edges, data) if sees_reach(self.weights) else None)
        values = edge_weights(self.weights, data, edges, heat)
        W = directed(edges, values, data, search, self.symmetry)
        if self.symmetry != "and":  # "and" leaves rows without links on purpose
            require_positive_degrees(self.weights, edges.rows, W)
        return W


class Radius(_Weighted):
    r"""Links all pairs of rows within a distance.

    Parameters
    ----------
    radius : float, default=1.0
        The largest distance of a link. Where a paper bounds the squared distance by :math:`\epsilon`, it is
        :math:`\sqrt{\epsilon}`. Rows without neighbours stay without links.
    weights : {"heat", "binary", "cosine", "dot"} or callable, default="heat"
        How much a link counts. ``"binary"`` is 1. ``"heat"`` is :math:`\exp(-d_{ij}^2 / t)` for the distance d in the chosen
        metric. ``"cosine"`` and ``"dot"`` are the cosine and the product of the two rows, which must not be negative. A
        callable maps an array of distances to weights.
    t, metric, metric_params
        As in :class:`KNN`.

    Examples
    --------
    >>> from lapwing.graphs import Radius
    >>> Radius(2.0, weights="binary").build([[0.0], [1.0], [5.0]])[0].laplacian.toarray()
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: str | Callable[..., ArrayLike] = "heat",
        t: float | str = "auto",
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict | None = None,
    ):
        self.radius = radius
        self.weights = weights
        self.t = t
        self.metric = metric
        self.metric_params = metric_params

    def _edges(self, data: Rows) -> Edges:
        return within(data, self.radius, self.metric, self.metric_params)

    def new_links(self, both: Rows) -> sparse.csr_array | None:
        return None if is_named(self.metric, "precomputed") else self._linked(both, self._edges(both), self._heat())

    def adjacency(self, data: Rows) -> sparse.csr_array:
        edges = self._edges(data)
        if not edges.rows.size:
            raise ValueError(
                f"radius={self.radius} gives an empty graph: no two samples are that close; use a larger one"
            )
        values = edge_weights(self.weights, data, edges, self._heat())
        W = symmetric(edges, values, data.n)
        require_positive_degrees(self.weights, edges.rows, W)
        return W


class Repulsion(Graph):
    r"""Links near rows of different classes, which a projection should keep apart.

    Each row is linked to those of its k nearest neighbours, searched among *all* rows, that are of another class, where both
    labels are known. A link counts in both directions [1]_. Subtract the graph from what attracts:
    ``OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace")``.

    Parameters
    ----------
    n_neighbors : int, default=15
        Among how many nearest neighbours of a row those of other classes are looked for, k.
    weights : {"inverse", "binary"}, default="inverse"
        How much a link counts. ``"binary"`` is 1. ``"inverse"`` is eq. 12 of [1]_, :math:`1 / (\sigma + \|x_i - x_j\|^2 /
        (\|x_i\|^2 + \|x_j\|^2))`, on X as given.
    sigma : float, default=10.0
        :math:`\sigma` of ``"inverse"`` weights: the larger it is, the more equal the weights are.
    normalized : bool, default=False
        Whether the Laplacian is normalised by the degrees, :math:`L = I - D^{-1/2} W D^{-1/2}` on the rows that have links
        (eq. 15 of [1]_).
    metric
        As in :class:`KNN`.
    queries
        As in :class:`KNN`. A pair that is linked in one direction only then has half its weight.
    random_state
        As in :class:`KNN`.

    References
    ----------
    .. [1] E. Kokiopoulou and Y. Saad, "Enhanced graph-based dimensionality reduction with repulsion Laplaceans",
       Pattern Recognition 42, 2009. https://doi.org/10.1016/j.patcog.2009.04.005

    Examples
    --------
    >>> from lapwing.graphs import Repulsion
    >>> X, y = [[0.0], [1.0], [1.5], [3.0]], ["a", "a", "b", "b"]
    >>> Repulsion(1, weights="binary").build(X, y)[0].laplacian.toarray()
    array([[ 0.,  0.,  0.,  0.],
           [ 0.,  1., -1.,  0.],
           [ 0., -1.,  1.,  0.],
           [ 0.,  0.,  0.,  0.]])
    """

    reads_labels = True

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        weights: str = "inverse",
        sigma: float = 10.0,
        normalized: bool = False,
        metric: str | Callable[..., float] = "euclidean",
        queries: int | None = None,
        random_state: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.sigma = sigma
        self.normalized = normalized
        self.metric = metric
        self.queries = queries
        self.random_state = random_state

    @property
    def is_laplacian(self) -> bool:
        return not self.normalized

    @property
    def _search(self) -> Search:
        return Search(self.n_neighbors, self.metric, queries=self.queries, random_state=self.random_state)

    def searches(self) -> list[Search]:
        return [self._search]

    def require_blocks(self, n: int) -> None:
        super().require_blocks(n)
        check_choice("weights", self.weights, ("inverse", "binary"))
        check_positive("sigma", self.sigma)
        self._require_degrees(n)

    def _require_degrees(self, n: int) -> None:
        if check_choice("normalized", self.normalized, (False, True)) and self._search.is_sampled(n):
            raise ValueError(
                f"normalized=True needs the degrees of all rows, and queries={self.queries} gives those of a few; leave one out"
            )

    def adjacency(self, data: Rows) -> sparse.csr_array:
        check_choice("weights", self.weights, ("inverse", "binary"))
        self._require_degrees(data.n_samples)
        classes, edges = data.classes, find(data, self._search)
        known = (classes[edges.rows] >= 0) & (classes[edges.cols] >= 0)
        edges = edges.where(known & (classes[edges.rows] != classes[edges.cols]))
        values = np.ones(edges.rows.size) if self.weights == "binary" else self._inverse(data, edges)
        return directed(edges, values, data, self._search, "auto")

    def _inverse(self, data: Rows, edges: Edges) -> np.ndarray:
        """Eq. 12. Two zero vectors have the relative distance 0."""
        require_features(self.metric, 'weights="inverse"')
        squares = data.norms[edges.rows] ** 2 + data.norms[edges.cols] ** 2
        apart = squares - 2 * data.dots(edges.rows, edges.cols)
        relative = np.divide(apart, squares, out=np.zeros_like(apart), where=squares > 0)
        return 1 / (check_positive("sigma", self.sigma) + np.maximum(relative, 0))

    def term(self, W: sparse.csr_array) -> Term:
        if not self.normalized:
            return super().term(W)
        n = W.shape[0]
        degrees = np.asarray(W.sum(axis=1)).ravel()
        linked = (degrees > 0).astype(np.float64)
        scale = sparse.diags_array(np.divide(1.0, np.sqrt(degrees), out=np.zeros(n), where=degrees > 0))
        return Term(1.0, Structured(n, -sparse.csr_array(scale @ W @ scale), diag=linked), diagonal(linked))


class ClosestPairs(Graph):
    """Links each class to the rows of other classes that are closest to it, with weight 1: the margin of :class:`lapwing.MFA`.

    Parameters
    ----------
    n_pairs : int, default=20
        How many pairs per class are linked, the closest ones; all of them where a class has fewer. The graph has the pairs of
        all classes.
    metric
        As in :class:`KNN`.

    Examples
    --------
    >>> from lapwing.graphs import ClosestPairs
    >>> ClosestPairs(1).build([[0.0], [1.0], [1.5], [3.0]], ["a", "a", "b", "b"])[0].laplacian.toarray()
    array([[ 0.,  0.,  0.,  0.],
           [ 0.,  1., -1.,  0.],
           [ 0., -1.,  1.,  0.],
           [ 0.,  0.,  0.,  0.]])
    """

    reads_labels = True

    def __init__(self, n_pairs: int = 20, *, metric: str | Callable[..., float] = "euclidean"):
        self.n_pairs = n_pairs
        self.metric = metric

    def searches(self) -> list[Search]:
        return [Search(self.n_pairs, self.metric, among="other_class")]

    def require_blocks(self, n: int) -> None:
        raise ValueError(
            "ClosestPairs compares every row with every other, and X is read in blocks; use "
            "penalty=Repulsion(15, queries=20_000) instead, or pass X as an array"
        )

    def adjacency(self, data: Rows) -> sparse.csr_array:
        n_pairs = check_count("n_pairs", self.n_pairs)
        # Among the n closest pairs of a class, a row occurs at most n times, so that n neighbours per row are enough
        # candidates.
        edges = find(data, Search(min(n_pairs, data.n - 1), self.metric, among="other_class"))
        own = data.classes[edges.rows]
        longest = np.zeros(own.max() + 1)
        np.maximum.at(longest, own, edges.distances)
        # Lengths that differ only by rounding become equal.
        lengths = np.round(edges.distances / np.where(longest > 0, longest, 1.0)[own], 10)
        order = np.lexsort((edges.cols, edges.rows, lengths, own))
        sizes = np.bincount(own)
        rank = np.arange(own.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        edges = edges.where(order[rank < n_pairs])
        return symmetric(edges, np.ones(edges.rows.size), data.n)
