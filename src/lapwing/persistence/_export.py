"""Models in the formats of other programs."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._extras import require
from .._replacing import write_whole
from ..methods import LPI
from ..reducers import LinearReducer
from ._onnx import Builder, Columns, convert, table, text_columns

# Versions that are old enough for any runtime in use.
OPSET = 17
ML_OPSET = 3
IR_VERSION = 8


def to_onnx(estimator: BaseEstimator, path: str | os.PathLike[str] | None = None) -> Any:
    """The model as ONNX, with the input ``X``, float32 of shape (n_samples, n_features), and the output ``Y``.

    Where a ``ColumnTransformer`` at the beginning encodes text, there are two inputs: ``X`` with the other columns, in their
    order, and ``S`` with those of text, a blank standing for a missing one; the entries ``X`` and ``S`` of the model's metadata
    name the columns of each, or number them. Dates come as days since 1970, missing numbers as NaN. A classifier at the end has
    the outputs ``label`` and ``probabilities``, k-means ``label`` and the distances ``Y``.

    Parameters
    ----------
    estimator : linear method or feature score of lapwing, fitted
        Or a pipeline of such and of scikit-learn's scalers, imputers, one-hot encoders, selectors and linear projections,
        with a nearest-neighbour estimator, a logistic regression or k-means at the end. The error for another names its step.
    path : path-like, default=None
        A file to write the model to.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from lapwing import OLPP
    >>> from lapwing.persistence import to_onnx
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X = load_digits().data
    >>> [node.op_type for node in to_onnx(OLPP(10).fit(X)).graph.node]
    ['Sub', 'Gemm']
    >>> [node.op_type for node in to_onnx(make_pipeline(StandardScaler(), OLPP(10)).fit(X)).graph.node]
    ['Sub', 'Div', 'Sub', 'Gemm']
    """
    onnx = require("onnx", "onnx")
    check_is_fitted(estimator)
    build, text = Builder(onnx), text_columns(estimator)
    width = estimator.n_features_in_
    last = convert(build, estimator, table(width, text))
    if not build.nodes:
        raise build.refuse(estimator, "does nothing, so there is nothing to write")
    inputs = {"X": ("FLOAT", width - len(text))} | ({"S": ("STRING", len(text))} if text else {})
    if text and len(text) == width:
        del inputs["X"]
    model = _model(build, estimator, last, inputs, text)
    onnx.checker.check_model(model)
    if path is not None:
        write_whole(path, model.SerializeToString())
    return model


def _model(
    build: Builder, estimator: Any, last: Columns, inputs: dict[str, tuple[str, int]], text: frozenset[int]
) -> Any:
    onnx, helper = build.onnx, build.onnx.helper
    named = {"Y": last.name} | build.outputs
    if "probabilities" in named:
        del named["Y"]
    names = {tensor: name for name, tensor in named.items()}
    for node in build.nodes:  # the last tensors get the names that users see
        for places in (node.input, node.output):
            for i, tensor in enumerate(places):
                places[i] = names.get(tensor, tensor)
    declared = [
        helper.make_tensor_value_info(n, getattr(onnx.TensorProto, k), [None, w]) for n, (k, w) in inputs.items()
    ]
    graph = helper.make_graph(
        build.nodes,
        type(estimator).__name__,
        declared,
        [_output(build, name, last) for name in named],
        [_constant(onnx, name, value) for name, value in build.constants.items()],
    )
    sets = [helper.make_opsetid("", OPSET), *([helper.make_opsetid("ai.onnx.ml", ML_OPSET)] if text else [])]
    model = helper.make_model(graph, producer_name="lapwing", ir_version=IR_VERSION, opset_imports=sets)
    if text:
        columns = [str(name) for name in getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))]
        for name, chosen in (("X", [j for j in range(len(columns)) if j not in text]), ("S", sorted(text))):
            helper.set_model_props(
                model, {p.key: p.value for p in model.metadata_props} | {name: json.dumps([columns[j] for j in chosen])}
            )
    return model


def _output(build: Builder, name: str, last: Columns) -> Any:
    onnx = build.onnx
    if name != "label":
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, last.width])
    is_text = any(value.dtype == object for key, value in build.constants.items() if key.startswith("classes"))
    kind = onnx.TensorProto.STRING if is_text else onnx.TensorProto.INT64
    return onnx.helper.make_tensor_value_info(name, kind, [None])


def _constant(onnx: Any, name: str, value: np.ndarray) -> Any:
    if value.dtype != object:
        return onnx.numpy_helper.from_array(value, name)
    words = [str(word).encode() for word in value]
    return onnx.helper.make_tensor(name, onnx.TensorProto.STRING, [len(words)], words)


def to_torch(estimator: BaseEstimator) -> Any:
    """Turn a linear map into a layer of PyTorch, a ``torch.nn.Linear`` in the precision of ``components_``.

    The mean becomes a bias, ``-components_ @ mean_``. So in single precision, as of ``layer.float()``, features that are far
    from 0 lose digits.

    Parameters
    ----------
    estimator : linear method of lapwing, fitted
        Any linear method except LPI, which scales rows.

    Returns
    -------
    torch.nn.Linear

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X = load_iris().data
    >>> layer = lapwing.to_torch(lapwing.LPP(2).fit(X))
    >>> layer(torch.from_numpy(X)).shape
    torch.Size([150, 2])
    """
    torch = require("torch", "torch")
    _check_linear(estimator, "to_torch")
    if isinstance(estimator, LPI):
        raise TypeError("LPI scales rows to unit length before it projects, which no linear layer does; use to_onnx")
    check_is_fitted(estimator)
    V = estimator.components_
    bias = -(V.astype(np.float64) @ estimator.mean_)
    k, d = V.shape
    layer = torch.nn.utils.skip_init(torch.nn.Linear, d, k, dtype=torch.from_numpy(V).dtype)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(V))
        layer.bias.copy_(torch.from_numpy(bias))
    return layer


def _check_linear(estimator: Any, caller: str) -> None:
    if isinstance(estimator, LinearReducer) and type(estimator).transform is not LinearReducer.transform:
        raise TypeError(f"{type(estimator).__name__} has a transform of its own, which {caller} does not know")
    if not isinstance(estimator, LinearReducer):
        raise TypeError(
            f"{type(estimator).__name__} is no linear method of lapwing, so {caller} has no matrix to write; LPP, OLPP, NPE and "
            "their kin have"
        )
