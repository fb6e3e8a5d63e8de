"""Options that several commands share, and outputs that are checked before any work is done."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from io import StringIO
from typing import Annotated, Any, Literal, NoReturn, get_args

import typer

# The options of all commands, as they are typed and with what stands for their values, and what each is for.
OPTIONS = {
    "--label -l COL": "Column of the labels: a name, or a number (-1 is the last). For a matrix also a file. .npz, svmlight and "
    "image folders bring their own.",
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
    "--import MODULE": "A module of yours that defines the model's estimator or graphs: installed, or in this folder. May be "
    "repeated.",
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
    """One of the options above."""
    flags = [word for word in name.split() if word.startswith("-")]
    value = name.split()[len(flags) :]
    panel = "Advanced" if name in ADVANCED else panel
    text = ADVANCED.get(name) or OPTIONS[name]
    return typer.Option(*flags, metavar=value[0] if value else None, help=text, rich_help_panel=panel, **more)


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
    def read(self) -> dict[str, Any]:
        """Parameters of :func:`lapwing.tables.read`."""
        if self.label is not None and self.no_label:
            refuse("give --label, or --no-label", "--no-label")
        columns = {"label": self.label, "labels": not self.no_label, "id": self.id, "drop": listed(self.drop)}
        return {**columns, "header": self.header, "resize": width_and_height(self.resize)}

    @property
    def prepare(self) -> dict[str, Any]:
        """Parameters of :func:`lapwing.tables.prepare`."""
        lists = {name: listed(getattr(self, name)) for name in ("categories", "text", "missing")}
        return {name: lists.get(name, getattr(self, name)) for name in PREPARING}

    def words(self, preparing: bool = True) -> list[str]:
        """The arguments that were given, for another command; without ``preparing`` those that say how to read."""
        words: list[str] = []
        for name, value in vars(self).items():
            if value == SHARED[name].default or (name in PREPARING and not preparing):
                continue
            yes, _, no = get_args(SHARED[name].annotation)[1].default.partition("/")
            items = map(quoted, listed(value)) if isinstance(value, list) else [value]
            flag = [yes if value else no]
            words += flag if isinstance(value, bool) else [word for item in items for word in (yes, item)]
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
    names = [name for name in SHARED if preparing or name not in PREPARING]
    shared = [SHARED[name].replace(kind=Parameter.KEYWORD_ONLY) for name in names]

    @wraps(command)
    def run(**given: Any) -> None:
        command(reading=Reading(**{name: given.pop(name) for name in names}), **given)

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
    from ..tables import files_of

    if output == "-":
        return None if stdout else refuse("-: this output cannot go to standard output; name a file")
    place, read = os.path.realpath(output), [file for path in inputs if path for file in files_of(path)]
    if os.path.isfile(output) and any(os.path.exists(file) and os.path.samefile(output, file) for file in read):
        refuse(f"{output} is read by this command; choose another file")
    if beside is not None and place == os.path.realpath(beside):
        refuse(f"{output} is written by this command already; choose another file")
    if os.path.isdir(output):
        refuse(f"{output} is a folder; name a file, such as {os.path.join(output, 'out')}")
    is_special = os.path.exists(output) and not os.path.isfile(output)  # a pipe or a device
    if not os.access(place if is_special else os.path.dirname(place), os.W_OK):
        refuse(f"{output}: you may not write there, or there is no folder {os.path.dirname(place)}")
    return None


def refuse(why: str, option: str = "--output") -> NoReturn:
    raise typer.BadParameter(why, param_hint=option)
