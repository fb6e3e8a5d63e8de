"""Models as ONNX: what onnxruntime computes from them is what Python computes."""

import json
import os
import subprocess
import sys

import numpy as np
import oracles as o
import outside
import pytest
from helpers import each
from messy import customers
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, chi2
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestCentroid, NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVR

import lapwing
from lapwing import LPI, LPP, MMC, TSA, FisherScore, KernelLDA, KernelLPP, KernelNPE, to_onnx
from lapwing.graphs import KNN, On, SameClass
from lapwing.methods import METHODS
from lapwing.reducers import FeatureSelector, FreeReducer, KernelReducer, LinearReducer
from lapwing.selection import SemiSupervised
from lapwing.tables import Preparation, prepare, read

onnxruntime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")

X, Y = o.blobs(60, 6)
X, NEW = np.abs(X), np.abs(o.blobs(15, 6, seed=1)[0])  # weights of terms, for LPI
WORDS = np.array(["a", "b", "c"], dtype=object)
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}


def of(kind):
    return [method() for method in METHODS.values() if issubclass(method, kind)]


def named(value):
    return " ".join(repr(value).split())[:80]


def session_of(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def run(model, **inputs):
    session = session_of(model)
    return dict(zip([out.name for out in session.get_outputs()], session.run(None, inputs), strict=True))


def check(found, expected, dtype):
    assert found.dtype == dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype] * np.abs(expected).max())


# Methods


@each("method", of(LinearReducer))
def test_linear_methods(method):
    """In float32, rows that are far from 0 lose the digits that ``transform`` loses."""
    for offset in (0.0, 0.0 if isinstance(method, LPI) else 1e5):  # far from 0 all documents are alike
        model = clone(method).fit(X + offset, Y)
        for dtype in TOLERANCE:
            written = to_onnx(model, dtype=dtype)
            for rows in (NEW + offset, NEW[:1] + offset, np.zeros((2, 6))):
                rows = rows.astype(dtype)
                check(run(written, X=rows)["Y"], model.transform(rows), dtype)
        infos = [*written.graph.input, *written.graph.output]
        shapes = [[side.dim_value for side in info.type.tensor_type.shape.dim] for info in infos]
        assert shapes == [[0, 6], [0, len(model.components_)]]


def test_empty_documents_are_at_0():
    assert not run(to_onnx(LPI(graph=5).fit(X)), X=np.zeros((2, 6), np.float32))["Y"].any()


@pytest.mark.parametrize(
    "method",
    [
        *of(KernelReducer),
        KernelLPP(gamma=None),
        KernelLPP(gamma=0.01, standardize=True),
        KernelLPP(kernel="linear"),
        KernelNPE(kernel="poly", degree=2, gamma=0.1),
        KernelLDA(kernel="polynomial", coef0=0.3),
        KernelLPP(landmarks=12, random_state=0),
        KernelLPP(landmarks=30, random_state=0, kernel="poly", standardize=True),
        KernelLPP(graph=KNN(4) + On([5], KNN(3), beside=True)),  # a column that the kernel does not read
    ],
    ids=named,
)
def test_kernel_methods(method):
    is_flat = (
        "poly" in method.kernel or method.kernel == "linear" or getattr(method, "graph", None) is not None
    )  # far from 0, where no digits are left
    for offset in (0.0,) if is_flat else (0.0, 1e5):
        model = clone(method).fit(X + offset, Y)
        for dtype in TOLERANCE:
            rows = (NEW + offset).astype(dtype)
            check(run(to_onnx(model, dtype=dtype), X=rows)["Y"], model.transform(rows.astype(np.float64)), dtype)


def test_a_kernel_of_sparse_rows():
    rows = sparse.csr_array(np.where(X > 1, X, 0))
    model = KernelLPP(3).fit(rows)
    check(run(to_onnx(model), X=NEW.astype(np.float32))["Y"], model.transform(NEW), "float32")


@pytest.mark.parametrize("method", of(FeatureSelector), ids=named)
def test_scores_of_features(method):
    model = clone(method).set_params(n_features_to_select=2).fit(X, Y)
    for dtype in TOLERANCE:
        found = run(to_onnx(model, dtype=dtype), X=NEW.astype(dtype))["Y"]
        np.testing.assert_array_equal(found, model.transform(NEW.astype(dtype)), strict=True)


def test_classes_of_a_user():
    for method in (outside.TimeLPP(2), outside.TimeKernel(2), outside.Steady(2), outside.Recording.LPP(1)):
        model = method.fit(X)
        for _ in range(2):  # it may be registered again
            check(run(to_onnx(model), X=NEW.astype(np.float32))["Y"], model.transform(NEW), "float32")
    with pytest.raises(TypeError, match="Stubborn has a transform of its own"):
        to_onnx(outside.Stubborn(2).fit(X))


def test_a_model_of_tensors():
    torch = pytest.importorskip("torch")
    model = LPP(2).fit(torch.from_numpy(X))
    check(run(to_onnx(model), X=NEW.astype(np.float32))["Y"], lapwing.to_numpy(model).transform(NEW), "float32")


# Pipelines

GAPS, NEW_GAPS = X.copy(), NEW.copy()
GAPS[::7, 2] = GAPS[3::11, 0] = NEW_GAPS[::4, 5] = NEW_GAPS[1, :] = np.nan
EMPTY = np.column_stack([GAPS[:, :2], np.full(60, np.nan), GAPS[:, 3:]])
NUMBERS = {
    make_pipeline(StandardScaler(), LPP(3)): (X, NEW),
    make_pipeline(StandardScaler(with_mean=False), LPP(3), MinMaxScaler(clip=True)): (X, NEW),
    make_pipeline(RobustScaler(), MaxAbsScaler(), MMC(2)): (X, NEW),
    make_pipeline(Normalizer(), LPP(3)): (X, NEW),
    make_pipeline(VarianceThreshold(), SelectKBest(k=4), LPP(2)): (X, NEW),
    make_pipeline(SelectPercentile(percentile=60), FisherScore(2)): (X, NEW),
    make_pipeline(MinMaxScaler(), SelectKBest(chi2, k=4), LPP(2)): (X, NEW),
    make_pipeline(PCA(4, whiten=True), LPP(2)): (X, NEW),
    make_pipeline(TruncatedSVD(4, random_state=0), KernelLPP(2)): (X, NEW),
    make_pipeline(KernelPCA(4, kernel="rbf"), LPP(2)): (X, NEW),
    make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()): (X, NEW),
    make_pipeline(LinearDiscriminantAnalysis(n_components=1), StandardScaler()): (X, NEW),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"): (X, NEW),
    NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=20): (X, NEW),
    make_pipeline(LPP(3), make_pipeline(StandardScaler(), make_pipeline(PCA(2)))): (X, NEW),
    make_pipeline(make_union(LPP(2), "passthrough", PCA(2)), StandardScaler()): (X, NEW),
    FeatureUnion([("a", LPP(2)), ("b", "drop"), ("c", PCA(1))], transformer_weights={"a": 3.0}): (X, NEW),
    Pipeline([("a", "passthrough"), ("b", None), ("c", LPP(2)), ("d", "passthrough")]): (X, NEW),
    make_pipeline(FunctionTransformer(), LPP(2)): (X, NEW),
    GridSearchCV(make_pipeline(StandardScaler(), FisherScore()), {}, scoring=lambda *args: 0.0, cv=2): (X, NEW),
    # columns
    make_pipeline(ColumnTransformer([("a", StandardScaler(), [0, 3]), ("b", "passthrough", [1])]), LPP(2)): (X, NEW),
    ColumnTransformer([("a", MMC(1), [0, 3, 4]), ("b", "drop", [1])], remainder=LPP(2)): (X, NEW),
    ColumnTransformer([("a", StandardScaler(), [5, 0, 4, 1, 3, 2])]): (X, NEW),
    ColumnTransformer([("a", PCA(2), slice(-3, None)), ("b", "passthrough", [True] + [False] * 5)]): (X, NEW),
    ColumnTransformer([("a", MMC(1), [2, 1]), ("b", "passthrough", [0])], transformer_weights={"a": 3.0}): (X, NEW),
    make_pipeline(
        StandardScaler(),
        ColumnTransformer([("a", ColumnTransformer([("b", LPP(2), [3, 2, 1, 0])], remainder="passthrough"), slice(5))]),
    ): (X, NEW),
    # gaps
    make_pipeline(SimpleImputer(strategy="median"), RobustScaler(), MMC(2)): (GAPS, NEW_GAPS),
    make_pipeline(SimpleImputer(), MaxAbsScaler(), LPP(3, graph=KNN(4) + SameClass())): (GAPS, NEW_GAPS),
    make_pipeline(SimpleImputer(strategy="constant", fill_value=-3), LPP(3)): (GAPS, NEW_GAPS),
    make_pipeline(SimpleImputer(missing_values=0), LPP(2)): (np.round(X), np.round(NEW)),
    make_pipeline(SimpleImputer(), LPP(2)): (EMPTY, NEW_GAPS),
    make_pipeline(SimpleImputer(keep_empty_features=True), LPP(2)): (EMPTY, NEW_GAPS),
}
CODES = {  # skl2onnx computes codes of numbers in float32
    make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), LPP(2)): (np.round(X), np.round(NEW)),
    make_pipeline(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), LPP(2)): (
        np.round(X),
        np.round(NEW),
    ),
}


@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@each("model", NUMBERS | CODES)
def test_pipelines(model):
    (train, new), in_float32 = (NUMBERS | CODES)[model], model in CODES
    model = clone(model).fit(train, Y)
    for dtype in TOLERANCE:
        rows = new.astype(dtype)
        found = run(to_onnx(model, dtype=dtype), X=rows)
        assert list(found) == ["Y"]
        assert found["Y"].dtype == dtype
        precision = "float32" if in_float32 else dtype
        check(found["Y"].astype(precision), model.transform(rows.astype(np.float64)), precision)


TAILS = [
    make_pipeline(StandardScaler(), LPP(3), KNeighborsClassifier(3)),
    make_pipeline(LPP(3), KNeighborsClassifier(3, metric="manhattan")),
    make_pipeline(KernelLPP(3), KNeighborsClassifier(1)),
    make_pipeline(MMC(2), LogisticRegression()),
    SemiSupervised(make_pipeline(StandardScaler(), LPP(2, graph="semi")), KNeighborsClassifier(3)),
    make_pipeline(StandardScaler(), SemiSupervised("passthrough")),
    GridSearchCV(make_pipeline(LPP(), LogisticRegression()), {"lpp__n_components": [2, 3]}, cv=2),
    make_pipeline(LPP(3), GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2)),
]


@each(("labels", "classes"), [("numbers", 3), ("words", 2)])
@each("model", TAILS)
def test_classifiers(model, labels, classes):
    y = (Y if labels == "numbers" else WORDS[Y].astype(str))[classes > Y]
    model = clone(model).fit(X[classes > Y], y)
    for dtype in TOLERANCE:
        rows = NEW.astype(dtype)
        found = run(to_onnx(model, dtype=dtype), X=rows)
        assert list(found) == ["label", "probabilities"]
        assert found["label"].tolist() == model.predict(rows).tolist()
        check(found["probabilities"], model.predict_proba(rows), dtype)


def test_others_that_come_last():
    rows = NEW.astype(np.float32)
    for clusters in (KMeans(3, random_state=0, n_init=1), MiniBatchKMeans(3, random_state=0, n_init=1)):
        model = make_pipeline(LPP(3), clusters).fit(X)
        found = run(to_onnx(model), X=rows)
        assert found["label"].tolist() == model.predict(rows.astype(np.float64)).tolist()
        check(found["Y"], model.transform(rows.astype(np.float64)), "float32")
    model = make_pipeline(LPP(2), KNeighborsRegressor(4)).fit(X, Y)
    check(run(to_onnx(model), X=rows)["Y"].ravel(), model.predict(rows.astype(np.float64)), "float32")


# Tables

MIXED = np.column_stack([X[:, :2].astype(object), WORDS[Y], X[:, 2:].astype(object), WORDS[(X[:, 0] > 1).astype(int)]])
MIXED[4, 2] = np.nan
NEW_MIXED = np.column_stack([NEW[:, :2].astype(object), [*"abcd" * 3, "a", np.nan, "b"], NEW[:, 2:], ["b"] * 15])


def mixed(imputer, **options):
    words = make_pipeline(imputer, OneHotEncoder(handle_unknown="ignore", sparse_output=False))
    return ColumnTransformer(
        [("w", words, [7, 2]), ("n", StandardScaler(), [0, 1, 3, 6])], sparse_threshold=0, **options
    )


def inputs_of(rows, text, dtype):
    words = np.array([["" if cell != cell else cell for cell in row] for row in rows[:, text]], dtype=object)
    return {"X": np.delete(rows, text, axis=1).astype(dtype), "S": words}


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(mixed(SimpleImputer(strategy="constant", fill_value="missing")), LPP(3)),
        make_pipeline(mixed(SimpleImputer(strategy="most_frequent"), remainder="passthrough"), KernelLPP(3)),
        mixed(SimpleImputer(strategy="constant", fill_value="a")),
        make_pipeline("passthrough", mixed(SimpleImputer(strategy="most_frequent")), LPP(2)),
    ],
    ids=named,
)
def test_tables_with_text(model):
    model = clone(model).fit(MIXED, Y)
    for dtype in TOLERANCE:
        written = to_onnx(model, dtype=dtype)
        check(run(written, **inputs_of(NEW_MIXED, [2, 7], dtype))["Y"], model.transform(NEW_MIXED), dtype)
    assert {p.key: json.loads(p.value) for p in written.metadata_props} == {"X": list("013456"), "S": ["2", "7"]}


def test_a_table_of_text_alone():
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), LPP(2)).fit(MIXED[5:, [2, 7]])
    written = to_onnx(model)
    assert [given.name for given in written.graph.input] == ["S"]
    rows = inputs_of(NEW_MIXED[:12], [2, 7], "float32")
    check(run(written, S=rows["S"])["Y"], model.transform(NEW_MIXED[:12, [2, 7]]), "float32")


def test_a_classifier_behind_a_table_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame, new = (pandas.DataFrame(rows[:, [7, 0, 1]], columns=["w", "b", "a"]) for rows in (MIXED, NEW_MIXED))
    words, numbers = OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["a", "b"]
    model = make_pipeline(
        ColumnTransformer([("n", StandardScaler(), numbers), ("w", words, ["w"])]), LPP(2), KNeighborsClassifier(3)
    ).fit(frame, WORDS[Y].astype(str))
    written = to_onnx(model)
    assert {p.key: json.loads(p.value) for p in written.metadata_props} == {"X": ["b", "a"], "S": ["w"]}
    given = {"X": new[["b", "a"]].to_numpy(np.float32), "S": new[["w"]].to_numpy(object)}
    assert run(written, **given)["label"].tolist() == model.predict(new).tolist()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_prepared_table(dtype, tmp_path):
    """As the command line makes it: text, dates, gaps."""
    table = read(customers(tmp_path / "a.csv", 300)[0], mixed=True, label="churned")
    prepared = prepare(table)
    model = prepared.model(LPP(3, graph=SameClass()).fit(prepared.table.X, prepared.table.y))
    written = to_onnx(model, dtype=dtype)
    columns = {p.key: json.loads(p.value) for p in written.metadata_props}
    assert columns["S"] == ["plan", "region", "device"]
    assert columns["columns"]["signup"] == "days since 1970-01-01, NaN where missing"
    assert columns["columns"]["plan"] == "text, '' where missing"
    typed = model[0].to_frame(table.X)
    inputs = {"X": typed[columns["X"]].to_numpy(dtype), "S": typed[columns["S"]].to_numpy(object)}
    check(run(written, **inputs)["Y"], model[-1].transform(prepared.table.X), dtype)


def test_a_preparation_of_some_columns():
    """It is not written: dates come as days."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "day": [f"2024-03-{1 + i % 28:02d}" for i in range(len(X))]})
    days = make_pipeline(Preparation(), SimpleImputer())
    model = make_pipeline(ColumnTransformer([("n", StandardScaler(), ["a"]), ("d", days, ["day"])]), LPP(1)).fit(frame)
    given = np.column_stack([frame["a"], Preparation().fit_transform(frame[["day"]])])
    check(run(to_onnx(model, dtype="float64"), X=given)["Y"], model.transform(frame), "float64")


# What is refused


@pytest.mark.parametrize(
    ("model", "said"),
    [
        *[
            (model, f"^{type(model).__name__} is no linear method, kernel method or feature score")
            for model in of(FreeReducer)
        ],
        (TSA(image_shape=(2, 3)), "^TSA is no linear method"),
        (
            KernelLPP(kernel="cosine"),
            r"KernelLPP has kernel='cosine', .* use 'rbf' or 'linear' or 'poly' or 'polynomial'",
        ),
        (make_pipeline(StandardScaler(), TSA(image_shape=(2, 3))), "^step 'tsa': TSA is no linear method"),
        (
            make_pipeline(LPP(), NearestCentroid()),
            "^step 'nearestcentroid': NearestCentroid is no step that skl2onnx knows",
        ),
        (
            make_pipeline(StandardScaler(), make_pipeline(LPP(), KNeighborsClassifier(weights="distance"))),
            "^step 'pipeline': step 'kneighborsclassifier': KNeighborsClassifier has weights='distance'.* use 'uniform'",
        ),
        (ColumnTransformer([("a", outside.Stubborn(1), [0, 1])]), "^step 'a': Stubborn has a transform of its own"),
        (
            LinearDiscriminantAnalysis(solver="lsqr"),
            "^LinearDiscriminantAnalysis has solver='lsqr'.* use 'svd' or 'eigen'",
        ),
        (make_pipeline(SimpleImputer(add_indicator=True), LPP()), "^step 'simpleimputer': .* add_indicator=True"),
        (make_pipeline(FunctionTransformer(np.abs), LPP()), "^Pipeline cannot be written as ONNX: FunctionTransformer"),
        (make_pipeline(OneHotEncoder(max_categories=2, sparse_output=False), LPP()), "Infrequent categories"),
    ],
    ids=lambda value: named(value)[:60],
)
def test_refusals_name_the_step(model, said, tmp_path):
    with pytest.raises(TypeError, match=said):
        to_onnx(clone(model).fit(np.round(X), Y), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_numbers_and_text_at_once():
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    rows = np.column_stack([np.round(X[:, :1]).astype(object), WORDS[Y]])
    with pytest.raises(TypeError, match=r"^step 'onehotencoder': OneHotEncoder takes numbers and text at once"):
        to_onnx(make_pipeline(encoder, LPP()).fit(rows))
    with pytest.raises(TypeError, match=r"^step 'a' takes numbers and text at once.*use a step for each"):
        to_onnx(ColumnTransformer([("a", encoder, [0, 1])]).fit(rows))


def test_wrong_arguments():
    with pytest.raises(NotFittedError):
        to_onnx(LPP())
    with pytest.raises(ValueError, match=r"dtype='int8'.*float32"):
        to_onnx(LPP().fit(X), dtype="int8")
    with pytest.raises(TypeError, match="kernel='precomputed'"):
        to_onnx(KernelLPP(kernel="precomputed").fit(X @ X.T))
    with pytest.raises(TypeError, match="Pipeline does not say how many columns it takes"):
        to_onnx(make_pipeline("passthrough").fit(X))


@pytest.mark.parametrize("model", [make_pipeline(PowerTransformer(), LPP(2)), make_pipeline(LPP(2), SVR())])
def test_steps_in_float32_alone(model):
    """The second is written, and onnxruntime cannot compute it."""
    model = clone(model).fit(X, Y)
    expected = model.transform(NEW) if hasattr(model, "transform") else model.predict(NEW)[:, None]
    check(run(to_onnx(model), X=NEW.astype(np.float32))["Y"], expected, "float32")
    with pytest.raises(TypeError, match=r"Pipeline cannot be written as ONNX: .*some steps in float32 alone"):
        to_onnx(model, dtype="float64")


# Files, and the library that is not there


def test_files(tmp_path):
    model = LPP(2).fit(X)
    assert (tmp_path / "a.onnx").write_bytes(to_onnx(model, tmp_path / "model.onnx").SerializeToString())
    assert (tmp_path / "model.onnx").read_bytes() == (tmp_path / "a.onnx").read_bytes()


def test_a_failed_export_leaves_nothing(monkeypatch, tmp_path):
    def full_disk(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        to_onnx(LPP().fit(X), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("library", ["skl2onnx", "onnxruntime"])
def test_without_a_library(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"{library}: pip install 'lapwing\[onnx\]'"):
        to_onnx(LPP().fit(X))


def test_the_library_is_imported_when_it_is_asked_for():
    code = "import sys, lapwing.persistence; sys.exit(any('onnx' in m and 'lapwing' not in m for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], timeout=100).returncode == 0


def test_converters_of_others_stay():
    """skl2onnx writes an imputer of its own as it did, and an estimator of lapwing once it is registered."""
    rows = X.astype(np.float32)
    model = make_pipeline(SimpleImputer(), LPP(2)).fit(rows)
    to_onnx(model)
    written = skl2onnx.to_onnx(model, rows[:1])
    assert [node.op_type for node in written.graph.node][:2] == ["Imputer", "Sub"]
    found = session_of(written).run(None, {"X": rows})[0]
    check(found, model.transform(rows), "float32")
