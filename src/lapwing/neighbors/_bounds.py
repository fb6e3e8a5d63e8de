"""Lower bounds of distances, from a few principal coordinates: most pairs of rows need no more."""

from __future__ import annotations

import numpy as np

from ._tiles import TILE, Operand

# Set by benchmarks/screening.py (docs/speed.md).
DIRECTIONS = 31  # coordinates of a row that bounds are made of, beside the length of the rest of the row
SAMPLE = 2000  # rows whose principal directions are taken
WIDE = 128  # columns from which on bounds may pay
MANY = 8_000  # rows from which on bounds may pay


def may_pay(n: int, d: int) -> bool:
    """Whether rows are so many and so long that bounds are worth a trial, which decomposes a d x d matrix."""
    return n >= max(MANY, 20 * d) and d >= WIDE


def sampled(rows: np.ndarray) -> np.ndarray:
    return rows[:: max(1, rows.size // SAMPLE)]


def directions(operand: Operand) -> np.ndarray:
    """Leading principal directions of rows, one per column."""
    moved = np.concatenate([block for _, block in operand.blocks()])
    moved -= moved.mean(axis=0)
    return np.linalg.eigh(moved.T @ moved)[1][:, : -DIRECTIONS - 1 : -1]


def coordinates(operand: Operand, V: np.ndarray) -> np.ndarray:
    """The coordinates of rows along directions."""
    V = V.astype(operand.dtype)
    return np.concatenate([block @ V for _, block in operand.blocks()])


def arranged(coordinates: np.ndarray) -> np.ndarray:
    """An order in which near rows are near: strips along the first direction, each along the second."""
    n = len(coordinates)
    strips = max(1, round(np.sqrt(n / TILE)))
    rank = np.empty(n, dtype=np.intp)
    rank[np.argsort(coordinates[:, 0], kind="stable")] = np.arange(n)
    return np.lexsort((coordinates[:, 1], rank * strips // n))


class Bounds:
    """Rows as (coordinates on p directions, length of the rest), whose distances never exceed those of the rows.

    The rests of two rows differ at least by the difference of their lengths. An operand of p + 1 columns, with the same
    lengths.
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
