"""The program that computes a number of the report again."""

from __future__ import annotations

import inspect
import re
import sys
from math import isfinite
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ..graphs import Combination, Graph, Intersection, Scaled, Union
from ..selection import LabelledSplit, takes_unknown_for_a_class

LONGEST = 1000  # an array is written out up to this many entries

LABELLED = """\
model = {model}
cv = {splitter}
scores = cross_val_score({judged}, X, y{keys}, cv=cv{scoring})
print(f"{what} on held-out rows: {{scores.mean():.4f}}")  # {mean:.4f}
Z = {fitted}.transform(X)"""

LOOP = """\
model = {model}
cv = {splitter}
scores = []
for train, test in cv.split(X, {y}{keys}):
{body}
scores = np.array(scores)
print(f"{what} on held-out rows: {{scores.mean():.4f}}")  # {mean:.4f}
{last}"""

PREPARED = """\
    F = preparation.fit(X[train]).transform(X)
"""

JUDGED = """\
    judged = SemiSupervised(model).fit(X[train], y[train])
    scores.append(labelled_scorer("{scoring}")(judged, X[test], y[test]))"""

KEPT = """\
    Z = model.fit(X[train]{y_train}).transform(X[test])
    scores.append(neighborhood_preservation(X[test], Z, n_neighbors={n_neighbors})[{place}])"""

RETRIEVED = """\
    Z = SemiSupervised(model).fit(X[train], y[train]).reducer_.transform(X)
    index = train[known[train]]
    test = test[known[test]]
    test = test[np.linspace(0, len(test) - 1, 500).astype(int)] if len(test) > 500 else test
    scores.append(retrieval_scores(Z[test], y[test], Z[index], y[index])[{place}])"""

CLUSTERED = """\
    Z = SemiSupervised(model).fit(X[train], y[train]).reducer_.transform(X[test[known[test]]])
    n_clusters = min(len(set(y[train[known[train]]])), len(Z))
    clusters = KMeans(n_clusters, n_init=4, random_state={seed}).fit_predict(Z)
    scores.append({score}(y[test[known[test]]], clusters))"""

KNOWN = """\
y = np.ravel(np.asarray(y))
known = np.array([str(label) != "-1" for label in y])  # -1: label unknown
"""

SCORING = {"accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "f1": "f1_macro"}
NEIGHBORHOOD = ("trustworthiness", "continuity", "recall")
RETRIEVAL = ("map", "recall@5")
CLUSTERING = {
    "clustering": ("lapwing.metrics", "clustering_accuracy"),
    "nmi": ("sklearn.metrics", "normalized_mutual_info_score"),
}
WHAT = {
    "accuracy": "1-NN accuracy",
    "balanced_accuracy": "1-NN balanced accuracy",
    "f1": "1-NN macro F1",
    "map": "mean average precision",
    "recall@5": "recall at 5",
    "clustering": "clustering accuracy",
    "nmi": "clustering NMI",
}


def program(comparison: Any, method: str, loading: str | None = None) -> str:
    """Python that scores the method at its chosen dimension as the comparison did.

    ``loading`` is Python that defines ``X`` and ``y``, ``preparation`` where rows were prepared, and ``groups`` or ``time``
    where rows were kept together or in order. Without it a comment says what these are.
    """
    [row] = [row for row in comparison.summary() if row["method"] == method]
    code, criterion, labels = Expressions(), comparison.criterion, comparison.labels
    estimator = comparison.estimator(method)
    partly = labels is not None and bool((labels < 0).any())
    filled = {
        "model": code(estimator),
        "splitter": code.splitter(comparison.splitter),
        "mean": row["mean"],
        "what": WHAT.get(criterion, f"{criterion} of {comparison.n_neighbors} neighbours"),
        "fitted": "model.fit(X)" if labels is None else "model.fit(X, y)",
        "y": "y" if labels is not None else "None" if comparison.keys is not None else "",
    }
    if partly and takes_unknown_for_a_class(estimator):
        filled["fitted"] = "SemiSupervised(model).fit(X, y).reducer_"
        code.need("lapwing.selection", "SemiSupervised")
    key = comparison.key_name
    if criterion in SCORING and (comparison.prepare is None or not partly):
        if comparison.prepare is not None:
            filled["model"] = f"make_pipeline(preparation, {filled['model']})"
        body = _by_scorer(code, partly, criterion, key, filled)
    else:
        body = _by_loop(code, comparison, criterion, key, filled)
    shape = f"shape {(comparison.n_samples, comparison.n_features)}"
    shape = shape if comparison.prepare is None else f"{comparison.n_samples} rows, as compare was given them"
    unknown = ", -1 where unknown" if partly else ""
    parts = [f"X: array of {shape}", *([f"y: its labels{unknown}"] if labels is not None else [])]
    parts += [f"{key}: one value per row"] if key else []
    start = f"# {'; '.join(parts)}; rows in the same order" if loading is None else f"{loading.strip()}\n"
    if loading is None and comparison.prepare is not None:
        start = f"{start}\npreparation = {code(comparison.prepare)}"
    return f"{code.imports()}\n\n{start}\n{body}\n"


def _by_scorer(code: Expressions, partly: bool, criterion: str, key: str | None, filled: dict[str, Any]) -> str:
    """The score by scikit-learn's own cross-validation."""
    code.need("sklearn.model_selection", "cross_val_score")
    scoring = "" if criterion == "accuracy" else f', scoring="{SCORING[criterion]}"'
    if partly:
        code.need("lapwing.selection", "SemiSupervised")
        judged = "SemiSupervised(model)"
        if scoring:
            code.need("lapwing.selection", "labelled_scorer")
            scoring = f', scoring=labelled_scorer("{SCORING[criterion]}")'
    else:
        code.need("sklearn.neighbors", "KNeighborsClassifier")
        code.need("sklearn.pipeline", "make_pipeline")
        judged = "make_pipeline(model, KNeighborsClassifier(1))"
    return LABELLED.format(judged=judged, scoring=scoring, keys=f", groups={key}" if key else "", **filled)


def _by_loop(code: Expressions, comparison: Any, criterion: str, key: str | None, filled: dict[str, Any]) -> str:
    """The score by a loop over folds, for measures that are not scores of a classifier and for rows that each fold prepares."""
    code.need("numpy", "np")
    start = ""
    if criterion in SCORING:
        code.need("lapwing.selection", "SemiSupervised")
        code.need("lapwing.selection", "labelled_scorer")
        body = JUDGED.format(scoring=SCORING[criterion])
    elif criterion in NEIGHBORHOOD:
        code.need("lapwing.comparison", "neighborhood_preservation")
        y_train = ", y[train]" if comparison.labels is not None else ""
        if "SemiSupervised" in filled["fitted"]:
            start, y_train = KNOWN, ""
        body = KEPT.format(n_neighbors=comparison.n_neighbors, place=NEIGHBORHOOD.index(criterion), y_train=y_train)
        if start:
            body = body.replace("model.fit(X[train])", "SemiSupervised(model).fit(X[train], y[train]).reducer_")
    else:
        start = KNOWN
        code.need("lapwing.selection", "SemiSupervised")
        if criterion in RETRIEVAL:
            code.need("lapwing.metrics", "retrieval_scores")
            body = RETRIEVED.format(place=RETRIEVAL.index(criterion))
        else:
            code.need("sklearn.cluster", "KMeans")
            code.need(*CLUSTERING[criterion])
            body = CLUSTERED.format(seed=comparison.random_state, score=CLUSTERING[criterion][1])
    keys = f", {key}" if key else ""
    last = f"Z = {filled['fitted']}.transform(X)"
    if comparison.prepare is not None:  # F takes the place of X
        body = PREPARED + re.sub(r"\bX\b", "F", body)
        last = "F = preparation.fit_transform(X)\n" + re.sub(r"\bX\b", "F", last)
    text = LOOP.format(body=body, keys=keys, last=last, **filled)
    return start + (text.replace("cv.split(X, )", "cv.split(X)") if not keys else text)


class Expressions:
    """Estimators and graphs as the Python that makes them, and the imports it needs.

    Some things cannot be written: classes and functions of the program itself, and large arrays. Each gets a name, and a line
    among the imports says so.
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
        """The expression of a value. A value that cannot be written is called ``name``."""
        if isinstance(value, Combination):
            sign, scale = ("-", -value.scale) if value.scale < 0 else ("+", value.scale)
            times = "" if scale == 1 else f"{self(scale)} * "
            left = self._operand(value.left) if isinstance(value.left, Intersection | Union) else self(value.left)
            return f"{left} {sign} {times}{self._operand(value.right)}"
        if isinstance(value, Scaled):
            return f"{self(value.scale)} * {self._operand(value.graph)}"
        if isinstance(value, Intersection | Union):
            sign = "&" if isinstance(value, Intersection) else "|"
            return f"{self._operand(value.left)} {sign} {self._operand(value.right)}"
        if isinstance(value, Pipeline):
            self.need("sklearn.pipeline", "make_pipeline")
            return f"make_pipeline({', '.join(self(step, name) for name, step in value.steps)})"
        if isinstance(value, BaseEstimator | Graph):
            return self._call(value)
        return self._plain(value, name)

    def splitter(self, splitter: Any) -> str:
        if isinstance(splitter, LabelledSplit):
            self._named(LabelledSplit, "")
            inner = splitter.cv
            return f"LabelledSplit({self.splitter(inner) if hasattr(inner, 'split') else inner})"
        if not repr(splitter).startswith(f"{type(splitter).__name__}("):
            return self._unwritten("splitter", splitter)
        self._named(type(splitter), "")
        return repr(splitter)

    def _operand(self, graph: Any) -> str:
        text = self(graph)
        return f"({text})" if isinstance(graph, Combination | Intersection | Scaled | Union) else text

    def _call(self, estimator: Any) -> str:
        """The call that makes an estimator, with the parameters that are not defaults, and the size.

        The first parameter stands without its name where that is allowed.
        """
        arguments = []
        parameters = list(inspect.signature(type(estimator)).parameters.values())
        for i, parameter in enumerate(parameters):
            name, value = parameter.name, getattr(estimator, parameter.name)
            if not _same(value, parameter.default):
                named = i > 0 or parameter.kind is parameter.KEYWORD_ONLY
                arguments.append(f"{name}={self(value, name)}" if named else self(value, name))
        return f"{self._named(type(estimator), '')}({', '.join(arguments)})"

    def _plain(self, value: Any, name: str) -> str:
        """Numbers, text, containers of these, and what has a name."""
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
        if isinstance(value, np.ufunc) and value in vars(np).values():  # NumPy 1 gives it no __qualname__
            self.need("numpy", "np")
            return f"np.{value.__name__}"
        return self._named(value, name) if hasattr(value, "__qualname__") else self._unwritten(name, value)

    def _named(self, thing: Any, name: str) -> str:
        """A class or a function, imported from the module where it is public."""
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
    """The shortest module name that has the thing; None for what the program itself or a function has defined."""
    parts = (getattr(thing, "__module__", None) or "").split(".")
    for module in (".".join(parts[: i + 1]) for i in range(len(parts))):
        try:
            if module != "__main__" and attrgetter(thing.__qualname__)(sys.modules[module]) is thing:
                return module
        except (AttributeError, KeyError):
            continue
    return None
