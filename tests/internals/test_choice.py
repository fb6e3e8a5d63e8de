"""The rule that chooses among candidates, and what is kept of them while more are coming."""

import numpy as np
import pytest
import rule

from lapwing.neighbors import choose
from lapwing.neighbors._choice import Candidates


def chosen(rows, numbers, d, k):
    places = choose(rows, numbers, d, k)
    return {i: set(numbers[places][rows[places] == i].tolist()) for i in np.unique(rows).tolist()}


def expected(rows, numbers, d, k):
    own = {i: dict(zip(numbers[rows == i].tolist(), d[rows == i].tolist(), strict=True)) for i in np.unique(rows)}
    return {i: rule.nearest(found, k) for i, found in own.items()}


def candidates(seed, step, n_queries=6, n=60):
    """Distances one step apart, of rows in no order."""
    rng = np.random.RandomState(seed)
    rows = np.repeat(np.arange(n_queries), n)
    numbers = np.concatenate([rng.permutation(1000)[:n] for _ in range(n_queries)])
    order = rng.permutation(rows.size)
    return rows[order], numbers[order], (1 + step * rng.randint(10, size=rows.size))[order]


STEPS = [0.0, 1e-11, 1.3e-10, 3e-10, 7e-10, 1.5e-9, 1e-3]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("k", [1, 3, 20, 59, 60, 80])
def test_by_its_definition(step, k):
    given = candidates(k, step)
    assert chosen(*given, k) == expected(*given, k)


def test_nearest_first_and_of_equal_ones_the_first():
    rows, numbers = np.array([1, 0, 0, 1, 0, 0]), np.array([4, 9, 3, 2, 7, 8])
    d = np.array([1.0, 2.0, 2.0, 0.5, 1.0, 2.0])
    np.testing.assert_array_equal(choose(rows, numbers, d, 3), [4, 2, 5, 3, 0])
    assert choose(rows[:0], numbers[:0], d[:0], 3).size == 0


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("k", [1, 3, 20, 59])
@pytest.mark.parametrize("pieces", [2, 7, 60])
def test_the_order_in_which_candidates_come_does_not_matter(step, k, pieces):
    rows, numbers, d = candidates(k, step)
    for seed in range(3):
        found = Candidates(np.arange(6), np.full(6, np.inf), k)
        for part in np.array_split(np.random.RandomState(seed).permutation(rows.size), pieces):
            found.add(rows[part], numbers[part], d[part])
        places = found.chosen()
        own = {i: set(found.numbers[places][found.rows[places] == i].tolist()) for i in range(6)}
        assert own == expected(rows, numbers, d, k)
        np.testing.assert_array_equal(found.boundary, [np.sort(d[rows == i])[k - 1] for i in range(6)])


def test_what_cannot_be_chosen_any_more_is_forgotten():
    """Of equally distant rows k are enough; of nearly equal ones a few more; only such as are nearer and nearer are all kept."""
    n, k, rng = 3000, 5, np.random.RandomState(0)
    for d, most in (
        (np.ones(n), k),
        (1 + 1e-3 * rng.rand(n), k + 1),
        (1 + 1e-11 * rng.rand(n), 60),
        (1 - 1e-14 * np.arange(n), n),
    ):
        found = Candidates(np.arange(1), np.full(1, np.inf), k)
        for part in np.array_split(np.arange(n), 30):
            found.add(np.zeros(part.size, dtype=int), part, d[part])
        assert k <= found.rows.size <= most


def test_rows_behind_a_known_distance_change_nothing():
    rows, numbers, d = candidates(0, 3e-10)
    known = np.array([np.sort(d[rows == i])[7] for i in range(6)])  # within which there are more than 5
    found = Candidates(np.arange(6), known, 5)
    found.add(rows, numbers, d)
    places = found.chosen()
    own = {i: set(found.numbers[places][found.rows[places] == i].tolist()) for i in range(6)}
    assert own == expected(rows, numbers, d, 5)
