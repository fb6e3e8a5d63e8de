"""Sums over rows in blocks: counts, means, deviations and scatter of classes are those of the rows themselves."""

import numpy as np
import pytest
from scipy import sparse

from lapwing import operators
from lapwing.blocks import Blocks
from lapwing.maps import ClassMoments, ColumnSums, Moments, Rest, _moments

rng = np.random.RandomState(0)
N, D, C = 90, 5, 3
X = rng.standard_normal((N, D)) * rng.uniform(0.5, 3, D) + 4
Y = np.where(np.arange(N) % 7 == 0, -1, np.arange(N) % C)
PILOT = X[:10].mean(axis=0)


class Parts(Blocks):
    """Rows in parts of 13."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.is_sparse = X, X.shape, X.dtype, sparse.issparse(X)
        self.passes = 0

    def _read(self):
        self.passes += 1
        for start in range(0, self.shape[0], 13):
            yield self.X[start : start + 13]


@pytest.fixture(params=[1 << 23, 8 * D * 4], ids=["large blocks", "four rows at a time"])
def moments(request, monkeypatch):
    monkeypatch.setattr(operators, "BLOCK_BYTES", request.param)
    one, two = (Moments(PILOT, C).add(X[part], Y[part]) for part in (slice(0, 50), slice(50, N)))
    return one.merge(two)


def test_sums_of_classes(moments):
    places = np.where(Y < 0, C, Y)
    about = X - PILOT
    np.testing.assert_array_equal(moments.counts, np.bincount(places))
    np.testing.assert_allclose(moments.sums, [about[places == c].sum(axis=0) for c in range(C + 1)], atol=1e-12)
    np.testing.assert_allclose(moments.products[0], about[Y >= 0].T @ about[Y >= 0], rtol=1e-12)
    np.testing.assert_allclose(moments.products[1], about[Y < 0].T @ about[Y < 0], rtol=1e-12)
    np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-13)


def test_rows_without_labels_are_of_unknown_class():
    found = Moments(PILOT, 0).add(X, None)
    assert found.counts == [N]
    assert not found.products[0].any()
    np.testing.assert_allclose(found.products[1], (X - PILOT).T @ (X - PILOT), rtol=1e-12)


def test_one_class_that_is_all():
    found = Moments(PILOT, 1).add(X, np.zeros(N))
    np.testing.assert_array_equal(found.counts, [N, 0])
    assert not found.products[1].any()


def test_deviations_and_units(moments):
    scale = rng.uniform(0.5, 2, D)
    found = moments.deviations()
    np.testing.assert_allclose(found.values, X.std(axis=0), rtol=1e-12)
    assert found.filled.all()
    assert found.filled.shape == (D,)
    other = moments.divided(scale)
    np.testing.assert_allclose(other.deviations().values, (X / scale).std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(other.mean, (X / scale).mean(axis=0), rtol=1e-12)
    np.testing.assert_array_equal(other.counts, moments.counts)
    assert other.sums.shape == moments.sums.shape


def test_deviations_of_constant_columns_are_exactly_0():
    Z = np.c_[X, np.full(N, 0.1), np.full(N, 1e6 + 0.1), np.zeros(N)]
    found = Moments(Z[:10].mean(axis=0), 0).add(Z, None).deviations().values
    assert not found[-3:].any()
    np.testing.assert_allclose(found[:D], X.std(axis=0), rtol=1e-12)


def test_small_deviations_beside_a_large_mean_are_none_of_rounding():
    Z = 1e6 + 1e-3 * X
    found = Moments(Z[:10].mean(axis=0), 0).add(Z, None).deviations().values
    np.testing.assert_allclose(found, Z.std(axis=0), rtol=1e-5)


def test_columns_of_sparse_rows():
    Z = X * (rng.rand(N, D) < [0.2, 0.45, 0.55, 0.9, 1.0])
    Z[:, 0] = np.where(np.arange(N) % 2, 3.0, 0.0)  # in exactly half of the rows
    parts = [sparse.csr_array(Z[part]) for part in (slice(0, 40), slice(40, N))]
    found = ColumnSums(D).add(parts[0], None).merge(ColumnSums(D).add(parts[1], None))
    scale = rng.uniform(0.5, 2, D)
    for sums, dense in ((found, Z), (found.divided(scale), Z / scale)):
        np.testing.assert_allclose(sums.mean, dense.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(sums.deviations().values, dense.std(axis=0), rtol=1e-12)
        np.testing.assert_array_equal(sums.deviations().filled, (Z != 0).sum(axis=0) > N / 2)
    assert found.count == N


def rest_of(taken, labels=Y):
    """All rows but some, of which the moments are left."""
    blocks = Parts(X)
    classes = labels.astype(np.intp)
    moments = Moments(PILOT, C).add(X, classes)
    return Rest(moments, blocks, X[taken], classes[taken], classes), np.setdiff1d(np.arange(N), taken), blocks


def test_what_is_left_of_classes():
    taken = np.r_[np.flatnonzero(Y == 1), 0, 4, 5]
    rest, left, blocks = rest_of(taken)
    assert rest.labels.tolist() == [0, 2, -1]
    np.testing.assert_array_equal(rest.counts, [np.sum(Y[left] == c) for c in (0, 2, -1)])
    means = [X[left][Y[left] == c].mean(axis=0) for c in (0, 2, -1)]
    np.testing.assert_allclose(PILOT + rest.offsets, means, rtol=1e-12)
    assert blocks.passes == 0


@pytest.mark.parametrize("taken", [np.arange(12), np.empty(0, np.intp)], ids=["some taken", "none taken"])
def test_scatter_of_what_is_left(taken):
    """Of equal weights by what is known, of others by one pass for each new direction of weights, and no more."""
    rest, left, blocks = rest_of(taken)
    labels = rest.labels

    def scatter(weights):
        total = np.zeros((D, D))
        for label, weight in zip(labels, weights, strict=True):
            part = X[left][Y[left] == label]
            total += weight * (part - part.mean(axis=0)).T @ (part - part.mean(axis=0))
        return total

    unknown = np.where(labels < 0, 1.0, 0.0)
    cases = [
        (np.ones(4), 0),
        (2.5 * unknown, 0),
        (1.0 - unknown, 0),
        (np.array([1.0, 2, 3, 0.5]), 1),
        (np.array([2.0, 4, 6, 0]), 1),
    ]
    cases += [(np.array([1.0, -1, 2, 1]), 2), (np.array([0.3, 7, -2, 1]), 2), (np.zeros(4), 2)]
    for weights, passes in cases:
        found = rest.scatter(weights)
        np.testing.assert_allclose(found, scatter(weights), rtol=0, atol=1e-11 * np.abs(scatter(np.ones(4))).max())
        assert blocks.passes == passes, weights


def test_weighted_products_are_read_a_few_rows_at_a_time(monkeypatch):
    monkeypatch.setattr(operators, "BLOCK_BYTES", 8 * D * 4)
    of_class, classes = np.array([1.0, -2.0, 0.5, 3.0]), Y.astype(np.intp)
    expected = (X - PILOT).T @ (of_class[classes][:, None] * (X - PILOT))
    np.testing.assert_allclose(_moments._weighted(X, classes, PILOT, of_class), expected, rtol=1e-11)


def streamed(A, classes, weights, by_class, step):
    """Moments of rows that come so many at a time, each class with the batch that it is first seen in."""
    found = ClassMoments.none(A.shape[1], by_class)
    for start in range(0, A.shape[0], step):
        part = slice(start, start + step)
        found = found.grown(max(found.counts.size - 1, int(classes[part].max()) + 1), by_class)
        found.add(A[part], classes[part], weights[part])
    return found


@pytest.mark.parametrize("by_class", [False, True], ids=["all classes together", "class by class"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("first", [[0, 1, 2, -1], [-1, 2, 0, 1], [2, 2, 1, 0]], ids=str)
@pytest.mark.parametrize("step", [1, 17], ids="{} at a time".format)
def test_rows_that_come_in_batches(step, first, make, by_class):
    """Counts, means and scatter of weighted rows, whatever class comes first and whichever never comes."""
    A, weights = np.where(X > 6, 0, X), rng.uniform(0.5, 2, N)
    classes = np.resize(np.repeat(first, 20), N)
    found, labels = streamed(make(A), classes, weights, by_class, step), np.r_[np.arange(classes.max() + 1), -1]
    members = [classes == label for label in labels]
    there = np.array([rows.any() for rows in members])
    means = [np.average(A[rows], axis=0, weights=weights[rows]) if rows.any() else np.zeros(D) for rows in members]
    moved = [(A[rows] - mean) * np.sqrt(weights[rows, None]) for rows, mean in zip(members, means, strict=True)]
    spreads = np.array([part.T @ part for part in moved])
    np.testing.assert_allclose(found.counts, [weights[rows].sum() for rows in members], rtol=1e-12)
    np.testing.assert_allclose(found.means[there], np.array(means)[there], rtol=1e-12)
    expected = spreads if by_class else [spreads[:-1].sum(axis=0), spreads[-1]]
    np.testing.assert_allclose(found.scatters, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.mean, np.average(A, axis=0, weights=weights), rtol=1e-12)
    variances = np.average((A - found.mean) ** 2, axis=0, weights=weights)
    seen = weights @ (A != 0) if make is sparse.csr_array else np.full(D, weights.sum())
    np.testing.assert_allclose(found.deviations().values, np.sqrt(variances), rtol=1e-10)
    np.testing.assert_array_equal(found.deviations().filled, 2 * seen > weights.sum())
    shares = np.where(there, 0.5 + np.arange(there.size), 0)
    if not by_class:
        shares[:-1] = shares[:-1][there[:-1]].mean()
    scale, total = rng.uniform(1, 2, D), np.tensordot(shares, spreads, 1)
    found = found.divided(scale).scatter(shares[there])
    np.testing.assert_allclose(found, total / np.outer(scale, scale), rtol=1e-9, atol=1e-9)
