"""The same rows in memory, in a file, in blocks, of dask or of torch give the same model; so does a model's file."""

from contextlib import contextmanager
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from drawn import estimators, literal, quietly, rows, tried
from hypothesis import strategies as st
from limits import small_blocks
from sklearn import config_context
from sklearn.base import clone
from written_out import pencil

import lapwing
from lapwing import DNE, LPCA, LPDP, LPP, MFA, MMC, NPE, OLPP, ONPP, FisherScore, LaplacianScore
from lapwing.graphs import KNN, CodingLength, Complete, OtherClass, Reconstruction, Repulsion, SameClass

data = st.tuples(st.integers(0, 10_000), st.integers(300, 500), st.integers(2, 9), st.booleans())


@st.composite
def models(draw):
    """Linear methods with graphs that rows in blocks can have: of classes, and of a sample's neighbours."""
    queries = draw(st.integers(8, 14))
    leaves = st.sampled_from(
        [
            KNN(4, queries=queries),
            KNN(3, weights="binary", among="same_class", queries=queries),
            KNN(4, metric="manhattan", queries=queries),
            Repulsion(6, queries=queries),
            SameClass(),
            OtherClass(),
            Complete(),
            Reconstruction(4, queries=queries),
            CodingLength(4, queries=queries),
        ]
    )
    graph = draw(
        st.one_of(
            leaves, st.builds(lambda a, b: a + b, leaves, leaves), st.builds(lambda a, b: a - 0.2 * b, leaves, leaves)
        )
    )
    method = draw(st.sampled_from([LPP, OLPP, NPE, ONPP, MMC, LPDP, MFA, DNE, LPCA]))
    penalty = {"penalty": Repulsion(6, queries=queries)} if method is MFA else {}
    options = {name: draw(st.sampled_from(values)) for name, values in CHOICES.items()}
    return literal(method, draw(st.integers(1, 3)), graph=graph, **penalty, **options)


CHOICES = {"normalize": [None, "degree", "trace"], "ridge": [0.0, 0.5], "standardize": [False, True]}


def made(drawn):
    seed, n, d, offset = drawn
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n, d)) * rng.uniform(0.5, 2, d) + 100.0 * offset, rng.randint(0, 3, n)


def check(model, X, y, fitted):
    """A model of the same rows kept elsewhere spans what one of rows in memory does, to what rounding leaves."""
    expected = quietly(lambda: clone(model).fit(X, y))
    if isinstance(fitted, str) and "working_memory" in fitted:
        return
    if isinstance(expected, str) or isinstance(fitted, str):
        assert isinstance(fitted, str) == isinstance(expected, str), (expected, fitted)
        return
    P = quietly(lambda: pencil(model, X, y))
    assert fitted.rank_ == expected.rank_
    if P is None or isinstance(P, str):
        return
    k = len(expected.eigenvalues_)
    np.testing.assert_allclose(fitted.eigenvalues_, expected.eigenvalues_, rtol=1e-8, atol=1e5 * P.noise)
    certain = 1e5 * P.certainty(k)
    if certain < 1e-2:
        assert P.angle(expected.transform(X), fitted.transform(X)) < max(certain, 1e-7)


@contextmanager
def in_blocks(X):
    """So little memory that X is read in blocks, of a few rows."""
    with config_context(working_memory=0.9 * X.nbytes / 2**20), pytest.MonkeyPatch.context() as patch:
        small_blocks(patch)
        yield


@tried(models(), data)
def test_files(model, drawn):
    X, y = made(drawn)
    with TemporaryDirectory() as folder:
        X.tofile(f"{folder}/X")
        mapped = np.memmap(f"{folder}/X", X.dtype, "r", shape=X.shape)
        with in_blocks(X):
            fitted = quietly(lambda: clone(model).fit(mapped, y))
        check(model, X, y, fitted)


@tried(models(), data, st.integers(7, 80), examples=10)
def test_dask(model, drawn, chunk):
    arrays = pytest.importorskip("dask.array")
    X, y = made(drawn)
    with in_blocks(X):
        fitted = quietly(lambda: clone(model).fit(arrays.from_array(X, chunks=(chunk, X.shape[1])), y))
    check(model, X, y, fitted)


@tried(models(), data)
def test_tensors(model, drawn):
    torch = pytest.importorskip("torch")
    X, y = made(drawn)
    fitted = quietly(lambda: lapwing.to_numpy(clone(model).fit(torch.from_numpy(X), torch.from_numpy(y))))
    check(model, X, y, fitted)


@tried(estimators(), rows(25), examples=30)
def test_model_files(estimator, data):
    """A model that was written and read gives the same bits."""
    X, y = data.made()
    fitted = quietly(lambda: estimator.fit(X, y))
    if isinstance(fitted, str):
        return
    with TemporaryDirectory() as folder:
        lapwing.save(fitted, f"{folder}/model")
        read = lapwing.load(f"{folder}/model")
    np.testing.assert_array_equal(*(quietly(lambda m=m: m.transform(X)) for m in (fitted, read)))
    assert repr(read) == repr(fitted)


@tried(st.sampled_from([LaplacianScore(), FisherScore(), LaplacianScore(graph=SameClass())]), data)
def test_scores(model, drawn):
    """Of features, in memory and in blocks of a file; and whatever the order of rows."""
    X, y = made(drawn)
    if isinstance(model, LaplacianScore) and model.graph is None:
        model = clone(model).set_params(graph=KNN(4, queries=14))
    expected = clone(model).fit(X, y).scores_
    with TemporaryDirectory() as folder, in_blocks(X):
        X.tofile(f"{folder}/X")
        found = clone(model).fit(np.memmap(f"{folder}/X", X.dtype, "r", shape=X.shape), y).scores_
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    if model.get_params().get("graph__queries") is None:
        order = np.random.RandomState(drawn[0]).permutation(len(X))
        np.testing.assert_allclose(clone(model).fit(X[order], y[order]).scores_, expected, rtol=1e-9)
