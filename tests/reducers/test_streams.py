"""``partial_fit``: however rows are dealt out into batches, the model is that of all of them at once."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from test_weights import assert_same

import lapwing
from lapwing import (
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    FisherScore,
    KernelLDA,
    KernelLPP,
    LaplacianEigenmaps,
    LaplacianScore,
)
from lapwing.data import Data
from lapwing.graphs import KNN, Complete, OtherClass, SameClass

STREAMED = [
    MMC(2),
    MMC(2, pca=None, standardize=True),
    LPP(2, graph="supervised"),
    LPP("auto", graph="supervised", scaling="constraint"),
    LPP(2, graph=SameClass(balance=True), standardize=True),
    LPP(2, graph=SameClass() + 0.3 * Complete() - 0.1 * OtherClass()),
    LPP(2, graph=SameClass(), penalty=OtherClass()),
    LPDP(2, graph=SameClass(), alpha=0.5),
    MFA(2, graph=SameClass(), penalty=OtherClass()),
    OLPP(2, graph=-Complete()),
    OLPP(2, graph=SameClass() - 0.1 * Complete(), normalize="trace", pca=3),
    NPE(2, graph=SameClass(), center=False),
    FisherScore(2),
    LaplacianScore(2, graph="supervised"),
    LaplacianScore(2, graph=SameClass(balance=True) + Complete()),
    KernelLDA(features=RBFSampler(gamma=0.02, n_components=40, random_state=0), standardize=False),
    KernelLDA(2, features=FrozenEstimator(Nystroem(gamma=0.02, n_components=9).fit(50 + 3 * np.eye(9, 6)))),
    KernelLDA(2, features=RBFSampler(gamma=0.02, n_components=120, random_state=0), ridge=1.0, center="mean"),
]
EVERY = pytest.mark.parametrize("estimator", STREAMED, ids=str)
BATCHES = [1, 2, 3, 40, 41, 100]


def drawn(n=150, d=6):
    """Classes one after the other, so that they appear later; some rows are of unknown label."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.choice(3, n, p=[0.2, 0.3, 0.5]))
    X = rng.normal(size=(n, d)) * np.linspace(3, 1, d) + 50 + 2 * rng.normal(size=(3, d))[y]
    y[::9] = -1
    return X, y, rng.integers(0, 4, n) / 2


def streamed(estimator, X, y, w=None, ends=BATCHES):
    model = clone(estimator)
    for rows in np.split(np.arange(X.shape[0]), ends):
        model.partial_fit(X[rows], y[rows], sample_weight=None if w is None else w[rows])
    return model


@EVERY
@pytest.mark.filterwarnings("ignore:.*not fitted yet:UserWarning", "ignore:n_components=2 is more:UserWarning")
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_batches_are_one_fit(estimator, make):
    X, y, w = drawn()
    X = np.where(X < 46, 0, X) if make is sparse.csr_array else X
    model = streamed(estimator, make(X), y)
    assert_same(model, clone(estimator).fit(make(X), y), make(X))
    assert model.n_samples_seen_ == len(X)
    w = np.where(y < 0, 2.0, np.maximum(w, 0.5))  # parts of unlinked rows would count as components
    weighed = streamed(estimator, make(X), y, w)
    assert_same(weighed, clone(estimator).fit(make(X), y, sample_weight=w), make(X))


def test_rows_without_weight_and_their_classes():
    X, y, w = drawn()
    w = np.where(y == 1, 0.0, np.where(y < 0, 1.0, w + 1))
    model = streamed(LPP("auto", graph="supervised"), X, y, w, [120])
    assert model.components_.shape == (1, 6)
    assert_same(model, LPP("auto", graph="supervised").fit(X[y != 1], y[y != 1], sample_weight=w[y != 1]), X)


@pytest.mark.parametrize("graph", [SameClass(), SameClass(balance=True)], ids=str)
@pytest.mark.parametrize("names", [np.array([3, 0, 7]), np.array(["b", "a", "long name"])], ids=["numbers", "words"])
@pytest.mark.filterwarnings("ignore:.*not fitted yet:UserWarning")
def test_models_saved_half_way_go_on(tmp_path, graph, names):
    X, y, _ = drawn()
    y = np.where(y >= 0, names[y].astype(object), -1)
    whole = LPP(2, graph=graph).fit(X, y)
    for end in (20, 90):  # one class only so far, and all of them
        model = LPP(2, graph=graph).partial_fit(X[:end], y[:end])
        lapwing.save(model, tmp_path / "model")
        loaded = lapwing.load(tmp_path / "model").partial_fit(X[end:], y[end:])
        assert_same(loaded, whole, X)
        np.testing.assert_array_equal(loaded.transform(X), model.partial_fit(X[end:], y[end:]).transform(X))


def test_far_and_drifting_rows_keep_their_digits():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 4)) + np.eye(3, 4)[y] + 1e5 + np.repeat([0, 100, 1000], 100)[:, None]
    X[:, 3] = 0.1  # constant
    model = streamed(LPP(2, graph="supervised", standardize=False), X, y, ends=[100, 200])
    assert_same(model, LPP(2, graph="supervised", standardize=False).fit(X, y), X, tol=1e-8)
    assert model.rank_ == 3
    scaled = streamed(LPP(2, graph="supervised", standardize=True), X, y, ends=[100, 200])
    assert scaled.scale_[3] == 1


def test_until_rows_suffice_the_model_waits():
    X, y, _ = drawn()
    with pytest.warns(UserWarning, match="not fitted yet.*one class"):
        model = MMC(2).partial_fit(X[1:20], y[1:20])
    with pytest.raises(NotFittedError):
        model.transform(X)
    assert model.partial_fit(X[20:], y[20:]).transform(X).shape == (150, 2)
    with pytest.warns(UserWarning, match="not fitted yet.*links no two"):
        OLPP(2, graph=-Complete()).partial_fit(X[:1])
    with pytest.warns(UserWarning, match="not fitted yet.*n_features_to_select=5"):
        FisherScore(5).partial_fit(np.where(np.arange(6) < 4, X, 0), y)


def test_fit_forgets_and_failures_do_not_count():
    X, y, _ = drawn()
    model = MMC(2).partial_fit(X[:100], y[:100])
    Z = model.transform(X)
    for bad in ((X[100:, :4], y[100:]), (X[100:], y[99:]), (X[100:] * np.nan, y[100:]), (X[100:], None)):
        with pytest.raises(ValueError, match=r"features|labels|NaN|requires y"):
            model.partial_fit(*bad)
        np.testing.assert_array_equal(model.transform(X), Z)
    assert_same(model.partial_fit(X[100:], y[100:]), MMC(2).fit(X, y), X)
    assert not hasattr(model.fit(X[:100], y[:100]), "moments_")
    np.testing.assert_array_equal(model.transform(X), MMC(2).fit(X[:100], y[:100]).transform(X))
    with pytest.raises(ValueError, match="graph was changed"):
        LPP(1, graph=SameClass()).partial_fit(X, y).set_params(graph=SameClass(balance=True)).partial_fit(X, y)
    with pytest.raises(ValueError, match="labels like"):
        MMC(2).partial_fit(X, y).partial_fit(X, np.where(y > 0, "a", "b"))
    with config_context(working_memory=1), pytest.raises(ValueError, match="working_memory"):
        MMC(2).partial_fit(np.zeros((2, 6000)), [0, 1])


def test_a_batch_that_fails_late_leaves_the_model_as_it_was(monkeypatch):
    X, y, _ = drawn()
    model = LPP(2, graph="supervised").partial_fit(X[:100], y[:100])
    before = {name: repr(value) for name, value in vars(model).items()}

    def explained(data, directions):
        raise UserWarning("a warning that was made an error")

    monkeypatch.setattr(Data, "explained", explained)
    with pytest.raises(UserWarning, match="made an error"):
        model.partial_fit(X[100:] * np.arange(1, 1 + X.shape[1]), y[100:])
    assert {name: repr(value) for name, value in vars(model).items()} == before


def test_where_it_is():
    for estimator in STREAMED:
        assert hasattr(estimator, "partial_fit")
    others = [
        LPP(),
        LPP(graph=SameClass("heat")),
        LPP(graph=KNN(3) + SameClass()),
        LaplacianScore(),
        LaplacianEigenmaps(),
    ]
    for estimator in [*others, KernelLPP(graph=SameClass()), LPI(graph=SameClass()), MFA()]:
        assert not hasattr(estimator, "partial_fit")


def test_frames_and_precision():
    pandas = pytest.importorskip("pandas")
    X, y, _ = drawn()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = MMC(2).partial_fit(frame[:60], y[:60]).partial_fit(frame[60:], y[60:])
    assert list(model.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[list("fedcba")], y)
    single = MMC(2).partial_fit(X[:60].astype(np.float32), y[:60])
    assert single.components_.dtype == np.float32
    assert single.partial_fit(X[60:], y[60:]).components_.dtype == np.float64


@pytest.mark.filterwarnings("ignore:.*not fitted yet:UserWarning")
def test_features_of_a_kernel_and_units_are_those_of_the_first_batch(tmp_path):
    X, y, _ = drawn()
    X[:, 0] *= 1000  # another unit
    first, nystroem = slice(0, 20), Nystroem(gamma=0.1, n_components=12, random_state=3)
    model = streamed(KernelLDA(features=nystroem, standardize=True), X, y, ends=[20, 90])
    scale = X[first].std(axis=0)
    np.testing.assert_allclose(model.scale_, scale)
    assert model.settings_["standardize"]
    frozen = FrozenEstimator(clone(nystroem).fit(X[first] / scale))
    np.testing.assert_allclose(model.features_.components_, frozen.estimator.components_)
    joint = KernelLDA(features=frozen, standardize=False).fit(X / scale, y)
    np.testing.assert_allclose(model.transform(X), joint.transform(X / scale), atol=1e-10)

    half = KernelLDA(features=nystroem, standardize=True).partial_fit(X[first], y[first])  # one class only so far
    lapwing.save(half, tmp_path / "model")
    whole = lapwing.load(tmp_path / "model").partial_fit(X[20:90], y[20:90]).partial_fit(X[90:], y[90:])
    np.testing.assert_array_equal(whole.transform(X), model.transform(X))
    assert not hasattr(whole.fit(X, y), "moments_")
    np.testing.assert_allclose(whole.scale_, X.std(axis=0))
    again = whole.partial_fit(X[:90], y[:90])  # a stream of its own
    np.testing.assert_allclose(again.scale_, X[:90].std(axis=0))


def test_more_features_of_a_kernel_than_rows():
    X, y, _ = drawn()
    estimator = KernelLDA(features=RBFSampler(gamma=0.02, n_components=400, random_state=0), standardize=False)
    model, joint = streamed(estimator, X, y, ends=[60]), estimator.fit(X, y)
    np.testing.assert_allclose(model.eigenvalues_, joint.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(model.transform(X), joint.transform(X), atol=1e-10)
