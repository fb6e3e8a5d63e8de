"""Who takes part in which task: how a method is made, what it chooses from, and whether it sees labels.

First the estimators that scikit-learn has not, or not in one piece, then the methods of each task. They share a file because the
fingerprint of an experiment covers the files of the functions that it names.

Methods of other packages, and tuned ones, get columns in comparable units. Methods "as they come" get the data as these are and
choose nothing: they are lapwing's defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE, Isomap
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from lapwing import (
    GLPCA,
    LFDA,
    LPCA,
    LPP,
    LSDA,
    MFA,
    MMC,
    NPE,
    OLPP,
    KernelLFDA,
    KernelLPP,
    LaplacianEigenmaps,
    TangentialMaps,
)
from lapwing.graphs import KNN, Repulsion, SameClass
from lapwing_papers._extras import require


def scale(X: np.ndarray) -> float:
    """scikit-learn's ``gamma="scale"`` of centred columns: one over the whole variance, whatever the axes."""
    return float(1 / (X.var(axis=0).sum() or 1.0))


def principal(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, principal directions of the whole rank, and sums of squares along them, from the smaller Gram matrix."""
    mean = X.mean(axis=0)
    Z = X - mean
    wide = len(Z) < Z.shape[1]
    values, U = eigh(Z @ Z.T if wide else Z.T @ Z)
    kept = values > 1e-10 * values[-1]
    values, U = values[kept][::-1], U[:, kept][:, ::-1]
    return mean, (Z.T @ (U / np.sqrt(values)) if wide else U), values


def rbf(A: np.ndarray, B: np.ndarray, gamma: float) -> np.ndarray:
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.exp(-gamma * np.maximum(squares, 0))


class KernelCoordinates:
    """Kernel PCA of the whole rank: coordinates of the rows, and of new ones."""

    def __init__(self, X: np.ndarray, factor: float):
        self.X, self.gamma = X, factor * scale(X)
        K = rbf(X, X, self.gamma)
        self.means = K.mean(axis=0)
        values, U = eigh(K - self.means - self.means[:, None] + self.means.mean())
        kept = values > 1e-10 * values[-1]
        self.values, self.U = values[kept][::-1], U[:, kept][:, ::-1]
        self.rows = self.U * np.sqrt(self.values)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        K = rbf(X, self.X, self.gamma)
        K = K - K.mean(axis=1)[:, None] - self.means + self.means.mean()
        return K @ (self.U / np.sqrt(self.values))


def nearest(Z: np.ndarray, y: np.ndarray, T: np.ndarray, t: np.ndarray) -> float:
    """The share of the rows of T that are of the class of their nearest row of Z."""
    return float(np.mean(y[((Z**2).sum(axis=1) - 2 * T @ Z.T).argmin(axis=1)] == t))


def scatters(Z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Within and between classes, divided by the number of rows."""
    codes = np.unique(y, return_inverse=True)[1]
    means = np.array([Z[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    R, C = Z - means[codes], Z - Z.mean(axis=0)
    within = R.T @ R / len(Z)
    return within, C.T @ C / len(Z) - within


def discriminants(within: np.ndarray, between: np.ndarray, shrinkage: float, k: int, n_columns: int) -> np.ndarray:
    """The directions of scikit-learn's eigen solver, which shrinks the total scatter too.

    Where each class has one row there is no scatter within, and a tiny part of the one between takes its place.
    """
    p = len(within)
    inside, outside = max(np.trace(within), 1e-9 * np.trace(between)), np.trace(between)
    W = (1 - shrinkage) * within + shrinkage * inside / n_columns * np.eye(p)
    B = (1 - shrinkage) * between + shrinkage * outside / n_columns * np.eye(p)
    return eigh(B, W, subset_by_index=[p - k, p - 1])[1][:, ::-1]


class Known(BaseEstimator):
    """Fits the rows whose label is known; -1 is unknown."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        self.fit_known(X[y >= 0], y[y >= 0])
        return self


class ShrinkageLDA(Known):
    """Linear discriminant analysis with that shrinkage, in directions in which training rows vary."""

    def __init__(self, shrinkage: float, n_components: int | None = None):
        self.shrinkage = shrinkage
        self.n_components = n_components

    def fit_known(self, X: np.ndarray, y: np.ndarray) -> None:
        self.mean_, N, _ = principal(X)
        Z = (X - self.mean_) @ N
        k = min(np.unique(y).size - 1, Z.shape[1], self.n_components or X.shape[1])
        self.V_ = N @ discriminants(*scatters(Z, y), self.shrinkage, k, X.shape[1])

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.V_


class KernelShrinkageLDA(Known):
    """Kernel PCA of the whole rank (RBF, ``factor`` times "scale"), then discriminant analysis with shrinkage."""

    def __init__(self, factor: float, shrinkage: float):
        self.factor = factor
        self.shrinkage = shrinkage

    def fit_known(self, X: np.ndarray, y: np.ndarray) -> None:
        self.kernel_ = KernelCoordinates(X, self.factor)
        Z = self.kernel_.rows
        k = min(np.unique(y).size - 1, Z.shape[1])
        self.V_ = discriminants(*scatters(Z, y), self.shrinkage, k, Z.shape[1])

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.kernel_(X) @ self.V_


class Fisherfaces(Known):
    """PCA to a share of the variance, or to as many directions as rows less classes, then discriminant analysis."""

    def __init__(self, share: float | None):
        self.share = share

    def fit_known(self, X: np.ndarray, y: np.ndarray) -> None:
        self.mean_, N, values = principal(X)
        c = np.unique(y).size
        p = (
            values.size
            if self.share is None
            else 1 + int(np.searchsorted(np.cumsum(values), self.share * values.sum()))
        )
        p = max(1, min(p, len(X) - c, values.size))
        Z = (X - self.mean_) @ N[:, :p]
        self.V_ = N[:, :p] @ discriminants(*scatters(Z, y), 1e-6, min(c - 1, p), p)

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.V_


class WithinClassWhitening(Known):
    """Relevant component analysis: no reduction, but the scatter within classes, shrunk, becomes the identity."""

    def __init__(self, shrinkage: float):
        self.shrinkage = shrinkage

    def fit_known(self, X: np.ndarray, y: np.ndarray) -> None:
        self.mean_, N, _ = principal(X)
        within, _ = scatters((X - self.mean_) @ N, y)
        s = self.shrinkage
        values, U = eigh((1 - s) * within + s * np.trace(within) / X.shape[1] * np.eye(len(within)))
        self.V_ = N @ (U / np.sqrt(values))

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.V_


class NCA(Known):
    """NCA to convergence (at most 200 steps) after PCA to 95 % of the variance, in units of the mean nearest distance.

    Its softmax of squared distances has no gradient where these are large, so units decide whether it moves at all.
    """

    def __init__(self, n_components: int, init: str = "auto"):
        self.n_components = n_components
        self.init = init

    def fit_known(self, X: np.ndarray, y: np.ndarray) -> None:
        first = PCA(0.95, svd_solver="full").fit(X)
        Z = first.transform(X)
        squares = (Z**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - 2 * Z @ Z.T
        np.fill_diagonal(squares, np.inf)
        self.unit_ = float(np.sqrt(np.maximum(squares.min(axis=1), 0).mean())) or 1.0
        k = min(self.n_components, Z.shape[1])
        nca = NeighborhoodComponentsAnalysis(k, init=self.init, max_iter=200, random_state=0).fit(Z / self.unit_, y)
        self.both_ = first, nca

    def transform(self, X: np.ndarray) -> np.ndarray:
        first, nca = self.both_
        return nca.transform(first.transform(X) / self.unit_)


class UMAP(BaseEstimator):
    """umap-learn's, with labels (-1 is unknown) or without."""

    def __init__(self, n_components: int, n_neighbors: int, labels: bool):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.labels = labels

    def fit(self, X: np.ndarray, y: np.ndarray) -> UMAP:
        umap = require("umap", "reproduce").UMAP
        k = min(self.n_neighbors, len(X) - 1)
        self.map_ = umap(k, self.n_components, random_state=0, n_jobs=1).fit(X, y if self.labels else None)
        self.embedding_ = self.map_.embedding_
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.map_.transform(X)


class Logistic(ClassifierMixin, Known):
    """Logistic regression of scikit-learn, in principal coordinates: the same solution, and faster for many columns."""

    def __init__(self, C: float):
        self.C = C

    def fit_known(self, X: np.ndarray, y: np.ndarray) -> None:
        self.mean_, self.N_, _ = principal(X)
        self.model_ = LogisticRegression(C=self.C, max_iter=300).fit((X - self.mean_) @ self.N_, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict((X - self.mean_) @ self.N_)


class KernelSVC(ClassifierMixin, Known):
    """SVC with an RBF kernel of ``factor`` times "scale"."""

    def __init__(self, C: float, factor: float):
        self.C = C
        self.factor = factor

    def fit_known(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model_ = SVC(C=self.C, gamma=self.factor * scale(X)).fit(X, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X)


class SoftSVC(SVC):
    """SVC whose probabilities are a softmax of the decisions: calibration needs more labels than there are."""

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        decision = self.decision_function(X)
        decision = np.c_[-decision, decision] if decision.ndim == 1 else decision
        odds = np.exp(decision - decision.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)


class SelfTraining(ClassifierMixin, BaseEstimator):
    """An SVC that labels what it is sure of (a softmax above ``threshold``) and learns from it, ten times."""

    def __init__(self, C: float, factor: float, threshold: float):
        self.C = C
        self.factor = factor
        self.threshold = threshold

    def fit(self, X: np.ndarray, y: np.ndarray) -> SelfTraining:
        base = SoftSVC(C=self.C, gamma=self.factor * scale(X))
        self.model_ = SelfTrainingClassifier(base, threshold=self.threshold, max_iter=10).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X)


class Spreading(ClassifierMixin, BaseEstimator):
    """Label spreading on a graph of ``n_neighbors``, or with an RBF kernel of ``factor`` times "scale"."""

    def __init__(self, n_neighbors: int | None = None, factor: float = 8.0, alpha: float = 0.2):
        self.n_neighbors = n_neighbors
        self.factor = factor
        self.alpha = alpha

    def fit(self, X: np.ndarray, y: np.ndarray) -> Spreading:
        how: dict[str, Any] = {"kernel": "rbf", "gamma": self.factor * scale(X)}
        if self.n_neighbors:
            how = {"kernel": "knn", "n_neighbors": self.n_neighbors}
        self.model_ = LabelSpreading(**how, alpha=self.alpha, max_iter=100).fit(X, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model_.predict(X)


class Principal(BaseEstimator):
    """PCA to so many components, or all that there are."""

    def __init__(self, n_components: int):
        self.n_components = n_components

    def fit(self, X: np.ndarray, y: Any = None) -> Principal:
        self.mean_, N, _ = principal(X)
        self.V_ = N[:, : self.n_components]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean_) @ self.V_


# The methods of the tasks

BUDGET = 6  # candidates per method, at most


@dataclass(frozen=True)
class Rival:
    """A method of a task.

    Attributes
    ----------
    make : callable
        Takes training rows, the number of classes and a candidate; gives an estimator, or None for the rows themselves.
    candidates : tuple of mappings
        At most ``BUDGET``; one is chosen inside the training rows.
    labels : str
        What it learns from: "yes", "no", or in words.
    own : bool
        Whether it is lapwing's.
    raw : bool
        Whether it gets the data as they come.
    whole : bool
        Whether it gets all columns: see ``Part``.
    """

    make: Callable[..., Any]
    candidates: tuple[Mapping[str, Any], ...] = ({},)
    labels: str = "yes"
    own: bool = False
    raw: bool = False
    whole: bool = False


def grid(**values: tuple[Any, ...]) -> tuple[Mapping[str, Any], ...]:
    found = tuple(dict(zip(values, point, strict=True)) for point in product(*values.values()))
    assert len(found) <= BUDGET
    return found


def default(make: Callable[..., Any], labels: str = "yes") -> Rival:
    return Rival(make, labels=labels, own=True, raw=True)


def ours(make: Callable[..., Any], labels: str = "yes", **values: tuple[Any, ...]) -> Rival:
    return Rival(make, grid(**values), labels, own=True)


def other(make: Callable[..., Any], labels: str = "yes", **values: tuple[Any, ...]) -> Rival:
    return Rival(make, grid(**values), labels)


def dims(X: np.ndarray, c: int, d: float) -> int:
    """So many dimensions, or as many as classes less one times a number with a fraction; fewer where the rows have fewer."""
    wanted = d if isinstance(d, int) else int(d * (c - 1))
    return int(max(1, min(wanted, X.shape[1], len(X) // 2)))


def gamma(X: np.ndarray, factor: float) -> float:
    return factor * scale(X)


def repelled(share: float) -> Any:
    return SameClass() - share * Repulsion(15)


DIMENSIONS = (5, 10, 20, 40, 80, 160)
FEWER = (1.0, 2.0, 40)  # times the number of classes less one; or so many
SHRINKAGE = (0.001, 0.01, 0.03, 0.1, 0.3, 0.9)
SHARES = (0.8, 0.9, 0.95, 0.98, 0.99, None)
FACTORS, SHRUNK = (0.1, 0.3, 1.0), (0.01, 0.1)
RIDGES = ("auto", 0.01, 0.03, 0.1, 0.3, 1.0)
C_LOGISTIC = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
PLAIN: dict[str, Any] = {"standardize": False}  # units are comparable already

# Learn from rows with labels. In the order of the tables.
_SPACES: dict[str, Rival] = {
    "no reduction": Rival(lambda X, c: None, labels="no", whole=True),
    "PCA, tuned": other(lambda X, c, d: Principal(dims(X, c, d)), "to choose", d=DIMENSIONS),
    "Fisherfaces, tuned": other(lambda X, c, share: Fisherfaces(share), share=SHARES),
    "shrinkage LDA, tuned": other(lambda X, c, s: ShrinkageLDA(s), s=SHRINKAGE),
    "kernel PCA + shrinkage LDA, tuned": other(lambda X, c, f, s: KernelShrinkageLDA(f, s), f=FACTORS, s=SHRUNK),
    "within-class whitening, tuned": other(lambda X, c, s: WithinClassWhitening(s), s=SHRINKAGE),
    "NCA, tuned": other(lambda X, c, d, i: NCA(dims(X, c, d), i), d=(1.0, 10, 30), i=("auto", "pca")),
    "supervised UMAP, tuned": other(lambda X, c, k: UMAP(dims(X, c, 10), k, labels=True), k=(5, 15)),
    "LPP, as it comes": default(lambda X, c: LPP("auto", graph="supervised")),
    "KernelLPP, as it comes": default(lambda X, c: KernelLPP("auto", graph="supervised")),
    "MMC, as it comes": default(lambda X, c: MMC(dims(X, c, 1.0))),
    "LFDA, as it comes": default(lambda X, c: LFDA(dims(X, c, 1.0))),
    "LPP, tuned": ours(lambda X, c, ridge: LPP(dims(X, c, 1.0), graph=SameClass(), ridge=ridge, **PLAIN), ridge=RIDGES),
    "KernelLPP, tuned": ours(
        lambda X, c, f, ridge: KernelLPP(dims(X, c, 1.0), graph=SameClass(), gamma=gamma(X, f), ridge=ridge, **PLAIN),
        f=FACTORS,
        ridge=(0.01, 0.1),
    ),
    "LFDA, tuned": ours(lambda X, c, k, d: LFDA(dims(X, c, d), graph=k, **PLAIN), k=(3, 7), d=FEWER),
    "KernelLFDA, tuned": ours(
        lambda X, c, f, d: KernelLFDA(dims(X, c, d), gamma=gamma(X, f), **PLAIN), f=FACTORS, d=(1.0, 2.0)
    ),
    "LSDA, tuned": ours(lambda X, c, a, d: LSDA(dims(X, c, d), alpha=a, **PLAIN), a=(0.1, 0.3), d=(1.0, 10, 40)),
    "MFA, tuned": ours(lambda X, c, k, d: MFA(dims(X, c, d), graph=k, **PLAIN), k=(2, 5), d=FEWER),
    "OLPP with repulsion, tuned": ours(
        lambda X, c, w, d: OLPP(dims(X, c, d), graph=repelled(w), normalize="trace", **PLAIN), w=(0.1, 0.5), d=FEWER
    ),
}
LABELLED: dict[str, Rival] = {
    **_SPACES,
    "logistic regression, tuned": other(lambda X, c, C: Logistic(C), C=C_LOGISTIC),
    "SVC, tuned": other(lambda X, c, C, f: KernelSVC(C, f), C=(1.0, 100.0), f=(0.03, 0.3, 1.0)),
}
UNSEEN: dict[str, Rival] = {name: _SPACES[name] for name in _SPACES if name != "LSDA, tuned"}

SEMI = "all rows, few labels"
FEW: dict[str, Rival] = {
    **{
        name: _SPACES[name]
        for name in ("no reduction", "PCA, tuned", "shrinkage LDA, tuned", "kernel PCA + shrinkage LDA, tuned")
    },
    "logistic regression, tuned": LABELLED["logistic regression, tuned"],
    "SVC, tuned": LABELLED["SVC, tuned"],
    "self-training of an SVC, tuned": other(
        lambda X, c, f, t: SelfTraining(10.0, f, t), SEMI, f=(0.3, 1.0), t=(0.5, 0.75, 0.9)
    ),
    "label spreading, tuned": other(lambda X, c, k, a: Spreading(k, alpha=a), SEMI, k=(5, 10, None), a=(0.2, 0.8)),
    "supervised UMAP": other(lambda X, c: UMAP(dims(X, c, 10), 15, labels=True), SEMI),
    "LPP, as it comes": default(lambda X, c: LPP(dims(X, c, 40), graph="semi"), SEMI),
    "KernelLPP, as it comes": default(lambda X, c: KernelLPP(dims(X, c, 40), graph="semi"), SEMI),
    "LPP, labels spread": default(lambda X, c: LPP("auto", graph="propagate"), SEMI),
    "KernelLPP, labels spread": default(lambda X, c: KernelLPP("auto", graph="propagate"), SEMI),
    "LPP, tuned": ours(
        lambda X, c, k, d: LPP(dims(X, c, d), graph=KNN(k) + SameClass(), **PLAIN), SEMI, k=(5, 10), d=FEWER
    ),
    "KernelLPP, tuned": ours(
        lambda X, c, f, k: KernelLPP(dims(X, c, 40), graph=KNN(k) + SameClass(), gamma=gamma(X, f), **PLAIN),
        SEMI,
        f=FACTORS,
        k=(5, 10),
    ),
}


class UnitRows:
    """Laplacian eigenmaps with rows of unit length: what k-means needs for a normalised cut."""

    def __init__(self, n_components: int):
        self.n_components = n_components

    def fit(self, X: np.ndarray, y: Any = None) -> UnitRows:
        Q = LaplacianEigenmaps(self.n_components, graph=10).fit(X).embedding_
        self.embedding_ = Q / np.maximum(np.linalg.norm(Q, axis=1, keepdims=True), 1e-12)
        return self


# Without labels nothing can be chosen: every method has as many dimensions as clusters less one, and the rest as it comes.
CLUSTERING: dict[str, Rival] = {
    "no reduction": Rival(lambda X, c: None, labels="no", whole=True),
    "PCA": other(lambda X, c: Principal(dims(X, c, 1.0)), "no"),
    "kernel PCA": other(lambda X, c: KernelPCA(dims(X, c, 1.0), kernel="rbf", gamma=gamma(X, 0.3)), "no"),
    "UMAP": other(lambda X, c: UMAP(dims(X, c, 1.0), 15, labels=False), "no"),
    "LPP, as it comes": default(lambda X, c: LPP(dims(X, c, 1.0)), "no"),
    "OLPP, as it comes": default(lambda X, c: OLPP(dims(X, c, 1.0)), "no"),
    "NPE, as it comes": default(lambda X, c: NPE(dims(X, c, 1.0)), "no"),
    "KernelLPP, as it comes": default(lambda X, c: KernelLPP(dims(X, c, 1.0)), "no"),
    "GLPCA, as it comes": default(lambda X, c: GLPCA(dims(X, c, 1.0)), "no"),
    "Laplacian eigenmaps, unit rows": ours(lambda X, c: UnitRows(dims(X, c, 1.0)), "no"),
}
MAPS: dict[str, Rival] = {
    "PCA": other(lambda X, c: Principal(2), "no"),
    "t-SNE": other(lambda X, c: TSNE(2, random_state=0), "no"),
    "UMAP": other(lambda X, c: UMAP(2, 15, labels=False), "no"),
    "Isomap": other(lambda X, c: Isomap(n_neighbors=10, n_components=2), "no"),
    "LPP, as it comes": default(lambda X, c: LPP(2), "no"),
    "NPE, as it comes": default(lambda X, c: NPE(2), "no"),
    "KernelLPP, as it comes": default(lambda X, c: KernelLPP(2), "no"),
    "LPCA, as it comes": default(lambda X, c: LPCA(2), "no"),
    "GLPCA, as it comes": default(lambda X, c: GLPCA(2), "no"),
    "LaplacianEigenmaps, as it comes": default(lambda X, c: LaplacianEigenmaps(2), "no"),
    "TangentialMaps, as it comes": default(lambda X, c: TangentialMaps(2), "no"),
}
LABELLED_MAPS: dict[str, Rival] = {
    "shrinkage LDA": other(lambda X, c: ShrinkageLDA(0.1, 2)),
    "supervised UMAP": other(lambda X, c: UMAP(2, 15, labels=True)),
    "NCA": other(lambda X, c: NCA(2)),
    "LPP with labels, as it comes": default(lambda X, c: LPP(2, graph="supervised")),
    "KernelLPP with labels, as it comes": default(lambda X, c: KernelLPP(2, graph="supervised")),
}
