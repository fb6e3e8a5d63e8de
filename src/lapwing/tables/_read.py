"""Reading a data set, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import RandomState

from .._validation import check_count
from ._csv import NotNumbersError, read_csv, standard_input
from ._dates import DatesAsNumbers, format_of
from ._files import check_memory, limit
from ._images import image_files, read_images
from ._kinds import as_wanted, recognised
from ._matrices import read_matrix_market, read_npy, read_npz, read_svmlight
from ._parquet import read_parquet
from ._table import Table, Wanted, check_finite, classes, joined, known, memory_of, sampled, unknown

READERS: dict[str, Callable[[str, Wanted], Iterator[Table]]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".txt": read_csv,
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mtx": read_matrix_market,
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
}
TEXT = frozenset([".csv", ".tsv", ".txt"])
PACKED = {
    ".gz": TEXT | {".mtx", ".svm", ".svmlight", ".libsvm"},
    ".bz2": TEXT | {".mtx", ".svm", ".svmlight", ".libsvm"},
    ".zst": TEXT,
}


def read(
    path: str | os.PathLike,
    *,
    sample: int | None = None,
    random_state: int | RandomState = 0,
    mixed: bool = False,
    categories: Sequence[str] = (),
    targets: bool = False,
    **options: Any,
) -> Table:
    r"""Read a data set whole, or a random sample of its rows.

    Parameters
    ----------
    path : str or path-like
        A file, a folder of images, or ``"-"``, which is standard input.
    sample : int or None, default=None
        Keep this many rows, chosen at random and in their order, while reading: the memory is that of the sample.
    random_state : int or RandomState instance, default=0
        The seed of the sample.
    mixed : bool, default=False
        Whether columns of CSV and Parquet may hold text, dates and gaps, as :func:`prepare` takes them; else such columns are
        an error. Numbers with decimal commas are numbers in both cases.
    categories : sequence of str, default=()
        With ``mixed``, columns to be read as text though they hold numbers or dates.
    targets : bool, default=False
        Whether labels are numbers, as the graph :class:`~lapwing.graphs.Target` reads them, and not names of classes: they are
        float64, NaN where missing, and -1 is a number like others.
    **options
        Further parameters of :func:`lapwing.tables.batches`, such as ``label``, ``id``, ``drop`` and ``features``.

    Returns
    -------
    Table
        Labels that are whole numbers are int64, quantities float64, others text. -1 is an unknown label; where -1 and 1 are
        all there are, they are two classes and become 0 and 1. Of columns aside, dates are days since 1970, and rows that
        have a gap there are left out.

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
    choice = None if sample is None else check_count("sample", sample)
    if not mixed:
        return _finished(_gathered(path, batches(path, **options), choice, random_state), path, targets)
    kinds, held = dict.fromkeys(categories, "text"), standard_input() if path == "-" else None
    while True:
        try:
            table = _gathered(path, batches(path, **options, kinds=kinds, held=held), choice, random_state)
        except NotNumbersError as error:  # the first rows did not show that a column is not of numbers
            if not error.names or kinds.keys() >= set(error.names):
                raise
            kinds |= dict.fromkeys(error.names, "text")
        else:
            return _finished(table if table.kinds is None else recognised(table, path, categories), path, targets)


def _gathered(path: str, tables: Iterator[Table], sample: int | None, random_state: Any) -> Table:
    return joined(list(_within_memory(path, tables))) if sample is None else sampled(tables, sample, random_state)


def _within_memory(path: str, tables: Iterator[Table]) -> Iterator[Table]:
    """The tables. Raise once all of them together take more memory than the file may."""
    total = 0
    for table in tables:
        total += memory_of(table)
        _check_memory(path, total, "the table")
        yield table


def _check_memory(path: str, needed: int, what: str) -> None:
    if needed > limit(0) and path != "-":  # standard input is read in any case
        check_memory(path, needed, sum(map(os.path.getsize, files_of(path))), what)


def _finished(table: Table, path: str, targets: bool = False) -> Table:
    for values in (table.y, *table.aside.values()):
        if values is not None and values.dtype == object:  # text becomes an array as wide as the longest
            longest = max((len(cell) for cell in values.tolist() if isinstance(cell, str)), default=0)
            _check_memory(path, 4 * longest * len(values), f"a column of labels as long as {longest:,} characters")
    keyed = _with_keys(table, path)
    return _with_targets(keyed, path) if targets else _with_classes(keyed, path)


def _with_keys(table: Table, path: str) -> Table:
    """The rows that have a value in every column aside. Dates and numbers there become numbers, so that they sort by time."""
    gaps = {name: unknown(values) for name, values in table.aside.items()}
    for name, missing in gaps.items():
        if missing.all():
            raise ValueError(f"{path}: column {name!r} is empty")
    notes = tuple(
        f"{gap.sum():,} row{'s' * int(gap.sum() > 1)} without {name!r} left out"
        for name, gap in gaps.items()
        if gap.any()
    )
    if notes:
        table = table.take(np.flatnonzero(~np.logical_or.reduce(list(gaps.values()))))
    return replace(table, aside={name: _keys(values) for name, values in table.aside.items()}, notes=notes)


def _keys(values: np.ndarray) -> np.ndarray:
    """Dates as days since 1970, numbers as numbers, and anything else as text."""
    if values.dtype.kind not in "OU":
        return values
    form = format_of({str(cell) for cell in values.tolist()})
    return (
        classes(values) if form is None else DatesAsNumbers([form]).fit_transform(values.astype(str)[:, None]).ravel()
    )


def _with_targets(table: Table, path: str) -> Table:
    if table.y is None:
        return table
    missing = unknown(table.y)
    y = np.full(len(table.y), np.nan)
    try:
        y[~missing] = [float(label) for label in table.y[~missing].tolist()]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path}: the labels are words, and the graph reads numbers ({error}); name a column of numbers, or leave Target "
            "out of the graph"
        ) from error
    if missing.all():
        raise ValueError(f"{path}: all targets are missing; name a column that has some")
    return replace(table, y=y)


def _with_classes(table: Table, path: str) -> Table:
    if table.y is None:
        return table
    y = classes(table.y, path)
    names = {str(label).removesuffix(".0") for label in set(table.y[~unknown(table.y)].tolist())}
    if "-1" not in names:
        return replace(table, y=y)
    if names == {"-1", "1"}:
        y = (y + 1) // 2 if set(y.tolist()) == {-1, 1} else y  # otherwise -1 marks an unknown label
        note = "labels -1 and 1 are read as two classes, 0 and 1"
    else:
        note = "the label -1 stands for an unknown class; if it is a class, give it another name"
    return replace(table, y=y, notes=(*table.notes, note))


def batches(
    path: str | os.PathLike,
    *,
    label: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    features: Sequence[str] | None = None,
    header: bool | None = None,
    resize: tuple[int, int] | None = None,
    grey: bool | None = None,
    zero_based: bool = False,
    n_features: int | None = None,
    labels: bool = True,
    aside: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    held: bytes | None = None,
) -> Iterator[Table]:
    r"""Read a data set in parts, some rows after the other.

    CSV, Parquet, ``.npy`` files and images are never in memory whole, whatever their size; sparse files and ``.npz`` are.

    Parameters
    ----------
    path : str or path-like
        A file, a folder of images, or ``"-"`` for CSV on standard input.
    label : str or None, default=None
        The column of labels, by name, or by number (from 0; -1 is the last) where columns have no names. For a matrix it may
        also be a file of labels (``.npy``, or text with one label per line), and for ``.npz`` a key (by default ``y`` or
        ``target``).
    id : str or None, default=None
        The column of identifiers, by name, or by number where columns have no names.
    drop : sequence of str, default=()
        Columns to leave out.
    features : sequence of str or None, default=None
        The columns to take, in this order; None takes all that are left.
    header : bool or None, default=None
        Whether the first line of CSV has the names; None looks.
    resize : (width, height) or None, default=None
        The size that images are brought to; without it all must be of one size.
    grey : bool or None, default=None
        Whether to read images in grey; None does so where all of them are.
    zero_based : bool, default=False
        Whether features in svmlight are counted from 0.
    n_features : int or None, default=None
        How many features a svmlight file has, which itself only shows the largest that is in use.
    labels : bool, default=True
        Whether to keep the labels that svmlight, ``.npz`` and folders of images bring.
    aside : sequence of str, default=()
        Columns of CSV and Parquet to keep beside the features.
    kinds : mapping of str to {"number", "date", "text"} or None, default=None
        What the features hold. Where given, columns may hold text, dates and gaps, and the kind of those that are not in it is
        found by looking at them.
    held : bytes or None, default=None
        The content of standard input, where it was read before.

    Yields
    ------
    Table
        Some rows. Identifiers in CSV are text as written (``007``), and so are labels here, which may be missing.

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
    features = None if features is None else tuple(features)
    wanted = Wanted(
        label, id, tuple(drop), features, header, resize, grey, zero_based, n_features, tuple(aside), kinds, held
    )
    path = os.fspath(path)
    if aside and not has_columns(path):
        raise ValueError(f"{path}: aside={list(aside)!r}: columns have no names; use CSV or Parquet")
    row = 0
    for table in _reader(path)(path, wanted):
        if wanted.mixed and table.kinds is None and isinstance(table.X, np.ndarray) and table.image_shape is None:
            table = replace(table, kinds=["number"] * table.X.shape[1])  # a matrix, which may have gaps
        if wanted.kinds and table.kinds is not None:
            table = as_wanted(table, wanted.kinds, path, row)
        check_finite(table, path, row)
        row += len(table)
        yield table if labels else replace(table, y=None)
    if row == 0:
        raise ValueError(f"{path}: no rows of data")


def files_of(path: str | os.PathLike) -> list[str]:
    """The files that :func:`read` reads: the path itself, or the images of a folder. For standard input there are none."""
    path = os.fspath(path)
    if path == "-":
        return []
    return [os.fspath(file) for file in image_files(path)] if os.path.isdir(path) else [path]


def has_columns(path: str) -> bool:
    """Whether labels can only be a column, and not a file of their own."""
    return _reader(path) in (read_csv, read_parquet)


def _reader(path: str) -> Callable[[str, Wanted], Iterator[Table]]:
    if path == "-":
        return read_csv
    if os.path.isdir(path):
        return read_images
    stem, suffix = os.path.splitext(path.lower())
    packing = suffix if suffix in PACKED else None
    suffix = os.path.splitext(stem)[1] if packing else suffix
    if suffix not in READERS or (packing and suffix not in PACKED[packing]):
        raise ValueError(f"{path}: unknown kind of file; {known(READERS)}, a folder of images, and - for CSV on stdin")
    return READERS[suffix]
