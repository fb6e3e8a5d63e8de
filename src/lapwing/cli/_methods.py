"""``lapwing methods``: list the methods, or describe one."""

from __future__ import annotations

import re
from inspect import getdoc
from itertools import groupby
from typing import Any

import typer
from sklearn.base import clone

from .. import comparison
from ..methods import METHODS
from ..methods.about import described, plain
from ._console import did_you_mean, print_json, print_table
from ._options import refuse

WIDTH, LONGEST_NAME = 80, 18  # characters of a line, and of the name of a method
GOALS = {
    "neighbours": "Neighbours: what is near, or linked, stays near",
    "classes": "Classes: samples of one class come together, other classes apart",
    "patches": "Patches: the shape of each neighbourhood is kept",
    "representation": "Representation: principal components that a graph or labels guide",
    "features": "Features: choose some of the columns",
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
        needs = {"needed": " Needs labels."}
        lines = [
            [f"  {row['method']:{LONGEST_NAME}}", row["description"] + needs.get(row["labels"], "")] for row in members
        ]
        print_table(["", ""], lines, header=False, width=WIDTH)
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
