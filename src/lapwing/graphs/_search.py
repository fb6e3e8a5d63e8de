"""The neighbour search: exact, and the same on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from ..metrics import chi2_neighbors
from ..operators import Array

TIE = 1e-9  # distances that differ by less than this share of themselves are equal
REQUERIED = 1 << 20  # the most neighbours of tied rows that are held at a time


class Edges(NamedTuple):
    """Directed edges with their distances."""

    rows: np.ndarray
    cols: np.ndarray
    distances: np.ndarray

    def where(self, keep: np.ndarray) -> Edges:
        return Edges(self.rows[keep], self.cols[keep], self.distances[keep])


class Space(NamedTuple):
    """What is searched: rows, their metric, and the rounding of the squared distances from each row."""

    X: Array
    metric: Any
    metric_params: dict | None
    rounding: np.ndarray | None

    def rounding_of(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(rows.size) if self.rounding is None else self.rounding[rows]

    def of(self, rows: np.ndarray, cols: np.ndarray | None = None) -> Array:
        """Rows of X; for precomputed distances, the columns too."""
        if is_precomputed(self.metric):
            return self.X[rows] if cols is None else self.X[rows][:, cols]
        return self.X[rows]

    def indexed(self, members: np.ndarray) -> NearestNeighbors:
        if isinstance(self.metric, str) and self.metric == "chi2":
            raise ValueError(
                f'metric="chi2" on {self.X.shape[0]} samples can search the nearest, not all within a radius; use KNN, or fewer '
                "than 5,000 samples"
            )
        X = self.X if members.size == self.X.shape[0] else self.of(members, members)
        try:
            return NearestNeighbors(metric=self.metric, metric_params=self.metric_params).fit(X)
        except TypeError as error:
            raise ValueError(f"metric={self.metric!r}, metric_params={self.metric_params!r}: {error}") from error


def is_precomputed(metric: Any) -> bool:
    return isinstance(metric, str) and metric == "precomputed"


def nearest(space: Space, queries: np.ndarray, members: np.ndarray, k: int) -> Edges:
    """The k nearest of ``members`` to each of ``queries``, itself left out; of equally distant ones the first.

    scikit-learn returns equally distant neighbours in an order that depends on the number of threads, so one more than k is
    asked for, and where the k-th and the next are equal as many more as it takes to see all of them.
    """
    itself = np.array_equal(queries, members)
    if isinstance(space.metric, str) and space.metric == "chi2":
        others = space.X[members]
        d, found = chi2_neighbors(others if itself else space.X[queries], others, k)
        return Edges(np.repeat(queries, k), members[found.ravel()], d.ravel())
    index = space.indexed(members)
    most = members.size - itself
    cols, distances = np.empty((queries.size, k), np.intp), np.empty((queries.size, k))
    open_, m = np.arange(queries.size), k + 1
    while open_.size:
        m = min(m, most)
        still = []
        step = queries.size if m <= k + 1 else max(1, REQUERIED // m)
        for start in range(0, open_.size, step):
            part = open_[start : start + step]
            found, d = _query(space, index, queries, members, part, m, itself)
            tied, cols[part], distances[part] = _settled(found, d, k, space.rounding_of(queries[part]))
            still.append(part[tied] if m < most else part[:0])
        open_, m = np.concatenate(still), 4 * m
    return Edges(np.repeat(queries, k), members[cols.ravel()], distances.ravel())


def _query(
    space: Space,
    index: NearestNeighbors,
    queries: np.ndarray,
    members: np.ndarray,
    part: np.ndarray,
    m: int,
    itself: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """M neighbours of the queries ``part``, as places in ``members``; a row is not its own."""
    with config_context(working_memory=128):  # of a sparse search, in MiB; the default of 1,024 is more than most X
        if itself and part.size == queries.size:
            d, found = index.kneighbors(n_neighbors=m)
            return found, d
        d, found = index.kneighbors(space.of(queries[part], members), n_neighbors=m + itself)
    if not itself:
        return found, d
    own = found == part[:, None]
    own[~own.any(axis=1), -1] = True  # so many equal rows that it did not find itself
    return found[~own].reshape(part.size, m), d[~own].reshape(part.size, m)


def _settled(
    found: np.ndarray, d: np.ndarray, k: int, rounding: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether more ties may lie beyond those found; the k nearest, of equally distant ones those of smallest index."""
    squared = d.astype(np.float64) ** 2
    boundary = squared[:, k - 1 : k]
    slack = TIE * boundary + rounding[:, None]
    tied = squared[:, -1:] <= boundary + slack
    nearest, distances = found[:, :k].copy(), d[:, :k].copy()
    if squared.shape[1] > k:
        rows = np.flatnonzero(squared[:, k] <= (boundary + slack)[:, 0])
        group = (squared >= boundary - slack)[rows].astype(np.int8) + (squared > boundary + slack)[rows]
        order = np.lexsort((found[rows], group), axis=1)[:, :k]
        nearest[rows] = np.take_along_axis(found[rows], order, axis=1)
        distances[rows] = np.take_along_axis(d[rows], order, axis=1)
    return tied[:, 0], nearest, distances


def among_all(space: Space, k: int, classes: Callable[[], np.ndarray]) -> Edges:
    every = np.arange(space.X.shape[0])
    return nearest(space, every, every, k)


def among_same_class(space: Space, k: int, classes: Callable[[], np.ndarray]) -> Edges:
    return _concatenated(
        [
            nearest(space, members, members, min(k, members.size - 1))
            for members in class_members(classes())
            if members.size > 1
        ]
    )


def among_other_class(space: Space, k: int, classes: Callable[[], np.ndarray]) -> Edges:
    labels, found = classes(), []
    for label, members in enumerate(class_members(labels)):
        others = np.flatnonzero((labels >= 0) & (labels != label))
        found.append(nearest(space, members, others, min(k, others.size)))
    return _concatenated(found)


AMONG = {"all": among_all, "same_class": among_same_class, "other_class": among_other_class}


def search_with(search: Any, X: Array, k: int) -> Edges:
    """Neighbours from a scikit-learn neighbours transformer, which may or may not count a row as its own."""
    try:
        search = clone(search).set_params(n_neighbors=k)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"search={search!r} must be a neighbours transformer with a parameter n_neighbors, such as "
            "sklearn.neighbors.KNeighborsTransformer()"
        ) from error
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
