"""How much of each paper comes out: counts of verdicts, and one sentence that a reviewer can check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ._experiment import REPRODUCED, VERDICTS, Summary

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
        name = self.name.split(" (")[0]
        text = f"Of {self.tried:,} numbers and statements of {name} tried on the paper's own data, {_told(self.own)}"
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
        f"Of the {own.total():,} numbers and statements of the papers that have been tried on the papers' own data, "
        f"{_told(own)}."
    )


def _told(counts: Counter[str]) -> str:
    """The four counts, as words that fit one and many."""
    own, order, other, none = (counts[verdict] for verdict in VERDICTS)
    return (
        f"{own:,} {'is' if own == 1 else 'are'} reproduced within the stated tolerance, "
        f"{order:,} more {'keeps' if order == 1 else 'keep'} the printed order of the methods, "
        f"{other:,} {'misses' if other == 1 else 'miss'} where the baselines miss too, "
        f"and {none:,} {'is' if none == 1 else 'are'} not reproduced"
    )
