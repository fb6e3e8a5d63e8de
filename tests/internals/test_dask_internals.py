"""Dask arrays, on this machine's threads and on a cluster of real worker processes."""

import logging
import pickle
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_blobs

from lapwing import DNE, LPCA, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP, FisherScore, LaplacianScore
from lapwing.blocks import Fold, _dask, as_blocks
from lapwing.graphs import KNN, SameClass

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
cloudpickle = pytest.importorskip("cloudpickle")

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
    "MFA": MFA(3),
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


def slow(block, seconds=0.1, seen=None, block_info=None):
    """The block, after a while, and a file that says that it was made."""
    time.sleep(seconds)
    if seen is not None:
        (Path(seen) / str(block_info[0]["chunk-location"][0])).touch()
    return block


def assert_idle(client, but=0):
    """Nothing is left on the cluster, no task and no result, but for some results."""

    def states(dask_scheduler):
        return [task.state for task in dask_scheduler.tasks.values()]

    until = time.monotonic() + 20
    while len(client.run_on_scheduler(states)) > but and time.monotonic() < until:
        time.sleep(0.05)
    assert client.run_on_scheduler(states) == ["memory"] * but


def test_results_may_be_read_again():
    """A join that changed its arguments would count them twice when it is repeated after a worker's death."""
    fold = Fold(partial(np.zeros, 1), lambda total, block, start: total + block.sum(), lambda a, b: np.add(a, b, out=a))
    place, dtype = _dask.Place(0, 0, (1, 1)), np.dtype(np.float64)
    results = [_dask.fold_block(np.full((1, 1), value), place, dtype, fold, False) for value in (1, 2, 4)]
    for _ in range(2):
        assert pickle.loads(_dask.merge_results(fold, results)) == 7


class Interrupted(_dask.Progress):
    def __call__(self, done):
        raise KeyboardInterrupt


def test_an_interrupt_stops_the_cluster(client, tmp_path, monkeypatch):
    X, _ = data()
    D_ = da.from_array(X, chunks=(4, D)).map_blocks(slow, seconds=0.2, seen=str(tmp_path), dtype=X.dtype)
    kept = da.from_array(X, chunks=(100, D)).persist()
    monkeypatch.setattr(_dask, "Progress", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        as_blocks(D_).load()
    assert_idle(client, but=len(distributed.futures_of(kept)))  # what others hold stays
    assert_allclose(kept.compute(), X)
    assert len(list(tmp_path.iterdir())) < D_.numblocks[0] / 2


# How it is done


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_the_scheduler_is_that_of_dask(client, scheduler):
    X, _ = data()
    assert _dask._client([dask.delayed(1)]) is client
    with dask.config.set(scheduler=scheduler):
        assert _dask._client([dask.delayed(1)]) is None
        assert_same(clone(SAMPLED).fit(da.from_array(X, chunks=(100, D))), clone(SAMPLED).fit(X))


def test_without_a_cluster_it_is_computed_here():
    assert _dask._client([dask.delayed(1)]) is None


class Recorded(_dask.Progress):
    seen: list = []  # noqa: RUF012

    def __call__(self, done):
        self.seen.append((self.doing, done, self.total))


@pytest.mark.parametrize("on_cluster", [True, False])
def test_progress_counts_rows(request, monkeypatch, on_cluster):
    if on_cluster:
        request.getfixturevalue("client")
    monkeypatch.setattr(_dask, "Progress", Recorded)
    monkeypatch.setattr(Recorded, "seen", [])
    X, _ = data()
    clone(SAMPLED).fit(da.from_array(X, chunks=(100, D)))
    for doing in ("adding up", "searching"):
        done = [rows for what, rows, total in Recorded.seen if what == doing and total == N]
        assert done == sorted(done)
        assert done[-1] == N
        assert len(set(done)) == 5  # a step a block


def test_few_results_are_held_at_a_time(monkeypatch):
    """Of a level of the tree less than FAN_IN that wait, beside those that are being made."""
    held = {}

    def count(key, result, dsk, state, worker_id):
        results = [value for value in state["cache"].values() if isinstance(value, bytes)]
        held[key] = sum(len(value) > 8000 for value in results)

    fold = Fold(partial(np.zeros, 1000), lambda total, block, start: total + block.sum(), np.add)
    blocks = as_blocks(da.ones((256, 2), chunks=(1, 2)))
    with dask.config.set(scheduler="synchronous"), dask.callbacks.Callback(posttask=count):
        assert blocks.fold(fold, "counting")[0] == 512
    assert 4 <= max(held.values()) <= 16  # of 256


def test_what_all_blocks_read_is_sent_once(client, monkeypatch):
    """In one task of its own: not with every task, and not by scatter, which would be lost with its worker."""
    weights = np.random.RandomState(0).rand(2_000_000)  # 16 MB, a large graph to dask, which warns of such
    fold = Fold(partial(float, 0), lambda total, block, start: total + block.sum() * weights[0], lambda a, b: a + b)
    graphs, compute = [], _dask._computed
    monkeypatch.setattr(
        _dask, "_computed", lambda wanted, *rest: graphs.append(wanted[0].dask) or compute(wanted, *rest)
    )
    found = as_blocks(da.ones((20, 3), chunks=(2, 3))).fold(fold, "adding up")
    assert found == pytest.approx(60 * weights[0])
    *others, largest = sorted(len(cloudpickle.dumps(task)) for task in dict(graphs[-1]).values())
    assert largest > weights.nbytes
    assert max(others) < 10_000
