"""Candidates by products of rows: which rows of a chunk can be among the nearest of which queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from ..operators import Array
from ._choice import TIE

QUERIES = 256  # each thread holds the products of this many queries with some rows at a time
ROWS = 4096
MANY = 4  # Where more than this many times k rows per query pass the first bound, a closer bound is computed.


class Threads:
    """Threads that share the queries, each with one BLAS thread. When they are entered several times, they start once."""

    def __init__(self, n: int | None = None):
        self.count = n or _blas_threads()
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def running(self, n_parts: int = 0) -> Iterator[None]:
        """Start threads for so many parts of the queries. A single part is left to the threads of BLAS."""
        n = 1 if self._pool is not None or n_parts == 1 else self.count
        if n == 1:
            yield
            return
        with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(n) as self._pool:
            try:
                yield
            finally:
                self._pool = None

    def each(self, function: Callable[[Any], None], things: Iterable) -> None:
        list(map(function, things) if self._pool is None else self._pool.map(function, things))


def _blas_threads() -> int:
    """How many threads matrix products may use now: all cores, or one in a process among many."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


def with_ones(Q: Array) -> Array:
    """Queries in the form that chunks take them: dense queries get a column for the squared lengths of the rows."""
    return Q if sparse.issparse(Q) else np.column_stack([Q, np.ones(len(Q), Q.dtype)])


class Room(threading.local):
    """Memory for the products of queries and rows and for the mask of candidates.

    Each thread has one and uses it again and again.
    """

    def __init__(self) -> None:
        self.values: Any = np.empty(0)
        self.reached = np.empty(QUERIES * ROWS, dtype=bool)

    def products(self, Q: Array, R: Array) -> np.ndarray:
        if sparse.issparse(Q):
            return (Q @ R).toarray()
        if self.values.dtype != R.dtype or not self.values.size:
            self.values = np.empty(QUERIES * ROWS, R.dtype)
        shape = (Q.shape[0], R.shape[1])
        return np.matmul(Q, R, out=self.values[: shape[0] * shape[1]].reshape(shape))

    def reaching(self, products: np.ndarray, bound: np.ndarray) -> np.ndarray:
        return np.greater_equal(products, bound[:, None], out=self.reached[: products.size].reshape(products.shape))


class Chunk:
    """Some rows R, moved and scaled like the queries, and their squared lengths; all queries are compared with them."""

    def __init__(self, R: Array, squares: np.ndarray, k: int, room: Room):
        self.k, self.room, self.largest = k, room, squares.max()
        half = (squares / 2).astype(R.dtype)
        self.half = half if sparse.issparse(R) else None
        self.transposed = R.T if sparse.issparse(R) else np.concatenate([R.T, -half[None]])

    def candidates(self, Q: Array, squares: np.ndarray, squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a query and a row that may be no farther apart than ``squared``, or than the k nearest of these rows.

        |q - x|² <= d² where q'x - |x|²/2 >= (|q|² - d²)/2, up to rounding. The second bound is computed only where many pairs
        pass the first. This happens in the first chunk, and where rows are sorted so that each chunk is nearer than the last.
        """
        products = self.room.products(Q, self.transposed)
        if self.half is not None:
            products -= self.half
        n = products.shape[1]
        rounding = 2 * float(np.finfo(Q.dtype).eps) * (8 + np.sqrt(Q.shape[1])) * (squares + self.largest)
        bound = ((squares - squared) / 2 - rounding).astype(products.dtype)
        reached = self.room.reaching(products, bound)
        if n > MANY * self.k and np.count_nonzero(reached) > MANY * self.k * squares.size:
            # K rows, and one for the query itself.
            best = np.partition(products, n - 1 - self.k, axis=1)[:, n - 1 - self.k]
            slack = 2 * rounding + 2 * TIE * (squares + self.largest)
            reached = self.room.reaching(products, np.maximum(bound, (best - slack).astype(products.dtype)))
        return np.divmod(np.flatnonzero(reached), n)
