"""The exact neighbours on 1, 2, 4, 8 and 16 threads, beside scikit-learn and faiss, and what their products alone take.

    python benchmarks/cores.py                       all rows that this machine has the cores for: about two minutes on two cores
    python benchmarks/cores.py --cases 50k --runs 3  some of them, the best of three runs
    python benchmarks/cores.py --threads 16          so many threads, on whatever machine
    python benchmarks/cores.py --fit                 and where a fit of 300,000 rows spends its time

Every row of the table is one process, in which all programs take turns. Its ratio to scikit-learn should not be above the bar. In
parentheses are seconds of all cores together, which other programs on the machine hardly change, and their ratio.
"Products" is half of all products of rows, in panels, on all threads of the BLAS: no search by products can be faster. "All at
work" is the search on as many threads as there are, where the library uses fewer. Neighbours are compared with scikit-learn's: a
row differs where its five nearest rows are others, and ties and the rounding of scikit-learn's float32 may be the cause. faiss is
left out where it is not installed. Needs MNIST in the folder LAPWING_DATA for the rows of MNIST.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest import mock

import numpy as np
import speed

from lapwing import LPP, search
from lapwing.data import as_data
from lapwing.neighbors import Request, find

K, PANEL = 5, 2048
CASES = {  # rows, and the most that the ratio to scikit-learn should be on so many threads
    "50k": ("50,000 x 128, normal", {1: 0.5, 2: 0.5, 4: 0.5, 8: 0.5, 16: 0.9}),
    "100k": ("100,000 x 256, clusters", {8: 0.5, 16: 0.5}),
    "MNIST": ("MNIST, 60,000 x 784", {8: 0.5, 16: 0.5}),
    "20news": ("20 Newsgroups by cosine, 18,845 x 29,916 sparse", dict.fromkeys((1, 2, 8, 16), 0.65)),
}
QUERIES, FIT_SHAPE, FIT_BAR = 20_000, (300_000, 128), 1.5
Program = Callable[[Any, int], np.ndarray]  # rows and threads -> the five nearest of each row


def rows(case: str) -> Any:
    if case == "50k":
        return np.random.default_rng(0).standard_normal((50_000, 128), dtype=np.float32)
    return speed.data({"100k": "large", "MNIST": "MNIST60k", "20news": "20news_bydate"}[case])[0]


def metric(X: Any) -> str:
    return "euclidean" if isinstance(X, np.ndarray) else "cosine"


def lapwing(X: Any, n_threads: int) -> np.ndarray:
    return find(as_data(X), Request(K, metric(X)))[1].reshape(-1, K)


def all_at_work(X: Any, n_threads: int) -> np.ndarray:
    with mock.patch.object(search, "MOST_THREADS", n_threads):
        return lapwing(X, n_threads)


def scikit_learn(X: Any, n_threads: int) -> np.ndarray:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(metric=metric(X), n_jobs=n_threads).fit(X).kneighbors(n_neighbors=K, return_distance=False)


def faiss_flat(X: Any, n_threads: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index.search(X, K + 1)[1][:, 1:]


def products(X: Any, n_threads: int) -> np.ndarray:
    room = np.empty((PANEL, PANEL), X.dtype)
    for i in range(0, len(X), PANEL):
        for j in range(i, len(X), PANEL):
            A, B = X[i : i + PANEL], X[j : j + PANEL]
            np.matmul(A, B.T, out=room[: len(A), : len(B)])
    return room[:1]


def measured(case: str, n_threads: int, runs: int) -> dict:
    """In a process of its own: the best of some runs of each program, in turn."""
    X = rows(case)
    programs: dict[str, Program] = {"lapwing": lapwing, "scikit-learn": scikit_learn}
    if n_threads > search.MOST_THREADS:
        programs["all at work"] = all_at_work
    if isinstance(X, np.ndarray):
        programs["products"] = products
        with suppress(ImportError):
            import faiss  # noqa: F401

            programs["faiss"] = faiss_flat
    found: dict[str, np.ndarray] = {}
    seconds: dict[str, float] = {}
    before = speed.memory("VmRSS")
    for _ in range(runs):
        for name, program in programs.items():
            start, worked = time.perf_counter(), time.process_time()
            found[name] = program(X, n_threads)
            seconds[name] = min(seconds.get(name, np.inf), time.perf_counter() - start)
            seconds[f"{name}, work"] = min(seconds.get(f"{name}, work", np.inf), time.process_time() - worked)
            seconds.setdefault("megabytes", speed.memory("VmHWM") - before)  # after the first program, which is lapwing
    near, theirs = (np.sort(found[name], axis=1) for name in ("lapwing", "scikit-learn"))
    seconds["differ"] = int((near != theirs).any(axis=1).sum())
    return seconds | {"neighbours": hashlib.sha256(np.ascontiguousarray(found["lapwing"])).hexdigest()[:12]}


def fitted(n_threads: int, runs: int) -> dict:
    """A fit whose search is sampled, beside its search and one pass that adds up products of columns in float64."""
    X = np.random.default_rng(0).standard_normal(FIT_SHAPE, dtype=np.float32)

    def moments() -> None:
        mean, scatter = X.mean(axis=0, dtype=np.float64), np.zeros((X.shape[1],) * 2)
        for start in range(0, len(X), 4096):
            block = X[start : start + 4096] - mean
            scatter += block.T @ block

    parts = {
        "fit": lambda: LPP(20).fit(X),
        "search": lambda: find(as_data(X), Request(K, queries=QUERIES)),
        "moments": moments,
    }
    seconds: dict[str, float] = {}
    for _ in range(runs):
        for name, part in parts.items():
            start = time.process_time()
            part()
            seconds[name] = min(seconds.get(name, np.inf), time.process_time() - start)
    return seconds


def in_a_process(what: str, n_threads: int, runs: int) -> dict:
    threads = {f"{name}_NUM_THREADS": str(n_threads) for name in ("OMP", "OPENBLAS", "MKL")}
    command = [sys.executable, __file__, "--measure", what, "--threads", str(n_threads), "--runs", str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | threads)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--threads", type=int, nargs="+", help="as the bars say, up to the number of cores")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        n = args.threads[0]
        found = fitted(n, args.runs) if args.measure == "fit" else measured(args.measure, n, args.runs)
        print(json.dumps(found))
        return
    cores = len(os.sched_getaffinity(0))
    versions = []
    for name in ("lapwing", "numpy", "scikit-learn", "faiss-cpu"):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(name)}")
    print(f"{cores} cores; {', '.join(versions)}\n")
    columns = ["lapwing", "all at work", "scikit-learn", "faiss", "products"]
    print(f"| rows | threads | {' | '.join(columns)} | ratio | at most | rows that differ | MB more |")
    print("|---" * (len(columns) + 6) + "|")
    for case in args.cases:
        name, bars = CASES[case]
        answers = set()
        for n_threads in args.threads or bars:
            bar = bars.get(n_threads, "")
            if n_threads > cores and not args.threads:
                print(f"| {name} | {n_threads} |" + " |" * len(columns) + f" not measured: {cores} cores | {bar} | | |")
                continue
            one = in_a_process(case, n_threads, args.runs)
            answers.add(one["neighbours"])
            cells = [f"{one[column]:.2f} ({one[f'{column}, work']:.1f})" if column in one else "" for column in columns]
            ratio, work = (one[f"lapwing{what}"] / one[f"scikit-learn{what}"] for what in ("", ", work"))
            ends = f"{ratio:.2f} ({work:.2f}) | {bar} | {one['differ']:,} | {one['megabytes']:.0f}"
            print(f"| {name} | {n_threads} | {' | '.join(cells)} | {ends} |", flush=True)
        assert len(answers) < 2, "the neighbours depend on the number of threads"
    if args.fit:
        for n_threads in args.threads or [n for n in (1, 2, 4, 8, 16) if n <= cores]:
            one = in_a_process("fit", n_threads, args.runs)
            ratio = one["fit"] / (one["search"] + one["moments"])
            print(
                f"\nLPP(20) on {FIT_SHAPE[0]:,} x {FIT_SHAPE[1]}, {n_threads} threads, seconds of all cores together: "
                f"{one['fit']:.1f}; its search {one['search']:.1f}, one pass {one['moments']:.2f}; ratio {ratio:.2f} "
                f"(at most {FIT_BAR})"
            )


if __name__ == "__main__":
    main()
