"""Rank revelation: which directions of a semidefinite matrix are there, and which are rounding."""

from __future__ import annotations

import numpy as np


class RankError(ValueError):
    """More directions are asked for than there are."""


def numerical_rank(values: np.ndarray, floor: float = 0.0) -> int:
    """How many of the eigenvalues (ascending) of a positive semi-definite matrix are not rounding.

    ``floor`` is what the rounding of the data can add to an eigenvalue before any product is formed.
    """
    largest = values[-1] if values.size else 0.0
    return int((values > max(10 * values.size * np.finfo(np.float64).eps * largest, floor)).sum()) if largest > 0 else 0


def whitening(B: np.ndarray, ridge: float = 0.0, floor: float = 0.0) -> np.ndarray:
    """T with ``Tᵀ (B + ridge I) T = I`` on the range of B: the null space is dropped first (thesis eq. 2.41 to 2.47)."""
    values, vectors = np.linalg.eigh(B)
    if values.size and values[0] < -1e-8 * np.abs(values).max():
        raise ValueError(
            f"the constraint matrix has a negative eigenvalue ({values[0]:.3g}; the largest is {values[-1]:.3g}); "
            "penalty= must attract only: move what it repels to graph="
        )
    null = values.size - numerical_rank(values, floor)
    return vectors[:, null:] / np.sqrt(values[null:] + ridge)
