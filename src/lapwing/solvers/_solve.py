from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh


class Solution(NamedTuple):
    """Eigenvalues in ascending order, eigenvectors in columns, the rank of B, and the solver that was used."""

    values: np.ndarray
    vectors: np.ndarray
    rank: int
    solver: str


def numerical_rank(values: np.ndarray) -> int:
    """How many of the eigenvalues (ascending) of a positive semi-definite matrix are not rounding."""
    largest = values[-1] if values.size else 0.0
    return int((values > 10 * values.size * np.finfo(np.float64).eps * largest).sum()) if largest > 0 else 0


def whitening(B: np.ndarray) -> np.ndarray:
    """T with ``Tᵀ B T = I`` on the range of B: the null space is dropped first (thesis eq. 2.41 to 2.47)."""
    values, vectors = eigh(B, driver="evd")
    rank = numerical_rank(values)
    if values.size and values[0] < -1e-8 * max(abs(values[0]), abs(values[-1])):
        raise ValueError(
            f"the constraint matrix has a negative eigenvalue ({values[0]:.3g}; the largest is {values[-1]:.3g}); "
            "penalty= must attract only: move what it repels to graph="
        )
    return vectors[:, values.size - rank :] / np.sqrt(values[values.size - rank :])


def _dense(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    if 3 * k > A.shape[0]:  # all eigenvectors cost no more than many of them
        values, vectors = eigh(A, driver="evd")
        return values[:k], vectors[:, :k]
    return eigh(A, subset_by_index=[0, k - 1])


def _lanczos(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    # The start is random and seeded; the constant vector is an eigenvector of regular graphs.
    start = np.random.RandomState(0).standard_normal(A.shape[0])
    values, vectors = eigsh(A, k=k, which="SA", v0=start, tol=0, ncv=min(A.shape[0], max(4 * k, 40)), maxiter=10_000)
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


SOLVERS: dict[str, Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]] = {"dense": _dense, "lanczos": _lanczos}


def solve(A: np.ndarray, B: np.ndarray | None, k: int | None, *, solver: str = "auto") -> Solution:
    """The k smallest eigenpairs of ``A v = lambda B v`` on the range of B (B = I when None).

    ``k=None`` gives all. More than there are raises: fewer are never returned silently.
    """
    T = None if B is None else whitening(B)
    reduced = A if T is None else T.T @ A @ T
    reduced = (reduced + reduced.T) / 2
    rank = reduced.shape[0]
    k = rank if k is None else k
    if k > rank:
        raise ValueError(
            f"n_components={k} is more than the {rank} directions that the data and the constraint leave (the rank); use "
            f"n_components={rank} or less"
        )
    name = ("lanczos" if rank > 3000 and 30 * k < rank else "dense") if solver == "auto" else solver
    if name == "lanczos" and k >= rank:
        raise ValueError(f'solver="lanczos" finds fewer than all {rank} directions; use solver="dense" for n_components={k}')
    values, vectors = SOLVERS[name](reduced, k)
    return Solution(values, vectors if T is None else T @ vectors, rank, name)


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Rows with their largest entry positive; among entries equal to 1 part in a million, the first.

    The rule reads the components alone, so data, solver and thread count do not matter.
    """
    sizes = np.abs(components)
    first = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=1, keepdims=True), axis=1)
    signs = np.where(components[np.arange(len(components)), first] < 0, -1.0, 1.0)
    return components * signs[:, None]
