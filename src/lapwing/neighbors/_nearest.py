"""The search for the nearest rows of some queries while rows come in blocks, in any order."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..operators import Array, canonical, row_blocks
from ..rows import lengths, unit_rows
from ._choice import TIE, Candidates
from ._index import Index
from ._products import QUERIES, ROWS, Chunk, Room, Threads, with_ones
from ._requests import Edges, Search, groups, is_named
from ._spaces import PARALLEL, TREE_DIMENSIONS, in_double, in_parts, is_by_products, is_euclidean, paired, progressing
from ._streamed import near_on_device

FIRST = 64  # This many rows are compared in full. They give a first k-th distance, by which later rows are screened.
FOUND = 1 << 20  # scikit-learn is asked for at most this many neighbours at a time


class Nearest:
    """The nearest rows of each query so far, found exactly and by the one rule for ties.

    For Euclidean distances and cosines, products of rows screen the pairs, and the distances of the pairs that pass are found
    by differences. In other metrics, and in few dimensions, scikit-learn searches each block.

    Parameters
    ----------
    search : Search
    Q : ndarray or csr_array of shape (n_queries, n_features)
    own : ndarray of shape (n_queries,)
        The numbers of the queries among the rows that are searched: no row is its own neighbour.
    classes : ndarray of shape (n_rows,), default=None
        The classes of all rows, where the search reads them.
    within : ndarray of shape (n_queries,), default=None
        For each query a distance within which more rows are known to be than are wanted.
    keep_rows : bool, default=False
        Whether the neighbours themselves are kept, beside their numbers.
    n_threads : int, default=None
        How many threads there are; None is as many as BLAS has.
    shows : bool, default=False
        Whether a long search shows how far it is; rows in blocks show that themselves.
    """

    def __init__(
        self,
        search: Search,
        Q: Array,
        own: np.ndarray,
        classes: np.ndarray | None = None,
        *,
        within: np.ndarray | None = None,
        keep_rows: bool = False,
        n_threads: int | None = None,
        shows: bool = False,
    ):
        self.shows = shows
        self.search, self.Q, self.own, self.classes = search, canonical(Q), own, classes
        self.of_queries = None if classes is None else classes[own]
        self.is_open = within is not None
        self.by_products = is_by_products(search.metric, search.metric_params, Q)
        self.on_device = is_named(search.search, "torch") and self.by_products and not sparse.issparse(Q)
        self.exact = "cosine" if is_named(search.metric, "cosine") else "euclidean"
        self.threads = Threads(n_threads)
        self.rows: Any = Kept(Q) if keep_rows else None
        within = np.full(own.size, np.inf) if within is None else within
        self.groups = [
            [Candidates(part, within[part], search.n_neighbors) for part in self._parts(some)]
            for some, _ in groups(search.among, own.size, self.of_queries, self.of_queries)
        ]
        if self.by_products and self.exact == "euclidean":
            self.centre = None if sparse.issparse(Q) else np.median(Q[:: len(Q) // QUERIES + 1], axis=0)
            self.unit = power_of_two(Q, self.centre)

    def _parts(self, queries: np.ndarray) -> list[np.ndarray]:
        whole = self.on_device or not self.by_products
        return [queries] if whole else np.split(queries, range(QUERIES, queries.size, QUERIES))

    def __getstate__(self) -> dict:
        """The findings without the queries: results travel between processes, and the receiver knows the queries."""
        return {"own": self.own, "groups": self.groups}

    @property
    def found(self) -> list[Candidates]:
        return [found for group in self.groups for found in group]

    def update(self, block: Array, numbers: Any) -> Nearest:
        """Take in the rows of a block. One number means that the rows are numbered consecutively from it."""
        block, numbers = canonical(block), numbers + np.arange(block.shape[0]) if np.isscalar(numbers) else numbers
        classes = None if self.classes is None else self.classes[numbers]
        pairs = groups(self.search.among, self.own.size, self.of_queries, classes)
        take = self._by_device if self.on_device else self._by_products if self.by_products else self._by_index
        with self.threads.running(max(map(len, self.groups), default=1) if self.by_products else 1):
            for group, (_, which) in zip(self.groups, pairs, strict=True):
                rows, own = (block, numbers) if which is None else (block[which], numbers[which])
                if own.size:
                    take(rows, own, group)
        if self.rows is not None:
            self._keep(block, numbers)
        return self

    def merge(self, other: Nearest) -> Nearest:
        """Take in what another search of the same queries found in other rows."""
        for one, more in zip(self.found, other.found, strict=True):
            one.add(more.rows, more.numbers, more.distances)
        return self

    def edges(self) -> Edges:
        chosen = [(found, found.chosen()) for found in self.found]
        return Edges.joined(
            Edges(self.own[found.queries[found.rows[places]]], found.numbers[places], found.distances[places])
            for found, places in chosen
        )

    def neighbors(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of all rows that are chosen, ascending, and the slots where they are kept."""
        places = [found.chosen() for found in self.found]
        numbers, first = np.unique(self._all("numbers", places), return_index=True)
        return numbers, self._all("slots", places)[first]

    def _all(self, what: str, places: list[np.ndarray]) -> np.ndarray:
        """The numbers or the slots, as ``what`` says, of the candidates of all queries at some places."""
        parts = (getattr(found, what)[some] for found, some in zip(self.found, places, strict=True))
        return np.concatenate([np.empty(0, dtype=np.intp), *parts])

    def _add(self, found: Candidates, rows: np.ndarray, numbers: np.ndarray, distances: np.ndarray) -> None:
        other = numbers != self.own[found.queries[rows]]
        found.add(rows[other], numbers[other], distances[other])

    def _by_device(self, block: Array, numbers: np.ndarray, group: list[Candidates]) -> None:
        """Search the block on the device of this process. One more than k is asked for, since a row may find itself."""
        (found,), k = group, min(self.search.n_neighbors + 1, block.shape[0])
        for rows, places, d in near_on_device(block, self.Q[found.queries], k, self.exact):
            self._add(found, rows, numbers[places], d)

    def _by_index(self, block: Array, numbers: np.ndarray, group: list[Candidates]) -> None:
        """Search the block with scikit-learn, in any metric. It is asked for k + 2 rows.

        One of them is for the query itself, and one shows whether the next row is as near as the k-th. scikit-learn returns
        any of equally distant rows, so more rows are asked for until all equally distant ones are seen.
        """
        (found,), k = group, self.search.n_neighbors
        m, open_ = k + 2, np.arange(found.queries.size)
        if not self.is_open:
            open_ = self._asked(block, numbers, found, open_, m)
        # Of equal rows only the first k + 1 can matter: the query itself and k others.
        if open_.size and not sparse.issparse(block):
            first = first_copies(block, k + 1)
            block, numbers = block[first], numbers[first]
        while open_.size:
            m *= 4
            open_ = self._asked(block, numbers, found, open_, m)

    def _asked(self, block: Array, numbers: np.ndarray, found: Candidates, rows: np.ndarray, m: int) -> np.ndarray:
        """Take in the m nearest rows of the block.

        Queries for which more rows may be as near as the last one are returned instead.
        """
        m, metric = min(m, block.shape[0]), self.search.metric
        few = not sparse.issparse(block) and block.shape[1] <= TREE_DIMENSIONS and is_euclidean(metric)
        search = Index(in_double(block), metric, self.search.metric_params, "kd_tree" if few else "auto")

        def asked(some: slice) -> np.ndarray:
            part = rows[some]
            d, near = search.kneighbors(in_double(self.Q[found.queries[part]]), m)
            d = d.astype(np.float64, copy=False)
            within = np.minimum(d[:, min(self.search.n_neighbors, m - 1)], found.boundary[part]) * (1 + TIE)
            seen = (d[:, -1] > within) | (m == block.shape[0])
            i, j = np.nonzero((d <= within[:, None]) & seen[:, None])
            self._add(found, part[i], numbers[near[i, j]], d[i, j])
            return part[~seen]

        return np.concatenate(in_parts(asked, rows.size, max(1, FOUND // m), self.shows))

    def _by_products(self, block: Array, numbers: np.ndarray, group: list[Candidates]) -> None:
        """Compare chunks of rows that grow in size, so that rows that cannot be among the nearest are soon recognised."""
        queries = [self._prepared(self.Q[found.queries]) for found in group]
        things = [(found, with_ones(Q), squares) for found, (Q, squares) in zip(group, queries, strict=True)]
        step, start, room = (ROWS if self.is_open else FIRST), 0, Room()
        with progressing(block.shape[0], self.shows) as progress:
            while start < block.shape[0]:
                rows = block[start : start + step]
                chunk = Chunk(*self._prepared(rows), self.search.n_neighbors, room)
                self.threads.each(partial(self._compare, chunk, rows, numbers[start : start + step]), things)
                start, step = start + step, min(2 * step, ROWS)
                progress(min(start, block.shape[0]))

    def _compare(
        self, chunk: Chunk, rows: Array, numbers: np.ndarray, queries: tuple[Candidates, Array, np.ndarray]
    ) -> None:
        found, Q, squares = queries
        within = found.boundary * (1 + 2 * TIE)
        squared = 2 * (within + PARALLEL) if self.exact == "cosine" else (self.unit * within) ** 2
        some, cols = chunk.candidates(Q, squares, squared)
        if some.size:
            self._add(found, some, numbers[cols], paired(self.Q, found.queries[some], rows, cols, self.exact))

    def _prepared(self, rows: Array) -> tuple[Array, np.ndarray]:
        """Rows in the form that products take them, and their squared lengths."""
        if self.exact == "cosine":
            return unit_rows(rows), np.ones(rows.shape[0])
        if self.centre is not None:
            rows = rows - self.centre.astype(rows.dtype)
        rows = rows * rows.dtype.type(self.unit)
        return rows, lengths(rows) ** 2

    def _keep(self, block: Array, numbers: np.ndarray) -> None:
        """Keep the rows of the candidates that came with this block, in the slots of those that were dropped."""
        low, high = (numbers[0], numbers[-1]) if numbers.size else (0, -1)
        came = [np.flatnonzero((f.slots < 0) & (f.numbers >= low) & (f.numbers <= high)) for f in self.found]
        old = [np.flatnonzero(found.slots >= 0) for found in self.found]
        new = self._all("numbers", came)
        free = np.setdiff1d(np.arange(len(self.rows.array) + new.size), self._all("slots", old))[: new.size]
        self.rows.put(free, block, np.searchsorted(numbers, new))
        for found, places in zip(self.found, came, strict=True):
            found.slots[places], free = free[: places.size], free[places.size :]


class Kept:
    """Rows in numbered slots. Sparse rows differ in length, so their indices and values are kept."""

    def __init__(self, Q: Array):
        self.n_features, self.is_sparse = Q.shape[1], sparse.issparse(Q)
        self.none = np.empty(0, np.int32), np.empty(0, Q.dtype)
        self.array = np.empty((0, 2 if self.is_sparse else Q.shape[1]), object if self.is_sparse else Q.dtype)

    def put(self, slots: np.ndarray, block: Array, rows: np.ndarray) -> None:
        more = slots.max(initial=-1) + 1 - len(self.array)
        if more > 0:  # The array grows by more than is needed now, so that it is not copied each time a few rows come.
            shape = (more + len(self.array) // 16, self.array.shape[1])
            self.array = np.concatenate([self.array, np.empty(shape, self.array.dtype)])
        if not self.is_sparse:
            self.array[slots] = block[rows]
            return
        for slot, row in zip(slots, rows, strict=True):
            part = slice(block.indptr[row], block.indptr[row + 1])
            self.array[slot, 0], self.array[slot, 1] = block.indices[part].copy(), block.data[part].copy()

    def take(self, slots: np.ndarray) -> Array:
        if not self.is_sparse:
            return self.array[slots]
        indices, data = (
            np.concatenate([none, *parts]) for none, parts in zip(self.none, self.array[slots].T, strict=True)
        )
        indptr = np.cumsum([0, *(part.size for part in self.array[slots, 1])])
        return sparse.csr_array((data, indices, indptr), shape=(slots.size, self.n_features))


def first_copies(block: np.ndarray, most: int) -> np.ndarray:
    """The places of the rows, but of equal rows only the first ``most``."""
    order = np.lexsort(block.T)
    new = np.concatenate([[True], (block[order[1:]] != block[order[:-1]]).any(axis=1)])
    copies = np.arange(order.size) - np.flatnonzero(new)[np.cumsum(new) - 1]
    return np.sort(order[copies < most])


def power_of_two(Q: Array, centre: np.ndarray | None) -> float:
    """A power of two that brings the queries near 1, where their products neither overflow nor vanish."""
    if centre is None:
        largest = float(abs(Q).max())
    else:
        largest = max(float(np.abs(Q[rows] - centre).max()) for rows in row_blocks(*Q.shape))
    most = np.finfo(Q.dtype).maxexp - 2
    return float(np.ldexp(1.0, np.clip(-np.frexp(largest)[1], -most, most)))
