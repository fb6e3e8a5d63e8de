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
# Where a Krylov space ends, ARPACK goes on from a random vector. Since SciPy 1.17 that vector comes from the operating
# system, unless a seed is given. Before, it came from a sequence of the process that nothing can set back.
SEED = {"rng": 0} if "rng" in signature(eigsh).parameters else {}


class LanczosError(ArithmeticError):
    """Raised where Lanczos takes too long, or where eigenvalues repeat so often that its Krylov space ends."""


def single_blas_thread() -> threadpool_limits:
    """One BLAS thread, for iterations with sparse matrices.

    Their vectors are too short to be shared among threads, which would only wait for each other (20 times slower on a busy
    machine).
    """
    return threadpool_limits(limits=1, user_api="blas")


def seeded_eigsh(
    A: Any, k: int, *, start: np.ndarray | None = None, which: str = "LA", **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """SciPy's ``eigsh`` with a seed, on one BLAS thread. Eigenvalues are ascending, the largest unless ``which`` says otherwise.

    Raises :class:`LanczosError` where ARPACK gives up.
    """
    start = np.random.RandomState(0).standard_normal(A.shape[0]) if start is None else start
    A = A if SEED else _refusing_to_go_on(A)
    try:
        with threadpool_limits(limits=1, user_api="blas"):  # see single_blas_thread
            return eigsh(A, k=k, which=which, v0=start, **SEED, **options)
    except ArpackError as error:
        raise LanczosError(f"Lanczos found no {k} eigenvectors of {A.shape[0]} rows: {error}") from error


def _refusing_to_go_on(A: Any) -> LinearOperator:
    """A as an operator that raises :class:`LanczosError` when its Krylov space has ended.

    It notices this by the vector that it is multiplied with. The next vector of a Krylov space is what the last product adds
    to the space, so their inner product is the length of the new part. After the end ARPACK takes a random vector. This is
    orthogonal to the space, and so to the last product.
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
    """The largest k eigenpairs, descending and orthogonal to ``deflated``. A repeated eigenvalue occurs as often as it repeats.

    The third result is the next eigenvalue, to half as many digits.

    It raises :class:`LanczosError` rather than return vectors that are no eigenvectors.
    """
    random, n = np.random.RandomState(0), len(deflated)
    values, vectors = krylov(apply, random.standard_normal(n), deflated, k, restarts, tol)
    for _ in range(k + 1):
        # A Krylov space holds only one vector of a repeated eigenvalue. So the largest eigenvalue of what is left is looked
        # for, and nothing was missed where it is no larger. This search has another start, which is not orthogonal to what
        # was missed. A loose tolerance is enough, since the error of a Ritz value is its square.
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
    """The largest k eigenpairs, descending, orthogonal to ``deflated``. A repeated eigenvalue may occur only once."""
    # The start is projected, and so is every vector that follows from it.
    n = start.size
    values, vectors = seeded_eigsh(
        LinearOperator(
            (n, n), matvec=lambda v: (w := apply(np.ravel(v))) - deflated @ (deflated.T @ w), dtype=np.float64
        ),
        k,
        start=start - deflated @ (deflated.T @ start),
        ncv=min(n, max(3 * k + 1, 20)),
        tol=tol,
        maxiter=restarts,
    )
    # Rounding brings back some of what is deflated where its eigenvalues are huge.
    vectors = vectors[:, ::-1]
    return values[::-1], vectors - deflated @ (deflated.T @ vectors)
