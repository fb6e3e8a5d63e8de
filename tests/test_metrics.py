"""Measures of clusters and neighbourhoods, against their definitions."""

from itertools import permutations

import numpy as np
import pytest

from lapwing.metrics import clustering_accuracy, neighborhood_accuracy, pair_average_precision, purity

RNG = np.random.RandomState(0)


@pytest.mark.parametrize("clusters", [3, 4])
def test_clustering_accuracy_is_the_best_matching(clusters):
    y, found = RNG.randint(0, 4, 60), RNG.randint(0, clusters, 60)
    best = max(np.mean(np.array(order)[found] == y) for order in permutations(range(4), clusters))
    assert clustering_accuracy(y, found) == pytest.approx(best)
    assert clustering_accuracy(y, y[::-1].copy()[::-1] + 7) == 1
    assert clustering_accuracy(np.array(["a", "b"])[y % 2], y % 2) == 1


def test_purity():
    y, found = RNG.randint(0, 4, 60), RNG.randint(0, 5, 60)
    expected = sum(np.bincount(y[found == c]).max() for c in set(found)) / 60
    assert purity(y, found) == pytest.approx(expected)
    assert purity(y, np.arange(60)) == 1


@pytest.mark.parametrize("measure", [clustering_accuracy, purity])
def test_bad_labels(measure):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        measure([0, 1], [0])
    with pytest.raises(ValueError, match="are empty"):
        measure([], [])
    with pytest.raises(ValueError, match="1d array"):
        measure([[0, 1], [1, 0]], [0, 1])


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


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_neighborhood_accuracy(metric):
    """Eq. 5.10 and 5.11."""
    X, y = RNG.standard_normal((30, 4)), RNG.randint(0, 3, 30)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    d = 1 - U @ U.T if metric == "cosine" else np.array([np.linalg.norm(X - x, axis=1) for x in X])
    np.fill_diagonal(d, -1)
    shares = [np.mean(y[np.argsort(d[i])[: np.sum(y == y[i])]] == y[i]) for i in range(30)]
    assert neighborhood_accuracy(X, y, metric=metric) == pytest.approx(np.mean(shares))
    apart = np.repeat(np.eye(3), 10, axis=0) + 0.01 * RNG.rand(30, 3)
    assert neighborhood_accuracy(apart, np.repeat(range(3), 10)) == 1
