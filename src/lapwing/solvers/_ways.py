"""The ways to find the smallest eigenpairs of one symmetric matrix, orthogonal to what is deflated."""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import splu

from ._block import block_largest
from ._lanczos import Apply, LanczosError, largest

COLUMNS = 32  # to form its matrix, an operator is multiplied by this many columns at a time
SHIFT = 1e-9  # this share of the mean of the diagonal is added, so that a matrix with a null space can be factorised
RESIDUALS = {"float64": 1e-12, "float32": 1e-5}  # the largest residuals of eigenvectors, by the precision of products


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
        """Whether M maps the deflated space into itself, as it does for eigenvectors.

        Then it maps what is orthogonal to it likewise.
        """
        D: Any = self.deflated
        n = len(D)
        image = self.M @ D
        other = self.M @ (np.random.RandomState(0).standard_normal(n) / np.sqrt(n)).astype(D.dtype)
        scale = max(abs(self.bound), float(np.linalg.norm(other)))
        return bool(np.linalg.norm(image - D @ (D.T @ image)) <= RESIDUALS[D.dtype.name] * scale)

    def after_deflation(self, apply: Apply) -> Apply:
        D: Any = self.deflated
        return lambda V: apply(V - D @ (D.T @ V))


def whole(M: Any) -> np.ndarray:
    """The matrix itself.

    An operator is multiplied by a few columns at a time, since all at once would take as much memory as X.
    """
    if isinstance(M, np.ndarray) or sparse.issparse(M):
        return M.toarray() if sparse.issparse(M) else M
    n = M.shape[0]
    columns = np.split(np.eye(n, dtype=M.dtype), range(COLUMNS, n, COLUMNS), axis=1)
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
    # NumPy finds all eigenvectors here. For a small matrix, or where many are wanted, this costs no more. And its BLAS
    # threads are running already, while those of SciPy's own BLAS would be added and wait for each other.
    if M.shape[0] < 500 or 3 * k > M.shape[0]:
        values, vectors = np.linalg.eigh(M)
        return Pairs(values[:k], vectors[:, :k], float(values[k]) if k < len(values) else inf)
    return Pairs(*eigh(M, subset_by_index=[0, k - 1]))


def lanczos(problem: Standard, k: int, restarts: int) -> Pairs:
    # Each product is deflated afterwards. The result is symmetric where the matrix maps the deflated space into itself;
    # elsewhere vectors must be deflated before the product as well.
    apply = problem.flipped if problem.invariant else problem.after_deflation(problem.flipped)
    values, vectors, following = largest(apply, problem.deflated, k, restarts, problem.tol)
    return Pairs(problem.bound - values, vectors, problem.bound - following)


def shift_invert(problem: Standard, k: int, restarts: int) -> Pairs:
    """Lanczos on the inverse of a sparse, semidefinite matrix, by its factors."""
    M = problem.M
    shift = float(SHIFT * M.diagonal().mean())
    shifted = sparse.csc_array(M + shift * sparse.eye_array(M.shape[0]))
    try:
        factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError as error:  # SuperLU says that the matrix is singular
        raise LanczosError(f"the matrix of {M.shape[0]} rows has no factors to invert it by: {error}") from error
    # The inverse is huge along the constant, so what rounding leaves of the constant must be removed from each product.
    _, V, following = largest(problem.after_deflation(factor.solve), problem.deflated, k, restarts, problem.tol)
    # The smallest eigenvalues are far below the shift, so that M itself is used to tell them apart.
    values, rotation = np.linalg.eigh(V.T @ (M @ V))
    return Pairs(values, V @ rotation, 1 / following - shift if following > 0 else None)


def block_lanczos(problem: Standard, k: int) -> Pairs:
    values, vectors, following = block_largest(problem.flipped, problem.deflated, k, problem.tol)
    return Pairs(problem.bound - values, vectors, None if following is None else problem.bound - following)
