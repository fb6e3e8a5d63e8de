"""The folds of a comparison: how the rows are split, by classes, groups or time, and what a fold fits and judges."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_array, column_or_1d

from .._arrays import Array
from .._validation import check_count
from ..data import canonical
from ..selection import LabelledSplit, TimeSplit, some_rows

NAMED_CLASSES = 8  # an error names this many


class Fold(NamedTuple):
    """The rows as the caller has them, the transformer that makes them numbers, labels, and the rows to fit and to judge."""

    X: Any
    prepare: Any  # an unfitted transformer, or None where X holds numbers
    labels: np.ndarray | None
    train: np.ndarray
    test: np.ndarray
    judge: Any = None  # the unfitted classifier of its spaces; None is the nearest neighbour

    def divided(self) -> tuple[Array, Array, np.ndarray | None, np.ndarray | None]:
        """The rows to fit, those to judge, and the labels of both. The transformer is fitted to the rows to fit."""
        y = (None, None) if self.labels is None else (self.labels[self.train], self.labels[self.test])
        rows = some_rows(self.X, self.train), some_rows(self.X, self.test)
        if self.prepare is None:
            return *rows, *y
        # Warnings are about columns that hold nothing but gaps in some folds, and categories that only one fold has.
        with warnings.catch_warnings(action="ignore"):
            prepare = clone(self.prepare).fit(rows[0])
            return numbers(prepare.transform(rows[0])), numbers(prepare.transform(rows[1])), *y


def numbers(X: Any) -> Array:
    """The rows as numbers, which all methods take."""
    return canonical(check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2))


def checked_splitter(
    cv: Any, labels: np.ndarray | None, classes: np.ndarray | None, seed: int, groups: Any, time: Any
) -> tuple[Any, np.ndarray | None]:
    """The splitter, and what it is given beside the labels: the group or the time of each row."""
    if groups is not None and time is not None:
        raise ValueError("groups and time are both given; rows are kept together, or kept in order: give one of them")
    if hasattr(cv, "split"):
        return cv, groups if time is None else time
    n_splits = check_count("cv", cv, 2)
    if time is not None:
        return TimeSplit(n_splits), time
    if groups is not None and (found := len(np.unique(groups))) < n_splits:
        raise ValueError(
            f"groups has {found} different values, and each of cv={n_splits} folds holds out one or more of them; use at most "
            f"{found} folds, or other groups"
        )
    if labels is None or classes is None:
        folds = KFold if groups is None else GroupKFold
        return folds(n_splits, shuffle=True, random_state=seed), groups
    alone = [] if groups is None else [i for i in range(len(classes)) if len(np.unique(groups[labels == i])) < 2]
    if alone:
        raise ValueError(
            f"rows of these classes are all in one group: {_listed(classes[alone])}; with that group held out nothing is "
            "left to learn them from, so use other groups; to judge a search among classes that were never seen, use "
            "cross_val_score(reducer, X, y, cv=GroupKFold(2), groups=y, scoring=lapwing.selection.retrieval_scorer)"
        )
    counts = np.bincount(labels[labels >= 0])
    if counts.min() < n_splits:
        few = [f"{name!s} ({count})" for name, count in zip(classes, counts, strict=True) if count < n_splits]
        raise ValueError(
            f"cv={n_splits} folds need {n_splits} rows or more of each class, and these have fewer: {_listed(few)}; use fewer "
            "folds (2 at least), add rows, merge classes, or set those labels to -1 (unknown)"
        )
    folds = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = folds(n_splits, shuffle=True, random_state=seed)
    return (LabelledSplit(splitter) if (labels < 0).any() else splitter), groups


def _listed(classes: Any) -> str:
    more = f" and {len(classes) - NAMED_CLASSES} more" if len(classes) > NAMED_CLASSES else ""
    return ", ".join(map(str, classes[:NAMED_CLASSES])) + more


def checked_keys(name: str, values: Any, n: int) -> np.ndarray | None:
    """``groups=`` or ``time=``: one value per row, with none missing."""
    if values is None:
        return None
    values = column_or_1d(values)
    if len(values) != n:
        raise ValueError(f"{name} has {len(values)} entries, but X has {n} rows; pass one per row")
    missing = np.array([value is None or value != value for value in values.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"{name} is missing in {missing.sum()} rows (the first is row {np.argmax(missing)}); fill it in, or remove such rows"
        )
    return values
