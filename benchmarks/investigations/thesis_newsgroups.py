"""Thesis, tables 2.1 to 2.3 (20 Newsgroups): which words, which weights and which distance bring LSI to the printed numbers.

    LAPWING_DATA=... python benchmarks/investigations/thesis_newsgroups.py

The documents are not the thesis's: they are those of the "bydate" version, without duplicates and tokenised otherwise.
LSI has nothing to do with LPP, so it is tried first. One line is one reading: the mean distance from the printed
accuracies of table 2.2 (10,000 training documents, 5 dimensions from 100 to 1,000) in points, how many lie within the
tolerance of 2 points, then each difference. One split is taken. It takes about three minutes of one core.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from sklearn.preprocessing import normalize

from lapwing.data import as_data
from lapwing.graphs import KNN
from lapwing.methods import LPP
from lapwing_papers.experiments import _thesis_text as thesis
from lapwing_papers.experiments import get
from lapwing_papers.experiments._data import dataset

N_TRAIN, WORDS, DIMENSIONS = 500, thesis.WORDS, (100, 200, 400, 700, 1000)
PRINTED = get("thesis-table-2.2").published["accuracy"][thesis.PAPERS_WORDS]
SELECTIONS = ("information gain", "most frequent", "in most documents", "random of the 10,000 most frequent")


def chosen(X: sparse.csr_array, y: np.ndarray, how: str) -> np.ndarray:
    counts = X.sum(axis=0)
    if how == "random of the 10,000 most frequent":
        return np.random.RandomState(0).permutation(np.argsort(-counts, kind="stable")[:10_000])[:WORDS]
    values = {
        "information gain": lambda: thesis.information_gain(X, y),
        "most frequent": lambda: counts,
        "in most documents": lambda: (X > 0).sum(axis=0),
    }[how]()
    return np.argsort(-values, kind="stable")[:WORDS]


def split(X: sparse.csr_array, y: np.ndarray, per_class: int = N_TRAIN) -> np.ndarray:
    """Which documents train."""
    random, train = np.random.RandomState(0), np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == c))
        train[rows[: min(per_class, 4 * len(rows) // 5)]] = True
    return train


def by_distance(Z: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> list[float]:
    """As thesis.nested_accuracies, by Euclidean distance."""
    found = []
    for d in DIMENSIONS:
        A, right = Z[:, :d].astype(np.float32), 0
        squares = np.sum(A**2, axis=1)
        for start in range(0, len(T), thesis.BLOCK):
            B = T[start : start + thesis.BLOCK, :d].astype(np.float32)
            right += np.sum(y[np.argmin(squares - 2 * B @ A.T, axis=1)] == t[start : start + thesis.BLOCK])
        found.append(100 * right / len(T))
    return found


def tried(X: sparse.csr_array, y: np.ndarray, train: np.ndarray, reading: str, everything: bool) -> None:
    full = X.sum(axis=1) > 0
    (A, a), (T, t) = (X[full & train], y[full & train]), (X[full & ~train], y[full & ~train])
    values, V = linalg.eigh((A.T @ A).toarray(), subset_by_index=[WORDS - DIMENSIONS[-1], WORDS - 1])
    Z, new = A @ V[:, ::-1], T @ V[:, ::-1]
    lengths = np.sqrt(values[::-1])
    say(f"{reading}, by angle", thesis.nested_accuracies(Z, a, new, t, DIMENSIONS))
    if everything:
        say(f"{reading}, by distance", by_distance(Z, a, new, t))
        say(
            f"{reading}, columns of length 1, by angle",
            thesis.nested_accuracies(Z / lengths, a, new / lengths, t, DIMENSIONS),
        )


def tried_lpp(X: sparse.csr_array, y: np.ndarray, train: np.ndarray, split_by: str) -> None:
    """Two of the thesis's own columns, by angle and by distance."""
    full = X.sum(axis=1) > 0
    (A, a), (T, t) = (X[full & train], y[full & train]), (X[full & ~train], y[full & ~train])
    for column, pca in (("LPP, heat", None), ("PCA+LPP", 0.98)):
        W = KNN(5, weights="heat").adjacency(as_data(A))
        model = LPP(DIMENSIONS[-1], graph=W, pca=pca, center="degree", preset="paper").fit(A)
        Z, new = model.transform(A), model.transform(T)
        say(f"{split_by}, by angle", thesis.nested_accuracies(Z, a, new, t, DIMENSIONS), column)
        say(f"{split_by}, by distance", by_distance(Z, a, new, t), column)


def say(reading: str, found: list[float], column: str = "LSI") -> None:
    miss = np.array(found) - [PRINTED[column][d] for d in DIMENSIONS]
    within = f"{np.sum(np.abs(miss) <= 2)} of {miss.size}"
    numbers = " ".join(f"{m:+6.1f}" for m in miss)
    print(f"{column:10} {reading:60} {np.abs(miss).mean():5.1f}  {within} | {numbers}", flush=True)


def main() -> None:
    bunch = dataset("20newsgroups")
    X, y = sparse.csr_array(bunch.data.astype(np.float64)), bunch.target
    train = split(X, y)
    for how in SELECTIONS:
        tried(sparse.csr_array(X[:, chosen(X, y, how)]), y, train, f"{how}, counts", how == "information gain")
    words = sparse.csr_array(X[:, chosen(X, y, "information gain")])
    tried(sparse.csr_array((words > 0).astype(float)), y, train, "information gain, presence", False)
    tried(sparse.csr_array(normalize(words)), y, train, "information gain, documents of length 1", False)
    early = ~np.asarray(bunch.is_test, dtype=bool)
    tried(words, y, early, "information gain, counts, split by date", True)
    for split_by, rows in (("random split", train), ("split by date", early)):
        tried_lpp(words, y, rows, split_by)


if __name__ == "__main__":
    main()
