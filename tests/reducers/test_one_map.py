"""One matrix gives one map, however it is stored: dense, sparse, as a tensor, in blocks or in batches."""

import warnings

import dask.array as da
import numpy as np
import pytest
from limits import other_way_from, words_below
from oracles import texts
from scipy import sparse
from sklearn.base import clone

import lapwing
from lapwing import UnitsWarning
from lapwing.graphs import KNN, Repulsion

SUPERVISED = {
    "LPP": lapwing.LPP("auto", graph="supervised"),
    "LPP, semi": lapwing.LPP(3, graph="semi"),
    "LPP, scatter": lapwing.LPP("auto", graph="supervised", constraint="orthogonal"),
    "OLPP": lapwing.OLPP(3, graph="supervised"),
    "MMC": lapwing.MMC(3),
    "LPDP": lapwing.LPDP(3),
    "MFA": lapwing.MFA(3),
    "DNE": lapwing.DNE(3),
    "LFDA": lapwing.LFDA(3),
    "LSDA": lapwing.LSDA(3),
    "LPI": lapwing.LPI(3, graph="supervised"),
    "SpectralRegression": lapwing.SpectralRegression(3, graph="supervised"),
    "KernelLPP": lapwing.KernelLPP("auto", graph="supervised"),
    "KernelLDA": lapwing.KernelLDA("auto"),
    "KernelLFDA": lapwing.KernelLFDA(3),
}


def words(n=240, d=60, units=1.0):
    """Counts of words over lengths, of which classes differ, and a column without zeros in another unit."""
    rng = np.random.RandomState(0)
    y = np.arange(n) % 4
    often = rng.gamma(0.3, size=(4, d)) + 0.05
    X = np.array([rng.poisson(12 * often[c] / often[c].sum()) for c in y], dtype=float)
    X[np.arange(n), rng.randint(d, size=n)] += 1
    X /= np.linalg.norm(X, axis=1)[:, None]
    X[:, 0] = units * (2 + rng.rand(n))
    return X, y


def table(n=200):
    """Measurements in unlike units, one of them a flag that is mostly 0."""
    rng = np.random.RandomState(1)
    y = np.arange(n) % 4
    X = (rng.standard_normal((n, 9)) + rng.standard_normal((4, 9))[y]) * np.array([1, 2, 1, 30, 1, 1, 4, 1, 1])
    return np.column_stack([X, rng.rand(n) < 0.1]).astype(float), y


DATA = {"words": words(), "words beside a large column": words(units=50.0), "table": table()}


def projected(model, X, y, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnitsWarning)
        model = clone(model).fit(X, y)
    Z = np.asarray(model.transform(rows))
    return Z, model.scale_


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", SUPERVISED)
def test_sparse_rows_give_the_map_of_dense_ones(name, data):
    X, y = DATA[data]
    X = np.abs(X) if name == "LPI" else X  # it takes weights of terms
    dense, scale = projected(SUPERVISED[name], X, y, X)
    found, of_sparse = projected(SUPERVISED[name], sparse.csr_array(X), y, X)
    assert (scale is None) == (of_sparse is None)
    np.testing.assert_allclose(found, dense, atol=1e-10 * np.abs(dense).max())


@pytest.mark.parametrize("data", DATA)
def test_batches_give_the_map_of_dense_rows(data):
    X, y = DATA[data]
    dense, scale = projected(SUPERVISED["LPP"], X, y, X)
    for form in (np.asarray, sparse.csr_array):
        model = lapwing.LPP("auto", graph="supervised")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnitsWarning)
            for some in np.array_split(np.arange(len(y)), 3):
                model.partial_fit(form(X[some]), y[some])
        assert (scale is None) == (model.scale_ is None)
        np.testing.assert_allclose(model.transform(X), dense, atol=1e-10 * np.abs(dense).max())


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["LPP", "LPP, semi", "MMC"])
def test_tensors_give_the_map_of_dense_rows(name, data):
    torch = pytest.importorskip("torch")
    X, y = DATA[data]
    dense, _ = projected(SUPERVISED[name], X, y, X)
    found, _ = projected(SUPERVISED[name], torch.from_numpy(X), y, torch.from_numpy(X))
    np.testing.assert_allclose(found, dense, atol=1e-10 * np.abs(dense).max())


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", ["LPP", "LPP, semi", "MMC"])
def test_blocks_give_the_map_of_dense_rows(name, data):
    X, y = DATA[data]
    dense, _ = projected(SUPERVISED[name], X, y, X)
    found, _ = projected(SUPERVISED[name], da.from_array(X, chunks=(50, X.shape[1])), y, X)
    np.testing.assert_allclose(found, dense, atol=1e-10 * np.abs(dense).max())


def test_what_divides():
    """A graph of classes divides what is mostly filled, and leaves words alone unless a filled column is large beside them."""
    divided = [projected(SUPERVISED["LPP"], X, y, X)[1] is not None for X, y in DATA.values()]
    assert divided == [False, True, True]
    rng = np.random.RandomState(0)
    rare = (rng.rand(4000, 60) < 0.004).astype(float)  # rare words vary little, and are as large as frequent ones
    rare[:, 0] = 1 + rng.rand(4000)
    assert rare[:, 0].std() > 4 * np.median(rare.std(axis=0))
    rare[:, 0] *= 3
    assert rare[:, 0].std() > 10 * np.median(rare.std(axis=0))
    assert projected(lapwing.LPP(2, graph="supervised"), rare, np.arange(4000) % 4, rare)[1] is None


def test_few_directions_of_texts_are_no_dense_problem():
    X, y = texts()
    model = lapwing.LPP("auto", graph="supervised").fit(X, y)
    assert (model.solver_, lapwing.LPP("auto", graph="supervised").fit(X.toarray(), y).solver_) == ("lanczos", "dense")
    assert model.certificate_.holds
    for form in (X.toarray(), da.from_array(X.toarray(), chunks=(400, 820))):
        found = lapwing.LPP("auto", graph="supervised").fit(form, y)
        assert found.settings_ == model.settings_
        Z, expected = np.asarray(found.transform(X.toarray())), model.transform(X)
        np.testing.assert_allclose(Z, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("copied", [False, True])
def test_few_directions_of_long_texts_are_no_dense_problem_where_that_costs_more(copied):
    """More than one entry in 20 is not 0. The ridge has the unit of that of dense rows, also where columns depend on others."""
    X, y = texts(700, 640, words=90)
    X = sparse.csr_array(sparse.hstack([X, X[:, 300:340]])) if copied else X
    assert 0.05 < X.nnz / np.prod(X.shape) < 0.15
    found, dense = (lapwing.LPP("auto", graph="supervised").fit(rows, y) for rows in (X, X.toarray()))
    assert (found.solver_, dense.solver_) == ("lanczos", "dense")
    assert found.settings_ == dense.settings_
    expected = dense.transform(X)
    np.testing.assert_allclose(found.transform(X), expected, atol=1e-10 * np.abs(expected).max())
    filled = X + sparse.csr_array(0.1 * (np.random.RandomState(0).rand(*X.shape) < 0.4))
    assert lapwing.LPP("auto", graph="supervised").fit(filled, y).solver_ == "dense"
    many_rows_of_few_words = texts(2900, 510, words=22)
    assert lapwing.LPP("auto", graph="supervised").fit(*many_rows_of_few_words).solver_ == "dense"


@pytest.mark.parametrize(
    "model",
    [
        lapwing.LSDA(4, graph=2, center="mean"),
        lapwing.LPP(4, ridge=1.0, graph=KNN(2, symmetry="and") - 0.1 * Repulsion(9)),
        lapwing.MMC(3),
        lapwing.LPCA(3),
        lapwing.LPDP(4),
    ],
    ids=repr,
)
def test_other_methods_of_sparse_texts_find_what_dense_ones_do(model, monkeypatch):
    """Also where rows have no degree, so that the constraint does not see them, and repel."""
    other_way_from(monkeypatch, "auto.NEIGHBOR_SIDE", 500)
    X, y = texts(560, 720)
    sparsely, densely = (clone(model).fit(rows, y).transform(X) for rows in (X, X.toarray()))
    np.testing.assert_allclose(sparsely, densely, atol=1e-9 * np.abs(densely).max())


def test_all_directions_of_texts_are_a_dense_problem(monkeypatch):
    other_way_from(monkeypatch, "auto.PRODUCT_SIDE", 200)
    words_below(monkeypatch, 0.5)
    X, y = texts(240, 220)
    assert lapwing.LPP(4, graph="supervised", ridge=0.5).fit(X, y).solver_ == "lanczos"
    with pytest.warns(UserWarning, match="tell 5 classes apart"):
        assert lapwing.LPP(5, graph="supervised", ridge=0.5).fit(X, y).solver_ == "dense"


@pytest.mark.parametrize("cut", [False, True])
def test_spread_of_texts(cut):
    """The ridge is that of the matrix, where a bound says that it is 1 and where it is found."""
    X, y = texts()
    X = X.tolil()
    if cut:  # one direction holds nearly all variance
        X[:, 3] = 5.0 * (np.arange(len(y)) % 2)[:, None]
    X = sparse.csr_array(X)
    options = {"graph": "supervised", "standardize": False}
    sparsely, densely = (lapwing.LPP("auto", **options).fit(rows, y) for rows in (X, X.toarray()))
    assert sparsely.solver_ == "lanczos"
    np.testing.assert_allclose(sparsely.settings_["ridge"], densely.settings_["ridge"], rtol=1e-10)
    assert (sparsely.settings_["ridge"] < 1) == cut
