"""How good an embedding is: by classes, and by neighbourhoods."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    get_scorer,
    get_scorer_names,
    normalized_mutual_info_score,
)
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
#: Scores of scikit-learn for classes. Those of numbers and of clusters have no meaning for a classifier.
SCORERS = tuple(
    name
    for name in get_scorer_names()
    if re.match(
        r"(balanced_)?accuracy$|average_precision|f1|jaccard|neg_brier|neg_log_loss|precision|recall|roc_auc|top_k",
        name,
    )
)
N_NEIGHBORS, MOST_QUERIES = 10, 500  # how many nearest rows, and of how many rows, measures of neighbourhoods take
UNEQUAL = 2.0  # where the largest class is this many times the smallest, the accuracy says little
LEVEL = 0.001  # scores that differ by less are printed alike, and count as equal whatever the standard error
LEVEL_NEIGHBORHOOD = 0.1  # the same for measures of neighbourhoods, which get better with every further dimension


def checked_criterion(scoring: str | None, labels: np.ndarray | None, judge: str = "nearest") -> str:
    """The measure by which methods are chosen: the one asked for, that of the goal, or the one that suits these labels."""
    if scoring is not None and scoring not in (*MEASURES, *GOALS, *SCORERS):
        raise ValueError(
            f"scoring={scoring!r} must be a goal ({', '.join(GOALS)}), a measure ({', '.join(MEASURES)}), or a score of "
            "scikit-learn for classes, such as roc_auc"
        )
    found = None if scoring is None else GOALS.get(scoring, scoring)
    if labels is not None and found is None and judge != "nearest" and labels.max() == 1:
        return "roc_auc"  # of one nearest neighbour it would say no more than the accuracy
    if labels is not None:
        return found or ("balanced_accuracy" if are_unequal(labels) else "accuracy")
    if scoring is None:
        return "recall"
    if found not in NEIGHBORHOOD:
        raise ValueError(f"scoring={scoring!r} needs labels; pass y, or choose one of {', '.join(NEIGHBORHOOD)}")
    return found


def are_unequal(labels: np.ndarray) -> bool:
    """Whether always predicting the largest class would seem to do well."""
    counts = np.bincount(labels[labels >= 0])
    return bool(counts.max() > UNEQUAL * counts.min())


class Judge:
    """Computes the measures of an embedding on the rows held out."""

    def __init__(
        self,
        X: Array,
        y_train: np.ndarray | None,
        y_test: np.ndarray | None,
        classifier: Any,
        n_neighbors: int,
        seed: int,
        retrieval: bool,
        scorers: tuple[str, ...] = (),
    ):
        self.y_train, self.y_test, self.n_neighbors, self.seed = y_train, y_test, n_neighbors, seed
        self.retrieval, self.scorers = retrieval, scorers
        self.classifier = KNeighborsClassifier(1) if classifier is None else classifier
        self.rows = spread_rows(X.shape[0], MOST_QUERIES)
        self.ranks = neighbor_ranks(X[self.rows])

    def __call__(self, Z_train: Array, Z_test: Array) -> tuple[dict[str, float], np.ndarray]:
        """The measures, and the classes that the classifier predicts for the rows held out."""
        kept = rank_agreement(self.ranks, neighbor_ranks(Z_test[self.rows]), self.n_neighbors)
        measures = dict(zip(NEIGHBORHOOD, kept, strict=True))
        if self.y_train is None or self.y_test is None:
            return measures, np.empty(0, dtype=int)
        known, held_out = self.y_train >= 0, self.y_test >= 0
        true, rows = self.y_test[held_out], Z_test[held_out]
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            classifier = clone(self.classifier).fit(Z_train[known], self.y_train[known])
        predicted = classifier.predict(rows)
        n_clusters = min(len(classifier.classes_), len(true))
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # fewer distinct rows than clusters
            clusters = KMeans(n_clusters, n_init=4, random_state=self.seed).fit_predict(rows)
        found = classification(true, predicted)
        found |= {name: float(get_scorer(name)(classifier, rows, true)) for name in self.scorers}
        if self.retrieval:
            some = spread_rows(len(true), MOST_QUERIES)
            scores = retrieval_scores(
                rows[some], true[some], Z_train[known], self.y_train[known], n_neighbors=RECALL_AT
            )
            found |= dict(zip(RETRIEVAL, scores, strict=True))
        found["clustering"] = clustering_accuracy(true, clusters)
        found["nmi"] = float(normalized_mutual_info_score(true, clusters))
        return found | measures, predicted


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
    X: Any, Z: Any, *, n_neighbors: int = N_NEIGHBORS, max_samples: int = MOST_QUERIES
) -> tuple[float, float, float]:
    """How well Z keeps the neighbours of X, as :func:`compare` judges it: among a sample of the rows.

    :func:`lapwing.metrics.neighborhood_preservation` looks among all rows, which takes longer and is stricter.

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


def level_with(means: np.ndarray, best: np.ndarray, criterion: str) -> np.ndarray:
    """Which means are within one standard error of the best, whose scores by fold these are; within a level at least.

    Means are compared as they are printed, to a tenth of a percent.
    """
    least = LEVEL_NEIGHBORHOOD if criterion in NEIGHBORHOOD else LEVEL
    return np.round(means, 3) >= np.round(best.mean() - max(least, standard_error(best)), 3)
