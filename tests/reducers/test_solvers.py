"""The eigenproblem where its answer is known, and the work that it takes."""

import warnings

import numpy as np
import oracles as o
import pytest
from limits import factorised, solved
from scipy.linalg import subspace_angles
from sklearn.datasets import make_swiss_roll

from lapwing import LPP, OLPP, LaplacianEigenmaps
from lapwing.data import as_data
from lapwing.graphs import KNN, Complete, Reconstruction

X = np.random.default_rng(0).normal(size=(60, 6))


def test_as_many_eigenvectors_by_lanczos_as_are_asked_for():
    """Against the dense solution, whose first eigenvalue is that of the constant."""
    rows, _ = o.blobs(450, 20)
    W = KNN(10).adjacency(as_data(rows)).toarray()
    maps = LaplacianEigenmaps(40, graph=W, constraint="identity").fit(rows)
    assert maps.solver_ == "lanczos"
    values, V = np.linalg.eigh(np.diag(W.sum(axis=1)) - W)
    np.testing.assert_allclose(maps.eigenvalues_, values[1:41], rtol=1e-9)
    assert subspace_angles(maps.embedding_, V[:, 1:41]).max() < 1e-7


def test_nothing_to_minimise():
    """Of four equal rows each is linked to the other three: the residual of a matrix of zeros is 0, and not 0 / 0."""
    rows = np.repeat(np.eye(4), 4, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "eigenvalues 2 and 3 are equal")
        model = OLPP(2, graph=KNN(3, weights="binary"), pca=None).fit(rows)
    np.testing.assert_array_equal(model.eigenvalues_, 0)
    assert (model.certificate_.residual, model.certificate_.holds) == (0.0, True)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_a_constraint_of_one_direction(ridge):
    """(1 + ridge) times the sum of squares under the degrees is 1."""
    model = LPP(1, graph=KNN(5, weights="binary"), ridge=ridge, pca=None, scaling="constraint", standardize=False)
    x, d = X[:, :1], model.problem(X[:, :1]).degrees
    squares = d @ (x[:, 0] - d @ x[:, 0] / d.sum()) ** 2
    np.testing.assert_allclose(model.fit(x).components_ ** 2, 1 / ((1 + ridge) * squares), rtol=1e-12)
    assert model.certificate_.holds


def test_newton_takes_few_steps_to_the_ratio_of_traces(monkeypatch):
    problems = solved(monkeypatch)
    LPP(2, graph=KNN(4), penalty=Complete(), constraint="trace-ratio", pca=None, standardize=False).fit(X)
    assert 2 < len(problems) < 10


def test_factors_of_a_symmetric_matrix_are_symmetric(monkeypatch):
    """Rows are not exchanged, which would fill factors that are no Laplacian's with half as many entries more."""
    factors = factorised(monkeypatch)
    surface, _ = make_swiss_roll(450, random_state=0)
    assert LaplacianEigenmaps(2, graph=Reconstruction(8)).fit(surface).solver_ == "shift-invert"
    (factor,) = factors
    np.testing.assert_array_equal(factor.perm_r, factor.perm_c)
    assert factor.L.nnz == factor.U.nnz
