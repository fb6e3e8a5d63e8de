"""Files of columns, which pyarrow reads and writes in batches of rows: CSV and Parquet. What is written may be ``.npy``, too."""

from __future__ import annotations

import csv as plain_csv
import io
import os
import re
import sys
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._extras import require
from .._files import replacing
from .cells import is_like_a_number, values_of
from .preparation import listed
from .table import Roles, Table, batch_rows, check_file, check_memory, known, limit, readable, roles_of

HEAD = 2**20  # the layout of CSV is read from this many bytes, or from more where lines are long
HEAD_LINES = 100  # the layout is read from at most this many lines
BLOCK = 2**22  # bytes of CSV per batch
LINE_TIMES = 64  # bytes of memory per byte of the first lines, while their cells are looked at
COLUMN_BYTES = 14_000  # bytes of memory that Arrow takes per column
DELIMITERS = "\t;|, "  # where two fit all of the first lines, the first is taken
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
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
    with _source(path) as file, readable(path, "CSV file"):
        size = os.fstat(file.fileno()).st_size
        first = _unpacked(file, path)  # kept, since Arrow closes the file with it
        head = _first_lines(first, limit(size) // LINE_TIMES)
        encoding = _encoding(head, path)
        delimiter, rows = _layout(head.decode("utf-8-sig" if encoding == "utf-8" else encoding, "replace"))
        if not rows:
            raise ValueError(f"{path}: the file is empty, or a cell in its first lines is too long")
        named, notes = _header(rows) if wanted.header is None else (wanted.header, ())
        names = rows[0] if named else [str(j) for j in range(len(rows[0]))]
        check_memory(path, COLUMN_BYTES * len(names), size, f"a table of {len(names):,} columns")
        roles = roles_of(names, wanted, path, named)
        columns = list(dict.fromkeys([*roles.features, *roles.others]))
        block = max(BLOCK, 2 * max(map(len, head.split(b"\n"))))
        how = csv.ReadOptions(
            column_names=None if named else names, block_size=block, use_threads=False, encoding=encoding
        )
        parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=_skipped)
        kept = csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, arrow().string()))
        try:
            for batch in csv.open_csv(_unpacked(file, path), how, parse, kept):
                yield _table(batch, roles, roles.features if named or wanted.mixed else None, notes)
        except arrow().ArrowInvalid as error:
            if "straddl" not in str(error):
                raise
            long = f"{path}: a line is longer than {block:,} bytes; is the last quote of a cell missing?"
            raise ValueError(long) from error


def _skipped(row: Any) -> str:
    """What Arrow does with a row of another length: a line of blanks is no row."""
    return "error" if row.text.strip() else "skip"


@contextmanager
def _source(path: str) -> Iterator[Any]:
    """The file. Standard input is kept on disk, since it is looked at twice."""
    if path != "-":
        check_file(path)
        with open(path, "rb") as file:
            yield file
        return
    with TemporaryFile() as file:
        # Piece by piece as they come: one call for all would not see a Ctrl-C that comes between two of its pieces.
        stream: Any = sys.stdin.buffer
        while piece := stream.read1(2**16):
            file.write(piece)
        file.flush()
        yield file


def _unpacked(file: Any, path: str) -> Any:
    """The bytes of a file from its beginning, unpacked."""
    file.seek(0)
    codec = PACKED.get(os.path.splitext(path.lower())[1])
    return file if codec is None else arrow().CompressedInputStream(file, codec)


def _first_lines(stream: Any, most: int) -> bytes:
    """The first lines, at least three, unless they are longer than ``most`` bytes."""
    head = stream.read(HEAD)
    while head.count(b"\n") < 3 and len(head) < most and (more := stream.read(min(len(head), most - len(head)))):
        head += more
    return head


def _encoding(head: bytes, path: str) -> str:
    """UTF-8, or what spreadsheets write else: UTF-16 with its mark, or the code page of Windows for western Europe."""
    with suppress(UnicodeDecodeError):
        getincrementaldecoder("utf-8")().decode(head)
        return "utf-8"
    encoding = "utf-16" if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "cp1252"
    if encoding == "cp1252" and b"\0" in head:
        raise ValueError(f"{path}: neither UTF-8 nor another encoding of text; convert the file first (iconv -t UTF-8)")
    warnings.warn(f"{path} is not UTF-8, and is read as {encoding}", UserWarning, stacklevel=2)
    return encoding


def _layout(text: str) -> tuple[str, list[list[str]]]:
    """The delimiter, with which most of the first rows have as many cells as the first, and these rows."""
    rows = {delimiter: _rows(text, delimiter) for delimiter in DELIMITERS}
    fit = {
        delimiter: sum(len(row) == len(own[0]) for row in own) / len(own) if own and len(own[0]) > 1 else 0.0
        for delimiter, own in rows.items()
    }
    best = max(fit, key=lambda delimiter: fit[delimiter])
    return best, rows[best]


def _rows(text: str, delimiter: str) -> list[list[str]]:
    reader = plain_csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        rows = list(islice((row for row in reader if any(map(str.strip, row))), HEAD_LINES))
    except plain_csv.Error:  # a cell is too long
        return []
    return rows[:-1] if 1 < len(rows) < HEAD_LINES and len(text) >= HEAD else rows  # the last may be cut


def _header(rows: list[list[str]]) -> tuple[bool, tuple[str, ...]]:
    """Whether the first row names the columns, and what a user should know of that.

    It does where it has no numbers, where it has text above numbers, and where it has the numbers of the columns.
    """
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    columns = [[row[j] for row in below if row[j].strip()] for j in range(len(first))]
    numbered = [cell == str(j) for j, cell in enumerate(first) if _is_number(cell)]
    if all(numbered) and len(numbered) != 1:
        stands_again = any(cell in column for cell, column in zip(first, columns, strict=True))
        return True, (NAMES_FIRST,) if stands_again else ()
    over_numbers = any(
        column and all(map(_is_number, column)) and not _is_number(cell)
        for cell, column in zip(first, columns, strict=True)
    )
    return over_numbers, (NAMES_FIRST if over_numbers else DATA_FIRST,)


def _is_number(cell: str) -> bool:
    return is_like_a_number(cell.strip())


# Parquet


def read_parquet(path: str, wanted: Any) -> Iterator[Table]:
    """The rows of a Parquet file, in pieces. A text that stands in every row is held once, or it might fill the memory."""
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
        if nested := [name for name in roles.others if types.is_nested(kinds[name])]:
            raise ValueError(f"{path}: {listed(nested)} holds lists or records, and cannot name rows or classes")
        columns = list(dict.fromkeys([*roles.features, *roles.others]))
        for batch in file.iter_batches(batch_rows(len(roles.features)), columns=columns, use_threads=False):
            yield _table(batch, roles, roles.features)


# Both


def _table(batch: Any, roles: Roles, names: list[str] | None, notes: tuple[str, ...] = ()) -> Table:
    def values(name: str | None) -> Any:
        column = None if name is None else batch.column(name)
        if column is not None and column.null_count and arrow(".types").is_integer(column.type):
            return np.array(column.to_pylist(), dtype=object)  # NumPy would turn integers with gaps into floats
        return None if column is None else values_of(column)

    places = {name: j for j, name in enumerate(batch.schema.names)}  # Arrow is slow at looking up one of many names
    X = arrow().Table.from_batches([batch]).select([places[name] for name in roles.features])
    aside = {name: values(name) for name in roles.aside}
    return Table(X, values(roles.label), values(roles.id), names, aside=aside, notes=notes)


# Writing


def write(path: str | os.PathLike, tables: Iterable[Table], *, label: str = "label", id: str = "id") -> int:
    """Write tables to one file, each as it comes, and return how many rows were written.

    In CSV and TSV, text that a spreadsheet would run as a formula, such as ``=A1``, gets an apostrophe before it.

    Parameters
    ----------
    path : str or path-like
        A file of CSV, TSV, Parquet or ``.npy``, which is replaced once all is written, or ``"-"`` for CSV on standard output.
    tables : iterable of Table
        The tables, which must be dense.
    label : str, default="label"
        The name of the column of labels.
    id : str, default="id"
        The name of the column of identifiers, which comes first.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from lapwing.tables import Table, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/rows.csv", [Table(np.eye(2), feature_names=["a", "b"])])
    2
    """
    path = os.fspath(path)
    if path == "-":
        return _write_columns(sys.stdout.buffer, tables, id, label, ".csv")
    suffix = check_suffix(path)
    with replacing(path) as file:
        return _write_npy(file, tables) if suffix == ".npy" else _write_columns(file, tables, id, label, suffix)


def check_suffix(path: str) -> str:
    """The suffix of a file's name. Raise where no table can be written under it."""
    suffix = os.path.splitext(path.lower())[1]
    if suffix not in WRITTEN:
        raise ValueError(f"{path}: unknown kind of file to write; {known(WRITTEN)}, and - for CSV on stdout")
    return suffix


def _write_columns(file: IO[bytes], tables: Iterable[Table], id: str, label: str, suffix: str) -> int:
    delimiter = WRITTEN[suffix]
    batches = (_batch(table, id, label, bool(delimiter)) for table in tables)
    first, rows = next(batches), 0
    if delimiter:
        plain_csv.writer(line := io.StringIO(), delimiter=delimiter, lineterminator="\n").writerow(
            _inert(first.schema.names)
        )
        file.write(line.getvalue().encode())
        file.flush()
        how = arrow(".csv").WriteOptions(include_header=False, delimiter=delimiter)
        opened = arrow(".csv").CSVWriter(file, first.schema, write_options=how)
    else:
        opened = arrow(".parquet").ParquetWriter(file, first.schema)
    with opened as writer:
        for batch in chain([first], batches):
            writer.write_table(batch.cast(first.schema))
            rows += batch.num_rows
    return rows


def _batch(table: Table, id: str, label: str, inert: bool) -> Any:
    """The columns of a table for Arrow: identifiers, labels, and features."""
    _check_dense(table)
    features = table.feature_names or [str(j) for j in range(table.X.shape[1])]
    beside = {name: values for name, values in ((id, table.ids), (label, table.y)) if values is not None}
    if clash := [name for name in beside if name in features]:
        raise ValueError(f"{listed(clash)} would stand twice in the output; rename the column of the input")
    cells = [*beside.values(), *table.X.T]
    columns = [arrow().array(_inert(own.tolist()) if inert and own.dtype.kind in "OU" else own) for own in cells]
    # Later tables may have labels.
    columns = [column.cast(arrow().string()) if arrow().types.is_null(column.type) else column for column in columns]
    return arrow().table(columns, names=[*beside, *features])


def _check_dense(table: Table) -> None:
    if sparse.issparse(table.X):
        raise TypeError("these formats hold dense tables; pass X.toarray(), or write X with scipy.sparse.save_npz")


def _inert(cells: list[Any]) -> list[Any]:
    """The cells with an apostrophe before text that a spreadsheet would run as a formula."""
    return [f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in cells]


def _write_npy(file: IO[bytes], tables: Iterable[Table]) -> int:
    """Write the header again at the end, when the number of rows is known. NumPy leaves room for that."""
    rows, form = 0, np.lib.format
    for table in tables:
        _check_dense(table)
        X = np.ascontiguousarray(table.X)
        if table.ids is not None or table.y is not None or X.dtype == object:
            raise ValueError("a .npy file holds numbers alone; write .parquet or .csv to keep names, labels or text")
        header = form.header_data_from_array_1_0(X)
        if rows == 0:
            form.write_array_header_1_0(file, header)
        file.write(X.data)
        rows += len(X)
    file.seek(0)
    form.write_array_header_1_0(file, {**header, "shape": (rows, X.shape[1])})
    return rows
