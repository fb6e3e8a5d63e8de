"""Model files on disk: what is refused, what a failure leaves, and damage."""

import os
import struct

import numpy as np
import pytest
from model_files import X, Y, full_disk, named, packed
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer
from sklearn.preprocessing import PowerTransformer

from lapwing import (
    LPP,
    KernelLPP,
)
from lapwing.graphs import KNN
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


def test_another_programs_file(tmp_path):
    for metadata in (None, {"format": "pt"}):
        (tmp_path / "model").write_bytes(packed({"components_": X}, metadata=metadata))
        with pytest.raises(ModelFileError, match="another program"):
            load(tmp_path / "model")
