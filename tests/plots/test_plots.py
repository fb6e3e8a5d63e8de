"""Pictures."""

import inspect
import pydoc
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, RobustScaler, StandardScaler

from lapwing import LPP, MMC, TangentialMaps
from lapwing.comparison import compare as compared
from lapwing.plots import compare, components, loadings, scatter, spectrum

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
    figure = components(model.fit(X, Y), image_shape=(8, 8), n_columns=3)
    np.testing.assert_array_equal(images(figure), model.components_.reshape(5, 8, 8))
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
        make_pipeline(StandardScaler(), LPP(3)),
        make_pipeline(StandardScaler(with_std=False), RobustScaler(), make_pipeline(PCA(20), MaxAbsScaler(), LPP(3))),
    ],
    ids=str,
)
def test_rows_are_what_transform_multiplies_by(model):
    rng = np.random.RandomState(0)
    model.fit(X + 0.1 * rng.standard_normal(X.shape), Y)
    rows = images(components(model, image_shape=(4, 16))).reshape(-1, 64)
    a, b = model.transform(X[:2])
    assert len(rows) == len(a)
    np.testing.assert_allclose(rows @ (X[0] - X[1]), a - b, atol=1e-9)


def test_components_in_colour():
    model = PCA(2).fit(X[:, :48])
    figure = components(model, image_shape=(4, 4, 3))
    for drawn, row in zip(images(figure), model.components_, strict=True):
        np.testing.assert_allclose(drawn, ((row - row.min()) / (row.max() - row.min())).reshape(4, 4, 3))
    figure.canvas.draw()


def test_some():
    model = LPP(6).fit(X)
    assert len(components(model, [8, 8], n_components=2).axes) == 2
    assert len(components(model, np.array([8, 8]), n_components=np.int64(1), cmap="viridis").axes) == 1


@pytest.mark.parametrize(
    ("model", "shape", "options", "match"),
    [
        (LPP(), (8, 7), {}, r"image_shape=\(8, 7\) must be two whole numbers.*product is 64"),
        (LPP(), (8,), {}, "two whole numbers"),
        (LPP(), 8, {}, "two whole numbers"),
        (LPP(), (8.0, 8), {}, "two whole numbers"),
        (LPP(), (-8, -8), {}, "two whole numbers"),
        (LPP(), (8, 8), {"n_components": 3}, "n_components=3 is more than the 2"),
        (LPP(), (8, 8), {"n_components": 0}, "n_components=0"),
        (LPP(), (8, 8), {"n_columns": 0}, "n_columns=0"),
        (TangentialMaps(), (8, 8), {}, "TangentialMaps has no matrix"),
        (LPP(), (4, 4, 4), {}, "and 3 after them in colour"),
        (LPP(), (4, 4, 2, 2), {}, "and 3 after them in colour"),
        (make_pipeline(Normalizer(), PCA(2)), (8, 8), {}, "Normalizer has no matrix"),
        (make_pipeline(StandardScaler(), MaxAbsScaler()), (8, 8), {}, "no step with directions"),
        (make_pipeline("passthrough"), (8, 8), {}, "no step with directions"),
    ],
)
def test_bad_input(model, shape, options, match):
    with pytest.raises(ValueError, match=match):
        components(model.fit(X), image_shape=shape, **options)


def test_unfitted():
    with pytest.raises(NotFittedError):
        components(LPP(), image_shape=(8, 8))


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'lapwing\[plots\]'"):
        components(LPP().fit(X), image_shape=(8, 8))


# Embeddings


def test_an_embedding_is_drawn_class_by_class():
    model = LPP(5).fit(X)
    ax = scatter(model, X, Y, dimensions=(0, 2))
    Z = model.transform(X)[:, [0, 2]]
    assert len(ax.collections) == 10
    for c, artist in enumerate(ax.collections):
        np.testing.assert_array_equal(artist.get_offsets(), Z[c == Y])
    looks = {(tuple(a.get_facecolor()[0]), a.get_paths()[0].vertices.tobytes()) for a in ax.collections}
    assert len(looks) == 10
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [str(c) for c in range(10)]
    assert ax.get_ylabel() == "LPP 3"
    ax.figure.canvas.draw()


def test_an_embedding_is_drawn_as_it_is():
    Z = LPP(4).fit(X).transform(X)
    for ax in (scatter(Z[:, :2], Y), scatter(Z, y=Y, dimensions=(0, 1)), scatter(Z[:, :2].tolist(), Y)):
        assert len(ax.collections) == 10
        drawn = np.concatenate([artist.get_offsets() for artist in ax.collections])
        np.testing.assert_allclose(drawn, Z[np.argsort(Y, kind="stable"), :2])
        assert ax.get_xlabel() == ""
    assert scatter(Z[:, 1:]).name == "3d"
    with pytest.raises(ValueError, match="one, two or three whole numbers from 0 to 3"):
        scatter(Z, Y)
    with pytest.raises(TypeError, match="coordinates and labels"):
        scatter(Z, X, Y)
    with pytest.raises(ValueError, match="inconsistent"):
        scatter(Z[:, :2], Y[1:])


def test_a_data_frame_of_coordinates_is_no_estimator():
    frame = LPP(2).set_output(transform="pandas").fit(X).transform(X)
    for labels in (None, Y):
        drawn = np.concatenate([artist.get_offsets() for artist in scatter(frame, labels).collections])
        assert drawn.shape == frame.shape


def test_one_dimension_is_drawn_over_the_numbers_of_the_samples():
    z, labels = np.arange(12.0)[:, None] / 2, np.array(["a", "b"] * 6)
    ax = scatter(z, labels)
    assert ax.get_ylabel() == "sample"
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), np.c_[z, np.arange(12)][1::2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    ax = scatter(LPP(1).fit(X), X, Y)
    assert (len(ax.collections), ax.get_xlabel(), ax.get_ylabel()) == (10, "LPP 1", "sample")


def test_three_dimensions(plt):
    model, deep = LPP(3).fit(X), plt.figure().add_subplot(projection="3d")
    assert scatter(model, X, dimensions=(0, 1, 2), ax=deep) is deep
    assert len(deep.collections) == 1
    deep.figure.canvas.draw()
    with pytest.raises(ValueError, match="ax is flat, and there are three dimensions"):
        scatter(model, X, dimensions=(0, 1, 2), ax=plt.figure().add_subplot())


@pytest.mark.parametrize(
    "y", [np.linspace(0, 1, 300), np.arange(300), np.arange(300).astype(str)], ids=["real", "whole", "names"]
)
def test_numbers_and_very_many_classes_are_a_scale_of_colours(y):
    [artist] = scatter(X[:, 10:12], y).collections
    assert len(np.unique(artist.get_array())) == 300


def test_where_and_how_it_is_drawn(plt):
    ax = plt.figure().add_subplot()
    assert scatter(LPP().fit(X), X, Y, ax=ax, s=3) is ax
    assert ax.collections[0].get_sizes() == [3]


@pytest.mark.parametrize("labels", [["a", None, "b", "a"], [0, None, 1, 0], [0.0, np.nan, 1.0, 0.0]], ids=str)
def test_samples_without_a_label_are_unknown(labels):
    Z = np.arange(8.0).reshape(4, 2)
    unknown, first, second = scatter(Z, labels).collections
    for artist, rows in ((unknown, [1]), (first, [0, 3]), (second, [2])):
        np.testing.assert_array_equal(artist.get_offsets(), Z[rows])
    assert unknown.get_label() == "unknown"
    unknown, scale = scatter(Z, [0.5, None, 2, 3]).collections
    np.testing.assert_array_equal(scale.get_array(), [0.5, 2, 3])


def test_dates_are_classes():
    days = np.array(["2024-01-01", "2024-01-02", "NaT"], dtype="datetime64[ns]")
    found = scatter(np.eye(3)[:, :2], days).collections
    assert [artist.get_label()[:10] for artist in found] == ["unknown", "2024-01-01", "2024-01-02"]


@pytest.mark.parametrize("y", [None, Y, np.linspace(0, 1, 300)], ids=["none", "classes", "scale"])
@pytest.mark.parametrize("given", [{"color": "red"}, {"c": "red"}, {"c": np.arange(300)}], ids=["color", "c", "values"])
def test_colours_of_the_caller_come_first(y, given):
    ax = scatter(X[:, 10:12], y, **given)
    [artist] = ax.collections
    ax.figure.canvas.draw()
    if "c" in given and not isinstance(given["c"], str):
        np.testing.assert_array_equal(artist.get_array(), np.arange(300))
    else:
        np.testing.assert_array_equal(artist.get_facecolor()[0], [1, 0, 0, 0.8])


def test_a_pipeline_is_named_after_its_last_step():
    model = make_pipeline(StandardScaler(), LPP(2), "passthrough").fit(X)
    assert scatter(model, X).get_xlabel() == "LPP 1"
    np.testing.assert_array_equal(spectrum(model).lines[0].get_ydata(), model[1].eigenvalues_)


@pytest.mark.parametrize("dimensions", [(), (0, 2), (-1, 0), "xy", (0, 1.0), 2])
def test_dimensions_that_are_not_there(dimensions):
    with pytest.raises(ValueError, match=r"dimensions=.*must be"):
        scatter(LPP(2).fit(X), X, dimensions=dimensions)


# Spectra, comparisons


@pytest.mark.parametrize(("model", "name"), [(LPP(4), "eigenvalue"), (PCA(4), "share of the variance")], ids=str)
def test_spectrum(model, name):
    ax = spectrum(model.fit(X))
    expected = model.eigenvalues_ if name == "eigenvalue" else model.explained_variance_ratio_
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), expected)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 3, 4])
    assert ax.get_ylabel() == name


def test_no_spectrum():
    with pytest.raises(ValueError, match="StandardScaler has no eigenvalues"):
        spectrum(StandardScaler().fit(X))


def test_comparison():
    found = compared(X, Y, methods=["PCA", "LPP"], dimensions=[2, 5], cv=3, n_jobs=1)
    ax = compare(found)
    assert [line.get_label() for line in ax.containers] == ["PCA", "LPP"]
    np.testing.assert_allclose(ax.containers[1][0].get_ydata(), found.scores("LPP").mean(axis=0))
    assert ax.get_ylabel() == "accuracy"
    assert compare(found, measure="recall").get_ylabel() == "recall"
    with pytest.raises(ValueError, match="measure='speed'"):
        compare(found, measure="speed")
    ax.figure.canvas.draw()


def test_help_names_each_function_and_its_parameters():
    for function in (scatter, components, loadings, spectrum, compare):
        assert f"\n{function.__name__}(" in pydoc.plain(pydoc.render_doc(function))
        for name in inspect.signature(function).parameters:
            assert f"\n{name} : " in inspect.getdoc(function) or name == "options"


def test_minus_one_beside_other_classes_is_unknown():
    Z = np.random.RandomState(0).rand(6, 2)
    ax = scatter(Z, np.array([-1, 0, 1, -1, 0, 1]))
    assert [artist.get_label() for artist in ax.collections] == ["unknown", "0", "1"]
    ax = scatter(Z, np.array([-1, 1, 1, -1, 1, 1]))
    assert [artist.get_label() for artist in ax.collections] == ["-1", "1"]
