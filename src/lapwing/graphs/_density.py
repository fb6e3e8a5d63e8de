"""Graphs whose weights have the density of the rows divided out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._validation import check_not_negative
from ..rows import Rows
from ._base import Graph, Signed, total_links, total_weights
from ._similarity import OfOne


class DensityCorrected(OfOne):
    r"""Divides the density of the rows out of the weights of a graph.

    .. math:: W'_{ij} = \frac{W_{ij}}{(d_i d_j)^\alpha}, \qquad d_i = \sum_j W_{ij},

    The graph has the Laplacian of :math:`W'`, as diffusion maps have [1]_. Where rows lie densely, the plain Laplacian of a
    graph of neighbours gives them more weight, because there are more of them. With :math:`\alpha = 1` its eigenvectors tend
    to those of the surface alone, whatever the density.

    Parameters
    ----------
    graph : Graph or matrix
        The graph whose weights are W. The weights of the graphs of a sum are added up first. A matrix W is ``Precomputed(W)``.
    alpha : float, default=1.0
        How much of the density is divided out. 0 leaves the weights as they are, 1/2 gives the Fokker-Planck operator, and 1
        that of Laplace and Beltrami.

    References
    ----------
    .. [1] R. R. Coifman and S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis 21, 2006.
       https://doi.org/10.1016/j.acha.2006.04.006

    Examples
    --------
    >>> from lapwing import LaplacianEigenmaps
    >>> from lapwing.graphs import KNN, DensityCorrected
    >>> LaplacianEigenmaps(1, graph=DensityCorrected(KNN(2))).fit_transform([[0.0], [0.1], [0.2], [1.0]]).shape
    (4, 1)
    """

    is_laplacian, is_semidefinite = True, True

    def __init__(self, graph: Graph | ArrayLike, alpha: float = 1.0):
        self.graph = graph
        self.alpha = alpha

    def _parts(self) -> Signed | None:
        return None

    def adjacency(self, data: Rows) -> sparse.csr_array:
        W = total_weights(self, self._operands()[0], data)
        share = self._share(W)
        return sparse.csr_array(share @ W @ share)

    def _share(self, W: sparse.csr_array) -> sparse.dia_array:
        """The factors by which rows are multiplied; 0 for rows without links."""
        degrees = np.asarray(W.sum(axis=1)).ravel()
        alpha = check_not_negative("alpha", self.alpha)
        return sparse.diags_array(np.where(degrees > 0, np.where(degrees > 0, degrees, 1.0) ** -alpha, 0.0))

    def require_blocks(self, n: int) -> None:
        Graph.require_blocks(self, n)  # a sample of the links does not give the degrees of all rows

    def new_links(self, both: Rows) -> sparse.csr_array | None:
        graph: Graph = self._operands()[0]
        links = None if graph.reads_labels else total_links(graph, both)
        if links is None:
            return None
        fitted = total_weights(self, graph, both.fitted())
        return sparse.csr_array(self._share(links) @ links @ self._share(fitted))
