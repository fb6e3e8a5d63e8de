"""The toy data of the papers."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from lapwing.datasets import make_patch, make_perturbed_line, make_scherk

HEIGHT = -np.log(np.cos(0.95 * np.pi / 2))


def height(x, y, b):
    return (np.log(np.cos(b * x)) - np.log(np.cos(b * y))) / b


@pytest.mark.parametrize("b", [1.0, 0.3, 4])
@pytest.mark.parametrize("margin", [0.05, 0.3])
def test_scherk_equation(b, margin):
    X, params = make_scherk(2000, b=b, margin=margin, random_state=0)
    np.testing.assert_array_equal(X[:, :2], params)
    np.testing.assert_allclose(X[:, 2], height(*params.T, b), atol=1e-12 / b)
    edge = (1 - margin) * np.pi / 2 / b
    assert np.abs(params).max() < edge
    assert np.abs(params).max() > 0.99 * edge
    np.testing.assert_allclose(params.mean(axis=0), 0, atol=0.05 * edge)
    np.testing.assert_allclose(params.std(axis=0), edge / np.sqrt(3), rtol=0.05)


def test_scherk_default_is_the_paper():
    X, params = make_scherk(random_state=0)
    assert X.shape == (1200, 3)
    assert params.shape == (1200, 2)
    assert 2 < np.abs(X[:, 2]).max() < HEIGHT < 2.55


def test_scherk_noise():
    X, params = make_scherk(3000, noise=0.1, random_state=3)
    clean, same = make_scherk(3000, random_state=3)
    np.testing.assert_array_equal(params, same)
    np.testing.assert_allclose((X - clean).std(axis=0), 0.1, rtol=0.05)
    spoilt, _ = make_scherk(3000, noise=0.1, n_outliers=5, random_state=3)
    np.testing.assert_array_equal(spoilt[:-5], X[:-5])


@pytest.mark.parametrize("b", [1.0, 2.5])
def test_scherk_outliers_are_off_the_surface_and_last(b):
    X, params = make_scherk(300, b=b, n_outliers=40, random_state=1)
    clean, _ = make_scherk(300, b=b, random_state=1)
    np.testing.assert_array_equal(X[:-40], clean[:-40])
    np.testing.assert_array_equal(X[:, :2], params)
    off = X[-40:, 2] - height(*params[-40:].T, b)
    np.testing.assert_allclose(np.abs(off), 0.5 / b)
    assert {-1.0, 1.0} == set(np.sign(off))
    assert np.abs(X[-40:, 2]).max() < HEIGHT / b
    side = np.linspace(-1.49, 1.49, 300) / b
    x, y = (values.ravel() for values in np.meshgrid(side, side))
    surface = np.column_stack([x, y, height(x, y, b)])
    nearest = [np.sqrt(((surface - point) ** 2).sum(axis=1).min()) for point in X[-40:]]
    assert min(nearest) > 0.3 / b


def test_scherk_displacement():
    X, params = make_scherk(20, n_outliers=20, displacement=1.5, random_state=0)
    np.testing.assert_allclose(np.abs(X[:, 2] - height(*params.T, 1)), 1.5)


@pytest.mark.parametrize("make", [make_scherk, make_perturbed_line])
def test_the_seed_decides(make):
    for seed in (4, np.random.RandomState(4)):
        np.testing.assert_array_equal(make(random_state=4)[0], make(random_state=seed)[0])
    assert (make(random_state=4)[0] != make(random_state=5)[0]).all()
    assert make(1, random_state=0)[0].shape[0] == 1


@pytest.mark.parametrize("n", [20, 21])
def test_perturbed_line(n):
    X, direction = make_perturbed_line(n, random_state=0)
    normal = np.array([-direction[1], direction[0]])
    np.testing.assert_allclose(np.linalg.norm(direction), 1)
    along = X @ direction
    assert np.abs(along).max() < 10
    assert along[0] == along.max()
    assert along[1] == along.min()
    assert (np.diff(np.abs(along[::2] - along[-1])) < 0).all()  # inwards
    assert np.abs(X @ normal).max() < 1.5
    for n_perturbed in (1, 2, 3):
        moved, same = make_perturbed_line(n, n_perturbed=n_perturbed, random_state=0)
        np.testing.assert_array_equal(same, direction)
        np.testing.assert_array_equal(moved[n_perturbed:], X[n_perturbed:])
        shift = (moved - X)[:n_perturbed]
        np.testing.assert_allclose(shift @ direction, 0, atol=1e-12)
        np.testing.assert_allclose(shift @ normal, [10, -10, 10][:n_perturbed])


@pytest.mark.parametrize("seed", range(5))
def test_perturbed_points_turn_pca(seed):
    cosines = []
    for n_perturbed in (0, 1, 2):
        X, direction = make_perturbed_line(n_perturbed=n_perturbed, random_state=seed)
        cosines.append(abs(PCA(1).fit(X).components_[0] @ direction))
    assert cosines[0] > 0.998 > cosines[1] > cosines[2]


def test_patch():
    X, perturbed = make_patch()
    assert X.shape == (6, 2)
    assert X[:, 1].argmin() == perturbed
    five = np.delete(X, perturbed, axis=0)
    np.testing.assert_allclose(np.abs(PCA(1).fit(five).components_[0]), [1, 0], atol=1e-12)
    assert abs(PCA(1).fit(X).components_[0, 0]) < np.cos(np.radians(5))  # the sixth turns it
    X[:] = 0
    assert make_patch()[0].any()


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        *(
            (make, "n_samples", value)
            for make in (make_scherk, make_perturbed_line)
            for value in (0, -3, 2.5, "10", True)
        ),
        *((make_scherk, "b", value) for value in (0, -1, np.inf, np.nan, "1", None)),
        *((make_scherk, "margin", value) for value in (0, 1, -0.1, np.nan, "0", None)),
        *((make_scherk, "noise", value) for value in (-0.1, np.inf, np.nan, None)),
        *((make_scherk, "n_outliers", value) for value in (-1, 1.5, 1201, None)),
        *((make_scherk, "displacement", value) for value in (0, -1, np.nan)),
        *((make_perturbed_line, "n_perturbed", value) for value in (-1, 0.5, 21)),
        *((make_perturbed_line, "length", value) for value in (0, -1, np.inf)),
        *((make_perturbed_line, "width", value) for value in (-1, np.nan)),
        *((make_perturbed_line, "distance", value) for value in (0, "far")),
    ],
)
def test_bad_parameters(make, name, value):
    with pytest.raises(ValueError, match=rf"{name}={value!r} "):
        make(**{name: value})
