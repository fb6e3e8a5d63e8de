"""How the cells of a column are read: as gaps, numbers, yes and no, dates, or names of categories."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import product
from numbers import Number
from typing import Any

import numpy as np

from .._extras import require

#: How tables write that a value is missing; pandas reads nearly all of these as gaps, too.
MISSING = frozenset(
    {"", "-", "--", "?", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "n/a", "-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"}
    | {"NA", "na", "NaN", "nan", "-NaN", "-nan", "NaT", "None", "none", "NULL", "Null", "null"}
)
BLANKS = " \u00a0\u202f'’"  # what may stand between thousands, beside commas and points
LONGEST_NUMBER = 60  # characters; longer text is no number with separators or a unit
WHOLE = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")  # a number as people name categories by; 007 is another name than 7
CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|AUD|CAD"
NUMBERS = {
    sign: re.compile(
        rf"(?P<sign>[+-])?\s*(?P<before>{CURRENCY})?\s*(?P<own>(?(sign)|[+-]?))(?=[{sign}]?\d)"
        rf"(?P<digits>(?:[1-9]\d{{0,2}}(?P<gap>[{group}{BLANKS}])\d{{3}}(?:(?P=gap)\d{{3}})*|\d*)"
        rf"(?:[{sign}]\d*)?(?:[eE][+-]?\d+)?)\s*(?P<after>(?(before)|(?:{CURRENCY}|%)?))"
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
DATES = (ISO, *(day + clock for clock, day in product(TIMES, (*DAYS, *WORDS))))
MICROSECONDS = 86_400e6  # of a day


def cells_of(column: Any, marks: Collection[str] = (), as_text: bool = False) -> np.ndarray:
    """A column of any library as floats, as ``datetime64[us]``, or as text with None for gaps.

    ``marks`` mean missing values beside the usual ones; ``as_text`` names numbers and dates, too, as categories are named.
    """
    values = values_of(column if as_text else _numbers_of_arrow(column, marks))
    numbers = [value for mark in marks if (value := plain(mark)) is not None]
    if values.dtype.kind in "biuf" and not as_text:
        floats = values.astype(np.float32 if values.dtype in (np.float16, np.float32) else np.float64)
        return np.where(np.isin(floats, numbers), floats.dtype.type(np.nan), floats) if numbers else floats
    cells = (values.astype(f"{values.dtype.kind}8[us]") if values.dtype.kind in "mM" else values).tolist()
    try:
        known = {cell: _cell(cell, marks) for cell in set(cells)}
    except TypeError as error:
        raise ValueError("holds lists or records") from error
    kinds = {type(cell) for cell in known.values()} - {type(None)}
    if not as_text and (kinds == {datetime} or values.dtype.kind == "M"):
        return np.array([known[cell] for cell in cells], dtype="datetime64[us]")
    if not as_text and kinds == {float}:
        return cells_of(np.array([known[cell] for cell in cells], dtype=np.float64), marks)
    texts = {cell: _name(cell, plain, marks) for cell, plain in known.items()}
    return np.array([texts[cell] for cell in cells], dtype=object)


def values_of(column: Any) -> np.ndarray:
    """A column of any library as an array. Rows that have the same word of an Arrow dictionary share one object."""
    if not hasattr(getattr(column, "type", None), "index_type"):
        return np.asarray(column)
    column = column.combine_chunks() if hasattr(column, "chunks") else column
    words = np.array([*column.dictionary.to_pylist(), None], dtype=object)
    return words[column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)]


def _numbers_of_arrow(column: Any, marks: Collection[str]) -> Any:
    """A column of text of Arrow as floats, where all cells are plain numbers or gaps; other columns as they are."""
    if str(getattr(column, "type", "")) not in ("string", "large_string"):
        return column
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    text = compute.utf8_trim_whitespace(column)
    is_gap = compute.is_in(text, pa.array(sorted(MISSING.union(marks)), column.type))
    try:
        return compute.if_else(is_gap, None, text).cast(pa.float64())
    except pa.ArrowInvalid:
        return column


def _cell(cell: Any, marks: Collection[str]) -> str | float | datetime | None:
    """A cell as text, number or date of Python, which is in UTC where it had a time zone; None where it is missing."""
    if isinstance(cell, str):
        text = cell.strip()
        return None if text in MISSING or text in marks else text
    if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
        return None
    if isinstance(cell, timedelta):
        return cell / timedelta(days=1)
    if isinstance(cell, date):
        return _moment(cell.isoformat())
    return float(cell) if isinstance(cell, Number | np.bool_) else str(cell)  # type: ignore[arg-type]


def _moment(text: str) -> datetime:
    """A date of ISO 8601, in UTC where it has a time zone."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _name(cell: Any, plain: Any, marks: Collection[str]) -> str | None:
    """The name of a category. Numbers are named as people write them, and dates as ISO 8601."""
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    if isinstance(plain, float):
        name = repr(int(plain) if plain.is_integer() else plain)
        return None if name in marks else name
    return plain.isoformat(" ").removesuffix(" 00:00:00") if isinstance(plain, datetime) else plain


def as_named(text: str) -> str:
    """A number as text in the form in which a reader that made a number of it would name it: 1 for 1.0."""
    return repr(int(value) if (value := float(text)).is_integer() else value) if WHOLE.fullmatch(text) else text


# What text means


def meanings(cells: Collection[str], ways: Iterable[str]) -> tuple[dict[str, float], str, str] | None:
    """What each cell is as a number, the unit that they have, and the first of some ways in which all of them are written.

    A way is a decimal sign, "yes/no", or a format of dates, which are days since 1970. None where there is no such way.
    """
    return next(((*found, way) for way in dict.fromkeys(ways) if (found := _meanings(cells, way))), None)


def _meanings(cells: Collection[str], way: str) -> tuple[dict[str, float], str] | None:
    if way == YES_NO:
        words = {cell.casefold() for cell in cells}
        return ({cell: YES[cell.casefold()] for cell in cells}, "") if any(words <= {*pair} for pair in PAIRS) else None
    found, units = {}, set()
    for cell in cells:
        meaning = number(cell, way) if way in NUMBERS else _date(cell, way)
        if meaning is None:
            return None
        found[cell], unit = meaning
        units.add(unit)
    return None if len(units - {""}) > 1 or units == {"", "%"} else (found, max(units, default=""))


def plain(text: str) -> float | None:
    """The number that a text is as Python writes numbers; None for other text."""
    try:
        return None if "_" in text else float(text)  # Python allows underscores between digits
    except ValueError:
        return None


def number(text: str, sign: str) -> tuple[float, str] | None:
    """The number that a text is with this decimal sign, and its unit, such as € and %; None for other text."""
    if sign == "." and (value := plain(text)) is not None:
        return value, ""
    found = NUMBERS[sign].fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    if found is None:
        return None
    digits = re.sub(rf"[{BLANKS}{',' if sign == '.' else '.'}]", "", found["digits"]).replace(",", ".")
    return float((found["sign"] or found["own"]) + digits), found["before"] or found["after"]


def is_like_a_number(cell: str) -> bool:
    return any(number(cell, sign) for sign in NUMBERS)


def _date(cell: str, form: str) -> tuple[float, str] | None:
    """The days since 1970 of a date in this format, which has no unit; None for other text."""
    try:
        if form != ISO:
            moment = datetime.strptime(cell, form)
        elif re.match(r"\d{4}-\d\d-\d\d", cell):  # a number such as 20240101 is not a date
            moment = _moment(cell)
        else:
            return None
    except ValueError:
        return None
    return (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) / MICROSECONDS, ""


def days(dates: np.ndarray) -> np.ndarray:
    """Dates of ``datetime64`` as days since 1970, with the time of the day as a fraction; NaN where there is none."""
    return np.where(np.isnat(dates), np.nan, dates.astype("datetime64[us]").astype(np.int64) / MICROSECONDS)
