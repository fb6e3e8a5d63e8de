"""Symmetric n x n matrices that are never dense.

Everything the papers put between two copies of the data -- Laplacians, degrees, class scatter, reconstruction
errors -- is a sparse matrix, plus low-rank factors, plus a diagonal. :class:`Structured` is that sum, closed under
addition and scaling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator

Array = Any  # a dense ndarray or a SciPy sparse array
OUT_OF_RANGE = "X has values so large or so small that their squares leave the range of floating point; scale X first"
MOST_ENTRIES = 50_000_000  # of a factor multiplied out
BLOCK_BYTES = 1 << 23  # of float64 rows: large enough for BLAS, small enough to stay in cache (measured)


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices over rows so that one float64 block takes about ``BLOCK_BYTES``."""
    step = max(1, BLOCK_BYTES // (8 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def dense_block(F: Array, rows: slice, shift: np.ndarray | None = None) -> np.ndarray:
    """Rows of F as float64, minus ``shift``: products of float32 rows must accumulate in float64."""
    block = F[rows]
    block = block.toarray() if sparse.issparse(block) else block
    if shift is None:
        return np.asarray(block, dtype=np.float64)
    block = block.astype(np.float64)  # then in place: faster than a subtraction of mixed types
    block -= shift
    return block


class Summary:
    """Rows that stand for many: some as they are, then for each class the mean of the rest of it, with how many and how they
    scatter about it. Sums over all samples come out as if every row were there.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    means : ndarray of shape (n_classes, n_features)
    counts : ndarray of shape (n_classes,)
        How many samples each mean stands for.
    scatter : callable
        From a weight a class to the weighted sum of the scatter matrices about the means.
    """

    def __init__(
        self, rows: np.ndarray, means: np.ndarray, counts: np.ndarray, scatter: Callable[[np.ndarray], np.ndarray]
    ):
        self.rows, self.means, self._scatter = rows, means, scatter
        self.counts = np.concatenate([np.ones(len(rows)), counts])
        self.shape = (len(rows) + len(means), rows.shape[1])
        self.dtype = rows.dtype

    def __getitem__(self, index: Any) -> np.ndarray:
        """Rows by number; or a slice of rows, or all rows of some columns, with the means, in float64."""
        if isinstance(index, tuple):
            return np.concatenate([self.rows[index], self.means[index]], dtype=np.float64)
        if not isinstance(index, slice):
            return self.rows[index]
        start, stop, _ = index.indices(self.shape[0])
        own, n = slice(start, stop), len(self.rows)
        return np.concatenate([self.rows[own], self.means[max(start - n, 0) : max(stop - n, 0)]], dtype=np.float64)

    def scatter(self, weights: np.ndarray | None) -> np.ndarray | float:
        """Of the classes about their means, under a weight a row."""
        weights = None if weights is None else weights[len(self.rows) :]
        return 0.0 if weights is None or not weights.any() else self._scatter(weights)


def weighted_mean(X: Array, weights: np.ndarray | None = None) -> np.ndarray:
    """The mean of the rows under ``weights`` (plain when None), accumulated in float64.

    The mean of a constant column is that constant and not a rounding away from it.
    """
    if isinstance(X, Summary):
        weights, first = X.counts * (1.0 if weights is None else weights), X[:1][0]
        return first + sum(weights[rows] @ dense_block(X, rows, first) for rows in row_blocks(*X.shape)) / weights.sum()
    plain = weights is None
    weights = np.ones(X.shape[0]) if weights is None else weights
    if sparse.issparse(X):
        mean = np.asarray(X.T.astype(np.float64) @ weights).ravel() / weights.sum()
        full = full_columns(X)  # others are about the zero row
        mean[full] = weighted_mean(X[:, full].toarray(), weights)
        return mean
    total = np.zeros(X.shape[1])
    for rows in row_blocks(
        *X.shape
    ):  # a plain sum wakes no BLAS threads, which would spin through a search that follows
        total += dense_block(X, rows).sum(axis=0) if plain else weights[rows] @ dense_block(X, rows)
    mean = total / weights.sum()
    few = X[:: max(1, X.shape[0] // 100)]
    flat = np.flatnonzero(np.ptp(few, axis=0) <= 1e-4 * np.abs(mean))
    if flat.size:  # columns that are large beside their spread are summed about their first entry
        total = np.zeros(flat.size)
        for rows in row_blocks(*X.shape):
            total += weights[rows] @ np.subtract(X[rows, flat], X[0, flat], dtype=np.float64)
        mean[flat] = X[0, flat] + total / weights.sum()
    return mean


def full_columns(X: sparse.csr_array) -> np.ndarray:
    """Columns of a sparse matrix that have no zeros."""
    return np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0])


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
    def thin(self) -> Structured:
        """The part that a pass over blocks of rows is enough for: the diagonal, and factors of few columns."""
        return Structured(self.n, None, tuple((U, c) for U, c in self.factors if 2 * U.shape[1] <= self.n), self.diag)

    @property
    def wide(self) -> Structured:
        """The rest: the sparse part, and factors of about as many columns as rows."""
        return Structured(self.n, self.sparse, tuple((U, c) for U, c in self.factors if 2 * U.shape[1] > self.n))

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
        columns = np.ascontiguousarray(Y.reshape(self.n, -1), dtype=np.result_type(Y.dtype, np.float64))
        product = np.zeros_like(columns)
        if self.diag is not None:
            product += self.diag[:, None] * columns
        if self.sparse is not None:
            product += self.sparse @ columns
        for U, c in self.factors:
            product += U @ (c[:, None] * (U.T @ columns))
        return product.reshape(Y.shape)

    def quadratic(self, F: Array, shift: np.ndarray | None = None) -> np.ndarray:
        """``(F - shift)ᵀ A (F - shift)``, in float64; F is (n, p), dense or sparse. See :func:`quadratics`."""
        return quadratics([self], F, shift)[0]

    def quadratic_operator(self, F: Array, shift: np.ndarray) -> LinearOperator:
        """:meth:`quadratic` as an operator on p-vectors, for p too large for a p x p matrix."""
        Fc = centred(F, shift)
        return Fc.T @ LinearOperator(self.shape, matvec=self.__matmul__, matmat=self.__matmul__, dtype=np.float64) @ Fc

    def quadratic_diagonal(self, F: Array, shift: np.ndarray) -> np.ndarray:
        """The diagonal of :meth:`quadratic`, where the matrix itself is diagonal."""
        if not self.is_diagonal:
            raise ValueError("only a diagonal matrix has this for little")
        g = np.zeros(self.n) if self.diag is None else self.diag
        squares = F.power(2) if sparse.issparse(F) else F**2
        return g @ squares - 2 * shift * (g @ F) + g.sum() * shift**2

    def repeated(self, counts: np.ndarray) -> Structured:
        """The matrix whose form on rows is this one's where row i occurs ``counts[i]`` times, in its diagonal and factors."""
        scale = sparse.diags_array(counts)
        factors = tuple((scale @ U if sparse.issparse(U) else counts[:, None] * U, c) for U, c in self.factors)
        return Structured(self.n, self.sparse, factors, None if self.diag is None else counts * self.diag)

    def diagonal(self) -> np.ndarray:
        """The diagonal of the matrix."""
        diagonal = np.zeros(self.n)
        if self.diag is not None:
            diagonal += self.diag
        if self.sparse is not None:
            diagonal += self.sparse.diagonal()
        for U, c in self.factors:
            U = U.astype(np.float64)
            diagonal += (U.multiply(U) if sparse.issparse(U) else U * U) @ c
        return diagonal

    def toarray(self) -> np.ndarray:
        """The dense matrix; for tests and small n."""
        return self @ np.eye(self.n)

    def tosparse(self) -> Array:
        """The matrix in sparse form, factors multiplied out: for factors with few entries a column."""
        total = sparse.csr_array((self.n, self.n)) if self.sparse is None else self.sparse
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

    def n_connected_components(self, counts: np.ndarray | None = None) -> int:
        """Connected components of the graph whose edges are the off-diagonal entries.

        A column of a factor joins all rows where it is not zero, so it is a vertex of its own here. A row that occurs
        ``counts`` times is joined to itself by a factor only.
        """
        if counts is None or (counts == 1).all():
            return self._n_connected_components
        often = np.flatnonzero(counts > 1)
        joined = np.zeros(often.size, dtype=bool)
        for U, c in self.factors:
            joined |= np.asarray((abs(U[often]) @ (c != 0)) > 0).ravel()
        return self._n_connected_components + int((counts[often] - 1)[~joined].sum())

    @cached_property
    def _n_connected_components(self) -> int:
        factors = [U[:, np.flatnonzero(c)] for U, c in self.factors if c.any()]
        if any(not sparse.issparse(U) and U.all(axis=0).any() for U in factors):
            return 1
        U = sparse.hstack([sparse.csr_array(U) for U in factors]) if factors else None
        top = sparse.csr_array((self.n, self.n)) if self.sparse is None else self.sparse.copy()
        top.eliminate_zeros()  # a stored zero is no edge
        joined = top if U is None else sparse.block_array([[top, U], [U.T, None]], format="csr")
        labels = connected_components(joined, directed=False)[1]
        return np.unique(labels[: self.n]).size


def quadratics(matrices: Sequence[Structured], F: Array, shift: np.ndarray | None = None) -> list[np.ndarray]:
    """``(F - shift)ᵀ A (F - shift)`` for each A, in float64 throughout.

    F is (n, p), dense or sparse; ``shift`` (p,) is taken from every row. One pass over blocks of F's rows serves the thin
    parts of all matrices, so that scatter matrices cost no more than a covariance.
    """
    if isinstance(F, Summary):
        forms = _quadratics([A.repeated(F.counts) for A in matrices], F, shift)
        return [form + F.scatter(A.diag) for A, form in zip(matrices, forms, strict=True)]
    return _quadratics(matrices, F, shift)


def _quadratics(matrices: Sequence[Structured], F: Array, shift: np.ndarray | None) -> list[np.ndarray]:
    p = F.shape[1]
    thin, wide = [A.thin for A in matrices], [A.wide for A in matrices]
    totals = [np.zeros((p, p)) for _ in matrices]
    sums = [[np.zeros((U.shape[1], p)) for U, _ in A.factors] for A in thin]
    constants = [None if A.diag is None or np.ptp(A.diag) else A.diag[0] for A in thin]
    gram = np.zeros((p, p))
    for rows in row_blocks(F.shape[0], p) if any(A.diag is not None or A.factors for A in thin) else ():
        block = dense_block(F, rows, shift)
        if any(constants):
            gram += block.T @ block
        for A, total, constant, products in zip(thin, totals, constants, sums, strict=True):
            if A.diag is not None and constant is None:
                total += block.T @ (A.diag[rows, None] * block)
            for (U, _), UtF in zip(A.factors, products, strict=True):
                UtF += U[rows].T @ block
    for A, rest, total, constant, products in zip(thin, wide, totals, constants, sums, strict=True):
        if constant:
            total += constant * gram
        for (_, c), UtF in zip(A.factors, products, strict=True):
            total += UtF.T @ (c[:, None] * UtF)
        if not rest.is_diagonal:
            _add_wide(total, rest, F, shift)
    return [(total + total.T) / 2 for total in totals]


def _add_wide(total: np.ndarray, A: Structured, F: Array, shift: np.ndarray | None) -> None:
    """Edges join far rows, so this takes all rows of a few columns; L F cancels where F is smooth, so not in float32."""
    for columns in row_blocks(F.shape[1], F.shape[0] // 4):
        part = F[:, columns]
        part = part.toarray() if sparse.issparse(part) else part
        product = A @ np.subtract(part, 0 if shift is None else shift[columns], dtype=np.float64)
        for rows in row_blocks(*F.shape):
            total[:, columns] += dense_block(F, rows, shift).T @ product[rows]


def row_gram(X: Array, mean: np.ndarray) -> np.ndarray:
    """(X - mean)(X - mean)ᵀ, centred before the product, a block of columns at a time."""
    n, d = X.shape
    if sparse.issparse(X):
        # A column that is mostly its mean would cancel in the expanded product, so it is centred as a dense one.
        X = X.astype(np.float64)
        flat = n * mean**2 > 0.5 * np.asarray(X.power(2).sum(axis=0)).ravel()
        rest, m = X[:, np.flatnonzero(~flat)], mean[~flat]
        cross = np.asarray(rest @ m)
        gram = (rest @ rest.T).toarray() - cross[:, None] - cross[None, :] + m @ m
        return gram + row_gram(X[:, np.flatnonzero(flat)].toarray(), mean[flat])
    gram = np.zeros((n, n))
    step = max(1, 2 * BLOCK_BYTES // (8 * n))
    for start in range(0, d, step):
        block = np.subtract(X[:, start : start + step], mean[start : start + step], dtype=np.float64)
        gram += block @ block.T
    return gram


def centred(F: Array, shift: np.ndarray) -> LinearOperator:
    """F - 1 shiftᵀ as an operator: sparse F stays sparse."""
    return LinearOperator(
        F.shape,
        matvec=lambda v: F @ np.ravel(v) - shift @ np.ravel(v),
        rmatvec=lambda u: F.T @ np.ravel(u) - shift * np.sum(u, dtype=np.float64),
        matmat=lambda V: F @ V - shift @ V,
        rmatmat=lambda U: F.T @ U - np.outer(shift, U.sum(axis=0)),
        dtype=np.float64,
    )


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
