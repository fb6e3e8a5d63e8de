"""Graphs that link rows by their time or place."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, spatial
from sklearn.base import clone

from .._validation import check_choice, check_count, check_positive
from ..neighbors import Edges
from ..rows import Rows
from ._base import Graph
from ._columns import column
from ._repeated import OfValues, Repeated
from ._weights import Heat, edge_weights, symmetric


class Chain(Graph):
    r"""Links each row to the next ones in time.

    .. math:: W_{ij} = 1 \text{ where } 0 < |p_i - p_j| \le \text{n\_steps, and i and j belong to one series},

    with :math:`p_i` the place of row i in the time order of its series. ``Chain()`` is the graph of slow feature analysis: it
    asks for coordinates that change little from one moment to the next.

    Parameters
    ----------
    n_steps : int, default=1
        How many of the following rows each row is linked to.
    time : column, default=None
        The column of X that orders the rows, by its place or, in a data frame, by its name. Of rows with equal times the
        first one comes first. None is the order in which the rows stand, which a shuffled fold of a cross-validation does not
        keep.
    series : column, default=None
        The column of X whose values say which series a row belongs to. None is one series.

    Examples
    --------
    >>> from lapwing.graphs import Chain
    >>> Chain().build([[3.0], [1.0], [2.0]])[0].laplacian.toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    >>> Chain(time=0).build([[3.0], [1.0], [2.0]])[0].laplacian.toarray()
    array([[ 1.,  0., -1.],
           [ 0.,  1., -1.],
           [-1., -1.,  2.]])
    """

    def __init__(self, n_steps: int = 1, *, time: Hashable | None = None, series: Hashable | None = None):
        self.n_steps = n_steps
        self.time = time
        self.series = series

    @property
    def indexes_rows(self) -> bool:
        return self.time is None

    @property
    def reads_features(self) -> bool:
        return self.time is not None or self.series is not None

    def adjacency(self, data: Rows) -> sparse.csr_array:
        n_steps = check_count("n_steps", self.n_steps)
        time = np.arange(data.n) if self.time is None else column(data, "time", self.time)
        series = np.zeros(data.n) if self.series is None else column(data, "series", self.series)
        order = np.lexsort((np.arange(data.n), time, series))
        pairs = [np.stack([order[:-step], order[step:]]) for step in range(1, min(n_steps, data.n - 1) + 1)]
        rows, cols = np.concatenate(pairs, axis=1)
        same = series[rows] == series[cols]
        edges = Edges(rows[same], cols[same], np.zeros(int(same.sum())))
        return symmetric(edges, np.ones(edges.rows.size), data.n)


def _distinct(X: Any, most: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The distinct places, and for each row which of them it has."""
    if not 2 <= X.shape[1] <= most:
        raise ValueError(
            f"{name} takes places of 2 to {most} coordinates, and the rows have {X.shape[1]}; choose the coordinates by "
            f"On([...], {name}(), beside=True)"
        )
    points, place = np.unique(X.toarray() if sparse.issparse(X) else X, axis=0, return_inverse=True)
    return points.astype(np.float64), place.ravel()


class Delaunay(OfValues):
    r"""Links neighbours in space, the edges of the Delaunay triangulation of the rows, in two or three dimensions.

    Two places are linked where some circle (in space, some sphere) through both has no other place inside. So there is no
    number of neighbours to choose, however densely the places lie. Where coordinates stand beside the features, write
    ``LPP(graph=On(["x", "y"], Delaunay(), beside=True))``. Places on a regular grid have many such triangulations: use
    :class:`Grid` there.

    Parameters
    ----------
    longest : float, default=None
        The length up to which edges are kept. The triangulation spans holes, and the outline of all places, by long edges. None
        keeps all.
    weights : {"binary", "heat"} or callable, default="binary"
        How much a link counts. ``"binary"`` is 1, and ``"heat"`` is :math:`\exp(-d_{ij}^2 / t)` for the distance d; rows at one
        place have distance 0. A callable maps an array of distances to weights.
    t
        As in :class:`KNN`.

    Examples
    --------
    >>> from lapwing.graphs import Delaunay
    >>> Delaunay().build([[0.0, 0], [2, 0], [1, 0.5], [1, -3]])[0].degrees.diagonal()
    array([3., 3., 2., 2.])
    """

    def __init__(
        self,
        *,
        longest: float | None = None,
        weights: str | Callable[..., ArrayLike] = "binary",
        t: float | str = "auto",
    ):
        self.longest = longest
        self.weights = weights
        self.t = t

    def _triangulated(self, points: np.ndarray) -> Any:
        try:
            return spatial.Delaunay(points)
        except spatial.QhullError as error:
            raise ValueError(
                f"the {len(points)} different places have no triangulation: they are too few, or all on one line or plane; use "
                "KNN or Chain"
            ) from error

    def _edges(self, points: np.ndarray) -> Edges:
        triangles = self._triangulated(points)
        starts, ends = triangles.vertex_neighbor_vertices
        # Places that rounding leaves out of the triangulation, each with the nearest place in it.
        near = triangles.coplanar
        rows = np.concatenate([np.repeat(np.arange(len(points)), np.diff(starts)), near[:, 0]])
        cols = np.concatenate([ends, near[:, 2]])
        edges = Edges(rows, cols, np.linalg.norm(points[rows] - points[cols], axis=1))
        return (
            edges if self.longest is None else edges.where(edges.distances <= check_positive("longest", self.longest))
        )

    def _heat(self) -> Heat:
        if not callable(self.weights):
            check_choice("weights", self.weights, ("binary", "heat"))
        return Heat(self.t, exact=True)

    def _repeated(self, data: Rows) -> Repeated:
        points, place = _distinct(data.X, 3, "Delaunay")
        edges, rows = self._edges(points), Rows(points)
        M = symmetric(edges, edge_weights(self.weights, rows, edges, self._heat()), len(points))
        equal = float(np.asarray(self.weights(np.zeros(1)))[0]) if callable(self.weights) else 1.0
        return Repeated(sparse.csr_array(M + equal * sparse.eye_array(len(points))), place)

    def resolved(self, data: Rows) -> Graph:
        if self.weights != "heat" or not isinstance(self.t, str):
            return self
        points, _ = _distinct(data.X, 3, "Delaunay")
        return clone(self).set_params(t=self._heat().width(self._edges(points).distances ** 2, Rows(points)))

    def new_links(self, both: Rows) -> sparse.csr_array | None:
        """Links to the corners of the triangle that holds the new place; outside of all triangles, to the nearest place."""
        X = both.X.toarray() if sparse.issparse(both.X) else both.X
        points, place = _distinct(X[: both.n_fitted], 3, "Delaunay")
        new, triangles = X[both.n_fitted :].astype(np.float64), self._triangulated(points)
        inside = triangles.find_simplex(new)
        corners = np.where(
            inside[:, None] >= 0, triangles.simplices[inside], spatial.KDTree(points).query(new)[1][:, None]
        )
        rows = np.repeat(np.arange(len(new)), corners.shape[1])
        edges = Edges(rows, corners.ravel(), np.linalg.norm(new[rows] - points[corners.ravel()], axis=1))
        # Outside of all triangles, all corners are the nearest place.
        _, first = np.unique(np.stack([edges.rows, edges.cols]), axis=1, return_index=True)
        edges = edges.where(first)
        values = edge_weights(self.weights, both, edges, self._heat())
        M = sparse.csr_array((values, (edges.rows, edges.cols)), shape=(len(new), len(points)))
        return sparse.csr_array(M[:, place])


class Grid(OfValues):
    r"""Links neighbours on a grid, rows whose places are one step apart, with weight 1.

    It is for pixels, wells and sensors, whose places stand beside the features:
    ``LPP(graph=On(["row", "column"], Grid(), beside=True))``. Each place has 4 neighbours in the plane and 6 in space, and with
    ``corners=True`` 8 and 26.

    Parameters
    ----------
    step : float, default=1.0
        The distance of neighbouring places along each axis.
    corners : bool, default=False
        Whether places that differ by a step along several axes are neighbours, too.

    Examples
    --------
    >>> from lapwing.graphs import Grid
    >>> Grid().build([[0.0, 0], [0, 1], [1, 1], [3, 1]])[0].laplacian.toarray()
    array([[ 1., -1.,  0.,  0.],
           [-1.,  2., -1.,  0.],
           [ 0., -1.,  1.,  0.],
           [ 0.,  0.,  0.,  0.]])
    """

    def __init__(self, step: float = 1.0, *, corners: bool = False):
        self.step = step
        self.corners = corners

    def _repeated(self, data: Rows) -> Repeated:
        points, place = _distinct(data.X, 6, "Grid")
        steps = (points - points.min(axis=0)) / check_positive("step", self.step)
        cells = np.rint(steps)
        if np.abs(steps - cells).max() > 0.01:
            raise ValueError(
                f"step={self.step!r} is not that of the places, which lie between the points of its grid; give their distance, "
                "or use Delaunay"
            )
        sides = cells.max(axis=0) + 3  # one more cell at both ends, so that a step across the border has a number too
        if np.prod(sides) >= 2**62:
            raise ValueError(f"step={self.step!r} makes a grid of more cells than can be numbered; give a larger one")
        numbers = np.ravel_multi_index(tuple(cells.astype(np.int64).T + 1), tuple(sides.astype(np.int64)))
        order, m = np.argsort(numbers), len(points)
        M = sparse.csr_array(sparse.eye_array(m))
        for way in product((-1, 0, 1), repeat=points.shape[1]):
            if way > (0,) * len(way) and (self.corners or np.abs(way).sum() == 1):
                beyond = np.ravel_multi_index(
                    tuple((cells + 1 + way).astype(np.int64).T), tuple(sides.astype(np.int64))
                )
                found = order[np.minimum(np.searchsorted(numbers, beyond, sorter=order), m - 1)]
                rows = np.flatnonzero(numbers[found] == beyond)
                one_way = sparse.csr_array((np.ones(rows.size), (rows, found[rows])), shape=(m, m))
                M = M + one_way + one_way.T
        return Repeated(sparse.csr_array(M), place)

    def new_links(self, both: Rows) -> sparse.csr_array | None:
        found = self._repeated(both)
        fitted, new = found.values[: both.n_fitted], found.values[both.n_fitted :]
        return sparse.csr_array(found.M[new][:, fitted])
