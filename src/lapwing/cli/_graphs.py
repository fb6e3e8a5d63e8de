"""How ``fit`` sets up a method: the language of ``--graph``, dimensions, parameters, and whether the graph reads the labels.

A graph is ``supervised``, ``semi``, ``propagate``, ``none``, ``knn``, a number of neighbours, or a formula, such as
``KNN(5) + 0.5 * SameClass()``.
A formula can call nothing but the constructors of public graphs and transformers.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from inspect import isclass, signature
from typing import Any, NoReturn

from ._console import say
from ._options import refuse

LONGEST_FORMULA = 1_000  # characters
# These are made by operators, or from a matrix.
NOT_WRITTEN = ("Combination", "Empty", "Graph", "Intersection", "Precomputed", "Scaled", "Union")
# The transformers that On may apply to the rows.
TRANSFORMERS = {
    "Gower": "lapwing.graphs",
    **dict.fromkeys(["PCA", "TruncatedSVD"], "sklearn.decomposition"),
    **dict.fromkeys(
        ["MaxAbsScaler", "MinMaxScaler", "Normalizer", "RobustScaler", "StandardScaler"], "sklearn.preprocessing"
    ),
}
BETWEEN_GRAPHS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.BitAnd: operator.and_, ast.BitOr: operator.or_}
SIGNS = {**BETWEEN_GRAPHS, ast.Mult: operator.mul, ast.Div: operator.truediv}


def parsed(text: str) -> Any:
    """What a text stands for: a graph, its name, a number of neighbours, or None for the method's own graph."""
    from ..graphs import KNN, Graph

    plain = text.strip().lower()
    if plain in ("supervised", "semi", "propagate"):
        return plain
    if plain in ("none", "knn"):
        return None if plain == "none" else KNN()
    if plain.isascii() and plain.isdigit() and int(plain):
        return int(plain)
    formula = Formula(text)
    if len(text) > LONGEST_FORMULA:
        formula.refuse(f"it is longer than {LONGEST_FORMULA:,} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" (near character {error.offset})" if isinstance(error, SyntaxError) and error.offset else ""
        formula.refuse(f"it is no formula{where}")
    found = formula.value(tree.body)
    if not isinstance(found, Graph):
        formula.refuse("it is a number that is no number of neighbours")
    return found


class Formula:
    """Computes what a formula stands for, from its syntax tree."""

    def __init__(self, text: str):
        from .. import graphs

        self.text = text
        public = {name: getattr(graphs, name) for name in graphs.__all__ if name not in NOT_WRITTEN}
        self.graphs = {name: cls for name, cls in public.items() if isclass(cls) and issubclass(cls, graphs.Graph)}

    def refuse(self, why: str) -> NoReturn:
        given = self.text if len(self.text) < 80 else f"{self.text[:77]}..."
        refuse(
            f"{given!r}: {why}. Write supervised, semi, propagate, none, knn, a number of neighbours, or a formula such as "
            "'KNN(5) + 0.5 * SameClass()'",
            "--graph",
        )

    def value(self, node: ast.expr) -> Any:
        """A graph, or a number that a graph is multiplied by."""
        written = ast.unparse(node)
        if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
            left, right = self.value(node.left), self.value(node.right)
            try:
                return SIGNS[type(node.op)](left, right)
            except TypeError:
                what = "two graphs" if type(node.op) in BETWEEN_GRAPHS else "a graph and a number"
                self.refuse(f"{written!r}: this sign stands between {what}")
            except (ValueError, ZeroDivisionError) as error:
                self.refuse(f"{written!r}: {error}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.value(node.operand) * -1
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return node.value
        name = node.func if isinstance(node, ast.Call) else node
        if not isinstance(name, ast.Name):
            self.refuse(f"{written!r} is no graph, sum, difference, multiple, intersection or union of graphs")
        if name.id not in self.graphs:
            close = get_close_matches(name.id.lower(), folded := {known.lower(): known for known in self.graphs}, n=1)
            hint = f"did you mean {folded[close[0]]}?" if close else f"known are {', '.join(sorted(self.graphs))}"
            self.refuse(f"there is no graph {name.id!r} to be written here; {hint}")
        return self.made(self.graphs[name.id], node)

    def made(self, cls: Any, node: ast.expr) -> Any:
        """What a class makes of the arguments that are written; KNN without brackets is KNN()."""
        args = [self.argument(arg) for arg in node.args] if isinstance(node, ast.Call) else []
        named = {str(part.arg): self.argument(part.value) for part in getattr(node, "keywords", [])}
        known = list(signature(cls).parameters)
        if unknown := [name for name in named if name not in known]:
            self.refuse(f"{cls.__name__} has no parameter {unknown[0]!r}; it has {', '.join(known) or 'none'}")
        try:
            return cls(*args, **named)
        except (TypeError, ValueError) as error:
            self.refuse(f"{cls.__name__}: {error}")

    def argument(self, node: ast.expr) -> Any:
        """A plain value, a graph as in ``Similarity(KNN(5))``, or a transformer as in ``On(PCA(0.98), KNN(5))``."""
        name = getattr(node.func if isinstance(node, ast.Call) else node, "id", None)
        if name in TRANSFORMERS and isinstance(node, ast.Call):
            return self.made(getattr(import_module(TRANSFORMERS[name]), name), node)
        if name in self.graphs or (isinstance(node, ast.BinOp) and type(node.op) in SIGNS):
            return self.value(node)
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            self.refuse(f"{ast.unparse(node)!r} is no number, text, list or other plain value")


@dataclass(frozen=True)
class Choice:
    """What the user said about the graph and the parameters."""

    graph: Any  # as parsed, where it was given
    asked: str | None  # which option decided about the graph
    parameters: dict[str, Any]
    dimensions: str | None = None

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
        for option, value in (("--graph", graph), ("--neighbors", neighbors)):
            if value is not None and "graph" not in estimator.get_params():
                refuse(f"{type(estimator).__name__} has no graph", option)
        if graph is not None and (neighbors is not None or "graph" in parameters):
            refuse(f"give --graph, or {'-k' if neighbors is not None else '-p graph'}", "--graph")
        if isinstance(parameters.get("graph"), str):
            parameters = {**parameters, "graph": parsed(parameters["graph"])}
        asked = next((f"-p {key}" for key in parameters if key.partition("__")[0] == "graph"), None)
        asked = "--graph" if graph is not None else f"-k {neighbors}" if neighbors is not None else asked
        return cls(neighbors if graph is None else parsed(graph), asked, parameters, dimensions)


def configure(estimator: Any, choice: Choice) -> None:
    """Set the dimensions, the graph and the parameters. What the method does not have is an error."""
    parameters, known = choice.parameters, estimator.get_params()
    if choice.graph is not None:
        estimator.set_params(graph=choice.graph)
    if any(key.startswith("graph__") for key in parameters):
        estimator.set_params(graph=_as_graph(estimator))
    if choice.dimensions is not None:
        steps = [f"{step}__n_components" for step, _ in getattr(estimator, "steps", [])]
        name = [name for name in (*steps, "n_features_to_select", "n_components") if name in known][-1]
        if name in parameters:
            refuse(f"give -d, or -p {name}=...", "--dimensions")
        estimator.set_params(**{name: _number(choice.dimensions, estimator)})
    known = estimator.get_params()
    for key in parameters:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(known))}"
            refuse(f"{type(estimator).__name__} has no parameter {key!r}; {hint}", "--param")
    estimator.set_params(**parameters)


def _as_graph(estimator: Any) -> Any:
    """The graph that the parameter of the estimator stands for."""
    from ..reducers import resolve_graph

    return resolve_graph("graph", estimator.graph, estimator.default_graph, estimator.n_neighbors)


def _number(text: str, estimator: Any) -> Any:
    """What ``--dimensions`` stands for: a number, all, one less than classes, a share of the objective, or a number per mode."""
    from ..reducers import ProjectingReducer

    projecting = isinstance(estimator, ProjectingReducer)
    if text == "all":
        return None
    if text == "auto" and projecting:
        return text
    if projecting and re.fullmatch(r"0?\.\d*[1-9]\d*", text):
        return float(text)
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", text):
        why = 'it is neither a number, nor "auto", nor "all", nor like 8x6'
        why = f"{type(estimator).__name__} has no rule for it; give a number" if text == "auto" else why
        refuse(f"{text!r}: {why}", "--dimensions")
    numbers = tuple(map(int, text.split("x")))
    return numbers[0] if len(numbers) == 1 else numbers


def settle_graph(estimator: Any, choice: Choice, labelled: bool, partly: bool = False, column: str = "labels") -> None:
    """Where there are labels, set a graph that reads them, unless the user chose a graph. One line says which it is.

    ``partly`` says that some rows have none, and ``column`` what the labels are called.
    """
    from sklearn.base import clone
    from sklearn.utils import get_tags

    from ..graphs import KNN, Reconstruction
    from ..reducers import FreeReducer, ProjectingReducer, Reducer

    # "auto" asks for labels whatever the graph, which is what is looked at here.
    sized = {"n_components": 2} if isinstance(getattr(estimator, "n_components", None), str) else {}
    if not labelled or get_tags(clone(estimator).set_params(**sized)).target_tags.required:
        return
    if choice.asked is not None:
        say(f"the {column} are NOT USED: {choice.asked} asks for a graph without them (--graph supervised uses them)")
        return
    has_graph = "graph" in estimator.get_params()
    # Those that work with any graph keep together what it links, also for new rows.
    takes_any = has_graph and isinstance(estimator, Reducer) and not isinstance(estimator, FreeReducer)
    if not (takes_any and isinstance(estimator.default_graph(estimator.n_neighbors), KNN | Reconstruction)):
        way = " (--graph semi uses them)" if has_graph else ""
        say(f"the {column} are NOT USED: {type(estimator).__name__} looks at the features alone{way}")
        return
    estimator.set_params(graph="semi" if partly else "supervised")
    is_chosen = choice.dimensions is not None or "n_components" in choice.parameters
    if not partly and not is_chosen and isinstance(estimator, ProjectingReducer):
        estimator.set_params(n_components="auto")  # as many as tell classes apart
    kind = "semi-supervised" if partly else "supervised"
    say(f"the {column} are used: {kind} graph {_as_graph(estimator)!r} (--graph none leaves them out)")


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
            what = graph.what if isinstance(graph.what, list | tuple) else [graph.what]
            given["what"] = what = [self._place("what", one, columns) for one in what]
            # A place that is none is left for the graph itself, which says what is wrong.
            if columns is not None and all(isinstance(j, int) and -len(columns) <= j < len(columns) for j in what):
                columns = [columns[j] for j in what]
                self.beside.update(columns if graph.beside else ())
                self.scaled = self.scaled or not graph.beside
        elif isinstance(graph, Chain):
            given |= {name: self._place(name, given[name], columns) for name in ("time", "series")}
        inner = {name: self.placed(part, columns) for name, part in given.items() if isinstance(part, Graph)}
        return type(graph)(**given | inner)

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
