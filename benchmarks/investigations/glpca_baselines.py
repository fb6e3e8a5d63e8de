"""gLPCA's tables 3 and 4: which data, which k-means and which coordinates bring raw data and PCA to the printed numbers.

    LAPWING_DATA=... python benchmarks/investigations/glpca_baselines.py [DATA SET ...]

Raw data and PCA have nothing to do with gLPCA, so they are tried alone. Every reading of the data, of the start of k-means
and of the coordinates of PCA is tried. For each, the mean distance from the printed numbers is shown, in points. It takes
about five minutes of one core.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, StandardScaler, normalize

from lapwing_papers.experiments import _glpca as paper
from lapwing_papers.experiments import get
from lapwing_papers.experiments._data import dataset

Data = tuple[np.ndarray, np.ndarray]
STARTS, LABELINGS = 10, 3
CLUSTERING = get("glpca-table-3-kmeans").published
CLASSIFYING = get("glpca-table-4").published


def readings(name: str) -> Iterator[tuple[str, Data]]:
    """The data of a name in the paper's table 2, as they may be meant."""
    X, y = paper._data(name)
    yield "as declared", (X, y)
    yield "rows of unit length", (normalize(X), y)
    yield "columns standardised", (StandardScaler().fit_transform(X), y)
    yield "columns scaled to 0..1", (MinMaxScaler().fit_transform(X), y)
    if name == "AT&T":
        bunch = dataset("orl:112x92")
        yield "every fourth pixel", (bunch.data.reshape(-1, 112, 92)[:, ::4, ::4].reshape(400, -1), bunch.target)
        yield "32 x 32 crop", tuple(dataset("orl:32x32")[key] for key in ("data", "target"))
    if name == "COIL20":
        yield "16 x 16", (X.reshape(-1, 16, 2, 16, 2).mean(axis=(2, 4)).reshape(len(X), -1), y)
        yield "inner 28 x 28", (X.reshape(-1, 32, 32)[:, 2:30, 2:30].reshape(len(X), -1), y)
    if name == "BinAlpha":
        bunch = dataset("binalpha")
        first = bunch.target < 26
        yield "digits and letters to P", (bunch.data[first], bunch.target[first])
    if name in ("MNIST", "USPS"):
        key, n = {"MNIST": ("mnist", 50), "USPS": ("usps:9298", 100)}[name]
        bunch = dataset(key)
        yield "the last of each digit", _first(bunch.data[::-1], bunch.target[::-1], n)
        for seed in (0, 1):
            order = np.random.RandomState(seed).permutation(len(bunch.target))
            yield f"random ones, {seed}", _first(bunch.data[order], bunch.target[order], n)
    if name == "USPS":
        yield "edition of 11,000", paper._data("USPS (11,000)")
    if name == "MFeat":
        yield "pixels", tuple(dataset("mfeat:pix")[key] for key in ("data", "target"))


def _first(X: np.ndarray, y: np.ndarray, n: int) -> Data:
    rows = np.concatenate([np.flatnonzero(y == c)[:n] for c in np.unique(y)])
    return X[rows], y[rows]


def coordinates(X: np.ndarray, k: int) -> dict[str, tuple[str, np.ndarray]]:
    """Name, the column of the paper that it may be, and the rows."""
    Z = PCA(2 * k, svd_solver="full").fit_transform(X)
    return {
        "Original": ("Original", X),
        "PCA, k, orthonormal": ("PCA", Z[:, :k] / np.linalg.norm(Z[:, :k], axis=0)),
        "PCA, k, with lengths": ("PCA", Z[:, :k]),
        "PCA, k - 1, orthonormal": ("PCA", Z[:, : k - 1] / np.linalg.norm(Z[:, : k - 1], axis=0)),
        "PCA, 2k, with lengths": ("PCA", Z),
    }


KMEANS: dict[str, Callable[[int, int], KMeans]] = {
    "random, one start": lambda k, seed: KMeans(k, n_init=1, init="random", random_state=seed),
    "k-means++, one start": lambda k, seed: KMeans(k, n_init=1, init="k-means++", random_state=seed),
    "random, best of 10": lambda k, seed: KMeans(k, n_init=10, init="random", random_state=seed),
}


def clustered(Z: np.ndarray, y: np.ndarray, make: Callable[[int, int], KMeans], starts: int) -> np.ndarray:
    k = np.unique(y).size
    runs = [paper._measures(y, make(k, seed).fit_predict(Z)) for seed in range(starts)]
    return 100 * np.array([np.mean([run[m] for run in runs]) for m in paper.MEASURES])


def classified(Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Regression, 1-NN, 5-NN with 20 %, then with 30 % of the labels."""
    found = []
    for share in paper.SHARES.values():
        known = [paper._labelled(y, share, seed) for seed in range(LABELINGS)]
        found.append(np.mean([paper._regression(Z, y, part) for part in known]))
        found += [np.mean([paper._neighbors(Z, y, part, n) for part in known]) for n in (1, 5)]
    return np.array(found)


def main() -> None:
    names = sys.argv[1:] or [name for name in paper.SETS if "(" not in name]
    for name in names:
        for reading, (X, y) in readings(name):
            for label, (column, Z) in coordinates(X, np.unique(y).size).items():
                printed = np.array([100 * CLUSTERING[m][name][column] for m in paper.MEASURES])
                for start, make in starts_of(label):
                    miss = clustered(Z, y, make, 3 if "best" in start else STARTS) - printed
                    say(name, reading, label, f"k-means, {start}", miss)
                if label == "Original" or "k, " in label:
                    printed = np.array(
                        [CLASSIFYING[c][f"{name}, {s}"][column] for s in paper.SHARES for c in paper.CLASSIFIERS]
                    )
                    say(name, reading, label, "classified", classified(Z, y) - printed)


def starts_of(label: str) -> list[tuple[str, Callable[[int, int], KMeans]]]:
    """All starts for raw data; for PCA one, as its coordinates are the question."""
    return list(KMEANS.items()) if label == "Original" else [("random, one start", KMEANS["random, one start"])]


def say(name: str, reading: str, label: str, how: str, miss: np.ndarray) -> None:
    numbers = " ".join(f"{m:+6.1f}" for m in miss)
    print(f"{name:9} {reading:24} {label:24} {how:28} {np.abs(miss).mean():5.1f} | {numbers}", flush=True)


if __name__ == "__main__":
    main()
