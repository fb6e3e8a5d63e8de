"""From a file as people have it to a shipped model, by the command line alone: nothing edited, every printed line followed."""

import re
from pathlib import Path

import numpy as np
import pytest
from messy import customers
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from test_cli import run

from lapwing import LPP
from lapwing.cli._options import Reading
from lapwing.graphs import KNN, Repulsion, SameClass
from lapwing.persistence import load, save, to_onnx
from lapwing.tables import Table, read, write

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where a user is."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def quality(path, label, id=None):
    """How well the nearest neighbour tells classes in a file of projected rows."""
    table = read(path, label=label, id=id)
    known = table.y != ("-1" if table.y.dtype.kind == "U" else -1)
    return cross_val_score(KNeighborsClassifier(5), table.X[known], table.y[known]).mean()


# A table of customers


@pytest.mark.parametrize("comma", [False, True], ids=["plain", "semicolons and decimal commas"])
def test_customers(comma):
    customers("customers.csv", 3000, comma=comma, unknown=0.3)
    said = run("fit", "customers.csv", "--label", "churned").stderr
    dates = " (day-month-year)" if comma else ""
    assert (
        f"3 text columns one-hot encoded, 2 dates as numbers{dates}, 543 missing values imputed, columns standardised\n"
        in said
    )
    assert (
        "left out: 'customer_id' (names the rows), 'comment' (free text, 3,000 different values; --text comment uses it)\n"
        in said
    )
    assert "937 labels of 3,000 unknown\n" in said
    assert "the labels of 'churned' are used: semi-supervised graph KNN(5) + SameClass() (--graph none leaves" in said
    assert "3,000 rows, 17 features -> 1" in said
    shown = run("inspect", "model.lapwing").stdout
    assert "ColumnTransformer, LPP" in shown
    assert "category: plan, region, device" in shown
    out = run(
        "transform", "model.lapwing", "customers.csv", "--id", "customer_id", "-l", "churned", "-o", "z.csv"
    ).stderr
    assert "543 missing values imputed" in out
    assert quality("z.csv", "churned", "customer_id") > 0.87  # always "no" has 0.85
    assert read("z.csv", label="churned", id="customer_id").ids[0] == "C10000"


def test_the_model_is_shipped():
    """To Python, where it takes a data frame, and to ONNX."""
    pandas = pytest.importorskip("pandas")
    customers("customers.csv", 400)
    run("fit", "customers.csv", "--label", "churned", "-d", 3)
    model = load("model.lapwing")
    assert isinstance(model, Pipeline)
    run("transform", "model.lapwing", "customers.csv", "-o", "z.npy")
    frame = pandas.read_csv("customers.csv", na_values=["?"])
    np.testing.assert_allclose(model.transform(frame), np.load("z.npy"), atol=1e-10)
    pytest.importorskip("skl2onnx")
    to_onnx(model, "model.onnx")


def test_what_can_be_exported():
    pytest.importorskip("skl2onnx")
    customers("customers.csv", 200)
    run("fit", "customers.csv", "--method", "kernel-lpp")
    assert "wrote kernel.onnx: inputs X, S; outputs Y" in run("export", "model.lapwing", "-o", "kernel.onnx").stderr
    run("fit", "customers.csv", "--method", "laplacian-eigenmaps")
    said = run("export", "model.lapwing", "-o", "free.onnx", code=1).stderr
    assert "model.lapwing: step 'laplacianeigenmaps': LaplacianEigenmaps is no linear method" in said
    assert "lapwing transform uses it all the same" in said
    assert not Path("free.onnx").exists()


def test_a_classifier_behind_the_model():
    customers("customers.csv", 400)
    run("fit", "customers.csv", "--label", "churned", "-d", 3)
    run("transform", "model.lapwing", "customers.csv", "-l", "churned", "-o", "z.csv")
    table, model = read("z.csv", label="churned"), load("model.lapwing")
    save(
        Pipeline([*model.steps, ("knn", KNeighborsClassifier(algorithm="brute").fit(table.X, table.y))]),
        "classifier.lapwing",
    )
    said = run("transform", "classifier.lapwing", "customers.csv", "--id", "customer_id", "-o", "predicted.csv").stderr
    assert "wrote predicted.csv: 400 rows (" in said
    header, first, *_ = Path("predicted.csv").read_text().splitlines()
    assert header == "customer_id,prediction"
    assert first in ('"C10000","no"', '"C10000","yes"')


def test_a_model_of_plain_numbers_knows_its_columns_in_python_too():
    pandas, (X, y) = pytest.importorskip("pandas"), load_iris(return_X_y=True, as_frame=True)
    X.assign(kind=y).to_csv("iris.csv", index=False)
    X[X.columns[::-1]].to_csv("new.csv", index=False)
    run("fit", "iris.csv", "--label", "kind", "--predict", "--standardize", "no")
    run("transform", "model.lapwing", "new.csv", "-o", "named.csv")
    model, new = load("model.lapwing"), pandas.read_csv("new.csv")
    assert model.predict(new[X.columns]).tolist() == pandas.read_csv("named.csv")["prediction"].tolist()
    with pytest.raises(ValueError, match="must be in the same order"):  # not classes of columns that changed places
        model.predict(new)


def test_coordinates_beside_predictions():
    customers("customers.csv", 400)
    for name, option in (("plain", []), ("predicting", ["--predict", "--judge", "nearest"])):
        run("fit", "customers.csv", "-l", "churned", "-d", 3, *option, "-o", f"{name}.lapwing")
        run("transform", f"{name}.lapwing", "customers.csv", "-o", f"{name}.csv")
    run("transform", "predicting.lapwing", "customers.csv", "--coordinates", "-o", "both.csv")
    both, plain = read("both.csv", label="prediction"), read("plain.csv")
    np.testing.assert_allclose(both.X, plain.X, atol=1e-9)
    assert both.feature_names == plain.feature_names
    predicted = np.loadtxt("predicting.csv", dtype=str, skiprows=1, quotechar='"', delimiter=",")
    np.testing.assert_array_equal(both.y, predicted)
    run(
        "transform", "predicting.lapwing", "customers.csv", "--coordinates", "--id", "customer_id", "-o", "both.parquet"
    )
    stored = read("both.parquet", label="prediction", id="customer_id")
    np.testing.assert_allclose(stored.X, plain.X, atol=1e-9)
    np.testing.assert_array_equal(stored.y, both.y)
    refused = run("transform", "predicting.lapwing", "customers.csv", "-o", "both.npy", code=2).stderr
    assert "an array of numbers has no classes" in refused
    classifier = Pipeline(
        [*load("plain.lapwing").steps, ("knn", KNeighborsClassifier(1, algorithm="brute").fit(plain.X, both.y))]
    )
    save(classifier, "classifier.lapwing")
    run("transform", "classifier.lapwing", "customers.csv", "--coordinates", "-o", "behind.csv")
    np.testing.assert_allclose(read("behind.csv", label="prediction").X, plain.X, atol=1e-9)
    save(classifier[-1], "bare.lapwing")
    assert "KNeighborsClassifier" in run("transform", "bare.lapwing", "plain.csv", "--coordinates", code=2).stderr


def test_a_model_that_predicts_from_dates_and_text_is_verified_and_has_loadings():
    customers("customers.csv", 300)
    run("fit", "customers.csv", "-l", "churned", "-d", 1, "--predict", "--judge", "nearest")
    said = run("verify", "model.lapwing", "customers.csv", "-l", "churned").stderr
    assert "LPP solves the problem that 300 rows pose" in said
    assert "signup" in run("inspect", "model.lapwing", "--loadings", 30).stdout


def test_a_class_whose_name_would_steer_a_terminal():
    customers("customers.csv", 300)
    text = Path("customers.csv").read_text().replace("yes", "y\x1b[31mes")
    Path("customers.csv").write_text(text)
    run("fit", "customers.csv", "-l", "churned", "-d", 1, "--predict", "--judge", "logistic")
    run("transform", "model.lapwing", "customers.csv", "-o", "p.csv")
    assert Path("p.csv").read_text().splitlines()[0].replace('"', "").endswith(r",probability of y\x1b[31mes")


def test_an_id_that_is_left_out_already_is_not_advised_to_be_dropped():
    rng = np.random.default_rng(0)
    rows = [f"{i},{rng.normal():.3f},{rng.normal():.3f},{'yes' if i >= 100 else 'no'}" for i in range(200)]
    Path("sorted.csv").write_text("\n".join(["id,a,b,label", *rows]))
    for command in (("fit",), ("compare", "-m", "pca", "-d", "1,2")):
        result = run(*command, "sorted.csv", "-l", "label")
        said = result.stderr + result.stdout
        assert "column 'id' alone gives" in said
        assert "the column itself is left out already" in said
        assert "--drop id" not in said


def test_the_table_says_which_dimensions_it_shows():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((200, 8)) * 0.7 ** np.arange(8), rng.integers(0, 2, 200)
    X[:, 0] += 2 * y
    np.savez("two.npz", X=X, y=y)
    said = run("compare", "two.npz", "-m", "pca", "-d", "1,2,4", "--cv", 3, "--judge", "logistic").stderr
    assert (
        "the table shows each method with the fewest dimensions that are within the error of its own best score" in said
    )
    assert "the table shows" not in run("compare", "two.npz", "-m", "pca", "-d", "2").stderr


def test_new_rows_are_not_like_the_old():
    customers("old.csv", 300)
    run("fit", "old.csv", "--label", "churned")
    text = Path("old.csv").read_text().replace("basic", "gold")
    Path("new.csv").write_text(text)
    said = run("transform", "model.lapwing", "new.csv", "-o", "z.csv").stderr
    assert "column 'plan' has values that the model does not know, which count as none, in 103 rows: gold\n" in said
    Path("new.csv").write_text(text.replace("2022-", "22-"))
    said = run("transform", "model.lapwing", "new.csv", "-o", "z.csv", code=1).stderr
    assert "is no date of the format ISO 8601 that was fitted" in said
    assert "column 'signup'" in said or "column 'last_seen'" in said


@pytest.mark.parametrize(("suffix", "column"), [("csv", "c"), ("npy", "2")])
def test_gaps_of_new_rows_where_the_model_fills_in_none(suffix, column, monkeypatch):
    """They are refused with their place in the file, also in a later part of it."""
    monkeypatch.setattr("lapwing.tables.reading.BLOCK", 2**12)
    monkeypatch.setattr("lapwing.tables.reading.BATCH_VALUES", 64)
    X = np.random.RandomState(0).rand(900, 3)
    gap = X.copy()
    gap[700, 2] = np.nan
    for name, rows in (("old", X), ("new", gap)):
        np.savetxt(f"{name}.csv", rows, delimiter=",", header="a,b,c", comments="")
        np.save(f"{name}.npy", rows)
    run("fit", f"old.{suffix}")
    said = run("transform", "model.lapwing", f"new.{suffix}", "-o", "z.npy", code=1).stderr
    where = f"new.{suffix}: column '{column}': a value is missing (the first in row 701)"
    assert f"{where}, and the model fills in none" in said
    assert not Path("z.npy").exists()


# The switches


def test_switches(folder):
    customers("c.csv", 200)
    said = run(
        "fit", "c.csv", "-l", "churned", "--drop", "plan,region,device,signup,last_seen", "--standardize", "no"
    ).stderr
    assert "missing values imputed\n" in said
    assert [name for name, _ in load("model.lapwing").steps] == ["prepare", "impute", "lpp"]
    write("n.csv", [Table(np.random.RandomState(0).rand(30, 3), feature_names=["a", "b", "c"])])
    for switch, steps in (
        ([], None),
        (["--impute"], ["prepare", "impute"]),
        (["--standardize", "yes"], ["prepare", "scale"]),
    ):
        run("fit", "n.csv", *switch)
        found = load("model.lapwing")
        assert isinstance(found, LPP) if steps is None else [name for name, _ in found.steps][:-1] == steps


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"impute": True},
        {"standardize": "yes", "categories": ["zip", '"a,b"']},
        {"missing": ["-999"]},
        {"standardize": "no"},
    ],
)
def test_switches_are_given_back(given):
    """What compare prints reads as what it was told."""
    words = Reading("y", **given).words()
    found = {"impute": True} if "--impute" in words else {}
    if "--missing" in words:
        found["missing"] = [words[words.index("--missing") + 1]]
    if "--standardize" in words:
        found["standardize"] = words[words.index("--standardize") + 1]
    columns = [words[i + 1] for i, word in enumerate(words) if word == "--categories"]
    assert found == {name: value for name, value in given.items() if name != "categories"}
    assert columns == ["zip", '"a,b"'][: len(given.get("categories", []))]
    assert Reading("y", **given).words(preparing=False) == ["--label", "y"]


def test_all_bad_columns_at_once():
    rows = "\n".join(f"{i},{i},{'x' if i == 7 else i},{'?' if i % 3 else i}" for i in range(50))
    Path("bad.csv").write_text("a,b,c,d\n" + rows.replace("7,7,", "7,seven,"))
    said = run("fit", "bad.csv", code=1).stderr
    assert "'b': 49 of 50 values are numbers, but not 'seven' (the first in row 8)" in said
    assert "'c': 49 of 50 values are numbers, but not 'x'" in said
    assert said.count("\n") == 1
    columns = re.search(r"--drop ([^ )]*)", said)[1]
    assert "33 missing values imputed" in run("fit", "bad.csv", "--drop", columns).stderr
    assert "2 text columns one-hot encoded" in run("fit", "bad.csv", "--categories", "b,c", code=0).stderr


@pytest.mark.filterwarnings("default:the table does not say")
def test_numbers_that_mark_gaps():
    rng = np.random.RandomState(0)
    ages = np.where(np.arange(60) % 20 == 3, -999, rng.randint(18, 80, 60))
    Path("age.csv").write_text("age,pay\n" + "\n".join(f"{age},{rng.randint(900, 990)}" for age in ages))
    said = run("fit", "age.csv").stderr
    assert "warning: the table does not say what these are" in said
    assert "column 'age': -999 (3 of " in said
    said = run("fit", "age.csv", "--missing", "-999").stderr
    assert "3 missing values imputed" in said
    assert "warning" not in said


def test_a_file_without_a_header():
    Path("bare.csv").write_text("\n".join(f"{i},{i % 7},{i % 5}" for i in range(40)))
    assert "the first line has numbers and is taken for data" in run("fit", "bare.csv").stderr


# Labels


@pytest.fixture
def iris():
    names = ["a", "b", "c", "d"]
    X, y = load_iris(return_X_y=True)
    write(
        "iris.csv", [Table(X, np.array(["setosa", "versicolor", "virginica"])[y], feature_names=names)], label="species"
    )
    half = np.where(np.arange(150) % 2, np.array(["setosa", "versicolor", "virginica"])[y], "")
    write("half.csv", [Table(X, half, feature_names=names)], label="species")
    write("regression.csv", [Table(X[:, :3], X[:, 3] / 7, feature_names=names[:3])], label="size")
    return X, y


@pytest.mark.parametrize(
    ("file", "options", "graph"),
    [
        ("iris.csv", [], SameClass()),
        ("half.csv", [], KNN(5) + SameClass()),
        ("half.csv", ["--graph", "supervised"], SameClass()),
        ("iris.csv", ["--graph", "KNN(5) + 0.5*SameClass()"], KNN(5) + 0.5 * SameClass()),
        ("iris.csv", ["--graph", "SameClass() - 0.2 * Repulsion(40)"], SameClass() - 0.2 * Repulsion(40)),
        ("iris.csv", ["--graph", "semi"], KNN(5) + SameClass()),
    ],
)
def test_labels_are_used(iris, file, options, graph):
    run("fit", file, "-l", "species", *options)
    found = load("model.lapwing")
    X, y = iris
    labels = np.where((np.arange(150) % 2 == 0) & (file == "half.csv"), -1, y)
    np.testing.assert_array_equal(found.components_, LPP(graph=graph).fit(X, labels).components_)
    assert repr(found.graph_) == repr(graph)
    assert not np.allclose(found.components_, LPP().fit(X).components_)


@pytest.mark.parametrize("graph", ["semi", "propagate", "supervised"])
def test_as_many_dimensions_as_tell_classes_apart(iris, graph):
    said = run("fit", "half.csv", "-l", "species", "--graph", graph, "--predict").stderr
    assert "150 rows, 4 features -> 2 -> class" in said
    said = run("fit", "half.csv", "-l", "species", "--graph", graph, "-d", 3, "--predict").stderr
    assert "4 features -> 3 -> class" in said


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["iris.csv", "-l", "species", "--graph", "7"], "--graph asks for a graph without them"),
        (["iris.csv", "-l", "species", "--graph", "none"], "--graph asks for a graph without them"),
        (["iris.csv", "-l", "species", "-m", "pca"], "PCA looks at the features alone\n"),
        (["iris.csv", "-l", "species", "-m", "laplacianeigenmaps"], "features alone (--graph semi uses them)"),
        (["iris.csv", "-l", "species", "-m", "l21pca"], "L21PCA looks at the features alone\n"),
        (["regression.csv", "-l", "size"], "are quantities, not classes, and are NOT USED"),
    ],
)
def test_or_it_is_said_loudly(iris, arguments, why):
    said = run("fit", *arguments).stderr
    assert "NOT USED" in said
    assert why in said


# Other data


def test_embeddings_with_few_labels():
    rng = np.random.RandomState(0)
    y = rng.randint(0, 4, 800)
    X = (rng.randn(4, 24)[y] * 0.4 + rng.randn(800, 24)).astype(np.float32)
    topics = np.where(rng.rand(800) < 0.1, np.array(["art", "law", "sea", "tea"])[y], "")
    names = [f"e{j}" for j in range(24)]
    write(
        "docs.parquet", [Table(X, topics, np.array([f"doc-{i}" for i in range(800)]), names)], label="topic", id="doc"
    )
    said = run("fit", "docs.parquet", "--label", "topic", "-d", 3).stderr
    assert "left out: 'doc' (names the rows)" in said
    assert "semi-supervised graph KNN(5) + SameClass()" in said
    assert load("model.lapwing")[-1].components_.dtype == np.float32  # which text beside it does not change
    run("transform", "model.lapwing", "docs.parquet", "--id", "doc", "-o", "z.parquet")
    Z = read("z.parquet", id="doc").X
    assert cross_val_score(KNeighborsClassifier(5), Z, y).mean() > 0.6
    np.save("x.npy", X)
    Path("y.txt").write_text("\n".join(topics))
    run("fit", "x.npy", "--label", "y.txt", "-d", 3, "-o", "same.lapwing")
    np.testing.assert_array_equal(load("same.lapwing").components_, load("model.lapwing")[-1].components_)


@pytest.mark.parametrize("index", [False, True])
def test_raw_wine(index):
    pandas = pytest.importorskip("pandas")
    frame = load_wine(as_frame=True).frame
    frame.to_csv("wine.csv", index=index)
    said = run("fit", "wine.csv", "--label", "target", "-m", "lpp", "-d", 2).stderr
    assert "columns standardised\n" in said
    assert ("left out: '' (names the rows)" in said) == index
    run("transform", "model.lapwing", "wine.csv", "-l", "target", "-o", "z.csv")
    assert quality("z.csv", "target") > 0.95
    frame.to_csv("wein.csv", index=index, sep=";", decimal=",")
    run("transform", "model.lapwing", "wein.csv", "-l", "target", "-o", "z2.csv")
    pandas.testing.assert_frame_equal(pandas.read_csv("z.csv"), pandas.read_csv("z2.csv"))


def test_columns_without_names(folder):
    """Columns are found by their numbers, also those behind one that was left out."""
    rng = np.random.RandomState(0)
    lines = [f"row{i},{rng.rand():.3f},{'red' if i % 2 else 'blue'},{rng.rand():.3f},{i % 3}" for i in range(40)]
    (folder / "x.csv").write_text("\n".join(lines))
    said = run("fit", "x.csv", "--label", "-1", "--no-header").stderr
    assert "left out: '0' (names the rows)" in said
    run("transform", "model.lapwing", "x.csv", "--no-header", "-o", "z.npy")
    assert np.load("z.npy").shape == (40, 2)
