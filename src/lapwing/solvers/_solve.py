from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, eigsh

from ._lanczos import LONG, largest, single_blas_thread

Matrix = Any  # an ndarray or a LinearOperator


class RankError(ValueError):
    """More directions are asked for than there are."""


class Solution(NamedTuple):
    """Eigenvalues in ascending order, eigenvectors in columns, the rank of B, and the solver that was used."""

    values: np.ndarray
    vectors: np.ndarray
    rank: int | None
    solver: str


def numerical_rank(values: np.ndarray, floor: float = 0.0) -> int:
    """How many of the eigenvalues (ascending) of a positive semi-definite matrix are not rounding.

    ``floor`` is what the rounding of the data can add to an eigenvalue before any product is formed.
    """
    largest = values[-1] if values.size else 0.0
    return int((values > max(10 * values.size * np.finfo(np.float64).eps * largest, floor)).sum()) if largest > 0 else 0


def whitening(B: np.ndarray, ridge: float, floor: float) -> np.ndarray:
    """T with ``Tᵀ (B + ridge I) T = I`` on the range of B: the null space is dropped first (thesis eq. 2.41 to 2.47)."""
    values, vectors = np.linalg.eigh(B)
    if values.size and values[0] < -1e-8 * np.abs(values).max():
        raise ValueError(
            f"the constraint matrix has a negative eigenvalue ({values[0]:.3g}; the largest is {values[-1]:.3g}); "
            "penalty= must attract only: move what it repels to graph="
        )
    null = values.size - numerical_rank(values, floor)
    return vectors[:, null:] / np.sqrt(values[null:] + ridge)


def _dense(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    # All eigenvectors of a small matrix, or many of them, cost no more; and NumPy's BLAS has just been at work, while SciPy
    # brings threads of its own that wait for each other.
    if A.shape[0] < 500 or 3 * k > A.shape[0]:
        values, vectors = np.linalg.eigh(A)
        return values[:k], vectors[:, :k]
    return eigh(A, subset_by_index=[0, k - 1])


def _lanczos(A: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    n, bound = A.shape[0], float(np.abs(A).sum(axis=0).max())
    values, vectors = largest(lambda v: bound * v - A @ v, n, np.empty((n, 0)), k, LONG, 0.0)
    return bound - values, vectors


SOLVERS: dict[str, Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]] = {"dense": _dense, "lanczos": _lanczos}


def solve(
    A: Matrix,
    B: Matrix | None,
    k: int | None,
    *,
    ridge: float = 0.0,
    shift: float = 0.0,
    floor: float = 0.0,
    solver: str = "auto",
    diagonal: np.ndarray | None = None,
    tol: float = 1e-8,
) -> Solution:
    """The k smallest eigenpairs of ``A v = lambda B v`` on the range of B (B = I when None); ``k=None`` gives all.

    With a ridge, ``(A - shift B) v = (lambda - shift) (B + ridge I) v``: what B does not see goes to lambda = shift, not to
    0. Eigenvalues of B up to ``floor`` count as 0. More pairs than there are raises: fewer are never returned silently. A
    and B may be operators, for which B's ``diagonal`` and a ridge are needed, and ``tol`` is the accuracy.
    """
    if isinstance(A, LinearOperator):
        if solver == "dense":
            raise ValueError(
                f'solver="dense" would form a dense {A.shape[0]} x {A.shape[0]} matrix; use solver="lanczos" or "auto", or '
                "give a number of directions as pca="
            )
        return _matrix_free(A, B, k, ridge, shift, diagonal, tol)
    shift = shift if ridge else 0.0
    T, reduced = None, A
    if B is not None:
        T = whitening(B, ridge, floor)
        reduced = T.T @ (A - shift * B) @ T
        reduced = (reduced + reduced.T) / 2
    rank = reduced.shape[0]
    k = rank if k is None else k
    if rank == 0:
        raise RankError("no direction is left: X is constant, or penalty= links equal samples only")
    if k > rank:
        raise RankError(
            f"n_components={k} is more than the {rank} directions that the data and the constraint leave (the rank); use "
            f"n_components={rank} or less"
        )
    name = "dense" if solver == "auto" else solver  # Lanczos is hardly ever faster on a dense matrix
    if name == "lanczos" and k >= rank:
        raise ValueError(
            f'solver="lanczos" finds fewer than all {rank} directions; use solver="dense" for n_components={k}'
        )
    values, vectors = SOLVERS[name](reduced, k)
    return Solution(values + shift, vectors if T is None else T @ vectors, rank, name)


def _matrix_free(A: Any, B: Any, k: int | None, ridge: float, shift: float, diagonal: Any, tol: float) -> Solution:
    """Lanczos on operators, with conjugate gradients for ``(B + ridge I)^-1``; the rank stays unknown."""
    if k is None or k >= A.shape[0] - 1 or ridge <= 0:
        raise ValueError(
            f"X is too large to be decomposed whole (n_components={k}); give n_components, and either ridge > 0 or a number of "
            "directions as pca="
        )
    identity = aslinearoperator(sparse.eye_array(A.shape[0]))
    M = B + ridge * identity
    jacobi = aslinearoperator(sparse.diags_array(1 / (diagonal + ridge)))
    solve_m = LinearOperator(A.shape, matvec=lambda b: _conjugate_gradients(M, b, jacobi, tol / 100), dtype=np.float64)
    start = np.random.RandomState(0).standard_normal(A.shape[0])
    with single_blas_thread():
        values, vectors = eigsh(A - shift * B, k=k, M=M, Minv=solve_m, which="SA", v0=start, tol=tol)
    seen = values < -tol * shift
    if not seen.all():
        raise RankError(
            f"n_components={k} is more than the {seen.sum()} directions that the graph tells from noise; use fewer"
        )
    order = np.argsort(values, kind="stable")
    return Solution(values[order] + shift, vectors[:, order], None, "lanczos")


def _conjugate_gradients(M: LinearOperator, b: np.ndarray, preconditioner: LinearOperator, rtol: float) -> np.ndarray:
    x, failed = cg(M, b, rtol=rtol, atol=0.0, maxiter=10_000, M=preconditioner)
    if failed:
        raise ValueError("the constraint is too ill-conditioned to be inverted; use a larger ridge")
    return x


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Rows with their largest entry positive; among entries equal to 1 part in a million, the first.

    The rule reads the components alone, so data, solver and thread count do not matter.
    """
    sizes = np.abs(components)
    first = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=1, keepdims=True), axis=1)
    signs = np.where(components[np.arange(len(components)), first] < 0, -1.0, 1.0)
    return components * signs[:, None]
