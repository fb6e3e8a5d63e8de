"""Model files: what is read back is what was written, and what was not written by lapwing is refused."""

import builtins
import errno
import importlib
import json
import os
import pickle
import struct
import subprocess
import sys
import tracemalloc
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import numpy as np
import oracles as o
import outside
import pytest
from helpers import literal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer
from sklearn.preprocessing import PowerTransformer
from sklearn.utils.validation import check_is_fitted

from lapwing import (
    DNE,
    GLPCA,
    L21PCA,
    LPCA,
    LPDP,
    LPI,
    LPP,
    MFA,
    MMC,
    NPE,
    OLPP,
    ONPP,
    TSA,
    FisherScore,
    KernelLPP,
    KernelNPE,
    LaplacianEigenmaps,
    LaplacianScore,
    RobustGLPCA,
    TangentialMaps,
    methods,
)
from lapwing.graphs import KNN, Graph, Pairs, Precomputed, Radius, Repulsion, SameClass
from lapwing.persistence import ModelFileError, load, save, to_onnx, to_torch
from lapwing.persistence._encoding import migrated
from lapwing.persistence._file import FORMAT, checksum
from lapwing.reducers import LinearReducer

safetensors = pytest.importorskip("safetensors")
from safetensors.numpy import load_file  # noqa: E402
from safetensors.numpy import save as packed  # noqa: E402

GOLDEN = Path(__file__).parent / "golden"
X, Y = o.blobs(40, 6)
X = np.abs(X)  # weights of terms, for LPI
NEW = np.abs(o.blobs(9, 6, seed=1)[0])
W = sparse.coo_array((np.ones(80), (np.r_[:40, np.r_[1:40, 0]], np.r_[np.r_[1:40, 0], :40])), shape=(40, 40))
KERNEL = X @ X.T

LINEAR = [LPP(), OLPP(), NPE(), ONPP(), MMC(), LPDP(), MFA(), DNE(), LPCA(), LPI(graph=5)]
FREE = [LaplacianEigenmaps(), TangentialMaps(), GLPCA(), RobustGLPCA(), L21PCA()]
DEFAULT = [*LINEAR, *FREE, KernelLPP(), KernelNPE(), TSA(image_shape=(2, 3)), LaplacianScore(), FisherScore()]
SPECIAL = [
    LPP(graph=KNN(4, t=2.5, weights="heat") - 0.2 * Repulsion(30), pca=0.95, scaling="constraint"),
    LPP(graph=(KNN(3) & SameClass()) + 0.5 * Radius(9.0), n_components=None, pca=None),
    LPP(graph=W.tocsr()),
    LPP(graph=Precomputed(W.tocsc().toarray())),
    LPP(graph=sparse.csc_matrix(W), pca=None),
    LPP(graph=KNN(4, metric="seuclidean", metric_params={"V": np.arange(1.0, 7.0)})),
    LPP(graph=KNN(4) + Pairs([[0, 1], [2, 3]], np.array([[4, 5]]))),
    LPP(np.int64(2), graph=KNN(np.int32(4), weights="binary"), pca=np.float32(0.5)),
    LPI(graph=5, neighbors="svd"),
    LPI(neighbors="svd", ridge=2),
    KernelLPP(landmarks=12, random_state=0),
    KernelNPE(kernel="poly", degree=2, gamma=0.1),
    GLPCA(beta=1.0),
    GLPCA(beta=0),
    LaplacianEigenmaps(graph=4, extension="barycentric"),
    TSA((2, None), image_shape=(3, -1), graph=4),
    LaplacianScore(3, graph=KNN(4)),
]


def named(value):
    return " ".join(repr(value).split())[:80]


def same(a, b):
    """Equal in type and in every bit, in whatever they hold."""
    assert type(a) is type(b)
    if isinstance(a, BaseEstimator | Graph):
        same(vars(a), vars(b))
    elif isinstance(a, dict):
        assert a.keys() - {"fit_times_"} == b.keys() - {"fit_times_"}  # which a file does not keep
        for key in a.keys() - {"fit_times_"}:
            same(a[key], b[key])
    elif isinstance(a, (list, tuple)):
        for left, right in zip(a, b, strict=True):
            same(left, right)
    elif sparse.issparse(a):
        assert a.shape == b.shape
        same(a.data, b.data)
        for part in ("indices", "indptr"):  # SciPy chooses their type
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.flags.c_contiguous == b.flags.c_contiguous
        np.testing.assert_array_equal(a, b, strict=True)
    else:
        assert a == b


def learnt(model):
    """All that a model holds, but for how long its fit took."""
    return {name: value for name, value in vars(model).items() if name != "fit_times_"}


def copied(model, folder):
    save(model, folder / "model.lapwing")
    return load(folder / "model.lapwing")


@pytest.fixture
def file(tmp_path):
    """A small model's file."""
    save(LPP(2, graph=KNN(4) - 0.2 * Repulsion(30)).fit(X, Y), tmp_path / "model.lapwing")
    return tmp_path / "model.lapwing"


def contents(path):
    """Header and arrays of a file, read without lapwing."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["lapwing"]), load_file(path)


def forge(path, header, arrays):
    """A file with a true checksum, whatever it holds."""
    header["sha256"] = checksum(header, arrays)
    path.write_bytes(packed(arrays, metadata={"lapwing": json.dumps(header)}))
    return path


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
    assert container.keys() == {"__metadata__", "components_", "eigenvalues_", "mean_"}
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


# What cannot be written


def weights(distances):
    return 1 / (1 + distances)


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (LPP(graph=KNN(4, weights=weights)), r"graph\.weights is <function weights.*has a name.*skops"),
        (
            LPP(graph=KNN(4) + KNN(3, search=KNeighborsTransformer(n_neighbors=3))),
            r"graph\.right\.search is KNeighbors",
        ),
        (KernelLPP(kernel=lambda a, b: a @ b), r"kernel is <function"),
        (KernelLPP(landmarks=5, random_state=np.random.RandomState(0)), r"random_state is RandomState"),
        (LPP(graph=KNN(4, metric_params={1: 2})), r"graph\.metric_params is \{1: 2\}"),
        (
            LPP(graph=KNN(4, metric_params={"V": np.ones(6, complex)})),
            r"graph\.metric_params\.0 is an array of complex128",
        ),
        (
            LPP(graph=KNN(4, metric_params={"V": np.array([X], object)})),
            r"graph\.metric_params\.0 is an array of object",
        ),
        pytest.param(
            LPP(graph=KNN(4, metric_params={"V": np.ones(6, np.longdouble)})),
            r"graph\.metric_params\.0 is an array of float",
            marks=pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="it is float64 here"),
        ),
    ],
    ids=lambda value: named(value)[:40],
)
def test_what_has_no_text_is_refused(estimator, match, tmp_path):
    model = LPP().fit(X, Y) if isinstance(estimator, LPP) else KernelLPP().fit(X, Y)
    model.set_params(**estimator.get_params(deep=False))
    with pytest.raises(ValueError, match=match):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", [PowerTransformer(), LinearReducer(graph=4), None, KNN()], ids=named)
def test_other_objects_are_refused(model, tmp_path):
    with pytest.raises(TypeError, match=r"is no estimator of lapwing.*skops"):
        save(model.fit(X) if isinstance(model, PowerTransformer) else model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_unfitted(tmp_path):
    with pytest.raises(NotFittedError):
        save(LPP(), tmp_path / "model")


# Writing


def full_disk(*args):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("earlier", [None, b"earlier"])
@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_nothing_is_left_of_a_failure(step, earlier, monkeypatch, tmp_path):
    path = tmp_path / "model.lapwing"
    if earlier:
        path.write_bytes(earlier)
    model = LPP().fit(X)
    if step == "write":

        class Full:
            def __init__(self, *args):
                self.file = open(*args)  # noqa: SIM115 (closed on exit)

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self.file.close()

            def write(self, data):
                self.file.write(data[:100])
                full_disk()

        monkeypatch.setattr("lapwing._replacing.open", Full, raising=False)
    else:
        monkeypatch.setattr(os, step, full_disk)
    with pytest.raises(OSError, match="No space left"):
        save(model, path)
    assert [entry.name for entry in tmp_path.iterdir()] == (["model.lapwing"] if earlier else [])
    assert earlier is None or path.read_bytes() == earlier


@pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX's")
def test_mode_and_link(tmp_path):
    """As a plain ``open`` would have it."""
    (tmp_path / "plain").touch()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    save(LPP().fit(X), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_mode == (tmp_path / "plain").stat().st_mode
    load(tmp_path / "link")


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        save(LPP().fit(X), tmp_path / "none" / "model")


# Versions


# What the parameters of the golden files mean today: those that came later have the value that acts as they did without.
MEANT = {
    "lpp.1": literal(LPP, 2, graph=KNN(3, symmetry="or") - 0.2 * Repulsion(9), pca="auto"),
    "kernel_landmarks.1": literal(KernelLPP, 2, graph=3, landmarks=8, random_state=0, gamma=0.1, pca="auto"),
    "laplacian_eigenmaps.1": literal(LaplacianEigenmaps, 2, graph=4),
    "tsa.1": literal(TSA, (2, 1), graph=3, image_shape=(2, 2), flatten=True),
    "lpi.1": literal(LPI, 2, graph=3, ridge="auto"),
    "laplacian_score.1": literal(LaplacianScore, 2, graph=3),
}


@pytest.mark.parametrize("name", [path.stem for path in sorted(GOLDEN.glob("*.lapwing"))])
def test_golden(name):
    expected = json.loads((GOLDEN / f"{name}.json").read_text())
    model = load(GOLDEN / f"{name}.lapwing")
    np.testing.assert_allclose(model.transform(np.array(expected["X"])), expected["Y"], rtol=1e-9, atol=1e-12)
    assert type(model) is type(MEANT[name])
    same(model.get_params(deep=False), MEANT[name].get_params(deep=False))


class Later(LinearReducer):
    """A method to which parameters were added after its files were written."""

    def __init__(self, n_components=2, *, graph=None, pca="auto", standardize="auto", ridge="auto", normalize="auto"):
        super().__init__(n_components, graph=graph, pca=pca, normalize=normalize)
        self.standardize = standardize
        self.ridge = ridge


@pytest.mark.parametrize("format", [1, 2])
@pytest.mark.parametrize("pca", [None, 0.9, "auto"])
def test_new_parameters_mean_what_was_done_without(format, pca):
    written = {"n_components": 3, "pca": pca} | ({"solver": "auto"} if format == 1 else {})
    before = {"standardize": False, "ridge": 0.0, "normalize": None}
    assert migrated(Later, written, format) == {"n_components": 3, "pca": pca} | before
    assert migrated(Later, written | {"ridge": 2.0}, format)["ridge"] == 2.0
    assert migrated(Later, written | {"ridge": "auto"}, format)["ridge"] == 0.0
    assert migrated(Later, written | {"ridge": "auto"}, format, fewer_columns=False)["ridge"] == "auto"


def test_parameters_of_other_classes_and_of_this_format_stay_as_they_are():
    assert migrated(Later, {"pca": None}, 3) == {"pca": None}
    assert migrated(KNN, {"n_neighbors": 3, "solver": 1}, 1) == {"n_neighbors": 3, "solver": 1}
    assert migrated(LaplacianScore, {"graph": 3}, 2) == {"graph": 3, "normalize": None}


def test_golden_files_are_there():
    assert {path.stem for path in GOLDEN.glob("*.lapwing")} == set(MEANT)


def test_additions_of_later_versions_are_ignored(file):
    """Attributes that a later version learns, and entries that say more."""
    header, arrays = contents(file)
    expected = load(file).transform(X)
    header |= {"lapwing": "99.0", "created": "2050-01-01", "extra": {"deep": [1, {"class": "Unknown"}]}}
    header["model"] |= {"note": "more"}
    header["model"]["params"]["graph"]["comment"] = 1
    header["model"]["fitted"] |= {"news_": {"array": "news_", "unit": "m"}, "_private": {"tuple": [1, "a"]}}
    model = load(forge(file, header, arrays | {"news_": np.arange(3), "unread": np.arange(4)}))
    np.testing.assert_array_equal(model.transform(X), expected)
    np.testing.assert_array_equal(model.news_, np.arange(3))
    assert model._private == (1, "a")


def test_parameters_that_came_later_have_their_defaults(file):
    header, arrays = contents(file)
    del header["model"]["params"]["scaling"]
    del header["model"]["params"]["graph"]["params"]["right"]["params"]["sigma"]
    model = load(forge(file, header, arrays))
    assert (model.scaling, model.graph.right.sigma) == (LPP().scaling, Repulsion().sigma)


# Damage


def test_cut_short(file):
    data = file.read_bytes()
    for length in [*range(0, len(data), 7), len(data) - 1]:
        file.write_bytes(data[:length])
        with pytest.raises(ModelFileError, match=r"model\.lapwing' is no model that lapwing can read: "):
            load(file)
    file.write_bytes(data + b"\0")
    with pytest.raises(ModelFileError):
        load(file)


def test_flipped_bytes(file):
    """Found by the checksum, unless what was hit carries no meaning."""
    data = file.read_bytes()
    expected = load(file).transform(X)
    rng = np.random.RandomState(0)
    refused = 0
    for _ in range(500):
        damaged = bytearray(data)
        for place in rng.randint(len(data), size=rng.choice([1, 1, 1, 2, 20])):
            damaged[place] ^= 1 << rng.randint(8)
        file.write_bytes(damaged)
        try:
            model = load(file)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(model.transform(X), expected)
    assert refused > 450


def test_every_bit_of_the_arrays_counts(file):
    data = file.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    for place in range(start, len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ModelFileError, match="checksum"):
            load(file)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04" + bytes(100),
        b"\x93NUMPY\x01\x00" + bytes(100),
        b"\x80\x04\x95" + bytes(100),  # pickle
        struct.pack("<Q", 2**31) + b"{}",
        struct.pack("<Q", 2**64 - 1) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 2) + b"\xff\xff",
    ],
    ids=repr,
)
def test_other_files(data, tmp_path):
    (tmp_path / "model").write_bytes(data)
    with pytest.raises(ModelFileError, match="is no model"):
        load(tmp_path / "model")


def test_another_programs_file(tmp_path):
    for metadata in (None, {"format": "pt"}):
        (tmp_path / "model").write_bytes(packed({"components_": X}, metadata=metadata))
        with pytest.raises(ModelFileError, match="another program"):
            load(tmp_path / "model")


# Intent


def container(text, data=b""):
    text = text.encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "entry",
    [
        '{"dtype": "F64", "shape": [1099511627776], "data_offsets": [0, 8796093022208]}',
        '{"dtype": "F64", "shape": [1099511627776], "data_offsets": [0, 8]}',
        '{"dtype": "F64", "shape": [4294967296, 4294967296, 8], "data_offsets": [0, 8]}',
        '{"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}',
        '{"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}',
        '{"dtype": "F64", "shape": [1], "data_offsets": [8, 0]}',
        '{"dtype": "O", "shape": [1], "data_offsets": [0, 8]}',
    ],
)
def test_sizes_are_checked_before_memory_is_taken(entry, tmp_path):
    (tmp_path / "model").write_bytes(container(f'{{"__metadata__": {{"lapwing": "{{}}"}}, "a": {entry}}}', bytes(8)))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="is no model"):
            load(tmp_path / "model")
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


FLOAT = '{"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (f'{{"__metadata__": {{"lapwing": "{{}}"}}, "a": {FLOAT}, "a": {FLOAT}}}', "a name twice"),
        (f'{{"__metadata__": {{"lapwing": "{{}}", "lapwing": "{{}}"}}, "a": {FLOAT}}}', "a name twice"),
        (f'{{"__metadata__": {{"lapwing": "[]"}}, "a": {FLOAT}}}', "indices must be"),
        (f'{{"__metadata__": {{"lapwing": "{{}}"}}, "a": {FLOAT}}}', "format"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": 1, \\"format\\": 1}}"}}, "a": {FLOAT}}}', "a name twice"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": NaN}}"}}, "a": {FLOAT}}}', "NaN for a number"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": -Infinity}}"}}, "a": {FLOAT}}}', "-Infinity for a number"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": 1e999}}"}}, "a": {FLOAT}}}', "1e999 for a number"),
        (f'{{"__metadata__": {{"lapwing": "{"[" * 200_000}"}}, "a": {FLOAT}}}', "is no model"),
        (f'{{"__metadata__": {{"lapwing": "{{\\"format\\": {"9" * 9999}}}"}}, "a": {FLOAT}}}', "digits"),
        (f'{{"a": {"[" * 200_000}}}', "recursion"),
    ],
    ids=lambda text: text[:60],
)
def test_headers(text, match, tmp_path):
    (tmp_path / "model").write_bytes(container(text, bytes(8)))
    with pytest.raises(ModelFileError, match=match):
        load(tmp_path / "model")


def change(keys, value):
    """A change of one entry of the header."""

    def apply(header, arrays):
        node = header
        for key in keys[:-1]:
            node = node[key]
        node[keys[-1]] = value(arrays) if callable(value) else value

    return apply


def replace(**changed):
    """A change of arrays."""
    return lambda header, arrays: arrays.update({name: value(arrays[name]) for name, value in changed.items()})


def named_array(name, array):
    """An array more."""
    return lambda header, arrays: arrays.update({name: array})


PARAMS, FITTED = ("model", "params"), ("model", "fitted")
SPARSE = {"data": "eigenvalues_", "indices": "indices", "indptr": "indptr"}


def sparse_graph(shape, indices, indptr, cls="csr_array"):
    def apply(header, arrays):
        arrays |= {"indices": np.array(indices), "indptr": np.array(indptr)}
        header["model"]["params"]["graph"] = SPARSE | {"shape": shape, "sparse": cls}

    return apply


HOSTILE = {
    "format 4": (change(["format"], 4), r"newer lapwing \(format 4, .*upgrade"),
    "format 0": (change(["format"], 0), "is no version"),
    "format true": (change(["format"], True), "is no version"),
    "format text": (change(["format"], "1"), "is no version"),
    "version": (change(["lapwing"], ["1"]), "is no version"),
    "no model": (lambda header, arrays: header.pop("model"), "model"),
    "a number": (change(["model"], 3), "holds int, which is no estimator"),
    "a graph": (change(["model"], {"class": "KNN", "params": {}, "fitted": {}}), "holds KNN, which is no estimator"),
    "eval": (change(["model", "class"], "eval"), "class 'eval' is unknown"),
    "os.system": (change(["model", "class"], "os.system"), "class 'os.system' is unknown"),
    "path": (change(["model", "class"], "../LPP"), "class '../LPP' is unknown"),
    "scikit-learn": (change(["model", "class"], "PowerTransformer"), "class 'PowerTransformer' is unknown"),
    "a module": (change(["model", "class"], "os:system"), "os has no estimator or graph system"),
    "attribute of a class": (
        change(["model", "class"], "outside:TimeLPP.fit"),
        "has no estimator or graph TimeLPP.fit",
    ),
    "what a module imports": (change(["model", "class"], "outside:KNN"), "outside has no estimator or graph KNN"),
    "no estimator": (change(["model", "class"], "outside:Recording"), "outside has no estimator or graph Recording"),
    "graph from outside": (
        change(["model"], {"class": "outside:Chain", "params": {}, "fitted": {}}),
        "holds Chain, which is no estimator",
    ),
    "base class": (change(["model", "class"], "lapwing.reducers._linear:LinearReducer"), "no estimator or graph"),
    "own by module": (change(["model", "class"], "lapwing.methods._locality:LPP"), "no estimator or graph"),
    "another scikit-learn": (change(["model", "class"], "sklearn.decomposition._pca:PCA"), "no estimator or graph PCA"),
    "not imported": (change(["model", "class"], "antigravity:LPP"), "first: import antigravity"),
    "no module": (change(["model", "class"], ":LPP"), "class ':LPP' is unknown"),
    "two modules": (change(["model", "class"], "a:b:LPP"), "class 'a:b:LPP' is unknown"),
    "a command": (change(["model", "class"], "os; rm -r:LPP"), "class 'os; rm -r:LPP' is unknown"),
    "parameter of an outsider": (change(["model", "class"], "outside:TimeLPP"), "TimeLPP has no parameters"),
    "dotted": (change(["model", "class"], "lapwing.LPP"), "class 'lapwing.LPP' is unknown"),
    "class list": (change(["model", "class"], ["LPP"]), "unhashable"),
    "another class": (change(["model", "class"], "LaplacianScore"), "has no parameters"),
    "free class": (change(["model", "class"], "KernelNPE"), "has no parameters"),
    "parameter": (change([*PARAMS, "whiten"], True), r"no parameters \['whiten'\]; a newer"),
    "parameter self": (change([*PARAMS, "self"], True), "no parameters"),
    "params list": (change(PARAMS, [1]), "attribute"),
    "missing parameter": (
        change([*PARAMS, "graph"], {"class": "Precomputed", "params": {}, "fitted": {}}),
        "missing 1 required",
    ),
    "method": (change([*FITTED, "transform"], 1), "cannot have the fitted attribute 'transform'"),
    "property": (change([*FITTED, "_n_features_out"], 1), "cannot have the fitted attribute"),
    "dunder": (change([*FITTED, "__class__"], 1), "cannot have the fitted attribute"),
    "protocol": (change([*FITTED, "__array_interface__"], {"dict": {}}), "cannot have the fitted attribute"),
    "dict": (change([*FITTED, "__dict__"], {"dict": {}}), "cannot have the fitted attribute"),
    "attribute path": (change([*FITTED, "../x_"], 1), "cannot have the fitted attribute"),
    "no mean": (lambda header, arrays: header["model"]["fitted"].pop("mean_"), "mean_"),
    "no components": (lambda header, arrays: header["model"]["fitted"].pop("components_"), "not fitted"),
    "no features": (lambda header, arrays: header["model"]["fitted"].pop("n_features_in_"), "n_features_in_"),
    "mean is text": (change([*FITTED, "mean_"], "abc"), "has no attribute"),
    "mean is strings": (
        change([*FITTED, "mean_"], {"strings": list("abcdef")}),
        "mean_, of shape .* object, does not fit",
    ),
    "strings of numbers": (change([*FITTED, "mean_"], {"strings": [1] * 6}), "hold something else"),
    "feature names": (change([*FITTED, "feature_names_in_"], {"strings": ["a"]}), "feature_names_in_, of shape"),
    "image shape": (change([*FITTED, "image_shape_"], {"tuple": [2, 4]}), r"image_shape_=\(2, 4\) does not fit"),
    "image shape list": (change([*FITTED, "image_shape_"], [2, 3]), "must be sides"),
    "image shape text": (change([*FITTED, "image_shape_"], {"tuple": ["2", 3]}), "must be sides"),
    "image shape flat": (change([*FITTED, "image_shape_"], {"tuple": [6]}), "must be sides"),
    "n_features_in_": (change([*FITTED, "n_features_in_"], 7), "does not fit n_features_in_"),
    "n_features_in_ float": (change([*FITTED, "n_features_in_"], 6.0), "n_features_in_=6.0 must be"),
    "n_features_in_ negative": (change([*FITTED, "n_features_in_"], -6), "n_features_in_=-6 must be"),
    "components row": (replace(components_=lambda V: V[0]), r"components_, of shape \(6,\)"),
    "components turned": (replace(components_=lambda V: V.T.copy()), r"components_, of shape \(6, 2\)"),
    "components cube": (replace(components_=lambda V: V[..., None]), r"components_, of shape \(2, 6, 1\)"),
    "components int": (replace(components_=lambda V: V.astype(int)), "components_, of shape .* int64"),
    "mean short": (replace(mean_=lambda m: m[:5]), r"mean_, of shape \(5,\)"),
    "complex": (replace(mean_=lambda m: m.astype(np.complex64)), "type C64, which no model has"),
    "bool 2": (named_array("b", np.array([0, 2], np.uint8).view(bool)), "neither true nor false"),
    "missing array": (change([*FITTED, "mean_"], {"array": "none"}), "none"),
    "scalar of nothing": (
        lambda header, arrays: (
            arrays.update(empty=np.zeros(0)),
            header["model"]["params"].update(pca={"scalar": "empty"}),
        ),
        "out of bounds",
    ),
    "array names list": (change([*FITTED, "mean_"], {"array": ["mean_"]}), "unhashable"),
    "unknown kind": (change([*FITTED, "x_"], {"pickle": "gASV"}), r"keys \['pickle'\] is of no known kind"),
    "two kinds": (change([*FITTED, "x_"], {"tuple": [], "dict": {}}), "of no known kind"),
    "up": (named_array("../x", np.arange(3.0)), r"'\.\./x' is no name"),
    "absolute": (named_array("/etc/passwd", np.arange(3.0)), "is no name"),
    "windows": (named_array("C:\\x", np.arange(3.0)), "is no name"),
    "dots": (named_array("a..b", np.arange(3.0)), "is no name"),
    "sparse index": (sparse_graph([2, 6], [0, 6], [0, 1, 2]), "ind"),
    "sparse negative": (sparse_graph([2, 6], [0, -1], [0, 1, 2]), "ind"),
    "sparse pointer": (sparse_graph([2, 6], [0, 1], [0, 2, 1]), "ind"),
    "sparse pointer far": (sparse_graph([2, 6], [0, 1], [0, 1, 99]), "ind"),
    "sparse rows": (sparse_graph([2**60, 6], [0, 1], [0, 1, 2]), "ind"),
    "sparse shape": (sparse_graph([-2, 6], [0, 1], [0, 1, 2]), "'shape'|negative"),
    "sparse class": (sparse_graph([2, 6], [0, 1], [0, 1, 2], "lil_matrix"), "lil_matrix"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_true_checksum_is_not_enough(name, file):
    header, arrays = contents(file)
    apply, match = HOSTILE[name]
    apply(header, arrays)
    with pytest.raises(ModelFileError, match=match):
        load(forge(file, header, arrays))


ARRAYS = [
    (OLPP(), ["components_", "mean_", "eigenvalues_"]),
    (KernelNPE(), ["X_fit_", "dual_coef_", "intercept_", "eigenvalues_"]),
    (KernelLPP(landmarks=9), ["nystroem_.components_", "nystroem_.normalization_", "components_", "mean_"]),
    (TangentialMaps(), ["X_fit_", "embedding_", "eigenvalues_"]),
    (GLPCA(), ["X_fit_", "embedding_", "components_", "mean_"]),
    (TSA(image_shape=(2, 3)), ["components_.0", "components_.1", "mean_"]),
    (FisherScore(), ["support_", "scores_"]),
]


@pytest.mark.parametrize(("estimator", "names"), ARRAYS, ids=named)
def test_every_side_of_every_array_is_checked(estimator, names, tmp_path):
    path = tmp_path / "model"
    model = clone(estimator).fit(X, Y)
    save(model, path)
    header, arrays = contents(path)
    for name in names:
        if name not in arrays:  # it occurs twice, and was met first in _nystroem
            name = name.replace("nystroem_", "_nystroem")
        for axis in range(arrays[name].ndim):
            short = np.delete(arrays[name], 0, axis)
            with pytest.raises(ModelFileError, match="not fit"):
                load(forge(path, header, arrays | {name: short}))
    load(forge(path, header, arrays))


def test_image_shape_is_kept(file):
    header, arrays = contents(file)
    header["model"]["fitted"]["image_shape_"] = {"tuple": [2, 3]}
    assert load(forge(file, header, arrays)).image_shape_ == (2, 3)


def test_a_folder_is_no_model(tmp_path):
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        load(tmp_path)


def test_images_are_as_large_as_the_features(tmp_path):
    path = tmp_path / "model"
    save(TSA(image_shape=(2, 3)).fit(X), path)
    header, arrays = contents(path)
    header["model"]["fitted"]["n_features_in_"] = 5
    with pytest.raises(ModelFileError, match="not fit"):
        load(forge(path, header, arrays))


def test_precomputed_kernel_is_checked(tmp_path):
    path = tmp_path / "model"
    save(KernelLPP(kernel="precomputed", graph=4).fit(KERNEL), path)
    header, arrays = contents(path)
    with pytest.raises(ModelFileError, match="dual_coef_, of shape"):
        load(forge(path, header, arrays | {"dual_coef_": arrays["dual_coef_"][:, 1:].copy()}))


def test_deep_nesting(file):
    header, arrays = contents(file)
    header["model"]["fitted"]["deep_"] = "HERE"
    text = json.dumps(header).replace('"HERE"', "[" * 100_000 + "]" * 100_000)
    file.write_bytes(packed(arrays, metadata={"lapwing": text}))
    with pytest.raises(ModelFileError, match="is no model"):
        load(file)


def nodes(node):
    """Every place of a JSON value: a container and a key of it."""
    keys = node.keys() if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in list(keys):
        yield node, key
        yield from nodes(node[key])


@pytest.mark.parametrize(
    "estimator", [LPP(graph=KNN(4) + 0.1 * Precomputed(W)), KernelLPP(landmarks=9), TSA(image_shape=(2, 3))], ids=named
)
def test_headers_put_together_at_random(estimator, tmp_path):
    """Each is refused by an error of ours, or is a model, which takes as many features as it says."""
    path = tmp_path / "model"
    save(estimator.fit(X, Y), path)
    header, arrays = contents(path)
    rng, text = np.random.RandomState(0), json.dumps(header)
    pool = [
        None,
        True,
        -1,
        0,
        2**70,
        1.5,
        "",
        "LPP",
        "mean_",
        [],
        {},
        [[]],
        {"array": "mean_"},
        {"float": "x"},
        {"class": "KNN"},
    ]
    outcomes = []
    for _ in range(400):
        changed = json.loads(text)
        places = list(nodes(changed["model"]))
        for _ in range(rng.randint(1, 3)):
            (node, key), (other, its) = (places[rng.randint(len(places))] for _ in range(2))
            moved = (
                other[its] if isinstance(other, list) or its in other else None
            )  # the first change may have removed it
            value = [*pool, json.loads(json.dumps(moved))][rng.randint(len(pool) + 1)]
            if isinstance(node, dict) and rng.rand() < 0.3:
                node.pop(key, None)
            elif isinstance(node, dict) or key < len(node):
                node[key] = value
        try:
            model = load(forge(path, changed, arrays))
        except ModelFileError:
            outcomes.append("refused")
        else:
            assert type(model) in (type(estimator), LPP)
            assert model.n_features_in_ == 6
            outcomes.append("read")
    assert set(outcomes) == {"refused", "read"}


@pytest.mark.parametrize("estimator", [LPP(graph=4), outside.TimeLPP(graph=outside.Chain())], ids=named)
def test_reading_runs_no_code(estimator, monkeypatch, tmp_path):
    """Neither pickle nor an import has a part in it."""
    save(estimator.fit(X), tmp_path / "model")
    load(tmp_path / "model")  # what is imported lazily is imported
    for module, name in (
        (pickle, "loads"),
        (pickle, "load"),
        (builtins, "eval"),
        (builtins, "exec"),
        (importlib, "import_module"),
    ):
        monkeypatch.setattr(module, name, full_disk)
    load(tmp_path / "model")


TRAP = """
open(__file__ + ".imported", "w").close()
from outside import TimeLPP as Trapped
"""


@pytest.mark.parametrize("name", ["trap:Trapped", "trap:TimeLPP", "package.trap:Trapped", "trap:trap.Trapped"])
def test_a_forged_name_imports_nothing(name, file, monkeypatch, tmp_path):
    (tmp_path / "package").mkdir()
    for path in (tmp_path / "trap.py", tmp_path / "package" / "__init__.py", tmp_path / "package" / "trap.py"):
        path.write_text(TRAP)
    monkeypatch.syspath_prepend(tmp_path)
    header, arrays = contents(file)
    for node in (header["model"], header["model"]["params"]["graph"]):
        own, node["class"] = node["class"], name
        with pytest.raises(ModelFileError, match=f"import {name.split(':')[0]}, or "):
            load(forge(file, header, arrays))
        node["class"] = own
    assert not list(tmp_path.rglob("*.imported"))
    importlib.import_module("trap")  # it would have worked
    assert list(tmp_path.rglob("*.imported"))
    del sys.modules["trap"]


def test_a_forged_name_asks_no_module_for_anything(file, monkeypatch):
    """A module may import what it is asked for, as lapwing does."""

    class Lazy(ModuleType):
        def __getattribute__(self, name):
            raise AssertionError(name)

    monkeypatch.setitem(sys.modules, "lazy", Lazy("lazy"))
    header, arrays = contents(file)
    header["model"]["class"] = "lazy:LPP"
    with pytest.raises(ModelFileError, match="lazy has no estimator or graph LPP"):
        load(forge(file, header, arrays))


# Without the libraries


@pytest.mark.parametrize(
    ("library", "call", "extra"),
    [
        ("safetensors", lambda model, path: save(model, path), "model"),
        ("safetensors", lambda model, path: load(path), "model"),
        ("onnx", lambda model, path: to_onnx(model), "onnx"),
        ("torch", lambda model, path: to_torch(model), "torch"),
    ],
)
def test_missing_libraries_are_named(library, call, extra, monkeypatch, tmp_path):
    for module in (library, f"{library}.numpy"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"pip install 'lapwing\[{extra}\]'"):
        call(LPP().fit(X), tmp_path / "model")


# Other programs


def run(model, rows):
    runtime = pytest.importorskip("onnxruntime")
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        ["Y"], {"X": rows}
    )[0]


@pytest.mark.parametrize("estimator", [*LINEAR, LaplacianScore(), FisherScore(2)], ids=named)
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_onnx(estimator, offset, tmp_path):
    onnx = pytest.importorskip("onnx")
    offset = 0.0 if isinstance(estimator, LPI) else offset  # far from 0 all documents are alike
    model = clone(estimator).fit(X + offset, Y)
    to_onnx(model, tmp_path / "model.onnx")
    graph = onnx.load(tmp_path / "model.onnx")
    for rows in (NEW + offset, NEW[:1] + offset, np.zeros((1, 6))):
        rows = rows.astype(np.float32)
        expected = model.transform(rows)
        found = run(graph, rows)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    [X_info], [Y_info] = graph.graph.input, graph.graph.output
    shapes = [[size.dim_value for size in info.type.tensor_type.shape.dim] for info in (X_info, Y_info)]
    assert shapes == [[0, 6], [0, expected.shape[1]]]


@pytest.mark.parametrize("estimator", LINEAR[:-1], ids=named)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_torch(estimator, dtype):
    torch = pytest.importorskip("torch")
    model = clone(estimator).fit(X.astype(dtype), Y)
    layer = to_torch(model)
    assert type(layer) is torch.nn.Linear
    found = layer(torch.from_numpy(NEW.astype(dtype))).detach().numpy()
    assert found.dtype == dtype
    tol = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found, model.transform(NEW.astype(dtype)), rtol=tol, atol=10 * tol)
    with torch.no_grad():
        layer.weight.zero_()  # a copy: the estimator stays as it was
    assert model.components_.any()


@pytest.mark.parametrize("estimator", [*FREE, KernelLPP(), TSA(image_shape=(2, 3)), PowerTransformer()], ids=named)
@pytest.mark.parametrize("export", [to_onnx, to_torch])
def test_what_is_not_linear_is_refused(estimator, export):
    pytest.importorskip("onnx")
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match=rf"{type(estimator).__name__} is no linear method .*{export.__name__}"):
        export(clone(estimator).fit(X))


def test_export_needs_a_fit_and_rows_as_they_are():
    pytest.importorskip("onnx")
    pytest.importorskip("torch")
    for export in (to_onnx, to_torch):
        with pytest.raises(NotFittedError):
            export(LPP())
    with pytest.raises(TypeError, match="unit length"):
        to_torch(LPI(graph=5).fit(X))
    with pytest.raises(TypeError, match="no linear method"):
        to_torch(FisherScore().fit(X, Y))


def test_export_from_outside():
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    model = outside.TimeLPP(2).fit(X)
    np.testing.assert_allclose(run(to_onnx(model), NEW.astype(np.float32)), model.transform(NEW), rtol=1e-4, atol=1e-5)
    for export in (to_onnx, to_torch):
        with pytest.raises(TypeError, match="Stubborn has a transform of its own"):
            export(outside.Stubborn(2).fit(X))


def test_a_failed_export_leaves_nothing(monkeypatch, tmp_path):
    pytest.importorskip("onnx")
    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        to_onnx(LPP().fit(X), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
