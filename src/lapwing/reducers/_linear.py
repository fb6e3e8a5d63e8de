"""The linear map: F = X, so a fitted model is a mean and a matrix."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from ..graphs import Graph, Precomputed, Sample
from ..graphs._base import check_choice, check_count
from ..operators import Array, Structured, weighted_mean
from ..problem import Problem, Term, attraction, laplacian_sum
from ..solvers import SOLVERS, Solution, fix_signs, solve
from ._principal import DENSE_LIMIT, Keep, principal


class Coordinates(NamedTuple):
    """F - shift, and the way back to features; ``mean`` is the shift in features."""

    F: Array
    shift: np.ndarray
    mean: np.ndarray
    back: Callable[[np.ndarray], np.ndarray]
    n_pca: int | None


class LinearReducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the linear methods; they say what the problem is, this class solves it.

    Subclasses write ``_problem(sample)`` and, where they have one, ``_default_graph(n_neighbors)``.
    """

    _orthogonal: ClassVar[bool] = False
    _n_neighbors: ClassVar[int] = 5  # of the default graph

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Any = None,
        pca: Any = "auto",
        center: Any = "auto",
        normalize: str | None = None,
        solver: str = "auto",
    ):
        self.n_components = n_components
        self.graph = graph
        self.pca = pca
        self.center = center
        self.normalize = normalize
        self.solver = solver

    def _problem(self, sample: Sample) -> Problem:
        raise NotImplementedError

    def _default_graph(self, n_neighbors: int) -> Graph:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> LinearReducer:
        """Learn the projection.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown. They act only through graphs that read them.

        Returns
        -------
        self
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        k = self._check_parameters()
        sample = Sample(X, y)
        problem = self._problem(sample)
        terms = _nonempty(problem.minimise)
        energy = self._auto_energy(sample) if isinstance(self.pca, str) else self.pca
        F, shift, mean, back, n_pca = self._coordinates(X, problem, energy)
        A = self._objective(terms, F, shift)
        B = problem.subject_to.quadratic(F, shift) if isinstance(problem.subject_to, Structured) else None
        solution = self._selected(solve(A, B, k, solver=self.solver))
        components = back(solution.vectors)
        if getattr(self, "scaling", "constraint") == "unit":
            components /= np.linalg.norm(components, axis=1, keepdims=True)
        pulling = attraction(terms)
        self.n_connected_components_ = laplacian_sum(pulling).n_connected_components() if pulling else X.shape[0]
        self.n_pca_ = n_pca
        self.rank_ = solution.rank
        self.solver_ = solution.solver
        self.eigenvalues_ = solution.values
        self.mean_ = mean.astype(X.dtype)
        self.components_ = fix_signs(components).astype(X.dtype)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """``(X - mean_) @ components_.T``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        V = self.components_.T.astype(X.dtype, copy=False)
        return X @ V - (self.mean_ @ self.components_.T).astype(X.dtype)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Points of the original space with the given coordinates: exact for orthogonal directions, else the nearest to
        ``mean_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != len(self.components_):
            raise ValueError(f"X has {X.shape[1]} columns, but the projection has {len(self.components_)} components")
        back = self.components_ if self._orthogonal else np.linalg.pinv(self.components_.T)
        return X @ back + self.mean_

    def _check_parameters(self) -> int | None:
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        check_choice("normalize", getattr(self, "normalize", None), (None, "trace"))
        check_choice("scaling", getattr(self, "scaling", "constraint"), ("constraint", "unit"))
        check_choice("center", self.center, ("auto", "mean", "degree", False))
        pca = self.pca
        whole = isinstance(pca, Integral) and not isinstance(pca, bool) and pca >= 1
        share = isinstance(pca, Real) and not isinstance(pca, Integral) and 0 < float(pca) <= 1
        if not (pca is None or whole or share or (isinstance(pca, str) and pca == "auto")):
            raise ValueError(
                f'pca={pca!r} must be "auto", None (the whole rank), a number of directions, or an energy in (0, 1]'
            )
        return None if self.n_components is None else check_count("n_components", self.n_components)

    def _terms(self, sample: Sample) -> list[Term]:
        """The terms of ``graph=``, resolved."""
        self.graph_ = as_graph("graph", self.graph, self._default_graph, min(self._n_neighbors, sample.n - 1))
        return self.graph_.terms(sample)

    def _objective(self, terms: list[Term], F: Array, shift: np.ndarray) -> np.ndarray:
        """FᵀAF; with ``normalize="trace"`` each graph's part has trace 1 before its coefficient."""
        if getattr(self, "normalize", None) is None:
            return laplacian_sum(terms).quadratic(F, shift)
        parts = [(term.coefficient, term.laplacian.quadratic(F, shift)) for term in terms]
        return sum(coefficient / (np.trace(part) or 1.0) * part for coefficient, part in parts)

    def _auto_energy(self, sample: Sample) -> float:
        """What ``pca="auto"`` keeps: 90 %, and 99 % where classes of few samples shape the graph (docs/defaults.md)."""
        if not self.graph_.reads_labels:
            return 0.9
        sizes = np.bincount(sample.classes[sample.classes >= 0])
        return 0.99 if sizes.mean() < 10 else 0.9

    def _coordinates(self, X: Array, problem: Problem, pca: Any) -> Coordinates:
        """Centre, and project on principal directions where asked or needed."""
        weights = self._center_weights(X, problem)
        mean = np.zeros(X.shape[1]) if self.center is False else weighted_mean(X, weights)
        n, d = X.shape
        small = d <= n and not (sparse.issparse(X) and d > DENSE_LIMIT)
        if pca is None and small and not self._orthogonal:
            return Coordinates(X, mean, mean, lambda V: V.T, None)
        plain = mean if self.center is False or weights is None else weighted_mean(X)
        at_most = int(pca) if isinstance(pca, Integral) else None
        F, back = principal(X, plain, self._keep(pca), at_most)
        centred = np.zeros(F.shape[1]) if weights is None else weighted_mean(F, weights)
        return Coordinates(F, centred, mean, back, F.shape[1])

    def _center_weights(self, X: Array, problem: Problem) -> np.ndarray | None:
        """The weights of the mean: degrees where the constraint is a diagonal matrix; None for the plain mean."""
        degrees = problem.degrees
        if self.center == "degree" and degrees is None:
            raise ValueError(
                'center="degree" needs a constraint of degrees; orthogonal directions and penalty= have none: use "mean"'
            )
        if self.center not in ("auto", "degree") or degrees is None or np.ptp(degrees) == 0:
            return None
        return degrees

    def _keep(self, pca: Any) -> Keep:
        """How many principal directions to keep."""
        wanted = self.n_components or 1

        def keep(values: np.ndarray, total: float) -> int:
            rank = values.size
            if rank == 0:
                raise ValueError("X is constant: all samples are equal, so there is no direction to find")
            if pca is None:
                return rank
            if isinstance(pca, Integral):
                if pca > rank:
                    raise ValueError(f"pca={pca} is more than the rank of the centred data, {rank}; use pca={rank} or less")
                kept = int(pca)
            else:
                kept = min(rank, 1 + int(np.searchsorted(np.cumsum(values), pca * total * (1 - 1e-12))))
            if isinstance(self.pca, str):
                return max(kept, min(wanted, rank))
            if kept < min(wanted, rank):
                raise ValueError(
                    f"pca={pca} keeps {kept} directions, fewer than n_components={wanted}; raise pca, lower n_components, "
                    'or use pca="auto"'
                )
            return kept

        return keep

    def _selected(self, solution: Solution) -> Solution:
        return solution

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        graphs = (getattr(self, "graph", None), getattr(self, "penalty", None))
        tags.target_tags.required = any(graph.reads_labels for graph in graphs if isinstance(graph, Graph))
        return tags


def as_graph(name: str, graph: Any, default: Callable[[int], Graph], size: int) -> Graph:
    """A graph from what the user wrote: None, a size, a graph, or a matrix."""
    if graph is None:
        return default(size)
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, Integral) and not isinstance(graph, bool):
        return default(check_count(name, graph))
    if sparse.issparse(graph) or (hasattr(graph, "ndim") and graph.ndim == 2):
        return Precomputed(graph)
    raise ValueError(f"{name}={graph!r} must be None, a number of neighbours, a lapwing graph, or a weight matrix")


def _nonempty(terms: Any) -> list[Term]:
    """Without empty terms: an empty repulsion is a warning, an empty attraction an error."""
    pulling = attraction(terms)
    if all(term.laplacian.is_zero for term in pulling or terms):
        raise ValueError(
            "graph is empty: no two samples are linked; use more neighbours, a larger radius, or classes of two samples "
            "or more"
        )
    kept = [term for term in terms if not term.laplacian.is_zero]
    if any(term.coefficient < 0 and term.laplacian.is_zero for term in terms):
        warnings.warn(
            "the repulsion graph is empty, so nothing is repelled: no sample has one of another class among its nearest; "
            "use more neighbours",
            UserWarning,
            stacklevel=3,
        )
    return kept
