"""Graphs made by a neighbour search: who is near, and how much a link counts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_non_negative

from .._validation import check_choice, check_count, check_positive
from ..data import Data
from ..neighbors import (
    Edges,
    NoPlaceError,
    Request,
    is_named,
    metric_distances,
    require_nonzero_rows,
    require_square,
    search,
)
from ..operators import Structured, diagonal
from ..problem import Term
from .base import Graph

WEIGHTS = ("heat", "binary", "cosine", "dot", "self-tuning")
SYMMETRY = ("auto", "or", "and", "mean")
T_RULES = ("auto", "half-median")
MEDIAN_ROWS = 1000  # t="half-median" looks at the distances among this many rows
FAINT = 36.0  # -log of the least weight that a row's heaviest edge has: beside a weight of 1 it is rounding
VANISHED = 745.0  # -log of what is 0 in floating point
OUTLIERS = 0.01  # how many rows may be that far away from all others; where more are, the width is wrong


class Searching(Graph):
    """Graphs that search for neighbours. Parameters named as those of :class:`Request` say how."""

    reads_labels = property(lambda self: getattr(self, "among", "all") != "all")

    def requests(self) -> list[Request]:
        return [Request(**{name: getattr(self, name) for name in Request._fields if hasattr(self, name)})]


@dataclass(eq=False, repr=False)
class NeighborGraph(Graph):
    """Graphs whose edges are weighted by their length."""

    _: KW_ONLY
    weights: str | Callable[..., ArrayLike] = "heat"
    t: float | str = "auto"
    metric: str | Callable[..., float] = "euclidean"
    metric_params: dict | None = None

    def _edges(self, data: Data) -> Edges:
        raise NotImplementedError

    def _weights(self, data: Data, edges: Edges, reach: np.ndarray | None = None, new: bool = False) -> np.ndarray:
        """The weights of directed edges, of ``new`` rows or of all. ``reach`` is the distance of each row's k-th neighbour."""
        (rows, cols, d), weights = edges, self.weights
        if callable(weights):
            values = np.asarray(weights(d), dtype=np.float64)
            if values.shape != d.shape or not np.isfinite(values).all():
                raise ValueError(f"weights={weights!r} must return an array of one finite weight per distance")
        elif check_choice("weights", weights, WEIGHTS) == "self-tuning":
            if reach is None:
                raise ValueError(
                    'weights="self-tuning" needs the distance of both rows from their k-th neighbours, which KNN alone knows, '
                    'and only where it searches for those of all rows; use KNN without queries=, or weights="heat"'
                )
            values = heat_weights(d**2 / (reach[rows] * reach[cols]), rows, data.n, new)
        elif weights == "heat":
            values = heat_weights(d**2 / self._width(data, edges), rows, data.n, new)
        else:
            values = d**0 if weights == "binary" else self._products(data, edges)
        if len(values) and values.min() < 0:
            found = f"weights={weights!r} gives negative weights on {float((values < 0).mean()):.1%} of the edges"
            raise ValueError(f'{found}; use weights="heat" or "binary", or X without negative entries')
        return values

    def _products(self, data: Data, edges: Edges) -> np.ndarray:
        """``weights="dot"`` and ``"cosine"``. A cosine that differs from 0 only by rounding is 0."""
        require_features(self.metric, f'weights="{self.weights}"')
        if self.weights == "dot":
            return data.inner_products(*edges[:2])
        require_nonzero_rows(data, 'weights="cosine"')
        cosines = data.unit.inner_products(*edges[:2])
        return np.where(np.abs(cosines) <= 1e-13, 0.0, cosines)

    def _width(self, data: Data, edges: Edges) -> float:
        """The width t of heat weights, 1 where the rule gives 0.

        ``"half-median"`` is t = 2 sigma^2 with sigma half the median distance (Kokiopoulou and Saad, 2009, section 6.1).
        """
        if not isinstance(self.t, str):
            return self.t if isinstance(self.t, float) and 0 < self.t < np.inf else check_positive("t", self.t)
        rows, _, d = edges
        mean = float((d**2).mean()) if len(d) else 0.0
        if self.t != "auto" and check_choice("t", self.t, T_RULES) == "half-median":
            queries = getattr(self, "queries", None)
            some = np.arange(data.n) if queries is None or queries >= data.n else np.unique(rows)
            some = some[np.sort(np.random.RandomState(0).permutation(some.size)[:MEDIAN_ROWS])]
            d = data.host(search(data, Request(some.size - 1, self.metric, self.metric_params), some, some)[2])
            mean = float(np.median(d) ** 2 / 2)
        return mean if mean > 0 else 1.0

    def resolved(self, data: Data) -> Graph:
        if not (isinstance(self.weights, str) and self.weights == "heat" and isinstance(self.t, str)):
            return self
        return copy(self).set_params(t=self._width(data, self._edges(data)))

    def _linked(self, both: Data, n_fitted: int, edges: Edges, reach: np.ndarray | None = None) -> sparse.csr_array:
        """The weights of edges from new rows to fitted ones."""
        values, shape = self._weights(both, edges, reach, new=True), (both.n - n_fitted, n_fitted)
        return sparse.csr_array((values, (edges[0] - n_fitted, edges[1])), shape=shape)


@dataclass(eq=False, repr=False)
class KNN(Searching, NeighborGraph):
    r"""Links each row to its k nearest neighbours.

    Rows i and j are linked when i is among the k nearest of j **or** j is among the k nearest of i. A row is never its own
    neighbour, even where rows are repeated.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours of each row are searched, k: fewer than there are samples.
    weights : {"heat", "binary", "cosine", "dot", "self-tuning"} or callable, default="heat"
        How much a link counts. ``"binary"`` is 1. ``"heat"`` is :math:`\exp(-d_{ij}^2 / t)` for the distance d in the chosen
        metric. ``"cosine"`` and ``"dot"`` are the cosine and the product of the two rows, which must not be negative. A
        callable maps an array of distances to weights.

        ``"self-tuning"`` is :math:`\exp(-d_{ij}^2 / (\sigma_i \sigma_j))`, where :math:`\sigma_i` is the distance from row i to
        its k-th neighbour [1]_, or the mean of the others where that is 0.
    t : float, "auto" or "half-median", default="auto"
        The width of heat weights: the larger t is, the more equal the weights are. ``"auto"`` is the mean squared distance over
        the links, each direction counted, and ``"half-median"`` is half the square of the median distance among 1,000 rows.

        A row far from all others keeps faint links (2e-16). Where more than one row in a hundred is, t is too small: an error.
    metric : str or callable, default="euclidean"
        How distances are measured: any metric of :class:`sklearn.neighbors.NearestNeighbors`, or ``"precomputed"``, where X
        holds the distances.
    metric_params : dict, default=None
        Further parameters of the metric.
    among : {"all", "same_class", "other_class"}, default="all"
        Where neighbours are searched. ``"same_class"`` takes the k nearest rows *inside* the class (all of a smaller class),
        where ``KNN(k) & SameClass()`` keeps those of the k nearest rows overall that share the class.
    symmetry : {"auto", "or", "and", "mean"}, default="auto"
        What becomes of a link that only one of its two rows has. ``"or"`` keeps it, ``"and"`` drops it, and ``"mean"`` halves
        its weight. ``"auto"`` is ``"or"``, and ``"mean"`` with ``queries``.
    search : None, "torch" or neighbours transformer, default=None
        Which program searches. None compares exactly, in memory; ``"torch"`` does so on a GPU, where there is one, for Euclidean
        distances and cosines. An object like :class:`~sklearn.neighbors.KNeighborsTransformer`, such as pynndescent's
        ``PyNNDescentTransformer()``, searches for k neighbours or more in its own metric, and may miss a few.
    queries : int, default=None
        Search for the neighbours of this many random rows only, exactly and among all rows; None, or n and more, is all rows.
        For linear maps and scores. The links of these rows, times n / queries, estimate the sums over all links without bias, and
        :func:`lapwing.sampling_error` says how certain the result is.
    random_state : int, default=0
        The seed by which the rows of ``queries`` are drawn.

    References
    ----------
    .. [1] L. Zelnik-Manor and P. Perona, "Self-tuning spectral clustering", NIPS 17, 2004.

    Examples
    --------
    >>> from lapwing.graphs import KNN
    >>> KNN(1, weights="binary").build([[0.0], [1.0], [5.0]])[0].laplacian.toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """

    n_neighbors: int = 5
    _: KW_ONLY
    among: str = "all"
    symmetry: str = "auto"
    search: str | BaseEstimator | None = None
    queries: int | None = None
    random_state: int = 0

    def _edges(self, data: Data) -> Edges:
        return data.nearest(self.requests()[0])

    def adjacency(self, data: Data) -> sparse.csr_array:
        how, (request,) = check_choice("symmetry", self.symmetry, SYMMETRY), self.requests()
        on_device = str(self.weights) in ("heat", "binary") and str(self.t) != "half-median"
        edges, sampled = data.nearest(request, on_device), self.queries is not None and self.queries < data.size
        if sampled and how not in ("auto", "mean"):
            raise ValueError(f'symmetry="{how}" needs the links of all rows; leave queries out, or use symmetry="mean"')
        known = str(self.weights) == "self-tuning" and not sampled
        weights = self._weights(data, edges, reach_of(edges, data.n) if known else None)
        W = data.symmetric_weights(*edges[:2], weights, "mean" if sampled else "or" if how == "auto" else how)
        if sampled:  # its links are scaled up to all rows
            return request.rows_per_query(data.size) * W
        if how != "and" and W.sum(axis=1).min() <= 0:  # "and" leaves rows without links on purpose
            require_positive_degrees(self.weights, data.nearest(request)[0], W)
        return W

    def new_links(self, both: Data, n_fitted: int) -> sparse.csr_array | None:
        (request,) = self.requests()
        if is_named(self.metric, "precomputed") or hasattr(self.search, "get_params"):
            return None
        edges, reach = nearest_fitted(both, n_fitted, request), None
        if is_named(self.weights, "self-tuning"):  # the k-th neighbours of fitted rows are those of the fit
            own = type(both)(both.X[:n_fitted]).nearest(request._replace(among="all"))
            reach = reach_of([np.concatenate(parts) for parts in zip(own, edges, strict=True)], both.n)
        return self._linked(both, n_fitted, edges, reach)


@dataclass(eq=False, repr=False)
class Radius(NeighborGraph):
    r"""Links all pairs of rows within a distance.

    Parameters
    ----------
    radius : float, default=1.0
        The largest distance of a link, :math:`\sqrt{\epsilon}` where a paper bounds the squared distance by :math:`\epsilon`.
    weights : {"heat", "binary", "cosine", "dot"} or callable, default="heat"
        As in :class:`KNN`. ``"self-tuning"`` needs a number of neighbours.
    t, metric, metric_params : As in :class:`KNN`

    Examples
    --------
    >>> from lapwing.graphs import Radius
    >>> Radius(2.0, weights="binary").build([[0.0], [1.0], [5.0]])[0].degrees.diagonal()
    array([1., 1., 0.])
    """

    radius: float = 1.0

    def _edges(self, data: Data) -> Edges:
        return self._within(data, np.arange(data.n), np.arange(data.n))

    def _within(self, data: Data, queries: np.ndarray, members: np.ndarray) -> Edges:
        """All pairs of a query and another member up to the radius."""
        request = Request(1, self.metric, self.metric_params).checked(data.n)
        radius = check_positive("radius", self.radius)
        require_square(self.metric, data.X)
        if is_named(self.metric, "precomputed") and sparse.issparse(data.X):
            check_non_negative(data.X, 'metric="precomputed", which takes distances')
            stored = sparse.coo_array(data.X)
            rows, cols, d = stored.row.astype(np.intp), stored.col.astype(np.intp), stored.data.astype(np.float64)
        elif is_named(self.metric, "euclidean", "l2", "cosine") and not self.metric_params:
            if angles := is_named(self.metric, "cosine"):
                require_nonzero_rows(data, 'metric="cosine"')
            space, reach = (data.unit, np.sqrt(2 * radius)) if angles else (data, radius)
            near = space.within_radius(queries, members, np.full(queries.size, reach))
            rows, cols = np.repeat(queries, [own.size for own in near]), np.concatenate([np.empty(0, np.intp), *near])
            d = space.distances(rows, cols[:, None])[:, 0]
            d = d * d / 2 if angles else d
        else:
            d, cols = metric_distances(data, request, queries, members, members.size)
            rows, cols, d = np.repeat(queries, members.size), members[cols].ravel(), d.ravel()
        kept = (d <= radius) & (rows != cols)
        return rows[kept], cols[kept], d[kept]

    def adjacency(self, data: Data) -> sparse.csr_array:
        edges = self._edges(data)
        if not edges[0].size:
            raise ValueError(f"radius={self.radius} gives an empty graph: no samples are that close")
        W = data.symmetric_weights(*edges[:2], self._weights(data, edges))
        require_positive_degrees(self.weights, edges[0], W)
        return W

    def new_links(self, both: Data, n_fitted: int) -> sparse.csr_array | None:
        if is_named(self.metric, "precomputed"):
            return None
        return self._linked(both, n_fitted, self._within(both, np.arange(n_fitted, both.n), np.arange(n_fitted)))


@dataclass(eq=False, repr=False)
class Repulsion(Searching):
    r"""Links near rows of different classes, which a projection should keep apart.

    Each row is linked to those of its k nearest neighbours among *all* rows that are of another class [1]_. Subtract the graph
    from what attracts: ``OLPP(graph=SameClass() - 0.2 * Repulsion(15), normalize="trace")``.

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
        Whether the Laplacian of the rows that have links is :math:`I - D^{-1/2} W D^{-1/2}` (eq. 15 of [1]_).
    metric, random_state : As in :class:`KNN`
    queries
        As in :class:`KNN`. A pair that is linked in one direction only then has half its weight.

    References
    ----------
    .. [1] E. Kokiopoulou and Y. Saad, "Enhanced graph-based dimensionality reduction with repulsion Laplaceans",
       Pattern Recognition 42, 2009. https://doi.org/10.1016/j.patcog.2009.04.005

    Examples
    --------
    >>> from lapwing.graphs import Repulsion
    >>> X, y = [[0.0], [1.0], [1.5], [3.0]], ["a", "a", "b", "b"]
    >>> Repulsion(1, weights="binary").build(X, y)[0].degrees.diagonal()  # the second and the third row are linked
    array([0., 1., 1., 0.])
    """

    n_neighbors: int = 15
    _: KW_ONLY
    weights: str = "inverse"
    sigma: float = 10.0
    normalized: bool = False
    metric: str | Callable[..., float] = "euclidean"
    queries: int | None = None
    random_state: int = 0

    reads_labels, is_laplacian = True, property(lambda self: not self.normalized)

    def adjacency(self, data: Data) -> sparse.csr_array:
        check_choice("weights", self.weights, ("inverse", "binary"))
        (request,) = self.requests()
        sampled = request.is_sampled(data.size)
        if check_choice("normalized", self.normalized, (False, True)) and sampled:
            raise ValueError(f"normalized=True needs the links of all rows; leave queries={self.queries} out")
        rows, cols, _ = data.nearest(request)
        own, other = data.classes[rows], data.classes[cols]
        differ = (own >= 0) & (other >= 0) & (own != other)
        rows, cols = rows[differ], cols[differ]
        values = np.ones(rows.size) if self.weights == "binary" else self._inverse(data, rows, cols)
        W = data.symmetric_weights(rows, cols, values, "mean" if sampled else "or")
        return request.rows_per_query(data.size) * W

    def _inverse(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Eq. 12. Two zero vectors have the relative distance 0."""
        require_features(self.metric, 'weights="inverse"')
        squares = data.squares[rows] + data.squares[cols]
        apart = squares - 2 * data.inner_products(rows, cols)
        relative = np.divide(apart, squares, out=np.zeros_like(apart), where=squares > 0)
        return 1 / (check_positive("sigma", self.sigma) + np.maximum(relative, 0))

    def term(self, W: sparse.csr_array) -> Term:
        if not self.normalized:
            return super().term(W)
        degrees = np.asarray(W.sum(axis=1)).ravel()
        linked = (degrees > 0).astype(np.float64)
        scale = sparse.diags_array(linked / np.sqrt(np.where(degrees > 0, degrees, 1.0)))
        return Term(1.0, Structured(linked.size, -sparse.csr_array(scale @ W @ scale), diag=linked), diagonal(linked))


@dataclass(eq=False, repr=False)
class ClosestPairs(Graph):
    """Links each class to the rows of other classes that are closest to it, with weight 1: the margin of :class:`lapwing.MFA`.

    Parameters
    ----------
    n_pairs : int, default=20
        How many pairs per class are linked, the closest ones; all of them where a class has fewer.
    metric : As in :class:`KNN`

    Examples
    --------
    >>> from lapwing.graphs import ClosestPairs
    >>> ClosestPairs(1).build([[0.0], [1.0], [1.5], [3.0]], ["a", "a", "b", "b"])[0].degrees.diagonal()
    array([0., 1., 1., 0.])
    """

    n_pairs: int = 20
    _: KW_ONLY
    metric: str | Callable[..., float] = "euclidean"

    reads_labels = True

    def requests(self) -> list[Request]:
        return [Request(self.n_pairs, self.metric, among="other_class")]

    def adjacency(self, data: Data) -> sparse.csr_array:
        n_pairs = check_count("n_pairs", self.n_pairs)
        # Among the n closest pairs of a class, a row occurs at most n times: n neighbours per row are enough.
        rows, cols, d = data.nearest(Request(min(n_pairs, data.n - 1), self.metric, among="other_class"))
        own = data.classes[rows]
        longest = np.zeros(own.max() + 1)
        np.maximum.at(longest, own, d)
        lengths = np.round(d / np.where(longest > 0, longest, 1.0)[own], 10)  # equal where they differ only by rounding
        order = np.lexsort((cols, rows, lengths, own))
        sizes = np.bincount(own)
        rank = np.arange(own.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        some = order[rank < n_pairs]
        return data.symmetric_weights(rows[some], cols[some], np.ones(some.size))


def nearest_fitted(both: Data, n_fitted: int, request: Request) -> Edges:
    """The nearest fitted rows of each new row. Classes are not read, since new rows have none."""
    if request.n_neighbors > n_fitted:
        raise NoPlaceError(
            f"n_neighbors={request.n_neighbors} is more than the {n_fitted} fitted rows that new ones are placed among; use "
            "fewer neighbours"
        )
    return search(both, request, np.arange(n_fitted, both.n), np.arange(n_fitted))


def heat_weights(exponents: Any, rows: Any, n: int, new: bool = False) -> Any:
    """``exp(-exponents)`` of directed edges. A row far away from all others keeps faint edges, in proportion to each other.

    Free maps divide by the roots of degrees, so that rounding would decide where a row of degree 1e-40 is placed.
    """
    if isinstance(exponents, np.ndarray):
        xp, nearest = np, np.full(n, np.inf)
        np.minimum.at(nearest, rows, exponents)
    else:  # tensors; torch names the functions of entries as NumPy does
        xp = sys.modules["torch"]
        nearest = exponents.new_full((n,), np.inf).scatter_reduce(0, rows, exponents, "amin")
    linked = xp.isfinite(nearest)
    if not new and (linked & (nearest > VANISHED)).sum() > OUTLIERS * linked.sum():
        return xp.exp(-exponents)  # the width is wrong, and the graph says so
    return xp.exp((nearest - FAINT).clip(0.0)[rows] - exponents)


def reach_of(edges: Any, n: int) -> np.ndarray:
    """The longest edge from each row. Where it has length 0, or there is none, the mean of the others takes its place."""
    reach = np.zeros(n)
    np.maximum.at(reach, edges[0], edges[2].astype(np.float64))
    far = reach > 0
    return np.where(far, reach, reach[far].mean() if far.any() else 1.0)


def require_features(metric: Any, what: str) -> None:
    if isinstance(metric, str) and metric == "precomputed":
        raise ValueError(f'{what} reads features, and with metric="precomputed" X holds distances; use another')


def require_positive_degrees(weights: Any, rows: np.ndarray, W: sparse.csr_array) -> None:
    """Raise where a row has edges, but all their weights are 0."""
    linked = np.zeros(W.shape[0], dtype=bool)
    linked[rows] = True
    dead = linked & (np.asarray(W.sum(axis=1)).ravel() <= 0)
    if dead.any():
        raise ValueError(
            f"weights={weights!r} gives weight 0 to all edges of {int(dead.sum())} samples (the first is row "
            f"{np.flatnonzero(dead)[0]}), {dead.mean():.1%} of all: use other weights, a larger t or more neighbours"
        )
