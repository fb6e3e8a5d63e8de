"""What is uploaded: the library and its tests, able to run, and nothing else."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests")
# In the repository alone; where these tests run from a source distribution, they are not there.
OTHERS = (".github", "benchmarks", "docs", "examples", "papers")
MADE = ("__pycache__", "*.egg-info", "_build", "gallery", "generated", "sg_execution_times.rst", ".hypothesis")
BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"
SOME = ["tests/persistence/test_file.py::test_mode_and_link"]


def build(what, tree):
    """An archive of a tree, beside it."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, f"build_{what}", tree.parent],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    [archive] = tree.parent.glob({"sdist": "*.tar.gz", "wheel": "*.whl"}[what])
    return archive


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The source distribution of a copy of this tree, which building would write to."""
    folder = tmp_path_factory.mktemp("distribution")
    for path in ROOT.iterdir():
        if path.is_file():
            (folder / "tree").mkdir(exist_ok=True)
            shutil.copy(path, folder / "tree" / path.name)
        elif path.name in (*FOLDERS, *OTHERS):
            shutil.copytree(path, folder / "tree" / path.name, ignore=shutil.ignore_patterns(*MADE))
    archive = build("sdist", folder / "tree")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def test_all_is_there(unpacked):
    written, packed = (
        {path.relative_to(root).as_posix() for name in FOLDERS for path in (root / name).rglob("*") if path.is_file()}
        for root in (unpacked.parent / "tree", unpacked)
    )
    assert {name for name in packed if ".egg-info/" not in name} == {n for n in written if ".egg-info/" not in n}
    files = "CHANGELOG.md CITATION.cff CODE_OF_CONDUCT.md LICENSE README.md SECURITY.md conftest.py pyproject.toml"
    assert set(files.split()) <= set(os.listdir(unpacked))
    assert not set(OTHERS) & set(os.listdir(unpacked))


def test_no_results_of_experiments(unpacked):
    """Neither in the source distribution nor in the wheel that is built from it."""
    wheel = build("wheel", unpacked)
    with zipfile.ZipFile(wheel) as file:
        installed = file.namelist()
    packed = [path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()]
    assert "lapwing/methods/locality.py" in installed
    assert {name.split("/")[0].partition("-")[0] for name in installed} == {"lapwing"}
    assert not [
        name for name in (*installed, *packed) if ".jsonl" in name or "lapwing_papers" in name or "guide/" in name
    ]
    assert sum(file.file_size for file in zipfile.ZipFile(wheel).infolist()) < 3e6


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
