"""Where a ridge puts directions of little variance: the eigenvalue that it gives them, against 1-NN on held-out rows.

    LAPWING_DATA=... python benchmarks/investigations/shift.py

Beside the ridge on the constraint, the graph's mean eigenvalue times it stands on the objective. Directions along which X does
not vary then have this eigenvalue, 1 - classes / rows for a graph of classes. Discriminants that hardly tell classes apart have
eigenvalues near 1 as well. For each set: the eigenvalue, the accuracy of four folds, three times, and what the last two
directions hold of the variance. It takes about three minutes of one core.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from lapwing import LPP
from lapwing.reducers import projecting

SETS = ("satimage", "pendigits", "vowel", "ecoli", "Japanese_vowels", "semeion", "authorship", "letter")
SHIFTS = (None, 1.0, 1.1, 2.0)
solve = projecting.solve


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Up to 3,000 rows of a set of ``few``."""
    with np.load(Path(os.environ["LAPWING_DATA"]) / "few" / f"{name}.npz", allow_pickle=True) as parts:
        X, y = parts["X"], parts["y"]
    return X.reshape(len(X), -1)[:3000].astype(float), y[:3000]


def main() -> None:
    warnings.simplefilter("ignore")
    sets = {name: rows(name) for name in SETS} | {"digits": load_digits(return_X_y=True)}
    folds = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=0)
    for name, (X, y) in (sets | {"wine": load_wine(return_X_y=True)}).items():
        for shift in SHIFTS:

            def shifted(*matrices: Any, to: float | None = shift, **options: Any) -> Any:
                return solve(*matrices, **options | ({"shift": to} if to and options["shift"] else {}))

            projecting.solve, scores = shifted, []  # type: ignore[assignment]
            for train, test in folds.split(X, y):
                model = LPP("auto", graph="supervised").fit(X[train], y[train])
                near = KNeighborsClassifier(1).fit(model.transform(X[train]), y[train])
                scores.append(100 * near.score(model.transform(X[test]), y[test]))
            held = LPP("auto", graph="supervised").fit(X, y).explained_ratio_[-2:]
            print(f"{name:16} {shift or 'default':>8} {np.mean(scores):6.2f} {np.round(held, 3)}", flush=True)


if __name__ == "__main__":
    main()
