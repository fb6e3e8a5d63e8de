"""The comparison itself: methods and folds in parallel, then fits to all data."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import count
from statistics import mode
from typing import Any

import joblib
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.validation import check_memory

from .._extras import Progress
from .._validation import check_choice, check_count, check_in_memory, class_codes
from ..selection import LabelledSplit, TimeSplit
from ._fits import Evaluation, Reference, Task, Whole, evaluate, fit_whole, numbers, rank_of, reference
from ._judges import JUDGES, MEASURES, N_NEIGHBORS, RETRIEVAL, checked_criterion, in_words
from ._leaks import LeakWarning, are_fractions, leaks
from ._methods import Candidate, candidate, checked_methods
from ._result import Comparison, Interrupted, mean_and_error

# Up to this many entries of X times methods, one core takes about as long as two processes take to start (4 s).
SMALL = 1_000_000
RELEASES = ("lapwing", "numpy", "scipy", "scikit-learn")  # others may give other numbers
EVALUATED = ["task", "train", "test", "judge", "candidate"]  # by a key in the place of these
NAMED = 8  # an error names at most this many classes or rows
Splits = list[tuple[np.ndarray, np.ndarray]]


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
        Names of ``lapwing.comparison.METHODS``, such as ``"PCA"`` and ``"LPP + classes"``, and ``"UMAP"`` where it is installed;
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
    check_choice("judge", judge, JUDGES)
    memory = check_memory(os.fspath(memory) if isinstance(memory, os.PathLike) else memory)
    given, X = X, numbers(X if prepare is None else clone(prepare).fit_transform(X))
    n, seed = X.shape[0], check_count("random_state", random_state, 0)
    y, classes = _learnt(y, n, scoring)
    labels, targets = (None, y) if classes is None else (y, None)
    groups, time = _checked_keys("groups", groups, n), _checked_keys("time", time, n)
    keys, splitter = groups if time is None else time, _checked_splitter(cv, labels, classes, seed, groups, time)
    splits = list(splitter.split(X, labels, keys))
    n_neighbors = min(N_NEIGHBORS, (min((len(test) for _, test in splits), default=0) - 1) // 2)
    if len(splits) < 2 or n_neighbors < 1:
        raise ValueError(f"cv={cv!r} must give two folds or more, each of which holds out 3 of the {n} rows or more")
    # The AUC of one nearest neighbour would say no more than the accuracy.
    parts = [] if labels is None or labels.max() > 1 else [labels[rows] for split in splits for rows in split]
    ranked = judge != "nearest" and bool(parts) and all(0 < part[part >= 0].mean() < 1 for part in parts)
    criterion = checked_criterion(scoring, y, ranked)
    scorers = tuple(dict.fromkeys(["roc_auc"] * ranked + [criterion] * (criterion not in MEASURES)))
    task = Task(X if prepare is None else given, prepare, y, n_neighbors, seed, scorers, criterion in RETRIEVAL)
    estimators = checked_methods(methods, X, y)
    ranks = [rank_of(task, *split) for split in splits]
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
        **{"splitter": splitter, "folds": [test for _, test in splits], "random_state": seed},
        "key_name": None if keys is None else "time" if time is not None else "groups",
        **{"n_samples": n, "n_features": X.shape[1], "n_neighbors": n_neighbors, "prepare": prepare, "X": X},
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


def _compared(
    told: Any, task: Task, splits: Splits, judge: str, tried: dict[str, Candidate], memory: Any, about: Any
) -> Comparison:
    """What is held to, every method on every fold, and then every method on all rows."""
    folds, scores = [f"fold {i + 1}" for i in range(len(splits))], {name: list[Evaluation]() for name in tried}
    calls = (delayed(reference)(task, *split, judge) for split in splits)
    references = [own for _, own in told(calls, [("all columns", fold) for fold in folds])]
    try:
        evaluations = _calls(task, splits, [own.judge for own in references], tried, memory)
        for name, evaluation in told(evaluations, [(name, fold) for name in tried for fold in folds]):
            scores[name].append(evaluation)
        fits = dict[str, Whole | str]()
        found = _result(tried, scores, references, fits, about)
        # Where a method fails on all rows, another one, or another number of dimensions, may be chosen.
        while wanted := {m: d for m, d in found.chosen.items() if getattr(fits.get(m), "dimension", None) != d}:
            calls = (delayed(fit_whole)(found._candidates[name], d, about["X"], task.y) for name, d in wanted.items())
            fits |= told(calls, [(name, "all data") for name in wanted])
            found = _result(tried, scores, references, fits, about)
    except KeyboardInterrupt:
        complete = {name: own for name, own in tried.items() if len(scores[name]) == len(folds)}
        if not complete:
            raise
        raise Interrupted(_result(complete, scores, references, {}, about), len(tried)) from None
    return found


def _result(
    tried: Mapping[str, Candidate],
    scores: Mapping[str, Sequence[Evaluation]],
    references: Sequence[Reference],
    fits: Mapping[str, Whole | str],
    about: Mapping[str, Any],
) -> Comparison:
    """The comparison of methods, each with the dimensions that every fold could score, and why others failed."""
    settled, said = dict[str, Candidate](), {}
    failures = {name: fit for name, fit in fits.items() if isinstance(fit, str)}
    for name in [name for name in tried if name not in failures]:
        own, found = tried[name], scores[name]
        done = tuple(d for d in own.dimensions if all(d in fold.measures for fold in found))
        reasons = [fold.failures[0] for fold in found if fold.failures]
        # One of each kind: those of other folds differ in their numbers.
        told = {re.sub(r"\(.*\)|\d+", "", text): text for fold in found for text in fold.warnings}
        if reasons and own.are_asked and not any(fold.has_fewer for fold in found):
            told["cut"] = f"only {', '.join(map(str, done))} dimensions are scored: {reasons[-1]}"
        if done:
            settled[name] = own._replace(dimensions=done, most=min(own.most, max(done)))
            said[name] = sorted(told.values())
        else:
            failures[name] = reasons[-1]
    if not settled:
        raise ValueError(f"no method could be fitted: {'; '.join(f'{name}: {why}' for name, why in failures.items())}")
    whole = {name: fit for name in settled if isinstance(fit := fits.get(name), Whole)}
    judges = [in_words(own.judge) for own in references]
    return Comparison(
        records=[
            {"method": name, "dimension": d, "fold": i, **found.measures[d]}
            for name, own in settled.items()
            for i, found in enumerate(scores[name])
            for d in own.dimensions
        ],
        predictions={
            (name, d): [found.predictions[d] for found in scores[name]]
            for name, own in settled.items()
            for d in own.dimensions
        },
        lines=_lines(references, judges, about),
        warnings=said,
        failures=failures,
        judges=judges,
        judge=references[judges.index(mode(judges))].judge,
        models={name: fit.model for name, fit in whole.items()},
        embeddings={name: fit.embeddings for name, fit in whole.items()},
        spaces={name: fit.space for name, fit in whole.items()},
        _candidates=settled,
        **about,
    )


def _lines(references: Sequence[Reference], judges: list[str], about: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What methods are held to, with the means of its measures."""
    d, numeric = about["n_features"], about["targets"] is not None
    linear = f"{'ridge' if numeric else 'logistic'} regression"
    judge = "" if references[0].judge is None else f" + {judges[0] if len(set(judges)) == 1 else 'the same judges'}"
    named = {
        "baseline": {"method": f"all columns{judge}", "dimension": d},
        "line_to_beat": {"method": f"all columns + {linear}", "dimension": d},
        "majority": {"method": f"always the {'mean' if numeric else 'largest class'}", "dimension": 0},
    }
    found = dict[str, dict[str, Any]]()
    for line, measures in references[0].measures.items():
        scores = {key: np.array([own.measures[line][key] for own in references]) for key in measures}
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


def _calls(task: Task, splits: Splits, judges: list[Any], tried: Mapping[str, Candidate], memory: Any) -> list[Any]:
    """Every method in every fold. A memory finds a result again by a key alone, which is the same in every process."""
    cached, keeps = memory.cache(evaluate, ignore=EVALUATED), memory.location is not None
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
    if groups is not None and (found := len(np.unique(groups))) < n_splits:
        raise ValueError(
            f"groups has {found} different values, and each of cv={n_splits} folds holds out one or more of them; use at most "
            f"{found} folds, or other groups"
        )
    if time is not None:
        return TimeSplit(n_splits)
    if labels is None:
        return (KFold if groups is None else GroupKFold)(n_splits, shuffle=True, random_state=seed)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    least, unit = (n_splits, "rows") if groups is None else (2, "groups")
    units = np.arange(len(labels)) if groups is None else groups
    counts = {str(name): len(np.unique(units[labels == i])) for i, name in enumerate(classes)}
    if few := [f"{name} ({number})" for name, number in counts.items() if number < least]:
        quantities = 'use scoring="r2" if these are quantities, or ' if classes.dtype.kind in "iuf" else ""
        remedy = f"{quantities}use fewer folds (2 at least), merge classes, or set those labels to -1 (unknown)"
        if groups is not None:
            remedy = "use other groups; to search among classes never seen, see lapwing.selection.retrieval_scorer"
        more = f" and {len(few) - NAMED} more" if len(few) > NAMED else ""
        raise ValueError(
            f"cv={n_splits} folds need {least} {unit} or more of each class, and these have fewer: "
            f"{', '.join(few[:NAMED])}{more}; {remedy}"
        )
    splitter = kind(n_splits, shuffle=True, random_state=seed)
    return LabelledSplit(splitter) if (labels < 0).any() else splitter


def _checked_keys(name: str, values: Any, n: int) -> np.ndarray | None:
    """``groups=`` or ``time=``: one value per row, with none missing."""
    if values is None:
        return None
    values = column_or_1d(values)
    missing = [i for i, value in enumerate(values.tolist()) if value is None or value != value]
    if len(values) != n or missing:
        which = f"; rows {missing[:NAMED]} have none" if missing else ""
        raise ValueError(f"{name} has {len(values) - len(missing)} values for {n} rows{which}; pass one per row")
    return values
