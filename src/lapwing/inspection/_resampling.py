"""Fits to halves of the rows, and which of their components correspond to each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import check_random_state, indexable

from .._labels import class_codes


def half_fits(estimator: Any, X: Any, y: Any, n_draws: int, random_state: Any) -> Iterator[Any]:
    """Copies of the estimator, each fitted to half of the rows, drawn without replacement; by class where y holds classes.

    Estimates from half of the rows without replacement vary as much as those from n rows with replacement. For a mean, the
    variance is s²/m (1 - m/n) with m = n/2 in the first case, and s²/n in the second, which is the same. With replacement, a
    row that is drawn twice would be its own nearest neighbour.
    """
    X, y = indexable(X, y)
    n, random = X.shape[0] if hasattr(X, "shape") else len(X), check_random_state(random_state)
    classes = np.zeros(n, dtype=int) if y is None else _classes(y, n)
    for _ in range(n_draws):
        drawn = [random.permutation(rows)[: (rows.size + 1) // 2] for rows in _members(classes)]
        rows = np.sort(np.concatenate(drawn))
        yield clone(estimator).fit(taken(X, rows), None if y is None else taken(y, rows))


def _classes(y: Any, n: int) -> np.ndarray:
    """Labels as numbers. Where y holds something else, all rows have the same number."""
    try:
        return class_codes(y, n)[0]
    except ValueError:
        return np.zeros(n, dtype=int)


def _members(classes: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(classes == label) for label in np.unique(classes)]


def taken(A: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, a sparse array, a data frame or a list."""
    if hasattr(A, "iloc"):
        return A.iloc[rows]
    return A[rows] if hasattr(A, "shape") else [A[i] for i in rows]


def matched(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The rows of ``found``, of unit length, in the order and with the signs that make them most similar to those expected."""
    cosines = expected @ found.T
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(expected)), order] < 0, -1.0, 1.0)
    return signs[:, None] * found[order]
