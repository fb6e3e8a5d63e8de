"""The free map: F = I. Every sample has coordinates of its own, and a new sample is placed among its neighbours."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_choice, check_count, check_in_memory
from ..blocks import stacked
from ..devices import host, to_numpy
from ..graphs import Graph, On, affine_extension, barycentric_weights
from ..neighbors import NoPlaceError, Search, find_fitted, is_named
from ..operators import Array, alike
from ..problem import Problem, laplacian_sum
from ..rows import Rows, row_bytes
from ..solvers import Solution, fix_signs, solve
from ._base import DTYPES, Graphs, Reducer
from ._graphs import outside, with_equal_say
from ._places import shared_place


class FreeReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the free methods. A method says what the problem is, and this class solves it and places new samples.

    See :class:`Reducer` for what a method writes.

    Parameters
    ----------
    n_components, graph, extension, normalize
        As in :class:`lapwing.TangentialMaps`.

    Examples
    --------
    A method of your own:

    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graphs import KNN
    >>> from lapwing.operators import identity
    >>> from lapwing.problem import Problem
    >>> from lapwing.reducers import FreeReducer
    >>> class Smooth(FreeReducer):
    ...     "Coordinates that differ little between neighbours."
    ...     def default_graph(self, n_neighbors):
    ...         return KNN(n_neighbors)
    ...     def _problem(self, data, graphs):
    ...         return Problem(self._terms(data, graphs), identity(data.n))
    >>> Smooth(2, graph=7).fit_transform(load_iris().data).shape
    (150, 2)
    """

    n_neighbors: ClassVar[int] = 12  # how many neighbours the default graph has
    _extensions: ClassVar[tuple[str, ...]] = ("affine", "barycentric")
    _reads_features: ClassVar[bool] = False  # whether the problem reads X itself
    _crowded: ClassVar[bool] = True  # whether the smallest eigenvalues crowd at 0

    def __init__(
        self,
        n_components: int = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        extension: str = "affine",
        normalize: str | None = "auto",
    ):
        self.n_components = n_components
        self.graph = graph
        self.extension = extension
        self.normalize = normalize

    def _check_parameters(self) -> None:
        check_count("n_components", self.n_components)
        if "extension" in self.get_params(deep=False):
            check_choice("extension", self.extension, self._extensions)
        check_choice("normalize", getattr(self, "normalize", None), ("auto", None, "degree"))

    def _prepared(self, X: Any, y: Any, weights: Any = None) -> tuple[Rows, Graphs]:
        data, graphs = super()._prepared(X, y)
        graph = graphs.graph
        if graphs.queries is not None:
            raise ValueError(
                f"graph={graph!r} links a sample of the rows, and {type(self).__name__} has a place for each; leave queries out, "
                "or use a linear map such as LPP"
            )
        if self._reads_features or graph.reads_features:
            _check_features(data)
        graph = graph.resolved(data)  # widths and coefficients are written out, since new rows are linked by them
        if graphs.equal_say:
            graph = with_equal_say(graph, data)
        return data, graphs._replace(graph=graph, equal_say=False)

    def _for_map(self, data: Rows, graphs: Graphs) -> Rows:
        """The rows as they are: samples have coordinates of their own, whatever the features are."""
        if self._reads_features and graphs.beside_columns(data).size:
            raise ValueError(
                f"graph={graphs.graph!r} has columns beside the features, and {type(self).__name__} represents all columns of X; "
                "leave beside=True out, or pass the matrix of weights"
            )
        return data

    def _map(self, data: Rows, graphs: Graphs) -> None:
        """F is the identity: forms are the matrices themselves."""

    def _solve(self, F: None, data: Rows, problem: Problem, graphs: Graphs) -> Solution:
        b = problem.degrees
        assert b is not None
        if not b.all():
            warnings.warn(
                f"samples without links: {int((b == 0).sum())} (the first is row {np.flatnonzero(b == 0)[0]}); placed at 0",
                UserWarning,
                stacklevel=outside(),
            )
        A = laplacian_sum(problem.minimise).tosparse()
        semidefinite = graphs.graph.is_semidefinite
        crowded = self._crowded or data.X.shape[1] <= 3  # up to three columns are taken for a surface
        constant = np.ones((data.n, 1))
        return solve(A, b, self.n_components, deflate=constant, semidefinite=semidefinite, crowded=crowded)

    def _solved_problems(self, solution: Solution) -> Solution:
        return solution

    def _store(self, F: Any, data: Rows, problem: Problem, graphs: Graphs, solution: Solution) -> None:
        super()._store(F, data, problem, graphs, solution)
        self.solver_ = solution.solver
        self.eigenvalues_ = solution.values
        self.X_fit_ = data.X
        assert problem.degrees is not None
        self._linked = np.flatnonzero(problem.degrees)
        vectors = solution.vectors * self._lengths(solution.values)
        self.embedding_ = fix_signs(vectors.T).T.astype(data.X.dtype)

    def _lengths(self, values: np.ndarray) -> np.ndarray:
        """The factors that the coordinates of each eigenvalue are multiplied by."""
        return np.ones(values.size)

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Learn the coordinates of the rows of X and return them. Equal rows get the mean of their coordinates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,), default=None
            Their labels, where the graph uses them.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).transform(X)

    def transform(self, X: Any, links: Any = None) -> np.ndarray:
        """The coordinates of rows. Fitted rows keep theirs, and others are placed among their nearest fitted neighbours.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, fitted or new.
        links : array-like or sparse matrix of shape (n_samples, n_fitted), default=None
            Weights that link the rows of X to the fitted ones, in the place of a search. They are needed where the graph cannot
            search, as ``Precomputed`` cannot.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        place, X = shared_place(self, X)
        if place is not None:  # fitted rows are looked up, and new ones placed, on the CPU
            return place.leave(to_numpy(self).transform(host(X), None if links is None else host(links)))
        check_in_memory(X, f"transform of {type(self).__name__}")
        sparse_ok = "csr" if self._takes_sparse else False
        X = alike(validate_data(self, X, accept_sparse=sparse_ok, dtype=DTYPES, reset=False), self.X_fit_)
        if links is not None:
            return self._by_links(X, self._checked_links(links, X.shape[0])).astype(X.dtype)
        known, group = _places(self.X_fit_, X.astype(self.X_fit_.dtype, copy=False))
        sizes = np.bincount(known)
        stored = np.stack(
            [np.bincount(known, column) / sizes for column in self.embedding_.T.astype(np.float64)], axis=1
        )
        Y = np.empty((X.shape[0], self.embedding_.shape[1]), dtype=X.dtype)
        Y[group >= 0] = stored[group[group >= 0]]
        new = np.flatnonzero(group < 0)
        if new.size:
            Y[new] = self._extended(X[new])
        return Y

    def _checked_links(self, links: Any, n: int) -> sparse.csr_array:
        W = sparse.csr_array(check_array(links, accept_sparse="csr", dtype=np.float64, input_name="links"))
        if W.shape != (n, len(self.embedding_)) or (W.nnz and W.data.min() < 0):
            raise ValueError(
                f"links must be of shape {(n, len(self.embedding_))}, new by fitted samples, and not negative; got shape "
                f"{W.shape}"
            )
        return W

    def _by_links(self, X: Array, W: sparse.csr_array) -> np.ndarray:
        """The means of the linked samples."""
        degrees = np.asarray(W.sum(axis=1)).ravel()
        W = sparse.diags_array(1 / np.where(degrees > 0, degrees, 1.0)) @ W
        return W @ self.embedding_.astype(np.float64)

    def _extended(self, X: Array) -> np.ndarray:
        pulling = [graph for coefficient, graph in self.graph_.signed() if coefficient > 0]
        searching = [graph for graph in pulling if _searches_features(graph)]
        if not searching:
            raise NoPlaceError(
                f"X has {X.shape[0]} rows that were not fitted, and the graph ({type(self.graph_).__name__}) has no neighbour "
                "search among features to place them; give links= to transform, or use TangentAlignment(12) or KNN(5)"
            )
        graph: Any = searching[0]
        both = self._both(X)
        while isinstance(graph, On):
            graph, both = graph.graph, graph.view(both)
        k, fitted = graph.n_neighbors, np.arange(both.n_fitted)
        search = Search(k, graph.metric, getattr(graph, "metric_params", None))
        neighbors = find_fitted(both, search).cols.reshape(-1, k)
        Y = self.embedding_[self._linked].astype(np.float64)
        if self.extension == "barycentric":
            weights = barycentric_weights(both, np.arange(both.n_fitted, both.n), neighbors, 1e-3)
            return np.einsum("bi,bid->bd", weights, Y[neighbors])
        return affine_extension(both.X[fitted], Y, both.X[both.n_fitted :], neighbors)

    def _both(self, X: Array) -> Rows:
        """The fitted rows that have links, and the new rows after them."""
        fitted = self.X_fit_[self._linked]
        return Rows(stacked([fitted, X.astype(fitted.dtype, copy=False)]), n_fitted=fitted.shape[0])

    def _links(self, X: Array, graph: Graph | None = None) -> sparse.csr_array:
        """The links of new rows by the graph, or by one part of it."""
        W = (self.graph_ if graph is None else graph).links(self._both(X))
        return sparse.csr_array((W.data, self._linked[W.indices], W.indptr), shape=(X.shape[0], len(self.embedding_)))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "embedding_")


def _check_features(data: Rows) -> None:
    if data.F.is_constant:
        raise ValueError("X is constant: all samples are equal, so there is nothing to unfold")


def _searches_features(graph: Any) -> bool:
    if isinstance(graph, On):
        return _searches_features(graph.graph)
    plain = (
        not is_named(getattr(graph, "metric", "precomputed"), "precomputed") and getattr(graph, "search", None) is None
    )
    return graph.reads_features and hasattr(graph, "n_neighbors") and plain and getattr(graph, "kernel", None) is None


def _places(fitted: Array, X: Array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that equal fitted rows share, and the number of each row of X, -1 where it is not a fitted row."""
    numbers: dict[bytes, int] = {}
    known = np.array([numbers.setdefault(row, len(numbers)) for row in row_bytes(fitted)])
    return known, np.array([numbers.get(row, -1) for row in row_bytes(X)])
