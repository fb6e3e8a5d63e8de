"""Tests use what users and authors of graphs and methods may use; those that look inside the core lie in ``tests/internals``."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# Parts of the core that nobody imports from outside, but for these names.
HIDDEN = {
    "blocks": {"as_blocks"},
    "devices": set(),
    "maps": set(),
    "neighbors": set(),
    "rows": {"Rows"},
    "solvers": set(),
}
# Parts whose files are the core's own, so that a private module of theirs is hidden too.
CORE = {"graphs", "methods", "operators", "problem", "reducers", *HIDDEN}
# What compares cores, or names sizes inside them for all other tests, may look inside.
MAY_LOOK = {
    "limits.py",
    "helpers.py",
    "rows_in_blocks.py",
    "rule.py",
    "test_fence.py",
    "test_spine.py",
    "test_kinds_of_rows.py",
}
FILES = [path for path in sorted(TESTS.rglob("*.py")) if "internals" not in path.parts and path.name not in MAY_LOOK]


def is_internal(module, name):
    """Whether a name of a module of lapwing is the core's own."""
    package, part, *rest = [*module.split("."), "", ""]
    if package != "lapwing":
        return package == "lapwing2"
    if not part:
        return name in HIDDEN
    return (part in HIDDEN and name not in HIDDEN[part]) or (part in CORE and rest[0].startswith("_"))


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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TESTS).as_posix())
def test_tests_do_not_look_inside(path):
    assert not set(internals(ast.parse(path.read_text("utf-8"))))


@pytest.mark.parametrize(
    ("code", "inside"),
    [
        ("from lapwing.maps import Kernel", True),
        ("from lapwing.reducers._base import Reducer", True),
        ("from lapwing import neighbors", True),
        ("import lapwing.solvers", True),
        ("patch('lapwing.blocks._blocks.BLOCK_BYTES')", True),
        ("def test():\n    from lapwing.rows import lengths", True),
        ("from lapwing.rows import Rows", False),
        ("from lapwing.reducers import LinearReducer", False),
        ("from lapwing import LPP, blocks", True),
        ("from lapwing.blocks import as_blocks", False),
        ("from lapwing.tables._csv import HEAD", False),
    ],
)
def test_the_guard_sees_what_is_inside(code, inside):
    assert bool(list(internals(ast.parse(code)))) == inside
