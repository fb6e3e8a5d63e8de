"""``search="approximate"``: nearly all neighbours, at distances that are exact, the same every time."""

import re
import subprocess
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from lapwing import LPP, LaplacianEigenmaps
from lapwing.graphs import KNN, SameClass
from lapwing.neighbors import Search, _approximate, _compiled, find
from lapwing.persistence import load, save
from lapwing.rows import Rows

pytestmark = pytest.mark.skipif(find_spec("pynndescent") is None, reason="needs pynndescent")  # slow to import

N, K = 2000, 5


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    y = rng.randint(30, size=N)
    X = 4 * rng.randn(30, 12)[y] + rng.randn(N, 12) * np.geomspace(2, 0.2, 12)
    return X, y % 3


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_rows_of_any_size_are_scaled_into_single_precision(make, scale, data):
    found = _approximate.prepared(make(scale * data[0]), "euclidean")
    assert found.dtype == np.float32
    assert abs(found).max() == pytest.approx(1)
    zero = _approximate.prepared(make(np.zeros((3, 2))), "euclidean")
    assert abs(zero).max() == 0


@pytest.fixture
def descends(monkeypatch):
    """NN-descent, though the rows are few."""
    monkeypatch.setattr(_approximate, "FEW", 100)


@pytest.fixture
def no_pynndescent(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynndescent", None)


def found(X, k=K, metric="euclidean", recall=0.99):
    """Neighbours and distances, one row a row; there are k of each, nearest first, none of them the row itself."""
    edges = find(Rows(X), Search(k, metric, search="approximate", recall=recall))
    np.testing.assert_array_equal(edges.rows, np.repeat(np.arange(X.shape[0]), k))
    cols, d = edges.cols.reshape(-1, k), edges.distances.reshape(-1, k)
    assert (cols != np.arange(X.shape[0])[:, None]).all()
    assert (np.diff(np.sort(cols, axis=1), axis=1) > 0).all()
    assert (np.diff(d, axis=1) >= 0).all()
    return cols, d


def oracle(X, metric):
    d = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    np.fill_diagonal(d, np.inf)
    return d


def check_near(X, cols, d, metric="euclidean", rtol=1e-10):
    """As near as the k nearest in 99 cases of 100, and as far as said in all."""
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, np.float64)
    expected = oracle(dense, metric)
    np.testing.assert_allclose(d, np.take_along_axis(expected, cols, axis=1), rtol=rtol, atol=1e-14)
    radius = np.sort(expected, axis=1)[:, [cols.shape[1] - 1]]
    assert np.mean(d <= radius * (1 + 1e-9)) >= 0.99


@pytest.mark.usefixtures("descends")
class TestDescent:
    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    def test_recall_and_distances(self, data, metric):
        X, _ = data
        check_near(X, *found(X, metric=metric), metric)

    @pytest.mark.parametrize("k", [1, 25])
    def test_numbers_of_neighbours(self, data, k):
        X, _ = data
        check_near(X, *found(X, k))

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    def test_sparse(self, data, metric):
        X = sparse.csr_array(np.where(np.abs(data[0]) > 2, data[0], 0))
        X = X[np.diff(X.indptr) > 0]
        check_near(X, *found(X, metric=metric), metric)

    def test_float32_distances_are_in_float64(self, data):
        X = data[0].astype(np.float32)
        cols, d = found(X)
        assert d.dtype == np.float64
        check_near(X, cols, d)

    @pytest.mark.parametrize(("shift", "scale"), [(1e7, 1.0), (0.0, 1e-30), (0.0, 1e60), (1e40, 1e32)])
    def test_any_origin_and_unit(self, data, shift, scale):
        """Squares of such numbers, or differences of them, do not fit in float32, which NN-descent computes in."""
        X = shift + scale * data[0]
        cols, d = found(X)
        np.testing.assert_allclose(d / scale, found((X - shift) / scale)[1], rtol=1e-6)
        check_near((X - shift) / scale, cols, d / scale, rtol=1e-6)

    def test_repeated_rows(self, data):
        X = np.repeat(data[0][:60], 50, axis=0)
        _, d = found(X)
        assert not d.any()

    def test_equal_rows_only(self):
        _, d = found(np.ones((500, 3)))
        assert not d.any()

    def test_same_every_time(self, monkeypatch):
        """Where it misses much, which another seed would show."""
        monkeypatch.setattr(_approximate, "LOOKED_FOR", ((1.0, 1.0, K),))
        X = np.random.RandomState(0).rand(N, 30).astype(np.float32)
        np.random.seed(1)
        first = found(X, recall=0.01)
        np.random.seed(2)
        np.testing.assert_array_equal(first, found(X, recall=0.01))

    @pytest.mark.parametrize("metric", ["euclidean", "cosine"])
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_leaves_x_alone(self, data, make, metric):
        X = make(data[0].astype(np.float32))
        before = X.copy()
        found(X, metric=metric)
        assert not abs(X - before).max()

    def test_maps_are_those_of_the_exact_graph(self, data):
        X, y = data
        for make in (lambda graph: LPP(4, graph=graph), lambda graph: LPP(4, graph=graph & SameClass())):
            exact, near = (make(KNN(K, search=search)).fit(X, y) for search in (None, "approximate"))
            assert np.degrees(subspace_angles(exact.components_.T, near.components_.T)).max() < 3
        strip = np.random.RandomState(0).rand(1000, 2) * [5, 1]  # connected, and no two eigenvalues are equal
        maps = (LaplacianEigenmaps(3, graph=KNN(15, search=s)).fit_transform(strip) for s in (None, "approximate"))
        assert np.degrees(subspace_angles(*maps)).max() < 3

    def test_combined_graph_keeps_links_inside_classes(self, data):
        X, y = data
        W = (KNN(K, search="approximate", weights="binary") & SameClass()).adjacency(Rows(X, y)).tocoo()
        assert W.nnz
        assert (y[W.row] == y[W.col]).all()

    def test_grid_search(self, data):
        X, y = data
        steps = Pipeline([("lpp", LPP(4)), ("knn", KNeighborsClassifier(1))])
        grid = {"lpp__graph": [KNN(K)], "lpp__graph__search": [None, "approximate"]}
        scores = GridSearchCV(steps, grid, cv=2, error_score="raise").fit(X, y).cv_results_["mean_test_score"]
        assert abs(scores[0] - scores[1]) < 0.01

    def test_clone_repr_and_file(self, data, tmp_path):
        X, _ = data
        model = LPP(4, graph=KNN(K, search="approximate")).fit(X)
        assert "search='approximate'" in repr(model)
        np.testing.assert_array_equal(clone(model).fit(X).components_, model.components_)
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.graph.search == "approximate"
        np.testing.assert_array_equal(again.transform(X), model.transform(X))


def replace_pynndescent(monkeypatch, search):
    """By something that compiles nothing."""
    monkeypatch.setitem(sys.modules, "pynndescent", SimpleNamespace(NNDescent=search))
    monkeypatch.setattr(_approximate, "compiling", lambda metric, is_sparse: nullcontext())
    monkeypatch.setattr(_approximate, "FEW", 100)


def pretended(monkeypatch, lost=()):
    """A pynndescent whose search is exact, in no order, but finds nothing for some rows; and what it was asked."""
    asked = {}

    def search(X, **options):
        asked.update(options)
        every = cdist(X, X, {"manhattan": "cityblock"}.get(options["metric"], options["metric"]))
        order = np.argsort(every, axis=1)[:, : options["n_neighbors"]].astype(np.int32)[:, ::-1]
        d = np.take_along_axis(every, order, axis=1).astype(np.float32)
        order[list(lost), 2:] = -1
        return SimpleNamespace(neighbor_graph=(order.copy(), d))

    replace_pynndescent(monkeypatch, search)
    return asked


@pytest.mark.parametrize("k", [1, 5, 80])
def test_more_is_asked_for_than_wanted(data, monkeypatch, k):
    asked = pretended(monkeypatch)
    X = data[0][:400]
    check_near(X, *found(X, k))
    assert asked["n_neighbors"] > max(2 * k, 20)
    assert asked["random_state"] == 0


@pytest.mark.parametrize("k", [1, 5, 80])
def test_more_is_asked_for_where_more_is_to_be_found(data, monkeypatch, k):
    asked, counts = pretended(monkeypatch), []
    for recall in (0.5, 0.95, 0.98, 1.0):
        found(data[0][:600], k, recall=recall)
        counts.append(asked["n_neighbors"])
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("metric", ["l2", "cosine", "manhattan", "cityblock", "l1"])
def test_metrics(data, monkeypatch, metric):
    pretended(monkeypatch)
    X = data[0][:400]
    cols, d = found(X, metric=metric)
    names = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan"}
    check_near(X, cols, d, names.get(metric, metric))


def test_no_more_is_asked_for_than_there_is(data, monkeypatch):
    asked = pretended(monkeypatch)
    found(data[0][:120], 119)
    assert asked["n_neighbors"] == 120


def test_rows_it_found_nothing_for_are_searched_exactly(data, monkeypatch):
    X = data[0][:400]
    pretended(monkeypatch, lost=[3, 50, 399])
    cols, _ = found(X)
    np.testing.assert_array_equal(cols, np.argsort(oracle(X, "euclidean"), axis=1)[:, :K])


def missing(monkeypatch, share):
    """A pynndescent that finds the nearest, but for a share of them: less, the more it is asked for."""
    asked = []

    def search(X, *, n_neighbors, **options):
        asked.append(n_neighbors)
        order = np.argsort(cdist(X, X), axis=1)[:, : 3 * n_neighbors]
        lost = np.random.RandomState(0).rand(*order.shape) < share / n_neighbors
        order = np.take_along_axis(order, np.argsort(lost, axis=1, kind="stable"), axis=1)[:, :n_neighbors]
        d = np.take_along_axis(cdist(X, X), order, axis=1)
        return SimpleNamespace(neighbor_graph=(order.astype(np.int32), d.astype(np.float32)))

    replace_pynndescent(monkeypatch, search)
    return asked


class TestRecall:
    """What is aimed at, and what is reported."""

    def test_is_measured_and_reported(self, data, monkeypatch):
        missing(monkeypatch, 1.0)
        X = data[0][:900]
        graph = KNN(K, search="approximate", recall=0.8)
        model = LPP(2, graph=graph).fit(X)
        W = KNN(K, search="approximate", recall=0.8, weights="binary", symmetry="mean").adjacency(Rows(X))
        exact = KNN(K, weights="binary", symmetry="mean").adjacency(Rows(X))
        share = W.minimum(exact).sum() / exact.sum()
        assert 0.8 < model.recall_ < 1
        assert model.recall_ == pytest.approx(share, abs=0.03)
        assert not hasattr(LPP(2, graph=KNN(K)).fit(X), "recall_")

    def test_is_aimed_at(self, data, monkeypatch):
        """Asked again for more where a sample of rows has too few of its neighbours."""
        asked = missing(monkeypatch, 1.0)
        model = LPP(2, graph=KNN(K, search="approximate", recall=0.96)).fit(data[0][:900])
        assert model.recall_ >= 0.96
        assert asked == sorted(asked)
        assert len(asked) == 2

    def test_of_free_maps_is_higher(self, data, monkeypatch):
        asked = missing(monkeypatch, 0.0)
        LPP(2, graph=KNN(K, search="approximate")).fit(data[0][:900])
        LaplacianEigenmaps(2, graph=KNN(K, search="approximate")).fit(data[0][:900])
        assert asked[1] > asked[0]

    def test_that_is_missed_is_said(self, data, monkeypatch):
        asked = missing(monkeypatch, 30.0)
        with pytest.warns(
            UserWarning, match=r"found 0\.\d+ of the nearest neighbours.*recall=0.999 was asked for; use search=None"
        ):
            LPP(2, graph=KNN(K, search="approximate", recall=0.999)).fit(data[0][:900])
        assert len(asked) == 3

    def test_of_few_rows_is_one(self, data):
        assert LPP(2, graph=KNN(K, search="approximate")).fit(data[0][:200]).recall_ == 1

    @pytest.mark.parametrize("recall", [0, -1, 1.5, "high", True, np.nan])
    def test_bad_values(self, data, recall):
        with pytest.raises(ValueError, match=r"recall=.* must be a number above 0"):
            KNN(K, search="approximate", recall=recall).build(data[0][:200])

    def test_without_an_approximate_search(self, data):
        with pytest.raises(ValueError, match=r'recall=0.9 is what search="approximate" aims at'):
            KNN(K, recall=0.9).build(data[0][:200])


class TestCompiling:
    """It is said, and what is compiled is kept for the next process."""

    SEARCH = """
import numpy as np
from numba.core import event
from lapwing.neighbors import Search, _approximate, find
from lapwing.rows import Rows
_approximate.FEW = 100
compiled = event.RecordingListener()
with event.install_listener("numba:compile", compiled):
    find(Rows(np.random.RandomState(0).randn(500, 12)), Search(5, search="approximate", recall=0.9))
print([event.data["dispatcher"].__name__ for _, event in compiled.buffer if event.is_start])
"""

    @pytest.mark.usefixtures("descends")
    def test_is_done_once_for_all_processes(self, data):
        found(data[0])
        done = subprocess.run([sys.executable, "-c", self.SEARCH], capture_output=True, text=True, check=True)
        assert "process_candidates" not in done.stdout

    @pytest.mark.parametrize(("kept", "once"), [(("f",), "once for each version"), ((), "in every process")])
    def test_is_said_once(self, kept, once, monkeypatch, capsys):
        from numba.core import event

        from lapwing.blocks import _progress

        monkeypatch.setattr(_progress, "_is_read", lambda: True)
        monkeypatch.setattr(_compiled, "keep", lambda metric, is_sparse: kept)
        with _compiled.compiling("euclidean", False):
            assert capsys.readouterr().err == ""
            for name in ("f", "f", "g"):
                with event.trigger_event("numba:compile", data={"dispatcher": name}):
                    pass
        assert re.fullmatch(rf"compiling the approximate search, {once}.*\n", capsys.readouterr().err)

    def test_of_what_is_never_kept_is_short_and_not_said(self, monkeypatch, capsys):
        from numba.core import event

        from lapwing.blocks import _progress

        monkeypatch.setattr(_progress, "_is_read", lambda: True)
        monkeypatch.setattr(_compiled, "keep", lambda metric, is_sparse: ("f",))
        with _compiled.compiling("euclidean", False), event.trigger_event("numba:compile", data={"dispatcher": "g"}):
            pass
        assert capsys.readouterr().err == ""

    def test_is_kept_below_the_folder_that_numba_is_told(self, monkeypatch, tmp_path):
        import numba

        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
        assert _compiled.folder().parent == tmp_path
        monkeypatch.setattr(numba.config, "CACHE_DIR", "")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr(sys, "platform", "linux")
        assert _compiled.folder().parent == tmp_path / "lapwing"

    def test_is_not_kept_where_nothing_can_be_written(self, monkeypatch, tmp_path):
        (tmp_path / "file").touch()
        monkeypatch.setattr(_compiled, "folder", lambda: tmp_path / "file" / "folder")
        monkeypatch.setattr(_compiled, "_numbered", set())
        assert _compiled.keep("euclidean", False) == ()

    def test_needs_a_folder_that_files_can_be_written_to(self, monkeypatch, tmp_path):
        assert _compiled._is_writable(tmp_path / "not yet" / "there") is True
        (tmp_path / "file").touch()
        assert _compiled._is_writable(tmp_path / "file" / "folder") is False

        def full(dir):
            raise OSError("no space is left on the device")

        monkeypatch.setattr(_compiled.tempfile, "TemporaryFile", full)
        assert _compiled._is_writable(tmp_path) is False

    @pytest.mark.parametrize(
        ("platform", "variables", "where"),
        [
            ("linux", {"XDG_CACHE_HOME": "/kept"}, "/kept/lapwing"),
            ("linux", {"XDG_CACHE_HOME": ""}, "/home/me/.cache/lapwing"),
            ("darwin", {}, "/home/me/Library/Caches/lapwing"),
            ("win32", {"LOCALAPPDATA": "/local"}, "/local/lapwing"),
            ("win32", {}, "/home/me/AppData/Local/lapwing"),
        ],
    )
    def test_is_kept_where_each_system_keeps_caches(self, platform, variables, where, monkeypatch):
        import numba

        for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"HOME": "/home/me", **variables}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(numba.config, "CACHE_DIR", "")
        monkeypatch.setattr(sys, "platform", platform)
        assert _compiled.folder().parent.as_posix() == where


@pytest.mark.usefixtures("no_pynndescent")
class TestWithout:
    @pytest.mark.parametrize("metric", ["euclidean", "l2", "cosine", "manhattan", "cityblock", "l1"])
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    @pytest.mark.parametrize("n", [K + 1, 200])
    def test_few_rows_are_searched_exactly(self, data, metric, make, n):
        X = make(data[0][:n])
        exact = KNN(K, metric=metric).adjacency(Rows(X))
        assert abs(KNN(K, metric=metric, search="approximate").adjacency(Rows(X)) - exact).max() < 1e-12

    @pytest.mark.usefixtures("descends")
    def test_says_how_to_install_it(self, data):
        with pytest.raises(ImportError, match=r"pip install 'lapwing\[approximate\]'"):
            LPP(graph=KNN(K, search="approximate")).fit(data[0])

    @pytest.mark.usefixtures("descends")
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"metric": "chebyshev"}, r"does not go with metric='chebyshev'.*euclidean, l2, cosine.*Leave search out"),
            ({"metric": "minkowski", "metric_params": {"p": 3}}, r"metric='minkowski', metric_params=\{'p': 3\}"),
            ({"metric": "sqeuclidean"}, "metric='sqeuclidean'"),
            ({"metric": "precomputed"}, "metric='precomputed'"),
            ({"metric": np.dot}, "PyNNDescentTransformer"),
            ({"metric_params": {"w": [1.0]}}, "without parameters"),
            ({"search": "fast"}, "search='fast' must be None"),
            ({"among": "same_class"}, 'among="same_class" must go without'),
            ({"queries": 10}, "queries=10 searches exactly"),
        ],
    )
    def test_bad_requests_fail_before_any_work(self, data, params, message):
        """Before pynndescent is looked for."""
        X, y = data
        with pytest.raises(ValueError, match=message):
            KNN(K, **{"search": "approximate"} | params).build(X[:200], y[:200])

    def test_range(self, data):
        with pytest.raises(ValueError, match="scale X first"):
            KNN(K, search="approximate").build(1e200 * data[0])
