"""Diffusion maps: the random walk by its definition, and manifolds whose eigenfunctions are known."""

import numpy as np
from numpy.testing import assert_allclose

from lapwing import DiffusionMaps
from lapwing.graphs import Radius


def circle(n=1500):
    """Five times as many samples on one side as on the other."""
    rng = np.random.RandomState(0)
    angles = rng.uniform(0, 2 * np.pi, 6 * n)
    angles = angles[rng.rand(6 * n) < (1.5 + np.cos(angles)) / 2.5][:n]
    return np.c_[np.cos(angles), np.sin(angles)]


def test_new_rows_lie_where_the_walk_puts_them():
    points = circle(800)
    model = DiffusionMaps(2, graph=Radius(0.3, t=0.02)).fit(points[:700])
    Z = model.transform(points[700:])
    A = np.linalg.lstsq(np.c_[np.ones(700), points[:700]], model.embedding_, rcond=None)[0]
    expected = np.c_[np.ones(100), points[700:]] @ A
    assert np.abs(Z - expected).max() < 0.1 * np.abs(expected).max()
    links = model._links(points[700:])
    assert_allclose(model.transform(points[700:], links=links), Z, atol=1e-10)
