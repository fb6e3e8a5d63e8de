"""The free map: F = I, so every sample has coordinates of its own and a new one is placed among its neighbours."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from ..graphs import Graph, Sample
from ..graphs._base import check_choice, check_count
from ..graphs._patches import affine_extension
from ..graphs._reconstruction import barycentric_weights
from ..graphs._search import nearest
from ..problem import Problem, laplacian_sum
from ..solvers import fix_signs, solve_free
from ._linear import as_graph, connected_components, linked


class FreeReducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the free methods; they say what the problem is, this class solves it and places new samples.

    Subclasses write ``_problem(sample)`` and ``_default_graph(n_neighbors)``.
    """

    _n_neighbors: ClassVar[int] = 12  # of the default graph

    def __init__(self, n_components: int = 2, *, graph: Any = None, extension: str = "affine"):
        self.n_components = n_components
        self.graph = graph
        self.extension = extension

    def _problem(self, sample: Sample) -> Problem:
        raise NotImplementedError

    def _default_graph(self, n_neighbors: int) -> Graph:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> FreeReducer:
        """Learn the coordinates of the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown. They act only through graphs that read them.

        Returns
        -------
        self
        """
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        k = check_count("n_components", self.n_components)
        check_choice("extension", self.extension, ("affine", "barycentric"))
        sample = Sample(X, y, k)
        graph = self._graph(sample)
        problem = self._problem(sample)
        terms = problem.minimise
        A = laplacian_sum(terms).tosparse()
        b = problem.degrees
        assert b is not None
        if not b.all():
            warnings.warn(
                f"samples without links: {int((b == 0).sum())} (the first is row {np.flatnonzero(b == 0)[0]}); placed at 0",
                UserWarning,
                stacklevel=2,
            )
        solution = solve_free(A, b, k, semidefinite=all(term.coefficient > 0 for term in terms))
        self.graph_ = clone(graph) if graph is self.graph else graph
        self.n_connected_components_ = connected_components(terms)
        self.solver_ = solution.solver
        self.eigenvalues_ = solution.values
        self.X_fit_ = X
        self.embedding_ = fix_signs(solution.vectors.T).T.astype(X.dtype)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn the coordinates of the rows of X and return them; equal rows get the mean of theirs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> np.ndarray:
        """The coordinates of rows that were fitted; others are placed among their nearest fitted neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        known, group = _places(self.X_fit_, X.astype(self.X_fit_.dtype, copy=False))
        sizes = np.bincount(known)
        stored = np.stack(
            [np.bincount(known, column) / sizes for column in self.embedding_.T.astype(np.float64)], axis=1
        )
        Y = np.empty((len(X), self.embedding_.shape[1]), dtype=X.dtype)
        Y[group >= 0] = stored[group[group >= 0]]
        new = np.flatnonzero(group < 0)
        if new.size:
            Y[new] = self._extended(X[new])
        return Y

    def _graph(self, sample: Sample) -> Graph:
        """``graph=``, resolved."""
        return as_graph("graph", self.graph, self._default_graph, min(self._n_neighbors, sample.n - 1))

    def _terms(self, sample: Sample) -> Any:
        return linked("graph", self._graph(sample).terms(sample))

    def _extended(self, X: np.ndarray) -> np.ndarray:
        searching = [graph for _, graph in self.graph_.signed() if hasattr(graph, "n_neighbors")]
        if not searching or getattr(searching[0], "kernel", None) is not None:
            raise ValueError(
                f"X has {len(X)} rows that were not fitted, and the graph ({type(self.graph_).__name__}) has no neighbour search "
                "among features to place them; use a graph that has, such as TangentAlignment(12) or KNN(5)"
            )
        k, metric = searching[0].n_neighbors, getattr(searching[0], "metric", "euclidean")
        n = len(self.X_fit_)
        both = Sample(np.vstack([self.X_fit_, X.astype(self.X_fit_.dtype, copy=False)]))
        new, fitted = np.arange(n, n + len(X)), np.arange(n)
        neighbors = nearest(both.space(metric, None), new, fitted, k).cols.reshape(len(X), k)
        Y = self.embedding_.astype(np.float64)
        if self.extension == "barycentric":
            return np.einsum("bi,bid->bd", barycentric_weights(both, new, neighbors, 1e-3), Y[neighbors])
        return affine_extension(self.X_fit_, Y, X, neighbors)

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.target_tags.required = isinstance(self.graph, Graph) and bool(self.graph.reads_labels)
        return tags


def _places(fitted: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number equal fitted rows alike; the number of each row of X, -1 where it is no fitted row."""
    numbers: dict[bytes, int] = {}
    known = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in fitted + 0.0])  # + 0.0: -0 is 0
    return known, np.array([numbers.get(row.tobytes(), -1) for row in X + 0.0])
