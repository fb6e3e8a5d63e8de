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

LONGEST_ARRAY = 1000  # an array is written out up to this many entries

START = """\
model = {model}
cv = {splitter}
"""

END = """
print(f"{what} on held-out rows: {{scores.mean():.4f}}")  # {mean:.4f}
{last}"""

BY_SCORER = """\
scores = cross_val_score({judged}, X, y{keys}, cv=cv, scoring={scoring})"""

BY_LOOP = """\
scores = []
for train, test in cv.split({divided}):
{body}
scores = np.array(scores)"""

PREPARED = """\
    F = preparation.fit(X[train]).transform(X)
"""

JUDGED = """\
    judged = SemiSupervised(model{judge}).fit(X[train], y[train])
    scores.append(labelled_scorer("{name}")(judged, X[test], y[test]))"""

PREDICTED = """\
    judged = make_pipeline(model{judge}).fit(X[train], y[train])
    scores.append(judged.score(X[test], y[test]))"""

KEPT = """\
    some = test[np.linspace(0, len(test) - 1, min(len(test), 500)).astype(int)]
    Z = {fitted}.transform(X[some])
    scores.append(neighborhood_preservation(X[some], Z, n_neighbors={n_neighbors})[{place}])"""

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
    scores.append({name}(y[test[known[test]]], clusters))"""

KNOWN = """\
y = np.ravel(np.asarray(y))
known = np.array([str(label) != "-1" for label in y])  # -1: label unknown
"""

# The names of measures.
MEASURES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1 (mean of classes)",
    "roc_auc": "ROC AUC",
    "r2": "R²",
    "map": "mean average precision",
    "recall@5": "recall at 5",
    "clustering": "clustering accuracy",
    "nmi": "clustering NMI",
    "trustworthiness": "trustworthiness",
    "continuity": "continuity",
    "recall": "recall of neighbours",
}
SCORING = {"accuracy": "accuracy", "balanced_accuracy": "balanced_accuracy", "f1": "f1_macro", "r2": "r2"}
APART = ("lapwing.selection", "SemiSupervised")
# What a loop over folds does for each measure, what that imports, and the place of the measure among several.
IN_FOLD: dict[str, tuple[str, list[tuple[str, str]], int]] = {
    **dict.fromkeys(SCORING, (JUDGED, [APART, ("lapwing.selection", "labelled_scorer")], 0)),
    **{
        name: (KEPT, [("lapwing.metrics", "neighborhood_preservation")], place)
        for place, name in enumerate(("trustworthiness", "continuity", "recall"))
    },
    "r2": (PREDICTED, [("sklearn.pipeline", "make_pipeline")], 0),
    "map": (RETRIEVED, [APART, ("lapwing.metrics", "retrieval_scores")], 0),
    "recall@5": (RETRIEVED, [APART, ("lapwing.metrics", "retrieval_scores")], 1),
    "clustering": (CLUSTERED, [APART, ("sklearn.cluster", "KMeans"), ("lapwing.metrics", "clustering_accuracy")], 0),
    "nmi": (CLUSTERED, [APART, ("sklearn.cluster", "KMeans"), ("sklearn.metrics", "normalized_mutual_info_score")], 0),
}


def program(comparison: Any, method: str, loading: str | None = None) -> str:
    """Python that scores the method at its chosen dimension as the comparison did.

    ``loading`` is Python that defines ``X`` and ``y``, ``preparation`` where rows were prepared, and ``groups`` or ``time``
    where rows were kept together or in order. Without it a comment says what these are.
    """
    [row] = [row for row in comparison.summary() if row["method"] == method]
    code, criterion, labels, key = Expressions(), comparison.criterion, comparison.labels, comparison.key_name
    estimator, prepare = comparison.estimator(method), comparison.prepare
    partly = labels is not None and bool((labels < 0).any())
    is_apart = partly and takes_unknown_for_a_class(estimator)  # it would take -1 for a class
    labelled = labels is not None or comparison.targets is not None
    fit = "model.fit({0}, {1})" if labelled else "model.fit({0})"
    if is_apart:
        code.need(*APART)
        fit = "SemiSupervised(model).fit({0}, {1}).reducer_"
    judge, settled = f", {code(comparison.judge)}", len(set(comparison.judges)) == 1
    if not settled:  # each fold has chosen its own
        name = "auto" if any("regression" in own for own in comparison.judges) else "knn"
        judge = f', checked_judge("{name}", X[train], y[train])'
    model, last = code(estimator), f"Z = {fit.format('X', 'y')}.transform(X)"
    by_scorer = criterion in SCORING or criterion not in IN_FOLD
    if by_scorer and settled and (prepare is None or not partly):
        model = model if prepare is None else f"make_pipeline(preparation, {model})"
        body = _by_scorer(code, criterion, partly, f", groups={key}" if key else "", judge)
    else:
        template, imports, place = IN_FOLD[criterion if criterion in IN_FOLD else "accuracy"]
        imports = imports if settled or not by_scorer else [*imports, ("lapwing.comparison", "checked_judge")]
        for thing in [("numpy", "np"), *imports]:
            code.need(*thing)
        name, seed = SCORING.get(criterion, criterion if by_scorer else imports[-1][1]), comparison.random_state
        fitted, k = fit.format("X[train]", "y[train]"), comparison.n_neighbors
        inner = template.format(fitted=fitted, n_neighbors=k, place=place, name=name, seed=seed, judge=judge)
        if prepare is not None:  # F takes the place of X
            inner = PREPARED + re.sub(r"\bX\b", "F", inner)
            last = "F = preparation.fit_transform(X)\n" + re.sub(r"\bX\b", "F", last)
        divided = ["X", *(["y"] if labelled else ["None"] if key else []), *([key] if key else [])]
        body = BY_LOOP.format(body=inner, divided=", ".join(divided))
    text = START.format(model=model, splitter=code.splitter(comparison.splitter)) + body
    text += END.format(what=MEASURES.get(criterion, criterion), mean=row["mean"], last=last)
    if not by_scorer and (is_apart or "known[" in body):
        text = KNOWN + text
    if loading is not None:
        return f"{code.imports()}\n\n{loading.strip()}\n\n{text}\n"
    n, d = comparison.n_samples, comparison.n_features
    rows = f"array of shape {(n, d)}" if prepare is None else f"array of {n} rows, as compare was given them"
    parts = [f"X: {rows}"]
    parts += ["y: its labels, -1 where unknown" if partly else "y: its labels"] if labelled else []
    parts += [f"{key}: one value per row"] if key else []
    start = f"# {'; '.join(parts)}; rows in the same order"
    start += f"\npreparation = {code(prepare)}" if prepare is not None else ""
    return f"{code.imports()}\n\n{start}\n{text}\n"


def _by_scorer(code: Expressions, criterion: str, partly: bool, keys: str, judge: str) -> str:
    """The score by scikit-learn's own cross-validation."""
    code.need("sklearn.model_selection", "cross_val_score")
    judged, scoring = (
        f"make_pipeline(model{judge})",
        f'"{SCORING.get(criterion, criterion)}"',
    )
    if partly:
        judged, scoring = f"SemiSupervised(model{judge})", f"labelled_scorer({scoring})"
        imports = [APART, ("lapwing.selection", "labelled_scorer")]
    else:
        imports = [("sklearn.pipeline", "make_pipeline")]
    for thing in imports:
        code.need(*thing)
    return BY_SCORER.format(judged=judged, scoring=scoring, keys=keys)


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
        if type(value) is np.ndarray and value.size <= LONGEST_ARRAY and value.dtype.kind in "biuf":
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
