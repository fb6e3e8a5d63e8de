"""What a user sees: results on standard output, all else on standard error, and colours only in a terminal."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Any

import typer

BETWEEN = "  "  # what stands between two columns of a table
WIDE = 100_000  # characters that no line has
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
    least: int | None = None,
) -> None:
    """Print aligned columns. ``right`` has one letter per column, r for right-aligned; ``best`` is a row to mark.

    In a narrow terminal, columns after the first ``least`` ones are left out.
    """
    from rich.cells import cell_len  # characters such as 日 take the place of two

    lines = [[visible(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    shown = len(widths)
    while shown > (least or shown) and len(BETWEEN) * (shown - 1) + sum(widths[:shown]) > _width():
        shown -= 1
    if shown < len(widths):
        say(f"a wider terminal also shows {', '.join(columns[shown:])}")
    is_coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for number, line in enumerate(lines):
        sides = zip(line[:shown], widths, right.ljust(shown), strict=False)
        padded = [(cell, " " * (width - cell_len(cell)), side) for cell, width, side in sides]
        text = BETWEEN.join(space + cell if side == "r" else cell + space for cell, space, side in padded)
        is_marked = is_coloured and best == number - 1
        typer.echo(typer.style(text.rstrip(), fg="green", bold=True) if is_marked else text.rstrip())


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
