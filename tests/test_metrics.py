"""Measures of clusters, against their definitions."""

from itertools import permutations

import numpy as np
import pytest

from lapwing.metrics import clustering_accuracy, purity

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
