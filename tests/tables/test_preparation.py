"""The same table gives the same numbers, to the last bit, whoever reads it: the command line, pandas, polars, or by types."""

import csv
import time
import warnings
from datetime import date, datetime, timedelta
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from lapwing import load, save
from lapwing.tables import Preparation, UnseenCategories, prepare, read

pa = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from lapwing.cli._app import app  # noqa: E402


def rows(*columns):
    """Lines of a file whose columns repeat their cells, 24 rows long."""
    return [[column[i % len(column)] for column in columns] for i in range(24)]


NUMBERS = ["1.5", "2", "-0.25", "3e2", "17"]
#: Files that people have: their names, columns and delimiters. The cells of a column are repeated.
FILES = {
    "blanks around text": ({"plan": ["basic ", " basic", "pro", "basic"], "x": NUMBERS}, ","),
    "blanks around numbers": ({"x": [" 1.5", "2 ", " 3 "], "plan": ["a", "b"]}, ","),
    "thousands": ({"income": ["3,160", "890", "12,400"], "x": NUMBERS}, ","),
    "thousands and cents": ({"income": ["3,160.25", "890.5", "1,012,400.00"], "x": NUMBERS}, ","),
    "thousands by blanks": ({"income": ["3 160", "890", "12 400"], "x": NUMBERS}, ","),
    "thousands by apostrophes": ({"income": ["3'160.5", "890", "12'400"], "x": NUMBERS}, ","),
    "decimal commas": ({"x": ["1,5", "2", "-0,25"], "y": ["3,25", "4,125", "7"]}, ";"),
    "German thousands": ({"x": ["1.234,50", "12.000", "7"], "y": ["3,25", "4,5"]}, ";"),
    "ambiguous commas beside decimal commas": ({"x": ["1,234", "2,500"], "y": ["3,25", "4,5"]}, ";"),
    "ambiguous commas alone": ({"x": ["1,234", "2,500"], "y": ["3", "4"]}, ","),
    "per cent": ({"share": ["71.7%", "3 %", "0%"], "x": NUMBERS}, ","),
    "euros before": ({"price": ["€78.37", "€1,200.00", "-€5"], "x": NUMBERS}, ","),
    "euros after": ({"price": ["78,37 €", "1.200,00 €", "5 €"], "x": ["1", "2", "4"]}, ";"),
    "dollars": ({"price": ["$5", "$1,250", "$7.25"], "x": NUMBERS}, "\t"),
    "currency codes": ({"price": ["CHF 5.50", "CHF 1'250.00", ""], "x": NUMBERS}, ","),
    "yes and no": ({"active": ["yes", "no", "Yes", ""], "x": NUMBERS}, ","),
    "y and n": ({"active": ["Y", "N", "N"], "x": NUMBERS}, ","),
    "true and false": ({"active": ["true", "false", "true"], "x": NUMBERS}, ","),
    "True with gaps": ({"active": ["True", "", "False"], "x": NUMBERS}, ","),
    "true alone": ({"active": ["TRUE"], "x": NUMBERS, "plan": ["a", "b"]}, ","),
    "days": ({"day": ["2024-03-01", "2023-12-31", "1969-07-20"], "x": NUMBERS}, ","),
    "moments": ({"at": ["2024-03-01T12:30", "2023-12-31 07:01:02", ""], "x": NUMBERS}, ","),
    "time zones": ({"at": ["2024-03-01T12:30:00+02:00", "2023-12-31T00:00:00Z"], "x": NUMBERS}, ","),
    "German days": ({"day": ["01.03.2024", "31.12.2023"], "x": ["1,5", "2"]}, ";"),
    "American days": ({"day": ["03/01/2024", "12/31/2023", "NA"], "x": NUMBERS}, ","),
    "months in words": ({"day": ["1 Mar 2024", "31 Dec 2023"], "x": NUMBERS}, ","),
    "marks of gaps": (
        {"x": ["1", "NA", "?", "n/a", "null", "-", "", "2.5"], "plan": ["a", "?", "b", "NULL", "--"]},
        ",",
    ),
    "whole numbers with gaps": ({"visits": ["1", "", "3", "12"], "plan": ["a", "b", ""]}, ","),
    "numbers with words": ({"house": ["12", "12a", "14b", "9c"], "x": NUMBERS}, ","),
    "an index and identifiers": ({"": None, "customer_id": None, "x": NUMBERS, "plan": ["a", "b"]}, ","),
    "quotes and lines": ({"note": ['he said "no"', "a, b", "two\nlines"], "x": NUMBERS}, ","),
    "accents": ({"Straße": ["Köln", "Łódź", "naïve"], "größe": ["1", "2.5"]}, ","),
    "an empty column": ({"empty": [""], "x": NUMBERS, "plan": ["a", "b"]}, ","),
    "large and small": ({"x": ["1e-12", "123456789012", "0.000123"], "y": ["1E5", "-7", "+3"]}, "|"),
    "long decimals": ({"x": ["0.123456789012345", "12345.6789012345", "9.87654321"], "y": ["1"]}, ","),
}
WITH_WORDS = {"numbers with words"}


def written(path, name):
    columns, delimiter = FILES[name]
    cells = [[str(i) for i in range(24)] if column is None else column for column in columns.values()]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([list(columns), *rows(*cells)])
    return delimiter


def typed(preparation, table):
    """The table as a careful person would type it: numbers, dates, text with gaps."""
    frame = preparation.to_frame(table)
    for name, column in preparation.columns_.items():
        if column["kind"] == "date":
            moments = np.round(frame[name] * 86_400e6)
            frame[name] = pandas.to_datetime(moments.astype("Int64"), unit="us")
        if column["kind"] == "category":
            frame[name] = frame[name].replace("", None)
        if column.get("written") == "yes/no":
            frame[name] = frame[name].astype("boolean")
    return frame


@pytest.mark.parametrize("name", FILES)
def test_whoever_reads_the_file(tmp_path, name):
    path = tmp_path / "data.csv"
    delimiter = written(path, name)
    kept = {"dtype": str, "keep_default_na": False}
    frames = {
        "ours": read(path, mixed=True).X,
        "pandas": pandas.read_csv(path, sep=delimiter),
        "pandas as text": pandas.read_csv(path, sep=delimiter, **kept),
        "pandas of pyarrow": pandas.read_csv(path, sep=delimiter, dtype_backend="pyarrow"),
        "polars": polars.read_csv(path, separator=delimiter, infer_schema_length=None),
        "polars as text": polars.read_csv(path, separator=delimiter, infer_schema_length=0),
        "as a frame": read(path, mixed=True).X.to_pandas(),
    }
    with warnings.catch_warnings():
        if name in WITH_WORDS:
            warnings.simplefilter("ignore")
        fitted = {who: Preparation().fit(frame) for who, frame in frames.items()}
        frames["typed"] = typed(fitted["ours"], frames["ours"])
        fitted["typed"] = Preparation().fit(frames["typed"])
    expected = fitted["ours"].to_frame(frames["ours"])
    for (who, preparation), (whose, frame) in product(fitted.items(), frames.items()):
        found = preparation.to_frame(frame)
        pandas.testing.assert_frame_equal(found, expected, check_exact=True, obj=f"{whose}, fitted to {who}")


def test_what_a_reader_loses(tmp_path):
    """007 is a name, of which pandas makes the number 7 unless it is told; we say so, by the category that is new."""
    path = tmp_path / "data.csv"
    path.write_text("code,x\n" + "007,1\n008,2\n" * 5)
    table = read(path, mixed=True)
    preparation = Preparation(categories=["code"]).fit(table.X)
    assert preparation.columns_["code"]["known"] == ["007", "008"]
    with pytest.warns(UnseenCategories, match=r"'code' in 10 rows: '7', '8'"):
        preparation.transform(pandas.read_csv(path))
    preparation.transform(pandas.read_csv(path, dtype={"code": str}))


# The model that the command line writes


def messy_customers(path, n=515):
    """Customers as a shop has them: blanks behind words, separated thousands, signs, yes and no, numbers that are names."""
    rng = np.random.RandomState(3)
    churned = rng.rand(n) < 0.3
    lines = [["id", "plan", "income", "zip", "discount", "paid", "active", "since", "churned"]]
    for i, left in enumerate(churned):
        plan = rng.choice(["basic", "plus", "pro"], p=[0.6, 0.3, 0.1] if left else [0.3, 0.3, 0.4])
        lines.append(
            [
                f"C{i:05d}",
                plan + " " * rng.randint(0, 2),
                f"{rng.lognormal(8 - left, 0.4):,.0f}",
                rng.choice([10115, 80331, 50667]),
                f"{rng.randint(0, 40) / 2}%",
                f"€{rng.lognormal(4, 1):,.2f}",
                rng.choice(["yes", "no"]),
                f"{date(2020 + rng.randint(4), rng.randint(1, 13), rng.randint(1, 28)):%d.%m.%Y}",
                "yes" if left else "no",
            ]
        )
        for j in range(1, 8):
            if rng.rand() < 0.03:
                lines[-1][j] = rng.choice(["", "NA", "?", "n/a"])
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(lines)


def test_the_command_line_and_python_give_the_same_coordinates(tmp_path, monkeypatch):
    """The model of ``lapwing fit`` is given the same file by the command, by pandas and by polars."""
    messy_customers(tmp_path / "churn.csv")
    fit = ["fit", "churn.csv", "--label", "churned", "--categories", "zip", "-d", "1"]
    transform = ["transform", "model.lapwing", "churn.csv", "-o", "z.npy"]
    monkeypatch.chdir(tmp_path)
    for command in (fit, transform):
        assert CliRunner().invoke(app, command).exit_code == 0
    expected = np.load(tmp_path / "z.npy")
    model = load(tmp_path / "model.lapwing")  # without trusted=
    assert len(np.unique(expected)) > 500
    np.testing.assert_array_equal(model.transform(pandas.read_csv(tmp_path / "churn.csv")), expected)
    frame = polars.read_csv(tmp_path / "churn.csv", infer_schema_length=None)
    np.testing.assert_array_equal(model.transform(frame), expected)


def test_probabilities(tmp_path):
    messy_customers(tmp_path / "churn.csv")
    table = read(tmp_path / "churn.csv", label="churned", mixed=True)
    prepared = prepare(table, categories=["zip"])
    save(prepared.model(LogisticRegression().fit(prepared.table.X, prepared.table.y)), tmp_path / "model")
    model, frame = load(tmp_path / "model"), pandas.read_csv(tmp_path / "churn.csv")
    expected = model[-1].predict_proba(prepared.table.X)
    np.testing.assert_array_equal(model.predict_proba(table.X), expected)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    np.testing.assert_allclose(model.predict_proba(frame[::7]), expected[::7], rtol=1e-13)
    for row in range(3):  # a service, row by row
        np.testing.assert_array_equal(model[:-1].transform(frame[row : row + 1]), prepared.table.X[row : row + 1])


# What is told


def test_new_categories_are_counted_once_per_call():
    known = {"plan": ["a", "b"] * 10, "city": ["x", "y"] * 10, "n": range(20)}
    preparation = Preparation().fit(known)
    new = {"plan": ["a", "c", "c", "d", None], "city": ["z"] * 5, "n": range(5)}
    with pytest.warns(UnseenCategories) as caught:
        preparation.transform(new)
    (warning,) = caught
    assert warning.message.counts == {"plan": {"c": 2, "d": 1}, "city": {"z": 5}}
    assert "'plan' in 3 rows: 'c', 'd'; 'city' in 5 rows: 'z'" in str(warning.message)


@pytest.mark.parametrize("mark", [-999, 9999, -99])
@pytest.mark.parametrize("as_text", [False, True])
def test_numbers_that_look_like_gaps_are_told(mark, as_text):
    ages = np.random.RandomState(0).randint(18, 80, 40).astype(float)
    ages[[3, 5, 8]] = mark
    column = ages.astype(int).astype(str) if as_text else ages
    with pytest.warns(UserWarning, match=rf"column 'age': {mark} \(3 of 40 values\), far from all others") as caught:
        kept = Preparation().fit({"age": column, "n": range(40)})
    assert f"missing=[{mark}]" in str(caught[0].message)
    assert kept.transform({"age": column, "n": range(40)})[3, 0] == mark
    filled = Preparation(missing=[mark]).fit({"age": column, "n": range(40)})
    X = filled.transform({"age": column, "n": range(40)})
    assert np.flatnonzero(np.isnan(X[:, 0])).tolist() == [3, 5, 8]
    assert filled.n_gaps_ == 3


def test_numbers_far_away_that_are_no_marks_are_left_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Preparation().fit({"a": [1, 2, 3, 9999], "b": [998, 999, 999, 1000], "c": [-99, -50, -99, 0]})


def test_outliers_are_told_with_their_count():
    rng = np.random.RandomState(0)
    age, limit = rng.randint(18, 85, 300).astype(float), rng.gamma(2, 1500, 300)
    for column, places, values in (
        (age, [7], "999"),
        (limit, [9], "1000000000"),
        (-limit, [4, 5], "-2000000, -3000000"),
    ):
        column[places] = [float(value) for value in values.split(", ")]
        with pytest.warns(
            UserWarning, match=rf"'a': {values} \({len(places)} of 300 values\), far from all others"
        ) as caught:
            Preparation().fit({"a": column, "n": range(300)})
        assert f"missing=[{values}] (--missing {values.replace(', ', ' --missing ')})" in str(caught[0].message)


@pytest.mark.parametrize("heavy", ["lognormal", "pareto", "few values", "one yes"])
def test_long_tails_are_no_outliers(heavy):
    rng = np.random.RandomState(0)
    columns = {
        "lognormal": rng.lognormal(0, 2, 2000),
        "pareto": rng.pareto(1.5, 2000),
        "few values": np.r_[rng.randint(0, 4, 1999), 80],
        "one yes": np.r_[np.zeros(1999), 1],
    }
    with warnings.catch_warnings(action="error"):
        Preparation().fit({"a": columns[heavy]})


def test_categories_in_upper_and_lower_case_are_one():
    plans = ["Basic", "basic ", "BASIC", "Basic", "Plus", "plus", "plus", None] * 5
    table = {"plan": plans, "n": range(40)}
    with pytest.warns(UserWarning, match="'BASIC', 'Basic', 'basic' are taken for one category; match_case=True of"):
        preparation = Preparation().fit(table)
    assert preparation.columns_["plan"]["known"] == ["Basic", "plus"]
    with pytest.warns(UnseenCategories, match="'plan' in 1 row: 'pro'"):
        X = preparation.transform({"plan": ["bASIC", "PLUS ", "pro", ""], "n": [1, 2, 3, 4]})
    assert X[:, 0].tolist() == ["Basic", "plus", "pro", ""]
    with warnings.catch_warnings(action="error"):
        apart = Preparation(match_case=True).fit(table)
    assert apart.columns_["plan"]["known"] == ["BASIC", "Basic", "Plus", "basic", "plus"]


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_numbers_with_gaps_that_are_names(kind):
    """Readers make floats of whole numbers with gaps."""
    codes = {"array": np.array, "pandas": pandas.Series, "polars": polars.Series}[kind](
        [10115.0, np.nan, 80331.0, np.nan]
    )
    preparation = Preparation(categories=["zip"]).fit({"zip": codes, "n": range(4)})
    assert preparation.transform({"zip": codes, "n": range(4)})[:, 0].tolist() == ["10115", "", "80331", ""]
    assert preparation.n_gaps_ == 2


def test_many_different_names_take_no_time():
    """A name is tried as a date once, and not in each of 71 formats after the first name was none."""
    start = time.perf_counter()
    preparation = Preparation().fit({"id": [f"C{i}" for i in range(30_000)], "n": np.arange(30_000) % 7})
    assert time.perf_counter() - start < 10  # 0.5 s; it was 36 s
    assert preparation.left_out_ == {"id": "names the rows"}


def test_a_column_of_many_words_among_numbers_is_text():
    """Tickets of the Titanic are such a column. A few words in a column of numbers are mistakes."""
    tickets = [str(i) if i % 4 else f"PC {i}" for i in range(200)]
    preparation = Preparation().fit({"ticket": tickets, "n": range(200)})
    assert preparation.left_out_ == {"ticket": "names the rows"}
    with pytest.raises(ValueError, match="'ticket': 190 of 200 values are numbers, but not"):
        Preparation().fit({"ticket": [str(i) if i % 20 else f"PC {i}" for i in range(200)], "n": range(200)})


def test_text_with_numbers_in_it_is_told():
    with pytest.warns(UserWarning, match=r"column 'house': 2 of 8 values are numbers; it is read as text"):
        Preparation().fit({"house": ["12", "12a", "12b", "12a"] * 2, "n": range(8)})


def test_a_missing_header_is_told(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("1,2\n3,4\n")
    assert any("the first line has numbers and is taken for data" in note for note in read(path).notes)
    assert read(path, header=False).notes == ()


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1", "2", "3", "four"], "3 of 4 values are numbers, but not 'four' (the first in row 4)"),
        (["2024-01-31", "31.01.2024"], "dates are written in more than one way"),
        (["€5", "$6", "€7"], "numbers are written in more than one way, or in more than one unit"),
        (["5%", "0.05", "7%"], "numbers are written in more than one way, or in more than one unit"),
        (["1.5", "2,25", "3"], "numbers are written in more than one way"),
        (["1", "inf"], "a value is infinite (the first in row 2)"),
        ([[1], [2]], "holds lists or records"),
    ],
)
def test_what_cannot_be_read(cells, said):
    with pytest.raises(ValueError, match="neither numbers, dates nor text") as caught:
        Preparation().fit({"n": range(len(cells)), "odd": np.array([*cells, None], dtype=object)[:-1]})
    assert f"'odd': {said}" in str(caught.value)
    assert "--drop odd" in str(caught.value)


@pytest.mark.parametrize(
    ("first", "later", "said"),
    [
        (["1", "2"], ["1", "lots"], "'lots' in row 2 is not a number"),
        (["€1", "€2"], ["$1", "$2"], r"is in \$, and was in €"),
        (["2024-01-01", "2024-01-02"], [1.0, 2.0], "holds numbers, and dates when"),
        ([1.0, 2.0], [datetime(2024, 1, 1)] * 2, "holds dates, and numbers when"),
        (["03.01.2024", "13.01.2024"], ["2024-01-03", "x"], r"is no date of the format %d\.%m\.%Y that was fitted"),
    ],
)
def test_later_rows_of_another_kind(first, later, said):
    preparation = Preparation().fit({"a": first, "n": [1, 2]})
    with pytest.raises(ValueError, match=said):
        preparation.transform({"a": later, "n": [1, 2]})


def test_another_decimal_sign_is_read():
    preparation = Preparation().fit({"a": ["1.5", "2.25"]})
    assert preparation.transform({"a": ["1,5", "1.250,25"]}).ravel().tolist() == [1.5, 1250.25]
    comma = Preparation().fit({"a": ["1,5", "2,25"]})
    assert comma.transform({"a": ["1.234", "2"]}).ravel().tolist() == [1234, 2]  # as the column was written at first


# Frames and arrays


def test_columns_by_name():
    frame = pandas.DataFrame({"id": [7, 8, 9], "b": ["x", "y", "x"], "a": [1, 2, 3]})
    preparation = Preparation().fit(frame)
    assert preparation.feature_names_in_.tolist() == ["b", "a"] == preparation.get_feature_names_out().tolist()
    assert preparation.left_out_ == {"id": "names the rows"}
    expected = [["x", 1.0], ["y", 2.0], ["x", 3.0]]
    assert preparation.transform(frame[["a", "b"]]).tolist() == expected
    with pytest.raises(ValueError, match="no column 'b', on which the model was fitted; there are column 'a'"):
        preparation.transform(frame[["a"]])
    with pytest.raises(ValueError, match="X of ndarray has no columns with names; pass a data frame"):
        preparation.transform(frame.to_numpy())
    assert clone(preparation).get_params() == {"categories": (), "text": (), "match_case": False, "missing": ()}


def test_every_type_of_a_column():
    days = [
        datetime(1970, 1, 2),
        date(1970, 1, 3),
        np.datetime64("1970-01-04T12"),
        None,
        pandas.Timestamp("1970-01-05"),
    ]
    frame = pandas.DataFrame(
        {
            "day": pandas.Series(days, dtype=object),
            "whole": pandas.array([1, None, 3, 4, 5], dtype="Int64"),
            "flag": pandas.array([True, None, False, True, True], dtype="boolean"),
            "word": pandas.Categorical(["a", None, "b", "a", "b"]),
        }
    )
    typed = Preparation().fit(frame).to_frame(frame)
    np.testing.assert_array_equal(typed["day"], [1, 2, 3.5, np.nan, 4])
    np.testing.assert_array_equal(typed["whole"], [1, np.nan, 3, 4, 5])
    np.testing.assert_array_equal(typed["flag"], [1, np.nan, 0, 1, 1])
    assert typed["word"].tolist() == ["a", "", "b", "a", "b"]
    words = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode(), pa.array(["c", None]).dictionary_encode()])
    table = pa.table({"word": words, "n": [1, 2, 3, 4]})
    assert Preparation(categories=["word"]).fit_transform(table)[:, 0].tolist() == ["a", "b", "c", ""]


def test_inputs_in_words():
    rows = {
        "at": ["2024-01-01"] * 4,
        "pay": ["€5", "€6", "€7", ""],
        "ok": ["yes", "no"] * 2,
        "w": ["a", "b"] * 2,
        "n": range(4),
    }
    assert Preparation().fit(rows).inputs() == {
        "at": "days since 1970-01-01, NaN where missing",
        "pay": "number in €, NaN where missing",
        "ok": "1 for yes, 0 for no, NaN where missing",
        "w": "text, '' where missing",
        "n": "number, NaN where missing",
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "dict"])
def test_durations_are_days(kind):
    hours = [timedelta(hours=h) for h in (12, 36)] + [None, timedelta(days=3)]
    make = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pa.table, "dict": dict}[kind]
    table = make({"stay": hours, "n": [0, 1, 2, 3]})
    preparation = Preparation().fit(table)
    assert preparation.columns_["stay"]["kind"] == "number"
    np.testing.assert_array_equal(preparation.transform(table)[:, 0], [0.5, 1.5, np.nan, 3])
