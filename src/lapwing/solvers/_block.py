"""Block Lanczos with thick restarts: it multiplies many vectors at once, in the precision of the data.

SciPy's ``lobpcg`` may fail to converge, and ARPACK finds a repeated eigenvalue once (``benchmarks/solvers.py`` compares them).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from scipy.linalg import qr
from sklearn.exceptions import ConvergenceWarning

Apply = Callable[[np.ndarray], np.ndarray]

# Where X is too large for the cache, a product with 16 vectors takes as long as 4 products with one vector. But what a basis
# finds grows with the number of its blocks. So a basis has 16 blocks, and 5 k vectors or more (measured).
WIDEST_BLOCK, NARROWEST_BLOCK, BASIS_BLOCKS, BASIS_PER_PAIR = 16, 4, 16, 5
MOST_RESTARTS = 1000
ROTATED_ROWS = 4096  # this many rows are rotated at a time
# Columns shorter than this share of the longest count as nearly dependent; the square of the share still exceeds rounding.
DEPENDENT_SHARE = 1e-5


def block_largest(
    apply: Apply, deflated: np.ndarray, k: int, tol: float
) -> tuple[np.ndarray, np.ndarray, float | None]:
    """The largest k eigenpairs, descending and orthogonal to ``deflated``, each as often as it repeats, and a bound of the next.

    ``apply`` multiplies blocks of vectors in the precision of ``deflated``. Residuals are at most ``tol`` times the largest
    eigenvalue.
    """
    random, width = np.random.RandomState(0), _width(k)
    values, vectors, following = _search(apply, deflated, k, tol, random)
    # A block shows an eigenvalue at most as often as it is wide. One that occurs as often may hide more of its vectors.
    while (values[:-width] - values[width - 1 : -1] <= tol * abs(values[0])).any():
        found = np.hstack([deflated, vectors])
        more, others, _ = _search(apply, found, width, tol, random, np.abs(values).max())
        following = float(more[0] + tol * abs(values[0]))
        if more[0] <= values[-1] + tol * abs(values[0]):
            break
        order = np.argsort(-np.append(values, more), kind="stable")[:k]
        values, vectors = np.append(values, more)[order], np.hstack([vectors, others])[:, order]
    return values, vectors, following


def _width(k: int) -> int:
    return min(max(-(-BASIS_PER_PAIR * k // BASIS_BLOCKS), NARROWEST_BLOCK), WIDEST_BLOCK)


def _search(
    apply: Apply, deflated: np.ndarray, k: int, tol: float, random: np.random.RandomState, scale: float = 0.0
) -> tuple[np.ndarray, np.ndarray, float | None]:
    krylov = _Krylov(deflated, k, random)
    for _ in range(MOST_RESTARTS):
        krylov.grow(apply)
        values, rotation, residuals = krylov.pairs()
        if (residuals[:k] <= tol * max(scale, np.abs(values).max())).all():
            break
        krylov.restart(values, rotation)
    else:
        said = f"the eigenvectors have residuals of {residuals[:k].max():.2g} after {MOST_RESTARTS} restarts, above {tol:.2g}"
        warnings.warn(said, ConvergenceWarning, stacklevel=2)
    following = float(values[k] + residuals[k]) if k < values.size else None
    V = krylov.columns[:, krylov.before : -krylov.width]
    return values[:k], V @ rotation[:, :k].astype(V.dtype), following


class _Krylov:
    """An orthonormal basis V with ``A V = V T + F R``. F is the next block, and T = Vᵀ A V.

    ``columns`` are the deflated vectors, V and F.
    """

    def __init__(self, deflated: np.ndarray, k: int, random: np.random.RandomState):
        n, self.before = deflated.shape
        self.k, self.count, self.width = k, 0, _width(k)
        room = (n - self.before) // self.width - 1
        self.size = self.width * min(max(-(-BASIS_PER_PAIR * k // self.width), BASIS_BLOCKS), room)
        self.columns = np.empty((n, self.before + self.size + self.width), deflated.dtype, order="F")
        self.columns[:, : self.before] = deflated
        self.T = np.zeros((self.size, self.size))
        self._append(random.standard_normal((n, self.width)).astype(deflated.dtype))

    def grow(self, apply: Apply) -> None:
        """Multiply by A until the basis is full."""
        while self.count + self.width <= self.size:
            new = slice(self.count, self.count + self.width)
            self.count += self.width
            H, self.R = self._append(apply(self.columns[:, self.before :][:, new]))
            H = H[self.before :]
            self.T[new, : self.count], self.T[: self.count, new] = H.T, H
            self.T[new, new] = (H[new] + H[new].T) / 2

    def _append(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make F from W such that ``W = columns H + F R``, by two projections, and more where rounding was left."""
        end = self.before + self.count
        columns, H, R = self.columns[:, :end], np.zeros((end, self.width)), np.eye(self.width)
        for attempt in range(5):
            inner = columns.T @ W
            W = W - columns @ inner
            H += inner @ R
            W, factor = _orthonormal(W)
            R = factor @ R
            if attempt and np.abs(np.diagonal(factor)).min() > 0.5:
                break
        self.columns[:, end : end + self.width] = W
        return H, R

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The Ritz values, descending, the rotation of V to their vectors, and the norms of their residuals."""
        values, rotation = np.linalg.eigh(self.T)
        values, rotation = values[::-1], rotation[:, ::-1]
        return values, rotation, np.linalg.norm(self.R @ rotation[-self.width :], axis=0)

    def restart(self, values: np.ndarray, rotation: np.ndarray) -> None:
        """Keep F and the first Ritz vectors: so many that half of the room beyond k is free."""
        kept = self.size - self.width * max(1, (self.size - self.k) // (2 * self.width))
        V, rotation = self.columns[:, self.before : -self.width], rotation[:, :kept].astype(self.columns.dtype)
        for start in range(0, len(V), ROTATED_ROWS):  # in place
            V[start : start + ROTATED_ROWS, :kept] = V[start : start + ROTATED_ROWS] @ rotation
        V[:, kept : kept + self.width] = self.columns[:, -self.width :]
        self.T[:] = 0
        # The next product gives the entries that couple these vectors with F.
        self.T[np.arange(kept), np.arange(kept)] = values[:kept]
        self.count = kept


def _orthonormal(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``W = F R``, by the Cholesky factor of the Gram matrix in float64, or more slowly where columns are nearly dependent."""
    wide = W.astype(np.float64)
    with suppress(np.linalg.LinAlgError):
        R = np.linalg.cholesky(wide.T @ wide).T
        lengths = np.diagonal(R)
        if lengths.min() > DEPENDENT_SHARE * lengths.max():
            return W @ np.linalg.inv(R).astype(W.dtype), R
    return qr(W, mode="economic", check_finite=False)
