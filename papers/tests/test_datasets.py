"""The toy data of the papers, and the real data sets: on made-up files everywhere, on the real ones in LAPWING_DATA."""

import inspect
import os
import pickle
import re
from dataclasses import replace
from hashlib import sha256
from http.client import IncompleteRead
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets
from helpers import each
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import Bunch

from lapwing_papers import datasets
from lapwing_papers.datasets import available, get_data_home, load, make_patch, make_perturbed_line, make_scherk
from lapwing_papers.datasets._fallbacks import Fallback
from lapwing_papers.datasets._loaders import _content
from lapwing_papers.datasets._table import ROWS, Row

HEIGHT = -np.log(np.cos(0.95 * np.pi / 2))


def height(x, y, b):
    return (np.log(np.cos(b * x)) - np.log(np.cos(b * y))) / b


@pytest.mark.parametrize("b", [1.0, 0.3, 4])
@pytest.mark.parametrize("margin", [0.05, 0.3])
def test_scherk_equation(b, margin):
    X, params = make_scherk(2000, b=b, margin=margin, random_state=0)
    np.testing.assert_array_equal(X[:, :2], params)
    np.testing.assert_allclose(X[:, 2], height(*params.T, b), atol=1e-12 / b)
    edge = (1 - margin) * np.pi / 2 / b
    assert np.abs(params).max() < edge
    assert np.abs(params).max() > 0.99 * edge
    np.testing.assert_allclose(params.mean(axis=0), 0, atol=0.05 * edge)
    np.testing.assert_allclose(params.std(axis=0), edge / np.sqrt(3), rtol=0.05)


def test_scherk_default_is_the_paper():
    X, params = make_scherk(random_state=0)
    assert X.shape == (1200, 3)
    assert params.shape == (1200, 2)
    assert 2 < np.abs(X[:, 2]).max() < HEIGHT < 2.55


def test_scherk_noise():
    X, params = make_scherk(3000, noise=0.1, random_state=3)
    clean, same = make_scherk(3000, random_state=3)
    np.testing.assert_array_equal(params, same)
    np.testing.assert_allclose((X - clean).std(axis=0), 0.1, rtol=0.05)
    spoilt, _ = make_scherk(3000, noise=0.1, n_outliers=5, random_state=3)
    np.testing.assert_array_equal(spoilt[:-5], X[:-5])


@pytest.mark.parametrize("b", [1.0, 2.5])
def test_scherk_outliers_are_off_the_surface_and_last(b):
    X, params = make_scherk(300, b=b, n_outliers=40, random_state=1)
    clean, _ = make_scherk(300, b=b, random_state=1)
    np.testing.assert_array_equal(X[:-40], clean[:-40])
    np.testing.assert_array_equal(X[:, :2], params)
    off = X[-40:, 2] - height(*params[-40:].T, b)
    np.testing.assert_allclose(np.abs(off), 0.5 / b)
    assert {-1.0, 1.0} == set(np.sign(off))
    assert np.abs(X[-40:, 2]).max() < HEIGHT / b
    side = np.linspace(-1.49, 1.49, 300) / b
    x, y = (values.ravel() for values in np.meshgrid(side, side))
    surface = np.column_stack([x, y, height(x, y, b)])
    nearest = [np.sqrt(((surface - point) ** 2).sum(axis=1).min()) for point in X[-40:]]
    assert min(nearest) > 0.3 / b


def test_scherk_displacement():
    X, params = make_scherk(20, n_outliers=20, displacement=1.5, random_state=0)
    np.testing.assert_allclose(np.abs(X[:, 2] - height(*params.T, 1)), 1.5)


@pytest.mark.parametrize("make", [make_scherk, make_perturbed_line])
def test_the_seed_decides(make):
    for seed in (4, np.random.RandomState(4)):
        np.testing.assert_array_equal(make(random_state=4)[0], make(random_state=seed)[0])
    assert (make(random_state=4)[0] != make(random_state=5)[0]).all()
    assert make(1, random_state=0)[0].shape[0] == 1


@pytest.mark.parametrize("n", [20, 21])
def test_perturbed_line(n):
    X, direction = make_perturbed_line(n, random_state=0)
    normal = np.array([-direction[1], direction[0]])
    np.testing.assert_allclose(np.linalg.norm(direction), 1)
    along = X @ direction
    assert np.abs(along).max() < 10
    assert along[0] == along.max()
    assert along[1] == along.min()
    assert (np.diff(np.abs(along[::2] - along[-1])) < 0).all()  # inwards
    assert np.abs(X @ normal).max() < 1.5
    for n_perturbed in (1, 2, 3):
        moved, same = make_perturbed_line(n, n_perturbed=n_perturbed, random_state=0)
        np.testing.assert_array_equal(same, direction)
        np.testing.assert_array_equal(moved[n_perturbed:], X[n_perturbed:])
        shift = (moved - X)[:n_perturbed]
        np.testing.assert_allclose(shift @ direction, 0, atol=1e-12)
        np.testing.assert_allclose(shift @ normal, [10, -10, 10][:n_perturbed])


@pytest.mark.parametrize("seed", range(5))
def test_perturbed_points_turn_pca(seed):
    cosines = []
    for n_perturbed in (0, 1, 2):
        X, direction = make_perturbed_line(n_perturbed=n_perturbed, random_state=seed)
        cosines.append(abs(PCA(1).fit(X).components_[0] @ direction))
    assert cosines[0] > 0.998 > cosines[1] > cosines[2]


def test_patch():
    X, perturbed = make_patch()
    assert X.shape == (6, 2)
    assert X[:, 1].argmin() == perturbed
    five = np.delete(X, perturbed, axis=0)
    np.testing.assert_allclose(np.abs(PCA(1).fit(five).components_[0]), [1, 0], atol=1e-12)
    assert abs(PCA(1).fit(X).components_[0, 0]) < np.cos(np.radians(5))  # the sixth turns it
    X[:] = 0
    assert make_patch()[0].any()


@each(
    ("make", "name", "value"),
    [
        *(
            (make, "n_samples", value)
            for make in (make_scherk, make_perturbed_line)
            for value in (0, -3, 2.5, "10", True)
        ),
        *((make_scherk, "b", value) for value in (0, -1, np.inf, np.nan, "1", None)),
        *((make_scherk, "margin", value) for value in (0, 1, -0.1, np.nan, "0", None)),
        *((make_scherk, "noise", value) for value in (-0.1, np.inf, np.nan, None)),
        *((make_scherk, "n_outliers", value) for value in (-1, 1.5, 1201, None)),
        *((make_scherk, "displacement", value) for value in (0, -1, np.nan)),
        *((make_perturbed_line, "n_perturbed", value) for value in (-1, 0.5, 21)),
        *((make_perturbed_line, "length", value) for value in (0, -1, np.inf)),
        *((make_perturbed_line, "width", value) for value in (-1, np.nan)),
        *((make_perturbed_line, "distance", value) for value in (0, "far")),
    ],
)
def test_bad_parameters(make, name, value):
    with pytest.raises(ValueError, match=rf"{name}={value!r} "):
        make(**{name: value})


FILE_ROWS = [row for row in ROWS if row.files]
BY_NAME = {(row.name, row.version): row for row in ROWS}


def label(row):
    return f"{row.name}-{row.version}"


def real(name, version=None, **options):
    """A data set of LAPWING_DATA, never from elsewhere."""
    row = next(row for row in ROWS if row.name == name and version in (None, row.version))
    folder = os.environ.get("LAPWING_DATA")
    if not (folder and all(Path(folder, file).exists() for file in row.files)):
        pytest.skip(f"{' and '.join(row.files)} not in LAPWING_DATA")
    return load(name, version=version, download_if_missing=False, **options)


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A table of one dense and one sparse set, their files in a folder: the table's rows and the folder."""
    rng = np.random.RandomState(0)
    X, y = rng.randint(0, 200, (6, 4)).astype(np.uint8), np.arange(6) % 3
    extra = {"image_shape": [2, 2], "class_names": ["a", "b", "c"], "n_train": 4}
    np.savez(tmp_path / "Toy.npz", X=X, y=y, **extra)
    sparse.save_npz(tmp_path / "Words_X.npz", sparse.csr_matrix(X))
    np.savez(tmp_path / "Words_y.npz", y=y, vocabulary=["u", "v", "w", "x"])
    rows = (
        Row("toy", "2x2", "Toy faces", checksums(tmp_path, "Toy.npz"), (6, 4), "uint8", 3, (2, 2), "an attic"),
        Row("words", "all", "Words", checksums(tmp_path, "Words_X.npz", "Words_y.npz"), (6, 4), "uint8", 3),
    )
    use(monkeypatch, *rows)
    monkeypatch.setenv("LAPWING_DATA", str(tmp_path))
    return rows, tmp_path, X, y


def checksums(folder, *files):
    return {file: sha256((folder / file).read_bytes()).hexdigest() for file in files}


def use(monkeypatch, *rows):
    monkeypatch.setattr(datasets._loaders, "ROWS", rows)


@each("row", FILE_ROWS)
def test_files_are_what_the_table_says(row):
    bunch = real(row.name, row.version)
    assert bunch.data.shape == row.shape
    assert bunch.data.dtype == row.dtype
    assert [Path(file).name for file in bunch.filenames] == list(row.files)
    if row.n_classes:
        assert bunch.target.dtype == np.int64
        np.testing.assert_array_equal(np.unique(bunch.target), np.arange(row.n_classes))
        assert len(bunch.target) == row.shape[0]
    else:
        assert bunch.target is None
    if row.image_shape:
        assert bunch.images.shape == (row.shape[0], *row.image_shape)
    for text in (row.title, row.origin, row.terms, row.oddities):
        assert text in bunch.DESCR


@pytest.mark.parametrize("row", [row for row in FILE_ROWS if row.content], ids=label)
def test_content_checksums_are_those_of_the_files(row):
    assert _content(real(row.name, row.version)) == row.content


def test_image_shapes_and_views_are_those_of_the_files():
    for row in FILE_ROWS:
        if row.image_shape and row.name != "mfeat":
            with np.load(real(row.name, row.version).filenames[0], allow_pickle=False) as arrays:
                assert tuple(arrays["image_shape"]) == row.image_shape
    whole = real("mfeat")
    for view, start, stop in zip(whole.view_names, whole.view_starts, whole.view_starts[1:], strict=False):
        np.testing.assert_array_equal(real("mfeat", view).data, whole.data[:, start:stop])


@pytest.mark.parametrize(
    ("name", "version", "accuracy"),
    [("orl", "32x32", 0.948), ("yale", "32x32", 0.649), ("umist", "32x32", 0.993), ("libras", None, 0.872)],
)
def test_labels_belong_to_rows(name, version, accuracy):
    """Leave-one-out accuracy of the nearest neighbour, as published with the files."""
    X, y = real(name, version, return_X_y=True)
    nearest = NearestNeighbors(n_neighbors=1).fit(X.astype(float)).kneighbors(return_distance=False)[:, 0]
    score = np.mean(y[nearest] == y)
    assert score == pytest.approx(accuracy, abs=6e-4)


def test_what_else_files_hold():
    news = real("20newsgroups")
    assert sparse.issparse(news.data)
    assert news.feature_names.shape == news.data.shape[1:]
    assert news.is_test.sum() == 7532
    assert news.target_names[0] == "alt.atheism"
    assert real("mnist").n_train == 60000
    assert list(real("binalpha").target_names) == list("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    assert list(real("glove").words[:2]) == ["the", ","]
    small, large = real("umist", "32x32"), real("umist", "112x92")
    np.testing.assert_array_equal(small.target[large.row_in_575], large.target)


@pytest.mark.parametrize("name", ["orl", "yale", "yale_b", "pie", "ar", "umist", "frey", "tdt2"])
def test_research_use_is_said(name):
    for row in ROWS:
        assert (name != row.name) or ("research use only" in row.terms and "does not ship" in row.terms)
    assert "research use only" in getattr(datasets, f"load_{name}").__doc__


def test_table():
    assert len(BY_NAME) == len(ROWS)
    for row in ROWS:
        assert row.files or row.fallback
        assert row.origin or not row.files
        assert all(re.fullmatch("[0-9a-f]{64}", checksum) for checksum in row.files.values())
        assert row.image_shape is None or np.prod(row.image_shape) == row.shape[1]
        assert row.columns is None or row.columns.stop - row.columns.start == row.shape[1]


@pytest.mark.parametrize("name", dict.fromkeys(row.name for row in ROWS))
def test_a_function_a_data_set(name, monkeypatch):
    loader = getattr(datasets, f"load_{name}")
    assert loader.__name__ in datasets.__all__
    assert pickle.loads(pickle.dumps(loader)) is loader
    options = inspect.signature(load).parameters.keys() - {"name"}
    assert inspect.signature(loader).parameters.keys() == options
    asked = []
    monkeypatch.setattr(datasets._loaders, "load", lambda *args, **kwargs: asked.append((args, kwargs)))
    values = {option: object() for option in options}
    loader(**values)
    assert asked == [((name,), values)]
    for row in ROWS:
        assert row.name != name or f"{row.version!r}" in loader.__doc__


@pytest.mark.parametrize(("name", "original"), [("digits", load_digits), ("iris", load_iris)])
def test_built_in(name, original, monkeypatch):
    monkeypatch.setenv("LAPWING_DATA", "/no/such/folder")
    bunch, expected = load(name, download_if_missing=False), original()
    np.testing.assert_array_equal(bunch.data, expected.data)
    np.testing.assert_array_equal(bunch.target, expected.target)
    np.testing.assert_array_equal(bunch.target_names, expected.target_names)
    assert bunch.DESCR == expected.DESCR
    assert bunch.data.shape == BY_NAME[name, "default"].shape
    if name == "digits":
        np.testing.assert_array_equal(bunch.images, expected.images)


def test_dense_file(toy):
    _, folder, X, y = toy
    bunch = load("toy")
    np.testing.assert_array_equal(bunch.data, X)
    np.testing.assert_array_equal(bunch.target, y)
    np.testing.assert_array_equal(bunch.images[3], X[3].reshape(2, 2))
    assert bunch.data.dtype == np.uint8
    assert bunch.image_shape == (2, 2)
    assert type(bunch.n_train) is int
    assert bunch.n_train == 4
    assert list(bunch.target_names) == ["a", "b", "c"]
    assert bunch.filenames == [str(folder / "Toy.npz")]
    assert "6 samples x 4 features, uint8, 3 classes, images of 2 x 2" in bunch.DESCR
    again = load("toy", return_X_y=True)
    assert isinstance(again, tuple)
    np.testing.assert_array_equal(again[0], X)
    np.testing.assert_array_equal(again[1], y)


def test_sparse_files(toy):
    _, folder, X, y = toy
    bunch = load("words")
    assert sparse.issparse(bunch.data)
    np.testing.assert_array_equal(bunch.data.toarray(), X)
    np.testing.assert_array_equal(bunch.target, y)
    assert list(bunch.feature_names) == ["u", "v", "w", "x"]
    assert bunch.filenames == [str(folder / "Words_X.npz"), str(folder / "Words_y.npz")]
    assert "images" not in bunch


def test_columns_and_no_classes(toy, monkeypatch):
    (row, _), _, X, y = toy
    use(monkeypatch, replace(row, columns=slice(1, 3), shape=(6, 2), image_shape=None))
    part = load("toy")
    np.testing.assert_array_equal(part.data, X[:, 1:3])
    np.testing.assert_array_equal(part.target, y)
    use(monkeypatch, replace(row, n_classes=0))
    assert load("toy").target is None
    assert load("toy", return_X_y=True)[1] is None


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "longer", "text"])
@pytest.mark.parametrize("file", ["Toy.npz", "Words_X.npz", "Words_y.npz"])
def test_damaged_file(toy, file, damage):
    rows, folder, *_ = toy
    path = folder / file
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "truncated": whole[:middle],
            "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "empty": b"",
            "longer": whole + b"\0",
            "text": b"<html>404</html>",
        }[damage]
    )
    name = "toy" if file == "Toy.npz" else "words"
    with pytest.raises(OSError, match="copy it again") as caught:
        load(name)
    expected = next(row for row in rows if row.name == name).files[file]
    for text in (str(path), expected, sha256(path.read_bytes()).hexdigest(), f"{path.stat().st_size} bytes"):
        assert text in str(caught.value)
    path.write_bytes(whole)  # nothing is remembered of the bad one
    load(name)


def test_damage_after_a_good_load_is_seen(toy):
    _, folder, *_ = toy
    load("toy")
    path = folder / "Toy.npz"
    times = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(OSError, match="damaged"):
        load("toy")


def test_nothing_is_parsed_before_its_checksum(toy, monkeypatch):
    _, folder, *_ = toy
    monkeypatch.setattr(np, "load", lambda *args, **kwargs: pytest.fail("parsed"))
    (folder / "Toy.npz").write_bytes(b"PK\3\4")
    with pytest.raises(OSError, match="damaged"):
        load("toy")


def test_no_pickles(toy, monkeypatch):
    (row, _), folder, *_ = toy
    np.savez(folder / "Toy.npz", X=np.array([{"a": 1}], dtype=object), y=np.zeros(1))
    use(monkeypatch, replace(row, files=checksums(folder, "Toy.npz")))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load("toy")


def test_missing_file(toy):
    _, folder, *_ = toy
    (folder / "Toy.npz").unlink()
    (folder / "Words_y.npz").unlink()
    with pytest.raises(FileNotFoundError) as caught:
        load("toy")
    for text in (
        f"Toy.npz not found in {folder}.",
        "Toy faces",
        "6 samples x 4 features",
        "an attic",
        "LAPWING_DATA",
        "data_home",
    ):
        assert text in str(caught.value)
    with pytest.raises(FileNotFoundError, match=re.escape(f"Words_y.npz not found in {folder}.")) as caught:
        load("words")
    assert "Words_X" not in str(caught.value)
    assert available() == {"toy": {"2x2": "missing"}, "words": {"all": "missing"}}


def test_missing_folder(toy):
    _, folder, *_ = toy
    for absent in (folder / "absent", folder / "Toy.npz"):  # no folder, and a file in its place
        with pytest.raises(FileNotFoundError, match=re.escape(f"{absent}, a folder that does not exist")):
            load("toy", data_home=absent)


def test_unreadable_file(toy):
    _, folder, *_ = toy
    (folder / "Toy.npz").unlink()
    (folder / "Toy.npz").mkdir()
    with pytest.raises(OSError, match=r"Toy.npz cannot be read \(Is a directory\); check") as caught:
        load("toy")
    assert isinstance(caught.value.__cause__, IsADirectoryError)


@pytest.mark.parametrize("call", ["read_bytes", "stat"])
def test_forbidden_file(toy, monkeypatch, call):
    def forbidden(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, call, forbidden)
        with pytest.raises(OSError, match=r"Toy.npz cannot be read \(Permission denied\); check"):
            load("toy")
    load("toy")


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("ORL", "'orl'"),
        ("mnst", "'mnist'"),
        ("fashion-mnist", "'fashion_mnist'"),
        ("yaleb", "'yale_b'"),
        ("newsgroups", "'20newsgroups'"),
    ],
)
def test_unknown_name(name, close):
    with pytest.raises(ValueError, match=f"name='{name}' is no data set; did you mean .*{close}"):
        load(name)


@pytest.mark.parametrize("name", ["zzzz", "", None, 3])
def test_hopeless_name(name):
    with pytest.raises(ValueError, match=rf"name={name!r} is no data set; it must be one of orl, yale, .*, iris"):
        load(name)


def test_versions(toy, monkeypatch):
    (row, _), *_ = toy
    use(monkeypatch, row, replace(row, version="7", title="Seven"))
    assert "Toy faces" in load("toy").DESCR
    assert "Seven" in load("toy", version="7").DESCR
    assert "Seven" in load("toy", version=7).DESCR
    with pytest.raises(ValueError, match="version='3x3' must be one of '2x2', '7'"):
        load("toy", version="3x3")
    assert available() == {"toy": {"2x2": "file", "7": "file"}}


def test_data_home(toy, tmp_path, monkeypatch):
    assert get_data_home() == tmp_path
    assert get_data_home("elsewhere") == Path("elsewhere")
    assert get_data_home(Path("~/x")) == Path.home() / "x"
    for unset in ("", None):
        monkeypatch.setenv("LAPWING_DATA", "") if unset == "" else monkeypatch.delenv("LAPWING_DATA")
        assert get_data_home() == Path.home() / "lapwing_data"
    monkeypatch.setenv("LAPWING_DATA", "~/data")
    assert get_data_home() == Path.home() / "data"
    assert load("toy", data_home=tmp_path).filenames == [str(tmp_path / "Toy.npz")]
    assert available(str(tmp_path))["toy"] == {"2x2": "file"}


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """No file is present, and every fetcher fails the test unless it is replaced."""
    monkeypatch.setenv("LAPWING_DATA", str(tmp_path))
    for fetcher in ("fetch_openml", "fetch_olivetti_faces", "fetch_20newsgroups"):
        monkeypatch.setattr(f"sklearn.datasets.{fetcher}", lambda **_: pytest.fail("fetched"))
    return tmp_path


def stub_openml(monkeypatch, answers):
    """``fetch_openml`` that has these data sets; returns the list of the numbers asked for."""
    asked = []

    def fetch(*, data_id, as_frame, parser):
        asked.append(data_id)
        assert as_frame is False
        assert parser in ("pandas", "liac-arff")
        return Bunch(data=answers[data_id][0], target=answers[data_id][1])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    return asked


def tiny(monkeypatch, name, version="default", **changes):
    """The row of the table, of another size."""
    row = replace(BY_NAME[name, version], image_shape=None, **changes)
    use(monkeypatch, row)
    return row


def test_where_data_would_come_from(nowhere):
    places = available()
    assert places["mnist"] == {"default": "fetch"}
    assert places["orl"] == {"32x32": "fetch", "112x92": "missing", "64x64": "fetch"}
    assert places["tdt2"] == {"default": "missing"}
    assert places["digits"] == {"default": "built-in"}


@pytest.mark.parametrize("row", [row for row in FILE_ROWS if row.fallback], ids=label)
def test_nothing_is_fetched_unasked(row, nowhere):
    with pytest.raises(FileNotFoundError, match="With download_if_missing=True, ") as caught:
        load(row.name, version=row.version, download_if_missing=False)
    assert row.fallback.source in str(caught.value)


@each("row", [row for row in FILE_ROWS if not row.fallback])
def test_what_cannot_be_fetched(row, nowhere):
    with pytest.raises(FileNotFoundError, match="It cannot be fetched") as caught:
        load(row.name, version=row.version)
    for text in (*row.files, str(row.shape[1]), row.origin, str(nowhere)):
        assert text in str(caught.value)


@pytest.mark.parametrize(
    "error", [URLError("no network"), IncompleteRead(b""), ValueError("no data set 554"), TimeoutError()]
)
def test_failed_fetch(nowhere, monkeypatch, error):
    def fail(**_):
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(
        FileNotFoundError, match=r"MNIST.npz not found in .*mnist_784.* could not take its place"
    ) as caught:
        load("mnist")
    assert caught.value.__cause__ is error


def test_an_error_of_another_kind_is_not_hidden(nowhere, monkeypatch):
    use(monkeypatch, replace(BY_NAME["mnist", "default"], fallback=Fallback("x", lambda: {}["y"])))
    with pytest.raises(KeyError):
        load("mnist")


@pytest.mark.parametrize(
    ("name", "version", "number"),
    [
        ("mnist", "default", 554),
        ("fashion_mnist", "default", 40996),
        *(
            ("mfeat", view, number)
            for view, number in zip(("fac", "fou", "kar", "mor", "pix", "zer"), range(12, 23, 2), strict=True)
        ),
    ],
)
def test_openml(nowhere, monkeypatch, name, version, number):
    X = np.arange(24.0).reshape(12, 2)
    y = np.array(
        ["10", "2", "'1'", "3", "4", "5", "6", "7", "8", "9", "10", "1"], dtype=object
    )  # by value, not by letter
    row = tiny(monkeypatch, name, version, shape=(12, 2), content="")
    asked = stub_openml(monkeypatch, {number: (X, y)})
    with pytest.warns(UserWarning, match=rf"{next(iter(row.files))} not found in .*not the same as") as caught:
        bunch = load(name, version=version)
    assert caught[0].filename == __file__
    assert asked == [number]
    np.testing.assert_array_equal(bunch.data, X)
    assert bunch.data.dtype == row.dtype
    np.testing.assert_array_equal(bunch.target, [9, 1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 0])
    assert bunch.target.dtype == np.int64
    assert bunch.filenames == []
    assert "n_train" not in bunch  # not known to be in the order of the file
    assert row.fallback.difference in bunch.DESCR
    assert "12 samples x 2 features" in bunch.DESCR
    assert not row.oddities or row.oddities not in bunch.DESCR


def test_no_warning_for_the_same_data(nowhere, monkeypatch):
    X, y = np.arange(20).reshape(10, 2), np.arange(10)
    content = sha256(X.astype(np.uint8).tobytes() + y.astype(np.int64).tobytes()).hexdigest()
    row = tiny(monkeypatch, "mnist", shape=(10, 2), content=content)
    stub_openml(monkeypatch, {554: (X.astype(float), y.astype(str))})
    bunch = load("mnist")
    assert bunch.n_train == 60000
    assert "the same bit for bit as MNIST.npz" in bunch.DESCR
    assert row.oddities in bunch.DESCR


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((10, 3)), np.arange(10), r"data of shape \(10, 3\) in 10 classes, expected 10 samples x 2"),
        (np.zeros((9, 2)), np.arange(9), r"data of shape \(9, 2\)"),
        (np.zeros((10, 2)), np.zeros(10), "in 1 classes"),
        (np.full((10, 2), 0.5), np.arange(10), "not whole numbers that fit uint8"),
        (np.full((10, 2), 256), np.arange(10), "not whole numbers that fit uint8"),
        (np.full((10, 2), np.nan), np.arange(10), "not whole numbers that fit uint8"),
    ],
)
def test_unexpected_data_is_refused(nowhere, monkeypatch, X, y, message):
    tiny(monkeypatch, "mnist", shape=(10, 2))
    stub_openml(monkeypatch, {554: (X, y)})
    with pytest.raises(FileNotFoundError, match=message):
        load("mnist")


def test_usps_from_openml(tmp_path, monkeypatch):
    """Values of three decimals in -1..1 and classes 1..10 become those of the file; in the file's order, all is the same."""
    file = real("usps")
    original = np.round(2 * file.data.astype(float) - 1, 3)
    stub_openml(monkeypatch, {41082: (original, (file.target + 1).astype(str))})
    bunch = load("usps", data_home=tmp_path)
    np.testing.assert_array_equal(bunch.data, file.data)
    assert bunch.n_train == file.n_train
    stub_openml(monkeypatch, {41082: (original[::-1], (file.target[::-1] + 1).astype(str))})
    with pytest.warns(UserWarning, match="not the same as USPS_9298.npz"):
        assert "n_train" not in load("usps", data_home=tmp_path)


def test_isolet_from_openml(nowhere, monkeypatch):
    """The first 1560 rows, sorted by class and otherwise in their order."""
    rng = np.random.RandomState(0)
    X, y = rng.rand(7797, 617), np.arange(7797) % 26
    asked = stub_openml(monkeypatch, {300: (X, [f"'{label + 1}'" for label in y])})
    with pytest.warns(UserWarning, match="need not be part 1"):
        bunch = load("isolet")
    assert asked == [300]
    np.testing.assert_array_equal(bunch.target, np.repeat(np.arange(26), 60))
    np.testing.assert_array_equal(bunch.data[:60], X[0:1560:26].astype(np.float32))
    np.testing.assert_array_equal(bunch.data[-60:], X[25:1560:26].astype(np.float32))


def test_mfeat_from_openml(nowhere, monkeypatch):
    numbers = {14: 76, 12: 216, 16: 64, 20: 240, 22: 47, 18: 6}
    y = np.repeat(np.arange(10), 200)
    answers = {
        number: (np.full((2000, width), float(number)), (y + 1).astype(str)) for number, width in numbers.items()
    }
    asked = stub_openml(monkeypatch, answers)
    with pytest.warns(UserWarning, match="MFeat.npz not found"):
        bunch = load("mfeat")
    assert asked == list(numbers)
    np.testing.assert_array_equal(bunch.data[0], np.repeat(list(numbers), list(numbers.values())))
    np.testing.assert_array_equal(bunch.target, y)
    assert list(bunch.view_names) == ["fou", "fac", "kar", "pix", "zer", "mor"]
    np.testing.assert_array_equal(bunch.view_starts, [0, 76, 292, 356, 596, 643, 649])
    answers[16] = (answers[16][0], answers[16][1][::-1])
    with pytest.raises(FileNotFoundError, match="not in the same order"):
        load("mfeat")


def stub_olivetti(monkeypatch, grey, target):
    """As scikit-learn gives them: from 0 for the darkest pixel of all to 1 for the lightest, in float32."""
    images = (grey.astype(np.float32) - grey.min()) / np.float32(np.ptp(grey))
    answer = Bunch(images=images, data=images.reshape(len(grey), -1), target=target)
    monkeypatch.setattr("sklearn.datasets.fetch_olivetti_faces", lambda: answer)


def test_olivetti_is_the_file(tmp_path, monkeypatch):
    file = real("orl", "64x64")
    stub_olivetti(monkeypatch, file.images, file.target)
    bunch = load("orl", version="64x64", data_home=tmp_path)  # no warning
    np.testing.assert_array_equal(bunch.data, file.data)
    small = real("orl", "32x32")
    with pytest.warns(UserWarning, match=r"5\.8 grey levels"):
        shrunk = load("orl", data_home=tmp_path)
    assert np.abs(shrunk.data.astype(float) - small.data).mean() == pytest.approx(5.8, abs=0.05)
    np.testing.assert_array_equal(shrunk.target, small.target)


def test_olivetti_shrunk(nowhere, monkeypatch):
    grey = np.random.RandomState(0).randint(0, 243, (400, 64, 64))
    grey[0, 0, :2], grey[0, 1, :2] = (0, 0), (242, 242)
    stub_olivetti(monkeypatch, grey, np.repeat(np.arange(40), 10))
    with pytest.warns(UserWarning, match="2 x 2 pixels"):
        bunch = load("orl")
    assert bunch.images[0, 0, 0] == 121
    assert bunch.images[7, 3, 5] == pytest.approx(grey[7, 6:8, 10:12].mean(), abs=0.51)
    assert bunch.data.dtype == np.uint8


def test_20newsgroups_from_scikit_learn(nowhere, monkeypatch):
    head = "From: hidden@example.com\nSubject: Re: Saturn rocket\nLines: 2\n\n"
    texts = {
        "train": [head + "Rocket engines\n\nthe b2b engine x"] * 6,
        "test": ["Subject: hockey\n\nGOAL goal"] * 5 + ["bare"],
    }
    labels = {"train": [1] * 6, "test": [0] * 6}
    asked = []

    def fetch(*, subset, shuffle):
        asked.append(subset)
        assert shuffle is False
        return Bunch(data=texts[subset], target=np.array(labels[subset]), target_names=["rec", "sci"])

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fetch)
    tiny(monkeypatch, "20newsgroups", shape=(12, 29916), n_classes=2)
    with pytest.warns(UserWarning, match="stop words, so terms and counts differ"):
        bunch = load("20newsgroups")
    assert asked == ["train", "test"]
    assert list(bunch.feature_names) == ["engine", "engines", "goal", "hockey", "rocket", "saturn"]
    np.testing.assert_array_equal(bunch.data.toarray()[[0, 6, 11]], [[1, 1, 0, 0, 2, 1], [0, 0, 2, 1, 0, 0], [0] * 6])
    assert bunch.data.dtype == np.uint16
    np.testing.assert_array_equal(bunch.target, [1] * 6 + [0] * 6)
    np.testing.assert_array_equal(bunch.is_test, [False] * 6 + [True] * 6)
    assert list(bunch.target_names) == ["rec", "sci"]
    assert "12 samples x 6 features" in bunch.DESCR


@pytest.mark.parametrize(
    ("fetcher", "arguments"),
    [
        ("fetch_openml", {"data_id": 554, "as_frame": False, "parser": "liac-arff"}),
        ("fetch_olivetti_faces", {}),
        ("fetch_20newsgroups", {"subset": "test", "shuffle": False}),
    ],
)
def test_fetchers_take_what_the_stubs_take(fetcher, arguments):
    inspect.signature(getattr(sklearn.datasets, fetcher)).bind(**arguments)


def test_openml_without_pandas(nowhere, monkeypatch):
    parsers = []

    def fetch(*, data_id, as_frame, parser):
        parsers.append(parser)
        return Bunch(data=np.zeros((10, 2)), target=np.arange(10))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    tiny(monkeypatch, "mnist", shape=(10, 2))
    for found in (None, "spec"):
        monkeypatch.setattr(datasets._fallbacks, "find_spec", lambda name, found=found: found)
        with pytest.warns(UserWarning, match="not the same"):
            load("mnist")
    assert parsers == ["liac-arff", "pandas"]
