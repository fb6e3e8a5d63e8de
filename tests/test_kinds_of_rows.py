"""Every kind of rows gives what dense rows give, verb by verb."""

import tracemalloc

import numpy as np
import pytest
from limits import block_bytes
from scipy import sparse
from sklearn import config_context

from lapwing.blocks import BlockData, Blocks
from lapwing.data import ClassSums, Data, SparseData, as_data
from lapwing.neighbors import Request
from lapwing.operators import Structured
from lapwing.testing import SHAPES, check_data

KINDS = {
    "dense": Data,
    "sparse": lambda X, y: SparseData(sparse.csr_array(X), y),
    "weights of 1": lambda X, y: Data(X, y, np.ones(len(X))),
    "columns in memory": lambda X, y: Data(np.asfortranarray(X), y),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_verb(kind):
    check_data(KINDS[kind])


@pytest.mark.parametrize("few", [4096, 3], ids=["few rows", "screened"])
def test_every_verb_of_tensors(few, there, monkeypatch):
    from lapwing.device import TorchData

    monkeypatch.setattr("lapwing.device.FEW_ROWS", few)
    monkeypatch.setattr("lapwing.device.TREE_COLUMNS", 0)
    check_data(lambda X, y: TorchData(there(X), y))


class Wrong(Data):
    """Rows whose forms are wrong in the seventh digit, where there are edges."""

    def form(self, M, about):
        return super().form(M, about) * (1.0 if M.sparse is None else 1 + 1e-7)


def test_a_wrong_kind_is_told():
    with pytest.raises(AssertionError, match="form 0 of tall rows is not that of Data"):
        check_data(Wrong)


@pytest.mark.parametrize("by_class", [False, True])
def test_sums_over_classes(by_class):
    rng = np.random.RandomState(0)
    X, y, w = rng.standard_normal((50, 4)) + 1e5, rng.randint(-1, 3, 50), rng.rand(50) + 0.5
    X[:, 3] *= rng.rand(50) > 0.5
    X[:9] = 0
    sums = ClassSums(4, by_class, np.float64)
    for part in [np.arange(9), *np.array_split(9 + rng.permutation(41), 5)]:
        sums = sums.add(X[part], y[part], w[part])
    summary, data = sums.summary(labelled=True), Data(X, y, w)
    about = data.mean() + 0.3
    np.testing.assert_allclose(summary.mean(), data.mean(), rtol=1e-14)
    np.testing.assert_allclose(summary.deviations, data.deviations, rtol=1e-9)
    np.testing.assert_allclose(summary.shares, data.shares, rtol=1e-12)
    np.testing.assert_allclose(summary.gram(about), data.gram(about), rtol=1e-9)
    np.testing.assert_allclose(np.sort(summary.class_sizes), np.sort(data.class_sizes), rtol=1e-12)
    weights = np.array([1.0, 2.0, 4.0, 0.5]) if by_class else np.full(4, 3.0)  # of each class, and of unknown labels

    def of_classes(rows):
        return Structured(rows.n, diag=weights[rows.classes])

    labels = sums.labels[summary.y[summary.y >= 0]]
    order = np.append(np.argsort(np.argsort(labels)), 3) if by_class else np.arange(4)
    summary_weights = Structured(summary.n, diag=weights[order] if by_class else weights)
    np.testing.assert_allclose(summary.form(summary_weights, about), data.form(of_classes(data), about), rtol=1e-9)
    if not by_class:
        uneven = Structured(summary.n, diag=np.arange(1.0, 5.0))
        with pytest.raises(ValueError, match="classes weigh differently"):
            summary.form(uneven, about)


def test_sums_of_many_columns_name_the_memory_that_they_need():
    """Three matrices of 5000 x 5000 numbers for known labels, and three for unknown ones, are 1,144 MiB."""
    with pytest.raises(ValueError, match=r"of 5000 features take 1,144 MiB .*working_memory=1259"):
        ClassSums(5000, False, np.float64, 2)
    with config_context(working_memory=1259):
        ClassSums(5000, False, np.float64, 2)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_products_of_wide_rows_are_those_of_rows(kind):
    """About each point, whatever was asked for before."""
    X = np.random.RandomState(0).rand(4, 9)
    data = KINDS[kind](X, None)
    mean = data.mean()
    for about in (mean + 1, mean, mean + 1):
        np.testing.assert_allclose(data.gram(about), (X - about) @ (X - about).T, atol=1e-12)


def test_forms_of_edges_read_some_columns_at_a_time(monkeypatch):
    block_bytes(monkeypatch, 4096)
    rng = np.random.RandomState(0)
    X, W = rng.standard_normal((60, 80)), sparse.random(60, 60, density=0.1, random_state=0)
    M, about = Structured(60, sparse=sparse.csr_array(W + W.T)), rng.standard_normal(80)
    expected = (X - about).T @ (W + W.T) @ (X - about)
    np.testing.assert_allclose(Data(X).form(M, about), expected, atol=1e-10)


@pytest.mark.parametrize("of_rows", [True, False])
def test_sums_take_little_memory(of_rows, monkeypatch):
    """Neither a copy of wide rows in float64, nor a row of sums for each of many groups."""
    block_bytes(monkeypatch, 1 << 14)
    data = Data(np.ones((20, 20_000) if of_rows else (2000, 64), np.float32))
    pairs = sparse.csr_array((np.ones(2000), (np.arange(2000), np.arange(2000) % 1100)))
    M, about = Structured(2000, factors=((pairs, np.ones(1100)),)), np.zeros(data.d)
    tracemalloc.start()
    try:
        _ = data.gram(about) if of_rows else data.form(M, about)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 500_000, peak


def test_division_keeps_digits_of_far_rows_and_the_type_of_others():
    """In float32, 300 deviations from 0 take two of seven digits, and 30 take one."""
    rows, scale = np.random.RandomState(0).standard_normal((50, 3)), np.array([1e-3, 1.0, 1e3])
    for offset, dtype in ((300, np.float64), (30, np.float32)):
        X = ((rows + offset) * scale).astype(np.float32)
        divided = as_data(X).divided(scale)
        assert divided.X.dtype == dtype
        np.testing.assert_allclose(divided.X, X / scale, rtol=2 * np.finfo(dtype).eps)


ALL_ROWS = [Request(3), Request(3, "cosine"), Request(2, among="same_class")]


def in_blocks(X, y):
    """Rows in blocks whose neighbours are all asked for, so that all are held."""
    return BlockData(Blocks(X), y, requests=ALL_ROWS).with_neighbors(ALL_ROWS)


def test_blocks_are_held_where_all_rows_are_asked_for(monkeypatch):
    monkeypatch.delitem(SHAPES, "wide")  # a summary has the products of columns alone
    check_data(in_blocks)


def test_rows_that_are_not_held_are_summed_up():
    """Sums over all samples, and the neighbours of a few, are those of rows in memory."""
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((60, 5)) * np.arange(1, 6) + 1e4, rng.randint(-1, 3, 60)
    request, scale, data = Request(3, queries=6), 1.0 + np.arange(5), Data(X, y)
    rows = BlockData(Blocks(X), y, requests=[request], by_class=True)
    np.testing.assert_allclose(rows.deviations, data.deviations, rtol=1e-9)
    np.testing.assert_array_equal(rows.class_sizes, data.class_sizes)
    found, data = rows.divided(scale).with_neighbors([request]), data.divided(scale)
    assert found.n < data.n
    about = data.mean() + 0.3
    np.testing.assert_allclose(found.mean(), data.mean(), rtol=1e-13)
    np.testing.assert_allclose(found.gram(about), data.gram(about), rtol=1e-9)
    weights = np.array([3.0, 1.0, 2.0, 0.5])  # of the classes, and of unknown labels
    forms = [own.form(Structured(own.n, diag=weights[own.classes]), about) for own in (found, data)]
    np.testing.assert_allclose(*forms, rtol=1e-9)
    (i, j, d), (own, other, expected) = found.nearest(request), data.nearest(request)
    np.testing.assert_allclose(found.X[i], data.X[own], rtol=1e-12)
    np.testing.assert_allclose(found.X[j], data.X[other], rtol=1e-12)
    np.testing.assert_allclose(d, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="no neighbours"):
        found.nearest(Request(4, queries=6))


def test_rows_of_whole_numbers_give_what_the_same_numbers_in_floating_point_give():
    X, N = np.random.RandomState(0).randint(0, 255, (400, 5)).astype(np.uint8), 0.3 * np.eye(5, 2)
    found, expected = as_data(X), as_data(X.astype(np.float64))
    np.testing.assert_array_equal(found.in_coordinates(N, found.mean()).X, expected.in_coordinates(N, found.mean()).X)
    np.testing.assert_array_equal(found.nearest(Request(5, "cosine"))[1], expected.nearest(Request(5, "cosine"))[1])
