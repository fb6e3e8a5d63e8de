"""What judges a space: the classifier or the regression behind it, how well its rows are found, and its neighbourhoods."""

from __future__ import annotations

import re
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import check_scoring, get_scorer_names, normalized_mutual_info_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from .._validation import Array, check_choice, known_labels, reword_error, some_rows, spread_rows
from ..auto import UnitsWarning
from ..data import as_data, canonical
from ..metrics import clustering_accuracy, neighbor_ranks, rank_agreement, retrieval_scores, standard_error
from ..solvers import numerical_rank
from ._methods import Candidate

JUDGES = ("auto", "nearest", "knn", "logistic")
NEIGHBORS = (3, 7, 15, 31, 61)  # of the judge "knn"
MOST_ROWS, FOLDS = 3_000, 3  # among which a judge is chosen
RECALL_AT = 5  # a row of the same class must be among this many nearest rows
RETRIEVAL = ("map", f"recall@{RECALL_AT}")
NEIGHBORHOOD = ("trustworthiness", "continuity", "recall")
MEASURES = ("accuracy", "balanced_accuracy", "f1", "r2", *RETRIEVAL, "clustering", "nmi", *NEIGHBORHOOD)
BY_NAME = {"accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "f1": "f1_macro"}  # of scikit-learn
#: What a goal is judged by; None leaves it to y.
GOALS = {"classification": None, "retrieval": "map", "clustering": "nmi", "neighbours": "recall"}
OF_CLASSES = "(balanced_)?accuracy$|average_prec|f1|jaccard|neg_brier|neg_log|precision|recall|roc_auc|top_k"
#: Scores of scikit-learn for classes. Those of numbers and of clusters have no meaning for a classifier.
SCORERS = tuple(name for name in get_scorer_names() if re.match(OF_CLASSES, name))
N_NEIGHBORS, MOST_QUERIES = 10, 500  # how many nearest rows, and of how many rows, measures of neighbourhoods take
UNEQUAL = 2.0  # where the largest class is this many times the smallest, the accuracy says little
LEVEL = 0.001  # scores that differ by less are printed alike, and count as equal whatever the standard error
LEVEL_NEIGHBORHOOD = 0.1  # the same for measures of neighbourhoods, which get better with every further dimension
AXES = 3  # of the pictures


def checked_judge(judge: str, X: Any, y: np.ndarray) -> Any:
    """The classifier of a judge, unfitted. Where several may be meant, the best in folds of these rows.

    It is chosen on the columns as given: a projection that was fitted to the same labels would favour the nearest neighbour.
    The score that chooses is the AUC of two classes, the balanced accuracy of more, and R² of numbers.

    Parameters
    ----------
    judge : {"auto", "nearest", "knn", "logistic"}
        The nearest neighbour, some neighbours, logistic regression, or the better of the last two.
    X, y : array or sparse matrix of shape (n_samples, n_features), and ndarray of shape (n_samples,)
        The rows, and their classes, -1 where unknown. Where y are floats they are numbers to predict, and the judge is a
        regression: of the neighbours, or ridge regression in the place of the logistic one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import checked_judge
    >>> checked_judge("nearest", *load_iris(return_X_y=True))
    KNeighborsClassifier(algorithm='brute', n_neighbors=1)
    """
    check_choice("judge", judge, JUDGES)
    y = np.asarray(y)
    numeric = y.dtype.kind == "f"
    known = np.arange(len(y)) if numeric else np.flatnonzero(known_labels(y))
    rows = known[spread_rows(len(known), MOST_ROWS)]
    X, y = X[rows], y[rows]
    sizes = np.unique(y, return_counts=True)[1]
    # A model file holds no trees.
    near = partial(KNeighborsRegressor if numeric else KNeighborsClassifier, algorithm="brute")
    regression = RidgeCV(np.logspace(-3, 3, 7)) if numeric else LogisticRegression(max_iter=1000)
    linear = make_pipeline(StandardScaler(with_mean=False), regression)  # spaces have units of their own
    if judge == "nearest" or len(sizes) < 2:  # of one class, as the first rows of a series may be
        return near(1)
    choices = [near(k) for k in NEIGHBORS if k < len(y) * (FOLDS - 1) // FOLDS] or [near(1)]
    if judge == "auto":  # sparse documents have weights already
        choices.insert(0, regression if sparse.issparse(X) else linear)
    if judge == "logistic" or len(choices) == 1 or (not numeric and sizes.min() < FOLDS):
        return choices[0] if judge == "knn" else linear
    scoring = "r2" if numeric else "roc_auc" if len(sizes) == 2 else "balanced_accuracy"
    cv = (KFold if numeric else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        scores = [cross_val_score(choice, X, y, cv=cv, scoring=scoring).mean() for choice in choices]
    best = choices[int(np.argmax(scores))]
    return linear if best is regression else best


def in_words(classifier: Any) -> str:
    """The name of a judge that :func:`checked_judge` gives, such as "7 nearest neighbours"."""
    if isinstance(classifier, Pipeline):
        return "logistic regression" if is_classifier(classifier) else "ridge regression"
    k = 1 if classifier is None else classifier.n_neighbors
    return "nearest neighbour" if k == 1 else f"{k} nearest neighbours"


def checked_criterion(scoring: str | None, y: np.ndarray | None, ranked: bool) -> str:
    """The measure that chooses: the one asked for, or that suits y; ``ranked`` says whether the judge gives a ROC AUC."""
    if scoring not in (None, *MEASURES, *GOALS, *SCORERS):
        raise ValueError(
            f"scoring={scoring!r} must be a goal ({', '.join(GOALS)}), a measure ({', '.join(MEASURES)}), or a score of "
            "scikit-learn for classes, such as roc_auc"
        )
    found = GOALS.get(scoring, scoring) if scoring else None
    if y is None or y.dtype.kind == "f":
        usual, why = ("recall", "it needs labels; pass y") if y is None else ("r2", "y holds numbers to predict")
        if found not in (None, usual, *NEIGHBORHOOD):
            raise ValueError(f"scoring={scoring!r}: {why}, or choose one of {', '.join(NEIGHBORHOOD)}")
        return found or usual
    return found or ("roc_auc" if ranked else "balanced_accuracy" if are_unequal(y) else "accuracy")


def are_unequal(labels: np.ndarray) -> bool:
    """Whether always predicting the largest class would seem to do well."""
    counts = np.bincount(labels[labels >= 0])
    return bool(counts.max() > UNEQUAL * counts.min())


def predicted(judge: Any, fitted: tuple, held_out: tuple, scorers: tuple[str, ...]) -> tuple[dict[str, float], Any]:
    """What a judge reaches on rows held out after it has learnt from others, each with y, and what it predicts."""
    scoring = {"r2": "r2"} if held_out[1].dtype.kind == "f" else BY_NAME | {name: name for name in scorers}
    with warnings.catch_warnings(action="ignore"):  # about classes that are not held out, and steps that are not enough
        judge = clone(judge).fit(*fitted)
        found = check_scoring(judge, scoring)(judge, *held_out)
        return {name: float(score) for name, score in found.items()}, judge.predict(held_out[0])


def apart(fitted: tuple, held_out: tuple, retrieval: bool, seed: int) -> dict[str, float]:
    """How well the classes held out are found again by k-means and, if that is asked, by a search in the other rows."""
    (Z, y), (rows, true) = fitted, held_out
    found = {}
    if retrieval:
        some = spread_rows(len(true), MOST_QUERIES)
        found = dict(zip(RETRIEVAL, retrieval_scores(rows[some], true[some], Z, y, n_neighbors=RECALL_AT), strict=True))
    k_means = KMeans(min(len(np.unique(y)), len(true)), n_init=4, random_state=seed)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # fewer distinct rows than clusters
        clusters = k_means.fit_predict(rows)
    nmi = float(normalized_mutual_info_score(true, clusters))
    return found | {"clustering": clustering_accuracy(true, clusters), "nmi": nmi}


def ranks_of(X: Array) -> np.ndarray:
    """The ranks of neighbours among rows, of a sample of them where there are many."""
    return neighbor_ranks(X[spread_rows(X.shape[0], MOST_QUERIES)])


def best_of(scores: np.ndarray) -> np.ndarray:
    """Of scores by fold and setting, those of the setting with the best mean."""
    return scores[:, scores.mean(axis=0).argmax()]


def level_with(scores: np.ndarray, best: np.ndarray, criterion: str) -> np.ndarray:
    """Which settings have a mean within one standard error of the best, whose scores by fold these are; or nearer than a level.

    Means are compared as they are printed, to a tenth of a percent.
    """
    least = LEVEL_NEIGHBORHOOD if criterion in NEIGHBORHOOD else LEVEL
    return np.round(scores.mean(axis=0), 3) >= np.round(best.mean() - max(least, standard_error(best)), 3)


class Task(NamedTuple):
    """What every method is asked."""

    X: Any  # the rows as given
    prepare: Any  # an unfitted transformer that makes numbers of them, or None
    y: np.ndarray | None  # codes of classes, -1 where unknown, or floats, which are numbers to predict
    n_neighbors: int
    seed: int
    scorers: tuple[str, ...]  # of scikit-learn, beside the usual measures
    retrieval: bool

    def divided(self, train: np.ndarray, test: np.ndarray) -> list[tuple[Array, Any]]:
        """The rows to fit and those to judge, each with y. The transformer is fitted to the rows to fit."""
        parts = [some_rows(self.X, rows) for rows in (train, test)]
        if self.prepare is not None:
            # Warnings are about columns that hold nothing but gaps in some folds, and categories that only one fold has.
            with warnings.catch_warnings(action="ignore"):
                prepare = clone(self.prepare).fit(parts[0])
                parts = [numbers(prepare.transform(part)) for part in parts]
        labels = [None if self.y is None else self.y[rows] for rows in (train, test)]
        return list(zip(parts, labels, strict=True))

    def scores(self, judge: Any, ranks: np.ndarray, fitted: tuple, held_out: tuple) -> tuple[dict[str, float], Any]:
        """The measures of a space, given its rows of both kinds, and what the judge predicts for those held out."""
        kept = rank_agreement(ranks, ranks_of(held_out[0]), self.n_neighbors)
        measures = dict(zip(NEIGHBORHOOD, kept, strict=True))
        if judge is None:
            return measures, np.empty(0, dtype=int)
        fitted, held_out = known(*fitted), known(*held_out)
        own, found = predicted(judge, fitted, held_out, self.scorers)
        if held_out[1].dtype.kind != "f":
            own |= apart(fitted, held_out, self.retrieval, self.seed)
        return own | measures, found


def numbers(X: Any) -> Array:
    """The rows as numbers, which all methods take."""
    try:
        X = check_array(X, input_name="X", accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
    except ValueError as error:
        reword_error(error)
        raise
    return canonical(X)


def known(X: Array, y: np.ndarray) -> tuple[Array, np.ndarray]:
    """The rows whose y is known."""
    return (X, y) if y.dtype.kind == "f" else (X[y >= 0], y[y >= 0])


def rank_of(task: Task, train: np.ndarray, test: np.ndarray) -> int:
    """How many dimensions the training rows of a fold allow: their rank about their mean."""
    data = as_data(task.divided(train, test)[0][0], None)
    if data.is_large:
        return min(data.n, data.d) - 2
    return numerical_rank(np.linalg.eigvalsh(data.gram(data.mean()))) if data.deviations.any() else 0


def reference(task: Task, train: np.ndarray, test: np.ndarray, name: str) -> tuple[Any, dict]:
    """Choose the judge of a fold, and score all columns, a linear judge of these, and no columns at all."""
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        fitted, held_out = task.divided(train, test)
        ranks = ranks_of(held_out[0])
        if task.y is None:
            return None, {"baseline": task.scores(None, ranks, fitted, held_out)[0]}
        rows = known(*fitted), known(*held_out)
        judge, linear = (checked_judge(own, *rows[0]) for own in (name, "logistic"))
        is_document = repr(judge) == repr(linear) and sparse.issparse(fitted[0])  # it has weights already
        others = {} if name == "nearest" else {"line_to_beat": linear}
        others["majority"] = DummyRegressor() if task.y.dtype.kind == "f" else DummyClassifier()
        baseline = task.scores(judge[-1] if is_document else judge, ranks, fitted, held_out)[0]
        lines = {line: predicted(own, *rows, task.scorers)[0] for line, own in others.items()}
        return judge, {"baseline": baseline} | lines


class Evaluation(NamedTuple):
    """What a method has reached on a fold, by number of dimensions, why it failed and what it warned of."""

    measures: dict[int, dict[str, float]]
    predictions: dict[int, np.ndarray]
    failures: list[str]
    warnings: list[str]


def evaluate(
    task: Task, train: np.ndarray, test: np.ndarray, judge: Any, candidate: Candidate, key: str | None = None
) -> Evaluation:
    """Fit a method and judge it in every number of dimensions. A memory finds the result again by the key alone."""
    wanted, found = list(candidate.dimensions), Evaluation({}, {}, [], [])
    # One thread per task: as fast where there are many tasks, and the same bits whatever n_jobs is.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted, held_out = task.divided(train, test)
        ranks = ranks_of(held_out[0])
        while wanted:
            try:
                models = candidate.fitted(wanted, *fitted)
                # Several numbers of dimensions may share a model.
                spaces = {
                    model: [np.asarray(model.transform(rows)) for rows, _ in (fitted, held_out)]
                    for model in models.values()
                }
                for d in wanted:
                    Z, Z_test = (rows[:, :d] for rows in spaces[models[d]])
                    rows = (Z, fitted[1]), (Z_test, held_out[1])
                    found.measures[d], found.predictions[d] = task.scores(judge, ranks, *rows)
                break
            except Exception as error:  # any error: fewer dimensions, and other methods, go on
                found.failures.append(why_it_failed(error))
                if not isinstance(error, ValueError):  # such as too many dimensions
                    warnings.warn(f"it has no scores with {wanted[-1]} dimensions: {found.failures[-1]}", stacklevel=2)
                wanted.pop()
    # Warnings about units are left out here. The result gives one for all methods.
    found.warnings.extend(str(own.message) for own in caught if not issubclass(own.category, UnitsWarning))
    return found


def why_it_failed(error: Exception) -> str:
    """The message of an error. Where the error is not meant for the caller, its class too."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


class Whole(NamedTuple):
    """What one method gives on all data in the number of dimensions that was chosen, and the axes of its pictures."""

    dimension: int
    model: Any
    axes: np.ndarray
    space: np.ndarray


def fit_whole(candidate: Candidate, chosen: int, X: Array, y: np.ndarray | None) -> Whole | str:
    """What the method gives with the chosen number of dimensions, or why it could not be fitted."""
    shown = min(AXES, candidate.dimensions[-1])
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):  # the folds have given these warnings
        try:
            models = {d: candidate.fitted([d], X, y)[d] for d in {chosen, max(chosen, shown)}}
            spaces = {d: np.asarray(model.transform(X)) for d, model in models.items()}
            return Whole(chosen, models[chosen], spaces[max(chosen, shown)][:, :AXES], spaces[chosen])
        except Exception as error:  # any error: the other methods go on
            return why_it_failed(error)
