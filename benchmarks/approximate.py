"""``KNN(search="approximate")`` beside the exact search: time, memory, what it misses, and what that changes in LPP.

    python benchmarks/approximate.py --out out/approximate               both data sets; many minutes
    python benchmarks/approximate.py --out out/approximate glove         one of them

The data are GloVe vectors of 120,000 words and the 60,000 training images of MNIST, read from the folder LAPWING_DATA. Every
search runs in a process of its own. The exact search runs once, for the largest number of neighbours, since its time hardly
depends on that number. The approximate search runs twice, since the first run compiles. The links of both searches then make
two LPP of the same rows:

recall      share of the links of the exact graph's search that are found
objective   tr((V'X'DXV)^-1 V'X'LXV) of both solutions, L and D those of the exact graph: the approximate one over the exact one
angles      principal angles between the two subspaces, degrees
task        MNIST: 1-NN accuracy on the 10,000 test images; GloVe: share of the 10 nearest words that are among the 10 nearest
            after the projection, over 2,000 random words; exact and approximate

What was measured is kept in the folder of ``--out``, and a run that was stopped goes on where it left off. Seconds are those
on the clock and, in brackets, those of all processors together. A busy machine lengthens only the former.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from speed import memory

from lapwing import LPP
from lapwing._replacing import write_whole
from lapwing.graphs import KNN
from lapwing.neighbors import Search, find
from lapwing.rows import Rows
from lapwing_papers.datasets import load

NEIGHBORS = (5, 15)
N_COMPONENTS, WORDS, NEAREST = 30, 2_000, 10
HEAD = """\
| data | k | exact s | first s | then s | exact MB | MB | recall | objective | largest angle | median | task exact | task |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""


def rows_of(name: str) -> np.ndarray:
    data = load(name, download_if_missing=False)
    return data.data[: data.n_train if name == "mnist" else None].astype(np.float32)


class Found(BaseEstimator):
    """A neighbours transformer that reads from a file what a search has found."""

    def __init__(self, file: str, n_neighbors: int = 5):
        self.file = file
        self.n_neighbors = n_neighbors

    def fit_transform(self, X: np.ndarray, y: Any = None) -> sparse.csr_array:
        return sparse.csr_array(sparse.load_npz(self.file))


def measure(name: str, search: str | None, k: int, file: str) -> dict:
    """In a process of its own: the times of each run, and the peak memory beyond the interpreter and the data."""
    X = rows_of(name)
    before, seconds, processor = memory("VmRSS"), [], []
    for _ in range(1 if search is None else 2):
        start, used = time.perf_counter(), time.process_time()
        edges = find(Rows(X), Search(k, search=search))
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    peak = memory("VmHWM") - before
    sparse.save_npz(file, sparse.csr_array((edges.distances, (edges.rows, edges.cols)), shape=(len(X), len(X))))
    return {"seconds": seconds, "processor": processor, "megabytes": peak, "load": os.getloadavg()[0]}


def searched(folder: Path, name: str, search: str | None, k: int) -> tuple[dict, Found]:
    """What was measured, now or before, and the links that were found."""
    stem = folder / f"{name}_{search or 'exact'}_{k}"
    result, links = stem.with_suffix(".json"), stem.with_suffix(".npz")
    if not result.exists():
        command = [sys.executable, os.path.abspath(__file__), "--measure", name, search or "", str(k), str(links)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{stem.name}: {done.stderr.strip().splitlines()[-1]}")
        write_whole(result, done.stdout.encode())
        print(stem.name, done.stdout.strip(), file=sys.stderr, flush=True)
    return json.loads(result.read_text()), Found(str(links))


def recall(exact: Any, found: Any) -> float:
    pattern = [sparse.csr_array((np.ones_like(A.data), A.indices, A.indptr), shape=A.shape) for A in (exact, found)]
    return pattern[0].multiply(pattern[1]).sum() / exact.nnz


def nearest_of(links: Found, X: np.ndarray, k: int) -> sparse.csr_array:
    edges = find(Rows(X), Search(k, search=links))
    return sparse.csr_array((edges.distances, (edges.rows, edges.cols)), shape=(len(X), len(X)))


def objective(Y: np.ndarray, W: sparse.csr_array) -> float:
    degrees = np.asarray(W.sum(axis=1)).ravel()
    Y = Y.astype(np.float64)
    Y -= degrees @ Y / degrees.sum()
    B = Y.T @ (degrees[:, None] * Y)
    return float(np.trace(np.linalg.solve(B, B - Y.T @ (W @ Y))))


def accuracy(model: LPP, X: np.ndarray) -> float:
    X_all, y = load("mnist", download_if_missing=False, return_X_y=True)
    n = len(X)
    train, test = model.transform(X), model.transform(X_all[n:].astype(np.float32))
    return KNeighborsClassifier(1).fit(train, y[:n]).score(test, y[n:])


def overlap(model: LPP, X: np.ndarray) -> float:
    words = np.random.RandomState(0).permutation(len(X))[:WORDS]
    before, after = (
        NearestNeighbors(n_neighbors=NEAREST + 1).fit(Z).kneighbors(Z[words], return_distance=False)
        for Z in (X, model.transform(X))
    )
    shared = [np.intersect1d(a, b).size - 1 for a, b in zip(before, after, strict=True)]  # a word finds itself
    return float(np.mean(shared)) / NEAREST


TASKS = {"glove": overlap, "mnist": accuracy}


def compared(folder: Path, name: str, k: int) -> str:
    """One row of the table."""
    X = rows_of(name)
    exact, links = searched(folder, name, None, max(NEIGHBORS))
    near, found = searched(folder, name, "approximate", k)
    graphs = [KNN(k, search=search) for search in (links, found)]
    W = graphs[0].adjacency(Rows(X))
    models = [LPP(N_COMPONENTS, graph=graph).fit(X) for graph in graphs]
    values = [objective(model.transform(X), W) for model in models]
    angles = np.degrees(subspace_angles(*(model.components_.T for model in models)))
    tasks = [TASKS[name](model, X) for model in models]
    times = [f"{run['seconds'][i]:.0f} ({run['processor'][i]:.0f})" for run, i in ((exact, 0), (near, 0), (near, 1))]
    cells = [name, k, *times, f"{exact['megabytes']:.0f}", f"{near['megabytes']:.0f}"]
    cells += [f"{recall(nearest_of(links, X, k), nearest_of(found, X, k)):.4f}", f"{values[1] / values[0]:.5f}"]
    cells += [f"{angles.max():.2f}", f"{np.median(angles):.2f}", *(f"{task:.4f}" for task in tasks)]
    return f"| {' | '.join(map(str, cells))} |\n"


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        name, search, k, file = sys.argv[2:]
        print(json.dumps(measure(name, search or None, int(k), file)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="*", default=list(TASKS), help="of glove and mnist")
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    table = HEAD
    for name in args.datasets:
        for k in NEIGHBORS:
            table += compared(args.out, name, k)
            write_whole(args.out / "table.md", table.encode())
    print(table, end="")


if __name__ == "__main__":
    main()
