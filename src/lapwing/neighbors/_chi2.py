"""The chi-square distance of histograms, and the search by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
from sklearn.utils import check_array
from threadpoolctl import threadpool_limits

from ..blocks import Progress
from ..operators import row_blocks
from ._choice import TIE, choose

TILE = 256  # rows per tile of distances
INNER_BYTES = 1 << 18  # One row is compared with this many bytes of rows at a time, so that these stay in the cache.
MORE = 8  # a search in float32 keeps this many neighbours beyond k
TINY = 1e-30  # added to denominators, so that 0 / 0 is 0


def chi2_distances(X: Any, Y: Any = None) -> np.ndarray:
    r"""Chi-square distances of histograms.

    .. math:: \chi^2(x, y) = \sum_s \frac{(x_s - y_s)^2}{x_s + y_s}, \qquad 0/0 = 0

    Parameters
    ----------
    X : array-like of shape (n_samples, n_bins)
        Histograms: no negative entry.
    Y : array-like of shape (n_others, n_bins), default=None
        None is X.

    Returns
    -------
    ndarray of shape (n_samples, n_others)

    Examples
    --------
    >>> from lapwing.metrics import chi2_distances
    >>> chi2_distances([[1.0, 3.0, 0.0]], [[1.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
    array([[1., 3.]])
    """
    X = check_histograms(X).astype(np.float64, copy=False)
    if Y is None:
        distances = np.empty((len(X), len(X)))
        for rows, cols, tile in _tiles(X, X):
            distances[rows, cols] = tile
            distances[cols, rows] = tile.T
            if rows == cols:
                distances[rows, cols] = (tile + tile.T) / 2
        np.fill_diagonal(distances, 0)
        return distances
    Y = check_histograms(Y).astype(np.float64, copy=False)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} bins, but Y has {Y.shape[1]}")
    distances = np.empty((len(X), len(Y)))
    for rows, cols, tile in _tiles(X, Y):
        distances[rows, cols] = tile
    return distances


def chi2_neighbors(X: np.ndarray, Y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The distances and indices of the k rows of Y nearest to each row of X, nearest first; of equally distant rows the first.

    Where X is Y, a row is not its own neighbour, and each pair is compared once. The search is in float32 and keeps a few
    more than k rows, whose distances are then found in float64. Where these do not settle which k rows are the nearest, the
    row is compared with all rows again. Memory is n x k and a few tiles.
    """
    itself = X is Y
    m = min(k + MORE, len(Y) - itself)
    scale = max(X.max(), Y.max(), TINY)  # rows are scaled to at most 1, since float32 has a small range
    single = (X / scale).astype(np.float32)
    rough, indices = _rough_neighbors(single, single if itself else (Y / scale).astype(np.float32), m)
    rough *= scale
    distances = np.empty(indices.shape)
    for rows in row_blocks(len(X), 2 * m * X.shape[1]):
        distances[rows] = chi2_paired(X[rows, None].astype(np.float64), Y[indices[rows]].astype(np.float64))
    places = choose(np.repeat(np.arange(len(X)), m), indices.ravel(), distances.ravel(), k)
    distances, indices = (a.ravel()[places].reshape(-1, k) for a in (distances, indices))
    if m < len(Y) - itself:
        sums = Y.sum(axis=1, dtype=np.float64)
        error = 1e-5 * (X.sum(axis=1, dtype=np.float64) + 2 * sums[indices].max(axis=1))
        for row in np.flatnonzero(rough[:, -1] < distances[:, -1] * (1 + TIE) + error):
            whole = _from_all(X[row], Y)
            if itself:
                whole[row] = np.inf
            indices[row] = choose(np.zeros(len(Y), dtype=np.intp), np.arange(len(Y)), whole, k)
            distances[row] = whole[indices[row]]
    return distances, indices


def chi2_paired(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The distance of each row of x from the row of y in the same place, in float64."""
    return np.sum((x - y) ** 2 / np.maximum(x + y, TINY), axis=-1)


def _from_all(x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    parts = [chi2_paired(x.astype(np.float64), Y[rows].astype(np.float64)) for rows in row_blocks(*Y.shape)]
    return np.concatenate(parts)


def _rough_neighbors(X: np.ndarray, Y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    distances = np.full((len(X), k), np.inf)
    indices = np.full((len(X), k), len(Y))

    def merge(rows: slice, cols: slice, tile: np.ndarray) -> None:
        d = np.concatenate([distances[rows], tile], axis=1)
        j = np.concatenate([indices[rows], np.broadcast_to(np.arange(cols.start, cols.stop), tile.shape)], axis=1)
        order = np.argpartition(d, k - 1, axis=1)[:, :k]
        distances[rows], indices[rows] = np.take_along_axis(d, order, axis=1), np.take_along_axis(j, order, axis=1)

    for rows, cols, tile in _tiles(X, Y):
        if X is Y and rows == cols:
            np.fill_diagonal(tile, np.inf)
        merge(rows, cols, tile)
        if X is Y and rows != cols:
            merge(cols, rows, tile.T)
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


def check_histograms(X: Any) -> np.ndarray:
    """X in floating point. Negative entries raise an error."""
    X = check_array(X, dtype=[np.float64, np.float32])
    if X.min() < 0:
        raise ValueError(
            f"the chi-square distance is for histograms, but X has negative entries (the least is {X.min():.3g}); use "
            "another metric or features without a sign"
        )
    return X


def _tiles(X: np.ndarray, Y: np.ndarray) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Tiles of the distances in a fixed order, computed a few at a time on all cores. Where X is Y, only the upper half."""
    blocks = [
        (slice(i, min(i + TILE, len(X))), slice(j, min(j + TILE, len(Y))))
        for i in range(0, len(X), TILE)
        for j in range(i if X is Y else 0, len(Y), TILE)
    ]
    n_jobs = joblib.cpu_count()
    compute = _tile_function(X, Y)
    with (
        Progress("searching", len(X)) as progress,
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(n_jobs) as pool,
    ):
        for start in range(0, len(blocks), 4 * n_jobs):
            part = blocks[start : start + 4 * n_jobs]
            for (rows, cols), tile in zip(part, pool.map(compute, part), strict=True):
                yield rows, cols, tile
            progress(len(X) * min(start + 4 * n_jobs, len(blocks)) // len(blocks))


def _tile_function(X: np.ndarray, Y: np.ndarray) -> Callable[[tuple[slice, slice]], np.ndarray]:
    r"""One tile, by :math:`\chi^2 = \sum y - 3 \sum x + 4 \sum x^2 / (x + y)`: two passes and one product per pair."""
    dtype = np.result_type(X, Y)
    tiny = np.asarray(TINY, dtype=dtype)
    sums_x, sums_y = X.sum(axis=1, dtype=np.float64), Y.sum(axis=1, dtype=np.float64)
    step = max(1, INNER_BYTES // (dtype.itemsize * X.shape[1]))

    def compute(block: tuple[slice, slice]) -> np.ndarray:
        rows, cols = block
        tile = np.empty((rows.stop - rows.start, cols.stop - cols.start))
        x, y = X[rows], Y[cols]
        squares, shifted = 4 * x * x, x + tiny
        inverse = np.empty((step, X.shape[1]), dtype=dtype)
        for j in range(0, len(y), step):
            part = y[j : j + step]
            out = inverse[: len(part)]
            for i in range(len(x)):
                np.add(part, shifted[i], out=out)
                np.reciprocal(out, out=out)
                tile[i, j : j + step] = out @ squares[i]
        tile += sums_y[cols] - 3 * sums_x[rows, None]
        return np.maximum(tile, 0)

    return compute
