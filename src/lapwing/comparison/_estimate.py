"""How long a comparison will take, from fits to a few rows."""

from __future__ import annotations

import warnings
from math import log
from time import perf_counter
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ..operators import Array
from ._fits import SharedFits
from ._plan import Plan
from ._scores import Judge

SIZES = 200, 400  # rows that the methods are fitted to; how much longer the second takes tells how they grow
STEEPEST = 3.0  # power of the number of rows


class Times(NamedTuple):
    """Seconds of one fit and of one judgement."""

    fit: float
    judge: float


def estimated_seconds(
    X: Array,
    labels: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
    plans: dict[str, Plan],
    n_splits: int,
    n_jobs: int,
) -> float:
    """Of all folds and of the fits to all rows, within a factor of about two or three."""
    rng = np.random.RandomState(0)
    order, held_out = rng.permutation(train), rng.permutation(test)
    total = 0.0
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pilots = [_pilot(X, labels, order[:size], held_out[: size // 2], plans) for size in SIZES if size <= len(train)]
        for name, plan in plans.items():
            times = [pilot[name] for pilot in pilots if name in pilot]
            if not times:
                continue  # a method that cannot be fitted takes no time
            fit = _grown([time.fit for time in times], len(train))
            judge = _grown([time.judge for time in times], len(train))
            n_fits = min(len(plan.groups(plan.dimensions)), len(plan.dimensions))
            total += n_splits * (n_fits * fit + len(plan.dimensions) * judge) + 2 * fit
    return total / max(1, n_jobs)


def _pilot(
    X: Array, labels: np.ndarray | None, train: np.ndarray, test: np.ndarray, plans: dict[str, Plan]
) -> dict[str, Times]:
    y_train, y_test = (None, None) if labels is None else (labels[train], labels[test])
    judge = Judge(X[test], y_train, y_test, 1, 0)
    fits, found = SharedFits(X[train], y_train), {}
    for name, plan in plans.items():
        d = max((d for d in plan.dimensions if d < min(len(train) // 4, X.shape[1] + 1)), default=plan.dimensions[0])
        start = perf_counter()
        try:
            model = plan.at(d) if d not in plan.directions else _within(plan, d, len(train))
            fitted = fits.fit(model)
            Z_train, Z_test = np.asarray(fitted.transform(fits.X)), np.asarray(fitted.transform(X[test]))
            middle = perf_counter()
            judge(Z_train, Z_test)
        except (
            Exception
        ):  # of any kind: few rows may lack a class, or a rank; the comparison itself will say what is wrong
            continue
        found[name] = Times(middle - start, perf_counter() - middle)
    return found


def _within(plan: Plan, d: int, n: int) -> object:
    """The estimator of d dimensions, with no more principal directions than so few rows have."""
    model, directions = plan.at(d), plan.directions[d]
    return model if directions is None or directions < n - 1 else model.set_params(pca=max(d, n // 2))


def _grown(seconds: list[float], n: int) -> float:
    """The time at n rows, by the power that the two sizes show, between 1 and 3."""
    if len(seconds) < 2 or n <= SIZES[-1]:
        return seconds[-1]
    power = log(max(seconds[1], 1e-6) / max(seconds[0], 1e-6)) / log(SIZES[1] / SIZES[0])
    return seconds[1] * (n / SIZES[1]) ** min(max(power, 1.0), STEEPEST)
