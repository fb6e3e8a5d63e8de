"""The search of scikit-learn, in any metric. Errors name the metric, and distances that are not numbers raise one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import VALID_METRICS, NearestNeighbors

from ..operators import Array
from ._requests import is_named

KNOWN = sorted({*VALID_METRICS["brute"], *VALID_METRICS["ball_tree"]} - {"pyfunc"})
# The metrics that scikit-learn defines for all rows of finite numbers. The others may give NaN: they are SciPy's or a user's,
# or have parameters that divide.
DEFINED = {*VALID_METRICS["ball_tree"], "cosine", "precomputed"} - {"mahalanobis", "seuclidean", "pyfunc"}
TOGETHER = 16  # the distances of this many rows from themselves are found in one call


class Index:
    """Rows that can be searched in a metric.

    Parameters
    ----------
    X, metric, metric_params, algorithm
        As scikit-learn takes them.
    """

    def __init__(self, X: Array, metric: Any, metric_params: dict | None = None, algorithm: str = "auto"):
        self.metric, self.metric_params, self.shape = metric, metric_params, X.shape
        if isinstance(metric, str) and metric not in KNOWN:
            raise ValueError(f"metric={metric!r} is not known; use a callable, or one of {', '.join(KNOWN)}")
        params = dict(metric_params or {})
        p = params.pop("p", 2)
        with self._named():
            self.search = NearestNeighbors(metric=metric, metric_params=params or None, p=p, algorithm=algorithm).fit(X)
            if not is_named(metric, *DEFINED):
                self._require_numbers(_from_themselves(X, self.search.effective_metric_, params))

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        with self._named():
            d, found = self.search.kneighbors(X, n_neighbors)
        self._require_numbers(d)
        return d, found

    def within(self, X: Any, radius: float) -> sparse.csr_array:
        """The distances up to a radius."""
        with self._named():
            found = self.search.radius_neighbors_graph(X, radius=radius, mode="distance")
        self._require_numbers(found.data)
        return found

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"metric={self.metric!r}, metric_params={self.metric_params!r} cannot be used on rows of shape {self.shape}: "
                f"{error}"
            ) from error

    def _require_numbers(self, d: np.ndarray) -> None:
        require_numbers(d, f"metric={self.metric!r}, metric_params={self.metric_params!r}")


def require_numbers(d: np.ndarray, what: str) -> None:
    """Raise where a distance is NaN: it is neither nearer nor farther than any other, so that neighbours would be arbitrary."""
    if np.isnan(d).any():
        raise ValueError(
            f'{what} gives NaN as a distance, as "correlation" does for constant rows; remove such rows, or use another metric'
        )


def _from_themselves(X: Array, metric: Any, params: dict) -> np.ndarray:
    """The distance of each row from itself, which is NaN where a metric is not defined for the row."""
    if callable(metric):
        rows = X.toarray() if sparse.issparse(X) else X
        return np.array([metric(row, row, **params) for row in rows], dtype=np.float64)
    parts = [X[start : start + TOGETHER] for start in range(0, X.shape[0], TOGETHER)]
    # Rows are copied since SciPy, given the same array twice, does not compute the distance of a row from itself: it returns
    # 0.
    found = [pairwise_distances(part, part.copy(), metric=metric, **params) for part in parts]
    return np.concatenate([np.diagonal(D) for D in found])
