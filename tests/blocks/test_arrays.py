"""Arrays on disk, dense and sparse: few passes, little memory, and the file stays as it is."""

import os
import subprocess
import sys

import numpy as np
import pytest
import zarr
from rows_in_blocks import (
    METHODS,
    NEAR,
    SPARSE,
    D,
    N,
    X_named,
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
from sklearn import config_context
from sklearn.base import clone

import lapwing
from lapwing import (
    LPI,
    LPP,
    MMC,
    OLPP,
)
from lapwing.blocks import _blocks, as_blocks
from lapwing.blocks._arrays import ArrayBlocks
from lapwing.blocks._parquet import ParquetBlocks
from lapwing.graphs import (
    KNN,
    Complete,
    OtherClass,
    SameClass,
)

pytestmark = pytest.mark.usefixtures("small_blocks")


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
    """OtherClass of several weights: one pass for all."""
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
