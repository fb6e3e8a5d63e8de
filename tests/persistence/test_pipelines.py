"""Pipelines with scikit-learn's transformers: files without pickle, ONNX, and what is refused."""

import json

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
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import KDTree, KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PowerTransformer,
    StandardScaler,
)
from sklearn.tree._tree import Tree

from lapwing import LPP, MMC, KernelLPP
from lapwing.graphs import SameClass
from lapwing.persistence import load, save, to_onnx
from lapwing.selection import SemiSupervised
from lapwing.tables import DatesAsNumbers, prepare, read

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
            ("d", make_pipeline(DatesAsNumbers(), SimpleImputer()), ["day"]),
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
    used = [table.feature_names.index(name) for name in model.feature_names_in_]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        expected = model.transform(np.asarray(table.X)[:, used])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(back.transform(np.asarray(table.X)[:, used]), expected)
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path, na_values=["?"])
    np.testing.assert_allclose(back.transform(frame), expected, atol=1e-10)


# What is refused


def test_trees_are_read_where_they_are_trusted(tmp_path):
    """A forged tree would send compiled code out of bounds."""
    forest = make_pipeline(LPP(2), RandomForestClassifier(3, random_state=0)).fit(X, Y)
    nearest = make_pipeline(LPP(2), KNeighborsClassifier(3)).fit(X, Y)
    metric = type(DistanceMetric.get_metric("euclidean"))
    for model, trusted in ((forest, [Tree]), (nearest, [KDTree, metric])):
        save(model, tmp_path / "model")
        with pytest.raises(ValueError, match=r"is sklearn.*Tree, which is not read from any file; .*trusted=\["):
            load(tmp_path / "model")
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


# ONNX


def run(model, inputs):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip([out.name for out in session.get_outputs()], session.run(None, inputs), strict=True))


def check(found, expected):
    """Equal, but for what float32 rounds."""
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("model", NUMERIC, ids=named)
def test_onnx(model, tmp_path):
    onnx = pytest.importorskip("onnx")
    train, new = (rows.astype(np.float32).astype(np.float64) for rows in data_for(model))
    model = clone(model).fit(train, Y)
    to_onnx(model, tmp_path / "model.onnx")
    found = run(onnx.load(tmp_path / "model.onnx"), {"X": new.astype(np.float32)})
    assert list(found) == ["Y"]
    check(found["Y"], model.transform(new))


@pytest.mark.parametrize("y", [Y, WORDS[Y].astype(str)], ids=["numbers", "words"])
@pytest.mark.parametrize("model", [*FINAL[:1], *FINAL[3:4], *FINAL[5:]], ids=named)
def test_onnx_of_classifiers(model, y):
    pytest.importorskip("onnx")
    rows = NEW.astype(np.float32)
    model = clone(model).fit(X, y)
    found = run(to_onnx(model), {"X": rows})
    assert set(found) == {"label", "probabilities"}
    assert found["label"].tolist() == model.predict(rows.astype(np.float64)).tolist()
    check(found["probabilities"], model.predict_proba(rows.astype(np.float64)))


def test_onnx_of_the_others_that_come_last():
    pytest.importorskip("onnx")
    rows = NEW.astype(np.float32)
    for model in FINAL[1:3]:
        model = clone(model).fit(X, Y)
        found = run(to_onnx(model), {"X": rows})
        assert found["label"].tolist() == model.predict(rows.astype(np.float64)).tolist()
        check(found["Y"], model.transform(rows.astype(np.float64)))
    model = clone(FINAL[4]).fit(X, Y)
    check(run(to_onnx(model), {"X": rows})["Y"].ravel(), model.predict(rows.astype(np.float64)))
    two = make_pipeline(MMC(1), LogisticRegression()).fit(X[Y < 2], Y[Y < 2])
    check(run(to_onnx(two), {"X": rows})["probabilities"], two.predict_proba(rows.astype(np.float64)))


def test_onnx_of_a_table_with_text():
    pytest.importorskip("onnx")
    model = make_pipeline(by_kind(), LPP(3), KNeighborsClassifier(3)).fit(MIXED, WORDS[Y].astype(str))
    numbers = NEW_MIXED[:, :6].astype(np.float32)
    words = np.where([[cell != cell for cell in row] for row in NEW_MIXED[:, 6:]], "", NEW_MIXED[:, 6:]).astype(str)
    graph = to_onnx(model)
    found = run(graph, {"X": numbers, "S": words.astype(object)})
    assert found["label"].tolist() == model.predict(NEW_MIXED).tolist()
    assert {p.key: json.loads(p.value) for p in graph.metadata_props} == {"X": list("012345"), "S": ["6", "7"]}


def test_onnx_of_a_prepared_table(tmp_path):
    pytest.importorskip("onnx")
    table = read(customers(tmp_path / "a.csv", 300)[0], mixed=True, label="churned")
    prepared = prepare(table)
    model = prepared.model(LPP(3, graph=SameClass()).fit(prepared.table.X, prepared.table.y))
    graph = to_onnx(model)
    columns = {p.key: json.loads(p.value) for p in graph.metadata_props}
    assert columns["S"] == ["plan", "region", "device"]
    values = dict(zip(table.feature_names, table.X.columns, strict=True))
    days = {
        name: DatesAsNumbers().fit_transform(values[name].reshape(-1, 1)).ravel() for name in ("signup", "last_seen")
    }
    numbers = np.column_stack([days.get(name, values[name]) for name in columns["X"]]).astype(np.float32)
    words = np.column_stack([["" if cell != cell else cell for cell in values[name]] for name in columns["S"]])
    found = run(graph, {"X": numbers, "S": words.astype(object)})["Y"]
    expected = model[-1].transform(prepared.table.X)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (make_pipeline(StandardScaler(), KernelLPP(2)), "step 'kernellpp': KernelLPP is no linear method"),
        (make_pipeline(PowerTransformer(), LPP()), "step 'powertransformer': PowerTransformer is no linear"),
        (
            make_pipeline(StandardScaler(), make_pipeline(LPP(), KNeighborsClassifier(weights="distance"))),
            "step 'pipeline', step 'kneighborsclassifier': KNeighborsClassifier needs uniform weights",
        ),
        (make_pipeline(OneHotEncoder(drop="first", sparse_output=False), LPP()), "step 'onehotencoder': .*drop=None"),
        (make_pipeline(Normalizer("max"), LPP()), "norm='max'"),
        (LinearDiscriminantAnalysis(solver="lsqr"), "no projection"),
    ],
    ids=lambda value: named(value)[:60],
)
def test_onnx_refusals_name_the_step(model, said):
    pytest.importorskip("onnx")
    with pytest.raises(TypeError, match=said):
        to_onnx(clone(model).fit(np.round(X), Y))


def test_pipelines_are_pipelines(tmp_path):
    save(make_pipeline(StandardScaler(), LPP()).fit(X), tmp_path / "model")
    assert isinstance(load(tmp_path / "model"), Pipeline)
