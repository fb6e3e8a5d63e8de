"""Components as images."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import LPP, MMC, TangentialMaps
from lapwing.plots import show_components

X, Y = (part[:300] for part in load_digits(return_X_y=True))
FISHERFACES = make_pipeline(PCA(30, whiten=True), LinearDiscriminantAnalysis(n_components=4))


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def images(figure):
    return np.array([np.asarray(axis.images[0].get_array()) for axis in figure.axes])


@pytest.mark.parametrize("model", [LPP(5, pca=0.98), PCA(5), MMC(5)], ids=str)
def test_components(model):
    figure = show_components(model.fit(X, Y), (8, 8), n_columns=3, title="faces")
    np.testing.assert_array_equal(images(figure), model.components_.reshape(5, 8, 8))
    assert figure.get_suptitle() == "faces"
    assert [axis.get_subplotspec().colspan.start for axis in figure.axes] == [0, 1, 2, 0, 1]
    figure.canvas.draw()


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(n_components=4),
        LinearDiscriminantAnalysis("eigen", shrinkage=0.1),
        FISHERFACES,
        make_pipeline("passthrough", PCA(20), LPP(3, pca=None)),
    ],
    ids=str,
)
def test_rows_are_what_transform_multiplies_by(model):
    rng = np.random.RandomState(0)
    model.fit(X + 0.1 * rng.standard_normal(X.shape), Y)
    rows = images(show_components(model, (4, 16))).reshape(-1, 64)
    a, b = model.transform(X[:2])
    assert len(rows) == len(a)
    np.testing.assert_allclose(rows @ (X[0] - X[1]), a - b, atol=1e-9)


def test_some_and_where(plt):
    figure = plt.figure()
    left, right = figure.subfigures(1, 2)
    model = LPP(6).fit(X)
    assert show_components(model, [8, 8], n_components=2, figure=left) is left
    assert show_components(model, np.array([8, 8]), n_components=np.int64(1), figure=right, cmap="viridis") is right
    assert (len(left.axes), len(right.axes)) == (2, 1)


@pytest.mark.parametrize(
    ("model", "shape", "options", "match"),
    [
        (LPP(), (8, 7), {}, r"56 pixels, but the components have 64"),
        (LPP(), (8,), {}, "two whole numbers"),
        (LPP(), 8, {}, "two whole numbers"),
        (LPP(), (8.0, 8), {}, "two whole numbers"),
        (LPP(), (-8, -8), {}, "two whole numbers"),
        (LPP(), (8, 8), {"n_components": 3}, "n_components=3 is more than the 2"),
        (LPP(), (8, 8), {"n_components": 0}, "n_components=0"),
        (LPP(), (8, 8), {"n_columns": 0}, "n_columns=0"),
        (TangentialMaps(), (8, 8), {}, "TangentialMaps has no matrix"),
        (make_pipeline(StandardScaler(), PCA(2)), (8, 8), {}, "StandardScaler has no matrix"),
    ],
)
def test_bad_input(model, shape, options, match):
    with pytest.raises(ValueError, match=match):
        show_components(model.fit(X), shape, **options)


def test_unfitted():
    with pytest.raises(NotFittedError):
        show_components(LPP(), (8, 8))


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'lapwing\[plots\]'"):
        show_components(LPP().fit(X), (8, 8))
