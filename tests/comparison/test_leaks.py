"""Leaks that are planted are told, each kind of them, and clean tables give no warning."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_hastie_10_2,
    make_moons,
)

from lapwing.comparison import LeakWarning, compare, find_leaks

pandas = pytest.importorskip("pandas")


def clients(n=600, seed=0, share=0.3):
    """A table with a weak signal, text and gaps, and its labels."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    table = {
        "tenure": rng.exponential(20, n).round(1) - 4 * y,
        "charge": rng.normal(60, 20, n) + 8 * y,
        "plan": rng.choice(["basic", "plus", "pro"], n),
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
    }
    return pandas.DataFrame(table), y, rng


def in_words(X, y, rng):
    return X.assign(leak=np.array(["stayed", "left"])[y])


def as_a_code(X, y, rng):
    return X.assign(leak=17 - 4 * y)


def noisy_copy(X, y, rng):
    return X.assign(leak=np.where(rng.random(len(y)) < 0.08, 1 - y, y))


def filled_after_the_outcome(X, y, rng):
    return X.assign(leak=np.where((y == 1) & (rng.random(len(y)) < 0.9), rng.normal(300, 50, len(y)), np.nan))


def an_id_in_the_order_of_the_label(X, y, rng):
    return X.assign(leak=100_000 + np.argsort(np.argsort(y, kind="stable"), kind="stable"))


def a_date_that_splits_the_classes(X, y, rng):
    days = np.where(y == 1, rng.integers(0, 300, len(y)), rng.integers(301, 900, len(y)))
    return X.assign(leak=np.datetime64("2022-01-01") + days)


def a_constant_per_class(X, y, rng):
    return X.assign(leak=np.array([0.21, 0.07])[y])


PLANTED = [
    in_words,
    as_a_code,
    noisy_copy,
    filled_after_the_outcome,
    an_id_in_the_order_of_the_label,
    a_date_that_splits_the_classes,
    a_constant_per_class,
]


SHARES = [(0.074, 0), (0.33, 1), (0.5, 3)]


@pytest.mark.parametrize(("share", "seed"), SHARES)
def test_nothing_is_named_where_nothing_was_planted(share, seed):
    X, y, _ = clients(1000, seed, share)
    assert find_leaks(X, y) == []


@pytest.mark.parametrize(("share", "seed"), SHARES)
@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_column_is_named(plant, share, seed):
    X, y, rng = clients(1000, seed, share)
    (leak,) = find_leaks(plant(X, y, rng), y)
    assert leak.column == "leak"
    assert leak.score > 0.85
    assert leak.message.startswith("column 'leak' alone gives ")
    assert leak.message.endswith("If not: --drop leak")


def test_a_noisy_copy_beside_columns_that_tell_much():
    """As in the Titanic: one column comes far by itself, and together they come farther."""
    X, y, rng = clients(1000, share=0.4)
    sex = np.where(rng.random(1000) < 0.22, 1 - y, y)
    X = X.assign(sex=np.array(["male", "female"])[sex], fare=rng.exponential(20, 1000) * (1 + 2 * y))
    assert find_leaks(X, y) == []
    (leak,) = find_leaks(noisy_copy(X, y, rng), y)
    assert leak.column == "leak"


def test_two_columns_filled_after_the_outcome():
    """As in the applications for credit cards whose spending is 0 for all who were refused: neither is ahead of the other."""
    X, y, rng = clients(1300, share=0.78)
    spent = np.where((y == 1) & (rng.random(1300) < 0.95), rng.exponential(200, 1300), 0)
    share = np.where(rng.random(1300) < 0.01, 0, spent / 3000)
    assert {leak.column for leak in find_leaks(X.assign(spent=spent, share=share), y)} == {"spent", "share"}


def test_copies_of_rows_are_counted():
    X, y, rng = clients()
    again = rng.integers(0, 600, 60)
    (leak,) = find_leaks(pandas.concat([X, X.iloc[again]]), np.concatenate([y, y[again]]))
    assert leak.column is None
    assert 0.1 < leak.score < 0.2
    assert f"{round(660 * leak.score)} of 660 rows have an exact copy in another fold" in leak.message
    assert "--group" in leak.message


def test_rows_of_few_values_are_no_copies():
    X, y, _ = clients()
    assert find_leaks(X[["plan"]].assign(age=X["age"] // 20), y) == []


def test_rows_that_are_one_text_each():
    y = np.arange(80) % 2
    texts = [f"row {i} {'odd' * (i % 2)}" for i in y.cumsum()]
    for X in (texts, pandas.Series(texts)):
        assert find_leaks(X, y) == []
    [leak] = find_leaks(np.array(["even", "odd"])[y], y)
    assert leak.message.startswith("column '0' alone")


def test_several_classes_and_several_leaks():
    X, y = load_iris(return_X_y=True)
    leaks = find_leaks(np.column_stack([X, y, np.array([4.0, 1.0, 9.0])[y]]), y)
    assert sorted(leak.column for leak in leaks) == ["4", "5"]


def test_a_comparison_warns():
    X, y, rng = clients(300)
    X = as_a_code(X[["tenure", "charge"]], y, rng)
    with pytest.warns(LeakWarning, match="column 'leak' alone gives 100 %"):
        found = compare(X, y, methods=["PCA"], dimensions=[1], cv=2)
    assert [leak.column for leak in found.leaks] == ["leak"]
    with warnings.catch_warnings(action="error"):
        assert compare(X[["tenure", "charge"]], y, methods=["PCA"], dimensions=[1], cv=2).leaks == []


def clean_tables():
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        yield load.__name__, load(return_X_y=True)
    X, y = load_diabetes(return_X_y=True)
    yield "diabetes above the median", (X, (y > np.median(y)).astype(int))
    yield "moons", make_moons(400, noise=0.2, random_state=0)
    yield "hastie", make_hastie_10_2(1000, random_state=0)
    for seed in range(14):
        rng = np.random.default_rng(seed)
        weak = {"class_sep": rng.uniform(0.1, 0.6), "weights": [rng.uniform(0.5, 0.93)], "flip_y": 0.1}
        counts = {"n_informative": int(rng.integers(1, 6)), "n_redundant": 2, "n_clusters_per_class": 1}
        yield f"weak signal {seed}", make_classification(1000, 12, **weak, **counts, random_state=seed)


FEW = Path(os.environ.get("LAPWING_DATA", "nowhere")) / "few"


@pytest.mark.parametrize(
    "name", ["Japanese_vowels", "PBMC_cells", "authorship", "ecoli", "letter", "pendigits", "satimage", "vowel"]
)
def test_a_clean_set_that_chose_no_rule_gives_no_warning(name):
    if not (FEW / f"{name}.npz").exists():
        pytest.skip("LAPWING_DATA has no folder few")
    stored = np.load(FEW / f"{name}.npz")
    assert find_leaks(stored["X"].astype(float), stored["y"]) == []


@pytest.mark.parametrize(("name", "data"), list(clean_tables()), ids=lambda part: part if isinstance(part, str) else "")
def test_a_clean_table_gives_no_warning(name, data):
    assert find_leaks(data[0], np.where(data[1] < 0, 0, data[1])) == []


@pytest.mark.parametrize("heavy", [False, True])
def test_numbers_that_a_column_tells_in_other_units(heavy):
    rng = np.random.default_rng(0)
    area, rooms = rng.normal(120, 30, 400), rng.integers(1, 7, 400)
    price = 2000 * area + 9000 * rooms + rng.normal(0, 40_000, 400)
    price = np.exp(price / 50_000) if heavy else price
    X = pandas.DataFrame({"area": area, "rooms": rooms})
    assert find_leaks(X, price) == []
    rounded = np.array([float(f"{value:.3g}") for value in price])
    for copy in (0.93 * price, rounded, 1 / price, price * rng.normal(1, 0.001, 400)):
        (leak,) = find_leaks(X.assign(copy=copy), price)
        assert leak.column == "copy"
        assert leak.message.startswith("column 'copy' alone gives 100 % (R² of the order)")
    with pytest.warns(LeakWarning, match="column 'copy' alone gives 100 %"):
        found = compare(X.assign(copy=1.1 * price), price, methods=["PCA"], dimensions=[2], cv=2)
    assert [leak.column for leak in found.leaks] == ["copy"]
    assert find_leaks(*load_diabetes(return_X_y=True)) == []
