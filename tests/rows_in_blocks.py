"""Rows in blocks of every kind, and what is learned from them."""

from functools import cache

import dask.array as da
import numpy as np
import zarr
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

from lapwing import (
    DNE,
    LPCA,
    LPDP,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    ONPP,
    FisherScore,
    LaplacianScore,
)
from lapwing.graphs import (
    KNN,
    CodingLength,
    Complete,
    OtherClass,
    Reconstruction,
    Repulsion,
    SameClass,
    Similarity,
)

N, D = 1000, 6
NEAR = KNN(4, queries=40)
APART = Repulsion(6, queries=25)


def data(n=N, d=D, dtype=np.float64):
    """Three classes, partly labelled."""
    rng = np.random.RandomState(0)
    y = rng.randint(0, 3, n)
    X = rng.randn(n, d) * np.linspace(2, 0.5, d) + 3 * np.eye(3, d)[y]
    return X.astype(dtype), np.where(rng.rand(n) < 0.2, -1, y)


def memory(X, share=0.9):
    """So little working memory that X is larger."""
    size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return config_context(working_memory=share * size / 2**20)


# The kinds of rows in blocks.


def memmap(array, folder, mode="r", name="X"):
    path = folder / f"{name}.bin"
    array.tofile(path)
    return np.memmap(path, array.dtype, mode, shape=array.shape)


KINDS = {
    "memmap": memmap,
    "memmap r+": lambda X, folder: memmap(X, folder, "r+"),
    "memmap by columns": lambda X, folder: (
        np.asfortranarray(X).T.tofile(folder / "F.bin")
        or np.memmap(folder / "F.bin", X.dtype, "r", shape=X.shape, order="F")
    ),
    "zarr": lambda X, folder: zarr.array(X, chunks=(37, X.shape[1])),
    "zarr by columns": lambda X, folder: zarr.array(X, chunks=(len(X), 2)),
    "dask": lambda X, folder: da.from_array(X, chunks=(61, X.shape[1])),
    "dask by columns": lambda X, folder: da.from_array(X, chunks=(61, 4)),
}


def assert_alike(model, other, tol=1e-8):
    for name in ("components_", "eigenvalues_", "mean_", "scores_", "rank_", "n_connected_components_", "support_"):
        if hasattr(model, name):
            one, two = getattr(model, name), getattr(other, name)
            if one is None or two is None:
                assert one is two, name
                continue
            scale = np.abs(np.asarray(one, float)[np.isfinite(one)]).max(initial=1)
            np.testing.assert_allclose(two, one, rtol=tol, atol=tol * scale, err_msg=name)


METHODS = {
    "LPP": LPP(3, graph=NEAR),
    "whole rank": LPP(3, graph=NEAR, pca=None),
    "directions": LPP(3, graph=NEAR, pca=4),
    "energy": LPP(3, graph=NEAR, pca=0.9),
    "all components": LPP(None, graph=NEAR, pca=None),
    "plain mean": LPP(3, graph=NEAR, pca=None, center="mean"),
    "degree mean": LPP(3, graph=NEAR, pca=4, center="degree"),
    "no mean": LPP(3, graph=NEAR, pca=None, center=False),
    "no mean, directions": LPP(3, graph=NEAR, pca=4, center=False),
    "ridge": LPP(3, graph=NEAR, pca=None, ridge=0.1),
    "constraint": LPP(3, graph=NEAR, scaling="constraint"),
    "trace": LPP(3, graph=NEAR - 0.2 * APART, pca=None, normalize="trace"),
    "penalty": LPP(3, graph=NEAR, penalty=APART, pca=None),
    "half-median": LPP(3, graph=KNN(4, t="half-median", queries=40), pca=None),
    "cosine": LPP(3, graph=KNN(4, metric="cosine", queries=40), pca=None),
    "manhattan": LPP(3, graph=KNN(4, metric="manhattan", queries=40), pca=None),
    "same class": LPP(3, graph=KNN(4, among="same_class", weights="binary", queries=40), pca=None),
    "other class": LPP(3, graph=KNN(4, among="other_class", weights="binary", queries=40), pca=None),
    "OLPP": OLPP(3, graph=NEAR),
    "similarity": OLPP(3, graph=Similarity(NEAR) + Similarity(SameClass()), pca=None),
    "OLPP, whole rank": OLPP(3, graph=NEAR - 0.1 * APART, pca=None),
    "PCA": OLPP(3, graph=-Complete(), pca=None),
    "LDA": LPP(2, graph=SameClass(), penalty=Complete(among="labelled"), pca=None),
    "NPE": NPE(3, graph=Reconstruction(4, queries=40), pca=None),
    "NPE, classes": NPE(3, graph=Reconstruction(4, among="same_class", queries=40), pca=None),
    "ONPP": ONPP(3, graph=Reconstruction(4, queries=40)),
    "MMC": MMC(3),
    "LPDP": LPDP(3, graph=KNN(4, weights="binary", queries=40)),
    "MFA": MFA(2, graph=KNN(4, among="same_class", weights="binary", queries=40), penalty=APART),
    "DNE": DNE(3, graph=(NEAR & SameClass()) - (NEAR & OtherClass())),
    "LPCA": LPCA(3, graph=CodingLength(4, queries=40)),
    "LaplacianScore": LaplacianScore(3, graph=NEAR),
    "LaplacianScore, classes": LaplacianScore(3, graph=SameClass()),
    "FisherScore": FisherScore(3),
    "sum": LPP(3, graph=NEAR + 0.3 * SameClass() - 0.1 * Complete(), pca=None),
    "sum of filtered": LPP(3, graph=(KNN(9, weights="binary", queries=20) & SameClass()) + 0.1 * NEAR, pca=None),
    "OtherClass": LPP(3, graph=NEAR + SameClass() - 0.05 * OtherClass(), pca=None),
    "OtherClass attracts": LPP(3, graph=2 * NEAR + 0.5 * OtherClass() + SameClass(), pca=None),
    "LaplacianScore, OtherClass": LaplacianScore(3, graph=NEAR + OtherClass()),
}


@cache
def in_memory(name, dtype=np.float64):
    X, y = data(dtype=dtype)
    return clone(METHODS[name]).fit(X, y)


def hard(name):
    X, y = data()
    rng = np.random.RandomState(1)
    return {
        "constant": lambda: np.column_stack([X, np.full(N, 0.1), np.full(N, 1e6 + 0.1), np.zeros(N)]),
        "scales": lambda: X * np.logspace(-2, 2, D),
        "offset": lambda: X + 1e6,
        "offset, near": lambda: 0.1 * X + 1e6,
        "collinear": lambda: np.column_stack([X, X @ rng.randn(D, 3)]),
        "equal rows": lambda: np.repeat(X[: N // 4], 4, axis=0),
        "lattice": lambda: np.round(X),
        "many columns": lambda: np.column_stack([X, rng.randn(N, 20)]) + 1e5,
        "sorted by class": lambda: X[np.argsort(y)] + 100 * np.sort(y)[:, None],
    }[name](), np.sort(y) if name == "sorted by class" else y
