"""The time of ``compare`` with ten methods, five folds and nine numbers of dimensions, on one process and on two.

    python benchmarks/compare.py          5,000 x 784: MNIST's first images where LAPWING_DATA has them, else made up
    python benchmarks/compare.py 2000     2,000 rows

Beside it stands the time of separate fits: one fit per method, fold and dimension, each with its own neighbour search, and
with no scores. It is measured on one fold and multiplied by five. On a machine with other work, compare the seconds of CPU.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from lapwing.comparison import Comparison, compare


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    file = Path(os.environ.get("LAPWING_DATA", "")) / "MNIST.npz"
    if file.is_file():
        with np.load(file) as stored:
            return stored["X"][:n].reshape(n, -1) / 255, stored["y"][:n].ravel()
    return make_classification(n, 784, n_informative=30, n_redundant=70, n_classes=10, random_state=0)


def timed(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, float, float]:
    """The result, and the seconds on the clock and of this process."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = function(*args, **options)
    return result, time.perf_counter() - clock, time.process_time() - cpu


def separate_fits(found: Comparison, X: np.ndarray, y: np.ndarray) -> None:
    """Every method and dimension, on the training rows of the first fold."""
    rows = np.setdiff1d(np.arange(len(X)), found.folds[0])
    with threadpool_limits(1):
        for method in found.methods:
            for d in found.dimensions(method):
                found.estimator(method, d).fit(X[rows], y[rows])


def main(n: int = 5000) -> None:
    X, y = data(n)
    print(f"{X.shape[0]} x {X.shape[1]}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    one, clock, cpu = timed(compare, X, y, n_jobs=1)
    print(f"compare, 1 process: {clock:.1f} s ({cpu:.1f} s of CPU)", flush=True)
    two, clock, _ = timed(compare, X, y, n_jobs=2)
    print(f"compare, 2 processes: {clock:.1f} s", flush=True)
    assert one.records == two.records
    _, clock, separate = timed(separate_fits, one, X, y)
    clock, separate = len(one.folds) * clock, len(one.folds) * separate
    print(f"separate fits, 1 process: {clock:.1f} s ({separate:.1f} s of CPU, {separate / cpu:.1f} times as much)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
