"""The numerical rank: which directions of a semidefinite matrix are real, and which come from rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class RankError(ValueError):
    """Raised where more directions are asked for than there are."""


def numerical_rank(values: np.ndarray, floor: float = 0.0) -> int:
    """How many eigenvalues of a positive semi-definite matrix, given in ascending order, do not come from rounding.

    ``floor`` is what the rounding of the data can add to an eigenvalue before any product is formed.
    """
    largest = values[-1] if values.size else 0.0
    return int((values > max(10 * values.size * np.finfo(np.float64).eps * largest, floor)).sum()) if largest > 0 else 0


def whitening(B: np.ndarray, ridge: float = 0.0, floor: float = 0.0, per: float | None = None) -> Any:
    """T with ``Tᵀ (B + rho I) T = I`` on the range of B. The null space is dropped first (thesis eq. 2.41 to 2.47).

    B is a matrix, or the diagonal of one; T is sparse for a diagonal, and where there is a ridge and B is diagonal up to
    rounding, as a constraint without weights is in principal coordinates. rho is ``ridge`` times the trace of B over ``per``.
    Where ``per`` is None it is the rank of B, so that the unit of the ridge is the mean eigenvalue.
    """
    if B.ndim == 1:
        kept = np.flatnonzero(floor < B)
        values, vectors = (
            B[kept],
            sparse.csr_array((np.ones(kept.size), (kept, np.arange(kept.size))), shape=(B.size, kept.size)),
        )
    else:
        values, n = np.diagonal(B), len(B)
        largest = np.abs(values).max(initial=0.0)
        if ridge and n > 1 and np.abs(B - np.diag(values)).max() <= n * np.finfo(np.float64).eps * largest:
            order = np.argsort(values, kind="stable")
            values, vectors = values[order], sparse.csc_array((np.ones(n), (order, np.arange(n))), shape=(n, n))
        else:
            values, vectors = np.linalg.eigh(B)
        if values.size and values[0] < -max(1e-8 * np.abs(values).max(), floor):
            raise ValueError(
                f"the constraint matrix has a negative eigenvalue ({values[0]:.3g}; the largest is {values[-1]:.3g}); "
                "penalty= must attract only: move what it repels to graph="
            )
        null = values.size - numerical_rank(values, floor)
        values, vectors = values[null:], vectors[:, null:]
    lengths = np.sqrt(values + ridge * values.sum() / (per or max(values.size, 1)))
    return vectors @ sparse.diags_array(1 / lengths) if sparse.issparse(vectors) else vectors / lengths
