"""Options that several commands share."""

from __future__ import annotations

import csv
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from inspect import Signature, signature
from io import StringIO
from typing import Annotated, Any, NoReturn

import typer

in_reading = partial(typer.Option, rich_help_panel="Reading")
in_preparing = partial(typer.Option, rich_help_panel="Preparing the columns")


def _choice(value: str) -> str:
    if value not in ("auto", "yes", "no"):
        raise typer.BadParameter(f"{value!r} is none of auto, yes and no")
    return value


Data = Annotated[str, typer.Argument(metavar="DATA", help="File, folder of images, or - for CSV on standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        "-l",
        metavar="COL",
        help="Column of the labels: a name, or a number where columns have none (-1 is the last). "
        "For a matrix also a file of labels; .npz, svmlight and image folders bring their own.",
    ),
]
NoLabel = Annotated[bool, typer.Option("--no-label", help="Ignore the labels that DATA brings.")]
Id = Annotated[str | None, typer.Option("--id", metavar="COL", help="Column that names rows.")]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLS", help="Columns to leave out: a,b. May be repeated.")
]
Header = Annotated[
    bool | None, in_reading("--header/--no-header", help="Whether CSV starts with names; looks by default.")
]
Resize = Annotated[str | None, in_reading("--resize", metavar="WxH", help="Size of images.")]
Grey = Annotated[bool | None, in_reading("--grey/--colour", help="How to read images; grey if all are.")]
ZeroBased = Annotated[bool, in_reading("--zero-based", help="svmlight counts features from 0.")]
Impute = Annotated[
    bool | None,
    in_preparing(
        "--impute/--no-impute",
        help="Fill in missing values, or refuse them; by default where there are some.",
        show_default=False,
    ),
]
OneHot = Annotated[bool, in_preparing("--one-hot/--no-one-hot", help="Encode columns of text, or refuse them.")]
Dates = Annotated[bool, in_preparing("--dates/--no-dates", help="Dates as numbers, or refuse them.")]
Standardize = Annotated[
    str,
    in_preparing(
        "--standardize",
        metavar="auto|yes|no",
        callback=_choice,
        help="Columns to mean 0 and deviation 1; auto does so where their units differ.",
    ),
]
Categories = Annotated[
    list[str] | None,
    in_preparing(
        "--categories",
        metavar="COLS",
        help="Columns to encode as text though they hold numbers or many values: a,b. May be repeated.",
    ),
]
Missing = Annotated[
    list[str] | None,
    in_preparing(
        "--missing", metavar="MARK", help="What marks a missing value beside blanks and NA: -999. May be repeated."
    ),
]


def reading(
    label: Label = None,
    no_label: NoLabel = False,
    id: Id = None,
    drop: Drop = None,
    header: Header = None,
    resize: Resize = None,
    grey: Grey = None,
    zero_based: ZeroBased = False,
    impute: Impute = None,
    one_hot: OneHot = True,
    dates: Dates = True,
    standardize: Standardize = "auto",
    categories: Categories = None,
    missing: Missing = None,
) -> dict[str, Any]:
    """The options of ``tables.read`` and, under ``prepare``, those of ``tables.prepare``."""
    if label is not None and no_label:
        raise typer.BadParameter("give --label, or --no-label", param_hint="--no-label")
    return {
        "label": label,
        "labels": not no_label,
        "id": id,
        "drop": listed(drop),
        "header": header,
        "resize": None if resize is None else width_and_height(resize),
        "grey": grey,
        "zero_based": zero_based,
        "prepare": {
            "impute": impute,
            "one_hot": one_hot,
            "dates": dates,
            "standardize": standardize,
            "categories": listed(categories),
            "missing": listed(missing),
        },
    }


def reads_data(command: Callable[..., None], preparing: bool = False) -> Callable[..., None]:
    """The command with the options of :func:`reading` in the place of its parameter ``options``, which they are passed as."""
    own, shared = (list(signature(function, eval_str=True).parameters.values()) for function in (command, reading))
    place = [parameter.name for parameter in own].index("options")
    prepares = shared[8:] if preparing else []
    columns = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in (*shared[:4], *prepares, *shared[4:8])]

    @wraps(command)
    def run(**given: Any) -> None:
        options = reading(**{column.name: given.pop(column.name) for column in columns})
        command(**given, options=options)

    parameters = [*own[:place], *columns[:4], *own[place + 1 :], *columns[4:]]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def prepares_data(command: Callable[..., None]) -> Callable[..., None]:
    """The same with the options that say how columns are prepared."""
    return reads_data(command, preparing=True)


def listed(values: list[str] | None) -> list[str]:
    """The items of ``a,b`` and of repeated options. Quotes keep a comma, as in ``'"a,b",c'``."""
    return [item for value in values or [] for item in (next(csv.reader([value]), None) or [""])]


def width_and_height(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not found:
        raise typer.BadParameter(f"{text!r} is not WIDTHxHEIGHT, such as 32x32", param_hint="--resize")
    return int(found[1]), int(found[2])


def as_given(options: dict[str, Any], preparing: bool = True) -> list[str]:
    """The command-line arguments that ``reading`` turned into these options; without ``preparing`` those that say how to read."""
    switches = {"header": ("--header", "--no-header"), "grey": ("--grey", "--colour"), "labels": (None, "--no-label")}
    named = [name for name in ("label", "id") if options[name] is not None]
    arguments = [part for name in named for part in (f"--{name}", options[name])]
    arguments += [part for column in options["drop"] for part in ("--drop", quoted(column))]
    for name, (on, off) in switches.items():
        switch = None if options[name] is None else on if options[name] else off
        arguments += [] if switch is None else [switch]
    arguments += [] if options["resize"] is None else ["--resize", "{}x{}".format(*options["resize"])]
    arguments += ["--zero-based"] if options["zero_based"] else []
    return [*arguments, *(_preparing(options["prepare"]) if preparing else [])]


def _preparing(options: dict[str, Any]) -> list[str]:
    """The arguments that say how columns are prepared, where they differ from the defaults."""
    arguments = [] if options["impute"] is None else ["--impute" if options["impute"] else "--no-impute"]
    arguments += [f"--no-{name.replace('_', '-')}" for name in ("one_hot", "dates") if not options[name]]
    arguments += [] if options["standardize"] == "auto" else ["--standardize", options["standardize"]]
    many = ("categories", "missing")
    return [*arguments, *(part for name in many for value in options[name] for part in (f"--{name}", quoted(value)))]


def quoted(column: str) -> str:
    """A column's name, quoted so that ``listed`` gives it back."""
    line = StringIO()
    csv.writer(line, lineterminator="").writerow([column])
    return line.getvalue()


def check_output(output: str, *inputs: str | None, stdout: bool = False, beside: str | None = None) -> None:
    """Raise, before any work is done, where an output would replace a file that is read, or another output (``beside``)."""
    read = _files_read(inputs)
    if output == "-":
        if not stdout:
            _refuse("-: this output cannot go to standard output; name a file")
        if _of_stream(sys.stdout) in read:
            _refuse("standard output is a file that is read by this command; choose another")
        return
    if os.path.exists(output) and _identity(os.stat(output)) in read:
        _refuse(f"{output} is read by this command; choose another file")
    if beside is not None and os.path.realpath(output) == os.path.realpath(beside):
        _refuse(f"{output} is written by this command already; choose another file")
    folder = os.path.dirname(os.path.realpath(output))
    if os.path.isdir(output):
        _refuse(f"{output} is a folder; name a file, such as {os.path.join(output, 'out')}")
    if os.path.exists(output) and not (os.path.isfile(output) or stat.S_ISCHR(os.stat(output).st_mode)):
        _refuse(f"{output} is a pipe or a device, not a file, and writing there may wait for ever; name a file")
    if not os.path.isdir(folder):
        _refuse(f"{output}: there is no folder {folder}")
    if not os.access(output if os.path.exists(output) and not os.path.isfile(output) else folder, os.W_OK):
        _refuse(f"{output}: you may not write there")


def _files_read(inputs: tuple[str | None, ...]) -> set[tuple[int, int]]:
    """The files that are read, by their real identity: tables, labels, models, and the images of folders."""
    found: set[tuple[int, int] | None] = set()
    for path in inputs:
        if path == "-":
            found.add(_of_stream(sys.stdin))
        elif path is not None and os.path.exists(path):
            from ..tables import files_of

            files = [path] if os.path.isfile(path) else files_of(path)
            found |= {_identity(os.stat(file)) for file in files if os.path.exists(file)}
    return {identity for identity in found if identity is not None}


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _of_stream(stream: Any) -> tuple[int, int] | None:
    """The identity of the file behind a stream, where there is one."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):  # the stream has no file, or is closed
        return None
    return _identity(status) if stat.S_ISREG(status.st_mode) else None


def check_writer(output: str) -> None:
    """Raise where tables cannot be written under this name."""
    from ..tables import check_suffix

    if output != "-":
        try:
            check_suffix(output)
        except ValueError as error:
            _refuse(str(error))


def _refuse(why: str) -> NoReturn:
    raise typer.BadParameter(why, param_hint="--output")


@contextmanager
def writing(output: str) -> Iterator[None]:
    """A context in which errors name the file that the user named, and not the temporary file beside it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None or not (error.filename is None or str(error.filename).endswith(".part")):
            raise
        raise OSError(error.errno, error.strerror or str(error), output) from error
