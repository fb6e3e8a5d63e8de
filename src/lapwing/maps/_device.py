"""The map of rows on a device: sums over rows are made there, in float64, and only small results come back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from ..devices import Links, host, is_tensor
from ..operators import Structured
from ._map import FEW_ROWS, Deviations, Map

ENTRIES = {"cpu": 1 << 20}  # float64 numbers per block on the CPU; other devices take MANY_ENTRIES
MANY_ENTRIES = 1 << 25
FEW = 256  # this many rows are looked at, to see how far rows are from their mean
# Where the mean is more than this many times as far from the origin as from the rows, products lose over one digit.
FAR = 16.0
NEGLIGIBLE = 1e-13  # row sums of a Laplacian up to this share of its degrees count as 0


class DeviceMap(Map):
    """F = X, a tensor. Where there is a ``scale``, columns are divided by it as they are read."""

    def __init__(self, X: Any, scale: np.ndarray | None = None):
        self.torch = sys.modules["torch"]
        super().__init__(X)
        self.shape, self.dtype = tuple(X.shape), np.dtype(str(X.dtype).removeprefix("torch."))
        self.scale = None if scale is None else self._there(scale)

    def _there(self, array: Any, dtype: Any = None) -> Any:
        """An array on the device, in float64 by default."""
        dtype = self.torch.float64 if dtype is None else dtype
        array = array if is_tensor(array) else self.torch.from_numpy(np.ascontiguousarray(array))
        return array.to(self.X.device, dtype)

    def _like(self, array: Any) -> DeviceMap:
        return DeviceMap(array if is_tensor(array) else self._there(array, self.X.dtype))

    def taken(self, rows: np.ndarray) -> DeviceMap:
        return DeviceMap(self.X[self._there(rows, self.torch.int64)], self.scale)

    def _read(self, part: Any, shift: Any = None) -> Any:
        part = part.double()
        part = part if self.scale is None else part / self.scale
        return part if shift is None else part - shift

    def _steps(self, n: int, width: int) -> Iterator[slice]:
        step = max(1, ENTRIES.get(self.X.device.type, MANY_ENTRIES) // max(1, width))
        return (slice(start, min(start + step, n)) for start in range(0, n, step))

    def _chunks(self, shift: Any = None) -> Iterator[tuple[slice, Any]]:
        """All rows, some at a time, in float64 on the device."""
        for rows in self._steps(*self.shape):
            yield rows, self._read(self.X[rows], shift)

    def block(self, rows: slice, shift: np.ndarray | None = None) -> np.ndarray:
        return host(self._read(self.X[rows], None if shift is None else self._there(shift))).copy()

    def columns(self, columns: Any, shift: np.ndarray | None = None) -> np.ndarray:
        return host(self._columns(columns, None if shift is None else self._there(shift)))

    def _columns(self, columns: Any, shift: Any = None) -> Any:
        columns = self._there(columns, self.torch.int64) if isinstance(columns, np.ndarray) else columns
        part = self.X[:, columns].double()
        part = part if self.scale is None else part / self.scale[columns]
        return part if shift is None else part - shift

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The mean, found about the first row, so that the mean of a constant column is exactly that constant."""
        first = self._read(self.X[:1])[0]
        weights = None if weights is None else self._there(weights)
        total = self.torch.zeros_like(first)
        for rows, block in self._chunks(first):
            total += block.sum(0) if weights is None else weights[rows] @ block
        return host(first + total / (self.shape[0] if weights is None else weights.sum()))

    def deviations(self, few: bool = False) -> Deviations:
        if few and self.shape[0] > FEW_ROWS:
            return DeviceMap(self.X[:: ceil(self.shape[0] / FEW_ROWS)], self.scale).deviations()
        return super().deviations()

    @property
    def is_constant(self) -> bool:
        return bool((self.X[:1] == self.X).all())

    def spread(self, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
        about, weights = self._there(mean), self._there(weights)
        total = self.torch.zeros_like(about)
        for rows, block in self._chunks(about):
            total += weights[rows] @ block.square_()
        return host(total)

    def variance_along(self, Q: np.ndarray) -> np.ndarray:
        about, directions = self._there(self.plain_mean), self._there(Q)
        along, total = self.torch.zeros_like(directions[0]), self.torch.zeros_like(about[0])
        for _, block in self._chunks(about):
            along += (block @ directions).square_().sum(0)
            total += block.square_().sum()
        return host(along / total)

    def scatter(self, about: np.ndarray) -> np.ndarray:
        total = self._square()
        for _, block in self._chunks(self._there(about)):
            total.addmm_(block.T, block)
        return host((total + total.T) / 2)

    def tensors(self, shift: np.ndarray) -> Iterator[tuple[slice, Any]]:
        """All rows minus ``shift``, some at a time, as tensors in float64."""
        return self._chunks(self._there(shift))

    def weighted_scatter(self, about: np.ndarray, weights: Any) -> np.ndarray:
        """``(F - about)ᵀ diag(weights) (F - about)``."""
        total = self._square()
        for rows, block in self._chunks(self._there(about)):
            total.addmm_(block.T, weights[rows, None] * block)
        return host(total)

    def _square(self) -> Any:
        return self.torch.zeros((self.shape[1],) * 2, dtype=self.torch.float64, device=self.X.device)

    def gram_about(self, mean: np.ndarray) -> np.ndarray:
        n, d = self.shape
        about, gram = self._there(mean), self.torch.zeros((n, n), dtype=self.torch.float64, device=self.X.device)
        for columns in self._steps(d, n):
            block = self._columns(columns, about[columns])
            gram.addmm_(block, block.T)
        return host(gram)

    def forms(self, matrices: Sequence[Structured], shift: np.ndarray | None = None) -> list[np.ndarray]:
        """Sum the forms of the links, by differences, which a shift does not change, and the forms of the row sums."""
        about = None if shift is None else self._there(shift)
        totals = [self._square() for _ in matrices]
        weights = [self._row_sums(M) for M in matrices]
        constant = [None if w is None or bool((w != w[0]).any()) else float(w[0]) for w in weights]
        gram = self._square() if any(constant) else None
        for rows, block in self._chunks(about) if any(w is not None for w in weights) else ():
            if gram is not None:
                gram.addmm_(block.T, block)
            for total, w, c in zip(totals, weights, constant, strict=True):
                if w is not None and c is None:
                    total.addmm_(block.T, w[rows, None] * block)
        for M, total, c in zip(matrices, totals, constant, strict=True):
            if c:
                total.add_(gram, alpha=c)
            self._add_links(total, M)
            self._add_factors(total, M, about)
        return [host((total + total.T) / 2) for total in totals]

    def _row_sums(self, M: Structured) -> Any:
        """The row sums of the sparse part and the diagonal; None where there are none, or all are 0."""
        if M.sparse is None:
            return None if M.diag is None else self._there(M.diag)
        sums = (
            M.sparse.degrees if isinstance(M.sparse, Links) else self._there(np.asarray(M.sparse.sum(axis=1)).ravel())
        )
        if M.diag is None:
            return sums
        diag = self._there(M.diag)
        total = sums + diag
        return None if bool((total.abs() <= NEGLIGIBLE * diag.abs()).all()) else total

    def _add_links(self, total: Any, M: Structured) -> None:
        """Add ``-Σ S_ij (f_i - f_j)(f_i - f_j)ᵀ`` over pairs: differences lose no digits where F is smooth."""
        if M.sparse is None:
            return
        links = M.sparse if isinstance(M.sparse, Links) else self._links(M.sparse)
        for part in self._steps(len(links.weights), self.shape[1]):
            apart = self.X[links.first[part]].double()
            apart -= self.X[links.second[part]]
            if self.scale is not None:
                apart /= self.scale
            total.addmm_(apart.T, links.weights[part, None] * apart, alpha=-1)

    def _links(self, S: Any) -> Links:
        above = sparse.triu(S, k=1, format="coo")
        i, j = (self._there(index, self.torch.int64) for index in (above.row, above.col))
        return Links(S.shape[0], i, j, self._there(above.data))

    def _add_factors(self, total: Any, M: Structured, about: Any) -> None:
        for U, c in M.factors:
            product = self._with_factor(U, about)
            total.addmm_(product.T, self._there(c)[:, None] * product)

    def _with_factor(self, U: Any, about: Any) -> Any:
        """``Uᵀ (F - about)``."""
        torch, (n, p) = self.torch, self.shape
        product = torch.zeros((U.shape[1], p), dtype=torch.float64, device=self.X.device)
        if not (sparse.issparse(U) or isinstance(U, LinearOperator)):
            for rows, block in self._chunks(about):
                product.addmm_(self._there(U[rows]).T, block)
            return product
        if sparse.issparse(U):
            coo = sparse.coo_array(U)
            places = torch.stack([self._there(index, torch.int64) for index in (coo.col, coo.row)])
            with torch.sparse.check_sparse_tensor_invariants(False):
                across = torch.sparse_coo_tensor(places, self._there(coo.data), (U.shape[1], n))
        for columns in self._steps(p, n):
            part = self._columns(columns, None if about is None else about[columns])
            product[:, columns] = torch.sparse.mm(across, part) if sparse.issparse(U) else self._there(U.T @ host(part))
        return product

    def form_diagonal(self, M: Structured, shift: np.ndarray) -> np.ndarray:
        return np.diagonal(self.forms([M], shift)[0])

    def _onto(self, about: np.ndarray, N: np.ndarray) -> Any:
        coordinates = self.torch.empty((self.shape[0], N.shape[1]), dtype=self.X.dtype, device=self.X.device)
        directions = self._there(N)
        for rows, block in self._chunks(self._there(about)):
            coordinates[rows] = (block @ directions).to(self.X.dtype)
        return coordinates

    def combined(self, mean: np.ndarray, C: np.ndarray) -> np.ndarray:
        combinations = self._there(C)
        total = self.torch.zeros((C.shape[1], self.shape[1]), dtype=self.torch.float64, device=self.X.device)
        for rows, block in self._chunks(self._there(mean)):
            total.addmm_(combinations[rows].T, block)
        return host(total)

    def centred(self, shift: np.ndarray, scale: float = 1.0) -> LinearOperator:
        """``scale (F - 1 shiftᵀ)`` as an operator on NumPy arrays, whose products are made on the device."""
        about = self._there(shift)

        def times(V: np.ndarray) -> np.ndarray:
            columns = self._there(V.reshape(self.shape[1], -1))
            product = self.torch.cat([block @ columns for _, block in self._chunks(about)])
            return (scale * host(product)).reshape(-1, *V.shape[1:])

        def transposed(U: np.ndarray) -> np.ndarray:
            return (scale * self.combined(shift, U.reshape(self.shape[0], -1)).T).reshape(-1, *U.shape[1:])

        return LinearOperator(
            self.shape, matvec=times, matmat=times, rmatvec=transposed, rmatmat=transposed, dtype=np.float64
        )

    def projected(self, mean: Any, components: Any) -> Any:
        """``(F - mean) componentsᵀ`` as a tensor: one product of F, from which that of the mean is subtracted.

        Where the mean is so far away that the difference of the two products would lose digits, the mean is subtracted from
        the rows first, some rows at a time.
        """
        torch, X, scale = self.torch, self.X, self.scale
        V, about = self._there(components), self._there(mean)
        if scale is not None:
            V, about = V / scale, about * scale
        V, offset = V.T.to(X.dtype), -(V @ about)
        # The product comes first, so that the device is busy while the mean is looked at.
        found = torch.addmm(offset.to(X.dtype), X, V)
        apart = X[:: max(1, len(X) // FEW)].double() - about
        if bool(about.square().sum() > FAR**2 * apart.square_().sum(1).mean()):
            about = about.to(X.dtype)
            for rows in self._steps(*self.shape):
                torch.mm(X[rows] - about, V, out=found[rows])
        return found
