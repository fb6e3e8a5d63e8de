"""The comparison itself: folds in parallel, then fits to all data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from .._validation import check_count, check_in_memory
from ..rows import class_codes
from ._data import Given
from ._estimate import estimated_seconds
from ._fits import shares_rows
from ._folds import Fold, checked_keys, checked_splitter, joined, score_fold
from ._methods import checked_methods, is_curved, is_recommendable, left_out
from ._plan import Plan, planned
from ._result import ALL_FEATURES, ALWAYS_THE_SAME, Comparison, choose
from ._scores import N_NEIGHBORS, RETRIEVAL, checked_criterion, one_standard_error, tolerance
from ._whole import Whole, distinct_graphs, fit_whole

# Up to this many entries of X times methods, one core takes about as long as two processes take to start (4 s).
SMALL = 1_000_000
FEW_ROWS = 500  # up to this many rows a kernel method is quick


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
    progress: Callable[[int, int, str], Any] | None = None,
) -> Comparison:
    """Compare methods and numbers of dimensions by cross-validation.

    It returns a :class:`Comparison`: the scores of every method at every number of dimensions, with standard errors, a
    recommendation, and a model of each method that is fitted to all rows.

    A method is fitted once per fold for all dimensions that share a pre-projection: the first d directions of a larger
    solution are the solution for d. ``pca="auto"`` is settled on the whole of X, as a number of directions (from its variance
    and, of the labels, the size of classes alone), and written out, so that :meth:`Comparison.estimator` gives the numbers
    shown. For ``LPP``, ``NPE``, ``LPDP`` and ``MMC`` it is the same for all but the largest d; for ``OLPP``, ``ONPP`` and
    ``MFA`` it follows d, and these are solved for each d. In a fold equal neighbour searches run once, whatever the method
    and dimension.

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
        How many folds are worked on at the same time, each on one thread; -1 is all cores, or one where
        ``n_samples * n_features`` times the number of methods is below a million: there processes take longer to start than
        they save. The result does not depend on it.
    progress : callable, default=None
        Called as ``progress(done, total, message)``: first with 0 and an estimate of the time, then as parts are done.

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
    given = Given(X, prepare)
    X = given.whole()
    if X.shape[0] < 4:
        raise ValueError(f"X has {X.shape[0]} samples; a comparison needs 4 or more, to hold some out")
    given = given if prepare is not None else Given(X, None)
    labels, classes = (None, None) if y is None else class_codes(_checked_classes(y), X.shape[0])
    seed = check_count("random_state", random_state, 0)
    criterion = checked_criterion(scoring, labels)
    estimators = checked_methods(methods, X, labels)
    keys = (checked_keys("groups", groups, X.shape[0]), checked_keys("time", time, X.shape[0]))
    splitter, key = checked_splitter(cv, labels, classes, seed, *keys)
    splits = list(splitter.split(X, labels, key))
    if len(splits) < 2:
        raise ValueError(f"cv={cv!r} gives {len(splits)} split; two or more are needed for a standard error")
    plans = planned(estimators, dimensions, given, X, labels, splits)
    n_neighbors = min(N_NEIGHBORS, (min(len(test) for _, test in splits) - 1) // 2)
    if n_neighbors < 1:
        raise ValueError(f"cv={cv!r} holds out fewer than 3 rows of {X.shape[0]}; use fewer folds")
    n_jobs = _worthwhile(n_jobs, X, len(plans))
    n_parts = min(effective_n_jobs(n_jobs), len(plans))
    units = _units(plans)
    report = _Progress(progress, len(splits) * len(units) + n_parts)
    if progress is not None:
        progress(0, report.total, _forecast(X, labels, splits, plans, effective_n_jobs(n_jobs)))
    # Inside the ``with`` both runs share X on disk. Two runs outside of it would delete that file twice.
    with Parallel(n_jobs=n_jobs, return_as="generator") as run:
        settings = n_neighbors, seed, criterion in RETRIEVAL
        tasks = [(train, test, unit, *settings) for train, test in splits for unit in units]
        names = [f"fold {i + 1}: {_called(unit)}" for i in range(len(splits)) for unit in units]
        parts = list(report.each(run(delayed(score_fold)(given, labels, *task) for task in tasks), names))
        folds = [joined(parts[i : i + len(units)]) for i in range(0, len(parts), len(units))]
        plans, failures = _fitted(*_with_scores(plans, folds))
        chosen = _chosen(plans, folds, criterion, X.shape[1])
        shares = [{name: plans[name] for name in list(plans)[i::n_parts]} for i in range(min(n_parts, len(plans)))]
        names = [f"all data, part {i + 1}" for i in range(len(shares))]
        whole = list(report.each(run(delayed(fit_whole)(X, labels, share, chosen) for share in shares), names))
    plans, failures = _fitted(plans, [failures, *(part.failures for part in whole)])
    fits = {name: part.fits[name] for name in plans for part in whole if name in part.fits}
    return Comparison(
        **_scored(plans, folds, X.shape[1], classes),
        **_described(fits),
        criterion=criterion,
        failures=failures,
        left_out=left_out(X, labels) if methods is None else {},
        classes=classes,
        labels=labels,
        splitter=splitter,
        keys=key,
        key_name=None if key is None else "time" if time is not None else "groups",
        folds=[test for _, test in splits],
        predictions={} if labels is None else _predicted(plans, folds),
        random_state=seed,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_neighbors=n_neighbors,
        X=X,
        prepare=prepare,
        _plans=plans,
    )


def _units(plans: dict[str, Plan]) -> list[dict[str, Plan]]:
    """Methods that are scored together. The linear methods of lapwing share their neighbour searches; each other one is alone."""
    quick = (PCA, TruncatedSVD, LinearDiscriminantAnalysis)
    together = {
        name: plan for name, plan in plans.items() if shares_rows(plan.estimator) or isinstance(plan.estimator, quick)
    }
    alone = [{name: plan} for name, plan in plans.items() if name not in together]
    return ([together] if together else []) + alone


def _called(unit: dict[str, Plan]) -> str:
    return next(iter(unit)) if len(unit) == 1 else f"{len(unit)} methods"


def _checked_classes(y: Any) -> Any:
    values = np.asarray(y)
    if values.dtype.kind == "f" and (values[np.isfinite(values)] % 1 != 0).any():
        raise ValueError(
            "y is continuous, and compare scores how well spaces tell classes apart, whatever graphs read; put y into a few "
            "bins, leave it out (neighbourhoods are then compared), or use GridSearchCV with a pipeline that ends in a regressor"
        )
    return y


def _forecast(X: Any, labels: np.ndarray | None, splits: list, plans: dict[str, Plan], n_jobs: int) -> str:
    """How long it will take, in words."""
    train, test = max(splits, key=lambda split: len(split[0]))
    if X.shape[0] * X.shape[1] * len(plans) < SMALL and not any(_is_slow(plan.estimator, X) for plan in plans.values()):
        return "this takes a few seconds"
    seconds = estimated_seconds(X, labels, train, test, plans, len(splits), n_jobs)
    if seconds < 10:
        return "this takes about ten seconds or less"
    if seconds < 90:
        return f"this takes about {10 * round(seconds / 10)} seconds"
    return f"this takes about {round(seconds / 60)} minutes"


def _is_slow(estimator: Any, X: Any) -> bool:
    """Whether it may take long although X is small: UMAP always does, and kernels do where there are many rows."""
    return not is_recommendable(estimator) or (is_curved(estimator) and X.shape[0] > FEW_ROWS)


def _worthwhile(n_jobs: int | None, X: Any, n_methods: int) -> int | None:
    """``n_jobs``, or one job where the machine may choose and the work is small."""
    small = X.shape[0] * X.shape[1] * n_methods < SMALL
    return 1 if small and n_jobs is not None and n_jobs < 0 else n_jobs


def _scored(plans: dict[str, Plan], folds: list[Fold], n_features: int, classes: np.ndarray | None) -> dict[str, Any]:
    """The results of the folds, by method."""
    return {
        "records": [
            {"method": name, "dimension": d, "fold": i, **fold.measures[name, d]}
            for name, plan in plans.items()
            for i, fold in enumerate(folds)
            for d in plan.dimensions
        ],
        "baseline": [
            {"method": ALL_FEATURES, "dimension": n_features, "fold": i, **fold.baseline}
            for i, fold in enumerate(folds)
        ],
        "majority": [
            {"method": ALWAYS_THE_SAME, "dimension": 0, "fold": i, **fold.majority} for i, fold in enumerate(folds)
        ]
        if classes is not None
        else [],
        "warnings": {name: sorted({text for fold in folds for text in fold.warnings[name]}) for name in plans},
    }


def _predicted(plans: dict[str, Plan], folds: list[Fold]) -> dict[tuple[str, int], list[np.ndarray]]:
    settings = [(name, d) for name, plan in plans.items() for d in plan.dimensions]
    return {setting: [fold.predictions[setting] for fold in folds] for setting in settings}


def _described(fits: dict[str, Whole]) -> dict[str, Any]:
    """The results of the fits to all data, by method."""
    return {
        "models": {name: fit.model for name, fit in fits.items()},
        "embeddings": {name: fit.embeddings for name, fit in fits.items()},
        "spaces": {name: fit.space for name, fit in fits.items()},
        "spectra": {name: fit.spectrum for name, fit in fits.items()},
        "graphs": distinct_graphs(fits),
    }


def _with_scores(plans: dict[str, Plan], folds: list[Fold]) -> tuple[dict[str, Plan], list[dict[str, str]]]:
    """The methods with the dimensions that every fold could score, and the reasons why methods without any failed."""
    reasons = {name: why for fold in folds for name, why in fold.failures.items()}
    settled: dict[str, Plan] = {}
    failures: dict[str, str] = {}
    for name, plan in plans.items():
        dimensions = tuple(d for d in plan.dimensions if all((name, d) in fold.measures for fold in folds))
        if dimensions and len(dimensions) < len(plan.dimensions):
            folds[0].warnings[name].append(
                f"only {', '.join(map(str, dimensions))} dimensions are scored: {reasons[name]}"
            )
        settled[name] = plan._replace(dimensions=dimensions, most=min(plan.most, max(dimensions, default=1)))
        failures |= {} if dimensions else {name: reasons[name]}
    return settled, [failures]


def _fitted(plans: dict[str, Plan], found: list[dict[str, str]]) -> tuple[dict[str, Plan], dict[str, str]]:
    """The methods that could be fitted everywhere, and the reasons why others could not."""
    failures = {name: why for part in found for name, why in part.items()}
    fitted = {name: plan for name, plan in plans.items() if name not in failures}
    if not fitted:
        raise ValueError("no method could be fitted: " + "; ".join(f"{name}: {why}" for name, why in failures.items()))
    return fitted, failures


def _chosen(plans: dict[str, Plan], folds: list[Fold], criterion: str, n_features: int) -> dict[str, int]:
    """The number of dimensions with which each method is fitted to all data."""
    scores = {
        name: np.array([[fold.measures[name, d][criterion] for d in plan.dimensions] for fold in folds])
        for name, plan in plans.items()
    }
    own = {name: plans[name].dimensions[one_standard_error(scores[name], tolerance(criterion))] for name in plans}
    return own | dict([choose(plans, scores, criterion, n_features)])


class _Progress:
    """Counts tasks as they are done."""

    def __init__(self, call: Callable[[int, int, str], Any] | None, total: int):
        self.call, self.done, self.total = call, 0, total

    def each(self, results: Iterable[Any], names: list[str]) -> Iterator[Any]:
        for name, result in zip(names, results, strict=True):
            self.done += 1
            if self.call is not None:
                self.call(self.done, self.total, name)
            yield result
