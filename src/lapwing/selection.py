"""Model selection: every number of dimensions from one fit, and the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import check_random_state, column_or_1d, get_tags, indexable

from ._validation import check_count
from .graphs import Alignment, Pairs, Precomputed, TangentAlignment

__all__ = ["BootstrapError", "NestedScores", "bootstrap_error", "nested_scores"]


@dataclass(frozen=True, eq=False)
class NestedScores:
    """Scores by number of dimensions.

    Attributes
    ----------
    dimensions : ndarray of shape (n_dimensions,)
    scores : ndarray of shape (n_splits, n_dimensions)
    mean, std : ndarrays of shape (n_dimensions,)
        Over the splits.
    best_dimension : int
        That of the largest mean; of equal ones the first.
    best_score : float
        The largest mean.
    """

    dimensions: np.ndarray
    scores: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return self.scores.mean(axis=0)

    @property
    def std(self) -> np.ndarray:
        return self.scores.std(axis=0)

    @property
    def best_dimension(self) -> int:
        return int(self.dimensions[np.argmax(self.mean)])

    @property
    def best_score(self) -> float:
        return float(self.mean.max())


def nested_scores(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    dimensions: Any = None,
    classifier: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
) -> NestedScores:
    """Cross-validate a classifier on the first d components, for many d, with one fit a split.

    The scores are those of :class:`sklearn.model_selection.GridSearchCV` over ``n_components``, which fits anew for each d:
    the first d eigenvectors of a larger solution are the solution for d (section 2.7 of [1]_ chooses d and k this way; for k,
    call it for several graphs). Methods whose first components depend on how many are asked for are refused, and so is
    ``pca="auto"``, which keeps more principal directions for more components.

    Parameters
    ----------
    estimator : reducer, or Pipeline that ends in one
        A linear or kernel method of lapwing with ``pca`` other than ``"auto"``; PCA with ``svd_solver="full"`` and
        LinearDiscriminantAnalysis of scikit-learn.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Class labels.
    dimensions : None, int or sequence of int, default=None
        The numbers of dimensions. An integer D is 1, ..., D; None is 1, ..., ``n_components`` of the reducer.
    classifier : None or classifier, default=None
        What is scored. None is ``KNeighborsClassifier(1)``.
    cv : int, splitter or iterable, default=5
        As in scikit-learn; an integer gives stratified folds.
    scoring : None, str or callable, default=None
        As in scikit-learn; None is the classifier's own score, the accuracy.
    n_jobs : int or None, default=None
        Splits at a time.

    Returns
    -------
    NestedScores

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.selection import nested_scores
    >>> X, y = load_digits(return_X_y=True)
    >>> by_k = {k: nested_scores(LPP(15, graph=k, pca=0.95), X[:500], y[:500]) for k in (3, 5, 10)}
    >>> by_k[5].mean[[0, 1, 9]].round(1)
    array([0.3, 0.6, 1. ])
    >>> k = max(by_k, key=lambda k: by_k[k].best_score)
    >>> best = LPP(by_k[k].best_dimension, graph=k, pca=0.95).fit(X, y)
    """
    if y is None:
        raise ValueError("y=None: scores of a classifier need labels; pass y")
    reducer = reducer_of(estimator)
    if (reason := why_not_nested(reducer)) is not None:
        raise ValueError(reason)
    dimensions = _dimensions(dimensions, reducer)
    classifier = KNeighborsClassifier(1) if classifier is None else classifier
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise ValueError(f"scoring={scoring!r} must be None, a name or a callable: one number a split and dimension")
    scorer = check_scoring(classifier, scoring=scoring)

    def score(model: _EveryDimension, X: Any, y: Any) -> dict[str, float]:
        Z = np.asarray(model.estimator_.transform(X))
        return {str(d): scorer(fitted, Z[:, :d], y) for d, fitted in zip(dimensions, model.classifiers_, strict=True)}

    found = cross_validate(
        _EveryDimension(estimator, classifier, dimensions),
        X,
        y,
        cv=check_cv(cv, y, classifier=is_classifier(classifier)),
        scoring=score,
        n_jobs=n_jobs,
        error_score="raise",
    )
    return NestedScores(np.array(dimensions), np.column_stack([found[f"test_{d}"] for d in dimensions]))


class _EveryDimension(BaseEstimator):
    """One reducer, and a classifier on its first d components for each d."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = get_tags(self.estimator).input_tags.pairwise
        return tags

    def __init__(self, estimator: Any, classifier: Any, dimensions: list[int]):
        self.estimator = estimator
        self.classifier = classifier
        self.dimensions = dimensions

    def fit(self, X: Any, y: Any) -> _EveryDimension:
        self.estimator_ = clone(self.estimator)
        reducer_of(self.estimator_).set_params(n_components=max(self.dimensions))
        Z = np.asarray(self.estimator_.fit_transform(X, y))
        self.classifiers_ = [clone(self.classifier).fit(Z[:, :d], y) for d in self.dimensions]
        return self


def reducer_of(estimator: Any) -> Any:
    """The estimator itself, or the last step of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _dimensions(dimensions: Any, reducer: Any) -> list[int]:
    name = "n_components" if dimensions is None else "dimensions"
    given = reducer.n_components if dimensions is None else dimensions
    if given is None:
        raise ValueError(
            "dimensions=None takes n_components of the reducer, which is None too; give dimensions=, such as 20"
        )
    if isinstance(given, Integral) or not np.iterable(given) or isinstance(given, str):
        return list(range(1, check_count(name, given) + 1))
    counts = [check_count(name, d) for d in given]
    if not counts:
        raise ValueError(f"{name}={given!r} is empty; give an integer, or at least one number of dimensions")
    return counts


def why_not_nested(reducer: Any) -> str | None:
    """Why its first components may depend on how many there are; None where they do not. Those that are not known may."""
    if isinstance(reducer, PCA):
        nested, remedy = reducer.svd_solver in ("full", "covariance_eigh"), 'use svd_solver="full"'
    elif isinstance(getattr(reducer, "pca", None), str):
        nested, remedy = False, "give pca= as a share of the variance, a number of directions, or None"
    elif any(isinstance(value, TangentAlignment) and value.n_components is None for value in _parameters(reducer)):
        nested, remedy = False, "give TangentAlignment its own n_components"
    else:
        known = isinstance(reducer, LinearDiscriminantAnalysis)
        nested, remedy = getattr(reducer, "is_nested", known), "use GridSearchCV over n_components"
    if nested:
        return None
    return (
        f"the first components of {type(reducer).__name__} may depend on n_components, so one fit cannot score every number "
        f"of them: {remedy}"
    )


def _parameters(reducer: Any) -> list[Any]:
    return list(reducer.get_params(deep=True).values()) if hasattr(reducer, "get_params") else []


def _check_drawable(estimator: Any) -> None:
    """Refuse what indexes rows: a draw has as many rows as X, but others, so nothing else would notice."""
    for name, value in (estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}).items():
        matrix = name.split("__")[-1] in ("graph", "penalty") and hasattr(value, "shape")
        distances = name.endswith("metric") and isinstance(value, str) and value == "precomputed"
        if matrix or distances or isinstance(value, (Alignment, Pairs, Precomputed)):
            raise ValueError(
                f"{name}={type(value).__name__ if matrix else value!r} holds rows of X, and the bootstrap draws others; use a "
                "graph that is built from X, such as KNN"
            )


@dataclass(frozen=True, eq=False)
class BootstrapError:
    """Error rates by the bootstrap.

    Attributes
    ----------
    errors : ndarray of shape (n_bootstraps,)
        On the samples that a draw left out.
    training_error : float
        On all samples, by a model that was fitted to all of them.
    no_information_error : float
        That of the same predictions where they have nothing to do with the labels.
    mean, std : float
        Of ``errors``. The mean is too high: a draw holds 63.2 % of the samples only.
    error_632 : float
        0.368 ``training_error`` + 0.632 ``mean`` [1]_; too low for classifiers that know their training samples by heart, such
        as one nearest neighbour.
    error_632_plus : float
        The weight of the mean grows from 0.632 to 1 with the amount of overfitting [1]_.

    References
    ----------
    .. [1] B. Efron and R. Tibshirani, "Improvements on cross-validation: the .632+ bootstrap method", Journal of the American
       Statistical Association 92, 1997.
    """

    errors: np.ndarray
    training_error: float
    no_information_error: float

    @property
    def mean(self) -> float:
        return float(self.errors.mean())

    @property
    def std(self) -> float:
        return float(self.errors.std())

    @property
    def error_632(self) -> float:
        return 0.368 * self.training_error + 0.632 * self.mean

    @property
    def error_632_plus(self) -> float:
        most, least = self.no_information_error, self.training_error
        left_out = min(self.mean, most)
        overfitting = (left_out - least) / (most - least) if left_out > least else 0.0
        weight = 0.632 / (1 - 0.368 * overfitting)
        return (1 - weight) * least + weight * left_out


def bootstrap_error(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    classifier: Any = None,
    n_bootstraps: int = 50,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BootstrapError:
    """Error rate of a classifier on reduced data: fit on samples drawn with replacement, test on those left out.

    Section 2.7 of [1]_, beside cross-validation. A draw is as large as X and holds some samples several times; they are
    neighbours at distance 0, and leave less room for others in a graph of few neighbours.

    Parameters
    ----------
    estimator : transformer, Pipeline of transformers, or "passthrough"
        ``"passthrough"`` is the classifier on X as it is.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Class labels.
    classifier : None or classifier, default=None
        None is ``KNeighborsClassifier(1)``.
    n_bootstraps : int, default=50
        Number of draws. One that has a single class, or leaves nothing out, is drawn again.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Draws at a time; the result does not depend on it.

    Returns
    -------
    BootstrapError

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.selection import bootstrap_error
    >>> X, y = load_digits(return_X_y=True)
    >>> error = bootstrap_error(LPP(15), X[:500], y[:500], n_bootstraps=10, random_state=0)
    >>> print(f"{error.mean:.2f} +- {error.std:.2f}")
    0.02 +- 0.01
    """
    check_count("n_bootstraps", n_bootstraps)
    _check_drawable(estimator)
    if y is None:
        raise ValueError("bootstrap_error requires y to be passed, but the target y is None; pass class labels")
    X, y = indexable(X, column_or_1d(y))
    if len(y) < 3 or np.unique(y).size < 2:
        raise ValueError(
            f"y has {len(y)} samples of {np.unique(y).size} classes; the bootstrap needs 3 or more of 2 classes or more"
        )
    model = make_pipeline(estimator, KNeighborsClassifier(1) if classifier is None else classifier)
    splits = list(_draws(y, n_bootstraps, check_random_state(random_state)))
    found = cross_validate(model, X, y, cv=splits, scoring="accuracy", n_jobs=n_jobs, error_score="raise")
    predicted = clone(model).fit(X, y).predict(X)
    chance = sum(np.mean(y == label) * np.mean(predicted == label) for label in np.unique(y))
    return BootstrapError(1 - found["test_score"], float(np.mean(predicted != y)), float(1 - chance))


def _draws(y: np.ndarray, n_bootstraps: int, random: np.random.RandomState) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows drawn with replacement, and the others."""
    n, drawn = len(y), 0
    while drawn < n_bootstraps:
        rows = random.randint(n, size=n)
        others = np.setdiff1d(np.arange(n), rows)
        if others.size and np.unique(y[rows]).size > 1:
            drawn += 1
            yield rows, others
