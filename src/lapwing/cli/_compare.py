"""What ``compare`` and ``demo`` do: methods are tried, printed, and written to a report."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections import Counter
from dataclasses import replace
from statistics import mode
from time import perf_counter
from typing import Any

import typer

from .. import comparison
from ..methods import METHODS
from ..report import write_report
from ..tables import Prepared, Table
from ._model import are_quantities, check_classes, leaks_of_ids, named, read_prepared, source_columns, unknown
from ._options import Reading, counted, print_table, quoted, refuse, say, visible, warn

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
LEGEND = """  method     what makes few numbers of the 64 pixels; * is recommended
  d          how many numbers it makes
  accuracy   of 100 digits held out, how many are named rightly
  clustering the same where k-means groups them without labels
  trust      are digits that are near in the projection near in the pixels? 50 by chance
  contin.    are digits that are near in the pixels near in the projection? 50 by chance
  recall     how many of the nearest digits stay the nearest"""
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
    return [named(name, {own: own for own in comparison.METHODS}, "--methods") for name in given]


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
    parts = [counted(table.n_read, "row"), counted(table.X.shape[1], "feature")]
    if table.y is not None and not are_quantities(table.y):
        check_classes(table, data)
        missing = unknown(table.y)
        parts += [counted(len(set(table.y[~missing].tolist())), "class")]
        parts += [f"{missing.sum():,} unknown"] if missing.any() else []
    parts += [f"{len(table):,} of them at random are used"] if sampled and len(table) < table.n_read else []
    say(f"{data}: {', '.join(parts)}")
    if len(table) >= MANY_ROWS and not sampled:
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
        warn(f"warning: {method} was left out: {why}")
    for method, messages in found.warnings.items():
        for message in messages:
            warn(f"warning: {method}: {message}")
    return found, stopped


def _slug(name: str) -> str:
    """The name of a method as an argument, such as ``kernel-pca-lda``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def loading(data: str, reading: Reading, prepared: Any, aside: dict[str, str], sampled: dict[str, Any]) -> str:
    """Lines of Python that read the table as the command did."""
    read = {"mixed": True, **reading.read, **({"aside": (*aside.values(),)} if aside else {}), **sampled}
    arguments = [repr("data.csv" if data == "-" else data), *(f"{name}={value!r}" for name, value in read.items())]
    prepare = "".join(f", {name}={value!r}" for name, value in reading.prepare.items())
    lines = [
        "from lapwing.tables import prepare, read",
        "",
        f"prepared = prepare(read({', '.join(arguments)}){prepare})",
        "table = prepared.table",
        "X, preparation = prepared.given, prepared.transformer" if prepared.transformer else "X = table.X",
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
    write_report(output, found, **rows, **texts)
    say(f"wrote {output} after {perf_counter() - start:.0f} s")


def print_comparison(found: Any) -> None:
    """Print the table, and above it what may have told the labels."""
    for leak in found.leaks:
        typer.secho(f"! {visible(leak.message)}", bold=True, fg="red")
    rows = found.summary()
    names = [name for name in TITLES if name in found.measures and name not in (found.criterion, "nmi")]
    if not found.is_unequal and found.criterion != "f1":
        names = [name for name in names if name not in ("balanced_accuracy", "f1")]
    best = [row["method"] for row in rows].index(found.choice[0])
    lines = []
    for number, row in enumerate([*rows, *found.lines.values()]):
        scores = [f"{100 * row[name]:.1f}" if name in row else "" for name in names]
        first = f"{100 * row['mean']:.1f} ± {100 * row['se']:.1f}" if "mean" in row else ""
        lines.append(["*" * (number == best), row["method"], str(row["dimension"] or ""), first, *scores])
    titles = ["", "method", "d", f"{TITLES.get(found.criterion, found.criterion)} %", *(TITLES[name] for name in names)]
    print_table(titles, lines, n_left=2, n_least=4, best=best)


def advise(found: Any, commands: list[str]) -> None:
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
    judge = {"nearest neighbour": "nearest", "logistic regression": "logistic"}.get(mode(found.judges), "knn")
    classes = "" if found.labels is None else f" (fit --predict --judge {judge} makes one that names their classes)"
    say("\n  ".join([f"to fit it, and to project rows with the model{classes}:", *commands]))


def lines(found: Any, data: str, reading: Reading, aside: list[str]) -> tuple[dict[str, str], str]:
    """The commands that fit each method as it was compared, and the one that projects the same rows."""
    file = "FILE" if data == "-" else data
    dropped = [part for column in aside for part in ("--drop", quoted(column))]
    fit = {name: [*fitting(found, name, d, file), *reading.words(), *dropped] for name, d in found.chosen.items()}
    transform = ["lapwing", "transform", "model.lapwing", file, *dropped, *reading.words(preparing=False)]
    return {name: shlex.join(words) for name, words in fit.items()}, shlex.join([*transform, "-o", "projected.csv"])


def fitting(found: Any, method: str, dimension: int, file: str) -> list[str]:
    """The command that fits a method as it was compared."""
    estimator = found.estimator(method, dimension)
    command, name = ["lapwing", "fit", file, "--method"], type(estimator).__name__
    if name not in METHODS:
        return [*command, _slug(method), "-d", str(dimension)]
    command += [name.lower(), "-d", str(dimension)]
    usual = METHODS[name]().get_params(deep=False)
    for parameter, value in estimator.get_params(deep=False).items():
        if parameter == "graph":
            command += ["--graph", "none" if value is None else value if isinstance(value, str) else repr(value)]
        elif parameter not in ("n_components", "standardize") and repr(value) != repr(usual[parameter]):
            command += ["-p", f"{parameter}={value}"]
    return command


def facts(found: Any, data: str, output: str, lines: dict[str, str], stopped: str | None) -> dict[str, Any]:
    method, dimension = found.choice
    return {
        "data": data,
        "rows": found.X.shape[0],
        "features": found.X.shape[1],
        **{name: getattr(found, name) for name in ("criterion", "judges", "reason", "failures")},
        "choice": {"method": method, "dimension": dimension, "command": lines[method]},
        "methods": found.summary(),
        **{"line_to_beat": None, "majority": None, **found.lines},
        "leaks": [leak._asdict() for leak in found.leaks],
        "report": None if stopped else output,
        "interrupted": stopped,
    }
