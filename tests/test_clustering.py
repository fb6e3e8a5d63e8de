"""The normalised cut beside its definition and scikit-learn."""

import pickle
from itertools import product

import numpy as np
import pytest
from helpers import named
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.manifold import spectral_embedding
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import check_estimator

from lapwing.clustering import NormalizedCut
from lapwing.data import as_data
from lapwing.graphs import KNN, Precomputed, SameClass

X, Y = make_blobs(60, 6, centers=3, random_state=0)


@pytest.mark.parametrize("estimator", [NormalizedCut(), NormalizedCut(2, graph=3)], ids=named)
def test_scikit_learn(estimator):
    check_estimator(estimator, on_skip=None)  # the first check that fails is in the traceback


def test_fitted_models():
    fitted = NormalizedCut(3, random_state=0).fit(X)
    assert adjusted_rand_score(Y, fitted.labels_) == 1
    np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
    np.testing.assert_array_equal(NormalizedCut(3, random_state=0).fit_predict(X), fitted.labels_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X + 0.01), fitted.labels_)
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 "),
        ({"n_clusters": 2.0}, "n_clusters=2.0"),
        ({"n_clusters": 61}, "n_clusters=61 .*n_samples=60"),
        ({"n_init": 0}, "n_init=0"),
        ({"n_init": "auto"}, "n_init='auto'"),
        ({"random_state": "seed"}, "seed"),
    ],
)
def test_bad_parameters(options, message):
    fitted = NormalizedCut(3, random_state=0).fit(X).set_params(**options)
    with pytest.raises(ValueError, match=message):
        fitted.fit(X)
    with pytest.raises(NotFittedError):
        fitted.predict(X)


def weights(S, k=8):
    return KNN(k).adjacency(as_data(S))


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("pieces", [False, True])
def test_beside_spectral_clustering(k, pieces):
    S, y = make_blobs(200, 4, centers=k, cluster_std=0.4 if pieces else 1.5, random_state=0)
    W = weights(S)
    fitted = NormalizedCut(k, graph=W, random_state=0).fit(S)
    assert (fitted.maps_.n_connected_components_ == k) == pieces
    theirs = SpectralClustering(k, affinity="precomputed", assign_labels="kmeans", random_state=0)
    theirs.fit(W.toarray())
    space = spectral_embedding(W.toarray(), n_components=k, drop_first=False, random_state=0)
    assert adjusted_rand_score(fitted.labels_, theirs.labels_) == 1
    assert subspace_angles(np.c_[np.ones(200), fitted.embedding_], space).max() < 1e-6
    D = np.diag(W.toarray().sum(axis=1))
    np.testing.assert_allclose(fitted.embedding_.T @ D @ fitted.embedding_, np.eye(k - 1), atol=1e-9)
    if pieces:
        assert adjusted_rand_score(y, fitted.labels_) == 1


def test_small_cuts_are_optimal():
    """All 2-way cuts of a small graph."""
    rng = np.random.RandomState(0)
    W = np.triu(
        rng.uniform(0.5, 1, (10, 10)) * np.where(np.equal.outer(np.arange(10) < 4, np.arange(10) < 4), 1, 0.1), 1
    )
    W += W.T

    def ncut(s):
        return sum(W[np.ix_(s == c, s != c)].sum() / W[s == c].sum() for c in (0, 1))

    best = min((np.array([0, *s]) for s in product((0, 1), repeat=9) if any(s)), key=ncut)
    found = NormalizedCut(2, graph=W, random_state=0).fit_predict(np.zeros((10, 1)))  # X is not looked at
    assert adjusted_rand_score(best, found) == 1


def test_every_kind_of_graph():
    S, y = make_moons(200, noise=0.04, random_state=0)
    W = weights(S, 5)
    for graph in (None, 5, KNN(5), W, W.toarray(), sparse.coo_array(W), Precomputed(W)):
        assert adjusted_rand_score(y, NormalizedCut(2, graph=graph, random_state=0).fit_predict(S)) == 1
    noise = np.random.RandomState(0).standard_normal((200, 2))
    assert adjusted_rand_score(y, NormalizedCut(2, graph=SameClass(), random_state=0).fit(noise, y).labels_) == 1
    np.testing.assert_array_equal(NormalizedCut(1).fit_predict(S), 0)


def test_new_rows():
    S, y = make_moons(400, noise=0.04, random_state=0)
    fitted = NormalizedCut(2, graph=8, random_state=0).fit(S[:300])
    assert adjusted_rand_score(y[300:], fitted.predict(S[300:])) == 1
    given = NormalizedCut(2, graph=weights(S[:300]), random_state=0).fit(S[:300])
    with pytest.raises(ValueError, match="links"):
        given.predict(S[300:])
    links = fitted.maps_.graph_.links(as_data(S), 300)
    np.testing.assert_array_equal(given.predict(S[300:], links=links), fitted.predict(S[300:]))


@pytest.mark.parametrize(("graph", "message"), [(60, "n_neighbors=60"), ("knn", "graph='knn'"), (0, "graph=0")])
def test_bad_graphs(graph, message):
    fitted = NormalizedCut(2).fit(X).set_params(graph=graph)
    with pytest.raises(ValueError, match=message):
        fitted.fit(X)
    with pytest.raises(NotFittedError):
        fitted.predict(X)
