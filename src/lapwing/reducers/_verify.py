"""Whether a fitted model solves its problem: its certificate, computed again from nothing but the model and the data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from ..devices import host, is_foreign, to_numpy
from ..graphs import Graph
from ..neighbors import NoPlaceError, is_exact
from ..solvers import Certificate, Solution
from ._base import Learnt, Reducer, TakenOver
from ._free import FreeReducer

SHOWN = 3  # a sentence shows this many eigenvalues
SOME = 1000  # this many rows are projected, to compare two models
HELD = ("components_", "dual_coef_", "embedding_", "eigenvalues_", "mean_", "intercept_", "X_fit_")
COUNTS = ("rank_", "n_pca_")
REPORTED = (*COUNTS, "explained_ratio_", "errors_", "reconstruction_error_")
ASIDE = 0.01  # new rows for the comparison lie this share of the way from one fitted row towards another


@dataclass(frozen=True)
class Verification:
    """What :func:`verify` has found: whether a model solves the problem that its data pose.

    Attributes
    ----------
    certificate : Certificate, list of Certificate or None
        How well what the model holds solves the problem that the data pose; one certificate per mode for tensors. None where
        what it holds cannot be put into that problem, because it has another shape or is not finite.
    failures : tuple of str
        What does not hold, in sentences. Empty where all is well.
    unknown : tuple of str
        What could not be found anew, and was taken from the model or left out.
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
        """Whether the model solves the problem that the data pose."""
        return not self.failures


def verify(
    model: BaseEstimator,
    X: Any,
    y: Any = None,
    *,
    graph: Graph | ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Verification:
    """Check a fitted model against the data that it was fitted to.

    The graph, A, B and the coordinates are found anew from the parameters of the model and the data. What the model learnt is
    put into that problem. Nothing that the fit reported about itself is trusted. It takes about as long as the fit.

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
        ``holds`` says whether all is as it should be, ``failures`` what is not, ``unknown`` what could not be found anew.

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
    own, X, before = _innermost(to_numpy(model), X)
    fresh = _unfitted(own, graph, X.shape[0] if hasattr(X, "shape") else 0)
    with warnings.catch_warnings(action="ignore"):  # the fit has given these warnings
        learnt = fresh._learnt(X, y, sample_weight)
    solved = fresh._solved_problems(learnt.solution)
    if solved is None:
        raise ValueError(f"{type(own).__name__} solves no eigenproblem, so there is nothing to verify")
    if any(solution.pencil is None for solution in (solved if isinstance(solved, list) else [solved])):
        raise ValueError(
            f"{type(own).__name__} solves its problem by its own means, and does not say which it is; verify it there"
        )
    if fresh.n_features_in_ != own.n_features_in_:
        raise ValueError(
            f"X has {fresh.n_features_in_} features, but the model was fitted to {own.n_features_in_}; pass the same data"
        )
    found, failures = _checked(own, fresh, learnt, X)
    unseen = (
        []
        if _some(X) is not None
        else ["the rows are not in memory, so what the model gives for them was not compared"]
    )
    unknown = (*before, *unseen, *_unknown(own, fresh, found, graph))
    return Verification(found, tuple(failures), unknown, type(own).__name__)


def _innermost(model: Any, X: Any) -> tuple[Reducer, Any, list[str]]:
    """The last lapwing estimator in a model, X as it arrives there, and sentences on the steps before it."""
    if hasattr(model, "reducer_"):
        return _innermost(model.reducer_, X)
    steps = [step for _, step in getattr(model, "steps", [])]
    place = max((i for i, step in enumerate(steps) if is_verifiable(step)), default=None)
    if place is None:
        if not isinstance(model, Reducer):
            raise TypeError(f"{type(model).__name__} is no estimator of lapwing; pass one, or a pipeline with one")
        return model, X, []
    before = [step for step in steps[:place] if not isinstance(step, str) and step is not None]
    for step in before:
        X = step.transform(X)
    names = ", ".join(type(step).__name__ for step in before)
    said = (
        [f"the steps before the method ({names}) were applied as the model has them, not learnt again"] if names else []
    )
    own, X, more = _innermost(steps[place], X)
    return own, X, [*said, *more]


def is_verifiable(model: Any) -> bool:
    """Whether a model is an estimator of lapwing, or holds one."""
    if hasattr(model, "reducer_"):
        return is_verifiable(model.reducer_)
    return isinstance(model, Reducer) or any(is_verifiable(step) for _, step in getattr(model, "steps", []))


def _unfitted(own: Any, graph: Any, n: int) -> Any:
    """The model before it was fitted.

    Whether a default graph of many rows is sampled depends on where the rows are, so the graph is that of the model.
    """
    fresh = clone(own)
    has_graph = "graph" in fresh.get_params(deep=False)
    if graph is not None and not has_graph:
        raise ValueError(f"graph= does not go with {type(own).__name__}, which has no graph; leave it out")
    if graph is not None:
        fresh.set_params(graph=graph)
    elif has_graph and (own.graph is None or isinstance(own.graph, int | str)):
        sampled = any(search.queries is not None for search in own.graph_.searches())
        if sampled != fresh.samples_rows(n):
            fresh.set_params(graph=clone(own.graph_))
    if getattr(own, "landmarks", None) is not None and not _is_seeded(own):
        fresh.nystroem_ = own.nystroem_
    return fresh


def _is_seeded(own: Any) -> bool:
    return isinstance(own.random_state, int)


def _checked(own: Any, fresh: Any, learnt: Learnt, X: Any) -> tuple[Any, list[str]]:
    """The certificate of what the model holds, and sentences on what does not hold."""
    if own._n_rows is not None and own._n_rows != learnt.data.n:
        raise ValueError(f"X has {learnt.data.n} rows, but the model was fitted to {own._n_rows}; pass the same data")
    if misfits := _misfits(own, fresh):
        return None, misfits
    solved = fresh._solved_problems(learnt.solution)
    solutions, modes = (solved, True) if isinstance(solved, list) else ([solved], False)
    taken = fresh._take_over(own, learnt)
    found, failures = [], []
    for mode, (solution, (values, V)) in enumerate(zip(solutions, taken.pairs, strict=True), start=1):
        certificate = solution.pencil.certificate(values, V, fresh._tolerance(learnt.data))
        rounding = 100 * taken.loss * np.finfo(learnt.data.F.dtype).eps * (certificate.condition or 1.0) ** 0.5
        certificate = replace(certificate, tolerance=max(certificate.tolerance, float(rounding)))
        found.append(certificate)
        failures += [f"mode {mode}: {why}" if modes else why for why in _failures(certificate, solution, values)]
    tolerance = max(certificate.tolerance for certificate in found)
    failures += _differences(own, fresh, X, taken, tolerance)
    return found if modes else found[0], failures


def _misfits(own: Any, fresh: Any) -> list[str]:
    """Sentences on what the model holds that is not finite, or has another shape than what these data give."""
    found = []
    for name in HELD:
        held, expected = (_arrays(getattr(model, name, None)) for model in (own, fresh))
        shapes = [[np.shape(part) for part in arrays] for arrays in (held, expected)]
        if shapes[0] != shapes[1]:
            one, other = (" and ".join(map(str, part)) or "none" for part in shapes)
            found.append(f"{name} of the model has shape {one}, and its parameters ask for {other} on these data")
        elif not all(np.isfinite(part.data if sparse.issparse(part) else part).all() for part in held):
            found.append(f"{name} of the model holds numbers that are not finite")
    return found


def _arrays(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _differences(own: Any, fresh: Any, X: Any, taken: TakenOver, tolerance: float) -> list[str]:
    """Sentences on where the map of the model is not the map that its own directions give on these data."""
    found = []
    if not taken.apart <= tolerance:
        found.append(
            f"the directions are not those that follow from the graph: they are {taken.apart:.1e} radians apart"
        )
    if not taken.outside <= tolerance:
        found.append(
            f"the directions leave the space that the data span and pca= keeps, by a share of {taken.outside:.1e} of their length"
        )
    for name, one, other in _given(own, fresh, X):
        share = _share_apart(one, other)
        if not share <= tolerance:
            found.append(
                f"{name} than the directions do, by a share of {share:.1e}: the mean, the lengths, the scales, the densities or "
                "the fitted rows in the model are others, or so large that rounding drowns the rest"
            )
    return [*found, *_misreported(own, fresh, tolerance)]


def _misreported(own: Any, fresh: Any, tolerance: float) -> list[str]:
    """Sentences on what the model reports beside its map, where the data give another answer."""
    found = []
    for name in REPORTED:
        said, given = (getattr(model, name, None) for model in (own, fresh))
        if said is None or given is None:  # not known where rows came in blocks
            continue
        one, other = (np.asarray(part, dtype=np.float64) for part in (said, given))
        allowed = 0.0 if name in COUNTS else tolerance * (np.linalg.norm(other) or 1.0)
        if one.shape != other.shape or not np.linalg.norm(one - other) <= allowed:
            shown = f": {said}, and they give {given}" if one.size <= SHOWN else ""
            found.append(f"{name} of the model is not what the data give{shown}")
    return found


def _given(own: Any, fresh: Any, X: Any) -> Iterator[tuple[str, Any, Any]]:
    """What each of the two models gives, and what to say where they differ."""
    if (rows := _some(X)) is not None:
        yield "transform gives other numbers for the data", own.transform(rows), fresh.transform(rows)
    if not isinstance(own, FreeReducer):
        return
    yield "transform gives other numbers for rows near the data", *_of_new_rows(own, fresh)
    if hasattr(own, "inverse_transform"):
        Y = own.embedding_[:SOME]
        yield (
            "inverse_transform gives other numbers for the data",
            own.inverse_transform(Y),
            fresh.inverse_transform(Y),
        )


def _of_new_rows(own: Any, fresh: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where both models place rows that were not fitted. Each lies a little way from one fitted row towards another."""
    X, n = fresh.X_fit_, fresh.X_fit_.shape[0]
    some = np.random.RandomState(0).permutation(n)[:SOME]
    others = np.roll(some, 1)
    rows = X[some] * (1 - ASIDE) + X[others] * ASIDE
    try:
        return own.transform(rows), fresh.transform(rows)
    except NoPlaceError:  # the graph has no search among features
        links = sparse.eye_array(n, format="csr")
        links = (1 - ASIDE) * links[some] + ASIDE * links[others]
        return own.transform(rows, links=links), fresh.transform(rows, links=links)


def _some(X: Any) -> Any:
    """Some of the rows; None where rows are on disk or on a cluster."""
    if hasattr(X, "iloc"):
        return X.iloc[:SOME]
    return X.tocsr()[:SOME] if sparse.issparse(X) else X[:SOME] if isinstance(X, np.ndarray | list) else None


def _share_apart(one: np.ndarray, other: np.ndarray) -> float:
    """How far apart two embeddings are, as a share of the spread of the second."""
    one, other = (np.asarray(Z, dtype=np.float64).reshape(len(Z), -1) for Z in (one, other))
    return float(np.linalg.norm(one - other) / (np.linalg.norm(other - other.mean(axis=0)) or 1.0))


def _failures(certificate: Certificate, solution: Solution, values: np.ndarray) -> list[str]:
    tolerance, expected = certificate.tolerance, solution.values
    found = []
    if not certificate.residual <= tolerance:
        found.append(
            f"the directions do not solve the problem that the data pose: the residual is {certificate.residual:.1e}, and at "
            f"most {tolerance:.1e} is rounding"
        )
    if not certificate.constraint_error <= tolerance:
        found.append(
            f"the directions do not meet the constraint: the error is {certificate.constraint_error:.1e}, and at most "
            f"{tolerance:.1e} is rounding"
        )
    assert solution.pencil is not None
    if not np.abs(values - expected).max() <= tolerance * (solution.pencil.spread + np.abs(expected).max()):
        stored, smallest = (", ".join(f"{value:.6g}" for value in part[:SHOWN]) for part in (values, expected))
        found.append(f"the eigenvalues ({stored} ...) are not the smallest of the problem ({smallest} ...)")
    return found


def _unknown(own: Any, fresh: Any, found: Any, graph: Any) -> list[str]:
    said = [*fresh._taken_as_it_is]
    if getattr(own, "landmarks", None) is not None and not _is_seeded(own):
        said.append(
            "the landmarks were drawn at random without a seed (random_state), so those of the model were taken"
        )
    whole = own.graph_ if isinstance(own.graph_, Graph) else Graph()
    if graph is None and not all(is_exact(search.search) for search in whole.searches()):
        said.append(
            "the neighbours were searched by another program, which may find others the next time; the matrix of weights that "
            "the fit had, given as graph, would settle it"
        )
    if any(certificate and certificate.gap is None for certificate in (found if isinstance(found, list) else [found])):
        said.append("the gap and the angle are not known: the solver stops at the last direction that is asked for")
    if not hasattr(own, "certificate_"):
        said.append("the model has no certificate of its own: it was fitted before there were any")
    return said
