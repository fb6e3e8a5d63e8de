"""He (2005), "Locality Preserving Projections" (thesis), chapter 8: handwritten digits, where LDA is said to beat LPP."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from lapwing import LPP
from lapwing.graphs import KNN, SameClass

from ._classification import Classification, Data, Method, PerClass
from ._data import dataset
from ._experiment import Claim, Reading, Summary

N_TRAIN, N_TEST = 200, 100  # images of each digit
DIMENSIONS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 20, 30, 50, 80, 120)
LARGEST_LDA = 9  # one less than digits


def _digits() -> Data:
    bunch = dataset("mnist")
    return bunch.data, bunch.target


def _pca(X: np.ndarray, y: np.ndarray, d: int) -> PCA:
    return PCA(d, svd_solver="full")


def _lda(X: np.ndarray, y: np.ndarray, d: int) -> LPP:
    """LDA is LPP with the graph that links all images of one class."""
    return LPP(min(d, LARGEST_LDA), graph=SameClass(), pca=0.98, center="degree", preset="paper")


def _lpp(X: np.ndarray, y: np.ndarray, d: int, graph: Any = None) -> LPP:
    return LPP(d, graph=graph or KNN(5), pca=0.98, center="degree", preset="paper")


def _lpp_of_classes(X: np.ndarray, y: np.ndarray, d: int) -> LPP:
    return _lpp(X, y, d, KNN(5, among="same_class"))


def _lead_in_as_many(summary: Summary) -> float:
    condition = summary.conditions[0]
    lpp, lda = (summary.at("error", condition, method, LARGEST_LDA)[0] for method in ("LPP", "LDA"))
    return lpp - lda


def _lead(over: str) -> Any:
    return lambda summary: (
        summary.mean("error", summary.conditions[0], over) - summary.mean("error", summary.conditions[0], "LDA")
    )


EXPERIMENTS = (
    Classification(
        name="thesis-conclusion-mnist",
        source="He 2005 (thesis), chapter 8 (conclusion on MNIST: LDA outperforms LPP)",
        protocol=(
            f"Of the 70,000 images of MNIST, {N_TRAIN} random ones of each digit train and {N_TEST} others of each digit "
            "test; 10 random splits. LDA and LPP (5 neighbours, heat weights) after PCA that keeps 98 % of the variance; the "
            f"nearest neighbour in {', '.join(map(str, DIMENSIONS))} dimensions, LDA in up to {LARGEST_LDA}. The thesis "
            "states the order and prints no number."
        ),
        data=("mnist",),
        load=_digits,
        conditions={f"{N_TRAIN} training images per digit": PerClass(N_TRAIN, N_TEST)},
        methods={
            "PCA": Method(_pca),
            "LDA": Method(_lda),
            "LPP": Method(_lpp),
            "LPP (neighbours of the same digit)": Method(_lpp_of_classes),
            "raw pixels": Method(None),
        },
        dimensions=DIMENSIONS,
        n_repeats=10,
        lower_is_better=True,
        readings=(
            Reading(
                "Which LPP is meant",
                "Without labels: the thesis blames the graph of nearest neighbours.",
                "'LPP (neighbours of the same digit)'.",
            ),
            Reading(
                "In how many dimensions",
                "The thesis does not say. LDA has 9 at most; tested are as many dimensions as LDA has, and LPP's best number.",
            ),
        ),
        claims=(
            Claim(
                f"LDA outperforms LPP in as many dimensions, {LARGEST_LDA} (lead in points of error).",
                _lead_in_as_many,
                at_least=0.0,
            ),
            Claim(
                "LDA outperforms LPP, each in its best dimension (lead in points of error).", _lead("LPP"), at_least=0.0
            ),
        ),
    ),
)
