"""Measures of clusters and of embeddings, against their definitions."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from sklearn import manifold
from sklearn.metrics import average_precision_score

from lapwing.metrics import (
    clustering_accuracy,
    mean_average_precision,
    neighborhood_preservation,
    purity,
    recall_at_k,
    retrieval_scores,
)

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


def test_rows_that_ask_all_others():
    rng = np.random.RandomState(0)
    Z, y = rng.randint(0, 4, (30, 2)).astype(float), rng.randint(0, 3, 30)  # with ties
    apart = [
        retrieval_scores(Z[[i]], y[[i]], np.delete(Z, i, axis=0), np.delete(y, i), n_neighbors=3) for i in range(30)
    ]
    assert retrieval_scores(Z, y, n_neighbors=3) == pytest.approx(tuple(np.mean(apart, axis=0)))
    assert mean_average_precision(Z, y) == pytest.approx(np.mean(apart, axis=0)[0])
    some = np.linspace(0, 29, 7).astype(int)
    few = retrieval_scores(Z, y, n_neighbors=3, max_queries=7)
    assert few == pytest.approx(tuple(np.mean([apart[i] for i in some], axis=0)))
    assert recall_at_k(Z[:2], [0, 0], n_neighbors=5) == 1  # of one other row
    with pytest.raises(ValueError, match="one of indexed and indexed_labels is None; pass both"):
        retrieval_scores(Z, y, Z)
    with pytest.raises(ValueError, match="queries has 1 row, which has no other to ask"):
        retrieval_scores(Z[:1], y[:1])


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


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_rows_that_are_equally_near_have_no_order(k):
    """Average precision as scikit-learn has it of ties, and the recall as the mean over all orders of the index."""
    rng = np.random.RandomState(0)
    queries, labels = rng.randint(0, 2, (8, 1)), rng.randint(0, 3, 8)
    indexed, others = rng.randint(0, 3, (6, 1)), np.array([0, 1, 1, 2, 0, 1])
    distances, relevant = abs(queries - indexed.T), labels[:, None] == others
    orders = np.array(list(permutations(range(6))))
    for_orders = [
        relevant[:, order][np.arange(8)[:, None], np.argsort(distances[:, order], axis=1, kind="stable")[:, :k]].any(
            axis=1
        )
        for order in orders
    ]
    found = retrieval_scores(queries, labels, indexed, others, n_neighbors=k)
    expected = np.mean([average_precision_score(r, -d) for r, d in zip(relevant, distances, strict=True)])
    assert found == (pytest.approx(expected), pytest.approx(np.mean(for_orders)))
    collapsed = np.zeros((2, 2)), [0, 1], np.zeros((4, 2)), [0, 0, 1, 1]
    assert retrieval_scores(*collapsed, n_neighbors=1) == (0.5, pytest.approx(0.5))


def test_labels_of_two_kinds_are_refused():
    with pytest.raises(ValueError, match="of labels and indexed_labels, one holds words"):
        mean_average_precision([[0.0]], [0], [[0.0], [1.0]], ["0", "1"])
    assert mean_average_precision([[0.0]], np.array([0], dtype=object), [[0.0], [1.0]], [0, 1]) == 1


def test_parts_of_retrieval():
    rng = np.random.RandomState(1)
    given = rng.standard_normal((20, 3)), rng.randint(0, 4, 20), rng.standard_normal((50, 3)), rng.randint(0, 4, 50)
    both = retrieval_scores(*given, n_neighbors=2)
    assert (mean_average_precision(*given), recall_at_k(*given, n_neighbors=2)) == both
    some = np.linspace(0, 19, 6).astype(int)
    few = retrieval_scores(given[0][some], given[1][some], *given[2:], n_neighbors=2)
    assert retrieval_scores(*given, n_neighbors=2, max_queries=6) == pytest.approx(few)


@pytest.fixture
def embedded():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 6))
    return X, X[:, :2] + 0.3 * rng.standard_normal((60, 2))


@pytest.mark.parametrize("k", [1, 5, 20])
def test_neighbourhoods_against_scikit_learn(embedded, k):
    X, Z = embedded
    expected = [manifold.trustworthiness(*given, n_neighbors=k) for given in ((X, Z), (Z, X))]
    assert neighborhood_preservation(X, Z, n_neighbors=k)[:2] == pytest.approx(expected)
    assert neighborhood_preservation(X, X) == (1, 1, 1)


def test_neighbours_of_a_sample_of_rows_are_among_all(embedded):
    """By their definition: the neighbours of some rows, and the ranks that all others have."""
    X, Z = embedded
    k, n, found = 4, 60, []
    queries = np.linspace(0, n - 1, 9).astype(int)
    for i in queries:
        order = [[j for j in np.argsort(np.linalg.norm(A - A[i], axis=1)) if j != i] for A in (X, Z)]
        beyond = sum(max(order[0].index(j) + 1 - k, 0) for j in order[1][:k])
        strayed = sum(max(order[1].index(j) + 1 - k, 0) for j in order[0][:k])
        scale = 2 / (k * (2 * n - 3 * k - 1))
        found.append((1 - scale * beyond, 1 - scale * strayed, len(set(order[0][:k]) & set(order[1][:k])) / k))
    assert neighborhood_preservation(X, Z, n_neighbors=k, max_queries=9) == pytest.approx(np.mean(found, axis=0))


def test_bad_neighbourhoods(embedded):
    X, Z = embedded
    for wrong in (0, 30, "five"):
        with pytest.raises(ValueError, match="n_neighbors="):
            neighborhood_preservation(X, Z, n_neighbors=wrong)
    with pytest.raises(ValueError, match="Z has 59"):
        neighborhood_preservation(X, Z[:-1])
    with pytest.raises(ValueError, match="max_queries=0"):
        neighborhood_preservation(X, Z, max_queries=0)


def test_sparse_rows_are_compared_by_angle(embedded):
    X, _ = embedded
    lengths = np.random.RandomState(0).uniform(1, 9, 60)[:, None]
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    assert neighborhood_preservation(sparse.csr_array(X * lengths), unit) == (1, 1, 1)
