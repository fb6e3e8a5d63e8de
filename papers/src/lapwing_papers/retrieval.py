"""How well a space brings documents of one class together: equations 5.9 to 5.11 of X. He's thesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_X_y

__all__ = ["neighborhood_accuracy", "pair_average_precision"]


def pair_average_precision(X: Any, y: Any, *, metric: Any = "cosine") -> float:
    """Average precision of "both of one class" among all pairs of samples, nearest first (thesis of X. He, eq. 5.9).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    metric : str or callable, default="cosine"
        Of scikit-learn's ``pairwise_distances``. All pairs are held at once.
    """
    X, y = check_X_y(X, y, accept_sparse="csr", ensure_min_samples=2)
    first, second = np.triu_indices(len(y), 1)
    same = y[first] == y[second]
    if not same.any():
        raise ValueError("y has no two samples of one class, so there is no pair to find")
    return _average_precision(same, pairwise_distances(X, metric=metric)[first, second])


def _average_precision(found: np.ndarray, distances: np.ndarray) -> float:
    """As scikit-learn's ``average_precision_score``, in a third of its time: equal distances count as one place."""
    order = np.argsort(distances)
    right, distances = np.cumsum(found[order]), distances[order]
    last = np.flatnonzero(np.append(distances[1:] > distances[:-1], True))  # of each run of equal distances
    gained = np.diff(right[last], prepend=0)
    return float(np.sum(gained * right[last] / (last + 1)) / right[-1])


def neighborhood_accuracy(X: Any, y: Any, *, metric: Any = "cosine") -> float:
    r"""The mean share of a sample's own class among its :math:`n_c` nearest, itself included (thesis, eq. 5.10 and 5.11).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        :math:`n_c` is the size of the sample's class.
    metric : str or callable, default="cosine"
        Of scikit-learn's ``pairwise_distances``. The distances of one class from all samples are held at once.
    """
    X, y = check_X_y(X, y, accept_sparse="csr", ensure_min_samples=2)
    right = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        distances = X[members] if metric == "precomputed" else pairwise_distances(X[members], X, metric=metric)
        near = np.argpartition(distances, members.size - 1, axis=1)[:, : members.size]
        right.append(np.mean(y[near] == label, axis=1))
    return float(np.concatenate(right).mean())
