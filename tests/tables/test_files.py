"""Files that were made, or came, to do harm: each is refused in one line that names it, before anything is taken or run."""

import bz2
import gzip
import io
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite
from sklearn import config_context

from lapwing.tables import batches, files_of, prepare, read

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def written(tmp_path):
    """Writes a file, and gives its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def archived(tmp_path):
    def write(**arrays):
        np.savez(tmp_path / "x.npz", **arrays)
        return tmp_path / "x.npz"

    return write


def refusal(path, **options):
    """What is said of a file, which is named first."""
    with pytest.raises(ValueError, match=r".") as caught:
        read(path, **options)
    return str(caught.value)


# Indices, of which SciPy and scikit-learn do not look whether they point outside


def compressed(form, **changed):
    X = sparse.random(5, 4, 0.6, random_state=0, format=form)
    parts = {"format": form.encode(), "shape": X.shape, "data": X.data}
    names = ("offsets",) if form == "dia" else ("row", "col") if form == "coo" else ("indices", "indptr")
    return {**parts, **{name: getattr(X, name) for name in names}, **changed}


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("odd", [-1, 5, 2**31])
def test_indices_outside(archived, form, odd):
    indices = compressed(form)["indices"].astype(np.int64)
    indices[len(indices) // 2] = odd
    assert "x.npz: not readable" in refusal(archived(**compressed(form, indices=indices)))


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize(
    "pointers",
    [
        [0, 9, 3, 12, 12, 12],
        [0, 1, 2, 3, 4, 10**9],
        [0, 2**40, 0, 0, 0, 0],
        [0, 1, 1, 1, 1, -1],
    ],
)
def test_pointers_outside(archived, form, pointers):
    indptr = np.array(pointers if form == "csr" else pointers[:4] + pointers[-1:])
    assert "x.npz: not readable" in refusal(archived(**compressed(form, indptr=indptr)))


@pytest.mark.parametrize(
    ("form", "changed"),
    [
        ("coo", {"row": np.array([0, 9]), "col": np.array([0, 0]), "data": np.ones(2)}),
        ("coo", {"shape": (10**12, 4)}),
        ("csc", {"shape": (10**12, 4)}),
        ("csr", {"shape": (5,)}),
        ("csr", {"format": b"lil"}),
    ],
)
def test_other_sparse_archives(archived, form, changed):
    assert refusal(archived(**compressed(form, **changed))).startswith(os.fspath(archived(Z=[1]).parent / "x.npz"))


def test_entries_twice_are_added_up(archived):
    path = archived(
        format=b"csr", shape=(2, 2), data=np.ones(3), indices=np.array([1, 1, 0]), indptr=np.array([0, 2, 3])
    )
    np.testing.assert_array_equal(read(path).X.toarray(), [[0, 2], [1, 0]])


# NumPy


@pytest.mark.parametrize(
    ("key", "option", "shape"), [("y", {}, (60,)), ("target", {}, (30, 1)), ("z", {"label": "z"}, ())]
)
def test_one_label_per_row(archived, key, option, shape):
    found = refusal(archived(X=np.eye(30), **{key: np.zeros(shape, dtype=int)}), **option)
    assert f"x.npz: {key}: labels of shape {shape}, but there are 30 rows" in found


def test_names_of_the_other_kind(tmp_path, written):
    """What a NumPy file holds is seen by how it begins."""
    np.save(tmp_path / "x.npy", np.eye(3))
    np.savez(tmp_path / "x.npz", X=np.eye(3))
    for name, other in (("z.npy", "x.npz"), ("z.npz", "x.npy")):
        np.testing.assert_array_equal(read(written(name, (tmp_path / other).read_bytes())).X, np.eye(3))


def test_what_is_said_of_a_deep_header_is_short(written):
    """NumPy quotes the whole header of a file that it cannot read."""
    header = (repr({"descr": "<f8", "fortran_order": False, "shape": "(" * 3000 + ")" * 3000}) + "\n").encode()
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    found = refusal(written("x.npy", array))
    assert "x.npy: not readable" in found
    assert len(found) < 500 + len(str(written("x.npy", array)))


@pytest.mark.parametrize("shape", [(10**12, 4), (2**62, 2**62), (-1, 4), (7, 4)])
def test_arrays_that_are_larger_than_they_are(written, shape):
    header = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode() + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + np.eye(4).tobytes()
    assert "x.npy: not readable" in refusal(written("x.npy", array))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("X.npy", array)
    assert "x.npz: not readable" in refusal(written("x.npz", file.getvalue()))


# Memory


@pytest.fixture
def little():
    with config_context(working_memory=1):
        yield


def columns(count):
    return ",".join(["1"] * count) + "\n"


@pytest.mark.usefixtures("little")
def test_limits_name_the_file_and_the_limit(tmp_path, written):
    np.savez_compressed(tmp_path / "zeros.npz", X=np.zeros((2000, 500)))
    sparse.save_npz(tmp_path / "tall.npz", sparse.coo_array((10**6, 3)))
    table = pa.table({str(j): np.zeros(100_000) for j in range(4)})
    parquet.write_table(table, tmp_path / "zeros.parquet")
    Image.new("1", (1000, 1000)).save(written("gif/a/1.gif", ""))
    Image.new("1", (1000, 1000)).save(written("gif/b/2.gif", ""))
    Image.new("1", (300, 300)).save(written("many/a/0.gif", ""))
    for j in range(1, 60):
        written(f"many/a/{j}.gif", (tmp_path / "many/a/0.gif").read_bytes())
    written("wide.csv", columns(2_000))
    written("rows.csv.gz", gzip.compress(b"1,2,3,4,5,6,7,8\n" * 30_000))
    written("line.csv.gz", gzip.compress(b"1" * 2**22))
    written("later.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 300_000 + b"1" * 2**23))
    written("x.svm.bz2", bz2.compress(b"1 1:1\n" * 2**19))
    for name in (
        "zeros.npz",
        "tall.npz",
        "zeros.parquet",
        "gif",
        "many",
        "wide.csv",
        "rows.csv.gz",
        "x.svm.bz2",
    ):
        found = refusal(tmp_path / name)
        assert found.startswith(str(tmp_path / name)), found
        assert re.search("the limit for this file is [0-9]{1,2} MiB: 100 times its size", found), found
        assert "SKLEARN_WORKING_MEMORY" in found
    for name, said in (("line", "its first line is longer than"), ("later", "a line is longer than")):
        with pytest.raises(ValueError, match=rf"{name}\.csv\.gz: .*{said}"):
            list(batches(tmp_path / f"{name}.csv.gz"))


DAMAGED_FOOTERS = """
import sys
from pathlib import Path
from lapwing.tables import read

path = Path(sys.argv[1])
content = path.read_bytes()
length = int.from_bytes(content[-8:-4], "little")
for place in range(len(content) - 8 - length, len(content) - 8):
    if content[place] == 2:  # among others: that entries of a column may be missing
        path.write_bytes(content[:place] + bytes(1) + content[place + 1 :])
        try:
            read(path, mixed=True)
        except ValueError as error:
            assert str(path) in str(error), error
            print(error)
"""


def test_a_damaged_record_of_a_column_does_not_end_the_program(tmp_path):
    """Where a column has other levels than its record says, pyarrow calls abort() as soon as the record is looked at."""
    parquet.write_table(pa.table({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 4.0]}), tmp_path / "x.parquet")
    done = subprocess.run(
        [sys.executable, "-c", DAMAGED_FOOTERS, str(tmp_path / "x.parquet")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "x.parquet: not readable" in done.stdout


@pytest.mark.usefixtures("little")
def test_a_long_text_in_every_row_is_there_once(tmp_path):
    """A Parquet file says in few bytes that a text stands in every row."""
    words = pa.DictionaryArray.from_arrays(np.zeros(20_000, np.int32), ["x" * 100_000])
    parquet.write_table(pa.table({"a": np.arange(20_000.0), "s": words}), tmp_path / "x.parquet", store_schema=False)
    before = pa.total_allocated_bytes(), pa.default_memory_pool().max_memory()
    assert len(set(map(id, read(tmp_path / "x.parquet", id="s").ids))) == 1
    assert pa.default_memory_pool().max_memory() <= max(before[1], before[0] + 2**24)
    assert "a column of labels as long as 100,000 characters" in refusal(tmp_path / "x.parquet", label="s")
    group = pa.table({"a": np.zeros(2**20)})
    parquet.write_table(group, tmp_path / "zeros.parquet", use_dictionary=False, compression="zstd")
    assert "zeros.parquet: a group of rows takes 8 MiB of memory" in refusal(tmp_path / "zeros.parquet")


@pytest.mark.usefixtures("little")
def test_more_columns_than_any_fit_can_take(written):
    assert "x.svm: a matrix of 1 x 2,000,000,000 takes" in refusal(written("x.svm", "1 2000000000:1\n"))


@pytest.mark.parametrize("shape", [(3, 0), (3, 4, 0), (0, 4)])
def test_arrays_of_nothing(tmp_path, shape):
    np.save(tmp_path / "x.npy", np.empty(shape))
    assert "x.npy: " in refusal(tmp_path / "x.npy")


@pytest.mark.usefixtures("little")
def test_files_that_are_as_large_as_they_look(tmp_path, written):
    """What is 100 times the size of its file is read, whatever the working memory."""
    X = np.random.RandomState(0).standard_normal((20_000, 20)).astype(np.float32)
    np.savez(tmp_path / "x.npz", X=X)
    np.testing.assert_array_equal(read(tmp_path / "x.npz").X, X)
    assert read(written("x.csv", columns(5) * 60_000), header=False).X.shape == (60_000, 5)
    assert sum(map(len, batches(written("x.csv.gz", gzip.compress(b"1,2\n" * 300_000, 1))))) == 300_000  # never whole


@pytest.mark.usefixtures("little")
def test_a_long_label(tmp_path, written):
    path = written("long.csv", "a,kind\n" + "1,x\n" * 50_000 + f"1,{'x' * 10_000}\n")
    assert "long.csv: a column of labels as long as 10,000 characters takes" in refusal(path, label="kind")
    np.save(tmp_path / "x.npy", np.eye(3_000, 2))
    labels = written("y.txt", "x\n" * 2_999 + "x" * 1_000)
    assert "x.npy: a column of labels as long as 1,000 characters takes 11 MiB" in refusal(
        tmp_path / "x.npy", label=str(labels)
    )


def test_late_text_in_many_columns_is_found_at_once(written):
    lines = columns(300) * 150 + columns(297).replace("\n", ",x,y,z\n")
    table = read(written("x.csv", lines), mixed=True)
    with pytest.raises(ValueError, match="neither numbers, dates nor text") as caught:
        prepare(table)
    found = str(caught.value)
    assert all(f"'{j}': 150 of 151 values are numbers" in found for j in (297, 298, 299))


# Names and programs


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("csv", b"a,b\n1,2\n"),
        ("csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)),
        ("svm", b"1 1:1 2:2\n"),
    ],
)
def test_names_that_are_no_text(tmp_path, suffix, content):
    """As those with accents are where the locale is C."""
    path = os.path.join(os.fsencode(tmp_path), b"gr\xf6\xdfe." + suffix.encode())
    with open(path, "wb") as file:
        file.write(content)
    X = read(os.fsdecode(path)).X
    assert np.asarray(X.todense() if sparse.issparse(X) else X).tolist() == [[1, 2]]


def test_no_program_is_run_for_an_image(tmp_path, monkeypatch):
    """Pillow has Ghostscript draw what is EPS, whatever its name."""
    Image.new("L", (8, 8)).save(tmp_path / "x.eps")
    (tmp_path / "a").mkdir()
    (tmp_path / "x.eps").rename(tmp_path / "a" / "x.png")
    monkeypatch.setattr("subprocess.Popen", None)
    assert "x.png: not readable" in refusal(tmp_path)


def test_files_that_are_read(tmp_path, written):
    written("a/1.png", "")
    written("b/2.gif", "")
    written("b/notes.txt", "")
    written(".git/3.png", "")
    (tmp_path / "b" / "folder.png").mkdir()
    assert files_of(tmp_path) == [str(tmp_path / "a" / "1.png"), str(tmp_path / "b" / "2.gif")]
    assert files_of("-") == []
    assert files_of("x.csv") == ["x.csv"]


MARKET = "%%MatrixMarket matrix coordinate real general\n"

# Matrix Market


@pytest.mark.parametrize(
    ("kind", "dense", "packed"), [("general", False, ".gz"), ("general", True, ""), ("symmetric", False, ".bz2")]
)
def test_matrix_market_is_read_as_it_was_written(tmp_path, kind, dense, packed):
    rng = np.random.RandomState(3)
    X = rng.standard_normal((6, 6 if kind != "general" else 4)) * (rng.rand(6, 6 if kind != "general" else 4) < 0.6)
    X = {"general": X, "symmetric": X + X.T, "skew-symmetric": X - X.T}[kind] if kind != "general" else X
    file = io.BytesIO()
    mmwrite(file, X if dense else sparse.coo_array(X), symmetry=kind, precision=17, comment="of chance")
    path = tmp_path / f"x.mtx{packed}"
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[packed](file.getvalue()))
    found = read(path).X
    np.testing.assert_array_equal(found if dense else found.toarray(), X)


@pytest.mark.parametrize("end", ["\n ", "", "\r\n"])
def test_blanks_at_the_end_of_matrix_market(written, end):
    np.testing.assert_array_equal(read(written("x.mtx", f"{MARKET}2 2 1\n2 1 3{end}")).X.toarray(), [[0, 0], [3, 0]])


def test_patterns_and_integers(written):
    pattern = MARKET.replace("real", "pattern") + "% a comment\n\n2 3 3\n1 1\n2 3\n2 3\n"
    np.testing.assert_array_equal(read(written("x.mtx", pattern)).X.toarray(), [[1, 0, 0], [0, 0, 2]])
    array = "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4\n"
    np.testing.assert_array_equal(read(written("x.mtx", array)).X, [[1, 3], [2, 4]])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (MARKET, "Premature EOF"),
        (MARKET + "2 2\n1 1 1\n", "Invalid integer"),
        (MARKET + "2 2 1\n1 3 1\n", "Column index out of bounds"),
        (MARKET + "2 2 1\n1 1 x\n", "x.mtx: not readable"),
        (MARKET + "1000000000000 2 1\n1 1 1\n", "the limit for this file"),
        ("%%MatrixMarket matrix array real symmetric\n10000000 10000000\n1\n", "the limit for this file"),
        (MARKET.replace("real", "quaternion"), "quaternion"),
    ],
)
def test_bad_matrix_market(written, content, said):
    found = refusal(written("x.mtx", content))
    assert "x.mtx: " in found
    assert said in found


def test_a_missing_extra_is_no_fault_of_the_file(written, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    with pytest.raises(ImportError, match="pip install"):
        read(written("x.csv", "a,b\n1,2\n"))
