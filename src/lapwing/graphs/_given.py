"""Graphs that the user brings."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._validation import equal_within
from ..neighbors import Edges
from ..operators import Structured, diagonal
from ..problem import Term
from ..rows import Rows
from ._base import Graph, Signed
from ._weights import symmetric


class Empty(Graph):
    """No links at all: what is left of a method when its graph counts for nothing."""

    reads_features = False

    def terms(self, data: Rows) -> list[Term]:
        return [Term(1.0, Structured(data.n), diagonal(np.zeros(data.n)))]


class Precomputed(Graph):
    """A weight matrix: hyperlinks, a social network, another program's graph.

    ``graph=W`` in an estimator is short for ``graph=Precomputed(W)``.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_samples, n_samples)
        Symmetric up to the rounding of its own precision, finite, not negative. It indexes rows of X, so it fits one data set
        and no cross-validation fold of it.
    """

    reads_features = False
    indexes_rows = True

    def __init__(self, W: Any):
        self.W = W

    def adjacency(self, data: Rows) -> sparse.csr_array:
        given = check_array(self.W, accept_sparse="csr", input_name="W")
        W = sparse.csr_array(given, dtype=np.float64)
        if W.shape != (data.n, data.n):
            raise ValueError(
                f"W has shape {W.shape}, but X has {data.n} samples: a precomputed graph needs one row and one column per "
                "sample, and so cannot be used where X is split (cross-validation); use KNN or another graph that is "
                "built from X there"
            )
        if W.nnz and W.data.min() < 0:
            raise ValueError(
                f"W has negative weights ({(W.data < 0).mean():.1%} of its entries); pass what repels as a graph of its own "
                "and subtract it: Precomputed(W_attract) - Precomputed(W_repel)"
            )
        largest = abs(W - W.T).max() if W.nnz else 0.0
        if largest > equal_within(given.dtype) * (W.max() if W.nnz else 1.0):
            raise ValueError(
                f"W is not symmetric (largest difference {largest:.3g}); pass (W + W.T) / 2 or W.maximum(W.T)"
            )
        return W if largest == 0 else (W + W.T) / 2


class _Links(Graph):
    """One kind of pairs."""

    reads_features = False
    counts_pairs = True
    indexes_rows = True

    def __init__(self, name: str, pairs: Any):
        self.name = name
        self.pairs = pairs

    def adjacency(self, data: Rows) -> sparse.csr_array:
        return _pair_matrix(self.name, self.pairs, data.n)


class Pairs(Graph):
    """Pairs that must be close, and pairs that must be apart.

    Parameters
    ----------
    must_link : array-like of shape (n_pairs, 2), default=None
        Row indices; each pair attracts with weight 1.
    cannot_link : array-like of shape (n_pairs, 2), default=None
        Row indices; each pair repels with weight 1.
    """

    reads_features = False
    indexes_rows = True

    def __init__(self, must_link: Any = None, cannot_link: Any = None):
        self.must_link = must_link
        self.cannot_link = cannot_link

    @property
    def is_semidefinite(self) -> bool:
        return self.cannot_link is None or np.size(self.cannot_link) == 0

    def _parts(self) -> Signed:
        given = {"must_link": (1.0, self.must_link), "cannot_link": (-1.0, self.cannot_link)}
        links: Signed = [
            (sign, _Links(name, pairs)) for name, (sign, pairs) in given.items() if pairs is not None and np.size(pairs)
        ]
        if not links:
            raise ValueError("Pairs is empty: give must_link or cannot_link, arrays of shape (n_pairs, 2)")
        return links


def _pair_matrix(name: str, pairs: Any, n: int) -> sparse.csr_array:
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must hold row indices in an integer array of shape (n_pairs, 2), not {pairs.dtype} of shape {pairs.shape}"
        )
    if pairs.min() < 0 or pairs.max() >= n:
        raise ValueError(
            f"{name} holds row {pairs.max() if pairs.max() >= n else pairs.min()}, but X has the rows 0 to {n - 1}; pairs "
            "index rows of X, and so cannot be used where X is split (cross-validation)"
        )
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise ValueError(f"{name} pairs row {pairs[pairs[:, 0] == pairs[:, 1]][0, 0]} with itself; drop that pair")
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    return symmetric(Edges(pairs[:, 0], pairs[:, 1], np.zeros(len(pairs))), np.ones(len(pairs)), n)
