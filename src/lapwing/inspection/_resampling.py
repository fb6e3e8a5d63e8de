"""Fits to halves of the rows, and which of their components correspond to each other."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import check_random_state, indexable

from .._arrays import count_rows, some_rows
from .._labels import class_codes


def half_fits(estimator: Any, X: Any, y: Any, n_draws: int, random_state: Any) -> Iterator[Any]:
    """Copies of the estimator, each fitted to half of the rows, drawn without replacement; by class where y holds classes.

    Estimates from them vary as much as those from n rows drawn with replacement: for a mean, s²/m (1 - m/n) with m = n/2 is
    s²/n. With replacement, a row that is drawn twice would be its own nearest neighbour.
    """
    X, y = indexable(X, y)
    random, n = check_random_state(random_state), count_rows(X)
    try:
        codes = np.zeros(n, dtype=int) if y is None else class_codes(y, n)[0]
    except ValueError:  # y holds no classes
        codes = np.zeros(n, dtype=int)
    members = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    for _ in range(n_draws):
        drawn = np.sort(np.concatenate([random.permutation(rows)[: (rows.size + 1) // 2] for rows in members]))
        yield clone(estimator).fit(some_rows(X, drawn), None if y is None else some_rows(y, drawn))


def matched(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The rows of ``found``, of unit length, in the order and with the signs that make them most similar to those expected."""
    cosines = expected @ found.T
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(expected)), order] < 0, -1.0, 1.0)
    return signs[:, None] * found[order]


def check_level(level: Any) -> float:
    """The share of draws that an interval holds."""
    if isinstance(level, bool) or not (isinstance(level, Real) and 0 < float(level) < 1):
        raise ValueError(f"level={level!r} must be a number between 0 and 1")
    return float(level)


def interval(draws: Any, level: float) -> tuple[Any, Any]:
    """The ends of what this share of the draws lie between."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high
