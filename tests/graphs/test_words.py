"""The words of the algebra that join, turn or order: against their definitions, by double loops."""

import numpy as np
import oracles as o
import pandas as pd
import pytest
from helpers import check_term, close, literal
from oracles import toy
from scipy import sparse

from lapwing import LPP, OLPP, LaplacianEigenmaps, LaplacianScore
from lapwing.graphs import (
    KNN,
    Chain,
    Complete,
    Pairs,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
    Similarity,
)
from lapwing.problem import laplacian_sum

X, Y = toy(4)
N = len(X)
W_KNN, W_RADIUS, W_SAME = o.knn_weights(X, Y, 4), o.radius_weights(X, Y, 0.5), o.same_class_weights(Y)

# Similarity


@pytest.mark.parametrize(
    ("graph", "W"),
    [
        (KNN(4), W_KNN),
        (SameClass(), W_SAME),  # kept as factors
        (Complete(), o.complete_weights(X, Y)),
        (Precomputed(W_KNN + np.eye(N)), W_KNN + np.eye(N)),
        (Precomputed(sparse.csr_array(W_KNN)), W_KNN),
        (KNN(4) & SameClass(), o.by_pairs(N, lambda i, j: W_KNN[i, j] * (W_SAME[i, j] > 0))),
    ],
)
def test_similarity_is_minus_the_weights(graph, W):
    (term,) = Similarity(graph).build(X, Y)
    check_term(term, (-W, np.diag(W.sum(axis=1))))


def test_similarity_of_other_matrices():
    """Normalised repulsion and reconstruction: what is subtracted from their degrees."""
    for graph in (Repulsion(7, normalized=True), Reconstruction(5)):
        (term,), (own,) = Similarity(graph).build(X, Y), graph.build(X, Y)
        close(term.laplacian, own.laplacian.toarray() - own.degrees.toarray())


def test_similarity_of_sums():
    graph = Similarity(KNN(4) - 0.5 * SameClass()) + 2 * Similarity(Pairs([[0, 1]], [[2, 3]]))
    pairs = o.pairs_weights(N, [[0, 1]]) - o.pairs_weights(N, [[2, 3]])
    close(laplacian_sum(graph.build(X, Y)), -(W_KNN - 0.5 * W_SAME) - 2 * pairs)
    assert not graph.is_laplacian
    assert not graph.is_semidefinite
    kept = (Similarity(KNN(4) - 0.5 * SameClass()) & Radius(0.5)).build(X, Y)
    close(laplacian_sum(kept), -np.where(W_RADIUS > 0, W_KNN - 0.5 * W_SAME, 0))
    only = (Radius(0.5) & Similarity(KNN(4))).build(X, Y)
    close(laplacian_sum(only), o.laplacian(np.where(W_KNN > 0, W_RADIUS, 0))[0])


def test_similarity_over_degrees_is_the_laplacian_less_one():
    """-W v = (l - 1) D v where (D - W) v = l D v: one method, eigenvalues apart by 1."""
    for method in (LPP, LaplacianEigenmaps):
        own, other = literal(method, graph=KNN(4)).fit(X), literal(method, graph=Similarity(KNN(4))).fit(X)
        np.testing.assert_allclose(other.eigenvalues_ + 1, own.eigenvalues_, atol=1e-10)
        np.testing.assert_allclose(other.transform(X[:9]), own.transform(X[:9]), atol=1e-8)
        np.testing.assert_allclose(other.transform(X[:9] + 0.01), own.transform(X[:9] + 0.01), atol=1e-8)
    half = LaplacianEigenmaps(graph=KNN(4) + Similarity(KNN(4)), normalize=None).fit(
        X
    )  # twice the degrees, one Laplacian
    own = LaplacianEigenmaps(graph=KNN(4)).fit(X)
    np.testing.assert_allclose(half.transform(X[:9] + 0.01) * np.sqrt(2), own.transform(X[:9] + 0.01), atol=1e-8)
    scores = [LaplacianScore(2, graph=graph).fit(X).scores_ for graph in (KNN(4), Similarity(KNN(4)))]
    np.testing.assert_allclose(scores[1] + 1, scores[0], atol=1e-10)


def test_autocovariance():
    """Orthogonal directions of the largest covariance with the next row in time."""
    model = literal(OLPP, 2, graph=Similarity(Chain())).fit(X)
    C = X - X.mean(axis=0)
    covariance = sum(np.outer(C[i], C[i + 1]) + np.outer(C[i + 1], C[i]) for i in range(N - 1))
    values, vectors = np.linalg.eigh(-covariance)
    assert o.angle(model.components_, vectors[:, :2].T) < 1e-7
    np.testing.assert_allclose(model.eigenvalues_, values[:2])


# Chain


@pytest.mark.parametrize("n_steps", [1, 3, N + 5])
def test_chain(n_steps):
    check_term(Chain(n_steps).build(X)[0], o.by_pairs(N, lambda i, j: 0 < abs(i - j) <= n_steps))


@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, lambda Z: pd.DataFrame(Z, columns=["a", "t", "s", "b"])]
)
@pytest.mark.parametrize("n_steps", [1, 2])
def test_chain_of_series(make, n_steps):
    rng = np.random.RandomState(0)
    time, series = rng.permutation(N) % 19, rng.randint(3, size=N)  # with ties, which the order of rows decides
    Z = make(np.column_stack([rng.rand(N), time, series, rng.rand(N)]))
    places = [[(time[j], j) < (time[i], i) and series[j] == series[i] for j in range(N)] for i in range(N)]
    place = np.sum(places, axis=1)
    W = o.by_pairs(N, lambda i, j: series[i] == series[j] and 0 < abs(place[i] - place[j]) <= n_steps)
    columns = {"time": "t", "series": "s"} if hasattr(Z, "iloc") else {"time": 1, "series": -2}
    check_term(Chain(n_steps, **columns).build(Z)[0], W)
    model = literal(LPP, graph=Chain(n_steps, **columns), standardize=True).fit(Z)  # which changes no time
    close(laplacian_sum(model.problem(Z).minimise), o.laplacian(W)[0])


@pytest.mark.parametrize(
    ("graph", "X", "said"),
    [
        (Chain(0), X, "n_steps=0 must be a whole number, 1 or more"),
        (
            Chain(time="t"),
            X,
            r"time='t' does not choose columns of X.* no names; .* set_output\(transform=\"pandas\"\)",
        ),
        (
            Chain(time="t"),
            pd.DataFrame(X, columns=list("abcd")),
            "time='t' does not choose columns of X.* the names a, b, c, d; ",
        ),
        (Chain(series=4), X, "series=4 does not choose columns of X, which has the places 0 to 3"),
        (Chain(series=1.5), X, "series=1.5 does not choose columns of X"),
        (Chain(series=[0, 1]), X, "must be one column of X, and is 2"),
    ],
)
def test_what_is_said_of_chains(graph, X, said):
    with pytest.raises(ValueError, match=said):
        graph.build(X)


# Union


@pytest.mark.parametrize(
    ("graph", "W"),
    [
        (KNN(4) | Radius(0.5), np.maximum(W_KNN, W_RADIUS)),
        (Radius(0.5) | KNN(4), np.maximum(W_KNN, W_RADIUS)),
        (KNN(4) | KNN(4), W_KNN),
        (KNN(4) | Chain(), np.maximum(W_KNN, o.by_pairs(N, lambda i, j: abs(i - j) == 1))),
        (
            (0.1 * KNN(4) + Radius(0.5)) | (KNN(4) & SameClass()),
            np.maximum(0.1 * W_KNN + W_RADIUS, W_KNN * (W_SAME > 0)),
        ),
        (SameClass() & (KNN(4) | Chain()), W_SAME * ((W_KNN > 0) | (abs(np.subtract.outer(range(N), range(N))) == 1))),
        (KNN(4) | Radius(0.5) | Pairs([[0, 9]]), np.maximum(np.maximum(W_KNN, W_RADIUS), o.pairs_weights(N, [[0, 9]]))),
    ],
)
def test_union(graph, W):
    (term,) = graph.build(X, Y)
    check_term(term, W)
    assert graph.is_laplacian
    assert graph.is_semidefinite


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (KNN(4) | -Radius(0.5), r"Radius\(0.5\) repels, by the coefficient -1; subtract it"),
        (KNN(4) | Pairs(cannot_link=[[0, 1]]), "repels, by the coefficient -1; subtract it"),
        (KNN(4) | SameClass(), r"SameClass\(\) is too dense to list its edges; use \+"),
        (KNN(4) | Similarity(KNN(3)), r"is no Laplacian of weights; write Similarity\(A \| B\)"),
        (KNN(4) | KNN(3, queries=9), "has the weights of a sample; use"),
        (KNN(4) | Reconstruction(3), "too dense to list its edges|no Laplacian"),
    ],
)
def test_what_is_said_of_unions(graph, said):
    with pytest.raises(ValueError, match=said):
        graph.build(X, Y)


def test_new_rows_have_the_larger_links():
    new = X[:6] + 0.01
    model = LaplacianEigenmaps(2, graph=KNN(4, t=1.0) | Radius(0.5, t=0.3)).fit(X)
    d = np.sqrt(((new[:, None] - X) ** 2).sum(axis=2))
    near = np.argsort(np.argsort(d, axis=1), axis=1) < 4
    W = np.maximum(np.where(near, np.exp(-(d**2)), 0), np.where(d <= 0.5, np.exp(-(d**2) / 0.3), 0))
    np.testing.assert_allclose(model.transform(new), model.transform(new, links=W), atol=1e-10)
    with_chain = LaplacianEigenmaps(2, graph=KNN(4, t=1.0) | Chain()).fit(X)
    W = np.where(near, np.exp(-(d**2)), 0)
    np.testing.assert_allclose(with_chain.transform(new), with_chain.transform(new, links=W), atol=1e-10)
    with pytest.raises(ValueError, match="has no links for new rows"):
        LaplacianEigenmaps(2, graph=Chain() | Chain(2)).fit(X).transform(new)
