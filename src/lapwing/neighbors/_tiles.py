"""The nearest rows of all rows, or of some, from products of tiles, which are groups of consecutive rows.

The product of two tiles serves the rows of both. Every row has a threshold, which is its m-th distance so far, so that one
comparison leaves only a few candidates in a tile. Tiles meet as the players of a tournament do: in each round no tile occurs
twice. So threads need no locks, and the result does not depend on how many there are. Products are in float32 where that is
precise enough. They give a proposal, with a lower bound on the distances of all rows that are not in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..blocks import Progress, working_memory
from ..operators import row_blocks
from ..rows import lengths
from ._products import Threads

TILE = 512  # rows per tile: the products of two tiles stay in the cache
FIRST = 256  # This many rows are compared in full. They give a first k-th distance, by which later tiles are screened.
SPARE = 3  # candidates kept beyond k; a row whose k nearest these do not settle is searched for again
COARSE = 0.02  # Products are in float32 where their rounding, for most rows, is at most this share of a distance.
# A column is multiplied as a dense one where at least this share of the sparse rows has an entry in it (measured to be
# faster).
FREQUENT = 0.05
EIGHT = 8  # the number of tiles is a multiple of this, so that each round of pairs of tiles keeps all threads busy
# The cost of finding the distance of one pair alone, in columns of a product: a fixed part, and a part per column (measured).
PAIR_COST, PAIR_COST_COLUMN = 2000, 15
TRIALS = 6  # bounds are tried on this many pairs of tiles, to see how many pairs of rows they leave
WORTH = 0.7  # bounds are used where they cost less than this share of the plain products
POSITION_BITS, ROW_BITS = 21, 11  # bits of the key by which candidates are sorted: row, distance, position


class Proposal(NamedTuple):
    """The candidates of each query, as places of members, -1 for none; and half a squared distance that all others exceed."""

    places: np.ndarray
    beyond: np.ndarray


class Operand:
    """Rows in the form that products take them: moved and scaled to about 1, with half their squared lengths.

    For angles they are unit rows.

    With (x, |x|²/2, 1) on the left and (y, -1, -|y|²/2) on the right, the product is minus half the squared distance.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    rows : ndarray
        Which rows of X are taken, in which order.
    centre, unit : ndarray and float, or norms of X and None
        The centre is subtracted from the rows, which are then multiplied by the unit. For angles, rows are divided by their
        norms.
    dtype
        The type of the products.
    is_right : bool, default=False
        Whether the rows only ever stand on the right of a product.
    """

    def __init__(
        self,
        X: np.ndarray,
        rows: np.ndarray,
        centre: np.ndarray,
        unit: float | None,
        dtype: Any,
        is_right: bool = False,
    ):
        self.X, self.rows, self.centre, self.unit, self.dtype = X, rows, centre, unit, np.dtype(dtype)
        self.is_right = is_right
        self.n, self.width = rows.size, X.shape[1] + 2
        self.half = np.empty(self.n)
        keep = self.n * self.width * self.dtype.itemsize <= working_memory() / 4
        self.kept = np.empty((self.n, self.width), self.dtype) if keep else None
        for part in row_blocks(self.n, 2 * self.width):
            moved = self._moved(part)
            self.half[part] = lengths(moved) ** 2 / 2
            if self.kept is not None:
                self._fill(self.kept[part], moved, part)

    def _moved(self, part: slice) -> np.ndarray:
        rows = self.rows[part]
        consecutive = rows.size == rows[-1] - rows[0] + 1 and (np.diff(rows) == 1).all()
        X = self.X[rows[0] : rows[-1] + 1] if consecutive else self.X[rows]
        if self.unit is None:
            return np.divide(X, self.centre[rows, None], dtype=np.float64).astype(self.dtype, copy=False)
        moved = X - self.centre.astype(X.dtype)
        moved *= X.dtype.type(self.unit)
        return moved.astype(self.dtype, copy=False)

    def _fill(self, out: np.ndarray, moved: np.ndarray, part: slice) -> None:
        out[:, :-2], out[:, -2], out[:, -1] = moved, self.half[part], 1
        if self.is_right:
            out[:, -2], out[:, -1] = -1, -self.half[part]

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """The rows without their lengths, some at a time."""
        for part in row_blocks(self.n, 2 * self.width):
            yield part, self._moved(part) if self.kept is None else self.kept[part, :-2]

    def left(self, part: slice, room: np.ndarray) -> np.ndarray:
        if self.kept is not None:
            return self.kept[part]
        self._fill(out := room[: part.stop - part.start], self._moved(part), part)
        return out

    def right(self, part: slice, room: np.ndarray) -> np.ndarray:
        if self.is_right:
            return self.left(part, room)
        out = room[: part.stop - part.start]
        out[:] = self.left(part, out)
        out[:, -2], out[:, -1] = -1, -self.half[part]
        return out

    def rounding(self, part: slice, distance: np.ndarray) -> np.ndarray:
        return rounding(self.width, self.dtype, self.half[part], distance)

    def add_rest(self, products: np.ndarray, a: slice, other: Any, b: slice) -> None:
        """Add nothing: all columns are dense."""


def rounding(d: int, dtype: np.dtype, half: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """The largest rounding of half the squared distances from rows, for distances up to ``distance``.

    It uses that |y|² is at most twice the sum of |x|² and |x - y|².
    """
    size = np.where(np.isfinite(distance), distance, 0)
    eps, tiny = float(np.finfo(dtype).eps), float(np.finfo(dtype).tiny)
    return 2 * eps * (8 + np.sqrt(d)) * (6 * half + 4 * size) + d * tiny


class SparseOperand:
    """Sparse rows in the form that products take them: columns with many entries are dense, and the others stay sparse.

    Parameters
    ----------
    X : csr_array of shape (n, n_features)
    rows, unit, dtype
        As for :class:`Operand`. Rows are not centred, since that would fill their zeros.
    norms : ndarray or None
        For angles, the lengths that rows are divided by.
    """

    def __init__(self, X: Any, rows: np.ndarray, norms: np.ndarray | None, unit: float, dtype: Any):
        X = X if rows.size == X.shape[0] and (np.diff(rows) == 1).all() else X[rows]
        scale = np.full(rows.size, unit) if norms is None else 1 / norms[rows]
        data = (X.data * np.repeat(scale, np.diff(X.indptr))).astype(dtype)
        X = sparse.csr_array((data, X.indices, X.indptr), X.shape)
        self.n, self.dtype, self.half = X.shape[0], np.dtype(dtype), lengths(X) ** 2 / 2
        self._X = X
        self._rest_of: dict[int, Any] = {}
        self.use(self.frequent(working_memory() / 4))

    def frequent(self, room: float) -> np.ndarray:
        """The columns that are to be dense, but no more of them than there is room for."""
        counts = np.bincount(self._X.indices, minlength=self._X.shape[1])
        most = int(room // (self.n * self.dtype.itemsize))
        found = np.argsort(-counts, kind="stable")[:most]
        return np.sort(found[counts[found] > FREQUENT * self.n])

    def use(self, columns: np.ndarray) -> SparseOperand:
        rare = np.ones(self._X.shape[1], dtype=bool)
        rare[columns] = False
        self.columns, self.width = columns, columns.size + 2
        self.kept = np.empty((self.n, self.width), self.dtype)
        for part in row_blocks(self.n, self.width):
            self.kept[part, :-2] = self._X[part][:, columns].toarray()
        self.kept[:, -2], self.kept[:, -1] = self.half, 1
        self._rest = sparse.csr_array(self._X[:, np.flatnonzero(rare)])
        self._rest_of = {}
        return self

    def left(self, part: slice, room: np.ndarray) -> np.ndarray:
        return self.kept[part]

    def right(self, part: slice, room: np.ndarray) -> np.ndarray:
        out = room[: part.stop - part.start]
        out[:] = self.kept[part]
        out[:, -2], out[:, -1] = -1, -self.half[part]
        return out

    def add_rest(self, products: np.ndarray, a: slice, other: Any, b: slice) -> None:
        """Add what the sparse columns contribute to the products of two tiles."""
        if b.start not in other._rest_of:
            other._rest_of[b.start] = sparse.csr_array(other._rest[b].T)
        products += (self._rest[a] @ other._rest_of[b.start]).toarray()

    def rounding(self, part: slice, distance: np.ndarray) -> np.ndarray:
        return rounding(self._X.shape[1], self.dtype, self.half[part], distance)


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
        some = products[:, : max(FIRST, 4 * self.m)]
        if some.shape[1] > self.m and not (self.least > self.lowest).any():
            least = np.partition(some, some.shape[1] - self.m, axis=1)[:, some.shape[1] - self.m]
            self.least = np.maximum(least, self.lowest)

    def add(self, rows: np.ndarray, places: np.ndarray, distances: np.ndarray) -> None:
        self._new.append((rows, places, distances))
        self._count += rows.size
        if 2 * self._count > self.n * self.m:
            self.settle()

    def settle(self) -> None:
        """Keep the m nearest of the old and the new candidates of each row."""
        if not self._new:
            return
        own = np.repeat(np.arange(self.n), self.m)
        held = own, self.places.ravel(), self.distances.ravel()
        rows, places, distances = map(np.concatenate, zip(held, *self._new, strict=True))
        order = _by_row(rows, np.maximum(distances, 0), self.n)
        counts = np.bincount(rows)
        first = np.cumsum(counts) - counts
        kept = order[first[:, None] + np.arange(self.m)]
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

    def products(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        shape = len(left), len(right)
        return np.matmul(left, right.T, out=self.values[: shape[0] * shape[1]].reshape(shape))

    def reaching(self, products: np.ndarray, least: np.ndarray) -> np.ndarray:
        """The places in the flat products of those that are at least ``least``.

        They are rare, so eight are looked at together.
        """
        mask = np.greater_equal(products, least, out=self.mask[: products.size].reshape(products.shape)).ravel()
        whole = mask.size & ~7
        eights = np.flatnonzero(mask[:whole].view(np.uint64) != 0)
        near = (eights[:, None] * 8 + np.arange(8)).ravel()
        near = near[mask[near]]
        return near if whole == mask.size else np.concatenate([near, whole + np.flatnonzero(mask[whole:])])


class Tiles:
    """A search by tiles.

    Parameters
    ----------
    queries, members : Operand or SparseOperand
        The same object where all members are searched for; then no row is its own neighbour.
    k : int
        How many neighbours each query has.
    itself : ndarray of shape (n_queries,), default=None
        The place of each query among the members, where queries are members.
    classes : tuple of ndarray, default=None
        The classes of queries and of members, both in ascending order, where neighbours must be of the same class (``same``)
        or of another one.
    same : bool, default=True
    """

    def __init__(
        self,
        queries: Operand | SparseOperand,
        members: Operand | SparseOperand,
        k: int,
        itself: np.ndarray | None = None,
        classes: tuple[np.ndarray, np.ndarray] | None = None,
        same: bool = True,
    ):
        self.queries, self.members, self.itself, self.classes, self.same = queries, members, itself, classes, same
        self.m = k + SPARE
        self.threads = Threads()
        self.is_symmetric = queries is members
        size = _tile_size(queries.width, queries.dtype.itemsize, self.threads.count)
        others = size if self.is_symmetric else 2 * size
        self.parts, self.others = _parts(queries.n, size), _parts(members.n, others)
        self.room = Room(size, others, queries.width, queries.dtype)
        self.found = [Found(part, self.m, queries.dtype) for part in self.parts]
        self.bounds: Any = None  # the bounds that screen pairs before their distances are found

    def run(self) -> Proposal:
        with Progress("searching", self.queries.n) as progress, self.threads.running():
            (self._tournament if self.is_symmetric else self._each)(progress)
        places = np.concatenate([found.places for found in self.found])
        beyond = np.concatenate([found.distances[:, -1] for found in self.found]).astype(np.float64)
        beyond -= self.queries.rounding(slice(None), beyond)
        return Proposal(places, beyond)

    def coarse(self) -> bool:
        """Whether rounding exceeds a small share of the distance for most rows, judged by a few tiles."""
        few = range(0, len(self.parts), max(1, len(self.parts) // 4))
        with threadpool_limits(1, user_api="blas"):
            for i in few:
                self._alone(i) if self.is_symmetric else self._meet(i, 0)
        for found in (self.found[i] for i in few):
            found.settle()
        d = np.concatenate([found.distances[:, -1] for found in (self.found[i] for i in few)]).astype(np.float64)
        rounding = np.concatenate([self.queries.rounding(self.parts[i], d[:0].sum()) for i in few])
        self.found = [Found(part, self.m, self.queries.dtype) for part in self.parts]
        return bool(np.mean(rounding > COARSE * d) > 0.05)

    def _tournament(self, progress: Callable[[int], None]) -> None:
        """Compare every tile with itself first, which gives thresholds, and then with every other tile."""
        n = len(self.parts)
        self.threads.each(self._alone, range(n))
        screens = self.bounds is not None and self._screens_well()
        total, done = max(1, n * (n - 1) // 2), 0
        for pairs in _rounds(n):
            done += len(pairs)
            self.threads.each(self._screened if screens else self._both, self._allowed(pairs))
            progress(int(self.queries.n * done / total))
        self.threads.each(Found.settle, self.found)

    def _each(self, progress: Callable[[int], None]) -> None:
        """Compare each tile of queries with all members."""
        n = len(self.parts)
        for i in range(0, n, self.threads.count):
            some = range(i, min(i + self.threads.count, n))
            self.threads.each(self._with_all, some)
            progress(self.parts[some[-1]].stop)

    def _with_all(self, i: int) -> None:
        mine = self._allowed(np.column_stack([np.full(len(self.others), i), np.arange(len(self.others))]))
        for _, j in mine:
            self._meet(i, j)
        self.found[i].settle()

    def _allowed(self, pairs: np.ndarray) -> list[tuple[int, int]]:
        """The pairs of tiles that contain pairs of rows to compare."""
        if self.classes is not None:
            a, b = ([(c[part.start], c[part.stop - 1]) for part in parts] for c, parts in self._sides)
            (first, last), (low, high) = np.array(a)[pairs[:, 0]].T, np.array(b)[pairs[:, 1]].T
            keep = (first <= high) & (low <= last) if self.same else ~((first == last) & (low == high) & (first == low))
            pairs = pairs[keep]
        return [(int(i), int(j)) for i, j in pairs]

    @property
    def _sides(self) -> list[tuple[np.ndarray, list[slice]]]:
        assert self.classes is not None
        return list(zip(self.classes, (self.parts, self.others), strict=True))

    def _products(self, i: int, j: int) -> np.ndarray:
        """Minus half the squared distances of the rows of two tiles; minus infinity for pairs that must not be linked."""
        a, b, room = self.parts[i], self.others[j], self.room
        products = room.products(self.queries.left(a, room.left), self.members.right(b, room.right))
        self.queries.add_rest(products, a, self.members, b)
        if self.is_symmetric and i == j:
            np.fill_diagonal(products, -np.inf)
        if self.itself is not None:
            places = self.itself[a] - b.start
            inside = np.flatnonzero((places >= 0) & (places < b.stop - b.start))
            products[inside, places[inside]] = -np.inf
        if self.classes is not None:
            of_a, of_b = self.classes[0][a], self.classes[1][b]
            if not (self.same and of_a[0] == of_b[-1] and of_a[-1] == of_b[0]):
                equal = of_a[:, None] == of_b
                products[~equal if self.same else equal] = -np.inf
        return products

    def _alone(self, i: int) -> None:
        self._collect(self._products(i, i), i, i)

    def _meet(self, i: int, j: int) -> None:
        self._collect(self._products(i, j), i, j)

    def _both(self, pair: tuple[int, int]) -> None:
        i, j = pair
        products = self._products(i, j)
        self._collect(products, i, j)
        found = self.found[j]
        found.start(products.T)
        flat = self.room.reaching(products, found.least)
        rows, cols = np.divmod(flat, products.shape[1])
        order = np.argsort(cols.astype(np.uint16), kind="stable")
        flat, rows, cols = flat[order], rows[order], cols[order]
        found.add(cols, (rows + self.parts[i].start).astype(np.int32), -products.ravel()[flat])

    def _screened(self, pair: tuple[int, int]) -> None:
        """As :meth:`_both`, but the products are those of bounds, and distances are found one by one for the pairs that pass."""
        rows, cols = np.divmod(self._within_bounds(*pair), self.parts[pair[1]].stop - self.parts[pair[1]].start)
        a, b = (self.parts[i] for i in pair)
        half, kept = self.queries.half, self.queries.kept
        assert kept is not None
        i, j = rows + a.start, cols + b.start
        products = np.empty(rows.size, kept.dtype)
        for part in row_blocks(rows.size, 4 * self.queries.width):
            products[part] = np.einsum("ij,ij->i", kept[i[part], :-2], kept[j[part], :-2])
        products -= (half[i] + half[j]).astype(kept.dtype)
        for place, own, other in ((pair[0], rows, j), (pair[1], cols, i)):
            found = self.found[place]
            near = np.flatnonzero(products >= found.least[own])
            found.add(own[near], other[near].astype(np.int32), -products[near])

    def _within_bounds(self, i: int, j: int) -> np.ndarray:
        """The places, in the flat products of two tiles, of pairs whose bound is within the threshold of either row."""
        a, b = self.parts[i], self.parts[j]
        products = self.room.products(self.bounds.left(a), self.bounds.right(b))
        least = [found.least - self._slack(found) for found in (self.found[i], self.found[j])]
        first = self.room.reaching(products, least[0][:, None])
        return np.union1d(first, self.room.reaching(products, least[1]))

    def _slack(self, found: Found) -> np.ndarray:
        """By how much the rounding of bounds may hide a candidate."""
        rounding = self.queries.rounding(found.part, -found.least.astype(np.float64))
        return (2 * rounding).astype(found.least.dtype)

    def _screens_well(self) -> bool:
        """Whether bounds, tried on a few tiles, leave so few pairs that finding these distances is faster than all products."""
        n, d, passed = len(self.parts), self.queries.width, []
        for i, j in np.random.RandomState(0).randint(n, size=(TRIALS, 2)):
            products = self.room.products(self.bounds.left(self.parts[i]), self.bounds.right(self.parts[j]))
            passed.append(np.mean(products >= self.found[i].least[:, None]) + np.mean(products >= self.found[j].least))
        return bool(np.mean(passed) * (PAIR_COST + PAIR_COST_COLUMN * d) + self.bounds.width < WORTH * d)

    def _collect(self, products: np.ndarray, i: int, j: int) -> None:
        """Collect candidates for the rows of tile i. The first time, some of the products give the thresholds."""
        found = self.found[i]
        found.start(products)
        flat = self.room.reaching(products, found.least[:, None])
        rows, cols = np.divmod(flat, products.shape[1])
        found.add(rows, (cols + self.others[j].start).astype(np.int32), -products.ravel()[flat])


def _tile_size(width: int, itemsize: int, n_threads: int) -> int:
    """The number of rows per tile, such that the tiles of all threads take at most a quarter of the working memory."""
    size = TILE
    while size > 64 and n_threads * size * (size + 2 * width) * (itemsize + 1) > working_memory() / 4:
        size //= 2
    return size


def _parts(n: int, size: int) -> list[slice]:
    """Slices of about equal size, whose number is a multiple of eight where there are many."""
    count = -(-n // size)
    if count > EIGHT:
        count = -(-count // EIGHT) * EIGHT
    cuts = np.linspace(0, n, count + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(cuts)]


def _rounds(n: int) -> Iterator[np.ndarray]:
    """All pairs of n players, in rounds in which nobody plays twice: the first player stays, and the others rotate."""
    even = n + n % 2
    ring = np.arange(1, even)
    for _ in range(even - 1):
        table = np.concatenate([[0], ring])
        pairs = np.column_stack([table[: even // 2], table[::-1][: even // 2]])
        yield np.sort(pairs[(pairs < n).all(axis=1)], axis=1)
        ring = np.roll(ring, 1)
