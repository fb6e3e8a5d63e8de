"""The rows of a data set, and what all formats share."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._extras import require
from ._frame import Frame, stacked

VALUES = 2**21  # numbers per batch: 16 MB of float64
WORD = 8  # the memory of a word of text, in units of a pointer
WHOLE = re.compile(r"(0|-?[1-9]\d{0,17})(\.0+)?")  # a whole number as text, written in the one usual way
DECIMAL = re.compile(r"-?\d+(\.\d+)?")
INDEX = frozenset(["", "Unnamed: 0", "__index_level_0__"])  # what pandas calls the column of an index
# How files write that a value is missing.
MISSING = frozenset(
    {"", "-", "--", "?", "#N/A", "<NA>", "N/A", "n/a"}
    | {"NA", "na", "NaN", "nan", "NaT"}
    | {"None", "none", "NULL", "Null", "null"}
)
# Marks of unknown labels. The marks that are taken out may be the names of classes.
UNKNOWN = MISSING - {"-", "--", "None", "na", "none"}


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a data set, with what is known of them.

    Attributes
    ----------
    X : ndarray, CSR array or Frame of shape (n_rows, n_features)
        The features, in float32 where that holds every column exactly, else in float64. It is a frame where columns hold text
        or dates: ``numpy.asarray(table.X)`` makes an array of objects of it.
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
    kinds : list of {"number", "date", "text"} or None
        What the columns hold, where X was read as ``mixed``; None where all hold numbers and none is missing.
    aside : dict of str to ndarray
        Columns that are no features, by name.
    notes : tuple of str
        What became of labels that are -1 in the file, and of rows without a value aside.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.tables import Table
    >>> table = Table(np.eye(3), y=np.array([0, 0, 1]), feature_names=["a", "b", "c"])
    >>> len(table.take([0, 2])), table.take([0, 2]).y.tolist()
    (2, [0, 1])
    """

    X: Any
    y: np.ndarray | None = None
    ids: np.ndarray | None = None
    feature_names: list[str] | None = None
    image_shape: tuple[int, ...] | None = None
    n_read: int = 0
    kinds: list[str] | None = None
    aside: dict[str, np.ndarray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.X.shape[0]

    def take(self, rows: Any) -> Table:
        """Some of the rows."""
        y = None if self.y is None else self.y[rows]
        aside = {name: values[rows] for name, values in self.aside.items()}
        return replace(self, X=self.X[rows], y=y, ids=None if self.ids is None else self.ids[rows], aside=aside)

    def to_frame(self) -> Any:
        """The features as a pandas DataFrame, which pipelines take by the names of its columns."""
        pandas = require("pandas", "tables")
        if not isinstance(self.X, Frame):
            return pandas.DataFrame(self.X.toarray() if sparse.issparse(self.X) else self.X, columns=self.feature_names)
        assert self.feature_names is not None
        columns = zip(self.feature_names, self.X.columns, strict=True)
        return pandas.DataFrame({name: pandas.Series(values, dtype=values.dtype) for name, values in columns})


@dataclass(frozen=True)
class Wanted:
    """What to take from a file: the parameters of :func:`read`."""

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    features: tuple[str, ...] | None = None
    header: bool | None = None
    resize: tuple[int, int] | None = None
    grey: bool | None = None
    zero_based: bool = False
    n_features: int | None = None
    aside: tuple[str, ...] = ()
    # The kinds of the features, where text, dates and gaps are taken. Features that it does not name are looked at.
    kinds: Mapping[str, str] | None = None
    held: bytes | None = None  # the content of standard input

    @property
    def mixed(self) -> bool:
        """Whether features may be text or dates, and may have gaps."""
        return self.kinds is not None


class Roles(NamedTuple):
    """Which columns are features, labels and identifiers."""

    features: list[str]
    label: str | None
    id: str | None
    aside: tuple[str, ...] = ()

    @property
    def others(self) -> list[str]:
        """The columns that are not features."""
        return [name for name in (self.label, self.id, *self.aside) if name is not None]

    @property
    def used(self) -> list[str]:
        return list(dict.fromkeys([*self.features, *self.others]))


def roles_of(names: list[str], wanted: Wanted, path: str, named: bool = True) -> Roles:
    """The role of each column. Columns that the user named must be there."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{path}: {listed(twice)} more than once; give columns different names")
    given = [("label", wanted.label), ("id", wanted.id), *(("drop", name) for name in wanted.drop)]
    label, identifier, *dropped = [
        None if column is None else _column(names, column, option, path, named) for option, column in given
    ]
    aside = tuple(_column(names, column, "aside", path, named) for column in wanted.aside)
    if wanted.features is not None and (named or set(wanted.features) <= set(names)):
        missing = sorted(set(wanted.features) - set(names))
        if missing:
            raise ValueError(f"{path}: no {listed(missing)}, on which the model was fitted; it has {listed(names)}")
        return Roles(list(wanted.features), label, identifier, aside)
    others = {label, identifier, *dropped, *aside}
    features = [name for name in names if name not in others]
    if not features:
        raise ValueError(f"{path}: no column is left to project, beside label, id and what is dropped")
    index = [name for name in features if name in INDEX and not wanted.mixed]
    if index == [""] == names[-1:] and len(names) > 1:
        raise ValueError(f"{path}: the last column has no name; where lines end with a delimiter use --drop ''")
    if index:
        raise ValueError(
            f"{path}: {listed(index)}: row numbers, it seems, not a feature; use --id {index[0]!r} or --drop {index[0]!r}"
        )
    return Roles(features, label, identifier, aside)


def _column(names: list[str], column: str, option: str, path: str, named: bool) -> str:
    if not named and re.fullmatch(r"-?\d+", column) and -len(names) <= int(column) < len(names):
        return names[int(column)]
    if named and column in names:
        return column
    if not named:
        raise ValueError(f"{path}: {option}={column!r}: columns have no names; give a number, 0 to {len(names) - 1}")
    folded = {name.casefold(): name for name in names}
    close = get_close_matches(column.casefold(), folded, n=1)
    hint = f"did you mean {folded[close[0]]!r}?" if close else f"it has {listed(names)}"
    raise ValueError(f"{path}: {option}={column!r}: no such column; {hint}")


def listed(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"column{'s' if len(names) > 1 else ''} " + ", ".join(map(repr, names[:most])) + more


def known(suffixes: Iterable[str]) -> str:
    return f"known are {' '.join(sorted(suffixes))}"


def check_finite(table: Table, path: str, row: int) -> None:
    values = table.X.data if sparse.issparse(table.X) else table.X
    # Columns of several kinds are checked once all rows are read.
    if table.kinds is not None or np.isfinite(values).all():
        return
    if sparse.issparse(table.X):
        coordinates = table.X.tocoo()
        first = np.flatnonzero(~np.isfinite(coordinates.data))[0]
        i, j = int(coordinates.row[first]), int(coordinates.col[first])
    else:
        i, j = np.argwhere(~np.isfinite(values))[0]
    name = str(j) if table.feature_names is None else table.feature_names[j]
    raise ValueError(missing_values(path, {name: row + i + 1}, "infinite" if np.isinf(table.X[i, j]) else "missing"))


def missing_values(path: str, first: dict[str, int], what: str = "missing") -> str:
    """A message about columns with gaps, with the row of the first gap of each."""
    where = ", ".join(f"column {name!r}: a value is {what} (the first in row {row})" for name, row in first.items())
    those = "columns" if len(first) > 1 else "column"
    return f"{path}: {where}; fill in or remove such rows, or leave the {those} out (--drop {','.join(first)})"


def float_type(dtypes: Iterable[Any]) -> np.dtype:
    """The narrowest of float32 and float64 that holds values of all these types exactly."""
    return np.dtype(np.float64 if np.result_type(np.float32, *dtypes) != np.float32 else np.float32)


def unknown(y: np.ndarray) -> np.ndarray:
    """Which labels are missing: blank, or a mark such as NA and ?."""
    if y.dtype.kind in "fM":
        return np.isnan(y)
    if y.dtype.kind not in "OU":
        return np.zeros(len(y), dtype=bool)
    return np.array([label is None or label != label or str(label).strip() in UNKNOWN for label in y], dtype=bool)


def classes(y: np.ndarray, path: str = "") -> np.ndarray:
    """Labels as int64 where all are whole numbers, as float64 where they are quantities, else as text.

    Text such as ``007``, which is not the usual way to write a whole number, stays text, so that two classes never become
    one. A missing label becomes -1, which stands for an unknown class.
    """
    missing = unknown(y)
    if missing.any():
        if missing.all():
            return np.full(len(y), -1, dtype=np.int64)
        known = classes(y[~missing])
        if known.dtype.kind == "i" and set(known.tolist()) <= {-1, 1}:
            if (known == 1).all():
                raise ValueError(
                    f"{path}: labels are 1 or missing: one class only; label some rows of another class too"
                )
            known = (known + 1) // 2  # -1 is a class here, but it is needed to mark missing labels
        found = np.full(len(y), -1, dtype=known.dtype if known.dtype.kind != "U" else object)
        found[~missing] = known
        return found.astype(str) if known.dtype.kind == "U" else found
    if y.dtype.kind in "iub" and (y <= np.iinfo(np.int64).max).all():
        return y.astype(np.int64)
    if y.dtype.kind == "f":
        return y.astype(np.int64) if ((y == np.round(y)) & (np.abs(y) < 2.0**63)).all() else y
    text = y.astype(str)
    if all(map(WHOLE.fullmatch, text)):
        return np.array([int(label.partition(".")[0]) for label in text], dtype=np.int64)
    quantities = all(map(DECIMAL.fullmatch, text)) and any(not float(label).is_integer() for label in text)
    return text.astype(np.float64) if quantities else text


def joined(tables: list[Table]) -> Table:
    """The rows of all tables, one after the other."""
    first = tables[0]
    X, y, ids = zip(*((table.X, table.y, table.ids) for table in tables), strict=True)
    stack = sparse.vstack if sparse.issparse(first.X) else stacked if isinstance(first.X, Frame) else np.concatenate
    whole = replace(first, X=first.X if len(tables) == 1 else stack(X), n_read=sum(map(len, tables)))
    return replace(
        whole,
        y=None if first.y is None else np.concatenate(y),
        ids=None if first.ids is None else np.concatenate(ids),
        aside={name: np.concatenate([table.aside[name] for table in tables]) for name in first.aside},
    )


def sampled(tables: Iterator[Table], n: int, random_state: Any) -> Table:
    """The n rows with the smallest random keys, which is a sample without replacement that takes one pass.

    Rows of unknown label get larger keys than all others. So rows of known label are kept first.
    """
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    kept: Table | None = None
    keys, total = np.empty(0), 0
    for table in tables:
        total += len(table)
        fresh = rng.random_sample(len(table)) + _is_unknown(table.y, len(table))
        candidates = np.flatnonzero(fresh < (keys.max() if len(keys) == n else 2.0))
        kept = table.take(candidates) if kept is None else joined([kept, table.take(candidates)])
        keys = np.concatenate([keys, fresh[candidates]])
        if len(keys) > n:
            chosen = np.sort(np.argpartition(keys, n - 1)[:n])
            kept, keys = kept.take(chosen), keys[chosen]
    assert kept is not None
    return replace(kept, n_read=total)


def _is_unknown(y: np.ndarray | None, n: int) -> np.ndarray:
    """Which labels are -1 or, in a file, blank; none where there are no labels."""
    if y is None:
        return np.zeros(n, dtype=bool)
    if y.dtype.kind in "iuf":
        return np.asarray((y == -1) | (y != y))
    return np.array([label is None or label != label or str(label).strip() in ("", "-1") for label in y], dtype=bool)


def memory_of(table: Table) -> int:
    """About how many bytes a table takes. An object counts as a word of text."""
    columns = table.X.columns if isinstance(table.X, Frame) else [table.X.data if sparse.issparse(table.X) else table.X]
    beside = [values for values in (table.y, table.ids, *table.aside.values()) if values is not None]
    return sum(column.nbytes * (1 if column.dtype != object else WORD) for column in (*columns, *beside))


def batch_rows(n_features: int) -> int:
    return min(max(VALUES // max(n_features, 1), 64), 65_536)
