"""Bad input raises a ValueError that names the parameter and the value, and leaves the estimator unfitted."""

import re
from copy import deepcopy
from functools import cache

import numpy as np
import oracles as o
import pytest
from helpers import each
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from lapwing import DNE, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP
from lapwing.graphs import (
    KNN,
    ClosestPairs,
    Complete,
    OtherClass,
    Pairs,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
)

X, Y = o.blobs(40, 6)
N = len(X)
DEFAULT = [make() for make in (LPP, OLPP, NPE, ONPP, MMC, LPDP, MFA, DNE)]
SUPERVISED = [
    MMC(),
    LPDP(),
    MFA(),
    DNE(),
    LPP(graph=SameClass()),
    LPP(penalty=Repulsion()),
    OLPP(graph=KNN(5) - Repulsion(5)),
    OLPP(graph=KNN(5) & OtherClass()),
    LPP(graph=KNN(3, among="same_class")),
    NPE(graph=Reconstruction(among="same_class")),
    OLPP(graph=-1 * Complete(among="labelled")),
]


@cache
def fitted(make):
    return make().fit(X, Y)


def refused(estimator, X_bad, y_bad, match):
    """Neither a new estimator nor one that was fitted before is fitted by bad input."""
    before = deepcopy(fitted(type(estimator))).set_params(**clone(estimator).get_params(deep=False))
    for candidate in (clone(estimator), before):
        with pytest.raises(ValueError, match=match):
            candidate.fit(X_bad, y_bad)
        assert not hasattr(candidate, "components_")
        for method in (candidate.transform, candidate.inverse_transform, candidate.get_feature_names_out):
            with pytest.raises(NotFittedError):
                method(X)


def spoilt(value, dtype=None):
    bad = X.astype(dtype or np.result_type(X, type(value)))
    bad[3, 2] = value
    return bad


BAD_X = {
    "nan": (spoilt(np.nan), "contains NaN; fill the gaps, as SimpleImputer does after lapwing.tables.Preparation"),
    "inf": (spoilt(np.inf), "infinity"),
    "sparse nan": (sparse.csr_array(spoilt(np.nan)), "NaN"),
    "sparse inf": (sparse.csr_array(spoilt(-np.inf)), "infinity"),
    "complex": (spoilt(1j), "[Cc]omplex"),
    "sparse complex": (sparse.csr_array(spoilt(1j)), "[Cc]omplex"),
    "object": (spoilt("word", object), "word"),
    "strings": (np.full((N, 6), "a"), "'?a'?"),
    "one dimension": (X[:, 0], "2D array"),
    "three dimensions": (X[:, :, None], "dim 3|3 dimensions|2D|<= 2"),
    "one sample": (X[:1], "1 sample"),
    "no sample": (X[:0], "0 sample"),
    "no feature": (X[:, :0], "0 feature"),
    "equal rows": (np.ones((N, 6)), "constant|equal"),
    "sparse equal rows": (sparse.csr_array(np.ones((N, 6))), "constant|equal"),
    "wide equal rows": (np.ones((N, 60)), "constant|equal"),
}


@pytest.mark.parametrize("pca", ["auto", None])
@pytest.mark.parametrize("kind", BAD_X)
@pytest.mark.parametrize("estimator", DEFAULT, ids=str)
def test_bad_x(estimator, kind, pca):
    bad, match = BAD_X[kind]
    refused(clone(estimator).set_params(pca=pca), bad, Y[: bad.shape[0]], match)


BAD_Y = {
    "none": (None, r"requires y|y=None|y is None"),
    "plus and minus one": (np.where(Y == 0, 1, -1), r"-1 .*\+?1.*relabel"),
    "one class": (np.zeros(N, dtype=int), "one class"),
    "one class and unknown": (np.where(Y == 0, 2, -1), "one class"),
    "one word": (np.full(N, "a"), "one class"),
    "one class of 64 bits": (np.full(N, 7, dtype=np.int64), r"one class only \(7\)"),
    "one class of objects": (np.array([np.int64(7)] * N, dtype=object), r"one class only \(7\)"),
    "plus and minus one as words": (np.where(Y == 0, "+1", "-1"), "relabel"),
    "unknown words": (np.full(N, "-1", dtype=object), "no known label"),
    "unknown": (np.full(N, -1), "-1"),
    "nan": (np.where(Y == 0, np.nan, Y), "NaN"),
    "inf": (np.where(Y == 0, np.inf, Y), "[Ii]nfinity"),
    "short": (Y[:-1], f"{N - 1}.*{N}|{N}.*{N - 1}"),
    "two columns": (np.c_[Y, Y], r"1d|\(40, 2\)"),
    "continuous": (Y + 0.5 * np.arange(N), "continuous"),
}


@pytest.mark.parametrize("kind", BAD_Y)
@pytest.mark.parametrize("estimator", SUPERVISED, ids=str)
def test_bad_y(estimator, kind):
    refused(estimator, X, *BAD_Y[kind])


ONE_ALONE = np.where(np.arange(N) == 0, 9, Y)
BY_CLASS = Reconstruction(3, among="same_class")


@pytest.mark.parametrize(
    "estimator",
    [
        LPP(graph=SameClass()),
        OLPP(graph=SameClass()),
        LPP(graph=SameClass("heat")),
        LPP(graph=KNN(3, among="same_class")),
        LPP(graph=KNN(3) & SameClass()),
        NPE(graph=BY_CLASS),
        MFA(),
        DNE(),
    ],
    ids=str,
)
def test_classes_of_one_where_pairs_are_needed(estimator):
    refused(estimator, X[:20], np.arange(20), r"empty|one sample|have one|pair")


@pytest.mark.parametrize("estimator", [NPE(graph=BY_CLASS), ONPP(graph=BY_CLASS - Repulsion(9))], ids=str)
def test_a_class_of_one_where_each_row_needs_a_pair(estimator):
    refused(estimator, X, ONE_ALONE, r"1 classes have one \(row 0\)")


@pytest.mark.parametrize("estimator", [MMC(), LPDP(), MFA(), DNE(), LPP(graph=SameClass())], ids=str)
def test_a_class_of_one_elsewhere(estimator):
    assert np.isfinite(clone(estimator).fit(X, ONE_ALONE).components_).all()


@each(
    "make",
    [
        *(lambda k, make=make: make(graph=k) for make in (LPP, OLPP, NPE, ONPP, LPDP, MFA, DNE)),
        lambda k: LPP(graph=KNN(k)),
        lambda k: LPP(graph=KNN(5) - 0.1 * Repulsion(k)),
        lambda k: LPP(penalty=k),
        lambda k: MFA(graph=KNN(k, among="same_class")),
        lambda k: MFA(penalty=KNN(k, among="other_class")),
        lambda k: ONPP(graph=Reconstruction(k)),
    ],
)
@each("k", [N, N + 5, 0, -3])
def test_n_neighbors(make, k):
    refused(make(k), X, Y, rf"(n_neighbors|graph|penalty)={k}\b")


@pytest.mark.parametrize("make", [LPP, OLPP, NPE, ONPP, LPDP, MFA, DNE])
def test_largest_n_neighbors(make):
    assert make(graph=N - 1).fit(X, Y).components_.shape == (2, 6)


def weights(i=0, j=1, value=1.0):
    W = o.knn_weights(X, Y, 5)
    W[i, j] = value
    return W


BAD_W = {
    "asymmetric": (weights(0, 1, 5.0), "W is not symmetric.*[0-9]"),
    "negative": (-weights(), "W has negative weights"),
    "small": (weights()[:-1, :-1], rf"W has shape \({N - 1}, {N - 1}\).* {N} samples"),
    "oblong": (weights()[:-1], rf"W has shape \({N - 1}, {N}\)"),
    "one dimension": (weights()[0], "graph="),
    "nan": (weights(0, 1, np.nan), "W contains NaN"),
    "inf": (weights(0, 1, np.inf), "W contains infinity"),
    "complex": (weights() + 0j, "[Cc]omplex"),
    "object": (np.full((N, N), "a", dtype=object), "'?a'?"),
    "empty": (np.zeros((N, N)), "empty"),
    "loops": (np.eye(N), "empty"),
}


@each("make", [LPP, OLPP, NPE, ONPP, LPDP, MFA, DNE])
@each("kind", BAD_W)
def test_bad_w(make, kind):
    W, match = BAD_W[kind]
    refused(make(graph=W), X, Y, match)
    if W.ndim == 2 and W.dtype != object:
        refused(make(graph=Precomputed(sparse.csr_array(W))), X, Y, match)


@each("make", [LPP, MFA])
@each("kind", BAD_W)
def test_bad_penalty(make, kind):
    W, match = BAD_W[kind]
    refused(make(penalty=W), X, Y, match.replace("graph", "penalty").replace("empty", "penalty.*empty"))


def test_penalty_that_vanishes_on_the_data():
    """The closest pairs of different classes are equal rows, so the penalty sees nothing."""
    twice, y = np.repeat(X[:20], 2, axis=0), np.arange(40) % 2
    refused(MFA(penalty=ClosestPairs(10)), twice, y, r"^(?!.*n_components=0).*penalty")


def test_empty_graph_of_a_radius():
    refused(LPP(graph=Radius(1e-9)), X, Y, "radius=1e-09.*empty")
    refused(DNE(graph=Radius(1e-9) & SameClass()), X, Y, "radius=1e-09.*empty")


@pytest.mark.parametrize("make", [DNE, LPP, OLPP])
def test_empty_repulsion_warns(make):
    apart = X + 100 * Y[:, None]
    graph = (KNN(3) & SameClass()) - (KNN(3) & OtherClass())
    with pytest.warns(UserWarning, match="repulsion graph is empty"):
        make(graph=graph).fit(apart, Y)


@pytest.mark.parametrize(
    "estimator",
    [
        LPP(graph=-1 * KNN(5)),
        LPP(graph=-1 * Complete()),
        LPDP(graph=-1 * KNN(5)),
        LPP(graph=Pairs(cannot_link=[[0, 1]])),
    ],
    ids=str,
)
def test_nothing_attracts_where_degrees_are_needed(estimator):
    refused(estimator, X, Y, "attract")


@pytest.mark.parametrize("penalty", [-1 * KNN(5), SameClass() - 5 * Complete()], ids=str)
def test_penalty_that_repels(penalty):
    refused(LPP(penalty=penalty), X, Y, "penalty")


COSINE = [
    LPP(graph=KNN(5, metric="cosine")),
    OLPP(graph=KNN(5, weights="cosine")),
    NPE(graph=Radius(0.9, metric="cosine")),
    NPE(graph=Reconstruction(metric="cosine")),
    LPP(graph=KNN(5) - 0.1 * Repulsion(metric="cosine")),
    MFA(penalty=ClosestPairs(metric="cosine")),
]


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize("estimator", COSINE, ids=str)
def test_zero_vectors_under_cosine(estimator, kind):
    refused(estimator, kind(X * (np.arange(N) != 7)[:, None]), Y, "cosine.*zero vector.*row 7")


@pytest.mark.parametrize("regime", list(o.REGIMES))
@pytest.mark.parametrize("estimator", DEFAULT, ids=str)
def test_more_components_than_the_rank(estimator, regime):
    A, y = o.REGIMES[regime]()
    whole = clone(estimator).set_params(n_components=1, pca=None).fit(A, y)
    for pca in (None, "auto"):
        bad = clone(estimator).set_params(n_components=A.shape[1] + 100, pca=pca)
        refused(bad, A, y, rf"n_components={A.shape[1] + 100} .*\b{whole.rank_}\b")


BAD_PARAMETERS = {
    "n_components": [0, -1, 1.5, "two", True, np.nan],
    "pca": [0, -1, 0.0, 1.5, -0.5, "all", True, np.nan, np.inf, 7, 1],
    "center": ["median", True, 0, None, 1.5],
    "scaling": ["none", None, 1.0],
    "normalize": ["norm", True, 2],
    "graph": ["knn", 2.5, True, [1, 2], KNN],
    "penalty": ["knn", 2.5, True, Repulsion],
    "ridge": [-1.0, np.nan, np.inf, "big", None],
    "alpha": [np.nan, np.inf, "one", None],
}
TABLE = [
    pytest.param(estimator, name, value, id=f"{type(estimator).__name__}-{name}-{value}")
    for estimator in DEFAULT
    for name, values in BAD_PARAMETERS.items()
    if name in estimator.get_params()
    for value in values
]


@each(("estimator", "name", "value"), TABLE)
def test_bad_parameter(estimator, name, value):
    refused(clone(estimator).set_params(**{name: value}), X, Y, re.escape(f"{name}={value!r}"))


@pytest.mark.parametrize("estimator", [OLPP(), ONPP(), MMC(), DNE(), MFA(), LPP(penalty=Complete())], ids=str)
def test_degree_centre_needs_degrees(estimator):
    refused(clone(estimator).set_params(center="degree"), X, Y, 'center="degree"')


def test_dne_without_a_negative_direction():
    refused(DNE(None, graph=KNN(5) & SameClass()), X, Y, "n_components=None.*negative")


@pytest.mark.parametrize("graph", [Precomputed(weights()), Pairs(must_link=[[0, N - 1]])], ids=["Precomputed", "Pairs"])
def test_row_numbers_in_cross_validation_say_why(graph):
    pipeline = make_pipeline(LPP(graph=graph), KNeighborsClassifier())
    with pytest.raises(ValueError, match="cross-validation"):
        cross_val_score(pipeline, X, Y, error_score="raise")
