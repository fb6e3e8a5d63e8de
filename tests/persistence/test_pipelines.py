"""Pipelines with scikit-learn's transformers: files without pickle, and what is refused."""

import numpy as np
import pytest
from messy import customers
from model_pipelines import (
    DATES,
    FINAL,
    KEPT_ONLY,
    MIXED,
    NEW,
    NEW_MIXED,
    NUMERIC,
    WORDS,
    X,
    Y,
    by_kind,
    data_for,
    named,
    outputs,
)
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import KDTree, KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.tree._tree import Tree

from lapwing import LPP
from lapwing.graphs import SameClass
from lapwing.persistence import load, save
from lapwing.selection import SemiSupervised
from lapwing.tables import Preparation, prepare, read

pytest.importorskip("skops")


@pytest.mark.parametrize("y", [Y, WORDS[Y].astype(str)], ids=["numbers", "words"])
@pytest.mark.parametrize("model", NUMERIC + FINAL + KEPT_ONLY, ids=named)
def test_what_is_read_is_what_was_written(model, y, tmp_path):
    train, new = data_for(model)
    y = Y if "Regressor" in repr(model) else y
    model = clone(model).fit(train, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert repr(back) == repr(model)
    for name, expected in outputs(model, new).items():
        np.testing.assert_array_equal(getattr(back, name)(new), expected, strict=True)
    again = clone(back).fit(train, y)  # its parameters are all there
    for name, expected in outputs(model, new).items():
        np.testing.assert_array_equal(getattr(again, name)(new), expected)


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(by_kind(), LPP(3)),
        make_pipeline(by_kind(remainder="drop"), LPP(3), KNeighborsClassifier(algorithm="brute")),
        by_kind(verbose_feature_names_out=False),
    ],
    ids=named,
)
def test_tables_with_text(model, tmp_path):
    model = clone(model).fit(MIXED, WORDS[Y].astype(str))
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    for name, expected in outputs(model, NEW_MIXED).items():
        np.testing.assert_array_equal(getattr(back, name)(NEW_MIXED), expected, strict=True)
    if hasattr(model, "transform"):
        np.testing.assert_array_equal(back.get_feature_names_out(), model.get_feature_names_out())


def test_columns_that_a_function_chose(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "w": WORDS[Y], "b": X[:, 1], "day": DATES[:, 0]})
    chosen = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
            ("w", OneHotEncoder(handle_unknown="ignore"), ["w"]),
            ("d", make_pipeline(Preparation(), SimpleImputer()), ["day"]),
        ]
    )
    model = make_pipeline(chosen, LPP(2, graph=SameClass())).fit(frame, Y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    np.testing.assert_array_equal(back.transform(frame), model.transform(frame))
    np.testing.assert_array_equal(back.transform(frame[["day", "b", "w", "a"]]), model.transform(frame))  # by name
    assert back.feature_names_in_.tolist() == ["a", "w", "b", "day"]
    np.testing.assert_array_equal(clone(back).fit(frame, Y).transform(frame), model.transform(frame))


def test_a_prepared_table(tmp_path):
    """As the command line makes it: text, dates, gaps; also given as a data frame of pandas's own reading."""
    path, _ = customers(tmp_path / "a.csv", 300)
    table = read(path, mixed=True, label="churned")
    prepared = prepare(table)
    model = prepared.model(LPP(3, graph=SameClass()).fit(prepared.table.X, prepared.table.y))
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    expected = model[-1].transform(prepared.table.X)
    np.testing.assert_array_equal(back.transform(table.X), expected)
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(back.transform(pandas.read_csv(path)), expected)


# What is refused


def test_trees_are_read_where_they_are_trusted(tmp_path):
    """A forged tree would send compiled code out of bounds."""
    forest = make_pipeline(LPP(2), RandomForestClassifier(3, random_state=0)).fit(X, Y)
    nearest = make_pipeline(LPP(2), KNeighborsClassifier(3)).fit(X, Y)
    metric = type(DistanceMetric.get_metric("euclidean"))
    for model, trusted in ((forest, [Tree]), (nearest, [KDTree, metric])):
        save(model, tmp_path / "model")
        with pytest.raises(
            ValueError, match=r"is sklearn.*Tree, which is not read from any file; .*trusted=\["
        ) as found:
            load(tmp_path / "model")
        assert "--import" not in str(found.value)  # which trusts estimators and graphs alone
        np.testing.assert_array_equal(load(tmp_path / "model", trusted).predict(NEW), model.predict(NEW))


def test_functions_by_name_alone(tmp_path):
    save(make_pipeline(FunctionTransformer(np.abs), LPP()).fit(X), tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model")[0].transform(-X), np.abs(X))
    with pytest.raises(ValueError, match=r"Pipeline\.steps\[0\]\[1\]\.func is <function .*define it at the top"):
        save(make_pipeline(FunctionTransformer(lambda X: X), LPP()).fit(X), tmp_path / "model")


def test_what_was_fitted_comes_back_unfitted_steps_too(tmp_path):
    model = SemiSupervised(make_pipeline(StandardScaler(), LPP(2))).fit(X, np.where(Y == 2, -1, Y))
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert repr(back) == repr(model)
    np.testing.assert_array_equal(back.predict(NEW), model.predict(NEW))


def test_pipelines_are_pipelines(tmp_path):
    save(make_pipeline(StandardScaler(), LPP()).fit(X), tmp_path / "model")
    assert isinstance(load(tmp_path / "model"), Pipeline)
