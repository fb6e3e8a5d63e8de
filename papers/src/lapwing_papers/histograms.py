"""The chi-square distance of histograms, and the search by it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from ._validation import check_count

__all__ = ["Chi2Neighbors", "chi2_distances", "chi2_metric"]


def chi2_distances(X: Any, Y: Any = None) -> np.ndarray:
    r"""Chi-square distances of histograms.

    .. math:: \chi^2(x, y) = \sum_s \frac{(x_s - y_s)^2}{x_s + y_s}, \qquad 0/0 = 0

    Parameters
    ----------
    X : array-like of shape (n_samples, n_bins)
        Histograms: no negative entry.
    Y : array-like of shape (n_others, n_bins), default=None
        None is X.

    Returns
    -------
    ndarray of shape (n_samples, n_others)

    Examples
    --------
    >>> from lapwing_papers.histograms import chi2_distances
    >>> chi2_distances([[1.0, 3.0, 0.0]], [[1.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
    array([[1., 3.]])
    """
    return -additive_chi2_kernel(X, Y)


def chi2_metric(x: np.ndarray, y: np.ndarray) -> float:
    """The square root of the chi-square distance of two histograms.

    It orders rows as the distance itself does, and obeys the triangle inequality, as a metric of scikit-learn must. It is for
    graphs that take a metric and no search, such as :class:`lapwing.graphs.CodingLength`.

    Parameters
    ----------
    x, y : ndarray of shape (n_bins,)
        No negative entry.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing_papers.histograms import chi2_metric
    >>> chi2_metric(np.array([1.0, 3.0, 0.0]), np.array([0.0, 3.0, 3.0]))
    2.0
    """
    both = x + y
    both[both == 0] = 1
    return float(np.sqrt(np.sum((x - y) ** 2 / both)))


class Chi2Neighbors(TransformerMixin, BaseEstimator):
    """The nearest histograms by the chi-square distance: a neighbours transformer, for ``KNN(search=Chi2Neighbors())``.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours each row has, itself not counted.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN
    >>> from lapwing_papers.histograms import Chi2Neighbors
    >>> histograms = np.random.RandomState(0).poisson(5.0, (40, 12)).astype(float)
    >>> LPP(2, graph=KNN(5, search=Chi2Neighbors())).fit_transform(histograms).shape
    (40, 2)
    """

    def __init__(self, n_neighbors: int = 5):
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> Chi2Neighbors:
        """Keep the histograms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_bins)
        y : ignored

        Returns
        -------
        self
        """
        check_count("n_neighbors", self.n_neighbors)
        self.fitted_ = validate_data(self, X, dtype=np.float64, ensure_non_negative=True)
        return self

    def transform(self, X: Any) -> sparse.csr_matrix:
        """The distances of each row from its nearest fitted rows, and from itself where it is one of them.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_bins)

        Returns
        -------
        sparse matrix of shape (n_queries, n_samples)
            One more entry per row than ``n_neighbors``, since a row may find itself. Equally distant rows are all there.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False, ensure_non_negative=True)
        k = min(self.n_neighbors + 1, len(self.fitted_))
        step = max(1, int(get_config()["working_memory"] * 2**20 / (8 * len(self.fitted_))))
        parts = []
        for start in range(0, len(X), step):
            D = chi2_distances(X[start : start + step], self.fitted_)
            last = np.partition(D, k - 1, axis=1)[:, [k - 1]]
            rows, columns = np.nonzero(last * (1 + 1e-8) >= D)
            parts.append(sparse.csr_matrix((D[rows, columns], (rows, columns)), D.shape))
        return sparse.vstack(parts, format="csr")
