"""Rows that stand for several samples each, or for a part of one: the maps of rows with ``sample_weight``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ..operators import Structured, diagonal
from ._map import DenseMap, Deviations, DividedMap, Map
from ._sparse import SparseMap


class _Weighted(Map):
    """Sums over samples in which row i counts ``counts[i]`` times. All counts are above 0."""

    def _weigh(self, counts: np.ndarray) -> None:
        self.counts, self.n_samples = counts, counts.sum()
        self.roots = np.sqrt(counts)[:, None]

    def total(self, values: np.ndarray) -> float:
        return float(values @ self.counts)

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        return super().mean(self.counts if weights is None else self.counts * weights)

    def forms(self, matrices: Sequence[Structured], shift: np.ndarray | None = None) -> list[np.ndarray]:
        return super().forms([M.repeated(self.counts) for M in matrices], shift)

    def form_diagonal(self, M: Structured, shift: np.ndarray) -> np.ndarray:
        return super().form_diagonal(M.repeated(self.counts), shift)

    def spread(self, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return super().spread(mean, self.counts * weights)

    def deviations(self, few: bool = False) -> Deviations:
        return Map.deviations(self)

    def scatter(self, about: np.ndarray) -> np.ndarray:
        return super().forms([diagonal(self.counts)], about)[0]

    def gram_about(self, mean: np.ndarray) -> np.ndarray:
        return self.roots * super().gram_about(mean) * self.roots.T

    def _like(self, coordinates: Any) -> Map:
        return WeightedDenseMap(coordinates, self.counts)


class WeightedDenseMap(_Weighted, DenseMap):
    """F = X, an array."""

    def __init__(self, X: np.ndarray, counts: np.ndarray):
        DenseMap.__init__(self, X)
        self._weigh(counts)


class WeightedDividedMap(_Weighted, DividedMap):
    """F = X with its columns divided by ``scale``."""

    def __init__(self, X: np.ndarray, scale: np.ndarray, counts: np.ndarray):
        DividedMap.__init__(self, X, scale)
        self._weigh(counts)


class WeightedSparseMap(_Weighted, SparseMap):
    """F = X, a sparse array by rows."""

    def __init__(self, X: Any, counts: np.ndarray):
        SparseMap.__init__(self, X)
        self._weigh(counts)

    @property
    def filled(self) -> np.ndarray:
        stored = np.bincount(self.X.indices, np.repeat(self.counts, np.diff(self.X.indptr)), self.shape[1])
        return 2 * stored > self.n_samples

    def _operator(self, M: Structured, mean: np.ndarray) -> LinearOperator:
        return super()._operator(M.repeated(self.counts), mean)


def weighted(F: Map, counts: np.ndarray) -> Map:
    """The map of the same rows, each of which stands for so many samples."""
    if isinstance(F, SparseMap):
        return WeightedSparseMap(F.X, counts)
    return WeightedDividedMap(F.X, F.scale, counts) if isinstance(F, DividedMap) else WeightedDenseMap(F.X, counts)
