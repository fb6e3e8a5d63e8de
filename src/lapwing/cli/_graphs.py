"""``--graph``: a small language of graphs. It can call nothing but the constructors of public graphs and transformers.

A text is ``supervised``, ``semi``, ``none``, ``knn``, a number of neighbours, or a formula: ``KNN(5) + 0.5 * SameClass()``.
"""

from __future__ import annotations

import ast
from difflib import get_close_matches
from importlib import import_module
from inspect import isclass, signature
from typing import Any

import typer

LONGEST = 1_000  # the most characters that a formula may have
# These are made by operators, or from a matrix.
NOT_WRITTEN = ("Combination", "Empty", "Graph", "Intersection", "Precomputed", "Scaled", "Union")
# The transformers that On may apply to the rows.
TRANSFORMERS = {
    "Gower": "lapwing.graphs",
    "MaxAbsScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "PCA": "sklearn.decomposition",
    "RobustScaler": "sklearn.preprocessing",
    "StandardScaler": "sklearn.preprocessing",
    "TruncatedSVD": "sklearn.decomposition",
}
SIGNS = {
    ast.Add: "__add__",
    ast.Sub: "__sub__",
    ast.Mult: "__mul__",
    ast.Div: "__truediv__",
    ast.BitAnd: "__and__",
    ast.BitOr: "__or__",
}


def parsed(text: str) -> Any:
    """What a text stands for: a graph, its name, a number of neighbours, or None for the method's own graph."""
    from ..graphs import KNN

    plain = text.strip().lower()
    if plain in ("supervised", "semi"):
        return plain
    if plain in ("none", "knn"):
        return None if plain == "none" else KNN()
    if plain.isascii() and plain.isdigit() and int(plain):
        return int(plain)
    if len(text) > LONGEST:
        raise _refusal(text, f"it is longer than {LONGEST:,} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" (near character {error.offset})" if isinstance(error, SyntaxError) and error.offset else ""
        raise _refusal(text, f"it is no formula{where}") from error
    found = _value(tree.body, text)
    if not _is_graph(found):
        raise _refusal(text, "it is a number that is no number of neighbours")
    return found


def _value(node: ast.expr, text: str) -> Any:
    """A graph, or a number that a graph is multiplied by."""
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        return _combined(node, text)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, text)
        return value * -1
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name):  # KNN without brackets is KNN()
        return _made(_class(node.id, text), [], {}, text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        args = [_argument(arg, text) for arg in node.args]
        named = {str(keyword.arg): _argument(keyword.value, text) for keyword in node.keywords}
        return _made(_class(node.func.id, text), args, named, text)
    raise _refusal(
        text, f"{ast.unparse(node)!r} is no graph, sum, difference, multiple, intersection or union of graphs"
    )


def _combined(node: ast.BinOp, text: str) -> Any:
    left, right = _value(node.left, text), _value(node.right, text)
    sign = ast.unparse(node)
    if isinstance(node.op, ast.Mult) and not _is_graph(left):
        left, right = right, left
    scales = isinstance(node.op, ast.Mult | ast.Div)
    if not _is_graph(left) or _is_graph(right) == scales:
        what = "a graph and a number" if scales else "two graphs"
        raise _refusal(text, f"{sign!r}: this sign stands between {what}")
    try:
        return getattr(left, SIGNS[type(node.op)])(right)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise _refusal(text, f"{sign!r}: {error}") from error


def _is_graph(value: Any) -> bool:
    from ..graphs import Graph

    return isinstance(value, Graph)


def _class(name: str, text: str) -> Any:
    known = _classes()
    if name in known:
        return known[name]
    folded = {public.lower(): public for public in known}
    close = get_close_matches(name.lower(), folded, n=1)
    hint = f"did you mean {folded[close[0]]}?" if close else f"known are {', '.join(sorted(known))}"
    raise _refusal(text, f"there is no graph {name!r} to be written here; {hint}")


def _classes() -> dict[str, Any]:
    from .. import graphs

    return {
        public: cls
        for public in graphs.__all__
        if public not in NOT_WRITTEN and isclass(cls := getattr(graphs, public)) and issubclass(cls, graphs.Graph)
    }


def _made(cls: Any, args: list[Any], named: dict[str, Any], text: str) -> Any:
    parameters = list(signature(cls).parameters)
    unknown = [name for name in named if name not in parameters]
    if unknown:
        raise _refusal(
            text, f"{cls.__name__} has no parameter {unknown[0]!r}; it has {', '.join(parameters) or 'none'}"
        )
    try:
        return cls(*args, **named)
    except (TypeError, ValueError) as error:
        raise _refusal(text, f"{cls.__name__}: {error}") from error


def _argument(node: ast.expr, text: str) -> Any:
    """A plain value, a graph inside another as in ``Similarity(KNN(5))``, or a transformer as in ``On(PCA(0.98), KNN(5))``."""
    inner = node.func if isinstance(node, ast.Call) else node
    if isinstance(node, ast.Call) and isinstance(inner, ast.Name) and inner.id in TRANSFORMERS:
        args = [_literal(arg, text) for arg in node.args]
        named = {str(keyword.arg): _literal(keyword.value, text) for keyword in node.keywords}
        return _made(getattr(import_module(TRANSFORMERS[inner.id]), inner.id), args, named, text)
    is_graph = isinstance(inner, ast.Name) and inner.id in _classes()
    is_formula = isinstance(node, ast.BinOp) and type(node.op) in SIGNS
    return _value(node, text) if is_graph or is_formula else _literal(node, text)


def _literal(node: ast.expr, text: str) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise _refusal(text, f"{ast.unparse(node)!r} is no number, text, list or other plain value") from error


def _refusal(text: str, why: str) -> typer.BadParameter:
    given = text if len(text) < 80 else f"{text[:77]}..."
    return typer.BadParameter(
        f"{given!r}: {why}. Write supervised, semi, none, knn, a number of neighbours, or a formula such as "
        "'KNN(5) + 0.5 * SameClass()'",
        param_hint="--graph",
    )
