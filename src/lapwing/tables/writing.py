"""Writing tables as rows come. A file is never left half written."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Iterable
from itertools import chain
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._files import replacing
from .columns import arrow
from .preparation import listed
from .table import Table, known

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*DELIMITERS, ".npy", ".parquet", ".pq")
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
        return _write_npy(file, tables) if suffix == ".npy" else _write_columns(file, tables, id, label, suffix)


def check_suffix(path: str) -> str:
    """The suffix of the name of a file. Raise where no table can be written under it."""
    suffix = os.path.splitext(path.lower())[1]
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: unknown kind of file to write; {known(SUFFIXES)}, and - for CSV on stdout")
    return suffix


def _write_columns(file: IO[bytes], tables: Iterable[Table], id: str, label: str, suffix: str) -> int:
    batches = (_batch(table, id, label, suffix) for table in tables)
    first, rows = next(batches), 0
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
        for batch in chain([first], batches):
            writer.write_table(batch.cast(first.schema))
            rows += batch.num_rows
    return rows


def _batch(table: Table, id: str, label: str, suffix: str) -> Any:
    """The columns of a table for Arrow: identifiers, labels, and features."""
    _check_dense(table)
    features = table.feature_names or [str(j) for j in range(table.X.shape[1])]
    beside = {name: values for name, values in ((id, table.ids), (label, table.y)) if values is not None}
    if clash := [name for name in beside if name in features]:
        raise ValueError(f"{listed(clash)} would stand twice in the output; rename the column of the input")
    columns = [arrow().array(_inert(own.tolist()) if suffix in DELIMITERS else own) for own in beside.values()]
    # Later tables may have labels.
    columns = [column.cast(arrow().string()) if arrow().types.is_null(column.type) else column for column in columns]
    columns += [arrow().array(column) for column in table.X.T]
    return arrow().table(columns, names=[*beside, *features])


def _check_dense(table: Table) -> None:
    if sparse.issparse(table.X):
        raise TypeError("these formats hold dense tables; pass X.toarray(), or write X with scipy.sparse.save_npz")


def _inert(cells: list[Any]) -> list[Any]:
    """The cells with an apostrophe before text that a spreadsheet would run as a formula."""
    return [f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in cells]


def _write_npy(file: IO[bytes], tables: Iterable[Table]) -> int:
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
