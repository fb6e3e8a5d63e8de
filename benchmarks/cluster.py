"""LPP on a dask array with 1, 2 and 4 workers of one thread each: the time of each pass, and what moves between processes.

    python benchmarks/cluster.py                              400,000 x 64 float32 in 16 blocks; about a minute
    python benchmarks/cluster.py --rows 4000000 --workers 8   another size

Rows are made on the workers and kept there. The bytes that the method should need are compared with those that dask logs. The
result of a block is 2 d² sums in the first pass, and k distances and indices per query in the second. Queries are sent to
each worker once, which dask does not count, and neighbours are read once. Now and then dask also moves a block to a worker
that has nothing to do.
Seconds mean something up to as many workers as there are cores. Bytes and messages always do. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from itertools import chain
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

from lapwing import LPP
from lapwing import blocks as in_blocks
from lapwing.graphs import KNN

CLUSTERS, N_COMPONENTS = 50, 16
RESULTS = ("result", "joined", "loads")
PASSES = ("moments", "search", "take")  # in the order in which a fit makes them


def made(width: int, block_info: Any = None) -> np.ndarray:
    """The rows of a block: clusters, the same for all blocks, and noise of decaying variance."""
    number, rows = block_info[None]["chunk-location"][0], block_info[None]["chunk-shape"][0]
    centres = np.random.default_rng(0).standard_normal((CLUSTERS, width), dtype=np.float32)
    rng = np.random.default_rng([1, number])
    noise = rng.standard_normal((rows, width), dtype=np.float32) * np.geomspace(1, 0.1, width, dtype=np.float32)
    return centres[rng.integers(CLUSTERS, size=rows)] + noise


def logs(client: Client) -> tuple[list[dict], list[dict], int]:
    """The sizes of what workers sent, and received from one another, since the last call; and the tasks they ran in all."""

    def of_worker(dask_worker: Any) -> tuple:
        found = []
        for log in (dask_worker.transfer_outgoing_log, dask_worker.transfer_incoming_log):
            found.append([{str(key): size for key, size in one["keys"].items()} for one in log])
            log.clear()
        return *found, dask_worker.state.executed_count

    sent, received, tasks = zip(*client.run(of_worker).values(), strict=True)
    return list(chain.from_iterable(sent)), list(chain.from_iterable(received)), sum(tasks)


def sizes(transfers: list[dict], kind: str | tuple[str, ...] = "") -> list[int]:
    """Of what was moved, the results of tasks of this kind."""
    return [size for moved in transfers for key, size in moved.items() if key.startswith(kind)]


class Watch:
    """Stands in for the function that every pass goes through, and notes what it moves and how long it takes."""

    def __init__(self, client: Client):
        self.client, self.passes, self._own = client, {}, in_blocks.computed

    def __enter__(self) -> Watch:
        in_blocks.computed = self.computed
        return self

    def __exit__(self, *exception: object) -> None:
        in_blocks.computed = self._own

    def computed(self, tasks: list) -> list:
        before, start = logs(self.client)[2], time.perf_counter()
        result = self._own(tasks)
        seconds = time.perf_counter() - start
        sent, received, after = logs(self.client)
        parts = sizes(sent, "result") or sizes(sent, "joined")
        self.passes[PASSES[len(self.passes)]] = {
            "seconds": round(seconds, 3),
            "tasks": after - before,
            "messages": len(sent),
            "part": int(np.mean(parts)) if parts else 0,
            "between": sum(sizes(received, RESULTS)),
            "blocks": sum(sizes(received)) - sum(sizes(received, RESULTS)),
            "client": sum(sizes(sent)) - sum(sizes(received)),
        }
        return result


def measured(args: argparse.Namespace, n_workers: int) -> dict[str, Any]:
    """A fit on so many workers, after one on a few rows, which imports what the workers need."""
    model = LPP(N_COMPONENTS, graph=KNN(args.neighbors, queries=args.queries))
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        ) as cluster,
        Client(cluster) as client,
    ):
        rows = args.rows // args.blocks
        chunks = ((rows,) * args.blocks, (args.features,))
        X = da.map_blocks(made, args.features, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
        X = X.persist()
        wait(X)
        model.fit(X[: args.queries + N_COMPONENTS])
        start = time.perf_counter()
        model.fit(X)
        unwatched = time.perf_counter() - start
        with Watch(client) as watch:
            start = time.perf_counter()
            model.fit(X)
            total = time.perf_counter() - start
    solve = total - sum(one["seconds"] for one in watch.passes.values())
    return {"workers": n_workers, "seconds": round(unwatched, 3), "solve": round(solve, 3), "passes": watch.passes}


def joins(blocks: int) -> int:
    """Results that are joined in all: those of blocks, and of joins below the last."""
    inputs = 0
    while blocks > 1:
        inputs, blocks = inputs + blocks, -(-blocks // in_blocks.FAN_IN)
    return inputs


def compared(args: argparse.Namespace, found: dict[str, Any]) -> list[tuple[str, float, float]]:
    """What the method should move, and what was moved."""
    d, q, k, size = args.features, args.queries, args.neighbors, np.dtype(np.float32).itemsize
    moments, search, take = (found["passes"][name] for name in PASSES)
    sums, nearest = 2 * d * d * 8 + q * d * size / args.blocks, q * k * 24
    return [
        ("moments, result of a block (of all, with 1 worker)", sums, moments["part"]),
        ("search, result of a block", nearest, search["part"]),
        ("moments, between workers (at most)", joins(args.blocks) * sums + q * d * size, moments["between"]),
        ("search, between workers (at most)", joins(args.blocks) * nearest, search["between"]),
        ("take, to the client (at most)", q * k * d * size, take["client"]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rows", 400_000), ("features", 64), ("blocks", 16), ("queries", 2000), ("neighbors", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    args = parser.parse_args()
    print(
        f"| workers | fit (s) | {' | '.join(PASSES)} | solve | tasks | messages | MB between | MB of blocks | MB to client |"
    )
    print("|" + "---|" * (8 + len(PASSES)))
    results = []
    for n_workers in args.workers:
        found = measured(args, n_workers)
        passes = found["passes"].values()
        counts = [sum(one[name] for one in passes) for name in ("tasks", "messages")]
        moved = [f"{sum(one[name] for one in passes) / 1e6:.2f}" for name in ("between", "blocks", "client")]
        seconds = [
            f"{number:.2f}" for number in (found["seconds"], *(one["seconds"] for one in passes), found["solve"])
        ]
        print(f"| {' | '.join(map(str, [n_workers, *seconds, *counts, *moved]))} |", flush=True)
        results.append(found)
    for found in results:
        print(f"\n| {found['workers']} workers, bytes or number | predicted | measured |\n|---|---|---|")
        for name, predicted, moved in compared(args, found):
            print(f"| {name} | {predicted:,.0f} | {moved:,.0f} |")
    print("\n" + json.dumps({"arguments": vars(args), "results": results}))


if __name__ == "__main__":
    main()
