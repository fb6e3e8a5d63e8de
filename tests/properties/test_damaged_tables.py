"""Whatever happens to a file, reading it gives a table or one error that names it, and leaves it as it was."""

import resource
import sys
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from damaged import damaged, whole
from drawn import tried
from hypothesis import strategies as st
from sklearn import config_context

from lapwing.tables import read

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
from typer.testing import CliRunner

from lapwing.cli._app import app

MEMORY = 16  # MiB, the working memory
MOST = 400 * 2**20  # bytes that reading may add to the largest that this process was
AT_ONCE = 4  # files per example
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss


def written(folder, rng):
    """A damaged file, as the path to read, and options to read it with."""
    suffix, content, done = damaged(rng)
    path = folder / f"data{suffix}"
    options = {"mixed": bool(rng.rand() < 0.6)}
    if suffix == ".png":
        path = folder / "images"
        for name in ("a", "b"):
            (path / name).mkdir(parents=True)
        (path / "a" / "one.png").write_bytes(whole(".png", 0))
        (path / "b" / "two.png").write_bytes(content)
        options |= {"resize": (4, 3)} if rng.rand() < 0.5 else {}
        return path, options, done
    path.write_bytes(content)
    if suffix.endswith((".csv", ".tsv", ".parquet", ".gz", ".bz2")) and rng.rand() < 0.5:
        options |= {"label": str(rng.choice(["kind", "a", "0", "-1"]))} if rng.rand() < 0.7 else {"id": "day"}
    elif suffix.endswith((".npy", ".npz", ".svm")) and rng.rand() < 0.4:
        labels = folder / f"labels{rng.choice(['.npy', '.npz', '.txt'])}"
        labels.write_bytes(damaged(rng)[1] if rng.rand() < 0.5 else b"x\n" * 12)
        options["label"] = str(rng.choice([str(labels), "-1", "names"]))
    return path, options, done


def contents(folder):
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def largest():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def outcome(path, options):
    """The table, or the error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(working_memory=MEMORY):
        warnings.simplefilter("ignore")
        try:
            return read(path, **options)
        except (ValueError, TypeError) as error:
            return error


@cache
def model():
    """A model of a table that is whole."""
    with TemporaryDirectory() as name:
        (Path(name) / "data.csv").write_bytes(whole(".csv", 0))
        assert CliRunner().invoke(app, ["fit", f"{name}/data.csv", "-d", "1", "-o", f"{name}/model"]).exit_code == 0
        return (Path(name) / "model").read_bytes()


def commanded(path, folder, options, fits):
    """What the command line says of the same file."""
    named = [part for name in ("label", "id") if name in options for part in (f"--{name}", options[name])]
    begin = ["fit", str(path), "-d", "1", "-m", "pca"] if fits else ["transform", str(folder / "model"), str(path)]
    with warnings.catch_warnings(), np.errstate(all="ignore"), config_context(working_memory=MEMORY):
        warnings.simplefilter("ignore")
        return CliRunner().invoke(app, [*begin, *named, "-o", str(folder / "out.csv")])


@tried(st.integers(0, 2**32 - 1), examples=40)
def test_damaged_files(seed):
    rng = np.random.RandomState(seed)
    for _ in range(AT_ONCE):
        with TemporaryDirectory() as name:
            folder = Path(name)
            path, options, done = written(folder, rng)
            before, memory = contents(folder), largest()
            found = outcome(path, options)
            where = f"{done} {options}: {found}"
            if isinstance(found, Exception):
                assert str(path) in str(found) or options.get("label", "\0") in str(found), where
            else:
                assert len(found) > 0, where
            assert contents(folder) == before, where
            assert largest() - memory < MOST, where


@tried(st.integers(0, 2**32 - 1), examples=40)
def test_damaged_files_on_the_command_line(seed):
    rng = np.random.RandomState(seed)
    for fits in (True, False):
        with TemporaryDirectory() as name:
            folder = Path(name)
            path, options, done = written(folder, rng)
            (folder / "model").write_bytes(model())
            before, found = contents(folder), outcome(path, {**options, "mixed": True})
            result = commanded(path, folder, options, fits)
            where = f"{done} {options}: {result.output}"
            assert result.exit_code in (0, 1), where
            assert "internal error" not in result.output, where
            assert "Traceback" not in result.output, where
            assert "\x1b" not in result.output, where
            after = contents(folder)
            assert after.pop(folder / "out.csv", None) is None or result.exit_code == 0, where
            assert after == before, where
            if result.exit_code and (isinstance(found, Exception) or not fits):
                said = result.stderr.splitlines()[-1]
                assert said.startswith("lapwing: "), where
                assert name in said, where
