"""The nearest rows of a few, found in one pass over blocks of many."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_info, threadpool_limits

from ..operators import Array, row_blocks

QUERIES = 256  # whose products with some rows are held at a time, in each thread
ROWS = 4096
FEW_DIMENSIONS = 15  # up to here a tree for each block is faster than products
FIRST = 64  # rows that are compared before there is anything to compare with
DIGITS = 9  # distances that have so many in common are equal, up to rounding, and the first wins
TIE = 10.0 ** (1 - DIGITS)  # how far apart they are then at most, as a share of them
MANY = 4  # times as many candidates as neighbours
PARALLEL = 1e-13  # cosine distances up to here are 0, up to rounding
FOUND = 1 << 20  # the most neighbours that scikit-learn is asked for at a time


def is_by_products(metric: Any, metric_params: dict | None, Q: Array) -> bool:
    """Whether distances are found by products of rows: Euclidean ones where no tree is faster, and cosines."""
    if metric_params or not isinstance(metric, str):
        return False
    few = Q.shape[1] <= FEW_DIMENSIONS and not sparse.issparse(Q)
    return metric == "cosine" or (metric in ("euclidean", "l2") and not few)


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
        self.by_products = is_by_products(metric, metric_params, Q)
        self.centre = centre if self.by_products and metric != "cosine" and not sparse.issparse(Q) else None
        self.scale = _unit(Q, self.centre) if self.by_products and metric != "cosine" else 1.0
        self.distances = np.full((Q.shape[0], k), np.inf)
        self.indices = np.full((Q.shape[0], k), -1, dtype=np.int64)
        self.rows: Any = _no_rows(Q, k) if keep_rows else None
        self.n_threads = n_threads or _blas_threads()
        self._pool: ThreadPoolExecutor | None = None

    def update(self, block: Array, start: int, which: np.ndarray | None = None, queries: Any = None) -> Nearest:
        """Take in the rows ``start, start + 1, ...``; or of these only ``which``, for some of the queries only."""
        queries = np.arange(self.own.size) if queries is None else queries
        index = start + (np.arange(block.shape[0]) if which is None else which)
        block = block if which is None else block[which]
        if queries.size and block.shape[0]:
            (self._by_products if self.by_products else self._by_search)(block, index, queries)
        return self

    def __getstate__(self) -> dict:
        """What was found: results travel between processes, and the queries are known where they arrive."""
        return {**self.__dict__, "Q": None, "centre": None, "_pool": None}

    def merge(self, other: Nearest) -> Nearest:
        """The nearest of both."""
        rows = np.repeat(np.arange(self.own.size), self.k)
        found = other.indices.ravel() >= 0
        self._take(rows[found], other.distances.ravel()[found], other.indices.ravel()[found], None)
        return self

    def _by_search(self, block: Array, index: np.ndarray, queries: np.ndarray) -> None:
        """Any metric, by scikit-learn: one more than k, since a row finds itself, and one to see whether it is as near.

        Of equally distant rows it returns any, so more are asked for until all of them are seen.
        """
        m = self.k + 2
        open_ = self._searched(block, index, queries, m)
        if open_.size and not sparse.issparse(block):  # of equal rows the first will do: the query, and k others
            first = first_copies(block, self.k + 1)
            block, index = block[first], index[first]
        while open_.size:
            m *= 4
            open_ = self._searched(block, index, open_, m)

    def _searched(self, block: Array, index: np.ndarray, queries: np.ndarray, m: int) -> np.ndarray:
        """Take in the m nearest of the block, but for the queries that may have more as near as the last, which are returned."""
        m, step = min(m, block.shape[0]), max(1, FOUND // m)
        search, unseen = self._index(block), [queries[:0]]
        for part in (queries[start : start + step] for start in range(0, queries.size, step)):
            d, found = search.kneighbors(_short(self.Q[part]), m)
            worst = np.minimum(d[:, min(self.k, m - 1)], self.distances[part, -1])
            seen = (rounded(d[:, -1]) > rounded(worst)) | (m == block.shape[0])
            cols = found[seen].ravel()
            self._take(np.repeat(part[seen], m), d[seen].ravel().astype(np.float64), index[cols], (block, cols))
            unseen.append(part[~seen])
        return np.concatenate(unseen)

    def _index(self, block: Array) -> NearestNeighbors:
        few = not sparse.issparse(block) and block.shape[1] <= FEW_DIMENSIONS and self.metric in ("euclidean", "l2")
        params = dict(self.metric_params or {})
        p = params.pop("p", 2)
        return NearestNeighbors(
            metric=self.metric, metric_params=params or None, p=p, algorithm="kd_tree" if few else "auto"
        ).fit(_short(block))

    def _by_products(self, block: Array, index: np.ndarray, queries: np.ndarray) -> None:
        """Rows a chunk at a time, chunks growing, so that those that cannot be among the nearest are soon known as such."""
        Q, size = self._prepared(self.Q[queries])
        Q = Q if sparse.issparse(Q) else np.column_stack([Q, np.ones(len(Q), Q.dtype)])
        step, start = (FIRST if np.isinf(self.distances[queries, -1]).any() else ROWS), 0
        parts = [slice(i, i + QUERIES) for i in range(0, queries.size, QUERIES)]
        products = _Products()
        with self.threads():
            while start < block.shape[0]:
                rows = block[start : start + step]
                chunk = _Chunk(self, rows, *self._prepared(rows), index[start : start + step], products)
                self._each(partial(chunk.compare, Q, size, queries), parts)
                start, step = start + step, min(2 * step, ROWS)

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Threads over queries, BLAS having one in each; entered once for several updates, they start once."""
        if self._pool is not None or self.n_threads == 1:
            yield
            return
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(self.n_threads) as self._pool:
            try:
                yield
            finally:
                self._pool = None

    def _each(self, compare: Callable[[slice], None], parts: list[slice]) -> None:
        if self._pool is None:
            for part in parts:
                compare(part)
        else:
            list(self._pool.map(compare, parts))

    def _prepared(self, rows: Array) -> tuple[Array, np.ndarray]:
        """Rows as products take them, and their squared lengths."""
        if self.metric == "cosine":
            length = lengths(rows)
            scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0).astype(rows.dtype)
            scaled = sparse.diags_array(scale) @ rows if sparse.issparse(rows) else rows * scale[:, None]
            return scaled, np.ones(rows.shape[0])
        if self.centre is not None:
            rows = rows - self.centre.astype(rows.dtype)
        rows = rows * rows.dtype.type(self.scale)
        return rows, lengths(rows) ** 2

    def exact(self, rows: Array, queries: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Distances of pairs, by differences, some at a time."""
        found = np.empty(cols.size)
        width = max(1, rows.nnz // rows.shape[0]) if sparse.issparse(rows) else rows.shape[1]
        for part in row_blocks(cols.size, 3 * width):
            a, b = self.Q[queries[part]].astype(np.float64), rows[cols[part]].astype(np.float64)
            if self.metric == "cosine":
                found[part] = 1 - _dots(a, b) / (lengths(a) * lengths(b))
                found[part][found[part] <= PARALLEL] = 0.0
            else:
                apart = a - b
                found[part] = np.sqrt(_dots(apart, apart))
        return found

    def _take(self, rows: np.ndarray, d: np.ndarray, index: np.ndarray, source: Any) -> None:
        """Candidates of the queries ``rows``, against the nearest so far."""
        other = index != self.own[rows]
        rows, d, index = rows[other], d[other], index[other]
        touched = np.unique(rows)
        k = self.k
        all_rows = np.concatenate([np.repeat(touched, k), rows])
        all_d = np.concatenate([self.distances[touched].ravel(), d])
        all_index = np.concatenate([self.indices[touched].ravel(), index])
        order = np.lexsort((all_index, rounded(all_d), all_rows))
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


class _Products(threading.local):
    """Room for the products of queries and rows, and for which are candidates: one in each thread, used again and again."""

    def __init__(self) -> None:
        self.values: Any = np.empty(0)
        self.reached = np.empty(QUERIES * ROWS, dtype=bool)

    def of(self, Q: Array, R: Array) -> np.ndarray:
        if sparse.issparse(Q):
            return (Q @ R).toarray()
        if self.values.dtype != R.dtype or not self.values.size:
            self.values = np.empty(QUERIES * ROWS, R.dtype)
        shape = (Q.shape[0], R.shape[1])
        return np.matmul(Q, R, out=self.values[: shape[0] * shape[1]].reshape(shape))

    def reaching(self, products: np.ndarray, bound: np.ndarray) -> np.ndarray:
        return np.greater_equal(products, bound[:, None], out=self.reached[: products.size].reshape(products.shape))


class _Chunk:
    """Some rows, as all queries are compared with them."""

    def __init__(
        self, nearest: Nearest, rows: Array, R: Array, squares: np.ndarray, index: np.ndarray, products: _Products
    ):
        self.nearest, self.rows, self.index, self.products = nearest, rows, index, products
        half = (squares / 2).astype(R.dtype)
        self.half = half if sparse.issparse(R) else None
        self.transposed = R.T if sparse.issparse(R) else np.concatenate([R.T, -half[None]])
        self.largest = squares.max()

    def compare(self, Q: Array, squares: np.ndarray, queries: np.ndarray, part: slice) -> None:
        """|q - x|² < d² where q'x - |x|²/2 > (|q|² - d²)/2; rounding leaves candidates, which differences settle."""
        Q, squares, queries = Q[part], squares[part], queries[part]
        products = self.products.of(Q, self.transposed)
        if self.half is not None:
            products -= self.half
        rows, cols = np.divmod(np.flatnonzero(self._candidates(products, squares, queries)), products.shape[1])
        if rows.size:
            near = self.nearest
            d = near.exact(self.rows, queries[rows], cols)
            near._take(queries[rows], d, self.index[cols], (self.rows, cols))

    def _candidates(self, products: np.ndarray, squares: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """Products that reach what a row needs to be among the nearest: by those so far, and by the best of this chunk.

        The latter where many reach the former: in the first chunk, and where rows are sorted, so that each chunk is nearer.
        """
        near, n = self.nearest, products.shape[1]
        eps = float(np.finfo(products.dtype).eps)
        rounding = 2 * eps * (8 + np.sqrt(self.rows.shape[1])) * (squares + self.largest)
        worst = near.distances[queries, -1] * (1 + TIE)
        squared = 2 * (worst + PARALLEL) if near.metric == "cosine" else (near.scale * worst) ** 2
        bound = ((squares - squared) / 2 - rounding).astype(products.dtype)
        reached = self.products.reaching(products, bound)
        if n > MANY * near.k and np.count_nonzero(reached) > MANY * near.k * queries.size:
            best = np.partition(products, n - 1 - near.k, axis=1)[:, n - 1 - near.k]  # k of them, and the query itself
            bound = np.maximum(bound, (best - 2 * rounding - 2 * TIE * (squares + self.largest)).astype(products.dtype))
            reached = self.products.reaching(products, bound)
        return reached


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


def _blas_threads() -> int:
    """As many threads as matrix products may have here and now: all cores, or one in a process of many."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def _short(X: Array) -> Array:
    """Sparse rows with indices of 32 bits: some of scikit-learn's metrics take no others."""
    if not sparse.issparse(X) or X.indices.dtype == np.int32 or X.nnz >= 2**31:
        return X
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def rounded(d: np.ndarray) -> np.ndarray:
    """Numbers whose order is that of the distances, equal where these are equal up to rounding."""
    mantissa, exponent = np.frexp(d)
    return np.ldexp(np.round(mantissa, DIGITS), exponent)


def first_copies(block: np.ndarray, most: int) -> np.ndarray:
    """Places of the rows, of equal ones only the first few."""
    order = np.lexsort(block.T)
    new = np.concatenate([[True], (block[order[1:]] != block[order[:-1]]).any(axis=1)])
    copies = np.arange(order.size) - np.flatnonzero(new)[np.cumsum(new) - 1]
    return np.sort(order[copies < most])


def _unit(Q: Array, centre: np.ndarray | None) -> float:
    """A power of two that brings the queries near 1, where products of float32 neither overflow nor vanish."""
    if centre is None:
        largest = float(abs(Q).max())
    else:
        largest = max(float(np.abs(Q[rows] - centre).max()) for rows in row_blocks(*Q.shape))
    return float(np.ldexp(1.0, np.clip(-np.frexp(largest)[1], -126, 126)))


def _dots(a: Array, b: Array) -> np.ndarray:
    if sparse.issparse(a):
        return np.asarray(a.multiply(b).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", a, b)


def lengths(X: Array) -> np.ndarray:
    if sparse.issparse(X):
        return np.sqrt(np.asarray(X.astype(np.float64).power(2).sum(axis=1)).ravel())
    return np.sqrt(np.einsum("ij,ij->i", X, X, dtype=np.float64))
