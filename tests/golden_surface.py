"""What the golden suite keeps beside its cases: the signatures of public names, and what twelve commands do.

Both are kept as JSON. Entries are called ``signature NAME`` and ``command NAME``, and ``changes.md`` lists them by these names.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import inspect
import io
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from golden_compare import GOLDEN, Record, differences
from sklearn.datasets import load_iris, load_wine

API = Path(__file__).parent.parent / "docs" / "api.rst"

# Public names that are not recorded: they leave the library.
DROPPED = {
    "checkpoint",
    "cost.Cost",
    "cost.estimate_cost",
    "metrics.chi2_distances",
    "persistence.ModelFileError",
    "persistence.can_save",
}
# Parameters that are not recorded: they leave, or take the place of something that leaves.
DROPPED_PARAMETERS = {
    "LPI": {"neighbors"},
    "graphs.KNN": {"recall"},
    "graphs.CodingLength": {"kernel"},
    "graphs.TangentAlignment": {"kernel"},
    "comparison.compare": {"memory", "progress"},
    "load": {"trusted"},
    "to_onnx": {"dtype"},
}
# Classes that hold results: users read them and do not make them, so that only their names are recorded.
RESULTS = {
    "Certificate",
    "comparison.Comparison",
    "inspection.Loadings",
    "inspection.Stability",
    "Verification",
    "tables.Prepared",
}
# What users call of a class, beside the class itself.
CALLED = (
    "transform",
    "inverse_transform",
    "predict",
    "problem",
    "smoothed",
    "local_subspaces",
    "get_feature_names_out",
    "get_support",
    "split",
    "build",
)


def public_names() -> list[str]:
    """The names of the reference, as they follow ``lapwing.``; those of the papers have no promise and are left out."""
    found, module = [], "lapwing"
    for line in API.read_text().splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.removeprefix(".. currentmodule:: ")
        elif re.fullmatch(r"   [A-Za-z]\w*(\.\w+)*", line) and module.partition(".")[0] == "lapwing":
            found.append(f"{module}.{line.strip()}".removeprefix("lapwing."))
    return [name for name in found if name not in DROPPED]


def lookup(name: str) -> Any:
    """A public name of the library; an AttributeError where there is no such name."""
    module, _, last = f"lapwing.{name}".rpartition(".")
    try:
        return getattr(importlib.import_module(module), last)
    except ImportError as error:
        raise AttributeError(str(error)) from error


def _written(function: Any, dropped: set[str]) -> str:
    """A signature without annotations, and without what is dropped."""
    signature = inspect.signature(function)
    kept = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name not in dropped]
    return re.sub(r" at 0x[0-9a-f]+", "", str(signature.replace(parameters=kept, return_annotation=signature.empty)))


def described(name: str) -> dict[str, Any]:
    """The signature of a name and of what users call of it, and whether its docstring has an example that is run."""
    found = lookup(name)
    entry: dict[str, Any] = {"doctest": ">>>" in (inspect.getdoc(found) or "")}
    if name in RESULTS or (inspect.isclass(found) and issubclass(found, Exception)):
        return entry
    entry["signature"] = _written(found, DROPPED_PARAMETERS.get(name, set()))
    if inspect.isclass(found):
        calls = {called: inspect.getattr_static(found, called, None) for called in CALLED}
        entry["calls"] = {
            called: _written(getattr(found, called), set())
            for called, method in calls.items()
            if inspect.isfunction(method) or isinstance(method, classmethod)
        }
    return entry


def signatures() -> dict[str, dict[str, Any]]:
    """All signatures, by the names of their entries."""
    return {f"signature {name}": described(name) for name in public_names()}


# --------------------------------------------------------------------------------------------------------------- commands

TOLERANCES = {"command export": 1e-5}  # ONNX computes in single precision; for all others it is 1e-8
Read = Callable[[Path, str], Record]


def _columns(names: list[str], rows: list[list[str]]) -> Record:
    """A table: its columns, and its numbers, whose signs are free by column."""
    numbers = np.array([[_number(entry) for entry in row] for row in rows])
    words = np.isnan(numbers).all(axis=0)
    written = {names[j]: [row[j] for row in rows] for j in np.flatnonzero(words)}
    return Record({"columns": names, **written}, {"0/numbers": numbers[:, ~words]})


def _number(entry: str) -> float:
    try:
        return float(entry)
    except ValueError:
        return np.nan


def table(path: str | None) -> Read:
    """Reads CSV, from a file or from standard output."""

    def read(folder: Path, output: str) -> Record:
        names, *found = csv.reader(io.StringIO(output if path is None else (folder / path).read_text()))
        return _columns(names, found)

    return read


def values(*keys: str) -> Read:
    """Reads these entries of JSON on standard output: numbers, and words. Of a list, each entry has them."""

    def read(folder: Path, output: str) -> Record:
        given = json.loads(output)
        facts, arrays = {}, {}
        for key in keys:
            found = given
            for part in key.split("."):
                found = [entry[part] for entry in found] if isinstance(found, list) else found[part]
            entries = found if isinstance(found, list) else [found]
            if entries and all(isinstance(entry, int | float) and not isinstance(entry, bool) for entry in entries):
                arrays[key] = np.abs(np.array(entries, dtype=float))
            else:
                facts[key] = found
        return Record(facts, arrays)

    return read


def exported(path: str, data: str) -> Read:
    """Runs a model of ONNX on the numbers of a table."""

    def read(folder: Path, output: str) -> Record:
        runtime = importlib.import_module("onnxruntime")
        session = runtime.InferenceSession(str(folder / path), providers=["CPUExecutionProvider"])
        (given,) = session.get_inputs()
        X = np.genfromtxt(folder / data, delimiter=",", skip_header=1)[::15, :-1]
        dtype = np.float64 if "double" in given.type else np.float32
        return Record({}, {"0/numbers": session.run(None, {given.name: X.astype(dtype)})[0]})

    return read


def nothing(folder: Path, output: str) -> Record:
    """Reads nothing: the exit code is enough."""
    return Record()


SCORES = ("dimension", "mean", "se", "accuracy", "balanced_accuracy", "f1", "nmi", "trustworthiness", "continuity")
# In this order, in one folder: a name, the arguments, and what is read.
COMMANDS: dict[str, tuple[str, Read]] = {
    "methods": ("methods --json", values("method", "family", "map", "constraint", "labels")),
    "no such method": ("fit iris.csv --label species --method nosuch", nothing),
    "compare": (
        "compare iris.csv --label species -m pca,lda,lpp-classes,mfa -d 1-3 --cv 3 -j 1 --json",
        values("rows", "features", "criterion", "choice.method", *(f"methods.{name}" for name in ("method", *SCORES))),
    ),
    "fit": ("fit iris.csv --label species --method lpp -d 2 -o iris.lapwing", nothing),
    "transform": ("transform iris.lapwing iris.csv --label species -o projected.csv", table("projected.csv")),
    "inspect": (
        "inspect iris.lapwing --json",
        values(
            "method", "features", "feature_names", "outputs", "rank", "n_connected_components", "graph", "eigenvalues"
        ),
    ),
    "loadings": ("inspect iris.lapwing --loadings 2 --json", values("component", "rank", "feature", "loading")),
    "verify": ("verify iris.lapwing iris.csv --label species --json", values("holds", "failures")),
    "verify with other data": ("verify iris.lapwing other.csv --label species --json", values("holds")),
    "export": ("export iris.lapwing -o iris.onnx", exported("iris.onnx", "iris.csv")),
    "fit to text and gaps": (
        "fit mixed.csv --label species --id name --method mfa -d 2 -g 4 --param pca=4 --predict -o mixed.lapwing",
        nothing,
    ),
    "predict": ("transform mixed.lapwing mixed.csv --label species --id name --coordinates", table(None)),
}


def _files(folder: Path) -> None:
    """The tables that commands read: flowers, the same with noise, and wines with words and gaps."""
    iris, wine = load_iris(), load_wine()
    names = ["sepal length", "sepal width", "petal length", "petal width", "species"]
    noise = np.random.RandomState(0).rand(*iris.data.shape).round(2)
    for path, X in (("iris.csv", iris.data), ("other.csv", iris.data + noise)):
        rows = [[*map(repr, row.tolist()), iris.target_names[y]] for row, y in zip(X, iris.target, strict=True)]
        (folder / path).write_text("\n".join(map(",".join, [names, *rows])) + "\n")
    rows = []
    for place, (row, y) in enumerate(zip(wine.data[::2], wine.target[::2], strict=True)):
        numbers = ["" if (place + j) % 17 == 3 else repr(float(value)) for j, value in enumerate(row[:6])]
        rows.append([f"wine {place}", *numbers, ("dry", "sweet", "")[place % 5 % 3], f"class {y}"])
    header = ["name", *(name.replace("/", " ") for name in wine.feature_names[:6]), "taste", "species"]
    (folder / "mixed.csv").write_text("\n".join(map(",".join, [header, *rows])) + "\n")


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _said(arguments: str) -> tuple[int, str]:
    """The exit code of a command, and its standard output."""
    main = lookup("cli.main")
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)  # some commands write bytes
    with (
        mock.patch.object(sys, "argv", ["lapwing", *shlex.split(arguments)]),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(action="ignore"),
    ):
        try:
            main()
            code: Any = 0
        except SystemExit as stopped:
            code = stopped.code
    output.seek(0)
    return int(code or 0), output.read()


def commands(folder: Path) -> dict[str, Record]:
    """What all commands do in an empty folder, by the names of their entries."""
    _files(folder)
    found = {}
    with _inside(folder):
        for name, (arguments, read) in COMMANDS.items():
            code, output = _said(arguments)
            try:
                record = read(folder, output)
            except Exception as error:  # what was to be read is not there
                record = Record({"unread": repr(error)})
            found[f"command {name}"] = Record({**record.facts, "code": code}, record.arrays)
    return found


# ------------------------------------------------------------------------------------------------------------------- files


def load_signatures() -> dict[str, dict[str, Any]]:
    """The signatures that are recorded."""
    path = GOLDEN / "signatures.json"
    return json.loads(path.read_text()) if path.exists() else {}


def load_commands() -> dict[str, Record]:
    """What the commands were recorded to do."""
    path = GOLDEN / "commands.json"
    given = json.loads(path.read_text()) if path.exists() else {}
    return {name: Record(entry["facts"], entry["numbers"]) for name, entry in given.items()}


def save_signatures(entries: dict[str, dict[str, Any]]) -> None:
    """Write the signatures."""
    (GOLDEN / "signatures.json").write_text(json.dumps(dict(sorted(entries.items())), indent=1) + "\n")


def save_commands(entries: dict[str, Record]) -> None:
    """Write what the commands did."""
    given = {
        name: {"facts": record.facts, "numbers": {key: array.tolist() for key, array in record.arrays.items()}}
        for name, record in sorted(entries.items())
    }
    lines = [f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in given.items()]
    (GOLDEN / "commands.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def signature_digest(entry: dict[str, Any]) -> str:
    """A hash of a signature."""
    return Record(entry).digest()


def signature_differences(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """What differs between two signatures."""
    return differences(Record(expected), Record(actual), 0.0)
