"""The trace-ratio problem: the global optimum, against a grid of all subspaces and against other iterations."""

import numpy as np
import pytest
from scipy.linalg import null_space, subspace_angles

from lapwing.solvers import RankError, trace_ratio


def drawn(n, seed, rank=None):
    M = np.random.default_rng(seed).normal(size=(rank or n, n))
    return M.T @ M


def directions(n=400):
    """Of a half sphere, evenly."""
    heights = (np.arange(n) + 0.5) / n
    angles = np.pi * (1 + 5**0.5) * np.arange(n)
    radius = np.sqrt(1 - heights**2)
    return np.column_stack([radius * np.cos(angles), radius * np.sin(angles), heights])


def of(A, B, V):
    return np.trace(V.T @ A @ V) / np.trace(V.T @ B @ V)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 2])
def test_no_subspace_of_a_grid_is_better(k, seed):
    """Lines in space, and planes by their normals."""
    A, B = drawn(3, seed), drawn(3, 100 + seed)
    A = A if seed % 2 else A - 2 * np.eye(3)  # also with something that repels
    ratio, found = trace_ratio(A, B, k)
    V = found.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    assert of(A, B, V) == pytest.approx(ratio, rel=1e-12)
    grid = [v[:, None] if k == 1 else null_space(v[None]) for v in directions(4000)]
    ratios = [of(A, B, W) for W in grid]
    assert ratio <= min(ratios) + 1e-12
    assert min(ratios) - ratio < 0.02 * (max(ratios) - min(ratios))  # the grid comes near


@pytest.mark.parametrize("k", [1, 3, 7, 8, None])
def test_newton_agrees_with_bisection(k):
    A, B = drawn(8, 1), drawn(8, 2, rank=3)
    ratio, found = trace_ratio(A, B, k)
    low, high = 0.0, np.trace(A) / np.linalg.eigvalsh(B)[-1] * 10
    for _ in range(200):  # f falls with the ratio, and its zero is the least one
        middle = (low + high) / 2
        negative = np.linalg.eigvalsh(A - middle * B)[: k or 8].sum() < 0
        low, high = (low, middle) if negative else (middle, high)
    assert ratio == pytest.approx(low, rel=1e-10)
    assert found.values.sum() == pytest.approx(0, abs=1e-9 * np.trace(A))
    np.testing.assert_allclose(found.vectors.T @ (A - ratio * B) @ found.vectors, np.diag(found.values), atol=1e-9)


def test_one_direction_is_the_pencil():
    from scipy.linalg import eigh

    A, B = drawn(5, 3), drawn(5, 4)
    values, V = eigh(A, B)
    ratio, found = trace_ratio(A, B, 1)
    assert ratio == pytest.approx(values[0], rel=1e-10)
    assert subspace_angles(found.vectors, V[:, :1]).max() < 1e-7


def test_what_has_no_answer():
    with pytest.raises(RankError, match="no direction"):
        trace_ratio(np.eye(3), np.zeros((3, 3)), 1)
    with pytest.raises(RankError, match="n_components=4"):
        trace_ratio(np.eye(3), np.eye(3), 4)
    with pytest.raises(ValueError, match="no least value"):
        trace_ratio(np.diag([-1.0, 1, 1]), np.diag([0.0, 0, 1]), 1)
