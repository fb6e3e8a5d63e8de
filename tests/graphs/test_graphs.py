"""Every graph against a double loop over its definition."""

import pickle
import re
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracles as o
import pytest
from helpers import check_term, close, each, form, frozen, inverse, named
from limits import block_bytes
from oracles import chessboard, toy
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer
from threadpoolctl import threadpool_limits

from lapwing.graphs import (
    KNN,
    ClosestPairs,
    Complete,
    OtherClass,
    Pairs,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
)

DATA = {"plain": toy(0), "twins": toy(1, twins=True)}
SEUCLIDEAN = {"metric": "seuclidean", "metric_params": {"V": o.VARIANCES}}
KNN_OPTIONS = [
    {},
    {"weights": "binary"},
    {"weights": "cosine"},
    {"weights": "dot"},
    {"weights": inverse},
    {"t": 0.05},
    {"t": "half-median"},
    {"metric": "manhattan"},
    {"metric": "cosine", "t": 0.05},
    {"metric": "cosine", "weights": "cosine"},
    {"metric": chessboard},
    {"metric": chessboard, "t": "half-median"},
    SEUCLIDEAN,
    SEUCLIDEAN | {"t": "half-median"},
    {"among": "same_class"},
    {"among": "other_class"},
    {"among": "same_class", "metric": "manhattan", "weights": inverse},
    {"among": "other_class", "weights": "binary", "symmetry": "and"},
    {"symmetry": "and"},
    {"symmetry": "mean"},
    {"symmetry": "and", "weights": "binary"},
    {"symmetry": "mean", "weights": "binary"},
    {"symmetry": "mean", "weights": "dot"},
]
W_GIVEN = o.radius_weights(toy(5)[0], None, 0.5) + np.diag(np.arange(28.0))
MUST, CANNOT = [[0, 5], [7, 2], [5, 0], [3, 9], [3, 9]], [[1, 2], [27, 0]]
COUNTS = [1.0, 0.5, 3.0, 2.0, 0.25]


def table():
    """Rows (name, graph, oracle of X and y).

    Twins make no ties at the k-th neighbour: k is odd, since a row's own twin comes first and the others by twos; even
    among other classes; and closest pairs come by fours.
    """
    for options in KNN_OPTIONS:
        for k in (2, 6) if options.get("among") == "other_class" else (1, 5):
            oracle = lambda X, y, k=k, options=options: o.knn_weights(X, y, k, **options)  # noqa: E731
            yield f"KNN{k}-{named(options)}", KNN(k, **options), oracle
    for r, options in [(0.5, {}), (0.3, {"weights": "binary"}), (0.5, {"weights": "dot", "metric": "manhattan"})]:
        oracle = lambda X, y, r=r, options=options: o.radius_weights(X, y, r, **options)  # noqa: E731
        yield f"Radius{r}-{named(options)}", Radius(r, **options), oracle
    search = KNeighborsTransformer(n_neighbors=2, metric="manhattan")
    yield from [
        ("Radius-half-median", Radius(0.4, t="half-median"), lambda X, y: o.radius_weights(X, y, 0.4, t="half-median")),
        ("KNN-search", KNN(5, search=search), lambda X, y: o.knn_weights(X, y, 5, metric="manhattan")),
        ("SameClass", SameClass(), lambda X, y: o.same_class_weights(y)),
        ("SameClass-heat", SameClass("heat"), lambda X, y: o.same_class_heat_weights(X, y)),
        ("SameClass-cosine", SameClass("cosine"), lambda X, y: o.same_class_cosines(X, y)),
        ("SameClass-t", SameClass("heat", t=0.2), lambda X, y: o.same_class_heat_weights(X, y, 0.2)),
        (
            "SameClass-half-median",
            SameClass("heat", t="half-median"),
            lambda X, y: o.same_class_heat_weights(X, y, "half-median"),
        ),
        ("OtherClass", OtherClass(), lambda X, y: o.other_class_weights(y)),
        ("Complete", Complete(), lambda X, y: o.complete_weights(X, y)),
        ("Complete-labelled", Complete(among="labelled"), lambda X, y: o.complete_weights(X, y, among="labelled")),
        ("Repulsion", Repulsion(7), lambda X, y: o.repulsion_weights(X, y, 7)),
        ("Repulsion-sigma", Repulsion(7, sigma=0.1), lambda X, y: o.repulsion_weights(X, y, 7, sigma=0.1)),
        (
            "Repulsion-binary",
            Repulsion(7, weights="binary"),
            lambda X, y: o.repulsion_weights(X, y, 7, weights="binary"),
        ),
        ("Repulsion-cosine", Repulsion(7, metric="cosine"), lambda X, y: o.repulsion_weights(X, y, 7, metric="cosine")),
        (
            "Repulsion-normalized",
            Repulsion(3, normalized=True),
            lambda X, y: o.normalized(o.repulsion_weights(X, y, 3)),
        ),
        ("ClosestPairs", ClosestPairs(8), lambda X, y: o.closest_pairs_weights(X, y, 8)),
        ("ClosestPairs-many", ClosestPairs(400), lambda X, y: o.closest_pairs_weights(X, y, 400)),
        (
            "ClosestPairs-manhattan",
            ClosestPairs(4, metric="manhattan"),
            lambda X, y: o.closest_pairs_weights(X, y, 4, "manhattan"),
        ),
        ("Reconstruction", Reconstruction(3), lambda X, y: o.reconstruction(X, y, 3)),
        ("Reconstruction-reg", Reconstruction(7, reg=0.1), lambda X, y: o.reconstruction(X, y, 7, reg=0.1)),
        (
            "Reconstruction-same",
            Reconstruction(9, among="same_class"),
            lambda X, y: o.reconstruction(X, y, 9, among="same_class"),
        ),
        (
            "Reconstruction-manhattan",
            Reconstruction(5, metric="manhattan"),
            lambda X, y: o.reconstruction(X, y, 5, metric="manhattan"),
        ),
        ("Precomputed", Precomputed(W_GIVEN), lambda X, y: W_GIVEN),
        ("Precomputed-sparse", Precomputed(sparse.coo_array(W_GIVEN)), lambda X, y: W_GIVEN),
        ("Pairs", Pairs(MUST), lambda X, y: o.pairs_weights(len(X), MUST)),
        ("Pairs-weights", Pairs(MUST, weights=COUNTS), lambda X, y: o.pairs_weights(len(X), MUST, COUNTS)),
    ]


CASES = list(table())
every_case = pytest.mark.parametrize(
    ("graph", "oracle"), [pytest.param(graph, oracle, id=name) for name, graph, oracle in CASES]
)
takes_sparse = [
    pytest.param(graph, oracle, id=name)
    for name, graph, oracle in CASES
    if getattr(graph, "metric", "euclidean") in ("euclidean", "manhattan", "cosine")
]


@each("data", DATA)
@every_case
def test_definition(graph, oracle, data):
    X, y = DATA[data]
    (term,) = graph.build(X, y)
    assert term.coefficient == 1
    check_term(term, oracle(X, y))


@every_case
def test_clone_pickle_small_blocks_and_untouched_input(graph, oracle, monkeypatch):
    X, y = DATA["plain"]
    copy = pickle.loads(pickle.dumps(clone(graph)))
    block_bytes(monkeypatch, 200)
    (term,) = copy.build(frozen(X), frozen(y))
    check_term(term, oracle(X, y))
    assert {k: repr(v) for k, v in copy.get_params().items()} == {k: repr(v) for k, v in graph.get_params().items()}


@each("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@each(("graph", "oracle"), takes_sparse)
def test_sparse_x(graph, oracle, make):
    X, y = DATA["plain"]
    X = X * (np.random.RandomState(3).rand(*X.shape) < [1, 1, 0.5, 0.5])
    (term,) = graph.build(make(X), y)
    check_term(term, oracle(X, y))


@each("make", [np.asarray, sparse.csr_array])
@each(("graph", "oracle"), takes_sparse)
def test_float32(graph, oracle, make):
    """Single precision costs the weights single precision, but a Laplacian's rows still sum to zero."""
    X, y = DATA["plain"]
    X = X.astype(np.float32)
    (term,) = graph.build(make(X), y)
    check_term(term, oracle(X.astype(np.float64), y), tol=2e-6)
    if not getattr(graph, "normalized", False):
        assert np.abs(term.laplacian @ np.ones(len(X))).max() < 1e-10 * np.abs(term.laplacian.diagonal()).max()


@every_case
def test_permuted_rows(graph, oracle):
    if isinstance(graph, Precomputed | Pairs):
        pytest.skip("indexes rows")
    X, y = DATA["plain"]
    order = np.random.RandomState(0).permutation(len(X))
    (term,), (moved,) = graph.build(X, y), graph.build(X[order], y[order])
    check_term(moved, tuple(M.toarray()[np.ix_(order, order)] for M in term[1:]))


@every_case
def test_labels_are_read_or_not(graph, oracle):
    X, y = DATA["plain"]
    if graph.reads_labels:
        with pytest.raises(ValueError, match=r"requires y to be passed.* y is None"):
            graph.build(X)
    else:
        (term,) = graph.build(X, np.linspace(0, 1, len(X)))  # a regression target is none of its business
        check_term(term, oracle(X, y))


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}, {"search": KNeighborsTransformer()}], ids=named)
def test_row_is_never_its_own_neighbour(k, options):
    """Seven equal rows: more copies than neighbours, so the search may not even return the row itself."""
    X = np.vstack([np.repeat(toy(2)[0][:3], 7, axis=0), toy(2)[0][3:9]])
    for data in (X, sparse.csr_array(X)):
        (term,) = KNN(k, weights="binary", **options).build(data)
        W = np.diag(term.degrees.diagonal()) - term.laplacian.toarray()
        assert not np.diag(W).any()
        assert (W.sum(axis=1) >= k).all()
        assert not W[:21, 21:][W[:21].sum(axis=1) == k].any()  # copies choose copies


class Selfless(KNeighborsTransformer):
    """An approximate searcher's answer: no row itself, one neighbour too many, unsorted."""

    def fit_transform(self, X, y=None):
        order = np.argsort(o.distances(X), axis=1)[:, ::-1]
        cols = order[:, -self.n_neighbors - 2 : -1]
        rows = np.repeat(np.arange(len(X)), cols.shape[1])
        d = o.distances(X)[rows, cols.ravel()]
        return sparse.csr_matrix((d, (rows, cols.ravel())), shape=(len(X), len(X)))


def test_search_without_the_row_itself():
    X, _ = DATA["plain"]
    check_term(KNN(4, search=Selfless()).build(X)[0], o.knn_weights(X, None, 4))


@pytest.mark.parametrize(
    "graph",
    [
        KNN(5),
        KNN(5, t="half-median"),
        KNN(5, among="same_class"),
        KNN(5, among="other_class", weights=inverse),
        Radius(0.5, t="half-median"),
        Repulsion(5, weights="binary"),
        ClosestPairs(6),
    ],
    ids=named,
)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_precomputed_distances(graph, metric):
    X, y = DATA["plain"]
    (expected,) = clone(graph).set_params(metric=metric).build(X, y)
    (term,) = clone(graph).set_params(metric="precomputed").build(o.distances(X, metric), y)
    check_term(term, expected[1:])


def test_half_median_looks_at_1000_rows():
    X = np.random.RandomState(0).rand(1500, 2)
    rows = np.sort(np.random.RandomState(0).permutation(1500)[:1000])
    d = np.sqrt(((X[rows, None] - X[rows]) ** 2).sum(axis=2))
    expected = KNN(3, t=2 * (np.median(d[np.triu_indices(1000, 1)]) / 2) ** 2).build(X)[0].laplacian
    assert abs(KNN(3, t="half-median").build(X)[0].laplacian.sparse - expected.sparse).max() < 1e-10


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_heat_between_equal_rows_is_one(make, metric, d):
    """The automatic t is 1 where all distances are 0, also when the search returns 1e-8 for equal rows."""
    X = np.repeat(np.random.RandomState(0).rand(10, d) + 5, 2, axis=0)
    (term,) = KNN(1, metric=metric).build(make(X))
    close(term.degrees.diagonal(), np.ones(20))
    constant = make(np.ones((6, d)))
    check_term(KNN(2, t="half-median").build(constant)[0], KNN(2, weights="binary").build(constant)[0][1:])


def test_reconstruction_of_equal_rows_and_of_exact_combinations():
    X = np.repeat(toy(2)[0][:2], 5, axis=0)
    M = Reconstruction(4).build(X)[0].laplacian
    assert np.abs(M @ X).max() < 1e-10
    line = np.arange(12.0)[:, None] * [1.0, 2.0]
    assert np.abs(form(Reconstruction(2, reg=1e-10).build(line)[0].laplacian, line[:, :1])) < 25  # only the two ends


def test_pairs_that_repel():
    X, _ = DATA["plain"]
    must, cannot = Pairs(np.array(MUST), np.array(CANNOT, dtype=np.uint8)).build(X)
    assert (must.coefficient, cannot.coefficient) == (1, -1)
    check_term(must, o.pairs_weights(len(X), MUST))
    check_term(cannot, o.pairs_weights(len(X), CANNOT))
    assert [term.coefficient for term in Pairs(cannot_link=CANNOT, must_link=[]).build(X)] == [-1]
    for weights in (2.0, [1.0, 1.0]):
        with pytest.raises(
            ValueError, match=f"for each of {len(MUST) + len(CANNOT)} pairs, not {re.escape(repr(weights))}"
        ):
            Pairs(MUST, CANNOT, weights=weights).build(X)


BIG = [
    KNN(5),
    KNN(5, among="same_class", weights="cosine"),
    SameClass(),
    OtherClass(),
    Complete(),
    Repulsion(5),
    ClosestPairs(5),
    Reconstruction(5),
    Radius(0.02),
    KNN(5) & SameClass(),
    Complete() & KNN(5),
]


@pytest.mark.parametrize("graph", BIG, ids=named)
def test_nothing_n_by_n_is_dense(graph):
    """A dense matrix would take 3.2 GB, or 400 MB in bytes; for Radius 800 and 100 MB."""
    rng = np.random.RandomState(0)
    n = 10_000 if isinstance(graph, Radius) else 20_000  # lists of neighbours are slow to trace
    X, y = rng.rand(n, 3), rng.randint(-1, 8, n)
    tracemalloc.start()
    try:
        (term,) = graph.build(X, y)
        total = term.laplacian + 2.0 * term.degrees
        form(total, X, X.mean(axis=0)), total.diagonal(), total @ X, total.n_connected_components()
        assert tracemalloc.get_traced_memory()[1] < 80e6
    finally:
        tracemalloc.stop()


def test_few_pairs_of_tiles_wait_for_a_thread(monkeypatch):
    """Those of 10^6 rows are two million, and each that waits takes a kilobyte."""
    submit, waiting, most = ThreadPoolExecutor.submit, [], 0

    def counted(self, *args, **kwargs):
        nonlocal most
        found = submit(self, *args, **kwargs)
        waiting.append(found)
        found.add_done_callback(waiting.remove)
        most = max(most, len(waiting))
        return found

    monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)
    X = np.random.RandomState(0).standard_normal((6000, 64))
    with threadpool_limits(2, user_api="blas"), config_context(working_memory=1):
        KNN(3).build(X)
    assert 0 < most <= 300
