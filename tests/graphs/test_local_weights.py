"""Weights that know the neighbourhood, and weights without the density: by double loops, and on curves that are known."""

import numpy as np
import oracles as o
import pytest
from helpers import check_term, each
from oracles import toy
from scipy import sparse

from lapwing import LPP, KernelLPP, LaplacianEigenmaps, load, save
from lapwing.graphs import KNN, Chain, DensityCorrected, Precomputed, Radius, Reconstruction, SameClass, Similarity

X, Y = toy(4)
N = len(X)


def reaches(d, edges):
    return np.array([max((d[a, b] for a, b in edges if a == i), default=0.0) for i in range(len(d))])


def local_weights(X, y, k, among="all", symmetry="or", weight=lambda d, a, b: np.exp(-(d**2) / (a * b))):
    """Zelnik-Manor and Perona: each row has a width of its own."""
    d = o.distances(X)
    edges = set(o.arcs(d, y, k, among))
    reach = reaches(d, edges)
    reach[reach == 0] = reach[reach > 0].mean()

    def weigh(i, j):
        directions = ((i, j) in edges) + ((j, i) in edges)
        share = {"or": directions > 0, "mean": directions / 2}[symmetry]
        return share * weight(d[i, j], reach[i], reach[j])

    return o.by_pairs(len(X), weigh)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_self_tuning(make):
    check_term(KNN(4, weights="self-tuning").build(make(X))[0], local_weights(X, None, 4))
    same = KNN(4, weights="self-tuning", among="same_class", symmetry="mean")
    check_term(same.build(make(X), Y)[0], local_weights(X, Y, 4, "same_class", "mean"))


def test_a_compiled_function():
    check_term(KNN(4, weights=np.exp).build(X)[0], o.knn_weights(X, None, 4, weights=np.exp))


def test_repeated_rows_have_the_mean_reach():
    Z = np.vstack([np.repeat(X[:2], 6, axis=0), X])
    check_term(KNN(4, weights="self-tuning").build(Z)[0], local_weights(Z, None, 4))
    LaplacianEigenmaps(2, graph=KNN(4, weights="self-tuning")).fit(np.repeat(X[:6], 5, axis=0))


def test_scale_does_not_matter():
    """Neither that of all rows, nor that of a part of them."""
    Z = np.vstack([X, 100 + 50 * X])
    W = -KNN(4, weights="self-tuning").build(Z)[0].laplacian.toarray()
    np.testing.assert_allclose(W[:N, :N], W[N:, N:], atol=1e-6)


def test_new_rows_reach_as_far_as_their_neighbours():
    model = LaplacianEigenmaps(2, graph=KNN(4, weights="self-tuning")).fit(X)
    new = np.vstack([X[:5] + 0.01, X[:1] + 1e6])  # one so far that all weights vanish
    d, own = np.sqrt(((new[:, None] - X) ** 2).sum(axis=2)), o.distances(X)
    reach = reaches(own, o.arcs(own, None, 4))
    near = np.argsort(np.argsort(d, axis=1), axis=1) < 4
    e = d**2 / (np.sort(d, axis=1)[:, 3:4] * reach)
    e = np.where(near, e, np.inf)
    links = np.exp(e.min(axis=1, keepdims=True) - e)
    np.testing.assert_allclose(model.transform(new), model.transform(new, links=links), atol=1e-8)


@pytest.mark.parametrize(
    ("graph", "y"),
    [
        (Radius(0.5, weights="self-tuning"), None),
        (KNN(3, weights="self-tuning", queries=9), None),
    ],
)
def test_where_it_is_not_known(graph, y):
    with pytest.raises(
        ValueError, match=r"needs the distance of both rows from their k-th neighbours.*without queries="
    ):
        graph.build(X, y)


# Density


@each("alpha", [0, 0.5, 1, 2.5])
@each(
    ("graph", "W"),
    [
        (KNN(4), o.knn_weights(X, Y, 4)),
        (KNN(4) + 2 * Chain(), o.knn_weights(X, Y, 4) + 2 * o.by_pairs(N, lambda i, j: abs(i - j) == 1)),
        (Precomputed(o.radius_weights(X, Y, 0.3)), o.radius_weights(X, Y, 0.3)),  # rows without links stay without
        (KNN(4) & SameClass(), o.knn_weights(X, Y, 4) * (o.same_class_weights(Y) > 0)),
    ],
)
def test_definition(graph, W, alpha):
    degrees = [sum(row) for row in W]
    expected = o.by_pairs(N, lambda i, j: W[i, j] / (degrees[i] * degrees[j]) ** alpha if W[i, j] else 0.0)
    check_term(DensityCorrected(graph, alpha).build(X, Y)[0], expected)
    check_term(Similarity(DensityCorrected(graph, alpha)).build(X, Y)[0], (-expected, np.diag(expected.sum(axis=1))))


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (DensityCorrected(KNN(3), alpha=-1), "alpha=-1 must be a finite number, 0 or more"),
        (DensityCorrected(SameClass()), "too dense to list its edges"),
        (DensityCorrected(KNN(3) - Radius(0.3)), "repels, by the coefficient -1; subtract it"),
        (DensityCorrected(Reconstruction(3)), "too dense|no Laplacian"),
        (DensityCorrected(KNN(3, queries=9)), "has the weights of a sample"),
    ],
)
def test_what_is_said(graph, said):
    with pytest.raises(ValueError, match=said):
        graph.build(X, Y)


def unexplained(Z, functions):
    """The largest share of a known eigenfunction that the coordinates, and a constant, leave."""
    A = np.column_stack([np.ones(len(Z)), Z])
    rest = functions - A @ np.linalg.lstsq(A, functions, rcond=None)[0]
    return ((rest**2).sum(axis=0) / ((functions - functions.mean(axis=0)) ** 2).sum(axis=0)).max()


def circle(n=600):
    """Six times as dense on one side as on the other, at the quantiles."""
    grid = np.linspace(0, 2 * np.pi, 20_001)
    density = 1 + 5 / 7 * np.cos(grid)
    mass = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    angle = np.interp((np.arange(n) + 0.5) / n, mass / mass[-1], grid)
    return angle, np.column_stack([np.cos(angle), np.sin(angle)])


def test_circle():
    """The eigenfunctions of the circle are cos and sin of the arc length, whatever the density, with alpha = 1 alone."""
    angle, Z = circle()
    functions = np.column_stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)])
    left = {}
    for alpha in (0, 1):
        graph = DensityCorrected(Radius(0.45, t=0.02), alpha)
        model = LaplacianEigenmaps(4, graph=graph).fit(Z)
        left[alpha] = unexplained(model.embedding_, functions)
        if alpha:  # (k^2) t / 4 for exp(-d^2 / t)
            np.testing.assert_allclose(
                model.eigenvalues_, np.array([1, 1, 4, 4]) * 0.02 / 4, rtol=0.12
            )  # few rows on the far side, none its own neighbour
    assert left[1] < 3e-3 < 0.05 < left[0], left


def test_sphere():
    """The first eigenfunctions of the sphere are its three coordinates; half of the rows crowd at the north."""
    k = np.arange(1500) + 0.5
    z = 1 - 2 * (k / 1500) ** 1.4
    around = np.pi * (1 + 5**0.5) * k
    Z = np.column_stack([np.sqrt(1 - z**2) * np.cos(around), np.sqrt(1 - z**2) * np.sin(around), z])
    left = [
        unexplained(LaplacianEigenmaps(3, graph=DensityCorrected(Radius(0.6, t=0.06), alpha)).fit(Z).embedding_, Z)
        for alpha in (0, 1)
    ]
    assert left[1] < 0.002 < 0.02 < left[0], left


def test_new_rows_on_the_circle():
    angle, Z = circle(300)
    model = LaplacianEigenmaps(2, graph=DensityCorrected(KNN(20, t=0.02))).fit(Z)
    between = (angle[:-1] + angle[1:]) / 2
    placed = model.transform(np.column_stack([np.cos(between), np.sin(between)]))
    np.testing.assert_allclose(placed, (model.embedding_[:-1] + model.embedding_[1:]) / 2, atol=2e-3)


@pytest.mark.parametrize("graph", [DensityCorrected(KNN(4)), KNN(4, weights="self-tuning") | Chain()])
@pytest.mark.parametrize("method", [LPP, KernelLPP, LaplacianEigenmaps])
def test_saved(method, graph, tmp_path):
    model = method(2, graph=graph).fit(X)
    save(model, tmp_path / "model.lapwing")
    np.testing.assert_array_equal(load(tmp_path / "model.lapwing").transform(X + 0.01), model.transform(X + 0.01))
