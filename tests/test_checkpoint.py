"""Work that is interrupted goes on where it was, and gives the same bits."""

import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import interrupted
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

import lapwing
from lapwing import LPP, _checkpoint, checkpoint
from lapwing._checkpoint import Work, digest, work
from lapwing.graphs import KNN

SOURCE = Path(lapwing.__file__).parents[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_killed_fifty_times():
    """The program compares each result with that of work that is left alone, and sees that no entry is left."""
    program = [sys.executable, interrupted.__file__, "50", "0"]
    paths = {"PYTHONPATH": os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(program, capture_output=True, text=True, env=os.environ | paths)
    assert done.returncode == 0, done.stderr
    killed, resumed, completed = map(int, done.stdout.split())
    assert killed >= 50
    assert resumed >= 10
    assert completed >= 4


@pytest.fixture
def stops(monkeypatch):
    """A function that has the process "killed" behind the n-th write, and one that says how many there were."""
    count, limit = [0], [np.inf]
    replacing = _checkpoint.replacing

    @contextmanager
    def counted(path):
        with replacing(path) as file:
            yield file
        count[0] += 1
        if count[0] == limit[0]:
            raise KeyboardInterrupt

    def start(n):
        count[0], limit[0] = 0, n

    monkeypatch.setattr(_checkpoint, "replacing", counted)
    monkeypatch.setattr(_checkpoint, "SHARE", 0)
    monkeypatch.setattr("lapwing.blocks._blocks.BLOCK_BYTES", 1 << 16)
    return start, lambda: count[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", interrupted.WORKS)
def test_what_was_done_is_not_done_again(name, stops, tmp_path):
    start, writes = stops
    make = interrupted.WORKS[name]
    expected = make()
    start(np.inf)
    with checkpoint(tmp_path, every=0):
        make()
    total = writes()
    assert total > 3
    assert not list(tmp_path.iterdir())
    start(3)
    with pytest.raises(KeyboardInterrupt), checkpoint(tmp_path, every=0):
        make()
    assert list(tmp_path.iterdir())
    start(np.inf)
    with checkpoint(tmp_path, every=0):
        found = make()
    assert writes() == total - 3
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value)
    assert not list(tmp_path.iterdir())


def flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [flipped, lambda data: data[:-100], lambda data: b"", lambda data: b"text"],
    ids=["bit", "cut", "empty", "text"],
)
@pytest.mark.filterwarnings("ignore")
def test_damaged_entries_are_ignored(damage, stops, tmp_path):
    expected = interrupted.robust()
    stops[0](5)
    with pytest.raises(KeyboardInterrupt), checkpoint(tmp_path, every=0):
        interrupted.robust()
    (entry,) = tmp_path.iterdir()
    entry.write_bytes(damage(entry.read_bytes()))
    with checkpoint(tmp_path, every=0):
        found = interrupted.robust()
    np.testing.assert_array_equal(found["Q"], expected["Q"])


def kept(folder, *given, **arrays):
    """An entry that is left behind, as by a process that was killed."""
    with suppress(KeyboardInterrupt), checkpoint(folder):
        work("test", *given).keep(lambda: arrays, always=True)
        raise KeyboardInterrupt
    return next(folder.glob("test-*.npz"))


def test_foreign_entries_are_ignored(tmp_path):
    """Those of other data under this name, and those with anything but plain arrays in them."""
    (tmp_path / "a").mkdir()
    with checkpoint(tmp_path / "a"):
        mine = work("test", 1)
        mine.keep(lambda: {"x": np.arange(3)}, always=True)
        np.testing.assert_array_equal(mine.last()["x"], np.arange(3))
        entry = next((tmp_path / "a").glob("test-*.npz"))
        entry.write_bytes(kept(tmp_path, 2, x=np.arange(3)).read_bytes())
        assert mine.last() is None
        np.savez(entry, seal="", x=np.array([print], dtype=object))
        assert mine.last() is None
        np.savez(entry, x=np.arange(3))
        assert mine.last() is None


def test_no_damage_is_believed(tmp_path):
    """Wherever one or several bytes change: what is read is what was written, or nothing."""
    random, x = np.random.RandomState(0), np.arange(40.0)
    with checkpoint(tmp_path):
        mine = work("test", 1)
        mine.keep(lambda: {"x": x, "n": 3}, always=True)
        (entry,) = tmp_path.iterdir()
        whole, believed = np.frombuffer(entry.read_bytes(), np.uint8), 0
        for _ in range(300):
            damaged = whole.copy()
            damaged[random.randint(whole.size, size=random.choice([1, 1, 5]))] = random.randint(256)
            entry.write_bytes(damaged.tobytes())
            if (last := mine.last()) is not None:
                believed += 1
                np.testing.assert_array_equal(last["x"], x)
                assert last["n"] == 3
    assert believed < 200  # an archive has dates and flags that nobody reads


def test_entries_of_other_work_stay(tmp_path):
    other = kept(tmp_path, "other", x=1)
    with checkpoint(tmp_path):
        work("test", "mine").keep(lambda: {"x": 2}, always=True)
    assert [path.name for path in tmp_path.iterdir()] == [other.name]
    with checkpoint(tmp_path):
        assert work("test", "other").last()["x"] == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="whether a file is being written is seen by POSIX's locks")
def test_what_a_killed_run_was_writing_is_removed(tmp_path):
    """By a block that writes nothing, too; not what another process is writing."""
    with _checkpoint.replacing(tmp_path / "another") as file:
        (tmp_path / ".lapwing-0123456789abcdef.part").touch()
        with checkpoint(tmp_path):
            pass
        assert [path.name for path in tmp_path.iterdir()] == [Path(file.name).name]


def test_nothing_is_written_elsewhere_or_early(tmp_path):
    assert work("test", 1).last() is None
    work("test", 1).keep(lambda: 1 / 0, always=True)
    with checkpoint(tmp_path / "new" / "folder"):
        work("test", 1).keep(lambda: 1 / 0)
        work("test", 1).keep(lambda: 1 / 0, done=True)
        assert not list((tmp_path / "new" / "folder").iterdir())


def test_a_disk_that_is_full_does_not_end_the_work(tmp_path, monkeypatch):
    @contextmanager
    def full(path):
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(_checkpoint, "replacing", full)
    with checkpoint(tmp_path), pytest.warns(RuntimeWarning, match="not kept: .*No space left"):
        work("test", 1).keep(lambda: {"x": 1}, always=True)


def test_parameters(tmp_path):
    with pytest.raises(ValueError, match="every"), checkpoint(tmp_path, every=-1):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError), checkpoint(tmp_path / "file"):
        pass


A = np.arange(6.0).reshape(2, 3)
THINGS = [
    A,
    A + 1,
    A.T,
    A.astype(np.float32),
    A.reshape(3, 2),
    A.tolist(),
    sparse.csr_array(A),
    sparse.csr_array(A + 1),
    None,
    1,
    1.0,
    True,
    "1",
    (1, 2),
    ((1,), 2),
    {"a": 1},
    {"a": 2},
    LPP(2),
    LPP(3),
    LPP(2, graph=KNN(4)),
    PCA(2),
    PCA,
    pd.DataFrame(A),
    pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}),
    pd.DataFrame({"a": ["x", "z"], "b": [1, 2]}),
    np.array(["x", "y"]),
    np.array(["x", None], dtype=object),
]


def test_different_things_have_different_digests():
    assert len({digest(thing) for thing in THINGS}) == len(THINGS)
    assert digest(A) == digest(A.copy(order="F")) == digest(np.asfortranarray(A))
    assert digest(iter([A, 1])) == digest(iter([A.copy(), 1]))
    assert digest(LPP(2, graph=KNN(4))) == digest(LPP(2, graph=KNN(4)))


@pytest.mark.parametrize(
    "thing", [lambda d: d, np.random.RandomState(0), LPP(2, graph=KNN(4, weights=lambda d: d)), object()]
)
def test_what_may_change_unseen_has_none(thing, tmp_path):
    with pytest.raises(TypeError, match="has no digest"):
        digest(thing)
    with checkpoint(tmp_path):
        work("test", thing).keep(lambda: {"x": 1}, always=True)
        assert not list(tmp_path.iterdir())


def test_another_release_begins_anew(tmp_path, monkeypatch):
    kept(tmp_path, 1, x=1)
    monkeypatch.setattr(_checkpoint, "version", lambda name: "0")
    with checkpoint(tmp_path):
        assert work("test", 1).last() is None


def test_work_that_is_not_kept_has_no_file():
    assert Work().last() is None
