"""Arrays on disk: memory maps, dense and sparse, and Zarr."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ._blocks import Block, Blocks, block_rows, float_dtype


class ArrayBlocks(Blocks):
    """A two-dimensional array that is sliced by rows: numpy.memmap or zarr.Array."""

    def __init__(self, array: Any):
        if array.ndim != 2:
            raise ValueError(
                f"X has {array.ndim} dimensions, shape {tuple(array.shape)}; it must have two: rows and features"
            )
        if np.dtype(array.dtype).kind not in "fiub":
            raise ValueError(f"X holds {array.dtype}, not numbers; convert it first")
        self._array = array
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = float_dtype(array.dtype)

    def _read(self) -> Iterator[Block]:
        step = block_rows(self.shape[1], self._array.dtype.itemsize)
        chunk = getattr(self._array, "chunks", (1,))[0]
        step = max(chunk, step // chunk * chunk)  # a compressed chunk is read whole
        for start in range(0, self.shape[0], step):
            yield np.array(self._array[start : start + step])
            _release(self._array)

    def take(self, rows: np.ndarray) -> Block:
        if not isinstance(self._array, np.memmap):
            return super().take(rows)
        found = np.array(self._array[rows], dtype=self.dtype)
        _release(self._array)
        return found


class SparseBlocks(Blocks):
    """A CSR matrix whose arrays are memory maps."""

    is_sparse = True

    def __init__(self, matrix: Any):
        if matrix.format != "csr":
            raise ValueError(f"X is a sparse matrix on disk in {matrix.format} format; store it as CSR")
        self._matrix = matrix
        self.shape = matrix.shape
        self.dtype = float_dtype(matrix.dtype)

    def _read(self) -> Iterator[Block]:
        M = self._matrix
        per_row = max(1, M.indptr[-1] // max(1, self.shape[0]))
        step = block_rows(int(per_row), M.data.itemsize + M.indices.itemsize)
        for start in range(0, self.shape[0], step):
            pointers = np.array(M.indptr[start : start + step + 1])
            part = slice(pointers[0], pointers[-1])
            data, indices = np.array(M.data[part]), np.array(M.indices[part])
            yield sparse.csr_array((data, indices, pointers - pointers[0]), shape=(pointers.size - 1, self.shape[1]))
            _release(M.data)
            _release(M.indices)


def _release(array: Any) -> None:
    """Let go of the pages that were read: they would count as memory of this process until others need it."""
    if getattr(array, "mode", "c") == "c":  # no file, or one whose changes are in these pages alone
        return
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        array.madvise(mmap.MADV_DONTNEED)


class HeldBlocks(Blocks):
    """Rows in memory, as one block."""

    def __init__(self, X: Block):
        self._rows = X
        self.shape, self.dtype, self.is_sparse = X.shape, X.dtype, sparse.issparse(X)

    def _read(self) -> Iterator[Block]:
        yield self._rows
