"""Few eigenvectors of a large matrix, against all of them."""

import numpy as np
import pytest

from lapwing import LPP
from lapwing.maps import _map
from lapwing.solvers import Tridiagonal


def matrices():
    rng = np.random.RandomState(0)
    X = rng.randn(40, 60) * np.geomspace(10, 0.01, 60)
    Q = np.linalg.qr(rng.randn(40, 40))[0]
    repeated = np.repeat([0.0, 1.0, 3.0], [20, 12, 8])
    return {
        "Gram": X @ X.T,
        "of low rank": X[:, :5] @ X[:, :5].T,
        "repeated eigenvalues": (Q * repeated) @ Q.T,
        "diagonal": np.diag(rng.rand(40)),
        "two rows": np.array([[2.0, 1.0], [1.0, 2.0]]),
    }


@pytest.mark.parametrize("p", [1, 2, 7, 40])
@pytest.mark.parametrize("name", matrices())
def test_eigenpairs(name, p):
    A = matrices()[name]
    A, p = (A + A.T) / 2, min(p, len(A))
    before = A.copy()
    found = Tridiagonal(A)
    vectors, scale = found.vectors(p), np.abs(A).max()
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(A), atol=1e-13 * len(A) * scale)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(p), atol=1e-12)
    np.testing.assert_allclose(A @ vectors, vectors * found.values[-p:], atol=1e-12 * len(A) * scale)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("shape", [(60, 150), (200, 60)], ids=["wide", "tall"])
@pytest.mark.parametrize("pca", [0.9, 12, None])
def test_large_problems_have_the_same_solution(shape, pca, monkeypatch):
    X = np.random.RandomState(0).randn(*shape) * np.geomspace(5, 0.1, shape[1])
    expected = LPP(3, pca=pca).fit(X)
    monkeypatch.setattr(_map, "LARGE", 10)
    model = LPP(3, pca=pca).fit(X)
    assert model.n_pca_ == expected.n_pca_
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
