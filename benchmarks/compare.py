"""Time of ``compare``: eight methods, five folds, nine numbers of dimensions.

    python benchmarks/compare.py              5,000 x 784, MNIST's first images where LAPWING_DATA has them, else made up
    python benchmarks/compare.py 2000 1 2     2,000 rows, on one core and on two

Prints the seconds on each number of cores, and those of the same fits and neighbour searches without sharing: one fit a
method, fold and dimension, each with its own search, nothing scored.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from lapwing.comparison import compare, default_methods


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    file = Path(os.environ.get("LAPWING_DATA", "")) / "MNIST.npz"
    if file.is_file():
        with np.load(file) as stored:
            X, y = stored["X"][:n], stored["y"][:n]
        return X.reshape(len(X), -1).astype(np.float64) / 255, y.ravel()
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    latent = rng.standard_normal((n, 8)) + 2 * rng.standard_normal((10, 8))[y]
    inner = np.hstack([latent, latent**2, np.sin(2 * latent)])
    return inner @ rng.standard_normal((inner.shape[1], 784)) / 28 + 0.1 * rng.standard_normal((n, 784)), y


def fit(model, X: np.ndarray, y: np.ndarray) -> None:
    with threadpool_limits(1):
        model.fit(X, y)


def main(n: int = 5000, *cores: int) -> None:
    X, y = data(n)
    print(f"{X.shape[0]} x {X.shape[1]}, {len(default_methods(X, y))} methods, 5 folds")
    for n_jobs in cores or (1, 2):
        start = time.perf_counter()
        found = compare(X, y, n_jobs=n_jobs)
        print(f"compare, {n_jobs} core(s): {time.perf_counter() - start:.1f} s", flush=True)
    settings = [
        (found.estimator(method, d), np.setdiff1d(np.arange(len(y)), test))
        for method in found.methods
        for d in found.dimensions(method)
        for test in found.folds
    ]
    start = time.perf_counter()
    Parallel(n_jobs=n_jobs)(delayed(fit)(model, X[rows], y[rows]) for model, rows in settings)
    print(f"{len(settings)} separate fits, {n_jobs} core(s), nothing scored: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
