"""Experiments use methods as their papers print them, ``preset="paper"``, or say that they measure lapwing's own settings."""

import ast
import inspect
from functools import cache
from pathlib import Path

import pytest

import lapwing
from lapwing_papers import experiments

METHODS = {name: getattr(lapwing, name) for name in lapwing.__all__ if inspect.isclass(getattr(lapwing, name))}
FOLDER = Path(experiments.__file__).parent


def built(tree):
    """Every call that makes an estimator of the library: the method, and the names of what it is given."""
    known = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in METHODS
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            method = known.get(called, called.split(".")[-1] if "lapwing." in called else "")
            if method in METHODS and "preset" in inspect.signature(METHODS[method]).parameters:
                yield method, {keyword.arg for keyword in node.keywords}


@cache
def of_papers():
    """File, method and the names of what it is given, of all that the experiments build."""
    return [(path.name, *one) for path in FOLDER.glob("*.py") for one in built(ast.parse(path.read_text()))]


def test_every_estimator_of_a_paper_says_whose_settings_it_has():
    assert not [(file, method) for file, method, named in of_papers() if "preset" not in named]


def test_the_guard_sees_the_experiments():
    found = [method for _, method, _ in of_papers()]
    assert len(found) > 50
    assert {"LPP", "OLPP", "ONPP", "LPDP", "MFA", "DNE", "LPCA", "LPI", "KernelLPP", "TSA", "GLPCA", "L21PCA"} <= set(
        found
    )


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ("from lapwing import LPP\nLPP(2, graph=5)", {"graph"}),
        ("from lapwing import LPP as L\nL(2, graph=5, preset='paper')", {"graph", "preset"}),
        ("import lapwing\nlapwing.LPP(2, graph=5)", {"graph"}),
    ],
)
def test_the_guard_sees_what_is_named(code, named):
    assert [*built(ast.parse(code))] == [("LPP", named)]
