"""Methods beside each other: every method, every number of dimensions, the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix, normalized_mutual_info_score, pairwise_distances
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_array, get_tags
from threadpoolctl import threadpool_limits

from ._extras import require
from ._validation import check_count
from .graphs import KNN, Reconstruction, Repulsion, SameClass, Sample
from .graphs._sample import encode_labels
from .methods import DNE, LPCA, LPDP, LPI, LPP, MFA, MMC, NPE, OLPP, ONPP
from .metrics import clustering_accuracy
from .operators import Array, identity, row_gram, weighted_mean
from .reducers import LinearReducer
from .reducers._base import Reducer
from .reducers._kernel import KernelReducer
from .reducers._linear import LARGE_DIRECTIONS
from .reducers._principal import rounding
from .selection import _check_nested, _reducer
from .solvers._solve import numerical_rank

__all__ = ["METHODS", "Comparison", "compare", "default_methods", "neighborhood_preservation"]

GRID = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # dimensions=None, as far as the rank goes
LABELLED = ("accuracy", "clustering", "nmi")  # measures that read labels
NEIGHBORHOOD = ("trustworthiness", "continuity", "recall")
N_NEIGHBORS, MOST_ROWS = 10, 500  # of the measures of neighbourhoods
ALL_FEATURES = "all features"  # the data as given, to which every method is held

METHODS: dict[str, Any] = {
    "PCA": PCA(svd_solver="full"),
    "TruncatedSVD": TruncatedSVD(random_state=0),
    "LDA": LinearDiscriminantAnalysis(),
    "LPP": LPP(),
    "OLPP": OLPP(),
    "NPE": NPE(),
    "ONPP": ONPP(),
    "LPI": LPI(),
    "LPCA": LPCA(),
    "MMC": MMC(),
    "LPDP": LPDP(),
    "MFA": MFA(),
    "DNE": DNE(),
    "LPP + repulsion": LPP(graph=KNN(5) + SameClass() - 0.5 * Repulsion(15)),
}  #: The methods that :func:`compare` knows by name.


def default_methods(X: Any, y: Any = None) -> dict[str, Any]:
    """The methods that :func:`compare` takes where none are named: eight with labels, five without, six for sparse X.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,), default=None

    Returns
    -------
    dict of name to estimator
    """
    if sparse.issparse(X):
        names = ["TruncatedSVD", "LPP", *(["LPI"] if X.min() >= 0 else []), "NPE"]
        names += [] if y is None else ["MMC", "LPDP"]
    else:
        names = ["PCA", "LPP", "OLPP", "NPE"] + (["ONPP"] if y is None else ["LDA", "MMC", "LPDP", "LPP + repulsion"])
    return {name: _known(name, X) for name in names}


def _known(name: str, X: Array) -> Any:
    method = clone(METHODS[name])
    if name == "PCA" and X.shape[0] > X.shape[1]:
        method.set_params(svd_solver="covariance_eigh")  # as nested as "full", and many times faster
    return method


@dataclass(frozen=True, eq=False)
class Comparison:
    """What :func:`compare` found.

    Attributes
    ----------
    records : list of dict
        One a method, dimension and fold: ``method``, ``dimension``, ``fold`` and :attr:`measures`.
    baseline : list of dict
        The same for the data as given, without reduction.
    measures : tuple of str
        With labels ``accuracy`` (held-out 1-NN), ``clustering`` (k-means on the held-out rows, classes matched to clusters) and
        ``nmi`` (of the same clusters); always ``trustworthiness``, ``continuity`` and ``recall``
        (:func:`neighborhood_preservation` of the held-out rows).
    criterion : str
        The measure that chooses: ``accuracy``, or ``recall`` without labels.
    models : dict of name to fitted estimator
        On all data, with the dimension that the one-standard-error rule chose.
    embeddings : dict of name to dict
        All rows in 2 and 3 dimensions (1 where there are no more), keyed by their number.
    spectra : dict of name to ndarray
        Eigenvalues (shares of the variance for PCA, LDA and TruncatedSVD) of the largest fit that shares the model's ``pca``.
    graphs : list of dict
        Of each graph of neighbours that attracts: ``graph``, ``methods``, ``n_edges``, ``n_connected_components``, ``degrees``.
    failures : dict of name to message
        Methods that could not be fitted, and why.
    warnings : dict of name to list of messages
        What the methods warned of, in any fold.
    classes : ndarray or None
        Names of the classes.
    labels : ndarray or None
        Index into ``classes`` for each row, -1 where unknown.
    splitter : cross-validator
    folds : list of ndarray
        Rows held out.
    predictions : dict of (name, dimension) to list of ndarray
        Class predicted for each held-out row whose label is known, one array a fold.
    random_state : int
    n_samples, n_features, n_neighbors : int
    """

    records: list[dict[str, Any]]
    baseline: list[dict[str, Any]]
    criterion: str
    models: dict[str, Any]
    embeddings: dict[str, dict[int, np.ndarray]]
    spectra: dict[str, np.ndarray]
    graphs: list[dict[str, Any]]
    failures: dict[str, str]
    warnings: dict[str, list[str]]
    classes: np.ndarray | None
    labels: np.ndarray | None
    splitter: Any
    folds: list[np.ndarray]
    predictions: dict[tuple[str, int], list[np.ndarray]]
    random_state: int
    n_samples: int
    n_features: int
    n_neighbors: int
    _plans: dict[str, _Plan] = field(repr=False)

    @property
    def methods(self) -> list[str]:
        """Names of the methods that were scored."""
        return list(self._plans)

    @property
    def measures(self) -> tuple[str, ...]:
        return NEIGHBORHOOD if self.labels is None else LABELLED + NEIGHBORHOOD

    def dimensions(self, method: str) -> list[int]:
        """The numbers of dimensions that were tried."""
        return list(self._plan(method).dimensions)

    def estimator(self, method: str, dimension: int | None = None) -> Any:
        """The unfitted estimator behind a score, with ``pca`` written out; None is the chosen dimension."""
        return self._plan(method).at(self._row(method)["dimension"] if dimension is None else dimension)

    def scores(self, method: str, measure: str | None = None) -> np.ndarray:
        """Scores of shape (n_folds, n_dimensions); None is the criterion."""
        values = [record[measure or self.criterion] for record in self.records if record["method"] == method]
        return np.reshape(values, (len(self.folds), len(self.dimensions(method))))

    def summary(self) -> list[dict[str, Any]]:
        """One row a method, the best first.

        ``best_dimension`` has the best mean, ``best_mean``; ``dimension`` is the smallest whose mean is within one standard
        error of that. There: the ``mean`` and standard error ``se`` of the criterion, the mean of every measure, and ``behind``,
        ``behind_se``: how far the best method is ahead at its best dimension, fold by fold.
        """
        rows = [self._row(method) for method in self.methods]
        rows.sort(key=lambda row: -row["best_mean"])
        top = self._column(rows[0]["method"], rows[0]["best_dimension"])
        for row in rows:
            behind = top - self._column(row["method"], row["dimension"])
            row["behind"], row["behind_se"] = float(behind.mean()), _standard_error(behind)
        return rows

    @property
    def best(self) -> dict[str, Any]:
        """The row of :meth:`summary` with the best mean."""
        return self.summary()[0]

    @property
    def choice(self) -> tuple[str, int]:
        """Of all methods and dimensions within one standard error of the best, the fewest dimensions; of equals the best."""
        best = self.best
        least = best["best_mean"] - best["best_se"]
        candidates = [
            (d, -mean, method)
            for method in self.methods
            for d, mean in zip(self.dimensions(method), self.scores(method).mean(axis=0), strict=True)
            if mean >= least
        ]
        dimension, _, method = min(candidates)
        return method, dimension

    def confusion(self, method: str, dimension: int | None = None) -> np.ndarray:
        """Counts of shape (n_classes, n_classes), true by predicted, of the held-out 1-NN over all folds."""
        if self.labels is None or self.classes is None:
            raise ValueError(
                "the comparison has no labels (y=None), so there is no confusion matrix; pass y to compare"
            )
        dimension = self._row(method)["dimension"] if dimension is None else dimension
        held_out = [self.labels[fold] for fold in self.folds]
        true = np.concatenate([labels[labels >= 0] for labels in held_out])
        found = np.concatenate(self.predictions[method, dimension])
        return confusion_matrix(true, found, labels=np.arange(len(self.classes)))

    def to_frame(self) -> Any:
        """The records as a pandas DataFrame."""
        return require("pandas", "tables").DataFrame(self.records)

    def _plan(self, method: str) -> _Plan:
        if method not in self._plans:
            raise ValueError(f"method={method!r} was not compared; there are {', '.join(self.methods)}")
        return self._plans[method]

    def _column(self, method: str, dimension: int) -> np.ndarray:
        return self.scores(method)[:, self.dimensions(method).index(dimension)]

    def _row(self, method: str) -> dict[str, Any]:
        dimensions, scores = self.dimensions(method), self.scores(method)
        means = scores.mean(axis=0)
        best = int(np.argmax(means))
        best_se = _standard_error(scores[:, best])
        chosen = _one_standard_error(scores)
        return {
            "method": method,
            "best_dimension": dimensions[best],
            "best_mean": float(means[best]),
            "best_se": best_se,
            "dimension": dimensions[chosen],
            "mean": float(means[chosen]),
            "se": _standard_error(scores[:, chosen]),
            **{measure: float(self.scores(method, measure)[:, chosen].mean()) for measure in self.measures},
        }


def _standard_error(values: np.ndarray) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _one_standard_error(scores: np.ndarray) -> int:
    """The first dimension whose mean is within one standard error of the best."""
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    return int(np.argmax(means >= means[best] - _standard_error(scores[:, best])))


def compare(
    X: Any,
    y: Any = None,
    *,
    methods: Mapping[str, Any] | Sequence[str] | None = None,
    dimensions: Sequence[int] | None = None,
    cv: Any = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int, str], Any] | None = None,
) -> Comparison:
    """Compare methods and numbers of dimensions by cross-validation.

    A method is fitted once a fold for all dimensions that share a pre-projection: the first d directions of a larger solution
    are the solution for d. ``pca="auto"`` is settled on the whole of X, as a number of directions (from its variance and, of the
    labels, the size of classes alone), and written out, so that :meth:`Comparison.estimator` gives the numbers shown. For
    ``LPP``, ``NPE``, ``LPDP`` and ``MMC`` it is the same for all but the largest d; for ``OLPP``, ``ONPP`` and ``MFA`` it follows
    d, and these are solved for each d. In a fold equal neighbour searches run once, whatever the method and dimension.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        As given: scale columns of different units first.
    y : array-like of shape (n_samples,), default=None
        Class labels, -1 where unknown. Without them only neighbourhoods are measured.
    methods : mapping of name to estimator, sequence of names, or None, default=None
        Names are those of :data:`METHODS`; estimators need ``n_components`` and ``transform`` (a pipeline in its last step).
        None is :func:`default_methods`.
    dimensions : sequence of int, default=None
        Increasing. None is 1, 2, 3, 5, 8, 13, 21, 34, 55, as far as the rank goes. A method with fewer (LDA has one less than
        classes) stops there.
    cv : int or scikit-learn splitter, default=5
        An integer gives shuffled folds, stratified where there are labels.
    random_state : int, default=0
        Of the folds and of k-means.
    n_jobs : int or None, default=None
        Folds at a time, each on one thread; -1 is all cores. The result does not depend on it.
    progress : callable, default=None
        Called as ``progress(done, total, message)``.

    Returns
    -------
    Comparison

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
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=4)
    labels = None if y is None else encode_labels(y, X.shape[0])
    classes = None if labels is None else _class_names(y, labels)
    seed = check_count("random_state", random_state, 0)
    estimators = _estimators(methods, X, labels)
    splitter = _splitter(cv, labels, classes, seed)
    splits = list(splitter.split(X, labels))
    if len(splits) < 2:
        raise ValueError(f"cv={cv!r} gives {len(splits)} split; two or more are needed for a standard error")
    plans = _planned(estimators, dimensions, X, labels, splits)
    n_neighbors = min(N_NEIGHBORS, (min(len(test) for _, test in splits) - 1) // 2)
    if n_neighbors < 1:
        raise ValueError(f"cv={cv!r} holds out fewer than 3 rows of {X.shape[0]}; use fewer folds")
    chunks = min(effective_n_jobs(n_jobs), len(plans))
    report = _Progress(progress, len(splits) + chunks)
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    tasks = (delayed(_score_fold)(X, labels, train, test, plans, n_neighbors, seed) for train, test in splits)
    scored = list(report.each(run(tasks), "fold"))
    failures = {name: why for fold in scored for name, why in fold.failures.items()}
    plans = {name: plan for name, plan in plans.items() if name not in failures}
    if not plans:
        raise ValueError("no method could be fitted: " + "; ".join(f"{name}: {why}" for name, why in failures.items()))
    criterion = "recall" if labels is None else "accuracy"
    chosen = {name: _chosen(name, plan, scored, criterion) for name, plan in plans.items()}
    parts = [{name: plans[name] for name in list(plans)[i::chunks]} for i in range(min(chunks, len(plans)))]
    whole = list(report.each(run(delayed(_fit_whole)(X, labels, part, chosen) for part in parts), "all data, part"))
    fits = {name: fit for part in whole for name, fit in part.items()}
    return Comparison(
        records=[
            {"method": name, "dimension": d, "fold": i, **fold.measures[name, d]}
            for name, plan in plans.items()
            for i, fold in enumerate(scored)
            for d in plan.dimensions
        ],
        baseline=[
            {"method": ALL_FEATURES, "dimension": X.shape[1], "fold": i, **fold.baseline}
            for i, fold in enumerate(scored)
        ],
        criterion=criterion,
        models={name: fits[name].model for name in plans},
        embeddings={name: fits[name].embeddings for name in plans},
        spectra={name: fits[name].spectrum for name in plans},
        graphs=_graph_facts({name: fits[name].graph for name in plans}),
        failures=failures,
        warnings={name: sorted({m for fold in scored for m in fold.warnings.get(name, [])}) for name in plans},
        classes=classes,
        labels=labels,
        splitter=splitter,
        folds=[test for _, test in splits],
        predictions={
            (name, d): [fold.predictions[name, d] for fold in scored]
            for name, plan in plans.items()
            for d in plan.dimensions
            if labels is not None
        },
        random_state=seed,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        n_neighbors=n_neighbors,
        _plans=plans,
    )


class _Progress:
    """Counts tasks as they come in."""

    def __init__(self, call: Callable[[int, int, str], Any] | None, total: int):
        self.call, self.done, self.total = call, 0, total

    def each(self, results: Any, what: str) -> Iterator[Any]:
        for i, result in enumerate(results):
            self.done += 1
            if self.call is not None:
                self.call(self.done, self.total, f"{what} {i + 1}")
            yield result


def _class_names(y: Any, labels: np.ndarray) -> np.ndarray:
    """The label of each class, in the order of their codes."""
    y = np.asarray(y).ravel()
    return np.array([y[np.argmax(labels == code)] for code in range(labels.max() + 1)])


def _splitter(cv: Any, labels: np.ndarray | None, classes: np.ndarray | None, seed: int) -> Any:
    if hasattr(cv, "split"):
        return cv
    n_splits = check_count("cv", cv, 2)
    if labels is None or classes is None:
        return KFold(n_splits, shuffle=True, random_state=seed)
    counts = np.bincount(labels[labels >= 0])
    if counts.min() < n_splits:
        small = ", ".join(
            f"{name!s} ({count})" for name, count in zip(classes, counts, strict=True) if count < n_splits
        )
        raise ValueError(
            f"cv={n_splits} folds need {n_splits} rows or more of each class, and these have fewer: {small}; use fewer "
            "folds (2 at least), add rows, merge classes, or set those labels to -1 (unknown)"
        )
    return StratifiedKFold(n_splits, shuffle=True, random_state=seed)


def _estimators(methods: Any, X: Array, labels: np.ndarray | None) -> dict[str, Any]:
    if methods is None:
        return default_methods(X, labels)
    if isinstance(methods, str) or not np.iterable(methods):
        raise ValueError(f"methods={methods!r} must be a mapping of name to estimator, or a list of names")
    if not isinstance(methods, Mapping):
        names = {name.lower(): name for name in METHODS}
        unknown = [name for name in methods if str(name).lower() not in names]
        if unknown:
            raise ValueError(f"methods={unknown!r} are not known; choose from {', '.join(METHODS)}, or pass estimators")
        methods = {names[name.lower()]: _known(names[name.lower()], X) for name in methods}
    if not methods:
        raise ValueError("methods is empty; name at least one, or leave it out")
    for name, estimator in methods.items():
        if not (hasattr(estimator, "transform") and hasattr(_reducer(estimator), "n_components")):
            raise ValueError(
                f"methods[{name!r}]={estimator!r} must have n_components (in its last step) and transform, for held-out rows"
            )
    return {str(name): clone(estimator) for name, estimator in methods.items()}


class _Plan(NamedTuple):
    """A method with everything settled: which dimensions, and for each of them which pre-projection."""

    estimator: Any
    dimensions: tuple[int, ...]
    most: int  # dimensions it can have
    directions: dict[int, Any]  # pca= for each dimension, where it is settled
    nested: bool

    def at(self, dimension: int) -> Any:
        """The unfitted estimator of so many dimensions."""
        model = clone(self.estimator)
        _reducer(model).set_params(n_components=dimension)
        return model.set_params(pca=self.directions[dimension]) if dimension in self.directions else model

    def groups(self) -> list[list[int]]:
        """Dimensions that one fit serves, that of the last of them."""
        if not self.nested:
            return [[d] for d in self.dimensions]
        by_pca: dict[Any, list[int]] = {}
        for d in self.dimensions:
            by_pca.setdefault(self.directions.get(d), []).append(d)
        return list(by_pca.values())


def _planned(
    estimators: dict[str, Any], dimensions: Any, X: Array, labels: np.ndarray | None, splits: list
) -> dict[str, _Plan]:
    most, spectrum = _room(X, splits)
    wanted = _dimensions(dimensions, most)
    sample = Sample(X, labels)
    small = min(len(train) for train, _ in splits)
    plans = {}
    for name, estimator in estimators.items():
        reducer = _reducer(estimator)
        limit = most
        if isinstance(reducer, LinearDiscriminantAnalysis) and labels is not None:
            limit = min(most, int(labels.max()))
        grid = tuple(d for d in wanted if d <= limit) + ((limit,) if limit < wanted[-1] and limit not in wanted else ())
        directions = {d: _directions(estimator, d, sample, spectrum, most, small) for d in {*grid, 2, 3} if d <= limit}
        settled = {d: pca for d, pca in directions.items() if pca != "auto"}
        plans[name] = _Plan(estimator, grid, limit, settled, _is_nested(estimator, settled))
    return plans


def _is_nested(estimator: Any, settled: dict[int, Any]) -> bool:
    model = clone(estimator)
    if settled:
        model.set_params(pca=next(iter(settled.values())))
    try:
        _check_nested(_reducer(model))
    except ValueError:
        return False
    return True


def _dimensions(dimensions: Any, most: int) -> list[int]:
    if dimensions is None:
        return [d for d in GRID if d < most] + ([most] if most <= GRID[-1] else [])
    found = [check_count("dimensions", d) for d in np.atleast_1d(np.asarray(dimensions, dtype=object))]
    if not found or any(b <= a for a, b in pairwise(found)):
        raise ValueError(f"dimensions={dimensions!r} must be increasing whole numbers, one or more")
    if found[-1] > most:
        raise ValueError(
            f"dimensions={dimensions!r} go beyond {most}, the rank of the smallest training fold; use at most {most}"
        )
    return found


def _is_large(X: Array, n_rows: int) -> bool:
    return LPP()._is_large(X[:n_rows])


def _room(X: Array, splits: list) -> tuple[int, tuple[np.ndarray, float] | None]:
    """How many dimensions every training fold has, and the spectrum of X; None where X is too large for that."""
    small = min(len(train) for train, _ in splits)
    if _is_large(X, X.shape[0]):
        return min(small, X.shape[1]) - 2, None
    n, d = X.shape
    mean = weighted_mean(X)
    gram = row_gram(X, mean) if n < d else identity(n).quadratic(X, mean)
    floor = rounding(X.dtype, np.trace(gram) + n * (mean @ mean))
    values = np.linalg.eigvalsh(gram)
    ranks = [_rank(gram, floor, train) if n < d else _scatter_rank(X[train]) for train, _ in splits]
    return min(ranks), (values[::-1][: numerical_rank(values, floor)], float(np.maximum(values, 0).sum()))


def _rank(gram: np.ndarray, floor: float, rows: np.ndarray) -> int:
    """Of some rows about their own mean, from the Gram matrix of all rows about theirs."""
    part = gram[np.ix_(rows, rows)]
    part = part - part.mean(axis=0) - part.mean(axis=1)[:, None] + part.mean()
    return numerical_rank(np.linalg.eigvalsh(part), floor)


def _scatter_rank(X: Array) -> int:
    mean = weighted_mean(X)
    scatter = identity(X.shape[0]).quadratic(X, mean)
    floor = rounding(X.dtype, np.trace(scatter) + X.shape[0] * (mean @ mean))
    return min(numerical_rank(np.linalg.eigvalsh(scatter), floor), X.shape[0] - 1)


def _directions(estimator: Any, d: int, sample: Sample, spectrum: Any, most: int, small: int) -> Any:
    """``pca="auto"`` of a linear method for d components, as a number; "auto" where there is nothing to settle."""
    if not _has_graph(estimator) or not isinstance(estimator.pca, str):
        return "auto"
    model = clone(estimator).set_params(n_components=d)
    if spectrum is not None:
        return min(model._keep(model._auto_energy(sample))(*spectrum), most)
    if not _is_large(sample.X, small):
        return "auto"
    with_ridge = model.ridge is not None and model.normalize is None and not model._orthogonal
    return None if with_ridge else max(LARGE_DIRECTIONS, 2 * d)


class _Fold(NamedTuple):
    """What one fold gave."""

    measures: dict[tuple[str, int], dict[str, float]]
    predictions: dict[tuple[str, int], np.ndarray]
    baseline: dict[str, float]
    failures: dict[str, str]
    warnings: dict[str, list[str]]


def _score_fold(
    X: Array,
    labels: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
    plans: dict[str, _Plan],
    n_neighbors: int,
    seed: int,
) -> _Fold:
    y_train, y_test = (None, None) if labels is None else (labels[train], labels[test])
    with threadpool_limits(1):  # one thread a fold: as fast on many folds, and the same bits whatever n_jobs
        X_train, X_test = X[train], X[test]
        judge = _Judge(X_test, y_train, y_test, n_neighbors, seed)
        baseline, _ = judge(X_train, X_test)
        fold = _Fold({}, {}, baseline, {}, {})
        shared = _SharedSample()
        for name, plan in plans.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    for d, Z_train, Z_test in _projections(plan, X_train, y_train, X_test, shared):
                        fold.measures[name, d], fold.predictions[name, d] = judge(Z_train, Z_test)
                except ValueError as error:
                    fold.failures[name] = str(error)
            fold.warnings[name] = [str(warning.message) for warning in caught]
    return fold


def _projections(
    plan: _Plan, X: Array, y: np.ndarray | None, X_new: Array, shared: _SharedSample
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    for group in plan.groups():
        model = shared.fit(plan.at(group[-1]), X, y)
        Z, Z_new = (np.asarray(model.transform(rows)) for rows in (X, X_new))
        for d in group:
            yield d, Z[:, :d], Z_new[:, :d]


class _SharedSample:
    """Fits linear methods to the same rows on one Sample, whose neighbour searches they share."""

    def __init__(self) -> None:
        self.samples: dict[Any, Sample] = {}

    def fit(self, model: Any, X: Array, y: np.ndarray | None) -> Any:
        if y is not None and takes_unknown_for_a_class(model):
            X, y = X[y >= 0], y[y >= 0]
        if not _has_graph(model):
            return model.fit(X, y)
        make = type(model)._sample

        def sample(X: Array, y: Any, k: int | None) -> Sample:
            if make not in self.samples:
                self.samples[make] = make(model, X, y, k)
            self.samples[make].n_components = k
            return self.samples[make]

        model._sample = sample
        try:
            return model.fit(X, y)
        finally:
            del model._sample


def takes_unknown_for_a_class(model: Any) -> bool:
    """Whether it reads labels, but not -1 as an unknown one, as lapwing's methods do."""
    reducer = _reducer(model)
    return not isinstance(reducer, Reducer) and get_tags(reducer).target_tags.required


def _has_graph(model: Any) -> bool:
    """Whether it is a linear method on a graph of the rows of X themselves."""
    return isinstance(model, LinearReducer) and not isinstance(model, KernelReducer)


class _Judge:
    """The measures of an embedding, by the rows held out."""

    def __init__(
        self, X: Array, y_train: np.ndarray | None, y_test: np.ndarray | None, n_neighbors: int, seed: int
    ) -> None:
        self.y_train, self.y_test, self.k, self.seed = y_train, y_test, n_neighbors, seed
        self.rows = _spread(X.shape[0])
        self.ranks = _ranks(X[self.rows])

    def __call__(self, Z_train: Array, Z_test: Array) -> tuple[dict[str, float], np.ndarray]:
        found, predicted = ({}, np.empty(0, dtype=int)) if self.y_train is None else self._by_labels(Z_train, Z_test)
        kept = _preserved(self.ranks, _ranks(Z_test[self.rows]), self.k)
        return {**found, **dict(zip(NEIGHBORHOOD, kept, strict=True))}, predicted

    def _by_labels(self, Z_train: Array, Z_test: Array) -> tuple[dict[str, float], np.ndarray]:
        assert self.y_train is not None
        assert self.y_test is not None
        known, held_out = self.y_train >= 0, self.y_test >= 0
        true, rows = self.y_test[held_out], Z_test[held_out]
        predicted = KNeighborsClassifier(1).fit(Z_train[known], self.y_train[known]).predict(rows)
        n_clusters = min(len(np.unique(self.y_train[known])), len(true))
        with warnings.catch_warnings():  # of fewer distinct rows than clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            clusters = KMeans(n_clusters, n_init=4, random_state=self.seed).fit_predict(rows)
        return {
            "accuracy": float(np.mean(predicted == true)),
            "clustering": clustering_accuracy(true, clusters),
            "nmi": float(normalized_mutual_info_score(true, clusters)),
        }, predicted


def neighborhood_preservation(
    X: Any, Z: Any, *, n_neighbors: int = N_NEIGHBORS, max_samples: int = MOST_ROWS
) -> tuple[float, float, float]:
    r"""How well Z keeps the neighbours of X: trustworthiness, continuity and recall.

    Trustworthiness falls with rows that are near in Z but far in X, continuity with rows that are near in X but far in Z, by how
    far their ranks are beyond k [1]_; recall is the share of the k nearest in X that are among the k nearest in Z. All are 1 at
    best; by chance trustworthiness and continuity are about 0.5, recall is k / (n - 1).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Neighbours are Euclidean, and by cosine where X is sparse.
    Z : array-like of shape (n_samples, n_components)
    n_neighbors : int, default=10
        k; less than half of the samples.
    max_samples : int, default=500
        Of more rows, so many are taken, spread evenly.

    Returns
    -------
    trustworthiness, continuity, recall : float

    References
    ----------
    .. [1] J. Venna and S. Kaski, "Local multidimensional scaling", Neural Networks 19, 2006.
       https://doi.org/10.1016/j.neunet.2006.05.014

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.comparison import neighborhood_preservation
    >>> X = np.arange(12.0)[:, None] ** 2
    >>> neighborhood_preservation(X, -X, n_neighbors=3)
    (1.0, 1.0, 1.0)
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    Z = check_array(Z, accept_sparse="csr", dtype=[np.float64, np.float32])
    if X.shape[0] != Z.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but Z has {Z.shape[0]}; pass the embedding of the same rows")
    rows = _spread(X.shape[0], check_count("max_samples", max_samples))
    if not 1 <= check_count("n_neighbors", n_neighbors) < len(rows) / 2:
        raise ValueError(f"n_neighbors={n_neighbors} must be less than half of the {len(rows)} samples")
    return _preserved(_ranks(X[rows]), _ranks(Z[rows]), n_neighbors)


def _spread(n: int, most: int = MOST_ROWS) -> np.ndarray:
    """At most so many row numbers, evenly spread."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(int)


def _ranks(X: Array) -> np.ndarray:
    """Entry (i, j): j is the how-manieth neighbour of i, from 1; 0 for i itself."""
    distances = pairwise_distances(X, metric="cosine" if sparse.issparse(X) else "euclidean")
    np.fill_diagonal(distances, -1)
    ranks = np.empty(distances.shape, dtype=np.int32)
    np.put_along_axis(ranks, np.argsort(distances, axis=1), np.arange(len(distances), dtype=np.int32)[None], axis=1)
    return ranks


def _preserved(before: np.ndarray, after: np.ndarray, k: int) -> tuple[float, float, float]:
    """1 - 2 / (n k (2n - 3k - 1)) * (how far the ranks of neighbours are beyond k), both ways, and the share of common ones."""
    n = len(before)
    scale = 2 / (n * k * (2 * n - 3 * k - 1))
    near_before, near_after = (ranks <= k for ranks in (before, after))
    intruders = np.maximum(before[near_after] - k, 0).sum()
    strayed = np.maximum(after[near_before] - k, 0).sum()
    common = np.count_nonzero(near_before & near_after) - n  # each row is its own
    return float(1 - scale * intruders), float(1 - scale * strayed), float(common / (n * k))


def _chosen(name: str, plan: _Plan, scored: list[_Fold], criterion: str) -> int:
    scores = np.array([[fold.measures[name, d][criterion] for d in plan.dimensions] for fold in scored])
    return plan.dimensions[_one_standard_error(scores)]


class _Whole(NamedTuple):
    """A method on all data."""

    model: Any
    embeddings: dict[int, np.ndarray]
    spectrum: np.ndarray
    graph: dict[str, Any] | None


def _fit_whole(
    X: Array, labels: np.ndarray | None, plans: dict[str, _Plan], chosen: dict[str, int]
) -> dict[str, _Whole]:
    shared = _SharedSample()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the folds have said it
        return {name: _whole(X, labels, plan, chosen[name], shared) for name, plan in plans.items()}


def _whole(X: Array, labels: np.ndarray | None, plan: _Plan, chosen: int, shared: _SharedSample) -> _Whole:
    model = shared.fit(plan.at(chosen), X, labels)
    shown = [d for d in (2, 3) if d <= plan.most] or [1]
    embeddings = {d: np.asarray(shared.fit(plan.at(d), X, labels).transform(X)) for d in shown}
    group = next(group for group in plan.groups() if chosen in group)
    largest = model if group[-1] == chosen else shared.fit(plan.at(group[-1]), X, labels)
    return _Whole(model, embeddings, _spectrum_of(largest), _neighbor_graph(model, shared, X, labels))


def _spectrum_of(model: Any) -> np.ndarray:
    reducer = _reducer(model)
    found = getattr(reducer, "eigenvalues_", getattr(reducer, "explained_variance_ratio_", np.empty(0)))
    return np.asarray(found, dtype=float)


def _neighbor_graph(model: Any, shared: _SharedSample, X: Array, y: np.ndarray | None) -> dict[str, Any] | None:
    """The first graph of neighbours that attracts: its edges, as found in the fit."""
    if not _has_graph(model):
        return None
    sample = shared.samples[type(model)._sample]
    for coefficient, leaf in model.graph_.signed():
        if coefficient > 0 and leaf.reads_features:
            W = leaf.weights_matrix(sample) if isinstance(leaf, Reconstruction) else leaf.adjacency(sample)
            if W is not None:
                return _facts(leaf, W)
    return None


def _facts(graph: BaseEstimator, W: Any) -> dict[str, Any]:
    links = (W != 0).astype(np.int8)
    links = links.maximum(links.T)
    n_components, _ = sparse.csgraph.connected_components(links, directed=False)
    return {
        "graph": str(graph),
        "n_edges": int(links.nnz // 2),
        "n_connected_components": int(n_components),
        "degrees": np.asarray(links.sum(axis=1, dtype=np.int64)).ravel(),
    }


def _graph_facts(graphs: dict[str, dict[str, Any] | None]) -> list[dict[str, Any]]:
    """Each graph once, with the methods that use its edges."""
    found: list[dict[str, Any]] = []
    for name, facts in graphs.items():
        if facts is None:
            continue
        same = [other for other in found if np.array_equal(other["degrees"], facts["degrees"])]
        if same:
            same[0]["methods"].append(name)
        else:
            found.append({**facts, "methods": [name]})
    return found
