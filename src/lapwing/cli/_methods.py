"""``lapwing methods``: list the methods, or describe one, with its equations in Unicode and not in LaTeX."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from inspect import getdoc
from itertools import groupby
from typing import Any

import typer
from sklearn.base import clone

from .. import comparison
from ..methods import METHODS
from ..methods.about import described, plain
from ._console import print_json, print_table
from ._options import refuse

SYMBOLS = {
    **{r"\alpha": "α", r"\beta": "β", r"\gamma": "γ", r"\delta": "δ", r"\epsilon": "ε", r"\lambda": "λ"},
    **{r"\mu": "μ", r"\xi": "ξ", r"\phi": "φ", r"\psi": "ψ", r"\rho": "ρ", r"\sigma": "σ", r"\top": "ᵀ"},
    **{r"\sum": "Σ", r"\dots": "…", r"\le": "≤", r"\ne": "≠", r"\cdot": "·", r"\|": "‖"},
    **{r"\exp": "exp", r"\max": "max", r"\min": "min"},
    **{r"\qquad": "  ", r"\quad": "  ", r"\ ": " ", r"\,": " "},
    **dict.fromkeys([r"\left", r"\right", r"\Big", r"\Bigl", r"\Bigr", r"\textstyle"], ""),
}
BLOCK = re.compile(r"^( *)\.\. math::(.*(?:\n(?:\1 +.*)?)*)", re.M)
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
        lines = []
        for row in members:
            needs = " Needs labels." if row["labels"] == "needed" else ""
            lines.append([f"  {row['method']:{LONGEST_NAME}}", row["description"] + needs])
        print_table(["", ""], lines, header=False, width=WIDTH)
        typer.echo()
    return typer.echo("lapwing methods NAME has the equation and the parameters of a method.")


def describe_method(name: str, json: bool) -> None:
    """Print the equation of a method and all its parameters."""
    cls = find(name, "NAME")
    about, text = described(cls), readable(getdoc(cls) or "")
    if json:
        return print_json({**_facts(cls), "parameters": cls().get_params(deep=False), "text": text})
    algebra = f"{about['minimises']}; map: {about['map']}; constraint: {about['constraint']}; labels: {about['labels']}"
    text = f"{cls.__name__} minimises {algebra}.\n\n{text}".replace("`", "")
    return typer.echo(printable(text, sys.stdout.encoding or "utf-8"))


def printable(text: str, encoding: str) -> str:
    """The text in characters that the terminal can show."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return plain(text).encode(encoding, "replace").decode(encoding)
    return text


def find(name: str, argument: str = "--method") -> Any:
    """The class of a method, whatever way its name is written."""
    names = {key(method): method for method in METHODS}
    if key(name) not in names:
        close = get_close_matches(key(name), names, n=1)
        hint = f"did you mean {names[close[0]].lower()}?" if close else "lapwing methods lists them"
        refuse(f"there is no method {name!r}; {hint}", argument)
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


def readable(text: str) -> str:
    """A docstring without LaTeX and without marks of reStructuredText."""
    text = BLOCK.sub(lambda found: f"{found[1]}    {equation(' '.join(found[2].split()))}\n\n", text)
    text = re.sub(r":math:`([^`]*)`", lambda found: equation(found[1]), text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text)
    text = re.sub(r"\[(\d)\]_", r"[\1]", text)
    text = re.sub(r"^\.\. \[", "[", text, flags=re.M)
    text = re.sub(r" : \{(.*?)\}", r" : \1", text)  # the choices of a parameter lose their braces
    return text.replace("``", "")


def equation(tex: str) -> str:
    """LaTeX as Unicode, with x_i and x^2 as people type them."""
    tex = re.sub(r"\\tilde (\w)", "\\1\u0303", tex.replace(r"^\top", "ᵀ"))
    tex = re.sub(r"\\(?:[a-zA-Z]+|[^a-zA-Z])", lambda found: SYMBOLS.get(found[0], found[0]), tex)
    tex = re.sub(r"\\t?frac(\w)(\w)", r"\1/\2", tex)
    before = ""
    while tex != before:  # inner braces are handled first
        before = tex
        tex = re.sub(r"\\(?:operatorname|text)\{([^{}]*)\}", r"\1", tex)
        tex = re.sub(r"\\tag\{([^{}]*)\}", r"   (\1)", tex)
        tex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda parts: " / ".join(map(_bracketed, parts.groups())), tex)
        tex = re.sub(r"([_^])\{(\w*)\}", r"\1\2", tex)
        tex = re.sub(r"([_^])\{([^{}]*)\}", r"\1(\2)", tex)
    return tex.strip()


def _bracketed(part: str) -> str:
    return f"({part})" if " " in part.strip() else part
