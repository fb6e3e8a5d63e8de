"""``constraint=``: orthogonal directions of linear and kernel maps, and the ratio of traces."""

import numpy as np
import oracles as o
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

import lapwing
from lapwing import LPCA, LPP, MFA, OLPP, ONPP, KernelLPP
from lapwing.graphs import KNN, CodingLength, Complete, OtherClass, Reconstruction, Repulsion, SameClass
from lapwing.problem import ORTHOGONAL, laplacian_sum
from lapwing.testing import check_map

X, Y = o.blobs(60, 6)
PLAIN = {"pca": None, "standardize": False}
RATIOS = [
    LPP(2, graph="supervised", constraint="trace-ratio", **PLAIN),
    LPP(2, graph=KNN(5), constraint="trace-ratio", **PLAIN),
    LPP(2, graph=KNN(5), penalty=Repulsion(30), constraint="trace-ratio", **PLAIN),
    LPP(2, graph=SameClass(), penalty=OtherClass(), constraint="trace-ratio", **PLAIN),
    MFA(2, constraint="trace-ratio", **PLAIN),
    LPP(2, graph=KNN(5) - 0.1 * Complete(), constraint="trace-ratio", center=False, **PLAIN),
]


def least_ratio(A, B, k):
    """By bisection: f(rho), the sum of the k smallest eigenvalues of A - rho B, falls and is 0 at the least ratio."""
    low, high = -1e3, 1e3
    for _ in range(200):
        middle = (low + high) / 2
        negative = np.linalg.eigvalsh(A - middle * B)[:k].sum() < 0
        low, high = (low, middle) if negative else (middle, high)
    values, V = np.linalg.eigh(A - low * B)
    return low, values[:k], V[:, :k]


def forms(estimator, data, labels, F):
    problem = estimator.problem(data, labels)
    A = laplacian_sum(problem.minimise).toarray()
    if problem.subject_to is ORTHOGONAL:
        return F.T @ A @ F, None
    D = problem.subject_to.toarray()
    mean = (
        0
        if estimator.center is False
        else np.diag(D) @ F / np.trace(D)
        if problem.degrees is not None
        else F.mean(axis=0)
    )
    return F.T @ A @ F, (F - mean).T @ D @ (F - mean)


@pytest.mark.parametrize("estimator", RATIOS, ids=str)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_ratio_of_traces_is_the_least(estimator, make):
    model = clone(estimator).fit(make(X), Y)
    A, B = forms(estimator, X, Y, X)
    ratio, values, V = least_ratio(A, B, 2)
    assert model.trace_ratio_ == pytest.approx(ratio, rel=1e-9)
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-8 * np.abs(A).max())
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2), atol=1e-12)
    assert subspace_angles(model.components_.T, V).max() < 1e-6
    W = model.components_.T
    pencil = clone(estimator).set_params(constraint="matrix", scaling="unit", ridge=0.0).fit(X, Y).components_.T
    Q = np.linalg.qr(pencil)[0]
    assert np.trace(W.T @ A @ W) / np.trace(W.T @ B @ W) <= np.trace(Q.T @ A @ Q) / np.trace(Q.T @ B @ Q) + 1e-12
    check_map(estimator, X, Y)


def test_discriminant_analysis_by_traces():
    """The least within over total is the largest between over within, as its authors put it."""
    within = sum((X[c == Y] - X[c == Y].mean(axis=0)).T @ (X[c == Y] - X[c == Y].mean(axis=0)) for c in range(3))
    between = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0)) - within
    V = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0]
    for _ in range(100):  # the iteration of Wang et al., CVPR 2007
        ratio = np.trace(V.T @ between @ V) / np.trace(V.T @ within @ V)
        V = np.linalg.eigh(between - ratio * within)[1][:, -2:]
    model = LPP(2, graph="supervised", constraint="trace-ratio", **PLAIN).fit(X, Y)
    assert subspace_angles(model.components_.T, V).max() < 1e-7
    assert model.trace_ratio_ == pytest.approx(1 / (1 + ratio))


def test_more_columns_than_rows_and_truncation():
    wide = np.random.default_rng(0).normal(size=(20, 50)) + 2 * np.eye(3, 50)[Y[:20]]
    for pca in (None, 5, 0.9, "auto"):
        model = LPP(2, graph=KNN(4), penalty=Complete(), constraint="trace-ratio", pca=pca, standardize=False).fit(wide)
        U, s, Vt = np.linalg.svd(wide - wide.mean(axis=0), full_matrices=False)
        F = (U * s)[:, : model.n_pca_]
        A, B = forms(clone(model), wide, None, F)
        ratio, _, V = least_ratio(A, B, 2)
        assert model.trace_ratio_ == pytest.approx(ratio, rel=1e-8)
        assert subspace_angles(model.components_.T, Vt[: model.n_pca_].T @ V).max() < 1e-6


def test_weights_and_streams_take_it():
    estimator = LPP(2, graph=SameClass(), penalty=OtherClass(), constraint="trace-ratio")
    w = np.random.default_rng(0).integers(0, 4, len(X))
    weighed = clone(estimator).fit(X, Y, sample_weight=w)
    repeated = clone(estimator).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    np.testing.assert_allclose(weighed.components_, repeated.components_, atol=1e-9)
    streamed = clone(estimator).partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:])
    np.testing.assert_allclose(streamed.components_, clone(estimator).fit(X, Y).components_, atol=1e-9)


PAIRS = {
    "OLPP": (OLPP(2, **PLAIN), KNN(5)),
    "supervised": (OLPP(2, graph=SameClass(), **PLAIN), SameClass()),
    "repulsion": (OLPP(2, graph=KNN(5) - 0.2 * Repulsion(30), normalize=None, **PLAIN), KNN(5) - 0.2 * Repulsion(30)),
    "ONPP": (ONPP(2, **PLAIN), Reconstruction(5)),
    "LPCA": (LPCA(2, **PLAIN), -CodingLength(5)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_linear_kernel_is_the_linear_map(name):
    linear, graph = PAIRS[name]
    Z = clone(linear).fit(X, Y).transform(X)
    for kernel in (
        KernelLPP(2, graph=graph, kernel="linear", constraint="orthogonal", normalize=None, **PLAIN),
        LPP(2, graph=graph, constraint="orthogonal", normalize=None, **PLAIN),
    ):
        model = kernel.fit(X, Y)
        np.testing.assert_allclose(model.eigenvalues_, linear.fit(X, Y).eigenvalues_, rtol=1e-8)
        found = model.transform(X)
        np.testing.assert_allclose(np.abs(found), np.abs(Z), atol=1e-7 * np.abs(Z).max())


@pytest.mark.parametrize(
    "graph", [KNN(5), SameClass(), Reconstruction(5), -CodingLength(5), KNN(5) - 0.2 * Repulsion(30)], ids=str
)
@pytest.mark.parametrize("pca", [None, 6])
def test_orthogonal_directions_of_a_kernel(graph, pca):
    """Against the coefficients of all features of the centred kernel, found densely."""
    gamma = 0.1
    model = KernelLPP(2, graph=graph, gamma=gamma, constraint="orthogonal", normalize=None, pca=pca, standardize=False)
    L = laplacian_sum(model.problem(X, Y).minimise).toarray()
    K = rbf_kernel(X, gamma=gamma)
    J = np.eye(len(X)) - 1 / len(X)
    values, U = np.linalg.eigh(J @ K @ J)
    kept = values > 1e-12 * values[-1] if pca is None else np.arange(len(X)) >= len(X) - pca
    F = U[:, kept] * np.sqrt(values[kept])
    expected, V = np.linalg.eigh(F.T @ L @ F)
    model.fit(X, Y)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(model.eigenvalues_, expected[:2], atol=1e-9 * scale)
    if pca is not None:
        assert subspace_angles(model.transform(X), F @ V[:, :2]).max() < 1e-6
        np.testing.assert_allclose(model.dual_coef_ @ (J @ K @ J) @ model.dual_coef_.T, np.eye(2), atol=1e-9)


def test_the_map_of_orthogonal_directions():
    check_map(KernelLPP(2, graph=-CodingLength(5), gamma=0.1, constraint="orthogonal"), X, Y)


def test_kernel_pca():
    model = KernelLPP(3, graph=-Complete(), gamma=0.1, constraint="orthogonal", pca=None, standardize=False).fit(X)
    Z = KernelPCA(3, kernel="rbf", gamma=0.1).fit_transform(X)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(Z), atol=1e-8)


@pytest.mark.parametrize("landmarks", [None, 60])
def test_the_ratio_of_traces_of_kernels(landmarks):
    options = {"constraint": "trace-ratio", "graph": KNN(5), "penalty": Repulsion(30), "standardize": False, "pca": 6}
    linear = LPP(2, **options).fit(X, Y)
    model = KernelLPP(2, kernel="linear", landmarks=landmarks, random_state=0, **options).fit(X, Y)
    assert model.trace_ratio_ == pytest.approx(linear.trace_ratio_, rel=1e-8)
    Z = linear.transform(X)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(Z), atol=1e-6 * np.abs(Z).max())


def test_what_goes_together(tmp_path):
    with pytest.raises(ValueError, match="has no part"):
        LPP(graph=KNN(3), penalty=15, constraint="orthogonal").fit(X, Y)
    with pytest.raises(ValueError, match=r"ridge=0\.5 is added"):
        LPP(ridge=0.5, constraint="trace-ratio").fit(X)
    with pytest.raises(ValueError, match="constraint='ratio' must be one of"):
        LPP(constraint="ratio").fit(X)
    model = LPP(2, graph="supervised", constraint="trace-ratio").fit(X, Y)
    lapwing.save(model, tmp_path / "model")
    same = lapwing.load(tmp_path / "model")
    assert same.trace_ratio_ == model.trace_ratio_
    np.testing.assert_array_equal(same.transform(X), model.transform(X))
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=np.ptp(X))


@pytest.mark.parametrize("graph", [None, "supervised"])
def test_orthogonal_lpp_is_olpp_by_default_too(graph):
    same, olpp = LPP(2, graph=graph, constraint="orthogonal").fit(X, Y), OLPP(2, graph=graph).fit(X, Y)
    np.testing.assert_array_equal(same.components_, olpp.components_)
    assert same.n_pca_ == olpp.n_pca_
