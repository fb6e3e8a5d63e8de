"""``make measure``: parts go on where they were stopped, and say where and when they were measured."""

import json

import few
import measure
import pytest
from measure import PARTS, Part

KEPT = [name for name in PARTS if measure.kept(name)]


@pytest.fixture
def part(tmp_path, monkeypatch):
    """A part of two commands, of which the second fails until a file is there."""
    monkeypatch.setattr(measure, "ROOT", tmp_path)
    monkeypatch.setattr(measure, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(measure, "library", lambda: "0123456789ab")
    monkeypatch.setattr(measure, "told", lambda *_: "ba9876543210")
    (tmp_path / "first.py").write_text("print(1)")
    monkeypatch.setitem(PARTS, "made up", Part(("first.py", "second.py {folder}"), 0, "none"))
    return tmp_path


def test_a_part_goes_on_where_it_was_stopped(part, capfd):
    assert measure.run("made up") != 0
    assert "`make measure PART=made up` goes on with it" in capfd.readouterr().err
    assert [*measure.kept("made up")] == ["first.py"]
    (part / "first.py").write_text("raise SystemExit(1)")  # is not run again
    (part / "second.py").write_text("import sys; print(sys.argv[1])")
    assert measure.run("made up") == 0
    first, second = measure.kept("made up").values()
    assert first["output"] == "1\n"
    assert second["output"].strip() == str(part / "out" / "measure" / "0123456789ab")
    assert measure.run("made up") == 0


def test_a_changed_library_is_measured_again(part, monkeypatch):
    (part / "second.py").write_text("print(2)")
    assert measure.run("made up") == 0
    (part / "first.py").write_text("print(3)")
    monkeypatch.setattr(measure, "library", lambda: "other")
    assert measure.run("made up") == 0
    first, _ = measure.kept("made up").values()
    assert (first["output"], first["library"]) == ("3\n", "other")


def test_a_library_with_changes_is_never_done(part, monkeypatch):
    monkeypatch.setattr(measure, "library", lambda: "0123456789ab with changes")
    (part / "second.py").write_text("print(2)")
    assert measure.run("made up") == 0
    (part / "second.py").write_text("print(3)")
    assert measure.run("made up") == 0
    assert [record["output"] for record in measure.kept("made up").values()] == ["1\n", "3\n"]


def test_what_saw_the_library_change_is_not_kept(part, monkeypatch, capfd):
    states = iter(["before", "after"])
    monkeypatch.setattr(measure, "library", lambda: next(states))
    assert measure.run("made up") == 1
    assert "this command saw the library change" in capfd.readouterr().err
    assert not measure.kept("made up")


def test_parts_are_listed(part, capsys):
    (part / "second.py").write_text("print(2)")
    measure.run("made up")
    assert measure.main([]) == 0
    assert "gpu" in (listed := capsys.readouterr().out)
    assert "(by its name only)" in listed
    assert "2 of 2, " in listed
    with pytest.raises(SystemExit):
        measure.main(["sped"])
    assert "there is no part sped; the parts are guide, few" in capsys.readouterr().err


def test_commands_call_what_there_is():
    for command in (command for part in PARTS.values() for command in part.commands):
        script = command.split()[0]
        assert script == "-m" or (measure.ROOT / script).exists(), command


@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_is_of_todays_commands_and_says_where_and_when(name):
    for command, record in measure.kept(name).items():
        assert command in PARTS[name].commands, f"run `make measure PART={name}`"
        assert all(record[key] for key in ("library", "commit", "date", "machine", "versions", "seconds"))


def test_few_labels_are_kept_whole():
    """What is kept is what benchmarks/few.py measures today."""
    [record] = measure.kept("few").values()
    found = json.loads(record["output"])
    assert {*found} == {f"{n}|{draw}|{seed}" for n in few.NEW for draw in few.DRAWS for seed in range(few.SPLITS)}
    assert all({*row} == {*few.METHODS, *few.TUNED} for row in found.values())


def test_sets_that_chose_nothing_are_those_of_the_benchmark():
    assert measure.NEW_SETS == few.NEW
