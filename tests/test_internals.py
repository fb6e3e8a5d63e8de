"""Tests use what users and authors of graphs and methods may use, and nothing that lies inside the core."""

import ast
import re
from pathlib import Path

import pytest
from helpers import each

TESTS = Path(__file__).parent
# Parts of the core that nobody imports from outside, but for these names.
HIDDEN = {
    "auto": set(),
    "data": {"Data", "KernelData", "SparseData", "as_data", "canonical"},
    "device": set(),
    "device_search": set(),
    "maps": set(),
    "neighbors": {"Request"},
    "search": set(),
    "solvers": set(),
}
# Parts whose files are the core's own, so that a module of theirs is hidden too.
CORE = {"graphs", "methods", "reducers", "solvers"}
# What counts the core, compares its kinds of rows, or names sizes inside it for all other tests, may look inside.
MAY_LOOK = {
    "limits.py",
    "rows_in_blocks.py",
    "test_fence.py",
    "test_internals.py",
    "test_kinds_of_rows.py",
    "test_spine.py",
}
FILES = [path for path in sorted(TESTS.rglob("*.py")) if path.name not in MAY_LOOK]


def is_internal(module, name):
    """Whether a name of a module of lapwing is the core's own."""
    package, part, *rest = [*module.split("."), "", ""]
    if package != "lapwing":
        return False
    if not part:
        return name in HIDDEN
    return (part in HIDDEN and name not in HIDDEN[part]) or (part in CORE and bool(rest[0]))


def internals(tree):
    """What a file imports or replaces that is the core's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names if is_internal(node.module, alias.name))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_internal(alias.name, ""))
        elif isinstance(node, ast.Constant) and re.fullmatch(r"lapwing(\.\w+){2,}", str(node.value)):
            module, _, name = node.value.rpartition(".")
            if is_internal(module, name):
                yield node.value


@each("path", FILES)
def test_tests_do_not_look_inside(path):
    assert not set(internals(ast.parse(path.read_text("utf-8"))))


@pytest.mark.parametrize(
    ("code", "inside"),
    [
        ("from lapwing.maps import Kernel", True),
        ("from lapwing.reducers.base import Reducer", True),
        ("from lapwing import neighbors", True),
        ("import lapwing.solvers", True),
        ("patch('lapwing.data.LARGE_SIDE')", True),
        ("def test():\n    from lapwing.data import squared_lengths", True),
        ("from lapwing.data import as_data", False),
        ("from lapwing.reducers import LinearReducer", False),
        ("from lapwing import LPP, auto", True),
        ("from lapwing.methods.locality import About", True),
        ("from lapwing.methods import described", False),
        ("from lapwing.tables._csv import HEAD", False),
    ],
)
def test_the_guard_sees_what_is_inside(code, inside):
    assert bool(list(internals(ast.parse(code)))) == inside
