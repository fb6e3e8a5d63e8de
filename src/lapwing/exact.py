"""Exact nearest neighbours for other programs, as a neighbours transformer of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ._validation import check_count, is_foreign
from .data import validated
from .graphs import nearest_fitted
from .neighbors import Request, is_named

__all__ = ["ExactNeighbors"]


class ExactNeighbors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The exact nearest neighbours of each row, for any program that takes a graph of neighbours or lists of them.

    It takes the place of :class:`sklearn.neighbors.KNeighborsTransformer`, and is faster for many rows of more than 15 columns.
    Of rows that are equally far, those of the lowest numbers are taken, on any machine.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours each row has. :meth:`transform` gives one more, since a fitted row is its own first neighbour.
    metric : str or callable, default="euclidean"
        How far apart two rows are: a name that scikit-learn knows, or a function of two rows. "euclidean" and "cosine" are
        searched fast; all others by scikit-learn.
    n_jobs : int, default=None
        The most threads that a search takes; -1 is all cores. None is as many as matrix products may use.

    Attributes
    ----------
    X_fit_ : array, tensor or sparse matrix of shape (n_samples, n_features)
        The fitted rows.
    n_features_in_ : int
        The number of their columns.
    feature_names_in_ : ndarray of str
        The names of the columns, where X is a data frame.

    Examples
    --------
    Isomap and other methods of scikit-learn take its graph with ``metric="precomputed"``:

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.manifold import Isomap
    >>> from sklearn.pipeline import make_pipeline
    >>> from lapwing import ExactNeighbors
    >>> X = load_digits().data
    >>> pipeline = make_pipeline(ExactNeighbors(10), Isomap(n_neighbors=10, metric="precomputed"))
    >>> pipeline.fit_transform(X).shape
    (1797, 2)

    Programs that take lists in which each row is its own first neighbour, as UMAP does, are given ``kneighbors(X)``.
    """

    _takes_sparse = True

    def __init__(self, n_neighbors: int = 5, *, metric: str | Callable = "euclidean", n_jobs: int | None = None):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> ExactNeighbors:
        """Store the rows.

        Parameters
        ----------
        X : array-like, tensor or sparse matrix of shape (n_samples, n_features)
            The rows among which neighbours are searched for.
        y : object, default=None
            Not used.
        """
        self.__dict__.pop("X_fit_", None)  # bad input leaves the estimator unfitted
        data = validated(self, X)
        self._request(self.n_neighbors).checked(data.n)
        validate_data(self, X, skip_check_array=True)
        self.X_fit_ = X if is_foreign(X) else data.X
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_array:
        """The graph of :meth:`transform` for the fitted rows.

        Parameters
        ----------
        X, y
            As :meth:`fit` takes them.
        """
        return self.fit(X).transform(self.X_fit_)

    def transform(self, X: Any) -> sparse.csr_array:
        """The distances of rows from their ``n_neighbors + 1`` nearest fitted ones, as a sparse matrix, the nearest first.

        Parameters
        ----------
        X : array-like, tensor or sparse matrix of shape (n_queries, n_features)
            The rows. The 0 from a fitted row to itself is stored.
        """
        d, cols = self._found(X, self.n_neighbors + 1)
        starts = np.arange(0, cols.size + 1, cols.shape[1])
        return sparse.csr_array((d.ravel(), cols.ravel(), starts), shape=(len(cols), self._n_features_out))

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Distances and numbers of the nearest fitted rows, nearest first.

        Parameters
        ----------
        X : array-like, tensor or sparse matrix of shape (n_queries, n_features), default=None
            The rows. None is the fitted ones, of which none is its own neighbour.
        n_neighbors : int, default=None
            How many neighbours; None is the parameter of the estimator.
        return_distance : bool, default=True
            Whether distances are returned as well.

        Returns
        -------
        distances, indices : arrays of shape (n_queries, n_neighbors)
            Tensors on the device of the fitted rows, where these are tensors.
        """
        found = self._found(X, n_neighbors)
        if is_foreign(self.X_fit_):
            found = tuple(map(validated(self, self.X_fit_).device.to_caller, found))
        return found if return_distance else found[1]

    def _request(self, k: int) -> Request:
        if is_named(self.metric, "precomputed"):
            raise ValueError('metric="precomputed" leaves nothing to search for; sort the distances by row')
        return Request(check_count("n_neighbors", k), self.metric)

    def _found(self, X: Any, k: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Distances and numbers of the k nearest fitted rows, of each fitted row without itself, or of other rows."""
        check_is_fitted(self)
        k = self.n_neighbors if k is None else k
        if X is self.X_fit_ and k > 1:  # one search that compares each pair once
            d, cols = self._found(None, k - 1)
            return np.pad(d, ((0, 0), (1, 0))), np.column_stack([np.arange(len(cols)), cols])
        fitted = validated(self, self.X_fit_)
        n_threads = None if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        with threadpool_limits(n_threads, user_api="blas") if n_threads else nullcontext():
            if X is None:
                _, cols, d = fitted.nearest(self._request(k))
            else:
                rows = validated(self, X, fitting=False).X
                if fitted.is_sparse != sparse.issparse(rows):
                    rows = sparse.csr_array(rows) if fitted.is_sparse else rows.toarray()
                _, cols, d = map(fitted.host, nearest_fitted(fitted.stacked(rows), fitted.n, self._request(k)))
        return d.reshape(-1, k), cols.reshape(-1, k)

    _n_features_out = property(lambda self: self.X_fit_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
