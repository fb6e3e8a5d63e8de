"""Graphs on other rows: columns, transformers, names of rows."""

import numpy as np
import oracles as o
import pandas as pd
import pytest
from helpers import check_term, close, literal, named
from oracles import toy
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.utils.validation import check_is_fitted

from lapwing import GLPCA, LPP, OLPP, TSA, KernelLPP, LaplacianEigenmaps, LaplacianScore, TangentialMaps, load, save
from lapwing.graphs import (
    KNN,
    Chain,
    Delaunay,
    DensityCorrected,
    On,
    Pairs,
    Precomputed,
    Radius,
    SameClass,
    Similarity,
    TangentAlignment,
    Target,
)
from lapwing.problem import laplacian_sum
from lapwing.testing import check_graph

X, Y = toy(4)
N = len(X)
FRAME = pd.DataFrame(X, columns=list("abcd"), index=[f"row {i}" for i in range(N)])
W = o.knn_weights(X, None, 6, weights="binary")


# Columns


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (X, [0, 2]),
        (X, (0, -2)),
        (X, np.array([0, 2])),
        (sparse.csr_array(X), [0, 2]),
        (FRAME, ["a", "c"]),
        (FRAME, [0, 2]),
    ],
)
def test_columns(rows, what):
    check_term(On(what, KNN(4)).build(rows)[0], o.knn_weights(X[:, [0, 2]], None, 4))


def test_one_column():
    for rows, what in ((X, 1), (FRAME, "b"), (FRAME, 1)):
        check_term(On(what, KNN(4)).build(rows)[0], o.knn_weights(X[:, [1]], None, 4))


@pytest.mark.parametrize(
    ("graph", "rows", "said"),
    [
        (On("a", KNN(3)), X, "what='a' does not choose columns of X.* no names; "),
        (On(["a", "z"], KNN(3)), FRAME, "what=\\['a', 'z'\\] does not choose columns of X.* the names a, b, c, d; "),
        (On([], KNN(3)), X, r"what=\[\] does not choose columns of X"),
        (On(7, KNN(3)), X, "what=7 does not choose columns of X, which has the places 0 to 3"),
        (On([True, False], KNN(3)), X, r"\[True, False\] does not choose columns of X"),
        (On(slice(0, 2), KNN(3)), X, r"what=slice\(0, 2, None\) does not choose columns of X"),
        (On(len, KNN(3)), X, "what=<built-in function len> does not choose columns of X"),
        (On([0], 7), X, r"graph=7 must be a graph, such as KNN\(5\)"),
        (On(FunctionTransformer(lambda X: X[1:]), KNN(3)), X, f"made {N - 1} rows of {N}"),
        (On(PCA(2), KNN(3), beside=True), X, "beside=True is for columns of X, and .* is a transformer"),
        (On([0, 1, 2, 3], KNN(3), beside=True), X, "leaves no column of X to the map"),
    ],
)
def test_what_is_said(graph, rows, said):
    with pytest.raises(ValueError, match=said):
        LPP(1, graph=graph).fit(rows)


def test_a_kernel_has_no_columns():
    with pytest.raises(ValueError, match='On reads features, and with kernel="precomputed" X has none'):
        KernelLPP(1, kernel="precomputed", graph=On([0], KNN(3))).fit(X @ X.T)


# Algebra


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (On([0, 1], KNN(4) - 0.5 * SameClass()), lambda V: o.knn_weights(V, Y, 4) - 0.5 * o.same_class_weights(Y)),
        (2 * On([0, 1], KNN(4)) & SameClass(), lambda V: 2 * o.knn_weights(V, Y, 4) * (o.same_class_weights(Y) > 0)),
        (On([0, 1], KNN(4)) | KNN(4), lambda V: np.maximum(o.knn_weights(V, Y, 4), o.knn_weights(X, Y, 4))),
        (
            On([0, 1], KNN(4)) + On([2, 3], KNN(4)),  # two views
            lambda V: o.knn_weights(V, Y, 4) + o.knn_weights(X[:, 2:], Y, 4),
        ),
        (On([0, 1, 2], On([0, 1], KNN(4))), lambda V: o.knn_weights(V, Y, 4)),
        (On([0, 1], KNN(4, among="same_class")), lambda V: o.knn_weights(V, Y, 4, among="same_class")),
        (On([0, 1], Radius(0.3)), lambda V: o.radius_weights(V, Y, 0.3)),
    ],
    ids=named,
)
def test_algebra(graph, expected):
    close(laplacian_sum(graph.build(X, Y)), o.laplacian(expected(X[:, :2]))[0])
    assert graph.reads_labels == ("lass" in repr(graph))


@pytest.mark.parametrize(
    "graph",
    [
        On([0, 2], KNN(4)),
        On(PCA(3), KNN(4) + SameClass()),
        On([0, 1], Target(3)),
        On(PCA(2), Similarity(KNN(4))),
        On([1, 2, 3], KNN(4), beside=True),
        On([0, 1], Chain(time=1)),
        KNN(3) | On([0, 1], KNN(3)),
        On(PCA(2), KNN(4, queries=20)),
    ],
    ids=named,
)
def test_graphs_are_sound(graph):
    check_graph(graph)


def test_printing():
    for text in (
        "On(PCA(n_components=0.98), KNN(5))",
        "On(['a', 'b'], KNN(5) + SameClass())",
        "On('id', Precomputed(array([[0, 1], [1, 0]]), ids=['a', 'b']), beside=True)",
        "2 * On([0], KNN(5)) - On([1], Radius(1.0))",
    ):
        made = eval(text, {**globals(), "array": np.array})
        assert repr(made) == text
        assert repr(clone(made)) == text


# Transformers


def test_laplacianfaces_of_the_thesis():
    """Neighbours, and the map, after PCA: the same projection as the pipeline of the two."""
    digits = load_digits().data[:300]
    model = literal(LPP, 3, graph=On(PCA(0.98), KNN(5)), pca=0.98).fit(digits)
    thesis = make_pipeline(PCA(0.98), literal(LPP, 3, graph=KNN(5))).fit(digits)
    A, B = (Z - Z.mean(axis=0) for Z in (model.transform(digits), thesis.transform(digits)))
    assert o.angle(A.T, B.T) < 1e-6


def test_the_fitted_transformer_lives_in_graph():
    mine = PCA(2)
    graph = KNN(3) + On(mine, KNN(4))
    model = LPP(2, graph=graph).fit(X)
    for unfitted in (mine, model.graph.right.what):
        with pytest.raises(NotFittedError):
            check_is_fitted(unfitted)
    np.testing.assert_allclose(model.graph_.right.what.components_, PCA(2).fit(X).components_)
    check_term(On(mine, KNN(4)).build(X)[0], o.knn_weights(PCA(2).fit_transform(X), None, 4))
    with pytest.raises(NotFittedError):
        check_is_fitted(mine)
    svd = sparse.csr_array(X)
    check_term(
        On(TruncatedSVD(2), KNN(4)).build(svd)[0], o.knn_weights(TruncatedSVD(2).fit(svd).transform(svd), None, 4)
    )


class Counting(PCA):
    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize("estimator", [LPP(1), LaplacianEigenmaps(1), OLPP(1)])
def test_it_is_fitted_once_per_fit(estimator):
    Counting.fits = 0
    clone(estimator).set_params(graph=On(Counting(2), KNN(3) + Radius(0.5))).fit(X)
    assert Counting.fits == 1


@pytest.mark.parametrize(
    "estimator",
    [
        LPP(2),
        KernelLPP(2),
        LaplacianEigenmaps(2),
        TangentialMaps(1, graph=TangentAlignment(6)),
        LaplacianScore(2),
        TSA(1, image_shape=(2, 2)),
        LPP(2, penalty=On(PCA(2), KNN(3))),
    ],
    ids=named,
)
@pytest.mark.parametrize("what", [PCA(2, whiten=True), [0, 1]], ids=["pca", "columns"])
def test_all_maps_and_their_files(estimator, what, tmp_path):
    """Each map is the one of the matrix of weights; a model file places new rows as the model does."""
    inner = estimator.graph or KNN(4)
    estimator = clone(estimator).set_params(graph=On(what, inner))
    model = estimator.fit(FRAME)
    save(model, tmp_path / "model.lapwing")
    assert model.graph is estimator.graph  # saving changes nothing in the model
    assert not callable(what) or model.graph.what is what
    again = load(tmp_path / "model.lapwing", trusted=[what] if callable(what) else [])
    new = FRAME + 0.01
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    if isinstance(inner, KNN):
        view = PCA(2, whiten=True).fit_transform(X) if hasattr(what, "fit") else X[:, :2]
        given = clone(estimator).set_params(graph=Precomputed(o.knn_weights(view, None, 4))).fit(X)
        np.testing.assert_allclose(abs(model.transform(FRAME)), abs(given.transform(X)), atol=1e-6)


def test_new_rows_of_free_maps_are_linked_on_the_view():
    model = LaplacianEigenmaps(2, graph=On(PCA(2), KNN(4, t=1.0))).fit(X)
    pca, new = PCA(2).fit(X), X[:7] + 0.02
    d = np.sqrt(((pca.transform(new)[:, None] - pca.transform(X)) ** 2).sum(axis=2))
    links = np.where(np.argsort(np.argsort(d, axis=1), axis=1) < 4, np.exp(-(d**2)), 0)
    np.testing.assert_allclose(model.transform(new), model.transform(new, links=links), atol=1e-9)


@pytest.mark.parametrize("inner", [KNN(4), On(Counting(1), KNN(4))], ids=["one", "nested"])
def test_new_rows_of_corrected_weights_fit_nothing_again(inner):
    """The degrees of fitted rows are those on the transformer that was fitted, also where fits are drawn by chance."""
    random = GaussianRandomProjection(2)
    model = LaplacianEigenmaps(2, graph=DensityCorrected(On(random, inner))).fit(X)
    Counting.fits = 0
    np.testing.assert_array_equal(model.transform(X[:7] + 0.02), model.transform(X[:7] + 0.02))
    assert Counting.fits == 0


@pytest.mark.parametrize("frame", [FRAME, FRAME.astype(pd.SparseDtype(float, 0))], ids=["dense", "sparse"])
def test_transformers_of_named_columns(frame):
    """They are given the data frame, and new rows as one."""
    named_columns = ColumnTransformer([("scale", StandardScaler(with_mean=False), ["a", "b"])])
    view = X[:, :2] / X[:, :2].std(axis=0)
    check_term(On(named_columns, KNN(4)).build(frame)[0], o.knn_weights(view, None, 4))
    model = LaplacianEigenmaps(2, graph=On(named_columns, KNN(4, t=1.0))).fit(frame)
    by_places = ColumnTransformer([("scale", StandardScaler(with_mean=False), [0, 1])])
    other = LaplacianEigenmaps(2, graph=On(by_places, KNN(4, t=1.0))).fit(X)
    np.testing.assert_allclose(model.transform(FRAME + 0.01), other.transform(X + 0.01), atol=1e-9)


@pytest.mark.parametrize(
    "what", [LinearDiscriminantAnalysis(), make_pipeline(PCA(2), LinearDiscriminantAnalysis())], ids=["alone", "last"]
)
def test_transformers_that_learn_from_labels_are_refused(what):
    with pytest.raises(ValueError, match=r"requires y|missing 1 required positional argument: 'y'|got None"):
        LPP(1, graph=On(what, KNN(4))).fit(X, Y)


def test_cross_validation_and_grids():
    grid = {"lpp__graph__what__n_components": [1, 2], "lpp__graph__graph__n_neighbors": [3, 5]}
    model = make_pipeline(LPP(2, graph=On(PCA(2), KNN(4))), KNeighborsClassifier(1))
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, np.maximum(Y, 0))
    assert search.best_params_["lpp__graph__what__n_components"] in (1, 2)
    train = np.arange(N) % 2 == 0
    fold = clone(model).fit(X[train], np.maximum(Y, 0)[train])
    np.testing.assert_allclose(fold[0].graph_.what.mean_, X[train].mean(axis=0))  # of the fold alone


def test_text_is_refused_by_an_error_that_says_what_to_do():
    text = FRAME.assign(kind=np.array(list("xyz"))[np.arange(N) % 3])
    graph = On([4], KNN(4, metric="manhattan"))
    for attempt in (LPP(2).fit, graph.build, LPP(2, graph=graph).fit):
        with pytest.raises(
            ValueError, match=r"X holds text .*'x'.*write categories as numbers, as OneHotEncoder"
        ) as said:
            attempt(text)
        assert "lapwing.tables.prepare" in str(said.value)
    numbered = text.assign(kind=OrdinalEncoder().fit_transform(text[["kind"]])[:, 0])
    assert LPP(2, graph=graph).fit(numbered).components_.shape == (2, 5)


# Columns beside the features


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "estimator",
    [LPP(2), OLPP(2, standardize=True), KernelLPP(2, gamma=1.0), KernelLPP(2, gamma=1.0, landmarks=9, random_state=0)],
    ids=named,
)
def test_columns_beside_the_features(estimator, make, tmp_path):
    """The map is that of the other columns, for fitted and for new rows, also from a file."""
    coordinates = 100 * np.random.RandomState(1).rand(N, 2)
    both, new = np.hstack([X, coordinates]), np.hstack([X, 7 * coordinates]) + 0.1
    model = clone(estimator).set_params(graph=On([4, 5], KNN(4), beside=True)).fit(make(both))
    other = clone(estimator).set_params(graph=Precomputed(o.knn_weights(coordinates, None, 4))).fit(make(X))
    np.testing.assert_allclose(abs(model.transform(make(new))), abs(other.transform(make(new[:, :4]))), atol=1e-8)
    if hasattr(model, "components_") and not hasattr(model, "nystroem_"):
        assert not model.components_[:, 4:].any()
    save(model, tmp_path / "model.lapwing")
    np.testing.assert_array_equal(load(tmp_path / "model.lapwing").transform(make(new)), model.transform(make(new)))


@pytest.mark.parametrize("rows", [X, FRAME], ids=["array", "frame"])
def test_columns_of_columns_beside_the_features(rows):
    """Places within those that the outer graph takes are places of X."""
    inner = On(1 if rows is X else "a", KNN(4), beside=True)
    model = LPP(2, graph=On([3, 0, 1], inner + KNN(3))).fit(rows)
    assert not model.components_[:, 0].any()
    assert model.components_[:, 1:].all()
    other = LPP(2, graph=On(0, KNN(4), beside=True) + On([3, 0, 1], KNN(3))).fit(X)
    np.testing.assert_allclose(model.components_, other.components_)
    with pytest.raises(ValueError, match="beside=True is for columns of X"):
        LPP(1, graph=On(PCA(2), KNN(3) + On(0, KNN(4), beside=True))).fit(X)


@pytest.mark.parametrize("graph", [KNN(4), Delaunay(), KNN(4) - 0.2 * KNN(9)], ids=named)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_values_that_stand_in_an_array_of_their_own(graph, make):
    """They are as columns beside the features, which are not divided with these and not projected."""
    coordinates = 100 * np.random.RandomState(1).rand(N, 2)
    given = LPP(2, graph=On(coordinates, graph), standardize=True).fit(make(X))
    both = LPP(2, graph=On([4, 5], graph, beside=True), standardize=True).fit(make(np.hstack([X, coordinates])))
    np.testing.assert_allclose(given.components_, both.components_[:, :4], atol=1e-10)
    np.testing.assert_allclose(given.scale_, X.std(axis=0))
    mixed = LPP(2, graph=KNN(3) + On(coordinates, graph)).fit(make(X))
    assert mixed.graph_.indexes_rows
    check_graph(On(coordinates, graph), X)


def test_values_of_rows_by_their_names():
    coordinates = pd.DataFrame(np.random.RandomState(1).rand(N, 2), index=FRAME.index)
    shuffled = On(coordinates.sample(frac=1, random_state=0), KNN(4))
    assert not shuffled.indexes_rows
    for rows in (slice(None), slice(3, 20)):
        some = FRAME.iloc[rows]
        (term,) = shuffled.build(some)
        check_term(term, o.knn_weights(coordinates.iloc[rows].to_numpy(), None, 4))
    cross_val_score(make_pipeline(LPP(1, graph=shuffled), KNeighborsClassifier(1)), FRAME, Y, error_score="raise", cv=2)
    K = X @ X.T
    by_kernel = KernelLPP(1, kernel="precomputed", graph=On(coordinates.to_numpy(), KNN(4))).fit(K)
    given = KernelLPP(1, kernel="precomputed", graph=Precomputed(o.knn_weights(coordinates.to_numpy(), None, 4))).fit(K)
    np.testing.assert_allclose(by_kernel.transform(K), given.transform(K), atol=1e-8)


@pytest.mark.parametrize(
    ("graph", "rows", "said"),
    [
        (On(np.ones((N - 1, 2)), KNN(3)), X, f"what of On has {N - 1} rows of {N}"),
        (On(np.full((N, 2), np.nan), KNN(3)), X, "what of On contains NaN"),
        (On(np.ones((N, 2)), KNN(3), beside=True), X, "beside=True is for columns of X.*an array of its own"),
        (On(pd.DataFrame({"x": [1.0]}, index=["nobody"]), KNN(3)), FRAME, "what of On contains NaN"),
    ],
)
def test_values_that_do_not_fit_are_named(graph, rows, said):
    with pytest.raises(ValueError, match=said):
        LPP(1, graph=graph).fit(rows)


def test_other_maps_of_columns_beside_the_features():
    coordinates = np.random.RandomState(1).rand(N, 2)
    both, graph = np.hstack([X, coordinates]), On([4, 5], KNN(4), beside=True)
    scores = LaplacianScore(2, graph=graph).fit(both)
    np.testing.assert_allclose(scores.scores_[:4], LaplacianScore(2, graph=On([4, 5], KNN(4))).fit(both).scores_[:4])
    assert not scores.support_[4:].any()
    free = LaplacianEigenmaps(2, graph=graph).fit(both)
    np.testing.assert_allclose(free.embedding_, LaplacianEigenmaps(2, graph=KNN(4)).fit(coordinates).embedding_)
    with pytest.raises(ValueError, match="GLPCA represents all columns"):
        GLPCA(2, graph=graph).fit(both)
    with pytest.raises(ValueError, match="TSA represents all columns"):
        TSA(1, graph=graph, image_shape=(2, 3)).fit(both)


# Names of rows


def folds():
    return KFold(3, shuffle=True, random_state=0).split(X)


def test_folds_take_their_part_of_a_given_graph():
    graph = Precomputed(W, ids=list(FRAME.index))
    for train, _ in folds():
        check_term(graph.build(FRAME.iloc[train])[0], W[np.ix_(train, train)])
    numbered = np.column_stack([np.arange(N) + 100, X])
    by_column = On(0, Precomputed(sparse.csr_array(W), ids=np.arange(N) + 100), beside=True)
    model = make_pipeline(LPP(2, graph=by_column), KNeighborsClassifier(1))
    same = make_pipeline(LPP(2, graph=graph), KNeighborsClassifier(1))
    y, cv = np.maximum(Y, 0), list(folds())
    scores = cross_val_score(model, numbered, y, cv=cv, error_score="raise")
    np.testing.assert_allclose(scores, cross_val_score(same, FRAME, y, cv=cv, error_score="raise"))
    GridSearchCV(same, {"lpp__n_components": [1, 2]}, cv=cv, error_score="raise").fit(FRAME, y)
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), clone(same))
    cross_val_score(scaled, FRAME, y, cv=cv, error_score="raise")


def test_repeated_rows_have_the_links_of_their_name():
    drawn = np.random.RandomState(0).randint(N, size=N)
    check_term(Precomputed(W, ids=FRAME.index).build(FRAME.iloc[drawn])[0], W[np.ix_(drawn, drawn)])


@pytest.mark.filterwarnings("ignore:the repulsion graph is empty")
def test_folds_take_their_pairs():
    pairs = [[f"row {i}", f"row {i + 5}"] for i in range(0, 20, 2)]
    graph = Pairs(pairs, [["row 1", "row 3"], ["row 1", "nobody"]], by_id=True)
    for train, _ in folds():
        names = list(FRAME.index[train])
        present = [[[a, b] in pairs or [b, a] in pairs for b in names] for a in names]
        apart = [[{a, b} == {"row 1", "row 3"} for b in names] for a in names]
        expected = np.array(present, dtype=float) - np.array(apart, dtype=float)
        close(laplacian_sum(graph.build(FRAME.iloc[train])), o.laplacian(expected)[0])
        LPP(1, graph=KNN(3) + graph).fit(FRAME.iloc[train])
        counted = Pairs(graph.must_link, graph.cannot_link, weights=np.arange(1, 13), by_id=True)
        weights = {frozenset(pair): w for w, pair in enumerate([*pairs, ["row 1", "row 3"]], 1)}
        expected *= [[weights.get(frozenset([a, b]), 0.0) for b in names] for a in names]
        close(laplacian_sum(counted.build(FRAME.iloc[train])), o.laplacian(expected)[0])
    none = Pairs([["nobody", "noone"]], by_id=True)
    assert LPP(1, graph=KNN(3) + none).fit(FRAME).n_connected_components_ >= 1
    check_graph(graph, FRAME)


@pytest.mark.parametrize(
    ("graph", "rows", "said"),
    [
        (Precomputed(W, ids=FRAME.index), X, r"Precomputed\(W, ids=...\) knows rows by their names, and X has none"),
        (Precomputed(W, ids=range(N)), FRAME, f"{N} of the {N} rows of X are not in ids, the first is 'row 0'"),
        (Precomputed(W, ids=[0] * N), FRAME, f"ids must hold a name for each of the {N} rows of W, and no name twice"),
        (Precomputed(W, ids=range(3)), FRAME, "ids must hold a name"),
        (Precomputed(W[:4, :5], ids=range(4)), FRAME, r"W has shape \(4, 5\), and must be square"),
        (Pairs([["a", "b"]], by_id=True), X, r"Pairs\(by_id=True\) knows rows by their names"),
        (Pairs([["a", "a"]], by_id=True), FRAME, "must hold pairs of different names"),
    ],
)
def test_what_is_said_of_names(graph, rows, said):
    with pytest.raises(ValueError, match=said):
        graph.build(rows)


def test_given_graphs_by_name_are_sound_and_saved(tmp_path):
    ids = np.array([str(name) for name in FRAME.index])
    check_graph(Precomputed(W, ids=ids), FRAME)
    model = LPP(2, graph=Precomputed(W, ids=ids)).fit(FRAME)
    save(model, tmp_path / "model.lapwing")
    again = load(tmp_path / "model.lapwing")
    np.testing.assert_array_equal(clone(again).fit(FRAME).components_, model.components_)
