"""What ``compare`` and ``demo`` do: methods are tried, printed, and written to a report."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections import Counter
from dataclasses import replace
from time import perf_counter
from typing import Any

from .. import comparison
from ..methods import METHODS
from ..report import write_report
from ..tables import Prepared, Table
from ._console import counted, did_you_mean, print_table, print_warning, say
from ._methods import key
from ._model import are_quantities, check_classes, leaks_of_ids, read_prepared, source_columns, unknown
from ._options import Reading, refuse

MANY_ROWS = 20_000  # from here on the command advises a sample
# The measures in the order of the table, and their titles.
TITLES = {
    "balanced_accuracy": "balanced",
    "accuracy": "accuracy",
    "f1": "F1",
    "roc_auc": "AUC",
    "r2": "R²",
    "map": "mAP",
    "recall@5": "recall@5",
    "clustering": "clustering",
    "nmi": "nmi",
    "trustworthiness": "trust",
    "continuity": "contin.",
    "recall": "recall",
}
LEGEND = {
    "method": "what makes few numbers of the 64 pixels; * is recommended",
    "d": "how many numbers it makes",
    "accuracy": "of 100 digits held out, how many are named rightly",
    "clustering": "the same where k-means groups them without labels",
    "trustworthiness": "are digits that are near in the projection near in the pixels? 50 by chance",
    "continuity": "are digits that are near in the pixels near in the projection? 50 by chance",
    "recall": "how many of the nearest digits stay the nearest",
}
STORY = (
    "1,000 handwritten digits of 8 x 8 pixels. A person has named 100 of them, ten of each kind; 900 have no label.\n"
    "Which projection lets a classifier name new digits best? PCA sees no label, LDA sees the labelled digits alone,\n"
    "and the methods of lapwing that spread labels use those without one, too."
)
DEMO = """
import numpy as np
from sklearn.datasets import load_digits

X, digit = (part[:1000] for part in load_digits(return_X_y=True))
y, random = np.full(1000, -1), np.random.default_rng(0)  # -1: no label
for k in range(10):
    y[random.permutation(np.flatnonzero(digit == k))[:10]] = k
"""


def digits() -> Prepared:
    """The rows of the demo."""
    data = dict[str, Any]()
    exec(DEMO, data)
    return Prepared(Table(data["X"], data["y"], image_shape=(8, 8), n_read=len(data["X"])), [], [])


def method_names(given: list[str]) -> list[str]:
    """Names in the form that the comparison uses, whatever way the user wrote them."""
    names = {key(name): name for name in [*comparison.METHODS, "UMAP"]}
    if unnamed := [name for name in given if key(name) not in names]:
        refuse(f"cannot compare {unnamed[0]!r}; {did_you_mean(unnamed[0], names.values())}", "--methods")
    return [names[key(name)] for name in given]


def parsed_dimensions(text: str) -> list[int]:
    """Numbers and ranges, as in 2,5,10-15."""
    parts = [re.fullmatch(r"\s*([1-9]\d*)(?:-([1-9]\d*))?\s*", part) for part in text.split(",")]
    ranges = [range(int(part[1]), int(part[2] or part[1]) + 1) if part else () for part in parts]
    if not all(ranges):
        refuse(f"{text!r} are not numbers and ranges, as in 2,5,10-15", "--dimensions")
    return sorted({number for part in ranges for number in part})


def read_rows(data: str, reading: Reading, aside: tuple[str, ...], sampled: dict[str, Any], targets: bool) -> Prepared:
    """The prepared rows. Messages say what was read."""
    prepared = read_prepared(data, reading, targets=targets, aside=aside, **sampled)
    table = prepared.table
    if not are_quantities(table.y):
        check_classes(table, data)
    parts = [counted(table.n_read, "row"), counted(table.X.shape[1], "feature")]
    if table.y is not None and not are_quantities(table.y):
        missing = unknown(table.y)
        parts += [counted(len(set(table.y[~missing].tolist())), "class")]
        parts += [f"{missing.sum():,} unknown"] if missing.any() else []
    say(f"{data}: {', '.join(parts)}")
    if len(table) < table.n_read and sampled:
        given = f"--sample {sampled['sample']} --seed {sampled['random_state']}"
        say(f"a random sample of {len(table):,} rows is used ({given})")
    elif len(table) >= MANY_ROWS:
        say(f"{len(table):,} rows take a while; --sample 5000 compares on a random part")
    if table.y is None:
        say("no labels, so only neighbourhoods are measured; --label adds accuracy and clustering")
    return prepared


def compared(prepared: Any, names: list[str] | None, **options: Any) -> tuple[Any, str | None]:
    """The comparison, and how far it came where it was interrupted."""
    X, y = prepared.table.X, prepared.table.y
    rows, prepare = (X, None) if prepared.transformer is None else (prepared.given, prepared.transformer)
    chosen = comparison.default_methods(X, y) if names is None else comparison.named_methods(names, X, y)
    for name, why in (comparison.left_out(X, y) if names is None else {}).items():
        say(f"{name} is left out: {why}; -m {_slug(name)} tries it")
    say(f"comparing {counted(len(chosen), 'method')}")
    methods, stopped = {name: prepared.settled(method) for name, method in chosen.items()}, None
    warnings.filterwarnings("ignore", category=comparison.LeakWarning)  # leaks are told above the table
    options |= {"methods": methods, "prepare": prepare, "feature_names": source_columns(prepared)}
    try:
        found = comparison.compare(rows, y, **options)
    except comparison.Interrupted as stop:
        found, stopped = stop.comparison, str(stop)
    found = replace(found, leaks=[*leaks_of_ids(prepared), *found.leaks])
    if found.units:
        ratio = f"the largest deviation is {found.units:,.0f} times the median one"
        say(f"The columns are in different units ({ratio}); methods of lapwing divide them by their deviations.")
    for method, why in found.failures.items():
        say(f"lapwing: warning: {method} was left out: {why}")
    for method, messages in found.warnings.items():
        for message in messages:
            say(f"lapwing: warning: {method}: {message}")
    return found, stopped


def _slug(name: str) -> str:
    """The name of a method as an argument, such as ``kernel-pca-lda``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def loading(data: str, reading: Reading, prepared: Any, aside: dict[str, str], sampled: dict[str, Any]) -> str:
    """Lines of Python that read the table as the command did."""
    read, prepare = reading.changed()
    columns = {"aside": tuple(aside.values())} if aside else {}
    options = {"mixed": True, **read, **columns, **sampled}
    file = repr("data.csv" if data == "-" else data)
    arguments = ", ".join([file, *(f"{name}={value!r}" for name, value in options.items())])
    more = "".join(f", {name}={value!r}" for name, value in prepare.items())
    lines = [
        "from lapwing.tables import prepare, read",
        "",
        f"prepared = prepare(read({arguments}){more})",
        "table = prepared.table",
        *(["X, preparation = prepared.given, prepared.transformer"] if prepared.transformer else ["X = table.X"]),
        *(["y = table.y"] if prepared.table.y is not None else []),
    ]
    return "\n".join([*lines, *(f"{key} = table.aside[{column!r}]" for key, column in aside.items())])


def report(
    output: str, found: Any, prepared: Any, title: str, start: float, loading: str, fitting: str | None = None
) -> None:
    table = prepared.table
    images = None if table.image_shape is None else table.X.reshape(-1, *table.image_shape)
    rows = {"columns": prepared.columns, "feature_names": table.feature_names, "ids": table.ids, "images": images}
    texts = {"title": title, "command": shlex.join(["lapwing", *sys.argv[1:]]), "loading": loading, "fitting": fitting}
    write_report(output, found, table.X, table.y, **rows, **texts)
    say(f"wrote {output} after {perf_counter() - start:.0f} s")


def print_comparison(found: Any) -> None:
    """Print the table, and above it what may have told the labels."""
    for leak in found.leaks:
        print_warning(leak.message)
    rows = found.summary()
    names = [name for name in TITLES if name in found.measures and name not in (found.criterion, "nmi")]
    if not found.is_unequal and found.criterion != "f1":
        names = [name for name in names if name not in ("balanced_accuracy", "f1")]
    best = [row["method"] for row in rows].index(found.choice[0])
    rows += found.lines.values()
    lines = []
    for number, row in enumerate(rows):
        scores = [f"{100 * row[name]:.1f}" if name in row else "" for name in names]
        first = f"{100 * row['mean']:.1f} ± {100 * row['se']:.1f}" if "mean" in row else ""
        lines.append(["*" * (number == best), row["method"], str(row["dimension"] or ""), first, *scores])
    titles = ["", "method", "d", f"{TITLES.get(found.criterion, found.criterion)} %", *(TITLES[name] for name in names)]
    print_table(titles, lines, right="  r" + "r" * (1 + len(names)), best=best, least=4)


def advise(found: Any, fitting: str, projecting: str) -> None:
    """Print what the star means, what to know about it, and how to go on."""
    say(f"* {found.reason}")
    if any(row["dimension"] < row["best_dimension"] for row in found.summary()):
        say("the table shows each method with the fewest dimensions that are within the error of its own best score")
    if found.is_unequal:
        always = found.lines["majority"]["accuracy"]
        leads = found.criterion == "balanced_accuracy"
        advice = "so the mean over classes (balanced) leads" if leads else "so read balanced and F1 too"
        say(f"the classes are unequal: always naming the largest is right in {100 * always:.1f} %, {advice}")
    if found.judge is not None and set(found.judges) != {"nearest neighbour"}:
        judges = Counter(found.judges).most_common()
        say(f"judged by {', '.join(f'{name} ({count} of {len(found.judges)} folds)' for name, count in judges)}")
    judge = Counter(found.judges).most_common(1)[0][0]
    judge = {"nearest neighbour": "nearest", "logistic regression": "logistic"}.get(judge, "knn")
    classes = "" if found.labels is None else f" (fit --predict --judge {judge} makes one that names their classes)"
    say(f"to fit it, and to project rows with the model{classes}:\n  {fitting}\n  {projecting}")


def fitting(found: Any, method: str, dimension: int, file: str) -> list[str]:
    """The command that fits a method as it was compared."""
    estimator = found.estimator(method, dimension)
    command, name = ["lapwing", "fit", file, "--method"], type(estimator).__name__
    if name not in METHODS:
        return [*command, _slug(method), "-d", str(dimension)]
    command += [name.lower(), "-d", str(dimension)]
    parameters, usual = estimator.get_params(deep=False), METHODS[name]().get_params(deep=False)
    if "graph" in parameters:
        graph = parameters["graph"]
        command += ["--graph", "none" if graph is None else graph if isinstance(graph, str) else repr(graph)]
    for parameter, value in parameters.items():
        if parameter not in ("n_components", "graph", "standardize") and repr(value) != repr(usual[parameter]):
            command += ["-p", f"{parameter}={value}"]
    return command


def facts(found: Any, data: str, output: str, lines: dict[str, str], stopped: str | None) -> dict[str, Any]:
    method, dimension = found.choice
    return {
        "data": data,
        "rows": found.n_samples,
        "features": found.n_features,
        "criterion": found.criterion,
        "judges": found.judges,
        "choice": {"method": method, "dimension": dimension, "command": lines[method]},
        "methods": found.summary(),
        "reason": found.reason,
        **{"line_to_beat": None, "majority": None, **found.lines},
        "failures": found.failures,
        "leaks": [{"column": leak.column, "score": leak.score, "message": leak.message} for leak in found.leaks],
        "report": None if stopped else output,
        "interrupted": stopped,
    }
