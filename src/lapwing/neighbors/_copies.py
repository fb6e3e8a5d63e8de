"""Equal rows: they are found first, and each is searched for only once."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..operators import Array, row_blocks
from ..rows import Rows, row_bytes
from ._choice import choose
from ._device import equal_rows as equal_tensors
from ._requests import Edges

DISTINCT = 0.9  # Where at least this share of the rows is distinct, repeated rows are searched for like all others.


def equal_rows(X: Array) -> np.ndarray | None:
    """One number per row, from 0, that equal rows share; None where no two rows are equal."""
    _, inverse = np.unique(_digests(X), return_inverse=True)
    if inverse.max() + 1 == X.shape[0]:
        return None
    order = np.argsort(inverse, kind="stable")
    again = np.flatnonzero(inverse[order[1:]] == inverse[order[:-1]])
    # Rows may have the same digest without being equal, which is very rare.
    if _differ(X, order[again], order[again + 1]):
        _, inverse = np.unique(np.array(row_bytes(X), dtype=object), return_inverse=True)
        return None if inverse.max() + 1 == X.shape[0] else inverse
    return inverse


def _differ(X: Array, rows: np.ndarray, others: np.ndarray) -> bool:
    for part in row_blocks(rows.size, X.shape[1]):
        unequal = X[rows[part]] != X[others[part]]
        if unequal.nnz if sparse.issparse(unequal) else unequal.any():
            return True
    return False


def _digests(X: Array) -> np.ndarray:
    """Hashes of rows, which are equal for equal rows and rarely for others. They are exact sums, which no order changes."""
    factors = np.random.RandomState(0).randint(0, 2**63, size=X.shape[1], dtype=np.uint64) | np.uint64(1)
    if sparse.issparse(X):
        terms = _folded(X.data) * factors[X.indices]
        return sparse.csr_array((terms, X.indices, X.indptr), X.shape) @ np.ones(X.shape[1], np.uint64)
    digests = np.empty(X.shape[0], np.uint64)
    for part in row_blocks(*X.shape):
        digests[part] = _folded(X[part]) @ factors
    return digests


def _folded(values: np.ndarray) -> np.ndarray:
    """The bits of numbers, with those in which whole numbers differ moved to the lower places; 0 and -0 both give 0."""
    values = np.ascontiguousarray(values + 0.0)
    if values.dtype == np.float32:
        return values.view(np.uint32).astype(np.uint64)
    bits = values.view(np.uint64)
    return bits ^ (bits >> np.uint64(32))


class Copies:
    """Rows in groups of equal rows. Where the search reads classes, the rows of a group also share their class.

    Parameters
    ----------
    members : ndarray
        The numbers of the rows, in ascending order.
    groups : ndarray of shape (n_members,)
        The group of each row, from 0.
    k : int
        How many neighbours are searched for. Of each group only the first k + 1 rows can be neighbours.
    """

    def __init__(self, members: np.ndarray, groups: np.ndarray, k: int):
        order = np.argsort(groups, kind="stable")
        counts = np.bincount(groups)
        start = np.cumsum(counts) - counts
        self.first = members[order[start]]  # the first row of each group
        self.k, self._kept = k, np.minimum(counts, k + 1)
        rank = np.arange(order.size) - np.repeat(start, counts)
        self._copies = members[order[rank <= k]]
        self._start = np.cumsum(self._kept) - self._kept
        self.thinned = np.sort(self._copies)

    @classmethod
    def among(
        cls, data: Rows, members: np.ndarray, classes: np.ndarray | None, k: int
    ) -> tuple[Copies, np.ndarray] | None:
        """The copies among these rows, and the group of each row; None where there are too few copies to matter."""
        tensor = getattr(data, "tensor", None)
        equal = data.once(("equal rows",), lambda: equal_rows(data.X) if tensor is None else equal_tensors(tensor))
        if equal is None:
            return None
        keys = equal[members]
        if classes is not None:
            keys = keys * (int(classes.max()) + 1) + classes[members]
        _, groups = np.unique(keys, return_inverse=True)
        if np.bincount(groups).max() <= k and groups.max() + 1 > DISTINCT * members.size:
            return None
        return cls(members, groups, k), groups

    def of(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of some groups that can be neighbours, and for each row the place of its group."""
        counts = self._kept[groups]
        place = np.repeat(np.arange(groups.size), counts)
        rank = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return self._copies[self._start[groups][place] + rank], place

    def neighbors(self, edges: Edges, asked: np.ndarray, itself: bool) -> Edges:
        """The k nearest rows of those asked for, from edges between the first rows of groups.

        These may be more than k per row.
        """
        first = np.argsort(self.first)
        number = first[np.searchsorted(self.first[first], edges.cols)]
        cols, place = self.of(number)
        rows, d = edges.rows[place], edges.distances[place]
        if itself:
            own, place = self.of(first[np.searchsorted(self.first[first], asked)])
            rows, cols, d = (
                np.concatenate(pair) for pair in ((rows, asked[place]), (cols, own), (d, np.zeros(own.size)))
            )
        found = Edges(rows, cols, d).where(rows != cols)
        return found.where(choose(*found, self.k))

    def spread(self, edges: Edges, queries: np.ndarray, groups: np.ndarray, itself: bool) -> Edges:
        """Give the neighbours of the first row of each group to all queries of the group.

        A query that is among the k nearest of the first row has that first row in its own place. A query that is not has the
        same neighbours as the first row. The first row is among them where it is as near as the others and comes before them.
        """
        if itself:
            asked = np.unique(edges.rows)
            edges = Edges(*map(np.concatenate, zip(edges, (asked, asked, np.zeros(asked.size)), strict=True)))
        order = np.lexsort((edges.cols, edges.distances, edges.rows))
        rows, start, counts = np.unique(edges.rows[order], return_index=True, return_counts=True)
        at = np.searchsorted(rows, self.first[groups])
        known = (at < rows.size) & (rows[np.minimum(at, rows.size - 1)] == self.first[groups])
        queries, at = queries[known], at[known]
        counts = counts[at]
        place = np.repeat(np.arange(queries.size), counts)
        ends = np.cumsum(counts)
        taken = order[start[at][place] + np.arange(place.size) - (ends - counts)[place]]
        found = Edges(queries[place], edges.cols[taken], edges.distances[taken])
        if not itself:
            return found
        drop = found.rows == found.cols
        without = np.bincount(place[drop], minlength=queries.size) == 0
        drop[ends[without] - 1] = True
        return found.where(~drop)
