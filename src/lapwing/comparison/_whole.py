"""One method on all data: its model, pictures, spectrum and graph."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..graphs import Graph, Reconstruction
from ..operators import Array
from ..selection import is_automatic, reducer_of
from ._candidates import Candidate, has_the_usual_fit
from ._evaluate import why_it_failed


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
    shown = candidate.shown
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
