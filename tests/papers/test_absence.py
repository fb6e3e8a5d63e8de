"""Without ``lapwing.papers`` nothing is missing but the experiments."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lapwing

for name in ("typer", "rich", "matplotlib", "jinja2", "skops"):
    pytest.importorskip(name)
ROOT = Path(lapwing.__file__).parent
COMMANDS = {
    "--help": "reproduce",
    "methods": "LPP",
    "inspect model.lapwing": "LPP",
    "fit iris.csv --label kind --method lpp -d 2 -o fitted.lapwing": "",
    "transform model.lapwing iris.csv --drop kind": "lpp0",
    "compare iris.csv --label kind --methods lpp,pca --cv 3 -o report.html": "LPP",
}
REPRODUCE = ("reproduce", "reproduce --quick", "reproduce lpdp-table-1")
SCRIPT = """
import json, sys
from importlib import import_module
from pkgutil import walk_packages

sys.modules["lapwing.papers"] = None  # importing it fails as if its folder were not there

import numpy as np
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import lapwing
from lapwing.cli._app import app
from lapwing.comparison import compare

X, y = load_iris(return_X_y=True)
model = lapwing.LPP(2).fit(X, y)
lapwing.save(model, "model.lapwing")
np.testing.assert_array_equal(lapwing.load("model.lapwing").transform(X), model.transform(X))
assert compare(X, y, methods=["lpp", "pca"], dimensions=[1, 2], cv=3).choice[0] in ("LPP", "PCA")
np.savetxt("iris.csv", np.c_[X, y], delimiter=",", header="a,b,c,d,kind", comments="")
done = {command: CliRunner().invoke(app, command.split()) for command in sys.argv[1:]}
said = {command: (one.exit_code, one.stdout, one.stderr) for command, one in done.items()}
names = [module.name for module in walk_packages(lapwing.__path__, "lapwing.")]
others = [name for name in names if not name.startswith("lapwing.papers") and not name.endswith("__main__")]
print(json.dumps(said | {"imported": [import_module(name).__name__ for name in others]}))
"""


def python(code, *arguments, cwd):
    """What it prints."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The exit code, standard output and standard error of each command, after a fit, a saved model and a comparison.

    And the modules that could be imported.
    """
    return json.loads(python(SCRIPT, *COMMANDS, *REPRODUCE, cwd=tmp_path_factory.mktemp("absence")))


def test_only_reproduce_imports_it():
    """Examples in docstrings count too."""
    importing = re.compile(r"\b(from|import) [\w.]*\bpapers\b|import_module\(.*papers")
    outside = [path for path in ROOT.rglob("*.py") if ROOT / "papers" not in path.parents]
    assert [path for path in outside if importing.search(path.read_text())] == [ROOT / "cli" / "_reproduce.py"]


def test_every_other_module_imports(done):
    imported = done["imported"]
    assert {"lapwing.methods", "lapwing.graphs", "lapwing.clustering", "lapwing.cli._reproduce"} <= set(imported)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_works(done, command):
    code, output, errors = done[command]
    assert code == 0, errors
    assert COMMANDS[command] in output


@pytest.mark.parametrize("command", REPRODUCE)
def test_reproduce_says_so_in_one_line(done, command):
    code, output, errors = done[command]
    assert (code, output) == (1, "")
    assert re.fullmatch(r"lapwing: the published experiments, lapwing\.papers, are not installed; .*\n", errors)
