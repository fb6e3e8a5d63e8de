"""``lapwing methods``: list the methods, or describe one."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from ._console import print_json, print_table
from ._options import Json


def methods(
    name: Annotated[str | None, typer.Argument(help="A method, to read all about it.")] = None, json: Json = False
) -> None:
    """List the methods, or describe one."""
    if name is not None:
        _describe(find(name, "NAME"), json)
        return
    from ..methods import METHODS

    rows = [_described(method) for method in METHODS.values()]
    if json:
        print_json(rows)
        return
    columns = ["method", "minimises", "map", "constraint", "labels", "description"]
    if not sys.stdout.isatty():
        print_table(columns, [[row[name] for name in columns] for row in rows])
        return
    print_table(["method", "what it minimises; over which map; subject to what"], [_in_two_lines(row) for row in rows])


def _describe(cls: Any, json: bool) -> None:
    from inspect import getdoc

    from ._reading import readable

    text = readable(getdoc(cls) or "")
    if json:
        print_json({**_described(cls), "parameters": cls().get_params(deep=False), "text": text})
    else:
        typer.echo(_printable(text, sys.stdout.encoding or "utf-8"))


def _printable(text: str, encoding: str) -> str:
    """The text, in characters that the terminal can show."""
    from ..methods.about import plain

    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return plain(text).encode(encoding, "replace").decode(encoding)
    return text


def _in_two_lines(row: dict[str, str]) -> list[str]:
    needed = "; needs labels" if row["labels"] == "needed" else ""
    problem = f"{row['minimises']}; {row['map']}; {row['constraint']}{needed}"
    return [row["method"], f"{row['description']}\n  {problem}"]


def _described(cls: Any) -> dict[str, str]:
    from ..methods.about import described, plain

    return {name: plain(text) for name, text in described(cls).items()}


def find(name: str, argument: str = "--method") -> Any:
    """The class of a method, whatever way its name is written."""
    from ..methods import METHODS

    names = {key(method): method for method in METHODS}
    if key(name) not in names:
        close = get_close_matches(key(name), names, n=1)
        hint = f"did you mean {names[close[0]].lower()}?" if close else "lapwing methods lists them"
        raise typer.BadParameter(f"there is no method {name!r}; {hint}", param_hint=argument)
    return METHODS[names[key(name)]]


def to_fit(name: str) -> Any:
    """An unfitted estimator: a method of lapwing, or one that ``compare`` sets beside them, such as PCA."""
    from ..methods import METHODS

    if key(name) == "umap":
        raise typer.BadParameter("UMAP has no place in a model file, so it is only compared", param_hint="--method")
    if key(name) not in map(key, METHODS):
        from sklearn.base import clone

        from .. import comparison

        others = {key(other): estimator for other, estimator in comparison.METHODS.items()}
        if key(name) in others:
            return clone(others[key(name)])
    return find(name)()


def key(name: str) -> str:
    """A name in lower case without punctuation, by which names are compared."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
