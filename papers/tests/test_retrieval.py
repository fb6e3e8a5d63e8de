"""Measures of spaces of documents, against their definitions."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from lapwing_papers.retrieval import neighborhood_accuracy, pair_average_precision

RNG = np.random.RandomState(0)


def test_pair_average_precision():
    """Eq. 5.9 by its words: the precision at each pair of one class, averaged."""
    X, y = RNG.standard_normal((25, 4)), RNG.randint(0, 3, 25)
    pairs = sorted((np.linalg.norm(X[i] - X[j]), y[i] == y[j]) for i in range(25) for j in range(i))
    found, precisions = 0, []
    for k, (_, same) in enumerate(pairs, 1):
        found += same
        if same:
            precisions.append(found / k)
    assert pair_average_precision(X, y, metric="euclidean") == pytest.approx(np.mean(precisions))
    with pytest.raises(ValueError, match="no two samples of one class"):
        pair_average_precision(X, np.arange(25))


def test_equal_distances_count_as_one_place():
    y = RNG.randint(0, 3, 40)
    D = RNG.randint(1, 6, (40, 40)).astype(float)  # five different distances of 780 pairs
    D = np.triu(D, 1) + np.triu(D, 1).T
    first, second = np.triu_indices(40, 1)
    expected = average_precision_score(y[first] == y[second], -D[first, second])
    assert pair_average_precision(D, y, metric="precomputed") == pytest.approx(expected)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_neighborhood_accuracy(metric):
    """Eq. 5.10 and 5.11."""
    X, y = RNG.standard_normal((30, 4)), RNG.randint(0, 3, 30)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    d = 1 - U @ U.T if metric == "cosine" else np.array([np.linalg.norm(X - x, axis=1) for x in X])
    np.fill_diagonal(d, -1)
    shares = [np.mean(y[np.argsort(d[i])[: np.sum(y == y[i])]] == y[i]) for i in range(30)]
    assert neighborhood_accuracy(X, y, metric=metric) == pytest.approx(np.mean(shares))
    assert neighborhood_accuracy(d, y, metric="precomputed") == pytest.approx(np.mean(shares))
    apart = np.repeat(np.eye(3), 10, axis=0) + 0.01 * RNG.rand(30, 3)
    assert neighborhood_accuracy(apart, np.repeat(range(3), 10)) == 1
