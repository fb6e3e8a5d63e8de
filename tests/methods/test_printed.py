"""``preset="paper"`` is the printed equation, written here once more from the papers with plain NumPy."""

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles

from lapwing import LPCA, LPP, NPE, RCA, TSA, KernelLPP, KernelNPE, TangentialMaps
from lapwing.graphs import CodingLength

N, D = 70, 6
RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(N, D)) * [1, 2, 0.5, 3, 1, 1.5] + [3, 0, -2, 5, 1, 0]
SQUARED = ((X[:, None] - X[None]) ** 2).sum(axis=2)


def neighbors(k):
    """The k nearest rows of each row."""
    return np.argsort(SQUARED + np.diag(np.full(N, np.inf)), axis=1)[:, :k]


def heat():
    """The Laplacian of five neighbours, thesis eq. 2.4, and its degrees."""
    near = np.zeros((N, N), dtype=bool)
    np.put_along_axis(near, neighbors(5), True, axis=1)
    W = (near | near.T) * np.exp(-SQUARED / SQUARED[near].mean())
    return np.diag(W.sum(axis=1)) - W, np.diag(W.sum(axis=1))


def reconstruction():
    """(I - W)ᵀ(I - W), thesis eq. 3.29."""
    W = np.zeros((N, N))
    for i, near in enumerate(neighbors(5)):
        G = (X[near] - X[i]) @ (X[near] - X[i]).T
        w = np.linalg.solve(G + 1e-3 * np.trace(G) * np.eye(5), np.ones(5))
        W[i, near] = w / w.sum()
    return (np.eye(N) - W).T @ (np.eye(N) - W)


def signed(V):
    return V * np.sign(V[np.abs(V).argmax(axis=0), range(V.shape[1])])


def coding_length(P, squared_distortion):
    """Eq. 24 of LPCA."""
    m, mean = len(P), P.mean(axis=0)
    scatter = (P - mean).T @ (P - mean)
    bits = (m + D) / 2 * np.linalg.slogdet(np.eye(D) + D / (squared_distortion * m) * scatter)[1]
    return bits + D / 2 * np.log(1 + mean @ mean / squared_distortion)


def coding_weights(P, k):
    """Eqs. 22 and 23 of LPCA."""
    squared = 10 * D / k
    change = np.array(
        [abs(coding_length(P, squared) - coding_length(np.delete(P, r, 0), squared)) for r in range(k + 1)]
    )
    return np.exp(-((change - change.mean()) ** 2) / (2 * change.var()))


def aligned(k, local):
    """The sum of ``local(patch, weights)`` over the patches of k neighbours."""
    L = np.zeros((N, N))
    for i, near in enumerate(neighbors(k)):
        patch = np.r_[i, near]
        L[np.ix_(patch, patch)] += local(X[patch], coding_weights(X[patch], k))
    return L


def scatter(P, w):
    """Eq. 6 of LPCA."""
    return np.diag(w) - np.outer(w, w) / w.sum()


def misfit(P, w):
    """Theorem 2 of LPCA, for two tangent coordinates."""
    H = np.eye(w.size) - np.outer(w, np.ones(w.size)) / w.sum()
    Q = np.linalg.svd(np.sqrt(w)[:, None] * (H.T @ P))[0][:, :2] / np.sqrt(w)[:, None]
    return H @ (np.eye(w.size) - Q @ np.linalg.inv(Q.T @ Q) @ Q.T) @ H.T


@pytest.mark.parametrize(("kernel", "accuracy"), [("linear", 1e-10), ("rbf", 1e-6)])
def test_kernels_are_not_centred(kernel, accuracy):
    """Thesis eqs. 3.17 and 3.32."""
    K = X @ X.T if kernel == "linear" else np.exp(-SQUARED / (D * X.var()))
    U, s, _ = np.linalg.svd(K)
    F = U[:, s > 1e-10 * s[0]] * s[s > 1e-10 * s[0]]
    for method, A, B in ((KernelLPP, *heat()), (KernelNPE, reconstruction(), np.eye(N))):
        values, V = eigh(F.T @ A @ F, F.T @ B @ F)
        model = method(3, kernel=kernel, preset="paper").fit(X)
        np.testing.assert_allclose(model.eigenvalues_, values[:3], atol=1e-10)
        np.testing.assert_allclose(signed(model.transform(X)), signed(F @ V[:, :3]), atol=accuracy)


def test_with_a_linear_kernel_the_algorithm_reduces_to_the_ordinary_one():
    """The thesis says so after eq. 3.4."""
    for linear, kernel in ((LPP, KernelLPP), (NPE, KernelNPE)):
        plain = linear(3, preset="paper").fit_transform(X)
        found = kernel(3, kernel="linear", preset="paper").fit_transform(X)
        np.testing.assert_allclose(signed(found), signed(plain), atol=1e-10)


def test_images_are_not_centred():
    """Thesis eqs. 7.9 and 7.10, in three rounds from the identity."""
    (L, degrees), images = heat(), X.reshape(N, 2, 3)

    def unit_directions(F, count):
        """Those of the sums of Fᵢ Fⱼᵀ under L and D."""
        values, V = eigh(*(np.einsum("nik,nm,mjk->ij", F, M, F) for M in (L, degrees)))
        return values[:count], V[:, :count] / np.linalg.norm(V[:, :count], axis=0)

    U = np.eye(2)
    for _ in range(3):
        _, V = unit_directions(np.einsum("nij,ik->njk", images, U), 2)
        values, U = unit_directions(np.einsum("nij,jk->nik", images, V), 1)
    model = TSA((1, 2), preset="paper").fit(images)
    assert not model.mean_.any()
    np.testing.assert_allclose(TSA((1, 2)).fit(images).mean_, images.mean(axis=0))
    with pytest.raises(ValueError, match="center='degree' must be one of 'auto', 'mean', False"):
        TSA((1, 2), center="degree").fit(images)
    np.testing.assert_allclose(model.eigenvalues_[0], values, atol=1e-10)
    for found, expected in zip(model.components_, (U, V), strict=True):
        np.testing.assert_allclose(found.T, signed(expected), atol=1e-10)


def test_patches_are_coded_about_the_origin():
    values, V = np.linalg.eigh(X.T @ aligned(5, scatter) @ X)
    model = LPCA(3, preset="paper").fit(X)
    np.testing.assert_allclose(model.eigenvalues_, -values[::-1][:3], rtol=1e-10)
    np.testing.assert_allclose(model.components_.T, signed(V[:, ::-1][:, :3]), atol=1e-10)
    assert repr(model.graph_) == "CodingLength(5, origin=0)"
    assert repr(LPCA(3).fit(X).graph_) == "CodingLength(5)"
    assert repr(LPCA(3, graph=CodingLength(5), preset="paper").fit(X).graph_) == "CodingLength(5)"
    values, Y = np.linalg.eigh(aligned(12, misfit) + 10)  # the constant goes last
    model = TangentialMaps(2, preset="paper").fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values[:2], atol=1e-10)
    np.testing.assert_allclose(model.embedding_, signed(Y[:, :2]), atol=1e-10)


def test_components_of_pairs_have_no_ridge():
    pairs = RANDOM.permutation(N)[:40].reshape(20, 2)
    apart = X[pairs[:, 0]] - X[pairs[:, 1]]
    values, V = eigh(np.cov(X.T, bias=True), apart.T @ apart / 40)
    model = RCA(3, pairs=pairs, preset="paper").fit(X)
    np.testing.assert_allclose(model.eigenvalues_, -values[::-1][:3], rtol=1e-10)
    assert subspace_angles(model.components_.T, V[:, ::-1][:, :3]).max() < 1e-10
    assert model.settings_["ridge"] == 0
    measured, written = RCA(3, pairs=pairs).fit(X), RCA(3, pairs=pairs, ridge=1.0).fit(X)
    np.testing.assert_array_equal(measured.components_, written.components_)
    assert RCA(3, pairs=pairs, ridge=0.5, preset="paper").fit(X).settings_["ridge"] == 0.5
