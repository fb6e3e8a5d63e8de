"""Neighbours do not depend on how many threads look for them."""

import numpy as np
import pytest
from limits import small_tiles
from threadpoolctl import threadpool_limits

from lapwing.data import as_data
from lapwing.graphs import KNN


@pytest.mark.parametrize("bounds", [False, True])
def test_any_tiles_and_threads_give_the_same_neighbours(monkeypatch, bounds):
    rng = np.random.RandomState(0)
    X = (rng.randn(700, 4) @ rng.randn(4, 30) + 0.05 * rng.randn(700, 30)).astype(np.float32)
    (request,), whole = KNN(6).requests(), as_data(X.astype(np.float64))
    D = whole.distances(np.arange(700), np.tile(np.arange(700), (700, 1)))
    expected = np.argsort(D, axis=1, kind="stable")[:, :6]
    small_tiles(monkeypatch, bounds)
    for threads in (1, 3, 6):
        with threadpool_limits(threads):
            assert (as_data(X).nearest(request)[1].reshape(700, 6) == expected).all()
