"""Scores for every number of dimensions, from one fit per split, and error rates by the bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import check_scoring
from sklearn.model_selection import BaseCrossValidator, check_cv, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state, column_or_1d, get_tags, indexable

from .._arrays import some_rows
from .._labels import known_labels
from .._validation import check_count, rows_by_number
from ..graphs import Pairs, Precomputed, TangentAlignment
from ..methods import LPI
from ..reducers import KernelReducer, LinearReducer
from ._labels import LabelledSplit, SemiSupervised, known_part, labelled_scorer, reduced, reducer_of


@dataclass(frozen=True, eq=False)
class NestedScores:
    """Scores by number of dimensions.

    Attributes
    ----------
    dimensions : ndarray of shape (n_dimensions,)
        The numbers of dimensions that were tried.
    scores : ndarray of shape (n_splits, n_dimensions)
        The score of each split and number of dimensions.
    mean, std : ndarrays of shape (n_dimensions,)
        The mean and the standard deviation of the scores over the splits.
    best_score, best_dimension : float, int
        The largest mean, and its number of dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.selection import NestedScores
    >>> found = NestedScores(np.array([1, 2]), np.array([[0.5, 0.75], [0.75, 1.0]]))
    >>> found.best_dimension, found.best_score
    (2, 0.875)
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
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    *,
    dimensions: int | Sequence[int] | None = None,
    classifier: ClassifierMixin | None = None,
    cv: int | BaseCrossValidator | Iterable = 5,
    scoring: str | Callable | None = None,
    n_jobs: int | None = None,
) -> NestedScores:
    """Cross-validate a classifier on the first d components, for many d, with one fit per split.

    The scores are those of :class:`sklearn.model_selection.GridSearchCV` over ``n_components``, which fits anew for each d:
    the first d eigenvectors of a larger solution are the solution for d (section 2.7 of [1]_ chooses d and k this way). Where
    ``pca="auto"`` keeps more principal directions for more components, a few more fits are made. Methods whose first components
    depend on their number in other ways are refused. Rows of unknown label (-1) take part in fitting the reducer alone.

    Parameters
    ----------
    estimator : reducer, or Pipeline that ends in one
        A linear or kernel method of lapwing; PCA with ``svd_solver="full"`` and LinearDiscriminantAnalysis of scikit-learn.
    X, y : array-like or sparse matrix of shape (n_samples, n_features), and array-like of shape (n_samples,)
        The samples and their class labels, -1 where unknown.
    dimensions : None, int or sequence of int, default=None
        The numbers of dimensions that are tried. An integer D is 1, ..., D; None is 1, ..., ``n_components`` of the reducer.
    classifier : None or classifier, default=None
        The classifier that is scored; None is ``KNeighborsClassifier(1)``.
    cv : int, splitter or iterable, default=5
        A splitter of scikit-learn, or the number of stratified folds of the labelled rows (:class:`LabelledSplit`).
    scoring : None, str or callable, default=None
        What is measured, as scikit-learn takes it; None is the accuracy.
    n_jobs : int or None, default=None
        How many splits are worked on at the same time.

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.selection import nested_scores
    >>> X, y = load_digits(return_X_y=True)
    >>> by_k = {k: nested_scores(LPP(15, graph=k), X[:500], y[:500]) for k in (3, 5, 10)}
    >>> by_k[5].mean[[0, 1, 9]].round(1)
    array([0.3, 0.6, 1. ])
    >>> k = max(by_k, key=lambda k: by_k[k].best_score)
    >>> best = LPP(by_k[k].best_dimension, graph=k).fit(X, y)
    """
    if y is None:
        raise ValueError("y=None: scores of a classifier need labels; pass y")
    reducer = reducer_of(estimator)
    if (reason := why_not_nested(reducer)) is not None and not is_automatic(reducer):
        raise ValueError(reason)
    dimensions = _dimensions(dimensions, reducer)
    classifier = KNeighborsClassifier(1) if classifier is None else classifier
    if not (scoring is None or isinstance(scoring, str) or callable(scoring)):
        raise ValueError(f"scoring={scoring!r} must be None, a name or a callable: one number per split and dimension")
    own_splits = known_labels(y).all() or np.iterable(cv) or hasattr(cv, "split")
    found = cross_validate(
        _EveryDimension(estimator, classifier, dimensions),
        rows_by_number(X, "nested_scores"),
        y,
        cv=check_cv(cv, y, classifier=True) if own_splits else LabelledSplit(5 if cv is None else cv),
        scoring=labelled_scorer(partial(_score_each, check_scoring(classifier, scoring=scoring))),
        n_jobs=n_jobs,
        error_score="raise",
    )
    return NestedScores(np.array(dimensions), np.column_stack([found[f"test_{d}"] for d in dimensions]))


def is_automatic(reducer: Any) -> bool:
    """Whether its first components depend on how many there are, but only because of ``pca="auto"``."""
    automatic = isinstance(getattr(reducer, "pca", None), str)
    return automatic and why_not_nested(clone(reducer).set_params(pca=None)) is None


class _EveryDimension(BaseEstimator):
    """A reducer, and for each d a classifier on its first d components."""

    def __init__(self, estimator: Any, classifier: Any, dimensions: list[int]):
        self.estimator = estimator
        self.classifier = classifier
        self.dimensions = dimensions

    def fit(self, X: Any, y: Any) -> _EveryDimension:
        known, rows = known_labels(y), {}

        def fit(model: Any) -> None:
            rows[model] = np.asarray(reduced(model, X, y, known))

        self.models_ = fitted_models(self.estimator, self.dimensions, fit)
        labels = known_part(y, known)
        self.classifiers_ = [clone(self.classifier).fit(rows[self.models_[d]][:, :d], labels) for d in self.dimensions]
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = get_tags(self.estimator).input_tags.pairwise
        return tags


def _score_each(scorer: Any, model: _EveryDimension, X: Any, y: Any) -> dict[str, float]:
    rows = {fitted: np.asarray(fitted.transform(X)) for fitted in set(model.models_.values())}
    parts = zip(model.dimensions, model.classifiers_, strict=True)
    return {str(d): scorer(fitted, rows[model.models_[d]][:, :d], y) for d, fitted in parts}


def fitted_models(estimator: Any, dimensions: Iterable[int], fit: Callable[[Any], Any]) -> dict[int, Any]:
    """For each number of dimensions, a model that was fitted, and whose first components are those of that number.

    If the first components do not depend on how many there are, one fit with the largest number serves all. Where
    ``pca="auto"`` keeps more principal directions for more components, it serves the numbers with the same directions, and
    these ranges are found by halving.
    """
    dimensions, reducer, models = sorted(set(dimensions)), reducer_of(estimator), dict[int, Any]()

    def fitted(d: int) -> Any:
        if d not in models:
            models[d] = clone(estimator)
            reducer_of(models[d]).set_params(n_components=d)
            fit(models[d])
        return models[d]

    if not is_automatic(reducer):
        one_serves_all = why_not_nested(reducer) is None
        return {d: fitted(dimensions[-1] if one_serves_all else d) for d in dimensions}

    def fill(low: int, high: int) -> None:
        above, below = fitted(dimensions[high]), fitted(dimensions[low])
        if reducer_of(below).n_pca_ == reducer_of(above).n_pca_:
            models.update(dict.fromkeys(dimensions[low:high], above))
        elif high - low > 1:
            middle = (low + high) // 2
            fill(middle, high)
            fill(low, middle)

    fill(0, len(dimensions) - 1)
    return models


def _dimensions(dimensions: Any, reducer: Any) -> list[int]:
    name, given = ("n_components", reducer.n_components) if dimensions is None else ("dimensions", dimensions)
    if given is None:
        raise ValueError(
            "dimensions=None takes n_components of the reducer, which is None too; give dimensions=, such as 20"
        )
    if isinstance(given, str) or not np.iterable(given):
        return list(range(1, check_count(name, given) + 1))
    counts = [check_count(name, d) for d in given]
    if not counts:
        raise ValueError(f"{name}={given!r} is empty; give an integer, or at least one number of dimensions")
    return counts


def why_not_nested(reducer: Any) -> str | None:
    """Why its first components may depend on how many there are; None where they do not."""
    parameters = reducer.get_params(deep=True) if hasattr(reducer, "get_params") else {}
    if isinstance(reducer, PCA):
        nested, remedy = reducer.svd_solver in ("full", "covariance_eigh"), 'use svd_solver="full"'
    elif isinstance(getattr(reducer, "pca", None), str):
        nested, remedy = False, "give pca= as a share of the variance, a number of directions, or None"
    elif any(isinstance(value, TangentAlignment) and value.n_components is None for value in parameters.values()):
        nested, remedy = False, "give TangentAlignment its own n_components"
    else:
        nested, remedy = getattr(reducer, "is_nested", _is_nested(reducer)), "use GridSearchCV over n_components"
    if nested:
        return None
    return (
        f"the first components of {type(reducer).__name__} may depend on n_components, so one fit cannot score every number "
        f"of them: {remedy}"
    )


def _is_nested(reducer: Any) -> bool:
    """Whether a fit with fewer components, and the same ``pca``, finds the first components of this one.

    Other landmarks in each fit do not, nor do graph eigenvectors of equal eigenvalues, which LPI regresses on.
    """
    features = getattr(reducer, "features", None)
    drawn = reducer if getattr(reducer, "landmarks", None) is not None else features
    if getattr(drawn, "random_state", 0) is None:
        return False
    known = isinstance(reducer, LinearDiscriminantAnalysis | LinearReducer | KernelReducer)
    return known and not isinstance(reducer, LPI)


@dataclass(frozen=True, eq=False)
class BootstrapError:
    """Error rates by the bootstrap.

    Attributes
    ----------
    errors : ndarray of shape (n_bootstraps,)
        The error rate of each draw on the samples that it left out.
    training_error, no_information_error : float
        The error rate of a model of all samples on these, and if its predictions had nothing to do with the labels.
    mean, std : float
        The mean and the standard deviation of ``errors``. The mean is too high, since a draw holds only 63.2 % of the samples.
    error_632 : float
        0.368 ``training_error`` + 0.632 ``mean`` [1]_, too low for classifiers that know their training samples by heart.
    error_632_plus : float
        The same, with a weight of the mean that grows from 0.632 to 1 with the amount of overfitting [1]_.

    References
    ----------
    .. [1] B. Efron and R. Tibshirani, "Improvements on cross-validation: the .632+ bootstrap method", Journal of the American
       Statistical Association 92, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.selection import BootstrapError
    >>> found = BootstrapError(np.array([0.25, 0.75]), training_error=0.0, no_information_error=0.5)
    >>> found.mean, round(found.error_632, 3), found.error_632_plus
    (0.5, 0.316, 0.5)
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
    estimator: BaseEstimator | str,
    X: Any,
    y: Any,
    *,
    classifier: ClassifierMixin | None = None,
    n_bootstraps: int = 50,
    random_state: int | RandomState | None = None,
    n_jobs: int | None = None,
) -> BootstrapError:
    """Estimate the error rate of a classifier on reduced data by the bootstrap.

    Fits are on as many samples drawn with replacement, and tests on those left out. Samples drawn several times are neighbours at
    distance 0, and leave less room for others. Rows of unknown label (-1) take part in every fit of the reducer alone.

    Parameters
    ----------
    estimator : transformer, Pipeline of transformers, or "passthrough"
        What reduces the data. ``"passthrough"`` tests the classifier on X as it is.
    X, y : array-like or sparse matrix of shape (n_samples, n_features), and array-like of shape (n_samples,)
        The samples and their class labels, -1 where unknown.
    classifier : None or classifier, default=None
        The classifier that is tested. None is ``KNeighborsClassifier(1)``.
    n_bootstraps : int, default=50
        The number of draws. A draw that has a single class, or leaves nothing out, is drawn again.
    random_state : int, RandomState instance or None, default=None
        Makes the draws repeatable.
    n_jobs : int or None, default=None
        How many draws are worked on at the same time; the result does not depend on it.

    Examples
    --------
    >>> from lapwing.selection import bootstrap_error
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> error = bootstrap_error("passthrough", X, y, n_bootstraps=10, random_state=0)
    >>> print(f"{error.mean:.2f} +- {error.std:.2f}")
    0.03 +- 0.02
    """
    check_count("n_bootstraps", n_bootstraps)
    _check_drawable(estimator)
    if y is None:
        raise ValueError("bootstrap_error requires y to be passed, but the target y is None; pass class labels")
    X, y = indexable(rows_by_number(X, "bootstrap_error"), column_or_1d(y))
    known = known_labels(y)
    labels = known_part(y, known)
    if len(labels) < 3 or np.unique(labels).size < 2:
        raise ValueError(
            f"y has {len(labels)} samples of {np.unique(labels).size} classes; the bootstrap needs 3 or more of 2 classes or more"
        )
    model = SemiSupervised(estimator, classifier)
    splits = list(_draws(known, labels, n_bootstraps, check_random_state(random_state)))
    found = cross_validate(model, X, y, cv=splits, n_jobs=n_jobs, error_score="raise")
    predicted = clone(model).fit(X, y).predict(some_rows(X, known))
    chance = sum(np.mean(labels == label) * np.mean(predicted == label) for label in np.unique(labels))
    return BootstrapError(1 - found["test_score"], float(np.mean(predicted != labels)), float(1 - chance))


def _draws(known: np.ndarray, labels: np.ndarray, n_bootstraps: int, random: RandomState) -> Iterator[tuple]:
    """Labelled rows drawn with replacement, together with all unlabelled rows; and the labelled rows left out."""
    places, unknown = np.flatnonzero(known), np.flatnonzero(~known)
    while n_bootstraps > 0:
        drawn = random.randint(len(labels), size=len(labels))
        others = np.setdiff1d(np.arange(len(labels)), drawn)
        if others.size and np.unique(labels[drawn]).size > 1:
            n_bootstraps -= 1
            yield np.concatenate([places[drawn], unknown]), places[others]


def _check_drawable(estimator: Any) -> None:
    """Raise where a graph indexes rows, since a draw has as many rows as X, but other ones."""
    for name, value in (estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}).items():
        matrix = name.split("__")[-1] in ("graph", "penalty") and hasattr(value, "shape")
        distances = name.endswith("metric") and isinstance(value, str) and value == "precomputed"
        if matrix or distances or isinstance(value, (Pairs, Precomputed)):
            raise ValueError(
                f"{name}={type(value).__name__ if matrix else value!r} holds rows of X, and the bootstrap draws others; use a "
                "graph that is built from X, such as KNN"
            )
