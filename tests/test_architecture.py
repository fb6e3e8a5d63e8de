"""What holds of the whole package: imports point one way, and what is public says what it is."""

import ast
import inspect
from pathlib import Path

import pytest

import lapwing
from lapwing import graphs

ROOT = Path(lapwing.__file__).parent
MAY_IMPORT = {
    "operators": set(),
    "problem": {"operators"},
    "metrics": {"operators"},
    "blocks": set(),
    "graphs": {"blocks", "operators", "problem", "metrics"},
    "solvers": set(),
    "reducers": {"blocks", "operators", "problem", "graphs", "solvers"},
    "methods": {"blocks", "operators", "problem", "graphs", "solvers", "reducers"},
    "cost": {"blocks", "graphs", "methods", "operators", "reducers", "solvers"},
    "datasets": set(),
    "clustering": {"graphs", "methods", "operators", "reducers"},
    "comparison": {"graphs", "methods", "metrics", "operators", "reducers", "selection", "solvers"},
    "experiments": {
        "clustering",
        "datasets",
        "features",
        "graphs",
        "methods",
        "metrics",
        "plots",
        "recognition",
        "solvers",
    },
    "persistence": {"graphs", "methods", "reducers"},
    "report": {"comparison", "graphs", "plots", "selection"},
    "tables": set(),
    "cli": {
        "blocks",
        "reducers",
        "comparison",
        "datasets",
        "experiments",
        "graphs",
        "methods",
        "persistence",
        "report",
        "tables",
    },
    "features": set(),
    "recognition": set(),
    "selection": {"graphs", "reducers"},
    "testing": {"graphs", "persistence", "problem"},
    "plots": set(),
}


def imports(path):
    """The parts of lapwing, and the scikit-learn modules, that a file imports."""
    depth = len(path.relative_to(ROOT).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == depth and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_point_one_way(part):
    files = [ROOT / f"{part}.py"] if (ROOT / f"{part}.py").exists() else sorted((ROOT / part).glob("*.py"))
    assert files
    for path in files:
        found = set(imports(path)) & set(MAY_IMPORT)
        assert found <= MAY_IMPORT[part] | {part}, path


def test_no_private_scikit_learn():
    for path in ROOT.rglob("*.py"):
        private = [name for name in imports(path) if name.startswith("sklearn") and "._" in name]
        assert not private, (path, private)


@pytest.mark.parametrize("name", lapwing.__all__)
def test_methods_document_their_problem_and_parameters(name):
    cls = getattr(lapwing, name)
    doc = inspect.getdoc(cls)
    for section in (".. math::", "Parameters", "Attributes", "References", ">>> "):
        assert section in doc, section
    for parameter in cls().get_params():
        assert parameter in doc, parameter


@pytest.mark.parametrize("name", [name for name in graphs.__all__ if name not in ("Graph", "Sample")])
def test_graphs_document_their_parameters(name):
    cls = getattr(graphs, name)
    doc = inspect.getdoc(cls)
    for parameter in inspect.signature(cls).parameters:
        assert parameter in doc, parameter
