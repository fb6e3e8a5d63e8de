"""Models to write, and what their files are looked at with."""

import errno

import numpy as np
import oracles as o
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from lapwing import (
    DNE,
    GLPCA,
    L21PCA,
    LFDA,
    LPCA,
    LPDP,
    LPI,
    LPP,
    LSDA,
    MFA,
    MMC,
    MULTISPATI,
    NPE,
    OLPP,
    ONPP,
    RCA,
    TSA,
    ContrastivePCA,
    DiffusionMaps,
    FisherScore,
    GraphPCA,
    KernelLDA,
    KernelLFDA,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    LaplacianScore,
    RobustGLPCA,
    SpectralRegression,
    TangentialMaps,
)
from lapwing.graphs import KNN, Graph, Pairs, Precomputed, Radius, Repulsion, SameClass
from lapwing.persistence import load, save

pytest.importorskip("skops")

X, Y = o.blobs(40, 6)
X = np.abs(X)  # weights of terms, for LPI
NEW = np.abs(o.blobs(9, 6, seed=1)[0])
W = sparse.coo_array((np.ones(80), (np.r_[:40, np.r_[1:40, 0]], np.r_[np.r_[1:40, 0], :40])), shape=(40, 40))
KERNEL = X @ X.T

LINEAR = [LPP(), OLPP(), NPE(), ONPP(), MMC(), LPDP(), MFA(), DNE(), LFDA(), LSDA(), LPCA(), LPI(graph=5)]
LINEAR += [GraphPCA(), MULTISPATI(), ContrastivePCA(), SpectralRegression(), RCA()]
FREE = [LaplacianEigenmaps(), DiffusionMaps(), TangentialMaps(), GLPCA(), RobustGLPCA(), L21PCA()]
KERNELS = [KernelLPP(), KernelNPE(), KernelLDA(), KernelLFDA()]
DEFAULT = [*LINEAR, *FREE, *KERNELS, TSA(image_shape=(2, 3)), LaplacianScore(), FisherScore()]
SPECIAL = [
    LPP(graph=KNN(4, t=2.5, weights="heat") - 0.2 * Repulsion(30), pca=0.95, scaling="constraint"),
    LPP(graph=(KNN(3) & SameClass()) + 0.5 * Radius(9.0), n_components=None, pca=None),
    LPP(graph=W.tocsr()),
    LPP(graph=Precomputed(W.tocsc().toarray())),
    LPP(graph=sparse.csc_matrix(W), pca=None),
    LPP(graph=KNN(4, metric="seuclidean", metric_params={"V": np.arange(1.0, 7.0)})),
    LPP(graph=KNN(4) + Pairs([[0, 1], [2, 3]], np.array([[4, 5]]))),
    LPP(np.int64(2), graph=KNN(np.int32(4), weights="binary"), pca=np.float32(0.5)),
    LPI(graph=5, ridge=2),
    KernelLPP(landmarks=12, random_state=0),
    KernelNPE(kernel="poly", degree=2, gamma=0.1),
    GLPCA(beta=1.0),
    GLPCA(beta=0),
    LaplacianEigenmaps(graph=4, extension="barycentric"),
    TSA((2, None), image_shape=(3, -1), graph=4),
    LaplacianScore(3, graph=KNN(4)),
    SpectralRegression(graph=4, lasso=0.3),
]


def named(value):
    return " ".join(repr(value).split())[:80]


def same(a, b):
    """Equal in type and in every bit, in whatever they hold."""
    assert type(a) is type(b)
    if isinstance(a, BaseEstimator | Graph):
        same(vars(a), vars(b))
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        for left, right in zip(a, b, strict=True):
            same(left, right)
    elif sparse.issparse(a):
        assert a.shape == b.shape
        same(a.data, b.data)
        for part in ("indices", "indptr"):  # SciPy chooses their type
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.flags.c_contiguous == b.flags.c_contiguous
        np.testing.assert_array_equal(a, b, strict=True)
    else:
        assert a == b


def copied(model, folder, trusted=()):
    save(model, folder / "model.lapwing")
    return load(folder / "model.lapwing", trusted)


def full_disk(*args):
    raise OSError(errno.ENOSPC, "No space left on device")
