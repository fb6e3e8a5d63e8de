"""Rows that do not fit in memory, read a block at a time: memory maps, Zarr arrays, and dask arrays.

A linear map and a score read the samples only through sums. The sums over links need the rows that are searched for and their
neighbours. The sums over classes need only the count, the mean and the scatter of each class. One pass adds up the rows and
takes those that are searched for, a second one finds their neighbours, and a third one takes these. Then the rows are a Summary.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property, partial, reduce
from importlib import import_module
from operator import add, methodcaller
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import get_config
from threadpoolctl import threadpool_limits

from . import data as memory
from ._extras import Progress, require
from ._validation import check_rows, is_foreign, memory_map
from .data import MOST_ENTRY, ClassSums, Data, as_data, squared_lengths
from .neighbors import Request, choose, sample, search

BLOCK_BYTES = 1 << 25  # bytes per block; larger blocks are not faster (measured)
FAN_IN = 4  # this many results of dask's tasks are joined at a time, and so are in memory together
HELD_SHARE = 0.5  # the rows with links and the sums of products may take this share of the working memory
Block = np.ndarray


def validated(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, fitting: bool = True, least: int | None = None
) -> Data | None:
    """X as rows in blocks; None where X is an array in memory, as a memory map below the working memory is."""
    check_rows(X)
    package, shape = type(X).__module__.partition(".")[0], getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 2:
        raise ValueError(f"X has {len(shape)} dimensions, shape {shape}; it must have two: rows and features")
    if package not in ("dask", "zarr") and not is_on_disk(X):
        return None
    blocks = DaskBlocks(X) if package == "dask" else Blocks(X)
    (n, d), name = blocks.shape, type(estimator).__name__
    if d == 0 or (fitting and n < 2):
        raise ValueError(f"X has {n} samples and {d} features, but 2 samples and 1 feature are the least; pass more")
    if not fitting and d != (expected := estimator.n_features_in_):
        raise ValueError(f"X has {d} features, but {name} is expecting {expected} features as input")
    data = BlockData(blocks, weights=None if sample_weight is None else memory.checked_weights(sample_weight, n))
    data.y = y
    return data


# ---- where rows are read from


class Blocks:
    """Rows of an array that is sliced, numpy.memmap or zarr.Array, in float32 where they are stored so, else in float64."""

    def __init__(self, array: Any):
        self._array = array
        self.array = np.asarray(array) if isinstance(array, np.memmap) else None  # can be used like one in memory
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), float_dtype(array.dtype)

    def each(self, function: Callable[[int, Block], list], doing: str) -> list:
        """One pass: ``function(first row, block)`` is a list of parts per block, which are added up in the order of blocks."""
        # Compressed chunks are read whole, so a block holds whole chunks, unless one chunk is too large for memory.
        (n, d), found = self.shape, list[Any]()
        size = d * max(self._array.dtype.itemsize, self.dtype.itemsize)  # of a row on disk, or converted
        step = max(1, int(min(BLOCK_BYTES, working_memory() // 8) // size))
        chunk = getattr(self._array, "chunks", (1,))[0]
        step = max(chunk, step // chunk * chunk) if 2 * chunk * size <= working_memory() else step
        with Progress(doing, n) as progress:
            for number, start in enumerate(range(0, n, step)):
                rows = np.array(self._array[start : start + step])
                release(self._array)
                block = checked(rows, number, start, (min(step, n - start), d), self.dtype)
                found = joined([found, function(start, block)]) if found else function(start, block)
                progress(start + len(block))
        return found

    def projected(self, project: Callable[[Block], Block], n_out: int) -> Any:
        """The rows under a map of blocks, as an array in memory."""
        return np.concatenate(self.each(lambda _, block: [[project(block)]], "transforming")[0])

    def take(self, rows: np.ndarray) -> Block:
        """Some rows, given by ascending numbers."""
        return np.concatenate(self.each(partial(taken, rows), "reading rows")[0])


class DaskBlocks(Blocks):
    """A dask array: one task per block of rows, on the scheduler that dask uses, with results joined as a tree.

    A worker may die at any time, and what it held is then computed again from the graph. So everything that tasks read is in the
    graph, and no task changes what it is given.
    """

    def __init__(self, array: Any):
        if not isinstance(array, require("dask.array", "dask").Array):
            kind = type(array).__name__
            raise TypeError(f"X is a dask {kind}; pass a dask array, for example X.to_dask_array(lengths=True)")
        if np.isnan(array.shape).any():
            raise ValueError(f"X has blocks of unknown size, shape {array.shape}; call X.compute_chunk_sizes() first")
        super().__init__(array)
        # Whole rows in each block, and no empty blocks. With the other method everything starts again when a worker dies.
        self._sizes = tuple(filter(None, array.chunks[0])) or (0,)
        self._array, self._starts = array.rechunk({0: self._sizes, 1: -1}, method="tasks"), np.cumsum([0, *self._sizes])

    def each(self, function: Callable[[int, Block], list], doing: str) -> list:
        """One task per block, and tasks that join results a few at a time."""
        results, join = self._results(function, range(len(self._sizes))), require("dask", "dask").delayed(joined)
        while len(results) > 1:
            results = [join(results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)]
        return computed(results)[0]

    def take(self, rows: np.ndarray) -> Block:
        """Some rows, given by ascending numbers. Each goes straight from its block to this process."""
        holding = np.unique(np.searchsorted(self._starts, rows, side="right") - 1)
        found = computed(self._results(partial(taken, rows), holding))
        return np.concatenate([block for ((block,),) in found])

    def projected(self, project: Callable[[Block], Block], n_out: int) -> Any:
        """The rows under a map, as a dask array that is not computed yet. Later changes of the map do not matter."""
        meta, chunks = project(np.zeros((1, self.shape[1]), self.dtype))[:0], (self._sizes, (n_out,))
        return self._array.map_blocks(projected_block, sent(project), self.dtype, chunks=chunks, meta=meta)

    def _results(self, function: Callable[[int, Block], list], which: Iterable[int]) -> list[Any]:
        """The tasks of these blocks."""
        task, function = require("dask", "dask").delayed(result, pure=False), sent(function)
        blocks, width = self._array.to_delayed().ravel(), self.shape[1]
        places = [(int(i), int(self._starts[i]), (self._sizes[i], width)) for i in which]
        return [task(blocks[place[0]], place, self.dtype, function) for place in places]


def sent(thing: Any) -> Any:
    """A thing as it is now, as a task of its own. A worker receives it once, and not with each task that reads it."""
    stored = require("cloudpickle", "dask").dumps(thing)  # with functions and classes of the user's script
    return require("dask", "dask").delayed(pickle.loads, pure=False)(stored)


def computed(tasks: list) -> list:
    """The results of tasks. On this machine blocks share the cores, so that each has one BLAS thread."""
    with threadpool_limits(1, user_api="blas"):
        return list(require("dask", "dask").compute(*tasks))


def checked(block: Any, number: int, start: int, shape: tuple, dtype: np.dtype) -> Block:
    """A block of finite numbers that has the shape it should have. Other blocks raise an error that names them."""
    name = f"block {number} of X (from row {start:,})"
    if sparse.issparse(block):
        raise ValueError(f"{name} is sparse; rows in blocks are dense: pass a sparse array in memory, if there is room")
    block = import_module(".device", __package__).host(block) if is_foreign(block) else np.asarray(block)
    if block.shape != shape:
        raise ValueError(f"{name} has shape {block.shape}, but {shape} was announced; mend or drop that block")
    if block.dtype.kind not in "fiub":
        raise ValueError(f"{name} holds {block.dtype}, not numbers; convert it first")
    block = block.astype(dtype, copy=False)
    if not max(-float(block.min(initial=0)), float(block.max(initial=0))) < MOST_ENTRY:  # also where one is NaN
        row = start + int(np.argmin((np.abs(block.astype(np.float64)) < MOST_ENTRY).all(axis=1)))
        raise ValueError(f"{name} contains NaN or infinity (the first in row {row:,}); impute or drop such rows")
    return block


def working_memory() -> int:
    """scikit-learn's ``working_memory`` in bytes, which is what a fit in blocks may hold beyond its result."""
    return int(get_config()["working_memory"] * 2**20)


def float_dtype(dtype: Any) -> np.dtype:
    """float32 for float32 and float16, float64 for the rest."""
    return np.dtype(np.float32 if np.dtype(dtype).name in ("float32", "float16") else np.float64)


def is_on_disk(X: Any) -> bool:
    """Whether X is a memory map, and not a copy of one, that takes more than the working memory."""
    on_disk = isinstance(X, np.memmap) and memory_map(X) is not None
    return on_disk and X.size * float_dtype(X.dtype).itemsize > working_memory()


def release(array: Any) -> None:
    """Let go of the pages that were read, which would count as memory of this process until others need it."""
    mapping = memory_map(array)
    # With mode "c", changes are in the pages alone.
    if mapping is not None and array.mode in ("r", "r+", "w+") and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)


# ---- what is done with them


class BlockData(Data):
    """Rows in blocks, of which one pass finds the sums. :meth:`with_neighbors` makes a :class:`Summary` of them.

    ``codes`` are the classes of the rows, -1 where unknown, or None where nothing reads them. ``requests`` are the neighbours
    that will be asked for, None where that is not known yet; only where there are none, rows may have weights. ``by_class``
    says whether classes may weigh differently, so that each has sums of its own.
    """

    scale: Any = 1  # what columns are divided by; 1 where they are not

    def __init__(
        self, blocks: Blocks, codes: Any = None, weights: Any = None, requests: Any = None, by_class: bool = False
    ):
        super().__init__(blocks, None, weights)
        self.is_ready, self.by_class, self.is_wide = requests is not None, by_class, False
        self.requests = [request.checked(self.n) for request in requests or ()]
        self.requests = [r for i, r in enumerate(self.requests) if r not in self.requests[:i]]
        self.in_blocks = blocks.array is None  # a memory map is an array to default graphs
        self.codes = codes
        if codes is not None:
            self.classes = codes

    def require_room(self, requests: Sequence[Request]) -> None:
        """Raise where the rows with links and the sums of products, which are held, need too much of the working memory."""
        queries = max((min(r.queries or self.n, self.n) for r in requests), default=0)
        rows = sum(min(r.queries or self.n, self.n) * (1 + r.n_neighbors) for r in requests)
        size = rows * self.d * self.dtype.itemsize + 4 * self.d**2 * 8
        if size > HELD_SHARE * working_memory():
            raise ValueError(
                f"queries={queries} and their neighbours, up to {rows:,} rows of {self.d} features, take {size / 2**20:,.0f} "
                "MiB, more than half of scikit-learn's working_memory; use fewer queries or neighbours, or "
                f"sklearn.set_config(working_memory={int(2.1 * size / 2**20) + 1})"
            )

    @cached_property
    def _first(self) -> tuple[ClassSums, np.ndarray, Block]:
        """The sums, and the numbers and rows whose neighbours are asked for."""
        none = ClassSums(self.d, self.by_class, self.dtype, 0 if self.codes is None else int(self.codes.max()) + 1)
        queried = [sample(self.n, request.queries, request.random_state) for request in self.requests]
        numbers = np.unique(np.concatenate([np.empty(0, np.intp), *queried]))
        angles = any(request.metric == "cosine" for request in self.requests)
        sums, rows = self.X.each(partial(added, none, numbers, self.codes, self.weights, angles), "adding up")
        return sums, numbers, np.concatenate(rows)

    @cached_property
    def deviations(self) -> np.ndarray:
        sums = self._first[0]
        size, squares = sums.counts.sum(), np.einsum("kii->i", sums.scatters)
        self.shares, mean = sums.stored / size, sums.counts @ sums.means / size
        variances = (squares + sums.counts @ (sums.means - mean) ** 2) / size
        return np.sqrt(np.where(variances > (1e-15 * mean) ** 2, variances, 0.0))

    def divided(self, scale: np.ndarray) -> BlockData:
        data, (sums, numbers, rows) = copy(self), self._first
        data.deviations = self.deviations / scale
        data.scale, data.is_divided = scale.astype(self.dtype), True
        data._first = sums.divided(scale), numbers, rows / data.scale
        return data

    def with_neighbors(self, requests: Sequence[Request]) -> Data:
        """Search for neighbours among all rows, and hold the rows that have links; the others are summed up.

        The requests are those that it was made with.
        """
        sums, held, Q = self._first
        searches = []
        for request in self.requests:
            own = sample(self.n, request.queries, request.random_state)
            searches.append((request, Q[np.searchsorted(held, own)], own, self.codes))
        tables = self.X.each(partial(nearest, searches, self.scale), "searching") if searches else []
        ends = np.concatenate([held[:0], *(table.cols[np.isfinite(table.d)] for table in tables)])
        others, rows = np.setdiff1d(ends, held), [Q]
        if others.size:
            rows.append(self.X.take(others) / self.scale)
        held = np.concatenate([held, others])
        order, found = np.argsort(held), []
        for (request, _, own, _), (_, cols, d) in zip(searches, tables, strict=True):
            i, j = np.nonzero(np.isfinite(d))
            places = (order[np.searchsorted(held, ends, sorter=order)] for ends in (own[i], cols[i, j]))
            found.append((request, (*places, d[i, j])))
        codes = None if self.codes is None else self.codes[held].astype(np.intp)
        data = sums.summary(codes is not None, rows, codes, found)
        data.is_divided = self.is_divided
        return data

    def project(self, mean: np.ndarray, components: np.ndarray) -> Any:
        return self.apply(methodcaller("project", mean, components), len(components))

    def apply(self, function: Callable[[Data], Any], n_out: int) -> Any:
        return self.X.projected(lambda block: function(as_data(block)), n_out)


class Nearest(NamedTuple):
    """The k nearest rows so far: numbers and distances, a line per query.

    Where a row found itself, or too few, the distance is infinite.
    """

    k: int
    cols: np.ndarray
    d: np.ndarray

    def __add__(self, other: Nearest) -> Nearest:  # type: ignore[override]
        cols, d = np.hstack([self.cols, other.cols]), np.hstack([self.d, other.d])
        return Nearest(self.k, *choose(cols, d, self.k))


# ---- what is done with a block, as a list of parts that are added up; these functions are sent to the workers of a cluster


def joined(results: list[list]) -> list:
    """The sums of the parts of some results."""
    return [reduce(add, parts) for parts in zip(*results, strict=True)]


def taken(rows: np.ndarray, first: int, block: Block) -> list[list[Block]]:
    """The rows of these ascending numbers that a block holds."""
    low, high = np.searchsorted(rows, [first, first + len(block)])
    return [[block[rows[low:high] - first]]]


def added(none: ClassSums, numbers: Any, codes: Any, weights: Any, angles: bool, first: int, block: Block) -> list:
    """The sums over a block, and those of the rows of these ascending numbers that it holds."""
    rows = slice(first, first + len(block))
    if angles and not (squares := squared_lengths(block)).all():
        zero = f"row {first + int(np.argmin(squares)):,} of X"
        raise ValueError(f'metric="cosine" is undefined for zero vectors, and {zero} is one; remove such rows')
    sums = none.take(block, None if codes is None else codes[rows], None if weights is None else weights[rows])
    return [sums, *taken(numbers, first, block)]


def nearest(searches: list[tuple], scale: Any, first: int, block: Block) -> list[Nearest]:
    """The rows of a block that are nearest to the queries of each search.

    A search is the request, the rows that ask, their numbers, and the classes of all rows.
    """
    found, block = [], block if isinstance(scale, int) else block / scale
    for request, Q, own, codes in searches:
        both, q, k = Data(np.concatenate([Q, block])), own.size, request.n_neighbors
        if isinstance(request.search, str):  # "torch"
            both = import_module(".device", __package__).on_first_device(both, request)
        cols, d = np.full((q, k + 1), -1), np.full((q, k + 1), np.inf)
        groups = [(np.arange(q), np.arange(q, both.n))]
        if request.among != "all":
            groups = of_classes(request.among, codes[own], codes[first : first + len(block)])
        for some, members in groups:  # one more than is asked for, since a row may find itself
            _, j, lengths = map(both.host, search(both, request._replace(n_neighbors=k + 1), some, members))
            m = j.size // max(1, some.size)
            cols[some, :m], d[some, :m] = (j - q + first).reshape(some.size, m), lengths.reshape(some.size, m)
        d[cols == own[:, None]] = np.inf
        found.append(Nearest(k, *choose(cols, d, k)))
    return found


def of_classes(among: str, of_queries: np.ndarray, of_rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The queries of each class, and the rows that may be their neighbours, which come after all queries."""
    found = []
    for c in np.unique(of_queries[of_queries >= 0]):
        inside = of_rows == c if among == "same_class" else (of_rows >= 0) & (of_rows != c)
        found.append((np.flatnonzero(of_queries == c), of_queries.size + np.flatnonzero(inside)))
    return found


def result(block: Any, place: tuple[int, int, tuple], dtype: np.dtype, function: Callable) -> list:
    """What a function gives for a block of a dask array, at the place that its task knows."""
    return function(place[1], checked(block, *place, dtype))


def projected_block(block: Any, project: Callable, dtype: np.dtype, block_info: Any = None) -> Block:
    """A block of a dask array under a map."""
    own = block_info[0]
    (start, stop), (left, right) = own["array-location"]
    return project(checked(block, own["chunk-location"][0], start, (stop - start, right - left), dtype))
