"""The eigenproblem of a free map: one unknown a sample, and a sparse matrix."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from ._block import block_largest
from ._lanczos import LONG, SHORT, Apply, LanczosError, krylov, largest
from ._solve import RankError, Solution

DENSE_SAMPLES = 400  # up to here a dense decomposition is as fast
DENSE_AT_LAST = 2000  # and up to here it takes seconds, where Lanczos fails
COLUMNS = 32  # multiplied at a time to form a matrix
SHIFT = 1e-9  # of the mean of the diagonal: the factorisation of a matrix with a null space needs one
RESIDUALS = {"float64": 1e-12, "float32": 1e-5}  # of eigenvectors found in products of this precision


def solve_free(
    A: sparse.csr_array, b: np.ndarray, k: int, *, semidefinite: bool = True, crowded: bool = True
) -> Solution:
    """The k smallest eigenpairs of ``A y = lambda B y`` with ``1ᵀ B y = 0``, B = diag(b); rows with b = 0 stay at 0.

    The constant is kept out by deflation, so the other null vectors of a graph in several pieces come first. Where the
    smallest eigenvalues are ``crowded`` at 0, as those of a surface, a semidefinite A is factorised; else Lanczos works on A
    itself, and A is factorised only if that takes long: factors of a graph in many dimensions fill up. Where both fail, as by
    eigenvalues that repeat, the solution is dense, or by blocks if n is large.
    """
    live = np.flatnonzero(b > 0)
    if k >= live.size:
        raise RankError(
            f"n_components={k} is more than {live.size} samples leave beside the constant, {live.size - 1}; use fewer"
        )
    roots = np.sqrt(b[live])
    scale = sparse.diags_array(1 / roots)
    M = sparse.csr_array(scale @ A[live][:, live] @ scale)
    constant = roots[:, None] / np.linalg.norm(roots)
    if live.size <= DENSE_SAMPLES or 3 * k > live.size:
        values, vectors, name = *_dense(M.toarray(), constant, k), "dense"
    else:
        values, vectors, name = _iterated(M, constant, k, semidefinite, crowded)
    Y = np.zeros((b.size, k))
    Y[live] = vectors / roots[:, None]
    return Solution(values, Y, live.size - 1, name)


def solve_operator(apply: Apply, n: int, k: int, dtype: Any = np.float64) -> Solution:
    """The k smallest eigenpairs, but the constant, of I less the symmetric n x n matrix that ``apply`` multiplies with.

    ``apply`` takes vectors, and blocks of them, of ``dtype``. Blocks are twice as fast in single precision, and up to three
    times slower in double, where residuals are to be much smaller (measured on 1,440 x 1,024 and 10,000 x 256). Few samples,
    or nearly all directions, are solved densely, and so is a spectrum that Lanczos cannot resolve, or by blocks if n is large.
    """
    if k >= n:
        raise RankError(f"n_components={k} is more than {n} samples leave beside the constant, {n - 1}; use fewer")
    constant, tol = np.full((n, 1), n**-0.5, dtype=dtype), RESIDUALS[np.dtype(dtype).name]
    if dtype != np.float32 and n > DENSE_SAMPLES and 3 * k <= n:
        with suppress(LanczosError):
            values, vectors = largest(apply, n, constant, k, _patience(n), tol)
            return Solution(1 - values, vectors, n - 1, "lanczos")
    values, vectors, name = _at_last(apply, constant, k, tol)
    return Solution(1 - values, vectors, n - 1, name)


def largest_value(apply: Apply, n: int, dtype: Any = np.float64) -> float:
    """The largest eigenvalue of the symmetric n x n matrix that ``apply`` multiplies with, as in :func:`solve_operator`."""
    tol, none = 1e-4 if dtype == np.float32 else 1e-6, np.empty((n, 0))  # the value is right to the residual squared
    if n <= DENSE_SAMPLES:
        return float(np.linalg.eigvalsh(_whole(apply, n, dtype))[-1])
    if dtype != np.float32:
        with suppress(LanczosError):
            return float(krylov(apply, np.random.RandomState(0).standard_normal(n), none, 1, SHORT, tol)[0][0])
    return float(block_largest(apply, none.astype(dtype), 1, tol)[0][0])


def _iterated(
    M: sparse.csr_array, constant: np.ndarray, k: int, semidefinite: bool, crowded: bool
) -> tuple[np.ndarray, np.ndarray, str]:
    n, bound = M.shape[0], float(abs(M).sum(axis=1).max())
    flipped = sparse.csr_array(bound * sparse.eye_array(n) - M).__matmul__
    if not (semidefinite and crowded):
        with suppress(LanczosError):
            values, vectors = largest(flipped, n, constant, k, SHORT if semidefinite else _patience(n))
            return bound - values, vectors, "lanczos"
    if semidefinite:
        with suppress(LanczosError):
            return *_shift_invert(M, constant, k), "shift-invert"
    values, vectors, name = _at_last(flipped, constant, k, RESIDUALS["float64"])
    return bound - values, vectors, name


def _patience(n: int) -> int:
    """How often Lanczos restarts where only :func:`_at_last` is left."""
    return SHORT if n <= DENSE_AT_LAST else LONG


def _at_last(apply: Apply, constant: np.ndarray, k: int, tol: float) -> tuple[np.ndarray, np.ndarray, str]:
    """The k largest eigenpairs but the constant, whatever the eigenvalues are: densely, or by blocks where n is large."""
    n = len(constant)
    if n > (DENSE_SAMPLES if constant.dtype == np.float32 else DENSE_AT_LAST) and 3 * k <= n:
        return *block_largest(apply, constant, k, tol), "block-lanczos"
    M = _whole(apply, n, constant.dtype)
    values, vectors = _dense(-(M + M.T) / 2, constant.astype(np.float64), k)
    return -values, vectors, "dense"


def _whole(apply: Apply, n: int, dtype: Any) -> np.ndarray:
    """The matrix itself, of few columns at a time: products with all would take as much as X along the way."""
    columns = np.split(np.eye(n, dtype=dtype), range(COLUMNS, n, COLUMNS), axis=1)
    return np.hstack([apply(V) for V in columns]).astype(np.float64)


def _dense(M: np.ndarray, constant: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    v = constant.copy()
    v[0] += np.linalg.norm(
        v
    )  # a reflection along v takes the constant to an axis, and so the other axes to its complement
    Q = (np.eye(len(M)) - 2 / np.sum(v**2) * v @ v.T)[:, 1:]
    values, vectors = np.linalg.eigh(Q.T @ M @ Q)
    return values[:k], Q @ vectors[:, :k]


def _shift_invert(M: sparse.csr_array, constant: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    shifted = M + SHIFT * M.diagonal().mean() * sparse.eye_array(M.shape[0])
    factor = splu(
        sparse.csc_array(shifted), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    _, V = largest(factor.solve, M.shape[0], constant, k, LONG)
    # The smallest eigenvalues are far below the shift, so they are told apart by M itself.
    values, rotation = np.linalg.eigh(V.T @ (M @ V))
    return values, V @ rotation
