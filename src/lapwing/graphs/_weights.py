"""Edge weights of neighbour graphs, and how a directed graph becomes symmetric."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._validation import check_choice, check_positive
from ..neighbors import Edges, distances_among, require_features
from ..rows import Rows

T_RULES = ("auto", "half-median")
FAINT = 36.0  # -log of the least weight that a row's heaviest edge has: beside a weight of 1 it is rounding
VANISHED = 745.0  # -log of what is 0 in floating point
OUTLIERS = 0.01  # how many rows may be that far away from all others; where more are, the width is wrong


class Heat(NamedTuple):
    """The width t of ``exp(-d^2 / t)``, and the metric of d."""

    t: Any = "auto"
    metric: Any = "euclidean"
    metric_params: dict | None = None
    queries: int | None = None  # how many rows the edges start from; None for all rows
    exact: bool = False  # whether the distances of edges are those of the metric, and not those of another search
    reach: np.ndarray | None = None  # the distance of each row from its k-th neighbour, where that is known

    @property
    def gives_cosines(self) -> bool:
        return self.exact and isinstance(self.metric, str) and self.metric == "cosine" and not self.metric_params

    def width(self, squared: np.ndarray, data: Rows, rows: np.ndarray | None = None) -> float:
        """The width t, given the squared distances of edges.

        ``"auto"`` is the mean squared distance over the directed edges, and 1 where that is 0 up to rounding.

        ``"half-median"`` is t = 2 sigma^2 with sigma half the median distance among 1,000 rows, the rule of Kokiopoulou and
        Saad (2009, section 6.1). Where a sample of rows was searched for, these are rows of the sample.
        """
        if not isinstance(self.t, str):
            return check_positive("t", self.t)
        if check_choice("t", self.t, T_RULES) == "half-median":
            sampled = self.queries is not None and self.queries < data.n_samples
            rows = np.unique(rows) if sampled and rows is not None else np.arange(data.n)
            rows = rows[np.sort(np.random.RandomState(0).permutation(rows.size)[:1000])]
            squared = np.median(distances_among(data, rows, self.metric, self.metric_params)) ** 2 / 2
        mean = float(np.mean(squared)) if np.size(squared) else 0.0
        # For equal rows, searches by products return about eps times the squared norms and not 0.
        named = self.metric if isinstance(self.metric, str) else ""
        size = float(np.mean(data.squared_norms)) if named in ("euclidean", "l2") else float(named == "cosine")
        return mean if mean > 100 * np.finfo(np.float64).eps * size else 1.0


def _heat(data: Rows, edges: Edges, heat: Heat) -> np.ndarray:
    squared = edges.distances.astype(np.float64) ** 2
    return heat_weights(squared / heat.width(squared, data, edges.rows), edges.rows, data.n)


def heat_weights(exponents: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """``exp(-exponents)`` of directed edges. A row far away from all others keeps faint edges, in proportion to each other.

    Such a row hardly counts, and it is still placed beside its neighbours. Free maps divide by the roots of degrees, so that
    rounding would decide where a row of degree 1e-40 is placed.
    """
    nearest = np.full(n, np.inf)
    np.minimum.at(nearest, rows, exponents)
    linked = np.isfinite(nearest)
    if np.sum(linked & (nearest > VANISHED)) > OUTLIERS * linked.sum():
        return np.exp(-exponents)  # the width is wrong, and the graph says so
    return np.exp(np.maximum(nearest - FAINT, 0.0)[rows] - exponents)


def local_squares(edges: Edges, heat: Heat) -> np.ndarray:
    """The squared distances, divided by the distances of both rows from their k-th neighbours."""
    assert heat.reach is not None
    return edges.distances.astype(np.float64) ** 2 / (heat.reach[edges.rows] * heat.reach[edges.cols])


def sees_reach(weights: Any) -> bool:
    """Whether weights depend on the k-th distances of both rows, as ``"self-tuning"`` and functions of three arguments do."""
    if not callable(weights):
        return isinstance(weights, str) and weights == "self-tuning"
    try:
        parameters = signature(weights).parameters.values()
    except (TypeError, ValueError):  # a compiled function has no signature
        return False
    places = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in places and p.default is Parameter.empty for p in parameters) == 3


def unknown_reach(weights: Any) -> str:
    """What to say where weights depend on the k-th distances, and these are not known."""
    return (
        f"weights={weights!r} needs the distance of both rows from their k-th neighbours, which KNN alone knows, and only "
        'where it searches for those of all rows; use KNN without queries=, or weights="heat"'
    )


def reach_of(edges: Edges, n: int) -> np.ndarray:
    """The longest edge from each row. Where it has length 0, or there is none, the mean of the others takes its place."""
    reach = np.zeros(n)
    np.maximum.at(reach, edges.rows, edges.distances.astype(np.float64))
    far = reach > 0
    return np.where(far, reach, reach[far].mean() if far.any() else 1.0)


def _dot(data: Rows, edges: Edges, heat: Heat) -> np.ndarray:
    require_features(heat.metric, 'weights="dot"')
    if heat.gives_cosines:
        return _known_cosines(edges) * data.norms[edges.rows] * data.norms[edges.cols]
    return data.dots(edges.rows, edges.cols)


def _cosine(data: Rows, edges: Edges, heat: Heat) -> np.ndarray:
    require_features(heat.metric, 'weights="cosine"')
    data.require_nonzero_rows('weights="cosine"')
    if heat.gives_cosines:
        return _known_cosines(edges)
    return data.cosines(edges.rows, edges.cols)


def _known_cosines(edges: Edges) -> np.ndarray:
    """Cosines from distances, which are 1 minus the cosines. A cosine that differs from 0 only by rounding is 0."""
    cosines = 1 - edges.distances.astype(np.float64)
    return np.where(np.abs(cosines) <= 1e-13, 0.0, cosines)


WEIGHTS: dict[str, Callable[[Rows, Edges, Heat], np.ndarray]] = {
    "heat": _heat,
    "binary": lambda data, edges, heat: np.ones(edges.rows.size),
    "cosine": _cosine,
    "dot": _dot,
    "self-tuning": lambda data, edges, heat: np.exp(-local_squares(edges, heat)),
}


def edge_weights(weights: Any, data: Rows, edges: Edges, heat: Heat) -> np.ndarray:
    """The weights of directed edges, by name or by a function of distances.

    A function of three arguments is also given the k-th distances of both rows.
    """
    reach = []
    if sees_reach(weights):
        if heat.reach is None:
            raise ValueError(unknown_reach(weights))
        reach = [heat.reach[edges.rows], heat.reach[edges.cols]]
    if callable(weights):
        values = np.asarray(weights(edges.distances, *reach), dtype=np.float64)
        if values.shape != edges.distances.shape or not np.isfinite(values).all():
            raise ValueError(
                f"weights={weights!r} must return one finite weight per distance; it returned shape {values.shape} for "
                f"{edges.distances.shape}"
            )
    else:
        values = WEIGHTS[check_choice("weights", weights, WEIGHTS)](data, edges, heat)
    if values.size and values.min() < 0:
        refuse_negative(weights, (values < 0).mean(), 'weights="heat" or "binary"')
    return values


def refuse_negative(weights: Any, share: float, instead: str) -> None:
    """Raise where a share of the weights is negative, since the Laplacian would not be positive semi-definite."""
    if share > 0:
        raise ValueError(
            f"weights={weights!r} gives negative weights on {share:.1%} of the edges; a graph Laplacian needs weights >= 0: "
            f"use {instead}, or data without negative entries"
        )


def require_positive_degrees(weights: Any, rows: np.ndarray, W: sparse.csr_array) -> None:
    """Raise where a row has edges, but all their weights are 0."""
    linked = np.zeros(W.shape[0], dtype=bool)
    linked[rows] = True
    dead = linked & (np.asarray(W.sum(axis=1)).ravel() <= 0)
    if dead.any():
        raise ValueError(
            f"weights={weights!r} gives weight 0 to all edges of {int(dead.sum())} samples (the first is row "
            f"{np.flatnonzero(dead)[0]}), {dead.mean():.1%} of all: use other weights, a larger t or more neighbours"
        )


SYMMETRY: dict[str, Callable[[sparse.csr_array], sparse.csr_array]] = {
    "or": lambda A: A.maximum(A.T),
    "and": lambda A: A.minimum(A.T),
    "mean": lambda A: (A + A.T) / 2,
}


def symmetric(edges: Edges, values: np.ndarray, n: int, symmetry: str = "or") -> sparse.csr_array:
    """The weighted directed edges as a symmetric matrix."""
    index = np.int32 if n < 2**31 else np.int64  # the types of indices that scikit-learn takes
    A = sparse.csr_array((values, (edges.rows.astype(index), edges.cols.astype(index))), shape=(n, n))
    return sparse.csr_array(SYMMETRY[symmetry](A))
