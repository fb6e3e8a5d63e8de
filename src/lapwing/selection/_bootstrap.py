"""Error rates by the bootstrap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import cross_validate
from sklearn.utils import check_random_state, column_or_1d, indexable

from .._validation import check_count, rows_by_number
from ..graphs import Alignment, Pairs, Precomputed
from ..rows import known_labels
from ._labels import SemiSupervised, known_part, some_rows


@dataclass(frozen=True, eq=False)
class BootstrapError:
    """Error rates by the bootstrap.

    Attributes
    ----------
    errors : ndarray of shape (n_bootstraps,)
        The error rate of each draw on the samples that it left out.
    training_error : float
        The error rate on all samples of a model that was fitted to all of them.
    no_information_error : float
        The error rate that the same predictions would have if they had nothing to do with the labels.
    mean, std : float
        The mean and the standard deviation of ``errors``. The mean is too high, since a draw holds only 63.2 % of the samples.
    error_632 : float
        0.368 ``training_error`` + 0.632 ``mean`` [1]_. It is too low for classifiers that know their training samples by heart,
        such as one nearest neighbour.
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

    Fits are on samples drawn with replacement, and tests on the samples left out (section 2.7 of [1]_, beside
    cross-validation). A draw is as large as X and holds some samples several times. These are neighbours at distance 0, and
    leave less room for others in a graph of few neighbours.

    Rows of unknown label (-1) take part in every fit of the reducer (:class:`SemiSupervised`). They are not drawn, the
    classifier does not learn from them, and they count in no error.

    Parameters
    ----------
    estimator : transformer, Pipeline of transformers, or "passthrough"
        What reduces the data. ``"passthrough"`` tests the classifier on X as it is.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        The class labels, -1 where unknown.
    classifier : None or classifier, default=None
        The classifier that is tested. None is ``KNeighborsClassifier(1)``.
    n_bootstraps : int, default=50
        The number of draws. A draw that has a single class, or leaves nothing out, is drawn again.
    random_state : int, RandomState instance or None, default=None
        Makes the draws repeatable.
    n_jobs : int or None, default=None
        How many draws are worked on at the same time; the result does not depend on it.

    Returns
    -------
    BootstrapError

    References
    ----------
    .. [1] X. He, "Locality Preserving Projections", PhD thesis, University of Chicago, 2005.

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
    splits = list(_draws(labels, known, n_bootstraps, check_random_state(random_state)))
    found = cross_validate(model, X, y, cv=splits, n_jobs=n_jobs, error_score="raise")
    predicted = clone(model).fit(X, y).predict(some_rows(X, known))
    chance = sum(np.mean(labels == label) * np.mean(predicted == label) for label in np.unique(labels))
    return BootstrapError(1 - found["test_score"], float(np.mean(predicted != labels)), float(1 - chance))


def _draws(
    labels: np.ndarray, known: np.ndarray, n_bootstraps: int, random: np.random.RandomState
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Labelled rows drawn with replacement, together with all unlabelled rows; and the labelled rows left out."""
    places, unknown = np.flatnonzero(known), np.flatnonzero(~known)
    n, drawn = len(labels), 0
    while drawn < n_bootstraps:
        rows = random.randint(n, size=n)
        others = np.setdiff1d(np.arange(n), rows)
        if others.size and np.unique(labels[rows]).size > 1:
            drawn += 1
            yield np.concatenate([places[rows], unknown]), places[others]


def _check_drawable(estimator: Any) -> None:
    """Raise where a graph indexes rows. A draw has as many rows as X, but other ones, and nothing else would notice."""
    for name, value in (estimator.get_params(deep=True) if hasattr(estimator, "get_params") else {}).items():
        matrix = name.split("__")[-1] in ("graph", "penalty") and hasattr(value, "shape")
        distances = name.endswith("metric") and isinstance(value, str) and value == "precomputed"
        if matrix or distances or isinstance(value, (Alignment, Pairs, Precomputed)):
            raise ValueError(
                f"{name}={type(value).__name__ if matrix else value!r} holds rows of X, and the bootstrap draws others; use a "
                "graph that is built from X, such as KNN"
            )
