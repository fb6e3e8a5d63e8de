"""The dimension chosen without the labels on which it is reported, where repetitions are draws of classes."""

from __future__ import annotations

import numpy as np

from ._experiment import Summary


def chosen_on_other_draws(summary: Summary) -> dict[tuple[str, str, str], list[float]]:
    """Of each curve over the dimensions: every draw at the dimension that is best in the mean of all other draws.

    Where there is one draw alone, there is no other to choose on.
    """
    found = {}
    for quantity, condition, method in summary.keys:
        runs = summary.runs(quantity, condition, method)
        if runs.ndim == 2 and len(runs) > 1:
            found[f"{quantity}, honest", condition, method] = _left_out(runs, summary.experiment.lower_is_better)
    return found


def _left_out(runs: np.ndarray, lower_is_better: bool) -> list[float]:
    others = runs.sum(axis=0) - runs
    worst = np.inf if lower_is_better else -np.inf
    others = np.where(np.isnan(others), worst, others)
    at = np.argmin(others, axis=1) if lower_is_better else np.argmax(others, axis=1)
    return runs[np.arange(len(runs)), at].tolist()
