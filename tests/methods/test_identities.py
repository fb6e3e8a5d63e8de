"""What the linear methods are equal to, and what must not change them."""

from functools import cache

import numpy as np
import oracles as o
import pytest
from helpers import literal
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from lapwing import DNE, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP
from lapwing.graphs import KNN, ClosestPairs, Complete, OtherClass, Precomputed, Reconstruction, Repulsion, SameClass

X, Y = o.blobs(90, 24)
WIDE, WIDE_Y = o.wide()
NEAR = KNN(5, weights="binary")

EVERY = {
    "LPP": literal(LPP),
    "LPP-class": literal(LPP, graph=SameClass()),
    "LPP-ratio": literal(LPP, penalty=Repulsion(15, weights="binary")),
    "LPP-semi": literal(LPP, graph=KNN(5) + SameClass()),
    "OLPP": literal(OLPP),
    "OLPP-R": literal(OLPP, graph=SameClass() - 0.2 * Repulsion(15, weights="binary"), normalize="trace"),
    "NPE": literal(NPE),
    "ONPP": literal(ONPP),
    "MMC": literal(MMC),
    "LPDP": literal(LPDP),
    "MFA": literal(MFA),
    "DNE": literal(DNE),
}
AS_GIVEN = {  # their weights read X as given, so a translation changes them
    "LPP-cosine": literal(LPP, graph=KNN(5, weights="cosine")),
    "LPP-dot": literal(LPP, graph=KNN(5, weights="dot")),
    "OLPP-R-inverse": literal(OLPP, graph=SameClass() - 0.2 * Repulsion(15), normalize="trace"),
}
every = pytest.mark.parametrize("name", EVERY)
every_and_as_given = pytest.mark.parametrize("name", EVERY | AS_GIVEN)
both_pca = pytest.mark.parametrize("pca", [None, "auto"])


def made(name, pca=None):
    return clone((EVERY | AS_GIVEN)[name]).set_params(pca=pca)


@cache
def fitted(name, pca=None, regime=None):
    """With as many components as lead to a gap; to be looked at, not to be changed."""
    return o.gap_fit(made(name, pca), *(o.REGIMES[regime]() if regime else (X, Y)))


def same_space(first, second, tol=1e-8):
    assert o.angle(first.components_, second.components_) < tol
    np.testing.assert_allclose(first.eigenvalues_, second.eigenvalues_, rtol=1e-7, atol=1e-9)


# --- Identities ---


@pytest.mark.parametrize("regime", ["tall", "wide", "sparsified", "deficient"])
def test_olpp_of_the_repelling_complete_graph_is_pca(regime):
    A = o.REGIMES[regime]()[0]
    pca = PCA(3).fit(o.dense(A))
    ours = literal(OLPP, 3, graph=-1 * Complete(), pca=None).fit(A)
    assert o.angle(ours.components_, pca.components_) < 1e-8
    np.testing.assert_allclose(-ours.eigenvalues_, pca.singular_values_**2)
    np.testing.assert_allclose(np.abs(ours.transform(A)), np.abs(pca.transform(o.dense(A))), atol=1e-8)


@pytest.mark.parametrize("solver", ["svd", "eigen"])
@pytest.mark.parametrize("penalty", [None, Complete()], ids=str)
def test_lpp_of_the_class_graph_is_lda(penalty, solver):
    lda = LinearDiscriminantAnalysis(solver=solver, n_components=2).fit(X, Y)
    ours = literal(LPP, 2, graph=SameClass(), penalty=penalty, pca=None).fit(X, Y)
    assert o.angle(ours.components_, lda.scalings_[:, :2].T) < 1e-8
    S_b, S_w = o.scatters(X, Y)
    ratios = eigh(S_w, S_w + S_b, eigvals_only=True)[:2]
    np.testing.assert_allclose(ours.eigenvalues_, ratios)


@pytest.mark.parametrize("y", [Y, o.unlabelled(Y)], ids=["labels", "some-unknown"])
def test_mmc_is_the_difference_of_scatters(y):
    S_b, S_w = o.scatters(X, y)
    values, V = eigh(S_b - S_w)
    ours = literal(MMC, 2, pca=None).fit(X, y)
    assert o.angle(ours.components_, V[:, -2:].T) < 1e-8
    np.testing.assert_allclose(-ours.eigenvalues_, values[:-3:-1])


def test_lpdp_is_lpp_plus_the_margin():
    whole = literal(LPDP, 24, alpha=0.7, pca=None, scaling="constraint").fit(X, Y)
    V, values = whole.components_, whole.eigenvalues_
    S_b, S_w = o.scatters(X, Y)
    L = o.knn(X, Y, 5, weights="binary")[0]
    A = X.T @ L @ X - 0.7 * (S_b - S_w)
    np.testing.assert_allclose(V @ A @ V.T, np.diag(values), atol=1e-8 * np.abs(values).max())


PRINTED = {"pca": None, "ridge": 0, "standardize": False, "normalize": None, "scaling": "constraint"}  # and centred
EQUAL = {
    "LPDP(alpha=0) = LPP": (literal(LPDP, alpha=0.0), literal(LPP, graph=NEAR)),
    "NPE = LPP of Reconstruction": (literal(NPE), literal(LPP, graph=Reconstruction(5))),
    "ONPP = OLPP of Reconstruction": (literal(ONPP), literal(OLPP, graph=Reconstruction(5))),
    "MMC = OLPP": (literal(MMC), literal(OLPP, graph=2 * SameClass() - Complete())),
    "MFA = ratio LPP": (
        literal(MFA),
        literal(LPP, graph=KNN(5, weights="binary", among="same_class"), penalty=ClosestPairs(20)),
    ),
    "DNE = OLPP": (literal(DNE), literal(OLPP, graph=(NEAR & SameClass()) - (NEAR & OtherClass()))),
    "DNE = OLPP of Repulsion": (
        literal(DNE),
        literal(OLPP, graph=(NEAR & SameClass()) - Repulsion(5, weights="binary")),
    ),
    "scale of attraction": (literal(LPP, graph=SameClass()), literal(LPP, graph=3 * SameClass())),
    "& with all pairs": (literal(LPP, graph=5), literal(LPP, graph=KNN(5) & Complete())),
    "center of D": (LPP(**PRINTED), literal(LPP, center="degree")),
    "center of I": (NPE(**PRINTED), literal(NPE, center="mean")),
    "whole energy": (literal(LPP), literal(LPP, pca=1.0)),
    "whole rank": (literal(OLPP), literal(OLPP, pca=24)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_estimators(name):
    left, right = (e if e.pca != "auto" else clone(e).set_params(pca=None) for e in EQUAL[name])
    left = o.gap_fit(left, X, Y)
    same_space(left, clone(right).set_params(n_components=len(left.components_)).fit(X, Y))


@pytest.mark.parametrize("regime", ["tall", "wide", "sparsified", "deficient"])
def test_dne_keeps_the_negative_eigenvalues_unless_told(regime):
    A, y = o.REGIMES[regime]()
    whole = literal(DNE, 1, pca=None).fit(A, y)
    values = whole.set_params(n_components=whole.rank_).fit(A, y).eigenvalues_
    kept = literal(DNE, None, pca=None).fit(A, y)
    negative = int(np.sum(values < -1e-10 * np.abs(values).max()))
    assert 0 < negative == len(kept.components_) < len(values)
    np.testing.assert_allclose(kept.eigenvalues_, values[:negative])
    assert o.angle(kept.components_, whole.components_[:negative]) < 1e-8


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"DNE"}))
def test_n_components_none_keeps_the_rank(name):
    whole = made(name).set_params(n_components=None).fit(X, Y)
    assert len(whole.components_) == len(whole.eigenvalues_) == whole.rank_


@pytest.mark.parametrize("as_sparse", [False, True])
def test_lpp_is_laplacian_eigenmaps_when_rows_are_independent(as_sparse):
    """Thesis Prop. 2, in the degree-weighted centring."""
    L, D = o.knn(WIDE, WIDE_Y, 5)
    values, U = eigh(L, D)
    assert values[1] > 1e-3  # connected: only the constant has eigenvalue 0
    A = sparse.csr_array(WIDE) if as_sparse else WIDE
    k = o.gap(values[1:])
    ours = literal(LPP, k, pca=None, scaling="constraint").fit(A)
    embedding = ours.transform(A)
    np.testing.assert_allclose(ours.eigenvalues_, values[1 : k + 1], rtol=1e-8)
    assert o.angle(embedding.T, U[:, 1 : k + 1].T) < 1e-8
    np.testing.assert_allclose(embedding.T @ D @ embedding, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(np.diag(D) @ embedding, 0, atol=1e-8)


def test_labels_act_only_through_graphs_that_read_them():
    for estimator in (literal(LPP), literal(OLPP), literal(NPE), literal(ONPP)):
        first, second = clone(estimator).fit(X), clone(estimator).fit(X, Y)
        np.testing.assert_array_equal(first.components_, second.components_)


# --- Equivariances ---


@every
@both_pca
def test_translation(name, pca):
    first = fitted(name, pca)
    shift = np.random.RandomState(1).uniform(-1e3, 1e3, X.shape[1])
    moved = clone(first).fit(X + shift, Y)
    same_space(first, moved, tol=1e-6)
    np.testing.assert_allclose(moved.mean_, first.mean_ + shift, rtol=1e-7)
    np.testing.assert_allclose(moved.transform(X + shift), first.transform(X), atol=1e-5)


@every_and_as_given
@both_pca
def test_rotation(name, pca):
    Q = np.linalg.qr(np.random.RandomState(1).standard_normal((X.shape[1],) * 2))[0]
    first = fitted(name, pca)
    turned = clone(first).fit(X @ Q, Y)
    assert o.angle(turned.components_, first.components_ @ Q) < 1e-8
    np.testing.assert_allclose(turned.eigenvalues_, first.eigenvalues_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.abs(turned.transform(X @ Q)), np.abs(first.transform(X)), atol=1e-6)


@every_and_as_given
@both_pca
def test_order_of_rows(name, pca):
    order = np.random.RandomState(1).permutation(len(X))
    same_space(fitted(name, pca), clone(fitted(name, pca)).fit(X[order], Y[order]))


@every_and_as_given
@pytest.mark.parametrize("names", [[7, 3, 5], ["b", "c", "a"], [0.0, 2.0, 1.0]], ids=str)
def test_names_of_classes(name, names):
    renamed = clone(fitted(name)).fit(X, np.array(names)[Y])
    same_space(fitted(name), renamed, tol=1e-10)


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("make", [LPP, OLPP, NPE, ONPP, DNE], ids=lambda make: make.__name__)
def test_scale_of_weights(make, as_array):
    W = o.knn_weights(X, Y, 5)
    W = W if as_array else sparse.csr_matrix(W)
    given = o.gap_fit(make(graph=W, pca=None), X, Y)
    scaled = clone(given).set_params(graph=Precomputed(7 * W)).fit(X, Y)
    assert o.angle(given.components_, scaled.components_) < 1e-8
    ratio = 1 if make is LPP else 7
    np.testing.assert_allclose(scaled.eigenvalues_, ratio * given.eigenvalues_)
    if make is LPP:
        same_space(given, o.gap_fit(literal(LPP, graph=KNN(5), pca=None), X))


@pytest.mark.parametrize("make", [LPP, MFA], ids=lambda make: make.__name__)
def test_penalty_as_a_matrix(make):
    W = o.repulsion(X, Y, 15)[0]
    W = np.diag(np.diag(W)) - W
    given = o.gap_fit(make(penalty=Repulsion(15), pca=None), X, Y)
    same_space(given, clone(given).set_params(penalty=sparse.coo_array(W)).fit(X, Y))


# --- What must not matter ---


@every_and_as_given
@pytest.mark.parametrize("kind", ["dense", "fortran", "csr", "csc", "float32"])
def test_data_is_untouched_and_may_be_read_only(name, kind):
    as_kind = {"fortran": np.asfortranarray, "csr": sparse.csr_array, "csc": sparse.csc_matrix, "float32": np.float32}
    A, y = as_kind.get(kind, np.array)(X), Y.copy()
    parts = [A.data, A.indices, A.indptr, y] if sparse.issparse(A) else [A, y]
    before = [part.tobytes() for part in parts]
    for part in parts:
        part.flags.writeable = False
    again = clone(fitted(name)).fit(A, y)
    again.transform(A)
    assert [part.tobytes() for part in parts] == before
    if kind != "float32":
        assert o.angle(again.components_, fitted(name).components_) < 1e-8


@every_and_as_given
@pytest.mark.parametrize("A", [X, sparse.csr_array(X)], ids=["dense", "sparse"])
def test_same_bits_again(name, A):
    first = made(name, "auto").fit(A, Y)
    second = clone(first).fit(A.copy(), Y.copy())
    for attribute in ("components_", "eigenvalues_", "mean_"):
        assert getattr(first, attribute).tobytes() == getattr(second, attribute).tobytes()


@every_and_as_given
def test_number_of_threads(name):
    A, y = o.blobs(60, 300) if name in ("LPP", "OLPP") else o.blobs(200, 30)
    with threadpool_limits(1):
        one = o.gap_fit(made(name), A, y)
    with threadpool_limits(2):
        two = clone(one).fit(A, y)
    same_space(one, two)


@every_and_as_given
@pytest.mark.parametrize(
    ("regime", "pca"),
    [
        ("tall", None),
        ("square", None),
        ("deficient_wide", None),
        ("sparse_wide", None),
        ("tall", "auto"),
        ("sparse_wide", "auto"),
    ],
)
def test_float32(name, pca, regime):
    A, y = o.REGIMES[regime]()
    exact = fitted(name, pca, regime)
    A = A.astype(np.float32)
    single = clone(exact).fit(A, y)
    assert single.components_.dtype == single.mean_.dtype == single.transform(A).dtype == np.float32
    assert single.rank_ == exact.rank_
    assert o.angle(single.components_, exact.components_) < 1e-3
    np.testing.assert_allclose(single.eigenvalues_, exact.eigenvalues_, rtol=1e-4, atol=1e-5)


@every_and_as_given
def test_largest_entry_of_a_component_is_positive(name):
    V = made(name, "auto").set_params(n_components=6).fit(X, Y).components_
    assert (V[np.arange(6), np.abs(V).argmax(axis=1)] > 0).all()


def test_default_graph_of_few_samples_is_recorded():
    assert literal(LPP, 1).fit(X[:4]).graph_.n_neighbors == 3
    assert literal(ONPP, 1).fit(X[:40]).graph_.n_neighbors == 5


def test_connected_components():
    apart = np.vstack([X[:20], X[:20] + 1e3])
    assert literal(OLPP).fit(apart).n_connected_components_ == 2
    assert literal(LPP, graph=SameClass()).fit(X, Y).n_connected_components_ == 3
    assert literal(LPP, graph=SameClass()).fit(X, np.where(np.arange(90) < 4, -1, Y)).n_connected_components_ == 7
    assert literal(LPP, graph=KNN(5) - 0.1 * Repulsion(5)).fit(X, Y).n_connected_components_ == 1
