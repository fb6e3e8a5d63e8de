"""The transformer that turns the columns of a table into numbers and categories, and how it reads their cells."""

from __future__ import annotations

import re
import shlex
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import product
from numbers import Number
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._extras import require
from .._validation import caller_stacklevel

MOST_CATEGORIES = 50  # text with more different values is left out, unless it is asked for
LONG_TEXT = 40  # text that is longer than this on average is prose and not a name
SHOWN_CELLS, SHOWN_COLUMNS = 3, 12  # so many are named in a message
SENTINELS = (-99999, -9999, -999, -99, 999, 9999, 99999)  # numbers that often mark missing values
FAR = 10  # times the range of all other values: a single value that is farther from them is named
OUTLIERS = 0.01  # of the values of a column are outliers at most
MISTAKES, DIFFERENT = 10, 0.05  # more different words, and a larger share, among numbers are no mistakes: it is text
INDEX = frozenset(["", "Unnamed: 0", "__index_level_0__"])  # what pandas calls the column of an index
ROW_NAMES = re.compile(  # Names of columns that name rows, such as id, customer_id, invoice-no and customerId.
    r"(?i:id|idx|index|row|row_?id|uid|uuid|guid)|.*[_\W](?i:id|idx|index|key|no|nr|number|uid|uuid|guid)|.*[a-z](Id|ID|Key|No|Nr)"
)
NAMES_ROWS = "names the rows"
NUMBER = {"kind": "number", "written": None, "unit": ""}
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


class UnseenCategories(UserWarning):
    """Rows have categories that were not there when a :class:`Preparation` was fitted.

    Attributes
    ----------
    counts : dict of str to Counter
        For each column how many rows have which new value.

    Examples
    --------
    >>> import warnings
    >>> from lapwing.tables import Preparation
    >>> preparation = Preparation().fit({"town": ["Ayr", "Bute", "Ayr", "Bute"]})
    >>> with warnings.catch_warnings(record=True, action="always") as told:
    ...     X = preparation.transform({"town": ["Ayr", "Coll"]})
    >>> told[0].message.counts
    {'town': Counter({'Coll': 1})}
    """

    def __init__(self, counts: dict[str, Counter[str]]):
        self.counts = counts
        columns = "; ".join(
            f"{name!r} in {n.total():,} row{'s' * (n.total() != 1)}: {_some(n)}" for name, n in counts.items()
        )
        super().__init__(f"values that the model does not know count as none of those that it knows: {columns}")


class Preparation(TransformerMixin, BaseEstimator):
    """Turns the columns of a table into numbers and categories, however the table was read.

    It takes data frames of pandas and polars, tables of pyarrow, and dictionaries of columns. Columns may be text or have
    types: the same cells give the same numbers. ``fit`` decides what each column holds, from its cells and its name:

    - **Numbers**, also with blanks around them, separated thousands (``3,160``), a decimal comma (``1.234,50``), and a currency
      or per cent sign (``€78.37``, ``71.7%``). ``1,234`` is 1234, unless another column has a decimal comma. Yes and no, true
      and false become 1 and 0.
    - **Dates** become days since 1970, with the time of the day as a fraction, and durations days. Text is read in the usual
      formats (``2024-03-01``, ``2024-03-01T12:30``, ``01.03.2024``, ``03/01/2024``, ``1 Mar 2024``), one format per column. Where
      two formats fit, the month stands first.
    - **Categories** are text of at most 50 different values, without the blanks around it; Basic and BASIC are one.
    - Columns that cannot help are left out: those that name rows, prose, text that is the same everywhere, empty columns.

    Gaps are blank cells and marks such as ``NA``, ``n/a``, ``null`` and ``?``; they become NaN, and ``""`` in text. A column of
    numbers with a few words, or of dates in two formats, is refused. ``fit`` warns of numbers that look like marks of missing
    values or are far from all others, text with numbers in it, and categories in upper and lower case; ``transform``, once, of
    :class:`UnseenCategories`. :func:`prepare` puts scikit-learn's imputer, encoder and scaler after it.

    Parameters
    ----------
    categories : sequence of str, default=()
        Columns whose values are names, though they may be numbers, or more than 50.
    text : sequence of str, default=()
        Columns of sentences: their words are kept, in lower case and with one blank between them.
    match_case : bool, default=False
        Whether categories that differ only in upper and lower case are different.
    missing : sequence of (str or number), default=()
        Marks of missing values in this table, such as ``-999``, beside the usual ones.

    Attributes
    ----------
    columns_ : dict of str to dict
        For each column that is used its ``kind``, which is ``"number"``, ``"date"``, ``"category"`` or ``"text"``; how it is
        ``written``: a decimal sign, ``"yes/no"``, a format of dates, or None where cells were no text; the ``unit`` of numbers;
        and the ``known`` categories.
    left_out_ : dict of str to str
        For each column that is not used the reason.
    n_gaps_ : int
        How many cells of the columns that are used were missing.
    n_features_in_ : int
        The number of columns that are used.
    feature_names_in_ : ndarray of str
        The names of the columns that are used. Later tables need these, in any order, and may have others beside them.

    Examples
    --------
    >>> from lapwing.tables import Preparation
    >>> people = {"plan": ["basic ", "pro", ""], "pay": ["€3,160", "?", "€890.50"], "since": ["2024-03-01", "2024-05-02", None]}
    >>> preparation = Preparation(categories=["plan"]).fit(people)
    >>> preparation.transform(people)
    array([['basic', 3160.0, 19783.0],
           ['pro', nan, 19845.0],
           ['', 890.5, nan]], dtype=object)
    >>> preparation.columns_["pay"]
    {'kind': 'number', 'written': '.', 'unit': '€'}
    """

    def __init__(
        self,
        *,
        categories: Sequence[str] = (),
        text: Sequence[str] = (),
        match_case: bool = False,
        missing: Sequence[str | float] = (),
    ):
        self.categories = categories
        self.text = text
        self.match_case = match_case
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> Preparation:
        """Decide what each column of a data frame, table or dict of columns holds; ``y`` takes no part."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Decide what each column holds, and give the columns that are used, as :meth:`transform` does."""
        asked = {*self.categories, *self.text}
        cells = self._cells(_columns(X), asked)
        decimal = _decimal_of(cells)
        found = _each(cells, lambda name: self._fitted(name, cells[name], decimal), _unreadable)
        reason = {name: None if name in asked else _why_useless(name, *own) for name, own in found.items()}
        left_out = {name: why for name, why in reason.items() if why}
        columns, values = ({name: own[i] for name, own in found.items() if name not in left_out} for i in (0, 1))
        if not columns:
            remedy = "--categories or --text takes a column all the same"
            raise ValueError(f"no column is left to project: {reasons(left_out)}; {remedy}")
        self.columns_, self.left_out_, self.n_features_in_ = columns, left_out, len(columns)
        self.feature_names_in_ = np.array(list(columns), dtype=object)
        self.n_gaps_ = sum(int(gaps_of(own).sum()) for own in values.values())
        doubts = {name: _doubt(columns[name], values[name], cells[name]) for name in columns if name not in asked}
        if said := _told({name: doubt for name, doubt in doubts.items() if doubt}):
            what = f"the table does not say what these are: {said}"
            warnings.warn(what, UserWarning, stacklevel=caller_stacklevel())
        return np.column_stack([*values.values()])

    def transform(self, X: Any) -> np.ndarray:
        """The columns that are used, found by name: an array of floats, or, with categories, of objects: floats and text.

        Missing are NaN, and ``""`` in text.
        """
        return np.column_stack([*self._values(X).values()])

    def to_frame(self, X: Any) -> Any:
        """What :meth:`transform` gives as a pandas DataFrame of float64 and text: the inputs of :func:`lapwing.to_onnx`."""
        return require("pandas", "tables").DataFrame(self._values(X))

    def inputs(self) -> dict[str, str]:
        """What each column of :meth:`to_frame` holds, in words, for programs that make these columns themselves."""
        check_is_fitted(self)
        return {name: _in_words(column) for name, column in self.columns_.items()}

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that are used."""
        check_is_fitted(self)
        return self.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.no_validation = True
        return tags

    @property
    def _fold(self) -> Callable[[str], str]:
        """Gives the same for categories that are one."""
        return str if self.match_case else str.casefold

    def _cells(self, given: Mapping[str, Any], as_text: Collection[str]) -> dict[str, np.ndarray]:
        marks = {form for mark in self.missing for form in (str(mark).strip(), as_named(str(mark).strip()))}
        return _each(given, lambda name: cells_of(given[name], marks, name in as_text), _unreadable)

    def _fitted(self, name: str, cells: np.ndarray, decimal: str) -> tuple[dict[str, Any], np.ndarray]:
        """What a column holds, and its values. Categories that are one are known as they are written most often."""
        counts = _counts(cells)
        if name in self.text:
            if max(Counter(word for cell in cells for word in {*_words(cell).split()}).values(), default=0) < 2:
                raise ValueError("no word stands in two rows, so it is no text")
            column: dict[str, Any] = {"kind": "text", "written": None}
        elif name in self.categories:  # numbers are named as a reader would write them that made numbers of them
            written = "numbers" if _all_plain(counts) else None
            known = {as_named(cell) if written else cell for cell in counts}
            column = {"kind": "category", "written": written, "known": known}
        else:
            column = _kind(cells, counts, decimal)
        if column["kind"] == "category":
            often = sorted(column["known"], key=lambda name: (counts[name], name))
            column["known"] = sorted({self._fold(name): name for name in often}.values())
        return column, typed_values(cells, column, fold=self._fold)

    def _values(self, X: Any) -> dict[str, np.ndarray]:
        check_is_fitted(self)
        given = _columns(X)
        if missing := [name for name in self.columns_ if name not in given]:
            raise ValueError(f"no {listed(missing)}, on which the model was fitted; there are {listed([*given])}")
        words = [name for name, column in self.columns_.items() if column["kind"] in ("category", "text")]
        cells = self._cells({name: given[name] for name in self.columns_}, words)
        decimal, unseen = _decimal_of(cells), {}
        values = _each(cells, lambda name: typed_values(cells[name], self.columns_[name], decimal, self._fold), _told)
        for name in words:
            known = {*self.columns_[name].get("known", values[name]), ""}
            if new := Counter(cell for cell in values[name].tolist() if cell not in known):
                unseen[name] = new
        if unseen:
            warnings.warn(UnseenCategories(unseen), stacklevel=caller_stacklevel())
        return values


def plain_rows(table: Any, categories: Sequence[str] = ()) -> np.ndarray:
    """The columns of a table as numbers, and ``categories`` as text with NaN for gaps. One error names all that are neither."""
    given = _columns(table)

    def values(name: str) -> np.ndarray:
        cells = cells_of(given[name], as_text=name in categories)
        if name not in categories:
            return typed_values(cells, NUMBER)
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=object)

    def said(bad: dict[str, str]) -> str:
        return (
            f"{listed(bad)}: not numeric ({next(iter(bad.values()))}); name the label (--label) or the identifier (--id), leave "
            f"columns out (--drop {_joined(list(bad)[:8])}), or encode them as numbers, documents by TfidfVectorizer"
        )

    return np.column_stack([*_each(given, values, said).values()])


def _each(
    names: Iterable[str], function: Callable[[str], Any], said: Callable[[dict[str, str]], str]
) -> dict[str, Any]:
    """What a function gives for each column. One error tells of all columns for which it raises, as ``said`` words it."""
    found, bad = {}, {}
    for name in names:
        try:
            found[name] = function(name)
        except ValueError as error:
            bad[name] = str(error)
    if bad:
        raise ValueError(said(bad))
    return found


def _columns(X: Any) -> dict[str, Any]:
    """The columns by name."""
    if hasattr(X, "column_names"):  # a table of pyarrow, which is slow at looking up one of many names
        names, columns = X.column_names, X.columns
    else:
        keys = list(X if isinstance(X, Mapping) else getattr(X, "columns", ()))
        names, columns = [str(key) for key in keys], [X[key] for key in keys]
    if not names:
        raise ValueError(f"X of {type(X).__name__} has no columns with names; pass a data frame, or a dict of columns")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{listed(twice)} more than once; give columns different names")
    return dict(zip(names, columns, strict=True))


# What a column holds


def _counts(cells: np.ndarray) -> Counter[str]:
    return Counter(cell for cell in cells.tolist() if cell is not None) if cells.dtype == object else Counter()


def _all_plain(counts: Collection[str]) -> bool:
    return all(plain(cell) is not None for cell in counts)


def _decimal_of(cells: Mapping[str, np.ndarray]) -> str:
    """The decimal sign of a table: a comma where a column has numbers that can be read only so."""
    columns = filter(None, map(_counts, cells.values()))
    return "," if any((meanings(counts, ".,") or ".")[-1] == "," for counts in columns) else "."


def _kind(cells: np.ndarray, counts: Counter[str], decimal: str) -> dict[str, Any]:
    """What a column holds: numbers, dates or categories. Raise where that cannot be said."""
    if cells.dtype.kind == "M":
        return {"kind": "date", "written": None}
    if not counts:  # numbers, or nothing at all
        return dict(NUMBER)
    words = {cell.casefold() for cell in counts}
    yes_no = [YES_NO] if len(words) == 2 or words <= {"true", "false"} else []
    if found := meanings(counts, ["." if _all_plain(counts) else decimal, ".", ",", *yes_no, *DATES]):
        _, unit, way = found
        return {"kind": "date", "written": way} if way in DATES else {**NUMBER, "written": way, "unit": unit}
    odd = Counter({cell: count for cell, count in counts.items() if not is_like_a_number(cell)})
    if not odd or all(meanings([cell], DATES) for cell in counts):
        what = "dates" if odd else "numbers"
        raise ValueError(f"{what} are written in more than one way, or in more than one unit, such as {_some(counts)}")
    if 2 * odd.total() < counts.total() and len(odd) <= max(MISTAKES, DIFFERENT * counts.total()):
        like = f"{counts.total() - odd.total():,} of {counts.total():,} values are numbers"
        raise ValueError(f"{like}, but not {_some(odd)} (the first in row {_first_row(cells, odd)})")
    return {"kind": "category", "written": None, "known": sorted(counts)}


def typed_values(
    cells: np.ndarray, column: dict[str, Any], decimal: str = ".", fold: Callable[[str], str] = str
) -> np.ndarray:
    """The cells as floats, or as names of categories. ``decimal`` is the sign of the table, where the column has learnt none."""
    kind, counts = column["kind"], _counts(cells)
    if kind in ("category", "text"):
        known = {fold(name): name for name in column.get("known", ())}
        names = {cell: as_named(cell) if column["written"] == "numbers" else cell for cell in counts}
        found = {cell: _words(cell) if kind == "text" else known.get(fold(name), name) for cell, name in names.items()}
        return np.array([found.get(cell, "") for cell in cells.tolist()], dtype=object)
    if cells.dtype == object:
        numbers = _read(cells, counts, column, decimal)
        values = np.array([numbers.get(cell, np.nan) for cell in cells.tolist()], dtype=np.float64)
    else:
        holds = "date" if cells.dtype.kind == "M" else "number"
        if holds != kind and (cells == cells).any():
            raise ValueError(f"it holds {holds}s, and {kind}s when the model was fitted")
        if holds == "date":  # days since 1970, with the time of the day as a fraction
            cells = np.where(np.isnat(cells), np.nan, cells.astype("datetime64[us]").astype(np.int64) / MICROSECONDS)
        values = cells
    if (infinite := np.isinf(values)).any():
        raise ValueError(f"a value is infinite (the first in row {int(np.argmax(infinite)) + 1})")
    return values


def _read(cells: np.ndarray, counts: Counter[str], column: dict[str, Any], decimal: str) -> dict[str, float]:
    """What each cell is as a number, or as a date."""
    is_date, written = column["kind"] == "date", column["written"]
    first = written or ("." if _all_plain(counts) else decimal)
    ways = ([written] if written else DATES) if is_date else [first, ".", ",", YES_NO]
    if (found := meanings(counts, ways)) is None:
        odd = [cell for cell in counts if not (meanings([cell], ways) if is_date else is_like_a_number(cell))] or counts
        row = _first_row(cells, odd)
        what = f"no date of the format {ways[0]} that was fitted" if is_date else "not a number, as the model takes"
        raise ValueError(f"{cells[row - 1]!r} in row {row} is {what}")
    values, unit, _ = found
    if unit and column["unit"] and unit != column["unit"]:
        raise ValueError(f"it is in {unit}, and was in {column['unit']} when the model was fitted")
    return values


def _words(cell: str | None) -> str:
    """The words of a text as scikit-learn finds them, so that any program can do so."""
    return " ".join(re.findall(r"\w\w+", (cell or "").lower()))


def gaps_of(values: np.ndarray) -> np.ndarray:
    return (values != values) | (values == "")


# What is said of columns


def shown(items: Collection[str], most: int = 8) -> str:
    """The first of many, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(list(items)[:most]) + more


def listed(names: Collection[str]) -> str:
    """Names of columns in a message."""
    return f"column{'s' if len(names) > 1 else ''} {shown([repr(name) for name in names])}"


def reasons(why: dict[str, str]) -> str:
    return shown([f"{name!r} ({reason})" for name, reason in why.items()], SHOWN_COLUMNS)


def _some(counts: Counter[str]) -> str:
    return shown([repr(cell) for cell, _ in counts.most_common()], SHOWN_CELLS)


def _first_row(cells: np.ndarray, odd: Collection[str]) -> int:
    return next(row for row, cell in enumerate(cells.tolist(), 1) if cell in odd)


def _in_words(column: dict[str, Any]) -> str:
    unit = f" in {column['unit']}" if column.get("unit") else ""
    return {
        "text": "words of two letters or more in lower case, with one blank between them",
        "category": "text, '' where missing",
        "date": "days since 1970-01-01, NaN where missing",
        "number": f"{'1 for yes, 0 for no' if column['written'] == YES_NO else f'number{unit}'}, NaN where missing",
    }[column["kind"]]


def _told(what: dict[str, str]) -> str:
    """What is said of each column."""
    return "; ".join(f"column {name!r}: {said}" for name, said in what.items())


def _joined(names: Iterable[str]) -> str:
    """Names of columns as the command line takes them."""
    return shlex.quote(",".join(f'"{name}"' if "," in name else name for name in names))


def _unreadable(bad: dict[str, str]) -> str:
    return (
        f"neither numbers, dates nor text: {_told(bad)}; correct these cells, leave the columns out "
        f"(--drop {_joined(bad)}), or read them as categories (--categories {_joined(bad)})"
    )


def _why_useless(name: str, column: dict[str, Any], values: np.ndarray) -> str | None:
    present = values[~gaps_of(values)]
    is_full, is_number = len(present) == len(values), column["kind"] == "number"
    if column["kind"] == "category":
        different = len(column["known"])
        if different > min(MOST_CATEGORIES, max(2, len(present) / 2)):
            prose = sum(map(len, present)) > LONG_TEXT * len(present)
            if different == len(present) and not prose:
                return NAMES_ROWS
            text = f"text, {different:,} different values"
            return f"free {text}; --text {shlex.quote(name)} uses it" if prose else text
        return "the same everywhere" if different + (not is_full) < 2 else None
    if not present.size:
        return "empty"
    may_name_rows = is_number and is_full and (name in INDEX or ROW_NAMES.fullmatch(name))
    return NAMES_ROWS if may_name_rows and (present % 1 == 0).all() and len(set(present)) == len(present) else None


def _doubt(column: dict[str, Any], values: np.ndarray, cells: np.ndarray) -> str:
    """What only the author of the table can know of a column; blank where nothing is in doubt."""
    if column["kind"] == "number" and (odd := _far_away(values[~np.isnan(values)])):
        marks, switches = ", ".join(odd), " ".join(f"--missing {value}" for value in odd)
        where = f"{marks} ({odd.total():,} of {len(cells):,} values), far from all others"
        return f"{where}; missing=[{marks}] ({switches}) makes gaps of them"
    counts = _counts(cells) if column["kind"] == "category" else Counter()
    if like := sum(count for cell, count in counts.items() if is_like_a_number(cell)):
        return f"{like:,} of {counts.total():,} values are numbers; it is read as text"
    if other := counts.keys() - column.get("known", ()):
        same = ", ".join(repr(cell) for cell in sorted(counts) if cell.casefold() == min(other).casefold())
        return f"{same} are taken for one category; match_case=True of Preparation keeps them apart"
    return ""


def _far_away(present: np.ndarray) -> Counter[str]:
    """Usual marks of missing values that are far from all other values, and how often they stand there; else few outliers."""
    for mark in SENTINELS:
        others = present[present != mark]
        repeated = len(present) - len(others)
        times = 1 if repeated > 1 else FAR
        if repeated and others.size >= times and np.abs(others - mark).min() > times * max(np.ptp(others), 1.0):
            return Counter({str(mark): repeated})
    most = max(1, int(OUTLIERS * len(present)))
    for sign in (1, -1):
        ordered = np.sort(sign * present)
        for first in range(max(len(ordered) - most, 1), len(ordered)):
            low, last = ordered[0], ordered[first - 1]
            # not the rare value of a column of few
            if ordered[first] - last > FAR * (last - low) and len(np.unique(ordered[:first])) > FAR:
                return Counter(repr(sign * float(value)).removesuffix(".0") for value in ordered[first:])
    return Counter()


# Cells


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
