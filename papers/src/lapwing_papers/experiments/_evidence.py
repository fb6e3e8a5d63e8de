"""How much of each paper comes out: counts of verdicts, and one sentence that a reviewer can check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ._experiment import NOT_PUBLISHED, ORDERED, REPRODUCED, Cell, Experiment, Summary

#: The five papers, by the first word of their experiments' names.
PAPERS = {
    "thesis": "He 2005 (LPP and its family)",
    "lpca": "Zhao, Lin and Tang 2007 (LPCA)",
    "lpdp": "Gui, Wang and Zhu 2010 (LPDP)",
    "glpca": "Jiang, Ding, Luo and Tang 2013 (gLPCA)",
    "repulsion": "Kokiopoulou and Saad 2009 (repulsion)",
}
#: What is counted apart. Methods of a graph that others proposed, as Laplacian eigenmaps, share the paper's graph;
#: baselines, as PCA, have nothing to do with it, and test the data and the protocol alone.
OWN, OTHERS, BASELINES, STATEMENTS = KINDS = ("the paper's methods", "other graph methods", "baselines", "statements")
#: What others proposed, by the paper that compares with it.
OF_OTHERS = {
    "thesis": ("LE", "Laplacian eigenmaps", "NCut"),
    "lpca": (),
    "lpdp": ("LPP",),
    "glpca": ("LE", "LPP (unit directions)", "Ncut", "L21PCA"),
    "repulsion": ("Laplacianfaces",),
}
#: The methods that follow another reading than the printed one, or one that was chosen because the printed numbers come out, by
#: experiment.
FITTED = {
    "lpdp-table-1": (("LPDP",), "scatter as sums, where eq. 6 weighs classes by their priors"),
    "lpdp-table-2": (
        ("LPDP",),
        "unit directions, where eqs. 3, 11 and 12 give VᵀXDXᵀV = I, under which LPDP has 46.1, 66.9, 76.4, 80.7 and 84.0 in "
        "the place of the printed 51.2, 71.3, 79.5, 83.4 and 87.0; and scatter as sums, as in table 1",
    ),
    "thesis-table-4.5": (("LPP",), "all principal directions before LPP, where chapter 4 keeps 98 %"),
    "thesis-section-6.4.1": (
        ("order", "F1", "F2", "F3", "F4"),
        "neighbours by the cosine, and the edition of Iris with which the printed correlation comes out",
    ),
    "thesis-table-7.2": (("TSA",), "unit columns and images less their mean, which the printed errors need"),
    "thesis-table-7.2-pairs": (("TSA",), "unit columns and images less their mean, which the printed errors need"),
    "thesis-table-7.3": (("TSA",), "unit columns and images less their mean, as in table 7.2"),
    "glpca-table-3-kmeans": (
        ("gLPCA",),
        "beta and starts of k-means, which the paper does not name, chosen after a look",
    ),
    "glpca-table-3-seminmf": (("gLPCA",), "beta, which the paper does not name, chosen after a look at two data sets"),
    "glpca-table-4": (("gLPCA",), "beta, which the paper does not name, chosen after a look at two data sets"),
    "glpca-table-5": (
        ("RgLPCA",),
        "another start and step than printed, which give PCA's own answer; the kind of occlusion",
    ),
    "glpca-table-6": (
        ("RgLPCA",),
        "another start and step than printed, which give PCA's own answer; the kind of occlusion",
    ),
}


@dataclass(frozen=True)
class Tally:
    """Verdicts on the numbers and statements of one paper, or of all."""

    name: str
    own: Counter[str] = field(default_factory=Counter)  # on the paper's own data
    other: Counter[str] = field(default_factory=Counter)  # on data that stand in for what is not public
    kinds: Mapping[str, Counter[str]] = field(default_factory=lambda: {kind: Counter() for kind in KINDS})
    fitted: Counter[str] = field(default_factory=Counter)  # of the paper's methods, by a reading of FITTED

    @property
    def tried(self) -> int:
        return self.own.total()

    @property
    def sentence(self) -> str:
        """The claim of the library, with its counts."""
        text = f"{self.name.split(' (')[0]}, on the paper's own data: {_told(self.kinds, self.fitted)}"
        if self.other.total():
            text += f" On other data {self.other[REPRODUCED]:,} of {self.other.total():,} are reproduced."
        return text


def paper_of(name: str) -> str | None:
    """The paper of an experiment's name; None for an experiment of the library's own."""
    first = name.split("-")[0]
    return first if first in PAPERS else None


def kind_of(cell: Cell, experiment: Experiment) -> str:
    """Which of the kinds a number is counted among."""
    if cell.method in experiment.baselines:
        return BASELINES
    return OTHERS if cell.method in OF_OTHERS[experiment.name.split("-")[0]] else OWN


def tallies(summaries: Iterable[Summary]) -> dict[str, Tally]:
    """The verdicts of each paper of which anything was measured."""
    found: dict[str, Tally] = {}
    for summary in summaries:
        if paper := paper_of(summary.experiment.name):
            tally = found.setdefault(paper, Tally(PAPERS[paper]))
            (tally.other if summary.experiment.other_data else tally.own).update(summary.verdicts)
            if not summary.experiment.other_data:
                _count(summary, tally)
    return {paper: found[paper] for paper in PAPERS if paper in found}


def _count(summary: Summary, tally: Tally) -> None:
    methods, _ = FITTED.get(summary.experiment.name, ((), ""))
    for cell in summary.cells:
        if cell.verdict != NOT_PUBLISHED:
            tally.kinds[kind_of(cell, summary.experiment)][cell.verdict] += 1
            tally.fitted[cell.verdict] += cell.method in methods
    for *_, verdict in summary.claims:
        tally.kinds[STATEMENTS][verdict] += 1


def sentence(found: Mapping[str, Tally]) -> str:
    """What lapwing claims to reproduce of all papers together."""
    kinds = {kind: sum((tally.kinds[kind] for tally in found.values()), Counter()) for kind in KINDS}
    fitted: Counter[str] = sum((tally.fitted for tally in found.values()), Counter())
    return f"All papers together, on their own data: {_told(kinds, fitted)}"


def _told(kinds: Mapping[str, Counter[str]], fitted: Counter[str]) -> str:
    """The counts of the paper's methods first, since they are what is claimed."""
    own, others, base, said = (kinds[kind] for kind in KINDS)
    parts = []
    if own.total():
        parts.append(
            f"{own[REPRODUCED]:,} of the {own.total():,} printed numbers of {OWN} are reproduced within the stated tolerance"
        )
    if fitted.total():
        parts[0] += (
            f", {own[REPRODUCED] - fitted[REPRODUCED]:,} where the paper is read literally and {fitted[REPRODUCED]:,} under "
            "another reading that fits better"
        )
    if own.total():
        parts.append(f"of the other {own.total() - own[REPRODUCED]:,}, {own[ORDERED]:,} keep the printed order")
    for kind, counts in ((OTHERS, others), (BASELINES, base)):
        if counts.total():
            parts.append(f"{counts[REPRODUCED]:,} of {counts.total():,} numbers of {kind} are reproduced")
    if said.total():
        parts.append(f"{said[REPRODUCED]:,} of {said.total():,} {STATEMENTS} hold")
    return "; ".join(parts) + "."
