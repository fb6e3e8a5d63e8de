"""Rounding is never taken for data: rows far from the origin, directions of little variance, graphs that link equal rows only."""

import warnings

import numpy as np
import oracles as o
import pytest
from helpers import each, literal
from scipy import sparse
from sklearn.base import clone

from lapwing import (
    GLPCA,
    L21PCA,
    LPCA,
    LPDP,
    LPP,
    LSDA,
    MFA,
    NPE,
    OLPP,
    ONPP,
    TSA,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    RobustGLPCA,
    TangentialMaps,
)
from lapwing.graphs import KNN, CodingLength, Pairs, SameClass, TangentAlignment

BLOBS, CLASSES = o.blobs(150, 8)
REPEATED, COPIES = np.repeat(o.blobs(14, 5)[0], 2, axis=0), np.repeat(np.arange(14), 2)  # a class is one point


@pytest.mark.filterwarnings("ignore::lapwing.CertificateWarning")
@pytest.mark.parametrize("method", [LPP, NPE, LPDP, LSDA])
def test_an_origin_that_takes_digits_is_said(method):
    with pytest.warns(UserWarning, match="center=False leaves an accuracy of"):
        method(2, center=False).fit(BLOBS + 1e5, CLASSES)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="X is so far from 0")
        method(2, center=False).fit(BLOBS + 1e2, CLASSES)
        method(2).fit(BLOBS + 1e5, CLASSES)


@pytest.mark.parametrize("offset", [1e6, 1e7, 1e8])
@pytest.mark.parametrize(
    "estimator",
    [literal(NPE, 3), literal(ONPP, 3), literal(LPCA, 3), literal(LPP, 3, graph=CodingLength(4, weights="distance"))],
    ids=lambda e: type(e).__name__,
)
def test_sparse_rows_far_from_the_origin(estimator, offset):
    here = clone(estimator).fit(BLOBS)
    there = clone(estimator).fit(sparse.csr_array(BLOBS + offset))
    assert o.angle(here.components_, there.components_) < 1e-8 * max(1.0, offset / 1e6)


@each("offset", [1e3, 1e6, 1e8])
@each("make", [np.asarray, sparse.csr_array])
@each(
    "estimator",
    [KernelLPP(3), KernelNPE(3), KernelLPP(3, landmarks=40, random_state=0)],
)
def test_kernels_of_differences_far_from_the_origin(estimator, make, offset):
    estimator = clone(estimator).set_params(gamma=0.05, standardize=False)
    here = clone(estimator).fit(BLOBS[::2]).transform(BLOBS)
    there = clone(estimator).fit(make(BLOBS[::2] + offset)).transform(make(BLOBS + offset))
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-14 * offset * max(1.0, np.abs(here).max()) + 1e-10)


def test_sparse_tangents_far_from_the_origin():
    graph = TangentAlignment(8, n_components=2, weights="uniform")
    (here,), (there,) = graph.build(BLOBS), graph.build(sparse.csr_array(BLOBS + 1e7))
    np.testing.assert_allclose(there.laplacian.toarray(), here.laplacian.toarray(), rtol=0, atol=1e-6)


@each("spread", [1e-3, 1e-5, 1e-6, 1e-7])
@each("make", [np.asarray, sparse.csr_array])
@each("method", [OLPP, ONPP])
def test_directions_are_orthonormal_however_short(method, make, spread):
    """With fewer rows than columns they come from the Gram matrix of the rows, which has the squares of what they are long."""
    rng = np.random.RandomState(0)
    U, V = (np.linalg.qr(rng.standard_normal((n, 30)))[0] for n in (30, 100))
    X = U * np.geomspace(1, spread, 30) @ V.T
    fitted = literal(method, 20).fit(make(X))
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(20), rtol=0, atol=1e-9)
    _, lengths, directions = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    directions = directions[: fitted.rank_]
    if lengths[fitted.rank_ :].max() < 1e-8:  # nothing is cut off
        exact = literal(method, 20).fit(X @ directions.T)
        assert o.angle(exact.components_ @ directions, fitted.components_) < 1e-8


@pytest.mark.parametrize("graph", [KNN(5) + SameClass(), SameClass() + KNN(5), KNN(5) - 0.3 * SameClass()], ids=repr)
@pytest.mark.parametrize(
    "make",
    [lambda **p: literal(OLPP, 2, **p), lambda **p: literal(LPP, 2, **p), lambda **p: KernelLPP(2, gamma=0.1, **p)],
    ids=["OLPP", "LPP", "KernelLPP"],
)
def test_a_form_that_is_rounding_counts_as_zero(make, graph):
    order = np.random.RandomState(0).permutation(len(REPEATED))
    fitted = make(graph=graph, normalize="trace").fit(REPEATED, COPIES)
    other = make(graph=graph, normalize="trace").fit(REPEATED[order], COPIES[order])
    assert o.angle(other.transform(REPEATED).T, fitted.transform(REPEATED).T) < 1e-7
    if isinstance(fitted, OLPP):  # the constraint of the others, D, counts the links of equal rows
        alone = make(graph=KNN(5), normalize="trace").fit(REPEATED)
        assert o.angle(alone.components_, fitted.components_) < 1e-7


def test_a_form_of_images_that_is_rounding_counts_as_zero():
    X, order = REPEATED.reshape(-1, 5, 1) * np.linspace(1, 2, 4), np.random.RandomState(0).permutation(28)
    X = X + np.repeat(np.random.RandomState(1).standard_normal((14, 5, 4)), 2, axis=0)
    tsa = TSA((2, 2), graph=KNN(5) + SameClass(), normalize="trace")
    fitted, other = clone(tsa).fit(X, COPIES), clone(tsa).fit(X[order], COPIES[order])
    for one, two in zip(fitted.components_, other.components_, strict=True):
        assert o.angle(one, two) < 1e-7


@pytest.mark.parametrize("weight", [1.0, 1e9])
def test_orthogonal_directions_of_a_graph_do_not_see_the_origin(weight):
    """Whatever the weights: those of a Laplacian sum to 0 up to rounding."""
    rng = np.random.RandomState(0)
    W = np.triu(rng.rand(60, 60) * (rng.rand(60, 60) > 0.8), 1)
    X, graph = rng.standard_normal((60, 5)) * np.arange(1, 6) + 1e8, sparse.csr_array(weight * (W + W.T))
    with warnings.catch_warnings(action="error"):
        one, other = (OLPP(2, graph=graph, pca=None, center=center).fit(X) for center in (False, "mean"))
    np.testing.assert_array_equal(one.components_, other.components_)


@pytest.mark.parametrize("penalty", [SameClass(), Pairs(must_link=[(0, 1), (4, 5)])], ids=repr)
@pytest.mark.parametrize(
    "estimator", [literal(LPP, 2, center="mean"), literal(MFA, 2), KernelLPP(2), TSA(2, image_shape=(5, 1))], ids=repr
)
def test_a_constraint_on_equal_samples_only(estimator, penalty):
    with pytest.raises(ValueError, match="penalty= links equal samples only"):
        clone(estimator).set_params(penalty=penalty, graph=3).fit(REPEATED, COPIES)


def test_a_constraint_that_sees_one_direction_among_rounding():
    """The closest pairs of two classes: most are equal rows, and one is not."""
    X = np.random.RandomState(0).standard_normal((20, 6))
    X[10:19] = X[:9]
    X[19] = X[9] + 1e-3
    with pytest.raises(ValueError, match="n_components=2 is more than the 1 directions"):
        literal(MFA, 2, graph=3, penalty=Pairs(must_link=[(i, i + 10) for i in range(10)])).fit(X, np.arange(20) % 2)


@pytest.mark.parametrize(
    "method", [LPP, OLPP, NPE, LPCA, LaplacianEigenmaps, TangentialMaps, GLPCA, RobustGLPCA, L21PCA]
)
def test_numbers_with_few_digits_are_refused(method):
    """float32 has whole digits from 1e-38 on, and so has what is left of 1e-31 when its mean is subtracted."""
    X = BLOBS.astype(np.float32)
    literal(method, 2).fit(X * np.float32(1e-20))
    with pytest.raises(ValueError, match="so large or so small"):
        literal(method, 2).fit(X * np.float32(1e-33) * np.float32(1e-11))


@each("make", [np.asarray, sparse.csr_array])
@each("weights", ["coding_length", "distance", "uniform"])
@each("scale", [1e3, 1e9, 1e12])
def test_flat_data_of_any_scale(scale, weights, make):
    """Two columns of time stamps on one line: patches have one dimension, and rounding is all there is of others."""
    ticks = np.random.RandomState(0).permutation(100) * scale
    X = np.column_stack([1.7e6 * scale + ticks, 1.7e6 * scale + 3 * ticks])
    fitted = LPCA(1, graph=CodingLength(5, weights=weights), standardize=False).fit(make(X))
    np.testing.assert_allclose(np.abs(fitted.components_ @ [1, 3]) / np.sqrt(10), 1, rtol=1e-9)
    placed = TangentialMaps(1, graph=TangentAlignment(6, weights=weights)).fit_transform(make(X))
    assert abs(np.corrcoef(placed.ravel(), ticks)[0, 1]) > 0.999


@each("rank", [1, 2, 4])
@each("rows", [2, 3, 9, 40])
@each("make", [L21PCA, lambda k: RobustGLPCA(k, graph=1)])
def test_more_components_than_directions(make, rows, rank):
    rng = np.random.RandomState(rows)
    X = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, 6))
    for k in range(1, min(rows, 7)):
        Q = make(k).set_params(tol=0.05).fit(X).embedding_
        np.testing.assert_allclose(Q.T @ Q, np.eye(k), rtol=0, atol=1e-10)


def test_tangents_of_patches_with_as_many_dimensions_as_points():
    with pytest.raises(ValueError, match="n_components=4 must be smaller than n_neighbors=5 - 1"):
        TangentialMaps(4, graph=TangentAlignment(5, include_self=False)).fit(BLOBS)
