"""Images and tensors, which are multiplied by one matrix per mode and never stretched into vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..operators import Structured, row_blocks
from ._device import DeviceMap

IMAGES = 1 << 24  # on a device, samples of this many entries together are projected at a time
Modes = Sequence[np.ndarray | None]  # a matrix (l, n_m) for each mode, None for the identity


class TensorMap:
    """The map F of samples of shape n1 x n2 x ...: each mode is multiplied by its matrix.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n1, n2, ...)
    mean : ndarray of shape (n1, n2, ...)
        What is subtracted.
    """

    def __init__(self, X: np.ndarray, mean: np.ndarray):
        self.X, self.mean, self.dtype = X, mean, X.dtype

    def projected(self, modes: Modes) -> np.ndarray:
        """``X - mean``, projected; in float64, a block of samples at a time."""
        shape = [size if P is None else len(P) for size, P in zip(self.mean.shape, modes, strict=True)]
        Y = np.empty((len(self.X), *shape))
        for rows in row_blocks(len(self.X), self.mean.size):
            Y[rows] = multiplied(np.subtract(self.X[rows], self.mean, dtype=np.float64), modes)
        return Y

    def spread(self, modes: Modes, weights: np.ndarray) -> float:
        """The sum of squares of the projected samples, under weights."""
        Y = self.projected(modes).reshape(len(self.X), -1)
        return float(weights @ np.einsum("ij,ij->i", Y, Y))

    def forms(self, matrices: Sequence[Structured], modes: Modes, m: int) -> list[np.ndarray]:
        r""":math:`\sum_{ij} M_{ij} Y_i^{(m)} Y_j^{(m)\top}` for each n x n matrix M, :math:`Y_i^{(m)}` being the projected
        sample i with mode m as its rows.

        Seen from mode m, a sample is a bundle of vectors, and M couples the vectors in the same place of all samples. So all
        that is needed is a product with M along the samples, for as many places at a time as fit in a block.
        """
        Y = self.projected(modes)
        n, size = len(Y), Y.shape[m + 1]
        bundles = np.moveaxis(Y, m + 1, -1).reshape(n, -1, size)
        totals = [np.zeros((size, size)) for _ in matrices]
        for places in row_blocks(bundles.shape[1], n * size):
            block = np.ascontiguousarray(bundles[:, places])
            for M, total in zip(matrices, totals, strict=True):
                total += block.reshape(-1, size).T @ (M @ block).reshape(-1, size)
        return [(total + total.T) / 2 for total in totals]


class DeviceTensorMap(TensorMap):
    """The same on a device. X is a tensor, while the mean and the matrices are small NumPy arrays."""

    X: Any

    def __init__(self, X: Any, mean: np.ndarray):
        self.X, self.mean, self.rows = X, mean, DeviceMap(X.reshape(len(X), -1)[:, :1])
        self.dtype = self.rows.dtype

    def projected(self, modes: Modes) -> Any:
        """``X - mean``, projected, as a tensor in float64."""
        torch, X = self.rows.torch, self.X
        mean = torch.from_numpy(np.ascontiguousarray(self.mean, dtype=np.float64)).to(X.device)
        there = [
            None if P is None else torch.from_numpy(np.ascontiguousarray(P, dtype=np.float64)).to(X.device)
            for P in modes
        ]
        step = max(1, IMAGES // self.mean.size)
        parts = []
        for start in range(0, len(X), step):
            T = X[start : start + step].double() - mean
            for axis, P in enumerate(there, start=1):
                T = T if P is None else torch.movedim(torch.movedim(T, axis, -1) @ P.T, -1, axis)
            parts.append(T)
        return torch.cat(parts)

    def forms(self, matrices: Sequence[Structured], modes: Modes, m: int) -> list[np.ndarray]:
        """As on the CPU: the sum, over the places outside mode m, of the forms of the vectors in that place."""
        torch = self.rows.torch
        bundles = torch.movedim(self.projected(modes), m + 1, -1)
        n, size = len(bundles), bundles.shape[-1]
        bundles = bundles.reshape(n, -1, size)
        totals = [np.zeros((size, size)) for _ in matrices]
        for place in range(bundles.shape[1]):
            for total, part in zip(totals, DeviceMap(bundles[:, place].contiguous()).forms(matrices), strict=True):
                total += part
        return totals


def multiplied(T: np.ndarray, modes: Modes) -> np.ndarray:
    """Each sample, with every mode multiplied by its matrix."""
    for axis, P in enumerate(modes, start=1):
        if P is not None:
            T = np.moveaxis(np.moveaxis(T, axis, -1) @ P.T, -1, axis)
    return T
