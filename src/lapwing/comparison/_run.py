"""The comparison itself: methods and folds in parallel, then fits to all data; and its result, with the choice that follows."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.metadata import version
from itertools import count
from statistics import mode
from typing import Any

import joblib
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_memory

from .._extras import Progress
from .._validation import check_choice, check_count, check_in_memory, class_codes
from ..auto import UNITS_RATIO
from ..metrics import standard_error
from ..selection import LabelledSplit, TimeSplit, reducer_of
from . import _judges as judging
from ._leaks import Leak, LeakWarning, are_fractions, leaks
from ._methods import Candidate, candidate, checked_methods, complexity

# Up to this many entries of X times methods, one core takes about as long as two processes take to start (4 s).
SMALL = 1_000_000
RELEASES = ("lapwing", "numpy", "scipy", "scikit-learn")  # others may give other numbers
EVALUATED = ["task", "train", "test", "judge", "candidate"]  # by a key in the place of these
NAMED = 8  # an error names at most this many classes
Splits = list[tuple[np.ndarray, np.ndarray]]
Tried = dict[str, Candidate]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What :func:`~lapwing.comparison.compare` has found: the scores of every method, and a model of each on all data.

    Attributes
    ----------
    records : list of dict
        One per method, dimension and fold: ``method``, ``dimension``, ``fold`` and :attr:`measures`.
    lines : dict of name to dict
        What methods are held to, as rows like those of :meth:`summary`: ``baseline`` is all columns with the judge of each fold,
        ``line_to_beat`` all columns with logistic or ridge regression (left out where it is the first, or the nearest neighbour
        judges), and ``majority`` always the largest class, or the mean.
    criterion : str
        The measure that chooses.
    measures : tuple of str
        With labels ``accuracy``, ``balanced_accuracy`` and ``f1`` (means over classes) of the judge, ``roc_auc`` of two classes,
        ``clustering`` (k-means on the held-out rows, classes matched to clusters) and ``nmi`` of these clusters; ``r2`` of
        numbers; for retrieval ``map`` and ``recall@5`` of held-out queries in the labelled training rows
        (:func:`lapwing.metrics.retrieval_scores`); always those of :func:`lapwing.metrics.neighborhood_preservation` among at
        most 500 of the held-out rows.
    models : dict of name to fitted estimator
        One model per method, fitted to all data, with the dimension in :attr:`chosen`.
    embeddings, spaces : dict of name to ndarray
        All rows on the first axes, three where there are as many, and in all dimensions of the model.
    failures, warnings : dict of name to message, and to list of messages
        Methods that could not be fitted, and what the others warned of, in any fold.
    leaks : list of Leak
        Columns that alone tell the labels, and copies of rows in several folds: see :func:`find_leaks`.
    classes, labels, targets : ndarray or None
        The names of the classes, and the index into them of each row, -1 where unknown; or the numbers to predict.
    splitter, cv, key_name : cross-validator, int or cross-validator, "groups", "time" or None
        What split the rows, what was passed as ``cv=``, and what it was told of each.
    folds, predictions : list of ndarray, dict of (name, dimension) to list of ndarray
        The rows that each fold held out, and what is predicted for those of known label.
    judges, judge, judge_name : list of str, classifier, regressor or None, and str
        What judged the spaces in each fold, such as ``"logistic regression"``, the unfitted judge of most folds, and what was
        passed as ``judge=``.
    random_state, n_neighbors : int
        The seed, and how many neighbours the measures look at.
    X, prepare : array or sparse matrix, transformer or None
        The data compared, as ``prepare`` gives them when it learns from all rows; each fold fits it to its training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> found = compare(X, y, methods=["PCA", "LPP"])
    >>> found.methods, found.criterion, found.models["LPP"].transform(X).shape
    (['PCA', 'LPP'], 'accuracy', (150, ...))
    """

    records: list[dict[str, Any]]
    lines: dict[str, dict[str, Any]]
    criterion: str
    failures: dict[str, str]
    leaks: list[Leak]
    warnings: dict[str, list[str]]
    classes: np.ndarray | None
    labels: np.ndarray | None
    targets: np.ndarray | None
    splitter: Any
    cv: Any
    key_name: str | None
    folds: list[np.ndarray]
    predictions: dict[tuple[str, int], list[np.ndarray]]
    judges: list[str]
    judge: Any
    judge_name: str
    random_state: int
    n_neighbors: int
    X: Any
    prepare: Any
    models: dict[str, Any]
    embeddings: dict[str, np.ndarray]
    spaces: dict[str, np.ndarray]
    _candidates: dict[str, Candidate]

    @property
    def methods(self) -> list[str]:
        """Names of the methods that were scored."""
        return list(self._candidates)

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(name for name in self.records[0] if name not in ("method", "dimension", "fold"))

    @property
    def is_unequal(self) -> bool:
        """Whether the classes are so unequal that the accuracy says little."""
        return self.labels is not None and judging.are_unequal(self.labels)

    def dimensions(self, method: str) -> list[int]:
        """The numbers of dimensions that were tried."""
        if method not in self._candidates:
            raise ValueError(f"method={method!r} was not compared; there are {', '.join(self.methods)}")
        return list(self._candidates[method].dimensions)

    def estimator(self, method: str, dimension: int | None = None) -> Any:
        """The unfitted estimator behind a score; None is the chosen dimension."""
        return self._candidates[method].at(self.chosen[method] if dimension is None else dimension)

    def scores(self, method: str, measure: str | None = None) -> np.ndarray:
        """Scores of shape (n_folds, n_dimensions); None is the criterion."""
        values = [record[measure or self.criterion] for record in self.records if record["method"] == method]
        return np.reshape(values, (len(self.folds), len(self.dimensions(method))))

    @property
    def units(self) -> float | None:
        """How many times the median deviation of the columns the largest is, where methods divided columns for that reason."""
        scales = [getattr(reducer_of(model), "scale_", None) for model in self.models.values()]
        most = max((float(scale.max() / np.median(scale)) for scale in scales if scale is not None), default=0.0)
        return most if most > UNITS_RATIO else None

    def summary(self) -> list[dict[str, Any]]:
        """One row per method, the one with the highest ``mean`` first.

        ``best_dimension`` has the best mean, ``best_mean``, with the standard error ``best_se``. ``dimension`` is that of
        :attr:`chosen`, and all else is at this dimension: the ``mean`` and the standard error ``se`` of the criterion, the mean
        of every measure, and ``behind``, ``behind_se``: how far the best method at its own best dimension is ahead, as a mean
        over the folds.
        """
        own = {name: self.scores(name) for name in self.methods}
        top, rows = max(map(judging.best_of, own.values()), key=np.mean), []
        for name, scores in own.items():
            dimensions, best = self.dimensions(name), int(scores.mean(axis=0).argmax())
            place = dimensions.index(self.chosen[name])
            rows.append(
                {"method": name, "best_dimension": dimensions[best], "dimension": dimensions[place]}
                | mean_and_error("best_mean", "best_se", scores[:, best])
                | mean_and_error("mean", "se", scores[:, place])
                | {key: float(self.scores(name, key)[:, place].mean()) for key in self.measures}
                | mean_and_error("behind", "behind_se", top - scores[:, place])
            )
        return sorted(rows, key=lambda row: -row["mean"])

    @property
    def best(self) -> dict[str, Any]:
        """The row of :meth:`summary` with the best mean, at its ``best_dimension``."""
        return max(self.summary(), key=lambda row: row["best_mean"])

    @cached_property
    def chosen(self) -> dict[str, int]:
        """The dimension of each method: that of :attr:`choice`, or the smallest level with its best in the sense of that."""
        scores = {name: self.scores(name) for name in self.methods}
        first = {
            name: int(judging.level_with(own, judging.best_of(own), self.criterion).argmax())
            for name, own in scores.items()
        }
        return {name: self.dimensions(name)[place] for name, place in first.items()} | dict([self.choice])

    @cached_property
    def choice(self) -> tuple[str, int]:
        """The method and the number of dimensions to use.

        Settings within one standard error of the best are level (for measures of neighbourhoods, within ten points). Of these,
        one with as many dimensions as there are features is taken only if no other is level. A matrix, which can be exported,
        comes before a map that needs the training rows; then the fewest dimensions count, then the simplest method, then the
        mean.
        """
        scores = {name: self.scores(name) for name in self.methods}
        top = max(map(judging.best_of, scores.values()), key=np.mean)
        level = []
        for name, found in scores.items():
            curved, complex_by = complexity(self._candidates[name].estimator)
            is_level = judging.level_with(found, top, self.criterion)
            settings = zip(self.dimensions(name), -found.mean(axis=0), is_level, strict=True)
            level += [(curved, d, complex_by, behind, name) for d, behind, counts in settings if counts]
        _, dimension, _, _, method = min([setting for setting in level if setting[1] < self.X.shape[1]] or level)
        return method, dimension

    @property
    def margin(self) -> str:
        """How near to the best mean another one is level with it."""
        return "ten points" if self.criterion in judging.NEIGHBORHOOD else "one standard error"

    @property
    def reason(self) -> str:
        """Why :attr:`choice` is recommended, in a sentence."""
        best, (name, dimension) = self.best, self.choice
        mean = self.scores(name).mean(axis=0)[self.dimensions(name).index(dimension)]
        linear = "" if complexity(self._candidates[name].estimator)[0] else "a linear map, which can be exported, and "
        own = f"{name} with {dimension} dimension{'s' * (dimension > 1)} ({100 * mean:.1f} %) has {linear}"
        if (best["method"], best["best_dimension"]) == (name, dimension):
            return f"{own}the best score"
        top = f"{best['method']} with {best['best_dimension']} ({100 * best['best_mean']:.1f} %)"
        return f"{own}the fewest dimensions of all that are within {self.margin} of the best, {top}"

    def confusion(self, method: str, dimension: int | None = None) -> np.ndarray:
        """Counts of shape (n_classes, n_classes), true by predicted, of the judge over all folds."""
        if self.labels is None or self.classes is None:
            raise ValueError("the comparison has no labels (classes in y), so there is no confusion matrix")
        dimension = self.chosen[method] if dimension is None else dimension
        held_out = np.concatenate([self.labels[fold] for fold in self.folds])
        found = np.concatenate(self.predictions[method, dimension])
        return confusion_matrix(held_out[held_out >= 0], found, labels=np.arange(len(self.classes)))

    def __repr__(self) -> str:
        rows = [row for row in [*self.summary(), *self.lines.values()] if "mean" in row]
        scores = [
            f"{row['method']}, {row['dimension']}: {100 * row['mean']:.1f} ± {100 * row['se']:.1f}" for row in rows
        ]
        return "\n".join([f"{self.reason}\nmethod, dimensions: {self.criterion} %", *scores])

    def _repr_html_(self) -> str | None:
        """The report, inline in a notebook; None, which shows the text, where what it needs is not installed."""
        from ..report import report_page

        try:
            page = report_page(self, max_points=1000)
        except ImportError:
            return None
        return f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: 900px; border: 0" title="Comparison"></iframe>'


def mean_and_error(mean: str, error: str, scores: np.ndarray) -> dict[str, float]:
    return {mean: float(scores.mean()), error: standard_error(scores)}


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while methods were compared, with the scores of the methods that were done by then.

    Parameters
    ----------
    comparison : Comparison
        The scores of these methods. It has no models, since methods are fitted to all rows once every one is scored.
    n_methods : int
        How many methods there were to compare.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import Interrupted, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> try:
    ...     found = compare(X, y, methods=["PCA"])
    ... except Interrupted as stopped:
    ...     found = stopped.comparison
    """

    def __init__(self, comparison: Comparison, n_methods: int):
        self.comparison, self.n_methods = comparison, n_methods
        super().__init__(f"{len(comparison.methods)} of {n_methods} methods are scored")


def compare(
    X: Any,
    y: Any = None,
    *,
    methods: Mapping[str, Any] | Sequence[str] | None = None,
    dimensions: Sequence[int] | None = None,
    scoring: str | None = None,
    judge: str = "auto",
    cv: Any = 5,
    groups: Any = None,
    time: Any = None,
    prepare: Any = None,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    memory: Any = None,
) -> Comparison:
    """Compare methods and numbers of dimensions by cross-validation.

    All is learnt from the training rows of a fold alone: a score is that of
    ``cross_val_score(make_pipeline(found.estimator(name, d), judge), X, y, cv=found.splitter)``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numbers; with ``prepare`` whatever that takes, such as text, dates and gaps.
    y : array-like of shape (n_samples,), default=None
        Class labels, -1 where unknown, or numbers to predict, as which fractions are taken. None: neighbourhoods are measured.
    methods : mapping of name to estimator, sequence of names, or None, default=None
        Names of ``lapwing.comparison.METHODS``, such as ``"PCA"`` and ``"LPP + classes"``;
        or estimators of your own, which need ``n_components`` (a pipeline in its last step) and ``transform``. None takes PCA
        and the methods that suit X and y.
    dimensions : sequence of int, default=None
        Increasing. None is 1, 2, 3, 5, 8, 13, 21, 34, 55, as far as the rank and the method go, and three of these for methods
        that are slow because each number needs a fit.
    scoring : str or None, default=None
        What chooses: a goal (``"classification"``, ``"retrieval"``, ``"clustering"``, ``"neighbours"``), a measure of
        :attr:`Comparison.measures`, or a score of scikit-learn for classes. None is the ROC AUC of two classes, the accuracy of
        more (``"balanced_accuracy"`` where the largest is more than twice as large as the smallest), R² of numbers, and
        neighbours without y. ``"r2"`` takes y for numbers.
    judge : {"auto", "nearest", "knn", "logistic"}, default="auto"
        What scores spaces: the nearest neighbour, which gives no ROC AUC, some neighbours, logistic regression (ridge regression
        of numbers), or the better of the last two, chosen in each fold among its training rows (:func:`checked_judge`).
    cv : int or scikit-learn splitter, default=5
        An integer gives shuffled folds, stratified where there are labels. Rows of unknown label train and are not scored
        (:class:`~lapwing.selection.LabelledSplit`).
    groups : array-like of shape (n_samples,), default=None
        Which rows belong together (one patient, one speaker): they are held out together.
    time : array-like of shape (n_samples,), default=None
        When each row was recorded: rows are scored by models of earlier ones (:class:`~lapwing.selection.TimeSplit`).
    prepare : transformer or None, default=None
        What makes numbers of X, such as a ``ColumnTransformer``. In each fold it learns from the training rows alone, without
        labels; models are fitted to what it gives of all rows (:attr:`Comparison.X`).
    feature_names : sequence of str, default=None
        The names of the columns, for warnings about leaks. None takes those of a data frame, or numbers from 0.
    random_state : int, default=0
        The seed of the folds and of k-means.
    n_jobs : int or None, default=None
        How many methods and folds are worked on at the same time, each on one thread; -1 is all cores, or one for small work.
        The result does not depend on it.
    memory : None, path or joblib.Memory, default=None
        A folder that keeps the scores of each method on each fold, so that the same comparison goes on from there when it is
        started again. Empty it after a change to your own methods. joblib writes pickles: let only you write to the folder.

    Returns
    -------
    Comparison
        The scores with standard errors, the recommendation (``choice``), and a model of each method, fitted to all rows. Ctrl-C
        raises :class:`~lapwing.comparison.Interrupted`, which has the scores of the methods that are done.

    Warns
    -----
    LeakWarning
        Where a column alone tells the labels, or rows are copies of rows in other folds (:func:`find_leaks`).

    Notes
    -----
    Standard errors are over folds, which share training rows, so they are a little too small. The best of many settings is
    chosen on the folds that score it, so its score is a little too good: keep a test set for a number to publish.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing.comparison import compare
    >>> X, y = load_digits(return_X_y=True)
    >>> found = compare(X[:500], y[:500], methods=["PCA", "LPP"], dimensions=[2, 10])
    >>> [(row["method"], row["dimension"]) for row in found.summary()]
    [('LPP', 10), ('PCA', 10)]
    >>> found.best["accuracy"] > 0.95
    True
    >>> found.estimator("LPP")
    LPP(n_components=10)
    """
    check_in_memory(X, "compare")
    check_choice("judge", judge, judging.JUDGES)
    memory = check_memory(os.fspath(memory) if isinstance(memory, os.PathLike) else memory)
    given, X = X, judging.numbers(X if prepare is None else clone(prepare).fit_transform(X))
    n, seed = X.shape[0], check_count("random_state", random_state, 0)
    y, classes = _learnt(y, n, scoring)
    labels, targets = (None, y) if classes is None else (y, None)
    groups, time = _checked_keys("groups", groups, n), _checked_keys("time", time, n)
    keys, splitter = groups if time is None else time, _checked_splitter(cv, labels, classes, seed, groups, time)
    splits = list(splitter.split(X, labels, keys))
    n_neighbors = min(judging.N_NEIGHBORS, (min((len(test) for _, test in splits), default=0) - 1) // 2)
    if len(splits) < 2 or n_neighbors < 1:
        raise ValueError(
            f"cv={cv!r} must give two folds or more, each of which holds out 3 of the {n} rows or more; use fewer folds"
        )
    # The AUC of one nearest neighbour would say no more than the accuracy.
    parts = [] if labels is None or labels.max() > 1 else [labels[rows] for split in splits for rows in split]
    ranked = judge != "nearest" and bool(parts) and all(0 < part[part >= 0].mean() < 1 for part in parts)
    criterion = judging.checked_criterion(scoring, y, ranked)
    scorers = tuple(dict.fromkeys(["roc_auc"] * ranked + [criterion] * (criterion not in judging.MEASURES)))
    rows = X if prepare is None else given
    task = judging.Task(rows, prepare, y, n_neighbors, seed, scorers, criterion in judging.RETRIEVAL)
    estimators = checked_methods(methods, X, y)
    ranks = [judging.rank_of(task, *split) for split in splits]
    if min(ranks) == 0:
        raise ValueError(
            f"the training rows of fold {ranks.index(0) + 1} are all equal, or nearly, so there is no direction to find; use "
            "other folds (cv=), such as shuffled ones, or data that vary"
        )
    n_classes = None if classes is None else len(classes)
    tried = {name: candidate(own, dimensions, min(ranks), n_classes) for name, own in estimators.items()}
    found_leaks = [] if y is None else leaks(given, y, splits, feature_names)
    for leak in found_leaks:
        warnings.warn(leak.message, LeakWarning, stacklevel=2)
    about = {
        **{"leaks": found_leaks, "criterion": criterion, "classes": classes, "labels": labels, "targets": targets},
        **{"judge_name": judge, "splitter": splitter, "cv": cv, "folds": [test for _, test in splits], "X": X},
        **{"random_state": seed, "n_neighbors": n_neighbors, "prepare": prepare},
        "key_name": None if keys is None else "time" if time is not None else "groups",
    }
    total, done = len(splits) * (1 + len(tried)) + len(tried), count()
    is_small = X.shape[0] * X.shape[1] * len(tried) < SMALL
    # Inside the ``with`` all runs share X on disk. Runs outside of it would delete that file each.
    with (
        Progress("comparing", total, "parts") as line,
        Parallel(1 if is_small and n_jobs is not None and n_jobs < 0 else n_jobs, return_as="generator") as run,
    ):

        def told(calls: Iterable[Any], parts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Any]]:
            """The results of calls, each with the name of its part, which is told before it."""
            results = run(calls)
            for name, what in parts:
                line(next(done), f"{name}: {what}")
                yield name, next(results)

        return _compared(told, task, splits, judge, tried, memory, about)


def _compared(told: Any, task: Any, splits: Splits, judge: str, tried: Tried, memory: Any, about: Any) -> Comparison:
    """What is held to, every method on every fold, and then every method on all rows."""
    folds, scores = [f"fold {i + 1}" for i in range(len(splits))], {name: list[judging.Evaluation]() for name in tried}
    calls = (delayed(judging.reference)(task, *split, judge) for split in splits)
    references = [own for _, own in told(calls, [("all columns", fold) for fold in folds])]
    try:
        evaluations = _calls(task, splits, [own for own, _ in references], tried, memory)
        for name, evaluation in told(evaluations, [(name, fold) for name in tried for fold in folds]):
            scores[name].append(evaluation)
        fits = dict[str, judging.Whole | str]()
        found = _result(tried, scores, references, fits, about)
        # Where a method fails on all rows, another one, or another number of dimensions, may be chosen.
        while wanted := {m: d for m, d in found.chosen.items() if getattr(fits.get(m), "dimension", None) != d}:
            fit, own = delayed(judging.fit_whole), found._candidates
            calls = (fit(own[name], d, found.X, task.y) for name, d in wanted.items())
            fits |= told(calls, [(name, "all data") for name in wanted])
            found = _result(tried, scores, references, fits, about)
    except KeyboardInterrupt:
        complete = {name: own for name, own in tried.items() if len(scores[name]) == len(folds)}
        if not complete:
            raise
        raise Interrupted(_result(complete, scores, references, {}, about), len(tried)) from None
    return found


def _result(tried: Tried, scores: Any, references: Any, fits: Mapping[str, Any], about: Any) -> Comparison:
    """The comparison of methods, each with the dimensions that every fold could score, and why others failed."""
    settled, said = dict[str, Candidate](), {}
    failures = {name: fit for name, fit in fits.items() if isinstance(fit, str)}
    for name in [name for name in tried if name not in failures]:
        own, found = tried[name], scores[name]
        done = tuple(d for d in own.dimensions if all(d in fold.measures for fold in found))
        reasons = [fold.failures[0] for fold in found if fold.failures]
        # One of each kind: those of other folds differ in their numbers.
        told = {re.sub(r"\(.*\)|\d+", "", text): text for fold in found for text in fold.warnings}
        if done:
            settled[name], said[name] = own._replace(dimensions=done), sorted(told.values())
        else:
            failures[name] = reasons[-1]
    if not settled:
        raise ValueError(f"no method could be fitted: {'; '.join(f'{name}: {why}' for name, why in failures.items())}")
    whole = {name: fit for name in settled if isinstance(fit := fits.get(name), judging.Whole)}
    of_folds = [(name, d, i, fold) for name in settled for i, fold in enumerate(scores[name]) for d in fold.measures]
    of_folds = [row for row in of_folds if row[1] in settled[row[0]].dimensions]
    judges = [judging.in_words(judge) for judge, _ in references]
    return Comparison(
        records=[{"method": name, "dimension": d, "fold": i, **fold.measures[d]} for name, d, i, fold in of_folds],
        predictions={(name, d): [fold.predictions[d] for fold in scores[name]] for name, d, _, _ in of_folds},
        lines=_lines(references, judges, about),
        warnings=said,
        failures=failures,
        judges=judges,
        judge=references[judges.index(mode(judges))][0],
        models={name: fit.model for name, fit in whole.items()},
        embeddings={name: fit.axes for name, fit in whole.items()},
        spaces={name: fit.space for name, fit in whole.items()},
        _candidates=settled,
        **about,
    )


def _lines(references: Any, judges: list[str], about: Any) -> dict[str, dict[str, Any]]:
    """What methods are held to, with the means of its measures."""
    d, numeric = about["X"].shape[1], about["targets"] is not None
    linear = f"{'ridge' if numeric else 'logistic'} regression"
    judge = "" if references[0][0] is None else f" + {judges[0] if len(set(judges)) == 1 else 'the same judges'}"
    named = {
        "baseline": {"method": f"all columns{judge}", "dimension": d},
        "line_to_beat": {"method": f"all columns + {linear}", "dimension": d},
        "majority": {"method": f"always the {'mean' if numeric else 'largest class'}", "dimension": 0},
    }
    found = dict[str, dict[str, Any]]()
    for line, measures in references[0][1].items():
        scores = {key: np.array([own[line][key] for _, own in references]) for key in measures}
        chosen = mean_and_error("mean", "se", scores[about["criterion"]]) if about["criterion"] in scores else {}
        found[line] = named[line] | {key: float(own.mean()) for key, own in scores.items()} | chosen
    if set(judges) == {linear}:
        found.pop("line_to_beat", None)
    return found


def _learnt(y: Any, n: int, scoring: str | None) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Codes of classes with their names, or floats where y holds numbers to predict, which have none."""
    if y is None:
        return None, None
    if scoring != "r2" and not are_fractions(np.asarray(y)):
        return class_codes(y, n)
    targets = check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64, input_name="y")
    if len(targets) != n:
        raise ValueError(f"y has {len(targets)} entries, but X has {n} rows; pass one per row")
    return targets, None


def _calls(task: Any, splits: Splits, judges: list[Any], tried: Tried, memory: Any) -> list[Any]:
    """Every method in every fold. A memory finds a result again by a key alone, which is the same in every process."""
    cached, keeps = memory.cache(judging.evaluate, ignore=EVALUATED), memory.location is not None
    of_task = joblib.hash((task, [version(name) for name in RELEASES])) if keeps else None
    return [
        delayed(cached)(task, *split, judge, own, joblib.hash((of_task, split, judge, own)) if keeps else None)
        for own in tried.values()
        for split, judge in zip(splits, judges, strict=True)
    ]


def _checked_splitter(cv: Any, labels: np.ndarray | None, classes: Any, seed: int, groups: Any, time: Any) -> Any:
    """The splitter of rows into folds."""
    if groups is not None and time is not None:
        raise ValueError("groups and time are both given; rows are kept together, or kept in order: give one of them")
    if hasattr(cv, "split"):
        return cv
    n_splits = check_count("cv", cv, 2)
    if time is not None:
        return TimeSplit(n_splits)
    if labels is None:
        return (KFold if groups is None else GroupKFold)(n_splits, shuffle=True, random_state=seed)
    kind, least, unit, units = StratifiedKFold, n_splits, "rows", np.arange(len(labels))
    remedy = "fewer folds (--cv on the command line), merge classes, or mark the labels of these as unknown (-1, in a file empty)"
    remedy += '; if y holds quantities, say scoring="r2"'
    if groups is not None:
        kind, least, unit, units = StratifiedGroupKFold, 2, "groups", groups
        remedy = "other groups; to search among classes never seen, see lapwing.selection.retrieval_scorer"
    counts = {str(name): len(np.unique(units[labels == i])) for i, name in enumerate(classes)}
    if few := [f"{name!r} has {number}" for name, number in counts.items() if number < least]:
        named = ", ".join(few[:NAMED]) + ", ..." * (len(few) > NAMED)
        raise ValueError(f"cv={n_splits} folds need {least} {unit} or more of each class: {named}; use {remedy}")
    splitter = kind(n_splits, shuffle=True, random_state=seed)
    return LabelledSplit(splitter) if (labels < 0).any() else splitter


def _checked_keys(name: str, values: Any, n: int) -> np.ndarray | None:
    """``groups=`` or ``time=``: one value per row, with none missing."""
    values = None if values is None else column_or_1d(values)
    if values is not None and (len(values) != n or any(own is None or own != own for own in values.tolist())):
        raise ValueError(f"{name} must have one value for each of the {n} rows, and none that is missing")
    return values
