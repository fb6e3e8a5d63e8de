"""NN-descent: nearly all nearest neighbours, without comparing all pairs of rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._extras import require
from ..maps import weighted_mean
from ..operators import OUT_OF_RANGE, Array, row_blocks
from ..rows import lengths, unit_rows
from ._nearest import Nearest
from ._requests import Search
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
SPARE = 45  # neighbours beyond k that NN-descent looks for: it goes from neighbour to neighbour, and few lead nowhere
TREES = 64  # random ones, whose leaves it starts from; fewer save little


class NNDescent(BaseEstimator):
    """A neighbours transformer over pynndescent: more neighbours than are wanted, in float32, and of these the nearest.

    Distances are then measured in float64. Up to ``FEW`` rows, and for rows that NN-descent leaves without, the search is
    exact. What is found is the same every time, on the same number of threads.
    """

    def __init__(self, n_neighbors: int = 5, metric: str = "euclidean"):
        self.n_neighbors = n_neighbors
        self.metric = metric

    def fit_transform(self, X: Array, y: Any = None) -> sparse.csr_array:
        n, k = X.shape[0], self.n_neighbors
        with np.errstate(over="ignore"):
            if self.metric != "cosine" and not np.isfinite(lengths(X) ** 2).all():
                raise ValueError(OUT_OF_RANGE)
        cols = np.full((n, k), -1) if n <= FEW else self._descended(X)
        missed = np.flatnonzero(cols[:, -1] < 0)
        if missed.size:
            cols[missed] = self._exact(X, missed)
        distances = paired(X, np.repeat(np.arange(n), k), X, cols.ravel(), METRICS[self.metric])
        return sparse.csr_array((distances, cols.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))

    def _exact(self, X: Array, rows: np.ndarray) -> np.ndarray:
        found = Nearest(Search(self.n_neighbors, self.metric), X[rows], rows).update(X, 0).edges()
        return found.cols.reshape(rows.size, self.n_neighbors)

    def _descended(self, X: Array) -> np.ndarray:
        """The k nearest of those that NN-descent finds, of equally distant ones the first; -1 where it found fewer."""
        pynndescent = require("pynndescent", "approximate")
        asked = min(self.n_neighbors + SPARE, X.shape[0] - 1)
        with warnings.catch_warnings():  # fewer than asked for may still be enough
            warnings.filterwarnings("ignore", "Failed to correctly find n_neighbors", UserWarning)
            index = pynndescent.NNDescent(
                prepared(X, self.metric),
                metric="manhattan" if METRICS[self.metric] == "manhattan" else "euclidean",  # of unit rows, for angles
                n_neighbors=asked + 1,  # a row counts as its own
                n_trees=TREES,
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
        return (X / (abs(X).max() or 1.0)).astype(np.float32)
    mean = weighted_mean(X)
    spread = max((X.max(axis=0) - mean).max(), (mean - X.min(axis=0)).max()) or 1.0
    moved = np.empty(X.shape, np.float32)
    for rows in row_blocks(*X.shape):
        moved[rows] = (X[rows] - mean) / spread
    return moved
