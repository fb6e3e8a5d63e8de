"""The free map: F = I. Every sample has coordinates of its own, and a new sample is placed among its neighbours."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .. import auto
from .._arrays import Array
from .._validation import caller_stacklevel, check_choice, check_count
from ..data import Data, SparseData, canonical, validated
from ..graphs import Graph, On, affine_extension, barycentric_weights, nearest_fitted
from ..maps import Free
from ..neighbors import NoPlaceError, Request, is_named
from ..operators import Structured
from ..problem import Problem, laplacian_sum
from ..solvers import Solution, certify, fix_signs, solve
from .base import Reducer, equal_coefficient, takes_tensors


class FreeReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the free methods. A method says what the problem is, and this class solves it and places new samples.

    See :class:`Reducer` for what a method writes.

    Parameters
    ----------
    ... : As in :class:`lapwing.TangentialMaps`

    Examples
    --------
    >>> from lapwing import LaplacianEigenmaps
    >>> from lapwing.reducers import FreeReducer
    >>> issubclass(LaplacianEigenmaps, FreeReducer)
    True
    """

    n_components: int = 2
    graph: Graph | int | str | ArrayLike | None = None
    extension: str = "affine"
    normalize: str | None = "auto"
    preset: str = "measured"
    verbose: bool | None = None

    n_neighbors: ClassVar[int] = 12  # how many neighbours the default graph has
    _choices: ClassVar[dict[str, tuple]] = {"normalize": ("auto", None, "degree")}
    _extensions: ClassVar[tuple[str, ...]] = ("affine", "barycentric")
    _reads_features: ClassVar[bool] = False  # whether the problem reads X itself
    _crowded: ClassVar[bool] = True  # whether the smallest eigenvalues crowd at 0

    def _without(self, data: Data, graphs: auto.GraphFacts) -> Data:
        """The rows as they are: samples have coordinates of their own, whatever the features are."""
        if self._reads_features:
            raise ValueError(
                f"graph={self.graph!r} has columns beside the features, and {type(self).__name__} represents all columns of X; "
                "leave beside=True out"
            )
        return data

    def _map(self, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings) -> Free:
        check_count("n_components", self.n_components)
        if "extension" in self.get_params(deep=False):
            check_choice("extension", self.extension, self._extensions)
        if graphs.is_sampled:
            raise ValueError(
                f"graph={graphs.graph!r} links a sample of the rows, and {type(self).__name__} has a place for each; leave "
                "queries out, or use LPP"
            )
        if (self._reads_features or graphs.graph.reads_features) and not data.deviations.any():
            raise ValueError("X is constant: all samples are equal, so there is nothing to unfold")
        return Free(data.n)

    def _solve(self, F: Free, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings) -> Solution:
        b = problem.degrees
        assert b is not None
        if (alone := np.flatnonzero(b == 0)).size:
            message = f"samples without links: {alone.size} (the first is row {alone[0]}); placed at 0"
            warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())
        return solve(
            F.form(laplacian_sum(problem.minimise)),
            b,
            self.n_components,
            deflate=np.ones((data.n, 1)),
            semidefinite=graphs.graph.is_semidefinite,
            crowded=self._crowded or data.d <= 3,  # up to three columns are taken for a surface
        )

    def _store(self, data: Data, F: Free, problem: Problem, graphs: auto.GraphFacts, found: Solution) -> None:
        B = problem.subject_to
        assert isinstance(B, Structured) and B.diag is not None  # noqa: PT018
        del self.scale_  # columns are never divided
        self.solver_, self.eigenvalues_, self.X_fit_ = found.solver, found.values, data.X
        self.certificate_, self._linked = certify(found, data.X.dtype, type(self).__name__), np.flatnonzero(B.diag)
        self.embedding_ = fix_signs(found.vectors.T).T.astype(data.X.dtype)
        # Widths and coefficients are written out, since new rows are linked by them.
        graph = graphs.graph
        if graphs.equal_say:
            each = [equal_coefficient(c, leaf, leaf.terms(data), data) * leaf for c, leaf in graph.signed()]
            graph = sum(each[1:], start=each[0])
        self.graph_ = graph.resolved(data)

    def transform(self, X: Any, links: Any = None) -> np.ndarray:
        """The coordinates of rows. Fitted rows keep theirs (equal ones the mean), and others are placed among their neighbours.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, fitted or new.
        links : array-like or sparse matrix of shape (n_samples, n_fitted), default=None
            Weights that link the rows of X to the fitted ones, where the graph cannot search, as ``Precomputed`` cannot.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        data = validated(self, X, fitting=False)
        if data.device is not None:
            return takes_tensors(FreeReducer.transform)(self, X, links)
        X = data.X
        if sparse.issparse(X) != sparse.issparse(self.X_fit_):
            X = X.toarray() if sparse.issparse(X) else sparse.csr_array(X)
        if links is not None:
            W = sparse.csr_array(check_array(links, accept_sparse="csr", dtype=np.float64, input_name="links"))
            shape = (X.shape[0], len(self.embedding_))
            if W.shape != shape or W.data.min(initial=0) < 0:
                raise ValueError(f"links must be of shape {shape}, new by fitted, and not negative; got {W.shape}")
            return self._by_links(X, W).astype(X.dtype)
        known, group = places_among(self.X_fit_, X.astype(self.X_fit_.dtype, copy=False))
        columns = [np.bincount(known, column) / np.bincount(known) for column in self.embedding_.T.astype(np.float64)]
        Y = np.stack(columns, axis=1)[group].astype(X.dtype)
        if (group < 0).any():
            Y[group < 0] = self._extended(X[group < 0])
        return Y

    def _by_links(self, X: Array, W: sparse.csr_array) -> np.ndarray:
        """The means of the linked samples."""
        degrees = W.sum(axis=1)
        return sparse.diags_array(1 / np.where(degrees > 0, degrees, 1.0)) @ W @ self.embedding_.astype(np.float64)

    def _extended(self, X: Array) -> np.ndarray:
        """The places of new rows, by an affine map of the patch of their neighbours, or by barycentric weights."""
        searching = [graph for c, graph in self.graph_.signed() if c > 0 and _searches_features(graph)]
        if not searching:
            raise NoPlaceError(
                f"X has {X.shape[0]} rows that were not fitted, and {type(self.graph_).__name__} has no neighbour search "
                "among features to place them; give links= to transform, or use KNN(5)"
            )
        graph: Any = searching[0]
        both, n = self._both(X)
        while isinstance(graph, On):
            graph, both = graph.graph, graph.view(both)
        k, new = graph.n_neighbors, np.arange(n, both.n)
        request = Request(k, graph.metric, getattr(graph, "metric_params", None))
        near = nearest_fitted(both, n, request)[1].reshape(-1, k)
        Y = self.embedding_[self._linked].astype(np.float64)
        if self.extension == "barycentric":
            return np.einsum("bi,bid->bd", barycentric_weights(both, new, near, 1e-3), Y[near])
        return affine_extension(both, Y, new, near)

    def _both(self, X: Array) -> tuple[Data, int]:
        """The fitted rows that have links, the new rows after them, and how many of them are fitted."""
        fitted = self.X_fit_[self._linked]
        return (SparseData if sparse.issparse(fitted) else Data)(fitted).stacked(X), fitted.shape[0]

    def _links(self, X: Array, graph: Graph | None = None) -> sparse.csr_array:
        """The links of new rows by the graph, or by one part of it."""
        W = (self.graph_ if graph is None else graph).links(*self._both(X))
        return sparse.csr_array((W.data, self._linked[W.indices], W.indptr), shape=(X.shape[0], len(self.embedding_)))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def _searches_features(graph: Any) -> bool:
    if isinstance(graph, On):
        return _searches_features(graph.graph)
    named = is_named(getattr(graph, "metric", "precomputed"), "precomputed")
    plain = not named and getattr(graph, "search", None) is None
    return graph.reads_features and hasattr(graph, "n_neighbors") and plain


def places_among(fitted: Array, X: Array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that equal fitted rows share, and the number of each row of X, -1 where it is not a fitted row."""
    keys = []
    for rows in (fitted, X):
        if not sparse.issparse(rows):
            keys.append([row.tobytes() for row in rows + 0.0])  # adding 0.0 turns -0 into 0
            continue
        rows = canonical(rows).copy()
        rows.eliminate_zeros()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        keys.append([rows.indices[a:b].astype(np.int64).tobytes() + rows.data[a:b].tobytes() for a, b in ends])
    numbers: dict[bytes, int] = {}
    known = np.array([numbers.setdefault(row, len(numbers)) for row in keys[0]])
    return known, np.array([numbers.get(row, -1) for row in keys[1]])
