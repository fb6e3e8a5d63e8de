"""A program that starts long work in processes of its own and kills them at random moments: ``interrupted.py KILLS SEED``."""

import os
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import lapwing.blocks._blocks
from lapwing import L21PCA, LPP, RobustGLPCA, _checkpoint, checkpoint
from lapwing.blocks._arrays import ArrayBlocks
from lapwing.comparison import compare
from lapwing.graphs import KNN

RANDOM = np.random.RandomState(0)
X = RANDOM.standard_normal((60, 3)) @ RANDOM.standard_normal((3, 8)) + 0.3 * RANDOM.standard_normal((60, 8))
X[:5] += 10 * RANDOM.standard_normal((5, 8))
MANY = RANDOM.standard_normal((2600, 128)).astype(np.float32)  # so many that tiles of them are compared


def robust():
    model = RobustGLPCA(2, graph=4).fit(X)
    return {"Q": model.embedding_, "E": model.errors_, "n": model.n_iter_, "L21": L21PCA(2).fit(X).embedding_}


def tiles():
    return {"V": LPP(2, graph=KNN(3), pca=5).fit(MANY).components_}


def blocks():
    return {"V": LPP(2, graph=KNN(3, queries=50), pca=5).fit(ArrayBlocks(MANY)).components_}


def folds():
    found = compare(X, np.arange(60) % 2, methods=["PCA", "LPP", "KernelLPP"], dimensions=[1, 2], cv=2)
    predictions = [np.concatenate(parts) for parts in found.predictions.values()]
    return {"scores": [row["accuracy"] for row in found.records], "predictions": predictions}


WORKS = {work.__name__: work for work in (robust, tiles, blocks, folds)}


def as_child(work, folder, out):
    """Start the work in a process, which writes its result and ends."""
    pid = os.fork()
    if pid:
        return pid
    with checkpoint(folder, every=0):
        np.savez(out, **work())
    os._exit(0)


def equal(out, expected):
    with np.load(out) as found:
        return all(np.array_equal(found[name], value) for name, value in expected.items())


def main(kills, seed):
    """Kill each kind of work about as often, and let it end in between; print how often it was killed, resumed and done."""
    lapwing.blocks._blocks.BLOCK_BYTES = 1 << 16
    _checkpoint.SHARE = 0
    random, killed, resumed, done = np.random.RandomState(seed), 0, 0, 0
    expected, seconds = {}, {}
    for name, work in WORKS.items():
        expected[name] = work()
        with tempfile.TemporaryDirectory() as place, checkpoint(place, every=0):
            start = time.perf_counter()
            work()
            seconds[name] = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as place:
        while killed < kills or not done or done % len(WORKS):
            name = list(WORKS)[done % len(WORKS)]
            folder, out = Path(place, str(done)), Path(place, f"{done}.npz")
            resumed += any(folder.glob("*.npz"))
            pid = as_child(WORKS[name], folder, out)
            time.sleep(random.uniform(0.2, 1.5) * seconds[name])
            os.kill(pid, signal.SIGKILL)
            status = os.waitpid(pid, 0)[1]
            if os.WIFSIGNALED(status):
                killed += 1
                continue
            assert status == 0, f"{name} failed"
            assert equal(out, expected[name]), name
            assert not list(folder.iterdir()), name
            done += 1
    print(killed, resumed, done)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*map(int, sys.argv[1:]))
