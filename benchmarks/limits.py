"""Is a fit to texts smooth where the library goes another way? Seconds and held-out 1-NN accuracy on both sides of each limit.

    python benchmarks/limits.py

The texts are made up: frequent and rare words under weights as those of tf-idf, in rows of length 1, of 6 classes. Neighbouring
sizes should differ by a standard error of the accuracy at most, and by a factor of three in time.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from lapwing import LPP

CLASSES, WORDS = 6, 40
SIDES = (700, 790, 810, 1500, 3000, 3900, 4100, 6000)
NEW = 1000  # rows that are held out


def texts(n: int, d: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Rows of tf-idf and their classes."""
    random = np.random.RandomState(0)
    y = random.randint(CLASSES, size=n)
    often = np.exp(random.standard_normal((CLASSES, d)) * (random.rand(CLASSES, d) < 0.1)) / (1 + np.arange(d)) ** 0.9
    X = sparse.csr_array(np.vstack([random.multinomial(WORDS, often[c] / often[c].sum()) for c in y]).astype(float))
    X.data = 1 + np.log(X.data)
    X = X @ sparse.diags_array(1 + np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d))))
    return sparse.csr_array(normalize(X)), y


def main() -> None:
    X, y = texts(max(SIDES) + NEW, max(SIDES))
    print(f"{'':24}{'rows':>7}{'columns':>9}{'seconds':>9}{'1-NN':>9}{'error':>8}")
    for what in ("columns", "rows"):
        for side in SIDES:
            n, d = (4500, side) if what == "columns" else (side, 4500)
            train, new = X[:n, :d], X[-NEW:, :d]
            start = time.perf_counter()
            model = LPP("auto", graph="supervised").fit(train, y[:n])
            seconds = time.perf_counter() - start
            nearest = KNeighborsClassifier(1).fit(model.transform(train), y[:n])
            score = nearest.score(model.transform(new), y[-NEW:])
            error = np.sqrt(score * (1 - score) / NEW)
            print(f"LPP, supervised, {what:7}{n:7,}{d:9,}{seconds:9.2f}{score:9.3f}{error:8.3f}", flush=True)


if __name__ == "__main__":
    main()
