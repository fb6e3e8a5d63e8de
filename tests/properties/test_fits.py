"""What holds of every fit, whatever the estimator, its graph and the data: each is a class of defects that were found."""

import re
from tempfile import TemporaryDirectory

import numpy as np
import oracles as o
import pytest
from drawn import KINDS, LEAVES, estimators, gaussian, of_many_lengths, quietly, rows, tried
from hypothesis import strategies as st
from limits import large_from
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import VALID_METRICS

import lapwing
from lapwing import GLPCA, L21PCA, LPCA, LPI, LPP, NPE, OLPP, ONPP, KernelLPP, KernelNPE, RobustGLPCA
from lapwing.graphs import KNN, Radius, SameClass

WORDS = ("X", "y", "graph", "penalty", "metric", "kernel", "sample", "feature", "component", "class", "weights", "tol")


def entries(X):
    return X.toarray() if sparse.issparse(X) else X


@tried(estimators(), rows(), st.booleans())
def test_a_fit_gives_numbers_or_says_why_not(estimator, data, by_lanczos):
    """Finite numbers, twice the same, X as it was; or an error that names something that the user gave."""
    X, y = data.made()
    before = entries(X).copy()
    with pytest.MonkeyPatch.context() as patch:
        if by_lanczos:
            large_from(patch, 3)
        one, two = (quietly(lambda: clone(estimator).fit(X, y).transform(X)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(entries(X), before)
    if isinstance(one, str):
        words = (*WORDS, *estimator.get_params(deep=False))
        assert re.search("|".join(words), one), one
    else:
        assert np.isfinite(one).all()


@tried(
    st.sampled_from([OLPP, ONPP, LPCA, GLPCA, L21PCA, RobustGLPCA]),
    st.sampled_from([*KINDS, of_many_lengths, of_many_lengths]),
    st.integers(0, 10_000),
    st.tuples(st.integers(2, 40), st.integers(1, 60)),
    st.floats(0, 1),
)
def test_orthonormal_directions(method, kind, seed, shape, share):
    """VᵀV = I, or QᵀQ = I of representations, whatever the lengths of directions and however many are asked for."""
    k = 1 + int(share * (min(shape) - 1))
    X, model = kind(np.random.RandomState(seed), *shape), method(k)
    wanted = {"pca": None, "standardize": False, "graph": min(3, shape[0] - 1), "tol": 0.1}
    model.set_params(**{name: wanted[name] for name in wanted.keys() & model.get_params(deep=False).keys()})
    fitted = quietly(lambda: model.fit(X))
    if not isinstance(fitted, str):
        V = fitted.components_.T if method in (OLPP, ONPP, LPCA) else fitted.embedding_
        np.testing.assert_allclose(V.T @ V, np.eye(k), rtol=0, atol=1e-8)


METHODS = [LPP, OLPP, NPE, ONPP, LPCA, KernelLPP, KernelNPE]


def coordinates(method, X, **options):
    """Of a literal fit, and whether the eigenvalues after the last component leave a gap, so that these are certain."""
    given = {"gamma": 0.1} if method in (KernelLPP, KernelNPE) else {}
    model = method(2, pca=None, standardize=False, **given, **options)
    if hasattr(model, "ridge"):
        model.set_params(ridge=0.0)
    values = clone(model).set_params(n_components=3).fit(X).eigenvalues_
    return model.fit(X).transform(X), (values[2] - values[1]) / np.abs(values).max()


@tried(st.sampled_from(METHODS), st.integers(0, 10_000), st.floats(0, 8), st.booleans())
def test_translation(method, seed, power, as_sparse):
    """Where all rows lie does not matter, to what is left of their digits."""
    offset, make = 10.0**power, sparse.csr_array if as_sparse else np.asarray
    X = gaussian(np.random.RandomState(seed), 60, 5)
    here, gap = coordinates(method, X)
    there, _ = coordinates(method, make(X + offset))
    assert o.angle(here.T, there.T) < 1e-11 * max(offset, 1e3) / max(gap, 1e-12)


@tried(st.sampled_from(sorted(VALID_METRICS["brute"])), rows(20), st.booleans())
def test_metrics(metric, data, by_radius):
    """Symmetric links of numbers, or an error that names the metric."""
    X, y = data.made()
    for graph in (
        Radius(1.0, metric=metric) if by_radius else KNN(1, metric=metric),
        KNN(1, metric=metric) & SameClass(),
    ):
        found = quietly(lambda graph=graph: graph.build(X, y)[0].laplacian.toarray())
        if isinstance(found, str):
            assert re.search("metric|weights|radius|n_neighbors|y has|label|range of floating point", found), found
        else:
            assert np.isfinite(found).all()
            np.testing.assert_array_equal(found, found.T)


@tried(st.integers(0, 10_000), st.integers(1, 60))
def test_sums_in_model_files(seed, count):
    """A sum of many graphs prints, and comes back from a file."""
    leaves, rng = [*LEAVES[:10], -0.3 * LEAVES[1], LEAVES[2] & SameClass()], np.random.RandomState(seed)
    graph = sum(leaves[i] for i in rng.randint(0, len(leaves), count))
    fitted = LPP(1).fit(gaussian(rng, 10, 3)).set_params(graph=graph)
    with TemporaryDirectory() as folder:
        lapwing.save(fitted, f"{folder}/model")
        read = lapwing.load(f"{folder}/model")
    assert repr(read.graph) == repr(graph)


@tried(st.integers(0, 10_000), st.floats(0, 0.95), st.booleans())
def test_empty_documents(seed, share, as_sparse):
    """They change nothing for the others, and are placed at 0."""
    rng, make = np.random.RandomState(seed), sparse.csr_array if as_sparse else np.asarray
    X = (rng.rand(30, 12) < 0.3) * rng.rand(30, 12)
    X[rng.rand(30) < share] = 0.0
    full = X.any(axis=1)
    Z, expected = (quietly(lambda A=A: LPI(1).fit(make(A)).transform(make(A))) for A in (X, X[full]))
    if isinstance(Z, str) or isinstance(expected, str):
        assert isinstance(Z, str) == isinstance(expected, str)
        return
    assert not Z[~full].any()
    np.testing.assert_allclose(Z[full], expected, rtol=0, atol=1e-12)
