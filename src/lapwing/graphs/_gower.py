"""Gower's distance of rows that have numbers and categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import of_numbers


class Gower(TransformerMixin, BaseEstimator):
    r"""Turns numbers and categories into coordinates whose Manhattan distances are Gower's distances.

    .. math:: d(x, z) = \frac1p \sum_{j=1}^p \delta_j, \qquad \delta_j = \frac{|x_j - z_j|}{\max_j - \min_j}
              \ \text{ or, of categories, }\ [x_j \ne z_j],

    between 0 and 1 for the rows that it was fitted to [1]_. ``On(Gower([2, 5]), KNN(7, metric="manhattan"))`` links the nearest
    neighbours by this distance.

    Parameters
    ----------
    categorical : list of int or mask, default=None
        The columns that hold categories, as numbers without an order; None says that there are none. Text has to be numbered
        first, as :class:`sklearn.preprocessing.OrdinalEncoder` does.

    Attributes
    ----------
    ranges_ : ndarray of shape (n_features,)
        The largest less the smallest value of each column; 1 for constant columns.
    categories_ : list of ndarray
        The categories of each categorical column, in the order of columns. A category that was not fitted differs from them
        all.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the columns. Set only where X had names that are all strings.

    References
    ----------
    .. [1] J. C. Gower, "A general coefficient of similarity and some of its properties", Biometrics 27, 1971.
       https://doi.org/10.2307/2528823

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from lapwing.graphs import Gower
    >>> pairwise_distances(Gower([1]).fit_transform([[0.0, 7], [5, 7], [10, 3]]), metric="manhattan")
    array([[0.  , 0.25, 1.  ],
           [0.25, 0.  , 0.75],
           [1.  , 0.75, 0.  ]])
    """

    def __init__(self, categorical: ArrayLike | None = None):
        self.categorical = categorical

    def fit(self, X: Any, y: Any = None) -> Gower:
        """Learn ranges and categories.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, categories as numbers.
        y : ignored, default=None
            It takes no part; scikit-learn passes it.

        Returns
        -------
        self
        """
        with of_numbers():
            X = validate_data(self, X, dtype=np.float64)
        ranges = np.ptp(X, axis=0)
        self.ranges_ = np.where(ranges > 0, ranges, 1.0)
        self.categories_ = [np.unique(X[:, j]) for j in self.categorical_columns()]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Numbers divided by their ranges; for each category a column, and one for those that were not fitted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows, categories as numbers.

        Returns
        -------
        ndarray of shape (n_samples, n_coordinates)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        numbers = np.setdiff1d(np.arange(X.shape[1]), self.categorical_columns())
        parts = [X[:, numbers] / self.ranges_[numbers]]
        for j, names in zip(self.categorical_columns(), self.categories_, strict=True):
            own = X[:, j, None] == names
            parts.append(np.column_stack([own, ~own.any(axis=1)]) / 2)
        return np.hstack(parts) / X.shape[1]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the coordinates: of numbers their columns, of categories ``column=category`` and ``column=other``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; None takes those that were fitted, or x0, x1, ...

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        fitted = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        names = np.asarray(fitted if input_features is None else input_features, dtype=object)
        if names.shape != (self.n_features_in_,):
            raise ValueError(
                f"input_features has {names.size} names, and Gower was fitted to {self.n_features_in_} columns"
            )
        chosen = self.categorical_columns()
        found = [str(name) for name in np.delete(names, chosen)]
        for j, own in zip(chosen, self.categories_, strict=True):
            found += [f"{names[j]}={value:g}" for value in own] + [f"{names[j]}=other"]
        return np.array(found, dtype=object)

    def categorical_columns(self) -> np.ndarray:
        """The places of the categorical columns."""
        given = np.asarray([] if self.categorical is None else self.categorical)
        d = self.n_features_in_
        chosen = np.flatnonzero(given) if given.dtype == bool and given.shape == (d,) else given.astype(np.intp)
        if chosen.ndim != 1 or (chosen.size and (chosen.min() < -d or chosen.max() >= d)):
            raise ValueError(
                f"categorical={self.categorical!r} must be places of columns, from 0 to {d - 1}, or a mask of them"
            )
        return np.unique(chosen % d)
