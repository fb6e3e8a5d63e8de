"""Rows in blocks, as graphs see them: the rows that have links, and the moments of the other rows of each class.

A linear map and a score read the samples only through sums. The sums over links need the rows that are searched for and their
neighbours. The sums over classes need only the count, the mean and the scatter of each class. Two passes over the blocks find
all of this: the first takes the moments and the rows that are searched for, and the second searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from ..blocks import Blocks, Fold, stacked, taking, working_memory
from ..maps import ClassMoments, ColumnSums, Moments, Rest, SummaryMap, as_map
from ..operators import Array, row_blocks
from ..rows import Rows, Units, divided, encode_labels, lengths
from ._nearest import Nearest
from ._requests import Edges, Search, is_named

PILOT = 1000  # The mean of this many rows is subtracted before sums are taken, so that the sums keep their digits.


class BlockRows(Rows):
    """Rows in blocks, used like a :class:`Rows`: it makes two passes when it is created, and none for the graphs built on it.

    Parameters
    ----------
    blocks : Blocks
    y : labels or None
        None where no graph reads them.
    searches : sequence of Search
        All that the graphs will ask for.
    units : callable, default=None
        Given the standard deviations of the columns, which the first pass finds, it returns what the columns are divided by.
    weights : ndarray of shape (n_samples,), default=None
        How many samples each row stands for, where there are no searches.
    """

    in_blocks = True

    def __init__(
        self,
        blocks: Blocks,
        y: Any,
        searches: Sequence[Search],
        units: Units | None = None,
        weights: np.ndarray | None = None,
    ):
        n = blocks.shape[0]
        wanted = {search.key: search for search in (given.checked(n) for given in searches)}
        labels = None if y is None else blocks.labels(y)
        if labels is not None and weights is not None and len(labels) == n:
            # A row of weight 0 counts as absent and has no class.
            labels = np.where(weights > 0, np.asarray(labels), -1)
        self._of_all = None if y is None else _small(encode_labels(labels, n))
        queried = [search.queried(n) for search in wanted.values()]
        numbers = np.unique(np.concatenate([*queried, np.empty(0, np.intp)]))
        self._moments, Q = _first_pass(blocks, numbers, self._of_all, _reads_angles(wanted.values()), weights)
        scale = None if units is None else units(lambda few: self._moments.deviations())
        if scale is not None:
            self._moments, Q = self._moments.divided(scale), divided(Q, scale)
            blocks = blocks.map(lambda block, first: divided(block, scale))
        started = [
            (search, Q[np.searchsorted(numbers, own)], own)
            for search, own in zip(wanted.values(), queried, strict=True)
        ]
        found = _second_pass(blocks, started, self._of_all) if started else []
        self._numbers, rows = _touched(blocks, numbers, Q, found)
        super().__init__(self._summary(blocks, rows, weights), self._of_all)
        self.scale = scale
        self.n_samples = self.F.n_samples = n if weights is None else weights.sum()
        self.F.plain_mean = self._moments.mean  # the mean of all rows, not only of those with links
        self.counts = np.ceil(self.X.counts) if isinstance(self.X, SummaryMap) else None
        for key, passed in zip(wanted, found, strict=True):
            edges = passed.edges()
            own, others = (np.searchsorted(self._numbers, index) for index in (edges.rows, edges.cols))
            self._kept[key] = Edges(own, others, edges.distances)

    def _summary(self, blocks: Blocks, rows: Array, weights: np.ndarray | None) -> Array:
        classes = None if self._of_all is None else self._of_all[self._numbers].astype(np.intp)
        self.classes = classes  # type: ignore[assignment]
        if isinstance(self._moments, ColumnSums):
            return rows
        labels = np.full(rows.shape[0], -1) if classes is None else classes
        rest = Rest(self._moments, blocks, rows, labels, self._of_all, weights)
        if classes is not None:
            self.classes = np.concatenate([classes, rest.labels])
        return SummaryMap(rows, self._moments.pilot + rest.offsets, rest.counts, rest.scatter)

    @cached_property
    def class_sizes(self) -> np.ndarray:
        if isinstance(self._moments, Moments):
            return self._moments.counts[:-1]
        assert self._of_all is not None
        return np.bincount(self._of_all[self._of_all >= 0]).astype(np.float64)

    @property
    def class_means(self) -> np.ndarray:
        """The means of the known classes."""
        assert isinstance(self._moments, Moments)
        return self._moments.pilot + self._moments.sums[:-1] / self._moments.counts[:-1, None]

    @cached_property
    def mean(self) -> np.ndarray:
        return self._moments.mean

    @cached_property
    def norms(self) -> np.ndarray:
        return self._lengths(None) if isinstance(self.X, SummaryMap) else lengths(self.X)

    @cached_property
    def squared_norms(self) -> np.ndarray:
        """Squared lengths about the mean, where the rows lie far from the origin."""
        return (self._lengths(self.mean) if isinstance(self.X, SummaryMap) else self.norms) ** 2

    def _lengths(self, shift: np.ndarray | None) -> np.ndarray:
        return np.concatenate([lengths(self.X.block(rows, shift)) for rows in row_blocks(*self.X.shape)])

    def require_nonzero_rows(self, why: str) -> None:
        """Check the rows with links; where a metric needs nonzero rows, the first pass has looked at all of them already."""
        zero = np.flatnonzero(self.norms[: self._numbers.size] == 0)
        if zero.size:
            raise ValueError(_zero_row(why, int(self._numbers[zero[0]])))

    @cached_property
    def linked(self) -> Rows:
        """The rows with links, as a :class:`Rows` of their own."""
        return Rows(self.X.rows if isinstance(self.X, SummaryMap) else self.X)


class ClassRows(BlockRows):
    """Rows that are no longer there: graphs see only the classes, each of which is given by its moments.

    Parameters
    ----------
    moments : ClassMoments
    labelled : bool
        Whether graphs read labels.
    dtype : numpy.dtype
        The type of the rows.
    units : callable, default=None
        Given the standard deviations of the columns, it returns what the columns are divided by. None leaves them as they
        are.
    """

    def __init__(self, moments: ClassMoments, labelled: bool, dtype: Any, units: Units | None = None):
        scale = None if units is None else units(lambda few: moments.deviations())
        moments = moments if scale is None else moments.divided(scale)
        there, none = np.flatnonzero(moments.counts > 0), np.empty((0, moments.stored.size), dtype)
        summary = SummaryMap(none, moments.means[there], moments.counts[there], moments.scatter)
        Rows.__init__(self, summary)
        last = moments.counts.size - 1
        self._numbers = np.empty(0, dtype=np.intp)
        self.classes = np.where(there < last, there, -1) if labelled else None  # type: ignore[assignment]
        self.class_sizes = moments.counts[:-1]
        self._class_means = moments.means[:-1]
        self.scale, self.counts = scale, np.ceil(summary.counts)
        self.n_samples = summary.n_samples = moments.counts.sum()
        summary.plain_mean = self.mean = moments.mean

    @property
    def class_means(self) -> np.ndarray:
        return self._class_means


def _first_pass(
    blocks: Blocks, numbers: np.ndarray, classes: np.ndarray | None, nonzero: bool, weights: np.ndarray | None
) -> tuple[Moments | ColumnSums, Array]:
    """The moments of all rows, and those rows whose numbers are given."""
    take, n_classes = taking(numbers), 0 if classes is None else int(classes.max()) + 1
    pilot = None if blocks.is_sparse else as_map(blocks.head(PILOT)).mean()
    d = blocks.shape[1]

    def start() -> tuple[Any, list]:
        return ColumnSums(d) if pilot is None else Moments(pilot, n_classes), take.start()

    def step(state: tuple[Any, list], block: Array, first: int) -> tuple[Any, list]:
        moments, found = state
        if nonzero:
            _require_nonzero(block, first)
        labels = None if classes is None else classes[first : first + block.shape[0]]
        own = {} if weights is None else {"weights": weights[first : first + block.shape[0]]}
        return moments.add(block, labels, **own), take.step(found, block, first)

    def merge(a: tuple[Any, list], b: tuple[Any, list]) -> tuple[Any, list]:
        return a[0].merge(b[0]), take.merge(a[1], b[1])

    moments, found = blocks.fold(Fold(start, step, merge), "adding up")
    return moments, stacked(found) if found else np.empty((0, d), blocks.dtype)


def _second_pass(
    blocks: Blocks, wanted: list[tuple[Search, Array, np.ndarray]], classes: np.ndarray | None
) -> list[Nearest]:
    """For each search, the nearest of all rows to the rows that are searched for."""
    options: dict[str, Any] = {"n_threads": 1} if blocks.is_distributed else {"keep_rows": True}

    def start() -> list[Nearest]:
        return [Nearest(search, Q, own, classes, **options) for search, Q, own in wanted]

    def step(passes: list[Nearest], block: Array, first: int) -> list[Nearest]:
        return [passed.update(block, first) for passed in passes]

    def merge(a: list[Nearest], b: list[Nearest]) -> list[Nearest]:
        return [one.merge(other) for one, other in zip(a, b, strict=True)]

    return blocks.fold(Fold(start, step, merge), "searching")


def _touched(blocks: Blocks, numbers: np.ndarray, Q: Array, found: list[Nearest]) -> tuple[np.ndarray, Array]:
    """The numbers of all rows that have links, in ascending order, and the rows themselves."""
    if blocks.is_distributed:
        touched = np.unique(np.concatenate([numbers, *(near.edges().cols for near in found)]))
        others = np.setdiff1d(touched, numbers)
        parts = iter([(others, blocks.take(others))] if others.size else [])
    else:
        ends = [(near, *near.neighbors()) for near in found]
        touched = np.unique(np.concatenate([numbers, *(end for _, end, _ in ends)]))
        parts = ((end, near.rows.take(slots)) for near, end, slots in ends)
    return touched, _in_order(touched, chain([(numbers, Q)], parts), sparse.issparse(Q))


def _in_order(touched: np.ndarray, parts: Iterable[tuple[np.ndarray, Array]], is_sparse: bool) -> Array:
    """The rows of these numbers, from parts that may overlap. Dense parts are copied one at a time."""
    if is_sparse:
        given = list(parts)
        first = np.unique(np.concatenate([which for which, _ in given]), return_index=True)[1]
        return sparse.csr_array(sparse.vstack([rows for _, rows in given]))[first]
    out: Any = None
    for which, rows in parts:
        out = np.empty((touched.size, rows.shape[1]), rows.dtype) if out is None else out
        out[np.searchsorted(touched, which)] = rows
    return out


def _small(classes: np.ndarray) -> np.ndarray:
    """The same whole numbers in a type of fewer bytes."""
    return classes.astype(np.min_scalar_type(-int(classes.max()) - 1))


def _reads_angles(searches: Any) -> bool:
    return any(is_named(search.metric, "cosine") for search in searches)


def _require_nonzero(block: Array, first: int) -> None:
    zero = np.flatnonzero(lengths(block) == 0)
    if zero.size:
        raise ValueError(_zero_row('metric="cosine"', first + int(zero[0])))


def _zero_row(why: str, row: int) -> str:
    return f"{why} is undefined for zero vectors, and row {row:,} of X is one; remove such rows or use another metric"


def require_room(blocks: Blocks, searches: Sequence[Search]) -> None:
    """Raise where the rows with links and the sums of products, which are held, need over half of the working memory."""
    n, d = blocks.shape
    wanted = {search.key: search for search in searches}.values()
    rows = sum(min(search.queries or n, n) * (1 + search.n_neighbors) for search in wanted)
    size = rows * d * blocks.dtype.itemsize + 4 * d * d * 8
    if blocks.is_sparse or size <= working_memory() / 2:
        return
    queries = max((search.queries or n for search in wanted), default=0)
    raise ValueError(
        f"queries={queries} and their neighbours are up to {rows:,} rows of {d} features; with the sums of products of features "
        f"{size / 2**20:,.0f} MiB, more than half of scikit-learn's working_memory of {working_memory() / 2**20:,.0f} MiB; use "
        f"fewer queries or neighbours, or sklearn.set_config(working_memory={int(2.1 * size / 2**20) + 1})"
    )
