"""Weights among distinct values, spread over the rows that have them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..operators import Structured, diagonal
from ..problem import Term
from ..rows import Rows
from ._base import Graph

# Up to this many links per row, links are listed one by one. With more, rows of equal value share factors.
LISTED = 100


class Repeated(NamedTuple):
    """:math:`W_{ij} = M_{u_i u_j}` for i other than j, where :math:`u_i` is the value of row i."""

    M: sparse.csr_array  # symmetric; the diagonal holds the weight between rows of equal value
    values: np.ndarray  # the value of each row, as a row of M; -1 where it has none

    @property
    def indicators(self) -> sparse.csr_array:
        known = np.flatnonzero(self.values >= 0)
        shape = (self.values.size, self.M.shape[0])
        return sparse.csr_array((np.ones(known.size), (known, self.values[known])), shape=shape)

    def listed(self) -> sparse.csr_array | None:
        """W as a matrix; None where it has too many entries."""
        counts = np.bincount(self.values[self.values >= 0], minlength=self.M.shape[0])
        if counts @ ((self.M != 0) @ counts) > LISTED * self.values.size:
            return None
        Z = self.indicators
        W = sparse.csr_array(Z @ self.M @ Z.T)
        W = sparse.csr_array(W - sparse.diags_array(W.diagonal()))
        W.eliminate_zeros()
        return W

    def weights_at(self, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        u, v = self.values[rows], self.values[cols]
        linked = (u >= 0) & (v >= 0) & (rows != cols)
        return np.where(linked, np.asarray(self.M[np.maximum(u, 0), np.maximum(v, 0)]).ravel(), 0.0)

    def factored(self) -> Term:
        """L and D, with W in the form of factors.

        One factor joins the rows of the values u and v with their weight. What it adds within u and within v is subtracted
        again.
        """
        Z, equal = self.indicators, self.M.diagonal()
        upper = sparse.coo_array(sparse.triu(self.M, 1))
        ends, edge = np.concatenate([upper.row, upper.col]), np.tile(np.arange(upper.nnz), 2)
        both = sparse.csr_array((np.ones(ends.size), (ends, edge)), shape=(self.M.shape[0], upper.nnz))
        own = 2 * equal - np.asarray(self.M.sum(axis=1)).ravel()
        U, c = sparse.hstack([Z @ both, Z], format="csr"), np.concatenate([upper.data, own])
        degrees = Z @ (self.M @ np.asarray(Z.sum(axis=0)).ravel() - equal)
        return Term(1.0, Structured(self.values.size, factors=((U, -c),), diag=degrees + Z @ equal), diagonal(degrees))


class OfValues(Graph):
    """Graphs of values of which each row has one. Rows of equal value are linked, as are rows of neighbouring values."""

    def _repeated(self, data: Rows) -> Repeated:
        raise NotImplementedError

    def terms(self, data: Rows) -> list[Term]:
        found = self._repeated(data)
        W = found.listed()
        return [found.factored() if W is None else self.term(W)]

    def adjacency(self, data: Rows) -> sparse.csr_array | None:
        return self._repeated(data).listed()

    def weights_at(self, data: Rows, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self._repeated(data).weights_at(rows, cols)
