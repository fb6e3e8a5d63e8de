"""Options that several commands share, and outputs that are checked before any work is done."""

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
from typing import Annotated, Any, Literal, NoReturn, get_args

import typer

Advanced = partial(typer.Option, rich_help_panel="Advanced")


Judge = Annotated[
    Literal["auto", "nearest", "knn", "logistic"],
    Advanced(
        "--judge",
        metavar="NAME",
        help="The classifier: nearest (neighbour), knn, logistic (regression), or auto, the better of the last two.",
    ),
]
Data = Annotated[str, typer.Argument(metavar="DATA", help="File, folder of images, or - for CSV on standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Reading:
    """What the shared options say: how to read DATA, and how to prepare its columns.

    ``read`` are the options of :func:`lapwing.tables.read`, ``prepare`` those of :func:`lapwing.tables.prepare`.
    """

    PREPARING = ("impute", "standardize", "categories", "text", "match_case", "missing")

    def __init__(
        self,
        label: Annotated[
            str | None,
            typer.Option(
                "--label",
                "-l",
                metavar="COL",
                help="Column of the labels: a name, or a number (-1 is the last). For a matrix also a file. .npz, svmlight "
                "and image folders bring their own.",
            ),
        ] = None,
        id: Annotated[str | None, typer.Option("--id", metavar="COL", help="Column that names rows.")] = None,
        drop: Annotated[
            list[str] | None, typer.Option("--drop", metavar="COLS", help="Columns to leave out: a,b. May be repeated.")
        ] = None,
        no_label: Annotated[bool, Advanced("--no-label", help="Ignore the labels that DATA brings.")] = False,
        impute: Annotated[
            bool | None,
            Advanced("--impute/--no-impute", help="Fill in missing values, or refuse them; else where there are some."),
        ] = None,
        standardize: Annotated[
            Literal["auto", "yes", "no"],
            Advanced(
                "--standardize",
                metavar="WHEN",
                help="Columns to mean 0 and deviation 1: yes, no, or auto, where their units differ.",
            ),
        ] = "auto",
        categories: Annotated[
            list[str] | None,
            Advanced(
                "--categories",
                metavar="COLS",
                help="Columns to encode as text though they hold numbers or many values. May be repeated.",
            ),
        ] = None,
        text: Annotated[
            list[str] | None,
            Advanced("--text", metavar="COLS", help="Columns of sentences, to be described by their words: a,b."),
        ] = None,
        match_case: Annotated[bool, Advanced("--match-case", help="Keep Basic and BASIC apart.")] = False,
        missing: Annotated[
            list[str] | None,
            Advanced("--missing", metavar="MARK", help="Marks a missing value, as -999 does. May be repeated."),
        ] = None,
        header: Annotated[
            bool | None, Advanced("--header/--no-header", help="Whether CSV starts with names; looks by default.")
        ] = None,
        resize: Annotated[str | None, Advanced("--resize", metavar="WxH", help="Size of images.")] = None,
        grey: Annotated[bool | None, Advanced("--grey/--colour", help="How to read images; grey if all are.")] = None,
        zero_based: Annotated[bool, Advanced("--zero-based", help="svmlight counts features from 0.")] = False,
    ):
        self._given = {name: value for name, value in locals().items() if name != "self"}
        if label is not None and no_label:
            refuse("give --label, or --no-label", "--no-label")
        self.label, self.id, self.drop = label, id, listed(drop)
        self.read: dict[str, Any] = {"label": label, "labels": not no_label, "id": id, "drop": self.drop}
        self.read |= {"header": header, "resize": width_and_height(resize), "grey": grey, "zero_based": zero_based}
        self.prepare: dict[str, Any] = {"impute": impute, "standardize": standardize}
        self.prepare |= {"categories": listed(categories), "text": listed(text), "match_case": match_case}
        self.prepare |= {"missing": listed(missing)}

    def words(self, preparing: bool = True) -> list[str]:
        """The arguments that were given, for another command; without ``preparing`` those that say how to read."""
        words: list[str] = []
        for name, value in self._given.items():
            if value == SHARED[name].default or (name in self.PREPARING and not preparing):
                continue
            yes, _, no = get_args(SHARED[name].annotation)[1].default.partition("/")
            items = map(quoted, listed(value)) if isinstance(value, list) else [value]
            words += (
                [yes if value else no] if isinstance(value, bool) else [word for item in items for word in (yes, item)]
            )
        return words

    def changed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The options of ``tables.read`` and of ``tables.prepare`` that are not their defaults."""
        usual = Reading()
        read = {name: value for name, value in self.read.items() if value != usual.read[name]}
        return read, {name: value for name, value in self.prepare.items() if value != usual.prepare[name]}


SHARED = signature(Reading, eval_str=True).parameters


def reads_data(command: Callable[..., None], preparing: bool = False) -> Callable[..., None]:
    """The command with the options of :class:`Reading` in the place of its parameter ``reading``, which they are passed as."""
    own = list(signature(command, eval_str=True).parameters.values())
    place = [parameter.name for parameter in own].index("reading")
    shared = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for parameter in SHARED.values()
        if preparing or parameter.name not in Reading.PREPARING
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        reading = Reading(**{parameter.name: given.pop(parameter.name) for parameter in shared})
        command(**given, reading=reading)

    parameters = [*own[:place], *shared[:3], *own[place + 1 :], *shared[3:]]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


prepares_data = partial(reads_data, preparing=True)


def listed(values: list[str] | None) -> list[str]:
    """The items of ``a,b`` and of repeated options. Quotes keep a comma, as in ``'"a,b",c'``."""
    return [item for value in values or [] for item in (next(csv.reader([value]), None) or [""])]


def width_and_height(text: str | None) -> tuple[int, int] | None:
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text or "1x1")
    if not found:
        raise typer.BadParameter(f"{text!r} is not WIDTHxHEIGHT, such as 32x32", param_hint="--resize")
    return None if text is None else (int(found[1]), int(found[2]))


def quoted(column: str) -> str:
    """A column's name, quoted so that ``listed`` gives it back."""
    line = StringIO()
    csv.writer(line, lineterminator="").writerow([column])
    return line.getvalue()


def check_output(output: str, *inputs: str | None, stdout: bool = False, beside: str | None = None) -> None:
    """Raise, before any work is done, where an output would replace a file that is read, or another output (``beside``)."""
    read: list[Any] = [os.stat(file) for path in inputs if path not in (None, "-") for file in _files(str(path))]
    read += [_of_stream(sys.stdin)] if "-" in inputs else []
    status = _of_stream(sys.stdout) if output == "-" else os.stat(output) if os.path.exists(output) else None
    if output == "-" and not stdout:
        refuse("-: this output cannot go to standard output; name a file")
    if status and any(one and os.path.samestat(status, one) for one in read):
        name = "standard output is a file that" if output == "-" else output
        refuse(f"{name} is read by this command; choose another file")
    if output == "-":
        return
    folder = os.path.dirname(os.path.realpath(output))
    if beside is not None and os.path.realpath(output) == os.path.realpath(beside):
        refuse(f"{output} is written by this command already; choose another file")
    if os.path.isdir(output):
        refuse(f"{output} is a folder; name a file, such as {os.path.join(output, 'out')}")
    if status and not (stat.S_ISREG(status.st_mode) or stat.S_ISCHR(status.st_mode)):
        refuse(f"{output} is a pipe or a device, not a file, and writing there may wait for ever; name a file")
    if not os.path.isdir(folder):
        refuse(f"{output}: there is no folder {folder}")
    if not os.access(folder if status is None or os.path.isfile(output) else output, os.W_OK):
        refuse(f"{output}: you may not write there")


def _files(path: str) -> list[str]:
    """The files that are read under a name: tables, labels, models, and the images of folders."""
    if not os.path.isdir(path):
        return [path] if os.path.exists(path) else []
    from ..tables import files_of

    return [file for file in files_of(path) if os.path.exists(file)]


def _of_stream(stream: Any) -> os.stat_result | None:
    """The file behind a stream, where there is one."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):  # the stream has no file, or is closed
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def refuse(why: str, option: str = "--output") -> NoReturn:
    raise typer.BadParameter(why, param_hint=option)


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
