"""Rows that do not fit in memory, read a block at a time: memory maps, Parquet, Zarr, dask.

A linear map and a score read the samples only through sums. The sums over links need the rows that are searched for and their
neighbours. The sums over classes need only the count, the mean and the scatter of each class. One pass adds up the rows and
takes those that are searched for, a second one searches, and the neighbours are read. Then the rows are a Summary.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from importlib import import_module
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags

from .. import data as memory
from .._labels import class_codes
from .._validation import caller_stacklevel, check_in_memory, check_rows
from ..data import Data, SparseData, as_data, squared_lengths, unit_rows
from ..neighbors import Edges, Request, choose_listed, is_named, sample, search
from ..summary import ClassSums, Summary
from ._sources import (
    ArrayBlocks,
    Block,
    Blocks,
    Mapped,
    ParquetBlocks,
    SparseBlocks,
    is_on_disk,
    stacked,
    taken,
    working_memory,
)

__all__ = ["BlockData", "Blocks", "as_blocks", "working_memory"]

LOADED_ROWS = 20_000  # where a method needs all rows, at most so many are loaded
HELD_SHARE = 0.5  # the rows with links and the sums of products may take this share of the working memory
NO_EDGES: Edges = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))


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
    """X as rows in blocks; loaded, where the estimator needs all rows and they fit; None where X is an array in memory."""
    name = type(estimator).__name__
    if not hasattr(estimator, "fit"):
        check_in_memory(X, "a graph that is built on its own")
        return None
    if least is not None:
        check_in_memory(X, "a batch of partial_fit")
        return None
    if not (estimator._samples_rows or estimator._rules.of_kernel):
        check_in_memory(X, name if fitting else f"transform of {name}")
        return None
    blocks = as_blocks(X, y) if fitting else as_blocks(X, columns=getattr(estimator, "feature_names_in_", None))
    if blocks is None or (blocks.is_array and estimator._rules.of_kernel and fitting):
        return None
    if not fitting:
        _check_features(estimator, blocks)
        return BlockData(blocks)
    if blocks.shape[0] < 2:
        raise ValueError(f"X has {blocks.shape[0]} samples, but 2 is the least; pass more rows")
    return (_of_kernel if estimator._rules.of_kernel else _in_blocks)(estimator, blocks, y, sample_weight)


class AllRowsError(ValueError):
    """Raised where a graph needs all rows in memory."""


def _in_blocks(estimator: Any, blocks: Blocks, y: Any, sample_weight: Any) -> Data | None:
    """Rows in blocks. Where these are not enough, rows that fit are loaded, and a memory map is the array that it is."""
    data, required = BlockData(blocks), get_tags(estimator).target_tags.required
    if blocks.is_sparse and data.n <= memory.LARGE_SIDE:
        return _loaded(estimator, blocks, y, sample_weight)
    weights = None if sample_weight is None else memory.checked_weights(sample_weight, data.n)
    try:
        graphs = _graphs_in_blocks(estimator, data)
        data = data.having(requests=graphs.requests)
        if data.is_large:
            _require_links(estimator, graphs)
        else:
            _require_room(blocks, data.requests)
    except ValueError as error:
        if blocks.is_array and isinstance(error, AllRowsError):
            return None
        if not _fits(blocks):
            raise
        return _loaded(estimator, blocks, y, sample_weight)
    if weights is not None and _fits(blocks):
        return _loaded(estimator, blocks, y, sample_weight)
    given = [graphs.graph] if graphs.penalty is None else [graphs.graph, graphs.penalty]
    if required or any(graph.reads_labels for graph in given):
        codes = class_codes(blocks.labels(y), data.n)[0]
        codes = codes.astype(np.min_scalar_type(-int(codes.max()) - 1))
        # A row of weight 0 counts as absent and has no class.
        data = data.having(codes=codes if weights is None else np.where(weights > 0, codes, -1))
    return data if weights is None else data.having(weights=weights)


def _graphs_in_blocks(estimator: Any, data: BlockData) -> Any:
    """The graphs of the estimator. Raise where one needs all rows, and name the parameter that the graph belongs to."""
    given = {name: getattr(estimator, name, None) for name in ("graph", "penalty")}
    for name, graph in given.items():  # before anything is learnt from the rows
        if hasattr(graph, "why_all_rows"):
            _require_blocks(estimator, name, graph)
    graphs = estimator._graphs(data)
    _require_blocks(estimator, "graph", graphs.graph)
    if graphs.penalty is not None:
        _require_blocks(estimator, "penalty", graphs.penalty)
    return graphs


def _require_blocks(estimator: Any, name: str, graph: Any) -> None:
    why = graph.why_all_rows()
    if why is not None:
        raise AllRowsError(f"{name}={graph!r} of {type(estimator).__name__} cannot be built: {why}")


def _require_links(estimator: Any, graphs: Any) -> None:
    """Raise where rows without links matter. Of sparse rows with many features only those with links are held."""
    given, graph = estimator.get_params(deep=False), graphs.graph
    unlinked = [leaf for _, leaf in graph.signed() if not leaf.requests()]
    truncated = not isinstance(given.get("pca"), str | None) or given.get("normalize") == "trace"
    if not estimator._reads_links_alone or unlinked or truncated or graphs.penalty is not None:
        raise ValueError(
            f"X has sparse rows in blocks, of more than {memory.LARGE_SIDE:,} features; LPP, LPI and LaplacianScore take them, "
            f'with graphs of neighbours and without pca=, penalty= and normalize="trace", and {estimator!r} is something else; '
            "use one of these, or X in memory"
        )


def _require_room(blocks: Blocks, requests: Sequence[Request]) -> None:
    """Raise where the rows with links and the sums of products, which are held, need too much of the working memory."""
    n, d = blocks.shape
    rows = sum((r.queries or n) * (1 + r.n_neighbors) for r in requests)
    size = rows * d * blocks.dtype.itemsize + 4 * d * d * 8
    if size <= HELD_SHARE * working_memory():
        return
    queries = max((r.queries or n for r in requests), default=0)
    raise ValueError(
        f"queries={queries} and their neighbours are up to {rows:,} rows of {d} features; with the sums of products of features "
        f"{size / 2**20:,.0f} MiB, more than half of scikit-learn's working_memory of {working_memory() / 2**20:,.0f} MiB; use "
        f"fewer queries or neighbours, or sklearn.set_config(working_memory={int(2.1 * size / 2**20) + 1})"
    )


def _fits(blocks: Blocks) -> bool:
    """Whether rows are few and small enough to be loaded, where a method needs all of them."""
    n, d = blocks.shape
    return n <= LOADED_ROWS and n * d * blocks.dtype.itemsize <= working_memory()


def _loaded(estimator: Any, blocks: Blocks, y: Any, sample_weight: Any) -> Data:
    data = memory.validated(estimator, blocks.load(), blocks.labels(y), sample_weight)
    data.given = blocks
    return data


def _of_kernel(estimator: Any, blocks: Blocks, y: Any, sample_weight: Any) -> Data:
    n, d = blocks.shape
    size = n * d * blocks.dtype.itemsize
    if size > working_memory():
        raise ValueError(
            f"{type(estimator).__name__} needs all rows in memory, also with landmarks=, and X, of shape {blocks.shape}, is "
            f"larger than scikit-learn's working_memory; fit a part of the rows, use a linear method such as LPP, or, if "
            f"there is room, sklearn.set_config(working_memory={size // 2**20 + 1})"
        )
    return _loaded(estimator, blocks, y, sample_weight)


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
    requests : list of Request
        The neighbours that will be asked for.
    """

    def __init__(self, blocks: Blocks, codes: Any = None, weights: Any = None, requests: Sequence[Request] = ()):
        super().__init__(blocks, None, weights)
        checked = [request.checked(self.n) for request in requests]
        self.requests = [request for i, request in enumerate(checked) if request not in checked[:i]]
        self.codes, self.given = codes, blocks
        self.in_blocks = not blocks.is_array  # a memory map is an array to default graphs
        self.is_wide = False
        if codes is not None:
            self.classes = codes

    def having(self, **changes: Any) -> BlockData:
        """The same rows with other blocks, classes or weights."""
        given = {"blocks": self.X, "codes": self.codes, "weights": self.weights, "requests": self.requests, **changes}
        data = BlockData(**given)
        data.given = self.given
        return data

    @property
    def is_large(self) -> bool:  # type: ignore[override]
        """Whether rows are sparse and have so many columns that only those with links are held."""
        return self.X.is_sparse and min(self.n, self.d) > memory.LARGE_SIDE

    # ---- the first pass

    @cached_property
    def _first(self) -> tuple[Any, np.ndarray, Block]:
        """One pass: the sums, and the numbers and rows whose neighbours are asked for."""
        n_classes = 0 if self.codes is None else int(self.codes.max()) + 1
        none = ColumnSums.none(self.d) if self.is_large else ClassSums.none(self.d, False, self.X.dtype, n_classes)
        queried = [_queried(request, self.n) for request in self.requests]
        numbers = np.unique(np.concatenate([np.empty(0, np.intp), *queried]))
        angles = any(is_named(request.metric, "cosine") for request in self.requests)
        function = partial(_added, none, numbers, self.codes, self.weights, angles)
        sums, rows = self.X.each(function, _joined_sums, "adding up")
        return sums, numbers, stacked(rows)

    def deviations(self, few: bool = False) -> np.ndarray:
        sums = self._first[0] if self.is_large else self._first[0].summary(False)
        self.filled = sums.filled
        return sums.deviations()

    def divided(self, scale: np.ndarray) -> BlockData:
        data, divide = self.having(), partial(_divided, scale)
        sums, numbers, rows = self._first
        data._first = sums.divided(scale), numbers, divide(rows)
        data.X, data.is_divided = Mapped(self.X, divide), True
        return data

    # ---- documents

    @cached_property
    def squares(self) -> np.ndarray:
        return np.concatenate(self.X.each(_squares, list.__add__, "looking for empty rows"))

    @cached_property
    def unit(self) -> BlockData:
        return self.having(blocks=Mapped(self.X, _unit))

    def some(self, kept: np.ndarray) -> BlockData:
        codes = None if self.codes is None else self.codes[kept]
        return self.having(blocks=Mapped(self.X, None, kept), codes=codes)

    # ---- the second pass

    def with_neighbors(self, requests: Sequence[Request]) -> Data:
        """Search for neighbours among all rows, and hold the rows that have links; the others are summed up.

        The requests are those that it was made with.
        """
        (sums, numbers, Q), searches = self._first, []
        for request in self.requests:
            own = _queried(request, self.n)
            searches.append(Search(request, Q[np.searchsorted(numbers, own)], own, self.codes))
        found = self.X.each(partial(_nearest, searches), partial(_nearer, searches), "searching") if searches else []
        held = np.unique(np.concatenate([numbers, *(cols for _, cols, _ in found)]))
        others = np.setdiff1d(held, numbers)
        if others.size:
            Q = stacked([Q, self.X.take(others)])[np.argsort(np.concatenate([numbers, others]))]
        edges = []
        for one, (i, j, d) in zip(searches, found, strict=True):
            edges.append((one.request, (np.searchsorted(held, one.own)[i], np.searchsorted(held, j), d)))
        codes = None if self.codes is None else self.codes[held].astype(np.intp)
        data = LinkedData(Q, codes, self.n, sums.mean, edges) if self.is_large else self._summary(Q, codes, edges)
        data.given, data.is_divided = self.given, self.is_divided
        return data

    def _summary(self, rows: Block, codes: Any, edges: list) -> Summary:
        sums = self._first[0]
        rows = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
        rest = sums.without(rows, codes)
        own = rest.summary(codes is not None)
        y = None if codes is None else np.concatenate([codes, own.y])
        scatter = Scatter(self.X, self.codes, self.weights, rest, rows, codes)
        weights = np.concatenate([np.ones(len(rows)), own.weights])
        return Summary(np.concatenate([rows, own.X]), y, weights, scatter, self.X.dtype, own.filled, edges)

    # ---- results

    def project(self, mean: np.ndarray, components: np.ndarray) -> Any:
        return self.mapped(methodcaller("project", mean, components), len(components))

    def mapped(self, function: Callable[[Data], Any], n_out: int) -> Any:
        return self.X.projected(partial(_projected, function), n_out)


class LinkedData(SparseData):
    """The sparse rows that have links. Of the others only the number and the mean are known, which is all that matters."""

    is_large = True

    def __init__(self, X: Block, y: Any, n: int, mean: np.ndarray, found: list):
        super().__init__(X, y)
        self.size, self._mean, self.found = n, mean, found

    nearest = Summary.nearest

    def explained(self, directions: np.ndarray) -> Any:
        """None, since the variance of the other rows is not known."""
        return None


class ColumnSums(NamedTuple):
    """Sums over sparse rows of many columns: how many there are, their mean, and the squares of each column about it."""

    size: float
    mean: np.ndarray
    squares: np.ndarray
    stored: np.ndarray

    @classmethod
    def none(cls, d: int) -> ColumnSums:
        return cls(0, *np.zeros((3, d)))

    def add(self, X: Block, y: Any, weights: Any) -> ColumnSums:
        if not X.shape[0]:
            return self
        rows = SparseData(X)
        squares, stored = rows.n * rows.deviations() ** 2, np.bincount(X.indices, minlength=rows.d)
        return self.merge(ColumnSums(rows.n, rows.mean(), squares, stored))

    def merge(self, other: ColumnSums) -> ColumnSums:
        size, moved = self.size + other.size, other.mean - self.mean
        share = other.size / max(size, 1)
        squares = self.squares + other.squares + self.size * share * moved**2
        return ColumnSums(size, self.mean + share * moved, squares, self.stored + other.stored)

    @property
    def filled(self) -> np.ndarray:
        return 2 * self.stored > self.size

    def deviations(self) -> np.ndarray:
        return np.sqrt(self.squares / self.size)

    def divided(self, scale: np.ndarray) -> ColumnSums:
        return ColumnSums(self.size, self.mean / scale, self.squares / scale**2, self.stored)


class Search(NamedTuple):
    """What is searched for in each block: the request, the rows that ask, their numbers, and the classes of all rows."""

    request: Request
    Q: Block
    own: np.ndarray
    codes: Any


class Scatter:
    """The scatter of the rows that are not held about the means of their classes, each class under a weight.

    The sums of the first pass give it for equal weights. Other weights need a pass over the rows, which is made once: weights
    are split into equal ones, multiples of those of earlier passes, and a rest, for which a pass is made.
    """

    def __init__(self, blocks: Blocks, codes: Any, weights: Any, rest: ClassSums, rows: np.ndarray, own: Any):
        self.blocks, self.codes, self.weights, self.rest, self.rows, self.own = blocks, codes, weights, rest, rows, own
        self.there = np.flatnonzero(rest.counts > 0)
        self.passed: list[tuple[np.ndarray, np.ndarray]] = []

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        each, known = weights[len(self.rows) :].copy(), self.there < self.rest.counts.size - 1
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
        function = partial(_weighted, self.rest.means, of_class, self.codes, self.weights)
        return self.blocks.each(function, np.add, "adding up") - _weighted(
            self.rest.means, of_class, self.own, None, 0, self.rows
        )


# What is done with a block. These functions are sent to the workers of a cluster.


def _added(none: Any, numbers: Any, codes: Any, weights: Any, angles: bool, first: int, block: Block) -> tuple:
    rows = slice(first, first + block.shape[0])
    if angles:
        zero = np.flatnonzero(squared_lengths(block) == 0)
        if zero.size:
            raise ValueError(
                f'metric="cosine" is undefined for zero vectors, and row {first + zero[0]:,} of X is one; remove such rows or '
                "use another metric"
            )
    sums = none.add(block, None if codes is None else codes[rows], None if weights is None else weights[rows])
    return sums, taken(numbers, first, block)


def _joined_sums(one: tuple, other: tuple) -> tuple:
    return one[0].merge(other[0]), one[1] + other[1]


def _divided(scale: np.ndarray, block: Block) -> Block:
    return as_data(block).divided(scale).X


def _unit(block: Block) -> Block:
    return unit_rows(block, np.sqrt(squared_lengths(block)))


def _squares(first: int, block: Block) -> list[np.ndarray]:
    return [squared_lengths(block)]


def _projected(function: Callable[[Data], Any], block: Block) -> Any:
    return function(as_data(block))


def _weighted(means: Any, of_class: Any, codes: Any, weights: Any, first: int, block: Block) -> np.ndarray:
    """The products of rows about the means of their classes, each under the weight of its class."""
    total = np.zeros((block.shape[1], block.shape[1]))
    for part in memory.row_blocks(*block.shape):
        rows = block[part].toarray() if sparse.issparse(block) else block[part]
        own = codes[first + part.start : first + part.stop].astype(np.intp)
        each = of_class[own] if weights is None else of_class[own] * weights[first + part.start : first + part.stop]
        apart = rows - means[own]
        total += apart.T @ (each[:, None] * apart)
    return total


def _nearest(searches: list[Search], first: int, block: Block) -> list[Edges]:
    """For each search, edges from the places of queries to the numbers of their nearest rows in a block."""
    found = []
    for request, Q, own, codes in searches:
        both, q = as_data(stacked([Q, block])), own.size
        if is_named(request.search, "torch"):
            both = import_module("..device", __package__).on_first_device(both, request)
        # One more than is asked for, since a row may find itself.
        more, groups = request._replace(n_neighbors=request.n_neighbors + 1), [(np.arange(q), np.arange(q, both.n))]
        if request.among != "all":
            groups = _of_classes(request.among, codes[own], codes[first : first + block.shape[0]])
        parts = [NO_EDGES, *(map(both.host, search(both, more, *group)) for group in groups)]
        i, j, d = (np.concatenate(part) for part in zip(*parts, strict=True))
        numbers = j - q + first
        other = numbers != own[i]
        found.append(_k_nearest(request.n_neighbors, q, i[other], numbers[other], d[other]))
    return found


def _of_classes(among: str, of_queries: np.ndarray, of_rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The queries of each class, and the rows that may be their neighbours, which come after all queries."""
    found = []
    for c in np.unique(of_queries[of_queries >= 0]):
        inside = of_rows == c if among == "same_class" else (of_rows >= 0) & (of_rows != c)
        found.append((np.flatnonzero(of_queries == c), of_queries.size + np.flatnonzero(inside)))
    return found


def _nearer(searches: list[Search], one: list[Edges], other: list[Edges]) -> list[Edges]:
    """The nearest of what was found in two places."""
    joined = []
    for wanted, *edges in zip(searches, one, other, strict=True):
        both = (np.concatenate(parts) for parts in zip(*edges, strict=True))
        joined.append(_k_nearest(wanted.request.n_neighbors, wanted.own.size, *both))
    return joined


def _k_nearest(k: int, n_queries: int, rows: np.ndarray, numbers: np.ndarray, d: np.ndarray) -> Edges:
    counts = np.bincount(rows, minlength=n_queries)
    if not counts.any():
        return rows, numbers, d
    numbers, d = choose_listed(rows, numbers, d, min(k, int(counts.max())), counts)
    there = np.isfinite(d)
    return np.nonzero(there)[0], numbers[there], d[there]


def _queried(request: Request, n: int) -> np.ndarray:
    return np.arange(n) if request.queries is None else sample(n, request.queries, request.random_state)
