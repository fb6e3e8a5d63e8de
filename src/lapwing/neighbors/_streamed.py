"""Rows of a NumPy array that are searched on a device: all at once where they fit there, or some at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from .._extras import require
from ._choice import Candidates
from ._device import Finder, Listed
from ._requests import Edges

# Rows may take this share of the free memory of a device. The search needs as much again for its own copy.
SHARE = 0.25
QUERIES = 1 << 16  # this many queries are searched for at a time


def device() -> Any:
    """Where ``search="torch"`` searches: the first GPU, or the CPU where there is none."""
    torch = require("torch", "gpu")
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def room(where: Any) -> int:
    """How many bytes of rows may be on the device at the same time."""
    if where.type == "cpu":
        return sys.maxsize
    return int(SHARE * require("torch", "gpu").cuda.mem_get_info(where)[0])


def streamed(
    X: np.ndarray, queries: np.ndarray, members: np.ndarray, own: np.ndarray, k: int, metric: str, whole: bool
) -> Edges:
    """Places of queries, places of their k nearest members, and how far these are.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    queries, members : ndarray
        Numbers of rows.
    own : ndarray of shape (n_queries,)
        The place of each query among the members, -1 where it is not one of them.
    k : int
    metric : {"euclidean", "cosine"}
    whole : bool
        Whether all members that are as near as the k-th are wanted, and not only k of them.
    """
    where = device()
    step = max(2 * (k + 1), room(where) // (X.shape[1] * X.itemsize))
    bounds = np.linspace(0, members.size, -(-members.size // step) + 1).astype(
        int
    )  # each more than k, unless there is one
    parts = [slice(start, min(start + QUERIES, queries.size)) for start in range(0, queries.size, QUERIES)]
    found = [Candidates(np.arange(part.start, part.stop), np.full(part.stop - part.start, np.inf), k) for part in parts]
    for start, stop in pairwise(bounds.tolist()):
        finder = Finder(_taken(X, members, slice(start, stop), where), metric)
        for part, candidates in zip(parts, found, strict=True):
            inside = (own[part] >= start) & (own[part] < stop)
            most = min(k, stop - start - int(inside.any()))
            Q, mine = _taken(X, queries, part, where), np.where(inside, own[part] - start, -1)
            mine = require("torch", "gpu").from_numpy(mine).to(where)
            for rows, numbers, d in finder.near(Q, mine, most):
                candidates.add(rows, numbers + start, d)
    edges = []
    for candidates in found:
        chosen = slice(None) if whole else candidates.chosen()
        rows = candidates.queries[candidates.rows[chosen]]
        edges.append(Edges(rows, candidates.numbers[chosen], candidates.distances[chosen]))
    return Edges.joined(edges).by_row()


def near_on_device(block: np.ndarray, Q: np.ndarray, k: int, metric: str) -> Iterator[Listed]:
    """All rows of a block that may be among the k nearest of some queries when other blocks are searched as well."""
    where = device()
    finder = Finder(_taken(block, np.arange(len(block)), slice(None), where), metric)
    for start in range(0, len(Q), QUERIES):
        part = _taken(Q, np.arange(len(Q)), slice(start, start + QUERIES), where)
        for rows, numbers, d in finder.near(part, None, k):
            yield rows + start, numbers, d


def _taken(X: np.ndarray, numbers: np.ndarray, part: slice, where: Any) -> Any:
    """Some rows, on the device."""
    some = numbers[part]
    is_range = some[-1] - some[0] == some.size - 1
    rows = X[some[0] : some[-1] + 1] if is_range else X[some]
    return require("torch", "gpu").from_numpy(np.ascontiguousarray(rows)).to(where)
