"""The rows of a data set with their labels: taken, joined, typed, and written to files."""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import IO, Any

import numpy as np
from sklearn.utils import check_random_state

from .._extras import replacing, require
from .preparation import MISSING, listed

WHOLE = re.compile(r"(0|-?[1-9]\d{0,17})(\.0+)?")  # a whole number as text, written in the one usual way
DECIMAL = re.compile(r"-?\d+(\.\d+)?")
#: Marks of unknown labels. The marks that are taken out may be the names of classes.
UNKNOWN = MISSING - {"-", "--", "None", "na", "none"}
WRITTEN = {".csv": ",", ".tsv": "\t", ".npy": "", ".parquet": "", ".pq": ""}  # and what stands between cells
FORMULA = re.compile(r"[=@\t\r]|[+-](?=.)(?![\d.]+$)")  # how cells begin that spreadsheets run; -5 is a number


class FileError(ValueError):
    """What is wrong with a file, in words of ours, before which the name of the file is put where it is read."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a data set, with what is known of them.

    Attributes
    ----------
    X : ndarray, CSR array or pyarrow.Table of shape (n_rows, n_features)
        The features, in float32 where the file has them so, else in float64. Read as ``mixed``, CSV and Parquet give a
        table of pyarrow as the file has it, of which :class:`Preparation` makes numbers; the columns of CSV are text.
    y : ndarray of shape (n_rows,) or None
        The labels; -1 where they are unknown.
    ids : ndarray of shape (n_rows,) or None
        The identifiers of the rows; the paths of images.
    feature_names : list of str or None
        The names of the columns of X.
    image_shape : tuple or None
        The shape of an image, (height, width), or (height, width, 3) for colours; X holds such images as rows.
    n_read : int
        How many rows the file has, of which :func:`read` may have kept a sample.
    aside : dict of str to ndarray
        Columns that are no features, by name.
    notes : tuple of str
        What a user should know: that a file has no header, what became of labels that are -1, which rows were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.tables import Table
    >>> Table(np.eye(3), y=np.array([0, 0, 1]), feature_names=["a", "b", "c"]).take([0, 2]).y.tolist()
    [0, 1]
    """

    X: Any
    y: np.ndarray | None = None
    ids: np.ndarray | None = None
    feature_names: list[str] | None = None
    image_shape: tuple[int, ...] | None = None
    n_read: int = 0
    aside: dict[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def is_mixed(self) -> bool:
        """Whether the columns of X are as the file has them."""
        return hasattr(self.X, "column_names")

    def take(self, rows: Any) -> Table:
        """Some of the rows."""
        places = np.arange(len(self))[rows]
        y, ids = (None if values is None else values[places] for values in (self.y, self.ids))
        aside = {name: values[places] for name, values in self.aside.items()}
        return replace(self, X=self.X.take(places) if self.is_mixed else self.X[places], y=y, ids=ids, aside=aside)


def joined(tables: list[Table]) -> Table:
    """The rows of all tables, one after the other."""
    first = tables[0]
    if len(tables) == 1:  # sparse ones always are
        return replace(first, n_read=len(first))
    X = (require("pyarrow", "tables").concat_tables if first.is_mixed else np.concatenate)([own.X for own in tables])
    y = None if first.y is None else np.concatenate([own.y for own in tables])
    ids = None if first.ids is None else np.concatenate([own.ids for own in tables])
    aside = {name: np.concatenate([own.aside[name] for own in tables]) for name in first.aside}
    return replace(first, X=X, y=y, ids=ids, aside=aside, n_read=sum(map(len, tables)))


def sampled(tables: Iterator[Table], n: int, random_state: Any) -> Table:
    """The n rows with the smallest random keys, in one pass: a sample without replacement, of known labels first."""
    rng, total, keys = check_random_state(random_state), 0, np.empty(0)
    kept: list[Table] = []
    for table in tables:
        total += len(table)
        fresh = rng.random_sample(len(table))
        if table.y is not None:
            fresh += unknown(table.y) | np.isin(table.y.astype(str), ["-1", "-1.0"])
        keys = np.concatenate([keys, fresh])
        chosen = np.sort(np.argsort(keys)[:n])
        kept, keys = [joined([*kept, table]).take(chosen)], keys[chosen]
    return replace(kept[0], n_read=total)


# Labels


def unknown(y: np.ndarray) -> np.ndarray:
    """Which labels are missing: blank, or a mark such as NA and ?."""
    if y.dtype.kind not in "OU":
        return y != y
    return np.array([label is None or label != label or str(label).strip() in UNKNOWN for label in y], dtype=bool)


def with_classes(table: Table) -> Table:
    """The table whose labels are classes. -1 is an unknown one; where -1 and 1 are all there are, they become 0 and 1."""
    if table.y is None:
        return table
    missing, notes = unknown(table.y), table.notes
    found = typed(table.y[~missing])
    names = set(found.tolist())
    if names == {-1, 1}:
        found, notes = (found + 1) // 2, (*notes, "labels -1 and 1 are read as two classes, 0 and 1")
    elif names & {-1, "-1"}:
        notes = (*notes, "the label -1 stands for an unknown class; if it is a class, give it another name")
    y = np.full(len(missing), -1, dtype=object if found.dtype.kind == "U" else found.dtype)
    y[~missing] = found
    return replace(table, y=y.astype(str) if found.dtype.kind == "U" else y, notes=notes)


def typed(y: np.ndarray) -> np.ndarray:
    """Values as int64 where all are whole numbers, as float64 where they are quantities, else as text, such as ``007``."""
    if y.dtype.kind in "ib" or (y.dtype.kind == "f" and ((y == np.round(y)) & (np.abs(y) < 2.0**63)).all()):
        return y.astype(np.int64)
    if y.dtype.kind == "f":
        return y
    text = y.astype(str)
    if all(map(WHOLE.fullmatch, text)):
        return np.array([int(label.partition(".")[0]) for label in text], dtype=np.int64)
    are_quantities = all(map(DECIMAL.fullmatch, text)) and (text.astype(np.float64) % 1 != 0).any()
    return text.astype(np.float64) if are_quantities else text


def with_targets(table: Table) -> Table:
    """The table whose labels are numbers; NaN where they are missing."""
    if table.y is None:
        return table
    missing = unknown(table.y)
    if missing.all():
        raise FileError("all targets are missing; name a column that has some")
    try:
        return replace(table, y=np.where(missing, np.nan, table.y).astype(np.float64))
    except (TypeError, ValueError) as error:
        remedy = "name a column of numbers, or leave Target out"
        raise FileError(f"the labels are words, and the graph reads numbers ({error}); {remedy}") from error


# Writing


def write(path: str | os.PathLike, tables: Iterable[Table], *, label: str = "label", id: str = "id") -> int:
    """Write dense tables to a file, each as it comes, and return how many rows were written.

    ``"-"`` is CSV on standard output. ``label`` and ``id`` name the columns of labels and of identifiers, which ``.npy`` does not
    hold. In CSV and TSV, text that a spreadsheet would run as a formula, such as ``=A1``, gets an apostrophe before it.
    """
    path = os.fspath(path)
    if path == "-":
        return _write(sys.stdout.buffer, tables, id, label, ",")
    suffix = os.path.splitext(path.lower())[1]
    if suffix not in WRITTEN:
        raise ValueError(
            f"{path}: unknown kind of file to write; known are {' '.join(WRITTEN)}, and - for CSV on stdout"
        )
    with replacing(path) as file:
        if suffix != ".npy":
            return _write(file, tables, id, label, WRITTEN[suffix])
        X = np.concatenate([table.X for table in tables])  # in memory whole: the header says how many rows there are
        np.save(file, X, allow_pickle=False)
        return len(X)


def _write(file: IO[bytes], tables: Iterable[Table], id: str, label: str, delimiter: str) -> int:
    batches = (_batch(table, id, label, bool(delimiter)) for table in tables)
    first, rows = next(batches), 0
    if delimiter:  # Arrow writes no names with quotes
        line, arrow = io.StringIO(), require("pyarrow.csv", "tables")
        csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(_inert(first.schema.names))
        file.write(line.getvalue().encode())
        file.flush()
        how = arrow.WriteOptions(include_header=False, delimiter=delimiter)
        writer = arrow.CSVWriter(file, first.schema, write_options=how)
    else:
        writer = require("pyarrow.parquet", "tables").ParquetWriter(file, first.schema)
    with writer:
        for batch in chain([first], batches):
            writer.write_table(batch.cast(first.schema))
            rows += batch.num_rows
    return rows


def _batch(table: Table, id: str, label: str, inert: bool) -> Any:
    """The columns of a table for Arrow: identifiers, labels, and features."""
    pa, features = require("pyarrow", "tables"), table.feature_names or [str(j) for j in range(table.X.shape[1])]
    beside = {name: values for name, values in ((id, table.ids), (label, table.y)) if values is not None}
    if clash := [name for name in beside if name in features]:
        raise ValueError(f"{listed(clash)} would stand twice in the output; rename the column of the input")
    cells = [*beside.values(), *table.X.T]
    columns = [pa.array(_inert(own.tolist()) if inert and own.dtype.kind in "OU" else own) for own in cells]
    # Later tables may have labels.
    columns = [column.cast(pa.string()) if pa.types.is_null(column.type) else column for column in columns]
    return pa.table(columns, names=[*beside, *features])


def _inert(cells: list[Any]) -> list[Any]:
    """The cells with an apostrophe before text that a spreadsheet would run as a formula."""
    return [f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell for cell in cells]
