"""What pca="auto" and ridge="auto" stand for, and the tolerances and tie-breaks that nothing else would notice."""

from math import ceil

import numpy as np
import pytest
from limits import large_from
from oracles import angle
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from lapwing import DNE, LPCA, LPDP, LPP, LSDA, MFA, MMC, NPE, OLPP, ONPP, GraphPCA, KernelLPP
from lapwing.graphs import KNN, Complete, Repulsion, SameClass

X, y = load_digits(return_X_y=True)
X = X[:300] + np.random.RandomState(0).standard_normal((300, 64))
MANY = y[:300]  # ten classes of about thirty
FEW = np.arange(300) // 6  # fifty classes of six

RULES = {  # estimator: energy and directions a component, with many and with few samples a class
    "LPP": (LPP(), (0.9, 1.25), (0.9, 1.25)),
    "LPP, repulsion": (LPP(graph=KNN(5) - 0.2 * Repulsion(15)), (0.9, 1.25), (0.9, 1.25)),
    "LPP, class graph": (LPP(graph=SameClass(), ridge=0), (0.9, 1.25), (1.0, 1.25)),
    "NPE": (NPE(), (0.9, 1.25), (0.9, 1.25)),
    "OLPP": (OLPP(), (0.0, 1.25), (0.0, 1.25)),
    "OLPP, class graph": (OLPP(graph=SameClass()), (0.0, 1.25), (1.0, 1.25)),
    "ONPP": (ONPP(), (0.0, 1.25), (0.0, 1.25)),
    "MMC": (MMC(), (0.99, 1.25), (1.0, 1.25)),
    "LPDP": (LPDP(), (0.9, 1.25), (0.9, 1.25)),
    "MFA": (MFA(), (0.0, 2.0), (0.98, 2.0)),
    "DNE": (DNE(), (0.9, 1.25), (1.0, 1.25)),
}


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("k", [2, 21, 45])
@pytest.mark.parametrize("name", RULES)
def test_what_auto_keeps(name, k, few):
    estimator, *rules = RULES[name]
    energy, directions = rules[few]
    shares = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    expected = min(64, max(1 + int(np.sum(shares < energy - 1e-12)), ceil(directions * k)))
    fitted = clone(estimator).set_params(n_components=k).fit(X, FEW if few else MANY)
    assert fitted.n_pca_ == expected


def test_all_components_of_an_automatic_projection():
    """n_components=None has no number of directions to go by: 90 % of the variance."""
    assert OLPP(None).fit(X).n_pca_ == LPP(None).fit(X).n_pca_ == LPP(2, pca=0.9).fit(X).n_pca_


@pytest.mark.parametrize("rows", [X, X[:50], sparse.csr_array(X), sparse.csr_array(X[:50])], ids=["", "wide"] * 2)
def test_half_of_what_lanczos_finds_in_twelve_steps_per_component(rows):
    """Repulsion paper, section 6.1. Where steps are as many as there are directions, the half is exact."""
    whole = OLPP(8, pca="lanczos").fit(rows)
    assert whole.n_pca_ == min(rows.shape[0] - 1, 64) // 2 + min(rows.shape[0] - 1, 64) % 2
    exact = OLPP(8, pca=whole.n_pca_).fit(rows)
    assert angle(whole.components_.T, exact.components_.T) < 1e-8
    few = OLPP(2, pca="lanczos").fit(rows)
    assert few.n_pca_ == few.settings_["pca"] == 12
    np.testing.assert_allclose(few.components_ @ few.components_.T, np.eye(2), atol=1e-12)
    apart = np.abs(few.components_ - OLPP(2, pca=12).fit(rows).components_).max()
    assert 1e-10 < apart < 0.01  # nearly exact after 24 steps


def test_lanczos_steps_are_counted_by_components():
    for refused in (OLPP(None, pca="lanczos"), KernelLPP(2, pca="lanczos")):
        with pytest.raises(ValueError, match=r'pca=."?lanczos'):
            refused.fit(X, MANY)


@pytest.fixture(params=["few words", "too large"])
def words(request, monkeypatch):
    """Rows of which nearly all entries are 0, or that count as too large to be decomposed whole."""
    large = request.param == "too large"
    if large:
        large_from(monkeypatch, 100)
    rows = sparse.random(300, 400, density=0.08 if large else 0.02, format="csr", random_state=0)
    return rows + sparse.csr_matrix((np.ones(300), (np.arange(300), MANY)), shape=rows.shape)


@pytest.mark.parametrize(("estimator", "ridge"), [(LPP(3), 3), (LSDA(3), 1), (LPP(3, graph="semi"), 0.3)], ids=str)
def test_ridge_of_words(words, estimator, ridge):
    """As docs/defaults.md says."""
    automatic = clone(estimator).fit(words, MANY)
    assert (automatic.settings_["ridge"], automatic.settings_["pca"]) == (ridge, None)
    given = clone(estimator).set_params(ridge=ridge, pca=None).fit(words, MANY)
    np.testing.assert_allclose(automatic.components_, given.components_, atol=1e-10)


@pytest.mark.parametrize(
    ("estimator", "few", "many"),
    [
        (OLPP(3), 4, 69),
        (LPP(3, graph=SameClass(), ridge=0), 100, 110),
        (MMC(3), None, 110),
        (DNE(3), 100, 110),
        (LPP(3, penalty=15), 100, 110),
        (LPCA(3), 100, 110),
        (GraphPCA(3), None, None),
    ],
    ids=str,
)
def test_directions_of_words(words, estimator, few, many):
    """A variance says itself which directions matter, and so does a margin, of nine directions between ten classes."""
    assert clone(estimator).fit(words, MANY).settings_["pca"] == few
    assert clone(estimator).set_params(n_components=55).fit(words, MANY).settings_["pca"] == many


@pytest.mark.parametrize("estimator", [LPP(3, constraint="orthogonal"), MMC(3)], ids=repr)
def test_all_directions_of_large_rows_are_refused_where_no_ridge_stands_in(estimator, monkeypatch):
    large_from(monkeypatch, 100)
    rows = sparse.random(300, 400, density=0.08, format="csr", random_state=0)
    with pytest.raises(ValueError, match="pca=None takes all directions of X, which is too large"):
        clone(estimator).set_params(pca=None).fit(rows, MANY)


def test_words_are_no_words_to_a_kernel():
    """A Gaussian kernel does not change with the origin, and so the rules may not ask how many entries are 0."""
    rows = sparse.random(200, 220, density=0.02, random_state=0).toarray()
    one, other = (KernelLPP(3, standardize=False).fit(X) for X in (rows, rows + 1))
    assert one.settings_ == pytest.approx(other.settings_)
    np.testing.assert_allclose(one.transform(rows), other.transform(rows + 1), atol=1e-10)


def test_the_width_of_a_kernel_of_classes_is_the_spread_of_the_variance():
    """25 directions of equal variance are half of those that count as spread."""
    rows = np.random.RandomState(0).standard_normal((300, 26))
    rows[:, 0] = 1
    rows = np.linalg.qr(rows)[0][:, 1:]
    model = KernelLPP("auto", graph="supervised", standardize=False)
    auto, scale = (clone(model).set_params(gamma=gamma).fit(rows, MANY).gamma_ for gamma in ("auto", "scale"))
    assert auto == pytest.approx(scale / 2)


def test_targets_are_no_small_classes():
    """A graph that reads numbers keeps the usual share of the variance."""

    class Near(KNN):
        reads_labels = True

    targets = np.random.RandomState(0).rand(300)
    assert LPP(2, graph=Near(5), ridge=0).fit(X, targets).n_pca_ == LPP(2).fit(X).n_pca_ < 64


def test_classes_without_a_margin_take_directions_of_words(monkeypatch):
    """Labels that say nothing leave no direction along which classes differ more than they vary."""
    large_from(monkeypatch, 30)
    rows = sparse.random(2000, 40, density=0.3, format="csr", random_state=0)
    model = MMC(3).fit(rows, np.random.RandomState(0).randint(10, size=2000))
    assert model.n_pca_ >= 39  # nearly all 40, and not none
    assert model.eigenvalues_[0] > 0


def test_small_columns_count():
    """A feature a million times smaller than the others is a direction, not rounding."""
    data = np.random.RandomState(0).standard_normal((50, 5)) * [1, 1, 1, 1, 1e-6]
    assert OLPP(2, pca=None).fit(data).rank_ == LPP(2, pca=None).fit(data).rank_ == 5


def test_labels_are_required_where_the_graph_reads_them():
    supervised = [LPP(graph=KNN(5) + SameClass()), LPP(penalty=Repulsion(5)), OLPP(graph=SameClass()), MMC(), DNE()]
    assert all(estimator.__sklearn_tags__().target_tags.required for estimator in supervised)
    assert not any(estimator.__sklearn_tags__().target_tags.required for estimator in (LPP(), OLPP(graph=7), NPE()))


def test_no_attraction_needs_no_labels():
    assert OLPP(2, graph=-1 * Complete()).fit(X).components_.shape == (2, 64)


def test_division_of_float32_rows_far_from_the_origin_loses_nothing():
    rng = np.random.RandomState(0)
    labels = rng.randint(4, size=300)
    rows = (rng.standard_normal((300, 8)) + 3 * np.eye(4, 8)[labels] + 1e6).astype(np.float32)
    single, double = (LPP(graph="supervised").fit(data, labels) for data in (rows, rows.astype(np.float64)))
    assert single.scale_ is not None
    assert single.components_.dtype == single.transform(rows).dtype == np.float32
    assert subspace_angles(single.components_.T.astype(np.float64), double.components_.T).max() < 1e-6


def test_float32_far_from_the_origin():
    data = (1e5 + np.random.RandomState(0).standard_normal((200, 5))).astype(np.float32)
    model = LPP(2).fit(data)
    exact = (data.astype(float) - model.mean_) @ model.components_.T.astype(float)
    np.testing.assert_allclose(model.transform(data), exact, atol=1e-4)
