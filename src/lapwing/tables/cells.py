"""How the cells of a column are read: as gaps, numbers, yes and no, dates, or names of categories."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, date, datetime, time
from itertools import product
from numbers import Number
from typing import Any

import numpy as np

#: How tables write that a value is missing; pandas reads nearly all of these as gaps, too.
MISSING = frozenset(
    {"", "-", "--", "?", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "n/a", "-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"}
    | {"NA", "na", "NaN", "nan", "-NaN", "-nan", "NaT", "None", "none", "NULL", "Null", "null"}
)
BLANKS = " \u00a0\u202f'’"  # what may stand between thousands, beside commas and points
LONGEST_NUMBER = 60  # characters; longer text is no number with separators or a unit
WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")  # a number as people name categories by; 007 is another name than 7
CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|AUD|CAD"
UNIT = re.compile(
    rf"(?P<sign>[+-]?)\s*(?P<before>{CURRENCY})?\s*(?P<number>[+-]?[\d.,{BLANKS}]+(?:[eE][+-]?\d+)?)\s*(?P<after>{CURRENCY}|%)?"
)
DIGITS = {
    sign: re.compile(
        rf"[+-]?(?=[{sign}]?\d)(?:\d*|[1-9]\d{{0,2}}(?:(?P<gap>[{group}{BLANKS}])\d{{3}})(?:(?P=gap)\d{{3}})*)"
        rf"(?:[{sign}]\d*)?(?:[eE][+-]?\d+)?"
    )
    for sign, group in ((".", ","), (",", "."))
}
YES_NO = "yes/no"  # how a column is written whose cells are one of these pairs
PAIRS = (("yes", "no"), ("y", "n"), ("true", "false"), ("t", "f"), ("ja", "nein"), ("oui", "non"), ("sí", "no"))
YES = {word: 1.0 for word, _ in PAIRS} | {word: 0.0 for _, word in PAIRS}

ISO = "ISO 8601"
DAYS = ("%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y", "%m-%d-%Y")
WORDS = ("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y")
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p")
#: Where two formats fit all dates of a column, the first is taken. So the month stands first, as in 01/02/2024.
FORMATS = (ISO, *(day + clock for clock, day in product(TIMES, (*DAYS, *WORDS))))


def cells_of(column: Any, marks: Collection[str] = (), as_text: bool = False) -> np.ndarray:
    """A column of any library as floats, as ``datetime64[us]``, or as text with None for gaps.

    Parameters
    ----------
    column : array-like of shape (n_rows,)
        Of NumPy, pandas, polars or pyarrow, or a list.
    marks : collection of str
        Marks of missing values beside the usual ones.
    as_text : bool
        Whether numbers and dates become text, too, as categories are named by it.
    """
    values = values_of(column)
    if values.dtype.kind == "M" and not as_text:
        return values.astype("datetime64[us]")
    if values.dtype.kind in "biuf" and not as_text:
        return _without(_floats(values), marks)
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    cells = values.tolist()
    try:
        known = {cell: _cell(cell, marks) for cell in set(cells)}
    except TypeError as error:
        raise TypeError("holds lists or records") from error
    kinds = {type(cell) for cell in known.values()} - {type(None)}
    if kinds == {float} and not as_text:
        return _without(np.array([known[cell] for cell in cells], dtype=np.float64), marks)
    if kinds == {datetime} and not as_text:
        return np.array([known[cell] for cell in cells], dtype="datetime64[us]")
    texts = {cell: _text(cell, plain, marks) for cell, plain in known.items()}
    return np.array([texts[cell] for cell in cells], dtype=object)


def values_of(column: Any) -> np.ndarray:
    """A column of any library as an array. Rows that have the same word of an Arrow dictionary share one object."""
    if not hasattr(getattr(column, "type", None), "index_type"):
        return np.asarray(column)
    chunks = [np.array([], dtype=object)]
    for chunk in column.chunks if hasattr(column, "chunks") else [column]:
        words = np.array([*chunk.dictionary.to_pylist(), None], dtype=object)
        places = chunk.indices.to_numpy(zero_copy_only=False)
        chunks.append(words[np.where(np.isnan(places), len(words) - 1, places).astype(np.int64)])
    return np.concatenate(chunks)


def _floats(values: np.ndarray) -> np.ndarray:
    """Single precision stays. Everything else is in double precision, as the same numbers written as text are."""
    return values.astype(np.float32 if values.dtype.itemsize <= 4 and values.dtype.kind == "f" else np.float64)


def _without(values: np.ndarray, marks: Collection[str]) -> np.ndarray:
    numbers = [number for mark in marks if (number := plain(mark)) is not None]
    return np.where(np.isin(values, numbers), values.dtype.type(np.nan), values) if numbers else values


def _cell(cell: Any, marks: Collection[str]) -> str | float | datetime | None:
    """A cell as text, number or date of Python; None where it is missing."""
    if isinstance(cell, str):
        text = cell.strip()
        return None if text in MISSING or text in marks else text
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, date):
        return _naive(cell if isinstance(cell, datetime) else datetime.combine(cell, time()))
    if isinstance(cell, Number | np.bool_):
        return None if cell != cell else float(cell)  # type: ignore[arg-type]
    return None if cell != cell else str(cell)


def _naive(moment: datetime) -> datetime:
    """A date of Python, in UTC where it has a time zone."""
    moment = datetime.fromisoformat(moment.isoformat())
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _text(cell: Any, plain: Any, marks: Collection[str]) -> str | None:
    """The name of a category. Numbers are named as people write them, and dates as ISO 8601."""
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    if isinstance(plain, float):
        plain = repr(int(plain) if plain.is_integer() else plain)
        return None if plain in marks else plain
    return plain.isoformat(" ").removesuffix(" 00:00:00") if isinstance(plain, datetime) else plain


def as_named(text: str) -> str:
    """A number as text in the form in which a reader that made a number of it would name it: 1 for 1.0."""
    if not WHOLE.fullmatch(text):
        return text
    number = float(text)
    return repr(int(number) if number.is_integer() else number)


# Numbers


def plain(text: str) -> float | None:
    """The number that a text is as Python writes numbers; None for other text."""
    try:
        return None if "_" in text else float(text)  # Python allows underscores between digits
    except ValueError:
        return None


def number(text: str, sign: str) -> float | None:
    """The number that a text is with this decimal sign, perhaps with separated thousands; None for other text."""
    if not DIGITS[sign].fullmatch(text):
        return None
    digits = re.sub(rf"[{BLANKS}{',' if sign == '.' else '.'}]", "", text)
    return float(digits.replace(",", "."))


def numbers(cells: Collection[str], written: str) -> tuple[dict[str, float], str] | None:
    """What each cell is as a number, and the unit that they have; None where some are no numbers written so.

    ``written`` is the decimal sign, or "yes/no".
    """
    if written == YES_NO:
        return _yes_no(cells)
    values = {cell: plain(cell) for cell in cells} if written == "." else {}
    if values and None not in values.values():
        return values, ""  # type: ignore[return-value]
    units = {cell: _without_unit(cell) for cell in cells}
    values = {cell: number(digits, written) for cell, (digits, _) in units.items()}
    found = {unit for _, unit in units.values()}
    if None in values.values() or len(found - {""}) > 1 or found == {"", "%"}:
        return None
    return values, max(found, default="")  # type: ignore[return-value]


def _yes_no(cells: Collection[str]) -> tuple[dict[str, float], str] | None:
    words = {cell.casefold() for cell in cells}
    if any(words <= set(pair) for pair in PAIRS):
        return {cell: YES[cell.casefold()] for cell in cells}, ""
    return None


def _without_unit(cell: str) -> tuple[str, str]:
    """The digits of a cell, and its currency or per cent sign."""
    found = UNIT.fullmatch(cell) if len(cell) <= LONGEST_NUMBER else None
    if found is None or (found["before"] and found["after"]):
        return cell, ""
    return found["sign"] + found["number"].strip(BLANKS), found["before"] or found["after"] or ""


def is_like_a_number(cell: str) -> bool:
    return any(numbers([cell], sign) is not None for sign in DIGITS)


# Dates


def format_of(cells: Collection[str]) -> str | None:
    """The first of the known formats that all of the cells have; None where there is none."""
    first = next(iter(cells))
    return next((form for form in FORMATS if _fits([first], form) and _fits(cells, form)), None)


def _fits(cells: Collection[str], form: str) -> bool:
    try:
        return all(parsed(cell, form) is not None for cell in cells)
    except ValueError:
        return False


def parsed(cell: str, form: str) -> datetime:
    """The date that a text in this format is. Raise a ValueError for other text."""
    if form != ISO:
        return datetime.strptime(cell, form)
    if len(cell) < len("2024-01-01") or not cell[4] == "-" == cell[7]:  # a number such as 20240101 is not a date
        raise ValueError(f"{cell!r} is no date")
    return _naive(datetime.fromisoformat(cell))


def days(dates: np.ndarray) -> np.ndarray:
    """Dates of ``datetime64`` as days since 1970, with the time of the day as a fraction; NaN where there is none."""
    microseconds = dates.astype("datetime64[us]").astype(np.int64) / 1e6
    return np.where(np.isnat(dates), np.nan, microseconds / 86_400)
