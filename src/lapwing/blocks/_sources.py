"""Rows that are read in blocks from disk: memory maps, Zarr arrays, and data sets of pyarrow."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from functools import partial, reduce
from importlib import import_module
from operator import add
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

from .._extras import Progress
from .._validation import is_foreign, memory_map
from ..data import MOST_ENTRY

BLOCK_BYTES = 1 << 25  # bytes per block; larger blocks are not faster (measured)
CHOSEN = "lapwing.blocks.as_blocks(X, columns=[...])"  # what messages propose
Block = np.ndarray


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
    array: Any = None  # the same rows as an array that can be used like one in memory, where there is one

    def _read(self) -> Iterator[Block]:
        raise NotImplementedError

    def labels(self, y: Any) -> Any:
        """Labels in memory, from what was passed as y."""
        return y

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        """The number of the first row of each block, and the block, checked and converted."""
        start = 0
        for i, block in enumerate(self._read()):
            yield start, checked(block, i, start, (len(block), self.shape[1]), self.dtype)
            start += len(block)
        if start != self.shape[0]:
            raise ValueError(f"X has {start:,} rows, and {self.shape[0]:,} at first; was it changed while it was read?")

    def each(self, function: Callable[[int, Block], list], doing: str) -> list:
        """One pass: ``function(first row, block)`` is a list of parts per block, which are added up in the order of blocks."""
        found: list = []
        with Progress(doing, self.shape[0]) as progress:
            for first, block in self:
                parts = function(first, block)
                found = joined([found, parts]) if found else parts
                progress(first + len(block))
        return found

    def projected(self, project: Callable[[Block], Block], n_out: int) -> Any:
        """The rows under a map of blocks, as an array in memory."""
        return np.concatenate(self.each(lambda _, block: [[project(block)]], "transforming")[0])

    def take(self, rows: np.ndarray) -> Block:
        """Some rows, given by ascending numbers."""
        return np.concatenate(self.each(partial(taken, rows), "reading rows")[0])

    def load(self) -> Block:
        return self.take(np.arange(self.shape[0]))


class ArrayBlocks(Blocks):
    """A two-dimensional array that is sliced by rows: numpy.memmap or zarr.Array."""

    def __init__(self, array: Any):
        self._array, self.array = array, np.asarray(array) if isinstance(array, np.memmap) else None
        self.shape, self.dtype = (int(array.shape[0]), int(array.shape[1])), float_dtype(array.dtype)

    def _read(self) -> Iterator[Block]:
        # Compressed chunks are read whole, so a block holds whole chunks, unless one chunk is too large for memory.
        itemsize = max(self._array.dtype.itemsize, self.dtype.itemsize)  # on disk, and as it is converted to
        step, chunk = block_rows(self.shape[1], itemsize), getattr(self._array, "chunks", (1,))[0]
        if 2 * chunk * self.shape[1] * itemsize <= working_memory():
            step = max(chunk, step // chunk * chunk)
        for start in range(0, self.shape[0], step):
            yield np.array(self._array[start : start + step])
            _release(self._array)


class ParquetBlocks(Blocks):
    """A ``pyarrow.dataset.Dataset``, of which all columns are features, or some."""

    feature_names: list[str]

    def __init__(self, dataset: Any, columns: Any = None):
        from pyarrow import types

        self._dataset, self.feature_names = dataset, list(dataset.schema.names if columns is None else columns)
        for name in self.feature_names:
            self._require_column(name, "the model was fitted on or columns= names")
        kinds = {name: dataset.schema.field(name).type for name in self.feature_names}
        for name, kind in kinds.items():
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                remedy = "name it as y if it holds the labels, or choose columns of numbers"
                raise ValueError(f"column {name!r} of X is {kind}, not numbers; {remedy}: {CHOSEN}")
        small = all(types.is_float32(kind) or types.is_float16(kind) for kind in kinds.values())
        self.dtype = np.dtype(np.float32 if small else np.float64)
        self.shape = (dataset.count_rows(), len(self.feature_names))

    def _require_column(self, name: str, why: str = "y= names") -> None:
        names = self._dataset.schema.names
        if name not in names:
            raise ValueError(f"X has no column {name!r}, which {why}; there are {', '.join(names[:20])}")

    def _read(self) -> Iterator[Block]:
        start = 0
        for batch in self._batches(self.feature_names, block_rows(self.shape[1], self.dtype.itemsize)):
            block = np.empty((batch.num_rows, self.shape[1]), self.dtype)
            for j, column in enumerate(batch.columns):
                if column.null_count:
                    row = start + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                    said = f"column {self.feature_names[j]!r} of X has missing values (the first in row {row:,})"
                    raise ValueError(f"{said}; impute or drop such rows, or choose other columns: {CHOSEN}")
                block[:, j] = column.to_numpy(zero_copy_only=False)
            yield block
            start += batch.num_rows

    def labels(self, y: Any) -> Any:
        """The column that y names, or the labels that it holds."""
        if not isinstance(y, str):
            return y
        self._require_column(y)
        if y in self.feature_names:
            raise ValueError(f"y={y!r} is one of the features; leave it out of them: {CHOSEN}")
        return np.concatenate([b.column(0).to_numpy(zero_copy_only=False) for b in self._batches([y], 1 << 16)])

    def _batches(self, columns: Any, rows: int) -> Iterator[Any]:
        from pyarrow import dataset

        options: dict[str, Any] = {"batch_readahead": 1, "fragment_readahead": 1}  # read in pieces, and not ahead
        if isinstance(getattr(self._dataset, "format", None), dataset.ParquetFileFormat):
            scan = dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
            options["fragment_scan_options"] = scan
        batches = self._dataset.to_batches(columns=columns, batch_size=rows, **options)
        return (batch for batch in batches if batch.num_rows)


def joined(results: list[list]) -> list:
    """The sums of the parts of some results."""
    return [reduce(add, parts) for parts in zip(*results, strict=True)]


def taken(rows: np.ndarray, first: int, block: Block) -> list[list[Block]]:
    """The rows of these ascending numbers that a block holds."""
    low, high = np.searchsorted(rows, [first, first + len(block)])
    return [[block[rows[low:high] - first]]]


def checked(block: Any, number: int, start: int, shape: tuple, dtype: np.dtype) -> Block:
    """A block of finite numbers that has the shape it should have. Other blocks raise an error that names them."""
    name = f"block {number} of X (from row {start:,})"
    if sparse.issparse(block):
        raise ValueError(f"{name} is sparse; rows in blocks are dense: pass a sparse array in memory, if there is room")
    block = import_module("..device", __package__).host(block) if is_foreign(block) else np.asarray(block)
    if block.shape != shape:
        raise ValueError(f"{name} has shape {block.shape}, but {shape} was announced; mend or drop that block")
    if block.dtype.kind not in "fiub":
        raise ValueError(f"{name} holds {block.dtype}, not numbers; convert it first")
    block = block.astype(dtype, copy=False)
    if not max(-float(block.min(initial=0)), float(block.max(initial=0))) < MOST_ENTRY:  # also where one is NaN
        row = start + int(np.argmin((np.abs(block.astype(np.float64)) < MOST_ENTRY).all(axis=1)))
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
    """Whether X is a memory map, and not a copy of one, that takes more than the working memory."""
    on_disk = isinstance(X, np.memmap) and memory_map(X) is not None
    return on_disk and X.size * float_dtype(X.dtype).itemsize > working_memory()


def _release(array: Any) -> None:
    """Let go of the pages that were read, which would count as memory of this process until others need it."""
    mapping = memory_map(array)
    # With mode "c", changes are in the pages alone.
    if mapping is not None and array.mode in ("r", "r+", "w+") and hasattr(mmap, "MADV_DONTNEED"):
        mapping.madvise(mmap.MADV_DONTNEED)
