"""One fold: fit every method to its training rows, judge it by the rows held out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from .._validation import check_count
from ..operators import Array
from ..rows import encode_labels
from ._fits import SharedFits, why_it_failed
from ._plan import Plan
from ._scores import Judge


def checked_splitter(cv: Any, labels: np.ndarray | None, classes: np.ndarray | None, seed: int) -> Any:
    if hasattr(cv, "split"):
        return cv
    n_splits = check_count("cv", cv, 2)
    if labels is None or classes is None:
        return KFold(n_splits, shuffle=True, random_state=seed)
    counts = np.bincount(labels[labels >= 0])
    if counts.min() < n_splits:
        small = ", ".join(
            f"{name!s} ({count})" for name, count in zip(classes, counts, strict=True) if count < n_splits
        )
        raise ValueError(
            f"cv={n_splits} folds need {n_splits} rows or more of each class, and these have fewer: {small}; use fewer "
            "folds (2 at least), add rows, merge classes, or set those labels to -1 (unknown)"
        )
    return StratifiedKFold(n_splits, shuffle=True, random_state=seed)


def class_codes(y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of n samples as 0, 1, ..., -1 where unknown, and the label of each class."""
    codes, y = encode_labels(y, n), np.asarray(y).ravel()
    return codes, np.array([y[np.argmax(codes == code)] for code in range(codes.max() + 1)])


class Fold(NamedTuple):
    """What one fold gave."""

    measures: dict[tuple[str, int], dict[str, float]]
    predictions: dict[tuple[str, int], np.ndarray]
    baseline: dict[str, float]
    failures: dict[str, str]
    warnings: dict[str, list[str]]


def score_fold(
    X: Array,
    labels: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
    plans: dict[str, Plan],
    n_neighbors: int,
    seed: int,
) -> Fold:
    y_train, y_test = (None, None) if labels is None else (labels[train], labels[test])
    with threadpool_limits(1):  # one thread a fold: as fast on many folds, and the same bits whatever n_jobs
        X_train, X_test = X[train], X[test]
        judge = Judge(X_test, y_train, y_test, n_neighbors, seed)
        fold = Fold({}, {}, judge(X_train, X_test)[0], {}, {})
        fits = SharedFits(X_train, y_train)
        for name, plan in plans.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    for d, Z_train, Z_test in _projections(plan, fits, X_test):
                        fold.measures[name, d], fold.predictions[name, d] = judge(Z_train, Z_test)
                except Exception as error:  # of any kind: the other methods go on
                    fold.failures[name] = why_it_failed(error)
            fold.warnings[name] = [str(warning.message) for warning in caught]
    return fold


def _projections(plan: Plan, fits: SharedFits, X_test: Array) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    for group in plan.groups(plan.dimensions):
        model = fits.fit(plan.at(group[-1]))
        Z_train, Z_test = (np.asarray(model.transform(rows)) for rows in (fits.X, X_test))
        for d in group:
            yield d, Z_train[:, :d], Z_test[:, :d]
