"""The command line: the same answers as in Python, and the manners of a shell."""

import array
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from messy import customers
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sparse_kinds import random_csr

import lapwing
from lapwing import LPP, MFA, OLPP, TSA, LaplacianScore
from lapwing.comparison import METHODS, compare
from lapwing.graphs import KNN, On, Target
from lapwing.inspection import loadings
from lapwing.persistence import load, versions
from lapwing.tables import Table, batches, read, write

pytest.importorskip("typer")
pytest.importorskip("pyarrow")
pytest.importorskip("skops")
from typer.testing import CliRunner

from lapwing.cli import _model
from lapwing.cli._app import app
from lapwing.cli._compare import fitting
from lapwing.cli._options import Reading

IRIS = load_iris()
X, Y = IRIS.data, IRIS.target
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
LAPWING = [sys.executable, "-m", "lapwing"]
QUICK = ("-j", 1, "--judge", "nearest")  # where a comparison is not about its judge

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


def run(*arguments, code=0, **options):
    """Runs a command in this process; what it says must have no traceback."""
    result = CliRunner().invoke(app, [str(part) for part in arguments], **options)
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def unfolded(result):
    """Standard error in one line, without the frame that may fold it."""
    return " ".join(result.stderr.replace("│", " ").split())


@pytest.fixture
def iris(tmp_path):
    path = tmp_path / "iris.csv"
    write(path, [Table(X, Y, np.array([f"flower {i}" for i in range(150)]), NAMES)], label="species", id="name")
    return path


@pytest.fixture
def model(tmp_path, iris):
    path = tmp_path / "iris.lapwing"
    run("fit", iris, "--label", "species", "--id", "name", "-d", 2, "--graph", "none", "-o", path)
    return path


# Start-up


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['lapwing', '--help']\n"
        "from lapwing.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'PIL', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    for command in ("compare", "fit", "transform", "inspect", "methods", "demo"):
        assert command in result.stdout


COMMANDS = ["compare", "fit", "transform", "inspect", "verify", "export", "methods", "demo"]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_short_and_flags_are_flags(name):
    """At most ten options in the first group, lines of 80 characters, and no type where an option takes no value."""
    shown = run(name, "--help", env={"COLUMNS": "80"}).stdout
    assert "bool" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    first = shown[shown.index("Options") :].partition("Advanced")[0]
    assert 1 <= sum(line.startswith("│ --") for line in first.splitlines()) <= 10
    assert set(COMMANDS) == {command.callback.__name__ for command in app.registered_commands}


def test_a_flag_takes_no_value(iris):
    run("fit", iris, "-l", "species", "--predict", "-o", iris.with_name("m.lapwing"))
    assert "unexpected extra argument" in unfolded(run("fit", iris, "--predict", "true", code=2)).lower()


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra(missing):
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom lapwing.cli import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "pip install 'lapwing[cli]'" in result.stderr


def test_version():
    assert run("--version").stdout.startswith("lapwing ")


# Fit, transform, inspect


def test_fit_is_that_of_python(model):
    found = load(model)
    expected = LPP(2).fit(X, Y)
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.transform(X), expected.transform(X))
    assert found.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npy"])
def test_transform_is_that_of_python(tmp_path, iris, model, suffix):
    out = tmp_path / f"out{suffix}"
    columns = [] if suffix == ".npy" else ["--id", "name", "--label", "species"]
    result = run("transform", model, iris, "-o", out, *columns)
    assert result.stdout == ""
    assert f"wrote {out}: 150 rows" in result.stderr
    found = read(out, **({"id": "name", "label": "species"} if columns else {}))
    np.testing.assert_allclose(found.X, LPP(2).fit(X).transform(X), rtol=1e-12)
    if columns:
        assert found.feature_names == ["lpp0", "lpp1"]
        np.testing.assert_array_equal(found.y, Y)
        assert found.ids[149] == "flower 149"


def test_columns_are_found_by_name(tmp_path, model):
    other = tmp_path / "other.parquet"
    write(other, [Table(np.column_stack([X[:, ::-1], np.arange(150.0)]), feature_names=[*NAMES[::-1], "noise"])])
    run("transform", model, other, "-o", tmp_path / "out.npy")
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), LPP(2).fit(X).transform(X), rtol=1e-12)
    write(other, [Table(X[:, :3], feature_names=NAMES[:3])])
    assert "no column 'petal width'" in run("transform", model, other, code=1).stderr


def test_float32_stays(tmp_path):
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    run("fit", tmp_path / "x.npy", "-o", tmp_path / "m.lapwing")
    run("transform", tmp_path / "m.lapwing", tmp_path / "x.npy", "-o", tmp_path / "z.npy")
    Z = np.load(tmp_path / "z.npy")
    assert Z.dtype == np.float32
    np.testing.assert_array_equal(Z, LPP(2).fit(X.astype(np.float32)).transform(X.astype(np.float32)))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-m", "LPP", "-g", "7"], LPP(graph=7)),
        (["-m", "lpp", "-d", "all", "-p", "pca=null"], LPP(None, graph="supervised", pca=None)),
        (["-p", "pca=0.99"], LPP("auto", graph="supervised", pca=0.99)),
        (["-d", "1", "-p", "scaling=constraint"], LPP(1, graph="supervised", scaling="constraint")),
        (["-m", "olpp", "-d", "auto"], OLPP("auto", graph="supervised")),
        (["-g", "KNN(9, weights='binary')"], LPP(graph=KNN(9, weights="binary"))),
        (["-m", "mfa", "-d", "3"], MFA(3)),
        (["-m", "laplacian-score", "-d", "2"], LaplacianScore(2, graph="supervised")),
    ],
)
def test_parameters(tmp_path, iris, arguments, expected):
    path = tmp_path / "m.lapwing"
    run("fit", iris, "--label", "species", "--id", "name", "-o", path, *arguments)
    found = load(path)
    assert repr(found) == repr(expected)
    np.testing.assert_array_equal(found.transform(X), expected.fit(X, Y).transform(X))


def test_tensors_of_images(tmp_path):
    images = load_digits().images[:60]
    np.save(tmp_path / "x.npy", images)
    run("fit", tmp_path / "x.npy", "-m", "tsa", "-d", "3x2", "-o", tmp_path / "m.lapwing")
    run("transform", tmp_path / "m.lapwing", tmp_path / "x.npy", "-o", tmp_path / "z.npy")
    expected = TSA((3, 2), flatten=True).fit(images).transform(images)
    np.testing.assert_allclose(np.load(tmp_path / "z.npy"), expected, rtol=1e-10)


def test_inspect(model):
    facts = json.loads(run("inspect", model, "--json").stdout)
    expected = LPP(2).fit(X)
    assert facts["method"] == "LPP"
    assert facts["parameters"]["n_components"] == 2
    assert (facts["features"], facts["outputs"], facts["rank"]) == (4, 2, expected.rank_)
    assert facts["feature_names"] == NAMES
    np.testing.assert_array_equal(facts["eigenvalues"], expected.eigenvalues_)
    assert facts["arrays"]["components_"] == [2, 4]
    assert facts["file"] == {**versions(model), "bytes": model.stat().st_size}
    shown = " ".join(run("inspect", model).stdout.split())
    for part in (
        "Locality Preserving Projections",
        "outputs 2",
        "petal width",
        f"scikit-learn: {sklearn.__version__};",
    ):
        assert part in shown


def test_loadings(model):
    """The leading features, by their names."""
    rows = json.loads(run("inspect", model, "--loadings", "3", "--json").stdout)
    expected = loadings(LPP(2).fit(X), feature_names=NAMES).rows(3)
    assert [(row["feature"], row["rank"]) for row in rows] == [(row["feature"], row["rank"]) for row in expected]
    np.testing.assert_allclose([row["loading"] for row in rows], [row["loading"] for row in expected])
    shown = run("inspect", model, "--loadings", "1").stdout
    assert f"{expected[0]['feature']}" in shown
    assert f"{expected[0]['loading']:+.3f}" in shown


# Labels, sparse data, images


@pytest.fixture
def documents(tmp_path):
    """Sparse data as svmlight, with classes -1 and 1."""
    counts = random_csr((60, 12), 0.6) + sparse.csr_array(np.eye(60, 12))
    path = tmp_path / "o.svm"
    dump_svmlight_file(counts, np.where(np.arange(60) % 2, 1, -1), str(path), zero_based=False)
    return path


@pytest.mark.parametrize("method", ["LPP", "FisherScore"])
def test_sparse_data_in_every_format(tmp_path, documents, method):
    path = tmp_path / "m.lapwing"
    own = ["-g", "none"] if "graph" in getattr(lapwing, method)().get_params() else []
    assert "labels -1 and 1 are read as two classes" in run("fit", documents, "-m", method, *own, "-o", path).stderr
    table = read(documents)
    model = getattr(lapwing, method)().fit(table.X, (table.y > 0).astype(int))
    Z = model.transform(table.X)
    expected = Z.toarray() if sparse.issparse(Z) else Z
    for suffix in (".npy", ".csv", ".parquet"):
        out = tmp_path / f"z{suffix}"
        run("transform", path, documents, "-o", out, "--no-label")
        np.testing.assert_allclose(read(out).X, expected, rtol=1e-9, atol=1e-12)
    assert run("transform", path, documents).stdout.count("\n") == 61


def test_dense_methods_say_that_they_are(documents):
    assert "TSA takes no sparse data" in run("fit", documents, "-m", "tsa", code=1).stderr


@pytest.mark.parametrize("kind", ["csv.gz", "npy", "npz", "svm", "sparse.npz"])
def test_compare_every_format(tmp_path, kind):
    import gzip

    X, Y = IRIS.data[::5], IRIS.target[::5]
    path, y = tmp_path / f"x.{kind}", ["--label", tmp_path / "y.npy"]
    np.save(tmp_path / "y.npy", Y)
    savers = {
        "npy": lambda: np.save(path, X),
        "npz": lambda: np.savez(path, X=X, y=Y),
        "svm": lambda: dump_svmlight_file(X, Y, str(path), zero_based=False),
        "sparse.npz": lambda: sparse.save_npz(path, sparse.coo_array(X)),
    }
    if kind == "csv.gz":
        write(tmp_path / "x.csv", [Table(X, Y)])
        path.write_bytes(gzip.compress((tmp_path / "x.csv").read_bytes()))
    else:
        savers.get(kind, lambda: write(path, [Table(X, Y)]))()
    label = [] if kind in ("npz", "svm") else y if kind in savers else ["--label", "label"]
    result = run("compare", path, *label, "-m", "lpp", "-d", 2, *QUICK, "--cv", 2, "-o", tmp_path / "r.html", "--json")
    assert json.loads(result.stdout)["criterion"] == "accuracy"
    assert "30 rows, 4 features, 3 classes" in result.stderr


def test_two_classes_of_a_sign(tmp_path, documents):
    arguments = ["-m", "mmc", "-d", 1, *QUICK, "-o", tmp_path / "r.html"]
    result = run("compare", documents, *arguments)
    assert "labels -1 and 1 are read as two classes" in result.stderr
    assert "60 rows, 12 features, 2 classes\n" in result.stderr
    assert "needs labels" in run("fit", documents, "-m", "mmc", "--no-label", code=2).stderr


def test_unknown_labels_are_no_class(tmp_path):
    y = np.where(np.arange(150) % 15 == 0, -1, Y)
    write(tmp_path / "x.csv", [Table(X[:, :1], y)])
    result = run("compare", tmp_path / "x.csv", "-l", "label", "-m", "lpp", "-d", 1, *QUICK, "-o", tmp_path / "r.html")
    assert "150 rows, 1 feature, 3 classes, 10 unknown\n" in result.stderr


def test_quantities_are_no_classes(tmp_path):
    path = tmp_path / "reg.svm"
    dump_svmlight_file(X, X[:, 0] / 3, str(path), zero_based=False)
    run("fit", path, "-o", tmp_path / "m.lapwing")  # LPP reads no labels
    said = run("fit", path, "-m", "mmc", "-o", tmp_path / "out", code=1).stderr
    assert "quantities" in said
    assert "--no-label" in said
    result = run("compare", path, "-m", "lpp", "-d", 1, *QUICK, "--cv", 2, "-o", tmp_path / "r.html", "--json")
    assert json.loads(result.stdout)["criterion"] == "r2"
    facts = run("compare", path, "--no-label", "-m", "pca", "-d", 1, *QUICK, "-o", tmp_path / "r.html", "--json").stdout
    assert json.loads(facts)["criterion"] == "recall"


def test_quantities_are_targets(tmp_path):
    """A graph that reads numbers takes them, gaps included; the model is the one of the library."""
    path, target = tmp_path / "some.csv", np.where(np.arange(len(X)) % 5, X[:, 0] / 3, np.nan)
    rows = [",".join(map(str, row)) + f",{'' if np.isnan(t) else t}" for row, t in zip(X, target, strict=True)]
    path.write_text("\n".join([",".join([*NAMES, "size"]), *rows]))
    graph = ("--graph", "On([1, 2], KNN(5)) + Target(9)")
    said = run("fit", path, "-l", "size", *graph, "-m", "lpp", "-d", 1, "-o", tmp_path / "m.lapwing").stderr
    assert "30 labels of 150 unknown" in said
    model = LPP(1, graph=On([1, 2], KNN(5)) + Target(9)).fit(X, target)
    np.testing.assert_allclose(load(tmp_path / "m.lapwing").components_, model.components_, rtol=1e-6)
    path.write_text("\n".join([",".join([*NAMES, "size"]), *(row + "small" for row in rows)]))
    said = run("fit", path, "-l", "size", *graph, "-m", "lpp", "-o", tmp_path / "m.lapwing", code=1).stderr
    assert "are words, and the graph reads numbers" in said


@pytest.mark.parametrize("target", [X[:, 0] - 6, np.round(X[:, 0]) - 5], ids=["both signs", "grades from -1"])
def test_missing_targets_are_unknown_and_minus_one_is_a_number(tmp_path, target):
    path, target = tmp_path / "some.csv", np.where(np.arange(len(X)) % 5, target, np.nan)
    rows = [",".join(map(str, row)) + f",{'' if np.isnan(t) else t}" for row, t in zip(X, target, strict=True)]
    path.write_text("\n".join([",".join([*NAMES, "size"]), *rows]))
    said = run("fit", path, "-l", "size", "-g", "KNN(5) + Target(5)", "-d", 1, "-o", tmp_path / "m.lapwing").stderr
    assert "30 labels of 150 unknown" in said
    model = LPP(1, graph=KNN(5) + Target(5)).fit(X, target)
    np.testing.assert_allclose(load(tmp_path / "m.lapwing").components_, model.components_, rtol=1e-6)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_transform_needs_no_labels(tmp_path, model, suffix):
    path = tmp_path / "some.csv"
    rows = [f"{','.join(map(str, row))},{'' if i % 2 else 'a'}" for i, row in enumerate(X)]
    path.write_text("\n".join([",".join([*NAMES, "species"]), *rows]))
    assert "one class only" in run("fit", path, "-l", "species", "-o", tmp_path / "n.lapwing", code=1).stderr
    run("transform", model, path, "-l", "species", "-o", tmp_path / f"z{suffix}")
    [table] = batches(tmp_path / f"z{suffix}", label="species")
    assert table.y[:2].tolist() in (["a", ""], ["a", None])


def test_images_of_another_shape(tmp_path):
    for name, shape in (("tall", (8, 8)), ("flat", (4, 16))):
        np.save(tmp_path / f"{name}.npy", np.random.RandomState(0).rand(30, *shape))
    run("fit", tmp_path / "tall.npy", "-o", tmp_path / "m.lapwing")
    assert json.loads(run("inspect", tmp_path / "m.lapwing", "--json").stdout)["image_shape"] == [8, 8]
    run("transform", tmp_path / "m.lapwing", tmp_path / "tall.npy", "-o", tmp_path / "z.npy")
    said = run("transform", tmp_path / "m.lapwing", tmp_path / "flat.npy", code=1).stderr
    assert "images of 4 x 16, but the model was fitted to 8 x 8" in said
    assert "--resize 8x8" in said


def test_identifiers_that_look_like_features(tmp_path):
    write(tmp_path / "x.csv", [Table(np.column_stack([np.arange(150.0), X]), feature_names=["ID", *NAMES])])
    arguments = ["fit", tmp_path / "x.csv", "-o", tmp_path / "m.lapwing"]
    assert "left out: 'ID' (names the rows)" in run(*arguments).stderr
    assert load(tmp_path / "m.lapwing").feature_names_in_.tolist() == NAMES
    assert "left out" not in run(*arguments, "--id", "ID").stderr


def test_a_label_named_like_a_file(tmp_path, iris, model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("species").touch()
    assert run("transform", model, iris, "-l", "species").stdout.startswith("species,lpp0")
    np.save("x.npy", X)
    np.save("species", Y)  # species.npy
    assert run("transform", model, "x.npy", "-l", "species.npy").stdout.startswith("species.npy,lpp0")
    assert "unknown kind of file to write" in run("transform", model, iris, "-o", "z.xlsx", code=1).stderr


# Compare, methods


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        (["--header"], ["--header"]),
        (["--drop", "sepal length", "--drop", '"sepal width"'], ["--drop", "sepal length", "--drop", "sepal width"]),
        (["--no-label"], ["--no-label"]),
    ],
)
def test_the_command_that_is_advised_reads_the_same(tmp_path, iris, extra, told):
    label = [] if "--no-label" in extra else ["-l", "species"]
    drop = ["--drop", "species"] if "--no-label" in extra else []
    result = run(
        "compare", iris, "--id", "name", *label, *drop, *extra, "-m", "lpp", "-d", 1, *QUICK, "-o", tmp_path / "r"
    )
    command = shlex.split(next(line for line in result.stderr.splitlines() if line.startswith("  lapwing fit")))
    for part in told:
        assert part in command
    run(*command[1:], "-o", tmp_path / "m.lapwing")


def test_advice_gives_back_every_option():
    given = Reading('a,"b', "i", ['"x,y"', "z"], header=False, resize="8x6")
    assert given.words() == [
        *["--label", 'a,"b', "--id", "i", "--drop", '"x,y"', "--drop", "z"],
        *["--no-header", "--resize", "8x6"],
    ]
    assert Reading(no_label=True, header=True).words() == ["--no-label", "--header"]
    assert Reading().words() == []


def test_everything_compared_can_be_fitted_by_the_line_that_is_printed(tmp_path, iris, monkeypatch):
    """Followed literally: the model has the dimensions, the parameters and the graph of the comparison."""
    monkeypatch.chdir(tmp_path)
    names = [name for name in METHODS if name not in ("TruncatedSVD", "LPI", "LPP + targets")]  # of other data
    found = compare(X, Y, methods=names, dimensions=[2], cv=2, judge="nearest")
    assert not found.failures
    for name in names:
        command = fitting(found, name, 2, "iris.csv")
        assert command[:2] == ["lapwing", "fit"]
        run(*command[1:], "--label", "species", "--id", "name")
        np.testing.assert_allclose(load("model.lapwing").transform(X), found.models[name].transform(X), atol=1e-8)


def test_the_line_of_the_starred_method(tmp_path, iris):
    arguments = ["compare", "-", "-l", "species", "--drop", "name", "-d", 1, *QUICK, "-o", tmp_path / "r.html"]
    result = run(*arguments, "-m", "lda,npe", input=iris.read_text())
    assert any(line.startswith("* ") and "LDA" in line for line in result.stdout.splitlines())
    assert "\n* LDA with 1 dimension (" in result.stderr
    assert "(fit --predict --judge nearest makes one that names their classes):" in result.stderr  # the one that judged
    assert "\n  lapwing fit FILE --method lda -d 1 --label species --drop name\n" in result.stderr
    assert "\n  lapwing transform model.lapwing FILE --label species --drop name -o projected.csv\n" in result.stderr


def test_a_messy_table_from_file_to_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    customers("c.csv", 300, unknown=0.2)
    settings = ["-m", "pca,lda,lpp-classes", "-d", "1,2", "--cv", 3, "-j", 1]
    result = run("compare", "c.csv", "-l", "churned", "--time", "signup", *settings, "--atlas", "a.parquet")
    said = result.stderr
    assert "2 classes" in said
    assert "unknown" in said
    assert "comparing 3 methods" in said
    assert "the classes are unequal: always naming the largest is right in" in said
    assert result.stdout.splitlines()[0].split()[:4] == ["method", "d", "AUC", "%"]
    assert result.stdout.splitlines()[-1].split()[:4] == ["always", "the", "largest", "class"]
    line = next(line for line in said.splitlines() if line.startswith("  lapwing fit"))
    assert "--drop signup" in line
    run(*shlex.split(line)[1:])
    run("transform", "model.lapwing", "c.csv", "-o", "z.parquet")
    assert len(read("z.parquet")) == 300
    page = Path("report.html").read_text()
    assert "<h1>c.csv: churned</h1>" in page
    shown = json.loads(page.split('id="content">')[1].split("</script>")[0])
    names = {}
    exec(compile(shown["code"]["LDA"], "report", "exec"), names)
    row = next(row for row in shown["summary"] if row["method"] == "LDA")
    assert names["scores"].mean() == pytest.approx(row["mean"], abs=1e-4)
    assert "8 rows without 'signup' left out\n" in said
    assert len(read("a.parquet", mixed=True, id="id", drop=["neighbors"])) == 292


def test_groups_and_goals(tmp_path, iris):
    path = tmp_path / "g.csv"
    lines = iris.read_text().splitlines()
    path.write_text("\n".join([lines[0] + ",plant", *(f"{line},p{i % 50}" for i, line in enumerate(lines[1:]))]))
    settings = [
        "-l",
        "species",
        "--id",
        "name",
        "-m",
        "pca,lda",
        "-d",
        "1,2",
        "--cv",
        3,
        "-j",
        1,
        "-o",
        tmp_path / "r.html",
    ]
    facts = json.loads(run("compare", path, "--group", "plant", "--scoring", "retrieval", *settings, "--json").stdout)
    assert (facts["criterion"], facts["features"]) == ("map", 4)
    expected = compare(
        X, Y, methods=["PCA", "LDA"], dimensions=[1, 2], cv=3, scoring="map", groups=[f"p{i % 50}" for i in range(150)]
    )
    assert facts["methods"] == expected.summary()
    assert facts["choice"]["command"].endswith("--drop plant")
    assert "scoring='roundness'" in run("compare", path, *settings, "--scoring", "roundness", code=1).stderr
    assert "one column divides" in unfolded(run("compare", path, *settings, "--group", "a", "--time", "b", code=2))


@pytest.mark.parametrize("option", ["--group", "--time"])
@pytest.mark.parametrize("column", ["4", "-1", "04"])
def test_rows_are_divided_by_a_column_without_a_name(tmp_path, option, column):
    np.savetxt(tmp_path / "data.csv", np.column_stack([X[:60], np.arange(60) // 4]), delimiter=",")
    settings = ["-m", "pca", "-d", 1, "--cv", 2, "-o", tmp_path / "r.html", "--json"]
    facts = json.loads(run("compare", tmp_path / "data.csv", f"{option}={column}", *settings).stdout)
    assert facts["features"] == 4
    assert facts["choice"]["command"].endswith("--drop 4")


def test_a_sample_keeps_the_labelled_rows(tmp_path):
    y = np.full(150, "-1", dtype=object)
    y[::5] = np.array(["a", "b", "c"])[Y[::5]]
    write(tmp_path / "x.csv", [Table(X, y.astype(str), feature_names=NAMES)])
    table = read(tmp_path / "x.csv", label="label", sample=60)
    assert (table.y != "-1").sum() == 30
    assert len(table) == 60


def test_compare_is_that_of_python(tmp_path, iris):
    report = tmp_path / "report.html"
    arguments = [
        "compare",
        iris,
        "-l",
        "species",
        "--id",
        "name",
        "-m",
        "pca,lpp",
        "-m",
        "LPP + Repulsion",
        "-d",
        "1,2-3",
    ]
    result = run(*arguments, "--cv", 3, "--judge", "nearest", "-j", 1, "-o", report, "--json")
    facts = json.loads(result.stdout)
    methods = ["PCA", "LPP", "LPP + repulsion"]
    expected = compare(X, Y, methods=methods, dimensions=[1, 2, 3], cv=3, judge="nearest")
    assert facts["methods"] == expected.summary()
    assert (facts["choice"]["method"], facts["choice"]["dimension"]) == expected.choice
    assert facts["baseline"]["accuracy"] == pytest.approx(expected.lines["baseline"]["accuracy"])
    assert "<html" in report.read_text()
    assert f"wrote {report}" in result.stderr


def test_compare_prints_a_table_and_how_to_go_on(tmp_path, iris):
    arguments = ["compare", iris, "-l", "species", "--drop", "name", "-d", "1,2", "-j", 1, "-o", tmp_path / "r.html"]
    result = run(*arguments, "-m", "lpp,mmc")
    lines = result.stdout.splitlines()
    assert lines[0].split()[:4] == ["method", "d", "accuracy", "%"]
    assert len({len(line) for line in lines[:-2]}) == 1  # aligned; the last two have no measures of neighbours
    assert "150 rows, 4 features, 3 classes" in result.stderr
    found = compare(X, Y, methods=["LPP", "MMC"], dimensions=[1, 2])
    method, dimension = found.choice
    assert [line.split()[1:3] for line in lines if line.startswith("*")] == [[method, str(dimension)]]
    row = next(row for row in found.summary() if row["method"] == method)
    assert f"{100 * row['mean']:.1f} ± {100 * row['se']:.1f}" in next(line for line in lines if line.startswith("*"))
    command = next(line for line in result.stderr.splitlines() if line.startswith("  lapwing fit")).split()
    assert command[2:7] == [str(iris), "--method", method.lower(), "-d", str(dimension)]
    assert command[-4:] == ["--label", "species", "--drop", "name"]


def test_compare_goes_on_from_a_folder(tmp_path, iris):
    command = ["compare", iris, "--label", "species", "--id", "name", "-m", "pca,lda", "-d", "1,2", "--cv", 3]
    options = ["--memory", tmp_path / "kept", "--judge", "nearest", "-o", tmp_path / "r.html"]
    first = run(*command, *options)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("output.pkl")}
    assert len(kept) == 6  # two methods on three folds
    assert run(*command, *options).stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").rglob("output.pkl")} == kept


@pytest.mark.parametrize("form", ["table", "json"])
def test_an_interrupted_comparison_prints_what_is_done(tmp_path, iris, monkeypatch, form):
    """Ctrl-C in the second fold of the second method."""
    fits = iter(range(100))

    def interrupted(self, *args, **options):
        if next(fits) == 1:
            raise KeyboardInterrupt
        return fit(self, *args, **options)

    fit = LinearDiscriminantAnalysis.fit
    monkeypatch.setattr(LinearDiscriminantAnalysis, "fit", interrupted)
    more = ["--json"] if form == "json" else []
    arguments = ["compare", iris, "-l", "species", "--id", "name", "-m", "pca,lda,lpp", "-d", "1,2", "--cv", 2]
    result = run(*arguments, "--judge", "nearest", "-j", 1, "-o", tmp_path / "r.html", *more, code=130)
    assert "interrupted: 1 of 3 methods are scored, and no report was written" in result.stderr
    assert not (tmp_path / "r.html").exists()
    expected = compare(X, Y, methods=["PCA"], dimensions=[1, 2], cv=2, judge="nearest")
    if more:
        facts = json.loads(result.stdout)
        assert facts["methods"] == expected.summary()
        assert (facts["report"], facts["interrupted"]) == (None, "1 of 3 methods are scored")
    else:
        assert f"{100 * expected.best['mean']:.1f} ±" in result.stdout
        assert "LDA" not in result.stdout


def test_compare_says_that_it_samples(tmp_path, iris):
    arguments = [
        "compare",
        iris,
        "-l",
        "species",
        "--id",
        "name",
        "-m",
        "pca",
        "-d",
        2,
        "-j",
        1,
        "-o",
        tmp_path / "r.html",
    ]
    result = run(*arguments, "--sample", 60, "--seed", 3, "--json")
    assert "3 classes, 60 of them at random are used" in result.stderr
    assert json.loads(result.stdout)["rows"] == 60


def test_compare_without_labels(tmp_path):
    np.save(tmp_path / "x.npy", X)
    result = run("compare", tmp_path / "x.npy", "-m", "pca", "-d", 2, *QUICK, "-o", tmp_path / "r.html", "--json")
    assert "no labels" in result.stderr
    assert json.loads(result.stdout)["criterion"] == "recall"


def test_methods():
    rows = json.loads(run("methods", "--json").stdout)
    assert [row["method"] for row in rows] == lapwing.__all__
    described = {row["method"]: row for row in rows}
    assert described["LPP"]["description"].startswith("Locality Preserving Projections: a linear map")
    assert described["MFA"]["labels"] == "needed"
    assert described["OLPP"]["labels"] == "optional"
    assert described["NPE"].items() >= {"family": "neighbours", "map": "linear", "constraint": "I"}.items()
    assert ":class:" not in str(rows)
    assert (str(rows) + run("methods").stdout).isascii()  # for every terminal
    lines = run("methods").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for row in rows:
        [line] = [line for line in lines if line.startswith(f"  {row['method']} ")]
        assert row["description"].split()[0] in line
    assert "L of a neighbour graph; map: linear; constraint: D" in run("methods", "lpp").stdout  # the algebra
    text = run("methods", "kernel-lpp").stdout
    assert "Parameters" in text
    assert r"\min_" in text
    assert not set("`") & set(text)
    facts = json.loads(run("methods", "lpp", "--json").stdout)
    assert facts.items() >= described["LPP"].items()
    assert facts["parameters"]["n_components"] == 2
    assert "Parameters" in facts["text"]


# Manners


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["fit", "none.csv"], 1, "none.csv: No such file or directory"),
        (["fit", "iris.csv", "--standardize", "perhaps"], 2, "'perhaps' is not one of 'auto', 'yes', 'no'"),
        (["inspect", "iris.csv"], 1, "is no model that lapwing can read"),
        (["transform", "iris.csv", "iris.csv"], 1, "not a zip file"),
        (["fit", "iris.csv", "--drop", "name", "-d", "9"], 1, "9"),
        (["fit", "iris.csv", "--drop", "name", "--label", "kind"], 1, "no such column"),
        (["transform", "iris.csv", "iris.csv"], 1, "iris.csv"),
        (["inspect", "none.lapwing"], 1, "none.lapwing"),
        (["fit", "iris.csv", "-m", "lppp"], 2, "did you mean LPP?"),
        (["fit", "iris.csv", "-m", "nosuch"], 2, "kernel PCA + LDA"),
        (["fit", "iris.csv", "-p", "n_neighbours=3"], 1, "Invalid parameter 'n_neighbours' for estimator LPP"),
        (["fit", "iris.csv", "-p", "pca"], 2, "KEY=VALUE"),
        (["fit", "iris.csv", "-m", "mmc", "-g", "3"], 1, "Invalid parameter 'graph' for estimator MMC"),
        (["fit", "iris.csv", "-m", "mmc", "-p", "graph__k=3"], 2, "graph__k is given by --graph"),
        (["fit", "iris.csv", "-p", "graph__n_neighbors=3"], 2, "graph__n_neighbors is given by --graph"),
        (["fit", "iris.csv", "-m", "mmc", "--drop", "name"], 2, "needs labels"),
        (["fit", "iris.csv", "-d", "few"], 2, "neither a number"),
        (["fit", "iris.csv", "-o", "iris.csv"], 2, "is read by this command"),
        (["fit", "iris.csv", "-o", "nowhere/m.lapwing"], 2, "there is no folder"),
        (["fit", "iris.csv", "--resize", "8"], 2, "WIDTHxHEIGHT"),
        (["compare", "iris.csv", "-m", "olppp"], 2, "there is no method 'olppp'; did you mean OLPP?"),
        (["fit", "iris.csv", "--report", "r.html"], 2, "No such option"),
        (["compare", "iris.csv", "-d", "2,x"], 2, "are not numbers and ranges"),
        (["compare", "iris.csv", "--cv", "1"], 2, "--cv"),
        (["compare", "iris.csv", "-d", "5-2"], 2, "are not numbers and ranges"),
        (["compare", "iris.csv", "-o", "-"], 2, "cannot go to standard output"),
        (["compare", "iris.csv", "-o", "."], 2, "is a folder"),
        (["fit", "iris.csv", "-o", "-"], 2, "cannot go to standard output"),
        (["fit", "iris.csv", "-o", "."], 2, "is a folder"),
        (["fit", "iris.csv", "-d", "2", "-p", "n_components=3"], 2, "n_components is given by -d"),
        (["fit", "iris.csv", "-m", "fisherscore", "-p", "n_features_to_select=3"], 2, "is given by -d"),
        (["fit", "iris.csv", "-l", "species", "--no-label"], 2, "--no-label"),
        (["fit", "iris.csv", "-g", "supervised"], 2, "LPP needs labels"),
        (["transform", "none.lapwing", "iris.csv", "-o", "."], 2, "is a folder"),
        (["inspect", "."], 1, "Is a directory"),
        (["methods", "nosuch"], 2, "Invalid value for NAME"),
        (["fit"], 2, "DATA"),
        (["fly"], 2, "fly"),
    ],
)
def test_exit_codes_and_messages(iris, monkeypatch, arguments, code, message):
    monkeypatch.chdir(iris.parent)
    before = iris.read_bytes()
    result = run(*arguments, code=code)
    assert result.stdout == ""
    assert message in unfolded(result)
    if code == 1:
        assert result.stderr.count("\n") == 1
        assert result.stderr.startswith("lapwing: ")
    assert os.listdir() == ["iris.csv"]
    assert iris.read_bytes() == before


def test_the_model_is_not_overwritten_by_its_output(iris, model):
    before = model.read_bytes()
    link = model.with_name("link.csv")
    link.symlink_to(model)
    assert "is read by this command" in unfolded(run("transform", model, iris, "-o", link, code=2))
    assert model.read_bytes() == before


@pytest.mark.parametrize(("flag", "environment"), [(["--debug"], {}), ([], {"LAPWING_DEBUG": "1"})])
def test_debug_shows_where(tmp_path, monkeypatch, flag, environment):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [*flag, "fit", "none.csv"], env=environment)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("lapwing: none.csv: No such file or directory\n")


def test_bugs_are_said_to_be_bugs(iris, monkeypatch):
    monkeypatch.setattr("lapwing.tables.read", lambda *a, **k: {}["key"])
    assert "internal error, KeyError: 'key'" in run("fit", iris, code=1).stderr


@pytest.mark.filterwarnings("default:mind the gap")
def test_warnings_are_one_line(monkeypatch):
    def gap(*name):
        warnings.warn("mind the gap", stacklevel=1)
        return named(*name)

    named = _model.named
    monkeypatch.setattr(_model, "named", gap)
    assert run("methods", "lpp").stderr == "lapwing: warning: mind the gap\n"


def test_standard_input_and_output(iris, model):
    found = run("transform", model, "-", "--id", "name", input=iris.read_text())
    assert found.stderr == ""
    lines = found.stdout.splitlines()
    assert lines[0] == "name,lpp0,lpp1"
    assert len(lines) == 151
    first = [float(cell) for cell in lines[1].split(",")[1:]]
    np.testing.assert_allclose(first, LPP(2).fit(X).transform(X)[0], rtol=1e-12)


def test_closed_standard_output(iris, model):
    """Results are not lost in silence, and no file, such as the model, is opened under its number and written to."""
    for arguments in (["transform", model, iris, "--drop", "name,species"], ["--version"]):
        command = shlex.join(map(str, [*LAPWING, *arguments]))
        result = subprocess.run(f"{command} >&-", shell=True, capture_output=True, text=True)
        assert (result.returncode, result.stdout, result.stderr) == (1, "", "lapwing: standard output is closed\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
def test_a_full_disk_names_the_file(tmp_path, iris, model):
    link = tmp_path / "full.csv"
    link.symlink_to("/dev/full")
    for command in (["transform", model, iris], ["fit", iris, "--drop", "name,species"]):
        assert run(*command, "-o", link, code=1).stderr == f"lapwing: {link}: No space left on device\n"


def test_no_file_of_ours_is_named(iris, monkeypatch, tmp_path):
    def full(path, mode="r", *args, **options):
        if str(path).endswith(".part"):
            raise OSError(28, "No space left on device", str(path))
        return open(path, mode, *args, **options)

    monkeypatch.setattr("lapwing._extras.open", full, raising=False)
    said = run("fit", iris, "--drop", "name,species", "-o", tmp_path / "m.lapwing", code=1).stderr
    assert said == f"lapwing: {tmp_path / 'm.lapwing'}: No space left on device\n"


def test_a_folder_that_may_not_be_written(iris, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setattr("lapwing.tables.read", lambda *a, **k: pytest.fail("read before the output was checked"))
    assert "may not write there" in run("fit", iris, code=2).stderr


def test_broken_pipe_is_silent(tmp_path, model):
    write(tmp_path / "long.csv", [Table(np.tile(X, (100, 1)), feature_names=NAMES)])
    command = [*LAPWING, "transform", model, tmp_path / "long.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize(
    ("number", "code", "suffix"),
    [(signal.SIGINT, 130, ".csv"), (signal.SIGTERM, 143, ".parquet")],
)
def test_an_interruption_leaves_nothing(tmp_path, model, number, code, suffix):
    folder = tmp_path / "out"
    folder.mkdir()
    command = [*LAPWING, "transform", model, "-", "-o", folder / f"z{suffix}"]
    # Ctrl-C is heard, also where the tests run in the background of a shell, which has it ignored.
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **heard) as running:
        running.stdin.write(",".join(NAMES).encode() + b"\n" + b"1,2,3,4\n" * 200_000)
        running.stdin.flush()
        deadline = time.monotonic() + 60
        while not os.listdir(folder) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert os.listdir(folder)  # half written, under another name
        assert not (folder / f"z{suffix}").exists()
        # It has read all that there is and waits for more: an interruption while modules are imported may be lost in them.
        while unread(running.stdin) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        running.send_signal(number)
        assert running.wait(30) == code
        assert b"Traceback" not in running.stderr.read()
    assert os.listdir(folder) == []


def unread(pipe):
    """The number of bytes in a pipe that its reader has not taken yet."""
    found = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, found)
    return found[0]


def in_terminal(environment, table="['a', 'b'], [['x', '1'], ['y', '22']], n_left=1, n_least=2, best=1"):
    """What print_table writes to a terminal."""
    code = f"from lapwing.cli._options import print_table\nprint_table({table})"
    leader, follower = pty.openpty()
    keep = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    subprocess.run([sys.executable, "-c", code], stdout=follower, env={**keep, "TERM": "xterm-256color", **environment})
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 4096):
            shown += part
    except OSError:  # how Linux says that a terminal has ended
        os.close(leader)
    return shown.decode()


def test_colours_in_a_terminal_only(iris, model):
    assert "\x1b[32m" in in_terminal({})
    assert "32m" not in in_terminal({"NO_COLOR": "1"})
    for command in (["methods"], ["inspect", model]):
        assert "\x1b" not in run(*command).stdout


def test_wide_characters_take_two_places():
    assert "日本  x" in in_terminal({}, "['a', 'b'], [['日本', 'x'], ['abcd', 'y']], n_left=2, n_least=2")


def test_a_narrow_terminal_shows_fewer_columns_and_those_whole():
    table = "['method', 'd', 'AUC %', 'trust'], [['LPP + classes', '13', '72.1 ± 2.1', '98.4']], n_left=1, n_least=3"
    narrow = in_terminal({"COLUMNS": "32", "LINES": "20"}, table)
    assert "72.1 ± 2.1" in narrow
    assert "…" not in narrow
    assert "trust" not in narrow
    assert "98.4" in in_terminal({"COLUMNS": "80", "LINES": "20"}, table)


# Models of classes that are not lapwing's

OUTSIDE = """
import json, sys
from typer.testing import CliRunner
from lapwing.cli._app import app

said = []
for command in json.loads(sys.argv[1]):
    one = CliRunner().invoke(app, command)
    said.append((one.exit_code, one.stdout, one.stderr, "mine" in sys.modules))
print(json.dumps(said))
"""


def test_a_model_of_an_outside_class(tmp_path):
    """Its module is imported where --import names it, from this folder too, and never because the file does."""
    (tmp_path / "mine.py").write_text("from lapwing import LPP\n\nclass Mine(LPP):\n    'My own.'\n")
    program = "import mine, numpy, lapwing; lapwing.save(mine.Mine(2).fit(numpy.eye(4)), 'm.lapwing')"
    program += "; numpy.save('x.npy', numpy.eye(4))"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    plain, asked = ["inspect", "m.lapwing"], ["--import", "mine"]
    commands = [plain, ["transform", "m.lapwing", "x.npy"], plain + asked, ["transform", "m.lapwing", "x.npy", *asked]]
    done = subprocess.run(
        [sys.executable, "-P", "-c", OUTSIDE, json.dumps(commands)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    for code, _, errors, is_imported in said[:2]:
        assert (code, is_imported) == (1, False)
        assert "--import mine on the command line" in errors
    assert [(code, is_imported) for code, _, _, is_imported in said[2:]] == [(0, True)] * 2
    assert "Mine, My own." in said[2][1]
    assert said[3][1].splitlines()[0] == "mine0,mine1"


@pytest.mark.parametrize(
    ("text", "name", "code", "message"),
    [
        (None, "no_such_module", 1, "--import no_such_module: ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "divides", 1, "--import divides: ZeroDivisionError"),
    ],
)
def test_modules_that_cannot_be_imported(tmp_path, monkeypatch, model, text, name, code, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    if text:
        (tmp_path / f"{name}.py").write_text(text)
    assert message in unfolded(run("inspect", model, "--import", name, code=code))


# Memory


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in kilobytes on Linux")
def test_transform_streams(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.RandomState(0)
    block = pa.table({f"x{j}": rng.standard_normal(100_000).astype(np.float32) for j in range(20)})
    np.save(tmp_path / "x.npy", np.column_stack([column.to_numpy()[:500] for column in block.columns]))
    run("fit", tmp_path / "x.npy", "-d", 3, "-o", tmp_path / "m.lapwing")
    code = (
        "import resource, sys; from lapwing.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = {}
    for times in (1, 9):
        rows = 100_000 * times  # in one row group, the hardest case
        options = {"row_group_size": rows, "use_dictionary": False, "compression": "none"}
        parquet.write_table(pa.concat_tables([block] * times), tmp_path / "x.parquet", **options)
        command = ["transform", tmp_path / "m.lapwing", tmp_path / "x.parquet", "-o", tmp_path / "z.parquet"]
        result = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
        assert parquet.ParquetFile(tmp_path / "z.parquet").metadata.num_rows == rows
        peaks[times] = int(result.stdout)
    # 0.8 million more rows of 80 bytes are 64 MB; batches, and pages of the file, may cost a little more.
    assert peaks[9] < peaks[1] + 35_000, peaks


def test_demo(tmp_path):
    """A gain of more than its error over PCA, LDA and all columns, no warning, and a word on every column of the table."""
    result = run("demo", tmp_path / "out", "-j", 1)
    assert "warning" not in result.stderr
    shown = re.findall(r"^[* ] +(\S.*?) +\d+ +([\d.]+) ± ([\d.]+)", result.stdout, re.M)
    scores = {name: (float(score), float(se)) for name, score, se in shown}
    best = scores["KernelLPP + spread labels"][0]
    assert all(best - scores[name][0] > scores[name][1] for name in ("all columns + the same judges", "PCA", "LDA"))
    titles = re.findall(r"\S+(?: %)?", result.stdout.splitlines()[0])
    assert all(f"\n  {title.removesuffix(' %')} " in result.stderr for title in titles)
    assert Path(tmp_path / "out" / "report.html").stat().st_size > 100_000


# Whether a model is what it says


@pytest.fixture
def iris_model(tmp_path):
    """A table with a column of text, its model, and the arguments that both took."""
    data, model = tmp_path / "iris.csv", tmp_path / "model.lapwing"
    columns = zip(IRIS.data.tolist(), 75 * ["north", "south"], IRIS.target_names[IRIS.target], strict=True)
    rows = [",".join(map(str, [*numbers, site, species])) for numbers, site, species in columns]
    data.write_text("\n".join(["a,b,c,d,site,species", *rows]) + "\n")
    run("fit", data, "--label", "species", "--output", model, "-d", "2")
    return data, model


def test_verify(iris_model):
    data, model = iris_model
    result = run("verify", model, data, "--label", "species")
    assert "verdict" in result.stdout
    assert "does NOT" not in result.stdout
    assert "certificate" in result.stdout
    assert (
        "the steps before the method (Preparation, ColumnTransformer) were applied as the model has them"
        in result.stdout
    )
    assert "LPP solves the problem that 150 rows pose" in result.stderr
    assert "valid feature names" not in result.stderr
    facts = json.loads(run("verify", model, data, "--label", "species", "--json").stdout)
    assert facts["holds"] is True
    assert facts["certificate"]["residual"] < 1e-12
    assert "certificate" in run("inspect", model).stdout
    assert json.loads(run("inspect", model, "--json").stdout)["certificate"]["tolerance"] == 1e-6


def test_verify_finds_what_was_changed(iris_model, tmp_path):
    data, model = iris_model
    changed = load(model)
    changed[-1].mean_[1] += 1
    lapwing.save(changed, tmp_path / "changed.lapwing")
    result = run("verify", tmp_path / "changed.lapwing", data, "--label", "species", code=3)
    assert "does NOT hold" in result.stdout
    assert "mean_ of the model is not what the data give" in " ".join(result.stdout.split())
    assert "does NOT solve the problem" in result.stderr
    facts = json.loads(run("verify", tmp_path / "changed.lapwing", data, "--label", "species", "--json", code=3).stdout)
    assert facts["holds"] is False
    assert len(facts["failures"]) == 1
    # Labels by another column, and none.
    assert "does NOT hold" in run("verify", model, data, "--label", "site", code=3).stdout
    assert "LPP needs labels" in run("verify", model, data, code=2).stderr


@pytest.mark.parametrize("more", [[], ["--predict"]], ids=str)
def test_verify_refuses_what_is_not_of_lapwing(iris_model, tmp_path, more):
    data, model = iris_model[0], tmp_path / "pca.lapwing"
    run("fit", data, "--label", "species", "-m", "pca", "-o", model, *more)
    said = run("verify", model, data, "--label", "species", code=1).stderr
    assert f"lapwing: {model}: PCA is none of lapwing's methods" in said


def test_verify_reads_targets_as_numbers(tmp_path):
    data, model = tmp_path / "some.csv", tmp_path / "m.lapwing"
    columns = [*IRIS.data.T, np.where(np.arange(150) % 5, IRIS.data[:, 0] - 6, np.nan)]
    rows = [",".join("" if cell != cell else str(cell) for cell in row) for row in zip(*columns, strict=True)]
    data.write_text("\n".join(["a,b,c,d,age", *rows]) + "\n")
    run("fit", data, "-l", "age", "-g", "KNN(5) + Target(5)", "-d", 1, "-o", model)
    assert "LPP solves the problem that 150 rows pose" in run("verify", model, data, "-l", "age").stderr
    assert "LPP needs labels" in run("verify", model, data, "--drop", "age", code=2).stderr


def test_verify_names_the_method_before_a_classifier(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    model = make_pipeline(LPP(2), KNeighborsClassifier(algorithm="brute")).fit(X, Y)
    lapwing.save(model, tmp_path / "model")
    result = run("verify", tmp_path / "model", tmp_path / "X.npy", "--label", tmp_path / "y.npy")
    assert "LPP solves the problem that 150 rows pose" in result.stderr


def test_verify_of_modes_and_scores(tmp_path):
    X = load_digits().data[:90]
    np.save(tmp_path / "X.npy", X)
    lapwing.save(TSA(2, image_shape=(8, 8)).fit(X), tmp_path / "tsa")
    assert run("verify", tmp_path / "tsa", tmp_path / "X.npy").stdout.count("constraint error") == 2
    scores = LaplacianScore(2).fit(X)
    lapwing.save(scores, tmp_path / "scores")
    result = run("verify", tmp_path / "scores", tmp_path / "X.npy")
    assert "certificate" not in result.stdout  # there is no eigenproblem
    assert json.loads(run("verify", tmp_path / "scores", tmp_path / "X.npy", "--json").stdout)["certificate"] is None
    scores.scores_[3] += 1
    lapwing.save(scores, tmp_path / "scores")
    run("verify", tmp_path / "scores", tmp_path / "X.npy", code=3)
