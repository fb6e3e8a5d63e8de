"""NN-descent: nearly all nearest neighbours, without comparing all pairs of rows."""

from __future__ import annotations

import warnings
from math import ceil
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._extras import require
from ..maps import weighted_mean
from ..operators import OUT_OF_RANGE, Array, row_blocks
from ..rows import lengths, unit_rows
from ._choice import TIE
from ._compiled import compiling
from ._nearest import Nearest
from ._requests import Edges, Search
from ._spaces import paired

METRICS = {  # The metrics that NN-descent takes. One metric may have several names.
    "euclidean": "euclidean",
    "l2": "euclidean",
    "cosine": "cosine",
    "manhattan": "manhattan",
    "cityblock": "manhattan",
    "l1": "manhattan",
}
# Up to this many rows, comparing all pairs takes no longer than NN-descent, even where nothing need be compiled (measured).
FEW = 16_384
SAMPLE = 256  # rows whose neighbours are searched for exactly, to measure the recall
# How many neighbours NN-descent looks for. It walks from neighbour to neighbour, so with few neighbours it gets stuck. Each
# entry is (the largest recall that is asked for, the factor that k is multiplied by, the least number of neighbours). The
# first entry whose recall is large enough is tried first. The recall that it reached is measured on every fit, and more
# neighbours are looked for where it was too low.
LOOKED_FOR = ((0.9, 1.1, 10), (0.96, 1.5, 15), (0.99, 2.5, 25), (1.0, 5.5, 50))


class NNDescent(BaseEstimator):
    """A neighbours transformer over pynndescent: it looks for more neighbours than are wanted, and keeps the nearest of them.

    NN-descent searches in float32; the distances of what it found are then measured in float64. Up to ``FEW`` rows the search
    is exact, and so is that for rows to which NN-descent gives no neighbours. On the same number of threads, the same
    neighbours are found every time.

    Parameters
    ----------
    n_neighbors : int, default=5
    metric : str, default="euclidean"
    recall : float, default=0.95
        The share of the nearest neighbours that is to be found. It is measured on a sample of rows, and where it is missed the
        search is made again for more neighbours, twice at most.

    Attributes
    ----------
    recall_ : float
        What was measured.
    """

    def __init__(self, n_neighbors: int = 5, metric: str = "euclidean", recall: float = 0.95):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.recall = recall

    def fit_transform(self, X: Array, y: Any = None) -> sparse.csr_array:
        n, k = X.shape[0], self.n_neighbors
        with np.errstate(over="ignore"):
            if self.metric != "cosine" and not np.isfinite(lengths(X) ** 2).all():
                raise ValueError(OUT_OF_RANGE)
        if n <= FEW:
            cols, self.recall_ = self._exact(X, np.arange(n)).cols.reshape(n, k), 1.0
        else:
            cols = self._aimed(X)
        distances = paired(X, np.repeat(np.arange(n), k), X, cols.ravel(), METRICS[self.metric])
        return sparse.csr_array((distances, cols.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))

    def _aimed(self, X: Array) -> np.ndarray:
        """The neighbours of every row.

        The search ends when the recall is reached on a sample of rows, or was missed three times.
        """
        n = min(SAMPLE, X.shape[0])
        some = np.sort(np.random.RandomState(0).choice(X.shape[0], n, replace=False))
        farthest = self._exact(X, some).distances.reshape(n, -1).max(axis=1)
        least, times, most = next(row for row in LOOKED_FOR if row[0] >= self.recall), 1, X.shape[0] - 1
        while True:
            asked = min(times * max(ceil(least[1] * self.n_neighbors), least[2]), most)
            cols = self._descended(X, asked)
            missed = np.flatnonzero(cols[:, -1] < 0)
            if missed.size:
                cols[missed] = self._exact(X, missed).cols.reshape(missed.size, -1)
            d = paired(X, np.repeat(some, self.n_neighbors), X, cols[some].ravel(), METRICS[self.metric])
            self.recall_ = float(np.mean(d.reshape(n, -1) <= farthest[:, None] * (1 + TIE)))
            if self.recall_ >= self.recall or times == 4 or asked == most:
                break
            times *= 2
        if self.recall_ < self.recall:
            warnings.warn(
                f'search="approximate" found {self.recall_:.3f} of the nearest neighbours, on a sample of rows, and '
                f"recall={self.recall} was asked for; use search=None, which is exact, or a lower recall",
                stacklevel=2,
            )
        return cols

    def _exact(self, X: Array, rows: np.ndarray) -> Edges:
        return Nearest(Search(self.n_neighbors, self.metric), X[rows], rows).update(X, 0).edges()

    def _descended(self, X: Array, asked: int) -> np.ndarray:
        """The k nearest of those that NN-descent finds; of equally distant rows the first.

        Where it finds fewer, the rest is -1.
        """
        # Angles are searched for as Euclidean distances of unit rows.
        metric = "manhattan" if METRICS[self.metric] == "manhattan" else "euclidean"
        with warnings.catch_warnings(), compiling(metric, sparse.issparse(X)):
            # Fewer neighbours than asked for may still be enough.
            warnings.filterwarnings("ignore", "Failed to correctly find n_neighbors", UserWarning)
            # Older Numba says so of the outermost function.
            warnings.filterwarnings("ignore", "Cannot cache compiled function")
            index = require("pynndescent", "approximate").NNDescent(
                prepared(X, self.metric),
                metric=metric,
                n_neighbors=asked + 1,  # a row is counted as its own neighbour
                random_state=0,
            )
        found, d = index.neighbor_graph
        found[found == np.arange(X.shape[0])[:, None]] = -1
        d[found < 0] = np.inf
        return np.take_along_axis(found, np.lexsort((found, d), axis=1)[:, : self.n_neighbors], axis=1)


def prepared(X: Array, metric: str) -> Array:
    """X in float32, moved and scaled first so that the distances keep their digits."""
    X = unit_rows(X) if metric == "cosine" else X
    if sparse.issparse(X):
        return sparse.csr_matrix(
            (X / (abs(X).max() or 1.0)).astype(np.float32)
        )  # older pynndescent knows no sparse arrays
    mean = weighted_mean(X)
    spread = max((X.max(axis=0) - mean).max(), (mean - X.min(axis=0)).max()) or 1.0
    moved = np.empty(X.shape, np.float32)
    for rows in row_blocks(*X.shape):
        moved[rows] = (X[rows] - mean) / spread
    return moved
