"""Leaks: columns that alone tell the label, and rows that are in several folds at once."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from .._arrays import spread_rows
from .._labels import class_codes
from .._validation import check_count
from ..metrics import standard_error

CERTAIN = 0.99  # a column that reaches this alone is named whatever the others do
HALFWAY = 0.5  # of the way from guessing to a perfect score: a weaker column is no leak
FAR_BELOW = 0.5  # the second-best column must have come less than this share of the best one's way
MOST_ROWS, MOST_COLUMNS, FINALISTS = 10_000, 100, 5  # that are looked at: by trees at all, and in every fold
SMALL = {"min_samples_leaf": 3, "class_weight": "balanced", "random_state": 0}
COPIED = 0.01  # the share of rows with a copy in another fold from which on it is said


class LeakWarning(UserWarning):
    """A column alone tells the label, or rows are copies of rows in other folds, so that scores may be too good.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import LeakWarning, compare
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     found = compare(X.assign(code=7 * y), y, methods=["PCA"], dimensions=[2])
    >>> [str(warning.message)[:50] for warning in told if warning.category is LeakWarning]
    ["column 'code' alone gives 100 % (balanced accuracy"]
    """


class Leak(NamedTuple):
    """What may have told the label: a ``column`` with its ``score``, or, where column is None, that share of copied rows.

    Examples
    --------
    >>> from lapwing.comparison import Leak
    >>> Leak("alive", 1.0, "column 'alive' alone gives 100 %").column
    'alive'
    """

    column: str | None
    score: float
    message: str


def find_leaks(X: Any, y: Any, *, cv: int = 5, feature_names: Sequence[str] | None = None) -> list[Leak]:
    """The columns of X that alone tell the labels, and how many rows are copies of others.

    A small tree is fitted to each column alone, and scored in folds by the AUC where there are two classes, and by the
    balanced accuracy where there are more. A column is named that reaches 0.99, unless there are more columns than
    rows. It is named, too, where it reaches a score of a forest of all columns (the AUC or the balanced accuracy)
    within a standard error, is at least halfway from guessing to a perfect score, and leaves the second-best column far
    below, at less than half of its own way. Rows count as copies where more of them are equal than differ from another
    row in one column: otherwise rows are equal because the columns have few values.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Numbers, text or dates, with gaps. In sparse X nothing is found.
    y : array-like of shape (n_samples,)
        Class labels, -1 where unknown.
    cv : int, default=5
        The number of folds; fewer where a class has fewer rows.
    feature_names : sequence of str, default=None
        The names of the columns. None takes those of a data frame, or numbers from 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import find_leaks
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> find_leaks(X, y)
    []
    >>> find_leaks(X.assign(code=7 * y), y)[0].message
    "column 'code' alone gives 100 % (balanced accuracy): is it known before the label? If not: --drop code"
    """
    codes, _ = class_codes(y, len(X) if not sparse.issparse(X) else X.shape[0])
    counts = np.bincount(codes[codes >= 0])
    rows = np.flatnonzero((codes >= 0) & (counts >= check_count("cv", cv, 2))[codes])
    if len(np.unique(codes[rows])) < 2:
        return []
    folds = StratifiedKFold(cv, shuffle=True, random_state=0).split(rows, codes[rows])
    return leaks(X, codes, [(rows[train], rows[test]) for train, test in folds], feature_names)


def leaks(X: Any, labels: np.ndarray, folds: list[tuple[np.ndarray, np.ndarray]], names: Any = None) -> list[Leak]:
    """The leaks of rows in the folds of a comparison: see :func:`find_leaks`."""
    if sparse.issparse(X):
        return []
    columns = columns_of(X, names)
    return [*_telling(columns, labels, folds), *_copied(columns, folds)]


def columns_of(X: Any, names: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """The columns as floats: dates by their time, words by their place among the words of the column, gaps as NaN."""
    if hasattr(X, "columns"):
        return {str(name): _as_floats(np.asarray(X[name])) for name in X.columns}
    X = np.asarray(X)
    return {str(name): _as_floats(X[:, j]) for j, name in enumerate(range(X.shape[1]) if names is None else names)}


def _as_floats(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "M":
        return np.where(np.isnat(values), np.nan, values.astype("datetime64[s]").astype(np.float64))
    try:
        found = values.astype(np.float64)
    except (TypeError, ValueError):
        words = np.array([str(value) for value in values.tolist()])
        found = np.unique(words, return_inverse=True)[1].astype(np.float64)
    return np.where(np.isinf(found), np.nan, found)


def _telling(columns: dict[str, np.ndarray], labels: np.ndarray, folds: Any) -> list[Leak]:
    n_classes, name_of, X = labels.max() + 1, list(columns), np.column_stack(list(columns.values()))
    kept = np.zeros(len(labels), dtype=bool)
    known = np.flatnonzero(labels >= 0)
    kept[known[np.argsort(labels[known], kind="stable")[spread_rows(len(known), MOST_ROWS)]]] = True
    parts = [(train[kept[train]], test[kept[test]]) for train, test in folds]
    parts = [part for part in parts if all(len(np.unique(labels[rows])) == n_classes for rows in part)]
    if len(parts) < 2:
        return []
    guess = 0.5 if n_classes == 2 else 1 / n_classes

    def score(model: Any, j: list[int], train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
        """The AUC of two classes, and the balanced accuracy; of more classes the latter twice."""
        model.fit(X[train][:, j], labels[train])
        right = float(balanced_accuracy_score(labels[test], model.predict(X[test][:, j])))
        if n_classes > 2:
            return right, right
        return float(roc_auc_score(labels[test], model.predict_proba(X[test][:, j])[:, 1])), right

    tree = DecisionTreeClassifier(max_leaf_nodes=max(16, 2 * n_classes), **SMALL)
    looked = _likeliest(X[parts[0][0]], labels[parts[0][0]])
    first = {j: score(tree, [j], *parts[0]) for j in looked}
    best = sorted(first, key=lambda j: -first[j][0])
    # Columns that may be certain are scored in every fold, and some more to know the second best.
    final = [j for i, j in enumerate(best) if i < FINALISTS or first[j][0] >= CERTAIN - 0.05]
    scores = {j: np.array([first[j], *(score(tree, [j], *part) for part in parts[1:])]) for j in final}
    means = {j: float(scores[j][:, 0].mean()) for j in final}
    order = sorted(final, key=lambda j: -means[j])
    # Among more columns than rows, one tells the classes apart by chance.
    found = [j for j in order if means[j] >= CERTAIN and len(columns) < len(known)]
    rest = [j for j in order if j not in found]
    far = means[rest[0]] - guess if rest else 0.0
    second = means[rest[1]] - guess if rest[1:] else 0.0
    if far >= HALFWAY * (1 - guess) and second < FAR_BELOW * far:
        others = [j for j in range(X.shape[1]) if j not in found]
        forest = RandomForestClassifier(50, max_features=0.5, **SMALL)
        whole = np.array([score(forest, others, *part) for part in parts])
        ahead = (whole - scores[rest[0]]).T  # where others say as much, a forest still orders rows better
        if any(
            gap.mean() <= max(standard_error(all_), standard_error(gap))
            for gap, all_ in zip(ahead, whole.T, strict=True)
        ):
            found.append(rest[0])
    measure = "AUC" if n_classes == 2 else "balanced accuracy"
    return [_leak(name_of[j], means[j], measure) for j in found]


def _likeliest(X: np.ndarray, y: np.ndarray) -> list[int]:
    """The columns that trees look at: all, or, of very many, those with the largest differences between the classes."""
    varying = np.flatnonzero([len(np.unique(column[:200])) > 1 or len(np.unique(column)) > 1 for column in X.T])
    if len(varying) <= MOST_COLUMNS:
        return varying.tolist()
    X = X[:, varying]
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    F = np.nan_to_num(f_classif(np.where(np.isnan(X), 2 * low - high - 1, X), y)[0])
    return varying[np.argsort(-F)[:MOST_COLUMNS]].tolist()


def _leak(name: str, score: float, measure: str) -> Leak:
    alone = f"column {name!r} alone gives {100 * score:.0f} % ({measure})"
    return Leak(name, score, f"{alone}: is it known before the label? If not: --drop {shlex.quote(name)}")


def _copied(columns: dict[str, np.ndarray], folds: Any) -> list[Leak]:
    """Rows held out that have a copy among the rows that are fitted."""
    seeds = np.random.default_rng(0).integers(1, 2**63, len(columns), dtype=np.uint64)
    parts = list(zip(columns.values(), seeds, strict=True))
    rows = sum((_hashed(*part) for part in parts), start=np.zeros(1, dtype=np.uint64))
    held_out = np.concatenate([test for _, test in folds])
    copies = sum(int(np.isin(rows[test], rows[train]).sum()) for train, test in folds)
    if copies < max(2, COPIED * len(held_out)):
        return []
    near = np.zeros(len(rows), dtype=bool)
    for part in parts:  # rows that are equal but for this column
        pairs = np.unique(np.column_stack([rows - _hashed(*part), rows]), axis=0)[:, 0]
        keys, counts = np.unique(pairs, return_counts=True)
        near |= np.isin(rows - _hashed(*part), keys[counts > 1])
    if copies <= near[held_out].sum():
        return []
    message = (
        f"{copies:,} of {len(held_out):,} rows have an exact copy in another fold, so they are scored by what was learnt from "
        "them: remove the copies, or hold out together what belongs together (--group COL)"
    )
    return [Leak(None, copies / len(held_out), message)]


def _hashed(values: np.ndarray, seed: np.uint64) -> np.ndarray:
    """A number of 64 bits for each value, such that sums over columns are equal for equal rows alone."""
    bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64) + seed
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
