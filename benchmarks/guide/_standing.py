"""What was measured, as tables: means over sets, paired differences to the strongest rival, wins, ties and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing_papers.experiments._page import COLORS, panels

from ._rivals import CLUSTERING, FEW, LABELLED, LABELLED_MAPS, MAPS, UNSEEN, Rival
from ._sets import SETS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lapwing_papers.experiments import Summary

MISSING = (
    "LMNN could not be had: metric-learn 0.7.0 passes force_all_finite=, which scikit-learn 1.9 does not take, and pylmnn 1.6.4 "
    "needs GPyOpt."
)
RIVALS: dict[str, Mapping[str, Rival]] = {
    "guide-labelled": LABELLED,
    "guide-few-labels": FEW,
    "guide-unseen": UNSEEN,
    "guide-clustering": CLUSTERING,
    "guide-maps": {**MAPS, **LABELLED_MAPS},
}
FIRST = {  # what a task is about
    "guide-labelled": "accuracy",
    "guide-few-labels": "accuracy",
    "guide-unseen": "mAP",
    "guide-clustering": "k-means NMI",
    "guide-maps": "trustworthiness",
}
TIE = 0.5  # points
TICKS = (-50, -20, -5, -2, 0, 2, 5, 20)
LABELS = {  # in words, where "yes" does not say it
    "guide-few-labels": {"yes": "labelled rows alone"},
    "guide-unseen": {"yes": "of other classes", "to choose": "to choose, of other classes"},
}


@dataclass(frozen=True)
class Row:
    """A method's standing in one score: over the sets, and beside the strongest rival.

    Attributes
    ----------
    method, labels : str
    own : bool
        Whether it is lapwing's.
    by_set : mapping
        Means over the splits.
    differences : mapping
        To the strongest method of other packages, on each set; empty for that method itself.
    """

    method: str
    labels: str
    own: bool
    by_set: Mapping[str, float]
    differences: Mapping[str, float]

    @property
    def mean(self) -> float:
        return float(np.mean([*self.by_set.values()]))

    def difference(self, names: Sequence[str] | None = None) -> tuple[float, float]:
        """Mean and standard error over the sets, or over those named."""
        found = np.array([self.differences[name] for name in self.differences if names is None or name in names])
        error = found.std(ddof=1) / np.sqrt(found.size) if found.size > 1 else np.nan
        return float(found.mean()), float(error)

    @property
    def record(self) -> tuple[int, int, int]:
        """On how many sets it wins, ties (by less than half a point) and loses against the strongest rival."""
        found = np.array([*self.differences.values()])
        return int((found >= TIE).sum()), int((np.abs(found) < TIE).sum()), int((found <= -TIE).sum())


def is_new(condition: str, method: str = "") -> bool:
    """Whether the set took no part when the defaults were chosen. That of labels that spread was chosen on all sets."""
    name = condition if condition in SETS else condition.rpartition(", ")[0]
    return SETS[name].new and not method.endswith("labels spread")


def quantities(summary: Summary) -> list[str]:
    """The scores of a task, the first one first; not what is derived of them."""
    names = dict.fromkeys(q for q, condition, _ in summary.keys if condition in summary.experiment.conditions)
    first = FIRST[summary.experiment.name]
    return sorted(names, key=lambda q: q != first)


def rows(summary: Summary, quantity: str) -> list[Row]:
    """Methods that all measured sets have, the best first."""
    taking_part = RIVALS[summary.experiment.name]
    found: dict[str, dict[str, float]] = {}
    for _, condition, method in [key for key in summary.keys if key[0] == quantity]:
        if condition in summary.experiment.conditions:
            found.setdefault(method, {})[condition] = summary.mean(quantity, condition, method)
    most = max(len(each) for each in found.values())
    found = {method: each for method, each in found.items() if len(each) == most}
    means = {method: np.mean([*each.values()]) for method, each in found.items()}
    others = [method for method in found if not taking_part[method].own]
    best = max(others, key=lambda method: means[method])
    words = LABELS.get(summary.experiment.name, {})
    return [
        Row(
            method,
            words.get(taking_part[method].labels, taking_part[method].labels),
            taking_part[method].own,
            found[method],
            {name: value - found[best][name] for name, value in found[method].items()} if method != best else {},
        )
        for method in sorted(found, key=lambda method: -means[method])
    ]


def differences(summary: Summary) -> Mapping[tuple[str, str, str], Sequence[float]]:
    """The mean over sets, one number per split."""
    derived: dict[tuple[str, str, str], Sequence[float]] = {}
    for quantity in quantities(summary):
        for row in rows(summary, quantity):
            runs = [summary.runs(quantity, name, row.method) for name in row.by_set]
            splits = min(len(r) for r in runs)
            derived[f"mean of {quantity}", "all sets", row.method] = [
                float(np.mean([r[i] for r in runs])) for i in range(splits)
            ]
    return derived


HEAD = ["method", "labels", "mean", "to the strongest rival", "wins / ties / losses", "on new sets"]


def cells(row: Row) -> list[str]:
    """A row of the tables: see ``HEAD``."""
    if not row.differences:
        return [row.method, row.labels, f"{row.mean:.1f}", "the strongest rival", "", ""]
    new = [name for name in row.differences if is_new(name, row.method)]
    return [
        row.method,
        row.labels,
        f"{row.mean:.1f}",
        signed(*row.difference()),
        " / ".join(map(str, row.record)),
        signed(*row.difference(new)) if new else "",
    ]


def signed(mean: float, error: float) -> str:
    return f"{mean:+.1f}" if np.isnan(error) else f"{mean:+.1f} ± {error:.1f}"


def standing(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the task's first score, for the console."""
    quantity = quantities(summary)[0]
    head = [f"{quantity}, mean" if name == "mean" else name for name in HEAD]
    return head, [cells(row) for row in rows(summary, quantity)]


def dots(summary: Summary) -> Mapping[str, Figure]:
    """Each method beside the strongest rival, one dot per set."""
    scores = quantities(summary)
    figure, axes = panels(1, len(scores), width=4.8, height=0.8 + 0.26 * len(RIVALS[summary.experiment.name]))
    for place, quantity in zip(axes[0], scores, strict=True):
        draw(place, rows(summary, quantity))
        place.set_title(quantity, fontsize=10)
    return {
        "Points above (right) or below (left) the strongest rival, one dot per set, filled if the set is new": figure
    }


def draw(place: Any, found: Sequence[Row]) -> None:
    """The dots of one score: lapwing's methods in blue, others in grey, means with their standard errors in black."""
    compared = [row for row in found if row.differences][::-1]
    best = next(row.method for row in found if not row.differences)
    for i, row in enumerate(compared):
        color = COLORS[0] if row.own else COLORS[7]
        x = np.array([*row.differences.values()])
        new = np.array([is_new(name, row.method) for name in row.differences])
        y = i + 0.25 * np.linspace(-1, 1, x.size)
        place.scatter(x, y, s=9, facecolors=np.where(new, color, "none"), edgecolors=color, linewidths=0.7)
        place.errorbar(
            *row.difference()[:1], i, xerr=row.difference()[1], fmt="|", color="black", ms=9, capsize=2, lw=1.2
        )
    place.axvline(0, color="black", lw=0.8)
    place.set_yticks(range(len(compared)), [row.method for row in compared], fontsize=7)
    place.set_xscale("symlog", linthresh=5, linscale=1.5)
    place.set_xticks(TICKS, [f"{tick:+d}" if tick else "0" for tick in TICKS], minor=False)
    place.set_xticks([], minor=True)
    place.set_xlabel(f"points above {best}", fontsize=8)
    place.tick_params(axis="x", labelsize=7)
    place.grid(axis="x", alpha=0.25)
