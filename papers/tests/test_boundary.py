"""What lapwing_papers takes from lapwing, and what the reference says of it."""

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import lapwing_papers
from lapwing._documented import entries

ROOT = Path(lapwing_papers.__file__).parent
DOCS = Path(__file__).parents[2] / "docs"
PUBLIC = {"lapwing", "lapwing.clustering", "lapwing.graphs", "lapwing.metrics", "lapwing.plots", "lapwing.selection"}
# What authors of graphs and methods need; ``as_data`` makes the rows that a graph is built on.
INTERNAL = {
    "lapwing.data": {"Data", "as_data"},
    "lapwing.methods": {"METHODS"},
    "lapwing.operators": {"Structured", "laplacian"},
    "lapwing.problem": {"Problem", "Term"},
    "lapwing.reducers": {"Reducer", *(f"{name}Reducer" for name in ("Linear", "Kernel", "Free", "Multilinear"))},
}


@cache
def files():
    """The name and the tree of each file."""
    return [(path.relative_to(ROOT), ast.parse(path.read_text("utf-8"))) for path in sorted(ROOT.rglob("*.py"))]


def imported(tree):
    """Module and name of all that a file imports from lapwing; the name is None where a module is imported whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "lapwing")
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module.split(".")[0] == "lapwing":
            yield from ((node.module, alias.name) for alias in node.names)


def is_allowed(module, name):
    if module in PUBLIC:
        return name in importlib.import_module(module).__all__
    return name in INTERNAL.get(module, ())


def test_only_public_names_and_what_authors_need_are_imported():
    assert not [(file, found) for file, tree in files() for found in imported(tree) if not is_allowed(*found)]


def test_the_guard_sees_the_imports():
    found = {name for _, tree in files() for _, name in imported(tree)}
    assert {"LPP", "KNN", "procrustes_error", "as_data"} <= found
    code = "import lapwing.maps\nfrom lapwing._validation import check_count\nfrom lapwing.graphs import base\nimport lapwingx"
    assert [is_allowed(*found) for found in imported(ast.parse(code))] == [False] * 3


# The reference


def listed():
    """What docs/api.rst lists of lapwing_papers."""
    section = (DOCS / "api.rst").read_text("utf-8").partition(".. currentmodule:: lapwing_papers\n")[2]
    return re.findall(r"^   ([\w.]+)$", section, re.M)


def thing(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f"lapwing_papers.{module}"), attribute)


def test_the_reference_has_a_section():
    assert {"datasets.load", "histograms.Chi2Neighbors", "experiments.run"} <= set(listed())


@pytest.mark.parametrize("name", [name for name in listed() if not name.startswith("experiments.")])
def test_every_parameter_is_documented_with_its_default(name):
    written = {each.lstrip("*"): kind for each, (kind, _) in entries(inspect.getdoc(thing(name)), "Parameters").items()}
    parameters = inspect.signature(thing(name)).parameters
    assert set(written) == set(parameters)
    for key, parameter in parameters.items():
        if parameter.default is not parameter.empty:
            assert ast.literal_eval(written[key].rpartition("default=")[2]) == parameter.default


def test_roles_of_pages_name_what_there_is():
    pages = [page.read_text("utf-8") for page in DOCS.glob("*.md")]
    roles = {role for page in pages for role in re.findall(r"\{(?:class|func)\}`~?lapwing_papers\.([\w.]+)`", page)}
    assert roles
    for role in roles:
        assert callable(thing(role))
        assert role in listed()
