"""The error of sampling: beside the true one, on every kind of model, and where there is none."""

import numpy as np
import pytest
import sklearn
from helpers import each, form
from limits import large_from, little_memory, sampled_from
from scipy import sparse
from scipy.linalg import eigvalsh
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lapwing
from lapwing import LPCA, LPI, LPP, MFA, MMC, NPE, OLPP, ONPP, TSA, KernelLPP, LaplacianScore
from lapwing.blocks import is_on_disk
from lapwing.graphs import KNN, CodingLength, On, Reconstruction, Repulsion, SameClass
from lapwing.inspection import sampling_error

NEAR = KNN(5, queries=80)


def blobs(n=1200, d=8):
    rng = np.random.RandomState(0)
    y = rng.randint(0, 4, n)
    return rng.randn(n, d) * np.linspace(2, 0.5, d) + 4 * np.eye(4, d)[y], y


X, Y = blobs(300)


def whole_problem(X):
    """A and B of the graph of all rows that a sampled one estimates."""
    (term,) = KNN(5, symmetry="mean").build(X)
    degrees = term.degrees.diagonal()
    F = X - degrees @ X / degrees.sum()
    return form(term.laplacian, F), form(term.degrees, F)


@pytest.mark.parametrize("scaling", ["constraint", "unit"])
def test_the_excess_is_about_the_true_one_and_falls(scaling):
    """Means over 16 samples. The best objective is the sum of the smallest eigenvalues."""
    X, _ = blobs()
    A, B = whole_problem(X)
    best = eigvalsh(A, B)[:3].sum()
    found = {}
    for queries in (60, 240):
        graphs = [KNN(5, queries=queries, random_state=3 * seed) for seed in range(16)]
        models = [LPP(3, graph=graph, pca=None, scaling=scaling).fit(X) for graph in graphs]
        V = [model.components_.T for model in models]
        true = np.mean([np.trace(np.linalg.solve(v.T @ B @ v, v.T @ A @ v)) / best - 1 for v in V])
        found[queries] = np.mean([sampling_error(model, X)["excess"] for model in models])
        assert true / 2 < found[queries] < 2 * true
    assert 2 < found[60] / found[240] < 8  # four times the queries, a quarter


def test_directions_that_stand_out_and_directions_that_do_not():
    """Two classes far apart leave one direction that every sample finds. In noise each sample finds another one."""
    rng = np.random.RandomState(0)
    noise = rng.randn(1000, 10)
    apart = noise + 30 * np.outer(rng.randint(2, size=1000), np.eye(10)[0])
    options = {"graph": KNN(5, queries=300), "pca": None, "standardize": False}
    certain, uncertain = (sampling_error(LPP(1, **options).fit(rows), rows) for rows in (apart, noise))
    assert certain["angle"] < 5
    assert uncertain["angle"] > 30


def test_the_numbers_are_those_of_two_fits():
    """Recomputed from the matrices of the two problems."""
    model = LPP(2, graph=KNN(5, queries=80, random_state=4), pca=None).fit(X)
    objectives, Z = np.empty((2, 2)), []
    fits = [LPP(2, graph=KNN(5, queries=80, random_state=seed), pca=None).fit(X) for seed in (5, 6)]
    for i, other in enumerate(fits):
        problem = other.problem(X)
        D, L = problem.subject_to.toarray(), problem.minimise[0].laplacian.toarray()
        F = X - np.diagonal(D) @ X / np.trace(D)
        for j, fit in enumerate(fits):
            V = fit.components_.T
            objectives[i, j] = np.trace(np.linalg.solve(V.T @ F.T @ D @ F @ V, V.T @ F.T @ L @ F @ V))
        Z.append(np.linalg.qr((X - X.mean(axis=0)) @ other.components_.T)[0])
    np.testing.assert_allclose(np.diagonal(objectives), [fit.eigenvalues_.sum() for fit in fits])
    on_own, on_other = np.trace(objectives) / 2, (objectives[0, 1] + objectives[1, 0]) / 2
    found = sampling_error(model, X)
    assert found["queries"] == 80
    assert found["excess"] == pytest.approx((on_other - on_own) / 2 / ((on_other + on_own) / 2))
    assert found["angle"] == pytest.approx(np.degrees(np.arccos(np.linalg.svd(Z[0].T @ Z[1])[1].min())))


MODELS = {
    "OLPP": OLPP(2, graph=NEAR),
    "NPE": NPE(2, graph=Reconstruction(5, queries=80)),
    "ONPP": ONPP(2, graph=Reconstruction(5, queries=80)),
    "LPCA": LPCA(2, graph=CodingLength(5, queries=80)),
    "MFA": MFA(2, graph=KNN(5, among="same_class", weights="binary", queries=80), penalty=Repulsion(15, queries=200)),
    "penalty alone": LPP(2, graph=SameClass(), penalty=Repulsion(15, queries=80)),
    "trace ratio": LPP(2, graph=NEAR, penalty=Repulsion(15, queries=200), constraint="trace-ratio"),
    "several": LPP(2, graph=KNN(5, queries=100) + SameClass() - 0.1 * Repulsion(9, queries=80)),
    "some columns": LPP(2, graph=On([0, 1, 2], NEAR)),
    "not centred": LPP(2, graph=NEAR, center=False),
    "plain mean": LPP(2, graph=NEAR, center="mean"),
    "units": LPP(2, graph=NEAR, standardize=True),
    "kernel": KernelLPP(2, graph=NEAR),
    "landmarks": KernelLPP(2, graph=NEAR, landmarks=30),
    "pipeline": make_pipeline(StandardScaler(), LPP(2, graph=NEAR)),
    "frames": LPP(2, graph=NEAR).set_output(transform="pandas"),
}


@each("model", MODELS.values())
def test_every_method(model):
    found = sampling_error(clone(model).fit(X, Y), X, Y)
    assert found["queries"] == 80
    assert 0 < found["excess"] < 0.3
    assert 0 < found["angle"] <= 90


def test_the_model_stays_as_it_is():
    model = LPP(2, graph=NEAR).fit(X)
    before, parameters = {name: np.copy(value) for name, value in vars(model).items()}, repr(model)
    first = sampling_error(model, X)
    assert first == sampling_error(model, X)
    assert repr(model) == parameters
    assert (model.graph.random_state, model.graph_.random_state) == (0, 0)
    np.testing.assert_equal({name: np.copy(value) for name, value in vars(model).items()}, before)


def test_default_graphs_of_many_rows(monkeypatch):
    sampled_from(monkeypatch, 250, 80)
    expected = sampling_error(LPP(2, graph=NEAR).fit(X), X)
    assert sampling_error(LPP(2).fit(X), X) == expected
    assert sampling_error(LPP(2, graph="semi").fit(X, Y), X, Y)["queries"] == 80


@pytest.mark.parametrize("limit", [None, 100], ids=["in memory", "those with links"])
def test_documents(limit, monkeypatch):
    """With a small ridge the directions follow the sample; one document is empty, and nothing is linked to it."""
    rng = np.random.RandomState(0)
    counts = rng.poisson(0.05 + rng.rand(4, 150)[rng.randint(4, size=700)] / 2)
    counts[5] = 0
    documents, graph = sparse.csr_array(counts), KNN(8, metric="cosine", weights="dot", queries=300)
    if limit is not None:
        large_from(monkeypatch, limit)
    with pytest.warns(UserWarning, match="without a term: 1"):
        much, little = (sampling_error(LPI(3, graph=graph, ridge=r).fit(documents), documents) for r in (30.0, 1e-3))
    assert 0 < 2 * much["excess"] < little["excess"]


def test_tensors():
    torch = pytest.importorskip("torch")
    expected, tensor = sampling_error(LPP(2, graph=NEAR).fit(X), X), torch.from_numpy(X)
    assert sampling_error(LPP(2, graph=NEAR).fit(tensor), tensor) == pytest.approx(expected)


def test_rows_on_disk(tmp_path, monkeypatch):
    """A memory map is read whole; rows that only come in blocks are refused."""
    np.save(tmp_path / "rows.npy", X)
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    little_memory(monkeypatch, 1000)
    assert is_on_disk(rows)
    model = LPP(2, graph=NEAR).fit(rows)
    assert sampling_error(model, rows) == pytest.approx(sampling_error(LPP(2, graph=NEAR).fit(X), X))
    array = pytest.importorskip("dask.array").from_array(X)
    with (
        sklearn.config_context(working_memory=0.001),
        pytest.raises(TypeError, match=r"sampling_error needs all rows in memory.*or a part of the rows"),
    ):
        sampling_error(model, array)


def test_directions_that_the_other_sample_does_not_see():
    """Few rows have anything in most columns, and six queries see few rows."""
    rng = np.random.RandomState(1)
    rows = (rng.rand(300, 25) < 0.03) + (np.arange(25) < 2) * rng.rand(300, 25)
    model = LPP(3, graph=KNN(2, weights="binary", queries=6), pca=None).fit(rows)
    assert sampling_error(model, rows)["excess"] == np.inf


@pytest.mark.parametrize(
    "model",
    [LPP(2), LPP(2, graph=KNN(5, queries=300)), MMC(2), LaplacianScore(2, graph=NEAR), PCA(2)],
    ids=["all rows", "as many queries", "MMC", "LaplacianScore", "PCA"],
)
def test_graphs_that_are_not_sampled(model):
    with pytest.raises(ValueError, match=r"such as KNN\(5, queries=2_000\), and .* of 300 rows is none"):
        sampling_error(model.fit(X, Y), X, Y)


def test_what_it_does_not_go_with():
    images = X.reshape(300, 2, 4)
    with pytest.raises(ValueError, match=r"linear or kernel map.* and TSA\("):
        sampling_error(TSA((1, 2), graph=NEAR).fit(images), images)
    with pytest.raises(ValueError, match=r'does not go with normalize="trace".*use "degree"'):
        sampling_error(OLPP(2, graph=NEAR - 0.1 * Repulsion(9), normalize="trace").fit(X, Y), X, Y)
    with pytest.raises(NotFittedError):
        sampling_error(LPP(2, graph=NEAR), X)
    assert lapwing.sampling_error is sampling_error
