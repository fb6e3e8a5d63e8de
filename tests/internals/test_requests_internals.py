"""What a graph asks of a search: parameters are checked, equal searches are one, and times are counted."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from lapwing.neighbors import Search, find, is_named
from lapwing.neighbors._products import Threads
from lapwing.neighbors._requests import is_exact
from lapwing.neighbors._spaces import space
from lapwing.rows import Rows

rng = np.random.RandomState(0)
X = rng.standard_normal((40, 5))


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


class AnotherOdd(Odd):
    """The same, by another program."""


@pytest.mark.parametrize(
    "search",
    [
        KNeighborsTransformer(),
        KNeighborsTransformer(mode="connectivity", n_neighbors=7),
        Odd(4),
        Odd(7),
        Odd(6, missed=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_transformers_of_all_conventions(search, make):
    """More neighbours than are asked for, the row itself or not, in any order, and some that were not found."""
    found, expected = find(Rows(make(X)), Search(3, search=search)), find(Rows(X), Search(3))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_few_rows_for_a_transformer(n):
    found, expected = (
        find(Rows(X[:n]), Search(3, search=search)) for search in (KNeighborsTransformer(n_neighbors=30), None)
    )
    np.testing.assert_array_equal(found.cols, expected.cols)


def test_searches_by_different_programs_differ():
    assert Search(3, search=Odd()).key == Search(3, search=Odd()).key
    assert Search(3, search=Odd()).key != Search(3, search=AnotherOdd()).key
    assert Search(3, search=Odd()).key != Search(3, search=Odd(missed=1)).key


def test_what_draws_queries_counts_where_there_are_any():
    assert Search(3, random_state=1).key == Search(3, random_state=np.array(2)).key
    assert Search(3, queries=9, random_state=1).key != Search(3, queries=9, random_state=2).key


def test_names():
    assert is_named("l2", "euclidean", "l2")
    assert not is_named("l1", "euclidean", "l2")
    assert not is_named(len, "euclidean")
    assert is_exact(None)
    assert is_exact("torch")
    assert not is_exact(KNeighborsTransformer())


@pytest.mark.parametrize(
    ("metric", "params", "measurable"),
    [
        ("euclidean", None, True),
        ("l2", {}, True),
        ("cosine", None, True),
        ("manhattan", None, False),
        ("minkowski", {"p": 3}, False),
    ],
)
def test_distances_that_differences_give_again(metric, params, measurable):
    assert space(Rows(X), metric, params).is_measurable is measurable


def test_threads_start_again():
    """After a run nothing of its pool is used, and inside one nothing is started."""
    threads, done = Threads(2), []
    for _ in range(2):
        with threads.running(5):
            pool = threads._pool
            assert pool is not None
            with threads.running(5):
                assert threads._pool is pool
                threads.each(done.append, [1, 2])
        assert threads._pool is None
        threads.each(done.append, [3])
    with threads.running(1):
        assert threads._pool is None
    assert sorted(done) == [1, 1, 2, 2, 3, 3]
