"""Checks for those who write a kind of rows of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .data import Data
from .neighbors import Request
from .operators import Structured, laplacian

# Shapes of rows that a kind must know: tall, wide, square, of deficient rank with a constant column, and far from the origin.
SHAPES: dict[str, Callable[[np.random.RandomState], np.ndarray]] = {
    "tall": lambda rng: rng.standard_normal((40, 6)) + 2,
    "wide": lambda rng: rng.standard_normal((12, 30)),
    "square": lambda rng: rng.standard_normal((15, 15)),
    "deficient": lambda rng: np.column_stack(
        [rng.standard_normal((30, 3)) @ rng.standard_normal((3, 7)), np.full(30, 5.0)]
    ),
    "far": lambda rng: rng.standard_normal((25, 5)) + 1e6,
}


def check_data(make: Callable[[np.ndarray, np.ndarray], Any], *, rtol: float = 1e-9, neighbors: bool = True) -> None:
    """Compare every verb of a kind of rows with those of :class:`~lapwing.data.Data`, on five shapes.

    Parameters
    ----------
    make : callable
        From X, an array of shape (n, d), and labels y to the kind of rows.
    rtol : float, default=1e-9
        How far numbers may differ, as a share of the largest.
    neighbors : bool, default=True
        Whether the kind holds rows, so that neighbours can be searched for.

    Raises
    ------
    AssertionError
        It names the shape and the verb.

    Examples
    --------
    >>> from scipy import sparse
    >>> from lapwing.data import SparseData
    >>> from lapwing.testing import check_data
    >>> check_data(lambda X, y: SparseData(sparse.csr_array(X), y))
    """
    for name, shape in SHAPES.items():
        rng = np.random.RandomState(0)
        X = shape(rng)
        y = np.where(np.arange(len(X)) % 5 == 4, -1, np.arange(len(X)) % 3)
        expected, found = Data(X, y), make(X, y)
        for verb, apply in _verbs(rng, expected).items():
            _require_equal(f"{verb} of {name} rows", apply(found), apply(expected), rtol)
        for request in (Request(3), Request(3, "cosine"), Request(2, among="same_class")) if neighbors else ():
            for one, other in zip(found.nearest(request), expected.nearest(request), strict=True):
                _require_equal(f"nearest of {name} rows, {request}", one, other, rtol)


def _verbs(rng: np.random.RandomState, data: Data) -> dict[str, Callable[[Any], Any]]:
    """What is asked of rows, by name."""
    n, d = data.X.shape
    degrees, N, C, scale = rng.rand(n), rng.standard_normal((d, 2)), rng.standard_normal((n, 2)), 1 + rng.rand(d)
    W = sparse.csr_array(np.triu(rng.rand(n, n) > 0.7, 1).astype(float))
    L, D = laplacian(W + W.T)
    thin = Structured(n, factors=((rng.rand(n, 2), np.array([1.0, -2.0])),), diag=degrees)
    about, one, other = data.mean() + 0.1, np.arange(n), np.arange(n)[::-1].copy()
    return {
        "mean": lambda data: data.mean(),
        "mean of degrees": lambda data: data.mean(degrees),
        "deviations": lambda data: data.deviations(),
        "divided": lambda data: data.divided(scale).mean(),
        "spread": lambda data: data.spread(about, degrees),
        "gram": lambda data: data.gram(about),
        "weighted_sums": lambda data: data.weighted_sums(C, about),
        "in_coordinates": lambda data: data.in_coordinates(N, about).gram(np.zeros(2)),
        "form of a Laplacian": lambda data: data.form(L, about),
        "form of degrees": lambda data: data.form(D, about),
        "form of factors": lambda data: data.form(thin, about),
        "form_diagonal": lambda data: data.form_diagonal(L + thin, about),
        "project": lambda data: data.project(about, N.T),
        "explained": lambda data: data.explained(N.T),
        "classes": lambda data: data.classes,
        "class_sizes": lambda data: data.class_sizes,
        "squares": lambda data: data.squares,
        "inner_products": lambda data: data.inner_products(one, other),
        "paired_distances": lambda data: data.paired_distances(one, other),
        "rows_at": lambda data: data.rows_at(np.array([[0, 2], [1, 1]])),
        "unit": lambda data: data.unit.squares,
        "stacked": lambda data: data.stacked(data.X[:3]).squares,
    }


def _require_equal(what: str, found: Any, expected: Any, rtol: float) -> None:
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    if found.shape != expected.shape:
        raise AssertionError(f"{what} has the shape {found.shape}, and {expected.shape} is right")
    apart, size = np.abs(found - expected).max(initial=0.0), np.abs(expected).max(initial=0.0)
    if not apart <= rtol * (size or 1.0):
        raise AssertionError(f"{what} is off by {apart:.3g}, and the largest is {size:.3g}")
