"""The one rule that chooses the k nearest of several candidates, whoever proposed them.

The boundary is the k-th smallest distance. Candidates nearer than that by more than ``TIE`` of it are chosen; of those that are
as far as the boundary, up to ``TIE`` of it, the lowest numbers fill the rest. So the choice depends on the distances and the
numbers alone: not on blocks, threads, the order in which rows are met, or which other rows are searched for.
"""

from __future__ import annotations

import numpy as np

TIE = 1e-9  # distances that differ by no more than this share of them are equal


def choose(rows: np.ndarray, numbers: np.ndarray, d: np.ndarray, k: int) -> np.ndarray:
    """Places of the chosen candidates, row by row, nearest first; a row with fewer than k candidates has all of them.

    Parameters
    ----------
    rows, numbers, d : ndarray of shape (n_candidates,)
        Whose candidates they are, which rows they are, and how far.
    k : int
    """
    order, rank, boundary = _near(rows, numbers, d, k)
    if rank.max(initial=0) < k:
        return order
    tied = d[order] >= boundary * (1 - TIE)
    chosen = order[np.lexsort((numbers[order], tied, rows[order]))][rank < k]
    return chosen[np.lexsort((numbers[chosen], d[chosen], rows[chosen]))]


def _near(rows: np.ndarray, numbers: np.ndarray, d: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places of the candidates up to the boundary of their row, nearest first; their ranks there, and the boundary."""
    order = np.lexsort((numbers, d, rows))
    r, e = rows[order], d[order]
    first = np.flatnonzero(np.diff(r, prepend=-1))
    counts = np.diff(first, append=r.size)
    rank = np.arange(r.size) - np.repeat(first, counts)
    boundary = np.repeat(e[first + np.minimum(counts, k) - 1], counts)
    near = e <= boundary * (1 + TIE)
    return order[near], rank[near], boundary[near]


class Candidates:
    """What may be among the k nearest of some queries, while rows are still coming.

    The boundary can only fall. A candidate is out for good when it is beyond the boundary, or when k others are before it
    wherever the boundary ends: those of lower number that are no farther, and those nearer by more than two ``TIE``.

    Attributes
    ----------
    rows, numbers, distances : ndarray of shape (n_candidates,)
        The query of each candidate, the candidate, and how far it is.
    slots : ndarray of shape (n_candidates,)
        For the caller to remember where something is kept; -1 for a candidate that came since.
    boundary : ndarray of shape (n_queries,)
        The k-th distance so far, or what was known before; infinite where nothing is.
    """

    def __init__(self, boundary: np.ndarray, k: int):
        self.boundary, self.k = boundary, k
        self.rows = self.numbers = self.slots = np.empty(0, dtype=np.int64)
        self.distances = np.empty(0)

    def add(self, rows: np.ndarray, numbers: np.ndarray, distances: np.ndarray) -> None:
        touched = np.zeros(self.boundary.size, dtype=bool)
        touched[rows] = True
        again = touched[self.rows]
        held = self.rows, self.numbers, self.distances, self.slots
        new = rows, numbers, distances, np.full(rows.size, -1)
        r, i, d, s = (np.concatenate([old[again], more]) for old, more in zip(held, new, strict=True))
        order, rank, boundary = _near(r, i, d, self.k)
        full = rank == self.k - 1
        self.boundary[r[order[full]]] = np.minimum(self.boundary[r[order[full]]], boundary[full])
        if rank.max(initial=0) >= self.k:
            before_all = d[order] < boundary * (1 - 2 * TIE)
            order = order[_possible(np.where(before_all, -1, i[order]), rank, self.k)]
        self.rows, self.numbers, self.distances, self.slots = (
            np.concatenate([old[~again], more[order]]) for old, more in zip(held, (r, i, d, s), strict=True)
        )

    def chosen(self) -> np.ndarray:
        """Places of those that are chosen if no more rows come."""
        return choose(self.rows, self.numbers, self.distances, self.k)


def _possible(numbers: np.ndarray, rank: np.ndarray, k: int) -> np.ndarray:
    """Which candidates, nearest first, have fewer than k of lower number before them."""
    possible = np.ones(numbers.size, dtype=bool)
    first = np.flatnonzero(rank == 0)
    counts = np.diff(first, append=numbers.size)
    first, counts = first[counts > k], counts[counts > k]
    lowest = np.sort(numbers[first[:, None] + np.arange(k)], axis=1)
    for j in range(k, counts.max()):
        crowded = counts > j
        first, counts, lowest = first[crowded], counts[crowded], lowest[crowded]
        number = numbers[first + j]
        possible[first + j] = number < lowest[:, -1]
        lowest[:, -1] = np.minimum(number, lowest[:, -1])
        lowest.sort(axis=1)
    return possible
