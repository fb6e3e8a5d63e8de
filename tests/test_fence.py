"""Imports of the new core point one way. This lists the edges of the design, and is not widened to fit the code."""

import ast
from pathlib import Path

import lapwing

ROOT = Path(lapwing.__file__).parent
CORE = {"auto", "data", "graphs", "maps", "neighbors", "operators", "problem", "search", "solvers", "summary"}
MAY_IMPORT = {
    "operators": set(),
    "neighbors": set(),
    "solvers": set(),
    "search": set(),
    "problem": {"operators"},
    "data": {"neighbors", "operators", "search"},
    "summary": {"data", "operators"},
    "maps": {"data", "solvers"},
    "auto": {"maps"},
    "graphs": {"data", "neighbors", "operators", "problem"},
    "reducers": CORE - {"search"},
    "methods": (CORE | {"reducers"}) - {"search"},
    "clustering": {"data", "graphs", "methods"},
    "testing": {"data", "neighbors", "operators"},
    "blocks": {"data", "neighbors", "summary"},
}


def imported(path):
    """The parts of the package that a file imports; helpers whose names begin with an underscore are nobody's."""
    folder = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*folder[: len(folder) - node.level + 1], *(node.module or "").split(".")]
            names = [base[0]] if base[0] else [alias.name for alias in node.names]
            yield from (name for name in names if not name.startswith("_"))
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            assert not any(name.partition(".")[0] == "lapwing" for name in names), f"{path} imports the old core"


def test_imports_point_one_way():
    found = {}
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if not part.startswith("_"):
            found.setdefault(part, set()).update(set(imported(path)) - {part})
    assert found.keys() == MAY_IMPORT.keys()
    wrong = {part: names - MAY_IMPORT[part] for part, names in found.items() if names - MAY_IMPORT[part]}
    assert not wrong
