"""The published experiments, declared one file per paper, and the engine that runs them.

>>> from lapwing_papers.experiments import names
>>> "lpdp-table-1" in names()
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from ._baselines import BASELINES
from ._classification import Classification, Method, PerClass
from ._clustering import Clustering
from ._engine import ExperimentError, collected, run
from ._evidence import FITTED, KINDS, OWN, Tally, paper_of, sentence, tallies
from ._evidence import PAPERS as TITLES
from ._experiment import REPRODUCED, VERDICTS, Cell, Claim, Experiment, Measured, Reading, Summary, Task
from ._investigations import INVESTIGATIONS
from ._kept import Kept, keep
from ._page import write_page
from ._store import ResultsError

__all__ = [
    "FITTED",
    "IMPOSSIBLE",
    "INVESTIGATIONS",
    "KINDS",
    "OWN",
    "REPRODUCED",
    "TITLES",
    "VERDICTS",
    "Cell",
    "Claim",
    "Classification",
    "Clustering",
    "Experiment",
    "ExperimentError",
    "Kept",
    "Measured",
    "Method",
    "PerClass",
    "Reading",
    "ResultsError",
    "Summary",
    "Tally",
    "Task",
    "collected",
    "evidence_sentence",
    "experiments",
    "get",
    "group",
    "keep",
    "names",
    "paper_of",
    "run",
    "sentence",
    "tallies",
    "write_page",
]

PAPERS = ("_thesis", "_thesis_text", "_thesis_digits", "_lpca", "_lpdp", "_glpca", "_repulsion")
IMPOSSIBLE = {
    "thesis tables 4.3, 4.4, figures 4.10-4.12": "the MSRA faces are not public",
    "lpca figures 3-5 as printed": "the FRGC version 2 faces are not public; public faces take their place",
    "repulsion, Essex": "the Essex faces could not be had",
}


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment, by its name."""
    declared = [
        replace(experiment, baselines=BASELINES.get(paper, ()))
        for paper in PAPERS
        for experiment in import_module(f".{paper}", __name__).EXPERIMENTS
    ]
    return {experiment.name: experiment for experiment in declared}


def evidence_sentence() -> str:
    """What lapwing claims to reproduce, by the results that are kept: the sentence that README quotes."""
    return sentence(tallies(collected(experiments().values(), kept=True)))


def names() -> list[str]:
    return list(experiments())


def get(name: str) -> Experiment:
    """The experiment of that name."""
    return found(experiments(), name)


def group(declared: Mapping[str, Experiment], name: str) -> list[Experiment]:
    """The experiment of that name, or all whose names begin with it: ``"lpca"`` are those of the paper on LPCA."""
    begun = [e for each, e in declared.items() if each.startswith(f"{name}-")]
    return begun if begun and name not in declared else [found(declared, name)]


def found(declared: Mapping[str, Experiment], name: str) -> Experiment:
    if name not in declared:
        close = get_close_matches(name, declared, n=3) or declared
        raise ValueError(f"there is no experiment {name!r}; did you mean {', '.join(close)}?")
    return declared[name]
