"""Which ridge on sparse text? Held-out k-NN accuracy, 20 dimensions.

    python benchmarks/text.py           20 Newsgroups (bydate split), beside LSI
    python benchmarks/text.py small     150 to 600 documents of four collections, beside 90 % of the variance
    python benchmarks/text.py filled    the same where more entries are not 0: in frequent words, and of tables that are no text

It reads 20 Newsgroups, Reuters, TDT2, BBC news, Cora, MNIST and four tables from the folder LAPWING_DATA.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import KBinsDiscretizer

from lapwing import LPDP, LPP, MMC, NPE, OLPP
from lapwing.data import as_data
from lapwing.graphs import KNN

FOLDER = Path(os.environ["LAPWING_DATA"])
COLLECTIONS, SEEDS = ("20news_bydate", "Reuters21578", "few/BBC_news", "few/Cora"), 3


def documents(name: str, n: int, d: int, seed: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Random documents of the eight largest classes at most, n and 500 more, in their d most frequent words, as tf-idf."""
    X = sparse.csr_array(sparse.load_npz(FOLDER / f"{name}_X.npz")).astype(float)
    y = np.load(FOLDER / f"{name}_y.npz")["y"]
    rows = np.flatnonzero(np.isin(y, np.argsort(-np.bincount(y))[:8]))
    rows = np.random.RandomState(seed).permutation(rows)[: n + 500]
    X = X[rows]
    X = X[:, np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")[:d]]
    full = np.diff(X.indptr) > 0
    return TfidfTransformer(sublinear_tf=True).fit_transform(X[full]), y[rows][full]


def small() -> None:
    ways: dict[str, dict] = {"90 % of the variance": {"pca": 0.9, "ridge": 0}}
    ways |= {f"ridge {ridge}": {"pca": None, "ridge": ridge} for ridge in (1, 3, 10, 30)}
    print("rows, columns, components, method:", ", ".join(ways))
    for (n, d), k, method in product(((150, 200), (300, 500), (600, 1000)), (5, 20), (LPP, NPE, LPDP)):
        found = np.zeros((len(COLLECTIONS), SEEDS, len(ways)))
        for (i, name), seed in product(enumerate(COLLECTIONS), range(SEEDS)):
            X, y = documents(name, n, d, seed)
            for j, options in enumerate(ways.values()):
                model = method(k, **options).fit(X[:n], y[:n])
                nearest = KNeighborsClassifier(1).fit(model.transform(X[:n]), y[:n])
                found[i, seed, j] = nearest.score(model.transform(X[n:]), y[n:])
        means = ", ".join(f"{100 * mean:.1f}" for mean in found.mean(axis=(0, 1)))
        print(f"{n:,}, {d:,}, {k}, {method.__name__}: {means}", flush=True)


def table(name: str, n: int, bins: int, seed: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Random rows, n and 500 more, as they are, or with a column of ones and zeros for each of so many bins of a column."""
    stored = np.load(FOLDER / f"{name}.npz")
    rows = np.random.RandomState(seed).permutation(len(stored["y"]))[: n + 500]
    X = stored["X"][rows].astype(float)
    if bins:
        X = KBinsDiscretizer(bins, encode="onehot-dense", strategy="uniform").fit_transform(X)
    return sparse.csr_array(X), stored["y"][rows]


def filled() -> None:
    n, methods = 1000, (LPP, NPE, LPDP)
    ways: list[dict] = [{"pca": 0.9, "ridge": 0}, {"pca": None, "ridge": 3}]
    texts = product(("20news_bydate", "Reuters21578", "TDT2"), (1000, 500, 250, 100))
    made = {f"{name}, {d} words": partial(documents, name, n, d) for name, d in texts}
    tables = {"few/letter": 16, "few/pendigits": 10, "few/satimage": 8, "few/splice": 0, "MNIST": 0}
    made |= {f"{name}, {bins} bins" if bins else name: partial(table, name, n, bins) for name, bins in tables.items()}
    print("| data | not 0 |", " | ".join(method.__name__ for method in methods), "|\n" + "|---" * 5 + "|")
    for name, draw in made.items():
        found = np.zeros((SEEDS, len(methods), 2))
        for seed in range(SEEDS):
            X, y = draw(seed)
            for (i, method), (j, options) in product(enumerate(methods), enumerate(ways)):
                model = method(20, **options).fit(X[:n], y[:n])
                nearest = KNeighborsClassifier(1).fit(model.transform(X[:n]), y[:n])
                found[seed, i, j] = nearest.score(model.transform(X[n:]), y[n:])
        cells = [f"{100 * one:.1f} / {100 * other:.1f}" for one, other in found.mean(axis=0)]
        print(f"| {name} | {X.nnz / np.prod(X.shape):.3f} |", " | ".join(cells), "|", flush=True)


def main() -> None:
    X = sparse.load_npz(FOLDER / "20news_bydate_X.npz")
    found = np.load(FOLDER / "20news_bydate_y.npz")
    full = np.asarray(X.sum(axis=1)).ravel() > 0
    X = TfidfTransformer(sublinear_tf=True).fit_transform(X[full])
    y, test = found["y"][full], found["is_test"][full].astype(bool)
    start = time.perf_counter()
    W = KNN(15, metric="cosine", weights="dot").adjacency(as_data(X[~test]))
    print(f"{'neighbours of 11,314 documents':42}{time.perf_counter() - start:8.1f} s")
    methods = {f"LPP(ridge={ridge})": LPP(20, graph=W, ridge=ridge) for ridge in (3, 10, 30, 100)}
    methods |= {f"LPP(pca={p})": LPP(20, graph=W, pca=p) for p in (100, 300)}
    methods |= {"LPDP": LPDP(20, graph=W), "NPE": NPE(20), "OLPP": OLPP(20, graph=W), "MMC": MMC(20)}
    methods |= {f"TruncatedSVD({k}) (LSI)": TruncatedSVD(k, random_state=0) for k in (20, 100)}
    for name, method in methods.items():
        start = time.perf_counter()
        method.fit(X[~test], y[~test])
        seconds = time.perf_counter() - start
        Z, T = method.transform(X[~test]), method.transform(X[test])
        scores = [KNeighborsClassifier(k, metric="cosine").fit(Z, y[~test]).score(T, y[test]) for k in (1, 10)]
        print(f"{name:42}{seconds:8.1f} s   1-NN {scores[0]:.3f}   10-NN {scores[1]:.3f}", flush=True)


if __name__ == "__main__":
    {"small": small, "filled": filled}.get(" ".join(sys.argv[1:]), main)()
