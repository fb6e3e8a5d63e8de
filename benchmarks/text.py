"""Which ridge on sparse text? Held-out k-NN accuracy on 20 Newsgroups (bydate split), 20 dimensions, beside LSI.

    python benchmarks/text.py

It reads 20news_bydate_X.npz and 20news_bydate_y.npz from the folder LAPWING_DATA.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.neighbors import KNeighborsClassifier

from lapwing import LPDP, LPP, MMC, NPE, OLPP
from lapwing.data import as_data
from lapwing.graphs import KNN

FOLDER = Path(os.environ["LAPWING_DATA"])


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
    main()
