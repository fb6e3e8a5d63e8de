"""Is what `compare` recommends as good on fresh rows as the best method of its table?

    python benchmarks/recommended.py           about ten minutes of one core; tables of LAPWING_DATA/few where it is set
    python benchmarks/recommended.py vowel     some tables

Half of at most 1,000 rows is compared, three times with other halves. Then the recommended setting and the best of the table are
fitted to that half, each with the judge, and score the other half. The difference stands beside its standard error over the fresh
rows, drawn again 200 times.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lapwing.comparison import compare

FEW = ("authorship", "ecoli", "Japanese_vowels", "pendigits", "satimage", "vowel")
SPLITS, ROWS, DRAWS = 3, 1_000, 200
METHODS = [
    "PCA",
    "LDA",
    "shrinkage LDA",
    "LPP",
    "LPDP",
    "MMC",
    "LPP + classes",
    "OLPP + repulsion",
    "KernelLPP + classes",
]


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for load in (load_wine, load_breast_cancer, load_digits):
        yield load.__name__.removeprefix("load_"), *load(return_X_y=True)
    yield (
        "7 % of one class",
        *make_classification(1000, 20, n_informative=6, weights=[0.93], flip_y=0.02, random_state=0),
    )
    for name in FEW:
        path = Path(os.environ.get("LAPWING_DATA", "nowhere")) / "few" / f"{name}.npz"
        if path.exists():
            stored = np.load(path)
            yield name, stored["X"].astype(float), stored["y"]


def score(model: Any, X: np.ndarray, y: np.ndarray, rows: np.ndarray, criterion: str) -> float:
    if criterion == "roc_auc":
        return roc_auc_score(y[rows], model.predict_proba(X[rows])[:, 1])
    measure = balanced_accuracy_score if criterion == "balanced_accuracy" else accuracy_score
    return measure(y[rows], model.predict(X[rows]))


def measured(name: str, X: np.ndarray, y: np.ndarray, split: int) -> float:
    """The difference of the recommended to the best on fresh rows, in standard errors; printed in points."""
    X, _, y, _ = train_test_split(
        X, y, train_size=min(ROWS, len(y) - len(np.unique(y))), stratify=y, random_state=split
    )
    X, fresh, y, true = train_test_split(X, y, test_size=0.5, stratify=y, random_state=split)
    with warnings.catch_warnings(action="ignore"):
        found = compare(X, y, methods=METHODS, prepare=StandardScaler(), random_state=split)
        settings = found.choice, (found.best["method"], found.best["best_dimension"])
        models = [
            make_pipeline(StandardScaler(), found.estimator(*own), clone(found.judge)).fit(X, y) for own in settings
        ]
    rng, all_rows = np.random.default_rng(0), np.arange(len(true))
    ours, best = (score(model, fresh, true, all_rows, found.criterion) for model in models)
    draws = []
    while len(draws) < DRAWS:
        rows = rng.integers(0, len(true), len(true))
        if len(np.unique(true[rows])) == len(np.unique(true)):
            draws.append(np.subtract(*(score(model, fresh, true, rows, found.criterion) for model in models)))
    error = float(np.std(draws))
    (method, d), (other, most) = settings
    print(f"{name:18} {method} ({d}) {100 * ours:.1f}, best {other} ({most}) {100 * best:.1f}", end=" ")
    print(f"{100 * (ours - best):+.1f} ± {100 * error:.1f} {found.criterion}", flush=True)
    return (ours - best) / error if error else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    names = parser.parse_args().names
    found = [measured(name, X, y, s) for name, X, y in tables() if not names or name in names for s in range(SPLITS)]
    within = sum(difference >= -1 for difference in found)
    print(f"{within} of {len(found)} recommendations are within a standard error of the best, or better")


if __name__ == "__main__":
    main()
