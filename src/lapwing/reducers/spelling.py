"""Parameters as other libraries spell them, each answered with the spelling of this one."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ..graphs import Radius

# As scikit-learn, umap-learn, metric-learn and the papers' own code call them.
SIZES = ("dim", "dims", "n_dim", "n_dims", "num_dims", "n_features")
RIDGES = ("reg", "regularization", "regularizer", "shrinkage")
NEIGHBORS = ("k", "knn", "n_neighbors", "n_neighbours", "num_neighbors")
RADII = ("eps", "epsilon", "radius")
OF_A_GRAPH = {
    "weight_mode": "weights",
    "weights": "weights",
    "metric": "metric",
    "metric_params": "metric_params",
    "t": "t",
}
ABOUT_LINKS = {*NEIGHBORS, *RADII, *OF_A_GRAPH, "affinity"}


def own_spelling(estimator: type, given: dict[str, Any]) -> str | None:
    """What to write in the place of parameters that the estimator does not have and spells otherwise; None where it does not."""
    own, name = signature(estimator.__init__).parameters, estimator.__name__  # type: ignore[misc]
    foreign = {
        word: given[word] for word in sorted(given) if word in {*SIZES, *RIDGES, *ABOUT_LINKS} and word not in own
    }
    about_links, words = [f"{word}=" for word in foreign if word in ABOUT_LINKS], dict[str, str]()
    if about_links and "graph" not in own:
        return f"{name} links no neighbours, so it has no {', '.join(about_links)}"
    size = "n_components" if "n_components" in own else "n_features_to_select"
    for word, value in foreign.items():
        ours = size if word in SIZES else "ridge" if word in RIDGES else ""
        if ours in own:
            words[ours] = repr(value)
    if about_links:
        words["graph"] = _graph(estimator(), foreign)
    written = ", ".join(f"{word}={value}" for word, value in words.items())
    asked = ", ".join(f"{word}=" for word in foreign)
    return f"{name} has no parameter {asked}; write {name}({written})" if words else None


def _graph(model: Any, foreign: dict[str, Any]) -> str:
    """The value of ``graph=`` that says the same: the graph of the method, with what is given."""
    if str(foreign.get("affinity")).startswith("precomputed"):
        return "W"  # a matrix of weights
    size = next((foreign[name] for name in NEIGHBORS if name in foreign), model.n_neighbors)
    radius = next((foreign[name] for name in RADII if name in foreign), None)
    graph = model.default_graph(size) if radius is None else Radius(radius)
    wanted = {OF_A_GRAPH[name]: value for name, value in foreign.items() if name in OF_A_GRAPH}
    places = {place: wanted[name] for place in graph.get_params() if (name := place.rpartition("__")[2]) in wanted}
    return repr(graph.set_params(**places)) if places or radius is not None else repr(size)
