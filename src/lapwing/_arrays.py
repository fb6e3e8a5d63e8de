"""What all modules that compute with arrays share: the blocks in which they go, and rows evenly spaced."""

from __future__ import annotations

from mmap import mmap
from typing import Any

import numpy as np
from scipy import sparse

from ._validation import check_in_memory

Array = Any  # a dense ndarray or a SciPy sparse array
BLOCK_BYTES = 1 << 22  # bytes per block of rows: large enough for BLAS, small enough to stay in the cache (measured)
# Products of few columns are added up fastest in blocks of a quarter of this size, but these have at least so many rows.
LONG_ROWS = 512
WORD_SHARE = 0.05  # rows of which a smaller share of entries is not 0 are rows of words, dense or sparse


def row_blocks(n_rows: int, n_columns: int) -> list[slice]:
    """Slices over rows such that one block in float64 takes about ``BLOCK_BYTES``."""
    step = max(1, BLOCK_BYTES // (8 * max(1, n_columns)))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def is_foreign(*arrays: Any) -> bool:
    """Whether one of these is an array of another library than NumPy, such as a tensor of torch."""
    others = [X for X in arrays if not isinstance(X, np.ndarray | np.generic)]
    return any(hasattr(X, "__dlpack__") and hasattr(X, "shape") for X in others)


def spread_rows(n: int, most: int) -> np.ndarray:
    """At most so many row numbers, evenly spaced."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(int)


def count_rows(X: Any) -> int:
    """The number of rows of an array, a list, a data frame or a data set."""
    if hasattr(X, "count_rows"):  # a data set of pyarrow
        return X.count_rows()
    return X.shape[0] if hasattr(X, "shape") else np.asarray(X).shape[0]


def some_rows(X: Any, rows: np.ndarray) -> Any:
    """Rows of an array, a sparse matrix, a list or a data frame, by a mask or by their numbers."""
    check_in_memory(X, "taking some of the rows")
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if sparse.issparse(X):
        return X.tocsr()[rows]
    is_polars = hasattr(X, "filter") and hasattr(X, "schema")
    return X[rows] if is_polars or is_foreign(X) else np.asarray(X)[rows]


def memory_map(array: Any) -> mmap | None:
    """The memory map behind an array; None where there is none, as behind a copy of one, whose class is the same."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap) else None
