"""The graph of locally linear embedding: each row is reconstructed from its neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from .._validation import check_choice, check_not_negative
from ..neighbors import Search, find, require_features
from ..operators import Structured, diagonal, row_blocks
from ..problem import Term
from ..rows import Rows, row_sums, row_width
from ._base import Graph


class Reconstruction(Graph):
    r"""Asks each row to stay where its neighbours place it: the weights of locally linear embedding.

    The weights W minimise :math:`\sum_i \|x_i - \sum_j W_{ij} x_j\|^2`, where j are the neighbours of i and each row of W
    adds up to 1. The matrix of the graph is :math:`(I - W)^\top (I - W)`, kept as a factor, and its degrees are 1.

    Parameters
    ----------
    n_neighbors : int, default=5
        From how many nearest neighbours each row is reconstructed.
    reg : float, default=1e-3
        How strongly the weights are kept small and equal. ``reg * trace(G)`` is added to the diagonal of each local Gram
        matrix G, which is singular where there are more neighbours than dimensions.
    among : {"all", "same_class"}, default="all"
        Where neighbours are searched. ``"same_class"`` takes the nearest rows inside the class (all others of a smaller
        class), and rows of unknown label take no part.
    metric
        As in :class:`KNN`. It is that of the search; the weights are always those of Euclidean space.
    queries
        As in :class:`KNN`. It is the number of rows that are reconstructed, and their sum is multiplied by n / queries.
    random_state
        As in :class:`KNN`.

    Examples
    --------
    >>> from lapwing.graphs import Reconstruction
    >>> from lapwing.rows import Rows
    >>> Reconstruction(2).weights_matrix(Rows.validated([[0.0], [1.0], [3.0]])).toarray().round(2)
    array([[ 0.  ,  1.5 , -0.5 ],
           [ 0.67,  0.  ,  0.33],
           [-1.94,  2.94,  0.  ]])
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        reg: float = 1e-3,
        among: str = "all",
        metric: str | Callable[..., float] = "euclidean",
        queries: int | None = None,
        random_state: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.among = among
        self.metric = metric
        self.queries = queries
        self.random_state = random_state

    @property
    def _search(self) -> Search:
        return Search(
            self.n_neighbors, self.metric, among=self.among, queries=self.queries, random_state=self.random_state
        )

    def searches(self) -> list[Search]:
        return [self._search]

    @property
    def reads_labels(self) -> bool:
        return self.among != "all"

    def terms(self, data: Rows) -> list[Term]:
        W = self.weights_matrix(data)
        taking_part = (np.diff(W.indptr) > 0).astype(np.float64)
        residual = sparse.csr_array(sparse.diags_array(taking_part) - W)[np.flatnonzero(taking_part)]
        scale = self._search.scale(data)
        factor = (sparse.csr_array(residual.T), np.full(residual.shape[0], scale))
        return [Term(1.0, Structured(data.n, factors=(factor,)), diagonal(scale * taking_part))]

    def weights_matrix(self, data: Rows) -> sparse.csr_array:
        """W, one row of weights per sample."""
        check_choice("among", self.among, ("all", "same_class"))
        check_not_negative("reg", self.reg)
        require_features(self.metric, "Reconstruction")
        edges = find(data, self._search)
        counts = np.bincount(edges.rows, minlength=data.n)
        if self.among == "same_class" and not self._search.is_sampled(data.n_samples):
            _require_companions(data.classes, counts)
        order = np.argsort(edges.rows, kind="stable")
        starts = np.cumsum(counts) - counts
        values = np.empty(edges.rows.size)
        # Classes differ in size, so rows with the same number of neighbours are handled together.
        for k in np.unique(counts[counts > 0]):
            rows = np.flatnonzero(counts == k)
            place = starts[rows, None] + np.arange(k)
            values[place] = barycentric_weights(data, rows, edges.cols[order][place], float(self.reg))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return sparse.csr_array((values, edges.cols[order], indptr), shape=(data.n, data.n))


def _require_companions(classes: np.ndarray, counts: np.ndarray) -> None:
    alone = np.flatnonzero((classes >= 0) & (counts == 0))
    if alone.size:
        raise ValueError(
            f'Reconstruction(among="same_class") needs two samples or more in each class, but {alone.size} classes have '
            f"one (row {alone[0]} is alone in its class); add samples, or set those labels to -1 (unknown)"
        )


def barycentric_weights(data: Rows, rows: np.ndarray, neighbors: np.ndarray, reg: float) -> np.ndarray:
    """The weights (len(rows), k) of the best affine combination of the neighbours. Each row of weights sums to 1."""
    k = neighbors.shape[1]
    weights = np.empty(neighbors.shape)
    for block in row_blocks(rows.size, k * max(k, 2 * row_width(data.X))):
        G = local_grams(data, rows[block], neighbors[block])
        trace = np.trace(G, axis1=1, axis2=2)
        # Where all neighbours equal the row, any weights will do, and these give 1/k.
        ridge = np.where(trace > 0, reg * trace, 1.0)
        G[:, np.arange(k), np.arange(k)] += ridge[:, None]
        weights[block] = _affine(G, reg)
    return weights


def _affine(G: np.ndarray, reg: float) -> np.ndarray:
    """The weights w of sum 1 that minimise ``wᵀ G w``, one vector per Gram matrix."""
    if reg == 0 and (np.linalg.matrix_rank(G, hermitian=True) < G.shape[1]).any():
        raise ValueError(
            "reg=0 leaves a local Gram matrix singular (more neighbours than dimensions, or equal rows); use reg > 0"
        )
    w = np.linalg.solve(G, np.ones((*G.shape[:2], 1)))[..., 0]
    return w / w.sum(axis=1, keepdims=True)


def local_grams(data: Rows, rows: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """The Gram matrices of the differences ``x_j - x_i``, over the neighbours j of i."""
    X, (b, k) = data.X, neighbors.shape
    if not data.has_features:
        points = np.concatenate([rows[:, None], neighbors], axis=1)
        products = data.dots(*np.broadcast_arrays(points[:, :, None], points[:, None, :]))
        own, cross = products[:, :1, :1], products[:, 1:, :1]
        return products[:, 1:, 1:] - cross - cross.transpose(0, 2, 1) + own
    if not sparse.issparse(X):
        apart = X[neighbors].astype(np.float64) - X[rows].astype(np.float64)[:, None, :]
        return apart @ apart.transpose(0, 2, 1)
    own = X[rows].astype(np.float64)
    differences = [X[neighbors[:, j]].astype(np.float64) - own for j in range(k)]
    grams = np.empty((b, k, k))
    for i in range(k):
        for j in range(i, k):
            grams[:, i, j] = grams[:, j, i] = row_sums(differences[i], differences[j])
    return grams
