"""Neighbour searches."""

from __future__ import annotations

from collections.abc import Iterable

import joblib

from ..graphs import Graph
from ..neighbors import FIRST, GRAM_LIMIT, QUERIES, TREE_DIMENSIONS, Search
from ..operators import BLOCK_BYTES
from ._sizes import Data, Part, Work

DENSE_CHUNK = 128 << 20  # bytes of distances that a search by all pairs holds, see neighbors/_find.py

Found = tuple[Work, float]  # operations, and bytes on the way


def distinct_searches(graphs: Iterable[Graph], n: int) -> list[Search]:
    """The searches of the graphs; equal ones run once."""
    found = {search.key: search.checked(n) for graph in graphs for search in graph.searches()}
    return list(found.values())


def search_parts(searches: list[Search], data: Data) -> list[Part]:
    shared = [_gram(data)] if any(is_by_gram(search, data) for search in searches) else []
    return shared + [_search(search, data) for search in searches]


def n_queries(search: Search, n: int) -> int:
    return min(n, search.queries or n)


def touched(searches: list[Search], n: int) -> int:
    """Rows that sampled searches link, at most; 0 where no search is sampled."""
    sampled = [search for search in searches if search.is_sampled(n)]
    return min(n, sum(n_queries(search, n) * (search.n_neighbors + 1) for search in sampled))


def is_by_gram(search: Search, data: Data) -> bool:
    """Whether few long rows are searched, by their Gram matrix: see neighbors/_spaces.py."""
    few = TREE_DIMENSIONS < data.d > data.n <= GRAM_LIMIT and not data.is_sparse
    return few and search.metric in ("euclidean", "l2") and not search.is_sampled(data.n)


def _search(search: Search, data: Data) -> Part:
    """A search, or one a class, of so many queries among so many rows."""
    n, c = data.n, data.n_classes
    members = {"all": n, "same_class": n / c, "other_class": n - n / c}[search.among]
    k = max(min(search.n_neighbors, members - 1), 1.0)
    queries = n_queries(search, n)
    work, extra = _found(search, data, queries, members, k)
    calls = {"calls": 25.0 * (1 if search.among == "all" else c)}
    return Part("search", {**work, **calls}, 24 * queries * k, extra + 40 * queries * k)


def _found(search: Search, data: Data, q: float, m: float, k: float) -> Found:
    """The search itself, of q rows among m."""
    metric = search.metric if isinstance(search.metric, str) else None
    if search.search is not None or search.metric_params or metric not in ("euclidean", "l2", "cosine"):
        raise ValueError(
            f'{search} has no estimate: there is one for exact searches with metric="euclidean" or "cosine"; time a fit on a '
            "tenth of the rows instead, and expect up to a hundred times that"
        )
    if data.is_sparse:
        return _sparse_pairs(data, q, m)
    if metric != "cosine" and data.d <= TREE_DIMENSIONS:
        return _tree(data, q, m, k)
    if search.is_sampled(data.n):
        return _sampled_pairs(data, q, m)
    if metric == "cosine":
        return _ranked_pairs(data, q, m)
    if is_by_gram(search, data):
        return {"ranks": q * m}, min(8 * q * m, DENSE_CHUNK)
    return {"products64": 2 * q * m * data.d, "pairs": q * m}, 8.0 * data.n


def _tree(data: Data, q: float, m: float, k: float) -> Found:
    """A ball around a query meets the leaves, of 30 rows, of ``2 k (1 + (30 / k)^(1 / D))^D`` rows in D dimensions (Friedman,
    Bentley and Finkel), or all there are; of more than 5 features, 3 in 5 count.
    """
    D = min(data.d, 5 + 0.6 * (data.d - 5))
    met = 2 * k * (1 + (30 / k) ** (1 / D)) ** D
    visited = 1 / (1 / met + 1 / m)
    return {"coordinates": q * (visited * (3 + data.d) + 1700) + 800 * m}, 10.0 * data.n * data.d


def _gram(data: Data) -> Part:
    """The Gram matrix of the rows, which the projection needs too, and all distances; both are kept."""
    n, d = data.n, data.d
    matrix = 8.0 * n * n
    work = {"products64": 1.2 * n * n * d, "elements": n * d + 10.0 * n * n}
    return Part("search", work, 2 * matrix, 2 * matrix + min(2.0 * BLOCK_BYTES, 8.0 * n * d))


def _ranked_pairs(data: Data, q: float, m: float) -> Found:
    """Cosines by products, then ranked, a chunk of rows at a time."""
    work = {"products64": 2 * q * m * data.d, "elements": 4 * q * m, "ranks": q * m}
    return work, 2.3 * min(8 * q * m, DENSE_CHUNK) + data.n * data.d * data.itemsize


def _sparse_pairs(data: Data, q: float, m: float) -> Found:
    """Words in common, then ranked, a chunk of rows at a time."""
    work = {"matches": q * m * data.shared, "elements": 8 * q * m, "ranks": 1.6 * q * m}
    return work, 2.3 * min(8 * q * m, DENSE_CHUNK)


def _sampled_pairs(data: Data, q: float, m: float) -> Found:
    """Products in the precision of X, and a comparison. The first pairs are all compared by differences, in each thread."""
    work = {data.products: 2 * q * m * data.d, "elements": q * m * (2 + data.itemsize / 2) + 12 * q * FIRST * data.d}
    compared = min(24.0 * QUERIES * FIRST * data.d, 2.0 * BLOCK_BYTES)
    return work, q * data.d * data.itemsize + compared * joblib.cpu_count()
