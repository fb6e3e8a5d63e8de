"""Files of columns, CSV and Parquet, which pyarrow reads in batches of rows."""

from __future__ import annotations

import csv as plain_csv
import io
import os
import re
import shutil
import sys
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from .._extras import require
from .cells import MISSING, cells_of, is_like_a_number, number, values_of
from .preparation import listed, number_column, stacked, typed_values
from .table import Roles, Table, Wanted, batch_rows, check_file, check_memory, limit, readable, roles_of

HEAD = 2**20  # the layout of CSV is read from this many bytes, or from more where lines are long
HEAD_LINES = 100  # the layout is read from at most this many lines
BLOCK = 2**22  # bytes of CSV per batch
LONGEST_LINE = 2**30  # the most bytes that a line may have, since Arrow takes a line as one block
LINE_TIMES = 64  # bytes of memory per byte of the first lines, while their cells are looked at
COLUMN_BYTES = 14_000  # bytes of memory that Arrow takes per column
DELIMITERS = ",\t;| "
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
NO_HEADER = (
    "the first line has numbers and is taken for data, and columns are numbered from 0; --header says that it has names"
)


def arrow(part: str = "") -> Any:
    """pyarrow, or a part of it."""
    return require(f"pyarrow{part}", "tables")


# CSV


def read_csv(path: str, wanted: Wanted) -> Iterator[Table]:
    """The rows of a CSV file, whose cells are text as they are written."""
    csv = arrow(".csv")
    with _source(path) as source:
        size = os.fstat(source.fileno()).st_size
        with _unpacked(source, path) as stream:
            head, cut = _head(stream, path, limit(size))
        encoding = _encoding(head, cut, path)
        delimiter, rows = _layout(head, cut, encoding, path)
        named = _has_header(rows) if wanted.header is None else wanted.header
        names = rows[0] if named else [str(j) for j in range(len(rows[0]))]
        check_memory(path, COLUMN_BYTES * len(names), size, f"a table of {len(names):,} columns")
        roles = roles_of(names, wanted, path, named)
        block, problems = max(BLOCK, 2 * max(map(len, head.split(b"\n")))), []

        def skipped(row: Any) -> str:
            """What Arrow does with a row of another length: a line of blanks is no row."""
            if not row.text.strip():
                return "skip"
            found = f"{row.actual_columns} column{'s' * (row.actual_columns != 1)}"
            problems.append(f"row {row.number - named} has {found}, not {row.expected_columns} as the first")
            return "error"

        how = csv.ReadOptions(
            column_names=None if named else names, block_size=block, use_threads=False, encoding=encoding
        )
        parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skipped)
        text = dict.fromkeys(roles.columns, arrow().string())
        kept = csv.ConvertOptions(include_columns=roles.columns, column_types=text)
        notes = () if named or wanted.header is not None else (NO_HEADER,)
        with _unpacked(source, path) as stream:
            try:
                for batch in csv.open_csv(stream, how, parse, kept):
                    table = _table(batch, roles, notes)
                    yield table if named or wanted.mixed else replace(table, feature_names=None)
            except arrow().ArrowInvalid as error:
                long = f"a line is longer than {block:,} bytes; is the last quote of a cell missing?"
                said = long if "straddl" in str(error) else " ".join(str(error).split())
                raise ValueError(f"{path}: {problems[0] if problems else said}") from error


@contextmanager
def _source(path: str) -> Iterator[Any]:
    """The file. Standard input is kept on disk, since it is looked at twice."""
    if path != "-":
        check_file(path)
        with open(path, "rb") as file:
            yield file
        return
    with TemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield file


@contextmanager
def _unpacked(source: Any, path: str) -> Iterator[Any]:
    """The bytes of a file from its beginning, unpacked."""
    codec = PACKED.get(os.path.splitext(path.lower())[1])
    source.seek(0)
    if codec is None:
        yield source
        return
    # Arrow's stream closes what it reads from.
    with open(path, "rb") as packed, readable(path, "packed file"):
        yield arrow().CompressedInputStream(packed, codec)


def _head(stream: Any, path: str, most: int) -> tuple[bytes, bool]:
    """The first lines, at least three, and whether they may end inside a line."""
    longest = min(most // LINE_TIMES, LONGEST_LINE)
    head = more = stream.read(HEAD)
    while more and head.count(b"\n") < 3:
        if len(head) > longest:
            said = f"a line is longer than {longest:,} bytes, the most for a file of its size"
            raise ValueError(f"{path}: {said}; is this CSV? If so, unpack the file")
        more = stream.read(min(len(head), longest + 1 - len(head)))
        head += more
    return head, len(head) >= HEAD


def _encoding(head: bytes, cut: bool, path: str) -> str:
    """UTF-8, or what spreadsheets write else: UTF-16 with its mark, or the code page of Windows for western Europe."""
    with suppress(UnicodeDecodeError):
        getincrementaldecoder("utf-8")().decode(head, final=not cut)
        return "utf-8"
    encoding = "utf-16" if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "cp1252"
    if encoding == "cp1252" and b"\0" in head:
        raise ValueError(f"{path}: neither UTF-8 nor another encoding of text; convert the file first (iconv -t UTF-8)")
    warnings.warn(f"{path} is not UTF-8, and is read as {encoding}", UserWarning, stacklevel=2)
    return encoding


def _layout(head: bytes, cut: bool, encoding: str, path: str) -> tuple[str, list[list[str]]]:
    """The delimiter, and the first rows with it."""
    decoder = getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)(errors="replace")
    text = decoder.decode(head, not cut)
    if not text.strip():
        raise ValueError(f"{path}: the file is empty")
    rows = {delimiter: _rows(text, delimiter, cut) for delimiter in DELIMITERS}
    best = max(rows, key=lambda delimiter: _agreement(rows[delimiter], delimiter))
    if not rows[best]:
        raise ValueError(f"{path}: a cell is longer than {plain_csv.field_size_limit():,} characters; is this CSV?")
    return best, rows[best]


def _rows(text: str, delimiter: str, cut: bool) -> list[list[str]]:
    """The first rows; none where a cell would be too long with this delimiter."""
    try:
        reader = plain_csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = list(islice((row for row in reader if any(map(str.strip, row))), HEAD_LINES))
    except plain_csv.Error:
        return []
    return rows[:-1] if cut and 1 < len(rows) < HEAD_LINES else rows


def _agreement(rows: list[list[str]], delimiter: str) -> tuple[float, float]:
    """The share of rows that have as many cells as the first, and the share of cells that are numbers.

    For example, every row of ``3,14;2,71`` has three cells between commas and two between semicolons. Only the semicolons
    leave numbers.
    """
    if not rows or len(rows[0]) < 2:
        return 0.0, 0.0
    cells = [cell.strip() for row in rows for cell in row]
    signs = (".", "." if delimiter == "," else ",")
    numbers = sum(any(number(cell, sign) is not None for sign in signs) for cell in cells)
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows), numbers / len(cells)


def _is_number(cell: str) -> bool:
    return is_like_a_number(cell.strip()) or cell.strip().lower() in ("inf", "-inf", "nan")


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: it is text above numbers, text in all rows, or the numbers of columns."""
    first, below = rows[0], rows[1:]
    if not any(map(_is_number, first)):
        return True
    numeric = [all(_is_number(row[j]) for row in below if j < len(row) and row[j]) for j in range(len(first))]
    if below and any(column and not _is_number(cell) for cell, column in zip(first, numeric, strict=True)):
        return True
    positions = [cell == str(j) for j, cell in enumerate(first) if _is_number(cell)]
    return len(positions) > 1 and all(positions)


# Parquet


def read_parquet(path: str, wanted: Wanted) -> Iterator[Table]:
    """The rows of a Parquet file. A group of rows may be the whole file, so it is read in pieces, and not ahead.

    Each text is held once, as in the file, and not once per row. Otherwise a few bytes could say that a long text stands in
    every row, and fill the memory.
    """
    check_file(path)
    parquet, types = arrow(".parquet"), arrow(".types")
    with open(path, "rb") as stream, readable(path, "Parquet file"):
        metadata = parquet.read_metadata(stream)
        for group in range(metadata.num_row_groups):
            # The size of the group as a whole: pyarrow ends the program where the record of a column in it is damaged.
            check_memory(path, metadata.row_group(group).total_byte_size, os.path.getsize(path), "a group of rows")
        kinds = {field.name: field.type for field in metadata.schema.to_arrow_schema()}
        text = [name for name, kind in kinds.items() if types.is_string(kind) or types.is_large_string(kind)]
        stream.seek(0)
        file = parquet.ParquetFile(stream, metadata=metadata, pre_buffer=False, buffer_size=2**20, read_dictionary=text)
        roles = roles_of(file.schema_arrow.names, wanted, path)
        # Nested features of mixed tables are told later, together with what else cannot be read.
        looked_at = roles.others if wanted.mixed else roles.columns
        if nested := [name for name in looked_at if types.is_nested(kinds[name])]:
            raise ValueError(
                f"{path}: {listed(nested)} {'hold' if len(nested) > 1 else 'holds'} lists or records; give every entry a column "
                f"of its own, or leave out what is no feature (--drop {','.join(nested[:8])})"
            )
        for batch in file.iter_batches(batch_rows(len(roles.features)), columns=roles.columns, use_threads=False):
            yield _table(batch, roles)


# Both


def _table(batch: Any, roles: Roles, notes: tuple[str, ...] = ()) -> Table:
    def values(name: str | None) -> Any:
        column = None if name is None else batch.column(name)
        if column is not None and column.null_count and arrow(".types").is_integer(column.type):
            return np.array(column.to_pylist(), dtype=object)  # NumPy would turn integers with gaps into floats
        return None if column is None else values_of(column)

    places = {name: j for j, name in enumerate(batch.schema.names)}  # Arrow is slow at looking up one of many names
    X = arrow().Table.from_batches([batch]).select([places[name] for name in roles.features])
    aside = {name: values(name) for name in roles.aside}
    return Table(X, values(roles.label), values(roles.id), roles.features, aside=aside, notes=notes)


def plain_numbers(table: Any, categories: Collection[str] = ()) -> Any:
    """A table of text with the columns as numbers whose cells all are plain numbers or gaps; the others stay as they are."""
    pa, compute = arrow(), arrow(".compute")
    marks = pa.array(sorted(MISSING))
    columns = table.columns
    for j, (name, column) in enumerate(zip(table.column_names, columns, strict=True)):
        if name not in categories and pa.types.is_string(column.type):
            text = compute.utf8_trim_whitespace(column)
            with suppress(pa.ArrowInvalid):
                columns[j] = compute.if_else(compute.is_in(text, marks), None, text).cast(pa.float64())
    return pa.table(columns, names=table.column_names)


def as_numbers(table: Table, path: str, row: int) -> Table:
    """The table with the columns of X as one array. Columns without numbers raise; ``row`` rows of the file come before it."""
    columns, words = {}, {}
    for name, column in zip(table.X.column_names, plain_numbers(table.X).columns, strict=True):
        try:
            columns[name] = typed_values(cells_of(column), number_column(None), name)
        except (TypeError, ValueError) as error:
            words[name] = re.sub(r"in row (\d+).*", lambda found: f"in row {int(found[1]) + row}", str(error))
    if words:
        names, (are, those) = list(words), ("are", "them") if len(words) > 1 else ("is", "it")
        how = "turn documents into numbers first, for instance with scikit-learn's TfidfVectorizer"
        raise ValueError(
            f"{path}: {listed(names)} {are} not numeric ({words[names[0]]}); name the label (--label) or the identifier (--id), "
            f"leave {those} out (--drop {','.join(names[:8])}), or encode {those} as numbers{'' if columns else f'; {how}'}"
        )
    return replace(table, X=stacked(list(columns.values())))
