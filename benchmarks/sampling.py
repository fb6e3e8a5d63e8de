"""From how many rows on a sampled graph saves time: LPP(20) with the neighbours of all rows, or of 20,000 rows.

    python benchmarks/sampling.py MNIST FashionMNIST GloVe synthetic

MNIST, FashionMNIST (60,000 training images) and GloVe (120,000 words) come from the folder LAPWING_DATA. The synthetic rows,
90,000 x 256, are those of ``speed.py``. Both graphs have 5 neighbours. Seconds are those of all cores together; run it with
OPENBLAS_NUM_THREADS=1, so that waiting threads are not counted. "Objective" is the objective of the sampled solution on the
graph of all rows, divided by that of the other solution. 1-NN is the accuracy on the 10,000 test images, or on every tenth
synthetic row, which is left out of the fit.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import numpy as np
import speed
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from lapwing import LPP
from lapwing.data import as_data
from lapwing.graphs import KNN

N_COMPONENTS, QUERIES = 20, 20_000


def data(name: str) -> tuple[np.ndarray, np.ndarray | None, np.ndarray, np.ndarray | None]:
    """Rows to fit, with labels where there are any, and others to classify."""
    if name == "GloVe":
        X = speed.data(name)[0]
        return X, None, X[:0], None
    if name == "synthetic":
        X, y = speed.data("large")
        test = np.arange(len(X)) % 10 == 0
        return X[~test], y[~test], X[test], y[test]
    file = np.load(f"{os.environ['LAPWING_DATA']}/{name}.npz")
    X, y = file["X"].astype(np.float32), file["y"]
    return X[:60_000], y[:60_000], X[60_000:], y[60_000:]


def objective(Y: np.ndarray, W: sparse.csr_array) -> float:
    degrees = np.asarray(W.sum(axis=1)).ravel()
    Y = Y.astype(np.float64)
    Y -= degrees @ Y / degrees.sum()
    B = Y.T @ (degrees[:, None] * Y)
    return float(np.trace(np.linalg.solve(B, B - Y.T @ (W @ Y))))


def fitted(X: np.ndarray, queries: int | None) -> tuple[Any, float]:
    start = time.process_time()
    model = LPP(N_COMPONENTS, graph=KNN(5, queries=queries)).fit(X)
    return model, time.process_time() - start


def main() -> None:
    print(
        "| data | sampled, s | all rows, s | ratio | objective | 1-NN: sampled, all rows |\n|---|---|---|---|---|---|"
    )
    for name in sys.argv[1:] or ["MNIST", "FashionMNIST", "GloVe", "synthetic"]:
        X, y, others, labels = data(name)
        (few, few_s), (every, every_s) = fitted(X, QUERIES), fitted(X, None)
        W = KNN(5).adjacency(as_data(X))
        ratio = objective(few.transform(X), W) / objective(every.transform(X), W)
        scores = (
            ""
            if y is None
            else ", ".join(
                f"{100 * KNeighborsClassifier(1).fit(m.transform(X), y).score(m.transform(others), labels):.1f} %"
                for m in (few, every)
            )
        )
        cells = [f"{few_s:.1f}", f"{every_s:.1f}", f"{every_s / few_s:.2f}", f"{ratio:.4f}", scores]
        print(f"| {name}, {len(X):,} x {X.shape[1]} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
