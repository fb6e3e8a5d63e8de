"""Chi-square distances, and graphs of the neighbours that they find."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.neighbors import KNeighborsTransformer

from lapwing import LPCA, LPP
from lapwing.data import as_data
from lapwing.graphs import KNN, CodingLength
from lapwing_papers.histograms import Chi2Neighbors, chi2_distances, chi2_metric


def histograms(*shape, seed=0):
    return np.random.RandomState(seed).poisson(1.0, shape).astype(float)


def by_loops(X, Y):
    pairs = [[[(a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b] for y in Y] for x in X]
    return np.array([[sum(terms) for terms in row] for row in pairs])


def nearest(D, k):
    """By definition; of equally distant rows the first."""
    D = D.round(10)
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("shape", [(3, 1), (40, 9)])
def test_distances(shape):
    S, T = histograms(*shape), histograms(11, shape[1], seed=1)
    assert_allclose(chi2_distances(S, T), by_loops(S, T), atol=1e-12)
    assert_allclose(chi2_distances(S), by_loops(S, S), atol=1e-12)
    assert_allclose([[chi2_metric(s, t) ** 2 for t in T] for s in S], by_loops(S, T), atol=1e-12)


def test_the_metric_obeys_the_triangle_inequality():
    """A tree of scikit-learn needs that, and the distance itself does not."""
    S = histograms(25, 3)
    D = chi2_distances(S)
    assert (D[:, None] + D[None] < D[:, :, None] - 1e-9).any()
    root = np.sqrt(D)
    assert (root[:, None] + root[None] >= root[:, :, None] - 1e-9).all()


@pytest.mark.parametrize("repeated", [1, 5])
@pytest.mark.parametrize("working_memory", [1024, 0.01])
def test_a_graph_of_the_nearest(repeated, working_memory, monkeypatch):
    S = np.repeat(histograms(100 // repeated, 12), repeated, axis=0)
    monkeypatch.setattr("lapwing_papers.histograms.get_config", lambda: {"working_memory": working_memory})
    W = KNN(4, weights="binary", symmetry="and", search=Chi2Neighbors()).adjacency(as_data(S)).toarray()
    links = np.zeros((100, 100))
    np.put_along_axis(links, nearest(by_loops(S, S), 4), 1, axis=1)
    np.testing.assert_array_equal(W, links * links.T)


def test_patches_of_the_nearest():
    S = histograms(60, 20) + np.random.RandomState(1).rand(60, 20)
    rows = CodingLength(4, metric=chi2_metric).patches(as_data(S)).rows
    np.testing.assert_array_equal(rows[:, 1:], nearest(by_loops(S, S), 4))
    assert LPCA(3, graph=CodingLength(4, metric=chi2_metric)).fit(S).components_.shape == (3, 20)


def test_new_rows():
    """As of scikit-learn's transformer, which has the neighbours of new rows and one more."""
    S, T = histograms(50, 12) + np.random.RandomState(1).rand(50, 12), histograms(9, 12, seed=2) + 0.1
    ours = Chi2Neighbors(3).fit(S).transform(T)
    theirs = KNeighborsTransformer(n_neighbors=3, metric=chi2_metric).fit(S).transform(T)
    np.testing.assert_array_equal(ours.toarray() > 0, theirs.toarray() > 0)
    assert_allclose(ours.toarray(), theirs.toarray() ** 2, atol=1e-9)


def test_refusals():
    S = histograms(20, 5)
    with pytest.raises(ValueError, match="negative"):
        chi2_distances(S - 5)
    with pytest.raises(ValueError, match="Negative values in data passed to X in Chi2Neighbors"):
        LPP(2, graph=KNN(3, search=Chi2Neighbors())).fit(S - 5)
    with pytest.raises(ValueError, match="n_neighbors=0"):
        Chi2Neighbors(0).fit(S)
    with pytest.raises(ValueError, match="metric='chi2'"):
        LPP(2, graph=KNN(3, metric="chi2")).fit(S)
