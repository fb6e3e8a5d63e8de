"""One method on one fold: it is fitted to the training rows, and judged by the rows held out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ..operators import Array
from ..reducers import UnitsWarning
from ._candidates import Candidate
from ._data import Fold
from ._scores import Judge


class Evaluation(NamedTuple):
    """What a method has reached on a fold, by number of dimensions, why it failed and what it warned of."""

    measures: dict[int, dict[str, float]]
    predictions: dict[int, np.ndarray]
    failures: list[str]
    warnings: list[str]


def evaluate(candidate: Candidate, fold: Fold, settings: dict[str, Any], key: str | None = None) -> Evaluation:
    """Fit a method and judge it, in every number of dimensions. A memory finds the result again by the key alone."""
    measures, predictions, failures = {}, {}, []
    # One thread per task: as fast where there are many tasks, and the same bits whatever n_jobs is.
    with threadpool_limits(1):
        X_train, X_test, y_train, y_test = fold.divided()
        judge, given = Judge(X_test, y_train, y_test, **settings), candidate.given_to_fit(X_train, y_train)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for group in candidate.groups(candidate.dimensions):
                try:
                    for d, Z_train, Z_test in _projections(candidate, group, given, X_train, X_test):
                        measures[d], predictions[d] = judge(Z_train, Z_test)
                except Exception as error:  # any error: other dimensions and other methods go on
                    failures.append(why_it_failed(error))
    # Warnings about units are left out here. The result gives one for all methods.
    said = [str(warning.message) for warning in caught if not issubclass(warning.category, UnitsWarning)]
    return Evaluation(measures, predictions, failures, said)


def evaluate_as_given(fold: Fold, settings: dict[str, Any]) -> dict[str, float]:
    """The measures of the rows without reduction."""
    with threadpool_limits(1):
        X_train, X_test, y_train, y_test = fold.divided()
        return Judge(X_test, y_train, y_test, **settings)(X_train, X_test)[0]


def _projections(
    candidate: Candidate, group: list[int], given: tuple[Any, ...], X_train: Array, X_test: Array
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """The rows in each number of dimensions of a group: the first coordinates of the largest fit that serves it."""
    models = candidate.fitted(group, lambda model: model.fit(*given))
    seen: dict[int, tuple[np.ndarray, ...]] = {}
    for d in group:
        model = models[d]
        if id(model) not in seen:
            seen[id(model)] = tuple(np.asarray(model.transform(rows)) for rows in (X_train, X_test))
        Z_train, Z_test = seen[id(model)]
        yield d, Z_train[:, :d], Z_test[:, :d]


def why_it_failed(error: Exception) -> str:
    """The message of an error. Where the error is not meant for the caller, its class too."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
