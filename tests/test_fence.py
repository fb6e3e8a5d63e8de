"""What holds of the whole package: imports point one way, what is private stays at home, and what is imported is declared."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from helpers import each

import lapwing

ROOT = Path(lapwing.__file__).parent
PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
CORE = {"auto", "data", "graphs", "maps", "neighbors", "operators", "problem", "search", "solvers"}
MAY_IMPORT = {
    # The core, whose edges are those of the design. They are not widened to fit the code.
    "operators": set(),
    "neighbors": set(),
    "solvers": set(),
    "search": set(),
    "problem": {"operators"},
    "data": {"neighbors", "operators", "search"},
    "maps": {"data", "solvers"},
    "auto": {"maps"},
    "graphs": {"data", "neighbors", "operators", "problem"},
    "reducers": CORE - {"search"},
    "methods": (CORE | {"reducers"}) - {"search"},
    # Kinds of rows that are imported when such an array comes.
    "device": {"data", "device_search", "neighbors", "operators"},
    "device_search": set(),
    "blocks": {"data", "neighbors"},
    # What stands on the core.
    "metrics": set(),
    "clustering": {"data", "graphs", "methods"},
    "exact": {"data", "graphs", "neighbors"},
    "selection": {"graphs", "methods", "metrics", "reducers"},
    "comparison": {"auto", "data", "graphs", "methods", "metrics", "reducers", "report", "selection", "solvers"},
    "persistence": {"clustering", "device", "graphs", "methods", "reducers", "selection", "solvers", "tables"},
    "vectors": {"methods", "reducers"},
    "inspection": {"device", "problem", "reducers"},
    "plots": {"inspection"},
    "report": {"graphs", "inspection", "metrics", "plots", "selection"},
    "tables": set(),
    "verification": {"device", "graphs", "reducers", "solvers"},
    "testing": {"data", "graphs", "lapwing", "neighbors", "operators", "persistence", "problem"},
    "cli": {
        "comparison",
        "graphs",
        "inspection",
        "methods",
        "metrics",
        "persistence",
        "reducers",
        "report",
        "selection",
        "tables",
        "verification",
    },
}

# Parts that nobody imports who has not what they need.
BEHIND = {"cli": "cli"}
DISTRIBUTIONS = {
    "triton": "torch",
    "PIL": "pillow",
    "faiss": "faiss-cpu",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
}


@cache
def files():
    """The trees of all files, by their names under the package."""
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def part_of(file):
    """The package of the file, or the module where it lies at the top."""
    return file.split("/")[0].removesuffix(".py")


def imports(file, tree=None):
    """The dotted names that the file imports, wherever in the file and however written, and the statement of each."""
    package = ["lapwing", *file.split("/")[:-1]]
    for node in ast.walk(tree or files()[file]):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            home = package[: len(package) + 1 - node.level] if node.level else []
            module = [*home, *filter(None, [node.module])]
            yield from ((".".join([*module, alias.name]), node) for alias in node.names)


def parts_imported(file, tree=None):
    """Of lapwing; "lapwing" where it, or a method, is imported from the top, since every part can be reached from there."""
    names = [[*name.split("."), "lapwing"][1] for name, _ in imports(file, tree) if name.split(".")[0] == "lapwing"]
    return {name if name in MAY_IMPORT else "lapwing" for name in names if not name.startswith("_")}


def private(name):
    return name.startswith("_") and not name.endswith("__")


def is_foreign(name, file):
    """Whether the first private name of a dotted one belongs to a package that the file is not in."""
    names = name.split(".")
    owner = names[: next((i for i, part in enumerate(names) if private(part)), 0)]
    home = ["lapwing", *file.removesuffix(".py").split("/")]
    return owner[:1] == ["lapwing"] and home[: len(owner)] != owner


def defined(tree):
    """The private names to which the file gives a meaning: functions, classes, variables, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def attributes_of_others(tree):
    """Private attributes of anything but ``self`` and ``cls``: as code, name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and private(node.attr):
            yield ast.unparse(node), node.attr, ast.unparse(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr", "setattr"):
            name = node.args[1].value if isinstance(node.args[1], ast.Constant) else ""
            if private(name):
                yield f"{ast.unparse(node.args[0])}.{name}", name, ast.unparse(node.args[0])


# What maps and methods declare of themselves for the one place that takes X and the one that decides "auto". Public names would
# be shown to users of every estimator.
DECLARED = {"data.py": {"_takes_sparse"}, "auto.py": {"_choices", "_rules"}}


def foreign_attributes(file, homes, tree=None):
    own = ("self", "cls", "super()")
    for code, name, owner in attributes_of_others(tree or files()[file]):
        if name in DECLARED.get(file, ()):
            continue
        if owner not in own and homes.get(name) and part_of(file) not in homes[name]:
            yield f"{file}: {code}"


def homes():
    """Which parts define a private name."""
    found = {}
    for file, tree in files().items():
        for name in filter(private, defined(tree)):
            found.setdefault(name, set()).add(part_of(file))
    return found


def test_every_part_is_in_the_table():
    assert {part_of(file) for file in files() if not part_of(file).startswith("_")} <= set(MAY_IMPORT)


def test_neither_the_library_nor_its_tests_import_the_papers():
    """``lapwing_papers`` imports lapwing. Code in strings counts too, such as the examples of docstrings."""
    files = [path for folder in (ROOT, Path(__file__).parent) for path in folder.rglob("*.py")]
    assert len(files) > 200
    assert not [path for path in files if re.search(r"(from|import) lapwing_papers", path.read_text("utf-8"))]


@each("part", MAY_IMPORT)
def test_imports_point_one_way(part):
    found = {name: file for file in files() if part_of(file) == part for name in parts_imported(file)}
    assert not {name: file for name, file in found.items() if name not in MAY_IMPORT[part] | {part}}


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("from ..methods import LPP", {"methods"}),
        ("from ..methods._locality import LPP", {"methods"}),
        ("from .. import methods, tables", {"methods", "tables"}),
        ("from . import _search", {"graphs"}),
        ("import lapwing", {"lapwing"}),
        ("from lapwing import LPP", {"lapwing"}),
        ("from .. import LPP, __version__", {"lapwing"}),
        ("from .._extras import require", set()),
        ("import lapwing.methods as m", {"methods"}),
        ("from lapwing import methods", {"methods"}),
        ("from lapwing.methods import LPP", {"methods"}),
        ("def f():\n    from lapwing.methods import LPP", {"methods"}),
        ("import numpy, lapwingx", set()),
    ],
)
def test_the_guard_sees_every_way_to_import(code, parts):
    assert parts_imported("graphs/_search.py", ast.parse(code)) == parts


def test_no_private_name_crosses_a_package():
    found = {f"{file}: {name}" for file in files() for name, _ in imports(file) if is_foreign(name, file)}
    assert not found


@pytest.mark.parametrize(
    ("code", "foreign"),
    [
        ("from ..graphs._search import nearest", True),
        ("from ..graphs import _search", True),
        ("from ..metrics import _ranks", True),
        ("from lapwing.graphs._search import nearest", True),
        ("from ..graphs import KNN", False),
        ("from ._base import Reducer", False),
        ("from .._extras import require", False),
        ("from ..graphs import __all__", False),
    ],
)
def test_the_guard_sees_private_imports(code, foreign):
    ((name, _),) = imports("reducers/_linear.py", ast.parse(code))
    assert is_foreign(name, "reducers/_linear.py") == foreign


def test_no_private_attribute_is_used_from_outside_its_package():
    known = homes()
    assert not {use for file in files() for use in foreign_attributes(file, known)}


def test_the_guard_sees_private_attributes():
    code = "self._a; cls._a; super()._a; x._a; x.y()._a(1); getattr(x, '_a', 0); x._b; x._elsewhere; x.__dict__"
    found = set(foreign_attributes("plots/_p.py", {"_a": {"reducers"}, "_b": {"plots", "reducers"}}, ast.parse(code)))
    assert found == {"plots/_p.py: x._a", "plots/_p.py: x.y()._a"}


def test_no_private_scikit_learn():
    found = [(file, name) for file in files() for name, _ in imports(file) if name.startswith("sklearn")]
    assert found
    assert not [(file, name) for file, name in found if any(map(private, name.split(".")))]


def distribution(module):
    return DISTRIBUTIONS.get(module.split(".")[0], module.split(".")[0])


def declared(requirements):
    """The names of distributions, those of the extras that the requirements name included."""
    found = set()
    for requirement in requirements:
        name, _, extras = requirement.split(">=")[0].partition("[")
        if name == "lapwing":
            found |= {d for extra in extras.rstrip("]").split(",") for d in extra_of(extra)}
        found.add(name)
    return found


def extra_of(name):
    return declared(PROJECT["optional-dependencies"][name])


def third_party(file):
    for name, node in imports(file):
        if name.split(".")[0] not in sys.stdlib_module_names | {"lapwing"}:
            yield distribution(name), node


def test_what_is_imported_at_the_top_is_declared():
    """By every user of the part: joblib and threadpoolctl come with scikit-learn today, and might not tomorrow."""
    core = declared(PROJECT["dependencies"])
    for file, tree in files().items():
        allowed = core | (extra_of(BEHIND[part_of(file)]) if part_of(file) in BEHIND else set())
        top = {name for name, node in third_party(file) if node in tree.body}
        assert top <= allowed, (file, top - allowed)


def test_what_is_imported_late_is_in_an_extra():
    extras = set.union(*map(extra_of, PROJECT["optional-dependencies"])) | declared(PROJECT["dependencies"])
    late = {(file, name) for file in files() for name, _ in third_party(file)}
    assert not {(file, name) for file, name in late if name not in extras}


def test_the_extra_that_an_error_names_has_what_is_missing():
    calls = [
        [ast.literal_eval(arg) for arg in node.args]
        for tree in files().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "require" and isinstance(node.args[0], ast.Constant)
    ]
    assert len(calls) > 10
    assert not [(module, extra) for module, extra in calls if distribution(module) not in extra_of(extra)]
