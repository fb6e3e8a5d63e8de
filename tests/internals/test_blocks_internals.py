"""Rows in blocks: what is learned from them is what is learned in memory."""

import numpy as np
import pytest
from rows_in_blocks import NEAR, assert_alike, data, documents, memmap, memory
from sklearn import config_context

from lapwing import (
    LPP,
    MMC,
)
from lapwing.blocks import as_blocks
from lapwing.blocks._arrays import ArrayBlocks, HeldBlocks
from lapwing.graphs import (
    KNN,
    Repulsion,
)
from lapwing.maps import Moments


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
