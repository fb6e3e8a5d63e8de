"""How much of each paper comes out: counts of verdicts, and one sentence that a reviewer can check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ._experiment import BASELINES_DIFFER, NOT_REPRODUCED, ORDERED, REPRODUCED, Summary

#: The five papers, by the first word of their experiments' names.
PAPERS = {
    "thesis": "He 2005 (LPP and its family)",
    "lpca": "Zhao, Lin and Tang 2007 (LPCA)",
    "lpdp": "Gui, Wang and Zhu 2010 (LPDP)",
    "glpca": "Jiang, Ding, Luo and Tang 2013 (gLPCA)",
    "repulsion": "Kokiopoulou and Saad 2009 (repulsion)",
}


@dataclass(frozen=True)
class Tally:
    """Verdicts on the numbers and statements of one paper, or of all."""

    name: str
    own: Counter[str] = field(default_factory=Counter)  # on the paper's own data
    other: Counter[str] = field(default_factory=Counter)  # on data that stand in for what is not public

    @property
    def tried(self) -> int:
        return self.own.total()

    @property
    def sentence(self) -> str:
        """The claim of the library, with its counts."""
        found = self.own
        text = (
            f"Of {self.tried:,} printed numbers and statements tried on {self.name.split(' (')[0]}'s own data, "
            f"{found[REPRODUCED]:,} are reproduced, {found[ORDERED]:,} more keep the printed order of the methods, "
            f"{found[BASELINES_DIFFER]:,} miss where the paper's baselines miss too, and {found[NOT_REPRODUCED]:,} are not "
            "reproduced"
        )
        if self.other.total():
            text += f"; on other data it is {self.other[REPRODUCED]:,} of {self.other.total():,}"
        return f"{text}."


def paper_of(name: str) -> str | None:
    """The paper of an experiment's name; None for an experiment of the library's own."""
    first = name.split("-")[0]
    return first if first in PAPERS else None


def tallies(summaries: Iterable[Summary]) -> dict[str, Tally]:
    """The verdicts of each paper of which anything was measured."""
    found: dict[str, Tally] = {}
    for summary in summaries:
        if paper := paper_of(summary.experiment.name):
            tally = found.setdefault(paper, Tally(PAPERS[paper]))
            (tally.other if summary.experiment.other_data else tally.own).update(summary.verdicts)
    return {paper: found[paper] for paper in PAPERS if paper in found}


def sentence(found: Mapping[str, Tally]) -> str:
    """What lapwing claims to reproduce of all papers together."""
    own: Counter[str] = sum((tally.own for tally in found.values()), Counter())
    return (
        f"Of the {own.total():,} numbers and statements of the five papers that could be tried on their own data, lapwing "
        f"reproduces {own[REPRODUCED]:,} within the stated tolerance; {own[ORDERED]:,} more keep the printed order of the "
        f"methods, {own[BASELINES_DIFFER]:,} miss where the raw data or PCA miss too, and {own[NOT_REPRODUCED]:,} are not "
        "reproduced."
    )
