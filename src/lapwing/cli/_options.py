"""What users type and see: the options of all commands, outputs that are checked before any work, and printed results.

Results go to standard output, all else to standard error, and colours only to a terminal. Nothing heavy is imported.
"""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from difflib import get_close_matches
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Annotated, Any, Literal, NoReturn

import typer

BETWEEN = "  "  # what stands between two columns of a table
WIDE = 100_000  # characters that no line has
SHOWN = 8  # how many eigenvalues and names are printed
# Control characters except tabs and ends of lines, characters that turn the direction of text, and halves of characters.
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# The options of all commands, as they are typed and with what stands for their values, and what each is for.
OPTIONS = {
    "--label -l COL": "Column of the labels: a name, or a number (-1 is the last). For a matrix also a file.",
    "--id COL": "Column that names rows.",
    "--drop COLS": "Columns to leave out: a,b. May be repeated.",
    "--method -m NAME": "Of lapwing methods; or pca, lda and others of compare.",
    "--methods -m NAMES": "Names: pca,lpp,mfa. By default some that suit the data.",
    "--dimensions -d D": 'How many; "auto" is one less than classes; "all"; for tsa 8x6.',
    "--dimensions -d NUMBERS": "To try: 2,5,10-15. By default 1, 2, 3, 5, 8, 13, ...",
    "--scoring GOAL": "What chooses: a goal (classification, retrieval, clustering, neighbours) or a measure (accuracy, "
    "balanced_accuracy, f1, roc_auc, r2, map, recall@5, nmi, trustworthiness, continuity, recall).",
    "--group COL": "Column of what belongs together, such as a patient: held out together.",
    "--time COL": "Column of the time: rows are scored by models of earlier ones.",
    "--output -o REPORT": "Where to write the report.",
    "--output -o MODEL": "Where to write the model.",
    "--output -o FILE": ".parquet, .csv, .tsv, .npy, or - for CSV on standard output.",
    "--output -o ONNX": "Where to write it.",
    "--graph -g GRAPH": "supervised, semi, propagate, none (the method's own), a number of neighbours, or a formula: "
    "'KNN(5) + 0.5 * SameClass()'. By default supervised with labels, semi where some are unknown, else the method's own.",
    "--param -p KEY=VALUE": "Any parameter of the method. May be repeated.",
    "--predict": "A classifier in the space (--judge) names the class: transform writes predictions.",
    "--coordinates": "Of a model that predicts, write the coordinates beside the predictions.",
    "--loadings N": "Show the features of largest loading instead, so many of each component.",
    "--import MODULE": "A module with an estimator or graphs of yours, installed or in this folder. May be repeated.",
    "--json": "Print JSON.",
}
ADVANCED = {
    "--judge NAME": "The classifier: nearest (neighbour), knn, logistic (regression), or auto, the better of the last two.",
    "--cv N": "Folds.",
    "--sample N": "Use this many random rows, those with labels first.",
    "--atlas FILE": "Also write the recommended space for Embedding Atlas, as .parquet.",
    "--memory DIR": "Keep scores there; the same command goes on where it was stopped.",
    "--jobs -j N": "Methods and folds at a time; -1 is one per core.",
    "--seed N": "Of everything random.",
    "--no-label": "Ignore the labels that DATA brings.",
    "--impute": "Fill in missing values of later rows, too, where DATA has none.",
    "--standardize WHEN": "Columns to mean 0 and deviation 1: yes, no, or auto, where their units differ.",
    "--categories COLS": "Columns to encode as text though they hold numbers or many values. May be repeated.",
    "--text COLS": "Columns of sentences, to be described by their words: a,b.",
    "--missing MARK": "Marks a missing value, as -999 does. May be repeated.",
    "--header/--no-header": "Whether CSV starts with names; looks by default.",
    "--resize WxH": "Size of images.",
}


def option(name: str, panel: str | None = None, **more: Any) -> Any:
    """One of the options above. A flag shows nothing in the place of a value."""
    *flags, value = name.split() if name[-1].isupper() else [*name.split(), ""]
    panel = "Advanced" if name in ADVANCED else panel
    text = ADVANCED.get(name) or OPTIONS[name]
    return typer.Option(*flags, metavar=value, help=text, rich_help_panel=panel, **more)


#: How columns are prepared, for which commands that use a model have no options.
PREPARING = ("impute", "standardize", "categories", "text", "missing")
Word = str | None
Words = list[str] | None
Data = Annotated[str, typer.Argument(metavar="DATA", help="File, folder of images, or - for CSV on standard input.")]
Judge = Annotated[Literal["auto", "nearest", "knn", "logistic"], option("--judge NAME")]
Json = Annotated[bool, option("--json")]


@dataclass(frozen=True)
class Reading:
    """What the shared options say: how to read DATA, and how to prepare its columns."""

    label: Annotated[Word, option("--label -l COL")] = None
    id: Annotated[Word, option("--id COL")] = None
    drop: Annotated[Words, option("--drop COLS")] = None
    no_label: Annotated[bool, option("--no-label")] = False
    impute: Annotated[bool, option("--impute")] = False
    standardize: Annotated[Literal["auto", "yes", "no"], option("--standardize WHEN")] = "auto"
    categories: Annotated[Words, option("--categories COLS")] = None
    text: Annotated[Words, option("--text COLS")] = None
    missing: Annotated[Words, option("--missing MARK")] = None
    header: Annotated[bool | None, option("--header/--no-header")] = None
    resize: Annotated[Word, option("--resize WxH")] = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given."""
        return {name: value for name, value in vars(self).items() if value != SHARED[name].default}

    @property
    def read(self) -> dict[str, Any]:
        """Parameters of :func:`lapwing.tables.read`."""
        if self.label is not None and self.no_label:
            refuse("give --label, or --no-label", "--no-label")
        taken: dict[str, Callable[[Any], Any]] = {"drop": listed, "resize": width_and_height}
        given = {name: value for name, value in self.given.items() if name not in (*PREPARING, "no_label")}
        found = {name: taken[name](value) if name in taken else value for name, value in given.items()}
        return found | ({"labels": False} if self.no_label else {})

    @property
    def prepare(self) -> dict[str, Any]:
        """Parameters of :func:`lapwing.tables.prepare`."""
        given = {name: value for name, value in self.given.items() if name in PREPARING}
        return {name: listed(value) if isinstance(value, list) else value for name, value in given.items()}

    def words(self, preparing: bool = True) -> list[str]:
        """The arguments that were given, for another command; without ``preparing`` those that say how to read."""
        words: list[str] = []
        for name, value in self.given.items():
            if preparing or name not in PREPARING:
                flag = "--no-header" if value is False else f"--{name.replace('_', '-')}"
                items = map(quoted, listed(value)) if isinstance(value, list) else [value]
                words += [flag] if isinstance(value, bool) else [word for item in items for word in (flag, item)]
        return words


SHARED = signature(Reading, eval_str=True).parameters


def reads_data(command: Callable[..., None], preparing: bool = False) -> Callable[..., None]:
    """The command with the options of :class:`Reading` in the place of its parameter ``reading``, which they are passed as."""
    own = list(signature(command, eval_str=True).parameters.values())
    place = [parameter.name for parameter in own].index("reading")
    names = [name for name in SHARED if preparing or name not in PREPARING]
    shared = [SHARED[name].replace(kind=Parameter.KEYWORD_ONLY) for name in names]

    @wraps(command)
    def run(**given: Any) -> None:
        command(reading=Reading(**{name: given.pop(name) for name in names}), **given)

    run.__signature__ = Signature([*own[:place], *shared, *own[place + 1 :]])  # type: ignore[attr-defined]
    return run


prepares_data = partial(reads_data, preparing=True)


def listed(values: list[str] | None) -> list[str]:
    """The items of ``a,b`` and of repeated options. Quotes keep a comma, as in ``'"a,b",c'``."""
    return [item for value in values or [] for item in (next(csv.reader([value]), None) or [""])]


def width_and_height(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d*x[1-9]\d*", text):
        refuse(f"{text!r} is not WIDTHxHEIGHT, such as 32x32", "--resize")
    return tuple(map(int, text.split("x")))


def quoted(column: str) -> str:
    """A column's name, quoted so that ``listed`` gives it back."""
    return '"{}"'.format(column.replace('"', '""')) if re.search('[,"\r\n]', column) else column


def check_output(output: str, *inputs: str | None, stdout: bool = False) -> None:
    """Raise, before any work is done, where an output would replace a file that is read, or cannot be written."""
    from ..tables import files_of

    if output == "-":
        return None if stdout else refuse("-: this output cannot go to standard output; name a file")
    place, read = os.path.realpath(output), [file for path in inputs if path for file in files_of(path)]
    if os.path.isfile(output) and any(os.path.exists(file) and os.path.samefile(output, file) for file in read):
        refuse(f"{output} is read by this command; choose another file")
    if os.path.isdir(output):
        refuse(f"{output} is a folder; name a file, such as {os.path.join(output, 'out')}")
    is_special = os.path.exists(output) and not os.path.isfile(output)  # a pipe or a device
    if not os.access(place if is_special else os.path.dirname(place), os.W_OK):
        refuse(f"{output}: you may not write there, or there is no folder {os.path.dirname(place)}")
    return None


def refuse(why: str, option: str = "--output") -> NoReturn:
    raise typer.BadParameter(why, param_hint=option)


# What is printed


def visible(text: str) -> str:
    r"""Text of files and users in a form that is safe for a terminal. Characters that would steer it are written as ``\x1b``."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape", "backslashreplace").decode(), text)


def say(message: str) -> None:
    """Print a message, which is not a result."""
    typer.echo(visible(message), err=True)


def warn(message: str) -> None:
    """Print an error or a warning, on one line."""
    say(f"lapwing: {' '.join(message.splitlines())}")


def counted(number: int, what: str) -> str:
    """A number and what it counts, such as ``1 row`` or ``1,797 rows``."""
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"


def some(values: Sequence[Any]) -> str:
    """The first of many values, and how many there are."""
    more = f", ... ({len(values):,} in all)" if len(values) > SHOWN else ""
    return ", ".join(map(str, values[:SHOWN])) + more


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What the user may have meant, whatever the case of letters."""
    names = {own.lower(): own for own in known}
    close = get_close_matches(name.lower(), names, n=1)
    return f"did you mean {names[close[0]]}?" if close else f"known are {', '.join(sorted(names.values()))}"


def print_json(value: Any) -> None:
    """Print a result for programs. Numbers that JSON does not have become null."""

    def plain(part: Any) -> Any:
        if is_dataclass(part) and not isinstance(part, type) and hasattr(part, "holds"):  # a certificate
            return asdict(part)
        return part.tolist() if hasattr(part, "tolist") and not isinstance(part, type) else str(part)

    value = json.loads(json.dumps(value, default=plain), parse_constant=lambda name: None)
    typer.echo(json.dumps(value, indent=2))


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, n_left: int, n_least: int, best: int | None = None
) -> None:
    """Print aligned columns: the first ``n_left`` to the left, the others to the right; ``best`` is a row to mark.

    In a narrow terminal, columns after the first ``n_least`` ones are left out.
    """
    from rich.cells import cell_len  # characters such as 日 take the place of two

    lines = [[visible(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    while len(widths) > n_least and len(BETWEEN) * (len(widths) - 1) + sum(widths) > _width():
        widths.pop()
    if len(widths) < len(columns):
        say(f"a wider terminal also shows {', '.join(columns[len(widths) :])}")
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for number, line in enumerate(lines):
        padded = []
        for j, (cell, width) in enumerate(zip(line[: len(widths)], widths, strict=True)):
            space = " " * (width - cell_len(cell))
            padded.append(cell + space if j < n_left else space + cell)
        text = BETWEEN.join(padded).rstrip()
        typer.echo(typer.style(text, fg="green", bold=True) if is_coloured and best == number - 1 else text)


def print_facts(facts: Sequence[Sequence[str]], width: int | None = None) -> None:
    """Print names, and beside them what is said of each, which is folded at the end of the line."""
    column = max(len(visible(name)) for name, _ in facts) + len(BETWEEN)
    for name, text in facts:
        first, later = visible(name).ljust(column), " " * column
        shape = TextWrapper(width or _width(), initial_indent=first, subsequent_indent=later, break_on_hyphens=False)
        typer.echo(shape.fill(visible(text)))


def _width() -> int:
    """Characters per line. Where the output is no terminal, lines are never folded."""
    return get_terminal_size().columns if sys.stdout.isatty() else WIDE


def size(path: str | os.PathLike) -> str:
    """The size of a file, in words."""
    from rich.filesize import decimal

    return decimal(os.path.getsize(path))
