"""Measures of clusters, against their definitions."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from lapwing.metrics import clustering_accuracy, purity, retrieval_scores

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


def test_retrieval_against_scikit_learn():
    rng = np.random.RandomState(0)
    queries, indexed = rng.standard_normal((20, 3)), rng.standard_normal((50, 3))
    labels, others = rng.randint(0, 4, 20), rng.randint(0, 3, 50)  # one class is not in the index
    distances = np.linalg.norm(queries[:, None] - indexed, axis=2)
    relevant = labels[:, None] == others
    known = relevant.any(axis=1)
    assert not known.all()
    expected = [average_precision_score(r, -d) for r, d in zip(relevant[known], distances[known], strict=True)]
    nearest = np.argsort(distances, axis=1)[:, :3]
    found = retrieval_scores(queries, labels, indexed, others, n_neighbors=3)
    assert found[0] == pytest.approx(np.mean(expected))
    assert found[1] == np.mean(np.take_along_axis(relevant, nearest, axis=1).any(axis=1))
    assert retrieval_scores(queries, labels + 9, indexed, others) == (0.0, 0.0)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        retrieval_scores(queries, labels, indexed, others, n_neighbors=0)
    with pytest.raises(ValueError, match="inconsistent"):
        retrieval_scores(queries, labels[:-1], indexed, others)
