"""The source distribution: whole, and able to run its own tests."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")

ROOT = Path(__file__).parents[1]
FOLDERS = (".github", "benchmarks", "docs", "examples", "src", "tests")
MADE = ("__pycache__", "*.egg-info", "_build", "gallery", "generated", "sg_execution_times.rst", ".hypothesis")
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
SOME = ["tests/test_replacing.py", "tests/persistence/test_file.py::test_mode_and_link"]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The source distribution of a copy of this tree, which building would write to."""
    folder = tmp_path_factory.mktemp("distribution")
    for path in ROOT.iterdir():
        if path.name in FOLDERS:
            shutil.copytree(path, folder / "tree" / path.name, ignore=shutil.ignore_patterns(*MADE))
        elif path.is_file():
            (folder / "tree").mkdir(exist_ok=True)
            shutil.copy(path, folder / "tree" / path.name)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, folder], cwd=folder / "tree", capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_all_is_there(unpacked):
    written, packed = (
        {path.relative_to(root).as_posix() for name in FOLDERS for path in (root / name).rglob("*") if path.is_file()}
        for root in (unpacked.parent / "tree", unpacked)
    )
    assert {name for name in packed if ".egg-info/" not in name} == {n for n in written if ".egg-info/" not in n}
    files = (
        "CHANGELOG.md CITATION.cff CODE_OF_CONDUCT.md LICENSE Makefile README.md SECURITY.md conftest.py pyproject.toml"
    )
    assert set(files.split()) <= set(os.listdir(unpacked))


def test_its_own_tests_run(unpacked):
    """Helpers, fixtures and settings included; what is tested is what was unpacked."""
    code = "import lapwing, pytest, sys; print(lapwing.__file__); sys.exit(pytest.main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *SOME],
        cwd=unpacked,
        env={**os.environ, "PYTHONPATH": str(unpacked / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(str(unpacked / "src" / "lapwing"))
    assert " passed" in done.stdout
