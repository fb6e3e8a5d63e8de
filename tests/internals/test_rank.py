"""Rank revelation."""

import numpy as np
import pytest

from lapwing.solvers import numerical_rank, whitening

EPS = np.finfo(float).eps


@pytest.mark.parametrize(
    ("values", "floor", "rank"),
    [
        ([], 0.0, 0),
        ([0.0, 0.0], 0.0, 0),
        ([-1e-16, 0.0], 0.0, 0),
        ([1e-300], 0.0, 1),
        ([-1e-17, 1e-17, 1.0], 0.0, 1),
        ([31 * EPS, 1.0, 1.0], 0.0, 3),  # 10 n eps is 30 eps
        ([29 * EPS, 1.0, 1.0], 0.0, 2),
        ([1e-6, 1e-3, 1.0], 1e-5, 2),
        ([1e-6, 1e-3, 1.0], 2.0, 0),
    ],
)
def test_numerical_rank(values, floor, rank):
    assert numerical_rank(np.array(values), floor) == rank


@pytest.mark.parametrize("rank", [1, 7, 20])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_whitening(rank, ridge, scale):
    F = np.random.RandomState(0).standard_normal((20, rank))
    B = scale * F @ F.T
    for per in (None, 50):
        T = whitening(B, ridge, per=per)
        rho = ridge * np.trace(B) / (per or rank)
        assert T.shape == (20, rank)
        np.testing.assert_allclose(T.T @ (B + rho * np.eye(20)) @ T, np.eye(rank), atol=1e-9)
    Q = np.linalg.qr(F)[0]
    np.testing.assert_allclose(Q @ (Q.T @ T), T, atol=1e-9 * np.abs(T).max())  # nothing outside of the range


def test_whitening_of_equal_rows_and_a_floor():
    F = np.random.RandomState(0).standard_normal((6, 30))
    F = np.vstack([F, F[:2], np.zeros((1, 30))])
    assert whitening(F @ F.T).shape == (9, 6)
    assert whitening(np.diag([1.0, 1e-3, 1e-6]), floor=1e-5).shape == (3, 2)
    assert whitening(np.zeros((3, 3))).shape == (3, 0)


def test_whitening_of_what_repels():
    with pytest.raises(ValueError, match=r"negative eigenvalue \(-0.5; the largest is 2\).*penalty= must attract only"):
        whitening(np.diag([-0.5, 1.0, 2.0]))


def test_without_a_ridge_not_a_bit_changes():
    """Published results hang on the last digit where eigenvalues are rounding alone, a diagonal constraint included."""
    for B in (np.diag([3.0, 1e-9, 2.0]), np.diag([1.0, 2.0]) + 1e-17, np.array([[2.0, 0.5], [0.5, 1.0]])):
        values, vectors = np.linalg.eigh(B)
        np.testing.assert_array_equal(whitening(B), vectors / np.sqrt(values))
