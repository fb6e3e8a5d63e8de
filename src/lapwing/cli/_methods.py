"""``lapwing methods``: list the methods, or describe one. In a terminal equations are in Unicode and not in LaTeX."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from inspect import getdoc
from typing import Annotated, Any

import typer

from ._console import print_json, print_table
from ._options import Json

GREEK = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "lambda": "λ"},
    **{"mu": "μ", "xi": "ξ", "phi": "φ", "psi": "ψ", "rho": "ρ", "sigma": "σ"},
}
SYMBOLS = {
    **{f"\\{name}": letter for name, letter in GREEK.items()},
    **{r"\sum": "Σ", r"\dots": "…", r"\le": "≤", r"\ne": "≠", r"\cdot": "·", r"\|": "‖"},
    **{r"\exp": "exp", r"\max": "max", r"\min": "min"},
    **{r"\qquad": "  ", r"\quad": "  ", r"\ ": " ", r"\,": " "},
    **dict.fromkeys([r"\left", r"\right", r"\Big", r"\textstyle"], ""),
}
RAISED = str.maketrans("0123456789+-dijnpst", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵈⁱʲⁿᵖˢᵗ")
LOWERED = str.maketrans("0123456789+-aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
UP, DOWN = "\x01", "\x02"  # Marks that stand for ^ and _ of scripts that cannot be written, until all others are found.
COMMAND = re.compile(r"\\(?:[a-zA-Z]+|[^a-zA-Z])")
BLOCK = re.compile(r"^( *)\.\. math::(.*(?:\n(?:\1 +.*)?)*)", re.M)


def methods(
    name: Annotated[str | None, typer.Argument(help="A method, to read all about it.")] = None, json: Json = False
) -> None:
    """List the methods, or describe one."""
    if name is not None:
        cls = find(name, "NAME")
        text = readable(getdoc(cls) or "")
        if json:
            print_json({**_described(cls), "parameters": cls().get_params(deep=False), "text": text})
        else:
            typer.echo(_printable(text, sys.stdout.encoding or "utf-8"))
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
    """LaTeX as Unicode."""
    tex = re.sub(r"\^\\top", "ᵀ", tex)
    tex = re.sub(r"\\tilde (\w)", "\\1\u0303", tex)
    tex = COMMAND.sub(lambda found: SYMBOLS.get(found[0], found[0]), tex)
    tex = re.sub(r"\\t?frac(\w)(\w)", r"\1/\2", tex)
    before = ""
    while tex != before:  # inner braces are handled first
        before = tex
        tex = re.sub(r"\\(?:operatorname|text)\{([^{}]*)\}", r"\1", tex)
        tex = re.sub(r"\\tag\{([^{}]*)\}", r"   (\1)", tex)
        tex = re.sub(
            r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda found: " / ".join(map(_in_brackets, found.groups())), tex
        )
        tex = re.sub(r"([_^])(?:\{([^{}]*)\}|([^\s{]))", lambda found: _moved(found[1], found[2] or found[3]), tex)
    return tex.replace(UP, "^").replace(DOWN, "_").strip()


def _in_brackets(part: str) -> str:
    return f"({part})" if " " in part.strip() else part


def _moved(mark: str, text: str) -> str:
    """A superscript or subscript, in small letters where Unicode has all of them."""
    letters, sign = (RAISED, UP) if mark == "^" else (LOWERED, DOWN)
    if all(ord(letter) in letters for letter in text):
        return text.translate(letters)
    return f"{sign}{text}" if len(text) == 1 or text.isalpha() else f"{sign}({text})"
