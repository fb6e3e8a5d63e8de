"""Linear models as layers of PyTorch."""

import sys

import numpy as np
import outside
import pytest
from helpers import each
from model_files import FREE, LINEAR, NEW, X, Y, named
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from lapwing import LPI, LPP, TSA, FisherScore, KernelLPP, persistence
from lapwing.persistence import load, save
from lapwing.vectors import to_torch

# Without the libraries


@pytest.mark.parametrize(
    ("library", "call", "extra"),
    [
        ("skops.io", lambda model, path: save(model, path), "model"),
        ("skops.io", lambda model, path: load(path), "model"),
        ("torch", lambda model, path: to_torch(model), "torch"),
    ],
)
def test_missing_libraries_are_named(library, call, extra, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, library, None)
    persistence._skops.cache_clear()  # of an earlier test
    with pytest.raises(ImportError, match=rf"pip install 'lapwing\[{extra}\]'"):
        call(LPP().fit(X), tmp_path / "model")


# PyTorch


@each("estimator", [model for model in LINEAR if not isinstance(model, LPI)])
@each("dtype", [np.float64, np.float32])
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


@pytest.mark.parametrize("estimator", [*FREE, KernelLPP(), TSA(image_shape=(2, 3)), FisherScore()], ids=named)
def test_what_is_not_linear_is_refused(estimator):
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match=rf"{type(estimator).__name__} is no linear method of lapwing"):
        to_torch(clone(estimator).fit(X, Y))


def test_export_needs_a_fit_and_rows_as_they_are():
    pytest.importorskip("torch")
    with pytest.raises(NotFittedError):
        to_torch(LPP())
    with pytest.raises(TypeError, match="LPI is no linear method of lapwing that takes rows as they are"):
        to_torch(LPI(graph=5).fit(X))
    with pytest.raises(TypeError, match="Stubborn is no linear method of lapwing"):
        to_torch(outside.Stubborn(2).fit(X))
