"""Graphs of time and place."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._validation import check_count
from ..neighbors import Edges
from ..rows import Rows
from ._base import Graph
from ._columns import column
from ._weights import symmetric


class Chain(Graph):
    r"""Each row linked to the next ones in time.

    .. math:: W_{ij} = 1 \text{ where } 0 < |p_i - p_j| \le \text{n\_steps, and i and j belong to one series},

    with :math:`p_i` the place of row i in the time order of its series. ``Chain()`` is the graph of slow features: it asks for
    coordinates that change little from one moment to the next.

    Parameters
    ----------
    n_steps : int, default=1
        How many of the following rows each row is linked to.
    time : column, default=None
        The column of X that orders rows, by its place or, of a data frame, its name; of equal times the first row comes first.
        None is the order in which rows stand. Without it a shuffled fold of a cross-validation has another order.
    series : column, default=None
        The column of X whose values say which series a row belongs to; None is one series.

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

    def __init__(self, n_steps: int = 1, *, time: Any = None, series: Any = None):
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
