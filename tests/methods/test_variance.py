"""Principal components of another kind, against their definitions and special cases."""

import numpy as np
import oracles as o
import pytest
from helpers import literal
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.base import clone
from sklearn.decomposition import PCA
from sparse_kinds import random_csr

from lapwing import GLPCA, MULTISPATI, OLPP, ContrastivePCA, GraphPCA
from lapwing.data import as_data
from lapwing.graphs import KNN, Delaunay, Precomputed, Repulsion, SameClass, Similarity
from lapwing.operators import Structured, identity

X, Y = o.blobs(60, 7)
RNG = np.random.RandomState(0)
PLACES = RNG.rand(60, 2)
W = o.knn_weights(PLACES, None, 4, "binary")  # a graph of places, not of features
REGIMES = ["tall", "wide", "sparsified", "deficient", "deficient_sparse_wide"]


def leading(M, X, k):
    """The k largest eigenvalues and their vectors among the directions that X has."""
    N = o.basis(o.dense(X) - o.dense(X).mean(axis=0), 1e-9)
    values, vectors = np.linalg.eigh(N.T @ M @ N)
    return values[::-1], (N @ vectors)[:, ::-1][:, :k].T


# Smooth over a graph


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("alpha", [0.3, 5.0])
def test_graph_pca_is_its_definition(regime, alpha):
    """With the dense inverse that the method itself never forms."""
    data, y = o.REGIMES[regime]()
    L, _ = o.knn(o.dense(data), y, 4)
    Xc = o.dense(data) - o.dense(data).mean(axis=0)
    values, _ = leading(Xc.T @ np.linalg.inv(np.eye(len(Xc)) + alpha * L) @ Xc, data, 1)
    k = o.gap(-values)
    expected = leading(Xc.T @ np.linalg.inv(np.eye(len(Xc)) + alpha * L) @ Xc, data, k)[1]
    model = literal(GraphPCA, k, graph=KNN(4), alpha=alpha).fit(data)
    assert o.angle(model.components_, expected) < 1e-6
    assert_allclose(-model.eigenvalues_, values[:k], rtol=1e-8)
    assert model.rank_ == len(values)


def test_graph_pca_is_the_minimum_of_its_objective():
    """Of ||X - Z V'||² + lambda tr(Z'LZ): no other directions, with the best Z for them or another Z, do better."""
    L = np.diag(W.sum(axis=1)) - W
    Xc = X - X.mean(axis=0)

    def objective(Z, V):
        return np.sum((Xc - Z @ V) ** 2) + 2.0 * np.trace(Z.T @ L @ Z)

    model = literal(GraphPCA, 3, graph=W, alpha=2.0).fit(X)
    V, Z = model.components_, model.smoothed(X)
    assert_allclose(Z, np.linalg.solve(np.eye(60) + 2 * L, Xc @ V.T), atol=1e-10)
    least = objective(Z, V)
    for _ in range(20):
        other = np.linalg.qr((V + 0.05 * RNG.standard_normal(V.shape)).T)[0].T
        assert objective(np.linalg.solve(np.eye(60) + 2 * L, Xc @ other.T), other) > least
        assert objective(Z + 0.01 * RNG.standard_normal(Z.shape), V) > least


def test_graph_pca_between_pca_and_the_graph():
    assert o.angle(literal(GraphPCA, 3, alpha=0.0).fit(X).components_, PCA(3).fit(X).components_) < 1e-8
    roughness = [
        np.trace(Z.T @ (np.diag(W.sum(axis=1)) - W) @ Z) / np.sum(Z**2) for Z in map(smoothed, (0.0, 1.0, 50.0))
    ]
    assert (np.diff(roughness) < 0).all()


def smoothed(alpha):
    return GraphPCA(2, graph=W, alpha=alpha).fit(X).smoothed(X)


def test_other_samples_have_a_graph_of_their_own():
    model = literal(GraphPCA, 2, graph=3).fit(X)
    new = X[:25] + 0.1
    L, _ = o.knn(new, None, 3, weights="binary")
    assert_allclose(model.smoothed(new), np.linalg.solve(np.eye(25) + L, model.transform(new)), atol=1e-10)


def test_graph_pca_forms_no_dense_matrix():
    """20,000 places would take 3.2 GB."""
    n = 20_000
    ring = sparse.diags_array([1.0, 1.0, 1.0, 1.0], offsets=[1, -1, n - 1, 1 - n], shape=(n, n), format="csr")
    waves = np.c_[np.sin(np.arange(n) / 500), RNG.standard_normal((n, 3))]
    model = GraphPCA(1, graph=ring, alpha=100.0).fit(waves)
    assert abs(model.components_[0, 0]) > 0.999


@pytest.mark.parametrize("method", [GraphPCA, MULTISPATI])
@pytest.mark.parametrize("graph", [KNN(5) - 0.1 * Repulsion(9), KNN(5, queries=20), Similarity(KNN(5))], ids=repr)
def test_graphs_that_are_refused(method, graph):
    with pytest.raises(ValueError, match="needs all of a graph that attracts"):
        method(2, graph=graph).fit(X, Y)


@pytest.mark.parametrize("method", [GraphPCA, ContrastivePCA])
@pytest.mark.parametrize("alpha", [-1.0, np.inf, True, "much"])
def test_alpha_that_is_refused(method, alpha):
    with pytest.raises(ValueError, match="alpha="):
        method(2, alpha=alpha).fit(X, Y)


def test_an_operator_among_structured_matrices():
    """Sums, multiples, products, the diagonal; what it cannot do is said."""
    M = RNG.standard_normal((60, 60))
    M = M + M.T
    R = Structured(60, rest=LinearOperator((60, 60), matvec=lambda v: M @ v, matmat=lambda V: M @ V, dtype=float))
    total = 2 * R + identity(60) - R
    assert_allclose(total.toarray(), M + np.eye(60), atol=1e-12)
    assert_allclose(total.diagonal(), np.diag(M) + 1, atol=1e-12)
    assert_allclose(total.operator() @ X, M @ X + X, atol=1e-10)
    assert not total.is_diagonal
    with pytest.raises(ValueError, match="has no sparse form"):
        total.tosparse()


# Neighbours that are alike


@pytest.mark.parametrize("regime", REGIMES)
def test_multispati_is_its_definition(regime):
    """Dray et al. (2008): X' (W + W') X / 2n for row-standardised W and centred X."""
    data, y = o.REGIMES[regime]()
    weights = o.knn_weights(o.dense(data), y, 4, "binary")
    standardised = weights / weights.sum(axis=1, keepdims=True)
    Xc = o.dense(data) - o.dense(data).mean(axis=0)
    M = Xc.T @ (standardised + standardised.T) @ Xc / (2 * len(Xc))
    values, _ = leading(M, data, 1)
    k = o.gap(-values)
    model = literal(MULTISPATI, k, graph=4).fit(data)
    assert o.angle(model.components_, leading(M, data, k)[1]) < 1e-6
    assert_allclose(-model.eigenvalues_, values[:k], rtol=1e-8)


def test_multispati_is_variance_times_autocorrelation():
    """Each eigenvalue is the variance of its scores times their Moran's I, by the double sum that defines it."""
    model = literal(MULTISPATI, 7, graph=W).fit(X)
    standardised = W / W.sum(axis=1, keepdims=True)
    for z, value in zip(model.transform(X).T, model.eigenvalues_, strict=True):
        moran = sum(standardised[i, j] * z[i] * z[j] for i in range(60) for j in range(60)) / np.sum(z**2)
        assert -value == pytest.approx(np.var(z) * moran)
    assert model.eigenvalues_[0] < 0 < model.eigenvalues_[-1]


def test_multispati_of_as_many_neighbours_is_a_similarity():
    """Where every sample has as many, row-standardised weights are a multiple of the weights."""
    ring = np.roll(np.eye(60), 1, axis=1) + np.roll(np.eye(60), -1, axis=1)
    similar = literal(OLPP, 3, graph=Similarity(Precomputed(ring))).fit(X)
    model = literal(MULTISPATI, 3, graph=ring).fit(X)
    assert_allclose(model.eigenvalues_ * 60 * 2, similar.eigenvalues_, rtol=1e-9)
    assert o.angle(model.components_, similar.components_) < 1e-8


def test_multispati_of_a_sample_without_neighbours():
    alone = W.copy()
    alone[0] = alone[:, 0] = 0
    assert np.isfinite(MULTISPATI(2, graph=alone).fit_transform(X)).all()


# In contrast to a background


def covariances(alpha, interest, background):
    C, C_b = (np.cov(X[rows].T, bias=True) for rows in (interest, background))
    return C - alpha * C_b


@pytest.mark.parametrize("alpha", [0.0, 0.7, 3.0])
def test_contrastive_pca_is_its_definition(alpha):
    values, V = leading(covariances(alpha, Y != 0, Y == 0), X, 3)
    model = literal(ContrastivePCA, 3, alpha=alpha).fit(X, Y)
    assert o.angle(model.components_, V) < 1e-7
    assert_allclose(-model.eigenvalues_, values[:3], rtol=1e-9)
    if alpha == 0:
        assert o.angle(model.components_, PCA(3).fit(X[Y != 0]).components_) < 1e-7


def test_the_background_by_its_label():
    names = np.array(["case", "healthy", "other"])[Y]
    expected = literal(ContrastivePCA, 3).fit(X, Y != 1)  # False is the background
    found = literal(ContrastivePCA, 3, background="healthy").fit(X, names)
    assert_allclose(found.components_, expected.components_, atol=1e-10)
    unknown = np.where(np.arange(60) < 20, -1, Y)  # rows without a label are neither
    found = literal(ContrastivePCA, 2, background=2).fit(X, unknown)
    assert o.angle(found.components_, leading(covariances(1.0, np.isin(unknown, [0, 1]), unknown == 2), X, 2)[1]) < 1e-7
    with pytest.raises(ValueError, match="background='sick' is no label in y, which has case, healthy, other"):
        ContrastivePCA(2, background="sick").fit(X, names)
    with pytest.raises(ValueError, match="one class only"):
        ContrastivePCA(2).fit(X, np.zeros(60))


def test_contrastive_pca_finds_what_pca_does_not():
    """Two groups that differ in a quiet feature, drowned by loud ones that the background has, too."""
    rng = np.random.RandomState(0)
    interest = rng.standard_normal((200, 6)) * [10, 8, 1, 1, 1, 1]
    groups = np.repeat([0, 1], 100)
    interest[:, 3] += 3 * groups
    background = rng.standard_normal((150, 6)) * [10, 8, 1, 1, 1, 1]
    data, y = np.r_[interest, background], np.r_[np.ones(200), np.zeros(150)]
    model = ContrastivePCA(1, alpha=3.0, standardize=False).fit(data, y)
    assert abs(model.components_[0, 3]) > 0.95
    assert abs(PCA(1).fit(interest).components_[0, 3]) < 0.1


@pytest.mark.parametrize("model", [GraphPCA(2), MULTISPATI(2), ContrastivePCA(2)], ids=repr)
def test_they_invert_exactly_and_take_sparse_rows(model):
    fitted = clone(model).set_params(n_components=None).fit(X, Y)
    assert_allclose(fitted.inverse_transform(fitted.transform(X)), X, atol=1e-8)
    data, y = o.sparsified()
    dense, thin = (clone(model).fit(rows, y).components_ for rows in (data.toarray(), data))
    assert o.angle(dense, thin) < 1e-8


def test_other_methods_with_a_graph_of_places():
    """The same matrix goes to OLPP and GLPCA; a class graph goes here."""
    for method in (OLPP, GLPCA):
        assert method(2, graph=W).fit(X).graph_.adjacency is not None
    assert GraphPCA(2, graph=SameClass()).fit(X, Y).components_.shape == (2, 7)


def sparse_rows(n=700, d=510, filled=0.05):
    rng = np.random.RandomState(0)
    return sparse.csr_array(random_csr((n, d), filled) @ sparse.diags_array(np.linspace(3, 0.2, d))), rng.uniform(
        size=(n, 2)
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("pca", [None, 5])
@pytest.mark.parametrize("kind", [GraphPCA, MULTISPATI])
def test_a_variance_about_the_origin(kind, pca, form):
    """Unlike a Laplacian, these matrices see where the origin is."""
    rows = X + 3
    model = kind(2, center=False, pca=pca, standardize=False).fit(form(rows))
    A = sum(t.coefficient * t.laplacian.toarray() for t in kind(2).problem(rows).minimise)
    N = np.eye(7) if pca is None else np.linalg.svd(rows - rows.mean(axis=0))[2][:pca].T
    values, V = np.linalg.eigh(N.T @ rows.T @ A @ rows @ N)
    np.testing.assert_allclose(model.eigenvalues_, values[:2], rtol=1e-9)
    assert o.angle(model.components_.T, N @ V[:, :2]) < 1e-7
    assert not model.mean_.any()


@pytest.mark.parametrize("kind", [GraphPCA, MULTISPATI, ContrastivePCA])
def test_few_directions_of_sparse_rows_are_found_by_products(kind):
    X, places = sparse_rows()
    X = sparse.csr_array(X @ sparse.diags_array((~np.isin(np.arange(510), [4, 7])).astype(float)))  # constant columns
    options = {} if kind is ContrastivePCA else {"graph": Delaunay().adjacency(as_data(places))}
    y = np.arange(X.shape[0]) % 2
    model, dense = (kind(4, standardize=False, **options).fit(rows, y) for rows in (X, X.toarray()))
    assert (model.solver_, model.rank_, dense.solver_, dense.rank_) == ("lanczos", None, "dense", 508)
    np.testing.assert_allclose(model.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.components_, dense.components_, atol=1e-7)
    np.testing.assert_allclose(model.transform(X), dense.transform(X.toarray()), atol=1e-7)
    np.testing.assert_allclose(model.explained_ratio_, dense.explained_ratio_, rtol=1e-9)
    assert model.certificate_.holds


def test_directions_that_sparse_rows_do_not_have_are_not_given():
    X, places = sparse_rows()
    X = sparse.csr_array(X @ sparse.diags_array((np.arange(510) < 3).astype(float)))
    W = Delaunay().adjacency(as_data(places))
    assert np.abs(GraphPCA(3, graph=W).fit(X).components_[:, 3:]).max() < 1e-15
    with pytest.raises(ValueError, match="n_components=4 is more than the 3 directions"):
        GraphPCA(4, graph=W).fit(X)
