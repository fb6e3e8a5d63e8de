"""Scores of single features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..auto import GraphFacts
from ..data import Data, as_data, total
from ..graphs import KNN, Graph, SameClass
from ..operators import diagonal
from ..problem import Problem, degree_sum, laplacian_sum
from ..reducers import FeatureSelector
from ..summary import Summary
from .about import About
from .discriminant import Supervised
from .locality import NEIGHBORS


class LaplacianScore(FeatureSelector):
    r"""Laplacian Score: selects the features that differ little between neighbours, compared with how much they vary overall.

    .. math:: L_r = \frac{\tilde f_r^\top L \tilde f_r}{\tilde f_r^\top D \tilde f_r}, \qquad
        \tilde f_r = f_r - \frac{f_r^\top D 1}{1^\top D 1} 1 \tag{1}

    for each column :math:`f_r` of X, with L = D - W the Laplacian of a graph of neighbours and D its degrees [1]_.
    :class:`LPP` minimises the same quotient over all directions. Here it is taken for each feature alone, so that two features
    that say the same are both selected. With ``graph=SameClass()`` it is 1 / (1 + the score of :class:`FisherScore`) [2]_.

    Parameters
    ----------
    n_features_to_select : int or None, default=None
        How many features to keep, the best ones, never a constant one; of equal scores the first ones. None keeps half.
    graph
        As in :class:`LPP`. None is ``KNN(5)``; the thesis [2]_ takes ``KNN(5, metric="cosine", weights="cosine")``, for data
        without negative entries. Distances depend on the units of the features, and scores do not: standardise mixed units.
    constraint : {"degree", "identity"}, default="degree"
        What counts as the variance of a feature: ``"degree"`` is (1), and ``"identity"`` has I in the place of D, for the
        samples that have links (eq. 6.9 of [2]_):

        .. math:: L_r = \frac{f_r^\top L f_r}{\|f_r - \mu_r 1\|^2}, \qquad \mu_r = \frac{1}{n} 1^\top f_r \tag{2}.
    normalize : As in :class:`LaplacianEigenmaps`
    preset, verbose : As in :class:`LPP`

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each feature, infinite for a constant one. The smallest are the best.
    support_ : ndarray of shape (n_features,)
        Which features were selected; :meth:`get_support` returns it.
    n_features_to_select_ : int
        How many features were selected.
    n_connected_components_, graph_, settings_, n_features_in_, feature_names_in_, n_samples_seen_, moments_
        As in :class:`LPP`.

    References
    ----------
    .. [1] X. He, D. Cai and P. Niyogi, "Laplacian Score for feature selection", NIPS 18, 2005.
    .. [2] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, chapter 6.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LaplacianScore
    >>> from lapwing.graphs import KNN
    >>> X, y = load_iris(return_X_y=True)
    >>> score = LaplacianScore(2, graph=KNN(5, metric="cosine", weights="cosine")).fit(X)
    >>> score.get_support(indices=True)
    array([2, 3])
    >>> score.transform(X).shape
    (150, 2)
    """

    graph: Graph | int | str | ArrayLike | None = None
    constraint: str = "degree"
    normalize: str | None = "auto"

    about = About("features", NEIGHBORS, "D")
    default_graph: ClassVar[Any] = KNN

    # Equations (1) and (2) have the matrices of every estimator that has none of its own: Reducer._problem.

    def _scores(self, data: Data, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        degrees = problem.degrees
        assert degrees is not None
        size, mean = total(data, degrees), data.mean(degrees)
        variance = data.form_diagonal(diagonal(degrees), mean) / size
        varying = ~negligible(variance, variance + mean**2, data.dtype)
        attraction = data.form_diagonal(laplacian_sum(problem.minimise), mean) / size
        return np.divide(attraction, variance, out=np.full(mean.size, np.inf), where=varying), varying  # (1)


class FisherScore(Supervised, FeatureSelector):
    r"""Fisher criterion score: selects the features whose class means differ much, compared with the variance within classes.

    .. math:: F_r = \frac{\sum_c n_c (\mu_{rc} - \mu_r)^2}{\sum_c n_c \sigma_{rc}^2}                  \tag{1}

    with the mean :math:`\mu_{rc}` and the variance :math:`\sigma_{rc}^2` of feature r in class c [1]_. It equals
    :math:`1 / L_r - 1`, where :math:`L_r` is the score of :class:`LaplacianScore` with ``graph=SameClass()``.

    Parameters
    ----------
    ... : As in :class:`LaplacianScore`

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each feature, infinite for one that is constant in every class, and 0 for one that is constant. The largest
        are the best.

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005, chapter 6, eq. 6.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import FisherScore
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherScore(2).fit(X, y).scores_.round(1)
    array([ 1.6,  0.7, 16.1, 13.1])
    """

    about = About("features", "S_w", "S_b")
    _largest: ClassVar[bool] = True

    def default_graph(self, n_neighbors: int) -> Graph:
        return SameClass()

    def _problem(self, data: Data, graphs: GraphFacts) -> Problem:
        terms = graphs.graph.terms(data)
        return Problem(terms, degree_sum(terms))

    def _scores(self, data: Data, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        mean, n = data.mean((data.classes >= 0).astype(np.float64)), data.class_sizes.sum()
        between, within = np.zeros((2, data.d))
        for rows in _groups(data.classes):
            own = as_data(data.X[rows], weights=None if data.weights is None else data.weights[rows])
            between += own.size / n * (own.mean() - mean) ** 2
            within += own.form_diagonal(diagonal(np.full(own.n, 1 / n)), own.mean())
        if isinstance(data, Summary):  # the rows are class means, and L of the class graph gives the scatter about them
            within = data.form_diagonal(laplacian_sum(problem.minimise), mean) / n
        squares = between + within + mean**2
        varying = ~negligible(between + within, squares, data.dtype)
        spread = varying & ~negligible(within, squares, data.dtype)
        return np.divide(between, within, out=np.where(varying, np.inf, 0.0), where=spread), varying  # (1)


def _groups(classes: np.ndarray) -> list[np.ndarray]:
    """The rows of each class, found by one sort."""
    known = np.flatnonzero(classes >= 0)
    by_class = known[np.argsort(classes[known], kind="stable")]
    return np.split(by_class, np.cumsum(np.bincount(classes[known]))[:-1])


def negligible(variance: np.ndarray, squares: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Whether the variance may be nothing but the rounding of data with this mean square."""
    return variance <= (2 * float(np.finfo(dtype).eps)) ** 2 * squares
