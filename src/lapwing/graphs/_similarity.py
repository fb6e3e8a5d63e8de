"""Weights as similarities: A is -W, where a Laplacian would be D - W."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..operators import laplacian
from ..problem import Term
from ..rows import Rows
from ._base import Graph, Operation, Signed
from ._given import Precomputed


class OfOne(Operation):
    """Base of graphs that change the weights of one graph. A matrix of weights stands for ``Precomputed``."""

    graph: Any

    def _operands(self) -> list[Graph]:
        return [self.graph if isinstance(self.graph, Graph) else Precomputed(self.graph)]

    def _with(self, graph: Graph) -> Graph:
        """The same operation on another graph."""
        raise NotImplementedError

    def _parts(self) -> Signed | None:
        """The graphs of a sum, each changed on its own; None where the graph is not a sum."""
        (graph,) = self._operands()
        signed = graph.signed()
        return None if signed == [(1.0, graph)] else [(c, self._with(leaf)) for c, leaf in signed]

    @property
    def counts_pairs(self) -> bool:
        return bool(self._operands()[0].counts_pairs)

    def adjacency(self, data: Rows) -> Any:
        return self._operands()[0].adjacency(data)

    def new_links(self, both: Rows) -> sparse.csr_array | None:
        return self._operands()[0].new_links(both)


class Similarity(OfOne):
    r"""Asks for large products of linked rows, and not for small distances between them: :math:`A = -W`.

    A Laplacian penalises the squared distances of linked rows, :math:`\tfrac12\sum_{ij} W_{ij} \|z_i - z_j\|^2 =
    \operatorname{tr}(Z^\top (D - W) Z)`, and so asks for small variances as well. This graph asks for large products of
    linked rows instead,

    .. math:: \min_Z -\operatorname{tr}(Z^\top W Z) = -\sum_{ij} W_{ij}\, z_i^\top z_j .

    With orthogonal directions, ``OLPP(graph=Similarity(W))`` maximises the spatial or temporal autocovariance (MULTISPATI of
    spatial statistics). Under :math:`Z^\top D Z = I` it is the problem of the Laplacian, with eigenvalues that are smaller by
    1.

    Parameters
    ----------
    graph : Graph or matrix
        The graph whose weights are W; a matrix W is ``Precomputed(W)``. In a sum, each graph keeps its coefficient.

    Examples
    --------
    >>> from lapwing.graphs import Chain, Similarity
    >>> (term,) = Similarity(Chain()).build([[0.0], [1.0], [5.0]])
    >>> term.laplacian.toarray()
    array([[ 0., -1.,  0.],
           [-1.,  0., -1.],
           [ 0., -1.,  0.]])
    """

    is_laplacian, is_semidefinite = False, False

    def __init__(self, graph: Graph | ArrayLike):
        self.graph = graph

    def _with(self, graph: Graph) -> Graph:
        return Similarity(graph)

    def terms(self, data: Rows) -> list[Term]:
        """L - D, which is -W, also where W is kept as factors."""
        if self._parts() is not None:
            return super().terms(data)
        found = self._operands()[0].terms(data)
        return [term._replace(laplacian=term.laplacian - term.degrees) for term in found]

    def weights_at(self, data: Rows, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self._operands()[0].weights_at(data, rows, cols)

    def term(self, W: sparse.csr_array) -> Term:
        L, D = laplacian(W)
        return Term(1.0, L - D, D)
