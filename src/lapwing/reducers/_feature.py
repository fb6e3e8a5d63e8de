"""One feature at a time: F is a column of X, so the projection is a choice of columns."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_count
from ..blocks import as_blocks, projected
from ..graphs import Sample
from ..operators import OUT_OF_RANGE, Array, Structured, Summary, dense_block, diagonal, full_columns, row_blocks
from ._base import Reducer, announce

DIGITS = 12  # of scores that differ by rounding alone, the first feature wins


class FeatureSelector(SelectorMixin, Reducer):
    """Base of the scores; they say what a feature is worth, this class selects.

    Subclasses write ``_criterion(sample)``: the scores, and which features vary.
    """

    _largest: ClassVar[bool] = False  # whether large scores are the good ones

    def __init__(self, n_features_to_select: int | None = None):
        self.n_features_to_select = n_features_to_select

    def _criterion(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> FeatureSelector:
        """Score the features and choose the best.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown.

        Returns
        -------
        self
        """
        self._forget()
        if self.n_features_to_select is not None:
            check_count("n_features_to_select", self.n_features_to_select)
        blocks = self._as_blocks(X, y)
        if blocks is None:
            dtypes = [np.float64, np.float32]
            sample = Sample(validate_data(self, X, accept_sparse="csr", dtype=dtypes, ensure_min_samples=2), y)
        else:
            announce(self, blocks)
            sample = self._block_sample(blocks, y, None)
        try:
            with np.errstate(over="raise"):
                scores, varying = self._criterion(sample)
        except FloatingPointError as error:
            raise ValueError(OUT_OF_RANGE) from error
        k = self._count(varying)
        best_first = np.lexsort((_rounded(-scores if self._largest else scores), ~varying))
        self.n_features_to_select_ = k
        self.support_ = np.isin(np.arange(scores.size), best_first[:k])
        self.scores_ = scores
        return self

    def transform(self, X: Any) -> Any:
        """The selected features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or whatever :meth:`fit` takes.

        Returns
        -------
        array of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        blocks = as_blocks(X, columns=getattr(self, "feature_names_in_", None))
        if blocks is None:
            return super().transform(X)
        chosen = np.flatnonzero(self.support_)
        return projected(self, blocks, lambda block: block[:, chosen], chosen.size)

    def _count(self, varying: np.ndarray) -> int:
        """``n_features_to_select``, resolved."""
        most = int(varying.sum())
        if most == 0:
            raise ValueError(
                "X is constant: no feature varies, or so little that rounding hides it, so there is none to select"
            )
        if self.n_features_to_select is None:
            return min(max(1, varying.size // 2), most)
        if self.n_features_to_select > most:
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select} is more than the {most} of {varying.size} features that vary; "
                f"constant ones are never selected: use n_features_to_select={most} or less"
            )
        return int(self.n_features_to_select)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "scores_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _rounded(scores: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(scores)
    return np.ldexp(np.round(mantissa, DIGITS), exponent)


def negligible(variance: np.ndarray, squares: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Whether rounding of data with this mean square can have made the variance."""
    return variance <= (2 * float(np.finfo(dtype).eps)) ** 2 * squares


def mean_squares(X: Array, mean: np.ndarray, variance: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of each column, from its mean and variance under the weights; they must be in the range of floating point."""
    squares = variance + mean**2
    low = np.flatnonzero(squares < 1e-280)
    if not np.isfinite(squares).all() or (low.size and abs(X[:, low][np.flatnonzero(weights)]).max() > 0):
        raise ValueError(OUT_OF_RANGE)
    return squares


def spread(X: Array, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The diagonal of ``(X - mean)ᵀ diag(weights) (X - mean)``, each entry centred before it is squared."""
    if isinstance(X, Summary):
        return quadratic_diagonal(diagonal(weights), X, mean)
    if sparse.issparse(X):
        w = np.repeat(weights, np.diff(X.indptr))
        stored = np.bincount(X.indices, w * (X.data - mean[X.indices]) ** 2, minlength=X.shape[1])
        zeros = weights.sum() - np.bincount(X.indices, w, minlength=X.shape[1])
        zeros[full_columns(X)] = 0.0
        return stored + np.maximum(zeros, 0.0) * mean**2
    total = np.zeros(X.shape[1])
    for rows in row_blocks(*X.shape):
        block = dense_block(X, rows, mean)
        total += weights[rows] @ np.square(block, out=block)
    return total


def quadratic_diagonal(A: Structured, X: Array, mean: np.ndarray) -> np.ndarray:
    """The diagonal of ``(X - mean)ᵀ A (X - mean)``, a few columns at a time; sparse X stays sparse."""
    if isinstance(X, Summary):
        return np.diagonal(A.quadratic(X, mean))
    if sparse.issparse(X):
        return _sparse_diagonal(A, X.astype(np.float64, copy=False), mean)
    found = np.empty(X.shape[1])
    for columns in row_blocks(X.shape[1], X.shape[0]):
        F = np.subtract(X[:, columns], mean[columns], dtype=np.float64)
        found[columns] = np.einsum("ij,ij->j", F, A @ F)
    return found


def _sparse_diagonal(A: Structured, X: sparse.csr_array, mean: np.ndarray) -> np.ndarray:
    """xᵀAx - 2 m xᵀA1 + m² 1ᵀA1; columns that are mostly their mean, where this cancels, as dense ones."""
    n, d = X.shape
    squares = X.power(2)
    A1 = A @ np.ones(n)
    found = mean**2 * A1.sum() - 2 * mean * (A1 @ X)
    if A.diag is not None:
        found += A.diag @ squares
    if A.sparse is not None:
        for rows in row_blocks(n, 2 + 2 * A.sparse.nnz * X.nnz // n**2):  # entries of a row of the product
            found += np.asarray(X[rows].multiply(A.sparse[rows] @ X).sum(axis=0)).ravel()
    for U, c in A.factors:
        U = sparse.csc_array(U)
        for columns in row_blocks(c.size, d):
            found += c[columns] @ (U[:, columns].T @ X).power(2)
    flat = np.flatnonzero(n * mean**2 > 0.5 * np.asarray(squares.sum(axis=0)).ravel())
    dense = sparse.csc_array(X[:, flat])
    for part in row_blocks(flat.size, n):
        found[flat[part]] = quadratic_diagonal(A, dense[:, part].toarray(), mean[flat[part]])
    return found
