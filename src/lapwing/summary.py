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

from ._validation import coded_labels
from .data import Data
from .operators import Structured

LEAST_ROOM = 1024  # MiB that sums over rows may take, whatever working_memory is


class Summary(Data):
    """Rows, some of which are the means of groups of samples, with the label of the group, and its size as weight.

    ``scatter`` gives, for one weight per row, the sum of the scatters of samples about the rows that stand for them, each under
    its weight. ``dtype`` is the type of the samples, ``shares`` are as in Data, and ``found`` lists requests for neighbours,
    which were searched for among all samples, and their edges.
    """

    knows_gram = True

    def __init__(
        self, X: Any, y: Any, weights: Any, scatter: Callable, dtype: Any = float, shares: Any = None, found: Any = ()
    ):
        super().__init__(X, y, weights)
        self.scatter, self.dtype, self.shares, self.found = scatter, np.dtype(dtype), shares, found
        self.is_wide = False  # the scatter is known, and the samples are not

    def divided(self, scale: np.ndarray) -> Summary:
        scatter, scales, X = self.scatter, np.outer(scale, scale), self.X / scale
        divided = Summary(X, self.y, self.weights, lambda w: scatter(w) / scales, self.dtype, self.shares)
        divided.given, divided.device, divided.is_divided = self.given, self.device, True
        return divided

    def in_coordinates(self, N: np.ndarray, about: np.ndarray) -> Summary:
        scatter = self.scatter
        coordinates = np.concatenate([self._part(rows, slice(None), about) @ N for rows in self.slices])
        return Summary(coordinates, self.y, self.weights, lambda w: N.T @ scatter(w) @ N, self.dtype)

    def form(self, M: Structured, about: np.ndarray) -> Any:
        # About a copy, since dense rows would take the kept Gram matrix, scatter and all.
        total = super().form(M, about.copy())
        return total if M.diag is None else total + self.scatter(np.asarray(M.diag))

    def form_diagonal(self, M: Structured, about: np.ndarray) -> np.ndarray:
        return np.diagonal(self.form(M, about)).copy()

    def gram(self, about: np.ndarray) -> np.ndarray:
        if about is not self._mean or self._gram is None:
            total = self.form(Structured(self.n, diag=np.ones(self.n)), about)
            if about is not self._mean:
                return total
            self._gram = total
        return self._gram

    @cached_property
    def deviations(self) -> np.ndarray:
        mean = self.mean()
        variances = np.diagonal(self.gram(mean)) / self.size
        return np.sqrt(np.where(variances > (1e-15 * mean) ** 2, variances, 0.0))


class ClassSums:
    """The number of rows of each class, their mean and their scatter about it, for rows that come in batches.

    Means move as rows come [1]_, so that digits are kept wherever a stream of rows goes. Rows of unknown label are a class of
    their own, the last one. ``scatters`` has the scatter of all classes together and that of the rows of unknown label; or,
    ``by_class``, one per class, where their weights differ. ``stored`` says how many entries of each column are not 0.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance", The American Statistician
       37, 1983. https://doi.org/10.1080/00031305.1983.10483115
    """

    def __init__(self, d: int, by_class: bool, dtype: Any, n_classes: int = 0):
        """The sums over no rows, of no classes, or of classes whose labels are 0 ... n_classes - 1."""
        n_scatters = n_classes + 1 if by_class else 2
        size = 3 * 8 * n_scatters * d**2 / 2**20  # MiB of the sums so far, the next sums, and their form
        if size > max(get_config()["working_memory"], LEAST_ROOM):
            raise ValueError(
                f"sums over rows of {d} features take {size:,.0f} MiB with what is computed from them, above the working_memory "
                f"of scikit-learn; reduce the features first, or use sklearn.set_config(working_memory={int(1.1 * size) + 1})"
            )
        self.labels, self.counts = np.arange(n_classes), np.zeros(n_classes + 1)
        self.means, self.scatters = np.zeros((n_classes + 1, d)), np.zeros((n_scatters, d, d))
        self.stored = np.zeros(d)
        self.by_class, self.dtype = by_class, np.dtype(dtype).name

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
        """The sums with rows of the classes at these places as well, or without them, where weights are negative."""
        (n, d), last, sums = X.shape, self.counts.size - 1, self
        places = np.full(n, last) if places is None else places % (last + 1)
        w = np.ones(n) if weights is None else weights
        for some in Data(X).slices:
            own, each, more = places[some], w[some], ClassSums(d, self.by_class, self.dtype, last)
            rows = np.asarray(X[some].toarray() if sparse.issparse(X) else X[some], dtype=np.float64)
            more.stored = np.full(d, each.sum()) if (rows != 0).all() else each @ (rows != 0)
            first = rows[0]  # sums are taken about it, so that the mean of a constant column is exactly that constant
            within, more.counts = rows - first, np.bincount(own, each, last + 1).astype(np.float64)
            members = sparse.csc_array((each, own, np.arange(own.size + 1)), (last + 1, own.size))
            centres = (members @ within) / np.where(more.counts != 0, more.counts, 1.0)[:, None]
            within -= centres[own]
            more.means = first + centres
            of = own if self.by_class else (own == last).astype(np.intp)
            for i in np.flatnonzero(np.bincount(of)):
                inside = slice(None) if (of == of[0]).all() else of == i
                part = within[inside]
                more.scatters[i] = part.T @ (part if weights is None else each[inside, None] * part)
            sums = sums + more
        return sums

    def __add__(self, other: ClassSums) -> ClassSums:
        """The sums over other rows of the same classes as well, or without them, where numbers are negative."""
        sums, last = copy(self), self.counts.size - 1
        sums.counts, sums.stored = self.counts + other.counts, self.stored + other.stored
        share = np.divide(other.counts, sums.counts, out=np.zeros(last + 1), where=sums.counts > 0)[:, None]
        moved = np.where(other.counts[:, None] != 0, other.means - self.means, 0.0)
        sums.means = np.where(self.counts[:, None] > 0, self.means + share * moved, other.means)
        sums.scatters, each = self.scatters + other.scatters, self.counts[:, None] * share
        groups = [(i, i + 1) for i in range(last + 1)] if self.by_class else [(0, last), (last, last + 1)]
        for scatter, (low, high) in zip(sums.scatters, groups, strict=True):
            scatter += moved[low:high].T @ (each[low:high] * moved[low:high])
        return sums

    def divided(self, scale: np.ndarray) -> ClassSums:
        """The sums over the rows with each column divided by its scale."""
        sums = copy(self)
        sums.means, sums.scatters = self.means / scale, self.scatters / np.outer(scale, scale)
        return sums

    def summary(self, labelled: bool, held: Sequence = (), codes: Any = None, found: Sequence = ()) -> Summary:
        """A row for the samples of each class. Before them come rows, of these classes, that are held for themselves."""
        rest, n_held = self, 0
        for part in held:
            own = None if codes is None else codes[n_held : n_held + len(part)]
            rest, n_held = rest.take(part, own, -np.ones(len(part))), n_held + len(part)
        there = np.flatnonzero(rest.counts > 0)
        # Held rows are many, and keep their type.
        X = np.concatenate([*held, rest.means[there].astype(held[0].dtype if held else np.float64)])
        y = np.where(there < self.counts.size - 1, there, -1) if labelled else None
        y = y if codes is None else np.concatenate([codes, y])
        weights, shares = np.concatenate([np.ones(n_held), rest.counts[there]]), self.stored / self.counts.sum()
        return Summary(X, y, weights, lambda each: rest._scatter(there, each[n_held:]), self.dtype, shares, found)

    def _scatter(self, there: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The sum of the scatters of these classes, each under its weight."""
        if self.by_class:
            return np.tensordot(weights, self.scatters[there], 1)
        known = there < self.counts.size - 1
        each = weights[known]
        if each.size and np.ptp(each) > 1e-12 * np.abs(each).max():
            raise ValueError("classes weigh differently, and only the scatter of all classes together was kept")
        return (each.mean() if each.size else 0.0) * self.scatters[0] + weights[~known].sum() * self.scatters[1]
