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

METRICS = {  # the metrics it takes, by their other names too
    "euclidean": "euclidean",
    "l2": "euclidean",
    "cosine": "cosine",
    "manhattan": "manhattan",
    "cityblock": "manhattan",
    "l1": "manhattan",
}
FEW = 16_384  # rows up to which comparing all pairs takes no longer, even where nothing need be compiled (measured)
SAMPLE = 256  # rows whose neighbours are searched for exactly, to measure the recall
# How many neighbours NN-descent looks for, as a multiple of k and at least: it goes from neighbour to neighbour, and few lead
# nowhere. With each, up to which recall that is tried first; what it reached is measured on every fit, and more is looked for
# where that was too little.
LOOKED_FOR = ((0.9, 1.1, 10), (0.96, 1.5, 15), (0.99, 2.5, 25), (1.0, 5.5, 50))


class NNDescent(BaseEstimator):
    """A neighbours transformer over pynndescent: more neighbours than are wanted, in float32, and of these the nearest.

    Distances are then measured in float64. Up to ``FEW`` rows, and for rows that NN-descent leaves without, the search is
    exact. What is found is the same every time, on the same number of threads.

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
        """Neighbours of every row, the aim met on a sample of rows, or missed three times."""
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
        """The k nearest of as many as NN-descent looks for, of equally distant ones the first; -1 where it found fewer."""
        metric = "manhattan" if METRICS[self.metric] == "manhattan" else "euclidean"  # of unit rows, for angles
        with warnings.catch_warnings(), compiling(metric, sparse.issparse(X)):
            # Fewer neighbours than asked for may still be enough.
            warnings.filterwarnings("ignore", "Failed to correctly find n_neighbors", UserWarning)
            warnings.filterwarnings("ignore", "Cannot cache compiled function")  # older Numba, of the outermost one
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
    """X in float32, moved and scaled so that its distances survive that."""
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
