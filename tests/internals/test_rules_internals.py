"""What the defaults stand for where labels, sums of graphs and many rows meet: ridge, normalize, n_components, graph."""

import numpy as np
import pytest
from limits import large_from
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits

from lapwing import (
    DNE,
    LPDP,
    LPP,
    MFA,
    MMC,
    NPE,
    KernelLPP,
)
from lapwing.graphs import KNN, OtherClass, Pairs, Repulsion, SameClass
from lapwing.reducers._rules import spread
from lapwing.rows import Rows

DIGITS, Y = load_digits(return_X_y=True)
X, y = DIGITS[:300], Y[:300]


# --- ridge


def spread_of(rows, divided=False):
    """Over how many directions the variance is spread, beside 50."""
    scale = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0) if divided else 1.0
    values = np.linalg.svd((rows - rows.mean(axis=0)) / scale, compute_uv=False) ** 2
    return min(1.0, values.sum() ** 2 / (values**2).sum() / 50)


def test_what_the_spread_is():
    rng = np.random.RandomState(0)
    for n_directions, expected in ((5, 0.1), (25, 0.5), (80, 1.0)):
        rows = np.linalg.qr(rng.standard_normal((400, n_directions)))[0] @ rng.standard_normal((n_directions, 100))
        rows = np.linalg.qr(rows - rows.mean(axis=0))[0][:, :n_directions] @ np.eye(n_directions, 100)
        assert spread(rows.T @ rows) == pytest.approx(expected)
        assert spread_of(rows) == pytest.approx(expected)
    assert spread(np.zeros((3, 3))) == 1.0


@pytest.mark.parametrize(
    ("estimator", "ridge"),
    [
        (LPP(5, graph="supervised"), None),
        (LPP(5, graph="semi"), 0.3),
        (KernelLPP(5, graph="supervised"), 0.03),
        (KernelLPP(5, graph="supervised", landmarks=60, random_state=0), 0.03),
        (LPP(5), 0),
        (NPE(5), 0),
        (LPDP(5), 0),
        (MFA(5), 0),
        (KernelLPP(5), 0),
        (LPP(5, graph=SameClass() - 0.2 * Repulsion(15)), 0),
        (LPP(5, graph=SameClass(), penalty=OtherClass()), 0),
        (LPP(5, graph=SameClass(), pca=0.9), 0),
        (LPP(5, graph=SameClass(), pca=None), 0),
    ],
    ids=str,
)
def test_what_auto_means(estimator, ridge):
    model = clone(estimator).fit(X, y)
    ridge = spread_of(X, divided=True) if ridge is None else ridge
    given = clone(estimator).set_params(ridge=ridge).fit(X, y)
    np.testing.assert_allclose(model.transform(X), given.transform(X), atol=1e-9)
    if ridge:
        assert model.n_pca_ in (None, model.rank_)
        off = clone(estimator).set_params(ridge=0.0).fit(X, y)
        assert off.n_pca_ < model.rank_  # without a ridge pca="auto" truncates


def test_gamma():
    plain = 1 / (64 * X.var())
    assert KernelLPP(3).fit(X).gamma_ == pytest.approx(plain / 2)
    assert KernelLPP(3, graph="supervised").fit(X, y).gamma_ == pytest.approx(plain * spread_of(X))
    assert KernelLPP(3, graph="supervised").fit(X[:40], y[:40]).gamma_ == pytest.approx(
        spread_of(X[:40]) / (64 * X[:40].var())  # more columns than rows
    )
    few = X[:, 20:24]
    assert KernelLPP(3, graph="supervised").fit(few, y).gamma_ == pytest.approx(1 / (4 * few.var()) / 2)  # 1 / √4
    with_constants = np.column_stack([few, np.full((len(few), 5), 3.0)])
    model = KernelLPP(3, graph="supervised").fit(with_constants, y)
    assert model.gamma_ == pytest.approx(1 / (9 * with_constants.var()) / 2)
    assert KernelLPP(3, graph="supervised", gamma="scale").fit(X, y).gamma_ == pytest.approx(plain)
    assert KernelLPP(3, gamma=0.01).fit(X).gamma_ == 0.01


@pytest.mark.parametrize(
    "estimator",
    [
        LPP(3, graph=KNN(5)),
        LPP(3, graph=KNN(5) - 0.1 * Repulsion(5)),
        LPP(3, graph=KNN(5) + Pairs(must_link=[[0, 1]], cannot_link=[[2, 3]])),
        LPP(3, graph=KNN(5) + SameClass(), normalize=None),
        MMC(3),
        LPDP(3),
        DNE(3),
        MFA(3),
    ],
    ids=str,
)
def test_the_rest_keeps_its_coefficients(estimator):
    graphs = estimator._graphs(300)
    raw, terms = graphs.graph.terms(Rows(X, y)), estimator.problem(X, y).minimise
    for one, other in zip(raw, terms, strict=False):
        assert one.coefficient == other.coefficient


def test_as_many_components_as_classes_of_large_sparse_rows(monkeypatch):
    """A method without a ridge keeps a number of directions, which goes by the number of components."""
    large_from(monkeypatch, 20)
    monkeypatch.setattr("lapwing.reducers._rules.LARGE_DIRECTIONS", 10)
    fitted = MMC("auto").fit(sparse.csr_array(X), y)
    assert (len(fitted.components_), fitted.n_pca_) == (9, 18)
