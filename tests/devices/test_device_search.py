"""Neighbours on a device are those of brute force, ties included, on every kind of rows."""

import os
import subprocess
import sys

import numpy as np
import pytest

from lapwing.graphs import KNN

torch = pytest.importorskip("torch")
rs = np.random.RandomState(0)
GAUSS = rs.randn(420, 20)
KINDS = {
    "gauss": GAUSS,
    "columns first": np.asfortranarray(GAUSS),
    "every other column": rs.randn(420, 40)[:, ::2],
    "few whole numbers": rs.randint(0, 3, (420, 17)) * 1.0,
    "whole numbers": rs.randint(0, 256, (420, 30)) * 1.0,
    "far from the origin": GAUSS + 1e4,
    "outliers": np.r_[GAUSS, 1e5 * rs.randn(3, 20)],
    "far outliers": np.r_[GAUSS, 1e12 * rs.randn(3, 20)],
    "large": GAUSS * 1e15,
    "small": GAUSS * 1e-12,
    "copies": np.repeat(rs.randn(21, 20), 20, axis=0),
    "two rows": np.repeat(rs.randn(2, 20), 210, axis=0),
    "constant": np.ones((420, 20)),
    "nearly constant": np.ones((420, 20)) + 1e-6 * GAUSS,
    "wide": rs.randn(200, 300),
    "all lengths": GAUSS * 10.0 ** rs.uniform(-6, 6, (420, 1)),
    "one column varies": np.c_[GAUSS[:, :1], np.zeros((420, 19))],
    "mostly zero": GAUSS * (rs.rand(420, 20) < 0.1),
}
BEYOND_FLOAT32 = {"tiny": GAUSS * 1e-50, "huge": GAUSS * 1e50}
CASES = [(name, X, dtype) for name, X in KINDS.items() for dtype in (np.float32, np.float64)]
CASES += [(name, X, np.float64) for name, X in BEYOND_FLOAT32.items()]
each_kind = pytest.mark.parametrize(
    ("X", "dtype"), [case[1:] for case in CASES], ids=[f"{name}, {dtype.__name__}" for name, _, dtype in CASES]
)


def rows_of(X, dtype):
    return np.array(X, dtype=dtype, order="K")


def brute(X, k, metric="euclidean"):
    """How often rows are linked, once from each side: by all differences, in more than float64 where there is more."""
    X = X.astype(np.longdouble) / np.abs(X).max()
    if metric == "cosine":
        X = X / np.sqrt((X**2).sum(axis=1, keepdims=True))
    W = np.zeros((len(X), len(X)))
    for row, x in enumerate(X):
        squares = ((X - x) ** 2).sum(axis=1)
        d = (squares / 2 if metric == "cosine" else np.sqrt(squares)).astype(np.float64)
        d[d <= 1e-13 * (metric == "cosine")] = 0
        d[row] = np.inf
        kth = np.sort(d)[k - 1]
        rank = (d >= kth * (1 - 1e-9)).astype(int) + (d > kth * (1 + 1e-9))
        W[row, np.argsort(rank, kind="stable")[:k]] = 1
    return W + W.T


def links(X, k, metric="euclidean", y=None, **options):
    """The same from a graph."""
    (term,) = KNN(k, weights="binary", symmetry="mean", metric=metric, **options).build(X, y)
    W = -2 * term.laplacian.toarray()
    np.fill_diagonal(W, 0)
    return W


@each_kind
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_tensors(X, dtype, metric, there, screened):
    X = rows_of(X, dtype)
    if metric == "cosine" and not X.any(axis=1).all():
        pytest.skip("rows of length 0 have no angles")
    # Rows of length 1 are rounded to the type of X, on the CPU as well.
    expected = links(X, 7, metric) if metric == "cosine" and dtype is np.float32 else brute(X, 7, metric)
    np.testing.assert_array_equal(links(there(X), 7, metric), expected)


@each_kind
def test_rows_of_numpy(X, dtype, screened):
    """``search="torch"`` finds what the search on the CPU finds."""
    X = rows_of(X, dtype)
    np.testing.assert_array_equal(links(X, 7, search="torch"), links(X, 7))


@pytest.mark.parametrize("k", [1, 417, 419])
def test_few_and_nearly_all_neighbors(k, there, screened):
    np.testing.assert_array_equal(links(there(GAUSS), k), brute(GAUSS, k))


@pytest.mark.parametrize("among", ["same_class", "other_class"])
@pytest.mark.parametrize("n_classes", [3, 100])
def test_among_classes(among, n_classes, there, screened):
    y = rs.randint(0, n_classes, len(GAUSS))
    expected = links(GAUSS, 3, y=y, among=among)
    np.testing.assert_array_equal(links(there(GAUSS), 3, y=there(y), among=among), expected)
    np.testing.assert_array_equal(links(GAUSS, 3, y=y, among=among, search="torch"), expected)


@pytest.mark.parametrize(("d", "order"), [(20, "F"), (256, "C"), (300, "F")])
def test_thousands_of_rows(d, order, there):
    """Enough rows for the screen as it is, so on a GPU for its kernels."""
    X = np.array(np.random.RandomState(1).randint(0, 256, (4200, d)), dtype=np.float32, order=order)
    (found,), (expected,) = KNN(10).build(there(X)), KNN(10).build(X)
    apart = abs(found.laplacian.tosparse() - expected.laplacian.tosparse())
    assert apart.max() < 1e-12


KERNELS = """
import numpy as np, torch
from lapwing import device_search
device_search.GROUP_ROWS = ((1 << 60, 2),)
for d, order in ((20, "C"), (16, "F"), (300, "C"), (320, "F")):
    X = torch.from_numpy(np.array(np.random.RandomState(0).randn(30, d), dtype=np.float32, order=order))
    plain, fused = (device_search.Screen(X, fused=fused).candidates(X, 5, 1) for fused in (False, True))
    assert (plain[0][:, :4].sort().values == fused[0][:, :4].sort().values).all(), (d, order)
    squares = X.new_empty(plain[0].shape, dtype=torch.float64)
    device_search.differences(X, torch.arange(30), plain[0].clamp(min=0), squares)
    expected = (X[plain[0].clamp(min=0)].double() - X[:, None].double()).square().sum(2)
    assert torch.allclose(squares, expected, rtol=1e-12, atol=0), (d, order)
"""


def test_kernels_in_the_interpreter():
    """Triton kernels give what plain torch gives, for rows in any memory layout."""
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([sys.executable, "-c", KERNELS], check=True, env=environment)


def test_what_a_device_does_not_search():
    X = np.abs(GAUSS)
    with pytest.raises(ValueError, match=r"compares .* compared by metric='manhattan'"):
        KNN(5, metric="manhattan", search="torch").build(X)
    from scipy import sparse

    with pytest.raises(ValueError, match=r"compares dense rows .* X is sparse"):
        KNN(5, search="torch").build(sparse.csr_array(X))
