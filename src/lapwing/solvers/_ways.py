"""The ways to find the smallest eigenpairs of one symmetric matrix, orthogonal to what is deflated."""

from __future__ import annotations

from functools import cached_property
from inspect import signature
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh, splu
from threadpoolctl import threadpool_limits

from ._block import Apply, block_largest

COLUMNS_AT_ONCE = 32  # to form its matrix, an operator is multiplied by this many columns at a time
SHIFT_SHARE = 1e-9  # of the mean of the diagonal, which is added, so that a matrix with a null space can be factorised
RESIDUALS = {"float64": 1e-12, "float32": 1e-5}  # the largest residuals of eigenvectors, by the precision of products
ORTHONORMAL_ERROR = 1e-8
# Where a Krylov space ends, ARPACK goes on from a random vector, which has a seed since SciPy 1.17.
SEED = {"rng": 0} if "rng" in signature(eigsh).parameters else {}


class LanczosError(ArithmeticError):
    """Raised where Lanczos takes too long, or where eigenvalues repeat so often that its Krylov space ends."""


class Pairs(NamedTuple):
    """Eigenvalues, ascending, eigenvectors in columns, and the next eigenvalue: infinite after the last, None where unknown."""

    values: np.ndarray
    vectors: np.ndarray
    following: float | None = None


class Standard:
    """The eigenproblem ``M z = lambda z`` with ``deflatedᵀ z = 0``.

    M is a matrix or an operator, and no eigenvalue of an operator is larger than ``bound``.
    """

    def __init__(self, M: Any, deflated: np.ndarray, bound: float | None = None, tol: float | None = None):
        single = not sparse.issparse(M) and M.dtype == np.float32
        self.M, self.deflated = M, deflated.astype(np.float32 if single else np.float64, copy=False)
        self.tol = RESIDUALS[self.deflated.dtype.name] if tol is None else tol
        # Abs of a copy, since SciPy sorts the entries of what it takes abs of.
        self.bound = bound = float(abs(M.copy()).sum(axis=1).max() if bound is None else bound)
        # Products with ``bound I - M``, whose largest eigenvalues are the smallest of M.
        self.flipped: Apply = lambda V: bound * V - M @ V

    @cached_property
    def invariant(self) -> bool:
        """Whether M maps the deflated space into itself, as it does for eigenvectors, and so the space orthogonal to it, too."""
        D: Any = self.deflated
        image, other = self.M @ D, np.random.RandomState(0).standard_normal(len(D)) / np.sqrt(len(D))
        scale = max(abs(self.bound), float(np.linalg.norm(self.M @ other.astype(D.dtype))))
        return bool(np.linalg.norm(image - D @ (D.T @ image)) <= RESIDUALS[D.dtype.name] * scale)


def whole(M: Any) -> np.ndarray:
    """The matrix itself, of an operator by products with a few columns: with all at once they take as much memory as X."""
    if isinstance(M, np.ndarray) or sparse.issparse(M):
        return M.toarray() if sparse.issparse(M) else M
    n = M.shape[0]
    columns = np.split(np.eye(n, dtype=M.dtype), range(COLUMNS_AT_ONCE, n, COLUMNS_AT_ONCE), axis=1)
    found = np.hstack([M @ V for V in columns]).astype(np.float64)
    return (found + found.T) / 2


def dense(problem: Standard, k: int) -> Pairs:
    M, deflated = whole(problem.M), problem.deflated.astype(np.float64, copy=False)
    if not deflated.shape[1]:
        return decomposed(M, k)
    Q = np.linalg.qr(deflated, mode="complete")[0][:, deflated.shape[1] :]
    found = decomposed(Q.T @ M @ Q, k)
    return found._replace(vectors=Q @ found.vectors)


def decomposed(M: np.ndarray, k: int) -> Pairs:
    # For a small matrix, or where many are wanted, all eigenvectors cost no more, and the threads of NumPy's BLAS run already.
    if M.shape[0] < 500 or 3 * k > M.shape[0]:
        values, vectors = np.linalg.eigh(M)
        return Pairs(values[:k], vectors[:, :k], float(values[k]) if k < len(values) else inf)
    return Pairs(*eigh(M, subset_by_index=[0, k - 1]))


def lanczos(problem: Standard, k: int, restarts: int) -> Pairs:
    # Each product is deflated. Where the matrix does not map the deflated space into itself, vectors must be before it, too.
    D: Any = problem.deflated
    apply: Apply = problem.flipped if problem.invariant else lambda V: problem.flipped(V - D @ (D.T @ V))
    values, vectors, following = largest(apply, D, k, restarts, problem.tol)
    return Pairs(problem.bound - values, vectors, problem.bound - following)


def shift_invert(problem: Standard, k: int, restarts: int) -> Pairs:
    """Lanczos on the inverse of a sparse, semidefinite matrix, by its factors."""
    M: Any = problem.M
    D: Any = problem.deflated
    shift = float(SHIFT_SHARE * M.diagonal().mean())
    try:
        inverted = inverse(M + shift * sparse.eye_array(M.shape[0]))
    except RuntimeError as error:  # SuperLU says that the matrix is singular
        raise LanczosError(f"the matrix of {M.shape[0]} rows has no factors to invert it by: {error}") from error
    # The inverse is huge along the constant, so what rounding leaves of the constant must be removed from each product.
    _, V, following = largest(lambda V: inverted @ (V - D @ (D.T @ V)), D, k, restarts, problem.tol)
    # The smallest eigenvalues are far below the shift, so that M itself is used to tell them apart.
    values, rotation = np.linalg.eigh(V.T @ (M @ V))
    return Pairs(values, V @ rotation, 1 / following - shift if following > 0 else None)


def inverse(M: Any) -> LinearOperator:
    """The inverse of a sparse, symmetric, positive definite matrix, by its factors. No dense matrix is formed."""
    options: Any = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    factor = splu(sparse.csc_array(M), **options)
    names = ("matvec", "matmat", "rmatvec", "rmatmat")
    products: Any = dict.fromkeys(names, lambda V: factor.solve(np.asarray(V, dtype=np.float64)))
    return LinearOperator(M.shape, dtype=np.float64, **products)


def block_lanczos(problem: Standard, k: int) -> Pairs:
    values, vectors, following = block_largest(problem.flipped, problem.deflated, k, problem.tol)
    return Pairs(problem.bound - values, vectors, None if following is None else problem.bound - following)


def largest(
    apply: Apply, deflated: np.ndarray, k: int, restarts: int, tol: float = 1e-12
) -> tuple[np.ndarray, np.ndarray, float]:
    """The largest k eigenpairs, descending and orthogonal to ``deflated``, and the next eigenvalue to half as many digits.

    A repeated eigenvalue occurs as often as it repeats. Raises :class:`LanczosError` rather than return vectors that are no
    eigenvectors.
    """
    random, n = np.random.RandomState(0), len(deflated)
    values, vectors = krylov(apply, random.standard_normal(n), deflated, k, restarts, tol)
    for _ in range(k + 1):
        # A Krylov space holds one vector of a repeated eigenvalue. So the largest of what is left is looked for, from another
        # start, and nothing was missed where it is no larger. The error of a Ritz value is the square of the tolerance.
        start, found = random.standard_normal(n), np.hstack([deflated, vectors])
        if np.abs(found.T @ vectors - np.eye(found.shape[1], k, k - found.shape[1])).max() > ORTHONORMAL_ERROR:
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
    n = start.size
    A = LinearOperator((n, n), matvec=lambda v: (w := apply(v.ravel())) - deflated @ (deflated.T @ w), dtype=np.float64)
    start = start - deflated @ (deflated.T @ start)  # and so every vector that follows from it
    values, vectors = seeded_eigsh(A, k, start=start, ncv=min(n, max(3 * k + 1, 20)), tol=tol, maxiter=restarts)
    # Rounding brings back some of what is deflated where its eigenvalues are huge.
    vectors = vectors[:, ::-1]
    return values[::-1], vectors - deflated @ (deflated.T @ vectors)


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

    ARPACK then takes a random vector, which is orthogonal to the space and so to the last product, as no next vector is.
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


def single_blas_thread() -> threadpool_limits:
    """One BLAS thread, for iterations with sparse matrices, whose vectors are too short to be shared among threads."""
    return threadpool_limits(limits=1, user_api="blas")
