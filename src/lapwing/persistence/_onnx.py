"""Fitted estimators as nodes of an ONNX graph, with one function per class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NeighborhoodComponentsAnalysis
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from ..methods import LPI
from ..reducers import FeatureSelector, LinearReducer
from ..selection import SemiSupervised
from ..tables import DatesAsNumbers, column_numbers

EUCLIDEAN = "euclidean"
UNKNOWN = "is no linear method or transformer that to_onnx knows, so it cannot be written"


@dataclass(frozen=True)
class Columns:
    """Some columns of the rows as they come.

    ``blanks`` gives, for each column of text, the value that a blank stands for. A table with text comes as two tensors.
    ``places`` gives, for each column, its tensor and its number there.
    """

    name: str
    width: int
    text: bool = False
    blanks: tuple[str, ...] = ()
    places: Mapping[int, tuple[str, int]] | None = None


def table(width: int, text: frozenset[int]) -> Columns:
    """All columns of the rows: the input X and, where some columns are text, the input S."""
    if not text:
        return Columns("X", width)
    numbers = [j for j in range(width) if j not in text]
    places = {j: ("X", i) for i, j in enumerate(numbers)} | {j: ("S", i) for i, j in enumerate(sorted(text))}
    return Columns("X", width, places=places)


class Builder:
    """Collects nodes and constants."""

    def __init__(self, onnx: Any):
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.outputs: dict[str, str] = {}  # the outputs by the name that users see
        self.steps: list[str] = []  # the steps around what is being written, for errors

    def add(self, op: str, *inputs: str, domain: str = "", **options: Any) -> str:
        """Add a node with one output, and return the name of the output."""
        name = f"step{len(self.nodes) + 1}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [name], domain=domain, **options))
        return name

    def constant(self, name: str, value: Any, dtype: Any = np.float32) -> str:
        """Add a constant under a name that no other has, and return this name."""
        unique = name if name not in self.constants else f"{name}{len(self.constants)}"
        self.constants[unique] = np.asarray(value, dtype=dtype)
        return unique

    def refuse(self, estimator: Any, why: str = "") -> TypeError:
        where = f"{', '.join(self.steps)}: " if self.steps else ""
        return TypeError(f"{where}{type(estimator).__name__} {why or UNKNOWN}")


def convert(build: Builder, estimator: Any, X: Columns) -> Columns:
    """Write an estimator that takes the columns X, and return the columns that it gives."""
    if isinstance(estimator, LinearReducer):
        if type(estimator).transform is not LinearReducer.transform:
            raise TypeError(f"{type(estimator).__name__} has a transform of its own, which to_onnx does not know")
        return _projection(build, estimator, X)
    if isinstance(estimator, FeatureSelector):
        return _selection(build, estimator, X)
    write = WRITERS.get(type(estimator))
    if write is None:
        raise build.refuse(estimator)
    if X.text and type(estimator) not in TEXT:
        raise build.refuse(estimator, "is given text, which only SimpleImputer and OneHotEncoder take")
    return write(build, estimator, X)


# Estimators made of others


def _pipeline(build: Builder, pipeline: Any, X: Columns) -> Columns:
    for name, step in pipeline.steps:
        if step is None or isinstance(step, str):  # passthrough
            continue
        build.steps.append(f"step {name!r}")
        X = convert(build, step, X)
        build.steps.pop()
    return X


def _columns(build: Builder, transformer: Any, X: Columns) -> Columns:
    """Write each part on its own columns, side by side. Text is taken from the input that has it."""
    parts = []
    for name, part, chosen in transformer.transformers_:
        columns = column_numbers(transformer, chosen)
        if part == "drop" or not columns:
            continue
        build.steps.append(f"step {name!r}")
        some = _chosen(build, X, columns)
        parts.append(some if part == "passthrough" else convert(build, part, some))
        build.steps.pop()
    return _beside(build, parts)


def _chosen(build: Builder, X: Columns, columns: list[int]) -> Columns:
    if X.places is not None:
        inputs = {X.places[j][0] for j in columns}
        if len(inputs) > 1:
            raise TypeError(f"{', '.join(build.steps)} takes numbers and text at once, which to_onnx cannot write")
        (name,) = inputs
        columns = [X.places[j][1] for j in columns]
        X = Columns(name, 0, text=name == "S", blanks=("",) * len(columns))
    index = build.constant("columns", columns, np.int64)
    blanks = X.blanks if len(X.blanks) == len(columns) else tuple(X.blanks[j] for j in columns) if X.text else ()
    return Columns(build.add("Gather", X.name, index, axis=1), len(columns), X.text, blanks)


def _beside(build: Builder, parts: list[Columns]) -> Columns:
    if any(part.text for part in parts):
        raise TypeError(
            f"{', '.join(build.steps) or 'the model'} passes text on, which no numbers come of; encode it first"
        )
    if len(parts) == 1:
        return parts[0]
    return Columns(build.add("Concat", *(part.name for part in parts), axis=1), sum(part.width for part in parts))


def _union(build: Builder, union: Any, X: Columns) -> Columns:
    if union.transformer_weights:
        raise build.refuse(union, "has transformer_weights, which to_onnx does not write")
    return _beside(build, [convert(build, part, X) for _, part in union.transformer_list if not isinstance(part, str)])


# Scales, gaps, categories


def _centred_and_scaled(build: Builder, X: Columns, center: Any, scale: Any) -> Columns:
    name = X.name
    if center is not None:
        name = build.add("Sub", name, build.constant("center", center))
    if scale is not None:
        name = build.add("Div", name, build.constant("scale", scale))
    return Columns(name, X.width)


def _standard(build: Builder, scaler: Any, X: Columns) -> Columns:
    return _centred_and_scaled(
        build, X, scaler.mean_ if scaler.with_mean else None, scaler.scale_ if scaler.with_std else None
    )


def _min_max(build: Builder, scaler: Any, X: Columns) -> Columns:
    low, high = scaler.feature_range
    # Computed as (X - least) * scale + low, since the other order would lose digits in float32.
    name = build.add("Sub", X.name, build.constant("least", scaler.data_min_))
    name = build.add("Mul", name, build.constant("scale", scaler.scale_))
    name = build.add("Add", name, build.constant("low", low))
    if scaler.clip:
        name = build.add("Clip", name, build.constant("low", low), build.constant("high", high))
    return Columns(name, X.width)


def _normalizer(build: Builder, normalizer: Any, X: Columns) -> Columns:
    op = {"l1": "ReduceL1", "l2": "ReduceL2"}.get(normalizer.norm)
    if op is None:
        raise build.refuse(normalizer, f"with norm={normalizer.norm!r} is none that to_onnx writes; use 'l2' or 'l1'")
    norms = build.add(op, X.name, axes=[1], keepdims=1)
    zero = build.add("Equal", norms, build.constant("zero", 0.0))
    norms = build.add("Where", zero, build.constant("one", 1.0), norms)
    return Columns(build.add("Div", X.name, norms), X.width)


def _imputer(build: Builder, imputer: Any, X: Columns) -> Columns:
    if X.text:  # a blank stands for a missing text
        return Columns(X.name, X.width, True, tuple(map(str, imputer.statistics_)))
    kept = np.flatnonzero([value == value for value in imputer.statistics_])
    missing = imputer.missing_values
    if isinstance(missing, str) or missing is None or (kept.size < X.width and imputer.keep_empty_features):
        raise build.refuse(imputer, "with these parameters is none that to_onnx writes")
    if kept.size < X.width:
        X = _chosen(build, X, kept.tolist())
    gaps = (
        build.add("IsNaN", X.name)
        if missing != missing
        else build.add("Equal", X.name, build.constant("missing", missing))
    )
    filled = build.constant("filled", imputer.statistics_[kept].astype(np.float64))
    return Columns(build.add("Where", gaps, filled, X.name), X.width)


def _one_hot(build: Builder, encoder: Any, X: Columns) -> Columns:
    if encoder.drop is not None or encoder.handle_unknown != "ignore":
        raise build.refuse(encoder, 'needs drop=None and handle_unknown="ignore" for to_onnx')
    parts = [_indicators(build, X, j, categories) for j, categories in enumerate(encoder.categories_)]
    return _beside(build, parts)


def _indicators(build: Builder, X: Columns, j: int, categories: np.ndarray) -> Columns:
    column = build.add("Gather", X.name, build.constant("column", [j], np.int64), axis=1)
    if X.text:
        words = [str(category) for category in categories]
        keys = {word: i for i, word in enumerate(words)}
        if X.blanks[j] in keys:
            keys.setdefault("", keys[X.blanks[j]])
        column = build.add(
            "LabelEncoder",
            column,
            domain="ai.onnx.ml",
            keys_strings=list(keys),
            values_int64s=list(keys.values()),
            default_int64=-1,
        )
        known = build.constant("categories", np.arange(len(words)), np.int64)
    else:
        known = build.constant("categories", categories.astype(np.float32))
    equal = build.add("Equal", column, known)
    return Columns(build.add("Cast", equal, to=build.onnx.TensorProto.FLOAT), len(categories))


# Projection and selection


def _projection(build: Builder, estimator: Any, X: Columns) -> Columns:
    """``(X - mean_) @ components_.T``. A bias in the place of the subtraction would lose digits in float32."""
    if not isinstance(estimator, LPI):
        return _linear(build, X, estimator.mean_, estimator.components_)
    unit = Columns(build.add("LpNormalization", X.name, axis=1, p=2), X.width)
    projected = _linear(build, unit, estimator.mean_, estimator.components_)
    sums = build.add("MatMul", build.add("Abs", X.name), build.constant("ones", np.ones((X.width, 1))))
    # The sign is 0 for empty documents.
    return Columns(build.add("Mul", projected.name, build.add("Sign", sums)), projected.width)


def _linear(build: Builder, X: Columns, mean: Any, components: np.ndarray) -> Columns:
    name = X.name if mean is None else build.add("Sub", X.name, build.constant("mean", mean))
    return Columns(build.add("Gemm", name, build.constant("components", components), transB=1), len(components))


def _pca(build: Builder, pca: Any, X: Columns) -> Columns:
    scale = np.sqrt(pca.explained_variance_)[:, None] if pca.whiten else 1.0
    return _linear(build, X, pca.mean_, pca.components_ / scale)


def _truncated(build: Builder, svd: Any, X: Columns) -> Columns:
    return _linear(build, X, None, svd.components_)


def _lda(build: Builder, lda: Any, X: Columns) -> Columns:
    if lda.solver == "lsqr":
        raise build.refuse(lda, "with solver='lsqr' has no projection; use 'svd' or 'eigen'")
    return _linear(build, X, lda.xbar_ if lda.solver == "svd" else None, lda.scalings_[:, : lda._max_components].T)


def _selection(build: Builder, selector: Any, X: Columns) -> Columns:
    return _chosen(build, X, selector.get_support(indices=True).tolist())


# Estimators that may come last


def _squared_distances(build: Builder, X: Columns, points: np.ndarray) -> str:
    """The squared distances from some points, in double precision, since their terms nearly cancel."""
    double = build.onnx.TensorProto.DOUBLE
    rows = build.add("Cast", X.name, to=double)
    squares = build.add("ReduceSum", build.add("Mul", rows, rows), build.constant("axis", [1], np.int64), keepdims=1)
    products = build.add("MatMul", rows, build.constant("points", -2 * points.T.astype(np.float64), np.float64))
    lengths = build.constant("lengths", (points.astype(np.float64) ** 2).sum(axis=1), np.float64)
    return build.add("Add", build.add("Add", products, squares), lengths)


def _k_means(build: Builder, clusters: Any, X: Columns) -> Columns:
    squared = _squared_distances(build, X, clusters.cluster_centers_)
    build.outputs["label"] = build.add("ArgMin", squared, axis=1, keepdims=0)
    positive = build.add("Max", squared, build.constant("zero", 0.0, np.float64))
    distances = build.add("Cast", build.add("Sqrt", positive), to=build.onnx.TensorProto.FLOAT)
    return Columns(distances, len(clusters.cluster_centers_))


def _nearest(build: Builder, estimator: Any, X: Columns) -> str:
    if estimator.weights not in (None, "uniform") or estimator.effective_metric_ != EUCLIDEAN:
        raise build.refuse(estimator, "needs uniform weights and the Euclidean metric for to_onnx")
    if not isinstance(estimator._fit_X, np.ndarray):
        raise build.refuse(estimator, "was fitted on sparse rows, which to_onnx does not write")
    squared = _squared_distances(build, X, estimator._fit_X)
    k = build.constant("k", [estimator.n_neighbors], np.int64)
    values, indices = f"near{len(build.nodes)}", f"nearest{len(build.nodes)}"
    build.nodes.append(build.onnx.helper.make_node("TopK", [squared, k], [values, indices], axis=1, largest=0))
    return indices


def _neighbors(build: Builder, classifier: Any, X: Columns) -> Columns:
    votes = np.eye(len(classifier.classes_))[classifier._y]
    of_neighbors = build.add("Gather", build.constant("votes", votes), _nearest(build, classifier, X), axis=0)
    shares = build.add("ReduceMean", of_neighbors, axes=[1], keepdims=0)
    return _labelled(build, shares, classifier.classes_)


def _labelled(build: Builder, shares: str, classes: np.ndarray) -> Columns:
    best = build.add("ArgMax", shares, axis=1, keepdims=0)
    text = classes.dtype.kind in "OU"
    names = build.constant("classes", classes, object if text else np.int64)
    build.outputs["label"] = build.add("Gather", names, best, axis=0)
    build.outputs["probabilities"] = shares
    return Columns(shares, len(classes))


def _mean_of_neighbors(build: Builder, regressor: Any, X: Columns) -> Columns:
    targets = build.constant("targets", regressor._y)
    of_neighbors = build.add("Gather", targets, _nearest(build, regressor, X), axis=0)
    return Columns(build.add("ReduceMean", of_neighbors, axes=[1], keepdims=1), 1)


def _logistic(build: Builder, model: Any, X: Columns) -> Columns:
    scores = build.add(
        "Gemm", X.name, build.constant("coef", model.coef_), build.constant("intercept", model.intercept_), transB=1
    )
    if len(model.coef_) == 1:
        one = build.add("Sigmoid", scores)
        shares = build.add("Concat", build.add("Sub", build.constant("one", 1.0), one), one, axis=1)
    else:
        shares = build.add("Softmax", scores, axis=1)
    return _labelled(build, shares, model.classes_)


WRITERS: dict[type, Callable[[Builder, Any, Columns], Columns]] = {
    Pipeline: _pipeline,
    FeatureUnion: _union,
    ColumnTransformer: _columns,
    SemiSupervised: lambda build, model, X: convert(build, model.classifier_, convert(build, model.reducer_, X)),
    FunctionTransformer: lambda build, estimator, X: X,
    DatesAsNumbers: lambda build, estimator, X: X,
    StandardScaler: _standard,
    RobustScaler: lambda build, scaler, X: _centred_and_scaled(build, X, scaler.center_, scaler.scale_),
    MaxAbsScaler: lambda build, scaler, X: _centred_and_scaled(build, X, None, scaler.scale_),
    MinMaxScaler: _min_max,
    Normalizer: _normalizer,
    SimpleImputer: _imputer,
    OneHotEncoder: _one_hot,
    VarianceThreshold: _selection,
    SelectKBest: _selection,
    SelectPercentile: _selection,
    PCA: _pca,
    TruncatedSVD: _truncated,
    NeighborhoodComponentsAnalysis: _truncated,
    LinearDiscriminantAnalysis: _lda,
    KMeans: _k_means,
    MiniBatchKMeans: _k_means,
    KNeighborsClassifier: _neighbors,
    KNeighborsRegressor: _mean_of_neighbors,
    LogisticRegression: _logistic,
}
TEXT = (Pipeline, SemiSupervised, ColumnTransformer, FeatureUnion, SimpleImputer, OneHotEncoder)


def text_columns(estimator: Any) -> frozenset[int]:
    """The columns of the rows that are text: those that a ColumnTransformer at the beginning gives to an encoder of text."""
    if isinstance(estimator, SemiSupervised):
        return text_columns(estimator.reducer_)
    if isinstance(estimator, Pipeline):
        return text_columns(estimator.steps[0][1]) if estimator.steps else frozenset()
    if isinstance(estimator, ColumnTransformer):
        found = set()
        for _, part, chosen in estimator.transformers_:
            columns = column_numbers(estimator, chosen)
            found |= set() if isinstance(part, str) else {columns[j] for j in text_columns(part)}
        return frozenset(found)
    learnt = getattr(estimator, "categories_", None) if isinstance(estimator, OneHotEncoder) else None
    if isinstance(estimator, SimpleImputer) and estimator.statistics_.dtype == object:
        learnt = [np.array([value], dtype=object) for value in estimator.statistics_]
    return frozenset(j for j, values in enumerate(learnt or ()) if any(isinstance(value, str) for value in values))
