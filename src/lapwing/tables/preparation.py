"""The transformer that turns the columns of a table into numbers and categories."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._extras import require
from .._validation import caller_stacklevel
from .cells import ISO, YES_NO, as_named, cells_of, days, format_of, is_like_a_number, numbers, parsed, plain

MOST_CATEGORIES = 50  # text with more different values is left out, unless it is asked for
LONG_TEXT = 40  # text that is longer than this on average is prose and not a name
SHOWN_CELLS = 3  # a message shows this many cells
SHOWN_COLUMNS = 12  # a message names this many columns
SENTINELS = (-99999, -9999, -999, -99, 999, 9999, 99999)  # numbers that often mark missing values
INDEX = frozenset(["", "Unnamed: 0", "__index_level_0__"])  # what pandas calls the column of an index
ROW_NAMES = re.compile(  # Names of columns that name rows, such as id, customer_id, invoice-no and customerId.
    r"(?i:id|idx|index|row|row_?id|uid|uuid|guid)|.*[_\W](?i:id|idx|index|key|no|nr|number|uid|uuid|guid)|.*[a-z](Id|ID|Key|No|Nr)"
)
NAMES_ROWS = "names the rows"
REFUSALS = {"category": "text (--no-one-hot)", "date": "dates (--no-dates)", "gap": "missing values (--no-impute)"}


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

    It takes data frames of pandas and polars, tables of pyarrow, dictionaries of columns, and arrays. Columns may be text or
    have types: the same cells give the same numbers. ``fit`` decides what each column holds, from its cells and its name:

    - **Numbers**, also with blanks around them, separated thousands (``3,160``), a decimal comma (``1.234,50``), and a currency
      or per cent sign (``€78.37``, ``71.7%``). Yes and no, true and false become 1 and 0.
    - **Dates** become days since 1970, with the time of the day as a fraction. Text is read in the usual formats
      (``2024-03-01``, ``2024-03-01T12:30``, ``01.03.2024``, ``03/01/2024``, ``1 Mar 2024``), one format per column. Where two
      formats fit, the month stands first.
    - **Categories** are text of at most 50 different values, without the blanks around it.
    - Columns that cannot help are left out: those that name rows, prose, text that is the same everywhere, empty columns.

    Gaps are blank cells and marks such as ``NA``, ``n/a``, ``null`` and ``?``; they become NaN, and ``""`` in categories. A
    column that is mostly numbers, with words among them, is refused, and so is one whose dates are written in two ways.
    scikit-learn's ``SimpleImputer``, ``OneHotEncoder`` and scalers come after it; :func:`prepare` puts all of them together.

    Parameters
    ----------
    categories : sequence of str, default=()
        Columns whose values are names, though they may be numbers, or more than 50.
    missing : sequence of (str or number), default=()
        Marks of missing values in this table, such as ``-999``, beside the usual ones.
    decimal : {".", ","} or None, default=None
        The decimal sign of numbers as text. None looks at all columns: ``1,234`` is 1234, unless another column has a decimal
        comma.
    refuse : sequence of {"category", "date", "gap"}, default=()
        What is an error here, also in later rows.

    Attributes
    ----------
    columns_ : dict of str to dict
        For each column that is used its ``kind``, which is ``"number"``, ``"date"`` or ``"category"``; how it is ``written``: a
        decimal sign, ``"yes/no"``, a format of dates, or None where cells were no text; the ``unit`` of numbers; and the
        ``known`` categories.
    left_out_ : dict of str to str
        For each column that is not used the reason.
    n_gaps_ : int
        How many cells of the columns that are used were missing.
    n_features_in_ : int
        The number of columns that are used; of an array, of all columns.
    feature_names_in_ : ndarray of str
        The names of the columns that are used, where they have names. Later tables need these, in any order.

    Warns
    -----
    UnseenCategories
        Once per ``transform``, with the number of rows that have categories which ``fit`` never saw.
    UserWarning
        In ``fit``, for what only the author of a table can know: numbers that look like marks of missing values, text with
        numbers in it, and numbers such as ``1,234`` which may have a decimal comma.

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
        missing: Sequence[str | float] = (),
        decimal: str | None = None,
        refuse: Sequence[str] = (),
    ):
        self.categories = categories
        self.missing = missing
        self.decimal = decimal
        self.refuse = refuse

    def fit(self, X: Any, y: Any = None) -> Preparation:
        """Decide what each column holds.

        Parameters
        ----------
        X : data frame, table, dict of columns, or array-like of shape (n_samples, n_features)
            The rows.
        y : ignored
            It takes no part; scikit-learn passes it.
        """
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"decimal={self.decimal!r} must be '.', ',' or None")
        if odd := set(self.refuse) - set(REFUSALS):
            raise ValueError(f"refuse={sorted(odd)} must be among {', '.join(map(repr, REFUSALS))}")
        given, named = _columns(X)
        cells, bad = {}, {}
        for name, column in given.items():
            try:
                cells[name] = cells_of(column, self._marks(), name in self.categories)
            except TypeError as error:
                bad[name] = str(error)
        counts = {name: _counts(values) for name, values in cells.items() if values.dtype == object}
        decimal = self.decimal or _decimal_of(counts.values())
        columns = {name: self._recognised(name, cells[name], counts.get(name), decimal) for name in cells}
        bad |= {name: _why_neither(cells[name]) for name, column in columns.items() if column["kind"] == "neither"}
        typed = {name: typed_values(cells[name], column, name) for name, column in columns.items() if name not in bad}
        for name, values in typed.items():
            if values.dtype != object and np.isinf(values).any():
                bad[name] = f"a value is infinite (the first in row {int(np.argmax(np.isinf(values))) + 1})"
        if bad:
            raise ValueError(_unreadable({name: bad[name] for name in given if name in bad}))
        self.left_out_ = {
            name: reason
            for name, values in typed.items()
            if name not in self.categories and (reason := _why_useless(name, columns[name], values, named))
        }
        used = {name: values for name, values in typed.items() if name not in self.left_out_}
        if not used:
            why = reasons(self.left_out_)
            raise ValueError(f"no column is left to project: {why}; --categories takes a column all the same")
        self.columns_ = {name: columns[name] for name in used}
        gaps = {name: int(_gaps(values).sum()) for name, values in used.items()}
        self._check_refused([name for name, count in gaps.items() if count])
        self.n_gaps_ = sum(gaps.values())
        doubts = [_doubt(name, columns[name], used[name], counts) for name in used if name not in self.categories]
        if any(doubts):
            warnings.warn(
                "the table does not say what these are; numbers that mark missing values are taken for numbers unless "
                f"missing= (--missing) names them: {'; '.join(filter(None, doubts))}",
                UserWarning,
                stacklevel=caller_stacklevel(),
            )
        self.n_features_in_ = len(self.columns_) if named else len(given)
        if named:
            self.feature_names_in_ = np.array(list(self.columns_), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        return self

    def _marks(self) -> frozenset[str]:
        return frozenset(form for mark in self.missing for form in (str(mark).strip(), as_named(str(mark).strip())))

    def _recognised(self, name: str, values: np.ndarray, counts: Counter[str] | None, decimal: str) -> dict[str, Any]:
        """What a column holds. The kind is "neither" where that cannot be said."""
        if counts is None:
            return {"kind": "date", "written": None} if values.dtype.kind == "M" else number_column(None)
        if name in self.categories:
            named = all(plain(cell) is not None for cell in counts)
            known = sorted({as_named(cell) if named else cell for cell in counts})
            return {"kind": "category", "written": "numbers" if named else None, "known": known}
        if not counts:
            return number_column(None)  # an empty column
        words = {cell.casefold() for cell in counts}
        pair = [YES_NO] if len(words) == 2 or words <= {"true", "false"} else []
        first = "." if self.decimal is None and all(plain(cell) is not None for cell in counts) else decimal
        for written in dict.fromkeys((first, ".", ",", *pair)):
            if read := numbers(counts, written):
                return number_column(written, read[1])
        form = format_of(counts)
        if form is not None:
            return {"kind": "date", "written": form}
        if 2 * _like_numbers(counts) > counts.total() or all(format_of([cell]) for cell in counts):
            return {"kind": "neither"}
        return {"kind": "category", "written": None, "known": sorted(counts)}

    def _check_refused(self, with_gaps: list[str]) -> None:
        """Raise one error for all columns that hold what is refused."""
        kinds = {name: column["kind"] for name, column in self.columns_.items()}
        bad = {what: [name for name in kinds if kinds[name] == what] for what in REFUSALS} | {"gap": with_gaps}
        bad = {what: names for what, names in bad.items() if what in self.refuse and names}
        if bad:
            every = dict.fromkeys(name for names in bad.values() for name in names)
            said = "; ".join(f"{listed(names)} with {REFUSALS[what]}" for what, names in bad.items())
            raise ValueError(f"{said}; change the switch, or leave them out (--drop '{','.join(every)}')")

    def transform(self, X: Any) -> np.ndarray:
        """The columns that are used, as numbers and categories.

        Parameters
        ----------
        X : data frame, table, dict of columns, or array-like of shape (n_samples, n_features)
            Columns are found by their names, and others may be beside them. Those of an array are those that were fitted.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Of floats where there are no categories, else of objects: floats, with NaN where they are missing, and text, which is
            ``""`` where it is missing.
        """
        return stacked(list(self._values(X).values()))

    def to_frame(self, X: Any) -> Any:
        """What :meth:`transform` gives, as a pandas DataFrame whose columns have types: float64, or text.

        These are the inputs of the model that :func:`lapwing.to_onnx` writes.
        """
        return require("pandas", "tables").DataFrame(self._values(X))

    def inputs(self) -> dict[str, str]:
        """What each column of :meth:`to_frame` holds, in words, for programs that make these columns themselves."""
        check_is_fitted(self)
        return {name: _in_words(column) for name, column in self.columns_.items()}

    def _values(self, X: Any) -> dict[str, np.ndarray]:
        check_is_fitted(self)
        given, named = _columns(X)
        if named and hasattr(self, "feature_names_in_"):
            if missing := [name for name in self.columns_ if name not in given]:
                raise ValueError(
                    f"no {listed(missing)}, on which the model was fitted; there are {listed(list(given))}"
                )
        elif len(given) != self.n_features_in_:
            raise ValueError(f"X has {len(given)} columns, but Preparation was fitted with {self.n_features_in_}")
        else:  # by their places
            given = dict(zip(getattr(self, "feature_names_in_", given), given.values(), strict=True))
        cells = {}
        for name, column in self.columns_.items():
            try:
                cells[name] = cells_of(given[name], self._marks(), column["kind"] == "category")
            except TypeError as error:
                raise ValueError(f"column {name!r}: {error}") from error
        decimal = self.decimal or _decimal_of(_counts(own) for own in cells.values() if own.dtype == object)
        values, unseen = {}, {}
        for name, column in self.columns_.items():
            values[name] = typed_values(cells[name], column, name, decimal)
            if "gap" in self.refuse and (gaps := _gaps(values[name])).any():
                raise ValueError(
                    f"column {name!r}: a value is missing (the first in row {int(np.argmax(gaps)) + 1}), and the model was "
                    "fitted with --no-impute; fill in or remove such rows"
                )
            if column["kind"] == "category" and (new := _unseen(values[name], column["known"])):
                unseen[name] = new
        if unseen:
            warnings.warn(UnseenCategories(unseen), stacklevel=caller_stacklevel())
        return values

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns that are used.

        Parameters
        ----------
        input_features : ignored
            The names are those that were fitted.
        """
        check_is_fitted(self)
        return np.array(list(self.columns_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.no_validation = True
        return tags


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names of columns in a message."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"column{'s' if len(names) > 1 else ''} " + ", ".join(map(repr, names[:most])) + more


def _columns(X: Any) -> tuple[dict[str, Any], bool]:
    """The columns by name, and whether the names are theirs or numbers that stand for their places."""
    if hasattr(X, "column_names"):  # a table of pyarrow, which is slow at looking up one of many names
        keys, columns = X.column_names, X.columns
    else:
        keys, columns = list(X if isinstance(X, Mapping) else getattr(X, "columns", ())), None
    if not keys:
        X = X if hasattr(X, "dtype") else np.array(X, dtype=object)
        if getattr(X, "ndim", 0) != 2 or not isinstance(X, np.ndarray):
            raise ValueError(
                f"X of {type(X).__name__} and shape {np.shape(X)} must have rows and columns, as a table has"
            )
        return {str(j): column for j, column in enumerate(X.T)}, False
    names = [str(key) for key in keys]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ValueError(f"{listed(twice)} more than once; give columns different names")
    return dict(zip(names, columns or (X[key] for key in keys), strict=True)), True


def _in_words(column: dict[str, Any]) -> str:
    if column["kind"] == "category":
        return "text, '' where missing"
    number = f"number in {column['unit']}" if column.get("unit") else "number"
    other = {"date": "days since 1970-01-01", YES_NO: "1 for yes, 0 for no"}
    return f"{other.get(column['kind'], other.get(column['written'], number))}, NaN where missing"


def number_column(written: str | None, unit: str = "") -> dict[str, Any]:
    return {"kind": "number", "written": written, "unit": unit}


def _counts(values: np.ndarray) -> Counter[str]:
    return Counter(cell for cell in values.tolist() if cell is not None)


def _decimal_of(columns: Iterable[Counter[str]]) -> str:
    """The decimal sign of a table: a comma where a column has numbers that can be read only so."""
    return "," if any(counts and not numbers(counts, ".") and numbers(counts, ",") for counts in columns) else "."


def _like_numbers(counts: Counter[str]) -> int:
    return sum(count for cell, count in counts.items() if is_like_a_number(cell))


def _gaps(values: np.ndarray) -> np.ndarray:
    return values == "" if values.dtype == object else np.isnan(values)


def stacked(columns: list[np.ndarray]) -> np.ndarray:
    types = {column.dtype for column in columns}
    X = np.empty((len(columns[0]), len(columns)), dtype=object if np.dtype(object) in types else np.result_type(*types))
    for j, column in enumerate(columns):
        X[:, j] = column
    return X


# The values of a column


def typed_values(cells: np.ndarray, column: dict[str, Any], name: str, decimal: str = ".") -> np.ndarray:
    """The cells as floats, or as names of categories. ``decimal`` is the sign of the table, where the column has learnt none."""
    if column["kind"] == "category":
        named = as_named if column["written"] == "numbers" else str
        names = {cell: "" if cell is None else named(cell) for cell in set(cells.tolist())}
        return np.array([names[cell] for cell in cells.tolist()], dtype=object)
    if column["kind"] == "date":
        return _days(cells, column["written"], name)
    if cells.dtype.kind == "M":
        raise ValueError(f"column {name!r} holds dates, and numbers when the model was fitted")
    return cells if cells.dtype.kind == "f" else _numbers(cells, column, name, decimal)


def _numbers(cells: np.ndarray, column: dict[str, Any], name: str, decimal: str) -> np.ndarray:
    counts, learnt = _counts(cells), column["written"]
    first = learnt or ("." if all(plain(cell) is not None for cell in counts) else decimal)
    for written in dict.fromkeys((first, ".", ",", YES_NO)):
        if not (found := numbers(counts, written)):
            continue
        values, unit = found
        if unit and column["unit"] and unit != column["unit"]:
            raise ValueError(f"column {name!r} is in {unit}, and was in {column['unit']} when the model was fitted")
        if learnt not in (None, written) and YES_NO not in (learnt, written):
            warnings.warn(
                f"column {name!r} has {written!r} as its decimal sign, and had {learnt!r} when the model was fitted",
                UserWarning,
                stacklevel=caller_stacklevel(),
            )
        return np.array([values.get(cell, np.nan) for cell in cells.tolist()], dtype=np.float64)
    # Where there are no words, numbers are written in two ways.
    odd = {cell for cell in counts if not is_like_a_number(cell)} or counts.keys()
    row, cell = next((row, cell) for row, cell in enumerate(cells.tolist()) if cell in odd)
    raise ValueError(f"column {name!r}: {cell!r} in row {row + 1} is not a number, as the model takes; correct it")


def _days(cells: np.ndarray, form: str | None, name: str) -> np.ndarray:
    if cells.dtype.kind == "f" and not np.isnan(cells).all():
        raise ValueError(f"column {name!r} holds numbers, and dates when the model was fitted")
    if cells.dtype.kind == "M" or cells.dtype.kind == "f":
        return days(cells) if cells.dtype.kind == "M" else cells
    counts = _counts(cells)
    form = form or (format_of(counts) if counts else None) or ISO
    dates = {}
    for row, cell in enumerate(cells.tolist()):
        if cell is not None and cell not in dates:
            try:
                dates[cell] = parsed(cell, form)
            except ValueError as error:
                said = f"column {name!r}: {cell!r} in row {row + 1} is no date of the format {form} that was fitted"
                raise ValueError(said) from error
    return days(np.array([dates.get(cell) for cell in cells.tolist()], dtype="datetime64[us]"))


def _unseen(values: np.ndarray, known: Sequence[str]) -> Counter[str]:
    new = set(values.tolist()) - set(known) - {""}
    return Counter(cell for cell in values.tolist() if cell in new) if new else Counter()


# What is said of columns


def _why_useless(name: str, column: dict[str, Any], values: np.ndarray, named: bool) -> str | None:
    present = values[~_gaps(values)]
    is_full = len(present) == len(values)
    if column["kind"] == "category":
        different = len(column["known"])
        if different > min(MOST_CATEGORIES, max(2, len(present) / 2)):
            prose = sum(map(len, present)) > LONG_TEXT * len(present)
            unique = different == len(present) and not prose
            return NAMES_ROWS if unique else f"{'free text' if prose else 'text'}, {different:,} different values"
        return "the same everywhere" if different + (not is_full) < 2 else None
    if not named:
        return None  # so that the columns of arrays keep their places
    if not present.size:
        return "empty"
    may_number_rows = (
        column["kind"] == "number" and is_full and (name in INDEX or ROW_NAMES.fullmatch(name) is not None)
    )
    is_unique = may_number_rows and (present == np.round(present)).all() and np.unique(present).size == present.size
    return NAMES_ROWS if is_unique else None


def _why_neither(cells: np.ndarray) -> str:
    counts = _counts(cells)
    if all(format_of([cell]) for cell in counts):
        ways = list({format_of([cell]): cell for cell in counts}.values())
        return f"dates are written in more than one way, such as {ways[0]!r} and {ways[1]!r}"
    odd = Counter({cell: count for cell, count in counts.items() if not is_like_a_number(cell)})
    if not odd:
        return f"numbers are written in more than one way, or in more than one unit, such as {_some(counts)}"
    first = next(row for row, cell in enumerate(cells.tolist()) if cell in odd)
    like = counts.total() - odd.total()
    return f"{like:,} of {counts.total():,} values are numbers, but not {_some(odd)} (the first in row {first + 1})"


def _some(counts: Counter[str]) -> str:
    shown = ", ".join(repr(cell) for cell, _ in counts.most_common(SHOWN_CELLS))
    return shown + (", ..." if len(counts) > SHOWN_CELLS else "")


def _unreadable(bad: dict[str, str]) -> str:
    columns = "; ".join(f"{name!r}: {why}" for name, why in bad.items())
    those, them = ("these columns", "them") if len(bad) > 1 else ("this column", "it")
    names = ",".join(f'"{name}"' if "," in name else name for name in bad)
    return (
        f"{those} cannot be read as numbers, dates or text: {columns}; correct {them}, leave {them} out "
        f"(--drop {names!r}), or read {them} as categories (--categories {names!r})"
    )


def reasons(why: dict[str, str]) -> str:
    more = f" and {len(why) - SHOWN_COLUMNS} more" if len(why) > SHOWN_COLUMNS else ""
    return ", ".join(f"{name!r} ({reason})" for name, reason in list(why.items())[:SHOWN_COLUMNS]) + more


def _doubt(name: str, column: dict[str, Any], values: np.ndarray, counts: dict[str, Counter[str]]) -> str:
    """What only the author of the table can know of a column; blank where nothing is in doubt."""
    if column["kind"] == "number" and (mark := _sentinel(values)) is not None:
        rows = int((values == mark).sum())
        return f"column {name!r}: {mark} stands in {rows:,} rows, far from all other values (missing=[{mark}])"
    if column["kind"] == "category" and (like := _like_numbers(counts[name])):
        return f"column {name!r}: {like:,} of {counts[name].total():,} values are numbers; it is read as text"
    return ""


def _sentinel(values: np.ndarray) -> int | None:
    """A usual mark of missing values that stands in several rows, farther from all others than these are from each other."""
    present = values[~np.isnan(values)]
    for mark in SENTINELS:
        others = present[present != mark]
        if len(present) - len(others) < 2 or not others.size:
            continue
        if np.abs(others - mark).min() > max(np.ptp(others), 1.0):
            return mark
    return None
