"""Whether a fitted model is what its data give: it is fitted again, and the two models are compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import orth
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from ._public import public
from .device import host, is_foreign, to_numpy
from .graphs import Graph
from .reducers import Reducer
from .solvers import TOLERANCES

SOME = 1000  # this many rows are projected, to compare two models
DIRECTIONS = ("embedding_", "dual_coef_", "components_")  # the first that a model has is what it has solved for
FOLLOWING = ("explained_ratio_", "intercept_", "components_")  # what follows from the directions, one by one
# How a solution was found, which is no part of it, and what has no digits where landmarks nearly depend on each other.
ASIDE = ("n_iter_", "violation_", "nystroem_.normalization_")
TIED = 0.1  # eigenvalues count as equal where they differ by this share of the tolerance, beside the largest of them
ROUNDING = 1e-12  # numbers of this size may be anything


@dataclass(frozen=True)
class Verification:
    """What :func:`verify` has found: whether a model is what its data give.

    Attributes
    ----------
    certificate : Certificate, list of Certificate or None
        How well the new fit solves the problem that the data pose; one certificate per mode for tensors. None for scores, which
        solve no eigenproblem.
    failures : tuple of str
        What does not hold, in sentences. Empty where all is well.
    unknown : tuple of str
        What could not be checked, or was taken from the model.
    method : str
        The name of the estimator that was checked, which may be a step of a pipeline.

    Examples
    --------
    >>> import lapwing
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> found = lapwing.verify(lapwing.LPP(2).fit(X), X)
    >>> found.method, found.holds, found.failures
    ('LPP', True, ())
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

    A copy of the model with the same parameters is fitted to the data, which takes as long as the fit, and what the two have
    learnt is compared: directions, eigenvalues, the mean and all other numbers. Directions of equal eigenvalues are compared
    as the space that they span.

    Parameters
    ----------
    model : estimator of lapwing, fitted
        The model to check, or a pipeline with one, whose steps before it are applied as they are.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data that it was fitted to, the rows in the same order; after ``partial_fit`` the rows of all batches.
    y : array-like of shape (n_samples,), default=None
        The labels, where the fit had some.
    graph : graph or matrix, default=None
        What the fit had as ``graph=``, in the place of what the model says: a matrix of weights, say, where the search of
        neighbours cannot be repeated.
    sample_weight : array-like of shape (n_samples,), default=None
        The weights, where the fit had some.

    Returns
    -------
    Verification
        ``holds`` says whether all is as it should be, ``failures`` what is not, ``unknown`` what could not be checked.

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
    own, X, unknown = _innermost(to_numpy(model), X)
    again = _unfitted(own, graph, unknown)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    with warnings.catch_warnings(action="ignore"):  # the fit has given these warnings
        again.fit(X, y, **weights)
        # Whether a default graph of many rows is sampled depends on where the rows are, so that of the model is taken then.
        if graph is None and not isinstance(getattr(own, "graph", own), Graph) and _sampled(own) != _sampled(again):
            again.set_params(graph=clone(own.graph_)).fit(X, y, **weights)
        failures = _differences(own, again, "" if graph is None else "graph_", _some(X), unknown)
    return Verification(getattr(again, "certificate_", None), tuple(failures), tuple(unknown), type(own).__name__)


def is_verifiable(model: Any) -> bool:
    """Whether a model is an estimator of lapwing, or holds one."""
    if hasattr(model, "reducer_"):
        return is_verifiable(model.reducer_)
    return isinstance(model, Reducer) or any(is_verifiable(step) for _, step in getattr(model, "steps", []))


def _innermost(model: Any, X: Any) -> tuple[Any, Any, list[str]]:
    """The last lapwing estimator in a model, X as it arrives there, and sentences on the steps before it."""
    if not is_verifiable(model):
        raise TypeError(f"{type(model).__name__} is no estimator of lapwing; pass one, or a pipeline with one")
    if isinstance(model, Reducer):
        return model, X, []
    if hasattr(model, "reducer_"):
        return _innermost(model.reducer_, X)
    steps = [step for _, step in model.steps if step is not None and not isinstance(step, str)]
    place = max(i for i, step in enumerate(steps) if is_verifiable(step))
    for step in steps[:place]:
        X = step.transform(X)
    names = ", ".join(type(step).__name__ for step in steps[:place])
    said = [f"the steps before the method ({names}) were applied as the model has them, not learnt again"]
    own, X, more = _innermost(steps[place], X)
    return own, X, [*(said if place else []), *more]


class _Drawn(np.random.RandomState):
    """Draws the landmarks that were drawn before."""

    landmarks: Any

    def permutation(self, n: Any) -> np.ndarray:
        if self.landmarks.max() >= n:
            raise ValueError(f"X has {n} rows, but the model has landmark {self.landmarks.max()}; pass the same data")
        return self.landmarks


def _sampled(model: Any) -> bool:
    """Whether the graph of a fitted model searched for the neighbours of a sample of the rows."""
    return any(request.queries is not None for request in model.graph_.requests())


def _unfitted(own: Any, graph: Any, unknown: list[str]) -> Any:
    """The model before it was fitted, with the landmarks that it has drawn."""
    again = clone(own)
    if graph is not None and "graph" not in again.get_params(deep=False):
        raise ValueError(f"graph= does not go with {type(own).__name__}, which has no graph; leave it out")
    if graph is not None:
        again.set_params(graph=graph)
    elif not all(request.search in (None, "torch") for request in own.graph_.requests()):
        unknown.append(
            "the neighbours were searched by another program, which may find others the next time; the matrix of weights that "
            "the fit had, given as graph, would settle it"
        )
    if getattr(own, "landmarks", None) is not None and not isinstance(own.random_state, int):
        again.set_params(random_state=_Drawn(0)).random_state.landmarks = own.nystroem_.component_indices_
        unknown.append(
            "the landmarks were drawn at random without a seed (random_state), so those of the model were taken"
        )
    return again


def _differences(own: Any, again: Any, aside: str, rows: Any, unknown: list[str]) -> list[str]:
    """Sentences on what the model has learnt and the data do not give."""
    names = sorted(vars(again).keys() - {*again.get_params(deep=False), aside})
    held, given = ({p: v for name in names for p, v in _leaves(getattr(m, name, ()), name)} for m in (own, again))
    solved = next((name for name in DIRECTIONS if hasattr(again, name)), None)  # scores have none
    certificates = again.certificate_ if solved else []
    certificates = certificates if isinstance(certificates, list) else [certificates]
    tolerance = max([TOLERANCES["float64"], *(certificate.tolerance for certificate in certificates)])
    failures, turned = [], False
    for path in sorted(given, key=lambda path: path.partition("[")[0] != solved):  # the directions first
        one, other = held.get(path, np.empty(0)), given[path]
        if one is None or other is None or path in ASIDE or (turned and path in FOLLOWING):
            continue  # what is None is not known, as some numbers are not where rows came in blocks
        if one.shape != other.shape:
            failures.append(f"{path} of the model has shape {one.shape}, and a new fit gives {other.shape}")
        elif path.partition("[")[0] == solved:
            one, other = (one.T, other.T) if solved == "embedding_" else (one, other)
            i, values = int(path.partition("[")[2].rstrip("]") or 0), given[path.replace(solved, "eigenvalues_")]
            wrong, arbitrary = _turned(one, other, values, certificates[i].gap, tolerance)
            mode = f"mode {i + 1}: " if "[" in path else ""
            failures += [mode + why for why in wrong]
            unknown += [mode + what for what in arbitrary]
            turned = turned or not np.linalg.norm(one - other) <= tolerance * np.linalg.norm(other)
        elif not _size(one - other, other) <= (tolerance * _size(other, other) + ROUNDING) * (other.dtype.kind == "f"):
            shown = f": {one}, and they give {other}" if other.ndim == 0 else ""
            failures.append(f"{path} of the model is not what the data give{shown}")
    if rows is None:
        unknown.append("the rows are not in memory, so what the model gives for them was not compared")
    elif solved and not turned and not failures:
        Z, expected = (np.asarray(model.transform(rows), dtype=np.float64) for model in (own, again))
        if not np.linalg.norm(Z - expected) <= tolerance * (np.linalg.norm(expected - expected.mean(axis=0)) or 1.0):
            failures.append("transform of the model gives other numbers for the data than that of a new fit")
    return failures


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The numbers and arrays in something that was learnt, each with the name that it goes by."""
    if isinstance(value, list | tuple):
        for i, part in enumerate(value):
            yield from _leaves(part, f"{path}[{i}]")
    elif isinstance(value, BaseEstimator | Graph):
        for name, part in vars(value).items():
            yield from _leaves(part, f"{path}.{name}")
    elif value is None or sparse.issparse(value):
        yield path, value
    elif (numbers := np.asarray(value)).dtype.kind in "biuf":
        yield path, numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64)


def _turned(
    own: np.ndarray, D: np.ndarray, values: np.ndarray, gap: float | None, tolerance: float
) -> tuple[list[str], list[str]]:
    """Sentences on directions of the model that are not those of the new fit, and on those that could be others.

    Where eigenvalues are equal, only the space that their directions span is determined, and not even that where the next
    eigenvalue, which was not kept, is equal as well.
    """
    wrong, arbitrary = [], []
    tied = TIED * tolerance * max(np.abs(values).max(), 0.0 if gap in (None, inf) else gap) + ROUNDING
    starts = np.flatnonzero(np.r_[True, np.abs(np.diff(values)) > tied])
    for first, last in zip(starts, [*starts[1:], values.size], strict=True):
        apart = _apart(own[first:last], D[first:last])
        if apart <= tolerance:
            continue
        names = f"direction {last}" if last - first == 1 else f"directions {first + 1} to {last}"
        if last == values.size and gap is not None and gap <= tied and np.isfinite(apart):
            arbitrary.append(f"{names} may be any of the same eigenvalue, which the next one has as well")
        else:
            wrong.append(
                f"{names} of the model and of a new fit are apart by a share of {apart:.1e}, beyond {tolerance:.1e}"
            )
    return wrong, arbitrary


def _apart(own: np.ndarray, D: np.ndarray) -> float:
    """How far the rows of D are from the space of those of another matrix, and from their lengths, as shares."""
    if not np.isfinite(own).all():
        return inf
    P, Q = orth(D.T), orth(own.T)
    longer = np.linalg.norm(own) - np.linalg.norm(D)
    return float(np.linalg.norm(P - Q @ (Q.T @ P)) + abs(longer) / (np.linalg.norm(D) or 1.0))


def _size(M: Any, other: Any) -> float:
    """The norm of M, without the places where the other is infinite, as the scales of columns beside the features are."""
    return float(np.linalg.norm(M.data if sparse.issparse(M) else np.where(np.isfinite(other), M, 0)))


def _some(X: Any) -> Any:
    """Some of the rows; None where rows are on disk or on a cluster."""
    if hasattr(X, "iloc"):
        return X.iloc[:SOME]
    return X.tocsr()[:SOME] if sparse.issparse(X) else X[:SOME] if isinstance(X, np.ndarray | list) else None
