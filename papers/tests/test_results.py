"""The results that come with lapwing_papers: of today's declarations, small, and what the pages say."""

import gzip
import importlib.util
import json
import os
import re
from pathlib import Path

import pytest
from helpers import each
from kept_summaries import kept_summaries

from lapwing_papers.experiments import (
    FITTED,
    INVESTIGATIONS,
    KINDS,
    TITLES,
    VERDICTS,
    Claim,
    Kept,
    Measured,
    ResultsError,
    Summary,
    Task,
    collected,
    experiments,
    get,
    keep,
    run,
    sentence,
    tallies,
)
from lapwing_papers.experiments._evidence import OF_OTHERS
from lapwing_papers.experiments._honest import chosen_on_other_draws
from lapwing_papers.experiments._kept import RESULTS

DOCS = Path(__file__).parents[2] / "docs"


def third(value, seed):
    return {"A": {"score": (value + seed) / 3}}


def made_up(**changes):
    declared = {
        "name": "made-up",
        "source": "",
        "protocol": "",
        "what": third,
        "conditions": {"one": 1.0},
        "n_repeats": 2,
    }
    return Measured(**{**declared, **changes})


@each("path", sorted(RESULTS.glob("*.jsonl.gz")))
def test_kept_results_are_of_todays_declaration(path):
    name = path.name.removesuffix(".jsonl.gz")
    assert name in experiments(), f"there is no experiment {name} any more; delete {path}"
    again = f"run `python -m lapwing_papers {name}`, the same with `--keep` and `python docs/evidence.py`"
    assert not Kept(get(name)).stale, f"what {name} measures has changed since its results were kept; {again}"


def test_kept_results_are_small():
    assert sum(path.stat().st_size for path in RESULTS.glob("*.jsonl.gz")) < 3e6


def test_results_are_kept_rounded_and_the_same_bytes_each_time(tmp_path):
    experiment, folder = made_up(), tmp_path / "run"
    run(experiment, folder, n_jobs=1)
    (path,) = keep([experiment], folder, tmp_path / "kept")
    first = path.read_bytes()
    lines = [json.loads(line) for line in gzip.decompress(first).splitlines()]
    assert [line["values"] for line in lines] == [{"A": {"score": 0.333333}}, {"A": {"score": 0.666667}}]
    assert keep([experiment], folder, tmp_path / "kept") == [path]
    assert path.read_bytes() == first
    assert Kept(experiment, tmp_path / "kept").read() == {Task("one", i): lines[i]["values"] for i in (0, 1)}


def test_keeping_a_few_repetitions_does_not_lose_the_others(tmp_path):
    run(made_up(), tmp_path / "whole", n_jobs=1)
    run(made_up(n_repeats=1), tmp_path / "part", n_jobs=1)
    keep([made_up()], tmp_path / "whole", tmp_path)
    keep([made_up()], tmp_path / "part", tmp_path)
    assert len(Kept(made_up(), tmp_path).read()) == 2


def test_results_of_another_declaration_are_stale_and_give_way(tmp_path):
    run(made_up(), tmp_path / "old", n_jobs=1)
    keep([made_up()], tmp_path / "old", tmp_path)
    other = made_up(conditions={"one": 2.0})
    assert Kept(other, tmp_path).stale
    assert not Kept(made_up(), tmp_path).stale
    assert Kept(other, tmp_path).read() == {}
    run(other, tmp_path / "new", n_jobs=1)
    keep([other], tmp_path / "new", tmp_path)
    assert not Kept(other, tmp_path).stale


def test_damaged_kept_results_are_named(tmp_path):
    (tmp_path / "made-up.jsonl.gz").write_bytes(gzip.compress(b'{"fingerprint": 1}\n{"values":\n'))
    with pytest.raises(ResultsError, match=r"made-up\.jsonl\.gz, line 2 is damaged"):
        Kept(made_up(), tmp_path).read()


def test_what_was_run_takes_the_place_of_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("lapwing_papers.experiments._kept.RESULTS", tmp_path / "kept")
    run(made_up(), tmp_path / "whole", n_jobs=1)
    keep([made_up()], tmp_path / "whole")
    run(made_up(n_repeats=1), tmp_path / "mine", n_jobs=1)
    assert collected([made_up()], tmp_path / "nothing") == []
    counts = [collected([made_up()], tmp_path / name, kept=True)[0].n_repeats for name in ("nothing", "mine")]
    assert counts == [2, 1]
    (summary,) = collected([made_up()], kept=True)
    assert "lapwing" in summary.versions[0]


def test_honest_dimensions_are_chosen_on_the_other_draws():
    curves = [[1.0, 5.0, float("nan")], [2.0, 9.0, float("nan")], [8.0, 3.0, float("nan")]]
    results = {Task("one", i): {"A": {"score": curve}, "B": {"score": 1.0}} for i, curve in enumerate(curves)}
    experiment = made_up(n_repeats=3, dimensions=(1, 2, 3), derived=chosen_on_other_draws)
    summary = Summary(experiment, results)
    # Means of the others: (5, 6), (4.5, 4), (1.5, 7).
    assert summary.runs("score, honest", "one", "A").tolist() == [5.0, 2.0, 3.0]
    assert ("score, honest", "one", "B") not in summary.keys
    lower = Summary(
        made_up(n_repeats=3, dimensions=(1, 2, 3), derived=chosen_on_other_draws, lower_is_better=True), results
    )
    assert lower.runs("score, honest", "one", "A").tolist() == [1.0, 9.0, 8.0]
    once = Summary(experiment, {Task("one", 0): results[Task("one", 0)]})
    assert [key[0] for key in once.keys] == ["score", "score"]


def test_a_paper_is_counted_by_its_own_data():
    printed = {"score": {"one": {"A": 1 / 3}}}
    own = made_up(name="lpdp-table-9", published=printed, tolerance=0.01)
    other = made_up(name="lpdp-table-8", published=printed, other_data="other digits")
    guide = made_up(name="guide", published=printed, tolerance=0.01)
    found = tallies(
        [Summary(e, {Task("one", 0): third(1.0, 0), Task("one", 1): third(1.0, 1)}) for e in (own, other, guide)]
    )
    assert list(found) == ["lpdp"]
    assert found["lpdp"].own == {"not reproduced": 1, "reproduced": 0, "same ordering": 0, "baselines differ too": 0}
    assert found["lpdp"].other["not reproduced"] == 1
    assert found["lpdp"].sentence == (
        "Gui, Wang and Zhu 2010, on the paper's own data: 0 of the 1 printed numbers of the paper's methods are reproduced "
        "within the stated tolerance; of the other 1, 0 keep the printed order. On other data 0 of 1 are reproduced."
    )


def test_methods_others_baselines_and_statements_are_counted_apart():
    printed = {"score": {"one": {"LPDP": 1.0, "LPP": 1.0, "PCA": 9.0}}}
    same = Claim("they are equal", lambda s: s.mean("score", "one", "LPDP") - s.mean("score", "one", "LPP"), 0.0, 0.0)
    experiment = made_up(name="lpdp-table-1", published=printed, baselines=("PCA",), claims=(same,))
    values = {name: {"score": 1.0} for name in ("LPDP", "LPP", "PCA", "not printed")}
    tally = tallies([Summary(experiment, {Task("one", 0): values})])["lpdp"]
    assert {kind: (+counts).total() for kind, counts in tally.kinds.items()} == dict.fromkeys(KINDS, 1)
    assert +tally.fitted == {"reproduced": 1}  # LPDP, whose scatter was chosen because the numbers come out
    assert "0 where the paper is read literally and 1 under another reading that fits better" in tally.sentence
    assert "0 of 1 numbers of baselines are reproduced; 1 of 1 statements hold." in tally.sentence


def test_what_is_counted_apart_is_there():
    """A name that no experiment has would count nothing."""
    summaries = kept_summaries()
    known = {s.experiment.name: {cell.method for cell in s.cells} for s in summaries}
    assert all(set(methods) <= known[name] for name, (methods, _) in FITTED.items())
    for paper, methods in OF_OTHERS.items():
        assert set(methods) <= {m for name, found in known.items() if name.startswith(f"{paper}-") for m in found}


def test_an_experiment_that_misses_more_than_five_numbers_is_investigated():
    """A missing text is named; a text of an experiment that there is not would never be shown."""
    misses = {s.experiment.name: sum(s.verdicts[v] for v in VERDICTS[2:]) for s in kept_summaries()}
    assert [name for name, n in misses.items() if n > 5 and name not in INVESTIGATIONS] == []
    assert set(INVESTIGATIONS) <= set(experiments())


def test_the_scripts_that_investigations_name_are_there(evidence):
    named = {name for text in INVESTIGATIONS.values() for name in re.findall(r"benchmarks/\S+?\.py", text)}
    assert named
    assert [name for name in sorted(named) if not (DOCS.parent / name).exists()] == []


def test_every_experiment_is_of_a_paper():
    assert {name.split("-")[0] for name in experiments()} == set(TITLES)


@pytest.fixture(scope="module")
def evidence():
    if not DOCS.exists():
        pytest.skip("docs are not there")
    spec = importlib.util.spec_from_file_location("evidence_page", DOCS / "evidence.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.collected = lambda declared, kept: kept_summaries()  # which are read once, for all tests
    return module


def test_the_page_of_evidence_is_up_to_date(evidence):
    for path, (text, new) in evidence.written().items():
        assert text == new, f"{os.path.relpath(path)} is stale; run `python docs/evidence.py`"
    assert sentence(tallies(kept_summaries())) in " ".join(evidence.PAGE.read_text("utf-8").split())


def test_the_tables_tell_all_experiments_and_the_picture_all_papers(evidence):
    found = tallies(kept_summaries())
    page, drawn = evidence.PAGE.read_text("utf-8"), evidence.picture(found)
    assert all(f"`{name}`" in page for name in experiments())
    assert all(verdict in drawn for verdict in VERDICTS)
    assert drawn.count("<rect") == 1 + len(VERDICTS) + len(found) * len(VERDICTS)
