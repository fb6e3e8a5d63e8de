"""Tries the lapwing that is installed, as a user would: ``make dist`` runs it in an environment with the wheel alone.

With ``--cli``, for which the extra ``cli`` must be installed, it tries the command line as well.
"""

import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from sklearn.datasets import load_digits, load_iris

import lapwing
from lapwing import LPP


def fit():
    X, y = load_digits(return_X_y=True)
    model = LPP("auto", graph="supervised").fit(X, y)
    assert model.transform(X).shape == (1797, 9)
    print(f"lapwing {version('lapwing')} in {Path(lapwing.__file__).parent}: {model} fitted")


def command_line():
    program = Path(sys.executable).with_name("lapwing")
    methods = subprocess.run([program, "methods"], check=True, capture_output=True, text=True).stdout
    assert all(name in methods for name in lapwing.__all__), methods
    X, y = load_iris(return_X_y=True, as_frame=False)
    with tempfile.TemporaryDirectory() as folder:
        table, model, projected = (Path(folder) / name for name in ("iris.csv", "model.lapwing", "projected.csv"))
        rows = (f"{','.join(map(str, row))},{label}" for row, label in zip(X, y, strict=True))
        table.write_text("a,b,c,d,species\n" + "\n".join(rows))
        options = ["--label", "species", "--method", "lpp", "-d", "2", "-o", model]
        subprocess.run([program, "fit", table, *options], check=True)
        subprocess.run([program, "transform", model, table, "-o", projected], check=True)
        assert len(projected.read_text().splitlines()) == 151
    print("lapwing methods, fit and transform work")


if __name__ == "__main__":
    fit()
    if "--cli" in sys.argv:
        command_line()
