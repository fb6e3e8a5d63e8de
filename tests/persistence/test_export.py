"""Models in other programs: ONNX and PyTorch."""

import os
import sys

import numpy as np
import outside
import pytest
from model_files import FREE, LINEAR, NEW, X, Y, full_disk, named
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import PowerTransformer

from lapwing import (
    LPI,
    LPP,
    TSA,
    FisherScore,
    KernelLPP,
    LaplacianScore,
)
from lapwing.persistence import load, save, to_onnx, to_torch

# Without the libraries


@pytest.mark.parametrize(
    ("library", "call", "extra"),
    [
        ("skops.io", lambda model, path: save(model, path), "model"),
        ("skops.io", lambda model, path: load(path), "model"),
        ("onnx", lambda model, path: to_onnx(model), "onnx"),
        ("torch", lambda model, path: to_torch(model), "torch"),
    ],
)
def test_missing_libraries_are_named(library, call, extra, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"pip install 'lapwing\[{extra}\]'"):
        call(LPP().fit(X), tmp_path / "model")


# Other programs


def run(model, rows):
    runtime = pytest.importorskip("onnxruntime")
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        ["Y"], {"X": rows}
    )[0]


@pytest.mark.parametrize("estimator", [*LINEAR, LaplacianScore(), FisherScore(2)], ids=named)
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_onnx(estimator, offset, tmp_path):
    onnx = pytest.importorskip("onnx")
    offset = 0.0 if isinstance(estimator, LPI) else offset  # far from 0 all documents are alike
    model = clone(estimator).fit(X + offset, Y)
    to_onnx(model, tmp_path / "model.onnx")
    graph = onnx.load(tmp_path / "model.onnx")
    for rows in (NEW + offset, NEW[:1] + offset, np.zeros((1, 6))):
        rows = rows.astype(np.float32)
        expected = model.transform(rows)
        found = run(graph, rows)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    [X_info], [Y_info] = graph.graph.input, graph.graph.output
    shapes = [[size.dim_value for size in info.type.tensor_type.shape.dim] for info in (X_info, Y_info)]
    assert shapes == [[0, 6], [0, expected.shape[1]]]


@pytest.mark.parametrize("estimator", [model for model in LINEAR if not isinstance(model, LPI)], ids=named)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_torch(estimator, dtype):
    torch = pytest.importorskip("torch")
    model = clone(estimator).fit(X.astype(dtype), Y)
    layer = to_torch(model)
    assert type(layer) is torch.nn.Linear
    found = layer(torch.from_numpy(NEW.astype(dtype))).detach().numpy()
    assert found.dtype == dtype
    tol = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found, model.transform(NEW.astype(dtype)), rtol=tol, atol=10 * tol)
    with torch.no_grad():
        layer.weight.zero_()  # a copy: the estimator stays as it was
    assert model.components_.any()


@pytest.mark.parametrize("estimator", [*FREE, KernelLPP(), TSA(image_shape=(2, 3)), PowerTransformer()], ids=named)
@pytest.mark.parametrize("export", [to_onnx, to_torch])
def test_what_is_not_linear_is_refused(estimator, export):
    pytest.importorskip("onnx")
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match=rf"{type(estimator).__name__} is no linear method .*{export.__name__}"):
        export(clone(estimator).fit(X))


def test_export_needs_a_fit_and_rows_as_they_are():
    pytest.importorskip("onnx")
    pytest.importorskip("torch")
    for export in (to_onnx, to_torch):
        with pytest.raises(NotFittedError):
            export(LPP())
    with pytest.raises(TypeError, match="unit length"):
        to_torch(LPI(graph=5).fit(X))
    with pytest.raises(TypeError, match="no linear method"):
        to_torch(FisherScore().fit(X, Y))


def test_export_from_outside():
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    model = outside.TimeLPP(2).fit(X)
    np.testing.assert_allclose(run(to_onnx(model), NEW.astype(np.float32)), model.transform(NEW), rtol=1e-4, atol=1e-5)
    for export in (to_onnx, to_torch):
        with pytest.raises(TypeError, match="Stubborn has a transform of its own"):
            export(outside.Stubborn(2).fit(X))


def test_a_failed_export_leaves_nothing(monkeypatch, tmp_path):
    pytest.importorskip("onnx")
    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        to_onnx(LPP().fit(X), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
