"""The one fit: its parts, what it leaves behind, and what a method of the user's own needs."""

import inspect

import numpy as np
import oracles as o
import pytest
from helpers import each, form
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sparse_kinds import random_csr

import lapwing
from lapwing import (
    DNE,
    GLPCA,
    L21PCA,
    LPCA,
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    TSA,
    FisherScore,
    KernelLPP,
    LaplacianEigenmaps,
    LaplacianScore,
    RobustGLPCA,
    TangentialMaps,
)
from lapwing.clustering import NormalizedCut
from lapwing.graphs import KNN, Graph, Precomputed, SameClass, TangentAlignment
from lapwing.problem import ORTHOGONAL, Problem, degree_sum, laplacian_sum
from lapwing.reducers import FeatureSelector, FreeReducer, KernelReducer, LinearReducer, MultilinearReducer, Reducer

X, Y = o.blobs(60, 5)
POSITIVE = np.abs(X)
EVERY = [getattr(lapwing, name)() for name in lapwing.__all__]


def made(estimator):
    return clone(estimator).set_params(image_shape=(-1, 1)) if isinstance(estimator, TSA) else clone(estimator)


@each("estimator", EVERY)
def test_there_is_one_fit(estimator):
    """Those of classes alone write ``sample_weight`` into its signature, and call it."""
    weighed = isinstance(estimator, MMC | FisherScore)
    name = "_fit" if weighed else "fit"
    assert inspect.getattr_static(type(estimator), name) is inspect.getattr_static(Reducer, name)


def test_linear_and_kernel_maps_are_siblings():
    assert not issubclass(KernelReducer, LinearReducer)
    for maps in (KernelReducer, FreeReducer, MultilinearReducer, FeatureSelector):
        assert not issubclass(maps, LinearReducer)


@pytest.mark.parametrize("estimator", [LPP(2), NPE(2), OLPP(2), MMC(2), LPDP(2), MFA(2), DNE(2), LPCA(2)], ids=str)
def test_problem_is_what_fit_solves(estimator):
    estimator = clone(estimator).set_params(pca=None)
    before = dict(vars(estimator))
    problem = estimator.problem(X, Y)
    assert vars(estimator) == before
    fitted = clone(estimator).fit(X, Y)
    A, V = form(laplacian_sum(problem.minimise), X, fitted.mean_), fitted.components_.T
    right = V if problem.subject_to is ORTHOGONAL else form(problem.subject_to, X, fitted.mean_) @ V
    np.testing.assert_allclose(A @ V, right * fitted.eigenvalues_, atol=1e-8 * np.abs(A).max())


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_glpca_states_its_whole_problem(beta, dtype):
    S = X.astype(dtype) + 3
    problem, fitted = GLPCA(3, beta=beta).problem(S), GLPCA(3, beta=beta).fit(S)
    A = laplacian_sum(problem.minimise)
    values = np.linalg.eigvalsh(A.toarray())
    np.testing.assert_allclose(A.diagonal(), np.diagonal(A.toarray()), rtol=1e-5)
    residual = A.toarray() @ fitted.embedding_ - fitted.embedding_ * fitted.eigenvalues_
    tol = 1e-10 if dtype == np.float64 else 1e-5
    assert np.abs(residual).max() < tol
    others = values[np.abs(values - (1 - beta)).argsort()[1:]]  # the constant is left out
    np.testing.assert_allclose(fitted.eigenvalues_, np.sort(others)[:3], atol=tol)


@pytest.mark.parametrize("estimator", EVERY, ids=lambda e: type(e).__name__)
def test_a_fit_that_fails_leaves_nothing(estimator, monkeypatch):
    estimator = made(estimator).fit(POSITIVE, Y)

    def fails(self, *parts):
        self.half_done_ = 1
        raise KeyboardInterrupt

    monkeypatch.setattr(type(estimator), "_store", fails)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(POSITIVE, Y)
    assert not [name for name in vars(estimator) if name.endswith("_")]


def test_landmarks_are_drawn_for_every_fit():
    """An earlier fit on the same array, or one that failed, leaves neither landmarks nor kernel parameters behind."""
    digits = load_digits().data[:200]
    model = KernelLPP(2, landmarks=20, random_state=0).fit(digits)
    again = model.set_params(gamma=0.01).fit(digits)
    expected = KernelLPP(2, landmarks=20, random_state=0, gamma=0.01).fit(digits)
    np.testing.assert_array_equal(again.components_, expected.components_)
    assert again.nystroem_.gamma == 0.01
    failing = KernelLPP(40, landmarks=20, random_state=0, pca=None)
    with pytest.raises(ValueError, match="n_components=40"):  # in the last step, when the landmarks are drawn
        failing.fit(digits)
    mended = failing.set_params(n_components=2, pca="auto", gamma=0.01).fit(digits)
    np.testing.assert_array_equal(mended.components_, expected.components_)


class ByTarget(Graph):
    """Links rows whose targets are near; y may be continuous."""

    reads_labels = True

    def adjacency(self, sample):
        y = np.asarray(sample.y, dtype=float)
        W = np.exp(-((y[:, None] - y) ** 2))
        np.fill_diagonal(W, 0)
        return sparse.csr_array(W)


@pytest.mark.parametrize("estimator", [LPP(2), OLPP(2), KernelLPP(2)], ids=str)
def test_a_graph_that_reads_a_continuous_target(estimator):
    target = X[:, 0] + 0.5
    fitted = clone(estimator).set_params(graph=ByTarget()).fit(X, target)
    assert fitted.transform(X).shape == (60, 2)


class TimeLPP(LinearReducer):
    """A method that is not lapwing's."""

    def default_graph(self, n_neighbors):
        return KNN(n_neighbors, weights="binary")

    def _problem(self, data, graphs):
        terms = self._terms(data, graphs)
        return Problem(terms, degree_sum(terms))


def test_a_method_of_ones_own():
    own = TimeLPP(2).fit(X)
    ours = LPP(2, graph=KNN(5, weights="binary"), scaling="constraint").fit(X)
    np.testing.assert_array_equal(own.components_, ours.components_)
    assert isinstance(own.problem(X), Problem)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize(
    "estimator",
    [LaplacianEigenmaps(3), LaplacianEigenmaps(3, extension="affine"), TangentialMaps(2), GLPCA(3), GLPCA(3, beta=1)],
    ids=str,
)
def test_free_maps_take_sparse_rows(estimator, kind):
    S = random_csr((120, 30), 0.3)
    dense, new = S.toarray(), S.toarray()[:20] * 1.01
    fitted, expected = clone(estimator).fit(kind(S)), clone(estimator).fit(dense)
    np.testing.assert_allclose(fitted.embedding_, expected.embedding_, atol=1e-8)
    np.testing.assert_array_equal(fitted.transform(kind(S)), fitted.embedding_)
    np.testing.assert_allclose(fitted.transform(kind(new)), expected.transform(new), atol=1e-8)
    np.testing.assert_allclose(fitted.transform(new), expected.transform(kind(new)), atol=1e-8)


def test_the_normalized_cut_takes_sparse_rows():
    S = random_csr((120, 30), 0.3)
    found, expected = (NormalizedCut(3, random_state=0).fit(A) for A in (S, S.toarray()))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.predict(sparse.csr_matrix(S)), expected.labels_)


@pytest.mark.parametrize("estimator", [RobustGLPCA(), L21PCA()], ids=str)
def test_robust_maps_say_that_they_take_dense_rows(estimator):
    with pytest.raises(TypeError, match="toarray"):
        estimator.fit(sparse.csr_array(POSITIVE))


def test_constant_rows_with_a_graph_that_does_not_read_them():
    W = o.knn_weights(X, None, 4)
    both = Precomputed(W) & Precomputed(W)
    fitted = LaplacianEigenmaps(2, graph=both).fit(np.ones((60, 3)))
    np.testing.assert_allclose(fitted.embedding_, LaplacianEigenmaps(2, graph=W).fit(np.ones((60, 3))).embedding_)


def test_a_graph_is_told_the_dimension_of_the_estimator():
    given = TangentAlignment(8)
    fitted = LPP(3, graph=KNN(5) + given).fit(X)
    assert given.n_components is None
    assert fitted.graph_.right.n_components == 3
    with pytest.raises(ValueError, match="dimension of the tangent spaces"):
        given.build(X)


class TestDocuments:
    X = random_csr((80, 40), 0.3)

    def doubled(self):
        """Each entry stored twice, as halves."""
        X = self.X
        data, indices = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2)
        return sparse.csr_matrix((data, indices, 2 * X.indptr), shape=X.shape)

    @pytest.mark.parametrize("estimator", [LPI(2), KernelLPP(2), LPP(2), LaplacianScore(5)], ids=str)
    def test_duplicate_entries(self, estimator):
        doubled = self.doubled()
        before = doubled.copy()
        fitted, expected = clone(estimator).fit(doubled), clone(estimator).fit(self.X)
        for one, other in ((fitted, expected), (expected, expected)):
            found = one.transform(doubled)
            found = found.toarray() if sparse.issparse(found) else found
            wanted = other.transform(self.X)
            wanted = wanted.toarray() if sparse.issparse(wanted) else wanted
            np.testing.assert_allclose(found, wanted, atol=1e-10)
        assert doubled.nnz == before.nnz == 2 * self.X.nnz
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(doubled, part), getattr(before, part))

    @pytest.mark.parametrize("make", [sparse.csr_array, lambda X: X.toarray()], ids=["sparse", "dense"])
    @pytest.mark.parametrize(
        ("dtype", "scale"), [("f4", 1e-7), ("f4", 1e-25), ("f8", 1e-16), ("f8", 1e-50), ("f8", 1e50)]
    )
    def test_documents_of_any_length(self, dtype, scale, make):
        X = make((self.X.astype(np.float64) * scale).astype(dtype))
        fitted, expected = LPI(2).fit(X), LPI(2).fit(self.X.astype(dtype))
        tol = 1e-3 if dtype == "f4" else 1e-8
        np.testing.assert_allclose(fitted.components_, expected.components_, atol=tol)
        np.testing.assert_allclose(fitted.transform(X), expected.transform(self.X.astype(dtype)), atol=tol)

    @pytest.mark.parametrize(
        "make", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix], ids=lambda m: m.__name__
    )
    @pytest.mark.parametrize("estimator", [LPP(2), LPDP(2), NPE(2), LaplacianScore(5), FisherScore(5)], ids=str)
    def test_matrices_of_scipy_with_tied_distances(self, estimator, make):
        """What scikit-learn's vectorizers return: ``**`` is a matrix power for it."""
        counts = (self.X > 0.5).astype(np.float64)
        counts = sparse.csr_array(sparse.vstack([counts, counts[:20]]))
        y = np.arange(100) % 3
        fitted, expected = clone(estimator).fit(make(counts), y), clone(estimator).fit(counts, y)
        found, wanted = fitted.transform(make(counts)), expected.transform(counts)
        found, wanted = (Z.toarray() if sparse.issparse(Z) else Z for Z in (found, wanted))
        np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_labels_of_a_class_graph_are_still_checked():
    with pytest.raises(ValueError, match="continuous"):
        LPP(2, graph=SameClass()).fit(X, X[:, 0] + 0.5)
