"""Reading a data set whole or in parts, whatever its format, within limits of memory."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import os
import re
import subprocess
import sys
import warnings
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from textwrap import shorten
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from scipy.io import mminfo
from sklearn import get_config
from sklearn.datasets import load_svmlight_file

from .._extras import require
from .._validation import check_compressed, check_count
from .preparation import DATES, INDEX, is_like_a_number, listed, meanings, plain_rows, values_of
from .table import FileError, Table, joined, sampled, typed, unknown, with_classes, with_targets

BATCH_VALUES = 2**21  # numbers per batch: 16 MB of float64
TIMES = 100  # Reading a file may take this many times its size in memory, or working_memory where that is more.
TEXT_TIMES = 4  # memory for the numbers of a text, in times of its size once it is unpacked
LONGEST_MESSAGE = 300  # characters of what a library says of a file, which may quote all of it
BLOCK = 2**22  # bytes of CSV per batch, and the longest line; the layout is read from the first
HEAD_LINES = 100  # the layout is read from at most this many lines
COLUMN_BYTES = 14_000  # bytes of memory that Arrow takes per column
DELIMITERS = "\t;|, "  # where two fit all of the first lines, the first is taken
DATA_FIRST = "the first line has numbers and is taken for data; --header says that it has names"
NAMES_FIRST = "the first line was taken for names; --no-header if it is data"
IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp")
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # others, such as EPS, may run programs
PIXEL = 24  # bytes per pixel while an image is read: it is decoded, rotated, converted, and stored as float32
#: Reads a matrix of Matrix Market from standard input, and writes it to standard output as .npz.
MARKET = """
import sys, numpy
from scipy import io, sparse

X = io.mmread(sys.stdin.buffer)
sparse.save_npz(sys.stdout.buffer, X.tocsr(), False) if sparse.issparse(X) else numpy.savez(sys.stdout.buffer, X=X)
"""


def read(
    path: str | os.PathLike,
    *,
    label: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    mixed: bool = False,
    sample: int | None = None,
    random_state: int | RandomState = 0,
    targets: bool = False,
    **options: Any,
) -> Table:
    r"""Read a data set whole, or a random sample of its rows.

    Parameters
    ----------
    path : str or path-like
        A file, a folder of images, or ``"-"`` for CSV on standard input.
    label : str or None, default=None
        The column of labels, by name, or by number (from 0; -1 is the last) where columns have no names; for a matrix or images
        a file of labels (``.npy``, or text with one label per line), for ``.npz`` a key other than ``y`` or ``target``.
    id : str or None, default=None
        The column of identifiers, of CSV and Parquet.
    drop : sequence of str, default=()
        Columns of CSV and Parquet to leave out.
    mixed : bool, default=False
        Whether columns may hold text and dates, as :class:`Preparation` takes them; else these are errors.
    sample : int or None, default=None
        Keep this many rows, chosen at random and in their order, in the memory of the sample.
    random_state : int or RandomState instance, default=0
        The seed of the sample.
    targets : bool, default=False
        Whether labels are numbers, as the graph :class:`~lapwing.graphs.Target` reads them, and not names of classes.
    **options
        ``features``: the columns to take, in this order; where they have no names, all of as many. ``aside``: columns of CSV
        and Parquet to keep beside the features. ``header``: whether the first line of CSV has the names, where a note says that
        it is in doubt. ``labels=False`` leaves the labels that svmlight, ``.npz`` and folders of images bring. ``resize``:
        (width, height) of images; without it all must be of one size. ``zero_based``: whether svmlight counts features from 0;
        ``n_features``: how many there are, in svmlight else the largest in use.

    Returns
    -------
    Table
        Labels that are whole numbers are int64, quantities float64, others text. -1 is an unknown label; where -1 and 1 are
        all there are, they become 0 and 1. Targets are NaN where missing. Identifiers are as written (``007``). Dates aside
        are days since 1970; rows with a gap there are left out.

    Examples
    --------
    >>> import tempfile
    >>> from lapwing.tables import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/iris.csv", "w") as file:
    ...         _ = file.write("length,width,species\n5.1,3.5,setosa\n6.2,2.9,virginica\n")
    ...     table = read(f"{folder}/iris.csv", label="species")
    >>> table.feature_names, table.X.shape, table.y.tolist()
    (['length', 'width'], (2, 2), ['setosa', 'virginica'])
    """
    path, most = os.fspath(path), None if sample is None else check_count("sample", sample)
    tables = batches(path, label=label, id=id, drop=drop, mixed=mixed, **options)
    with readable(path):
        # Standard input is read in any case.
        size = float("inf") if path == "-" else sum(map(os.path.getsize, files_of(path)))
        whole = joined(list(_within(size, tables))) if most is None else sampled(tables, most, random_state)
        table = _with_keys(whole)
        for values in (table.y, *table.aside.values()):
            if values is not None and values.dtype == object:  # text becomes an array as wide as the longest
                longest = max((len(cell) for cell in values.tolist() if isinstance(cell, str)), default=0)
                what = f"a column of labels as long as {longest:,} characters"
                check_memory(4 * longest * len(values), size, what)
        return with_targets(table) if targets else with_classes(table)


def batches(
    path: str | os.PathLike,
    *,
    label: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    mixed: bool = False,
    aside: Sequence[str] = (),
    header: bool | None = None,
    labels: bool = True,
    resize: tuple[int, int] | None = None,
    zero_based: bool = False,
    n_features: int | None = None,
) -> Iterator[Table]:
    r"""Read a data set in parts, some rows after the other, by the parameters of :func:`read`.

    CSV, Parquet and ``.npy`` files are never in memory whole, whatever their size; others are.
    Identifiers and labels of CSV are text as written, and may be missing.
    """
    path, row, wanted = os.fspath(path), 0, SimpleNamespace(**locals())
    reader = _reader(path)
    with readable(path):
        if reader not in (read_csv, read_parquet) and (id is not None or drop or aside):
            raise FileError("it has no columns by name, as id, drop and aside need; use CSV or Parquet")
        for table in reader(path, wanted):
            try:
                X = plain_rows(table.X) if table.is_mixed and not mixed else table.X
            except ValueError as error:
                raise FileError(in_file(error, row)) from error
            asked = n_features if features is None else len(features)
            if asked not in (None, X.shape[1]) and table.image_shape is None:
                raise FileError(f"{X.shape[1]} columns of features, but the model was fitted to {asked}")
            row += len(table)
            yield replace(table, X=X, y=table.y if labels else None)
        if row == 0:
            raise FileError("no rows of data")


def _reader(path: str) -> Callable[[str, Any], Iterator[Table]]:
    if path == "-" or os.path.isdir(path):
        return read_csv if path == "-" else read_images
    suffix = os.path.splitext(re.sub(r"\.(gz|bz2)$", "", path.lower()))[1]
    if suffix not in READERS:
        known = f"known are {' '.join(READERS)}, a folder of images, and - for CSV on stdin"
        raise ValueError(f"{path}: unknown kind of file; {known}")
    return READERS[suffix]


def in_file(error: Exception, row: int) -> str:
    """What an error says of a part of a file before which there are some rows."""
    return re.sub(r"in row (\d+)", lambda found: f"in row {int(found[1]) + row}", str(error))


def files_of(path: str | os.PathLike) -> list[str]:
    """The files that :func:`read` reads: the path itself, or the images of a folder. For standard input there are none."""
    path = os.fspath(path)
    return [] if path == "-" else list(map(os.fspath, _images(path))) if os.path.isdir(path) else [path]


def _with_keys(table: Table) -> Table:
    """The rows that have a value in every column aside. Dates and numbers there become numbers, so that they sort by time."""
    for name in table.aside:
        gaps = unknown(table.aside[name])
        if gaps.all():
            raise FileError(f"column {name!r} is empty")
        if gaps.any():
            note = f"{gaps.sum():,} row{'s' * int(gaps.sum() > 1)} without {name!r} left out"
            table = replace(table.take(~gaps), notes=(*table.notes, note))
        if (values := table.aside[name]).dtype.kind in "OU":
            cells = [str(cell).strip() for cell in values.tolist()]
            dates = meanings(set(cells), DATES)
            table.aside[name] = typed(values) if dates is None else np.array([dates[0][cell] for cell in cells])
    return table


# Limits


@contextmanager
def readable(path: str | os.PathLike) -> Iterator[None]:
    """A context in which almost any exception about a file, which may be damaged, becomes one that names the file."""
    try:
        yield
    except ImportError:
        raise  # an extra that is not installed is no fault of the file
    except FileError as error:
        raise FileError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error.__cause__
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise  # the system's own message, which names the file
        why = shorten(str(error), LONGEST_MESSAGE) or type(error).__name__
        raise FileError(f"{path}: not readable ({why})") from error


def limit(size: float) -> float:
    """The bytes of memory that reading a file of this size may take: a multiple of the size, and at least ``working_memory``."""
    return max(TIMES * size, get_config()["working_memory"] * 2**20)


def check_memory(needed: float, size: float, what: str = "reading it") -> None:
    """Raise before memory is taken, where reading a file of this size would need more than it allows."""
    if needed > limit(size):
        raise FileError(
            f"{what} takes {needed / 2**20:,.0f} MiB of memory, and the limit for this file is "
            f"{limit(size) / 2**20:,.0f} MiB: {TIMES} times its size, or scikit-learn's working_memory where that is more; if "
            "the file is right, raise the latter (SKLEARN_WORKING_MEMORY=8192, in MiB)"
        )


def _within(size: float, tables: Iterator[Table]) -> Iterator[Table]:
    """The tables. Raise once all of them together take more memory than a file of this size may."""
    total = 0
    for table in tables:
        total += (table.X.data if sparse.issparse(table.X) else table.X).nbytes
        check_memory(total, size, "the table")
        yield table


def batch_rows(n_features: int) -> int:
    return min(max(BATCH_VALUES // max(n_features, 1), 64), 65_536)


def opened(path: str) -> Any:
    """The bytes of a file, uncompressed where its name says so."""
    unpack: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(os.path.splitext(path.lower())[1], open)
    return unpack(path, "rb")


def unpacked(path: str) -> bytes:
    """The content of a text file, which may not take more memory than is allowed."""
    size = os.path.getsize(path)
    with opened(path) as stream:
        content = stream.read(int(limit(size)) // TEXT_TIMES + 1)
    check_memory(TEXT_TIMES * len(content), size, "what it unpacks to")
    return content


# Columns


def roles_of(names: list[str], wanted: Any, named: bool = True) -> dict[str, list[str]]:
    """The columns of each role, as the parameters of :func:`batches` say; columns named there must exist."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise FileError(f"{listed(twice)} more than once; give columns different names")
    given = {"label": [wanted.label], "id": [wanted.id], "aside": wanted.aside, "drop": wanted.drop}
    roles = {
        role: [_column(names, named, own, role) for own in some if own is not None] for role, some in given.items()
    }
    features = [name for name in names if name not in {*chain(*roles.values())}]
    if wanted.features is not None and (named or set(wanted.features) <= set(names)):
        features = list(wanted.features)
        if missing := sorted(set(features) - set(names)):
            raise FileError(f"no {listed(missing)}, on which the model was fitted; it has {listed(names)}")
    elif not features:
        raise FileError("no column is left to project, beside label, id and what is dropped")
    elif not wanted.mixed and (index := [name for name in features if name in INDEX]):
        what = "row numbers, it seems, not a feature, or a delimiter ends each line"
        raise FileError(f"{listed(index)}: {what}; use --id {index[0]!r} or --drop {index[0]!r}")
    return {**roles, "features": features, "drop": []}


def _column(names: list[str], named: bool, given: str, role: str) -> str:
    """The column that the user named, or numbered where columns have no names."""
    if named and given in names:
        return given
    if not named and re.fullmatch(r"-?\d+", given) and -len(names) <= int(given) < len(names):
        return names[int(given)]
    if not named:
        which = f"give a number, 0 to {len(names) - 1}, or --header where the first line has names"
        raise FileError(f"{role}={given!r}: columns have no names; {which}")
    raise FileError(f"{role}={given!r}: no such column; it has {listed(get_close_matches(given, names) or names)}")


def _table(batch: Any, roles: dict[str, list[str]], names: list[str] | None, notes: tuple[str, ...] = ()) -> Table:
    places = {name: j for j, name in enumerate(batch.schema.names)}  # Arrow is slow at looking up one of many names
    X = require("pyarrow", "tables").Table.from_batches([batch]).select([places[name] for name in roles["features"]])
    y, ids = (next((_exact(batch.column(places[name])) for name in roles[role]), None) for role in ("label", "id"))
    return Table(
        X, y, ids, names, aside={name: _exact(batch.column(places[name])) for name in roles["aside"]}, notes=notes
    )


def _exact(column: Any) -> np.ndarray:
    """The values of a column. NumPy would turn integers with gaps into floats."""
    has_gaps = column.null_count and "int" in str(column.type)
    return np.array(column.to_pylist(), dtype=object) if has_gaps else values_of(column)


# CSV


def read_csv(path: str, wanted: Any) -> Iterator[Table]:
    """The rows of a CSV file, whose cells are text as they are written."""
    pa, arrow = require("pyarrow", "tables"), require("pyarrow.csv", "tables")
    with TemporaryFile() if path == "-" else opened(path) as file:
        if path == "-":  # kept on disk, since it is looked at twice
            copyfileobj(sys.stdin.buffer, file)
            file.seek(0)
        head = file.read(BLOCK)
        file.seek(0)
        encoding = _encoding(head, path)
        # The last line of a longer file is cut.
        whole = head[: head.rfind(b"\n") + 1] if len(head) == BLOCK else head
        delimiter, rows = _layout(whole.decode("utf-8-sig" if encoding == "utf-8" else encoding, "replace"))
        if not rows:
            raise FileError(f"the file is empty, or its first line is longer than {BLOCK:,} bytes")
        named, notes = _header(rows) if wanted.header is None else (wanted.header, ())
        names = rows[0] if named else [str(j) for j in range(len(rows[0]))]
        size = 0 if path == "-" else os.path.getsize(path)
        check_memory(COLUMN_BYTES * len(names), size, f"a table of {len(names):,} columns")
        roles = roles_of(names, wanted, named)
        columns = list(dict.fromkeys(chain(*roles.values())))
        how = arrow.ReadOptions(
            column_names=None if named else names, block_size=BLOCK, use_threads=False, encoding=encoding
        )
        parse = arrow.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        kept = arrow.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, pa.string()))
        try:
            for batch in arrow.open_csv(file, how, parse, kept):
                yield _table(batch, roles, roles["features"] if named or wanted.mixed else None, notes)
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                raise
            raise FileError(f"a line is longer than {BLOCK:,} bytes; is the last quote of a cell missing?") from error


def _encoding(head: bytes, path: str) -> str:
    """UTF-8, or what spreadsheets write else: the code page of Windows for western Europe."""
    try:
        getincrementaldecoder("utf-8")().decode(head)
        return "utf-8"
    except UnicodeDecodeError:
        if b"\0" in head:
            raise FileError("not UTF-8; convert the file first (iconv -t UTF-8)") from None
    warnings.warn(f"{path} is not UTF-8, and is read as cp1252", UserWarning, stacklevel=2)
    return "cp1252"


def _layout(text: str) -> tuple[str, list[list[str]]]:
    """The delimiter, with which most of the first rows have as many cells as the first, and these rows."""
    best, found = -1.0, (",", list[list[str]]())
    for delimiter in DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            rows = list(islice((row for row in reader if any(map(str.strip, row))), HEAD_LINES))
        except csv.Error:  # a cell is too long
            continue
        share = sum(len(row) == len(rows[0]) > 1 for row in rows) / max(len(rows), 1)
        best, found = (share, (delimiter, rows)) if share > best else (best, found)
    return found


def _header(rows: list[list[str]]) -> tuple[bool, tuple[str, ...]]:
    """Whether the first row names the columns, and what a user should know of that.

    It does where it has no numbers, where it has text above numbers, and where it has the numbers of the columns.
    """
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    columns = [{row[j].strip() for row in below} - {""} for j in range(len(first))]
    numbers = [j for j, cell in enumerate(first) if is_like_a_number(cell.strip())]
    if len(numbers) != 1 and all(first[j] == str(j) for j in numbers):
        stands_again = any(cell.strip() in column for cell, column in zip(first, columns, strict=True))
        return True, (NAMES_FIRST,) * stands_again
    over = (column for j, column in enumerate(columns) if column and j not in numbers)
    named = any(all(map(is_like_a_number, column)) for column in over)
    return named, (NAMES_FIRST if named else DATA_FIRST,)


# Parquet


def read_parquet(path: str, wanted: Any) -> Iterator[Table]:
    """The rows of a Parquet file, in pieces. A text that stands in every row is held once, or it might fill the memory."""
    parquet = require("pyarrow.parquet", "tables")
    with open(path, "rb") as stream:
        metadata = parquet.read_metadata(stream)
        for group in range(metadata.num_row_groups):
            # The size of the group as a whole: pyarrow ends the program where the record of a column in it is damaged.
            check_memory(metadata.row_group(group).total_byte_size, os.path.getsize(path), "a group of rows")
        stream.seek(0)
        how = {"read_dictionary": range(metadata.num_columns), "pre_buffer": False, "buffer_size": 2**20}
        file = parquet.ParquetFile(stream, metadata=metadata, **how)
        roles = roles_of(file.schema_arrow.names, wanted)
        columns = list(dict.fromkeys(chain(*roles.values())))
        kinds = {name: file.schema_arrow.field(name).type for name in columns if name not in roles["features"]}
        if nested := [name for name, kind in kinds.items() if kind.num_fields]:
            raise FileError(f"{listed(nested)} holds lists or records, and cannot name rows or classes")
        for batch in file.iter_batches(batch_rows(len(roles["features"])), columns=columns, use_threads=False):
            yield _table(batch, roles, roles["features"])


# Matrices


def read_numpy(path: str, wanted: Any, source: Any = None) -> Iterator[Table]:
    """One array, which is mapped and never in memory whole, or an archive of arrays, dense or sparse."""
    with source or open(path, "rb") as stream:
        if source is None and not stream.peek().startswith(b"PK"):
            yield from _dense(np.lib.format.open_memmap(path, mode="r"), wanted)
            return
        archive = np.load(stream, allow_pickle=False)
        check_memory(sum(entry.file_size for entry in archive.zip.infolist()), os.path.getsize(path))
        if "format" in archive.files:  # as scipy.sparse.save_npz writes it
            stream.seek(0)
            yield _sparse(sparse.load_npz(stream), wanted, os.path.getsize(path))
            return
        if not (names := [name for name in ("X", "data") if name in archive.files]):
            raise FileError(f"no array X or data in it; it has {', '.join(archive.files)}")
        yield from _dense(archive[names[0]], wanted, archive)


def read_matrix_market(path: str, wanted: Any) -> Iterator[Table]:
    """The matrix, which SciPy reads in a process of its own, since damaged files can end the process."""
    content = unpacked(path) + b"\n"
    rows, columns, entries, form, _, _ = mminfo(io.BytesIO(content))
    check_memory(16 * rows + (8 * rows * columns if form == "array" else 24 * entries), os.path.getsize(path))
    done = subprocess.run([sys.executable, "-P", "-c", MARKET], input=content, capture_output=True, check=False)
    if done.returncode:
        raise ValueError((done.stderr.decode(errors="replace").splitlines() or ["it ends SciPy's reader"])[-1])
    yield from read_numpy(path, wanted, io.BytesIO(done.stdout))


def read_svmlight(path: str, wanted: Any) -> Iterator[Table]:
    content = io.BytesIO(unpacked(path))
    X, y = load_svmlight_file(content, n_features=wanted.n_features, zero_based=wanted.zero_based)
    yield _sparse(X, wanted, os.path.getsize(path), {"y": y})


def _dense(X: np.ndarray, wanted: Any, brought: Any = ()) -> Iterator[Table]:
    """Rows, or images in the place of rows, as float32 or float64."""
    dtype, shape = _float_type(X), X.shape[1:] if X.ndim > 2 else None
    y, rows = _labels(wanted.label, len(X), brought), batch_rows(int(np.prod(X.shape[1:])))
    for start in range(0, len(X), rows):
        some = slice(start, start + rows)
        part = np.array(X[some], dtype, order="C")
        yield Table(part.reshape(len(part), -1), None if y is None else y[some], image_shape=shape)


def _sparse(X: Any, wanted: Any, size: int, brought: Any = ()) -> Table:
    """A sparse matrix as CSR. Its indices are checked first, since neither SciPy nor scikit-learn checks them."""
    dtype = _float_type(X)
    check_memory(16 * sum(X.shape), size, f"a matrix of {X.shape[0]:,} x {X.shape[1]:,}")  # no fit needs less
    if X.format in ("csr", "csc", "bsr"):
        check_compressed(X)
    X = sparse.csr_array(X).astype(dtype)
    X.sum_duplicates()
    # Indices of 32 bits take half the memory, and scikit-learn asks for them.
    if max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return Table(X, _labels(wanted.label, X.shape[0], brought))


def _float_type(X: Any) -> np.dtype:
    """The narrowest of float32 and float64 that holds the values of a matrix exactly. Raise where it has none."""
    if X.dtype.kind not in "fiub" or X.ndim < 2 or 0 in X.shape:
        raise FileError(f"an array of {X.dtype} and of shape {X.shape}; rows and columns of real numbers are needed")
    return np.dtype(np.float32 if np.result_type(np.float32, X.dtype) == np.float32 else np.float64)


def _labels(label: str | None, n: int, brought: Any = ()) -> np.ndarray | None:
    """Labels that a file brings by name, or from a file of their own; None where there are none."""
    if names := [name for name in ([label] if label else ["y", "target"]) if name in brought]:
        y = brought[names[0]]
    elif label is None:
        return None
    elif not os.path.exists(label):
        raise FileError(f"label={label!r}: no such file; labels of a matrix are .npy, or text with one label per line")
    else:
        with readable(label):
            if label.endswith(".npy"):
                y = np.load(label, allow_pickle=False)
            else:
                lines = Path(label).read_text("utf-8").split("\n")
                y = np.array(
                    lines[:n] if lines[n:] == [""] else lines, dtype=object
                )  # the last label may be blank, too
    if y.shape != (n,):
        raise FileError(
            f"{label or names[0]}: labels of shape {y.shape}, but there are {n} rows; one per row is needed"
        )
    return y


# Images


def _images(path: str) -> list[Path]:
    """The images of a folder, in the order of their rows, without what belongs to tools, such as .git and __MACOSX."""
    files = sorted(file for file in Path(path).rglob("*") if file.suffix.lower() in IMAGES and not file.is_dir())
    return [file for file in files if not re.search(r"(^|/)(\.|__MACOSX)", file.relative_to(path).as_posix())]


def read_images(path: str, wanted: Any) -> Iterator[Table]:
    """The images of a folder, in grey where all are, and in colours else."""
    if not (files := _images(path)):
        raise FileError(f"no images in this folder, which should have one sub-folder a class: {' '.join(IMAGES)}")
    names = [file.relative_to(path) for file in files]
    loose = [name for name in names if len(name.parts) == 1]
    if 0 < len(loose) < len(files):
        raise FileError(f"{loose[0]} is in no sub-folder, others are; sub-folders are the classes")
    total, images = sum(file.stat().st_size for file in files), []
    for file in files:
        images.append(_pixels(file, wanted.resize, total))
        check_memory(5 * len(files) * images[-1].size, total)
        first, own = (f"{image.shape[1]}x{image.shape[0]}" for image in (images[0], images[-1]))
        if first != own:
            remedy = f"images must be of one size: --resize {first} makes them so"
            raise FileError(f"{files[0]} is {first} and {file} is {own}; {remedy}")
    if len({image.ndim for image in images}) > 1:
        images = [image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2) for image in images]
    X = np.array(images, np.float32).reshape(len(images), -1)
    y = _labels(wanted.label, len(X), {} if loose else {"y": np.array([name.parts[0] for name in names])})
    yield Table(X, y, np.array([name.as_posix() for name in names]), image_shape=images[0].shape)


def _pixels(file: Path, size: tuple[int, int] | None, total: int) -> np.ndarray:
    """The image as a person sees it: rotated as the camera says, with its palette resolved. ``total`` bytes have all files."""
    Image, ops = require("PIL.Image", "cli"), require("PIL.ImageOps", "cli")
    # Pillow warns of large images, for which we have a limit.
    with readable(file), warnings.catch_warnings(action="ignore"), Image.open(file, formats=FORMATS) as image:
        check_memory(PIXEL * image.width * image.height, total, f"an image of {image.width} x {image.height}")
        if image.mode[0] in "IF":  # such images have a scale of their own, which the file does not tell
            raise FileError(f"pixels of more than 8 bits ({image.mode}); convert it, or save all as one array (.npy)")
        seen = ops.exif_transpose(image).convert("L" if image.mode in ("1", "L") else "RGB")
        return np.asarray(seen if size is None else seen.resize(size))


READERS: dict[str, Callable[[str, Any], Iterator[Table]]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), read_csv),
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
    **dict.fromkeys((".npy", ".npz"), read_numpy),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), read_svmlight),
    ".mtx": read_matrix_market,
}
