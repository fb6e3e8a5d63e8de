"""Rows that do not fit in memory, read a block at a time: memory maps, Parquet, Zarr, dask.

A linear map and a score read the samples only through sums. The sums over links need the rows that are searched for and their
neighbours. The sums over classes need only the count, the mean and the scatter of each class. One pass adds up the rows and
takes those that are searched for, and a second one finds their neighbours. Then the rows are a Summary.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cached_property, partial
from importlib import import_module
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .. import data as memory
from .._validation import caller_stacklevel, check_rows
from ..data import Data, SparseData, as_data, squared_lengths, unit_rows
from ..neighbors import Request, choose, sample, search
from ..summary import ClassSums
from ._sources import (
    ArrayBlocks,
    Block,
    Blocks,
    Mapped,
    ParquetBlocks,
    SparseBlocks,
    is_on_disk,
    stacked,
    working_memory,
)

__all__ = ["BlockData", "Blocks", "as_blocks", "working_memory"]

LOADED_ROWS = 20_000  # where a method needs all rows, at most so many are loaded
HELD_SHARE = 0.5  # the rows with links and the sums of products may take this share of the working memory


def as_blocks(X: Any, y: Any = None, columns: Any = None) -> Blocks | None:
    """X as rows in blocks, where it is of a kind that is read so; None where it is an array in memory.

    Methods take a Parquet data set as it is: then all columns but the labels are features, and where no labels are named all
    columns are. Call this to choose the features. The result stands for X in ``fit``; ``transform`` finds the chosen columns
    by name, also in the data set itself.

    Parameters
    ----------
    X : Blocks, numpy.memmap, zarr.Array, pyarrow.dataset.Dataset, dask.array.Array or array-like
        A memory-mapped array counts as one in memory while it is smaller than scikit-learn's ``working_memory``.
    y : str, default=None
        The column of a Parquet data set that holds the labels, and is no feature.
    columns : sequence of str, default=None
        The columns of a Parquet data set that are features; None is all others.

    Returns
    -------
    Blocks or None

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pyarrow as pa
    >>> from pyarrow import dataset, parquet
    >>> from lapwing import LPP
    >>> from lapwing.blocks import as_blocks
    >>> values = np.random.RandomState(0).rand(3, 50)
    >>> table = pa.table({"a": values[0], "b": values[1], "c": values[2], "label": np.arange(50) % 2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parquet.write_table(table, f"{folder}/rows.parquet")
    ...     rows = dataset.dataset(f"{folder}/rows.parquet")
    ...     model = LPP(1).fit(as_blocks(rows, columns=["a", "b"]))
    ...     Z = model.transform(rows)
    >>> model.feature_names_in_.tolist(), Z.shape
    (['a', 'b'], (50, 1))
    """
    blocks = X if isinstance(X, Blocks) else _opened(X, y, columns)
    if blocks is not None and blocks.shape[1] == 0:
        raise ValueError(f"X has 0 features, shape {blocks.shape}, while a minimum of 1 is required; pass some columns")
    return blocks


def _opened(X: Any, y: Any, columns: Any) -> Blocks | None:
    package = type(X).__module__.partition(".")[0]
    check_rows(X)
    if package == "pyarrow" and type(X).__name__ == "Scanner":
        raise TypeError(
            "X is a pyarrow Scanner, which can be read only once; choose columns of the data set that it reads: "
            "lapwing.blocks.as_blocks(dataset, columns=[...])"
        )
    if package == "dask":
        from ._dask import DaskBlocks

        return DaskBlocks(X)
    if package == "pyarrow" and hasattr(X, "scanner"):
        return ParquetBlocks(X, y, columns)
    if package == "zarr" or is_on_disk(X):
        return SparseBlocks(X) if sparse.issparse(X) else ArrayBlocks(X)
    return None


def validated(
    estimator: Any, X: Any, y: Any = None, sample_weight: Any = None, fitting: bool = True, least: int | None = None
) -> Data | None:
    """X as rows in blocks; None where X is an array in memory."""
    blocks = as_blocks(X, y) if fitting else as_blocks(X, columns=getattr(estimator, "feature_names_in_", None))
    if blocks is None:
        return None
    if not fitting:
        _check_features(estimator, blocks)
        return BlockData(blocks)
    n = blocks.shape[0]
    if n < 2:
        raise ValueError(f"X has {n} samples, but 2 is the least; pass more rows")
    data = BlockData(blocks, weights=None if sample_weight is None else memory.checked_weights(sample_weight, n))
    data.y = y
    return data


def _check_features(estimator: Any, blocks: Blocks) -> None:
    if blocks.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {blocks.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input"
        )
    if blocks.feature_names is not None and not hasattr(estimator, "feature_names_in_"):
        warnings.warn(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names; columns are taken in their "
            "order",
            UserWarning,
            stacklevel=caller_stacklevel(),
        )


class BlockData(Data):
    """Rows in blocks, of which one pass finds the sums. :meth:`with_neighbors` makes a :class:`Summary` of them.

    Parameters
    ----------
    blocks : Blocks
    codes : ndarray of shape (n,), default=None
        The classes of the rows, -1 where unknown; None where nothing reads them.
    weights : ndarray of shape (n,), default=None
        How many samples each row stands for, where no neighbours are asked for.
    requests : list of Request, default=None
        The neighbours that will be asked for; None where that is not known yet.
    """

    def __init__(
        self, blocks: Blocks, codes: Any = None, weights: Any = None, requests: Sequence[Request] | None = None
    ):
        super().__init__(blocks, None, weights)
        self.is_ready = requests is not None
        self.requests: list[Request] = []
        for request in requests or ():
            if (request := request.checked(self.n)) not in self.requests:
                self.requests.append(request)
        self.codes, self.given, self.is_wide = codes, blocks, False
        self.in_blocks = blocks.array is None  # a memory map is an array to default graphs
        # Of sparse rows with many columns only those with links are held.
        self.is_large = self.is_ready and blocks.is_sparse and min(self.n, self.d) > memory.LARGE_SIDE
        if codes is not None:
            self.classes = codes

    def having(self, **changes: Any) -> BlockData:
        """The same rows with other blocks, classes, weights or requests."""
        given = {"blocks": self.X, "codes": self.codes, "weights": self.weights, "requests": self.requests, **changes}
        data = BlockData(**given)
        data.given = self.given
        return data

    # ---- whether rows can stay in blocks

    @property
    def fits(self) -> bool:
        """Whether rows are few and small enough to be loaded, where a method needs all of them."""
        return self.n <= LOADED_ROWS and self.n * self.d * self.dtype.itemsize <= working_memory()

    def require_room(self) -> None:
        """Raise where the rows with links and the sums of products, which are held, need too much of the working memory."""
        rows = sum((r.queries or self.n) * (1 + r.n_neighbors) for r in self.requests)
        size = rows * self.d * self.dtype.itemsize + 4 * self.d**2 * 8
        if size <= HELD_SHARE * working_memory():
            return
        queries = max((r.queries or self.n for r in self.requests), default=0)
        raise ValueError(
            f"queries={queries} and their neighbours are up to {rows:,} rows of {self.d} features; with the sums of products of "
            f"features {size / 2**20:,.0f} MiB, more than half of scikit-learn's working_memory of "
            f"{working_memory() / 2**20:,.0f} MiB; use fewer queries or neighbours, or "
            f"sklearn.set_config(working_memory={int(2.1 * size / 2**20) + 1})"
        )

    def require_memory(self, who: str) -> None:
        """Raise where all rows, which a kernel needs, take more than the working memory."""
        size = self.n * self.d * self.dtype.itemsize
        if size > working_memory():
            raise ValueError(
                f"{who} needs all rows in memory, also with landmarks=, and X, of shape {self.X.shape}, is larger than "
                "scikit-learn's working_memory; fit a part of the rows, use a linear method such as LPP, or, if there is room, "
                f"sklearn.set_config(working_memory={size // 2**20 + 1})"
            )

    # ---- the first pass

    @cached_property
    def _first(self) -> tuple[Any, np.ndarray, Block]:
        """One pass: the sums, and the numbers and rows whose neighbours are asked for."""
        n_classes = 0 if self.codes is None else int(self.codes.max()) + 1
        none = ColumnSums.none(self.d) if self.is_large else ClassSums(self.d, False, self.dtype, n_classes)
        queried = [sample(self.n, request.queries, request.random_state) for request in self.requests]
        numbers = np.unique(np.concatenate([np.empty(0, np.intp), *queried]))
        angles = any(request.metric == "cosine" for request in self.requests)
        sums, rows = self.X.each(partial(_added, none, numbers, self.codes, self.weights, angles), "adding up")
        return sums, numbers, stacked(rows)

    def deviations(self) -> np.ndarray:
        sums = self._first[0]
        size, squares = sums.counts.sum(), sums.squares if self.is_large else np.einsum("kii->i", sums.scatters)
        self.shares, mean = sums.stored / size, sums.counts @ sums.means / size
        variances = (squares + sums.counts @ (sums.means - mean) ** 2) / size
        return np.sqrt(np.where(variances > (1e-15 * mean) ** 2, variances, 0.0))

    def divided(self, scale: np.ndarray) -> BlockData:
        data, divide = self.having(), lambda block: as_data(block).divided(scale).X
        sums, numbers, rows = self._first
        data._first = sums.divided(scale), numbers, divide(rows)
        data.X, data.is_divided = Mapped(self.X, divide), True
        return data

    # ---- documents

    @cached_property
    def squares(self) -> np.ndarray:
        return np.concatenate(self.X.each(lambda _, block: [[squared_lengths(block)]], "looking for empty rows")[0])

    @cached_property
    def unit(self) -> BlockData:
        return self.having(blocks=Mapped(self.X, lambda block: unit_rows(block, np.sqrt(squared_lengths(block)))))

    def some(self, kept: np.ndarray) -> BlockData:
        codes = None if self.codes is None else self.codes[kept]
        return self.having(blocks=Mapped(self.X, None, kept), codes=codes)

    # ---- the second pass

    def with_neighbors(self, requests: Sequence[Request]) -> Data:
        """Search for neighbours among all rows, and hold the rows that have links; the others are summed up.

        The requests are those that it was made with.
        """
        (sums, held, Q), searches, edges = self._first, [], []
        rows = [Q]
        for request in self.requests:
            own = sample(self.n, request.queries, request.random_state)
            searches.append(Search(request, Q[np.searchsorted(held, own)], own, self.codes))
        if searches:
            (near,) = self.X.each(partial(_nearest, searches, self.X.is_local), "searching")
            tables = [choose(cols, d, k) for k, cols, d in near.tables]
            others = np.setdiff1d(np.concatenate([cols[np.isfinite(d)] for cols, d in tables]), held)
            if others.size:
                rows.append(
                    near.rows[np.searchsorted(near.numbers, others)] if self.X.is_local else self.X.take(others)
                )
            held = np.concatenate([held, others])
            order = np.argsort(held)
            for (request, _, own, _), (cols, d) in zip(searches, tables, strict=True):
                i, j = np.nonzero(np.isfinite(d))
                i, j = (order[np.searchsorted(held, numbers, sorter=order)] for numbers in (own[i], cols[i, j]))
                edges.append((request, (i, j, d[np.isfinite(d)])))
        codes = None if self.codes is None else self.codes[held].astype(np.intp)
        if self.is_large:
            data: Any = SparseData(stacked(rows), codes).standing_for(self.n, sums.means[0], edges)
        else:
            rest, cut = deepcopy(sums), rows[0].shape[0]
            for part, some in zip(rows, (slice(0, cut), slice(cut, None)), strict=False):
                rest.take(part, None if codes is None else codes[some], -np.ones(part.shape[0]))
            data = rest.summary(codes is not None, rows, codes, edges)
            if codes is not None:
                data.scatter = Scatter(self.X, self.codes, self.weights, rest, data.X[: held.size], codes)
        data.given, data.is_divided, data.shares = self.given, self.is_divided, sums.stored / sums.counts.sum()
        return data

    # ---- results

    def project(self, mean: np.ndarray, components: np.ndarray) -> Any:
        return self.mapped(methodcaller("project", mean, components), len(components))

    def mapped(self, function: Callable[[Data], Any], n_out: int) -> Any:
        return self.X.projected(lambda block: function(as_data(block)), n_out)


class ColumnSums(NamedTuple):
    """Sums over sparse rows of many columns: their number, their mean, and the squares of each column about it."""

    counts: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    stored: np.ndarray

    @classmethod
    def none(cls, d: int) -> ColumnSums:
        return cls(np.zeros(1), np.zeros((1, d)), *np.zeros((2, d)))

    def take(self, X: Block, y: Any, weights: Any) -> ColumnSums:
        """The sums over these rows as well."""
        if not X.shape[0]:
            return self
        rows = SparseData(X)
        squares, stored = rows.n * rows.deviations() ** 2, rows.n * rows.shares
        return self.__iadd__(ColumnSums(np.array([rows.n]), rows.mean()[None], squares, stored))

    def __iadd__(self, other: ColumnSums) -> ColumnSums:  # type: ignore[misc,override]
        size, moved = self.counts + other.counts, other.means - self.means
        share = other.counts / np.maximum(size, 1)
        squares = self.squares + other.squares + self.counts * share * moved[0] ** 2
        return ColumnSums(size, self.means + share * moved, squares, self.stored + other.stored)

    def divided(self, scale: np.ndarray) -> ColumnSums:
        return ColumnSums(self.counts, self.means / scale, self.squares / scale**2, self.stored)


class Search(NamedTuple):
    """What is searched for in each block: the request, the rows that ask, their numbers, and the classes of all rows."""

    request: Request
    Q: Block
    own: np.ndarray
    codes: Any


class Nearest(NamedTuple):
    """The nearest rows so far: k, numbers and distances per search, a line per query, and the rows with their numbers.

    Where a row found itself, or too few, the distance is infinite.
    """

    tables: list[tuple[int, np.ndarray, np.ndarray]]
    numbers: np.ndarray
    rows: Block

    def __iadd__(self, other: Nearest) -> Nearest:  # type: ignore[misc,override]
        tables = []
        for (k, *one), (_, *two) in zip(self.tables, other.tables, strict=True):
            cols, d = map(np.hstack, zip(one, two, strict=True))
            tables.append((k, *choose(cols, d, k)))
        numbers = np.concatenate([self.numbers, other.numbers])
        kept = np.flatnonzero(np.isin(numbers, np.concatenate([cols.ravel() for _, cols, _ in tables])))
        return Nearest(tables, numbers[kept], stacked([self.rows, other.rows])[kept])


class Scatter:
    """The scatter of the rows that are not held about the means of their classes, each class under a weight.

    The sums of the first pass give it for equal weights. Other weights need a pass over the rows, which is made once: weights
    are split into equal ones, multiples of those of earlier passes, and a rest, for which a pass is made.
    """

    def __init__(self, blocks: Blocks, codes: Any, weights: Any, rest: ClassSums, rows: Block, own: Any):
        self.blocks, self.codes, self.weights, self.rest, self.rows, self.own = blocks, codes, weights, rest, rows, own
        self.there = np.flatnonzero(rest.counts > 0)
        self.passed: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        each, known = weights[self.own.size :].copy(), self.there < self.rest.counts.size - 1
        if not each.any():
            return np.zeros(self.rest.scatters.shape[1:])
        uneven = np.where(known, each - (each[known].mean() if known.any() else 0.0), 0.0)
        total = self.rest.scatter(self.there, each - uneven)
        smallest = 1e-14 * np.abs(each).max()
        for direction, scatter in self.passed:
            share = uneven @ direction
            total, uneven = total + share * scatter, uneven - share * direction
        length = float(np.linalg.norm(uneven))
        if np.abs(uneven).max(initial=0.0) > smallest:
            self.passed.append((uneven / length, self._pass(uneven / length)))
            total = total + length * self.passed[-1][1]
        return total

    def _pass(self, weights: np.ndarray) -> np.ndarray:
        of_class = np.zeros(self.rest.counts.size)
        of_class[self.there] = weights
        (total,) = self.blocks.each(
            partial(_weighted, self.rest.means, of_class, self.codes, self.weights), "adding up"
        )
        return total - _weighted(self.rest.means, of_class, self.own, None, 0, self.rows)[0]


# What is done with a block, as a list of parts that are added up. These functions are sent to the workers of a cluster.


def _added(none: Any, numbers: Any, codes: Any, weights: Any, angles: bool, first: int, block: Block) -> list:
    """The sums over a block, and those of the rows of these ascending numbers that it holds."""
    rows = slice(first, first + block.shape[0])
    if angles:
        zero = np.flatnonzero(squared_lengths(block) == 0)
        if zero.size:
            raise ValueError(
                f'metric="cosine" is undefined for zero vectors, and row {first + zero[0]:,} of X is one; remove such rows or '
                "use another metric"
            )
    sums = deepcopy(none)
    sums = sums.take(block, None if codes is None else codes[rows], None if weights is None else weights[rows])
    low, high = np.searchsorted(numbers, [rows.start, rows.stop])
    return [sums, [block[numbers[low:high] - first]]]


def _weighted(means: Any, of_class: Any, codes: Any, weights: Any, first: int, block: Block) -> list[np.ndarray]:
    """The products of rows about the means of their classes, each under the weight of its class."""
    total = np.zeros((block.shape[1], block.shape[1]))
    for part in memory.row_blocks(*block.shape):
        rows = block[part].toarray() if sparse.issparse(block) else block[part]
        own = codes[first + part.start : first + part.stop].astype(np.intp)
        each = of_class[own] if weights is None else of_class[own] * weights[first + part.start : first + part.stop]
        apart = rows - means[own]
        total += apart.T @ (each[:, None] * apart)
    return [total]


def _nearest(searches: list[Search], keep: bool, first: int, block: Block) -> list[Nearest]:
    """The rows of a block that are nearest to the queries of each search. Where they are to be kept, they come along."""
    tables, near = [], np.zeros(block.shape[0], bool)
    for request, Q, own, codes in searches:
        both, q = (SparseData if sparse.issparse(Q) else Data)(stacked([Q, block])), own.size
        if isinstance(request.search, str):  # "torch"
            both = import_module("..device", __package__).on_first_device(both, request)
        # One more than is asked for, since a row may find itself.
        more = request._replace(n_neighbors=request.n_neighbors + 1)
        cols, d = np.full((q, more.n_neighbors), -1), np.full((q, more.n_neighbors), np.inf)
        groups = [(np.arange(q), np.arange(q, both.n))]
        if request.among != "all":
            groups = _of_classes(request.among, codes[own], codes[first : first + block.shape[0]])
        for some, members in groups:
            i, j, lengths = map(both.host, search(both, more, some, members))
            m = i.size // max(1, some.size)
            cols[some, :m], d[some, :m] = (j - q + first).reshape(some.size, m), lengths.reshape(some.size, m)
        d[cols == own[:, None]] = np.inf
        near[cols[np.isfinite(d)] - first] = True
        tables.append((request.n_neighbors, cols, d))
    kept = np.flatnonzero(near)[: None if keep else 0]
    return [Nearest(tables, first + kept, block[kept])]


def _of_classes(among: str, of_queries: np.ndarray, of_rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The queries of each class, and the rows that may be their neighbours, which come after all queries."""
    found = []
    for c in np.unique(of_queries[of_queries >= 0]):
        inside = of_rows == c if among == "same_class" else (of_rows >= 0) & (of_rows != c)
        found.append((np.flatnonzero(of_queries == c), of_queries.size + np.flatnonzero(inside)))
    return found
