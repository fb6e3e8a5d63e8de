"""Block Lanczos with thick restarts: products with many vectors at once, in the precision of the data."""

from __future__ import annotations

import sys
import warnings

import numpy as np
from scipy.linalg import qr
from sklearn.exceptions import ConvergenceWarning

from ._lanczos import Apply

# A product with 16 vectors takes the time of 4 products with one where X is too large for the cache, but what a basis finds
# grows with the number of its blocks: 16 of them, and 5 k vectors or more (measured).
WIDEST, NARROWEST, BLOCKS, SHARE = 16, 4, 16, 5
RESTARTS = 1000
ROWS = 4096  # rotated at a time
DEPENDENT = 1e-5  # a share of the longest column: its square is still told from rounding


def block_largest(apply: Apply, deflated: np.ndarray, k: int, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """The largest k eigenpairs, descending, orthogonal to ``deflated``, repeated eigenvalues as often as they are.

    ``apply`` multiplies blocks of vectors, in the precision of ``deflated``; residuals come to ``tol`` of the largest
    eigenvalue. The basis takes ``5 k`` vectors, 64 at least, or what the length of the vectors leaves.
    """
    random, width = np.random.RandomState(0), _width(k)
    values, vectors = _search(apply, deflated, k, tol, random)
    while _may_hide(values, width, tol):
        found = np.hstack([deflated, vectors])
        more, others = _search(apply, found, width, tol, random, np.abs(values).max())
        if more[0] <= values[-1] + tol * abs(values[0]):
            break
        order = np.argsort(-np.append(values, more), kind="stable")[:k]
        values, vectors = np.append(values, more)[order], np.hstack([vectors, others])[:, order]
    return values, vectors


def _width(k: int) -> int:
    return min(max(-(-SHARE * k // BLOCKS), NARROWEST), WIDEST)


def _may_hide(values: np.ndarray, width: int, tol: float) -> bool:
    """A block of random vectors shows an eigenvalue as often as it is, up to the block's width: so often, it may hide more."""
    gaps = values[:-width] - values[width - 1 : -1]
    return bool((gaps <= tol * abs(values[0])).any())


def _search(
    apply: Apply, deflated: np.ndarray, k: int, tol: float, random: np.random.RandomState, scale: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    krylov = _Krylov(deflated, k, random)
    for _ in range(RESTARTS):
        krylov.grow(apply)
        values, rotation, residuals = krylov.pairs()
        if (residuals[:k] <= tol * max(scale, np.abs(values).max())).all():
            break
        krylov.restart(values, rotation)
    else:
        warnings.warn(
            f"the eigenvectors have residuals of {residuals[:k].max():.2g} after {RESTARTS} restarts, above {tol:.2g}; they "
            "are used as they are",
            ConvergenceWarning,
            stacklevel=_outside(),
        )
    return values[:k], krylov.rotated(rotation[:, :k])


def _outside() -> int:
    """How many frames up the first one outside of lapwing is: who called fit."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("lapwing."):
        frame, level = frame.f_back, level + 1
    return level


class _Krylov:
    """An orthonormal basis V with ``A V = V T + F R``: F is the next block, and T = Vᵀ A V.

    ``columns`` are what is deflated, V and F.
    """

    def __init__(self, deflated: np.ndarray, k: int, random: np.random.RandomState):
        n, self.before = deflated.shape
        self.k, self.count, self.width = k, 0, _width(k)
        room = (n - self.before) // self.width - 1
        self.size = self.width * min(max(-(-SHARE * k // self.width), BLOCKS), room)
        self.columns = np.empty((n, self.before + self.size + self.width), deflated.dtype, order="F")
        self.columns[:, : self.before] = deflated
        self.T = np.zeros((self.size, self.size))
        self._append(random.standard_normal((n, self.width)).astype(deflated.dtype))

    def grow(self, apply: Apply) -> None:
        """Multiply by A until the basis is full."""
        while self.count + self.width <= self.size:
            new = slice(self.count, self.count + self.width)
            block = self.columns[:, self.before :][:, new]
            self.count += self.width
            H, self.R = self._append(apply(block))
            H = H[self.before :]
            self.T[new, : self.count] = H.T
            self.T[: self.count, new] = H
            self.T[new, new] = (H[new] + H[new].T) / 2

    def _append(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make F of W, with ``W = columns H + F R``: twice, and again where what was left of W was mostly rounding."""
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
        """Ritz values, descending, the rotation of V to their vectors, and the norms of the residuals."""
        values, rotation = np.linalg.eigh(self.T)
        values, rotation = values[::-1], rotation[:, ::-1]
        return values, rotation, np.linalg.norm(self.R @ rotation[-self.width :], axis=0)

    def rotated(self, rotation: np.ndarray) -> np.ndarray:
        """V times the rotation."""
        return self.columns[:, self.before : -self.width] @ rotation.astype(self.columns.dtype)

    def restart(self, values: np.ndarray, rotation: np.ndarray) -> None:
        """Keep the first Ritz vectors, so many that half of the room beyond k is free, and F."""
        kept = self.size - self.width * max(1, (self.size - self.k) // (2 * self.width))
        V, rotation = self.columns[:, self.before : -self.width], rotation[:, :kept].astype(self.columns.dtype)
        for start in range(0, len(V), ROWS):  # in place
            V[start : start + ROWS, :kept] = V[start : start + ROWS] @ rotation
        V[:, kept : kept + self.width] = self.columns[:, -self.width :]
        self.T[:] = 0
        self.T[np.arange(kept), np.arange(kept)] = values[:kept]  # the next product gives their couplings with F
        self.count = kept


def _orthonormal(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``W = F R``: by Cholesky's factor of the Gram matrix, in float64, or slower where columns are nearly dependent."""
    wide = W.astype(np.float64)
    try:
        R = np.linalg.cholesky(wide.T @ wide).T
    except np.linalg.LinAlgError:
        return qr(W, mode="economic", check_finite=False)
    lengths = np.diagonal(R)
    if lengths.min() <= DEPENDENT * lengths.max():
        return qr(W, mode="economic", check_finite=False)
    return W @ np.linalg.inv(R).astype(W.dtype), R
