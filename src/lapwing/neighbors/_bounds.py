"""Lower bounds of distances, from a few principal coordinates. For most pairs of rows the bound says enough."""

from __future__ import annotations

import numpy as np

from ._tiles import TILE, Operand

# Set by benchmarks/screening.py (docs/speed.md).
DIRECTIONS = 31  # the bound uses this many coordinates of a row, and the length of what they leave of the row
SAMPLE = 2000  # the principal directions are those of this many rows
WIDE = 128  # bounds may save time from this many columns on
MANY = 8_000  # bounds may save time from this many rows on


def may_pay(n: int, d: int) -> bool:
    """Whether rows are so many and so long that bounds are worth a trial. The trial decomposes a d x d matrix."""
    return n >= max(MANY, 20 * d) and d >= WIDE


def sampled(rows: np.ndarray) -> np.ndarray:
    return rows[:: max(1, rows.size // SAMPLE)]


def directions(operand: Operand) -> np.ndarray:
    """The leading principal directions of the rows, one direction per column."""
    moved = np.concatenate([block for _, block in operand.blocks()])
    moved -= moved.mean(axis=0)
    return np.linalg.eigh(moved.T @ moved)[1][:, : -DIRECTIONS - 1 : -1]


def coordinates(operand: Operand, V: np.ndarray) -> np.ndarray:
    """The coordinates of rows along directions."""
    V = V.astype(operand.dtype)
    return np.concatenate([block @ V for _, block in operand.blocks()])


def arranged(coordinates: np.ndarray) -> np.ndarray:
    """An order in which near rows stand close together: strips along the first direction, each sorted along the second."""
    n = len(coordinates)
    strips = max(1, round(np.sqrt(n / TILE)))
    rank = np.empty(n, dtype=np.intp)
    rank[np.argsort(coordinates[:, 0], kind="stable")] = np.arange(n)
    return np.lexsort((coordinates[:, 1], rank * strips // n))


class Bounds:
    """Rows as (coordinates on p directions, length of the rest); their distances never exceed those of the whole rows.

    This holds because the rests of two rows differ by at least the difference of their lengths. The object is an operand of p
    + 1 columns, and its rows are as long as the whole rows.
    """

    def __init__(self, operand: Operand, V: np.ndarray):
        self.width, self.half = V.shape[1] + 3, operand.half
        self.kept = np.empty((operand.n, self.width), operand.dtype)
        V = V.astype(operand.dtype)
        for part, block in operand.blocks():
            Y = block @ V
            rest = 2 * self.half[part] - np.einsum("ij,ij->i", Y, Y, dtype=np.float64)
            self.kept[part, :-3], self.kept[part, -3] = Y, np.sqrt(np.maximum(rest, 0))
        self.kept[:, -2], self.kept[:, -1] = self.half, 1

    def left(self, part: slice) -> np.ndarray:
        return self.kept[part]

    def right(self, part: slice) -> np.ndarray:
        out = self.kept[part].copy()
        out[:, -2], out[:, -1] = -1, -self.half[part]
        return out
