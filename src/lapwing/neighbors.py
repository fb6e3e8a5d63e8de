"""Exact nearest neighbours. Of equally distant rows those of the lowest number count, on any machine and number of threads.

A Data proposes candidates, with a distance that all other rows exceed, in whatever way is fast: by an index, by tiles in
single precision, on a GPU. It also measures distances. What the neighbours are is decided here, once for all of them.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.random import sample_without_replacement

from ._validation import caller_stacklevel, check_choice, check_count

TIE = 1e-9  # distances count as equal where they differ by no more than this share
SPARE = 4  # candidates that are asked for beyond the k nearest
PARALLEL = 1e-13  # cosine distances up to here count as 0, since they may be rounding
DOUBTFUL_PAIRS = 1_000_000  # candidates of queries in doubt that are looked at at a time
COPIED_ROWS = 1000  # distinct rows whose copies are looked at at a time
FIRST_TIES = 2  # times k: so many of the lowest numbers are measured first, where rows are about as near as the k-th
NEARER = 1e-12  # a row is nearer than ties are where its distance is smaller by more than this share
COPIES_ROWS = 2000  # from this many rows on, equal rows are looked for, each of which is then searched for once
DISTINCT_SHARE = 0.5  # where more than this share of the rows is distinct, equal rows are searched for like all others
SMALL_CLASS = 32  # where classes have at most so many rows, neighbours of other classes are found by one search
Edges = tuple[np.ndarray, np.ndarray, np.ndarray]  # directed: from rows, to columns, distances


class NoPlaceError(ValueError):
    """Raised by a graph that has no rule for placing a new row among the fitted ones."""


class Request(NamedTuple):
    """The neighbours that a graph asks for: how many, in which metric, of which rows and among which."""

    n_neighbors: int
    metric: Any = "euclidean"
    metric_params: dict | None = None
    among: str = "all"
    search: Any = None
    queries: int | None = None
    random_state: int = 0

    def is_sampled(self, n: float) -> bool:
        """Whether neighbours are searched for fewer than all n rows."""
        return self.queries is not None and check_count("queries", self.queries) < n

    def rows_per_query(self, n: float) -> float:
        """How many of the n rows each row that is searched for stands for."""
        return max(1.0, n / self.queries) if self.queries is not None else 1.0

    def checked(self, n: int) -> Request:
        """The request, its parameters checked for n rows. ``queries`` becomes None where it asks for all rows."""
        check_choice("among", self.among, ("all", "same_class", "other_class"))
        by_transformer = hasattr(self.search, "n_neighbors")
        if not (by_transformer or self.search is None or is_named(self.search, "torch")):
            raise ValueError(
                f'search={self.search!r} must be None, "torch", or a neighbours transformer with a parameter n_neighbors, such '
                "as sklearn.neighbors.KNeighborsTransformer() or pynndescent.PyNNDescentTransformer()"
            )
        if not (isinstance(self.metric, str) or callable(self.metric)):
            raise ValueError(f"metric={self.metric!r} must be a name, or a function of two rows")
        if not isinstance(self.metric_params, dict | None):
            raise ValueError(f"metric_params={self.metric_params!r} must be a dict of parameters of the metric or None")
        if self.queries is not None and by_transformer:
            raise ValueError(f"queries={self.queries} does not go with search={self.search!r}; leave one out")
        if check_count("n_neighbors", self.n_neighbors) >= n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must be smaller than the number of samples, {n}, since a sample is not its own "
                f"neighbour; use n_neighbors={n - 1} or less"
            )
        queries, seed = None, 0
        if self.queries is not None and check_count("queries", self.queries) < n:
            queries, seed = self.queries, check_count("random_state", self.random_state, 0)
            if seed >= 2**32:
                raise ValueError(f"random_state={seed} must be a whole number below 2**32")
        return self._replace(n_neighbors=int(self.n_neighbors), queries=queries, random_state=seed)


def is_named(value: Any, *names: str) -> bool:
    """Whether a parameter is one of these words. A callable is none of them."""
    return isinstance(value, str) and value in names


def find(data: Any, request: Request) -> Edges:
    """Edges to the k nearest other rows of each row that is asked for: of all, of the same class, or of other classes."""
    if hasattr(request.search, "n_neighbors"):
        return _by_transformer(data, request)
    if request.queries is not None and (is_named(request.metric, "precomputed") or not data.has_features):
        raise ValueError(f"queries={request.queries} needs features, and X holds distances or a kernel; leave it out")
    everyone = np.arange(data.n)
    queries = everyone if request.queries is None else sample(data.n, request.queries, request.random_state)
    # Equal rows are looked for where many rows in memory are searched for among themselves, by distances that are 0 between them.
    copies = data.n >= COPIES_ROWS and request.queries is None and request.among != "other_class" and data.has_features
    copies = copies and not (data.is_on_device or request.metric_params)
    copies = copies and is_named(request.metric, "euclidean", "l2", "cosine")
    if request.among == "all":
        return (search_distinct if copies else search)(data, request, queries, everyone)
    classes, known, parts = data.classes, data.classes >= 0, []
    sizes = np.bincount(classes[known])
    fewest, largest = int(sizes.min()), int(sizes.max())
    if request.among == "same_class" and fewest <= request.n_neighbors:
        warnings.warn(
            f"n_neighbors={request.n_neighbors} is more than the {fewest - 1} other samples of the smallest class: with "
            'among="same_class", samples of such classes have all others of their class as neighbours',
            UserWarning,
            stacklevel=caller_stacklevel(),
        )
    if request.among == "other_class" and largest <= SMALL_CLASS and request.n_neighbors + largest <= known.sum():
        return _of_other_classes(data, request, queries[known[queries]], np.flatnonzero(known), largest)
    for c in range(classes.max() + 1):
        members = np.flatnonzero(classes == c if request.among == "same_class" else known & (classes != c))
        of_rows = search_distinct if copies and members.size >= COPIES_ROWS else search
        parts.append([data.host(part) for part in of_rows(data, request, queries[classes[queries] == c], members)])
    rows, cols, d = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], cols[order], d[order]


def _of_other_classes(data: Any, request: Request, queries: np.ndarray, known: np.ndarray, largest: int) -> Edges:
    """The k nearest rows of other classes: they are among the nearest rows of all, as many more as its own class can have."""
    k = request.n_neighbors
    _, cols, d = search(data, request._replace(n_neighbors=k + largest - 1), queries, known)
    cols, d = cols.reshape(queries.size, -1), d.reshape(queries.size, -1)
    classes = data.own(data.classes)
    d[classes[cols] == classes[data.own(queries)][:, None]] = np.inf
    cols, d = choose(cols, d, k)
    return np.repeat(queries, k), data.host(cols).ravel(), data.host(d).ravel()


def search(data: Any, request: Request, queries: np.ndarray, members: np.ndarray, m: int = 0) -> Edges:
    """Edges from each query to its k nearest members but itself, nearest first.

    Of ``m`` candidates, 0 for a few more than k, these are measured and chosen. Where they leave in doubt whether a row that was
    left out is as near, as copies and lattices do, more are asked for.
    """
    itself = bool(queries.size and np.isin(queries[:1], members).any())
    k, again = min(request.n_neighbors, members.size - itself), m > 0
    m = min(m or request.n_neighbors + 1 + SPARE, members.size)
    if k < 1 or not queries.size:
        return np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0)
    cosine = isinstance(request.metric, str) and request.metric == "cosine"
    if request.metric_params or not (cosine or request.metric in ("euclidean", "l2")):
        return _by_metric(data, request, queries, members, k)
    if cosine:
        require_nonzero_rows(data, 'metric="cosine"')
    rows, doubt = data.unit if cosine else data, queries[:0]
    if m == members.size:
        cols, beyond = data.own(np.tile(members, (queries.size, 1))), None
    else:
        cols, beyond = rows.candidates(queries, members, m, again)
    d = rows.distances(queries, cols)
    found, d = choose(cols, cosine_distances(d) if cosine else d, k)
    if beyond is not None:
        beyond = beyond**2 / 2 if cosine else beyond
        doubt = np.flatnonzero(data.host(beyond <= (d[:, -1] * (1 + 2 * TIE)).clip(PARALLEL if cosine else 0.0)))
    if doubt.size:  # what is not nearer than the k-th row may tie with it
        ties = doubt[data.host(beyond >= d[:, -1] * (1 - NEARER))[doubt]]
        near, apart, settled = _by_lowest(rows, queries[ties], members, data.host(cols[ties]), k, cosine)
        found[ties[settled]], d[ties[settled]] = data.own(near[settled]), data.own(apart[settled])
        doubt = np.setdiff1d(doubt, ties[settled])
    for some in np.array_split(doubt, 1 + doubt.size * m // DOUBTFUL_PAIRS) if doubt.size else ():
        _, near, apart = search(data, request, queries[some], members, 4 * m)
        found[some], d[some] = near.reshape(-1, k), apart.reshape(-1, k)
    return (found * 0 + data.own(queries)[:, None]).ravel(), found.ravel(), d.ravel()


def _by_lowest(
    data: Any, queries: np.ndarray, members: np.ndarray, cols: np.ndarray, k: int, cosine: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k nearest of candidates and of the lowest numbers, and whether these are the k nearest of all.

    No other row is nearer than the k-th candidate. Where very many tie with it, the lowest of all numbers are enough, if the ties
    that are chosen are among them.
    """
    lowest = np.sort(members)[: FIRST_TIES * k]
    cols = np.sort(np.hstack([cols, np.tile(lowest, (queries.size, 1))]), axis=1)
    again = np.pad(cols[:, 1:] == cols[:, :-1], ((0, 0), (1, 0)))
    cols = np.where(again, queries[:, None], cols)  # a row is infinitely far from itself
    d = data.distances(queries, cols)
    found, d = choose(cols, cosine_distances(d) if cosine else d, k)
    return found, d, ~((found > lowest[-1]) & (d >= d[:, -1:] * (1 - 3 * TIE))).any(axis=1)


def cosine_distances(lengths: Any) -> Any:
    """One minus the cosine, from the distances of unit rows: it is half their square."""
    halves = lengths**2 / 2
    halves[halves <= PARALLEL] = 0.0
    return halves


def search_distinct(data: Any, request: Request, queries: np.ndarray, members: np.ndarray) -> Edges:
    """:func:`search` of all members, in which of rows that are equal to one another the first alone takes part.

    The nearest of these stand for all rows that are equal to them, of which the lowest numbers count.
    """
    k, groups = min(request.n_neighbors, members.size - 1), equal_rows(data, members)
    counts = np.bincount(groups)
    if members.size < 2 or (counts.size > DISTINCT_SHARE * members.size and counts.max() <= k):
        return search(data, request, queries, members)
    ordered, starts = members[np.argsort(groups, kind="stable")], np.cumsum(counts) - counts
    first, group_of = ordered[starts], np.empty(data.n, np.intp)
    group_of[members] = groups
    _, near, d = search(data, request, first, first)
    near = np.column_stack([np.arange(first.size), group_of[near].reshape(first.size, -1)])
    d = np.column_stack([0 * first, d.reshape(first.size, -1)])
    copies, found = np.arange(min(k + 1, counts.max())), []
    for some in np.array_split(np.arange(first.size), 1 + first.size // COPIED_ROWS):
        is_there = copies < counts[near[some], None]
        cols = ordered[starts[near[some], None] + copies * is_there]
        apart = np.where(is_there, d[some, :, None], np.inf)
        found.append(choose(cols.reshape(some.size, -1), apart.reshape(some.size, -1), k + 1))
    cols, d = (np.concatenate(parts)[groups] for parts in zip(*found, strict=True))
    kept = cols != members[:, None]
    kept[kept.all(axis=1), -1] = False
    return np.repeat(members, k), cols[kept], d[kept]


def equal_rows(data: Any, rows: np.ndarray) -> np.ndarray:
    """For each of some rows the number of its group, in which all rows are equal.

    Equal rows have the same product with a random vector, and other rows hardly ever have.
    """
    X, random = data.X, np.random.RandomState(0).standard_normal(data.d)
    products = X @ random if sparse.issparse(X) else np.einsum("ij,j->i", X, random, dtype=np.float64)
    order = np.argsort(products[rows], kind="stable")
    starts = np.diff(products[rows[order]], prepend=np.nan) != 0
    again = np.flatnonzero(~starts)
    starts[again] = data.distances(rows[order[again]], rows[order[again - 1], None])[:, 0] > 0
    groups = np.empty(rows.size, np.intp)
    groups[order] = np.cumsum(starts) - 1
    return groups


def choose(cols: Any, d: Any, k: int) -> tuple[Any, Any]:
    """The k nearest; of rows that tie with the k-th, those of the lowest numbers."""
    if isinstance(d, np.ndarray):
        kth = np.partition(d, k - 1, axis=1)[:, k - 1 : k]
        rank = (d >= kth * (1 - TIE)).astype(np.int8) + (d > kth * (1 + TIE))
        order = np.lexsort((cols, rank), axis=1)[:, :k]
        cols, d = np.take_along_axis(cols, order, axis=1), np.take_along_axis(d, order, axis=1)
        order = np.lexsort((cols, d), axis=1)
        return np.take_along_axis(cols, order, axis=1), np.take_along_axis(d, order, axis=1)
    kth = d.sort(dim=1).values[:, k - 1 : k]  # of tensors
    cols, order = cols.sort(dim=1)  # every sort from here on keeps the order of numbers
    d = d.gather(1, order)
    rank = (d >= kth * (1 - TIE)).byte() + (d > kth * (1 + TIE)).byte()
    order = rank.argsort(dim=1, stable=True)[:, :k]
    cols, d = cols.gather(1, order), d.gather(1, order)
    d, order = d.sort(dim=1, stable=True)
    return cols.gather(1, order), d


def sample(n: int, queries: int | None, seed: int) -> np.ndarray:
    """A seeded sample of the rows, in ascending order; None is all of them."""
    if queries is None:
        return np.arange(n)
    return np.sort(sample_without_replacement(n, queries, random_state=seed)).astype(np.intp)


def bound(half_squares: Any, half_lengths: Any, d: int, eps: float, sign: int = -1) -> Any:
    """The least, or largest, distance that may lie behind half a squared distance that was found by products."""
    rounding = 2 * eps * (8 + np.sqrt(d)) * (6 * half_lengths + 4 * half_squares.clip(0))
    return (2 * (half_squares + sign * rounding).clip(0)) ** 0.5


def _by_metric(data: Any, request: Request, queries: np.ndarray, members: np.ndarray, k: int) -> Edges:
    """The k nearest in a metric of scikit-learn or of the user, whose distances are taken as they are."""
    require_square(request.metric, data.X)
    if is_named(request.metric, "precomputed") and sparse.issparse(data.X):
        return _of_stored(data.X[queries], queries, members, k, "X, a sparse matrix of distances,")
    m = min(k + 1 + SPARE, members.size)
    while True:
        d, cols = metric_distances(data, request, queries, members, m)
        cols = members[cols]
        d[cols == queries[:, None]] = np.inf
        found, near = choose(cols, d, k)
        if m == members.size or (d[:, -1] > near[:, -1] * (1 + 2 * TIE)).all():
            return np.repeat(queries, k), found.ravel(), near.ravel()
        m = min(4 * m, members.size)  # rows that were left out may be as near as the k-th


def metric_distances(
    data: Any, request: Request, queries: np.ndarray, members: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and places of the m nearest members, by scikit-learn."""
    metric, params = request.metric, dict(request.metric_params or {})
    if not data.has_features:
        raise ValueError(f'metric={metric!r} needs features, and X is a kernel; use "euclidean" or "cosine"')
    X = data.X.astype(np.float64) if data.X.dtype == np.float32 else data.X
    given, what = is_named(metric, "precomputed"), f"metric={metric!r}, metric_params={request.metric_params!r}"
    try:
        index = NearestNeighbors(metric=metric, p=params.pop("p", 2), metric_params=params or None)
        index.fit(X[members][:, members] if given else X[members])
        d, cols = index.kneighbors(X[queries][:, members] if given else X[queries], m)
        rows = (X.toarray() if sparse.issparse(X) else X) if callable(metric) else ()
        # scikit-learn's trees lose rows that are NaN apart.
        own = np.array([metric(row, row, **params) for row in rows])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} cannot be used on rows of shape {X.shape}: {error}") from error
    require_numbers(d, what)
    require_numbers(own, what)
    return d.astype(np.float64), cols


def require_nonzero_rows(data: Any, why: str) -> None:
    zero = np.flatnonzero(data.squares == 0)
    if zero.size:
        raise ValueError(
            f"{why} is undefined for zero vectors, and X has {zero.size} (the first is row {zero[0]}); remove those rows or "
            "use another metric and weights"
        )


def require_square(metric: Any, X: Any) -> None:
    if is_named(metric, "precomputed") and X.shape[0] != X.shape[1]:
        raise ValueError(f"metric={metric!r} needs X to be a square matrix of distances; it has shape {X.shape}")


def require_numbers(d: np.ndarray, what: str) -> None:
    """Raise where a distance is NaN: it is neither nearer nor farther than any other, so that neighbours would be arbitrary."""
    if np.isnan(d).any():
        raise ValueError(f'{what} gives NaN as a distance, as "correlation" does for constant rows; remove such rows')


def _of_stored(D: Any, queries: np.ndarray, members: np.ndarray, k: int, source: str) -> Edges:
    """The k nearest by a sparse matrix of distances, which has a row per query and may have a column of -1 for none."""
    rows, cols = np.repeat(np.arange(queries.size), np.diff(D.indptr)), D.indices
    kept = np.isin(cols, members) & (queries[rows] != cols)
    rows, counts = rows[kept], np.bincount(rows[kept], minlength=queries.size)
    if counts.min() < k:
        row = int(np.argmin(counts))
        raise ValueError(
            f"{source} gives {counts[row]} neighbours of row {queries[row]}, and n_neighbors={k} are asked for; ask "
            "for fewer, or let it give more"
        )
    rank = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
    table, length = np.full((counts.size, counts.max()), -1), np.full((counts.size, counts.max()), np.inf)
    table[rows, rank], length[rows, rank] = cols[kept], D.data[kept]
    cols, d = choose(table, length, k)
    return np.repeat(queries, k), cols.ravel(), d.ravel()


def _by_transformer(data: Any, request: Request) -> Edges:
    """Neighbours from a neighbours transformer of scikit-learn, which may give more than k, and a row as its own neighbour."""
    if not data.has_features:
        raise ValueError('search= needs features, and kernel="precomputed" gives none; leave it out')
    if request.among != "all":
        raise ValueError(f'search= finds neighbours among all rows; among="{request.among}" must go without it')
    k, everyone, transformer = request.n_neighbors, np.arange(data.n), clone(request.search)
    transformer.set_params(n_neighbors=min(max(transformer.n_neighbors, k), data.n - 1))
    if "mode" in transformer.get_params():
        transformer.set_params(mode="distance")
    # Some programs, such as older pynndescent, know sparse matrices and no sparse arrays.
    found = transformer.fit_transform(sparse.csr_matrix(data.X) if sparse.issparse(data.X) else data.X)
    found = found.tocsr() if sparse.issparse(found) else sparse.csr_array(found)
    require_numbers(found.data, f"search={request.search!r}")
    return _of_stored(found, everyone, everyone, k, f"search={transformer!r}")
