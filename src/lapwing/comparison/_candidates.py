"""One method: its numbers of dimensions, how the rows held out from a fold judge it, and what it gives on all data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
from ._scores import Judge

GRID = (1, 2, 3, 5, 8, 13, 21, 34, 55)  # what dimensions=None tries, up to the rank
SHOWN = (2, 3)  # the numbers of dimensions of the pictures
FEW = 3  # Methods that need a slow fit per number of dimensions are tried with this many numbers.


class Candidate(NamedTuple):
    """A method with its numbers of dimensions, and with the pre-projection for each of them."""

    estimator: Any
    dimensions: tuple[int, ...]
    most: int  # the largest number of dimensions that it can have
    directions: dict[int, int | str]  # the value of pca= for each number of dimensions, where all folds share it

    def at(self, dimension: int) -> Any:
        """The unfitted estimator with so many dimensions."""
        model = clone(self.estimator)
        reducer_of(model).set_params(n_components=dimension)
        return model.set_params(pca=self.directions[dimension]) if dimension in self.directions else model

    def given_to_fit(self, X: Array, y: np.ndarray | None) -> tuple[Any, ...]:
        """What each ``fit`` takes: X and y, or rows that keep their neighbours for the next fit of this method."""
        if self.directions and has_the_usual_fit(self.estimator):
            return (as_data(X, y),)
        if y is not None and takes_unknown_for_a_class(self.estimator):
            return X[y >= 0], y[y >= 0]
        return X, y

    def groups(self, dimensions: Iterable[int]) -> list[list[int]]:
        """Groups of numbers of dimensions. One fit, with the largest number, serves a group."""
        reducer = reducer_of(self.at(self.dimensions[0]))
        if is_automatic(reducer):
            return [list(dimensions)]  # the fits themselves will show how many are needed
        if why_not_nested(reducer):
            return [[d] for d in dimensions]
        by_pca: dict[Any, list[int]] = {}
        for d in dimensions:
            by_pca.setdefault(self.directions.get(d), []).append(d)
        return list(by_pca.values())


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
    # Whether each number of dimensions needs a fit of its own.
    is_slow = not isinstance(reducer, Reducer) and why_not_nested(reducer) is not None
    if not given and len(dimensions) > FEW and is_slow:
        dimensions = [dimensions[i] for i in np.linspace(1, len(dimensions) - 2, FEW).round().astype(int)]
    automatic = isinstance(estimator, LinearReducer) and isinstance(getattr(estimator, "pca", None), str)
    directions: dict[int, int | str] = {}
    if automatic and not data.is_large:
        # A method may need labels, for example. Then the folds will report it, and go on with the others.
        with suppress(ValueError):
            directions = _directions(estimator, sorted({*dimensions, *SHOWN}), data, most)
    return Candidate(estimator, tuple(dimensions), most, directions)


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


def _directions(estimator: Any, dimensions: list[int], data: Data, most: int) -> dict[int, int | str]:
    """How many principal directions a fit to all rows keeps; "auto" where it keeps all."""
    given = (data,) if has_the_usual_fit(estimator) else (data.X, data.y)
    possible = [d for d in dimensions if d <= most]
    models: dict[int, Any] = {}
    while possible and not models:
        try:
            models = serving(lambda d: clone(estimator).set_params(n_components=d).fit(*given), possible, True)
        except RankError:
            possible.pop()  # the constraint leaves fewer directions than the rows have
    kept = {d: model.settings_["pca"] for d, model in models.items()}
    return {d: "auto" if count is None else min(count, most) for d, count in kept.items()}


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
        X = fold.divided()[0]
        try:
            ranks.append(principal.fit(as_data(X, None)).rank_)
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


def evaluate(candidate: Candidate, fold: Fold, settings: dict[str, Any], key: str | None = None) -> Evaluation:
    """Fit a method and judge it, in every number of dimensions. A memory finds the result again by the key alone."""
    measures, predictions, failures = {}, {}, []
    # One thread per task: as fast where there are many tasks, and the same bits whatever n_jobs is.
    with threadpool_limits(1):
        X_train, X_test, y_train, y_test = fold.divided()
        judge, given = Judge(X_test, y_train, y_test, **settings), candidate.given_to_fit(X_train, y_train)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for group in candidate.groups(candidate.dimensions):
                try:
                    for d, Z_train, Z_test in _projections(candidate, group, given, X_train, X_test):
                        measures[d], predictions[d] = judge(Z_train, Z_test)
                except Exception as error:  # any error: other dimensions and other methods go on
                    failures.append(why_it_failed(error))
    # Warnings about units are left out here. The result gives one for all methods.
    said = [str(warning.message) for warning in caught if not issubclass(warning.category, UnitsWarning)]
    return Evaluation(measures, predictions, failures, said)


def evaluate_as_given(fold: Fold, settings: dict[str, Any]) -> dict[str, float]:
    """The measures of the rows without reduction."""
    with threadpool_limits(1):
        X_train, X_test, y_train, y_test = fold.divided()
        return Judge(X_test, y_train, y_test, **settings)(X_train, X_test)[0]


def _projections(
    candidate: Candidate, group: list[int], given: tuple[Any, ...], X_train: Array, X_test: Array
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """The rows in each number of dimensions of a group: the first coordinates of the largest fit that serves it."""
    automatic = is_automatic(reducer_of(candidate.at(group[-1])))
    models = serving(lambda d: candidate.at(d).fit(*given), group, automatic)
    seen: dict[int, list[np.ndarray]] = {}
    for d in group:
        if id(models[d]) not in seen:
            seen[id(models[d])] = [np.asarray(models[d].transform(rows)) for rows in (X_train, X_test)]
        Z_train, Z_test = seen[id(models[d])]
        yield d, Z_train[:, :d], Z_test[:, :d]


def why_it_failed(error: Exception) -> str:
    """The message of an error. Where the error is not meant for the caller, its class too."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"


class Whole(NamedTuple):
    """What one method gives on all data."""

    model: Any
    embeddings: dict[int, np.ndarray]
    space: np.ndarray  # all rows, in all chosen dimensions
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
    largest = {d: group[-1] for group in candidate.groups(sorted({*candidate.dimensions, *shown})) for d in group}
    if is_automatic(reducer_of(candidate.at(chosen))):
        largest = {d: d for d in largest}  # it is not known which of them share their directions
    given = candidate.given_to_fit(X, labels)
    models = {d: candidate.at(d).fit(*given) for d in {chosen, *(largest[d] for d in (chosen, *shown))}}
    reducer = reducer_of(models[largest[chosen]])
    spectrum = getattr(reducer, "eigenvalues_", getattr(reducer, "explained_variance_ratio_", np.empty(0)))
    return Whole(
        models[chosen],
        {d: np.asarray(models[largest[d]].transform(X))[:, :d] for d in shown},
        np.asarray(models[chosen].transform(X)),
        np.asarray(spectrum, dtype=float),
        _neighbor_graph(models[chosen], X, labels),
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
                return {
                    "graph": leaf,
                    "n_edges": int(links.nnz // 2),
                    "n_connected_components": int(n_components),
                    "degrees": np.asarray(links.sum(axis=1, dtype=np.int64)).ravel(),
                }
    return None


def distinct_graphs(fits: dict[str, Whole]) -> list[dict[str, Any]]:
    """Each graph once, with the methods that use its edges."""
    found: list[dict[str, Any]] = []
    for name, facts in ((name, fit.graph) for name, fit in fits.items() if fit.graph is not None):
        same = [other for other in found if np.array_equal(other["degrees"], facts["degrees"])]
        if same:
            same[0]["methods"].append(name)
        else:
            found.append({**facts, "methods": [name]})
    return found
