"""Arrays on disk, dense and sparse: few passes, little memory, and the file stays as it is."""

import os
import subprocess
import sys

import numpy as np
import pytest
from rows_in_blocks import (
    METHODS,
    NEAR,
    SPARSE,
    assert_alike,
    data,
    documents,
    memmap,
    memory,
    parquet,
    sparse_blocks,
    sparse_memmap,
)
from scipy import sparse
from sklearn.base import clone

import lapwing
from lapwing import (
    LPI,
    LPP,
    MMC,
    OLPP,
)
from lapwing.graphs import (
    KNN,
    Complete,
    SameClass,
)

# Sparse rows.


@pytest.mark.parametrize(
    ("name", "dtype", "limit"),
    [(name, np.float64, limit) for name in SPARSE for limit in (500, 20)]
    + [(name, np.float32, 20) for name in ("LPP", "LPI", "LaplacianScore")],
    indirect=["limit"],
)
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


@pytest.mark.filterwarnings("ignore:documents without a term")
@pytest.mark.parametrize("limit", [20, 1000], indirect=True)  # held with their links, and all in memory
@pytest.mark.parametrize("graph", [SPARSE["LPI"].graph, SPARSE["LPI"].graph & SameClass()])
def test_empty_documents_are_left_out(tmp_path, limit, graph):
    X, y = documents(), np.arange(600) % 3
    empty = np.r_[:70, 100, 599]  # a whole block among them
    X = sparse.csr_array(sparse.diags_array(~np.isin(np.arange(600), empty) * 1.0) @ X)
    blocks = sparse_blocks(X, tmp_path)
    expected, model = (LPI(3, graph=graph).fit(rows, y) for rows in (X, blocks))
    assert_alike(expected, model)
    np.testing.assert_allclose(model.transform(blocks), expected.transform(X), atol=1e-9)
    assert not model.transform(blocks)[empty].any()


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


def test_units_of_sparse_rows_are_those_of_all(tmp_path, limit):
    """The spread of a column that is far from 0 is not its size."""
    X = documents().toarray()
    X[:, 3] = 1000 + 5 * np.random.RandomState(0).rand(len(X))
    X = sparse.csr_array(X)
    expected = LPP(3, graph=NEAR, pca=None, standardize=True).fit(X)
    model = LPP(3, graph=NEAR, pca=None, standardize=True).fit(sparse_blocks(X, tmp_path))
    assert_alike(expected, model)


@pytest.mark.parametrize("graph", [NEAR + Complete(), NEAR + SameClass()], ids=str)
@pytest.mark.parametrize("limit", [500], indirect=True)
def test_classes_of_sparse_rows(graph, tmp_path, limit):
    X = documents()
    y = np.arange(X.shape[0]) % 3
    expected = LPP(2, graph=graph, pca=None).fit(X, y)
    model = LPP(2, graph=graph, pca=None).fit(sparse_blocks(X, tmp_path), y)
    assert_alike(expected, model)


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


def test_small_memory_maps_are_read_whole(tmp_path):
    X, _ = data(200)
    assert_alike(LPP(2, graph=KNN(4)).fit(X), LPP(2, graph=KNN(4)).fit(memmap(X, tmp_path)))


def test_a_model_of_blocks_can_be_saved(tmp_path):
    X, y = data()
    model = clone(METHODS["LPP"]).fit(parquet(X, tmp_path, label=y), "label")
    lapwing.save(model, tmp_path / "model.lapwing")
    loaded = lapwing.load(tmp_path / "model.lapwing")
    np.testing.assert_array_equal(loaded.transform(parquet(X, tmp_path)), model.transform(parquet(X, tmp_path)))
