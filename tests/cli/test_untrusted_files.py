"""The command line and files from anywhere: it destroys nothing that it reads, and nothing in them steers the terminal."""

import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")
pytest.importorskip("PIL")
from PIL import Image
from typer.testing import CliRunner

from lapwing.cli import _options
from lapwing.cli._app import app

ESCAPE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(part) for part in arguments])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A matrix and its labels, images, and a table whose names are made for terminals."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((30, 4)), rng.randint(0, 2, 30)
    np.save("X.npy", X)
    np.save("y.npy", y)
    (tmp_path / "y.txt").write_text("\n".join(map(str, y)) + "\n")
    for i in range(8):
        (tmp_path / "images" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.randint(0, 255, (4, 4)).astype(np.uint8)).save(
            tmp_path / "images" / "ab"[i % 2] / f"{i}.png"
        )
    lines = [f"a{ESCAPE},b,kind{ESCAPE}", *(f"{row[0]},{row[1]},x{ESCAPE}{k}" for row, k in zip(X, y, strict=True))]
    (tmp_path / "names.csv").write_text("\n".join(lines))
    run("fit", "X.npy", "-d", 2, "-o", "model")
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


READ = [
    ("fit X.npy --label y.txt -o y.txt", "y.txt"),
    ("fit X.npy --label y.npy -o y.npy", "y.npy"),
    ("fit X.npy -o X.npy", "X.npy"),
    ("fit images -o images/a/0.png", "images/a/0.png"),
    ("compare images -o images/b/1.png", "images/b/1.png"),
    ("compare X.npy --label y.txt -o y.txt", "y.txt"),
    ("compare X.npy --label y.txt -o report.html --atlas y.txt", "y.txt"),
    ("transform model X.npy --label y.txt -o {}.csv", "y.txt"),
    ("transform model X.npy -o {}.csv", "X.npy"),
    ("transform model X.npy -o {}.csv", "model"),
    ("export model -o model", "model"),
]


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
@pytest.mark.parametrize(("command", "file"), READ)
def test_nothing_that_is_read_is_replaced(folder, command, file, link):
    """By its name, nor by a link to it."""
    output = "link.csv"
    if link is not None or "{}" in command:
        (link or os.link)(os.path.abspath(file), output)
    words = [word.replace("{}.csv", output) for word in command.split()]
    words = words if link is None else [*words[:-1], output]
    before = contents(folder)
    result = run(*words, code=2)
    assert "is read by this command" in " ".join(result.stderr.replace("│", " ").split())
    assert contents(folder) == before


def test_two_outputs_are_two_files(folder):
    said = run("compare", "X.npy", "-o", "new.parquet", "--atlas", "./new.parquet", code=2).stderr
    assert "./new.parquet is where the report goes" in " ".join(said.replace("│", " ").split())


def test_a_new_file_among_images_is_fine(folder):
    run("fit", "images", "--no-label", "-d", 1, "-o", "images/model.lapwing")
    assert os.path.exists("images/model.lapwing")


# Terminals


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["fit", "names.csv", "-d", "1", "-o", "names.model"], 0),
        (["fit", "names.csv", "-d", "1", "--label", f"kind{ESCAPE}", "-o", f"m{ESCAPE}"], 0),
        (["fit", "names.csv", "--label", f"kin{ESCAPE}"], 1),
        (["fit", f"{ESCAPE}.csv"], 1),
        (["fit", f"{ESCAPE}.xls"], 1),
        (["--debug", "fit", f"{ESCAPE}.csv"], 1),
        (["fit", "X.npy", "-o", f"{ESCAPE}/x"], 2),
        (["fit", "X.npy", f"--{ESCAPE}"], 2),
        ([f"{ESCAPE}"], 2),
        (["fit", "X.npy", "--method", ESCAPE], 2),
        (["inspect", "named"], 0),
        (["inspect", "named", "--json"], 0),
        (["transform", "named", "names.csv", "--label", "nothing"], 1),
        (["export", "named", "-o", f"{ESCAPE}.onnx"], 0),
    ],
)
def test_names_do_not_steer_the_terminal(folder, arguments, code):
    run("fit", "names.csv", "--drop", f"kind{ESCAPE}", "-d", "1", "-o", "named")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == code, result.output
    assert not set(result.output) & set("\x1b\x07\x9b\u202e"), ascii(result.output)
    if "--json" in arguments:
        assert json.loads(result.stdout)["feature_names"] == [f"a{ESCAPE}", "b"]


def test_names_that_are_not_text(folder):
    """Bytes that are no UTF-8, as file names may have."""
    assert r"\udcff.csv: No such file" in run("fit", "\udcff.csv", code=1).stderr


def test_tables_on_a_terminal_and_in_a_pipe(folder):
    run("fit", "names.csv", "--label", f"kind{ESCAPE}", "-d", "1", "-o", "named")
    command = ["transform", "named", "names.csv", "--label", f"kind{ESCAPE}"]
    assert ESCAPE in run(*command).stdout  # data, as it was
    leader, follower = pty.openpty()
    code = "import sys; from lapwing.cli import main; sys.argv[0] = 'lapwing'; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *command], stdout=follower, stderr=subprocess.DEVNULL
    ) as process:
        os.close(follower)
        shown = b""
        try:
            while part := os.read(leader, 4096):
                shown += part
        except OSError:  # how Linux says that a terminal has ended
            os.close(leader)
    assert process.returncode == 0, shown
    assert rb"\x1b]0;owned\x07" in shown
    assert b"\x1b" not in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe\t1\n", "größe\t1\n"),
        ("a\x1b[0m\r\x00", r"a\x1b[0m\r\x00"),
        ("\x85\u2028\u202e\udc80", r"\x85\u2028\u202e\udc80"),
        ("👩‍🔬 نمی‌دانم", "👩‍🔬 نمی‌دانم"),
    ],
)
def test_visible(text, shown):
    assert _options.visible(text) == shown


def test_messages_are_one_line(capsys):
    _options.warn("one\ntwo\r\nthree")
    assert capsys.readouterr().err == "lapwing: one two three\n"
