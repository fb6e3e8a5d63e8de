"""Semi-NMF beside its definition, its relatives and scikit-learn."""

import pickle
from itertools import product

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from lapwing_papers.factorisation import SemiNMF

X, Y = make_blobs(60, 6, centers=3, random_state=0)
RNG = np.random.RandomState(0)
MIXED = RNG.standard_normal((50, 8))
START = RNG.uniform(0.1, 1, (50, 3))


@parametrize_with_checks([SemiNMF(), SemiNMF(2, init="random", n_init=3)])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_fitted_models():
    fitted = SemiNMF(3, random_state=0).fit(X)
    assert adjusted_rand_score(Y, fitted.labels_) == 1
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    np.testing.assert_array_equal(SemiNMF(3, random_state=0).fit_predict(X), fitted.labels_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X + 0.01), fitted.labels_)
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 "),
        ({"n_clusters": 2.0}, "n_clusters=2.0"),
        ({"n_clusters": 61}, "n_clusters=61 .*n_samples=60"),
        ({"n_init": 0}, "n_init=0"),
        ({"n_init": "auto"}, "n_init='auto'"),
        ({"random_state": "seed"}, "seed"),
    ],
)
def test_bad_parameters(options, message):
    fitted = SemiNMF(3, random_state=0).fit(X).set_params(**options)
    with pytest.raises(ValueError, match=message):
        fitted.fit(X)
    with pytest.raises(NotFittedError):
        fitted.predict(X)


def one_step(S, F, G):
    """Eq. 11 of the paper, entry by entry."""
    plus, minus = (lambda a: (abs(a) + a) / 2), (lambda a: (abs(a) - a) / 2)
    new = np.empty_like(G)
    for i, k in product(range(G.shape[0]), range(G.shape[1])):
        xf = S[i] @ F[:, k]
        above = plus(xf) + sum(G[i, m] * minus(F[:, m] @ F[:, k]) for m in range(G.shape[1]))
        below = minus(xf) + sum(G[i, m] * plus(F[:, m] @ F[:, k]) for m in range(G.shape[1]))
        new[i, k] = G[i, k] * np.sqrt(above / below)
    return new


def components(S, G):
    """The normal equations of F."""
    return np.linalg.solve(G.T @ G, G.T @ S).T


@pytest.mark.parametrize("scale", [1e160, 1e-160])
def test_data_out_of_range(scale):
    with pytest.raises(ValueError, match="leave the range of floating point"):
        SemiNMF(3, random_state=0).fit(scale * MIXED)


@pytest.mark.parametrize("scale", [1e100, 1e-100])
def test_scale_does_not_matter(scale):
    one, other = (SemiNMF(3, init=START).fit(c * MIXED) for c in (1, scale))
    assert other.reconstruction_err_ == pytest.approx(scale * one.reconstruction_err_)


@pytest.mark.filterwarnings("ignore:SemiNMF stopped")
def test_steps_follow_the_definition():
    G, expected = START, []
    F = components(MIXED, G)
    for _ in range(4):
        G = one_step(MIXED, F, G)
        F = components(MIXED, G)
        expected.append(np.sum((MIXED - G @ F.T) ** 2))
    fitted = SemiNMF(3, init=START, max_iter=4, tol=0).fit(MIXED)
    np.testing.assert_allclose(fitted.loss_curve_, expected, rtol=1e-12)
    assert fitted.n_iter_ == 4
    directions = fitted.components_ / np.linalg.norm(fitted.components_, axis=1, keepdims=True)
    np.testing.assert_allclose(directions, (F / np.linalg.norm(F, axis=0)).T, atol=1e-10)


@pytest.mark.filterwarnings("ignore:SemiNMF stopped")
@pytest.mark.parametrize("init", ["kmeans", "random"])
@pytest.mark.parametrize("seed", range(5))
def test_the_objective_never_rises(init, seed):
    S = np.random.RandomState(seed).standard_normal((40, 6)) + 0.5
    fitted = SemiNMF(4, init=init, tol=0, max_iter=300, random_state=seed).fit(S)
    assert (np.diff(fitted.loss_curve_) <= 1e-12 * fitted.loss_curve_[0]).all()
    assert fitted.loss_curve_[-1] < fitted.loss_curve_[0]
    assert fitted.reconstruction_err_**2 <= fitted.loss_curve_[-1] * (1 + 1e-12)


def cones(seed=1):
    """Sums of few of three directions, so that many weights are 0, and a little noise."""
    rng = np.random.RandomState(seed)
    G = rng.uniform(0.5, 1, (60, 3)) * (rng.uniform(size=(60, 3)) < 0.5)
    return G @ rng.standard_normal((3, 8)) + 0.1 * rng.standard_normal((60, 8))


@pytest.mark.parametrize(("S", "tol", "gap"), [(X, 1e-13, 1e-6), (cones(), 1e-7, 2e-3)], ids=["blobs", "cones"])
def test_both_factors_are_optimal_at_convergence(S, tol, gap):
    fitted = SemiNMF(3, tol=tol, max_iter=20_000, random_state=0).fit(S)
    G, F = fitted.weights_, fitted.components_.T
    residual = S - G @ F.T
    assert G.min() == 0
    assert fitted.reconstruction_err_ == pytest.approx(np.linalg.norm(residual))
    for g, x in zip(G, S, strict=True):
        np.testing.assert_allclose(g, lsq_linear(F, x, bounds=(0, np.inf), tol=1e-14).x, atol=1e-6)
    # What the multiplicative steps end with is as good, and F is the least-squares solution for it.
    assert fitted.loss_curve_[-1] == pytest.approx(fitted.reconstruction_err_**2, rel=gap)
    assert np.abs(G.T @ residual).max() < gap * np.linalg.norm(S) + 1e-6


def test_bounds_by_relatives():
    """A low-rank matrix is no better, k-means and NMF are no worse: the first is freer, the others are special cases."""
    S = np.abs(MIXED)
    k = 3
    svd = np.linalg.svd(S, compute_uv=False)[k:] @ np.linalg.svd(S, compute_uv=False)[k:]
    kmeans = KMeans(k, n_init=5, random_state=0).fit(S)
    nmf = NMF(k, init="random", random_state=0, max_iter=2000, tol=1e-6)
    for start, loss in ((np.eye(k)[kmeans.labels_], kmeans.inertia_), (nmf.fit_transform(S), None)):
        loss = nmf.reconstruction_err_**2 if loss is None else loss
        found = SemiNMF(k, init=start).fit(S).loss_curve_
        assert svd < found[-1] <= found[0] < loss


def test_one_cluster_is_the_best_cone_of_rank_one():
    """With every sample on one side of a line, the nonnegative factor binds nothing and the first singular pair is optimal."""
    S = np.abs(MIXED) + 1
    fitted = SemiNMF(1, tol=1e-12).fit(S)
    U, s, V = np.linalg.svd(S)
    np.testing.assert_allclose(fitted.weights_[:, 0], np.abs(U[:, 0]), atol=1e-5)
    np.testing.assert_allclose(fitted.components_[0], s[0] * np.abs(V[0]), rtol=1e-4)
    np.testing.assert_array_equal(fitted.labels_, 0)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("center", [0.0, 20.0])
def test_recovers_blobs(seed, center):
    """About the origin, so of either sign, and far from it."""
    S, y = make_blobs(150, 12, centers=5, center_box=(-8, 8), random_state=seed)
    assert adjusted_rand_score(y, SemiNMF(5, n_init=5, random_state=0).fit_predict(S - S.mean(axis=0) + center)) == 1


@pytest.mark.parametrize("scale", [1e-3, 1e4])
def test_equivariances(scale):
    turn = np.linalg.qr(np.random.RandomState(1).standard_normal((8, 8)))[0]
    order = np.random.RandomState(2).permutation(50)
    fitted = SemiNMF(3, init=START).fit(MIXED)
    cases = [(scale * MIXED, START, scale * fitted.components_), (MIXED @ turn, START, fitted.components_ @ turn)]
    cases.append((MIXED, START * [scale, 1, 7], fitted.components_))  # the scale of the columns is not determined
    for S, start, expected in cases:
        other = SemiNMF(3, init=start).fit(S)
        np.testing.assert_allclose(other.weights_, fitted.weights_, atol=1e-8)
        np.testing.assert_allclose(other.components_, expected, atol=1e-8 * np.abs(expected).max())
        np.testing.assert_array_equal(other.labels_, fitted.labels_)
    permuted = SemiNMF(3, init=START[order]).fit(MIXED[order])
    np.testing.assert_array_equal(permuted.labels_, fitted.labels_[order])
    np.testing.assert_allclose(np.linalg.norm(fitted.weights_, axis=0), 1)


def test_scale_with_kmeans_starts():
    small, large = (SemiNMF(3, random_state=0).fit(c * X) for c in (1, 2.0**20))
    np.testing.assert_array_equal(small.labels_, large.labels_)
    assert large.reconstruction_err_ == pytest.approx(2.0**20 * small.reconstruction_err_, rel=1e-9)


def test_more_starts_are_no_worse():
    losses = [SemiNMF(6, n_init=n, random_state=3).fit(MIXED).loss_curve_[-1] for n in (1, 3, 10)]
    assert losses[0] >= losses[1] >= losses[2]
    assert losses[0] > losses[2]


def test_new_rows_are_solved_for_exactly():
    fitted = SemiNMF(3, init=START).fit(MIXED)
    new = np.random.RandomState(5).standard_normal((30, 8))
    weights = [lsq_linear(fitted.components_.T, x, bounds=(0, np.inf), tol=1e-14).x for x in new]
    clear = [i for i, g in enumerate(weights) if np.sort(g)[-1] - np.sort(g)[-2] > 1e-6]
    assert len(clear) > 20
    np.testing.assert_array_equal(fitted.predict(new)[clear], np.argmax(weights, axis=1)[clear])


def test_fewer_features_than_clusters_and_empty_components():
    S = np.random.RandomState(0).standard_normal((40, 2))
    fitted = SemiNMF(5, random_state=0).fit(S)
    assert fitted.weights_.shape == (40, 5)
    assert fitted.reconstruction_err_ < 1e-2 * np.linalg.norm(S)
    start = START.copy()
    start[:, 1] = 0
    assert np.isfinite(SemiNMF(3, init=start).fit(MIXED).weights_).all()


def test_stopping_early_is_a_warning_and_inputs_stay():
    start, data = START.copy(), MIXED.copy()
    start.flags.writeable = data.flags.writeable = False
    with pytest.warns(ConvergenceWarning, match="max_iter=2 "):
        fitted = SemiNMF(3, init=start, max_iter=2).fit(data)
    assert fitted.n_iter_ == 2
    np.testing.assert_array_equal(start, START)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"tol": np.nan}, "tol=nan"),
        ({"init": "svd"}, "init='svd'"),
        ({"init": None}, "init=None"),
        ({"init": [1, 2]}, "2D"),
        ({"init": START}, r"shape \(50, 3\).*\(60, 3\)"),
        ({"init": -np.ones((60, 3))}, "smallest entry -1"),
        ({"init": np.full((60, 3), np.nan)}, "init contains NaN"),
    ],
)
def test_bad_factorisations(options, message):
    fitted = SemiNMF(3, random_state=0).fit(X).set_params(**options)
    with pytest.raises(ValueError, match=message):
        fitted.fit(X)
    with pytest.raises(NotFittedError):
        fitted.predict(X)
