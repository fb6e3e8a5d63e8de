"""Data on which careless arithmetic shows: equal distances, far origins, constant columns, repeated eigenvalues."""

import numpy as np
import oracles as o
import pytest
from helpers import each
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsTransformer
from threadpoolctl import threadpool_limits

from lapwing import LFDA, LPCA, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP, KernelLPP
from lapwing.data import as_data
from lapwing.graphs import KNN, Chain, ClosestPairs, Repulsion, SameClass
from lapwing.methods import METHODS

RNG = np.random.RandomState(0)
DIGITS = load_digits()
TIED = {
    "digits": DIGITS.data[:500],
    "binary": (RNG.rand(400, 20) < 0.5).astype(float),
    "grid": RNG.randint(0, 14, (600, 2)).astype(float),
    "repeated": np.repeat(RNG.standard_normal((30, 30)), 12, axis=0),
    "repeated wide": np.repeat(RNG.standard_normal((15, 300)), 12, axis=0),
    "sparse": sparse.csr_array((RNG.rand(600, 80) < 0.05).astype(float)),
}
TIED["all equal but one"] = np.vstack([np.ones((400, 3)), np.eye(3)])


def edges(graph, X, y=None):
    return graph.adjacency(as_data(X, y))


@pytest.mark.parametrize(
    ("graph", "name"),
    [
        *((KNN(5), name) for name in TIED),
        (Repulsion(5), "repeated wide"),
        *((KNN(3, among="other_class"), name) for name in ("repeated", "all equal but one")),
        *((ClosestPairs(7), name) for name in ("grid", "sparse")),
    ],
    ids=str,
)
def test_equal_distances_on_any_number_of_threads(graph, name):
    X = TIED[name]
    y = np.arange(X.shape[0]) // 12 % 3
    with threadpool_limits(1):
        one = edges(graph, X, y)
    with threadpool_limits(2):
        two = edges(graph, X, y)
    assert np.array_equal(one.indptr, two.indptr)
    assert np.array_equal(one.indices, two.indices)
    np.testing.assert_allclose(one.data, two.data, rtol=1e-9)


def test_of_equally_distant_neighbours_the_first():
    X = TIED["binary"][:300]
    apart = np.array([[np.sum(a != b) for b in X] for a in X], dtype=float)
    np.fill_diagonal(apart, np.inf)
    W = np.zeros((300, 300))
    for i, row in enumerate(apart):
        W[i, np.argsort(row, kind="stable")[:5]] = 1
    found = edges(KNN(5, weights="binary"), X).toarray()
    np.testing.assert_array_equal(found, np.maximum(W, W.T))


NEIGHBOURLY = [LPP(5), NPE(5), MFA(5)]
# More neighbours than a row has copies: where all of them are copies, every eigenvalue is 0 and any direction is as good.
BEYOND_COPIES = [method(5, graph=KNN(15)) for method in (LPP, OLPP)]


@pytest.mark.parametrize(
    ("estimator", "name"),
    [(estimator, "digits") for estimator in NEIGHBOURLY] + [(estimator, "repeated") for estimator in BEYOND_COPIES],
)
def test_projections_of_tied_data_on_any_number_of_threads(estimator, name):
    X = TIED[name][:600]
    y = np.arange(len(X)) // 12 % 3
    with threadpool_limits(1):
        one = o.gap_fit(estimator, X, y, at_most=3)
    with threadpool_limits(2):
        two = clone(one).fit(X, y)
    assert o.angle(one.components_, two.components_) < 1e-8


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("shape", [(200, 12), (40, 90)])
@pytest.mark.parametrize("estimator", [LPP(3), OLPP(3), NPE(3), MMC(3), LPDP(3), MFA(3)], ids=repr)
def test_far_from_the_origin(estimator, shape, offset):
    """X itself is rounded to eps * offset, so no more than that is asked for."""
    X, y = o.blobs(*shape)
    here = o.gap_fit(clone(estimator).set_params(pca=None if shape[0] > shape[1] else 10), X, y)
    there = clone(here).fit(X + offset, y)
    assert there.rank_ == here.rank_
    assert o.angle(here.components_, there.components_) < 1e-9 * offset
    np.testing.assert_allclose(
        there.eigenvalues_, here.eigenvalues_, atol=1e-10 * offset * abs(here.eigenvalues_).max()
    )


def test_heat_width_far_from_the_origin():
    X, _ = o.blobs(100, 6)
    near, far = edges(KNN(5), X), edges(KNN(5), X + 1e6)
    np.testing.assert_allclose(far.toarray(), near.toarray(), atol=1e-6)


@each("as_sparse", [False, True])
@each("value", [0.1, 1e8 + 0.1, -3e10])
@each("shape", [(90, 8), (20, 50)])
@each("estimator", [LPP(2, pca=None), OLPP(2, pca=None), NPE(2, pca=None), MMC(2, pca=None)])
def test_constant_columns_are_no_directions(estimator, shape, value, as_sparse):
    X, y = o.blobs(*shape)
    plain = clone(estimator).fit(X, y)
    wide = np.column_stack([X, np.full(len(X), value), np.full(len(X), 7 * value)])
    with_constants = clone(estimator).fit(sparse.csr_array(wide) if as_sparse else wide, y)
    assert with_constants.rank_ == plain.rank_
    assert np.abs(with_constants.components_[:, -2:]).max() < 1e-9


@each("offset", [0.0, 10.0, 1e3])
@each("shape", [(300, 7), (30, 60)])
@each("estimator", [LPP(2, pca=None), OLPP(2, pca=None), MFA(2, pca=None)])
def test_collinear_columns_of_float32(estimator, shape, offset):
    n, d = shape
    rng = np.random.RandomState(3)
    X = (rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + offset).astype(np.float32)
    assert clone(estimator).fit(X, np.arange(n) % 3).rank_ == 5


@pytest.mark.parametrize("estimator", [LPP(3), NPE(3), OLPP(3)], ids=repr)
def test_entries_of_a_sparse_matrix_stored_in_parts(estimator):
    X, _ = o.blobs(60, 9)
    rows, cols = np.nonzero(X)
    parts = sparse.csr_array(
        (
            np.tile(X[rows, cols] / 2, 2),
            np.tile(cols, 2)[np.argsort(np.tile(rows, 2), kind="stable")],
            18 * np.arange(61),
        )
    )
    parts.data = np.repeat(X / 2, 1, axis=0).repeat(2, axis=0).ravel()
    assert not parts.has_canonical_format
    np.testing.assert_allclose(parts.toarray(), X)
    before = parts.data.copy(), parts.indices.copy()
    fitted = o.gap_fit(estimator, parts)
    assert o.angle(fitted.components_, clone(fitted).fit(X).components_) < 1e-8
    assert np.array_equal(parts.data, before[0])
    assert np.array_equal(parts.indices, before[1])


@pytest.mark.parametrize("shape", [(90, 8), (20, 50)])
@pytest.mark.parametrize("pca", [4, 0.8])
@pytest.mark.parametrize("estimator", [LPP(2), OLPP(2), NPE(2)], ids=repr)
def test_centring_does_not_move_the_preprojection(estimator, shape, pca):
    """The principal directions are about the mean whatever ``center`` says."""
    X, y = o.blobs(*shape)
    fits = [clone(estimator).set_params(pca=pca, center=center).fit(X, y) for center in ("mean", False)]
    assert fits[0].n_pca_ == fits[1].n_pca_
    _, _, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    N = Vt[: fits[0].n_pca_]
    for fitted in fits:
        np.testing.assert_allclose(fitted.components_ @ N.T @ N, fitted.components_, atol=1e-9)


def test_degrees_of_a_graph_without_links_stay_in_the_constraint():
    X, _ = o.blobs(40, 6)
    y = np.arange(40)  # one sample a class: S_w = 0, and the degrees of the class graph are 1
    fitted = LPP(3, graph=KNN(5) + SameClass(), pca=None, scaling="constraint", normalize=None).fit(X, y)
    D = np.asarray(edges(KNN(5), X).sum(axis=1)).ravel() + 1
    Z = fitted.transform(X)
    np.testing.assert_allclose(Z.T @ (D[:, None] * Z), np.eye(3), atol=1e-10)


@pytest.mark.parametrize("scale", [1e155, 1e-160])
@pytest.mark.parametrize("estimator", [LPP(), OLPP(), NPE(), MMC(), MFA()], ids=repr)
def test_squares_out_of_range(estimator, scale):
    X, y = o.blobs(40, 6)
    with pytest.raises(ValueError, match="scale X"):
        estimator.fit(X * scale, y)


@pytest.mark.parametrize("scale", [1e155, 1e-160])
def test_squares_of_a_batch_out_of_range(scale):
    X, y = o.blobs(40, 6)
    with pytest.raises(ValueError, match="scale X"):
        MMC(2).partial_fit(X * scale, y)


def test_labels_are_needed_for_a_penalty_of_neighbours():
    assert LPP(penalty=5).__sklearn_tags__().target_tags.required
    assert not LPP(penalty=KNN(5)).__sklearn_tags__().target_tags.required


def test_the_graph_of_a_fit_is_its_own():
    X, _ = o.blobs(40, 6)
    fitted = LPP(graph=KNN(5)).fit(X)
    fitted.set_params(graph__n_neighbors=7)
    assert fitted.graph_.n_neighbors == 5
    with pytest.raises(ValueError, match="n_components"):
        LPP(7, graph=KNN(5)).fit(X)
    refused = LPP(7, graph=KNN(5))
    with pytest.raises(ValueError, match="n_components"):
        refused.fit(X)
    assert not hasattr(refused, "graph_")


def exact_neighbours(X, k):
    """By differences, of equally distant ones the first."""
    d = np.array([np.sum((X - x) ** 2, axis=1) for x in X])
    np.fill_diagonal(d, np.inf)
    W = np.zeros(d.shape, dtype=bool)
    W[np.arange(len(X))[:, None], np.argsort(d, axis=1, kind="stable")[:, :k]] = True
    return W | W.T


def metres():
    """Places in a country, some of them a few metres apart."""
    rng = np.random.RandomState(0)
    towns = np.column_stack([5e5 + 2e5 * rng.rand(300), 4e6 + 6e5 * rng.rand(300)])
    return np.vstack([towns, *(towns[i] + 3 * rng.rand(60, 2) for i in range(5))])


def two_clusters(d, apart, n=200):
    rng = np.random.RandomState(1)
    return np.vstack([rng.standard_normal((n, d)), rng.standard_normal((n, d)) + apart])


@pytest.mark.parametrize(
    "X",
    [metres(), two_clusters(3, 1e6), two_clusters(20, 1e5), two_clusters(20, 1e6), two_clusters(600, 1e5)],
    ids=["metres", "3-D", "20-D", "20-D far", "wide"],
)
def test_neighbours_are_exact_where_clusters_are_far_apart(X):
    found = edges(KNN(5, weights="binary"), X).toarray() > 0
    assert np.array_equal(found, exact_neighbours(X, 5))


def test_a_sparse_matrix_of_distances():
    X = RNG.standard_normal((100, 4))
    G = KNeighborsTransformer(n_neighbors=5, mode="distance").fit_transform(X)
    found = edges(KNN(5, metric="precomputed", weights="binary"), G)
    assert np.array_equal(found.toarray() > 0, exact_neighbours(X, 5))
    with pytest.raises(ValueError, match=r"X, a sparse matrix of distances, gives .* n_neighbors="):
        edges(KNN(7, metric="precomputed"), G)


FAR = 2.0**26  # rows of whole multiples of 2^-16 are exact beside it


@pytest.mark.parametrize(
    "estimator",
    [
        OLPP(2, graph=KNN(5), normalize="trace"),
        OLPP(2, graph=SameClass()),
        ONPP(2, normalize="trace"),
        LPCA(2),
        MMC(2),
        LFDA(2),
    ],
    ids=repr,
)
def test_what_does_not_see_the_origin_is_the_same_at_any_distance_from_it(estimator):
    X, y = np.floor(RNG.standard_normal((120, 6)) * 2**16) / 2**16, np.arange(120) % 3
    estimator = clone(estimator).set_params(pca=None, center=False)
    near, far = (clone(estimator).fit(rows, y).components_ for rows in (X, X + FAR))
    assert o.angle(near.T, far.T) < 1e-6


@pytest.mark.parametrize("estimator", [LPP(2, pca=None), OLPP(2, pca=None), MMC(2, pca=None)], ids=repr)
def test_directions_that_may_be_rounding_are_left_out_with_a_warning(estimator):
    X, y = RNG.standard_normal((300, 22)) * np.geomspace(1, 0.4, 22), np.arange(300) % 3
    rows = (X + 1e6).astype(np.float32)
    with pytest.warns(UserWarning, match=r"\d+ directions of X are left out.* fit X - X"):
        far = clone(estimator).fit(rows, y)
    assert far.rank_ < clone(estimator).fit(rows - rows[0], y).rank_ == 22


def test_a_row_that_hides_all_others_is_named():
    X = RNG.standard_normal((100, 6))
    X[7] *= 1e7
    with pytest.warns(UserWarning, match="row 7 of X is so far from all others"):
        MMC(2).fit(X, np.arange(100) % 3)
    X[7] /= 10
    for model in (KernelLPP(2), KernelLPP(2, graph=Chain(), kernel="linear")):
        with pytest.warns(UserWarning, match="row 7 of X is so far from all others"):
            model.fit(X)


@pytest.mark.parametrize("graph", ["supervised", 3])
def test_constant_rows_about_the_origin_have_no_direction(graph):
    with pytest.raises(ValueError, match="X is constant"):
        LPP(1, graph=graph, center=False, pca=None).fit(np.ones((20, 3)), np.arange(20) % 2)


@each("name", METHODS)
def test_rows_whose_fourth_powers_leave_the_range_are_refused(name):
    """What is fitted elsewhere is fitted without a warning, and its certificate is a number."""
    X, y = RNG.standard_normal((60, 4, 3)) ** 2, np.arange(60) % 3
    X = X if name == "TSA" else X[:, :, 0]
    for scale in (1e-100, 1e-65, 1e65, 1e100):
        with pytest.raises(ValueError, match="leave the range of floating point; scale X first"):
            METHODS[name]().fit(scale * X, y)
    for scale in (1e-55, 1e55):
        model = METHODS[name]().fit(scale * X, y)
        assert np.isfinite(model.transform(scale * X)).all()
        found = getattr(model, "certificate_", ())
        assert all(np.isfinite(c.residual) for c in (found if isinstance(found, list) else [found] if found else ()))
