"""Options that several commands share."""

from __future__ import annotations

import csv
import os
import re
from typing import Annotated, Any

import typer

READING = "Reading"

Data = Annotated[str, typer.Argument(metavar="DATA", help="File, folder of images, or - for CSV on standard input.")]
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
Id = Annotated[str | None, typer.Option("--id", metavar="COL", help="Column that names rows.")]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLS", help="Columns to leave out: a,b. May be repeated.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether CSV starts with names; looks by default.", rich_help_panel=READING
    ),
]
Resize = Annotated[str | None, typer.Option("--resize", metavar="WxH", help="Size of images.", rich_help_panel=READING)]
Grey = Annotated[
    bool | None,
    typer.Option("--grey/--colour", help="How to read images; grey if all are.", rich_help_panel=READING),
]
ZeroBased = Annotated[
    bool, typer.Option("--zero-based", help="svmlight counts features from 0.", rich_help_panel=READING)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of everything random.")]


def reading(
    label: str | None,
    id: str | None,
    drop: list[str] | None,
    header: bool | None,
    resize: str | None,
    grey: bool | None,
    zero_based: bool,
) -> dict[str, Any]:
    """The options of ``tables.read``."""
    return {
        "label": label,
        "id": id,
        "drop": listed(drop),
        "header": header,
        "resize": None if resize is None else width_and_height(resize),
        "grey": grey,
        "zero_based": zero_based,
    }


def listed(values: list[str] | None) -> list[str]:
    """Items of ``a,b`` and of repeated options; quotes keep a comma: ``'"a,b",c'``."""
    return [item for value in values or [] for item in (next(csv.reader([value]), None) or [""])]


def width_and_height(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not found:
        raise typer.BadParameter(f"{text!r} is not WIDTHxHEIGHT, such as 32x32", param_hint="--resize")
    return int(found[1]), int(found[2])


def check_output(output: str, *inputs: str) -> None:
    """An output may replace any file but those that are read."""
    for path in inputs:
        if output != "-" and path != "-" and os.path.exists(output) and os.path.samefile(path, output):
            raise typer.BadParameter(f"{output} is read by this command; choose another file", param_hint="--output")
    folder = os.path.dirname(os.path.abspath(output))
    if output != "-" and not os.path.isdir(folder):
        raise typer.BadParameter(f"{output}: there is no folder {folder}", param_hint="--output")
