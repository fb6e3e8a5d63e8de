"""Measures of clusters and embeddings, and distances, that scikit-learn lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import pairwise_distances
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ._validation import check_count
from .neighbors import chi2_distances

__all__ = [
    "chi2_distances",
    "clustering_accuracy",
    "procrustes_error",
    "purity",
    "retrieval_scores",
]


def procrustes_error(
    embedding: Any, reference: Any, new: Any = None, new_reference: Any = None, *, affine: bool = False
) -> float:
    """How far an embedding is from known coordinates, after the best similarity (or affine) map onto them.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_components)
    reference : array-like of shape (n_samples, n_components)
        The coordinates it should have.
    new, new_reference : array-like, default=None
        Other samples, to be judged by the map found on the first ones.
    affine : bool, default=False
        Allow any affine map, not only rotation, reflection, one scale and translation.

    Returns
    -------
    float
        Root of the mean squared distance, as a share of the reference's spread: 0 is perfect, 1 is no better than a point.
    """
    Y, R = check_array(embedding, dtype=np.float64), check_array(reference, dtype=np.float64)
    if Y.shape[0] != R.shape[0]:
        raise ValueError(f"embedding has {Y.shape[0]} samples, but reference has {R.shape[0]}")
    Y_mean, R_mean = Y.mean(axis=0), R.mean(axis=0)
    if not np.ptp(Y, axis=0).any() or not np.ptp(R, axis=0).any():
        raise ValueError("embedding and reference must not be a single point")
    if (new is None) != (new_reference is None):
        raise ValueError("new and new_reference go together; give both or neither")
    if affine:
        A = np.linalg.lstsq(Y - Y_mean, R - R_mean, rcond=None)[0]
    else:
        U, s, Vt = np.linalg.svd((Y - Y_mean).T @ (R - R_mean), full_matrices=False)
        A = s.sum() / np.sum((Y - Y_mean) ** 2) * (U @ Vt)
    if new is not None:
        Y, R = check_array(new, dtype=np.float64), check_array(new_reference, dtype=np.float64)
    return float(np.sqrt(np.sum(((Y - Y_mean) @ A + R_mean - R) ** 2) / np.sum((R - R_mean) ** 2)))


def clustering_accuracy(labels_true: Any, labels_pred: Any) -> float:
    """The share of samples that the best matching of clusters to classes gets right (thesis of X. He, eq. 6.11).

    For the normalised mutual information of eq. 6.13 use scikit-learn's
    ``normalized_mutual_info_score(..., average_method="max")``.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Examples
    --------
    >>> from lapwing.metrics import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1, 1], ["b", "b", "a", "a", "b"])
    0.8
    """
    table = _contingency(labels_true, labels_pred)
    return float(table[linear_sum_assignment(-table)].sum() / table.sum())


def purity(labels_true: Any, labels_pred: Any) -> float:
    """The share of samples that are of their cluster's most frequent class.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)

    Examples
    --------
    >>> from lapwing.metrics import purity
    >>> purity([0, 0, 1, 1, 1], [0, 0, 1, 2, 2])
    1.0
    """
    table = _contingency(labels_true, labels_pred)
    return float(table.max(axis=0).sum() / table.sum())


def retrieval_scores(
    queries: Any, labels: Any, indexed: Any, indexed_labels: Any, *, n_neighbors: int = 5
) -> tuple[float, float]:
    """How well the nearest rows of an index answer queries: mean average precision, and recall at k.

    A row of the index is relevant to a query of the same class. The average precision of a query is the mean, over its relevant
    rows, of the share of relevant ones among the rows at least as near. Recall at k is the share of queries that have a relevant
    row among their k nearest, as in metric learning. Queries without a relevant row are left out of the first, and the second
    counts them as failures.

    Parameters
    ----------
    queries : array-like or sparse matrix of shape (n_queries, n_components)
    labels : array-like of shape (n_queries,)
    indexed : array-like or sparse matrix of shape (n_indexed, n_components)
    indexed_labels : array-like of shape (n_indexed,)
    n_neighbors : int, default=5
        k.

    Returns
    -------
    mean_average_precision, recall_at_k : float

    Examples
    --------
    >>> from lapwing.metrics import retrieval_scores
    >>> retrieval_scores([[0.0]], ["a"], [[1.0], [2.0], [3.0]], ["a", "b", "a"], n_neighbors=1)
    (0.833..., 1.0)
    """
    k = check_count("n_neighbors", n_neighbors)
    labels, indexed_labels = column_or_1d(labels), column_or_1d(indexed_labels)
    check_consistent_length(queries, labels)
    check_consistent_length(indexed, indexed_labels)
    order = np.argsort(pairwise_distances(queries, indexed), axis=1, kind="stable")
    relevant = indexed_labels[order] == labels[:, None]
    ranks = np.arange(1, relevant.shape[1] + 1)
    precision = np.cumsum(relevant, axis=1) / ranks
    counts = relevant.sum(axis=1)
    answered = counts > 0
    average = (precision * relevant).sum(axis=1)[answered] / counts[answered]
    found = relevant[:, :k].any(axis=1)
    return float(average.mean()) if answered.any() else 0.0, float(found.mean())


def standard_error(values: np.ndarray) -> float:
    """Of the mean over folds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _contingency(labels_true: Any, labels_pred: Any) -> np.ndarray:
    """How many samples of each class are in each cluster."""
    labels_true, labels_pred = column_or_1d(labels_true), column_or_1d(labels_pred)
    check_consistent_length(labels_true, labels_pred)
    if not labels_true.size:
        raise ValueError("labels_true and labels_pred are empty; give the label of one sample or more")
    return contingency_matrix(labels_true, labels_pred)
