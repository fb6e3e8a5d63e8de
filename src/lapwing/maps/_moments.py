"""Sums over rows that are read in blocks: means and scatter, of all rows and of each class."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..blocks import Blocks, Fold
from ..operators import Array, row_blocks
from ._map import DenseMap, Deviations


class Moments:
    """Sums over rows about a point near their mean.

    For each class, the number of rows and their sum are kept. The products of rows are summed over all classes.

    Classes are 0 ... c - 1. The last place, c, is for rows of unknown label.
    """

    def __init__(self, pilot: np.ndarray, n_classes: int):
        d = pilot.size
        self.pilot = pilot
        self.counts = np.zeros(n_classes + 1)
        self.sums = np.zeros((n_classes + 1, d))
        self.products = np.zeros((2, d, d))  # the products of the rows of known label, and of the others

    def add(self, block: np.ndarray, classes: np.ndarray | None, weights: np.ndarray | None = None) -> Moments:
        """Add the rows of a block. Each row counts once, or as often as its weight says."""
        places = np.full(len(block), -1) if classes is None else classes.astype(np.intp)
        size = self.counts.size
        self.counts += np.bincount(places % size, weights, minlength=size)
        for rows in row_blocks(*block.shape):
            part, own = DenseMap(block).block(rows, self.pilot), places[rows]
            counts = np.ones(own.size) if weights is None else weights[rows]
            members = sparse.csr_array((counts, (own % size, np.arange(own.size))), (size, own.size))
            self.sums += members @ part
            for products, some in zip(self.products, (own >= 0, own < 0), strict=True):
                if some.any():
                    chosen = part if some.all() else part[some]
                    products += chosen.T @ (chosen if weights is None else counts[some, None] * chosen)
        return self

    def merge(self, other: Moments) -> Moments:
        self.counts += other.counts
        self.sums += other.sums
        self.products += other.products
        return self

    @property
    def mean(self) -> np.ndarray:
        return self.pilot + self.sums.sum(axis=0) / self.counts.sum()

    def deviations(self) -> Deviations:
        """The standard deviations of all columns."""
        squares = np.einsum("pii->i", self.products) / self.counts.sum()
        values = _deviations(squares, self.sums.sum(axis=0) / self.counts.sum(), self.pilot)
        return Deviations(values, np.ones(values.size, dtype=bool))

    def divided(self, scale: np.ndarray) -> Moments:
        """The moments of the rows with each column divided by its scale."""
        moments = Moments(self.pilot / scale, self.counts.size - 1)
        moments.counts, moments.sums, moments.products = (
            self.counts,
            self.sums / scale,
            self.products / np.outer(scale, scale),
        )
        return moments


class ClassMoments:
    """The number of rows of each class, their mean and their scatter about it, for rows that come in batches.

    :class:`Moments` are about a point that is chosen beforehand. These are about the means so far, which move as rows come
    [1]_, so that digits are kept wherever a stream of rows goes.

    Parameters
    ----------
    counts : ndarray of shape (n_classes + 1,)
        The last place is for rows of unknown label, here and below.
    means : ndarray of shape (n_classes + 1, n_features)
    scatters : ndarray of shape (2, n_features, n_features) or (n_classes + 1, n_features, n_features)
        The scatters of all classes together and of the rows of unknown label; or one per class, where their weights differ.
    stored : ndarray of shape (n_features,)
        How many rows have a number in each column, and not the zero of a sparse array.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician
       37, 1983. https://doi.org/10.1080/00031305.1983.10483115
    """

    def __init__(self, counts: np.ndarray, means: np.ndarray, scatters: np.ndarray, stored: np.ndarray):
        self.counts, self.means, self.scatters, self.stored = counts, means, scatters, stored

    @classmethod
    def none(cls, n_features: int, by_class: bool) -> ClassMoments:
        """The moments of no rows and no classes."""
        d = n_features
        return cls(np.zeros(1), np.zeros((1, d)), np.zeros((1 if by_class else 2, d, d)), np.zeros(d))

    @property
    def by_class(self) -> bool:
        """Whether there is one scatter matrix per class.

        With one class, the scatter of all classes together is that of the class.
        """
        return len(self.scatters) == self.counts.size

    def grown(self, n_classes: int, by_class: bool) -> ClassMoments:
        """A copy with places for so many classes."""
        more = n_classes + 1 - self.counts.size
        d = self.stored.size
        scatters = self.scatters.copy()
        if by_class:
            scatters = np.concatenate([scatters[:-1], np.zeros((more, d, d)), scatters[-1:]])
        return ClassMoments(
            np.concatenate([self.counts[:-1], np.zeros(more), self.counts[-1:]]),
            np.concatenate([self.means[:-1], np.zeros((more, d)), self.means[-1:]]),
            scatters,
            self.stored.copy(),
        )

    def add(self, X: Array, classes: np.ndarray, weights: np.ndarray) -> None:
        """Add rows of these classes, -1 where unknown. Each row counts as often as its weight says."""
        size, places = self.counts.size, classes % self.counts.size
        seen = (X != 0).astype(np.float64).T @ weights if sparse.issparse(X) else weights.sum()
        self.stored += seen
        for rows in row_blocks(*X.shape):
            block = X[rows].toarray() if sparse.issparse(X) else X[rows]
            self._add(np.asarray(block, dtype=np.float64), places[rows], weights[rows], size)

    def _add(self, block: np.ndarray, places: np.ndarray, weights: np.ndarray, size: int) -> None:
        members = sparse.csr_array((weights, (places, np.arange(places.size))), (size, places.size))
        counts = np.bincount(places, weights, size)
        own = np.where(counts > 0, counts, 1.0)[:, None]
        first = block[0]  # sums are taken about it, so that the mean of a constant column is exactly that constant
        means = first + (members @ (block - first)) / own
        total = self.counts + counts
        share = np.divide(counts, total, out=np.zeros(size), where=total > 0)
        moved = np.where(counts[:, None] > 0, means - self.means, 0.0)
        within, roots = block - means[places], np.sqrt(weights)[:, None]
        self._add_scatters(within * roots, places, np.sqrt(self.counts * share)[:, None] * moved)
        self.means = np.where(self.counts[:, None] > 0, self.means + share[:, None] * moved, means)
        self.counts = total

    def _add_scatters(self, within: np.ndarray, places: np.ndarray, moved: np.ndarray) -> None:
        """Add the scatter of the rows about the means of their batch, and that of these means about those of the rows before."""
        last = self.counts.size - 1
        groups = np.arange(self.counts.size)[:, None] if self.by_class else [np.arange(last), np.array([last])]
        for scatter, group in zip(self.scatters, groups, strict=True):
            for part in (within[np.isin(places, group)], moved[group]):
                scatter += part.T @ part

    @property
    def mean(self) -> np.ndarray:
        place = np.argmax(self.counts > 0)
        return self.means[place] + self.counts @ (self.means - self.means[place]) / self.counts.sum()

    def deviations(self) -> Deviations:
        """The standard deviations of all columns."""
        n, mean = self.counts.sum(), self.mean
        between = self.counts @ np.where(self.counts[:, None] > 0, self.means - mean, 0.0) ** 2
        variances = (np.einsum("pii->i", self.scatters) + between) / n
        return Deviations(_deviations(variances, np.zeros_like(mean), mean), 2 * self.stored > n)

    def divided(self, scale: np.ndarray) -> ClassMoments:
        """The moments of the rows with each column divided by its scale."""
        return ClassMoments(self.counts, self.means / scale, self.scatters / np.outer(scale, scale), self.stored)

    def scatter(self, weights: np.ndarray) -> np.ndarray:
        """The weighted sum of the scatter matrices of the classes that have rows, and of the rows of unknown label."""
        of_all = np.zeros(self.counts.size)
        of_all[self.counts > 0] = weights
        if self.by_class:
            return np.tensordot(of_all, self.scatters, 1)
        known = weights[: weights.size - int(self.counts[-1] > 0)]
        return (known.mean() if known.size else 0.0) * self.scatters[0] + of_all[-1] * self.scatters[1]


class ColumnSums:
    """Sums over sparse rows: how many there are, and their sum. Their products would be too many."""

    def __init__(self, n_features: int):
        self.count, self.sums, self.squares, self.stored = 0, *np.zeros((3, n_features))

    def add(self, block: sparse.csr_array, classes: np.ndarray | None) -> ColumnSums:
        self.count += block.shape[0]
        self.sums += np.asarray(block.sum(axis=0, dtype=np.float64)).ravel()
        self.squares += np.bincount(block.indices, np.square(block.data, dtype=np.float64), block.shape[1])
        self.stored += np.bincount(block.indices, minlength=block.shape[1])
        return self

    def merge(self, other: ColumnSums) -> ColumnSums:
        self.count += other.count
        self.sums += other.sums
        self.squares += other.squares
        self.stored += other.stored
        return self

    @property
    def mean(self) -> np.ndarray:
        return self.sums / self.count

    def deviations(self) -> Deviations:
        """The standard deviations of all columns."""
        values = _deviations(self.squares / self.count, self.mean, np.zeros_like(self.sums))
        return Deviations(values, 2 * self.stored > self.count)

    def divided(self, scale: np.ndarray) -> ColumnSums:
        """The sums of the rows with each column divided by its scale."""
        sums = ColumnSums(scale.size)
        sums.count, sums.stored = self.count, self.stored
        sums.sums, sums.squares = self.sums / scale, self.squares / scale**2
        return sums


def _deviations(squares: np.ndarray, means: np.ndarray, pilot: np.ndarray) -> np.ndarray:
    """Standard deviations, from means and mean squares about the pilot; 0 for columns that are constant up to rounding."""
    variances = squares - means**2
    rounding = 1e-14 * squares + (1e-15 * pilot) ** 2
    return np.sqrt(np.where(variances > rounding, variances, 0.0))


class Rest:
    """The moments of each class without some rows that are taken out of it."""

    def __init__(
        self,
        moments: Moments,
        blocks: Blocks,
        rows: Array,
        classes: np.ndarray,
        of_all: np.ndarray | None,
        weights: np.ndarray | None = None,
    ):
        taken = Moments(moments.pilot, moments.counts.size - 1).add(rows, classes)
        self.pilot = moments.pilot
        # Whole numbers where rows are taken out, since there are no weights with searches.
        counts = moments.counts - taken.counts
        self.classes = np.flatnonzero(counts > 0)
        self.counts = counts[self.classes]
        self.sums = (moments.sums - taken.sums)[self.classes]
        self.products = moments.products - taken.products
        self.n_classes = moments.counts.size - 1
        self._of_weights: list[tuple[np.ndarray, np.ndarray]] = []
        self._blocks, self._of_all, self._rows, self._rows_classes = blocks, of_all, rows, classes
        self._weights = weights

    @property
    def offsets(self) -> np.ndarray:
        """How far the means are from the pilot."""
        return self.sums / self.counts[:, None]

    @property
    def labels(self) -> np.ndarray:
        return np.where(self.classes < self.n_classes, self.classes, -1)

    def scatter(self, weights: np.ndarray) -> np.ndarray:
        """The weighted sum of the scatter matrices of the classes about their means."""
        return self._products(weights) - self.offsets.T @ ((weights * self.counts)[:, None] * self.offsets)

    def _products(self, weights: np.ndarray) -> np.ndarray:
        """The sum of the products of the rows, with one weight per class.

        The moments give it for equal weights. Other weights need a pass over the rows, which is made once. Weights are split
        into parts whose sums are known and a rest, for which a pass is made. The known parts are equal weights and those of
        earlier passes, orthogonal to one another.
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
        fold = _weighted_products(self.pilot, of_class, self._of_all, self._weights)
        return self._blocks.fold(fold, "adding up") - _weighted(self._rows, self._rows_classes, self.pilot, of_class)


def _weighted(
    block: np.ndarray, classes: np.ndarray, pilot: np.ndarray, of_class: np.ndarray, weights: Any = 1.0
) -> np.ndarray:
    total, counts = np.zeros((pilot.size, pilot.size)), of_class[classes] * weights
    for rows in row_blocks(*block.shape):
        part = DenseMap(block).block(rows, pilot)
        total += part.T @ (counts[rows, None] * part)
    return total


def _weighted_products(
    pilot: np.ndarray, of_class: np.ndarray, classes: np.ndarray | None, weights: np.ndarray | None
) -> Fold:
    """The sum of the products of the rows about the pilot, with one weight per class, and one per row where these are given."""
    assert classes is not None

    def step(total: np.ndarray, block: np.ndarray, start: int) -> np.ndarray:
        rows = slice(start, start + len(block))
        return total + _weighted(block, classes[rows], pilot, of_class, 1.0 if weights is None else weights[rows])

    return Fold(partial(np.zeros, (pilot.size, pilot.size)), step, np.add)
