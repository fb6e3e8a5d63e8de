"""Orthogonal directions with the smallest ratio of two traces."""

from __future__ import annotations

import numpy as np

from ._rank import RankError
from ._solve import Solution, solve

MOST_STEPS = 100  # Newton's method takes fewer than ten


def trace_ratio(A: np.ndarray, B: np.ndarray, k: int | None, floor: float = 0.0) -> tuple[float, Solution]:
    r"""The smallest ``tr(VᵀAV) / tr(VᵀBV)`` with VᵀV = I, and the eigenpairs of ``A - ratio B`` that attain it.

    The function

    .. math:: f(\rho) = \min_{V^\top V = I} \operatorname{tr}(V^\top (A - \rho B) V)

    is concave, falls with :math:`\rho`, and is 0 at the smallest ratio. Newton's method finds this ratio from above: the next
    :math:`\rho` is the ratio of the V that attains f. There is no local minimum that it could get stuck in [1]_.

    Parameters
    ----------
    A, B : ndarray of shape (n, n)
        Symmetric; B has no negative eigenvalue.
    k : int or None
        How many directions to find; None finds all.
    floor : float, default=0
        Eigenvalues of B up to here count as 0.

    References
    ----------
    .. [1] T. T. Ngo, M. Bellalij and Y. Saad, "The trace ratio optimization problem", SIAM Review 54, 2012.
       https://doi.org/10.1137/120864799
    """
    longest = solve(-B, None, k)
    if -longest.values.min(initial=0.0) <= floor or not longest.values.min(initial=0.0) < 0:
        raise RankError("no direction is left: penalty= links equal samples only, or X is constant")
    ratio = _ratio(A, B, longest.vectors)
    for _ in range(MOST_STEPS):
        found = solve(A - ratio * B, None, k)
        size = np.abs(A).max() + abs(ratio) * np.abs(B).max()
        if found.values.sum() >= -1e-14 * size * len(A):
            break  # no V has a smaller ratio
        seen = np.trace(found.vectors.T @ B @ found.vectors)
        if seen <= max(floor, 1e-14 * np.abs(B).max()):
            raise ValueError(
                "the ratio of the traces has no least value: along directions that penalty= does not see, graph= repels; take "
                "what repels out of graph=, or use fewer components"
            )
        ratio = _ratio(A, B, found.vectors)
    return ratio, found._replace(solver="newton")


def _ratio(A: np.ndarray, B: np.ndarray, V: np.ndarray) -> float:
    return float(np.vdot(V, A @ V) / np.vdot(V, B @ V))
