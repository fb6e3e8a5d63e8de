"""Rows that stand for many samples: all that sums over samples need of rows that are not held.

A group of samples counts through its number, its mean and its scatter about that mean. So a Summary is a Data with weights,
whose forms have the scatter added; and partial_fit, blocks and clusters are fits to a Summary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

from ._arrays import BLOCK_BYTES, LONG_ROWS
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
    shares : ndarray of shape (d,), default=None
        The share of the samples that are not 0, of each column.
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
        shares: Any = None,
        found: Sequence = (),
    ):
        super().__init__(X, y, weights)
        self.scatter, self.dtype, self.shares, self.found = scatter, np.dtype(dtype), shares, found
        self.is_wide, self.knows_gram = False, True  # the scatter is known, and the samples are not

    def divided(self, scale: np.ndarray) -> Summary:
        scatter, scales = self.scatter, np.outer(scale, scale)
        X, y, w = self.X / scale, self.y, self.weights
        divided = Summary(X, y, w, lambda weights: scatter(weights) / scales, self.dtype, self.shares)
        divided.given, divided.device, divided.is_divided = self.given, self.device, True
        return divided

    @cached_property
    def unit(self) -> Data:
        return Data(self.X, self.y, self.weights).unit

    def stacked(self, X: Any) -> Data:
        return Data(self.X).stacked(X)

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> Summary:
        scatter = self.scatter
        coordinates = np.empty((self.n, N.shape[1]))
        for rows in self._slices:
            coordinates[rows] = self._part(rows, slice(None), about) @ N
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

    def deviations(self) -> np.ndarray:
        mean = self.mean()
        variances = np.diagonal(self.gram(mean)) / self.size
        return np.sqrt(np.where(variances > (1e-15 * mean) ** 2, variances, 0.0))


class ClassSums:
    """The number of rows of each class, their mean and their scatter about it, for rows that come in batches.

    Means move as rows come [1]_, so that digits are kept wherever a stream of rows goes. Rows of unknown label are a class of
    their own, the last one.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
    counts : ndarray of shape (n_classes + 1,)
    means : ndarray of shape (n_classes + 1, d)
    scatters : ndarray of shape (2, d, d) or (n_classes + 1, d, d)
        Of all classes together and of the rows of unknown label; or one per class, where their weights differ.
    stored : ndarray of shape (d,)
        How many samples are not 0, of each column.
    by_class : bool
    dtype : str
        The type of the rows.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician
       37, 1983. https://doi.org/10.1080/00031305.1983.10483115
    """

    def __init__(self, d: int, by_class: bool, dtype: Any, n_classes: int = 0):
        """The sums over no rows, of no classes, or of classes whose labels are 0 ... n_classes - 1."""
        n_scatters = n_classes + 1 if by_class else 2
        size = 3 * 8 * n_scatters * d**2  # the sums so far, the next sums, and their form
        if size > max(get_config()["working_memory"] * 2**20, LEAST_ROOM):
            raise ValueError(
                f"sums over rows of {d} features take {size / 2**20:,.0f} MiB with what is computed from them, more than "
                "scikit-learn's working_memory; reduce the features first, or use "
                f"sklearn.set_config(working_memory={int(1.1 * size / 2**20) + 1})"
            )
        self.labels, self.counts, self.means = (
            np.arange(n_classes),
            np.zeros(n_classes + 1),
            np.zeros((n_classes + 1, d)),
        )
        self.scatters, self.stored = np.zeros((n_scatters, d, d)), np.zeros(d)
        self.by_class, self.dtype = by_class, np.dtype(dtype).name

    @classmethod
    def restored(cls, parts: dict[str, Any]) -> ClassSums:
        """The sums whose ``vars`` these are."""
        sums = cls.__new__(cls)
        vars(sums).update(parts)
        return sums

    def add(self, X: Any, y: np.ndarray | None, weights: np.ndarray | None) -> ClassSums:
        """The sums over these rows as well, whose classes may be new. Labels of -1 are unknown."""
        places, labels = (None, self.labels) if y is None else coded_labels(y, self.labels)
        sums = ClassSums(X.shape[1], self.by_class, np.result_type(X.dtype, self.dtype), labels.size)
        before = np.append(np.arange(self.labels.size), -1)
        sums.labels, sums.stored = labels, self.stored
        sums.counts[before], sums.means[before] = self.counts, self.means
        sums.scatters[before if self.by_class else slice(None)] = self.scatters
        return sums.take(X, places, weights)

    def take(self, X: Any, places: np.ndarray | None, weights: np.ndarray | None) -> ClassSums:
        """Take in rows of the classes at these places, or out, where weights are negative."""
        (n, d), last = X.shape, self.counts.size - 1
        places = np.full(n, last) if places is None else places % (last + 1)
        w = np.ones(n) if weights is None else weights
        self.stored = self.stored + (X != 0).T @ w
        most = BLOCK_BYTES // (8 * max(1, d))
        step = max(1, most // 4, min(most, LONG_ROWS))
        for start in range(0, n, step):
            some = slice(start, start + step)
            own, each, more = places[some], w[some], ClassSums(d, self.by_class, self.dtype, last)
            rows = np.asarray(X[some].toarray() if sparse.issparse(X) else X[some], dtype=np.float64)
            first = rows[0]  # sums are taken about it, so that the mean of a constant column is exactly that constant
            within, more.counts = rows - first, np.bincount(own, each, last + 1).astype(np.float64)
            members = sparse.csr_array((each, (own, np.arange(own.size))), (last + 1, own.size))
            centres = (members @ within) / np.where(more.counts != 0, more.counts, 1.0)[:, None]
            within -= centres[own]
            more.means = first + centres
            of = own if self.by_class else (own == last).astype(np.intp)
            for i in np.unique(of):
                inside = slice(None) if (of == of[0]).all() else of == i
                part = within[inside]
                more.scatters[i] = part.T @ (part if weights is None else each[inside, None] * part)
            self += more
        return self

    def __iadd__(self, other: ClassSums) -> ClassSums:
        """Take in the sums over other rows of the same classes, or out, where numbers are negative."""
        counts, total, last = other.counts, self.counts + other.counts, self.counts.size - 1
        share = np.divide(counts, total, out=np.zeros(counts.size), where=total > 0)
        moved, each = np.where(counts[:, None] != 0, other.means - self.means, 0.0), (self.counts * share)[:, None]
        groups = [(i, i + 1) for i in range(last + 1)] if self.by_class else [(0, last), (last, last + 1)]
        self.scatters += other.scatters
        for scatter, (low, high) in zip(self.scatters, groups, strict=True):
            scatter += moved[low:high].T @ (each[low:high] * moved[low:high])
        self.means = np.where(self.counts[:, None] > 0, self.means + share[:, None] * moved, other.means)
        self.counts, self.stored = total, self.stored + other.stored
        return self

    def divided(self, scale: np.ndarray) -> ClassSums:
        """The sums over the rows with each column divided by its scale."""
        sums = copy(self)
        sums.means, sums.scatters = self.means / scale, self.scatters / np.outer(scale, scale)
        return sums

    def summary(self, labelled: bool, held: Sequence = (), codes: Any = None, found: Sequence = ()) -> Summary:
        """A row for the samples of each class. Before them come rows of these classes that are held, and not in the sums."""
        there = np.flatnonzero(self.counts > 0)
        rows = [part.toarray() if sparse.issparse(part) else part for part in held]
        # Held rows are many, and keep their type.
        X = np.concatenate([*rows, self.means[there].astype(rows[0].dtype if rows else np.float64)])
        n_held, y = X.shape[0] - there.size, None
        if labelled:
            classes = np.where(there < self.counts.size - 1, there, -1)
            y = classes if codes is None else np.concatenate([codes, classes])
        weights = np.concatenate([np.ones(n_held), self.counts[there]])
        shares = self.stored / (self.counts.sum() or 1.0)
        return Summary(X, y, weights, lambda each: self.scatter(there, each[n_held:]), self.dtype, shares, found)

    def scatter(self, there: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The sum of the scatters of these classes, each under its weight."""
        if self.by_class:
            return np.tensordot(weights, self.scatters[there], 1)
        known = there < self.counts.size - 1
        each = weights[known]
        if each.size and np.ptp(each) > 1e-12 * np.abs(each).max():
            raise ValueError("classes weigh differently, and only the scatter of all classes together was kept")
        return (each.mean() if each.size else 0.0) * self.scatters[0] + weights[~known].sum() * self.scatters[1]
