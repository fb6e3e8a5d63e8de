"""``explained_ratio_``, the share of the variance that directions hold, and ``n_components`` as a share of the objective."""

import numpy as np
import oracles as o
import pytest
from helpers import named
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import lapwing
from lapwing import DNE, LPCA, LPDP, LPI, LPP, MFA, MMC, NPE, OLPP, ONPP, KernelLPP
from lapwing.graphs import KNN, Complete, OtherClass, Repulsion, SameClass
from lapwing.reducers import LinearReducer

X, Y = o.blobs(60, 6)
LINEAR = [make(3) for make in (LPP, OLPP, NPE, ONPP, MMC, LPDP, MFA, DNE, LPCA, LPI)]
PLAIN = {"pca": None, "standardize": False}


def held(data, directions):
    """What the least-squares fit of the centred rows by their first coordinates restores of them, by SVD."""
    centred = data - data.mean(axis=0)
    shares = []
    for j in range(len(directions) + 1):
        basis = np.linalg.svd(directions[:j].T, full_matrices=False)[0]
        shares.append(np.linalg.norm(centred @ basis @ basis.T) ** 2 / np.linalg.norm(centred) ** 2)
    return np.diff(shares)


@pytest.mark.parametrize("estimator", LINEAR, ids=named)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_explained_ratio(estimator, make):
    data = abs(X) if isinstance(estimator, LPI) else X
    model = clone(estimator).fit(make(data), Y)
    assert model.explained_ratio_.shape == (3,)
    if isinstance(model, LPCA):  # of the scatter of patches
        A = lapwing.problem.laplacian_sum(model.problem(data, Y).minimise).toarray()
        scatter = data.T @ A @ data
        expected = np.diagonal(model.components_ @ scatter @ model.components_.T) / np.trace(scatter)
    else:
        rows = data / np.linalg.norm(data, axis=1)[:, None] if isinstance(model, LPI) else data
        scale = 1.0 if model.scale_ is None else model.scale_
        expected = held(rows / scale, model.components_ * scale)
    np.testing.assert_allclose(model.explained_ratio_, expected, rtol=1e-9, atol=1e-12)


def test_explained_ratio_of_all_kinds_of_rows():
    data, w = X * np.linspace(1, 9, 6), np.random.default_rng(0).integers(0, 4, len(X))
    for standardize in (False, True):
        model = LPP(2, graph=SameClass(), standardize=standardize).fit(data, Y)
        streamed = (
            LPP(2, graph=SameClass(), standardize=standardize)
            .partial_fit(data[:30], Y[:30])
            .partial_fit(data[30:], Y[30:])
        )
        np.testing.assert_allclose(streamed.explained_ratio_, model.explained_ratio_, rtol=1e-10)
        for make in (np.asarray, sparse.csr_array):
            weighed = LPP(2, graph=SameClass(), standardize=standardize).fit(make(data), Y, sample_weight=w)
            repeated = LPP(2, graph=SameClass(), standardize=standardize).fit(
                np.repeat(data, w, axis=0), np.repeat(Y, w)
            )
            np.testing.assert_allclose(weighed.explained_ratio_, repeated.explained_ratio_, rtol=1e-10)
    wide = np.random.default_rng(0).normal(size=(20, 50))
    pca = PCA(5).fit(wide)
    model = OLPP(5, graph=-Complete(), **PLAIN).fit(wide)
    np.testing.assert_allclose(model.explained_ratio_, pca.explained_variance_ratio_, rtol=1e-10)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_share_of_the_variance_is_that_of_pca(share):
    data = load_digits().data[:300]
    assert OLPP(share, graph=-Complete(), **PLAIN).fit(data).components_.shape[0] == PCA(share).fit(data).n_components_


def gains(values, orthogonal):
    found = -values if orthogonal else 1 - values
    return np.where(found > 0, found, 0)


@pytest.mark.parametrize("share", [0.3, 0.8, 0.95])
@pytest.mark.parametrize(
    "estimator",
    [
        MMC(**PLAIN),
        DNE(**PLAIN),
        LPCA(**PLAIN),
        OLPP(graph=SameClass() - 0.3 * Repulsion(30), **PLAIN),
        LPP(graph=SameClass(), ridge=0.0, **PLAIN),
        LPP(graph=KNN(4), **PLAIN),
        NPE(graph=4, **PLAIN),
        LPDP(alpha=0.3, **PLAIN),
        KernelLPP(graph=SameClass(), kernel="linear", pca=None, ridge=0.0, standardize=False),
    ],
    ids=str,
)
def test_a_share_of_the_objective(estimator, share):
    """The fewest directions that hold it, and the first of those of a fit with all."""
    problem = estimator.problem(X, Y)
    orthogonal = problem.subject_to is lapwing.problem.ORTHOGONAL
    whole = clone(estimator).set_params(n_components=None if not isinstance(estimator, DNE) else 6).fit(X, Y)
    found = gains(whole.eigenvalues_, orthogonal)
    model = clone(estimator).set_params(n_components=share).fit(X, Y)
    k = model.eigenvalues_.size
    assert found[:k].sum() >= share * found.sum() > found[: k - 1].sum()
    np.testing.assert_allclose(
        model.transform(X), whole.transform(X)[:, :k], atol=1e-8 * np.abs(whole.transform(X)).max()
    )
    assert model.get_feature_names_out().size == k


def test_where_there_is_no_share():
    with pytest.raises(ValueError, match="no gain to share"):
        OLPP(0.9).fit(X)
    for estimator in (MFA(0.9), LPP(0.9, graph=SameClass(), penalty=OtherClass())):
        with pytest.raises(ValueError, match="has no total"):
            estimator.fit(X, Y)
    for share in (0.0, 1.0, 1.5, -0.1, np.nan):
        with pytest.raises(ValueError, match="between 0 and 1"):
            LPP(share).fit(X)
    with pytest.raises(ValueError, match="n_components"):
        LPI(0.5).fit(abs(X))


def test_files_and_names(tmp_path):
    model = MMC(0.9).fit(X, Y)
    lapwing.save(model, tmp_path / "model")
    same = lapwing.load(tmp_path / "model")
    assert same.n_components == 0.9
    np.testing.assert_array_equal(same.explained_ratio_, model.explained_ratio_)
    assert all(hasattr(clone(e).fit(abs(X), Y), "explained_ratio_") for e in LINEAR if isinstance(e, LinearReducer))


def test_the_command_line_takes_a_share():
    from lapwing.cli._graphs import configure

    model = MMC()
    configure(model, None, None, {}, "0.95")
    assert model.n_components == 0.95
