"""Damaged and forged files of every kind of model: read or refused, and nothing else happens."""

import resource
import sys
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import model_pipelines as p
import numpy as np
from drawn import tried
from forging import DAMAGE, file_of, forged, taken_apart
from hypothesis import strategies as st
from model_files import DEFAULT, SPECIAL, X, Y
from sklearn.base import clone

from lapwing.persistence import load

CASES = 5  # per example, of which there are 40 in ``make test``
SEEDS = st.integers(0, 2**32 - 1)
MORE = 200_000  # kilobytes that reading may take beyond what the fits took
FORBIDDEN = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "socket.connect"}
happened: list[str] = []
sys.addaudithook(lambda event, args: happened.append(event) if event in FORBIDDEN else None)


@cache
def written():
    """The file of every estimator, and of pipelines."""
    models = [
        *((model, X, Y) for model in DEFAULT + SPECIAL),
        *((model, p.data_for(model)[0], p.Y) for model in p.NUMERIC + p.FINAL + p.KEPT_ONLY),
        (p.by_kind(), p.MIXED, None),
    ]
    with warnings.catch_warnings(action="ignore"):
        return [file_of(clone(model).fit(train, y)) for model, train, y in models]


def is_read(path):
    """Whether a file is read, or else refused in one line that names it."""
    try:
        load(path)
    except ValueError as error:
        said = str(error)
        assert str(path) in said
        assert said.isprintable()
        assert len(said) < 600
        return False
    return True


@tried(SEEDS, examples=40)
def test_damaged_files(seed):
    rng = np.random.RandomState(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        for _ in range(CASES):
            data = written()[rng.randint(len(written()))]
            path.write_bytes(DAMAGE[rng.randint(len(DAMAGE))](rng, data))
            assert not is_read(path) or taken_apart(path.read_bytes()) == taken_apart(data)  # else dates and the like


@tried(SEEDS, examples=40)
def test_forged_files(seed):
    """A file whose checksums are true is refused or read; it calls nothing, and takes little memory."""
    files, rng = written(), np.random.RandomState(seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    happened.clear()
    with TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        path = Path(folder, "model")
        for _ in range(CASES):
            path.write_bytes(forged(rng, files[rng.randint(len(files))]))
            is_read(path)
            assert not happened, happened
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + MORE
