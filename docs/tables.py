"""Writes the tables of methods into the pages, from what the methods' classes say of themselves.

    python docs/tables.py

What stands between the two markers of a page is replaced; a test fails where a page is stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from lapwing.methods import METHODS
from lapwing.methods.about import described

ROOT = Path(__file__).parents[1]
MARKED = re.compile(r"(^[^\n]*written by docs/tables\.py[^\n]*\n).*?(^[^\n]*end of docs/tables\.py)", re.S | re.M)
ROWS = [described(method) for method in METHODS.values()]


def by_method() -> str:
    """One row per method."""
    head = ["method", "A: what is minimised", "map F", "B: the constraint", "labels"]
    keys = ["minimises", "map", "constraint", "labels"]
    return markdown(head, ([f"`{row['method']}`", *(row[key] for key in keys)] for row in ROWS))


def by_problem() -> str:
    """One row per problem: methods that differ in their map alone stand together."""
    problems: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in ROWS:
        problems.setdefault((row["minimises"], row["constraint"]), []).append(row)
    rows = (
        [", ".join(f"`{row['method']}`" for row in found), A, ", ".join(row["map"] for row in found), B]
        for (A, B), found in problems.items()
    )
    return markdown(["method", "A", "map F", "B"], rows)


def by_family() -> str:
    """The lists of the reference."""
    lists = []
    for family, rows in groupby(ROWS, key=lambda row: row["family"]):
        title = family.capitalize()
        names = "".join(f"   {row['method']}\n" for row in rows)
        options = "   :toctree: generated\n   :nosignatures:\n"
        lists.append(f"{title}\n{'~' * len(title)}\n\n.. autosummary::\n{options}\n{names}")
    return "\n".join(lists)


def markdown(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


PAGES = {"README.md": by_method, "docs/guide.md": by_problem, "docs/api.rst": by_family}


def written(page: str) -> tuple[str, str]:
    """A page as it is, and as it should be."""
    text = (ROOT / page).read_text("utf-8")
    new, count = MARKED.subn(lambda markers: f"{markers[1]}\n{PAGES[page]()}\n{markers[2]}", text)
    if count != 1:
        raise ValueError(f"{page} has {count} places for a table of methods; it must have one")
    return text, new


def main() -> None:
    for page in PAGES:
        text, new = written(page)
        if new != text:
            (ROOT / page).write_text(new, "utf-8")
            print(f"wrote {page}")


if __name__ == "__main__":
    main()
