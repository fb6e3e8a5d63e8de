"""Dask arrays: a task a block, on whatever scheduler is there, and results joined as a tree."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._extras import require
from ._blocks import Block, Blocks, Fold, checked, float_dtype, stacked, taking
from ._progress import Progress

FAN_IN = 8  # results that are joined at a time


class DaskBlocks(Blocks):
    """A dask array of two dimensions; its blocks of rows are the blocks."""

    is_distributed = True

    def __init__(self, array: Any):
        if not hasattr(array, "chunks"):
            raise TypeError(
                f"X is a dask {type(array).__name__}; pass a dask array, for example X.to_dask_array(lengths=True)"
            )
        if array.ndim != 2:
            raise ValueError(f"X has {array.ndim} dimensions, shape {array.shape}; it must have two: rows and features")
        if np.isnan(array.shape).any():
            raise ValueError(f"X has blocks of unknown size, shape {array.shape}; call X.compute_chunk_sizes() first")
        self._array = array.rechunk({1: -1})  # a row is never split
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = float_dtype(array.dtype)
        self.is_sparse = sparse.issparse(array._meta)
        self._starts = np.concatenate([[0], np.cumsum(self._array.chunks[0])])

    def _read(self) -> Iterator[Block]:
        for block in self._array.to_delayed().ravel():
            yield block.compute()

    def labels(self, y: Any) -> Any:
        return y.compute() if hasattr(y, "compute") else y

    def fold(self, fold: Fold, doing: str) -> Any:
        delayed = require("dask", "dask").delayed
        fold = delayed(fold, pure=False)  # sent once, not with every task
        results = [
            delayed(_folded, pure=False)(
                fold, block, i, int(self._starts[i]), self._sizes(i), self.shape, str(self.dtype)
            )
            for i, block in enumerate(self._array.to_delayed().ravel())
        ]
        while len(results) > 1:
            results = [
                delayed(_merged, pure=False)(fold, results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)
            ]
        with warnings.catch_warnings(), Progress(doing, self.shape[0]) as progress:
            warnings.filterwarnings(
                "ignore", "Sending large graph", UserWarning
            )  # the rows that all blocks are searched for
            return _computed(results[0], progress)

    def projected(self, project: Callable[[Block], np.ndarray], n_out: int) -> Any:
        """The rows under a map, not computed yet."""
        return self._array.map_blocks(
            _projected,
            project,
            self.shape,
            str(self.dtype),
            chunks=(self._array.chunks[0], (n_out,)),
            meta=np.empty((0, n_out), self.dtype),
        )

    def take(self, rows: np.ndarray) -> Block:
        return stacked(self.fold(taking(rows), "reading rows"))

    def _sizes(self, i: int) -> int:
        return int(self._array.chunks[0][i])


def _folded(fold: Fold, block: Any, i: int, start: int, n_rows: int, shape: tuple[int, int], dtype: str) -> Any:
    """One block's part, on a worker."""
    block = checked(block, i, start, shape, np.dtype(dtype))
    if block.shape[0] != n_rows:
        raise ValueError(
            f"block {i} of X (from row {start:,}) has {block.shape[0]} rows, but {n_rows} were announced; mend it"
        )
    return fold.step(fold.start(), block, start)


def _projected(block: Any, project: Callable, shape: tuple[int, int], dtype: str, block_info: Any = None) -> np.ndarray:
    """The block under the map, on a worker."""
    place = block_info[0]
    i, start = place["chunk-location"][0], place["array-location"][0][0]
    return project(checked(block, i, start, shape, np.dtype(dtype)))


def _merged(fold: Fold, results: list) -> Any:
    first, *rest = results
    for other in rest:
        first = fold.merge(first, other)
    return first


def _computed(result: Any, progress: Progress) -> Any:
    return result.compute()
