"""Forged and damaged model files: each is refused in one line, and nothing is built before the whole file is looked at."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import each

pytest.importorskip("skops")
import forging
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import lapwing
from lapwing import LPP

X, Y = forging.X, forging.Y


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What came of every file, in a process that reads them all."""
    path = os.pathsep.join(filter(None, [str(Path(forging.__file__).parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, forging.__file__],
        cwd=tmp_path_factory.mktemp("forged"),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check(result, said=None):
    kind, words, n_built = result
    assert kind == "ValueError", words
    assert words.startswith("'model' is no model that lapwing can read: ")
    assert len(words) < 600
    assert words.isprintable()
    assert said is None or re.search(said, words), words
    return n_built


@pytest.mark.parametrize("name", forging.BEFORE)
def test_nothing_is_built_of_a_file_that_names_something_else(name, results):
    n_built = check(results[name], forging.BEFORE[name][0])
    assert n_built == 0


@each("name", forging.AFTER)
def test_what_compiled_code_would_trust_is_checked(name, results):
    check(results[name], forging.AFTER[name][0])


def test_damage_is_found_wherever_it_is(results):
    found = [result for name, result in results.items() if name.startswith("damaged ")]
    assert len(found) == forging.N_DAMAGED == 60
    read = [words for kind, words, _ in found if kind == "read"]
    assert len(read) < 12  # bits of dates and the like
    assert set(read) <= {forging.said(lapwing.LPP(2, graph=5).fit(X))}
    for result in found:
        if result[0] != "read":
            check(result)


def test_damage_of_an_array_without_entries_is_found(tmp_path):
    """NumPy reads such an array without its checksum."""
    path, X = tmp_path / "model.lapwing", np.random.RandomState(0).rand(20, 3)
    lapwing.save(make_pipeline(SimpleImputer(), LPP(2)).fit(X), path)
    content = path.read_bytes()
    assert content.count(b"'shape': (0,), }  ") > 0
    path.write_bytes(content.replace(b"'shape': (0,), }  ", b"'shape': (0,), } \t"))
    with pytest.raises(ValueError, match="is damaged"):
        lapwing.load(path)


def test_nothing_else_was_written(results):
    assert results["left"] == ["model"]


def test_the_forger_knows_how_files_are_written(tmp_path):
    """What is put together as it was is read."""
    (tmp_path / "model").write_bytes(forging.put_together(*forging.taken_apart(forging.written())))
    assert repr(lapwing.load(tmp_path / "model")) == "LPP(graph=5)"
    lapwing.save(lapwing.load(tmp_path / "model"), tmp_path / "again")
    assert forging.taken_apart((tmp_path / "again").read_bytes())[0]["content"].keys() == {
        "lapwing",
        "scikit-learn",
        "model",
    }


@pytest.mark.parametrize("memory", ["cache", "../cache"])
def test_a_folder_of_pickles_is_dropped(memory, tmp_path):
    model = make_pipeline(StandardScaler(), LPP(2, graph=5)).fit(X)
    inner = make_pipeline(model, StandardScaler()).fit(X)
    model.memory = inner.memory = memory
    (tmp_path / "model").write_bytes(forging.file_of(inner))
    read = lapwing.load(tmp_path / "model")
    assert (read.memory, read[0].memory) == (None, None)


@pytest.mark.parametrize("name", ["ufunc", "score"])
def test_harmless_functions_are_read(name, tmp_path):
    step = FunctionTransformer(np.abs) if name == "ufunc" else SelectKBest(k=2)
    model = make_pipeline(step, LPP(1, graph=5)).fit(X, Y)
    lapwing.save(model, tmp_path / "model")
    assert (lapwing.load(tmp_path / "model").transform(X) == model.transform(X)).all()
