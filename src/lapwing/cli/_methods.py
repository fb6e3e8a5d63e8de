"""``lapwing methods``: what there is, and what each solves."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from ._console import print_json, print_table
from ._options import Json

# What is minimised, over which map, subject to what.
PROBLEMS = {
    "LPP": ("L of a kNN graph", "linear", "D"),
    "OLPP": ("L", "linear", "orthogonal"),
    "NPE": ("(I-W)'(I-W), reconstruction", "linear", "I"),
    "ONPP": ("(I-W)'(I-W), reconstruction", "linear", "orthogonal"),
    "LPCA": ("-L of weighted patches", "linear", "orthogonal"),
    "LPI": ("L of cosine neighbours", "linear", "D"),
    "MMC": ("S_w - S_b", "linear", "orthogonal"),
    "LPDP": ("L - a(S_b - S_w)", "linear", "D"),
    "MFA": ("L of the same class", "linear", "L of others"),
    "DNE": ("L, same - other class", "linear", "orthogonal"),
    "KernelLPP": ("L", "kernel", "D"),
    "KernelNPE": ("(I-W)'(I-W)", "kernel", "I"),
    "TSA": ("L", "multilinear", "D"),
    "LaplacianEigenmaps": ("L", "free", "D"),
    "TangentialMaps": ("misfit of tangent patches", "free", "I"),
    "GLPCA": ("(1-b)(I-XX') + bL", "free", "I"),
    "RobustGLPCA": ("GLPCA in norms", "free", "I"),
    "L21PCA": ("PCA in norms", "free", "I"),
    "LaplacianScore": ("L", "one feature", "D"),
    "FisherScore": ("S_w", "one feature", "S_b"),
}


def methods(
    name: Annotated[str | None, typer.Argument(help="A method, to read all about it.")] = None,
    json: Json = False,
) -> None:
    """List the methods, or describe one."""
    if name is not None:
        _describe(find(name, "NAME"), json)
        return
    rows = [_described(method) for method in PROBLEMS]
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

    if json:
        print_json({**_described(cls.__name__), "parameters": cls().get_params(deep=False), "text": getdoc(cls)})
    else:
        typer.echo(getdoc(cls))


def _in_two_lines(row: dict[str, str]) -> list[str]:
    needed = "; needs labels" if row["labels"] == "needed" else ""
    problem = f"{row['minimises']}; {row['map']}; {row['constraint']}{needed}"
    return [row["method"], f"{row['description']}\n  {problem}"]


def _described(method: str) -> dict[str, str]:
    from sklearn.utils import get_tags

    cls = find(method)
    minimises, over, constraint = PROBLEMS[method]
    return {
        "method": method,
        "minimises": minimises,
        "map": over,
        "constraint": constraint,
        "labels": "needed" if get_tags(cls()).target_tags.required else "optional",
        "description": re.sub(r":class:`(\w+)`", r"\1", (cls.__doc__ or "").strip().split("\n")[0]),
    }


def find(name: str, argument: str = "--method") -> Any:
    """The class of a method, however its name is written."""
    import lapwing

    classes = {_key(method): method for method in lapwing.__all__}
    if _key(name) not in classes:
        from ..comparison import METHODS

        close = get_close_matches(_key(name), classes, n=1)
        hint = f"did you mean {classes[close[0]].lower()}?" if close else "lapwing methods lists them"
        if _key(name) in map(_key, METHODS):
            hint = "it is there to be compared with; lapwing methods lists those to fit"
        raise typer.BadParameter(f"there is no method {name!r}; {hint}", param_hint=argument)
    return getattr(lapwing, classes[_key(name)])


def _key(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()
