"""Exact distances of pairs of rows, and the form in which scikit-learn is given rows to search."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.neighbors import sort_graph_by_row_values

from ..blocks import Progress
from ..operators import Array, row_blocks
from ..rows import Rows, kernel_distances, lengths, row_width, unit_rows
from ._choice import TIE
from ._index import Index
from ._requests import is_named

ROUNDING = 1e-13  # rounding of squared distances that are computed from products, as a share of the squared norms
PARALLEL = 1e-13  # cosine distances up to here count as 0, since they may be rounding
# Up to this many columns scikit-learn searches with a tree, which computes distances by differences.
TREE_DIMENSIONS = 15
WORD = 1e-11  # squared distances with a larger relative error than this are measured again
GRAM_LIMIT = 5000  # at most this many rows have the matrix of all their distances kept
AT_ONCE = 1024  # the first call gives scikit-learn this many queries
SHORT = 0.25  # where a call to scikit-learn takes fewer seconds than this, the next one is given twice as many queries
Found = TypeVar("Found")


def is_euclidean(metric: Any, metric_params: dict | None = None) -> bool:
    return is_named(metric, "euclidean", "l2") and not metric_params


def is_by_products(metric: Any, metric_params: dict | None, X: Array) -> bool:
    """Whether distances are found by products of rows: Euclidean distances where no tree is faster, and cosines."""
    few = X.shape[1] <= TREE_DIMENSIONS and not sparse.issparse(X)
    return (is_named(metric, "cosine") and not metric_params) or (is_euclidean(metric, metric_params) and not few)


def paired(A: Array, rows: np.ndarray, B: Array, cols: np.ndarray, metric: str) -> np.ndarray:
    """The distances of pairs of rows in float64, by differences, some pairs at a time."""
    found = np.empty(rows.size)
    for part in row_blocks(rows.size, 3 * row_width(A)):
        a, b = A[rows[part]], B[cols[part]]
        if metric == "euclidean" and not sparse.issparse(a):
            found[part] = lengths(np.subtract(a, b, dtype=np.float64))
        else:
            found[part] = PAIRED[metric](a.astype(np.float64, copy=False), b.astype(np.float64, copy=False))
    return found


def _angular(a: Array, b: Array) -> np.ndarray:
    """1 - cos, from the difference of unit rows. Subtracting the cosine from 1 would lose the digits of small angles."""
    return _parallel(lengths(unit_rows(a) - unit_rows(b)) ** 2 / 2)


def _parallel(d: np.ndarray) -> np.ndarray:
    return np.where(d <= PARALLEL, 0.0, d)


PAIRED: dict[str, Callable[[Array, Array], np.ndarray]] = {
    "euclidean": lambda a, b: lengths(a - b),
    "cosine": _angular,
    "unit": lambda a, b: _parallel(lengths(a - b) ** 2 / 2),  # the cosine distance of rows that have length 1 already
    "manhattan": lambda a, b: np.asarray(abs(a - b).sum(axis=1)).ravel(),
}


class Space(NamedTuple):
    """What is searched: rows, or a matrix of distances, and the metric.

    Parameters
    ----------
    X, metric, metric_params, algorithm
        As scikit-learn takes them.
    rounding : float or ndarray of shape (n_rows,)
        The rounding of the squared distances from each row, where they come from products.
    features : array of shape (n_rows, n_features), default=None
        The exact features, where X is a matrix of distances or is rounded; ``exact`` is the metric for them.
    """

    X: Array
    metric: Any
    metric_params: dict | None = None
    algorithm: str = "auto"
    rounding: Any = 0.0
    features: Array | None = None
    exact: str = "euclidean"

    def reach(self, d: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """How far to search, so that all rows are found that may be no farther than d from ``rows``, ties included."""
        rounding = np.broadcast_to(self.rounding, self.X.shape[0])[rows]
        return ((d * (1 + 2 * TIE)) ** 2 + rounding) ** 0.5

    @property
    def is_by_products(self) -> bool:
        """Whether the distances are Euclidean ones that come from products of rows."""
        return self.features is not None and self.exact == "euclidean"

    def is_rounded(self, rows: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Whether rounding may be seen in distances from ``rows``, which are given as their squares."""
        return np.broadcast_to(self.rounding, self.X.shape[0])[rows] > WORD * squares

    @property
    def is_measurable(self) -> bool:
        """Whether the distances can be computed again by differences."""
        return is_named(self.metric, "euclidean", "l2", "cosine") and not self.metric_params

    def measured(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """The distances of pairs by differences in float64, as the search sees them.

        For angles, they are between the ends of unit rows.
        """
        X = self.X if self.features is None else self.features
        d = paired(X, rows, X, cols, self.exact)
        return np.sqrt(2 * d) if self.exact == "cosine" else d

    def of(self, rows: np.ndarray, members: np.ndarray) -> Array:
        """Some rows in the form that an index of the members takes them."""
        return self.X[rows][:, members] if is_named(self.metric, "precomputed") else self.X[rows]

    def indexed(self, members: np.ndarray) -> Index:
        X = self.X if members.size == self.X.shape[0] else self.of(members, members)
        return Index(X, self.metric, self.metric_params, self.algorithm)


def in_parts(find: Callable[[slice], Found], n: int, most: int | None = None, shows: bool = True) -> list[Found]:
    """What a search of scikit-learn finds for n queries, some at a time and at ``most`` so many, with a progress bar.

    Parts begin at multiples of 256, the number of queries in scikit-learn's own blocks, so that distances do not depend on
    the parts.
    """
    found: list[Found] = []
    start, most = 0, most or n
    step = min(AT_ONCE, most)
    with progressing(n, shows) as progress:
        while start < n:
            stop, begun = min(start + step, n), perf_counter()
            found.append(find(slice(start, stop)))
            progress(stop)
            if perf_counter() - begun < SHORT:
                step = min(2 * step, most)
            start = stop
    return found


def progressing(n: int, shows: bool) -> Any:
    """A progress bar for a search of n rows, which is shown or not."""
    return Progress("searching", n) if shows else nullcontext(lambda done: None)


def space(data: Any, metric: Any, metric_params: dict | None = None) -> Space:
    """The rows of a sample, in the form in which they are searched in a metric."""
    if not (isinstance(metric, str) or callable(metric)):
        raise ValueError(f"metric={metric!r} must be the name of a metric, or a function of two rows")
    if not isinstance(metric_params, dict | None):
        raise ValueError(f"metric_params={metric_params!r} must be a dict of the metric's own parameters, or None")
    if data.in_blocks:
        return space(data.linked, metric, metric_params)
    if not data.has_features:
        return _kernel_space(data, metric, metric_params)
    if is_euclidean(metric, metric_params):
        return _euclidean_space(data)
    X = data.X
    if is_named(metric, "cosine"):
        data.require_nonzero_rows('metric="cosine"')
        rounding = max(4 * PARALLEL, 32 * float(np.finfo(X.dtype).eps))
        return Space(data.unit, metric, metric_params, rounding=rounding, features=X, exact="cosine")
    if is_named(metric, "precomputed") and sparse.issparse(X):
        return Space(sort_graph_by_row_values(X, copy=True, warn_when_not_sorted=False), metric)
    return Space(in_double(X), metric, metric_params)


def in_double(X: Array) -> Array:
    """Rows in float64, for a search whose distances are not measured again.

    The distances of scikit-learn have the type of the rows.
    """
    return X.astype(np.float64) if X.dtype == np.float32 else X


def _euclidean_space(data: Rows) -> Space:
    """Rows for a Euclidean search.

    Of few long rows, all distances come from the Gram matrix, which the projection needs anyway.
    """
    X, is_dense = data.X, not sparse.issparse(data.X)
    if is_dense and X.shape[1] <= TREE_DIMENSIONS:
        return Space(X, "euclidean", algorithm="kd_tree")
    if is_dense and data.n < X.shape[1] and data.n == data.n_fitted <= GRAM_LIMIT:
        distances = data.once(("distances", "gram"), lambda: kernel_distances(data.F.row_gram))
        return Space(distances, "precomputed", rounding=ROUNDING * np.diagonal(data.F.row_gram), features=X)
    rounding = max(ROUNDING, 32 * float(np.finfo(X.dtype).eps)) if X.dtype == np.float32 else ROUNDING
    # In float64, since scikit-learn's distances have the type of the rows, and squares of 1e-25 are 0 in float32.
    return Space(in_double(data.centred), "euclidean", rounding=rounding * data.squared_norms, features=X)


def _kernel_space(data: Rows, metric: Any, metric_params: dict | None) -> Space:
    """The distances between the rows whose kernel matrix X is."""
    if is_euclidean(metric, metric_params):
        return Space(data.once(("distances", "kernel"), lambda: kernel_distances(data.X)), "precomputed")
    if is_named(metric, "cosine"):
        data.require_nonzero_rows('metric="cosine"')
        return Space(_parallel(1 - data.X / np.outer(data.norms, data.norms)), "precomputed")
    raise ValueError(
        f'metric={metric!r} needs features, and kernel="precomputed" gives none; use "euclidean", the kernel\'s own '
        'distance, or "cosine"'
    )
