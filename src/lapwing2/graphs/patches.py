"""Graphs of patches, each of a row and its neighbours: reconstruction weights, and how free maps place new rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..data import Data, SparseData
from ..operators import row_blocks


def barycentric_weights(data: Data, rows: np.ndarray, neighbors: np.ndarray, reg: float) -> np.ndarray:
    """The weights (len(rows), k) of the best affine combination of the neighbours. Each row of weights sums to 1."""
    k = neighbors.shape[1]
    weights = np.empty(neighbors.shape)
    for block in row_blocks(rows.size, k * max(k, 2 * data.d)):
        G = local_grams(data, rows[block], neighbors[block])
        trace = np.trace(G, axis1=1, axis2=2)
        # Where all neighbours equal the row, any weights will do, and these give 1/k.
        ridge = np.where(trace > 0, reg * trace, 1.0)
        G[:, np.arange(k), np.arange(k)] += ridge[:, None]
        if reg == 0 and (np.linalg.matrix_rank(G, hermitian=True) < k).any():
            raise ValueError(
                "reg=0 leaves a local Gram matrix singular (more neighbours than dimensions, or equal rows); use reg > 0"
            )
        w = np.linalg.solve(G, np.ones((*G.shape[:2], 1)))[..., 0]
        weights[block] = w / w.sum(axis=1, keepdims=True)
    return weights


def local_grams(data: Data, rows: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """The Gram matrices of the differences ``x_j - x_i``, over the neighbours j of i."""
    (b, k), points = neighbors.shape, np.concatenate([rows[:, None], neighbors], axis=1)
    if not data.has_features:
        i, j = np.broadcast_arrays(points[:, :, None], points[:, None, :])
        products = data.inner_products(i.ravel(), j.ravel()).reshape(b, k + 1, k + 1)
        own, cross = products[:, :1, :1], products[:, 1:, :1]
        return products[:, 1:, 1:] - cross - cross.transpose(0, 2, 1) + own
    if not isinstance(data, SparseData):
        apart = data.rows_at(neighbors) - data.rows_at(rows)[:, None, :]
        return apart @ apart.transpose(0, 2, 1)
    own = data.X[rows].astype(np.float64)
    differences = [data.X[neighbors[:, j]].astype(np.float64) - own for j in range(k)]
    grams = np.empty((b, k, k))
    for a in range(k):
        for b_ in range(a, k):
            product = sparse.csr_array(differences[a].multiply(differences[b_]))
            grams[:, a, b_] = grams[:, b_, a] = np.asarray(product.sum(axis=1)).ravel()
    return grams


def affine_extension(data: Data, Y: np.ndarray, new: np.ndarray, neighbors: np.ndarray) -> np.ndarray:
    """The places of new rows, by the affine map from tangent coordinates to Y on the patch of their neighbours."""
    placed, d = np.empty((new.size, Y.shape[1])), Y.shape[1]
    for part in row_blocks(new.size, 4 * neighbors.shape[1] * data.d):
        patches, targets = data.rows_at(neighbors[part]), Y[neighbors[part]]
        means, centres = patches.mean(axis=1, keepdims=True), targets.mean(axis=1, keepdims=True)
        _, _, Vt = np.linalg.svd(patches - means, full_matrices=False)
        axes = Vt[:, :d].transpose(0, 2, 1)
        slope = np.linalg.pinv((patches - means) @ axes, rcond=1e-6) @ (targets - centres)
        placed[part] = (((data.rows_at(new[part, None]) - means) @ axes) @ slope + centres)[:, 0]
    return placed
