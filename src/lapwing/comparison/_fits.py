"""What is computed for one method: its scores on one fold, what it is held to there, and what it gives on all rows."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from .._validation import Array, reword_error, some_rows
from ..auto import UnitsWarning
from ..data import as_data, canonical
from ..metrics import rank_agreement
from ..selection import reducer_of
from ..solvers import RankError, numerical_rank
from ._judges import NEIGHBORHOOD, apart, checked_judge, predicted, ranks_of
from ._methods import Candidate

SHOWN = (2, 3)  # the numbers of dimensions of the pictures


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
        return [
            (part, None if self.y is None else self.y[rows]) for part, rows in zip(parts, (train, test), strict=True)
        ]

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


class Reference(NamedTuple):
    """The judge of a fold, and the measures of what needs no method, by the names of :class:`Comparison`."""

    judge: Any
    measures: dict[str, dict[str, float]]


def reference(task: Task, train: np.ndarray, test: np.ndarray, name: str) -> Reference:
    """Choose the judge of a fold, and score all columns, a linear judge of these, and no columns at all."""
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        fitted, held_out = task.divided(train, test)
        ranks = ranks_of(held_out[0])
        if task.y is None:
            return Reference(None, {"baseline": task.scores(None, ranks, fitted, held_out)[0]})
        rows = known(*fitted), known(*held_out)
        judge, linear = (checked_judge(own, *rows[0]) for own in (name, "logistic"))
        is_document = repr(judge) == repr(linear) and sparse.issparse(fitted[0])  # it has weights already
        blind = DummyRegressor() if task.y.dtype.kind == "f" else DummyClassifier()
        measures = {"baseline": task.scores(judge[-1] if is_document else judge, ranks, fitted, held_out)[0]}
        others = {"line_to_beat": linear, "majority": blind} if name != "nearest" else {"majority": blind}
        return Reference(judge, measures | {key: predicted(own, *rows, task.scorers)[0] for key, own in others.items()})


class Evaluation(NamedTuple):
    """What a method has reached on a fold, by number of dimensions, why it failed and what it warned of."""

    measures: dict[int, dict[str, float]]
    predictions: dict[int, np.ndarray]
    failures: list[str]
    warnings: list[str]
    has_fewer: bool  # directions than were asked for


def evaluate(
    task: Task, train: np.ndarray, test: np.ndarray, judge: Any, candidate: Candidate, key: str | None = None
) -> Evaluation:
    """Fit a method and judge it in every number of dimensions. A memory finds the result again by the key alone."""
    wanted, found, has_fewer = list(candidate.dimensions), Evaluation({}, {}, [], [], False), False
    # One thread per task: as fast where there are many tasks, and the same bits whatever n_jobs is.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted, held_out = task.divided(train, test)
        ranks = ranks_of(held_out[0])
        while wanted:
            try:
                models = candidate.fitted(wanted, *fitted)
                # Several numbers of dimensions share a model.
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
                has_fewer = isinstance(error, RankError)
                wanted.pop()
    # Warnings about units are left out here. The result gives one for all methods.
    said = (str(warning.message) for warning in caught if not issubclass(warning.category, UnitsWarning))
    return found._replace(warnings=list(said), has_fewer=has_fewer)


def why_it_failed(error: Exception) -> str:
    """The message of an error. Where the error is not meant for the caller, its class too."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


class Whole(NamedTuple):
    """What one method gives on all data in the number of dimensions that was chosen."""

    dimension: int
    model: Any
    embeddings: dict[int, np.ndarray]
    space: np.ndarray


def fit_whole(candidate: Candidate, chosen: int, X: Array, y: np.ndarray | None) -> Whole | str:
    """What the method gives with the chosen number of dimensions, or why it could not be fitted."""
    shown = [d for d in SHOWN if d <= candidate.most] or [1]
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):  # the folds have given these warnings
        try:
            models = candidate.fitted({chosen, *shown}, X, y)
            model = models[chosen]
            if reducer_of(model).n_components != chosen:
                model = candidate.fitted([chosen], X, y)[chosen]
            pictures = {d: np.asarray(models[d].transform(X))[:, :d] for d in shown}
            return Whole(chosen, model, pictures, np.asarray(model.transform(X)))
        except Exception as error:  # any error: the other methods go on
            return why_it_failed(error)
