"""Clusters by a graph: the normalised cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted, validate_data

from ._documented import documented
from ._validation import check_choice, check_count, check_in_memory
from .data import FLOATS, squared_lengths, unit_rows
from .graphs import Graph
from .methods import LaplacianEigenmaps

__all__ = ["NormalizedCut"]


@documented
class NormalizedCut(ClusterMixin, BaseEstimator):
    r"""Finds clusters by a graph: the relaxed normalised cut into k clusters, made discrete by k-means.

    .. math:: \min_Y \operatorname{tr}(Y^\top L Y) \quad\text{subject to}\quad Y^\top D Y = I,\ Y^\top D 1 = 0     \tag{1}

    (1) is :class:`lapwing.LaplacianEigenmaps` with k - 1 columns (1 at least), and k-means then groups its rows [1]_ [2]_. It is
    :class:`sklearn.cluster.SpectralClustering` with ``assign_labels="kmeans"``, on any graph of lapwing.

    Parameters
    ----------
    n_clusters : int, default=8
        How many clusters to find, k.
    graph : None, int, graph or matrix, default=None
        Which samples belong together. None is ``KNN(5)``, an integer k is ``KNN(k)``, and a matrix W of weights is
        ``Precomputed(W)``, with which X is not looked at.
    unit_rows : bool, default=True
        Whether the rows of Y are scaled to length 1 before k-means, which finds better clusters on most data sets. With two
        clusters Y has one column, and its rows stay as they are.
    n_init : int, default=10
        How many times k-means is started; the best of its answers is kept.
    random_state : int, RandomState instance or None, default=None
        Makes the starts of k-means repeatable.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each sample.
    embedding_ : ndarray of shape (n_samples, n_clusters - 1)
        Y, the coordinates of the samples.
    maps_ : LaplacianEigenmaps
        The fitted map that gave Y.
    kmeans_ : KMeans
        The fitted k-means, on Y or on its rows of length 1.
    n_features_in_, feature_names_in_ : As in :class:`LPP`

    References
    ----------
    .. [1] J. Shi and J. Malik, "Normalized cuts and image segmentation", IEEE TPAMI 22, 2000. https://doi.org/10.1109/34.868688
    .. [2] S. X. Yu and J. Shi, "Multiclass spectral clustering", ICCV 2003. https://doi.org/10.1109/ICCV.2003.1238361

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from lapwing.clustering import NormalizedCut
    >>> from lapwing.metrics import clustering_accuracy
    >>> X, y = make_circles(400, factor=0.5, noise=0.03, random_state=0)
    >>> clustering_accuracy(y, NormalizedCut(2, graph=8, random_state=0).fit_predict(X))
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        unit_rows: bool = True,
        n_init: int = 10,
        random_state: int | RandomState | None = None,
    ):
        self.n_clusters = n_clusters
        self.graph = graph
        self.unit_rows = unit_rows
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NormalizedCut:
        """Cut the graph of the rows of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown. They act only through graphs that read them.
        """
        self.__dict__.pop("labels_", None)  # bad input leaves the estimator unfitted
        check_in_memory(X, "NormalizedCut")
        n = validate_data(self, X, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=2).shape[0]
        k = check_count("n_clusters", self.n_clusters)
        if k > n:
            raise ValueError(f"n_clusters={k} is more than there are samples, n_samples={n}; use fewer")
        check_choice("unit_rows", self.unit_rows, (True, False))
        self.maps_ = LaplacianEigenmaps(max(k - 1, 1), graph=self.graph).fit(X, y)
        self.embedding_ = self.maps_.embedding_
        k_means = KMeans(k, n_init=check_count("n_init", self.n_init), random_state=self.random_state)
        self.kmeans_ = k_means.fit(self._points(self.embedding_))
        self.labels_ = self.kmeans_.labels_
        return self

    def predict(self, X: Any, links: Any = None) -> np.ndarray:
        """The cluster of each row, placed by :meth:`LaplacianEigenmaps.transform`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, fitted or new.
        links : array-like or sparse matrix of shape (n_samples, n_fitted), default=None
            Weights that tie the rows to the fitted ones, instead of a search.
        """
        check_is_fitted(self)
        return self.kmeans_.predict(self._points(self.maps_.transform(X, links)))

    def _points(self, Y: np.ndarray) -> np.ndarray:
        """The rows that k-means is given. A row of one column is not scaled, since it has nothing but its length."""
        return unit_rows(Y, np.sqrt(squared_lengths(Y))) if self.unit_rows and Y.shape[1] > 1 else Y

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
