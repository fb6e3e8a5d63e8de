"""The search by tiles, against its definition: any tiles, threads and memory, equal rows, and classes."""

import tracemalloc

import numpy as np
import pytest
import rule
from helpers import each
from limits import candidates_of_tiles, products_of_tiles, small_tiles, threads, tiles_from
from scipy import sparse
from sklearn import config_context
from threadpoolctl import threadpool_limits

from lapwing.data import as_data
from lapwing.graphs import KNN, ClosestPairs


def test_closest_pairs_of_each_class():
    """By a loop over classes: the shortest pairs with any other class."""
    rng = np.random.RandomState(0)
    X, y = rng.randn(60, 20), rng.randint(5, size=60)
    D = rule.distances(X, "euclidean").astype(np.float64)
    expected = set()
    for label in range(5):
        pairs = [(D[i, j], i, j) for i in np.flatnonzero(y == label) for j in np.flatnonzero(y != label)]
        expected |= {frozenset((i, j)) for _, i, j in sorted(pairs)[:4]}
    W = ClosestPairs(4).adjacency(as_data(X, y)).tocoo()
    assert {frozenset(pair) for pair in zip(W.row.tolist(), W.col.tolist(), strict=True)} == expected


def rows(n=700, d=30):
    return np.random.RandomState(0).standard_normal((n, d)).astype(np.float32)


@each("make", [np.asarray, sparse.csr_array])
@each("step", [1, 3])
def test_all_others_are_as_far_as_tiles_say(monkeypatch, step, make):
    """And hardly farther: the bound is the distance of the last candidate, less the rounding of its product."""
    small_tiles(monkeypatch)
    X, everyone = rows(300), np.arange(300)
    queries = everyone[::step]
    cols, beyond = as_data(make(X)).candidates(queries, everyone, 9)
    D = np.linalg.norm(X[queries, None].astype(np.float64) - X, axis=2)
    D[np.arange(queries.size), queries] = np.inf if step == 1 else 0
    last = np.take_along_axis(D, cols, axis=1).max(axis=1)
    np.put_along_axis(D, cols, np.inf, axis=1)
    assert (beyond <= D.min(axis=1)).all()
    assert (beyond >= 0.99 * last).all()


def test_tiles_are_larger_on_many_threads(monkeypatch):
    """There they would wait for one another; on few threads, larger ones would only leave the cache."""
    small_tiles(monkeypatch)
    for n_threads, least, most in ((1, 64, 128), (6, 128, 256)):
        with monkeypatch.context() as patch, threadpool_limits(n_threads):
            with threads() as (given, _):
                if given != n_threads:
                    pytest.skip("BLAS has fewer threads here")
            shapes = products_of_tiles(patch)
            as_data(rows()).nearest(KNN(6).requests()[0])
        assert least < max(map(max, shapes)) <= most


def test_tiles_are_smaller_where_memory_is_little(monkeypatch):
    """Products with two masks, and both sides of them, take up to a quarter; but tiles have 64 rows however little there is."""
    small_tiles(monkeypatch)
    quarter = (4 + 2) * 128 * (128 + 2 * (30 + 2))
    for size, most in ((4 * quarter, 120), (4 * quarter - 4, 64), (400, 64)):
        with monkeypatch.context() as patch, threadpool_limits(1), config_context(working_memory=size / 2**20):
            shapes = products_of_tiles(patch)
            found = as_data(rows()).nearest(KNN(6).requests()[0])[1]
        assert max(map(max, shapes)) == most
        assert (found == as_data(rows()).nearest(KNN(6).requests()[0])[1]).all()


def test_the_first_tile_leaves_few_candidates(monkeypatch):
    """A row has m candidates in its own tile, which is looked at twice, and no more in the other one, or not many."""
    tiles_from(monkeypatch, 1)
    seen = candidates_of_tiles(monkeypatch)
    with threadpool_limits(1):
        as_data(rows(1000)).candidates(np.arange(1000), np.arange(1000), 11)
    assert len(seen) == 2 * 2 + 2
    assert sum(seen) <= 4 * 11 * 1000


def test_few_candidates_wait_where_memory_is_little(monkeypatch):
    """Besides them what is found is held: places and distances by tiles, the places of all, and the numbers of the rows."""
    tiles_from(monkeypatch, 1)
    data, everyone = as_data(rows(1000)), np.arange(1000)
    with threadpool_limits(1), config_context(working_memory=1):
        data.candidates(everyone[:100], everyone, 200)
        tracemalloc.start()
        data.candidates(everyone, everyone, 200)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 1000 * 200 * (4 + 4 + 4 + 8) + 2**20
