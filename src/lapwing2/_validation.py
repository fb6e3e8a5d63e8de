"""Checks of parameters that are numbers or choices. Errors name the parameter, the value and what would be right."""

from __future__ import annotations

import inspect
from numbers import Integral, Real
from typing import Any

import numpy as np


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


def reword_text_error(error: ValueError) -> None:
    """Raise an error that says what to do with categories, where this one is about text among the rows."""
    if "could not convert string" in str(error):
        raise ValueError(
            f"X holds text ({error}), and all its columns must be numbers; write categories as numbers, as "
            "OrdinalEncoder of scikit-learn does, which Gower compares as categories, and free text as columns of words, as its "
            "TfidfVectorizer does"
        ) from error


def caller_stacklevel() -> int:
    """The stack level for a warning such that it points to the line that called into this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith(f"{__package__}."):
        frame, level = frame.f_back, level + 1
    return level
