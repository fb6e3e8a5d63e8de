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
from .table import Table, check_memory, joined, known, limit, sampled, typed, unknown, with_classes, with_targets

WORD_TIMES = 8  # the memory of a word of text, in units of a pointer
Reader = Callable[[str, Any], Iterator[Table]]
READERS: dict[str, Reader] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), read_csv),
    **dict.fromkeys((".parquet", ".pq"), read_parquet),
    **dict.fromkeys((".npy", ".npz"), read_numpy),
    ".mtx": read_matrix_market,
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), read_svmlight),
}
PACKED = {**dict.fromkeys((".gz", ".bz2"), (read_csv, read_matrix_market, read_svmlight)), ".zst": (read_csv,)}


def read(
    path: str | os.PathLike,
    *,
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
    sample : int or None, default=None
        Keep this many rows, chosen at random and in their order, in the memory of the sample.
    random_state : int or RandomState instance, default=0
        The seed of the sample.
    targets : bool, default=False
        Whether labels are numbers, as the graph :class:`~lapwing.graphs.Target` reads them, and not names of classes.
    **options
        Parameters of :func:`lapwing.tables.batches`, such as ``label``, ``id``, ``drop``, ``features`` and ``mixed``.

    Returns
    -------
    Table
        Labels that are whole numbers are int64, quantities float64, others text. -1 is an unknown label; where -1 and 1 are
        all there are, they become 0 and 1. Targets are NaN where missing. Dates aside are days since 1970; rows with a gap
        there are left out.

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
    path = os.fspath(path)
    tables = batches(path, **options)
    if sample is None:
        table = joined(list(_within_memory(path, tables)))
    else:
        table = sampled(tables, check_count("sample", sample), random_state)
    for values in (table.y, *table.aside.values()):
        if values is not None and values.dtype == object:  # text becomes an array as wide as the longest
            longest = max((len(cell) for cell in values.tolist() if isinstance(cell, str)), default=0)
            _check_memory(path, 4 * longest * len(values), f"a column of labels as long as {longest:,} characters")
    table = _with_keys(table, path)
    return with_targets(table, path) if targets else with_classes(table)


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
    grey: bool | None = None,
    zero_based: bool = False,
    n_features: int | None = None,
) -> Iterator[Table]:
    r"""Read a data set in parts, some rows after the other.

    CSV, Parquet, ``.npy`` files and images are never in memory whole, whatever their size; sparse files and ``.npz`` are.

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
    features : sequence of str or None, default=None
        The columns to take, in this order; None takes all that are left.
    mixed : bool, default=False
        Whether columns may hold text, dates and gaps, as :class:`Preparation` takes them; else these are errors.
    aside : sequence of str, default=()
        Columns of CSV and Parquet to keep beside the features.
    header : bool or None, default=None
        Whether the first line of CSV has the names; None looks, and a note says where that is in doubt.
    labels : bool, default=True
        Whether to keep the labels that svmlight, ``.npz`` and folders of images bring.
    resize : (width, height) or None, default=None
        The size that images are brought to; without it all must be of one size.
    grey : bool or None, default=None
        Whether to read images in grey; None does so where all of them are.
    zero_based : bool, default=False
        Whether features in svmlight are counted from 0.
    n_features : int or None, default=None
        How many features a svmlight file has, which itself shows the largest in use.

    Yields
    ------
    Table
        Some rows. Identifiers and labels of CSV are text as written (``007``), and may be missing.

    Examples
    --------
    >>> import tempfile
    >>> from lapwing.tables import batches
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/rows.csv", "w") as file:
    ...         _ = file.write("a,b\n1,2\n3,4\n")
    ...     [table.X.tolist() for table in batches(f"{folder}/rows.csv")]
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    path, row = os.fspath(path), 0
    wanted = SimpleNamespace(**locals())
    if aside and not has_columns(path):
        raise ValueError(f"{path}: aside={list(aside)!r}: columns have no names; use CSV or Parquet")
    for table in _reader(path)(path, wanted):
        try:
            table = replace(table, X=plain_rows(table.X)) if table.is_mixed and not mixed else table
            _check_finite(table, gaps=mixed and table.image_shape is None)
        except ValueError as error:
            raise ValueError(f"{path}: {in_file(error, row)}") from error
        row += len(table)
        yield table if labels else replace(table, y=None)
    if row == 0:
        raise ValueError(f"{path}: no rows of data")


def in_file(error: Exception, row: int) -> str:
    """What an error says of a part of a file before which there are some rows."""
    return re.sub(r"in row (\d+)", lambda found: f"in row {int(found[1]) + row}", str(error))


def _check_finite(table: Table, gaps: bool) -> None:
    """Raise where a number is infinite or, unless ``gaps`` may be there, missing."""
    if table.is_mixed:
        return
    X = table.X.tocoo() if sparse.issparse(table.X) else table.X
    values = X.data if sparse.issparse(X) else X
    bad = np.isinf(values) if gaps and isinstance(X, np.ndarray) else ~np.isfinite(values)
    if bad.any():
        first = tuple(np.argwhere(bad)[0])
        i, j = (X.row[first], X.col[first]) if sparse.issparse(X) else first
        name = str(j) if table.feature_names is None else table.feature_names[j]
        what = "infinite" if np.isinf(values[first]) else "missing"
        remedy = f"fill in or remove such rows, or leave the column out (--drop {name})"
        raise ValueError(f"column {name!r}: a value is {what} (the first in row {i + 1}); {remedy}")


def _within_memory(path: str, tables: Iterator[Table]) -> Iterator[Table]:
    """The tables. Raise once all of them together take more memory than the file may."""
    total = 0
    for table in tables:
        total += table.X.data.nbytes if sparse.issparse(table.X) else table.X.nbytes
        total += sum(column.nbytes * (1 if column.dtype != object else WORD_TIMES) for column in table.beside)
        _check_memory(path, total, "the table")
        yield table


def _check_memory(path: str, needed: int, what: str) -> None:
    if needed > limit(0) and path != "-":  # standard input is read in any case
        check_memory(path, needed, sum(map(os.path.getsize, files_of(path))), what)


def _with_keys(table: Table, path: str) -> Table:
    """The rows that have a value in every column aside. Dates and numbers there become numbers, so that they sort by time."""
    gaps = {name: missing for name, values in table.aside.items() if (missing := unknown(values)).any()}
    if empty := [name for name, missing in gaps.items() if missing.all()]:
        raise ValueError(f"{path}: column {empty[0]!r} is empty")
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
    return _reader(path) in (read_csv, read_parquet)


def _reader(path: str) -> Reader:
    if path == "-":
        return read_csv
    if os.path.isdir(path):
        return read_images
    stem, suffix = os.path.splitext(path.lower())
    reader = READERS.get(os.path.splitext(stem)[1] if suffix in PACKED else suffix)
    if reader is None or reader not in PACKED.get(suffix, (reader,)):
        raise ValueError(f"{path}: unknown kind of file; {known(READERS)}, a folder of images, and - for CSV on stdin")
    return reader
