"""Where lower bounds save time in the exact search: the numbers of ``search.py``.

    python benchmarks/screening.py costs            what a pair costs whose distance is found alone, in columns of a product
    python benchmarks/screening.py rule             the search without bounds, with them, and what the rule chooses
    python benchmarks/screening.py directions       where the rule takes bounds: those of 15, 31 and 63 directions

Rows are the synthetic ones of ``speed.py``, and MNIST and GloVe from the folder LAPWING_DATA where that is set. Seconds are
those of all cores together; run it with OPENBLAS_NUM_THREADS=1, so that waiting threads are not counted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import speed

from lapwing import search
from lapwing._arrays import row_blocks
from lapwing.data import as_data
from lapwing.neighbors import Request, find

PAIRS = 20_000
N_NEIGHBORS = 10


def seconds(function: Callable[[], Any], runs: int = 2) -> float:
    times = []
    for _ in range(runs):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def costs() -> None:
    print("| columns | a pair alone, ns | a column of a product, ns | ratio | the rule says |\n|---|---|---|---|---|")
    measured(1024)  # the allocator learns to keep blocks of such sizes
    for d in (64, 128, 256, 512, 1024):
        pair, column = measured(d)
        rule = search.PAIR_COST + search.PAIR_COST_COLUMN * d
        print(f"| {d} | {pair * 1e9:.0f} | {column * 1e9:.4f} | {pair / column:.0f} | {rule} |", flush=True)


def measured(d: int) -> tuple[float, float]:
    """Seconds of a pair of rows of two tiles, gathered and multiplied alone; and of a pair and a column in a product of tiles."""
    rng, size = np.random.default_rng(0), search.TILE_ROWS
    X = np.concatenate([rng.standard_normal((2 * size, d)).astype(np.float32)] * 40)  # more than a cache holds
    i, j = (rng.integers(k * size, (k + 1) * size, PAIRS) + 20 * size for k in (0, 1))
    room = np.empty((size, size), np.float32)

    def alone() -> None:
        for part in row_blocks(PAIRS, 4 * d):
            np.einsum("ij,ij->i", X[i[part]], X[j[part]])

    def together() -> None:
        for _ in range(20):
            np.matmul(X[:size], X[size : 2 * size].T, out=room)

    return seconds(alone, 5) / PAIRS, seconds(together, 5) / (20 * room.size * d)


def data_sets() -> Iterator[tuple[str, np.ndarray]]:
    for d in (64, 128, 256, 512):
        with mock.patch.dict(speed.SHAPES, {"mid": (20_000, d, 10, np.float32, 1)}):
            X = speed.data("mid")[0]
        for n in (5_000, 10_000, 20_000):
            if d == 256 or n == 20_000:
                yield f"synthetic {n:,} x {d}", X[:n]
    if "LAPWING_DATA" in os.environ:
        for name in ("MNIST60k", "GloVe"):
            X = speed.data(name)[0][:12_000]
            yield f"{name} {len(X):,} x {X.shape[1]}", X


def searched(X: np.ndarray, bounds: bool | None, directions: int = search.BOUND_COLUMNS) -> tuple[float, bool]:
    """Seconds of a search without bounds, with them, or as the rule chooses (None); and whether there were any."""
    used = []
    screens_well = search.Tiles._screens_well
    least = search.BOUND_ROWS if bounds is None else 0 if bounds else len(X) + 1  # rows from which on bounds are tried

    def chosen(tiles: Any, *tried: Any) -> bool:
        used.append(screens_well(tiles, *tried) if bounds is None else True)
        return used[-1]

    with (
        mock.patch.object(search.Tiles, "_screens_well", chosen),
        mock.patch.multiple(
            search, BOUND_COLUMNS=directions, BOUND_ROWS=least, **({"BOUND_WIDTH": 0} if bounds else {})
        ),
    ):
        took = seconds(lambda: find(as_data(X), Request(N_NEIGHBORS)), 1)
    return took, any(used)


def rule() -> None:
    print("| rows | without, s | with bounds, s | ratio | the rule, s | takes |\n|---|---|---|---|---|---|")
    for name, X in data_sets():
        without, bounded, ruled = (searched(X, how) for how in (False, True, None))
        took = "bounds" if ruled[1] else "products"
        cells = f"{bounded[0]:.2f} | {bounded[0] / without[0]:.2f}" if bounded[1] else "too few rows | "
        print(f"| {name} | {without[0]:.2f} | {cells} | {ruled[0]:.2f} | {took} |", flush=True)


def directions() -> None:
    print("| rows | 15 | 31 | 63 |\n|---|---|---|---|")
    for name, X in data_sets():
        if not searched(X, None)[1]:
            continue  # bounds of any number of directions would take long
        times = (searched(X, True, p)[0] for p in (15, 31, 63))
        print(f"| {name} | {' | '.join(f'{t:.2f}' for t in times)} |", flush=True)


if __name__ == "__main__":
    for what in sys.argv[1:] or ["costs", "rule", "directions"]:
        {"costs": costs, "rule": rule, "directions": directions}[what]()
