"""Models as ONNX: skl2onnx writes scikit-learn's steps, and converters that are registered with it write lapwing's."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier, is_clusterer
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from ._extras import require, write_whole
from ._validation import check_choice
from .device import to_numpy
from .methods import LPI
from .reducers import FeatureSelector, KernelReducer, LinearReducer, Reducer
from .selection import SemiSupervised
from .tables import Preparation, column_numbers, preparation_of, text_columns

OPSETS = {"": 17, "ai.onnx.ml": 3}  # old enough for any runtime in use
FLOAT, BOOL, DOUBLE = 1, 9, 11  # types, by their numbers in the format
# The values of parameters that can be written; with others skl2onnx would write another function.
WRITTEN: tuple[tuple[Any, str, tuple[Any, ...]], ...] = (
    (KernelReducer, "kernel", ("rbf", "linear", "poly", "polynomial")),
    (KernelReducer, "features", (None,)),
    (LinearDiscriminantAnalysis, "solver", ("svd", "eigen")),
    (SimpleImputer, "add_indicator", (False,)),
    ((KNeighborsClassifier, KNeighborsRegressor), "weights", ("uniform",)),
)
Places = dict[int, tuple[str, int]]  # the input of each column, and its number there
Write = Callable[..., Any]  # makes an operator of skl2onnx, from its name, inputs and options


def to_onnx(estimator: BaseEstimator, path: str | os.PathLike[str] | None = None, *, dtype: str = "float32") -> Any:
    """The model as ONNX, with the input ``X`` of shape (n_samples, n_features) and the output ``Y``.

    A classifier at the end has the outputs ``label`` and ``probabilities``, k-means ``label`` and the distances ``Y``. LDA is
    written as a projection. onnxruntime loads the model once, so that what is returned can be used.

    Where a ``ColumnTransformer`` at the beginning encodes text, there are two inputs: ``X`` with the other columns and ``S`` with
    those of text, a blank standing for a missing one; the entries ``X`` and ``S`` of the model's metadata name or number them.
    A :class:`~lapwing.tables.Preparation` at the beginning is not written: the model takes ``preparation.to_frame(X)``,
    with dates as days since 1970 and missing numbers as NaN, and the entry ``columns`` says what each column must be.

    Parameters
    ----------
    estimator : linear method, kernel method or feature score of lapwing, fitted
        The kernel is ``"rbf"``, ``"linear"`` or ``"poly"``, with landmarks or without. Or a pipeline of such and of steps that
        skl2onnx knows, which are nearly all of scikit-learn's. The error for another names its step.
    path : path-like, default=None
        A file to write the model to.
    dtype : {"float32", "float64"}, default="float32"
        The precision of ``X``, of ``Y`` and between them. In float32, columns far from 0 beside their deviation lose digits.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from lapwing import OLPP, to_onnx
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> [node.op_type for node in to_onnx(OLPP(10).fit(X)).graph.node]
    ['Sub', 'MatMul', 'Identity']
    """
    skl2onnx, types = require("skl2onnx", "onnx"), require("skl2onnx.common.data_types", "onnx")
    runtime = require("onnxruntime", "onnx")
    check_choice("dtype", dtype, ("float32", "float64"))
    check_is_fitted(estimator)
    opened = _opened(to_numpy(estimator))
    preparation = preparation_of(opened)
    if preparation is not None:
        opened = _opened(Pipeline(opened.steps[1:])) if isinstance(opened, Pipeline) else FunctionTransformer()
    width = getattr(estimator, "n_features_in_", getattr(opened, "n_features_in_", None))
    if width is None:
        raise TypeError(f"{type(estimator).__name__} does not say how many columns it takes, which ONNX has to know")
    text = text_columns(opened)
    columns_of = {"X": [j for j in range(width) if j not in text], "S": text}
    inputs = {name: columns for name, columns in columns_of.items() if columns}
    model = _plain(opened, "", {j: (name, i) for name, columns in inputs.items() for i, j in enumerate(columns)})
    number = types.FloatTensorType if dtype == "float32" else types.DoubleTensorType
    kinds = {"X": number, "S": types.StringTensorType}
    outputs = ["label", "probabilities"] if is_classifier(model) else ["label", "Y"] if is_clusterer(model) else ["Y"]
    if dtype == "float64" and outputs == ["Y"]:  # what encoders give, and what is computed from it alone, is in float32
        model = Pipeline([("model", model), ("precision", skl2onnx.sklapi.CastTransformer(dtype=np.float64))])
    try:
        written = skl2onnx.convert_sklearn(
            model,
            type(estimator).__name__,
            [(name, kinds[name]([None, len(columns)])) for name, columns in inputs.items()],
            target_opset=OPSETS,
            custom_conversion_functions={SimpleImputer: _convert},
            custom_shape_calculators={SimpleImputer: _shape},
            custom_parsers={Columns: _parse_columns},
            options={id(model): {"zipmap": False}} if is_classifier(model) else None,
            final_types=[(name, None) for name in outputs],
        )
        runtime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])  # it can be used
    except Exception as error:  # skl2onnx and onnxruntime raise errors of many kinds
        said = " ".join(str(error).split()) + " (skl2onnx writes some steps in float32 alone)" * (dtype == "float64")
        raise TypeError(f"{type(estimator).__name__} cannot be written as ONNX: {said}") from error
    names = [str(name) for name in getattr(estimator, "feature_names_in_", range(width))]
    for name, columns in inputs.items() if text or preparation is not None else ():
        written.metadata_props.add(key=name, value=json.dumps([names[j] for j in columns]))
    if preparation is not None:
        written.metadata_props.add(key="columns", value=json.dumps(preparation.inputs(), ensure_ascii=False))
    if path is not None:
        write_whole(path, written.SerializeToString())
    return written


class Columns(BaseEstimator):
    """Stands for a choice of columns of an input. skl2onnx's own mixes up columns that are all taken, in another order."""

    def __init__(self, name: str, columns: list[int]):
        self.name = name
        self.columns = columns


def _opened(step: Any) -> Any:
    """A search as what it found, and a pipeline without the steps that do nothing."""
    step = getattr(step, "best_estimator_", step)
    if isinstance(step, SemiSupervised):
        step = Pipeline([("reducer", step.reducer_), ("classifier", step.classifier_)])
    if isinstance(step, Pipeline):
        kept = [(name, part) for name, part in step.steps if part is not None and part != "passthrough"]
        return Pipeline(kept) if kept else FunctionTransformer()
    return step


def _plain(step: Any, where: str, places: Places | None = None) -> Any:
    """The fitted step by steps that skl2onnx writes. Converters of ours are registered. ``places`` are those of raw columns."""
    step = _opened(step)
    if isinstance(step, Pipeline):
        steps = enumerate(step.steps)
        return Pipeline([(n, _plain(part, f"{where}step {n!r}: ", None if i else places)) for i, (n, part) in steps])
    if isinstance(step, FeatureUnion):
        kept = [(n, part) for n, part in step.transformer_list if part != "drop"]
        parts = [(n, _plain(part, f"{where}step {n!r}: ", places)) for n, part in kept]
        return FeatureUnion(parts, transformer_weights=step.transformer_weights)
    if isinstance(step, ColumnTransformer):
        return _union(step, where, places or {j: ("", j) for j in range(step.n_features_in_)})
    _input_of((places or {}).values(), where + type(step).__name__)
    if isinstance(step, str):
        return FunctionTransformer()  # passthrough
    if isinstance(step, LinearDiscriminantAnalysis) and hasattr(step, "scalings_"):
        step = _projection(step)
    kind = next((kind for kind in WRITERS if isinstance(step, kind)), None)
    if why := _why_not(step, kind):
        raise TypeError(f"{where}{type(step).__name__} {why}")
    if kind not in (None, SimpleImputer):  # skl2onnx has a converter of imputers, and others shall find it
        name = f"Lapwing {type(step).__module__}.{type(step).__qualname__}"
        require("skl2onnx", "onnx").update_registered_converter(type(step), name, _shape, _convert)
    return step


def _union(step: ColumnTransformer, where: str, places: Places) -> FeatureUnion:
    parts = []
    for name, part, chosen in step.transformers_:
        taken, here = [places[j] for j in column_numbers(step, chosen)], f"{where}step {name!r}"
        if taken and part != "drop":
            columns = Columns(_input_of(taken, here), [j for _, j in taken])
            parts.append((name, Pipeline([("columns", columns), ("part", _plain(part, f"{here}: "))])))
    return FeatureUnion(parts, transformer_weights=step.transformer_weights)


def _input_of(places: Any, who: str) -> str:
    names = {name for name, _ in places}
    if len(names) > 1:
        raise TypeError(f"{who} takes numbers and text at once, which to_onnx cannot write; use a step for each")
    return next(iter(names), "")


def _projection(lda: LinearDiscriminantAnalysis) -> LinearReducer:
    """What LDA does to rows. skl2onnx takes it for a classifier."""
    linear = LinearReducer()
    linear.components_ = lda.scalings_[:, : len(lda.get_feature_names_out())].T
    linear.mean_ = lda.xbar_ if lda.solver == "svd" else np.zeros(lda.n_features_in_)
    return linear


def _why_not(step: Any, kind: Any) -> str | None:
    """Why a step cannot be written; None where it can be."""
    if kind is None and isinstance(step, Reducer):
        return "is no linear method, kernel method or feature score, so to_onnx has no formula to write"
    if kind is None:
        try:
            require("skl2onnx", "onnx").get_model_alias(type(step))
        except RuntimeError:
            return "is no step that skl2onnx knows; skl2onnx.update_registered_converter adds it"
    elif type(step).transform is not kind.transform:
        return "has a transform of its own, which to_onnx does not know"
    if isinstance(step, Preparation) and step.left_out_:
        return f"leaves columns out ({', '.join(map(repr, step.left_out_))}); drop them before"
    for classes, name, known in WRITTEN:
        if isinstance(step, classes) and (value := getattr(step, name, known[0])) not in known:
            return f"has {name}={value!r}, which to_onnx cannot write; use {' or '.join(map(repr, known))}"
    return None


def _parse_columns(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    given = next((given for given in inputs if given.raw_name == model.name), inputs[0])
    choice = scope.declare_local_operator("SklearnArrayFeatureExtractor")
    choice.inputs, choice.column_indices = [given], model.columns
    choice.outputs.append(scope.declare_local_variable("columns", type(given.type)([None, len(model.columns)])))
    return choice.outputs


def _shape(operator: Any) -> None:
    kind, names = type(operator.inputs[0].type), operator.raw_operator.get_feature_names_out()
    operator.outputs[0].type = kind([None, len(names)])


def _convert(scope: Any, operator: Any, container: Any) -> None:
    operators = require("skl2onnx.algebra.onnx_ops", "onnx")

    def write(name: str, *inputs: Any, **options: Any) -> Any:
        return getattr(operators, f"Onnx{name}")(*inputs, **{"op_version": container.target_opset} | options)

    model = operator.raw_operator
    converter = next(converter for kind, converter in WRITERS.items() if isinstance(model, kind))
    written = converter(write, model, operator.inputs[0])
    write("Identity", written, output_names=operator.outputs[:1]).add_to(scope, container)


def _numbers(values: Any, X: Any = None) -> np.ndarray:
    """A constant in the precision of X, or else in double precision."""
    dtype = np.float64 if X is None else require("skl2onnx.common.data_types", "onnx").guess_numpy_type(X.type)
    return np.atleast_1d(np.asarray(values, dtype=dtype))


def _linear(write: Write, model: Any, X: Any, rows: Any = None) -> Any:
    """``(X - mean_) @ components_.T``. A bias in the place of the subtraction would lose digits in float32."""
    about_mean = write("Sub", X if rows is None else rows, _numbers(model.mean_, X))
    return write("MatMul", about_mean, _numbers(model.components_.T, X))


def _documents(write: Write, model: Any, X: Any) -> Any:
    projected = _linear(write, model, X, write("LpNormalization", X, axis=1, p=2))
    total = write("ReduceSum", write("Abs", X), np.array([1]), keepdims=1)
    return write("Mul", projected, write("Sign", total))  # the sign is 0 for empty documents


def _kernel(write: Write, model: Any, X: Any) -> Any:
    """In double precision, as ``transform`` computes kernels."""
    rows = write("Cast", X, to=DOUBLE)
    rows = rows if model.scale_ is None else write("Div", rows, _numbers(model.scale_))
    if model.landmarks is None:
        K = _kernel_matrix(write, model, rows, model.X_fit_)
        Z = write("Sub", write("MatMul", K, _numbers(model.dual_coef_.T)), _numbers(model.intercept_))
    else:
        K = _kernel_matrix(write, model, rows, model.nystroem_.components_)
        features = write("MatMul", K, _numbers(model.nystroem_.normalization_.T))
        Z = write("MatMul", write("Sub", features, _numbers(model.mean_)), _numbers(model.components_.T))
    return write("Cast", Z, to=FLOAT if _numbers(0, X).dtype == np.float32 else DOUBLE)


def _kernel_matrix(write: Write, model: Any, rows: Any, fitted: Any) -> Any:
    B = _numbers(fitted.toarray() if sparse.issparse(fitted) else fitted)
    gamma = 1 / B.shape[1] if model.gamma_ is None else model.gamma_
    if model.kernel == "rbf":
        middle = np.median(B, axis=0)  # products of rows that are far from 0 lose digits
        A, B = write("Sub", rows, middle), B - middle
        lengths = write("ReduceSum", write("Mul", A, A), np.array([1]), keepdims=1)
        squared = write("Sub", write("Add", lengths, (B * B).sum(axis=1)), write("MatMul", A, 2 * B.T))
        return write("Exp", write("Mul", write("Max", squared, np.zeros(1)), _numbers(-gamma)))
    if model.kernel == "linear":
        return write("MatMul", rows, B.T)
    products = write("MatMul", rows, gamma * B.T)  # onnxruntime would fuse a factor of the product, in float32
    return write("Pow", write("Add", products, _numbers(model.coef0)), _numbers(model.degree))


def _filled(write: Write, model: Any, X: Any) -> Any:
    """An imputer. skl2onnx's own has float32 alone, keeps columns that were empty, and knows no gaps in text."""
    missing, values = model.missing_values, model.statistics_
    if any(isinstance(value, str) for value in values):
        blank = [missing if isinstance(missing, str) else ""]
        gaps = write("LabelEncoder_2", X, keys_strings=blank, values_int64s=[1], default_int64=0, op_version=2)
        return write("Where", write("Cast", gaps, to=BOOL), values.astype(str), X)
    kept, missing = np.flatnonzero(~np.isnan(values.astype(np.float64))), _numbers(missing, X)
    rows, values = write("Gather", X, kept, axis=1), _numbers(values[kept], X)
    return write("Where", write("IsNaN", rows) if np.isnan(missing) else write("Equal", rows, missing), values, rows)


WRITERS: dict[type, Callable[[Write, Any, Any], Any]] = {
    LPI: _documents,
    LinearReducer: _linear,
    KernelReducer: _kernel,
    FeatureSelector: lambda write, model, X: write("Gather", X, model.get_support(indices=True), axis=1),
    SimpleImputer: _filled,
    Preparation: lambda write, model, X: X,  # its columns come as it gives them
}
