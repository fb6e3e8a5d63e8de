"""The neighbour search: exact, and the same on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.random import sample_without_replacement

from .._validation import check_choice, check_count
from ..maps import weighted_mean
from ..metrics import chi2_neighbors
from ..operators import Array
from ._approximate import METRICS, NNDescent
from ._nearest import Nearest

TIE = 1e-9  # distances that differ by less than this share of themselves are equal
REQUERIED = 1 << 20  # the most neighbours of tied rows that are held at a time


class Search(NamedTuple):
    """The neighbours that a graph asks for: how many, in which metric, of which rows and among which."""

    n_neighbors: int
    metric: Any = "euclidean"
    metric_params: dict | None = None
    among: str = "all"
    search: Any = None
    queries: int | None = None
    random_state: int = 0

    @property
    def key(self) -> tuple:
        """Equal for equal searches."""
        search = self.search
        return (
            self.n_neighbors,
            self.metric if isinstance(self.metric, str) else id(self.metric),
            joblib.hash(self.metric_params),
            self.among,
            joblib.hash(search.get_params()) if hasattr(search, "get_params") else search,
            self.queries,
            self.random_state,
        )

    def checked(self, n: int) -> Search:
        """With its parameters checked, for n rows."""
        check_choice("among", self.among, tuple(AMONG))
        if self.queries is not None:
            check_count("queries", self.queries)
            check_count("random_state", self.random_state, 0)
            if self.search is not None:
                raise ValueError(
                    f"queries={self.queries} searches exactly and search={self.search!r} by another program; leave one out"
                )
        if check_count("n_neighbors", self.n_neighbors) >= n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be smaller than the number of samples, {n}, since a sample is not its own "
                f"neighbour; use n_neighbors={n - 1} or less"
            )
        return self._replace(n_neighbors=int(self.n_neighbors))

    def is_sampled(self, n: int) -> bool:
        """Whether fewer than all of n rows are searched for."""
        return self.queries is not None and self.queries < n

    def queried(self, n: int) -> np.ndarray:
        """The rows whose neighbours are searched, ascending."""
        if not self.is_sampled(n):
            return np.arange(n)
        assert self.queries is not None
        return np.sort(sample_without_replacement(n, self.queries, random_state=self.random_state)).astype(np.intp)


class Edges(NamedTuple):
    """Directed edges with their distances."""

    rows: np.ndarray
    cols: np.ndarray
    distances: np.ndarray

    def where(self, keep: np.ndarray) -> Edges:
        return Edges(self.rows[keep], self.cols[keep], self.distances[keep])


class Space(NamedTuple):
    """What is searched: rows and their metric; where distances come from products, features to check them by."""

    X: Array
    metric: Any
    metric_params: dict | None = None
    rounding: np.ndarray | None = None  # of the squared distances from each row
    features: Array | None = None  # Euclidean distances of these are exact
    algorithm: str = "auto"

    def rounding_of(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(rows.size) if self.rounding is None else self.rounding[rows]

    def squared(self, rows: np.ndarray, cols: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Squared distances of each row from its ``cols``: by differences of features, or those found."""
        squared = d.astype(np.float64) ** 2
        if self.features is not None:
            F = self.features
            for i in range(0, rows.size, max(1, REQUERIED // (cols.shape[1] * F.shape[1]))):
                part = slice(i, i + max(1, REQUERIED // (cols.shape[1] * F.shape[1])))
                a, b = F[np.repeat(rows[part], cols.shape[1])], F[cols[part].ravel()]
                apart = (a.astype(np.float64) - b.astype(np.float64)) ** (1 if sparse.issparse(F) else 2)
                sums = apart.power(2).sum(axis=1) if sparse.issparse(F) else apart.sum(axis=1)
                squared[part] = np.asarray(sums).reshape(-1, cols.shape[1])
        return squared

    def of(self, rows: np.ndarray, cols: np.ndarray | None = None) -> Array:
        """Rows of X; for precomputed distances, the columns too."""
        if is_precomputed(self.metric):
            return self.X[rows] if cols is None else self.X[rows][:, cols]
        return self.X[rows]

    def most(self, members: np.ndarray) -> int:
        """How many neighbours can be asked for: a sparse matrix of distances holds so many a row."""
        if is_precomputed(self.metric) and sparse.issparse(self.X):
            return int(np.diff(self.X.indptr).min())
        return members.size

    def indexed(self, members: np.ndarray) -> NearestNeighbors:
        if isinstance(self.metric, str) and self.metric == "chi2":
            raise ValueError(
                f'metric="chi2" on {self.X.shape[0]} samples can search the nearest, not all within a radius; use KNN, or at '
                "most 5,000 samples"
            )
        X = self.X if members.size == self.X.shape[0] else self.of(members, members)
        params = dict(self.metric_params or {})
        p = params.pop("p", 2)
        try:
            index = NearestNeighbors(metric=self.metric, metric_params=params or None, p=p, algorithm=self.algorithm)
            return index.fit(X)
        except TypeError as error:
            raise ValueError(f"metric={self.metric!r}, metric_params={self.metric_params!r}: {error}") from error


def is_precomputed(metric: Any) -> bool:
    return isinstance(metric, str) and metric == "precomputed"


def nearest(space: Space, queries: np.ndarray, members: np.ndarray, k: int) -> Edges:
    """The k nearest of ``members`` to each of ``queries``, itself left out; of equally distant ones the first.

    scikit-learn returns equally distant neighbours in an order that depends on the number of threads, so one more than k is
    asked for. Where the k-th and the next are equal, or too near for products of rows to tell, their distances are taken by
    differences, and more are asked for until all that are equal are seen.
    """
    itself = np.array_equal(queries, members)
    if isinstance(space.metric, str) and space.metric == "chi2":
        others = space.X[members]
        d, found = chi2_neighbors(others if itself else space.X[queries], others, k)
        return Edges(np.repeat(queries, k), members[found.ravel()], d.ravel())
    index = space.indexed(members)
    most = max(space.most(members) - itself, k)
    cols, distances = np.empty((queries.size, k), np.intp), np.empty((queries.size, k))
    open_, m = np.arange(queries.size), k + 1
    while open_.size:
        m = min(m, most)
        still = []
        step = queries.size if m <= k + 1 else max(1, REQUERIED // m)
        for start in range(0, open_.size, step):
            part = open_[start : start + step]
            found, d = _query(space, index, queries, members, part, m, itself)
            cols[part], distances[part] = found[:, :k], d[:, :k]
            squared, rounding = d.astype(np.float64) ** 2, space.rounding_of(queries[part])
            if m > k:
                rows = np.flatnonzero(squared[:, k] <= squared[:, k - 1] * (1 + TIE) + rounding)
                exact = space.squared(queries[part[rows]], members[found[rows]], d[rows])
                chosen, boundary = _first(found[rows], exact, k)
                cols[part[rows]] = np.take_along_axis(found[rows], chosen, axis=1)
                distances[part[rows]] = np.sqrt(np.take_along_axis(exact, chosen, axis=1))
                all_tied = exact.max(axis=1, initial=0) <= boundary
                in_doubt = squared[rows, -1] <= boundary + rounding[rows]
                still.append(part[rows[all_tied | (in_doubt & (m < 16 * (k + 1)))]])
        open_, m = np.concatenate(still) if still and m < most else open_[:0], 4 * m
    return Edges(np.repeat(queries, k), members[cols.ravel()], distances.ravel())


def _first(found: np.ndarray, squared: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the k nearest, of equally distant ones those of smallest index; and up to where distances are equal."""
    boundary = np.partition(squared, k - 1, axis=1)[:, k - 1 : k]
    group = (squared >= boundary * (1 - TIE)).astype(np.int8) + (squared > boundary * (1 + TIE))
    return np.lexsort((found, group), axis=1)[:, :k], boundary[:, 0] * (1 + TIE)


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


def sampled_edges(sample: Any, search: Search) -> Edges:
    """The nearest of all rows to a random few of them."""
    require_samplable(search, sample.has_features)
    X, queried = sample.X, search.queried(sample.n)
    near = started(search, X[queried], queried)
    classes = sample.classes if search.among != "all" else None
    return as_edges(update_among(near, search.among, X, 0, classes, None if classes is None else classes[queried]))


def require_samplable(search: Search, has_features: bool = True) -> None:
    if is_precomputed(search.metric) or not has_features:
        raise ValueError(
            f"queries={search.queries} needs features, and X holds distances or a kernel; leave queries out"
        )
    if isinstance(search.metric, str) and search.metric == "chi2" and search.queries is None:
        raise ValueError('metric="chi2" searches rows in memory, and X is read in blocks; use another metric')
    if isinstance(search.metric, str) and search.metric == "chi2":
        raise ValueError(
            f'queries={search.queries} does not go with metric="chi2"; leave it out, or use another metric'
        )


def started(search: Search, Q: Array, queried: np.ndarray, **options: Any) -> Nearest:
    """The search for the rows Q, before any row was compared with them."""
    centre = None if sparse.issparse(Q) else weighted_mean(Q)
    metric, params = search.metric, search.metric_params
    return Nearest(Q, queried, search.n_neighbors, metric=metric, metric_params=params, centre=centre, **options)


def update_among(
    near: Nearest, among: str, block: Array, start: int, classes: np.ndarray | None, of_queries: np.ndarray | None
) -> Nearest:
    """Take in rows, each for the queries that it may be a neighbour of."""
    if among == "all":
        return near.update(block, start)
    assert classes is not None
    assert of_queries is not None
    with near.threads():
        for label in np.unique(of_queries[of_queries >= 0]):
            own = classes == label if among == "same_class" else (classes >= 0) & (classes != label)
            near.update(block, start, np.flatnonzero(own), np.flatnonzero(of_queries == label))
    return near


def as_edges(near: Nearest) -> Edges:
    edges = Edges(np.repeat(near.own, near.k), near.indices.ravel(), near.distances.ravel())
    return edges.where(edges.cols >= 0)  # a class may have fewer rows


def approximate(search: Search) -> NNDescent:
    """The transformer of ``search="approximate"``."""
    if search.search != "approximate":
        raise ValueError(f'search={search.search!r} must be None, "approximate", or a neighbours transformer')
    known = isinstance(search.metric, str) and search.metric in METRICS
    if not known or search.metric_params:
        raise ValueError(
            f'search="approximate" does not go with metric={search.metric!r}, metric_params={search.metric_params!r}; it knows '
            f"{', '.join(METRICS)}, without parameters. Leave search out, or give it a transformer that brings its own metric, "
            "such as pynndescent.PyNNDescentTransformer(metric=...)"
        )
    return NNDescent(search.n_neighbors, search.metric)


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
