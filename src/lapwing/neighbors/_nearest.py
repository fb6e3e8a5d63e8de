"""The nearest rows of some queries, whatever the order in which rows come."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..operators import Array, row_blocks
from ..rows import lengths, unit_rows
from ._choice import TIE, Candidates
from ._products import QUERIES, ROWS, Chunk, Room, Threads
from ._requests import Edges, Search, groups
from ._spaces import PARALLEL, TREE_DIMENSIONS, index, is_by_products, is_euclidean, paired

FIRST = 64  # rows compared in full, to get a first k-th distance that later rows are screened by
FOUND = 1 << 20  # the most neighbours that scikit-learn is asked for at a time


class Nearest:
    """The k nearest rows of each query so far, exactly and by the one rule for ties.

    Euclidean distances and cosines are screened by products, and what passes is measured by differences; other metrics, and
    few dimensions, are searched by scikit-learn, a block at a time.

    Parameters
    ----------
    Q : ndarray or csr_array of shape (n_queries, n_features)
        The queries.
    own : ndarray of shape (n_queries,)
        The number of each query among the rows that are searched: no row is its own neighbour. -1 for none.
    k : int
    within : ndarray of shape (n_queries,), default=None
        Distances within which k rows are known to be.
    keep_rows : bool, default=False
        Whether the neighbours themselves are kept, beside their numbers.
    """

    def __init__(
        self,
        Q: Array,
        own: np.ndarray,
        k: int,
        *,
        metric: Any = "euclidean",
        metric_params: dict | None = None,
        within: np.ndarray | None = None,
        keep_rows: bool = False,
        threads: Threads | None = None,
    ):
        self.Q, self.own, self.k = Q, own, k
        self.metric, self.metric_params = metric, metric_params
        self.by_products = is_by_products(metric, metric_params, Q)
        self.exact = "cosine" if metric == "cosine" else "euclidean"
        self.is_open = within is not None  # more than k rows are that near
        step = QUERIES if self.by_products else max(1, own.size)
        self.parts = [slice(start, start + step) for start in range(0, own.size, step)]
        within = np.full(own.size, np.inf) if within is None else within
        self.found = [Candidates(within[part].copy(), k) for part in self.parts]
        self.rows: Any = (_SparseRows if sparse.issparse(Q) else _DenseRows)(Q) if keep_rows else None
        self.threads = threads or Threads()
        if self.by_products and self.exact == "euclidean":
            self.centre = None if sparse.issparse(Q) else np.median(Q[:: len(Q) // QUERIES + 1], axis=0)
            self.unit = _unit(Q, self.centre)

    def __getstate__(self) -> dict:
        """What was found: results travel between processes, and the queries are known where they arrive."""
        return {**self.__dict__, "Q": None, "centre": None}

    def update(self, block: Array, start: int, which: np.ndarray | None = None) -> Nearest:
        """Take in the rows ``start, start + 1, ...``; or of these only ``which``."""
        numbers = start + (np.arange(block.shape[0]) if which is None else which)
        rows = block if which is None else block[which]
        if numbers.size and self.own.size:
            (self._by_products if self.by_products else self._by_index)(rows, numbers)
        if self.rows is not None:
            self._keep(block, start)
        return self

    def merge(self, other: Nearest) -> Nearest:
        """The nearest of both."""
        for one, more in zip(self.found, other.found, strict=True):
            one.add(more.rows, more.numbers, more.distances)
        return self

    def edges(self) -> Edges:
        chosen = [found.chosen() for found in self.found]
        return Edges.joined(
            Edges(self.own[part][found.rows[places]], found.numbers[places], found.distances[places])
            for part, found, places in zip(self.parts, self.found, chosen, strict=True)
        )

    def neighbors(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of all rows that are chosen, ascending, and the slots where they are kept."""
        chosen = [(found.numbers[places], found.slots[places]) for found in self.found for places in [found.chosen()]]
        numbers, slots = (np.concatenate(parts) for parts in zip(*chosen, strict=True))
        numbers, first = np.unique(numbers, return_index=True)
        return numbers, slots[first]

    def _add(self, part: int, rows: np.ndarray, numbers: np.ndarray, distances: np.ndarray) -> None:
        other = numbers != self.own[self.parts[part]][rows]
        self.found[part].add(rows[other], numbers[other], distances[other])

    def _by_index(self, block: Array, numbers: np.ndarray) -> None:
        """Any metric, by scikit-learn: one more than k, since a row finds itself, and one to see whether it is as near.

        Of equally distant rows it returns any, so more are asked for until all of them are seen.
        """
        m, open_ = self.k + 2, np.arange(self.own.size)
        if not self.is_open:
            open_ = self._asked(block, numbers, open_, m)
        if open_.size and not sparse.issparse(block):  # of equal rows the first will do: the query, and k others
            first = first_copies(block, self.k + 1)
            block, numbers = block[first], numbers[first]
        while open_.size:
            m *= 4
            open_ = self._asked(block, numbers, open_, m)

    def _asked(self, block: Array, numbers: np.ndarray, queries: np.ndarray, m: int) -> np.ndarray:
        """Take in the m nearest of the block, but for the queries that may have more as near as the last, which are returned."""
        m = min(m, block.shape[0])
        few = not sparse.issparse(block) and block.shape[1] <= TREE_DIMENSIONS and is_euclidean(self.metric)
        search = index(block, self.metric, self.metric_params, "kd_tree" if few else "auto")
        unseen, step = [queries[:0]], max(1, FOUND // m)
        for part in (queries[start : start + step] for start in range(0, queries.size, step)):
            d, found = search.kneighbors(self.Q[part], m)
            within = np.minimum(d[:, min(self.k, m - 1)], self.found[0].boundary[part])
            seen = (d[:, -1] > within * (1 + TIE)) | (m == block.shape[0])
            self._add(0, np.repeat(part[seen], m), numbers[found[seen].ravel()], d[seen].ravel().astype(np.float64))
            unseen.append(part[~seen])
        return np.concatenate(unseen)

    def _by_products(self, block: Array, numbers: np.ndarray) -> None:
        """Rows a chunk at a time, chunks growing, so that those that cannot be among the nearest are soon known as such."""
        Q, squares = self._prepared(self.Q)
        step, start, room = (ROWS if self.is_open else FIRST), 0, Room()
        with self.threads.running():
            while start < block.shape[0]:
                rows = block[start : start + step]
                chunk = Chunk(*self._prepared(rows), self.k, room)
                compare = partial(self._compare, chunk, rows, numbers[start : start + step], Q, squares)
                self.threads.each(compare, range(len(self.parts)))
                start, step = start + step, min(2 * step, ROWS)

    def _compare(
        self, chunk: Chunk, rows: Array, numbers: np.ndarray, Q: Array, squares: np.ndarray, part: int
    ) -> None:
        queries, within = self.parts[part], self.found[part].boundary * (1 + 2 * TIE)
        squared = 2 * (within + PARALLEL) if self.exact == "cosine" else (self.unit * within) ** 2
        some, cols = chunk.candidates(Q[queries], squares[queries], squared)
        if some.size:
            self._add(part, some, numbers[cols], paired(self.Q[queries], some, rows, cols, self.exact))

    def _prepared(self, rows: Array) -> tuple[Array, np.ndarray]:
        """Rows as products take them, and their squared lengths."""
        if self.exact == "cosine":
            return unit_rows(rows), np.ones(rows.shape[0])
        if self.centre is not None:
            rows = rows - self.centre.astype(rows.dtype)
        rows = rows * rows.dtype.type(self.unit)
        return rows, lengths(rows) ** 2

    def _keep(self, block: Array, start: int) -> None:
        """The rows of the candidates that came with this block, in the places of those that went."""
        slots = np.concatenate([found.slots for found in self.found])
        numbers = np.concatenate([found.numbers for found in self.found])
        new = np.flatnonzero(slots < 0)
        free = np.setdiff1d(np.arange(self.rows.size), slots)
        slots[new] = np.concatenate([free, np.arange(self.rows.size, self.rows.size + new.size)])[: new.size]
        self.rows.put(slots[new], block, numbers[new] - start)
        ends = np.cumsum([found.slots.size for found in self.found])
        for found, part in zip(self.found, np.split(slots, ends), strict=False):
            found.slots = part


class _DenseRows:
    """Rows in numbered slots."""

    def __init__(self, Q: np.ndarray):
        self.array = np.empty((0, Q.shape[1]), Q.dtype)

    @property
    def size(self) -> int:
        return len(self.array)

    def put(self, slots: np.ndarray, block: np.ndarray, rows: np.ndarray) -> None:
        more = slots.max(initial=-1) + 1 - self.size
        if more > 0:
            more = max(more, self.size // 16)  # so that few more rows at a time are not copied each time
            self.array = np.concatenate([self.array, np.empty((more, self.array.shape[1]), self.array.dtype)])
        self.array[slots] = block[rows]

    def take(self, slots: np.ndarray) -> np.ndarray:
        return self.array[slots]


class _SparseRows:
    """The same for sparse rows, which differ in length."""

    def __init__(self, Q: sparse.csr_array):
        self.n_features = Q.shape[1]
        self.parts: list[Any] = []

    @property
    def size(self) -> int:
        return len(self.parts)

    def put(self, slots: np.ndarray, block: sparse.csr_array, rows: np.ndarray) -> None:
        self.parts += [None] * (slots.max(initial=-1) + 1 - self.size)
        for slot, row in zip(slots, rows, strict=True):
            part = slice(block.indptr[row], block.indptr[row + 1])
            self.parts[slot] = block.indices[part].copy(), block.data[part].copy()

    def take(self, slots: np.ndarray) -> sparse.csr_array:
        if not slots.size:
            return sparse.csr_array((0, self.n_features))
        indices, data = zip(*(self.parts[slot] for slot in slots), strict=True)
        indptr = np.concatenate([[0], np.cumsum([part.size for part in data])])
        return sparse.csr_array(
            (np.concatenate(data), np.concatenate(indices), indptr), shape=(slots.size, self.n_features)
        )


class Pass:
    """One search over rows that come in blocks: for all queries at once, or for those of each class apart.

    Parameters
    ----------
    search : Search
    Q : array of shape (n_queries, n_features)
    own : ndarray of shape (n_queries,)
        Their numbers among the rows.
    classes : ndarray of shape (n_rows,) or None
        Of all rows, where the search reads them.
    """

    def __init__(
        self,
        search: Search,
        Q: Array,
        own: np.ndarray,
        classes: np.ndarray | None = None,
        keep_rows: bool = False,
        n_threads: int | None = None,
    ):
        self.among, self.classes = search.among, classes
        self.of_queries = None if classes is None else classes[own]
        self.threads = Threads(n_threads)
        options = {"metric": search.metric, "metric_params": search.metric_params, "threads": self.threads}
        self.nearest = [
            Nearest(Q[some], own[some], search.n_neighbors, keep_rows=keep_rows, **options)
            for some, _ in groups(self.among, own.size, self.of_queries, self.of_queries)
        ]

    def __getstate__(self) -> dict:
        return {"nearest": self.nearest}

    def update(self, block: Array, start: int) -> Pass:
        classes = None if self.classes is None else self.classes[start : start + block.shape[0]]
        n_queries = 0 if self.of_queries is None else self.of_queries.size
        with self.threads.running():
            for near, (_, which) in zip(
                self.nearest, groups(self.among, n_queries, self.of_queries, classes), strict=True
            ):
                near.update(block, start, which)
        return self

    def merge(self, other: Pass) -> Pass:
        for one, more in zip(self.nearest, other.nearest, strict=True):
            one.merge(more)
        return self

    def edges(self) -> Edges:
        return Edges.joined(near.edges() for near in self.nearest)


def first_copies(block: np.ndarray, most: int) -> np.ndarray:
    """Places of the rows, of equal ones only the first few."""
    order = np.lexsort(block.T)
    new = np.concatenate([[True], (block[order[1:]] != block[order[:-1]]).any(axis=1)])
    copies = np.arange(order.size) - np.flatnonzero(new)[np.cumsum(new) - 1]
    return np.sort(order[copies < most])


def _unit(Q: Array, centre: np.ndarray | None) -> float:
    """A power of two that brings the queries near 1, where their products neither overflow nor vanish."""
    if centre is None:
        largest = float(abs(Q).max())
    else:
        largest = max(float(np.abs(Q[rows] - centre).max()) for rows in row_blocks(*Q.shape))
    most = np.finfo(Q.dtype).maxexp - 2
    return float(np.ldexp(1.0, np.clip(-np.frexp(largest)[1], -most, most)))
