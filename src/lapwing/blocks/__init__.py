"""Rows that do not fit in memory, read a block at a time: memory-mapped arrays, Parquet, Zarr, dask."""

from ._arrays import HeldBlocks
from ._blocks import Blocks, DenseBlocks, Fold, as_blocks, block_rows, projected, stacked, taking, working_memory
from ._progress import Progress

__all__ = [
    "Blocks",
    "DenseBlocks",
    "Fold",
    "HeldBlocks",
    "Progress",
    "as_blocks",
    "block_rows",
    "projected",
    "stacked",
    "taking",
    "working_memory",
]
