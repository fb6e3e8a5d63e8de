"""Files of columns, CSV and Parquet, which pyarrow reads in batches of rows."""

from __future__ import annotations

import csv as plain_csv
import io
import os
import re
import sys
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, NamedTuple, cast

import numpy as np

from .._extras import require
from .cells import MISSING, cells_of, is_like_a_number, number, values_of
from .files import check_file, check_memory, limit, readable
from .preparation import listed, number_column, stacked, typed_values
from .table import Roles, Table, Wanted, batch_rows, roles_of

HEAD = 2**20  # the layout of CSV is read from this many bytes, or from more where lines are long
HEAD_LINES = 100  # the layout is read from at most this many lines
BLOCK = 2**22  # bytes of CSV per batch
LONGEST_LINE = 2**30  # the most bytes that a line may have, since Arrow takes a line as one block
LINE_TIMES = 64  # bytes of memory per byte of the first lines, while their cells are looked at
COLUMN_BYTES = 14_000  # bytes of memory that Arrow takes per column
DELIMITERS = ",\t;| "
NO_HEADER = (
    "the first line has numbers and is taken for data, and columns are numbered from 0; --header says that it has names"
)


def arrow(part: str = "") -> Any:
    """pyarrow, or a part of it."""
    return require(f"pyarrow{part}", "tables")


class Layout(NamedTuple):
    """How a CSV file is written."""

    encoding: str
    delimiter: str
    names: list[str]
    named: bool  # whether the names come from the file
    rows: list[list[str]]  # the first rows
    block: int  # bytes to read at a time, which hold at least a line


def read_csv(path: str, wanted: Wanted) -> Iterator[Table]:
    """The rows of a CSV file, whose cells are text."""
    csv = arrow(".csv")
    with _source(path) as (source, size):
        layout = _layout(source, path, size, wanted.header)
        _check_header(layout, wanted, path)
        roles = roles_of(layout.names, wanted, path, layout.named)
        problems: list[str] = []
        parse = csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True)
        parse.invalid_row_handler = lambda row: _skipped(row, layout, problems)
        names = None if layout.named else layout.names
        how = {"block_size": layout.block, "use_threads": False, "encoding": layout.encoding}
        notes = () if layout.named or wanted.header is not None else (NO_HEADER,)
        try:
            with _stream(source, path) as stream:
                for batch in csv.open_csv(
                    stream, csv.ReadOptions(column_names=names, **how), parse, _conversion(roles)
                ):
                    table = _table(batch, roles, notes)
                    yield table if layout.named or wanted.mixed else replace(table, feature_names=None)
        except arrow().ArrowInvalid as error:
            long = f"a line is longer than {layout.block:,} bytes; is the last quote of a cell missing?"
            said = long if "straddl" in str(error) else " ".join(str(error).split())
            raise ValueError(f"{path}: {problems[0] if problems else said}") from error


@contextmanager
def _source(path: str) -> Iterator[tuple[Any, int]]:
    """A file, by its name, and its size. Standard input is kept on disk, since it is looked at twice."""
    if path != "-":
        check_file(path)
        with open(path, "rb"):  # where it cannot be read, this raises the system's own message
            yield path, os.path.getsize(path)
        return
    with TemporaryFile() as file:
        for piece in iter(
            lambda: cast(io.BufferedReader, sys.stdin.buffer).read1(HEAD), b""
        ):  # piece by piece, so that Ctrl-C is noticed
            file.write(piece)
        yield file, file.tell()


@contextmanager
def _stream(source: Any, path: str) -> Iterator[Any]:
    """The bytes of a file from its beginning, unpacked."""
    if not isinstance(source, str):
        source.seek(0)
        yield source
        return
    try:
        with arrow().input_stream(source, compression="detect") as stream:
            yield stream
    except OSError as error:
        if error.errno is not None:  # the error is about the file, and not about its content
            raise
        raise ValueError(f"{path}: not a readable packed file ({error})") from error


def _layout(source: Any, path: str, size: int, header: bool | None) -> Layout:
    """The encoding, the delimiter and the names of the columns, from the first lines."""
    longest = min(limit(size) // LINE_TIMES, LONGEST_LINE)
    with _stream(source, path) as stream:
        head = more = stream.read(HEAD)
        while more and head.count(b"\n") < 3:
            if len(head) > longest:
                raise ValueError(_too_long(path, longest))
            more = stream.read(min(len(head), longest + 1 - len(head)))
            head += more
    cut = len(head) >= HEAD  # they may end inside a line, or inside a character
    encoding = _encoding(head, cut, path)
    text = getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)(errors="replace").decode(
        head, not cut
    )
    if not text.strip():
        raise ValueError(f"{path}: the file is empty")
    delimiter = max(DELIMITERS, key=lambda delimiter: _agreement(_rows(text, delimiter, cut), delimiter))
    rows = _rows(text, delimiter, cut)
    if not rows:
        raise ValueError(f"{path}: a cell is longer than {plain_csv.field_size_limit():,} characters; is this CSV?")
    named = _has_header(rows) if header is None else header
    names = rows[0] if named else [str(j) for j in range(len(rows[0]))]
    check_memory(path, COLUMN_BYTES * len(names), size, f"a table of {len(names):,} columns")
    return Layout(
        encoding, delimiter, names, named, rows[int(named) :], max(BLOCK, 2 * max(map(len, head.split(b"\n"))))
    )


def _too_long(path: str, longest: int) -> str:
    most = f"{longest:,} bytes, the most for a file of its size"
    return f"{path}: a line is longer than {most}; is this CSV? If so, unpack the file"


def _encoding(head: bytes, cut: bool, path: str) -> str:
    """UTF-8, or what spreadsheets write else: UTF-16 with its mark, or the code page of Windows for western Europe."""
    try:
        getincrementaldecoder("utf-8")().decode(head, final=not cut)
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    encoding = "utf-16" if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "cp1252"
    if encoding == "cp1252" and b"\0" in head:
        raise ValueError(f"{path}: neither UTF-8 nor another encoding of text; convert the file first (iconv -t UTF-8)")
    warnings.warn(f"{path} is not UTF-8, and is read as {encoding}", UserWarning, stacklevel=2)
    return encoding


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
    sign = "." if delimiter == "," else ","
    numbers = sum(number(cell, ".") is not None or number(cell, sign) is not None for cell in cells)
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


def _check_header(layout: Layout, wanted: Wanted, path: str) -> None:
    """Raise where names that the user gives stand in a line that was taken for data."""
    given = {wanted.label, wanted.id, *wanted.drop} & set(layout.rows[0] if layout.rows else ())
    words = sorted(name for name in given if name and not _is_number(name))
    if words and not layout.named and wanted.header is None:
        raise ValueError(
            f"{path}: {listed(words)} stands in the first line, which was taken for data as it has numbers; --header says that "
            "it has the names"
        )


def _conversion(roles: Roles) -> Any:
    """Cells stay text, as they are written."""
    columns = list(dict.fromkeys([*roles.features, *roles.others]))
    text = dict.fromkeys(columns, arrow().string())
    return arrow(".csv").ConvertOptions(include_columns=columns, column_types=text)


def _skipped(row: Any, layout: Layout, problems: list[str]) -> str:
    """What Arrow does with a row of another length: a line of blanks is no row."""
    if not row.text.strip():
        return "skip"
    found, place = row.actual_columns, row.number - layout.named
    problems.append(f"row {place} has {found} column{'s' * (found != 1)}, not {row.expected_columns} as the first")
    return "error"


def _table(batch: Any, roles: Roles, notes: tuple[str, ...] = ()) -> Table:
    y, ids = (None if name is None else _values(batch.column(name)) for name in (roles.label, roles.id))
    aside = {name: _values(batch.column(name)) for name in roles.aside}
    places = {name: j for j, name in enumerate(batch.schema.names)}  # Arrow is slow at looking up one of many names
    X = arrow().Table.from_batches([batch]).select([places[name] for name in roles.features])
    return Table(X, y, ids, roles.features, aside=aside, notes=notes)


def _values(column: Any) -> np.ndarray:
    if column.null_count and arrow(".types").is_integer(column.type):  # NumPy would turn integers with gaps into floats
        return np.array(column.to_pylist(), dtype=object)
    return values_of(column)


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
    cells, columns, words = {}, {}, {}
    for name, column in zip(table.X.column_names, plain_numbers(table.X).columns, strict=True):
        try:
            cells[name] = cells_of(column)
            columns[name] = typed_values(cells[name], number_column(None), name)
        except (TypeError, ValueError) as error:
            words[name] = str(error)
    if words and row:
        said = re.sub(r"in row (\d+)", lambda found: f"in row {int(found[1]) + row}", next(iter(words.values())))
        raise ValueError(f"{path}: {said}, or leave the column out (--drop)")
    if words and words.keys() == columns.keys() | words.keys() and len(words) == 1:
        raise ValueError(
            f"{path}: its only feature, {next(iter(words))!r}, is text; turn documents into numbers first, for instance with "
            "scikit-learn's TfidfVectorizer, and save them with scipy.sparse.save_npz"
        )
    if words:
        names, those = list(words), "them" if len(words) > 1 else "it"
        raise ValueError(
            f"{path}: {listed(names)} {'are' if len(words) > 1 else 'is'} not numeric; name the label (--label) or the "
            f"identifier (--id), leave {those} out (--drop {','.join(names[:8])}), or encode {those} as numbers"
        )
    return replace(table, X=stacked(list(columns.values())))


# Parquet


def read_parquet(path: str, wanted: Wanted) -> Iterator[Table]:
    check_file(path)
    # A row group may be the whole file, so it is read in pieces, and not ahead.
    with open(path, "rb") as stream, readable(path, "Parquet file"):
        file = _parquet(path, stream)
        types = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
        roles = roles_of(file.schema_arrow.names, wanted, path)
        looked_at = roles.others if wanted.mixed else [*roles.features, *roles.others]
        if nested := [name for name in looked_at if arrow(".types").is_nested(types[name])]:
            raise ValueError(
                f"{path}: {listed(nested)} {'hold' if len(nested) > 1 else 'holds'} lists or records; give every entry a column "
                f"of its own, or leave out what is no feature (--drop {','.join(nested[:8])})"
            )
        columns = list(dict.fromkeys([*roles.features, *roles.others]))
        for batch in file.iter_batches(batch_rows(len(roles.features)), columns=columns, use_threads=False):
            yield _table(batch, roles)


def _parquet(path: str, stream: Any) -> Any:
    """The file, with each text held once, as in the file, and not once per row.

    Otherwise a few bytes could say that a long text stands in every row, and fill the memory.
    """
    parquet = arrow(".parquet")
    metadata = parquet.read_metadata(stream)
    for group in range(metadata.num_row_groups):
        # The size of the group as a whole: pyarrow ends the program where the record of a column in it is damaged.
        check_memory(path, metadata.row_group(group).total_byte_size, os.path.getsize(path), "a group of rows")
    is_text = (arrow(".types").is_string, arrow(".types").is_large_string)
    text = [field.name for field in metadata.schema.to_arrow_schema() if any(test(field.type) for test in is_text)]
    stream.seek(0)
    return parquet.ParquetFile(stream, metadata=metadata, pre_buffer=False, buffer_size=2**20, read_dictionary=text)
