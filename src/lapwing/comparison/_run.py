"""The comparison itself: methods and folds in parallel, then fits to all data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import count
from pickle import PicklingError
from typing import Any

import joblib
import numpy as np
from joblib import Memory, Parallel, delayed
from sklearn.base import clone

from .._extras import Progress
from .._labels import class_codes
from .._validation import check_count, check_in_memory
from ._candidates import Candidate, Evaluation, candidates, distinct_graphs, evaluate, evaluate_as_given, fit_whole
from ._folds import Fold, checked_keys, checked_splitter, numbers
from ._methods import checked_methods, left_out
from ._result import ALL_FEATURES, ALWAYS_THE_SAME, Comparison, choose
from ._scores import N_NEIGHBORS, RETRIEVAL, checked_criterion, majority, one_standard_error, tolerance

# Up to this many entries of X times methods, one core takes about as long as two processes take to start (4 s).
SMALL = 1_000_000
RELEASES = ("lapwing", "numpy", "scipy", "scikit-learn")  # others may give other numbers

Tried = dict[str, Candidate]
Scores = dict[str, list[Evaluation]]  # by method, one per fold


def compare(
    X: Any,
    y: Any = None,
    *,
    methods: Mapping[str, Any] | Sequence[str] | None = None,
    dimensions: Sequence[int] | None = None,
    scoring: str | None = None,
    cv: Any = 5,
    groups: Any = None,
    time: Any = None,
    prepare: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    memory: Any = None,
    progress: Callable[[int, int, str], Any] | None = None,
) -> Comparison:
    """Compare methods and numbers of dimensions by cross-validation.

    It returns a :class:`Comparison`: the scores of every method at every number of dimensions, with standard errors, a
    recommendation, and a model of each method that is fitted to all rows.

    A method is fitted once per fold for all dimensions that share a pre-projection: the first d directions of a larger
    solution are the solution for d. ``pca="auto"`` is settled on the whole of X, as a number of directions (from its variance
    and, of the labels, the size of classes alone), and written out, so that :meth:`Comparison.estimator` gives the numbers
    shown. For ``LPP``, ``NPE``, ``LPDP`` and ``MMC`` it is the same for all but the largest d; for ``OLPP``, ``ONPP`` and
    ``MFA`` it follows d, and these are fitted for each d.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Numbers; with ``prepare`` whatever that takes, such as text, dates and gaps.
    y : array-like of shape (n_samples,), default=None
        Class labels, -1 where unknown. Without them only neighbourhoods are measured.
    methods : mapping of name to estimator, sequence of names, or None, default=None
        What to compare. A name is that of a method of lapwing that has components and takes rows of features, such as
        ``"LPP"`` and ``"KernelLPP"``; or ``"PCA"``, ``"TruncatedSVD"``, ``"LDA"``, ``"shrinkage LDA"``, ``"NCA"``,
        ``"kernel PCA + LDA"`` and, where umap-learn is installed, ``"UMAP"``; or ``"LPP + classes"``, ``"LPP + repulsion"``,
        ``"OLPP + repulsion"`` and ``"KernelLPP + classes"``, which are methods with these graphs. The dict
        ``lapwing.comparison.METHODS`` has them all.

        A mapping gives estimators of your own. They need ``n_components`` and ``transform``, a pipeline in its last step.
        None takes PCA and the methods that suit X and y, and leaves out the slow ones where there are many rows:
        ``lapwing.comparison.default_methods(X, y)`` says which.
    dimensions : sequence of int, default=None
        Increasing. None is 1, 2, 3, 5, 8, 13, 21, 34, 55, as far as the rank goes, and three of them for methods of other
        libraries that are fitted anew for each. A method with fewer (LDA has one less than classes) stops there.
    scoring : str or None, default=None
        What chooses: a goal (``"classification"``, ``"retrieval"``, ``"clustering"``, ``"neighbours"``) or a measure of
        :attr:`Comparison.measures`, and ``"map"`` or ``"recall@5"``. None is classification with labels and neighbours without.
        Classification is judged by ``"accuracy"``, or by ``"balanced_accuracy"`` where the largest class is more than twice as
        large as the smallest.
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
    random_state : int, default=0
        The seed of the folds and of k-means.
    n_jobs : int or None, default=None
        How many methods and folds are worked on at the same time, each on one thread; -1 is all cores, or one where
        ``n_samples * n_features`` times the number of methods is below a million: there processes take longer to start than
        they save. The result does not depend on it.
    memory : None, path or joblib.Memory, default=None
        A folder that keeps the scores of each method on each fold as soon as they are known, so that the same comparison goes
        on from there when it is started again. The fits to all rows are made anew. Scores are found by a hash of the rows, the
        labels, the fold, the method with its parameters, and the releases of lapwing, NumPy, SciPy and scikit-learn: empty the
        folder after a change to the code of your own methods. joblib writes pickles, so use a folder that only you write to.
    progress : callable, default=None
        Called as ``progress(done, total, message)`` before each part, such as ``"fold 2: LPP"``, and at the end. None shows the
        part and the time that is left on a terminal and in notebooks, once the comparison has taken two seconds.

    Returns
    -------
    Comparison
        The scores, the recommendation (``choice``) and the fitted models.

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
    0.97
    >>> found.estimator("LPP")
    LPP(n_components=10, pca=...)
    """
    check_in_memory(X, "compare")
    given, X = X, numbers(X if prepare is None else clone(prepare).fit_transform(X))
    if X.shape[0] < 4:
        raise ValueError(f"X has {X.shape[0]} samples; a comparison needs 4 or more, to hold some out")
    labels, classes = (None, None) if y is None else class_codes(_checked_classes(y), X.shape[0])
    seed = check_count("random_state", random_state, 0)
    criterion = checked_criterion(scoring, labels)
    estimators = checked_methods(methods, X, labels)
    keys = (checked_keys("groups", groups, X.shape[0]), checked_keys("time", time, X.shape[0]))
    splitter, key = checked_splitter(cv, labels, classes, seed, *keys)
    rows = X if prepare is None else given
    folds = [Fold(rows, prepare, labels, train, test) for train, test in splitter.split(X, labels, key)]
    if len(folds) < 2:
        raise ValueError(f"cv={cv!r} gives {len(folds)} split; two or more are needed for a standard error")
    tried = candidates(estimators, dimensions, X, folds)
    n_neighbors = min(N_NEIGHBORS, (min(len(fold.test) for fold in folds) - 1) // 2)
    if n_neighbors < 1:
        raise ValueError(f"cv={cv!r} holds out fewer than 3 rows of {X.shape[0]}; use fewer folds")
    settings = {"n_neighbors": n_neighbors, "seed": seed, "retrieval": criterion in RETRIEVAL}
    total = len(folds) * (1 + len(tried)) + len(tried)
    line, done = Progress("comparing", total, "parts"), count()
    told = progress or (lambda done, total, message: line(done, message))
    # Inside the ``with`` both runs share X on disk. Two runs outside of it would delete that file twice.
    with line, Parallel(n_jobs=_worthwhile(n_jobs, X, len(tried)), return_as="generator") as run:
        names, calls = _calls(tried, folds, settings, memory)
        found = list(_each(names, run(calls), lambda name: told(next(done), total, name)))
        baseline, scores = _by_method(found, tried)
        tried, failures = _scored(tried, scores)
        chosen = _chosen(tried, scores, criterion, X.shape[1])
        calls = [delayed(fit_whole)(candidate, chosen[name], X, labels) for name, candidate in tried.items()]
        results = _each(list(tried), run(calls), lambda name: told(next(done), total, f"all data: {name}"))
        fits = dict(zip(tried, results, strict=True))
        told(total, total, "done")
    failures |= {name: why for name, why in fits.items() if isinstance(why, str)}
    tried = _fitted(tried, failures)
    fits = {name: fits[name] for name in tried}
    predicted = [] if labels is None else [(name, d) for name in tried for d in tried[name].dimensions]
    largest = [] if labels is None else [majority(labels[fold.train], labels[fold.test]) for fold in folds]
    return Comparison(
        records=[
            _record(name, d, i, found.measures[d])
            for name, candidate in tried.items()
            for i, found in enumerate(scores[name])
            for d in candidate.dimensions
        ],
        baseline=[_record(ALL_FEATURES, X.shape[1], i, measures) for i, measures in enumerate(baseline)],
        majority=[_record(ALWAYS_THE_SAME, 0, i, measures) for i, measures in enumerate(largest)],
        criterion=criterion,
        models={name: fit.model for name, fit in fits.items()},
        embeddings={name: fit.embeddings for name, fit in fits.items()},
        spaces={name: fit.space for name, fit in fits.items()},
        spectra={name: fit.spectrum for name, fit in fits.items()},
        graphs=distinct_graphs(fits),
        failures=failures,
        left_out=left_out(X, labels) if methods is None else {},
        warnings={name: sorted({text for found in scores[name] for text in found.warnings}) for name in tried},
        classes=classes,
        labels=labels,
        splitter=splitter,
        keys=key,
        key_name=None if key is None else "time" if time is not None else "groups",
        folds=[fold.test for fold in folds],
        predictions={(name, d): [found.predictions[d] for found in scores[name]] for name, d in predicted},
        random_state=seed,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_neighbors=n_neighbors,
        X=X,
        prepare=prepare,
        _candidates=tried,
    )


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


def _calls(tried: Tried, folds: list[Fold], settings: dict[str, Any], memory: Any) -> tuple[list[str], list[Any]]:
    """Names and calls of what is scored: in each fold the rows as given, and then every method."""
    kept = _checked_memory(memory).cache(evaluate, ignore=["candidate", "fold", "settings"])
    keys = {} if memory is None else _keys(tried, folds, settings)
    names, calls = [], []
    for i, fold in enumerate(folds):
        names += [f"fold {i + 1}: {name}" for name in (ALL_FEATURES, *tried)]
        calls.append(delayed(evaluate_as_given)(fold, settings))
        calls += [delayed(kept)(tried[name], fold, settings, key=keys.get((i, name))) for name in tried]
    return names, calls


def _checked_memory(memory: Any) -> Any:
    if memory is None or isinstance(memory, str | os.PathLike):
        return Memory(memory and os.fspath(memory), verbose=0)  # joblib puts a Path and a str into different folders
    if not hasattr(memory, "cache"):
        raise ValueError(f"memory={memory!r} must be the path of a folder, a joblib.Memory, or None")
    return memory


def _keys(tried: Tried, folds: list[Fold], settings: dict[str, Any]) -> dict[tuple[int, str], str]:
    """By what a memory finds the scores of each fold and method."""
    releases = [version(name) for name in RELEASES]
    of_rows = joblib.hash((*folds[0][:3], settings, releases))
    of_folds = [joblib.hash((fold.train, fold.test)) for fold in folds]
    keys: dict[tuple[int, str], str] = {}
    for name, candidate in tried.items():
        try:
            of_method = joblib.hash(candidate)
        except PicklingError as error:
            raise ValueError(
                f"methods[{name!r}]={candidate.estimator!r} cannot be found again in memory=: {error}; write functions such as "
                "lambdas as functions of a module, or use memory=None"
            ) from error
        keys |= {(i, name): f"{of_rows} {of_fold} {of_method}" for i, of_fold in enumerate(of_folds)}
    return keys


def _by_method(found: list[Any], tried: Tried) -> tuple[list[dict[str, float]], Scores]:
    """The results of :func:`_calls`: the measures of the rows as given, by fold, and what each method has reached."""
    folds = [found[i : i + 1 + len(tried)] for i in range(0, len(found), 1 + len(tried))]
    baseline, *others = zip(*folds, strict=True)
    return list(baseline), {name: list(scores) for name, scores in zip(tried, others, strict=True)}


def _scored(tried: Tried, scores: Scores) -> tuple[Tried, dict[str, str]]:
    """The methods with the dimensions that every fold could score, and the reasons why methods without any failed."""
    settled, failures = {}, {}
    for name, candidate in tried.items():
        reasons = [found.failures[0] for found in scores[name] if found.failures]
        dimensions = tuple(d for d in candidate.dimensions if all(d in found.measures for found in scores[name]))
        if not dimensions:
            failures[name] = reasons[-1]
        elif len(dimensions) < len(candidate.dimensions):
            scores[name][0].warnings.append(
                f"only {', '.join(map(str, dimensions))} dimensions are scored: {reasons[-1]}"
            )
        settled[name] = candidate._replace(dimensions=dimensions, most=min(candidate.most, max(dimensions, default=1)))
    return _fitted(settled, failures), failures


def _fitted(tried: Tried, failures: dict[str, str]) -> Tried:
    """The methods that could be fitted everywhere."""
    fitted = {name: candidate for name, candidate in tried.items() if name not in failures}
    if not fitted:
        raise ValueError("no method could be fitted: " + "; ".join(f"{name}: {why}" for name, why in failures.items()))
    return fitted


def _chosen(tried: Tried, scores: Scores, criterion: str, n_features: int) -> dict[str, int]:
    """The number of dimensions with which each method is fitted to all data."""
    values = {
        name: np.array([[found.measures[d][criterion] for d in candidate.dimensions] for found in scores[name]])
        for name, candidate in tried.items()
    }
    own = {name: tried[name].dimensions[one_standard_error(values[name], tolerance(criterion))] for name in tried}
    return own | dict([choose(tried, values, criterion, n_features)])


def _record(method: str, dimension: int, fold: int, measures: dict[str, float]) -> dict[str, Any]:
    return {"method": method, "dimension": dimension, "fold": fold, **measures}


def _each(names: list[str], results: Iterator[Any], tell: Callable[[str], Any]) -> Iterator[Any]:
    """The results as they come. Before each, ``tell`` says what is being worked on."""
    for name in names:
        tell(name)
        yield next(results)
