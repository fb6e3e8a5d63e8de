"""How many operations of each kind this machine does a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

LEAST_TIME = 0.015  # seconds that the speed of an operation is measured for
THREADED = ("products64", "products32", "pairs")

Jobs = dict[str, tuple[float, Callable[[], Any]]]  # how many operations a job has, and the job


@cache
def speeds() -> dict[str, float]:
    """Operations a second of this machine, by kind; measured once a process.

    Where other programs are at work, threads that wait for each other may be slower than one of them.
    """
    all_jobs = jobs()
    found = _measured(all_jobs)
    with threadpool_limits(limits=1):
        alone = _measured({kind: all_jobs[kind] for kind in THREADED})
    return {kind: max(speed, alone.get(kind, 0.0)) for kind, speed in found.items()}


def _measured(jobs: Jobs) -> dict[str, float]:
    return {kind: count / _best_time(job) for kind, (count, job) in jobs.items()}


def _best_time(job: Callable[[], Any]) -> float:
    """Of three runs or more: short ones are often disturbed."""
    job()
    times: list[float] = []
    while len(times) < 3 or sum(times) < LEAST_TIME:
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def jobs() -> Jobs:
    """A job for each kind of operation; of a millisecond or two, as a busy machine allows."""
    rng = np.random.default_rng(0)
    return {**_dense_jobs(rng), **_search_jobs(rng), **_sparse_jobs(rng)}


def _dense_jobs(rng: np.random.Generator) -> Jobs:
    A = rng.standard_normal((384, 384))
    single = A.astype(np.float32)
    narrow, wide = np.ones((2000, 1000), np.float32), np.zeros((2000, 1000))
    patches = np.eye(16) + 0.01 * rng.standard_normal((300, 16, 16))
    return {
        "products64": (2 * 384**3, lambda: A @ A),  # flops of large products
        "products32": (2 * 384**3, lambda: single @ single),
        "elements": (wide.size, lambda: np.copyto(wide, narrow)),  # read, converted and written
        "cubes": (300 * 16**3, lambda: np.linalg.inv(patches)),  # of the sides of small matrices
    }


def _search_jobs(rng: np.random.Generator) -> Jobs:
    brute = NearestNeighbors(algorithm="brute").fit(rng.standard_normal((1000, 4)))
    tree = NearestNeighbors(algorithm="kd_tree").fit(rng.standard_normal((300, 15)))
    long = rng.standard_normal((25, 5000))
    return {
        "pairs": (1000**2, lambda: brute.kneighbors()),  # of rows whose distance is compared with others
        "coordinates": (300**2 * 18, lambda: tree.kneighbors()),  # subtracted in a tree
        "ranks": (25 * 5000, lambda: np.argpartition(long, 5, axis=1)),
    }


def _sparse_jobs(rng: np.random.Generator) -> Jobs:
    rows, cols = np.repeat(np.arange(5000), 10), rng.integers(5000, size=50_000)
    weights, block = np.ones(50_000), rng.standard_normal((5000, 8))
    W = sparse.csr_array((weights, (rows, cols)), shape=(5000, 5000))
    words = sparse.random_array((150, 5000), density=0.05, format="csr", rng=rng)
    transposed = sparse.csr_array(words.T)

    def assemble() -> Any:
        directed = sparse.csr_array((weights, (rows, cols)), shape=W.shape)
        return directed.maximum(directed.T)

    return {
        "links": (50_000, assemble),  # put in order
        "gathers": (50_000 * 8, lambda: W @ block),  # entries of a sparse matrix times dense ones
        "matches": (150**2 * 5000 * 0.05**2, lambda: words @ transposed),  # entries of two sparse rows that meet
        "calls": (20, lambda: [sparse.csr_array(([1.0], ([0], [0])), shape=(2, 2)) for _ in range(20)]),
    }
