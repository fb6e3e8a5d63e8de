"""Every fit carries its proof; ``verify`` fits again, and finds out what was changed."""

import re
import warnings
from copy import deepcopy
from dataclasses import replace
from math import inf

import numpy as np
import oracles as o
import pytest
from helpers import each
from limits import large_from
from scipy import sparse
from scipy.linalg import eigh
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lapwing
from lapwing import (
    GLPCA,
    L21PCA,
    LPI,
    LPP,
    MMC,
    NPE,
    OLPP,
    TSA,
    DiffusionMaps,
    KernelLPP,
    LaplacianEigenmaps,
    RobustGLPCA,
)
from lapwing.graphs import KNN, On, Precomputed, Repulsion, SameClass
from lapwing.methods import METHODS
from lapwing.selection import SemiSupervised

DIGITS = load_digits()
X, Y = DIGITS.data[:120, ::2], DIGITS.target[:120] % 3
WITHOUT = {"LaplacianScore", "FisherScore"}  # each feature by itself: no eigenproblem
# What differs from the default, so that there is a ridge, a shift, a truncation, and what it takes to be quick.
OPTIONS = {"RobustGLPCA": {"tol": 1e-3}, "L21PCA": {"tol": 1e-3}, "MFA": {"penalty": 5}}
IN_PRECISION = {np.float64: 1e-6, np.float32: 1e-3}


def fitted(name, dtype=np.float64, **options):
    data = X.reshape(120, 8, 4).astype(dtype) if name == "TSA" else X.astype(dtype)
    return METHODS[name](2, **OPTIONS.get(name, {}) | options).fit(data, Y), data


def all_of(found):
    return found if isinstance(found, list) else [found]


@each("dtype", IN_PRECISION)
@each("name", METHODS)
def test_every_method_has_one_and_it_is_found_anew(name, dtype):
    model, data = fitted(name, dtype)
    again = lapwing.verify(model, data, Y)
    assert again.holds, again.failures
    assert again.unknown == ()
    if name in WITHOUT:
        assert not hasattr(model, "certificate_")
        assert again.certificate is None
        return
    found = model.certificate_
    assert isinstance(found, list) == (name == "TSA")
    for one, other in zip(all_of(found), all_of(again.certificate), strict=True):
        assert one.holds
        assert one.tolerance == (1e-3 if name in OPTIONS and "tol" in OPTIONS[name] else IN_PRECISION[dtype])
        assert (one.rank, one.condition) == (other.rank, other.condition)
        assert all(type(value) in (float, int, type(None)) for value in vars(one).values())
        assert one.gap == other.gap or one.gap == pytest.approx(other.gap, rel=1e-3)
        assert one.residual == other.residual


def test_beside_a_dense_problem():
    """The pencil of LPP with a ridge, written down: residual, constraint, condition and gap."""
    ridge = 0.4
    model = LPP(3, graph=KNN(5), ridge=ridge, pca=None, scaling="constraint", standardize=False).fit(X)
    L, D = o.laplacian(o.knn_weights(X, None, 5))
    d = np.diagonal(D)
    Xc = X - d @ X / d.sum()
    A, B = Xc.T @ L @ Xc, Xc.T @ D @ Xc
    w, S = np.linalg.eigh(B)
    S = S[:, w > 1e-10 * w[-1]]
    rho, shift = ridge * np.trace(B) / S.shape[1], np.trace(L) / d.sum()
    left, right = S.T @ (A - shift * B) @ S, S.T @ B @ S + rho * np.eye(S.shape[1])
    values = eigh(left, right, eigvals_only=True) + shift
    found, V = model.certificate_, S.T @ model.components_.T
    np.testing.assert_allclose(V.T @ right @ V, np.eye(3), atol=1e-10)
    assert found.rank == S.shape[1]
    assert found.gap == pytest.approx(values[3] - values[2], rel=1e-8)
    assert found.condition == pytest.approx(np.linalg.cond(right), rel=1e-6)
    R = left @ V - right @ V * (model.eigenvalues_ - shift)
    assert np.linalg.norm(R) <= 1e-12 * np.linalg.norm(left) * np.linalg.norm(V)
    assert max(found.residual, found.constraint_error) < 1e-12


def turned_by(model, first, last):
    """Another basis of what some of the components span, of the same length."""
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((last - first, last - first)))[0]
    model.components_[first:last] = turn @ model.components_[first:last]
    return model


def test_equal_eigenvalues_are_compared_as_spaces():
    """A graph of classes: the eigenvalues 0, 0, 1, 1, 1, 1, 1, of which the fifth is not the last of its value."""
    wide = np.random.default_rng(0).standard_normal((40, 60))
    labels = np.arange(40) % 3
    options = {"graph": SameClass(), "ridge": 0, "pca": None, "scaling": "constraint", "standardize": False}
    with warnings.catch_warnings(action="ignore"):
        model = LPP(5, **options).fit(wide, labels)
        few = LPP(2, **options).fit(wide, labels)
    np.testing.assert_allclose(model.eigenvalues_, [0, 0, 1, 1, 1], atol=1e-12)
    first = lapwing.verify(turned_by(deepcopy(model), 0, 2), wide, labels)
    assert first.holds, first.failures
    assert first.unknown == ()
    last = lapwing.verify(turned_by(deepcopy(model), 2, 5), wide, labels)
    assert last.holds
    assert last.unknown == ()  # another basis of the space that was found
    other = deepcopy(model)
    other.components_[4] = other.components_[3] + other.components_[2]
    found = lapwing.verify(other, wide, labels)
    assert found.holds
    said = "the last of components_ may be any of the same eigenvalue, which the next one has as well"
    assert found.unknown == (said,)
    for forge in (
        lambda m: turned_by(m, 1, 3),
        lambda m: m.components_.__setitem__(1, m.components_[0]),
        lambda m: m.components_.__setitem__(0, 2 * m.components_[0]),
        lambda m: m.components_.__setitem__((4, 7), np.nan),
    ):
        other = deepcopy(model)
        forge(other)
        assert not lapwing.verify(other, wide, labels).holds
    few.components_[1] = np.random.default_rng(1).standard_normal(60)  # the next eigenvalue is another
    assert "components_ of the model is not" in lapwing.verify(few, wide, labels).failures[0]


def test_gaps_of_zero_are_normal():
    """Four classes and a graph of classes: eigenvalues that are all alike."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "n_components=5 is more")
        model = LPP(5, graph=SameClass(), ridge=0, pca=None).fit(X[:, :10], Y)
    assert model.certificate_.gap == pytest.approx(0, abs=1e-10)
    assert model.certificate_.angle == pytest.approx(np.pi / 2)
    assert str(model.certificate_).endswith("at most this far from the true directions 9.0e+01 degrees")
    unknown = replace(model.certificate_, gap=None, angle=None)
    assert re.fullmatch(r"residual \S+, constraint error \S+, condition \S+", str(unknown))
    assert LPP(None, pca=None, ridge=0).fit(load_iris().data).certificate_.gap == inf


def test_robust_steps_say_how_far_they_came():
    for method in (L21PCA, RobustGLPCA):
        model = method(2, tol=1e-4).fit(X)
        assert model.certificate_.tolerance == 1e-4
        assert 0 < model.certificate_.residual < 1e-4
        assert model.certificate_.gap is None


@pytest.mark.parametrize("scale", [1e-55, 1e55])
def test_no_scale_of_x_is_too_much_for_it(scale):
    for method in (LPP, OLPP, KernelLPP, LaplacianEigenmaps, GLPCA):
        assert method(2).fit(X * scale).certificate_.holds


def test_neighbours_that_another_program_has_found():
    for graph in (KNN(5, search=KNeighborsTransformer()), On(PCA(4), KNN(5, search=KNeighborsTransformer()))):
        found = lapwing.verify(LPP(2, graph=graph).fit(X), X)
        assert found.holds
        assert "another program searched" in " ".join(found.unknown)
    assert "another program" not in " ".join(lapwing.verify(LPP(2, graph=5).fit(X), X).unknown)


def test_tensors():
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(X)
    for method in (LPP, OLPP, TSA, LaplacianEigenmaps):
        data = tensor.reshape(120, 8, 4) if method is TSA else tensor
        model = method(2).fit(data)
        for found in all_of(model.certificate_):
            assert found.holds
            assert all(type(value) in (float, int, type(None)) for value in vars(found).values())
        assert lapwing.verify(model, data).holds
        assert lapwing.verify(lapwing.to_numpy(model), data.numpy()).holds


# What was changed is found


def doubled(model, name):
    setattr(model, name, 2 * getattr(model, name))


def turned(model):
    """Another basis of the same directions: the constraint holds, and the space is the same."""
    c, s = np.cos(0.3), np.sin(0.3)
    model.components_ = np.array([[c, -s], [s, c]]) @ model.components_


CHANGES = {
    "an entry": (
        LPP(2),
        lambda m: m.components_.__setitem__((0, 9), m.components_[0, 9] + 1e-3),
        "^components_ of the model is not",
    ),
    "of a constant column": (LPP(2), lambda m: m.components_.__setitem__((0, 0), 0.1), "^components_ of"),
    "a column": (OLPP(2), lambda m: m.components_.__setitem__(np.s_[:, 3], 0.0), "^components_ of"),
    "a turn": (LPP(2), turned, "^components_ of"),
    "lengths": (LPP(2, scaling="unit"), lambda m: doubled(m, "components_"), "^components_ of"),
    "lengths by the constraint": (NPE(2, scaling="constraint"), lambda m: doubled(m, "components_"), "^components_ of"),
    "the mean": (LPP(2), lambda m: doubled(m, "mean_"), "mean_ of the model is not"),
    "eigenvalues": (LPP(2), lambda m: doubled(m, "eigenvalues_"), "eigenvalues_ of the model is not"),
    "dual coefficients": (KernelLPP(2), lambda m: m.dual_coef_.__setitem__((0, 0), 1.0), "^dual_coef_ of"),
    "the intercept": (KernelLPP(2), lambda m: doubled(m, "intercept_"), "intercept_ of the model is not"),
    "fitted rows of a kernel": (KernelLPP(2), lambda m: m.X_fit_.__setitem__(0, 7.0), "X_fit_ of the model is not"),
    "an embedding": (LaplacianEigenmaps(2), lambda m: m.embedding_.__setitem__((5, 1), 0.5), "^embedding_ of"),
    "fitted rows": (LaplacianEigenmaps(2), lambda m: m.X_fit_.__setitem__(0, 99.0), "X_fit_ of the model is not"),
    "densities": (
        DiffusionMaps(2),
        lambda m: setattr(m, "density_", m.density_**2 + 1),
        "density_ of the model is not",
    ),
    "densities of given weights": (
        DiffusionMaps(2, graph=Precomputed(o.knn_weights(X, None, 5))),
        lambda m: setattr(m, "density_", m.density_**2 + 1),
        "density_ of the model is not",
    ),
    "a width": (
        LaplacianEigenmaps(2),
        lambda m: m.graph_.set_params(t=m.graph_.t / 50),
        r"graph_\.t of the model is not",
    ),
    "a rank": (
        LPP(2),
        lambda m: setattr(m, "rank_", m.rank_ - 1),
        r"rank_ of the model is not.*: \d+, and they give \d+",
    ),
    "a number of directions": (
        LPP(2, pca=0.9),
        lambda m: setattr(m, "n_pca_", m.n_pca_ + 1),
        "n_pca_ of the model is not",
    ),
    "shares": (OLPP(2), lambda m: doubled(m, "explained_ratio_"), "explained_ratio_ of the model is not"),
    "errors": (RobustGLPCA(2, tol=1e-3), lambda m: doubled(m, "errors_"), "errors_ of the model is not"),
    "a misfit": (GLPCA(2), lambda m: doubled(m, "reconstruction_error_"), "reconstruction_error_ of the model is not"),
    "a representation": (GLPCA(2), lambda m: doubled(m, "components_"), "components_ of the model is not"),
    "documents": (LPI(2, graph=5), lambda m: m.components_.__setitem__((0, 0), 1.0), "^components_ of"),
    "mean of documents": (LPI(2, graph=5), lambda m: doubled(m, "mean_"), "mean_ of the model is not"),
    "normalized landmarks": (
        KernelLPP(2, landmarks=30, random_state=0),
        lambda m: doubled(m.nystroem_, "normalization_"),
        "transform of the model gives other numbers",
    ),
    "a mean that no direction sees": (
        LPP(2, pca=5),
        lambda m: setattr(m, "mean_", m.mean_ + np.linalg.svd(m.components_)[2][-1]),
        "mean_ of the model is not",
    ),
    "scores": (lapwing.LaplacianScore(2), lambda m: doubled(m, "scores_"), "scores_ of the model is not"),
    "landmarks": (
        KernelLPP(2, landmarks=30, random_state=0),
        lambda m: m.nystroem_.components_.__setitem__(0, 3.0),
        "transform of the model gives other numbers",
    ),
}


@each(("method", "change", "message"), CHANGES.values())
def test_changes_are_found(method, change, message):
    model = deepcopy(method).fit(X.copy())
    assert lapwing.verify(model, X).holds
    change(model)
    found = lapwing.verify(model, X)
    assert not found.holds
    assert any(re.search(message, why) for why in found.failures), found.failures


@pytest.mark.parametrize(("name", "place", "factor"), [("mean_", 9, 1.01), ("components_", (1, 11), 1.0002)])
def test_a_column_in_a_small_unit_is_seen(name, place, factor):
    """Its mean is little beside the mean of the others, and their entries in the directions are little beside its own."""
    data = X * np.where(np.arange(32) == 9, 1e-4, 1.0)
    model = LPP(2, graph=KNN(5), standardize=False, pca=None, ridge=0).fit(data)
    assert lapwing.verify(model, data).holds
    getattr(model, name)[place] *= factor
    assert lapwing.verify(model, data).failures == (
        "transform of the model gives other numbers for the data than that of a new fit",
    )


def cut(model):
    model.components_, model.eigenvalues_ = model.components_[1:], model.eigenvalues_[1:]


NOT_FITTING = {
    "cut": (LPP(3), cut, r"components_ of the model has shape \(2, 32\), and a new fit gives \(3, 32\)"),
    "lost": (LPP(2), lambda m: delattr(m, "mean_"), r"mean_ of the model has shape \(0,\)"),
    "fitted rows": (LaplacianEigenmaps(2), lambda m: m.X_fit_.__setitem__(0, np.nan), "X_fit_ of the model is not"),
    "an embedding": (
        LaplacianEigenmaps(2),
        lambda m: m.embedding_.__setitem__(0, np.inf),
        "embedding_ .* share of inf",
    ),
    "documents": (LPI(2), lambda m: m.components_.__setitem__((0, 0), np.nan), "components_ .* share of inf"),
    "a mean": (LPP(2), lambda m: m.mean_.__setitem__(0, np.nan), "mean_ of the model is not"),
    "a kernel": (KernelLPP(2), lambda m: m.dual_coef_.__setitem__(0, np.nan), "dual_coef_ .* share of inf"),
    "eigenvalues": (LPP(2), lambda m: m.eigenvalues_.__setitem__(0, np.nan), "eigenvalues_ of the model is not"),
}


@pytest.mark.parametrize(("method", "change", "message"), NOT_FITTING.values(), ids=NOT_FITTING)
def test_what_has_another_shape_or_is_not_finite(method, change, message):
    """It is said of the model; an error would be taken for one of the data."""
    model = deepcopy(method).fit(X.copy())
    change(model)
    found = lapwing.verify(model, X)
    assert not found.holds
    assert re.search(message, found.failures[0])


def test_a_mode_that_was_cut():
    model, data = fitted("TSA")
    model.components_[1] = model.components_[1][:1]
    assert "components_[1] of the model has shape (1, 4)" in lapwing.verify(model, data, Y).failures[0]
    model.components_ = model.components_[:1]
    assert "components_[1] of the model has shape (0,)" in lapwing.verify(model, data, Y).failures[0]


def test_a_mode_that_was_changed():
    model, data = fitted("TSA")
    model.components_[1] = model.components_[1][:, ::-1].copy()
    found = lapwing.verify(model, data, Y)
    assert any("components_[1]" in why for why in found.failures)
    assert not any("components_[0]" in why for why in found.failures)
    model, data = fitted("TSA")
    model.mean_ = model.mean_ + 1
    assert "mean_ of the model is not" in " ".join(lapwing.verify(model, data, Y).failures)


def test_eigenvectors_that_are_not_the_first():
    """The equation holds, and the constraint: but there are smaller eigenvalues."""
    more = LPP(4, pca=10, ridge=0, scaling="constraint").fit(X)
    model = LPP(2, pca=10, ridge=0, scaling="constraint").fit(X)
    model.components_, model.eigenvalues_ = more.components_[2:], more.eigenvalues_[2:]
    found = lapwing.verify(model, X)
    assert [why.split(" of ")[0] for why in found.failures] == ["components_", "eigenvalues_"]


def test_other_data_and_labels():
    model = LPP(2, graph=SameClass()).fit(X, Y)
    assert lapwing.verify(model, X, Y).holds
    assert not lapwing.verify(model, X, np.roll(Y, 1)).holds
    assert not lapwing.verify(model, X + 0.1 * np.random.RandomState(0).standard_normal(X.shape), Y).holds
    assert "components_ of the model has shape (2, 32)" in lapwing.verify(model, X[:, 1:], Y).failures[0]
    assert "X_fit_ of the model has shape (120, 32)" in " ".join(
        lapwing.verify(LaplacianEigenmaps(2).fit(X), X[1:]).failures
    )
    with pytest.raises(ValueError, match="drawn without a seed, so no fit repeats them; fit with random_state=0"):
        lapwing.verify(KernelLPP(2, landmarks=30).fit(X), X)
    with pytest.raises(ValueError, match="requires y"):
        lapwing.verify(model, X)
    with pytest.raises(TypeError, match="StandardScaler is no estimator of lapwing"):
        lapwing.verify(StandardScaler().fit(X), X)


# Kinds of models and data


@pytest.mark.parametrize(
    "model", [LPP(2, graph="supervised"), MMC(2), KernelLPP(2, graph="supervised")], ids=lambda m: type(m).__name__
)
def test_weights(model):
    weights = np.random.default_rng(0).uniform(1, 4, 120)
    model.fit(X, Y, sample_weight=weights)
    assert lapwing.verify(model, X, Y, sample_weight=weights).holds
    assert not lapwing.verify(model, X, Y).holds
    weights[:40] = 0
    model.fit(X, Y, sample_weight=weights)
    assert lapwing.verify(model, X, Y, sample_weight=weights).holds


def test_batches_with_weights():
    weights, model = np.arange(1.0, 121), MMC(2)
    for rows in (slice(0, 70), slice(70, 120)):
        model.partial_fit(X[rows], Y[rows], weights[rows])
    assert lapwing.verify(model, X, Y, sample_weight=weights).holds
    assert not lapwing.verify(model, X, Y).holds


def test_graphs_that_are_given():
    W = sparse.csr_array(o.knn_weights(X, None, 4))
    for graph in (W, Precomputed(W)):
        assert lapwing.verify(LPP(2, graph=graph).fit(X), X).holds
    model = LPP(2, graph=KNN(4), normalize=None).fit(X)
    assert lapwing.verify(model, X, graph=W).holds
    assert not lapwing.verify(model, X, graph=W + W @ W).holds
    with pytest.raises(ValueError, match="Invalid parameter 'graph' for estimator MMC"):
        lapwing.verify(lapwing.MMC(2).fit(X, Y), X, Y, graph=W)


@pytest.mark.parametrize(
    "model",
    [
        LPP(3, graph=KNN(5) + SameClass() - 0.2 * Repulsion(8)),
        LPP(3, graph="semi", normalize="trace"),
        LPP("auto", graph="supervised"),
        LPP(3, penalty=6),
        LPP(None),
        NPE(3, standardize=True, scaling="auto"),
        KernelLPP(3, graph="supervised", kernel="poly"),
        KernelLPP(3, landmarks=40, random_state=1),
        LaplacianEigenmaps(3, graph=KNN(5) + SameClass(), normalize="degree"),
        GLPCA(3, beta=0.0),
        GLPCA(3, beta=1.0),
        TSA(2, scaling="constraint"),
        TSA(2, normalize="trace", graph=KNN(4) - 0.1 * Repulsion(5)),
    ],
    ids=repr,
)
def test_settings_of_all_kinds(model):
    data = X.reshape(120, 8, 4) if isinstance(model, TSA) else X
    found = lapwing.verify(model.fit(data, Y), data, Y)
    assert found.holds, found.failures


@pytest.mark.parametrize("limit", [4000, 10])
def test_sparse_rows(limit, monkeypatch):
    """Decomposed whole, and by operators on both sides."""
    large_from(monkeypatch, limit)
    rows = sparse.csr_array(X * (X > 8))
    for method in (LPP(2), LPP(2, pca=5), OLPP(2), LPI(2, graph=6), LaplacianEigenmaps(2)):
        model = method.fit(rows)
        assert model.certificate_.holds
        found = lapwing.verify(model, rows)
        assert found.holds, (method, found.failures)


@pytest.mark.parametrize("wide", [False, True])
def test_more_columns_than_rows_and_fewer(wide):
    data = X[:20] if wide else X
    for method in (LPP(2, pca=None), OLPP(2), NPE(2), KernelLPP(2)):
        model = method.fit(data)
        assert lapwing.verify(model, data).holds
        if hasattr(model, "components_"):
            model.components_[0] += 1e-3 * np.abs(model.components_).max()
            assert not lapwing.verify(model, data).holds


def test_pipelines():
    model = make_pipeline(StandardScaler(), LPP(2)).fit(X)
    found = lapwing.verify(model, X)
    assert found.holds
    assert found.unknown[0].startswith(
        "the steps before the method (StandardScaler) were applied as the model has them"
    )
    model[-1].components_[0] *= 1.5
    assert not lapwing.verify(model, X).holds
    assert lapwing.verify(SemiSupervised(LPP(2, graph="semi")).fit(X, Y), X, Y).holds
    assert lapwing.verify(make_pipeline(StandardScaler(), SemiSupervised(LPP(2))).fit(X, Y), X, Y).holds


def test_the_model_and_the_data_stay_as_they_are():
    model = LPP(2).fit(X)
    before, data = deepcopy(vars(model)), X.copy()
    lapwing.verify(model, X)
    assert vars(model).keys() == before.keys()
    np.testing.assert_array_equal(model.components_, before["components_"])
    np.testing.assert_array_equal(X, data)


def test_rows_in_blocks(small_blocks):
    zarr = pytest.importorskip("zarr")
    blocks = zarr.array(X)
    model = LPP(2, graph=KNN(5, queries=80)).fit(blocks)
    assert model.certificate_.holds
    assert lapwing.verify(model, X).holds
    assert lapwing.verify(model, blocks).holds
