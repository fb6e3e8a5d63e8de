"""The data a graph is built on: rows, labels, and the neighbour search, each looked at once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..operators import Array, row_blocks, row_gram, weighted_mean

GRAM_LIMIT = 5000  # the most rows whose distances are kept whole


class Edges(NamedTuple):
    """Directed edges with their distances."""

    rows: np.ndarray
    cols: np.ndarray
    distances: np.ndarray

    def where(self, keep: np.ndarray) -> Edges:
        return Edges(self.rows[keep], self.cols[keep], self.distances[keep])


class Sample:
    """Validated X and y. Graphs that are combined share one Sample, so equal neighbour searches run once."""

    def __init__(self, X: Array, y: Any = None):
        self.X, self.y = X, y
        self.n: int = X.shape[0]
        self._searches: dict[Any, Edges] = {}

    @classmethod
    def validated(cls, X: Any, y: Any = None) -> Sample:
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        return cls(X, y)

    @cached_property
    def classes(self) -> np.ndarray:
        """Labels as 0 ... c - 1, and -1 where unknown."""
        return encode_labels(self.y, self.n)

    @cached_property
    def norms(self) -> np.ndarray:
        every = np.arange(self.n)
        return np.sqrt(self.dots(every, every))

    @cached_property
    def row_gram(self) -> np.ndarray:
        """The Gram matrix of the centred rows, for X of fewer rows than columns; search and projection share it."""
        return row_gram(self.X, weighted_mean(self.X))

    @cached_property
    def _distances(self) -> np.ndarray:
        """Euclidean distances of all rows, from their Gram matrix: exact zeros on the diagonal, none below."""
        squares = np.diagonal(self.row_gram)
        squared = np.maximum(squares[:, None] + squares - 2 * self.row_gram, 0)
        np.fill_diagonal(squared, 0)
        return np.sqrt(squared, out=squared)

    def _search_space(self, metric: Any, metric_params: dict | None) -> tuple[Array, Any]:
        """What to search and in which metric: for few long rows, their distances from the Gram matrix they need anyway."""
        euclidean = isinstance(metric, str) and metric == "euclidean" and not metric_params
        if euclidean and not sparse.issparse(self.X) and self.n < self.X.shape[1] and self.n <= GRAM_LIMIT:
            return self._distances, "precomputed"
        return self.X, metric

    def require_nonzero_rows(self, why: str) -> None:
        zero = np.flatnonzero(self.norms == 0)
        if zero.size:
            raise ValueError(
                f"{why} is undefined for zero vectors, and X has {zero.size} (the first is row {zero[0]}); "
                "remove those rows or use another metric and weights"
            )

    def require_features(self, metric: Any, what: str) -> None:
        if isinstance(metric, str) and metric == "precomputed":
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

    def neighbors(
        self, n_neighbors: int, *, metric: Any, metric_params: dict | None, among: str, search: Any = None
    ) -> Edges:
        """The ``n_neighbors`` nearest rows of each row, itself left out by index."""
        if n_neighbors >= self.n:
            raise ValueError(
                f"n_neighbors={n_neighbors} must be smaller than the number of samples, {self.n}, since a sample is "
                f"not its own neighbour; use n_neighbors={self.n - 1} or less"
            )
        if isinstance(metric, str) and metric == "cosine":
            self.require_nonzero_rows('metric="cosine"')
        key = (
            n_neighbors,
            metric if isinstance(metric, str) else id(metric),
            joblib.hash(metric_params),
            among,
            id(search),
        )
        if key not in self._searches:
            if search is not None:
                if among != "all":
                    raise ValueError(f'search= finds neighbours among all rows; among="{among}" must go without it')
                self._searches[key] = _search_with(search, self.X, n_neighbors)
            else:
                X, metric = self._search_space(metric, metric_params)
                index = NearestNeighbors(metric=metric, metric_params=metric_params)
                self._searches[key] = _AMONG[among](X, index, n_neighbors, self)
        return self._searches[key]


def subset(X: Array, rows: np.ndarray, cols: np.ndarray, metric: Any) -> Array:
    """Rows of X; for precomputed distances, the columns too."""
    return X[rows][:, cols] if isinstance(metric, str) and metric == "precomputed" else X[rows]


def _among_all(X: Array, index: NearestNeighbors, k: int, sample: Sample) -> Edges:
    with config_context(working_memory=128):  # of a sparse search, in MiB; the default of 1,024 is more than most X
        distances, cols = index.fit(X).kneighbors(n_neighbors=k)
    return Edges(np.repeat(np.arange(sample.n), k), cols.ravel(), distances.ravel())


def _among_same_class(X: Array, index: NearestNeighbors, k: int, sample: Sample) -> Edges:
    found = []
    for members in class_members(sample.classes):
        if members.size > 1:
            k_c = min(k, members.size - 1)
            distances, cols = index.fit(subset(X, members, members, index.metric)).kneighbors(n_neighbors=k_c)
            found.append(Edges(np.repeat(members, k_c), members[cols.ravel()], distances.ravel()))
    return _concatenated(found)


def _among_other_class(X: Array, index: NearestNeighbors, k: int, sample: Sample) -> Edges:
    found = []
    for label, members in enumerate(class_members(sample.classes)):
        others = np.flatnonzero((sample.classes >= 0) & (sample.classes != label))
        k_c = min(k, others.size)
        index.fit(subset(X, others, others, index.metric))
        distances, cols = index.kneighbors(subset(X, members, others, index.metric), n_neighbors=k_c)
        found.append(Edges(np.repeat(members, k_c), others[cols.ravel()], distances.ravel()))
    return _concatenated(found)


_AMONG = {"all": _among_all, "same_class": _among_same_class, "other_class": _among_other_class}


def _search_with(search: Any, X: Array, k: int) -> Edges:
    """Neighbours from a scikit-learn neighbours transformer, which may or may not count a row as its own."""
    search = clone(search).set_params(n_neighbors=k)
    if "mode" in search.get_params():
        search.set_params(mode="distance")
    found = sparse.coo_array(search.fit_transform(X))
    edges = Edges(found.row.astype(np.intp), found.col.astype(np.intp), found.data.astype(np.float64))
    edges = edges.where(edges.rows != edges.cols)
    order = np.lexsort((edges.cols, edges.distances, edges.rows))
    edges = edges.where(order)
    counts = np.bincount(edges.rows, minlength=X.shape[0])
    place = np.arange(edges.rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return edges.where(place < k)


def _concatenated(found: list[Edges]) -> Edges:
    if not found:
        empty = np.empty(0, dtype=np.intp)
        return Edges(empty, empty, np.empty(0))
    return Edges(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def class_members(classes: np.ndarray) -> list[np.ndarray]:
    """Row indices of each class."""
    return [np.flatnonzero(classes == label) for label in range(classes.max() + 1)]


def encode_labels(y: Any, n: int) -> np.ndarray:
    """Labels as integers 0 ... c - 1, with -1 for unknown; at least two classes."""
    if y is None:
        raise ValueError(
            "the graph requires y to be passed, but the target y is None; pass class labels (-1 marks an unknown one) "
            "or use a graph without labels, such as KNN"
        )
    if isinstance(y, (list, tuple)) and any(isinstance(label, str) for label in y):
        y = np.array(y, dtype=object)  # else ["a", -1] becomes ["a", "-1"]
    y = column_or_1d(y)
    if y.size != n:
        raise ValueError(f"y has {y.size} labels, but X has {n} samples; pass one label a sample")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity; mark unknown labels by -1")
    known = np.array([label != -1 for label in y]) if y.dtype == object else np.asarray(y != -1)
    if not known.any():
        raise ValueError(
            "y has no known label: every entry is -1 (unknown); label some samples of at least two classes"
        )
    check_classification_targets(y[known])
    names, codes = np.unique(y[known], return_inverse=True)
    if y.dtype.kind in "if" and names.size == 1 and names[0] == 1 and not known.all():
        raise ValueError(
            "y holds exactly the labels -1 and +1, but -1 means unknown here; relabel the classes as 0 and 1"
        )
    if names.size < 2:
        raise ValueError(
            f"y has one class only ({names[0]!r}), so there is nothing to tell apart; pass at least two classes or use "
            "a graph without labels, such as KNN"
        )
    classes = np.full(n, -1, dtype=np.intp)
    classes[known] = codes
    return classes
