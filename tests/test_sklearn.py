"""The methods as scikit-learn estimators."""

import pickle

import numpy as np
import oracles as o
import pytest
from helpers import named
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from lapwing import (
    DNE,
    GLPCA,
    L21PCA,
    LFDA,
    LPCA,
    LPDP,
    LPP,
    LSDA,
    MFA,
    MMC,
    MULTISPATI,
    NPE,
    OLPP,
    ONPP,
    RCA,
    TSA,
    ContrastivePCA,
    DiffusionMaps,
    GraphPCA,
    KernelLDA,
    KernelLFDA,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    RobustGLPCA,
    SpectralRegression,
    TangentialMaps,
)
from lapwing.graphs import (
    KNN,
    ClosestPairs,
    CodingLength,
    Combination,
    Complete,
    OtherClass,
    Reconstruction,
    Repulsion,
    SameClass,
    TangentAlignment,
)

LINEAR = [make() for make in (LPP, OLPP, NPE, ONPP, MMC, LPDP, MFA, DNE, LFDA, LSDA, LPCA)]
FREE = [TangentialMaps(), LaplacianEigenmaps(), DiffusionMaps(), GLPCA(), RobustGLPCA(), L21PCA()]
KERNEL = [KernelLPP(), KernelNPE(), KernelLDA(), KernelLFDA()]
OF_VARIANCE = [GraphPCA(), MULTISPATI(), ContrastivePCA()]
DEFAULT = [*LINEAR, RCA(), *FREE, *KERNEL, *OF_VARIANCE, SpectralRegression(), TSA(image_shape=(-1, 1))]
# Settings that take another path through fit or transform than any default does.
SPECIAL = [
    # A graph that makes y required; no pre-projection. Without a ridge, classes of so few rows are points along several
    # directions, and which of these comes first is arbitrary, for repeated rows as for weights.
    LPP(1, graph=SameClass(), pca=None, ridge=0.1),
    OLPP(1, graph=SameClass() - 0.2 * Complete(), normalize="trace"),  # each graph scaled by its trace
    ONPP(1, graph=2, center=False),  # mean_ is 0
    KernelLPP(
        1, kernel="poly", graph=3, penalty=Complete(), center="mean", pca=None
    ),  # the plain mean of a kernel, all of it
    KernelLPP(1, graph=KNN(3) + SameClass(), landmarks=10, random_state=0),  # the linear map of Nyström's features
    LaplacianEigenmaps(1, graph=3, constraint="identity", extension="barycentric"),  # B is I; weights place new rows
    GLPCA(1, beta=0),  # without a graph
    GLPCA(1, beta=1.0, graph=3),  # without X
]
OTHERS = [
    LPP(1, graph=KNN(2) + 0.5 * SameClass(), penalty=Complete(), scaling="constraint"),
    NPE(1, graph=Reconstruction(3, among="same_class"), pca=None),
    MFA(1, graph=2, penalty=60, scaling="constraint"),
    LPDP(1, graph=KNN(3), alpha=0.1),
    DNE(1, graph=(KNN(3) & SameClass()) - OtherClass()),
    LPCA(1, graph=CodingLength(2, weights="distance")),
    LPP(1, graph=CodingLength(3) + SameClass()),
    OLPP(1, graph=TangentAlignment(3)),
    KernelNPE(1, gamma=0.5, graph=2, scaling="constraint"),
    GLPCA(1, beta=0.2, graph=3),
    TangentialMaps(1, graph=TangentAlignment(4, weights="uniform", metric="manhattan"), extension="barycentric"),
]
EVERY = pytest.mark.parametrize("estimator", DEFAULT, ids=lambda estimator: type(estimator).__name__)
EVERY_LINEAR = pytest.mark.parametrize("estimator", LINEAR, ids=lambda estimator: type(estimator).__name__)
X, Y = o.blobs(60, 6)


@pytest.mark.filterwarnings("ignore:the repulsion graph is empty:UserWarning")  # the checks' blobs are far apart
@pytest.mark.parametrize("estimator", DEFAULT + SPECIAL, ids=named)
def test_scikit_learn(estimator):
    if isinstance(estimator, RobustGLPCA | L21PCA):
        estimator = clone(estimator).set_params(tol=1e-2)  # a few steps are enough here
    check_estimator(estimator, on_skip=None)  # the first check that fails is in the traceback


def test_estimators_are_complete():
    import lapwing

    elsewhere = ["FisherScore", "LPI", "LaplacianScore"]  # methods/test_scores.py, methods/test_documents.py
    assert sorted([*elsewhere, *(type(estimator).__name__ for estimator in DEFAULT)]) == sorted(lapwing.__all__)


@EVERY
def test_pipeline(estimator):
    data, classes = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), clone(estimator), KNeighborsClassifier(1))
    assert cross_val_score(pipeline, data, classes, cv=3, error_score="raise").mean() > 0.75
    names = pipeline.fit(data, classes)[:-1].get_feature_names_out()
    assert list(names) == [f"{type(estimator).__name__.lower()}{i}" for i in range(2)]


GRIDS = {
    "integers": (OLPP(), {"graph": [3, 6, None], "n_components": [1, 2]}),
    "graphs": (LPP(), {"graph": [KNN(3), SameClass(), KNN(3) + SameClass()]}),
    "n_neighbors": (LPP(graph=KNN()), {"graph__n_neighbors": [3, 7], "graph__weights": ["heat", "binary"]}),
    "repulsion": (
        OLPP(graph=KNN() - 0.2 * Repulsion()),
        {"graph__scale": [-0.1, -1.0], "graph__right__n_neighbors": [20, 30], "graph__left__n_neighbors": [3, 4]},
    ),
    "intersection": (DNE(), {"graph": [3, (KNN() & SameClass()) - (KNN() & OtherClass())], "pca": [None, 0.99, 3]}),
    "nested": (ONPP(graph=Reconstruction() - 0.1 * Repulsion(30)), {"graph__left__reg": [1e-3, 0.1]}),
    "penalty": (MFA(penalty=ClosestPairs()), {"graph": [2, 4], "penalty__n_pairs": [5, 30]}),
    "penalty int": (MFA(), {"penalty": [5, 30], "scaling": ["unit", "constraint"]}),
    "alpha": (LPDP(graph=KNN()), {"alpha": [0.1, 10.0], "graph__n_neighbors": [3, 5]}),
}


@pytest.mark.parametrize("name", GRIDS)
def test_grid_search(name):
    data, classes = load_iris(return_X_y=True)
    estimator, grid = GRIDS[name]
    step = type(estimator).__name__.lower()
    pipeline = make_pipeline(StandardScaler(), estimator, KNeighborsClassifier(1))
    before = repr(estimator)
    search = GridSearchCV(pipeline, {f"{step}__{key}": v for key, v in grid.items()}, cv=3, error_score="raise")
    search.fit(data, classes)
    assert search.best_score_ > 0.85
    assert repr(estimator) == before


def test_nested_parameters_reach_the_graph():
    estimator = LPP(graph=KNN(5) - 0.2 * Repulsion(9))
    twin = clone(estimator).set_params(graph__scale=-0.7, graph__left__n_neighbors=4, graph__right__n_neighbors=11)
    same = LPP(graph=KNN(4) - 0.7 * Repulsion(11)).fit(X, Y)
    np.testing.assert_array_equal(twin.fit(X, Y).components_, same.components_)
    assert (estimator.graph.scale, estimator.graph.left.n_neighbors) == (-0.2, 5)


@pytest.mark.parametrize("estimator", DEFAULT + SPECIAL + OTHERS, ids=str)
def test_clone_pickle_and_parameters(estimator):
    fitted = clone(estimator).fit(X, Y)
    assert repr(clone(fitted)) == repr(estimator)
    assert fitted.get_params(deep=False).keys() == estimator.get_params(deep=False).keys()
    with pytest.raises(NotFittedError):
        clone(fitted).transform(X)
    revived = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(revived.transform(X), fitted.transform(X), rtol=1e-10, atol=1e-12)
    if not hasattr(fitted, "X_fit_"):
        assert len(pickle.dumps(fitted)) < X.nbytes + 3000  # neither X nor the graph is kept


def test_clone_copies_graphs():
    graph = KNN(5) - 0.2 * Repulsion(9)
    twin = clone(LPP(graph=graph))
    assert isinstance(twin.graph, Combination)
    assert twin.graph is not graph
    assert twin.graph.right is not graph.right


@EVERY
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(estimator, library):
    frames = pytest.importorskip(library)
    columns = [f"f{i}" for i in range(X.shape[1])]
    frame = frames.DataFrame(dict(zip(columns, X.T, strict=True)))
    fitted = clone(estimator).fit(frame, Y)
    assert list(fitted.feature_names_in_) == columns
    plain = fitted.transform(frame)
    assert isinstance(plain, np.ndarray)
    np.testing.assert_allclose(plain, clone(estimator).fit(X, Y).transform(X), atol=1e-10)
    out = fitted.set_output(transform=library).transform(frame)
    name = type(estimator).__name__.lower()
    assert isinstance(out, frames.DataFrame)
    assert list(out.columns) == list(fitted.get_feature_names_out()) == [f"{name}0", f"{name}1"]
    np.testing.assert_array_equal(out.to_numpy(), plain)
    out = clone(estimator).set_output(transform=library).fit_transform(frame, Y)
    assert isinstance(out, frames.DataFrame)


@EVERY
def test_feature_names_are_checked(estimator):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    fitted = clone(estimator).fit(frame, Y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame[list("fedcba")])
    with pytest.raises(ValueError, match=r"features?, but .* expecting 6"):
        clone(estimator).fit(X, Y).transform(X[:, :4])
    assert not hasattr(fitted.fit(X, Y), "feature_names_in_")


def test_labels_of_a_frame_keep_their_rows():
    """The index of a series is not a row number."""
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(Y, index=np.arange(len(Y))[::-1])
    np.testing.assert_array_equal(MMC().fit(X, y).components_, MMC().fit(X, Y).components_)
    y = pandas.Series(np.array(["a", "b", "c"])[Y], dtype="category")
    np.testing.assert_array_equal(MMC().fit(X, y).components_, MMC().fit(X, Y).components_)


@EVERY_LINEAR
@pytest.mark.parametrize("scaling", ["unit", "constraint"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_inverse_transform(estimator, scaling, dtype):
    data = X.astype(dtype)
    k = X.shape[1]
    estimator = clone(estimator).set_params(pca=None)
    if "scaling" in estimator.get_params():
        estimator.set_params(scaling=scaling)
    tol = 1e-8 if dtype == np.float64 else 1e-3
    few = estimator.fit(data, Y)
    embedded = few.transform(data)
    back = few.inverse_transform(embedded)
    assert back.shape == data.shape
    assert back.dtype == dtype
    np.testing.assert_allclose(few.transform(back), embedded, atol=tol * np.abs(embedded).max())
    # The nearest to the mean among all that project there.
    residual = (back - few.mean_) @ (np.eye(k) - np.linalg.pinv(few.components_) @ few.components_)
    np.testing.assert_allclose(residual, 0, atol=tol * 10)
    whole = clone(estimator).set_params(n_components=k).fit(data, Y)
    np.testing.assert_allclose(whole.inverse_transform(whole.transform(data)), data, rtol=tol, atol=tol)
    with pytest.raises(ValueError, match="3 columns"):
        few.inverse_transform(X[:, :3])
    with pytest.raises(NotFittedError):
        clone(few).inverse_transform(embedded)


@EVERY_LINEAR
def test_transform_is_affine_and_takes_what_fit_takes(estimator):
    fitted = clone(estimator).fit(X, Y)
    new = o.blobs(10, 6, seed=9)[0]
    expected = (new - fitted.mean_) @ fitted.components_.T
    for rows in (new, new.tolist(), sparse.csr_matrix(new), sparse.coo_array(new), np.asfortranarray(new)):
        out = fitted.transform(rows)
        assert isinstance(out, np.ndarray)
        np.testing.assert_allclose(out, expected, atol=1e-10)
    assert fitted.fit(sparse.csc_array(X), Y).transform(new).shape == (10, 2)


@EVERY_LINEAR
def test_a_fitted_model_is_small(estimator):
    """Mean, components and a few scalars; the parameters hold the rest."""
    fitted = clone(estimator).fit(*o.blobs(400, 6))
    arrays = [value for value in vars(fitted).values() if isinstance(value, np.ndarray)]
    assert sum(array.size for array in arrays) <= 6 + 12 + 6
    assert not any(sparse.issparse(value) for value in vars(fitted).values())
