"""How good an embedding is, by its neighbourhoods and as an index; measures of clusters; distances that scikit-learn lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import hypergeom
from sklearn.metrics import pairwise_distances
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ._validation import check_count
from .neighbors import chi2_distances
from .operators import Array, row_blocks
from .rows import spread_rows

__all__ = [
    "chi2_distances",
    "clustering_accuracy",
    "continuity",
    "mean_average_precision",
    "neighbor_recall",
    "neighborhood_preservation",
    "procrustes_error",
    "purity",
    "recall_at_k",
    "retrieval_scores",
    "trustworthiness",
]
QUERIES = 1000  # rows whose neighbours are compared, of more


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


def trustworthiness(X: Any, Z: Any, *, n_neighbors: int = 10, max_queries: int = QUERIES) -> float:
    """Whether rows that are near in Z are near in X: 1 at best, about 0.5 by chance.

    Each of the k nearest in Z that is not among the k nearest in X counts by how far its rank in X is beyond k [1]_. scikit-learn
    has the same measure, of all rows.

    Parameters
    ----------
    X, Z : array-like
        As in :func:`neighborhood_preservation`.
    n_neighbors : int, default=10
        k; less than half of the samples.
    max_queries : int, default=1000
        Of more rows, the neighbours of so many are looked at, among all rows.

    Returns
    -------
    float

    References
    ----------
    .. [1] J. Venna and S. Kaski, "Local multidimensional scaling", Neural Networks 19, 2006.
       https://doi.org/10.1016/j.neunet.2006.05.014
    """
    return neighborhood_preservation(X, Z, n_neighbors=n_neighbors, max_queries=max_queries)[0]


def continuity(X: Any, Z: Any, *, n_neighbors: int = 10, max_queries: int = QUERIES) -> float:
    """Whether rows that are near in X are still near in Z: 1 at best, about 0.5 by chance.

    It is :func:`trustworthiness` with X and Z in each other's place.

    Parameters
    ----------
    X, Z : array-like
        As in :func:`neighborhood_preservation`.
    n_neighbors : int, default=10
        k; less than half of the samples.
    max_queries : int, default=1000
        Of more rows, the neighbours of so many are looked at, among all rows.

    Returns
    -------
    float
    """
    return neighborhood_preservation(X, Z, n_neighbors=n_neighbors, max_queries=max_queries)[1]


def neighbor_recall(X: Any, Z: Any, *, n_neighbors: int = 10, max_queries: int = QUERIES) -> float:
    """The share of the k nearest rows in X that are among the k nearest in Z: recall at k of a search in Z instead of X.

    Parameters
    ----------
    X, Z : array-like
        As in :func:`neighborhood_preservation`.
    n_neighbors : int, default=10
        k; less than half of the samples.
    max_queries : int, default=1000
        Of more rows, the neighbours of so many are looked at, among all rows.

    Returns
    -------
    float
        1 at best, k / (n - 1) by chance.
    """
    return neighborhood_preservation(X, Z, n_neighbors=n_neighbors, max_queries=max_queries)[2]


def neighborhood_preservation(
    X: Any, Z: Any, *, n_neighbors: int = 10, max_queries: int = QUERIES
) -> tuple[float, float, float]:
    """How well Z keeps the neighbours of X: :func:`trustworthiness`, :func:`continuity` and :func:`neighbor_recall` at once.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Neighbours are Euclidean, and by cosine where X is sparse.
    Z : array-like or sparse matrix of shape (n_samples, n_components)
        The embedding of the same rows.
    n_neighbors : int, default=10
        k; less than half of the samples.
    max_queries : int, default=1000
        Of more rows, the neighbours of so many, spread evenly, are looked at; they are searched for among all rows. Time grows
        with the number of rows times this number.

    Returns
    -------
    trustworthiness, continuity, recall : float

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.metrics import neighborhood_preservation
    >>> X = np.arange(12.0)[:, None] ** 2
    >>> neighborhood_preservation(X, -X, n_neighbors=3)
    (1.0, 1.0, 1.0)
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    Z = check_array(Z, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = X.shape[0]
    if n != Z.shape[0]:
        raise ValueError(f"X has {n} rows, but Z has {Z.shape[0]}; pass the embedding of the same rows")
    if not check_count("n_neighbors", n_neighbors) < n / 2:
        raise ValueError(f"n_neighbors={n_neighbors} must be less than half of the {n} samples")
    queries = spread_rows(n, check_count("max_queries", max_queries))
    parts = [queries[part] for part in row_blocks(queries.size, 4 * n)]
    found = [rank_agreement(neighbor_ranks(X, some), neighbor_ranks(Z, some), n_neighbors) for some in parts]
    means = np.average(found, axis=0, weights=[some.size for some in parts])
    return float(means[0]), float(means[1]), float(means[2])


def neighbor_ranks(X: Array, queries: np.ndarray | None = None) -> np.ndarray:
    """Entry (i, j): row j of X is the how-manieth neighbour of query i, from 1; 0 for the query itself.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
    queries : ndarray of int, default=None
        The rows searched for; None is all.
    """
    queries = np.arange(X.shape[0]) if queries is None else queries
    distances = pairwise_distances(X[queries], X, metric="cosine" if sparse.issparse(X) else "euclidean")
    distances[np.arange(queries.size), queries] = -1
    ranks = np.empty(distances.shape, dtype=np.int32)
    order = np.argsort(distances, axis=1)
    np.put_along_axis(ranks, order, np.arange(X.shape[0], dtype=np.int32)[None], axis=1)
    return ranks


def rank_agreement(before: np.ndarray, after: np.ndarray, k: int) -> tuple[float, float, float]:
    """1 - 2 / (q k (2n - 3k - 1)) * (how far the ranks of neighbours are beyond k), both ways, and the share of common ones.

    Parameters
    ----------
    before, after : ndarray of shape (q, n)
        Of :func:`neighbor_ranks`.
    k : int
    """
    q, n = before.shape
    scale = 2 / (q * k * (2 * n - 3 * k - 1))
    near_before, near_after = (ranks <= k for ranks in (before, after))
    intruders = np.maximum(before[near_after] - k, 0).sum()
    strayed = np.maximum(after[near_before] - k, 0).sum()
    common = np.count_nonzero(near_before & near_after) - q  # each row is its own
    return float(1 - scale * intruders), float(1 - scale * strayed), float(common / (q * k))


def mean_average_precision(
    queries: Any, labels: Any, indexed: Any, indexed_labels: Any, *, max_queries: int = QUERIES
) -> float:
    """How well an index, sorted by its distance to a query, puts rows of the query's class first: 1 at best.

    The average precision of a query is the mean, over the rows of its class, of the share of such rows among those at least as
    near. Queries without a row of their class are left out.

    Parameters
    ----------
    queries, labels, indexed, indexed_labels : array-like
        As in :func:`retrieval_scores`.
    max_queries : int, default=1000
        Of more queries, so many are asked, each of the whole index.

    Returns
    -------
    float
    """
    return retrieval_scores(queries, labels, indexed, indexed_labels, max_queries=max_queries)[0]


def recall_at_k(
    queries: Any, labels: Any, indexed: Any, indexed_labels: Any, *, n_neighbors: int = 5, max_queries: int = QUERIES
) -> float:
    """The share of queries that have a row of their class among their k nearest, as in metric learning.

    :func:`neighbor_recall` needs no labels: it compares the k nearest rows before and after an embedding.

    Parameters
    ----------
    queries, labels, indexed, indexed_labels : array-like
        As in :func:`retrieval_scores`.
    n_neighbors : int, default=5
        k.
    max_queries : int, default=1000
        Of more queries, so many are asked, each of the whole index.

    Returns
    -------
    float
    """
    found = retrieval_scores(queries, labels, indexed, indexed_labels, n_neighbors=n_neighbors, max_queries=max_queries)
    return found[1]


def retrieval_scores(
    queries: Any, labels: Any, indexed: Any, indexed_labels: Any, *, n_neighbors: int = 5, max_queries: int = QUERIES
) -> tuple[float, float]:
    """How well the nearest rows of an index answer queries: :func:`mean_average_precision` and :func:`recall_at_k` at once.

    A row of the index is relevant to a query of the same class. Queries without a relevant row are left out of the first, and the
    second counts them as failures. The order of rows does not count: rows that are equally near come in at once, and where the k
    nearest end among such rows, a query counts by the share of their orders that put a relevant row among the k.

    Parameters
    ----------
    queries : array-like or sparse matrix of shape (n_queries, n_components)
    labels : array-like of shape (n_queries,)
    indexed : array-like or sparse matrix of shape (n_indexed, n_components)
        Rows that answer. Where queries are rows of the index, leave them out of it: each would find itself first.
    indexed_labels : array-like of shape (n_indexed,)
    n_neighbors : int, default=5
        k.
    max_queries : int, default=1000
        Of more queries, so many are asked, spread evenly, each of the whole index.

    Returns
    -------
    mean_average_precision, recall_at_k : float

    Examples
    --------
    >>> from lapwing.metrics import retrieval_scores
    >>> retrieval_scores([[0.0]], ["a"], [[1.0], [2.0], [3.0]], ["a", "b", "a"], n_neighbors=1)
    (0.833..., 1.0)
    """
    k, most = check_count("n_neighbors", n_neighbors), check_count("max_queries", max_queries)
    queries, indexed = (
        check_array(rows, accept_sparse="csr", dtype=[np.float64, np.float32]) for rows in (queries, indexed)
    )
    labels, indexed_labels = column_or_1d(labels), column_or_1d(indexed_labels)
    check_consistent_length(queries, labels)
    check_consistent_length(indexed, indexed_labels)
    if _are_words(labels) != _are_words(indexed_labels):
        raise ValueError(
            f"labels are like {labels.tolist()[0]!r}, and indexed_labels like {indexed_labels.tolist()[0]!r}, so that none are "
            "equal; use one kind"
        )
    asked, n = spread_rows(queries.shape[0], most), indexed.shape[0]
    average, found = np.full(asked.size, np.nan), np.zeros(asked.size)
    for part in row_blocks(asked.size, 4 * n):
        some = asked[part]
        distances = pairwise_distances(queries[some], indexed)
        order = np.argsort(distances, axis=1)
        relevant = indexed_labels[order] == labels[some, None]
        first, last = _ties(np.take_along_axis(distances, order, axis=1))
        hits = np.cumsum(relevant, axis=1)
        precision = np.take_along_axis(hits, last, axis=1) / (last + 1)
        total = (precision * relevant).sum(axis=1)
        average[part] = np.divide(total, hits[:, -1], out=np.full(some.size, np.nan), where=hits[:, -1] > 0)
        found[part] = _found(hits, first[:, min(k, n) - 1], last[:, min(k, n) - 1], min(k, n))
    answered = average[~np.isnan(average)]
    return float(answered.mean()) if answered.size else 0.0, float(found.mean())


def _ties(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each entry of sorted rows, the first and the last place that has the same value."""
    n = distances.shape[1]
    places, differs = np.arange(n), np.diff(distances, axis=1) > 0
    edge = np.ones((len(distances), 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, differs]), places, 0), axis=1)
    last = np.minimum.accumulate(np.where(np.hstack([differs, edge]), places, n)[:, ::-1], axis=1)[:, ::-1]
    return first, last


def _found(hits: np.ndarray, first: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
    """Whether one of the first k is a hit; where the k-th is as near as some behind it, in what share of their orders."""
    found = (hits[:, k - 1] > 0).astype(np.float64)
    rows = np.arange(len(hits))
    before = np.where(first > 0, hits[rows, first - 1], 0)
    open_ = (last >= k) & (before == 0)
    tied, relevant, drawn = last - first + 1, hits[rows, last] - before, k - first
    found[open_] = 1 - hypergeom.pmf(0, tied[open_], relevant[open_], drawn[open_])
    return found


def _are_words(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "US" or (labels.dtype == object and any(isinstance(label, str) for label in labels))


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
