"""How certain the result of a sampled graph is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import subspace_angles
from scipy.sparse.linalg import ArpackError

from ..rows import Rows

LEAST = 0.01  # each half of the links must see at least this share of the squared length of a direction
UNKNOWN = {"in_sample": np.nan, "held_out": np.nan, "excess": np.inf, "angle": np.pi / 2}


def halved(data: Rows, fit: Callable[[Rows], tuple[np.ndarray, tuple[Any, Any]]]) -> dict[str, float]:
    r"""How well the directions that one half of the sampled links finds do on the other half.

    ``fit`` gives the directions that one half finds and the matrices of its problem. Let q rows be searched for. On all
    links, the directions found are worse than the best ones by about c / q. On their own links they look better than they are
    by the same amount. On halves of the sample both are twice as large. So a quarter of the gap between ``held_out`` and
    ``in_sample`` estimates by how much the whole sample misses the best objective.
    """
    fits = on_halves(data, fit)
    if fits is None:
        return UNKNOWN
    (V1, pencil1), (V2, pencil2) = fits
    if not (_sees(V1, pencil2[1]) and _sees(V2, pencil1[1])):
        return UNKNOWN
    in_sample = (objective(V1, *pencil1) + objective(V2, *pencil2)) / 2
    held_out = (objective(V1, *pencil2) + objective(V2, *pencil1)) / 2
    scale = abs(in_sample + held_out) / 2 or 1.0
    return {
        "in_sample": in_sample,
        "held_out": held_out,
        "excess": max(held_out - in_sample, 0.0) / 4 / scale,
        "angle": float(subspace_angles(V1, V2).max()),
    }


def on_halves(data: Rows, fit: Callable[[Rows], Any]) -> list[Any] | None:
    """What each half of the sampled links gives; None where one half is too small to be fitted, although the whole is not."""
    try:
        with warnings.catch_warnings(action="ignore"):  # the fit to the whole sample has given these warnings
            return [fit(half) for half in data.halves()]
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, ArpackError):
        return None


def _sees(V: np.ndarray, B: Any | None) -> bool:
    """Whether the constraint of one half sees the directions V of the other half, which should have unit length under it."""
    return B is None or np.linalg.eigvalsh(V.T @ (B @ V))[0] > LEAST


def objective(V: np.ndarray, A: Any, B: Any | None) -> float:
    r""":math:`\operatorname{tr}((V^\top B V)^{-1} V^\top A V)`, which is the same for every basis V of the subspace."""
    if B is None:
        V = np.linalg.qr(V)[0]
        return float(np.trace(V.T @ (A @ V)))
    return float(np.trace(np.linalg.solve(V.T @ (B @ V), V.T @ (A @ V))))
