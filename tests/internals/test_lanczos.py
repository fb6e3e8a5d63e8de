"""ARPACK behind one door: a seed, and errors that say what failed."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

from lapwing.solvers import LanczosError, _lanczos, seeded_eigsh
from lapwing.solvers._lanczos import krylov, largest


def diagonal(values):
    return LinearOperator((values.size, values.size), matvec=lambda v: values * np.ravel(v), dtype=np.float64)


def test_same_bits_where_a_krylov_space_ends():
    """The start is an eigenvector or the sum of two, so all else comes from the random vectors that ARPACK goes on with, or the
    same error where it cannot be given a seed.
    """

    def outcome(values):
        try:
            return seeded_eigsh(diagonal(values), 5, start=np.ones(600), ncv=20, tol=1e-12)[1]
        except LanczosError as error:
            return str(error)

    for distinct in range(1, 26):
        first, again = (outcome(1.0 + np.arange(600) % distinct) for _ in range(2))
        np.testing.assert_array_equal(first, again)
        if distinct < 3:
            assert isinstance(first, str) != bool(_lanczos.SEED)


@pytest.mark.parametrize("distinct", [2, 7])
def test_an_arpack_without_a_seed_stops_where_a_krylov_space_ends(distinct, monkeypatch):
    monkeypatch.setattr(_lanczos, "SEED", {})
    values = np.repeat(np.linspace(1, 2, distinct), 400 // distinct)
    with pytest.raises(LanczosError, match=rf"Krylov space of a matrix of {values.size} rows ends"):
        seeded_eigsh(diagonal(values), 1, ncv=20, tol=0.0)


def test_an_arpack_without_a_seed_goes_on_where_none_ends(monkeypatch):
    """Restarts, a start that is nearly an eigenvector: the same eigenpairs as with one."""
    for values in (np.linspace(0, 1, 500), np.random.RandomState(0).standard_normal(500) ** 9):
        start = np.eye(values.size)[values.argmax()] + 1e-7 * np.random.RandomState(1).standard_normal(values.size)
        with_seed = seeded_eigsh(diagonal(values), 3, start=start)
        with monkeypatch.context() as patch:
            patch.setattr(_lanczos, "SEED", {})
            without = seeded_eigsh(diagonal(values), 3, start=start)
        for one, other in zip(with_seed, without, strict=True):
            np.testing.assert_array_equal(one, other)


def test_ends_of_the_spectrum():
    values = np.random.RandomState(0).standard_normal(200)
    np.testing.assert_allclose(seeded_eigsh(diagonal(values), 3)[0], np.sort(values)[-3:])
    np.testing.assert_allclose(seeded_eigsh(diagonal(values), 3, which="SA")[0], np.sort(values)[:3])


def test_errors_say_what_failed():
    values = np.linspace(0, 1, 2000) ** 4  # crowded at 0
    with pytest.raises(LanczosError, match=r"no 5 eigenvectors of 2000 rows: .*No convergence"):
        seeded_eigsh(diagonal(values), 5, which="SA", maxiter=3)
    with pytest.raises(
        LanczosError, match=r"no 2 eigenvectors of 50 rows: .*[Ss]tarting vector is zero|Krylov space .* ends"
    ):
        seeded_eigsh(diagonal(np.zeros(50)), 2)


def test_what_is_deflated_does_not_leak_where_it_is_huge():
    """As an inverse is along the null space."""
    constant, values = np.full((200, 1), 200**-0.5), np.linspace(1, 2, 200)

    def apply(v):
        return values * v + 1e8 * constant[:, 0] * (constant[:, 0] @ v)

    _, vectors = krylov(apply, np.random.RandomState(0).standard_normal(200), constant, 5, 1000, 1e-12)
    assert np.abs(constant.T @ vectors).max() < 1e-14


def test_vectors_that_are_not_orthogonal_are_refused(monkeypatch):
    found = np.ones(3), np.ones((600, 3)) / np.sqrt(600)
    monkeypatch.setattr(_lanczos, "krylov", lambda *args: found)
    with pytest.raises(LanczosError, match="3 vectors of 600 rows that are not orthogonal"):
        largest(lambda v: v, np.empty((600, 0)), 3, 100)


def test_a_search_that_always_finds_more_gives_up(monkeypatch):
    axes, count = iter(np.eye(600)), iter(range(1, 100))

    def more(apply, start, deflated, k, restarts, tol):
        value = float(next(count))
        return np.full(k, value), np.array([next(axes) for _ in range(k)]).T

    monkeypatch.setattr(_lanczos, "krylov", more)
    with pytest.raises(LanczosError, match="repeat too often for Lanczos to find the first 3"):
        largest(lambda v: v, np.empty((600, 0)), 3, 100)
