"""What judges a space: the classifier behind it, chosen among the training rows where that is left open."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from .._arrays import spread_rows
from .._validation import check_choice

JUDGES = ("auto", "nearest", "knn", "logistic")
NEIGHBORS = (3, 7, 15, 31, 61)  # of the judge "knn"
MOST_ROWS, FOLDS = 3_000, 3  # among which a judge is chosen


def checked_judge(judge: str, X: Any, y: np.ndarray) -> Any:
    """The classifier of a judge, unfitted. Where several may be meant, the best in folds of these rows.

    It is chosen on the columns as given: a projection that was fitted to the same labels would favour the nearest neighbour.

    Parameters
    ----------
    judge : {"auto", "nearest", "knn", "logistic"}
        The nearest neighbour, some neighbours, logistic regression, or the better of the last two.
    X, y : array or sparse matrix of shape (n_samples, n_features), and ndarray of shape (n_samples,)
        The rows, and their classes; rows of class -1 are left out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import checked_judge
    >>> checked_judge("nearest", *load_iris(return_X_y=True))
    KNeighborsClassifier(algorithm='brute', n_neighbors=1)
    """
    check_choice("judge", judge, JUDGES)
    logistic = make_pipeline(StandardScaler(with_mean=False), LogisticRegression(max_iter=1000))
    if judge == "nearest":
        return KNeighborsClassifier(1, algorithm="brute")  # a model file holds no trees
    if judge == "logistic":
        return logistic
    known = np.flatnonzero(np.asarray(y) != -1)
    rows = known[spread_rows(len(known), MOST_ROWS)]
    X, y = X[rows], np.asarray(y)[rows]
    least = np.unique(y, return_counts=True)[1].min()
    near = [KNeighborsClassifier(k, algorithm="brute") for k in NEIGHBORS if k < len(y) * (FOLDS - 1) // FOLDS]
    choices = [logistic] * (judge == "auto") + near
    if least < FOLDS or not near:
        return choices[0] if choices else KNeighborsClassifier(1, algorithm="brute")
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    scoring = "roc_auc" if len(np.unique(y)) == 2 else "accuracy"
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        scores = [cross_val_score(choice, X, y, cv=folds, scoring=scoring).mean() for choice in choices]
    return choices[int(np.argmax(scores))]


def in_words(classifier: Any) -> str:
    """The name of a judge.

    Parameters
    ----------
    classifier : classifier
        What :func:`checked_judge` gives.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from lapwing.comparison import in_words
    >>> in_words(KNeighborsClassifier(7))
    '7 nearest neighbours'
    """
    if isinstance(classifier, Pipeline):
        return "logistic regression"
    k = classifier.n_neighbors
    return "nearest neighbour" if k == 1 else f"{k} nearest neighbours"
