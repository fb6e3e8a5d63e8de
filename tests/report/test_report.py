"""The report: its code runs and gives its numbers, and the page works in a real browser."""

import copy
import dataclasses
import json
import re
import subprocess
import sys
import time

import numpy as np
import outside
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits, load_wine
from sklearn.impute import SimpleImputer
from sklearn.model_selection import RepeatedKFold, StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from lapwing import LPP, TSA
from lapwing.comparison import compare
from lapwing.graphs import KNN, OtherClass, Pairs, Precomputed, Repulsion, SameClass
from lapwing.inspection import loadings
from lapwing.reducers import LinearReducer
from lapwing.report import report_page, write_atlas, write_report
from lapwing.report._content import content, expression, program

pytest.importorskip("plotly")
pytest.importorskip("jinja2")
pytest.importorskip("PIL")

HOSTILE = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.fixture(scope="module")
def found(digits):
    methods = ["PCA", "LDA", "LPP", "OLPP", "LPP + repulsion"]
    return compare(*digits, methods=methods, dimensions=[1, 2, 5, 9], cv=3)


@pytest.fixture(scope="module")
def digits_page(digits, found, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "digits.html"
    return write_report(path, found, images=digits[0].reshape(-1, 8, 8), title="Digits")


def run(code, **names):
    exec(compile(code, "report", "exec"), names)
    return names


@pytest.mark.parametrize("method", ["PCA", "LDA", "LPP", "OLPP", "LPP + repulsion"])
def test_the_code_gives_the_numbers(digits, found, method, capsys):
    X, y = digits
    code = program(found, method)
    names = run(code, X=X, y=y)
    [row] = [row for row in found.summary() if row["method"] == method]
    assert names["scores"].mean() == row["mean"]
    assert f"# {row['mean']:.4f}" in code
    assert f"{row['mean']:.4f}" in capsys.readouterr().out
    np.testing.assert_allclose(names["Z"], found.models[method].transform(X), atol=1e-8)


@pytest.mark.parametrize("unknown", [None, 4])
def test_the_code_without_all_labels(unknown):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if unknown is None:
        y, methods = None, ["PCA", "LPP"]
    else:
        y, methods = np.where(np.arange(178) % unknown == 0, -1, y), ["LDA", "LPP"]
    found = compare(X, y, methods=methods, dimensions=[1, 2], cv=3, judge="nearest")
    for row in found.summary():
        assert run(program(found, row["method"]), X=X, y=y)["scores"].mean() == pytest.approx(row["mean"], abs=1e-12)


@pytest.mark.parametrize(
    "kind", [np.array, lambda y: np.array(y, dtype=object), list], ids=["array", "objects", "list"]
)
def test_the_code_of_text_labels_with_unknown_ones(kind):
    X, y = load_wine(return_X_y=True)
    y = kind(np.where(np.arange(178) % 3 == 0, "-1", np.array(["a", "b", "c"])[y]).tolist())
    methods = ["LDA", "LPP + spread labels"]
    cv = StratifiedShuffleSplit(3, random_state=0)
    found = compare(X, y, methods=methods, dimensions=[2], cv=cv, judge="nearest")
    assert list(found.classes) == ["a", "b", "c"]
    before = copy.deepcopy(y)
    for row in found.summary():
        names = run(program(found, row["method"]), X=X, y=y, cv=cv)
        assert names["scores"].mean() == pytest.approx(row["mean"], abs=1e-12)
    np.testing.assert_array_equal(y, before)


def test_the_code_of_pipelines_and_splitters(digits):
    X, y = digits
    methods = {"scaled": make_pipeline(StandardScaler(), LPP(graph=KNN(7) & SameClass(), pca=0.9))}
    cv = RepeatedKFold(n_splits=2, n_repeats=2, random_state=3)
    found = compare(X, y, methods=methods, dimensions=[3], cv=cv, judge="nearest")
    assert run(program(found, "scaled"), X=X, y=y, cv=cv)["scores"].mean() == found.best["mean"]


@pytest.mark.parametrize(
    "graph",
    [
        KNN(5) + SameClass() - 0.5 * Repulsion(15),
        (KNN(5) & SameClass()) - (KNN(7, weights="binary") & OtherClass()),
        0.3 * (KNN(5) + 2 * SameClass()) - Repulsion(9),
        KNN(4) - (KNN(5) - 0.5 * SameClass()),
        -1.0 * KNN(np.int64(3)),
    ],
)
def test_graphs_as_code(graph, digits):
    made = written(LPP(np.int64(3), graph=graph))
    sides = [model.graph.build(*digits) for model in (LPP(graph=graph), made)]
    rows = np.random.default_rng(0).standard_normal((300, 2))
    for mine, other in zip(*sides, strict=True):
        assert mine.coefficient == other.coefficient
        np.testing.assert_array_equal(mine.laplacian @ rows, other.laplacian @ rows)


def written(value):
    """The value again, from its program, which is to run as it is printed."""
    text, modules = expression(value)
    imports = [f"from {module} import {name}" for name, module in modules.items() if name != "np"]
    return run("\n".join([*imports, f"made = {text}"]), np=np)["made"]


@pytest.mark.parametrize(
    "value",
    [
        outside.TimeLPP(np.int64(3), rate=np.float32(0.5), graph=KNN(3) - 0.25 * outside.Chain(2)),
        make_pipeline(MinMaxScaler((0, 2), clip=True), "passthrough", LPP(3)),
        TSA((3, None), image_shape=(8, -1)),
        make_pipeline(SimpleImputer(fill_value=-1.5), LPP(1 / 3)),
        ColumnTransformer([("first", LPP(2), [0, 1]), ("rest", "drop", ["a"])]),
        LinearReducer(3, graph=outside.Chain()),
    ],
    ids=lambda value: " ".join(repr(value).split())[:60],
)
def test_any_estimator_as_code(value):
    assert repr(written(value)) == repr(value)


def test_imports_are_of_public_modules():
    _, modules = expression(make_pipeline(StandardScaler(), outside.TimeLPP(graph=KNN(3) + outside.Chain()), LPP()))
    public = {"LPP": "lapwing", "KNN": "lapwing.graphs", "Chain": "outside", "TimeLPP": "outside"}
    scaler = {"Pipeline": "sklearn.pipeline", "StandardScaler": "sklearn.preprocessing"}
    assert modules == public | scaler


def weights(distances):
    return 1 / (1 + distances)


class Local(LPP):
    __qualname__ = "test.Local"


Local.__module__ = "__main__"


@pytest.mark.parametrize(
    "value",
    [
        Local(3),
        LPP(graph=KNN(weights=weights)),
        LPP(graph=Precomputed(np.eye(3))),
        LPP(graph=Pairs([[i, i + 1] for i in range(900)])),
        make_pipeline(FunctionTransformer(np.log1p), LPP()),
        SimpleImputer(missing_values=np.inf),
    ],
    ids=lambda value: " ".join(repr(value).split())[:60],
)
def test_what_no_module_has_is_not_written(value):
    assert expression(value) == (None, {})


def test_the_code_says_what_it_needs(digits):
    X, y = digits
    mine = make_pipeline(FunctionTransformer(np.log1p), LPP())
    found = compare(X, y, methods={"mine": mine}, dimensions=[2], cv=2, judge="nearest")
    code = program(found, "mine")
    assert "# define first: estimator, Pipeline(steps=[('functiontransformer', FunctionTransformer(func=<ufunc" in code
    assert run(code, X=X, y=y, estimator=found.estimator("mine"))["scores"].mean() == found.best["mean"]


def test_the_code_of_an_estimator_from_outside(digits):
    X, y = digits
    scaled = make_pipeline(MinMaxScaler((0, 2)), LPP(pca=0.9))
    found = compare(
        X, y, methods={"mine": outside.TimeLPP(), "scaled": scaled}, dimensions=[2, 3], cv=3, judge="nearest"
    )
    for row in found.summary():
        assert run(program(found, row["method"]), X=X, y=y)["scores"].mean() == row["mean"]


PROGRAM = """
import numpy as np
from sklearn.datasets import load_digits
from lapwing import load, save
from lapwing.comparison import compare
from lapwing.graphs import KNN, Graph
from lapwing.problem import Problem, degree_sum
from lapwing.reducers import LinearReducer
from lapwing.report._content import program

class Sharp(KNN):
    pass

class Mine(LinearReducer):
    def default_graph(self, n_neighbors):
        return Sharp(n_neighbors)

    def _problem(self, data, graphs):
        terms = self._terms(data, graphs)
        return Problem(terms, degree_sum(terms))

if __name__ == "__main__":
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    found = compare(X, y, methods={"mine": Mine(), "sharp": Mine(graph=Sharp(3))}, dimensions=[2, 5], cv=2, n_jobs=2)
    for row in found.summary():
        save(found.models[row["method"]], "model")
        assert (load("model", [Mine, Sharp]).transform(X) == found.models[row["method"]].transform(X)).all()
        code = program(found, row["method"])
        assert "# define first: estimator, Mine(" in code
        estimator = found.estimator(row["method"])
        exec(code)
        assert scores.mean() == row["mean"]
    print("done")
"""


def test_an_estimator_of_the_main_program(tmp_path):
    """It fits, compares in two processes, is saved and read, and its code runs, as in a notebook."""
    pytest.importorskip("skops")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "done"), done.stderr


class Halves:
    """A splitter as a user writes it, without a repr."""

    def split(self, X, y=None, groups=None):
        rows = np.arange(X.shape[0])
        yield rows[::2], rows[1::2]
        yield rows[1::2], rows[::2]

    def get_n_splits(self, *data):
        return 2


def test_the_code_of_a_splitter_from_outside(digits):
    X, y = digits
    found = compare(X, y, methods=["PCA"], dimensions=[3], cv=Halves(), judge="nearest")
    code = program(found, "PCA")
    assert "# define first: cv, <" in code
    assert run(code, X=X, y=y, cv=Halves())["scores"].mean() == found.best["mean"]


def test_content_is_that_of_the_comparison(digits, found):
    X, _ = digits
    shown = content(found, feature_names=[f"pixel {i}" for i in range(64)], max_points=100)
    rows = shown["points"]["rows"]
    assert len(rows) == 100
    axes = np.array(shown["points"]["embeddings"]["OLPP"])
    np.testing.assert_allclose(axes, found.embeddings["OLPP"][rows].T, rtol=1e-3)
    names, weights = (shown["madeOf"]["PCA"][key][0] for key in ("names", "values"))
    direction = found.models["PCA"].components_[0] * X.std(axis=0)
    direction /= np.linalg.norm(direction)
    assert names[0] == f"pixel {np.argmax(np.abs(direction))}"
    assert weights[0] == pytest.approx(direction[np.argmax(np.abs(direction))], rel=1e-3)
    assert shown["madeOf"]["PCA"]["low"] is None or found.choice[0] == "PCA"
    made = shown["madeOf"][found.choice[0]]
    assert np.all(np.array(made["low"]) <= np.array(made["high"]))
    assert shown["samples"]["of"] == 64
    column = int(shown["samples"]["names"][3].removeprefix("pixel "))
    assert shown["samples"]["values"][7][3] == X[rows[7], column]
    assert np.sum(shown["confusion"]["LPP"]) == 300


def test_rows_are_counted_from_1_unless_they_have_names(digits, found):
    shown = content(found, max_points=3)["points"]
    assert (shown["rows"], shown["ids"]) == ([0, 149, 299], ["1", "150", "300"])
    names = [f"n{i}" for i in range(300)]
    shown = content(found, ids=names, max_points=3)["points"]
    assert shown["ids"] == ["n0", "n149", "n299"]


@pytest.fixture(scope="module")
def nan_page(digits, found, tmp_path_factory):
    """A report of numbers that are not finite, such as coordinates that overflow."""
    broken = found.embeddings["LPP"][:, :2].copy()
    broken[3] = np.nan, np.inf
    embeddings = {**found.embeddings, "LPP": broken}
    path = tmp_path_factory.mktemp("report") / "nan.html"
    return write_report(path, dataclasses.replace(found, embeddings=embeddings))


def test_a_recommended_model_that_does_not_solve_its_problem_is_a_caveat():
    found = compare(*load_wine(return_X_y=True), methods=["LPP"], dimensions=[2], cv=2)
    assert "its eigenproblem" not in report_page(found)
    model = found.models["LPP"]
    model.certificate_ = dataclasses.replace(model.certificate_, residual=0.1)
    caveat = "<li>LPP, fitted to all rows, does NOT solve its eigenproblem to the digits it should: residual 1.0e-01"
    assert caveat in report_page(found)


def test_numbers_that_are_not_finite_are_none(nan_page):
    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    [text] = re.findall(r'<script type="application/json" id="content">(.*?)</script>', nan_page.read_text("utf-8"))
    shown = json.loads(text, parse_constant=refuse)
    assert shown["points"]["embeddings"]["LPP"][0][3] is None


def test_one_of_a_kind_is_said_so(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 1))
    path = write_report(tmp_path / "page.html", compare(X, methods=["PCA"], cv=2, judge="nearest"))
    html = path.read_text("utf-8")
    assert "40 rows, 1 column. 1 setting of 1 method, scored" in html
    assert "PCA describes each row by 1 number in the place of 1 column." in html


def test_the_verdict_names_the_stronger_alternative():
    X, y = load_wine(return_X_y=True)
    found = compare(X, y, methods=["PCA"], dimensions=[2], cv=3, judge="knn")
    means = {row["method"]: row["mean"] for row in (found.lines["baseline"], found.lines["line_to_beat"])}
    assert means["all columns + logistic regression"] > min(means.values())
    _, second, *_ = content(found, max_points=10)["verdict"]
    assert (
        f"; all columns + logistic regression reach {100 * max(means.values()):.1f} %, and guessing reaches" in second
    )


def test_one_row_of_a_rare_class_that_is_named(tmp_path):
    X, y = load_wine(return_X_y=True)
    found = compare(X[:79], y[:79] == 1, methods=["PCA"], dimensions=[2], cv=2, judge="nearest")
    predicted = [np.zeros(len(fold), dtype=int) for fold in found.folds]
    predicted[0][np.flatnonzero(found.labels[found.folds[0]] == 1)[0]] = 1
    found = dataclasses.replace(found, predictions={("PCA", 2): predicted})
    html = write_report(tmp_path / "page.html", found).read_text("utf-8")
    assert "of the 20 rows of True, 1 is recognised, and 0 rows of other classes are taken for True" in html


def test_columns_are_shown_in_the_units_of_the_file(tmp_path):
    """And not as numbers that were standardised, nor as categories that were encoded."""
    rng = np.random.default_rng(0)
    age, town = rng.integers(18, 80, 60).astype(float), rng.choice(["Ayr", "Bute"], 60)
    since = np.datetime64("2024-01-01") + np.arange(60)
    age[7] = np.nan
    X = np.column_stack([(age - 49) / 18, town == "Ayr", town == "Bute", rng.standard_normal(60)])
    X[7, 0] = 0
    found = compare(X, rng.integers(0, 2, 60), methods=["PCA"], dimensions=[2], cv=2, judge="nearest")
    columns = {"age": age, "town": town, "since": since}
    names = ["age", "town_Ayr", "town_Bute", "noise"]
    shown = content(found, feature_names=names, max_points=10, columns=columns)
    assert shown["samples"]["names"] == ["age", "town", "since"]
    assert shown["samples"]["values"][1] == [age[6], town[6], "2024-01-07"]
    first, second, third = shown["columns"]
    assert first["cells"][0] == f"{np.nanmin(age):.4g}"
    assert (first["gaps"], second["said"].split()[0] in ("Ayr", "Bute")) == (1, True)
    assert third["said"] == "60 different ones, from 2024-01-01 to 2024-02-29"
    assert "describes each row by 2 numbers in the place of 3 columns" in shown["verdict"][0]
    with pytest.raises(ValueError, match="columns must have 60 entries each, and 'age' has 2"):
        write_report(tmp_path / "page.html", found, columns={"age": [1, 2]})


def test_sparse_rows_are_shown_by_their_terms():
    X = sparse.random(60, 30, 0.3, random_state=0, format="csr")
    found = compare(X, methods=["TruncatedSVD"], dimensions=[1, 2], cv=2, judge="nearest")
    shown = content(found, feature_names=[f"t{i}" for i in range(30)], max_points=10)
    assert shown["samples"]["texts"][0].split(", ")[0] == f"t{np.argmax(X[[0]].toarray())}"


def test_the_file_is_whole_small_and_needs_no_network(digits_page):
    html = digits_page.read_text("utf-8")
    assert html.rstrip().endswith("</html>")
    assert digits_page.stat().st_size < 3e6
    assert not re.search(r"https?://|\bsrc=|\bfetch\(|XMLHttpRequest|@import|url\(", html)
    assert "default-src 'none'" in html
    assert [path.name for path in digits_page.parent.iterdir()] == ["digits.html"]


def test_two_thousand_images_stay_below_six_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2000, 64, 64, 3), dtype=np.uint8)  # noise is the worst there is
    X, y = rng.standard_normal((2000, 20)), np.arange(2000) % 10
    found = compare(X, y, methods=["PCA", "MMC"], dimensions=[2], cv=2, judge="nearest")
    assert write_report(tmp_path / "page.html", found, images=images).stat().st_size < 6e6


def test_control_characters_are_shown_and_not_obeyed(digits, found, tmp_path):
    """A terminal that prints the file would obey them, in names, titles and commands alike."""
    bad = "\x1b[31m\x07\x9b"
    warned = dataclasses.replace(found, warnings={**found.warnings, "PCA": [bad]})
    names = [f"{bad}{i}" for i in range(64)]
    path = write_report(tmp_path / "page.html", warned, feature_names=names, title=bad, command=f"a\n{bad}")
    text = path.read_text("utf-8")
    assert not set(text) & {chr(code) for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}
    assert "<h1>\u241b[31m\u2407\ufffd</h1>" in text
    assert "a\n\u241b" in text


def test_a_failure_leaves_the_earlier_file(digits, found, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("earlier")
    monkeypatch.setattr("os.fsync", lambda handle: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_report(path, found)
    assert path.read_text() == "earlier"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature_names": ["a"]}, "feature_names has 1 entries, but there must be 64"),
        ({"ids": range(3)}, "ids has 3 entries"),
        ({"texts": ["a"]}, "texts has 1 entries"),
        ({"images": np.zeros((300, 64))}, r"images has shape \(300, 64\); it must be \(300, height, width\)"),
        ({"max_points": 0}, "max_points=0"),
    ],
)
def test_bad_input(digits, found, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        write_report(tmp_path / "page.html", found, **change)
    assert not list(tmp_path.iterdir())


def load(browser, path):
    """Afresh, for a test that will act on the page."""
    browser.untouched = None
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(path.as_uri())
    wait_until(lambda: browser.find_element("tag name", "html").get_attribute("data-ready") == "yes")


def look(browser, path):
    """For a test that only reads: the page is loaded unless the last test only read it, too."""
    if getattr(browser, "untouched", None) != path:
        load(browser, path)
        browser.untouched = path


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the page did not get there"
        time.sleep(0.02)


def errors(browser):
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def hover(browser, trace, point):
    """Move the mouse onto a point of the embedding; the index of the sample."""
    from selenium.webdriver.common.action_chains import ActionChains

    place = """
        const plot = document.getElementById("plot-embedding");
        plot.scrollIntoView({block: "center", behavior: "instant"});
        const {xaxis, yaxis} = plot._fullLayout, {x, y, customdata} = plot.data[arguments[0]];
        const box = plot.getBoundingClientRect(), i = arguments[1];
        return [box.x + xaxis._offset + xaxis.d2p(x[i]), box.y + yaxis._offset + yaxis.d2p(y[i]), customdata[i]];
    """
    x, y, sample = browser.execute_script(place, trace, point)
    actions = ActionChains(browser, duration=50)
    actions.w3c_actions.pointer_action.move_to_location(round(x) - 3, round(y))
    actions.w3c_actions.pointer_action.move_to_location(round(x), round(y))
    actions.perform()
    return sample


def click(browser):
    """Where the mouse is."""
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser, duration=50).click().perform()


def shown_sample(browser):
    return browser.find_element("id", "sample").get_attribute("data-point")


def lonely(found, digits):
    """The trace and place in it of the sample farthest from all others, so that the mouse can only mean it."""
    Z = found.embeddings[found.choice[0]][:, :2]
    Z = (Z - Z.min(axis=0)) / np.ptp(Z, axis=0)
    apart = ((Z[:, None] - Z) ** 2).sum(axis=2) + 9 * np.eye(len(Z))
    sample = int(apart.min(axis=1).argmax())
    trace = int(digits[1][sample])
    return sample, trace, int(np.flatnonzero(digits[1] == trace).tolist().index(sample))


def test_the_page_loads_without_errors_or_requests(browser, digits_page):
    browser.untouched = None
    look(browser, digits_page)
    assert errors(browser) == []
    requested = re.findall(
        r'"url":"((?!data:|blob:|file:)[^"]+)"', "".join(e["message"] for e in browser.get_log("performance"))
    )
    assert [url for url in requested if url.startswith(("http", "ws"))] == []
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.plot')].map((p) => p.querySelectorAll('.main-svg').length > 0)"
    )
    assert sum(drawn) >= 5


def nearest(Z, i, k=6):
    distances = ((Z - Z[i]) ** 2).sum(axis=1)
    distances[i] = np.inf
    return set(np.argsort(distances, kind="stable")[:k].tolist())


def test_the_map_is_of_the_whole_space(browser, digits_page, digits, found):
    """Neighbours in it are those of all dimensions, far more than those of the first two axes are."""
    look(browser, digits_page)
    x, y = (
        np.concatenate(browser.execute_script(f"return document.getElementById('plot-map').data.map((t) => t.{axis})"))
        for axis in "xy"
    )
    order = np.concatenate(
        browser.execute_script("return document.getElementById('plot-map').data.map((t) => t.customdata)")
    )
    drawn = np.empty((300, 2))
    drawn[order] = np.column_stack([x, y])
    method = found.choice[0]
    space, two = found.spaces[method], found.embeddings[method][:, :2]
    assert space.shape[1] > 2
    kept = [np.mean([len(nearest(Z, i) & nearest(space, i)) / 6 for i in range(300)]) for Z in (drawn, two)]
    assert kept[0] > 1.5 * kept[1]


def test_the_page_survives_numbers_that_are_not_finite(browser, nan_page, found):
    from selenium.webdriver.support.ui import Select

    load(browser, nan_page)
    for method in found.methods:
        Select(browser.find_element("id", "method")).select_by_value(method)
        assert browser.find_element("id", "plot-embedding").get_attribute("data-shown") == f"{method}/2"
    assert errors(browser) == []


def test_a_hover_shows_the_thumbnail(browser, digits_page, digits, found):
    load(browser, digits_page)
    sample, trace, place = lonely(found, digits)
    assert hover(browser, trace, place) == sample
    wait_until(lambda: shown_sample(browser) == str(sample), 10)
    # the canvas shows the image itself, enlarged: 8 x 8 pixels on 200 x 200
    wait_until(
        lambda: browser.execute_script("""
        const c = document.querySelector("#sample canvas");
        return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v, i) => i % 4 < 3 && v > 0);"""),
        10,
    )
    pixels = browser.execute_script("""
        const pen = document.querySelector("#sample canvas").getContext("2d"), found = [];
        for (let i = 0; i < 64; i++)
            found.push(pen.getImageData(25 * (i % 8) + 12, 25 * Math.floor(i / 8) + 12, 1, 1).data[0]);
        return found;""")
    np.testing.assert_allclose(np.array(pixels), digits[0][sample] * 255 / 16, atol=4)
    assert browser.find_element("css selector", "#sample .class").text == str(digits[1][sample])


def test_switching_methods_and_dimensions_redraws(browser, digits_page, found):
    from selenium.webdriver.support.ui import Select

    load(browser, digits_page)
    picked = "return document.getElementById('plot-embedding').data[0].x.slice(0, 5)"
    drawn = set()
    for method in found.methods:
        Select(browser.find_element("id", "method")).select_by_value(method)
        assert browser.find_element("id", "plot-embedding").get_attribute("data-shown") == f"{method}/2"
        assert browser.find_element("id", "program").get_attribute("textContent") == program(found, method)
        rows = np.flatnonzero(found.labels == 0)[:5]
        np.testing.assert_allclose(browser.execute_script(picked), found.embeddings[method][rows, 0], rtol=1e-3)
        drawn.add(tuple(browser.execute_script(picked)))
    assert len(drawn) == len(found.methods)
    assert errors(browser) == []


def test_three_dimensions_can_be_turned(browser, digits_page, digits, found):
    """They are drawn as SVG, since WebGL would need a policy that lets strings run: distances in the cube tell what is seen."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    load(browser, digits_page)
    method = found.methods[-1]
    Select(browser.find_element("id", "method")).select_by_value(method)
    browser.execute_script("document.querySelector('input[value=\"3\"]').click()")
    plot = browser.find_element("id", "plot-embedding")
    wait_until(lambda: plot.get_attribute("data-shown") == f"{method}/3", 10)
    places = """return document.getElementById("plot-embedding").data.filter((t) => t.name !== "axes")
        .flatMap((t) => t.customdata.map((i, j) => [i, t.x[j], t.y[j]])).sort((a, b) => a[0] - b[0]);"""
    Z = found.embeddings[method]
    Z = 2 * (Z - Z.min(axis=0)) / np.ptp(Z, axis=0) - 1
    views = []
    for keys in ("", Keys.ARROW_LEFT * 3, Keys.ARROW_DOWN * 4):
        before = browser.execute_script(places)
        if keys:
            plot.send_keys(keys)
            wait_until(lambda before=before: browser.execute_script(places) != before, 10)
            time.sleep(0.2)
        seen = np.array(browser.execute_script(places))[:, 1:]
        shadow, rest, *_ = np.linalg.lstsq(Z - Z.mean(axis=0), seen - seen.mean(axis=0), rcond=None)
        np.testing.assert_allclose(shadow.T @ shadow, np.eye(2), atol=0.02)  # seen from afar, and not distorted
        assert rest.max() < 1e-2
        views.append(seen)
    assert all(np.abs(views[i] - views[i - 1]).max() > 0.1 for i in (1, 2))
    ActionChains(browser, duration=50).click_and_hold(plot).move_by_offset(60, 20).release().perform()
    wait_until(lambda: np.abs(np.array(browser.execute_script(places))[:, 1:] - views[-1]).max() > 0.1, 10)
    assert browser.execute_script("return document.querySelectorAll('#plot-embedding canvas').length") == 0
    assert errors(browser) == []


def test_the_policy_lets_no_other_script_run(browser, digits_page):
    """Neither a string, nor a script element, nor a handler in the markup; and what it refuses is logged, as a test can see."""
    html = digits_page.read_text("utf-8")
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', html)
    [allowed] = [part for part in policy.split("; ") if part.startswith("script-src")]
    assert re.fullmatch(r"script-src( 'sha256-[A-Za-z0-9+/]{43}='){2}", allowed)
    load(browser, digits_page)
    assert errors(browser) == []
    tried = """
        const made = document.createElement("script"), image = document.createElement("div");
        made.textContent = "window.hacked = 1";
        document.head.append(made);
        image.innerHTML = '<button onclick="window.hacked = 2"></button>';
        document.body.append(image);
        image.firstChild.click();
        return window.hacked || "nothing";"""
    assert browser.execute_script(tried) == "nothing"
    assert sum("Content Security Policy" in message for message in errors(browser)) >= 2


def test_dark_and_light(browser, digits_page):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    )
    load(browser, digits_page)
    ground = "return getComputedStyle(document.body).backgroundColor"
    ink = "return document.getElementById('plot-scores')._fullLayout.font.color"
    light = browser.execute_script(ground), browser.execute_script(ink)
    browser.find_element("id", "theme").click()
    dark = browser.execute_script(ground), browser.execute_script(ink)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert browser.find_element("id", "theme").get_attribute("aria-pressed") == "true"
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    load(browser, digits_page)
    assert browser.execute_script(ground) == dark[0]


def test_the_keyboard_reaches_every_sample(browser, digits_page):
    from selenium.webdriver.common.keys import Keys

    load(browser, digits_page)
    box = browser.find_element("id", "row")
    box.send_keys(Keys.ARROW_UP)
    wait_until(lambda: shown_sample(browser) == "1", 10)
    unnamed = """return [...document.querySelectorAll("button, select, input")].filter(
        (e) => !(e.labels && e.labels.length) && !e.textContent.trim() && !e.getAttribute("aria-label")).length"""
    assert browser.execute_script(unnamed) == 0


@pytest.fixture(scope="module")
def hostile():
    X, y = load_wine(return_X_y=True)
    methods = {HOSTILE: LPP(), "PCA": make_pipeline(StandardScaler(), LPP(pca=0.9))}
    return compare(
        X, np.array([HOSTILE + str(k) for k in y]), methods=methods, dimensions=[1, 2], cv=2, judge="nearest"
    )


@pytest.mark.parametrize("kind", ["row", "text"])
def test_nothing_the_user_brings_is_run(browser, hostile, tmp_path, kind):
    from selenium.webdriver.support.ui import Select

    found = hostile
    more = {"texts": [HOSTILE] * 178} if kind == "text" else {}
    path = write_report(
        tmp_path / "page.html",
        found,
        feature_names=[HOSTILE] * 13,
        ids=[HOSTILE] * 178,
        title=HOSTILE,
        command=HOSTILE,
        **more,
    )
    load(browser, path)
    for method in found.methods:
        Select(browser.find_element("id", "method")).select_by_value(method)
    hover(browser, 0, 0)
    click(browser)
    time.sleep(0.5)
    assert browser.execute_script("return window.hacked") is None
    assert browser.find_element("tag name", "h1").text == HOSTILE
    assert HOSTILE in browser.find_element("id", "sample").get_attribute("textContent")
    assert browser.execute_script("return document.querySelectorAll('img, #content ~ script[src]').length") == 0
    assert errors(browser) == []


# What one can do with the map


def test_a_click_shows_the_neighbours_before_and_after(browser, digits_page, digits, found):
    load(browser, digits_page)
    assert not browser.find_element("id", "near").is_displayed()
    sample, trace, place = lonely(found, digits)
    assert hover(browser, trace, place) == sample
    click(browser)
    wait_until(lambda: browser.find_element("id", "near").is_displayed(), 10)
    marked = """return Object.fromEntries(document.getElementById(arguments[0]).data
        .filter((t) => /neighbours|picked/.test(t.name)).map((t) => [t.name, t.customdata]));"""
    for plot in ("plot-map", "plot-embedding"):
        shown = browser.execute_script(marked, plot)
        assert shown["picked"] == [sample]
        assert set(shown["neighbours before"]) == nearest(digits[0], sample)
        assert set(shown["neighbours after"]) == nearest(found.spaces[found.choice[0]], sample)
    listed = browser.find_elements("css selector", "#near button")
    assert {int(button.text) - 1 for button in listed[:6]} == nearest(digits[0], sample)
    first = int(listed[0].text) - 1
    listed[0].click()  # to go on from there
    wait_until(lambda: browser.execute_script(marked, "plot-map")["picked"] == [first], 10)
    assert shown_sample(browser) == str(first)
    assert errors(browser) == []


def test_colour_by_prediction(browser, digits_page, found):
    from selenium.webdriver.support.ui import Select

    load(browser, digits_page)
    Select(browser.find_element("id", "colour")).select_by_value("prediction")
    members = browser.execute_script("return document.getElementById('plot-map').data.map((t) => t.customdata)")
    method, d = found.choice
    predicted = np.empty(300, dtype=int)
    for fold, classes in zip(found.folds, found.predictions[method, d], strict=True):
        predicted[fold] = classes
    assert [sorted(group) for group in members] == [
        np.flatnonzero(predicted == k).tolist() for k in np.unique(predicted)
    ]


@pytest.fixture(scope="module")
def wine_page(tmp_path_factory):
    """A table with names of rows and columns, unequal classes, and some labels unknown."""
    wine = load_wine()
    y = np.where(np.arange(178) % 9 == 0, "-1", np.where(wine.target == 2, "rare", "usual"))
    rows = (y != "rare") | (np.arange(178) % 2 == 0)
    X = StandardScaler().fit_transform(wine.data)[rows]
    found = compare(X, y[rows], methods=["PCA", "MMC", "LPP"], dimensions=[3, 5, 8], cv=3, judge="nearest")
    path = tmp_path_factory.mktemp("report") / "wine.html"
    ids = [f"bottle {i}" for i in range(len(X))]
    return write_report(path, found, feature_names=wine.feature_names, ids=ids), found, wine.feature_names


def test_how_certain_the_loadings_are(wine_page):
    """For the method of choice: what lapwing.loadings says."""
    path, found, names = wine_page
    method = found.choice[0]
    known = found.labels >= 0 if method in ("LDA", "MFA") else slice(None)
    rows = loadings(found.models[method], found.X[known], found.labels[known], n_draws=40, feature_names=names).rows(5)
    made = json.loads(path.read_text().split('id="content">')[1].split("</script>")[0])["madeOf"][method]
    drawn = [made[key][0][0] for key in ("names", "values", "low", "high")]
    assert drawn == [rows[0]["feature"], *(pytest.approx(rows[0][key], rel=1e-4) for key in ("loading", "low", "high"))]


def test_colour_by_feature(browser, wine_page):
    from selenium.webdriver.support.ui import Select

    path, found, names = wine_page
    load(browser, path)
    select = Select(browser.find_element("id", "colour"))
    select.select_by_visible_text(names[0])
    shades = browser.execute_script("return document.getElementById('plot-embedding').data[0].marker.color")
    np.testing.assert_allclose(shades, found.X[:, 0], rtol=1e-3, atol=1e-4)
    assert errors(browser) == []


def test_one_dimension_is_drawn_as_histograms(browser, tmp_path):
    X, y = load_wine(return_X_y=True)
    found = compare(X, y, methods=["LDA"], dimensions=[1], cv=2, judge="nearest")
    load(browser, write_report(tmp_path / "page.html", found))
    Z = found.spaces["LDA"][:, 0]
    for plot in ("plot-map", "plot-embedding"):
        drawn = browser.execute_script(
            "return document.getElementById(arguments[0]).data.map((trace) => [trace.type, trace.x])", plot
        )
        assert [kind for kind, _ in drawn] == ["histogram"] * 3
        for label, (_, values) in enumerate(drawn):
            np.testing.assert_allclose(values, Z[y == label], rtol=1e-3)
    press = """
        const plot = document.getElementById("plot-map"), [bar] = plot.calcdata[1].filter((bar) => bar.pts && bar.pts.length > 1);
        plot.emit("plotly_click", {points: [{pointNumbers: bar.pts, data: plot.data[1]}]});
        return bar.pts.map((k) => plot.data[1].customdata[k]);
    """
    members = browser.execute_script(press)
    assert int(shown_sample(browser)) == members[0]
    assert (y[members] == 1).all()
    browser.execute_script("""
        const colour = document.getElementById("colour");
        colour.value = "feature 2";
        colour.dispatchEvent(new Event("change"));
    """)
    kind, heights = browser.execute_script(
        "const trace = document.getElementById('plot-embedding').data[0]; return [trace.type, trace.y]"
    )
    assert kind == "scatter"
    np.testing.assert_allclose(heights, X[:, 2], rtol=1e-3)
    assert not errors(browser)


def test_one_dimension_is_one_picture(browser, tmp_path):
    from selenium.webdriver.support.ui import Select

    X, y = load_wine(return_X_y=True)
    first = y < 2
    found = compare(X[first], y[first], methods=["LDA", "PCA"], dimensions=[1, 5], cv=3, judge="nearest")
    assert found.choice == ("LDA", 1)
    load(browser, write_report(tmp_path / "page.html", found))

    def shown(part):
        return browser.find_element("id", part).is_displayed()

    parts = ("plot-map", "plot-embedding")
    assert [shown(part) for part in parts] == [True, False]
    Select(browser.find_element("id", "method")).select_by_value("PCA")
    assert [shown(part) for part in parts] == [True, True]
    widths = "return arguments[0].map((part) => document.querySelector(`#${part} .main-svg`).clientWidth)"
    wait_until(lambda: abs(np.diff(browser.execute_script(widths, ["plot-map", "plot-embedding"]))[0]) < 10, 10)
    assert not errors(browser)


def test_the_classes_stand_between_what_was_found_and_the_rows(digits_page):
    page = digits_page.read_text("utf-8")
    order = [page.index(f'<section id="{part}"') for part in ("summary", "confusion", "embedding", "components")]
    assert order == sorted(order)


def test_search_by_id(browser, wine_page):
    from selenium.webdriver.common.keys import Keys

    path, *_ = wine_page
    load(browser, path)
    box = browser.find_element("id", "search")
    box.send_keys("bottle 12")
    wait_until(lambda: browser.find_element("id", "found").text == "1 found", 10)  # the exact name, not 120 to 129
    assert shown_sample(browser) == "12"
    box.send_keys(Keys.BACKSPACE)
    wait_until(lambda: "found" in browser.find_element("id", "found").text, 10)
    box.send_keys("2", Keys.ENTER)
    wait_until(lambda: browser.find_element("id", "near").is_displayed(), 10)


def test_a_lasso_lists_ids(browser, wine_page):
    from selenium.webdriver.common.action_chains import ActionChains

    path, found, _ = wine_page
    load(browser, path)
    box = browser.execute_script("""
        const plot = document.getElementById("plot-map");
        plot.scrollIntoView({block: "center", behavior: "instant"});
        Plotly.relayout(plot, {dragmode: "select"});
        const {x, y, width, height} = plot.getBoundingClientRect();
        return [x, y, width, height];""")
    actions = ActionChains(browser, duration=50)
    pointer = actions.w3c_actions.pointer_action
    pointer.move_to_location(round(box[0] + 40), round(box[1] + 80))  # not at the edge, where axes are dragged
    pointer.pointer_down()
    pointer.move_to_location(round(box[0] + box[2] / 2), round(box[1] + box[3] / 2))
    pointer.move_to_location(round(box[0] + box[2] - 30), round(box[1] + box[3] - 40))
    pointer.pointer_up()
    actions.perform()
    wait_until(lambda: browser.find_element("id", "ids").get_attribute("value"), 10)
    ids = browser.find_element("id", "ids").get_attribute("value").split("\n")
    assert 0.5 * found.X.shape[0] < len(ids) <= found.X.shape[0]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= {f"bottle {i}" for i in range(found.X.shape[0])}
    assert f"{len(ids)} rows in the lasso" in browser.find_element("id", "selection-title").text


def test_an_honest_number_leads(browser, wine_page):
    path, found, _ = wine_page
    look(browser, path)
    assert found.criterion == "balanced_accuracy"
    first, second = (line.text for line in browser.find_elements("css selector", ".verdict"))
    assert first == f"{found.choice[0]} describes each row by {found.choice[1]} numbers in the place of 13 columns."
    assert "balanced accuracy: the share of rows named rightly, as a mean over the classes" in second
    assert second.endswith("and guessing reaches 50.0 %.")
    confusion = found.confusion(found.choice[0])
    watch = browser.find_element("css selector", ".watch").text
    assert (
        f"of the {confusion[0].sum()} rows of rare, {confusion[0, 0]} are recognised, and {confusion[1, 0]} row of other "
        "classes is taken for rare" in watch
    )
    assert "always the largest class" in browser.find_element("css selector", "#methods table").text
    assert browser.find_element("id", "measure").get_attribute("value") == "balanced_accuracy"


def test_axes_of_dimensions_start_where_the_data_do(browser, wine_page):
    path, *_ = wine_page
    look(browser, path)
    least, most = browser.execute_script("return document.getElementById('plot-scores')._fullLayout.xaxis.range")
    assert 2.5 < 10**least < 3
    assert 8 < 10**most < 9


def test_loadings_and_the_data(browser, wine_page):
    path, found, names = wine_page
    look(browser, path)
    shown, values, whiskers = browser.execute_script("""
        const [trace] = document.getElementById("plot-component").data;
        return [trace.hovertext, trace.x, trace.error_x.array.map((up, i) => [up, trace.error_x.arrayminus[i]])];""")
    expected = loadings(found.models[found.choice[0]], found.X, n_draws=0, feature_names=names)
    assert shown == [expected.features[j] for j in expected.ranked(0)[:12]]
    np.testing.assert_allclose(values, expected.values[0, expected.ranked(0)[:12]], rtol=1e-4)
    assert np.min(whiskers) >= 0
    assert np.max(whiskers) > 0.01
    rows = browser.find_elements("css selector", "#data tbody tr")
    assert [row.find_element("tag name", "th").text for row in rows] == list(names)
    counts = browser.execute_script("return document.getElementById('plot-classes').data[0].y")
    assert counts == np.bincount(found.labels[found.labels >= 0]).tolist()


def test_on_a_phone_legends_are_below_and_nothing_is_cut(browser, wine_page):
    path, *_ = wine_page
    narrow = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        load(browser, path)
        legend = browser.execute_script("return document.getElementById('plot-scores')._fullLayout.legend")
        assert (legend["orientation"], legend["y"] < 0) == ("h", True)
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= 400
        plot, key = (browser.find_element("id", name).rect for name in ("plot-embedding", "legend"))
        assert key["y"] >= plot["y"] + plot["height"]
        hidden = (
            "return [...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth).length"
        )
        assert browser.execute_script(hidden) == 0
        cell = browser.find_element("css selector", "#methods tr.chosen td")
        assert cell.get_attribute("data-column") == "Dimensions"
        code = "return [...document.querySelectorAll('pre')].filter((box) => box.scrollWidth > box.clientWidth).length"
        assert browser.execute_script(code) == 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_many_methods_on_a_phone_and_what_they_are_held_to(browser, tmp_path):
    """All lines of two classes are drawn, those of all columns and of guessing too, and no legend has to be scrolled."""
    X, y = load_wine(return_X_y=True)
    names = ["PCA", "LDA", "shrinkage LDA", "MMC", "LPP", "OLPP", "NPE", "LPP + classes", "LPDP", "ONPP"]
    found = compare(X, y == 1, methods=names, dimensions=[1, 2], cv=2, judge="knn")
    path = write_report(tmp_path / "page.html", found)
    narrow = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
    try:
        look(browser, path)
        drawn = browser.execute_script("return document.getElementById('plot-scores').data.map((line) => line.name)")
        assert found.criterion == "roc_auc"
        assert drawn == [row["method"] for row in [*found.summary(), *found.lines.values()]]
        shown = """
            const box = document.getElementById("plot-scores"), plot = box.querySelector(".nsewdrag").getBoundingClientRect();
            const names = [...box.querySelectorAll(".legendtext")].map((name) => name.getBoundingClientRect().bottom);
            return [plot.height, Math.max(...names), box.getBoundingClientRect().bottom];"""
        height, last, bottom = browser.execute_script(shown)
        assert height > 200
        assert last <= bottom
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


MEASURES = ["balanced_accuracy", "f1", "map", "recall@5", "clustering", "nmi", "recall", "trustworthiness"]


@pytest.mark.parametrize(
    ("scoring", "partly"),
    [(scoring, False) for scoring in MEASURES] + [(scoring, True) for scoring in ("f1", "map", "nmi", "recall")],
)
def test_the_code_of_every_measure(scoring, partly):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    y = np.where(np.arange(178) % 5 == 0, -1, y) if partly else y
    found = compare(X, y, methods=["LDA", "LPP"], dimensions=[2], cv=2, scoring=scoring)
    for row in found.summary():
        names = run(program(found, row["method"]), X=X, y=y)
        assert names["scores"].mean() == pytest.approx(row["mean"], abs=1e-12)
        np.testing.assert_allclose(names["Z"], found.models[row["method"]].transform(X), atol=1e-8)


@pytest.mark.parametrize("kept", ["groups", "time"])
@pytest.mark.parametrize("labelled", [True, False])
def test_the_code_of_groups_and_time(kept, labelled):
    X, y = load_wine(return_X_y=True)
    keys = np.random.RandomState(0).permutation(178) // 3
    y = y if labelled else None
    found = compare(X, y, methods=["PCA"], dimensions=[2], cv=2, **{kept: keys})
    names = run(program(found, "PCA"), X=X, y=y, **{kept: keys})
    assert names["scores"].mean() == pytest.approx(found.best["mean"], abs=1e-12)


def test_the_code_loads_the_data(digits, found):
    loading = "from sklearn.datasets import load_digits\n\nX, y = (part[:300] for part in load_digits(return_X_y=True))"
    names = run(program(found, "LPP", loading))
    [row] = [row for row in found.summary() if row["method"] == "LPP"]
    assert names["scores"].mean() == row["mean"]


def test_inline_in_a_notebook(found, monkeypatch):
    html = found._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert "&lt;!doctype html&gt;" in html
    assert html.count('"') == 6  # the page itself is escaped
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert found._repr_html_() is None


def test_export_for_embedding_atlas(tmp_path, digits, found):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(write_atlas(tmp_path / "atlas.parquet", found)).to_pydict()
    assert table["id"][:2] == ["1", "2"]
    assert np.isfinite([table["x"], table["y"]]).all()
    assert table["label"] == [str(k) for k in digits[1]]
    space = found.spaces[found.choice[0]]
    for i in (0, 100, 299):
        near = table["neighbors"][i]
        assert set(near["ids"]) == nearest(space, i, 15)
        np.testing.assert_allclose(near["distances"], np.linalg.norm(space[near["ids"]] - space[i], axis=1), atol=1e-8)
    assert table["feature 3"] == digits[0][:, 3].tolist()
    with pytest.raises(ValueError, match="max_points=1"):
        write_atlas(tmp_path / "no.parquet", found, max_points=1)
    assert not (tmp_path / "no.parquet").exists()
