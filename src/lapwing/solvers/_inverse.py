"""The inverse of a sparse matrix, as an operator."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, splu


def inverse(M: Any) -> LinearOperator:
    """The inverse of a sparse, symmetric, positive definite matrix, by its factors. No dense matrix is formed."""
    factor = splu(
        sparse.csc_array(M), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )

    def solved(V: np.ndarray) -> np.ndarray:
        return factor.solve(np.asarray(V, dtype=np.float64))

    return LinearOperator(M.shape, matvec=solved, rmatvec=solved, matmat=solved, rmatmat=solved, dtype=np.float64)
