"""Writing tables as rows come. A file is never left half written."""

from __future__ import annotations

import csv as plain_csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._files import replacing
from .columns import arrow
from .preparation import listed
from .table import Table, known


def write(path: str | os.PathLike, tables: Iterable[Table], *, label: str = "label", id: str = "id") -> int:
    """Write tables to one file, each as it comes: CSV, TSV, Parquet or ``.npy``, or CSV on standard output (``-``).

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
        return _write_csv(sys.stdout.buffer, tables, id, label, ",")
    suffix = check_suffix(path)
    with replacing(path) as file:
        return WRITERS[suffix](file, tables, id, label)


def check_suffix(path: str) -> str:
    """The suffix of the name of a file. Raise where no table can be written under it."""
    suffix = os.path.splitext(path.lower())[1]
    if suffix not in WRITERS:
        raise ValueError(f"{path}: unknown kind of file to write; {known(WRITERS)}, and - for CSV on stdout")
    return suffix


def _arrow_batches(tables: Iterable[Table], id: str, label: str) -> Iterator[Any]:
    for table in _dense(tables):
        beside = {id: table.ids, label: table.y}
        names = [name for name, values in beside.items() if values is not None]
        columns = [_column(beside[name]) for name in names]
        features = table.feature_names or [str(j) for j in range(table.X.shape[1])]
        clash = [name for name in names if name in features]
        if clash:
            raise ValueError(f"{listed(clash)} would stand twice in the output; rename the column of the input")
        columns += [arrow().array(column) for column in table.X.T]
        yield arrow().record_batch(columns, names=[*names, *features])


def _dense(tables: Iterable[Table]) -> Iterator[Table]:
    for table in tables:
        if sparse.issparse(table.X):
            raise TypeError("these formats hold dense tables; pass X.toarray(), or write X with scipy.sparse.save_npz")
        yield table


def _column(values: Any) -> Any:
    column = arrow().array(values)
    # Later tables may have labels.
    return column.cast(arrow().string()) if arrow().types.is_null(column.type) else column


def _write_parquet(file: IO[bytes], tables: Iterable[Table], id: str, label: str) -> int:
    parquet = arrow(".parquet")
    return _write_arrow(_arrow_batches(tables, id, label), lambda schema: parquet.ParquetWriter(file, schema))


def _write_csv(file: IO[bytes], tables: Iterable[Table], id: str, label: str, delimiter: str = ",") -> int:
    csv = arrow(".csv")

    def opened(schema: Any) -> Any:
        line = io.StringIO()
        plain_csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(schema.names)
        file.write(line.getvalue().encode())
        file.flush()
        return csv.CSVWriter(file, schema, write_options=csv.WriteOptions(include_header=False, delimiter=delimiter))

    return _write_arrow(_arrow_batches(tables, id, label), opened)


def _write_arrow(batches: Iterator[Any], opened: Callable[[Any], Any]) -> int:
    first = next(batches)
    rows = first.num_rows
    with opened(first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_table(arrow().Table.from_batches([batch]).cast(first.schema))
            rows += batch.num_rows
    return rows


def _write_npy(file: IO[bytes], tables: Iterable[Table], id: str, label: str) -> int:
    """Write the header again at the end, when the number of rows is known. NumPy leaves room for that."""
    rows = 0
    for table in _dense(tables):
        if table.ids is not None or table.y is not None:
            raise ValueError("a .npy file holds numbers alone; write .parquet or .csv to keep identifiers or labels")
        if rows == 0:
            _write_header(file, table.X, rows)
        file.write(np.ascontiguousarray(table.X).data)
        rows += len(table)
    file.seek(0)
    _write_header(file, table.X, rows)
    return rows


def _write_header(file: IO[bytes], X: np.ndarray, rows: int) -> None:
    header = np.lib.format.header_data_from_array_1_0(np.ascontiguousarray(X))
    np.lib.format.write_array_header_1_0(file, {**header, "shape": (rows, X.shape[1])})


WRITERS: dict[str, Callable[..., int]] = {
    ".parquet": _write_parquet,
    ".pq": _write_parquet,
    ".csv": _write_csv,
    ".tsv": partial(_write_csv, delimiter="\t"),
    ".npy": _write_npy,
}
