"""Checks of parameters. Errors name the parameter, its value and what would be right."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def check_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number, {least} or more")
    return int(value)


def check_clusters(n_clusters: Any, n_samples: int) -> int:
    """A whole number from 1 to the number of samples."""
    k = check_count("n_clusters", n_clusters)
    if k > n_samples:
        raise ValueError(f"n_clusters={k} is more than there are samples, n_samples={n_samples}; use fewer")
    return k


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
