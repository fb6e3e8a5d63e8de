"""standardize=: columns in different units."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfTransformer

from lapwing import DNE, LPCA, LPDP, LPI, LPP, MFA, MMC, NPE, OLPP, ONPP, KernelLPP, KernelNPE, UnitsWarning
from lapwing.graphs import KNN, SameClass

WINE, Y = load_wine(return_X_y=True)
DIGITS = load_digits().data[:200]
LINEAR = [
    LPP(3),
    OLPP(3),
    NPE(3),
    ONPP(3),
    MMC(2),
    LPDP(3),
    MFA(3),
    DNE(3),
    LPCA(3),
    LPP(2, graph="supervised"),
    LPP(3, graph="semi"),
]
KERNEL = [KernelLPP(3), KernelNPE(3), KernelLPP(2, graph="supervised"), KernelLPP(3, landmarks=50, random_state=0)]


def deviations(X):
    return np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)


@pytest.mark.filterwarnings("ignore::lapwing.UnitsWarning")
@pytest.mark.parametrize("estimator", [*LINEAR, *KERNEL], ids=str)
def test_raw_columns_are_as_good_as_divided_ones(estimator):
    raw, divided = clone(estimator).fit(WINE, Y), clone(estimator).set_params(standardize=True).fit(WINE, Y)
    np.testing.assert_allclose(raw.scale_, WINE.std(axis=0))
    by_hand = clone(estimator).set_params(
        standardize=False, **({"gamma": raw.gamma_} if hasattr(raw, "gamma_") else {})
    )
    by_hand.fit(WINE / WINE.std(axis=0), Y)
    Z = raw.transform(WINE)
    np.testing.assert_allclose(Z, divided.transform(WINE), atol=1e-8 * np.abs(Z).max())
    np.testing.assert_allclose(Z, by_hand.transform(WINE / WINE.std(axis=0)), atol=1e-6 * np.abs(Z).max())
    np.testing.assert_allclose(raw.eigenvalues_, by_hand.eigenvalues_, rtol=1e-6, atol=1e-12)


@pytest.mark.filterwarnings("ignore::lapwing.UnitsWarning")
@pytest.mark.parametrize("estimator", LINEAR, ids=str)
def test_a_linear_model_is_a_mean_and_a_matrix(estimator):
    model = clone(estimator).fit(WINE, Y)
    np.testing.assert_allclose(model.transform(WINE), (WINE - model.mean_) @ model.components_.T, atol=1e-9)
    directions = model.components_ * model.scale_
    if getattr(model, "graph", None) != "supervised":
        np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1)
    if isinstance(model, OLPP | ONPP | MMC | DNE | LPCA):
        np.testing.assert_allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-10)
    back = model.inverse_transform(model.transform(WINE))
    np.testing.assert_allclose(model.transform(back), model.transform(WINE), atol=1e-8)
    apart = (back - WINE) / model.scale_  # what is lost is orthogonal to what is kept, among the divided columns
    assert np.abs(apart @ directions.T).max() < 1e-7


def test_a_warning_of_its_own_class_names_the_ratio():
    with pytest.warns(UnitsWarning, match="388 times the median"):
        LPP(2).fit(WINE)
    for rows in (WINE, 2.0 * WINE[::2]):  # each table is told, and Python's own filter says how often
        with warnings.catch_warnings(action="error"), pytest.raises(UnitsWarning):
            OLPP(3).fit(rows)


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (LPP(2, standardize=False), WINE),
        (LPP(2, standardize=True), WINE),
        (LPP(2), DIGITS),
        (LPP(2), WINE / WINE.std(axis=0)),
        (LPP(2, graph=KNN(5, metric="cosine")), WINE),
        (KernelLPP(2, kernel="cosine"), WINE),
        (KernelLPP(2, kernel="precomputed"), WINE @ WINE.T),
        (LPI(2), WINE),
        (LPP(2), PCA().fit_transform(DIGITS)),
        (LPP(2), sparse.csr_array(TfidfTransformer().fit_transform(sparse.csr_array(DIGITS * (DIGITS > 14))))),
    ],
    ids=lambda value: str(value)[:40].replace("\n", " "),
)
def test_without_warning(estimator, X):
    with warnings.catch_warnings(action="error"):
        model = clone(estimator).fit(X)
    assert (model.scale_ is None) == (estimator.get_params().get("standardize") is not True)


@pytest.mark.parametrize("ratio", [9.9, 10.1])
def test_ten_times_the_median(ratio):
    X = np.random.RandomState(0).standard_normal((100, 5))
    X /= X.std(axis=0)
    X[:, 3] *= ratio
    X = np.column_stack([X, np.full((100, 4), 7.0)])  # constant columns do not count
    warnings.simplefilter("ignore", UnitsWarning)
    assert (LPP(2).fit(X).scale_ is not None) == (ratio > 10)


def test_columns_of_a_sparse_table_are_divided_and_rare_words_are_not():
    numbers = np.random.RandomState(0).standard_normal((300, 3)) * [1.0, 1000.0, 1.0] + [5.0, 9000.0, 5.0]
    words = sparse.random(300, 200, density=0.02, random_state=0)
    table = sparse.csr_matrix(sparse.hstack([numbers, words]))
    with pytest.warns(UnitsWarning):
        model = LPP(2).fit(table)
    np.testing.assert_allclose(model.scale_, deviations(table.toarray()))
    dense = LPP(2, standardize=True).fit(table.toarray())
    assert subspace_angles(model.components_.T, dense.components_.T).max() < 1e-6
    np.testing.assert_allclose(np.abs(model.transform(table)), np.abs(dense.transform(table.toarray())), atol=1e-6)
    with warnings.catch_warnings(action="error"):
        assert LPP(2).fit(sparse.csr_array(words @ sparse.diags(np.geomspace(1, 1e4, 200)))).scale_ is None


@pytest.mark.parametrize("scales", [np.geomspace(1, 1e3, 13), np.geomspace(1e3, 1, 13)])
def test_the_units_do_not_matter_to_a_graph_of_classes(scales):
    """Ridge included, and without a warning."""
    with warnings.catch_warnings(action="error"):
        one, other = (LPP("auto", graph="supervised").fit(X, Y) for X in (WINE, WINE * scales))
    np.testing.assert_allclose(one.transform(WINE), other.transform(WINE * scales), atol=1e-8)


def test_principal_components_are_left_alone():
    """Their deviations say what matters, to a graph of classes as to one of neighbours."""
    digits, labels = load_digits(return_X_y=True)
    Z = PCA(40).fit_transform(digits[:300])
    assert LPP("auto", graph="supervised").fit(Z, labels[:300]).scale_ is None
    assert LPP("auto", graph="supervised").fit(Z[:, ::-1], labels[:300]).scale_ is not None


def test_float32():
    warnings.simplefilter("ignore", UnitsWarning)
    model = LPP(3).fit(WINE.astype(np.float32))
    assert model.components_.dtype == model.transform(WINE.astype(np.float32)).dtype == np.float32
    assert (
        subspace_angles(
            model.components_.T * model.scale_[:, None], (LPP(3).fit(WINE).components_ * model.scale_).T
        ).max()
        < 1e-3
    )


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_bad_values(value):
    with pytest.raises(ValueError, match="standardize="):
        LPP(2, standardize=value).fit(WINE)


def test_a_column_of_large_offset_is_not_a_large_unit():
    """Timestamps: deviations are about the mean."""
    X = np.random.RandomState(0).standard_normal((200, 4))
    X[:, 0] += 1e9
    with warnings.catch_warnings(action="error"):
        assert LPP(2).fit(X).scale_ is None


def test_labels_in_a_sum():
    warnings.simplefilter("ignore", UnitsWarning)
    y = np.where(np.arange(Y.size) % 3 == 0, Y, -1)
    model = LPP(3, graph=KNN(5) + SameClass()).fit(WINE, y)
    np.testing.assert_allclose(model.scale_, WINE.std(axis=0))
