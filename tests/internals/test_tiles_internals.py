"""The search by tiles, against its definition: any tiles, threads and memory, equal rows, and classes."""

import re
import sys
from itertools import combinations

import numpy as np
import pytest
import rule
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context
from threadpoolctl import threadpool_limits

from lapwing import LPP, LaplacianEigenmaps
from lapwing.graphs import KNN
from lapwing.neighbors import Search, _bounds, _copies, _find, _spaces, _tiled, _tiles, find, within
from lapwing.rows import Rows

K = 5


def more_data():
    """Of any origin, scale and precision."""
    rng = np.random.RandomState(0)
    X = rng.randn(60, 20)
    far = rng.randn(60, 20) + 1e6
    single = {name: rows.astype(np.float32) for name, rows in (("float32", X), ("float32 far away", 1e6 + 10 * X))}
    zeros = np.where(rng.rand(80, 20) < 0.02, 1.0, 0.0)
    return {**rule.data(), "far away": far, "zeros": zeros, **single}


DATA = more_data()


def labels(X, n_classes):
    return np.random.RandomState(1).randint(-1, n_classes, len(X))


@pytest.fixture(params=[16, 512], ids=["many tiles", "one tile"])
def by_tiles(request, monkeypatch):
    """Tiles, though rows or columns are few."""
    monkeypatch.setattr(_tiled, "LEAST_PAIRS", 0)
    monkeypatch.setattr(_tiled, "TREE_DIMENSIONS", 0)
    monkeypatch.setattr(_tiles, "TILE", request.param)


def check(X, y=None, metric="euclidean", among="all", queries=None, k=K, make=np.asarray):
    found = rule.as_sets(find(Rows(make(X), y), Search(k, metric, among=among, queries=queries)))
    rows = set(Search(k, queries=queries).queried(len(X)).tolist())
    exact = rule.neighbors(X, k, metric, among=among, y=y)
    assert found == {i: own for i, own in exact.items() if i in rows}


@pytest.mark.usefixtures("by_tiles")
class TestRule:
    @pytest.mark.parametrize("queries", [None, 20])
    @pytest.mark.parametrize("k", [1, K, 12])
    @pytest.mark.parametrize("name", DATA)
    def test_all_rows_and_some(self, name, k, queries):
        check(DATA[name], k=k, queries=queries)

    @pytest.mark.parametrize("queries", [None, 20])
    @pytest.mark.parametrize("name", [name for name in DATA if "far" not in name])
    def test_angles(self, name, queries):
        check(np.abs(DATA[name]) + np.float32(0.5), metric="cosine", queries=queries)

    @pytest.mark.parametrize("n_classes", [3, 25])
    @pytest.mark.parametrize("among", ["same_class", "other_class"])
    @pytest.mark.parametrize("name", DATA)
    def test_classes(self, name, among, n_classes):
        X = DATA[name]
        check(X, labels(X, n_classes), among=among)
        check(X, labels(X, n_classes), among=among, queries=30)

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    @pytest.mark.parametrize("frequent", [0.0, 0.35, 1.0])
    @pytest.mark.parametrize("name", ["random", "lattice", "repeated", "near ties"])
    def test_sparse_rows(self, name, frequent, metric, monkeypatch):
        """Whichever columns are dense."""
        monkeypatch.setattr(_tiles, "FREQUENT", frequent)
        X = np.where(np.random.RandomState(2).rand(*DATA[name].shape) < 0.4, DATA[name], 0)
        X[:, 0] += 1
        check(X, metric=metric, make=sparse.csr_array)
        check(X, labels(X, 3), metric=metric, among="same_class", make=sparse.csr_array)

    @pytest.mark.parametrize("scale", [1e-100, 1e100])
    def test_any_scale(self, scale):
        X = DATA["random"]
        found = rule.as_sets(find(Rows(X * scale), Search(K)))
        assert found == rule.neighbors(X, K)

    @pytest.mark.parametrize("memory", [0.05, 1, 1024])
    @pytest.mark.parametrize("name", ["random", "lattice", "float32 far away"])
    def test_any_memory(self, name, memory):
        with config_context(working_memory=memory):
            check(DATA[name])

    @pytest.mark.parametrize(
        ("name", "among"),
        [(name, "all") for name in DATA]
        + [(name, among) for name in ("random", "lattice", "repeated") for among in ("same_class", "other_class")],
    )
    def test_the_number_of_threads_changes_no_bit(self, name, among):
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                found.append(find(Rows(DATA[name], labels(DATA[name], 3)), Search(K, among=among)))
        for one, two in zip(*found, strict=True):
            np.testing.assert_array_equal(one, two)

    @pytest.mark.parametrize("name", DATA)
    def test_nearest_first_and_exact(self, name):
        X = DATA[name]
        edges = find(Rows(X), Search(K))
        exact = rule.distances(X, "euclidean")[edges.rows, edges.cols].astype(np.float64)
        np.testing.assert_allclose(edges.distances, exact, rtol=1e-12, atol=1e-12 * np.abs(X).max())
        np.testing.assert_array_equal(edges.rows, np.repeat(np.arange(len(X)), K))
        assert (np.diff(edges.distances.reshape(-1, K), axis=1) >= 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_everybody_plays_everybody_once(n):
    rounds = list(_tiles._rounds(n))
    pairs = np.concatenate([np.empty((0, 2), int), *rounds])
    assert sorted(map(tuple, pairs.tolist())) == [(i, j) for i in range(n) for j in range(i + 1, n)]
    assert all(np.unique(pairs).size == pairs.size for pairs in rounds)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_search_larger_than_a_tile(dtype):
    """Against scikit-learn, where no two distances are near a tie."""
    from sklearn.neighbors import NearestNeighbors

    X = np.random.RandomState(0).randn(6000, 30).astype(dtype)
    expected = NearestNeighbors().fit(X.astype(np.float64)).kneighbors(n_neighbors=K)
    edges = find(Rows(X), Search(K))
    np.testing.assert_array_equal(edges.cols.reshape(-1, K), expected[1])
    np.testing.assert_allclose(edges.distances.reshape(-1, K), expected[0], rtol=1e-6)


def test_products_in_float32_are_not_used_where_they_drown(monkeypatch):
    X = np.random.RandomState(0).randn(6000, 30) + 1e6 * (np.arange(6000) % 2)[:, None]
    made = []
    operand = _tiled.Operand
    monkeypatch.setattr(
        _tiled, "Operand", lambda *given, **options: made.append(given[-1]) or operand(*given, **options)
    )
    edges = find(Rows(X), Search(K))
    assert made == [np.float32, np.float64]
    assert (edges.rows % 2 == edges.cols % 2).all()


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows(make, dtype):
    X = np.array([[1, 2], [0, 0], [1, 2], [1, 2], [-0.0, 0], [3, 1]], dtype)
    groups = _copies.equal_rows(make(X))
    assert [np.flatnonzero(groups == g).tolist() for g in groups] == [
        [0, 2, 3],
        [1, 4],
        [0, 2, 3],
        [0, 2, 3],
        [1, 4],
        [5],
    ]
    assert _copies.equal_rows(make(np.arange(12, dtype=dtype).reshape(6, 2))) is None


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_hold_the_same_numbers_in_different_columns(make, dtype):
    assert _copies.equal_rows(make(np.eye(500, dtype=dtype))) is None


@pytest.mark.parametrize(
    ("n", "repeated", "copies", "are_grouped"),
    [(100, 100, 2, True), (100, 0, 1, False), (300, 2, 2, False), (300, 2, 9, True)],
    ids=["all twice", "none", "two of many twice", "two of many more often than there are neighbours"],
)
def test_copies_are_searched_for_once_where_that_matters(n, repeated, copies, are_grouped):
    """It matters where rows are few besides their copies, or where a row has more copies than neighbours."""
    X = np.random.RandomState(0).randn(n, 3)
    X = np.r_[X, np.repeat(X[:repeated], copies - 1, axis=0)]
    found = _copies.Copies.among(Rows(X), np.arange(len(X)), None, 5)
    assert (found is not None) == are_grouped
    if found is not None:
        np.testing.assert_array_equal(found[0].first[found[1]], [np.flatnonzero((x == X).all(1))[0] for x in X])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("queries", [None, 40])
@pytest.mark.parametrize("d", [3, 20])
def test_few_distinct_rows(d, queries, metric):
    """Copies that are neighbours of copies, of ties, and of rows with few copies."""
    rng = np.random.RandomState(0)
    X = 1 + rng.randint(0, 3, (8, d)).astype(float)[rng.randint(8, size=90)]
    check(X, metric=metric, queries=queries)
    y = labels(X, 12)
    for among in ("same_class", "other_class"):
        check(X, y, metric, among, queries)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_many_small_classes_are_one_search(metric, monkeypatch):
    from lapwing.neighbors import _find

    X, y = 1 + np.random.RandomState(0).rand(90, 20), np.repeat(np.arange(30), 3)
    calls = []
    proposed = _find._proposed
    monkeypatch.setattr(_find, "_proposed", lambda *given: calls.append(given) or proposed(*given))
    check(X, y, metric, "same_class")
    assert not calls


class TestProgress:
    X = np.random.RandomState(0).randn(3000, 150)

    @pytest.fixture
    def terminal(self, monkeypatch):
        from lapwing.blocks import _progress

        monkeypatch.setattr(_progress, "PATIENCE", 0.0)
        monkeypatch.setattr(_progress, "BETWEEN", 0.0)
        monkeypatch.setattr(_progress, "_is_read", lambda: True)

    @pytest.mark.usefixtures("terminal")
    @pytest.mark.parametrize("queries", [None, 2500])
    def test_a_long_search_shows_the_time_that_is_left(self, queries, monkeypatch, capsys):
        monkeypatch.setattr(_tiles, "TILE", 64)
        find(Rows(self.X), Search(K, queries=queries))
        said = capsys.readouterr().err
        shown = [int(n.replace(",", "")) for n in re.findall(rf"([\d,]+) of {queries or 3000:,} rows, ", said)]
        assert shown == sorted(shown)
        assert shown[-1] == (queries or 3000)
        assert " s left" in said

    @pytest.mark.usefixtures("terminal")
    @pytest.mark.parametrize(
        ("columns", "search"),
        [
            pytest.param(3, Search(K), id="tree"),
            pytest.param(20, Search(K, "manhattan"), id="another metric"),
            pytest.param(20, Search(K, "manhattan", queries=2000), id="sampled"),
            pytest.param(150, Search(250, queries=2500), id="many neighbours"),
        ],
    )
    def test_searches_that_are_not_by_tiles_show_how_far_they_are(self, columns, search, monkeypatch, capsys):
        monkeypatch.setattr(_spaces, "GRAM_LIMIT", 100)
        find(Rows(np.abs(self.X[:, :columns])), search)
        shown = re.findall(r"searching: ([\d,]+) of ([\d,]+) rows, (\d+) s left", capsys.readouterr().err)
        assert len(shown) > 1
        assert shown[-1][0] == shown[-1][1]

    @pytest.mark.usefixtures("terminal")
    def test_a_radius_shows_how_far_it_is(self, capsys):
        within(Rows(self.X[:, :3]), 0.3)
        assert "searching: 1,024 of 3,000 rows" in capsys.readouterr().err

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
    @pytest.mark.parametrize("columns", [3, 30])
    def test_parts_do_not_change_what_is_found(self, metric, columns, monkeypatch):
        """By scikit-learn in one call, and in many."""
        monkeypatch.setattr(_tiled, "LEAST_PAIRS", 1e12)
        X = np.concatenate([self.X[:1500, :columns], self.X[:100, :columns]])
        found = []
        for at_once in (10_000, 256):
            monkeypatch.setattr(_spaces, "AT_ONCE", at_once)
            monkeypatch.setattr(_find, "AT_ONCE", at_once)
            found.append([find(Rows(X), Search(K, metric)), within(Rows(X), 0.5, metric)])
        for one, other in zip(*found, strict=True):
            order = [np.lexsort((edges.cols, edges.rows)) for edges in (one, other)]
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a[order[0]], b[order[1]])

    def test_a_short_search_says_nothing(self, capsys):
        find(Rows(self.X), Search(K))
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("columns", [150, 3], ids=["tiles", "tree"])
    @pytest.mark.parametrize("model", [LPP(2, graph=KNN(K)), LaplacianEigenmaps(2, graph=KNN(K))])
    def test_an_interrupted_fit_leaves_nothing(self, model, columns, monkeypatch):
        def interrupted(self, done):
            raise KeyboardInterrupt

        model.fit(self.X[:100, :columns])
        monkeypatch.setattr(_tiles.Progress, "__call__", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit(self.X[:, :columns])
        assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.skipif(sys.platform != "linux", reason="the size of an array is not what a process takes elsewhere")
def test_memory_is_bounded():
    """Beyond the result: no array of all pairs, and no copy of X where that is larger than the working memory allows."""
    import tracemalloc

    X = np.random.RandomState(0).randn(6000, 100).astype(np.float32)
    rows = Rows(X)
    with config_context(working_memory=4):
        tracemalloc.start()
        find(rows, Search(K))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 6000 * (K + 3) * 60 + 12 * 2**20


@pytest.mark.parametrize("at", [14, 15, 16, 17, 30, 31, 32, 33])
def test_classes_that_begin_near_the_end_of_a_tile(at, monkeypatch):
    """Tiles of one class need not be masked; one row of another class among them must be."""
    for module, name, value in ((_tiled, "LEAST_PAIRS", 0), (_tiled, "TREE_DIMENSIONS", 0), (_tiles, "TILE", 16)):
        monkeypatch.setattr(module, name, value)
    X, y = np.random.RandomState(at).standard_normal((80, 20)), (np.arange(80) >= at).astype(int)
    distances = np.square(X[:, None] - X).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    for among, barred in (("same_class", y[:, None] != y), ("other_class", y[:, None] == y)):
        expected = np.argsort(np.where(barred, np.inf, distances), axis=1)[:, :3]
        np.testing.assert_array_equal(find(Rows(X, y), Search(3, among=among)).by_row().cols.reshape(-1, 3), expected)


class TestBounds:
    """Screening by lower bounds changes nothing but the time."""

    @pytest.fixture(params=[True, False], ids=["screened", "not screened"])
    def screened(self, request, monkeypatch):
        for module, name, value in (
            (_bounds, "MANY", 0),
            (_bounds, "WIDE", 0),
            (_bounds, "may_pay", lambda n, d: True),
            (_tiled, "may_pay", lambda n, d: True),
            (_tiled, "LEAST_PAIRS", 0),
            (_tiled, "TREE_DIMENSIONS", 0),
            (_tiles, "TILE", 16),
        ):
            monkeypatch.setattr(module, name, value)
        calls = []
        whole = _tiles.Tiles._screened
        monkeypatch.setattr(_tiles.Tiles, "_screens_well", lambda self: request.param)
        monkeypatch.setattr(_tiles.Tiles, "_screened", lambda self, pair: calls.append(pair) or whole(self, pair))
        return request.param, calls

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    @pytest.mark.parametrize("name", [name for name in DATA if "few" not in name])
    def test_neighbours_are_the_same(self, name, metric, screened):
        if metric == "cosine" and "far" in name:
            pytest.skip("all angles there are those of parallel rows")
        X = np.abs(DATA[name]) + np.float32(0.5) if metric == "cosine" else DATA[name]
        check(X, metric=metric)
        if name in ("random", "float32", "float32 far away"):
            assert bool(screened[1]) is screened[0]

    def test_never_exceed_distances(self):
        X = np.random.RandomState(0).randn(200, 40) @ np.diag(np.geomspace(1, 0.01, 40))
        operand = _tiles.Operand(X, np.arange(200), np.zeros(40), 1.0, np.float64)
        bounds = _bounds.Bounds(operand, _bounds.directions(operand)[:, :5])
        whole = slice(0, 200)
        halves = -bounds.left(whole) @ bounds.right(whole).T
        exact = rule.distances(X, "euclidean").astype(np.float64) ** 2 / 2
        assert (halves <= exact + 1e-12).all()
        assert np.median(halves / np.where(exact > 0, exact, 1)) > 0.5

    def test_are_the_same_of_rows_that_are_not_kept(self):
        """Rows that would take too much memory are moved whenever they are read."""
        X, rows = np.random.RandomState(0).randn(200, 40), np.arange(0, 200, 3)
        with config_context(working_memory=1e-3):
            read = _tiles.Operand(X, rows, X.mean(axis=0), 0.5, np.float64)
        kept = _tiles.Operand(X, rows, X.mean(axis=0), 0.5, np.float64)
        assert read.kept is None
        for one, other in zip(read.blocks(), kept.blocks(), strict=True):
            assert one[0] == other[0]
            np.testing.assert_array_equal(one[1], (X[rows[one[0]]] - X.mean(axis=0)) * 0.5)
            np.testing.assert_array_equal(one[1], other[1])
        assert kept.kept is not None

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_are_kept_where_they_take_at_most_a_quarter_of_the_working_memory(self, dtype):
        X, size = np.random.RandomState(0).randn(200, 40), 200 * 42 * np.dtype(dtype).itemsize
        for memory, are_kept in ((4.01 * size, True), (3.99 * size, False)):
            with config_context(working_memory=memory / 2**20):
                operand = _tiles.Operand(X, np.arange(200), X.mean(axis=0), 1.0, dtype)
            assert (operand.kept is not None) == are_kept

    def test_are_tried_where_rows_are_many_and_long(self):
        assert _bounds.may_pay(100_000, 256)
        assert not _bounds.may_pay(100_000, 64)
        assert not _bounds.may_pay(1_000, 256)

    def test_pay_where_few_directions_hold_most(self, monkeypatch):
        """Judged by what they leave of a few tiles."""
        monkeypatch.setattr(_bounds, "MANY", 1000)
        judged = []
        well = _tiles.Tiles._screens_well
        monkeypatch.setattr(_tiles.Tiles, "_screens_well", lambda self: judged.append(well(self)) or judged[-1])
        rng = np.random.RandomState(0)
        for spectrum in (np.geomspace(1, 1e-6, 200), np.ones(200)):
            find(Rows((rng.randn(4000, 200) * spectrum).astype(np.float32)), Search(1))
        assert judged == [True, False]


@pytest.mark.parametrize("n", [1, 100, 101, 799, 801, 5000])
def test_parts_are_of_equal_size_and_many_are_a_multiple_of_eight(n):
    parts = _tiles._parts(n, 100)
    np.testing.assert_array_equal(np.concatenate([np.arange(n)[part] for part in parts]), np.arange(n))
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) <= min(100, min(sizes) + 1)
    assert len(parts) == -(-n // 100) if n <= 800 else len(parts) % 8 == 0
    assert len(parts) < n / 100 + 8


@pytest.mark.parametrize("n", range(1, 10))
def test_everybody_meets_everybody_once_and_nobody_plays_twice_in_a_round(n):
    rounds = list(_tiles._rounds(n))
    for pairs in rounds:
        assert np.unique(pairs).size == pairs.size
    assert sorted(tuple(pair) for pairs in rounds for pair in pairs.tolist()) == list(combinations(range(n), 2))


@pytest.mark.parametrize("memory", [64, 1e-3], ids=["kept", "read again"])
@pytest.mark.parametrize("is_right", [False, True])
def test_products_of_operands_are_minus_half_the_squared_distances(is_right, memory):
    X, rows, others = np.random.RandomState(0).randn(90, 20) + 3, np.arange(5, 85, 2), np.arange(90)[::-1]
    with config_context(working_memory=memory):
        left = _tiles.Operand(X, rows, X.mean(axis=0), 0.5, np.float64)
        right = _tiles.Operand(X, others, X.mean(axis=0), 0.5, np.float64, is_right=is_right)
    assert (left.kept is not None) == (memory == 64)
    a, b, room = slice(3, 40), slice(10, 90), np.empty((90, 22))
    products = left.left(a, room.copy()) @ right.right(b, room.copy()).T
    np.testing.assert_allclose(products, -(cdist(X[rows[a]], X[others[b]]) ** 2) / 8, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_products_of_sparse_operands_are_minus_half_the_squared_distances(metric):
    """Where some columns are dense and others are not."""
    rng = np.random.RandomState(0)
    X = rng.uniform(1, 2, (90, 60)) * (rng.uniform(size=(90, 60)) < 0.03)
    X[:, [3, 7, 50]] = rng.uniform(1, 2, (90, 3))
    X = sparse.csr_array(X)
    norms, unit = (None, 2.0) if metric == "euclidean" else (np.sqrt((X * X).sum(axis=1)), 1.0)
    left, right = (
        _tiles.SparseOperand(X, rows, norms, unit, np.float64) for rows in (np.arange(1, 90, 2), np.arange(90))
    )
    left.use(right.columns)
    assert 3 <= right.columns.size < 60
    a, b, room = slice(3, 40), slice(10, 90), np.empty((90, right.width))
    products = left.left(a, room) @ right.right(b, room).T
    left.add_rest(products, a, right, b)
    D = cdist(X.toarray()[1::2][a], X.toarray()[b], metric)
    np.testing.assert_allclose(products, -(2 * D**2 if metric == "euclidean" else D), atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 100])
def test_queries_stay_open_within_their_kth_distance(k):
    """Of rows that are proposed in any order; nothing is known here of the rows that are not proposed."""
    rng = np.random.RandomState(0)
    X, every = rng.randn(400, 20), np.arange(400)
    places = np.array([rng.permutation(np.delete(every, i))[:300] for i in every])
    proposal = _tiles.Proposal(places, np.zeros(400))
    edges, open_, near = _tiled._settled(Rows(X), Search(k), every, every, proposal, 1.0, False)
    assert edges.rows.size == 0
    np.testing.assert_array_equal(open_, every)
    np.testing.assert_allclose(near, np.sort(np.take_along_axis(cdist(X, X), places, 1), 1)[:, k - 1], rtol=1e-8)
