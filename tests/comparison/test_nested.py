"""Numbers of dimensions that share a fit, and those that do not."""

import numpy as np
import oracles as o
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing import DNE, LPCA, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP, TSA, KernelLDA, KernelLPP, TangentialMaps
from lapwing.comparison._methods import Candidate
from lapwing.graphs import KNN, Reconstruction, Repulsion, SameClass, TangentAlignment
from lapwing.selection import reducer_of

X, Y = (part[:150] for part in load_digits(return_X_y=True))
X = np.random.RandomState(0).standard_normal(X.shape) * 0.1 + X  # no constant pixel


class Unknown(TransformerMixin, BaseEstimator):
    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, : self.n_components]


NESTED = [
    LPP(pca=None),
    LPP(pca=30, scaling="constraint", graph=SameClass()),
    LPP(pca=0.9, graph=KNN(3) - 0.1 * Repulsion(20)),
    LPP(pca=None, ridge=0.1),
    OLPP(pca=0.9),
    OLPP(pca=25, graph=SameClass() - 0.2 * Repulsion(15), normalize="trace"),
    NPE(pca=0.95),
    ONPP(pca=20, graph=Reconstruction(3, among="same_class")),
    MMC(pca=None),
    LPDP(pca=0.95),
    MFA(pca=0.95),
    DNE(pca=0.95),
    LPCA(pca=None),
    LPP(pca=20, graph=TangentAlignment(8, n_components=3)),
    PCA(svd_solver="full"),
    PCA(svd_solver="covariance_eigh", whiten=True),
    LinearDiscriminantAnalysis(),
    KernelLPP(pca=0.95),
    KernelLDA(features=RBFSampler(random_state=0), pca=None),
    Unknown(),
]
AUTOMATIC = [LPP(), OLPP(), MMC(), KernelLPP(), make_pipeline(StandardScaler(), LPP(graph=SameClass()))]
ALONE = [
    TangentialMaps(),
    LPP(pca=None, graph=TangentAlignment(12)),
    OLPP(pca=None, graph=KNN(5) + 0.1 * TangentAlignment(12)),
    PCA(svd_solver="randomized", random_state=0),
    FastICA(random_state=0),
    TSA(2, image_shape=(8, 8)),
]
DIMENSIONS = [1, 2, 3, 5, 8]


@pytest.fixture
def fits_of(monkeypatch):
    """The models of all numbers, and with how many components each of them was fitted."""
    fitted, at = [], Candidate.at

    def made(own, dimension):
        fitted.append(dimension)
        return at(own, dimension)

    monkeypatch.setattr(Candidate, "at", made)
    return lambda estimator, dimensions: (Candidate(estimator, ()).fitted(dimensions, X, Y), fitted)


@pytest.mark.parametrize("estimator", NESTED + ALONE, ids=str)
def test_first_components_of_a_fit_are_those_of_fewer(estimator, fits_of):
    """Three fits say whether the last one serves all numbers between."""
    models, fitted = fits_of(estimator, DIMENSIONS)
    for d in DIMENSIONS:
        own = clone(estimator)
        reducer_of(own).set_params(n_components=d)
        expected = own.fit(X, Y).transform(X)
        np.testing.assert_allclose(
            models[d].transform(X)[:, : expected.shape[1]], expected, atol=1e-6 * np.abs(expected).max()
        )
    assert len(fitted) == (3 if estimator in NESTED else 5)


@pytest.mark.parametrize("estimator", [KernelLPP(landmarks=20), KernelLDA(features=RBFSampler(), pca=None)], ids=str)
def test_what_is_drawn_anew_is_fitted_for_each_number(estimator, fits_of):
    assert len(fits_of(estimator, DIMENSIONS)[1]) == 5


def test_automatic_pca_is_fitted_for_each_number(fits_of):
    models, fitted = fits_of(LPP(), [2, 3, 40, 50])
    assert sorted(fitted) == sorted(models) == [2, 3, 40, 50]
    assert fits_of(LPP(), [3])[0].keys() == {3}


def test_automatic_pca_is_not_nested():
    """Why one fit does not serve all: the directions kept for 40 components are not those kept for one."""
    few, many = LPP(1).fit(X), LPP(40).fit(X)
    assert few.n_pca_ < many.n_pca_
    assert o.angle(few.components_, many.components_[:1]) > 1e-3
