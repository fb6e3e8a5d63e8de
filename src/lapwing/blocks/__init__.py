"""Rows that do not fit in memory, read a block at a time: memory maps, Parquet, Zarr, dask.

A linear map and a score read the samples only through sums. The sums over links need the rows that are searched for and their
neighbours. The sums over classes need only the count, the mean and the scatter of each class. One pass adds up the rows and
takes those that are searched for, a second one finds their neighbours, and a third one takes these. Then the rows are a Summary.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, partial
from importlib import import_module
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from .. import data as memory
from .._validation import caller_stacklevel, check_rows
from ..data import Data, as_data, squared_lengths
from ..neighbors import Request, choose, sample, search
from ..summary import ClassSums
from ._sources import ArrayBlocks, Block, Blocks, ParquetBlocks, is_on_disk, taken, working_memory

__all__ = ["BlockData", "Blocks", "as_blocks", "working_memory"]

HELD_SHARE = 0.5  # the rows with links and the sums of products may take this share of the working memory


def as_blocks(X: Any, columns: Any = None) -> Blocks | None:
    """X as rows in blocks, where it is of a kind that is read so; None where it is an array in memory.

    Methods take a Parquet data set as it is: then all columns but the labels are features. Call this to choose the features.
    The result stands for X in ``fit``; ``transform`` finds the chosen columns by name, also in the data set itself.

    Parameters
    ----------
    X : Blocks, numpy.memmap, zarr.Array, pyarrow.dataset.Dataset, dask.array.Array or array-like
        A memory-mapped array counts as one in memory while it is smaller than scikit-learn's ``working_memory``.
    columns : sequence of str, default=None
        The columns of a Parquet data set that are features; None is all of them.

    Returns
    -------
    Blocks or None

    Examples
    --------
    >>> import pyarrow
    >>> from pyarrow import dataset
    >>> from lapwing import MMC
    >>> from lapwing.blocks import as_blocks
    >>> table = {"a": [0.0, 1.0, 2.0, 4.0], "b": [1.0, 0.0, 3.0, 2.0], "name": list("pqrs"), "label": [0, 0, 1, 1]}
    >>> rows = dataset.dataset(pyarrow.table(table))
    >>> model = MMC(1).fit(as_blocks(rows, columns=["a", "b"]), "label")
    >>> model.feature_names_in_.tolist(), model.transform(rows).shape
    (['a', 'b'], (4, 1))
    """
    package = type(X).__module__.partition(".")[0]
    check_rows(X)
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 2:
        raise ValueError(f"X has {len(shape)} dimensions, shape {shape}; it must have two: rows and features")
    if isinstance(X, Blocks):
        blocks: Any = X
    elif package == "dask":
        blocks = import_module("._dask", __package__).DaskBlocks(X)
    elif package == "pyarrow" and hasattr(X, "count_rows"):
        blocks = ParquetBlocks(X, columns)
    else:
        blocks = ArrayBlocks(X) if package == "zarr" or is_on_disk(X) else None
    if blocks is not None and blocks.shape[1] == 0:
        raise ValueError(f"X has 0 features, shape {blocks.shape}, while a minimum of 1 is required; pass some columns")
    return blocks


def validated(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, fitting: bool = True, least: int | None = None
) -> Data | None:
    """X as rows in blocks; None where X is an array in memory."""
    columns = None if fitting else getattr(estimator, "feature_names_in_", None)
    if isinstance(y, str) and type(X).__module__.startswith("pyarrow"):  # the column of labels
        columns = [name for name in X.schema.names if name != y]
    blocks = as_blocks(X, columns)
    if blocks is None:
        return None
    if not fitting:
        _check_features(estimator, blocks)
    elif blocks.shape[0] < 2:
        raise ValueError(f"X has {blocks.shape[0]} samples, but 2 is the least; pass more rows")
    weights = None if sample_weight is None else memory.checked_weights(sample_weight, blocks.shape[0])
    data = BlockData(blocks, weights=weights)
    data.y = y
    return data


def _check_features(estimator: Any, blocks: Blocks) -> None:
    name, n_features = type(estimator).__name__, estimator.n_features_in_
    if blocks.shape[1] != n_features:
        raise ValueError(f"X has {blocks.shape[1]} features, but {name} is expecting {n_features} features as input")
    if blocks.feature_names is not None and not hasattr(estimator, "feature_names_in_"):
        message = f"X has feature names, but {name} was fitted without feature names; columns are taken in their order"
        warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())


class BlockData(Data):
    """Rows in blocks, of which one pass finds the sums. :meth:`with_neighbors` makes a :class:`Summary` of them.

    ``codes`` are the classes of the rows, -1 where unknown, or None where nothing reads them. ``requests`` are the neighbours
    that will be asked for, None where that is not known yet; only where there are none, rows may have weights. ``by_class``
    says whether classes may weigh differently, so that each has sums of its own.
    """

    scale: Any = 1  # what columns are divided by; 1 where they are not

    def __init__(
        self, blocks: Blocks, codes: Any = None, weights: Any = None, requests: Any = None, by_class: bool = False
    ):
        super().__init__(blocks, None, weights)
        self.is_ready, self.by_class, self.is_wide, self.given = requests is not None, by_class, False, blocks
        self.requests = [request.checked(self.n) for request in requests or ()]
        self.requests = [r for i, r in enumerate(self.requests) if r not in self.requests[:i]]
        self.in_blocks = blocks.array is None  # a memory map is an array to default graphs
        self.codes = codes
        if codes is not None:
            self.classes = codes

    def having(self, codes: Any, requests: Sequence[Request], by_class: bool) -> BlockData:
        """The same rows, once it is known what will be asked of them."""
        data = BlockData(self.X, codes, self.weights, requests, by_class)
        data.given = self.given
        return data

    # ---- whether rows can stay in blocks

    def require_room(self, requests: Sequence[Request]) -> None:
        """Raise where the rows with links and the sums of products, which are held, need too much of the working memory."""
        queries = max((min(r.queries or self.n, self.n) for r in requests), default=0)
        rows = sum(min(r.queries or self.n, self.n) * (1 + r.n_neighbors) for r in requests)
        size = rows * self.d * self.dtype.itemsize + 4 * self.d**2 * 8
        if size > HELD_SHARE * working_memory():
            raise ValueError(
                f"queries={queries} and their neighbours, up to {rows:,} rows of {self.d} features, take {size / 2**20:,.0f} "
                "MiB, more than half of scikit-learn's working_memory; use fewer queries or neighbours, or "
                f"sklearn.set_config(working_memory={int(2.1 * size / 2**20) + 1})"
            )

    # ---- the passes

    @cached_property
    def _first(self) -> tuple[ClassSums, np.ndarray, Block]:
        """The sums, and the numbers and rows whose neighbours are asked for."""
        none = ClassSums(self.d, self.by_class, self.dtype, 0 if self.codes is None else int(self.codes.max()) + 1)
        queried = [sample(self.n, request.queries, request.random_state) for request in self.requests]
        numbers = np.unique(np.concatenate([np.empty(0, np.intp), *queried]))
        angles = any(request.metric == "cosine" for request in self.requests)
        sums, rows = self.X.each(partial(_added, none, numbers, self.codes, self.weights, angles), "adding up")
        return sums, numbers, np.concatenate(rows)

    @cached_property
    def deviations(self) -> np.ndarray:
        sums = self._first[0]
        size, squares = sums.counts.sum(), np.einsum("kii->i", sums.scatters)
        self.shares, mean = sums.stored / size, sums.counts @ sums.means / size
        variances = (squares + sums.counts @ (sums.means - mean) ** 2) / size
        return np.sqrt(np.where(variances > (1e-15 * mean) ** 2, variances, 0.0))

    def divided(self, scale: np.ndarray) -> BlockData:
        data, (sums, numbers, rows) = copy(self), self._first
        data.deviations = self.deviations / scale
        data.scale, data.is_divided = scale.astype(self.dtype), True
        data._first = sums.divided(scale), numbers, rows / data.scale
        return data

    def with_neighbors(self, requests: Sequence[Request]) -> Data:
        """Search for neighbours among all rows, and hold the rows that have links; the others are summed up.

        The requests are those that it was made with.
        """
        sums, held, Q = self._first
        searches = []
        for request in self.requests:
            own = sample(self.n, request.queries, request.random_state)
            searches.append(Search(request, Q[np.searchsorted(held, own)], own, self.codes))
        tables = self.X.each(partial(_nearest, searches, self.scale), "searching") if searches else []
        ends = np.concatenate([held[:0], *(table.cols[np.isfinite(table.d)] for table in tables)])
        others, rows = np.setdiff1d(ends, held), [Q]
        if others.size:
            rows.append(self.X.take(others) / self.scale)
        held = np.concatenate([held, others])
        order, found = np.argsort(held), []
        for search_, (_, cols, d) in zip(searches, tables, strict=True):
            i, j = np.nonzero(np.isfinite(d))
            places = (order[np.searchsorted(held, ends, sorter=order)] for ends in (search_.own[i], cols[i, j]))
            found.append((search_.request, (*places, d[i, j])))
        codes = None if self.codes is None else self.codes[held].astype(np.intp)
        data = sums.summary(codes is not None, rows, codes, found)
        data.given, data.is_divided = self.given, self.is_divided
        return data

    # ---- results

    def project(self, mean: np.ndarray, components: np.ndarray) -> Any:
        return self.apply(methodcaller("project", mean, components), len(components))

    def apply(self, function: Callable[[Data], Any], n_out: int) -> Any:
        return self.X.projected(lambda block: function(as_data(block)), n_out)


class Search(NamedTuple):
    """What is searched for in each block: the request, the rows that ask, their numbers, and the classes of all rows."""

    request: Request
    Q: Block
    own: np.ndarray
    codes: Any


class Nearest(NamedTuple):
    """The k nearest rows so far: numbers and distances, a line per query.

    Where a row found itself, or too few, the distance is infinite.
    """

    k: int
    cols: np.ndarray
    d: np.ndarray

    def __add__(self, other: Nearest) -> Nearest:  # type: ignore[override]
        cols, d = np.hstack([self.cols, other.cols]), np.hstack([self.d, other.d])
        return Nearest(self.k, *choose(cols, d, self.k))


# What is done with a block, as a list of parts that are added up. These functions are sent to the workers of a cluster.


def _added(none: ClassSums, numbers: Any, codes: Any, weights: Any, angles: bool, first: int, block: Block) -> list:
    """The sums over a block, and those of the rows of these ascending numbers that it holds."""
    rows = slice(first, first + len(block))
    if angles and not (squares := squared_lengths(block)).all():
        zero = f"row {first + int(np.argmin(squares)):,} of X"
        raise ValueError(f'metric="cosine" is undefined for zero vectors, and {zero} is one; remove such rows')
    sums = none.take(block, None if codes is None else codes[rows], None if weights is None else weights[rows])
    return [sums, *taken(numbers, first, block)]


def _nearest(searches: list[Search], scale: Any, first: int, block: Block) -> list[Nearest]:
    """The rows of a block that are nearest to the queries of each search."""
    found, block = [], block if isinstance(scale, int) else block / scale
    for request, Q, own, codes in searches:
        both, q, k = Data(np.concatenate([Q, block])), own.size, request.n_neighbors
        if isinstance(request.search, str):  # "torch"
            both = import_module("..device", __package__).on_first_device(both, request)
        cols, d = np.full((q, k + 1), -1), np.full((q, k + 1), np.inf)
        groups = [(np.arange(q), np.arange(q, both.n))]
        if request.among != "all":
            groups = _of_classes(request.among, codes[own], codes[first : first + len(block)])
        for some, members in groups:  # one more than is asked for, since a row may find itself
            _, j, lengths = map(both.host, search(both, request._replace(n_neighbors=k + 1), some, members))
            m = j.size // max(1, some.size)
            cols[some, :m], d[some, :m] = (j - q + first).reshape(some.size, m), lengths.reshape(some.size, m)
        d[cols == own[:, None]] = np.inf
        found.append(Nearest(k, *choose(cols, d, k)))
    return found


def _of_classes(among: str, of_queries: np.ndarray, of_rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The queries of each class, and the rows that may be their neighbours, which come after all queries."""
    found = []
    for c in np.unique(of_queries[of_queries >= 0]):
        inside = of_rows == c if among == "same_class" else (of_rows >= 0) & (of_rows != c)
        found.append((np.flatnonzero(of_queries == c), of_queries.size + np.flatnonzero(inside)))
    return found
