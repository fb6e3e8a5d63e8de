"""Equal rows: they are found first, and each is searched for only once."""

from __future__ import annotations

import numpy as np

from ..operators import Array, row_blocks
from ..rows import Rows, row_bytes, row_width
from ._choice import choose
from ._device import equal_rows as equal_tensors
from ._requests import Edges

DISTINCT = 0.9  # Where at least this share of the rows is distinct, repeated rows are searched for like all others.


def equal_rows(X: Array) -> np.ndarray | None:
    """One number per row, from 0, that equal rows share; None where no two rows are equal."""
    parts = (row_bytes(X[part]) for part in row_blocks(X.shape[0], row_width(X)))
    hashes = np.fromiter((hash(row) for rows in parts for row in rows), np.int64, X.shape[0])
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    # Of a million rows, two that differ share their 64 bits once in 37 million data sets. Hashes differ between processes, so
    # groups are numbered by their first rows.
    return None if first.size == X.shape[0] else np.argsort(np.argsort(first))[inverse]


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
