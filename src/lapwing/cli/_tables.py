"""Data sets as the commands take them: columns are prepared, labels are classes, and a message says what was done."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

from sklearn.impute import SimpleImputer

from .. import tables
from ..comparison import find_leaks
from ..reducers import Reducer
from ..tables import UnseenCategories, preparation_of, prepare, text_columns
from ..tables.preparation import NAMES_ROWS, plain_rows
from ._console import counted, say, say_in_one_line, some
from ._options import Reading


def read_prepared(data: str, reading: Reading, targets: bool = False, **more: Any) -> Any:
    """Read the data, prepare its columns, and say what was done."""
    table = tables.read(data, mixed=True, targets=targets, **reading.read, **more)
    for note in table.notes:
        say(note)
    try:
        prepared = prepare(table, **reading.prepare)
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error
    for line in prepared.lines:
        say(line)
    return prepared


def leaks_of_ids(prepared: Any) -> list[Any]:
    """A column that was left out since it names the rows, where its order tells the labels all the same."""
    table, preparation = prepared.table, prepared.steps[0][1] if prepared.steps else None
    names = [name for name, why in getattr(preparation, "left_out_", {}).items() if why == NAMES_ROWS]
    if table.ids is None or not names:
        return []
    found = find_leaks(table.ids[:, None], table.y, feature_names=names[:1])
    order = ", so the order of the rows may tell the labels; the column itself is left out already"
    return [leak._replace(message=leak.message.partition(": is it known")[0] + order) for leak in found]


def tell_leaks(prepared: Any) -> None:
    """Warn of columns that alone tell the labels, and of copies of rows."""
    table = prepared.table
    if table.y is None or table.image_shape is not None:
        return
    X = table.X if prepared.given is None else prepared.given
    for leak in [*leaks_of_ids(prepared), *find_leaks(X, table.y, feature_names=source_columns(prepared))]:
        say_in_one_line(f"lapwing: warning: {leak.message}")


def source_columns(prepared: Any) -> list[str] | None:
    """The names of the columns as they were read, of those that are used."""
    columns = getattr(prepared.steps[0][1], "columns_", None) if prepared.steps else None
    return prepared.table.feature_names if columns is None else list(columns)


def check_classes(table: Any, data: str) -> None:
    """Raise where labels are used, and do not name classes or are all unknown."""
    if table.y is not None and unknown(table.y).all():
        raise ValueError(f"{data}: all labels are missing; label some rows, or leave them out (--no-label)")
    if are_quantities(table.y):
        one, remedy = table.y[(table.y % 1 != 0).argmax()], "put them into a few bins, or leave them out (--no-label)"
        raise ValueError(f"{data}: the labels are quantities, such as {one}, not classes; {remedy}")


def unknown(y: Any) -> Any:
    """Which labels of a table are unknown."""
    return y == ("-1" if y.dtype.kind == "U" else -1)


def are_quantities(y: Any) -> bool:
    """Whether labels are numbers with fractions."""
    return y is not None and y.dtype.kind == "f"


def is_ours(estimator: Any) -> bool:
    """Whether it is a method of lapwing, or of a class derived from one."""
    return isinstance(estimator, Reducer)


def last_step(model: Any) -> Any:
    """The last estimator of a pipeline, or the model itself. Where a classifier follows, it is the reducer before that."""
    if hasattr(model, "reducer_"):
        return last_step(model.reducer_)
    estimators = [step for _, step in getattr(model, "steps", []) if hasattr(step, "fit")]  # not "passthrough" and None
    return last_step(estimators[-1]) if estimators else model


def reads_targets(estimator: Any) -> bool:
    """Whether a graph of the estimator reads labels as numbers."""
    given = estimator.get_params(deep=False)
    return any(getattr(given.get(name), "reads_targets", False) for name in ("graph", "penalty"))


class Taken:
    """What a model takes of a table: all of it by its preparation, or numbers and text, as first steps of other pipelines do."""

    def __init__(self, model: Any):
        self.preparation, self._n_features = preparation_of(model), model.n_features_in_
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        words = [] if self.preparation is not None else text_columns(model)
        self._categories = [str(j) if self.names is None else self.names[j] for j in words]
        self._fills_gaps = any(isinstance(part, SimpleImputer) for part in [model, *model.get_params().values()])
        self._image_shape = getattr(last_step(model), "image_shape_", None)
        self._gaps, self._unseen = 0, dict[str, Counter[str]]()

    def given(self, table: Any) -> Any:
        """The columns of a table as the first step of the model takes them."""
        if not table.is_mixed:
            return table.X
        if self.preparation is None:
            return plain_rows(table.X, self._categories)
        names = self.preparation.columns_
        by_place = not set(names) <= set(table.feature_names) and len(names) == len(table.feature_names)
        return table.X.rename_columns(list(names)) if by_place else table.X

    def prepared(self, table: Any) -> Any:
        """The rows of one of several tables, prepared. Gaps and new categories are counted, for ``tell``."""
        self._check_shape(table)
        with warnings.catch_warnings(record=True, action="always") as caught:
            X = self.given(table)
            X = X if self.preparation is None or not table.is_mixed else self.preparation.transform(X)
        for warning in caught:
            if not isinstance(warning.message, UnseenCategories):
                warnings.warn(warning.message, stacklevel=2)
                continue
            for name, counts in warning.message.counts.items():
                self._unseen[name] = self._unseen.get(name, Counter()) + counts
        self._count_gaps(X)
        return X

    def _check_shape(self, table: Any) -> None:
        fitted, found = self._image_shape, table.image_shape
        if fitted is not None and found is not None and fitted != tuple(found):
            given, wanted = (" x ".join(map(str, shape)) for shape in (found, fitted))
            remedy = f"--resize {fitted[1]}x{fitted[0]} makes them so, where all are grey or all have colours"
            raise ValueError(f"images of {given}, but the model was fitted to {wanted} (height x width); {remedy}")
        if (count := table.X.shape[1]) != self._n_features:
            raise ValueError(f"{counted(count, 'column')} of features, but the model was fitted to {self._n_features}")

    def _count_gaps(self, X: Any) -> None:
        if hasattr(X, "tocsr"):
            return  # sparse rows have none
        gaps = (X != X) | (X == "") if X.dtype == object else X != X
        if gaps.any() and not self._fills_gaps:
            i, j = (int(places[0]) for places in gaps.nonzero())
            where = f"column {str(j) if self.names is None else self.names[j]!r}: a value is missing (the first in row {i + 1})"
            raise ValueError(
                f"{where}, and the model fills in none (fit --impute makes one that does); remove such rows"
            )
        self._gaps += int(gaps.sum())

    def tell(self) -> None:
        """Print what was counted."""
        if self._gaps:
            say(f"{counted(self._gaps, 'missing value')} imputed")
        for name, counts in self._unseen.items():
            rows, new = counted(counts.total(), "row"), some(sorted(counts))
            say(f"column {name!r} has values that the model does not know, which count as none, in {rows}: {new}")
