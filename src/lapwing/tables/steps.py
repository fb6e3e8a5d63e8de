"""The steps before a method that takes numbers: our preparation, and scikit-learn's imputer, encoder and scaler."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .._validation import check_choice
from .preparation import ISO, NAMES_ROWS, Preparation, cells_of, reasons
from .table import Table

UNITS = 10.0  # columns are standardised where the largest deviation is more than this many times the median one
FILL = "missing"  # the category of text that is missing
TEXT_COMPONENTS = 100  # of a column of sentences; fewer where it has few words
PARTS = {"d": "day", "m": "month", "Y": "year", "y": "year", "b": "month", "B": "month"}  # of a format of dates


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table whose columns are numbers, and the steps that made it so.

    Attributes
    ----------
    table : Table
        Its X is numeric and has no gaps, and ``feature_names`` are those of the prepared columns.
    steps : list of (str, transformer)
        The fitted steps, of which the first is a :class:`Preparation` where columns have names; empty where nothing was needed.
    lines : list of str
        What was done, in words.
    decided : bool
        Whether the scales of the columns are settled, so that no estimator shall standardise them again.
    given : array or None
        The rows as the :class:`Preparation` gives them; None where there are no steps.
    is_scaled : bool
        Whether some columns were standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.tables import Table, prepare
    >>> table = Table(np.array([[1.0, 20.0], [np.nan, 5000.0]]), feature_names=["wing", "weight"])
    >>> prepare(table).lines
    ['1 missing value imputed']
    """

    table: Table
    steps: list[tuple[str, Any]]
    lines: list[str]
    decided: bool = False
    given: Any = None
    is_scaled: bool = False

    @property
    def transformer(self) -> Any:
        """The steps after the preparation as one transformer that has learnt nothing yet; None where there are none."""
        after = [(name, step) for name, step in self.steps if not isinstance(step, Preparation)]
        return clone(Pipeline(after)) if after else None

    @property
    def columns(self) -> dict[str, np.ndarray] | None:
        """The columns in the units of the file, dates as ``datetime64``; None where there is no :class:`Preparation`."""
        if not self.steps or not isinstance(self.steps[0][1], Preparation):
            return None
        kinds = {name: column["kind"] for name, column in self.steps[0][1].columns_.items()}
        columns = dict(zip(kinds, self.given.T, strict=True))
        for name, kind in kinds.items():
            columns[name] = columns[name].astype(np.float64 if kind in ("number", "date") else object)
            if kind == "date":
                unit = "D" if (columns[name] % 1 == 0).all() else "s"
                columns[name] = (columns[name] * 86_400).astype("datetime64[s]").astype(f"datetime64[{unit}]")
        return columns

    def settled(self, estimator: Any) -> Any:
        """A copy of the estimator that leaves the scales of the columns as they are, where they are settled already."""
        copy = clone(estimator)
        own = [name for name in copy.get_params() if name.rpartition("__")[2] == "standardize"]
        return copy.set_params(**dict.fromkeys(own, False)) if self.decided else copy

    def model(self, estimator: Any) -> Any:
        """An estimator that was fitted to ``table.X``, behind the steps: one model that takes rows as they were read."""
        if not self.steps:
            return estimator
        last = estimator.steps if isinstance(estimator, Pipeline) else [(type(estimator).__name__.lower(), estimator)]
        return Pipeline([*self.steps, *last])


def prepare(table: Table, *, impute: bool = False, standardize: str = "auto", **reading: Any) -> Prepared:
    r"""Make the columns of a table numbers without gaps, by transformers that a model can keep.

    :class:`Preparation` says what each column holds. Categories are one-hot encoded, sentences become the coordinates of a
    truncated SVD of their words (TF-IDF), missing numbers and dates the median of their column, missing text a category of its
    own. All is learnt from all rows, without their labels; :attr:`Prepared.transformer` learns it from some of them.

    Parameters
    ----------
    table : Table
        As :func:`read` gives it with ``mixed=True``.
    impute : bool, default=False
        Whether missing values of later rows are filled in, also where there are none in these.
    standardize : {"auto", "yes", "no"}, default="auto"
        Whether columns of numbers and dates get mean 0 and deviation 1. ``"auto"`` does so in tables with names of columns,
        where the largest deviation is more than 10 times the median one, and wherever there are categories or dates.
    **reading
        Parameters of :class:`Preparation`: ``categories``, ``text``, ``match_case``, ``missing``.

    Returns
    -------
    Prepared

    Examples
    --------
    >>> import pandas as pd
    >>> from lapwing.tables import Table, prepare
    >>> birds = pd.DataFrame({"wing": ["23,1", "", "21,0", "22,5"], "colour": ["black", "white", "black", "white"]})
    >>> prepared = prepare(Table(birds, feature_names=["wing", "colour"]))
    >>> prepared.lines
    ['1 text column one-hot encoded, 1 missing value imputed, columns standardised']
    >>> prepared.table.feature_names
    ['wing', 'colour_black', 'colour_white']
    >>> from lapwing import LPP
    >>> model = prepared.model(prepared.settled(LPP(1)).fit(prepared.table.X))
    >>> model.transform(pd.DataFrame({"colour": ["black ", None], "ringed": ["yes", "no"], "wing": ["22,0", "?"]})).shape
    (2, 1)
    """
    check_choice("standardize", standardize, ("auto", "yes", "no"))
    if table.feature_names is None:
        return _without_names(table, impute, standardize)
    rows = dict(zip(table.feature_names, table.X.T, strict=True)) if isinstance(table.X, np.ndarray) else table.X
    preparation = Preparation(**reading)
    X, columns = preparation.fit_transform(rows), preparation.columns_
    mixed, left_out = any(column["kind"] != "number" for column in columns.values()), preparation.left_out_
    scaled = standardize == "yes" or (standardize == "auto" and (mixed or units_differ(X)))
    filled = impute or mixed or preparation.n_gaps_ > 0
    steps = _numeric(filled, scaled)
    steps = [("encode", _encoder(columns, X, steps))] if mixed else steps
    fitted = Pipeline(steps).fit(X) if steps else preparation
    is_needed = steps or left_out or any(column["written"] for column in columns.values())
    lines = [_said(columns, preparation.n_gaps_, scaled), f"left out: {reasons(left_out)}" if left_out else ""]
    # A column that was left out because it names the rows may be their identifiers.
    names = [name for name, why in left_out.items() if why == NAMES_ROWS and table.ids is None]
    prepared = replace(
        table,
        X=fitted.transform(X) if steps else X,
        feature_names=[str(name) for name in fitted.get_feature_names_out([*columns])],
        ids=cells_of(rows[names[0]], as_text=True).astype(str) if names else table.ids,
    )
    steps, decided = [("prepare", preparation), *steps] if is_needed else [], scaled or standardize != "auto" or mixed
    return Prepared(prepared, steps, list(filter(None, lines)), decided, X if steps else None, scaled)


def _without_names(table: Table, impute: bool, standardize: str) -> Prepared:
    """A matrix or images, whose columns share one unit unless the user says otherwise."""
    X, is_dense, scaled = table.X, not sparse.issparse(table.X), standardize == "yes"
    gaps = int(np.isnan(X).sum()) if is_dense else 0
    steps = _numeric(is_dense and (impute or gaps > 0), scaled, with_mean=is_dense)
    prepared = replace(table, X=Pipeline(steps).fit_transform(X)) if steps else table
    said = _said({}, gaps, scaled)
    return Prepared(prepared, steps, [said] if said else [], standardize != "auto", X if steps else None, scaled)


def _numeric(filled: bool, scaled: bool, with_mean: bool = True) -> list[tuple[str, Any]]:
    steps = [("impute", SimpleImputer(strategy="median"))] if filled else []
    return [*steps, ("scale", StandardScaler(with_mean=with_mean))] if scaled else steps


def _encoder(columns: dict[str, Any], X: np.ndarray, numeric: list[tuple[str, Any]]) -> ColumnTransformer:
    """The step after the preparation of a table that has more than numbers, whose numbers go through ``numeric``."""
    names, places = list(columns), defaultdict[str, list[int]](list)
    for j, column in enumerate(columns.values()):
        places[column["kind"]].append(j)
    fill = SimpleImputer(strategy="constant", missing_values="", fill_value=FILL)
    words = [("impute", fill), ("encode", OneHotEncoder(handle_unknown="ignore", sparse_output=False))]
    text = []
    for i, j in enumerate(places["text"]):
        tfidf = TfidfVectorizer(lowercase=False, token_pattern=r"\S+", min_df=2)  # the preparation has found the words
        n_components = len(tfidf.fit(X[:, j]).vocabulary_) // 2  # a fold has fewer words than all rows
        svd = TruncatedSVD(min(max(n_components, 1), TEXT_COMPONENTS), random_state=0)
        text.append((names[j], Pipeline([("words", tfidf), ("svd", svd)]), i))
    parts = [
        ("number", Pipeline(numeric) if numeric else "passthrough", places["number"] + places["date"]),
        ("category", Pipeline(words), places["category"]),
        ("text", ColumnTransformer(text), places["text"]),
    ]
    return ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0, verbose_feature_names_out=False)


def units_differ(X: np.ndarray) -> bool:
    """Whether the largest deviation of a column is over ten times the median one. Constant columns do not count."""
    with np.errstate(all="ignore"):
        deviations = np.nanstd(X, axis=0, dtype=np.float64)
    varying = deviations[deviations > 0]
    return varying.size > 1 and bool(varying.max() > UNITS * np.median(varying))


def _said(columns: dict[str, Any], gaps: int, scaled: bool) -> str:
    """What the steps do, in words."""
    kinds = [column["kind"] for column in columns.values()]
    text, sentences, dates = (kinds.count(kind) for kind in ("category", "text", "date"))
    # How dates were read, where there was a choice, as with 01/02/2024.
    forms = {column["written"] for column in columns.values() if column["kind"] == "date"} - {ISO, None}
    orders = sorted({"-".join(PARTS[part] for part in re.findall("%([dmYybB])", form)) for form in forms})
    done = {
        f"{text} text column{'s' * (text != 1)} one-hot encoded": text,
        f"{sentences} column{'s' * (sentences != 1)} of sentences by their words": sentences,
        (f"{dates} dates as numbers" if dates > 1 else "1 date as a number")
        + f" ({', '.join(orders)})" * bool(orders): dates,
        f"{gaps:,} missing value{'s' * (gaps != 1)} imputed": gaps,
        "columns standardised": scaled and (not columns or text + sentences < len(columns)),
    }
    return ", ".join(line for line, is_so in done.items() if is_so)


# What a model takes


def preparation_of(model: Any) -> Preparation | None:
    """The preparation that a model begins with, whose columns are then those that the model takes; None where there is none."""
    first = model.steps[0][1] if isinstance(model, Pipeline) and model.steps else model
    return first if isinstance(first, Preparation) else None


def text_columns(model: Any) -> list[int]:
    """The numbers of the columns in which a model without a preparation takes text."""
    step = getattr(model, "reducer_", model)  # a model with a classifier after it
    if isinstance(step, Pipeline):
        # up to the first step that knows, such as the encoder after an imputer
        return next((found for _, part in step.steps if (found := text_columns(part))), [])
    if isinstance(step, ColumnTransformer):
        parts = [(part, column_numbers(step, columns)) for _, part, columns in step.transformers_]
        return sorted(chosen[j] for part, chosen in parts for j in text_columns(part))
    if isinstance(step, OneHotEncoder):
        return [j for j, values in enumerate(step.categories_) if any(isinstance(value, str) for value in values)]
    return [0] if isinstance(step, TfidfVectorizer) else []


def column_numbers(transformer: ColumnTransformer, columns: Any) -> list[int]:
    """The numbers, from 0, of the input columns that a part of a fitted ColumnTransformer takes, however they are written."""
    if isinstance(columns, slice) or (np.size(columns) and not isinstance(np.atleast_1d(columns)[0], str)):
        return np.atleast_1d(np.arange(transformer.n_features_in_)[columns]).tolist()
    names = list(getattr(transformer, "feature_names_in_", []))
    return [names.index(column) for column in np.atleast_1d(columns).tolist()]
