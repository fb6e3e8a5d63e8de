"""What a user sees: results on standard output, all else on standard error, and colours only in a terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import typer

BETWEEN = "   "  # what stands between two columns of a table
WIDE = 1_000  # characters per line where the output is not a terminal, so that lines are never folded
SHOWN = 8  # how many eigenvalues and names are printed
# Control characters except tabs and ends of lines, characters that turn the direction of text, and halves of characters.
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Text of files and users in a form that is safe for a terminal. Characters that would steer it are written as ``\x1b``."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape", "backslashreplace").decode(), text)


def say(message: str) -> None:
    """Print a message, which is not a result."""
    typer.echo(visible(message), err=True)


def say_in_one_line(message: str) -> None:
    """Print an error or a warning on one line."""
    say(" ".join(message.splitlines()))


def print_warning(message: str) -> None:
    """Print what must be known before a table is read, above it."""
    typer.secho(f"! {visible(message)}", bold=True, fg="red")


def counted(number: int, what: str) -> str:
    """A number and what it counts, such as ``1 row`` or ``1,797 rows``."""
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"


def some(values: Any, form: str = "{}") -> str:
    """The first of many values, and how many there are."""
    if values is None or not len(values):
        return ""
    more = f", ... ({len(values):,} in all)" if len(values) > SHOWN else ""
    return form.format(", ".join(map(str, values[:SHOWN])) + more)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What the user may have meant, whatever the case of letters."""
    names = {own.lower(): own for own in known}
    close = get_close_matches(name.lower(), names, n=1)
    return f"did you mean {names[close[0]]}?" if close else f"known are {', '.join(sorted(known))}"


def print_json(value: Any) -> None:
    """Print a result for programs. Numbers that JSON does not have become null."""

    def plain(value: Any) -> Any:
        is_of_numpy = hasattr(value, "tolist") and not isinstance(value, type)
        return value.tolist() if is_of_numpy else str(value)

    value = json.loads(json.dumps(value, default=plain), parse_constant=lambda name: None)
    text = json.dumps(value, indent=2, ensure_ascii=False)
    typer.echo(STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: str = "",
    best: int | None = None,
    header: bool = True,
    width: int = WIDE,
    least: int | None = None,
) -> None:
    """Print aligned columns. ``right`` has one letter per column, r for right-aligned; ``best`` is a row to mark.

    ``width`` is the longest line where the output is no terminal, whose own width counts. In a narrow terminal, columns after
    the first ``least`` ones are left out.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    console, box = Console(highlight=False, width=None if terminal else width), SIMPLE_HEAD if terminal else None
    widths = [max(map(len, cells)) + len(BETWEEN) for cells in zip(columns, *rows, strict=True)]
    fitting = [count for count in range(least or len(widths), len(widths)) if sum(widths[: count + 1]) > console.width]
    if fitting:
        say(f"a wider terminal also shows {', '.join(columns[fitting[0] :])}")
        columns, right, rows = columns[: fitting[0]], right[: fitting[0]], [row[: fitting[0]] for row in rows]
    table = Table(box=box, pad_edge=False, show_edge=False, show_header=header, header_style="bold")
    for name, side in zip(columns, right.ljust(len(columns)), strict=True):
        table.add_column(Text(visible(name)), justify="right" if side == "r" else "left", no_wrap=bool(right))
    for number, row in enumerate(rows):
        table.add_row(*(Text(visible(cell)) for cell in row), style="bold green" if number == best else None)
    with console.capture() as printed:
        console.print(table)
    typer.echo("\n".join(line.rstrip() for line in printed.get().splitlines()))


def size(path: str | os.PathLike) -> str:
    """The size of a file, in words."""
    from rich.filesize import decimal

    return decimal(os.path.getsize(path))
