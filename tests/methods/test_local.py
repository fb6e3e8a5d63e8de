"""Patches, their weights and alignment; LPCA beyond its definition; tangential maps."""

import numpy as np
import oracles as o
import pytest
from helpers import each, literal
from limits import block_bytes
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.datasets import make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.manifold import LocallyLinearEmbedding
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

from lapwing import LPCA, LPP, NPE, OLPP, KernelLPP, TangentialMaps
from lapwing.data import as_data
from lapwing.graphs import (
    KNN,
    CodingLength,
    Graph,
    Reconstruction,
    Repulsion,
    SameClass,
    TangentAlignment,
)
from lapwing.metrics import procrustes_error
from lapwing.operators import Structured, diagonal
from lapwing.problem import Term

RNG = np.random.RandomState(0)
X, Y = o.blobs(60, 5)
PLANE = RNG.standard_normal((500, 2)) @ RNG.standard_normal((2, 6)) + 3


def sample(X):
    return as_data(X)


def roll(n, seed=0):
    """A Swiss roll and its arc length and height."""
    S, t = make_swiss_roll(n, random_state=seed)
    return S, np.column_stack([(t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2, S[:, 1]])


def scherk(n, seed=0):
    """Points of Scherk's surface, which no map to the plane unfolds without error, and their coordinates."""
    xy = np.random.RandomState(seed).uniform(-1.49, 1.49, (n, 2))
    return np.column_stack([xy, np.log(np.cos(xy[:, 0]) / np.cos(xy[:, 1]))]), xy


# Weights


@each("k", [1, 2, 5, 15])
@each("weights", ["coding_length", "distance", "uniform"])
@each("data", ["tall", "wide", "sparse_wide", "offset"])
def test_weights_agree_with_their_definition(data, weights, k):
    S = o.blobs(40, 5)[0] + 1e4 if data == "offset" else o.REGIMES[data]()[0]
    rows, found = CodingLength(k, weights=weights).patches(sample(S))
    D = o.dense(S)
    for i in range(0, len(D), 7):
        assert list(rows[i]) == o.patch(D, i, k)
        expected = o.patch_weights((D - D.mean(axis=0))[rows[i]], weights, D.shape[1], 10 * D.shape[1] / k)
        np.testing.assert_allclose(found[i], expected, atol=1e-8)


@pytest.mark.parametrize(
    ("graph", "K", "message"),
    [
        (CodingLength(5, weights="heat"), X, "weights='heat' must be one of"),
        (CodingLength(5, distortion=0.0), X, "distortion=0.0"),
        (CodingLength(5, dimension=-1), X, "dimension=-1"),
        (CodingLength(0), X, "n_neighbors=0"),
        (CodingLength(60), X, "n_neighbors=60 must be smaller than the number of samples"),
        (CodingLength(5, metric="precomputed"), X, "reads features"),
        (TangentAlignment(5), X, "n_components"),
        (TangentAlignment(5, n_components=5), X, "n_components=5 must be smaller than n_neighbors=5"),
        (TangentAlignment(1, n_components=1), X, "n_components=1 must be smaller than n_neighbors=1"),
    ],
)
def test_bad_graphs(graph, K, message):
    with pytest.raises(ValueError, match=message):
        graph.build(K)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (CodingLength(5), "dimension="),
        (CodingLength(5, dimension=5), "distortion="),
        (CodingLength(5, metric="manhattan", dimension=5, distortion=1.0), "metric='manhattan' needs features"),
    ],
)
def test_what_patches_of_a_kernel_need(graph, message):
    with pytest.raises(ValueError, match=message):
        KernelLPP(2, kernel="precomputed", graph=graph).fit(X @ X.T)
    KernelLPP(2, kernel="precomputed", graph=CodingLength(5, dimension=5, distortion=1.0)).fit(X @ X.T)


def test_equal_changes_give_equal_weights():
    """The corners of a simplex are alike, so are four equal points: sigma is 0 (NOTES 2)."""
    for S in (np.eye(4), np.ones((4, 3)) + np.arange(2)[:, None].repeat(2, axis=0) * 0):
        np.testing.assert_allclose(CodingLength(3).patches(sample(S)).weights, 1.0)


def test_alignment_in_parts(monkeypatch):
    whole = TangentAlignment(7, n_components=2).build(X)[0].laplacian.toarray()
    block_bytes(monkeypatch, 1600)
    np.testing.assert_allclose(TangentAlignment(7, n_components=2).build(X)[0].laplacian.toarray(), whole, atol=1e-12)


def test_coding_length_in_the_algebra():
    near = KNN(3, weights="binary")
    W = o.local_scatter(X, Y, 5)[0]
    W = np.diag(np.diag(W)) - W
    (term,) = (CodingLength(5) & near).build(X)
    kept = W * (near.adjacency(sample(X)).toarray() > 0)
    np.testing.assert_allclose(term.laplacian.toarray(), np.diag(kept.sum(axis=1)) - kept, atol=1e-12)
    (term,) = (near & CodingLength(5)).build(X)
    np.testing.assert_allclose(term.degrees.diagonal(), (near.adjacency(sample(X)).toarray() * (W > 0)).sum(axis=1))
    fitted = literal(LPP, 2, graph=CodingLength(5) + SameClass() - 0.1 * Repulsion(20)).fit(X, Y)
    assert fitted.components_.shape == (2, 5)


# LPCA


def test_lpca_of_one_patch_is_pca():
    """All samples in every patch, uniform weights: n times the total scatter."""
    fitted = literal(LPCA, 3, graph=CodingLength(len(X) - 1, weights="uniform")).fit(X)
    pca = PCA(3).fit(X)
    assert o.angle(fitted.components_, pca.components_) < 1e-8
    np.testing.assert_allclose(fitted.explained_ratio_, pca.explained_variance_ratio_)
    np.testing.assert_allclose(fitted.transform(X) ** 2, pca.transform(X) ** 2, atol=1e-9)


@pytest.mark.parametrize("n_components", [1, 3, 5, None])
@pytest.mark.parametrize("normalize", [None, "trace"])
def test_explained_ratio(n_components, normalize):
    fitted = literal(LPCA, n_components, graph=4, normalize=normalize).fit(X)
    L = o.local_scatter(X, Y, 4)[0]
    V = fitted.components_.T
    assert fitted.explained_ratio_.sum() == pytest.approx(np.trace(V.T @ X.T @ L @ X @ V) / np.trace(X.T @ L @ X))


@pytest.mark.parametrize(("shape", "k"), [((40, 3), 6), ((40, 30), 6), ((12, 100), 4)])
def test_local_subspaces_are_theorem_1(shape, k):
    S, _ = o.blobs(*shape)
    d = 2
    local = literal(LPCA, d, graph=k).fit(S).local_subspaces(S)
    assert local.components.shape == (len(S), d, S.shape[1])
    for i in range(0, len(S), 5):
        w = local.weights[i]
        assert list(local.rows[i]) == o.patch(S, i, k)
        L_i = np.diag(w) - np.outer(w, w) / w.sum()  # eq. 6
        scatter = S[local.rows[i]].T @ L_i @ S[local.rows[i]]  # eq. 9
        U = np.linalg.eigh(scatter)[1][:, ::-1][:, :d]
        assert o.angle(local.components[i], U.T) < 1e-6
        mean = w @ S[local.rows[i]] / w.sum()
        np.testing.assert_allclose(local.means[i], mean)
        np.testing.assert_allclose(local.coordinates[i], (S[local.rows[i]] - mean) @ local.components[i].T, atol=1e-9)


def test_local_subspaces_refuse():
    fitted = literal(LPCA, 2, graph=3).fit(X)
    with pytest.raises(ValueError, match="n_components=4, and a patch of 4 samples in 5 dimensions has 3"):
        fitted.local_subspaces(X, 4)
    with pytest.raises(ValueError, match="no patches"):
        literal(LPCA, 2, graph=KNN(5)).fit(X).local_subspaces(X)
    with pytest.raises(NotFittedError):
        literal(LPCA, 2).local_subspaces(X)


@pytest.mark.parametrize("shape", [(60, 5), (20, 50)])
def test_one_neighbour(shape):
    """K = 1: patches of two, whose weights are equal up to the place of the pair."""
    S, y = o.blobs(*shape)
    L = o.local_scatter(S, y, 1)[0]
    values, V = o.solve(S, [(-1, L)])
    fitted = literal(LPCA, 2, graph=1).fit(S)
    np.testing.assert_allclose(fitted.eigenvalues_, values[:2], rtol=1e-8)
    assert o.angle(fitted.components_, V[:, :2].T) < 1e-6


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
def test_neighbourhoods_use_the_metric(metric):
    S = RNG.poisson(3.0, (80, 12)).astype(float) + RNG.rand(80, 12)
    d = pairwise_distances(S, metric=metric)
    rows = CodingLength(6, metric=metric).patches(sample(S)).rows
    np.fill_diagonal(d, -1)
    assert np.array_equal(rows, np.argsort(d, axis=1)[:, :7])
    assert not np.array_equal(rows, CodingLength(6).patches(sample(S)).rows)
    assert literal(LPCA, 3, graph=CodingLength(6, metric=metric)).fit(S).components_.shape == (3, 12)


def test_duplicates_have_no_scatter():
    S = np.repeat(RNG.standard_normal((20, 4)), 3, axis=0)
    with pytest.raises(ValueError, match=r"no scatter.*more neighbours"):
        literal(LPCA, 2, graph=2).fit(S)
    fitted = literal(LPCA, 2, graph=5).fit(S)
    assert np.isfinite(fitted.components_).all()
    maps = TangentialMaps(2, graph=8).fit(S)
    assert np.isfinite(maps.embedding_).all()
    np.testing.assert_allclose(np.ptp(maps.embedding_.reshape(20, 3, 2), axis=1), 0, atol=1e-6)


# Tangential maps


@pytest.mark.parametrize(("n", "k", "d"), [(300, 10, 2), (900, 12, 2), (500, 8, 1)])
def test_uniform_weights_without_the_point_is_ltsa(n, k, d):
    S, _ = roll(n)
    maps = TangentialMaps(d, graph=TangentAlignment(k, weights="uniform", include_self=False)).fit(S)
    ltsa = LocallyLinearEmbedding(n_neighbors=k, n_components=d, method="ltsa", eigen_solver="dense").fit(S)
    assert subspace_angles(maps.embedding_, ltsa.embedding_).max() < 1e-6


@pytest.mark.parametrize("n", [200, 700])
@pytest.mark.parametrize("weights", ["coding_length", "uniform", "distance"])
def test_maps_solve_their_problem(n, weights):
    """Smallest eigenvectors of the aligned matrix, the constant left out, by a dense solver."""
    S, _ = scherk(n)
    maps = TangentialMaps(3, graph=TangentAlignment(9, weights=weights)).fit(S)
    assert maps.solver_ == ("dense" if n <= 400 else "shift-invert")
    (term,) = TangentAlignment(9, n_components=3, weights=weights).build(S)
    H = np.eye(n) - 1 / n
    values, V = np.linalg.eigh(H @ term.laplacian.toarray() @ H + 100 * np.ones((n, n)) / n)
    assert subspace_angles(maps.embedding_, V[:, :3]).max() < 1e-6
    np.testing.assert_allclose(maps.eigenvalues_, values[:3], atol=1e-10)
    np.testing.assert_allclose(maps.embedding_.T @ maps.embedding_, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(maps.embedding_.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize(
    "data", [PLANE, PLANE[:300], PLANE @ RNG.standard_normal((6, 40))], ids=["large", "small", "wide"]
)
def test_a_plane_is_found_whole(data):
    """Its coordinates are two null vectors of one repeated eigenvalue; patches may have fewer points than dimensions."""
    maps = TangentialMaps(2, graph=8).fit(data)
    coordinates = PCA(2).fit_transform(data)
    assert subspace_angles(maps.embedding_, coordinates).max() < 1e-5
    np.testing.assert_allclose(maps.eigenvalues_, 0, atol=1e-10)


def test_linear_tangential_maps_come_from_the_frame():
    """The same matrix with the linear map: a plane in noise-free features is found by a projection."""
    for estimator in (literal(OLPP, 2, pca=None), literal(NPE, 2, pca=None)):
        S = np.column_stack([PLANE[:, :2], 0.02 * PLANE[:, :2] ** 2])
        fitted = clone(estimator).set_params(graph=TangentAlignment(8)).fit(S)
        (term,) = TangentAlignment(8, n_components=2).build(S)
        B = None if isinstance(estimator, OLPP) else np.eye(len(S))
        values, V = o.solve(S, [(1, term.laplacian.toarray())], B)
        assert o.angle(fitted.components_, V[:, :2].T) < 1e-6
        np.testing.assert_allclose(fitted.eigenvalues_, values[:2], atol=1e-8)


def held_out(make, seed, **options):
    S, truth = make(2000, seed)
    test = np.arange(len(S)) % 5 == 0
    maps = TangentialMaps(2, graph=12, **options).fit(S[~test])
    reference = truth[~test]
    coordinates, new = (np.column_stack([Z, np.ones(len(Z))]) for Z in (maps.embedding_, maps.transform(S[test])))
    placed = new @ np.linalg.lstsq(coordinates, reference, rcond=None)[0]
    apart = np.linalg.norm(placed - truth[test]) / np.linalg.norm(truth[test] - reference.mean(axis=0))
    return procrustes_error(maps.embedding_, reference, affine=True), apart


@pytest.mark.parametrize("extension", ["affine", "barycentric"])
@pytest.mark.parametrize("make", [roll, scherk])
def test_held_out_rows(make, extension):
    for seed in range(3):
        fitted, new = held_out(make, seed, extension=extension)
        assert new < 2 * fitted


@pytest.mark.filterwarnings("ignore:eigenvalues 2 and 3 are equal")
def test_surfaces_in_two_pieces():
    S = np.vstack([PLANE[:250], PLANE[250:] + 100])
    maps = TangentialMaps(2, graph=8).fit(S)
    assert maps.n_connected_components_ == 2
    np.testing.assert_allclose(maps.eigenvalues_, 0, atol=1e-9)
    piece = np.repeat([1.0, -1.0], 250)
    # Five null vectors beside the constant (two coordinates a piece, and which piece); all are equally good.
    everything = TangentialMaps(5, graph=TangentAlignment(8, n_components=2)).fit(S)
    np.testing.assert_allclose(everything.eigenvalues_, 0, atol=1e-9)
    Z = everything.embedding_
    assert subspace_angles(Z, piece[:, None])[0] < 1e-5
    curved = np.vstack([scherk(300)[0], scherk(300, 1)[0] + 100])
    maps = TangentialMaps(2, graph=10).fit(curved)
    assert maps.n_connected_components_ == 2
    assert abs(np.corrcoef(maps.embedding_[:, 0], np.repeat([1.0, -1.0], 300))[0, 1]) > 0.999
    assert maps.eigenvalues_[0] < 1e-10


def test_samples_without_links_are_placed_at_zero():
    stray = np.vstack([PLANE[:100], PLANE[:1] + 1e3])
    with pytest.warns(UserWarning, match=r"samples without links: \d \(the first is row"):
        maps = TangentialMaps(2, graph=TangentAlignment(8, include_self=False)).fit(stray)
    np.testing.assert_array_equal(maps.embedding_[100], 0)


def test_transform_of_fitted_rows():
    S, _ = roll(400)
    S = np.vstack([S, S[:20]])
    maps = TangentialMaps(2, graph=10).fit(S)
    again = maps.transform(S)
    np.testing.assert_allclose(again[20:400], maps.embedding_[20:400])
    np.testing.assert_allclose(again[:20], (maps.embedding_[:20] + maps.embedding_[400:]) / 2)
    np.testing.assert_allclose(again[400:], again[:20])
    np.testing.assert_array_equal(clone(maps).fit_transform(S), again)
    np.testing.assert_array_equal(maps.transform(S[5:6]), again[5:6])
    negative_zero = np.where(S == 0, -0.0, S)
    np.testing.assert_array_equal(maps.transform(negative_zero), again)


@pytest.mark.parametrize("extension", ["affine", "barycentric"])
def test_a_plane_extends_exactly(extension):
    maps = TangentialMaps(2, graph=8, extension=extension).fit(PLANE[:400])
    A = np.column_stack([PCA(2).fit(PLANE).transform(PLANE), np.ones(500)])
    B = np.linalg.lstsq(A[:400], maps.embedding_, rcond=None)[0]
    np.testing.assert_allclose(maps.transform(PLANE[400:]), A[400:] @ B, atol=1e-8 if extension == "affine" else 2e-2)


@pytest.mark.filterwarnings("ignore:eigenvalues 1 and 2 are equal")
def test_new_rows_need_a_search():
    maps = TangentialMaps(1, graph=np.ones((60, 60))).fit(X)
    maps.transform(X)
    with pytest.raises(ValueError, match=r"not fitted.*no neighbour search"):
        maps.transform(X + 1)


def test_other_graphs_in_a_free_map():
    for graph in (KNN(6), Reconstruction(6), CodingLength(6), KNN(6) + CodingLength(3)):
        maps = TangentialMaps(2, graph=graph, normalize=None).fit(X)
        A = sum((t.coefficient * t.laplacian.toarray() for t in graph.build(X)), np.zeros((60, 60)))
        values = np.linalg.eigvalsh(A + 1e3 * np.ones((60, 60)) / 60)[:2]
        np.testing.assert_allclose(maps.eigenvalues_, values, atol=1e-9)
        assert np.isfinite(maps.transform(X + 0.01)).all()
    S, y = o.blobs(450, 5)
    graph = KNN(6) - 0.3 * Repulsion(10)
    maps = TangentialMaps(2, graph=graph).fit(S, y)
    assert maps.solver_ == "lanczos"
    A = sum(t.coefficient * t.laplacian.toarray() for t in graph.build(S, y))
    np.testing.assert_allclose(maps.eigenvalues_, np.linalg.eigvalsh(A + 1e3 * np.ones(A.shape) / 450)[:2], atol=1e-8)
    with pytest.raises(ValueError, match="too many for a map without a formula"):
        TangentialMaps(2, graph=SameClass()).fit(*o.blobs(15_000, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 12}, "n_components=12 must be smaller than n_neighbors=12"),
        ({"n_components": 60, "graph": KNN(5)}, "n_components=60 .*59"),
        ({"graph": 60}, "n_neighbors=60 must be smaller"),
        ({"graph": "knn"}, "graph='knn'"),
        ({"extension": "nearest"}, "extension='nearest' must be one of"),
        ({"graph": TangentAlignment(5, metric="nonsense")}, "nonsense"),
        ({"graph": SameClass()}, "requires y"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        TangentialMaps().set_params(**options).fit(X)


@pytest.mark.parametrize("bad", [np.full((20, 3), np.nan), np.full((20, 3), "a"), np.ones((1, 3)), X[:, 0]])
def test_bad_data(bad):
    for estimator in (TangentialMaps(), literal(LPCA)):
        fitted = clone(estimator).fit(X)
        with pytest.raises(ValueError):  # noqa: PT011
            fitted.fit(bad)
        with pytest.raises(NotFittedError):
            fitted.transform(X)


def test_threads_and_bits():
    S, _ = scherk(1500)
    fits = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            fits.append((TangentialMaps(2, graph=12).fit(S), literal(LPCA, 2, graph=12).fit(S)))
    assert subspace_angles(fits[0][0].embedding_, fits[1][0].embedding_).max() < 1e-8
    assert o.angle(fits[0][1].components_, fits[1][1].components_) < 1e-8
    assert fits[1][0].embedding_.tobytes() == fits[2][0].embedding_.tobytes()
    assert fits[1][1].components_.tobytes() == fits[2][1].components_.tobytes()


def test_float32():
    S, _ = roll(600)
    for estimator in (
        TangentialMaps(2, graph=10),
        TangentialMaps(2, graph=10, extension="barycentric"),
        literal(LPCA, 2, graph=5),
    ):
        single, double = clone(estimator).fit(S.astype(np.float32)), clone(estimator).fit(S)
        assert single.transform(S[:5].astype(np.float32)).dtype == np.float32
        assert single.transform(S[:5].astype(np.float32) + 1).dtype == np.float32
        if hasattr(single, "components_"):
            assert o.angle(single.components_, double.components_) < 1e-4


# What a review found


class Given(Graph):
    """A matrix of its own."""

    reads_features, indexes_rows, is_semidefinite = False, True, False

    def __init__(self, L):
        self.L = L

    def terms(self, data):
        return [Term(1.0, Structured(data.n, sparse=sparse.csr_array(self.L)), diagonal(np.ones(data.n)))]


@pytest.mark.parametrize("n", [300, 600])
def test_local_matrices_may_be_indefinite(n):
    rng = np.random.RandomState(0)
    patches = np.array([[i, (i + 1) % n, (i + 7) % n] for i in range(n)])
    L = np.zeros((n, n))
    for rows in patches:
        M = (np.eye(3) - 1 / 3) @ rng.standard_normal((3, 3)) @ (np.eye(3) - 1 / 3)
        L[np.ix_(rows, rows)] += M + M.T
    maps = TangentialMaps(2, graph=Given(L)).fit(rng.standard_normal((n, 3)))
    np.testing.assert_allclose(maps.eigenvalues_, np.linalg.eigvalsh(L + 1e3 * np.ones((n, n)) / n)[:2], atol=1e-8)


@pytest.mark.parametrize("scale", [1e4, 1e7, 1e8])
@pytest.mark.parametrize("shape", [(60, 5), (60, 30)])
def test_weights_of_large_data(shape, scale):
    """Where patches are much larger than the distortion, weights tend to a limit, and nothing overflows."""
    S = o.blobs(*shape)[0]
    at = [CodingLength(7).patches(sample(S * s)).weights for s in (scale, 10 * scale)]
    assert np.isfinite(at[0]).all()
    np.testing.assert_allclose(*at, atol=0.05)
    S[7] *= 1e9
    assert np.isfinite(TangentialMaps(2, graph=8).fit(S).embedding_).all()


def test_new_rows_are_placed_one_by_one():
    """Whatever else is in the batch."""
    S = np.column_stack([scherk(300)[0], np.zeros((300, 400))])
    new = S[:30] + 0.01
    maps = TangentialMaps(2, graph=10).fit(S)
    alone = maps.transform(new)
    np.testing.assert_allclose(maps.transform(np.vstack([new, np.full((1, 403), 1e8)]))[:30], alone, atol=1e-10)


def test_new_rows_use_the_metric_of_the_graph():
    given = TangentialMaps(2, graph=KNN(5, metric="minkowski", metric_params={"p": 1})).fit(X)
    named = TangentialMaps(2, graph=KNN(5, metric="manhattan")).fit(X)
    np.testing.assert_allclose(given.transform(X + 0.1), named.transform(X + 0.1), atol=1e-9)
    maps = TangentialMaps(1, graph=TangentAlignment(8, metric="cosine")).fit(X)
    with pytest.raises(ValueError, match="zero vectors"):
        maps.transform(np.zeros((1, 5)))
    both = TangentialMaps(2, graph=-0.1 * Repulsion(15) + KNN(5)).fit(X, Y)
    plain = TangentialMaps(2, graph=KNN(5) - 0.1 * Repulsion(15)).fit(X, Y)
    np.testing.assert_allclose(np.abs(both.transform(X + 0.1)), np.abs(plain.transform(X + 0.1)), atol=1e-6)
    params = CodingLength(5, metric="mahalanobis", metric_params={"VI": np.eye(5)})
    assert np.array_equal(params.patches(sample(X)).rows, CodingLength(5).patches(sample(X)).rows)


def test_links_for_new_rows():
    W = KNN(5).adjacency(sample(X))
    maps = TangentialMaps(2, graph=W).fit(X)
    links = np.zeros((2, 60))
    links[0, 3], links[1, [4, 5]] = 1.0, [1.0, 3.0]
    placed = maps.transform(X[:2] + 1, links=links)
    np.testing.assert_allclose(placed[0], maps.embedding_[3])
    np.testing.assert_allclose(placed[1], maps.embedding_[4] / 4 + 3 * maps.embedding_[5] / 4)
    for bad in (links[:1], -links):
        with pytest.raises(ValueError, match="links must be of shape"):
            maps.transform(X[:2] + 1, links=bad)


@pytest.mark.parametrize("bad", [X * 1e200, X * 1e-200, np.ones((30, 3))], ids=["large", "small", "constant"])
def test_free_maps_of_data_out_of_range(bad):
    with pytest.raises(ValueError, match=r"scale X|constant"):
        TangentialMaps(2, graph=8).fit(bad)


def test_no_scatter_whatever_the_normalisation():
    S = np.repeat(RNG.standard_normal((5, 5)), 10, axis=0)
    for normalize in (None, "trace"):
        with pytest.raises(ValueError, match="no scatter"):
            literal(LPCA, 1, graph=2, normalize=normalize).fit(S)


def test_procrustes_error():
    R = RNG.standard_normal((30, 2))
    turn = np.linalg.qr(RNG.standard_normal((2, 2)))[0]
    assert procrustes_error(5 * R @ turn + 3, R) == pytest.approx(0, abs=1e-12)
    assert procrustes_error(R @ [[1.0, 2.0], [0.0, 1.0]], R) > 0.1
    assert procrustes_error(R @ [[1.0, 2.0], [0.0, 1.0]], R, affine=True) == pytest.approx(0, abs=1e-12)
    assert procrustes_error(5 * R @ turn + 3, np.c_[np.zeros(30), R]) == pytest.approx(0, abs=1e-12)
    assert procrustes_error(np.c_[np.zeros(30), R], R) == pytest.approx(0, abs=1e-12)
    noise = RNG.standard_normal((3000, 2))
    assert procrustes_error(noise, RNG.standard_normal((3000, 2))) == pytest.approx(1, abs=0.05)
    for bad in ((R, R[:5]), (R * 0, R)):
        with pytest.raises(ValueError, match=r"samples|point"):
            procrustes_error(*bad)
