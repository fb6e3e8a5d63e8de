"""Neighbours do not depend on how many threads look for them, and threads hardly wait for Python."""

import sys

import numpy as np
import pytest
from limits import measured_in_parts_from, small_tiles, threads
from scipy import sparse
from threadpoolctl import threadpool_limits

from lapwing import LPP
from lapwing.data import as_data
from lapwing.graphs import KNN

N = 700  # rows, in tiles of which the last is smaller


def rows(n=N):
    rng = np.random.RandomState(0)
    return (rng.randn(n, 4) @ rng.randn(4, 30) + 0.05 * rng.randn(n, 30)).astype(np.float32)


def nearest(X, k, among=None):
    """By the definition: the nearest rows of each row, of those in ``among`` where this is given."""
    whole = as_data(X.astype(np.float64))
    D = whole.distances(np.arange(N), np.tile(np.arange(N), (N, 1)))
    if among is not None:
        D[~among] = np.inf
    return np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("n_threads", [1, 3, 6])
def test_any_tiles_and_threads_give_the_same_neighbours(monkeypatch, n_threads):
    X, (request,) = rows(), KNN(6).requests()
    small_tiles(monkeypatch)
    with threadpool_limits(n_threads):
        found = as_data(X).nearest(request)[1]
    assert (found.reshape(N, 6) == nearest(X, 6)).all()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_sample_of_the_rows_and_other_classes(monkeypatch, n_threads):
    """Some of the rows that are searched for are members, or none is."""
    X, y = rows(), np.arange(N) % 3
    small_tiles(monkeypatch)
    with threadpool_limits(n_threads):
        asked, sampled, _ = as_data(X).nearest(KNN(6, queries=300).requests()[0])
        other = as_data(X, y).nearest(KNN(6, among="other_class").requests()[0])[1]
    assert asked.size == 6 * 300
    assert (sampled.reshape(-1, 6) == nearest(X, 6)[asked[::6]]).all()
    assert (other.reshape(N, 6) == nearest(X, 6, y[:, None] != y)).all()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_sparse_rows(monkeypatch, n_threads):
    X = np.random.RandomState(1).rand(N, 40)
    X[:, 4:][X[:, 4:] < 0.97] = 0  # four columns are frequent
    small_tiles(monkeypatch)
    with threadpool_limits(n_threads):
        found = as_data(sparse.csr_array(X)).nearest(KNN(6).requests()[0])[1]
    assert (found.reshape(N, 6) == nearest(X, 6)).all()


def test_as_many_threads_as_blas_may_have():
    with threadpool_limits(3, user_api="openmp"), threadpool_limits(1, user_api="blas"), threads() as (n, _):
        assert n == 1


def test_threads_show_their_progress_as_the_estimator_says(monkeypatch, capsys):
    small_tiles(monkeypatch)
    with threadpool_limits(3):
        LPP(verbose=False).fit(rows())
        assert capsys.readouterr().err == ""
        LPP(verbose=True).fit(rows())
    assert f"searching: {N} of {N} rows" in capsys.readouterr().err


def test_few_calls_per_pair_of_tiles(monkeypatch):
    """Each call of a thread, of Python or of NumPy, is one that others may have to wait for."""
    small_tiles(monkeypatch)
    data, (request,) = as_data(rows(8 * N)), KNN(2).requests()
    calls = [0]

    def profile(frame, event, _):
        calls[0] += event in ("call", "c_call")

    with threadpool_limits(1):
        sys.setprofile(profile)
        try:
            data.nearest(request)
        finally:
            sys.setprofile(None)
    tiles = -(-8 * N // 128)
    assert calls[0] <= 90 * tiles * (tiles - 1) / 2


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_many_distances_are_measured_in_parts(monkeypatch, make):
    measured_in_parts_from(monkeypatch, 1000)
    X = np.random.RandomState(2).rand(N, 5)
    with threadpool_limits(3):
        d = as_data(make(X)).distances(np.arange(N), np.tile(np.arange(30), (N, 1)))
    np.testing.assert_allclose(d[30:], np.linalg.norm(X[30:, None] - X[:30], axis=2), rtol=1e-12)
