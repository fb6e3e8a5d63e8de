"""``lapwing compare`` and ``demo``: which method, with how many dimensions."""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from time import perf_counter
from typing import Annotated, Any

import typer

from ._console import counted, print_json, print_table, print_warning, say
from ._methods import key
from ._options import (
    Data,
    Judge,
    Reading,
    Word,
    Words,
    check_output,
    listed,
    option,
    prepares_data,
    quoted,
    refuse,
    writing,
)
from ._tables import are_quantities, check_classes, leaks_of_ids, read_prepared, source_columns, unknown

MANY_ROWS = 20_000  # from here on the command advises a sample
INTERRUPTED = 130
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


def _jobs(number: int) -> int:
    return number or refuse("0 cannot work; give 1 or more, or -1 for one per core", "--jobs")


Jobs = Annotated[int, option("--jobs -j N", callback=_jobs)]


@prepares_data
def compare(
    data: Data,
    *,
    reading: Reading,
    methods: Annotated[Words, option("--methods -m NAMES")] = None,
    dimensions: Annotated[Word, option("--dimensions -d NUMBERS")] = None,
    scoring: Annotated[Word, option("--scoring GOAL")] = None,
    judge: Judge = "auto",
    group: Annotated[Word, option("--group COL")] = None,
    time: Annotated[Word, option("--time COL")] = None,
    output: Annotated[str, option("--output -o REPORT")] = "report.html",
    cv: Annotated[int, option("--cv N", min=2)] = 5,
    sample: Annotated[int | None, option("--sample N", min=4)] = None,
    atlas: Annotated[Word, option("--atlas FILE")] = None,
    memory: Annotated[Word, option("--memory DIR")] = None,
    jobs: Jobs = -1,
    seed: Annotated[int, option("--seed N", min=0)] = 0,
    json: Annotated[bool, option("--json", "Advanced")] = False,
) -> None:
    """Try several methods and dimensions by cross-validation; print a table and write a report.

    Ctrl-C prints the methods that are done.
    """
    start, label = perf_counter(), reading.label
    check_output(output, data, label)
    if atlas is not None:
        check_output(atlas, data, label, beside=output)
    if label is not None and label in (group, time):
        refuse(f"{label!r} is the label, so it cannot divide the rows", "--group, --time")
    if group is not None and time is not None:
        refuse("give --group, or --time", "--time")
    names = None if methods is None else _names(listed(methods))
    from ..comparison import GOALS, MEASURES, SCORERS

    if scoring is not None and scoring not in (*GOALS, *MEASURES, *SCORERS):
        why = f"{scoring!r} is neither a goal ({', '.join(GOALS)}) nor a measure ({', '.join(MEASURES)}), nor a score of classes"
        refuse(why, "--scoring")
    wanted = None if dimensions is None else _dimensions(dimensions)
    aside = {name: column for name, column in (("groups", group), ("time", time)) if column is not None}
    sampled: dict[str, Any] = {} if sample is None else {"sample": sample, "random_state": seed}
    prepared = read_prepared(data, reading, targets=scoring == "r2", aside=tuple(aside.values()), **sampled)
    table = prepared.table
    if not are_quantities(table.y):
        check_classes(table, data)
    _say_what_was_read(table, data, sampled)
    aside = dict(zip(aside, table.aside, strict=True))  # by name, where columns were given as -1 or 02
    kept = {name: table.aside[column] for name, column in aside.items()}
    if time is not None and kept["time"].dtype.kind in "OU":
        say(f"{time!r} holds neither dates nor numbers, and is sorted as text")
    how = {"memory": memory, "random_state": seed, "n_jobs": jobs, **kept}
    found, stopped = _compared(prepared, names, dimensions=wanted, scoring=scoring, judge=judge, cv=cv, **how)
    file = "FILE" if data == "-" else data
    dropped = [part for column in aside.values() for part in ("--drop", quoted(column))]
    again = [*reading.words(), *dropped]
    lines = {name: shlex.join([*fitting(found, name, d, file), *again]) for name, d in found.chosen.items()}
    if json:
        print_json(_facts(found, data, output, lines, stopped))
    else:
        _print(found)
        if stopped is None:
            transform = ["lapwing", "transform", "model.lapwing", file, *dropped, *reading.words(preparing=False)]
            _advise(found, lines[found.choice[0]], shlex.join([*transform, "-o", "projected.csv"]))
    if stopped is not None:
        goes_on = "the same command goes on from there" if memory else "--memory DIR keeps scores for the next time"
        say(f"interrupted: {stopped}, and no report was written; {goes_on}")
        raise typer.Exit(INTERRUPTED)
    loading = _loading(data, reading, prepared, aside, sampled)
    named = f": {label}" if label and not label.lstrip("-").isdigit() else ""
    title = os.path.basename(os.path.normpath(data)) + named
    _write_report(output, found, prepared, title, start, loading, lines[found.choice[0]])
    if atlas is not None:
        from ..report import write_atlas

        with writing(atlas):
            write_atlas(atlas, found, table.y, ids=table.ids, feature_names=table.feature_names)
        say(f"wrote {atlas}; embedding-atlas {atlas} --x x --y y --neighbors neighbors shows it")


def demo(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where to write the report.")] = "out",
    jobs: Jobs = -1,
) -> None:
    """Digits of which one in ten has a label: what do those without one add? A first look."""
    from ..tables import Prepared, Table

    start, data = perf_counter(), dict[str, Any]()
    exec(DEMO, data)
    os.makedirs(folder, exist_ok=True)
    table = Prepared(Table(data["X"], data["y"], image_shape=(8, 8), n_read=len(data["X"])), [], [])
    say(STORY)
    names = ["PCA", "LDA", "LPP + spread labels", "KernelLPP + spread labels"]
    found, stopped = _compared(table, names, dimensions=[2, 5, 9], n_jobs=jobs)
    _print(found)
    for name, meaning in LEGEND.items():
        say(f"  {TITLES.get(name, name):10} {meaning}")
    if stopped is not None:
        raise typer.Exit(INTERRUPTED)
    say(f"* {found.reason}; {_gain(found)}")
    _write_report(os.path.join(folder, "report.html"), found, table, "digits", start, DEMO)


def _gain(found: Any) -> str:
    """How far the recommended setting is ahead of all columns and of the other methods, fold by fold."""
    from ..metrics import standard_error

    def own(method: str, d: int) -> Any:
        return found.scores(method)[:, found.dimensions(method).index(d)]

    others = {name: own(name, d) for name, d in found.chosen.items() if name != found.choice[0]}
    others = {"all columns": [record[found.criterion] for record in found.baseline], **others}
    ahead = {name: 100 * (own(*found.choice) - scores) for name, scores in others.items()}
    said = [f"{by.mean():.1f} ± {standard_error(by):.1f} points before {name}" for name, by in ahead.items()]
    return f"it is {', '.join(said)}"


def _names(given: list[str]) -> list[str]:
    """Names in the form that the comparison uses, whatever way the user wrote them."""
    from ..comparison import METHODS

    names = {key(name): name for name in [*METHODS, *(["UMAP"] if find_spec("umap") else [])]}
    if unnamed := [name for name in given if key(name) not in names]:
        more = "UMAP" if find_spec("umap") else "UMAP where umap-learn is installed"
        why = f"cannot compare {', '.join(map(repr, unnamed))}; known are {', '.join(METHODS)}, and {more}"
        refuse(why, "--methods")
    return [names[key(name)] for name in given]


def _dimensions(text: str) -> list[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*([1-9]\d*)(?:-([1-9]\d*))?\s*", part)
        if not found:
            refuse(f"{part!r} is neither a number nor a range, as in 2,5,10-15", "--dimensions")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            refuse(f"{part!r} runs backwards; write {last}-{first}", "--dimensions")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def _say_what_was_read(table: Any, data: str, sampled: dict[str, Any]) -> None:
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


def _compared(prepared: Any, names: list[str] | None, **options: Any) -> tuple[Any, str | None]:
    """The comparison, and how far it came where it was interrupted."""
    from .. import comparison

    X, y = prepared.table.X, prepared.table.y
    rows, prepare = (X, None) if prepared.transformer is None else (prepared.given, prepared.transformer)
    chosen = comparison.default_methods(X, y) if names is None else comparison.named_methods(names, X, y)
    for name, why in (comparison.left_out(X, y) if names is None else {}).items():
        say(f"{name} is left out: {why}; -m {_slug(name)} tries it")
    say(f"comparing {counted(len(chosen), 'method')}")
    methods, stopped = {name: prepared.settled(method) for name, method in chosen.items()}, None
    warnings.filterwarnings("ignore", category=comparison.LeakWarning)  # leaks are told above the table
    try:
        found = comparison.compare(
            rows, y, methods=methods, prepare=prepare, feature_names=source_columns(prepared), **options
        )
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


def _loading(data: str, reading: Reading, prepared: Any, aside: dict[str, str], sampled: dict[str, Any]) -> str:
    """Lines of Python that read the table as the command did."""
    read, prepare = reading.changed()
    columns = {"aside": tuple(aside.values())} if aside else {}
    options = {"mixed": True, **read, **columns, **sampled}
    arguments = ", ".join(
        [repr("data.csv" if data == "-" else data), *(f"{name}={value!r}" for name, value in options.items())]
    )
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


def _write_report(
    output: str, found: Any, prepared: Any, title: str, start: float, loading: str, fitting: str | None = None
) -> None:
    from ..report import write_report

    table, columns = prepared.table, prepared.columns
    images = None if table.image_shape is None else table.X.reshape(-1, *table.image_shape)
    with writing(output):
        write_report(
            output,
            found,
            table.X,
            table.y,
            columns=columns,
            feature_names=table.feature_names,
            ids=table.ids,
            images=images,
            title=title,
            command=shlex.join(["lapwing", *sys.argv[1:]]),
            loading=loading,
            fitting=fitting,
        )
    say(f"wrote {output} after {perf_counter() - start:.0f} s")


def _print(found: Any) -> None:
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
    print_table(titles, lines, right="  r" + "r" * (1 + len(names)), best=best)


def _advise(found: Any, fitting: str, projecting: str) -> None:
    """Print what the star means, what to know about it, and how to go on."""
    say(f"* {found.reason}")
    if found.is_unequal and found.majority:
        always = found.lines["majority"]["accuracy"]
        leads = found.criterion == "balanced_accuracy"
        advice = "so the mean over classes (balanced) leads" if leads else "so read balanced and F1 too"
        say(f"the classes are unequal: always naming the largest is right in {100 * always:.1f} %, {advice}")
    if found.judge is not None and set(found.judges) != {"nearest neighbour"}:
        judges = Counter(found.judges).most_common()
        say(f"judged by {', '.join(f'{name} ({count} of {len(found.judges)} folds)' for name, count in judges)}")
    judge = Counter(found.judges).most_common(1)[0][0]
    option = {"nearest neighbour": " --judge nearest", "logistic regression": " --judge logistic"}.get(
        judge, " --judge knn"
    )
    classes = "" if found.labels is None else f" (fit --predict{option} makes one that names their classes)"
    say(f"to fit it, and to project rows with the model{classes}:\n  {fitting}\n  {projecting}")


def fitting(found: Any, method: str, dimension: int, file: str) -> list[str]:
    """The command that fits a method as it was compared."""
    from ..methods import METHODS

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


def _facts(found: Any, data: str, output: str, lines: dict[str, str], stopped: str | None) -> dict[str, Any]:
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
