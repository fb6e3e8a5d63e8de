"""What is given: parameters, labels and rows, their checks, and the blocks in which all modules go through rows.

Errors name the parameter, the value and what would be right.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from mmap import mmap
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils.validation import column_or_1d

Array = Any  # a dense ndarray or a SciPy sparse array
BLOCK_BYTES = 1 << 22  # bytes per block of rows: large enough for BLAS, small enough to stay in the cache (measured)
# Products of few columns are added up fastest in blocks of a quarter of this size, but these have at least so many rows.
LONG_ROWS = 512
WORD_SHARE = 0.05  # rows of which a smaller share of entries is not 0 are rows of words, dense or sparse
# Parquet files are read in blocks by dask.
IN_BLOCKS = "in blocks, dask.dataframe.read_parquet({})[columns].to_dask_array(lengths=True)"
# What holds no rows, by the package and the name of its class, and what to pass in its place.
NO_ROWS = {
    ("polars", "LazyFrame"): "X.collect()",
    ("zarr", "Group"): "an array of two dimensions that it holds",
    ("dask", "DataFrame"): "a dask array, such as X.to_dask_array(lengths=True), or X.compute() if there is room",
}


def check_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number, {least} or more")
    return int(value)


def check_choice(name: str, value: Any, choices: Any) -> Any:
    """One of ``choices``."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        raise ValueError(f"{name}={value!r} must be one of {', '.join(repr(choice) for choice in choices)}")
    return value


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < np.inf:
        raise ValueError(f"{name}={value!r} must be a finite number above 0")
    return float(value)


def check_not_negative(name: str, value: Any) -> float:
    """A finite number, 0 or more."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        raise ValueError(f"{name}={value!r} must be a finite number, 0 or more")
    return float(value)


def check_below_one(name: str, value: Any) -> float:
    """A number from 0 to less than 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise ValueError(f"{name}={value!r} must be a number from 0 to less than 1")
    return float(value)


def reword_error(error: ValueError) -> None:
    """Raise an error that says what to do with categories or gaps, where this one is about text or NaN among the rows."""
    if "could not convert string" in str(error):
        raise ValueError(
            f"X holds text ({error}), and all its columns must be numbers, as lapwing.tables.prepare makes them; or write "
            "categories as numbers, as OneHotEncoder does, and free text as words, by TfidfVectorizer"
        ) from error
    if "contains NaN" in str(error):
        first = str(error).partition("\n")[0].rstrip(".")
        remedy = "fill the gaps, as SimpleImputer does after lapwing.tables.Preparation, or leave those rows out"
        raise ValueError(f"{first}; {remedy}") from error


def caller_stacklevel() -> int:
    """The stack level for a warning such that it points to the line that called into this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith(f"{__package__}."):
        frame, level = frame.f_back, level + 1
    return level


def check_compressed(X: Any) -> None:
    """Raise unless every entry of a sparse array in compressed format lies inside it, which compiled code does not check."""
    X.check_format(full_check=True)
    # SciPy takes differences of pointers, which may overflow, or does not look.
    if (X.indptr[1:] < X.indptr[:-1]).any():
        raise ValueError("indptr must be a non-decreasing sequence")
    if X.dtype == np.float16:
        raise ValueError("a sparse array of float16, which SciPy cannot compute with; use float32")


def check_rows(X: Any) -> None:
    """Raise where X is something that no method can read rows from."""
    package, name = type(X).__module__.partition(".")[0].partition("_")[0], type(X).__name__
    remedy = NO_ROWS.get((package, name))
    if package == "pyarrow" and not hasattr(X, "to_pandas"):  # a file, a data set or a scanner
        remedy = f"pandas.read_parquet(path) if there is room, or, {IN_BLOCKS.format('path')}"
    elif isinstance(X, str | PathLike):
        is_parquet = str(X).endswith((".parquet", ".pq"))
        remedy = f"lapwing.tables.read({str(X)!r}).X" + f", or, {IN_BLOCKS.format(repr(str(X)))}" * is_parquet
    elif isinstance(X, Iterator):
        remedy = "an array, such as numpy.array(list(X)), or its parts to partial_fit, where the method has it"
    if remedy:
        kind = f"{package} {name}".removeprefix("builtins ")
        raise TypeError(f"X is a {kind}; pass {remedy}")


def check_in_memory(X: Any, who: str) -> None:
    """Raise where ``who`` needs all rows in memory, and X is on disk, on a cluster, or no rows at all."""
    check_rows(X)
    package = type(X).__module__.partition(".")[0]
    if package in ("dask", "zarr") and getattr(X, "nbytes", 0) > (room := get_config()["working_memory"]) * 2**20:
        raise TypeError(
            f"{who} needs all rows in memory, and X is a {package} array of {X.nbytes / 2**20:,.0f} MiB, above the "
            f"working_memory of {room:,} MiB; pass numpy.asarray(X) if there is room for it, or a part of the rows. "
            "LPP, MMC and the scores of features are among the methods that read rows in blocks"
        )


def rows_by_number(X: Any, who: str) -> Any:
    """X in a form whose rows can be taken by their numbers. Raise where ``who`` has no such rows in memory."""
    check_in_memory(X, who)
    package = type(X).__module__.partition(".")[0]
    if package == "zarr":
        return np.asarray(X)
    return X.to_pandas() if package == "pyarrow" else X


# Class labels: 0 ... c - 1, and -1 where unknown


def label_array(y: Any, n: int) -> np.ndarray:
    """Labels of n samples in one dimension, -1 where unknown; NumPy and files turn that into "-1" among words."""
    if y is None:
        remedy = "pass class labels (-1 marks unknown ones), or use a method whose graph reads none, as LPP with KNN"
        raise ValueError(f"the method or its graph requires y to be passed, but the target y is None; {remedy}")
    try:
        y = column_or_1d(y)
    except TypeError as error:  # pandas's NA
        raise ValueError(f"y is no list of class labels: {error}; mark unknown labels by -1") from error
    if y.size != n:
        raise ValueError(f"y has {y.size} labels, but X has {n} samples; pass one label per sample")
    if y.dtype == object:  # NaN and pandas's NA do not equal themselves
        present = all(label is not None and isinstance(same := label == label, bool | np.bool_) and same for label in y)
    else:
        present = y.dtype.kind not in "fmM" or bool(np.isfinite(y).all())  # NaN, and NaT of dates
    if not present:
        raise ValueError("y contains NaN, infinity or missing values; mark unknown labels by -1")
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        remedy = "pass class labels, or a graph that reads numbers, such as graph=Target(5)"
        raise ValueError(f"y is continuous (unknown label type): it holds fractions; {remedy}")
    if y.dtype.kind in "OU":
        y = y.astype(object)
        y[y == "-1"] = -1
    return y


def known_labels(y: Any) -> np.ndarray:
    """Which labels are known: those that are not -1."""
    return np.asarray(label_array(y, np.shape(y)[0]) != -1)


def class_codes(y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of n samples as 0 ... c - 1, -1 where unknown, and the label of each class.

    Fewer than two classes raise an error.
    """
    y = label_array(y, n)
    known = y != -1
    if not known.any():
        raise ValueError("y has no known label: every entry is -1 (unknown); label samples of two classes or more")
    try:
        names, codes = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in y[known]}))
        raise ValueError(f"y mixes labels of kinds that have no order ({kinds}); use one kind") from error
    if names.size == 1 and names[0] in (1, "1", "+1") and not known.all():
        raise ValueError("y holds exactly the labels -1 and +1, but -1 means unknown here; relabel them as 0 and 1")
    if names.size < 2:
        remedy = "pass at least two classes, or use a method whose graph reads none, such as LPP with KNN"
        raise ValueError(f"y has one class only ({names[0]}), so there is nothing to tell apart; {remedy}")
    classes = np.full(n, -1, dtype=np.intp)
    classes[known] = codes
    return classes, np.array(names.tolist()) if names.dtype == object else names


def coded_labels(y: np.ndarray, names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels as places among ``names``, -1 where unknown, and the names. New labels are added at the end of the names."""
    known = y != -1
    try:
        found, inverse = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes labels of kinds that have no order; use one kind") from error
    if names.size and found.size and (names.dtype.kind in "OU") != (found.dtype.kind in "OU"):
        raise ValueError(f"y has labels like {found[0]!r}, and those before were like {names[0]!r}; use one kind")
    places = {name: place for place, name in enumerate(names.tolist())}
    new = [name for name in found.tolist() if name not in places]
    places |= {name: len(places) + i for i, name in enumerate(new)}
    codes = np.full(y.size, -1, dtype=np.intp)
    codes[known] = np.array([places[name] for name in found.tolist()], dtype=np.intp)[inverse]
    return codes, np.concatenate([names.astype(found.dtype) if not names.size else names, np.array(new, found.dtype)])


# Rows


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
    """The number of rows of an array, a list or a data frame."""
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
