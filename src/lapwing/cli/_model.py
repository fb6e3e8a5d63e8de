"""Models in files: how they are fitted, read, and applied to rows."""

from __future__ import annotations

import ast
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from inspect import isclass
from typing import Any, NamedTuple

import numpy as np
from pyarrow import ArrowException, dataset, parquet, types
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from .. import blocks
from ..comparison import checked_judge, in_words
from ..graphs import Graph
from ..persistence import load
from ..reducers import FeatureSelector, LinearReducer
from ..selection import SemiSupervised
from ..tables import batches, has_columns
from ..tables.preparation import NAMES_ROWS
from ..tables.reading import PACKED, READERS, in_file
from ._console import counted, say, visible
from ._graphs import Choice, placed, settle_graph
from ._options import Reading, refuse
from ._tables import (
    Taken,
    are_quantities,
    check_classes,
    is_ours,
    last_step,
    read_prepared,
    reads_targets,
    tell_leaks,
    unknown,
)


def fitted(estimator: Any, choice: Choice, data: str, reading: Reading, judge: str | None) -> tuple[Any, Any]:
    """The model that is fitted to a file, which predicts where there is a judge, and the shape of its rows."""
    rows = None if judge else in_blocks(estimator, data, reading)
    if rows is None:
        prepared = read_prepared(data, reading, targets=not judge and reads_targets(estimator))
        estimator = prepared.settled(estimator)
        prepared = placed(estimator, prepared)
        return _fitted(estimator, prepared, choice, data, reading, judge), prepared.table.X.shape
    settle_graph(estimator, choice, reading.label is not None)
    try:
        return estimator.fit(rows, reading.label), rows.shape
    except (ArrowException, OSError) as error:  # an error of rows that are read during the fit
        raise ValueError(f"{data}: not a readable Parquet file ({error})") from error


def in_blocks(estimator: Any, data: str, reading: Reading) -> Any:
    """A Parquet file whose rows take more than the working memory, for methods that read rows in blocks; else None."""
    reads_blocks = isinstance(estimator, LinearReducer | FeatureSelector)
    if not data.lower().endswith((".parquet", ".pq")) or not os.path.isfile(data) or not reads_blocks:
        return None
    try:
        metadata = parquet.read_metadata(data)
    except (ArrowException, OSError):
        return None  # reading the file will say what is wrong
    if metadata.num_rows * metadata.num_columns * 8 <= blocks.working_memory():
        return None
    rows, n_rows = dataset.dataset(data, format="parquet"), counted(metadata.num_rows, "row")
    left_out = [name for name in (reading.label, reading.id, *reading.read["drop"]) if name is not None]
    for name in left_out:
        if name not in rows.schema.names:
            raise ValueError(f"{data} has no column {name!r}; it has {', '.join(rows.schema.names[:20])}")
    _require_label(estimator, reading.label)
    kinds = {name: rows.schema.field(name).type for name in rows.schema.names if name not in left_out}
    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    other = [name for name, kind in kinds.items() if not any(test(kind) for test in numbers)]
    if other or reading.prepare["standardize"] == "yes" or reading.prepare["impute"]:
        what = f"columns are prepared ({', '.join(map(repr, other[:8]))})" if other else "columns are prepared"
        drop = f"leave them out (--drop '{','.join(other)}')" if other else "leave it to the method"
        too_many = f"{data} has {n_rows}, more than are read at once"
        raise ValueError(f"{too_many}, and {what} only in memory; {drop}, or fit a part of the rows")
    say(f"{data} has {n_rows}, and is read in blocks")
    return blocks.as_blocks(rows, list(kinds))


def _require_label(estimator: Any, label: Any) -> None:
    if get_tags(estimator).target_tags.required and label is None:
        refuse(f"{method_name(estimator)} needs labels", "--label")


def _fitted(estimator: Any, prepared: Any, choice: Choice, data: str, reading: Reading, judge: str | None) -> Any:
    """The model with the steps before it and, where it shall predict, a classifier after it."""
    if judge:
        if prepared.table.y is None:
            refuse("it names classes, so it needs labels (--label)", "--predict")
        check_classes(prepared.table, data)
    table = _with_known_labels(estimator, prepared.table, choice, data, reading, judge is not None)
    if table.y is not None and not are_quantities(table.y):
        tell_leaks(prepared)
    _require_label(estimator, table.y)
    if sparse.issparse(table.X) and not get_tags(estimator).input_tags.sparse:
        remedy = "write it as dense rows, or use lpp or lpi"
        raise ValueError(f"{data}: {method_name(estimator)} takes no sparse data; {remedy}")
    if "image_shape" in estimator.get_params() and table.image_shape is not None:
        estimator.set_params(image_shape=table.image_shape, flatten=True)
    if judge:
        known = ~unknown(table.y)
        classifier = checked_judge(judge, table.X[known], table.y[known])
        if judge in ("auto", "knn"):
            say(f"classes are named by {in_words(classifier)}, chosen among the rows")
        estimator = SemiSupervised(estimator, None if judge == "nearest" else classifier)
    estimator.fit(table.X, table.y)
    if table.feature_names is not None and not prepared.steps:
        first = estimator.reducer_ if judge else estimator
        while hasattr(first, "steps"):
            first = first.steps[0][1]
        # With these names transform finds the columns by name. scikit-learn sets them only where X is a data frame.
        for part in {estimator, first} if judge else {first}:
            part.feature_names_in_ = np.array(table.feature_names, dtype=object)
    if table.image_shape is not None and is_ours(last_step(estimator)):
        # So that transform takes no images of another shape.
        last_step(estimator).image_shape_ = tuple(map(int, table.image_shape))
    return prepared.model(estimator)


def _with_known_labels(estimator: Any, table: Any, choice: Choice, data: str, reading: Reading, predict: bool) -> Any:
    """The rows and labels to fit. The graph is set to read the labels, or the user is told that they are not used."""
    if table.y is None:
        return table
    column, own = f"labels of {reading.label!r}" if reading.label else "labels", last_step(estimator)
    required = get_tags(estimator).target_tags.required
    if reads_targets(own):
        if predict and (table.y == -1).any():
            refuse("some classes are unknown, which Target cannot tell from numbers", "--predict")
        if (gaps := table.y != table.y).any():
            say(f"{counted(int(gaps.sum()), 'target')} of {len(table):,} unknown")
        return table
    if are_quantities(table.y) and not required:
        say(f"the {column} are quantities, not classes, and are NOT USED")
        return replace(table, y=None)
    check_classes(table, data)
    missing = unknown(table.y)
    if missing.any():
        say(f"{counted(int(missing.sum()), 'label')} of {len(table):,} unknown")
    settle_graph(estimator, choice, True, bool(missing.any()), column)
    if missing.any() and required and not is_ours(own):
        say(f"{method_name(estimator)} is fitted to the {counted(int((~missing).sum()), 'row')} whose label is known")
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


def row_names(preparation: Any, data: str, header: bool | None) -> str | None:
    """The column of the file that names rows, by what the preparation has learnt; standard input is not looked at twice."""
    left_out = getattr(preparation, "left_out_", {}).items()
    named = [name for name, why in left_out if why == NAMES_ROWS] if data != "-" and has_columns(data) else []
    there = (next(batches(data, mixed=True, header=header)).feature_names or []) if named else []
    return next((name for name in named if name in there), None)


def loaded(path: str, modules: list[str] | None) -> Any:
    """The model of a file. Where the file holds data, the error says what to do with it.

    The estimators and graphs of the modules that the user names are trusted. A model file alone imports nothing.
    """
    names = [value for name in modules or [] for value in vars(imported(name)).values()]
    trusted = [cls for cls in names if isclass(cls) and issubclass(cls, BaseEstimator | Graph)]
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise ValueError(f"{path} is a pipe or a device, not a model file")  # reading it would wait without end
    try:
        return load(path, trusted)
    except ValueError as error:
        if path.lower().endswith((*READERS, *PACKED)):
            raise ValueError(f"{error}; it seems to be data, of which lapwing fit {path} makes a model") from error
        raise


def before_classes(model: Any) -> Any:
    """What makes the coordinates of a model that predicts classes; None where it predicts them from the columns."""
    *before, (name, last) = getattr(model, "steps", [("model", model)])
    steps = [*before, (name, last.reducer_)] if hasattr(last, "reducer_") else before
    return Pipeline(steps) if steps else None


class Output(NamedTuple):
    """Columns that are written, whose names are None where a step of the model does not know them."""

    names: list[str] | None
    compute: Callable[[Any], Any]


def outputs_of(model: Any, coordinates: bool, is_npy: bool) -> dict[str, Output]:
    """What is written of each row: its coordinates; of a model that predicts its class, and on request both.

    A probability that ranks rows stands beside the class: that of the second of two classes, or of the class that is predicted.
    """
    if hasattr(model, "transform"):
        return {"coordinates": Output(output_names(model), model.transform)}
    found = {}
    if coordinates:
        if is_npy:
            refuse("classes beside numbers: write .parquet or .csv", "--coordinates")
        projector = before_classes(model)
        if projector is None:
            refuse(f"{type(model).__name__} predicts from the columns", "--coordinates")
        found["coordinates"] = Output(output_names(projector), projector.transform)
    found["predictions"] = Output(["prediction"], model.predict)
    classifier = getattr(getattr(model, "steps", [("", model)])[-1][1], "classifier_", None)
    ranks = hasattr(classifier, "predict_proba") and getattr(classifier, "n_neighbors", 0) != 1
    if ranks and not is_npy:  # which holds values of one type
        if len(model.classes_) == 2:
            title = f"probability of {visible(str(model.classes_[1]))}"
            found["probability"] = Output([title], lambda X: model.predict_proba(X)[:, 1])
        else:
            found["probability"] = Output(["probability"], lambda X: model.predict_proba(X).max(axis=1))
    return found


def projected(
    outputs: dict[str, Output],
    tables: Iterator[Any],
    taken: Taken,
    plain: bool,
    update: Callable[[int], None],
    data: str,
) -> Iterator[Any]:
    """The tables with what is written in the place of their features, as objects where that is of several kinds."""
    done = 0
    for table in tables:
        try:
            X = taken.prepared(table)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "X does not have valid feature names")  # they were matched
                parts = [own.compute(X) for own in outputs.values()]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{data}: {in_file(error, done)}") from error
        parts = [part.toarray() if hasattr(part, "toarray") else part for part in parts]  # features of sparse data
        Z = np.column_stack(parts if len(parts) == 1 else [part.astype(object) for part in parts])
        done += len(table)
        update(done)
        known = [own.names or [f"column {j}" for j in range(parts[0].shape[1])] for own in outputs.values()]
        written = replace(table, X=Z, feature_names=[name for names in known for name in names])
        yield replace(written, y=None, ids=None) if plain else written


def safe(table: Any) -> Any:
    """A table whose text cannot steer the terminal that it is printed to."""
    shown = np.vectorize(lambda cell: visible(cell) if isinstance(cell, str) else cell, otypes=[object])
    text = [name for name in ("X", "y", "ids") if getattr(getattr(table, name), "dtype", np.dtype(int)).kind in "OU"]
    names = [visible(name) for name in table.feature_names]
    return replace(table, feature_names=names, **{name: shown(getattr(table, name)) for name in text})


def column_name(column: str | None, default: str, columns: bool) -> str:
    """The name of a column in the output. Neither a number nor a file of labels is such a name."""
    if column is None or re.fullmatch(r"-?\d+", column):
        return default
    return column if columns or not os.path.exists(column) else default


def imported(name: str) -> Any:
    """A module that the user asks for."""
    if os.getcwd() not in sys.path:
        # At the end of the path, so that a file of this folder replaces nothing that is installed.
        sys.path.append(os.getcwd())
    if not re.fullmatch(r"\w+(\.\w+)*", name) or name.endswith(".py"):
        refuse(f"{name!r} is no module; name it as in import mymethods", "--import")
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module exists, but an import inside it fails
        refuse(f"there is no module {name!r}, neither installed nor in this folder", "--import")
    except Exception as error:
        raise RuntimeError(f"--import {name}: {type(error).__name__}: {error}") from error


def in_this_folder(modules: list[str] | None) -> list[str]:
    """The files of those modules that are in the current folder."""
    return [f"{name.replace('.', os.sep)}{end}" for name in modules or [] for end in (".py", f"{os.sep}__init__.py")]
