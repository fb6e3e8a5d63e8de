"""Rows in blocks: what is learned from them is what is learned in memory, in few passes and little memory."""

import os
import pty
import subprocess
import sys
import time
from functools import cache

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import zarr
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

import lapwing
from lapwing import (
    DNE,
    LPCA,
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    ONPP,
    FisherScore,
    LaplacianScore,
)
from lapwing.blocks import _blocks, _progress, as_blocks
from lapwing.blocks._arrays import ArrayBlocks, HeldBlocks, SparseBlocks
from lapwing.blocks._parquet import ParquetBlocks
from lapwing.graphs import (
    KNN,
    ClosestPairs,
    CodingLength,
    Complete,
    OtherClass,
    Pairs,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
)
from lapwing.maps import Moments, SparseMap

N, D = 1000, 6
NEAR = KNN(4, queries=40)
APART = Repulsion(6, queries=25)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_BYTES", 4096)


def data(n=N, d=D, dtype=np.float64):
    """Three classes, partly labelled."""
    rng = np.random.RandomState(0)
    y = rng.randint(0, 3, n)
    X = rng.randn(n, d) * np.linspace(2, 0.5, d) + 3 * np.eye(3, d)[y]
    return X.astype(dtype), np.where(rng.rand(n) < 0.2, -1, y)


def memory(X, share=0.9):
    """So little working memory that X is larger."""
    size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return config_context(working_memory=share * size / 2**20)


# The kinds of rows in blocks.


def memmap(array, folder, mode="r", name="X"):
    path = folder / f"{name}.bin"
    array.tofile(path)
    return np.memmap(path, array.dtype, mode, shape=array.shape)


def sparse_memmap(X, folder, mode="r"):
    parts = [memmap(getattr(X, name), folder, mode, name) for name in ("data", "indices", "indptr")]
    return sparse.csr_array(tuple(parts), shape=X.shape)


def table(X, **others):
    return pa.table({**{f"column {j}": X[:, j] for j in range(X.shape[1])}, **others})


def parquet(X, folder, **others):
    pq.write_table(table(X, **others), folder / "X.parquet", row_group_size=137)
    return ds.dataset(folder / "X.parquet")


def several_files(X, folder, **others):
    starts = [0, 1, 400, 400, 777, len(X)]  # one row, many, none
    whole = table(X, **others)
    for i in range(5):
        pq.write_table(whole.slice(starts[i], starts[i + 1] - starts[i]), folder / f"{i}.parquet")
    return ds.dataset(folder)


KINDS = {
    "memmap": memmap,
    "memmap r+": lambda X, folder: memmap(X, folder, "r+"),
    "memmap by columns": lambda X, folder: (
        np.asfortranarray(X).T.tofile(folder / "F.bin")
        or np.memmap(folder / "F.bin", X.dtype, "r", shape=X.shape, order="F")
    ),
    "parquet": parquet,
    "several files": several_files,
    "zarr": lambda X, folder: zarr.array(X, chunks=(37, X.shape[1])),
    "zarr by columns": lambda X, folder: zarr.array(X, chunks=(len(X), 2)),
    "dask": lambda X, folder: da.from_array(X, chunks=(61, X.shape[1])),
    "dask by columns": lambda X, folder: da.from_array(X, chunks=(61, 4)),
}


def assert_alike(model, other, tol=1e-8):
    for name in ("components_", "eigenvalues_", "mean_", "scores_", "rank_", "n_connected_components_", "support_"):
        if hasattr(model, name):
            one, two = getattr(model, name), getattr(other, name)
            if one is None or two is None:
                assert one is two, name
                continue
            scale = np.abs(np.asarray(one, float)[np.isfinite(one)]).max(initial=1)
            np.testing.assert_allclose(two, one, rtol=tol, atol=tol * scale, err_msg=name)
    if getattr(model, "sampling_", None) is not None:
        assert model.sampling_.keys() == other.sampling_.keys()
        np.testing.assert_allclose(
            list(other.sampling_.values()), list(model.sampling_.values()), rtol=1e4 * tol, atol=1e4 * tol
        )


METHODS = {
    "LPP": LPP(3, graph=NEAR),
    "whole rank": LPP(3, graph=NEAR, pca=None),
    "directions": LPP(3, graph=NEAR, pca=4),
    "energy": LPP(3, graph=NEAR, pca=0.9),
    "all components": LPP(None, graph=NEAR, pca=None),
    "plain mean": LPP(3, graph=NEAR, pca=None, center="mean"),
    "degree mean": LPP(3, graph=NEAR, pca=4, center="degree"),
    "no mean": LPP(3, graph=NEAR, pca=None, center=False),
    "no mean, directions": LPP(3, graph=NEAR, pca=4, center=False),
    "ridge": LPP(3, graph=NEAR, pca=None, ridge=0.1),
    "constraint": LPP(3, graph=NEAR, scaling="constraint"),
    "trace": LPP(3, graph=NEAR - 0.2 * APART, pca=None, normalize="trace"),
    "penalty": LPP(3, graph=NEAR, penalty=APART, pca=None),
    "half-median": LPP(3, graph=KNN(4, t="half-median", queries=40), pca=None),
    "cosine": LPP(3, graph=KNN(4, metric="cosine", queries=40), pca=None),
    "manhattan": LPP(3, graph=KNN(4, metric="manhattan", queries=40), pca=None),
    "same class": LPP(3, graph=KNN(4, among="same_class", weights="binary", queries=40), pca=None),
    "other class": LPP(3, graph=KNN(4, among="other_class", weights="binary", queries=40), pca=None),
    "OLPP": OLPP(3, graph=NEAR),
    "OLPP, whole rank": OLPP(3, graph=NEAR - 0.1 * APART, pca=None),
    "PCA": OLPP(3, graph=-Complete(), pca=None),
    "LDA": LPP(2, graph=SameClass(), penalty=Complete(among="labelled"), pca=None),
    "NPE": NPE(3, graph=Reconstruction(4, queries=40), pca=None),
    "NPE, classes": NPE(3, graph=Reconstruction(4, among="same_class", queries=40), pca=None),
    "ONPP": ONPP(3, graph=Reconstruction(4, queries=40)),
    "MMC": MMC(3),
    "LPDP": LPDP(3, graph=KNN(4, weights="binary", queries=40)),
    "MFA": MFA(2, graph=KNN(4, among="same_class", weights="binary", queries=40), penalty=APART),
    "DNE": DNE(3, graph=(NEAR & SameClass()) - (NEAR & OtherClass())),
    "LPCA": LPCA(3, graph=CodingLength(4, queries=40)),
    "LaplacianScore": LaplacianScore(3, graph=NEAR),
    "LaplacianScore, classes": LaplacianScore(3, graph=SameClass()),
    "FisherScore": FisherScore(3),
    "sum": LPP(3, graph=NEAR + 0.3 * SameClass() - 0.1 * Complete(), pca=None),
    "sum of filtered": LPP(3, graph=(KNN(9, weights="binary", queries=20) & SameClass()) + 0.1 * NEAR, pca=None),
    "OtherClass": LPP(3, graph=NEAR + SameClass() - 0.05 * OtherClass(), pca=None),
    "OtherClass attracts": LPP(3, graph=2 * NEAR + 0.5 * OtherClass() + SameClass(), pca=None),
    "LaplacianScore, OtherClass": LaplacianScore(3, graph=NEAR + OtherClass()),
}


@cache
def in_memory(name, dtype=np.float64):
    X, y = data(dtype=dtype)
    return clone(METHODS[name]).fit(X, y)


# What reads the blocks does not know the method: links and their rows, moments, patches, and a choice of columns.
SOME_METHODS = ["LPP", "MMC", "LPCA", "LaplacianScore"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in METHODS for kind in (KINDS if name in SOME_METHODS else ["several files"])],
)
def test_blocks_are_rows_in_memory(name, kind, tmp_path):
    X, y = data()
    blocks = KINDS[kind](X, tmp_path)
    with memory(X):
        model = clone(METHODS[name]).fit(blocks, y)
        Z = np.asarray(model.transform(blocks))
    assert_alike(in_memory(name), model)
    np.testing.assert_allclose(Z, in_memory(name).transform(X), rtol=1e-7, atol=1e-7)
    assert type(Z) is np.ndarray


@pytest.mark.parametrize("kind", ["memmap", "parquet", "zarr", "dask"])
@pytest.mark.parametrize("name", ["LPP", "whole rank", "MMC", "ONPP", "LPCA", "FisherScore", "OtherClass"])
def test_float32(name, kind, tmp_path):
    X, y = data(dtype=np.float32)
    blocks = KINDS[kind](X, tmp_path)
    with memory(X):
        model = clone(METHODS[name]).fit(blocks, y)
        Z = np.asarray(model.transform(blocks))
    assert Z.dtype == np.float32
    assert_alike(in_memory(name, np.float32), model, 2e-6)
    np.testing.assert_allclose(Z, in_memory(name, np.float32).transform(X), atol=1e-4)


@pytest.mark.parametrize("dtype", ["u1", "i4", "f2", ">f8", "?"])
def test_other_numbers(dtype, tmp_path):
    X, y = data()
    X = (X > 1).astype("?") if dtype == "?" else (4 * np.abs(X)).astype(dtype)
    with memory(X, 0.5):
        blocks = memmap(X, tmp_path)
        assert isinstance(as_blocks(blocks), ArrayBlocks)
        model = MMC(2).fit(blocks, y)
    expected = MMC(2).fit(X.astype(np.float32 if dtype == "f2" else np.float64), y)
    assert_alike(expected, model, 1e-6 if dtype == "f2" else 1e-8)


@pytest.mark.parametrize("estimator", [LPP(3), OLPP(3), NPE(3), DNE(3), LPCA(3), LPDP(3), LaplacianScore(3)], ids=str)
def test_default_graphs_are_whole_on_few_rows(estimator, tmp_path):
    X, y = data(300)
    assert_alike(clone(estimator).fit(X, y), clone(estimator).fit(zarr.array(X, chunks=(50, D)), y))


def test_sizes_of_graphs_mean_the_same(tmp_path):
    X, y = data(300)
    for model in (LPP(2, graph=7, penalty=9), LaplacianScore(2, graph=7)):
        assert_alike(clone(model).fit(X, y), clone(model).fit(zarr.array(X, chunks=(50, D)), y))


# Data that is not easy.


def hard(name):
    X, y = data()
    rng = np.random.RandomState(1)
    return {
        "constant": lambda: np.column_stack([X, np.full(N, 0.1), np.full(N, 1e6 + 0.1), np.zeros(N)]),
        "scales": lambda: X * np.logspace(-2, 2, D),
        "offset": lambda: X + 1e6,
        "offset, near": lambda: 0.1 * X + 1e6,
        "collinear": lambda: np.column_stack([X, X @ rng.randn(D, 3)]),
        "equal rows": lambda: np.repeat(X[: N // 4], 4, axis=0),
        "lattice": lambda: np.round(X),
        "many columns": lambda: np.column_stack([X, rng.randn(N, 20)]) + 1e5,
        "sorted by class": lambda: X[np.argsort(y)] + 100 * np.sort(y)[:, None],
    }[name](), np.sort(y) if name == "sorted by class" else y


HARD = [
    "constant",
    "scales",
    "offset",
    "offset, near",
    "collinear",
    "equal rows",
    "lattice",
    "many columns",
    "sorted by class",
]


@pytest.mark.parametrize(
    "method", ["LPP", "whole rank", "OLPP", "half-median", "LPCA", "MMC", "LaplacianScore", "FisherScore", "OtherClass"]
)
@pytest.mark.parametrize("name", HARD)
@pytest.mark.filterwarnings("ignore::lapwing.UnitsWarning")
def test_hard_data(name, method, tmp_path):
    X, y = hard(name)
    expected = clone(METHODS[method]).fit(X, y)
    with memory(X):
        model = clone(METHODS[method]).fit(memmap(X, tmp_path), y)
    assert_alike(expected, model, {"scales": 1e-5, "sorted by class": 1e-6, "constant": 1e-6}.get(name, 1e-7))


def test_more_columns_than_rows(tmp_path):
    rng = np.random.RandomState(0)
    X, y = rng.randn(60, 150), np.arange(60) % 3
    for model in (
        LPP(3, graph=KNN(5, queries=45)),
        LPP(3, graph=KNN(5, queries=45), pca=None, ridge=0.5),
        MMC(2, pca=None),
    ):
        blocks = clone(model).fit(zarr.array(X, chunks=(11, 40)), y)
        assert_alike(clone(model).fit(X, y), blocks)
    assert blocks.n_pca_ == 59


def test_the_rows_before_the_pilot_may_be_unlike_the_others(tmp_path):
    """Sums are taken about the mean of the first block; the others may be elsewhere."""
    X, y = data()
    X[40:] += 1000
    assert_alike(MMC(2).fit(X, y), MMC(2).fit(zarr.array(X, chunks=(40, D)), y), 1e-7)


def test_all_labels_known(tmp_path):
    X, _ = data()
    y = np.arange(N) % 4
    for name in ("MMC", "OtherClass", "FisherScore", "DNE"):
        model = clone(METHODS[name]).fit(zarr.array(X, chunks=(90, D)), y)
        assert_alike(clone(METHODS[name]).fit(X, y), model)


def test_labels_may_be_words_and_many(tmp_path):
    X, _ = data()
    y = np.array([f"class {i % 200}" for i in range(N)], dtype=object)
    y[::7] = -1
    assert_alike(MMC(2).fit(X, y), MMC(2).fit(zarr.array(X, chunks=(90, D)), y))


def test_constant_columns_among_many_links_are_never_selected():
    n = 20_000
    X = np.column_stack([np.random.RandomState(0).randn(n, 2), np.full(n, 0.1), np.full(n, 1e6 + 0.1), np.full(n, 7.3)])
    model = LaplacianScore(2, graph=KNN(5, queries=6000)).fit(zarr.array(X, chunks=(3000, 5)))
    assert list(model.support_) == [True, True, False, False, False]


def test_orthogonal_directions_do_not_see_the_origin():
    """center=False: a constant column has no variance, in memory and in blocks."""
    X, y = hard("constant")
    for model in (MMC(2, pca=None, center=False), OLPP(2, graph=NEAR, pca=None, center=False)):
        assert_alike(clone(model).fit(X, y), clone(model).fit(zarr.array(X, chunks=(90, D)), y))


def test_rows_that_fit_are_loaded_where_their_links_do_not():
    X = np.random.RandomState(0).randn(1000, 60)
    with config_context(working_memory=1):  # X is half of it, 16 neighbours of each row 7 times
        model = LPCA(2, graph=15).fit(zarr.array(X, chunks=(100, 60)))
    assert_alike(LPCA(2, graph=15).fit(X), model)


# Sparse rows.


def documents(n=900, d=40):
    X = sparse.random(n, d, 0.15, format="csr", random_state=0, dtype=np.float64)
    return sparse.csr_array(X + sparse.coo_array((np.ones(n), (np.arange(n), np.arange(n) % d)), shape=(n, d)))


SPARSE = {
    "LPP": LPP(3, graph=NEAR, pca=None),
    "ridge": LPP(3, graph=NEAR, pca=None, ridge=0.2),
    "plain mean": LPP(3, graph=NEAR, pca=None, center="mean"),
    "manhattan": LPP(3, graph=KNN(4, metric="manhattan", queries=60), pca=None),
    "LPI": LPI(3, graph=KNN(4, metric="cosine", weights="dot", queries=60)),
    "Reconstruction": LPP(3, graph=Reconstruction(4, queries=60), pca=None),
    "LaplacianScore": LaplacianScore(5, graph=NEAR),
}


def sparse_blocks(X, folder):
    with memory(X):
        blocks = as_blocks(sparse_memmap(X, folder))
    assert isinstance(blocks, SparseBlocks)
    return blocks


@pytest.fixture(params=[500, 20], ids=["few features", "many features"])
def limit(request, monkeypatch):
    """As if there were more rows than are decomposed whole, and more features too, or not."""
    monkeypatch.setattr(SparseMap, "limit", request.param)
    return request.param


@pytest.mark.parametrize(
    ("dtype", "limit"), [(np.float64, 500), (np.float64, 20), (np.float32, 20)], indirect=["limit"]
)
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_rows_on_disk(name, dtype, tmp_path, limit):
    X = documents().astype(dtype)
    expected = clone(SPARSE[name]).fit(X)
    blocks = sparse_blocks(X, tmp_path)
    model = clone(SPARSE[name]).fit(blocks)
    Z = model.transform(blocks)
    tol = 1e-8 if dtype == np.float64 else 1e-5
    assert_alike(expected, model, tol)
    assert sparse.issparse(Z) == (name == "LaplacianScore")
    dense = [M.toarray() if sparse.issparse(M) else M for M in (Z, expected.transform(X))]
    np.testing.assert_allclose(*dense, atol=10 * tol)


def test_entries_that_are_stored_twice_are_added(tmp_path):
    """As scikit-learn and SciPy read them: a length is not that of the parts."""
    X = documents()
    halves = sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    with memory(X):
        model = clone(SPARSE["LPI"]).fit(sparse_memmap(halves, tmp_path))
    assert_alike(clone(SPARSE["LPI"]).fit(X), model)


@pytest.mark.parametrize("limit", [20], indirect=True)
def test_sparse_rows_that_are_refused(tmp_path, limit):
    X = documents()
    y = np.arange(X.shape[0]) % 3
    with memory(X):
        blocks = sparse_memmap(X, tmp_path)
        for model in (OLPP(2, graph=NEAR), LPP(2, graph=NEAR + SameClass()), LPP(2, graph=NEAR, pca=10), MMC(2)):
            with pytest.raises(ValueError, match=r"sparse rows in blocks, of more than 20 features"):
                model.fit(blocks, y)
        by_columns = sparse.csc_array(X)
        parts = [memmap(getattr(by_columns, name), tmp_path, name=name) for name in ("data", "indices", "indptr")]
        with pytest.raises(ValueError, match=r"csc format.*CSR"):
            LPP(2, graph=NEAR).fit(sparse.csc_array(tuple(parts), shape=X.shape))


@pytest.mark.parametrize("pca", [10, 0.9, "auto"])
@pytest.mark.parametrize("limit", [500], indirect=True)
def test_principal_directions_of_sparse_rows_are_those_of_all(pca, tmp_path, limit):
    X = documents()
    expected = LPP(3, graph=NEAR, pca=pca).fit(X)
    model = LPP(3, graph=NEAR, pca=pca).fit(sparse_blocks(X, tmp_path))
    assert_alike(expected, model)


@pytest.mark.parametrize("graph", [NEAR + Complete(), NEAR + SameClass()], ids=str)
@pytest.mark.parametrize("limit", [500], indirect=True)
def test_classes_of_sparse_rows(graph, tmp_path, limit):
    X, y = documents(), np.arange(900) % 3
    expected = LPP(2, graph=graph, pca=None).fit(X, y)
    model = LPP(2, graph=graph, pca=None).fit(sparse_blocks(X, tmp_path), y)
    assert_alike(expected, model)


# Parquet.


def test_labels_are_a_column(tmp_path):
    X, y = data()
    expected = in_memory("MMC")
    for labels in (y, y.astype(float), y.astype(str)):
        (folder := tmp_path / str(labels.dtype)).mkdir()
        blocks = several_files(X, folder, label=labels)
        model = clone(METHODS["MMC"]).fit(blocks, y="label")
        assert_alike(expected, model)
        assert list(model.feature_names_in_) == [f"column {j}" for j in range(D)]
        np.testing.assert_allclose(model.transform(blocks), expected.transform(X), atol=1e-8)  # by name: no label
        np.testing.assert_allclose(clone(model).fit_transform(blocks, "label"), expected.transform(X), atol=1e-8)
    dictionary = pa.array(y.astype(str)).dictionary_encode()
    assert_alike(expected, clone(METHODS["MMC"]).fit(parquet(X, tmp_path, label=dictionary), "label"))
    assert_alike(in_memory("LPP"), clone(METHODS["LPP"]).fit(blocks, "label"))  # a graph that does not read it


def test_columns_are_read_by_name(tmp_path):
    X, y = data()
    model = clone(METHODS["MMC"]).fit(parquet(X, tmp_path), y)
    shuffled = table(X, more=y).select(["more", *[f"column {j}" for j in reversed(range(D))]])
    pq.write_table(shuffled, tmp_path / "new.parquet")
    np.testing.assert_allclose(model.transform(ds.dataset(tmp_path / "new.parquet")), model.transform(X_named(X)))
    pq.write_table(table(X[:, :-1]), tmp_path / "fewer.parquet")
    with pytest.raises(ValueError, match=r"no column 'column 5', which the model was fitted on"):
        model.transform(ds.dataset(tmp_path / "fewer.parquet"))


def X_named(X):  # noqa: N802
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])


def test_columns_of_several_kinds(tmp_path):
    X, y = data()
    X[:, 0], X[:, 1] = np.round(X[:, 0]), X[:, 1] > 0
    columns = {"a": X[:, 0].astype(int), "b": X[:, 1].astype(bool), "c": X[:, 2].astype(np.float32), "d": X[:, 3]}
    pq.write_table(pa.table(columns), tmp_path / "X.parquet")
    blocks = as_blocks(ds.dataset(tmp_path / "X.parquet"))
    assert blocks.dtype == np.float64
    expected = np.column_stack([column.astype(float) for column in columns.values()])
    np.testing.assert_array_equal(blocks.load(), expected)
    assert_alike(MMC(2).fit(expected, y), MMC(2).fit(ds.dataset(tmp_path / "X.parquet"), y))


@pytest.mark.parametrize("values", [[1.0, None, 3.0], [1, None, 3], [True, None, False]], ids=["float", "int", "bool"])
def test_missing_values_in_parquet(values, tmp_path):
    column = pa.array([values[0]] * 700 + values)
    pq.write_table(pa.table({"a": np.arange(703.0), "b": column}), tmp_path / "X.parquet")
    with pytest.raises(ValueError, match=r"column 'b' of X has missing values \(the first in row 701\).*impute"):
        LPP(1, graph=NEAR).fit(ds.dataset(tmp_path / "X.parquet"))


def test_a_column_that_a_file_has_not(tmp_path):
    X, _ = data(50)
    pq.write_table(table(X), tmp_path / "0.parquet")
    pq.write_table(table(X[:, :-1]), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"column 'column 5' of X has missing values \(the first in row 50\)"):
        LPP(1).fit(ds.dataset(tmp_path))


def test_columns_of_a_model_without_names_are_taken_in_order(tmp_path):
    X, y = data()
    model = MMC(2).fit(X, y)
    with pytest.warns(UserWarning, match="X has feature names, but MMC was fitted without"):
        Z = model.transform(parquet(X, tmp_path))
    np.testing.assert_allclose(Z, model.transform(X))


def test_parquet_that_is_refused(tmp_path):
    X, y = data()
    blocks = parquet(X, tmp_path, word=y.astype(str))
    with pytest.raises(ValueError, match=r"column 'word' of X is string, not numbers; name it as y"):
        LPP(1, graph=NEAR).fit(blocks)
    with pytest.raises(ValueError, match=r"y='labels' is no column of X; there are column 0"):
        MMC(1).fit(blocks, y="labels")
    missing = pa.array([None if label == -1 else str(label) for label in y])
    with pytest.raises(ValueError, match=r"y contains NaN.*mark unknown labels by -1"):
        MMC(1).fit(parquet(X, tmp_path, label=missing), y="label")
    pq.write_table(table(X[:0]), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match=r"X has 0 samples, but 2"):
        LPP(1).fit(ds.dataset(tmp_path / "empty.parquet"))
    pq.write_table(pa.table({"label": y}), tmp_path / "label.parquet")
    with pytest.raises(ValueError, match=r"X has 0 features"):
        MMC(1).fit(ds.dataset(tmp_path / "label.parquet"), "label")


# Passes and memory.


class Counted(ArrayBlocks):
    """How often each block was read."""

    def __init__(self, array):
        super().__init__(array)
        self.reads = {}

    def _read(self):
        for i, block in enumerate(super()._read()):
            self.reads[i] = self.reads.get(i, 0) + 1
            yield block


@pytest.mark.parametrize("name", METHODS)
def test_two_passes_are_enough(name):
    """And a third where classes have weights of their own; the first block is looked at once more, before."""
    X, y = data()
    blocks = Counted(zarr.array(X, chunks=(100, D)))
    clone(METHODS[name]).fit(blocks, y)
    most = 3 if "OtherClass" in name else 2
    assert set(blocks.reads) == set(range(10))
    assert max(blocks.reads[i] for i in range(1, 10)) <= most
    assert blocks.reads[0] <= most + 1


def test_what_a_pass_has_found_of_classes_is_kept():
    """OtherClass of several weights, on the sample and on its halves: one pass for all."""
    X, y = data()
    graph = NEAR + 0.5 * OtherClass() + SameClass() - 0.1 * OtherClass()
    blocks = Counted(zarr.array(X, chunks=(100, D)))
    model = LPP(3, graph=graph, pca=None, normalize="trace").fit(blocks, y)
    assert blocks.reads[1] == 3
    assert_alike(LPP(3, graph=graph, pca=None, normalize="trace").fit(X, y), model)


def test_blocks_are_as_small_as_the_working_memory_asks(monkeypatch, tmp_path):
    monkeypatch.setattr(_blocks, "BLOCK_BYTES", 1 << 25)
    X = np.zeros((4000, 16), np.uint8)
    with config_context(working_memory=0.125):  # an eighth is 16 KiB, as float64 128 rows
        sizes = [len(block) for block in ArrayBlocks(X)._read()]
        assert sizes == [128] * 31 + [32]
        chunked = [len(block) for block in ArrayBlocks(zarr.array(X, chunks=(100, 16)))._read()]
        assert set(chunked) == {100}
        large = [len(block) for block in ArrayBlocks(zarr.array(X, chunks=(200, 16)))._read()]
        assert set(large) == {200}  # a chunk is read whole
        huge = [len(block) for block in ArrayBlocks(zarr.array(X, chunks=(4000, 1)))._read()]
        assert max(huge) == 128  # unless it is all of X


def test_rows_with_links_must_fit(tmp_path):
    X, y = data()
    with memory(X):
        blocks = memmap(X, tmp_path)
        with pytest.raises(ValueError, match="queries=100 and their neighbours") as error:
            LPP(2, graph=KNN(9, queries=100)).fit(blocks)
    words = str(error.value)
    assert "1,000 rows of 6 features" in words
    assert "fewer queries or neighbours" in words
    remedy = float(words.split("sklearn.set_config(working_memory=")[1].rstrip(")"))
    with config_context(working_memory=remedy):
        LPP(2, graph=KNN(9, queries=100)).fit(ArrayBlocks(blocks), y)


RELEASED = """
import sys
import numpy as np
from sklearn import config_context
from lapwing import OLPP
from lapwing.graphs import KNN

def high():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024

X = np.memmap(sys.argv[1], np.float32, "r", shape=(600_000, 128))
with config_context(working_memory=100):
    before = high()
    OLPP(2, graph=KNN(3, queries=20)).fit(X)
    print(high() - before, X.nbytes / 2**20)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads /proc")
def test_pages_that_were_read_are_released(tmp_path):
    rows = np.random.RandomState(0).rand(20_000, 128).astype(np.float32)
    with open(tmp_path / "X.bin", "wb") as file:
        for i in range(30):
            file.write((rows + np.float32(i)).tobytes())
    run = [sys.executable, "-c", RELEASED, str(tmp_path / "X.bin")]
    grown, size = map(float, subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())
    assert size > 290
    assert grown < size / 2


def test_changes_that_are_in_memory_alone_are_kept(tmp_path):
    X, y = data()
    changed = memmap(X, tmp_path, "c")
    changed[7] = 50.0
    expected = np.array(changed)
    with memory(X):
        model = MMC(2).fit(changed, y)
    np.testing.assert_array_equal(changed, expected)
    assert_alike(MMC(2).fit(expected, y), model)
    halves = sparse_memmap(documents(), tmp_path, "c")
    halves.data[:] = 2.0
    with memory(halves):
        LPP(2, graph=NEAR, pca=None).fit(halves)
    assert (halves.data == 2).all()


def test_changes_to_a_file_are_kept(tmp_path):
    X, y = data()
    changed = memmap(X, tmp_path, "r+")
    changed[7] = 50.0
    with memory(X):
        MMC(2).fit(changed, y)
    assert (changed[7] == 50).all()
    changed.flush()
    assert (np.fromfile(tmp_path / "X.bin").reshape(X.shape)[7] == 50).all()


def test_what_counts_as_memory(tmp_path):
    X, _ = data()
    with memory(X):
        on_disk = memmap(X, tmp_path)
        assert isinstance(as_blocks(on_disk), ArrayBlocks)
        assert isinstance(as_blocks(on_disk[10:]), ArrayBlocks)
        for array in (X, on_disk.copy(), on_disk[np.arange(N)], np.array(on_disk), X.tolist(), X_named(X)):
            assert as_blocks(array) is None
    assert as_blocks(memmap(X, tmp_path)) is None  # it fits
    blocks = ArrayBlocks(on_disk)
    assert as_blocks(blocks) is blocks
    assert isinstance(as_blocks(parquet(X, tmp_path)), ParquetBlocks)


def test_small_memory_maps_are_read_whole(tmp_path):
    X, _ = data(200)
    assert_alike(LPP(2, graph=KNN(4)).fit(X), LPP(2, graph=KNN(4)).fit(memmap(X, tmp_path)))


def test_a_model_of_blocks_can_be_saved(tmp_path):
    X, y = data()
    model = clone(METHODS["LPP"]).fit(parquet(X, tmp_path, label=y), "label")
    lapwing.save(model, tmp_path / "model.lapwing")
    loaded = lapwing.load(tmp_path / "model.lapwing")
    np.testing.assert_array_equal(loaded.transform(parquet(X, tmp_path)), model.transform(parquet(X, tmp_path)))


# Graphs that need all rows.


WHOLE = {
    "KNN": (KNN(4), r"KNN\(4\) searches for the neighbours of every row.*KNN\(4, queries=20_000\)"),
    "Repulsion": (KNN(4, queries=9) - Repulsion(5), r"Repulsion\(5\) searches.*queries=20_000"),
    "Reconstruction": (Reconstruction(4), r"Reconstruction\(4\) searches"),
    "CodingLength": (CodingLength(4), r"CodingLength\(4\) searches"),
    "Radius": (Radius(2.0), "Radius needs all rows of X in memory"),
    "Precomputed": (Precomputed(sparse.eye_array(N, k=1) + sparse.eye_array(N, k=-1)), "Precomputed needs all rows"),
    "Pairs": (NEAR + Pairs([[0, 1], [2, 3], [4, 5]]), "Pairs needs all rows"),
    "ClosestPairs": (SameClass() - ClosestPairs(5), "ClosestPairs compares every row"),
    "heat": (SameClass("heat"), 'SameClass.weights="heat".*KNN.among="same_class"'),
    "dot": (Complete("dot"), r"Complete\(.dot.\) needs all rows"),
    "filtered": (Radius(2.0) & SameClass(), "Radius needs all rows"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_graphs_that_need_all_rows(name, tmp_path):
    """Small data is loaded for them; larger data raises, and says what to use."""
    graph, words = WHOLE[name]
    X, y = data()
    X = np.abs(X) + 0.1
    blocks = zarr.array(X, chunks=(90, D))
    model = OLPP(2, graph=graph, pca=None)
    assert_alike(clone(model).fit(X, y), clone(model).fit(blocks, y))
    with memory(X), pytest.raises(ValueError, match=words):
        clone(model).fit(blocks, y)


def test_a_metric_that_cannot_be_sampled():
    X, _ = data()
    with memory(X), pytest.raises(ValueError, match='queries=20 does not go with metric="chi2"'):
        LPP(2, graph=KNN(4, metric="chi2", queries=20)).fit(zarr.array(np.abs(X), chunks=(90, D)))


def test_the_margin_of_mfa_needs_all_rows():
    X, y = data()
    with memory(X), pytest.raises(ValueError, match=r"ClosestPairs compares.*Repulsion\(15, queries=20_000\)"):
        MFA(2).fit(zarr.array(X, chunks=(90, D)), y)


# Bad rows and labels.


def bad_rows():
    X, _ = data()
    for name, value in (("NaN", np.nan), ("infinity", np.inf), ("both", -np.inf)):
        rows = X.copy()
        rows[777, 3] = value
        if name == "both":
            rows[778, 1] = np.inf
        yield pytest.param(rows, id=name)


@pytest.mark.parametrize("rows", list(bad_rows()))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_nan_and_infinity_are_named(kind, rows, tmp_path):
    """By the block, its first row, and the row."""
    good = data()[0]
    model = clone(METHODS["MMC"]).fit(*data())
    with memory(rows):
        blocks = KINDS[kind](rows, tmp_path)
        words = r"block (\d+) of X \(from row \d+\) contains NaN or infinity \(the first in row 777\); impute"
        with pytest.raises(ValueError, match=words):
            clone(model).fit(blocks, data()[1])
        with pytest.raises(ValueError, match=words):
            np.asarray(model.transform(blocks))
    assert np.isfinite(good).all()


def test_nan_in_sparse_rows(tmp_path):
    X = documents()
    X.data[X.indptr[500]] = np.nan
    with memory(X), pytest.raises(ValueError, match=r"NaN or infinity \(the first in row 500\)"):
        LPP(2, graph=NEAR, pca=None).fit(sparse_memmap(X, tmp_path))


def test_numbers_so_large_that_their_sum_overflows_are_numbers(tmp_path):
    X = np.full((100, 3), 1e308)
    np.testing.assert_array_equal(ArrayBlocks(X).load(), X)


@pytest.mark.parametrize(
    ("shape", "dtype", "words"),
    [
        ((900,), "f8", r"X has 1 dimensions, shape \(900,\)"),
        ((3, 4, 5), "f8", "X has 3 dimensions"),
        ((30, 4), "c16", "X holds complex128, not numbers"),
        ((30, 0), "f8", r"X has 0 features, shape \(30, 0\)"),
        ((1, 4), "f8", "X has 1 samples, but 2"),
        ((0, 4), "f8", "X has 0 samples"),
        ((30, 4), "f8", "X is constant"),
    ],
)
def test_bad_arrays(shape, dtype, words):
    with pytest.raises(ValueError, match=words):
        LPP(2).fit(zarr.zeros(shape, dtype=dtype))


def test_a_group_is_no_array():
    with pytest.raises(TypeError, match=r"X is a zarr.* Group; pass an array"):
        LPP(2).fit(zarr.group())


def test_bad_memory_maps(tmp_path):
    line = memmap(np.zeros(5000), tmp_path)
    with memory(line), pytest.raises(ValueError, match="X has 1 dimensions"):
        LPP(2).fit(line)
    words = memmap(np.zeros((500, 3), "<U8"), tmp_path)
    with memory(words, 0.01), pytest.raises(ValueError, match="not numbers"):
        LPP(2).fit(words)


def test_bad_labels(tmp_path):
    X, y = data()
    blocks = zarr.array(X, chunks=(90, D))
    for model in (MMC(2), FisherScore(2), LPP(2, graph=NEAR + SameClass()), LPDP(2, graph=NEAR), LPP(2, penalty=7)):
        with pytest.raises(ValueError, match=r"y to be passed, but the target y is None"):
            clone(model).fit(blocks)
        with pytest.raises(ValueError, match=r"y has 999 labels, but X has 1000 samples"):
            clone(model).fit(blocks, y[:-1])
        with pytest.raises(ValueError, match="one class only"):
            clone(model).fit(blocks, np.zeros(N, int))
        with pytest.raises(ValueError, match="1d array"):
            clone(model).fit(blocks, "label")  # no Parquet


def test_transform_of_another_number_of_columns():
    X, _ = data()
    for name in ("MMC", "FisherScore"):
        with pytest.raises(ValueError, match=r"X has 5 features, but \w+ is expecting 6 features"):
            in_memory(name).transform(zarr.array(X[:, :5], chunks=(90, 5)))


def test_a_failed_fit_leaves_no_model():
    X, y = data()
    model = clone(METHODS["MMC"]).fit(zarr.array(X, chunks=(90, D)), y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(zarr.array(np.full((30, 4), np.nan), chunks=(9, 4)), y[:30])
    assert not hasattr(model, "components_")


def test_zero_rows_have_no_cosine():
    X, _ = data()
    X[901] = 0
    with pytest.raises(ValueError, match=r"zero vectors.*row 901"):
        LPP(2, graph=KNN(4, metric="cosine", queries=20)).fit(zarr.array(X, chunks=(90, D)))


class Restless(ArrayBlocks):
    """Rows that come and go."""

    def __init__(self, array, more):
        super().__init__(array)
        self._more = more

    def _read(self):
        yield np.array(self._array[: self.shape[0] + min(self._more, 0)])
        if self._more > 0:
            yield np.array(self._array[: self._more])


@pytest.mark.parametrize("more", [-3, 3])
def test_rows_that_change_while_they_are_read(more):
    X, y = data()
    with pytest.raises(ValueError, match=r"not the 1,000 rows it had at first; was it changed"):
        MMC(2).fit(Restless(X, more), y)
    with pytest.raises(ValueError, match="was it changed"):
        in_memory("MMC").transform(Restless(X, more))


class Ragged(ArrayBlocks):
    def _read(self):
        yield np.array(self._array[:500])
        yield np.array(self._array[500:, :4])


def test_blocks_of_another_width_are_named():
    X, y = data()
    with pytest.raises(ValueError, match=r"block 1 of X \(from row 500\) has shape \(500, 4\), but X has 6 columns"):
        MMC(2).fit(Ragged(X), y)


# Progress.


class Slow(ArrayBlocks):
    def _read(self):
        for block in (self._array[:500], self._array[500:]):
            time.sleep(0.25)
            yield np.array(block)


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch, capfd):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    MMC(2).fit(Slow(data()[0]), data()[1])
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(sys, "stderr", None)  # as in a program without a console
    MMC(2).fit(Slow(data()[0]), data()[1])


def test_a_notebook_sees_it_too(monkeypatch, capfd):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    MMC(2).fit(Slow(data()[0]), data()[1])
    assert "\radding up: 500 of 1,000 rows, " in capfd.readouterr().err


@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_a_terminal_sees_how_far_it_is(monkeypatch, patience):
    ours, theirs = pty.openpty()
    monkeypatch.setattr(_progress, "PATIENCE", patience)
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        MMC(2).fit(Slow(data()[0]), data()[1])
        in_memory("MMC").transform(Slow(data()[0]))
        os.write(theirs, b"end")
        shown = ""
        while not shown.endswith("end"):
            shown += os.read(ours, 10_000).decode()
    os.close(ours)
    if patience:
        assert shown == "end"
        return
    assert "\radding up: 500 of 1,000 rows, " in shown
    assert "s left" in shown
    assert "\rtransforming: 500 of 1,000 rows, " in shown
    assert shown.endswith("\r" + " " * 78 + "\rend")  # the line is cleared


# What is asked of all rows.


def test_memory_maps_are_arrays_to_graphs_of_all_rows(tmp_path):
    """As they are in memory, whoever made them: joblib does."""
    X, y = data()
    with memory(X):
        mapped = memmap(X, tmp_path)
        for model in (LPP(2), LPP(2, graph=KNN(4)), LPP(2, graph=Radius(3.0)), MFA(2), LaplacianScore(3)):
            assert_alike(clone(model).fit(X, y), clone(model).fit(mapped, y))
            assert clone(model).fit(mapped, y).graph_.get_params().get("queries") is None


def test_parameters_are_checked_before_any_pass(tmp_path, monkeypatch):
    X, y = data()
    blocks = ArrayBlocks(X)
    monkeypatch.setattr(ArrayBlocks, "_read", None)  # nothing is read
    for graph, words in {
        KNN(4, queries=40, symmetry="or"): "symmetry",
        KNN(4, queries=40, weights="foo"): "weights='foo'",
        KNN(4, queries=40, t=-1.0): "t=-1.0",
        KNN(len(X), queries=40): "n_neighbors",
        KNN(4, queries=40) - Repulsion(4, queries=40, normalized=True): "normalized=True",
        KNN(4, queries=40) - Repulsion(4, queries=40, sigma=0.0): "sigma=0.0",
    }.items():
        with config_context(working_memory=1e-3), pytest.raises(ValueError, match=words):
            LPP(2, graph=graph).fit(blocks, y)


def test_rows_that_are_too_many_to_search_are_not_loaded(monkeypatch):
    X, _ = data()
    monkeypatch.setattr("lapwing.reducers._base.QUERIES", len(X) - 1)
    with pytest.raises(ValueError, match=r"KNN\(4\) searches for the neighbours of every row"):
        LPP(2, graph=KNN(4)).fit(ArrayBlocks(X))


def test_sparse_blocks_become_dense_a_part_at_a_time(tmp_path, limit, monkeypatch):
    if limit < 100:
        pytest.skip("they stay sparse")
    X, sizes = documents(), []
    step = Moments.add
    monkeypatch.setattr(
        Moments, "add", lambda self, block, *rest: sizes.append(block.nbytes) or step(self, block, *rest)
    )
    LPP(2, graph=NEAR).fit(HeldBlocks(X))
    assert max(sizes[:-1]) <= 4096
