"""Lanczos on data that it likes least: few rows, of zeros and ones, many of them equal."""

import numpy as np
import oracles as o
import pytest
from limits import large_from
from scipy import sparse
from sklearn.base import clone

from lapwing import LPI, LPP, MMC, NPE, OLPP
from lapwing.graphs import KNN, SameClass

METHODS = [
    LPP(1),
    LPP(2, pca=3),
    LPP(2, pca=0.9),
    LPP(2, ridge=1.0),
    LPP(1, graph=KNN(3) + SameClass()),
    OLPP(1),
    OLPP(2, pca=4),
    NPE(2, pca=4),
    MMC(2),
    LPI(2),
]


def binary(seed):
    rng = np.random.RandomState(seed)
    n, d, different = rng.randint(12, 50), rng.randint(12, 50), rng.choice([1, 2, 3, 10, 400])
    X = (rng.rand(n, d) < rng.choice([0.01, 0.1, 0.5])).astype(float)
    return sparse.csr_array(X[rng.randint(0, different, n) % n])


@pytest.mark.filterwarnings("ignore:documents without a term", "ignore:the columns of X")
@pytest.mark.parametrize("estimator", METHODS, ids=repr)
def test_each_fit_gives_the_same_bits_or_says_why_not(estimator, monkeypatch):
    large_from(monkeypatch, 10)  # all that is larger is found by Lanczos
    for seed in range(6):
        X = binary(seed)
        y = np.arange(X.shape[0]) % 3
        one, two = (o.outcome(lambda X=X, y=y: clone(estimator).fit(X, y).components_) for _ in range(2))
        assert one != "" if isinstance(one, str) else np.isfinite(one).all()
        np.testing.assert_array_equal(one, two)
