"""How ``fit`` sets up a method: the language of ``--graph``, dimensions, parameters, and whether the graph reads the labels.

A graph is ``supervised``, ``semi``, ``propagate``, ``none``, ``knn``, a number of neighbours, or a formula, such as
``KNN(5) + 0.5 * SameClass()``.
A formula can call nothing but the constructors of public graphs and transformers.
"""

from __future__ import annotations

import ast
import re
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple

from ._console import say
from ._options import refuse

LONGEST_FORMULA = 1_000  # characters
# These are made by operators, or from a matrix.
NOT_WRITTEN = ("Combination", "Empty", "Graph", "Intersection", "Precomputed", "Scaled", "Union")
# The transformers that On may apply to the rows.
TRANSFORMERS = {
    **dict.fromkeys(["PCA", "TruncatedSVD"], "sklearn.decomposition"),
    **dict.fromkeys(
        ["MaxAbsScaler", "MinMaxScaler", "Normalizer", "RobustScaler", "StandardScaler"], "sklearn.preprocessing"
    ),
}
WRITTEN = (ast.Expression, ast.keyword, ast.List, ast.Tuple, ast.Load, ast.BinOp, ast.UnaryOp)
SIGNS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr, ast.USub)


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
    try:
        if len(text) > LONGEST_FORMULA:
            raise ValueError(f"it is longer than {LONGEST_FORMULA:,} characters")
        formula = Formula()
        tree = ast.fix_missing_locations(formula.visit(ast.parse(text.strip(), mode="eval")))
        found = eval(compile(tree, "--graph", "eval"), {"__builtins__": {}}, formula.known)
        if not isinstance(found, Graph):
            raise ValueError("it is no graph, and no number of neighbours")
    except (ArithmeticError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        why = f"it is no formula ({error.msg})" if isinstance(error, SyntaxError) else str(error) or "it is no formula"
        refuse(
            f"{text if len(text) < 80 else f'{text[:77]}...'!r}: {why}. Write supervised, semi, propagate, none, knn, a number "
            "of neighbours, or a formula such as 'KNN(5) + 0.5 * SameClass()'",
            "--graph",
        )
    return found


class Formula(ast.NodeTransformer):
    """Checks the syntax tree of a formula, in which KNN stands for KNN().

    All that may stand there are plain values, signs between graphs and numbers, and calls of what is known.
    """

    def __init__(self) -> None:
        from .. import graphs

        public = {name: getattr(graphs, name) for name in graphs.__all__ if name not in NOT_WRITTEN}
        self.known = {name: cls for name, cls in public.items() if isinstance(cls, type)}
        self.known |= {name: getattr(import_module(module), name) for name, module in TRANSFORMERS.items()}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, WRITTEN + SIGNS):
            raise ValueError(f"{ast.unparse(node)!r} is no graph, number, text or list, and may not stand there")
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        for side in (node.left, node.right):  # a text times a large number would fill the memory
            if isinstance(side, ast.List | ast.Tuple) or isinstance(getattr(side, "value", 0), str | bytes):
                raise ValueError(f"{ast.unparse(node)!r}: signs stand between graphs and numbers")
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.visit_Call(ast.Call(node, [], []))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = getattr(node.func, "id", None) or ast.unparse(node.func)
        if name not in self.known:
            close = get_close_matches(name.lower(), folded := {known.lower(): known for known in self.known}, n=1)
            hint = f"did you mean {folded[close[0]]}?" if close else f"known are {', '.join(sorted(self.known))}"
            raise ValueError(f"there is no graph {name!r} to be written here; {hint}")
        has = list(signature(self.known[name]).parameters)
        if wrong := [str(given.arg) for given in node.keywords if given.arg not in has]:
            raise ValueError(f"{name} has no parameter {wrong[0]!r}; it has {', '.join(has) or 'none'}")
        given, named = [self.visit(arg) for arg in node.args], [self.visit(arg) for arg in node.keywords]
        return ast.Call(node.func, given, named)


class Choice(NamedTuple):
    """What the user said of the graph and of dimensions."""

    asked: str | None  # the option that decided about the graph
    is_sized: bool  # whether the number of dimensions was given


def configure(
    estimator: Any, graph: str | None, neighbors: int | None, parameters: dict[str, Any], dimensions: str | None
) -> Choice:
    """Set what ``--graph``, ``--neighbors``, ``--param`` and ``--dimensions`` say. What the method does not have is an error."""
    known = estimator.get_params()
    for option, value in (("--graph", graph), ("--neighbors", neighbors)):
        if value is not None and "graph" not in known:
            refuse(f"{type(estimator).__name__} has no graph", option)
    if graph is not None and (neighbors is not None or "graph" in parameters):
        refuse(f"give --graph, or {'-k' if neighbors is not None else '-p graph'}", "--graph")
    asked = next((f"-p {key}" for key in parameters if key.partition("__")[0] == "graph"), None)
    asked = "--graph" if graph is not None else f"-k {neighbors}" if neighbors is not None else asked
    chosen = neighbors if graph is None else parsed(graph)
    if isinstance(parameters.get("graph"), str):
        parameters = {**parameters, "graph": parsed(parameters["graph"])}
    if chosen is not None:
        estimator.set_params(graph=chosen)
    if any(key.startswith("graph__") for key in parameters):
        estimator.set_params(graph=_as_graph(estimator))
    if dimensions is not None:
        steps = [f"{step}__n_components" for step, _ in getattr(estimator, "steps", [])]
        name = [name for name in (*steps, "n_features_to_select", "n_components") if name in known][-1]
        if name in parameters:
            refuse(f"give -d, or -p {name}=...", "--dimensions")
        estimator.set_params(**{name: _number(dimensions, estimator)})
    known = estimator.get_params()
    for key in parameters:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(sorted(known))}"
            refuse(f"{type(estimator).__name__} has no parameter {key!r}; {hint}", "--param")
    estimator.set_params(**parameters)
    return Choice(asked, dimensions is not None or "n_components" in parameters)


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
    if not partly and not choice.is_sized and isinstance(estimator, ProjectingReducer):
        estimator.set_params(n_components="auto")  # as many as tell classes apart
    kind = "semi-supervised" if partly else "supervised"
    say(f"the {column} are used: {kind} graph {_as_graph(estimator)!r} (--graph none leaves them out)")


def placed(estimator: Any, prepared: Any) -> Any:
    """Give the graphs of the estimator their columns by place, so that the model takes rows without names.

    What is returned are the prepared rows, with columns beside the features, such as coordinates in space, in the units of the
    file.
    """
    from ..graphs import Graph

    names = prepared.table.feature_names
    names = [None] * prepared.table.X.shape[1] if names is None else names
    seen: dict[bool, set[int]] = {True: set(), False: set()}
    for name, graph in estimator.get_params(deep=False).items():
        if isinstance(graph, Graph):
            estimator.set_params(**{name: _placed(graph, list(enumerate(names)), seen)})
    if not prepared.is_scaled:
        return prepared
    if seen[False]:
        say("the graph reads standardised columns (--standardize no leaves them as they are, beside=True those of On)")
    return prepared.unscaled(sorted(seen[True])) if seen[True] else prepared


def _placed(graph: Any, columns: list[tuple[int, Any]], seen: dict[bool, set[int]]) -> Any:
    """The graph with its columns by place. It sees ``columns``, their places in the table and their names.

    ``seen`` gathers the columns that graphs alone read (True), and those that the map reads, too.
    """
    from ..graphs import Chain, Graph, On

    given = graph.get_params(deep=False)
    if isinstance(graph, On) and hasattr(graph.what, "fit"):
        columns = []  # those that a transformer makes have no names
    elif isinstance(graph, On):
        what = graph.what if isinstance(graph.what, list | tuple) else [graph.what]
        given["what"] = what = [_place("what", one, columns) for one in what]
        # A place that is none is left for the graph itself, which says what is wrong.
        if all(isinstance(j, int) and -len(columns) <= j < len(columns) for j in what):
            columns = [columns[j] for j in what]
            seen[graph.beside].update(j for j, _ in columns)
    elif isinstance(graph, Chain):
        given |= {name: _place(name, given[name], columns) for name in ("time", "series")}
    inner = {name: _placed(part, columns, seen) for name, part in given.items() if isinstance(part, Graph)}
    return type(graph)(**given | inner)


def _place(what: str, column: Any, columns: list[tuple[int, Any]]) -> Any:
    names = [name for _, name in columns]
    if not isinstance(column, str) or column in names:
        return names.index(column) if isinstance(column, str) else column
    if not names or None in names:
        raise ValueError(f"{what}={column!r} is the name of a column, and these have no names; give its place, from 0")
    close = get_close_matches(column, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(map(repr, names[:10]))}"
    raise ValueError(f"{what}={column!r} is no column that the graph sees; {hint}")
