"""The program that computes a number of the report again."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import Any

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
    criterion, key, prepare = comparison.criterion, comparison.key_name, comparison.prepare
    labelled = comparison.labels is not None or comparison.targets is not None
    modules, missing = {"compare": "lapwing.comparison"}, list[str]()

    def code(value: Any, name: str) -> str:
        text, found = expression(value)
        modules.update(found)
        if text is None:
            missing.append(f"# define first: {name}, {in_one_line(value)}")
        return text or name

    arguments = [
        "X, y" if labelled else "X",
        f"methods={{{method!r}: {code(comparison.estimator(method), 'estimator')}}}",
        f"dimensions=[{row['dimension']}]",
        f"scoring={criterion!r}",
        f"random_state={comparison.random_state}",
        *["prepare=preparation"] * (prepare is not None),
        *[f"{key}={key}"] * bool(key),
        "cv=cv",
        *[f"judge={_judge(comparison.judges)!r}"] * labelled,
    ]
    judge = f"  # {in_one_line(comparison.judge)}{', in most folds' * (len(set(comparison.judges)) > 1)}"
    text = PROGRAM.format(
        splitter=code(comparison.splitter, "splitter"),
        arguments=",\n    ".join(arguments),
        judge=judge * labelled,
        name=repr(method),
        what=MEASURES.get(criterion, criterion),
        mean=row["mean"],
    )
    if loading is None:
        n, d = comparison.n_samples, comparison.n_features
        partly = comparison.labels is not None and bool((comparison.labels < 0).any())
        parts = [f"X: array of {f'shape {(n, d)}' if prepare is None else f'{n} rows, as compare was given them'}"]
        parts += [f"y: its labels{', -1 where unknown' * partly}"] * labelled
        parts += [f"{key}: one value per row"] * bool(key)
        loading = f"# {'; '.join(parts)}; rows in the same order"
        loading += f"\npreparation = {code(prepare, 'your_preparation')}" if prepare is not None else ""
    imports = [f"from {module} import {name}" for name, module in sorted(modules.items(), key=lambda item: item[::-1])]
    imports = ["import numpy as np" if line == "from numpy import np" else line for line in imports]
    return "\n".join([*imports, *missing, "", loading.strip(), "", text])


def _judge(judges: list[str]) -> str:
    """The parameter that makes these judges of the folds again."""
    if set(judges) == {"nearest neighbour"}:
        return "nearest"
    linear = ["regression" in judge for judge in judges]
    return "logistic" if all(linear) else "auto" if any(linear) else "knn"


def in_one_line(value: Any) -> str:
    return re.sub(r"\n\s*", " ", repr(value))


def expression(value: Any) -> tuple[str | None, dict[str, str]]:
    """Python that makes an estimator or a splitter, and the modules of the names in it.

    It is how the value is printed. None where that is no such Python: with functions, arrays, very many parameters, or classes
    that no module has, as in a notebook.
    """
    text = in_one_line(value)
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except SyntaxError:
        return None, {}
    names, known = {node.id for node in nodes if isinstance(node, ast.Name)}, {"np": "numpy"}
    for cls in _classes(value):
        home = _home(cls)
        if cls.__name__ in names and (home is None or known.setdefault(cls.__name__, home) != home):
            return None, {}
    is_cut = any(isinstance(node, ast.Constant) and node.value is Ellipsis for node in nodes)
    return (None, {}) if is_cut or names - known.keys() else (text, {name: known[name] for name in names})


def _classes(value: Any) -> Iterator[type]:
    """The classes of a value and of all that it is made of."""
    if isinstance(value, list | tuple):
        parts = value
    elif hasattr(value, "get_params") and not isinstance(value, type):
        parts = value.get_params(deep=False).values()
    elif hasattr(value, "get_n_splits"):
        parts = vars(value).values()
    else:
        return
    yield type(value)
    for part in parts:
        yield from _classes(part)


def _home(cls: type) -> str | None:
    """The shortest module name that has the class."""
    parts = cls.__module__.split(".")
    for module in (".".join(parts[: i + 1]) for i in range(len(parts))):
        if module != "__main__" and getattr(sys.modules.get(module), cls.__name__, None) is cls:
            return module
    return None
