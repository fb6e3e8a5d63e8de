"""The constructors of estimators, written from what their classes declare, which answer the spellings of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature, get_annotations, signature
from typing import Any

from ..graphs import Radius

# As scikit-learn, umap-learn, metric-learn and the papers' own code call them.
SIZES = ("dim", "dims", "n_dim", "n_dims", "num_dims", "n_features")
RIDGES = ("reg", "regularization", "regularizer", "shrinkage")
NEIGHBORS = ("k", "knn", "n_neighbors", "n_neighbours", "num_neighbors")
RADII = ("eps", "epsilon", "radius")
OF_A_GRAPH = {"weight_mode": "weights"} | {name: name for name in ("weights", "metric", "metric_params", "t")}
ABOUT_LINKS = {*NEIGHBORS, *RADII, *OF_A_GRAPH, "affinity"}


def store_parameters(cls: type, without: Sequence[str] = ()) -> None:
    """Write ``__init__``, which stores the parameters of the base, except some, and those that the class declares.

    A class declares a parameter by a line such as ``alpha: float = 1.0``. New ones stand after ``graph``, or after the first
    parameter, which is the only one that may be given by its place.
    """
    kinds = get_annotations(cls).items()
    own = {name: kind for name, kind in kinds if name in vars(cls) and name[0] != "_" and "ClassVar" not in str(kind)}
    if "__init__" in vars(cls) or not (own or without):
        return
    found = {name: p for name, p in signature(cls.__init__).parameters.items() if name not in without}  # type: ignore[misc]
    names = list(found)
    place = names.index("graph") + 1 if "graph" in names else 2
    new = [name for name in own if name not in names]
    for name, kind in own.items():
        placed = found[name].kind if name in found else Parameter.KEYWORD_ONLY
        placed = Parameter.POSITIONAL_OR_KEYWORD if len(names) == 1 and name == new[0] else placed
        found[name] = Parameter(name, placed, default=vars(cls)[name], annotation=kind)
        delattr(cls, name)
    layout = Signature([found[name] for name in (*names[:place], *new, *names[place:])])

    def store(self: Any, *values: Any, **named: Any) -> None:
        try:
            given = layout.bind(self, *values, **named)
        except TypeError as error:
            raise TypeError(own_spelling(type(self), named) or f"{type(self).__name__}: {error}") from None
        given.apply_defaults()
        vars(self).update(list(given.arguments.items())[1:])

    store.__signature__ = layout  # type: ignore[attr-defined]
    store.__name__, store.__qualname__, store.__module__ = "__init__", f"{cls.__qualname__}.__init__", cls.__module__
    cls.__init__ = store  # type: ignore[misc]


def own_spelling(estimator: type, given: dict[str, Any]) -> str | None:
    """What to write in the place of parameters that the estimator does not have and spells otherwise; None where it does not."""
    own, name = signature(estimator.__init__).parameters, estimator.__name__  # type: ignore[misc]
    foreign = {word: given[word] for word in sorted(given) if word in {*SIZES, *RIDGES, *ABOUT_LINKS} - own.keys()}
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
