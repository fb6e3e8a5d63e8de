"""Fits to half of the rows, and which of their components are which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.utils import check_random_state, indexable

from ..rows import encode_labels


def half_fits(estimator: Any, X: Any, y: Any, n_draws: int, random_state: Any) -> Iterator[Any]:
    """Copies of the estimator, each fitted to half of the rows (of each class, where y holds classes), drawn without replacement.

    What is estimated from half of the rows without replacement varies as much as from as many as there are with replacement: the
    variance of a mean is s²/m (1 - m/n) in the one case, with m = n/2, and s²/n in the other. A row that is drawn twice would be
    its own nearest neighbour.
    """
    X, y = indexable(X, y)
    n, random = X.shape[0] if hasattr(X, "shape") else len(X), check_random_state(random_state)
    classes = np.zeros(n, dtype=int) if y is None else _classes(y, n)
    for _ in range(n_draws):
        drawn = [random.permutation(rows)[: (rows.size + 1) // 2] for rows in _members(classes)]
        rows = np.sort(np.concatenate(drawn))
        yield clone(estimator).fit(taken(X, rows), None if y is None else taken(y, rows))


def _classes(y: Any, n: int) -> np.ndarray:
    """Labels as numbers; all rows alike where y holds something else."""
    try:
        return encode_labels(y, n)
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
    """The rows of ``found``, of unit length, in the order and with the signs that make them most like those expected."""
    cosines = expected @ found.T
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(expected)), order] < 0, -1.0, 1.0)
    return signs[:, None] * found[order]
