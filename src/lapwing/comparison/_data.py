"""The rows of a comparison, and those of a fold."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_array

from ..operators import Array
from ..selection import some_rows


class Given(NamedTuple):
    """The rows as the caller has them, and the transformer that makes them numbers, where there is one."""

    X: Any
    prepare: Any  # an unfitted transformer, or None

    def whole(self) -> Array:
        """All rows, after the transformer was fitted to all of them."""
        return numbers(self.X if self.prepare is None else clone(self.prepare).fit_transform(self.X))

    def divided(self, train: np.ndarray, test: np.ndarray) -> tuple[Array, Array]:
        """The rows to fit and those to judge, after the transformer was fitted to the rows to fit."""
        rows = some_rows(self.X, train), some_rows(self.X, test)
        if self.prepare is None:
            return rows
        # Warnings are about columns that hold nothing but gaps in some folds, and categories that only one fold has.
        with warnings.catch_warnings(action="ignore"):
            prepare = clone(self.prepare).fit(rows[0])
            return numbers(prepare.transform(rows[0])), numbers(prepare.transform(rows[1]))


class Fold(NamedTuple):
    """The rows, their labels, and which of them a fold fits and judges."""

    given: Given
    labels: np.ndarray | None
    train: np.ndarray
    test: np.ndarray

    def divided(self) -> tuple[Array, Array, np.ndarray | None, np.ndarray | None]:
        """The rows to fit, those to judge, and the labels of both."""
        y = (None, None) if self.labels is None else (self.labels[self.train], self.labels[self.test])
        return *self.given.divided(self.train, self.test), *y


def numbers(X: Any) -> Array:
    """The rows as numbers, which all methods take."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
    return _with_short_indices(X) if sparse.issparse(X) else X


def _with_short_indices(X: Any) -> Any:
    """A CSR matrix with indices of 32 bits where these are enough, since parts of scikit-learn take no others."""
    if X.indices.dtype == X.indptr.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    short = (index.astype(np.int32) for index in (X.indices, X.indptr))
    return type(X)((X.data, *short), shape=X.shape)
