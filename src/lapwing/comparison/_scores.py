"""How good an embedding is: by classes, and by neighbourhoods."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, f1_score, normalized_mutual_info_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_array

from .. import metrics
from .._arrays import Array, spread_rows
from .._validation import check_count
from ..metrics import clustering_accuracy, neighbor_ranks, rank_agreement, retrieval_scores, standard_error

RECALL_AT = 5  # a row of the same class must be among this many nearest rows
CLASSIFICATION = ("accuracy", "balanced_accuracy", "f1")  # measures of the nearest neighbour as a classifier
CLUSTERING = ("clustering", "nmi")
RETRIEVAL = ("map", f"recall@{RECALL_AT}")
NEIGHBORHOOD = ("trustworthiness", "continuity", "recall")
MEASURES = CLASSIFICATION + RETRIEVAL + CLUSTERING + NEIGHBORHOOD
#: What a goal is judged by; None leaves it to how equal the classes are.
GOALS = {"classification": None, "retrieval": "map", "clustering": "clustering", "neighbours": "recall"}
N_NEIGHBORS, MOST_ROWS = 10, 500  # how many nearest rows, and how many queries, the measures of neighbourhoods take
UNEQUAL = 2.0  # where the largest class is this many times the smallest, the accuracy says little
LEVEL = 0.001  # scores that differ by less are printed alike, and count as equal whatever the standard error
LEVEL_NEIGHBORHOOD = 0.1  # the same for measures of neighbourhoods, which get better with every further dimension


def checked_criterion(scoring: str | None, labels: np.ndarray | None) -> str:
    """The measure by which methods are chosen: the one asked for, that of the goal, or the one that suits these labels."""
    if scoring is not None and scoring not in (*MEASURES, *GOALS):
        raise ValueError(
            f"scoring={scoring!r} must be a goal ({', '.join(GOALS)}) or a measure ({', '.join(MEASURES)})"
        )
    found = GOALS.get(scoring, scoring) if scoring is not None else None
    if found is None and labels is None and scoring is None:
        return "recall"
    if labels is None and found not in NEIGHBORHOOD:
        raise ValueError(f"scoring={scoring!r} needs labels; pass y, or choose one of {', '.join(NEIGHBORHOOD)}")
    return found or ("balanced_accuracy" if labels is not None and are_unequal(labels) else "accuracy")


def are_unequal(labels: np.ndarray) -> bool:
    """Whether always predicting the largest class would seem to do well."""
    counts = np.bincount(labels[labels >= 0])
    return bool(counts.max() > UNEQUAL * counts.min())


def tolerance(criterion: str) -> float:
    return LEVEL_NEIGHBORHOOD if criterion in NEIGHBORHOOD else LEVEL


class Judge:
    """Computes the measures of an embedding on the rows held out."""

    def __init__(
        self,
        X: Array,
        y_train: np.ndarray | None,
        y_test: np.ndarray | None,
        n_neighbors: int,
        seed: int,
        retrieval: bool,
    ):
        self.y_train, self.y_test, self.n_neighbors, self.seed = y_train, y_test, n_neighbors, seed
        self.retrieval = retrieval
        self.rows = spread_rows(X.shape[0], MOST_ROWS)
        self.ranks = neighbor_ranks(X[self.rows])

    def __call__(self, Z_train: Array, Z_test: Array) -> tuple[dict[str, float], np.ndarray]:
        """The measures, and the classes that nearest neighbours predict for the rows held out."""
        kept = rank_agreement(self.ranks, neighbor_ranks(Z_test[self.rows]), self.n_neighbors)
        measures = dict(zip(NEIGHBORHOOD, kept, strict=True))
        if self.y_train is None or self.y_test is None:
            return measures, np.empty(0, dtype=int)
        known, held_out = self.y_train >= 0, self.y_test >= 0
        true, rows = self.y_test[held_out], Z_test[held_out]
        nearest = KNeighborsClassifier(1).fit(Z_train[known], self.y_train[known])
        predicted = nearest.predict(rows)
        n_clusters = min(len(nearest.classes_), len(true))
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # fewer distinct rows than clusters
            clusters = KMeans(n_clusters, n_init=4, random_state=self.seed).fit_predict(rows)
        found = {
            **classification(true, predicted),
            "clustering": clustering_accuracy(true, clusters),
            "nmi": float(normalized_mutual_info_score(true, clusters)),
        }
        if self.retrieval:
            some = spread_rows(len(true), MOST_ROWS)
            scores = retrieval_scores(
                rows[some], true[some], Z_train[known], self.y_train[known], n_neighbors=RECALL_AT
            )
            found |= dict(zip(RETRIEVAL, scores, strict=True))
        return {name: found[name] for name in MEASURES if name in found} | measures, predicted


def majority(y_train: np.ndarray, y_test: np.ndarray) -> dict[str, float]:
    """The scores of always predicting the largest class of the training rows."""
    true = y_test[y_test >= 0]
    return classification(true, np.full(len(true), np.argmax(np.bincount(y_train[y_train >= 0]))))


def classification(true: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # about classes predicted, but not held out
        return {
            "accuracy": float(np.mean(predicted == true)),
            "balanced_accuracy": float(balanced_accuracy_score(true, predicted)),
            "f1": float(f1_score(true, predicted, average="macro", zero_division=0)),
        }


def neighborhood_preservation(
    X: Any, Z: Any, *, n_neighbors: int = N_NEIGHBORS, max_samples: int = MOST_ROWS
) -> tuple[float, float, float]:
    """How well Z keeps the neighbours of X, as :func:`compare` judges it: among a sample of the rows.

    :func:`lapwing.metrics.neighborhood_preservation` looks for neighbours among all rows, which takes longer and is stricter:
    of fewer rows, the nearest are farther away.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows before the embedding. Their distances are Euclidean, and by the cosine where X is sparse.
    Z : array-like of shape (n_samples, n_components)
        The embedding of the same rows.
    n_neighbors : int, default=10
        How many nearest rows are compared, k; less than half of the samples.
    max_samples : int, default=500
        Where there are more rows than this, only so many are taken, spread evenly.

    Returns
    -------
    trustworthiness, continuity, recall : float

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.comparison import neighborhood_preservation
    >>> X = np.arange(12.0)[:, None] ** 2
    >>> neighborhood_preservation(X, -X, n_neighbors=3)
    (1.0, 1.0, 1.0)
    """
    X, Z = (check_array(rows, accept_sparse="csr", dtype=[np.float64, np.float32]) for rows in (X, Z))
    if X.shape[0] != Z.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, but Z has {Z.shape[0]}; pass the embedding of the same rows")
    rows = spread_rows(X.shape[0], check_count("max_samples", max_samples))
    return metrics.neighborhood_preservation(X[rows], Z[rows], n_neighbors=n_neighbors, max_queries=rows.size)


def one_standard_error(scores: np.ndarray, level: float = LEVEL) -> int:
    """The first dimension whose mean over folds (rows) is within one standard error of the best, or within ``level``."""
    means = scores.mean(axis=0)
    best = int(np.argmax(means))
    return int(np.argmax(reaches(means, means[best] - max(level, standard_error(scores[:, best])))))


def reaches(means: np.ndarray, least: float) -> np.ndarray:
    """Which means are at least as good as ``least`` when they are printed, to a tenth of a percent."""
    return np.round(means, 3) >= np.round(least, 3)
