"""Columns of Arrow as rows of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._extras import require
from ._frame import Frame
from ._table import MISSING, Roles, Table, float_type, listed, missing_values


def arrow(part: str = "") -> Any:
    """pyarrow, or a part of it."""
    return require(f"pyarrow{part}", "cli")


def feature_types(schema: Any, roles: Roles, path: str, mixed: bool = False) -> dict[str, Any]:
    """The types of the features. All of them must be numbers, unless columns may be ``mixed``."""
    # A dictionary, since looking up a name in Arrow is slow where there are many.
    kinds = dict(zip(schema.names, schema.types, strict=True))
    # Features that cannot be used are reported once all of them are known.
    looked_at = roles.others if mixed else roles.used
    nested = [name for name in looked_at if arrow(".types").is_nested(kinds[name])]
    if nested:
        raise ValueError(
            f"{path}: {listed(nested)} {'hold' if len(nested) > 1 else 'holds'} lists or records; give every entry a column of "
            f"its own, or leave out what is no feature (--drop {','.join(nested[:8])})"
        )
    types = {name: kinds[name] for name in roles.features}
    if mixed:
        return types
    check_numeric([name for name, kind in types.items() if not _is_numeric(kind)], roles, path)
    return types


def _is_numeric(kind: Any) -> bool:
    types = arrow(".types")
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_null, types.is_decimal)
    return any(test(kind) for test in tests)


def check_numeric(text: list[str], roles: Roles, path: str) -> None:
    """Raise where features are text, and say what to do."""
    if not text:
        return
    if text == roles.features and len(text) == 1:
        raise ValueError(
            f"{path}: its only feature, {text[0]!r}, is text; turn documents into numbers first, for instance with "
            "scikit-learn's TfidfVectorizer, and save them with scipy.sparse.save_npz"
        )
    those = "them" if len(text) > 1 else "it"
    raise ValueError(
        f"{path}: {listed(text)} {'are' if len(text) > 1 else 'is'} not numeric; name the label (--label) or the identifier "
        f"(--id), leave {those} out (--drop {','.join(text[:8])}), or encode {those} as numbers"
    )


def is_text(kind: Any) -> bool:
    """Whether a type is text of any length."""
    types = arrow(".types")
    return types.is_string(kind) or types.is_large_string(kind)


def kind_of(kind: Any) -> str:
    """What a column of this type holds: "number", "date", "text", or "nested"."""
    types = arrow(".types")
    if types.is_nested(kind):
        return "nested"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "date"
    return "number" if _is_numeric(kind) else "text"


def from_arrow(
    batch: Any,
    roles: Roles,
    dtype: np.dtype,
    path: str,
    row: int,
    named: bool = True,
    wanted: Mapping[str, str] | None = None,
) -> Table:
    """A batch whose first row is row ``row + 1`` of the file.

    Where other columns than numbers are taken, ``wanted`` gives the kinds of columns.
    """
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    mixed = wanted is not None
    if wanted is None:
        _check_complete(columns, roles, path, row)
    else:
        columns |= {
            name: _as_text(columns[name]) for name, kind in wanted.items() if kind == "text" and name in columns
        }
    kinds = [kind_of(columns[name].type) for name in roles.features]
    X: Any
    if all(kind == "number" for kind in kinds):
        X = np.empty((batch.num_rows, len(kinds)), dtype)
        for j, name in enumerate(roles.features):
            X[:, j] = _numbers(columns[name])
    else:
        X = Frame([_feature(columns[name], kind) for name, kind in zip(roles.features, kinds, strict=True)])
    y, ids = (None if name is None else _values(columns[name]) for name in (roles.label, roles.id))
    aside = {name: _values(columns[name]) for name in roles.aside}
    return Table(X, y, ids, roles.features if named or mixed else None, kinds=kinds if mixed else None, aside=aside)


def _as_text(column: Any) -> Any:
    """Numbers and dates as text, for columns that are to be categories."""
    return column if kind_of(column.type) in ("text", "nested") else column.cast(arrow().string())


def _check_complete(columns: dict[str, Any], roles: Roles, path: str, row: int) -> None:
    gaps = {
        name: row + int(np.argmax(columns[name].is_null().to_numpy(zero_copy_only=False))) + 1
        for name in roles.used
        if columns[name].null_count and name not in (roles.label, *roles.aside)
    }
    if gaps:
        raise ValueError(missing_values(path, gaps))


def _feature(column: Any, kind: str) -> Any:
    if kind == "nested":
        return np.full(len(column), None, dtype=object)
    if kind == "date":
        dates = column.to_numpy(zero_copy_only=False).astype("datetime64[us]")
        return np.where(np.isnat(dates), np.nan, dates.astype(object))
    if kind == "text":
        return _text(_values(column))
    values = _numbers(column)
    return values.astype(float_type([values.dtype]), copy=False)


def _numbers(column: Any) -> np.ndarray:
    complete = not column.null_count or arrow(".types").is_floating(column.type)
    return (column if complete else column.cast(arrow().float64())).to_numpy(zero_copy_only=False)


def _text(cells: np.ndarray) -> np.ndarray:
    """Text without blanks around it; NaN, as in pandas, where it is missing."""
    known = {cell: "" if cell is None else str(cell).strip() for cell in set(cells.tolist())}
    values = {cell: np.nan if text in MISSING else text for cell, text in known.items()}
    return np.array([values[cell] for cell in cells.tolist()], dtype=object)


def _values(column: Any) -> np.ndarray:
    types = arrow(".types")
    if types.is_dictionary(column.type) and is_text(column.type.value_type):
        # All rows that have a word share one object.
        words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
        places = column.indices.cast(arrow().int64()).fill_null(len(words) - 1)
        return words[places.to_numpy(zero_copy_only=False)]
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count and types.is_integer(column.type):  # integers with gaps, which NumPy would turn into floats
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy(zero_copy_only=False)
