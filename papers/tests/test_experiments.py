"""The engine of the published experiments, on digits and made-up data."""

import json
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from lapwing import LPP
from lapwing_papers.experiments import (
    Claim,
    Classification,
    Clustering,
    ExperimentError,
    Measured,
    Method,
    PerClass,
    Reading,
    ResultsError,
    Summary,
    Task,
    _store,
    collected,
    run,
    write_page,
)
from lapwing_papers.experiments._data import dataset
from lapwing_papers.experiments._store import Store


def few_digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def by_pca(X, y, d):
    return PCA(d, random_state=0)


def by_lpp(X, y, d):
    return LPP(d, pca=0.95)


def digits(**changes):
    declared = {
        "name": "digits",
        "source": "nobody, table <1>",
        "protocol": "The nearest neighbour in 2, 4 and 8 dimensions.",
        "load": few_digits,
        "conditions": {"5 a digit": PerClass(5), "10 a digit": PerClass(10)},
        "methods": {"PCA": Method(by_pca), "LPP": Method(by_lpp), "pixels": Method(None)},
        "dimensions": (2, 4, 8),
        "n_repeats": 3,
        "n_quick": 1,
        "lower_is_better": True,
    }
    return Classification(**{**declared, **changes})


def constant(value, seed):
    return {"A": {"score": value + seed}, "B": {"score": 2 * value}}


def made_up(**changes):
    declared = {
        "name": "made-up",
        "source": "",
        "protocol": "",
        "what": constant,
        "conditions": {"one": 1.0, "two": 2.0},
    }
    return Measured(**{**declared, **changes})


# What is measured


def test_a_curve_is_the_classifier_on_the_first_dimensions(tmp_path):
    X, y = few_digits()
    summary = run(digits(), tmp_path, n_jobs=1)
    train, test = PerClass(5).split(y, 1)
    model = PCA(8, random_state=0).fit(X[train])
    expected = [
        100 - 100 * KNeighborsClassifier(1).fit(Z[:, :d], y[train]).score(model.transform(X[test])[:, :d], y[test])
        for Z in [model.transform(X[train])]
        for d in (2, 4, 8)
    ]
    np.testing.assert_allclose(summary.runs("error", "5 a digit", "PCA")[1], expected)
    assert summary.runs("error", "5 a digit", "pixels").shape == (3,)


def test_splits_are_disjoint_and_of_the_size_asked_for():
    y = few_digits()[1]
    train, test = PerClass(5, n_test=7).split(y, 0)
    assert not set(train) & set(test)
    assert (np.bincount(y[train]) == 5).all()
    assert (np.bincount(y[test]) == 7).all()
    everything = np.concatenate(PerClass(5).split(y, 3))
    assert sorted(everything) == list(range(y.size))


class Spy(PCA):
    """PCA that remembers which samples it was shown."""

    seen: list[np.ndarray] = []  # noqa: RUF012

    def fit(self, X, y=None):
        Spy.seen.append(np.asarray(X))
        return super().fit(X)


def test_the_honest_dimension_is_chosen_without_the_test_samples():
    X, y = few_digits()
    X = X + np.arange(300)[:, None] * 1e-9  # tells every sample apart
    Spy.seen.clear()
    experiment = digits(load=lambda: (X, y), methods={"PCA": Method(lambda X, y, d: Spy(d, random_state=0))})
    found = experiment.measure("5 a digit", 0)
    train, _ = PerClass(5).split(y, 0)
    allowed = {row.tobytes() for row in X[train]}
    assert len(Spy.seen) == 1 + 3
    assert all(row.tobytes() in allowed for rows in Spy.seen for row in rows)
    assert found["PCA"]["error, honest"] in found["PCA"]["error"]


def test_what_is_not_nested_is_fitted_for_each_dimension():
    calls = []

    def make(X, y, d):
        calls.append(d)
        return PCA(d, random_state=0)

    experiment = digits(methods={"a": Method(make, nested=False), "b": Method(by_pca)}, honest=False)
    found = experiment.measure("5 a digit", 0)
    assert calls == [2, 4, 8]
    assert found["a"] == found["b"]


def test_dimensions_that_a_method_does_not_have_are_left_out(tmp_path):
    experiment = digits(methods={"PCA": Method(lambda X, y, d: PCA(4, random_state=0))})
    summary = run(experiment, tmp_path, n_jobs=1)
    assert np.isnan(summary.runs("error", "5 a digit", "PCA")[:, 2]).all()
    assert summary.best("error", "5 a digit", "PCA")[2] == 4


def test_clustering_finds_what_is_apart(tmp_path):
    experiment = Clustering(
        name="blobs",
        source="",
        protocol="",
        load=lambda: make_blobs(150, n_features=5, centers=6, cluster_std=0.1, random_state=0),
        conditions={"3 classes": 3, "all": None},
        methods={
            "as they are": lambda X, k: X,
            "noise": lambda X, k: np.random.RandomState(0).standard_normal(X.shape),
        },
        n_repeats=2,
        with_purity=True,
    )
    summary = run(experiment, tmp_path, n_jobs=1)
    for condition in ("3 classes", "all"):
        for quantity in ("accuracy", "mutual information", "purity"):
            assert summary.mean(quantity, condition, "as they are") == pytest.approx(1)
            assert summary.mean(quantity, condition, "noise") < 0.8


# Verdicts are computed


def verdicts(published, tolerance=0.1, **changes):
    experiment = made_up(published={"score": published}, tolerance=tolerance, **changes)
    results = {Task(c, 0): constant(value, 0) for c, value in experiment.conditions.items()}
    return {(c.condition, c.method): c.verdict for c in Summary(experiment, results).cells}


def test_a_number_within_the_tolerance_is_reproduced():
    found = verdicts({"one": {"A": 1.09, "B": 2.2}})
    assert found == {
        ("one", "A"): "reproduced",
        ("one", "B"): "same ordering",
        ("two", "A"): "not published",
        ("two", "B"): "not published",
    }


def test_another_order_is_not_reproduced():
    assert verdicts({"one": {"A": 9.0, "B": 3.0}})["one", "A"] == "not reproduced"


def test_an_order_needs_two():
    assert verdicts({"one": {"A": 9.0}})["one", "A"] == "not reproduced"


def test_printed_differences_below_the_tie_are_no_order():
    assert verdicts({"one": {"A": 9.0, "B": 8.9}}, tie=0.2)["one", "A"] == "not reproduced"
    assert verdicts({"one": {"A": 9.0, "B": 9.5}}, tie=0.2)["one", "A"] == "same ordering"


def judged(measured, baselines, **printed):
    """Verdicts on printed numbers that differ by less than the tie, so that there is no order to speak of."""
    experiment = made_up(
        published={"score": {"one": printed}}, tolerance=1.0, tie=99.0, baselines=baselines, conditions={"one": 1.0}
    )
    values = {method: {"score": value} for method, value in measured.items()}
    return {c.method: c.verdict for c in Summary(experiment, {Task("one", 0): values}).cells}


def test_where_baselines_miss_as_well_that_is_said():
    measured = {"raw": 50.0, "PCA": 60.0, "own": 70.0}
    missed = judged(measured, ("raw", "PCA"), raw=55.0, PCA=60.5, own=75.0)
    assert missed == {"raw": "baselines differ too", "PCA": "reproduced", "own": "baselines differ too"}
    hit = judged(measured, ("raw", "PCA"), raw=50.5, PCA=60.5, own=75.0)
    assert hit == {"raw": "reproduced", "PCA": "reproduced", "own": "not reproduced"}
    few = judged({**measured, "LDA": 65.0}, ("raw", "PCA", "LDA"), raw=55.0, PCA=60.5, LDA=65.0, own=75.0)
    assert few["own"] == few["raw"] == "not reproduced"  # one of three


def test_only_measured_baselines_of_the_same_condition_excuse_a_miss():
    assert judged({"own": 70.0}, ("raw",), raw=55.0, own=75.0) == {"own": "not reproduced", "raw": "not reproduced"}
    assert judged({"raw": 50.0, "own": 70.0}, (), raw=55.0, own=75.0)["own"] == "not reproduced"
    experiment = made_up(published={"score": {"one": {"A": 9.0}, "two": {"B": 9.0}}}, tolerance=0.1, baselines=("B",))
    results = {Task(c, 0): constant(value, 0) for c, value in experiment.conditions.items()}
    found = {(c.condition, c.method): c.verdict for c in Summary(experiment, results).cells if c.published}
    assert found == {("one", "A"): "not reproduced", ("two", "B"): "baselines differ too"}


def test_baselines_printed_by_dimension_are_compared_there():
    experiment = digits(
        published={"error": {"5 a digit": {"PCA": {2: 9.0, 8: 1.0}, "LPP": {2: 1.0, 8: 2.0}}}},
        tolerance=0.5,
        tie=99.0,
        baselines=("PCA",),
    )
    values = {"PCA": {"error": [10.0, 8.0, 1.2]}, "LPP": {"error": [5.0, 4.0, 9.0]}}
    cells = Summary(experiment, {Task("5 a digit", 0): values}).cells
    assert {(c.method, c.dimension): c.verdict for c in cells} == {
        ("PCA", 2): "baselines differ too",
        ("PCA", 8): "reproduced",
        ("LPP", 2): "baselines differ too",
        ("LPP", 8): "not reproduced",
    }


def test_numbers_printed_by_dimension_are_compared_there():
    experiment = digits(
        published={"error": {"5 a digit": {"PCA": {2: 0.0, 8: 1.0}, "LPP": {2: -1.0, 8: 2.0}}}},
        tolerance=0.5,
        honest=False,
    )
    values = {"PCA": {"error": [10.0, 8.0, 1.2]}, "LPP": {"error": [5.0, 4.0, 1.0]}}
    cells = Summary(experiment, {Task("5 a digit", 0): values}).cells
    assert {(c.method, c.dimension): c.verdict for c in cells} == {
        ("PCA", 2): "same ordering",
        ("PCA", 8): "reproduced",
        ("LPP", 2): "same ordering",
        ("LPP", 8): "not reproduced",
    }
    assert [c.difference for c in cells if c.method == "LPP"] == pytest.approx([6.0, -1.0])


def test_the_best_of_a_curve():
    values = [{"PCA": {"error": curve}} for curve in ([3.0, 2.0, 4.0], [1.0, 4.0, 5.0])]
    results = {Task("5 a digit", i): v for i, v in enumerate(values)}
    assert Summary(digits(), results).best("error", "5 a digit", "PCA") == (2.0, 1.0, 2)
    assert Summary(digits(lower_is_better=False), results).best("error", "5 a digit", "PCA") == (4.5, 0.5, 8)
    assert Summary(digits(single_run=True), results).best("error", "5 a digit", "PCA") == (1.5, 0.5, None)


def test_claims_are_decided_by_their_number():
    claims = (Claim("B", lambda s: s.mean("score", "one", "B"), at_least=3), Claim("A", lambda s: 1.0, at_most=1))
    experiment = made_up(claims=claims)
    summary = Summary(experiment, {Task("one", 0): constant(1.0, 0)})
    assert [(found, verdict) for _, found, _, verdict in summary.claims] == [
        (2.0, "not reproduced"),
        (1.0, "reproduced"),
    ]
    assert summary.verdicts == {"reproduced": 1, "same ordering": 0, "baselines differ too": 0, "not reproduced": 1}


@pytest.mark.parametrize(
    ("leads", "share", "verdict"), [([1.0, 2.0, 1.5], 1.0, "reproduced"), ([5.0, -3.9, -1.0], 0.5, "not reproduced")]
)
def test_a_claim_must_hold_for_other_repetitions_too(leads, share, verdict):
    """A mean above 0 that one repetition makes is no lead."""
    claim = Claim("A is ahead", lambda s: s.mean("score", "one", "A") - s.mean("score", "one", "B"), at_least=0)
    results = {Task("one", i): {"A": {"score": lead}, "B": {"score": 0.0}} for i, lead in enumerate(leads)}
    ((_, found, measured, judged),) = Summary(made_up(claims=(claim,), conditions={"one": 1.0}), results).claims
    assert found == pytest.approx(np.mean(leads))
    assert measured == pytest.approx(share, abs=0.15)
    assert judged == verdict


def test_resampling_keeps_methods_paired():
    results = {Task("one", i): {"A": {"score": i + 1.0}, "B": {"score": float(i)}} for i in range(20)}
    for other in Summary(made_up(conditions={"one": 1.0}), results).resampled:
        np.testing.assert_array_equal(other.runs("score", "one", "A") - other.runs("score", "one", "B"), 1)


def test_an_order_is_of_those_that_take_part():
    experiment = made_up(
        published={"score": {"one": {"A": 10.0, "B": 9.5, "C": 11.0}}}, tie=1.0, conditions={"one": 1.0}
    )

    def verdict(a):
        values = {"A": {"score": a}, "B": {"score": 1.0}, "C": {"score": 2.0}}
        return {c.method: c.verdict for c in Summary(experiment, {Task("one", 0): values}).cells}

    assert verdict(999.0) == {"A": "not reproduced", "B": "same ordering", "C": "same ordering"}
    assert verdict(float("nan"))["A"] == "not reproduced"


def test_what_was_published_and_not_measured_is_said():
    experiment = made_up(published={"score": {"one": {"A": 1.0, "Z": 2.0}}}, conditions={"one": 1.0})
    cells = Summary(experiment, {Task("one", 0): constant(1.0, 0)}).cells
    assert [(c.method, c.n, c.verdict) for c in cells if c.method == "Z"] == [("Z", 0, "not reproduced")]


def test_a_tolerance_for_each_quantity():
    values = {"A": {"score": 1.0, "time": 1.0}}
    experiment = made_up(
        published={"score": {"one": {"A": 1.5}}, "time": {"one": {"A": 1.5}}},
        tolerance={"score": 1.0},
        conditions={"one": 1.0},
    )
    cells = Summary(experiment, {Task("one", 0): values}).cells
    assert [c.verdict for c in cells] == ["reproduced", "not reproduced"]


def test_a_curve_without_any_number():
    values = {"PCA": {"error": [float("nan")] * 3}}
    assert math.isnan(Summary(digits(), {Task("5 a digit", 0): values}).mean("error", "5 a digit", "PCA"))


def test_claims_about_what_was_not_measured_yet_are_left_out():
    claims = (Claim("two", lambda s: s.mean("score", "two", "B"), at_least=3), Claim("one", lambda s: 1.0, at_most=1))
    part = Summary(made_up(claims=claims), {Task("one", 0): constant(1.0, 0)})
    assert [claim[0].text for claim in part.claims] == ["one"]
    whole = Summary(
        made_up(claims=(Claim("?", lambda s: s.mean("no such", "one", "B")),), conditions={"one": 1.0}),
        {Task("one", 0): constant(1.0, 0)},
    )
    with pytest.raises(KeyError):
        whole.claims  # noqa: B018


def test_derived_numbers_stand_beside_the_measured():
    def ranks(summary):
        return {("rank", "all", m): [float(summary.mean("score", c, m)) for c in summary.conditions] for m in "AB"}

    experiment = made_up(derived=ranks)
    summary = Summary(experiment, {Task(c, 0): constant(value, 0) for c, value in experiment.conditions.items()})
    assert summary.best("rank", "all", "A") == (1.5, 0.5, None)
    assert summary.conditions == ["one", "two", "all"]
    assert [c.quantity for c in summary.cells] == ["score"] * 4 + ["rank"] * 2


# Nothing is lost


def test_the_numbers_do_not_depend_on_the_number_of_processes(tmp_path):
    one, two = (run(digits(n_repeats=2), tmp_path / str(n), n_jobs=n).cells for n in (1, 2))
    assert one == two


COUNTED = []


def count(value, seed):
    COUNTED.append((value, seed))
    if len(COUNTED) == 4:
        raise KeyboardInterrupt
    return constant(value, seed)


def test_a_run_goes_on_where_it_stopped(tmp_path):
    COUNTED.clear()
    experiment = made_up(what=count, n_repeats=3)
    with pytest.raises(KeyboardInterrupt):
        run(experiment, tmp_path, n_jobs=1)
    shown = []
    summary = run(experiment, tmp_path, n_jobs=1, progress=lambda *a: shown.append(a))
    assert len(COUNTED) == 4 + 3
    assert shown == [("made-up", done, 6) for done in (3, 4, 5, 6)]
    assert summary.mean("score", "two", "A") == 3


def slow(value, seed):
    time.sleep(0.05)
    print("measuring", flush=True)
    return constant(value, seed)


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from test_experiments import made_up, slow
from lapwing_papers.experiments import run

run(made_up(what=slow, n_repeats=1000), {folder!r}, n_jobs=1)
"""


def test_a_killed_run_loses_nothing_that_was_done(tmp_path):
    code = KILLED.format(tests=os.path.dirname(__file__), folder=str(tmp_path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    for _ in range(5):
        assert process.stdout.readline() == b"measuring\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    lines = (tmp_path / "results" / "made-up.jsonl").read_bytes().splitlines()
    assert 4 <= len(lines) <= 10
    assert all(json.loads(line)["values"]["B"] for line in lines)


def test_a_line_that_was_cut_off_is_measured_again(tmp_path):
    run(made_up(), tmp_path, n_jobs=1)
    path = tmp_path / "results" / "made-up.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    run(made_up(), tmp_path, n_jobs=1)
    assert [json.loads(line)["values"] for line in path.read_bytes().splitlines()] == [
        constant(1.0, 0),
        constant(2.0, 0),
    ]


def test_a_damaged_line_is_named_and_kept(tmp_path):
    run(made_up(), tmp_path, n_jobs=1)
    path = tmp_path / "results" / "made-up.jsonl"
    damaged = b"{" + path.read_bytes()[3:]
    path.write_bytes(damaged)
    with pytest.raises(ResultsError, match=r"made-up\.jsonl, line 1 is damaged"):
        run(made_up(), tmp_path, n_jobs=1)
    assert path.read_bytes() == damaged


def test_results_of_another_declaration_are_neither_used_nor_lost(tmp_path):
    run(made_up(), tmp_path, n_jobs=1)

    def other(value, seed):
        return {"A": {"score": -1.0}}

    summary = run(made_up(what=other), tmp_path, n_jobs=1)
    assert summary.mean("score", "one", "A") == -1
    assert len((tmp_path / "results" / "made-up.jsonl").read_bytes().splitlines()) == 4


def test_words_about_an_experiment_do_not_change_its_results():
    assert digits().fingerprint == digits(source="elsewhere", readings=(Reading("?", "!"),), n_repeats=9).fingerprint
    assert digits().fingerprint != digits(dimensions=(2, 4)).fingerprint
    assert digits().fingerprint != digits(methods={"PCA": Method(by_lpp)}).fingerprint
    assert digits().fingerprint != digits(methods={"PCA": Method(by_pca, nested=False)}).fingerprint
    with_k = [digits(methods={"PCA": Method(lambda X, y, d, k=k: LPP(d, graph=k))}).fingerprint for k in (3, 3, 4)]
    assert with_k[0] == with_k[1] != with_k[2]


def test_what_a_function_calls_enters_the_fingerprint(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for number, (helper, words) in enumerate([("1.0", "a"), ("1.0", "b"), ("2.0", "a")]):
        (tmp_path / f"paper{number}.py").write_text(
            "from lapwing_papers.experiments import Measured\n"
            f"def helper():\n    return {helper}\n"
            "def what(value, seed):\n    return {'A': {'score': helper()}}\n"
            f"EXPERIMENT = Measured(name='paper', source='', protocol={words!r}, what=what)\n"
        )
        found.append(__import__(f"paper{number}").EXPERIMENT.fingerprint)
    assert found[0] == found[1] != found[2]


def test_the_engine_enters_the_fingerprint(monkeypatch):
    before = digits().fingerprint
    engine = "lapwing_papers.experiments._experiment._working_parts"
    monkeypatch.setattr(engine, lambda module: "other" if module.__name__.endswith("_classification") else "same")
    other = digits().fingerprint
    monkeypatch.setattr(engine, lambda module: "same")
    assert len({before, other, digits().fingerprint}) == 3


def test_several_runs_into_one_folder_lose_nothing(tmp_path, monkeypatch):
    """A lock holds for each opened file, so that two threads stand for two processes, of which either may be late."""

    def late(file):
        whole = whole_length(file)
        time.sleep(0.002)
        return whole

    def append(first):
        store = Store(tmp_path, made_up())
        for seed in range(first, first + 20):
            store.append(Task("one", seed), {"A": {"score": "x" * 3000}}, 0.0)

    whole_length = _store._whole_length
    monkeypatch.setattr(_store, "_whole_length", late)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(append, (0, 20)))
    assert len(Store(tmp_path, made_up()).read()) == 40


def test_results_that_cannot_be_read_do_not_hide_the_others(tmp_path):
    run(made_up(), tmp_path, n_jobs=1)
    other = made_up(name="other")
    run(other, tmp_path, n_jobs=1)
    (tmp_path / "results" / "made-up.jsonl").write_text("{}\n")
    with pytest.warns(UserWarning, match=r"made-up\.jsonl, line 1 is damaged"):
        (found,) = collected([made_up(), other], tmp_path)
    assert found.experiment is other


def test_what_is_not_the_same_data_is_refused(monkeypatch):
    def other(*args, **kwargs):
        warnings.warn(
            "Yale_32x32.npz not found. Taken from elsewhere, not the same as Yale_32x32.npz: smaller.", stacklevel=2
        )

    monkeypatch.setattr("lapwing_papers.experiments._data.load", other)
    with pytest.raises(FileNotFoundError, match="needs the file itself"):
        dataset.__wrapped__("yale")


FULL = """
import resource, signal, sys
sys.path.insert(0, {tests!r})
from test_experiments import constant, made_up
from lapwing_papers.experiments import ResultsError, run

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    run(made_up(n_repeats=50), {folder!r}, n_jobs=1)
except ResultsError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are of POSIX")
def test_where_there_is_no_more_room_all_before_is_kept(tmp_path):
    code = FULL.format(tests=os.path.dirname(__file__), folder=str(tmp_path), limit=2000)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "made-up.jsonl" in said
    assert "goes on from there" in said
    content = (tmp_path / "results" / "made-up.jsonl").read_bytes()
    assert content.endswith(b"\n")
    kept = len(content.splitlines())
    assert kept >= 5
    assert len(Store(tmp_path / "results", made_up()).read()) == kept
    assert run(made_up(n_repeats=50), tmp_path, n_jobs=1).cells[0].n == 50


def test_missing_data_is_said_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("LAPWING_DATA", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match=r"(?s)Yale_32x32.*LAPWING_DATA"):
        run(made_up(data=("yale:32x32",)), tmp_path, n_jobs=1)
    assert not (tmp_path / "results").exists()


def test_a_failure_says_where(tmp_path):
    def broken(value, seed):
        if value == 2:
            raise ValueError("no such thing")
        return constant(value, seed)

    with pytest.raises(ExperimentError, match="made-up, two, seed 0: ValueError: no such thing"):
        run(made_up(what=broken), tmp_path, n_jobs=1)
    assert len((tmp_path / "results" / "made-up.jsonl").read_bytes().splitlines()) == 1


# What is left to read


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.sources, self.text, self.open = [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_is_whole_and_needs_nothing_else(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    experiment = digits(
        published={"error": {"5 a digit": {"PCA": 77.123}}},
        readings=(Reading("Which digits?", "The <first>."),),
        claims=(Claim("1 > 0", lambda summary: 1.0, at_least=0),),
    )
    page = Page(write_page([run(experiment, tmp_path, n_jobs=1)], tmp_path, notes={"faces": "not public"}).read_text())
    assert page.open == []
    assert page.tags.count("img") == 1
    assert all(s.startswith(("data:image/png;base64,", "#")) for s in page.sources)
    assert "lapwing " in page.text
    for words in ("nobody, table <1>", "The <first>.", "77.12", "not reproduced", "1 > 0", "not public", "5 a digit"):
        assert words in page.text


def test_the_table_is_written_for_other_programs(tmp_path):
    pandas = pytest.importorskip("pandas")
    summary = run(made_up(published={"score": {"one": {"A": 1.0}}}, n_repeats=2), tmp_path, n_jobs=1)
    table = pandas.read_csv(tmp_path / "made-up.csv")
    assert table["measured"].tolist() == [cell.measured for cell in summary.cells]
    assert table["verdict"].tolist() == [cell.verdict for cell in summary.cells]
    assert table["spread"][0] == 0.5
    assert math.isnan(table["published"][1])


def test_quick_runs_a_few_and_the_rest_come_later(tmp_path):
    experiment = made_up(n_repeats=5, n_quick=2, quick_conditions=("two",))
    quick = run(experiment, tmp_path, quick=True, n_jobs=1)
    assert [(c.condition, c.n) for c in quick.cells] == [("two", 2), ("two", 2)]
    assert {c.n for c in run(experiment, tmp_path, n_jobs=1).cells} == {5}
    whole = (tmp_path / "made-up.csv").read_bytes()
    run(experiment, tmp_path, quick=True, n_jobs=1)
    assert (tmp_path / "made-up.csv").read_bytes() == whole
    assert made_up(n_repeats=5, n_quick=2, quick_conditions=()).tasks(quick=True) == []


def test_methods_repr_enters_the_fingerprint():
    class Odd(BaseEstimator):
        def __init__(self, k=1):
            self.k = k

    a, b = (digits(classifier=Odd(k)).fingerprint for k in (2, 3))
    assert a != b
