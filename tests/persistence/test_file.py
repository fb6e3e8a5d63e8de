"""Model files on disk: what is refused, what a failure leaves, and damage."""

import os
import struct
import tracemalloc

import numpy as np
import pytest
from model_files import X, Y, contents, forge, full_disk, named, packed
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_union
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler

from lapwing import (
    GLPCA,
    L21PCA,
    LPP,
    TSA,
    DiffusionMaps,
    KernelLPP,
    LaplacianEigenmaps,
    RobustGLPCA,
    TangentialMaps,
)
from lapwing.graphs import KNN, Reconstruction
from lapwing.persistence import ModelFileError, load, save
from lapwing.reducers import LinearReducer

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

            def fileno(self):
                return self.file.fileno()

            def close(self):
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model")
    with pytest.raises(ModelFileError, match="model' is no file on disk"):
        load(tmp_path / "model")


def test_another_programs_file(tmp_path):
    for metadata in (None, {"format": "pt"}):
        (tmp_path / "model").write_bytes(packed({"components_": X}, metadata=metadata))
        with pytest.raises(ModelFileError, match="another program"):
            load(tmp_path / "model")


# Budgets


def peak(compute):
    """Bytes that are allocated at most."""
    tracemalloc.start()
    try:
        compute()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(path, said):
    with pytest.raises(ModelFileError, match=said) as raised:
        load(path)
    assert str(path) in str(raised.value)


def test_a_header_has_a_budget_that_is_checked_before_it_is_read(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(struct.pack("<Q", 90_000_000) + b"{")
    os.truncate(path, 95_000_000)
    assert (
        peak(lambda: refused(path, r"a header of 90,000,000 bytes, above the limit of 16,777,216.*working_mem")) < 1e6
    )


def test_the_budget_is_a_part_of_the_working_memory(file, tmp_path):
    model = load(file)
    with config_context(working_memory=0.05):
        refused(file, "above the limit of 819 ")
        with pytest.raises(ModelFileError, match=r"new' has a header of .* above the limit of 819 "):
            save(model, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    load(file)


BOMBS = {
    "texts": (LPP(), ("feature_names_in_",), {"strings": ["a"] * 6, "width": 10**9}),
    "categories": (
        OneHotEncoder(),
        ("categories_",),
        [{"strings": [str(i) for i in range(20_000)]}, *[{"strings": ["a"]}] * 20_000],
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_cannot_ask_for_much_memory(name, tmp_path):
    estimator, (attribute,), node = BOMBS[name]
    save(estimator.fit(X, Y), tmp_path / "model")
    header, arrays = contents(tmp_path / "model")
    header["model"]["fitted"][attribute] = node
    forge(tmp_path / "model", header, arrays)
    size = (tmp_path / "model").stat().st_size
    assert peak(lambda: refused(tmp_path / "model", "MiB, above the limit of 1,024 MiB")) < 5e6 + 64 * size


def test_clusters_are_read_in_no_time_whatever_a_file_says(tmp_path):
    """A forged number of starts or steps would never end."""
    save(KMeans(3, n_init=1, random_state=0).fit(X), tmp_path / "model")
    header, arrays = contents(tmp_path / "model")
    header["model"]["params"] |= {"n_init": 10**9, "max_iter": 10**9}
    header["model"]["default"] = []
    model = load(forge(tmp_path / "model", header, arrays))
    assert (model.n_init, model.max_iter) == (10**9, 10**9)
    assert model.predict(X).shape == (40,)


def test_no_more_processes_than_cores(tmp_path):
    save(make_union(LPP(1), LPP(2)).fit(X), tmp_path / "model")
    header, arrays = contents(tmp_path / "model")
    header["model"]["params"]["n_jobs"] = 10**9
    assert load(forge(tmp_path / "model", header, arrays)).n_jobs == -1
    for jobs in (0, 1e300, "all"):
        header["model"]["params"]["n_jobs"] = jobs
        refused(forge(tmp_path / "model", header, arrays), "no number of processes")


# Whatever is signed


FORGED = {
    "free map, indices": (TangentialMaps(), {"_linked": lambda a: a + 1}, "_linked"),
    "free map, indices twice": (GLPCA(), {"_linked": np.zeros_like}, "_linked"),
    "free map, indices of another type": (LaplacianEigenmaps(), {"_linked": lambda a: a.astype(float)}, "_linked"),
    "free map, NaN": (L21PCA(), {"embedding_": lambda a: a * np.nan}, "embedding_"),
    "free map, half precision": (GLPCA(), {"X_fit_": lambda a: a.astype(np.float16)}, "X_fit_"),
    "linear map, infinity": (LPP(), {"components_": lambda a: a + np.inf}, "components_"),
    "linear map, infinity in single precision": (
        LPP(),
        {"components_": lambda a: (a + np.inf).astype(np.float32)},
        "components_",
    ),
    "linear map, out of range": (LPP(), {"mean_": lambda a: a + 1e300}, "mean_"),
    "images, NaN": (TSA(image_shape=(2, 3)), {"components_.1": lambda a: a * np.nan}, "components_"),
    "kernel map, NaN": (KernelLPP(), {"X_fit_": lambda a: a * np.nan}, "X_fit_"),
    "no numbers": (LPP(), {"eigenvalues_": lambda a: a[:0]}, "eigenvalues_"),
    "divided by 0": (StandardScaler(), {"scale_": lambda a: 0 * a}, "scale_"),
    "divided by 0 in single precision": (
        StandardScaler(),
        {"scale_": lambda a: (0 * a).astype(np.float32)},
        "scale_",
    ),
    "neighbours out of range": (KNeighborsClassifier(2), {"rows": lambda a: a + 1e300}, "rows"),
    "no variance": (PCA(2), {"explained_variance_": lambda a: -a}, "explained_variance_"),
}


@pytest.mark.parametrize("name", FORGED)
def test_arrays_that_do_not_fit_are_refused_when_they_are_read(name, tmp_path):
    estimator, changes, said = FORGED[name]
    save(clone(estimator).fit(X, Y), tmp_path / "model")
    header, arrays = contents(tmp_path / "model")
    arrays |= {key: change(arrays[key]) for key, change in changes.items()}
    refused(forge(tmp_path / "model", header, arrays), rf"{type(estimator).__name__}\.{said}|{said} does not fit")


@pytest.mark.parametrize(
    "rows", [X, X.astype(int), X.astype(np.float32), sparse.csr_matrix(X), sparse.csr_array(X)], ids=type
)
def test_neighbours_of_all_kinds(rows, tmp_path):
    model = KNeighborsClassifier(2).fit(rows, Y)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(rows), model.predict(rows))


def graph(**params):
    return {"class": "KNN", "params": params, "fitted": {}}


ATTRIBUTES = {
    "no graph": (LaplacianEigenmaps(), "graph_", "KNN", "graph_='KNN' is no graph"),
    "too many neighbours": (TangentialMaps(), "graph_", graph(n_neighbors=40), "more neighbours than the 40 samples"),
    "no neighbours": (TangentialMaps(), "graph_", graph(n_neighbors="5"), "no model"),
    "a metric that there is not": (GLPCA(), "graph_", graph(metric="none"), "metric='none'"),
    "a width of nothing": (LaplacianEigenmaps(), "graph_", graph(t=-1.0), r"t=-1\.0 must be"),
    "beta": (GLPCA(), "beta_", 2.0, r"GLPCA\.beta_=2\.0 must be a number from 0 to 1"),
    "scales": (GLPCA(), "scales_", {"tuple": [1.0, 0.0]}, "scales_"),
    "alpha": (RobustGLPCA(), "alpha_", {"float": "nan"}, r"RobustGLPCA\.alpha_=nan must be"),
    "width of a kernel": (KernelLPP(), "gamma_", "wide", "kernel='rbf' cannot be evaluated"),
    "output": (LPP(), "_sklearn_output_config", {"dict": {"transform": "shell"}}, "output .* of LPP is unknown"),
    "eigenvalues of images": (TSA(image_shape=(2, 3)), "eigenvalues_", [1, 2], "eigenvalues_ is no array"),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_that_do_not_fit_are_refused_when_they_are_read(name, tmp_path):
    estimator, attribute, node, said = ATTRIBUTES[name]
    save(clone(estimator).fit(X, Y), tmp_path / "model")
    header, arrays = contents(tmp_path / "model")
    header["model"]["fitted"][attribute] = node
    refused(forge(tmp_path / "model", header, arrays), said)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_densities_that_new_rows_would_be_divided_by(value, tmp_path):
    save(DiffusionMaps().fit(X), tmp_path / "model")
    header, arrays = contents(tmp_path / "model")
    arrays["density_"][3] = value
    refused(forge(tmp_path / "model", header, arrays), "density_")


def test_a_graph_that_repels_more_than_it_attracts(tmp_path):
    model = GLPCA(graph=0.1 * KNN(3) - Reconstruction(3)).fit(X, Y)
    assert model._median_degree < 0
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(X), model.transform(X))


def test_what_could_not_be_read_is_not_written(tmp_path):
    model = LPP().fit(X)
    model.mean_ = model.mean_ * np.nan
    with pytest.raises(ValueError, match=r"LPP\.mean_"):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_what_a_file_says_does_not_reach_the_terminal(file):
    header, arrays = contents(file)
    header["model"]["class"] = "\x1b[2J\nLPP"
    refused(forge(file, header, arrays), r"class '\\x1b\[2J\\nLPP' is unknown")
    header["model"] = {"class": "LPP", "params": {"\x1b": 1}, "fitted": {}}
    with pytest.raises(ModelFileError) as raised:
        load(forge(file, header, arrays))
    assert str(raised.value).isprintable()
