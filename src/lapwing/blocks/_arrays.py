"""Arrays on disk: memory maps, dense and sparse, and Zarr."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from ._blocks import Block, Blocks, block_rows, float_dtype, mapping_of, working_memory


class ArrayBlocks(Blocks):
    """A two-dimensional array that is sliced by rows: numpy.memmap or zarr.Array."""

    def __init__(self, array: Any):
        if not hasattr(array, "ndim"):
            raise TypeError(f"X is a {type(array).__module__} {type(array).__name__}; pass an array of two dimensions")
        if array.ndim != 2:
            raise ValueError(
                f"X has {array.ndim} dimensions, shape {tuple(array.shape)}; it must have two: rows and features"
            )
        if np.dtype(array.dtype).kind not in "fiub":
            raise ValueError(f"X holds {array.dtype}, not numbers; convert it first")
        self._array, self.is_array = array, isinstance(array, np.memmap)
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = float_dtype(array.dtype)

    def _read(self) -> Iterator[Block]:
        step = self._step()
        for start in range(0, self.shape[0], step):
            yield np.array(self._array[start : start + step])
            _release(self._array)

    def _step(self) -> int:
        """Rows per block.

        Compressed chunks are read whole, so a block holds whole chunks, unless one chunk is too large for memory.
        """
        # The larger of the type on disk and the type it is converted to.
        itemsize = max(self._array.dtype.itemsize, self.dtype.itemsize)
        step, chunk = block_rows(self.shape[1], itemsize), getattr(self._array, "chunks", (1,))[0]
        fits = 2 * chunk * self.shape[1] * itemsize <= working_memory()
        return max(chunk, step // chunk * chunk) if fits else step


class SparseBlocks(Blocks):
    """A CSR matrix whose arrays are memory maps."""

    is_sparse = True
    is_array = True

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
    """Let go of the pages that were read, which would count as memory of this process until others need it.

    Pages that may be changed and belong to no file are kept, since the changes are in the pages only.
    """
    mapping = mapping_of(array)
    if mapping is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    with memoryview(mapping) as pages:
        is_backed = pages.readonly or getattr(array, "mode", "c") in ("r+", "w+")
    if is_backed:
        mapping.madvise(mmap.MADV_DONTNEED)


class HeldBlocks(Blocks):
    """Rows in memory, as one block."""

    def __init__(self, X: Block):
        self._rows = X
        self.shape, self.dtype, self.is_sparse = X.shape, X.dtype, sparse.issparse(X)

    def _read(self) -> Iterator[Block]:
        yield self._rows
