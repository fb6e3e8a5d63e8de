"""Is a fit to texts smooth where the library goes another way? Seconds and held-out 1-NN accuracy on both sides of each limit.

    python benchmarks/limits.py [--words 40]

The texts are made up: frequent and rare words under weights as those of tf-idf, in rows of length 1, of 6 classes, each of so
many words. On both sides of a limit the accuracy should differ by a standard error at most, and the time by a factor of two,
which the last column says.
"""

from __future__ import annotations

import argparse
import time
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from lapwing import DNE, LPDP, LPP, MMC, OLPP

CLASSES = 6
LIMITS, STEP = (500, 1800, 4000), 10  # lapwing.auto.PRODUCT_SIDE and NEIGHBOR_SIDE, lapwing.data.LARGE_SIDE
MODELS = {
    "LPP, supervised": LPP("auto", graph="supervised"),
    "LPP, semi": LPP(10, graph="semi"),
    "LPP": LPP(10),
    "LPDP": LPDP(10),
    "OLPP": OLPP(10),
    "MMC": MMC(5),
    "DNE": DNE(5),
}
NEW = 1000  # rows that are held out


def texts(n: int, d: int, words: int = 40) -> tuple[sparse.csr_array, np.ndarray]:
    """Rows of tf-idf and their classes."""
    random = np.random.RandomState(0)
    y = random.randint(CLASSES, size=n)
    often = np.exp(random.standard_normal((CLASSES, d)) * (random.rand(CLASSES, d) < 0.1)) / (1 + np.arange(d)) ** 0.9
    X = sparse.csr_array(np.vstack([random.multinomial(words, often[c] / often[c].sum()) for c in y]).astype(float))
    X.data = 1 + np.log(X.data)
    X = X @ sparse.diags_array(1 + np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d))))
    return sparse.csr_array(normalize(X)), y


def measured(model: Any, train: Any, y: np.ndarray, new: Any, t: np.ndarray) -> tuple[float, float]:
    """Seconds of one fit, the best of two, and its accuracy."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        model.fit(train, y)
        seconds.append(time.process_time() - start)
    return min(seconds), KNeighborsClassifier(1).fit(model.transform(train), y).score(model.transform(new), t)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=40)
    X, y = texts(4500 + NEW, 4500, parser.parse_args().words)
    print(f"{'':24}{'rows':>13}{'columns':>13}{'seconds':>15}{'1-NN':>15}{'error':>8}{'times':>8}")
    for what, limit, (name, model) in product(("columns", "rows"), LIMITS, MODELS.items()):
        found, sizes = [], []
        for side in (limit - STEP, limit + STEP):
            n, d = (4500, side) if what == "columns" else (side, 4500)
            sizes.append((n, d))
            found.append(measured(model, X[:n, :d], y[:n], X[-NEW:, :d], y[-NEW:]))
        (seconds, score), (later, other) = found
        error, times = np.sqrt(score * (1 - score) / NEW), max(seconds, later) / min(seconds, later)
        shown = [f"{a} {b}" for a, b in zip(*sizes, strict=True)]
        print(
            f"{name:24}{shown[0]:>13}{shown[1]:>13}{f'{seconds:.2f} {later:.2f}':>15}{f'{score:.3f} {other:.3f}':>15}"
            f"{error:8.3f}{times:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
