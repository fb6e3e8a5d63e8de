"""Principal directions of centred data, from whichever of the two Gram matrices is smaller."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from ..operators import BLOCK_BYTES, Array, dense_block, identity, row_blocks
from ..solvers._solve import numerical_rank

DENSE_LIMIT = 4000  # the largest Gram matrix of sparse X that is formed and decomposed whole
LANCZOS_SHARE = 20  # a dense Gram matrix is decomposed whole unless fewer than 1 in 20 directions are asked for


class Principal(NamedTuple):
    """Coordinates F of the rows on orthonormal directions, and the way back to features."""

    F: np.ndarray
    back: Callable[[np.ndarray], np.ndarray]  # (p, k) in F's space -> (k, n_features)


Keep = Callable[[np.ndarray, float], int]  # eigenvalues found (descending), their total over all -> how many to keep


def principal(X: Array, mean: np.ndarray, keep: Keep, at_most: int | None = None) -> Principal:
    """Project X - mean on its leading principal directions.

    ``keep(values, total)`` says how many of the descending eigenvalues to keep; ``at_most`` promises that it will not be
    more than that many, so that a truncated decomposition will do.
    """
    n, d = X.shape
    few = at_most is not None and LANCZOS_SHARE * at_most < min(n, d) > 500
    if few or (sparse.issparse(X) and min(n, d) > DENSE_LIMIT):
        return _truncated(X, mean, keep, at_most)
    return _from_rows(X, mean, keep) if n < d else _from_columns(X, mean, keep)


def _from_columns(X: Array, mean: np.ndarray, keep: Keep) -> Principal:
    """n >= d: the d x d covariance."""
    values, N = _descending(identity(X.shape[0]).quadratic(X, mean))
    N = N[:, : keep(values[: numerical_rank(values[::-1])], values.sum())]
    return Principal(_project(X, mean, N), lambda V: (N @ V).T)


def _from_rows(X: Array, mean: np.ndarray, keep: Keep) -> Principal:
    """n < d: the n x n Gram matrix. Directions are combinations of rows, written out only for the components."""
    values, U = _descending(_row_gram(X, mean))
    p = keep(values[: numerical_rank(values[::-1])], values.sum())
    U, sigma = U[:, :p], np.sqrt(values[:p])
    return Principal((U * sigma).astype(X.dtype, copy=False), lambda V: _combine_rows(X, mean, U @ (V / sigma[:, None])))


def _truncated(X: Array, mean: np.ndarray, keep: Keep, at_most: int | None) -> Principal:
    """Lanczos on the smaller Gram matrix, as an operator; twice as many directions until enough."""
    n, d = X.shape
    centred = _centred_operator(X, mean)
    gram = centred.T @ centred if d <= n else centred @ centred.T
    start = np.random.RandomState(0).standard_normal(min(n, d))
    total = _total_scatter(X, mean)
    size = min(at_most or 128, min(n, d) - 1)
    while True:
        values, vectors = eigsh(gram, k=size, which="LA", v0=start, tol=0)
        values, vectors = values[::-1], vectors[:, ::-1]
        found = int((values > 10 * min(n, d) * np.finfo(np.float64).eps * values[0]).sum())
        p = keep(values[:found], total)
        if p < size or found < size or at_most is not None:
            break
        if 2 * size >= min(n, d):
            raise ValueError(
                f"pca= asks for more than {size} directions of X with shape {X.shape}, too many for a truncated "
                "decomposition; give pca= as a number of directions, such as pca=300"
            )
        size *= 2
    vectors, sigma = vectors[:, :p], np.sqrt(values[:p])
    if d <= n:
        return Principal(_project(X, mean, vectors), lambda V: (vectors @ V).T)
    F = (vectors * sigma).astype(X.dtype, copy=False)
    return Principal(F, lambda V: _combine_rows(X, mean, vectors @ (V / sigma[:, None])))


def _descending(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = eigh(gram, driver="evd", overwrite_a=True)
    return np.maximum(values[::-1], 0), vectors[:, ::-1]


def _row_gram(X: Array, mean: np.ndarray) -> np.ndarray:
    """(X - mean)(X - mean)ᵀ, centred before the product, a block of columns at a time."""
    n, d = X.shape
    if sparse.issparse(X):
        X = X.astype(np.float64)
        cross = np.asarray(X @ mean)
        return (X @ X.T).toarray() - cross[:, None] - cross[None, :] + mean @ mean
    gram = np.zeros((n, n))
    step = max(1, 4 * BLOCK_BYTES // (8 * n))
    for start in range(0, d, step):
        block = X[:, start : start + step] - mean[start : start + step]
        gram += block @ block.T
    return gram


def _project(X: Array, mean: np.ndarray, N: np.ndarray) -> np.ndarray:
    """(X - mean) N in X's precision, summed in float64."""
    if sparse.issparse(X):
        return (X @ N - mean @ N).astype(X.dtype, copy=False)
    F = np.empty((X.shape[0], N.shape[1]), dtype=X.dtype)
    for rows in row_blocks(*X.shape):
        F[rows] = dense_block(X, rows, mean) @ N
    return F


def _combine_rows(X: Array, mean: np.ndarray, C: np.ndarray) -> np.ndarray:
    """((X - mean)ᵀ C)ᵀ."""
    return np.asarray((X.T @ C).T - np.outer(C.sum(axis=0), mean))


def _centred_operator(X: Array, mean: np.ndarray) -> LinearOperator:
    """X - 1 meanᵀ as an operator: sparse X stays sparse."""
    ones = np.ones(X.shape[0])
    return LinearOperator(
        X.shape,
        matvec=lambda v: X @ np.ravel(v) - ones * (mean @ np.ravel(v)),
        rmatvec=lambda u: X.T @ np.ravel(u) - mean * np.sum(u),
        matmat=lambda V: X @ V - np.outer(ones, mean @ V),
        rmatmat=lambda U: X.T @ U - np.outer(mean, U.sum(axis=0)),
        dtype=np.float64,
    )


def _total_scatter(X: Array, mean: np.ndarray) -> float:
    if sparse.issparse(X):
        return float(X.astype(np.float64).power(2).sum() - X.shape[0] * (mean @ mean))
    return float(sum((dense_block(X, rows, mean) ** 2).sum() for rows in row_blocks(*X.shape)))
