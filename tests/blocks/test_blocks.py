"""Rows in blocks: what is learned from them is what is learned in memory."""

import numpy as np
import pytest
import zarr
from rows_in_blocks import KINDS, METHODS, NEAR, D, N, assert_alike, data, hard, in_memory, memmap, memory
from scipy import sparse
from sklearn.base import clone

from lapwing import (
    DNE,
    LPCA,
    LPDP,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    LaplacianScore,
)
from lapwing.graphs import (
    KNN,
    Chain,
    ClosestPairs,
    CodingLength,
    DensityCorrected,
    On,
    Pairs,
    Precomputed,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
    Target,
)

# What reads the blocks does not know the method: links and their rows, moments, patches, and a choice of columns.
SOME_METHODS = ["LPP", "MMC", "LPCA", "LaplacianScore"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in METHODS for kind in (KINDS if name in SOME_METHODS else ["zarr"])],
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


@pytest.mark.parametrize("kind", ["memmap", "zarr", "dask"])
@pytest.mark.parametrize("name", ["LPP", "MMC", "LPCA", "FisherScore"])
def test_float32(name, kind, tmp_path):
    X, y = data(dtype=np.float32)
    blocks = KINDS[kind](X, tmp_path)
    with memory(X):
        model = clone(METHODS[name]).fit(blocks, y)
        Z = np.asarray(model.transform(blocks))
    assert Z.dtype == np.float32
    assert_alike(in_memory(name, np.float32), model, 2e-6)
    np.testing.assert_allclose(Z, in_memory(name, np.float32).transform(X), atol=1e-4)


@pytest.mark.parametrize("estimator", [LPP(3), OLPP(3), NPE(3), DNE(3), LPCA(3), LPDP(3), LaplacianScore(3)], ids=str)
def test_default_graphs_are_whole_on_few_rows(estimator, tmp_path):
    X, y = data(300)
    assert_alike(clone(estimator).fit(X, y), clone(estimator).fit(zarr.array(X, chunks=(50, D)), y))


def test_sizes_of_graphs_mean_the_same(tmp_path):
    X, y = data(300)
    for model in (LPP(2, graph=7, penalty=9), LaplacianScore(2, graph=7)):
        assert_alike(clone(model).fit(X, y), clone(model).fit(zarr.array(X, chunks=(50, D)), y))


# Data that is not easy.


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


OTHER_METHODS = ["whole rank", "OLPP", "half-median", "FisherScore", "OtherClass"]


@pytest.mark.parametrize(
    ("name", "method"),
    [(name, method) for name in HARD for method in SOME_METHODS]
    + [(name, method) for name in ("constant", "offset, near") for method in OTHER_METHODS],
)
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


# Graphs that need all rows.


WHOLE = {
    "KNN": (KNN(4), r"KNN\(4\) needs all rows of X in memory.*KNN\(5, queries=20_000\)"),
    "Repulsion": (KNN(4, queries=9) - Repulsion(5), r"Repulsion\(5\) needs all rows.*queries=20_000"),
    "Reconstruction": (Reconstruction(4), r"Reconstruction\(4\) needs all rows"),
    "CodingLength": (CodingLength(4), r"CodingLength\(4\) needs all rows"),
    "Radius": (Radius(2.0), r"Radius\(2.0\) needs all rows of X in memory"),
    "Precomputed": (
        Precomputed(sparse.eye_array(N, k=1) + sparse.eye_array(N, k=-1)),
        r"Precomputed\(<.*>\) needs all rows",
    ),
    "Pairs": (NEAR + Pairs([[0, 1], [2, 3], [4, 5]]), r"Pairs\(.*\) needs all rows"),
    "ClosestPairs": (
        SameClass() - ClosestPairs(5),
        r"ClosestPairs\(5\) needs all rows.*Repulsion\(15, queries=20_000\)",
    ),
    "heat": (SameClass("heat"), r"SameClass\(.heat.\) needs all rows"),
    "Chain": (NEAR + Chain(), r"Chain\(1\) needs all rows"),
    "Target": (Target(3), r"Target\(3\) needs all rows"),
    "On": (
        On([0, 1], KNN(4, queries=40), beside=True),
        "On builds its graph on other rows .*, and X is read in blocks",
    ),
    "union": (KNN(4) | KNN(3), r"KNN\(4\) \| KNN\(3\) needs all rows"),
    "density": (DensityCorrected(KNN(4)), r"DensityCorrected\(KNN\(4\)\) needs all rows"),
    "self-tuning": (KNN(4, weights="self-tuning"), r"KNN\(4, weights=.self-tuning.\) needs all rows"),
    "filtered": (Radius(2.0) & SameClass(), r"Radius\(2.0\) needs all rows"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_graphs_that_need_all_rows(name, tmp_path):
    graph, words = WHOLE[name]
    X, y = data()
    with pytest.raises(ValueError, match=words):
        OLPP(2, graph=graph, pca=None).fit(zarr.array(np.abs(X) + 0.1, chunks=(90, D)), y)


def test_the_margin_of_mfa_needs_all_rows():
    X, y = data()
    with pytest.raises(ValueError, match=r"ClosestPairs.*needs all rows.*Repulsion\(15, queries=20_000\)"):
        MFA(2).fit(zarr.array(X, chunks=(90, D)), y)


# What is asked of all rows.


def test_memory_maps_are_arrays_to_graphs_of_all_rows(tmp_path):
    """As they are in memory, whoever made them: joblib does."""
    X, y = data()
    with memory(X):
        mapped = memmap(X, tmp_path)
        for model in (LPP(2), LPP(2, graph=KNN(4)), LPP(2, graph=Radius(3.0)), MFA(2), LaplacianScore(3)):
            assert_alike(clone(model).fit(X, y), clone(model).fit(mapped, y))
            assert clone(model).fit(mapped, y).graph_.get_params().get("queries") is None
