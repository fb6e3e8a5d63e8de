"""Symmetric n x n matrices that are never dense.

The papers put several matrices between two copies of the data: Laplacians, degrees, class scatter and reconstruction errors.
Each of them is a sparse matrix, plus low-rank factors, plus a diagonal. :class:`Structured` is that sum. Adding and scaling
such sums gives such sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

from ._validation import Array, row_blocks

MOST_ENTRIES = 50_000_000  # a factor is multiplied out where this gives at most so many entries


@dataclass(frozen=True, eq=False, repr=False)
class Structured:
    r"""The symmetric matrix :math:`S + \sum_i U_i \mathrm{diag}(c_i) U_i^\top + \mathrm{diag}(g) + R`.

    Parameters
    ----------
    n : int
        Number of rows.
    sparse : csr_array or None
        S, a symmetric matrix. Of rows on a device it may be a matrix there, with the same methods.
    factors : tuple of (U, c)
        U is (n, r), dense or sparse; c is (r,).
    diag : ndarray of shape (n,) or None
        g.
    rest : LinearOperator or None
        R, for what is symmetric and none of these, such as an inverse. It is known only by its products.
    """

    n: int
    sparse: sparse.csr_array | None = None
    factors: tuple[tuple[Array, np.ndarray], ...] = ()
    diag: np.ndarray | None = None
    rest: LinearOperator | None = None

    __array_ufunc__ = None  # so that ``np.float64(2) * A`` calls __rmul__

    def __repr__(self) -> str:
        return f"<{self.n} x {self.n} matrix; toarray() makes it dense>"

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n, self.n)

    @property
    def is_diagonal(self) -> bool:
        return self.sparse is None and not self.factors and self.rest is None

    def __add__(self, other: Structured) -> Structured:
        if not isinstance(other, Structured):
            return NotImplemented
        if other.n != self.n:
            raise ValueError(f"cannot add a {other.n} x {other.n} matrix to a {self.n} x {self.n} one")
        return Structured(
            self.n,
            _plus(self.sparse, other.sparse),
            self.factors + other.factors,
            _plus(self.diag, other.diag),
            _plus(self.rest, other.rest),
        )

    def __mul__(self, scale: float) -> Structured:
        if not isinstance(scale, Real):
            return NotImplemented
        return Structured(
            self.n,
            None if self.sparse is None else self.sparse * scale,
            tuple((U, scale * c) for U, c in self.factors),
            None if self.diag is None else scale * self.diag,
            None if self.rest is None else float(scale) * self.rest,
        )

    __rmul__ = __mul__

    def __neg__(self) -> Structured:
        return self * -1.0

    def __sub__(self, other: Structured) -> Structured:
        return self + -other

    def __matmul__(self, Y: np.ndarray) -> np.ndarray:
        Y = np.asarray(Y)
        columns = np.ascontiguousarray(Y.reshape(self.n, -1), dtype=np.result_type(Y.dtype, np.float64))
        product = np.zeros_like(columns)
        if self.diag is not None:
            product += self.diag[:, None] * columns
        if self.sparse is not None:
            product += self.sparse @ columns
        for U, c in self.factors:
            product += U @ (c[:, None] * (U.T @ columns))
        if self.rest is not None:
            product += self.rest @ columns
        return product.reshape(Y.shape)

    def operator(self) -> LinearOperator:
        """The matrix as an operator, which is known by its products."""
        return LinearOperator(self.shape, matvec=self.__matmul__, matmat=self.__matmul__, dtype=np.float64)

    def repeated(self, counts: np.ndarray) -> Structured:
        """The matrix for distinct rows that gives the form of all rows, where row i occurs ``counts[i]`` times.

        The counts enter its diagonal and its factors.
        """
        scale = sparse.diags_array(counts)
        factors = tuple((scale @ U if sparse.issparse(U) else counts[:, None] * U, c) for U, c in self.factors)
        return Structured(self.n, self.sparse, factors, None if self.diag is None else counts * self.diag)

    def rescaled(self, scale: np.ndarray) -> Structured:
        """``diag(scale) A diag(scale)``."""
        scaling = sparse.diags_array(scale)
        S = None if self.sparse is None else sparse.csr_array(scaling @ self.sparse.tocsr() @ scaling)
        factors = tuple((scaling @ U, c) for U, c in self.factors)
        return Structured(self.n, S, factors, None if self.diag is None else scale**2 * self.diag)

    def diagonal(self) -> np.ndarray:
        """The diagonal of the matrix."""
        diagonal = np.zeros(self.n)
        if self.diag is not None:
            diagonal += self.diag
        if self.sparse is not None:
            diagonal += self.sparse.diagonal()
        for U, c in self.factors:
            U = U @ np.eye(U.shape[1]) if isinstance(U, LinearOperator) else U.astype(np.float64)
            diagonal += (U.multiply(U) if sparse.issparse(U) else U * U) @ c
        if self.rest is not None:
            for rows in row_blocks(self.n, self.n):
                diagonal[rows] += np.diagonal((self.rest @ np.eye(self.n, rows.stop - rows.start, -rows.start))[rows])
        return diagonal

    def toarray(self) -> np.ndarray:
        """The dense matrix, for tests and small n."""
        return self @ np.eye(self.n)

    def tosparse(self) -> Array:
        """The matrix in sparse form with its factors multiplied out, for factors that have few entries per column."""
        if self.rest is not None:
            raise ValueError("a matrix that is known by its products alone has no sparse form; use a linear map")
        total = sparse.csr_array((self.n, self.n)) if self.sparse is None else self.sparse.tocsr()
        for U, c in self.factors:
            entries = np.diff(sparse.csc_array(U).indptr) if sparse.issparse(U) else np.full(U.shape[1], self.n)
            if (entries.astype(np.float64) ** 2).sum() > MOST_ENTRIES:
                raise ValueError(
                    f"the graph links up to {entries.max()} samples to one another, too many for a map without a formula, which "
                    "needs its matrix in sparse form; use a graph of neighbours"
                )
            U = sparse.csr_array(U)
            total = total + U @ sparse.diags_array(c) @ U.T
        if self.diag is not None:
            total = total + sparse.diags_array(self.diag)
        return sparse.csr_array(total)

    def links_samples(self, counts: np.ndarray | None = None) -> bool:
        """Whether an off-diagonal entry is not 0. Rows that stand for several samples are linked to themselves by a factor."""
        S: Any = self.sparse
        if self.rest is not None or (S is not None and S.count_nonzero() > np.count_nonzero(S.diagonal())):
            return True
        counts = np.ones(self.n) if counts is None else np.ceil(counts)
        return any(bool((counts @ (U[:, np.flatnonzero(c)] != 0) > 1).any()) for U, c in self.factors if c.any())

    def n_connected_components(self, counts: np.ndarray | None = None) -> int:
        """Connected components of the graph whose edges are the off-diagonal entries.

        A column of a factor joins all rows where it is not zero, so the column is a vertex of its own here. A row that occurs
        ``counts`` times is joined to its copies only by a factor.
        """
        S: Any = self.sparse
        if not self.factors and counts is None and hasattr(S, "n_connected_components"):
            return S.n_connected_components()  # of a matrix on a device
        counts = np.ones(self.n) if counts is None else np.ceil(counts)
        often = np.flatnonzero(counts > 1)
        factors = [U if c.all() else U[:, np.flatnonzero(c)] for U, c in self.factors if c.any()]
        joined = np.zeros(often.size, dtype=bool)
        for U in factors if often.size else ():
            joined |= np.asarray(abs(U[often]).sum(axis=1) > 0).ravel()
        alone = int((counts[often] - 1)[~joined].sum())
        if any(not sparse.issparse(U) and U.all(axis=0).any() for U in factors):
            return 1 + alone
        top = sparse.csr_array((self.n, self.n)) if S is None else S.tocsr()
        graph = sparse.hstack([top, *factors], format="csr")
        graph.eliminate_zeros()  # a stored zero is not an edge
        graph.resize(graph.shape[1], graph.shape[1])
        labels = connected_components(graph)[1]
        return alone + int(np.count_nonzero(np.bincount(labels[: self.n])))


def _plus(a: Array | None, b: Array | None) -> Array | None:
    return b if a is None else a if b is None else a + b


def diagonal(values: np.ndarray) -> Structured:
    """The matrix diag(values)."""
    values = np.asarray(values, dtype=np.float64)
    return Structured(values.size, diag=values)


def identity(n: int) -> Structured:
    """The n x n identity."""
    return Structured(n, diag=np.ones(n))


def laplacian(W: Any) -> tuple[Structured, Structured]:
    """The matrices L = D - W and D of a symmetric sparse weight matrix W."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    return Structured(degrees.size, sparse=-W, diag=degrees), Structured(degrees.size, diag=degrees)
