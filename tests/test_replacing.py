"""Files that take the place of others: their mode, names of any length, and what killed runs leave."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from lapwing._extras import replacing, write_whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes and signals are POSIX's")

WRITER = """
import sys, time
from lapwing._extras import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(100)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that is in the middle of writing a file that was there before."""
    (tmp_path / "out").write_bytes(b"earlier")
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


def test_a_killed_run_leaves_the_earlier_file(writer, tmp_path):
    """What it wrote stays under another name, and is in nobody's way."""
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    stray, out = names(tmp_path)
    assert stray.endswith(".part")
    assert (tmp_path / out).read_bytes() == b"earlier"
    write_whole(tmp_path / "out", b"1")
    assert names(tmp_path) == [stray, "out"]
    assert (tmp_path / "out").read_bytes() == b"1"


def test_two_runs_may_write_one_file(writer, tmp_path):
    before = names(tmp_path)
    write_whole(tmp_path / "out", b"1")
    assert names(tmp_path) == before
    assert (tmp_path / "out").read_bytes() == b"1"
