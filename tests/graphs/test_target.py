"""Neighbours in y: numbers, grades, several targets, sets of labels."""

import numpy as np
import oracles as o
import pandas as pd
import pytest
from helpers import check_term, each, literal
from limits import listed_up_to
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from lapwing import LPP, TSA, KernelLPP, LaplacianEigenmaps, LaplacianScore, load, save
from lapwing.graphs import KNN, SameClass, Target

rng = np.random.RandomState(0)
N = 36
X = rng.rand(N, 5)
NUMBERS = rng.rand(N)
GRADES = rng.randint(1, 6, N).astype(float)
SEVERAL = rng.rand(N, 2)
SETS = (rng.rand(N, 4) < 0.4).astype(int)
SETS[3] = 0  # no labels
SETS[4], SETS[5] = [1, 1, 0, 0], [1, 1, 0, 0]


def some_unknown(y):
    y = np.array(y, dtype=float)
    y[::5] = np.nan
    return y


def cosine(a, b):
    return np.sum(a * b) / np.sqrt(np.sum(a) * np.sum(b))


def weights_of(y, k, kind="heat", t=None):
    """By double loops over rows; the nearest are values, and of equally near ones the smaller (first) one."""
    y = np.asarray(y, dtype=float).reshape(len(X), -1)
    is_sets = y.shape[1] > 1 and np.isin(y, (0, 1)).all()
    known = [not np.isnan(row).any() and not (is_sets and not row.any()) for row in y]
    values = sorted({tuple(row) for row, use in zip(y, known, strict=True) if use})

    def apart(a, b):
        return 1 - cosine(np.array(a), np.array(b)) if is_sets else np.sqrt(np.sum((np.array(a) - np.array(b)) ** 2))

    near = {a: sorted((b for b in values if b != a), key=lambda b: round(apart(a, b), 12))[:k] for a in values}
    t = t or np.mean([apart(a, b) ** 2 for a in values for b in near[a]])

    def weight(i, j):
        a, b = tuple(y[i]), tuple(y[j])
        if i == j or not (known[i] and known[j]):
            return 0.0
        if a != b and b not in near[a] and a not in near[b]:
            return 0.0
        if is_sets:
            return cosine(y[i], y[j])
        return np.exp(-(apart(a, b) ** 2) / t) if kind == "heat" else 1.0

    return o.by_pairs(len(X), weight)


TARGETS = {"numbers": NUMBERS, "grades": GRADES, "several": SEVERAL, "sets": SETS}


@each("unknown", [False, True])
@each("k", [1, 3, 100])
@each("kind", TARGETS)
def test_definition(kind, k, unknown):
    y = TARGETS[kind]
    if unknown:
        y = np.where(np.arange(N)[:, None] % 5, y, 0) if kind == "sets" else some_unknown(y)
    check_term(Target(k).build(X, y)[0], weights_of(y, k))


@pytest.mark.parametrize("kind", TARGETS)
def test_factors_are_the_listed_links(kind, monkeypatch):
    """Many rows of equal target: the same matrix, and the same components, without listing the links."""
    y = TARGETS[kind]
    (listed,) = Target(2).build(X, y)
    listed_up_to(monkeypatch, 0)
    (factored,) = Target(2).build(X, y)
    assert factored.laplacian.sparse is None
    check_term(factored, (listed.laplacian.toarray(), listed.degrees.toarray()))
    assert factored.laplacian.n_connected_components() == listed.laplacian.n_connected_components()
    both = [(KNN(9) & Target(2)).build(X, y)[0]]
    monkeypatch.undo()
    check_term(both[0], tuple(M.toarray() for M in (KNN(9) & Target(2)).build(X, y)[0][1:]))


def test_many_rows_of_few_grades():
    """100,000 rows would have two billion links."""
    y = np.random.RandomState(1).randint(1, 6, 100_000)
    (term,) = Target(1).build(np.zeros((y.size, 1)), y)
    assert term.laplacian.sparse is None
    counts = np.bincount(y)[1:]
    near = np.exp(-1.0)  # of the next grade
    degrees = {3: counts[2] - 1 + near * (counts[1] + counts[3]), 1: counts[0] - 1 + near * counts[1]}
    for grade, degree in degrees.items():
        np.testing.assert_allclose(term.degrees.diagonal()[y == grade], degree)


@pytest.mark.parametrize(
    ("options", "oracle"),
    [
        ({"weights": "binary"}, {"kind": "binary"}),
        ({"t": 0.3}, {"t": 0.3}),
    ],
)
def test_options(options, oracle):
    check_term(Target(3, **options).build(X, GRADES)[0], weights_of(GRADES, 3, **oracle))


def test_kinds_of_targets():
    plain = Target(2).build(X, GRADES)[0]
    for y in (
        GRADES.tolist(),
        GRADES[:, None],
        pd.Series(GRADES),
        pd.DataFrame({"y": GRADES}),
    ):
        check_term(Target(2).build(X, y)[0], (plain.laplacian.toarray(), plain.degrees.toarray()))
    sets = Target(2).build(X, SETS)[0]
    for y in (SETS.astype(bool), sparse.csr_array(SETS), pd.DataFrame(SETS)):
        check_term(Target(2).build(X, y)[0], (sets.laplacian.toarray(), sets.degrees.toarray()))


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (None, "Target requires y to be passed, but the target y is None"),
        (
            ["a", "b"] * (N // 2),
            "Target reads y as numbers, and it holds something else .*; encode grades in their order",
        ),
        (pd.Categorical(["bad", "good"] * (N // 2), ordered=True), "Target reads y as numbers"),
        (NUMBERS[1:], rf"y has shape \({N - 1},\), but X has {N} samples"),
        (np.where(NUMBERS > 0.5, np.inf, NUMBERS), "y contains infinity; mark unknown targets by NaN"),
        (np.full(N, np.nan), "y has no known target"),
        (np.ones(N), "y has one target only"),
        (np.zeros((N, 3)), "y has no known target"),
    ],
)
def test_what_is_said_of_targets(y, said):
    with pytest.raises(ValueError, match=said):
        Target(3).build(X, y)


def test_class_graphs_still_refuse_numbers():
    with pytest.raises(ValueError, match=r"y is continuous .*graph=Target\(5\)"):
        LPP(1, graph=SameClass()).fit(X, NUMBERS)


@pytest.mark.parametrize(
    "estimator",
    [
        LPP(2, graph=Target(4)),
        KernelLPP(2, graph=Target(4) + KNN(4)),
        LaplacianEigenmaps(2, graph=Target(4)),
        LaplacianScore(2, graph=Target(4)),
        TSA(1, graph=Target(4), image_shape=(5, 1)),
    ],
)
@pytest.mark.filterwarnings("ignore:samples without links")
@pytest.mark.parametrize("kind", TARGETS)
def test_maps_fit_and_are_saved(estimator, kind, tmp_path):
    model = clone(estimator).fit(X, TARGETS[kind])
    save(model, tmp_path / "model.lapwing")
    np.testing.assert_array_equal(load(tmp_path / "model.lapwing").transform(X), model.transform(X))
    with pytest.raises(ValueError, match="y is None"):
        clone(estimator).fit(X)


def test_the_direction_of_a_linear_target():
    """Under degrees of the target's own graph, the direction along which a noiseless target grows comes first."""
    w = np.array([1.0, -2.0, 0.5, 0, 0])
    model = literal(LPP, 1, graph=Target(5)).fit(X, X @ w)
    assert o.angle(model.components_, w[None]) < 0.1


def test_cross_validation_of_a_regression():
    X, y = load_diabetes(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(LPP(1, graph=Target(15)), KNeighborsRegressor(15)), {"lpp__graph__n_neighbors": [5, 50]}, cv=3
    )
    supervised = search.fit(X, y).best_score_
    assert supervised > cross_val_score(make_pipeline(LPP(1), KNeighborsRegressor(15)), X, y, cv=3).mean() + 0.1
    assert supervised > cross_val_score(LinearRegression(), X, y, cv=3).mean() - 0.1
