"""``lapwing compare`` and ``demo``: which method, with how many dimensions."""

from __future__ import annotations

import os
import re
import shlex
import sys
from importlib.util import find_spec
from time import perf_counter
from typing import Annotated, Any

import typer

from ._console import counted, print_json, print_table, say
from ._methods import key
from ._options import Data, Json, as_given, check_output, listed, prepares_data, quoted, reading, writing
from ._tables import check_classes, read_prepared

MANY = 20_000  # from this many rows on, the command advises a sample
TITLES = {
    "balanced_accuracy": "balanced",
    "accuracy": "accuracy",
    "f1": "F1",
    "map": "mAP",
    "recall@5": "recall@5",
    "clustering": "clustering",
    "nmi": "nmi",
    "trustworthiness": "trust",
    "continuity": "contin.",
    "recall": "recall",
}


def _jobs(number: int) -> int:
    if number == 0:
        raise typer.BadParameter("0 cannot work; give 1 or more, or -1 for one per core")
    return number


Jobs = Annotated[
    int, typer.Option("--jobs", "-j", callback=_jobs, help="Methods and folds at a time; -1 is one per core.")
]


@prepares_data
def compare(
    data: Data,
    *,
    options: dict[str, Any],
    methods: Annotated[
        list[str] | None,
        typer.Option("--methods", "-m", help="Names: pca,lpp,mfa. By default some that suit the data."),
    ] = None,
    dimensions: Annotated[
        str | None, typer.Option("--dimensions", "-d", help="To try: 2,5,10-15. By default 1, 2, 3, 5, 8, 13, ...")
    ] = None,
    scoring: Annotated[
        str | None,
        typer.Option(
            "--scoring",
            help="What chooses: a goal (classification, retrieval, clustering, neighbours) or a measure (accuracy, "
            "balanced_accuracy, f1, map, recall@5, nmi, trustworthiness, continuity, recall).",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="COL", help="Column of what belongs together, such as a patient: held out together."
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="COL", help="Column of the time: rows are scored by models of earlier ones."),
    ] = None,
    cv: Annotated[int, typer.Option("--cv", min=2, help="Folds.")] = 5,
    sample: Annotated[
        int | None, typer.Option("--sample", min=4, help="Use this many random rows, those with labels first.")
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write the report.")] = "report.html",
    atlas: Annotated[
        str | None,
        typer.Option(
            "--atlas", metavar="FILE", help="Also write the recommended space for Embedding Atlas, as .parquet."
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="DIR", help="Keep scores there; the same command goes on where it was stopped."
        ),
    ] = None,
    jobs: Jobs = -1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of everything random.")] = 0,
    json: Json = False,
) -> None:
    """Try several methods and dimensions by cross-validation; print a table and write a report."""
    start, label = perf_counter(), options["label"]
    check_output(output, data, label)
    if atlas is not None:
        check_output(atlas, data, label, beside=output)
    if label is not None and label in (group, time):
        raise typer.BadParameter(f"{label!r} is the label, so it cannot divide the rows", param_hint="--group, --time")
    if group is not None and time is not None:
        raise typer.BadParameter("give --group, or --time", param_hint="--time")
    names = None if methods is None else _names(listed(methods))
    from ..comparison import GOALS, MEASURES

    if scoring is not None and scoring not in (*GOALS, *MEASURES):
        why = f"{scoring!r} is neither a goal ({', '.join(GOALS)}) nor a measure ({', '.join(MEASURES)})"
        raise typer.BadParameter(why, param_hint="--scoring")
    wanted = None if dimensions is None else _dimensions(dimensions)
    aside = {name: column for name, column in (("groups", group), ("time", time)) if column is not None}
    prepared = read_prepared(data, {**options, "aside": tuple(aside.values())}, sample, seed)
    table = prepared.table
    check_classes(table, data)
    _say_what_was_read(table, data, sample, seed)
    aside = dict(zip(aside, table.aside, strict=True))  # by name, where columns were given as -1 or 02
    kept = {name: table.aside[column] for name, column in aside.items()}
    if time is not None and kept["time"].dtype.kind in "OU":
        say(f"{time!r} holds neither dates nor numbers, and is sorted as text")
    settings = {"dimensions": wanted, "scoring": scoring, "cv": cv, "random_state": seed, "n_jobs": jobs}
    found = _compared(prepared, names, memory=memory, **settings, **kept)
    dropped = [part for column in aside.values() for part in ("--drop", quoted(column))]
    lines = _fit_lines(found, data, [*as_given(options), *dropped])
    if json:
        print_json(_facts(found, data, output, lines))
    else:
        _print(found)
        transform = ["lapwing", "transform", "model.lapwing", _file(data), *dropped, *as_given(options, False)]
        _advise(found, lines[found.choice[0]], shlex.join([*transform, "-o", "projected.csv"]))
    loading = _loading(data, options, prepared, aside, sample, seed)
    _write_report(output, found, table, data, start, loading, lines[found.choice[0]])
    if atlas is not None:
        from ..report import write_atlas

        with writing(atlas):
            write_atlas(atlas, found, table.y, ids=table.ids, feature_names=table.feature_names)
        say(f"wrote {atlas}; embedding-atlas {atlas} --x x --y y --neighbors neighbors shows it")


def demo(folder: Annotated[str, typer.Argument(help="Where to write the report.")] = "out", jobs: Jobs = -1) -> None:
    """Compare methods on scikit-learn's 1,797 digits, as a first look."""
    from sklearn.datasets import load_digits

    from ..tables import Prepared, Table

    digits = load_digits()
    table = Table(digits.data, digits.target, image_shape=digits.images.shape[1:], n_read=len(digits.data))
    start = perf_counter()
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, "report.html")
    _say_what_was_read(table, "digits", None, 0)
    names = ["PCA", "LDA", "LPP", "LPP + classes", "MMC", "OLPP + repulsion", "MFA"]
    found = _compared(Prepared(table, [], []), names, n_jobs=jobs)
    _print(found)
    loading = "from sklearn.datasets import load_digits\n\nX, y = load_digits(return_X_y=True)"
    _write_report(output, found, table, "digits", start, loading)


def _names(given: list[str]) -> list[str]:
    """Names in the form that the comparison uses, whatever way the user wrote them."""
    from ..comparison import METHODS

    names = {key(name): name for name in [*METHODS, *(["UMAP"] if find_spec("umap") else [])]}
    unknown = [name for name in given if key(name) not in names]
    if unknown:
        more = "UMAP" if find_spec("umap") else "UMAP where umap-learn is installed"
        why = f"cannot compare {', '.join(map(repr, unknown))}; known are {', '.join(METHODS)}, and {more}"
        raise typer.BadParameter(why, param_hint="--methods")
    return [names[key(name)] for name in given]


def _dimensions(text: str) -> list[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        found = re.fullmatch(r"\s*([1-9]\d*)(?:-([1-9]\d*))?\s*", part)
        if not found:
            raise typer.BadParameter(
                f"{part!r} is neither a number nor a range, as in 2,5,10-15", param_hint="--dimensions"
            )
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise typer.BadParameter(f"{part!r} runs backwards; write {last}-{first}", param_hint="--dimensions")
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def _say_what_was_read(table: Any, data: str, sample: int | None, seed: int) -> None:
    parts = [counted(table.n_read, "row"), counted(table.X.shape[1], "feature")]
    if table.y is not None:
        labels = [str(label) for label in table.y.tolist()]
        unknown = labels.count("-1")
        parts += [counted(len(set(labels) - {"-1"}), "class"), *([f"{unknown:,} unknown"] if unknown else [])]
    say(f"{data}: {', '.join(parts)}")
    if sample is not None and len(table) < table.n_read:
        say(f"a random sample of {len(table):,} rows is used (--sample {sample} --seed {seed})")
    elif len(table) >= MANY:
        say(f"{len(table):,} rows take a while; --sample 5000 compares on a random part")
    if table.y is None:
        say("no labels, so only neighbourhoods are measured; --label adds accuracy and clustering")


def _compared(prepared: Any, names: list[str] | None, **options: Any) -> Any:
    from .. import comparison

    X, y = prepared.table.X, prepared.table.y
    rows, prepare = (X, None) if prepared.transformer is None else (prepared.given, prepared.transformer)
    chosen = comparison.default_methods(X, y) if names is None else comparison.named_methods(names, X, y)
    slow = comparison.left_out(X, y) if names is None else {}
    for name, why in slow.items():
        say(f"{name} is left out: {why}; -m {_slug(name)} tries it")
    say(f"comparing {counted(len(chosen), 'method')}")
    methods = {name: prepared.settled(method) for name, method in chosen.items()}
    found = comparison.compare(rows, y, methods=methods, prepare=prepare, **options)
    if found.units:
        say(
            f"The columns are in different units (the largest deviation is {found.units:,.0f} times the median one); methods of "
            "lapwing divide them by their deviations."
        )
    for method, why in found.failures.items():
        say(f"lapwing: warning: {method} was left out: {why}")
    for method, messages in found.warnings.items():
        for message in messages:
            say(f"lapwing: warning: {method}: {message}")
    return found


def _slug(name: str) -> str:
    """The name of a method as an argument, such as ``kernel-pca-lda``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _loading(
    data: str, options: dict[str, Any], prepared: Any, aside: dict[str, str], sample: int | None, seed: int
) -> str:
    """Lines of Python that read the table as the command did."""
    usual = reading()
    given, changed = (
        {name: value for name, value in own.items() if value != default[name] and name != "prepare"}
        for own, default in ((options, usual), (options["prepare"], usual["prepare"]))
    )
    given |= {"aside": tuple(aside.values())} if aside else {}
    given |= {"sample": sample, "random_state": seed} if sample is not None else {}
    given |= {"categories": changed["categories"]} if "categories" in changed else {}
    path = "data.csv" if data == "-" else data
    arguments = ", ".join([repr(path), "mixed=True", *(f"{name}={value!r}" for name, value in given.items())])
    more = "".join(f", {name}={value!r}" for name, value in changed.items())
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
    output: str, found: Any, table: Any, data: str, start: float, loading: str, fitting: str | None = None
) -> None:
    from ..report import write_report

    images = None if table.image_shape is None else table.X.reshape(-1, *table.image_shape)
    with writing(output):
        write_report(
            output,
            found,
            table.X,
            table.y,
            feature_names=table.feature_names,
            ids=table.ids,
            images=images,
            title=f"lapwing: {os.path.basename(os.path.normpath(data))}",
            command=shlex.join(["lapwing", *sys.argv[1:]]),
            loading=loading,
            fitting=fitting,
        )
    say(f"wrote {output} after {perf_counter() - start:.0f} s")


def _print(found: Any) -> None:
    rows = found.summary()
    names = [name for name in TITLES if name in found.measures and name != found.criterion and name != "nmi"]
    if not found.is_unequal and found.criterion != "f1":
        names = [name for name in names if name not in ("balanced_accuracy", "f1")]
    chosen = {row["method"]: number for number, row in enumerate(rows)}[found.choice[0]]
    lines = [_line("*" if number == chosen else "", row, names) for number, row in enumerate(rows)]
    lines.append(_line("", _mean(found, found.baseline), names))
    if found.majority:
        lines.append(_line("", _mean(found, found.majority), names))
    titles = ["", "method", "d", f"{TITLES[found.criterion]} %", *(TITLES[name] for name in names)]
    print_table(titles, lines, right="  r" + "r" * (1 + len(names)), best=chosen)


def _line(mark: str, row: dict[str, Any], measures: list[str]) -> list[str]:
    scores = [f"{100 * row[name]:.1f}" if name in row else "" for name in measures]
    first = f"{100 * row['mean']:.1f} ± {100 * row['se']:.1f}" if "mean" in row else ""
    return [mark, row["method"], str(row["dimension"] or ""), first, *scores]


def _mean(found: Any, records: list[dict[str, Any]]) -> dict[str, Any]:
    """The records of all folds as one row of the summary, for example those of the data as given."""
    import numpy as np

    from ..metrics import standard_error

    scores = {name: np.array([record[name] for record in records]) for name in found.measures if name in records[0]}
    row = {name: float(values.mean()) for name, values in scores.items()}
    if found.criterion in scores:
        row |= {"mean": row[found.criterion], "se": standard_error(scores[found.criterion])}
    return {"method": records[0]["method"], "dimension": records[0]["dimension"], **row}


def _advise(found: Any, fitting: str, projecting: str) -> None:
    """Print what the star means, what to know about it, and how to go on."""
    within = "ten points" if found.criterion in ("recall", "trustworthiness", "continuity") else "one standard error"
    say(f"* the simplest with the fewest dimensions within {within} of the best")
    if found.is_unequal and found.majority:
        always = _mean(found, found.majority)["accuracy"]
        leads = found.criterion == "balanced_accuracy"
        advice = "so the mean over classes (balanced) leads" if leads else "so read balanced and F1 too"
        say(f"the classes are unequal: always naming the largest is right in {100 * always:.1f} %, {advice}")
        best = max(row["accuracy"] for row in found.summary())
        if best < always:
            say(f"no method's nearest neighbour is right as often ({100 * best:.1f} % at best)")
    classes = "" if found.labels is None else " (fit --predict makes one that names their classes)"
    say(f"to fit it, and to project rows with the model{classes}:")
    say(f"  {fitting}")
    say(f"  {projecting}")


def _file(data: str) -> str:
    return "FILE" if data == "-" else data


def _fit_lines(found: Any, data: str, again: list[str]) -> dict[str, str]:
    """For each method the command that fits it with the chosen number of dimensions."""
    chosen = {row["method"]: row["dimension"] for row in found.summary()}
    return {name: shlex.join([*_fitting(found, name, d, data), *again]) for name, d in chosen.items()}


def _fitting(found: Any, method: str, dimension: int, data: str) -> list[str]:
    from ..methods import METHODS

    estimator = found.estimator(method, dimension)
    command = ["lapwing", "fit", _file(data), "--method"]
    name = type(estimator).__name__
    if name not in METHODS:
        return [*command, _slug(method), "-d", str(dimension)]
    command += [name.lower(), "-d", str(dimension)]
    parameters = estimator.get_params(deep=False)
    if "graph" in parameters:
        graph = parameters["graph"]
        command += ["--graph", "none" if graph is None else graph if isinstance(graph, str) else repr(graph)]
    usual = METHODS[name]().get_params(deep=False)
    for parameter, value in parameters.items():
        if parameter not in ("n_components", "graph", "standardize") and repr(value) != repr(usual[parameter]):
            command += ["-p", f"{parameter}={value}"]
    return command


def _facts(found: Any, data: str, output: str, lines: dict[str, str]) -> dict[str, Any]:
    method, dimension = found.choice
    return {
        "data": data,
        "rows": found.n_samples,
        "features": found.n_features,
        "criterion": found.criterion,
        "choice": {"method": method, "dimension": dimension, "command": lines[method]},
        "methods": found.summary(),
        "baseline": _mean(found, found.baseline),
        "majority": _mean(found, found.majority) if found.majority else None,
        "failures": found.failures,
        "report": output,
    }
