"""Sparse rows, which stay sparse: the mean, which would fill their zeros, is subtracted from sums and not from entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from ..operators import Structured, row_blocks
from ._map import LANCZOS_SHARE, DenseMap, Map, centred_operator
from ._preprojection import Preprojection

MOST_DIRECTIONS = 1024  # a share of the variance is searched for by truncated decompositions up to this many directions


class SparseMap(Map):
    """F = X, a sparse array by rows."""

    limit: ClassVar[int] = 4000  # the largest Gram matrix of sparse rows that is formed and decomposed whole

    @property
    def is_large(self) -> bool:  # type: ignore[override]
        return min(self.shape) > self.limit

    @property
    def full_columns(self) -> np.ndarray:
        """Columns that have no zeros."""
        return np.flatnonzero(np.bincount(self.X.indices, minlength=self.shape[1]) == self.shape[0])

    @property
    def filled(self) -> np.ndarray:
        return 2 * np.bincount(self.X.indices, minlength=self.shape[1]) > self.shape[0]

    def _full(self) -> tuple[np.ndarray, DenseMap]:
        """The columns that have no zeros, and their entries as a dense map. Only these columns can be far from the origin."""
        full = self.full_columns
        return full, DenseMap(self.X[:, full].toarray())

    def block(self, rows: slice, shift: np.ndarray | None = None) -> np.ndarray:
        block = self.X[rows].toarray().astype(np.float64, copy=False)
        return block if shift is None else np.subtract(block, shift, out=block)

    def columns(self, columns: Any, shift: np.ndarray | None = None) -> np.ndarray:
        return np.subtract(self.X[:, columns].toarray(), 0 if shift is None else shift, dtype=np.float64)

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        weights = np.ones(self.shape[0]) if weights is None else weights
        mean = np.asarray(self.X.T.astype(np.float64) @ weights).ravel() / weights.sum()
        full, dense = self._full()  # the other columns are about 0
        mean[full] = dense.mean(weights)
        return mean

    @property
    def is_constant(self) -> bool:
        return not (self.X.max(axis=0) != self.X.min(axis=0)).nnz

    def gram_about(self, mean: np.ndarray) -> np.ndarray:
        """As for every F.

        A column that is mostly its mean would lose digits in the expanded product, so it is centred as a dense one.
        """
        X = self.X.astype(np.float64)
        flat = self.shape[0] * mean**2 > 0.5 * np.asarray(X.power(2).sum(axis=0)).ravel()
        rest, m = X[:, np.flatnonzero(~flat)], mean[~flat]
        cross = np.asarray(rest @ m)
        gram = (rest @ rest.T).toarray() - cross[:, None] - cross[None, :] + m @ m
        return gram + DenseMap(X[:, np.flatnonzero(flat)].toarray()).gram_about(mean[flat])

    def whole_forms(self, matrices: Sequence[Structured], mean: np.ndarray) -> list[Any]:
        return [self._operator(M, mean) for M in matrices] if self.is_large else self.forms(matrices, mean)

    def _operator(self, M: Structured, mean: np.ndarray) -> LinearOperator:
        """The form as an operator, where there are too many columns to form a matrix."""
        Fc = self.centred(mean)
        return Fc.T @ LinearOperator(M.shape, matvec=M.__matmul__, matmat=M.__matmul__, dtype=np.float64) @ Fc

    def form_diagonal(self, M: Structured, shift: np.ndarray) -> np.ndarray:
        """xᵀMx - 2 m xᵀM1 + m² 1ᵀM1 for each column x of mean m.

        Columns that are mostly their mean lose digits here and are dense.
        """
        X, (n, d) = self.X.astype(np.float64, copy=False), self.shape
        squares, M1 = X.power(2), M @ np.ones(n)
        found = shift**2 * M1.sum() - 2 * shift * (M1 @ X)
        if M.diag is not None:
            found += M.diag @ squares
        if M.sparse is not None:
            for rows in row_blocks(n, 2 + 2 * M.sparse.nnz * X.nnz // n**2):  # entries of a row of the product
                found += np.asarray(X[rows].multiply(M.sparse[rows] @ X).sum(axis=0)).ravel()
        for U, c in M.factors:
            U = sparse.csc_array(U)
            for columns in row_blocks(c.size, d):
                found += c[columns] @ (U[:, columns].T @ X).power(2)
        flat = np.flatnonzero(n * shift**2 > 0.5 * np.asarray(squares.sum(axis=0)).ravel())
        dense = sparse.csc_array(X[:, flat])
        for part in row_blocks(flat.size, n):
            found[flat[part]] = DenseMap(dense[:, part].toarray()).form_diagonal(M, shift[flat[part]])
        return found

    def spread(self, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
        X = self.X
        w = np.repeat(weights, np.diff(X.indptr))
        stored = np.bincount(X.indices, w * (X.data - mean[X.indices]) ** 2, minlength=X.shape[1])
        zeros = weights.sum() - np.bincount(X.indices, w, minlength=X.shape[1])
        zeros[self.full_columns] = 0.0
        return stored + np.maximum(zeros, 0.0) * mean**2

    def variance_along(self, Q: np.ndarray) -> np.ndarray:
        total = self.spread(self.plain_mean, np.ones(self.shape[0])).sum()
        return np.square(self._rooted(self.plain_mean) @ Q).sum(axis=0) / total

    def centred(self, shift: np.ndarray, scale: float = 1.0) -> LinearOperator:
        return centred_operator(self.X, shift, scale)

    def projected(self, mean: np.ndarray, components: np.ndarray) -> np.ndarray:
        return self.X @ components.T.astype(self.dtype, copy=False) - (mean @ components.T).astype(self.dtype)

    def combined(self, mean: np.ndarray, C: np.ndarray) -> np.ndarray:
        combined = np.asarray((self.X.T @ C).T - np.outer(C.sum(axis=0), mean))
        full, dense = self._full()
        combined[:, full] = dense.combined(mean[full], C)
        return combined

    def _onto(self, about: np.ndarray, N: np.ndarray) -> np.ndarray:
        return (self.X @ N - about @ N).astype(self.dtype, copy=False)

    def _is_truncated(self, preprojection: Preprojection) -> bool:
        """Whether so few directions are asked for, or X is so large, that Lanczos is cheaper than a whole decomposition."""
        at_most, smaller = preprojection.at_most, min(self.shape)
        return (at_most is not None and LANCZOS_SHARE * at_most < smaller > 500) or self.is_large

    def _too_many(self, size: int) -> bool:
        _require_room(size, self.shape)
        return False


def _require_room(size: int, shape: tuple[int, int]) -> None:
    if size >= MOST_DIRECTIONS:
        raise ValueError(
            f"pca= asks for an energy that the first {size} directions of X, shape {shape}, do not hold, and more are too many "
            "for a truncated decomposition; give pca= as a number of directions, such as pca=300"
        )
