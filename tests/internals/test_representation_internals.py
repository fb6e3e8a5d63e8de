"""Graph-Laplacian PCA."""

import tracemalloc
import warnings

import numpy as np
import pytest
from helpers import literal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from lapwing import GLPCA, LaplacianEigenmaps, RobustGLPCA, operators
from lapwing.graphs import KNN, SameClass
from lapwing.problem import laplacian_sum
from lapwing.rows import Rows
from lapwing.solvers import CertificateWarning, _block, _solve


def weights(S, k=5):
    return KNN(k).adjacency(Rows.validated(S))


def test_poles_where_even_the_median_is_past_them():
    """With many components eigenvalues exceed the factor of most rows: there all are the neighbours' means."""
    S = np.random.RandomState(0).standard_normal((150, 6)) * [3, 2, 1, 1, 0.5, 0.2]
    fitted = GLPCA(40, beta=0.9, graph=5).fit(S[:50])
    L = laplacian_sum(KNN(5).terms(Rows(S[:50]))).tosparse()
    past = 0.1 + 0.9 / fitted.scales_[1] * np.median(L.diagonal()) <= fitted.eigenvalues_
    assert past.sum() > 10
    placed, W = fitted.transform(S[50:]), fitted._links(S[50:])
    means = (W @ fitted.embedding_) / W.sum(axis=1)[:, None]
    np.testing.assert_allclose(placed[:, past], means[:, past], atol=1e-12)


ONE = np.random.RandomState(0).uniform(size=(450, 1))
CROWDED = {
    "one varying column": (GLPCA(), np.hstack([ONE, np.zeros((450, 4))])),
    "one column": (GLPCA(3, graph=3), ONE),
    "robust": (literal(RobustGLPCA), ONE),
    "surface": (GLPCA(5), np.random.RandomState(0).standard_normal((1000, 2))),
}


@pytest.mark.parametrize(("model", "S"), CROWDED.values(), ids=CROWDED)
def test_eigenvalues_that_crowd(model, S, monkeypatch):
    """Fewer directions in X than components: the rest come from the small eigenvalues of L, which Lanczos cannot tell apart."""
    model, k, n = clone(model), model.n_components, len(S)
    Q = model.fit(S).embedding_
    np.testing.assert_allclose(np.c_[np.full(n, n**-0.5), Q].T @ Q, np.eye(k + 1, k, -1), atol=1e-10)
    if isinstance(model, RobustGLPCA):
        return
    assert model.solver_ == "dense"
    L = laplacian_sum(model.graph_.terms(Rows(S))).tosparse().toarray()
    Xc, (lam, xi) = S - S.mean(axis=0), model.scales_
    G = 0.5 * (np.eye(n) - Xc @ Xc.T / lam) + 0.5 * L / xi
    np.testing.assert_allclose(model.eigenvalues_, np.linalg.eigvalsh(G + 10 / n)[:k], atol=1e-12)
    # As for n that is too large: blocks, and a warning if they do not converge.
    monkeypatch.setattr(_solve, "MANY", 400)
    monkeypatch.setattr(_block, "RESTARTS", 50)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = clone(model).fit(S)
    assert again.solver_ == "block-lanczos"
    assert {w.category for w in caught} <= {ConvergenceWarning, CertificateWarning}
    assert all(w.filename == __file__ for w in caught)
    assert again.certificate_.holds or caught
    np.testing.assert_allclose(again.eigenvalues_, model.eigenvalues_, atol=1e-4)


@pytest.mark.parametrize("limit", [400, 2000])
@pytest.mark.parametrize("graph", ["W", SameClass()], ids=["W", "SameClass"])
@pytest.mark.parametrize("d", [1, 10])
def test_eigenvalues_that_repeat(d, graph, limit, monkeypatch):
    """Complete graphs of four classes have two eigenvalues, so a Krylov space has two dimensions."""
    monkeypatch.setattr(_solve, "MANY", limit)
    S, y = np.random.RandomState(0).standard_normal((500, d)), np.arange(500) % 4
    W = (y[:, None] == y).astype(float) - np.eye(500)
    graph = W if graph == "W" else graph
    for model in (
        GLPCA(6, beta=1, graph=graph),
        GLPCA(6, graph=graph),
        LaplacianEigenmaps(6, constraint="identity", graph=graph),
    ):
        Q = model.fit(S, y).embedding_
        np.testing.assert_allclose(np.c_[np.full(500, 500**-0.5), Q].T @ Q, np.eye(7, 6, -1), atol=1e-9)
    np.testing.assert_allclose(Q.T @ (124 * Q - W @ Q), np.diag([0, 0, 0, 125, 125, 125]), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "k"), [(2000, 600, 10), (6000, 100, 20)])
def test_x_is_never_copied_and_no_square_matrix_is_formed(n, d, k, dtype, monkeypatch):
    block = 1 << 19
    monkeypatch.setattr(operators, "BLOCK_BYTES", block)
    monkeypatch.setattr("lapwing.maps._map.BLOCK_BYTES", block)
    S = np.random.RandomState(0).standard_normal((n, d)).astype(dtype) + dtype(1)
    S[:, :k] *= np.geomspace(30, 10, k, dtype=dtype)
    W = weights(S[:, :k])
    GLPCA(k, beta=0.1, graph=W).fit(S)  # what is imported at the first fit is none of its memory
    tracemalloc.start()
    GLPCA(k, beta=0.1, graph=W).fit(S)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    graph = W.data.nbytes + W.indices.nbytes + W.indptr.nbytes
    assert peak < graph + 12 * n * k * S.itemsize + 2 * block + 2**14  # the last for what is no array
    assert peak < n**2 * S.itemsize / 2
