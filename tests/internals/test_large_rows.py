"""Rows too large to be decomposed whole: leading directions by iterations are those of a dense decomposition."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles

from lapwing import maps
from lapwing.maps import DenseMap, Preprojection, SparseMap, _map, _sparse
from lapwing.solvers import LanczosError

rng = np.random.RandomState(0)
U, V = (np.linalg.qr(rng.standard_normal((size, 20)))[0] for size in (60, 45))
TALL = np.round(U * np.geomspace(100, 1, 20) @ V.T * (rng.rand(60, 45) < 0.5), 6)
SHAPES = {"tall": TALL, "wide": TALL.T.copy()}


@pytest.fixture(params=SHAPES)
def rows(request):
    return SHAPES[request.param]


def check(principal, X, p):
    """Coordinates, directions and origin of the p leading directions."""
    about = X.mean(axis=0)
    _, lengths, right = np.linalg.svd(X - about, full_matrices=False)
    F = principal.coordinates.block(slice(None))
    assert F.shape == (len(X), p)
    directions = principal.back(np.eye(p))
    np.testing.assert_allclose(directions @ directions.T, np.eye(p), atol=1e-8)
    assert subspace_angles(directions.T, right[:p].T).max() < 1e-6
    np.testing.assert_allclose(F, (X - about) @ directions.T, atol=1e-7 * lengths[0])
    np.testing.assert_allclose(principal.origin(), -directions @ about, atol=1e-7 * np.abs(X).max() * 10)
    np.testing.assert_allclose(np.linalg.norm(F, axis=0), np.sort(np.linalg.norm(F, axis=0))[::-1])


@pytest.mark.parametrize("share", [1, 6, 0.5, 0.9])
def test_leading_directions_by_lanczos(rows, share, monkeypatch):
    """A number of directions, or as many as hold a share of the variance, which takes several tries."""
    monkeypatch.setattr(SparseMap, "limit", 3)
    F = SparseMap(sparse.csr_array(rows))
    assert F.is_large
    squares = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False) ** 2
    p = share if isinstance(share, int) else 1 + int(np.searchsorted(np.cumsum(squares), share * squares.sum()))
    check(F.principal(Preprojection(share), F.plain_mean), rows, p)


def test_more_tries_where_the_first_directions_hold_too_little(monkeypatch):
    """128 directions at first, then twice as many; too many raise."""
    monkeypatch.setattr(SparseMap, "limit", 3)
    X = sparse.random(220, 180, density=0.2, random_state=0, format="csr")
    F = SparseMap(sparse.csr_array(X))
    dense = F.X.toarray()
    squares = np.linalg.svd(dense - dense.mean(axis=0), compute_uv=False) ** 2
    p = 1 + int(np.searchsorted(np.cumsum(squares), 0.985 * squares.sum()))
    assert p > 128
    assert F.principal(Preprojection(0.985), F.plain_mean).coordinates.shape == (220, p)
    monkeypatch.setattr(_sparse, "MOST_DIRECTIONS", 128)
    with pytest.raises(ValueError, match="the first 128 directions"):
        F.principal(Preprojection(0.985), F.plain_mean)


def test_equal_lengths_where_lanczos_fails(monkeypatch):
    def fails(*args, **kwargs):
        raise LanczosError("no")

    monkeypatch.setattr(SparseMap, "limit", 3)
    monkeypatch.setattr(_map, "seeded_eigsh", fails)
    F = SparseMap(sparse.csr_array(TALL))
    check(F.principal(Preprojection(5), F.plain_mean), TALL, 5)


def test_constant_rows_that_are_too_large_say_so(monkeypatch):
    monkeypatch.setattr(SparseMap, "limit", 3)
    F = SparseMap(sparse.csr_array(np.ones((30, 20))))
    with pytest.raises(ValueError, match="X is constant"):
        F.principal(Preprojection(5), F.plain_mean)


def test_what_is_truncated():
    """Few directions of many, or all that is large."""
    F = SparseMap(sparse.csr_array(sparse.random(600, 550, 0.01, random_state=0)))
    few = 550 // _sparse.LANCZOS_SHARE - 1
    assert F._is_truncated(Preprojection(int(few)))
    assert not F._is_truncated(Preprojection(int(few) + 2))
    assert not F._is_truncated(Preprojection(0.5))
    small = SparseMap(sparse.csr_array(sparse.random(600, 500, 0.01, random_state=0)))
    assert not small._is_truncated(Preprojection(1))


def test_directions_about_another_point(rows):
    F, about = DenseMap(rows), rows[3]
    found = F.principal(Preprojection(), about)
    directions = found.back(np.eye(found.coordinates.shape[1]))
    np.testing.assert_allclose(found.coordinates.block(slice(None)), (rows - about) @ directions.T, atol=1e-6)
    np.testing.assert_allclose(found.origin(), -directions @ about, atol=1e-6)


def test_short_directions_are_orthonormal(monkeypatch):
    """Those of a Gram matrix that has lost half of their digits are made so again."""
    P, Q = (np.linalg.qr(rng.standard_normal((size, 6)))[0] for size in (15, 40))
    X = P * np.geomspace(1, 1e-6, 6) @ Q.T
    for chunk in (1 << 23, 8 * 15 * 7):
        monkeypatch.setattr("lapwing.operators.BLOCK_BYTES", chunk)
        F = DenseMap(X)
        found = F.principal(Preprojection(), F.plain_mean)
        p = found.coordinates.shape[1]
        directions = found.back(np.eye(p))
        assert p >= 5
        np.testing.assert_allclose(directions @ directions.T, np.eye(p), atol=1e-9)
        np.testing.assert_allclose(found.coordinates.block(slice(None)), (X - F.plain_mean) @ directions.T, atol=1e-9)
        np.testing.assert_allclose(found.origin(), -directions @ F.plain_mean, atol=1e-9)


def test_rather_short_directions_are_orthonormal():
    for seed in range(20):
        random = np.random.RandomState(seed)
        P, Q = (np.linalg.qr(random.standard_normal((size, 6)))[0] for size in (15, 40))
        F = DenseMap(P * np.geomspace(1, 1.2e-4, 6) @ Q.T)
        found = F.principal(Preprojection(), F.plain_mean)
        directions = found.back(np.eye(found.coordinates.shape[1]))
        np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-11)


def test_misfit(rows):
    F = maps.as_map(rows)
    Q, B = rng.standard_normal((len(rows), 2)), rng.standard_normal((2, rows.shape[1]))
    about = rows - F.plain_mean
    expected = np.linalg.norm(about - Q @ B) / np.linalg.norm(about)
    assert F.misfit(F.plain_mean, Q, B) == pytest.approx(expected)
    assert maps.as_map(sparse.csr_array(rows)).misfit(F.plain_mean, Q, B) == pytest.approx(expected)


def test_deviations_of_a_few_rows(monkeypatch):
    """Evenly spaced ones, where there are many."""
    X = rng.standard_normal((50, 3))
    monkeypatch.setattr(_map, "FEW_ROWS", 20)
    np.testing.assert_allclose(DenseMap(X).deviations(few=True).values, X[::3].std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(DenseMap(X).deviations().values, X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(DenseMap(X[:20]).deviations(few=True).values, X[:20].std(axis=0), rtol=1e-12)
    assert DenseMap(np.c_[X, np.full(50, 1e8 + 0.1)]).deviations().values[-1] == 0


def test_deviations_about_rows_that_are_far_from_the_others(monkeypatch):
    """The point that sums are taken about comes from some rows, here from those of one of two groups."""
    X = rng.standard_normal((50, 3)) + 5 * (np.arange(50) % 2)[:, None]
    monkeypatch.setattr(_map, "PILOT", 25)
    np.testing.assert_allclose(DenseMap(X).deviations().values, X.std(axis=0), rtol=1e-12)
