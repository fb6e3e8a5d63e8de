"""Writes docs/evidence.md's tables and its picture from the results that come with lapwing_papers.

    python docs/evidence.py

What stands between the two markers is replaced; a test fails where the page or the picture is stale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from textwrap import fill

from lapwing_papers.experiments import (
    FITTED,
    IMPOSSIBLE,
    INVESTIGATIONS,
    KINDS,
    OWN,
    REPRODUCED,
    VERDICTS,
    Experiment,
    Summary,
    Tally,
    collected,
    experiments,
    sentence,
    tallies,
)

ROOT = Path(__file__).parent
PAGE, PICTURE = ROOT / "evidence.md", ROOT / "_static" / "evidence.svg"
MARKED = re.compile(r"(^<!-- written by docs/evidence\.py -->\n).*?(^<!-- end of docs/evidence\.py -->)", re.S | re.M)
INKS = dict(zip(VERDICTS, ("#ffffff", "#1d2733", "#1d2733", "#ffffff"), strict=True))  # of the counts on them
COLORS = dict(zip(VERDICTS, ("#00785a", "#d99a1c", "#7d8fd6", "#c2482e"), strict=True))


def tables(summaries: Sequence[Summary], declared: Mapping[str, Experiment]) -> str:
    found = tallies(summaries)
    parts = [
        _lines(sentence(found)),
        "![One bar per paper: how many of its numbers and statements got which verdict](_static/evidence.svg)",
        _of_kinds(found),
        _lines(
            "The next table counts all of them together, by verdict. A number gets the third verdict if it is not reproduced, "
            "and neither are at least half of the baselines beside it."
        ),
        _of_papers(found),
        "## Readings that fit better than the printed one",
        "A paper may leave something open, or say something with which its own numbers do not come out. In these experiments\n"
        "the printed numbers had a say in what was taken, so that a match proves less than elsewhere.",
        "\n".join(_lines(f"- `{name}`, {_listed(methods)}: {why}.") for name, (methods, why) in FITTED.items()),
        "## Why numbers miss",
        _reasons(),
        "## Every experiment",
        "An experiment with * uses other data than the paper's; its verdicts are shown and not counted above.\n"
        "Where fewer repetitions stand than are declared, the rest has not been run yet.\n"
        f"All repetitions that stand here took at most {sum(s.seconds for s in summaries) / 60:.0f} minutes of one core.",
        _of_experiments({s.experiment.name: s for s in summaries}, declared),
        "## What cannot be repeated",
        "\n".join(_lines(f"- {what}: {why}.") for what, why in IMPOSSIBLE.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _of_kinds(found: Mapping[str, Tally]) -> str:
    """Reproduced of tried, for each kind apart."""
    rows = []
    for t in found.values():
        literal = t.kinds[OWN] - t.fitted
        parts = [literal, t.fitted, *(t.kinds[kind] for kind in KINDS[1:]), t.other]
        rows.append([t.name, *(f"{c[REPRODUCED]:,} of {c.total():,}" if c.total() else "none" for c in parts)])
    head = [f"{OWN}, literal reading", "another reading that fits better", *KINDS[1:], "all of these on other data"]
    return _markdown(["reproduced", *head], rows)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]


def _of_papers(found: Mapping[str, Tally]) -> str:
    rows = [[t.name, f"{t.tried:,}", *(f"{t.own[v]:,}" for v in VERDICTS)] for t in found.values()]
    return _markdown(["paper", "tried", *VERDICTS], rows)


def _of_experiments(summaries: Mapping[str, Summary], declared: Mapping[str, Experiment]) -> str:
    rows = []
    for name, experiment in declared.items():
        summary = summaries.get(name)
        marked = f"`{name}`{' *' if experiment.other_data else ''}"
        done = f"{summary.n_repeats if summary else 0} of {experiment.n_repeats}"
        counts = [str(summary.verdicts[v] or "") for v in VERDICTS] if summary else [""] * len(VERDICTS)
        rows.append([marked, experiment.source, done, *counts])
    return _markdown(["experiment", "source", "repetitions", *VERDICTS], rows)


def _reasons() -> str:
    return "\n".join(_lines(f"- `{name}`: {text}") for name, text in INVESTIGATIONS.items())


def _lines(text: str) -> str:
    """A paragraph, or an item of a list, in lines as long as those of the pages."""
    indent = "  " if text.startswith("- ") else ""
    return fill(text, 125, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def picture(found: Mapping[str, Tally]) -> str:
    """A bar per paper, as long as the page is wide, its parts the shares of the verdicts."""
    left, width, step = 290, 500, 44
    height = 60 + step * len(found)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14">',
        "<title>Verdicts on the numbers and statements of five papers, as shares</title>",
        f'<rect width="{left + width + 20}" height="{height}" fill="#ffffff"/>',
    ]
    for place, verdict in enumerate(VERDICTS):
        x = left + place * 150 - 130
        parts.append(f'<rect x="{x}" y="14" width="12" height="12" fill="{COLORS[verdict]}"/>')
        parts.append(f'<text x="{x + 17}" y="25" fill="#1d2733" font-size="13">{verdict}</text>')
    for row, tally in enumerate(found.values()):
        y, x = 48 + step * row, float(left)
        parts.append(f'<text x="{left - 10}" y="{y + 18}" text-anchor="end" fill="#1d2733">{escape(tally.name)}</text>')
        for verdict in VERDICTS:
            share = width * tally.own[verdict] / max(tally.tried, 1)
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{share:.1f}" height="26" fill="{COLORS[verdict]}"/>')
            if share > 30:
                parts.append(f'<text x="{x + 6:.1f}" y="{y + 18}" fill="{INKS[verdict]}">{tally.own[verdict]:,}</text>')
            x += share
    return "\n".join([*parts, "</svg>", ""])


def written() -> dict[Path, tuple[str, str]]:
    """Each file as it is, and as it should be."""
    declared = experiments()
    summaries = collected(declared.values(), kept=True)
    text = PAGE.read_text("utf-8")
    new, count = MARKED.subn(lambda m: f"{m[1]}\n{tables(summaries, declared)}\n{m[2]}", text)
    if count != 1:
        raise ValueError(f"{PAGE} has {count} places for the tables; it must have one")
    drawn = PICTURE.read_text("utf-8") if PICTURE.exists() else ""
    return {PAGE: (text, new), PICTURE: (drawn, picture(tallies(summaries)))}


def main() -> None:
    for path, (text, new) in written().items():
        if new != text:
            path.write_text(new, "utf-8")
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
