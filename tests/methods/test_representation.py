"""Graph-Laplacian PCA."""

import pickle
import warnings

import numpy as np
import oracles as o
import pytest
from helpers import literal
from scipy.linalg import subspace_angles
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from lapwing import GLPCA, L21PCA, LaplacianEigenmaps, RobustGLPCA
from lapwing.data import as_data
from lapwing.graphs import KNN, Precomputed, Repulsion, SameClass
from lapwing.problem import laplacian_sum

X, Y = o.blobs(100, 8)
SHAPES = {"tall": (100, 8), "wide": (100, 150), "many": (600, 30)}


def weights(S, k=5):
    return KNN(k).adjacency(as_data(S))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("beta", [0, 0.3, 0.5, 0.9, 1])
def test_agrees_with_the_definition(shape, beta):
    """Eq. 12 by a dense solver, the constant put last as in eq. 14."""
    S, _ = o.blobs(*shape)
    n = len(S)
    W = weights(S).toarray()
    L, Xc = np.diag(W.sum(axis=1)) - W, S - S.mean(axis=0)
    lam, xi = np.linalg.eigvalsh(Xc @ Xc.T)[-1], np.linalg.eigvalsh(L)[-1]
    G = (1 - beta) * (np.eye(n) - Xc @ Xc.T / lam) + beta * L / xi
    values, V = np.linalg.eigh(G + 10 * np.ones((n, n)) / n)
    fitted = GLPCA(3, beta=beta).fit(S)
    assert subspace_angles(fitted.embedding_, V[:, :3]).max() < 1e-7
    np.testing.assert_allclose(fitted.eigenvalues_, values[:3], atol=1e-9)
    Q = fitted.embedding_
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(fitted.components_, Q.T @ Xc, atol=1e-9)
    np.testing.assert_allclose(fitted.inverse_transform(Q), Q @ Q.T @ Xc + S.mean(axis=0), atol=1e-9)
    error = np.linalg.norm(Xc - Q @ Q.T @ Xc) / np.linalg.norm(Xc)
    assert fitted.reconstruction_error_ == pytest.approx(error, abs=1e-10)
    if beta < 1:
        assert fitted.alpha_ == pytest.approx(beta / (1 - beta) * lam / xi)


def test_beta_0_is_pca():
    fitted, pca = GLPCA(3, beta=0).fit(X), PCA(3).fit(X)
    np.testing.assert_allclose(np.abs(fitted.embedding_), np.abs(pca.transform(X) / pca.singular_values_), atol=1e-10)
    new = X[:20] + 0.3
    np.testing.assert_allclose(
        np.abs(fitted.transform(new)), np.abs(pca.transform(new) / pca.singular_values_), atol=1e-10
    )
    np.testing.assert_allclose(
        fitted.inverse_transform(fitted.transform(new)), pca.inverse_transform(pca.transform(new)), atol=1e-9
    )


@pytest.mark.parametrize("n", [100, 700])
def test_beta_1_is_laplacian_eigenmaps(n):
    S, _ = o.blobs(n, 8)
    fitted, maps = GLPCA(3, beta=1).fit(S), LaplacianEigenmaps(3, constraint="identity").fit(S)
    assert subspace_angles(fitted.embedding_, maps.embedding_).max() < 1e-7
    new = S[:20] + 0.01
    np.testing.assert_allclose(np.abs(fitted.transform(new)), np.abs(maps.transform(new)), atol=1e-6)


def test_beta_1_with_repulsion_is_laplacian_eigenmaps():
    """Of a graph that is not semidefinite, and on what would be a surface."""
    S = np.random.RandomState(0).standard_normal((700, 3))
    y, graph = (S[:, 0] > 0).astype(int), KNN(5) - 0.5 * Repulsion(20)
    L = laplacian_sum(graph.terms(as_data(S, y))).tosparse().toarray()
    V = np.linalg.eigh(L + 1e3 * np.ones((700, 700)) / 700)[1][:, :3]
    for model in (GLPCA(3, beta=1, graph=graph), LaplacianEigenmaps(3, constraint="identity", graph=graph)):
        assert subspace_angles(model.fit(S, y).embedding_, V).max() < 1e-7


@pytest.mark.parametrize("beta", [0.2, 0.5, 0.9])
def test_new_rows_are_exact_with_the_links_of_fitted_ones(beta):
    W = weights(X)
    fitted = GLPCA(3, beta=beta, graph=W).fit(X)
    np.testing.assert_allclose(fitted.transform(X, links=W), fitted.embedding_, atol=1e-9)


@pytest.mark.parametrize("beta", [0.1, 0.5, 0.9])
def test_new_rows_beside_a_fit_with_them(beta):
    """The coordinates of held-out digits against those of a fit that has them too, after the best rotation."""
    digits = load_digits().data
    train = np.arange(len(digits)) % 10 != 0
    part, whole = GLPCA(8, beta=beta, graph=10).fit(digits[train]), GLPCA(8, beta=beta, graph=10).fit(digits)
    turn = np.linalg.lstsq(part.embedding_, whole.embedding_[train], rcond=None)[0]
    placed = part.transform(digits[~train]) @ turn
    error = np.linalg.norm(placed - whole.embedding_[~train]) / np.linalg.norm(whole.embedding_[~train])
    assert error < 0.1  # the mean of the neighbours is 0.14 to 0.29 away
    classifier = KNeighborsClassifier(1).fit(part.embedding_, load_digits().target[train])
    assert classifier.score(part.transform(digits[~train]), load_digits().target[~train]) > 0.9


def test_poles_fall_back_to_the_neighbours():
    """A new row tied by very small weights has a factor near 0 when beta is large."""
    fitted = GLPCA(2, beta=0.99, graph=weights(X)).fit(X)
    links = np.zeros((1, 100))
    links[0, [3, 4]] = 1e-9
    placed = fitted.transform(X[:1] + 5, links=links)
    np.testing.assert_allclose(placed[0], fitted.embedding_[[3, 4]].mean(axis=0), atol=1e-6)


def test_a_graph_of_its_own_and_labels():
    rng = np.random.RandomState(0)
    noise = rng.standard_normal((90, 30))
    y = np.arange(90) % 3
    W = (y[:, None] == y).astype(float) - np.eye(90)
    fitted = GLPCA(2, beta=0.9, graph=Precomputed(W)).fit(noise)
    assert KNeighborsClassifier(1).fit(fitted.embedding_[:45], y[:45]).score(fitted.embedding_[45:], y[45:]) == 1
    for graph in (KNN(5) + SameClass(), KNN(5) - 0.1 * Repulsion(20)):
        assert np.isfinite(GLPCA(2, graph=graph).fit(X, Y).embedding_).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": -0.1}, "beta=-0.1"),
        ({"beta": 1.1}, "beta=1.1"),
        ({"beta": "half"}, "beta='half'"),
        ({"beta": True}, "beta=True"),
        ({"n_components": 100}, "n_components=100"),
        ({"n_components": 0}, "n_components=0"),
        ({"graph": 100}, "n_neighbors=100"),
    ],
)
def test_bad_parameters(options, message):
    fitted = GLPCA(2).fit(X).set_params(**options)
    with pytest.raises(ValueError, match=message):
        fitted.fit(X)
    with pytest.raises(NotFittedError):
        fitted.transform(X)
    with pytest.raises(ValueError, match="3 columns"):
        GLPCA(2).fit(X).inverse_transform(X[:, :3])


def test_a_graph_that_only_repels():
    graph = -1.0 * Repulsion(10)
    for model in (GLPCA(2, graph=graph), literal(RobustGLPCA, 2, graph=graph)):
        with pytest.raises(ValueError, match=r"draws no samples together.*KNN\(5\)"):
            model.fit(X, Y)
    found = GLPCA(2, beta=0, graph=graph).fit(X, Y).embedding_
    assert subspace_angles(found, GLPCA(2, beta=0).fit(X).embedding_).max() < 1e-7


@pytest.mark.parametrize("shift", [0, 1e4, 1e8])
def test_reconstruction_error_far_from_the_origin(shift):
    W = weights(X)
    fitted = GLPCA(3, graph=W).fit(X + shift)
    assert fitted.reconstruction_error_ == pytest.approx(GLPCA(3, graph=W).fit(X).reconstruction_error_, rel=1e-6)
    assert GLPCA(8, beta=0).fit(X + shift).reconstruction_error_ < 1e-13 * max(shift, 1)


def test_equal_rows_share_a_place():
    """As the docstring says: Q where rows differ, means where they do not."""
    rng = np.random.RandomState(0)
    S = (rng.uniform(size=(60, 3)) > 0.5).astype(float)
    W = np.triu(rng.uniform(size=(60, 60)) < 0.2, 1).astype(float)
    model = GLPCA(2, graph=W + W.T)
    Z = model.fit_transform(S)
    first = (S[0] == S).all(axis=1)
    assert np.ptp(model.embedding_[first], axis=0).max() > 0.01
    np.testing.assert_allclose(Z[first], model.embedding_[first].mean(axis=0) + np.zeros((first.sum(), 2)), atol=1e-12)


def test_scale_threads_and_single_precision():
    S, _ = o.blobs(600, 30)
    fitted = GLPCA(3, beta=0.5).fit(S)
    assert subspace_angles(fitted.embedding_, GLPCA(3, beta=0.5).fit(1e3 * S).embedding_).max() < 1e-6
    single = GLPCA(3, beta=0.5).fit(S.astype(np.float32))
    assert (fitted.solver_, single.solver_) == ("lanczos", "lanczos")
    assert single.embedding_.dtype == single.components_.dtype == single.mean_.dtype == np.float32
    assert subspace_angles(fitted.embedding_, single.embedding_.astype(float)).max() < 1e-3
    with threadpool_limits(1):
        one = clone(fitted).fit(S)
    assert subspace_angles(fitted.embedding_, one.embedding_).max() < 1e-8


@pytest.mark.parametrize("beta", [0.1, 0.9])
@pytest.mark.parametrize("shape", [(1500, 40), (600, 700)])
def test_single_precision_agrees_with_the_definition(beta, shape):
    S, _ = o.blobs(*shape)
    single = S.astype(np.float32)
    W = weights(S)
    double, found = (GLPCA(5, beta=beta, graph=W).fit(M) for M in (S, single))
    assert found.solver_ == "lanczos"
    np.testing.assert_allclose(found.scales_, double.scales_, rtol=1e-5)
    np.testing.assert_allclose(found.eigenvalues_, double.eigenvalues_, atol=1e-5)
    Q = found.embedding_.astype(float)
    np.testing.assert_allclose(Q.T @ Q, np.eye(5), atol=1e-5)
    kept = np.trace(double.embedding_.T @ Q @ Q.T @ double.embedding_)  # 5 where the spaces are equal
    assert kept > 5 - 1e-4
    assert found.reconstruction_error_ == pytest.approx(double.reconstruction_error_, abs=1e-4)


@pytest.mark.parametrize(("scale", "shift"), [(1e25, 0), (1e-25, 0), (1, 1e3)])
def test_single_precision_far_from_one(scale, shift):
    """Squares that single precision cannot hold, and a mean that drowns the differences."""
    S, _ = o.blobs(600, 30)
    W = weights(S)
    found, beside = (GLPCA(3, graph=W).fit(M.astype(np.float32)) for M in (scale * S + shift, S))
    assert subspace_angles(found.embedding_.astype(float), beside.embedding_.astype(float)).max() < 1e-3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_more_components_than_the_rank(dtype):
    rng = np.random.RandomState(0)
    S = (rng.standard_normal((600, 3)) @ rng.standard_normal((3, 40))).astype(dtype)
    for model in (GLPCA(5, beta=0), literal(L21PCA, 5)):
        with warnings.catch_warnings(action="ignore"):  # eigenvalues beyond the rank are equal
            Q = model.fit(S).embedding_
        np.testing.assert_allclose(np.c_[np.full(600, 600**-0.5), Q].T @ Q, np.eye(6, 5, -1), atol=1e-5)
        assert model.reconstruction_error_ < 1e-3


@pytest.mark.parametrize(
    "model", [GLPCA(2), literal(RobustGLPCA, 2, beta=0.1), literal(L21PCA, 2)], ids=lambda m: type(m).__name__
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stored_models_place_new_rows_alike(model, dtype):
    S = X.astype(dtype)
    fitted = clone(model).fit(S)
    new = S[:5] + dtype(0.1)
    placed = fitted.transform(new)
    assert placed.dtype == fitted.embedding_.dtype == fitted.components_.dtype == dtype
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(new), placed)
    np.testing.assert_array_equal(clone(fitted).fit(S).transform(new), placed)


# The robust form


def corrupted(seed=0, n=200, p=40, k=3, share=0.2):
    """A low-rank matrix with little noise, and a share of its rows grossly corrupted."""
    rng = np.random.RandomState(seed)
    T = np.linalg.qr(rng.standard_normal((p, k)))[0]
    S = 3 * rng.standard_normal((n, k)) @ T.T + 0.05 * rng.standard_normal((n, p))
    bad = rng.permutation(n)[: int(share * n)]
    S[bad] += 8 * rng.standard_normal((bad.size, p))
    return S, T, bad


def reweighted(S, k):
    """The L2,1 problem by iteratively reweighted least squares on the subspace: another algorithm."""
    w = np.ones(len(S))
    for _ in range(500):
        P = np.linalg.eigh((S * w[:, None]).T @ S)[1][:, -k:]
        lengths = np.linalg.norm(S - S @ P @ P.T, axis=1)
        w = 1 / np.maximum(lengths, 1e-8)
    return P, lengths.sum()


@pytest.mark.parametrize("seed", range(3))
def test_l21_pca_reaches_the_objective_of_another_algorithm(seed):
    S, T, bad = corrupted(seed=seed)
    fitted = literal(L21PCA, 3).fit(S)
    P, objective = reweighted(S - S.mean(axis=0), 3)
    assert fitted.objective_ == pytest.approx(objective, rel=5e-3)
    assert subspace_angles(fitted.components_.T, P).max() < 0.05
    pca = PCA(3).fit(S)
    assert subspace_angles(pca.components_.T, T).max() > 1
    assert subspace_angles(fitted.components_.T, T).max() < 0.5
    assert set(np.argsort(-np.linalg.norm(fitted.errors_, axis=1))[: bad.size]) == set(bad)
    assert fitted.violation_ < 1e-6


@pytest.mark.parametrize("n", range(3, 8))
def test_robust_forms_of_few_samples(n):
    """A basis of three blocks has no room in n - 1 dimensions."""
    rng = np.random.RandomState(n)
    S = rng.standard_normal((n, 2)) @ rng.standard_normal((2, 4)) + 0.1 * rng.standard_normal((n, 4))
    for k in {n // 2, min(2, n - 1), n - 1}:
        for model in (literal(L21PCA, k), literal(RobustGLPCA, k, graph=2)):
            Q = model.fit(S).embedding_
            np.testing.assert_allclose(np.c_[np.full(n, n**-0.5), Q].T @ Q, np.eye(k + 1, k, -1), atol=1e-10)
        fitted = literal(L21PCA, k).fit(S)
        best = reweighted(S - S.mean(axis=0), min(k, 4))[1]
        assert fitted.objective_ == pytest.approx(best, rel=5e-3, abs=1e-10)


@pytest.mark.parametrize(("n", "k"), [(100, 33), (100, 34), (90, 20), (90, 19), (401, 134)])
def test_robust_forms_of_many_components(n, k):
    S = np.random.RandomState(0).standard_normal((n, n // 2))
    Q = literal(L21PCA, k, max_iter=5, tol=10).fit(S).embedding_
    np.testing.assert_allclose(np.c_[np.full(n, n**-0.5), Q].T @ Q, np.eye(k + 1, k, -1), atol=1e-10)


def test_robust_objective_with_a_graph():
    """Beside a general optimiser of the smoothed problem, from the fit and from random starts."""
    S, _, _ = corrupted(n=20, p=6, k=2)
    fitted = literal(RobustGLPCA, 2, beta=0.3, graph=4, tol=1e-8).fit(S)
    L = KNN(4).build(S)[0].laplacian.toarray()
    Xc, alpha = S - S.mean(axis=0), fitted.alpha_

    def objective(z):
        Q = np.linalg.qr((lambda Z: Z - Z.mean(axis=0))(z[:40].reshape(20, 2)))[0]
        U = z[40:].reshape(6, 2)
        return np.sum(np.sqrt(np.sum((Xc - Q @ U.T) ** 2, axis=1) + 1e-10)) + alpha * np.trace(Q.T @ L @ Q)

    rng = np.random.RandomState(0)
    starts = [np.r_[fitted.embedding_.ravel(), fitted.components_.T.ravel()]]
    starts += [rng.standard_normal(52) for _ in range(4)]
    best = min(minimize(objective, z, method="L-BFGS-B", options={"maxfun": 40_000}).fun for z in starts)
    Q = fitted.embedding_
    own = np.linalg.norm(Xc - Q @ fitted.components_, axis=1).sum() + alpha * np.trace(Q.T @ L @ Q)
    assert fitted.objective_ == pytest.approx(own, rel=1e-6)
    assert own < best * 1.005


def test_robust_recovers_a_low_rank_matrix_where_pca_does_not():
    S, _, bad = corrupted()
    clean = np.delete(np.arange(len(S)), bad)
    truth = corrupted(share=0.0)[0]
    errors = [
        np.linalg.norm((model.inverse_transform(model.fit(S).transform(S)) - truth)[clean])
        / np.linalg.norm(truth[clean])
        for model in (literal(RobustGLPCA, 3, beta=0.1), literal(L21PCA, 3), PCA(3))
    ]
    assert errors[0] < 0.25
    assert errors[1] < 0.25
    assert errors[2] > 0.6


def test_scale_does_not_matter():
    S, _, _ = corrupted()
    fits = [literal(RobustGLPCA, 3, beta=0.3).fit(c * S) for c in (1.0, 1e3)]
    assert subspace_angles(fits[0].embedding_, fits[1].embedding_).max() < 1e-8
    assert fits[1].objective_ == pytest.approx(1e3 * fits[0].objective_)


def test_corruption_to_one_side_needs_the_median():
    rng = np.random.RandomState(0)
    T = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    S = 10 * rng.standard_normal((200, 3)) @ T.T + 0.05 * rng.standard_normal((200, 40))
    S[rng.permutation(200)[:40]] += 8 * np.abs(rng.standard_normal((40, 40)))
    mean, median = (literal(L21PCA, 3, center=center).fit(S) for center in ("mean", "median"))
    assert subspace_angles(median.components_.T, T).max() < 0.05
    assert subspace_angles(mean.components_.T, T).max() > 0.7
    np.testing.assert_allclose(mean.mean_, S.mean(axis=0))
    tied = literal(RobustGLPCA, 3, beta=0.1, center="median", graph=KNN(5, weights="binary")).fit(S)
    assert subspace_angles(tied.components_.T, T).max() < 0.3


def reweighted_affine(S, k):
    """As ``reweighted``, with a centre among the unknowns: the weighted mean."""
    w = np.ones(len(S))
    for _ in range(500):
        Xc = S - w @ S / w.sum()
        P = np.linalg.eigh((Xc * w[:, None]).T @ Xc)[1][:, -k:]
        w = 1 / np.maximum(np.linalg.norm(Xc - Xc @ P @ P.T, axis=1), 1e-8)
    return np.linalg.norm(Xc - Xc @ P @ P.T, axis=1).sum()


@pytest.mark.parametrize("seed", range(3))
def test_a_fitted_centre_is_the_best_one(seed):
    """Skewed data, whose median of each feature is far from where the data are."""
    rng = np.random.RandomState(seed)
    S = 3 * rng.exponential(size=(200, 3)) @ rng.standard_normal((3, 10)) + 0.05 * rng.standard_normal((200, 10))
    fitted = literal(L21PCA, 3, center="median").fit(S)
    Q, Xc = fitted.embedding_, S - fitted.mean_
    assert fitted.objective_ == pytest.approx(reweighted_affine(S, 3), rel=5e-3)
    assert fitted.objective_ == pytest.approx(reweighted(Xc, 3)[1], rel=5e-3)  # (1), for X less this centre
    own = np.linalg.norm(Xc - Q @ fitted.components_, axis=1).sum()
    assert fitted.objective_ == pytest.approx(own)
    assert fitted.reconstruction_error_ == pytest.approx(
        np.linalg.norm(Xc - Q @ fitted.components_) / np.linalg.norm(Xc)
    )
    np.testing.assert_allclose(Q.sum(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(fitted.transform(S + 1e-10), Q, atol=1e-6)
    np.testing.assert_allclose(literal(L21PCA, 3, center="median").fit(S + 5).mean_, fitted.mean_ + 5, rtol=1e-6)


def test_beta_0_is_l21_pca():
    S, _, _ = corrupted()
    robust, plain = literal(RobustGLPCA, 3, beta=0).fit(S), literal(L21PCA, 3).fit(S)
    assert subspace_angles(robust.embedding_, plain.embedding_).max() < 1e-8


def multipliers_step_by_step(X, k, alpha, L, rho, tol):
    """Equations 17 to 23 of the paper, each step with all eigenvectors of a dense matrix."""
    X = X - X.mean(axis=0)
    n, mu = len(X), 1 / np.linalg.norm(X, axis=1).mean()
    E, C, H = np.zeros_like(X), np.zeros_like(X), np.eye(n) - 1 / n
    gap = np.inf
    while gap > tol * np.linalg.norm(X):
        M = X - E - C / mu
        away = 2 * alpha / mu * np.trace(L) * (H - np.eye(n))  # the constant vector comes last
        Q = np.linalg.eigh(H @ (M @ M.T - 2 * alpha / mu * L) @ H + away)[1][:, -k:]
        shown = Q @ (Q.T @ M)
        A = X - shown - C / mu
        E = np.maximum(1 - 1 / (mu * np.linalg.norm(A, axis=1)), 0)[:, None] * A
        C += mu * (E - X + shown)
        gap, mu = np.linalg.norm(E - X + shown), rho * mu
    return Q


@pytest.mark.parametrize("beta", [0.0, 0.3])
@pytest.mark.parametrize("k", [2, 5])
def test_the_paper_preset_takes_the_printed_steps(k, beta):
    # With the paper's rho the end depends on each step, so that steps with nearly right eigenvectors end elsewhere.
    S = load_digits().data[:200]
    L = laplacian_sum(KNN(5).build(S)).toarray()
    fitted = RobustGLPCA(k, graph=KNN(5), beta=beta, preset="paper").fit(S)
    Q = multipliers_step_by_step(S, k, fitted.alpha_, L, 1.2, 1e-6)
    assert subspace_angles(fitted.embedding_, Q).max() < 1e-5


def test_new_rows_of_the_robust_form():
    S, _, _ = corrupted()
    plain = literal(L21PCA, 3).fit(S)
    new = S[:10] + 1e-9
    projected = np.linalg.lstsq(plain.components_.T, (new - plain.mean_).T, rcond=None)[0].T
    np.testing.assert_allclose(plain.transform(new), projected, atol=1e-6)
    W = weights(S)
    tied = literal(RobustGLPCA, 3, beta=0.3, graph=W).fit(S)
    placed = tied.transform(S[:5] + 1e-9, links=W[:5])
    for x, w, q in zip(S[:5], W[:5].toarray(), placed, strict=True):

        def part(z, x=x, w=w):
            pulled = np.sum(w * np.sum((z - tied.embedding_) ** 2, axis=1))
            return np.linalg.norm(x - tied.mean_ - z @ tied.components_) + tied.alpha_ * pulled

        assert part(q) <= minimize(part, q + 0.01, method="Nelder-Mead", options={"xatol": 1e-9}).fun + 1e-6


@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.parametrize("model", [literal(L21PCA, 2), literal(RobustGLPCA, 2)], ids=["L21PCA", "RobustGLPCA"])
def test_a_new_row_at_the_centre(model, scale):
    fitted = clone(model).fit(scale * X)
    placed = fitted.transform(fitted.mean_[None])
    beside = fitted.transform(fitted.mean_[None] + 1e-6 * scale)
    np.testing.assert_allclose(placed, beside, atol=1e-5)


def test_stopping_early_warns():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=5 .*raise max_iter"):
        fitted = literal(L21PCA, 3, max_iter=5).fit(corrupted()[0])
    assert fitted.n_iter_ == 5
    assert fitted.violation_ > 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rho": 1.0}, "rho=1.0 must be above 1"),
        ({"rho": -2}, "rho=-2"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"center": "mode"}, "center='mode' must be one of"),
        ({"beta": 1.0}, "beta=1.0 leaves nothing"),
        ({"n_components": 100}, "n_components=100"),
    ],
)
def test_bad_robust_parameters(options, message):
    fitted = literal(RobustGLPCA, 2).fit(X).set_params(**options)
    with pytest.raises(ValueError, match=message):
        fitted.fit(X)
    with pytest.raises(NotFittedError):
        fitted.transform(X)
