"""Dask arrays: one task per block, on the scheduler that dask uses, with results joined as a tree.

A worker may die at any time, and what it held is then computed again from the graph. So everything that tasks read is in the
graph, and nothing is scattered. No task changes what it is given, since another task may have to read it again. Results that
are to be joined are therefore kept as bytes. Dask knows the size of these, and uses it to decide where to join them.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterable
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from .._extras import Progress, require
from ._sources import Block, Blocks, checked, float_dtype, joined, stacked, taken

FAN_IN = 4  # this many results are joined at a time, and so are in memory together
HEAD = 1000  # this many rows of the first block are looked at, where the array does not say whether it is sparse


class Place(NamedTuple):
    """What is known of a block before it is read: its number, its first row, and the rows and columns that it should have."""

    number: int
    start: int
    shape: tuple[int, int]

    def __str__(self) -> str:
        return f"block {self.number} of X (from row {self.start:,})"


class DaskBlocks(Blocks):
    """A dask array of two dimensions; its blocks of rows are the blocks."""

    is_local = False

    def __init__(self, array: Any):
        if not isinstance(array, require("dask.array", "dask").Array):
            raise TypeError(
                f"X is a dask {type(array).__name__}; pass a dask array, for example X.to_dask_array(lengths=True)"
            )
        if array.ndim != 2:
            raise ValueError(f"X has {array.ndim} dimensions, shape {array.shape}; it must have two: rows and features")
        if np.isnan(array.shape).any():
            raise ValueError(f"X has blocks of unknown size, shape {array.shape}; call X.compute_chunk_sizes() first")
        self._array = _whole_rows(array)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = float_dtype(array.dtype)
        self._sizes = self._array.chunks[0]
        self._starts = np.cumsum([0, *self._sizes])

    @cached_property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """Whether blocks are sparse. Where the array does not say so, its first rows are looked at."""
        return sparse.issparse(self._array._meta) or sparse.issparse(self.take(np.arange(min(HEAD, self._sizes[0]))))

    def labels(self, y: Any) -> Any:
        return y.compute() if hasattr(y, "compute") else y

    def each(self, function: Callable[[int, Block], list], doing: str) -> list:
        """One task per block, and tasks that join results a few at a time."""
        parts = results = self._parts(result_of_block, range(len(self._sizes)), _sent(function), self.is_sparse)
        task = require("dask", "dask").delayed(joined_results, pure=False)
        while len(results) > 1:
            results = [task(results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)]
        return pickle.loads(_computed(results, parts, self._sizes, doing)[0])

    def take(self, rows: np.ndarray) -> Block:
        """Some rows, given by ascending numbers. Each goes straight from its block to this process."""
        holding = np.unique(np.searchsorted(self._starts, rows, side="right") - 1)
        parts = self._parts(rows_of_block, holding, _sent(rows))
        found = _computed(parts, parts, [self._sizes[i] for i in holding], "reading rows")
        return stacked([rows for ((rows,),) in found])

    def load(self) -> Block:
        return self.take(np.arange(self.shape[0]))

    def projected(self, project: Callable[[Block], Block], n_out: int) -> Any:
        """The rows under a map, as a dask array that is not computed yet. Later changes of the map do not matter."""
        kind = sparse.csr_array if sparse.issparse(self._array._meta) else np.zeros
        meta = project(kind((1, self.shape[1]), dtype=self.dtype))[:0]
        chunks = (self._sizes, (n_out,))
        return self._array.map_blocks(_projected, _sent(project), self.dtype, chunks=chunks, meta=meta)

    def _parts(self, function: Callable, which: Iterable[int], *args: Any) -> list[Any]:
        """The tasks of these blocks."""
        task = require("dask", "dask").delayed(function, pure=False)
        blocks, width = self._array.to_delayed().ravel(), self.shape[1]
        places = [Place(int(i), int(self._starts[i]), (self._sizes[i], width)) for i in which]
        return [task(blocks[place.number], place, self.dtype, *args) for place in places]


# The functions that workers run.


def result_of_block(block: Any, place: Place, dtype: np.dtype, function: Callable, is_sparse: bool) -> bytes:
    if sparse.issparse(block) != is_sparse:
        kinds = ("sparse", "dense") if is_sparse else ("dense", "sparse")
        raise ValueError(f"{place} is {kinds[1]}, but the first is {kinds[0]}; make all blocks alike")
    return _dumps(function(place.start, _checked(block, place, dtype)))


def joined_results(results: list[bytes]) -> bytes:
    return _dumps(reduce(joined, map(pickle.loads, results)))


def rows_of_block(block: Any, place: Place, dtype: np.dtype, rows: np.ndarray) -> list:
    return taken(rows, place.start, _checked(block, place, dtype))


def _dumps(thing: Any) -> bytes:
    """A thing as bytes, which may include functions and classes of the user's script."""
    return require("cloudpickle", "dask").dumps(thing)


def _sent(thing: Any) -> Any:
    """A thing as it is now, as a task of its own. A worker receives it once, and not with each task that reads it."""
    return require("dask", "dask").delayed(pickle.loads, pure=False)(_dumps(thing))


def _whole_rows(array: Any) -> Any:
    """The array without empty blocks, and with whole rows in each block.

    Parts of rows are checked before they are joined, since afterwards nobody knows which part was wrong.
    """
    if array.numblocks[1] > 1:
        array = array.map_blocks(_part_of_rows, dtype=array.dtype, meta=array._meta)
    rows = tuple(filter(None, array.chunks[0])) or (0,)
    # With the other method everything starts again when a worker dies.
    return array.rechunk({0: rows, 1: -1}, method="tasks")


def _part_of_rows(block: Any, block_info: Any = None) -> Any:
    _require_shape(block, _place(block_info))
    return block


def _projected(block: Any, project: Callable[[Block], Block], dtype: np.dtype, block_info: Any = None) -> Block:
    return project(_checked(block, _place(block_info), dtype))


def _place(block_info: Any) -> Place:
    own = block_info[0]
    (start, stop), (left, right) = own["array-location"]
    return Place(own["chunk-location"][0], start, (stop - start, right - left))


def _checked(block: Any, place: Place, dtype: np.dtype) -> Block:
    block = checked(block, str(place), place.start, place.shape[1], dtype)
    _require_shape(block, place)
    return block


def _require_shape(block: Any, place: Place) -> None:
    if block.shape != place.shape:
        raise ValueError(f"{place} has shape {block.shape}, but {place.shape} was announced; mend or drop that block")


def _computed(wanted: list, parts: list, sizes: Iterable[int], doing: str) -> list:
    """The results of the wanted tasks. Progress is shown for the parts, which have these sizes."""
    rows = {part.key: size for part, size in zip(parts, sizes, strict=True)}
    with warnings.catch_warnings(), Progress(doing, sum(rows.values())) as progress:
        # The rows that are searched for are in the graph.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        get = require("dask.base", "dask").get_scheduler(collections=wanted)
        client = getattr(get, "__self__", None)  # of the cluster that dask would compute on
        if hasattr(client, "compute"):
            return _on_cluster(client, wanted, parts, rows, progress)
        return _here(wanted, rows, progress)


def _here(wanted: list, rows: dict[Any, int], progress: Progress) -> list:
    """Compute in this process or its children, where blocks share the cores, so that each has one BLAS thread."""
    done = 0

    def count(key: Any, *state: Any) -> None:
        nonlocal done
        if key in rows:
            done += rows[key]
            progress(done)

    with require("dask.callbacks", "dask").Callback(posttask=count), threadpool_limits(1, user_api="blas"):
        return list(require("dask", "dask").compute(*wanted))


def _on_cluster(client: Any, wanted: list, parts: list, rows: dict[Any, int], progress: Progress) -> list:
    """Compute on a cluster. Parts are let go when they are done; the cluster keeps them as long as a join needs them.

    On an error all others are let go as well.
    """
    futures = client.compute([*wanted, *parts])  # as one graph, so that what tasks share is sent once
    results, marks, done = futures[: len(wanted)], futures[len(wanted) :], 0
    kept = {future.key for future in results}
    try:
        for mark in require("distributed", "dask").as_completed(marks):
            if mark.status == "error":
                mark.result()  # raises at once, since the other blocks would be computed in vain
            done += rows[mark.key]
            progress(done)
            if mark.key not in kept:
                mark.release()
        return client.gather(results)
    finally:
        for future in futures:
            future.release()
