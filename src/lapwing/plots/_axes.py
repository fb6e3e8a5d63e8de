"""Where to draw, in which colours, and the bars of features that two displays share."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np

from .._extras import require
from .._validation import check_count

# The colour-blind can tell these colours apart (Okabe and Ito, and two of Tol's). Where a colour repeats, the marker differs.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#882255", "#BBCC33")
MARKERS = "osD^vPX*"


def style(number: int) -> dict[str, Any]:
    """The colour and the marker of a class or a line. There are 80 different pairs."""
    return {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number // len(COLORS) % len(MARKERS)]}


def new_figure(width: float = 6.0, height: float = 4.2) -> Any:
    return require("matplotlib.pyplot", "plots").figure(figsize=(width, height), layout="constrained")


def grid_of_axes(count: int, n_columns: int, size: tuple[float, float], figure: Any, above: float = 0.0) -> Any:
    """A figure and so many axes in it, ``n_columns`` side by side; a new figure has room for axes of this size."""
    columns = min(check_count("n_columns", n_columns), count)
    rows = ceil(count / columns)
    figure = new_figure(size[0] * columns, size[1] * rows + above) if figure is None else figure
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[count:]:
        ax.remove()
    return figure, list(axes[:count])


def bars(ax: Any, weights: np.ndarray, features: Sequence[str], title: str) -> None:
    """Weights of features, the first on top, in two colours for the two signs."""
    places = np.arange(len(weights))
    ax.barh(places, weights, color=[COLORS[int(weight < 0)] for weight in weights])
    ax.set_yticks(places, labels=features, fontsize="x-small")
    ax.invert_yaxis()
    ax.tick_params(axis="x", labelsize="x-small")
    ax.axvline(0, color="0.5", linewidth=0.8)
    ax.set_title(title, fontsize="small")
