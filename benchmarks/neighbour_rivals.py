"""The neighbours of all rows by lapwing and by other programs, exact and nearly exact; and LPP beside ten lines by hand.

    LAPWING_DATA=folder python benchmarks/neighbour_rivals.py             MNIST, 20,000 x 784: two minutes on two cores
    LAPWING_DATA=folder python benchmarks/neighbour_rivals.py --rows 60000

Programs that are approximate are given settings from fast to slow until 99 % of their ten neighbours are right; the table has the
first of these, its index included. Seconds of all cores together hardly depend on what else the machine does. What Numba compiles
is not counted. Programs that are not installed are left out: pip install faiss-cpu hnswlib pynndescent.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
import speed
from sklearn.neighbors import NearestNeighbors

from lapwing import LPP, ExactNeighbors
from lapwing.graphs import KNN

K, ENOUGH = 10, 0.99
Search = Callable[[np.ndarray], np.ndarray]  # rows -> the ten nearest others of each


def lapwing(X: np.ndarray) -> np.ndarray:
    return ExactNeighbors(K).fit(X).kneighbors(return_distance=False)


def scikit_learn(X: np.ndarray) -> np.ndarray:
    return NearestNeighbors(n_jobs=-1).fit(X).kneighbors(n_neighbors=K, return_distance=False)


def of_index(index: object, X: np.ndarray) -> np.ndarray:
    if not index.is_trained:
        index.train(X)
    index.add(X)
    return index.search(X, K + 1)[1][:, 1:]


def faiss_flat(X: np.ndarray) -> np.ndarray:
    import faiss

    return of_index(faiss.IndexFlatL2(X.shape[1]), X)


def faiss_hnsw(X: np.ndarray, ef: int) -> np.ndarray:
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = 100, ef
    return of_index(index, X)


def faiss_ivf(X: np.ndarray, probes: int) -> np.ndarray:
    import faiss

    cells = int(np.sqrt(len(X)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], cells)
    index.nprobe = probes
    return of_index(index, X)


def hnswlib_graph(X: np.ndarray, ef: int) -> np.ndarray:
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=16, ef_construction=100)
    index.add_items(X)
    index.set_ef(ef)
    return index.knn_query(X, K + 1)[0].astype(np.int64)[:, 1:]


def nn_descent(X: np.ndarray, neighbours: int) -> np.ndarray:
    from pynndescent import NNDescent

    return NNDescent(X, n_neighbors=neighbours, random_state=0).neighbor_graph[0][:, 1 : K + 1]


EXACT = {"lapwing": lapwing, "scikit-learn": scikit_learn, "faiss Flat": faiss_flat}
NEARLY = {
    "pynndescent": ("n_neighbors", nn_descent, (11, 15, 20, 30, 45, 60)),
    "hnswlib": ("ef", hnswlib_graph, (16, 32, 64, 128, 256)),
    "faiss HNSW": ("efSearch", faiss_hnsw, (16, 32, 64, 128, 256)),
    "faiss IVF": ("nprobe", faiss_ivf, (4, 8, 16, 32, 64)),
}


def timed(function: Callable, *arguments: object) -> tuple[float, float, object]:
    start, worked = time.perf_counter(), time.process_time()
    found = function(*arguments)
    return time.perf_counter() - start, time.process_time() - worked, found


def recall(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(found, exact, strict=True)]))


def measured(X: np.ndarray) -> Iterator[tuple[str, float, float, float]]:
    exact = lapwing(X)
    for name, search in EXACT.items():
        with suppress(ImportError):
            seconds, work, found = timed(search, X)
            yield name, seconds, work, recall(found, exact)
    for name, (setting, search, values) in NEARLY.items():
        with suppress(ImportError):
            search(X[:1000], values[0])  # compiles
            for value in values:
                seconds, work, found = timed(search, X, value)
                right = recall(found, exact)
                if right >= ENOUGH or value == values[-1]:
                    yield f"{name}, {setting}={value}", seconds, work, right
                    break


def fits(X: np.ndarray) -> Iterator[tuple[str, float, float]]:
    y = np.zeros(len(X))
    yield "by hand: scikit-learn's graph, SciPy's `eigh`", *timed(speed.by_hand, X, y)[:2]
    yield "`LPP(20, graph=KNN(10))`", *timed(LPP(20, graph=KNN(K, weights="binary")).fit, X)[:2]
    with suppress(ImportError):
        from pynndescent import PyNNDescentTransformer

        nearly = KNN(K, weights="binary", search=PyNNDescentTransformer(random_state=0))
        LPP(2, graph=nearly).fit(X[:1000])  # compiles
        yield "the same, `search=PyNNDescentTransformer()`", *timed(LPP(20, graph=nearly).fit, X)[:2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    X = speed.data("MNIST60k")[0][: parser.parse_args().rows]
    versions = []
    for name in ("numpy", "scikit-learn", "faiss-cpu", "pynndescent", "hnswlib"):
        with suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(name)}")
    print(
        f"MNIST, {len(X):,} x {X.shape[1]}, {K} neighbours, {len(os.sched_getaffinity(0))} cores; {', '.join(versions)}\n"
    )
    print("| program | s | s, all cores together | right, % |\n|---|---|---|---|")
    for name, seconds, work, right in measured(X):
        print(f"| {name} | {seconds:.1f} | {work:.1f} | {100 * right:.1f} |", flush=True)
    print("\n| LPP, 20 components | s | s, all cores together |\n|---|---|---|")
    for name, seconds, work in fits(X):
        print(f"| {name} | {seconds:.1f} | {work:.1f} |", flush=True)


if __name__ == "__main__":
    main()
