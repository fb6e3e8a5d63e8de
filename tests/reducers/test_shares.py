"""``explained_ratio_``, the share of the variance that directions hold."""

import numpy as np
import oracles as o
from helpers import each
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA

import lapwing
from lapwing import DNE, LPCA, LPDP, LPI, LPP, MFA, MMC, NPE, OLPP, ONPP
from lapwing.graphs import Complete, SameClass

X, Y = o.blobs(60, 6)
LINEAR = [make(3) for make in (LPP, OLPP, NPE, ONPP, MMC, LPDP, MFA, DNE, LPCA, LPI)]
PLAIN = {"pca": None, "standardize": False}


def held(data, directions):
    """What the least-squares fit of the centred rows by their first coordinates restores of them, by SVD."""
    centred = data - data.mean(axis=0)
    shares = []
    for j in range(len(directions) + 1):
        basis = np.linalg.svd(directions[:j].T, full_matrices=False)[0]
        shares.append(np.linalg.norm(centred @ basis @ basis.T) ** 2 / np.linalg.norm(centred) ** 2)
    return np.diff(shares)


@each("estimator", LINEAR)
@each("make", [np.asarray, sparse.csr_array])
def test_explained_ratio(estimator, make):
    data = abs(X) if isinstance(estimator, LPI) else X
    model = clone(estimator).fit(make(data), Y)
    assert model.explained_ratio_.shape == (3,)
    if isinstance(model, LPCA):  # of the scatter of patches
        A = lapwing.problem.laplacian_sum(model.problem(data, Y).minimise).toarray()
        scatter = data.T @ A @ data
        expected = np.diagonal(model.components_ @ scatter @ model.components_.T) / np.trace(scatter)
    else:
        rows = data / np.linalg.norm(data, axis=1)[:, None] if isinstance(model, LPI) else data
        scale = 1.0 if model.scale_ is None else model.scale_
        expected = held(rows / scale, model.components_ * scale)
    np.testing.assert_allclose(model.explained_ratio_, expected, rtol=1e-9, atol=1e-12)


def test_explained_ratio_of_all_kinds_of_rows():
    data, w = X * np.linspace(1, 9, 6), np.random.default_rng(0).integers(0, 4, len(X))
    for standardize in (False, True):
        model = LPP(2, graph=SameClass(), standardize=standardize).fit(data, Y)
        streamed = (
            LPP(2, graph=SameClass(), standardize=standardize)
            .partial_fit(data[:30], Y[:30])
            .partial_fit(data[30:], Y[30:])
        )
        np.testing.assert_allclose(streamed.explained_ratio_, model.explained_ratio_, rtol=1e-10)
        for make in (np.asarray, sparse.csr_array):
            weighed = LPP(2, graph=SameClass(), standardize=standardize).fit(make(data), Y, sample_weight=w)
            repeated = LPP(2, graph=SameClass(), standardize=standardize).fit(
                np.repeat(data, w, axis=0), np.repeat(Y, w)
            )
            np.testing.assert_allclose(weighed.explained_ratio_, repeated.explained_ratio_, rtol=1e-10)
    wide = np.random.default_rng(0).normal(size=(20, 50))
    pca = PCA(5).fit(wide)
    model = OLPP(5, graph=-Complete(), **PLAIN).fit(wide)
    np.testing.assert_allclose(model.explained_ratio_, pca.explained_variance_ratio_, rtol=1e-10)


def test_files_and_names(tmp_path):
    model = MMC(2).fit(X, Y)
    lapwing.save(model, tmp_path / "model")
    same = lapwing.load(tmp_path / "model")
    np.testing.assert_array_equal(same.explained_ratio_, model.explained_ratio_)
