"""Linear maps in the formats of other programs."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._extras import require
from .._replacing import write_whole
from ..methods import LPI
from ..reducers import FeatureSelector, LinearReducer

# Old enough for any runtime in use.
OPSET = 17
IR_VERSION = 8


def to_onnx(estimator: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """The map as an ONNX model with the input ``X``, float32 of shape (n_samples, n_features), and the output ``Y``.

    Parameters
    ----------
    estimator : linear method or feature score of lapwing, fitted
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
    >>> model = OLPP(10).fit(load_digits().data)
    >>> [node.op_type for node in to_onnx(model).graph.node]
    ['Sub', 'Gemm']
    """
    onnx = require("onnx", "onnx")
    if not isinstance(estimator, FeatureSelector):
        _check_linear(estimator, "to_onnx")
    check_is_fitted(estimator)
    steps, arrays = _selection(estimator) if isinstance(estimator, FeatureSelector) else _projection(estimator)
    names = ["X", *(f"step{i}" for i in range(1, len(steps))), "Y"]
    nodes = [
        onnx.helper.make_node(op, [names[i], *inputs], [names[i + 1]], **options)
        for i, (op, inputs, options) in enumerate(steps)
    ]
    X = onnx.helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, [None, estimator.n_features_in_])
    Y = onnx.helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, [None, len(estimator.get_feature_names_out())])
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = onnx.helper.make_graph(nodes, type(estimator).__name__, [X], [Y], constants)
    model = onnx.helper.make_model(
        graph, producer_name="lapwing", ir_version=IR_VERSION, opset_imports=[onnx.helper.make_opsetid("", OPSET)]
    )
    onnx.checker.check_model(model)
    if path is not None:
        write_whole(path, model.SerializeToString())
    return model


Step = tuple[str, list[str], dict[str, Any]]  # an operator, the constants it reads, its options


def _selection(estimator: Any) -> tuple[list[Step], dict[str, np.ndarray]]:
    return [("Gather", ["columns"], {"axis": 1})], {"columns": estimator.get_support(indices=True).astype(np.int64)}


def _projection(estimator: Any) -> tuple[list[Step], dict[str, np.ndarray]]:
    """``(X - mean_) @ components_.T`` as it stands: a bias in place of the subtraction would cancel digits in float32."""
    scaled: list[Step] = [("LpNormalization", [], {"axis": 1, "p": 2})] if isinstance(estimator, LPI) else []
    steps: list[Step] = [*scaled, ("Sub", ["mean"], {}), ("Gemm", ["components"], {"transB": 1})]
    arrays = {"mean": estimator.mean_, "components": estimator.components_}
    return steps, {name: array.astype(np.float32) for name, array in arrays.items()}


def to_torch(estimator: Any) -> Any:
    """The map as a layer, ``torch.nn.Linear``, in the precision of ``components_``; ``.float()`` makes it single.

    The mean becomes a bias, ``-components_ @ mean_``, so in single precision features that are far from 0 lose digits.

    Parameters
    ----------
    estimator : linear method of lapwing, fitted
        Not LPI, which scales rows.

    Returns
    -------
    torch.nn.Linear
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
