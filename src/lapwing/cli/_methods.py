"""The methods: ``lapwing methods`` lists them, and ``fit`` sets one up by ``--graph``, dimensions and parameters.

A formula of graphs, such as ``KNN(5) + 0.5 * SameClass()``, calls nothing but constructors of public graphs and transformers.
"""

from __future__ import annotations

import ast
import operator
import re
from inspect import getdoc, signature
from itertools import groupby
from typing import Any, NamedTuple

import typer
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.utils import get_tags

from .. import comparison, graphs
from ..graphs import KNN, Graph, On, Reconstruction
from ..methods import METHODS, described, plain
from ..reducers import FreeReducer, ProjectingReducer, Reducer, resolve_graph
from ._console import did_you_mean, print_facts, print_json, say
from ._options import refuse

WIDTH, LONGEST_NAME = 80, 18  # characters of a line, and of the name of a method
GOALS = {
    "neighbours": "Neighbours: what is near, or linked, stays near",
    "classes": "Classes: samples of one class come together, other classes apart",
    "patches": "Patches: the shape of each neighbourhood is kept",
    "representation": "Representation: principal components that a graph or labels guide",
    "features": "Features: choose some of the columns",
}
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


def _facts(cls: Any) -> dict[str, str]:
    return {name: plain(text) for name, text in described(cls).items()}


def list_methods(json: bool) -> None:
    """Print what each method is for."""
    rows = [_facts(method) for method in METHODS.values()]
    if json:
        return print_json(rows)
    for family, members in groupby(rows, key=lambda row: row["family"]):
        typer.echo(GOALS[family])
        texts = {row["method"]: row["description"] + " Needs labels." * (row["labels"] == "needed") for row in members}
        print_facts([[f"  {name:{LONGEST_NAME}}", text] for name, text in texts.items()], WIDTH)
        typer.echo()
    return typer.echo("lapwing methods NAME has the equation and the parameters of a method.")


def describe_method(name: str, json: bool) -> None:
    """Print the equation of a method and all its parameters, as ``help`` of Python does."""
    cls = find(name, "NAME")
    about, text = described(cls), re.sub(r":\w+:`~?([^`]*)`", r"\1", getdoc(cls) or "").replace("`", "")
    if json:
        return print_json({**_facts(cls), "parameters": cls().get_params(deep=False), "text": text})
    algebra = f"{about['minimises']}; map: {about['map']}; constraint: {about['constraint']}; labels: {about['labels']}"
    return typer.echo(plain(f"{cls.__name__} minimises {algebra}.\n\n{text}"))


def find(name: str, argument: str = "--method") -> Any:
    """The class of a method, whatever way its name is written."""
    names = {key(method): method for method in METHODS}
    if key(name) not in names:
        refuse(f"there is no method {name!r}; {did_you_mean(name, METHODS)}", argument)
    return METHODS[names[key(name)]]


def to_fit(name: str) -> Any:
    """An unfitted estimator: a method of lapwing, or one that ``compare`` sets beside them, such as PCA."""
    if key(name) == "umap":
        refuse("UMAP has no place in a model file, so it is only compared", "--method")
    others = {key(other): estimator for other, estimator in comparison.METHODS.items() if other not in METHODS}
    return clone(others[key(name)]) if key(name) in others else find(name)()


def key(name: str) -> str:
    """A name in lower case without punctuation, by which names are compared."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def parsed(text: str) -> Any:
    """What a text stands for: a graph, its name, a number of neighbours, or None for the method's own graph."""
    plain = text.strip().lower()
    if plain in ("supervised", "semi", "propagate", "none"):
        return None if plain == "none" else plain
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
            f"{text if len(text) < 80 else f'{text[:77]}...'!r}: {why}. Write supervised, semi, propagate, none, a number of "
            "neighbours, or a formula such as 'KNN(5) + 0.5 * SameClass()'",
            "--graph",
        )
    return found


def _value(node: ast.AST) -> Any:
    """What a part of a formula stands for: graphs with signs between them, a call of what is known, or a plain value."""
    match node:
        case ast.BinOp():
            sides = _value(node.left), _value(node.right)
            if not all(isinstance(side, Graph | int | float) for side in sides):  # a text times 10**10 fills the memory
                raise ValueError(f"{ast.unparse(node)!r}: signs stand between graphs and numbers")
            if type(node.op) in SIGNS:
                return SIGNS[type(node.op)](*sides)
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.Call():
            return _called(node)
        case ast.Name():
            return _called(ast.Call(node, [], []))  # KNN stands for KNN()
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise ValueError(f"{ast.unparse(node)!r} is no graph, number, text or list, and may not stand there") from error


def _called(node: ast.Call) -> Any:
    """What a call makes, which can be of a public graph or of a transformer alone."""
    name = getattr(node.func, "id", None) or ast.unparse(node.func)
    if name not in KNOWN:
        raise ValueError(f"there is no graph {name!r} to be written here; {did_you_mean(name, KNOWN)}")
    has = list(signature(KNOWN[name]).parameters)
    if wrong := [str(given.arg) for given in node.keywords if given.arg not in has]:
        raise ValueError(f"{name} has no parameter {wrong[0]!r}; it has {', '.join(has) or 'none'}")
    return KNOWN[name](*map(_value, node.args), **{str(given.arg): _value(given.value) for given in node.keywords})


class Choice(NamedTuple):
    """What the user wrote of the graph and of dimensions."""

    graph: str | None
    dimensions: str | None


def configure(estimator: Any, choice: Choice, parameters: dict[str, Any]) -> None:
    """Set what ``--graph``, ``--dimensions`` and ``--param`` say. What the method does not have is an error."""
    known = estimator.get_params()
    steps = [f"{step}__n_components" for step, _ in getattr(estimator, "steps", [])]
    size = [name for name in (*steps, "n_features_to_select", "n_components") if name in known][-1]
    for key in parameters:
        if key == size or key.partition("__")[0] == "graph":
            option = "-d" if key == size else "--graph, as in 'KNN(9, weights=\"binary\")'"
            refuse(f"{key} is given by {option}", "--param")
        if key not in known:
            refuse(f"{type(estimator).__name__} has no parameter {key!r}; {did_you_mean(key, known)}", "--param")
    if choice.graph is not None:
        if "graph" not in known:
            refuse(f"{type(estimator).__name__} has no graph", "--graph")
        parameters = parameters | {"graph": parsed(choice.graph)}
    if choice.dimensions is not None:
        parameters = parameters | {size: _number(choice.dimensions)}
    estimator.set_params(**parameters)


def _number(text: str) -> Any:
    """What ``--dimensions`` stands for: a number, all, one less than classes, or a number per mode."""
    if text in ("all", "auto"):
        return None if text == "all" else text
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", text):
        refuse(f'{text!r}: it is neither a number, nor "auto", nor "all", nor like 8x6', "--dimensions")
    numbers = tuple(map(int, text.split("x")))
    return numbers[0] if len(numbers) == 1 else numbers


def settle_graph(estimator: Any, choice: Choice, partly: bool, column: str) -> None:
    """Set a graph that reads the labels, unless the user chose a graph. One line says which it is.

    ``partly`` says that some rows have none, and ``column`` what the labels are called.
    """
    # "auto" asks for labels whatever the graph, which is what is looked at here.
    sized = {"n_components": 2} if isinstance(getattr(estimator, "n_components", None), str) else {}
    if get_tags(clone(estimator).set_params(**sized)).target_tags.required:
        return
    if choice.graph is not None:
        say(f"the {column} are NOT USED: --graph asks for a graph without them (--graph supervised uses them)")
        return
    has_graph = "graph" in estimator.get_params()
    # Those that work with any graph keep together what it links, also for new rows.
    takes_any = has_graph and isinstance(estimator, Reducer) and not isinstance(estimator, FreeReducer)
    if not (takes_any and isinstance(estimator.default_graph(estimator.n_neighbors), KNN | Reconstruction)):
        way = " (--graph semi uses them)" if has_graph else ""
        say(f"the {column} are NOT USED: {type(estimator).__name__} looks at the features alone{way}")
        return
    estimator.set_params(graph="semi" if partly else "supervised")
    if not partly and choice.dimensions is None and isinstance(estimator, ProjectingReducer):
        estimator.set_params(n_components="auto")  # as many as tell classes apart
    graph = resolve_graph("graph", estimator.graph, estimator.default_graph, estimator.n_neighbors)
    kind = "semi-supervised" if partly else "supervised"
    say(f"the {column} are used: {kind} graph {graph!r} (--graph none leaves them out)")


def reads_columns(estimator: Any) -> bool:
    """Whether a graph of the estimator is built on some columns of X."""
    return any(isinstance(part, On) and not hasattr(part.what, "fit") for part in estimator.get_params().values())
