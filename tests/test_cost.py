"""Estimates count what fits do: exact counts, how they grow, and a few real fits."""

import re
import time
import tracemalloc
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

import lapwing
from lapwing import (
    DNE,
    GLPCA,
    LPCA,
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    ONPP,
    TSA,
    FisherScore,
    KernelLPP,
    LaplacianEigenmaps,
    LaplacianScore,
    TangentialMaps,
)
from lapwing.cost import Cost, _cost, _speeds, estimate_cost
from lapwing.cost._speeds import THREADED, jobs, speeds
from lapwing.graphs import KNN, Complete, OtherClass, Precomputed, Radius, Reconstruction, Repulsion, SameClass

KINDS = tuple(jobs())
NO_ESTIMATE = {"TSA", "RobustGLPCA", "L21PCA"}


@pytest.fixture
def steady(monkeypatch):
    """A machine whose speed is the same in every run."""
    monkeypatch.setattr(_cost, "speeds", lambda: dict.fromkeys(KINDS, 1e9))


def seconds(part, *args, **options):
    return estimate_cost(*args, **options).parts[part][0]


@pytest.mark.parametrize(
    ("part", "estimator", "shape", "larger", "factor"),
    [
        ("search", LPP(2), (30_000, 40), (60_000, 40), 4),
        ("search", LPP(2), (3000, 400), (3000, 800), 2),
        ("search", LPP(2, graph=KNN(5, queries=500)), (20_000, 40), (40_000, 40), 2),
        ("forms", LPP(2, pca=None), (30_000, 40), (60_000, 40), 2),
        ("solve", LPP(2, pca=None), (5000, 1000), (5000, 2000), 8),
        ("kernel", KernelLPP(2), (4000, 20), (8000, 20), 8),
    ],
)
def test_how_a_part_grows(steady, part, estimator, shape, larger, factor):
    grown = seconds(part, estimator, larger) / seconds(part, estimator, shape)
    assert grown == pytest.approx(factor, rel=0.15)


def test_a_search_inside_classes_is_smaller_by_their_number(steady):
    inside, among_all = (OLPP(2, graph=KNN(5, among=among)) for among in ("same_class", "all"))
    saved = seconds("search", inside, (30_000, 40), n_classes=4) / seconds("search", among_all, (30_000, 40))
    assert saved == pytest.approx(1 / 4, rel=0.15)


def test_a_sampled_search_grows_with_the_queries(steady):
    few, many = (LPP(2, graph=KNN(5, queries=queries)) for queries in (500, 1000))
    grown = seconds("search", many, (20_000, 40)) / seconds("search", few, (20_000, 40))
    assert grown == pytest.approx(2, rel=0.15)


def test_pca_decides_the_size_of_the_eigenproblem(steady):
    shape = (5000, 100)
    assert seconds("solve", LPP(2, pca=20), shape) < seconds("solve", LPP(2, pca=80), shape)
    assert seconds("solve", LPP(80, pca="auto"), shape) == seconds("solve", LPP(80, pca=100), shape)


def test_as_many_queries_as_rows_are_no_sample(steady):
    whole, all_rows = (estimate_cost(LPP(2, graph=KNN(5, queries=q)), (3000, 40)) for q in (None, 3000))
    assert whole == all_rows
    assert "halves" not in whole.parts


def test_halves_of_a_sample_are_solved_for_too(steady):
    parts = estimate_cost(LPP(2, graph=KNN(5, queries=500)), (20_000, 40)).parts
    again = 2 * (parts["forms"][0] + parts["solve"][0]) + parts["graph"][0]
    assert parts["halves"][0] == pytest.approx(again)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LPP(2, graph=KNN(5)), LPP(2, graph=KNN(5) + KNN(5, weights="binary"))),
        (LPP(2), LPDP(2)),
        (LPP(2), DNE(2)),
    ],
)
def test_equal_searches_run_once(steady, one, other):
    assert estimate_cost(one, (3000, 40)).parts["search"] == estimate_cost(other, (3000, 40)).parts["search"]


def test_class_graphs_search_nothing(steady):
    for estimator in (
        MMC(2),
        LPP(2, graph=SameClass()),
        FisherScore(),
        LaplacianScore(graph=OtherClass() + Complete()),
    ):
        assert "search" not in estimate_cost(estimator, (3000, 40)).parts


def test_links_of_a_given_graph_are_counted(steady):
    near = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(3000, 3000), format="csr")
    wide = sparse.diags_array([1.0] * 4, offsets=[-2, -1, 1, 2], shape=(3000, 3000), format="csr")
    few, same, more = (seconds("graph", LPP(2, graph=W), (3000, 40)) for W in (near, near.toarray(), wide))
    assert few == same < more


METHODS = [
    LPP(5),
    LPP(5, graph=KNN(5, queries=100)),
    LPP(5, penalty=10),
    OLPP(5, graph=SameClass() - 0.2 * Repulsion(15), normalize="trace"),
    NPE(5, graph=10),
    ONPP(5),
    MMC(5),
    LPDP(5),
    MFA(5),
    DNE(5),
    LPCA(5, graph=8),
    LaplacianScore(),
    FisherScore(),
    KernelLPP(5),
    KernelLPP(5, landmarks=100),
    LaplacianEigenmaps(5),
    TangentialMaps(2),
    GLPCA(5),
    LPI(5),
]


@pytest.mark.parametrize("estimator", METHODS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_more_rows_and_columns_cost_more(steady, estimator, dtype):
    costs = [estimate_cost(estimator, shape, dtype=dtype) for shape in [(1000, 30), (2000, 30), (4000, 30)]]
    costs += [estimate_cost(estimator, shape, dtype=dtype) for shape in [(4000, 60), (4000, 300)]]
    for less, more in pairwise(costs):
        assert less.seconds < more.seconds
        assert less.bytes <= more.bytes
        assert set(less.parts) == set(more.parts)


@pytest.mark.parametrize("name", ["LPP", "OLPP", "NPE", "LPCA", "LPI", "LaplacianScore", "MMC", "KernelLPP"])
def test_denser_rows_cost_more(steady, name):
    estimator = getattr(lapwing, name)()
    for shape in ((1000, 3000), (6000, 9000)):
        costs = [estimate_cost(estimator, shape, density=share) for share in (0.002, 0.01, 0.1)]
        assert costs[0].seconds < costs[1].seconds < costs[2].seconds


def test_all_components_are_a_whole_eigenproblem(steady):
    """``n_components=None`` keeps every direction."""
    all_of_them, as_many = (estimate_cost(LPP(k, pca=None), (3000, 40)) for k in (None, 40))
    assert all_of_them == as_many


def test_classes_matter_only_where_labels_are_read(steady):
    assert estimate_cost(LPP(2), (5, 3)) == estimate_cost(LPP(2), (5, 3), n_classes=2)


def test_more_neighbours_cost_more(steady):
    few, many = (estimate_cost(NPE(2, graph=k), (3000, 40)) for k in (5, 20))
    assert few.seconds < many.seconds
    assert few.bytes < many.bytes


def test_the_whole_is_its_parts(steady):
    cost = estimate_cost(LPP(5), (3000, 40))
    assert cost.seconds == pytest.approx(sum(seconds for seconds, _ in cost.parts.values()))
    assert cost.bytes == max(size for _, size in cost.parts.values())
    assert list(cost.parts) == ["validation", "search", "graph", "forms", "solve"]


@pytest.mark.parametrize("name", lapwing.__all__)
def test_every_method_has_an_estimate_or_says_why_not(name):
    estimator = getattr(lapwing, name)()
    before = dict(vars(estimator))
    if name in NO_ESTIMATE:
        with pytest.raises(ValueError, match=f"estimator={name} has no estimate: it iterates"):
            estimate_cost(estimator, (500, 30))
    else:
        cost = estimate_cost(estimator, (500, 30))
        assert 0 < cost.seconds < 60
        assert 0 < cost.bytes < 1e9
    assert vars(estimator) == before


@pytest.mark.parametrize(("estimator", "density"), [(LPP(20), None), (LPI(20), 0.001), (MMC(5), None)])
def test_nothing_as_large_as_x_is_allocated(estimator, density):
    speeds()
    tracemalloc.start()
    try:
        estimate_cost(estimator, (5_000_000, 2_000), density=density)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000 * (1 if density is None else 5)  # bytes a row
    finally:
        tracemalloc.stop()


def test_speeds_are_measured_once():
    assert speeds() is speeds()
    assert all(0 < speed < np.inf for speed in speeds().values())
    assert set(THREADED) < set(speeds())


def test_speed_is_that_of_one_thread_where_two_are_slower(monkeypatch):
    times = iter([1.0] * len(KINDS) + [0.5] * len(THREADED))
    monkeypatch.setattr(_speeds, "_best_time", lambda job: next(times))
    counts = {kind: operations for kind, (operations, _) in jobs().items()}
    expected = {kind: operations * (2 if kind in THREADED else 1) for kind, operations in counts.items()}
    assert speeds.__wrapped__() == expected


def patches(n, d, dtype=np.float32):
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    inner = rng.standard_normal((n, 10)) + 3 * rng.standard_normal((10, 10))[y]
    X = inner @ rng.standard_normal((10, d)) + 0.3 * rng.standard_normal((n, d)) * np.geomspace(3, 0.3, d)
    return X.astype(dtype), y


def text(n, d):
    rng = np.random.default_rng(0)
    words = rng.zipf(1.3, size=(n, 80)) % d
    X = sparse.csr_array((np.ones(words.size), (np.repeat(np.arange(n), 80), words.ravel())), shape=(n, d))
    X.sum_duplicates()
    return X, rng.integers(10, size=n)


FITS = [
    (LPP(10), patches(4000, 100)),
    (LPP(10, graph=SameClass(), pca=None), patches(20_000, 100)),
    (OLPP(10), patches(300, 3000, np.float64)),
    (NPE(10), patches(4000, 50)),
    (LPCA(10, graph=12), patches(4000, 50)),
    (LaplacianScore(), patches(4000, 200)),
    (KernelLPP(10), patches(800, 30)),
    (LPI(10), text(2000, 5000)),
]


@pytest.mark.parametrize(("estimator", "data"), FITS, ids=[str(estimator) for estimator, _ in FITS])
class TestRealFits:
    def estimate(self, estimator, X):
        density = X.nnz / np.prod(X.shape) if sparse.issparse(X) else None
        return estimate_cost(estimator, X.shape, dtype=X.dtype, density=density)

    def test_time(self, estimator, data):
        times = []
        for _ in range(3):
            start = time.process_time()  # which other programs do not add to
            estimator.fit(*data)
            times.append(time.process_time() - start)
        assert 1 / 4 < self.estimate(estimator, data[0]).seconds / min(times) < 4

    def test_memory(self, estimator, data):
        """What NumPy allocates; LAPACK's own work space, at most half of it, is not seen."""
        estimator.fit(*data)
        tracemalloc.start()
        try:
            estimator.fit(*data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert 1 / 2 < self.estimate(estimator, data[0]).bytes / peak < 3


class TestBlocks:
    def test_memory_does_not_grow_with_rows(self, steady):
        few, many = (estimate_cost(LPP(10), (n, 64), dtype="float32", blocks=True) for n in (1_000_000, 10_000_000))
        assert many.bytes - few.bytes < 2 * 9_000_000  # a byte a label
        assert few.seconds < many.seconds < 11 * few.seconds

    def test_classes_need_moments_only(self, steady):
        for estimator in (MMC(5), FisherScore()):
            assert "search" not in estimate_cost(estimator, (1_000_000, 64), blocks=True).parts
        assert "search" in estimate_cost(LaplacianScore(), (1_000_000, 64), blocks=True).parts

    def test_methods_that_cannot(self):
        with pytest.raises(ValueError, match="blocks=True is for linear methods and scores, and KernelLPP is neither"):
            estimate_cost(KernelLPP(2), (5000, 30), blocks=True)
        with pytest.raises(ValueError, match="blocks=True together have no estimate"):
            estimate_cost(LPP(2), (5000, 30), density=0.1, blocks=True)
        with pytest.raises(ValueError, match="blocks"):
            estimate_cost(LPP(2, graph=KNN(5)), (5000, 30), blocks=True)
        with pytest.raises(ValueError, match="blocks='yes' must be one of False, True"):
            estimate_cost(LPP(2), (5000, 30), blocks="yes")


def test_a_cost_reads_well():
    parts = {"forms": (1.26, 3.1e8), "search": (11.04, 1e6), "solve": (0.0004, 2e8)}
    assert str(Cost(12.3, 3.1e8, parts)) == "about 12 s and 310 MB beyond X: search 11 s, forms 1.3 s, solve 0.4 ms"
    assert str(Cost(59.0, 1.2e10, {"search": (59.0, 512.0)})) == "about 59 s and 12 GB beyond X: search 59 s"
    assert str(Cost(600.0, 2e5, {"search": (9000.0, 0.0)})) == "about 10 min and 200 kB beyond X: search 2.5 h"


def test_a_cost_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Cost(1.0, 1.0, {}).seconds = 2.0


@pytest.mark.parametrize(
    ("estimator", "shape", "options", "message"),
    [
        (PCA(2), (100, 5), {}, "estimator=PCA(n_components=2) must be an estimator of lapwing"),
        (LPP, (100, 5), {}, "must be an estimator of lapwing"),
        (LPP(2), 100, {}, "shape=100 must be two whole numbers"),
        (LPP(2), (100, 5, 5), {}, "shape=(100, 5, 5) must be two whole numbers"),
        (LPP(2), "ab", {}, "shape='ab' must be two whole numbers"),
        (LPP(2), (1, 5), {}, "shape[0]=1 must be a whole number, 2 or more"),
        (LPP(2), (100, 0), {}, "shape[1]=0 must be a whole number, 1 or more"),
        (LPP(2), (100.5, 5), {}, "shape[0]=100.5 must be a whole number"),
        (LPP(2), (100, 5), {"dtype": "int64"}, 'dtype=\'int64\' must be "float32" or "float64"'),
        (LPP(2), (100, 5), {"dtype": "no"}, "dtype='no' must be"),
        (LPP(2), (100, 5), {"density": 0}, "density=0 must be a share above 0 and at most 1"),
        (LPP(2), (100, 5), {"density": 1.5}, "density=1.5 must be a share"),
        (LPP(2), (100, 5), {"density": True}, "density=True must be a share"),
        (GLPCA(2), (100, 5), {"density": 0.5}, "density=0.5 is of a sparse X, which GLPCA does not take"),
        (MMC(2), (100, 5), {"n_classes": 1}, "n_classes=1 must be a whole number, 2 or more"),
        (MMC(2), (100, 5), {"n_classes": 200}, "n_classes=200 is more than the 100 samples"),
        (LPP(6), (100, 5), {}, "n_components=6 is more than X of shape (100, 5) allows, 5"),
        (LPP(10), (10, 50), {}, "n_components=10 is more than the 9 directions"),
        (LPP("a"), (100, 5), {}, "n_components='a' must be a whole number"),
        (LaplacianEigenmaps(None), (100, 5), {}, "n_components=None must be a whole number"),
        (LPI(None), (100, 5), {}, "n_components=None must be a whole number"),
        (TSA(2), (100, 8, 8), {}, "estimator=TSA has no estimate: it iterates"),
        (LaplacianEigenmaps(100), (100, 5), {}, "n_components=100 is more than X of shape (100, 5) allows, 99"),
        (LaplacianScore(6), (100, 5), {}, "n_features_to_select=6 is more than X of shape (100, 5) allows, 5"),
        (LPP(2, pca=50), (100, 5), {}, "pca=50 is more than the rank"),
        (LPP(2, pca=-1), (100, 5), {}, "pca=-1 must be"),
        (LPP(2, graph=100), (100, 5), {}, "n_neighbors=100 must be smaller than the number of samples, 100"),
        (LPP(2, graph="no"), (100, 5), {}, "graph='no' must be"),
        (LPP(2, graph=Radius(1.0)), (100, 5), {}, "graph=Radius(1.0) has no estimate"),
        (LPP(2, graph=Complete("dot")), (100, 5), {}, "has no estimate"),
        (LPP(2, graph=KNN(5, metric="manhattan")), (100, 5), {}, "has no estimate"),
        (LPP(2, graph=Precomputed(np.eye(5))), (100, 5), {}, "a matrix of shape (5, 5), but shape=(100, 5)"),
        (NPE(2, graph=Reconstruction(5, queries=-1)), (100, 5), {}, "queries=-1 must be a whole number"),
        (KernelLPP(2), (50_000, 5), {}, "give landmarks="),
        (KernelLPP(2, landmarks=200), (100, 5), {}, "landmarks=200 is more than the 100 samples"),
        (KernelLPP(2, kernel="precomputed"), (100, 100), {}, 'kernel="precomputed" has no estimate'),
    ],
)
def test_errors_say_what_is_wrong(estimator, shape, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        estimate_cost(estimator, shape, **options)
