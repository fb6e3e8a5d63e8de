"""The rows a graph is built on: their lengths, the one form of sparse ones, and what is computed once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sparse_kinds import in_parts

from lapwing.rows import KernelRows, Rows, lengths, unit_rows

RNG = np.random.RandomState(0)
X = np.where(RNG.rand(30, 12) < 0.5, RNG.rand(30, 12) - 0.3, 0)
X[4] = 0


def long_lengths(X):
    return np.array([np.sqrt(np.sum(np.asarray(x, np.longdouble) ** 2)) for x in X]).astype(np.float64)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(np.float32, 1), (np.float32, 1e-30), (np.float32, 1e-42), (np.float32, 1e37)]
    + [(np.float64, s) for s in (1, 1e-100, 1e100)],
)
def test_lengths_of_any_size(dtype, scale, make):
    rows = (X * scale).astype(dtype)
    found = lengths(make(rows))
    assert found.dtype == np.float64
    assert_allclose(found, long_lengths(rows), rtol=1e-14, atol=0)
    assert found[4] == 0
    unit = unit_rows(make(rows))
    assert unit.dtype == rows.dtype
    unit = unit.toarray() if sparse.issparse(unit) else unit
    assert_allclose(np.delete(lengths(unit), 4), 1, rtol=4 * np.finfo(dtype).eps)
    assert not unit[4].any()


def test_rows_of_all_sizes_together():
    rows = X * 10.0 ** np.linspace(-100, 100, 30)[:, None]
    assert_allclose(lengths(rows), long_lengths(rows), rtol=1e-14)
    assert_allclose(lengths(sparse.csr_array(rows)), long_lengths(rows), rtol=1e-14)


def test_unit_rows_are_left_alone():
    unit = unit_rows(X[:4])
    assert unit_rows(unit) is unit
    assert unit_rows(X) is not X


def test_entries_in_parts_count_once():
    given = in_parts(X)
    assert not given.has_canonical_format
    sample = Rows(given)
    assert_allclose(sample.norms, lengths(X), rtol=1e-14)
    pairs = np.arange(29), np.arange(1, 30)
    assert_allclose(sample.dots(*pairs), np.sum(X[:-1] * X[1:], axis=1), atol=1e-14)
    assert not given.has_canonical_format


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_cosines_of_pairs(scale):
    rows = np.abs(X) + 0.1
    i, j = np.triu_indices(30, 1)
    expected = np.sum(rows[i] * rows[j], axis=1) / (lengths(rows)[i] * lengths(rows)[j])
    for make in (np.asarray, sparse.csr_array):
        assert_allclose(Rows(make(rows * scale)).cosines(i, j), expected, rtol=1e-12)
    assert_allclose(KernelRows(rows @ rows.T).cosines(i, j), expected, rtol=1e-12)


def test_distances_of_a_kernel():
    rows = np.arange(10)
    assert_allclose(KernelRows(X @ X.T).squared_distances(rows), Rows(X).squared_distances(rows), atol=1e-12)
    assert_array_equal(np.diagonal(KernelRows(X @ X.T).squared_distances(rows)), 0)
