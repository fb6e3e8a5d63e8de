"""Graphs made by a neighbour search."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

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
    timed,
    within,
)
from ..operators import Structured, diagonal
from ..problem import Term
from ..rows import Rows
from ._base import Graph
from ._weights import (
    SYMMETRY,
    WEIGHTS,
    Heat,
    edge_weights,
    local_squares,
    reach_of,
    require_positive_degrees,
    require_reach,
    sees_reach,
    symmetric,
)


def require_mean(search: Search, symmetry: str, n: int) -> None:
    if search.is_sampled(n) and symmetry not in ("auto", "mean"):
        raise ValueError(
            f'symmetry="{symmetry}" needs the neighbours of both ends of a link, and queries={search.queries} searches for those '
            'of one; use symmetry="mean"'
        )


def directed(edges: Edges, values: np.ndarray, data: Rows, search: Search, symmetry: str) -> sparse.csr_array:
    """The weights of links found from each row searched for, made symmetric; those of a few rows stand for all."""
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

    @property
    def _heat(self) -> Heat:
        exact = is_exact(getattr(self, "search", None))
        return Heat(self.t, self.metric, self.metric_params, getattr(self, "queries", None), exact)

    def _edges(self, data: Rows) -> Edges:
        raise NotImplementedError

    def resolved(self, data: Rows) -> Graph:
        if not (isinstance(self.weights, str) and self.weights == "heat" and isinstance(self.t, str)):
            return self
        edges = self._edges(data)
        return clone(self).set_params(t=self._heat.width(edges.distances.astype(np.float64) ** 2, data, edges.rows))

    def _heat_of(self, edges: Edges, data: Rows) -> Heat:
        """With how far rows reach, where that is known of all of them."""
        return self._heat

    def _linked(self, both: Rows, edges: Edges) -> sparse.csr_array:
        heat = self._heat_of(edges, both)
        values = edge_weights(self.weights, both, edges, heat)
        shape = (both.n - both.n_fitted, both.n_fitted)
        rows = edges.rows - both.n_fitted
        dead = np.bincount(rows, values, minlength=shape[0])[rows] == 0
        if dead.any() and isinstance(self.weights, str) and self.weights in ("heat", "self-tuning"):
            # So far away that all weights vanish: what is left of them is their proportions.
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
    r"""The k nearest neighbours.

    Rows i and j are linked when i is among the k nearest of j **or** j among those of i. A row is never its own
    neighbour, also where rows are repeated.

    Parameters
    ----------
    n_neighbors : int, default=5
        k. Never changed behind your back: k >= n_samples raises.
    weights : {"heat", "binary", "cosine", "dot", "self-tuning"} or callable, default="heat"
        ``"heat"`` is :math:`\exp(-d_{ij}^2 / t)` in the chosen metric. ``"self-tuning"`` is
        :math:`\exp(-d_{ij}^2 / (\sigma_i \sigma_j))` with :math:`\sigma_i` the distance of row i from its k-th neighbour [1]_:
        dense and sparse regions have weights of the same size. A callable maps an array of distances to weights; one of three
        arguments is given :math:`\sigma_i` and :math:`\sigma_j` as well. Where :math:`\sigma_i` is 0, among equal rows, it is the
        mean of the others.
    t : float, "auto" or "half-median", default="auto"
        Heat width; ``"auto"`` is the mean squared distance over the graph's directed edges.
    metric : str or callable, default="euclidean"
        Any metric of :class:`sklearn.neighbors.NearestNeighbors`, ``"precomputed"`` included, and ``"chi2"``, the chi-square
        distance of histograms (:func:`lapwing.metrics.chi2_distances`).
    metric_params : dict, default=None
        Further parameters of the metric.
    among : {"all", "same_class", "other_class"}, default="all"
        Where to search. ``among="same_class"`` takes the k nearest *inside* the class (all of a smaller one);
        ``KNN(k) & SameClass()`` keeps those of the k nearest overall that share the class. They differ.
    symmetry : {"auto", "or", "and", "mean"}, default="auto"
        How the directed graph becomes symmetric; ``"mean"`` is :math:`(A + A^\top)/2`. ``"auto"`` is ``"or"``, and ``"mean"``
        with ``queries``, which leave the others unknown.
    search : None, "torch", "approximate" or neighbours transformer, default=None
        Finds the neighbours instead. ``"torch"`` finds the same ones on a GPU, where there is one (docs/gpu.md), for Euclidean
        distances and cosines. ``"approximate"`` is NN-descent (pynndescent), for Euclidean, cosine and Manhattan
        distances; up to 16,384 rows it is exact, beyond it misses few (docs/scaling.md), and which depends on the number of
        threads. Or any object with the interface of ``KNeighborsTransformer``, whose ``n_neighbors`` is set to k and which
        brings its own metric.
    queries : int, default=None
        Search for the neighbours of this many random rows only, exactly and among all rows: time grows with n, not with its
        square. Their links, times n / queries, estimate the sums over all links without bias. For linear maps and scores;
        docs/scaling.md says how many are enough, and ``sampling_`` of the fitted estimator how certain the result is. As many
        as there are rows, or more, are all of them.
    random_state : int, default=0
        Chooses the rows.
    recall : float, default=None
        The share of the nearest neighbours that ``search="approximate"`` is to find. None is what the map needs: 0.95 for
        linear maps, kernels and scores, whose objective that changes by less than 0.05 %, and 0.99 for free maps. What was
        found, measured on a sample of rows, is ``recall_`` of the fitted estimator.

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
        weights: Any = "heat",
        t: Any = "auto",
        metric: Any = "euclidean",
        metric_params: dict | None = None,
        among: str = "all",
        symmetry: str = "auto",
        search: Any = None,
        queries: int | None = None,
        random_state: int = 0,
        recall: float | None = None,
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
        self.recall = recall

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
            self.recall,
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
            require_reach(self.weights, None)

    def _edges(self, data: Rows) -> Edges:
        return find(data, self._search)

    def _heat_of(self, edges: Edges, data: Rows) -> Heat:
        if not sees_reach(self.weights) or self._search.is_sampled(data.n_samples):
            return self._heat
        if data.n_fitted < data.n:  # fitted rows reach as far as they did
            fitted = data.fitted()
            edges = Edges.joined([find(fitted, self._search._replace(among="all")), edges])
        return self._heat._replace(reach=reach_of(edges, data.n))

    def new_links(self, both: Rows) -> sparse.csr_array | None:
        if is_named(self.metric, "precomputed") or not is_exact(self.search):
            return None
        return self._linked(both, find_fitted(both, self._search))

    def _links_there(self, data: DeviceRows) -> Links | None:
        """The graph of rows on a device, where it can stay there: of plain weights, and of all rows."""
        if self.weights not in ("heat", "binary"):
            return None
        found = timed(data, lambda: nearest_there(data, self._search))
        if found is None:
            return None
        cols, d = found
        squared = d**2
        width = self._heat.width(np.array([float(squared.mean())]), data) if self.weights == "heat" else 1.0
        weights = (-squared / width).exp_() if self.weights == "heat" else squared.fill_(1.0)
        links = Links.joined(data.n, cols, weights, "or" if self.symmetry == "auto" else self.symmetry)
        return (
            links if self.symmetry == "and" or bool((links.degrees > 0).all()) else None
        )  # None: what is wrong is said there

    def adjacency(self, data: Rows) -> Any:
        check_choice("symmetry", self.symmetry, ("auto", *SYMMETRY))
        search = self._search
        links = self._links_there(data) if isinstance(data, DeviceRows) else None
        if links is not None:
            return links
        edges = find(data, search)
        values = edge_weights(self.weights, data, edges, self._heat_of(edges, data))
        W = directed(edges, values, data, search, self.symmetry)
        if self.symmetry != "and":  # "and" leaves rows alone on purpose
            require_positive_degrees(self.weights, edges.rows, W)
        return W


class Radius(_Weighted):
    r"""All pairs within a distance.

    Parameters
    ----------
    radius : float, default=1.0
        The largest distance of a link: :math:`\sqrt{\epsilon}` where a paper bounds the squared distance by
        :math:`\epsilon`. Rows without neighbours stay alone.
    weights, t, metric, metric_params
        As in :class:`KNN`.
    """

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "heat",
        t: Any = "auto",
        metric: Any = "euclidean",
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
        return None if is_named(self.metric, "precomputed") else self._linked(both, self._edges(both))

    def adjacency(self, data: Rows) -> sparse.csr_array:
        edges = self._edges(data)
        if not edges.rows.size:
            raise ValueError(
                f"radius={self.radius} gives an empty graph: no two samples are that close; use a larger one"
            )
        values = edge_weights(self.weights, data, edges, self._heat)
        W = symmetric(edges, values, data.n)
        require_positive_degrees(self.weights, edges.rows, W)
        return W


class Repulsion(Graph):
    r"""Near rows of different classes: what a projection should keep apart.

    Of the k nearest neighbours among *all* rows, those of another class (both labels known), linked in either direction
    [1]_. Subtract it from what attracts: ``OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace")``.

    Parameters
    ----------
    n_neighbors : int, default=15
    weights : {"inverse", "binary"}, default="inverse"
        ``"inverse"`` is eq. 12, :math:`1 / (\sigma + \|x_i - x_j\|^2 / (\|x_i\|^2 + \|x_j\|^2))`, on X as given.
    sigma : float, default=10.0
    normalized : bool, default=False
        Eq. 15: :math:`L = I - D^{-1/2} W D^{-1/2}` on the rows that have links.
    metric : str or callable, default="euclidean"
    queries, random_state
        As in :class:`KNN`; a pair that is linked in one direction only then has half its weight.

    References
    ----------
    .. [1] E. Kokiopoulou and Y. Saad, "Enhanced graph-based dimensionality reduction with repulsion Laplaceans",
       Pattern Recognition 42, 2009. https://doi.org/10.1016/j.patcog.2009.04.005
    """

    reads_labels = True

    def __init__(
        self,
        n_neighbors: int = 15,
        *,
        weights: str = "inverse",
        sigma: float = 10.0,
        normalized: bool = False,
        metric: Any = "euclidean",
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
        """Eq. 12; two zero vectors are at relative distance 0."""
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
    """For each class its closest pairs with any other class, with weight 1: the margin of MFA.

    Parameters
    ----------
    n_pairs : int, default=20
        Pairs a class (fewer where a class has not so many); the graph is the union over the classes.
    metric : str or callable, default="euclidean"
    """

    reads_labels = True

    def __init__(self, n_pairs: int = 20, *, metric: Any = "euclidean"):
        self.n_pairs = n_pairs
        self.metric = metric

    def searches(self) -> list[Search]:
        return [Search(self.n_pairs, self.metric, among="other_class")]

    def require_blocks(self, n: int) -> None:
        raise ValueError(
            "ClosestPairs compares every row with every other, and X is read in blocks; use Repulsion(15, queries=20_000) instead"
        )

    def adjacency(self, data: Rows) -> sparse.csr_array:
        n_pairs = check_count("n_pairs", self.n_pairs)
        # A class's n closest pairs hold a row at most n times, so n neighbours of each row are candidates enough.
        edges = find(data, Search(min(n_pairs, data.n - 1), self.metric, among="other_class"))
        own = data.classes[edges.rows]
        longest = np.zeros(own.max() + 1)
        np.maximum.at(longest, own, edges.distances)
        lengths = np.round(edges.distances / np.where(longest > 0, longest, 1.0)[own], 10)  # equal up to rounding
        order = np.lexsort((edges.cols, edges.rows, lengths, own))
        sizes = np.bincount(own)
        rank = np.arange(own.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        edges = edges.where(order[rank < n_pairs])
        return symmetric(edges, np.ones(edges.rows.size), data.n)
