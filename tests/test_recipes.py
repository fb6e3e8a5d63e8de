"""The lines of docs/recipes.md, run as they stand, against the definitions that the page prints."""

import os
import re
from pathlib import Path

import numpy as np
import oracles as o
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh, subspace_angles
from scipy.sparse.csgraph import shortest_path
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.neighbors import kneighbors_graph

PAGE = (Path(__file__).parents[1] / "docs" / "recipes.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)
RECIPES = {re.findall(r"^(\w+) = ", block, re.M)[-1]: block for block in BLOCKS[1:]}
LAG = 3
rng = np.random.RandomState(0)
X, Y = o.blobs(60, 7)
Y = np.where((Y == 2) & (np.arange(60) % 3 == 0), 0, Y)  # unequal classes
SERIES = np.cumsum(rng.standard_normal((80, 4)), axis=0) @ rng.standard_normal((4, 6)) + rng.standard_normal((80, 6))
VIEW = np.c_[X[:, :2] @ rng.standard_normal((2, 2)), rng.standard_normal((60, 3))] + 0.5 * rng.standard_normal((60, 5))


def made(name, **names):
    """What the page's line makes."""
    names = {"X": X, "n": 60, "lag": LAG, **names}
    exec(BLOCKS[0], names)
    exec(RECIPES[name], names)
    return names


def centred(A, weights=None):
    return A - np.average(A, axis=0, weights=weights)


def pencil(A, B, k, largest=False):
    values, V = eigh(A, B)
    return (values[::-1][:k], V[:, ::-1][:, :k]) if largest else (values[:k], V[:, :k])


def agrees(model, V, tol=1e-7):
    assert o.angle(model.components_, V.T) < tol


def pca():
    agrees(made("pca")["pca"].fit(X), PCA(2).fit(X).components_.T)


def lda():
    agrees(made("lda")["lda"].fit(X, Y), LinearDiscriminantAnalysis().fit(X, Y).scalings_)


def kernel_lda():
    """In the features of the centred kernel that are not rounding."""
    H = np.eye(60) - 1 / 60
    values, U = np.linalg.eigh(H @ polynomial_kernel(X, degree=2, gamma=0.1) @ H)
    kept = values > 1e-9 * values[-1]
    F = U[:, kept] * np.sqrt(values[kept])
    _, V = pencil(F.T @ o.same_class_weights(Y) @ F, F.T @ F, 2, largest=True)
    Z = made("kernel_lda")["kernel_lda"].fit(X, Y).transform(X)
    assert subspace_angles(Z, F @ V).max() < 1e-4


def slpp():
    L, D = o.knn(X, Y, 5, among="same_class")
    C = centred(X, np.diag(D))
    agrees(made("slpp")["slpp"].fit(X, Y), pencil(C.T @ L @ C, C.T @ D @ C, 2)[1])


def dlpp():
    L, _ = o.laplacian(o.same_class_heat_weights(X, Y))
    S_b, _ = o.scatters(X, Y)
    _, V = pencil(S_b, centred(X).T @ L @ centred(X), 2, largest=True)
    agrees(made("dlpp")["dlpp"].fit(X, Y), V)


def laplacianfaces():
    scores = PCA(0.98).fit(X)
    P = scores.transform(X)
    L, D = o.knn(P, Y, 5)
    C = centred(P, np.diag(D))
    _, V = pencil(C.T @ L @ C, C.T @ D @ C, 2)
    agrees(made("laplacianfaces")["laplacianfaces"].fit(X), scores.components_.T @ V)


def cca():
    names = made("cca", X1=X, X2=VIEW)
    model = names["cca"].fit(names["views"])
    Q1, Q2 = (np.linalg.qr(centred(A))[0] for A in (X, VIEW))
    correlations = np.linalg.svd(Q1.T @ Q2)[1]
    assert_allclose(1 - model.eigenvalues_, correlations[:2], atol=1e-9)
    a, b = model.components_[:, :7], model.components_[:, 7:]
    found = [np.corrcoef(centred(X) @ p, centred(VIEW) @ q)[0, 1] for p, q in zip(a, b, strict=True)]
    assert_allclose(found, correlations[:2], atol=1e-8)


def sfa():
    C = centred(SERIES)
    changes = np.diff(SERIES, axis=0)
    agrees(made("sfa", X=SERIES, n=80)["sfa"].fit(SERIES), pencil(changes.T @ changes, C.T @ C, 2)[1])


def tica():
    """Noé and Clementi's reversible estimator, from the pairs of rows themselves."""
    model = made("tica", X=SERIES, n=80)["tica"].fit(SERIES)
    early, late = SERIES[:-LAG], SERIES[LAG:]
    mean = (early.mean(axis=0) + late.mean(axis=0)) / 2
    early, late = early - mean, late - mean
    values, V = pencil((early.T @ late + late.T @ early) / 2, (early.T @ early + late.T @ late) / 2, 2, largest=True)
    agrees(model, V)
    assert_allclose(-model.eigenvalues_, values, rtol=1e-8)


def isoprojection():
    S = shortest_path(kneighbors_graph(X, 8, mode="distance"), directed=False) ** 2
    H = np.eye(60) - 1 / 60
    C = centred(X)
    values, V = pencil(C.T @ (-0.5 * H @ S @ H) @ C, C.T @ C, 2, largest=True)
    model = made("isoprojection")["isoprojection"].fit(X)
    agrees(model, V)
    assert_allclose(-model.eigenvalues_, values, rtol=1e-8)


def descended():
    """Numba takes a minute to compile the search, so that it is run where LAPWING_COMPILED is set, as `make test-newest` does."""
    pynndescent = pytest.importorskip("pynndescent")
    rows, names = o.blobs(2000, 7)[0], made("descended")
    search = names["descended"].graph.search
    assert isinstance(search, pynndescent.PyNNDescentTransformer)
    assert search.n_neighbors >= names["descended"].graph.n_neighbors
    if not os.environ.get("LAPWING_COMPILED"):
        return
    exact = names["LPP"](2, graph=names["KNN"](10)).fit(rows)
    agrees(names["descended"].fit(rows), exact.components_.T, 0.01)


DEFINITIONS = [pca, lda, kernel_lda, slpp, dlpp, laplacianfaces, cca, sfa, tica, isoprojection, descended]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda check: check.__name__)
def test_recipe(definition):
    definition()


def test_every_recipe_has_a_definition():
    assert {definition.__name__ for definition in DEFINITIONS} == set(RECIPES)
