"""Columns of Arrow as rows of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._extras import require
from ._table import Roles, Table, listed, missing_value


def arrow(part: str = "") -> Any:
    """pyarrow, or a part of it."""
    return require(f"pyarrow{part}", "cli")


def feature_types(schema: Any, roles: Roles, path: str) -> dict[str, Any]:
    """The types of the features, all of which must be numbers."""
    kinds = dict(
        zip(schema.names, schema.types, strict=True)
    )  # looking up a name in Arrow is slow where there are many
    nested = [name for name in roles.used if arrow(".types").is_nested(kinds[name])]
    if nested:
        raise ValueError(
            f"{path}: {listed(nested)} {'hold' if len(nested) > 1 else 'holds'} lists or records; give every entry a column of "
            f"its own, or leave out what is no feature (--drop {','.join(nested[:8])})"
        )
    types = {name: kinds[name] for name in roles.features}
    check_numeric([name for name, kind in types.items() if not _is_numeric(kind)], roles, path)
    return types


def _is_numeric(kind: Any) -> bool:
    types = arrow(".types")
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_null, types.is_decimal)
    return any(test(kind) for test in tests)


def check_numeric(text: list[str], roles: Roles, path: str) -> None:
    """Features that are text are an error, with what to do."""
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


def from_arrow(batch: Any, roles: Roles, dtype: np.dtype, path: str, row: int, named: bool = True) -> Table:
    """A batch whose first row is the file's ``row + 1``."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name in roles.used:
        column = columns[name]
        if column.null_count and name != roles.label:
            first = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise ValueError(missing_value(path, name, row + first + 1))
    X = np.empty((batch.num_rows, len(roles.features)), dtype)
    for j, name in enumerate(roles.features):
        X[:, j] = columns[name].to_numpy(zero_copy_only=False)
    y, ids = (None if name is None else _values(columns[name]) for name in (roles.label, roles.id))
    return Table(X, y, ids, roles.features if named else None)


def _values(column: Any) -> np.ndarray:
    if arrow(".types").is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count and arrow(".types").is_integer(column.type):  # which NumPy would make floats
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy(zero_copy_only=False)
