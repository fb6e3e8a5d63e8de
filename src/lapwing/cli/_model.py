"""Methods, data and models as the commands take them: what is fitted, how it is applied, and what a model file holds."""

from __future__ import annotations

import ast
import operator
import os
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from inspect import getdoc, isclass, signature
from itertools import groupby
from typing import Any
from zipfile import is_zipfile

import numpy as np
import typer
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.utils import get_tags

from .. import comparison, graphs, tables
from ..graphs import KNN, Graph, On, Reconstruction
from ..inspection import loadings
from ..methods import METHODS, described, plain
from ..persistence import load, versions
from ..reducers import FreeReducer, ProjectingReducer, Reducer, resolve_graph
from ..selection import SemiSupervised
from ..tables import UnseenCategories, preparation_of
from ..tables.preparation import NAMES_ROWS, plain_rows
from ..tables.reading import in_file
from ..verification import flattened, is_verifiable, verify
from ._options import (
    Reading,
    counted,
    did_you_mean,
    print_facts,
    print_json,
    print_table,
    refuse,
    say,
    some,
    visible,
    warn,
)

WIDTH, LONGEST_NAME = 80, 18  # characters of a line, and of the name of a method
GOALS = {
    "neighbours": "Neighbours: what is near, or linked, stays near",
    "classes": "Classes: samples of one class come together, other classes apart",
    "patches": "Patches: the shape of each neighbourhood is kept",
    "representation": "Representation: principal components that a graph or labels guide",
    "features": "Features: choose some of the columns",
}
# What a formula may call: graphs, and the transformers that On may apply to the rows.
TRANSFORMERS = (PCA, TruncatedSVD, MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler)
CALLED = (*(getattr(graphs, name) for name in graphs.__all__), *TRANSFORMERS)
KNOWN = {cls.__name__: cls for cls in CALLED if isclass(cls) and cls not in (Graph, graphs.Precomputed)}
SIGNS = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
    **{ast.BitAnd: operator.and_, ast.BitOr: operator.or_},
}
LEARNT = ("settings", "rank", "n_pca", "n_connected_components", "graph", "eigenvalues", "solver", "certificate")
# Names of columns, where a model knows them, and what makes them.
Output = tuple[list[str] | None, Callable[[Any], Any]]
Choice = dict[str, str | None]  # what the user wrote of the graph and of dimensions


# Methods


def _facts(cls: Any) -> dict[str, str]:
    return {name: plain(text) for name, text in described(cls).items()}


def list_methods(json: bool) -> None:
    """Print what each method is for."""
    rows = [_facts(method) for method in METHODS.values()]
    if json:
        return print_json(rows)
    for family, members in groupby(rows, key=lambda row: row["family"]):
        typer.echo(GOALS[family])
        texts = {row["method"]: row["description"] + " Needs labels." * (row["labels"] == "needed") for row in members}
        print_facts([[f"  {name:{LONGEST_NAME}}", text] for name, text in texts.items()], WIDTH)
        typer.echo()
    return typer.echo("lapwing methods NAME has the equation and the parameters of a method.")


def describe_method(name: str, json: bool) -> None:
    """Print the equation of a method and all its parameters, as ``help`` of Python does."""
    cls = named(name, METHODS, "NAME")
    about, text = described(cls), re.sub(r":\w+:`~?([^`]*)`", r"\1", getdoc(cls) or "").replace("`", "")
    if json:
        return print_json({**_facts(cls), "parameters": cls().get_params(deep=False), "text": text})
    algebra = f"{about['minimises']}; map: {about['map']}; constraint: {about['constraint']}; labels: {about['labels']}"
    return typer.echo(plain(f"{cls.__name__} minimises {algebra}.\n\n{text}"))


def named(name: str, known: dict[str, Any], option: str) -> Any:
    """The method of this name, whatever way it is written."""
    names = {_key(own): own for own in known}
    if _key(name) not in names:
        refuse(f"there is no method {name!r}; {did_you_mean(name, known)}", option)
    return known[names[_key(name)]]


def _key(name: str) -> str:
    """A name in lower case without punctuation, by which names are compared."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def parsed(text: str) -> Any:
    """What a text stands for: a graph, its name, a number of neighbours, or None for the method's own graph.

    A formula, such as ``KNN(5) + 0.5 * SameClass()``, calls nothing but constructors of public graphs and transformers.
    """
    plain = text.strip().lower()
    if plain in ("supervised", "semi", "propagate", "none"):
        return None if plain == "none" else plain
    if re.fullmatch("[1-9][0-9]*", plain):
        return int(plain)
    try:
        found = _value(ast.parse(text.strip(), mode="eval").body)
        if not isinstance(found, Graph):
            raise ValueError("it is no graph, and no number of neighbours")
    except (ArithmeticError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        why = f"it is no formula ({error.msg})" if isinstance(error, SyntaxError) else str(error) or "it is no formula"
        form = "supervised, semi, propagate, none, a number of neighbours, or a formula such as 'KNN(5) + 0.5 * SameClass()'"
        refuse(f"{text!r}: {why}. Write {form}", "--graph")
    return found


def _value(node: ast.AST) -> Any:
    """What a part of a formula stands for: graphs with signs between them, a call of what is known, or a plain value."""
    match node:
        case ast.BinOp() if type(node.op) in SIGNS:
            sides = _value(node.left), _value(node.right)
            if all(isinstance(side, Graph | int | float) for side in sides):  # a text times 10**10 fills the memory
                return SIGNS[type(node.op)](*sides)
        case ast.Call(func=ast.Name(name)) if name in KNOWN:
            return KNOWN[name](*map(_value, node.args), **{str(own.arg): _value(own.value) for own in node.keywords})
        case ast.Name(name) if name in KNOWN:
            return KNOWN[name]()  # KNN stands for KNN()
        case ast.Name(name) | ast.Call(func=ast.Name(name)):
            raise ValueError(f"there is no graph {name!r} to be written here; {did_you_mean(name, KNOWN)}")
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise ValueError(f"{ast.unparse(node)!r} is no graph, number, text or list, and may not stand there") from error


def configured(method: str, choice: Choice, parameters: dict[str, Any]) -> Any:
    """An unfitted method, of lapwing or one that ``compare`` sets beside them, with what options say. All must fit it."""
    estimator = named(method, comparison.METHODS | {name: cls() for name, cls in METHODS.items()}, "--method")
    known = estimator.get_params()
    steps = [f"{step}__n_components" for step, _ in getattr(estimator, "steps", [])]
    size = [own for own in (*steps, "n_features_to_select", "n_components") if own in known][-1]
    for key in parameters:
        if key == size or key.partition("__")[0] == "graph":
            option = "-d" if key == size else "--graph, as in 'KNN(9, weights=\"binary\")'"
            refuse(f"{key} is given by {option}", "--param")
    if choice["graph"] is not None:
        parameters = parameters | {"graph": parsed(choice["graph"])}
    if choice["dimensions"] is not None:
        parameters = parameters | {size: _number(choice["dimensions"])}
    return clone(estimator).set_params(**parameters)


def _number(text: str) -> Any:
    """What ``--dimensions`` stands for: a number, all, one less than classes, or a number per mode."""
    if text in ("all", "auto"):
        return None if text == "all" else text
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*)*", text):
        refuse(f'{text!r}: it is neither a number, nor "auto", nor "all", nor like 8x6', "--dimensions")
    numbers = tuple(map(int, text.split("x")))
    return numbers[0] if len(numbers) == 1 else numbers


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


# Fitting


def read_prepared(data: str, reading: Reading, targets: bool = False, **more: Any) -> Any:
    """Read the data, prepare its columns, and say what was done."""
    table = tables.read(data, mixed=True, targets=targets, **reading.read, **more)
    for note in table.notes:
        say(note)
    try:
        prepared = tables.prepare(table, **reading.prepare)
    except ValueError as error:
        raise ValueError(f"{data}: {error}") from error
    for line in prepared.lines:
        say(line)
    return prepared


def leaks_of_ids(prepared: Any) -> list[Any]:
    """A column that was left out since it names the rows, where its order tells the labels all the same."""
    left_out = getattr(prepared.steps[0][1], "left_out_", {}) if prepared.steps else {}
    names, table = [name for name, why in left_out.items() if why == NAMES_ROWS], prepared.table
    if table.ids is None or not names:
        return []
    found = comparison.find_leaks(table.ids[:, None], table.y, feature_names=names[:1])
    order = ", so the order of the rows may tell the labels; the column itself is left out already"
    return [leak._replace(message=leak.message.partition(": is it known")[0] + order) for leak in found]


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


def fitted(estimator: Any, choice: Choice, data: str, reading: Reading, judge: str | None) -> tuple[Any, Any]:
    """The model that is fitted to a file, which predicts where there is a judge, and the shape of its rows."""
    takes_numbers = reads_targets(estimator)
    if judge and takes_numbers:
        refuse("the graph reads labels as numbers, so that there are no classes to be named", "--predict")
    prepared = read_prepared(data, reading, targets=takes_numbers)
    estimator, given = prepared.settled(estimator), prepared.table
    on = [part.what for part in estimator.get_params().values() if isinstance(part, On)]
    if prepared.is_scaled and any(not hasattr(what, "fit") for what in on):  # columns, and no transformer
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
    if table.y is not None and not takes_numbers and table.image_shape is None:
        X, names = given.X if prepared.given is None else prepared.given, source_columns(prepared)
        for leak in [*leaks_of_ids(prepared), *comparison.find_leaks(X, given.y, feature_names=names)]:
            warn(f"warning: {leak.message}")
    if sparse.issparse(table.X) and not get_tags(estimator).input_tags.sparse:
        raise ValueError(
            f"{data}: {method_name(estimator)} takes no sparse data; write it as dense rows, or use lpp or lpi"
        )
    if "image_shape" in estimator.get_params() and table.image_shape is not None:
        estimator.set_params(image_shape=table.image_shape, flatten=True)
    if judge:
        known = ~unknown(table.y)
        classifier = comparison.checked_judge(judge, table.X[known], table.y[known])
        if judge in ("auto", "knn"):
            say(f"classes are named by {comparison.in_words(classifier)}, chosen among the rows")
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
    """The rows to fit. The graph is set to read the labels, unless the user chose one, or it is said that they are not used."""
    missing, own = unknown(table.y), last_step(estimator)
    partly, has_graph = bool(missing.any()), "graph" in estimator.get_params()
    if partly:
        say(f"{counted(int(missing.sum()), 'label')} of {len(table):,} unknown")
    if partly and get_tags(own).target_tags.required and not isinstance(own, Reducer):
        say(f"{method_name(own)} is fitted to the {counted(int((~missing).sum()), 'row')} whose label is known")
        return table.take(~missing)
    # "auto" asks for labels whatever the graph, which is what is looked at here.
    sized = {"n_components": 2} if isinstance(getattr(estimator, "n_components", None), str) else {}
    # Those that work with any graph keep together what it links, also for new rows.
    takes_any = has_graph and isinstance(estimator, Reducer) and not isinstance(estimator, FreeReducer)
    if reads_targets(own) or get_tags(clone(estimator).set_params(**sized)).target_tags.required:
        pass
    elif choice["graph"] is not None:
        say(f"the {column} are NOT USED: --graph asks for a graph without them (--graph supervised uses them)")
    elif not (takes_any and isinstance(estimator.default_graph(estimator.n_neighbors), KNN | Reconstruction)):
        way = " (--graph semi uses them)" if has_graph else ""
        say(f"the {column} are NOT USED: {type(estimator).__name__} looks at the features alone{way}")
    else:
        estimator.set_params(graph="semi" if partly else "supervised")
        graph = resolve_graph("graph", estimator.graph, estimator.default_graph, estimator.n_neighbors)
        kind = "semi-supervised" if partly else "supervised"
        say(f"the {column} are used: {kind} graph {graph!r} (--graph none leaves them out)")
    words = ("supervised", "semi", "propagate")
    if choice["dimensions"] is None and isinstance(estimator, ProjectingReducer) and estimator.graph in words:
        estimator.set_params(n_components="auto")  # as many as tell classes apart
    return table


def method_name(model: Any) -> str:
    return type(last_step(model)).__name__


# Applying


class Taken:
    """What a model takes of a table: all of it by its preparation, or numbers and text, as first steps of other pipelines do."""

    def __init__(self, model: Any):
        self.preparation = preparation_of(model)
        names = getattr(model, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        words = [] if self.preparation is not None else tables.text_columns(model)
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
        fitted, found = self._image_shape, table.image_shape
        if fitted is not None and found is not None and fitted != tuple(found):
            given, wanted = (" x ".join(map(str, shape)) for shape in (found, fitted))
            remedy = f"--resize {fitted[1]}x{fitted[0]} makes them so, where all are grey or all have colours"
            raise ValueError(f"images of {given}, but the model was fitted to {wanted} (height x width); {remedy}")
        with warnings.catch_warnings(record=True, action="always") as caught:
            X = self.given(table)
            X = X if self.preparation is None or not table.is_mixed else self.preparation.transform(X)
        for warning in caught:
            if isinstance(warning.message, UnseenCategories):
                for name, counts in warning.message.counts.items():
                    self._unseen[name].update(counts)
            else:
                warnings.warn(warning.message, stacklevel=2)
        if hasattr(X, "tocsr"):
            return X  # sparse rows have no gaps
        gaps = (X != X) | (X == "") if X.dtype == object else X != X
        if gaps.any() and not self._fills_gaps:
            i, j = (int(places[0]) for places in gaps.nonzero())
            where = f"column {str(j) if self.names is None else self.names[j]!r}: a value is missing (the first in row {i + 1})"
            raise ValueError(f"{where}, and the model fills in none: remove such rows, or use one of fit --impute")
        self._gaps += int(gaps.sum())
        return X

    def tell(self) -> None:
        """Print what was counted."""
        if self._gaps:
            say(f"{counted(self._gaps, 'missing value')} imputed")
        for name, counts in self._unseen.items():
            rows, new = counted(counts.total(), "row"), some(sorted(counts))
            say(f"column {name!r} has values that the model does not know, which count as none, in {rows}: {new}")


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
    if modules and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # where no other folder has a module of this name
    try:
        names = [value for name in modules or [] for value in vars(import_module(name)).values()]
    except Exception as error:
        raise RuntimeError(f"--import {', '.join(modules or [])}: {type(error).__name__}: {error}") from error
    if os.path.isfile(path) and not is_zipfile(path):
        raise ValueError(f"{path!r} is no model that lapwing can read: not a zip file; MODEL comes first, then DATA")
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


# Inspecting


def print_model(model: Any, path: str, json: bool) -> None:
    """Print what is in a model."""
    steps, names = flattened(model), output_names(model)
    estimator = next((step for step in reversed(steps) if isinstance(step, Reducer)), last_step(model))
    arrays = {name: value.shape for name, value in vars(estimator).items() if hasattr(value, "shape")}
    classifier = getattr(final_step(model), "classifier_", None)
    parts = [*steps, *([] if classifier is None else [classifier])]
    facts = {
        "method": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        "steps": [type(part).__name__ for part in parts] if model is not estimator else None,
        "columns": _columns(model),
        # None where the first step is passed through and the next does not say.
        "features": next((part.n_features_in_ for part in [model, *steps] if hasattr(part, "n_features_in_")), None),
        "feature_names": getattr(model, "feature_names_in_", None),
        "image_shape": getattr(estimator, "image_shape_", None),
        "outputs": None if names is None else len(names),
        **{name: getattr(estimator, f"{name}_", None) for name in LEARNT},
        "arrays": arrays,
        "file": {**versions(path), "bytes": os.path.getsize(path)},
    }
    if json:
        return print_json(facts)
    known = signature(type(estimator)).parameters
    changed = {key: value for key, value in facts["parameters"].items() if repr(value) != repr(known[key].default)}
    about = re.sub(r":\w+:`(\w+)`", r"\1", (type(estimator).__doc__ or "").strip().splitlines()[0])
    facts |= {"method": f"{facts['method']}, {about}", "parameters": changed or "defaults"}
    lines = [[name.replace("_", " "), " ".join(_shown(value).split())] for name, value in facts.items()]
    return print_facts([line for line in lines if line[1]])


def print_loadings(model: Any, most: int, json: bool) -> None:
    """Print the features of largest loading."""
    rows = loadings(model if hasattr(model, "transform") else before_classes(model)).rows(most)
    if json:
        return print_json(rows)
    lines = [[f"{value:+.3f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows]
    return print_table(list(rows[0]), lines, n_left=3, n_least=4)


def verified(model: Any, path: str, data: str, reading: Reading) -> tuple[Any, int]:
    """What fitting a model anew to its data has found, and how many rows these have."""
    if not is_verifiable(model):
        raise ValueError(f"{path}: {method_name(model)} is none of lapwing's methods, and only these can be verified")
    taken = Taken(model)
    how = {"mixed": True, "targets": reads_targets(last_step(model)), "n_features": model.n_features_in_}
    table = tables.read(data, features=taken.names, **how, **reading.read)
    table = with_labels(model, replace(table, X=taken.given(table)), data)
    return verify(model, table.X, table.y), len(table)


def print_verification(found: Any, json: bool) -> None:
    """Print whether a model holds, and why not."""
    if json:
        return print_json({name: getattr(found, name) for name in ("holds", "certificate", "failures", "unknown")})
    lines = [["verdict", "holds" if found.holds else "does NOT hold"]]
    lines += [["does not hold", why] for why in found.failures]
    lines += [["certificate", _shown(found.certificate)]] if found.certificate else []
    return print_facts([*lines, *(["not found anew", what] for what in found.unknown)])


def _shown(value: Any) -> str:
    """A fact in words: the first of many values, and how many there are."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, dict):
        return "; ".join(f"{name}: {_shown(part) or part}" for name, part in value.items())
    if isinstance(value, list | tuple):
        parts = list(map(_shown, value))
        return some(parts) if all(isinstance(part, str | int | float) for part in value) else "; ".join(parts)
    return f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)


def _columns(model: Any) -> dict[str, list[str]] | None:
    """The names of the columns that the preparation of a model takes, grouped by what they hold."""
    columns = getattr(preparation_of(model), "columns_", {})
    kinds = dict.fromkeys(column["kind"] for column in columns.values())
    return {kind: [name for name, own in columns.items() if own["kind"] == kind] for kind in kinds} or None
