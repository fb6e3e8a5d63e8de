"""Model files on disk: what cannot be written, what a failure leaves, and what is no model."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from model_files import W, X, Y, full_disk, named
from sklearn.cluster import Birch, KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from lapwing import LPP, KernelLPP
from lapwing.graphs import KNN
from lapwing.persistence import load, save

# What cannot be written


def weights(distances, power=1):
    return 1 / (1 + distances) ** power


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (LPP(graph=KNN(4, weights=lambda d: d)), r"LPP\.graph\.weights is <function.*no other program finds .*lambda"),
        (KernelLPP(kernel=lambda a, b: a @ b), r"KernelLPP\.kernel is <function.*; define it at the top of a module"),
        (LPP(graph=KNN(4, weights=partial(weights, power=2))), r"model\.graph\.weights is functools\.partial"),
        (LPP(graph=W), r"model\.graph is scipy\.sparse\._coo\.coo_array, .*W\.tocsr\(\)"),
        (LPP(graph=sum([KNN(4)] * 110)), "LPP cannot be stored: it has more than 300 parts inside one another"),
    ],
    ids=lambda value: named(value)[:40],
)
def test_what_could_not_be_read_is_not_written(estimator, match, tmp_path):
    model = LPP().fit(X, Y) if isinstance(estimator, LPP) else KernelLPP().fit(X, Y)
    model.set_params(**estimator.get_params(deep=False))
    with pytest.raises(ValueError, match=match):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_what_skops_does_not_know(tmp_path):
    with pytest.raises(ValueError, match="Birch cannot be stored: Objects of type Birch are not supported"):
        save(Birch().fit(X), tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", [None, KNN(), 3], ids=named)
def test_other_objects_are_refused(model, tmp_path):
    with pytest.raises(TypeError, match="is not an estimator instance"):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_unfitted(tmp_path):
    with pytest.raises(NotFittedError):
        save(LPP(), tmp_path / "model")


# Writing


@pytest.mark.parametrize("earlier", [None, b"earlier"])
@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_nothing_is_left_of_a_failure(step, earlier, monkeypatch, tmp_path):
    path = tmp_path / "model.lapwing"
    if earlier:
        path.write_bytes(earlier)
    model = LPP().fit(X)
    if step == "write":

        class Full:
            def __init__(self, *args):
                self.file = open(*args)  # noqa: SIM115 (closed on exit)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self.file.close()

            def fileno(self):
                return self.file.fileno()

            def close(self):
                self.file.close()

            def write(self, data):
                self.file.write(data[:100])
                full_disk()

        monkeypatch.setattr("lapwing._extras.open", Full, raising=False)
    else:
        monkeypatch.setattr(os, step, full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(model, path)
    assert [entry.name for entry in tmp_path.iterdir()] == (["model.lapwing"] if earlier else [])
    assert earlier is None or path.read_bytes() == earlier


@pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX's")
def test_mode_and_link(tmp_path):
    """As a plain ``open`` would have it."""
    (tmp_path / "plain").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    save(LPP().fit(X), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_mode == (tmp_path / "plain").stat().st_mode
    load(tmp_path / "link")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        save(LPP().fit(X), tmp_path / "none" / "model")


KILLED = """
import json, os, random, signal, sys, time
import lapwing

path, random_ = sys.argv[1], random.Random(0)
models = [lapwing.load(path).set_params(n_components=k) for k in (1, 2)]

def killed(write, seconds):
    '''What is there after a process was killed that had begun to write.'''
    lapwing.save(models[1], path)
    reads, writes = os.pipe()
    if (child := os.fork()) == 0:
        write(lambda: os.write(writes, b"!"))
    os.read(reads, 1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reads), os.close(writes)
    return lapwing.load(path).n_components

def stopping(step):
    def write(begun):
        def stopped(*args, real=getattr(os, step), **options):
            if step != "replace":
                real(*args, **options)
            begun()
            time.sleep(100)
        setattr(os, step, stopped)
        lapwing.save(models[0], path)
    return write

def by_turns(begun):
    begun()
    while True:
        for model in models:
            lapwing.save(model, path)

steps = {step: killed(stopping(step), 0) for step in ("chmod", "fsync", "replace")}
print(json.dumps([steps, os.listdir(os.path.dirname(path)), [killed(by_turns, 0.02 * random_.random()) for _ in range(6)]]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed as POSIX does it")
def test_killed_at_any_moment_the_old_file_or_the_new_one_is_there(file):
    done = subprocess.run([sys.executable, "-c", KILLED, file], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    steps, left, by_turns = json.loads(done.stdout)
    assert steps == {"chmod": 2, "fsync": 2, "replace": 2}
    # What a killed process had begun to write stays beside, under a name of its own.
    assert all(name == "model.lapwing" or (name.startswith(".lapwing-") and name.endswith(".part")) for name in left)
    assert set(by_turns) <= {1, 2}


# What is no model


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04" + bytes(100),
        b"\x93NUMPY\x01\x00" + bytes(100),
        b"\x80\x04\x95" + bytes(100),  # pickle
        json.dumps({"model": 1}).encode(),
    ],
    ids=repr,
)
def test_other_files(data, tmp_path):
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(ValueError, match="model' is no model that lapwing can read: BadZipFile"):
        load(tmp_path / "model")


@pytest.mark.parametrize("machine", [SVC(), NuSVC(), SVR(), NuSVR(), OneClassSVM()], ids=named)
def test_support_vectors_are_read_where_they_are_trusted(machine, tmp_path):
    """Compiled code follows the sizes of their arrays, so that a forged file would end Python."""
    model = make_pipeline(LPP(2), machine).fit(X, Y)
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=rf"{type(machine).__name__}, which is not read from any file.*trusted="):
        load(tmp_path / "model")
    again = load(tmp_path / "model", trusted=[type(machine)])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_arrays_that_contradict_the_number_of_features(tmp_path):
    model = make_pipeline(LPP(4), KMeans(4, n_init=1, random_state=0)).fit(X)
    model[-1].cluster_centers_ = np.zeros((4, 1))
    save(model, tmp_path / "model")
    with pytest.raises(ValueError, match=r"cluster_centers_, of shape \(4, 1\), contradicts n_features_in_=4"):
        load(tmp_path / "model")
