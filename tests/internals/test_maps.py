"""F as objects: every kind of rows gives the means, forms and coordinates that its dense matrix has."""

import numpy as np
import oracles as o
import pytest
from scipy import sparse

from lapwing import LPP
from lapwing.graphs import KNN
from lapwing.maps import (
    Centre,
    DenseMap,
    DividedMap,
    KernelMap,
    Preprojection,
    SparseMap,
    SummaryMap,
    TensorMap,
    _map,
    as_map,
    weighted,
)
from lapwing.operators import Structured, diagonal, identity

RNG = np.random.RandomState(0)
N = 30
WHOLE = Preprojection()


def rows(n=N, d=7, offset=0.0):
    """Some zeros, one column that has none and lies far from the origin."""
    X = RNG.standard_normal((n, d)) * (RNG.uniform(size=(n, d)) < 0.6)
    X[:, 2] = 3.0 + offset + 0.1 * RNG.standard_normal(n)
    return X


def summary(X, n_kept=10, n_classes=3):
    """The first rows as they are, the others by the moments of their class; and the order that this puts the rows in."""
    classes = np.arange(n_kept, len(X)) % n_classes
    parts = [X[n_kept:][classes == c] for c in range(n_classes)]
    means = np.array([part.mean(axis=0) for part in parts])
    scatters = [(part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in parts]
    counts = np.array([len(part) for part in parts], dtype=float)
    F = SummaryMap(X[:n_kept], means, counts, lambda w: sum(v * S for v, S in zip(w, scatters, strict=True)))
    return F, np.concatenate([np.arange(n_kept), n_kept + classes])


KINDS = {
    "dense": DenseMap,
    "float32": lambda X: DenseMap(X.astype(np.float32)),
    "sparse": lambda X: SparseMap(sparse.csr_array(X)),
    "summary": lambda X: summary(X)[0],
}


def tolerance(kind):
    return 1e-5 if kind == "float32" else 1e-10


def matrices(kind, X):
    """A diagonal, a low-rank and, but for summaries, a sparse matrix; and each as the dense n x n matrix that it stands for."""
    n_places = as_map(KINDS[kind](X)).shape[0]
    place = summary(X)[1] if kind == "summary" else np.arange(len(X))
    g, U, c = RNG.uniform(1, 2, n_places), RNG.standard_normal((n_places, 2)), np.array([1.0, -0.5])
    found = [
        (diagonal(g), np.diag(g[place])),
        (identity(n_places), np.eye(len(X))),
        (Structured(n_places, factors=((U, c),)), U[place] @ np.diag(c) @ U[place].T),
    ]
    if kind != "summary":
        S = sparse.random(len(X), len(X), density=0.2, random_state=1)
        S = sparse.csr_array(S + S.T)
        wide = RNG.standard_normal((len(X), len(X)))
        found.append((Structured(len(X), sparse=S), S.toarray()))
        found.append((Structured(len(X), factors=((wide, np.ones(len(X))),)), wide @ wide.T))
    return found


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("kind", KINDS)
def test_means(kind, offset):
    X = rows(offset=offset)
    F = KINDS[kind](X)
    X = X.astype(F.dtype).astype(np.float64)
    np.testing.assert_allclose(F.mean(), X.mean(axis=0), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(F.plain_mean, X.mean(axis=0), rtol=1e-12, atol=1e-9)
    weights = RNG.uniform(1, 2, F.shape[0])
    of_rows = weights[summary(X)[1]] if kind == "summary" else weights
    np.testing.assert_allclose(F.mean(weights), np.average(X, axis=0, weights=of_rows), rtol=1e-12, atol=1e-9)
    assert F.n_samples == len(X)
    assert F.total(weights) == pytest.approx(of_rows.sum())


@pytest.mark.parametrize("shape", [(N, 7), (N, 50)])
@pytest.mark.parametrize("kind", KINDS)
def test_forms(kind, shape):
    X = rows(*shape)
    F, shift = KINDS[kind](X), RNG.standard_normal(shape[1])
    given = matrices(kind, X)
    for found, (_, M) in zip(F.forms([A for A, _ in given], shift), given, strict=True):
        expected = (X - shift).T @ M @ (X - shift)
        np.testing.assert_allclose(found, expected, atol=tolerance(kind) * np.abs(expected).max())
        assert (found == found.T).all()
    for A, M in given:
        expected = np.diagonal((X - shift).T @ M @ (X - shift))
        np.testing.assert_allclose(F.form_diagonal(A, shift), expected, atol=tolerance(kind) * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_the_form_of_one_row_is_its_square(kind):
    x = rows(1)
    np.testing.assert_allclose(KINDS[kind](x).forms([2.0 * identity(1)])[0], 2 * x.T @ x, atol=10 * tolerance(kind))


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("d", [1, 7, 50])
def test_blocks_fill_the_room_that_they_may_take(kind, d, monkeypatch):
    """All rows, in order; no block takes more than its room, and all but the last leave no room for one more row."""
    monkeypatch.setattr(_map, "BLOCK_BYTES", 1000)
    X = rows(500, max(d, 3))[:, -d:]
    found = list(KINDS[kind](X).blocks())
    np.testing.assert_allclose(np.concatenate([block for _, block in found]), X, rtol=tolerance(kind))
    np.testing.assert_array_equal(np.concatenate([np.arange(500)[part] for part, _ in found]), np.arange(500))
    assert all(block.nbytes <= 1000 < block.nbytes + 8 * d for _, block in found[:-1])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [20, 3000])
def test_rows_are_far_from_the_origin_where_their_mean_exceeds_their_spread(n, make):
    X = np.random.RandomState(0).standard_normal((n, 5))
    assert not _map.is_far(make(X))
    assert not _map.is_far(make(X + 10))
    assert _map.is_far(make(X + 1e4))


@pytest.mark.parametrize("kind", KINDS)
def test_spread(kind):
    X = rows()
    F, mean = KINDS[kind](X), X.mean(axis=0)
    weights = RNG.uniform(1, 2, F.shape[0])
    of_rows = weights[summary(X)[1]] if kind == "summary" else weights
    np.testing.assert_allclose(F.spread(mean, weights), of_rows @ (X - mean) ** 2, rtol=tolerance(kind))


@pytest.mark.parametrize("share", [None, 4, 0.7])
@pytest.mark.parametrize("shape", [(N, 7), (N, 50)])
@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_principal_coordinates_and_the_way_back(kind, shape, share):
    """Coordinates are (X - mean) N for orthonormal N, and ``back`` takes coordinates to the same directions."""
    X = rows(*shape)
    F = KINDS[kind](X)
    found = F.principal(Preprojection(share), F.plain_mean)
    Z = found.coordinates.block(slice(None))
    directions = found.back(np.eye(Z.shape[1]))
    np.testing.assert_allclose(directions @ directions.T, np.eye(Z.shape[1]), atol=tolerance(kind))
    np.testing.assert_allclose((X - X.mean(axis=0)) @ directions.T, Z, atol=10 * tolerance(kind))
    np.testing.assert_allclose(found.origin(), -directions @ X.mean(axis=0), atol=10 * tolerance(kind))
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    np.testing.assert_allclose(np.sum(Z**2, axis=0), values[: Z.shape[1]], rtol=10 * tolerance(kind))
    if share == 0.7:
        kept = values[: Z.shape[1]]
        assert kept.sum() >= 0.7 * values.sum() > kept[:-1].sum()


@pytest.mark.parametrize(
    ("centre", "constrained"),
    [("weighted", True), ("plain", True), ("origin", True), ("plain", False), ("origin", False)],
)
@pytest.mark.parametrize("share", [None, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_coordinates_hold_the_whole_problem(kind, share, centre, constrained):
    """The pencil in coordinates has the eigenvalues of the pencil on the kept directions of X, and leads back to them."""
    X = rows()
    F = KINDS[kind](X)
    (B, dense_B), (A, dense_A) = matrices(kind, X)[0], matrices(kind, X)[2]
    L = dense_A - np.diag(dense_A.sum(axis=1))  # what attracts does not see the mean
    place = summary(X)[1] if kind == "summary" else np.arange(len(X))
    at = np.array([np.flatnonzero(place == p)[0] for p in range(F.shape[0])])
    A = Structured(A.n, factors=A.factors, diag=-dense_A.sum(axis=1)[at])
    weights = B.diag if centre == "weighted" else None
    given = Centre(weights, centre == "origin", constrained)
    found = F.coordinates([A, B] if constrained else [A], given, Preprojection(share))
    means = {"weighted": np.average(X, axis=0, weights=np.diagonal(dense_B)), "plain": X.mean(axis=0), "origin": 0.0}
    np.testing.assert_allclose(found.mean, means[centre] * np.ones(X.shape[1]), atol=10 * tolerance(kind))
    p = found.forms[0].shape[0]
    assert p == (share or X.shape[1])
    V = RNG.standard_normal((p, 2))
    directions = found.back(V).T
    expected = directions.T @ X.T @ L @ X @ directions
    np.testing.assert_allclose(V.T @ found.forms[0] @ V, expected, atol=100 * tolerance(kind) * np.abs(expected).max())
    if constrained:
        moved = X - found.mean
        if centre == "origin" and share is not None:  # directions are of the centred rows, lengths from the origin
            moved = X
        expected = directions.T @ moved.T @ dense_B @ moved @ directions
        found_B = V.T @ found.forms[-1] @ V
        np.testing.assert_allclose(found_B, expected, atol=100 * tolerance(kind) * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_projection_and_combinations(kind):
    X = rows()
    F, V, C = KINDS[kind](X), RNG.standard_normal((3, 7)), RNG.standard_normal((N, 2))
    mean = X.mean(axis=0)
    np.testing.assert_allclose(F.projected(mean, V), (X - mean) @ V.T, atol=10 * tolerance(kind))
    assert F.projected(mean, V).dtype == F.dtype
    np.testing.assert_allclose(F.combined(mean, C), C.T @ (X - mean), atol=100 * tolerance(kind))
    np.testing.assert_allclose(F.centred(mean) @ V.T, (X - mean) @ V.T, atol=10 * tolerance(kind))
    np.testing.assert_allclose(F.centred(mean).T @ C, (X - mean).T @ C, atol=100 * tolerance(kind))


@pytest.mark.parametrize("shape", [(N, 7), (N, 50)])
@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_spectrum(kind, shape):
    X = rows(*shape)
    values, total = KINDS[kind](X).spectrum
    expected = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    expected = expected[expected > 1e-9]
    np.testing.assert_allclose(values, expected, rtol=1e-3 if kind == "float32" else 1e-8)
    assert total == pytest.approx(expected.sum(), rel=tolerance(kind))


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_constant_rows(kind):
    X = rows()
    assert not KINDS[kind](X).is_constant
    assert KINDS[kind](np.tile(X[:1], (5, 1))).is_constant
    X[3, 5] += 0.1
    X[:, :] = X[0]
    X[-1, 4] += 1.0
    assert not KINDS[kind](X).is_constant


def test_sparse_rows_that_are_too_large_have_operators(monkeypatch):
    X = rows(40, 20)
    F, B = SparseMap(sparse.csr_array(X)), diagonal(RNG.uniform(1, 2, 40))
    dense = F.coordinates([B, B], Centre(B.diag), WHOLE).forms[0]
    monkeypatch.setattr(SparseMap, "limit", 10)
    assert F.is_large
    monkeypatch.setattr(SparseMap, "limit", 20)  # the largest that is decomposed whole
    assert not F.is_large
    monkeypatch.setattr(SparseMap, "limit", 19)
    assert F.is_large
    operator = F.coordinates([B, B], Centre(B.diag), WHOLE).forms[0]
    np.testing.assert_allclose(operator @ np.eye(20), dense, atol=1e-10)


@pytest.mark.parametrize("centre", ["weighted", "plain", "origin"])
def test_a_linear_kernel_is_the_linear_map(centre):
    X = rows(20, 6)
    B, A = diagonal(RNG.uniform(1, 2, 20)), o.knn_weights(X, None, 3)
    A = Structured(20, sparse=sparse.csr_array(-A), diag=A.sum(axis=1))
    given = Centre(B.diag if centre == "weighted" else None, centre == "origin", True)
    linear = DenseMap(X).coordinates([A, B], given, Preprojection(6))
    kernel = KernelMap(X @ X.T, "linear", np.float64).coordinates([A, B], given, Preprojection(6))
    for one, other in zip(linear.forms, kernel.forms, strict=True):
        np.testing.assert_allclose(np.linalg.eigvalsh(one), np.linalg.eigvalsh(other), rtol=1e-7, atol=1e-9)
    signs = np.linalg.lstsq(X.T @ kernel.back(np.eye(6)).T, linear.back(np.eye(6)).T, rcond=None)[0]
    np.testing.assert_allclose(np.abs(signs), np.eye(6), atol=1e-6)


def test_an_indefinite_kernel_is_refused():
    with pytest.raises(ValueError, match="positive semi-definite"):
        KernelMap(-np.eye(4), "mine", np.float64).coordinates([identity(4)], Centre(), WHOLE)


def test_forms_of_tensors():
    """Mode by mode, against the sum over pairs of samples."""
    X, M = RNG.standard_normal((8, 3, 4)), RNG.standard_normal((8, 8))
    M, P = M + M.T, RNG.standard_normal((2, 3))
    F, A = TensorMap(X, X.mean(axis=0)), Structured(8, sparse=sparse.csr_array(M))
    Y = np.einsum("ap,npq->naq", P, X - X.mean(axis=0))
    np.testing.assert_allclose(F.projected([P, None]), Y)
    (found,) = F.forms([A], [P, None], 1)
    np.testing.assert_allclose(found, np.einsum("ij,iap,jaq->pq", M, Y, Y))


def test_squares_of_projected_tensors():
    X, weights = RNG.standard_normal((9, 3, 4)), RNG.uniform(1, 2, 9)
    P, mean = RNG.standard_normal((2, 3)), X.mean(axis=0)
    projected = np.einsum("ij,njk->nik", P, X - mean)
    assert TensorMap(X, mean).spread([P, None], weights) == pytest.approx(weights @ np.sum(projected**2, axis=(1, 2)))


class TestPreprojection:
    values = np.array([4.0, 3.0, 2.0, 1.0])

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            (Preprojection(None), 4),
            (Preprojection(2), 2),
            (Preprojection(0.4), 1),
            (Preprojection(0.41), 2),
            (Preprojection(1.0), 4),
            (Preprojection(0.4, 3, least=3), 3),
            (Preprojection(0.9, 1, least=1), 3),
            (Preprojection(9, 1, least=1), 4),
            (Preprojection(0.0, 9, least=12), 4),
        ],
    )
    def test_count(self, given, kept):
        assert given.count(self.values, 10.0) == kept

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            (Preprojection(5), "pca=5 is more than the rank"),
            (Preprojection(2, 3), "pca=2 keeps 2 directions, fewer than n_components=3"),
            (Preprojection(0.4, 2), "pca=0.4 keeps 1 directions, fewer than n_components=2"),
        ],
    )
    def test_too_many_or_too_few(self, given, words):
        with pytest.raises(ValueError, match=words):
            given.count(self.values, 10.0)

    def test_constant_rows(self):
        with pytest.raises(ValueError, match="X is constant"):
            WHOLE.count(np.empty(0), 0.0)

    def test_whole(self):
        given = Preprojection(0.5, 2, least=3)
        assert given.is_automatic
        assert given.whole() == Preprojection(None, 2, 3)
        assert given.whole().is_whole
        assert Preprojection(7).at_most == 7
        assert given.at_most is None


@pytest.mark.parametrize("weighted", [True, False])
def test_rows_that_matrices_and_centre_depend_on(weighted):
    links = np.zeros((100, 100))
    links[:10, :10] = 1.0
    weights = np.where((np.arange(100) >= 40) & (np.arange(100) < 45), 1.0, 0.0) if weighted else None
    diag = np.where((np.arange(100) >= 20) & (np.arange(100) < 30), -1.0, 0.0)
    given = [Structured(100, sparse=sparse.csr_array(links)), diagonal(diag)]
    expected = np.r_[:10, 20:30, 40:45] if weighted else np.r_[:10, 20:30]
    np.testing.assert_array_equal(_map._linked(given, Centre(weights)), expected)
    assert _map._linked([*given, identity(100)], Centre(weights)) is None
    assert _map._linked([*given, Structured(100, factors=((np.ones((100, 1)), np.ones(1)),))], Centre(weights)) is None


class TestLinkedRows:
    """Rows without links are left out of forms, and change nothing."""

    @pytest.mark.parametrize("center", ["auto", "mean", False])
    @pytest.mark.parametrize("pca", ["auto", None, 8])
    @pytest.mark.parametrize("options", [{}, {"normalize": "trace"}, {"penalty": KNN(5, queries=12)}], ids=str)
    def test_fits_are_the_same(self, center, pca, options, monkeypatch):
        X = 3 + np.random.RandomState(0).randn(400, 12) @ np.diag(np.geomspace(2, 0.2, 12))
        models, counts = [], []
        among = Structured.among
        monkeypatch.setattr(Structured, "among", lambda M, rows: counts.append(rows.size) or among(M, rows))
        for most in (0.75, 0.0):
            monkeypatch.setattr(_map, "MOST_LINKED", most)
            models.append(LPP(3, graph=KNN(5, queries=20), pca=pca, center=center, **options).fit(X))
        assert counts
        assert max(counts) < 250
        one, other = models
        np.testing.assert_allclose(one.components_, other.components_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(one.mean_, other.mean_, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("pca", ["auto", None])
    def test_fits_in_common_units_are_the_same(self, pca, monkeypatch):
        X = np.random.RandomState(0).randn(400, 6) * 10.0 ** np.arange(6)
        models = []
        for most in (0.75, 0.0):
            monkeypatch.setattr(_map, "MOST_LINKED", most)
            models.append(LPP(2, graph=KNN(5, queries=20), pca=pca, standardize=True).fit(X))
        one, other = (model.components_ * 10.0 ** np.arange(6) for model in models)
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)

    def test_the_scatter_is_decomposed_once(self, monkeypatch):
        X = np.random.RandomState(0).randn(400, 12)
        calls, scatter = [], DenseMap.scatter
        monkeypatch.setattr(DenseMap, "scatter", lambda F, about: calls.append(F.shape) or scatter(F, about))
        LPP(3, graph=KNN(5, queries=20)).fit(X)
        assert calls == [(400, 12)]


@pytest.mark.parametrize("kind", ["dense", "divided", "sparse"])
def test_rows_that_stand_for_several_samples(kind):
    """Sums are those of the rows written out as often as they count."""
    rng = np.random.RandomState(0)
    X, scale, counts = rng.standard_normal((N, 4)) + 1, np.array([1.0, 2.0, 0.5, 4.0]), rng.randint(1, 4, N)
    X = np.where(rng.rand(N, 4) < [0.2, 0.9, 0.5, 0.0], 0, X)
    given = {"dense": DenseMap(X), "divided": DividedMap(X, scale), "sparse": SparseMap(sparse.csr_array(X))}[kind]
    F, often = weighted(given, counts.astype(float)), np.repeat(X / scale if kind == "divided" else X, counts, axis=0)
    M, g, Q = diagonal(rng.uniform(1, 2, N)), rng.uniform(1, 2, N), np.linalg.qr(rng.standard_normal((4, 2)))[0]
    mean = often.mean(axis=0)
    moved, g_often = often - mean, np.repeat(g, counts)
    np.testing.assert_allclose(F.plain_mean, mean, rtol=1e-12)
    np.testing.assert_allclose(F.mean(g), g_often @ often / g_often.sum(), rtol=1e-12)
    np.testing.assert_allclose(F.forms([M], mean)[0], (moved.T * np.repeat(M.diag, counts)) @ moved, atol=1e-10)
    np.testing.assert_allclose(F.form_diagonal(M, mean), np.repeat(M.diag, counts) @ moved**2, rtol=1e-10)
    np.testing.assert_allclose(F.spread(mean, g), g_often @ moved**2, rtol=1e-10)
    np.testing.assert_allclose(F.deviations().values, often.std(axis=0), rtol=1e-10)
    expected = 2 * (often != 0).sum(axis=0) > len(often) if kind == "sparse" else np.ones(4, dtype=bool)
    np.testing.assert_array_equal(F.deviations().filled, expected)
    np.testing.assert_allclose(F.scatter(mean), moved.T @ moved, atol=1e-10)
    roots = np.sqrt(counts)[:, None] * (X / scale if kind == "divided" else X) - np.sqrt(counts)[:, None] * mean
    np.testing.assert_allclose(F.gram_about(mean), roots @ roots.T, atol=1e-10)
    np.testing.assert_allclose(F.variance_along(Q), ((moved @ Q) ** 2).sum(axis=0) / (moved**2).sum(), rtol=1e-10)
    assert F.total(g) == pytest.approx(g_often.sum())
