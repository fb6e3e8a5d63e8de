"""How good an embedding is: by classes, and by neighbourhoods."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score, pairwise_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_array

from .._validation import check_count
from ..metrics import clustering_accuracy
from ..operators import Array

LABELLED = ("accuracy", "clustering", "nmi")  # measures that read labels
NEIGHBORHOOD = ("trustworthiness", "continuity", "recall")
N_NEIGHBORS, MOST_ROWS = 10, 500  # of the measures of neighbourhoods


class Judge:
    """The measures of an embedding, by the rows held out."""

    def __init__(self, X: Array, y_train: np.ndarray | None, y_test: np.ndarray | None, n_neighbors: int, seed: int):
        self.y_train, self.y_test, self.n_neighbors, self.seed = y_train, y_test, n_neighbors, seed
        self.rows = spread_rows(X.shape[0])
        self.ranks = _ranks(X[self.rows])

    def __call__(self, Z_train: Array, Z_test: Array) -> tuple[dict[str, float], np.ndarray]:
        """The measures, and the classes of the rows held out as their nearest neighbours tell."""
        kept = _preserved(self.ranks, _ranks(Z_test[self.rows]), self.n_neighbors)
        measures = dict(zip(NEIGHBORHOOD, kept, strict=True))
        if self.y_train is None or self.y_test is None:
            return measures, np.empty(0, dtype=int)
        known, held_out = self.y_train >= 0, self.y_test >= 0
        true, rows = self.y_test[held_out], Z_test[held_out]
        nearest = KNeighborsClassifier(1).fit(Z_train[known], self.y_train[known])
        predicted = nearest.predict(rows)
        clusters = self._clusters(rows, min(len(nearest.classes_), len(true)))
        found = (
            np.mean(predicted == true),
            clustering_accuracy(true, clusters),
            normalized_mutual_info_score(true, clusters),
        )
        return {**dict(zip(LABELLED, map(float, found), strict=True)), **measures}, predicted

    def _clusters(self, rows: Array, n_clusters: int) -> np.ndarray:
        with warnings.catch_warnings():  # of fewer distinct rows than clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            return KMeans(n_clusters, n_init=4, random_state=self.seed).fit_predict(rows)


def neighborhood_preservation(
    X: Any, Z: Any, *, n_neighbors: int = N_NEIGHBORS, max_samples: int = MOST_ROWS
) -> tuple[float, float, float]:
    r"""How well Z keeps the neighbours of X: trustworthiness, continuity and recall.

    Trustworthiness falls with rows that are near in Z but far in X, continuity with rows that are near in X but far in Z, by how
    far their ranks are beyond k [1]_; recall is the share of the k nearest in X that are among the k nearest in Z. All are 1 at
    best; by chance trustworthiness and continuity are about 0.5, recall is k / (n - 1).

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Neighbours are Euclidean, and by cosine where X is sparse.
    Z : array-like of shape (n_samples, n_components)
    n_neighbors : int, default=10
        k; less than half of the samples.
    max_samples : int, default=500
        Of more rows, so many are taken, spread evenly.

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
    >>> from lapwing.comparison import neighborhood_preservation
    >>> X = np.arange(12.0)[:, None] ** 2
    >>> neighborhood_preservation(X, -X, n_neighbors=3)
    (1.0, 1.0, 1.0)
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    Z = check_array(Z, accept_sparse="csr", dtype=[np.float64, np.float32])
    if X.shape[0] != Z.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but Z has {Z.shape[0]}; pass the embedding of the same rows")
    rows = spread_rows(X.shape[0], check_count("max_samples", max_samples))
    if not 1 <= check_count("n_neighbors", n_neighbors) < len(rows) / 2:
        raise ValueError(f"n_neighbors={n_neighbors} must be less than half of the {len(rows)} samples")
    return _preserved(_ranks(X[rows]), _ranks(Z[rows]), n_neighbors)


def _ranks(X: Array) -> np.ndarray:
    """Entry (i, j): j is the how-manieth neighbour of i, from 1; 0 for i itself."""
    distances = pairwise_distances(X, metric="cosine" if sparse.issparse(X) else "euclidean")
    np.fill_diagonal(distances, -1)
    ranks = np.empty(distances.shape, dtype=np.int32)
    np.put_along_axis(ranks, np.argsort(distances, axis=1), np.arange(len(distances), dtype=np.int32)[None], axis=1)
    return ranks


def _preserved(before: np.ndarray, after: np.ndarray, k: int) -> tuple[float, float, float]:
    """1 - 2 / (n k (2n - 3k - 1)) * (how far the ranks of neighbours are beyond k), both ways, and the share of common ones."""
    n = len(before)
    scale = 2 / (n * k * (2 * n - 3 * k - 1))
    near_before, near_after = (ranks <= k for ranks in (before, after))
    intruders = np.maximum(before[near_after] - k, 0).sum()
    strayed = np.maximum(after[near_before] - k, 0).sum()
    common = np.count_nonzero(near_before & near_after) - n  # each row is its own
    return float(1 - scale * intruders), float(1 - scale * strayed), float(common / (n * k))


def spread_rows(n: int, most: int = MOST_ROWS) -> np.ndarray:
    """At most so many row numbers, evenly spread."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(int)


def standard_error(values: np.ndarray) -> float:
    """Of the mean over folds."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def one_standard_error(scores: np.ndarray) -> int:
    """The first dimension whose mean over the folds, in rows, is within one standard error of the best."""
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    return int(np.argmax(means >= means[best] - standard_error(scores[:, best])))
