"""Exact neighbours as a transformer of scikit-learn, beside its own."""

import pickle

import numpy as np
import pytest
from helpers import each
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from lapwing import ExactNeighbors

X, NEW = np.random.RandomState(0).rand(200, 20), np.random.RandomState(1).rand(30, 20)
TIED = np.tile(np.arange(4.0)[:, None], (10, 2))  # ten copies of each of four points


@pytest.mark.parametrize("estimator", [ExactNeighbors(), ExactNeighbors(2, metric="manhattan", n_jobs=2)], ids=str)
def test_scikit_learn(estimator):
    check_estimator(estimator, on_skip=None)


def same(ours, theirs):
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(np.diff(ours.indptr), np.diff(theirs.indptr))
    np.testing.assert_allclose(
        ours.toarray(), theirs.toarray(), rtol=1e-7, atol=1e-7
    )  # theirs of a row from itself is not 0


@each("metric", ["euclidean", "cosine", "manhattan"])
@each("make", [np.asarray, sparse.csr_array])
@each("n_jobs", [None, 2, -1])
def test_beside_the_transformer_of_scikit_learn(metric, make, n_jobs):
    ours = ExactNeighbors(4, metric=metric, n_jobs=n_jobs).fit(make(X))
    theirs = KNeighborsTransformer(n_neighbors=4, metric=metric).fit(make(X))
    same(ours.fit_transform(make(X)), theirs.fit_transform(make(X)))
    same(ours.transform(make(NEW)), theirs.transform(make(NEW)))
    for given in ((), (make(NEW), 3)):
        for found, expected in zip(ours.kneighbors(*given), theirs.kneighbors(*given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert ours.get_feature_names_out()[-1] == "exactneighbors199"


def test_of_equal_rows_the_first_are_taken():
    fitted = ExactNeighbors(3).fit(TIED)
    np.testing.assert_array_equal(fitted.kneighbors()[1][:6:5], [[4, 8, 12], [1, 9, 13]])
    np.testing.assert_array_equal(fitted.kneighbors(TIED[:1] + 0.1)[1], [[0, 4, 8]])
    graph = fitted.fit_transform(TIED)  # a row is its own first neighbour
    np.testing.assert_array_equal(graph.indices.reshape(40, 4)[:, 0], np.arange(40))
    assert graph.nnz == 160


def test_rows_that_are_fitted_are_compared_once():
    graph, again = (ExactNeighbors(6).fit(X).transform(rows) for rows in (X, X.copy()))
    same(graph, again)
    np.testing.assert_array_equal(ExactNeighbors().fit(X).kneighbors(X, 1)[1].ravel(), np.arange(200))


def test_fitted_dense_and_asked_sparse_and_the_other_way_round():
    few = np.where(X > 0.7, X, 0)
    dense, stored = ExactNeighbors(4).fit(few), ExactNeighbors(4).fit(sparse.csr_array(few))
    np.testing.assert_array_equal(dense.kneighbors(sparse.csr_array(NEW))[1], dense.kneighbors(NEW)[1])
    np.testing.assert_array_equal(stored.kneighbors(NEW)[1], dense.kneighbors(NEW)[1])


def test_in_a_pipeline():
    digits, y = load_digits(return_X_y=True)
    digits = digits + 0.01 * np.random.RandomState(0).rand(*digits.shape)  # no two distances are equal
    Z = make_pipeline(ExactNeighbors(10), Isomap(n_neighbors=10, metric="precomputed")).fit_transform(digits)
    np.testing.assert_allclose(np.abs(Z), np.abs(Isomap(n_neighbors=10).fit_transform(digits)), rtol=1e-5, atol=1e-5)
    judge = make_pipeline(ExactNeighbors(8), KNeighborsClassifier(8, metric="precomputed")).fit(digits[:900], y[:900])
    alone = KNeighborsClassifier(8).fit(digits[:900], y[:900])
    np.testing.assert_array_equal(judge.predict(digits[900:]), alone.predict(digits[900:]))


def test_tensors():
    torch = pytest.importorskip("torch")
    fitted, plain = ExactNeighbors(4).fit(torch.from_numpy(X)), ExactNeighbors(4).fit(X)
    for found, expected in zip(fitted.kneighbors(torch.from_numpy(NEW)), plain.kneighbors(NEW), strict=True):
        assert torch.is_tensor(found)
        np.testing.assert_allclose(found.numpy(), expected)
    same(fitted.fit_transform(torch.from_numpy(X)), plain.transform(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).kneighbors()[1].numpy(), plain.kneighbors()[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 200}, "n_neighbors=200 must be smaller than the number of samples, 200"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be a whole number, 1 or more"),
        ({"metric": "precomputed"}, 'metric="precomputed" leaves nothing to search for'),
        ({"metric": 3}, "metric=3 must be a name, or a function"),
    ],
)
def test_bad_parameters(options, message):
    estimator = clone(ExactNeighbors()).set_params(**options)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X)
    with pytest.raises(NotFittedError):
        estimator.kneighbors()


def test_bad_requests():
    fitted = ExactNeighbors(3).fit(X)
    with pytest.raises(ValueError, match="n_neighbors=201 is more than the 200 fitted rows"):
        fitted.kneighbors(NEW, 201)
    with pytest.raises(ValueError, match="n_neighbors=0 must be a whole number"):
        fitted.kneighbors(NEW, 0)
    with pytest.raises(ValueError, match="n_jobs == 0"):
        fitted.set_params(n_jobs=0).kneighbors()
