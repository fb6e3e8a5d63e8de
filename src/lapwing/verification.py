"""Whether a fitted model is what its data give: it is fitted again, and the two models are compared."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import orth
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ._documented import public
from ._validation import is_foreign
from .device import host, to_numpy
from .graphs import Graph
from .reducers import Reducer
from .solvers import TOLERANCES

DIRECTIONS = ("embedding_", "dual_coef_", "components_")  # the first that a model has is what it has solved for
FOLLOWING = ("explained_ratio_", "intercept_", "components_")  # what follows from the directions, one by one
ASIDE = {"n_iter_", "violation_"}  # how a solution was found, which is no part of it
TIED = 0.1  # eigenvalues count as equal where they differ by this share of the tolerance, beside the largest of them
ROUNDING = 1e-12  # numbers of this size may be anything


@dataclass(frozen=True)
class Verification:
    """What :func:`verify` has found.

    Attributes
    ----------
    certificate : Certificate, list of Certificate or None
        How well the new fit solves the problem that the data pose; a list for tensors, by mode. Scores have none.
    failures, unknown : tuple of str
        Sentences on what does not hold, and on what could not be checked or was taken from the model.
    method : str
        The name of the estimator that was checked, which may be a step of a pipeline.

    Examples
    --------
    >>> import lapwing
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> lapwing.verify(lapwing.LPP(2).fit(X), X).failures
    ()
    """

    certificate: Any
    failures: tuple[str, ...]
    unknown: tuple[str, ...]
    method: str

    @property
    def holds(self) -> bool:
        """Whether the model is what the data give."""
        return not self.failures


public(__name__.partition(".")[0], ["Verification"], globals())


def verify(
    model: BaseEstimator,
    X: Any,
    y: Any = None,
    *,
    graph: Graph | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Verification:
    """Check a fitted model against the data that it was fitted to.

    A copy with the same parameters is fitted, and the directions of the two (where eigenvalues are equal the spaces that they
    span), their eigenvalues, all other arrays and what they make of the rows are compared.

    Parameters
    ----------
    model : estimator of lapwing, fitted
        The model to check, or a pipeline with one, whose steps before it are applied as they are.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data that it was fitted to, the rows in the same order; after ``partial_fit`` the rows of all batches.
    y, sample_weight : array-like of shape (n_samples,), default=None
        The labels and the weights, where the fit had some.
    graph : graph or matrix, default=None
        What the fit had as ``graph=``, where the search of neighbours cannot be repeated.

    Examples
    --------
    >>> import lapwing
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = lapwing.LPP(2).fit(X)
    >>> lapwing.verify(model, X).holds
    True
    >>> model.components_[0] += 0.01
    >>> lapwing.verify(model, X).holds
    False
    """
    X, y, sample_weight = (host(part) if is_foreign(part) else part for part in (X, y, sample_weight))
    check_is_fitted(model)
    if not is_verifiable(model):
        raise TypeError(f"{type(model).__name__} is no estimator of lapwing; pass one, or a pipeline with one")
    steps = flattened(to_numpy(model))
    place = max(i for i, step in enumerate(steps) if isinstance(step, Reducer))
    own, unknown = steps[place], []
    for step in steps[:place]:
        X = step.transform(X)
    if before := ", ".join(type(step).__name__ for step in steps[:place]):
        unknown.append(f"the steps before the method ({before}) were applied as the model has them, not learnt again")
    again = clone(own)
    if graph is not None:
        again.set_params(graph=graph)
    elif not all(request.search in (None, "torch") for request in own.graph_.requests()):
        unknown.append("another program searched for the neighbours, and may find others; pass their weights as graph=")
    if hasattr(own, "features_"):
        again.set_params(features=FrozenEstimator(own.features_))
    if getattr(own, "landmarks", None) is not None and not isinstance(own.random_state, int):
        raise ValueError("the landmarks were drawn without a seed, so no fit repeats them; fit with random_state=0")
    with warnings.catch_warnings(action="ignore"):  # the fit has given these warnings
        again.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        failures = _differences(own, again, X, unknown)
    return Verification(getattr(again, "certificate_", None), tuple(failures), tuple(unknown), type(own).__name__)


def flattened(model: Any) -> list[Any]:
    """The estimators in a model up to a classifier of its own, those of pipelines one by one."""
    if hasattr(model, "reducer_"):
        return flattened(model.reducer_)
    if hasattr(model, "steps"):
        return [own for _, step in model.steps for own in flattened(step)]
    return [model] if hasattr(model, "fit") else []  # not "passthrough" and None


def is_verifiable(model: Any) -> bool:
    """Whether a model is an estimator of lapwing, or holds one."""
    return any(isinstance(step, Reducer) for step in flattened(model))


def _differences(own: Any, again: Any, X: Any, unknown: list[str]) -> list[str]:
    """Sentences on what the model has learnt and the data do not give."""
    held, given, failures = _numbers(own), _numbers(again), []
    solved = next((name for name in DIRECTIONS if hasattr(again, name)), "")  # scores have none
    certificates: Any = np.atleast_1d(again.certificate_) if solved else []
    modes = dict(zip((path for path in given if path.partition("[")[0] == solved), certificates, strict=True))
    tolerance = max([TOLERANCES["float64"], *(certificate.tolerance for certificate in certificates)])
    turned: tuple[str, ...] = ()  # what follows from directions that may be another basis of the same space
    for path in sorted(given, key=lambda path: path not in modes):
        other = given[path]
        one = held.get(path, other if path.startswith("graph_.") else np.empty(0))  # a matrix may stand for the graph
        if one.shape != other.shape:
            failures.append(f"{path} of the model has shape {one.shape}, and a new fit gives {other.shape}")
            continue
        apart = _apart(one, other)
        if path in modes and not apart <= tolerance:
            turned, values = FOLLOWING, given[path.replace(solved, "eigenvalues_")]
            apart, last = _apart_as_spaces(one, other, values, modes[path].gap, tolerance)
            if last > tolerance:
                unknown.append(f"the last of {path} may be any of the same eigenvalue, which the next one has as well")
        if not apart <= tolerance and (path in modes or path not in turned):
            shown = f"{one:g}, and they give {other:g}" if other.ndim == 0 else f"apart by a share of {apart:.1e}"
            failures.append(f"{path} of the model is not what the data give: {shown}")
    if solved and not turned and not failures:
        Z, expected = (np.asarray(model.transform(X), dtype=np.float64) for model in (own, again))
        middle = expected.mean(axis=0)
        if not _apart(Z - middle, expected - middle) <= tolerance:
            failures.append("transform of the model gives other numbers for the data than that of a new fit")
    return failures


def _numbers(model: Any) -> dict[str, np.ndarray]:
    """The numbers and arrays that a model has learnt, by name; those of a list or a graph one by one."""
    found, aside = {}, model.get_params(deep=False).keys() | ASIDE
    for name, value in vars(model).items():
        parts = {f"{name}[{i}]": part for i, part in enumerate(value)} if isinstance(value, list) else {name: value}
        parts = {f"{name}.{key}": part for key, part in vars(value).items()} if isinstance(value, Graph) else parts
        for path, part in parts.items() if name not in aside else ():
            if part is not None and not sparse.issparse(part) and np.asarray(part).dtype.kind in "biuf":
                columns = np.asarray(part, dtype=np.float64)
                found[path] = columns.T if name == "embedding_" else columns  # one row for each direction
    return found


def _apart_as_spaces(one: Any, other: Any, values: Any, gap: Any, tolerance: float) -> tuple[float, float]:
    """How far directions are apart as spaces of equal eigenvalues, which is all of them that is determined.

    Where the next eigenvalue, which was not kept, equals the last one, not even the last space is: its distance stands apart.
    """
    if not np.isfinite(one).all():
        return inf, 0.0
    tied = TIED * tolerance * max(np.abs(values).max(), 0.0 if gap in (None, inf) else gap) + ROUNDING
    apart = []
    for rows in np.split(np.arange(len(values)), np.flatnonzero(np.abs(np.diff(values)) > tied) + 1):
        P, Q = orth(one[rows].T), orth(other[rows].T)
        longer = np.linalg.norm(one[rows]) / (np.linalg.norm(other[rows]) or 1.0) - 1
        apart.append(float(np.linalg.norm(Q - P @ (P.T @ Q)) + abs(longer)))
    last = apart.pop() if gap is not None and gap <= tied else 0.0
    return max(apart, default=0.0), last


def _apart(one: np.ndarray, other: np.ndarray) -> float:
    """The distance of two arrays as a share of the second, without its places that are not finite."""
    known = np.isfinite(other)
    away = np.linalg.norm(one[known] - other[known])
    return float(np.maximum(away - ROUNDING, 0.0) / (np.linalg.norm(other[known]) or 1.0))
