"""The commands, whose work is in modules that are imported when one runs: messages in the place of tracebacks, and exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
import time as clock
import traceback
import warnings
from dataclasses import replace
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from . import _options as options
from ._options import Data, Json, Judge, Reading, Word, Words, check_output, counted, option, refuse, say, visible, warn

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
Leading = Annotated[int | None, option("--loadings N", min=1)]
Onnx = Annotated[str, option("--output -o ONNX")]
Name = Annotated[str | None, typer.Argument(metavar="NAME", help="A method: its equation, and all its parameters.")]
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="Where to write the report.")]


@options.prepares_data
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
    from . import _compare as work

    start, label = clock.perf_counter(), reading.label
    check_output(output, data, label)
    if atlas is not None:
        check_output(atlas, data, label)
        if os.path.realpath(atlas) == os.path.realpath(output):
            refuse(f"{atlas} is where the report goes; choose another file", "--atlas")
    aside = {name: column for name, column in (("groups", group), ("time", time)) if column is not None}
    if len(aside) > 1 or label in aside.values():
        refuse("one column divides the rows, and it is not the label", "--group, --time")
    names = None if methods is None else work.method_names(options.listed(methods))
    wanted = None if dimensions is None else work.parsed_dimensions(dimensions)
    sampled: dict[str, Any] = {} if sample is None else {"sample": sample, "random_state": seed}
    prepared = work.read_rows(data, reading, tuple(aside.values()), sampled, scoring == "r2")
    table = prepared.table
    aside = dict(zip(aside, table.aside, strict=True))  # by name, where columns were given as -1 or 02
    kept = {name: table.aside[column] for name, column in aside.items()}
    if time is not None and kept["time"].dtype.kind in "OU":
        say(f"{time!r} holds neither dates nor numbers, and is sorted as text")
    how = {"dimensions": wanted, "scoring": scoring, "judge": judge, "cv": cv, "memory": memory, "n_jobs": jobs}
    found, stopped = work.compared(prepared, names, random_state=seed, **how, **kept)
    lines, projecting = work.lines(found, data, reading, [*aside.values()])
    if json:
        options.print_json(work.facts(found, data, output, lines, stopped))
    else:
        work.print_comparison(found)
    if stopped is not None:
        goes_on = "the same command goes on from there" if memory else "--memory DIR keeps scores for the next time"
        say(f"interrupted: {stopped}, and no report was written; {goes_on}")
        raise typer.Exit(INTERRUPTED)
    if not json:
        work.advise(found, [lines[found.choice[0]], projecting])
    loading = work.loading(data, reading, prepared, aside, sampled)
    title = ": ".join(filter(None, [os.path.basename(os.path.normpath(data)), label]))
    work.report(output, found, prepared, title, start, loading, lines[found.choice[0]])
    if atlas is not None:
        from ..report import write_atlas

        write_atlas(atlas, found, ids=table.ids, feature_names=table.feature_names)
        say(f"wrote {atlas}; embedding-atlas {atlas} --x x --y y --neighbors neighbors shows it")


def demo(folder: Folder = "out", jobs: Jobs = -1) -> None:
    """Digits of which one in ten has a label: what do those without one add? A first look."""
    from . import _compare as work

    start = clock.perf_counter()
    os.makedirs(folder, exist_ok=True)
    digits = work.digits()
    say(work.STORY)
    names = ["PCA", "LDA", "LPP + spread labels", "KernelLPP + spread labels"]
    found, stopped = work.compared(digits, names, dimensions=[2, 5, 9], n_jobs=jobs)
    work.print_comparison(found)
    say(work.LEGEND)
    if stopped is not None:
        raise typer.Exit(INTERRUPTED)
    say(f"* {found.reason}")
    work.report(os.path.join(folder, "report.html"), found, digits, "digits", start, work.DEMO)


@options.prepares_data
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
    from . import _model as work

    choice = {"graph": graph, "dimensions": dimensions}
    estimator = work.configured(method, choice, dict(map(work.parameter, param or [])))
    start = clock.perf_counter()
    model, shape = work.fitted(estimator, choice, data, reading, judge if predict else None)
    save(model, output)
    names = work.output_names(work.before_classes(model) if predict else model) or []
    result = f"{len(names):,}" + " -> class" * predict
    said = f"{work.method_name(model)}: {counted(shape[0], 'row')}, {counted(shape[1], 'feature')} -> {result}"
    say(f"{said} in {clock.perf_counter() - start:.1f} s; wrote {output} ({options.size(output)})")


@options.reads_data
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
    from . import _model as work

    label, id, is_npy = reading.label, reading.id, output.lower().endswith(".npy")
    check_output(output, model, data, label, stdout=True)
    start, whole = clock.perf_counter(), work.loaded(model, import_)
    taken = work.Taken(whole)  # which does the first step, where that prepares columns
    outputs = work.outputs_of(whole if taken.preparation is None else whole[1:], coordinates)
    if is_npy and (label or id or not hasattr(whole, "transform")):
        refuse("an array of numbers has no classes and names; write .parquet or .csv")
    columns = {"label": label or "label", "id": id or "id"}
    with Progress("projecting rows", None, "done") as update:
        tables = batches(data, mixed=True, features=taken.names, n_features=whole.n_features_in_, **reading.read)
        tables = work.projected(outputs, tables, taken, update, data)
        if is_npy:
            tables = (replace(table, y=None, ids=None) for table in tables)
        if output == "-" and sys.stdout.isatty():
            tables, columns = map(work.safe, tables), {role: visible(name) for role, name in columns.items()}
        rows = write(output, tables, **columns)
    taken.tell()
    if output != "-":
        seconds = clock.perf_counter() - start
        say(f"wrote {output}: {counted(rows, 'row')} ({options.size(output)}) in {seconds:.1f} s")


def inspect(model: Model, loadings: Leading = None, json: Json = False, import_: Import = None) -> None:
    """Say what is in a model file, or which features make its components."""
    from . import _model as work

    whole = work.loaded(model, import_)
    return work.print_model(whole, model, json) if loadings is None else work.print_loadings(whole, loadings, json)


@options.reads_data
def verify(model: Model, data: Data, *, reading: Reading, json: Json = False, import_: Import = None) -> None:
    """Check a model against the data it was fitted to: fit it anew, and compare.

    The exit code is 0 where it holds, 3 where it does not, and 1 where it could not be checked.
    """
    from . import _model as work

    start = clock.perf_counter()
    found, n_rows = work.verified(work.loaded(model, import_), model, data, reading)
    work.print_verification(found, json)
    said = f"{found.method} {'solves' if found.holds else 'does NOT solve'} the problem that {n_rows:,} rows pose"
    say(f"{said} ({clock.perf_counter() - start:.1f} s)")
    if not found.holds:
        raise typer.Exit(DOES_NOT_HOLD)


def export(model: Model, output: Onnx = "model.onnx", import_: Import = None) -> None:
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
    say(f"wrote {output}: {said} ({options.size(output)})")
    for entry in written.metadata_props:
        say(f"columns of {entry.key}: {entry.value}" if entry.key in "XS" else f"what they must hold: {entry.value}")


def methods(name: Name = None, json: Json = False) -> None:
    """List the methods and what each is for, or describe one."""
    from . import _model as work

    return work.list_methods(json) if name is None else work.describe_method(name, json)


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
            warnings.showwarning = lambda message, *where: warn(f"warning: {message}")
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # they are matched before
            try:
                value = super().invoke(ctx)
                sys.stdout.flush()
                return value
            except BrokenPipeError:
                # Nobody reads what is still to be written, and Python flushes once again when it ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(BROKEN_PIPE) from None
            except Exception as error:
                # Exceptions of Typer itself, and what run waits for.
                if isinstance(error, typer.Abort | io.UnsupportedOperation) or hasattr(error, "exit_code"):
                    if hasattr(error, "message"):  # which may hold what would steer a terminal
                        error.message = visible(error.message)
                    raise
                if ctx.params.get("debug"):
                    say("".join(traceback.format_exception(error)).rstrip())
                warn(_message(error))
                raise typer.Exit(1) from error


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, OSError | ValueError | ImportError | RuntimeError | MemoryError):
        return str(error) or "not enough memory"
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
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """What stands before the command."""


# The order is that of the help.
for command in (compare, fit, transform, inspect, verify, export, methods, demo):
    app.command(cls=Command)(command)


def run() -> None:
    """Run the command line as a program."""
    # Streams that the caller closed are replaced by empty ones, so that no file of ours takes their place. Results are not lost
    # in silence: what would stand on standard output cannot be written.
    for name, mode in (("stdin", "r"), ("stdout", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (until the end)
    # An exception, so that half-written files are removed.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    try:
        app(prog_name="lapwing")
    except io.UnsupportedOperation:
        sys.exit("lapwing: standard output is closed")
