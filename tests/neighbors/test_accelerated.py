"""scikit-learn may be replaced by a program that computes in float32 and does not say so; neighbours stay exact."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from lapwing.neighbors import Search, _index, find
from lapwing.rows import Rows


class Single(NearestNeighbors):
    """As cuml.accel has it: rows, and what is computed from them, are float32; results have the type that was asked for."""

    def fit(self, X, y=None):
        self.algorithm = "brute"
        self.rows_, self.dtype_ = np.asarray(X, dtype=np.float32), X.dtype
        return super().fit(self.rows_)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        Q = self.rows_ if X is None else np.asarray(X, dtype=np.float32)
        squares = (self.rows_**2).sum(axis=1) + (Q**2).sum(axis=1)[:, None] - 2 * Q @ self.rows_.T
        if X is None:
            np.fill_diagonal(squares, np.inf)
        near = np.argsort(squares, axis=1)[:, :n_neighbors]
        d = np.sqrt(np.maximum(np.take_along_axis(squares, near, axis=1), 0))
        return d.astype(self.dtype_), near


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_are_exact_anyway(d, metric, dtype, monkeypatch):
    rs = np.random.RandomState(0)
    X = (10 + 1e-3 * rs.randn(300, d)).astype(dtype)  # in float32, products drown the distances
    expected = find(Rows(X), Search(5, metric))
    monkeypatch.setattr(_index, "NearestNeighbors", Single)
    found = find(Rows(X), Search(5, metric))
    np.testing.assert_array_equal(found.cols, expected.cols)
    np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-9, atol=1e-13)
