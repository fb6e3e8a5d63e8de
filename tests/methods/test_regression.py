"""Spectral regression: both of its steps by their definitions."""

import numpy as np
import oracles as o
import pytest
from helpers import literal
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh
from sklearn.datasets import load_wine

from lapwing import LPI, LPP, SpectralRegression
from lapwing.graphs import KNN, SameClass

X, Y = o.blobs(60, 7)


def graph_vectors(L, D, k):
    """Of L y = lambda D y on the rows with links, without the constant."""
    live = np.diag(D) > 0
    values, vectors = eigh(L[np.ix_(live, live)], D[np.ix_(live, live)])
    Y = np.zeros((len(L), k))
    Y[live] = vectors[:, 1 : k + 1]
    return values[1 : k + 1], Y


@pytest.mark.parametrize("data", ["tall", "wide", "sparsified", "deficient_sparse_wide"])
@pytest.mark.parametrize("ridge", [0.01, 2.0])
def test_ridge_regression(data, ridge):
    rows, y = o.REGIMES[data]()
    A = o.dense(rows)
    L, D = o.knn(A, y, 4)
    values, targets = graph_vectors(L, D, 3)
    Xc = A - np.diag(D) @ A / np.trace(D)
    M = Xc.T @ D @ Xc
    rho = ridge * np.trace(M) / min(A.shape)
    expected = np.linalg.solve(M + rho * np.eye(len(M)), Xc.T @ D @ targets)
    model = literal(SpectralRegression, 3, graph=4, ridge=ridge).fit(rows)
    assert_allclose(model.eigenvalues_, values, atol=1e-9)
    assert_allclose(np.abs(model.components_), np.abs(expected.T), atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("is_sparse", [False, True])
def test_lasso(is_sparse):
    """The optimality conditions: a correlation with the residual of mu where a feature is in, at most mu where it is not."""
    rows, y = o.sparsified() if is_sparse else (X, Y)
    A = o.dense(rows)
    L, D = o.knn(A, y, 5)
    d = np.diag(D)
    _, targets = graph_vectors(L, D, 3)
    Xc = A - d @ A / d.sum()
    rho = 0.01 * np.trace(Xc.T @ D @ Xc) / min(A.shape)
    model = literal(SpectralRegression, 3, ridge=0.01, lasso=0.4).fit(rows)
    for v, target in zip(model.components_, targets.T, strict=True):
        target = target * np.sign(v @ Xc.T @ D @ target)
        mu = 0.4 * np.abs(Xc.T @ (d * target)).max()
        gradient = Xc.T @ (d * (target - Xc @ v)) - rho * v
        chosen = v != 0
        assert 0 < chosen.sum() < len(v)
        assert_allclose(gradient[chosen], mu * np.sign(v[chosen]), rtol=1e-4)
        assert (np.abs(gradient[~chosen]) <= mu * (1 + 1e-6)).all()


def test_a_lasso_does_not_depend_on_the_basis_that_a_solver_finds_for_classes():
    """Classes give equal eigenvalues. Rows in another order, the first of each class in its place, change no model."""
    X, y = load_wine(return_X_y=True)
    X, firsts = (X - X.mean(axis=0)) / X.std(axis=0), np.unique(y, return_index=True)[1]
    rest = np.random.RandomState(0).permutation(np.setdiff1d(np.arange(y.size), firsts))
    order = np.concatenate([firsts, rest])
    models = [
        SpectralRegression(2, graph="supervised", lasso=0.2, standardize=False).fit(X[rows], y[rows])
        for rows in (order, np.concatenate([firsts, rest[::-1]]), np.concatenate([firsts, np.sort(rest)]))
    ]
    for model in models[1:]:
        assert_allclose(model.components_, models[0].components_, atol=1e-7)


def test_fewer_features_with_a_larger_lasso():
    counts = [np.count_nonzero(SpectralRegression(3, lasso=lasso).fit(X).components_) for lasso in (0, 0.1, 0.5, 0.95)]
    assert counts[0] == 21 > counts[1] > counts[2] > counts[3] >= 3


def test_features_that_can_express_the_graph_give_lpp():
    """More of them than samples, thesis Prop. 2."""
    wide, _ = o.blobs(26, 40)
    found = literal(SpectralRegression, 3, graph=5, ridge=1e-9).fit(wide)
    expected = literal(LPP, 3, graph=5).fit(wide)
    assert o.angle(found.transform(wide).T, expected.transform(wide).T) < 1e-4
    assert_allclose(found.eigenvalues_, expected.eigenvalues_, atol=1e-8)


def test_documents_are_a_special_case():
    A = np.abs(X)
    unit = A / np.linalg.norm(A, axis=1)[:, None]
    graph = KNN(5, metric="cosine", weights="cosine")
    lpi = LPI(3, graph=graph, ridge=0.7, scaling="unit").fit(sparse.csr_array(A)).components_
    found = literal(SpectralRegression, 3, graph=graph, ridge=0.7).fit(unit).components_
    assert_allclose(np.abs(found) / np.linalg.norm(found, axis=1)[:, None], np.abs(lpi), rtol=1e-5)


def test_classes_of_which_some_are_unknown():
    y = o.unlabelled(Y)
    known = y >= 0
    model = literal(SpectralRegression, 2, graph=SameClass(), ridge=0.1).fit(X, y)
    only = literal(SpectralRegression, 2, graph=SameClass(), ridge=0.1).fit(X[known], y[known])
    assert o.angle(model.components_, only.components_) < 1e-6


@pytest.mark.parametrize(
    "wrong",
    [
        {"ridge": 0},
        {"ridge": -1},
        {"ridge": "auto"},
        {"lasso": 1.0},
        {"lasso": -0.1},
        {"lasso": True},
        {"graph": KNN(5, queries=9)},
    ],
    ids=str,
)
def test_what_is_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
        SpectralRegression(2, **wrong).fit(X)
