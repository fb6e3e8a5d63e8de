"""Diffusion maps: the random walk by its definition, and manifolds whose eigenfunctions are known."""

import numpy as np
import oracles as o
import pytest
from helpers import literal
from numpy.testing import assert_allclose

from lapwing import DiffusionMaps, LaplacianEigenmaps
from lapwing.graphs import KNN, Radius, Repulsion, Similarity

X, Y = o.blobs(40, 5)


def walk(W, alpha):
    """P of Coifman and Lafon (2006), section 2: and its stationary distribution."""
    W = W + np.eye(len(W))
    q = W.sum(axis=1)
    K = W / np.outer(q, q) ** alpha
    d = K.sum(axis=1)
    return K / d[:, None], d / d.sum()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("steps", [1, 4])
def test_distances_are_those_of_the_walk(alpha, steps):
    """Their definition: D_t(x, y)² = sum over z of (p_t(x, z) - p_t(y, z))² / pi(z)."""
    P, pi = walk(o.knn_weights(X, Y, 6), alpha)
    ends = np.linalg.matrix_power(P, steps)
    expected = [[np.sqrt(np.sum((a - b) ** 2 / pi)) for b in ends] for a in ends]
    Z = literal(DiffusionMaps, 39, graph=6, alpha=alpha, n_steps=steps).fit_transform(X)
    found = np.linalg.norm(Z[:, None] - Z, axis=2)
    assert_allclose(found, expected, atol=1e-8)


def test_coordinates_are_eigenvectors_of_the_walk():
    P, pi = walk(o.knn_weights(X, Y, 6), 1.0)
    model = literal(DiffusionMaps, 5, graph=6, n_steps=0).fit(X)
    psi = model.embedding_
    assert_allclose(P @ psi, psi * (1 - model.eigenvalues_), atol=1e-9)
    assert_allclose(psi.T @ (pi[:, None] * psi), np.eye(5), atol=1e-9)
    assert_allclose(pi @ psi, 0, atol=1e-10)
    expected = np.sort(np.linalg.eigvals(P).real)[::-1][1:6]
    assert_allclose(1 - model.eigenvalues_, expected, atol=1e-9)
    moved = literal(DiffusionMaps, 5, graph=6, n_steps=3).fit(X).embedding_
    assert_allclose(moved, psi * (1 - model.eigenvalues_) ** 3, atol=1e-9)


def circle(n=1500):
    """Five times as many samples on one side as on the other."""
    rng = np.random.RandomState(0)
    angles = rng.uniform(0, 2 * np.pi, 6 * n)
    angles = angles[rng.rand(6 * n) < (1.5 + np.cos(angles)) / 2.5][:n]
    return np.c_[np.cos(angles), np.sin(angles)]


def left_unexplained(Z, functions):
    """The largest share of the variance of a column of Z that these functions do not explain."""
    functions, Z = (A - A.mean(axis=0) for A in (functions, Z))
    residual = Z - functions @ np.linalg.lstsq(functions, Z, rcond=None)[0]
    return (residual.var(axis=0) / Z.var(axis=0)).max()


def test_density_is_divided_out_on_a_circle():
    """The eigenfunctions of the circle are cosine and sine, whatever the density; those of the graph itself are not."""
    points = circle()
    graph = Radius(0.3, t=0.02)
    found = {
        alpha: left_unexplained(DiffusionMaps(2, graph=graph, alpha=alpha).fit_transform(points), points)
        for alpha in (0.0, 1.0)
    }
    assert found[1.0] < 0.005
    assert found[0.0] > 0.02


def test_the_first_eigenfunctions_of_a_sphere():
    """Three coordinates with eigenvalue 2, then five of degree two with eigenvalue 6."""
    rng = np.random.RandomState(0)
    points = rng.standard_normal((2000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    points = points[rng.rand(2000) < (1.3 + points[:, 2]) / 2.3]  # more in the north
    model = DiffusionMaps(8, graph=Radius(0.6, t=0.08)).fit(points)
    assert left_unexplained(model.embedding_[:, :3], points) < 0.03
    rates = -np.log(1 - model.eigenvalues_)
    assert_allclose(rates[3:].mean() / rates[:3].mean(), 3, rtol=0.1)


def test_without_correction_and_steps_it_is_laplacian_eigenmaps_of_a_lazy_walk():
    """L is the same, D has 1 more."""
    ring = 9 * np.ones((40, 40)) - 9 * np.eye(40) + o.knn_weights(X, Y, 6)  # so that 1 is little
    ours = DiffusionMaps(2, graph=ring, alpha=0.0, n_steps=0).fit(X).embedding_
    theirs = LaplacianEigenmaps(2, graph=ring).fit(X).embedding_
    assert o.angle(ours.T, theirs.T) < 0.01


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": -1},
        {"alpha": np.nan},
        {"n_steps": -1},
        {"n_steps": 0.5},
        {"graph": KNN(5) - Repulsion(5)},
        {"graph": Similarity(KNN(5))},
    ],
    ids=str,
)
def test_what_is_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
        DiffusionMaps(2, **wrong).fit(X, Y)
