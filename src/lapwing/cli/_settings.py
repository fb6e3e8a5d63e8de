"""How ``fit`` sets up a method: its dimensions, its parameters, and its graph, which uses labels or says that it does not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import typer

from ._console import say
from ._graphs import parsed


@dataclass(frozen=True)
class Choice:
    """What the user said about the graph and the parameters."""

    graph: Any  # as parsed, where it was given
    asked: str | None  # which option decided about the graph
    parameters: dict[str, Any]
    dimensions: str | None = None

    @property
    def sized(self) -> bool:
        """Whether the user said how many dimensions there shall be."""
        return self.dimensions is not None or "n_components" in self.parameters

    @classmethod
    def given(
        cls,
        estimator: Any,
        graph: str | None,
        neighbors: int | None,
        parameters: dict[str, Any],
        dimensions: str | None,
    ) -> Choice:
        """The choice of ``--graph``, ``--neighbors``, ``--param`` and ``--dimensions``."""
        has_graph = "graph" in estimator.get_params()
        by_parameter = next((f"-p {key}" for key in parameters if key.partition("__")[0] == "graph"), None)
        for option, value in (("--graph", graph), ("--neighbors", neighbors)):
            if value is not None and not has_graph:
                raise typer.BadParameter(f"{type(estimator).__name__} has no graph", param_hint=option)
        if graph is not None and (neighbors is not None or "graph" in parameters):
            other = "-k" if neighbors is not None else "-p graph"
            raise typer.BadParameter(f"give --graph, or {other}", param_hint="--graph")
        found = parsed(graph) if graph is not None else neighbors
        if isinstance(parameters.get("graph"), str):
            parameters = {**parameters, "graph": parsed(parameters["graph"])}
        asked = "--graph" if graph is not None else f"-k {neighbors}" if neighbors is not None else by_parameter
        return cls(found, asked, parameters, dimensions)


def configure(estimator: Any, choice: Choice) -> None:
    """Set the dimensions, the graph and the parameters. What the method does not have is an error."""
    parameters, dimensions = choice.parameters, choice.dimensions
    if choice.graph is not None:
        estimator.set_params(graph=choice.graph)
    if any(key.startswith("graph__") for key in parameters):
        estimator.set_params(graph=_as_graph(estimator))
    if dimensions is not None:
        name = _dimensions_name(estimator)
        if name in parameters:
            raise typer.BadParameter(f"give -d, or -p {name}=...", param_hint="--dimensions")
        estimator.set_params(**{name: _number(dimensions, estimator)})
    known = estimator.get_params()
    for key in parameters:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(known))}"
            raise typer.BadParameter(
                f"{type(estimator).__name__} has no parameter {key!r}; {hint}", param_hint="--param"
            )
    estimator.set_params(**parameters)


def _dimensions_name(estimator: Any) -> str:
    """The name of the parameter that ``-d`` sets; in a pipeline, that of the last step that has one."""
    known = estimator.get_params()
    if hasattr(estimator, "steps"):
        return [f"{name}__n_components" for name, _ in estimator.steps if f"{name}__n_components" in known][-1]
    return "n_components" if "n_components" in known else "n_features_to_select"


def _as_graph(estimator: Any) -> Any:
    """The graph that the parameter of the estimator stands for."""
    from ..reducers import resolve_graph

    return resolve_graph("graph", estimator.graph, estimator.default_graph, estimator.n_neighbors)


def _number(text: str, estimator: Any) -> Any:
    from ..reducers import ProjectingReducer

    if text == "all":
        return None
    if text == "auto" and isinstance(estimator, ProjectingReducer):
        return text  # "auto" is one less than the number of classes
    if isinstance(estimator, ProjectingReducer) and re.fullmatch(r"0?\.\d*[1-9]\d*", text):
        return float(text)  # a fraction is a share of the objective
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", text):
        why = 'it is neither a number, nor "auto", nor "all", nor like 8x6'
        if text == "auto":
            why = f"{type(estimator).__name__} has no rule for it; give a number"
        raise typer.BadParameter(f"{text!r}: {why}", param_hint="--dimensions")
    numbers = tuple(map(int, text.split("x")))
    return numbers[0] if len(numbers) == 1 else numbers


def settle_graph(estimator: Any, choice: Choice, labelled: bool, partly: bool = False, column: str = "labels") -> None:
    """Where there are labels, set a graph that reads them, unless the user chose a graph. One line says which it is.

    ``partly`` says that some rows have none, and ``column`` what the labels are called.
    """
    from sklearn.utils import get_tags

    from ..reducers import ProjectingReducer

    if not labelled or get_tags(estimator).target_tags.required:
        return
    if choice.asked is not None:
        say(f"the {column} are NOT USED: {choice.asked} asks for a graph without them (--graph supervised uses them)")
    elif not _has_neighbour_graph(estimator):
        way = " (--graph semi uses them)" if "graph" in estimator.get_params() else ""
        say(f"the {column} are NOT USED: {type(estimator).__name__} looks at the features alone{way}")
    else:
        estimator.set_params(graph="semi" if partly else "supervised")
        if not partly and not choice.sized and isinstance(estimator, ProjectingReducer):
            estimator.set_params(n_components="auto")  # as many as tell classes apart
        kind = "semi-supervised" if partly else "supervised"
        say(f"the {column} are used: {kind} graph {_as_graph(estimator)!r} (--graph none leaves them out)")


def _has_neighbour_graph(estimator: Any) -> bool:
    """Whether the method works with any graph: it keeps together what the graph links, also for new rows."""
    from ..graphs import KNN, Reconstruction
    from ..reducers import FreeReducer, Reducer

    is_placing = isinstance(estimator, Reducer) and not isinstance(estimator, FreeReducer)
    if not is_placing or "graph" not in estimator.get_params():
        return False
    return isinstance(estimator.default_graph(estimator.n_neighbors), KNN | Reconstruction)


def placed(estimator: Any, prepared: Any) -> Any:
    """Give the graphs of the estimator their columns by place, so that the model takes rows without names.

    What is returned are the prepared rows, with columns beside the features, such as coordinates in space, in the units of the
    file.
    """
    from ..graphs import Graph

    columns = Columns(prepared.table)
    given = estimator.get_params(deep=False)
    for name in ("graph", "penalty"):
        if isinstance(given.get(name), Graph):
            estimator.set_params(**{name: columns.placed(given[name], list(range(prepared.table.X.shape[1])))})
    if not prepared.is_scaled:
        return prepared
    if columns.scaled:
        say("the graph reads standardised columns (--standardize no leaves them as they are, beside=True those of On)")
    return prepared.unscaled(sorted(columns.beside)) if columns.beside else prepared


class Columns:
    """The columns of a table, and which of them graphs read."""

    def __init__(self, table: Any):
        self._names = table.feature_names
        self.beside = set[int]()  # columns that only graphs read
        self.scaled = False  # whether a graph is built on columns that the map reads too

    def placed(self, graph: Any, columns: list[int] | None) -> Any:
        """The graph with its columns by place. It sees ``columns``; None where a transformer made other columns of them."""
        from ..graphs import Chain, Graph, On

        given = graph.get_params(deep=False)
        if isinstance(graph, On) and hasattr(graph.what, "fit"):
            columns = None
        elif isinstance(graph, On):
            given["what"], columns = self._chosen(graph, columns)
        elif isinstance(graph, Chain):
            given |= {name: self._place(name, given[name], columns) for name in ("time", "series")}
        inner = {name: self.placed(part, columns) for name, part in given.items() if isinstance(part, Graph)}
        return type(graph)(**given | inner)

    def _chosen(self, graph: Any, columns: list[int] | None) -> tuple[Any, list[int] | None]:
        """The columns of an On by place, and their places in the table."""
        import numpy as np

        many = isinstance(graph.what, list | tuple)
        what = [self._place("what", one, columns) for one in (graph.what if many else [graph.what])]
        if columns is None:
            return what, None
        try:
            found = np.array(columns)[what].tolist()
        except IndexError:
            return what, None  # the graph itself raises, and says what is wrong
        if graph.beside:
            self.beside.update(found)
        else:
            self.scaled = True
        return what, found

    def _place(self, what: str, column: Any, columns: list[int] | None) -> Any:
        if not isinstance(column, str):
            return column
        if columns is None or self._names is None:
            raise ValueError(
                f"{what}={column!r} is the name of a column, and these have no names; give its place, from 0"
            )
        names = [self._names[j] for j in columns]
        if column not in names:
            close = get_close_matches(column, names, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(map(repr, names[:10]))}"
            raise ValueError(f"{what}={column!r} is no column that the graph sees; {hint}")
        return names.index(column)
