"""The comparison itself: methods and folds in parallel, then fits to all data."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import count
from pickle import PicklingError
from types import MappingProxyType
from typing import Any

import joblib
import numpy as np
from joblib import Memory, Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from .._extras import Progress
from .._labels import class_codes
from .._validation import check_choice, check_count, check_in_memory
from ._candidates import Candidate, Evaluation, Whole, candidates, distinct_graphs, evaluate, fit_whole
from ._folds import Fold, checked_keys, checked_splitter, numbers
from ._judges import JUDGES, checked_judge, in_words
from ._leaks import LeakWarning, leaks
from ._methods import checked_methods, left_out
from ._result import Comparison, Interrupted
from ._scores import MEASURES, N_NEIGHBORS, RETRIEVAL, checked_criterion, majority

# Up to this many entries of X times methods, one core takes about as long as two processes take to start (4 s).
SMALL = 1_000_000
RELEASES = ("lapwing", "numpy", "scipy", "scikit-learn")  # others may give other numbers
ALL_FEATURES = "all features"  # the data as given, with which every method is compared
LINE_TO_BEAT = "all columns + logistic regression"
ALWAYS_THE_SAME = "always the largest class"

Tried = dict[str, Candidate]
Scores = dict[str, list[Evaluation]]  # by method, one per fold


def compare(
    X: Any,
    y: Any = None,
    *,
    methods: Mapping[str, Any] | Sequence[str] | None = None,
    dimensions: Sequence[int] | None = None,
    scoring: str | None = None,
    judge: str = "nearest",
    cv: Any = 5,
    groups: Any = None,
    time: Any = None,
    prepare: Any = None,
    feature_names: Sequence[str] | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    memory: Any = None,
    progress: Callable[[int, int, str], Any] | None = None,
) -> Comparison:
    """Compare methods and numbers of dimensions by cross-validation.

    It returns a :class:`Comparison`: the scores of every method at every number of dimensions, with standard errors, a
    recommendation, and a model of each method that is fitted to all rows. Ctrl-C raises
    :class:`~lapwing.comparison.Interrupted`, a ``KeyboardInterrupt`` that has the scores of the methods that are done.

    A method is fitted once per fold for all dimensions that keep the same principal directions beforehand (``pca=``): the first
    d directions of a larger solution are the solution for d. Where ``pca="auto"`` keeps more for more dimensions, as in ``OLPP``
    and ``MFA``, there are several fits. All of it is learnt from the training rows alone, so the score of a setting is that of
    ``cross_val_score(make_pipeline(found.estimator(name, d), KNeighborsClassifier(1)), X, y, cv=found.splitter)``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numbers; with ``prepare`` whatever that takes, such as text, dates and gaps.
    y : array-like of shape (n_samples,), default=None
        Class labels, -1 where unknown. Without them only neighbourhoods are measured.
    methods : mapping of name to estimator, sequence of names, or None, default=None
        What to compare. Names are those of ``lapwing.comparison.METHODS``: the methods of lapwing that have components and
        take rows of features, such as ``"LPP"``; ``"PCA"``, ``"LDA"`` and others of scikit-learn; methods with a graph, such
        as ``"LPP + classes"``; and ``"UMAP"``, where umap-learn is installed.

        A mapping gives estimators of your own. They need ``n_components`` and ``transform``, a pipeline in its last step.
        None takes PCA and the methods that suit X and y, and leaves out the slow ones where there are many rows:
        ``lapwing.comparison.default_methods(X, y)`` says which.
    dimensions : sequence of int, default=None
        Increasing. None is 1, 2, 3, 5, 8, 13, 21, 34, 55, as far as the rank goes, and three of them for methods of other
        libraries that are fitted anew for each. A method with fewer (LDA has one less than classes) stops there.
    scoring : str or None, default=None
        What chooses: a goal (``"classification"``, ``"retrieval"``, ``"clustering"``, ``"neighbours"``) or a measure of
        :attr:`Comparison.measures`, and ``"map"`` or ``"recall@5"``, or a score of scikit-learn for classes, such as
        ``"roc_auc"``. None is classification with labels and neighbours without.
        Classification is judged by ``"accuracy"``, or by ``"balanced_accuracy"`` where the largest class is more than twice as
        large as the smallest.
    judge : {"nearest", "knn", "logistic", "auto"}, default="nearest"
        The classifier that scores spaces: the nearest neighbour, some neighbours, logistic regression, or the better of the
        last two, chosen in each fold among its training rows (:attr:`Comparison.judges`). With two classes all but
        ``"nearest"`` choose by ``"roc_auc"``, and the columns as given are judged by logistic regression.
    cv : int or scikit-learn splitter, default=5
        An integer gives shuffled folds, stratified where there are labels. Rows of unknown label train and are not scored
        (:class:`~lapwing.selection.LabelledSplit`).
    groups : array-like of shape (n_samples,), default=None
        Which rows belong together (one patient, one speaker): they are held out together.
    time : array-like of shape (n_samples,), default=None
        When each row was recorded: rows are scored by models of earlier ones (:class:`~lapwing.selection.TimeSplit`).
    prepare : transformer or None, default=None
        What makes numbers of X, such as a ``ColumnTransformer`` with imputers, encoders and scalers. In each fold it learns
        from the training rows alone, without labels; the methods are fitted to what it gives, and the models of the result to
        what it gives of all rows (:attr:`Comparison.X`).
    feature_names : sequence of str, default=None
        The names of the columns, for warnings about leaks. None takes those of a data frame, or numbers from 0.
    random_state : int, default=0
        The seed of the folds and of k-means.
    n_jobs : int or None, default=None
        How many methods and folds are worked on at the same time, each on one thread; -1 is all cores, or one where
        ``n_samples * n_features`` times the number of methods is below a million: there processes take longer to start than
        they save. The result does not depend on it.
    memory : None, path or joblib.Memory, default=None
        A folder that keeps the scores of each method on each fold as soon as they are known, so that the same comparison goes
        on from there when it is started again. Scores are found by a hash of the rows, the labels, the fold, the method with
        its parameters, and the releases of lapwing, NumPy, SciPy and scikit-learn: empty the folder after a change to the code
        of your own methods. joblib writes pickles, so use a folder that only you write to.
    progress : callable, default=None
        Called as ``progress(done, total, message)`` before each part, such as ``"LPP: fold 2"``, and at the end. None shows the
        part and the time that is left on a terminal and in notebooks, once the comparison has taken two seconds.

    Returns
    -------
    Comparison
        The scores, the recommendation (``choice``) and the fitted models.

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
    >>> round(found.best["accuracy"], 2)
    0.98
    >>> found.estimator("LPP")
    LPP(n_components=10)
    """
    check_in_memory(X, "compare")
    rows, X = X, numbers(X if prepare is None else clone(prepare).fit_transform(X))
    n = X.shape[0]
    if n < 4:
        raise ValueError(f"X has {n} samples; a comparison needs 4 or more, to hold some out")
    labels, classes = (None, None) if y is None else class_codes(_checked_classes(y), n)
    seed = check_count("random_state", random_state, 0)
    check_choice("judge", judge, JUDGES)
    criterion = checked_criterion(scoring, labels, judge)
    estimators = checked_methods(methods, X, labels)
    groups, time = checked_keys("groups", groups, n), checked_keys("time", time, n)
    splitter, key = checked_splitter(cv, labels, classes, seed, groups, time)
    splits = splitter.split(X, labels, key)
    folds = [Fold(X if prepare is None else rows, prepare, labels, train, test) for train, test in splits]
    if len(folds) < 2:
        raise ValueError(f"cv={cv!r} gives {len(folds)} split; two or more are needed for a standard error")
    if labels is not None and judge != "nearest":
        folds = [fold._replace(judge=_judge_of(fold, judge)) for fold in folds]
    tried = candidates(estimators, dimensions, X, folds)
    n_neighbors = min(N_NEIGHBORS, (min(len(fold.test) for fold in folds) - 1) // 2)
    if n_neighbors < 1:
        raise ValueError(f"cv={cv!r} holds out fewer than 3 rows of {n}; use fewer folds")
    two = labels is not None and bool(labels.max() == 1) and judge != "nearest"
    scorers = tuple(dict.fromkeys(["roc_auc"] * two + [criterion] * (criterion not in MEASURES)))
    settings = {"n_neighbors": n_neighbors, "seed": seed, "retrieval": criterion in RETRIEVAL, "scorers": scorers}
    found_leaks = (
        [] if labels is None else leaks(rows, labels, [(fold.train, fold.test) for fold in folds], feature_names)
    )
    for leak in found_leaks:
        warnings.warn(leak.message, LeakWarning, stacklevel=2)
    about = {
        "majority": []
        if labels is None
        else [
            _record(ALWAYS_THE_SAME, 0, i, majority(labels[fold.train], labels[fold.test]))
            for i, fold in enumerate(folds)
        ],
        "leaks": found_leaks,
        "judge": max(
            (fold.judge for fold in folds), key=lambda own: sum(repr(own) == repr(fold.judge) for fold in folds)
        ),
        "judges": ["nearest neighbour" if fold.judge is None else in_words(fold.judge) for fold in folds],
        "left_out": left_out(X, labels) if methods is None else {},
        "folds": [fold.test for fold in folds],
        "key_name": None if key is None else "time" if time is not None else "groups",
        **{"criterion": criterion, "classes": classes, "labels": labels, "splitter": splitter, "keys": key},
        **{"random_state": seed, "n_samples": n, "n_features": X.shape[1], "n_neighbors": n_neighbors},
        **{"X": X, "prepare": prepare},
    }
    scores: Scores = {name: [] for name in (ALL_FEATURES, *tried)}
    total, done = len(scores) * len(folds) + len(tried), count()
    line = Progress("comparing", total, "parts")
    tell = progress or (lambda done, total, message: line(done, message))

    def told(parts: list[tuple[str, str]]) -> Iterator[str]:
        for name, message in parts:
            tell(next(done), total, message)
            yield name

    # Inside the ``with`` both runs share X on disk. Two runs outside of it would delete that file twice.
    with line, Parallel(n_jobs=_worthwhile(n_jobs, X, len(tried)), return_as="generator") as run:
        try:
            parts = [(name, f"{name}: fold {i + 1}") for name in scores for i in range(len(folds))]
            for name, found in zip(told(parts), run(_calls(tried, folds, settings, memory)), strict=True):
                scores[name].append(found)
            tried, failures = _scored(tried, scores)
            fits: dict[str, Whole] = {}
            # Where a method fails on all rows, another one, or another number of dimensions, may be chosen.
            while wanted := _not_fitted(_result(tried, scores, failures, about), fits):
                calls = [delayed(fit_whole)(tried[name], d, X, labels) for name, d in wanted.items()]
                for name, fit in zip(told([(name, f"{name}: all data") for name in wanted]), run(calls), strict=True):
                    if isinstance(fit, Whole):
                        fits[name] = fit
                    else:
                        failures[name] = fit
                        del tried[name]
        except KeyboardInterrupt:
            tried, failures = _scored({name: tried[name] for name in tried if len(scores[name]) == len(folds)}, scores)
            if not tried:
                raise
            raise Interrupted(_result(tried, scores, failures, about), len(estimators)) from None
        tell(total, total, "done")
    return _result(tried, scores, failures, about, {name: fits[name] for name in tried})


def _judge_of(fold: Fold, judge: str) -> Any:
    X, _, y, _ = fold.divided()
    with threadpool_limits(1):
        return checked_judge(judge, X, y if y is not None else np.empty(0))


def _checked_classes(y: Any) -> Any:
    values = np.asarray(y)
    if values.dtype.kind == "f" and (values[np.isfinite(values)] % 1 != 0).any():
        raise ValueError(
            "y is continuous, and compare scores how well spaces tell classes apart, whatever graphs read; put y into a few "
            "bins, leave it out (neighbourhoods are then compared), or use GridSearchCV with a pipeline that ends in a regressor"
        )
    return y


def _worthwhile(n_jobs: int | None, X: Any, n_methods: int) -> int | None:
    """``n_jobs``, or one job where the machine may choose and the work is small."""
    small = X.shape[0] * X.shape[1] * n_methods < SMALL
    return 1 if small and n_jobs is not None and n_jobs < 0 else n_jobs


def _calls(tried: Tried, folds: list[Fold], settings: dict[str, Any], memory: Any) -> Iterator[Any]:
    """What is scored: the rows as given, and then every method, each in all folds."""
    if memory is None or isinstance(memory, str | os.PathLike):
        memory = Memory(memory and os.fspath(memory), verbose=0)  # joblib puts a Path and a str into different folders
    elif not hasattr(memory, "cache"):
        raise ValueError(f"memory={memory!r} must be the path of a folder, a joblib.Memory, or None")
    keeps = memory.location is not None
    kept = memory.cache(evaluate, ignore=["candidate", "fold", "settings"])
    of_rows = joblib.hash((*folds[0][:3], settings, [version(name) for name in RELEASES])) if keeps else None
    of_folds = [joblib.hash((fold.train, fold.test, fold.judge)) if keeps else None for fold in folds]
    of_methods = {name: _hashed(name, candidate) if keeps else None for name, candidate in tried.items()}
    yield from (delayed(evaluate)(None, fold, settings) for fold in folds)
    for name, candidate in tried.items():
        for fold, of_fold in zip(folds, of_folds, strict=True):
            yield delayed(kept)(candidate, fold, settings, key=f"{of_rows} {of_fold} {of_methods[name]}")


def _hashed(name: str, candidate: Candidate) -> str:
    try:
        return joblib.hash(candidate)
    except PicklingError as error:
        raise ValueError(
            f"methods[{name!r}]={candidate.estimator!r} cannot be found again in memory=: {error}; write functions such as "
            "lambdas as functions of a module, or use memory=None"
        ) from error


def _scored(tried: Tried, scores: Scores) -> tuple[Tried, dict[str, str]]:
    """The methods with the dimensions that every fold could score, and the reasons why methods without any failed."""
    settled, failures = {}, {}
    for name, candidate in tried.items():
        reasons = [found.failures[0] for found in scores[name] if found.failures]
        dimensions = tuple(d for d in candidate.dimensions if all(d in found.measures for found in scores[name]))
        if not dimensions:
            failures[name] = reasons[-1]
            continue
        if len(dimensions) < len(candidate.dimensions):
            said = f"only {', '.join(map(str, dimensions))} dimensions are scored: {reasons[-1]}"
            scores[name][0].warnings.append(said)
        settled[name] = candidate._replace(dimensions=dimensions, most=min(candidate.most, max(dimensions)))
    return settled, failures


def _not_fitted(found: Comparison, fits: dict[str, Whole]) -> dict[str, int]:
    """The methods that are to be fitted to all rows, with the dimensions that are chosen for them."""
    if not found.methods:
        failed = "; ".join(f"{name}: {why}" for name, why in found.failures.items())
        raise ValueError(f"no method could be fitted: {failed}")
    chosen = {row["method"]: row["dimension"] for row in found.summary()}
    return {name: chosen[name] for name in found.methods if name not in fits or fits[name].dimension != chosen[name]}


def _result(
    tried: Tried,
    scores: Scores,
    failures: dict[str, str],
    about: dict[str, Any],
    fits: Mapping[str, Whole] = MappingProxyType({}),
) -> Comparison:
    """The comparison as far as it has come."""
    return Comparison(
        records=[
            _record(name, d, i, found.measures[d])
            for name, candidate in tried.items()
            for i, found in enumerate(scores[name])
            for d in candidate.dimensions
        ],
        baseline=[
            _record(ALL_FEATURES if set(about["judges"]) == {"nearest neighbour"} else LINE_TO_BEAT, d, i, measures)
            for i, found in enumerate(scores[ALL_FEATURES])
            for d, measures in found.measures.items()
        ],
        predictions={
            (name, d): [found.predictions[d] for found in scores[name]]
            for name, candidate in tried.items()
            for d in candidate.dimensions
            if about["labels"] is not None
        },
        warnings={name: sorted({text for found in scores[name] for text in found.warnings}) for name in tried},
        failures=dict(failures),
        models={name: fit.model for name, fit in fits.items()},
        embeddings={name: fit.embeddings for name, fit in fits.items()},
        spaces={name: fit.space for name, fit in fits.items()},
        spectra={name: fit.spectrum for name, fit in fits.items()},
        graphs=distinct_graphs(fits),
        _candidates=dict(tried),
        **about,
    )


def _record(method: str, dimension: int, fold: int, measures: dict[str, float]) -> dict[str, Any]:
    return {"method": method, "dimension": dimension, "fold": fold, **measures}
