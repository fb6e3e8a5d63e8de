"""Published experiments on the real data sets in LAPWING_DATA; skipped where they are absent."""

import os
import tracemalloc
from pathlib import Path

import limits
import numpy as np
import pytest
from helpers import literal
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import pairwise_distances_argmin

from lapwing import DNE, LPDP, LPP, MMC, OLPP, ONPP
from lapwing.graphs import KNN, Reconstruction, Repulsion, SameClass


def load(name):
    path = Path(os.environ.get("LAPWING_DATA", "")) / f"{name}.npz"
    if not (os.environ.get("LAPWING_DATA") and path.exists()):
        pytest.skip(f"{name}.npz is not in LAPWING_DATA")
    data = np.load(path)
    return data["X"].astype(float), data["y"]


def split(y, n_train, seed):
    """``n_train`` random samples of each class, and the rest."""
    rng = np.random.RandomState(seed)
    train = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:n_train] for c in np.unique(y)])
    return train, np.setdiff1d(np.arange(y.size), train)


def errors(estimator, X, y, train, test, dimensions):
    """1-NN errors in percent with the first components of one fit."""
    estimator.fit(X[train], y[train])
    Z, T = estimator.transform(X[train]), estimator.transform(X[test])
    return [100 * np.mean(y[train][pairwise_distances_argmin(T[:, :k], Z[:, :k])] != y[test]) for k in dimensions]


REPULSION = {  # at n - c = 160 principal directions of 28 x 23 images, 5 training images a person
    "OLPP": (literal(OLPP, 55, graph=SameClass(), pca=160), 55),
    "OLPP-R": (literal(OLPP, 55, graph=SameClass() - 0.2 * Repulsion(15), pca=160, normalize="trace"), 55),
    "ONPP": (literal(ONPP, 90, graph=Reconstruction(4, among="same_class"), pca=160), 90),
    "ONPP-R": (
        literal(
            ONPP, 90, graph=Reconstruction(4, among="same_class") - 0.2 * Repulsion(15), pca=160, normalize="trace"
        ),
        90,
    ),
    "ratio": (literal(LPP, 55, graph=SameClass(), penalty=Repulsion(15), pca=160), 55),
    "DNE": (literal(DNE, 55, graph=15, pca=160), 55),
}


@pytest.fixture(scope="module")
def orl_errors():
    """Mean error of each method over seeds 0 to 11, on the same splits."""
    X, y = load("ORL_112x92")
    X = X.reshape(400, 28, 4, 23, 4).mean(axis=(2, 4)).reshape(400, -1)
    splits = [split(y, 5, seed) for seed in range(12)]
    found = {
        name: [errors(estimator, X, y, *rows, [k])[0] for rows in splits] for name, (estimator, k) in REPULSION.items()
    }
    for name, values in found.items():
        print(f"\n{name}: {np.mean(values):.2f} with a spread of {np.std(values):.2f}", end="")
    return {name: np.mean(values) for name, values in found.items()}


def test_repulsion_on_orl(orl_errors):
    """Figure 7 of Kokiopoulou and Saad: OLPP 4.12, OLPP-R 2.82, ONPP 3.97, ONPP-R 3.40."""
    assert orl_errors["OLPP"] == pytest.approx(4.12, abs=1.0)
    assert orl_errors["OLPP"] - orl_errors["OLPP-R"] >= 0.7
    assert orl_errors["ONPP"] == pytest.approx(3.97, abs=1.0)
    assert orl_errors["ONPP-R"] == pytest.approx(3.40, abs=1.0)
    assert orl_errors["ONPP-R"] < orl_errors["ONPP"]


def test_other_forms_of_repulsion_on_orl(orl_errors):
    """Section 6.7: the ratio of attraction and repulsion, and DNE, do not do as well as their difference."""
    assert orl_errors["ratio"] > orl_errors["OLPP-R"] + 1
    assert orl_errors["DNE"] > orl_errors["OLPP"]


USPS = {  # average recognition rates of table 1, for 30, 50 and 70 training images a digit
    "LPP": (literal(LPP, 40, graph=KNN(5, weights="binary"), pca=None, scaling="constraint"), (39.01, 68.41, 78.38)),
    "LPDP": (literal(LPDP, 40, graph=5, pca=None, scaling="constraint"), (46.44, 73.5, 82.32)),
}


@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("method", USPS)
def test_lpdp_on_usps(method, column):
    """Table 1 of Gui, Wang and Zhu: all principal directions kept, best of the dimensions 2, 4, ... 40; 10 splits, there 20."""
    X, y = load("USPS_11000")
    first = np.concatenate([np.flatnonzero(y == c)[:100] for c in range(10)])
    X, y = X[first], y[first]
    estimator, published = USPS[method]
    found = [errors(estimator, X, y, *split(y, (30, 50, 70)[column], seed), range(2, 41, 2)) for seed in range(10)]
    best = 100 - np.mean(found, axis=0).min()
    print(f"\n{method}: {best:.1f}, published {published[column]}")
    assert best == pytest.approx(published[column], abs=2.0)


@pytest.fixture(scope="module")
def newsgroups():
    folder = Path(os.environ.get("LAPWING_DATA", ""))
    if not (os.environ.get("LAPWING_DATA") and (folder / "20news_bydate_X.npz").exists()):
        pytest.skip("20news_bydate_X.npz is not in LAPWING_DATA")
    X = TfidfTransformer(sublinear_tf=True).fit_transform(sparse.load_npz(folder / "20news_bydate_X.npz"))
    return X, np.load(folder / "20news_bydate_y.npz")["y"]


def test_text_is_never_densified(newsgroups):
    """Of 6,282 x 29,916 one dense copy would be 1.5 GB, and one dense Gram matrix of the rows 0.3 GB."""
    X, y = newsgroups[0][::3], newsgroups[1][::3]
    tracemalloc.start()
    model = MMC(10).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2e9
    assert model.transform(X).shape == (X.shape[0], 10)


def test_text_by_operators_equals_the_dense_solution(newsgroups, monkeypatch):
    X = newsgroups[0][::18]
    X = X[np.diff(X.indptr) > 0]
    estimator = literal(LPP, 10, graph=KNN(5, metric="cosine"), pca=None, ridge=30)
    dense = estimator.fit(X).components_
    assert estimator.rank_ is not None
    limits.large_from(monkeypatch, 800)
    assert estimator.fit(X).rank_ is None
    assert subspace_angles(dense.T, estimator.components_.T).max() < 1e-6
