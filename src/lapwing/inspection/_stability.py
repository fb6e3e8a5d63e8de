"""How certain the directions of a method are, and whether they do better than principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler, normalize
from sklearn.utils import check_random_state, indexable

from .._arrays import count_rows, some_rows
from .._validation import check_count, rows_by_number
from ._directions import component_names, steps
from ._resampling import check_level, classes_of, half_fits, interval, matched

FOLDS = 5
NEIGHBORS = 10  # where there are no classes, this many nearest rows are compared before and after the projection


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
    measure : str
        What ``score`` is: "accuracy" of the nearest neighbour, or "recall" of the ten nearest neighbours.
    score, pca_score, p_value : float
        The score of rows that were held out in five folds, by the method and by as many principal components; and how often
        exchanging both results of rows by chance makes a difference at least as large.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X, y = load_iris(return_X_y=True)
    >>> found = lapwing.stability(lapwing.LPP(2), X, y, n_draws=10, n_permutations=100)
    >>> [row["component"] for row in found.rows()], found.measure, found.angles.shape
    (['lpp0', 'lpp1'], 'accuracy', (10, 2))
    """

    components: list[str]
    angles: np.ndarray
    subspace: np.ndarray
    level: float
    measure: str
    score: float
    pca_score: float
    p_value: float

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
        lines = [f"{r['component']:{width}}  {r['angle']:5.1f}°  ({r['low']:.1f} to {r['high']:.1f})" for r in rows]
        said = f"{self.measure} {self.score:.3f}, of PCA {self.pca_score:.3f} (p = {self.p_value:.3g})"
        return "\n".join([*lines, said])


def stability(
    estimator: BaseEstimator,
    X: Any,
    y: Any = None,
    *,
    n_draws: int = 100,
    n_permutations: int = 1000,
    level: float = 0.95,
    random_state: int | RandomState | None = 0,
) -> Stability:
    """How certain the directions of a method are on these data, and whether they do better than principal components.

    The method is fitted to all rows and to random halves of them, as :func:`loadings` does. A component is compared with the
    one of each half that is most like it, by the angle between the coordinates that both give to all rows.

    For the test against PCA, rows are held out in five folds. With class labels, a row counts as 1 if its nearest training row
    has its class; without, as the share of its ten nearest training rows that are still so after the projection. The p-value
    says how often a difference as large comes from exchanging both results of rows by chance.

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
    n_permutations : int, default=1000
        How many exchanges are tried.
    level : float, default=0.95
        The share of the draws that intervals hold.
    random_state : int, RandomState instance or None, default=0
        Makes draws, folds and exchanges repeatable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import lapwing
    >>> X, y = load_iris(return_X_y=True)
    >>> print(lapwing.stability(lapwing.LPP(2, graph="supervised"), X, y, n_draws=20))
    lpp0            1...°  (... to ...)
    lpp1            8...°  (... to ...)
    all together    6...°  (... to ...)
    accuracy 0.9..., of PCA 0.8... (p = 0.0...)
    """
    draws, exchanges = check_count("n_draws", n_draws), check_count("n_permutations", n_permutations)
    level = check_level(level)
    X, y = indexable(rows_by_number(X, "stability"), y)
    random = check_random_state(random_state)
    model = clone(estimator).fit(X, y)
    expected = _coordinates(model, X)
    angles, together = [], []
    for half in half_fits(estimator, X, y, draws, random):
        found = _coordinates(half, X)
        if found.shape != expected.shape:
            raise ValueError(
                f"a fit to half of the rows has {len(found)} components, and that to all has {len(expected)}, so that they "
                "cannot be compared; give n_components as a number"
            )
        cosines = np.abs(np.sum(matched(found, expected) * expected, axis=1))
        angles.append(np.degrees(np.arccos(np.minimum(cosines, 1.0))))
        together.append(np.degrees(subspace_angles(found.T, expected.T)[0]))
    measure, ours, theirs = _held_out(estimator, _principal(model, X, len(expected)), X, y, random)
    p = _exchanged(ours - theirs, exchanges, random)
    names = component_names(model, len(expected))
    return Stability(names, np.array(angles), np.array(together), level, measure, ours.mean(), theirs.mean(), p)


def _coordinates(model: Any, X: Any) -> np.ndarray:
    """One row of unit length per component: the coordinates of all samples, less their mean."""
    Z = _transformed(model, X)
    return normalize((Z - Z.mean(axis=0)).T)


def _transformed(model: Any, X: Any) -> np.ndarray:
    return _flat(np.asarray(model.transform(X), dtype=np.float64))


def _flat(X: Any) -> np.ndarray:
    """One row per sample, also where a sample is a matrix."""
    return np.reshape(X, (len(X), -1))


def _principal(model: Any, X: Any, k: int) -> Any:
    """As many principal components, after the same steps and of columns in the same units."""
    *before, last = steps(model)
    solver = "arpack" if sparse.issparse(X) else "auto"
    scaled = [StandardScaler(with_mean=False)] if getattr(last, "scale_", None) is not None else []
    flat = [FunctionTransformer(_flat)] if np.ndim(X) > 2 else []
    return make_pipeline(*map(clone, before), *flat, *scaled, PCA(k, svd_solver=solver, random_state=0))


def _held_out(estimator: Any, other: Any, X: Any, y: Any, random: Any) -> tuple[str, np.ndarray, np.ndarray]:
    """For each row that can be judged, how well both methods do when it is held out."""
    n = count_rows(X)
    classes, seed = classes_of(y, n), random.randint(2**31 - 1)
    small = classes is None or np.bincount(classes[classes >= 0]).min() < FOLDS
    folds = (KFold if small else StratifiedKFold)(FOLDS, shuffle=True, random_state=seed)
    found = []
    for train, test in folds.split(np.zeros(n), classes):
        rows, new = some_rows(X, train), some_rows(X, test)
        fits = [clone(method).fit(rows, None if y is None else some_rows(y, train)) for method in (estimator, other)]
        Z = [(_transformed(fit, rows), _transformed(fit, new)) for fit in fits]
        if classes is None:
            A, B = (fits[1][:-1].transform(part) if len(fits[1]) > 1 else part for part in (rows, new))
            found.append([_recalls(A, B, *both) for both in Z])
        else:
            found.append([_hits(*both, classes[train], classes[test]) for both in Z])
    ours, theirs = np.concatenate(found, axis=1)
    return "recall" if classes is None else "accuracy", ours, theirs


def _hits(Z: np.ndarray, new: np.ndarray, classes: np.ndarray, expected: np.ndarray) -> np.ndarray:
    known, asked = classes >= 0, expected >= 0
    return (classes[known][_nearest(Z[known], new[asked], 1)[:, 0]] == expected[asked]).astype(np.float64)


def _recalls(X: Any, new: Any, Z: np.ndarray, Z_new: np.ndarray) -> np.ndarray:
    k = min(NEIGHBORS, len(Z) - 1)
    before, after = _nearest(X, new, k), _nearest(Z, Z_new, k)
    return np.array([np.isin(a, b).mean() for a, b in zip(before, after, strict=True)])


def _nearest(rows: Any, queries: Any, k: int) -> np.ndarray:
    return NearestNeighbors(n_neighbors=k).fit(rows).kneighbors(queries, return_distance=False)


def _exchanged(differences: np.ndarray, n: int, random: Any) -> float:
    """How often random signs make a sum as far from 0. The signs that were found count as one draw."""
    told = differences[differences != 0]
    least = abs(told.sum()) * (1 - 1e-12)
    as_far = sum(abs(told @ random.choice([-1.0, 1.0], told.size)) >= least for _ in range(n))
    return (1 + as_far) / (1 + n)
