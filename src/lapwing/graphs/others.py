"""Graphs that change the weights of another graph: similarities, and weights without the density of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._validation import check_not_negative
from ..data import Data
from ..operators import laplacian
from ..problem import Term
from .base import Graph, OfOne, total_weights


@dataclass(eq=False, repr=False)
class Similarity(OfOne):
    r"""Asks for large products of linked rows, and not for small distances between them: :math:`A = -W`.

    .. math:: \min_Z -\operatorname{tr}(Z^\top W Z) = -\sum_{ij} W_{ij}\, z_i^\top z_j .

    With orthogonal directions, ``OLPP(graph=Similarity(Chain()))`` maximises the spatial or temporal autocovariance. A Laplacian
    asks for small variances as well: under :math:`Z^\top D Z = I` both are one problem, whose eigenvalues differ by 1.

    Parameters
    ----------
    graph : Graph
        The graph whose weights are W. In a sum, each graph keeps its coefficient.

    Examples
    --------
    >>> from lapwing.graphs import Chain, Similarity
    >>> Similarity(Chain()).build([[0.0], [1.0], [5.0]])[0].laplacian.toarray()
    array([[ 0., -1.,  0.],
           [-1.,  0., -1.],
           [ 0., -1.,  0.]])
    """

    graph: Graph

    is_laplacian, is_semidefinite = False, False

    def terms(self, data: Data) -> list[Term]:
        """L - D, which is -W, also where W is kept as factors."""
        if self.signed() != [(1.0, self)]:
            return super().terms(data)
        found = self._operands()[0].terms(data)
        return [term._replace(laplacian=term.laplacian - term.degrees) for term in found]

    def term(self, W: sparse.csr_array) -> Term:
        L, D = laplacian(W)
        return Term(1.0, L - D, D)


@dataclass(eq=False, repr=False)
class DensityCorrected(OfOne):
    r"""Divides the density of the rows out of the weights of a graph.

    .. math:: W'_{ij} = \frac{W_{ij}}{(d_i d_j)^\alpha}, \qquad d_i = \sum_j W_{ij},

    as :class:`lapwing.DiffusionMaps` do: the plain Laplacian of a graph of neighbours gives more weight to rows that lie densely.

    Parameters
    ----------
    graph : Graph
        The graph whose weights are W. The weights of the graphs of a sum are added up first.
    alpha : float, default=1.0
        How much of the density is divided out: nothing by 0, half by 1/2 (the Fokker-Planck operator), and all by 1, so that
        eigenvectors tend to those of the surface alone (the operator of Laplace and Beltrami).

    Examples
    --------
    >>> from lapwing import LaplacianEigenmaps
    >>> from lapwing.graphs import KNN, DensityCorrected
    >>> LaplacianEigenmaps(1, graph=DensityCorrected(KNN(2))).fit_transform([[0.0], [0.1], [0.2], [1.0]]).shape
    (4, 1)
    """

    graph: Graph
    alpha: float = 1.0

    is_laplacian, is_semidefinite = True, True
    signed, weights_at, term = Graph.signed, Graph.weights_at, Graph.term
    why_all_rows = Graph.why_all_rows  # a sample of the links does not give the degrees of all rows

    def adjacency(self, data: Data) -> sparse.csr_array:
        W = total_weights(self, self._operands()[0], data)
        share = self._share(W)
        return sparse.csr_array(share @ W @ share)

    def _share(self, W: sparse.csr_array) -> sparse.dia_array:
        """The factors by which rows are multiplied; 0 for rows without links."""
        degrees = np.asarray(W.sum(axis=1)).ravel()
        powers = np.where(degrees > 0, degrees, 1.0) ** -check_not_negative("alpha", self.alpha)
        return sparse.diags_array(np.where(degrees > 0, powers, 0.0))

    def new_links(self, both: Data, n_fitted: int) -> sparse.csr_array | None:
        graph: Graph = self._operands()[0]
        if graph.reads_labels or (links := graph.new_links(both, n_fitted)) is None:
            return None
        fitted = total_weights(self, graph, type(both)(both.X[:n_fitted]))
        return sparse.csr_array(self._share(links) @ links @ self._share(fitted))
