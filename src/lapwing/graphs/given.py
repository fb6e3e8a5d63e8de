"""Graphs that the user gives as matrices or pairs, and the graph without links."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import check_array

from ..data import Data
from ..operators import Structured, diagonal
from ..problem import Term
from .base import Graph, Signed

Names = Any  # an array-like or None; lists of names are of many types


class Empty(Graph):
    """Links no rows at all, for what is left of a method without a graph.

    Examples
    --------
    >>> from lapwing.graphs import Empty
    >>> Empty().build([[0.0], [1.0]])[0].laplacian.toarray()
    array([[0., 0.],
           [0., 0.]])
    """

    reads_features = False

    def terms(self, data: Data) -> list[Term]:
        return [Term(1.0, Structured(data.n), diagonal(np.zeros(data.n)))]


@dataclass(eq=False, repr=False)
class Precomputed(Graph):
    """Links rows by a matrix of weights that you give: hyperlinks, a social network, or the graph of another program.

    ``graph=W`` in an estimator is short for ``graph=Precomputed(W)``.

    Parameters
    ----------
    W : array-like or sparse matrix of shape (n_samples, n_samples)
        The weights: symmetric, finite, not negative. Without ``ids`` W has one row per row of X, so that it fits one data set
        and no cross-validation fold of it.
    ids : array-like of shape (n_rows_of_W,), default=None
        The names of the rows of W. The rows of X then go by their names, in the index of a data frame or in a column
        (``On(0, Precomputed(W, ids=ids), beside=True)``), and each cross-validation fold takes its part of W.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from lapwing.graphs import Precomputed
    >>> W = np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> X = pd.DataFrame({"x": [0.1, 0.2]}, index=["c", "b"])  # a part of the rows, in another order
    >>> Precomputed(W, ids=["a", "b", "c"]).build(X)[0].laplacian.toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    W: ArrayLike
    _: KW_ONLY
    ids: Names = None

    reads_features = False
    indexes_rows = property(lambda self: self.ids is None)

    def adjacency(self, data: Data) -> sparse.csr_array:
        W = self._weights(data.n)
        if self.ids is None:
            return W
        places = {name: place for place, name in enumerate(self.ids)}
        if not len(places) == len(self.ids) == W.shape[0]:
            raise ValueError(f"ids must hold a name for each of the {W.shape[0]} rows of W, and no name twice")
        names = list(named_rows(data, "Precomputed(W, ids=...)"))
        if unknown := [name for name in names if name not in places]:
            found = f"{len(unknown)} of the {data.n} rows of X are not in ids, the first is {unknown[0]!r}"
            raise ValueError(f"{found}; add them to W and ids, without links if they have none")
        rows = np.array([places[name] for name in names], dtype=np.intp)
        return W[rows][:, rows]

    def _weights(self, n: int) -> sparse.csr_array:
        """W as it was given. It is for n samples, or for more of them where there are ids."""
        given = check_array(self.W, accept_sparse="csr", input_name="W")
        W = sparse.csr_array(given, dtype=np.float64)
        if W.shape != (n, n) and self.ids is None:
            raise ValueError(
                f"W has shape {W.shape}, but X has {n} samples: a precomputed graph needs one row and one column per sample, and "
                "so cannot be used where X is split (cross-validation); give ids=, the names of its rows, or use KNN there"
            )
        if W.shape[0] != W.shape[1]:
            raise ValueError(f"W has shape {W.shape}, and must be square: one row and one column per name")
        if W.nnz and W.data.min() < 0:
            share = f"{(W.data < 0).mean():.1%} of its entries"
            raise ValueError(f"W has negative weights ({share}); subtract them: Precomputed(W) - Precomputed(W_repel)")
        largest = abs(W - W.T).max() if W.nnz else 0.0
        eps = float(np.finfo(given.dtype if given.dtype.kind == "f" else np.float64).eps)
        if largest > max(1e-10, 100 * eps) * (W.max() if W.nnz else 1.0):
            remedy = "pass (W + W.T) / 2 or W.maximum(W.T)"
            raise ValueError(f"W is not symmetric (largest difference {largest:.3g}); {remedy}")
        return W if largest == 0 else (W + W.T) / 2


def named_rows(data: Data, what: str) -> Any:
    """The names of the rows of X."""
    of_frame = getattr(data.given, "index", None) if hasattr(data.given, "iloc") else None
    index = of_frame if data.names is None else data.names
    if index is None or len(index) != data.n:
        raise ValueError(
            f"{what} knows rows by their names, and X has none: arrays and sparse matrices have no index; pass a pandas data "
            'frame, in pipelines by set_output(transform="pandas"), or take names from a column: On(column, ..., beside=True)'
        )
    return index


@dataclass(eq=False, repr=False)
class Pairs(Graph):
    """Links pairs of rows that you list: some must be close, others must be apart.

    Parameters
    ----------
    must_link : array-like of shape (n_pairs, 2), default=None
        The row indices of pairs that attract.
    cannot_link : array-like of shape (n_pairs, 2), default=None
        The row indices of pairs that repel.
    weights : array-like of shape (n_pairs,), default=None
        How much each pair counts, those of ``must_link`` first; None is 1 for every pair. The weights of a pair that is listed
        again are added up.
    by_id : bool, default=False
        Whether the pairs hold the names of rows, and not their places: the index of the data frame X, or a column,
        ``On("id", Pairs(..., by_id=True), beside=True)``. A cross-validation fold then takes the pairs of which it has both.

    Examples
    --------
    >>> import pandas as pd
    >>> from lapwing.graphs import Pairs
    >>> X = pd.DataFrame({"x": [0.1, 0.2, 0.5]}, index=["ann", "bob", "eve"])
    >>> Pairs([["eve", "ann"], ["bob", "tom"]], by_id=True).build(X)[0].laplacian.toarray()
    array([[ 1.,  0., -1.],
           [ 0.,  0.,  0.],
           [-1.,  0.,  1.]])
    """

    must_link: ArrayLike | None = None
    cannot_link: ArrayLike | None = None
    _: KW_ONLY
    weights: ArrayLike | None = None
    by_id: bool = False

    reads_features, counts_pairs = False, True
    indexes_rows = property(lambda self: not self.by_id)
    is_semidefinite = property(lambda self: self.cannot_link is None or np.size(self.cannot_link) == 0)

    def signed(self) -> Signed:
        """The pairs that must be linked attract, and those that must not repel. Each are a graph with ``must_link`` alone."""
        both: list[tuple[float, Any]] = [(1.0, self.must_link), (-1.0, self.cannot_link)]
        given = [(c, p) for c, p in both if p is not None and np.size(p)]
        if not given:
            raise ValueError("Pairs is empty: give must_link or cannot_link, arrays of shape (n_pairs, 2)")
        if self.is_semidefinite:
            return [(1.0, self)]
        ends = np.cumsum([len(pairs) for _, pairs in given])
        each = [None] * len(given) if self.weights is None else np.split(self._checked_weights(ends[-1]), ends[:-1])
        return [(c, Pairs(pairs, weights=w, by_id=self.by_id)) for (c, pairs), w in zip(given, each, strict=True)]

    def _checked_weights(self, n_pairs: int) -> np.ndarray:
        weights = check_array(self.weights, ensure_2d=False, dtype=np.float64, input_name="weights")
        if weights.shape != (n_pairs,) or weights.min() <= 0:
            found = f"weights of Pairs have shape {weights.shape} and a minimum of {weights.min():.3g}"
            raise ValueError(f"{found}, for {n_pairs} pairs; give each a number above 0")
        return weights

    def adjacency(self, data: Data) -> sparse.csr_array:
        listed: Any = self.must_link
        pairs, which = self._present(data) if self.by_id else (np.asarray(listed), slice(None))
        n = data.n
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            found = f"{pairs.dtype} of shape {pairs.shape}"
            raise ValueError(f"must_link and cannot_link must be integer arrays of shape (n_pairs, 2), not {found}")
        if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
            raise ValueError(
                f"Pairs holds row {pairs.max() if pairs.max() >= n else pairs.min()}, but X has the rows 0 to {n - 1}; pairs "
                "index rows of X, and so cannot be used where X is split (cross-validation), unless by_id=True"
            )
        if (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError(f"Pairs has row {pairs[pairs[:, 0] == pairs[:, 1]][0, 0]} with itself; drop that pair")
        pairs, again = np.unique(np.sort(pairs, axis=1), axis=0, return_inverse=True)
        weights: np.ndarray = np.ones(len(pairs))
        if self.weights is not None:
            weights = np.bincount(again.ravel(), self._checked_weights(len(listed))[which], len(pairs))
        return data.symmetric_weights(pairs[:, 0], pairs[:, 1], weights)

    def _present(self, data: Data) -> tuple[np.ndarray, Any]:
        """The places of those pairs whose two rows are both present, and which pairs they are."""
        places: dict[Any, list[int]] = {}
        for place, name in enumerate(named_rows(data, "Pairs(by_id=True)")):
            places.setdefault(name, []).append(place)
        pairs: Any = self.must_link
        if any(len(pair) != 2 or pair[0] == pair[1] for pair in pairs):
            raise ValueError("must_link and cannot_link must hold pairs of different names of rows")
        found = [(i, j, p) for p, (a, b) in enumerate(pairs) for i in places.get(a, ()) for j in places.get(b, ())]
        *ends, which = np.array(found, dtype=np.intp).reshape(-1, 3).T
        return np.transpose(ends), which
