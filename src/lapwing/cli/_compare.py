"""``lapwing compare`` and ``demo``: which method, with how many dimensions."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import Annotated, Any

import typer

from ._console import counted, print_json, print_table, progress, say
from ._methods import key
from ._options import (
    Data,
    Drop,
    Grey,
    Header,
    Id,
    Json,
    Label,
    NoLabel,
    Resize,
    Seed,
    ZeroBased,
    as_given,
    check_output,
    listed,
    reading,
    writing,
)
from ._tables import check_classes, read_table

MANY = 20_000  # rows, from which on a sample is advised
TITLES = {"clustering": "clustering", "trustworthiness": "trust", "continuity": "contin.", "recall": "recall"}


def _jobs(number: int) -> int:
    if number == 0:
        raise typer.BadParameter("0 cannot work; give 1 or more, or -1 for one a core")
    return number


Jobs = Annotated[int, typer.Option("--jobs", "-j", callback=_jobs, help="Folds at a time; -1 is one a core.")]


def compare(
    data: Data,
    label: Label = None,
    no_label: NoLabel = False,
    id: Id = None,
    drop: Drop = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--methods", "-m", help="Names: pca,lpp,mfa. By default some that suit the data."),
    ] = None,
    dimensions: Annotated[
        str | None, typer.Option("--dimensions", "-d", help="To try: 2,5,10-15. By default 1, 2, 3, 5, 8, 13, ...")
    ] = None,
    cv: Annotated[int, typer.Option("--cv", min=2, help="Folds.")] = 5,
    sample: Annotated[int | None, typer.Option("--sample", min=4, help="Use this many random rows.")] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write the report.")] = "report.html",
    jobs: Jobs = -1,
    seed: Seed = 0,
    json: Json = False,
    header: Header = None,
    resize: Resize = None,
    grey: Grey = None,
    zero_based: ZeroBased = False,
) -> None:
    """Try several methods and dimensions by cross-validation; print a table and write a report."""
    check_output(output, data)
    options = reading(label, no_label, id, drop, header, resize, grey, zero_based)
    names = None if methods is None else _names(listed(methods))
    wanted = None if dimensions is None else _dimensions(dimensions)
    table = read_table(data, options, sample, seed)
    check_classes(table, data)
    _say_what_was_read(table, data, sample, seed)
    found = _compared(table, names, wanted, cv, seed, jobs)
    if json:
        print_json(_facts(found, data, output))
    else:
        _print(found)
        _advise(found, data, options)
    _write_report(output, found, table, data)


def demo(
    folder: Annotated[str, typer.Argument(help="Where to write the report.")] = "out",
    jobs: Jobs = -1,
) -> None:
    """Compare methods on scikit-learn's 1,797 digits, as a first look."""
    from sklearn.datasets import load_digits

    from ..tables import Table

    digits = load_digits()
    table = Table(digits.data, digits.target, image_shape=digits.images.shape[1:], n_read=len(digits.data))
    os.makedirs(folder, exist_ok=True)
    output = os.path.join(folder, "report.html")
    _say_what_was_read(table, "digits", None, 0)
    found = _compared(table, None, None, 5, 0, jobs)
    _print(found)
    _write_report(output, found, table, "digits")


def _names(given: list[str]) -> list[str]:
    """Names as the comparison has them, however they are written."""
    from ..comparison import METHODS

    names = {key(name): name for name in METHODS}
    unknown = [name for name in given if key(name) not in names]
    if unknown:
        raise typer.BadParameter(
            f"cannot compare {', '.join(map(repr, unknown))}; known are {', '.join(METHODS)}", param_hint="--methods"
        )
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
    if len(table) < table.n_read:
        say(f"a random sample of {len(table):,} rows is used (--sample {sample} --seed {seed})")
    elif len(table) >= MANY:
        say(f"{len(table):,} rows take a while; --sample 5000 compares on a random part")
    if table.y is None:
        say("no labels, so only neighbourhoods are measured; --label adds accuracy and clustering")


def _compared(table: Any, names: list[str] | None, dimensions: list[int] | None, cv: int, seed: int, jobs: int) -> Any:
    from .. import comparison

    with progress("comparing") as update:
        found = comparison.compare(
            table.X,
            table.y,
            methods=names,
            dimensions=dimensions,
            cv=cv,
            random_state=seed,
            n_jobs=jobs,
            progress=update,
        )
    for method, why in found.failures.items():
        say(f"lapwing: warning: {method} was left out: {why}")
    for method, messages in found.warnings.items():
        for message in messages:
            say(f"lapwing: warning: {method}: {message}")
    return found


def _write_report(output: str, found: Any, table: Any, data: str) -> None:
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
        )
    say(f"wrote {output}")


def _print(found: Any) -> None:
    rows = found.summary()
    measures = [name for name in TITLES if name in found.measures and name != found.criterion]
    chosen = {row["method"]: number for number, row in enumerate(rows)}[found.choice[0]]
    lines = [_line("*" if number == chosen else "", row, measures) for number, row in enumerate(rows)]
    lines.append(_line("", _baseline(found), measures))
    titles = ["", "method", "d", f"{found.criterion} %", *(TITLES[name] for name in measures)]
    print_table(titles, lines, right="  r" + "r" * (1 + len(measures)), best=chosen)


def _line(mark: str, row: dict[str, Any], measures: list[str]) -> list[str]:
    scores = [f"{100 * row[name]:.1f}" for name in measures]
    return [mark, row["method"], str(row["dimension"]), f"{100 * row['mean']:.1f} ± {100 * row['se']:.1f}", *scores]


def _baseline(found: Any) -> dict[str, Any]:
    """The data as given, as a row of the summary."""
    import numpy as np

    from ..metrics import standard_error

    scores = {name: np.array([record[name] for record in found.baseline]) for name in found.measures}
    first = found.baseline[0]
    return {
        "method": first["method"],
        "dimension": first["dimension"],
        "mean": float(scores[found.criterion].mean()),
        "se": standard_error(scores[found.criterion]),
        **{name: float(values.mean()) for name, values in scores.items()},
    }


def _advise(found: Any, data: str, options: dict[str, Any]) -> None:
    """How to go on: the command that fits what was chosen."""
    from ..methods import METHODS

    say("* the fewest dimensions within one standard error of the best")
    method, dimension = found.choice
    which = "it"
    if method not in METHODS:
        rows = [row for row in found.summary() if row["method"] in METHODS]
        if not rows:
            say(f"{method} is there to be compared with; lapwing methods lists those to fit")
            return
        best = max(rows, key=lambda row: row["mean"])
        method, dimension = best["method"], best["dimension"]
        which = f"{method}, the best of those that lapwing fits"
    command = ["lapwing", "fit", "FILE" if data == "-" else data, "--method", method.lower(), "-d", str(dimension)]
    pca = found.estimator(method, dimension).get_params().get("pca", "auto")
    command += [] if pca == "auto" else ["--param", f"pca={pca}"]
    say(f"to fit {which}:")
    say(f"  {shlex.join([*command, *as_given(options)])}")


def _facts(found: Any, data: str, output: str) -> dict[str, Any]:
    method, dimension = found.choice
    return {
        "data": data,
        "rows": found.n_samples,
        "features": found.n_features,
        "criterion": found.criterion,
        "choice": {"method": method, "dimension": dimension},
        "methods": found.summary(),
        "baseline": _baseline(found),
        "failures": found.failures,
        "report": output,
    }
