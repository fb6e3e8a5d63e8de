"""The fits to all data: models, pictures, spectra and graphs."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..graphs import Graph, Reconstruction
from ..operators import Array
from ..selection import is_automatic, reducer_of
from ._fits import SharedFits, shares_rows, why_it_failed
from ._plan import Plan


class Whole(NamedTuple):
    """What one method gives on all data."""

    model: Any
    embeddings: dict[int, np.ndarray]
    space: np.ndarray  # all rows, in all chosen dimensions
    spectrum: np.ndarray
    graph: dict[str, Any] | None


class Part(NamedTuple):
    """What some methods give on all data, and why others could not be fitted."""

    fits: dict[str, Whole]
    failures: dict[str, str]


def fit_whole(X: Array, labels: np.ndarray | None, plans: dict[str, Plan], chosen: dict[str, int]) -> Part:
    fits, part = SharedFits(X, labels), Part({}, {})
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):  # the folds have given these warnings
        for name, plan in plans.items():
            try:
                part.fits[name] = _whole(plan, chosen[name], fits)
            except Exception as error:  # any error: the other methods go on
                part.failures[name] = why_it_failed(error)
    return part


def _whole(plan: Plan, chosen: int, fits: SharedFits) -> Whole:
    largest = {d: group[-1] for group in plan.groups(sorted({*plan.dimensions, *plan.shown})) for d in group}
    if is_automatic(reducer_of(plan.at(chosen))):
        largest = {d: d for d in largest}  # it is not known which of them share their directions
    models = {d: fits.fit(plan.at(d)) for d in {chosen, *(largest[d] for d in (chosen, *plan.shown))}}
    embeddings = {d: np.asarray(models[largest[d]].transform(fits.X))[:, :d] for d in plan.shown}
    space = np.asarray(models[chosen].transform(fits.X))
    return Whole(
        models[chosen], embeddings, space, _spectrum(models[largest[chosen]]), _neighbor_graph(models[chosen], fits)
    )


def _spectrum(model: Any) -> np.ndarray:
    reducer = reducer_of(model)
    found = getattr(reducer, "eigenvalues_", getattr(reducer, "explained_variance_ratio_", np.empty(0)))
    return np.asarray(found, dtype=float)


def _neighbor_graph(model: Any, fits: SharedFits) -> dict[str, Any] | None:
    """The edges of the first graph of neighbours that attracts, as the fit found them."""
    if not shares_rows(model):
        return None
    rows = model.rows(fits.rows)
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
