"""CSV files, whose delimiter and header are found by looking at the first lines."""

from __future__ import annotations

import csv as plain_csv
import io
import os
import re
import sys
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, zip_longest
from typing import Any, NamedTuple

import numpy as np

from ._arrow import arrow, check_numeric, from_arrow
from ._files import check_file, check_memory, limit
from ._kinds import COMMA, is_number
from ._table import MISSING, Roles, Table, Wanted, listed, roles_of

HEAD = 2**20  # the layout is read from this many bytes, or from more where lines are long
LINES = 100  # the layout is read from at most this many lines
LONGEST = 2**24  # the most bytes that a cell may have
LONGEST_LINE = 2**30  # the most bytes that a line may have, since Arrow takes a line as one block
LINE = 64  # bytes of memory per byte of the first lines, while their cells are looked at
COLUMN = 14_000  # bytes of memory that Arrow takes per column
DELIMITERS = ",\t;| "


class Layout(NamedTuple):
    """How a CSV file is written."""

    delimiter: str
    names: list[str]
    named: bool  # whether the names come from the file
    rows: list[list[str]]  # the first rows

    @property
    def decimal(self) -> str:
        """The decimal sign of numbers: a comma where some cells contain one, and cells are not separated by it."""
        commas = self.delimiter != "," and any(COMMA.fullmatch(cell.strip()) for row in self.rows for cell in row)
        return "," if commas else "."


class NotNumbersError(ValueError):
    """Raised for columns whose first rows are numbers and whose later rows are not."""

    def __init__(self, message: str, names: list[str]):
        super().__init__(message)
        self.names = names


def read_csv(path: str, wanted: Wanted) -> Iterator[Table]:
    csv = arrow(".csv")
    size = _size(path, wanted.held)
    with _opened(path, wanted.held) as stream:
        longest = min(limit(size) // LINE, LONGEST_LINE)
        head = _head(stream, path, longest)
        if not _is_utf8(head):
            stream = _Recoded(stream, _encoding(head, path))
            head = stream.recoded(head)
        if not head.strip():
            raise ValueError(f"{path}: the file is empty")
        layout = _layout(head, path, wanted.header)
        check_memory(path, COLUMN * len(layout.names), size, f"a table of {len(layout.names):,} columns")
        _check_header(layout, wanted, path)
        roles = roles_of(layout.names, wanted, path, layout.named)
        parse = csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True)
        convert = csv.ConvertOptions(include_columns=roles.used, decimal_point=layout.decimal)
        convert.null_values = sorted(MISSING.union(convert.null_values))
        convert.column_types = _types(layout, roles, wanted, path)
        row, names = 0, None if layout.named else layout.names
        for block in _blocks(head, stream, _quoted(layout.delimiter), path, longest):
            reading = csv.ReadOptions(column_names=names, block_size=len(block), use_threads=False)
            try:
                table = csv.read_csv(arrow().BufferReader(block), reading, parse, convert)
            except arrow().ArrowInvalid as error:
                message = f"{path}: {_explained(str(error), layout, row - (names is None))}"
                first = re.search(r"column #(\d+): Row", str(error))
                named = [layout.names[int(first[1])]] if first else []
                raise NotNumbersError(message, _not_numbers(block, reading, parse, convert, layout) or named) from error
            for batch in table.to_batches():
                yield from_arrow(batch, roles, np.dtype(np.float64), path, row, layout.named, wanted.kinds)
                row += batch.num_rows
            names = layout.names


def _not_numbers(block: bytes, reading: Any, parse: Any, convert: Any, layout: Layout) -> list[str]:
    """The columns of a block that do not hold numbers, although they were taken to do so."""
    csv, string = arrow(".csv"), arrow().string()
    taken = [name for name, kind in convert.column_types.items() if kind != string]
    as_text = csv.ConvertOptions(include_columns=taken, column_types=dict.fromkeys(taken, string))
    try:
        columns = csv.read_csv(arrow().BufferReader(block), reading, parse, as_text).to_pydict()
    except arrow().ArrowInvalid:
        return []  # the error is not about numbers
    cells = {
        name: [cell for cell in set(values) if cell not in convert.null_values] for name, values in columns.items()
    }
    kinds = {name: _arrow_type(_kind(cells[name], layout.decimal)) for name in taken if cells[name]}
    return [name for name, kind in kinds.items() if kind != convert.column_types[name]]


def _blocks(head: bytes, stream: Any, quoted: re.Pattern[bytes], path: str, longest: int) -> Iterator[bytes]:
    """Blocks of whole lines, each of about ``HEAD`` bytes.

    The file is read here because Arrow reads in threads of its own, which Ctrl-C does not reach while they wait for input.
    """
    block = head
    while more := stream.read(HEAD):
        end = _last_line(block, quoted)
        if end:
            yield block[:end]
        elif len(block) > LONGEST and b"\n" in block:
            raise ValueError(f"{path}: a cell in quotes is longer than {LONGEST:,} bytes; is its last quote missing?")
        elif len(block) > longest:
            raise _too_long(path, longest)
        block = block[end:] + more
    if block.strip():
        yield re.sub(rb"\n\s*\Z", b"\n", block)  # a last line of blanks is not a row


def _quoted(delimiter: str) -> re.Pattern[bytes]:
    """The pattern of a quoted cell, or of the beginning of one. A quote inside a cell is a character like any other."""
    before = rf"(?:\A|(?<=[{re.escape(delimiter)}\r\n]))"
    return re.compile((before + r'"[^"]*+(?:""[^"]*+)*+(?:"|\Z)').encode())


def _last_line(block: bytes, quoted: re.Pattern[bytes]) -> int:
    """The end of the last line of the block that does not end inside a quoted cell."""
    if b'"' in block:
        block = quoted.sub(lambda cell: cell[0].replace(b"\n", b" "), block)
    return block.rfind(b"\n") + 1


def standard_input() -> bytes:
    """All of standard input, for what may have to be read twice."""
    return _Interruptible(sys.stdin.buffer).read(-1)


def _size(path: str, held: bytes | None) -> int:
    if path == "-":
        return 0 if held is None else len(held)
    check_file(path)
    with open(path, "rb"):  # where it cannot be read, this raises the system's own message
        return os.path.getsize(path)


@contextmanager
def _opened(path: str, held: bytes | None) -> Iterator[Any]:
    if held is not None:
        yield io.BytesIO(held)
        return
    if path == "-":
        yield _Interruptible(sys.stdin.buffer)
        return
    try:
        with arrow().input_stream(path, compression="detect") as stream:
            yield stream
    except OSError as error:
        if error.errno is not None:  # the error is about the file, and not about its content
            raise
        raise ValueError(f"{path}: not a readable packed file ({error})") from error


def _is_utf8(head: bytes) -> bool:
    try:
        getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) < HEAD)
    except UnicodeDecodeError:
        return False
    return True


def _encoding(head: bytes, path: str) -> str:
    """The encoding of what spreadsheets write where it is not UTF-8.

    It is UTF-16 with its mark, or the code page of Windows for western Europe.
    """
    encoding = "utf-16" if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "cp1252"
    if encoding == "cp1252" and b"\0" in head:
        raise ValueError(f"{path}: neither UTF-8 nor another encoding of text; convert the file first (iconv -t UTF-8)")
    warnings.warn(f"{path} is not UTF-8, and is read as {encoding}", UserWarning, stacklevel=2)
    return encoding


class _Recoded:
    """A stream of text in another encoding, read as UTF-8."""

    def __init__(self, stream: Any, encoding: str):
        self._stream, self._decoder = stream, getincrementaldecoder(encoding)(errors="replace")

    def recoded(self, piece: bytes) -> bytes:
        return self._decoder.decode(piece, final=not piece).encode()

    def read(self, size: int) -> bytes:
        while piece := self._stream.read(size):
            if found := self.recoded(piece):
                return found
        return self.recoded(b"")


class _Interruptible:
    """A stream that is read piece by piece, and to its end where the size is below 0.

    One long read in C would not notice a Ctrl-C that comes between two pieces, and would then wait for more.
    """

    def __init__(self, stream: Any):
        self._stream = stream

    def read(self, size: int) -> bytes:
        pieces = []
        while size and (piece := self._stream.read1(size if size > 0 else HEAD)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)


def _head(stream: Any, path: str, longest: int) -> bytes:
    """The first bytes, which hold at least two whole lines."""
    head = more = stream.read(HEAD)
    while more and head.count(b"\n") < 3:
        if len(head) > longest:
            raise _too_long(path, longest)
        more = stream.read(min(len(head), longest + 1 - len(head)))
        head += more
    return head


def _too_long(path: str, longest: int) -> ValueError:
    return ValueError(
        f"{path}: a line is longer than {longest:,} bytes, the most for a file of its size; is this CSV? If so, unpack the file"
    )


def _layout(head: bytes, path: str, header: bool | None) -> Layout:
    cut = len(head) >= HEAD  # they may end inside a line, or inside a character
    text = getincrementaldecoder("utf-8-sig")().decode(head, final=not cut)
    delimiter = max(DELIMITERS, key=lambda delimiter: _agreement(_rows(text, delimiter, cut), delimiter))
    rows = _rows(text, delimiter, cut)
    if not rows:
        raise ValueError(f"{path}: a cell is longer than {plain_csv.field_size_limit():,} characters; is this CSV?")
    named = _has_header(rows) if header is None else header
    names = rows[0] if named else [str(j) for j in range(len(rows[0]))]
    return Layout(delimiter, names, named, rows[int(named) :])


def _check_header(layout: Layout, wanted: Wanted, path: str) -> None:
    """Raise where names that the user gives stand in a line that was taken for data."""
    given = {wanted.label, wanted.id, *wanted.drop} & set(layout.rows[0] if layout.rows else ())
    words = sorted(name for name in given if name and not _is_number(name))
    if words and not layout.named and wanted.header is None:
        raise ValueError(
            f"{path}: {listed(words)} stands in the first line, which was taken for data as it has numbers; --header says that "
            "it has the names"
        )


def _rows(text: str, delimiter: str, cut: bool) -> list[list[str]]:
    """The first rows; none where a cell would be too long with this delimiter."""
    try:
        reader = plain_csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows = list(islice((row for row in reader if any(map(str.strip, row))), LINES))
    except plain_csv.Error:
        return []
    return rows[:-1] if cut and 1 < len(rows) < LINES else rows


def _agreement(rows: list[list[str]], delimiter: str) -> tuple[float, float]:
    """The share of rows that have as many cells as the first, and the share of cells that are numbers.

    The first share is 0 where rows have one cell. The second decides between delimiters that are equally good by the first.

    For example, every row of ``3,14;2,71`` has three cells between commas and two between semicolons. Only the semicolons
    leave numbers.
    """
    if not rows or len(rows[0]) < 2:
        return 0.0, 0.0
    cells = [cell for row in rows for cell in row]
    numbers = sum(is_number(cell, "." if delimiter == "," else ",") for cell in cells)
    return sum(len(row) == len(rows[0]) for row in rows) / len(rows), numbers / len(cells)


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: it is text above numbers, text in all rows, or the numbers of columns."""
    first, below = rows[0], rows[1:]
    if all(not _is_number(cell) for cell in first):
        return True
    numeric = [all(_is_number(row[j]) for row in below if j < len(row) and row[j]) for j in range(len(first))]
    if below and any(number and not _is_number(cell) for cell, number in zip(first, numeric, strict=True)):
        return True
    positions = [cell == str(j) for j, cell in enumerate(first) if _is_number(cell)]
    return len(positions) > 1 and all(positions)


def _is_number(cell: str) -> bool:
    return is_number(cell, ",")


def _types(layout: Layout, roles: Roles, wanted: Wanted, path: str) -> dict[str, Any]:
    """The types of columns. Features have the types of their first rows, and labels and identifiers are text."""
    pa = arrow()
    cells = dict(zip(layout.names, zip_longest(*layout.rows, fillvalue=""), strict=False))
    kinds = {
        name: _kind([cell for cell in cells.get(name, ()) if cell.strip() not in MISSING], layout.decimal)
        for name in roles.features
    }
    for name, kind in (wanted.kinds or {}).items():
        kinds[name] = kinds.get(name) if kind == "number" else None
    if not wanted.mixed:
        check_numeric([name for name, kind in kinds.items() if kind is None], roles, path)
    types = {name: _arrow_type(kind) for name, kind in kinds.items()}
    return types | {name: pa.string() for name in roles.others}


def _arrow_type(kind: type | None) -> Any:
    pa = arrow()
    return pa.string() if kind is None else pa.bool_() if kind is bool else pa.float64()


def _kind(cells: list[str], decimal: str) -> type | None:
    if cells and all(cell.lower() in ("true", "false") for cell in cells):
        return bool
    return float if all(is_number(cell, decimal) for cell in cells) else None


def _explained(message: str, layout: Layout, before: int) -> str:
    """Arrow's message with the name of the column, and with the row as the user counts it.

    Arrow begins to count at ``before``.
    """
    conversion = re.search(r"column #(\d+): Row #(\d+): CSV conversion error to \w+: invalid value '(.*)'", message)
    if conversion:
        column, row, value = conversion.groups()
        return (
            f"column {layout.names[int(column)]!r}: {value!r} in row {int(row) + before} is not a number, as all before it are; "
            "correct it, or leave the column out (--drop)"
        )
    ragged = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if ragged:
        row, expected, found = map(int, ragged.groups())
        return f"row {row + before} has {found} column{'s' * (found != 1)}, not {expected} as the first"
    return message
