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


@pytest.mark.parametrize("size", [1e-5, 1.0, 1e6])
@pytest.mark.parametrize("dependence", [1.0, 1e-4, 1e-6, 1e-9, 0.0])
def test_orthonormal_columns_of_any_length(size, dependence):
    """W = F R, columns nearly dependent or not, whatever their unit."""
    W = np.random.RandomState(0).standard_normal((40, 5))
    W[:, 4] = W[:, 0] + dependence * W[:, 4]
    F, R = _block._orthonormal(size * W)
    np.testing.assert_allclose(F.T @ F, np.eye(5), atol=1e-5 * 1e-4)
    np.testing.assert_allclose(F @ R, size * W, atol=1e-13 * size * 10)


def test_eigenvalues_as_often_as_the_block_is_wide_may_hide_more():
    assert _block._may_hide(np.array([3.0, 3.0, 3.0, 2.0, 1.0]), 3, 1e-8)
    assert _block._may_hide(np.array([3.0, 2.0, 2.0, 2.0, 1.0]), 3, 1e-8)
    assert not _block._may_hide(np.array([3.0, 3.0, 2.0, 2.0, 1.0]), 3, 1e-8)
    assert not _block._may_hide(np.array([-1.0, -1.0, -2.0, -2.0, -3.0]), 3, 1e-8)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_residuals_are_a_share_of_the_largest_eigenvalue(size):
    A = size * symmetric(np.random.RandomState(0).uniform(0, 1, 300) ** 2)
    values, vectors, _ = _block.block_largest(lambda V: A @ V, np.empty((300, 0)), 5, 1e-9)
    assert np.linalg.norm(A @ vectors - vectors * values, axis=0).max() <= 1.1e-9 * values[0]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A)[:-6:-1], rtol=1e-12)


@pytest.mark.parametrize("k", [1, 10, 60, 200])
def test_the_basis_has_five_vectors_per_eigenvalue_where_there_is_room(k):
    """Or 64 at least; and never more than fit into the space beside what is deflated."""
    for n in (50, 5000):
        basis = _block._Krylov(np.eye(n, 3), k if n > 1000 else 2, np.random.RandomState(0))
        assert basis.columns.shape[1] == 3 + basis.size + basis.width <= n
        assert n < 1000 or basis.size >= max(5 * k, 64)
