"""What a graph asks of a search: parameters are checked, equal searches are one, and times are counted."""

import numpy as np
import pytest
from helpers import each
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from lapwing import KernelNPE
from lapwing.data import as_data
from lapwing.graphs import KNN, Radius

rng = np.random.RandomState(0)
X = rng.standard_normal((40, 5))


def kind_of(value):
    return type(value).__name__


@each("wrong", [2, np.int8(2), [1], np.eye(3), sparse.eye_array(3), "p", object()])
@each("graph", [Radius(2.0), KNN(3, metric="minkowski"), KNN(3), KNN(3, metric="cosine")])
def test_parameters_of_a_metric_are_a_dict(graph, wrong):
    with pytest.raises(ValueError, match="metric_params="):
        graph.set_params(metric_params=wrong).build(X)


@pytest.mark.parametrize("wrong", [3, [], {}, np.eye(3), sparse.eye_array(3), object(), "fast"], ids=kind_of)
def test_a_search_is_a_name_or_a_transformer(wrong):
    with pytest.raises(ValueError, match=r'(?s)search=.*must be None, "torch".*PyNNDescentTransformer\(\)'):
        KNN(3, search=wrong).build(X)


class Odd(BaseEstimator):
    """A transformer that counts a row as its own neighbour, gives neighbours in no order, and misses some of the first row."""

    def __init__(self, n_neighbors=5, missed=0):
        self.n_neighbors = n_neighbors
        self.missed = missed

    def fit_transform(self, X, y=None):
        d, near = NearestNeighbors(n_neighbors=self.n_neighbors).fit(X).kneighbors(X)
        near[0, self.n_neighbors - self.missed :] = -1  # as pynndescent has them
        d[near < 0] = np.inf
        found = sparse.coo_array((X.shape[0], X.shape[0]))
        found.coords = np.repeat(np.arange(X.shape[0]), near.shape[1]), near[:, ::-1].ravel()
        found.data = d[:, ::-1].ravel()
        return found.tocsr()


@pytest.mark.parametrize("search", [Odd(3), Odd(1), Odd(5, missed=2)], ids=str)
def test_a_transformer_that_finds_too_few(search):
    with pytest.raises(
        ValueError, match=r"gives 2 neighbours of row 0, and n_neighbors=3 are asked for; ask for fewer"
    ):
        KNN(3, search=search).build(X)


def test_a_transformer_that_finds_more_than_there_are():
    W = KNN(39, search=KNeighborsTransformer(n_neighbors=100), weights="binary").adjacency(as_data(X))
    np.testing.assert_array_equal(W.toarray(), 1 - np.eye(40))


def test_a_sample_is_of_fewer_rows_than_all():
    (sampled,) = zip(*(KNN(3, queries=q).requests() for q in (None, 39, 40, 41)), strict=True)
    assert [request.is_sampled(40) for request in sampled] == [False, True, False, False]


@pytest.mark.parametrize("wrong", [3, [], np.eye(3), sparse.eye_array(3), object()], ids=kind_of)
def test_a_metric_is_a_name_or_a_function(wrong):
    with pytest.raises(ValueError, match="metric="):
        KNN(3, metric=wrong).build(X)


@pytest.mark.parametrize("wrong", [3, np.eye(3), sparse.eye_array(3)], ids=kind_of)
def test_a_kernel_is_a_name_or_a_function(wrong):
    with pytest.raises(ValueError, match="kernel="):
        KernelNPE(kernel=wrong).fit(X)
