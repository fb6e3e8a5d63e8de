"""Principal directions of centred data, from whichever of the two Gram matrices is smaller."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..operators import OUT_OF_RANGE, Array, centred, dense_block, full_columns, identity, row_blocks, row_gram
from ..solvers import numerical_rank, seeded_eigsh

DENSE_LIMIT = 4000  # the largest Gram matrix of sparse X that is formed and decomposed whole
MOST_DIRECTIONS = 1024  # an energy is searched for up to here by truncated decompositions
LANCZOS_SHARE = 20  # a dense Gram matrix is decomposed whole unless fewer than 1 in 20 directions are asked for


class Principal(NamedTuple):
    """Coordinates F of the rows on orthonormal directions, and the way back to features."""

    F: np.ndarray
    back: Callable[[np.ndarray], np.ndarray]  # (p, k) in F's space -> (k, n_features)
    along: Callable[[np.ndarray], np.ndarray]  # a vector of features -> its coordinates on the directions


Keep = Callable[[np.ndarray, float], int]  # eigenvalues found (descending), their total over all -> how many to keep


def principal(
    X: Array, mean: np.ndarray, keep: Keep, at_most: int | None = None, gram: np.ndarray | None = None
) -> Principal:
    """Project X - mean on its leading principal directions.

    ``keep(values, total)`` says how many of the descending eigenvalues to keep; ``at_most`` promises that it will not be
    more than that many, so that a truncated decomposition will do; ``gram`` is the Gram matrix of the rows, if known.
    """
    if is_truncated(X, at_most):
        return _truncated(X, mean, keep, at_most)
    return _from_rows(X, mean, keep, gram) if X.shape[0] < X.shape[1] else _from_columns(X, mean, keep)


def is_truncated(X: Array, at_most: int | None) -> bool:
    """Whether so few directions are asked for, or X is so large, that Lanczos is cheaper than a whole decomposition.

    For dense X it hardly ever is.
    """
    if not sparse.issparse(X):
        return False
    smaller = min(X.shape)
    few = at_most is not None and LANCZOS_SHARE * at_most < smaller > 500
    return few or smaller > DENSE_LIMIT


def rounding(dtype: np.dtype, squares: float) -> float:
    """What the rounding of data with this sum of squares, before it is centred, can add to an eigenvalue of its scatter."""
    if not np.isfinite(squares) or 0 < squares < 1e-280:
        raise ValueError(f"{OUT_OF_RANGE} (their sum is {squares:.3g})")
    return float(np.finfo(dtype).eps) ** 2 * squares


def leading(gram: np.ndarray, keep: Keep, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of a Gram matrix, descending, and their eigenvectors: as many as ``keep`` says."""
    values, vectors = np.linalg.eigh(gram)
    p = keep(values[::-1][: numerical_rank(values, floor)], np.maximum(values, 0).sum())
    return values[::-1][:p], vectors[:, ::-1][:, :p]


def _from_columns(X: Array, mean: np.ndarray, keep: Keep) -> Principal:
    """N >= d: the d x d covariance."""
    scatter = identity(X.shape[0]).quadratic(X, mean)
    _, N = leading(scatter, keep, rounding(X.dtype, np.trace(scatter) + X.shape[0] * (mean @ mean)))
    return Principal(_project(X, mean, N), lambda V: (N @ V).T, lambda v: N.T @ v)


def _from_rows(X: Array, mean: np.ndarray, keep: Keep, gram: np.ndarray | None) -> Principal:
    """N < d: the n x n Gram matrix. Directions are combinations of rows, written out only for the components."""
    gram = row_gram(X, mean) if gram is None else gram
    values, U = leading(gram, keep, rounding(X.dtype, np.trace(gram) + X.shape[0] * (mean @ mean)))
    return _combinations(X, mean, U, np.sqrt(values))


def _combinations(X: Array, mean: np.ndarray, U: np.ndarray, sigma: np.ndarray) -> Principal:
    """Directions that are combinations U / sigma of the rows."""
    return Principal(
        (U * sigma).astype(X.dtype, copy=False),
        lambda V: _combine_rows(X, mean, U @ (V / sigma[:, None])),
        lambda v: U.T @ (X @ v - mean @ v) / sigma,
    )


def _truncated(X: sparse.csr_array, mean: np.ndarray, keep: Keep, at_most: int | None) -> Principal:
    """Lanczos on the smaller Gram matrix, as an operator; twice as many directions until enough."""
    n, d = X.shape
    Xc = centred(X, mean)
    gram = Xc.T @ Xc if d <= n else Xc @ Xc.T
    total = _total_scatter(X, mean)
    floor = rounding(X.dtype, total + n * (mean @ mean))
    size = min(at_most or 128, min(n, d) - 1)
    while True:
        values, vectors = seeded_eigsh(gram, size, tol=1e-10)
        values, vectors = values[::-1], vectors[:, ::-1]
        found = int((values > max(10 * min(n, d) * np.finfo(np.float64).eps * values[0], floor)).sum())
        p = keep(values[:found], total)
        if p < size or found < size or at_most is not None:
            break
        if size >= MOST_DIRECTIONS:
            raise ValueError(
                f"pca= asks for an energy that the first {size} directions of X, shape {X.shape}, do not hold, and more are "
                "too many for a truncated decomposition; give pca= as a number of directions, such as pca=300"
            )
        size *= 2
    vectors, sigma = vectors[:, :p], np.sqrt(values[:p])
    if d <= n:
        return Principal(_project(X, mean, vectors), lambda V: (vectors @ V).T, lambda v: vectors.T @ v)
    return _combinations(X, mean, vectors, sigma)


def _project(X: Array, mean: np.ndarray, N: np.ndarray) -> np.ndarray:
    """(X - mean) N in X's precision, summed in float64."""
    if sparse.issparse(X):
        return (X @ N - mean @ N).astype(X.dtype, copy=False)
    F = np.empty((X.shape[0], N.shape[1]), dtype=X.dtype)
    for rows in row_blocks(*X.shape):
        F[rows] = dense_block(X, rows, mean) @ N
    return F


def _combine_rows(X: Array, mean: np.ndarray, C: np.ndarray) -> np.ndarray:
    """((X - mean)ᵀ C)ᵀ, centred before the product where a column has no zeros."""
    if sparse.issparse(X):
        combined = np.asarray((X.T @ C).T - np.outer(C.sum(axis=0), mean))
        full = full_columns(X)
        combined[:, full] = _combine_rows(X[:, full].toarray(), mean[full], C)
        return combined
    combined = np.empty((C.shape[1], X.shape[1]))
    for columns in row_blocks(X.shape[1], X.shape[0]):
        combined[:, columns] = C.T @ np.subtract(X[:, columns], mean[columns], dtype=np.float64)
    return combined


def _total_scatter(X: sparse.csr_array, mean: np.ndarray) -> float:
    return float(X.astype(np.float64).power(2).sum() - X.shape[0] * (mean @ mean))
