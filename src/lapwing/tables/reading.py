"""Reading a data set, whatever its format."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from .._validation import check_count
from .cells import DATES, meanings
from .columns import read_csv, read_parquet
from .matrices import image_files, read_images, read_matrix_market, read_numpy, read_svmlight
from .preparation import plain_rows
from .table import (
    UNPACKED,
    FileError,
    Table,
    check_memory,
    joined,
    known,
    limit,
    readable,
    sampled,
    typed,
    unknown,
    with_classes,
    with_targets,
)

WORD_BYTES = 64  # of memory for a word of text, beside what it is as long as
Reader = Callable[[str, Any], Iterator[Table]]
READERS: dict[str, tuple[Reader, str]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), (read_csv, "CSV file")),
    **dict.fromkeys((".parquet", ".pq"), (read_parquet, "Parquet file")),
    **dict.fromkeys((".npy", ".npz"), (read_numpy, "NumPy file of numbers")),
    ".mtx": (read_matrix_market, "Matrix Market file"),
    **dict.fromkeys(
        (".svm", ".svmlight", ".libsvm"),
        (read_svmlight, "svmlight file, or one that counts features from 0, which read(..., zero_based=True) takes"),
    ),
}
PACKED = dict.fromkeys(UNPACKED, (read_csv, read_matrix_market, read_svmlight))  # who reads compressed files


def read(
    path: str | os.PathLike,
    *,
    label: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    mixed: bool = False,
    sample: int | None = None,
    random_state: int | RandomState = 0,
    targets: bool = False,
    **options: Any,
) -> Table:
    r"""Read a data set whole, or a random sample of its rows.

    Parameters
    ----------
    path : str or path-like
        A file, a folder of images, or ``"-"`` for CSV on standard input.
    label : str or None, default=None
        The column of labels, by name, or by number (from 0; -1 is the last) where columns have no names; for a matrix also a
        file of labels (``.npy``, or text with one label per line), for ``.npz`` a key other than ``y`` or ``target``.
    id : str or None, default=None
        The column of identifiers.
    drop : sequence of str, default=()
        Columns to leave out.
    mixed : bool, default=False
        Whether columns may hold text and dates, as :class:`Preparation` takes them; else these are errors.
    sample : int or None, default=None
        Keep this many rows, chosen at random and in their order, in the memory of the sample.
    random_state : int or RandomState instance, default=0
        The seed of the sample.
    targets : bool, default=False
        Whether labels are numbers, as the graph :class:`~lapwing.graphs.Target` reads them, and not names of classes.
    **options
        ``features``: the columns to take, in this order. ``aside``: columns of CSV and Parquet to keep beside the features.
        ``header``: whether the first line of CSV has the names, where a note says that it is in doubt. ``labels=False``
        leaves the labels that svmlight, ``.npz`` and folders of images bring. ``resize``: (width, height) of images; without
        it all must be of one size.
        ``zero_based``: whether svmlight counts features from 0; ``n_features``: how many it has, else the largest in use.

    Returns
    -------
    Table
        Labels that are whole numbers are int64, quantities float64, others text. -1 is an unknown label; where -1 and 1 are
        all there are, they become 0 and 1. Targets are NaN where missing. Identifiers are as written (``007``). Dates aside
        are days since 1970; rows with a gap there are left out.

    Examples
    --------
    >>> import tempfile
    >>> from lapwing.tables import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/iris.csv", "w") as file:
    ...         _ = file.write("length,width,species\n5.1,3.5,setosa\n6.2,2.9,virginica\n")
    ...     table = read(f"{folder}/iris.csv", label="species")
    >>> table.feature_names, table.X.shape, table.y.tolist()
    (['length', 'width'], (2, 2), ['setosa', 'virginica'])
    """
    path, most = os.fspath(path), None if sample is None else check_count("sample", sample)
    tables = batches(path, label=label, id=id, drop=drop, mixed=mixed, **options)
    with readable(path, "file"):
        whole = joined(list(_within_memory(path, tables))) if most is None else sampled(tables, most, random_state)
        table = _with_keys(whole)
        for values in (table.y, *table.aside.values()):
            if values is not None and values.dtype == object:  # text becomes an array as wide as the longest
                longest = max((len(cell) for cell in values.tolist() if isinstance(cell, str)), default=0)
                _check_memory(path, 4 * longest * len(values), f"a column of labels as long as {longest:,} characters")
        return with_targets(table) if targets else with_classes(table)


def batches(
    path: str | os.PathLike,
    *,
    label: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    mixed: bool = False,
    aside: Sequence[str] = (),
    header: bool | None = None,
    labels: bool = True,
    resize: tuple[int, int] | None = None,
    zero_based: bool = False,
    n_features: int | None = None,
) -> Iterator[Table]:
    r"""Read a data set in parts, some rows after the other, by the parameters of :func:`read`.

    CSV, Parquet, ``.npy`` files and images are never in memory whole, whatever their size; sparse files and ``.npz`` are.
    Identifiers and labels of CSV are text as written, and may be missing.
    """
    path, row = os.fspath(path), 0
    wanted = SimpleNamespace(**locals())
    reader, kind = _reader(path)
    with readable(path, kind):
        if aside and not has_columns(path):
            raise FileError(f"aside={list(aside)!r}: columns have no names; use CSV or Parquet")
        for table in reader(path, wanted):
            if table.is_mixed and not mixed:
                try:
                    table = replace(table, X=plain_rows(table.X))
                except ValueError as error:
                    raise FileError(in_file(error, row)) from error
            row += len(table)
            yield table if labels else replace(table, y=None)
        if row == 0:
            raise FileError("no rows of data")


def in_file(error: Exception, row: int) -> str:
    """What an error says of a part of a file before which there are some rows."""
    return re.sub(r"in row (\d+)", lambda found: f"in row {int(found[1]) + row}", str(error))


def _within_memory(path: str, tables: Iterator[Table]) -> Iterator[Table]:
    """The tables. Raise once all of them together take more memory than the file may."""
    total = 0
    for table in tables:
        total += table.X.data.nbytes if sparse.issparse(table.X) else table.X.nbytes
        beside = [values for values in (table.y, table.ids, *table.aside.values()) if values is not None]
        total += sum(len(values) * WORD_BYTES if values.dtype == object else values.nbytes for values in beside)
        _check_memory(path, total, "the table")
        yield table


def _check_memory(path: str, needed: int, what: str) -> None:
    if needed > limit(0) and path != "-":  # standard input is read in any case
        check_memory(needed, sum(map(os.path.getsize, files_of(path))), what)


def _with_keys(table: Table) -> Table:
    """The rows that have a value in every column aside. Dates and numbers there become numbers, so that they sort by time."""
    gaps = {name: missing for name, values in table.aside.items() if (missing := unknown(values)).any()}
    if empty := [name for name, missing in gaps.items() if missing.all()]:
        raise FileError(f"column {empty[0]!r} is empty")
    table = table.take(~np.logical_or.reduce([*gaps.values()])) if gaps else table
    left_out = [f"{gap.sum():,} row{'s' * int(gap.sum() > 1)} without {name!r} left out" for name, gap in gaps.items()]
    aside = {name: _keys(values) for name, values in table.aside.items()}
    return replace(table, aside=aside, notes=(*table.notes, *left_out))


def _keys(values: np.ndarray) -> np.ndarray:
    """Dates as days since 1970, numbers as numbers, and anything else as text."""
    if values.dtype.kind not in "OU":
        return values
    cells = [str(cell).strip() for cell in values.tolist()]
    dates = meanings(set(cells), DATES)
    return typed(values) if dates is None else np.array([dates[0][cell] for cell in cells])


def files_of(path: str | os.PathLike) -> list[str]:
    """The files that :func:`read` reads: the path itself, or the images of a folder. For standard input there are none."""
    path = os.fspath(path)
    return [] if path == "-" else [os.fspath(file) for file in image_files(path)] if os.path.isdir(path) else [path]


def has_columns(path: str) -> bool:
    """Whether labels can only be a column, and not a file of their own."""
    return _reader(path)[0] in (read_csv, read_parquet)


def _reader(path: str) -> tuple[Reader, str]:
    if path == "-":
        return READERS[".csv"]
    if os.path.isdir(path):
        return read_images, "folder of images"
    stem, suffix = os.path.splitext(path.lower())
    found = READERS.get(os.path.splitext(stem)[1] if suffix in PACKED else suffix)
    if found is None or found[0] not in PACKED.get(suffix, found):
        raise ValueError(f"{path}: unknown kind of file; {known(READERS)}, a folder of images, and - for CSV on stdin")
    return found
