"""Graphs of what is known of the rows beside their features: matrices, pairs, targets, times, places, other columns."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, spatial
from sklearn.base import clone
from sklearn.utils import check_array

from .._validation import check_choice, check_count, check_positive
from ..data import FLOATS, Data, as_data
from ..operators import Structured, diagonal
from ..problem import Term
from .base import Graph, OfOne, Signed
from .classes import indicators
from .neighbors import KNN

LISTED_LINKS = 100  # per row, up to which links are listed one by one; with more, rows of equal value share factors
Names = Any  # an array-like or None; lists of names are of many types
Columns = Any  # places, names, a transformer or an array, which are told apart by what they can do


class Empty(Graph):
    """Links no rows at all, for what is left of a method without a graph.

    Examples
    --------
    >>> from lapwing.graphs import Empty
    >>> Empty().build([[0.0], [1.0]])[0].laplacian.toarray()
    array([[0., 0.],
           [0., 0.]])
    """

    reads_features = False

    def terms(self, data: Data) -> list[Term]:
        return [Term(1.0, Structured(data.n), diagonal(np.zeros(data.n)))]


@dataclass(eq=False, repr=False)
class Precomputed(Graph):
    """Links rows by a matrix of weights that you give: hyperlinks, a social network, or the graph of another program.

    ``graph=W`` in an estimator is short for ``graph=Precomputed(W)``.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_samples, n_samples)
        The weights: symmetric, finite, not negative. Without ``ids`` W has one row per row of X, so that it fits one data set
        and no cross-validation fold of it.
    ids : array-like of shape (n_rows_of_W,), default=None
        The names of the rows of W. The rows of X then go by their names, in the index of a data frame or in a column
        (``On(0, Precomputed(W, ids=ids), beside=True)``), and each cross-validation fold takes its part of W.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from lapwing.graphs import Precomputed
    >>> W = np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> X = pd.DataFrame({"x": [0.1, 0.2]}, index=["c", "b"])  # a part of the rows, in another order
    >>> Precomputed(W, ids=["a", "b", "c"]).build(X)[0].laplacian.toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    W: ArrayLike
    _: KW_ONLY
    ids: Names = None

    reads_features = False
    indexes_rows = property(lambda self: self.ids is None)

    def adjacency(self, data: Data) -> sparse.csr_array:
        W = self._weights(data.n)
        if self.ids is None:
            return W
        places = {name: place for place, name in enumerate(self.ids)}
        if not len(places) == len(self.ids) == W.shape[0]:
            raise ValueError(f"ids must hold a name for each of the {W.shape[0]} rows of W, and no name twice")
        names = list(named_rows(data, "Precomputed(W, ids=...)"))
        if unknown := [name for name in names if name not in places]:
            found = f"{len(unknown)} of the {data.n} rows of X are not in ids, the first is {unknown[0]!r}"
            raise ValueError(f"{found}; add them to W and ids, without links if they have none")
        rows = np.array([places[name] for name in names], dtype=np.intp)
        return W[rows][:, rows]

    def _weights(self, n: int) -> sparse.csr_array:
        """W as it was given. It is for n samples, or for more of them where there are ids."""
        given = check_array(self.W, accept_sparse="csr", input_name="W")
        W = sparse.csr_array(given, dtype=np.float64)
        if W.shape != (n, n) and self.ids is None:
            raise ValueError(
                f"W has shape {W.shape}, but X has {n} samples: a precomputed graph needs one row and one column per sample, and "
                "so cannot be used where X is split (cross-validation); give ids=, the names of its rows, or use KNN there"
            )
        if W.shape[0] != W.shape[1]:
            raise ValueError(f"W has shape {W.shape}, and must be square: one row and one column per name")
        if W.nnz and W.data.min() < 0:
            share = f"{(W.data < 0).mean():.1%} of its entries"
            raise ValueError(f"W has negative weights ({share}); subtract them: Precomputed(W) - Precomputed(W_repel)")
        largest = abs(W - W.T).max() if W.nnz else 0.0
        if largest > (1e-5 if given.dtype == np.float32 else 1e-10) * (W.max() if W.nnz else 1.0):
            remedy = "pass (W + W.T) / 2 or W.maximum(W.T)"
            raise ValueError(f"W is not symmetric (largest difference {largest:.3g}); {remedy}")
        return W if largest == 0 else (W + W.T) / 2


def named_rows(data: Data, what: str) -> Any:
    """The names of the rows of X."""
    of_frame = getattr(data.given, "index", None) if hasattr(data.given, "iloc") else None
    index = of_frame if data.names is None else data.names
    if index is None or len(index) != data.n:
        raise ValueError(
            f"{what} knows rows by their names, and X has none: arrays and sparse matrices have no index; pass a pandas data "
            'frame, in pipelines by set_output(transform="pandas"), or take names from a column: On(column, ..., beside=True)'
        )
    return index


@dataclass(eq=False, repr=False)
class Pairs(Graph):
    """Links pairs of rows that you list: some must be close, others must be apart.

    Parameters
    ----------
    must_link : array-like of shape (n_pairs, 2), default=None
        The row indices of pairs that attract.
    cannot_link : array-like of shape (n_pairs, 2), default=None
        The row indices of pairs that repel.
    weights : array-like of shape (n_pairs,), default=None
        How much each pair counts, those of ``must_link`` first; None is 1 for every pair. The weights of a pair that is listed
        again are added up.
    by_id : bool, default=False
        Whether the pairs hold the names of rows, and not their places: the index of the data frame X, or a column,
        ``On("id", Pairs(..., by_id=True), beside=True)``. A cross-validation fold then takes the pairs of which it has both.

    Examples
    --------
    >>> import pandas as pd
    >>> from lapwing.graphs import Pairs
    >>> X = pd.DataFrame({"x": [0.1, 0.2, 0.5]}, index=["ann", "bob", "eve"])
    >>> Pairs([["eve", "ann"], ["bob", "tom"]], by_id=True).build(X)[0].laplacian.toarray()
    array([[ 1.,  0., -1.],
           [ 0.,  0.,  0.],
           [-1.,  0.,  1.]])
    """

    must_link: ArrayLike | None = None
    cannot_link: ArrayLike | None = None
    _: KW_ONLY
    weights: ArrayLike | None = None
    by_id: bool = False

    reads_features, counts_pairs = False, True
    indexes_rows = property(lambda self: not self.by_id)
    is_semidefinite = property(lambda self: self.cannot_link is None or np.size(self.cannot_link) == 0)

    def signed(self) -> Signed:
        """The pairs that must be linked attract, and those that must not repel. Each are a graph with ``must_link`` alone."""
        both: list[tuple[float, Any]] = [(1.0, self.must_link), (-1.0, self.cannot_link)]
        given = [(c, p) for c, p in both if p is not None and np.size(p)]
        if not given:
            raise ValueError("Pairs is empty: give must_link or cannot_link, arrays of shape (n_pairs, 2)")
        if self.is_semidefinite:
            return [(1.0, self)]
        ends = np.cumsum([len(pairs) for _, pairs in given])
        if self.weights is not None and np.shape(self.weights) != (ends[-1],):
            raise ValueError(
                f"weights of Pairs must be a number above 0 for each of {ends[-1]} pairs, not {self.weights!r}"
            )
        each = [None] * len(given) if self.weights is None else np.split(np.asarray(self.weights), ends[:-1])
        return [(c, Pairs(pairs, weights=w, by_id=self.by_id)) for (c, pairs), w in zip(given, each, strict=True)]

    def adjacency(self, data: Data) -> sparse.csr_array:
        listed: Any = self.must_link
        pairs, which = self._present(data) if self.by_id else (np.asarray(listed), slice(None))
        n = data.n
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            found = f"{pairs.dtype} of shape {pairs.shape}"
            raise ValueError(f"must_link and cannot_link must be integer arrays of shape (n_pairs, 2), not {found}")
        if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
            raise ValueError(
                f"Pairs holds row {pairs.max() if pairs.max() >= n else pairs.min()}, but X has the rows 0 to {n - 1}; pairs "
                "index rows of X, and so cannot be used where X is split (cross-validation), unless by_id=True"
            )
        if (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError(f"Pairs has row {pairs[pairs[:, 0] == pairs[:, 1]][0, 0]} with itself; drop that pair")
        pairs, again = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
        weights: np.ndarray = np.ones(len(pairs))
        if self.weights is not None:
            given = check_array(
                self.weights, ensure_2d=False, ensure_min_samples=0, dtype=np.float64, input_name="weights"
            )
            if given.shape != (len(listed),) or given.min() <= 0:
                raise ValueError(
                    f"weights of Pairs must be a number above 0 for each of {len(listed)} pairs, not {given}"
                )
            weights = np.bincount(again.ravel(), given[which], len(pairs))
        return data.symmetric_weights(pairs[:, 0], pairs[:, 1], weights)

    def _present(self, data: Data) -> tuple[np.ndarray, Any]:
        """The places of those pairs whose two rows are both present, and which pairs they are."""
        places: dict[Any, list[int]] = {}
        for place, name in enumerate(named_rows(data, "Pairs(by_id=True)")):
            places.setdefault(name, []).append(place)
        pairs: Any = self.must_link
        if any(len(pair) != 2 or pair[0] == pair[1] for pair in pairs):
            raise ValueError("must_link and cannot_link must hold pairs of different names of rows")
        found = [(i, j, p) for p, (a, b) in enumerate(pairs) for i in places.get(a, ()) for j in places.get(b, ())]
        *ends, which = np.array(found, dtype=np.intp).reshape(-1, 3).T
        return np.transpose(ends), which


class OfValues(Graph):
    """Graphs of values of which each row has one: :math:`W_{ij} = M_{u_i u_j}` for i other than j and values u."""

    def _values(self, data: Data) -> tuple[sparse.csr_array, np.ndarray]:
        """M, symmetric, with the weight between rows of equal value on its diagonal; and the value of each row, -1 for none."""
        raise NotImplementedError

    def terms(self, data: Data) -> list[Term]:
        M, values = self._values(data)
        W = listed_links(M, values)
        return [factored(M, values) if W is None else self.term(W)]

    def adjacency(self, data: Data) -> sparse.csr_array | None:
        return listed_links(*self._values(data))

    def weights_at(self, data: Data, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        M, values = self._values(data)
        u, v = values[rows], values[cols]
        linked = (u >= 0) & (v >= 0) & (rows != cols)
        return np.where(linked, np.asarray(M[np.maximum(u, 0), np.maximum(v, 0)]).ravel(), 0.0)


def listed_links(M: sparse.csr_array, values: np.ndarray) -> sparse.csr_array | None:
    """W as a matrix; None where it has too many entries."""
    counts = np.bincount(values[values >= 0], minlength=M.shape[0])
    if counts @ ((M != 0) @ counts) > LISTED_LINKS * values.size:
        return None
    Z = indicators(values, M.shape[0])
    W = sparse.csr_array(Z @ M @ Z.T)
    W = sparse.csr_array(W - sparse.diags_array(W.diagonal()))
    W.eliminate_zeros()
    return W


def factored(M: sparse.csr_array, values: np.ndarray) -> Term:
    """L and D. One factor joins the rows of the values u and v; what it adds within u and within v is subtracted again."""
    Z, equal = indicators(values, M.shape[0]), M.diagonal()
    upper = sparse.coo_array(sparse.triu(M, 1))
    ends, edge = np.concatenate([upper.row, upper.col]), np.tile(np.arange(upper.nnz), 2)
    both = sparse.csr_array((np.ones(ends.size), (ends, edge)), shape=(M.shape[0], upper.nnz))
    own = 2 * equal - np.asarray(M.sum(axis=1)).ravel()
    U, c = sparse.hstack([Z @ both, Z], format="csr"), np.concatenate([upper.data, own])
    degrees = Z @ (M @ np.asarray(Z.sum(axis=0)).ravel() - equal)
    return Term(1.0, Structured(values.size, factors=((U, -c),), diag=degrees + Z @ equal), diagonal(degrees))


def linked_values(points: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> sparse.csr_array:
    """M of links of weight 1 between values, and among rows of equal value."""
    M = Data(points).symmetric_weights(rows, cols, np.ones(rows.size))
    return sparse.csr_array(M + sparse.eye_array(len(points)))


@dataclass(eq=False, repr=False)
class Target(OfValues):
    r"""Links rows of similar targets: for regression, for grades that have an order, and for several labels per row.

    Rows are linked where their targets are equal, or where one target is among the k values of y nearest to the other, with
    weight

    .. math:: W_{ij} = \exp(-\|y_i - y_j\|^2 / t) .

    The target is one column of numbers, or a matrix of several numbers per row, which should be of one scale. A matrix of 0 and
    1 marks the labels of each row; its weights are the cosines of label sets, :math:`|A \cap B| / \sqrt{|A| |B|}`. A target of
    NaN, or a row without labels, is unknown, and takes no part; -1 is a number like others. Neighbours are counted among the
    distinct values, so that grades are linked to the next grades however many rows have each.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many of the nearest other values of y each value is linked to, k; all of them where there are fewer.
    weights : {"auto", "heat", "binary"}, default="auto"
        How much a link counts. ``"binary"`` is 1, and ``"heat"`` is the formula above. ``"auto"`` is ``"heat"``, and for label
        sets the cosine.
    t : As in :class:`KNN`

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN, Target
    >>> X, y = load_diabetes(return_X_y=True)
    >>> y[::2] = float("nan")  # half of them unknown: the features say who is near as well
    >>> LPP(2, graph=KNN(7) + Target(15)).fit_transform(X, y).shape
    (442, 2)
    """

    n_neighbors: int = 5
    _: KW_ONLY
    weights: str = "auto"
    t: float | str = "auto"

    reads_labels, reads_targets, reads_features = True, True, False

    def _values(self, data: Data) -> tuple[sparse.csr_array, np.ndarray]:
        Y, known, are_sets = target_matrix(data.y, data.n)
        distinct, own = np.unique(Y[known], axis=0, return_inverse=True)
        if (m := len(distinct)) < 2:
            found = "one target only" if m else "no known target"
            raise ValueError(f"y has {found}, and Target needs two different ones or more")
        how = check_choice("weights", self.weights, ("auto", "heat", "binary"))
        rows, metric = Data(distinct), "cosine" if are_sets else "euclidean"
        k = min(check_count("n_neighbors", self.n_neighbors), m - 1)
        near = KNN(k, weights=how if how != "auto" else "cosine" if are_sets else "heat", t=self.t, metric=metric)
        edges = near._edges(rows)
        M = rows.symmetric_weights(*edges[:2], near._weights(rows, edges))
        values = np.full(data.n, -1)
        values[known] = own.ravel()
        return sparse.csr_array(
            M + sparse.eye_array(m)
        ), values  # rows of equal value have the weight of the distance 0


def target_matrix(y: Any, n: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Targets as a matrix of numbers, which of its rows are known, and whether the rows are sets of labels."""
    if y is None:
        raise ValueError(
            "the graph Target requires y to be passed, but the target y is None; NaN marks unknown targets"
        )
    try:
        Y = np.asarray(y.toarray() if sparse.issparse(y) else y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        remedy = "encode grades in their order, as OrdinalEncoder does, or use SameClass"
        raise ValueError(f"Target reads y as numbers, and it holds something else ({error}); {remedy}") from error
    if Y.ndim not in (1, 2) or len(Y) != n:
        raise ValueError(f"y has shape {Y.shape}, but X has {n} samples; pass one target, or a row of them, per sample")
    if np.isinf(Y).any():
        raise ValueError("y contains infinity; mark unknown targets by NaN")
    Y = Y.reshape(n, -1)
    known = np.asarray(~np.isnan(Y).any(axis=1))
    are_sets = Y.shape[1] > 1 and bool(np.isin(Y[known], (0, 1)).all())
    if are_sets:
        known &= Y.any(axis=1)
    return Y, known, are_sets


@dataclass(eq=False, repr=False)
class Chain(Graph):
    r"""Links each row to the next ones in time: the graph of slow feature analysis, for coordinates that change little.

    .. math:: W_{ij} = 1 \text{ where } 0 < |p_i - p_j| \le \text{n\_steps, and i and j belong to one series},

    with :math:`p_i` the place of row i in the time order of its series.

    Parameters
    ----------
    n_steps : int, default=1
        How many of the following rows each row is linked to.
    time : column, default=None
        The column of X that orders the rows, by its place or, in a data frame, by its name. None is the order in which the rows
        stand, which a shuffled fold of a cross-validation does not keep.
    series : column, default=None
        The column of X whose values say which series a row belongs to. None is one series.

    Examples
    --------
    >>> from lapwing.graphs import Chain
    >>> Chain(time=0).build([[3.0], [1.0], [2.0]])[0].laplacian.toarray()
    array([[ 1.,  0., -1.],
           [ 0.,  1., -1.],
           [-1., -1.,  2.]])
    """

    n_steps: int = 1
    _: KW_ONLY
    time: Hashable | None = None
    series: Hashable | None = None

    indexes_rows = property(lambda self: self.time is None)
    reads_features = property(lambda self: self.time is not None or self.series is not None)

    def adjacency(self, data: Data) -> sparse.csr_array:
        n_steps = check_count("n_steps", self.n_steps)
        time = np.arange(data.n) if self.time is None else one_column(data, "time", self.time)
        series = np.zeros(data.n) if self.series is None else one_column(data, "series", self.series)
        order = np.lexsort((np.arange(data.n), time, series))
        pairs = [np.stack([order[:-step], order[step:]]) for step in range(1, min(n_steps, data.n - 1) + 1)]
        rows, cols = np.concatenate(pairs, axis=1)
        same = series[rows] == series[cols]
        return data.symmetric_weights(rows[same], cols[same], np.ones(int(same.sum())))


def distinct_places(X: Any, most: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The distinct places, and for each row which of them it has."""
    if not 2 <= X.shape[1] <= most:
        found = f"{name} takes places of 2 to {most} coordinates, and the rows have {X.shape[1]}"
        raise ValueError(f"{found}; choose them by On([...], {name}(), beside=True)")
    points, place = np.unique(X.toarray() if sparse.issparse(X) else X, axis=0, return_inverse=True)
    return points.astype(np.float64), place.ravel()


@dataclass(eq=False, repr=False)
class Delaunay(OfValues):
    r"""Links neighbours in space, the edges of the Delaunay triangulation of the rows, in two or three dimensions.

    Two places are linked, with weight 1, where some circle (in space, some sphere) through both has no other place inside, and so
    are rows at one place. Where coordinates stand beside the features, write ``LPP(graph=On(["x", "y"], Delaunay(),
    beside=True))``. Places on a regular grid have many such triangulations: use :class:`Grid` there.

    Parameters
    ----------
    longest : float, default=None
        The length up to which edges are kept, since the triangulation spans holes by long edges. None keeps all.

    Examples
    --------
    >>> from lapwing.graphs import Delaunay
    >>> Delaunay().build([[0.0, 0], [2, 0], [1, 0.5], [1, -3]])[0].degrees.diagonal()
    array([3., 3., 2., 2.])
    """

    _: KW_ONLY
    longest: float | None = None

    def _values(self, data: Data) -> tuple[sparse.csr_array, np.ndarray]:
        points, values = distinct_places(data.X, 3, "Delaunay")
        try:
            triangles = spatial.Delaunay(points)
        except spatial.QhullError as error:
            why = "they are too few, or all on one line or plane; use KNN or Chain"
            raise ValueError(f"the {len(points)} different places have no triangulation: {why}") from error
        (starts, ends), near = triangles.vertex_neighbor_vertices, triangles.coplanar
        # Places that rounding leaves out of the triangulation have an edge to the nearest in it.
        rows = np.concatenate([np.repeat(np.arange(len(points)), np.diff(starts)), near[:, 0]])
        cols = np.concatenate([ends, near[:, 2]])
        if self.longest is not None:
            kept = np.linalg.norm(points[rows] - points[cols], axis=1) <= check_positive("longest", self.longest)
            rows, cols = rows[kept], cols[kept]
        return linked_values(points, rows, cols), values


@dataclass(eq=False, repr=False)
class Grid(OfValues):
    r"""Links neighbours on a grid, rows whose places are one step apart, with weight 1.

    It is for pixels, wells and sensors, whose places stand beside the features:
    ``LPP(graph=On(["row", "column"], Grid(), beside=True))``.

    Parameters
    ----------
    step : float, default=1.0
        The distance of neighbouring places along each axis.
    corners : bool, default=False
        Whether places that differ by a step along several axes are neighbours, too: 8 in the plane and not 4.

    Examples
    --------
    >>> from lapwing.graphs import Grid
    >>> Grid().build([[0.0, 0], [0, 1], [1, 1], [3, 1]])[0].degrees.diagonal()
    array([1., 2., 1., 0.])
    """

    step: float = 1.0
    _: KW_ONLY
    corners: bool = False

    def _values(self, data: Data) -> tuple[sparse.csr_array, np.ndarray]:
        points, values = distinct_places(data.X, 6, "Grid")
        steps = (points - points.min(axis=0)) / check_positive("step", self.step)
        cells = np.rint(steps)
        if np.abs(steps - cells).max() > 0.01:
            raise ValueError(f"step={self.step!r} is not that of the places; give their distance, or use Delaunay")
        # Points that are one step apart are near each other, in steps, by the largest or by the sum of their differences.
        pairs = spatial.KDTree(cells).query_pairs(1.5, p=np.inf if self.corners else 1, output_type="ndarray")
        return linked_values(points, *pairs.T), values


@dataclass(eq=False, repr=False)
class On(OfOne):
    r"""Builds a graph on some columns of X, or on what a transformer makes of X, while the map is still one of X.

    .. math:: W_{ij} = W(\phi(x_i), \phi(x_j)),

    with W the weights of the graph and :math:`\phi` the choice of columns, or the transformer. For example,
    ``LPP(graph=On(PCA(0.98), KNN(5)), pca=0.98)`` is Laplacianfaces as X. He's thesis has them. Rows are taken as they were
    passed to ``fit``: dividing columns (``standardize=``) changes nothing.

    Parameters
    ----------
    what : columns, transformer, or array of shape (n_samples, n_values)
        What the graph looks at: one column or a list of them, by place, or by name in a data frame.

        A transformer of scikit-learn that needs no y is fitted to X, and kept as ``graph_.what``. An array has values of its own
        for each row; it fits one data set, unless both it and X are data frames, whose rows then go by their names.
    graph : Graph
        The graph that is built on these columns. With ``metric="precomputed"`` they hold the distances of the rows.
    beside : bool, default=False
        Whether the columns are for the graph alone, as coordinates in space, times and the names of rows are. The map is then
        one of the other columns, and ``components_`` are 0 at these.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.decomposition import PCA
    >>> from lapwing import LPP
    >>> from lapwing.graphs import KNN, On
    >>> model = LPP(10, graph=On(PCA(0.9), KNN(7))).fit(load_digits().data)
    >>> int(model.graph_.what.n_components_)
    21
    """

    what: Columns
    graph: Graph
    _: KW_ONLY
    beside: bool = False

    reads_features, _unnamed = True, 2
    _transforms = property(lambda self: hasattr(self.what, "fit") and hasattr(self.what, "transform"))
    _is_given = property(lambda self: hasattr(self.what, "shape") and len(self.what.shape) == 2)
    indexes_rows = property(
        lambda self: self.graph.indexes_rows or (self._is_given and not hasattr(self.what, "reindex"))
    )

    @property
    def beside_columns(self) -> list[int]:
        """As in :class:`Graph`. The columns must be given by their places, as those of :meth:`fitted` are."""
        inner = super().beside_columns
        if (self._transforms or self._is_given) and (self.beside or inner):
            kind = "an array of its own" if self._is_given else f"{self.what!r}, which is a transformer of all of them"
            raise ValueError(f"beside=True is for columns of X, and the graph looks at {kind}; leave it out")
        if self._is_given:
            return []
        return self.what if self.beside else [self.what[place] for place in inner]

    def fitted(self, data: Data) -> Graph:
        """The same graph with the fitted transformer, or with the places of its columns."""
        what = self.what
        if not (self._is_given or data.has_features):
            raise ValueError('On reads features, and with kernel="precomputed" X has none; use the graph alone')
        if not self._is_given:
            what = _fitted(what, data) if self._transforms else column_places(data, "what", what).tolist()
        return On(what, self._operands()[0].fitted(On(what, self.graph).view(data)), beside=self.beside)

    def view(self, data: Data) -> Data:
        """The rows that the graph is built on. All graphs on the same columns share one object."""
        key = id(self.what)
        if key not in data.views:  # with what it is made by, so that Python gives its id to no other object
            by_columns = not (self._transforms or self._is_given)
            data.views[key] = self.what, self._chosen(data) if by_columns else self._made(data)
        return data.views[key][1]

    def _made(self, data: Data) -> Data:
        """The rows that a transformer makes, or that are given beside X."""
        made, frame = self.what if self._is_given else self.what.transform(_as_fitted(self.what, data)), _frame(data)
        if self._is_given and hasattr(made, "reindex") and frame is not None:
            made = made.reindex(frame.index)  # NaN for rows that it does not know
        name = "what of On" if self._is_given else f"{self.what!r}"
        X = check_array(made, accept_sparse="csr", dtype=FLOATS, input_name=name)
        if X.shape[0] != data.n:
            has = "has" if self._is_given else "made"
            raise ValueError(f"{name} {has} {X.shape[0]} rows of {data.n}; On needs one per row of X")
        view = as_data(X, data.y)
        view.names, view.given = data.names, made if self._is_given else None
        return view

    def _chosen(self, data: Data) -> Data:
        chosen, frame = column_places(data, "what", self.what), _frame(data)
        view = as_data(columns_as_given(data, chosen), data.y)
        view.given = None if frame is None else frame.iloc[:, chosen]
        view.names = data.names if chosen.size > 1 else one_column(data, "what", chosen)
        return view

    def why_all_rows(self) -> str | None:
        return "On builds its graph on other rows than those of X, and X is read in blocks; pass X as an array"


def _fitted(transformer: Any, data: Data) -> Any:
    """A copy of the transformer, fitted to the rows as they were passed: a ColumnTransformer may ask for the names of columns."""
    try:
        return clone(transformer).fit(_as_passed(data))
    except (ArithmeticError, RuntimeError, TypeError) as error:  # as ARPACK's, where X is constant
        raise ValueError(f"what={transformer!r} cannot be fitted to X without y: {error}") from error


def _as_fitted(transformer: Any, data: Data) -> Any:
    """The rows in the form that the transformer was fitted to: with names where it knows some."""
    names, X = getattr(transformer, "feature_names_in_", None), _as_passed(data)
    if _frame(data) is not None or names is None or find_spec("pandas") is None:
        return X
    frames: Any = import_module("pandas").DataFrame
    return (frames.sparse.from_spmatrix if sparse.issparse(X) else frames)(X, columns=names)


def _frame(data: Data) -> Any:
    """X as it was passed, where that was a data frame; None otherwise."""
    given = data.given
    return given if hasattr(given, "iloc") and hasattr(given, "columns") and len(given) == data.n else None


def _as_passed(data: Data) -> Any:
    """The rows as a data frame where they were passed as one, and otherwise before their columns were divided."""
    frame = _frame(data)
    return frame if frame is not None else (data.source or data).X


def column_places(data: Data, what: str, chosen: Any) -> np.ndarray:
    """The places of the columns that ``what=chosen`` means: one or several, by place or by the name in a data frame."""
    frame = _frame(data)
    names = [] if frame is None else [str(name) for name in frame.columns]
    listed = [chosen] if isinstance(chosen, str) or np.ndim(chosen) == 0 else list(chosen)
    places = [names.index(one) if one in names else one for one in listed]
    are_places = [isinstance(i, Integral) and not isinstance(i, bool) and -data.d <= i < data.d for i in places]
    if not places or not all(are_places):
        known = f"the names {', '.join(names[:10])}" if names else "no names"
        raise ValueError(
            f"{what}={chosen!r} does not choose columns of X, which has the places 0 to {data.d - 1} and {known}; list "
            'places, or names of a pandas data frame, in pipelines by set_output(transform="pandas")'
        )
    return np.array(places, dtype=np.intp) % data.d


def columns_as_given(data: Data, columns: np.ndarray) -> Any:
    """The columns as they were passed, before an estimator divides them."""
    if not data.has_features:
        raise ValueError('columns are read from X, and with kernel="precomputed" X has none; use a kernel of features')
    return (data.source or data).X[:, columns]


def one_column(data: Data, what: str, chosen: Any) -> np.ndarray:
    """One column, as a dense array."""
    found = column_places(data, what, chosen)
    if found.size != 1:
        raise ValueError(f"{what}={chosen!r} must be one column of X, and is {found.size}")
    X = columns_as_given(data, found)
    return np.asarray(X.toarray() if sparse.issparse(X) else X).ravel()
