"""Parameters as other libraries spell them, each answered with the spelling of this one."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from ..graphs import Radius

# As scikit-learn, umap-learn, metric-learn and the papers' own code call them.
DIMENSIONS = ("dim", "dims", "n_dim", "n_dims", "num_dims", "n_features")
NEIGHBORS = ("k", "knn", "n_neighbors", "n_neighbours", "num_neighbors")
OF_A_GRAPH = {
    "metric": "metric",
    "metric_params": "metric_params",
    "t": "t",
    "weight_mode": "weights",
    "weights": "weights",
}
RADII = ("eps", "epsilon", "radius")
RIDGES = ("reg", "regularization", "regularizer", "shrinkage")
FOREIGN = frozenset({*DIMENSIONS, *NEIGHBORS, *OF_A_GRAPH, *RADII, *RIDGES, "affinity"})


class OwnSpelling:
    """Base of the estimators: they answer parameters that are spelt as elsewhere."""

    def __new__(cls, *values: Any, **parameters: Any) -> Any:
        if not FOREIGN.isdisjoint(parameters):
            check_spelling(cls, parameters)
        return super().__new__(cls)


def check_spelling(estimator: type, given: Mapping[str, Any]) -> None:
    """Raise where a parameter that the estimator does not have is one that it spells otherwise."""
    own = signature(estimator.__init__).parameters  # type: ignore[misc]
    foreign = {name: value for name, value in given.items() if name in FOREIGN and name not in own}
    words = dict(_plain(foreign, own))
    about_links = foreign.keys() & {*NEIGHBORS, *OF_A_GRAPH, *RADII, "affinity"}
    if about_links and "graph" not in own:
        raise TypeError(f"{estimator.__name__} links no neighbours, so it has no {_listed(about_links)}")
    if about_links:
        words["graph"] = _graph(estimator(), foreign)
    if words:
        written = ", ".join(f"{name}={value}" for name, value in words.items())
        raise TypeError(
            f"{estimator.__name__} has no parameter {_listed(foreign)}; write {estimator.__name__}({written})"
        )


def _plain(foreign: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    """What is only called otherwise: the number of dimensions, and the ridge."""
    size = "n_components" if "n_components" in own else "n_features_to_select"
    for names, ours in ((DIMENSIONS, size), (RIDGES, "ridge")):
        yield from ((ours, repr(value)) for name, value in foreign.items() if name in names and ours in own)


def _graph(model: Any, foreign: Mapping[str, Any]) -> str:
    """The value of ``graph=`` that says the same: the graph of the method, with what is given."""
    if isinstance(foreign.get("affinity"), str) and foreign["affinity"].startswith("precomputed"):
        return "W"  # a matrix of weights
    size = next((foreign[name] for name in NEIGHBORS if name in foreign), model.n_neighbors)
    radius = next((foreign[name] for name in RADII if name in foreign), None)
    graph = model.default_graph(size) if radius is None else Radius(radius)
    wanted = {OF_A_GRAPH[name]: value for name, value in foreign.items() if name in OF_A_GRAPH}
    places = {place: place.rpartition("__")[2] for place in graph.get_params()}
    graph.set_params(**{place: wanted[name] for place, name in places.items() if name in wanted})
    return repr(graph) if wanted.keys() & places.values() or radius is not None else repr(size)


def _listed(names: Any) -> str:
    return ", ".join(f"{name}=" for name in sorted(names))
