"""How certain the directions of a method are, by fits to halves of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state, indexable

from .._validation import check_count, class_codes, count_rows, rows_by_number, some_rows
from ._directions import component_names


@dataclass(frozen=True, eq=False)
class Stability:
    """How certain the directions of a method are. ``str`` prints it.

    Attributes
    ----------
    components : list of str
        The names of the components.
    angles : ndarray of shape (n_draws, n_components)
        The angle, in degrees, between a component and the most similar one of a fit to half of the rows: 0 where the samples
        get the same coordinates, up to a factor and an offset, and 90 where these are uncorrelated.
    subspace : ndarray of shape (n_draws,)
        The largest angle between the spaces of all components: small where components only turn among themselves.
    level : float
        The share of draws that intervals hold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X, y = load_iris(return_X_y=True)
    >>> found = lapwing.stability(lapwing.LPP(2), X, y, n_draws=10)
    >>> [row["component"] for row in found.rows()], found.angles.shape
    (['lpp0', 'lpp1'], (10, 2))
    """

    components: list[str]
    angles: np.ndarray
    subspace: np.ndarray
    level: float

    def rows(self) -> list[dict[str, Any]]:
        """One row per component: its name, the median angle, and the ends of the interval."""
        medians, (low, high) = np.median(self.angles, axis=0), interval(self.angles, self.level)
        columns = zip(self.components, medians, low, high, strict=True)
        return [{"component": name, "angle": float(m), "low": float(a), "high": float(b)} for name, m, a, b in columns]

    def __str__(self) -> str:
        low, high = interval(self.subspace, self.level)
        together = {"component": "all together", "angle": np.median(self.subspace), "low": low, "high": high}
        rows = [*self.rows(), together]
        width = max(len(row["component"]) for row in rows)
        return "\n".join(
            f"{r['component']:{width}}  {r['angle']:5.1f}°  ({r['low']:.1f} to {r['high']:.1f})" for r in rows
        )


def stability(
    estimator: BaseEstimator,
    X: Any,
    y: Any = None,
    *,
    n_draws: int = 100,
    level: float = 0.95,
    random_state: int | RandomState | None = 0,
) -> Stability:
    """How certain the directions of a method are on these data.

    The method is fitted to all rows and to random halves of them, as :func:`loadings` does. A component is compared with the
    one of each half that is most like it, by the angle between the coordinates that both give to all rows.

    Parameters
    ----------
    estimator : estimator, or Pipeline that ends in one
        It must have a ``transform`` for new rows. It need not be fitted, and stays as it is.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The samples; for methods of images, the images, whose coordinates are then the components, one by one.
    y : array-like of shape (n_samples,), default=None
        The labels, -1 where unknown.
    n_draws : int, default=100
        How many halves are fitted.
    level : float, default=0.95
        The share of the draws that intervals hold.
    random_state : int, RandomState instance or None, default=0
        Makes the draws repeatable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X, y = load_iris(return_X_y=True)
    >>> print(lapwing.stability(lapwing.LPP(2, graph="supervised"), X, y, n_draws=20))
    lpp0            1...°  (... to ...)
    lpp1            8...°  (... to ...)
    all together    6...°  (... to ...)
    """
    draws, level = check_count("n_draws", n_draws), check_level(level)
    X, y = indexable(rows_by_number(X, "stability"), y)
    model = clone(estimator).fit(X, y)
    expected, angles, together = _coordinates(model, X), [], []
    for half in half_fits(estimator, X, y, draws, random_state):
        found = _coordinates(half, X)
        if found.shape != expected.shape:
            raise ValueError(
                f"a fit to half of the rows has {len(found)} components, and that to all has {len(expected)}, so that they "
                "cannot be compared; give n_components as a number"
            )
        cosines = np.abs(np.sum(matched(found, expected) * expected, axis=1))
        angles.append(np.degrees(np.arccos(np.minimum(cosines, 1.0))))
        together.append(np.degrees(subspace_angles(found.T, expected.T)[0]))
    return Stability(component_names(model, len(expected)), np.array(angles), np.array(together), level)


def _coordinates(model: Any, X: Any) -> np.ndarray:
    """One row of unit length per component, of a matrix one per entry: the coordinates of all samples, less their mean."""
    Z = np.asarray(model.transform(X), dtype=np.float64)
    Z = Z.reshape(len(Z), -1)
    return normalize((Z - Z.mean(axis=0)).T)


def half_fits(estimator: Any, X: Any, y: Any, n_draws: int, random_state: Any) -> Iterator[Any]:
    """Copies of the estimator, each fitted to half of the rows, drawn without replacement; by class where y holds classes.

    Estimates from them vary as much as those from n rows drawn with replacement: for a mean, s²/m (1 - m/n) with m = n/2 is
    s²/n. With replacement, a row that is drawn twice would be its own nearest neighbour.
    """
    X, y = indexable(X, y)
    random, n = check_random_state(random_state), count_rows(X)
    try:
        codes = np.zeros(n, dtype=int) if y is None else class_codes(y, n)[0]
    except ValueError:  # y holds no classes
        codes = np.zeros(n, dtype=int)
    members = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    for _ in range(n_draws):
        drawn = np.sort(np.concatenate([random.permutation(rows)[: (rows.size + 1) // 2] for rows in members]))
        yield clone(estimator).fit(some_rows(X, drawn), None if y is None else some_rows(y, drawn))


def matched(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The rows of ``found``, of unit length, in the order and with the signs that make them most similar to those expected."""
    cosines = expected @ found.T
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(expected)), order] < 0, -1.0, 1.0)
    return signs[:, None] * found[order]


def check_level(level: Any) -> float:
    """The share of draws that an interval holds."""
    if isinstance(level, bool) or not (isinstance(level, Real) and 0 < float(level) < 1):
        raise ValueError(f"level={level!r} must be a number between 0 and 1")
    return float(level)


def interval(draws: Any, level: float) -> tuple[Any, Any]:
    """The ends of what this share of the draws lie between."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high
