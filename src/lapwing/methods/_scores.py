"""Scores of single features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..graphs import KNN, Graph, SameClass, Sample
from ..operators import weighted_mean
from ..problem import Problem, degree_sum, laplacian_sum
from ..reducers._base import connected_components
from ..reducers._feature import FeatureSelector, mean_squares, negligible, quadratic_diagonal, spread
from ..reducers._sampling import on_halves


class LaplacianScore(FeatureSelector):
    r"""Laplacian Score: selects the features that differ least between neighbours, beside how much they vary.

    .. math::
        L_r = \frac{\tilde f_r^\top L \tilde f_r}{\tilde f_r^\top D \tilde f_r}, \qquad
        \tilde f_r = f_r - \frac{f_r^\top D 1}{1^\top D 1} 1                                     \tag{1}

    for each column :math:`f_r` of X, with L = D - W the Laplacian of a graph of neighbours and D its degrees [1]_: what
    :class:`LPP` minimises over all directions, here for the axes alone. Features are scored one by one, so two that say the
    same are both selected. With ``graph=SameClass()`` it is supervised, and :math:`L_r = 1 / (1 + F_r)` of
    :class:`FisherScore` [2]_.

    Parameters
    ----------
    n_features_to_select : int or None, default=None
        Features to keep, those of the smallest scores; of equal ones the first. None is half of them, and at least one.
        Constant features are never kept: more than there are others raises.
    graph : None, int, graph or matrix, default=None
        What attracts (and, with a negative sign, repels: L is then the signed sum, D of what attracts alone). None is
        ``KNN(5)``, an integer k is ``KNN(k)``, a matrix W is ``Precomputed(W)``; any graph of :mod:`lapwing.graphs` will do.
        The thesis [2]_ has neighbours and weights by the cosine, ``KNN(5, metric="cosine", weights="cosine")``, which suit
        data without negative entries only. Distances see the scale of features, scores do not: standardise features of
        different units first.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        (1) of each feature, between 0 and 2 where nothing repels; infinity for a constant one.
    support_ : ndarray of shape (n_features,)
        Which features were selected; :meth:`get_support` returns it.
    n_features_to_select_ : int
        How many were.
    n_connected_components_ : int or None
        Of the graph that attracts; None where only a sample of its links was built.
    graph_ : Graph
        The graph that was used.
    sampling_ : dict or None
        Where the graph has ``queries``, how certain the scores are: ``error`` is their root mean squared error as a share of
        them, estimated from two halves of the links.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    FisherScore : By classes.
    LPP : Combines features instead.

    References
    ----------
    .. [1] X. He, D. Cai and P. Niyogi, "Laplacian Score for feature selection", Advances in Neural Information Processing
       Systems 18, 2005.
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

    _takes_sparse_blocks: ClassVar[bool] = True

    def __init__(self, n_features_to_select: int | None = None, *, graph: Any = None):
        super().__init__(n_features_to_select)
        self.graph = graph

    def _default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors)

    def _problem(self, sample: Sample) -> Problem:
        terms = self._terms(sample)
        return Problem(terms, degree_sum(terms))  # (1)

    def _criterion(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        problem, graph = self._problem(sample), self._graph(sample)
        scores, varying = _laplacian_scores(sample, problem)
        self.sampling_ = self._sampling(sample, graph, scores[varying])
        self.graph_ = self._own(graph)
        self.n_connected_components_ = connected_components(graph, problem.minimise, sample)
        return scores, varying

    def _sampling(self, sample: Sample, graph: Graph, scores: np.ndarray) -> dict[str, Any] | None:
        """How certain the scores are: those of two halves differ by twice their error, on average."""
        n = sample.n_samples
        queries = [search.queries or n for search in graph.searches() if search.is_sampled(n)]
        if not queries:
            return None
        halves = on_halves(sample, lambda half: _laplacian_scores(half, self._problem(half))[0])
        error = np.inf if halves is None else np.sqrt(np.mean(_apart(*halves) ** 2)) / 2
        return {"queries": min(queries), "samples": n, "error": float(error / (np.sqrt(np.mean(scores**2)) or 1.0))}


def _apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Differences of the scores that both have."""
    both = np.isfinite(one) & np.isfinite(other)
    return one[both] - other[both]


def _laplacian_scores(sample: Sample, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The scores, and which features vary."""
    X, degrees = sample.X, problem.degrees
    assert degrees is not None
    shares = degrees / sample.total(degrees)
    mean = weighted_mean(X, shares)
    variance = spread(X, mean, shares)
    varying = ~negligible(variance, mean_squares(X, mean, variance, shares), X.dtype)
    attraction = quadratic_diagonal(laplacian_sum(problem.minimise), X, mean) / sample.total(degrees)
    return np.divide(attraction, variance, out=np.full(mean.size, np.inf), where=varying), varying  # (1)


class FisherScore(FeatureSelector):
    r"""Fisher criterion score: selects the features whose class means differ most, beside how much classes vary.

    .. math:: F_r = \frac{\sum_c n_c (\mu_{rc} - \mu_r)^2}{\sum_c n_c \sigma_{rc}^2}                  \tag{1}

    with the mean and the variance of feature r in class c [1]_. It is :math:`1 / L_r - 1` of :class:`LaplacianScore` with
    ``graph=SameClass()``, found here in one pass over each class.

    Parameters
    ----------
    n_features_to_select : int or None, default=None
        Features to keep, those of the largest scores; of equal ones the first. None is half of them, and at least one.
        Constant features are never kept: more than there are others raises.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        (1) of each feature, on the samples of known label: infinity for one that is constant in every class, 0 for one that
        is constant.
    support_ : ndarray of shape (n_features,)
        Which features were selected; :meth:`get_support` returns it.
    n_features_to_select_ : int
        How many were.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    See Also
    --------
    LaplacianScore : Without labels, by neighbours.

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

    _largest: ClassVar[bool] = True

    def _default_graph(self, n_neighbors: int) -> Graph:
        return SameClass()

    def _criterion(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        if sample.y is None:
            raise ValueError(
                "FisherScore requires y to be passed, but the target y is None; pass class labels (-1 marks an unknown one), or "
                "use LaplacianScore"
            )
        X, shares = sample.X, (sample.classes >= 0) / sample.class_sizes.sum()
        mean = weighted_mean(X, shares)
        between, within = (_of_moments if sample.in_blocks else _of_rows)(sample, mean, shares)
        squares = mean_squares(X, mean, between + within, shares)
        varying = ~negligible(between + within, squares, X.dtype)
        scores = np.where(varying, np.inf, 0.0)
        return np.divide(
            between, within, out=scores, where=varying & ~negligible(within, squares, X.dtype)
        ), varying  # (1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _of_rows(sample: Sample, mean: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The variances between and within classes."""
    between, within = np.zeros((2, mean.size))
    for rows in _groups(sample.classes):
        X_c, share = sample.X[rows], shares[rows]
        mean_c = weighted_mean(X_c)
        between += share.sum() * (mean_c - mean) ** 2
        within += spread(X_c, mean_c, share)
    return between, within


def _of_moments(sample: Any, mean: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for rows in blocks: L of the class graph is their scatter about the class means."""
    between = sample.class_sizes @ (sample.class_means - mean) ** 2
    (term,) = SameClass().terms(sample)
    within = quadratic_diagonal(term.laplacian, sample.X, mean)
    return between / sample.class_sizes.sum(), within / sample.class_sizes.sum()


def _groups(classes: np.ndarray) -> list[np.ndarray]:
    """Rows of each class, by one sort."""
    known = np.flatnonzero(classes >= 0)
    by_class = known[np.argsort(classes[known], kind="stable")]
    return np.split(by_class, np.cumsum(np.bincount(classes[known]))[:-1])
