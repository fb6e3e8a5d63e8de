"""Is a fit smooth where the library goes another way? Held-out scores on both sides of every size in the code."""

import numpy as np
import pytest
from limits import SIZES, dense_forms, directions_by_lanczos, other_way_from, products_from, sampled_from
from oracles import texts
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from lapwing import (
    DNE,
    LFDA,
    LPCA,
    LPDP,
    LPI,
    LPP,
    LSDA,
    MFA,
    MMC,
    NPE,
    OLPP,
    ONPP,
    RCA,
    GraphPCA,
    KernelLPP,
)
from lapwing.graphs import KNN, Repulsion

MODELS = [
    LPP(6),
    LPP("auto", graph="supervised"),
    LPP(6, graph="semi"),
    LPP(6, graph=KNN(5) - 0.2 * Repulsion(15)),
    LPP(6, penalty=15),
    NPE(6),
    LPDP(6),
    OLPP(6),
    OLPP(4, graph="supervised"),
    ONPP(6),
    MMC(4),
    MMC(8),
    MFA(4),
    DNE(4),
    LSDA(4),
    LFDA(4),
    LPI(6),
    LPCA(6),
    GraphPCA(6),
    KernelLPP("auto", graph="supervised"),
]
TRAIN, NEW = slice(0, 360), slice(360, 660)
DENSELY = {"maps.FEW_SIDE", "data.TILED_PAIRS"}  # which only dense rows meet


def score(model, X, y, train, new):
    """Accuracy of the nearest row on rows that are held out, and its standard error."""
    model = clone(model).fit(X[train], y[train])
    nearest = KNeighborsClassifier(1).fit(model.transform(X[train]), y[train])
    found = nearest.score(model.transform(X[new]), y[new])
    return found, np.sqrt(found * (1 - found) / (new.stop - new.start))


@pytest.mark.parametrize("model", [*MODELS[::3], MODELS[1], MMC(4)], ids=repr)
def test_either_way_of_a_size_scores_alike(model, monkeypatch):
    X, y = texts(660, 450)
    base, error = score(model, X, y, TRAIN, NEW)
    for size in SIZES:
        rows = X.toarray() if size in DENSELY else X
        with monkeypatch.context() as patch:
            other_way_from(patch, size, 100)
            assert abs(score(model, rows, y, TRAIN, NEW)[0] - base) <= error, size


@pytest.mark.parametrize(("n", "k", "by_steps"), [(206, 4, True), (250, 4, False), (206, 8, False)])
def test_a_known_number_of_directions_is_found_by_the_cheaper_way(n, k, by_steps, monkeypatch):
    """By steps of Lanczos where rows and columns are many, unless many more rows or directions make these dear."""
    for size, value in {"maps.LANCZOS_ROWS": 50, "maps.FEW_SIDE": 200, "maps.FEW": 5}.items():
        other_way_from(monkeypatch, size, value)
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, 205)) + 9 * rng.standard_normal((n, 20)) @ rng.standard_normal((20, 205))
    seen = directions_by_lanczos(monkeypatch)
    OLPP(k, graph="supervised").fit(X, np.arange(n) % 10)
    assert bool(seen) == by_steps


def test_few_directions_of_many_words_need_no_dense_form(monkeypatch):
    """Of rows and columns at the least, 20 times the directions; of entries, few enough for what a dense form costs."""
    y = np.arange(300) % 20
    words = sparse.random(300, 320, density=0.01, random_state=0) + sparse.csr_array(np.eye(20, 320)[y])
    more = words + sparse.random(300, 320, density=0.06, random_state=1)
    model, seen = LPP(15, graph="supervised"), dense_forms(monkeypatch)
    for side, rows, options, is_dense in (
        (500, words, {}, True),
        (300, words, {}, False),
        (300, words, {"n_components": 16}, True),
        (300, words, {"normalize": "trace"}, True),
        (300, more, {}, True),
    ):
        products_from(monkeypatch, side)
        seen.clear()
        clone(model).set_params(**options).fit(sparse.csr_array(rows), y)
        assert bool(seen) == is_dense, (side, options)


@pytest.mark.parametrize(("size", "kept"), [(64, None), (65, 55)])
def test_a_variance_takes_all_directions_as_they_are_from_a_size_on(size, kept, monkeypatch):
    """Of fewer rows or columns they are those of a PCA, which leaves out columns that do not vary; the map is the same."""
    X, _ = load_digits(return_X_y=True)
    few = GraphPCA(3).fit(X[:300])
    other_way_from(monkeypatch, "auto.PRODUCT_SIDE", size)
    model = GraphPCA(3).fit(X[:300])
    assert model.settings_["pca"] == kept
    np.testing.assert_allclose(model.components_, few.components_, atol=1e-9)


@pytest.mark.parametrize("model", [*MODELS, RCA(4)], ids=repr)
def test_large_sparse_rows_keep_the_rules_of_small_ones(model, monkeypatch):
    """Rows of which more than one entry in 20 is not 0 do not become rows of words where they are sparse and many."""
    X, y = texts(200, 230)
    assert X.nnz > 0.06 * 200 * 230
    dense = clone(model).fit(X.toarray(), y).transform(X.toarray())
    other_way_from(monkeypatch, "data.LARGE_SIDE", 150)
    np.testing.assert_allclose(clone(model).fit(X, y).transform(X), dense, rtol=0, atol=1e-10 * np.abs(dense).max())


@pytest.mark.parametrize("model", [LPP(10), LPP(10, graph="semi"), NPE(10), OLPP(10), LPDP(10)], ids=repr)
def test_a_sample_of_the_rows_scores_as_all_of_them(model, monkeypatch):
    X, y = load_digits(return_X_y=True)
    whole, error = score(model, X, y, slice(0, 1300), slice(1300, 1797))
    sampled_from(monkeypatch, 1200, 600)
    assert abs(score(model, X, y, slice(0, 1300), slice(1300, 1797))[0] - whole) <= error


@pytest.mark.parametrize("model", [LPP("auto", graph="supervised"), MMC(4)], ids=repr)
def test_scores_are_smooth_over_columns_and_rows(model):
    """At the size from which on principal directions are found in steps, and "auto" counts products."""
    X, y = texts(1100, 700)
    for along in ("rows", "columns"):
        sizes = [(500 + step, 700) if along == "rows" else (700, 500 + step) for step in (-1, 1)]
        below, above = (score(model, X[:, :d], y, slice(0, n), slice(700, 1100)) for n, d in sizes)
        assert abs(above[0] - below[0]) <= below[1], along
