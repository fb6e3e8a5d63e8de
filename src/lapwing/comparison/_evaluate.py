"""One method: on a fold, where it is judged by the rows held out, and on all data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..graphs import Graph, Reconstruction
from ..operators import Array
from ..reducers import UnitsWarning
from ..selection import is_automatic, reducer_of, serving
from ._candidates import SHOWN, Candidate, has_the_usual_fit
from ._folds import Fold
from ._scores import Judge


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
    return Whole(
        models[chosen],
        {d: np.asarray(models[largest[d]].transform(X))[:, :d] for d in shown},
        np.asarray(models[chosen].transform(X)),
        _spectrum(models[largest[chosen]]),
        _neighbor_graph(models[chosen], given),
    )


def _spectrum(model: Any) -> np.ndarray:
    reducer = reducer_of(model)
    found = getattr(reducer, "eigenvalues_", getattr(reducer, "explained_variance_ratio_", np.empty(0)))
    return np.asarray(found, dtype=float)


def _neighbor_graph(model: Any, given: tuple[Any, ...]) -> dict[str, Any] | None:
    """The edges of the first graph of neighbours that attracts; None where a fit of its own may build it on other rows."""
    if not has_the_usual_fit(model):
        return None
    rows = model.rows(*given)
    for coefficient, leaf in model.graph_.signed():
        if coefficient > 0 and leaf.reads_features:
            W = leaf.weights_matrix(rows) if isinstance(leaf, Reconstruction) else leaf.adjacency(rows)
            if W is not None:
                return _facts(leaf, W)
    return None


def _facts(graph: Graph, W: Any) -> dict[str, Any]:
    links = (W != 0).astype(np.int8)
    links = links.maximum(links.T)
    n_components, _ = sparse.csgraph.connected_components(links, directed=False)
    return {
        "graph": graph,
        "n_edges": int(links.nnz // 2),
        "n_connected_components": int(n_components),
        "degrees": np.asarray(links.sum(axis=1, dtype=np.int64)).ravel(),
    }


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
