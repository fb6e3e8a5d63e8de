"""Tables as people have them, turned into numbers by scikit-learn's transformers, which a model keeps."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ._dates import ISO, DatesAsNumbers, format_of
from ._frame import Frame, columns_of, matrix
from ._table import INDEX, Table, listed

MOST = 50  # a column of text is one-hot encoded up to this many different values
UNITS = 10.0  # columns are standardised where the largest deviation is more than this many times the median one
SHOWN = 12  # a message names this many columns
LONG = 40  # text that is longer than this on average is prose and not a name
ROW_NAMES = re.compile(  # Names of columns that name rows, such as id, customer_id, invoice-no and customerId.
    r"(?i:id|idx|index|row|row_?id|uid|uuid|guid)|.*[_\W](?i:id|idx|index|key|no|nr|number|uid|uuid|guid)|.*[a-z](Id|ID|Key|No|Nr)"
)
STANDARDIZE = ("auto", "yes", "no")
FILL = "missing"  # the category of text that is missing


@dataclass(frozen=True, eq=False)
class Prepared:
    r"""A table whose columns are numbers, and the steps that made it so.

    Attributes
    ----------
    table : Table
        The table: X is numeric and has no gaps, and ``feature_names`` are those of the prepared columns.
    steps : list of (str, transformer)
        The fitted steps; empty where nothing was needed.
    lines : list of str
        What was done, in words.
    decided : bool
        Whether the scales of the columns are settled, so that no estimator shall standardise them again.
    given : array or None
        The rows as they were before the steps, with the columns that are used; None where there are no steps.

    Examples
    --------
    >>> import tempfile
    >>> from lapwing.tables import prepare, read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/birds.csv", "w") as file:
    ...         _ = file.write("wing,colour\n23.1,black\n,white\n21.0,black\n22.5,white\n")
    ...     prepared = prepare(read(f"{folder}/birds.csv", mixed=True))
    >>> prepared.table.feature_names, prepared.table.X.shape
    (['wing', 'colour_black', 'colour_white'], (4, 3))
    """

    table: Table
    steps: list[tuple[str, Any]]
    lines: list[str]
    decided: bool = False
    given: Any = None

    @property
    def transformer(self) -> Any:
        """The steps as one transformer that has learnt nothing yet, to be fitted to some of the rows; None without steps."""
        return clone(Pipeline(self.steps)) if self.steps else None

    def settled(self, estimator: Any) -> Any:
        """A copy of the estimator that leaves the scales of the columns as they are, where they are settled already."""
        copy = clone(estimator)
        own = [name for name in copy.get_params() if name == "standardize" or name.endswith("__standardize")]
        return copy.set_params(**dict.fromkeys(own, False)) if self.decided else copy

    @property
    def is_scaled(self) -> bool:
        """Whether some columns were standardised."""
        return any(_scalers(self.steps))

    def unscaled(self, columns: Sequence[int]) -> Prepared:
        """The same, with some of the prepared columns, such as places in space, in the units of the table.

        Parameters
        ----------
        columns : sequence of int
            Their places among the columns of ``table.X``.
        """
        steps, first = deepcopy(self.steps), 0
        for scaler in _scalers(steps):
            own = [j - first for j in columns if first <= j < first + scaler.n_features_in_]
            scaler.scale_[own] = scaler.var_[own] = 1.0
            if scaler.with_mean:
                scaler.mean_[own] = 0.0
            first += scaler.n_features_in_
        X = self.given
        with warnings.catch_warnings():
            # The columns are the named ones, in their order.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            for _, step in steps:
                X = step.transform(X)
        return replace(self, steps=steps, table=replace(self.table, X=X))

    def model(self, estimator: Any) -> Any:
        r"""The estimator behind the steps, as one model that takes rows as they were read; the estimator stays as it is.

        New rows are passed in one of two ways. A pandas ``DataFrame``, such as :meth:`Table.to_frame` gives, may have its
        columns in any order and may have others beside them: they are found by name. The ``X`` of a table, or an array, must
        have the columns ``model.feature_names_in_`` in this order, which ``read(path, mixed=True,
        features=list(model.feature_names_in_))`` sees to; scikit-learn then warns that it cannot check the names.

        Parameters
        ----------
        estimator : estimator
            Fitted on ``table.X``.

        Returns
        -------
        estimator
            A fitted ``Pipeline``, which :func:`lapwing.save` takes; the estimator itself where there are no steps.

        Examples
        --------
        A service loads the model and passes new rows as they come, with a column that the model does not know:

        >>> import tempfile
        >>> from lapwing import LPP, load, save
        >>> from lapwing.tables import prepare, read
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with open(f"{folder}/birds.csv", "w") as file:
        ...         _ = file.write("wing,colour\n23.1,black\n,white\n21.0,black\n22.5,white\n20.4,white\n")
        ...     prepared = prepare(read(f"{folder}/birds.csv", mixed=True))
        ...     fitted = prepared.settled(LPP(1)).fit(prepared.table.X)
        ...     save(prepared.model(fitted), f"{folder}/birds.lapwing")
        ...     model = load(f"{folder}/birds.lapwing")
        ...     with open(f"{folder}/new.csv", "w") as file:
        ...         _ = file.write("colour,ringed,wing\nblack,yes,22.0\nwhite,no,\n")
        ...     new = read(f"{folder}/new.csv", mixed=True)
        >>> model.feature_names_in_.tolist()
        ['wing', 'colour']
        >>> model.transform(new.to_frame()).shape
        (2, 1)
        """
        if not self.steps:
            return estimator
        last = estimator.steps if isinstance(estimator, Pipeline) else [(type(estimator).__name__.lower(), estimator)]
        return Pipeline([*self.steps, *last])


def prepare(
    table: Table,
    *,
    impute: bool | None = None,
    one_hot: bool = True,
    dates: bool = True,
    standardize: str = "auto",
    categories: Sequence[str] = (),
) -> Prepared:
    r"""Make the columns of a table numbers without gaps, by transformers that a model can keep.

    What is learnt is learnt from all rows, without their labels; :attr:`Prepared.transformer` learns it from some of them, as
    :func:`lapwing.comparison.compare` does in each fold. Text that has few different values is one-hot encoded, dates
    become days since 1970, missing numbers and dates the median of their column, missing text a category of its own. Columns
    that cannot help are left out: those that name rows, prose, and those with one value.

    Parameters
    ----------
    table : Table
        As :func:`read` gives it with ``mixed=True``.
    impute : bool or None, default=None
        Whether missing values are filled in. None does so where there are some; True also keeps what is learnt for later rows;
        False makes them an error.
    one_hot, dates : bool, default=True
        Whether text is one-hot encoded and dates become numbers; False makes such columns an error.
    standardize : {"auto", "yes", "no"}, default="auto"
        Whether columns of numbers and dates get mean 0 and deviation 1. ``"auto"`` does so in tables with names of columns,
        where the largest deviation is more than 10 times the median one, and wherever text is encoded.
    categories : sequence of str, default=()
        Columns of text to encode however many values they have.

    Returns
    -------
    Prepared

    Examples
    --------
    >>> import tempfile
    >>> from lapwing.tables import prepare, read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/people.csv", "w") as file:
    ...         _ = file.write("city;pay;since\nRome;1,5;2020-01-01\nOslo;?;2021-05-01\nRome;2,5;2022-01-31\nOslo;3;2020-02-01")
    ...     prepared = prepare(read(f"{folder}/people.csv", mixed=True))
    >>> prepared.lines
    ['1 text column one-hot encoded, 1 date as a number, 1 missing value imputed, columns standardised']
    >>> prepared.table.feature_names
    ['pay', 'since', 'city_Oslo', 'city_Rome']
    """
    if standardize not in STANDARDIZE:
        raise ValueError(f"standardize={standardize!r} must be one of {', '.join(map(repr, STANDARDIZE))}")
    if table.kinds is None:
        return _scaled(table, standardize)
    if table.feature_names is None:
        return _matrix(table, impute, standardize)
    table, left_out = _useful(table, categories)
    _check_wanted(table, impute, one_hot, dates)
    assert table.kinds is not None
    steps = _numeric_steps if set(table.kinds) <= {"number"} else _mixed_steps
    fitted, done = steps(table, impute, standardize)
    X, names = np.asarray(table.X), table.feature_names
    for _, step in fitted:
        X, names = step.transform(X), [str(name) for name in step.get_feature_names_out(names)]
    if fitted:
        _name(fitted[0][1], np.array(table.feature_names, dtype=object))
    lines = [line for line in (", ".join(done), left_out) if line]
    decided = standardize != "auto" or steps is _mixed_steps or "columns standardised" in done
    given = np.asarray(table.X) if fitted else None
    return Prepared(replace(table, X=X, feature_names=names, kinds=None), fitted, lines, decided, given)


def _scalers(steps: list[tuple[str, Any]]) -> Iterator[StandardScaler]:
    """The scalers among the steps and their parts, in the order of the columns that they make."""
    for _, step in steps:
        if isinstance(step, StandardScaler):
            yield step
        for _, part, _ in getattr(step, "transformers_", ()):
            yield from _scalers(getattr(part, "steps", []))


def _name(step: Any, names: np.ndarray) -> None:
    """Give a step names of columns, as if it had been fitted on a data frame, so that later columns are found by name."""
    if isinstance(step, Pipeline):
        _name(step[0], names)
        return
    step.feature_names_in_ = names
    for _, part, columns in getattr(step, "transformers_", ()):
        if not isinstance(part, str):
            _name(part, names[columns])


def _matrix(table: Table, impute: bool | None, standardize: str) -> Prepared:
    """Prepare a matrix whose columns have no names. All columns are kept, so that later ones are found by their numbers."""
    _check_wanted(table, impute, one_hot=True, dates=True)
    fitted, done = _numeric_steps(table, impute, standardize)
    X = table.X
    for _, step in fitted:
        X = step.transform(X)
    given = table.X if fitted else None
    return Prepared(replace(table, X=X, kinds=None), fitted, done, standardize != "auto", given)


def _scaled(table: Table, standardize: str) -> Prepared:
    """Prepare sparse data or images, whose columns share one unit unless the user says otherwise."""
    if standardize != "yes":
        return Prepared(table, [], [], decided=standardize == "no")
    scaler = StandardScaler(with_mean=not sparse.issparse(table.X)).fit(table.X)
    done = ["columns standardised"]
    return Prepared(replace(table, X=scaler.transform(table.X)), [("scale", scaler)], done, True, table.X)


# Which columns


def _useful(table: Table, categories: Sequence[str]) -> tuple[Table, str]:
    """The table without columns that name rows, hold prose or are constant; and a sentence about these columns."""
    assert table.kinds is not None
    assert table.feature_names is not None
    names, columns = table.feature_names, columns_of(table.X)
    why = {
        name: reason
        for name, kind, column in zip(names, table.kinds, columns, strict=True)
        if name not in categories and (reason := _why_useless(name, kind, column))
    }
    kept = [j for j, name in enumerate(names) if name not in why]
    if not kept:
        raise ValueError(f"no column is left to project: {_reasons(why)}; --categories takes a column all the same")
    row_names = [name for name, reason in why.items() if reason == NAMES_ROWS]
    ids = table.ids
    if ids is None and row_names:
        cells = columns[names.index(row_names[0])].tolist()
        ids = np.array([str(int(cell)) if isinstance(cell, float) else str(cell) for cell in cells])
    X, kinds = table.X, [table.kinds[j] for j in kept]
    if why:
        some = [columns[j] for j in kept]
        X = matrix(some) if set(kinds) == {"number"} else Frame(some)
    useful = replace(table, X=X, kinds=kinds, feature_names=[names[j] for j in kept], ids=ids)
    return useful, f"left out: {_reasons(why)}" if why else ""


NAMES_ROWS = "names the rows"


def _why_useless(name: str, kind: str, column: np.ndarray) -> str | None:
    if kind == "text":
        present = _present(column)
        different = len(set(present))
        if different > min(MOST, max(2, len(present) / 2)):
            prose = sum(map(len, present)) > LONG * len(present)
            unique = different == len(present) and not prose
            return NAMES_ROWS if unique else f"{'free text' if prose else 'text'}, {different:,} different values"
        return "the same everywhere" if different + (len(present) < len(column)) < 2 else None
    if kind == "date":
        return None if _present(column) else "empty"
    return _why_useless_number(name, np.asarray(column, dtype=np.float64))


def _present(column: np.ndarray) -> list[Any]:
    return [cell for cell in column.tolist() if cell == cell]


def _why_useless_number(name: str, values: np.ndarray) -> str | None:
    present = values[~np.isnan(values)]
    if present.size == 0:
        return "empty"
    names_rows = name in INDEX or ROW_NAMES.fullmatch(name)
    if names_rows and present.size == values.size and (present == np.round(present)).all():
        return NAMES_ROWS if np.unique(present).size == values.size else None
    return None


def _reasons(why: dict[str, str]) -> str:
    more = f" and {len(why) - SHOWN} more" if len(why) > SHOWN else ""
    return ", ".join(f"{name!r} ({reason})" for name, reason in list(why.items())[:SHOWN]) + more


def _check_wanted(table: Table, impute: bool | None, one_hot: bool, dates: bool) -> None:
    """Raise one error for all columns that the switches refuse."""
    assert table.kinds is not None
    names = table.feature_names or [str(j) for j in range(table.X.shape[1])]
    kinds = dict(zip(names, table.kinds, strict=True))
    refused = {
        "text (--no-one-hot)": [] if one_hot else [name for name, kind in kinds.items() if kind == "text"],
        "dates (--no-dates)": [] if dates else [name for name, kind in kinds.items() if kind == "date"],
        "missing values (--no-impute)": []
        if impute is not False
        else [names[j] for j in np.flatnonzero(_gaps(table.X))],
    }
    bad = {what: columns for what, columns in refused.items() if columns}
    if bad:
        every = dict.fromkeys(name for columns in bad.values() for name in columns)
        found = "; ".join(f"{listed(columns)} with {what}" for what, columns in bad.items())
        raise ValueError(f"{found}; change the switch, or leave them out (--drop '{','.join(every)}')")


def _gaps(X: Any) -> np.ndarray:
    """How many values are missing in each column."""
    return np.array([np.count_nonzero(column != column) for column in columns_of(X)])


# Steps


def _numeric_steps(table: Table, impute: bool | None, standardize: str) -> tuple[list[tuple[str, Any]], list[str]]:
    X, steps, done = table.X, [], []
    gaps = int(_gaps(X).sum())
    if impute or gaps:
        steps.append(("impute", SimpleImputer(strategy="median").fit(X)))
        X = steps[-1][1].transform(X)
        done += [f"{gaps:,} missing value{'s' * (gaps != 1)} imputed"] if gaps else []
    if standardize == "yes" or (standardize == "auto" and table.feature_names is not None and units_differ(X)):
        steps.append(("scale", StandardScaler().fit(X)))
        done.append("columns standardised")
    return steps, done


def units_differ(X: np.ndarray) -> bool:
    """Whether the largest deviation of a column is over ten times the median one. Constant columns do not count."""
    deviations = np.nanstd(X, axis=0, dtype=np.float64)
    varying = deviations[deviations > 0]
    return varying.size > 1 and bool(varying.max() > UNITS * np.median(varying))


def _mixed_steps(table: Table, impute: bool | None, standardize: str) -> tuple[list[tuple[str, Any]], list[str]]:
    """One transformer per kind of column. Each fills gaps, also where there are none yet, unless that is refused."""
    assert table.kinds is not None
    places = {kind: [j for j, k in enumerate(table.kinds) if k == kind] for kind in ("number", "date", "text")}
    filled = impute is not False
    scaled = standardize != "no"
    median = [("impute", SimpleImputer(strategy="median"))] if filled else []
    scale = [("scale", StandardScaler())] if scaled else []
    constant = [("impute", SimpleImputer(strategy="constant", fill_value=FILL))] if filled else []
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = {
        "number": [*median, *scale],
        "date": [("days", DatesAsNumbers([_format(table, j) for j in places["date"]])), *median, *scale],
        "text": [*constant, ("encode", encoder)],
    }
    transformers = [
        (kind, Pipeline(clone(Pipeline(parts[kind])).steps) if parts[kind] else "passthrough", columns)
        for kind, columns in places.items()
        if columns
    ]
    step = ColumnTransformer(transformers, sparse_threshold=0, verbose_feature_names_out=False).fit(np.asarray(table.X))
    return [("prepare", step)], _said(table, places, scaled)


def _format(table: Table, j: int) -> str | None:
    """The format of the dates of a column; None where they are dates already."""
    cells = {cell for cell in table.X.columns[j].tolist() if isinstance(cell, str)}
    return format_of(cells) if cells else None


def _said(table: Table, places: dict[str, list[int]], scaled: bool) -> list[str]:
    text, dates, gaps = len(places["text"]), len(places["date"]), int(_gaps(table.X).sum())
    done = []
    if text:
        done.append(f"{text} text column{'s' * (text != 1)} one-hot encoded")
    if dates:
        done.append(
            (f"{dates} dates as numbers" if dates != 1 else "1 date as a number") + _formats(table, places["date"])
        )
    if gaps:
        done.append(f"{gaps:,} missing value{'s' * (gaps != 1)} imputed")
    return [*done, "columns standardised"] if scaled and (dates or places["number"]) else done


def _formats(table: Table, columns: list[int]) -> str:
    """A sentence on how dates were read, where there was a choice, as with 01/02/2024."""
    formats = {_format(table, j) for j in columns} - {ISO, None}
    words = {"%d": "day", "%m": "month", "%Y": "year", "%y": "year", "%b": "month", "%B": "month"}
    read = sorted("-".join(words[part] for part in re.findall("%[dmYybB]", form or "")) for form in formats)
    return f" ({', '.join(dict.fromkeys(read))})" if read else ""


# What a model takes


class Input(NamedTuple):
    """A column that a model takes: its kind and, where it is encoded, the values that the model knows."""

    kind: str
    categories: frozenset[str] | None = None


def inputs_of(model: Any) -> list[Input] | None:
    """What the columns that a model takes hold, judged by what its first steps do to them; None where it takes plain numbers.

    Parameters
    ----------
    model : estimator
        Fitted; looked into where it is a pipeline.

    Returns
    -------
    list of Input or None
        One per column, of kind "number", "date" or "text".
    """
    model = getattr(model, "reducer_", model)  # a model with a classifier after it
    if not isinstance(model, Pipeline | ColumnTransformer | SimpleImputer):
        return None
    inputs = [Input("number")] * model.n_features_in_
    for j, found in _inputs(model, {}).items():
        inputs[j] = found
    return inputs


def _inputs(step: Any, found: dict[int, Input]) -> dict[int, Input]:
    if isinstance(step, Pipeline):
        for _, part in step.steps:  # up to the first step that knows, such as the encoder after an imputer
            if found := _inputs(part, found):
                return found
    if isinstance(step, ColumnTransformer):
        for _, part, columns in step.transformers_:
            chosen = column_numbers(step, columns)
            found |= {chosen[j]: kind for j, kind in _inputs(part, {}).items()}
    if isinstance(step, DatesAsNumbers):
        return {j: Input("date") for j in range(step.n_features_in_)}
    if isinstance(step, OneHotEncoder):
        words = [[c for c in values if isinstance(c, str)] for values in step.categories_]
        return {j: Input("text", frozenset(values)) for j, values in enumerate(words) if values}
    return found


def column_numbers(transformer: ColumnTransformer, columns: Any) -> list[int]:
    """The numbers, from 0, of the input columns that a part of a fitted ColumnTransformer takes, however they are written."""
    if isinstance(columns, slice) or (np.size(columns) and not isinstance(np.atleast_1d(columns)[0], str)):
        return np.atleast_1d(np.arange(transformer.n_features_in_)[columns]).tolist()
    names = list(getattr(transformer, "feature_names_in_", []))
    return [names.index(column) for column in np.atleast_1d(columns).tolist()]


def fills_gaps(model: Any) -> bool:
    """Whether a model takes missing values, because one of its steps imputes them."""
    parts = [model, *model.get_params().values()]
    return any(isinstance(part, SimpleImputer) for part in parts)
