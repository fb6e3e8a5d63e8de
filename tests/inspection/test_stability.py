"""Stability: angles of directions that are known to be certain or not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA

import lapwing
from lapwing import TSA, KernelLDA
from lapwing.graphs import KNN

RNG = np.random.RandomState(0)
ROWS = RNG.standard_normal((200, 5)) * [20.0, 5.0, 1.0, 1.0, 1.0]  # two directions that stand out, three that do not


def test_directions_that_stand_out_are_certain():
    found = lapwing.stability(PCA(4), ROWS, n_draws=30)
    medians = [row["angle"] for row in found.rows()]
    assert max(medians[:2]) < 5
    assert min(medians[2:]) > 10
    assert found.angles.shape == (30, 4)
    assert found.components == ["pca0", "pca1", "pca2", "pca3"]
    assert (found.angles[:, 2:].max(axis=1) <= 90).all()


def test_components_that_turn_among_themselves():
    """Two of equal variance: each is uncertain, both together are not."""
    rows = RNG.standard_normal((300, 4)) * [5.0, 5.0, 0.2, 0.2]
    found = lapwing.stability(PCA(2), rows, n_draws=30)
    assert np.quantile(found.subspace, 0.9) < 2
    assert np.median(found.angles) > 4


def test_an_angle_is_that_of_the_coordinates():
    """Recomputed from the fits themselves."""
    found = lapwing.stability(PCA(2), ROWS, n_draws=3)
    random = np.random.RandomState(0)
    whole = PCA(2).fit_transform(ROWS)
    for angles in found.angles:
        half = np.sort(random.permutation(200)[:100])
        Z = PCA(2).fit(ROWS[half]).transform(ROWS)
        expected = [np.degrees(np.arccos(abs(np.corrcoef(a, b)[0, 1]))) for a, b in zip(whole.T, Z.T, strict=True)]
        assert_allclose(angles, expected, atol=1e-5)


def test_kernels_and_unknown_labels():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) % 3 == 0, -1, y)
    found = lapwing.stability(KernelLDA(2), X, y, n_draws=3)
    assert found.components == ["kernellda0", "kernellda1"]


@pytest.mark.parametrize("labels", [np.arange(60) % 3, None], ids=["classes", "none"])
def test_images(labels):
    """Each coordinate of a matrix is a component, as where images are passed as rows."""
    images = np.random.RandomState(0).rand(60, 4, 5) + (np.arange(60) % 3)[:, None, None] * np.eye(4, 5)
    found = lapwing.stability(TSA((2, 1), graph=KNN(5)), images, labels, n_draws=3)
    rows = lapwing.stability(TSA((2, 1), graph=KNN(5), image_shape=(4, 5)), images.reshape(60, -1), labels, n_draws=3)
    assert_allclose(found.angles, rows.angles)
    assert len(found.components) == found.angles.shape[1] == 2


def test_printed():
    found = lapwing.stability(PCA(2), ROWS, n_draws=4)
    lines = str(found).split("\n")
    assert [line.split()[0] for line in lines] == ["pca0", "pca1", "all"]
    row = found.rows()[1]
    assert f"{row['angle']:.1f}°  ({row['low']:.1f} to {row['high']:.1f})" in lines[1]


def test_what_is_refused():
    for wrong in ({"n_draws": 0}, {"level": 1.0}, {"level": "high"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            lapwing.stability(PCA(2), ROWS, **wrong)
    with pytest.raises(ValueError, match="give n_components as a number"):
        lapwing.stability(PCA(0.999), ROWS[:30] * [1, 1, 1, 1, 0.01], n_draws=200)
