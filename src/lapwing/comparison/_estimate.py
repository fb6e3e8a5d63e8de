"""How long a comparison will take, estimated from fits to a few rows."""

from __future__ import annotations

import warnings
from math import log
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..operators import Array
from ..selection import is_automatic, reducer_of
from ._fits import SharedFits
from ._methods import is_curved
from ._plan import Plan
from ._scores import Judge

# The methods are fitted to between LEAST and MOST rows, and to twice as many, to see how their time grows.
LEAST, MOST = 200, 600


def estimated_seconds(
    X: Array,
    labels: np.ndarray | None,
    train: np.ndarray,
    test: np.ndarray,
    plans: dict[str, Plan],
    n_splits: int,
    n_jobs: int,
) -> float:
    """The seconds of all folds and of the fits to all rows, right within a factor of about two or three."""
    rng = np.random.RandomState(0)
    order = rng.permutation(train)
    total = 0.0
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        first = min(max(len(train) // 10, LEAST), MOST)
        sizes = [size for size in (first, 2 * first) if size <= len(train)]
        pilots = [_pilot(X, labels, order[:size], plans) for size in sizes]
        judge = _judging(X, labels, train, test, [d for plan in plans.values() for d in plan.dimensions])
        for name, plan in plans.items():
            times = [pilot[name] for pilot in pilots if name in pilot]
            if not times:
                continue  # a method that cannot be fitted takes no time
            fit = _grown(times, len(train) / sizes[-1], 3.0 if is_curved(plan.estimator) else 2.0)
            if (landmarks := getattr(plan.estimator, "landmarks", None)) is not None:
                fit = _with_landmarks(X, labels, order[: 2 * landmarks], {name: plan}) * len(train) / (2 * landmarks)
            total += n_splits * (_n_fits(plan) * fit + len(plan.dimensions) * judge) + 2 * fit
    return total / max(1, n_jobs)


def _pilot(X: Array, labels: np.ndarray | None, train: np.ndarray, plans: dict[str, Plan]) -> dict[str, float]:
    """The seconds of one fit of each method to a few rows."""
    fits, found = SharedFits(X[train], None if labels is None else labels[train]), {}
    for name, plan in plans.items():
        d = max((d for d in plan.dimensions if d < min(len(train) // 4, X.shape[1] + 1)), default=plan.dimensions[0])
        start = perf_counter()
        try:
            fits.fit(_within(plan, d, len(train))).transform(fits.X)
        except Exception:  # few rows may lack a class or a rank, and the comparison itself will say what is wrong
            continue
        found[name] = perf_counter() - start
    return found


def _judging(X: Array, labels: np.ndarray | None, train: np.ndarray, test: np.ndarray, dimensions: list[int]) -> float:
    """The seconds of judging one embedding of as many rows as there will be."""
    rng = np.random.RandomState(0)
    y_train, y_test = (None, None) if labels is None else (labels[train], labels[test])
    judge = Judge(X[test], y_train, y_test, 1, 0)
    start = perf_counter()
    for d in (min(dimensions), max(dimensions)):
        judge(rng.standard_normal((len(train), d)), rng.standard_normal((len(test), d)))
    return (perf_counter() - start) / 2


def _n_fits(plan: Plan) -> int:
    """How many fits are needed, at most, to score all dimensions of a fold."""
    if is_automatic(reducer_of(plan.at(plan.dimensions[0]))):
        return len(plan.dimensions)
    return len(plan.groups(plan.dimensions))


def _with_landmarks(X: Array, labels: np.ndarray | None, train: np.ndarray, plan: dict[str, Plan]) -> float:
    """The seconds of one fit with all landmarks.

    The number of landmarks decides the time, so that fewer would say little. The rows add to it.
    """
    return next(iter(_pilot(X, labels, train, plan).values()), 0.0)


def _within(plan: Plan, d: int, n: int) -> Any:
    """The estimator of d dimensions, with no more principal directions and landmarks than so few rows allow."""
    model, directions = plan.at(d), plan.directions.get(d)
    if isinstance(directions, int) and directions >= n - 1:
        model.set_params(pca=max(d, n // 2))
    landmarks = getattr(model, "landmarks", None)
    return model if landmarks is None or landmarks <= n else model.set_params(landmarks=n)


def _grown(seconds: list[float], growth: float, steepest: float) -> float:
    """The time for ``growth`` times the rows, by the power that doubling the rows shows, which is at least 1."""
    if len(seconds) < 2 or growth <= 1:
        return seconds[-1]
    power = log(max(seconds[1], 1e-6) / max(seconds[0], 1e-6)) / log(2)
    return seconds[1] * growth ** min(max(power, 1.0), steepest)
