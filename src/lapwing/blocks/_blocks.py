"""What all kinds of rows in blocks share, and how the kind of an object is recognised."""

from __future__ import annotations

import mmap
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import get_config

from .._validation import check_rows
from ..devices import host
from ..operators import canonical
from ._progress import Progress

BLOCK_BYTES = 1 << 25  # bytes per block; larger blocks are not faster (measured)
Block = Any  # a dense ndarray or a csr_array


class Fold(NamedTuple):
    """A pass over the rows: how it starts, how it takes in a block, and how two results are joined.

    ``start()`` gives a new state. ``step(state, block, first)`` takes in the block whose first row has the number ``first``.
    ``merge(state, state)`` joins two states. Steps and merges may work in place.
    """

    start: Callable[[], Any]
    step: Callable[[Any, Block, int], Any]
    merge: Callable[[Any, Any], Any]


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
    is_array: bool = False  # whether it can also be used like an array in memory
    is_distributed: bool = False  # whether blocks are folded separately, and the results merged

    def _read(self) -> Iterator[Block]:
        raise NotImplementedError

    def labels(self, y: Any) -> Any:
        """Labels in memory, from what was passed as y."""
        return y

    def map(self, function: Callable[[Block, int], Block]) -> Blocks:
        """The rows after a function is applied to each block. The function also gets the number of the block's first row."""
        return _Mapped(self, function, self.is_sparse)

    def chosen(self, choose: Callable[[Block], np.ndarray], doing: str) -> tuple[Blocks, np.ndarray]:
        """The rows for which a function of a block is True, and their places among all rows, found in one pass."""

        def step(found: list, block: Block, first: int) -> list:
            return [*found, (first, choose(block))]

        which = stacked(self.fold(Fold(list, step, lambda a, b: a + b), doing))
        return self if which.all() else _Chosen(self, which), which

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        """The number of the first row of each block, and the block, checked and converted."""
        start = 0
        for i, block in enumerate(self._read()):
            block = checked(block, i, start, self.shape, self.dtype)
            self._require_rows(start + block.shape[0] <= self.shape[0])
            yield start, block
            start += block.shape[0]
        self._require_rows(start == self.shape[0])

    def _require_rows(self, as_announced: bool) -> None:
        if not as_announced:
            raise ValueError(f"X has not the {self.shape[0]:,} rows it had at first; was it changed while it was read?")

    def fold(self, fold: Fold, doing: str) -> Any:
        """Make one pass over all rows."""
        state = fold.start()
        with Progress(doing, self.shape[0]) as progress:
            for start, block in self:
                state = fold.step(state, block, start)
                progress(start + block.shape[0])
        return state

    def projected(self, project: Callable[[Block], np.ndarray], n_out: int) -> Any:
        """The rows under a map, as an array in memory."""
        out: Any = [] if self.is_sparse else np.empty((self.shape[0], n_out), self.dtype)
        with Progress("transforming", self.shape[0]) as progress:
            for start, block in self:
                if self.is_sparse:  # a choice of columns is sparse, and coordinates are dense
                    out.append(project(block))
                else:
                    out[start : start + block.shape[0]] = project(block)
                progress(start + block.shape[0])
        return stacked(out) if self.is_sparse else out

    def take(self, rows: np.ndarray) -> Block:
        """Some rows, given by ascending numbers, where blocks are folded separately."""
        raise NotImplementedError

    def head(self, most: int) -> Block:
        """The first rows, at most so many."""
        for _, block in self:
            if block.shape[0]:
                return block[:most]
        raise ValueError("X has no rows")

    def load(self) -> Block:
        """All rows."""
        return stacked([block for _, block in self])


class _Mapped(Blocks):
    def __init__(self, blocks: Blocks, function: Callable[[Block, int], Block], is_sparse: bool):
        self._blocks, self._function = blocks, function
        self.shape, self.dtype, self.is_sparse = blocks.shape, blocks.dtype, is_sparse
        self.is_distributed = blocks.is_distributed
        self.feature_names = blocks.feature_names

    def take(self, rows: np.ndarray) -> Block:
        return self._function(self._blocks.take(rows), int(rows[0]))

    def head(self, most: int) -> Block:
        return self._function(self._blocks.head(most), 0)

    def labels(self, y: Any) -> Any:
        return self._blocks.labels(y)

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        for start, block in self._blocks:
            yield start, self._function(block, start)

    def fold(self, fold: Fold, doing: str) -> Any:
        function = self._function

        def step(state: Any, block: Block, start: int) -> Any:
            return fold.step(state, function(block, start), start)

        return self._blocks.fold(fold._replace(step=step), doing)


class _Chosen(Blocks):
    """Some of the rows of other blocks."""

    def __init__(self, blocks: Blocks, which: np.ndarray):
        self._blocks, self._which = blocks, which
        self.shape, self.dtype, self.is_sparse = (int(which.sum()), blocks.shape[1]), blocks.dtype, blocks.is_sparse
        self.is_distributed, self.feature_names = blocks.is_distributed, blocks.feature_names

    def take(self, rows: np.ndarray) -> Block:
        return self._blocks.take(np.flatnonzero(self._which)[rows])

    def head(self, most: int) -> Block:
        return next(block[:most] for _, block in self)

    def labels(self, y: Any) -> Any:
        labels = self._blocks.labels(y)
        return None if labels is None else np.asarray(labels)[self._which]

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        start = 0
        for first, block in self._blocks:
            some = np.flatnonzero(self._which[first : first + block.shape[0]])
            if some.size:
                yield start, block[some]
            start += some.size

    def fold(self, fold: Fold, doing: str) -> Any:
        which, before = self._which, np.concatenate([[0], np.cumsum(self._which)])

        def step(state: Any, block: Block, first: int) -> Any:
            some = np.flatnonzero(which[first : first + block.shape[0]])
            return fold.step(state, block[some], int(before[first])) if some.size else state

        return self._blocks.fold(fold._replace(step=step), doing)


class DenseBlocks(_Mapped):
    """Sparse rows as dense ones, some at a time, since a sparse block may hold many more rows than fit as dense ones."""

    def __init__(self, blocks: Blocks):
        super().__init__(blocks, lambda block, first: block.toarray(), is_sparse=False)

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        for start, block in self._blocks:
            for rows in _parts(block):
                yield start + rows.start, block[rows].toarray()

    def fold(self, fold: Fold, doing: str) -> Any:
        def step(state: Any, block: Block, start: int) -> Any:
            for rows in _parts(block):
                state = fold.step(state, block[rows].toarray(), start + rows.start)
            return state

        return self._blocks.fold(fold._replace(step=step), doing)


def _parts(block: Block) -> Iterator[slice]:
    step = block_rows(block.shape[1], block.dtype.itemsize)
    return (slice(start, start + step) for start in range(0, block.shape[0], step))


def taking(rows: np.ndarray) -> Fold:
    """A pass that collects the rows of these ascending numbers, as a list of (first number, block)."""

    def step(found: list, block: Block, start: int) -> list:
        first, last = np.searchsorted(rows, [start, start + block.shape[0]])
        if last > first:
            found.append((start, block[rows[first:last] - start]))
        return found

    return Fold(list, step, lambda a, b: a + b)


def stacked(blocks: list) -> Block:
    """Blocks one below the other. Where they come with the numbers of their first rows, they are put in that order."""
    if blocks and isinstance(blocks[0], tuple):
        blocks = [block for _, block in sorted(blocks, key=lambda pair: pair[0])]
    return sparse.csr_array(sparse.vstack(blocks)) if sparse.issparse(blocks[0]) else np.concatenate(blocks)


def checked(block: Any, i: int, start: int, shape: tuple[int, int], dtype: np.dtype) -> Block:
    """A block of finite numbers that is as wide as X. Other blocks raise an error that names them."""
    name = f"block {i} of X (from row {start:,})"
    if not sparse.issparse(block):
        block = np.asarray(host(block))  # this copies a block from a device, too
    if block.ndim != 2 or block.shape[1] != shape[1]:
        raise ValueError(f"{name} has shape {block.shape}, but X has {shape[1]} columns; mend or drop that block")
    if block.dtype.kind not in "fiub":
        raise ValueError(f"{name} holds {block.dtype}, not numbers; convert it first")
    block = canonical(block).astype(dtype, copy=False)
    values = block.data if sparse.issparse(block) else block
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(values).all():
        places = (
            block.tocoo().coords[0][~np.isfinite(values)]
            if sparse.issparse(block)
            else np.argwhere(~np.isfinite(block))
        )
        row = start + int(np.ravel(places)[0])
        raise ValueError(f"{name} contains NaN or infinity (the first in row {row:,}); impute or drop such rows")
    return block


def block_rows(n_features: int, itemsize: int) -> int:
    """Rows per block: an eighth of the working memory, and no more than is useful."""
    room = min(BLOCK_BYTES, working_memory() // 8)
    return max(1, int(room // (n_features * itemsize)))


def working_memory() -> int:
    """scikit-learn's ``working_memory`` in bytes, which is what a fit in blocks may hold beyond its result."""
    return int(get_config()["working_memory"] * 2**20)


def float_dtype(dtype: Any) -> np.dtype:
    """float32 for float32 and float16, float64 for the rest."""
    return np.dtype(np.float32 if np.dtype(dtype).name in ("float32", "float16") else np.float64)


def projected(model: Any, blocks: Blocks, project: Callable[[Block], np.ndarray], n_out: int) -> Any:
    """The rows under a map of blocks: an array, or a dask array where the rows are one."""
    if blocks.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {blocks.shape[1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features as input"
        )
    if blocks.feature_names is not None and not hasattr(model, "feature_names_in_"):
        warnings.warn(
            f"X has feature names, but {type(model).__name__} was fitted without feature names; columns are taken in their order",
            UserWarning,
            stacklevel=4,
        )
    return blocks.projected(project, n_out)


def as_blocks(X: Any, y: Any = None, columns: Any = None) -> Blocks | None:
    """X as rows in blocks, where it is of a kind that is read so; None where it is an array in memory.

    Methods take a Parquet data set as it is: then all columns but the labels are features, and where no labels are named all
    columns are. Call this to choose the features. The result stands for X in ``fit``; ``transform`` finds the chosen columns
    by name, also in the data set itself.

    Parameters
    ----------
    X : Blocks, numpy.memmap, zarr.Array, pyarrow.dataset.Dataset, dask.array.Array or array-like
        A memory-mapped array counts as one in memory while it is smaller than scikit-learn's ``working_memory``.
    y : str, default=None
        The column of a Parquet data set that holds the labels, and is no feature.
    columns : sequence of str, default=None
        The columns of a Parquet data set that are features; None is all others.

    Returns
    -------
    Blocks or None

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pyarrow as pa
    >>> from pyarrow import dataset, parquet
    >>> from lapwing import LPP
    >>> from lapwing.blocks import as_blocks
    >>> values = np.random.RandomState(0).rand(3, 50)
    >>> table = pa.table({"a": values[0], "b": values[1], "c": values[2], "label": np.arange(50) % 2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parquet.write_table(table, f"{folder}/rows.parquet")
    ...     rows = dataset.dataset(f"{folder}/rows.parquet")
    ...     model = LPP(1).fit(as_blocks(rows, columns=["a", "b"]))
    ...     Z = model.transform(rows)
    >>> model.feature_names_in_.tolist(), Z.shape
    (['a', 'b'], (50, 1))
    """
    blocks = X if isinstance(X, Blocks) else _as_blocks(X, y, columns)
    if blocks is not None and blocks.shape[1] == 0:
        raise ValueError(f"X has 0 features, shape {blocks.shape}, while a minimum of 1 is required; pass some columns")
    return blocks


def _as_blocks(X: Any, y: Any, columns: Any) -> Blocks | None:
    package = type(X).__module__.partition(".")[0]
    check_rows(X)
    if package == "pyarrow" and type(X).__name__ == "Scanner":
        raise TypeError(
            "X is a pyarrow Scanner, which can be read only once; choose columns of the data set that it reads: "
            "lapwing.blocks.as_blocks(dataset, columns=[...])"
        )
    if package == "dask":
        from ._dask import DaskBlocks

        return DaskBlocks(X)
    if package == "zarr":
        from ._arrays import ArrayBlocks

        return ArrayBlocks(X)
    if package == "pyarrow" and hasattr(X, "scanner"):
        from ._parquet import ParquetBlocks

        return ParquetBlocks(X, y, columns)
    if mapped(X) and nbytes(X) > working_memory():
        from ._arrays import ArrayBlocks, SparseBlocks

        return SparseBlocks(X) if sparse.issparse(X) else ArrayBlocks(X)
    return None


def mapped(X: Any) -> bool:
    """Whether X is on disk: a memory map, or a sparse matrix made of memory maps."""
    if sparse.issparse(X):  # its arrays are views, since a sparse matrix keeps no subclasses
        return X.format in ("csr", "csc") and mapping_of(X.data) is not None
    # A copy of a memory map is in memory, although its class is the same.
    return isinstance(X, np.memmap) and mapping_of(X) is not None


def mapping_of(array: Any) -> mmap.mmap | None:
    """The memory map behind an array; None where there is none."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def nbytes(X: Any) -> int:
    """The bytes that X takes in memory as floating point."""
    size = (X.data if sparse.issparse(X) else X).size * float_dtype(X.dtype).itemsize
    return size + (X.indices.nbytes if sparse.issparse(X) else 0)
