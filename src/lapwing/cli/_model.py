"""Data and models as the commands take them: how columns are prepared, and how models are fitted, read, and applied to rows."""

from __future__ import annotations

import ast
import os
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from inspect import isclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .. import tables
from ..comparison import checked_judge, find_leaks, in_words
from ..graphs import Graph
from ..persistence import load
from ..reducers import Reducer
from ..selection import SemiSupervised
from ..tables import UnseenCategories, preparation_of, prepare, text_columns
from ..tables.preparation import NAMES_ROWS, plain_rows
from ..tables.reading import in_file
from ..verification import flattened
from ._console import counted, say, say_in_one_line, some, visible
from ._methods import Choice, reads_columns, settle_graph
from ._options import Reading, refuse

# Names of columns, where a model knows them, and what makes them.
Output = tuple[list[str] | None, Callable[[Any], Any]]


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
    return np.isnan(y) if are_quantities(y) else y == ("-1" if y.dtype.kind == "U" else -1)


def are_quantities(y: Any) -> bool:
    """Whether labels are numbers with fractions."""
    return y is not None and y.dtype.kind == "f"


def last_step(model: Any) -> Any:
    """The last estimator of a pipeline, or the model itself. Where a classifier follows, it is the reducer before that."""
    return [model, *flattened(model)][-1]


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
        self._gaps, self._unseen = 0, defaultdict[str, Counter[str]](Counter)

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
                self._unseen[name].update(counts)
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
            raise ValueError(f"{where}, and the model fills in none: remove such rows, or use one of fit --impute")
        self._gaps += int(gaps.sum())

    def tell(self) -> None:
        """Print what was counted."""
        if self._gaps:
            say(f"{counted(self._gaps, 'missing value')} imputed")
        for name, counts in self._unseen.items():
            rows, new = counted(counts.total(), "row"), some(sorted(counts))
            say(f"column {name!r} has values that the model does not know, which count as none, in {rows}: {new}")


def fitted(estimator: Any, choice: Choice, data: str, reading: Reading, judge: str | None) -> tuple[Any, Any]:
    """The model that is fitted to a file, which predicts where there is a judge, and the shape of its rows."""
    takes_numbers = reads_targets(estimator)
    if judge and takes_numbers:
        refuse("the graph reads labels as numbers, so that there are no classes to be named", "--predict")
    prepared = read_prepared(data, reading, targets=takes_numbers)
    estimator, given = prepared.settled(estimator), prepared.table
    if prepared.is_scaled and reads_columns(estimator):
        say("the graph reads standardised columns; --standardize no leaves them as they are")
    if judge and given.y is None:
        refuse("it names classes, so it needs labels (--label)", "--predict")
    if judge:
        check_classes(given, data)
    table, column = with_labels(estimator, given, data), f"labels of {reading.label!r}" if reading.label else "labels"
    if table.y is not None:
        table = _settled(estimator, table, choice, column)
    elif given.y is not None:
        say(f"the {column} are quantities, not classes, and are NOT USED")
    if table.y is not None and not takes_numbers:
        tell_leaks(prepared)
    if sparse.issparse(table.X) and not get_tags(estimator).input_tags.sparse:
        raise ValueError(
            f"{data}: {method_name(estimator)} takes no sparse data; write it as dense rows, or use lpp or lpi"
        )
    if "image_shape" in estimator.get_params() and table.image_shape is not None:
        estimator.set_params(image_shape=table.image_shape, flatten=True)
    if judge:
        known = ~unknown(table.y)
        classifier = checked_judge(judge, table.X[known], table.y[known])
        if judge in ("auto", "knn"):
            say(f"classes are named by {in_words(classifier)}, chosen among the rows")
        estimator = SemiSupervised(estimator, None if judge == "nearest" else classifier)
    estimator.fit(table.X, table.y)
    _tell_apart(estimator, table, named=not prepared.steps)
    return prepared.model(estimator), given.X.shape


def _tell_apart(model: Any, table: Any, named: bool) -> None:
    """Let a model know the names of its columns and the shape of its images, so that it takes no others."""
    if named and table.feature_names is not None:
        first = getattr(model, "reducer_", model)
        while hasattr(first, "steps"):
            first = first.steps[0][1]
        # scikit-learn sets them only where X is a data frame.
        for part in {model, first} if hasattr(model, "reducer_") else {first}:
            part.feature_names_in_ = np.array(table.feature_names, dtype=object)
    if table.image_shape is not None and isinstance(last_step(model), Reducer):
        last_step(model).image_shape_ = tuple(map(int, table.image_shape))


def with_labels(estimator: Any, table: Any, data: str) -> Any:
    """The table with the labels as a fit takes them: of quantities none, unless a graph reads numbers."""
    own = last_step(estimator)
    is_needed = get_tags(own).target_tags.required
    if table.y is None and is_needed:
        refuse(f"{method_name(own)} needs labels", "--label")
    if table.y is None or reads_targets(own):
        return table
    if are_quantities(table.y) and not is_needed:
        return replace(table, y=None)
    check_classes(table, data)
    return table


def _settled(estimator: Any, table: Any, choice: Choice, column: str) -> Any:
    """The rows to fit. The graph is set to read the labels, or the user is told that they are not used."""
    missing, own = unknown(table.y), last_step(estimator)
    if missing.any():
        say(f"{counted(int(missing.sum()), 'label')} of {len(table):,} unknown")
    if not reads_targets(own):
        settle_graph(estimator, choice, bool(missing.any()), column)
    if missing.any() and get_tags(own).target_tags.required and not isinstance(own, Reducer):
        say(f"{method_name(own)} is fitted to the {counted(int((~missing).sum()), 'row')} whose label is known")
        return table.take(~missing)
    return table


def method_name(model: Any) -> str:
    return type(last_step(model)).__name__


def parameter(text: str) -> tuple[str, Any]:
    """KEY=VALUE as a pair. The value is read as Python or JSON writes it, else it is text."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        refuse(f"{text!r} is not KEY=VALUE", "--param")
    constants = {"null": None, "true": True, "false": False}
    try:
        return key, constants[value] if value in constants else ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return key, value


def output_names(estimator: Any) -> list[str] | None:
    """The names of the columns that a model writes; None where a step of it, such as a function, does not know them."""
    if not hasattr(estimator, "transform"):
        return ["prediction"]
    try:
        return [str(name) for name in estimator.get_feature_names_out()]
    except (AttributeError, ValueError):
        return None


def loaded(path: str, modules: list[str] | None) -> Any:
    """The model of a file. The estimators and graphs of the modules that the user names are trusted; the file imports nothing."""
    names = [value for name in modules or [] for value in vars(imported(name)).values()]
    return load(path, [cls for cls in names if isclass(cls) and issubclass(cls, BaseEstimator | Graph)])


def final_step(model: Any) -> Any:
    """The last step of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def before_classes(model: Any) -> Any:
    """What makes the coordinates of a model that predicts classes; None where it predicts them from the columns."""
    steps, last = getattr(model, "steps", [])[:-1], final_step(model)
    steps = [*steps, ("reducer", last.reducer_)] if hasattr(last, "reducer_") else steps
    return Pipeline(steps) if steps else None


def outputs_of(model: Any, coordinates: bool) -> list[Output]:
    """What is written of each row: its coordinates; of a model that predicts its class, and on request both.

    A probability that ranks rows stands beside the class: that of the second of two classes, or of the class that is predicted.
    """
    if hasattr(model, "transform"):
        return [(output_names(model), model.transform)]
    projector = before_classes(model)
    if coordinates and projector is None:
        refuse(f"{type(model).__name__} predicts from the columns", "--coordinates")
    found = [(output_names(projector), projector.transform)] if coordinates else []
    found.append((["prediction"], model.predict))
    classifier = getattr(final_step(model), "classifier_", None)
    if hasattr(classifier, "predict_proba") and getattr(classifier, "n_neighbors", 0) != 1:
        of = f" of {visible(str(model.classes_[1]))}" if len(model.classes_) == 2 else ""
        choose = (lambda P: P[:, 1]) if of else (lambda P: P.max(axis=1))
        found.append(([f"probability{of}"], lambda X: choose(model.predict_proba(X))))
    return found


def projected(
    outputs: list[Output], tables: Iterator[Any], taken: Taken, update: Callable[[int], None], data: str
) -> Any:
    """The tables with what is written in the place of their features, as objects where that is of several kinds."""
    done = 0
    for table in tables:
        try:
            X = taken.prepared(table)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "X does not have valid feature names")  # they were matched
                parts = [compute(X) for _, compute in outputs]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{data}: {in_file(error, done)}") from error
        parts = [part.toarray() if hasattr(part, "toarray") else part for part in parts]  # features of sparse data
        Z = np.column_stack(parts if len(parts) == 1 else [part.astype(object) for part in parts])
        done += len(table)
        update(done)
        known = [names or [f"column {j}" for j in range(parts[0].shape[1])] for names, _ in outputs]
        yield replace(table, X=Z, feature_names=[name for names in known for name in names])


def safe(table: Any) -> Any:
    """A table whose text cannot steer the terminal that it is printed to."""
    shown = np.vectorize(lambda cell: visible(cell) if isinstance(cell, str) else cell, otypes=[object])
    text = [name for name in ("X", "y", "ids") if getattr(getattr(table, name), "dtype", np.dtype(int)).kind in "OU"]
    names = [visible(name) for name in table.feature_names]
    return replace(table, feature_names=names, **{name: shown(getattr(table, name)) for name in text})


def imported(name: str) -> Any:
    """A module that the user asks for, from this folder where no other has its name."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return import_module(name)
    except Exception as error:
        raise RuntimeError(f"--import {name}: {type(error).__name__}: {error}") from error
