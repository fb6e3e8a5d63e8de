"""Lanczos that is sure of repeated eigenvalues."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from threadpoolctl import threadpool_limits

Apply = Callable[[np.ndarray], np.ndarray]
SHORT, LONG = 100, 1000  # restarts: before a factorisation is tried, and where what is left is slower
ORTHONORMAL = 1e-8


class LanczosError(ArithmeticError):
    """Lanczos takes too long, or eigenvalues repeat so often that its Krylov space ends."""


def single_blas_thread() -> threadpool_limits:
    """For iterations with sparse matrices, whose vectors are too short to share: BLAS threads would only wait for each
    other (20 times slower on a busy machine).
    """
    return threadpool_limits(limits=1, user_api="blas")


def largest(
    apply: Apply, n: int, deflated: np.ndarray, k: int, restarts: int, tol: float = 1e-12
) -> tuple[np.ndarray, np.ndarray]:
    """The largest k eigenpairs, descending, orthogonal to ``deflated``, repeated eigenvalues as often as they are.

    Raises :class:`LanczosError` rather than return what are no eigenpairs.
    """
    random = np.random.RandomState(0)
    values, vectors = krylov(apply, random.standard_normal(n), deflated, k, restarts, tol)
    for _ in range(k + 1):
        # A Krylov space holds one vector of a repeated eigenvalue, so the largest of what is left must be no larger. What is
        # left is looked for from another start, which is not orthogonal to it; a Ritz value is right to the tolerance squared.
        start, found = random.standard_normal(n), np.hstack([deflated, vectors])
        if np.abs(found.T @ vectors - np.eye(found.shape[1], k, k - found.shape[1])).max() > ORTHONORMAL:
            break
        value, vector = krylov(apply, start, found, 1, restarts, 1e-4)
        if value[0] <= values[-1] + max(1e-8, 10 * tol) * abs(values[-1]) + 1e-15 * abs(values[0]):
            return values, vectors
        value, vector = krylov(apply, start, found, 1, restarts, tol)
        order = np.argsort(-np.append(values, value), kind="stable")[:k]
        values, vectors = np.append(values, value)[order], np.hstack([vectors, vector])[:, order]
    raise LanczosError


def krylov(
    apply: Apply, start: np.ndarray, deflated: np.ndarray, k: int, restarts: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """The largest k eigenpairs, descending, orthogonal to ``deflated``; repeated eigenvalues maybe once."""

    def project(v: np.ndarray) -> np.ndarray:
        return v - deflated @ (deflated.T @ v)

    def matvec(v: np.ndarray) -> np.ndarray:
        return project(apply(np.ravel(v)))  # the start has been projected, and so has all that follows from it

    n = start.size
    try:
        with single_blas_thread():
            values, vectors = eigsh(
                LinearOperator((n, n), matvec=matvec, dtype=np.float64),
                k=k,
                which="LA",
                v0=project(start),
                ncv=min(n, max(3 * k + 1, 20)),
                tol=tol,
                maxiter=restarts,
            )
    except ArpackError as error:
        raise LanczosError from error
    return values[::-1], vectors[:, ::-1]
