"""One method: its numbers of dimensions, how the rows held out from a fold judge it, and what it gives on all data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from inspect import getattr_static
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from .._arrays import Array
from .._validation import check_count
from ..auto import UnitsWarning
from ..data import Data, as_data
from ..graphs import Complete, Graph, Reconstruction, SameClass
from ..methods import OLPP, KernelLDA
from ..reducers import LinearReducer, Reducer
from ..selection import is_automatic, reducer_of, serving, takes_unknown_for_a_class, why_not_nested
from ..solvers import RankError
from ._folds import Fold
from ._judges import checked_judge
from ._scores import Judge

GRID = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # what dimensions=None tries, up to the rank
SHOWN = (2, 3)  # the numbers of dimensions of the pictures
SLOW_FITS = 3  # Methods that need a slow fit per number of dimensions are tried with this many numbers.


class Candidate(NamedTuple):
    """A method with its numbers of dimensions."""

    estimator: Any
    dimensions: tuple[int, ...]
    most: int  # the largest number of dimensions that it can have

    def at(self, dimension: int) -> Any:
        """The unfitted estimator with so many dimensions."""
        model = clone(self.estimator)
        reducer_of(model).set_params(n_components=dimension)
        return model

    def given_to_fit(self, X: Array, y: np.ndarray | None) -> tuple[Any, ...]:
        """What each ``fit`` takes: X and y, or rows that keep their neighbours for the next fit of this method."""
        if has_the_usual_fit(self.estimator):
            return (as_data(X, y),)
        if y is not None and takes_unknown_for_a_class(self.estimator):
            return X[y >= 0], y[y >= 0]
        return X, y

    @property
    def is_automatic(self) -> bool:
        """Whether only the fits themselves will show which numbers of dimensions share their directions."""
        return is_automatic(reducer_of(self.estimator))

    @property
    def shares_fits(self) -> bool:
        """Whether one fit can serve several numbers of dimensions."""
        return self.is_automatic or why_not_nested(reducer_of(self.estimator)) is None

    def fitted(self, dimensions: list[int], given: tuple[Any, ...]) -> dict[int, Any]:
        """For each number of dimensions, a model whose first coordinates are those of that number."""
        if self.shares_fits:
            return serving(lambda d: self.at(d).fit(*given), dimensions, self.is_automatic)
        return {d: self.at(d).fit(*given) for d in dimensions}


def has_the_usual_fit(estimator: Any) -> bool:
    """Whether it is a linear method of lapwing, and not one that does something to X in a ``fit`` of its own."""
    return isinstance(estimator, LinearReducer) and getattr_static(estimator, "fit") is getattr_static(Reducer, "fit")


def candidates(estimators: dict[str, Any], dimensions: Any, X: Array, folds: list[Fold]) -> dict[str, Candidate]:
    """Each method with the numbers of dimensions that it is tried with."""
    data = as_data(X, folds[0].labels)
    # One thread, as in the folds: matrices are small, and the bits are the same on any machine.
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):  # the folds will give these warnings
        most = _most_dimensions(data, folds)
        wanted = _checked_dimensions(dimensions, most)
        return {
            name: _candidate(estimator, wanted, data, most, dimensions is not None)
            for name, estimator in estimators.items()
        }


def _candidate(estimator: Any, wanted: list[int], data: Data, most: int, given: bool) -> Candidate:
    reducer = reducer_of(estimator)
    if data.y is not None and _counts_classes(reducer):
        most = min(most, int(data.y.max()))  # one fewer than the number of classes
    dimensions = [d for d in wanted if d <= most]
    if most < wanted[-1] and most not in wanted:
        dimensions.append(most)
    is_slow = not isinstance(reducer, Reducer) and why_not_nested(reducer) is not None
    if not given and len(dimensions) > SLOW_FITS and is_slow:
        dimensions = [dimensions[i] for i in np.linspace(1, len(dimensions) - 2, SLOW_FITS).round().astype(int)]
    return Candidate(estimator, tuple(dimensions), most)


def _counts_classes(reducer: Any) -> bool:
    """Whether classes alone determine what it finds, so that there are no more directions than classes minus one."""
    graph = getattr(reducer, "graph", None)
    graph = SameClass() if isinstance(graph, str) and graph == "supervised" else graph
    by_classes = isinstance(graph, Graph) and all(
        coefficient > 0 and leaf.reads_labels and not (leaf.reads_features or leaf.reads_targets)
        for coefficient, leaf in graph.signed()
    )
    constrained = hasattr(reducer, "ridge") and getattr(reducer, "penalty", None) is None
    return isinstance(reducer, LinearDiscriminantAnalysis | KernelLDA) or (by_classes and constrained)


def _checked_dimensions(dimensions: Any, most: int) -> list[int]:
    if dimensions is None:
        below = [d for d in GRID if d < most]
        # Nearly all dimensions may be enough.
        between = [(below[-1] + most + 1) // 2] if below and most - below[-1] > 2 else []
        return below + ([*between, most] if most <= GRID[-1] else [])
    found = [check_count("dimensions", d) for d in np.atleast_1d(np.asarray(dimensions, dtype=object))]
    if not found or any(b <= a for a, b in pairwise(found)):
        raise ValueError(f"dimensions={dimensions!r} must be increasing whole numbers, one or more")
    if found[-1] > most:
        raise ValueError(
            f"dimensions={dimensions!r} go beyond {most}, the rank of the smallest training fold; use at most {most}"
        )
    return found


def _most_dimensions(data: Data, folds: list[Fold]) -> int:
    """How many dimensions every training fold allows: its rank about its mean."""
    if data.is_large:
        return min(*(len(fold.train) for fold in folds), data.d) - 2
    principal, ranks = OLPP(None, graph=-Complete(), pca=None, standardize=False), []
    for number, fold in enumerate(folds, start=1):
        try:
            ranks.append(principal.fit(as_data(fold.divided()[0], None)).rank_)
        except RankError as error:
            raise ValueError(
                f"the training rows of fold {number} are all equal, or so nearly that rounding hides it, so there is no "
                "direction to find; use other folds (cv=), shuffled ones, or data that vary"
            ) from error
    return min(ranks)


class Evaluation(NamedTuple):
    """What a method has reached on a fold, by number of dimensions, why it failed and what it warned of."""

    measures: dict[int, dict[str, float]]
    predictions: dict[int, np.ndarray]
    failures: list[str]
    warnings: list[str]


def evaluate(candidate: Candidate | None, fold: Fold, settings: dict[str, Any], key: str | None = None) -> Evaluation:
    """Fit a method and judge it in every number of dimensions; None judges the rows as they are.

    A memory finds the result again by the key alone.
    """
    measures, predictions, failures = {}, {}, []
    # One thread per task: as fast where there are many tasks, and the same bits whatever n_jobs is.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X_train, X_test, y_train, y_test = fold.divided()
        classifier = fold.judge
        if candidate is None and classifier is not None and y_train is not None:
            classifier = checked_judge("logistic", X_train, y_train)  # the line to beat
        judge = Judge(X_test, y_train, y_test, classifier, **settings)
        if candidate is None:
            return Evaluation({X_test.shape[1]: judge(X_train, X_test)[0]}, {}, [], [])
        given, models = candidate.given_to_fit(X_train, y_train), dict[int, Any]()
        for group in [list(candidate.dimensions)] if candidate.shares_fits else [[d] for d in candidate.dimensions]:
            while group:
                try:
                    models |= candidate.fitted(group, given)
                    break
                except Exception as error:  # any error: fewer dimensions, and other methods, go on
                    failures.append(why_it_failed(error))
                    group.pop()
        for model in {id(model): model for model in models.values()}.values():
            try:
                Z_train, Z_test = (np.asarray(model.transform(rows)) for rows in (X_train, X_test))
                for d in [d for d in models if models[d] is model]:
                    measures[d], predictions[d] = judge(Z_train[:, :d], Z_test[:, :d])
            except Exception as error:
                failures.append(why_it_failed(error))
    # Warnings about units are left out here. The result gives one for all methods.
    said = [str(warning.message) for warning in caught if not issubclass(warning.category, UnitsWarning)]
    return Evaluation(measures, predictions, failures, said)


def why_it_failed(error: Exception) -> str:
    """The message of an error. Where the error is not meant for the caller, its class too."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


class Whole(NamedTuple):
    """What one method gives on all data in the number of dimensions that was chosen."""

    dimension: int
    model: Any
    embeddings: dict[int, np.ndarray]
    space: np.ndarray
    spectrum: np.ndarray
    graph: dict[str, Any] | None


def fit_whole(candidate: Candidate, chosen: int, X: Array, labels: np.ndarray | None) -> Whole | str:
    """What the method gives with the chosen number of dimensions, or why it could not be fitted."""
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):  # the folds have given these warnings
        try:
            return _whole(candidate, chosen, X, labels)
        except Exception as error:  # any error: the other methods go on
            return why_it_failed(error)


def _whole(candidate: Candidate, chosen: int, X: Array, labels: np.ndarray | None) -> Whole:
    shown = [d for d in SHOWN if d <= candidate.most] or [1]  # the numbers of dimensions of its pictures
    given = candidate.given_to_fit(X, labels)
    wanted = {chosen, *shown, *(candidate.dimensions if candidate.shares_fits else ())}
    models = candidate.fitted(sorted(wanted), given)
    model = models[chosen]
    if reducer_of(model).n_components != chosen:
        model = candidate.at(chosen).fit(*given)
    reducer = reducer_of(models[chosen])
    spectrum = getattr(reducer, "eigenvalues_", getattr(reducer, "explained_variance_ratio_", np.empty(0)))
    return Whole(
        chosen,
        model,
        {d: np.asarray(models[d].transform(X))[:, :d] for d in shown},
        np.asarray(model.transform(X)),
        np.asarray(spectrum, dtype=float),
        _neighbor_graph(model, X, labels),
    )


def _neighbor_graph(model: Any, X: Array, labels: np.ndarray | None) -> dict[str, Any] | None:
    """The edges of the first graph of neighbours that attracts; None where a fit of its own may build it on other rows."""
    if not has_the_usual_fit(model):
        return None
    data = as_data(X, labels)
    data = data if model.scale_ is None else data.divided(model.scale_)
    for coefficient, leaf in model.graph_.signed():
        if coefficient > 0 and leaf.reads_features:
            W = leaf.weights_matrix(data) if isinstance(leaf, Reconstruction) else leaf.adjacency(data)
            if W is not None:
                links = (W != 0).astype(np.int8)
                links = links.maximum(links.T)
                n_components, _ = sparse.csgraph.connected_components(links, directed=False)
                degrees = np.asarray(links.sum(axis=1, dtype=np.int64)).ravel()
                facts = {"graph": leaf, "n_edges": int(links.nnz // 2), "n_connected_components": int(n_components)}
                return {**facts, "degrees": degrees}
    return None


def distinct_graphs(fits: Mapping[str, Whole]) -> list[dict[str, Any]]:
    """Each graph once, with the methods that use its edges."""
    found: list[dict[str, Any]] = []
    for name, fit in fits.items():
        if fit.graph is not None:
            same = [other for other in found if np.array_equal(other["degrees"], fit.graph["degrees"])]
            if not same:
                found += (same := [{**fit.graph, "methods": []}])
            same[0]["methods"].append(name)
    return found
