"""Gui, Wang and Zhu (2010), "Locality preserving discriminant projections": USPS digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from lapwing import LPDP, LPP
from lapwing.graphs import KNN

from ._classification import Classification, Data, Maker, Method, PerClass
from ._data import dataset
from ._experiment import Claim, Reading, Summary

TRAIN = (30, 40, 50, 60, 70)
OTHER = {"constraint": "unit", "unit": "constraint"}
NAMED = {"constraint": "as the eigenproblem gives them", "unit": "unit directions"}


def _lpp(length: str) -> Maker:
    def make(X: Any, y: np.ndarray, d: int) -> LPP:
        return LPP(d, graph=KNN(5, weights="binary"), scaling=length, center="degree", preset="paper")

    return make


def _lpdp(length: str) -> Maker:
    def make(X: Any, y: np.ndarray, d: int) -> LPDP:
        return LPDP(d, graph=5, alpha=1.0, scaling=length, center="degree", preset="paper")

    return make


def _methods(scaling: str) -> dict[str, Method]:
    """Both methods with directions of that length, and of the other."""
    other = OTHER[scaling]
    return {
        "LPP": Method(_lpp(scaling)),
        "LPDP": Method(_lpdp(scaling)),
        f"LPP ({NAMED[other]})": Method(_lpp(other)),
        f"LPDP ({NAMED[other]})": Method(_lpdp(other)),
        "raw pixels": Method(None),
    }


@cache
def _usps() -> Data:
    """The first 100 images of each digit."""
    bunch = dataset("usps:11000")
    first = np.concatenate([np.flatnonzero(bunch.target == c)[:100] for c in range(10)])
    return bunch.data[first], bunch.target[first]


@cache
def _unit_usps() -> Data:
    X, y = _usps()
    return normalize(X), y


def _always_better(summary: Summary) -> float:
    """The smallest advantage of LPDP over the numbers of training images, each at its best dimension."""
    return min(summary.mean("accuracy", c, "LPDP") - summary.mean("accuracy", c, "LPP") for c in summary.conditions)


def _largest_and_spread(summary: Summary) -> Mapping[tuple[str, str, str], Sequence[float]]:
    """The largest rate of any split and dimension, and the deviation over splits in the best dimension."""
    found = {}
    for condition in summary.conditions:
        for method in ("LPP", "LPDP"):
            runs = summary.runs("accuracy", condition, method)
            found["largest accuracy", condition, method] = [float(np.nanmax(runs))]
            found["deviation", condition, method] = [summary.best("accuracy", condition, method)[1]]
    return found


def _printed(lpp: tuple[float, ...], lpdp: tuple[float, ...]) -> dict[str, dict[str, float]]:
    return {f"{n} training images": {"LPP": a, "LPDP": b} for n, a, b in zip(TRAIN, lpp, lpdp, strict=True)}


def _table(number: int, what: str, printed: dict[str, dict[str, dict[str, float]]], cosine: bool) -> Classification:
    scaling = "unit" if cosine else "constraint"
    return Classification(
        name=f"lpdp-table-{number}",
        source=f"Gui, Wang and Zhu 2010, table {number} and figure {number} ({what})",
        protocol=(
            "USPS, the first 100 images of each of the 10 digits. For each number of training images a digit 20 random splits; "
            "all principal directions kept, 5 neighbours, alpha = 1; the nearest neighbour in 2, 4, ..., 40 dimensions. "
            "Printed are the best mean over the dimensions, the deviation there, and the largest rate of any split."
        ),
        data=("usps:11000",),
        load=_unit_usps if cosine else _usps,
        conditions={f"{n} training images": PerClass(n) for n in TRAIN},
        methods=_methods(scaling),
        classifier=KNeighborsClassifier(1, metric="cosine" if cosine else "euclidean"),
        what="accuracy",
        dimensions=range(2, 41, 2),
        n_repeats=20,
        n_quick=2,
        quick_conditions=("30 training images",) if number == 1 else (),
        published=printed,
        derived=_largest_and_spread,
        tolerance={"accuracy": 2.0, "largest accuracy": 3.0, "deviation": 0.75},
        readings=(
            Reading("Scatter matrices", "Sums over samples, not averages with priors, which give LPP's own rates."),
            Reading(
                "Length of the directions, which the paper does not give",
                f"{NAMED[scaling].capitalize()}: so its numbers come out.",
                f"({NAMED[OTHER[scaling]]})",
            ),
            Reading("Which 100 images", "The first of each digit; the paper does not say."),
        ),
        claims=(
            Claim(
                "LPDP is better than LPP in all cases (smallest difference in points).", _always_better, at_least=0.0
            ),
        ),
    )


EXPERIMENTS = (
    _table(
        1,
        "Euclidean distance",
        {
            "accuracy": _printed((39.01, 58.58, 68.41, 74.49, 78.38), (46.44, 65.29, 73.5, 79.51, 82.32)),
            "largest accuracy": _printed((43.86, 64.83, 74, 78.5, 84), (49.86, 70.67, 78.8, 83.25, 87.33)),
            "deviation": _printed((2.75, 2.17, 1.6, 2.41, 2.16), (2.54, 2.54, 1.64, 2.04, 2.01)),
        },
        cosine=False,
    ),
    _table(
        2,
        "unit vectors, cosine distance",
        {
            "accuracy": _printed((48.01, 66.84, 75.65, 79.97, 84.07), (51.24, 71.33, 79.46, 83.41, 86.98)),
            "largest accuracy": _printed((53.14, 73.0, 81.0, 84.5, 88.67), (57.14, 75.5, 82.8, 88.0, 91.0)),
            "deviation": _printed((2.27, 1.73, 1.85, 2.49, 1.93), (2.96, 1.52, 1.42, 2.24, 1.76)),
        },
        cosine=True,
    ),
)
