"""Few labels: does a method that learns from the rows without a label beat one that leaves them out? New rows, two ways to draw.

    python benchmarks/few.py                  all sets, three splits: about an hour of one core; stopped, it goes on where it was
    python benchmarks/few.py semeion vowel    some sets
    python benchmarks/few.py --table          what has been measured so far

Of at most 600 training rows, 5 or 10 % have a label, drawn at random with at least one per class ("as classes come"), or five or
one row per class have one. All numbers are differences in points of accuracy on at most 300 new rows to kernel PCA and
discriminant analysis with tuned shrinkage, which learn from the labelled rows alone. The sets of benchmarks/guide and seven of
LAPWING_DATA/few chose ``shares="auto"``; the other seven sets chose nothing and were looked at once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

sys.path.insert(0, str(Path(__file__).parent))

from guide import FEW_SETS
from guide._rivals import FEW, KernelShrinkageLDA
from guide._sets import SETS, LabelledSet, split
from guide._tasks import by_known, halves, learnt, nearest

from lapwing import LPP, KernelLPP
from lapwing.data import as_data
from lapwing.graphs import Propagated

CHOSE = ("BBC_news", "Cora", "letter", "PBMC_cells", "semeion", "splice", "vowel")
NEW = ("authorship", "ecoli", "Japanese_vowels", "movie_reviews", "notMNIST", "pendigits", "satimage")
KINDS = {"BBC_news": "text", "Cora": "text", "movie_reviews": "text", "notMNIST": "image", "semeion": "image"}
DRAWS = ("5 %", "10 %", "5 per class", "1 per class")
SPLITS, ROWS, NEW_ROWS = 3, 600, 300
RESULTS = Path(__file__).parent.parent / "out" / "few.json"
RIVAL = "kernel PCA + shrinkage LDA, tuned"
FIRST = KernelLPP("auto", graph="supervised", standardize=False)  # the sets are in comparable units already
Method = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # rows, labels, new rows -> labels of the new rows


def read(name: str) -> tuple[Any, np.ndarray]:
    """A set of the folder ``few``; empty documents are left out."""
    folder = Path(os.environ["LAPWING_DATA"]) / "few"
    if (folder / f"{name}.npz").exists():
        stored = np.load(folder / f"{name}.npz")
        X, y = stored["X"].astype(float), stored["y"]
    else:
        X, y = (
            sparse.csr_array(sparse.load_npz(folder / f"{name}_X.npz")).astype(float),
            np.load(folder / f"{name}_y.npz")["y"],
        )
        X, y = X[np.diff(X.indptr) > 0], y[np.diff(X.indptr) > 0]
    return X, np.unique(y, return_inverse=True)[1]


SETS |= {name: LabelledSet(name, KINDS.get(name, "table"), read, name) for name in (*CHOSE, *NEW)}


def some_known(y: np.ndarray, draw: str, seed: int) -> np.ndarray:
    """The labels, -1 where they are not drawn."""
    random, known = np.random.RandomState(seed), np.zeros(y.size, dtype=bool)
    if draw.endswith("%"):
        known[random.permutation(y.size)[: round(int(draw[:-2]) / 100 * y.size)]] = True
    for c in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == c))
        if draw.endswith("class"):
            known[rows[: int(draw.split()[0])]] = True
        elif not known[rows].any():
            known[rows[0]] = True
    return np.where(known, y, -1)


def by_nearest(Z: np.ndarray, z: np.ndarray, T: np.ndarray) -> np.ndarray:
    known = z >= 0
    Z = Z[known]
    return z[known][((Z**2).sum(axis=1) - 2 * T @ Z.T).argmin(axis=1)]


def reduced(method: Any) -> Method:
    """The label of the nearest labelled row after a projection."""

    def predict(X: np.ndarray, z: np.ndarray, T: np.ndarray) -> np.ndarray:
        if np.bincount(z[z >= 0]).max() == 1 and method is FIRST:  # one row per class has nothing to learn from
            return by_nearest(X, z, T)
        model = method.fit(X, z)
        return by_nearest(model.transform(X), z, model.transform(T))

    return predict


def without_projection(X: np.ndarray, z: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Poisson learning along the neighbours by features, and the label of the nearest row."""
    return by_nearest(X, Propagated(None).fitted(as_data(X, z)).labels_, T)


def semi(X: np.ndarray, z: np.ndarray, T: np.ndarray) -> np.ndarray:
    return reduced(KernelLPP(min(40, len(X) // 2), graph="semi", standardize=False))(X, z, T)


def classified(classifier: Any) -> Method:
    return lambda X, z, T: classifier.fit(X, z).predict(T)


def propagated(kind: Any, shares: Any = "auto", graph: int = 10) -> Method:
    return reduced(kind("auto", graph=Propagated(FIRST, graph, shares=shares), standardize=False))


METHODS: dict[str, Method] = {
    "KernelLPP, labels spread": propagated(KernelLPP),
    "LPP, labels spread": propagated(LPP),
    'KernelLPP, labels spread, shares="labels"': propagated(KernelLPP, "labels"),
    "KernelLPP, labels spread, shares=None": propagated(KernelLPP, None),
    "KernelLPP, labels spread, 5 neighbours": propagated(KernelLPP, graph=5),
    "KernelLPP, labels spread, 20 neighbours": propagated(KernelLPP, graph=20),
    'KernelLPP(graph="semi")': semi,
    "KernelLPP, labelled rows alone": reduced(FIRST),
    "Poisson learning without a projection": without_projection,
    "label spreading of scikit-learn": classified(LabelSpreading(kernel="knn", n_neighbors=7)),
    "self-training of logistic regression": classified(SelfTrainingClassifier(LogisticRegression(max_iter=2000))),
}


def rival(part: Any, z: np.ndarray, seed: int) -> float:
    """Its accuracy. Nothing can be tuned where a class has one label."""
    if np.bincount(z[z >= 0]).min() > 1:
        model, X, T = learnt(FEW[RIVAL], part, z, list(halves(z, seed)), by_known)
        return 100 * by_known(model, X, z, T, part.y_new)
    X, T = part.prepared
    model = KernelShrinkageLDA(0.3, 0.1).fit(X, z)
    return 100 * nearest(model.transform(X)[z >= 0], z[z >= 0], model.transform(T), part.y_new)


def measure(names: tuple[str, ...], found: dict[str, dict[str, float]]) -> Iterator[str]:
    for name in names:
        for seed in range(SPLITS):
            for draw in DRAWS:
                row = found.setdefault(f"{name}|{draw}|{seed}", {})
                missing = [method for method in METHODS if method not in row]
                if missing:
                    part = split(name, ROWS, NEW_ROWS, seed)
                    z, (X, T) = some_known(part.y, draw, seed), part.prepared
                    row[RIVAL] = row.get(RIVAL) or rival(part, z, seed)
                    row |= {method: 100 * float(np.mean(METHODS[method](X, z, T) == part.y_new)) for method in missing}
                    yield f"{name}, {draw}, split {seed}"


def table(found: dict[str, dict[str, float]], names: tuple[str, ...]) -> str:
    """Means over sets and their standard errors; wins, ties within a point, and losses; the worst set."""
    lines = ["| | " + " | ".join(DRAWS) + " | worst |", "|---" * (len(DRAWS) + 2) + "|"]
    for method in METHODS:
        cells, worst = [], (0.0, "")
        for draw in DRAWS:
            rows = {n: [r for k, r in found.items() if k.startswith(f"{n}|{draw}|") and method in r] for n in names}
            means = {n: float(np.mean([r[method] - r[RIVAL] for r in own])) for n, own in rows.items() if own}
            d = np.array(list(means.values()))
            if d.size < 2:
                cells.append("")
                continue
            worst = min(worst, *((mean, f"{n}, {draw}") for n, mean in means.items()))
            counts = f"{(d > 1).sum()}/{(abs(d) <= 1).sum()}/{(d < -1).sum()}"
            cells.append(f"{d.mean():+.1f} ± {d.std(ddof=1) / np.sqrt(d.size):.1f} ({counts})")
        lines.append(f"| {method} | " + " | ".join(cells) + f" | {worst[0]:.0f} ({worst[1]}) |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--table", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    measured = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.parent.mkdir(exist_ok=True)
    if not asked.table:
        for done in measure(tuple(asked.sets) or (*NEW, *CHOSE, *FEW_SETS), measured):
            print(done, flush=True)
            RESULTS.write_text(json.dumps(measured))
    groups = {
        "that chose the default": CHOSE,
        "of the guide, which chose it as well": FEW_SETS,
        "that chose nothing": NEW,
    }
    for title, group in groups.items():
        print(f"\nSets {title}:\n\n{table(measured, tuple(group))}")
