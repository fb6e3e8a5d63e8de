"""LPP of rows on disk by a cluster of processes on this machine, beside one process; and while two of the workers are killed.

    python benchmarks/cluster_on_disk.py                                  1,000,000 x 256 float32 (1 GB), 4 workers, 5,000 queries
    python benchmarks/cluster_on_disk.py --rows 200000 --queries 2000     a smaller one

Every process has one thread. Memory is the most that is resident in a process, the interpreter and the pages of the file that it
has read included. The directions must be those of the one process, whatever happens to the workers, but for the order of sums.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

import dask.array as da
import numpy as np
from cluster import N_COMPONENTS, made
from distributed import Client, LocalCluster
from scipy.linalg import subspace_angles
from speed import memory

from lapwing import LPP
from lapwing.graphs import KNN

BLOCK_ROWS = 25_000
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def write(path: str, n: int, d: int) -> None:
    stored = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    for start in range(0, n, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, n)
        place = {"chunk-location": (start // BLOCK_ROWS, 0), "chunk-shape": (stop - start, d)}
        stored[start:stop] = made(d, block_info={None: place})
    stored.flush()


def read(path: str, block_info: Any = None) -> np.ndarray:
    (start, stop), _ = block_info[None]["array-location"]
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def method(queries: int) -> LPP:
    return LPP(N_COMPONENTS, graph=KNN(5, queries=queries))


def alone(path: str, queries: int) -> dict:
    start = time.perf_counter()
    model = method(queries).fit(np.load(path, mmap_mode="r"))
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "megabytes": memory("VmHWM"), "components": model.components_.tolist()}


def by_workers(path: str, args: argparse.Namespace, killed: int, after: float) -> dict:
    with (
        LocalCluster(
            n_workers=args.workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(lambda: __import__("lapwing.blocks"))
        shape = np.load(path, mmap_mode="r").shape
        chunks = ((BLOCK_ROWS,) * (shape[0] // BLOCK_ROWS), (shape[1],))
        X = da.map_blocks(read, path, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
        pids = list(client.run(os.getpid).values())
        timer = threading.Timer(after, lambda: [os.kill(pid, signal.SIGKILL) for pid in pids[:killed]])
        start = time.perf_counter()
        timer.start()
        model = method(args.queries).fit(X)
        seconds = time.perf_counter() - start
        timer.cancel()
        most = client.run(memory, "VmHWM").values()
        left = len(set(pids) & set(client.run(os.getpid).values()))
    assert left == args.workers - killed, "the workers were killed after the fit"
    return {"seconds": seconds, "megabytes": max(most), "components": model.components_.tolist()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rows", 1_000_000), ("features", 256), ("queries", 5_000), ("workers", 4)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        print(json.dumps(alone(args.alone, args.queries)))
        return
    os.environ.update(ONE_THREAD)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.npy"
        write(path, args.rows // BLOCK_ROWS * BLOCK_ROWS, args.features)
        command = [sys.executable, __file__, "--alone", path, "--queries", str(args.queries)]
        one = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(f"{args.rows:,} x {args.features} float32 on disk, {args.queries:,} queries, {os.cpu_count()} cores\n")
        print("| | s | MB, each process at most | angle to one process |\n|---|---|---|---|")
        print(f"| one process | {one['seconds']:.1f} | {one['megabytes']:.0f} | |", flush=True)
        whole = by_workers(path, args, 0, 1e9)
        hurt = by_workers(path, args, 2, whole["seconds"] / 3)
    for name, found in ((f"{args.workers} workers", whole), (f"{args.workers} workers, two killed", hurt)):
        angle = subspace_angles(*(np.transpose(each["components"]) for each in (one, found))).max()
        assert angle < 1e-5, angle
        print(f"| {name} | {found['seconds']:.1f} | {found['megabytes']:.0f} | {angle:.1e} |")


if __name__ == "__main__":
    main()
