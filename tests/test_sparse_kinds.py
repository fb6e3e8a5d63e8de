"""Every kind of sparse matrix that a user may pass gives the same result, and is left as it was."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import oracles as o
import pytest
from helpers import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer

from lapwing import LPDP, LPP, NPE, OLPP, LaplacianScore
from lapwing.data import as_data
from lapwing.graphs import KNN, ClosestPairs, CodingLength, Reconstruction, Repulsion, SameClass

RNG = np.random.RandomState(0)
TIED = (RNG.rand(90, 30) < 0.15).astype(float)  # many equal distances
TIED[~TIED.any(axis=1), 0] = 1.0
Y = np.arange(90) % 3
GRAPHS = [
    KNN(5),
    KNN(5, metric="manhattan"),
    KNN(5, metric="cosine", weights="cosine"),
    KNN(5, weights="dot"),
    KNN(5, queries=50),
    KNN(5, metric="manhattan", queries=50),
    KNN(3, among="same_class"),
    SameClass("heat"),
    Repulsion(5),
    ClosestPairs(7),
]


def parts(X):
    """What a sparse matrix is made of."""
    names = ("indices", "indptr", "data") if X.format in ("csr", "csc") else ("row", "col", "data")
    return [getattr(X, name).copy() for name in names]


@pytest.fixture
def given(sparse_kind):
    X = sparse_kind(TIED)
    before = parts(X)
    yield X
    for old, new in zip(before, parts(X), strict=True):
        assert old.dtype == new.dtype
        assert_array_equal(old, new)


@each("graph", GRAPHS)
def test_graphs(graph, given):
    found, expected = (graph.adjacency(as_data(X, Y)) for X in (given, TIED))
    assert_allclose(found.toarray(), expected.toarray(), rtol=1e-9, atol=1e-9)


@each("graph", [Reconstruction(5), CodingLength(5)])
def test_graphs_without_a_list_of_edges(graph, given):
    (found,), (expected,) = (graph.build(X, Y) for X in (given, TIED))
    assert_allclose(found.laplacian.toarray(), expected.laplacian.toarray(), atol=1e-9)


MAPS = [LPP(3), LPDP(3), NPE(3), OLPP(3), LPP(3, graph=KNN(5, queries=50))]


@cache
def mapped(which):
    return o.gap_fit(MAPS[which], sparse.csr_array(TIED), Y)


@each("which", range(len(MAPS)))
def test_linear_maps(which, given):
    expected = mapped(which)
    found = clone(expected).fit(given, Y)
    assert o.angle(found.components_, expected.components_) < 1e-7
    assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-8, atol=1e-10)


def test_scores(given):
    found, expected = (LaplacianScore(3).fit(X) for X in (given, TIED))
    assert_allclose(found.scores_, expected.scores_, rtol=1e-9)


DATA = Path(os.environ.get("LAPWING_DATA", "nowhere"))


@pytest.mark.skipif(not (DATA / "TDT2_X.npz").exists(), reason="LAPWING_DATA has no TDT2_X.npz")
@pytest.mark.parametrize("estimator", [LPP(3), LPDP(3), NPE(3), LaplacianScore(3)], ids=repr)
def test_what_vectorizers_return(estimator):
    """A ``csr_matrix`` with documents that occur more than once."""
    counts = sparse.load_npz(DATA / "TDT2_X.npz")
    rows = np.r_[:300, :150]
    X = TfidfTransformer().fit_transform(sparse.csr_matrix(counts))[rows]
    assert isinstance(X, sparse.csr_matrix)
    assert estimator.fit(X, np.arange(450) % 3).transform(X).shape[1] == 3
