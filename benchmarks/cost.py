"""What ``lapwing.cost.estimate_cost`` predicts, divided by what fits take, for seconds and for memory.

    python benchmarks/cost.py             all cases, some minutes
    python benchmarks/cost.py LPP text    those with a word in their name

Each case is fitted in a process of its own, and twice where it is short. The best time counts, and the peak memory beyond the
interpreter and the data. Memory below 4 MB is shown but not judged, since an interpreter may take as much by chance. The
machine should have nothing else to do: a busy one is slower than it was when its speed was measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import joblib
import numpy as np
from scipy import sparse
from speed import memory

import lapwing
from lapwing.blocks import Blocks, block_rows
from lapwing.cost import estimate_cost
from lapwing.graphs import KNN, CodingLength, Reconstruction, Repulsion, SameClass

CLASSES = 10
WITHIN = 2.0  # the factor that a prediction should be within
LITTLE = 4.0  # megabytes: below, memory is not judged
SHORT = 5.0  # seconds: what takes less is fitted twice


class Case(NamedTuple):
    method: str
    params: dict
    shape: tuple[int, ...]
    dtype: str = "float32"
    data: str = "patches"
    blocks: bool = False

    @property
    def model(self) -> Any:
        return getattr(lapwing, self.method)(**self.params)

    @property
    def name(self) -> str:
        params = ", ".join(f"{key}={value}" for key, value in self.params.items())
        shape = " x ".join(map(str, self.shape))
        return f"{self.method}({params}) on {shape} {self.data}, {self.dtype}{', in blocks' if self.blocks else ''}"

    def make(self, rows: int | None = None, seed: int = 0) -> tuple[Any, np.ndarray]:
        """X and y, or a few rows of such."""
        n = rows or self.shape[0]
        X, y = DATA[self.data](n, int(np.prod(self.shape[1:])), np.random.default_rng(seed))
        return X.astype(self.dtype).reshape(n, *self.shape[1:]) if self.data != "text" else X.astype(self.dtype), y


class OnDisk(Blocks):
    """The rows of a NumPy file, a block at a time."""

    def __init__(self, path: str):
        self._path = path
        rows = np.load(path, mmap_mode="r")
        self.shape, self.dtype = rows.shape, rows.dtype

    def _read(self) -> Iterator[np.ndarray]:
        step = block_rows(self.shape[1], self.dtype.itemsize)
        for start in range(0, self.shape[0], step):
            yield np.array(np.load(self._path, mmap_mode="r")[start : start + step])


def cases() -> list[Case]:
    repelled = SameClass() - 0.2 * Repulsion(15)
    return [
        Case("LPP", {"n_components": 5}, (1_000, 20), "float64"),
        Case("LPP", {"n_components": 20}, (10_000, 256)),
        Case("LPP", {"n_components": 20, "graph": 10}, (100_000, 64)),
        Case("LPP", {"n_components": 20, "pca": None}, (10_000, 784)),
        Case("LPP", {"n_components": 20}, (400, 5_000), "float64"),
        Case("LPP", {"n_components": 20}, (2_000, 5_000)),
        Case("LPP", {"n_components": 3}, (100_000, 5)),
        Case("LPP", {"n_components": 3}, (20_000, 10), "float64"),
        Case("LPP", {"n_components": 9, "graph": SameClass()}, (100_000, 256)),
        Case("LPP", {"n_components": 20, "graph": KNN(10, queries=5_000)}, (100_000, 64)),
        Case("NPE", {"n_components": 10, "graph": Reconstruction(10, queries=5_000)}, (50_000, 100)),
        Case("LPCA", {"n_components": 10, "graph": CodingLength(10, queries=5_000)}, (50_000, 100), "float64"),
        Case("LaplacianScore", {"graph": KNN(5, queries=2_000)}, (100_000, 10)),
        Case("OLPP", {"n_components": 20}, (5_000, 1_000)),
        Case("OLPP", {"n_components": 20, "graph": repelled, "normalize": "trace"}, (8_000, 100)),
        Case("NPE", {"n_components": 10}, (10_000, 64), "float64"),
        Case("ONPP", {"n_components": 10, "graph": 15}, (3_000, 500)),
        Case("MMC", {"n_components": 9}, (100_000, 256)),
        Case("MMC", {"n_components": 9}, (5_000, 2_000)),
        Case("LPDP", {"n_components": 10}, (10_000, 100), "float64"),
        Case("MFA", {"n_components": 10}, (10_000, 100)),
        Case("DNE", {"n_components": 10}, (10_000, 50)),
        Case("LPCA", {"n_components": 10, "graph": 15}, (10_000, 64)),
        Case("LPCA", {"n_components": 3, "graph": 15}, (20_000, 8)),
        Case("LaplacianScore", {}, (10_000, 500)),
        Case("FisherScore", {}, (50_000, 200)),
        Case("KernelLPP", {"n_components": 10}, (2_000, 50), "float64"),
        Case("KernelLPP", {"n_components": 10, "landmarks": 500}, (20_000, 50)),
        Case("KernelNPE", {"n_components": 10}, (1_000, 200)),
        Case("LaplacianEigenmaps", {"n_components": 10}, (5_000, 50)),
        Case("LaplacianEigenmaps", {"n_components": 2}, (20_000, 3), "float64", "surface"),
        Case("TangentialMaps", {"n_components": 2}, (20_000, 3), "float64", "surface"),
        Case("TangentialMaps", {"n_components": 2, "graph": 15}, (100_000, 3), "float64", "surface"),
        Case("GLPCA", {"n_components": 10}, (5_000, 256)),
        Case("GLPCA", {"n_components": 10}, (20_000, 100)),
        Case("GLPCA", {"n_components": 10}, (5_000, 100), "float64"),
        Case("LPI", {"n_components": 20}, (5_000, 20_000), "float64", "text"),
        Case("LPI", {"n_components": 20}, (15_000, 30_000), "float64", "text"),
        Case("LPP", {"n_components": 20}, (3_000, 8_000), "float64", "text"),
        Case("LPP", {"n_components": 10, "graph": KNN(15, metric="cosine")}, (6_000, 10_000), "float64", "text"),
        Case("OLPP", {"n_components": 20}, (6_000, 20_000), "float64", "text"),
        Case("LaplacianScore", {}, (5_000, 10_000), "float64", "text"),
        Case("TSA", {"n_components": (8, 8)}, (5_000, 32, 32)),
        Case("TSA", {"n_components": (5, 5)}, (1_000, 64, 64), "float64"),
        Case("RobustGLPCA", {"n_components": 10}, (2_000, 256), "float64"),
        Case("RobustGLPCA", {"n_components": 10}, (5_000, 100)),
        Case("L21PCA", {"n_components": 10}, (3_000, 100), "float64"),
        Case("L21PCA", {"n_components": 10}, (400, 2_000), "float64"),
        Case("LPP", {"n_components": 20, "graph": KNN(5, queries=5_000)}, (400_000, 64), blocks=True),
        Case("MMC", {"n_components": 9}, (400_000, 64), blocks=True),
        Case("LaplacianScore", {"graph": KNN(5, queries=2_000)}, (300_000, 100), blocks=True),
        Case("LPP", {"n_components": 20, "graph": KNN(5, queries=1_000)}, (100_000, 500), blocks=True),
    ]


def patches(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Classes on curved patches, a decaying spectrum, and noise."""
    y = rng.integers(CLASSES, size=n)
    latent = rng.standard_normal((n, 8))
    inner = np.hstack([latent, latent**2, np.sin(2 * latent), 2 * rng.standard_normal((CLASSES, 16))[y]])
    X = inner @ (rng.standard_normal((inner.shape[1], d)) / np.sqrt(d))
    X += 0.3 / np.sqrt(d) * rng.standard_normal((n, d)) * np.geomspace(3, 0.3, d)
    return X, y


def surface(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_swiss_roll

    return make_swiss_roll(n, random_state=0)[0][:, :d], rng.integers(CLASSES, size=n)


def text(n: int, d: int, rng: np.random.Generator) -> tuple[sparse.csr_array, np.ndarray]:
    """Documents of about 100 words that are drawn by Zipf's law, half of them from the words of a topic."""
    y = rng.integers(CLASSES, size=n)
    zipf = 1 / (20 + np.arange(d))
    lengths = rng.lognormal(np.log(90), 0.6, n).astype(int) + 10
    words = rng.choice(d, size=lengths.sum(), p=zipf / zipf.sum())
    topic = np.repeat(y, lengths)
    words = np.where(rng.random(words.size) < 0.5, (words * (1 + 2 * topic) + 37 * topic) % d, words)
    rows = np.repeat(np.arange(n), lengths)
    counts = sparse.csr_array((np.ones(words.size), (rows, words)), shape=(n, d))
    counts.sum_duplicates()
    counts.data = 1 + np.log(counts.data)
    return counts, y


def measure(which: int, folder: str) -> dict:
    """In a process of its own: best time, and the peak memory beyond what was there before."""
    case = cases()[which]
    X = OnDisk(f"{folder}/X.npy") if case.blocks else joblib.load(f"{folder}/X")
    y = joblib.load(f"{folder}/y")
    _warmed(case)
    before, times = memory("VmRSS"), []
    while not times or (len(times) < 2 and times[0] < SHORT):
        start = time.perf_counter()
        case.model.fit(X, y)
        times.append(time.perf_counter() - start)
    return {"seconds": min(times), "megabytes": memory("VmHWM") - before}


def _warmed(case: Case) -> None:
    """Imports and threads are not on the clock, nor is what they take."""
    X, y = case.make(200, seed=1)
    small = {"n_components": (2, 2) if case.method == "TSA" else 2, "landmarks": 50}
    params = {name: small.get(name, value) for name, value in case.params.items()}
    case._replace(params=params).model.fit(X, y)


DATA = {"patches": patches, "surface": surface, "text": text}


def run(which: int, folder: str) -> tuple[dict, Any]:
    """What was measured, and what was predicted."""
    case = cases()[which]
    X, y = case.make()
    if case.blocks:
        np.save(f"{folder}/X.npy", X)
    else:
        joblib.dump(X, f"{folder}/X")
    joblib.dump(y, f"{folder}/y")
    density = X.nnz / np.prod(X.shape) if sparse.issparse(X) else None
    del X
    described = {"dtype": case.dtype, "density": density, "n_classes": CLASSES, "blocks": case.blocks}
    predicted = estimate_cost(case.model, case.shape, **described)
    command = [sys.executable, os.path.abspath(__file__), "--measure", str(which), folder]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{case.name}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout), predicted


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(int(sys.argv[2]), sys.argv[3])))
        return
    words = sys.argv[1:]
    chosen = [i for i, case in enumerate(cases()) if not words or any(word in case.name for word in words)]
    ratios = []
    print(f"{'':110}{'seconds':>9}{'ratio':>7}{'MB':>8}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for i in chosen:
            found, predicted = run(i, folder)
            seconds, megabytes = found["seconds"], found["megabytes"]
            judged = megabytes if megabytes >= LITTLE else np.nan
            ratios.append((predicted.seconds / seconds, predicted.bytes / 2**20 / judged))
            shown = (predicted.seconds / seconds, predicted.bytes / 2**20 / max(megabytes, 1e-3))
            print(f"{cases()[i].name:110.110}{seconds:9.3f}{shown[0]:7.2f}{megabytes:8.1f}{shown[1]:7.2f}", flush=True)
    within = np.sum(np.abs(np.log(ratios)) <= np.log(WITHIN), axis=0)
    judged = np.sum(~np.isnan(ratios), axis=0)
    print(f"within a factor of {WITHIN:g}: {within[0]} of {judged[0]} times, {within[1]} of {judged[1]} memories")


if __name__ == "__main__":
    main()
