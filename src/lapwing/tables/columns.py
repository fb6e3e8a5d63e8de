"""Files of columns, which pyarrow reads and writes in batches of rows: CSV and Parquet."""

from __future__ import annotations

import csv as plain_csv
import io
import os
import re
import sys
import warnings
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._extras import replacing, require
from .cells import is_like_a_number, values_of
from .preparation import listed
from .table import FileError, Roles, Table, batch_rows, check_memory, known, opened, roles_of

BLOCK = 2**22  # bytes of CSV per batch, and the longest line; the layout is read from the first
HEAD_LINES = 100  # the layout is read from at most this many lines
COLUMN_BYTES = 14_000  # bytes of memory that Arrow takes per column
DELIMITERS = "\t;|, "  # where two fit all of the first lines, the first is taken
DATA_FIRST = "the first line has numbers and is taken for data; --header says that it has names"
NAMES_FIRST = "the first line was taken for names; --no-header if it is data"
WRITTEN = {".csv": ",", ".tsv": "\t", ".npy": "", ".parquet": "", ".pq": ""}  # and what stands between cells
FORMULA = re.compile(r"[=@\t\r]|[+-](?=.)(?![\d.]+$)")  # how cells begin that spreadsheets run; -5 is a number


def arrow(part: str = "") -> Any:
    """pyarrow, or a part of it."""
    return require(f"pyarrow{part}", "tables")


# CSV


def read_csv(path: str, wanted: Any) -> Iterator[Table]:
    """The rows of a CSV file, whose cells are text as they are written."""
    csv = arrow(".csv")
    with _source(path) as file:
        head = file.read(BLOCK)
        file.seek(0)
        encoding = _encoding(head, path)
        delimiter, rows = _layout(head.decode("utf-8-sig" if encoding == "utf-8" else encoding, "replace"))
        if not rows:
            raise FileError("the file is empty, or a cell in its first lines is too long")
        named, notes = _header(rows) if wanted.header is None else (wanted.header, ())
        names = rows[0] if named else [str(j) for j in range(len(rows[0]))]
        size = 0 if path == "-" else os.path.getsize(path)
        check_memory(COLUMN_BYTES * len(names), size, f"a table of {len(names):,} columns")
        roles = roles_of(names, wanted, named)
        columns = list(dict.fromkeys([*roles.features, *roles.others]))
        how = csv.ReadOptions(
            column_names=None if named else names, block_size=BLOCK, use_threads=False, encoding=encoding
        )
        parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=_skipped)
        kept = csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, arrow().string()))
        try:
            for batch in csv.open_csv(file, how, parse, kept):
                yield _table(batch, roles, roles.features if named or wanted.mixed else None, notes)
        except arrow().ArrowInvalid as error:
            if "straddl" not in str(error):
                raise
            raise FileError(f"a line is longer than {BLOCK:,} bytes; is the last quote of a cell missing?") from error


def _skipped(row: Any) -> str:
    """What Arrow does with a row of another length: a line of blanks is no row."""
    return "error" if row.text.strip() else "skip"


@contextmanager
def _source(path: str) -> Iterator[Any]:
    """The file, unpacked. Standard input is kept on disk, since it is looked at twice."""
    if path != "-":
        with opened(path) as file:
            yield file
        return
    with TemporaryFile() as file:
        # Piece by piece as they come: one call for all would not see a Ctrl-C that comes between two of its pieces.
        stream: Any = sys.stdin.buffer
        while piece := stream.read1(2**16):
            file.write(piece)
        file.seek(0)
        yield file


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
    rows = {delimiter: _rows(text, delimiter) for delimiter in DELIMITERS}
    fit = {delimiter: [len(row) == len(own[0]) > 1 for row in own] for delimiter, own in rows.items()}
    best = max(fit, key=lambda delimiter: sum(fit[delimiter]) / max(len(fit[delimiter]), 1))
    return best, rows[best]


def _rows(text: str, delimiter: str) -> list[list[str]]:
    reader = plain_csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = list(islice((row for row in reader if any(map(str.strip, row))), HEAD_LINES))
    except plain_csv.Error:  # a cell is too long
        return []
    return rows[:-1] if 1 < len(rows) < HEAD_LINES and len(text) >= BLOCK else rows  # the last may be cut


def _header(rows: list[list[str]]) -> tuple[bool, tuple[str, ...]]:
    """Whether the first row names the columns, and what a user should know of that.

    It does where it has no numbers, where it has text above numbers, and where it has the numbers of the columns.
    """
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    columns = [[row[j].strip() for row in below if row[j].strip()] for j in range(len(first))]
    numbers = [j for j, cell in enumerate(first) if is_like_a_number(cell.strip())]
    if len(numbers) != 1 and all(first[j] == str(j) for j in numbers):
        stands_again = any(cell.strip() in column for cell, column in zip(first, columns, strict=True))
        return True, (NAMES_FIRST,) * stands_again
    names = [
        j for j, column in enumerate(columns) if column and j not in numbers and all(map(is_like_a_number, column))
    ]
    return bool(names), (NAMES_FIRST if names else DATA_FIRST,)


# Parquet


def read_parquet(path: str, wanted: Any) -> Iterator[Table]:
    """The rows of a Parquet file, in pieces. A text that stands in every row is held once, or it might fill the memory."""
    parquet, types = arrow(".parquet"), arrow(".types")
    with open(path, "rb") as stream:
        metadata = parquet.read_metadata(stream)
        for group in range(metadata.num_row_groups):
            # The size of the group as a whole: pyarrow ends the program where the record of a column in it is damaged.
            check_memory(metadata.row_group(group).total_byte_size, os.path.getsize(path), "a group of rows")
        kinds = {field.name: field.type for field in metadata.schema.to_arrow_schema()}
        text = [name for name, kind in kinds.items() if types.is_string(kind) or types.is_large_string(kind)]
        stream.seek(0)
        file = parquet.ParquetFile(stream, metadata=metadata, pre_buffer=False, buffer_size=2**20, read_dictionary=text)
        roles = roles_of(file.schema_arrow.names, wanted)
        if nested := [name for name in roles.others if types.is_nested(kinds[name])]:
            raise FileError(f"{listed(nested)} holds lists or records, and cannot name rows or classes")
        columns = list(dict.fromkeys([*roles.features, *roles.others]))
        for batch in file.iter_batches(batch_rows(len(roles.features)), columns=columns, use_threads=False):
            yield _table(batch, roles, roles.features)


# Both


def _table(batch: Any, roles: Roles, names: list[str] | None, notes: tuple[str, ...] = ()) -> Table:
    places = {name: j for j, name in enumerate(batch.schema.names)}  # Arrow is slow at looking up one of many names
    X = arrow().Table.from_batches([batch]).select([places[name] for name in roles.features])
    beside: dict[str | None, Any] = {name: _exact(batch.column(places[name])) for name in roles.others}
    aside = {name: beside[name] for name in roles.aside}
    return Table(X, beside.get(roles.label), beside.get(roles.id), names, aside=aside, notes=notes)


def _exact(column: Any) -> np.ndarray:
    """The values of a column. NumPy would turn integers with gaps into floats."""
    has_gaps = column.null_count and arrow(".types").is_integer(column.type)
    return np.array(column.to_pylist(), dtype=object) if has_gaps else values_of(column)


# Writing


def write(path: str | os.PathLike, tables: Iterable[Table], *, label: str = "label", id: str = "id") -> int:
    """Write dense tables to a file, each as it comes, and return how many rows were written.

    ``"-"`` is CSV on standard output. ``label`` and ``id`` name the columns of labels and of identifiers. In CSV and TSV, text
    that a spreadsheet would run as a formula, such as ``=A1``, gets an apostrophe before it.
    """
    path = os.fspath(path)
    if path == "-":
        return _write(sys.stdout.buffer, tables, id, label, ",")
    suffix = check_suffix(path)
    with replacing(path) as file:
        return _write_npy(file, tables) if suffix == ".npy" else _write(file, tables, id, label, WRITTEN[suffix])


def check_suffix(path: str) -> str:
    """The suffix of a file's name. Raise where no table can be written under it."""
    suffix = os.path.splitext(path.lower())[1]
    if suffix not in WRITTEN:
        raise ValueError(f"{path}: unknown kind of file to write; {known(WRITTEN)}, and - for CSV on stdout")
    return suffix


def _write(file: IO[bytes], tables: Iterable[Table], id: str, label: str, delimiter: str) -> int:
    batches = (_batch(table, id, label, bool(delimiter)) for table in map(_dense, tables))
    first, rows = next(batches), 0
    if delimiter:  # Arrow writes no names with quotes
        line = io.StringIO()
        plain_csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(_inert(first.schema.names))
        file.write(line.getvalue().encode())
        file.flush()
        how = arrow(".csv").WriteOptions(include_header=False, delimiter=delimiter)
        writer = arrow(".csv").CSVWriter(file, first.schema, write_options=how)
    else:
        writer = arrow(".parquet").ParquetWriter(file, first.schema)
    with writer:
        for batch in chain([first], batches):
            writer.write_table(batch.cast(first.schema))
            rows += batch.num_rows
    return rows


def _batch(table: Table, id: str, label: str, inert: bool) -> Any:
    """The columns of a table for Arrow: identifiers, labels, and features."""
    features = table.feature_names or [str(j) for j in range(table.X.shape[1])]
    beside = {name: values for name, values in ((id, table.ids), (label, table.y)) if values is not None}
    if clash := [name for name in beside if name in features]:
        raise ValueError(f"{listed(clash)} would stand twice in the output; rename the column of the input")
    cells = [*beside.values(), *table.X.T]
    columns = [arrow().array(_inert(own.tolist()) if inert and own.dtype.kind in "OU" else own) for own in cells]
    # Later tables may have labels.
    columns = [column.cast(arrow().string()) if arrow().types.is_null(column.type) else column for column in columns]
    return arrow().table(columns, names=[*beside, *features])


def _inert(cells: list[Any]) -> list[Any]:
    """The cells with an apostrophe before text that a spreadsheet would run as a formula."""
    return [f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in cells]


def _dense(table: Table) -> Table:
    if sparse.issparse(table.X):
        raise TypeError("these formats hold dense tables; pass X.toarray(), or write X with scipy.sparse.save_npz")
    return table


def _write_npy(file: IO[bytes], tables: Iterable[Table]) -> int:
    """Write an array, which is in memory whole: its header says how many rows there are."""
    found = list(map(_dense, tables))
    if any(table.ids is not None or table.y is not None or table.X.dtype == object for table in found):
        raise ValueError("a .npy file holds numbers alone; write .parquet or .csv to keep names, labels or text")
    X = np.concatenate([table.X for table in found])
    np.save(file, X)
    return len(X)
