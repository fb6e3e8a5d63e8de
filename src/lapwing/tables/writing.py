"""Writing tables as rows come. A file is never left half written."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._files import replacing
from .columns import arrow
from .preparation import listed
from .table import Table, known

DELIMITERS = {".csv": ",", ".tsv": "\t"}
FORMULA = re.compile(r"[=@\t\r]|[+-](?=.)(?![\d.]+$)")  # how cells begin that spreadsheets run; -5 is a number


def write(path: str | os.PathLike, tables: Iterable[Table], *, label: str = "label", id: str = "id") -> int:
    """Write tables to one file, each as it comes: CSV, TSV, Parquet or ``.npy``, or CSV on standard output (``-``).

    In CSV and TSV, text that a spreadsheet would run as a formula, such as ``=A1``, gets an apostrophe before it.

    Parameters
    ----------
    path : str or path-like
        The file. It is replaced whole once all is written; until then an earlier file stays what it was.
    tables : iterable of Table
        The tables, which must be dense and have names of features.
    label : str, default="label"
        The name of the column of labels.
    id : str, default="id"
        The name of the column of identifiers, which comes first.

    Returns
    -------
    int
        How many rows were written.

    Examples
    --------
    >>> import sys, tempfile
    >>> import numpy as np
    >>> from lapwing.tables import Table, read, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/rows.csv", [Table(np.eye(2), feature_names=["a", "b"])])
    ...     read(f"{folder}/rows.csv").X.tolist()
    2
    [[1.0, 0.0], [0.0, 1.0]]
    """
    path = os.fspath(path)
    if path == "-":
        return _write_columns(sys.stdout.buffer, tables, id, label, ".csv")
    suffix = check_suffix(path)
    with replacing(path) as file:
        return WRITERS[suffix](file, tables, id, label, suffix)


def check_suffix(path: str) -> str:
    """The suffix of the name of a file. Raise where no table can be written under it."""
    suffix = os.path.splitext(path.lower())[1]
    if suffix not in WRITERS:
        raise ValueError(f"{path}: unknown kind of file to write; {known(WRITERS)}, and - for CSV on stdout")
    return suffix


def _write_columns(file: IO[bytes], tables: Iterable[Table], id: str, label: str, suffix: str) -> int:
    batches = (_batch(table, id, label, suffix) for table in tables)
    first = next(batches)
    rows = first.num_rows
    if suffix in DELIMITERS:
        names = csv.writer(line := io.StringIO(), delimiter=DELIMITERS[suffix], lineterminator="\n")
        names.writerow(_inert(first.schema.names))
        file.write(line.getvalue().encode())
        file.flush()
        how = arrow(".csv").WriteOptions(include_header=False, delimiter=DELIMITERS[suffix])
        opened = arrow(".csv").CSVWriter(file, first.schema, write_options=how)
    else:
        opened = arrow(".parquet").ParquetWriter(file, first.schema)
    with opened as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_table(arrow().Table.from_batches([batch]).cast(first.schema))
            rows += batch.num_rows
    return rows


def _batch(table: Table, id: str, label: str, suffix: str) -> Any:
    """The columns of a table for Arrow: identifiers, labels, and features."""
    _check_dense(table)
    beside: dict[str, Any] = {
        name: values for name, values in ((id, table.ids), (label, table.y)) if values is not None
    }
    features = table.feature_names or [str(j) for j in range(table.X.shape[1])]
    if clash := [name for name in beside if name in features]:
        raise ValueError(f"{listed(clash)} would stand twice in the output; rename the column of the input")
    if suffix in DELIMITERS:
        beside = {
            name: _inert(values.tolist()) if values.dtype.kind in "OU" else values for name, values in beside.items()
        }
    columns = [arrow().array(values) for values in beside.values()]
    # Later tables may have labels.
    columns = [column.cast(arrow().string()) if arrow().types.is_null(column.type) else column for column in columns]
    columns += [arrow().array(column) for column in table.X.T]
    return arrow().record_batch(columns, names=[*beside, *features])


def _check_dense(table: Table) -> None:
    if sparse.issparse(table.X):
        raise TypeError("these formats hold dense tables; pass X.toarray(), or write X with scipy.sparse.save_npz")


def _inert(cells: list[Any]) -> list[Any]:
    """The cells with an apostrophe before text that a spreadsheet would run as a formula."""
    return [f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in cells]


def _write_npy(file: IO[bytes], tables: Iterable[Table], id: str, label: str, suffix: str) -> int:
    """Write the header again at the end, when the number of rows is known. NumPy leaves room for that."""
    rows = 0
    for table in tables:
        _check_dense(table)
        if table.ids is not None or table.y is not None:
            raise ValueError("a .npy file holds numbers alone; write .parquet or .csv to keep identifiers or labels")
        X = np.ascontiguousarray(table.X)
        if rows == 0:
            _write_header(file, X, rows)
        file.write(X.data)
        rows += len(X)
    file.seek(0)
    _write_header(file, X, rows)
    return rows


def _write_header(file: IO[bytes], X: np.ndarray, rows: int) -> None:
    header = np.lib.format.header_data_from_array_1_0(X)
    np.lib.format.write_array_header_1_0(file, {**header, "shape": (rows, X.shape[1])})


WRITERS: dict[str, Callable[..., int]] = {
    **dict.fromkeys((".parquet", ".pq", ".csv", ".tsv"), _write_columns),
    ".npy": _write_npy,
}
