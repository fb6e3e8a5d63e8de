"""Block Lanczos, beside dense solutions."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from lapwing.solvers import _block

SPECTRA = {
    "simple": np.random.RandomState(0).standard_normal(500),
    "negative": -np.random.RandomState(0).uniform(1, 2, 500),
    "repeated": np.r_[np.full(7, 3.0), np.random.RandomState(0).uniform(0, 1, 493)],
    "beyond the block": np.r_[np.full(40, 3.0), np.random.RandomState(0).uniform(0, 1, 460)],
    "twice beyond the block": np.r_[np.full(30, 3.0), np.full(30, 2.0), np.zeros(440)],
    "projector": np.r_[np.ones(100), np.zeros(400)],
    "low rank": np.r_[np.arange(1.0, 11.0), np.zeros(490)],
    "identity": np.ones(500),
    "zero": np.zeros(500),
}


def symmetric(values, seed=1):
    rotation = np.linalg.qr(np.random.RandomState(seed).standard_normal((values.size, values.size)))[0]
    return (rotation * values) @ rotation.T


def check_pairs(A, deflated, k, tol=1e-12, values_of_all=None):
    """Beside a dense solution of A on what is orthogonal to ``deflated``; or beside the eigenvalues that A was made of."""
    if values_of_all is None:
        rest = np.linalg.svd(deflated.astype(float))[0][:, deflated.shape[1] :]
        values_of_all = np.linalg.eigvalsh(rest.T @ A @ rest)
    expected = np.sort(values_of_all)[::-1][:k]
    typed = A.astype(deflated.dtype)
    values, vectors, _ = _block.block_largest(lambda V: typed @ V, deflated, k, tol)
    assert vectors.dtype == deflated.dtype
    V, size = vectors.astype(float), max(np.abs(A).max(), np.abs(values_of_all).max())
    fine = 1e-10 if deflated.dtype == np.float64 else 1e-4
    np.testing.assert_allclose(values, expected, atol=fine * size)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=fine)
    np.testing.assert_allclose(deflated.T.astype(float) @ V, 0, atol=fine)
    left = A @ V - V * values
    assert np.linalg.norm(left - deflated @ (deflated.T @ left), axis=0).max() <= fine * size


@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA)
def test_block_lanczos_beside_a_dense_solution(spectrum):
    A = symmetric(spectrum)
    for k in (1, 10, 50, 166):
        check_pairs(A, np.empty((500, 0)), k, values_of_all=spectrum)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [90, 401])
def test_block_lanczos_with_little_room_and_deflation(n, dtype):
    A = symmetric(np.random.RandomState(2).standard_normal(n))
    for deflated in (np.full((n, 1), n**-0.5), np.linalg.qr(A[:, :3])[0]):
        for k in (1, n // 3):
            check_pairs(A, deflated.astype(dtype), k, 1e-12 if dtype == np.float64 else 1e-5)


def test_block_lanczos_gives_the_same_bits():
    A = symmetric(SPECTRA["repeated"])
    first, again = (_block.block_largest(lambda V: A @ V, np.empty((500, 0)), 10, 1e-12) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    spaces = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            spaces.append(_block.block_largest(lambda V: A @ V, np.empty((500, 0)), 10, 1e-12)[1])
    assert subspace_angles(*spaces).max() < 1e-8


def test_block_lanczos_that_stops_early_warns(monkeypatch):
    monkeypatch.setattr(_block, "RESTARTS", 1)
    A = symmetric(SPECTRA["simple"])
    with pytest.warns(ConvergenceWarning, match="after 1 restarts"):
        _block.block_largest(lambda V: A @ V, np.empty((500, 0)), 10, 1e-12)
