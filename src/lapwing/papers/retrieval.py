"""How well a space brings documents of one class together: equations 5.9 to 5.11 of X. He's thesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, pairwise_distances
from sklearn.neighbors import NearestNeighbors
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
    return float(average_precision_score(same, -pairwise_distances(X, metric=metric)[first, second]))


def neighborhood_accuracy(X: Any, y: Any, *, metric: Any = "cosine") -> float:
    r"""The mean share of a sample's own class among its :math:`n_c` nearest, itself included (thesis, eq. 5.10 and 5.11).

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        :math:`n_c` is the size of the sample's class.
    metric : str or callable, default="cosine"
        Of scikit-learn's ``NearestNeighbors``.
    """
    X, y = check_X_y(X, y, accept_sparse="csr", ensure_min_samples=2)
    index = NearestNeighbors(metric=metric).fit(X)
    right = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        near = index.kneighbors(X[members], n_neighbors=members.size, return_distance=False)
        right.append(np.mean(y[near] == label, axis=1))
    return float(np.concatenate(right).mean())
