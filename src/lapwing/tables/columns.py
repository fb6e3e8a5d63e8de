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
from contextlib import contextmanager
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np

from .._extras import require
from .cells import MISSING, is_like_a_number, number, values_of
from .files import check_file, check_memory, limit, readable
from .preparation import listed
from .table import Roles, Table, Wanted, batch_rows, float_type, missing_values, roles_of

HEAD = 2**20  # the layout of CSV is read from this many bytes, or from more where lines are long
HEAD_LINES = 100  # the layout is read from at most this many lines
BLOCK = 2**22  # bytes of CSV per batch
LONGEST_LINE = 2**30  # the most bytes that a line may have, since Arrow takes a line as one block
LINE_TIMES = 64  # bytes of memory per byte of the first lines, while their cells are looked at
COLUMN_BYTES = 14_000  # bytes of memory that Arrow takes per column
DELIMITERS = ",\t;| "
PARQUET = "Parquet file"
NO_HEADER = "the first line has numbers and is taken for data, so that columns are numbered from 0; --header says that it has names"


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
    """The rows of a CSV file. Features are text where columns may be ``mixed``, and else must be numbers."""
    csv = arrow(".csv")
    with _source(path) as (source, size):
        layout = _layout(source, path, size, wanted.header)
        _check_header(layout, wanted, path)
        roles = roles_of(layout.names, wanted, path, layout.named)
        if not wanted.mixed:
            _check_numeric([name for name in _columns_of_words(layout) if name in roles.features], roles, path)
        problems: list[str] = []
        parse = csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True)
        parse.invalid_row_handler = lambda row: _skipped(row, layout, problems)
        names = None if layout.named else layout.names
        reading = csv.ReadOptions(
            column_names=names, block_size=layout.block, use_threads=False, encoding=layout.encoding
        )
        row = 0
        try:
            with _stream(source, path) as stream:
                for batch in csv.open_csv(stream, reading, parse, _conversion(layout, roles, wanted)):
                    yield _table(batch, roles, wanted, np.dtype(np.float64), path, row, layout)
                    row += batch.num_rows
        except arrow().ArrowInvalid as error:
            raise ValueError(f"{path}: {problems[0] if problems else _explained(str(error), layout)}") from error


@contextmanager
def _source(path: str) -> Iterator[tuple[Any, int]]:
    """A file, by its name, and its size. Standard input is kept on disk, since it is looked at twice."""
    if path != "-":
        check_file(path)
        with open(path, "rb"):  # where it cannot be read, this raises the system's own message
            yield path, os.path.getsize(path)
        return
    with TemporaryFile() as file:
        for piece in iter(lambda: sys.stdin.buffer.read1(HEAD), b""):  # piece by piece, so that Ctrl-C is noticed
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


def _columns_of_words(layout: Layout) -> list[str]:
    """The columns in whose first rows there is something else than numbers."""
    whole = [row for row in layout.rows if len(row) == len(layout.names)]
    columns = dict(zip(layout.names, zip(*whole, strict=True), strict=False))
    return [name for name, cells in columns.items() if not all(_is_number(c) or c.strip() in MISSING for c in cells)]


def _check_numeric(words: list[str], roles: Roles, path: str) -> None:
    """Raise where features are text, and say what to do."""
    if not words:
        return
    if words == roles.features and len(words) == 1:
        raise ValueError(
            f"{path}: its only feature, {words[0]!r}, is text; turn documents into numbers first, for instance with "
            "scikit-learn's TfidfVectorizer, and save them with scipy.sparse.save_npz"
        )
    those = "them" if len(words) > 1 else "it"
    raise ValueError(
        f"{path}: {listed(words)} {'are' if len(words) > 1 else 'is'} not numeric; name the label (--label) or the identifier "
        f"(--id), leave {those} out (--drop {','.join(words[:8])}), or encode {those} as numbers"
    )


def _conversion(layout: Layout, roles: Roles, wanted: Wanted) -> Any:
    commas = layout.delimiter != "," and any(
        number(cell.strip(), ".") is None and number(cell.strip(), ",") is not None
        for row in layout.rows
        for cell in row
    )
    convert = arrow(".csv").ConvertOptions(decimal_point="," if commas else ".")
    convert.include_columns = list(dict.fromkeys([*roles.features, *roles.others]))
    convert.null_values = sorted(MISSING.union(convert.null_values))
    kind = arrow().string() if wanted.mixed else arrow().float64()
    convert.column_types = dict.fromkeys(roles.features, kind) | dict.fromkeys(roles.others, arrow().string())
    return convert


def _skipped(row: Any, layout: Layout, problems: list[str]) -> str:
    """What Arrow does with a row of another length: a line of blanks is no row."""
    if not row.text.strip():
        return "skip"
    found, place = row.actual_columns, row.number - layout.named
    problems.append(f"row {place} has {found} column{'s' * (found != 1)}, not {row.expected_columns} as the first")
    return "error"


def _explained(message: str, layout: Layout) -> str:
    """Arrow's message with the name of the column, and with the row as the user counts it."""
    conversion = re.search(r"column #(\d+): Row #(\d+): CSV conversion error to \w+: invalid value '(.*)'", message)
    if conversion:
        column, row, value = conversion.groups()
        return (
            f"column {layout.names[int(column)]!r}: {value!r} in row {int(row) - layout.named} is not a number, as all before it "
            "are; correct it, or leave the column out (--drop)"
        )
    if "straddl" in message:
        return f"a line is longer than {layout.block:,} bytes; is the last quote of a cell missing?"
    return message


def _table(
    batch: Any, roles: Roles, wanted: Wanted, dtype: np.dtype, path: str, row: int, layout: Layout | None = None
) -> Table:
    """A batch whose first row is row ``row + 1`` of the file."""
    y, ids = (None if name is None else _values(batch.column(name)) for name in (roles.label, roles.id))
    aside = {name: _values(batch.column(name)) for name in roles.aside}
    named = layout is None or layout.named
    notes = () if named or wanted.header is not None else (NO_HEADER,)
    if wanted.mixed:
        X = arrow().Table.from_batches([batch]).select(roles.features)
        return Table(X, y, ids, roles.features, aside=aside, notes=notes)
    _check_complete(batch, [*roles.features, *([roles.id] if roles.id else [])], path, row)
    X = np.empty((batch.num_rows, len(roles.features)), dtype)
    for j, name in enumerate(roles.features):
        column = batch.column(name)
        whole = not column.null_count or arrow(".types").is_floating(column.type)
        X[:, j] = (column if whole else column.cast(arrow().float64())).to_numpy(zero_copy_only=False)
    return Table(X, y, ids, roles.features if named else None, aside=aside, notes=notes)


def _check_complete(batch: Any, names: list[str], path: str, row: int) -> None:
    columns = {name: batch.column(name) for name in names}
    gaps = {
        name: row + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False))) + 1
        for name, column in columns.items()
        if column.null_count
    }
    if gaps:
        raise ValueError(missing_values(path, gaps))


def _values(column: Any) -> np.ndarray:
    if column.null_count and arrow(".types").is_integer(column.type):  # NumPy would turn integers with gaps into floats
        return np.array(column.to_pylist(), dtype=object)
    return values_of(column)


def plain_numbers(table: Any, categories: Collection[str]) -> Any:
    """A table of text with the columns as numbers whose cells all are plain numbers or gaps; the others stay as they are."""
    pa, compute = arrow(), arrow(".compute")
    marks = pa.array(sorted(MISSING))
    for j, name in enumerate(table.column_names):
        if name in categories or not pa.types.is_string(table.schema.types[j]):
            continue
        text = compute.utf8_trim_whitespace(table.column(j))
        try:
            numbers = compute.if_else(compute.is_in(text, marks), None, text).cast(pa.float64())
        except pa.ArrowInvalid:
            continue
        table = table.set_column(j, name, numbers)
    return table


# Parquet


def read_parquet(path: str, wanted: Wanted) -> Iterator[Table]:
    check_file(path)
    # A row group may be the whole file, so it is read in pieces, and not ahead.
    with open(path, "rb") as stream, readable(path, PARQUET):
        file = _parquet(path, stream)
        types = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
        roles = roles_of(file.schema_arrow.names, wanted, path)
        _check_types(types, roles, wanted, path)
        dtype = float_type(_numpy_type(types[name]) for name in roles.features if _is_numeric(types[name]))
        columns, row = list(dict.fromkeys([*roles.features, *roles.others])), 0
        for batch in file.iter_batches(batch_rows(len(roles.features)), columns=columns, use_threads=False):
            yield _table(batch, roles, wanted, dtype, path, row)
            row += batch.num_rows


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


def _check_types(types: dict[str, Any], roles: Roles, wanted: Wanted, path: str) -> None:
    """Raise where columns hold lists, or features that must be numbers are none."""
    looked_at = roles.others if wanted.mixed else [*roles.features, *roles.others]
    nested = [name for name in looked_at if arrow(".types").is_nested(types[name])]
    if nested:
        raise ValueError(
            f"{path}: {listed(nested)} {'hold' if len(nested) > 1 else 'holds'} lists or records; give every entry a column of "
            f"its own, or leave out what is no feature (--drop {','.join(nested[:8])})"
        )
    if not wanted.mixed:
        _check_numeric([name for name in roles.features if not _is_numeric(types[name])], roles, path)


def _is_numeric(kind: Any) -> bool:
    types = arrow(".types")
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_null, types.is_decimal)
    return any(test(kind) for test in tests)


def _numpy_type(kind: Any) -> Any:
    types = arrow(".types")
    return np.float64 if types.is_decimal(kind) or types.is_null(kind) else kind.to_pandas_dtype()
