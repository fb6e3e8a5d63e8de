"""Locality preserving indexing."""

import os
from pathlib import Path

import limits
import numpy as np
import oracles as o
import pytest
from helpers import literal
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from lapwing import LPI, LPP
from lapwing.data import as_data
from lapwing.graphs import KNN, SameClass


def documents(n=90, d=60, seed=0):
    """Counts of terms of four topics."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 4
    topics = rng.gamma(0.3, size=(4, d))
    X = rng.poisson(12 * topics[y] / topics.sum(axis=1)[y, None] + 0.05)
    X[:, 0] += 1  # no empty document
    return sparse.csr_array(X.astype(float)), y


def indexing(*args, **params):
    """LPI with a ridge and directions of unit length, and the rest as printed."""
    return literal(LPI, *args, **{"ridge": 10.0, "scaling": "unit", **params})


X, Y = documents()


@pytest.mark.parametrize("shape", [(90, 60), (50, 130), (40, 300)])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_without_a_ridge_it_is_the_printed_problem(shape, as_sparse):
    """Thesis, eq. 5.1: LPP of documents of unit length, with more documents than terms and with fewer."""
    A, _ = documents(*shape)
    A = A if as_sparse else A.toarray()
    graph = KNN(15, metric="cosine", weights="dot")
    exact = LPP(3, graph=graph, pca=None, ridge=0, scaling="constraint", standardize=False).fit(normalize(A))
    for fitted in (LPI(3, preset="paper").fit(A), LPI(3, ridge=0, scaling="constraint").fit(A)):
        np.testing.assert_allclose(fitted.components_, exact.components_, atol=1e-8 * np.abs(exact.components_).max())
        np.testing.assert_allclose(fitted.eigenvalues_, exact.eigenvalues_, atol=1e-8)
        assert fitted.rank_ == exact.rank_
        assert fitted.settings_["ridge"] == 0
    assert LPI(3).fit(A).settings_["ridge"] == 10


@pytest.mark.parametrize("shape", [(90, 60), (60, 90), (50, 300)])
def test_the_printed_problem_of_large_documents(shape, monkeypatch):
    """By the regression where terms express the eigenvectors of the graph, and by the dense pencil elsewhere."""
    A, _ = documents(*shape)
    exact = LPI(3, preset="paper").fit(A)
    limits.large_from(monkeypatch, 20)
    large = LPI(3, preset="paper").fit(A)
    assert large.rank_ == (exact.rank_ if shape == (90, 60) else None)
    assert subspace_angles(large.components_.T, exact.components_.T).max() < 1e-8
    np.testing.assert_allclose(large.eigenvalues_, exact.eigenvalues_, atol=1e-10)


@pytest.mark.filterwarnings("ignore:documents without a term")
@parametrize_with_checks([indexing(), indexing(1, graph=KNN(3) + SameClass())])  # y required
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shape", [(90, 60), (50, 130)])
@pytest.mark.parametrize("ridge", [0.01, 3.0])
@pytest.mark.parametrize("as_sparse", [True, False])
def test_agrees_with_its_definition(shape, ridge, as_sparse):
    A, _ = documents(*shape)
    fitted = indexing(3, graph=6, ridge=ridge, scaling="constraint").fit(A if as_sparse else A.toarray())
    U = normalize(A).toarray()
    similar = U @ U.T
    np.fill_diagonal(similar, -1)
    W = np.zeros((len(U), len(U)))
    for i in range(len(U)):
        near = np.argsort(-similar[i].round(9), kind="stable")[:6]  # equal up to rounding
        W[i, near] = similar[i, near]
    W = np.maximum(W, W.T)
    D = np.diag(W.sum(axis=1))
    values, V = eigh(D - W, D)
    Z = U - np.diag(D) @ U / np.trace(D)
    B = Z.T @ D @ Z
    a = np.linalg.solve(B + ridge * np.trace(B) / min(shape) * np.eye(len(B)), Z.T @ D @ V[:, 1:4])
    np.testing.assert_allclose(fitted.eigenvalues_, values[1:4], atol=1e-8)
    np.testing.assert_allclose(np.abs(fitted.components_), np.abs(a.T), atol=1e-6 * np.abs(a).max())
    np.testing.assert_allclose(fitted.transform(A), Z @ fitted.components_.T, atol=1e-9 * np.abs(a).max())


def test_is_lpp_where_documents_are_independent():
    """Thesis, Prop. 2: the smaller the ridge, the nearer."""
    A, _ = documents(40, 300)
    W = KNN(5, metric="cosine", weights="dot").adjacency(as_data(normalize(A)))
    exact = literal(LPP, 3, graph=W, center="degree").fit(normalize(A))
    assert exact.rank_ == 39
    angles = [
        subspace_angles(indexing(3, graph=W, ridge=ridge).fit_transform(A), exact.transform(normalize(A))).max()
        for ridge in (1e-2, 1e-4, 1e-6)
    ]
    assert angles[0] > angles[1] > angles[2]
    assert angles[2] < 1e-4


def test_length_of_a_document_does_not_matter():
    fitted = indexing(3, graph=6).fit(X)
    longer = X * np.linspace(1, 9, 90)[:, None]
    np.testing.assert_allclose(clone(fitted).fit(longer).components_, fitted.components_, atol=1e-7)
    np.testing.assert_allclose(fitted.transform(longer), fitted.transform(X), atol=1e-10)


EMPTY = sparse.vstack([X[:5], sparse.csr_array((2, 60)), X[5:]]).tocsr()
FULL = np.r_[:5, 7:92]


@pytest.mark.parametrize("graph", [6, None, "supervised", KNN(6) + SameClass(), KNN(3, metric="cosine", queries=50)])
@pytest.mark.parametrize("make", [sparse.csr_array, lambda A: A.toarray()], ids=["sparse", "dense"])
def test_empty_documents(make, graph):
    labels = np.insert(Y, 5, [-1, 2])
    expected = indexing(3, graph=graph).fit(make(X), Y)
    with pytest.warns(UserWarning, match=r"documents without a term: 2 \(the first is row 5\)") as caught:
        fitted = indexing(3, graph=graph).fit(make(EMPTY), labels)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(fitted.components_, expected.components_)
    Z = fitted.transform(make(EMPTY))
    assert not Z[5:7].any()
    np.testing.assert_allclose(Z[FULL], expected.transform(make(X)), rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:documents without a term")
def test_few_documents_with_a_term():
    nothing = sparse.csr_array((30, 60))
    fitted = LPI(1).fit(sparse.vstack([X[:6], nothing]).tocsr())
    assert fitted.graph_.n_neighbors == 5
    with pytest.raises(ValueError, match="n_neighbors=8 must be smaller than the number of samples, 6"):
        LPI(1, graph=8).fit(sparse.vstack([X[:6], nothing]).tocsr())
    with pytest.raises(ValueError, match="1 documents with a term"):
        LPI(1).fit(sparse.vstack([X[:1], nothing]).tocsr())
    with pytest.raises(ValueError, match="knows documents by their row"):
        LPI(1, graph=np.ones((92, 92))).fit(EMPTY)


def test_text_pipeline_and_search():
    words = np.array([f"word{i}" for i in range(60)])
    texts = [" ".join(np.repeat(words, row.astype(int))) for row in X.toarray()]
    pipeline = make_pipeline(
        TfidfVectorizer(), indexing(3, graph=KNN(5, metric="cosine", weights="dot")), KNeighborsClassifier(1)
    )
    grid = {"lpi__ridge": [0.1, 10.0], "lpi__graph__n_neighbors": [4, 8], "lpi__n_components": [3, 4]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(texts, Y)
    assert search.best_score_ > 0.7


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({}, -X, "[Nn]egative values.*use LPP"),
        ({}, sparse.csr_array((90, 60)), "0 documents with a term"),
        ({"ridge": -1.0}, X, "ridge=-1.0"),
        ({"ridge": "none"}, X, "ridge='none'"),
        ({"scaling": "objective"}, X, "scaling='objective' must be one of"),
        ({"n_components": None}, X, "n_components=None"),
        ({"n_components": 90}, X, "n_components=90"),
        ({"graph": 90}, X, "n_neighbors=90 must be smaller"),
    ],
)
def test_bad_input(options, data, message):
    fitted = indexing(2, graph=6).fit(X).set_params(**options)
    with pytest.raises(ValueError, match=message):
        fitted.fit(data)
    with pytest.raises(NotFittedError):
        fitted.transform(X)


def test_float32_and_read_only():
    single = indexing(3, graph=6).fit(X.astype(np.float32))
    assert single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert o.angle(single.components_, indexing(3, graph=6).fit(X).components_) < 1e-3
    frozen = X.copy()
    for part in (frozen.data, frozen.indices, frozen.indptr):
        part.flags.writeable = False
    indexing(2, graph=5).fit(frozen).transform(frozen)


DATA = Path(os.environ.get("LAPWING_DATA", "nowhere"))


@pytest.mark.skipif(not (DATA / "TDT2_X.npz").exists(), reason="LAPWING_DATA has no TDT2_X.npz")
def test_clustering_of_documents():
    """NOTES 18: on TDT2 LPI clusters nearly perfectly, where k-means on the vectors does not (thesis, table 5.7)."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import confusion_matrix

    counts, y = sparse.load_npz(DATA / "TDT2_X.npz").astype(float), np.load(DATA / "TDT2_y.npz")["y"]
    classes = np.random.RandomState(0).choice(30, 5, replace=False)
    rows = np.flatnonzero(np.isin(y, classes))
    A, t = TfidfTransformer(use_idf=False).fit_transform(counts[rows]), np.searchsorted(np.sort(classes), y[rows])
    means = KMeans(5, n_init=2, random_state=0)
    tables = [confusion_matrix(t, means.fit_predict(Z)) for Z in (indexing(4, ridge=0.1).fit_transform(A), A)]
    lpi, plain = (table[linear_sum_assignment(-table)].sum() / len(t) for table in tables)
    assert lpi > 0.95
    assert lpi > plain
