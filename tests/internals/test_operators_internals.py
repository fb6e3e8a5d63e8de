"""Structured matrices against dense ones, and the problem made of them."""

import numpy as np
import pytest
from scipy import sparse

from lapwing import operators
from lapwing.maps import as_map
from lapwing.operators import Structured

N = 23


def normal(seed, *shape):
    return np.random.RandomState(seed).standard_normal(shape)


def close(actual, expected, tol=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * max(1.0, np.abs(expected).max()))


@pytest.fixture(params=[1 << 24, 200], ids=["one-block", "many-blocks"])
def _blocks(request, monkeypatch):
    monkeypatch.setattr(operators, "BLOCK_BYTES", request.param)


def test_connected_components_of_links_on_a_device():
    """Factors join what the links leave apart."""
    torch = pytest.importorskip("torch")
    from lapwing.devices import Links

    links = Links(N, torch.tensor([0, 1, 5]), torch.tensor([1, 2, 6]), torch.ones(3, dtype=torch.float64))
    one = np.zeros((N, 1))
    one[[2, 5, 9]] = 1.0
    assert Structured(N, sparse=links).n_connected_components() == N - 3
    assert Structured(N, sparse=links, factors=((one, np.ones(1)),)).n_connected_components() == N - 5
    assert Structured(N, sparse=links, factors=((np.ones((N, 1)), np.ones(1)),)).n_connected_components() == 1


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("_blocks")
def test_weighted_mean(make, dtype):
    F, weights = (normal(51, N, 4) + 1000).astype(dtype), np.random.RandomState(0).rand(N)
    close(as_map(make(F)).mean(), F.astype(np.float64).mean(axis=0))
    close(as_map(make(F)).mean(weights), np.average(F.astype(np.float64), axis=0, weights=weights))
