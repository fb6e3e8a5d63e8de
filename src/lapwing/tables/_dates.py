"""Dates as numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

ISO = "ISO 8601"
DAYS = ("%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%d-%m-%Y", "%m-%d-%Y")
WORDS = ("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y")
TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p")
#: Where two formats fit all dates of a column, the first is taken. So the month stands first, as in 01/02/2024.
FORMATS = (ISO, *(day + time for time, day in product(TIMES, (*DAYS, *WORDS))))
EPOCH = datetime(1970, 1, 1)
SECONDS = 86_400.0  # seconds per day


def format_of(cells: Collection[str]) -> str | None:
    """The first of the known formats that all of the cells have; None where there is none."""
    first = next(iter(cells))
    return next((form for form in FORMATS if _fits([first], form) and _fits(cells, form)), None)


def _fits(cells: Iterable[str], form: str) -> bool:
    try:
        for cell in cells:
            _parsed(cell, form)
    except ValueError:
        return False
    return True


def _parsed(cell: str, form: str) -> datetime:
    if form != ISO:
        return datetime.strptime(cell, form)
    if len(cell) < len("2024-01-01") or not cell[4] == "-" == cell[7]:  # a number such as 20240101 is not a date
        raise ValueError(f"{cell!r} is no date")
    return datetime.fromisoformat(cell)


class DatesAsNumbers(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turns dates into days since 1970, with the time of the day as a fraction.

    It takes dates of Python, NumPy and pandas, and text in the usual formats (``2024-03-01``, ``2024-03-01T12:30``,
    ``01.03.2024``, ``03/01/2024``, ``1 Mar 2024``), with one format for all entries of a column. Where two formats fit, the
    month is taken to stand first: ``03/01/2024`` is in March unless another entry shows that the day comes first. A missing
    entry becomes NaN.

    Parameters
    ----------
    formats : sequence of (str or None), or None, default=None
        The format of each column, as ``datetime.strptime`` has it, or ``"ISO 8601"``; None for a column whose entries are
        dates already. By default formats are found from the rows that are fitted. Give them where they should not depend on
        these rows.

    Attributes
    ----------
    formats_ : list of (str or None)
        The format of each column, as given or as found.
    n_features_in_ : int
        The number of columns.

    Examples
    --------
    >>> from lapwing.tables import DatesAsNumbers
    >>> DatesAsNumbers().fit_transform([["1970-01-03"], ["1970-01-04 12:00"], [None]]).ravel()
    array([2. , 3.5, nan])
    """

    def __init__(self, formats: Sequence[str | None] | None = None):
        self.formats = formats

    def fit(self, X: Any, y: Any = None) -> DatesAsNumbers:
        """Find the format of each column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Text, dates, or None and NaN where they are missing.
        y : ignored
            It takes no part; scikit-learn passes it.
        """
        X = self._columns(X, reset=True)
        if self.formats is not None and len(self.formats) != X.shape[1]:
            raise ValueError(f"formats={self.formats!r} must have one entry for each of the {X.shape[1]} columns")
        found = self.formats or [self._format(column, j) for j, column in enumerate(X.T)]
        self.formats_ = list(found)
        return self

    def _format(self, column: np.ndarray, j: int) -> str | None:
        cells = {cell for cell in column.tolist() if isinstance(cell, str)}
        if not cells:
            return None
        form = format_of(cells)
        if form is None:
            raise ValueError(
                f"column {self._label(j)}: there is no date format that fits all entries, such as {sorted(cells)[:3]}"
            )
        return form

    def _label(self, j: int) -> str:
        return repr(str(self.feature_names_in_[j])) if hasattr(self, "feature_names_in_") else str(j)

    def transform(self, X: Any) -> np.ndarray:
        """The days since 1970.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Text, dates, or None and NaN where they are missing.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            float64, NaN where an entry is missing.
        """
        check_is_fitted(self)
        X = self._columns(X, reset=False)
        days = np.empty(X.shape)
        for j, (column, form) in enumerate(zip(X.T, self.formats_, strict=True)):
            cells = column.tolist()
            known = {cell: _days(cell, form, self._label(j)) for cell in set(cells)}
            days[:, j] = [known[cell] for cell in cells]
        return days

    def _columns(self, X: Any, reset: bool) -> np.ndarray:
        names = getattr(X, "columns", None)
        X = np.asarray(X)
        X = X.astype("datetime64[us]").astype(object) if X.dtype.kind == "M" else X.astype(object)
        if X.ndim != 2:
            raise ValueError(f"X of shape {X.shape} must have rows and columns; reshape(-1, 1) makes one column")
        if reset:
            self.n_features_in_ = X.shape[1]
            if names is not None:
                self.feature_names_in_ = np.array(list(names), dtype=object)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but DatesAsNumbers was fitted with {self.n_features_in_}")
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.allow_nan = True
        tags.no_validation = True
        return tags


def _days(cell: Any, form: str | None, column: str) -> float:
    if cell is None or cell != cell or cell == "":  # NaN and NaT are not equal to themselves
        return np.nan
    if isinstance(cell, str):
        try:
            cell = _parsed(cell.strip(), form or ISO)
        except ValueError as error:
            raise ValueError(
                f"column {column}: {cell!r} is no date of the format {form or ISO} that was fitted"
            ) from error
    if isinstance(cell, np.datetime64):
        cell = cell.astype("datetime64[us]").item()
    if not isinstance(cell, date):
        raise ValueError(f"column {column}: {cell!r} is no date")
    if not isinstance(cell, datetime):
        cell = datetime(cell.year, cell.month, cell.day)
    if cell.tzinfo is not None:
        cell = cell.astimezone(UTC).replace(tzinfo=None)
    return (cell - EPOCH).total_seconds() / SECONDS
