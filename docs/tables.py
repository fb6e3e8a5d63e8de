"""Writes what is measured or declared into the pages: tables of methods, and of the comparison.

    python docs/tables.py                 from the kept results
    python docs/tables.py --results OUT   from those of a run, as given to ``python benchmarks/guide --output``

What stands between two markers of a page is replaced; a test fails where a page is stale. The markers of the pages:

    docs/methods.md, docs/api.rst             written by docs/tables.py ... end of docs/tables.py
    docs/comparison.md                        comparison: TASK, written by docs/tables.py ... end of comparison
    README.md                                 comparison: written by docs/tables.py ... end of comparison
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from lapwing.methods import METHODS
from lapwing.methods.about import described
from lapwing_papers.experiments import Summary, collected

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import guide  # noqa: E402
from guide._standing import Row, cells, dots, is_new, quantities, rows, signed  # noqa: E402

RESULTS: dict[str, Any] = {"kept": True}  # where collected() finds them
OF_METHODS = re.compile(
    r"(^(?:<!-- |\.\. )written by docs/tables\.py[^\n]*\n).*?(^[^\n]*end of docs/tables\.py)", re.S | re.M
)
OF_COMPARISON = re.compile(
    r"(^<!-- comparison: (?:([\w-]+), )?written by docs/tables\.py -->\n).*?(^<!-- end of comparison -->)", re.S | re.M
)
ROWS = [described(method) for method in METHODS.values()]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


# Methods


def by_method() -> str:
    """One row per method."""
    head = ["method", "A: what is minimised", "map F", "B: the constraint", "labels"]
    keys = ["minimises", "map", "constraint", "labels"]
    return markdown(head, ([f"`{row['method']}`", *(row[key] for key in keys)] for row in ROWS))


def by_family() -> str:
    """The lists of the reference."""
    lists = []
    for family, found in groupby(ROWS, key=lambda row: row["family"]):
        title = family.capitalize()
        names = "".join(f"   {row['method']}\n" for row in found)
        options = "   :toctree: generated\n   :nosignatures:\n"
        lists.append(f"{title}\n{'~' * len(title)}\n\n.. autosummary::\n{options}\n{names}")
    return "\n".join(lists)


# The comparison

SCORES = {
    "accuracy": "accuracy of the nearest neighbour, or of the classifier",
    "mAP": "mean average precision of retrieval",
    "k-means NMI": "normalised mutual information of k-means with the classes",
    "verification AUC": "area under the ROC curve of verified pairs",
    "trustworthiness": "trustworthiness of the map",
    "accuracy in the map": "accuracy of the nearest other row in the map",
    "accuracy of new rows": "accuracy of new rows, by the nearest fitted row in the map",
}
LABELS = {
    "labelled": "all labels",
    "few-labels": "5 or 10 % of the labels",
    "unseen": "classes that training never saw",
    "clustering": "clusters, no labels",
    "maps": "maps of two dimensions, no labels",
}
HEADLINES = {  # what README shows
    "labelled": ("LPP, as it comes", "KernelLPP, as it comes"),
    "unseen": ("LPP, as it comes", "KernelLPP, as it comes"),
    "few-labels": ("LPP, labels spread", "KernelLPP, labels spread"),
}
PAIRS = (
    ("LPP, as it comes", "shrinkage LDA, tuned"),
    ("KernelLPP, as it comes", "kernel PCA + shrinkage LDA, tuned"),
)
HEAD = ["method", "labels", "mean", "to the strongest rival", "wins / ties / losses", "on new sets"]


@cache
def summaries() -> dict[str, Summary]:
    """What is known of each task."""
    found = collected(guide.experiments().values(), **RESULTS)
    return {summary.experiment.name.removeprefix("guide-"): summary for summary in found}


def comparison(task: str | None) -> str | None:
    """The tables of a task, or of all tasks; None where nothing is known of it."""
    if task is None:
        return front() if summaries() else None
    if task == "new-sets":
        return new_sets() if summaries() else None
    if task not in summaries():
        return None
    return full_tables(summaries()[task])


def counted(summary: Summary) -> str:
    conditions = [name for name in summary.conditions if name in summary.experiment.conditions]
    new = sum(is_new(name) for name in conditions)
    what = "sets" if not any(name.endswith("%") for name in conditions) else "sets and shares of labels"
    splits = "one split" if summary.n_repeats == 1 else f"{summary.n_repeats} splits"
    return f"{len(conditions)} {what}, {new} of them new to the defaults, {splits} each"


def named(row: Row) -> list[str]:
    """A row of a table; methods of lapwing in bold."""
    first, *rest = cells(row)
    return [f"**{first}**" if row.own else first, *rest]


def full_tables(summary: Summary) -> str:
    """A table per score, and the numbers of every set for the first score."""
    parts = [f"Measured on {counted(summary)}.\n"]
    for quantity in quantities(summary):
        parts.append(
            f"**{SCORES[quantity].capitalize()}**, percent:\n\n" + markdown(HEAD, map(named, rows(summary, quantity)))
        )
    quantity = quantities(summary)[0]
    found = rows(summary, quantity)
    for own, whose in ((False, "other packages"), (True, "lapwing")):
        parts.append(f"{SCORES[quantity].capitalize()} on each set, {whose}:\n\n" + by_set(found, own))
    return "\n".join(parts)


def by_set(found: Sequence[Row], own: bool) -> str:
    """One row per set; the best of all methods, in both tables, is bold, and a star marks sets that are new."""
    columns = [row for row in found if row.own is own]
    best = {name: max(row.by_set[name] for row in found) for name in found[0].by_set}

    def cell(value: float, name: str) -> str:
        return f"**{value:.1f}**" if round(value, 1) == round(best[name], 1) else f"{value:.1f}"

    lines = (
        [name + (" *" if is_new(name) else ""), *(cell(row.by_set[name], name) for row in columns)] for name in best
    )
    return markdown(["set", *(row.method for row in columns)], lines)


def front() -> str:
    """One line per task and method: beside the strongest rival, which is known with hindsight."""
    lines = []
    for task, methods in HEADLINES.items():
        if task not in summaries():
            continue
        quantity = quantities(summaries()[task])[0]
        found = rows(summaries()[task], quantity)
        best = next(row for row in found if not row.differences)
        for row in [row for row in found if row.method in methods]:
            parts = ([name for name in row.differences if is_new(name, row.method) is new] for new in (False, True))
            gains = [f"{signed(*row.difference(names))} ({len(names)})" if names else "" for names in parts]
            sides = [f"{each.method}: {each.mean:.1f}" for each in (row, best)]
            lines.append([f"{LABELS[task]}: {quantity}", *sides, *gains])
    return markdown(
        ["task: score", "lapwing", "strongest rival", "sets that chose the defaults", "sets that chose nothing"], lines
    )


def new_sets() -> str:
    """The defaults beside their tuned counterparts: on sets that chose the defaults, by other splits, and on new sets."""
    lines = []
    for task in ("labelled", "few-labels", "unseen"):
        for quantity in quantities(summaries()[task]) if task in summaries() else ():
            found = {row.method: row.by_set for row in rows(summaries()[task], quantity)}
            for ours, theirs in PAIRS:
                gaps = {name: found[ours][name] - found[theirs][name] for name in found[ours]}
                row = Row(ours, "", True, {}, gaps)
                old, new = ([name for name in gaps if is_new(name) is which] for which in (False, True))
                line = [LABELS[task], quantity, f"{ours} − {theirs}"]
                gains = [f"{signed(*row.difference(names))} ({len(names)})" if names else "" for names in (old, new)]
                lines.append([*line, *gains])
    return markdown(["task", "score", "difference", "sets that chose the defaults, new splits", "new sets"], lines)


# Pages

TABLES: Mapping[str, Callable[[], str]] = {"docs/methods.md": by_method, "docs/api.rst": by_family}
PAGES = ("README.md", "docs/comparison.md", *TABLES)


def written(page: str) -> tuple[str, str]:
    """A page as it is, and as it should be; what nothing is known of stays."""
    text = new = (ROOT / page).read_text("utf-8")
    if page in TABLES:
        new, count = OF_METHODS.subn(lambda found: f"{found[1]}\n{TABLES[page]()}\n{found[2]}", text)
        if count != 1:
            raise ValueError(f"{page} has {count} places for a table of methods; it must have one")

    def compared(found: re.Match[str]) -> str:
        content = comparison(found[2])
        return found[0] if content is None else f"{found[1]}\n{content}\n{found[3]}"

    return text, OF_COMPARISON.sub(compared, new)


def draw() -> None:
    """The pictures of docs/comparison.md."""
    for task, summary in summaries().items():
        [figure] = dots(summary).values()
        figure.savefig(ROOT / "docs" / "_static" / f"comparison-{task}.png", dpi=75, metadata={"Software": None})


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Write the tables of the pages.")
    parser.add_argument("--results", metavar="FOLDER", help="of a run; else the kept results")
    given = parser.parse_args(arguments)
    if given.results:
        RESULTS.clear()
        RESULTS["folder"] = given.results
    for page in PAGES:
        text, new = written(page)
        if new != text:
            (ROOT / page).write_text(new, "utf-8")
            print(f"wrote {page}")
    draw()


if __name__ == "__main__":
    main()
