"""Which features make a component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.preprocessing import StandardScaler, normalize

from .._extras import require
from .._validation import check_count, rows_by_number
from ._directions import component_names, directions, split, units
from ._stability import check_level, half_fits, interval, matched


@dataclass(frozen=True, eq=False)
class Loadings:
    """The weights of features in components. ``str`` prints the leading ones.

    Attributes
    ----------
    features, components : list of str
        The names of the features, and of the components as ``get_feature_names_out`` of the model has them.
    values : ndarray of shape (n_components, n_features)
        The loadings: each row has length 1.
    low, high : ndarray of shape (n_components, n_features) or None
        The ends of their intervals, where data were given.
    level : float or None
        The share of draws that the intervals hold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> table = lapwing.loadings(lapwing.LPP(2, graph="supervised").fit(X, y))
    >>> table.rows(1)[0]["feature"]
    'petal length (cm)'
    >>> table.to_frame(2).shape
    (4, 4)
    """

    features: list[str]
    components: list[str]
    values: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    level: float | None = None

    def ranked(self, component: int) -> np.ndarray:
        """The features of the component of this number, from 0, by the size of their loadings, the largest first."""
        return np.argsort(-np.abs(self.values[component]), kind="stable")

    def rows(self, n_features: int | None = None) -> list[dict[str, Any]]:
        """One row per component and feature, those of a component by size; ``n_features`` of each component, None for all.

        A row has the keys component, rank (from 1), feature, loading, and, where data were given, low and high.
        """
        most = len(self.features) if n_features is None else check_count("n_features", n_features)
        found = []
        for k, name in enumerate(self.components):
            for rank, j in enumerate(self.ranked(k)[:most], start=1):
                row: dict[str, Any] = {"component": name, "rank": rank, "feature": self.features[j]}
                row["loading"] = float(self.values[k, j])
                if self.low is not None and self.high is not None:
                    row |= {"low": float(self.low[k, j]), "high": float(self.high[k, j])}
                found.append(row)
        return found

    def to_frame(self, n_features: int | None = None) -> Any:
        """The rows that :meth:`rows` gives, as a pandas.DataFrame."""
        return require("pandas", "tables").DataFrame(self.rows(n_features))

    def __str__(self) -> str:
        rows = self.rows(10)
        lines = [
            [f"{value:+.3f}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows
        ]
        columns = []
        for name, *cells in zip(rows[0], *lines, strict=True):
            width = max(map(len, [name, *cells]))
            aligned = str.ljust if name in ("component", "feature") else str.rjust
            columns.append([aligned(cell, width) for cell in (name, *cells)])
        return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def loadings(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    n_draws: int = 100,
    level: float = 0.95,
    feature_names: ArrayLike | None = None,
    random_state: int | RandomState | None = 0,
) -> Loadings:
    """Which features make the components of a fitted linear map, the most telling ones first.

    A loading is the weight of a feature in a direction, times the standard deviation of the feature, and the loadings of a
    component are scaled to length 1. So features in different units can be compared: the square of a loading is the share of
    the feature, as long as features do not depend on each other. Without X, deviations are those that the model divided the
    columns by (``scale_``, or a scaler before it), or 1. With X, the model is fitted again to random halves of the rows, and
    each loading has an interval: where it does not hold 0, the sign of the feature is certain.

    Parameters
    ----------
    model : fitted estimator, or Pipeline of such
        A linear map, with ``components_``, or ``scalings_`` as LinearDiscriminantAnalysis has. Earlier steps of a pipeline, such
        as an encoder of categories, make the features that have loadings; scalers between are part of the map.
    X, y : array-like or sparse matrix of shape (n_samples, n_features), and labels, default=None
        What it was fitted to.
    n_draws : int, default=100
        How many halves are fitted; 0 for no intervals.
    level : float, default=0.95
        The share of the draws that an interval holds.
    feature_names : sequence of str, default=None
        The names of the features. None takes those that the model saw in ``fit``, or numbers.
    random_state : int, RandomState instance or None, default=0
        Makes the draws repeatable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> iris = load_iris(as_frame=True)
    >>> model = lapwing.LPP(1, graph="supervised").fit(iris.data, iris.target)
    >>> print(lapwing.loadings(model, iris.data, iris.target))
    component  rank  feature            loading     low    high
    lpp0          1  petal length (cm)   +0.718  +0.6...
    lpp0          2  petal width (cm)    +0.656  +0.5...
    lpp0          3  sepal width (cm)    -0.233  -0.3...
    lpp0          4  sepal length (cm)   -0.016  -0.0...
    """
    draws, level = check_count("n_draws", n_draws, 0), check_level(level)
    X = rows_by_number(X, "loadings")
    making, linear = split(model)
    V = directions(linear)
    if X is None:
        deviations = units(linear)
    else:
        deviations = np.sqrt(StandardScaler(with_mean=False).fit(X if making is None else making.transform(X)).var_)
    if deviations.size != V.shape[1]:
        raise ValueError(
            f"X has {deviations.size} features, but the model has {V.shape[1]}; pass the data it was fitted to"
        )
    values, names = normalize(V * deviations), _feature_names(model, making, feature_names, V.shape[1])
    components = component_names(linear, len(V))
    if X is None or draws == 0:
        return Loadings(names, components, values)
    found = []
    for half in half_fits(model, X, y, draws, random_state):
        V = directions(split(half)[1])
        if V.shape != values.shape:
            raise ValueError(
                f"a fit to half of the rows has {V.shape[1]} features and {len(V)} components, and that to all has "
                f"{values.shape[1]} and {len(values)}, so that they cannot be compared; use n_draws=0"
            )
        found.append(matched(normalize(V * deviations), values))
    return Loadings(names, components, values, *interval(found, level), level)


def _feature_names(model: Any, making: Any, given: Any, d: int) -> list[str]:
    names = getattr(model, "feature_names_in_", None) if given is None else given
    if making is not None and given is None:
        names = making.get_feature_names_out(names)
    if names is None:
        return [f"feature {i}" for i in range(d)]
    if len(names) != d:
        raise ValueError(f"feature_names has {len(names)} names, but the model has {d} features")
    return [str(name) for name in names]
