"""Model files: what is read back is what was written."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import forging
import numpy as np
import oracles as o
import outside
import pytest
import sklearn
from model_files import DEFAULT, KERNEL, NEW, SPECIAL, W, X, Y, copied, named, same
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._metadata_requests import MetadataRequest, MethodMetadataRequest
from sklearn.utils.validation import check_is_fitted

import lapwing
from lapwing import (
    GLPCA,
    LPP,
    TSA,
    FisherScore,
    KernelLPP,
    LaplacianEigenmaps,
    graphs,
    methods,
)
from lapwing.graphs import (
    KNN,
    Chain,
    ClosestPairs,
    CodingLength,
    Complete,
    Delaunay,
    DensityCorrected,
    Graph,
    Grid,
    LocalClass,
    On,
    OtherClass,
    Pairs,
    Precomputed,
    Propagated,
    Radius,
    Reconstruction,
    Repulsion,
    SameClass,
    Similarity,
    TangentAlignment,
    Target,
)
from lapwing.persistence import load, save, versions
from lapwing.selection import SemiSupervised

GOLDEN = Path(__file__).parent / "golden"

# What is read back


@pytest.mark.filterwarnings("ignore:the repulsion graph is empty:UserWarning")
@pytest.mark.parametrize("estimator", DEFAULT + SPECIAL, ids=named)
def test_what_is_read_is_what_was_written(estimator, tmp_path):
    model = clone(estimator).fit(X, Y)
    back = copied(model, tmp_path)
    check_is_fitted(back)
    assert repr(back) == repr(model)
    same(vars(back), vars(model))
    for rows in (X, NEW):
        if rows is X or not isinstance(getattr(model, "graph_", None), Precomputed):
            np.testing.assert_array_equal(back.transform(rows), model.transform(rows), strict=True)
    np.testing.assert_array_equal(back.get_feature_names_out(), model.get_feature_names_out())
    if hasattr(model, "inverse_transform"):
        embedded = model.transform(X)
        np.testing.assert_array_equal(back.inverse_transform(embedded), model.inverse_transform(embedded))
    np.testing.assert_array_equal(clone(back).fit(X, Y).transform(X), model.transform(X))


def test_every_estimator_is_tried():
    assert sorted(type(estimator).__name__ for estimator in DEFAULT) == sorted(methods.__all__)


GRAPHS = [
    KNN(4),
    Radius(9.0),
    KNN(4) - 0.2 * Repulsion(9),
    KNN(3) + ClosestPairs(9),
    Reconstruction(4),
    CodingLength(5),
    TangentAlignment(6),
    SameClass(),
    LocalClass(4),
    KNN(3) + OtherClass(),
    Target(5),
    Chain(),
    On([0, 1], Delaunay()),
    On([0, 1], Grid()),
    Precomputed(W.tocsr()),
    Propagated(KernelLPP(2, graph="supervised"), KNN(4)),
    KNN(4) + Pairs([[0, 1], [2, 3]], [[4, 5]]),
    Complete(),
    KNN(4) & SameClass(),
    KNN(4) | SameClass(),
    2 * KNN(4),
    On(StandardScaler(), KNN(4)),
    Similarity(KNN(4)),
    DensityCorrected(KNN(4)),
    sum([KNN(3)] * 40),
]


@pytest.mark.parametrize("graph", GRAPHS, ids=named)
def test_graphs(graph, tmp_path):
    model = LPP(2, graph=graph)
    model.n_features_in_ = 6
    model.components_, model.mean_ = np.eye(6)[:2], np.zeros(6)
    back = copied(model, tmp_path)
    assert repr(back.graph) == repr(graph)
    same(vars(back), vars(model))


def test_every_graph_is_tried():
    def inside(value):
        yield type(value)
        for part in value.get_params().values():
            yield type(part)

    tried = {cls for graph in GRAPHS for cls in inside(graph)}
    public = {getattr(graphs, name) for name in graphs.__all__} - {Graph, graphs.Empty}
    assert public <= tried


# Estimators and graphs of others

OUTSIDE = [
    outside.TimeLPP(),
    outside.TimeLPP(graph=KNN(3) - 0.2 * outside.Chain(2, decay=0.3), rate=2.0, pca=None),
    outside.TimeKernel(graph=4),
    outside.TimeMaps(),
    outside.Steady(3),
    LPP(graph=outside.Chain(3)),
]
THEIRS = [outside.TimeLPP, outside.TimeKernel, outside.TimeMaps, outside.Steady, outside.Chain]


@pytest.mark.parametrize("estimator", OUTSIDE, ids=named)
def test_an_estimator_or_graph_from_outside_is_read_where_it_is_trusted(estimator, tmp_path):
    model = clone(estimator).fit(X, Y)
    back = copied(model, tmp_path, THEIRS)
    assert type(back) is type(model)
    same(vars(back), vars(model))
    np.testing.assert_array_equal(back.transform(NEW), model.transform(NEW), strict=True)
    with pytest.raises(
        ValueError, match=r"outside\.\w+, which is not read from any file; .*trusted=\[\w.*--import outside"
    ):
        load(tmp_path / "model.lapwing")


def test_another_program_names_the_class(tmp_path):
    """And is told so; what is read is not imported."""
    model = outside.TimeLPP(graph=outside.Chain()).fit(X)
    save(model, tmp_path / "model")
    np.save(tmp_path / "Z", model.transform(NEW))
    np.save(tmp_path / "NEW", NEW)
    code = """
import importlib.util, sys, numpy as np
from lapwing.persistence import load
try:
    load("model")
except ValueError as error:
    print(error)
assert "outside" not in sys.modules
assert "torch" not in sys.modules and "dask" not in sys.modules  # which take seconds
import outside
if importlib.util.find_spec("sklearn.externals.array_api_compat"):
    import sklearn.externals.array_api_compat.numpy
model = load("model", trusted=[outside.TimeLPP, outside.Chain])
np.testing.assert_array_equal(model.transform(np.load("NEW.npy")), np.load("Z.npy"))
"""
    path = os.pathsep.join([os.path.dirname(outside.__file__), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "model.graph is outside.Chain and model is outside.TimeLPP, which is not read" in done.stdout
    assert "trusted=[Chain, TimeLPP]" in done.stdout


@pytest.mark.parametrize("trusted", [["outside.Chain"], "LPP", [3], [outside.Chain()], [None]])
def test_what_is_trusted_are_classes(trusted, file):
    with pytest.raises(TypeError, match=r"trusted=\[.*\] must be a list of classes"):
        load(file, trusted)


def weights(distances):
    return 1 / (1 + distances)


def test_functions_that_are_trusted(tmp_path):
    model = LPP(graph=KNN(4, weights=weights)).fit(X)
    assert copied(model, tmp_path, [weights]).graph.weights is weights
    with pytest.raises(
        ValueError, match=r"model\.graph_?\.weights is .*weights, which is not read.*trusted=\[weights\]"
    ):
        load(tmp_path / "model.lapwing")


def test_a_class_that_no_program_could_find_is_refused(tmp_path):
    class Local(LPP):
        pass

    for model in (Local(), outside.Recording.LPP()):
        with pytest.raises(
            ValueError, match=r"no other program finds .*LPP|Local in .*; define it at the top of a module"
        ):
            save(model.fit(X), tmp_path / "model")
    assert not (tmp_path / "model").exists()


# Other data

DATA = {
    "float32": X.astype(np.float32),
    "columns": np.asfortranarray(X),
    "csr_array": sparse.csr_array(X),
    "csr_matrix": sparse.csr_matrix(X.astype(np.float32)),
    "coo_array": sparse.coo_array(X),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("estimator", [LPP(), KernelLPP(graph=4), FisherScore()], ids=named)
def test_data_of_all_kinds(estimator, data, tmp_path):
    model = clone(estimator).fit(DATA[data], Y)
    back = copied(model, tmp_path)
    same(vars(back), vars(model))
    expected, found = model.transform(DATA[data]), back.transform(DATA[data])
    assert type(found) is type(expected)
    assert abs(found - expected).max() == 0


def test_precomputed_kernel(tmp_path):
    model = KernelLPP(kernel="precomputed", graph=4).fit(KERNEL)
    back = copied(model, tmp_path)
    np.testing.assert_array_equal(back.transform(NEW @ X.T), model.transform(NEW @ X.T))


def test_images(tmp_path):
    images = X.reshape(40, 2, 3)
    model = TSA((1, 2)).fit(images)
    np.testing.assert_array_equal(copied(model, tmp_path).transform(images), model.transform(images))


def test_given_links(tmp_path):
    model = LaplacianEigenmaps(graph=W.tocsr()).fit(X)
    links = np.random.RandomState(0).rand(9, 40)
    np.testing.assert_array_equal(
        copied(model, tmp_path).transform(NEW, links=links), model.transform(NEW, links=links)
    )


@pytest.mark.parametrize("name", ["a", "größe", "日本", 'with "quotes"\n', "\udc80", "../x"])
def test_feature_names_and_output(name, tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = [name, *"bcdef"] if name != "\udc80" else list("abcdef")  # pandas refuses half a character
    frame = pandas.DataFrame(X, columns=columns)
    model = LPP().fit(frame).set_output(transform="pandas")
    model.feature_names_in_[0] = name
    back = copied(model, tmp_path)
    assert back.feature_names_in_.dtype == object
    assert list(back.feature_names_in_) == list(model.feature_names_in_)
    if name != "\udc80":
        pandas.testing.assert_frame_equal(back.transform(frame), model.transform(frame))
        with pytest.raises(ValueError, match="feature names"):
            back.transform(frame[columns[::-1]])


def test_labels_in_words(tmp_path):
    words = np.array(["red", "green", "blue"])[Y]
    model = LPP("auto", graph="supervised").fit(X, words)
    np.testing.assert_array_equal(copied(model, tmp_path).transform(NEW), model.transform(NEW))


def test_numbers_of_python_and_numpy(tmp_path):
    model = GLPCA(beta=1.0).fit(X)
    assert copied(model, tmp_path).alpha_ == np.inf
    model.alpha_ = float("nan")
    assert np.isnan(copied(model, tmp_path).alpha_)
    model = LPP(np.int64(2), graph=KNN(np.int32(4)), pca=np.float32(0.5), scaling=np.str_("unit")).fit(X)
    same(vars(copied(model, tmp_path)), vars(model))


def test_random_states_go_on(tmp_path):
    model = KernelLPP(landmarks=9, graph=4, random_state=np.random.RandomState(0)).fit(X)
    back = copied(model, tmp_path)
    np.testing.assert_array_equal(back.random_state.rand(700), model.random_state.rand(700))


def test_partial_fit_goes_on(tmp_path):
    with pytest.warns(UserWarning, match="LPP is not fitted yet"):
        model = LPP(2, graph=SameClass()).partial_fit(X[:3], Y[:3])
    back = copied(model, tmp_path)  # of too few rows for a fit
    for one in (model, back):
        one.partial_fit(X[3:30], Y[3:30])
    back = copied(back, tmp_path)
    for one in (model, back):
        one.partial_fit(X[30:], Y[30:])
    np.testing.assert_array_equal(back.transform(NEW), model.transform(NEW))


def test_what_occurs_twice_is_stored_once(tmp_path):
    model = KernelLPP(landmarks=12, random_state=0).fit(X)
    model.also_ = model.nystroem_
    back = copied(model, tmp_path)
    assert back.also_.components_ is back.nystroem_.components_


def test_searches(tmp_path):
    """Of a grid search, the best estimator can be read by everybody. The search itself names a private class."""
    search = GridSearchCV(
        LPP(2, graph=KNN(3)), {"graph__n_neighbors": [3, 5]}, scoring=lambda model, X, y: 0.0, cv=2
    ).fit(X, Y)
    back = copied(search.best_estimator_, tmp_path)
    np.testing.assert_array_equal(back.transform(NEW), search.transform(NEW))
    search = GridSearchCV(SemiSupervised(LPP(2, graph=KNN(3))), {"reducer__graph__n_neighbors": [3, 5]}, cv=2).fit(X, Y)
    with pytest.raises(ValueError, match=r"model\.scorer_ is sklearn\.metrics.*trusted=\[_PassthroughScorer"):
        copied(search, tmp_path)
    named = [type(search.scorer_), StratifiedKFold, MetadataRequest, MethodMetadataRequest]  # the last two before 1.7
    back = load(tmp_path / "model.lapwing", trusted=named)
    np.testing.assert_array_equal(back.predict(NEW), search.predict(NEW))


# Versions


@pytest.mark.parametrize("name", [path.stem for path in sorted(GOLDEN.glob("*.lapwing"))])
def test_golden(name):
    """Files of earlier versions are read by this one."""
    expected = json.loads((GOLDEN / f"{name}.json").read_text())
    with warnings.catch_warnings():
        # landmarks are an estimator of scikit-learn's, and oldest and newest releases read the same files
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = load(GOLDEN / f"{name}.lapwing")
    np.testing.assert_allclose(model.transform(np.array(expected["X"])), expected["Y"], rtol=1e-9, atol=1e-12)
    assert repr(model) == expected["repr"]


def test_golden_files_are_there():
    assert len(list(GOLDEN.glob("*.lapwing"))) == 7


def test_the_root_of_a_file_says_who_wrote_it(file):
    assert versions(file) == {"lapwing": lapwing.__version__, "scikit-learn": sklearn.__version__}


def test_steps_of_another_scikit_learn_are_named(monkeypatch, tmp_path):
    model = make_pipeline(StandardScaler(), LPP()).fit(X)
    with monkeypatch.context() as patch:
        patch.setattr("sklearn.base.__version__", "1.0.2")
        save(model, tmp_path / "model")
        save(model[-1], tmp_path / "own")
    with pytest.warns(InconsistentVersionWarning) as warned:
        back = load(tmp_path / "model")
    assert {(one.message.estimator_name, one.message.original_sklearn_version) for one in warned} == {
        ("Pipeline", "1.0.2"),
        ("StandardScaler", "1.0.2"),
    }
    np.testing.assert_array_equal(back.transform(NEW), model.transform(NEW))
    with warnings.catch_warnings(action="error"):
        load(tmp_path / "own")  # parameters and arrays of lapwing's


def test_a_file_that_moved_breaks_no_model():
    """Files name the public module of a class, and not where its code is."""
    names = {
        held["__module__"]
        for held, key in forging.places(forging.taken_apart(forging.written())[0])
        if key == "__module__"
    }
    assert {name for name in names if name.startswith("lapwing")} == {"lapwing", "lapwing.graphs"}


def test_size(tmp_path):
    """Mean, components, and two kilobytes of text."""
    save(LPP(30, graph=7).fit(o.blobs(300, 784)[0]), tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 8 * (784 * 31 + 30) + 3_000
