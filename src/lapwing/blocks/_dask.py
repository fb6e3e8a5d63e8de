"""Dask arrays: one task per block, on the scheduler that dask uses, with results joined as a tree.

A worker may die at any time, and what it held is then computed again from the graph. So everything that tasks read is in the
graph, and no task changes what it is given.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .._extras import Progress, require
from ._sources import Block, Blocks, checked, float_dtype, joined, taken

FAN_IN = 4  # this many results are joined at a time, and so are in memory together


class DaskBlocks(Blocks):
    """A dask array of two dimensions; its blocks of rows are the blocks."""

    def __init__(self, array: Any):
        if not isinstance(array, require("dask.array", "dask").Array):
            kind = type(array).__name__
            raise TypeError(f"X is a dask {kind}; pass a dask array, for example X.to_dask_array(lengths=True)")
        if np.isnan(array.shape).any():
            raise ValueError(f"X has blocks of unknown size, shape {array.shape}; call X.compute_chunk_sizes() first")
        # Whole rows in each block, and no empty blocks. With the other method everything starts again when a worker dies.
        sizes = tuple(filter(None, array.chunks[0])) or (0,)
        self._array = array.rechunk({0: sizes, 1: -1}, method="tasks")
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), float_dtype(array.dtype)
        self._sizes, self._starts = sizes, np.cumsum([0, *sizes])

    def labels(self, y: Any) -> Any:
        return y.compute() if hasattr(y, "compute") else y

    def each(self, function: Callable[[int, Block], list], doing: str) -> list:
        """One task per block, and tasks that join results a few at a time."""
        results, join = self._results(function, range(len(self._sizes))), require("dask", "dask").delayed(joined)
        while len(results) > 1:
            results = [join(results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)]
        return computed(results, doing)[0]

    def take(self, rows: np.ndarray) -> Block:
        """Some rows, given by ascending numbers. Each goes straight from its block to this process."""
        holding = np.unique(np.searchsorted(self._starts, rows, side="right") - 1)
        found = computed(self._results(partial(taken, rows), holding), "reading rows")
        return np.concatenate([block for ((block,),) in found])

    def projected(self, project: Callable[[Block], Block], n_out: int) -> Any:
        """The rows under a map, as a dask array that is not computed yet. Later changes of the map do not matter."""
        meta, chunks = project(np.zeros((1, self.shape[1]), self.dtype))[:0], (self._sizes, (n_out,))
        return self._array.map_blocks(_projected, sent(project), self.dtype, chunks=chunks, meta=meta)

    def _results(self, function: Callable[[int, Block], list], which: Iterable[int]) -> list[Any]:
        """The tasks of these blocks."""
        task, function = require("dask", "dask").delayed(_result, pure=False), sent(function)
        blocks, width = self._array.to_delayed().ravel(), self.shape[1]
        places = [(int(i), int(self._starts[i]), (self._sizes[i], width)) for i in which]
        return [task(blocks[place[0]], place, self.dtype, function) for place in places]


def sent(thing: Any) -> Any:
    """A thing as it is now, as a task of its own. A worker receives it once, and not with each task that reads it."""
    stored = require("cloudpickle", "dask").dumps(thing)  # with functions and classes of the user's script
    return require("dask", "dask").delayed(pickle.loads, pure=False)(stored)


def computed(tasks: list, doing: str) -> list:
    """The results of tasks. On this machine blocks share the cores, so that each has one BLAS thread."""
    done = count(1)
    with (
        Progress(doing, None, "tasks") as progress,
        require("dask.callbacks", "dask").Callback(posttask=lambda *_: progress(next(done))),
        threadpool_limits(1, user_api="blas"),
    ):
        return list(require("dask", "dask").compute(*tasks))


# The functions that workers run.


def _result(block: Any, place: tuple[int, int, tuple], dtype: np.dtype, function: Callable) -> list:
    return function(place[1], checked(block, *place, dtype))


def _projected(block: Any, project: Callable[[Block], Block], dtype: np.dtype, block_info: Any = None) -> Block:
    own = block_info[0]
    (start, stop), (left, right) = own["array-location"]
    return project(checked(block, own["chunk-location"][0], start, (stop - start, right - left), dtype))
