"""Graphs of values that rows share: targets, and places in time and space."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, spatial

from .._validation import check_choice, check_count, check_positive
from ..data import Data
from ..neighbors import is_named
from ..operators import Structured, diagonal
from ..problem import Term
from .base import Graph
from .classes import indicators
from .columns import one_column
from .neighbors import KNN

LISTED_LINKS = 100  # per row, up to which links are listed one by one; with more, rows of equal value share factors


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
    weights : {"auto", "heat", "binary", "cosine"} or callable, default="auto"
        How much a link counts. ``"binary"`` is 1, ``"heat"`` is the formula above, and ``"cosine"`` is the cosine of the
        targets. ``"auto"`` is ``"heat"``, and ``"cosine"`` for label sets. A callable maps an array of distances to weights.
    t : As in :class:`KNN`
    metric : str or callable, default="auto"
        As in :class:`KNN`. The distances are those between targets; ``"auto"`` is ``"euclidean"``, or ``"cosine"`` for sets.
    symmetry : {"or", "and", "mean"}, default="or"
        What becomes of a link that only one of its two values has: it is kept, dropped, or has half its weight.

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
    weights: str | Callable[..., ArrayLike] = "auto"
    t: float | str = "auto"
    metric: str | Callable[..., float] = "auto"
    symmetry: str = "or"

    reads_labels, reads_targets, reads_features = True, True, False

    def _values(self, data: Data) -> tuple[sparse.csr_array, np.ndarray]:
        check_choice("symmetry", self.symmetry, ("or", "and", "mean"))
        Y, known, are_sets = target_matrix(data.y, data.n)
        distinct, own = np.unique(Y[known], axis=0, return_inverse=True)
        if (m := len(distinct)) < 2:
            found = "one target only" if m else "no known target"
            raise ValueError(f"y has {found}, and Target needs two different ones or more")
        if not callable(self.weights):
            check_choice("weights", self.weights, ("auto", "heat", "binary", "cosine"))
        weights: Any = ("heat", "cosine")[are_sets] if is_named(self.weights, "auto") else self.weights
        metric: Any = ("euclidean", "cosine")[are_sets] if is_named(self.metric, "auto") else self.metric
        k = min(check_count("n_neighbors", self.n_neighbors), m - 1)
        rows, near = Data(distinct), KNN(k, weights=weights, t=self.t, metric=metric)
        edges = near._edges(rows)
        M = rows.symmetric_weights(*edges[:2], near._weights(rows, edges), self.symmetry)
        values = np.full(data.n, -1)
        values[known] = own.ravel()
        # Rows of equal value have the weight of the distance 0.
        M = M + (weights(np.zeros(1))[0] if callable(weights) else 1.0) * sparse.eye_array(m)
        return sparse.csr_array(M), values


def target_matrix(y: Any, n: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Targets as a matrix of numbers, which of its rows are known, and whether the rows are sets of labels."""
    if y is None:
        raise ValueError(
            "the graph Target requires y to be passed, but the target y is None; NaN marks unknown targets"
        )
    if getattr(getattr(y, "dtype", None), "ordered", False):  # ordered categories of pandas
        codes = np.asarray(getattr(y, "cat", y).codes)
        y = np.where(codes < 0, np.nan, codes)
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
