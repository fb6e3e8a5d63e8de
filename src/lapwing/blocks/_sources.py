"""Rows that are read in blocks from disk: memory maps, dense and sparse, Zarr arrays, and data sets of pyarrow."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from operator import iadd
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

from .._arrays import is_foreign, memory_map
from .._extras import Progress
from ..data import canonical

BLOCK_BYTES = 1 << 25  # bytes per block; larger blocks are not faster (measured)
Block = Any  # a dense ndarray or a csr_array


class Blocks:
    """Rows in blocks. Subclasses write ``_read()``, which yields the blocks in order.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
        The type that blocks are converted to, float32 or float64.
    feature_names : list of str or None
    """

    shape: tuple[int, int]
    dtype: np.dtype
    feature_names: list[str] | None = None
    is_sparse: bool = False
    array: Any = None  # the same rows as an array that can be used like one in memory, where there is one
    is_local: bool = True  # whether rows are read in this process, so that those that are found need not travel

    def _read(self) -> Iterator[Block]:
        raise NotImplementedError

    def labels(self, y: Any) -> Any:
        """Labels in memory, from what was passed as y."""
        return y

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        """The number of the first row of each block, and the block, checked and converted."""
        start = 0
        for i, block in enumerate(self._read()):
            block = checked(block, f"block {i} of X (from row {start:,})", start, self.shape[1], self.dtype)
            self._require_rows(start + block.shape[0] <= self.shape[0])
            yield start, block
            start += block.shape[0]
        self._require_rows(start == self.shape[0])

    def _require_rows(self, as_announced: bool) -> None:
        if not as_announced:
            raise ValueError(f"X has not the {self.shape[0]:,} rows it had at first; was it changed while it was read?")

    def each(self, function: Callable[[int, Block], list], doing: str) -> list:
        """One pass: ``function(first row, block)`` is a list of parts per block, which are added up in the order of blocks.

        They may be added up in place.
        """
        found: list = []
        with Progress(doing, self.shape[0]) as progress:
            for first, block in self:
                found = joined(found, function(first, block))
                progress(first + block.shape[0])
        return found

    def projected(self, project: Callable[[Block], Any], n_out: int) -> Any:
        """The rows under a map of blocks, as an array in memory."""
        found: Any = [] if self.is_sparse else np.empty((self.shape[0], n_out), self.dtype)
        with Progress("transforming", self.shape[0]) as progress:
            for first, block in self:
                if self.is_sparse:  # a choice of columns is sparse, and coordinates are dense
                    found.append(project(block))
                else:
                    found[first : first + block.shape[0]] = project(block)
                progress(first + block.shape[0])
        return stacked(found) if self.is_sparse else found

    def take(self, rows: np.ndarray) -> Block:
        """Some rows, given by ascending numbers."""
        return stacked(self.each(partial(taken, rows), "reading rows")[0])

    def min(self) -> float:
        """The least number."""
        return min(self.each(lambda _, block: [[block.min()]], "looking for negative numbers")[0])

    def load(self) -> Block:
        """All rows."""
        return stacked([block for _, block in self])


class ArrayBlocks(Blocks):
    """A two-dimensional array that is sliced by rows: numpy.memmap or zarr.Array."""

    def __init__(self, array: Any):
        if array.ndim != 2:
            raise ValueError(
                f"X has {array.ndim} dimensions, shape {tuple(array.shape)}; it must have two: rows and features"
            )
        if np.dtype(array.dtype).kind not in "fiub":
            raise ValueError(f"X holds {array.dtype}, not numbers; convert it first")
        self._array, self.array = array, np.asarray(array) if isinstance(array, np.memmap) else None
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.dtype = float_dtype(array.dtype)

    def _read(self) -> Iterator[Block]:
        # Compressed chunks are read whole, so a block holds whole chunks, unless one chunk is too large for memory.
        itemsize = max(self._array.dtype.itemsize, self.dtype.itemsize)  # on disk, and as it is converted to
        step, chunk = block_rows(self.shape[1], itemsize), getattr(self._array, "chunks", (1,))[0]
        if 2 * chunk * self.shape[1] * itemsize <= working_memory():
            step = max(chunk, step // chunk * chunk)
        for start in range(0, self.shape[0], step):
            yield np.array(self._array[start : start + step])
            _release(self._array)


class SparseBlocks(Blocks):
    """A CSR matrix whose arrays are memory maps."""

    is_sparse = True

    def __init__(self, matrix: Any):
        if matrix.format != "csr":
            raise ValueError(f"X is a sparse matrix on disk in {matrix.format} format; store it as CSR")
        self._matrix = self.array = matrix
        self.shape, self.dtype = matrix.shape, float_dtype(matrix.dtype)

    def _read(self) -> Iterator[Block]:
        M = self._matrix
        step = block_rows(max(1, int(M.indptr[-1]) // max(1, self.shape[0])), M.data.itemsize + M.indices.itemsize)
        for start in range(0, self.shape[0], step):
            pointers = np.array(M.indptr[start : start + step + 1])
            part = slice(pointers[0], pointers[-1])
            data, indices = np.array(M.data[part]), np.array(M.indices[part])
            yield sparse.csr_array((data, indices, pointers - pointers[0]), shape=(pointers.size - 1, self.shape[1]))
            _release(M.data)
            _release(M.indices)


class ParquetBlocks(Blocks):
    """A ``pyarrow.dataset.Dataset``. All columns of numbers are features, except for that of the labels."""

    feature_names: list[str]

    def __init__(self, dataset: Any, label: Any = None, columns: Any = None):
        from pyarrow import types

        self._dataset, names = dataset, dataset.schema.names
        self._label = self._checked_label(label) if isinstance(label, str) else None
        self.feature_names = [name for name in names if name != self._label] if columns is None else list(columns)
        if columns is not None and self._label in self.feature_names:
            raise ValueError(f"columns= has {self._label!r}, which y= names as the labels; leave it out of one of them")
        for name in self.feature_names:
            if name not in names:
                raise ValueError(
                    f"X has no column {name!r}, which the model was fitted on or columns= names; there are "
                    f"{', '.join(names[:20])}"
                )
            kind = dataset.schema.field(name).type
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise ValueError(
                    f"column {name!r} of X is {kind}, not numbers; name it as y if it holds the labels, or choose columns of "
                    "numbers: lapwing.blocks.as_blocks(X, columns=[...])"
                )
        kinds = [dataset.schema.field(name).type for name in self.feature_names]
        small = all(types.is_float32(kind) or types.is_float16(kind) for kind in kinds)
        self.dtype = np.dtype(np.float32 if small else np.float64)
        self.shape = (dataset.count_rows(), len(self.feature_names))

    def _read(self) -> Iterator[Block]:
        start = 0
        for batch in self._batches(self.feature_names, block_rows(self.shape[1], self.dtype.itemsize)):
            block = np.empty((batch.num_rows, self.shape[1]), self.dtype)
            for j, column in enumerate(batch.columns):
                if column.null_count:
                    row = start + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                    raise ValueError(
                        f"column {self.feature_names[j]!r} of X has missing values (the first in row {row:,}); impute or drop "
                        "such rows, or choose other columns: lapwing.blocks.as_blocks(X, columns=[...])"
                    )
                block[:, j] = column.to_numpy(zero_copy_only=False)
            yield block
            start += batch.num_rows

    def labels(self, y: Any) -> Any:
        label = self._label
        if label is not None and y is not None and not (isinstance(y, str) and y == label):
            told = repr(y) if isinstance(y, str) else f"an array of {len(y)}"
            raise ValueError(
                f"y is {told}, but X was made with y={label!r}; pass y={label!r}, or make X without: as_blocks(X, columns=[...])"
            )
        if label is None and isinstance(y, str):
            label = self._checked_label(y)
            if label in self.feature_names:
                raise ValueError(f"y={y!r} is one of the features; leave it out of them: as_blocks(X, y={y!r})")
        if label is None:
            return y
        return np.concatenate([b.column(0).to_numpy(zero_copy_only=False) for b in self._batches([label], 1 << 16)])

    def _checked_label(self, label: str) -> str:
        names = self._dataset.schema.names
        if label not in names:
            raise ValueError(f"y={label!r} is no column of X; there are {', '.join(names[:20])}")
        return label

    def _batches(self, columns: Any, rows: int) -> Iterator[Any]:
        from pyarrow import dataset

        options = {}
        if isinstance(getattr(self._dataset, "format", None), dataset.ParquetFileFormat):
            # Read in pieces, and not ahead.
            scan = dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
            options["fragment_scan_options"] = scan
        scanner = self._dataset.scanner(
            columns=columns, batch_size=rows, batch_readahead=1, fragment_readahead=1, **options
        )
        return (batch for batch in scanner.to_batches() if batch.num_rows)


class Mapped(Blocks):
    """Other blocks under a function of a block, or some of their rows: those of a mask."""

    def __init__(self, blocks: Blocks, function: Callable[[Block], Block] | None, kept: np.ndarray | None = None):
        self._blocks, self._kept, self._function = blocks, kept, function or (lambda block: block)
        self.shape = (blocks.shape[0] if kept is None else int(kept.sum()), blocks.shape[1])
        self.dtype, self.is_sparse, self.is_local = blocks.dtype, blocks.is_sparse, blocks.is_local
        self.feature_names = blocks.feature_names

    def each(self, function: Callable[[int, Block], list], doing: str) -> list:
        # Without ``self``, since this is sent to the workers of a cluster.
        before = None if self._kept is None else np.concatenate([[0], np.cumsum(self._kept)])
        return self._blocks.each(partial(_mapped, function, self._function, self._kept, before), doing)

    def take(self, rows: np.ndarray) -> Block:
        return self._function(self._blocks.take(rows if self._kept is None else np.flatnonzero(self._kept)[rows]))


def _mapped(function: Callable, own: Callable, kept: Any, before: Any, first: int, block: Block) -> Any:
    if kept is not None:
        block, first = block[np.flatnonzero(kept[first : first + block.shape[0]])], int(before[first])
    return function(first, own(block))


def joined(one: list, other: list) -> list:
    """The sums of the parts of two results. The first may be changed; an empty one is none."""
    return list(map(iadd, one, other)) if one else other


def taken(rows: np.ndarray, first: int, block: Block) -> list:
    """The rows of these ascending numbers that a block holds."""
    low, high = np.searchsorted(rows, [first, first + block.shape[0]])
    return [[block[rows[low:high] - first]]]


def stacked(blocks: list[Block]) -> Block:
    """Blocks one below the other."""
    return canonical(sparse.vstack(blocks, format="csr")) if sparse.issparse(blocks[0]) else np.concatenate(blocks)


def checked(block: Any, name: str, start: int, width: int, dtype: np.dtype) -> Block:
    """A block of finite numbers that is as wide as X. Other blocks raise an error that names them."""
    if not sparse.issparse(block):
        # Of any library, on any device.
        block = import_module("..device", __package__).host(block) if is_foreign(block) else np.asarray(block)
    if block.ndim != 2 or block.shape[1] != width:
        raise ValueError(f"{name} has shape {block.shape}, but X has {width} columns; mend or drop that block")
    if block.dtype.kind not in "fiub":
        raise ValueError(f"{name} holds {block.dtype}, not numbers; convert it first")
    block = canonical(block).astype(dtype, copy=False)
    values = block.data if sparse.issparse(block) else block
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(values).all():
        bad = ~np.isfinite(values)
        row = start + int(block.tocoo().coords[0][bad][0] if sparse.issparse(block) else np.argwhere(bad)[0, 0])
        raise ValueError(f"{name} contains NaN or infinity (the first in row {row:,}); impute or drop such rows")
    return block


def block_rows(n_features: int, itemsize: int) -> int:
    """Rows per block: an eighth of the working memory, and no more than is useful."""
    return max(1, int(min(BLOCK_BYTES, working_memory() // 8) // (n_features * itemsize)))


def working_memory() -> int:
    """scikit-learn's ``working_memory`` in bytes, which is what a fit in blocks may hold beyond its result."""
    return int(get_config()["working_memory"] * 2**20)


def float_dtype(dtype: Any) -> np.dtype:
    """float32 for float32 and float16, float64 for the rest."""
    return np.dtype(np.float32 if np.dtype(dtype).name in ("float32", "float16") else np.float64)


def is_on_disk(X: Any) -> bool:
    """Whether X is a memory map, or a sparse matrix made of memory maps, that takes more than the working memory."""
    if sparse.issparse(X):  # its arrays are views, since a sparse matrix keeps no subclasses
        if X.format not in ("csr", "csc") or memory_map(X.data) is None:
            return False
        return X.data.size * float_dtype(X.dtype).itemsize + X.indices.nbytes > working_memory()
    # A copy of a memory map is in memory, although its class is the same.
    on_disk = isinstance(X, np.memmap) and memory_map(X) is not None
    return on_disk and X.size * float_dtype(X.dtype).itemsize > working_memory()


def _release(array: Any) -> None:
    """Let go of the pages that were read, which would count as memory of this process until others need it.

    Pages that may be changed and belong to no file are kept, since the changes are in the pages only.
    """
    mapping = memory_map(array)
    if mapping is None or not hasattr(mmap, "MADV_DONTNEED"):
        return
    with memoryview(mapping) as pages:
        is_backed = pages.readonly or getattr(array, "mode", "c") in ("r+", "w+")
    if is_backed:
        mapping.madvise(mmap.MADV_DONTNEED)
