"""``sample_weight``: a weight is so many copies of a row, on every map, kind of rows and graph of classes."""

import inspect
import pickle

import dask.array as da
import numpy as np
import oracles as o
import pytest
import sklearn
from helpers import each, named
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import lapwing
from lapwing import LPDP, LPI, LPP, MFA, MMC, NPE, OLPP, TSA, FisherScore, KernelLPP, LaplacianEigenmaps, LaplacianScore
from lapwing.graphs import KNN, Complete, OtherClass, Precomputed, SameClass
from lapwing.testing import check_graph

WEIGHED = [
    MMC(2, pca=None),
    MMC(2),
    LPP(2, graph="supervised"),
    LPP(2, graph=SameClass(balance=True), ridge=0.1, standardize=True),
    LPP(2, graph=SameClass() + 0.3 * Complete() - 0.1 * OtherClass()),
    LPP(2, graph=SameClass(), penalty=OtherClass()),
    LPDP(2, graph=SameClass(), alpha=0.5),
    MFA(2, graph=SameClass(), penalty=OtherClass()),
    OLPP(2, graph=-Complete()),
    OLPP(2, graph=SameClass() - 0.1 * Complete(), normalize="trace", pca=3),
    NPE(2, graph=SameClass(), center=False),
    KernelLPP(2, graph="supervised", kernel="linear"),
    KernelLPP(2, graph=SameClass(balance=True), kernel="poly", degree=2, center="mean", pca=5),
    KernelLPP(2, graph=SameClass(), gamma="scale", pca=5),
    FisherScore(2),
    LaplacianScore(2, graph="supervised"),
    LaplacianScore(2, graph=SameClass(balance=True) + Complete()),
]
EVERY = pytest.mark.parametrize("estimator", WEIGHED, ids=str)


def drawn(n=60, d=6, seed=0):
    """Rows of three classes of unequal size, some of unknown label, and whole weights, some of them 0."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.2, 0.3, 0.5])
    X = rng.normal(size=(n, d)) * np.linspace(3, 1, d) + 5 + 2 * rng.normal(size=(3, d))[y]
    y[::9] = -1
    return X, y, rng.integers(0, 4, n)


def assert_same(one, other, X, tol=1e-10):
    """All that two models have learnt, and what they make of X."""
    for name in ("scores_", "eigenvalues_"):
        if hasattr(other, name):
            scale = np.abs(getattr(other, name)).max()
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=tol, atol=tol * scale)
    for name in ("rank_", "n_pca_", "n_connected_components_", "solver_"):
        assert getattr(one, name, None) == getattr(other, name, None), name
    Z, expected = (model.transform(X) for model in (one, other))
    Z, expected = (part.toarray() if sparse.issparse(part) else part for part in (Z, expected))
    np.testing.assert_allclose(Z, expected, rtol=0, atol=tol * np.abs(expected).max())


@EVERY
@each("make", [np.asarray, sparse.csr_array])
@each("shape", [(60, 6), (24, 40)])
def test_a_weight_is_so_many_copies(estimator, make, shape):
    X, y, w = drawn(*shape)
    estimator = clone(estimator)
    if shape[1] > shape[0] and estimator.get_params().get("pca", 0) in (None, "auto"):
        estimator.set_params(pca=3)  # with more directions than samples classes are points, and all eigenvalues 0
    many = clone(estimator).fit(make(np.repeat(X, w, axis=0)), np.repeat(y, w))
    assert_same(estimator.fit(make(X), y, sample_weight=w), many, make(X))


@EVERY
def test_a_weight_of_zero_is_no_row(estimator):
    X, y, w = drawn()
    weights = np.where(w > 0, 1.0, 0.0)
    far = np.where(w[:, None] > 0, X, 1e6)  # what is not there does not matter
    without = clone(estimator).fit(X[w > 0], y[w > 0])
    assert_same(clone(estimator).fit(far, y, sample_weight=weights), without, X)
    assert_same(clone(estimator).fit(X, y, sample_weight=np.ones(len(X))), clone(estimator).fit(X, y), X)


def test_a_class_without_weight_is_no_class():
    X, y, _ = drawn()
    gone = LPP("auto", graph="supervised").fit(X, y, sample_weight=(y != 2) * 1.0)
    assert gone.components_.shape == (1, 6)
    assert_same(gone, LPP("auto", graph="supervised").fit(X[y != 2], y[y != 2]), X)


def scatters(X, y, w):
    """Within- and between-class scatter of labelled rows by their definition, one row at a time."""
    X, y, w = X[y >= 0], y[y >= 0], w[y >= 0]
    mean = w @ X / w.sum()
    within, between = np.zeros((2, X.shape[1], X.shape[1]))
    for c in np.unique(y):
        own = y == c
        centre = w[own] @ X[own] / w[own].sum()
        between += w[own].sum() * np.outer(centre - mean, centre - mean)
        for x, weight in zip(X[own], w[own], strict=True):
            within += weight * np.outer(x - centre, x - centre)
    return within, between


def test_fractions_against_the_definition():
    X, y, _ = drawn()
    w = np.random.default_rng(1).uniform(0.1, 2, len(X))
    within, between = scatters(X, y, w)
    values, V = np.linalg.eigh(within - between)
    mmc = MMC(2, pca=None, standardize=False).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(mmc.eigenvalues_, values[:2], rtol=1e-10)
    assert subspace_angles(mmc.components_.T, V[:, :2]).max() < 1e-8
    values, V = eigh(within, within + between)
    lda = LPP(2, graph=SameClass(), pca=None, ridge=0.0, standardize=False).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(lda.eigenvalues_, values[:2], rtol=1e-10)
    assert subspace_angles(lda.components_.T, V[:, :2]).max() < 1e-8
    scores = FisherScore().fit(X, y, sample_weight=w).scores_
    np.testing.assert_allclose(scores, np.diag(between) / np.diag(within), rtol=1e-10)


def test_precomputed_kernels():
    X, y, w = drawn()
    K, model = (X @ X.T + 1) ** 2, KernelLPP(2, graph="supervised", kernel="precomputed", pca=5)
    with pytest.raises(ValueError, match=r"sample_weight has zeros; .*leave those rows and columns out"):
        clone(model).fit(K, y, sample_weight=w)
    kept, many = np.flatnonzero(w), np.repeat(np.arange(len(X)), w)
    model.fit(K[np.ix_(kept, kept)], y[kept], sample_weight=w[kept])
    repeated = clone(model).fit(K[np.ix_(many, many)], y[many])
    Z = model.transform(K[:, kept])
    np.testing.assert_allclose(Z, repeated.transform(K[:, many]), atol=1e-9 * np.abs(Z).max())


@pytest.mark.parametrize(
    "estimator",
    [
        MMC(2),
        LPP(2, graph="supervised"),
        LPP(2, graph=SameClass(balance=True), penalty=OtherClass()),
        FisherScore(2),
        LaplacianScore(2, graph="supervised"),
    ],
    ids=str,
)
@pytest.mark.parametrize("standardize", [False, True])
def test_rows_in_blocks(estimator, standardize):
    X, y, w = drawn(1000)
    if "standardize" in estimator.get_params():
        estimator = clone(estimator).set_params(standardize=standardize)
    w = w + 0.5 * (w > 0) * (y >= 0)  # parts of a sample; of unlinked ones they would count as components
    with config_context(working_memory=0.9 * X.nbytes / 2**20):
        there = clone(estimator).fit(da.from_array(X, chunks=(130, 6)), y, sample_weight=w)
    assert_same(there, clone(estimator).fit(X, y, sample_weight=w), X)


REFUSED = [
    (LPP(), "KNN"),
    (LPP(graph=SameClass() + KNN(3)), "KNN"),
    (LPP(graph=SameClass("heat")), "heat"),
    (LPP(graph=SameClass(), penalty=15), "Repulsion"),
    (OLPP(graph=Precomputed(np.ones((60, 60)))), "Precomputed"),
    (LaplacianScore(), "KNN"),
    (MFA(), "KNN"),
    (KernelLPP(graph=SameClass(), landmarks=10), "landmarks"),
    (LaplacianEigenmaps(), "place for each row"),
    (TSA(image_shape=(-1, 1)), "one by one"),
    (LPI(graph=SameClass()), "one by one"),
]


@pytest.mark.parametrize(("estimator", "why"), REFUSED, ids=lambda part: str(part)[:60])
def test_where_rows_are_counted_weights_are_refused(estimator, why):
    X, y, w = drawn()
    with pytest.raises(ValueError, match=f"sample_weight does not act.*{why}"):
        estimator.fit(abs(X), y, sample_weight=w)
    assert not [name for name in vars(estimator) if name.endswith("_")]


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        (np.ones(59), "59.*60 samples"),
        (np.ones((60, 1)), "60 samples"),
        (-np.ones(60), "60 negative"),
        (np.zeros(60), "zero"),
        (np.eye(60)[0], "one sample"),
        (np.full(60, np.nan), "NaN"),
    ],
)
def test_wrong_weights(weights, why):
    X, y, _ = drawn()
    with pytest.raises(ValueError, match=why):
        MMC().fit(X, y, sample_weight=weights)


def test_routing_knows_where_weights_act():
    """Metadata routing knows the name where it may act, and ``fit`` says where it does not."""
    for estimator in (MMC(), FisherScore(), LPP(graph="supervised"), KernelLPP(graph=SameClass())):
        assert pickle.loads(pickle.dumps(estimator.fit)).__func__ is type(estimator).fit
        assert hasattr(estimator, "set_fit_request")
        assert "sample_weight" in type(estimator).fit.__doc__
    assert "sample_weight" not in inspect.signature(LaplacianEigenmaps.fit).parameters
    assert not hasattr(LaplacianEigenmaps(), "set_fit_request")


@pytest.mark.skipif(
    tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 7), reason="its pipelines route no scores"
)
def test_metadata_routing():
    X, y, w = drawn()
    X, y, w = X[y >= 0], y[y >= 0], w[y >= 0]
    with config_context(enable_metadata_routing=True):
        judge = KNeighborsClassifier(3).set_score_request(sample_weight=True)
        reducer = LPP(2, graph="supervised").set_fit_request(sample_weight=True)
        pipeline = make_pipeline(reducer, judge).fit(X, y, sample_weight=w)
        search = GridSearchCV(pipeline, {"lpp__ridge": [0.1, 1.0]}, cv=3, error_score="raise")
        search.fit(X, y, sample_weight=w)
    expected = LPP(2, graph="supervised").fit(X, y, sample_weight=w)
    assert_same(pipeline[0], expected, X)
    best = LPP(2, graph="supervised", ridge=search.best_params_["lpp__ridge"]).fit(X, y, sample_weight=w)
    assert_same(search.best_estimator_[0], best, X)
    old = make_pipeline(LPP(2, graph="supervised"), KNeighborsClassifier(3)).fit(X, y, lpp__sample_weight=w)
    assert_same(old[0], expected, X)


class Weighed:
    """``fit`` with ``sample_weight`` in its signature, where scikit-learn looks for it."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, y, sample_weight=sample_weight)


class WeighedLPP(Weighed, LPP):
    pass


class WeighedOLPP(Weighed, OLPP):
    pass


class WeighedKernelLPP(Weighed, KernelLPP):
    pass


@pytest.mark.parametrize(
    "estimator",
    [
        WeighedLPP(1, graph=SameClass(balance=True)),
        WeighedKernelLPP(1, graph=SameClass()),
        WeighedOLPP(1, graph=-Complete()),
    ],
    ids=named,
)
def test_scikit_learn_with_weights(estimator):
    """Of these, unlike of their defaults, scikit-learn checks that weights equal repetition."""
    found = check_estimator(estimator, on_skip=None)
    assert "check_sample_weight_equivalence_on_sparse_data" in [check["check_name"] for check in found]


def test_balance_is_the_mean_of_the_classes():
    X, y, _ = drawn()
    known = y >= 0
    sizes = np.bincount(y[known])
    W = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        for j in range(len(X)):
            if known[i] and y[i] == y[j]:
                W[i, j] = sizes.sum() / (3 * sizes[y[i]]) / sizes[y[i]]
    ((_, L, D),) = SameClass(balance=True).build(X, y)
    np.testing.assert_allclose(L.toarray(), np.diag(W.sum(axis=1)) - W, atol=1e-14)
    np.testing.assert_allclose(D.toarray(), np.diag(W.sum(axis=1)), atol=1e-14)
    np.testing.assert_allclose([D.diag[y == c].sum() for c in range(3)], sizes.sum() / 3)
    # A discriminant analysis in which every class has the same prior.
    within = sum(np.cov(X[y == c].T, bias=True) for c in range(3)) / 3
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    between = np.cov(means.T, bias=True)
    values, V = eigh(within, within + between)
    found = LPP(2, graph=SameClass(balance=True), pca=None, ridge=0.0, standardize=False).fit(X, y)
    np.testing.assert_allclose(found.eigenvalues_, values[:2], rtol=1e-10)
    assert subspace_angles(found.components_.T, V[:, :2]).max() < 1e-8
    np.testing.assert_allclose(found.mean_, means.mean(axis=0))


@pytest.mark.parametrize(
    "estimator",
    [
        LPP(2, graph=SameClass(balance=True), pca=None),
        OLPP(2, graph=SameClass(balance=True), pca=None),
        KernelLPP(2, graph=SameClass(balance=True), kernel="linear", ridge=0.0, pca=None),
        LaplacianScore(2, graph=SameClass(balance=True)),
    ],
    ids=str,
)
def test_balanced_classes_may_be_of_any_size(estimator):
    """A class of which each row comes four times has no more say than before."""
    X, y, _ = drawn()
    X, y = X[y >= 0], y[y >= 0]
    if "standardize" in estimator.get_params():
        estimator = clone(estimator).set_params(standardize=False)
    more = np.repeat(np.arange(len(X)), np.where(y == 0, 4, 1))
    few, many = clone(estimator).fit(X, y), clone(estimator).fit(X[more], y[more])
    plain = clone(estimator).set_params(graph=SameClass())
    plain_few, plain_many = clone(plain).fit(X, y), clone(plain).fit(X[more], y[more])
    if hasattr(few, "scores_"):
        np.testing.assert_allclose(many.scores_, few.scores_, rtol=1e-10)
        assert not np.allclose(plain_many.scores_, plain_few.scores_, rtol=1e-2)
    else:
        assert directions_apart(few, many, X) < 1e-7
        assert directions_apart(plain_few, plain_many, X) > 1e-2


def directions_apart(one, other, X):
    return subspace_angles(*(Z - Z.mean(axis=0) for Z in (one.transform(X), other.transform(X)))).max()


def test_balance_in_grids_and_files(tmp_path):
    X, y, _ = drawn()
    model = LPP(2, graph=SameClass(balance=True)).fit(X, y)
    lapwing.save(model, tmp_path / "model")
    np.testing.assert_array_equal(lapwing.load(tmp_path / "model").transform(X), model.transform(X))
    assert repr(model.graph_) == "SameClass(balance=True)"
    assert model.set_params(graph__balance=False).graph.balance is False


def test_balanced_heat():
    X, y, _ = drawn()
    check_graph(SameClass("heat", balance=True))
    check_graph(SameClass(balance=True))
    ((_, _, D),) = SameClass("heat", balance=True).build(X, y)
    ((_, _, plain),) = SameClass("heat").build(X, y)
    totals = [D.diag[y == c].sum() for c in range(3)]
    np.testing.assert_allclose(totals, plain.diag.sum() / 3)
    with pytest.raises(ValueError, match="balance"):
        SameClass(balance="yes").build(X, y)


@each("name", lapwing.methods.METHODS)
def test_weights_equal_repetition_or_are_refused(name):
    """Whatever the method, with the class graph: never are weights passed over."""
    X, y, weights = drawn()
    y = np.abs(y)
    estimator = getattr(lapwing, name)(2)
    given = {"graph": "supervised", "background": 0, "pca": 5}
    estimator.set_params(**{key: value for key, value in given.items() if key in estimator.get_params()})
    found = o.outcome(lambda: clone(estimator).fit(X, y, sample_weight=weights))
    if isinstance(found, str):
        assert "sample_weight" in found or name == "LSDA"  # which splits a graph of neighbours
        assert name == "LSDA" or not hasattr(estimator, "partial_fit")
        return
    copies = np.repeat(np.arange(len(X)), weights)
    assert_same(found, clone(estimator).fit(X[copies], y[copies]), X, 1e-8)
