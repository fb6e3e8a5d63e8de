"""Every linear method against its definition, in every shape of data."""

from contextlib import nullcontext
from functools import cache
from inspect import signature
from typing import NamedTuple

import numpy as np
import oracles as o
import pytest
from helpers import each, literal
from limits import large_from
from scipy import sparse
from scipy.sparse.linalg import eigsh
from sklearn.base import clone
from sklearn.decomposition import PCA

from lapwing import DNE, LFDA, LPCA, LPDP, LPP, LSDA, MFA, MMC, NPE, OLPP, ONPP
from lapwing.graphs import (
    KNN,
    CodingLength,
    LocalClass,
    OtherClass,
    Pairs,
    Reconstruction,
    Repulsion,
    SameClass,
    TangentAlignment,
)


class Case(NamedTuple):
    """An estimator and ``terms(X, y)``: signed graphs [(coefficient, (L, D))], with the n x n constraint of ``B``.

    ``B`` is "D" (degrees of what attracts), None (orthogonal), or a function of X and y.
    """

    estimator: object
    terms: object
    B: object = "D"
    supervised: bool = True


def eye(X, y):
    return np.eye(len(X))


def same(a, b):
    return o.both_known(a, b) and a == b


def other(a, b):
    return o.both_known(a, b) and a != b


def margin(X, y):
    return [(2, o.same_class(X, y)), (-1, o.complete(X, y, among="labelled"))]


def pairs(X, y):
    W = np.zeros((2, len(X), len(X)))
    for sign, i, j in ((0, 0, 5), (0, 1, 9), (1, 2, 7)):
        W[sign, i, j] = W[sign, j, i] = 1
    return [(1, o.laplacian(W[0])), (-1, o.laplacian(W[1]))]


def trace_ratio(graph):
    return graph - 0.2 * Repulsion(9)


CASES = {
    "LPP": Case(literal(LPP), lambda X, y: [(1, o.knn(X, y, 5))], supervised=False),
    "LPP-int": Case(literal(LPP, graph=7), lambda X, y: [(1, o.knn(X, y, 7))], supervised=False),
    "LPP-cosine": Case(
        literal(LPP, graph=KNN(5, weights="cosine")),
        lambda X, y: [(1, o.knn(X, y, 5, weights="cosine"))],
        supervised=False,
    ),
    "LPP-dot": Case(
        literal(LPP, graph=KNN(5, weights="dot")), lambda X, y: [(1, o.knn(X, y, 5, weights="dot"))], supervised=False
    ),
    "LPP-reconstruction": Case(
        literal(LPP, graph=Reconstruction(5)), lambda X, y: [(1, o.reconstruction(X, y, 5))], supervised=False
    ),
    "LPP-class": Case(literal(LPP, graph=SameClass()), lambda X, y: [(1, o.same_class(X, y))]),
    "LPP-semi": Case(
        literal(LPP, graph=KNN(5) + 0.3 * SameClass()), lambda X, y: [(1, o.knn(X, y, 5)), (0.3, o.same_class(X, y))]
    ),
    "LPP-R": Case(
        literal(LPP, graph=KNN(5) - 0.2 * Repulsion(9)),
        lambda X, y: [(1, o.knn(X, y, 5)), (-0.2, o.repulsion(X, y, 9))],
    ),
    "LPP-R-normalized": Case(
        literal(LPP, graph=KNN(5) - 0.2 * Repulsion(9, normalized=True)),
        lambda X, y: [(1, o.knn(X, y, 5)), (-0.2, o.repulsion(X, y, 9, normalize=True))],
    ),
    "LPP-R-trace": Case(
        literal(LPP, graph=trace_ratio(SameClass()), normalize="trace"),
        lambda X, y: [(1, o.same_class(X, y)), (-0.2, o.repulsion(X, y, 9))],
    ),
    "LPP-ratio": Case(
        literal(LPP, graph=KNN(5), penalty=Repulsion(9, weights="binary")),
        lambda X, y: [(1, o.knn(X, y, 5))],
        lambda X, y: o.repulsion(X, y, 9, weights="binary")[0],
    ),
    "LPP-ratio-int": Case(
        literal(LPP, graph=5, penalty=9), lambda X, y: [(1, o.knn(X, y, 5))], lambda X, y: o.repulsion(X, y, 9)[0]
    ),
    "LPP-mean": Case(literal(LPP, center="mean"), lambda X, y: [(1, o.knn(X, y, 5))], supervised=False),
    "LPP-printed": Case(LPP(preset="paper"), lambda X, y: [(1, o.knn(X, y, 5))], supervised=False),
    "NPE-printed": Case(NPE(preset="paper"), lambda X, y: [(1, o.reconstruction(X, y, 5))], eye, supervised=False),
    "LPP-uncentred": Case(literal(LPP, center=False), lambda X, y: [(1, o.knn(X, y, 5))], supervised=False),
    "OLPP": Case(literal(OLPP), lambda X, y: [(1, o.knn(X, y, 5))], None, supervised=False),
    "OLPP-uncentred": Case(literal(OLPP, center=False), lambda X, y: [(1, o.knn(X, y, 5))], None, supervised=False),
    "OLPP-pairs": Case(
        literal(OLPP, graph=KNN(5) + Pairs(must_link=[[0, 5], [9, 1]], cannot_link=[[7, 2]])),
        lambda X, y: [(1, o.knn(X, y, 5)), *pairs(X, y)],
        None,
        supervised=False,
    ),
    "OLPP-R": Case(
        literal(OLPP, graph=trace_ratio(SameClass()), normalize="trace"),
        lambda X, y: [(1, o.same_class(X, y)), (-0.2, o.repulsion(X, y, 9))],
        None,
    ),
    "NPE": Case(literal(NPE), lambda X, y: [(1, o.reconstruction(X, y, 5))], eye, supervised=False),
    "NPE-class": Case(
        literal(NPE, graph=Reconstruction(5, reg=0.01, among="same_class")),
        lambda X, y: [(1, o.reconstruction(X, y, 5, reg=0.01, among="same_class"))],
        eye,
    ),
    "NPE-knn": Case(literal(NPE, graph=KNN(5)), lambda X, y: [(1, o.knn(X, y, 5))], eye, supervised=False),
    "ONPP": Case(literal(ONPP, graph=7), lambda X, y: [(1, o.reconstruction(X, y, 7))], None, supervised=False),
    "ONPP-R": Case(
        literal(ONPP, graph=trace_ratio(Reconstruction(5, among="same_class")), normalize="trace"),
        lambda X, y: [(1, o.reconstruction(X, y, 5, among="same_class")), (-0.2, o.repulsion(X, y, 9))],
        None,
    ),
    "MMC": Case(literal(MMC), margin, None),
    "LPDP": Case(
        literal(LPDP, graph=5),
        lambda X, y: [(1, o.knn(X, y, 5, weights="binary")), *margin(X, y)],
        lambda X, y: o.knn(X, y, 5, weights="binary")[1],
    ),
    "LPDP-heat": Case(
        literal(LPDP, alpha=0.05, graph=KNN(7)),
        lambda X, y: [(1, o.knn(X, y, 7)), *((0.05 * c, G) for c, G in margin(X, y))],
        lambda X, y: o.knn(X, y, 7)[1],
    ),
    "MFA": Case(
        literal(MFA, graph=3, penalty=20),
        lambda X, y: [(1, o.knn(X, y, 3, weights="binary", among="same_class"))],
        lambda X, y: o.closest_pairs(X, y, 20)[0],
    ),
    "MFA-default": Case(
        literal(MFA),
        lambda X, y: [(1, o.knn(X, y, 5, weights="binary", among="same_class"))],
        lambda X, y: o.closest_pairs(X, y, 20)[0],
    ),
    "DNE": Case(
        literal(DNE),
        lambda X, y: [
            (1, o.laplacian(o.knn_weights(X, y, 5, "binary", keep=same))),
            (-1, o.laplacian(o.knn_weights(X, y, 5, "binary", keep=other))),
        ],
        None,
    ),
    "DNE-heat": Case(
        literal(DNE, graph=(KNN(7) & SameClass()) - 0.5 * (KNN(7) & OtherClass())),
        lambda X, y: [
            (1, o.laplacian(o.knn_weights(X, y, 7, keep=same))),
            (-0.5, o.laplacian(o.knn_weights(X, y, 7, keep=other))),
        ],
        None,
    ),
    "LFDA": Case(literal(LFDA), lambda X, y: [(1, o.local_within(X, y))], lambda X, y: o.local_mixture(X, y)[0]),
    "LFDA-int": Case(
        literal(LFDA, graph=3),
        lambda X, y: [(1, o.local_within(X, y, 3))],
        lambda X, y: o.local_mixture(X, y, 3)[0],
    ),
    "LFDA-class": Case(
        literal(LFDA, graph="supervised"),
        lambda X, y: [(1, o.same_class(X, y))],
        lambda X, y: o.complete(X, y, among="labelled")[0],
    ),
    "LPP-local-class": Case(literal(LPP, graph=LocalClass(4)), lambda X, y: [(1, o.local_within(X, y, 4))]),
    "LSDA": Case(
        literal(LSDA, alpha=0.5),
        lambda X, y: [
            (0.5, o.laplacian(o.knn_weights(X, y, 5, "binary", keep=same))),
            (-0.5, o.laplacian(o.knn_weights(X, y, 5, "binary", keep=other))),
        ],
        lambda X, y: o.laplacian(o.knn_weights(X, y, 5, "binary", keep=same))[1],
    ),
    "LSDA-heat": Case(
        literal(LSDA, graph=KNN(7), alpha=0.1),
        lambda X, y: [
            (0.9, o.laplacian(o.knn_weights(X, y, 7, keep=same))),
            (-0.1, o.laplacian(o.knn_weights(X, y, 7, keep=other))),
        ],
        lambda X, y: o.laplacian(o.knn_weights(X, y, 7, keep=same))[1],
    ),
    "LPCA": Case(literal(LPCA), lambda X, y: [(-1, o.local_scatter(X, y, 5))], None, supervised=False),
    "LPCA-int": Case(literal(LPCA, graph=2), lambda X, y: [(-1, o.local_scatter(X, y, 2))], None, supervised=False),
    "LPCA-distance": Case(
        literal(LPCA, graph=CodingLength(4, weights="distance")),
        lambda X, y: [(-1, o.local_scatter(X, y, 4, "distance"))],
        None,
        supervised=False,
    ),
    "LPCA-uniform": Case(
        literal(LPCA, graph=CodingLength(4, weights="uniform")),
        lambda X, y: [(-1, o.local_scatter(X, y, 4, "uniform"))],
        None,
        supervised=False,
    ),
    "LPP-coding-length": Case(
        literal(LPP, graph=CodingLength(5)), lambda X, y: [(1, o.local_scatter(X, y, 5))], supervised=False
    ),
    "OLPP-tangential": Case(
        literal(OLPP, graph=TangentAlignment(6, n_components=2)),
        lambda X, y: [(1, o.tangent_alignment(X, y, 6, 2))],
        None,
        supervised=False,
    ),
    "NPE-tangential": Case(
        literal(NPE, graph=TangentAlignment(9, n_components=3, weights="uniform", include_self=False)),
        lambda X, y: [(1, o.tangent_alignment(X, y, 9, 3, "uniform", False))],
        eye,
        supervised=False,
    ),
}


def centre_of(estimator):
    """Where the printed constraint changes with the mean, the paper subtracts nothing."""
    printed = estimator.center == "auto" and type(estimator) in (LPP, LPDP, LSDA, NPE)
    return False if printed else estimator.center


def by_trace(estimator):
    """Whether matrices are scaled to trace 1."""
    return getattr(estimator, "normalize", None) == "trace"


def automatic(estimator, n_components):
    """The same with the library's own rule for truncation and ridge."""
    rule = {name: "auto" for name in ("pca", "ridge") if hasattr(estimator, name)}
    rule |= {"standardize": False, "center": centre_of(estimator), "preset": "measured"}
    if getattr(estimator, "normalize", None) == "auto":
        rule["normalize"] = None
    return clone(estimator).set_params(n_components=n_components, **rule)


# The map and the solution know nothing of the graph: one case for each constraint and centre in every regime, and the other
# graphs on rows that are dense, sparse, and repeated. With labels unknown, where the range of B may be smaller than that of X.
EVERYWHERE = {
    "LPP",
    "LPP-class",
    "LPP-semi",
    "LPP-R-trace",
    "LPP-ratio",
    "LPP-mean",
    "LPP-uncentred",
    "OLPP",
    "OLPP-uncentred",
}
EVERYWHERE |= {"NPE", "ONPP-R", "MMC", "LPDP", "MFA", "DNE", "LPCA"}
SOMEWHERE = ("tall", "sparsified", "deficient", "deficient_sparse_wide")
PARTLY = (*SOMEWHERE, "wide")


def turns(first, second):
    """Pairs of the first with every other one of the second, in turns: each of both occurs, and each with half of the others."""
    return [(a, b) for i, a in enumerate(first) for j, b in enumerate(second) if (i + j) % 2 == 0]


def labels_in_turn(turn, name, regime):
    """Where labels act, every other shape of data has some that are unknown; which ones changes from case to case."""
    return "some-unknown" if CASES[name].supervised and regime in PARTLY and turn % 2 else "labels"


TABLE = [
    pytest.param(name, regime, labels_in_turn(i // 2 + j, name, regime), id=f"{name}-{regime}")
    for i, name in enumerate(CASES)
    for j, regime in enumerate(o.REGIMES if name in EVERYWHERE else SOMEWHERE[i % 2 :: 2])
]


@cache
def data(regime, labels):
    X, y = o.REGIMES[regime]()
    return X, o.unlabelled(y) if labels == "some-unknown" else y


@cache
def graphs_of(name, regime, labels):
    X, y = data(regime, labels)
    return CASES[name].terms(o.dense(X), y)


@cache
def definition(name, regime, labels, ridge=0.0, per=None):
    """All eigenvalues and directions, the n x n constraint (None when orthogonal), and the centred X."""
    case, (X, y) = CASES[name], data(regime, labels)
    X, graphs = o.dense(X), graphs_of(name, regime, labels)
    B = sum(c * D for c, (_, D) in graphs if c > 0) if isinstance(case.B, str) else case.B and case.B(X, y)
    terms, center = [(c, L) for c, (L, _) in graphs], centre_of(case.estimator)
    values, V = o.solve(X, terms, B, center, by_trace(case.estimator), ridge, per)
    return values, V, B, o.centred(X, B, center)


@each(("name", "regime", "labels"), TABLE)
def test_agrees_with_the_definition(name, regime, labels):
    check_the_first_components(name, regime, labels)
    check_as_many_components_as_the_rank(name, regime, labels)


def check_the_first_components(name, regime, labels):
    values, V, _, Xc = definition(name, regime, labels)
    k = o.gap(values)
    unit = {"scaling": "unit"} if hasattr(CASES[name].estimator, "scaling") else {}
    estimator = clone(CASES[name].estimator).set_params(n_components=k, **unit).fit(*data(regime, labels))
    assert o.angle(estimator.components_, V[:, :k].T) < 1e-6
    np.testing.assert_allclose(np.linalg.norm(estimator.components_, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(estimator.eigenvalues_, values[:k], rtol=1e-8, atol=1e-10 * np.abs(values).max())
    assert estimator.rank_ == len(values)
    embedded = estimator.transform(data(regime, labels)[0])
    np.testing.assert_allclose(embedded, Xc @ estimator.components_.T, atol=1e-10 * np.abs(Xc).max())


def check_as_many_components_as_the_rank(name, regime, labels):
    """All of them hold the constraint, ``pca="auto"`` may leave none out, and one more raises."""
    values, _, B, Xc = definition(name, regime, labels)
    whole = clone(CASES[name].estimator).set_params(n_components=len(values))
    V = whole.fit(*data(regime, labels)).components_
    product = V @ V.T if B is None else V @ Xc.T @ B @ Xc @ V.T
    # Squares of columns that differ by 10^4 lose eight digits, in the product above too.
    np.testing.assert_allclose(product, np.eye(len(values)), atol=1e-7 if regime == "scaled" else 1e-8)
    np.testing.assert_allclose(whole.eigenvalues_, values, rtol=1e-7, atol=1e-10 * np.abs(values).max())
    default = automatic(CASES[name].estimator, len(values)).fit(*data(regime, labels))
    assert default.components_.shape[0] == default.rank_ == whole.rank_ == len(values)
    if labels == "labels":
        with pytest.raises(ValueError, match=rf"n_components={len(values) + 1} .*\b{len(values)}\b"):
            whole.set_params(n_components=len(values) + 1).fit(*data(regime, labels))


@each("name", CASES)
def test_wide_dense_equals_its_sparse_copy(name):
    X, y = data("wide", "labels")
    estimator = clone(CASES[name].estimator).set_params(pca=None)
    estimator = o.gap_fit(estimator, X, y)
    V = clone(estimator).fit(sparse.csr_array(X), y).components_
    assert o.angle(estimator.components_, V) < 1e-8


PROJECTED = [
    literal(LPP, 3, graph=7),
    literal(LPP, 3, graph=SameClass()),
    literal(OLPP, 3),
    literal(NPE, 3),
    literal(ONPP, 3),
    literal(MMC, 3),
    literal(LPDP, 3),
    literal(MFA, 3),
    literal(DNE, 3),
]


@pytest.mark.parametrize(
    ("estimator", "regime", "share"),
    [
        (estimator, regime, (5, 0.8, 1.0)[(i + j) % 3])
        for i, estimator in enumerate(PROJECTED)
        for j, regime in enumerate(["tall", "wide", "sparsified", "deficient"])
    ],
)
def test_pca_is_a_projection_about_the_plain_mean(estimator, regime, share):
    """The graph is built on X as given; the pencil lives on the principal coordinates."""
    X, y = data(regime, "labels")
    scores = PCA().fit(o.dense(X))
    rank = np.sum(scores.explained_variance_ratio_ > 1e-14)
    energies = np.cumsum(scores.explained_variance_ratio_)
    p = share if isinstance(share, int) else rank if share == 1 else 1 + np.sum(energies < share)
    N = scores.components_[:p].T
    problem = estimator.problem(X, y)
    B = problem.subject_to.toarray() if hasattr(problem.subject_to, "toarray") else None
    terms = [(term.coefficient, term.laplacian.toarray()) for term in problem.minimise]
    values, V = o.solve((o.dense(X) - scores.mean_) @ N, terms, B)
    fitted = clone(estimator).set_params(pca=share, n_components=o.gap(values)).fit(X, y)
    assert fitted.n_pca_ == p
    assert o.angle(fitted.components_, (N @ V).T[: o.gap(values)]) < 1e-6


def test_few_principal_directions_of_large_data():
    """Where a truncated decomposition is cheaper."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((700, 560)) * np.geomspace(30, 1, 560)
    estimator = literal(OLPP, 2, pca=6).fit(X)
    scores = PCA(6, svd_solver="full").fit(X)
    (term,) = KNN(5).build(X)
    values, V = o.solve(scores.transform(X), [(1, term.laplacian.toarray())])
    assert estimator.n_pca_ == 6
    assert o.angle(estimator.components_, (scores.components_.T @ V[:, :2]).T) < 1e-6
    np.testing.assert_allclose(estimator.eigenvalues_, values[:2], rtol=1e-8)


LARGE = ["LPP", "LPP-cosine", "LPP-class", "LPP-semi", "LPP-R", "LPP-mean", "LPDP", "NPE"]
REGULARISED = [*LARGE, "LPP-R-trace", "LPP-ratio", "MFA"]
SPARSE = [regime for regime in o.REGIMES if "sparse" in regime or regime == "sparsified"]


def check_ridge(name, regime, ridge, tol, large=False):
    rows = sparse.csr_array(data(regime, "labels")[0]).toarray()
    per = min(len(rows) - 1, np.count_nonzero(np.ptp(rows, axis=0))) if large else None  # rows about their mean
    values, V, _, _ = definition(name, regime, "labels", ridge, per)
    k = o.gap(values)
    estimator = clone(CASES[name].estimator).set_params(n_components=k, pca=None, ridge=ridge)
    estimator.fit(*data(regime, "labels"))
    assert o.angle(estimator.components_, V[:, :k].T) < 1e-6
    np.testing.assert_allclose(estimator.eigenvalues_, values[:k], rtol=tol, atol=tol / 100)
    return estimator


@each(
    ("name", "regime", "ridge"),
    [("LPP", regime, 0.01) for regime in o.REGIMES]
    + [(name, regime, 0.01) for name, regime in turns(REGULARISED, o.REGIMES)]
    + [(name, regime, 2.0) for name, regime in turns(REGULARISED, SOMEWHERE)],
)
def test_ridge(name, regime, ridge):
    assert check_ridge(name, regime, ridge, 1e-8).rank_ == len(definition(name, regime, "labels")[0])


def refused_by_an_old_scipy(regime):
    """X has 11 columns and a lower rank, so that a Krylov space ends, beyond which SciPy before 1.17 finds no vector."""
    if regime == "deficient_sparse" and "rng" not in signature(eigsh).parameters:
        return pytest.raises(ValueError, match=r"Lanczos found no .* of 11 rows.* pca=")
    return nullcontext()


@pytest.fixture
def small_is_large(monkeypatch):
    """Sparse X as small as the tests' takes the route of one too large for a dense Gram matrix."""
    large_from(monkeypatch, 5)


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize(
    ("name", "regime", "ridge"),
    [("LPP", regime, 0.01) for regime in SPARSE]
    + [(name, regime, 0.01) for name, regime in turns(LARGE[1:], ("sparsified", "deficient_sparse_wide"))]
    + [(name, regime, 2.0) for name, regime in turns(("LPP", "LPP-R", "NPE"), ("sparsified", "deficient_sparse_wide"))],
)
def test_ridge_of_large_sparse_data(name, regime, ridge):
    with refused_by_an_old_scipy(regime):
        assert check_ridge(name, regime, ridge, 1e-6, large=True).rank_ is None


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("regime", SPARSE)
def test_ridge_of_large_sparse_data_with_eigenvalues_above_one(regime):
    with refused_by_an_old_scipy(regime):
        check_ridge("NPE-knn", regime, 2.0, 1e-6, large=True)


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("regime", SPARSE)
@pytest.mark.parametrize("name", ["LPP", "NPE"])
def test_more_components_than_the_rank_of_large_sparse_data(name, regime):
    rank = len(definition(name, regime, "labels")[0])
    with pytest.raises(ValueError, match=rf"n_components={rank + 1}\b"):
        clone(CASES[name].estimator).set_params(n_components=rank + 1).fit(*data(regime, "labels"))


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize(("estimator", "regime"), turns(PROJECTED, SPARSE), ids=str)
def test_pca_of_large_sparse_data(estimator, regime):
    test_pca_is_a_projection_about_the_plain_mean(estimator, regime, 5)


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("estimator", PROJECTED, ids=str)
def test_default_of_large_sparse_data(estimator):
    X, y = data("sparse_wide", "labels")
    Z = automatic(estimator, 2).fit(X, y).transform(X)
    assert np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False)[1] > 1e-6


def test_default_never_lacks_directions():
    """The penalty of MFA sees only a feature of little variance, which 90 % of the energy leaves out."""
    rows = o.blobs(20, 5)[0]
    X = np.vstack([np.c_[rows, np.zeros(20)], np.c_[rows, np.full(20, 0.01)]])
    y = np.repeat([0, 1], 20)
    assert literal(MFA, 1, pca=None).fit(X, y).rank_ == 1
    assert MFA(1).fit(X, y).components_.shape == (1, 6)
