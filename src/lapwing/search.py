"""Candidates for the nearest rows from products of tiles, which are groups of consecutive rows, on several threads.

The product of two tiles serves the rows of both. Every row has a threshold, which is its m-th distance so far, so that one
comparison leaves only a few candidates in a tile. Tiles meet as the players of a tournament do: in each round no tile occurs
twice, so that threads hardly ever wait for the same tile. Products are in float32 where that is precise enough. They give
candidates, and a lower bound on the distances of all rows that are not among them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from threadpoolctl import threadpool_info, threadpool_limits

from ._extras import Progress
from ._validation import Array, row_blocks

Each = Callable[..., None]
TILE_ROWS = 512  # the products of two tiles of so many rows stay in the cache
MANY_TILES = 24  # where there would be so many tiles of twice the rows, tiles have these
# Threads wait for one another where Python decides what to do next, so that what is done for each pair of tiles is few calls on
# large arrays. So many threads have the largest tiles, and no more than the most are used (benchmarks/cores.py).
MANY_THREADS, MOST_THREADS = 5, 16
QUEUED = 100  # things wait for each thread: all two million pairs of tiles of 10^6 rows would take 3 GB
FIRST_ROWS = 256  # so many rows are compared in full, to get a first m-th distance that later tiles are screened by
COARSE_SHARE = 0.02  # products are in float32 where their rounding, for most rows, is at most this share of a distance
# A column is multiplied as a dense one where at least this share of the sparse rows has an entry in it (measured).
FREQUENT_SHARE = 0.05
WAITING_BYTES = 48  # of a new candidate, which waits with its neighbours until there are many
LONG_LIST, PART_OF_LIST = 1 << 17, 1 << 14  # longer lists of pairs are measured in parts, which several threads share
MEDIAN_ROWS = 1000  # the centre is the median of so many rows
# Bits of the key by which candidates are sorted: row, distance, position. A row has the bit of the sign as well, which is 0.
POSITION_BITS, ROW_BITS = 21, 12


def by_tiles(X: Array, queries: np.ndarray, members: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """M members near each query, perhaps with itself, and a distance that all others exceed, rounding included.

    There must be so many members: other than the query, where all members are searched for.
    """
    symmetric, frame = np.array_equal(queries, members), _frame(X)
    with threads() as (n_threads, each):
        for dtype in (np.float32, np.float64):
            right = Operand(X, members, frame, dtype, each, right=not symmetric)
            left = right if symmetric else Operand(X, queries, frame, dtype, each, right.columns)
            tiles = Tiles(left, right, m, n_threads)
            if dtype is np.float64 or not tiles.are_coarse():
                break
        places, half = tiles.run(each)
    return members[places], np.sqrt(2 * np.maximum(half, 0)) / frame[1]


def _frame(X: Array) -> tuple[np.ndarray, float]:
    """A point amid the rows, and a power of two that brings them near 1. Sparse rows stay where they are."""
    if sparse.issparse(X):
        centre, largest = np.zeros(X.shape[1]), float(abs(X).max())
    else:
        centre = np.median(X[:: max(1, len(X) // MEDIAN_ROWS)], axis=0)
        largest = max(float(np.abs(X[rows] - centre).max()) for rows in row_blocks(*X.shape))
    most = np.finfo(X.dtype).maxexp - 2
    return centre, float(np.ldexp(1.0, np.clip(-np.frexp(largest)[1], -most, most)))


def _memory() -> float:
    """A quarter of scikit-learn's ``working_memory``, in bytes."""
    return get_config()["working_memory"] * 2**18


class Operand:
    """Rows in the form that products take them: less the centre, times the unit, with half their squared lengths.

    With (x, |x|²/2, 1) on the left and (y, -1, -|y|²/2) on the right, the product is minus half the squared distance. The form
    of one side is kept where there is room for it. Of sparse rows, columns with many entries are dense, and the others stay
    sparse (``rest``); two operands that are multiplied have the same ``columns`` dense.
    """

    def __init__(
        self, X: Array, rows: np.ndarray, frame: tuple, dtype: Any, each: Each, columns: Any = None, right: bool = False
    ):
        self.X, self.rows, (self.centre, self.unit), self.dtype = X, rows, frame, np.dtype(dtype)
        self.n, self.d, self.columns, self.is_right = rows.size, X.shape[1], columns, right
        self.rest: Any = None
        self.half: np.ndarray = np.zeros(self.n)
        self._transposed: dict[int, Any] = {}
        if sparse.issparse(X):  # frequent columns become dense, but no more of them than there is room for
            X = sparse.csr_array(X[rows])
            X.data = (X.data * self.unit).astype(dtype)
            if columns is None:
                counts = np.bincount(X.indices, minlength=self.d)
                often = np.argsort(-counts, kind="stable")[: int(_memory() // (self.n * self.dtype.itemsize))]
                self.columns = np.sort(often[counts[often] >= FREQUENT_SHARE * self.n])
            self.rest = sparse.csr_array(X[:, np.setdiff1d(np.arange(self.d), self.columns)])
            self.half = self.rest.astype(np.float64).power(2).sum(axis=1) / 2
            self.X, self.rows = X[:, self.columns].toarray(), np.arange(self.n)
            self.centre, self.unit = np.zeros(self.columns.size), 1.0
        self.width = self.X.shape[1] + 2
        keep = self.rest is not None or self.n * self.width * self.dtype.itemsize <= _memory()
        self.kept = np.empty((self.n, self.width), self.dtype) if keep else None
        each(self._keep, row_blocks(self.n, 2 * self.width))

    def _keep(self, part: slice) -> None:
        moved = self._moved(part)
        self.half[part] += np.einsum("ij,ij->i", moved, moved, dtype=np.float64) / 2
        if self.kept is not None:
            self._fill(self.kept[part], moved, part, self.is_right)

    def _moved(self, part: slice) -> np.ndarray:
        moved = self.X[self.rows[part]]
        moved -= self.centre.astype(moved.dtype)
        moved *= moved.dtype.type(self.unit)
        return moved.astype(self.dtype, copy=False)

    def _fill(self, out: np.ndarray, moved: np.ndarray, part: slice, right: bool) -> np.ndarray:
        out[:, :-2] = moved
        out[:, -2], out[:, -1] = (-1, -self.half[part]) if right else (self.half[part], 1)
        return out

    def side(self, part: slice, room: np.ndarray, right: bool) -> np.ndarray:
        """Some rows in the form of one side of a product: as they are kept, or in the room."""
        if self.kept is not None and right == self.is_right:
            return self.kept[part]
        moved = self._moved(part) if self.kept is None else self.kept[part, :-2]
        return self._fill(room[: part.stop - part.start, : self.width], moved, part, right)

    def add_rest(self, products: np.ndarray, a: slice, other: Operand, b: slice) -> None:
        """Add what the sparse columns contribute to the products of two tiles."""
        if self.rest is not None:
            if b.start not in other._transposed:
                other._transposed[b.start] = sparse.csr_array(other.rest[b].T)
            products += (self.rest[a] @ other._transposed[b.start]).toarray()

    def rounding(self, part: slice, distance: np.ndarray) -> np.ndarray:
        """The largest rounding of half the squared distances from rows, for distances up to ``distance``.

        It uses that |y|² is at most twice the sum of |x|² and |x - y|².
        """
        eps, tiny = float(np.finfo(self.dtype).eps), float(np.finfo(self.dtype).tiny)
        return 2 * eps * (8 + np.sqrt(self.d + 2)) * (6 * self.half[part] + 4 * distance) + self.d * tiny


class Found:
    """The m nearest rows so far of each row of a tile, and new candidates that are not yet compared with them.

    New candidates come as eights of products that lie side by side, of which at least one is large enough. They stay so until
    there are many. What is done for many at once is done seldom, so that threads hardly wait for Python.
    """

    def __init__(self, part: slice, m: int, width: int, dtype: Any, most: float):
        self.part, self.m, self.n, self.width, self.lock = part, m, part.stop - part.start, width, threading.Lock()
        self.most = min(most, self.n * m)  # so many new candidates wait
        self.distances = np.full((self.n, m), np.inf, dtype)
        self.places = np.zeros((self.n, m), np.int32)
        self.lowest, self.is_started = np.finfo(dtype).min, False
        self._set_least(np.full(self.n, self.lowest, dtype))
        self._new: tuple[list, list] = ([], [])  # those whose rows are rows of the products, and columns
        self._count = 0

    def _set_least(self, least: np.ndarray) -> None:
        """Set what minus the distance of a candidate of each row must reach, infinity for columns beyond the last row."""
        padded = np.full(self.width, np.inf, least.dtype)
        np.maximum(least, self.lowest, out=padded[: self.n])
        self.least = padded

    def start(self, products: np.ndarray) -> None:
        """Set the first thresholds, from the products of each row with some others all over the tile."""
        some = products[:, :: max(1, products.shape[1] // max(FIRST_ROWS, 4 * self.m))]
        if some.shape[1] > self.m:
            self._set_least(np.partition(some, some.shape[1] - self.m, axis=1)[:, some.shape[1] - self.m])
            self.is_started = True

    def add(self, eights: np.ndarray, values: np.ndarray, first: int, transposed: bool = False) -> None:
        """Take the eights of products with a tile that begins at ``first``. With ``transposed`` own rows are the columns."""
        with self.lock:
            self._new[transposed].append((eights, values, first))
            self._count += eights.size
            if self._count > self.most:
                self.settle()

    def _candidates(self, transposed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows, places and distances of the new candidates that still reach their thresholds."""
        eights, near, first = zip(*self._new[transposed], strict=True)
        firsts, values = np.repeat(first, [part.size for part in eights]), np.concatenate(near)
        rows, cols = np.divmod(np.concatenate(eights), self.width // 8)
        least = self.least.reshape(-1, 8)[cols] if transposed else self.least[rows, None]
        at = np.flatnonzero(values >= least)
        eight, lane = np.divmod(at, 8)
        rows, cols = rows[eight], cols[eight] * 8 + lane
        rows, cols = (cols, rows) if transposed else (rows, cols)
        return rows, (cols + firsts[eight]).astype(np.int32), -values.ravel()[at]

    def settle(self) -> None:
        """Keep the m nearest of the old and the new candidates of each row."""
        new = [self._candidates(transposed) for transposed in (False, True) if self._new[transposed]]
        if not new:
            return
        held = np.repeat(np.arange(self.n), self.m), self.places.ravel(), self.distances.ravel()
        rows, places, distances = map(np.concatenate, zip(held, *new, strict=True))
        order = _by_row(rows, np.abs(np.maximum(distances, 0)), self.n)
        counts = np.bincount(rows)
        kept = order[(np.cumsum(counts) - counts)[:, None] + np.arange(self.m)]
        self.places, self.distances = places[kept], distances[kept]
        self._set_least(-self.distances[:, -1])
        self._new, self._count = ([], []), 0


def _by_row(rows: np.ndarray, distances: np.ndarray, n_rows: int) -> np.ndarray:
    """The order by rows and distances. In float32, row, distance and place fit into one key, which sorts much faster."""
    if distances.dtype != np.float32 or rows.size >> POSITION_BITS or n_rows >> ROW_BITS:
        return np.lexsort((distances, rows))
    bits = distances.view(np.uint32).astype(np.uint64) << np.uint64(POSITION_BITS)
    keys = rows.astype(np.uint64) << np.uint64(64 - ROW_BITS) | bits | np.arange(rows.size, dtype=np.uint64)
    keys.sort()
    return (keys & np.uint64((1 << POSITION_BITS) - 1)).astype(np.intp)


class Room(threading.local):
    """Memory for the products of two tiles. Each thread has one and uses it again and again."""

    def __init__(self, size: int, others: int, width: int, dtype: Any):
        self.left, self.right = np.empty((size, width), dtype), np.empty((others, width), dtype)
        self.values, self.hits = np.empty((size, others), dtype), np.empty(size * others // 8, bool)
        self.masks = np.empty((2, size * others), bool)

    def products(self, a: Operand, left: slice, b: Operand, right: slice) -> np.ndarray:
        """The products of two tiles. Columns beyond those of the right one are minus infinity, which reaches no threshold."""
        rows, others = a.side(left, self.left, False), b.side(right, self.right, True)
        products = self.values[: len(rows)]
        np.matmul(rows, others.T, out=products[:, : len(others)])
        a.add_rest(products[:, : len(others)], left, b, right)
        products[:, len(others) :] = -np.inf
        return products

    def reaching(self, products: np.ndarray, *least: np.ndarray) -> np.ndarray:
        """The eights of products, side by side, of which one is at least one of the thresholds. They are rare."""
        masks = [mask[: products.size] for mask in self.masks]
        for mask, one in zip(masks, least, strict=False):
            np.greater_equal(products, one, out=mask.reshape(products.shape))
        words = masks[0].view(np.uint64)
        if len(least) == 2:
            np.bitwise_or(words, masks[1].view(np.uint64), out=words)
        return np.flatnonzero(np.not_equal(words, 0, out=self.hits[: words.size]))


class Tiles:
    """A search by tiles for the m candidates of each query.

    Where all members are searched for, queries and members are the same operand, and no row is its own candidate. Where queries
    are others, a query that is a member may be one.
    """

    def __init__(self, queries: Operand, members: Operand, m: int, n_threads: int):
        self.queries, self.members, self.m, self.is_symmetric = queries, members, m, queries is members
        # Tiles are larger of many rows, on many threads, and smaller where the products would take much memory.
        size, others, each = TILE_ROWS, 1 if self.is_symmetric else 2, n_threads * (queries.dtype.itemsize + 2)
        for _ in range(2 if n_threads >= MANY_THREADS else 1):
            size *= 2 if queries.n >= 2 * size * MANY_TILES else 1
        while size > 64 and each * size * (others * size + (1 + others) * queries.width) > _memory():
            size //= 2
        self.parts = _parts(queries.n, size)
        self.others = self.parts if self.is_symmetric else _parts(members.n, others * size)
        self.width = self.others[0].stop + 7 & ~7
        self.room = Room(self.parts[0].stop, self.width, queries.width, queries.dtype)
        self.found = self._nothing()

    def _nothing(self) -> list[Found]:
        most = _memory() / (4 * WAITING_BYTES * len(self.parts))
        return [Found(part, self.m, self.width, self.queries.dtype, most) for part in self.parts]

    def run(self, each: Each) -> tuple[np.ndarray, np.ndarray]:
        """The candidates as places of members, and half a squared distance that all others exceed.

        Every tile of queries meets first itself, or the first tile of members, which gives thresholds, and then all others.
        """
        n = len(self.parts)
        first = [(i, i if self.is_symmetric else 0) for i in range(n)]
        rest = _pairs(n) if self.is_symmetric else [(i, j) for j in range(1, len(self.others)) for i in range(n)]
        with Progress("searching", self.queries.n) as progress:
            each(self._collect, first)
            each(self._collect, rest, progress)
            each(Found.settle, self.found)
        places = np.concatenate([found.places for found in self.found])
        beyond = np.concatenate([found.distances[:, -1] for found in self.found]).astype(np.float64)
        return places, beyond - self.queries.rounding(slice(None), beyond)

    def are_coarse(self) -> bool:
        """Whether rounding exceeds a small share of a distance, or all differences between candidates, judged by a few tiles."""
        few = range(0, len(self.parts), max(1, len(self.parts) // 4))
        for i in few:
            self._collect((i, i if self.is_symmetric else 0))
            self.found[i].settle()
        d = np.concatenate([self.found[i].distances for i in few]).astype(np.float64)
        rounding = np.concatenate([self.queries.rounding(self.parts[i], np.zeros(1)) for i in few])
        self.found = self._nothing()
        return bool(np.mean(rounding > np.minimum(COARSE_SHARE * d[:, -1], d[:, -1] - d[:, 0])) > 0.05)

    def _collect(self, pair: tuple[int, int]) -> None:
        """Collect candidates for the rows of a tile of queries, and for those of the other tile where these are queries, too."""
        (i, j), a = pair, self.found[pair[0]]
        b = self.found[j] if self.is_symmetric and i != j else None
        products = self.room.products(self.queries, a.part, self.members, self.others[j])
        if self.is_symmetric and i == j:
            np.fill_diagonal(products, -np.inf)
        if not a.is_started:
            a.start(products)
        eights = self.room.reaching(products, a.least[: a.n, None], *(() if b is None else (b.least,)))
        values = products.reshape(-1, 8)[eights]
        a.add(eights, values, self.others[j].start)
        if b is not None:
            b.add(eights, values, self.parts[i].start, transposed=True)


def _parts(n: int, size: int) -> list[slice]:
    """Slices of about equal size, a multiple of eight."""
    size = -(-n // (-(-n // size) * 8)) * 8
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _pairs(n: int) -> list[tuple[int, int]]:
    """All pairs of n players, in rounds in which nobody plays twice: the first player stays, and the others rotate."""
    even = n + n % 2
    ring, rounds = np.arange(1, even), []
    for _ in range(even - 1):
        table = np.concatenate([[0], ring])
        rounds.append(np.sort(np.column_stack([table[: even // 2], table[::-1][: even // 2]]), axis=1))
        ring = np.roll(ring, 1)
    pairs = np.concatenate(rounds) if rounds else np.empty((0, 2), int)
    return [(int(i), int(j)) for i, j in pairs[(pairs < n).all(axis=1)]]


@contextmanager
def threads() -> Iterator[tuple[int, Each]]:
    """How many threads help now, at most those of products, and what calls a function for each of some things on all of them.

    Each has one BLAS thread, and a free one takes the next thing.
    """
    allowed = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    n = min(allowed, MOST_THREADS)

    def each(function: Callable[[Any], object], things: Sequence, progress: Progress | None = None) -> None:
        for start in range(0, len(things), n * QUEUED):
            some = things[start : start + n * QUEUED]
            for done, _ in enumerate(pool.map(function, some) if n > 1 else map(function, some), start + 1):
                if progress is not None and progress.total:
                    progress(progress.total * done // len(things))

    with ThreadPoolExecutor(n) as pool, threadpool_limits(1, user_api="blas") if n > 1 else nullcontext():
        yield n, each


def in_parts(function: Callable[..., np.ndarray], *lists: np.ndarray) -> np.ndarray:
    """A function of long lists, which gives a number for each of their places: part by part, on several threads."""
    found = np.empty(lists[0].size)

    def one(start: int) -> None:
        part = slice(start, start + PART_OF_LIST)
        found[part] = function(*(values[part] for values in lists))

    with threads() as (_, each):
        each(one, range(0, found.size, PART_OF_LIST))
    return found
