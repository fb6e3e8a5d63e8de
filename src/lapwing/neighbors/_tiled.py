"""The search of rows in memory by tiles: when it is used, and how its proposals become exact neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..rows import Rows, row_width
from ._bounds import Bounds, arranged, coordinates, directions, may_pay, sampled
from ._choice import TIE, choose
from ._nearest import power_of_two
from ._products import Threads
from ._requests import Edges, Search, is_named
from ._spaces import PARALLEL, TREE_DIMENSIONS, is_euclidean, paired
from ._tiles import Operand, Proposal, SparseOperand, Tiles

SETTLED_BYTES = 1 << 20  # each thread measures the distances of this many bytes of rows at a time
LEAST_PAIRS = 2_500**2  # from this many pairs of rows on, tiles are faster than the search of scikit-learn (measured)
LONG_ROWS = 128  # LEAST_PAIRS holds for rows of this many columns; shorter rows need more pairs, in proportion
MOST_NEIGHBORS = 200
SAMPLED = 1000  # the centre is the median of this many rows


def by_tiles(data: Rows, search: Search, queries: np.ndarray, members: np.ndarray, classes: np.ndarray | None) -> bool:
    """Whether products of tiles are the fastest search: for dense rows, not few, in more dimensions than trees are good at."""
    angles = is_named(search.metric, "cosine") and not search.metric_params
    if not (angles or is_euclidean(search.metric, search.metric_params)):
        return False
    if search.n_neighbors > MOST_NEIGHBORS:
        return False
    many_classes = classes is not None and np.unique(classes[members]).size > 8
    few = data.X.shape[1] <= TREE_DIMENSIONS and not sparse.issparse(data.X)
    if few and not angles and not many_classes:
        return False
    least = LEAST_PAIRS * max(1.0, LONG_ROWS / data.X.shape[1])
    return many_classes or queries.size * members.size >= least


def tiled(
    data: Rows, search: Search, queries: np.ndarray, members: np.ndarray, classes: np.ndarray | None, whole: bool
) -> tuple[Edges, np.ndarray, np.ndarray]:
    """The edges of queries whose k nearest are settled; the open queries; and for each of these a distance with k rows within."""
    symmetric = queries.size == members.size and np.array_equal(queries, members)
    if classes is not None:
        members = members[np.argsort(classes[members], kind="stable")]
        queries = members if symmetric else queries[np.argsort(classes[queries], kind="stable")]
    V = _directions(data, search, members) if symmetric and classes is None else None
    if V is not None:
        queries = members = members[arranged(V[1])]
    itself = None if symmetric else _places(queries, members)
    of_both = None if classes is None else (classes[queries], classes[members])
    for dtype in (np.float32, np.float64):
        asked, operand, unit = _operands(data, search, None if symmetric else queries, members, dtype)
        tiles = Tiles(asked, operand, search.n_neighbors, itself, of_both, search.among == "same_class")
        if dtype is np.float64 or not tiles.coarse():
            break
    if V is not None and isinstance(operand, Operand) and operand.kept is not None and operand.dtype == np.float32:
        tiles.bounds = Bounds(operand, V[0])
    edges, open_, near = _settled(data, search, queries, members, tiles.run(), unit, whole)
    return edges.by_row(), open_, near


def _directions(data: Rows, search: Search, members: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The principal directions, and the coordinates of the members on the first two. None where bounds would not save time."""
    if sparse.issparse(data.X) or not may_pay(members.size, data.X.shape[1]):
        return None
    frame = _frame(data, search)
    V = directions(Operand(data.X, sampled(members), *frame, np.float64))
    return V, coordinates(Operand(data.X, members, *frame, np.float32), V[:, :2])


def _frame(data: Rows, search: Search) -> tuple[np.ndarray, float | None]:
    """A point amid the rows and a power of two that brings them near 1. For angles, the lengths of the rows and None."""
    if is_named(search.metric, "cosine"):
        return data.norms, None
    X = data.X
    centre = np.median(X[:: max(1, len(X) // SAMPLED)], axis=0)
    return centre, power_of_two(X, centre)


def _places(queries: np.ndarray, members: np.ndarray) -> np.ndarray:
    """The place of each query among the members; -1 for a query that is not a member."""
    order = np.argsort(members, kind="stable")
    at = np.minimum(np.searchsorted(members[order], queries), members.size - 1)
    return np.where(members[order[at]] == queries, order[at], -1)


def _operands(data: Rows, search: Search, queries: np.ndarray | None, members: np.ndarray, dtype: Any) -> tuple:
    """The queries and the members as operands of products, and the power of two that they are scaled by, None for angles."""
    X, angles = data.X, is_named(search.metric, "cosine")
    if sparse.issparse(X):
        unit = 1.0 if angles else power_of_two(X, None)
        norms = data.norms if angles else None
        thin = SparseOperand(X, members, norms, unit, dtype)
        asked = thin if queries is None else SparseOperand(X, queries, norms, unit, dtype).use(thin.columns)
        return asked, thin, None if angles else unit
    centre, scale = _frame(data, search)
    operand = Operand(X, members, centre, scale, dtype, is_right=queries is not None)
    return operand if queries is None else Operand(X, queries, centre, scale, dtype), operand, scale


def _settled(
    data: Rows,
    search: Search,
    queries: np.ndarray,
    members: np.ndarray,
    proposal: Proposal,
    unit: float | None,
    whole: bool,
) -> tuple[Edges, np.ndarray, np.ndarray]:
    """The k nearest of the proposed rows, by exact distances.

    Queries to which a row that was left out may be as near stay open.
    """
    threads, X, metric = Threads(), data.X, "euclidean" if unit else "cosine"
    if metric == "cosine" and X.dtype == np.float64:
        X, metric = data.unit, "unit"
    step = max(1, SETTLED_BYTES // (8 * row_width(data.X) * proposal.places.shape[1]))
    parts = [slice(start, min(start + step, queries.size)) for start in range(0, queries.size, step)]
    found: list[Any] = [None] * len(parts)

    def settle(i: int) -> None:
        part = parts[i]
        places = proposal.places[part]
        rows, _ = known = np.nonzero(places >= 0)
        d = np.full(places.shape, np.inf)
        d[known] = paired(X, queries[part][rows], X, members[places[known]], metric)
        kth = np.partition(d, search.n_neighbors - 1, axis=1)[:, search.n_neighbors - 1]
        clear = _clear(kth, np.maximum(proposal.beyond[part], 0), unit)
        chosen = (_all if whole else _chosen)(clear, members[places], d, search.n_neighbors)
        found[i] = (queries[part][chosen[0]], *chosen[1:], queries[part][~clear], kth[~clear])

    with threads.running():
        threads.each(settle, range(len(parts)))
    rows, cols, distances, open_, near = map(np.concatenate, zip(*found, strict=True))
    return Edges(rows, cols, distances), open_, near * (1 + 2 * TIE)


def _clear(kth: np.ndarray, beyond: np.ndarray, unit: float | None) -> np.ndarray:
    """Whether all rows that were left out are farther than the k-th neighbour, and not tied with it."""
    farther = beyond - PARALLEL if unit is None else np.sqrt(2 * beyond) / unit
    return (farther > kth * (1 + 2 * TIE)) | np.isinf(beyond)


Chosen = tuple[np.ndarray, np.ndarray, np.ndarray]


def _all(clear: np.ndarray, cols: np.ndarray, d: np.ndarray, k: int) -> Chosen:
    rows, places = np.nonzero(np.isfinite(d) & clear[:, None])
    return rows, cols[rows, places], d[rows, places]


def _chosen(clear: np.ndarray, cols: np.ndarray, d: np.ndarray, k: int) -> Chosen:
    """The k nearest by the rule for ties, which is applied only where there are ties."""
    order = np.argsort(d, axis=1)[:, : k + 1]
    e = np.take_along_axis(d, order, axis=1)
    apart = (e[:, 1:] > e[:, :-1] * (1 + TIE)).all(axis=1)
    simple, tied = np.flatnonzero(clear & apart), np.flatnonzero(clear & ~apart)
    near = np.take_along_axis(cols, order, axis=1)[simple, :k].ravel()
    found = np.repeat(simple, k), near, e[simple, :k].ravel()
    if not tied.size:
        return found
    rows, places = np.nonzero(np.isfinite(d[tied]))
    rows = tied[rows]
    chosen = choose(rows, cols[rows, places], d[rows, places], k)
    rows, places = rows[chosen], places[chosen]
    both = [np.concatenate(pair) for pair in zip(found, (rows, cols[rows, places], d[rows, places]), strict=True)]
    order = np.argsort(both[0], kind="stable")
    return both[0][order], both[1][order], both[2][order]
