"""The kernel map and the free map of a graph."""

import warnings

import numpy as np
import oracles as o
import pytest
from helpers import each, frozen, literal
from limits import kernels_decomposed, large_from, other_way_from
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.manifold import SpectralEmbedding
from sklearn.metrics.pairwise import chi2_kernel, pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from lapwing import (
    LPP,
    NPE,
    KernelLDA,
    KernelLFDA,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    TangentialMaps,
    load,
    save,
)
from lapwing.data import as_data
from lapwing.graphs import (
    KNN,
    Chain,
    ClosestPairs,
    CodingLength,
    Complete,
    OtherClass,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
    Similarity,
    TangentAlignment,
    Target,
)

X, Y = o.blobs(60, 7)
NEW = X[:20] + 0.3
PAIRS = [(LPP, KernelLPP), (NPE, KernelNPE)]


def histogram_kernel(a, b):
    """A kernel given as a function of two rows."""
    return float(np.exp(-np.sum((a - b) ** 2 / (a + b))))


def same_up_to_sign(A, B, tol=1e-9):
    np.testing.assert_allclose(np.abs(A), np.abs(B), atol=tol * np.abs(B).max())


# Kernel map


@each(("linear", "kernel"), PAIRS)
@each(
    ("center", "scaling", "pca"),
    [
        ("auto", "unit", None),
        ("auto", "constraint", None),
        ("auto", "unit", 4),
        ("auto", "constraint", 0.95),
        ("mean", "unit", 0.95),
        ("mean", "constraint", 4),
        (False, "unit", None),
        (False, "constraint", 4),
        (False, "unit", 0.95),
    ],
)
@each("regime", ["tall", "wide", "sparsified", "deficient"])
def test_the_linear_kernel_is_the_linear_map(linear, kernel, center, scaling, pca, regime):
    A, y = o.REGIMES[regime]()
    if isinstance(pca, int) and regime == "deficient":
        pca = 5
    options = {"pca": pca, "center": center, "scaling": scaling}
    plain = o.gap_fit(linear(**options), A, y)
    k = len(plain.components_)
    fitted = kernel(k, kernel="linear", **options).fit(A, y)
    given = kernel(k, kernel="precomputed", **options).fit(o.dense(A) @ o.dense(A).T, y)
    new = A[:9]
    assert fitted.rank_ == plain.rank_
    np.testing.assert_allclose(fitted.eigenvalues_, plain.eigenvalues_, atol=1e-9)
    same_up_to_sign(fitted.transform(new), plain.transform(new), 1e-6)
    if scaling == "unit":
        same_up_to_sign(given.transform(o.dense(new) @ o.dense(A).T), fitted.transform(new), 1e-6)


def test_graph_of_a_precomputed_kernel_is_by_its_distances():
    K = rbf_kernel(X, gamma=0.05)
    fitted = literal(KernelLPP, 3, kernel="precomputed", graph=KNN(4, weights="binary"), pca=None).fit(K)
    by_features = literal(KernelLPP, 3, gamma=0.05, graph=KNN(4, weights="binary"), pca=None).fit(
        X
    )  # rbf keeps the order of distances
    same_up_to_sign(fitted.transform(rbf_kernel(NEW, X, gamma=0.05)), by_features.transform(NEW), 1e-7)
    weights = literal(KernelNPE, 3, kernel="precomputed", graph=5, pca=None).fit(X @ X.T)
    same_up_to_sign(weights.transform(NEW @ X.T), literal(NPE, 3, graph=5, pca=None).fit(X).transform(NEW), 1e-7)


@pytest.mark.parametrize("estimator", [literal(KernelLPP, 4, graph=5), literal(KernelNPE, 4, graph=5)], ids=repr)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cosine", histogram_kernel])
def test_agrees_with_the_definition(estimator, kernel):
    """Thesis eq. 3.17 and 3.32 with K centred, on its range, by a dense generalised solver."""
    estimator = clone(estimator).set_params(kernel=kernel, gamma=0.1, pca=None, scaling="constraint").fit(X)
    options = {} if callable(kernel) else {"gamma": 0.1, "degree": 3, "coef0": 1}
    K = pairwise_kernels(X, metric=kernel, filter_params=not callable(kernel), **options)
    if isinstance(estimator, KernelLPP):
        L, D = o.knn(X, Y, 5)
    else:
        L, D = o.reconstruction(X, Y, 5)
    H = np.eye(60) - np.outer(np.ones(60), np.diag(D)) / np.trace(D)
    Kc = H @ K @ H.T
    values, vectors = np.linalg.eigh(Kc)
    U = vectors[:, values > 1e-11 * values.max()]
    expected, V = eigh(U.T @ Kc @ L @ Kc @ U, U.T @ Kc @ D @ Kc @ U)
    np.testing.assert_allclose(estimator.eigenvalues_, expected[:4], rtol=1e-4, atol=1e-6)
    Z = estimator.transform(X)
    assert subspace_angles(Z, Kc @ U @ V[:, :4]).max() < 1e-3
    np.testing.assert_allclose(Z.T @ D @ Z, np.eye(4), atol=1e-6)


def test_full_rank_is_laplacian_eigenmaps():
    """The embedding of fitted samples then does not depend on the kernel."""
    maps = LaplacianEigenmaps(3, graph=6).fit(X)
    for gamma in (0.3, 1.0):
        fitted = literal(KernelLPP, 3, graph=6, gamma=gamma, pca=None, scaling="constraint").fit(X)
        assert fitted.rank_ == 59
        np.testing.assert_allclose(fitted.eigenvalues_, maps.eigenvalues_, rtol=1e-6)
        assert subspace_angles(fitted.transform(X), maps.embedding_).max() < 1e-5


@pytest.mark.parametrize(
    "estimator",
    [literal(KernelLPP, 3), literal(KernelNPE, 3), literal(KernelLPP, 3, graph=KNN(5) - 0.2 * Repulsion(20))],
    ids=repr,
)
def test_all_landmarks_are_the_whole_kernel(estimator):
    whole = clone(estimator).set_params(pca=6, gamma=0.05).fit(X, Y)
    landmarks = clone(whole).set_params(landmarks=60, random_state=0).fit(X, Y)
    same_up_to_sign(landmarks.transform(NEW), whole.transform(NEW), 1e-5)
    few = clone(whole).set_params(landmarks=25, random_state=0).fit(X, Y)
    assert few.transform(NEW).shape == (20, 3)
    assert few.nystroem_.components_.shape == (25, 7)
    np.testing.assert_array_equal(clone(few).fit(X, Y).transform(NEW), few.transform(NEW))


def test_many_samples_by_landmarks():
    rng = np.random.RandomState(0)
    n = 20_000
    A = rng.standard_normal((n, 5)).astype(np.float32)
    order = np.argsort(A[:, 0])
    W = sparse.csr_array((np.ones(n - 1), (order[:-1], order[1:])), shape=(n, n))
    fitted = literal(KernelLPP, 2, graph=W + W.T, landmarks=100, random_state=0).fit(A)
    assert fitted.transform(A[:10]).shape == (10, 2)
    with pytest.raises(ValueError, match=r"20000 samples would take 3 GB; give landmarks="):
        literal(KernelLPP, 2, graph=W + W.T).fit(A)


def test_labels_repulsion_and_ratio_with_a_kernel():
    digits, y = load_digits(return_X_y=True)
    train, test = np.arange(0, 1000, 2), np.arange(1, 1000, 2)
    for estimator in (
        KernelLPP(9, graph=SameClass()),
        KernelLPP(9, graph=KNN(5) + SameClass() - 0.5 * Repulsion(15), normalize="trace"),
        KernelLPP(9, graph=SameClass(), penalty=Complete(among="labelled")),
        KernelNPE(9, graph=Reconstruction(5, among="same_class")),
    ):
        model = make_pipeline(estimator, KNeighborsClassifier(1)).fit(digits[train], y[train])
        assert model.score(digits[test], y[test]) > 0.93


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2"])
def test_kernels_of_histograms_take_rows_that_cannot_be_written(kernel):
    counts, new = frozen(np.abs(X)), frozen(np.abs(NEW))
    fitted = literal(KernelLPP, 2, kernel=kernel, gamma=0.1, pca=4).fit(counts)
    options = {"gamma": 0.1} if kernel == "chi2" else {}
    K, between = (pairwise_kernels(rows, np.abs(X), metric=kernel, **options) for rows in (np.abs(X), np.abs(NEW)))
    given = literal(KernelLPP, 2, kernel="precomputed", pca=4, graph=KNN(5).adjacency(as_data(counts))).fit(K)
    same_up_to_sign(fitted.transform(new), given.transform(between))


@pytest.mark.parametrize("pca", [5, None])
def test_a_large_kernel_matrix_is_decomposed_for_what_is_wanted(pca, monkeypatch):
    seen, model = kernels_decomposed(monkeypatch), literal(KernelLPP, 2, gamma=0.1, pca=pca)
    small = model.fit(X).transform(NEW)
    assert seen == []
    other_way_from(monkeypatch, "maps.LARGE_GRAM", 60)
    large = clone(model).fit(X).transform(NEW)
    assert seen == ([(60, 5)] if pca else [])
    same_up_to_sign(large, small)


def test_the_spread_of_large_sparse_rows_is_found_from_products(monkeypatch):
    """Rows in 21 places, equally many in each, vary along 20 directions alike; 50 are a spread of 1."""
    rows, labels = sparse.csr_array(np.eye(21)[np.arange(84) % 21]), np.arange(84) % 3
    model = KernelLPP(2, graph="supervised")
    unit = clone(model).set_params(gamma="scale").fit(rows, labels).gamma_
    assert clone(model).fit(rows, labels).gamma_ == pytest.approx(0.4 * unit)
    large_from(monkeypatch, 20)
    assert clone(model).fit(rows, labels).gamma_ == pytest.approx(0.4 * unit)


def test_kernels_in_a_search():
    grid = {"kernellpp__kernel": ["rbf", "poly"], "kernellpp__graph__n_neighbors": [3, 6]}
    pipeline = make_pipeline(literal(KernelLPP, 3, graph=KNN(5)), KNeighborsClassifier(1))
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.4  # three classes that overlap
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    precomputed = make_pipeline(literal(KernelLPP, 3, kernel="precomputed"), KNeighborsClassifier(1))
    plain = make_pipeline(literal(KernelLPP, 3, kernel="linear"), KNeighborsClassifier(1))
    same = [cross_val_score(m, A, Y, cv=3, error_score="raise") for m, A in ((precomputed, X @ X.T), (plain, X))]
    np.testing.assert_allclose(*same)


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"kernel": "nonsense"}, X, "kernel='nonsense'"),
        ({"kernel": "precomputed"}, X, "symmetric kernel matrix"),
        ({"kernel": "precomputed", "landmarks": 5}, X @ X.T, "landmarks=5"),
        ({"kernel": "precomputed", "graph": KNN(5, metric="manhattan")}, X @ X.T, "needs features"),
        ({"landmarks": 0}, X, "landmarks=0"),
        ({"landmarks": 61}, X, "landmarks=61 is more than the 60 samples"),
        ({"gamma": -1.0}, X, "gamma=-1.0"),
        ({"gamma": "none"}, X, "gamma='none'"),
        ({"kernel": chi2_kernel}, X, "two rows"),
        ({"n_components": 60, "pca": None}, X, r"n_components=60 .*\b59\b"),
        ({"kernel": lambda a, b: np.nan}, X, "NaN"),
    ],
)
def test_bad_kernels(options, data, message):
    for estimator in (literal(KernelLPP), literal(KernelNPE)):
        fitted = clone(estimator).fit(X).set_params(**options)
        if isinstance(estimator, KernelNPE) and isinstance(options.get("graph"), KNN):
            continue
        with pytest.raises(ValueError, match=message):
            fitted.fit(data)
        with pytest.raises(NotFittedError):
            fitted.transform(X)


def test_a_kernel_map_has_no_inverse():
    assert not hasattr(literal(KernelLPP), "inverse_transform")


# Laplacian eigenmaps


@pytest.mark.parametrize("n", [300, 900])
@pytest.mark.parametrize("constraint", ["degree", "identity"])
@pytest.mark.parametrize("weights", ["heat", "binary"])
def test_eigenmaps_solve_their_problem(n, constraint, weights):
    S, _ = o.blobs(n, 5)
    maps = LaplacianEigenmaps(4, graph=KNN(8, weights=weights), constraint=constraint).fit(S)
    W = KNN(8, weights=weights).adjacency(as_data(S)).toarray()
    D = np.diag(W.sum(axis=1))
    B = D if constraint == "degree" else np.eye(n)
    values, V = eigh(D - W, B)
    assert maps.n_connected_components_ == 1
    np.testing.assert_allclose(maps.eigenvalues_, values[1:5], atol=1e-9)
    assert subspace_angles(maps.embedding_, V[:, 1:5]).max() < 1e-6
    np.testing.assert_allclose(maps.embedding_.T @ B @ maps.embedding_, np.eye(4), atol=1e-8)
    np.testing.assert_allclose(maps.embedding_.T @ B @ np.ones(n), 0, atol=1e-7)


def test_equals_spectral_embedding():
    S = load_digits().data
    W = KNN(10).adjacency(as_data(S))
    maps = LaplacianEigenmaps(6, graph=W).fit(S)
    reference = SpectralEmbedding(6, affinity="precomputed", eigen_solver="arpack", random_state=0).fit(W)
    for ours, theirs in zip(maps.embedding_.T, reference.embedding_.T, strict=True):
        assert abs(np.corrcoef(ours, theirs)[0, 1]) > 1 - 1e-8


def test_pieces_come_first():
    """Also where pieces are told apart in part only, which the number of pieces explains. Equal pieces have equal values."""
    S = np.vstack([X, X * 1.1 + 50, X * 1.3 + 100])
    assert LaplacianEigenmaps(1, graph=6).fit(S).certificate_.gap < 1e-12
    maps = LaplacianEigenmaps(3, graph=6).fit(S)
    assert maps.n_connected_components_ == 3
    np.testing.assert_allclose(maps.eigenvalues_[:2], 0, atol=1e-10)
    assert maps.eigenvalues_[2] > 1e-4
    piece = np.repeat(np.eye(3), 60, axis=0)
    assert np.linalg.matrix_rank(np.column_stack([maps.embedding_[:, :2], piece]), tol=1e-8) == 3


def test_solver_follows_the_graph():
    surface, _ = make_swiss_roll(1000, random_state=0)
    assert LaplacianEigenmaps(2).fit(surface).solver_ == "shift-invert"
    assert LaplacianEigenmaps(2, graph=10).fit(o.blobs(900, 20)[0]).solver_ == "lanczos"
    assert LaplacianEigenmaps(2).fit(X).solver_ == "dense"


@pytest.mark.parametrize("constraint", ["degree", "identity"])
@pytest.mark.parametrize(
    "graph", [KNN(6), KNN(6, weights="cosine", metric="cosine"), Radius(4.0), 2 * KNN(4) + Radius(3.0)], ids=repr
)
def test_nystrom_satisfies_the_equation_of_the_new_row(graph, constraint):
    maps = LaplacianEigenmaps(2, graph=graph, constraint=constraint).fit(X)
    links = maps.graph_.links(as_data(np.vstack([X, NEW])), 60).toarray()
    Z = maps.transform(NEW)
    degrees = links.sum(axis=1, keepdims=True)
    right = (degrees if constraint == "degree" else 1.0) * maps.eigenvalues_ * Z
    np.testing.assert_allclose(degrees * Z - links @ maps.embedding_, right, atol=1e-9)


@pytest.mark.parametrize("constraint", ["degree", "identity"])
def test_links_of_fitted_rows_give_their_coordinates_back(constraint):
    """Where a new row has the very links of a fitted one, Nyström gives that one's coordinates."""
    W = Radius(3.5).adjacency(as_data(X))
    maps = LaplacianEigenmaps(3, graph=Radius(3.5), constraint=constraint).fit(X)
    safe = np.asarray(W.sum(axis=1)).ravel() > 1.5 * maps.eigenvalues_.max()  # elsewhere the equation has a pole
    assert safe.sum() > 40
    np.testing.assert_allclose(maps.transform(X, links=W)[safe], maps.embedding_[safe], atol=1e-8)


@pytest.mark.parametrize("pieces", [10, 100])
@pytest.mark.parametrize("d", [2, 5])
def test_pieces_of_a_large_graph(d, pieces):
    """Every null vector but the constant comes first, by Lanczos and by factorisation."""
    for seed in range(3):
        rng = np.random.RandomState(seed)
        S = np.repeat(1e3 * rng.rand(pieces, d), 1000 // pieces, axis=0) + rng.rand(1000, d)
        maps = LaplacianEigenmaps(9, graph=4).fit(S)
        assert maps.n_connected_components_ >= 10
        np.testing.assert_allclose(maps.eigenvalues_, 0, atol=1e-9)


@pytest.mark.parametrize(
    "graph",
    [
        KNN(5),
        KNN(5, weights="cosine", metric="cosine"),
        KNN(5, among="same_class"),
        Radius(4.0),
        SameClass(),
        SameClass("heat"),
        OtherClass(),
        Complete(),
        Repulsion(20),
        ClosestPairs(9),
        Reconstruction(5),
        CodingLength(5, weights="uniform"),
        CodingLength(5, weights="distance"),
        CodingLength(5, dimension=7, distortion=2.0),
        TangentAlignment(5, n_components=2, weights="uniform"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:eigenvalues 2 and 3 are equal")
def test_every_graph_of_a_precomputed_kernel(graph):
    """Neighbours, weights and patches come from the kernel, never from its rows."""
    options = {"graph": graph, "pca": None, "penalty": Complete()}
    linear = literal(KernelLPP, 2, kernel="linear", **options).fit(X, Y)
    given = literal(KernelLPP, 2, kernel="precomputed", **options).fit(X @ X.T, Y)
    np.testing.assert_allclose(given.eigenvalues_, linear.eigenvalues_, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("graph", [KNN(5, search=KNeighborsTransformer()), CodingLength(5)], ids=repr)
def test_graphs_that_a_precomputed_kernel_cannot_have(graph):
    with pytest.raises(ValueError, match=r"kernel=\"precomputed\""):
        literal(KernelLPP, 2, kernel="precomputed", graph=graph).fit(X @ X.T)


def test_rank_of_kernels_in_single_precision():
    S = X.astype(np.float32)
    for estimator in (
        literal(KernelLPP, 2, kernel="linear", pca=None),
        literal(KernelLPP, 2, kernel="linear", pca=None, landmarks=40),
    ):
        assert clone(estimator).set_params(random_state=0).fit(S).rank_ == 7
    assert literal(KernelLPP, 2, kernel="precomputed", pca=None).fit((X @ X.T).astype(np.float32)).rank_ == 7
    with pytest.raises(ValueError, match="not positive semi-definite"):
        literal(KernelLPP, 2, kernel="precomputed", pca=None).fit(-(X @ X.T))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", [KernelLDA, KernelLFDA])
def test_gamma_does_not_depend_on_the_unit_of_divided_columns(method, kind):
    X, y = o.blobs(60, 4)
    found = [method(1, standardize=True).fit(kind(unit * X), y).gamma_ for unit in (1.0, 1e-8, 1e8, 1e12)]
    np.testing.assert_allclose(found, found[0], rtol=1e-9)
    scale = method(1, standardize=True, gamma="scale").fit(kind(X), y).gamma_
    assert scale == pytest.approx(1 / 4)  # four columns of variance 1, whatever their means


def test_gamma_does_not_depend_on_the_origin():
    options = {"graph": KNN(5, weights="binary"), "pca": 5}
    near, far = literal(KernelLPP, 2, **options).fit(X), literal(KernelLPP, 2, **options).fit(X + 1e4)
    np.testing.assert_allclose(near.eigenvalues_, far.eigenvalues_, rtol=1e-5)


def test_a_kernel_map_keeps_its_own_samples():
    S = X.copy()
    fitted = literal(KernelLPP, 2).fit(S)
    before = fitted.transform(NEW)
    S *= 2
    np.testing.assert_array_equal(fitted.transform(NEW), before)


def test_unlinked_samples_do_not_pull_new_ones():
    digits, y = load_digits(return_X_y=True)
    known = np.arange(600) % 2 == 0
    partly = np.where(known, y[:600], -1)
    graph = KNN(5, among="same_class")
    with pytest.warns(UserWarning, match="samples without links: 300"):
        maps = LaplacianEigenmaps(9, graph=graph).fit(digits[:600], partly)
    alone = LaplacianEigenmaps(9, graph=graph).fit(digits[:600][known], y[:600][known])
    scores = [
        KNeighborsClassifier(1).fit(m.embedding_[rows], y[:600][known]).score(m.transform(digits[600:900]), y[600:900])
        for m, rows in ((maps, known), (alone, np.ones(300, dtype=bool)))
    ]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)


@pytest.mark.parametrize("constraint", ["degree", "identity"])
def test_far_new_rows_are_placed_by_their_neighbours(constraint):
    digits = load_digits().data
    maps = LaplacianEigenmaps(3, graph=7, constraint=constraint).fit(digits[:500])
    far = maps.transform(20 * digits[600:602])
    assert (np.linalg.norm(far, axis=1) > 0.1 * np.median(np.linalg.norm(maps.embedding_, axis=1))).all()
    assert np.abs(far).max() <= 1.5 * np.abs(maps.embedding_).max()


NEAR = KNN(20, t=9.0)  # so many that each row has some of its class


@pytest.mark.parametrize("graph", [NEAR + 0.1 * SameClass(), NEAR & SameClass(), NEAR - 0.05 * KNN(9, t=9.0)], ids=repr)
def test_new_rows_are_linked_by_what_attracts_and_reads_no_labels(graph):
    maps = LaplacianEigenmaps(3, graph=graph, constraint="identity", normalize=None).fit(X, Y)
    W = NEAR.links(as_data(np.vstack([X, NEW])), 60)
    np.testing.assert_allclose(maps.transform(NEW), maps.transform(NEW, links=W), atol=1e-10)


def test_a_network_needs_no_features():
    W = KNN(5).adjacency(as_data(X))
    bare = LaplacianEigenmaps(2, graph=W).fit(np.zeros((60, 1)))
    np.testing.assert_allclose(bare.embedding_, LaplacianEigenmaps(2, graph=W).fit(X).embedding_)


@pytest.mark.parametrize("extension", ["nystrom", "barycentric", "affine"])
def test_new_digits(extension):
    digits, y = load_digits(return_X_y=True)
    maps = LaplacianEigenmaps(15, graph=10, extension=extension).fit(digits[::2])
    classifier = KNeighborsClassifier(1).fit(maps.embedding_, y[::2])
    assert classifier.score(maps.transform(digits[1::2]), y[1::2]) > 0.93
    np.testing.assert_allclose(maps.transform(digits[::2][:50]), maps.embedding_[:50], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"constraint": "ratio"}, "constraint='ratio' must be one of"),
        ({"extension": "linear"}, "extension='linear' must be one of"),
        ({"graph": -1 * KNN(5)}, "no attraction"),
        ({"n_components": 60}, "n_components=60"),
        ({"graph": np.ones((3, 3))}, r"shape \(3, 3\)"),
    ],
)
def test_bad_eigenmaps(options, message):
    with pytest.raises(ValueError, match=message):
        LaplacianEigenmaps().set_params(**options).fit(X)


def test_new_rows_need_links():
    maps = LaplacianEigenmaps(2, graph=Precomputed(KNN(5).adjacency(as_data(X)))).fit(X)
    np.testing.assert_array_equal(maps.transform(X), maps.embedding_)
    with pytest.raises(ValueError, match="no links for new rows"):
        maps.transform(NEW)


def test_threads():
    S, _ = o.blobs(600, 20)
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            maps, kernel = LaplacianEigenmaps(3, graph=10).fit(S), literal(KernelLPP, 3, graph=10).fit(S[:200])
            fits.append((maps.embedding_, kernel.transform(S[:50])))
    assert subspace_angles(fits[0][0], fits[1][0]).max() < 1e-8
    np.testing.assert_allclose(fits[0][1], fits[1][1], atol=1e-8 * np.abs(fits[0][1]).max())


def test_eigenvalues_that_crowd_and_are_not_inverted():
    rows = np.random.RandomState(0).standard_normal((2600, 3))
    with warnings.catch_warnings(action="error"):
        found, inverted = (LaplacianEigenmaps(5, graph=graph).fit(rows) for graph in (Similarity(Chain()), Chain()))
    assert (found.solver_, inverted.solver_) == ("lanczos", "shift-invert")
    np.testing.assert_allclose(found.eigenvalues_ + 1, inverted.eigenvalues_, atol=1e-11)
    assert subspace_angles(found.embedding_, inverted.embedding_).max() < 1e-4


@pytest.mark.parametrize("name", ["KernelLDA", "KernelLPP", "KernelLFDA"])
def test_directions_near_rounding_do_not_move_the_origin(name):
    """Of a kernel matrix that is nearly singular, as that of iris is, most directions are rounding."""
    A, y = load_iris(return_X_y=True)
    make = {
        "KernelLDA": KernelLDA,
        "KernelLPP": lambda k: KernelLPP(k, graph="supervised"),
        "KernelLFDA": lambda k: KernelLFDA(k, graph="supervised"),
    }[name]
    order = np.random.RandomState(0).permutation(len(A))
    fitted = make(2).fit(A, y)
    np.testing.assert_allclose(fitted.dual_coef_.sum(axis=1), 0, atol=1e-9 * np.abs(fitted.dual_coef_).max())
    Z, other = fitted.transform(A), make(2).fit(A[order], y[order]).transform(A)
    np.testing.assert_allclose(np.abs(other), np.abs(Z), atol=1e-8 * np.abs(Z).max())


@pytest.mark.parametrize("method", [TangentialMaps, LaplacianEigenmaps])
def test_links_by_targets_place_no_new_rows(method, tmp_path):
    """The neighbours of ``Target`` are among y, which new rows do not have."""
    model = method(graph=Target(3)).fit(X, X[:, 0])
    np.testing.assert_array_equal(model.transform(X[:3]), model.embedding_[:3])
    with pytest.raises(ValueError, match="give links= to transform"):
        model.transform(X[:3] + 0.01)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(X[:3]), model.embedding_[:3])
