"""The rows of a data set with their labels, and what all formats share: roles of columns, and labels that are classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from .._extras import require
from .cells import MISSING
from .preparation import INDEX, check_once, listed

BATCH_VALUES = 2**21  # numbers per batch: 16 MB of float64
WHOLE = re.compile(r"(0|-?[1-9]\d{0,17})(\.0+)?")  # a whole number as text, written in the one usual way
DECIMAL = re.compile(r"-?\d+(\.\d+)?")
#: Marks of unknown labels. The marks that are taken out may be the names of classes.
UNKNOWN = MISSING - {"-", "--", "None", "na", "none"}


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a data set, with what is known of them.

    Attributes
    ----------
    X : ndarray, CSR array or pyarrow.Table of shape (n_rows, n_features)
        The features, in float32 where the file has them so, else in float64. Read as ``mixed``, CSV and Parquet give a
        table of pyarrow, whose columns are as the file has them: those of CSV are text. :class:`Preparation` turns them into
        numbers.
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
        X = self.X.take(places) if self.is_mixed else self.X[places]
        return replace(self, X=X, y=y, ids=ids, aside=aside)

    def to_frame(self) -> Any:
        """The features as a pandas DataFrame."""
        if self.is_mixed:
            return self.X.to_pandas()
        X = self.X.toarray() if sparse.issparse(self.X) else self.X
        return require("pandas", "tables").DataFrame(X, columns=self.feature_names)


def joined(tables: list[Table]) -> Table:
    """The rows of all tables, one after the other."""
    first = tables[0]
    stack = require("pyarrow", "tables").concat_tables if first.is_mixed else np.concatenate
    stack = sparse.vstack if sparse.issparse(first.X) else stack
    y, ids = (
        None if getattr(first, name) is None else np.concatenate([getattr(table, name) for table in tables])
        for name in ("y", "ids")
    )
    aside = {name: np.concatenate([table.aside[name] for table in tables]) for name in first.aside}
    X = first.X if len(tables) == 1 else stack([table.X for table in tables])
    return replace(first, X=X, y=y, ids=ids, aside=aside, n_read=sum(map(len, tables)))


def sampled(tables: Iterator[Table], n: int, random_state: Any) -> Table:
    """The n rows with the smallest random keys, in one pass: a sample without replacement, of known labels first."""
    rng = check_random_state(random_state)
    kept: Table | None = None
    keys, total = np.empty(0), 0
    for table in tables:
        total += len(table)
        fresh = rng.random_sample(len(table))
        if table.y is not None:
            fresh += unknown(table.y) | np.isin(table.y.astype(str), ["-1", "-1.0"])
        candidates = np.flatnonzero(fresh < (keys.max() if len(keys) == n else 2.0))
        kept = table.take(candidates) if kept is None else joined([kept, table.take(candidates)])
        keys = np.concatenate([keys, fresh[candidates]])
        if len(keys) > n:
            chosen = np.sort(np.argpartition(keys, n - 1)[:n])
            kept, keys = kept.take(chosen), keys[chosen]
    assert kept is not None
    return replace(kept, n_read=total)


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

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.features, *self.others]))


def roles_of(names: list[str], wanted: Any, path: str, named: bool = True) -> Roles:
    """The role of each column, as the parameters of :func:`lapwing.tables.batches` say; columns named there must exist."""
    try:
        check_once(names)
        label = None if wanted.label is None else _column(names, named, wanted.label, "label")
        identifier = None if wanted.id is None else _column(names, named, wanted.id, "id")
        dropped = [_column(names, named, name, "drop") for name in wanted.drop]
        aside = [_column(names, named, name, "aside") for name in wanted.aside]
        features = [name for name in names if name not in {label, identifier, *dropped, *aside}]
        if wanted.features is not None and (named or set(wanted.features) <= set(names)):
            features = list(wanted.features)
            if missing := sorted(set(features) - set(names)):
                raise ValueError(f"no {listed(missing)}, on which the model was fitted; it has {listed(names)}")
        elif not features:
            raise ValueError("no column is left to project, beside label, id and what is dropped")
        elif not wanted.mixed and (index := [name for name in features if name in INDEX]):
            what = "row numbers, it seems, not a feature, or a delimiter ends each line"
            raise ValueError(f"{listed(index)}: {what}; use --id {index[0]!r} or --drop {index[0]!r}")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Roles(features, label, identifier, aside)


def _column(names: list[str], named: bool, given: str, option: str) -> str:
    """The column that the user named, or numbered where columns have no names."""
    if not named and re.fullmatch(r"-?\d+", given) and -len(names) <= int(given) < len(names):
        return names[int(given)]
    if named and given in names:
        return given
    if not named:
        hint = (
            f"columns have no names; give a number, 0 to {len(names) - 1}, or --header where the first line has names"
        )
        raise ValueError(f"{option}={given!r}: {hint}")
    folded = {name.casefold(): name for name in names}
    close = get_close_matches(given.casefold(), folded, n=1)
    hint = f"did you mean {folded[close[0]]!r}?" if close else f"it has {listed(names)}"
    raise ValueError(f"{option}={given!r}: no such column; {hint}")


# Labels


def unknown(y: np.ndarray) -> np.ndarray:
    """Which labels are missing: blank, or a mark such as NA and ?."""
    if y.dtype.kind in "fM":
        return np.isnan(y)
    if y.dtype.kind not in "OU":
        return np.zeros(len(y), dtype=bool)
    return np.array([label is None or label != label or str(label).strip() in UNKNOWN for label in y], dtype=bool)


def classes(y: np.ndarray) -> np.ndarray:
    """Labels as int64 where all are whole numbers, as float64 where they are quantities, else as text.

    Text such as ``007``, which is not the usual way to write a whole number, stays text, so that two classes never become
    one. A missing label becomes -1, which stands for an unknown class; where -1 and 1 are all there are, they become 0 and 1.
    """
    missing = unknown(y)
    found = _typed(y[~missing])
    if found.dtype.kind == "i" and set(found.tolist()) == {-1, 1}:
        found = (found + 1) // 2
    if not missing.any():
        return found
    whole = np.full(len(y), -1, dtype=object if found.dtype.kind == "U" else found.dtype)
    whole[~missing] = found
    return whole.astype(str) if found.dtype.kind == "U" else whole


def _typed(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind in "iub" and (y <= np.iinfo(np.int64).max).all():
        return y.astype(np.int64)
    if y.dtype.kind == "f":
        return y.astype(np.int64) if ((y == np.round(y)) & (np.abs(y) < 2.0**63)).all() else y
    text = y.astype(str)
    if all(map(WHOLE.fullmatch, text)):
        return np.array([int(label.partition(".")[0]) for label in text], dtype=np.int64)
    quantities = all(map(DECIMAL.fullmatch, text)) and any(not float(label).is_integer() for label in text)
    return text.astype(np.float64) if quantities else text


def with_classes(table: Table) -> Table:
    """The table whose labels are classes."""
    if table.y is None:
        return table
    y, notes = classes(table.y), table.notes
    names = {str(label).removesuffix(".0") for label in set(table.y[~unknown(table.y)].tolist())}
    if names == {"-1", "1"}:
        notes = (*notes, "labels -1 and 1 are read as two classes, 0 and 1")
    elif "-1" in names:
        notes = (*notes, "the label -1 stands for an unknown class; if it is a class, give it another name")
    return replace(table, y=y, notes=notes)


def with_targets(table: Table, path: str) -> Table:
    """The table whose labels are numbers; NaN where they are missing."""
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


def batch_rows(n_features: int) -> int:
    return min(max(BATCH_VALUES // max(n_features, 1), 64), 65_536)


def known(suffixes: Iterable[str]) -> str:
    return f"known are {' '.join(sorted(suffixes))}"
