"""The constructors of estimators, written from what their classes declare, which answer the spellings of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature, get_annotations, signature
from typing import Any

# What scikit-learn, umap-learn, metric-learn and the papers' own code call our parameters, and what to write here.
SPELLINGS = {
    **dict.fromkeys(("dim", "dims", "n_dim", "n_dims", "num_dims", "n_features"), "n_components={!r}"),
    **dict.fromkeys(("reg", "regularization", "regularizer", "shrinkage"), "ridge={!r}"),
    **dict.fromkeys(("k", "knn", "n_neighbors", "n_neighbours", "num_neighbors"), "graph={!r}"),
    **dict.fromkeys(("eps", "epsilon", "radius"), "graph=Radius({!r})"),
    **dict.fromkeys(("weights", "weight_mode"), "graph=KNN(5, weights={!r})"),
    **{word: f"graph=KNN(5, {word}={{!r}})" for word in ("metric", "metric_params", "t")},
    "affinity": "graph=W, a matrix of weights",
}


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
    answers = {word: SPELLINGS[word].format(given[word]) for word in sorted(given) if word in SPELLINGS.keys() - own}
    about_links = [f"{word}=" for word, answer in answers.items() if answer.startswith("graph=")]
    if about_links and "graph" not in own:
        return f"{name} links no neighbours, so it has no {', '.join(about_links)}"
    graph: Any = estimator().default_graph(5) if about_links else None
    for word, answer in answers.items() if graph is not None else ():
        if word in graph.get_params():  # as Reconstruction has metric=
            answers[word] = answer = answer.replace("KNN", type(graph).__name__)
        if answer.startswith("graph=") and answer.endswith(")") and graph.reads_labels:  # MFA refuses neighbours alone
            answers[word] = f"{answer} & SameClass()"
    if "n_components" not in own:
        answers = {word: answer.replace("n_components", "n_features_to_select") for word, answer in answers.items()}
    answers = {word: answer for word, answer in answers.items() if answer.partition("=")[0] in own}
    asked = ", ".join(f"{word}=" for word in answers)
    return f"{name} has no parameter {asked}; write {', '.join(answers.values())}" if answers else None
