"""What the cells of a column hold: numbers, dates, or text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ._dates import format_of
from ._frame import Frame, columns_of, matrix
from ._table import Table

COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)  # 3,14
COMMA_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")  # 1,234.56
OTHER_GROUPS = re.compile(r"[+-]?\d{1,3}([. \u00a0'\u2019]\d{3})+(,\d+)?")  # 1.234,56
SHOWN = 3  # a message shows this many cells


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell is a number, written with a decimal point or, where ``decimal`` says so, a comma."""
    try:
        float(cell)
    except ValueError:
        return decimal == "," and COMMA.fullmatch(cell.strip()) is not None
    return "_" not in cell  # Python allows underscores between digits


def recognised(table: Table, path: str, categories: Iterable[str] = ()) -> Table:
    """The table with its columns of text read as what they hold. Columns that cannot be used raise one error.

    A column holds numbers or dates where all its cells do, without counting gaps. A column that is mostly numbers is not
    taken as text: its other cells are mistakes, or marks that only their author knows.
    """
    assert table.kinds is not None
    names = table.feature_names or [str(j) for j in range(table.X.shape[1])]
    kinds, columns, bad = [], [], {}
    for name, kind, column in zip(names, table.kinds, columns_of(table.X), strict=True):
        kind, values = _recognised(column) if kind == "text" and name not in categories else (kind, column)
        if why := _why_not(kind, values):
            bad[name] = why
        kinds.append(kind)
        columns.append(values)
    if bad:
        raise ValueError(_listed(path, bad))
    if not isinstance(table.X, Frame):
        return table
    return replace(table, X=matrix(columns) if set(kinds) == {"number"} else Frame(columns), kinds=kinds)


def as_wanted(table: Table, wanted: Mapping[str, str], path: str, row: int) -> Table:
    """The table with text read as numbers, in columns that are wanted as numbers. ``row`` rows of the file come before it."""
    assert table.kinds is not None
    names = table.feature_names or []
    written = [j for j, name in enumerate(names) if table.kinds[j] == "text" and wanted.get(name) == "number"]
    if not written:
        return table
    kinds, columns = list(table.kinds), columns_of(table.X)
    for j in written:
        kind, numbers = _recognised(columns[j])
        if kind != "number":
            words = {cell for cell in columns[j].tolist() if isinstance(cell, str)}
            # If there are none, numbers are written in two ways.
            odd = {cell for cell in words if not _looks_like_a_number(cell)} or words
            at, cell = next((i, cell) for i, cell in enumerate(columns[j].tolist()) if cell in odd)
            raise ValueError(
                f"{path}: column {names[j]!r}: {cell!r} in row {row + at + 1} is not a number, as the model takes; correct it"
            )
        kinds[j], columns[j] = kind, numbers
    return replace(table, X=matrix(columns) if set(kinds) == {"number"} else Frame(columns), kinds=kinds)


def _recognised(values: np.ndarray) -> tuple[str, np.ndarray]:
    counts = Counter(cell for cell in values.tolist() if isinstance(cell, str))
    if not counts:
        return "number", np.full(len(values), np.nan)  # the column is empty
    for written in (_plain, _with_points, _with_commas):
        numbers = {cell: written(cell) for cell in counts}
        if None not in numbers.values():
            return "number", np.array([numbers.get(cell, np.nan) for cell in values.tolist()], dtype=np.float64)
    if format_of(counts) is not None:
        return "date", values
    if all(format_of([cell]) for cell in counts):
        return "neither", values  # dates, but not all in the same format
    total = sum(counts.values())
    number = sum(count for cell, count in counts.items() if _looks_like_a_number(cell))
    return ("neither" if 2 * number > total else "text"), values


def _plain(cell: str) -> float | None:
    return float(cell) if is_number(cell) else None


def _with_points(cell: str) -> float | None:
    """A number whose thousands are separated by commas; None for other cells."""
    return float(cell.replace(",", "")) if COMMA_GROUPS.fullmatch(cell) else _plain(cell)


def _with_commas(cell: str) -> float | None:
    """A number with a decimal comma, whose thousands may be separated by points or blanks; None for other cells."""
    if OTHER_GROUPS.fullmatch(cell):
        return float(re.sub(r"[. \u00a0'\u2019]", "", cell).replace(",", "."))
    return float(cell.replace(",", ".")) if is_number(cell, ",") and "." not in cell else None


def _looks_like_a_number(cell: str) -> bool:
    return is_number(cell, ",") or bool(COMMA_GROUPS.fullmatch(cell) or OTHER_GROUPS.fullmatch(cell))


def _why_not(kind: str, values: np.ndarray) -> str | None:
    if kind == "nested":
        return "holds lists or records"
    if kind == "number" and np.isinf(values).any():
        return f"a value is infinite (the first in row {int(np.argmax(np.isinf(values))) + 1})"
    if kind != "neither":
        return None
    present = [cell for cell in values.tolist() if isinstance(cell, str)]
    if all(format_of([cell]) for cell in set(present)):
        ways = list({format_of([cell]): cell for cell in present}.values())
        return f"dates are written in more than one way, such as {ways[0]!r} and {ways[1]!r}"
    odd = Counter(cell for cell in present if not _looks_like_a_number(cell))
    if not odd:
        return "numbers are written in more than one way, with decimal points and with decimal commas"
    first = next(i for i, cell in enumerate(values.tolist()) if cell in odd)
    shown = ", ".join(repr(cell) for cell, _ in odd.most_common(SHOWN)) + (", ..." if len(odd) > SHOWN else "")
    numbers = len(present) - sum(odd.values())
    return f"{numbers:,} of {len(present):,} values are numbers, but not {shown} (the first in row {first + 1})"


def _listed(path: str, bad: dict[str, str]) -> str:
    columns = "; ".join(f"{name!r}: {why}" for name, why in bad.items())
    those, them = ("these columns", "them") if len(bad) > 1 else ("this column", "it")
    names = ",".join(f'"{name}"' if "," in name else name for name in bad)
    return (
        f"{path}: {those} cannot be read as numbers, dates or text: {columns}; correct {them}, leave {them} out "
        f"(--drop {names!r}), or read {them} as categories (--categories {names!r})"
    )
