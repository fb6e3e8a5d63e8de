"""Documents: clustering as in tables 5.7 and 5.8 of He's thesis, and held-out 1-NN and retrieval beside LSI.

    python benchmarks/documents.py                       all parts
    python benchmarks/documents.py clustering --draws 50

It reads the data sets from the folder LAPWING_DATA, and prints each row when it is done.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from lapwing import LPI
from lapwing.data import as_data
from lapwing.graphs import KNN

SETS = ("TDT2", "Reuters21578", "20news_bydate")
RIDGES = (0.01, 0.1, 1.0, 3.0, 10.0, 100.0)


def load(name: str) -> tuple[sparse.csr_array, np.ndarray]:
    folder = Path(os.environ["LAPWING_DATA"])
    X, y = sparse.load_npz(folder / f"{name}_X.npz").astype(np.float64), np.load(folder / f"{name}_y.npz")["y"]
    full = np.asarray(X.sum(axis=1)).ravel() > 0
    return sparse.csr_array(X[full]), y[full]


def accuracy(y: np.ndarray, found: np.ndarray) -> float:
    """Of the best matching of clusters and classes."""
    table = confusion_matrix(np.unique(y, return_inverse=True)[1], found)
    return table[linear_sum_assignment(-table)].sum() / len(y)


def clustered(Z, y, k: int) -> float:
    return accuracy(y, KMeans(k, n_init=10, random_state=0).fit_predict(Z))


def clustering(draws: int) -> None:
    """Term frequencies, k - 1 dimensions, k-means best of 10; classes drawn at random."""
    for name in SETS[:2]:
        X, y = load(name)
        sizes = np.bincount(y)
        print(
            f"\n| {name}, {draws} draws of k classes | k-means | LSI | "
            + " | ".join(f"LPI, ridge {r}" for r in RIDGES)
            + " |"
        )
        print("|" + "---|" * (3 + len(RIDGES)))
        for k in (3, 5, 10):
            found = []
            for draw in range(draws):
                classes = np.random.RandomState(draw).choice(np.flatnonzero(sizes >= 30), k, replace=False)
                rows = np.flatnonzero(np.isin(y, classes))
                A, t = normalize(X[rows]), y[rows]
                A = A[:, np.flatnonzero(np.asarray(A.sum(axis=0)).ravel())]
                W = KNN(15, metric="cosine", weights="dot").adjacency(as_data(A))
                scores = [clustered(A, t, k), clustered(TruncatedSVD(k, random_state=0).fit_transform(A), t, k)]
                scores += [clustered(LPI(k - 1, graph=W, ridge=r).fit_transform(A), t, k) for r in RIDGES]
                found.append(scores)
            means = np.mean(found, axis=0)
            print(f"| k = {k} | " + " | ".join(f"{m:.3f}" for m in means) + " |", flush=True)


def held_out(draws: int) -> None:
    """tf-idf, half of the documents to fit; 1-NN accuracy, and precision among the 10 nearest fitted documents, by cosine."""
    for name in SETS:
        X, y = load(name)
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
        print(f"\n| {name}, {draws} halves | 1-NN | precision at 10 |\n|---|---|---|")
        methods = {f"LSI, {k} dimensions": lambda k=k: TruncatedSVD(k, random_state=0) for k in (20, 100)}
        methods |= {
            f"LPI, 20 dimensions, ridge {r}": lambda r=r: LPI(20, ridge=r) for r in (0.1, 1.0, 3.0, 10.0, 100.0)
        }
        methods |= {"LPI, 100 dimensions, ridge 3.0": lambda: LPI(100, ridge=3.0)}
        for label, make in methods.items():
            found = []
            for draw in range(draws):
                order = np.random.RandomState(draw).permutation(len(y))
                train, test = order[: len(y) // 2], order[len(y) // 2 :]
                model = make().fit(X[train])
                index = KNeighborsClassifier(1, metric="cosine").fit(model.transform(X[train]), y[train])
                Z = model.transform(X[test])
                near = index.kneighbors(Z, n_neighbors=10, return_distance=False)
                found.append([index.score(Z, y[test]), np.mean(y[train][near] == y[test][:, None])])
            print(f"| {label} | " + " | ".join(f"{100 * m:.1f}" for m in np.mean(found, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["clustering", "held_out"])
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args()
    for part in options.parts:
        globals()[part](options.draws)
