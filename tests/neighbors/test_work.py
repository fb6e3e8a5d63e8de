"""How much work a search does where many rows are equally far: counted, never timed."""

import sys

import numpy as np
import pytest
from helpers import each
from limits import sizes_searched_for, tiles_from
from scipy import sparse

from lapwing import NPE
from lapwing.data import Data, as_data
from lapwing.graphs import KNN, Reconstruction

N, K = 400, 5
MEASURED = 12 * K  # distances that are measured per row, at most


def tied(kind):
    """Rows that are all equally far from one another, or of which very many are."""
    rng = np.random.RandomState(0)
    if kind == "identity":
        return np.eye(N)
    if kind == "moved":
        return 3.0 * np.eye(N) + rng.rand(N)
    if kind == "one hot":  # many equal rows, and all others equally far
        return np.eye(60)[np.arange(N) % 60]
    return (rng.rand(N, 12) < 0.5).astype(np.float64)  # the corners of a cube


@pytest.fixture
def measured(monkeypatch):
    """How many distances are measured by differences."""
    counts, real = [], Data._paired_distances
    monkeypatch.setattr(Data, "_paired_distances", lambda self, i, j: counts.append(i.size) or real(self, i, j))
    return counts


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", ["identity", "moved", "one hot", "cube"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_ties_of_very_many_rows(measured, make, kind, metric):
    X = tied(kind)
    X[:, -1] += 1.0  # no row is zero
    squares = (X**2).sum(axis=1)
    D = squares[:, None] + squares - 2 * X @ X.T
    if metric == "cosine":
        D = 1 - X @ X.T / np.sqrt(np.outer(squares, squares))
    D = np.round(D, 9)
    np.fill_diagonal(D, np.inf)
    rows, cols, _ = as_data(make(X)).nearest(KNN(K, metric=metric).requests()[0])
    assert (rows == np.repeat(np.arange(N), K)).all()
    expected = np.argsort(D, axis=1, kind="stable")[:, :K]
    assert (np.sort(cols.reshape(N, K)) == np.sort(expected)).all()
    assert sum(measured) <= MEASURED * N


def test_ties_of_very_many_rows_in_tiles(measured, monkeypatch):
    """Products in single precision say less about who is nearer."""
    tiles_from(monkeypatch, 1)
    _, cols, _ = as_data(np.eye(N)).nearest(KNN(K).requests()[0])
    assert (np.sort(cols.reshape(N, K))[20:] == np.arange(K)).all()
    assert sum(measured) <= MEASURED * N


@pytest.mark.parametrize("pairs", [1, N**2 + 1], ids=["tiles", "scikit-learn"])
def test_rows_that_all_are_tied_are_searched_for_once(monkeypatch, pairs):
    tiles_from(monkeypatch, pairs)
    asked, real = [], Data.candidates
    monkeypatch.setattr(Data, "candidates", lambda self, *given: asked.append(given) or real(self, *given))
    as_data(np.eye(N)).nearest(KNN(K).requests()[0])
    assert len(asked) == 1


@each("pairs", [1, N**2 + 1])
def test_rows_that_are_tied_with_one_of_the_lowest_numbers(monkeypatch, pairs):
    """2 K of them are looked at before all others are; K - 1 are far away, so that others need the last of the 2 K."""
    far, X = K - 1, np.eye(N)
    X[:far] *= 100
    with monkeypatch.context() as patch:
        tiles_from(patch, pairs)
        asked = sizes_searched_for(patch)
        _, cols, _ = as_data(X).nearest(KNN(K).requests()[0])
    expected = [[j for j in range(far, N) if j != i][:K] for i in range(N)]
    assert (np.sort(cols.reshape(N, K)) == expected).all()
    assert asked == [N]


def test_rows_that_are_tied_with_none_of_the_lowest_numbers():
    far, X = 3 * K, np.eye(N)
    X[:far] *= 100
    _, cols, _ = as_data(X).nearest(KNN(K).requests()[0])
    expected = [[j for j in range(far, N) if j != i][:K] for i in range(N)]
    assert (np.sort(cols.reshape(N, K)) == expected).all()


def calls(work):
    """How many functions of Python a piece of work calls."""
    found = [0]

    def profile(frame, event, _):
        found[0] += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found[0]


def test_sparse_patches_of_many_neighbours_are_multiplied_together():
    """The number of calls does not grow with the square of k."""
    X = np.random.RandomState(0).rand(60, 400)
    X[X < 0.99] = 0
    few, many = (calls(lambda k=k: NPE(2, graph=k).fit(sparse.csr_array(X))) for k in (5, 50))
    assert many < 1.5 * few
    dense, stored = (NPE(2, graph=50).fit(rows).eigenvalues_ for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(stored, dense, rtol=1e-8)


def test_columns_of_one_row_in_20_are_multiplied_as_dense_ones(monkeypatch):
    """Of the sparse rows of a tile those remain in which fewer rows have an entry."""
    tiles_from(monkeypatch, 1)
    rng, X = np.random.RandomState(0), np.zeros((N, 50))
    for j in range(50):
        X[rng.permutation(N)[: N // 20 - (j >= 30)], j] = rng.rand()
    whole, widths = sparse.csr_array.__matmul__, set()
    monkeypatch.setattr(sparse.csr_array, "__matmul__", lambda A, B: widths.add(A.shape[1]) or whole(A, B))
    as_data(sparse.csr_array(X)).candidates(np.arange(N), np.arange(N), 9)
    assert widths == {20}


def test_patches_of_rows_with_few_zeros_are_multiplied_as_dense_ones(monkeypatch):
    """Sparse products of them took ten times as long."""
    X = np.random.RandomState(0).rand(60, 20)
    X[X < 0.6] = 0
    whole, shapes = sparse.csr_array.__matmul__, set()
    monkeypatch.setattr(sparse.csr_array, "__matmul__", lambda A, B: shapes.add(A.shape) or whole(A, B))
    Reconstruction(50).weights_matrix(as_data(sparse.csr_array(X)))
    assert shapes <= {X.shape}  # the search multiplies all rows, in some releases of scikit-learn
