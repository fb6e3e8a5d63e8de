"""Thesis, table 7.1 (PIE, five poses): how the error of raw pixels depends on the number of people, and on scaling and distance.

    LAPWING_DATA=... python benchmarks/investigations/thesis_people.py

The thesis tells 68 people apart; 10 of them are at hand. Raw pixels with the nearest neighbour have no parameter to
choose. First, their error is shown for 2 to 10 people in five poses, and for 10 to 68 people in the frontal pose, of
which all people are at hand. Then other scalings and distances are tried on the 10 people, as a difference from the
printed error in points, for 5, 10, 20 and 30 training images per person. Five random splits are taken. It takes less than
a minute of one core.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler, normalize

from lapwing_papers.experiments import _thesis as thesis
from lapwing_papers.experiments import get

SPLITS, TRAINING = 5, (5, 10, 20, 30)
PRINTED = get("thesis-table-7.1").published["error"]


def error(X: np.ndarray, y: np.ndarray, n: int, n_people: int, metric: str = "euclidean") -> float:
    """Of the nearest neighbour in percent, in the mean over splits: n images per person train, of people drawn at random."""
    found = []
    for seed in range(SPLITS):
        random = np.random.RandomState(seed)
        people = random.choice(np.unique(y), n_people, replace=False)
        shuffled = [random.permutation(np.flatnonzero(y == person)) for person in people]
        train, test = (np.concatenate(rows) for rows in ([s[:n] for s in shuffled], [s[n:] for s in shuffled]))
        model = KNeighborsClassifier(1, metric=metric, algorithm="brute").fit(X[train], y[train])
        found.append(100 * (1 - model.score(X[test], y[test])))
    return float(np.mean(found))


def each_image(X: np.ndarray) -> np.ndarray:
    return StandardScaler().fit_transform(X.T).T


SCALINGS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str]] = {
    "as they are": (lambda X: X, "euclidean"),
    "images of unit length": (normalize, "euclidean"),
    "each image standardised": (each_image, "euclidean"),
    "each pixel standardised": (lambda X: StandardScaler().fit_transform(X), "euclidean"),
    "city-block distance": (lambda X: X, "manhattan"),
    "16 x 16": (lambda X: X.reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(len(X), -1), "euclidean"),
}


def main() -> None:
    X, y = thesis.faces("pie:5poses")
    for n_people in (2, 3, 5, 7, 10):
        numbers = "  ".join(f"{error(X, y, n, n_people):5.1f}" for n in TRAINING)
        print(f"five poses, {n_people:2} people: {numbers}   (5, 10, 20, 30 training images)", flush=True)
    F, people = thesis.faces("pie:pose27")
    for n_people in (10, 20, 40, 68):
        numbers = "  ".join(f"{error(F, people, n, n_people):5.1f}" for n in (2, 3, 5, 10))
        print(f"frontal pose, {n_people:2} people: {numbers}   (2, 3, 5, 10 training images)", flush=True)
    for name, (scaled, metric) in SCALINGS.items():
        miss = np.array(
            [error(scaled(X), y, n, 10, metric) - PRINTED[f"{n} training images"]["raw pixels"] for n in TRAINING]
        )
        print(f"10 people, {name:26} {np.abs(miss).mean():5.1f} | {' '.join(f'{m:+6.1f}' for m in miss)}", flush=True)


if __name__ == "__main__":
    main()
