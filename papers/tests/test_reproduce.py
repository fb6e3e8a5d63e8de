"""``python -m lapwing_papers``, as a user runs it."""

import contextlib
import html
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import guide
import pytest
from helpers import each
from kept_summaries import collected_once

from lapwing_papers import command
from lapwing_papers.experiments import (
    IMPOSSIBLE,
    TITLES,
    Kept,
    Measured,
    evidence_sentence,
    experiments,
    get,
)


def reproduce(*arguments, cwd, data="nowhere", declared=None):
    """In this process; one test starts a process of its own."""
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("LAPWING_DATA", str(data))
        declared = experiments() if declared is None else declared
        try:
            code = command.reproduce(declared, arguments, program="reproduce", impossible=IMPOSSIBLE)
        except SystemExit as stop:
            code = stop.code
    return SimpleNamespace(
        exit_code=code, stdout=out.getvalue(), stderr=err.getvalue(), output=out.getvalue() + err.getvalue()
    )


def test_as_a_program(tmp_path):
    command = [sys.executable, "-m", "lapwing_papers", "lpdp-table-3"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "lpdp-table-1" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_name_the_experiments_are_listed(tmp_path):
    done = reproduce(cwd=tmp_path)
    assert done.exit_code == 0
    assert all(name in done.stdout for name in experiments())
    assert "MSRA" in done.stderr
    assert not list(tmp_path.iterdir())


def test_one_experiment_leaves_table_page_and_results(tmp_path):
    done = reproduce("lpca-figure-2", "-o", "found", "-j", "1", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "0.1174" in done.stdout
    assert done.stdout.count("reproduced: ") == 3
    left = {str(path.relative_to(tmp_path / "found")) for path in (tmp_path / "found").rglob("*") if path.is_file()}
    expected = {"evidence.html", "lpca-figure-2.csv", "results/lpca-figure-2.jsonl"}
    assert expected <= left <= expected | {"results/lpca-figure-2.captions.json"}
    assert 'id="lpdp-table-1"' not in (tmp_path / "found" / "evidence.html").read_text(
        "utf-8"
    )  # which was not run here
    assert "3 reproduced" in reproduce("-o", "found", cwd=tmp_path).stdout


def test_the_guide_as_a_program(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["guide"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(Path(guide.__file__).parent), run_name="__main__")
    assert not end.value.code
    said = capsys.readouterr().out
    assert all(name in said for name in guide.experiments())


def test_the_page_of_kept_results_needs_no_run(tmp_path, monkeypatch):
    for module in ("command", "experiments"):
        monkeypatch.setattr(f"lapwing_papers.{module}.collected", collected_once)
    done = reproduce("--page", "-o", "found", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in (tmp_path / "found").iterdir()] == ["evidence.html"]
    page = html.unescape((tmp_path / "found" / "evidence.html").read_text("utf-8"))
    assert "<script" not in page
    assert page.index(evidence_sentence()) < page.index("<table")
    first = page[page.index("<table") : page.index("</table>")]
    assert all(title in first for title in TITLES.values())
    anchors = set(re.findall(r'href="#([^"]+)"', page))
    assert anchors == {*TITLES, *experiments()} & set(re.findall(r'id="([^"]+)"', page))
    assert "lpdp-table-1" in anchors


def test_results_of_a_run_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("lapwing_papers.experiments._kept.RESULTS", tmp_path / "kept")
    reproduce("lpca-figure-2", "-o", "found", "-j", "1", cwd=tmp_path)
    done = reproduce("--keep", "-o", "found", cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["lpca-figure-2.jsonl.gz"]
    assert len(Kept(get("lpca-figure-2")).read()) == 1


@pytest.mark.parametrize(
    "arguments", [("lpca-figure-2", "--all"), ("lpca-figure-2", "-j", "0"), ("lpca-figure-2", "--page")]
)
def test_bad_usage(arguments, tmp_path):
    assert reproduce(*arguments, cwd=tmp_path).exit_code == 2


def test_missing_data(tmp_path):
    done = reproduce("thesis-figure-4.4", cwd=tmp_path)
    assert done.exit_code == 1
    assert "Yale_32x32.npz" in done.stderr
    assert "Traceback" not in done.stderr


def test_damaged_data(tmp_path):
    file = Path(os.environ.get("LAPWING_DATA", "")) / "Yale_32x32.npz"
    if not (os.environ.get("LAPWING_DATA") and file.exists()):
        pytest.skip("Yale_32x32.npz is not in LAPWING_DATA")
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(file, folder)
    os.chmod(folder / file.name, 0o644)
    os.truncate(folder / file.name, file.stat().st_size // 2)
    done = reproduce("thesis-figure-4.4", cwd=tmp_path, data=folder)
    assert done.exit_code == 1
    assert "Yale_32x32.npz" in done.stderr
    assert "checksum" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_fails_does_not_stop_the_others(tmp_path):
    def broken(value, seed):
        raise ValueError("no such thing")

    names = {"bad": Measured(name="bad", source="", protocol="", what=broken), "lpca-figure-2": get("lpca-figure-2")}
    done = reproduce("--all", "-o", str(tmp_path), "-j", "1", cwd=tmp_path, declared=names)
    assert done.exit_code == 1
    assert "lpca-figure-2: 3 reproduced" in done.output
    assert "bad, no condition, seed 0: ValueError: no such thing" in done.output
    assert "no such thing" in (tmp_path / "evidence.html").read_text()


def test_where_there_is_no_more_room_that_is_what_is_said(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("lapwing_papers.experiments._store.os.fsync", full)
    done = reproduce("lpca-figure-2", "-o", str(tmp_path), "-j", "1", cwd=tmp_path)
    assert done.exit_code == 1
    assert "goes on from there" in done.output


SEEN = []


def stopped_once(value, seed):
    SEEN.append(seed)
    if SEEN == [0, 1]:
        raise KeyboardInterrupt
    return scores(1.0, seed)


def test_a_run_that_is_stopped_says_so_and_goes_on(tmp_path):
    SEEN.clear()
    declared = {"one": Measured(name="one", source="", protocol="", what=stopped_once, n_repeats=3)}
    done = reproduce("one", "-j", "1", cwd=tmp_path, declared=declared)
    assert done.exit_code == 130
    assert "goes on where it was" in done.stderr
    assert reproduce("one", "-j", "1", cwd=tmp_path, declared=declared).exit_code == 0
    assert SEEN == [0, 1, 1, 2]


def test_no_quick_tier(tmp_path):
    done = reproduce("guide", "--quick", cwd=tmp_path, declared=guide.experiments())
    assert done.exit_code == 2
    assert "no quick tier" in done.stderr


def scores(value, seed):
    return {"A": {"score": value + seed}, "B": {"score": 2 * value}}


def test_the_public_tier_needs_no_file(tmp_path):
    """It runs the conditions that need none, and what it leaves counts for the whole."""
    experiment = Measured(
        name="tiers-one",
        source="",
        protocol="",
        what=scores,
        conditions={"made": 1.0, "of a file": 2.0},
        data=("libras",),
        public=("made",),
        n_repeats=2,
        table=lambda summary: (["method"], [[f"{summary.conditions[0]} of {summary.n_repeats}"]]),
    )
    declared = {"tiers-one": experiment}
    assert "Libras.npz" in reproduce("tiers", "-j", "1", "-o", "found", cwd=tmp_path, declared=declared).output
    done = reproduce("tiers", "--public", "-j", "1", "-o", "found", cwd=tmp_path, declared=declared)
    assert done.exit_code == 0, done.output
    assert "made of 2" in done.output
    assert len((tmp_path / "found" / "results" / "tiers-one.jsonl").read_text().splitlines()) == 2


def test_no_public_tier(tmp_path):
    done = reproduce("lpca-figure-2", "--public", cwd=tmp_path)
    assert done.exit_code == 2
    assert "no public tier" in done.stderr
    assert reproduce("lpca", "--public", "--quick", cwd=tmp_path).exit_code == 2


@each("name", experiments())
def test_declarations(name):
    """Each says what it does, and what was published lies in the table that it measures."""
    experiment = get(name)
    assert experiment.name == name
    assert len(experiment.protocol) > 60
    assert experiment.source
    for conditions in experiment.published.values():
        assert set(conditions) <= set(experiment.conditions), set(conditions) - set(experiment.conditions)
    assert set(experiment.quick_conditions or ()) <= set(experiment.conditions)
    assert experiment.claims or experiment.published or experiment.derived
    assert len(experiment.fingerprint) == 16


def test_names_are_unique_and_every_paper_has_some():
    assert len(experiments()) > 40
    for paper in ("thesis", "lpca", "lpdp", "glpca", "repulsion"):
        assert any(name.startswith(paper) for name in experiments())
