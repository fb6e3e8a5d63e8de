"""Lanczos by SciPy's ARPACK, made repeatable to the bit, and checked for repeated eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from threadpoolctl import threadpool_limits

Apply = Callable[[np.ndarray], np.ndarray]
ORTHONORMAL = 1e-8
# Where a Krylov space ends, ARPACK goes on from a random vector: since SciPy 1.17 from one of the operating system's entropy,
# unless it is told otherwise; before, from the next one of the process, which nothing can set back.
SEED = {"rng": 0} if "rng" in signature(eigsh).parameters else {}


class LanczosError(ArithmeticError):
    """Raised where Lanczos takes too long, or where eigenvalues repeat so often that its Krylov space ends."""


def single_blas_thread() -> threadpool_limits:
    """For iterations with sparse matrices, whose vectors are too short to share: BLAS threads would only wait for each
    other (20 times slower on a busy machine).
    """
    return threadpool_limits(limits=1, user_api="blas")


def seeded_eigsh(
    A: Any, k: int, *, start: np.ndarray | None = None, which: str = "LA", **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's ``eigsh`` with a seed, on one BLAS thread: eigenvalues ascending, the largest unless ``which`` says otherwise.

    Raises :class:`LanczosError` where ARPACK gives up.
    """
    start = np.random.RandomState(0).standard_normal(A.shape[0]) if start is None else start
    A = A if SEED else _refusing_to_go_on(A)
    try:
        with single_blas_thread():
            return eigsh(A, k=k, which=which, v0=start, **SEED, **options)
    except ArpackError as error:
        raise LanczosError(f"Lanczos found no {k} eigenvectors of {A.shape[0]} rows: {error}") from error


def _refusing_to_go_on(A: Any) -> LinearOperator:
    """A, which raises :class:`LanczosError` where it is multiplied by a vector that does not follow from the last product.

    The next vector of a Krylov space is what the last product adds to the space, so that their inner product is its length; a
    random one is orthogonal to the space, which holds the last product.
    """
    last, n = np.empty(0), A.shape[0]

    def matvec(v: np.ndarray) -> np.ndarray:
        nonlocal last
        v = np.ravel(v)
        if last.size and abs(v @ last) <= 10 * np.finfo(float).eps * np.sqrt(n) * np.linalg.norm(last):
            raise LanczosError(f"the Krylov space of a matrix of {n} rows ends, since its eigenvalues repeat")
        last = np.array(A @ v)
        return last

    return LinearOperator(A.shape, matvec=matvec, dtype=np.float64)


def largest(
    apply: Apply, deflated: np.ndarray, k: int, restarts: int, tol: float = 1e-12
) -> tuple[np.ndarray, np.ndarray, float]:
    """The largest k eigenpairs, descending, orthogonal to ``deflated``, repeated eigenvalues as often as they are.

    The third is the next eigenvalue, to half as many digits.

    Raises :class:`LanczosError` rather than return what are no eigenpairs.
    """
    random, n = np.random.RandomState(0), len(deflated)
    values, vectors = krylov(apply, random.standard_normal(n), deflated, k, restarts, tol)
    for _ in range(k + 1):
        # A Krylov space holds one vector of a repeated eigenvalue, so the largest of what is left must be no larger. What is
        # left is looked for from another start, which is not orthogonal to it; a Ritz value is right to the tolerance squared.
        start, found = random.standard_normal(n), np.hstack([deflated, vectors])
        if np.abs(found.T @ vectors - np.eye(found.shape[1], k, k - found.shape[1])).max() > ORTHONORMAL:
            raise LanczosError(f"Lanczos found {k} vectors of {n} rows that are not orthogonal to each other")
        value, vector = krylov(apply, start, found, 1, restarts, 1e-4)
        if value[0] <= values[-1] + max(1e-8, 10 * tol) * abs(values[-1]) + 1e-15 * abs(values[0]):
            return values, vectors, float(value[0])
        value, vector = krylov(apply, start, found, 1, restarts, tol)
        order = np.argsort(-np.append(values, value), kind="stable")[:k]
        values, vectors = np.append(values, value)[order], np.hstack([vectors, vector])[:, order]
    raise LanczosError(f"eigenvalues of a matrix of {n} rows repeat too often for Lanczos to find the first {k}")


def krylov(
    apply: Apply, start: np.ndarray, deflated: np.ndarray, k: int, restarts: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """The largest k eigenpairs, descending, orthogonal to ``deflated``; repeated eigenvalues maybe once."""

    def project(v: np.ndarray) -> np.ndarray:
        return v - deflated @ (deflated.T @ v)

    def matvec(v: np.ndarray) -> np.ndarray:
        return project(apply(np.ravel(v)))  # the start has been projected, and so has all that follows from it

    n = start.size
    values, vectors = seeded_eigsh(
        LinearOperator((n, n), matvec=matvec, dtype=np.float64),
        k,
        start=project(start),
        ncv=min(n, max(3 * k + 1, 20)),
        tol=tol,
        maxiter=restarts,
    )
    return values[::-1], project(vectors[:, ::-1])  # rounding leaks into what is deflated where that is huge
