"""Rows that stand for many samples: all that sums over samples need of rows that are not held.

A group of samples counts through its number, its mean and its scatter about that mean. So a Summary is a Data with weights,
whose forms have the scatter added; and partial_fit, blocks and clusters are fits to a Summary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

from ._arrays import BLOCK_BYTES
from ._labels import coded_labels
from .data import Data
from .operators import Structured

LEAST_ROOM = 1 << 30  # bytes that sums over rows may take, whatever working_memory is


class Summary(Data):
    """Rows, some of which are the means of groups of samples.

    Parameters
    ----------
    X, y, weights
        As for :class:`~lapwing.data.Data`; a group has its mean as row, its label, and its number of samples as weight.
    scatter : callable
        From one weight per row to the sum of the scatters of samples about the rows that stand for them, each under its weight.
    dtype : numpy.dtype
        The type of the samples.
    filled : ndarray of shape (d,), default=None
        Which columns are not mostly zeros.
    found : list of (request, edges), default=()
        The neighbours of rows, where these were searched for among all samples.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weights: Any,
        scatter: Callable[[np.ndarray], Any],
        dtype: Any = np.float64,
        filled: Any = None,
        found: Sequence = (),
    ):
        super().__init__(X, y, weights)
        self.scatter, self.dtype, self.filled, self.found = scatter, np.dtype(dtype), filled, found
        self.is_wide, self.knows_gram = False, True  # the scatter is known, and the samples are not

    def nearest(self, request: Any, on_device: bool = False) -> Any:
        asked = request.checked(int(self.size))
        for own, edges in self.found:
            if own == asked:
                return edges
        raise ValueError("sums over rows have no neighbours; use graphs of classes, such as SameClass()")

    def divided(self, scale: np.ndarray) -> Summary:
        scatter, scales = self.scatter, np.outer(scale, scale)
        X, y, w = self.X / scale, self.y, self.weights
        divided = Summary(X, y, w, lambda weights: scatter(weights) / scales, self.dtype, self.filled)
        divided.given, divided.device, divided.is_divided = self.given, self.device, True
        return divided

    @cached_property
    def unit(self) -> Data:
        return Data(self.X, self.y, self.weights).unit

    def stacked(self, X: Any) -> Data:
        return Data(self.X).stacked(X)

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> Summary:
        scatter = self.scatter
        coordinates = (self.X - about) @ N
        return Summary(coordinates, self.y, self.weights, lambda weights: N.T @ scatter(weights) @ N, self.dtype)

    def form(self, M: Structured, about: np.ndarray) -> Any:
        # About a copy, since dense rows would take the kept Gram matrix, scatter and all.
        total = super().form(M, about.copy())
        return total if M.diag is None else total + self.scatter(np.asarray(M.diag))

    def form_diagonal(self, M: Structured, about: np.ndarray) -> np.ndarray:
        return np.diagonal(self.form(M, about)).copy()

    def gram(self, about: np.ndarray) -> np.ndarray:
        if about is self._mean and self._gram is not None:
            return self._gram
        total = self.form(Structured(self.n, diag=np.ones(self.n)), about)
        if about is self._mean:
            self._gram = total
        return total

    def deviations(self, few: bool = False) -> np.ndarray:
        mean = self.mean()
        variances = np.diagonal(self.gram(mean)) / self.size
        return np.sqrt(np.where(variances > (1e-15 * mean) ** 2, variances, 0.0))


class ClassSums:
    """The number of rows of each class, their mean and their scatter about it, for rows that come in batches.

    Means move as rows come [1]_, so that digits are kept wherever a stream of rows goes. Rows of unknown label are a class of
    their own, the last one.

    Parameters
    ----------
    labels : ndarray of shape (n_classes,)
    counts : ndarray of shape (n_classes + 1,)
    means : ndarray of shape (n_classes + 1, d)
    scatters : ndarray of shape (2, d, d) or (n_classes + 1, d, d)
        Of all classes together and of the rows of unknown label; or one per class, where their weights differ.
    stored : ndarray of shape (d,)
        How many samples have a number in each column, and not the zero of a sparse array.
    by_class : bool
    dtype : str
        The type of the rows.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician
       37, 1983. https://doi.org/10.1080/00031305.1983.10483115
    """

    def __init__(
        self,
        labels: np.ndarray,
        counts: np.ndarray,
        means: np.ndarray,
        scatters: np.ndarray,
        stored: np.ndarray,
        by_class: bool,
        dtype: str,
    ):
        self.labels, self.counts, self.means, self.scatters, self.stored = labels, counts, means, scatters, stored
        self.by_class, self.dtype = by_class, dtype

    @classmethod
    def none(cls, d: int, by_class: bool, dtype: Any, n_classes: int = 0) -> ClassSums:
        """The sums over no rows, of no classes, or of classes whose labels are 0 ... n_classes - 1."""
        n, scatters = n_classes + 1, np.zeros((n_classes + 1 if by_class else 2, d, d))
        return cls(
            np.arange(n_classes), np.zeros(n), np.zeros((n, d)), scatters, np.zeros(d), by_class, np.dtype(dtype).name
        )

    def add(self, X: Any, y: np.ndarray | None, weights: np.ndarray | None) -> ClassSums:
        """The sums over these rows as well. Labels of -1 are unknown."""
        n, d = X.shape
        places, labels = (np.full(n, -1), self.labels) if y is None else coded_labels(y, self.labels)
        more = labels.size - self.labels.size
        size = (
            3 * 8 * (len(self.scatters) + more * self.by_class) * d**2
        )  # the sums so far, the next sums, and their form
        if size > max(get_config()["working_memory"] * 2**20, LEAST_ROOM):
            raise ValueError(
                f"sums over rows of {d} features take {size / 2**20:,.0f} MiB with what is computed from them, more than "
                "scikit-learn's working_memory; reduce the features first, or use "
                f"sklearn.set_config(working_memory={int(1.1 * size / 2**20) + 1})"
            )
        scatters = self.scatters.copy()
        if self.by_class:
            scatters = np.concatenate([scatters[:-1], np.zeros((more, d, d)), scatters[-1:]])
        counts = np.concatenate([self.counts[:-1], np.zeros(more), self.counts[-1:]])
        means = np.concatenate([self.means[:-1], np.zeros((more, d)), self.means[-1:]])
        w = np.ones(n) if weights is None else weights
        stored = self.stored + ((X != 0).astype(np.float64).T @ w if sparse.issparse(X) else w.sum())
        dtype = np.result_type(X.dtype, self.dtype).name
        sums = ClassSums(labels, counts, means, scatters, np.asarray(stored).ravel() * np.ones(d), self.by_class, dtype)
        step = max(1, BLOCK_BYTES // (8 * max(1, d)))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            block = np.asarray(X[rows].toarray() if sparse.issparse(X) else X[rows], dtype=np.float64)
            sums._take(block, places[rows] % counts.size, w[rows], weights is not None)
        return sums

    def _take(self, block: np.ndarray, places: np.ndarray, weights: np.ndarray, is_weighted: bool) -> None:
        size = self.counts.size
        members = sparse.csr_array((weights, (places, np.arange(places.size))), (size, places.size))
        counts = np.bincount(places, weights, size)
        first = block[0]  # sums are taken about it, so that the mean of a constant column is exactly that constant
        within = block - first
        centres = (members @ within) / np.where(counts > 0, counts, 1.0)[:, None]
        within -= centres[places]
        if is_weighted:
            within *= np.sqrt(weights)[:, None]
        self._move(counts, first + centres, within, places)

    def _move(self, counts: np.ndarray, means: np.ndarray, within: Any = None, places: Any = None) -> None:
        """Take in so many samples of these means, or out, where numbers are negative.

        ``within`` has the samples of classes at these places about the means, where their scatter was not added before.
        """
        total, last = self.counts + counts, self.counts.size - 1
        share = np.divide(counts, total, out=np.zeros(counts.size), where=total > 0)
        moved, each = np.where(counts[:, None] != 0, means - self.means, 0.0), (self.counts * share)[:, None]
        groups = [(i, i + 1) for i in range(last + 1)] if self.by_class else [(0, last), (last, last + 1)]
        for scatter, (low, high) in zip(self.scatters, groups, strict=True):
            scatter += moved[low:high].T @ (each[low:high] * moved[low:high])
            inside = None if within is None else (places >= low) & (places < high)
            if inside is not None and inside.any():
                part = within if inside.all() else within[inside]
                scatter += part.T @ part
        self.means = np.where(self.counts[:, None] > 0, self.means + share[:, None] * moved, means)
        self.counts = total

    def merge(self, other: ClassSums) -> ClassSums:
        """Take in the sums over other rows of the same classes."""
        self.scatters += other.scatters
        self.stored = self.stored + other.stored
        self._move(other.counts, other.means)
        return self

    def without(self, X: Any, y: np.ndarray | None) -> ClassSums:
        """The sums over the rows that are left when these rows, each of which counts once, are taken out."""
        d, n_classes = self.stored.size, self.counts.size - 1
        out = ClassSums.none(d, self.by_class, self.dtype, n_classes).add(X, y, None)
        scatters = self.scatters - out.scatters
        rest = ClassSums(self.labels, self.counts, self.means, scatters, self.stored, self.by_class, self.dtype)
        rest._move(-out.counts, out.means)
        return rest

    def divided(self, scale: np.ndarray) -> ClassSums:
        """The sums over the rows with each column divided by its scale."""
        means, scatters = self.means / scale, self.scatters / np.outer(scale, scale)
        return ClassSums(self.labels, self.counts, means, scatters, self.stored, self.by_class, self.dtype)

    def summary(self, labelled: bool) -> Summary:
        """A row for the samples of each class."""
        there = np.flatnonzero(self.counts > 0)
        y = np.where(there < self.counts.size - 1, there, -1) if labelled else None
        filled = 2 * self.stored > self.counts.sum()
        return Summary(self.means[there], y, self.counts[there], partial(self.scatter, there), self.dtype, filled)

    def scatter(self, there: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The sum of the scatters of these classes, each under its weight."""
        if self.by_class:
            return np.tensordot(weights, self.scatters[there], 1)
        known = there < self.counts.size - 1
        each = weights[known]
        if each.size and np.ptp(each) > 1e-12 * np.abs(each).max():
            raise ValueError("classes weigh differently, and only the scatter of all classes together was kept")
        return (each.mean() if each.size else 0.0) * self.scatters[0] + weights[~known].sum() * self.scatters[1]
