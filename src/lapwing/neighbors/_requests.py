"""What graphs ask of a neighbour search (``Search``), and what it gives them (``Edges``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.utils.random import sample_without_replacement

from .._validation import check_choice, check_count
from ..rows import Rows

AMONG = ("all", "same_class", "other_class")
TRANSFORMER = (  # the end of a message about a search that is none
    'must be None, "torch", or a neighbours transformer with a parameter n_neighbors, such as '
    "sklearn.neighbors.KNeighborsTransformer() or pynndescent.PyNNDescentTransformer()"
)


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
        """A key that is equal for equal searches."""
        search = self.search
        return (
            "neighbors",
            self.n_neighbors,
            self.metric if isinstance(self.metric, str) else id(self.metric),
            joblib.hash(self.metric_params),
            self.among,
            (type(search), joblib.hash(search.get_params())) if hasattr(search, "get_params") else search,
            self.queries,
            None if self.queries is None else self.random_state,  # the queries are drawn with it
        )

    def checked(self, n: int) -> Search:
        """The search with its parameters checked for n rows. ``queries`` becomes None where it asks for all rows."""
        check_choice("among", self.among, AMONG)
        if not (is_exact(self.search) or hasattr(self.search, "get_params")):
            raise ValueError(f"search={self.search!r} {TRANSFORMER}")
        if not isinstance(self.metric_params, dict | None):
            raise ValueError(
                f"metric_params={self.metric_params!r} must be a dict of the metric's own parameters, or None"
            )
        if self.queries is not None:
            check_count("queries", self.queries)
            if check_count("random_state", self.random_state, 0) >= 2**32:
                raise ValueError(f"random_state={self.random_state} must be a whole number below 2**32")
            if not is_exact(self.search):
                raise ValueError(
                    f"queries={self.queries} searches exactly and search={self.search!r} by another program; leave one out"
                )
        if is_named(self.search, "torch"):
            self._check_device()
        if check_count("n_neighbors", self.n_neighbors) >= n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be smaller than the number of samples, {n}, since a sample is not its own "
                f"neighbour; use n_neighbors={n - 1} or less"
            )
        queries = None if self.queries is None or self.queries >= n else self.queries
        return self._replace(n_neighbors=int(self.n_neighbors), queries=queries)

    def _check_device(self) -> None:
        if not is_named(self.metric, "euclidean", "l2", "cosine") or self.metric_params:
            raise ValueError(
                f'search="torch" does not go with metric={self.metric!r}, metric_params={self.metric_params!r}; it compares rows '
                'by "euclidean" distances or "cosine", without parameters. Leave search out'
            )

    def is_sampled(self, n: int) -> bool:
        """Whether neighbours are searched for fewer than all n rows."""
        return self.queries is not None and self.queries < n

    def queried(self, n: int) -> np.ndarray:
        """The numbers of the rows whose neighbours are searched for, in ascending order."""
        if self.queries is None or self.queries >= n:
            return np.arange(n)
        return np.sort(sample_without_replacement(n, self.queries, random_state=self.random_state)).astype(np.intp)

    def scale(self, data: Rows) -> float:
        """How many rows each row that is searched for stands for."""
        return 1.0 if self.queries is None else max(data.n_samples / self.queries, 1.0)


class Edges(NamedTuple):
    """Directed edges with their distances."""

    rows: np.ndarray
    cols: np.ndarray
    distances: np.ndarray

    def where(self, keep: np.ndarray) -> Edges:
        return Edges(self.rows[keep], self.cols[keep], self.distances[keep])

    def by_row(self) -> Edges:
        """The edges in ascending order of their rows; those of one row keep their order."""
        return self if (self.rows[1:] >= self.rows[:-1]).all() else self.where(np.argsort(self.rows, kind="stable"))

    @classmethod
    def joined(cls, found: Iterable[Edges]) -> Edges:
        none = np.empty(0, dtype=np.intp)
        return cls(*map(np.concatenate, zip(cls(none, none, np.empty(0)), *found, strict=True)))


Group = tuple[np.ndarray, np.ndarray | None]


def groups(among: str, n: int, of_queries: np.ndarray | None, of_rows: np.ndarray | None) -> Iterator[Group]:
    """Pairs of (places of the queries, the rows that may be their neighbours, None for all): one pair, or one per class."""
    if among == "all":
        yield np.arange(n), None
        return
    assert of_queries is not None
    assert of_rows is not None
    for label in np.unique(of_queries[of_queries >= 0]):
        own = of_rows == label if among == "same_class" else (of_rows >= 0) & (of_rows != label)
        yield np.flatnonzero(of_queries == label), np.flatnonzero(own)


def is_named(metric: Any, *names: str) -> bool:
    """Whether the metric is one of these names. A callable is none of them."""
    return isinstance(metric, str) and metric in names


def is_exact(search: Any) -> bool:
    """Whether ``search=`` finds the nearest rows by the rule of this library, whatever machine it runs on."""
    return search is None or is_named(search, "torch")


def require_features(metric: Any, what: str) -> None:
    if is_named(metric, "precomputed"):
        raise ValueError(f'{what} reads features, and with metric="precomputed" X holds distances; use another')


def require_square(metric: Any, X: Any) -> None:
    if is_named(metric, "precomputed") and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"metric={metric!r} needs X to be a square matrix of distances, and it has shape {X.shape}; use another metric"
        )


def require_samplable(search: Search, has_features: bool = True) -> None:
    if is_named(search.metric, "precomputed") or not has_features:
        raise ValueError(
            f"queries={search.queries} needs features, and X holds distances or a kernel; leave queries out"
        )
