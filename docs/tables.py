"""Writes what is measured or declared into the pages: tables of methods, of the comparison and of other kept results.

    python docs/tables.py                 from the kept results
    python docs/tables.py --results OUT   from those of a run, as given to ``python benchmarks/guide --output``

What stands between two markers of a page is replaced; a test fails where a page is stale. The markers of the pages:

    docs/methods.md, docs/api.rst             written by docs/tables.py ... end of docs/tables.py
    docs/comparison.md                        comparison: TASK, written by docs/tables.py ... end of comparison
    README.md                                 comparison: written by docs/tables.py ... end of comparison
    docs/speed.md, docs/measured-tasks.md     measured: PART, written by docs/tables.py ... end of measured

``QUOTED`` has the sentences that quote such a number in the middle of a text. The number is written there, too.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import Any

from lapwing.methods import METHODS, described
from lapwing_papers.experiments import VERDICTS, Summary, collected, experiments, tallies

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import few  # noqa: E402
import guide  # noqa: E402
import measure  # noqa: E402
import speed  # noqa: E402
from guide._standing import Row, cells, dots, is_new, quantities, rows, signed  # noqa: E402

RESULTS: dict[str, Any] = {"kept": True}  # where collected() finds them
OF_METHODS = re.compile(
    r"(^(?:<!-- |\.\. )written by docs/tables\.py[^\n]*\n).*?(^[^\n]*end of docs/tables\.py)", re.S | re.M
)
OF_COMPARISON = re.compile(
    r"(^<!-- comparison: (?:([\w-]+), )?written by docs/tables\.py -->\n).*?(^<!-- end of comparison -->)", re.S | re.M
)
OF_MEASURED = re.compile(
    r"(^<!-- measured: (\w+), written by docs/tables\.py -->\n).*?(^<!-- end of measured -->)", re.S | re.M
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
    "unseen": ("LPP, as it comes",),
    "few-labels": ("LPP, labels spread",),
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
            gains = [counted_gain(*row.difference(names), len(names)) if names else "" for names in parts]
            if task == "few-labels":
                gains[1] = on_the_seven(row.method)
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


# Other kept results, each of a part of benchmarks/measure.py

SPEED = {  # case: what is done, what it is compared with, and lapwing's side
    "search": ("all rows, 10,000 x 256 float32, 10 neighbours", "scikit-learn's search", "lapwing_search"),
    "search100k": ("100,000 x 256 float32", "scikit-learn's search", "lapwing_search"),
    "MNIST60k": ("MNIST, 60,000 x 784", "scikit-learn's search", "lapwing_search"),
    "GloVe": ("GloVe, 120,000 x 100", "scikit-learn's search", "lapwing_search"),
    "angles": ("cosine, 10,000 x 256", "scikit-learn's search", "lapwing_cosine"),
    "sampled": (
        "20,000 queries among 100,000 x 256",
        "floor: their products, and nothing else",
        "lapwing_sampled_search",
    ),
    "sampled768": (
        "LPP with 5,000 queries among 100,000 x 768",
        "floor: that search, and one pass that adds up products of columns",
        "lapwing_sampled_fit",
    ),
    "large": ("LPP, 100,000 x 256", "by hand: scikit-learn's graph, SciPy's `eigh`", "lapwing_lpp"),
    "mid": ("LPP, 10,000 x 256", "by hand", "lapwing_lpp"),
    "wide": ("LPP, 2,000 x 20,000", "by hand, SVD first", "lapwing_lpp"),
    "20news_bydate": (
        "LPI, 20 Newsgroups (18,845 x 29,916)",
        "by hand: cosine graph, its eigenvectors, a ridge regression",
        "lapwing_lpi",
    ),
    "local": ("LPCA, 20,000 x 256, 15 neighbours", "scikit-learn's search alone", "lapwing_lpca"),
    "scores": ("LaplacianScore, 10,000 x 256", "scikit-learn's search alone", "lapwing_scores"),
    "copies": ("100,000 rows, 27 of them distinct, 3 columns", "", "lapwing_search"),
    "twins": ('`KNN(5, among="same_class")`, 10,000 classes of two', "", "lapwing_same_class"),
    "families": ("MFA, 2,000 classes of five", "", "lapwing_mfa"),
}
SPREAD = {  # rows of the table of few labels: how the page calls them
    "LPP, labels spread": '`LPP("auto", graph="propagate")`',
    "KernelLPP, labels spread": '`KernelLPP("auto", graph="propagate")`',
    "KernelLPP, labels spread, the true shares": "`KernelLPP`, the true shares given",
    "KernelLPP, labels spread, shares wrong by a factor of two": "`KernelLPP`, shares wrong by a factor of two",
    'KernelLPP, labels spread, shares="labels"': '`KernelLPP`, `shares="labels"`',
    "KernelLPP, labels spread, shares=None": "`KernelLPP`, `shares=None`",
    "KernelLPP, labels spread, mass normalisation": "`KernelLPP`, each class rescaled to its share (class mass normalisation) "
    "instead of Poisson learning, the default way to spread",
    'KernelLPP(graph="semi")': '`KernelLPP(40, graph="semi")`',
    "Poisson learning without a projection": "Poisson learning without a projection",
    "label propagation of scikit-learn": "label propagation of scikit-learn",
    "label spreading of scikit-learn": "label spreading of scikit-learn",
    "self-training of logistic regression": "self-training of logistic regression",
    "SVC, tuned": "SVC, tuned, on the labelled rows alone",
}


@cache
def measured(part: str) -> dict[str, Any]:
    """What the commands of a part printed as JSON, all in one."""
    return {key: value for record in measure.kept(part).values() for key, value in json.loads(record["output"]).items()}


def where_and_when(part: str) -> str:
    """A sentence that says by what, when, on what and with which versions a part was measured."""
    records = measure.kept(part).values()
    said = {
        key: " and ".join(dict.fromkeys(record[key] for record in records)) for key in ("date", "machine", "versions")
    }
    commits = ", ".join(dict.fromkeys(f"`{record['commit']}`" for record in records))
    return fill(
        f"Measured by `make measure PART={part}` on {said['date']} at commit {commits}: {said['machine']}; {said['versions']}.",
        130,
        break_on_hyphens=False,
    )


def of_speed() -> str:
    """Seconds of processor time: the other side, lapwing's, their ratio, and what this should not exceed."""
    lines = []
    for case, (what, other, function) in SPEED.items():
        sides = measured("speed").get(case)
        if sides is None:
            continue
        ours, bar = sides[function]["work"], next(iter(sides.values()))["work"]
        bounds = {side.__name__: most for side, most in speed.CASES[case][1]}
        beside = [f"{ours / bar:.2f}", f"{bounds[function]:.3g}"] if other else ["", ""]
        lines.append([f"`{case}`", what, other, f"{bar:.3g}" if other else "", f"{ours:.3g}", *beside])
    table = markdown(["case", "what is done", "floor or other", "s", "lapwing, s", "ratio", "at most"], lines)
    over = [line[0] for line in lines if line[2] and float(line[5]) > float(line[6])]
    return table + (f"\nHigher than it should be: {', '.join(over)}.\n" if over else "")


def of_few() -> str:
    """What spreading gains on the sets that chose nothing."""
    ways = ["5 % of labels", "10 %", "five per class", "one per class"]
    found = measured("few")
    unbroken = ([cell.replace(" ±", "\u00a0±") for cell in few.cells(found, few.NEW, method)] for method in SPREAD)
    lines = ([name, *cells] for name, cells in zip(SPREAD.values(), unbroken, strict=True))
    return markdown(["", *ways, "worst set, 5 and 10 %", "worst set, five per class"], lines)


OF_PART: Mapping[str, Callable[[], str]] = {"speed": of_speed, "few": of_few}


def gained(method: str, draw: str) -> str:
    """Points above the rival, on the sets that chose nothing."""
    return few.cells(measured("few"), few.NEW, method)[few.DRAWS.index(draw)].partition(" (")[0].removeprefix("+")


def on_the_seven(method: str) -> str:
    """As :func:`gained`, with 5 and 10 % of the labels together, and the number of sets and shares."""
    gaps = [gap for draw in few.DRAWS[:2] for gap in few.gaps(measured("few"), few.NEW, method, (draw,)).values()]
    row = Row(method, "", True, {}, {str(i): gap for i, gap in enumerate(gaps)})
    return counted_gain(*row.difference(), len(gaps)) if gaps else ""


def counted_gain(mean: float, error: float, n: int) -> str:
    """A difference with its standard error and the number of sets; what is a tie as printed is called so."""
    return f"{signed(mean, error)} ({n}){', a tie' if abs(round(mean, 1)) <= round(error, 1) else ''}"


def mean_of(task: str, method: str, quantity: str | None = None) -> str:
    """Of a method over all sets of a task of the comparison."""
    summary = summaries()[task]
    return f"{summary_rows(summary, quantity or quantities(summary)[0])[method].mean:.1f}"


def summary_rows(summary: Summary, quantity: str) -> dict[str, Row]:
    return {row.method: row for row in rows(summary, quantity)}


# Sentences that quote numbers in the middle of a text: the page, the sentence, and its numbers in their order.
QUOTED: tuple[tuple[str, str, Callable[[], list[str]]], ...] = (
    (
        "README.md",
        "the lead of `LPP` over that rival is {} points with 5 % of the labels and {} with 10 %, that of `KernelLPP` {} and {}",
        lambda: [gained(f"{name}, labels spread", draw) for name in ("LPP", "KernelLPP") for draw in few.DRAWS[:2]],
    ),
    (
        "docs/labels.md",
        "gains {} points of accuracy on new rows with 5 % of the labels, and {} with five labels per class",
        lambda: [gained("KernelLPP, labels spread", draw) for draw in few.DRAWS[0:3:2]],
    ),
    (
        "docs/guide.md",
        "the {term}`mean average precision` is {} %, and {} % with the linear map",
        lambda: [mean_of("unseen", f"{name}, as it comes") for name in ("KernelLPP", "LPP")],
    ),
    (
        "docs/paper.md",
        "the nearest neighbour is right for {} % of the test rows after LPP with the graph of classes, and for {} % after "
        "KernelLPP, both with nothing tuned. It is right for {} % after linear discriminant analysis with tuned shrinkage, for "
        "{} % after kernel PCA and tuned discriminant analysis, for {} % after PCA, which sees no labels, and for {} % without "
        "any reduction",
        lambda: [
            mean_of("labelled", name)
            for name in (
                *("LPP, as it comes", "KernelLPP, as it comes", "shrinkage LDA, tuned"),
                *("kernel PCA + shrinkage LDA, tuned", "PCA, tuned", "no reduction"),
            )
        ],
    ),
    (
        "docs/paper.md",
        "`make reproduce` repeats {} published experiments and decides by rule which numbers came out. Of the {} numbers and "
        "statements of the papers that have been tried on the papers' own data, {} are reproduced within the stated tolerance, "
        "and {} more keep the printed order of the methods. Another {} are not reproduced, and",
        lambda: of_papers()[:5],
    ),
    ("docs/paper.md", "The remaining {} are not reproduced, without such an explanation", lambda: of_papers()[5:]),
)


@cache
def of_papers() -> list[str]:
    """How many experiments the papers have, how many of their numbers were tried, and how many got which verdict."""
    tried = [tally.own for tally in tallies(collected(experiments().values(), kept=True)).values()]
    verdicts = [sum(counts[verdict] for counts in tried) for verdict in VERDICTS]
    return [f"{count:,}" for count in (len(experiments()), sum(verdicts), *verdicts)]


def with_quotes(page: str, text: str) -> str:
    """A page in which the sentences of ``QUOTED`` have the numbers that were measured. Line breaks stay as they are."""
    for _, sentence, numbers in (quoted for quoted in QUOTED if quoted[0] == page):
        parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in sentence.split("{}")]
        found = list(re.finditer(r"([-+\d.,]+(?:\s±\s[\d.]+)?)".join(parts), text))
        if len(found) != 1:
            raise ValueError(f"{page} has {len(found)} sentences like {sentence!r}; it must have one")
        for place, number in reversed([*enumerate(numbers(), start=1)]):
            text = text[: found[0].start(place)] + number + text[found[0].end(place) :]
    return text


# Pages

TABLES: Mapping[str, Callable[[], str]] = {"docs/methods.md": by_method, "docs/api.rst": by_family}
PAGES = tuple(
    dict.fromkeys(
        (
            "README.md",
            "docs/comparison.md",
            "docs/speed.md",
            "docs/measured-tasks.md",
            *TABLES,
            *(page for page, *_ in QUOTED),
        )
    )
)


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

    def kept(found: re.Match[str]) -> str:
        return f"{found[1]}\n{OF_PART[found[2]]()}\n{where_and_when(found[2])}\n\n{found[3]}"

    return text, with_quotes(page, OF_MEASURED.sub(kept, OF_COMPARISON.sub(compared, new)))


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
