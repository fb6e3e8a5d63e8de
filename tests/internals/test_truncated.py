"""Pre-projection of very wide rows: Lanczos finds the directions that are wanted, and nothing is decomposed whole."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from lapwing import LPP, OLPP
from lapwing.graphs import KNN, Complete, SameClass
from lapwing.maps import DenseMap, DividedMap, Preprojection, SparseMap, weighted

RNG = np.random.default_rng(0)
LENGTHS = np.concatenate([np.geomspace(30, 8, 15), np.geomspace(1, 0.01, 85)])
BASIS = np.linalg.qr(RNG.normal(size=(500, 100)))[0]
X = RNG.normal(size=(300, 100)) * LENGTHS @ BASIS.T + 5
ROWS = {"wide": X, "tall": np.ascontiguousarray(X.T)}


@pytest.fixture
def small(monkeypatch):
    """Rows count as very many, and whole decompositions fail."""

    def never(*args, **kwargs):
        raise AssertionError("decomposed whole")

    monkeypatch.setattr(DenseMap, "limit", 200)
    monkeypatch.setattr(DenseMap, "gram_about", never)
    monkeypatch.setattr(DenseMap, "scatter", never)


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("pca", [12, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.usefixtures("small")
def test_principal_directions(shape, pca, dtype):
    data = ROWS[shape].astype(dtype)
    F = DenseMap(data)
    found = F.principal(Preprojection(pca), F.plain_mean)
    U, s, Vt = np.linalg.svd(data - data.mean(axis=0, dtype=np.float64), full_matrices=False)
    shares = np.cumsum(s**2) / np.sum(s**2)
    p = pca if isinstance(pca, int) else 1 + int(np.searchsorted(shares, pca))
    Z = found.coordinates.block(slice(None))
    tol = 1e-7 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(np.abs(Z), np.abs((U * s)[:, :p]), atol=tol * s[0])
    np.testing.assert_allclose(np.abs(found.back(np.eye(p))), np.abs(Vt[:p]), atol=tol)
    assert found.spectrum.share(3) == pytest.approx(shares[2], rel=1e-6)


@pytest.mark.usefixtures("small")
def test_divided_and_weighted_rows():
    scale = RNG.uniform(0.5, 2, 500)
    divided = DividedMap(X, scale)
    found = divided.principal(Preprojection(5), divided.plain_mean).coordinates.block(slice(None))
    np.testing.assert_allclose(np.abs(found), np.abs(PCA(5, svd_solver="full").fit_transform(X / scale)), atol=1e-6)
    w = RNG.integers(1, 4, 300).astype(float)
    F = weighted(DenseMap(X), w)
    found = F.principal(Preprojection(5), F.plain_mean).coordinates.block(slice(None))
    centred = X - w @ X / w.sum()
    _, _, Vt = np.linalg.svd(np.sqrt(w)[:, None] * centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(found), np.abs(centred @ Vt[:5].T), atol=1e-6)


@pytest.mark.usefixtures("small")
def test_fits_never_decompose_all():
    y = np.arange(300) % 3
    model = OLPP(4, graph=SameClass(), pca=12, standardize=False).fit(X, y)
    assert (model.n_pca_, model.rank_) == (12, 12)
    assert OLPP(4, graph=KNN(3) - Complete(), standardize=False).fit(ROWS["tall"]).n_pca_ == 5  # by default


@pytest.mark.parametrize("estimator", [LPP(3, graph=4, pca=12), OLPP(3, graph=4), LPP(3, graph=4, pca=0.6)], ids=str)
@pytest.mark.parametrize("shape", ROWS)
def test_fits_are_the_same(estimator, shape, monkeypatch):
    data = ROWS[shape]
    expected = estimator.fit(data).transform(data)
    n_pca = estimator.n_pca_
    monkeypatch.setattr(DenseMap, "limit", 200)
    found = estimator.fit(data).transform(data)
    assert estimator.n_pca_ == n_pca
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


def test_an_energy_of_many_directions_is_found_whole(monkeypatch):
    """Where an energy takes so many directions that a whole decomposition costs less."""
    data = RNG.normal(size=(300, 260))
    F = DenseMap(data)
    expected = F.principal(Preprojection(0.9), F.plain_mean).coordinates.shape
    monkeypatch.setattr(DenseMap, "limit", 200)
    assert F.principal(Preprojection(0.9), F.plain_mean).coordinates.shape == expected


def test_a_share_that_needs_every_direction_of_sparse_rows(monkeypatch):
    """Lanczos finds all but one, and would be asked for more without end."""
    monkeypatch.setattr(SparseMap, "limit", 3)
    A = RNG.normal(size=(30, 8)) * (RNG.random((30, 8)) < 0.7)
    F = SparseMap(sparse.csr_array(A))
    found = F.principal(Preprojection(1 - 1e-9), F.plain_mean)
    Z, centred = found.coordinates.block(slice(None)), A - A.mean(axis=0)
    np.testing.assert_allclose(Z @ Z.T, centred @ centred.T, atol=1e-9)
