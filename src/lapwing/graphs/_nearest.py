"""The nearest rows of a few, found in one pass over blocks of many."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from ..operators import Array

QUERIES = 256  # whose products with some rows are held at a time, in each thread
ROWS = 4096
FEW_DIMENSIONS = 15  # up to here a tree for each block is faster than products
FIRST = 256  # rows that are compared before there is anything to compare with


def is_by_products(metric: Any, metric_params: dict | None, n_features: int) -> bool:
    """Whether distances are found by products of rows: Euclidean ones, and cosines."""
    if metric_params or not isinstance(metric, str):
        return False
    return metric == "cosine" or (metric in ("euclidean", "l2") and n_features > FEW_DIMENSIONS)


class Nearest:
    """The k nearest rows of each query so far; of equally distant ones those of smallest index.

    Parameters
    ----------
    Q : ndarray or csr_array of shape (n_queries, n_features)
        The queries.
    own : ndarray of shape (n_queries,)
        The index of each query among the rows that are searched: no row is its own neighbour. -1 for none.
    k : int
    centre : ndarray of shape (n_features,)
        About where the rows are: products of rows far from the origin drown their distances.
    keep_rows : bool
        Whether the neighbours themselves are kept, beside their indices.
    """

    def __init__(
        self,
        Q: Array,
        own: np.ndarray,
        k: int,
        *,
        metric: Any = "euclidean",
        metric_params: dict | None = None,
        centre: np.ndarray | None = None,
        keep_rows: bool = False,
        n_threads: int | None = None,
    ):
        self.Q, self.own, self.k = Q, own, k
        self.metric, self.metric_params = metric, metric_params
        self.by_products = is_by_products(metric, metric_params, Q.shape[1])
        self.centre = centre if self.by_products and metric != "cosine" and not sparse.issparse(Q) else None
        self.distances = np.full((Q.shape[0], k), np.inf)
        self.indices = np.full((Q.shape[0], k), -1, dtype=np.int64)
        self.rows: Any = _no_rows(Q, k) if keep_rows else None
        self.n_threads = n_threads or joblib.cpu_count()

    def update(self, block: Array, start: int, which: np.ndarray | None = None, queries: Any = None) -> Nearest:
        """Take in the rows ``start, start + 1, ...``; or of these only ``which``, for some of the queries only."""
        queries = np.arange(self.Q.shape[0]) if queries is None else queries
        index = start + (np.arange(block.shape[0]) if which is None else which)
        block = block if which is None else block[which]
        if queries.size and block.shape[0]:
            (self._by_products if self.by_products else self._by_search)(block, index, queries)
        return self

    def merge(self, other: Nearest) -> Nearest:
        """The nearest of both."""
        rows = np.repeat(np.arange(self.Q.shape[0]), self.k)
        found = other.indices.ravel() >= 0
        self._take(rows[found], other.distances.ravel()[found], other.indices.ravel()[found], None)
        return self

    def _by_search(self, block: Array, index: np.ndarray, queries: np.ndarray) -> None:
        """Any metric, by scikit-learn: one more than k, since a row finds itself."""
        few = not sparse.issparse(block) and block.shape[1] <= FEW_DIMENSIONS and self.metric in ("euclidean", "l2")
        params = dict(self.metric_params or {})
        p = params.pop("p", 2)
        search = NearestNeighbors(
            metric=self.metric, metric_params=params or None, p=p, algorithm="kd_tree" if few else "auto"
        ).fit(block)
        d, found = search.kneighbors(self.Q[queries], min(self.k + 1, block.shape[0]))
        rows = np.repeat(queries, found.shape[1])
        self._take(rows, d.ravel().astype(np.float64), index[found.ravel()], (block, found.ravel()))

    def _by_products(self, block: Array, index: np.ndarray, queries: np.ndarray) -> None:
        """Rows a chunk at a time, chunks growing, so that those that cannot be among the nearest are soon known as such."""
        Q, size = self._prepared(self.Q[queries])
        step, start = (FIRST if np.isinf(self.distances[queries, -1]).any() else ROWS), 0
        parts = [slice(i, i + QUERIES) for i in range(0, queries.size, QUERIES)]
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(self.n_threads) as pool:
            while start < block.shape[0]:
                rows = block[start : start + step]
                R, squares = self._prepared(rows)
                chunk = _Chunk(self, rows, R, squares, index[start : start + step])
                for done in pool.map(lambda part, c=chunk: c.compare(Q[part], size[part], queries[part]), parts):
                    assert done
                start, step = start + step, min(2 * step, ROWS)

    def _prepared(self, rows: Array) -> tuple[Array, np.ndarray]:
        """Rows as products take them, and their squared lengths."""
        if self.metric == "cosine":
            length = lengths(rows)
            scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0).astype(rows.dtype)
            scaled = sparse.diags_array(scale) @ rows if sparse.issparse(rows) else rows * scale[:, None]
            return scaled, np.ones(rows.shape[0])
        if self.centre is not None:
            rows = rows - self.centre.astype(rows.dtype)
        return rows, lengths(rows) ** 2

    def exact(self, rows: Array, queries: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Distances of pairs, by differences."""
        a, b = self.Q[queries].astype(np.float64), rows[cols].astype(np.float64)
        if self.metric == "cosine":
            return np.maximum(1 - _dots(a, b) / (lengths(a) * lengths(b)), 0.0)
        apart = a - b
        return np.sqrt(_dots(apart, apart))

    def _take(self, rows: np.ndarray, d: np.ndarray, index: np.ndarray, source: Any) -> None:
        """Candidates of the queries ``rows``, against the nearest so far."""
        other = index != self.own[rows]
        rows, d, index = rows[other], d[other], index[other]
        touched = np.unique(rows)
        k = self.k
        all_rows = np.concatenate([np.repeat(touched, k), rows])
        all_d = np.concatenate([self.distances[touched].ravel(), d])
        all_index = np.concatenate([self.indices[touched].ravel(), index])
        order = np.lexsort((all_index, all_d, all_rows))
        first = np.searchsorted(all_rows[order], touched)
        best = order[first[:, None] + np.arange(k)]
        self.distances[touched], self.indices[touched] = all_d[best], all_index[best]
        if self.rows is not None and source is not None:
            self._keep(touched, best, source, other)

    def _keep(self, touched: np.ndarray, best: np.ndarray, source: tuple[Array, np.ndarray], other: np.ndarray) -> None:
        """The rows themselves, in the places of their indices."""
        block, cols = source
        old = touched.size * self.k
        slots = (touched[:, None] * self.k + np.arange(self.k)).ravel()
        best = best.ravel()
        kept = best < old
        self.rows.move(slots[kept], slots[best[kept]], slots[~kept], block, cols[other][best[~kept] - old])


class _Chunk:
    """Some rows, as all queries are compared with them."""

    def __init__(self, nearest: Nearest, rows: Array, R: Array, squares: np.ndarray, index: np.ndarray):
        self.nearest, self.rows, self.index = nearest, rows, index
        self.transposed = R.T
        self.half = (squares / 2).astype(R.dtype)
        self.largest = squares.max()

    def compare(self, Q: Array, squares: np.ndarray, queries: np.ndarray) -> bool:
        """|q - x|² < d² where q'x - |x|²/2 > (|q|² - d²)/2; rounding leaves candidates, which differences settle."""
        near = self.nearest
        products = Q @ self.transposed
        products = products.toarray() if sparse.issparse(products) else products
        products -= self.half
        eps = float(np.finfo(products.dtype).eps)
        rounding = 2 * eps * (8 + np.sqrt(Q.shape[1])) * (squares + self.largest)
        worst = near.distances[queries, -1]
        squared = 2 * worst if near.metric == "cosine" else worst**2
        bound = ((squares - squared) / 2 - rounding).astype(products.dtype)
        rows, cols = np.divmod(np.flatnonzero(products > bound[:, None]), products.shape[1])
        if rows.size:
            d = near.exact(self.rows, queries[rows], cols)
            near._take(queries[rows], d, self.index[cols], (self.rows, cols))
        return True


class _DenseRows:
    """The rows of the nearest, one a slot."""

    def __init__(self, n_slots: int, n_features: int, dtype: np.dtype):
        self.array = np.empty((n_slots, n_features), dtype)

    def move(self, to: np.ndarray, slots: np.ndarray, new: np.ndarray, block: np.ndarray, cols: np.ndarray) -> None:
        self.array[to] = self.array[slots]
        self.array[new] = block[cols]

    def take(self, slots: np.ndarray) -> np.ndarray:
        return self.array[slots]


class _SparseRows:
    """The same for sparse rows, which differ in length."""

    def __init__(self, n_slots: int, n_features: int, dtype: np.dtype):
        self.shape, self.dtype = (n_slots, n_features), dtype
        self.indices = np.empty(n_slots, dtype=object)
        self.data = np.empty(n_slots, dtype=object)

    def move(
        self, to: np.ndarray, slots: np.ndarray, new: np.ndarray, block: sparse.csr_array, cols: np.ndarray
    ) -> None:
        self.indices[to], self.data[to] = self.indices[slots], self.data[slots]
        for slot, row in zip(new, cols, strict=True):
            part = slice(block.indptr[row], block.indptr[row + 1])
            self.indices[slot], self.data[slot] = block.indices[part].copy(), block.data[part].copy()

    def take(self, slots: np.ndarray) -> sparse.csr_array:
        indptr = np.concatenate([[0], np.cumsum([self.indices[slot].size for slot in slots])])
        indices = np.concatenate([self.indices[slot] for slot in slots]) if slots.size else np.empty(0, np.int32)
        data = np.concatenate([self.data[slot] for slot in slots]) if slots.size else np.empty(0, self.dtype)
        return sparse.csr_array((data, indices, indptr), shape=(slots.size, self.shape[1]))


def _no_rows(Q: Array, k: int) -> _DenseRows | _SparseRows:
    kind: Callable = _SparseRows if sparse.issparse(Q) else _DenseRows
    return kind(Q.shape[0] * k, Q.shape[1], Q.dtype)


def _dots(a: Array, b: Array) -> np.ndarray:
    if sparse.issparse(a):
        return np.asarray(a.multiply(b).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", a, b)


def lengths(X: Array) -> np.ndarray:
    if sparse.issparse(X):
        return np.sqrt(np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
