"""Rows that stand for many samples: they hold all that sums over millions of samples need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..operators import Structured, identity, row_blocks
from ._map import Centre, Coordinates, Map, leading
from ._preprojection import Preprojection


class SummaryMap(Map):
    """Some rows as they are, and for the others of each class their mean, their number and their scatter about the mean.

    Sums over all samples are the same as if every row were there.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    means : ndarray of shape (n_classes, n_features)
    counts : ndarray of shape (n_classes,)
        How many samples each mean stands for.
    scatter : callable
        Given one weight per class, it returns the weighted sum of the scatter matrices about the means.
    """

    def __init__(
        self, rows: np.ndarray, means: np.ndarray, counts: np.ndarray, scatter: Callable[[np.ndarray], np.ndarray]
    ):
        self.rows, self.means, self._scatter = rows, means, scatter
        self.counts = np.concatenate([np.ones(len(rows)), counts])
        self.shape = (len(rows) + len(means), rows.shape[1])
        self.dtype = rows.dtype
        self.n_samples = int(self.counts.sum())
        self.is_wide = False  # the scatter is known and the rows are not, so that there is no Gram matrix of rows

    def __getitem__(self, index: Any) -> np.ndarray:
        """Rows by number, among those that are kept."""
        return self.rows[index]

    def total(self, values: np.ndarray) -> float:
        return float(values @ self.counts)

    def block(self, rows: slice, shift: np.ndarray | None = None) -> np.ndarray:
        start, stop, _ = rows.indices(self.shape[0])
        n = len(self.rows)
        own, means = self.rows[start:stop], self.means[max(start - n, 0) : max(stop - n, 0)]
        block = np.concatenate([own, means], dtype=np.float64)
        return block if shift is None else np.subtract(block, shift, out=block)

    def columns(self, columns: Any, shift: np.ndarray | None = None) -> np.ndarray:
        part = np.concatenate([self.rows[:, columns], self.means[:, columns]], dtype=np.float64)
        return part if shift is None else np.subtract(part, shift, out=part)

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        weights, first = self.counts * (1.0 if weights is None else weights), self.block(slice(0, 1))[0]
        total = sum(weights[rows] @ self.block(rows, first) for rows in row_blocks(*self.shape))
        return first + total / weights.sum()

    def forms(self, matrices: Sequence[Structured], shift: np.ndarray | None = None) -> list[np.ndarray]:
        forms = super().forms([M.repeated(self.counts) for M in matrices], shift)
        return [form + self._within(M.diag) for M, form in zip(matrices, forms, strict=True)]

    def _within(self, weights: np.ndarray | None) -> np.ndarray | float:
        """The scatter of the classes about their means, under one weight per row."""
        weights = None if weights is None else weights[len(self.rows) :]
        return 0.0 if weights is None or not weights.any() else self._scatter(weights)

    def form_diagonal(self, M: Structured, shift: np.ndarray) -> np.ndarray:
        return np.diagonal(self.forms([M], shift)[0])

    def spread(self, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self.form_diagonal(Structured(weights.size, diag=weights), mean)

    def variance_along(self, Q: np.ndarray) -> np.ndarray:
        (C,) = self.forms([identity(self.shape[0])], self.plain_mean)
        return np.einsum("ij,ij->j", Q, C @ Q) / np.trace(C)

    def coordinates(self, matrices: Sequence[Structured], centre: Centre, preprojection: Preprojection) -> Coordinates:
        """As for every F, in principal coordinates. The forms are small compared with the passes that made the summary."""
        whole = preprojection.is_whole and centre.is_seen
        mean, plain = self.mean_at(centre), self.plain_mean
        (C,) = self.forms([identity(self.shape[0])], mean if centre.at_origin and whole else plain)
        floor = self._rounding(C, plain)  # raises where C is not finite
        _, N, spectrum = leading(*np.linalg.eigh(C), floor, preprojection.count)
        forms = [N.T @ M @ N for M in self.forms(matrices, mean)]
        n_pca = None if whole else N.shape[1]
        return Coordinates(forms, mean, lambda V: (N @ V).T, n_pca, spectrum=spectrum)
