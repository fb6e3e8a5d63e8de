"""Rows in blocks, as graphs see them: the rows that have links, and for the rest of each class its moments.

A linear map and a score read the samples in sums alone: over links, which join the rows searched for and their neighbours, and
over classes, for which counts, means and scatter are enough. Two passes find them: one takes moments and the rows that are
searched for, one searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from ..blocks import Blocks, Fold, working_memory
from ..blocks._blocks import stacked, taking
from ..maps import SummaryMap, as_map, weighted_mean
from ..operators import Array, row_blocks
from ._nearest import Nearest, lengths
from ._sample import Sample, encode_labels
from ._search import Edges, Search, Space, as_edges, started, update_among

PILOT = 1000  # rows whose mean the sums are taken about


class Moments:
    """Sums over rows about a point near their mean: how many, the rows, and their products; the first two for each class.

    Classes are 0 ... c - 1; the last place, c, is for rows of unknown label.
    """

    def __init__(self, pilot: np.ndarray, n_classes: int):
        d = pilot.size
        self.pilot = pilot
        self.counts = np.zeros(n_classes + 1)
        self.sums = np.zeros((n_classes + 1, d))
        self.products = np.zeros((2, d, d))  # of the rows of known label, and of the others

    def add(self, block: np.ndarray, classes: np.ndarray | None) -> Moments:
        places = np.full(len(block), -1) if classes is None else classes.astype(np.intp)
        size = self.counts.size
        self.counts += np.bincount(places % size, minlength=size)
        for rows in row_blocks(*block.shape):
            part, own = as_map(block).block(rows, self.pilot), places[rows]
            members = sparse.csr_array((np.ones(own.size), (own % size, np.arange(own.size))), (size, own.size))
            self.sums += members @ part
            for products, some in zip(self.products, (own >= 0, own < 0), strict=True):
                if some.any():
                    chosen = part if some.all() else part[some]
                    products += chosen.T @ chosen
        return self

    def merge(self, other: Moments) -> Moments:
        self.counts += other.counts
        self.sums += other.sums
        self.products += other.products
        return self

    @property
    def mean(self) -> np.ndarray:
        return self.pilot + self.sums.sum(axis=0) / self.counts.sum()


class ColumnSums:
    """Sums over sparse rows, whose products are too many: how many, and the rows."""

    def __init__(self, n_features: int):
        self.count, self.sums = 0, np.zeros(n_features)

    def add(self, block: sparse.csr_array, classes: np.ndarray | None) -> ColumnSums:
        self.count += block.shape[0]
        self.sums += np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
        return self

    def merge(self, other: ColumnSums) -> ColumnSums:
        self.count += other.count
        self.sums += other.sums
        return self

    @property
    def mean(self) -> np.ndarray:
        return self.sums / self.count


class Rest:
    """What is left of the moments of each class when some rows are taken out of it."""

    def __init__(self, moments: Moments, blocks: Blocks, rows: Array, classes: np.ndarray, of_all: np.ndarray | None):
        taken = Moments(moments.pilot, moments.counts.size - 1).add(rows, classes)
        self.pilot = moments.pilot
        counts = np.round(moments.counts - taken.counts)
        self.classes = np.flatnonzero(counts > 0)
        self.counts = counts[self.classes]
        self.sums = (moments.sums - taken.sums)[self.classes]
        self.products = moments.products - taken.products
        self.n_classes = moments.counts.size - 1
        self._of_weights: list[tuple[np.ndarray, np.ndarray]] = []
        self._blocks, self._of_all, self._rows, self._rows_classes = blocks, of_all, rows, classes

    @property
    def offsets(self) -> np.ndarray:
        """Of the means from the pilot."""
        return self.sums / self.counts[:, None]

    @property
    def labels(self) -> np.ndarray:
        return np.where(self.classes < self.n_classes, self.classes, -1)

    def scatter(self, weights: np.ndarray) -> np.ndarray:
        """The weighted sum of the scatter matrices of the classes about their means."""
        return self._products(weights) - self.offsets.T @ ((weights * self.counts)[:, None] * self.offsets)

    def _products(self, weights: np.ndarray) -> np.ndarray:
        """Of the rows, with a weight a class.

        The moments have those of equal weights; others take a pass, once: weights are split into parts that are known (equal
        ones, then what passes were made for, orthogonal to one another) and a rest.
        """
        known = self.labels >= 0
        total = self.products[1] * weights[~known].sum()
        rest = weights[known]
        if not rest.any():
            return total
        total += self.products[0] * rest.mean()
        smallest, rest = 1e-14 * np.abs(rest).max(), rest - rest.mean()
        for direction, products in self._of_weights:
            share = rest @ direction
            total, rest = total + share * products, rest - share * direction
        if np.abs(rest).max() > smallest:
            length = np.linalg.norm(rest)
            self._of_weights.append((rest / length, self._passed(self.classes[known], rest / length)))
            total += length * self._of_weights[-1][1]
        return total

    def _passed(self, classes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The products of the rows of these classes with these weights, by a pass over the blocks."""
        of_class = np.zeros(self.n_classes + 1)
        of_class[classes] = weights
        fold = _weighted_products(self.pilot, of_class, self._of_all)
        return self._blocks.fold(fold, "adding up") - _weighted(self._rows, self._rows_classes, self.pilot, of_class)


def _weighted(block: np.ndarray, classes: np.ndarray, pilot: np.ndarray, of_class: np.ndarray) -> np.ndarray:
    total = np.zeros((pilot.size, pilot.size))
    for rows in row_blocks(*block.shape):
        part = as_map(block).block(rows, pilot)
        total += part.T @ (of_class[classes[rows]][:, None] * part)
    return total


def _weighted_products(pilot: np.ndarray, of_class: np.ndarray, classes: np.ndarray | None) -> Fold:
    """The products of the rows about the pilot, with a weight a class."""
    assert classes is not None

    def step(total: np.ndarray, block: np.ndarray, start: int) -> np.ndarray:
        return total + _weighted(block, classes[start : start + len(block)], pilot, of_class)

    return Fold(partial(np.zeros, (pilot.size, pilot.size)), step, np.add)


class BlockSample(Sample):
    """Rows in blocks, in the place of a :class:`Sample`: two passes when it is made, none for the graphs built on it.

    Parameters
    ----------
    blocks : Blocks
    y : labels or None
        None where no graph reads them.
    n_components : int or None
    searches : sequence of Search
        All that the graphs will ask for.
    """

    in_blocks = True

    def __init__(self, blocks: Blocks, y: Any, n_components: int | None, searches: Sequence[Search]):
        n = blocks.shape[0]
        wanted = {search.key: search.checked(n) for search in searches}
        self._of_all = None if y is None else _small(encode_labels(blocks.labels(y), n))
        queried = [search.queried(n) for search in wanted.values()]
        numbers = np.unique(np.concatenate([*queried, np.empty(0, np.intp)]))
        self._moments, Q = _first_pass(blocks, numbers, self._of_all, _reads_angles(wanted.values()))
        started = [
            (search, Q[np.searchsorted(numbers, own)], own)
            for search, own in zip(wanted.values(), queried, strict=True)
        ]
        found = _second_pass(blocks, started, self._of_all) if started else []
        self._numbers, rows = _touched(blocks, numbers, Q, found)
        super().__init__(self._summary(blocks, rows), self._of_all, n_components)
        self.n_samples = n
        self.counts = self.X.counts if isinstance(self.X, SummaryMap) else None
        for key, near in zip(wanted, found, strict=True):
            edges = as_edges(near)
            own, others = (np.searchsorted(self._numbers, index) for index in (edges.rows, edges.cols))
            self._searches[key] = Edges(own, others, edges.distances)

    def _summary(self, blocks: Blocks, rows: Array) -> Array:
        classes = None if self._of_all is None else self._of_all[self._numbers].astype(np.intp)
        self.classes = classes  # type: ignore[assignment]
        if isinstance(self._moments, ColumnSums):
            return rows
        labels = np.full(rows.shape[0], -1) if classes is None else classes
        rest = Rest(self._moments, blocks, rows, labels, self._of_all)
        if classes is not None:
            self.classes = np.concatenate([classes, rest.labels])
        return SummaryMap(rows, self._moments.pilot + rest.offsets, rest.counts, rest.scatter)

    @cached_property
    def class_sizes(self) -> np.ndarray:
        assert isinstance(self._moments, Moments)
        return self._moments.counts[:-1]

    def total(self, values: np.ndarray) -> float:
        return float(values @ self.X.counts) if isinstance(self.X, SummaryMap) else super().total(values)

    @property
    def class_means(self) -> np.ndarray:
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
        """About the mean, where rows far from the origin are."""
        return (self._lengths(self.mean) if isinstance(self.X, SummaryMap) else self.norms) ** 2

    def _lengths(self, shift: np.ndarray | None) -> np.ndarray:
        return np.concatenate([lengths(self.X.block(rows, shift)) for rows in row_blocks(*self.X.shape)])

    def require_nonzero_rows(self, why: str) -> None:
        """All were looked at in the first pass where a metric needs it; here those with links."""
        zero = np.flatnonzero(self.norms[: self._numbers.size] == 0)
        if zero.size:
            raise ValueError(_zero_row(why, int(self._numbers[zero[0]])))

    def space(self, metric: Any, metric_params: dict | None) -> Space:
        """Of the rows with links."""
        return Sample(self.X.rows if isinstance(self.X, SummaryMap) else self.X).space(metric, metric_params)

    def _found(self, search: Search) -> Edges:
        raise AssertionError(f"{search} was not announced")


def _first_pass(
    blocks: Blocks, numbers: np.ndarray, classes: np.ndarray | None, nonzero: bool
) -> tuple[Moments | ColumnSums, Array]:
    """The moments, and the rows of these numbers."""
    take, n_classes = taking(numbers), 0 if classes is None else int(classes.max()) + 1
    pilot = None if blocks.is_sparse else weighted_mean(blocks.head(PILOT))
    d = blocks.shape[1]

    def start() -> tuple[Any, list]:
        return ColumnSums(d) if pilot is None else Moments(pilot, n_classes), take.start()

    def step(state: tuple[Any, list], block: Array, first: int) -> tuple[Any, list]:
        moments, found = state
        if nonzero:
            _require_nonzero(block, first)
        labels = None if classes is None else classes[first : first + block.shape[0]]
        return moments.add(block, labels), take.step(found, block, first)

    def merge(a: tuple[Any, list], b: tuple[Any, list]) -> tuple[Any, list]:
        return a[0].merge(b[0]), take.merge(a[1], b[1])

    moments, found = blocks.fold(Fold(start, step, merge), "adding up")
    return moments, stacked(found) if found else np.empty((0, d), blocks.dtype)


def _second_pass(
    blocks: Blocks, started_: list[tuple[Search, Array, np.ndarray]], classes: np.ndarray | None
) -> list[Nearest]:
    """The nearest of all rows to those that are searched for, for each search."""
    of_queries = [None if classes is None else classes[own] for _, _, own in started_]
    options: dict[str, Any] = {"keep_rows": False, "n_threads": 1} if blocks.is_distributed else {"keep_rows": True}

    def start() -> list[Nearest]:
        return [started(search, Q, own, **options) for search, Q, own in started_]

    def step(found: list[Nearest], block: Array, first: int) -> list[Nearest]:
        labels = None if classes is None else classes[first : first + block.shape[0]]
        for (search, _, _), near, own in zip(started_, found, of_queries, strict=True):
            update_among(near, search.among, block, first, labels, own)
        return found

    def merge(a: list[Nearest], b: list[Nearest]) -> list[Nearest]:
        return [one.merge(other) for one, other in zip(a, b, strict=True)]

    return blocks.fold(Fold(start, step, merge), "searching")


def _touched(blocks: Blocks, numbers: np.ndarray, Q: Array, found: list[Nearest]) -> tuple[np.ndarray, Array]:
    """The numbers of all rows that have links, ascending, and the rows."""
    slots = [np.flatnonzero(near.indices.ravel() >= 0) for near in found]
    ends = [np.unique(near.indices.ravel()[own], return_index=True) for near, own in zip(found, slots, strict=True)]
    touched = np.unique(np.concatenate([numbers, *(end for end, _ in ends)]))
    if blocks.is_distributed:
        others = np.setdiff1d(touched, numbers)
        parts = iter([(others, blocks.take(others))] if others.size else [])
    else:
        found_at = zip(found, slots, ends, strict=True)
        parts = ((end, near.rows.take(own[first])) for near, own, (end, first) in found_at)
    return touched, _in_order(touched, chain([(numbers, Q)], parts), sparse.issparse(Q))


def _in_order(touched: np.ndarray, parts: Iterable[tuple[np.ndarray, Array]], is_sparse: bool) -> Array:
    """The rows of these numbers, from parts that may have some of them twice; dense ones a part at a time."""
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
    """The same whole numbers in fewer bytes."""
    return classes.astype(np.min_scalar_type(-int(classes.max()) - 1))


def _reads_angles(searches: Any) -> bool:
    return any(isinstance(search.metric, str) and search.metric == "cosine" for search in searches)


def _require_nonzero(block: Array, first: int) -> None:
    zero = np.flatnonzero(lengths(block) == 0)
    if zero.size:
        raise ValueError(_zero_row('metric="cosine"', first + int(zero[0])))


def _zero_row(why: str, row: int) -> str:
    return f"{why} is undefined for zero vectors, and row {row:,} of X is one; remove such rows or use another metric"


def require_room(blocks: Blocks, searches: Sequence[Search]) -> None:
    """The rows with links, and the sums of products, are held, and must not be more than half of the working memory."""
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
