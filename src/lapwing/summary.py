"""Rows that stand for many samples: all that sums over samples need of rows that are not held.

A group of samples counts through its number, its mean and its scatter about that mean. So a Summary is a Data with weights,
whose forms have the scatter added; and partial_fit, blocks and clusters are fits to a Summary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ._arrays import BLOCK_BYTES
from ._labels import coded_labels
from .data import Data
from .operators import Structured


class Summary(Data):
    """Rows, some of which are the means of groups of samples.

    Parameters
    ----------
    X, y, weights
        As for :class:`~lapwing.data.Data`; a group has its mean as row, its label, and its number of samples as weight.
    within : list of (rows, scatter)
        The scatter of samples about the rows that stand for them: of one group, or of several together, which is enough
        where these weigh alike.
    dtype : numpy.dtype
        The type of the samples.
    filled : ndarray of shape (d,), default=None
        Which columns are not mostly zeros.
    """

    def __init__(self, X: Any, y: Any, weights: Any, within: list, dtype: Any = np.float64, filled: Any = None):
        super().__init__(X, y, weights)
        self.within, self.dtype, self.filled = within, np.dtype(dtype), filled
        self.is_wide = False  # the scatter is known and the samples are not, so that there is no Gram matrix of samples

    def nearest(self, request: Any, on_device: bool = False) -> Any:
        raise ValueError("sums over rows have no neighbours; use graphs of classes, such as SameClass()")

    def divided(self, scale: np.ndarray) -> Summary:
        within = [(rows, W / np.outer(scale, scale)) for rows, W in self.within]
        divided = Summary(self.X / scale, self.y, self.weights, within, self.dtype, self.filled)
        divided.given, divided.is_divided = self.given, True
        return divided

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> Summary:
        within = [(rows, N.T @ W @ N) for rows, W in self.within]
        return Summary((self.X - about) @ N, self.y, self.weights, within, self.dtype)

    def form(self, M: Structured, about: np.ndarray) -> Any:
        total = super().form(
            M, about.copy()
        )  # about a copy, since dense rows would take the kept Gram matrix, scatter and all
        for rows, W in self.within if M.diag is not None else ():
            each = np.asarray(M.diag)[rows]  # what each sample of a group has on the diagonal
            if np.ptp(each) > 1e-12 * np.abs(each).max():
                raise ValueError("classes weigh differently, and only the scatter of all classes together was kept")
            total += each.mean() * W
        return total

    def form_diagonal(self, M: Structured, about: np.ndarray) -> np.ndarray:
        return np.diagonal(self.form(M, about)).copy()

    def gram(self, about: np.ndarray) -> np.ndarray:
        if about is self._mean and self._gram is not None:
            return self._gram
        total = self.form(Structured(self.n, diag=np.ones(self.n)), about)
        if about is self._mean:
            self._gram = total
        return total

    def spread(self, about: np.ndarray, degrees: np.ndarray) -> np.ndarray:
        return self.form_diagonal(Structured(self.n, diag=degrees), about)

    def deviations(self, few: bool = False) -> np.ndarray:
        mean = self.mean()
        variances = np.diagonal(self.gram(mean)) / self.size
        return np.sqrt(np.where(variances > (1e-15 * mean) ** 2, variances, 0.0))

    def explained(self, directions: np.ndarray) -> np.ndarray:
        self.gram(self.mean())
        return super().explained(directions)


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
    def none(cls, d: int, by_class: bool, dtype: Any) -> ClassSums:
        """The sums over no rows, of no classes."""
        scatters = np.zeros((1 if by_class else 2, d, d))
        return cls(
            np.empty(0, np.intp), np.zeros(1), np.zeros((1, d)), scatters, np.zeros(d), by_class, np.dtype(dtype).name
        )

    def add(self, X: Any, y: np.ndarray | None, weights: np.ndarray | None) -> ClassSums:
        """The sums over these rows as well. Labels of -1 are unknown."""
        n, d = X.shape
        w = np.ones(n) if weights is None else weights
        places, labels = (np.full(n, -1), self.labels) if y is None else coded_labels(y, self.labels)
        more = labels.size - self.labels.size
        scatters = self.scatters.copy()
        if self.by_class:
            scatters = np.concatenate([scatters[:-1], np.zeros((more, d, d)), scatters[-1:]])
        counts = np.concatenate([self.counts[:-1], np.zeros(more), self.counts[-1:]])
        means = np.concatenate([self.means[:-1], np.zeros((more, d)), self.means[-1:]])
        stored = self.stored + ((X != 0).astype(np.float64).T @ w if sparse.issparse(X) else w.sum())
        dtype = np.result_type(X.dtype, self.dtype).name
        sums = ClassSums(labels, counts, means, scatters, np.asarray(stored).ravel() * np.ones(d), self.by_class, dtype)
        step = max(1, BLOCK_BYTES // (8 * max(1, d)))
        for start in range(0, n, step):
            rows = slice(start, start + step)
            block = np.asarray(X[rows].toarray() if sparse.issparse(X) else X[rows], dtype=np.float64)
            sums._take(block, places[rows] % counts.size, w[rows])
        return sums

    def _take(self, block: np.ndarray, places: np.ndarray, weights: np.ndarray) -> None:
        size = self.counts.size
        members = sparse.csr_array((weights, (places, np.arange(places.size))), (size, places.size))
        counts = np.bincount(places, weights, size)
        first = block[0]  # sums are taken about it, so that the mean of a constant column is exactly that constant
        means = first + (members @ (block - first)) / np.where(counts > 0, counts, 1.0)[:, None]
        total = self.counts + counts
        share = np.divide(counts, total, out=np.zeros(size), where=total > 0)
        moved = np.where(counts[:, None] > 0, means - self.means, 0.0)
        within = (block - means[places]) * np.sqrt(weights)[:, None]
        between = np.sqrt(self.counts * share)[:, None] * moved
        groups = [[i] for i in range(size)] if self.by_class else [range(size - 1), [size - 1]]
        for scatter, group in zip(self.scatters, groups, strict=True):
            for part in (within[np.isin(places, list(group))], between[list(group)]):
                scatter += part.T @ part
        self.means = np.where(self.counts[:, None] > 0, self.means + share[:, None] * moved, means)
        self.counts = total

    def summary(self, labelled: bool) -> Summary:
        """A row for the samples of each class."""
        there = np.flatnonzero(self.counts > 0)
        last = self.counts.size - 1
        if self.by_class:
            within = [(np.array([i]), self.scatters[place]) for i, place in enumerate(there)]
        else:
            both = np.flatnonzero(there < last), np.flatnonzero(there == last)
            within = [(rows, W) for rows, W in zip(both, self.scatters, strict=True) if rows.size]
        y = np.where(there < last, there, -1) if labelled else None
        filled = 2 * self.stored > self.counts.sum()
        return Summary(self.means[there], y, self.counts[there], within, self.dtype, filled)