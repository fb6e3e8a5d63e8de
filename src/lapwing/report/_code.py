"""The program that gives a number of the report again."""

from __future__ import annotations

import inspect
import sys
from math import isfinite
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ..graphs import Combination, Graph, Intersection, Scaled
from ..selection import takes_unknown_for_a_class

LONGEST = 1000  # entries of an array that is written out

LABELLED = """\
model = {model}
cv = {splitter}
scores = cross_val_score(make_pipeline(model, KNeighborsClassifier(1)), X, y, cv=cv)
print(f"1-NN accuracy on held-out rows: {{scores.mean():.4f}}")  # {mean:.4f}
Z = model.fit(X, y).transform(X)"""

PARTLY_LABELLED = """\
model = {model}
labels, scores = np.ravel(np.asarray(y, dtype=object)), []
known = (labels != -1) & (labels != "-1")  # -1: label unknown
y = np.full(len(labels), -1)
y[known] = np.unique(labels[known], return_inverse=True)[1]
for train, test in {splitter}.split(X, y):
    {fit}
    train, test = train[known[train]], test[known[test]]
    nearest = KNeighborsClassifier(1).fit(model.transform(X[train]), y[train])
    scores.append(nearest.score(model.transform(X[test]), y[test]))
scores = np.array(scores)
print(f"1-NN accuracy on held-out rows: {{scores.mean():.4f}}")  # {mean:.4f}"""

UNLABELLED = """\
model = {model}
scores = []
for train, test in {splitter}.split(X):
    Z = model.fit(X[train]).transform(X[test])
    scores.append(neighborhood_preservation(X[test], Z, n_neighbors={n_neighbors})[2])
scores = np.array(scores)
print(f"recall of {n_neighbors} neighbours on held-out rows: {{scores.mean():.4f}}")  # {mean:.4f}
Z = model.fit(X).transform(X)"""


def program(comparison: Any, method: str) -> str:
    """Python that scores the method at its chosen dimension as the comparison did; it needs ``X`` and, with labels, ``y``."""
    [row] = [row for row in comparison.summary() if row["method"] == method]
    code = Expressions()
    model, splitter = code(comparison.estimator(method)), code.splitter(comparison.splitter)
    labels = comparison.labels
    if labels is None:
        code.need("numpy", "np")
        code.need("lapwing.comparison", "neighborhood_preservation")
        body, data = UNLABELLED, "X: array of shape {n}"
    elif (labels < 0).any():
        code.need("numpy", "np")
        code.need("sklearn.neighbors", "KNeighborsClassifier")
        body, data = PARTLY_LABELLED, "X: array of shape {n}; y: its labels, -1 where unknown"
    else:
        code.need("sklearn.model_selection", "cross_val_score")
        code.need("sklearn.neighbors", "KNeighborsClassifier")
        code.need("sklearn.pipeline", "make_pipeline")
        body, data = LABELLED, "X: array of shape {n}; y: its labels"
    fit = "model.fit(X[train], y[train])"
    if takes_unknown_for_a_class(comparison.estimator(method)):
        fit = "model.fit(X[train[known[train]]], y[train[known[train]]])"
    shape = (comparison.n_samples, comparison.n_features)
    text = body.format(model=model, splitter=splitter, mean=row["mean"], n_neighbors=comparison.n_neighbors, fit=fit)
    return f"{code.imports()}\n\n# {data.format(n=shape)}, rows in the same order\n{text}\n"


class Expressions:
    """Estimators and graphs as the Python that makes them, and the imports it needs.

    What cannot be written gets a name, and a line among the imports that says so: classes and functions of the program itself,
    large arrays.
    """

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {}
        self.unwritten: dict[str, Any] = {}

    def need(self, module: str, name: str) -> None:
        self.names.setdefault(module, set()).add(name)

    def imports(self) -> str:
        lines = ["import numpy as np"] if "numpy" in self.names else []
        found = sorted(item for item in self.names.items() if item[0] != "numpy")
        lines += [f"from {module} import {', '.join(sorted(names))}" for module, names in found]
        return "\n".join(lines + [f"# define first: {name}, {_kind(value)}" for name, value in self.unwritten.items()])

    def __call__(self, value: Any, name: str = "value") -> str:
        """The expression of a value; ``name`` is what it is called where it has none."""
        if isinstance(value, Combination):
            sign, scale = ("-", -value.scale) if value.scale < 0 else ("+", value.scale)
            times = "" if scale == 1 else f"{self(scale)} * "
            left = self._operand(value.left) if isinstance(value.left, Intersection) else self(value.left)
            return f"{left} {sign} {times}{self._operand(value.right)}"
        if isinstance(value, Scaled):
            return f"{self(value.scale)} * {self._operand(value.graph)}"
        if isinstance(value, Intersection):
            return f"{self._operand(value.left)} & {self._operand(value.right)}"
        if isinstance(value, Pipeline):
            self.need("sklearn.pipeline", "make_pipeline")
            return f"make_pipeline({', '.join(self(step, name) for name, step in value.steps)})"
        if isinstance(value, BaseEstimator | Graph):
            return self._call(value)
        return self._plain(value, name)

    def splitter(self, splitter: Any) -> str:
        if not repr(splitter).startswith(f"{type(splitter).__name__}("):
            return self._unwritten("splitter", splitter)
        self._named(type(splitter), "")
        return repr(splitter)

    def _operand(self, graph: Any) -> str:
        text = self(graph)
        return f"({text})" if isinstance(graph, (Combination, Intersection, Scaled)) else text

    def _call(self, estimator: Any) -> str:
        """Only what is not the default, or a size; the first parameter without its name where it may be so."""
        arguments = []
        parameters = list(inspect.signature(type(estimator)).parameters.values())
        for i, parameter in enumerate(parameters):
            name, value = parameter.name, getattr(estimator, parameter.name)
            if not _same(value, parameter.default):
                named = i > 0 or parameter.kind is parameter.KEYWORD_ONLY
                arguments.append(f"{name}={self(value, name)}" if named else self(value, name))
        return f"{self._named(type(estimator), '')}({', '.join(arguments)})"

    def _plain(self, value: Any, name: str) -> str:
        """Numbers, text, what holds them, and what has a name."""
        if isinstance(value, np.generic):
            return self._plain(value.item(), name)
        if isinstance(value, float) and not isfinite(value):
            return f'float("{value}")'
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        if type(value) is dict:
            return "{" + ", ".join(f"{self(key)}: {self(item, name)}" for key, item in value.items()) + "}"
        if type(value) in (list, tuple):
            items = ", ".join(self(item, name) for item in value)
            return f"[{items}]" if type(value) is list else f"({items},)" if len(value) == 1 else f"({items})"
        if type(value) is np.ndarray and value.size <= LONGEST and value.dtype.kind in "biuf":
            self.need("numpy", "np")
            return f'np.array({self(value.tolist())}, dtype="{value.dtype.name}")'
        return self._named(value, name) if hasattr(value, "__qualname__") else self._unwritten(name, value)

    def _named(self, thing: Any, name: str) -> str:
        """A class or a function, imported from where it is public."""
        module = _home(thing)
        if module is None:
            local = not all(part.isidentifier() for part in thing.__qualname__.split("."))
            return self._unwritten((name or thing.__name__) if local else thing.__qualname__, thing)
        if module == "numpy":
            self.need(module, "np")
            return f"np.{thing.__qualname__}"
        self.need(module, thing.__qualname__.split(".")[0])
        return thing.__qualname__

    def _unwritten(self, name: str, value: Any) -> str:
        while self.unwritten.setdefault(name, value) is not value:
            name += "_"
        return name


def _kind(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"{type(value).__name__} of shape {value.shape}"
    return f"your {'class' if isinstance(value, type) else 'function' if callable(value) else type(value).__name__}"


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and np.ndim(value) == 0 and bool(value == default))


def _home(thing: Any) -> str | None:
    """The shortest module that has it; None for what the program itself, or a function, has defined."""
    parts = (getattr(thing, "__module__", None) or "").split(".")
    for module in (".".join(parts[: i + 1]) for i in range(len(parts))):
        try:
            if module != "__main__" and attrgetter(thing.__qualname__)(sys.modules[module]) is thing:
                return module
        except (AttributeError, KeyError):
            continue
    return None
