"""The golden suite: what the library does is what was recorded (``benchmarks/golden.py`` records, and says how).

With LAPWING_GOLDEN=numbers only numbers are compared: other versions of dependencies warn, print and refuse in other words.
"""

import importlib
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import golden_surface as surface
import numpy as np
import pytest
from golden_cases import cases
from golden_compare import GOLDEN, Record, differences, first, groups, listed, load, matching, unexplained, with_new
from golden_data import LABELS, MissingName, Names
from golden_tables import CROSSED_GRAPHS, CROSSED_METHODS, crossed
from helpers import each

WORDS = os.environ.get("LAPWING_GOLDEN") != "numbers"
ROOT = Path(__file__).parent.parent
RECORDER = ROOT / "benchmarks" / "golden.py"
RECORDED = {name: record for family in {c.family for c in cases().values()} for name, record in load(family).items()}
words_alone = pytest.mark.skipif(not WORDS, reason="LAPWING_GOLDEN=numbers compares numbers only")


def compared(name):
    case = cases()[name]
    if case.lacks:
        pytest.skip(f"{', '.join(case.lacks)} is not installed")
    return differences(RECORDED[name], case.run(), case.tol, WORDS)


@pytest.mark.parametrize("name", cases())
def test_it_is_as_it_was_recorded(name):
    assert compared(name) == []


def test_every_case_has_a_recording_and_every_recording_a_case():
    assert RECORDED.keys() == cases().keys()


def test_nothing_differs_from_its_first_recording_without_a_reason():
    hashes = {name: record.digest() for name, record in RECORDED.items()}
    hashes |= {name: surface.signature_digest(entry) for name, entry in surface.load_signatures().items()}
    hashes |= {name: record.digest() for name, record in surface.load_commands().items()}
    assert unexplained(hashes, first(), listed()) == []


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in GOLDEN.iterdir()) < 8e6


# What stands beside the cases.


@words_alone
@each("name", surface.load_signatures())
def test_signatures(name):
    found = surface.described(name.removeprefix("signature "))
    assert surface.signature_differences(surface.load_signatures()[name], found) == []


def test_every_public_name_is_recorded():
    assert surface.load_signatures().keys() == {f"signature {name}" for name in surface.public_names()}


@pytest.fixture(scope="module")
def commands(tmp_path_factory):
    pytest.importorskip("typer")
    return surface.commands(tmp_path_factory.mktemp("commands"))


@pytest.mark.parametrize("name", surface.load_commands())
def test_commands(name, commands):
    if name == "command export":
        pytest.importorskip("onnxruntime")
    expected = surface.load_commands()[name]
    assert differences(expected, commands[name], surface.TOLERANCES.get(name, 1e-8), WORDS) == []
    assert commands[name].facts["code"] == expected.facts["code"]


def test_twelve_commands_are_recorded():
    assert [f"command {name}" for name in surface.COMMANDS] == sorted(
        surface.load_commands(), key=list(_places()).index
    )
    assert len(surface.COMMANDS) == 12


def _places():
    return {f"command {name}": place for place, name in enumerate(surface.COMMANDS)}


# The tables: what they promise to hold.


def test_every_two_of_methods_data_labels_and_graphs_meet():
    found = crossed()
    with_graph = {method for method, call in CROSSED_METHODS.items() if "{}" in call}
    met = {(i, row[i], j, row[j]) for row in found for i, j in combinations(range(4), 2)}
    data = {row[1] for row in found}
    assert len(data) == 8
    for method in CROSSED_METHODS:
        assert {other for i, one, j, other in met if (i, j) == (0, 1) and one == method} == data
        own = {label for i, one, j, label in met if (i, j) == (0, 2) and one == method}
        assert own >= set(LABELS) - {"none"}
        assert any(case.startswith(f"{method}(") and case.endswith(", none") for case in cases())
        graphs = {graph for i, one, j, graph in met if (i, j) == (0, 3) and one == method}
        assert graphs == (set(CROSSED_GRAPHS) if method in with_graph else {None})
    for one in data:
        assert {label for i, kind, j, label in met if (i, j) == (1, 2) and kind == one} == set(LABELS)
        assert {graph for i, kind, j, graph in met if (i, j) == (1, 3) and kind == one} == set(CROSSED_GRAPHS)
    for label in set(LABELS) - {"none"}:
        assert {graph for i, one, j, graph in met if (i, j) == (2, 3) and one == label} == set(CROSSED_GRAPHS)


def test_every_method_and_every_graph_has_a_case():
    for module in ("lapwing", "lapwing.graphs"):
        for name in set(importlib.import_module(module).__all__) - {"Graph"}:
            assert any(f"{name}(" in case or name == case for case in cases()), name


def test_every_parameter_of_methods_and_graphs_is_given_somewhere():
    written = " ".join(cases())
    for entry, found in surface.load_signatures().items():
        name = entry.removeprefix("signature ").removeprefix("graphs.")
        if (
            "." in name
            or "signature" not in found
            or not (name in CROSSED_METHODS or entry.startswith("signature graphs."))
        ):
            continue
        keywords = found["signature"].partition("*, ")[2].rstrip(")")
        for keyword in (part.split("=")[0] for part in keywords.split(", ") if "=" in part):
            assert f"{keyword}=" in written, (name, keyword)


def test_what_is_dropped_has_no_case():
    gone = (
        "approximate",
        "recall=",
        'neighbors="svd"',
        "CodingLength(5, kernel",
        "chi2",
        "checkpoint",
        "sampling_",
        "fit_times_",
    )
    assert [name for name in cases() if any(word in name for word in gone)] == []
    assert not {f"signature {name}" for name in surface.DROPPED} & set(surface.load_signatures())


# The comparison sees what it should see, and nothing else.


@pytest.fixture
def record():
    """Five components: 0 alone, 1 and 2 of equal eigenvalues, 3 alone, and 4, which is cut from others like it."""
    rng = np.random.RandomState(0)
    arrays = {
        "0/components_": rng.randn(9, 5),
        "0/new": rng.randn(4, 5),
        "0/explained_ratio_": rng.rand(5),
        "mean_": rng.rand(9),
    }
    values = np.array([0.1, 0.3, 0.3 + 1e-12, 0.5, 0.9])
    return Record({"rank": 7, "cut": [0], "graph": "KNN(t=0.25)"}, arrays | {"0/eigenvalues": values})


def changed(record, **change):
    """The record after a linear map of its components, or with other eigenvalues, arrays or facts."""
    arrays = {name: array.copy() for name, array in record.arrays.items()}
    if "turn" in change:
        for name in ("0/components_", "0/new"):
            arrays[name] = arrays[name] @ change["turn"]
    for name, array in change.get("arrays", {}).items():
        arrays[name] = arrays[name] + array
    return Record(record.facts | change.get("facts", {}), arrays)


def turned(i, j, angle, k=5):
    turn = np.eye(k)
    turn[i, i] = turn[j, j] = np.cos(angle)
    turn[i, j], turn[j, i] = np.sin(angle), -np.sin(angle)
    return turn


def test_groups_of_eigenvalues():
    assert groups(np.array([0.1, 0.3, 0.3 + 1e-9, 0.5])) == [[0], [1, 2], [3]]
    assert groups(np.array([1e-17, -3e-16, 2e-15, 0.5])) == [[0, 1, 2], [3]]  # a graph in pieces
    assert groups(np.array([1e-17, 4e-16])) == [[0, 1]]
    assert groups(np.array([0.3, 0.3 + 1e-6])) == [[0], [1]]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"turn": np.diag([1, -1, 1, -1, 1])},
        {"turn": turned(1, 2, 0.7)},
        {"turn": np.eye(5) + 0.5 * np.eye(5)[[0, 2, 1, 3, 4]] * np.array([0, 1, 1, 0, 0])},
        {"turn": turned(4, 4, 0.0) * np.array([1, 1, 1, 1, 9.0])},
        {"arrays": {"0/explained_ratio_": np.array([0, 0.2, -0.2, 0, 0.3])}},
        {"arrays": {"mean_": 1e-10}},
        {"facts": {"graph": "KNN(t=0.2500000001)"}},
    ],
    ids=[
        "same",
        "signs",
        "rotated group",
        "sheared group",
        "cut off",
        "shares in a group",
        "rounding",
        "rounding in words",
    ],
)
def test_what_means_the_same_passes(record, change):
    assert differences(record, changed(record, **change), 1e-8) == []


@pytest.mark.parametrize(
    "change",
    [
        {"turn": turned(0, 3, 1e-6)},
        {"turn": turned(1, 3, 1e-6)},
        {"turn": turned(2, 4, 1e-6)},
        {"turn": np.diag([1 + 1e-6, 1, 1, 1, 1])},
        {"arrays": {"0/eigenvalues": np.array([1e-6, 0, 0, 0, 0])}},
        {"arrays": {"0/eigenvalues": np.array([0, 0, 0, 0, 1e-6])}},
        {"arrays": {"0/new": -2 * np.eye(4, 5)}},
        {"arrays": {"0/explained_ratio_": np.array([0, 1e-6, 0, 0, 0])}},
        {"arrays": {"mean_": 1e-6}},
        {"arrays": {"mean_": np.nan}},
        {"facts": {"rank": 6}},
        {"facts": {"rank": None}},
        {"facts": {"graph": "KNN(t=0.2501)"}},
        {"facts": {"graph": "KNN(6, t=0.25)"}},
        {"facts": {"warnings": ["UserWarning"]}},
    ],
    ids=lambda change: None,
)
def test_what_differs_fails(record, change):
    assert differences(record, changed(record, **change), 1e-8)


def test_signs_are_the_same_in_all_arrays(record):
    other = changed(record)
    other.arrays["0/new"][:, 0] *= -1
    assert differences(record, other, 1e-8)


def test_a_shape_that_differs_is_told(record):
    other = Record(record.facts, {name: array for name, array in record.arrays.items() if name != "mean_"})
    assert differences(record, other, 1e-8) == ["mean_ had the shape (9,) and has None"]


def test_numbers_alone(record):
    assert differences(record, changed(record, facts={"graph": "KNN()", "error": "x"}), 1e-8, words=False) == []
    assert differences(record, changed(record, facts={"rank": 6}), 1e-8, words=False)


def test_changes_are_explained_one_by_one():
    text = "# Title\n\nwords\n\n## LPP(2) on *\n\nThe ridge has another unit.\n\n## command fit\n\n"
    reasons = listed(text)
    assert reasons == {"LPP(2) on *": "The ridge has another unit.", "command fit": ""}
    before = {"LPP(2) on tall": "a", "LPP(2) on wide": "b", "OLPP(2) on tall": "c", "command fit": "d"}
    now = before | {"LPP(2) on tall": "x", "command fit": "y"}
    assert unexplained(before, before, {}) == []
    assert len(unexplained(now, before, reasons)) == 2  # wide did not change, and a reason is missing
    exact = {"LPP(2) on tall": "why", "command fit": "why"}
    assert unexplained(now, before, exact) == []
    assert unexplained(now | {"OLPP(2) on tall": "z"}, before, exact)
    assert unexplained({"command fit": "d"}, before, exact)  # cases are gone
    assert unexplained(before, before, {"LDA": "why"}) == ["changes.md lists 'LDA', and there is no such case"]
    assert matching("LPP(2, graph=KNN(5) + *) on tall", ["LPP(2, graph=KNN(5) + W) on tall", "LPP(2) on tall"]) == {
        "LPP(2, graph=KNN(5) + W) on tall"
    }


def test_the_first_recordings_get_what_had_no_recording_and_nothing_else():
    """Renamed things are recorded without a first recording, and were added to it at the next run of the recorder."""
    recorded, before = {"LPP(2) on tall": "a"}, {"LPP(2) on tall": "x", "signature Renamed": "r"}
    now = before | {"LPP(2) on tall": "y", "signature Renamed": "s", "LPP(3) on tall": "n"}
    assert with_new(recorded, before, now) == {"LPP(2) on tall": "a", "LPP(3) on tall": "n"}


def test_a_record_is_read_as_it_was_written(record, tmp_path, monkeypatch):
    from golden_compare import save

    monkeypatch.setattr("golden_compare.GOLDEN", tmp_path)
    save("some", {"b": record, "a": Record({"error": "ValueError: no"})})
    found = load("some")
    assert list(found) == ["a", "b"]
    assert [found[name].digest() for name in "ab"] == [Record({"error": "ValueError: no"}).digest(), record.digest()]


def test_a_name_that_is_missing_is_told_and_errors_are_recorded():
    with pytest.raises(MissingName, match="lapwing has no LPQ"):
        Names().made("LPQ(2)")
    found = cases()["LPP(9) on tall, full"].run()
    assert found.facts["error"] == "RankError: n_components=9 is more than the 8"


@pytest.mark.skipif(not RECORDER.exists(), reason="there are no benchmarks here")
def test_nothing_is_recorded_without_the_torch_that_recordings_have(tmp_path):
    """A folder that comes first says that torch is of another version."""
    (tmp_path / "torch-9.9.dist-info").mkdir()
    (tmp_path / "torch-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    said = subprocess.run(
        [sys.executable, RECORDER],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert said.returncode == 1
    assert "recording needs torch==2.13.0" in said.stderr
