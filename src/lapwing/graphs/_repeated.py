"""Weights among distinct values, spread over the rows that have them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..operators import Structured, diagonal
from ..problem import Term

LISTED = 100  # links per row up to which they are listed one by one; with more, rows of equal value share factors


class Repeated(NamedTuple):
    """:math:`W_{ij} = M_{u_i u_j}` for i other than j, with :math:`u_i` the value of row i."""

    M: sparse.csr_array  # symmetric; on the diagonal, the weight of rows of equal value
    values: np.ndarray  # the value of each row, as a row of M; -1 where it has none

    @property
    def indicators(self) -> sparse.csr_array:
        known = np.flatnonzero(self.values >= 0)
        shape = (self.values.size, self.M.shape[0])
        return sparse.csr_array((np.ones(known.size), (known, self.values[known])), shape=shape)

    def listed(self) -> sparse.csr_array | None:
        """W; None where it has too many entries."""
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
        """L and D with W as factors.

        A factor with the rows of values u and v has the weight of u and v, less what it has within each of them.
        """
        Z, equal = self.indicators, self.M.diagonal()
        upper = sparse.coo_array(sparse.triu(self.M, 1))
        ends, edge = np.concatenate([upper.row, upper.col]), np.tile(np.arange(upper.nnz), 2)
        both = sparse.csr_array((np.ones(ends.size), (ends, edge)), shape=(self.M.shape[0], upper.nnz))
        own = 2 * equal - np.asarray(self.M.sum(axis=1)).ravel()
        U, c = sparse.hstack([Z @ both, Z], format="csr"), np.concatenate([upper.data, own])
        degrees = Z @ (self.M @ np.asarray(Z.sum(axis=0)).ravel() - equal)
        return Term(1.0, Structured(self.values.size, factors=((U, -c),), diag=degrees + Z @ equal), diagonal(degrees))
