"""The five tasks: what one repetition measures. Everything that is chosen is chosen inside the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from lapwing.solvers import RankError
from lapwing_papers.experiments._experiment import Values

from ._measures import trustworthiness
from ._rivals import CLUSTERING, FEW, LABELLED, LABELLED_MAPS, MAPS, UNSEEN, Rival, nearest
from ._sets import LabelledSet, Part, split, split_classes

ROWS, FEW_ROWS = 300, 600  # training rows, and new rows; with few labels training rows are more
NEEDS = {"UMAP": "umap", "supervised UMAP": "umap", "supervised UMAP, tuned": "umap"}
Rivals = Mapping[str, Rival]
Judge = Callable[
    [Any, np.ndarray, np.ndarray, np.ndarray, np.ndarray], float
]  # model, rows, classes, new rows, classes


def labelled(each: LabelledSet, seed: int, rivals: Rivals = LABELLED) -> Values:
    """1-NN, retrieval and clusters of new rows after learning from labelled ones."""
    part = split(each.name, ROWS, ROWS, seed)
    found: Values = {}
    for name, rival in present(rivals):
        folds = list(thirds(part.y, seed))
        model, X, X_new = learnt(rival, part, part.y, folds, by_accuracy)
        found[name] = {"accuracy": 100 * by_accuracy(model, X, part.y, X_new, part.y_new)}
        if not isinstance(model, ClassifierMixin):
            Z, T = placed(model, X), placed(model, X_new)
            found[name] |= {"mAP": precision(T, part.y_new, Z, part.y), "k-means NMI": clusters(T, part.y_new, seed)}
    return found


def few_labels(case: tuple[LabelledSet, int], seed: int, rivals: Rivals = FEW) -> Values:
    """So many percent of the training rows have a label, and at least two rows per class; all of them may be learnt from."""
    each, percent = case
    part = split(each.name, FEW_ROWS, ROWS, seed)
    found: Values = {}
    known = some_known(part.y, percent, seed)
    z = np.where(known, part.y, -1)
    for name, rival in present(rivals):
        folds = list(halves(z, seed))
        model, X, X_new = learnt(rival, part, z, folds, by_known)
        found[name] = {"accuracy": 100 * by_known(model, X, z, X_new, part.y_new)}
    return found


def unseen(each: LabelledSet, seed: int, rivals: Rivals = UNSEEN) -> Values:
    """Half of the classes are learnt from; of the others each row is a query among the rest, and pairs of rows are verified."""
    part = split_classes(each.name, ROWS, seed)
    found: Values = {}
    for name, rival in present(rivals):
        folds = list(halves_of_classes(part.y, seed))
        model, _, X_new = learnt(rival, part, part.y, folds, by_precision)
        T = placed(model, X_new)
        found[name] = {
            "mAP": precision(T, part.y_new),
            "accuracy": 100 * among_others(T, part.y_new),
            "verification AUC": verified(T, part.y_new),
        }
    return found


def clustering(each: LabelledSet, seed: int, rivals: Rivals = CLUSTERING) -> Values:
    """k-means of the rows that a method was fitted to; labels only judge."""
    part = split(each.name, 2 * ROWS, ROWS, seed)
    found: Values = {}
    c = part.y.max() + 1
    for name, rival in present(rivals):
        X, _ = given(rival, part)
        model = fitted(rival.make(X, c), X, part.y)
        Z = getattr(model, "embedding_", None)
        Z = placed(model, X) if Z is None else Z
        found[name] = {"k-means NMI": clusters(Z, part.y, seed, n_init=10)}
    return found


def maps(each: LabelledSet, seed: int, rivals: Rivals = MAPS, with_labels: Rivals = LABELLED_MAPS) -> Values:
    """Two dimensions: how the fitted rows lie, where labels were not seen, and where new rows fall."""
    part = split(each.name, ROWS, ROWS, seed)
    found: Values = {}
    c = part.y.max() + 1
    for name, rival in present({**rivals, **with_labels}):
        X, X_new = given(rival, part)
        model = fitted(rival.make(X, c), X, part.y)
        Z = getattr(model, "embedding_", None)
        Z = placed(model, X) if Z is None else Z
        found[name] = {}
        if name not in with_labels:
            found[name] |= {
                "trustworthiness": 100 * trustworthiness(part.in_units[0], Z, n_neighbors=10),
                "accuracy in the map": 100 * among_others(Z, part.y),
            }
        if hasattr(model, "transform"):
            found[name]["accuracy of new rows"] = 100 * nearest(Z, part.y, placed(model, X_new), part.y_new)
    return found


def present(rivals: Rivals) -> Iterator[tuple[str, Rival]]:
    """Those that can be had; umap-learn may be missing."""
    return ((name, rivals[name]) for name in rivals if name not in NEEDS or find_spec(NEEDS[name]))


# Learning, and what is chosen


def given(rival: Rival, part: Part) -> tuple[np.ndarray, np.ndarray]:
    """The rows as a method gets them."""
    return part.raw if rival.raw else part.in_units if rival.whole else part.prepared


def learnt(
    rival: Rival, part: Part, y: np.ndarray, folds: list[tuple[np.ndarray, np.ndarray]], judge: Judge
) -> tuple[Any, np.ndarray, np.ndarray]:
    """The model of the best candidate, and the rows in the units that it gets.

    A fold names the rows that are learnt from and those that judge. Labels of the latter are hidden where others are unknown
    too, so that a method that learns from rows without labels has them all.
    """
    X, X_new = given(rival, part)
    c = np.unique(y[y >= 0]).size
    order = list(range(len(rival.candidates)))
    if len(order) > 1:
        marks = [np.mean([mark(rival, tried, X, y, fold, judge) for fold in folds]) for tried in rival.candidates]
        order.sort(key=lambda i: -marks[i])
    for i in order[:-1]:
        with suppress(RankError):  # all rows may have fewer dimensions than most of them; then the next best
            return fitted(rival.make(X, c, **rival.candidates[i]), X, y), X, X_new
    return fitted(rival.make(X, c, **rival.candidates[order[-1]]), X, y), X, X_new


def mark(rival: Rival, candidate: Mapping[str, Any], X: np.ndarray, y: np.ndarray, fold: Any, judge: Judge) -> float:
    """Of a candidate on a fold; the lowest where the rows do not have so many dimensions."""
    learn, rest = fold
    if (y < 0).any():
        A, z = X, y.copy()
        z[rest] = -1
    else:
        A, z = X[learn], y[learn]
    try:
        model = fitted(rival.make(A, np.unique(z[z >= 0]).size, **candidate), A, z)
    except RankError:
        return -1.0
    return judge(model, A, z, X[rest], y[rest])


@contextmanager
def quiet() -> Iterator[None]:
    """Graphs in pieces, units, convergence: what is measured here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fitted(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    with quiet():
        return None if model is None else model.fit(X, y)


def placed(model: Any, X: np.ndarray) -> np.ndarray:
    with quiet():
        return X if model is None else np.asarray(model.transform(X), dtype=float)


def thirds(y: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two random thirds of the rows are held out in turn; at least one row per class."""
    held_out = max(1 / 3, np.unique(y).size / y.size)
    return StratifiedShuffleSplit(2, test_size=held_out, random_state=seed).split(y, y)


def halves(z: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of the labelled rows, stratified."""
    rows = np.flatnonzero(z >= 0)
    for learn, rest in StratifiedKFold(2, shuffle=True, random_state=seed).split(rows, z[rows]):
        yield rows[learn], rows[rest]


def halves_of_classes(y: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each half of the classes is held out in turn."""
    classes = np.random.RandomState(seed).permutation(np.unique(y))
    first = np.isin(y, classes[: classes.size // 2])
    yield np.flatnonzero(first), np.flatnonzero(~first)
    yield np.flatnonzero(~first), np.flatnonzero(first)


def some_known(y: np.ndarray, percent: int, seed: int) -> np.ndarray:
    random, known = np.random.RandomState(seed), np.zeros(y.size, dtype=bool)
    for c in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == c))
        known[rows[: max(2, round(percent / 100 * rows.size))]] = True
    return known


# Scores


def by_accuracy(model: Any, X: np.ndarray, y: np.ndarray, X_new: np.ndarray, y_new: np.ndarray) -> float:
    """Of the nearest row in the space of the model, or of the model itself where it predicts."""
    if isinstance(model, ClassifierMixin):
        with quiet():
            return float(np.mean(model.predict(X_new) == y_new))
    return nearest(placed(model, X), y, placed(model, X_new), y_new)


def by_known(model: Any, X: np.ndarray, z: np.ndarray, X_new: np.ndarray, y_new: np.ndarray) -> float:
    known = z >= 0
    return by_accuracy(model, X[known], z[known], X_new, y_new)


def by_precision(model: Any, X: np.ndarray, y: np.ndarray, X_new: np.ndarray, y_new: np.ndarray) -> float:
    return precision(placed(model, X_new), y_new)


def distances(T: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    """Squared, of new rows to others; of rows to each other with infinity for themselves."""
    other = T if Z is None else Z
    found = (T**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * T @ other.T
    if Z is None:
        np.fill_diagonal(found, np.inf)
    return found


def precision(T: np.ndarray, t: np.ndarray, Z: np.ndarray | None = None, y: np.ndarray | None = None) -> float:
    """Mean average precision in percent: rows of Z for queries of T; without Z each row of T is a query among the rest."""
    order = np.argsort(distances(T, Z), axis=1, kind="stable")
    order = order[:, :-1] if Z is None else order
    relevant = (t if y is None else y)[order] == t[:, None]
    hits = relevant.cumsum(axis=1)
    asked = hits[:, -1] > 0
    found = (relevant * hits / np.arange(1, order.shape[1] + 1)).sum(axis=1)[asked] / hits[asked, -1]
    return float(100 * found.mean())


def among_others(T: np.ndarray, t: np.ndarray) -> float:
    """The share of rows that are of the class of their nearest other row."""
    return float(np.mean(t[distances(T).argmin(axis=1)] == t))


def verified(T: np.ndarray, t: np.ndarray) -> float:
    """Are two rows of one class? The area under the curve of all pairs, by their distance, in percent."""
    pairs = np.triu_indices(len(T), 1)
    return float(100 * roc_auc_score(t[pairs[0]] == t[pairs[1]], -distances(T)[pairs]))


def clusters(Z: np.ndarray, y: np.ndarray, seed: int, n_init: int = 3) -> float:
    with quiet():
        labels = KMeans(np.unique(y).size, n_init=n_init, random_state=seed).fit_predict(Z)
    return float(100 * normalized_mutual_info_score(y, labels))
