"""Damaged and forged files of every kind of model: read or refused, and nothing else happens."""

import json
import re
import resource
import sys
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import model_pipelines as p
import numpy as np
import oracles as o
import pytest
from drawn import tried
from forging import DAMAGE, forged
from hypothesis import strategies as st
from model_files import DEFAULT, NEW, SPECIAL, X, Y, contents, forge, named
from scipy import sparse
from sklearn.base import clone

from lapwing.persistence import ModelFileError, load, save

pytest.importorskip("typer")
from typer.testing import CliRunner

from lapwing.cli._app import app

CASES = 10  # per example, of which there are 40 in ``make test``
SEEDS = st.integers(0, 2**32 - 1)
MORE = 200_000  # kilobytes that reading may take beyond what the fits took
# What a model that can be read may still say of rows: that it needs links, or more of them, or such without gaps or new
# categories, or images, or nearer ones, or, as scikit-learn's k-means does, such of the precision of its centres.
ALLOWED = (
    "has no links for new rows|were not fitted, and the graph|Expected n_neighbors <= n_samples_fit|contains NaN|"
    "Found unknown categories|but TSA takes images|Buffer dtype mismatch|getting zero weights"
)
FORBIDDEN = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "socket.connect"}
happened: list[str] = []
sys.addaudithook(lambda event, args: happened.append(event) if event in FORBIDDEN else None)


class Written(NamedTuple):
    """A model's file, and rows that it can be used on."""

    name: str
    data: bytes
    header: dict
    arrays: dict
    rows: tuple[Any, ...]
    outputs: list


@cache
def written():
    """The file of every estimator, and of pipelines."""
    models = [
        *((model, X, NEW, Y) for model in DEFAULT + SPECIAL),
        *((model, *p.data_for(model), p.Y) for model in p.NUMERIC + p.FINAL + p.KEPT_ONLY),
        (p.by_kind(), p.MIXED, p.NEW_MIXED, None),
    ]
    found = []
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "model")
        for model, train, new, y in models:
            fitted = clone(model).fit(train, y)
            save(fitted, path)
            rows = (train,) if "Precomputed" in repr(vars(fitted).get("graph_")) else (train, new)
            found.append(Written(named(model), path.read_bytes(), *contents(path), rows, outputs(fitted, rows)))
    return found


def outputs(model, rows):
    """All that a model says of rows."""
    found = [part for some in rows for part in p.outputs(model, some).values()]
    return [part.toarray() if sparse.issparse(part) else np.asarray(part) for part in found]


def read(path):
    """The model of a file, or None where it is refused in one line that names it."""
    try:
        return load(path)
    except ModelFileError as error:
        said = str(error)
    assert str(path) in said
    assert said.isprintable()
    assert len(said) < 600
    return None


def used(model, path, rows):
    """What the model says of rows: numbers, or that it needs something else than rows."""
    shown = CliRunner().invoke(app, ["inspect", str(path), "--json"])
    assert shown.exit_code == 0, shown.output
    takes = json.loads(shown.stdout)["features"]
    assert takes == getattr(model, "n_features_in_", takes)
    for some in (some for some in rows if some.shape[1] == takes):
        found = o.outcome(lambda some=some: outputs(model, [some]))
        if isinstance(found, str):
            assert re.search(ALLOWED, found), found
            return
        for part in found:
            assert len(part) == len(some)
            assert part.dtype.kind not in "fc" or np.isfinite(part).all()


@tried(SEEDS, examples=40)
def test_damaged_files(seed):
    """The checksum finds damage, unless what was hit means nothing."""
    rng = np.random.RandomState(seed)
    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        for _ in range(CASES):
            model = written()[rng.randint(len(written()))]
            path.write_bytes(DAMAGE[rng.randint(len(DAMAGE))](rng, model.data))
            found = read(path)
            if found is not None:
                for one, other in zip(outputs(found, model.rows), model.outputs, strict=True):
                    np.testing.assert_array_equal(one, other)


@tried(SEEDS, examples=40)
def test_forged_files(seed):
    """A file with a true checksum is refused when it is read, or holds a model that can be used; it takes little memory."""
    models, rng = written(), np.random.RandomState(seed)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    happened.clear()
    with TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(folder, "model")
        for _ in range(CASES):
            model = models[rng.randint(len(models))]
            found = read(forge(path, *forged(rng, model.header, model.arrays)))
            assert not happened, (happened, model.name)
            if found is not None:
                used(found, path, model.rows)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + MORE
