"""Every exact search against its definition: the same neighbours whoever finds them, also where distances are nearly equal."""

import pickle
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import rule
from scipy import sparse
from threadpoolctl import threadpool_limits

from lapwing.graphs import KNN
from lapwing.neighbors import (
    Nearest,
    Search,
    _find,
    _nearest,
    distances_among,
    find,
    find_fitted,
    within,
)
from lapwing.rows import KernelRows, Rows

DATA = rule.data()
K = 5


@cache
def expected(name, k=K, metric="euclidean", among="all"):
    X = DATA[name]
    return rule.neighbors(positive(X, metric), k, metric, among=among, y=labels(X))


@cache
def thinned(name, metric):
    """Rows with zeros, and their neighbours."""
    X = positive(DATA[name], metric)
    if "near" not in name:
        X = np.where(np.random.RandomState(2).rand(*X.shape) < 0.3, X, 0)
        X[:, 0] += metric == "cosine"
    return X, rule.neighbors(X, K, metric)


def positive(X, metric):
    """Rows that are no zero vectors, where the metric needs it."""
    return np.abs(X) + 0.5 if metric == "cosine" else X


def labels(X):
    return np.random.RandomState(1).randint(-1, 3, len(X))


def searched(X, y=None, **options):
    return rule.as_sets(find(Rows(X, y), Search(**{"n_neighbors": K} | options)))


@pytest.mark.parametrize("k", [1, 2, K, 12])
@pytest.mark.parametrize("name", DATA)
def test_all_rows(name, k):
    assert searched(DATA[name], n_neighbors=k) == expected(name, k)


@pytest.mark.parametrize("k", [1, K])
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("left_out", [1, 30])
def test_some_rows(name, k, left_out):
    """``KNN(1)`` and ``KNN(1, queries=39)`` of 40 rows have the same links."""
    X = DATA[name]
    found = searched(X, n_neighbors=k, queries=len(X) - left_out, random_state=3)
    assert len(found) == len(X) - left_out
    assert found == {i: own for i, own in expected(name, k).items() if i in found}


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
@pytest.mark.parametrize("name", [name for name in DATA if "far" not in name])
def test_other_metrics(name, metric):
    X = positive(DATA[name], metric)
    assert searched(X, metric=metric) == expected(name, K, metric)
    found = searched(X, metric=metric, queries=30)
    assert found == {i: own for i, own in expected(name, K, metric).items() if i in found}


@pytest.mark.parametrize("queries", [None, 35])
@pytest.mark.parametrize("among", ["same_class", "other_class"])
@pytest.mark.parametrize("name", DATA)
def test_inside_and_across_classes(name, among, queries):
    X = DATA[name]
    found = searched(X, labels(X), among=among, queries=queries)
    rows = Search(K, queries=queries).queried(len(X))
    assert found == {i: own for i, own in expected(name, K, among=among).items() if i in rows}


@pytest.mark.parametrize("metric", ["cosine", "manhattan"])
@pytest.mark.parametrize("among", ["same_class", "other_class"])
@pytest.mark.parametrize("name", ["near ties", "lattice, few columns"])
def test_inside_and_across_classes_in_other_metrics(name, among, metric):
    X = positive(DATA[name], metric)
    assert searched(X, labels(X), among=among, metric=metric) == expected(name, K, metric, among)


@pytest.mark.parametrize("name", ["near ties", "near ties, few columns", "lattice", "repeated, few rows", "random"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_sparse_rows(name, metric, sparse_kind):
    X, exact = thinned(name, metric)
    assert searched(sparse_kind(X), metric=metric) == exact
    found = searched(sparse_kind(X), metric=metric, queries=30)
    assert found == {i: own for i, own in exact.items() if i in found}


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [4, 20, 80])
def test_float32(d, make, metric):
    """Near ties of numbers in float32 are told apart, or not, in float64."""
    rng = np.random.RandomState(0)
    X = (1 + rng.rand(60, d) * (1e-3 if metric == "euclidean" else 1)).astype(np.float32)
    X[::5] = X[::5].round(3)
    exact = rule.neighbors(X, K, metric)
    assert searched(make(X), metric=metric) == exact
    found = searched(make(X), metric=metric, queries=30)
    assert found == {i: own for i, own in exact.items() if i in found}


@pytest.mark.parametrize("name", [name for name in DATA if "far" not in name])
def test_distances_that_are_given(name):
    X = DATA[name]
    D = rule.distances(X, "euclidean").astype(np.float64)
    assert searched(D, metric="precomputed") == expected(name)
    near = np.sort(D, axis=1)[:, [min(len(X), 4 * K) - 1]] >= D
    rows, cols = np.nonzero(near)
    stored = sparse.csr_array((D[rows, cols], (rows, cols)), shape=D.shape)  # with the zeros between equal rows
    few = {
        i: rule.nearest({j: D[i, j] for j in np.flatnonzero(near[i]) if j != i}, K) for i in range(len(X))
    }  # more rows than are stored may be as far
    assert searched(stored, metric="precomputed") == few


def test_a_sparse_matrix_of_too_few_distances():
    D = sparse.csr_array(np.triu(np.ones((6, 6)), 1) + np.tril(np.ones((6, 6)), -1))
    D[3, 0] = 0
    D.eliminate_zeros()
    with pytest.raises(
        ValueError, match=r"n_neighbors=5 is more than X, a sparse matrix of distances, has for row 3: 4;"
    ):
        find(Rows(D), Search(5, "precomputed"))
    assert len(find(Rows(D), Search(4, "precomputed")).rows) == 24


@pytest.mark.parametrize("name", ["lattice", "lattice, few columns", "repeated", "equal", "random"])
def test_kernels(name):
    """Distances in the space of a kernel come from the kernel, and so are rounded: none of these is near a tie."""
    X = np.round(10 * DATA[name])
    exact = rule.neighbors(X, K)
    assert rule.as_sets(find(KernelRows(X @ X.T), Search(K))) == exact
    X = np.abs(X) + 1
    assert rule.as_sets(find(KernelRows(X @ X.T), Search(K, "cosine"))) == rule.neighbors(X, K, "cosine")


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("name", DATA)
def test_rows_in_blocks(name, metric, monkeypatch):
    """However rows are cut, in whatever order they come, and however results are merged; also after a journey."""
    for constant, size in (("QUERIES", 17), ("ROWS", 16), ("FIRST", 4)):
        monkeypatch.setattr(_nearest, constant, size)
    if metric == "cosine" and "far" in name:
        pytest.skip("all angles there are those of parallel rows")
    X, rng = positive(DATA[name], metric), np.random.RandomState(len(name) + len(metric))
    search = Search(K, metric, queries=len(X) - 3)
    own = search.queried(len(X))
    exact = {i: own for i, own in expected(name, K, metric).items() if i in search.queried(len(X))}
    cuts = np.unique(np.r_[0, rng.randint(len(X), size=6), len(X)])
    pieces = list(pairwise(cuts))
    rng.shuffle(pieces)
    whole, parts = Nearest(search, X[own], own), []
    for start, stop in pieces:
        whole.update(X[start:stop], start)
        parts.append(pickle.loads(pickle.dumps(Nearest(search, X[own], own, n_threads=1).update(X[start:stop], start))))
    assert rule.as_sets(whole.edges()) == exact
    while len(parts) > 1:
        parts.append(parts.pop(rng.randint(len(parts))).merge(parts.pop(rng.randint(len(parts)))))
    assert rule.as_sets(parts[0].edges()) == exact


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("options", [{}, {"queries": 37}, {"metric": "cosine"}, {"among": "other_class"}], ids=str)
def test_the_number_of_threads_changes_no_bit(name, options, monkeypatch):
    monkeypatch.setattr(_nearest, "QUERIES", 7)
    X = positive(DATA[name], options.get("metric"))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(find(Rows(X, labels(X)), Search(K, **options)))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_edges_are_nearest_first_and_as_long_as_they_say(name, metric):
    X = positive(DATA[name], metric)
    for queries in (None, 30):
        edges = find(Rows(X), Search(K, metric, queries=queries))
        exact = rule.distances(X, metric)[edges.rows, edges.cols].astype(np.float64)
        size = 1.0 if metric == "cosine" else np.sqrt(np.mean(X**2) * X.shape[1])
        np.testing.assert_allclose(
            edges.distances, exact, rtol=1e-9, atol=1e-7 * size if queries is None else 1e-12 * size
        )
        assert (np.diff(edges.distances.reshape(-1, K), axis=1) >= 0).all()
        np.testing.assert_array_equal(edges.rows[::K], Search(K, queries=queries).queried(len(X)))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("name", ["near ties", "near ties, few columns", "repeated", "lattice"])
def test_new_rows_among_fitted_ones(name, metric):
    X = positive(DATA[name], metric)
    fitted = len(X) - 10
    edges = find_fitted(Rows(X, n_fitted=fitted), Search(K, metric))
    for i, own in rule.as_sets(edges).items():
        assert own == rule.nearest(dict(enumerate(rule.distances(X, metric)[i, :fitted])), K)
    np.testing.assert_array_equal(edges.rows, np.repeat(np.arange(fitted, len(X)), K))
    with pytest.raises(ValueError, match=f"n_neighbors={fitted + 1} is more than"):
        find_fitted(Rows(X, n_fitted=fitted), Search(fitted + 1, metric))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("name", ["near ties, few columns", "near ties, few rows", "random"])
def test_within_a_radius(name, metric):
    X = positive(DATA[name], metric)
    D = rule.distances(X, metric)
    radius = float(np.quantile(D, 0.3)) * (1 + 1e-6)
    edges = within(Rows(X), radius, metric)
    pairs = {(i, j) for i, j in np.argwhere(radius >= D).tolist() if i != j}
    assert set(zip(edges.rows.tolist(), edges.cols.tolist(), strict=True)) == pairs
    few = distances_among(Rows(X), np.arange(20), metric)
    assert np.median(few) == pytest.approx(float(np.median(D[:20, :20][np.triu_indices(20, 1)])))
    edges = within(Rows(X, n_fitted=30), radius, metric)
    pairs = {(i, j) for i, j in np.argwhere(radius >= D).tolist() if j < 30 <= i}
    assert set(zip(edges.rows.tolist(), edges.cols.tolist(), strict=True)) == pairs


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [20, 60])
def test_distances_in_a_far_cluster(d, make):
    """Products of far rows have no digits of the distances between them, which are found by differences then."""
    X = np.random.RandomState(0).standard_normal((30, d))
    X[:9] += 1e10
    X[9] = 0.0  # so that no column of a sparse matrix is full
    X = np.concatenate([X, X[:2]])
    D = rule.distances(X, "euclidean")
    radius = float(np.median(D[:9, :9])) * (1 + 1e-6)
    near = within(Rows(make(X)), radius)
    pairs = {(i, j) for i, j in np.argwhere(radius >= D).tolist() if i != j}
    assert set(zip(near.rows.tolist(), near.cols.tolist(), strict=True)) == pairs
    for edges in (near, find(Rows(make(X)), Search(8)), find(Rows(make(X[:30])), Search(8))):
        np.testing.assert_allclose(edges.distances, D[edges.rows, edges.cols], rtol=1e-10)
    assert searched(make(X), n_neighbors=8) == rule.neighbors(X, 8, "euclidean")
    among = distances_among(Rows(make(X)), np.arange(9), "euclidean")
    np.testing.assert_allclose(np.sort(among, axis=1), np.sort(D[:9, :9], axis=1)[:, 1:], rtol=1e-10)


SCALES = [(np.float32, 1e-7), (np.float32, 1e-30), (np.float32, 1e30), (np.float64, 1e-16), (np.float64, 1e-100)]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("dtype", "scale"), [*SCALES, (np.float64, 1e100)])
@pytest.mark.parametrize("options", [{}, {"queries": 30}, {"among": "same_class"}], ids=str)
def test_angles_of_rows_of_any_length(dtype, scale, make, options):
    rng = np.random.RandomState(0)
    X = (np.where(rng.rand(40, 20) < 0.4, rng.rand(40, 20), 0) + 0.01) * 10.0 ** rng.uniform(-3, 3, (40, 1))
    X, y = (X * scale).astype(dtype), labels(X)
    ordinary = (X.astype(np.longdouble) / scale).astype(np.float64)
    edges = find(Rows(make(X), y), Search(K, "cosine", **options))
    found = rule.as_sets(edges)
    exact = rule.neighbors(ordinary, K, "cosine", among=options.get("among", "all"), y=y)
    assert found == {i: own for i, own in exact.items() if i in found}
    far = rule.distances(ordinary, "cosine")[edges.rows, edges.cols].astype(np.float64)
    np.testing.assert_allclose(edges.distances, far, rtol=1e-5)
    for weights in ("cosine", "heat"):
        graph = KNN(K, metric="cosine", weights=weights, **options)
        W, V = (graph.adjacency(Rows(make(rows), y)).toarray() for rows in (X, ordinary))
        np.testing.assert_allclose(W, V, rtol=1e-5)


def test_equal_searches_run_once(monkeypatch):
    X, calls = DATA["random"], []
    found = _find._found
    monkeypatch.setattr(_find, "_found", lambda *given: calls.append(given) or found(*given))
    sample = Rows(X)
    edges = [find(sample, Search(K, queries=30, random_state=seed)) for seed in (0, 0, 1)]
    assert len(calls) == 2
    assert edges[0] is edges[1]
    assert set(edges[0].rows) != set(edges[2].rows)


def test_searches_in_several_metrics_share_rows():
    """What one search keeps of the rows must not decide how another is settled."""
    X = np.random.RandomState(0).randint(0, 3, size=(200, 20)).astype(float)
    shared = Rows(X)
    for metric in ("euclidean", "manhattan", "chebyshev", "cosine", "euclidean"):
        rows = X + 1 if metric == "cosine" else X
        one = find(Rows(rows) if metric == "cosine" else shared, Search(5, metric))
        other = find(Rows(rows), Search(5, metric))
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_some_queries_in_small_classes(metric):
    """All pairs of a small class are compared; edges go from the rows that are searched for."""
    X, y = np.random.RandomState(0).rand(60, 4), np.arange(60) % 5
    search = Search(3, metric, among="same_class", queries=20)
    edges, queries = find(Rows(X, y), search), search.queried(60)
    D = rule.distances(X, metric)
    D[(y[:, None] != y) | np.eye(60, dtype=bool)] = np.inf
    np.testing.assert_array_equal(edges.rows, np.repeat(queries, 3))
    np.testing.assert_array_equal(edges.cols.reshape(20, 3), np.argsort(D[queries], axis=1, kind="stable")[:, :3])


def test_a_sparse_matrix_of_distances_is_left_as_it_is():
    """scikit-learn wants the entries of each row by distance, and X has them by column."""
    D = rule.distances(np.random.RandomState(0).rand(30, 3), "euclidean").astype(np.float64)
    data = Rows(sparse.csr_array(D))
    before = data.X.data.copy(), data.X.indices.copy()
    edges = within(data, 0.5, "precomputed")
    np.testing.assert_array_equal(data.X.data, before[0])
    np.testing.assert_array_equal(data.X.indices, before[1])
    found = np.zeros((30, 30), dtype=bool)
    found[edges.rows, edges.cols] = True
    np.testing.assert_array_equal(found, (D <= 0.5) & (D > 0))


@pytest.mark.parametrize(
    "search", [lambda data: find(data, Search(3, "euclid")), lambda data: within(data, 1.0, "euclid")]
)
def test_a_metric_that_is_not_known_is_refused_with_those_that_are(search):
    with pytest.raises(ValueError, match=r"metric='euclid' is not known; use a callable, or one of .*euclidean.*"):
        search(Rows(np.random.RandomState(0).rand(30, 3)))


@pytest.mark.parametrize("k", [3, None])
def test_rows_of_the_same_class_for_some_queries(k):
    """Edges go from the queries; None is all rows of the class."""
    X, classes, queries = np.random.RandomState(0).rand(60, 4), np.arange(60) % 5, np.arange(0, 60, 7)
    edges = _find._inside(Rows(X), queries, np.arange(60), classes, k, "euclidean")
    D = rule.distances(X, "euclidean").astype(np.float64)
    D[(classes[:, None] != classes) | np.eye(60, dtype=bool)] = np.inf
    order = np.argsort(D[queries], axis=1, kind="stable")[:, : k or 11]
    expected = {(i, j) for i, near in zip(queries.tolist(), order.tolist(), strict=True) for j in near}
    assert set(zip(edges.rows.tolist(), edges.cols.tolist(), strict=True)) == expected
    np.testing.assert_allclose(edges.distances, D[edges.rows, edges.cols])


def test_rows_that_are_searched_for_stand_for_all():
    data = Rows(np.random.RandomState(0).rand(40, 3))
    for queries, scale in ((None, 1), (10, 4), (40, 1), (50, 1)):
        search = Search(3, queries=queries)
        assert search.scale(data) == scale
        assert find(data, search).rows.size * scale == 120
