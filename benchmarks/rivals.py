"""The rivals that the defaults are compared with: estimators of scikit-learn, each tuned on its grid inside the training rows.

Each point of a grid is tried on two random thirds of the training rows, by the nearest neighbour or by the classifier itself.
The best parameters are then fitted to all training rows. Decompositions that several points of a grid share are computed
once. The results are those of scikit-learn's ``LinearDiscriminantAnalysis(solver="eigen")`` and ``KernelPCA``, which

    python benchmarks/rivals.py

compares on the digits. Directions in which no training row varies are left out. Shrinkage gives them the eigenvalue of the
traces, so that scikit-learn may return them before weak discriminants, although they tell no classes apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from guide import _rivals
from guide._rivals import SoftSVC, discriminants, nearest, principal, scatters
from scipy.linalg import subspace_angles
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, StratifiedShuffleSplit
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

SHRINKAGE = (0.001, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9)  # and "auto" up to so many columns:
AUTO_COLUMNS = 300
GAMMAS = (0.1, 0.25, 0.5, 1, 2)  # times "scale"
COMPONENTS = (50, 100, 200, 400)
KERNEL_SHRINKAGE = (0.001, 0.01, 0.1, 0.3, 0.6)
SVC_GRID = {"C": [1, 10, 100], "gamma": GAMMAS[1:]}


def scale(X: np.ndarray) -> float:
    """scikit-learn's ``gamma="scale"``."""
    return float(1 / (X.shape[1] * X.var() or 1.0))


class KernelCoordinates(_rivals.KernelCoordinates):
    """Kernel PCA of the whole rank: coordinates of the rows, and of new ones; ``factor`` is of scikit-learn's "scale"."""

    def __init__(self, X: np.ndarray, factor: float):
        super().__init__(X, factor * scale(X) / _rivals.scale(X))


def thirds(y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two random thirds of the rows are held out in turn; at least one row per class."""
    held_out = max(1 / 3, np.unique(y).size / y.size)
    return StratifiedShuffleSplit(2, test_size=held_out, random_state=0).split(y, y)


def best(marks: dict[Any, list[float]]) -> Any:
    """Of those tried most often, the one of the best mean."""
    return max(marks, key=lambda key: (len(marks[key]), np.mean(marks[key])))


class ShrinkageLDA(BaseEstimator):
    """Linear discriminant analysis, its shrinkage chosen among ``SHRINKAGE`` and, for few columns, ``"auto"``."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> ShrinkageLDA:
        marks: dict[Any, list[float]] = {}
        for a, b in thirds(y):
            for s, Z, T in self._tried(X[a], y[a], X[b]):
                marks.setdefault(s, []).append(nearest(Z, y[a], T, y[b]))
        self.shrinkage_ = best(marks)
        if self.shrinkage_ == "auto":
            self._project = self._automatic(X, y)
        else:
            mean, N, _ = principal(X)
            V = self._directions((X - mean) @ N, y, X.shape[1])(self.shrinkage_)
            self._project = lambda A: (A - mean) @ (N @ V)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self._project(X)

    @staticmethod
    def _automatic(X: np.ndarray, y: np.ndarray) -> Any:
        return LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y).transform

    @staticmethod
    def _directions(Z: np.ndarray, y: np.ndarray, n_columns: int) -> Any:
        forms, k = scatters(Z, y), min(np.unique(y).size - 1, Z.shape[1])
        return lambda s: discriminants(*forms, s, k, n_columns)

    def _tried(self, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        mean, N, _ = principal(X)
        Z, T = (X - mean) @ N, (new - mean) @ N
        directions = self._directions(Z, y, X.shape[1])
        for s in SHRINKAGE:
            V = directions(s)
            yield s, Z @ V, T @ V
        if X.shape[1] <= AUTO_COLUMNS:
            project = self._automatic(X, y)
            yield "auto", project(X), project(new)


class KernelLDA(BaseEstimator):
    """Kernel PCA, then discriminant analysis: width, components and shrinkage chosen together."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> KernelLDA:
        marks: dict[Any, list[float]] = {}
        for a, b in thirds(y):
            for factor in GAMMAS:
                kernel = KernelCoordinates(X[a], factor)
                Z, T = kernel.rows[:, : max(COMPONENTS)], kernel(X[b])[:, : max(COMPONENTS)]
                forms = scatters(Z, y[a])
                for p, s in self._grid(Z.shape[1]):
                    V = self._directions(forms, p, s, y[a])
                    marks.setdefault((factor, p, s), []).append(nearest(Z[:, :p] @ V, y[a], T[:, :p] @ V, y[b]))
        self.chosen_ = factor, p, s = best(marks)
        self._kernel = KernelCoordinates(X, factor)
        Z = self._kernel.rows[:, :p]
        self._V = self._directions(scatters(Z, y), p, s, y)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self._kernel(X)[:, : len(self._V)] @ self._V

    @staticmethod
    def _grid(most: int) -> Iterator[tuple[int, float]]:
        """Numbers of components up to the first that takes all there are."""
        for p in COMPONENTS:
            yield from ((p, s) for s in KERNEL_SHRINKAGE)
            if p >= most:
                return

    @staticmethod
    def _directions(forms: tuple[np.ndarray, np.ndarray], p: int, shrinkage: float, y: np.ndarray) -> np.ndarray:
        within, between = (M[:p, :p] for M in forms)
        return discriminants(within, between, shrinkage, min(np.unique(y).size - 1, len(within)), len(within))


def tuned_svc(X: np.ndarray, y: np.ndarray) -> SoftSVC:
    """With the best of ``SVC_GRID``, by three folds (of fewer rows in a class, as many as there are)."""
    least = np.unique(y, return_counts=True)[1].min()
    folds = (
        StratifiedKFold(min(3, least), shuffle=True, random_state=0)
        if least > 1
        else KFold(3, shuffle=True, random_state=0)
    )
    grid = SVC_GRID | {"gamma": [factor * scale(X) for factor in SVC_GRID["gamma"]]}
    return GridSearchCV(SoftSVC(), grid, cv=folds).fit(X, y).best_estimator_


class LabelledSVC(BaseEstimator):
    """SVC tuned and fitted on the labelled rows alone; -1 is unknown."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> LabelledSVC:
        self.model_ = tuned_svc(X[y >= 0], y[y >= 0])
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        return float(self.model_.score(X, y))


class SelfTraining(LabelledSVC):
    """The tuned SVC, which labels what it is sure of (a softmax above ``threshold``) and learns from it, ten times."""

    def __init__(self, threshold: float = 0.5):
        self.threshold = threshold

    def fit(self, X: np.ndarray, y: np.ndarray) -> SelfTraining:
        svc = tuned_svc(X[y >= 0], y[y >= 0])
        base = SoftSVC(C=svc.C, gamma=svc.gamma)
        self.model_ = SelfTrainingClassifier(base, threshold=self.threshold, max_iter=10).fit(X, y)
        return self


class Spreading(LabelledSVC):
    """Label spreading on a graph of ``n_neighbors``, or with an RBF kernel of ``factor`` times "scale"."""

    def __init__(self, n_neighbors: int | None = 10, factor: float = 8.0):
        self.n_neighbors = n_neighbors
        self.factor = factor

    def fit(self, X: np.ndarray, y: np.ndarray) -> Spreading:
        if self.n_neighbors:
            how: dict[str, Any] = {"kernel": "knn", "n_neighbors": self.n_neighbors}
        else:
            how = {"kernel": "rbf", "gamma": self.factor * scale(X)}
        self.model_ = LabelSpreading(**how, alpha=0.2, max_iter=100).fit(X, y)
        return self


def check() -> None:
    """Raise unless shrinkage LDA and kernel PCA are scikit-learn's."""
    X, y = load_digits(return_X_y=True)
    X = X[:, X[:400].std(axis=0) > 0]
    X, y, new = X[:400], y[:400], X[400:500]
    mean, N, _ = principal(X)
    V = N @ discriminants(*scatters((X - mean) @ N, y), 0.1, 9, X.shape[1])
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1).fit(X, y).scalings_[:, :9]
    assert subspace_angles(V, theirs).max() < 1e-8
    np.testing.assert_allclose(np.abs(V), np.abs(theirs), atol=1e-8)
    kernel = KernelCoordinates(X, 0.5)
    pca = KernelPCA(20, kernel="rbf", gamma=0.5 * scale(X), eigen_solver="dense").fit(X)
    np.testing.assert_allclose(np.abs(kernel(new)[:, :20]), np.abs(pca.transform(new)), atol=1e-8)
    print("shrinkage LDA and kernel PCA agree with scikit-learn's")


if __name__ == "__main__":
    check()
