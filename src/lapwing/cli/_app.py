"""The commands, whose work is in modules that are imported when one runs: messages in the place of tracebacks, and exit codes."""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
import time as clock
import traceback
import warnings
from dataclasses import replace
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ._console import counted, print_json, say, say_in_one_line, size, visible
from ._options import (
    Data,
    Json,
    Judge,
    Reading,
    Word,
    Words,
    check_output,
    listed,
    option,
    prepares_data,
    quoted,
    reads_data,
    refuse,
)

INTERRUPTED = 130
DOES_NOT_HOLD = 3  # exit status of verify; 1 and 2 are errors of the data and of usage
BROKEN_PIPE, TERMINATED = 128 + 13, 128 + signal.SIGTERM
ABOUT = (
    "Dimensionality reduction that keeps neighbourhoods and classes: from a file to a projection, a report and a model.\n\n"
    "DATA is a CSV, TSV, Parquet, NumPy (.npy, .npz), Matrix Market or svmlight file, a folder of images with one sub-folder "
    "per class, or - for CSV on standard input."
)

Jobs = Annotated[int, option("--jobs -j N")]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Written by lapwing fit.")]
Import = Annotated[Words, option("--import MODULE")]


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
    start, label = clock.perf_counter(), reading.label
    check_output(output, data, label)
    if atlas is not None:
        check_output(atlas, data, label, beside=output)
    aside = {name: column for name, column in (("groups", group), ("time", time)) if column is not None}
    if len(aside) > 1 or label in aside.values():
        refuse("one column divides the rows, and it is not the label", "--group, --time")
    from . import _compare as work

    names = None if methods is None else work.method_names(listed(methods))
    wanted = None if dimensions is None else work.parsed_dimensions(dimensions)
    sampled: dict[str, Any] = {} if sample is None else {"sample": sample, "random_state": seed}
    prepared = work.read_rows(data, reading, tuple(aside.values()), sampled, scoring == "r2")
    table = prepared.table
    aside = dict(zip(aside, table.aside, strict=True))  # by name, where columns were given as -1 or 02
    kept = {name: table.aside[column] for name, column in aside.items()}
    if time is not None and kept["time"].dtype.kind in "OU":
        say(f"{time!r} holds neither dates nor numbers, and is sorted as text")
    how = {"memory": memory, "random_state": seed, "n_jobs": jobs, **kept}
    found, stopped = work.compared(prepared, names, dimensions=wanted, scoring=scoring, judge=judge, cv=cv, **how)
    file = "FILE" if data == "-" else data
    dropped = [part for column in aside.values() for part in ("--drop", quoted(column))]
    again = [*reading.words(), *dropped]
    lines = {name: shlex.join([*work.fitting(found, name, d, file), *again]) for name, d in found.chosen.items()}
    if json:
        print_json(work.facts(found, data, output, lines, stopped))
    else:
        work.print_comparison(found)
        if stopped is None:
            transform = ["lapwing", "transform", "model.lapwing", file, *dropped, *reading.words(preparing=False)]
            work.advise(found, lines[found.choice[0]], shlex.join([*transform, "-o", "projected.csv"]))
    if stopped is not None:
        goes_on = "the same command goes on from there" if memory else "--memory DIR keeps scores for the next time"
        say(f"interrupted: {stopped}, and no report was written; {goes_on}")
        raise typer.Exit(INTERRUPTED)
    loading = work.loading(data, reading, prepared, aside, sampled)
    named = f": {label}" if label and not label.lstrip("-").isdigit() else ""
    title = os.path.basename(os.path.normpath(data)) + named
    work.report(output, found, prepared, title, start, loading, lines[found.choice[0]])
    if atlas is not None:
        from ..report import write_atlas

        write_atlas(atlas, found, table.y, ids=table.ids, feature_names=table.feature_names)
        say(f"wrote {atlas}; embedding-atlas {atlas} --x x --y y --neighbors neighbors shows it")


def demo(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where to write the report.")] = "out",
    jobs: Jobs = -1,
) -> None:
    """Digits of which one in ten has a label: what do those without one add? A first look."""
    from . import _compare as work

    start = clock.perf_counter()
    os.makedirs(folder, exist_ok=True)
    digits = work.digits()
    say(work.STORY)
    names = ["PCA", "LDA", "LPP + spread labels", "KernelLPP + spread labels"]
    found, stopped = work.compared(digits, names, dimensions=[2, 5, 9], n_jobs=jobs)
    work.print_comparison(found)
    for name, meaning in work.LEGEND.items():
        say(f"  {work.TITLES.get(name, name):10} {meaning}")
    if stopped is not None:
        raise typer.Exit(INTERRUPTED)
    say(f"* {found.reason}")
    work.report(os.path.join(folder, "report.html"), found, digits, "digits", start, work.DEMO)


@prepares_data
def fit(
    data: Data,
    *,
    method: Annotated[str, option("--method -m NAME")] = "lpp",
    dimensions: Annotated[Word, option("--dimensions -d D")] = None,
    output: Annotated[str, option("--output -o MODEL")] = "model.lapwing",
    reading: Reading,
    graph: Annotated[Word, option("--graph -g GRAPH")] = None,
    param: Annotated[Words, option("--param -p KEY=VALUE")] = None,
    predict: Annotated[bool, option("--predict")] = False,
    judge: Judge = "auto",
) -> None:
    """Fit a method to DATA and write the model, which keeps how columns were prepared."""
    check_output(output, data, reading.label)
    from ..persistence import save
    from ._methods import Choice, configure, to_fit
    from ._model import fitted, method_name, output_names, parameter

    estimator = to_fit(method)
    choice = Choice(graph, dimensions)
    configure(estimator, choice, dict(map(parameter, param or [])))
    start = clock.perf_counter()
    model, shape = fitted(estimator, choice, data, reading, judge if predict else None)
    save(model, output)
    result = "class" if predict else f"{len(output_names(model) or []):,}"
    said = f"{method_name(model)}: {counted(shape[0], 'row')}, {counted(shape[1], 'feature')} -> {result}"
    say(f"{said} in {clock.perf_counter() - start:.1f} s; wrote {output} ({size(output)})")


@reads_data
def transform(
    model: Model,
    data: Data,
    *,
    output: Annotated[str, option("--output -o FILE")] = "-",
    reading: Reading,
    coordinates: Annotated[bool, option("--coordinates")] = False,
    import_: Import = None,
) -> None:
    """Project DATA, in batches of rows: files of any size in little memory.

    Columns are found by name where the model knows names. Those of --label and --id are copied to the output. A model of fit
    --predict writes the class of each row, and with --coordinates its coordinates too.
    """
    from .._extras import Progress
    from ..tables import batches, write
    from ._model import Taken, loaded, outputs_of, projected, safe

    label, id, is_npy = reading.label, reading.id, output.lower().endswith(".npy")
    check_output(output, model, data, label, stdout=True)
    start = clock.perf_counter()
    whole = loaded(model, import_)
    taken = Taken(whole)
    outputs = outputs_of(whole if taken.preparation is None else whole[1:], coordinates)  # taken does the first step
    if is_npy and (label or id or not hasattr(whole, "transform")):
        refuse("an array of numbers has no classes and names; write .parquet or .csv")
    how = {**reading.read, "features": taken.names, "n_features": whole.n_features_in_}
    columns = {"label": label or "label", "id": id or "id"}
    with Progress("projecting rows", None, "done") as update:
        tables = projected(outputs, batches(data, mixed=True, **how), taken, update, data)
        if is_npy:
            tables = (replace(table, y=None, ids=None) for table in tables)
        if output == "-" and sys.stdout.isatty():
            tables, columns = map(safe, tables), {role: visible(name) for role, name in columns.items()}
        rows = write(output, tables, **columns)
    taken.tell()
    if output != "-":
        say(f"wrote {output}: {counted(rows, 'row')} ({size(output)}) in {clock.perf_counter() - start:.1f} s")


Leading = Annotated[int | None, option("--loadings N", min=1)]


def inspect(model: Model, loadings: Leading = None, json: Json = False, import_: Import = None) -> None:
    """Say what is in a model file, or which features make its components."""
    from ._inspect import print_loadings, print_model
    from ._model import loaded

    whole = loaded(model, import_)
    return print_model(whole, model, json) if loadings is None else print_loadings(whole, loadings, json)


@reads_data
def verify(
    model: Model,
    data: Data,
    *,
    reading: Reading,
    json: Json = False,
    import_: Import = None,
) -> None:
    """Check a model against the data it was fitted to: fit it anew, and compare.

    The exit code is 0 where it holds, 3 where it does not, and 1 where it could not be checked.
    """
    from ._inspect import print_verification, verified
    from ._model import loaded

    whole, start = loaded(model, import_), clock.perf_counter()
    found, n_rows = verified(whole, model, data, reading)
    print_verification(found, json)
    said = f"{found.method} {'solves' if found.holds else 'does NOT solve'} the problem that {n_rows:,} rows pose"
    say(f"{said} ({clock.perf_counter() - start:.1f} s)")
    if not found.holds:
        raise typer.Exit(DOES_NOT_HOLD)


def export(
    model: Model,
    output: Annotated[str, option("--output -o ONNX")] = "model.onnx",
    import_: Import = None,
) -> None:
    """Write a model as ONNX, for programs without Python: linear and kernel methods, and what prepares their columns."""
    from ..persistence import to_onnx
    from ._model import loaded

    check_output(output, model)
    try:
        written = to_onnx(loaded(model, import_), output)
    except TypeError as error:
        raise ValueError(f"{model}: {error}; lapwing transform uses it all the same") from error
    names = {"inputs": written.graph.input, "outputs": written.graph.output}
    said = "; ".join(f"{kind} {', '.join(part.name for part in parts)}" for kind, parts in names.items())
    say(f"wrote {output}: {said} ({size(output)})")
    for entry in written.metadata_props:
        say(f"columns of {entry.key}: {entry.value}" if entry.key in "XS" else f"what they must hold: {entry.value}")


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A method: its equation, and all its parameters.")
    ] = None,
    json: Json = False,
) -> None:
    """List the methods and what each is for, or describe one."""
    from ._methods import describe_method, list_methods

    return list_methods(json) if name is None else describe_method(name, json)


class Plain:
    """Commands whose help shows flags as flags, and not as options that take a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)  # type: ignore[misc]
        for given in params:
            if getattr(given, "is_flag", False):
                given.metavar = ""
        return params


class Command(Plain, TyperCommand):
    """One command."""


class Commands(Plain, TyperGroup):
    """Commands whose errors are one line on standard error, with exit code 1 for data and fits, 2 for usage, 130 for Ctrl-C."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *where: say_in_one_line(f"lapwing: warning: {message}")
            try:
                value = super().invoke(ctx)
                sys.stdout.flush()
                return value
            except BrokenPipeError:
                # Nobody reads what is still to be written, and Python flushes once again when it ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(BROKEN_PIPE) from None
            except Exception as error:
                if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):  # an exception of Typer itself
                    _reword(error)
                    raise
                if ctx.params.get("debug"):
                    say("".join(traceback.format_exception(error)).rstrip())
                say_in_one_line(f"lapwing: {_message(error)}")
                raise typer.Exit(1) from error


def _reword(error: Any) -> None:
    """Let a message of Typer steer no terminal."""
    if hasattr(error, "message"):
        error.message = visible(error.message)


def _message(error: Exception) -> str:
    if isinstance(error, io.UnsupportedOperation):  # run has put this object in the place of standard output
        return "standard output is closed"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"not enough memory ({error})" if str(error) else "not enough memory"
    if isinstance(error, OSError | ValueError | ImportError | RuntimeError):
        return str(error)
    return f"internal error, {type(error).__name__}: {error} (lapwing --debug shows where)"


app = typer.Typer(cls=Commands, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"lapwing {version('lapwing')}")
        raise typer.Exit


@app.callback(help=ABOUT)
def _main(
    debug: Annotated[bool, typer.Option("--debug", envvar="LAPWING_DEBUG", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before the command."""


# The order is that of the help.
for command in (compare, fit, transform, inspect, verify, export, methods, demo):
    app.command(cls=Command)(command)


def run() -> None:
    """Run the command line as a program."""
    # Streams that the caller closed are replaced by empty ones, so that no file of ours takes their place.
    for name, mode in (("stdin", "r"), ("stdout", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (until the end)
    # An exception, so that half-written files are removed.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    app(prog_name="lapwing")
