"""The eigenproblem of a free map: one unknown a sample, and a sparse matrix."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, splu

from ._block import block_largest
from ._lanczos import LONG, SHORT, Apply, krylov, largest
from ._solve import RankError, Solution

DENSE_SAMPLES = 400  # up to here a dense decomposition is as fast
SHIFT = 1e-9  # of the mean of the diagonal: the factorisation of a matrix with a null space needs one
RESIDUALS = {"float64": 1e-12, "float32": 1e-5}  # of eigenvectors found in products of this precision


def solve_free(
    A: sparse.csr_array, b: np.ndarray, k: int, *, semidefinite: bool = True, crowded: bool = True
) -> Solution:
    """The k smallest eigenpairs of ``A y = lambda B y`` with ``1ᵀ B y = 0``, B = diag(b); rows with b = 0 stay at 0.

    The constant is kept out by deflation, so the other null vectors of a graph in several pieces come first. Where the
    smallest eigenvalues are ``crowded`` at 0, as those of a surface, a semidefinite A is factorised; else Lanczos works on A
    itself, and A is factorised only if that takes long: factors of a graph in many dimensions fill up.
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
    or nearly all directions, are solved densely.
    """
    if k >= n:
        raise RankError(f"n_components={k} is more than {n} samples leave beside the constant, {n - 1}; use fewer")
    constant, tol = np.full((n, 1), n**-0.5), RESIDUALS[np.dtype(dtype).name]
    if n <= DENSE_SAMPLES or 3 * k > n:
        M = apply(np.eye(n, dtype=dtype)).astype(np.float64)
        values, vectors = _dense(np.eye(n) - (M + M.T) / 2, constant, k)
        return Solution(values, vectors, n - 1, "dense")
    if dtype != np.float32:
        values, vectors = largest(apply, n, constant, k, LONG, tol)
        if np.abs(np.hstack([constant, vectors]).T @ vectors - np.eye(k + 1, k, -1)).max() < 1e-8:
            return Solution(1 - values, vectors, n - 1, "lanczos")
        # More directions than the rank: the Krylov space was exhausted, which blocks stand.
    values, vectors = block_largest(apply, constant.astype(dtype), k, tol)
    return Solution(1 - values, vectors, n - 1, "block-lanczos")


def largest_value(apply: Apply, n: int, dtype: Any = np.float64) -> float:
    """The largest eigenvalue of the symmetric n x n matrix that ``apply`` multiplies with, as in :func:`solve_operator`."""
    tol, none = 1e-4 if dtype == np.float32 else 1e-6, np.empty((n, 0))  # the value is right to the residual squared
    if n <= DENSE_SAMPLES:
        values = np.linalg.eigvalsh(apply(np.eye(n, dtype=dtype)).astype(np.float64))[::-1]
    elif dtype == np.float32:
        values, _ = block_largest(apply, none.astype(dtype), 1, tol)
    else:
        start = np.random.RandomState(0).standard_normal(n)
        values, _ = krylov(apply, start, none, 1, LONG, tol)
    return float(values[0])


def _iterated(
    M: sparse.csr_array, constant: np.ndarray, k: int, semidefinite: bool, crowded: bool
) -> tuple[np.ndarray, np.ndarray, str]:
    if not semidefinite:
        return *_lanczos(M, constant, k, LONG), "lanczos"
    if not crowded:
        with suppress(ArpackNoConvergence):
            return *_lanczos(M, constant, k, SHORT), "lanczos"
    return *_shift_invert(M, constant, k), "shift-invert"


def _dense(M: np.ndarray, constant: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    Q = np.linalg.qr(np.hstack([constant, np.eye(len(M))[:, 1:]]))[0][:, 1:]  # all that is orthogonal to the constant
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


def _lanczos(M: sparse.csr_array, constant: np.ndarray, k: int, restarts: int) -> tuple[np.ndarray, np.ndarray]:
    bound = float(abs(M).sum(axis=1).max())
    flipped = sparse.csr_array(bound * sparse.eye_array(M.shape[0]) - M)
    values, vectors = largest(flipped.__matmul__, M.shape[0], constant, k, restarts)
    return bound - values, vectors
