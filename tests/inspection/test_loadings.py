"""Loadings: what they are, whose they are, and how certain."""

import numpy as np
import oracles as o
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import lapwing
from lapwing import LPP, MMC, KernelLPP, inspection
from lapwing.graphs import Precomputed
from lapwing.selection import SemiSupervised

X, Y = load_wine(return_X_y=True)


@pytest.mark.parametrize(
    "model",
    [MMC(2, standardize=True), PCA(3), LinearDiscriminantAnalysis(), make_pipeline(StandardScaler(), PCA(5), LPP(2))],
    ids=str,
)
def test_a_loading_is_a_weight_in_units_of_the_deviation(model):
    """So a change of the feature by one deviation moves the sample by it, up to a factor per component."""
    found = lapwing.loadings(model.fit(X, Y), X, n_draws=0)
    moves = [model.transform(X[:1] + np.eye(13)[j] * X[:, j].std()) - model.transform(X[:1]) for j in range(13)]
    moves = np.concatenate(moves).T
    assert_allclose(found.values, moves / np.linalg.norm(moves, axis=1)[:, None], atol=1e-8)
    assert found.low is found.high is found.level is None


@pytest.mark.parametrize("model", [LPP(2, standardize=True), make_pipeline(StandardScaler(), LPP(2))], ids=str)
def test_a_model_knows_the_deviations_that_it_divided_by(model):
    model.fit(X)
    assert_allclose(lapwing.loadings(model).values, lapwing.loadings(model, X, n_draws=0).values, atol=1e-12)
    plain = LPP(2, standardize=False).fit(X)
    expected = plain.components_ / np.linalg.norm(plain.components_, axis=1)[:, None]
    assert_allclose(lapwing.loadings(plain).values, expected)


def test_units_do_not_matter():
    scale = 10.0 ** np.arange(-6, 7)
    ours, theirs = (LPP(2, standardize=True).fit(data) for data in (X, X * scale))
    assert_allclose(
        lapwing.loadings(ours, X, n_draws=0).values, lapwing.loadings(theirs, X * scale, n_draws=0).values, atol=1e-6
    )


def test_sparse_rows():
    A = np.where(X.mean(axis=0) < X, X, 0)
    models = [LPP(2, graph=4, standardize=False).fit(data) for data in (A, sparse.csr_array(A))]
    found = [
        lapwing.loadings(model, data, n_draws=3).low
        for model, data in zip(models, (A, sparse.csr_array(A)), strict=True)
    ]
    assert_allclose(*found, atol=1e-6)


def test_the_table(capsys):
    frame = load_iris(as_frame=True)
    model = LPP(2, graph="supervised").fit(frame.data, frame.target)
    found = lapwing.loadings(model, frame.data, frame.target, n_draws=20, level=0.5)
    rows = found.rows()
    assert len(rows) == 8
    assert [row["component"] for row in rows] == ["lpp0"] * 4 + ["lpp1"] * 4
    assert [row["rank"] for row in rows] == [1, 2, 3, 4] * 2
    sizes = np.abs([row["loading"] for row in rows]).reshape(2, 4)
    assert (np.diff(sizes, axis=1) <= 0).all()
    assert {row["feature"] for row in rows} == set(frame.data.columns)
    assert [(row["component"], row["rank"]) for row in found.rows(1)] == [("lpp0", 1), ("lpp1", 1)]
    best = found.rows(1)[0]
    j = list(frame.data.columns).index(best["feature"])
    assert (best["low"], best["loading"], best["high"]) == (found.low[0, j], found.values[0, j], found.high[0, j])
    lines = str(found).split("\n")
    assert lines[0].split() == ["component", "rank", "feature", "loading", "low", "high"]
    assert len(lines) == 9
    assert lines[1].split()[0] == "lpp0"
    assert lines[1].endswith(f"{best['high']:+.3f}")
    assert len(set(map(len, lines))) == 1


class Difference(BaseEstimator):
    """The difference of two classes' means as a direction, which is quickly found."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.components_ = (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))[None]
        return self


def test_intervals_are_as_wide_as_other_samples_vary():
    rng, y = np.random.RandomState(0), np.repeat([0, 1], 60)

    def drawn():
        return rng.standard_normal((120, 3)) + np.outer(y, [1.5, 0.7, 0.0])

    others = np.array([lapwing.loadings(Difference().fit(drawn(), y)).values[0] for _ in range(500)])
    expected = np.quantile(others, 0.95, axis=0) - np.quantile(others, 0.05, axis=0)
    samples = [drawn() for _ in range(12)]
    found = [lapwing.loadings(Difference().fit(data, y), data, y, level=0.9) for data in samples]
    widths = np.mean([f.high[0] - f.low[0] for f in found], axis=0)
    assert_allclose(widths / expected, 1, atol=0.25)
    assert found[0].level == 0.9


def test_components_of_a_draw_are_matched():
    """Two directions of nearly the same variance change places, and signs, from draw to draw."""
    rng = np.random.RandomState(0)
    data = rng.standard_normal((300, 4)) * [3.0, 3.0, 0.1, 0.1]
    found = lapwing.loadings(PCA(2).fit(data), data, n_draws=40)
    assert (found.high - found.low)[:, 2:].max() < 0.2
    flipped = inspection.matched(np.array([[0, -1.0, 0], [1, 0, 0]]), np.eye(3)[:2])
    assert_allclose(flipped, np.eye(3)[:2])


def test_features_that_other_steps_make():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"kind": np.array(["a", "b", "c"])[Y], "alcohol": X[:, 0], "ash": X[:, 2]})
    making = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough", sparse_threshold=0)
    model = make_pipeline(making, StandardScaler(), PCA(2)).fit(frame)
    found = lapwing.loadings(model, frame, n_draws=3)
    assert found.features == [*(f"onehotencoder__kind_{k}" for k in "abc"), "remainder__alcohol", "remainder__ash"]
    assert_allclose(np.abs(found.values), np.abs(model[-1].components_), atol=1e-8)
    assert found.components == ["pca0", "pca1"]


def test_a_classifier_may_follow():
    X, y = load_iris(return_X_y=True)
    alone = make_pipeline(StandardScaler(), LPP(2, graph="supervised")).fit(X, y)
    model = make_pipeline(StandardScaler(), SemiSupervised(LPP(2, graph="supervised"))).fit(X, y)
    np.testing.assert_array_equal(lapwing.loadings(model).values, lapwing.loadings(alone).values)


def test_what_has_none():
    with pytest.raises(ValueError, match="no matrix of directions"):
        lapwing.loadings(KernelLPP(2).fit(X))
    with pytest.raises(ValueError, match="no matrix of directions"):
        lapwing.loadings(make_pipeline(PCA(2), KNeighborsClassifier()).fit(X, Y))
    model = LPP(2).fit(X)
    with pytest.raises(ValueError, match="X has 12 features"):
        lapwing.loadings(model, X[:, 1:])
    with pytest.raises(ValueError, match="feature_names has 2"):
        lapwing.loadings(model, feature_names=["a", "b"])
    for wrong in (1, True, "most"):
        with pytest.raises(ValueError, match="level="):
            lapwing.loadings(model, X, level=wrong)
    with pytest.raises(
        ValueError, match=r"components of 13 numbers, and that to all has .*give n_components as a number"
    ):
        lapwing.loadings(PCA(0.999, svd_solver="full").fit(X / X.std(axis=0)), X[:20], n_draws=200)
    with pytest.raises(ValueError, match="n_draws=-1"):
        lapwing.loadings(model, X, n_draws=-1)
    ring = sparse.diags_array([1.0, 1.0], offsets=[1, -1], shape=(len(X), len(X)), format="csr")
    with pytest.raises(ValueError, match="cannot be used where X is split"):
        lapwing.loadings(LPP(2, graph=Precomputed(ring)).fit(X), X)


def test_halves_hold_half_of_each_class():
    y = np.repeat([0, 1, -1], [30, 5, 1])
    sizes = [np.bincount(half.y + 1) for half in inspection.half_fits(_Keeps(), o.blobs(36, 2)[0], y, 3, 0)]
    assert_allclose(sizes, [[1, 15, 3]] * 3)


class _Keeps(PCA):
    def fit(self, X, y=None):
        self.y = y
        return super().fit(X)


def test_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    from lapwing.plots import loadings

    model = LPP(3, standardize=True).fit(X)
    found = lapwing.loadings(model, X, n_draws=5)
    for figure in (loadings(model, X, n_draws=5, n_features=4, n_columns=2), loadings(found, n_features=4)):
        assert len(figure.axes) == 3
        ax, first = figure.axes[0], found.ranked(0)[:4]
        assert_allclose([bar.get_width() for bar in ax.patches], found.values[0, first])
        assert [label.get_text() for label in ax.get_yticklabels()] == [f"feature {j}" for j in first]
        segments = np.array(ax.collections[0].get_segments())
        assert_allclose(segments[:, :, 0], np.c_[found.low[0, first], found.high[0, first]])
    assert not loadings(model).axes[0].collections
