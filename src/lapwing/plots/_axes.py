"""Where to draw, and in which colours."""

from __future__ import annotations

from typing import Any

from .._extras import require

# The colour-blind can tell these colours apart (Okabe and Ito, and two of Tol's). Where a colour repeats, the marker differs.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#882255", "#BBCC33")
MARKERS = "osD^vPX*"


def style(number: int) -> dict[str, Any]:
    """The colour and the marker of a class or a line. There are 80 different pairs."""
    return {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number // len(COLORS) % len(MARKERS)]}


def new_figure(width: float = 6.0, height: float = 4.2) -> Any:
    return require("matplotlib.pyplot", "plots").figure(figsize=(width, height), layout="constrained")
