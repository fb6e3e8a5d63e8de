"""How ``fit`` sets up a method: the language of ``--graph``, dimensions, parameters, and whether the graph reads the labels.

A formula, such as ``KNN(5) + 0.5 * SameClass()``, can call nothing but the constructors of public graphs and transformers.
"""

from __future__ import annotations

import ast
import operator
import re
from difflib import get_close_matches
from inspect import signature
from typing import Any, NamedTuple

from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.utils import get_tags

from .. import graphs
from ..graphs import KNN, Chain, Graph, On, Reconstruction
from ..reducers import FreeReducer, ProjectingReducer, Reducer, resolve_graph
from ._console import say
from ._options import refuse

LONGEST_FORMULA = 1_000  # characters
# These are made by operators, or from a matrix.
NOT_WRITTEN = ("Combination", "Empty", "Graph", "Intersection", "Precomputed", "Scaled", "Union")
# The transformers that On may apply to the rows.
TRANSFORMERS = (PCA, TruncatedSVD, MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler)
KNOWN = {name: getattr(graphs, name) for name in graphs.__all__ if name not in NOT_WRITTEN}
KNOWN = {name: cls for name, cls in KNOWN.items() if isinstance(cls, type)}
KNOWN |= {cls.__name__: cls for cls in TRANSFORMERS}
SIGNS = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
    **{ast.BitAnd: operator.and_, ast.BitOr: operator.or_},
}


def parsed(text: str) -> Any:
    """What a text stands for: a graph, its name, a number of neighbours, or None for the method's own graph."""
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
        found = _value(ast.parse(text.strip(), mode="eval").body)
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


def _value(node: ast.AST) -> Any:
    """What a part of a formula stands for: a plain value, graphs with signs between them, or a call of what is known."""
    match node:
        case ast.Constant():
            return node.value
        case ast.List():
            return [_value(item) for item in node.elts]
        case ast.Tuple():
            return tuple(_value(item) for item in node.elts)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.BinOp():
            sides = _value(node.left), _value(node.right)
            if not all(isinstance(side, Graph | int | float) for side in sides):  # a text times 10**10 fills the memory
                raise ValueError(f"{ast.unparse(node)!r}: signs stand between graphs and numbers")
            if type(node.op) in SIGNS:
                return SIGNS[type(node.op)](*sides)
        case ast.Name():
            return _called(ast.Call(node, [], []))
        case ast.Call():
            return _called(node)
    raise ValueError(f"{ast.unparse(node)!r} is no graph, number, text or list, and may not stand there")


def _called(node: ast.Call) -> Any:
    """What a call makes, which can be of a public graph or of a transformer alone. KNN stands for KNN()."""
    name = getattr(node.func, "id", None) or ast.unparse(node.func)
    if name not in KNOWN:
        close = get_close_matches(name.lower(), folded := {own.lower(): own for own in KNOWN}, n=1)
        hint = f"did you mean {folded[close[0]]}?" if close else f"known are {', '.join(sorted(KNOWN))}"
        raise ValueError(f"there is no graph {name!r} to be written here; {hint}")
    has = list(signature(KNOWN[name]).parameters)
    if wrong := [str(given.arg) for given in node.keywords if given.arg not in has]:
        raise ValueError(f"{name} has no parameter {wrong[0]!r}; it has {', '.join(has) or 'none'}")
    return KNOWN[name](*map(_value, node.args), **{str(given.arg): _value(given.value) for given in node.keywords})


class Choice(NamedTuple):
    """What the user said of the graph and of dimensions."""

    asked: str | None  # the option that decided about the graph
    is_sized: bool  # whether the number of dimensions was given


def configure(
    estimator: Any, graph: str | None, neighbors: int | None, parameters: dict[str, Any], dimensions: str | None
) -> Choice:
    """Set what ``--graph``, ``--neighbors``, ``--param`` and ``--dimensions`` say. What the method does not have is an error."""
    known = estimator.get_params()
    options: dict[str, Any] = {"--graph": graph, f"-k {neighbors}": neighbors}
    given = {option: value for option, value in options.items() if value is not None}
    if "graph" in parameters:
        given["-p graph"] = parameters["graph"]
    of_graph = [f"-p {key}" for key in parameters if key.startswith("graph__")]
    asked = next(iter([*given, *of_graph]), None)
    if asked is not None and "graph" not in known:
        refuse(f"{type(estimator).__name__} has no graph", asked)
    if len(given) > 1:
        refuse(f"give {', or '.join(given)}", "--graph")
    for value in given.values():
        estimator.set_params(graph=parsed(value) if isinstance(value, str) else value)
    parameters = {key: value for key, value in parameters.items() if key != "graph"}
    if of_graph:
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
    return resolve_graph("graph", estimator.graph, estimator.default_graph, estimator.n_neighbors)


def _number(text: str, estimator: Any) -> Any:
    """What ``--dimensions`` stands for: a number, all, one less than classes, or a number per mode."""
    if text == "all":
        return None
    if text == "auto" and isinstance(estimator, ProjectingReducer):
        return text
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

    What is returned are the prepared rows, with columns beside the features in the units of the file.
    """
    table = prepared.table
    names = [None] * table.X.shape[1] if table.feature_names is None else table.feature_names
    given = {name: graph for name, graph in estimator.get_params(deep=False).items() if isinstance(graph, Graph)}
    found = {name: _placed(graph, names) for name, graph in given.items()}
    estimator.set_params(**found)
    if not prepared.is_scaled:
        return prepared
    parts = [part for part in estimator.get_params().values() if isinstance(part, On)]
    if any(isinstance(part.what, list) and not part.beside for part in parts):
        say("the graph reads standardised columns (--standardize no leaves them as they are, beside=True those of On)")
    beside = {place for graph in found.values() for place in graph.beside_columns}
    return prepared.unscaled(sorted(beside)) if beside else prepared


def _placed(graph: Any, names: list[Any]) -> Any:
    """The graph with its columns by place among those that it sees, which have these names."""
    given = graph.get_params(deep=False)
    if isinstance(graph, On) and hasattr(graph.what, "fit"):
        names = []  # the columns that a transformer makes have none
    elif isinstance(graph, On):
        what = graph.what if isinstance(graph.what, list | tuple) else [graph.what]
        given["what"] = what = [_place("what", column, names) for column in what]
        names = [names[j] for j in what if j in range(len(names))]  # On itself says which place there is not
    elif isinstance(graph, Chain):
        given |= {name: _place(name, given[name], names) for name in ("time", "series")}
    inner = {name: _placed(part, names) for name, part in given.items() if isinstance(part, Graph)}
    return type(graph)(**given | inner)


def _place(what: str, column: Any, names: list[Any]) -> Any:
    """The place of a column, from 0, where it is there; a column by name must be."""
    if not isinstance(column, str):
        return column % len(names) if isinstance(column, int) and -len(names) <= column < 0 else column
    if column in names:
        return names.index(column)
    if not names or None in names:
        raise ValueError(f"{what}={column!r} is the name of a column, and these have no names; give its place, from 0")
    close = get_close_matches(column, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(map(repr, names[:10]))}"
    raise ValueError(f"{what}={column!r} is no column that the graph sees; {hint}")
