"""Symmetric n x n matrices that are never dense.

Everything the papers put between two copies of the data -- Laplacians, degrees, class scatter, reconstruction
errors -- is a sparse matrix, plus low-rank factors, plus a diagonal. :class:`Structured` is that sum, closed under
addition and scaling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

Array = Any  # a dense ndarray or a SciPy sparse array
BLOCK_BYTES = 1 << 24  # of float64 rows: large enough for BLAS, small against X (measured: 2^22 to 2^25 are alike)


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices over rows so that one float64 block takes about ``BLOCK_BYTES``."""
    step = max(1, BLOCK_BYTES // (8 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def dense_block(F: Array, rows: slice, shift: np.ndarray | None = None) -> np.ndarray:
    """Rows of F as float64, minus ``shift``: products of float32 rows must accumulate in float64."""
    block = F[rows]
    block = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
    return block if shift is None else block - shift


def weighted_mean(X: Array, weights: np.ndarray | None = None) -> np.ndarray:
    """The mean of the rows under ``weights`` (plain when None), accumulated in float64."""
    weights = np.ones(X.shape[0]) if weights is None else weights
    if sparse.issparse(X):
        return np.asarray(X.T.astype(np.float64) @ weights).ravel() / weights.sum()
    total = np.zeros(X.shape[1])
    for rows in row_blocks(*X.shape):
        total += weights[rows] @ dense_block(X, rows)
    return total / weights.sum()


@dataclass(frozen=True, eq=False)
class Structured:
    r"""The symmetric matrix :math:`S + \sum_i U_i \mathrm{diag}(c_i) U_i^\top + \mathrm{diag}(g)`.

    Parameters
    ----------
    n : int
        Number of rows.
    sparse : csr_array or None
        S, symmetric.
    factors : tuple of (U, c)
        U is (n, r), dense or sparse; c is (r,).
    diag : ndarray of shape (n,) or None
        g.
    """

    n: int
    sparse: sparse.csr_array | None = None
    factors: tuple[tuple[Array, np.ndarray], ...] = ()
    diag: np.ndarray | None = None

    __array_ufunc__ = None  # so that ``np.float64(2) * A`` comes to __rmul__

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n, self.n)

    @property
    def is_diagonal(self) -> bool:
        return self.sparse is None and not self.factors

    @property
    def is_zero(self) -> bool:
        parts = [self.diag, None if self.sparse is None else self.sparse.data, *(c for _, c in self.factors)]
        return not any(part is not None and np.any(part) for part in parts)

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
        )

    def __mul__(self, scale: float) -> Structured:
        if not isinstance(scale, Real):
            return NotImplemented
        return Structured(
            self.n,
            None if self.sparse is None else self.sparse * scale,
            tuple((U, scale * c) for U, c in self.factors),
            None if self.diag is None else scale * self.diag,
        )

    __rmul__ = __mul__

    def __neg__(self) -> Structured:
        return self * -1.0

    def __sub__(self, other: Structured) -> Structured:
        return self + -other

    def __matmul__(self, Y: np.ndarray) -> np.ndarray:
        Y = np.asarray(Y)
        columns = Y.reshape(self.n, -1)
        product = np.zeros(columns.shape, dtype=np.result_type(Y.dtype, np.float64))
        if self.diag is not None:
            product += self.diag[:, None] * columns
        if self.sparse is not None:
            product += self.sparse @ columns
        for U, c in self.factors:
            product += U @ (c[:, None] * (U.T @ columns))
        return product.reshape(Y.shape)

    def quadratic(self, F: Array, shift: np.ndarray | None = None) -> np.ndarray:
        """``(F - shift)ᵀ A (F - shift)`` in float64, one block of rows at a time.

        F is (n, p), dense or sparse; ``shift`` (p,) is taken from every row without a copy of F.
        """
        p = F.shape[1]
        total = np.zeros((p, p))
        # UᵀF is accumulated where it is small (r x p); a factor as tall as n (reconstruction weights) goes by its rows.
        small = [(U, c, np.zeros((U.shape[1], p))) for U, c in self.factors if 2 * U.shape[1] <= self.n]
        tall = [(U, c) for U, c in self.factors if 2 * U.shape[1] > self.n]
        product = None if self.sparse is None else _RowProduct(self.sparse, F, shift)
        for rows in row_blocks(self.n, p):
            block = dense_block(F, rows, shift)
            if self.diag is not None or product is not None:
                right = np.zeros_like(block) if self.diag is None else self.diag[rows, None] * block
                if product is not None:
                    right += product[rows]
                total += block.T @ right
            for U, _, UtF in small:
                UtF += U[rows].T @ block
        for _, c, UtF in small:
            total += UtF.T @ (c[:, None] * UtF)
        for U, c in tall:
            product = _RowProduct(sparse.csr_array(U.T), F, shift)
            for rows in row_blocks(U.shape[1], p):
                block = product[rows]
                total += block.T @ (c[rows, None] * block)
        return (total + total.T) / 2

    def diagonal(self) -> np.ndarray:
        """The diagonal of the matrix."""
        diagonal = np.zeros(self.n)
        if self.diag is not None:
            diagonal += self.diag
        if self.sparse is not None:
            diagonal += self.sparse.diagonal()
        for U, c in self.factors:
            diagonal += (U * U if not sparse.issparse(U) else U.multiply(U)) @ c
        return diagonal

    def toarray(self) -> np.ndarray:
        """The dense matrix; for tests and small n."""
        return self @ np.eye(self.n)

    def n_connected_components(self) -> int:
        """Connected components of the graph whose edges are the off-diagonal entries.

        A column of a factor joins all rows where it is not zero, so it is a vertex of its own here.
        """
        for U, _ in self.factors:
            if not sparse.issparse(U) and U.all(axis=0).any():
                return 1
        empty = sparse.csr_array((self.n, self.n))
        U = sparse.hstack([sparse.csr_array(U) for U, _ in self.factors]) if self.factors else None
        top = empty if self.sparse is None else self.sparse
        joined = top if U is None else sparse.block_array([[top, U], [U.T, None]], format="csr")
        labels = connected_components(joined, directed=False)[1]
        return np.unique(labels[: self.n]).size


class _RowProduct:
    """Rows of ``S (F - shift)``. Each row sums few terms, so F's own precision does for the product."""

    def __init__(self, S: sparse.csr_array, F: Array, shift: np.ndarray | None):
        self.S = S.astype(F.dtype)
        self.F, self.shift = F, shift
        self.row_sums = None if shift is None else np.asarray(S.sum(axis=1)).ravel()

    def __getitem__(self, rows: slice) -> np.ndarray:
        block = self.S[rows] @ self.F
        block = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)
        return block if self.row_sums is None else block - np.outer(self.row_sums[rows], self.shift)


def _plus(a: Array | None, b: Array | None) -> Array | None:
    return b if a is None else a if b is None else a + b


def diagonal(values: np.ndarray) -> Structured:
    """diag(values)."""
    values = np.asarray(values, dtype=np.float64)
    return Structured(values.size, diag=values)


def identity(n: int) -> Structured:
    """The n x n identity."""
    return diagonal(np.ones(n))


def laplacian(W: sparse.csr_array) -> tuple[Structured, Structured]:
    """L = D - W and D of a symmetric sparse weight matrix."""
    degrees = np.asarray(W.sum(axis=1)).ravel()
    return Structured(W.shape[0], sparse=-W, diag=degrees), diagonal(degrees)
