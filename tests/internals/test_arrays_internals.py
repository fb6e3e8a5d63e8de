"""Arrays on disk, dense and sparse: few passes, little memory, and the file stays as it is."""

import numpy as np
import pytest
import zarr
from rows_in_blocks import (
    METHODS,
    NEAR,
    D,
    N,
    X_named,
    assert_alike,
    data,
    memmap,
    memory,
    parquet,
)
from sklearn import config_context
from sklearn.base import clone

from lapwing import (
    LPP,
)
from lapwing.blocks import _blocks, as_blocks
from lapwing.blocks._arrays import ArrayBlocks
from lapwing.blocks._parquet import ParquetBlocks
from lapwing.graphs import (
    KNN,
    OtherClass,
    SameClass,
)

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
