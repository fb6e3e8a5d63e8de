"""Every exact search against its definition: the same neighbours whoever finds them, also where distances are nearly equal."""

import warnings

import limits
import numpy as np
import pytest
from helpers import each
from limits import bound
from scipy import sparse

from lapwing import LPP
from lapwing.data import as_data
from lapwing.graphs import KNN, Radius


@each("delta", [1e-15, 1e-10, 3e-10, 7e-10, 9e-10, 1.1e-9, 1.5e-9, 3e-9])
@each("d", [3, 20])
@each("r", [0.5, 0.713, 0.9])
def test_graphs_of_all_and_of_some_rows_agree_on_near_ties(d, delta, r):
    """Row 1 is farther than row 2 by less than a tie, or more."""
    X = 100 + np.random.RandomState(0).rand(40, d) * 1000
    X[:3] = 0
    X[1, 0], X[2, 1] = r * (1 + delta), r
    for queries in (None, 39):
        links = KNN(1, weights="binary", symmetry="mean", queries=queries, random_state=3).build(X)[0].laplacian
        assert links.toarray()[0, 1 if delta < 1e-9 else 2] != 0


@pytest.mark.parametrize("is_stored", [True, False], ids=["diagonal", "no diagonal"])
def test_sparse_matrices_of_distances(is_stored):
    """The zeros of the diagonal may be stored or not: the sparse matrix of a dense one has none."""
    X, y = np.random.RandomState(0).rand(30, 4), np.arange(30) % 3
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    given = sparse.csr_array(D)
    assert given.nnz == 30 * 29
    if is_stored:
        rows, cols = np.divmod(np.arange(900), 30)
        given = sparse.csr_array((D.ravel(), (rows, cols)), shape=(30, 30))
        assert given.nnz == 900
    for graph in (
        KNN(5, metric="precomputed"),
        KNN(29, metric="precomputed"),
        KNN(5, metric="precomputed", among="same_class"),
        KNN(5, metric="precomputed", t="half-median"),
        Radius(0.5, metric="precomputed"),
    ):
        (found,), (exact,) = graph.build(given, y), graph.build(D, y)
        np.testing.assert_allclose(
            found.laplacian.toarray(), exact.laplacian.toarray(), atol=1e-12, err_msg=repr(graph)
        )
    given.data[given.data > 0.9] = 0
    given.eliminate_zeros()
    with pytest.raises(ValueError, match="a sparse matrix of distances, gives 12 neighbours of row 4"):
        KNN(2, metric="precomputed", t="half-median").build(given)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("among", ["all", "same_class"])
@pytest.mark.parametrize("distinct", [1, 3, 20, 60])
def test_equal_rows_have_the_neighbours_that_they_have_one_by_one(monkeypatch, distinct, among, metric):
    """Of equal rows those of the lowest number count, whether each row is searched for, or each distinct row once."""
    rng = np.random.RandomState(0)
    X = (1.0 + rng.randint(3, size=(distinct, 4)))[rng.randint(distinct, size=80)]
    graph, y = KNN(6, metric=metric, among=among, weights="binary"), np.arange(80) % 2
    for rows in (X, X.astype(np.float32), sparse.csr_array(X)):
        one_by_one = graph.build(rows, y)[0].laplacian.toarray()
        with monkeypatch.context() as patch:
            limits.copies_from(patch, 2)
            assert (graph.build(rows, y)[0].laplacian.toarray() == one_by_one).all()


def test_where_each_row_is_there_twice_one_of_both_is_searched_for(monkeypatch):
    X = np.tile(np.random.RandomState(0).standard_normal((40, 20)), (2, 1))
    limits.copies_from(monkeypatch, 2)
    asked = limits.sizes_searched_for(monkeypatch)
    _, near, d = as_data(X).nearest(KNN(2).requests()[0])
    assert (near[::2] == (np.arange(80) + 40) % 80).all()
    assert not d[::2].any()
    assert asked == [40]


def test_small_classes_have_all_others_as_neighbours():
    """With a warning, of the same class; a class of one has none."""
    X, y = np.random.RandomState(0).standard_normal((40, 3)), np.repeat([0, 1, 2], [1, 3, 36])
    with pytest.warns(UserWarning, match="more than the 0 other samples of the smallest class"):
        rows, cols, d = as_data(X, y).nearest(KNN(4, among="same_class").requests()[0])
    assert (np.bincount(rows) == np.repeat([0, 2, 4], [1, 3, 36])).all()
    assert (y[cols] == y[rows]).all()
    np.testing.assert_allclose(d, np.linalg.norm(X[rows] - X[cols], axis=1), rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_data(X, y).nearest(KNN(4, among="other_class").requests()[0])
        as_data(X, np.arange(40) % 8).nearest(KNN(4, among="same_class").requests()[0])


def test_bounds_lie_on_both_sides_of_what_was_found():
    """Half the squared distance is as far above the least as it is below the largest."""
    half, lengths = np.array([1.0, 2.0, 1e4]), np.array([3.0, 1.0, 1e4])
    least, largest = (bound(half, lengths, 10, 1e-7, **sign) for sign in ({}, {"sign": +1}))
    assert (least**2 < 2 * half).all()
    np.testing.assert_allclose(least**2 + largest**2, 4 * half, rtol=1e-14)


def test_small_classes_are_not_searched_for_equal_rows(monkeypatch):
    """Looking for them reads all rows, which for each of many classes would take longer than the search."""
    X, y = np.random.RandomState(0).standard_normal((90, 3)), np.r_[np.arange(50) % 10, np.full(40, 10)]
    limits.copies_from(monkeypatch, 20)
    seen = limits.sizes_searched_for_copies(monkeypatch)
    KNN(3, among="same_class").build(X, y)
    assert seen == [40]


@pytest.mark.parametrize("queries", [None, 90])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_small_classes_share_one_search_for_other_classes(monkeypatch, kind, metric, queries):
    """The same links as by one search per class: on a lattice of ties, with unknown labels."""
    X, y = lattice()
    graph = KNN(6, metric=metric, among="other_class", queries=queries)
    once = graph.build(kind(X), y)[0].laplacian.toarray()
    limits.small_classes_to(monkeypatch, 0)
    np.testing.assert_array_equal(once, graph.build(kind(X), y)[0].laplacian.toarray())


def test_small_classes_of_tensors_share_one_search():
    torch = pytest.importorskip("torch")
    X, y = lattice()
    model = LPP(2, graph=KNN(6, among="other_class"))
    found = model.fit(torch.tensor(X), y).components_.numpy()
    np.testing.assert_allclose(found, model.fit(X, y).components_, atol=1e-10)


def lattice():
    random = np.random.RandomState(0)
    return random.randint(3, size=(120, 4)) + 1.0, random.randint(-1, 20, size=120)


def test_sparse_rows_of_single_precision_about_their_mean():
    """The mean comes off a column without zeros in float64: rounded entries would be farther than they are."""
    X = np.random.RandomState(0).randint(0, 3, size=(300, 12)).astype(np.float32)
    X[:, 0] += 1
    stored, dense = (KNN(7, weights="binary").build(rows)[0].laplacian for rows in (sparse.csr_array(X), X))
    assert (stored.toarray() == dense.toarray()).all()
