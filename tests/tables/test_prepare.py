"""Tables as people have them: text, dates, gaps, decimal commas, and the steps before a method that takes numbers."""

import io

import numpy as np
import pytest
from helpers import each
from messy import customers
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import load, save
from lapwing.tables import Preparation, Table, UnseenCategories, batches, prepare, read

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
from pyarrow import parquet  # noqa: E402


@pytest.fixture
def text(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return write


def column(text, cells, **options):
    """What one column of cells holds, and its values, beside a column of numbers."""
    lines = "\n".join(f'{i};"{cell}"' for i, cell in enumerate(cells))
    table = read(text(f"n;c\n{lines}\n"), mixed=True, **options)
    preparation = Preparation(categories=options.get("categories", ()))
    values = preparation.fit(table.X).to_frame(table.X)
    return preparation.columns_["c"]["kind"], values["c"].tolist()


@each(
    ("cells", "expected"),
    [
        (["3,14", "2", "-0,5"], [3.14, 2, -0.5]),
        (["3.14", "2", "-0.5"], [3.14, 2, -0.5]),
        (["1.234,50", "2", "12.000"], [1234.5, 2, 12000]),
        (["1 234,50", "2"], [1234.5, 2]),
        (["1,234.50", "12,000.25"], [1234.5, 12000.25]),
        (["1e3", " 2 "], [1000, 2]),
        (["1'234.50", "12'000"], [1234.5, 12000]),
        (["0,283", "2,405"], [0.283, 2.405]),
        (["71.7%", "3 %", "-0.5%"], [71.7, 3, -0.5]),
        (["€78.37", "€1,200.00", "-€5"], [78.37, 1200, -5]),
        (["78,37 €", "1.200,00 €", "-5 €"], [78.37, 1200, -5]),
        (["USD 5", "7", "USD 1,250"], [5, 7, 1250]),
        (["yes", "No", "YES", ""], [1, 0, 1, np.nan]),
        (["n", "y"], [0, 1]),
        (["true", "false"], [1, 0]),
        (["1", "", "NA", "N/A", "NaN", "null", "?", "-", " ", "2"], [1, *[np.nan] * 8, 2]),
    ],
)
def test_numbers_however_written(text, cells, expected):
    kind, values = column(text, cells)
    assert kind == "number"
    np.testing.assert_array_equal(np.array(values, dtype=float), expected)


def test_decimal_commas_are_read_also_where_only_numbers_are_taken(text):
    np.testing.assert_array_equal(read(text("a;b\n1,5;2\n2,25;3,5\n")).X, [[1.5, 2], [2.25, 3.5]])
    np.testing.assert_array_equal(read(text("1,5;2,1;3,5\n2,25;3,5;7,1\n")).X, [[1.5, 2.1, 3.5], [2.25, 3.5, 7.1]])


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["1970-01-02", "1970-01-03T12:00", "1970-01-04 00:00:00"], [1, 2.5, 3]),
        (["02.01.1970", "31.01.1970"], [1, 30]),
        (["01/02/1970", "01/31/1970"], [1, 30]),
        (["02/01/1970", "31/01/1970"], [1, 30]),
        (["01/02/1970", "01/03/1970"], [1, 2]),  # both would fit: the month stands first
        (["2 Jan 1970", "31 Jan 1970"], [1, 30]),
        (["02.01.1970 06:00", "31.01.1970 12:00"], [1.25, 30.5]),
        (["1970-01-02T00:00:00+00:00", "1970-01-02T02:00:00+02:00"], [1, 1]),
    ],
)
def test_dates_however_written(text, cells, days):
    kind, values = column(text, [*cells, "?"])
    assert kind == "date"
    np.testing.assert_array_equal(values, [*days, np.nan])


@pytest.mark.parametrize("cells", [["Rome", "Oslo"], ["2020-13-01", "x"], ["12:30", "13:30"], ["yes", "perhaps"]])
def test_text_stays_text(text, cells):
    assert column(text, cells) == ("category", cells)


def test_all_bad_columns_are_one_error(text):
    rows = [f"{i};{i};{i};x{i % 2};{i}" for i in range(300)]
    rows[250] = "250;twenty;1e999;y;12k"
    path = text("\n".join(["a;age;big;t;pay", *rows]))
    with pytest.raises(ValueError, match="neither numbers, dates nor text") as caught:
        prepare(read(path, mixed=True))
    said = str(caught.value)
    for part in (
        "'age': 299 of 300 values are numbers, but not 'twenty' (the first in row 251)",
        "'big': a value is infinite (the first in row 251)",
        "'pay': 299 of 300 values are numbers, but not '12k'",
        "--drop age,big,pay",
        "--categories age,big,pay",
    ):
        assert part in said
    table = read(path, mixed=True, drop=["big"])
    X = Preparation(categories=["age", "pay"]).fit_transform(table.X)
    assert X[250].tolist() == [250, "twenty", "y", "12k"]
    assert X[7].tolist() == [7, "7", "x1", "7"]


def test_text_that_comes_late(text, monkeypatch):
    """A column is what all its rows are, from standard input too."""
    rows = [f"{i},{i % 3}" for i in range(200)] + [f"{i},{'abc'[i % 3]}" for i in range(400)]
    content = "\n".join(["n,t", *rows])
    expected = [str(i % 3) for i in range(200)] + ["abc"[i % 3] for i in range(400)]
    assert read(text(content), mixed=True).X["t"].to_pylist() == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    assert read("-", mixed=True).X["t"].to_pylist() == expected


def test_parquet(tmp_path):
    table = pa.table(
        {
            "n": pa.array([1, None, 3, 4], pa.int64()),
            "flag": pa.array([True, None, False, True]),
            "day": pa.array([0, 1, None, 3], pa.date32()),
            "at": pa.array([0, 1, None, 3], pa.timestamp("ns")),
            "t": pa.array(["a", None, "b", "a"]).dictionary_encode(),
            "written": ["1,5", "2", "3", None],
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet", mixed=True)
    typed = Preparation().fit(found.X).to_frame(found.X)
    assert typed.iloc[0].tolist() == [1, 1, 0, 0, "a", 1.5]
    assert typed.iloc[1].tolist()[4] == ""
    prepared = prepare(found)
    assert prepared.table.X.dtype == np.float64
    assert np.isfinite(prepared.table.X).all()
    parquet.write_table(table.append_column("list", pa.array([[1.0]] * 4)), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"'list': holds lists or records.*--drop list"):
        prepare(read(tmp_path / "t.parquet", mixed=True))


def test_aside(text):
    table = read(text("a,who,when\n1,x,2020\n2,y,\n3,x,2021\n"), mixed=True, aside=["who", "when"])
    assert table.feature_names == ["a"]
    assert table.take([1, 0]).aside["who"].tolist() == ["x", "x"]
    assert table.aside["when"].tolist() == [2020, 2021]  # the row without one is left out
    assert table.notes == ("1 row without 'when' left out",)
    table = read(text("a,when\n1,02.01.2020\n2,01.02.2020\n3,31.01.2020\n"), mixed=True, aside=["when"])
    assert np.argsort(table.aside["when"]).tolist() == [0, 2, 1]  # by time, not as text
    with pytest.raises(ValueError, match="column 'when' is empty"):
        read(text("a,when\n1,\n2,\n"), mixed=True, aside=["when"])


# Preparing


@pytest.mark.parametrize("comma", [False, True])
def test_a_messy_table(tmp_path, comma):
    path, gaps = customers(tmp_path / "customers.csv", 600, comma=comma)
    table = read(path, mixed=True, label="churned")
    prepared = prepare(table)
    dates = " (day-month-year)" if comma else ""
    assert prepared.lines[0] == (
        f"3 text columns one-hot encoded, 2 dates as numbers{dates}, {gaps} missing values imputed, columns standardised"
    )
    assert prepared.lines[1].startswith("left out: 'customer_id' (names the rows), 'comment' (free text")
    assert prepared.table.ids[0] == "C10000"
    X, names = prepared.table.X, prepared.table.feature_names
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert "plan_basic" in names
    assert "region_missing" in names
    assert X.shape == (600, len(names))
    assert len(names) < 30
    scaled = [names.index(name) for name in ("age", "income", "signup", "last_seen")]
    np.testing.assert_allclose(X[:, scaled].mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(X[:, scaled].std(axis=0), 1, atol=1e-8)


def test_both_spellings_are_one_table(tmp_path):
    plain = read(customers(tmp_path / "a.csv", 200)[0], mixed=True, label="churned")
    comma = read(customers(tmp_path / "b.csv", 200, comma=True)[0], mixed=True, label="churned")
    np.testing.assert_allclose(prepare(plain).table.X, prepare(comma).table.X, atol=1e-9)
    np.testing.assert_array_equal(plain.y, comma.y)


def test_the_model_takes_the_table_as_it_was_read(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = customers(tmp_path / "a.csv", 200)[0]
    table = read(path, mixed=True, label="churned")
    prepared = prepare(table)
    save(prepared.model(PCA(3).fit(prepared.table.X)), tmp_path / "model")
    model = load(tmp_path / "model")
    assert isinstance(model, Pipeline)
    assert [type(step) for step in list(model.named_steps.values())[:2]] == [Preparation, ColumnTransformer]
    expected = model[-1].transform(prepared.table.X)
    np.testing.assert_array_equal(model.transform(table.X), expected)
    frame = pandas.read_csv(path)
    np.testing.assert_array_equal(model.transform(frame[frame.columns[::-1]]), expected)  # columns by name
    np.testing.assert_array_equal(model.transform(read(path, mixed=True, features=list(model[0].columns_)).X), expected)
    new = frame[list(model[0].columns_)][:3].astype(object)
    new.iloc[0] = np.nan
    new.loc[1, "plan"] = "a plan that nobody had"
    with pytest.warns(UnseenCategories, match="'plan' in 1 row: 'a plan that nobody had'") as caught:
        assert np.isfinite(model.transform(new)).all()
    assert caught[0].message.counts == {"plan": {"a plan that nobody had": 1}}


def numbers(X, names="abcdefgh"):
    return Table(np.asarray(X, float), feature_names=list(names[: np.shape(X)[1]]))


def test_numbers_that_need_nothing_stay_as_they_are():
    table = numbers(np.random.RandomState(0).rand(20, 3))
    prepared = prepare(table)
    assert (prepared.steps, prepared.lines) == ([], [])
    np.testing.assert_array_equal(prepared.table.X, table.X)
    assert prepared.model("anything") == "anything"


def test_numbers_of_different_units_are_standardised():
    X = np.random.RandomState(0).rand(20, 3) * [1, 5, 100]
    first, scale = prepare(numbers(X)).steps
    assert isinstance(first[1], Preparation)
    assert isinstance(scale[1], StandardScaler)
    assert prepare(numbers(X)).lines == ["columns standardised"]
    assert prepare(numbers(X), standardize="no").steps == []
    assert prepare(numbers(X[:, :2])).steps == []
    assert len(prepare(numbers(X[:, :2]), standardize="yes").steps) == 2
    np.testing.assert_allclose(prepare(numbers(X)).table.X.std(axis=0), 1)
    unnamed = Table(X)
    assert prepare(unnamed).steps == []
    np.testing.assert_allclose(prepare(unnamed, standardize="yes").table.X.std(axis=0), 1)


def test_an_imputer_for_later_rows():
    X = np.random.RandomState(0).rand(21, 3)
    prepared = prepare(numbers(X), impute=True)
    assert isinstance(prepared.steps[1][1], SimpleImputer)
    assert prepared.lines == []
    np.testing.assert_array_equal(prepared.steps[1][1].transform([[np.nan] * 3])[0], np.median(X, axis=0))


def test_standardize_is_one_of_three_words():
    with pytest.raises(ValueError, match="standardize='maybe'"):
        prepare(numbers(np.eye(3)), standardize="maybe")


def test_columns_that_cannot_help_are_left_out(text):
    rows = [
        f"{i},{i + 100},{i % 7},code{i},{'lorem ipsum dolor sit amet ' * 3}{i},town{i % 60},same,7,,{i % 2}"
        for i in range(130)
    ]
    names = "Unnamed: 0,customerId,good,code,essay,town,word,constant,empty,flag"
    prepared = prepare(read(text("\n".join([names, *rows])), mixed=True))
    assert prepared.table.feature_names == ["good", "constant", "flag"]
    assert prepared.table.ids[3] == "3"
    assert prepared.lines == [
        "left out: 'Unnamed: 0' (names the rows), 'customerId' (names the rows), 'code' (names the rows), "
        "'essay' (free text, 130 different values; --text essay uses it), 'town' (text, 60 different values), "
        "'word' (the same everywhere), 'empty' (empty)"
    ]
    more = prepare(read(text("\n".join([names, *rows])), mixed=True), categories=["town"])
    assert more.table.X.shape[1] == 63
    with pytest.raises(ValueError, match=r"no column is left to project: 'code' \(names the rows\)"):
        prepare(read(text("code\n" + "\n".join(f"c{i}" for i in range(20))), mixed=True))


def test_estimators_leave_settled_scales_alone():
    class Own(PCA):
        def __init__(self, n_components=2, standardize="auto"):
            super().__init__(n_components)
            self.standardize = standardize

        def get_params(self, deep=True):
            return {"n_components": self.n_components, "standardize": self.standardize}

    X = np.random.RandomState(0).rand(20, 3) * [1, 5, 100]
    assert prepare(numbers(X)).settled(Own()).standardize is False
    assert prepare(Table(X)).settled(Own()).standardize == "auto"
    assert prepare(Table(X), standardize="no").settled(Own()).standardize is False
    assert prepare(numbers(X)).settled(PCA(2)).n_components == 2


def test_later_files_are_read_as_the_model_takes_them(text, tmp_path):
    """Numbers written in another way, or kept as text or as numbers by Parquet."""
    first = read(text("a,c,b\n1234.5,1,1\n2,2,\n", "plain.csv"), mixed=True)
    preparation = Preparation(categories=["c"]).fit(first.X)
    expected = preparation.transform(first.X).tolist()
    assert expected[0] == [1234.5, "1", 1]
    ways = {"german.csv": "a;c;b\n1.234,50;1;1\n2;2;?\n", "grouped.csv": 'a,c,b\n"1,234.50",1,1\n2,2,NA\n'}
    for name, content in ways.items():
        (table,) = batches(text(content, name), mixed=True)
        np.testing.assert_equal(preparation.transform(table.X).tolist(), expected)
    parquet.write_table(pa.table({"a": ["1234,5", "2"], "c": [1, 2], "b": [1.0, None]}), tmp_path / "t.parquet")
    (table,) = batches(tmp_path / "t.parquet", mixed=True)
    np.testing.assert_equal(preparation.transform(table.X).tolist(), expected)
    with pytest.raises(ValueError, match="column 'a': 'lots' in row 2 is not a number, as the model takes"):
        preparation.transform(read(text("a,c,b\n1,1,1\nlots,2,3\n"), mixed=True).X)


def test_categories_of_parquet(tmp_path):
    parquet.write_table(pa.table({"zip": [10115, 80331] * 20, "x": list(range(40))}), tmp_path / "t.parquet")
    prepared = prepare(read(tmp_path / "t.parquet", mixed=True), categories=["zip"])
    assert prepared.table.feature_names == ["x", "zip_10115", "zip_80331"]


def test_a_sample_of_mixed_rows(tmp_path):
    path, _ = customers(tmp_path / "a.csv", 300)
    table = read(path, mixed=True, label="churned", sample=50)
    assert (len(table), table.n_read) == (50, 300)
    assert prepare(table).table.X.shape[0] == 50


@pytest.mark.parametrize("rows", [3, 2_000])
def test_what_spreadsheets_write(tmp_path, monkeypatch, rows):
    monkeypatch.setattr("lapwing.tables.reading.BLOCK", 2**12)
    content = "größe;preis €;stadt\n" + "1,5;2;Köln\n2,5;3;Łódź\n".replace("Łódź", "Møns") * rows
    (tmp_path / "x.csv").write_bytes(content.encode("cp1252"))
    with pytest.warns(UserWarning, match="is not UTF-8, and is read as cp1252"):
        table = read(tmp_path / "x.csv", mixed=True)
    assert table.feature_names == ["größe", "preis €", "stadt"]
    assert len(table) == 2 * rows
    assert set(table.X["stadt"].to_pylist()) == {"Köln", "Møns"}
    assert Preparation().fit(table.X).transform(table.X)[-2:, 0].tolist() == [1.5, 2.5]
