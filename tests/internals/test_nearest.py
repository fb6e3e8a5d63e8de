"""The search for some queries, rows coming in blocks: what is kept, and what is left when there is little."""

import numpy as np
import pytest
from scipy import sparse

from lapwing.neighbors import Nearest, Search, _nearest
from lapwing.neighbors._nearest import first_copies

K = 4


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("step", [1.0, 1e-10], ids=["ties", "near ties"])
@pytest.mark.parametrize("d", [3, 20])
def test_rows_are_kept_beside_their_numbers(monkeypatch, d, step, metric, make):
    for name, size in (("QUERIES", 7), ("ROWS", 16), ("FIRST", 4)):
        monkeypatch.setattr(_nearest, name, size)
    rng = np.random.RandomState(1)
    X = 1 + step * rng.randint(0, 3, (140, d)) + (np.arange(d) == rng.randint(d, size=(140, 1)))
    own = np.sort(rng.permutation(140)[:30])
    near = Nearest(Search(K, metric), make(X)[own], own, keep_rows=True)
    for start, stop in [(61, 140), (60, 61), (1, 60), (1, 1), (0, 1)]:
        near.update(make(X)[start:stop], start)
    numbers, slots = near.neighbors()
    kept = near.rows.take(slots)
    np.testing.assert_array_equal(numbers, np.unique(near.edges().cols))
    np.testing.assert_array_equal(kept.toarray() if sparse.issparse(kept) else kept, X[numbers])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_fewer_rows_than_neighbours(make):
    X = make(np.random.RandomState(0).rand(6, 20))
    near = Nearest(Search(9), X[[0, 3]], np.array([0, 3]), keep_rows=True).update(X[:4], 0).update(X[4:], 4)
    edges = near.edges()
    assert sorted(zip(edges.rows.tolist(), edges.cols.tolist(), strict=True)) == [
        (i, j) for i in (0, 3) for j in range(6) if j != i
    ]
    alone = Nearest(Search(2), X[:1], np.array([0]), keep_rows=True).update(X[:1], 0)
    assert alone.edges().rows.size == 0
    assert alone.rows.take(alone.neighbors()[1]).shape == (0, 20)


def test_a_class_that_comes_late_is_found():
    X, y = np.random.RandomState(0).rand(60, 20), np.repeat([0, 1, -1], 20)
    search = Search(K, among="other_class", queries=40)
    own = search.queried(60)
    whole, blocks = Nearest(search, X[own], own, y).update(X, 0), Nearest(search, X[own], own, y)
    for start in range(0, 60, 10):
        blocks.update(X[start : start + 10], start)
    for one, other in zip(whole.edges(), blocks.edges(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_equal_rows_are_thinned():
    X = np.array([[1, 2], [0, 0], [1, 2], [1, 2], [0, 0], [3, 1]])
    np.testing.assert_array_equal(first_copies(X, 2), [0, 1, 2, 4, 5])
