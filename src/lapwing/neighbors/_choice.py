"""The one rule that chooses the k nearest of several candidates, whichever search proposed them.

The boundary of a row is its k-th smallest distance. Candidates that are nearer than the boundary, by more than the share
``TIE`` of it, are all chosen. Candidates that are as far as the boundary, up to that share, are tied, and those of the lowest
numbers fill the remaining places. So the choice depends only on the distances and the numbers: not on blocks, threads, the
order in which rows are met, or which other rows are searched for.
"""

from __future__ import annotations

import numpy as np

TIE = 1e-9  # distances count as equal where they differ by no more than this share


def choose(rows: np.ndarray, numbers: np.ndarray, d: np.ndarray, k: int) -> np.ndarray:
    """Places of the chosen candidates, row by row, nearest first; a row with fewer than k candidates has all of them.

    Parameters
    ----------
    rows, numbers, d : ndarray of shape (n_candidates,)
        The row that each candidate belongs to, the number of the candidate, and its distance from that row.
    k : int
    """
    order, rank, boundary = _near(rows, numbers, d, k)
    if rank.max(initial=0) < k:
        return order
    tied = d[order] >= boundary * (1 - TIE)
    chosen = order[np.lexsort((numbers[order], tied, rows[order]))][rank < k]
    return chosen[_nearest_first(rows[chosen], numbers[chosen], d[chosen])]


def _near(rows: np.ndarray, numbers: np.ndarray, d: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The places of the candidates up to the boundary of their row, nearest first, their ranks there, and the boundaries."""
    order = _nearest_first(rows, numbers, d)
    r, e = rows[order], d[order]
    new = np.ones(r.size, dtype=bool)
    new[1:] = r[1:] != r[:-1]
    first, place = np.flatnonzero(new), np.cumsum(new) - 1
    rank = np.arange(r.size) - first[place]
    boundary = e[np.minimum(first + k, np.append(first[1:], r.size)) - 1][place]
    near = e <= boundary * (1 + TIE)
    return order[near], rank[near], boundary[near]


def _nearest_first(rows: np.ndarray, numbers: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The order by rows, then distances, then numbers. Numbers are sorted only where distances tie, which is much faster."""
    order = np.argsort(d)
    order = order[np.argsort(rows[order].astype(np.min_scalar_type(rows.max(initial=0))), kind="stable")]
    r, e = rows[order], d[order]
    if ((r[1:] == r[:-1]) & (e[1:] == e[:-1])).any():
        return np.lexsort((numbers, d, rows))
    return order


class Candidates:
    """The rows that may still be among the k nearest of some queries, while more rows are coming.

    The boundary can only get smaller. So a candidate is dropped for good when it is beyond the boundary. It is also dropped
    when k others come before it wherever the boundary ends: those of lower number that are no farther, and those that are
    nearer by more than twice ``TIE``.

    Attributes
    ----------
    queries, boundary : ndarray of shape (n_queries,)
        ``queries`` are numbers by which the caller knows the queries. ``boundary`` is the k-th distance so far, or a bound
        that was known before, or infinity.
    rows, numbers, distances, slots : ndarray of shape (n_candidates,)
        The place of each candidate's query, the number of the candidate, its distance, and the slot where the caller keeps
        its row, which is -1 for a new candidate.
    """

    def __init__(self, queries: np.ndarray, boundary: np.ndarray, k: int):
        self.queries, self.boundary, self.k = queries, boundary, k
        self.rows = self.numbers = self.slots = np.empty(0, dtype=np.intp)
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
        """The places of the candidates that would be chosen if no more rows came."""
        return choose(self.rows, self.numbers, self.distances, self.k)


def _possible(numbers: np.ndarray, rank: np.ndarray, k: int) -> np.ndarray:
    """Which candidates, listed nearest first, have fewer than k candidates of lower number before them."""
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
