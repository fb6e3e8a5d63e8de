"""What a fitted model tells: which features make its components, and how certain its directions are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler, normalize
from sklearn.utils import check_random_state, indexable
from sklearn.utils.validation import check_is_fitted

from ._validation import check_below_one, check_count, class_codes, count_rows, rows_by_number, some_rows
from .device import host, to_numpy
from .problem import ORTHOGONAL, Problem
from .reducers import ProjectingReducer

__all__ = ["Loadings", "Stability", "directions", "loadings", "sampling_error", "stability", "steps"]

SCALERS = (StandardScaler, RobustScaler, MaxAbsScaler)  # scalers that divide features by scale_
SEEDS = (1, 2)  # what is added to the seeds of the graph of a model, whose sample is drawn anew


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

        A row has the keys component, rank (from 1), feature, loading, and, where data were given, low and high:
        ``pandas.DataFrame(found.rows())``.
        """
        most = len(self.features) if n_features is None else check_count("n_features", n_features)
        numbers = {"loading": self.values, "low": self.low, "high": self.high}
        return [
            {"component": name, "rank": rank, "feature": self.features[j]}
            | {key: float(values[k, j]) for key, values in numbers.items() if values is not None}
            for k, name in enumerate(self.components)
            for rank, j in enumerate(self.ranked(k)[:most], start=1)
        ]

    def __str__(self) -> str:
        rows = self.rows(10)
        lines = [[f"{v:+.3f}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
        columns = []
        for name, *cells in zip(rows[0], *lines, strict=True):
            width, side = max(map(len, [name, *cells])), "<" if name in ("component", "feature") else ">"
            columns.append([f"{cell:{side}{width}}" for cell in (name, *cells)])
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
    draws, level = check_count("n_draws", n_draws, 0), check_below_one("level", level)
    X = rows_by_number(X, "loadings")
    making, linear = _split(model)
    V = directions(linear)
    if X is None:
        deviations = _units(linear)
    else:
        deviations = np.sqrt(StandardScaler(with_mean=False).fit(X if making is None else making.transform(X)).var_)
    if deviations.size != V.shape[1]:
        raise ValueError(
            f"X has {deviations.size} features, but the model has {V.shape[1]}; pass the data it was fitted to"
        )
    values, names = normalize(V * deviations), _feature_names(model, making, feature_names, V.shape[1])
    components = _component_names(linear, len(V))
    if X is None or draws == 0:
        return Loadings(names, components, values)
    halves = (directions(_split(half)[1]) for half in half_fits(model, X, y, draws, random_state))
    found = [matched(normalize(_comparable(half, values) * deviations), values) for half in halves]
    low, high = _interval(found, level)
    return Loadings(names, components, values, low, high, level)


def _feature_names(model: Any, making: Any, given: Any, d: int) -> list[str]:
    names = getattr(model, "feature_names_in_", None) if given is None else given
    if making is not None and given is None:
        names = making.get_feature_names_out(names)
    if names is None:
        return [f"feature {i}" for i in range(d)]
    if len(names) != d:
        raise ValueError(f"feature_names has {len(names)} names, but the model has {d} features")
    return [str(name) for name in names]


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
        return [self._row(name, draws) for name, draws in zip(self.components, self.angles.T, strict=True)]

    def _row(self, name: str, draws: np.ndarray) -> dict[str, Any]:
        low, high = _interval(draws, self.level)
        return {"component": name, "angle": float(np.median(draws)), "low": float(low), "high": float(high)}

    def __str__(self) -> str:
        rows = [*self.rows(), self._row("all together", self.subspace)]
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
    draws, level = check_count("n_draws", n_draws), check_below_one("level", level)
    X = rows_by_number(X, "stability")
    model = clone(estimator).fit(X, y)
    expected, angles, together = _coordinates(model, X), [], []
    for half in half_fits(estimator, X, y, draws, random_state):
        found = _comparable(_coordinates(half, X), expected)
        cosines = np.abs(np.sum(matched(found, expected) * expected, axis=1))
        angles.append(np.degrees(np.arccos(np.minimum(cosines, 1.0))))
        together.append(np.degrees(subspace_angles(found.T, expected.T)[0]))
    return Stability(_component_names(model, len(expected)), np.array(angles), np.array(together), level)


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
    codes = np.zeros(n, dtype=int)
    with suppress(ValueError):  # y is None, or holds no classes
        codes = class_codes(y, n)[0]
    members = [np.flatnonzero(codes == label) for label in np.unique(codes)]
    for _ in range(n_draws):
        drawn = np.sort(np.concatenate([random.permutation(rows)[: (rows.size + 1) // 2] for rows in members]))
        yield clone(estimator).fit(some_rows(X, drawn), None if y is None else some_rows(y, drawn))


def _comparable(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """What a fit to half of the rows has found, if it is of the shape of what the fit to all has."""
    if found.shape != expected.shape:
        raise ValueError(
            f"a fit to half of the rows has {len(found)} components of {found.shape[1]} numbers, and that to all has "
            f"{len(expected)} of {expected.shape[1]}, so that they cannot be compared; give n_components as a number, and the "
            "categories of columns to their encoder"
        )
    return found


def matched(found: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The rows of ``found``, of unit length, in the order and with the signs that make them most similar to those expected."""
    cosines = expected @ found.T
    order = linear_sum_assignment(-np.abs(cosines))[1]
    signs = np.where(cosines[np.arange(len(expected)), order] < 0, -1.0, 1.0)
    return signs[:, None] * found[order]


def _interval(draws: Any, level: float) -> Any:
    """The ends of what this share of the draws lie between."""
    return np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)


def sampling_error(model: Any, X: Any, y: Any = None) -> dict[str, float]:
    r"""How far a model is from that of all rows, where its graph searches for the neighbours of a sample of them.

    The model is fitted twice more, with graphs of as many queries that draw other rows. Directions seem better on their own
    links than they are, by as much as they are worse on those of another sample. So ``excess`` is half of the gap between
    both objectives :math:`\operatorname{tr}((V^\top B V)^{-1} V^\top A V)`, without the ridge, as a share of them. It is about
    inversely proportional to the number of queries.

    Parameters
    ----------
    model : estimator, or Pipeline that ends in one
        A fitted linear or kernel map, whose ``graph_`` (or ``penalty``) has fewer ``queries`` than there are rows.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows that the model was fitted to, in memory. Of rows on disk pass a part, many more than the queries.
    y : array-like of shape (n_samples,), default=None
        The labels, where the graph reads them.

    Returns
    -------
    dict
        ``queries``, the fewest of a search; ``excess``, infinite where a sample does not see all directions of the other; and
        ``angle``, the largest angle in degrees between the coordinates of the two fits, which is large where the last
        eigenvalues are nearly equal.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> import lapwing
    >>> from lapwing.graphs import KNN
    >>> X, _ = load_digits(return_X_y=True)
    >>> few, many = (lapwing.LPP(5, graph=KNN(5, queries=q)).fit(X) for q in (200, 800))
    >>> lapwing.sampling_error(few, X)["excess"] > 2 * lapwing.sampling_error(many, X)["excess"]
    True
    """
    *before, own = steps(model)
    check_is_fitted(own)
    for step in before:
        X = step.transform(X)
    X = rows_by_number(X, "sampling_error")
    X = np.asarray(X) if isinstance(X, np.memmap) else X
    n, fresh, queries = count_rows(X), clone(own), {}
    if isinstance(own, ProjectingReducer) and hasattr(own, "graph"):
        params = fresh.set_params(graph=clone(own.graph_)).get_params()
        queries = {name: q for name, q in params.items() if name.endswith("__queries") and q is not None and q < n}
    if not queries:
        raise ValueError(
            "sampling_error takes a linear or kernel map whose graph searches for a sample of the rows, such as "
            f"KNN(5, queries=2_000), and {own!r} of {n} rows is none"
        )
    if params.get("normalize") == "trace":
        raise ValueError(
            'sampling_error does not go with normalize="trace", which weighs graphs by their samples; use "degree"'
        )
    fresh.set_params(n_components=len(own.get_feature_names_out()))
    if params.get("random_state", 0) is None:
        fresh.set_params(random_state=0)  # both fits take the same landmarks
    seeds = [name.removesuffix("queries") + "random_state" for name in queries]
    fits = [clone(fresh).set_params(**{s: (params[s] + more) % 2**32 for s in seeds}).fit(X, y) for more in SEEDS]
    problems, center = [fit.problem(X, y) for fit in fits], params.get("center", "auto")
    Z = [np.asarray(to_numpy(fit).transform(host(X)), dtype=np.float64) for fit in fits]
    if problems[0].minimise[0].laplacian.n < n:  # documents without a term have no part in a problem
        Z = [z[np.flatnonzero(X.sum(axis=1))] for z in Z]
    objectives = [[_objective(z, problem, center) for z in Z] for problem in problems]
    total, on_own = np.sum(objectives), np.trace(objectives)
    excess = max(total - 2 * on_own, 0.0) / (abs(total) or 1.0) if np.isfinite(total) else np.inf
    angles = subspace_angles(*(z - z.mean(axis=0) for z in Z))
    return {"queries": min(queries.values()), "excess": float(excess), "angle": float(np.degrees(angles.max()))}


def _objective(Z: np.ndarray, problem: Problem, center: Any) -> float:
    """The objective of directions that give these coordinates; infinite where the constraint does not see them all."""
    d, B = problem.degrees, problem.subject_to
    if d is not None and center in ("auto", "degree"):
        Z = Z - d @ Z / d.sum()
    A = np.sum([term.coefficient * (Z.T @ (term.laplacian @ Z)) for term in problem.minimise], axis=0)
    if B is ORTHOGONAL:
        return float(np.trace(A))
    C = Z.T @ (B @ Z)
    if problem.ratio:
        return float(np.trace(A) / np.trace(C))
    return float(np.trace(np.linalg.solve(C, A))) if np.linalg.matrix_rank(C, hermitian=True) == len(C) else np.inf


def steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline in their order, those of a reducer where a classifier follows; else a single step."""
    estimator = getattr(estimator, "reducer_", estimator)
    if not isinstance(estimator, Pipeline):
        return [estimator]
    return [part for _, step in estimator.steps if step not in (None, "passthrough") for part in steps(step)]


def directions(estimator: Any) -> np.ndarray:
    """The rows of the matrix of the linear map, whatever steps it is made of."""
    if isinstance(estimator, Pipeline):
        maps = [_scaling(step) if isinstance(step, SCALERS) else directions(step) for step in steps(estimator)]
        if all(sparse.issparse(linear) for linear in maps):
            raise ValueError("the pipeline has no step with directions, so there is nothing to show; end it in one")
        return np.asarray(reduce(lambda before, after: after @ before, maps))
    check_is_fitted(estimator)
    of_features = hasattr(estimator, "nystroem_") or hasattr(estimator, "features_")
    rows = None if of_features else getattr(estimator, "components_", None)
    if rows is None and hasattr(estimator, "scalings_"):
        most = min(len(estimator.classes_) - 1, estimator.scalings_.shape[1])
        rows = estimator.scalings_[:, : min(estimator.n_components or most, most)].T
    if rows is None or np.ndim(rows) != 2:
        raise ValueError(
            f"{type(estimator).__name__} has no matrix of directions (components_ or scalings_), so there is nothing to show; "
            "use a linear map, such as LPP or PCA"
        )
    whitened = getattr(estimator, "whiten", False) is True and hasattr(estimator, "explained_variance_")
    return rows / np.sqrt(estimator.explained_variance_)[:, None] if whitened else np.asarray(rows)


def _scaling(scaler: Any) -> Any:
    """What a scaler multiplies features by, as a diagonal matrix."""
    check_is_fitted(scaler)
    return sparse.diags_array(1 / (np.ones(scaler.n_features_in_) if scaler.scale_ is None else scaler.scale_))


def _units(estimator: Any) -> np.ndarray:
    """What a fitted map divides the features by before anything else; 1 where it takes them as they are."""
    parts = steps(estimator)
    first = next((i for i, step in enumerate(parts) if not isinstance(step, SCALERS)), len(parts))
    scales: list[Any] = [getattr(step, "scale_", None) for step in parts[: first + 1]]
    return np.prod([np.ones(parts[0].n_features_in_), *(scale for scale in scales if np.ndim(scale))], axis=0)


def _split(estimator: Any) -> tuple[Any, Any]:
    """A fitted pipeline in two parts: what makes the features, which may be anything or None, and the linear map of these."""
    parts = steps(estimator)
    first = len(parts)
    while first > 0 and (isinstance(parts[first - 1], SCALERS) or _has_directions(parts[first - 1])):
        first -= 1
    if first in (0, len(parts)):
        return None, make_pipeline(*parts) if len(parts) > 1 else parts[0]
    return make_pipeline(*parts[:first]), make_pipeline(*parts[first:])


def _has_directions(estimator: Any) -> bool:
    try:
        return directions(estimator).size > 0
    except ValueError:
        return False


def _component_names(model: Any, k: int) -> list[str]:
    """The names of the coordinates. A discriminant analysis may give more names than there are components."""
    names = [str(name) for name in getattr(model, "get_feature_names_out", list)()]
    return names if len(names) == k else [f"component {i}" for i in range(k)]
