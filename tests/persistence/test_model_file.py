"""Model files: what is read back is what was written."""

import json
import os
import struct
import subprocess
import sys
from hashlib import sha256

import numpy as np
import outside
import pytest
from model_files import DEFAULT, KERNEL, NEW, SPECIAL, W, X, Y, contents, copied, learnt, load_file, named, same
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from lapwing import (
    GLPCA,
    LPP,
    TSA,
    FisherScore,
    KernelLPP,
    LaplacianEigenmaps,
    methods,
)
from lapwing.graphs import KNN, Precomputed
from lapwing.persistence import ModelFileError, load, save
from lapwing.persistence._file import FORMAT

# What is read back


@pytest.mark.filterwarnings("ignore:the repulsion graph is empty:UserWarning")
@pytest.mark.parametrize("estimator", DEFAULT + SPECIAL, ids=named)
def test_what_is_read_is_what_was_written(estimator, tmp_path):
    model = clone(estimator).fit(X, Y)
    back = copied(model, tmp_path)
    check_is_fitted(back)
    assert repr(back) == repr(model)
    same(learnt(back), learnt(model))
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


# Estimators and graphs of others

OUTSIDE = [
    outside.TimeLPP(),
    outside.TimeLPP(graph=KNN(3) - 0.2 * outside.Chain(2, decay=0.3), rate=2.0, pca=None),
    outside.TimeKernel(graph=4),
    outside.TimeMaps(),
    outside.Steady(3),
    outside.Recording.LPP(),
    LPP(graph=outside.Chain(3)),
]


@pytest.mark.parametrize("estimator", OUTSIDE, ids=named)
def test_an_estimator_or_graph_from_outside_is_written_and_read(estimator, tmp_path):
    model = clone(estimator).fit(X, Y)
    back = copied(model, tmp_path)
    assert type(back) is type(model)
    same(learnt(back), learnt(model))
    np.testing.assert_array_equal(back.transform(NEW), model.transform(NEW), strict=True)


def test_names_of_lapwings_own_classes_are_plain_and_those_of_others_say_where_they_are(tmp_path):
    save(outside.TimeLPP(graph=KNN(3) + outside.Chain()).fit(X), tmp_path / "model")
    node = contents(tmp_path / "model")[0]["model"]
    graph = node["params"]["graph"]["params"]
    assert [node["class"], graph["left"]["class"], graph["right"]["class"]] == [
        "outside:TimeLPP",
        "KNN",
        "outside:Chain",
    ]


def test_another_program_imports_the_class_first(tmp_path):
    """And is told so; what is read is not imported."""
    model = outside.TimeLPP(graph=outside.Chain()).fit(X)
    save(model, tmp_path / "model")
    np.save(tmp_path / "Z", model.transform(NEW))
    np.save(tmp_path / "NEW", NEW)
    code = """
import sys, numpy as np
from lapwing.persistence import ModelFileError, load
try:
    load("model")
except ModelFileError as error:
    print(error)
assert "outside" not in sys.modules
import outside
np.testing.assert_array_equal(load("model").transform(np.load("NEW.npy")), np.load("Z.npy"))
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
    assert "class TimeLPP is not lapwing's; import the module that defines it first: import outside, " in done.stdout


def test_a_class_of_the_main_program(tmp_path, monkeypatch):
    monkeypatch.setattr(outside.Chain, "__module__", "__main__")
    save(LPP(graph=outside.Chain()).fit(X), tmp_path / "model")
    assert load(tmp_path / "model").graph.decay == 0.5
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match="Chain was defined in the program that wrote it; define it in this one"):
        load(tmp_path / "model")


def test_of_several_definitions_the_last_counts(tmp_path, monkeypatch):
    """A cell of a notebook that was run again, with an object of the first run still there."""
    save(outside.TimeLPP().fit(X), tmp_path / "model")
    again = type("TimeLPP", (LPP,), {"__module__": "outside", "rate": None, "__init__": outside.TimeLPP.__init__})
    monkeypatch.setattr(outside, "TimeLPP", again)
    assert type(load(tmp_path / "model")) is again


def test_a_class_that_no_program_could_find_is_refused(tmp_path):
    class Local(LPP):
        pass

    save(outside.TimeLPP().fit(X), tmp_path / "other")
    with pytest.raises(ValueError, match=r"Local is defined inside a function.*define it at the top of a module"):
        save(Local().fit(X), tmp_path / "model")
    assert not (tmp_path / "model").exists()
    load(tmp_path / "other")  # that there is such a class disturbs nobody


def test_what_could_not_be_read_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="Stubborn cannot have the fitted attribute 'speed'"):
        save(outside.Stubborn().fit(X), tmp_path / "model")
    assert not list(tmp_path.iterdir())


DATA = {
    "float32": X.astype(np.float32),
    "columns": np.asfortranarray(X),
    "csr_array": sparse.csr_array(X),
    "csr_matrix": sparse.csr_matrix(X.astype(np.float32)),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("estimator", [LPP(), KernelLPP(graph=4), FisherScore()], ids=named)
def test_data_of_all_kinds(estimator, data, tmp_path):
    model = clone(estimator).fit(DATA[data], Y)
    back = copied(model, tmp_path)
    same(learnt(back), learnt(model))
    expected, found = model.transform(DATA[data]), back.transform(DATA[data])
    assert type(found) is type(expected)
    assert abs(found - expected).max() == 0


def test_what_has_a_plainer_form_gets_it(tmp_path):
    back = copied(LPP(graph=W, scaling=np.str_("unit")).fit(X), tmp_path)
    assert type(back.graph) is sparse.csr_array
    assert (back.graph != W.tocsr()).nnz == 0
    assert type(back.scaling) is str


def test_precomputed_kernel(tmp_path):
    model = KernelLPP(kernel="precomputed", graph=4).fit(KERNEL)
    back = copied(model, tmp_path)
    np.testing.assert_array_equal(back.transform(NEW @ X.T), model.transform(NEW @ X.T))


def test_images(tmp_path):
    images = X.reshape(40, 2, 3)
    model = TSA((1, 2)).fit(images)
    np.testing.assert_array_equal(copied(model, tmp_path).transform(images), model.transform(images))


def test_given_links(tmp_path):
    model = LaplacianEigenmaps(graph=W).fit(X)
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


def test_non_finite_numbers(tmp_path):
    model = GLPCA(beta=1.0).fit(X)
    assert copied(model, tmp_path).alpha_ == np.inf
    model.alpha_ = float("nan")
    assert np.isnan(copied(model, tmp_path).alpha_)


def test_the_same_model_gives_the_same_bytes(file, tmp_path):
    save(load(file), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def test_what_occurs_twice_is_stored_once(tmp_path):
    model = KernelLPP(landmarks=12, random_state=0).fit(X)
    model.also_ = model.nystroem_
    back = copied(model, tmp_path)
    assert back.also_.components_ is back.nystroem_.components_
    assert sum(name.endswith("normalization_") for name in load_file(tmp_path / "model.lapwing")) == 1


def test_layout(file):
    """What other programs may count on: safetensors, with arrays by the names of the attributes."""
    model = load(file)
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    container = json.loads(data[8 : 8 + size])
    assert container.keys() == {"__metadata__", "components_", "eigenvalues_", "explained_ratio_", "mean_"}
    begin, end = container["components_"]["data_offsets"]
    stored = np.frombuffer(data[8 + size + begin : 8 + size + end]).reshape(2, 6)
    np.testing.assert_array_equal(stored, model.components_)
    header, arrays = contents(file)
    assert header.keys() == {"format", "lapwing", "model", "sha256"}
    assert header["format"] == FORMAT == 3
    assert header["model"]["class"] == "LPP"
    left = header["model"]["params"]["graph"]["params"]["left"]
    assert (left["class"], left["params"]["n_neighbors"], left["fitted"]) == ("KNN", 4, {})
    rest = json.dumps({key: header[key] for key in ("format", "lapwing", "model")}, sort_keys=True).encode()
    parts = [f"{name} float64 {arrays[name].shape}".encode() + arrays[name].tobytes() for name in sorted(arrays)]
    assert header["sha256"] == sha256(rest + b"".join(parts)).hexdigest()


def test_size(tmp_path):
    """Mean, components and under two kilobytes of text."""
    rng = np.random.RandomState(0)
    save(LPP(30, graph=7).fit(rng.standard_normal((300, 784))), tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 8 * (784 * 31 + 30) + 2000
