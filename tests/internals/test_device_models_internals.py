"""Estimators on tensors: the map of the CPU, attributes where X is, and clear errors."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lapwing import (
    LPP,
)
from lapwing.graphs import KNN
from lapwing.maps import DeviceMap

torch = pytest.importorskip("torch")
DIGITS, LABELS = (part[:700] for part in load_digits(return_X_y=True))
DIGITS = DIGITS + 0.1 * np.random.RandomState(0).rand(*DIGITS.shape)


def name(model):
    return " ".join(repr(model).split())


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4])
def test_projections_of_rows_far_from_the_origin(offset, there):
    """One product where that is precise; rows are moved first where the mean is far."""
    rs = np.random.RandomState(0)
    X = (offset + rs.randn(3000, 20)).astype(np.float32)
    mean, V = X.mean(axis=0, dtype=np.float64), np.linalg.qr(rs.randn(20, 3))[0].T
    exact = (X - mean) @ V.T
    found = DeviceMap(there(X)).projected(there(mean.astype(np.float32)), there(V)).cpu().numpy()
    np.testing.assert_allclose(found, exact, atol=2e-5 if offset < 100 else 1e-2)


def test_rows_stay_on_the_device(there, monkeypatch):
    """Searches of tensors make no copy of X on the CPU."""
    from lapwing.neighbors import DeviceRows, Search, find

    monkeypatch.setattr(DeviceRows, "__getattr__", lambda self, name: pytest.fail(f"{name} was asked for"))
    for among in ("all", "same_class"):
        find(DeviceRows(there(DIGITS), there(LABELS)), Search(3, among=among))


@pytest.mark.parametrize("factor", [1.0, 5.0, 1e3])
def test_a_row_far_from_all_others_keeps_faint_links(factor, there):
    from lapwing.neighbors import DeviceRows
    from lapwing.rows import Rows

    X = np.random.RandomState(0).standard_normal((900, 40))
    X[5] = factor * (1 + X[5])
    degrees = KNN(5).adjacency(DeviceRows(there(X))).degrees
    np.testing.assert_allclose(degrees.numpy(force=True), KNN(5).adjacency(Rows(X)).sum(axis=1), rtol=1e-9)
    with pytest.raises(ValueError, match="gives weight 0 to all edges of 900 samples"):
        KNN(5, t=1e-9).adjacency(DeviceRows(there(X)))


def test_numpy_users_search_on_a_device(monkeypatch):
    from lapwing.neighbors import _device

    monkeypatch.setattr(_device, "FEW", 10)
    A = LPP(3, graph=KNN(7, search="torch")).fit(DIGITS)
    B = LPP(3, graph=KNN(7)).fit(DIGITS)
    assert isinstance(A.components_, np.ndarray)
    np.testing.assert_allclose(A.components_, B.components_, atol=1e-9)
