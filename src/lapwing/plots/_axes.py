"""Where to draw, and in which colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._extras import require
from ..inspection import steps

# The colour-blind can tell these colours apart (Okabe and Ito, and two of Tol's). Where a colour repeats, the marker differs.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#882255", "#BBCC33")
MARKERS = "osD^vPX*"


def style(number: int) -> dict[str, Any]:
    """The colour and the marker of a class or a line. There are 80 different pairs."""
    return {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number // len(COLORS) % len(MARKERS)]}


def new_figure(width: float, height: float) -> Any:
    return require("matplotlib.pyplot", "plots").figure(figsize=(width, height), layout="constrained")


def axes_or_new(ax: Any, width: float = 6.0, height: float = 4.2, **options: Any) -> Any:
    return new_figure(width, height).add_subplot(**options) if ax is None else ax


def last_step(estimator: Any) -> Any:
    return (steps(estimator) or [estimator])[-1]


def explained(estimator: Any) -> tuple[str, np.ndarray] | None:
    """How much each dimension matters, as an estimator reports it, and what that number is called.

    A pipeline is judged by its last step.
    """
    last = last_step(estimator)
    for name in ("eigenvalues_", "explained_variance_ratio_"):
        if hasattr(last, name):
            return name, np.ravel(getattr(last, name))
    return None
