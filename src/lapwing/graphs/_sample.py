"""The data a graph is built on: rows, labels, and the neighbour search, each looked at once."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import sort_graph_by_row_values
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from .._times import timed
from ..maps import as_map, weighted_mean
from ..metrics import check_histograms, chi2_distances
from ..operators import OUT_OF_RANGE, Array, row_blocks
from ._nearest import lengths
from ._search import AMONG, Edges, Search, Space, approximate, is_precomputed, sampled_edges, search_with

ROUNDING = 1e-13  # of squared distances that are found by products, as a share of the squared norms
FAR = 100.0  # how many times its spread X may be away from the origin before a search by products needs it centred
TREE_DIMENSIONS = 15  # up to here a tree is searched, by differences
GRAM_LIMIT = 5000  # the most rows whose distances are kept whole


KERNEL = object()  # the metric of a kernel matrix


class Sample:
    """Validated X and y. Graphs that are combined share one Sample, so equal neighbour searches run once."""

    in_blocks = False  # whether rows stand for more than themselves
    counts: np.ndarray | None = None  # how many, where they do
    sample_shape: tuple[int, ...] | None = None  # where a row is an image or a tensor

    def __init__(self, X: Array, y: Any = None, n_components: int | None = None, n_fitted: int | None = None):
        if sparse.issparse(X) and not X.has_canonical_format:  # products of rows read each entry once
            X = X.copy()
            X.sum_duplicates()
        self.X, self.y, self.n_components = X, y, n_components
        self.F = as_map(X)  # the same rows, as forms read them
        self.n: int = X.shape[0]
        self.n_samples = self.n  # that the rows stand for
        self.n_fitted = self.n if n_fitted is None else n_fitted  # rows behind these are new, and searched for only
        self._searches: dict[Any, Edges] = {}
        self._half, self._parts = 0, 1
        self._once: dict[Any, Any] = {}

    def once(self, key: Any, make: Any) -> Any:
        """What ``make`` gives, made once."""
        if key not in self._once:
            self._once[key] = make()
        return self._once[key]

    @classmethod
    def validated(cls, X: Any, y: Any = None) -> Sample:
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        return cls(X, y)

    @property
    def has_features(self) -> bool:
        """Whether X holds features, not a kernel."""
        return True

    @cached_property
    def classes(self) -> np.ndarray:
        """Labels as 0 ... c - 1, and -1 where unknown."""
        return encode_labels(self.y, self.n)

    @property
    def has_classes(self) -> bool:
        """Whether y holds class labels, two classes or more, and not numbers that a graph of the user's reads."""
        try:
            return self.classes is not None
        except ValueError:
            return False

    @cached_property
    def class_sizes(self) -> np.ndarray:
        return np.bincount(self.classes[self.classes >= 0]).astype(np.float64)

    def total(self, values: np.ndarray) -> float:
        """The sum over samples of what is given for rows."""
        return float(values.sum())

    @cached_property
    def norms(self) -> np.ndarray:
        return lengths(self.X)

    @cached_property
    def row_gram(self) -> np.ndarray:
        """The Gram matrix of the centred rows, for X of fewer rows than columns; search and projection share it."""
        return self.F.row_gram

    @cached_property
    def _distances(self) -> np.ndarray:
        """Euclidean distances of all rows, from their Gram matrix: exact zeros on the diagonal, none below."""
        squares = np.diagonal(self.row_gram)
        squared = np.maximum(squares[:, None] + squares - 2 * self.row_gram, 0)
        np.fill_diagonal(squared, 0)
        return np.sqrt(squared, out=squared)

    @cached_property
    def mean(self) -> np.ndarray:
        return self.F.plain_mean if self.n_fitted == self.n else weighted_mean(self.X[: self.n_fitted])

    @cached_property
    def centred(self) -> Array:
        """X, moved to its mean where it is so far from the origin that products of its rows drown their distances."""
        few = self.X[: self.n_fitted : max(1, self.n_fitted // 1000)]
        mean = weighted_mean(few)
        if few.shape[0] * (mean @ mean) <= (1 - FAR**-2) * np.sum(lengths(few) ** 2):
            return self.X
        if not sparse.issparse(self.X):
            return (self.X - self.mean).astype(self.X.dtype)
        full = np.isin(self.X.indices, self.F.full_columns)  # what is 0 somewhere stays sparse, and is not far from it
        moved = self.X.copy()
        moved.data[full] = (moved.data - self.mean[moved.indices])[full]
        return moved

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """Of the rows that are searched."""
        return self.norms**2 if self.centred is self.X else lengths(self.centred) ** 2

    def space(self, metric: Any, metric_params: dict | None) -> Space:
        """What to search and in which metric: for few long rows, their distances from the Gram matrix they need anyway."""
        all_pairs = self.n == self.n_fitted <= GRAM_LIMIT
        if is_euclidean(metric) and not metric_params:
            with np.errstate(over="ignore"):
                if not np.isfinite(self.norms).all():
                    raise ValueError(OUT_OF_RANGE)
            if not sparse.issparse(self.X) and self.X.shape[1] <= TREE_DIMENSIONS:
                return Space(self.X, "euclidean", algorithm="kd_tree")
            if not sparse.issparse(self.X) and self.n < self.X.shape[1] and all_pairs:
                return Space(self._distances, "precomputed", None, ROUNDING * np.diagonal(self.row_gram), self.X)
            return Space(self.centred, "euclidean", None, ROUNDING * self.squared_norms, self.X)
        if isinstance(metric, str) and metric == "cosine":
            return Space(self.X, metric, metric_params, np.full(self.n, ROUNDING**2))
        if isinstance(metric, str) and metric == "chi2":
            if sparse.issparse(self.X):
                raise ValueError('metric="chi2" is for dense histograms; pass X.toarray(), or use another metric')
            X = check_histograms(self.X)
            return Space(self._chi2, "precomputed") if all_pairs else Space(X, metric)
        if is_precomputed(metric) and sparse.issparse(self.X):
            return Space(sort_graph_by_row_values(self.X, copy=True, warn_when_not_sorted=False), metric)
        return Space(self.X, metric, metric_params)

    @cached_property
    def _chi2(self) -> np.ndarray:
        return chi2_distances(self.X)

    @cached_property
    def kernel_space(self) -> Space:
        """Where X is a kernel matrix: its distances."""
        self.require_kernel()
        K = self.X.astype(np.float64, copy=False)
        squares = np.diagonal(K)
        distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * K, 0))
        np.fill_diagonal(distances, 0)
        return Space(distances, "precomputed")

    def require_kernel(self) -> None:
        X = self.X
        if sparse.issparse(X) or X.shape[0] != X.shape[1] or np.abs(X - X.T).max() > 1e-8 * np.abs(X).max():
            raise ValueError(
                f'kernel="precomputed" needs X to be a symmetric kernel matrix; it has shape {X.shape}, or is not symmetric'
            )

    def squared_distances(self, rows: np.ndarray) -> np.ndarray:
        """Of some rows among themselves, Euclidean."""
        return euclidean_distances(self.centred[rows], squared=True).astype(np.float64)

    def require_nonzero_rows(self, why: str) -> None:
        zero = np.flatnonzero(self.norms == 0)
        if zero.size:
            raise ValueError(
                f"{why} is undefined for zero vectors, and X has {zero.size} (the first is row {zero[0]}); "
                "remove those rows or use another metric and weights"
            )

    def require_features(self, metric: Any, what: str) -> None:
        if is_precomputed(metric):
            raise ValueError(f'{what} reads features, and with metric="precomputed" X holds distances; use another')

    def dots(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """Inner products of pairs of rows of X, without an (edges, features) array."""
        products = np.empty(rows.size)
        width = max(1, self.X.nnz // self.n) if sparse.issparse(self.X) else self.X.shape[1]
        for block in row_blocks(rows.size, 2 * width):
            a, b = self.X[rows[block]], self.X[cols[block]]
            if sparse.issparse(a):
                products[block] = np.asarray(a.astype(np.float64).multiply(b).sum(axis=1)).ravel()
            else:
                products[block] = np.einsum("ij,ij->i", a, b, dtype=np.float64)
        return products

    def neighbors(self, search: Search) -> Edges:
        """The nearest rows of each row that is searched for, itself left out; of equally distant ones the first."""
        search = search.checked(self.n_samples)
        if search.key not in self._searches:
            with timed("search"):
                self._searches[search.key] = self._found(search)
        return self._of_half(self._searches[search.key], search)

    def _found(self, search: Search) -> Edges:
        k, among = search.n_neighbors, search.among
        if isinstance(search.metric, str) and search.metric == "cosine":
            self.require_nonzero_rows('metric="cosine"')
        if search.search is None:
            if search.is_sampled(self.n):
                return sampled_edges(self, search)
            by_kernel = search.metric is KERNEL
            space = self.kernel_space if by_kernel else self.space(search.metric, search.metric_params)
            return AMONG[among](space, k, lambda: self.classes)
        if not self.has_features:
            raise ValueError('search= needs features, and kernel="precomputed" gives none; leave it out')
        if among != "all":
            raise ValueError(f'search= finds neighbours among all rows; among="{among}" must go without it')
        return search_with(approximate(search) if isinstance(search.search, str) else search.search, self.X, k)

    def scale(self, search: Search) -> float:
        """How many rows each that was searched for stands for."""
        n = self.n_samples
        return n / search.queries * self._parts if search.queries is not None and search.is_sampled(n) else 1.0

    def halves(self) -> list[Sample]:
        """The same rows twice, the links of each sampled search dealt out between the two."""
        halves = [copy(self), copy(self)]
        for i, half in enumerate(halves):
            half._half, half._parts = i, 2
        return halves

    @property
    def is_half(self) -> bool:
        return self._parts > 1

    def _of_half(self, edges: Edges, search: Search) -> Edges:
        if not self.is_half or not search.is_sampled(self.n_samples):
            return edges
        searched, place = np.unique(edges.rows, return_inverse=True)
        half = np.random.RandomState(0).permutation(searched.size) % 2
        return edges.where(half[place] == self._half)


class KernelSample(Sample):
    """Rows that are known by their kernel matrix alone."""

    def __init__(self, K: np.ndarray, y: Any = None, n_components: int | None = None):
        super().__init__(K, y, n_components)
        self.require_kernel()

    @cached_property
    def norms(self) -> np.ndarray:
        return np.sqrt(np.maximum(np.diagonal(self.X), 0).astype(np.float64))

    @cached_property
    def squared_norms(self) -> np.ndarray:
        return self.norms**2

    def dots(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self.X[rows, cols].astype(np.float64)

    def space(self, metric: Any, metric_params: dict | None) -> Space:
        if is_euclidean(metric) and not metric_params:
            return self.kernel_space
        if isinstance(metric, str) and metric == "cosine":
            self.require_nonzero_rows('metric="cosine"')
            return Space(np.maximum(1 - self.X / np.outer(self.norms, self.norms), 0), "precomputed")
        raise ValueError(
            f'metric={metric!r} needs features, and kernel="precomputed" gives none; use "euclidean", the kernel\'s own '
            'distance, or "cosine"'
        )

    def squared_distances(self, rows: np.ndarray) -> np.ndarray:
        return self.kernel_space.X[np.ix_(rows, rows)] ** 2

    @property
    def has_features(self) -> bool:
        return False


def is_euclidean(metric: Any) -> bool:
    return isinstance(metric, str) and metric in ("euclidean", "l2")


def encode_labels(y: Any, n: int) -> np.ndarray:
    """Labels as integers 0 ... c - 1, with -1 for unknown; at least two classes."""
    if y is None:
        raise ValueError(
            "the graph requires y to be passed, but the target y is None; pass class labels (-1 marks an unknown one) "
            "or use a graph without labels, such as KNN"
        )
    y = _as_array(y)
    if y.size != n:
        raise ValueError(f"y has {y.size} labels, but X has {n} samples; pass one label a sample")
    known = y != -1
    if not known.any():
        raise ValueError(
            "y has no known label: every entry is -1 (unknown); label some samples of at least two classes"
        )
    try:
        names, codes = np.unique(y[known], return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in y[known]}))
        raise ValueError(f"y mixes labels of kinds that have no order ({kinds}); use one kind") from error
    if names.size == 1 and names[0] in (1, "1", "+1") and not known.all():
        raise ValueError(
            "y holds exactly the labels -1 and +1, but -1 means unknown here; relabel the classes as 0 and 1"
        )
    if names.size < 2:
        raise ValueError(
            f"y has one class only ({names[0]}), so there is nothing to tell apart; pass at least two classes or use "
            "a graph without labels, such as KNN"
        )
    classes = np.full(n, -1, dtype=np.intp)
    classes[known] = codes
    return classes


def _as_array(y: Any) -> np.ndarray:
    """Labels in one dimension; the word "-1", which NumPy and files make of -1 among words, is -1."""
    try:
        y = column_or_1d(y)
    except TypeError as error:  # pandas's NA
        raise ValueError(f"y is no list of class labels: {error}; mark unknown labels by -1") from error
    if y.dtype == object:
        missing = np.array([not _equals_itself(label) for label in y], dtype=bool)
    else:
        missing = ~np.isfinite(y) if y.dtype.kind == "f" else np.zeros(y.size, dtype=bool)
    if missing.any():
        raise ValueError("y contains NaN, infinity or missing values; mark unknown labels by -1")
    if y.dtype.kind == "f" and (y != np.round(y)).any():
        raise ValueError("y is continuous (unknown label type): it holds fractions; pass class labels")
    if y.dtype.kind in "OU":
        y = y.astype(object)
        y[y == "-1"] = -1
    return y


def _equals_itself(label: Any) -> bool:
    """Not so NaN, None and pandas's NA."""
    equal = label == label
    return label is not None and isinstance(equal, (bool, np.bool_)) and bool(equal)
