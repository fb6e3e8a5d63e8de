"""Graphs of sampled rows: what they are by definition, and what they estimate."""

import dask.array as dask_array
import numpy as np
import pytest
from helpers import each, form
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import cosine_distances, manhattan_distances
from sklearn.neighbors import KNeighborsTransformer
from sklearn.utils.random import sample_without_replacement
from threadpoolctl import threadpool_info, threadpool_limits

import lapwing
from lapwing import (
    GLPCA,
    LPI,
    LPP,
    TSA,
    KernelLPP,
    LaplacianEigenmaps,
    LaplacianScore,
    TangentialMaps,
)
from lapwing.graphs import KNN, CodingLength, OtherClass, Reconstruction, Repulsion, SameClass

N, K, Q = 60, 4, 17


def toy(d, n=N, seed=0, dtype=np.float64):
    """Positive rows, so that all weights exist, three classes and unknown."""
    rng = np.random.RandomState(seed)
    X, y = rng.rand(n, d) + 0.1, rng.randint(0, 3, n)
    y[rng.permutation(n)[: n // 5]] = -1
    return X.astype(dtype), y


def distances(X, metric):
    """Of all pairs, in float64; by loops where scikit-learn takes products."""
    X = np.asarray(X, dtype=np.float64)
    if metric == "cosine":
        D = cosine_distances(X)
        return np.where(D < 1e-13, 0, D)
    if metric == "manhattan":
        return manhattan_distances(X)
    return np.array([[np.sqrt(np.sum((a - b) ** 2)) for b in X] for a in X])


def chosen(n, queries, seed):
    return np.sort(sample_without_replacement(n, queries, random_state=seed))


def allowed(y, i, among):
    if among == "all":
        return [j for j in range(len(y)) if j != i]
    if y[i] == -1:
        return []
    same = among == "same_class"
    return [j for j in range(len(y)) if j != i and y[j] != -1 and (y[j] == y[i]) == same]


def directed(X, y, k, rows, metric="euclidean", among="all"):
    """The k nearest of each of the rows, of equally distant ones the first, with their distances."""
    D = distances(X, metric)
    return [
        (i, j, D[i, j])
        for i in rows
        for j in sorted(allowed(y, i, among), key=lambda j, i=i: (float(f"{D[i, j]:.9e}"), j))[:k]
    ]


def weight(kind, X, i, j, d, t):
    a, b = X[i].astype(np.float64), X[j].astype(np.float64)
    if callable(kind):
        return kind(d)
    return {
        "heat": lambda: np.exp(-(d**2) / t),
        "binary": lambda: 1.0,
        "cosine": lambda: a @ b / np.sqrt((a @ a) * (b @ b)),
        "dot": lambda: a @ b,
    }[kind]()


def sampled_weights(X, y, k, queries, seed, weights="heat", metric="euclidean", among="all", t=None):
    """W = (n/q)(A + Aᵀ)/2, A from the definition."""
    edges = directed(X, y, k, chosen(len(X), queries, seed), metric, among)
    t = np.mean([d**2 for _, _, d in edges]) if t is None else t
    A = np.zeros((len(X), len(X)))
    for i, j, d in edges:
        A[i, j] = weight(weights, X, i, j, d, t)
    return len(X) / queries * (A + A.T) / 2


def built(graph, X, y=None):
    """W of the only term; its degrees are the sums of W."""
    (term,) = graph.build(X, y)
    D = term.degrees.toarray()
    W = D - term.laplacian.toarray()
    np.testing.assert_allclose(W.sum(axis=1), np.diag(D), rtol=1e-12, atol=1e-12)
    return W


def inverse(d):
    return 1 / (1 + d)


@each("weights", ["heat", "binary", "cosine", "dot", inverse])
@each("metric", ["euclidean", "cosine", "manhattan"])
@each("d", [4, 23])
def test_weights_by_definition(d, metric, weights):
    X, y = toy(d)
    W = built(KNN(K, weights=weights, metric=metric, queries=Q, random_state=3), X)
    np.testing.assert_allclose(W, sampled_weights(X, y, K, Q, 3, weights, metric), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("among", ["same_class", "other_class"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("d", [4, 23])
def test_inside_and_across_classes(d, metric, among):
    X, y = toy(d)
    W = built(KNN(K, metric=metric, among=among, queries=Q), X, y)
    np.testing.assert_allclose(W, sampled_weights(X, y, K, Q, 0, metric=metric, among=among), rtol=1e-9, atol=1e-12)
    assert not W[y == -1].any()


def test_a_class_smaller_than_the_neighbourhood():
    X, _ = toy(3)
    y = np.r_[np.zeros(3, int), np.ones(N - 3, int)]
    W = built(KNN(K, among="same_class", queries=30), X, y)
    np.testing.assert_allclose(W, sampled_weights(X, y, K, 30, 0, among="same_class"), rtol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("d", [4, 23])
def test_sparse_and_float32_rows(d, metric):
    X, y = toy(d, dtype=np.float32)
    X[X < 0.5] = 0
    X[:, 0] = 1
    graph = KNN(K, metric=metric, queries=Q)
    expected = sampled_weights(X, y, K, Q, 0, metric=metric)
    for rows in (X, sparse.csr_array(X), sparse.csr_matrix(X.astype(np.float64))):
        np.testing.assert_allclose(built(graph, rows), expected, rtol=1e-6, atol=1e-7)
    long = sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    np.testing.assert_allclose(built(graph, long), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("offset", "dtype"), [(1e4, np.float32), (1e8, np.float64)])
@pytest.mark.parametrize("d", [4, 23])
def test_rows_far_from_the_origin(d, offset, dtype):
    X, y = toy(d, dtype=dtype)
    X += dtype(offset)
    W = built(KNN(K, queries=Q), X)
    np.testing.assert_allclose(W, sampled_weights(X, y, K, Q, 0), rtol=1e-9, atol=1e-12)
    W = built(KNN(K, t="half-median", queries=Q), X)  # a width that is not 1
    assert 0 < W[W > 0].min() < W.max() < N / Q


@pytest.mark.parametrize("size", [1e-25, 1e25])
def test_rows_whose_squares_leave_float32(size):
    X, y = toy(23)
    X = (X * size).astype(np.float32)
    W = built(KNN(K, weights="binary", queries=Q), X)
    np.testing.assert_array_equal(W, sampled_weights(X, y, K, Q, 0, "binary"))


def lattice(d, n=150, step=1.0):
    return step * np.random.RandomState(1).randint(0, 3, size=(n, d)).astype(np.float64)


@each("metric", ["euclidean", "cosine", "manhattan"])
@each("step", [1.0, 0.1])
@each("d", [2, 3, 20])
def test_of_equally_distant_rows_the_first_wins(d, step, metric):
    X = lattice(d, step=step) + step
    W = built(KNN(K, weights="binary", metric=metric, queries=40), X)
    np.testing.assert_array_equal(W > 0, sampled_weights(X, np.zeros(len(X)), K, 40, 0, "binary", metric) > 0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("d", [3, 20])
def test_nothing_but_equal_rows(d, metric):
    X = np.ones((N, d))
    W = built(KNN(K, metric=metric, queries=Q), X)
    np.testing.assert_allclose(W, sampled_weights(X, np.zeros(N), K, Q, 0, metric=metric, t=1.0), rtol=1e-9)


@pytest.mark.parametrize("symmetry", ["auto", "or", "and", "mean"])
@pytest.mark.parametrize("queries", [N, N + 1, 10**9])
def test_as_many_queries_as_rows_are_the_whole_graph(symmetry, queries):
    X, _ = toy(5)
    whole, all_ = (built(KNN(K, symmetry=symmetry, queries=q), X) for q in (None, queries))
    np.testing.assert_array_equal(all_, whole)
    models = [LPP(2, graph=KNN(K, symmetry=symmetry, queries=q)).fit(X) for q in (None, queries)]
    np.testing.assert_array_equal(models[1].components_, models[0].components_)
    assert models[1].n_connected_components_ == models[0].n_connected_components_


@pytest.mark.parametrize("graph", [Repulsion(9), Reconstruction(K), CodingLength(K), KNN(K, among="same_class")])
def test_other_graphs_with_all_queries_are_whole(graph):
    X, y = toy(5)
    (whole,), (all_,) = (clone(graph).set_params(queries=q).build(X, y) for q in (None, N))
    np.testing.assert_array_equal(all_.laplacian.toarray(), whole.laplacian.toarray())
    np.testing.assert_array_equal(all_.degrees.toarray(), whole.degrees.toarray())


@each(
    ("graph", "words"),
    [
        (KNN(K, symmetry="or", queries=Q), 'symmetry="or".*queries.*symmetry="mean"'),
        (KNN(K, symmetry="and", queries=Q), 'symmetry="and".*queries'),
        (KNN(K, search=KNeighborsTransformer(), queries=Q), r"queries=17.*search=KNeighborsTransformer\(\)"),
        (KNN(K, metric="precomputed", queries=Q), "queries=17.*features"),
        (KNN(K, queries=0), "queries=0"),
        (KNN(K, queries=-3), "queries=-3"),
        (KNN(K, queries=2.5), "queries=2.5"),
        (KNN(K, queries="many"), "queries='many'"),
        (KNN(K, queries=True), "queries=True"),
        (KNN(K, queries=Q, random_state=-1), "random_state=-1"),
        (KNN(K, queries=Q, random_state=None), "random_state=None"),
        (KNN(N, queries=Q), f"n_neighbors={N}.*smaller than the number of samples"),
        (Repulsion(K, normalized=True, queries=Q), "normalized=True.*queries"),
        (Repulsion(K, queries=0), "queries=0"),
        (Reconstruction(K, queries=0), "queries=0"),
        (CodingLength(K, queries=0), "queries=0"),
    ],
)
def test_bad_parameters(graph, words):
    X, y = toy(N)  # square, as distances are
    with pytest.raises(ValueError, match=words):
        graph.build(X @ X.T, y)


def test_zero_rows_have_no_cosine():
    X, _ = toy(5)
    X[7] = 0
    with pytest.raises(ValueError, match=r"zero vectors.*row 7"):
        KNN(K, metric="cosine", queries=5).build(X)


@pytest.mark.parametrize("estimator", [LaplacianEigenmaps, TangentialMaps, GLPCA])
def test_free_maps_need_all_rows(estimator):
    with pytest.raises(ValueError, match=r"sample of the rows.*leave queries out"):
        estimator(2, graph=KNN(K, queries=Q)).fit(toy(5)[0])


def test_a_kernel_matrix_has_no_rows_to_search():
    X, _ = toy(5)
    with pytest.raises(ValueError, match="queries=17 needs features"):
        KernelLPP(2, kernel="precomputed", graph=KNN(K, queries=Q)).fit(X @ X.T)


def test_the_multilinear_map_takes_them():
    """On columns, with the plain mean, it is LPP (thesis, chapter 3)."""
    X, _ = toy(6, n=200)
    graph = KNN(K, queries=90)
    linear = LPP(2, graph=graph, pca=None, center="mean").fit(X)
    (modes, _) = TSA((2, 1), graph=graph).fit(X[:, :, None]).components_
    one, other = (np.linalg.qr(M.T)[0] for M in (linear.components_, modes))
    np.testing.assert_allclose(np.linalg.svd(one.T @ other)[1], 1, rtol=1e-8)


def test_the_seed_chooses_the_rows():
    X, _ = toy(5)
    one, again, other = (built(KNN(K, queries=Q, random_state=s), X) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_the_number_of_threads_changes_nothing(monkeypatch):
    X = np.random.RandomState(0).randint(0, 4, size=(3000, 20)) + 1
    for rows, metric in ((X[:, :5] * 1.0, "manhattan"), (X.astype(np.float32), "euclidean"), (X * 0.1, "cosine")):
        found = []
        for threads in (1, 3):
            monkeypatch.setenv("LOKY_MAX_CPU_COUNT", str(threads))
            with threadpool_limits(threads):
                W = KNN(5, metric=metric, queries=700).build(rows)[0].laplacian.sparse
            found.append([part.tobytes() for part in (W.data, W.indices, W.indptr)])
        assert found[0] == found[1]


# What a sampled graph estimates.


def by_seeds(graph, X, y, queries, seeds=range(120)):
    """X'LX and X'DX of many samples, one below the other."""
    found = []
    for seed in seeds:
        (term,) = clone(graph).set_params(queries=queries, random_state=seed).build(X, y)
        found.append(np.concatenate([form(term.laplacian, X), form(term.degrees, X)]))
    return np.array(found)


def exact(graph, X, y):
    """The same of the whole graph, links in one direction counted half."""
    if isinstance(graph, Repulsion):
        A = np.zeros((N, N))
        for i, j, _ in directed(X, y, graph.n_neighbors, range(N)):
            if y[i] != -1 and y[j] != -1 and y[i] != y[j]:
                a, b = X[i], X[j]
                A[i, j] = 1 / (10 + np.sum((a - b) ** 2) / (a @ a + b @ b))
        W = (A + A.T) / 2
        D = np.diag(W.sum(axis=1))
        return np.concatenate([X.T @ (D - W) @ X, X.T @ D @ X])
    (term,) = (clone(graph).set_params(symmetry="mean") if isinstance(graph, KNN) else graph).build(X, y)
    return np.concatenate([form(term.laplacian, X), form(term.degrees, X)])


GRAPHS = [
    KNN(K, t=0.3),
    KNN(K, weights="binary", metric="cosine"),
    KNN(K, weights="binary", among="same_class"),
    KNN(K, weights="binary", among="other_class"),
    Repulsion(9),
    Reconstruction(K),
    Reconstruction(K, among="same_class"),
    CodingLength(K),
    CodingLength(K, weights="uniform"),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_estimates_are_unbiased(graph):
    X, y = toy(3, seed=4)
    found = by_seeds(graph, X, y, N // 3, range(60))
    error = np.linalg.norm(found.mean(axis=0) - exact(graph, X, y))
    assert error < 3 * np.sqrt(found.var(axis=0).sum() / len(found))
    assert found.var(axis=0).sum() > 0


@pytest.mark.parametrize("graph", [KNN(K, t=0.3), Reconstruction(K)], ids=str)
def test_errors_fall_as_of_a_sample_without_replacement(graph):
    """Their variance is in proportion to n/q - 1."""
    X, y = toy(3, seed=4)
    few, many = (by_seeds(graph, X, y, q).var(axis=0).sum() for q in (N // 6, N // 2))
    assert few / many == pytest.approx((6 - 1) / (2 - 1), rel=0.3)


def test_links_that_classes_filter_are_unbiased_too():
    X, y = toy(3, seed=4)
    near = KNN(K, weights="binary")
    for other in (SameClass(), OtherClass()):
        found = []
        for seed in range(80):
            (term,) = (KNN(K, weights="binary", queries=20, random_state=seed) & other).build(X, y)
            found.append(form(term.laplacian, X))
        (whole,) = (clone(near).set_params(symmetry="mean") & other).build(X, y)
        error = np.linalg.norm(np.mean(found, axis=0) - form(whole.laplacian, X))
        assert error < 3 * np.sqrt(np.var(found, axis=0).sum() / 80)


def test_sampled_links_cannot_filter():
    X, y = toy(3, seed=4)
    with pytest.raises(ValueError, match=r"queries=20.*left of &"):
        (SameClass() & KNN(K, queries=20)).build(X, y)
    np.testing.assert_array_equal(built(SameClass() & KNN(K, queries=N), X, y), built(SameClass() & KNN(K), X, y))


def test_the_width_of_all_queries_is_that_of_the_whole_graph():
    X, y = toy(3)
    whole, all_ = (built(KNN(K, t="half-median", among="same_class", queries=q), X, y) for q in (None, N))
    np.testing.assert_array_equal(all_, whole)


# How certain the result is.


def blobs(n=1200, d=8):
    rng = np.random.RandomState(0)
    y = rng.randint(0, 4, n)
    return rng.randn(n, d) * np.linspace(2, 0.5, d) + 4 * np.eye(4, d)[y], y


def test_a_saved_model_works(tmp_path):
    X, _ = blobs(300)
    for model in (LPP(2, graph=KNN(5, queries=80)), LaplacianScore(3, graph=KNN(5, queries=80))):
        model.fit(X)
        lapwing.save(model, tmp_path / "model.lapwing")
        loaded = lapwing.load(tmp_path / "model.lapwing")
        np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
        assert loaded.n_connected_components_ is None


def test_a_sampled_solution_is_that_of_its_own_graph():
    """The pencil of the sampled graph, by its definition."""
    X, _ = blobs(300)
    model = LPP(2, graph=KNN(5, queries=80, random_state=1), pca=None, scaling="constraint").fit(X)
    W = sampled_weights(X, np.zeros(300), 5, 80, 1)
    D = np.diag(W.sum(axis=1))
    F = X - W.sum(axis=1) @ X / W.sum()
    V = model.components_.T
    np.testing.assert_allclose(V.T @ F.T @ D @ F @ V, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(V.T @ F.T @ (D - W) @ F @ V, np.diag(model.eigenvalues_), atol=1e-9)
    expected = eigh(F.T @ (D - W) @ F, F.T @ D @ F, eigvals_only=True)[:2]
    np.testing.assert_allclose(model.eigenvalues_, expected, rtol=1e-9)


def test_landmarks_are_drawn_once():
    """Also where the seed is left to chance."""
    X, _ = make_blobs(600, 5, centers=8, random_state=0)
    graph = KNN(5, queries=300)
    objectives = []
    for seed in (None, 0):
        model = KernelLPP(2, landmarks=50, graph=graph, random_state=seed, gamma=0.05).fit(X)
        Z = model.transform(X)
        (term,) = KNN(5, symmetry="mean").build(X)
        Z = Z - term.degrees.diagonal() @ Z / term.degrees.diagonal().sum()
        objectives.append(np.trace(np.linalg.solve(form(term.degrees, Z), form(term.laplacian, Z))))
    assert objectives[0] == pytest.approx(objectives[1], rel=0.3)


def test_documents_have_a_ridge_whatever_their_terms():
    rng = np.random.RandomState(0)
    X = sparse.csr_array(rng.poisson(0.05 + rng.rand(4, 150)[rng.randint(4, size=700)] / 2))
    graph = KNN(8, metric="cosine", weights="dot", queries=300)
    auto, given = (LPI(3, graph=graph, ridge=ridge).fit(X) for ridge in ("auto", 10.0))
    np.testing.assert_allclose(auto.components_, given.components_)


def test_threads_of_blas_are_given_back():
    """Also where several threads search at once."""
    X = np.random.RandomState(0).randn(4000, 20)
    with threadpool_limits(2, user_api="blas"):
        before = [pool["num_threads"] for pool in threadpool_info()]
        D = dask_array.from_array(X, chunks=(500, 20))
        for _ in range(3):
            LPP(2, graph=KNN(4, queries=300)).fit(D)
        assert [pool["num_threads"] for pool in threadpool_info()] == before
