"""The program that gives a number of the report again."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ..comparison import Comparison
from ..comparison._fits import takes_unknown_for_a_class
from ..graphs import Graph

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


def program(comparison: Comparison, method: str) -> str:
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
    """Estimators and graphs as the Python that makes them, and the imports it needs."""

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = {}

    def need(self, module: str, name: str) -> None:
        self.names.setdefault(module, set()).add(name)

    def imports(self) -> str:
        lines = ["import numpy as np"] if "numpy" in self.names else []
        found = sorted(item for item in self.names.items() if item[0] != "numpy")
        return "\n".join(lines + [f"from {module} import {', '.join(sorted(names))}" for module, names in found])

    def __call__(self, value: Any) -> str:
        if isinstance(value, Graph):
            text = repr(value)
            for part in (value, *value.get_params().values()):
                if (
                    isinstance(part, Graph) and f"{type(part).__name__}(" in text
                ):  # not so Scaled, which prints as 2 * ...
                    self.need(_public(type(part)), type(part).__name__)
            return text
        if isinstance(value, Pipeline):
            self.need("sklearn.pipeline", "make_pipeline")
            return f"make_pipeline({', '.join(self(step) for _, step in value.steps)})"
        if isinstance(value, BaseEstimator):
            return self._call(value)
        return repr(value.item() if isinstance(value, np.generic) else value)

    def splitter(self, splitter: Any) -> str:
        self.need(_public(type(splitter)), type(splitter).__name__)
        return repr(splitter)

    def _call(self, estimator: BaseEstimator) -> str:
        """Only what is not the default; the first parameter without its name where it may be so."""
        kind = type(estimator)
        self.need(_public(kind), kind.__name__)
        arguments = []
        parameters = list(inspect.signature(kind).parameters.values())
        for i, parameter in enumerate(parameters):
            value = getattr(estimator, parameter.name)
            if not _same(value, parameter.default):
                named = i > 0 or parameter.kind is parameter.KEYWORD_ONLY
                arguments.append(f"{parameter.name}={self(value)}" if named else self(value))
        return f"{kind.__name__}({', '.join(arguments)})"


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and np.ndim(value) == 0 and bool(value == default))


def _public(kind: type) -> str:
    """The module a class is imported from: its own, up to the first private part."""
    parts = kind.__module__.split(".")
    if parts[0] == "lapwing":
        return "lapwing.graphs" if parts[1] == "graphs" else "lapwing"
    return ".".join(parts[: next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))])
