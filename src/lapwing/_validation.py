"""Checks of parameters that are numbers or choices. Errors name the parameter, the value and what would be right."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from sklearn import get_config

# What holds no rows, by the package and the name of its class, and what to pass in its place.
NO_ROWS = {
    ("pyarrow", "ParquetFile"): "X.read().to_pandas(), or pyarrow.dataset.dataset(path), which is read in blocks",
    ("pyarrow", "Scanner"): "the data set that it reads, or lapwing.blocks.as_blocks(dataset, columns=[...])",
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
    if isinstance(X, str | PathLike):
        remedy = f"lapwing.tables.read({str(X)!r}).X, or, to be read in blocks, pyarrow.dataset.dataset({str(X)!r})"
    elif isinstance(X, Iterator):
        remedy = "an array, such as numpy.array(list(X)), or its parts to partial_fit, where the method has it"
    if remedy:
        kind = f"{package} {name}".removeprefix("builtins ")
        raise TypeError(f"X is a {kind}; pass {remedy}")


def check_in_memory(X: Any, who: str) -> None:
    """Raise where ``who`` needs all rows in memory, and X is on disk, on a cluster, or no rows at all."""
    check_rows(X)
    package, name = type(X).__module__.partition(".")[0], type(X).__name__
    if package == "pyarrow" and hasattr(X, "to_table"):
        kind, remedy = f"a pyarrow {name}", "X.to_table().to_pandas()"
    elif any(base.__module__ == f"{__package__}.blocks._sources" for base in type(X).__mro__):
        kind, remedy = "rows in blocks", "X.load()"
    elif package in ("dask", "zarr") and getattr(X, "nbytes", 0) > (room := get_config()["working_memory"]) * 2**20:
        kind = f"a {package} array of {X.nbytes / 2**20:,.0f} MiB, above the working_memory of {room:,} MiB"
        remedy = "numpy.asarray(X)"
    else:
        return
    raise TypeError(
        f"{who} needs all rows in memory, and X is {kind}; pass {remedy} if there is room for it, or a part of the rows. "
        "LPP, MMC and the scores of features are among the methods that read rows in blocks"
    )


def rows_by_number(X: Any, who: str) -> Any:
    """X, whose rows ``who`` takes by their numbers. A zarr array is loaded. Raise where X has no such rows in memory."""
    check_in_memory(X, who)
    package, name = type(X).__module__.partition(".")[0], type(X).__name__
    if package == "zarr":
        return np.asarray(X)
    if package == "pyarrow" and hasattr(X, "to_pandas"):
        raise TypeError(f"{who} takes rows by their numbers, and X is a pyarrow {name}; pass X.to_pandas()")
    return X
