"""Dask arrays, on this machine's threads and on a cluster of real worker processes."""

import logging
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

from lapwing import DNE, LPCA, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP, FisherScore, LaplacianScore
from lapwing.blocks import DaskBlocks
from lapwing.graphs import KNN, Repulsion, SameClass

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

N, D = 403, 20


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        dask.config.set(
            {"distributed.deploy.lost-worker-timeout": "5m"}
        ),  # a killed one comes back, on a busy machine late
        distributed.LocalCluster(**options, silence_logs=logging.CRITICAL) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    """The client of the cluster, for one test: the others compute here."""
    cluster.wait_for_workers(2, timeout=60)
    cluster.run(pickle.loads, pickle.dumps(LPP))  # imports what a worker needs, so that no test waits for it
    with cluster.as_current():
        yield cluster


def data(dtype=np.float64):
    """Overlapping classes far from the origin, some labels unknown."""
    X, y = make_blobs(N, D, centers=6, cluster_std=4.0, random_state=0)
    y[np.random.RandomState(0).permutation(N)[:80]] = -1
    return (X * np.geomspace(3, 0.3, D) + 20).astype(dtype), y


def documents():
    y = data()[1]
    terms = np.random.RandomState(1).rand(N, 60)
    return sparse.csr_array(np.where(terms < 0.2, terms + (np.arange(60) % 6 == y[:, None]), 0))


METHODS = {
    "LPP": LPP(3),
    "LPP sampled": LPP(3, graph=KNN(5, queries=100)),
    "LPP heat, angles": LPP(3, graph=KNN(5, metric="cosine", weights="heat", queries=100)),
    "LPP classes": LPP(3, graph=SameClass() - 0.1 * KNN(4, among="other_class", queries=100)),
    "OLPP": OLPP(3),
    "NPE": NPE(3),
    "ONPP": ONPP(3),
    "MMC": MMC(3),
    "LPDP": LPDP(3),
    "MFA": MFA(1, penalty=Repulsion(40, queries=200)),
    "DNE": DNE(3),
    "LPCA": LPCA(3),
    "LaplacianScore": LaplacianScore(4, graph=KNN(5, queries=100)),
    "FisherScore": FisherScore(4),
}
SAMPLED = METHODS["LPP sampled"]


def learned(model):
    return model.scores_ if hasattr(model, "scores_") else model.components_


def assert_same(found, expected, rtol=1e-8):
    assert_allclose(learned(found), learned(expected), rtol=0, atol=rtol * np.abs(learned(expected)).max())


def pieces(blocks, shapes=None, **meta):
    """An array of these blocks, one below the other, whose shapes may be others than it says."""
    shapes = [block.shape for block in blocks] if shapes is None else shapes
    meta = meta or {"dtype": np.float64}
    return da.concatenate(
        [da.from_delayed(dask.delayed(block), shape=shape, **meta) for block, shape in zip(blocks, shapes, strict=True)]
    )


def slow(block, seconds=0.1, seen=None, block_info=None):
    """The block, after a while, and a file that says that it was made."""
    time.sleep(seconds)
    if seen is not None:
        (Path(seen) / str(block_info[0]["chunk-location"][0])).touch()
    return block


def no_block(block):
    raise AssertionError("computed")


def assert_idle(client, but=0):
    """Nothing is left on the cluster, no task and no result, but for some results."""

    def states(dask_scheduler):
        return [task.state for task in dask_scheduler.tasks.values()]

    until = time.monotonic() + 20
    while len(client.run_on_scheduler(states)) > but and time.monotonic() < until:
        time.sleep(0.05)
    assert client.run_on_scheduler(states) == ["memory"] * but


# The same as in memory


# What a cluster computes does not know the method: sums, links and their rows, classes, patches, and a choice of columns.
@pytest.mark.parametrize("name", ["LPP classes", "LPCA", "LaplacianScore"])
def test_a_cluster_finds_what_one_machine_finds(client, name):
    X, y = data()
    expected = clone(METHODS[name]).fit(X, y)
    found = clone(METHODS[name]).fit(da.from_array(X, chunks=(100, D)), da.from_array(y, chunks=77))
    assert_same(found, expected)
    assert_idle(client)


@pytest.mark.parametrize("name", METHODS)
def test_threads_find_the_same_in_float32(name):
    X, y = data(np.float32)
    expected = clone(METHODS[name]).fit(X, y)
    found = clone(METHODS[name]).fit(da.from_array(X, chunks=(100, D)), y)
    assert learned(found).dtype == learned(expected).dtype
    assert_same(found, expected, rtol=1e-5)


@pytest.mark.parametrize("chunks", [(333, D), (-1, D), (150, 7), ((0, 3, 0, 400, 0), (1, 19))], ids=str)
@pytest.mark.parametrize("n_features", [3, D])  # a tree of rows, or their products
def test_blocks_do_not_matter(chunks, n_features):
    X = data()[0][:, :n_features]
    chunks = (chunks[0], chunks[1] if n_features == D else -1)
    expected = clone(SAMPLED).set_params(n_components=2).fit(X)
    D_ = da.from_array(X, chunks=chunks)
    found = clone(expected).fit(D_)
    assert_same(found, expected)
    assert_allclose(found.transform(D_).compute(), expected.transform(X), atol=1e-7)


@pytest.mark.parametrize("rows", [11, 60])
def test_more_features_than_rows(rows):
    X = np.random.RandomState(0).rand(60, 90) * np.geomspace(3, 0.1, 90)
    for model in (LPP(3), LPP(3, graph=KNN(5, queries=30)), OLPP(3)):
        assert_same(clone(model).fit(da.from_array(X, chunks=(rows, 90))), clone(model).fit(X), rtol=1e-7)


def test_whole_numbers_and_half_precision():
    X, _ = data()
    for dtype, expected in ((np.int64, np.float64), (np.float16, np.float32), (np.uint8, np.float64)):
        rows = np.clip(X, 0, 200).astype(dtype)
        found = LPP(3).fit(da.from_array(rows, chunks=(100, D)))
        assert found.components_.dtype == expected
        assert_same(found, LPP(3).fit(rows.astype(expected)), rtol=1e-4 if expected == np.float32 else 1e-8)


# transform


def test_transform_is_lazy():
    X, _ = data()
    model = clone(SAMPLED).fit(X)
    for method in (model, LaplacianScore(4).fit(X)):
        D_ = da.from_array(X, chunks=(100, 7)).map_blocks(no_block, dtype=X.dtype, meta=np.empty((0, 0)))
        Z = method.transform(D_)
        with pytest.raises(AssertionError, match="computed"):
            Z.compute()
    D_ = da.from_array(X, chunks=(100, D))
    Z = model.transform(D_)
    assert isinstance(Z, da.Array)
    assert Z.chunks == ((100, 100, 100, 100, 3), (3,))
    assert_allclose(Z.compute(), model.transform(X), atol=1e-12)
    assert_allclose(Z[210:215].compute(), model.transform(X)[210:215], atol=1e-12)


def test_transform_reads_only_the_blocks_it_needs():
    X, _ = data()
    model = clone(SAMPLED).fit(X)
    D_ = pieces([X[:100], X[100:200] * np.nan, X[200:]])
    assert_allclose(model.transform(D_)[:100].compute(), model.transform(X[:100]), atol=1e-12)
    with pytest.raises(ValueError, match=r"block 1 of X \(from row 100\) contains NaN"):
        model.transform(D_).compute()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_says_what_it_gives(dtype):
    X, _ = data(dtype)
    Z = clone(SAMPLED).fit(X).transform(da.from_array(X, chunks=(100, D)))
    assert Z.dtype == dtype
    assert Z.compute().dtype == dtype
    assert isinstance(Z._meta, np.ndarray)


def test_transform_is_that_of_the_model_as_it_was():
    X, _ = data()
    model = clone(SAMPLED).fit(X)
    Z, expected = model.transform(da.from_array(X, chunks=(100, D))), model.transform(X)
    model.fit(X[:50] ** 2)
    assert_allclose(Z.compute(), expected, atol=1e-12)


def test_transform_on_a_cluster(client):
    X, _ = data()
    D_ = da.from_array(X, chunks=(100, D))
    for model in (clone(SAMPLED).fit(D_), LaplacianScore(4).fit(X)):
        assert_allclose(model.transform(D_).compute(), model.transform(X), atol=1e-12)


def test_transform_of_another_width():
    X, _ = data()
    with pytest.raises(ValueError, match="X has 19 features, but LPP is expecting 20"):
        LPP(3).fit(X).transform(da.from_array(X[:, 1:], chunks=(100, -1)))


# Workers that die


def test_killed_workers_cost_time_not_the_result(client, tmp_path):
    """One of two, and soon the other."""
    X, _ = data()
    D_ = da.from_array(X, chunks=(51, D)).map_blocks(slow, seconds=0.15, seen=str(tmp_path), dtype=X.dtype)
    before = client.run(os.getpid)
    killed = []

    def kill():
        for pid in before.values():
            while len(list(tmp_path.iterdir())) < 2:  # some blocks are done, the others not yet
                time.sleep(0.01)
            killed.append((pid, len(list(tmp_path.iterdir())), time.monotonic()))
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.3)

    killer = threading.Thread(target=kill)
    killer.start()
    found = clone(SAMPLED).fit(D_)
    end = time.monotonic()
    killer.join()
    client.wait_for_workers(2, timeout=60)
    pids, made, times = zip(*killed, strict=True)
    assert len(killed) == 2
    assert made[0] < D_.numblocks[0]  # in the first pass
    assert max(times) < end
    assert not set(pids) & set(client.run(os.getpid).values())
    assert_same(found, clone(SAMPLED).fit(X))
    assert_idle(client)


def test_rows_that_a_dead_worker_held_are_made_again(client):
    X, _ = data()
    D_ = da.from_array(X, chunks=(51, D)).map_blocks(slow, seconds=0.02, dtype=X.dtype).persist()
    distributed.wait(D_)
    pid = next(iter(client.run(os.getpid).values()))
    os.kill(pid, signal.SIGKILL)
    assert_same(clone(SAMPLED).fit(D_), clone(SAMPLED).fit(X))


# What is wrong is named


def wrong_blocks(X):
    rows = [X[:100], X[100:200], X[200:300], X[300:]]
    shapes = [block.shape for block in rows]

    def array(bad):
        return pieces([*rows[:2], bad, *rows[3:]], shapes)

    nan, infinite = rows[2].copy(), rows[2].copy()
    nan[7, 3], infinite[8, 4] = np.nan, -np.inf
    split = da.from_array(X[:, :5], chunks=(100, 5))
    return {
        "narrow": (array(rows[2][:, 1:]), r"shape \(100, 19\)"),
        "wide": (array(np.hstack([rows[2], rows[2]])), r"shape \(100, 40\)"),
        "flat": (array(rows[2].ravel()), r"shape \(2000,\)"),
        "short": (array(rows[2][1:]), r"shape \(99, 20\), but \(100, 20\) was announced"),
        "long": (array(X[200:301]), r"shape \(101, 20\), but \(100, 20\) was announced"),
        "NaN": (array(nan), r"NaN or infinity \(the first in row 207\)"),
        "infinity": (array(infinite), r"NaN or infinity \(the first in row 208\)"),
        "words": (array(rows[2].astype(str).astype(object)), "object, not numbers"),
        "complex": (array(rows[2] * 1j), "complex128, not numbers"),
        "part too narrow": (
            da.concatenate([split, array(rows[2][:, 1:])], axis=1),
            r"shape \(100, 24\), but \(100, 25\) was announced",
        ),
    }


@pytest.mark.parametrize("what", wrong_blocks(data()[0]))
def test_a_wrong_block_is_named(what):
    D_, message = wrong_blocks(data()[0])[what]
    with pytest.raises(ValueError, match=rf"block 2 of X \(from row 200\).*{message}"):
        LPP(3).fit(D_)
    model = LPP(3).fit(np.random.RandomState(0).rand(50, D_.shape[1]))
    with pytest.raises(ValueError, match=rf"block 2 of X \(from row 200\).*{message}"):
        model.transform(D_).compute()


def test_a_wrong_block_on_a_cluster_is_named(client):
    D_, message = wrong_blocks(data()[0])["NaN"]
    with pytest.raises(ValueError, match=rf"block 2 of X \(from row 200\).*{message}"):
        LPP(3).fit(D_)
    assert_idle(client)


def test_an_error_stops_the_cluster(client, tmp_path):
    X, _ = data()
    X[10:, 0] = np.nan  # blocks are not read in their order
    D_ = da.from_array(X, chunks=(4, D)).map_blocks(slow, seconds=0.2, seen=str(tmp_path), dtype=X.dtype)
    with pytest.raises(ValueError, match=r"block \d+ of X \(from row \d+\) contains NaN"):
        LPP(3).fit(D_)
    assert_idle(client)
    made = None
    while made != (made := len(list(tmp_path.iterdir()))):  # blocks that are being made are not broken off
        time.sleep(1)
    assert made < D_.numblocks[0] / 2


def test_arrays_that_are_no_rows_of_features():
    for shape in ((10,), (10, 3, 2)):
        with pytest.raises(ValueError, match=f"X has {len(shape)} dimensions"):
            LPP().fit(da.ones(shape))
    D_ = da.ones((100, 5), chunks=(10, 5))
    with pytest.raises(ValueError, match=r"unknown size.*compute_chunk_sizes"):
        LPP().fit(D_[D_[:, 0] > 0])
    with pytest.raises(
        TypeError, match=r"dask Delayed; pass a dask array, for example X.to_dask_array\(lengths=True\)"
    ):
        LPP().fit(dask.delayed(np.ones)((10, 3)))
    with pytest.raises(ValueError, match="X has 1 samples"):
        LPP().fit(D_[:1])


def test_unknown_sizes_once_they_are_known():
    X, _ = data()
    D_ = da.from_array(X, chunks=(100, D))
    D_ = D_[D_[:, 0] > 20].compute_chunk_sizes()
    assert_same(LPP(3).fit(D_), LPP(3).fit(X[X[:, 0] > 20]))


def test_data_frames():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    X, _ = data()
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    with pytest.raises(TypeError, match=r"dask DataFrame; pass a dask array, such as X.to_dask_array"):
        LPP(3).fit(frame)
    assert_same(LPP(3).fit(frame.to_dask_array(lengths=True)), LPP(3).fit(X))


def test_labels():
    X, y = data()
    D_ = da.from_array(X, chunks=(100, D))
    expected = MMC(3).fit(X, y)
    for labels in (y, list(y), da.from_array(y, chunks=50), da.from_array(y)[:, None][:, 0]):
        assert_same(MMC(3).fit(D_, labels), expected)
    with pytest.raises(ValueError, match=r"\b402\b.*\b403\b|\b403\b.*\b402\b"):
        MMC(3).fit(D_, da.from_array(y, chunks=50)[1:])
    with pytest.raises(ValueError, match="requires y"):
        MMC(3).fit(D_)


def test_a_graph_of_all_rows_needs_them_in_memory(client):
    X, _ = data()
    D_ = da.from_array(X, chunks=(100, D))
    with pytest.raises(ValueError, match=r"KNN.*block.*queries="):
        LPP(3, graph=KNN(5)).fit(D_)
    assert_idle(client)


def test_rows_are_taken_from_their_blocks_alone():
    X, _ = data()
    D_ = pieces([X[:100], X[100:200] * np.nan, X[200:]])
    blocks = DaskBlocks(D_)
    assert_array_equal(blocks.take(np.array([0, 99, 200, 402])), X[[0, 99, 200, 402]])
    assert_array_equal(blocks.take(np.arange(50)), X[:50])
    with pytest.raises(ValueError, match="block 1 of X"):
        blocks.take(np.array([0, 100]))
