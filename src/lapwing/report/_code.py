"""The program that computes a number of the report again."""

from __future__ import annotations

import inspect
import sys
from math import isfinite
from operator import attrgetter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ..graphs import Combination, Graph, Intersection, Scaled, Union
from ..selection import LabelledSplit

LONGEST_ARRAY = 1000  # an array is written out up to this many entries

PROGRAM = """\
cv = {splitter}
again = compare(
    {arguments},{judge}
)
scores = again.scores({name})
print(f"{what} on held-out rows: {{scores.mean():.4f}}")  # {mean:.4f}
model = again.models[{name}]
Z = model.transform(again.X)
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


def program(comparison: Any, method: str, loading: str | None = None) -> str:
    """Python that scores the method at its chosen dimension again, and fits it to all rows.

    ``loading`` is Python that defines ``X`` and ``y``, ``preparation`` where rows were prepared, and ``groups`` or ``time``
    where rows were kept together or in order. Without it a comment says what these are.
    """
    [row] = [row for row in comparison.summary() if row["method"] == method]
    code, criterion, key = Expressions(), comparison.criterion, comparison.key_name
    labelled, prepare = comparison.labels is not None or comparison.targets is not None, comparison.prepare
    partly = comparison.labels is not None and bool((comparison.labels < 0).any())
    code.need("lapwing.comparison", "compare")
    arguments = [
        "X, y" if labelled else "X",
        f"methods={{{method!r}: {code(comparison.estimator(method))}}}",
        f"dimensions=[{row['dimension']}]",
        f"scoring={criterion!r}",
        f"random_state={comparison.random_state}",
        *["prepare=preparation"] * (prepare is not None),
        *[f"{key}={key}"] * bool(key),
        "cv=cv",
        *[f"judge={_judge(comparison.judges)!r}"] * labelled,
    ]
    text = PROGRAM.format(
        splitter=code.splitter(comparison.splitter),
        arguments=",\n    ".join(arguments),
        judge=f"  # {Expressions()(comparison.judge)}{', in most folds' * (len(set(comparison.judges)) > 1)}"
        * labelled,
        name=repr(method),
        what=MEASURES.get(criterion, criterion),
        mean=row["mean"],
    )
    if loading is None:
        n, d = comparison.n_samples, comparison.n_features
        parts = [f"X: array of {f'shape {(n, d)}' if prepare is None else f'{n} rows, as compare was given them'}"]
        parts += [f"y: its labels{', -1 where unknown' * partly}"] * labelled
        parts += [f"{key}: one value per row"] * bool(key)
        loading = f"# {'; '.join(parts)}; rows in the same order"
        loading += f"\npreparation = {code(prepare)}" if prepare is not None else ""
    return f"{code.imports()}\n\n{loading.strip()}\n\n{text}"


def _judge(judges: list[str]) -> str:
    """The parameter that makes these judges of the folds again."""
    if set(judges) == {"nearest neighbour"}:
        return "nearest"
    linear = ["regression" in judge for judge in judges]
    return "logistic" if all(linear) else "auto" if any(linear) else "knn"


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
