"""Few labels: does a method that learns from the rows without a label beat one that leaves them out? New rows, two ways to draw.

    python benchmarks/few.py                  all sets, three splits: ten minutes of one core; stopped, it goes on where it was
    python benchmarks/few.py semeion vowel    some sets
    python benchmarks/few.py --rows 3000      more training rows
    python benchmarks/few.py --unequal        two classes, of 5 and 95 % of the rows
    python benchmarks/few.py --time           seconds of a fit to 20,000 rows, and what is right
    python benchmarks/few.py --table          what has been measured so far
    python benchmarks/few.py --json           the accuracies as JSON in the place of tables: for benchmarks/measure.py

Of at most 600 training rows, 5 or 10 % have a label, drawn at random with at least two per class, or five or one row per class
have one. All numbers are differences in points of accuracy on new rows to kernel PCA and discriminant analysis with tuned
shrinkage, which learn from the labelled rows alone. The sets of benchmarks/guide and seven of LAPWING_DATA/few chose
``shares="auto"``; the other seven sets chose nothing and were looked at once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier

sys.path.insert(0, str(Path(__file__).parent))

from guide import FEW_SETS
from guide._rivals import FEW, KernelShrinkageLDA, KernelSVC
from guide._sets import SETS, LabelledSet, Part, split
from guide._tasks import by_known, halves, learnt

from lapwing import LPP, KernelLPP
from lapwing.data import as_data
from lapwing.graphs import Propagated
from lapwing_papers.experiments._data import dataset

CHOSE = ("BBC_news", "Cora", "letter", "PBMC_cells", "semeion", "splice", "vowel")
NEW = ("authorship", "ecoli", "Japanese_vowels", "movie_reviews", "notMNIST", "pendigits", "satimage")
KINDS = {"BBC_news": "text", "Cora": "text", "movie_reviews": "text", "notMNIST": "image", "semeion": "image"}
DRAWS = ("5 %", "10 %", "5 per class", "1 per class")
SPLITS, ROWS, NEW_ROWS = 3, 600, 300
RARE, MANY_ROWS = 0.05, 1200  # the share of the rare class; from more rows on, kernels take landmarks
RIVAL = "kernel PCA + shrinkage LDA, tuned"
FIRST = KernelLPP("auto", graph="supervised", standardize=False)  # the sets are in comparable units already


class Task(NamedTuple):
    """Training rows with some of their labels, all of their labels, and new rows."""

    X: np.ndarray
    z: np.ndarray
    y: np.ndarray
    T: np.ndarray


Method = Callable[[Task], np.ndarray]  # gives the labels of the new rows


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


def known_to_the_guide() -> None:
    """So that it splits them as its own sets."""
    SETS.update({name: LabelledSet(name, KINDS.get(name, "table"), read, name) for name in (*CHOSE, *NEW)})


def some_known(y: np.ndarray, draw: str, seed: int) -> np.ndarray:
    """The labels, -1 where they are not drawn."""
    random, known = np.random.RandomState(seed), np.zeros(y.size, dtype=bool)
    if draw.endswith("%"):
        known[random.permutation(y.size)[: round(int(draw[:-2]) / 100 * y.size)]] = True
    for c in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == c))
        rows = rows[np.argsort(~known[rows], kind="stable")]
        known[rows[: 2 if draw.endswith("%") else int(draw.split()[0])]] = True
    return np.where(known, y, -1)


def rare_and_rest(part: Part, seed: int) -> Part:
    """At most 600 rows, of which 5 % are of one class and the others of all others; new rows by the same two names."""
    random = np.random.RandomState(seed)
    rare, order = random.randint(part.y.max() + 1), random.permutation(part.y.size)
    is_rare = part.y[order] == rare
    n = int(min(ROWS, is_rare.sum() / RARE))
    rows = np.concatenate([order[is_rare][: round(RARE * n)], order[~is_rare][: n - round(RARE * n)]])
    new = part.y_new == rare
    # New rows are as unequal as the others are.
    kept = np.concatenate([np.flatnonzero(new)[: round(RARE / (1 - RARE) * (~new).sum())], np.flatnonzero(~new)])
    X, T = part.prepared
    y, y_new = (part.y[rows] != rare).astype(int), (part.y_new[kept] != rare).astype(int)
    return part._replace(y=y, y_new=y_new, prepared=(X[rows], T[kept]))


def by_nearest(Z: np.ndarray, z: np.ndarray, T: np.ndarray) -> np.ndarray:
    Z, z = Z[z >= 0], z[z >= 0]
    return z[((Z**2).sum(axis=1) - 2 * T @ Z.T).argmin(axis=1)]


def reduced(method: Any, task: Task) -> np.ndarray:
    """The label of the nearest labelled row after a projection."""
    if isinstance(method, KernelLPP) and len(task.X) > MANY_ROWS:
        method.set_params(landmarks=1000, random_state=0)
    model = method.fit(task.X, task.z)
    return by_nearest(model.transform(task.X), task.z, model.transform(task.T))


def first_alone(task: Task) -> np.ndarray:
    """The map that labels spread along, of the labelled rows alone."""
    known = task.z >= 0
    if np.bincount(task.z[known]).max() == 1:  # one row per class has nothing to learn from
        return by_nearest(task.X, task.z, task.T)
    return by_nearest(FIRST.fit(task.X[known], task.z[known]).transform(task.X), task.z, FIRST.transform(task.T))


def spreading(kind: Any = KernelLPP, shares: Any = "auto", graph: int = 10, way: Any = Propagated) -> Method:
    return lambda task: reduced(kind("auto", graph=way(FIRST, graph, shares=shares), standardize=False), task)


def known_shares(factor: float = 1.0) -> Method:
    """With the shares of the classes among the training rows, every other of which is multiplied by a factor."""

    def predict(task: Task) -> np.ndarray:
        shares = np.bincount(task.y) * factor ** (np.arange(task.y.max() + 1) % 2)
        return spreading(shares=dict(enumerate(shares.tolist())))(task)

    return predict


class MassNormalised(Propagated):
    """Zhou's label spreading and Zhu's class mass normalisation along the same links, in place of Poisson learning."""

    def fitted(self, data: Any) -> Any:
        codes = np.unique(data.y, return_inverse=True)[1] - 1
        W = self._weights(self._beside(data, codes), codes)
        d = np.maximum(W.sum(axis=1), 1e-300) ** -0.5
        S = sparse.diags_array(d) @ W @ sparse.diags_array(d)
        Y = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
        F = sparse.linalg.spsolve((sparse.eye_array(data.n) - 0.99 * S).tocsc(), Y)
        F = F * Y.mean(axis=0) / F.sum(axis=0)
        found: Any = Propagated(None)
        found.labels_ = np.where(codes >= 0, codes, np.where(F.any(axis=1), F.argmax(axis=1), -1))
        return found


def without_projection(task: Task) -> np.ndarray:
    """Poisson learning along the neighbours by features, and the label of the nearest row."""
    return by_nearest(task.X, Propagated(None, shares="labels").fitted(as_data(task.X, task.z)).labels_, task.T)


def of_all_rows(classifier: Any) -> Method:
    return lambda task: classifier.fit(task.X, task.z).predict(task.T)


METHODS: dict[str, Method] = {
    "KernelLPP, labels spread": spreading(),
    "LPP, labels spread": spreading(LPP),
    'KernelLPP, labels spread, shares="labels"': spreading(shares="labels"),
    "KernelLPP, labels spread, shares=None": spreading(shares=None),
    "KernelLPP, labels spread, the true shares": known_shares(),
    "KernelLPP, labels spread, shares wrong by a factor of two": known_shares(2.0),
    "KernelLPP, labels spread, mass normalisation": spreading(way=MassNormalised),
    "KernelLPP, labels spread, 5 neighbours": spreading(graph=5),
    "KernelLPP, labels spread, 20 neighbours": spreading(graph=20),
    'KernelLPP(graph="semi")': lambda task: reduced(
        KernelLPP(min(40, len(task.X) // 2), graph="semi", standardize=False), task
    ),
    "KernelLPP, labelled rows alone": first_alone,
    "Poisson learning without a projection": without_projection,
    "label propagation of scikit-learn": of_all_rows(LabelPropagation(kernel="knn", n_neighbors=7)),
    "label spreading of scikit-learn": of_all_rows(LabelSpreading(kernel="knn", n_neighbors=7)),
    "self-training of logistic regression": of_all_rows(SelfTrainingClassifier(LogisticRegression(max_iter=2000))),
}
TUNED = {
    RIVAL: KernelShrinkageLDA(0.3, 0.1),
    "SVC, tuned": KernelSVC(1.0, 0.3),
}  # and as they are where nothing can be tuned


def tuned(name: str, part: Part, z: np.ndarray, seed: int) -> float:
    """The accuracy of a method that learns from the labelled rows alone. Nothing can be tuned where a class has one label."""
    if np.bincount(z[z >= 0]).min() > 1:
        model, X, T = learnt(FEW[name], part, z, list(halves(z, seed)), by_known)
    else:
        (X, T), model = part.prepared, TUNED[name].fit(part.prepared[0], z)
    return 100 * by_known(model, X, z, T, part.y_new)


def measure(names: tuple[str, ...], found: dict[str, dict[str, float]], rows: int, unequal: bool) -> Iterator[str]:
    for name in names:
        for seed in range(SPLITS):
            whole = None
            for draw in DRAWS:
                row = found.setdefault(f"{name}|{draw}|{seed}", {})
                if missing := [method for method in (*TUNED, *METHODS) if method not in row]:
                    whole = whole or split(name, 10 * ROWS if unequal else rows, NEW_ROWS, seed)
                    part = rare_and_rest(whole, seed) if unequal else whole
                    z, (X, T) = some_known(part.y, draw, seed), part.prepared
                    for method in missing:
                        if method in TUNED:
                            row[method] = tuned(method, part, z, seed)
                        else:
                            row[method] = 100 * float(np.mean(METHODS[method](Task(X, z, part.y, T)) == part.y_new))
                    yield f"{name}, {draw}, split {seed}"


def gaps(
    found: dict[str, dict[str, float]], names: tuple[str, ...], method: str, draws: tuple[str, ...]
) -> dict[str, float]:
    """Of each set: how many points a method is above the rival, as a mean over its splits and over these ways to draw."""
    return {
        n: float(np.mean([r[method] - r[RIVAL] for r in own]))
        for n in names
        if (own := [r for d in draws for k, r in found.items() if k.startswith(f"{n}|{d}|") and method in r])
    }


def cells(found: dict[str, dict[str, float]], names: tuple[str, ...], method: str) -> list[str]:
    """Of each way to draw: mean over sets, standard error, wins, ties within a point and losses; then the worst sets."""
    cells = []
    for draw in DRAWS:
        d = np.array(list(gaps(found, names, method, (draw,)).values()))
        counts = f"{(d > 1).sum()}/{(abs(d) <= 1).sum()}/{(d < -1).sum()}"
        cells.append(f"{d.mean():+.1f} ± {d.std(ddof=1) / np.sqrt(d.size):.1f} ({counts})" if d.size > 1 else "")
    for draws in (DRAWS[:2], DRAWS[2:3]):
        by_set = gaps(found, names, method, draws)
        worst = min(by_set, key=lambda name: by_set[name], default="")
        cells.append(f"{by_set[worst]:+.0f} ({worst})" if worst else "")
    return cells


def table(found: dict[str, dict[str, float]], names: tuple[str, ...]) -> str:
    head = ["", *DRAWS, "worst, 5 and 10 %", "worst, 5 per class"]
    rows = ([method, *cells(found, names, method)] for method in (*list(TUNED)[1:], *METHODS))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def clock() -> str:
    """The seconds of a fit to 20,000 images of MNIST, of which 5 % have a label, and of its parts; and what is right."""
    bunch = dataset("mnist")
    rows = np.random.RandomState(0).permutation(len(bunch.target))[:20_000]
    X, y = bunch.data[rows] / 255, bunch.target[rows]
    z = some_known(y, "5 %", 0)
    known, graph, ticks = z >= 0, Propagated(FIRST), [perf_counter()]
    beside = graph._beside(as_data(X, z), z)
    ticks.append(perf_counter())
    graph._weights(beside, z)
    ticks.append(perf_counter())
    model = LPP("auto", graph=graph, standardize=False).fit(X, z)
    ticks.append(perf_counter())
    LPP(9, graph=10, standardize=False).fit(X)
    first, search, whole, plain = np.diff([*ticks, perf_counter()])
    rival = KernelShrinkageLDA(0.3, 0.1).fit(X, z)
    guesses = {
        "labels spread": model.graph_.labels_,
        "rival": by_nearest(rival.transform(X[known]), z[known], rival.transform(X)),
    }
    right = ", ".join(f"{name} {100 * np.mean((labels == y)[~known]):.1f} %" for name, labels in guesses.items())
    parts = f"of which first map {first:.1f} s and search {search:.1f} s; LPP(graph=10) without labels {plain:.1f} s"
    return f"{whole:.1f} s, {parts}; of the other rows, right: {right}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--unequal", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent.parent / "out", help="folder of the results"
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    known_to_the_guide()
    if asked.time:
        sys.exit(print(clock()))
    kind = "-unequal" if asked.unequal else f"-{asked.rows}" if asked.rows != ROWS else ""
    results = asked.output / f"few{kind}.json"
    measured = json.loads(results.read_text()) if results.exists() else {}
    results.parent.mkdir(exist_ok=True)
    if not asked.table:
        for done in measure(tuple(asked.sets) or (*CHOSE, *FEW_SETS, *NEW), measured, asked.rows, asked.unequal):
            print(done, file=sys.stderr, flush=True)
            results.write_text(json.dumps(measured))
    if asked.json:
        sys.exit(print(json.dumps({key: {m: round(v, 2) for m, v in row.items()} for key, row in measured.items()})))
    groups = {
        "that chose the default": CHOSE,
        "of the guide, which chose it as well": FEW_SETS,
        "that chose nothing": NEW,
    }
    for title, group in groups.items():
        print(f"\nSets {title}:\n\n{table(measured, tuple(group))}")
