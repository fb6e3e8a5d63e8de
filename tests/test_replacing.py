"""Files that take the place of others: their mode, names of any length, and what killed runs leave."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from lapwing._replacing import replacing, write_whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes, locks and signals are POSIX's")

WRITER = """
import sys, time
from lapwing._replacing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(100)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that is in the middle of writing a file."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "out"], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.communicate()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_the_mode_of_the_earlier_file_is_kept(mode, tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"earlier")
    path.chmod(mode)
    with replacing(path) as file:
        assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode  # before there is anything to read in it
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize("name", ["n" * 255, "ü" * 127, "日" * 85])
def test_a_name_as_long_as_the_system_allows(name, tmp_path):
    write_whole(tmp_path / name, b"1")
    write_whole(tmp_path / name, b"22")
    assert names(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == b"22"


def test_what_a_killed_run_left_is_removed_by_the_next(writer, tmp_path):
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    [stray] = names(tmp_path)
    assert stray.endswith(".part")
    write_whole(tmp_path / "another", b"1")
    assert names(tmp_path) == ["another"]


def test_what_another_run_is_writing_stays(writer, tmp_path):
    before = names(tmp_path)
    write_whole(tmp_path / "another", b"1")
    assert names(tmp_path) == sorted([*before, "another"])


def test_what_only_looks_like_it_stays(tmp_path):
    """Other programs' files, and what is no file."""
    kept = [".lapwing-0123456789abcdef.part.txt", ".lapwing-short.part", "download.part", ".out.01234567.part"]
    for name in kept:
        (tmp_path / name).touch()
    (tmp_path / ".lapwing-0123456789abcdef.part").mkdir()
    os.mkfifo(tmp_path / ".lapwing-0123456789abcdee.part")
    (tmp_path / ".lapwing-0123456789abcded.part").symlink_to(tmp_path / "download.part")
    before = names(tmp_path)
    write_whole(tmp_path / "out", b"1")
    assert names(tmp_path) == sorted([*before, "out"])


def test_one_that_is_taken_for_stale_before_it_is_locked_is_begun_again(tmp_path, monkeypatch):
    import fcntl

    lock, taken = fcntl.flock, []

    def late(file, how):
        if not taken:
            taken.extend(tmp_path.glob(".lapwing-*.part"))
            taken[0].unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    write_whole(tmp_path / "out", b"1")
    assert len(taken) == 1
    assert names(tmp_path) == ["out"]


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    """Files are written all the same, and none is taken for stale."""
    import fcntl

    def unsupported(file, how):
        raise OSError(95, "Operation not supported")

    (tmp_path / ".lapwing-0123456789abcdef.part").touch()
    monkeypatch.setattr(fcntl, "flock", unsupported)
    write_whole(tmp_path / "out", b"1")
    assert names(tmp_path) == [".lapwing-0123456789abcdef.part", "out"]
