"""The rows of a data set with their labels, and what all formats share: roles of columns, kinds of labels, limits of memory."""

from __future__ import annotations

import bz2
import gzip
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import check_random_state

from .._extras import require
from .cells import MISSING
from .preparation import INDEX, listed

BATCH_VALUES = 2**21  # numbers per batch: 16 MB of float64
TIMES = 100  # Reading a file may take this many times its size in memory, or working_memory where that is more.
TEXT_TIMES = 25  # the same factor for compressed text once it is unpacked, from which numbers are made
LONGEST_MESSAGE = 300  # characters of what a library says of a file, which may quote all of it
UNPACKED = {".gz": gzip.open, ".bz2": bz2.open}
WHOLE = re.compile(r"(0|-?[1-9]\d{0,17})(\.0+)?")  # a whole number as text, written in the one usual way
DECIMAL = re.compile(r"-?\d+(\.\d+)?")
#: Marks of unknown labels. The marks that are taken out may be the names of classes.
UNKNOWN = MISSING - {"-", "--", "None", "na", "none"}


class FileError(ValueError):
    """What is wrong with a file, in words of ours. :func:`readable` puts the name of the file before it."""


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
    stack = require("pyarrow", "tables").concat_tables if first.is_mixed else np.concatenate
    stack = sparse.vstack if sparse.issparse(first.X) else stack
    X = first.X if len(tables) == 1 else stack([table.X for table in tables])
    y = None if first.y is None else np.concatenate([table.y for table in tables])
    ids = None if first.ids is None else np.concatenate([table.ids for table in tables])
    aside = {name: np.concatenate([table.aside[name] for table in tables]) for name in first.aside}
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


# Roles of columns


class Roles(NamedTuple):
    """Which columns are features, labels, identifiers, and kept beside these."""

    features: list[str]
    label: str | None
    id: str | None
    aside: list[str]

    @property
    def others(self) -> list[str]:
        return [name for name in (self.label, self.id, *self.aside) if name is not None]


def roles_of(names: list[str], wanted: Any, named: bool = True) -> Roles:
    """The role of each column, as the parameters of :func:`lapwing.tables.batches` say; columns named there must exist."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise FileError(f"{listed(twice)} more than once; give columns different names")
    label = None if wanted.label is None else _column(names, named, wanted.label, "label")
    identifier = None if wanted.id is None else _column(names, named, wanted.id, "id")
    dropped = [_column(names, named, name, "drop") for name in wanted.drop]
    aside = [_column(names, named, name, "aside") for name in wanted.aside]
    features = [name for name in names if name not in {label, identifier, *dropped, *aside}]
    if wanted.features is not None and (named or set(wanted.features) <= set(names)):
        features = list(wanted.features)
        if missing := sorted(set(features) - set(names)):
            raise FileError(f"no {listed(missing)}, on which the model was fitted; it has {listed(names)}")
    elif not features:
        raise FileError("no column is left to project, beside label, id and what is dropped")
    elif not wanted.mixed and (index := [name for name in features if name in INDEX]):
        what = "row numbers, it seems, not a feature, or a delimiter ends each line"
        raise FileError(f"{listed(index)}: {what}; use --id {index[0]!r} or --drop {index[0]!r}")
    return Roles(features, label, identifier, aside)


def _column(names: list[str], named: bool, given: str, option: str) -> str:
    """The column that the user named, or numbered where columns have no names."""
    if named and given in names:
        return given
    if not named and re.fullmatch(r"-?\d+", given) and -len(names) <= int(given) < len(names):
        return names[int(given)]
    close = get_close_matches(given, names, n=1)
    hint = f"no such column; did you mean {close[0]!r}?" if close else f"no such column; it has {listed(names)}"
    numbers = f"give a number, 0 to {len(names) - 1}, or --header where the first line has names"
    raise FileError(f"{option}={given!r}: {hint if named else f'columns have no names; {numbers}'}")


# Labels


def unknown(y: np.ndarray) -> np.ndarray:
    """Which labels are missing: blank, or a mark such as NA and ?."""
    if y.dtype.kind in "fM":
        return np.isnan(y)
    if y.dtype.kind not in "OU":
        return np.zeros(len(y), dtype=bool)
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
    if y.dtype.kind in "iub" and (y <= np.iinfo(np.int64).max).all():
        return y.astype(np.int64)
    if y.dtype.kind == "f":
        return y.astype(np.int64) if ((y == np.round(y)) & (np.abs(y) < 2.0**63)).all() else y
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


# Files


def known(suffixes: Iterable[str]) -> str:
    return f"known are {' '.join(sorted(suffixes))}"


def batch_rows(n_features: int) -> int:
    return min(max(BATCH_VALUES // max(n_features, 1), 64), 65_536)


@contextmanager
def readable(path: str | os.PathLike, kind: str) -> Iterator[None]:
    """A context in which almost any exception about a file, which may be damaged, becomes one that names the file."""
    try:
        # A pipe that nobody writes to would be waited for without end.
        if path != "-" and not stat.S_ISREG(mode := os.stat(path).st_mode) and not stat.S_ISDIR(mode):
            raise FileError("a pipe or a device, not a file; write a file, or pass CSV on standard input (-)")
        yield
    except ImportError:
        raise  # an extra that is not installed is no fault of the file
    except FileError as error:
        raise FileError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error.__cause__
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise  # the system's own message, which names the file
        why = "it holds Python objects" if "allow_pickle" in str(error) else shorten(str(error), LONGEST_MESSAGE)
        raise FileError(f"{path}: not a readable {kind} ({why or type(error).__name__})") from error


def limit(size: int) -> int:
    """The bytes of memory that reading a file of this size may take: a multiple of the size, and at least ``working_memory``."""
    return max(TIMES * size, int(get_config()["working_memory"] * 2**20))


def check_memory(needed: float, size: int, what: str = "reading it") -> None:
    """Raise before memory is taken, where reading a file of this size would need more than it allows."""
    if needed > limit(size):
        raise FileError(
            f"{what} takes {needed / 2**20:,.0f} MiB of memory, and the limit for this file is "
            f"{limit(size) / 2**20:,.0f} MiB: {TIMES} times its size, or scikit-learn's working_memory where that is more; if "
            "the file is right, raise the latter (SKLEARN_WORKING_MEMORY=8192, in MiB)"
        )


def opened(path: str) -> Any:
    """The bytes of a file, uncompressed where its name says so."""
    unpack: Any = UNPACKED.get(os.path.splitext(path.lower())[1], open)
    return unpack(path, "rb")


def unpacked(path: str) -> bytes:
    """The content of a text file, which may not take more memory than is allowed."""
    size = os.path.getsize(path)
    most = limit(size) * TEXT_TIMES // TIMES
    with opened(path) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        check_memory(limit(size) + 1, size, "what it unpacks to")
    return content
