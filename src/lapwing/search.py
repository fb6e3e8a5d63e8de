"""Candidates for the nearest rows from products of tiles, which are groups of consecutive rows, on several threads.

The product of two tiles serves the rows of both. Every row has a threshold, which is its m-th distance so far, so that one
comparison leaves only a few candidates in a tile. Tiles meet as the players of a tournament do: in each round no tile occurs
twice. So threads need no locks, and the result does not depend on how many there are. Products are in float32 where that is
precise enough. They give candidates, and a lower bound on the distances of all rows that are not among them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from threadpoolctl import threadpool_info, threadpool_limits

from ._arrays import Array, row_blocks
from ._extras import Progress

TILE_ROWS = 512  # the products of two tiles of so many rows stay in the cache
MANY_TILES = 24  # where there would be so many tiles of twice the rows, tiles have these
# Threads wait for one another where Python decides what to do next. So many threads have the largest tiles, and no more threads
# than the most are used (measured on 16 cores).
MANY_THREADS, MOST_THREADS = 5, 8
FIRST_ROWS = 256  # so many rows are compared in full, to get a first m-th distance that later tiles are screened by
COARSE_SHARE = 0.02  # products are in float32 where their rounding, for most rows, is at most this share of a distance
# A column is multiplied as a dense one where at least this share of the sparse rows has an entry in it (measured).
FREQUENT_SHARE = 0.05
LEAST_PAIRS = 2_500**2  # from this many pairs of rows on, tiles are faster than the search of scikit-learn (measured)
LONG_ROW = 128  # LEAST_PAIRS holds for rows of this many columns; shorter rows need more pairs, in proportion
TREE_COLUMNS = 15  # up to this many columns scikit-learn searches with a tree, which is faster
MOST_CANDIDATES = 200
MEDIAN_ROWS = 1000  # the centre is the median of so many rows
# Bits of the key by which candidates are sorted: row, distance, position. A row has the bit of the sign as well, which is 0.
POSITION_BITS, ROW_BITS = 21, 12
# Bounds by a few principal coordinates (docs/speed.md): how many, found from how many rows, and from where on they are tried.
BOUND_COLUMNS, BOUND_SAMPLE, BOUND_ROWS, BOUND_WIDTH = 31, 2000, 8_000, 128
BOUND_TRIALS = 6  # bounds are tried on this many pairs of tiles, to see how many pairs of rows they leave
BOUND_WORTH = 0.7  # bounds are used where they cost less than this share of the plain products
# The cost of finding the distance of one pair alone, in columns of a product: a fixed part, and a part per column (measured).
PAIR_COST, PAIR_COST_COLUMN = 2000, 15


def is_worth_tiles(X: Array, n_pairs: int, m: int) -> bool:
    """Whether products of tiles are the fastest search: for many rows, of more columns than trees are good at."""
    few = X.shape[1] <= TREE_COLUMNS and not sparse.issparse(X)
    return m <= MOST_CANDIDATES and not few and n_pairs >= LEAST_PAIRS * max(1.0, LONG_ROW / X.shape[1])


def by_tiles(X: Array, queries: np.ndarray, members: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """M members near each query, itself not among them, and a distance that all others exceed, rounding included."""
    symmetric, (n, d) = np.array_equal(queries, members), (members.size, X.shape[1])
    frame, V, back = _frame(X), None, np.arange(queries.size)
    if symmetric and not sparse.issparse(X) and n >= max(BOUND_ROWS, 20 * d) and d >= BOUND_WIDTH:
        V = _directions(Operand(X, members[:: max(1, n // BOUND_SAMPLE)], frame, np.float64))
        order = _arranged(Operand(X, members, frame, np.float32).times(V[:, :2]))
        members, back = members[order], np.argsort(order, kind="stable")
    asked = members if symmetric else queries
    for dtype in (np.float32, np.float64):
        right = Operand(X, members, frame, dtype)
        left = right if symmetric else Operand(X, asked, frame, dtype, right.columns)
        tiles = Tiles(left, right, m, None if symmetric else _places(asked, members))
        if dtype is np.float64 or not tiles.are_coarse():
            break
    if V is not None and right.kept is not None and right.dtype == np.float32:
        tiles.bounds = _bounds(right, V)
    places, half = tiles.run()
    beyond = np.where(np.isinf(half), np.inf, np.sqrt(2 * np.maximum(half, 0)) / frame[1])
    # A query with fewer candidates than m is filled up with itself, which is infinitely far.
    return np.where(places >= 0, members[places], asked[:, None])[back], beyond[back]


def _frame(X: Array) -> tuple[np.ndarray, float]:
    """A point amid the rows, and a power of two that brings them near 1. Sparse rows stay where they are."""
    if sparse.issparse(X):
        centre, largest = np.zeros(X.shape[1]), float(abs(X).max())
    else:
        centre = np.median(X[:: max(1, len(X) // MEDIAN_ROWS)], axis=0)
        largest = max(float(np.abs(X[rows] - centre).max()) for rows in row_blocks(*X.shape))
    most = np.finfo(X.dtype).maxexp - 2
    return centre, float(np.ldexp(1.0, np.clip(-np.frexp(largest)[1], -most, most)))


def _places(queries: np.ndarray, members: np.ndarray) -> np.ndarray:
    """The place of each query among the members; -1 for a query that is not a member."""
    order = np.argsort(members, kind="stable")
    at = np.minimum(np.searchsorted(members[order], queries), members.size - 1)
    return np.where(members[order[at]] == queries, order[at], -1)


def _memory() -> float:
    """A quarter of scikit-learn's ``working_memory``, in bytes."""
    return get_config()["working_memory"] * 2**18


class Operand:
    """Rows in the form that products take them: less the centre, times the unit, with half their squared lengths.

    With (x, |x|²/2, 1) on the left and (y, -1, -|y|²/2) on the right, the product is minus half the squared distance. The
    form on the left is kept where there is room for it. Of sparse rows, columns with many entries are dense, and the others
    stay sparse (``rest``); two operands that are multiplied have the same ``columns`` dense.
    """

    def __init__(self, X: Array, rows: np.ndarray, frame: tuple, dtype: Any, columns: np.ndarray | None = None):
        self.X, self.rows, (self.centre, self.unit), self.dtype = X, rows, frame, np.dtype(dtype)
        self.n, self.d, self.columns = rows.size, X.shape[1], columns
        self.rest: Any = None
        self.half: np.ndarray = np.zeros(self.n)
        self._transposed: dict[int, Any] = {}
        if sparse.issparse(X):
            self._split()
        self.width = self.X.shape[1] + 2
        keep = self.rest is not None or self.n * self.width * self.dtype.itemsize <= _memory()
        self.kept = np.empty((self.n, self.width), self.dtype) if keep else None
        for part in row_blocks(self.n, 2 * self.width):
            moved = self._moved(part)
            self.half[part] += np.einsum("ij,ij->i", moved, moved, dtype=np.float64) / 2
            if self.kept is not None:
                self._fill(self.kept[part], moved, part)

    def _split(self) -> None:
        """Frequent columns of sparse rows become dense, but no more of them than there is room for."""
        X = sparse.csr_array(self.X[self.rows])
        X.data = (X.data * self.unit).astype(self.dtype)
        if self.columns is None:
            counts = np.bincount(X.indices, minlength=self.d)
            found = np.argsort(-counts, kind="stable")[: int(_memory() // (self.n * self.dtype.itemsize))]
            self.columns = np.sort(found[counts[found] > FREQUENT_SHARE * self.n])
        self.rest = sparse.csr_array(X[:, np.setdiff1d(np.arange(self.d), self.columns)])
        self.half = self.rest.astype(np.float64).power(2).sum(axis=1) / 2
        self.X, self.rows = X[:, self.columns].toarray(), np.arange(self.n)
        self.centre, self.unit = np.zeros(self.columns.size), 1.0

    def _moved(self, part: slice) -> np.ndarray:
        rows = self.rows[part]
        consecutive = rows.size == rows[-1] - rows[0] + 1 and (np.diff(rows) == 1).all()
        X = self.X[rows[0] : rows[-1] + 1] if consecutive else self.X[rows]
        moved = X - self.centre.astype(X.dtype)
        moved *= X.dtype.type(self.unit)
        return moved.astype(self.dtype, copy=False)

    def _fill(self, out: np.ndarray, moved: np.ndarray, part: slice) -> np.ndarray:
        out[:, :-2], out[:, -2], out[:, -1] = moved, self.half[part], 1
        return out

    def times(self, V: np.ndarray) -> np.ndarray:
        """The rows, without their lengths, times a matrix."""
        V, found = V.astype(self.dtype), np.empty((self.n, V.shape[1]), self.dtype)
        for part in row_blocks(self.n, 2 * self.width):
            found[part] = (self._moved(part) if self.kept is None else self.kept[part, :-2]) @ V
        return found

    def left(self, part: slice, room: np.ndarray) -> np.ndarray:
        if self.kept is not None:
            return self.kept[part]
        return self._fill(room[: part.stop - part.start], self._moved(part), part)

    def right(self, part: slice, room: np.ndarray) -> np.ndarray:
        out = room[: part.stop - part.start, : self.width]
        out[:] = self.left(part, out)
        out[:, -2], out[:, -1] = -1, -self.half[part]
        return out

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
        size = np.where(np.isfinite(distance), distance, 0)
        eps, tiny = float(np.finfo(self.dtype).eps), float(np.finfo(self.dtype).tiny)
        return 2 * eps * (8 + np.sqrt(self.d + 2)) * (6 * self.half[part] + 4 * size) + self.d * tiny


def _bounds(operand: Operand, V: np.ndarray) -> Operand:
    """Rows as (coordinates on a few directions, length of the rest); their distances never exceed those of the whole rows.

    This holds because the rests of two rows differ by at least the difference of their lengths.
    """
    Y = operand.times(V)
    rest = 2 * operand.half - np.einsum("ij,ij->i", Y, Y, dtype=np.float64)
    B = np.column_stack([Y, np.sqrt(np.maximum(rest, 0)).astype(Y.dtype)])
    return Operand(B, np.arange(operand.n), (np.zeros(B.shape[1]), 1.0), operand.dtype)


class Found:
    """The m nearest rows so far of each row of a tile, and new candidates that are not yet compared with them."""

    def __init__(self, part: slice, m: int, dtype: Any):
        self.part, self.m, self.n = part, m, part.stop - part.start
        self.distances = np.full((self.n, m), np.inf, dtype)
        self.places = np.full((self.n, m), -1, np.int32)
        self.lowest = np.finfo(dtype).min
        self.least = np.full(self.n, self.lowest, dtype)  # a candidate needs minus its distance to be at least this
        self._new: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._count = 0

    def start(self, products: np.ndarray) -> None:
        """Set the first thresholds, from the products of each row with some others."""
        some = products[:, : max(FIRST_ROWS, 4 * self.m)]
        if some.shape[1] > self.m and not (self.least > self.lowest).any():
            least = np.partition(some, some.shape[1] - self.m, axis=1)[:, some.shape[1] - self.m]
            self.least = np.maximum(least, self.lowest)

    def add(self, rows: np.ndarray, places: np.ndarray, distances: np.ndarray) -> None:
        self._new.append((rows, places.astype(np.int32), distances))
        self._count += rows.size
        if 2 * self._count > self.n * self.m:
            self.settle()

    def settle(self) -> None:
        """Keep the m nearest of the old and the new candidates of each row."""
        if not self._new:
            return
        held = np.repeat(np.arange(self.n), self.m), self.places.ravel(), self.distances.ravel()
        rows, places, distances = map(np.concatenate, zip(held, *self._new, strict=True))
        order = _by_row(rows, np.abs(np.maximum(distances, 0)), self.n)
        counts = np.bincount(rows)
        kept = order[(np.cumsum(counts) - counts)[:, None] + np.arange(self.m)]
        self.places, self.distances = places[kept], distances[kept]
        self.least = np.maximum(-self.distances[:, -1], self.lowest)
        self._new, self._count = [], 0


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
        self.values, self.mask = np.empty(size * others, dtype), np.empty(size * others, bool)

    def products(self, a: Operand, left: slice, b: Operand, right: slice) -> np.ndarray:
        rows, others = a.left(left, self.left), b.right(right, self.right)
        shape = len(rows), len(others)
        return np.matmul(rows, others.T, out=self.values[: shape[0] * shape[1]].reshape(shape))

    def reaching(self, products: np.ndarray, least: np.ndarray) -> np.ndarray:
        """The places in the flat products of those that are at least ``least``. They are rare: eight are looked at together."""
        mask = np.greater_equal(products, least, out=self.mask[: products.size].reshape(products.shape)).ravel()
        whole = mask.size & ~7
        eights = np.flatnonzero(mask[:whole].view(np.uint64) != 0)
        near = (eights[:, None] * 8 + np.arange(8)).ravel()
        near = near[mask[near]]
        return near if whole == mask.size else np.concatenate([near, whole + np.flatnonzero(mask[whole:])])


class Tiles:
    """A search by tiles for the m candidates of each query.

    Where all members are searched for, queries and members are the same operand, and no row is its own neighbour. Where
    queries are others, ``itself`` is the place of each query among the members, -1 where it is none of them.
    """

    def __init__(self, queries: Operand, members: Operand, m: int, itself: np.ndarray | None = None):
        self.queries, self.members, self.m, self.itself = queries, members, m, itself
        self.n_threads, self.is_symmetric = min(blas_threads(), MOST_THREADS), queries is members
        size, together = tile_rows(self.n_threads, queries), 2 * self.n_threads
        others = size if self.is_symmetric else 2 * size
        self.parts, self.others = _parts(queries.n, size, together), _parts(members.n, others, together)
        self.room = Room(size, others, queries.width, queries.dtype)
        self.found = [Found(part, m, queries.dtype) for part in self.parts]
        self.bounds: Operand | None = None  # what screens pairs before their distances are found

    def run(self) -> tuple[np.ndarray, np.ndarray]:
        """The candidates as places of members, -1 for none, and half a squared distance that all others exceed."""
        with Progress("searching", self.queries.n) as progress, threads(self.n_threads) as each:
            if self.is_symmetric:
                self._tournament(progress, each)
            else:
                for i in range(0, len(self.parts), self.n_threads):
                    some = range(i, min(i + self.n_threads, len(self.parts)))
                    each(self._with_all, some)
                    progress(self.parts[some[-1]].stop)
        places = np.concatenate([found.places for found in self.found])
        beyond = np.concatenate([found.distances[:, -1] for found in self.found]).astype(np.float64)
        return places, beyond - self.queries.rounding(slice(None), beyond)

    def are_coarse(self) -> bool:
        """Whether rounding exceeds a small share of the distance for most rows, judged by a few tiles."""
        few = range(0, len(self.parts), max(1, len(self.parts) // 4))
        with threadpool_limits(1, user_api="blas"):
            for i in few:
                self._collect(self._products(i, i if self.is_symmetric else 0), i, i if self.is_symmetric else 0)
        for i in few:
            self.found[i].settle()
        d = np.concatenate([self.found[i].distances[:, -1] for i in few]).astype(np.float64)
        rounding = np.concatenate([self.queries.rounding(self.parts[i], np.zeros(1)) for i in few])
        self.found = [Found(part, self.m, self.queries.dtype) for part in self.parts]
        return bool(np.mean(rounding > COARSE_SHARE * d) > 0.05)

    def _tournament(self, progress: Callable[[int], None], each: Callable) -> None:
        """Compare every tile with itself first, which gives thresholds, and then with every other tile."""
        n, done = len(self.parts), 0
        each(lambda i: self._collect(self._products(i, i), i, i), range(n))
        screens = self.bounds is not None and self._screens_well(self.bounds)
        for pairs in _rounds(n):
            each(self._screened if screens else self._both, pairs)
            done += len(pairs)
            progress(int(self.queries.n * done / max(1, n * (n - 1) // 2)))
        each(Found.settle, self.found)

    def _with_all(self, i: int) -> None:
        for j in range(len(self.others)):
            self._collect(self._products(i, j), i, j)
        self.found[i].settle()

    def _products(self, i: int, j: int) -> np.ndarray:
        """Minus half the squared distances of the rows of two tiles; minus infinity from a row to itself."""
        a, b = self.parts[i], self.others[j]
        products = self.room.products(self.queries, a, self.members, b)
        self.queries.add_rest(products, a, self.members, b)
        if self.is_symmetric and i == j:
            np.fill_diagonal(products, -np.inf)
        if self.itself is not None:
            places = self.itself[a] - b.start
            inside = np.flatnonzero((places >= 0) & (places < b.stop - b.start))
            products[inside, places[inside]] = -np.inf
        return products

    def _collect(self, products: np.ndarray, i: int, j: int) -> None:
        """Collect candidates for the rows of tile i. The first time, some of the products give the thresholds."""
        found = self.found[i]
        found.start(products)
        flat = self.room.reaching(products, found.least[:, None])
        rows, cols = np.divmod(flat, products.shape[1])
        found.add(rows, cols + self.others[j].start, -products.ravel()[flat])

    def _both(self, pair: tuple[int, int]) -> None:
        """Collect candidates for the rows of both tiles of a pair."""
        i, j = pair
        products, found = self._products(i, j), self.found[j]
        self._collect(products, i, j)
        found.start(products.T)
        flat = self.room.reaching(products, found.least)
        rows, cols = np.divmod(flat, products.shape[1])
        order = np.argsort(cols.astype(np.uint16), kind="stable")
        flat, rows, cols = flat[order], rows[order], cols[order]
        found.add(cols, rows + self.parts[i].start, -products.ravel()[flat])

    def _screened(self, pair: tuple[int, int]) -> None:
        """As :meth:`_both`, but the products are those of bounds, and distances are found one by one for the pairs that pass."""
        bounds, kept, half, (a, b) = self.bounds, self.queries.kept, self.queries.half, (self.parts[i] for i in pair)
        assert bounds is not None
        assert kept is not None
        products = self.room.products(bounds, a, bounds, b)
        least = [found.least - self._slack(found) for found in (self.found[pair[0]], self.found[pair[1]])]
        first = self.room.reaching(products, least[0][:, None])
        near = np.union1d(first, self.room.reaching(products, least[1]))
        rows, cols = np.divmod(near, b.stop - b.start)
        i, j = rows + a.start, cols + b.start
        exact = np.empty(rows.size, kept.dtype)
        for part in row_blocks(rows.size, 4 * self.queries.width):
            exact[part] = np.einsum("ij,ij->i", kept[i[part], :-2], kept[j[part], :-2])
        exact -= (half[i] + half[j]).astype(kept.dtype)
        for place, own, other in ((pair[0], rows, j), (pair[1], cols, i)):
            found = self.found[place]
            some = np.flatnonzero(exact >= found.least[own])
            found.add(own[some], other[some], -exact[some])

    def _slack(self, found: Found) -> np.ndarray:
        """By how much the rounding of bounds may hide a candidate."""
        rounding = self.queries.rounding(found.part, -found.least.astype(np.float64))
        return (2 * rounding).astype(found.least.dtype)

    def _screens_well(self, bounds: Operand) -> bool:
        """Whether bounds, tried on a few tiles, leave so few pairs that finding these distances is faster than all products."""
        n, d, passed = len(self.parts), self.queries.width, []
        for i, j in np.random.RandomState(0).randint(n, size=(BOUND_TRIALS, 2)):
            products = self.room.products(bounds, self.parts[i], bounds, self.parts[j])
            passed.append(np.mean(products >= self.found[i].least[:, None]) + np.mean(products >= self.found[j].least))
        return bool(np.mean(passed) * (PAIR_COST + PAIR_COST_COLUMN * d) + bounds.width < BOUND_WORTH * d)


def tile_rows(n_threads: int, operand: Operand) -> int:
    """How many rows a tile has: more of many rows, on many threads, and fewer where the products would take much memory."""
    size, each = TILE_ROWS, operand.dtype.itemsize + 1
    for _ in range(2 if n_threads >= MANY_THREADS else 1):
        size *= 2 if operand.n >= 2 * size * MANY_TILES else 1
    while size > 64 and n_threads * size * (size + 2 * operand.width) * each > _memory():
        size //= 2
    return size


def _directions(operand: Operand) -> np.ndarray:
    """The leading principal directions of the rows, one direction per column."""
    moved = operand.times(np.eye(operand.d))
    moved -= moved.mean(axis=0)
    return np.linalg.eigh(moved.T @ moved)[1][:, : -BOUND_COLUMNS - 1 : -1]


def _arranged(coordinates: np.ndarray) -> np.ndarray:
    """An order in which near rows stand close together: strips along the first direction, each sorted along the second."""
    n = len(coordinates)
    strips = max(1, round(np.sqrt(n / TILE_ROWS)))
    rank = np.empty(n, dtype=np.intp)
    rank[np.argsort(coordinates[:, 0], kind="stable")] = np.arange(n)
    return np.lexsort((coordinates[:, 1], rank * strips // n))


def _parts(n: int, size: int, multiple: int) -> list[slice]:
    """Slices of about equal size. Where there are many, each round of pairs of them keeps all threads busy."""
    count = -(-n // size)
    if count > multiple:
        count = -(-count // multiple) * multiple
    cuts = np.linspace(0, n, count + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(cuts)]


def _rounds(n: int) -> Iterator[list[tuple[int, int]]]:
    """All pairs of n players, in rounds in which nobody plays twice: the first player stays, and the others rotate."""
    even = n + n % 2
    ring = np.arange(1, even)
    for _ in range(even - 1):
        table = np.concatenate([[0], ring])
        pairs = np.column_stack([table[: even // 2], table[::-1][: even // 2]])
        yield [(int(i), int(j)) for i, j in np.sort(pairs[(pairs < n).all(axis=1)], axis=1)]
        ring = np.roll(ring, 1)


def blas_threads() -> int:
    """How many threads matrix products may use now: all cores, or one in a process among many."""
    return max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)


@contextmanager
def threads(n: int) -> Iterator[Callable[[Callable[[Any], Any], Iterable], Any]]:
    """A function that calls another one for each of some things, on n threads, each of which has one BLAS thread."""
    if n == 1:
        yield lambda function, things: list(map(function, things))
        return
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(n) as pool:
        yield lambda function, things: list(pool.map(function, things))
