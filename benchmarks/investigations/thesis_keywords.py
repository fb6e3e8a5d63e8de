"""Thesis, table 5.5 (subsets of Reuters-21578 by a keyword): which subsets and which LPI bring the gains to the printed ones.

    LAPWING_DATA=... python benchmarks/investigations/thesis_keywords.py

The table prints, for 30 subsets of documents, the share of a document's own topic among its nearest documents: of the
vectors themselves (baseline), and how much LSI and LPI gain on it. One line is one reading: the mean baseline over the
subsets, the mean gains of LSI and of LPI, the mean of their best dimensions, and on which share of the subsets LPI is
better than LSI. The first line is what is printed. It takes about four minutes of one core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from lapwing.data import as_data
from lapwing.graphs import KNN
from lapwing.methods import LPP
from lapwing_papers.experiments import _thesis_text as thesis
from lapwing_papers.experiments import collected, get
from lapwing_papers.retrieval import neighborhood_accuracy

NAME = "reuters"


def best(distances: Iterable[np.ndarray], y: np.ndarray, dimensions: Sequence[int]) -> tuple[float, float]:
    scores = thesis._scores(neighborhood_accuracy, distances, y)
    at = int(np.argmax(scores))
    return float(scores[at]), float(dimensions[at])


def one(C: sparse.csr_array, y: np.ndarray, weigh: Callable[[Any], Any], graph: KNN, scaling: str) -> tuple[float, ...]:
    """Baseline, LSI and LPI of one subset: scores and best dimensions."""
    A = sparse.csr_array(weigh(thesis._used_terms(C)))
    plain = np.maximum(1 - (normalize(A) @ normalize(A).T).toarray(), 0)
    dimensions = thesis._lsi_dimensions(A.shape[0])
    lsi = best(thesis.nested_distances(thesis.singular_coordinates(A), dimensions), y, dimensions)
    model = LPP(
        thesis.LPI_DIMENSIONS[-1], graph=graph.adjacency(as_data(A)), scaling=scaling, center="degree", preset="paper"
    )
    lpi = best(thesis.nested_distances(model.fit_transform(A), thesis.LPI_DIMENSIONS), y, thesis.LPI_DIMENSIONS)
    return (float(thesis._scores(neighborhood_accuracy, [plain], y)[0]), *lsi, *lpi)


def say(reading: str, runs: np.ndarray) -> None:
    base, lsi, lsi_d, lpi, lpi_d = runs.T
    better = float(np.mean(lpi > lsi))
    numbers = f"{base.mean():6.2f} {np.mean(lsi - base):+6.2f} {np.mean(lpi - base):+6.2f}"
    print(f"{reading:62} {numbers} {lsi_d.mean():7.1f} {lpi_d.mean():6.1f}   {better:.2f}", flush=True)


SPREAD, LARGE, SMALL = "30 terms, evenly by frequency", "30 most frequent of these", "30 least frequent of these"


def subsets(which: str) -> list[np.ndarray]:
    X, y = thesis._corpus(NAME)
    if which == SPREAD:
        return thesis._subsets(NAME)
    everything = thesis.keyword_subsets(X, y, n_subsets=400)
    return everything[:30] if which == LARGE else everything[-30:]


COSINES = KNN(7, metric="cosine", weights="dot")
READINGS: dict[str, tuple[str, Callable[[Any], Any], KNN, str]] = {
    "as taken": (SPREAD, normalize, COSINES, "constraint"),
    "weights 1": (SPREAD, normalize, KNN(7, metric="cosine", weights="binary"), "constraint"),
    "15 neighbours": (SPREAD, normalize, KNN(15, metric="cosine", weights="dot"), "constraint"),
    "unit directions": (SPREAD, normalize, COSINES, "unit"),
    "tf-idf": (SPREAD, lambda C: TfidfTransformer().fit_transform(C), COSINES, "constraint"),
    "counts": (SPREAD, lambda C: C, COSINES, "constraint"),
    LARGE: (LARGE, normalize, COSINES, "constraint"),
    SMALL: (SMALL, normalize, COSINES, "constraint"),
}


def kept(method: str) -> np.ndarray:
    """Readings that the experiment itself measures, from the kept results."""
    (summary,) = collected([get("thesis-table-5.5")], kept=True)
    where = thesis.NAMES[NAME]
    keys = [("accuracy", "baseline"), ("accuracy", f"LSI{method}"), ("dimensions", f"LSI{method}")]
    keys += [("accuracy", f"LPI{method}"), ("dimensions", f"LPI{method}")]
    return np.column_stack([summary.runs(quantity, where, name) for quantity, name in keys])


def main() -> None:
    printed = get("thesis-table-5.5").published
    base, gains, at = (printed[q][thesis.NAMES[NAME]] for q in ("accuracy", "gain", "dimensions"))
    print(f"{'reading':62} baseline, gains of LSI and LPI, their dimensions, share of subsets with LPI ahead of LSI")
    numbers = f"{base['baseline']:6.2f} {gains['LSI']:+6.2f} {gains['LPI']:+6.2f}"
    print(f"{'printed':62} {numbers} {at['LSI']:7.1f} {at['LPI']:6.1f}   {24 / 30:.2f}")
    say("fitted on the documents of all subsets together (kept results)", kept(" (fitted on all)"))
    X, y = thesis._corpus(NAME)
    for reading, (which, weigh, graph, scaling) in READINGS.items():
        say(reading, np.array([one(X[rows], y[rows], weigh, graph, scaling) for rows in subsets(which)]))


if __name__ == "__main__":
    main()
