"""Classes that training never saw: how well are they retrieved, and from how many training classes on does that work?

    LAPWING_DATA=... python benchmarks/unseen.py

Half of the classes of a data set may train the map, and the column says how many of them do. Each row of the other half is a
query among the other rows of that half. The score is the mean average precision in percent, as the mean over three draws of
classes. ``python benchmarks/guide guide-unseen`` compares more methods, with half of the classes to learn from.
"""

from __future__ import annotations

import warnings

import numpy as np
from defaults import FILES, is_there, whole
from guide._tasks import precision
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from lapwing import LPP

SETS = ("ORL", "Yale", "Yale B", "PIE", "AR", "UMIST", "COIL20", "ISOLET1", "BinAlpha", "Libras", "MNIST")
COUNTS = (3, 5, 10, 20, 50)
ROWS = 1200  # of each half


def scores(X: np.ndarray, y: np.ndarray, count: int, seed: int) -> tuple[float, float, float] | None:
    """Of the features, of shrinkage LDA and of LPP; None where half of the classes are fewer."""
    rng = np.random.RandomState(seed)
    classes = rng.permutation(np.unique(y))
    half = classes.size // 2
    if half < count:
        return None
    seen = np.flatnonzero(np.isin(y, classes[:count]))
    new = np.flatnonzero(np.isin(y, classes[half:]))
    seen, new = (rng.permutation(rows)[:ROWS] for rows in (seen, new))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lda = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(X[seen], y[seen])
        lpp = LPP("auto", graph="supervised").fit(X[seen], y[seen])
    return tuple(precision(Z, y[new]) for Z in (X[new], lda.transform(X[new]), lpp.transform(X[new])))


def main() -> None:
    print("raw / shrinkage LDA / LPP\n")
    print("| | " + " | ".join(f"{count} classes" for count in COUNTS) + " |\n|---|" + "---|" * len(COUNTS))
    sets = {"digits": load_digits(return_X_y=True)} | {
        name: whole(name) for name in SETS if name in FILES and is_there(name)
    }
    for name, (X, y) in sets.items():
        X = X[:, X.std(axis=0) > 0]
        cells = []
        for count in COUNTS:
            found = [scores(X, y, count, seed) for seed in range(3)]
            cells.append("" if found[0] is None else " / ".join(f"{value:.0f}" for value in np.mean(found, axis=0)))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
