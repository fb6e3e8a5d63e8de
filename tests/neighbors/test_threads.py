"""Tiles and threads: how many of them are used, and that neighbours do not depend on it."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from lapwing import search
from lapwing.data import as_data
from lapwing.graphs import KNN


@pytest.mark.parametrize("bounds", [False, True])
def test_any_tiles_and_threads_give_the_same_neighbours(monkeypatch, bounds):
    rng = np.random.RandomState(0)
    X = (rng.randn(700, 4) @ rng.randn(4, 30) + 0.05 * rng.randn(700, 30)).astype(np.float32)
    (request,), whole = KNN(6).requests(), as_data(X.astype(np.float64))
    D = whole.distances(np.arange(700), np.tile(np.arange(700), (700, 1)))
    expected = np.argsort(D, axis=1, kind="stable")[:, :6]
    monkeypatch.setattr("lapwing.data.TILED_PAIRS", 1)
    for name, value in {
        "LEAST_PAIRS": 1,
        "TILE_ROWS": 64,
        "MANY_TILES": 2,
        "BOUND_ROWS": 600,
        "BOUND_COLUMNS": 5,
    }.items():
        monkeypatch.setattr(search, name, value)
    monkeypatch.setattr(search, "BOUND_WIDTH", 1 if bounds else 128)
    monkeypatch.setattr(search, "BOUND_WORTH", 1e9)
    for threads in (1, 3, 6):
        with threadpool_limits(threads):
            assert (as_data(X).nearest(request)[1].reshape(700, 6) == expected).all()


def test_large_tiles_are_for_many_rows_and_many_threads():
    class Rows:
        width, dtype = 130, np.dtype(np.float32)

        def __init__(self, n):
            self.n = n

    sizes = {(n, t): search.tile_rows(t, Rows(n)) for n in (5_000, 30_000, 60_000) for t in (1, 8)}
    assert sizes == {
        (5_000, 1): 512,
        (5_000, 8): 512,
        (30_000, 1): 1024,
        (30_000, 8): 1024,
        (60_000, 1): 1024,
        (60_000, 8): 2048,
    }


def test_no_more_threads_than_help(monkeypatch):
    rows = search.Operand(np.zeros((100, 20)), np.arange(100), (np.zeros(20), 1.0), np.float32)
    monkeypatch.setattr(search, "blas_threads", lambda: 64)
    assert search.Tiles(rows, rows, 3).n_threads == search.MOST_THREADS
