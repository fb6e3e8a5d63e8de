"""The neighbour search. It is exact unless another program is asked for, and the same on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.validation import check_non_negative

from .._validation import check_positive
from ..operators import Array, row_blocks
from ..rows import Rows
from ._choice import choose
from ._copies import Copies
from ._device_rows import candidates_there, is_searched_there, require_there
from ._index import require_numbers
from ._nearest import Nearest
from ._requests import TRANSFORMER, Edges, Search, groups, is_named, require_samplable, require_square
from ._spaces import AT_ONCE, PARALLEL, WORD, Space, in_parts, paired, space
from ._tiled import by_tiles, tiled

METRICS = {  # The metrics that ``paired`` measures. One metric may have several names.
    "euclidean": "euclidean",
    "l2": "euclidean",
    "cosine": "cosine",
    "manhattan": "manhattan",
    "cityblock": "manhattan",
    "l1": "manhattan",
}
# In classes of up to this many rows all pairs are compared, since a search per class would take longer.
SMALL_CLASS = 64


class NoPlaceError(ValueError):
    """Raised by a graph that has no rule for placing a new row among the fitted ones."""


def find(data: Rows, search: Search) -> Edges:
    """The nearest rows of each row that is searched for, nearest first and without the row itself.

    Of equally distant rows the first are taken. Equal searches of the same rows run once.
    """
    search = search.checked(data.n_samples)
    return data.once(search.key, lambda: _found(data, search))


def find_fitted(both: Rows, search: Search) -> Edges:
    """The nearest fitted rows of each new row. Classes are not read, since new rows have none."""
    if search.n_neighbors > both.n_fitted:
        raise NoPlaceError(
            f"n_neighbors={search.n_neighbors} is more than the {both.n_fitted} fitted rows that new ones are placed among; use "
            "fewer neighbours"
        )
    search = search._replace(among="all", queries=None, search=None)
    new, fitted = np.arange(both.n_fitted, both.n), np.arange(both.n_fitted)
    if not is_by_features(both, search):
        return _given(both, search, new, fitted)
    found = Copies.among(both, fitted, None, search.n_neighbors)
    members = fitted if found is None else found[0].thinned
    edges, open_, near = _candidates(both, search, new, members, None)
    return _with_open(both, search, edges, open_, near, members, None)


def within(data: Rows, radius: float, metric: Any = "euclidean", metric_params: dict | None = None) -> Edges:
    """All pairs of rows up to a distance; where there are new rows, all pairs of a new row and a fitted one."""
    radius, fitted = check_positive("radius", radius), np.arange(data.n_fitted)
    require_square(metric, data.X)
    new = np.arange(data.n_fitted, data.n)
    if is_named(metric, "precomputed") and sparse.issparse(data.X) and not new.size:  # the distances that are stored
        check_non_negative(data.X, 'metric="precomputed", which takes distances')
        stored = sparse.coo_array(data.X)
        edges = Edges(stored.row.astype(np.intp), stored.col.astype(np.intp), stored.data)
        return edges.where((edges.distances <= radius) & (edges.rows != edges.cols))
    searched = space(data, metric, metric_params)
    index, queries = searched.indexed(fitted), new if new.size else fitted
    by_products = searched.is_by_products

    def found(part: slice) -> Edges:
        rows = queries[part]
        reach = searched.reach(np.full(rows.size, radius), rows).max() if by_products else radius
        near = sparse.coo_array(index.within(searched.of(rows, fitted), reach))
        edges = Edges(rows[near.row], near.col, near.data).where(rows[near.row] != near.col)
        return _measured(searched, edges, radius) if by_products else edges

    return Edges.joined(in_parts(found, queries.size))


def _measured(searched: Space, edges: Edges, radius: float) -> Edges:
    """The edges up to a radius. Those whose rounding might be seen, in their length or at the border, are measured again."""
    d = edges.distances.astype(np.float64)
    unsure = searched.is_rounded(edges.rows, np.minimum(d**2, np.abs(d**2 - radius**2) / WORD))
    d[unsure] = searched.measured(edges.rows[unsure], edges.cols[unsure])
    return edges._replace(distances=d).where(d <= radius)


def distances_among(data: Rows, rows: np.ndarray, metric: Any, metric_params: dict | None = None) -> np.ndarray:
    """The distance of each of some rows from each other one of them."""
    if is_named(metric, "precomputed") and sparse.issparse(data.X):
        return _all_entries(data.X[rows][:, rows])
    searched = space(data, metric, metric_params)
    d, found = searched.indexed(rows).kneighbors(n_neighbors=rows.size - 1)
    if searched.is_by_products:
        i, j = np.nonzero(searched.is_rounded(rows[:, None], d**2))
        d[i, j] = searched.measured(rows[i], rows[found[i, j]])
    return d


def _found(data: Rows, search: Search) -> Edges:
    if data.in_blocks:
        raise AssertionError(f"{search} was not announced")
    require_square(search.metric, data.F.X)  # F.X, since asking rows on a device for X makes a copy
    if is_named(search.metric, "cosine"):
        data.require_nonzero_rows('metric="cosine"')
    if is_named(search.search, "torch"):
        require_there(data)
    elif search.search is not None:
        return _by_transformer(data, search)
    if search.queries is not None:
        require_samplable(search, data.has_features)
    queries, members, classes = search.queried(data.n), np.arange(data.n), None
    if search.among != "all":
        classes = data.classes
        queries, members = queries[classes[queries] >= 0], np.flatnonzero(classes >= 0)
    if not is_by_features(data, search):
        return _in_groups(partial(_given, data, search), search.among, queries, members, classes)
    return _nearest(data, search, queries, members, classes)


def is_by_features(data: Rows, search: Search) -> bool:
    """Whether distances are computed from features, pair by pair: not read from a matrix."""
    if not data.has_features or is_named(search.metric, "precomputed"):
        return False
    if is_searched_there(data, search):
        return True
    return search.queries is not None or space(data, search.metric, search.metric_params).metric != "precomputed"


def _in_groups(
    find: Callable[[np.ndarray, np.ndarray], Edges],
    among: str,
    queries: np.ndarray,
    members: np.ndarray,
    classes: np.ndarray | None,
) -> Edges:
    """Call the search for each class, or once for all queries, and put what it finds in the order of the queries."""
    if classes is None:
        return find(queries, members)
    parts = groups(among, queries.size, classes[queries], classes[members])
    return Edges.joined(find(queries[some], members[which]) for some, which in parts).by_row()


def _given(data: Rows, search: Search, queries: np.ndarray, members: np.ndarray) -> Edges:
    """The k nearest members of each query, from a given matrix of distances, or from one that is computed first."""
    X, itself = data.X, bool(np.isin(queries, members).any())
    k = min(search.n_neighbors, members.size - int(itself))
    if k == 0:
        return Edges.joined([])
    if is_named(search.metric, "precomputed") and sparse.issparse(X):
        return _among_entries(X, queries, members, k)
    searched = space(data, search.metric, search.metric_params)
    return Edges.joined(
        _in_matrix(searched, queries[part], members, k) for part in row_blocks(queries.size, X.shape[0])
    )


def _nearest(
    data: Rows, search: Search, queries: np.ndarray, members: np.ndarray, classes: np.ndarray | None = None
) -> Edges:
    """The k nearest members of each query, from features. Equal rows are searched for once."""
    k, itself = search.n_neighbors, search.among != "other_class"
    found = Copies.among(data, members, classes, k)
    if found is None:
        edges, open_, near = _candidates(data, search, queries, members, classes)
        return _with_open(data, search, edges, open_, near, members, classes)
    copies, groups_ = found
    own = groups_[np.searchsorted(members, queries)]
    asked = np.sort(copies.first[np.unique(own)])
    edges, open_, near = _candidates(data, search, asked, np.sort(copies.first), classes, whole=True)
    edges = copies.neighbors(edges, np.setdiff1d(asked, open_), itself)
    edges = _with_open(data, search, edges, open_, near, copies.thinned, classes)
    return copies.spread(edges, queries, own, itself)


def _with_open(
    data: Rows,
    search: Search,
    edges: Edges,
    open_: np.ndarray,
    near: np.ndarray,
    members: np.ndarray,
    classes: np.ndarray | None,
) -> Edges:
    """Add the edges of the queries that stayed open, whose k nearest are among the rows within ``near``."""
    if not open_.size:
        return edges
    limit = near if np.isfinite(near).any() else None
    rest = Nearest(search._replace(queries=None), data.X[open_], open_, classes, within=limit, shows=True)
    again = rest.update(data.X if members.size == data.n else data.X[members], members).edges()
    return Edges.joined([edges, again]).by_row()


Proposed = tuple[Edges, np.ndarray, np.ndarray]


def _candidates(
    data: Rows,
    search: Search,
    queries: np.ndarray,
    members: np.ndarray,
    classes: np.ndarray | None,
    whole: bool = False,
) -> Proposed:
    """The edges of queries whose k nearest are settled; the open queries; and for each of these a distance with k rows within.

    With ``whole``, a query may have more edges than its k nearest rows.
    """
    if is_searched_there(data, search):
        return candidates_there(data, search, queries, members, classes, whole)
    if by_tiles(data, search, queries, members, classes):
        return tiled(data, search, queries, members, classes, whole)
    if search.queries is not None:
        return Edges.joined([]), queries, np.full(queries.size, np.inf)
    searched, k = space(data, search.metric, search.metric_params), search.n_neighbors
    if classes is None:
        return _proposed(searched, queries, members, k)
    named = METRICS.get(search.metric) if isinstance(search.metric, str) else None
    if search.among == "same_class" and named and not search.metric_params:
        sizes = np.bincount(classes[members])
        few = sizes[classes[queries]] <= SMALL_CLASS
        small = _inside(data, queries[few], members, classes, None if whole else k, named)
        queries = queries[~few]
    else:
        small = Edges.joined([])
    parts = groups(search.among, queries.size, classes[queries], classes[members])
    found = [_proposed(searched, queries[some], members[which], k) for some, which in parts]
    edges, open_, near = zip((small, queries[:0], np.empty(0)), *found, strict=True)
    return Edges.joined(edges).by_row(), np.concatenate(open_), np.concatenate(near)


def _inside(
    data: Rows, queries: np.ndarray, members: np.ndarray, classes: np.ndarray, k: int | None, metric: str
) -> Edges:
    """The k nearest rows of the same class, or all of a smaller class.

    Small classes are handled together: all pairs are compared.
    """
    order = members[np.argsort(classes[members], kind="stable")]
    sizes = np.bincount(classes[members])
    start, own = np.cumsum(sizes) - sizes, classes[queries]
    parts = []
    for part in row_blocks(queries.size, 4 * SMALL_CLASS):
        counts = sizes[own[part]]
        place = np.repeat(np.arange(counts.size), counts)
        rank = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts, counts)
        rows, cols = queries[part][place], order[start[own[part]][place] + rank]
        rows, cols = rows[rows != cols], cols[rows != cols]
        found = Edges(rows, cols, paired(data.X, rows, data.X, cols, metric))
        parts.append(found if k is None else found.where(choose(*found, k)))
    return Edges.joined(parts)


def _proposed(searched: Space, queries: np.ndarray, members: np.ndarray, k: int) -> Proposed:
    """The neighbours that scikit-learn proposes; it is asked for one more than k.

    scikit-learn returns equally distant rows in an order that depends on the number of threads, and its distances may come
    from products, which are rounded. So a query is settled only where the row after the k-th is clearly farther.
    """
    itself = np.array_equal(queries, members)
    inside = itself or bool(np.isin(queries, members).any())
    k = min(k, members.size - inside)
    if k <= 0:
        return Edges.joined([]), queries[:0], np.empty(0)
    if members.size - inside == k:
        return Edges.joined([]), queries, np.full(queries.size, np.inf)
    is_angle = searched.metric == "cosine"
    index = (searched._replace(metric="euclidean") if is_angle else searched).indexed(members)
    whole = itself and members.size <= (2 if searched.is_measurable else 1) * AT_ONCE

    def asked(part: slice) -> tuple[np.ndarray, np.ndarray]:
        rows = None if whole else searched.of(queries[part], members)
        # In MiB, for a sparse search. The default of 1,024 MiB is more than most X need.
        with config_context(working_memory=128):
            return index.kneighbors(rows, k + 1 + (inside and not whole))

    parts = [asked(slice(None))] if whole else in_parts(asked, queries.size)
    d, found = map(np.concatenate, zip(*parts, strict=True))
    d, found = d.astype(np.float64, copy=False), members[found]
    if inside and not whole:
        d[found == queries[:, None]] = np.inf
        order = np.argsort(d, axis=1, kind="stable")[:, : k + 1]
        d, found = np.take_along_axis(d, order, axis=1), np.take_along_axis(found, order, axis=1)
    near = searched.reach(d[:, k - 1], queries)
    clear = d[:, k] > near
    found, d, rows = found[clear, :k], d[clear, :k], np.repeat(queries[clear], k)
    if searched.is_measurable:
        lost = searched.is_rounded(rows, d.ravel() ** 2)
        lost |= searched.X.dtype == np.float32  # then scikit-learn's distances are in float32 too
        d[lost.reshape(d.shape)] = searched.measured(rows[lost], found.ravel()[lost])
    some = np.flatnonzero((d[:, 1:] <= d[:, :-1]).any(axis=1))
    order = np.lexsort((found[some], d[some]), axis=1)
    found[some], d[some] = (np.take_along_axis(a[some], order, axis=1) for a in (found, d))
    d, near = (np.where(e**2 <= 2 * PARALLEL, 0, e**2 / 2) if is_angle else e for e in (d, near))
    return Edges(rows, found.ravel(), d.ravel()), queries[~clear], near[~clear]


def _in_matrix(searched: Space, queries: np.ndarray, members: np.ndarray, k: int) -> Edges:
    """The neighbours from distances that are all known.

    Where rounding leaves more than k, distances are taken again from features.
    """
    D = searched.X[queries] if members.size == searched.X.shape[0] else searched.X[np.ix_(queries, members)]
    D[queries[:, None] == members] = np.inf
    near = searched.reach(np.partition(D, k - 1, axis=1)[:, k - 1].astype(np.float64), queries)
    rows, cols = np.nonzero(near[:, None] >= D)
    d = D[rows, cols].astype(np.float64)
    if searched.features is not None:
        open_ = (np.bincount(rows)[rows] > k) | searched.is_rounded(queries[rows], d**2)
        pairs = queries[rows[open_]], members[cols[open_]]
        d[open_] = paired(searched.features, pairs[0], searched.features, pairs[1], searched.exact)
    chosen = choose(rows, cols, d, k)
    return Edges(queries[rows[chosen]], members[cols[chosen]], d[chosen])


def _all_entries(X: sparse.csr_array) -> np.ndarray:
    """The entries of a sparse matrix of distances off its diagonal, which may be stored or not. All pairs must be there."""
    entries = sparse.coo_array(X)
    d, wanted = entries.data[entries.row != entries.col], X.shape[0] * (X.shape[0] - 1)
    if d.size < wanted:
        raise ValueError(
            f't="half-median" needs the distances of all pairs, and X, a sparse matrix of distances, lacks {wanted - d.size} of '
            f'{wanted}; use t="auto" or a number, or a dense matrix'
        )
    return d


def _among_entries(X: sparse.csr_array, queries: np.ndarray, members: np.ndarray, k: int) -> Edges:
    """The neighbours from a sparse matrix of distances that holds only those of near rows."""
    entries = sparse.coo_array(X[queries])
    rows, cols = entries.coords
    kept = np.isin(cols, members) & (queries[rows] != cols)
    rows, cols, d = rows[kept], cols[kept], entries.data[kept].astype(np.float64)
    counts = np.bincount(rows, minlength=queries.size)
    if counts.min() < k:
        row = int(np.argmin(counts))
        raise ValueError(
            f"n_neighbors={k} is more than X, a sparse matrix of distances, has for row {queries[row]}: {counts[row]}; use fewer "
            "neighbours, or a matrix of more distances"
        )
    chosen = choose(rows, cols, d, k)
    return Edges(queries[rows[chosen]], cols[chosen], d[chosen])


def _by_transformer(data: Rows, search: Search) -> Edges:
    if not data.has_features:
        raise ValueError('search= needs features, and kernel="precomputed" gives none; leave it out')
    if search.among != "all":
        raise ValueError(f'search= finds neighbours among all rows; among="{search.among}" must go without it')
    return _transformed(search.search, data.X, search.n_neighbors)


def _transformed(search: Any, X: Array, k: int) -> Edges:
    """Neighbours from a scikit-learn neighbours transformer.

    It may look for more neighbours than k, and may count a row as its own neighbour. A column of -1 stands for a neighbour that
    it did not find.
    """
    n = X.shape[0]
    try:
        search = clone(search)
        search.set_params(n_neighbors=min(max(search.get_params()["n_neighbors"], k), n - 1))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"search={search!r} {TRANSFORMER}") from error
    if "mode" in search.get_params():
        search.set_params(mode="distance")
    # Some programs, such as older pynndescent, know sparse matrices and no sparse arrays.
    found = search.fit_transform(sparse.csr_matrix(X) if sparse.issparse(X) else X)
    found = found.tocsr() if sparse.issparse(found) else sparse.csr_array(found)  # a coo_array has no columns of -1
    require_numbers(found.data, f"search={search!r}")
    rows = np.repeat(np.arange(n), np.diff(found.indptr))
    edges = Edges(rows, found.indices.astype(np.intp), found.data.astype(np.float64))
    edges = edges.where((edges.cols >= 0) & (edges.rows != edges.cols))
    counts = np.bincount(edges.rows, minlength=n)
    if counts.min() < k:
        row = int(np.argmin(counts))
        raise ValueError(
            f"search={search!r} found {counts[row]} neighbours of row {row}, and the graph asks for n_neighbors={k}; give the "
            "transformer more n_neighbors, or leave search out"
        )
    return edges.where(choose(*edges, k))
