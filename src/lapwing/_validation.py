"""Checks of parameters that are numbers or choices. Errors say what is wrong, what would be right, and where it stands."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np


def check_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number, {least} or more")
    return int(value)


def check_compressed(X: Any) -> None:
    """Raise unless every entry of a sparse array in compressed format lies inside the array.

    Compiled code does not check what a file says.

    SciPy does not look at the pointers of an array without entries. It takes the differences of pointers, which may overflow.
    """
    X.check_format(full_check=True)
    if (X.indptr[1:] < X.indptr[:-1]).any():
        raise ValueError("indptr must be a non-decreasing sequence")


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


def check_no_path(X: Any) -> None:
    """Raise where X says where rows are, and is none."""
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X={str(X)!r} is a path, not rows; pass lapwing.tables.read({str(X)!r}).X, or, to a method that reads rows in "
            f"blocks, pyarrow.dataset.dataset({str(X)!r})"
        )


@contextmanager
def of_numbers() -> Iterator[None]:
    """A context in which errors about text in rows also say what to do with categories."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"X holds text ({error}), and all its columns must be numbers; write categories as numbers, as "
            "OrdinalEncoder of scikit-learn does, which Gower compares as categories"
        ) from error


def equal_within(dtype: Any) -> float:
    """How far numbers that should be equal may differ by rounding, relative to the largest: 1e-10, and more in float32."""
    return max(1e-10, 100 * float(np.finfo(dtype if np.dtype(dtype).kind == "f" else np.float64).eps))


def check_clusters(n_clusters: Any, n_samples: int) -> int:
    """A whole number from 1 to the number of samples."""
    k = check_count("n_clusters", n_clusters)
    if k > n_samples:
        raise ValueError(f"n_clusters={k} is more than there are samples, n_samples={n_samples}; use fewer")
    return k


def outside() -> int:
    """The stack level for a warning such that it points to the line that called into this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("lapwing."):
        frame, level = frame.f_back, level + 1
    return level
