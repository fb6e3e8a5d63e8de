"""Measures of embeddings, by their neighbourhoods and as an index, and of clusters, and a distance that scikit-learn lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import hypergeom
from sklearn.metrics import pairwise_distances
from sklearn.metrics.cluster import contingency_matrix
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ._documented import documented
from ._validation import Array, check_count, check_in_memory, row_blocks, spread_rows

__all__ = ["clustering_accuracy", "mean_average_precision", "neighborhood_preservation"]
__all__ += ["procrustes_error", "purity", "recall_at_k", "retrieval_scores"]
FLOATS = (np.float64, np.float32)
MOST_QUERIES = 1000  # where there are more rows than this, the neighbours of only so many are compared


def procrustes_error(embedding: Any, reference: Any, *, affine: bool = False) -> float:
    """How far an embedding is from known coordinates, after it is rotated, scaled and moved onto them as well as possible.

    Parameters
    ----------
    embedding, reference : array-like of shape (n_samples, n_components)
        The coordinates that were found, and those that they should be.
    affine : bool, default=False
        Whether any affine map is allowed, and not only rotation, reflection, one scale and translation.

    Returns
    -------
    float
        The root of the mean squared distance, as a share of the spread of the reference: 0 at best, 1 for a single point.

    Examples
    --------
    >>> from lapwing.metrics import procrustes_error
    >>> turned, square = [[5, 0], [5, 2], [3, 2], [3, 0]], [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> round(procrustes_error(turned, square), 6)
    0.0
    """
    Y, R = check_array(embedding, dtype=np.float64), check_array(reference, dtype=np.float64)
    if Y.shape[0] != R.shape[0]:
        raise ValueError(f"embedding has {Y.shape[0]} samples, but reference has {R.shape[0]}")
    if not np.ptp(Y, axis=0).any() or not np.ptp(R, axis=0).any():
        raise ValueError("embedding and reference must not be a single point")
    Y, R = Y - Y.mean(axis=0), R - R.mean(axis=0)
    U, s, Vt = np.linalg.svd(Y.T @ R, full_matrices=False)
    turn = np.linalg.lstsq(Y, R, rcond=None)[0] if affine else s.sum() / np.sum(Y**2) * (U @ Vt)
    return float(np.linalg.norm(Y @ turn - R) / np.linalg.norm(R))


@documented
def clustering_accuracy(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """The share of samples that the best matching of clusters to classes gets right (thesis of X. He, eq. 6.11).

    Eq. 6.13 is scikit-learn's ``normalized_mutual_info_score(..., average_method="max")``.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        The classes of the samples, and their clusters, under any names.

    Examples
    --------
    >>> from lapwing.metrics import clustering_accuracy
    >>> clustering_accuracy([0, 0, 1, 1, 1], ["b", "b", "a", "a", "b"])
    0.8
    """
    table = _contingency(labels_true, labels_pred)
    return float(table[linear_sum_assignment(-table)].sum() / table.sum())


@documented
def purity(labels_true: ArrayLike, labels_pred: ArrayLike) -> float:
    """The share of samples that belong to the most frequent class of their cluster.

    Parameters
    ----------
    ... : As in :func:`clustering_accuracy`

    Examples
    --------
    >>> from lapwing.metrics import purity
    >>> purity([0, 0, 1, 1, 1], [0, 0, 1, 2, 2])
    1.0
    """
    table = _contingency(labels_true, labels_pred)
    return float(table.max(axis=0).sum() / table.sum())


@documented
def neighborhood_preservation(
    X: Any, Z: Any, *, n_neighbors: int = 10, max_queries: int = MOST_QUERIES
) -> tuple[float, float, float]:
    """How well Z keeps the neighbours of X: trustworthiness, continuity and recall at once.

    *Trustworthiness* says whether rows that are near in Z are near in X: 1 at best, about 0.5 by chance. A row that is among the
    k nearest in Z but not in X counts by how far its rank in X is beyond k [1]_. It is :func:`sklearn.manifold.trustworthiness`,
    which asks all rows. *Continuity* is the same with X and Z in each other's place: whether rows that are near in X are still
    near in Z. *Recall* is the share of the k nearest rows in X that are among the k nearest in Z: k / (n - 1) by chance.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows before the embedding. Their distances are Euclidean, and by the cosine where X is sparse.
    Z : array-like or sparse matrix of shape (n_samples, n_components)
        The embedding of the same rows.
    n_neighbors : int, default=10
        How many nearest rows are compared, k; less than half of the samples.
    max_queries : int, default=1000
        Where there are more rows than this, only so many, spread evenly, are asked for their neighbours among all rows. Time
        grows with the number of rows times this number.

    Returns
    -------
    trustworthiness, continuity, recall : float

    References
    ----------
    .. [1] J. Venna and S. Kaski, "Local multidimensional scaling", Neural Networks 19, 2006.
       https://doi.org/10.1016/j.neunet.2006.05.014

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.metrics import neighborhood_preservation
    >>> X = np.arange(12.0)[:, None] ** 2
    >>> neighborhood_preservation(X, -X, n_neighbors=3)
    (1.0, 1.0, 1.0)
    """
    check_in_memory(X, "a comparison of neighbourhoods")
    X, Z = (check_array(rows, accept_sparse="csr", dtype=FLOATS) for rows in (X, Z))
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
    """The rank of each row of X among the neighbours of some rows, or of all: 1 is the nearest, 0 the row itself."""
    queries = np.arange(X.shape[0]) if queries is None else queries
    distances = pairwise_distances(X[queries], X, metric="cosine" if sparse.issparse(X) else "euclidean")
    distances[np.arange(queries.size), queries] = -1
    ranks = np.empty(distances.shape, dtype=np.int32)
    np.put_along_axis(ranks, np.argsort(distances, axis=1), np.arange(X.shape[0], dtype=np.int32)[None], axis=1)
    return ranks


def rank_agreement(before: np.ndarray, after: np.ndarray, k: int) -> tuple[float, float, float]:
    """Trustworthiness, continuity and recall of q queries among n rows, from ranks (q, n) before and after the embedding.

    The first two are 1 - 2 / (q k (2n - 3k - 1)) times the sum of how far the ranks of neighbours are beyond k.
    """
    q, n = before.shape
    scale = 2 / (q * k * (2 * n - 3 * k - 1))
    near_before, near_after = (ranks <= k for ranks in (before, after))
    intruders = np.maximum(before[near_after] - k, 0).sum()
    strayed = np.maximum(after[near_before] - k, 0).sum()
    common = np.count_nonzero(near_before & near_after) - q  # each query is counted once for itself
    return float(1 - scale * intruders), float(1 - scale * strayed), float(common / (q * k))


@documented
def mean_average_precision(
    queries: Any, labels: Any, indexed: Any = None, indexed_labels: Any = None, *, max_queries: int = MOST_QUERIES
) -> float:
    """How well a search for the nearest rows puts rows of the query's class first: 1 at best.

    The average precision of a query is the mean, over the rows of its class, of the share of such rows among all that are at
    least as near. Queries without a row of their class in the index are left out.

    Parameters
    ----------
    ... : As in :func:`retrieval_scores`

    Examples
    --------
    >>> from lapwing.metrics import mean_average_precision
    >>> mean_average_precision([[0.0]], ["a"], [[1.0], [2.0], [3.0]], ["a", "b", "a"])
    0.833...
    """
    return retrieval_scores(queries, labels, indexed, indexed_labels, max_queries=max_queries)[0]


@documented
def recall_at_k(
    queries: Any,
    labels: Any,
    indexed: Any = None,
    indexed_labels: Any = None,
    *,
    n_neighbors: int = 5,
    max_queries: int = MOST_QUERIES,
) -> float:
    """The share of queries that have a row of their class among their k nearest rows, as metric learning measures it.

    The recall of :func:`neighborhood_preservation` needs no labels: it compares the k nearest rows before and after an embedding.

    Parameters
    ----------
    ... : As in :func:`retrieval_scores`

    Examples
    --------
    >>> from lapwing.metrics import recall_at_k
    >>> recall_at_k([[0.0], [3.1]], ["a", "b"], [[1.0], [2.0], [3.0]], ["a", "b", "a"], n_neighbors=1)
    0.5
    """
    found = retrieval_scores(queries, labels, indexed, indexed_labels, n_neighbors=n_neighbors, max_queries=max_queries)
    return found[1]


@documented
def retrieval_scores(
    queries: Any,
    labels: Any,
    indexed: Any = None,
    indexed_labels: Any = None,
    *,
    n_neighbors: int = 5,
    max_queries: int = MOST_QUERIES,
) -> tuple[float, float]:
    """How well the nearest rows of an index answer queries: :func:`mean_average_precision` and :func:`recall_at_k` at once.

    The first measure leaves out queries without a row of their class in the index, and the second counts them as failures. The
    order of rows that are equally near does not matter: where the k nearest end among such rows, a query counts by the share of
    their orders that put a row of its class among the k.

    Parameters
    ----------
    queries : array-like or sparse matrix of shape (n_queries, n_components)
        The rows that ask.
    labels : array-like of shape (n_queries,)
        The classes of the rows that ask.
    indexed : array-like or sparse matrix of shape (n_indexed, n_components), default=None
        The rows that answer. None lets each query ask all other queries. Otherwise no query may be a row of the index: it would
        find itself first.
    indexed_labels : array-like of shape (n_indexed,), default=None
        The classes of the rows that answer.
    n_neighbors : int, default=5
        How many nearest rows :func:`recall_at_k` looks at, k.
    max_queries : int, default=1000
        Where there are more queries than this, only so many are asked, spread evenly, each of the whole index.

    Returns
    -------
    mean_average_precision, recall_at_k : float

    Examples
    --------
    >>> from lapwing.metrics import retrieval_scores
    >>> retrieval_scores([[0.0]], ["a"], [[1.0], [2.0], [3.0]], ["a", "b", "a"], n_neighbors=1)
    (0.833..., 1.0)
    >>> retrieval_scores([[0.0], [1.0], [5.0], [7.0]], ["a", "a", "b", "b"], n_neighbors=1)  # each row asks all others
    (1.0, 1.0)
    """
    k, most = check_count("n_neighbors", n_neighbors), check_count("max_queries", max_queries)
    among_themselves = indexed is None
    if among_themselves != (indexed_labels is None):
        raise ValueError("one of indexed and indexed_labels is None; pass both, or neither to ask all other queries")
    if among_themselves:
        indexed, indexed_labels = queries, labels
    queries, indexed = (check_array(rows, accept_sparse="csr", dtype=FLOATS) for rows in (queries, indexed))
    labels, indexed_labels = column_or_1d(labels), column_or_1d(indexed_labels)
    check_consistent_length(queries, labels)
    check_consistent_length(indexed, indexed_labels)
    if _are_words(labels) != _are_words(indexed_labels):
        raise ValueError("of labels and indexed_labels, one holds words and the other numbers; use one kind")
    asked, n = spread_rows(queries.shape[0], most), indexed.shape[0] - among_themselves
    if n == 0:
        raise ValueError("queries has 1 row, which has no other to ask; pass more rows, or indexed")
    average, found = np.full(asked.size, np.nan), np.zeros(asked.size)
    for part in row_blocks(asked.size, 4 * n):
        some = asked[part]
        distances = pairwise_distances(queries[some], indexed)
        if among_themselves:
            distances[np.arange(some.size), some] = np.inf
        order = np.argsort(distances, axis=1)[:, :n]  # without the query itself, which comes last
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
    """For each entry of sorted rows, the first and the last place in its row that has the same value."""
    n = distances.shape[1]
    places, differs = np.arange(n), np.diff(distances, axis=1) > 0
    edge = np.ones((len(distances), 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, differs]), places, 0), axis=1)
    last = np.minimum.accumulate(np.where(np.hstack([differs, edge]), places, n)[:, ::-1], axis=1)[:, ::-1]
    return first, last


def _found(hits: np.ndarray, first: np.ndarray, last: np.ndarray, k: int) -> np.ndarray:
    """Whether one of the first k rows is a hit; where some after them are as near, in which share of their orders."""
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
    """The standard error of the mean over folds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _contingency(labels_true: Any, labels_pred: Any) -> np.ndarray:
    """How many samples of each class are in each cluster."""
    labels_true, labels_pred = column_or_1d(labels_true), column_or_1d(labels_pred)
    check_consistent_length(labels_true, labels_pred)
    if not labels_true.size:
        raise ValueError("labels_true and labels_pred are empty; give the label of one sample or more")
    return contingency_matrix(labels_true, labels_pred)
