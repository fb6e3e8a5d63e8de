"""Rows far away from all others: the graph keeps them, faintly, every method still fits, and clusters have links of their own."""

import numpy as np
import pytest
from helpers import each
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from lapwing import GLPCA, LPP, OLPP, KernelLPP, LaplacianEigenmaps, LaplacianScore
from lapwing.data import as_data
from lapwing.graphs import (
    KNN,
    CodingLength,
    LocalClass,
    Radius,
    Reconstruction,
    SameClass,
    TangentAlignment,
)

ROW = 5
DIGITS, LABELS = (values[:900] for values in load_digits(return_X_y=True))  # exp(-900) is 0
DIGITS = DIGITS + np.random.default_rng(0).uniform(size=DIGITS.shape) / 100  # no two distances are equal


def with_a_far_row(factor):
    X = DIGITS.copy()
    X[ROW] *= factor
    return X


def weights(graph, X):
    return graph.adjacency(as_data(X, LABELS)).toarray()


@pytest.mark.parametrize("factor", [5.0, 1e2, 1e6])
@pytest.mark.parametrize("name", ["KNN", "mean", "Radius", "SameClass"])
def test_its_links_are_faint(name, factor):
    X = with_a_far_row(factor)
    far = np.sort(np.linalg.norm(X - X[ROW], axis=1))[4]
    graph = {
        "KNN": KNN(5),
        "mean": KNN(5, symmetry="mean"),
        "Radius": Radius(far, t=1000.0),
        "SameClass": SameClass(weights="heat"),
    }[name]
    W = weights(graph, X)
    assert 0 < W[ROW].sum() < 1e-10
    assert np.delete(W.sum(axis=1), ROW).min() > 1e-4


def test_the_other_links_are_those_of_the_formula():
    X = with_a_far_row(1e3)
    distances, cols = NearestNeighbors(n_neighbors=6).fit(X).kneighbors()
    distances, cols = distances[:, :5], cols[:, :5]
    expected = np.zeros((len(X), len(X)))
    np.put_along_axis(expected, cols, np.exp(-(distances**2) / np.mean(distances**2)), axis=1)
    expected = np.maximum(expected, expected.T)
    W = weights(KNN(5), X)
    others = np.arange(len(X)) != ROW
    np.testing.assert_allclose(W[others][:, others], expected[others][:, others], rtol=1e-9)
    assert not expected[ROW].any()
    np.testing.assert_array_equal(np.flatnonzero(W[ROW]), np.sort(cols[ROW]))


def test_its_links_keep_their_proportions():
    X = with_a_far_row(5.0)
    t = np.mean(NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[0] ** 2)
    squared = np.sum((X - X[ROW]) ** 2, axis=1)
    w = weights(KNN(5), X)[ROW]
    near = np.flatnonzero(w)
    np.testing.assert_allclose(np.log(w[near] / w.max()), (squared[near].min() - squared[near]) / t, atol=1e-9)


@each("factor", [5.0, 1e2, 1e6])
@each(
    "method",
    [LPP(3), OLPP(3), KernelLPP(3), GLPCA(3), LaplacianScore(), LPP(3, graph=SameClass(weights="heat"))],
)
def test_methods_fit(method, factor):
    assert np.isfinite(method.fit(with_a_far_row(factor), LABELS).transform(DIGITS)).all()


@pytest.mark.parametrize("factor", [5.0, 10.0, 1e2, 1e6])
def test_it_is_placed_beside_its_neighbours(factor):
    """W f = (1 - lambda) D f, also in the row whose degree is rounding."""
    X = with_a_far_row(factor)
    model = LaplacianEigenmaps(3).fit(X)
    w = weights(KNN(5), X)[ROW]
    expected = w @ model.embedding_ / w.sum() / (1 - model.eigenvalues_)
    np.testing.assert_allclose(model.embedding_[ROW], expected, atol=1e-3 * np.abs(model.embedding_).max())


def test_a_width_that_is_too_small_is_an_error():
    with pytest.raises(ValueError, match=r"weights='heat' gives weight 0 to all edges of 900 samples.*larger t"):
        LPP(3, graph=KNN(5, t=1e-3)).fit(DIGITS)


@each("kind", [np.asarray, sparse.csr_array])
@each("d", [2, 20])
@each(
    "graph",
    [
        KNN(3, t=2.0),
        Radius(6.0, t=20.0),
        Reconstruction(3),
        CodingLength(4, weights="distance"),
        TangentAlignment(4, n_components=1, weights="uniform"),
        LocalClass(2),
        SameClass(weights="heat", t=2.0),
    ],
)
def test_clusters_far_from_each_other(graph, d, kind):
    """Each of two equal clusters has the links that it would have alone, wherever the other one is."""
    one = np.round(np.random.RandomState(0).standard_normal((14, d)), 3)
    one = np.floor(one * 2**12) / 2**12  # so that they can be moved without rounding
    y = np.arange(14) % 2
    alone = -graph.build(kind(one), y)[0].laplacian.toarray() / (2 if isinstance(graph, LocalClass) else 1)
    both = -graph.build(kind(np.concatenate([one, one + 2.0**30])), np.tile(y, 2))[0].laplacian.toarray()
    off = ~np.eye(14, dtype=bool)
    for cluster in (both[:14, :14], both[14:, 14:]):
        np.testing.assert_allclose(cluster[off], alone[off], rtol=0, atol=1e-8)


@pytest.mark.parametrize("d", [2, 20])
def test_code_lengths_of_patches_far_from_the_mean(d):
    """A far row moves the mean of all rows: code lengths depend on the distances from it, and lose no digits by that."""
    one = np.floor(np.random.RandomState(0).standard_normal((14, d)) * 2**12) / 2**12
    X = np.concatenate([one, np.full((1, d), 2.0**32)])
    weights, moved = (CodingLength(4).patches(as_data(rows)).weights[:14] for rows in (X, X + 2.0**30))
    assert np.ptp(weights, axis=1).min() > 0.1
    np.testing.assert_allclose(moved, weights, rtol=0, atol=1e-6)


@each("scale", [1e-300, 1e-150, 1e155])
@each(
    "graph",
    [KNN(3), Radius(1.0), Reconstruction(3), CodingLength(4), KNN(3, metric="cityblock"), LocalClass(3) + SameClass()],
)
def test_squares_that_leave_the_range(graph, scale):
    """Squares of tiny numbers are 0, and weights and neighbours would be arbitrary."""
    X = scale * np.random.RandomState(0).standard_normal((60, 3))
    with pytest.raises(ValueError, match="leave the range of floating point; scale X first"):
        graph.build(X, np.arange(60) % 3)
    assert SameClass().build(X, np.arange(60) % 3)  # looks at labels alone
