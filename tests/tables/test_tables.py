"""Files in, files out: round trips against each format's own library, and what is said of bad files."""

import gzip
import io
import os
import sys
import time

import numpy as np
import pytest
from helpers import each
from scipy import sparse
from scipy.io import mmwrite
from sklearn.datasets import dump_svmlight_file
from sparse_kinds import random_csr

from lapwing import tables
from lapwing._extras import replacing
from lapwing.tables import Table, batches, read, write

pa = pytest.importorskip("pyarrow")
pacsv = pytest.importorskip("pyarrow.csv")
parquet = pytest.importorskip("pyarrow.parquet")
Image = pytest.importorskip("PIL.Image")


ROWS, BLOCK = 2**12, 2**14  # files of some kilobytes have several blocks


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr("lapwing.tables.reading.BLOCK", BLOCK)


@pytest.fixture
def text(tmp_path):
    """Writes a file of text, and gives its path."""

    def written(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def message(path, **options):
    with pytest.raises(ValueError, match=r".") as caught:
        read(path, **options)
    return str(caught.value)


# Round trips


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npy"])
def test_what_is_written_is_read_back(tmp_path, seed, suffix):
    rng = np.random.RandomState(seed)
    n, d = rng.randint(1, 300), rng.randint(1, 12)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.randint(-200, 200, (n, d))
    columns = [] if suffix == ".npy" else ["who", "kind"]
    odd = ["a,b", 'say "x"', "línea", " padded ", "tab\there", "two\nlines", "007"]
    ids = np.array([odd[i] for i in rng.randint(len(odd), size=n)], dtype=object)
    y = rng.randint(-1, 3, n)
    names = [f"column {j}" for j in range(d)]
    beside = {"y": y, "ids": ids} if columns else {}
    parts = np.array_split(np.arange(n), min(n, 3))
    pieces = [Table(X[rows], feature_names=names, **{k: v[rows] for k, v in beside.items()}) for rows in parts]
    path = tmp_path / f"data{suffix}"
    assert write(path, pieces, label="kind", id="who") == n
    back = read(path, **({"label": "kind", "id": "who"} if columns else {}))
    np.testing.assert_array_equal(back.X, X)
    if columns:
        assert back.feature_names == names
        np.testing.assert_array_equal(back.y, y)
        assert back.y.dtype == np.int64
        np.testing.assert_array_equal(back.ids, ids)
    assert os.listdir(tmp_path) == [path.name]


@each("delimiter", [",", "\t", ";", "|", " "])
@each("header", [True, False])
@each("packed", [True, False])
def test_layouts_of_csv(text, delimiter, header, packed):
    rows = [["length", "width", "species"]] * header + [["5.1", "3.5", "setosa"], ["6", "2.9", "virginica"]]
    content = "\n".join(delimiter.join(row) for row in rows).encode()
    path = text(gzip.compress(content) if packed else content, "iris.csv.gz" if packed else "iris.csv")
    table = read(path, label="species" if header else "-1")
    np.testing.assert_array_equal(table.X, [[5.1, 3.5], [6, 2.9]])
    assert table.y.tolist() == ["setosa", "virginica"]
    assert table.feature_names == (["length", "width"] if header else None)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("a,b\n1,2\n", ["a", "b"]),
        ("1,2\n3,4\n", None),
        ("0,1,kind\n5,6,x\n", ["0", "1"]),  # what pandas writes for an array
        ("a,2\n3,4\n", ["a", "2"]),  # text over numbers
        ("\n\na,b\n1,2\n", ["a", "b"]),
        ("\ufeffa,b\n1,2\n", ["a", "b"]),
        ('"a,b",c\n1,2\n', ["a,b", "c"]),
        ("a,b\r\n1,2\r\n", ["a", "b"]),
    ],
)
def test_header_is_found(text, content, names):
    label = "kind" if "kind" in content else None
    assert read(text(content), label=label).feature_names == names


def test_header_can_be_said(text):
    path = text("2019,2020\n1,2\n")
    assert read(path).X.shape == (2, 2)
    table = read(path, header=True)
    assert (table.X.shape, table.feature_names) == ((1, 2), ["2019", "2020"])
    bare = read(text("a,7\n1,2\n", "other.csv"), header=False, label="0")
    assert (bare.y.tolist(), bare.X.tolist()) == (["a", "1"], [[7], [2]])


def test_long_lines_and_many_blocks(text):
    wide = np.arange(800.0).reshape(2, -1)
    names = [f"a gene with quite a long name {j}" for j in range(wide.shape[1])]
    lines = [",".join(names), *(",".join(map(repr, row.tolist())) for row in wide)]
    assert len(lines[0]) > ROWS
    table = read(text("\n".join(lines)))
    np.testing.assert_array_equal(table.X, wide)
    assert table.feature_names == names
    long = text("a,kind\n" + "1,2\n" * 3 * ROWS + "0.5,x\n", "long.csv")  # later rows are of other types than the first
    pieces = list(batches(long, label="kind"))
    assert len(pieces) > 2
    assert sum(map(len, pieces)) == 3 * ROWS + 1
    assert pieces[-1].X[-1, 0] == 0.5
    assert pieces[-1].y[-1] == "x"


def test_standard_input(monkeypatch):
    content = b"a,b\n" + b"1,2\n" * ROWS
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    np.testing.assert_array_equal(read("-").X, np.tile([1, 2], (ROWS, 1)))


@pytest.mark.parametrize("seed", range(3))
def test_blocks_end_outside_quotes(text, monkeypatch, seed):
    monkeypatch.setattr("lapwing.tables.reading.BLOCK", 64)
    rng = np.random.RandomState(seed)
    ids = ["".join(rng.choice(list('ab",\n'), rng.randint(0, 9))) for _ in range(200)]
    lines = ["id,a", *('"{}",{}'.format(name.replace('"', '""'), i) for i, name in enumerate(ids))]
    path = text("\n".join(lines))
    assert len(list(batches(path, id="id"))) > 20
    table = read(path, id="id")
    assert table.ids.tolist() == ids
    np.testing.assert_array_equal(table.X.ravel(), np.arange(200))


@pytest.mark.parametrize("cell", ['5" pipe', 'a"', '"quoted"tail', '"quoted"tail"', '"two\nlines"', '" ""\n"'])
def test_quotes_as_arrow_has_them(text, monkeypatch, cell):
    """Alone a cell's first quote begins what may hold lines: blocks are short, and together what Arrow makes of the whole."""
    monkeypatch.setattr("lapwing.tables.reading.BLOCK", 64)
    content = f"id,a\n{cell},1\n" + f"pipe,2\n{cell},3\n" * 500
    expected = pacsv.read_csv(io.BytesIO(content.encode()), parse_options=pacsv.ParseOptions(newlines_in_values=True))
    pieces = list(batches(text(content), id="id"))
    assert np.concatenate([piece.ids for piece in pieces]).tolist() == expected["id"].to_pylist()
    assert np.concatenate([piece.X.ravel() for piece in pieces]).tolist() == expected["a"].to_pylist()
    assert max(map(len, pieces)) < 40


def test_one_stray_quote_costs_nothing(text):
    path = text('id,a\n5" pipe,1\n' + "pipe,2\n" * 60_000)
    start = time.perf_counter()
    assert len(read(path, id="id")) == 60_001
    assert time.perf_counter() - start < 10  # 0.3 s; it was minutes when quotes were counted backwards


def test_blank_lines_are_no_row(text):
    assert read(text("a,b\n1,2\n\n")).X.tolist() == [[1, 2]]
    assert read(text("a\tb\n1\t2\n", "x.tsv")).X.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "2", "-1"], [1, 2, -1]),
        (["1.0", "2.00", "0"], [1, 2, 0]),
        (["9007199254740992", "9007199254740993"], [9007199254740992, 9007199254740993]),
        (["1" * 21, "1" * 20 + "2"], ["1" * 21, "1" * 20 + "2"]),
        (["007", "7"], ["007", "7"]),
        (["1_0", "10"], ["1_0", "10"]),
        (["0", "-0"], ["0", "-0"]),
        (["inf", "1"], ["inf", "1"]),
        (["nan", "x", "?", "-"], ["-1", "x", "-1", "-"]),
        (["", "1", "2"], [-1, 1, 2]),
        (["NA", "-1", "1"], [-1, 0, 1]),  # -1 is a class, as in files of two
        (["1e3", "1000"], ["1e3", "1000"]),
        (["2", "0.5"], [2.0, 0.5]),  # quantities, to be refused where classes are needed
        (["1.1.0", "1.2"], ["1.1.0", "1.2"]),
    ],
)
def test_no_two_labels_become_one(text, labels, expected):
    lines = "\n".join(f"{i},{label}" for i, label in enumerate(labels))
    found = read(text(f"a,kind\n{lines}\n"), label="kind").y
    assert found.tolist() == expected
    assert [type(label) for label in found.tolist()] == [type(label) for label in expected]


def test_labels_of_other_types(tmp_path):
    days = pa.array([0, 1, 1], pa.timestamp("us"))
    big = pa.array([2**64 - 1, 0, 2], pa.uint64())  # the first would be -1, which means unknown
    some = pa.array([1, None, 2], pa.int32())
    parquet.write_table(pa.table({"a": [1.0, 2.0, 3.0], "day": days, "big": big, "some": some}), tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet", label="day", drop=["big", "some"]).y.tolist() == [
        "1970-01-01T00:00:00.000000",
        *["1970-01-01T00:00:00.000001"] * 2,
    ]
    assert read(tmp_path / "t.parquet", label="big", drop=["day", "some"]).y.tolist() == [str(2**64 - 1), "0", "2"]
    assert read(tmp_path / "t.parquet", label="some", drop=["big", "day"]).y.tolist() == [1, -1, 2]
    [table] = batches(tmp_path / "t.parquet", label="some", drop=["big", "day"])
    assert table.y.tolist() == [1, None, 2]


def test_labels_that_a_file_brings_can_be_left(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(3), y=[0.5, np.nan, 1])
    assert read(tmp_path / "d.npz").y.tolist() == [0.5, -1, 1]  # quantities, to be refused where classes are needed
    assert read(tmp_path / "d.npz", labels=False).y is None


@pytest.mark.parametrize("nested", [pa.list_(pa.float64()), pa.list_(pa.float64(), 2)])
def test_columns_of_lists(tmp_path, nested):
    column = pa.array([[1.0, 2.0], [3.0, 4.0]], nested)
    parquet.write_table(pa.table({"a": [1.0, 2.0], "v": column}), tmp_path / "t.parquet")
    said = message(tmp_path / "t.parquet")
    assert "column 'v'" in said
    assert "holds lists or records" in said
    for role in ({"label": "v"}, {"id": "v"}, {"aside": ["v"]}):
        assert "column 'v' holds lists or records, and cannot name rows" in message(tmp_path / "t.parquet", **role)
    assert read(tmp_path / "t.parquet", drop=["v"]).X.shape == (2, 1)


def test_identifiers_stay_as_written(text):
    path = text("id,a\n007,1\n008,2\n")
    assert read(path, id="id").ids.tolist() == ["007", "008"]


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([pa.float32()], np.float32),
        ([pa.float16(), pa.float32()], np.float32),
        ([pa.float32(), pa.bool_()], np.float64),
        ([pa.float32(), pa.float64()], np.float64),
        ([pa.float32(), pa.int32()], np.float64),
        ([pa.decimal128(25, 2)], np.float64),
    ],
)
def test_parquet_keeps_float32(tmp_path, types, expected):
    values = [
        pa.array([0, 1, 1], pa.int64()).cast(t) if t != pa.float16() else pa.array(np.float16([0, 1, 1])) for t in types
    ]
    parquet.write_table(pa.table({f"c{j}": column for j, column in enumerate(values)}), tmp_path / "t.parquet")
    table = read(tmp_path / "t.parquet")
    assert table.X.dtype == expected
    np.testing.assert_array_equal(table.X, np.tile([[0], [1], [1]], len(types)))


def test_parquet_labels_of_categories(tmp_path):
    kinds = pa.array(["x", "y", "x"]).dictionary_encode()
    parquet.write_table(pa.table({"a": [1.0, 2.0, 3.0], "kind": kinds}), tmp_path / "t.parquet", row_group_size=1)
    assert read(tmp_path / "t.parquet", label="kind").y.tolist() == ["x", "y", "x"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_npy_in_batches(tmp_path, order, dtype, monkeypatch):
    monkeypatch.setattr("lapwing.tables.reading.BATCH_VALUES", 500)
    X = np.asarray(np.random.RandomState(0).randint(0, 200, (333, 5)), dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", X[:, 4])
    pieces = list(batches(tmp_path / "x.npy", label=str(tmp_path / "y.npy")))
    assert len(pieces) == 4
    table = read(tmp_path / "x.npy", label=str(tmp_path / "y.npy"))
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, X[:, 4])
    assert table.X.dtype == (np.float64 if X.itemsize == 8 else np.float32)


@pytest.mark.parametrize("keys", [("X", "y"), ("data", "target")])
def test_npz(tmp_path, keys):
    X, y = np.random.RandomState(0).rand(6, 4), np.array([0, 0, 1, 1, 2, 2])
    np.savez(
        tmp_path / "d.npz",
        **dict(zip(keys, (X, y), strict=True)),
        other=y[::-1],
    )
    table = read(tmp_path / "d.npz")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, y)
    np.testing.assert_array_equal(read(tmp_path / "d.npz", label="other").y, y[::-1])


def random_sparse(seed, shape=(40, 15)):
    X = random_csr(shape, 0.2, seed).tolil()
    X[0, 0] = X[0, shape[1] - 1] = 1.0  # svmlight knows columns by their use
    return X.tocsr()


@pytest.mark.parametrize("packed", [True, False])
def test_sparse_files(tmp_path, packed):
    X, y = random_sparse(0), np.arange(40) % 3
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "y.txt").write_text("\n".join(map(str, y)) + "\n")
    mmwrite(tmp_path / "x.mtx", X, precision=17)
    sparse.save_npz(tmp_path / "x.npz", X)
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=False)
    for name, label in [("x.npz", "y.npy"), ("x.mtx", "y.txt"), ("x.svm", None)]:
        path = tmp_path / name
        if packed and name != "x.npz":
            path = tmp_path / f"{name}.gz"
            path.write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        table = read(path, label=label and str(tmp_path / label))
        assert sparse.issparse(table.X)
        assert table.X.format == "csr"
        np.testing.assert_allclose(table.X.toarray(), X.toarray(), rtol=1e-15)
        np.testing.assert_array_equal(table.y, y)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_every_kind_of_save_npz(tmp_path, form):
    X = random_sparse(0)
    sparse.save_npz(tmp_path / "x.npz", X.asformat(form))
    np.testing.assert_array_equal(read(tmp_path / "x.npz").X.toarray(), X.toarray())


def test_objects_beside_numbers_do_not_matter(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.eye(2), notes=np.array([{"a": 1}], dtype=object))
    np.testing.assert_array_equal(read(tmp_path / "d.npz").X, np.eye(2))


@pytest.mark.parametrize("name", ["x.npz", "x.svm"])
def test_indices_are_narrow(tmp_path, name):
    """scikit-learn takes sparse data with indices of 32 bits only, in many places."""
    X = random_sparse(0)
    dump_svmlight_file(X, np.zeros(40), str(tmp_path / "x.svm"), zero_based=False)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    sparse.save_npz(tmp_path / "x.npz", X)
    found = read(tmp_path / name).X
    assert (found.indices.dtype, found.indptr.dtype) == (np.int32, np.int32)
    np.testing.assert_allclose(found.toarray(), X.toarray())


def test_svmlight_counts_from_one_unless_told(tmp_path):
    X = random_sparse(0)
    dump_svmlight_file(X, np.zeros(40), str(tmp_path / "x.svm"), zero_based=True)
    assert "x.svm: not readable (Invalid index 0" in message(tmp_path / "x.svm")
    np.testing.assert_allclose(read(tmp_path / "x.svm", zero_based=True).X.toarray(), X.toarray())
    assert read(tmp_path / "x.svm", zero_based=True, n_features=20).X.shape == (40, 20)


# Images


def picture(path, shape=(4, 6), mode="L", value=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.RandomState(len(str(path.name)))
    channels = {"L": (), "RGB": (3,), "RGBA": (4,)}[mode]
    pixels = (
        rng.randint(0, 256, (*shape, *channels)).astype(np.uint8)
        if value is None
        else np.full((*shape, *channels), value, np.uint8)
    )
    Image.fromarray(pixels, mode=None).save(path)
    return pixels


@pytest.mark.parametrize("suffix", ["png", "bmp", "pgm", "tif"])
def test_folder_of_grey_images(tmp_path, suffix):
    pixels = [
        picture(tmp_path / kind / f"{i}.{suffix}", value=10 * i + len(kind))
        for kind in ("ant", "zebra")
        for i in (1, 2)
    ]
    (tmp_path / "ant" / "notes.md").write_text("no image")
    (tmp_path / "ant" / ".hidden.png").write_text("no image")
    table = read(tmp_path)
    np.testing.assert_array_equal(table.X, np.array(pixels).reshape(4, -1))
    assert table.X.dtype == np.float32
    assert table.y.tolist() == ["ant", "ant", "zebra", "zebra"]
    assert table.ids.tolist() == [f"ant/1.{suffix}", f"ant/2.{suffix}", f"zebra/1.{suffix}", f"zebra/2.{suffix}"]
    assert table.image_shape == (4, 6)


@pytest.mark.parametrize("hidden", [".git/x", ".ipynb_checkpoints", "__MACOSX", "ant/.thumbnails"])
def test_hidden_folders_are_no_classes(tmp_path, hidden):
    picture(tmp_path / "ant" / "1.png")
    picture(tmp_path / hidden / "2.png")
    assert read(tmp_path).ids.tolist() == ["ant/1.png"]
    (tmp_path / ".root").mkdir()
    picture(tmp_path / ".root" / "ant" / "1.png")  # what the user names may be hidden
    assert read(tmp_path / ".root").y.tolist() == ["ant"]


def test_colours(tmp_path):
    grey, colour = picture(tmp_path / "a" / "1.png"), picture(tmp_path / "b" / "1.png", mode="RGBA")
    table = read(tmp_path)
    assert table.image_shape == (4, 6, 3)
    np.testing.assert_array_equal(table.X[0].reshape(4, 6, 3), np.repeat(grey[:, :, None], 3, axis=2))
    np.testing.assert_array_equal(table.X[1].reshape(4, 6, 3), colour[:, :, :3])


@pytest.mark.parametrize("deep", [np.full((4, 6), 1000, np.uint16), np.full((4, 6), 0.5, np.float32)])
def test_more_than_eight_bits(tmp_path, deep):
    picture(tmp_path / "a" / "1.png")
    (tmp_path / "b").mkdir()
    Image.fromarray(deep).save(tmp_path / "b" / "2.tif")
    said = message(tmp_path)
    assert "2.tif: pixels of more than 8 bits" in said
    assert ".npy" in said


def test_turned_as_the_camera_says(tmp_path):
    picture(tmp_path / "a" / "flat.png")
    (tmp_path / "b").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by a quarter
    Image.new("L", (4, 6)).save(tmp_path / "b" / "turned.jpg", exif=exif)
    assert read(tmp_path).image_shape == (4, 6)


def test_images_of_two_sizes(tmp_path):
    picture(tmp_path / "a" / "one.png")
    picture(tmp_path / "b" / "two.png", shape=(5, 7))
    said = message(tmp_path)
    assert "one.png is 6x4" in said
    assert "two.png is 7x5" in said
    assert "--resize 6x4" in said
    assert read(tmp_path, resize=(3, 2)).image_shape == (2, 3)


def test_images_that_are_none(tmp_path):
    assert "no images" in message(tmp_path)
    picture(tmp_path / "a" / "1.png")
    (tmp_path / "a" / "2.png").write_text("no image")
    assert "2.png: not readable" in message(tmp_path)
    (tmp_path / "a" / "2.png").write_bytes((tmp_path / "a" / "1.png").read_bytes()[:60])
    assert "2.png: not readable" in message(tmp_path)
    (tmp_path / "a" / "2.png").unlink()
    picture(tmp_path / "loose.png")
    assert "loose.png is in no sub-folder" in message(tmp_path)


# Bad files

GOOD = "a,b,kind\n1,2,x\n3,4,y\n"


@each(
    ("content", "options", "said"),
    [
        (GOOD, {}, ["column 'kind': not numeric", "--label", "--id", "--drop kind", "encode"]),
        ("a,day,t\n1,2020-01-01,x\n", {}, ["columns 'day', 't': not numeric", "--drop day,t"]),
        (GOOD, {"label": "Kind"}, ["label='Kind'", "it has column 'kind'"]),
        (GOOD, {"id": "zzz"}, ["id='zzz'", "columns 'a', 'b', 'kind'"]),
        (GOOD, {"drop": ["q"]}, ["drop='q'"]),
        (GOOD, {"label": "kind", "drop": ["a", "b"]}, ["no column is left"]),
        ("1,2\n3,4\n", {"label": "2"}, ["label='2'", "0 to 1"]),
        ("a,b\n-inf,2\n3,1\n", {}, ["column 'a'", "infinite", "row 1"]),
        ("a,b\n1,2\n3\n", {}, ["Row #3: Expected 2 columns, got 1"]),
        (
            "2019,2020,country\n1,2,France\n",
            {"label": "country"},
            ["label='country'", "columns have no names", "--header"],
        ),
        ("a,b,\n1,2,\n", {}, ["column ''", "a delimiter ends each line", "--drop ''"]),
        ("a,b\n" + "1,x\n" * ROWS + '1,"' + "x\n" * 2**16, {"id": "b"}, [f"longer than {BLOCK:,} bytes", "last quote"]),
        ("a,a\n1,2\n", {}, ["column 'a' more than once"]),
        (",a\n0,1\n", {}, ["column ''", "--drop ''"]),
        ("text\nhello world\nlapwings nest\n", {}, ["column 'text': not numeric", "TfidfVectorizer"]),
        ("", {}, ["empty"]),
        ("\n \n", {}, ["empty"]),
        ("a,b\n", {}, ["no rows"]),
        ("a,b\n" + "1,2\n" * ROWS + "1,x\n", {}, ["column 'b'", "'x'", f"row {ROWS + 1}"]),
        ("drop,b,c\n" + "y,1,2\n" * ROWS + "y,1,x\n", {"drop": ["drop"]}, ["column 'c'", "'x'", f"row {ROWS + 1}"]),
        (b"\x80\x00,b\n1,2\n", {}, ["UTF-8", "iconv"]),
        ("a,b\n1,2\n".encode("utf-16"), {}, ["UTF-8", "iconv"]),
    ],
)
def test_bad_csv(text, content, options, said):
    path = text(content)
    found = message(path, **options)
    assert found.startswith(str(path))
    for part in said:
        assert part in found


def test_bad_parquet(tmp_path, text):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [1.0, None, 3.0], "b": [1, 2, 3], "s": ["x", "y", "z"]}), path, row_group_size=1)
    assert "column 's': not numeric" in message(path)
    np.testing.assert_array_equal(read(path, label="s").X, [[1, 1], [np.nan, 2], [3, 3]])
    path.write_bytes(path.read_bytes()[:-10])
    assert "not readable" in message(path)


def test_bad_matrices(tmp_path, text):
    np.save(tmp_path / "flat.npy", np.arange(4.0))
    assert "shape (4,)" in message(tmp_path / "flat.npy")
    np.save(tmp_path / "text.npy", np.array([["a", "b"]]))
    assert "numbers are needed" in message(tmp_path / "text.npy")
    np.save(tmp_path / "objects.npy", np.array([[None, 1]], dtype=object))
    assert "not readable" in message(tmp_path / "objects.npy")
    np.save(tmp_path / "nan.npy", np.array([[0.0, 1.0], [2.0, np.nan]]))
    assert "no such file; labels of a matrix are .npy" in message(tmp_path / "nan.npy", label="kind")
    for name, option in (("nan.npy", {"drop": ["1"]}), ("nan.npy", {"id": "0"}), ("s.npz", {"aside": ["1"]})):
        sparse.save_npz(tmp_path / "s.npz", random_sparse(0))
        assert "no columns by name" in message(tmp_path / name, **option)
    np.save(tmp_path / "y.npy", np.arange(3))
    assert "labels" in message(tmp_path / "nan.npy", label=str(tmp_path / "y.npy"))
    np.savez(tmp_path / "d.npz", Z=np.eye(2))
    assert "it has Z" in message(tmp_path / "d.npz")
    assert "Matrix Market" in message(text("%%Nothing\n", "x.mtx"))
    mmwrite(tmp_path / "complex.mtx", sparse.coo_array(np.eye(2) * 1j))
    assert "complex" in message(tmp_path / "complex.mtx")
    np.save(tmp_path / "complex.npy", np.eye(2) * 1j)
    assert "complex" in message(tmp_path / "complex.npy")
    for name in ("x.npy", "x.npz"):
        assert f"{name}: not readable" in message(text("a,b\n1,2\n", name))
        assert f"{name}: not readable" in message(text(b"PK123456", name))
    np.savez(tmp_path / "o.npz", X=np.array([[None]], dtype=object))
    assert "o.npz: not readable (Object arrays" in message(tmp_path / "o.npz")
    assert "x.svm: not readable" in message(text("1 2:a\n", "x.svm"))
    assert "unknown kind of file" in message(text("", "x.xlsx"))
    assert "x.npy.gz: not readable" in message(text("", "x.npy.gz"))
    assert "unknown kind of file" in message(text("", "x.svm.zst"))
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read(tmp_path / "none.csv")


@pytest.mark.parametrize("name", ["x.csv.gz", "x.csv.bz2", "x.csv.zst", "x.svm.gz", "x.svm.bz2", "x.mtx.gz"])
def test_bad_packing_names_the_file(text, name):
    path = text("a,b\n1,2\n", name)
    assert message(path).startswith(str(path))


@pytest.mark.parametrize("name", ["x.csv.gz", "x.svm.gz"])
def test_packed_files_that_are_cut(text, name):
    content = gzip.compress(("a,b\n" if "csv" in name else "").encode() + b"1 1:2,\n" * 50_000)
    path = text(content[: len(content) // 2], name)
    assert message(path).startswith(str(path))


# Columns by name


def test_features_are_taken_by_name_in_order(text):
    path = text("kind,b,text,a\nx,2,hi,1\n")
    table = read(path, features=["a", "b"], label="kind")
    np.testing.assert_array_equal(table.X, [[1, 2]])
    assert "no column 'c'" in message(path, features=["a", "c"])
    np.testing.assert_array_equal(
        read(text("2,1\n", "bare.csv"), features=["a", "b"]).X, [[2, 1]]
    )  # no names, so by place


def test_other_numbers_of_columns_are_refused(tmp_path, text):
    np.save(tmp_path / "x.npy", np.eye(3))
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_array(np.eye(3)))
    for path in (tmp_path / "x.npy", tmp_path / "x.npz", text("1,2,3\n4,5,6\n")):
        for asked in ({"features": ["a", "b"]}, {"n_features": 2}):
            assert "3 columns of features, but the model was fitted to 2" in message(path, **asked)
        assert read(path, features=["a", "b", "c"], n_features=3).X.shape[1] == 3


# Samples


def test_sample_is_uniform_and_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("lapwing.tables.reading.BATCH_VALUES", 64)  # several batches
    np.save(tmp_path / "x.npy", np.arange(640.0)[:, None])
    counts = np.zeros(640)
    for seed in range(200):
        table = read(tmp_path / "x.npy", sample=160, random_state=seed)
        rows = table.X.ravel().astype(int)
        assert (len(table), table.n_read) == (160, 640)
        assert (np.diff(rows) > 0).all()
        counts[rows] += 1
    # Each row is chosen 50 times of 200 on average, with a standard deviation of 6.1; so is each tenth of the file.
    assert np.abs(counts - 50).max() < 6 * 6.1
    np.testing.assert_allclose(counts.reshape(10, 64).mean(axis=1), 50, atol=4)


def test_sample_of_more_than_there_is(text):
    table = read(text("a,kind\n1,x\n2,y\n"), label="kind", sample=10)
    assert (table.X.ravel().tolist(), table.y.tolist(), table.n_read) == ([1, 2], ["x", "y"], 2)


# Writing


def failing(rows=3):
    yield Table(np.zeros((rows, 2)), feature_names=["a", "b"])
    raise RuntimeError("stop")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npy"])
@pytest.mark.parametrize("earlier", [None, b"precious"])
def test_nothing_half_written(tmp_path, suffix, earlier):
    path = tmp_path / f"out{suffix}"
    if earlier is not None:
        path.write_bytes(earlier)
    with pytest.raises(RuntimeError, match="stop"):
        write(path, failing())
    assert os.listdir(tmp_path) == ([path.name] if earlier else [])
    assert earlier is None or path.read_bytes() == earlier


def test_writing_follows_links_and_keeps_the_mode_of_new_files(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write(tmp_path / "link.csv", [Table(np.eye(2))])
    assert (tmp_path / "link.csv").is_symlink()
    (tmp_path / "plain").touch()
    assert (tmp_path / "real.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_devices_are_written_not_replaced():
    with replacing(os.devnull) as file:
        file.write(b"x")
    assert not os.path.isfile(os.devnull)


def test_bad_output(tmp_path):
    rows = Table(np.eye(2), ids=np.array(["x", "y"]))
    with pytest.raises(ValueError, match="Object arrays"):
        write(tmp_path / "out.npy", [Table(np.array([["yes", 0.5]], dtype=object))])
    with pytest.raises(ValueError, match="unknown kind of file to write"):
        write(tmp_path / "out.xlsx", [rows])
    with pytest.raises(ValueError, match="column 'id' would stand twice"):
        write(tmp_path / "out.csv", [Table(np.eye(2), ids=rows.ids, feature_names=["id", "b"])])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("labels", [[None, "x"], ["x", None], [None, 3], [3, None]])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_batches_without_a_label(tmp_path, labels, suffix):
    path = tmp_path / f"out{suffix}"
    write(path, [Table(np.eye(1), np.array([label], dtype=object), feature_names=["a"]) for label in labels])
    back = np.concatenate([table.y for table in batches(path, label="label")])
    assert [str(label or "") for label in back] == [str(label or "") for label in labels]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_no_cell_is_a_formula(tmp_path, suffix):
    cells = ["=1+1", "@SUM(A1)", "+cmd|x", "-2+3", "\tx", "-5", "+1.5", "a=b", "-", "007"]
    table = Table(np.eye(10)[:, :1], y=np.array(cells), ids=np.array(cells, dtype=object), feature_names=["=x"])
    write(tmp_path / f"out{suffix}", [table], label="@y")
    expected = ["'=1+1", "'@SUM(A1)", "'+cmd|x", "'-2+3", "'\tx", "-5", "+1.5", "a=b", "-", "007"]
    back = read(tmp_path / f"out{suffix}", id="id", label="'@y")
    assert back.feature_names == ["'=x"]
    assert back.ids.tolist() == expected
    write(tmp_path / "out.parquet", [table])
    assert read(tmp_path / "out.parquet", id="id", label="label").ids.tolist() == cells
    predicted = np.column_stack([np.array(cells, dtype=object), np.arange(10.0)])
    write(tmp_path / f"predicted{suffix}", [Table(predicted, feature_names=["prediction", "probability"])])
    back = read(tmp_path / f"predicted{suffix}", label="prediction")
    assert (back.y.tolist(), back.X.ravel().tolist()) == (expected, list(range(10)))


def test_public_names():
    preparing = {"Preparation", "Prepared", "UnseenCategories", "prepare"}
    of_models = {"column_numbers", "preparation_of", "text_columns"}
    of_files = {"Table", "batches", "files_of", "read", "write"}
    assert set(tables.__all__) == preparing | of_models | of_files
