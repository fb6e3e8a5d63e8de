"""Leaks: columns that alone tell the label, and rows that are in several folds at once."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif, f_regression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score, cross_validate
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .._validation import class_codes, count_rows, spread_rows
from ..metrics import standard_error

CERTAIN = 0.99  # a column that reaches this alone is named whatever the others do
HALFWAY = 0.5  # of the way from guessing to a perfect score, and the second-best column less than half of that
FAR = 0.75  # of the way, as a column of as few values as there are classes comes that copies the label with errors
LEAST_WRONG = 14  # rows of the other class that a column would have by chance; to have none has a chance of 1e-6
MOST_ROWS, MOST_COLUMNS, FINALISTS = 10_000, 100, 5  # that are looked at: by trees at all, and in every fold
SMALL = {"min_samples_leaf": 3, "class_weight": "balanced", "random_state": 0}
FOLDS = 5
COPIED = 0.01  # the share of rows with a copy in another fold from which on it is said


class LeakWarning(UserWarning):
    """A column alone tells the label, or rows are copies of rows in other folds, so that scores may be too good.

    Examples
    --------
    >>> import warnings
    >>> from lapwing.comparison import LeakWarning
    >>> warnings.filterwarnings("error", category=LeakWarning)  # a comparison ends at the first leak
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


def find_leaks(X: Any, y: Any, *, feature_names: Sequence[str] | None = None) -> list[Leak]:
    """The columns of X that alone tell the labels, and how many rows are copies of others.

    A small tree of each column alone is scored in five folds by the AUC of two classes, or the balanced accuracy of more. A
    column is named

    - that reaches 0.99, unless there are more columns than rows;
    - that is far ahead of each other column, and as good as all columns in a forest, by the AUC or the balanced accuracy. Far
      ahead is meant in shares of the way from guessing to a perfect score. Guessing has an AUC of 0.5, so that 0.8 is 60 % of
      the way. The column must come halfway, and the second-best column less than half as far: with 0.8, below 0.65, or 30 %;
    - that has as few values as there are classes (and gaps), comes three quarters of the way, and is as good as all others;
    - whose values, but for the most frequent one, such as a gap, stand in one of two classes alone, and in half of that class.

    Rows count as copies if more of them are equal than differ from another row in one column alone.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        Numbers, text or dates, with gaps. In sparse X nothing is found.
    y : array-like of shape (n_samples,)
        Class labels, -1 where unknown; or fractions, which are numbers to predict: columns are named of which a small tree
        explains 0.99 of the variance of their ranks.
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
    if are_fractions(numbers := np.asarray(y)):
        return leaks(X, numbers, list(KFold(FOLDS, shuffle=True, random_state=0).split(numbers)), feature_names)
    codes, _ = class_codes(y, count_rows(X))
    counts = np.bincount(codes[codes >= 0])
    rows = np.flatnonzero((codes >= 0) & (counts >= FOLDS)[codes])
    if len(np.unique(codes[rows])) < 2:
        return []
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, codes[rows])
    return leaks(X, codes, [(rows[train], rows[test]) for train, test in folds], feature_names)


def leaks(X: Any, labels: np.ndarray, folds: list[tuple[np.ndarray, np.ndarray]], names: Any = None) -> list[Leak]:
    """The leaks of rows in the folds of a comparison: see :func:`find_leaks`."""
    if sparse.issparse(X):
        return []
    if hasattr(X, "columns"):
        columns = {str(name): np.asarray(X[name]) for name in X.columns}
    else:
        X = np.asarray(X).reshape(len(labels), -1)  # one column of text, where rows are texts
        columns = dict(zip(map(str, range(X.shape[1]) if names is None else names), X.T, strict=True))
    places = np.column_stack([_places(values) for values in columns.values()])
    telling = _telling_numbers if labels.dtype.kind == "f" else _telling
    return [*telling(list(columns), places, labels, folds), *_copied(places, folds)]


def are_fractions(y: np.ndarray) -> bool:
    """Whether y holds numbers that are not whole, which are to be predicted and name no classes."""
    return y.dtype.kind == "f" and bool((y[np.isfinite(y)] % 1 != 0).any())


def _telling_numbers(names: list[str], X: np.ndarray, y: np.ndarray, folds: Any) -> list[Leak]:
    """Columns of which a small tree explains the order of the numbers nearly whole, whatever the units are."""
    parts = [tuple(rows[spread_rows(len(rows), MOST_ROWS)] for rows in fold) for fold in folds]
    ranks, tree = rankdata(y), DecisionTreeRegressor(max_leaf_nodes=100, min_samples_leaf=3, random_state=0)
    found = []
    for j in _likeliest(X, y, f_regression) if len(names) < len(y) else ():
        score = float(cross_val_score(tree, X[:, [j]], ranks, cv=parts, scoring="r2").mean())
        found += [_leak(names[j], score, "R² of the order")] if score >= CERTAIN else []
    return sorted(found, key=lambda leak: -leak.score)


def _places(values: np.ndarray) -> np.ndarray:
    """The place of each value among the different ones of its column: numbers, dates or words in order, gaps last."""
    if values.dtype.kind != "M":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            values = np.array([str(value) for value in values.tolist()])
    return np.unique(values, return_inverse=True)[1]


def _telling(names: list[str], X: np.ndarray, labels: np.ndarray, folds: Any) -> list[Leak]:
    """Columns that tell the class: certain ones, then those that are filled for one class, then one that is far ahead."""
    known = np.flatnonzero(labels >= 0)
    some = known[np.argsort(labels[known], kind="stable")[spread_rows(len(known), MOST_ROWS)]]
    n_classes, parts = int(labels.max()) + 1, [[rows[np.isin(rows, some)] for rows in fold] for fold in folds]
    parts = [part for part in parts if all(len(np.unique(labels[rows])) == n_classes for rows in part)]
    if len(parts) < 2:
        return []
    guess, measures = 1 / n_classes, ["roc_auc"] * (n_classes == 2) + ["balanced_accuracy"]

    def score(model: Any, j: list[int], parts: list[Any]) -> np.ndarray:
        """The scores of some columns: one row per measure, the first of which decides."""
        found = cross_validate(model, X[:, j], labels, cv=parts, scoring=measures)
        return np.array([found[f"test_{measure}"] for measure in measures])

    tree = DecisionTreeClassifier(max_leaf_nodes=max(16, 2 * n_classes), **SMALL)
    first = {j: score(tree, [j], parts[:1]) for j in _likeliest(X[parts[0][0]], labels[parts[0][0]])}
    best = sorted(first, key=lambda j: -first[j][0, 0])
    # Columns that may be certain are scored in every fold, and some more to know the second best.
    final = [j for i, j in enumerate(best) if i < FINALISTS or first[j][0, 0] >= CERTAIN - 0.05]
    scores = {j: np.hstack([first[j], score(tree, [j], parts[1:])]) for j in final}
    means = {j: float(scores[j][0].mean()) for j in final}
    order = sorted(final, key=lambda j: -means[j])
    # Among more columns than rows, one tells the classes apart by chance.
    found = [j for j in order if means[j] >= CERTAIN and len(names) < len(known)]
    found += [j for j in order if j not in found and n_classes == 2 and _is_filled_for_one(X[some, j], labels[some])]
    rest, others = [j for j in order if j not in found], [j for j in range(X.shape[1]) if j not in found]
    way, second = ([(means[j] - guess) / (1 - guess) for j in rest] + [0.0, 0.0])[:2]
    forest, told = RandomForestClassifier(50, max_features=0.5, **SMALL), False
    without = [j for j in others if j not in rest[:1]]
    if way >= HALFWAY and second < HALFWAY * way:
        whole = score(forest, others, parts)
        # By either measure: if other columns say as much, a forest still orders rows better.
        gaps = zip(whole - scores[rest[0]], whole, strict=True)
        told = any(gap.mean() <= max(standard_error(all_), standard_error(gap)) for gap, all_ in gaps)
    if not told and way >= FAR and len(np.unique(X[:, rest[0]])) <= n_classes + 1 and without:
        told = means[rest[0]] >= score(forest, without, parts)[0].mean()
    found += rest[:1] if told else []
    return [_leak(names[j], means[j], "AUC" if n_classes == 2 else "balanced accuracy") for j in found]


def _leak(name: str, score: float, measure: str) -> Leak:
    alone = f"column {name!r} alone gives {100 * score:.0f} % ({measure})"
    return Leak(name, score, f"{alone}: is it known before the label? If not: --drop {shlex.quote(name)}")


def _is_filled_for_one(values: np.ndarray, y: np.ndarray) -> bool:
    """Whether values other than the most frequent one, such as a gap, stand in one of two classes alone, and in half of it."""
    filled = y[values != np.bincount(values).argmax()]
    counts, sizes = np.bincount(filled, minlength=2), np.bincount(y, minlength=2)
    own = int(counts.argmax())
    expected, wrong = len(filled) * (1 - sizes[own] / len(y)), len(filled) - counts[own]
    is_alone = expected >= LEAST_WRONG and wrong <= min((1 - CERTAIN) * len(filled), 0.1 * expected)
    return bool(is_alone and counts[own] >= HALFWAY * sizes[own])


def _likeliest(X: np.ndarray, y: np.ndarray, scores: Any = f_classif) -> list[int]:
    """The columns that trees look at: all, or, of very many, those with the largest differences between the classes."""
    varying = np.flatnonzero(np.ptp(X, axis=0))
    if len(varying) > MOST_COLUMNS:
        varying = varying[np.argsort(-np.nan_to_num(scores(X[:, varying], y)[0]))[:MOST_COLUMNS]]
    return varying.tolist()


def _copied(X: np.ndarray, folds: Any) -> list[Leak]:
    """Rows held out that have a copy among the rows that are fitted. Rows are equal if random sums over their places are."""
    factors: Any = np.random.default_rng(0).integers(1, 2**63, X.shape[1]) | 1
    rows = X @ factors  # modulo 2^64
    held_out = np.concatenate([test for _, test in folds])
    copies = sum(int(np.isin(rows[test], rows[train]).sum()) for train, test in folds)
    if copies < max(2, COPIED * len(held_out)):
        return []
    near = np.zeros(len(rows), dtype=bool)
    for column, factor in zip(X.T, factors, strict=True):  # rows that are equal but for this column
        others = rows - column * factor
        pairs = np.unique(np.column_stack([others, rows]), axis=0)[:, 0]
        keys, counts = np.unique(pairs, return_counts=True)
        near |= np.isin(others, keys[counts > 1])
    if copies <= near[held_out].sum():
        return []
    message = (
        f"{copies:,} of {len(held_out):,} rows have an exact copy in another fold, so they are scored by what was learnt from "
        "them: remove the copies, or hold out together what belongs together (--group COL)"
    )
    return [Leak(None, copies / len(held_out), message)]
