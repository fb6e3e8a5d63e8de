"""Graphs as parameter objects: who pulls whom, and how graphs combine.

A graph holds parameters only. ``build(X, y)`` turns it into signed terms, each with its Laplacian and its degrees.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from ..neighbors import Search, require_samplable
from ..operators import laplacian
from ..problem import Term
from ..rows import Sample


class Graph(BaseEstimator):
    """Base of all graphs. Combine them by ``+``, ``-``, ``*`` with a number, and ``&``.

    ``&`` binds weaker than ``-`` in Python, so bracket it: ``(KNN(5) & SameClass()) - (KNN(5) & OtherClass())``.
    """

    reads_labels: Any = False
    reads_features: Any = True  # whether it looks at X at all
    is_semidefinite: Any = True  # whether its matrix has no negative eigenvalue
    __array_ufunc__ = None  # so that ``np.float64(0.2) * graph`` comes to __rmul__

    def build(self, X: Any, y: Any = None) -> list[Term]:
        """The graph on the rows of X, as signed terms ``(coefficient, laplacian, degrees)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown; only for graphs that read them.
        """
        return self.terms(Sample.validated(X, y))

    def terms(self, sample: Sample) -> list[Term]:
        raise NotImplementedError

    def signed(self) -> list[tuple[float, Graph]]:
        """The graphs that this one adds up, with their coefficients."""
        return [(1.0, self)]

    def searches(self) -> list[Search]:
        """The neighbour searches that building it takes."""
        return []

    def require_blocks(self, n: int) -> None:
        """Raise where it needs all rows at once, and so cannot be built on rows that are read a block at a time."""
        raise ValueError(
            f"{type(self).__name__} needs all rows of X in memory, and X is read in blocks; use graphs of classes (SameClass) or "
            "of sampled neighbours (KNN with queries=), or pass X as an array"
        )

    def adjacency(self, sample: Sample) -> sparse.csr_array | None:
        """The weights as a sparse matrix; None where the graph is too dense to list its edges."""
        return None

    def weights_at(self, sample: Sample, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """The weights of given pairs; 0 where the graph has no edge."""
        raise ValueError(
            f"{type(self).__name__} has no edge weights that & could keep or look up; combine it by + and - instead"
        )

    def resolved(self, sample: Sample) -> Graph:
        """The graph with the parameters that it takes from the data written out, for :meth:`links`."""
        return self

    @property
    def has_links(self) -> bool:
        """Whether :meth:`links` knows how."""
        return False

    def links(self, both: Sample) -> sparse.csr_array:
        """Weights from the rows of ``both`` behind the fitted ones to those: how new samples are tied to fitted ones."""
        raise ValueError(
            f"{type(self).__name__} has no links for new rows: it is no search among features; give links= to transform, or use "
            "KNN or Radius"
        )

    def term(self, W: sparse.csr_array) -> Term:
        """The term of this graph's weights W, or of those of them that ``&`` keeps."""
        return Term(1.0, *laplacian(W))

    def __add__(self, other: Graph) -> Graph:
        return _combined(self, other, 1.0)

    def __sub__(self, other: Graph) -> Graph:
        return _combined(self, other, -1.0)

    def __mul__(self, scale: float) -> Graph:
        if not isinstance(scale, Real):
            return NotImplemented
        return Scaled(self, float(scale))

    __rmul__ = __mul__

    def __neg__(self) -> Graph:
        return self * -1.0

    def __and__(self, other: Graph) -> Graph:
        return Intersection(self, other) if isinstance(other, Graph) else NotImplemented


def _combined(left: Graph, right: Graph, sign: float) -> Graph:
    if not isinstance(right, Graph):
        return NotImplemented
    if isinstance(right, Scaled):
        return Combination(left, right.graph, sign * right.scale)
    return Combination(left, right, sign)


def require_queries(graph: Graph, search: Search) -> None:
    """Of rows that are read in blocks, the neighbours of a few can be had."""
    require_samplable(search)
    if search.queries is None:
        name = type(graph).__name__
        raise ValueError(
            f"{name}({search.n_neighbors}) searches for the neighbours of every row, and X is read in blocks; search for those "
            f"of a sample: {name}({search.n_neighbors}, queries=20_000)"
        )


class SparseGraph(Graph):
    """A graph that is the list of its edges."""

    def terms(self, sample: Sample) -> list[Term]:
        W = self.adjacency(sample)
        assert W is not None
        return [self.term(W)]

    def weights_at(self, sample: Sample, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        W = self.adjacency(sample)
        assert W is not None
        return lookup(W, rows, cols)


class Scaled(Graph):
    """``scale * graph``."""

    def __init__(self, graph: Graph, scale: float = 1.0):
        self.graph = graph
        self.scale = scale

    @property
    def reads_labels(self) -> bool:
        return _any_reads_labels(self.graph)

    def terms(self, sample: Sample) -> list[Term]:
        return [term.scaled(_finite(self.scale)) for term in _graph("graph", self.graph).terms(sample)]

    def signed(self) -> list[tuple[float, Graph]]:
        return [(_finite(self.scale) * coefficient, leaf) for coefficient, leaf in _graph("graph", self.graph).signed()]

    def searches(self) -> list[Search]:
        return self.graph.searches()

    def require_blocks(self, n: int) -> None:
        self.graph.require_blocks(n)

    def adjacency(self, sample: Sample) -> sparse.csr_array | None:
        W = self.graph.adjacency(sample)
        return None if W is None else W * self.scale

    def resolved(self, sample: Sample) -> Graph:
        return Scaled(self.graph.resolved(sample), self.scale)

    @property
    def has_links(self) -> bool:
        return self.graph.has_links

    def links(self, both: Sample) -> sparse.csr_array:
        return self.scale * self.graph.links(both)

    def weights_at(self, sample: Sample, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return self.scale * self.graph.weights_at(sample, rows, cols)

    def __mul__(self, scale: float) -> Graph:
        if not isinstance(scale, Real):
            return NotImplemented
        return Scaled(self.graph, float(scale) * self.scale)

    __rmul__ = __mul__


class Combination(Graph):
    """``left + scale * right``; a negative scale repels.

    In a grid search: ``graph__left__...``, ``graph__right__...`` and ``graph__scale``.
    """

    def __init__(self, left: Graph, right: Graph, scale: float = 1.0):
        self.left = left
        self.right = right
        self.scale = scale

    @property
    def reads_labels(self) -> bool:
        return _any_reads_labels(self.left, self.right)

    def terms(self, sample: Sample) -> list[Term]:
        return _graph("left", self.left).terms(sample) + self._scaled_right().terms(sample)

    def signed(self) -> list[tuple[float, Graph]]:
        return _graph("left", self.left).signed() + self._scaled_right().signed()

    def searches(self) -> list[Search]:
        return _graph("left", self.left).searches() + _graph("right", self.right).searches()

    def require_blocks(self, n: int) -> None:
        self.left.require_blocks(n)
        self.right.require_blocks(n)

    def resolved(self, sample: Sample) -> Graph:
        return Combination(self.left.resolved(sample), self.right.resolved(sample), self.scale)

    @property
    def has_links(self) -> bool:
        return any(coefficient > 0 and leaf.has_links for coefficient, leaf in self.signed())

    def links(self, both: Sample) -> sparse.csr_array:
        """Of what attracts: new rows have no label."""
        pulling = [(coefficient, leaf) for coefficient, leaf in self.signed() if coefficient > 0]
        found = [coefficient * leaf.links(both) for coefficient, leaf in pulling if leaf.has_links]
        return sum(found[1:], start=found[0]) if found else super().links(both)

    def _scaled_right(self) -> Scaled:
        return Scaled(_graph("right", self.right), self.scale)

    def weights_at(self, sample: Sample, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        raise ValueError("& takes a sum of graphs on its left only: (A + B) & C, not C & (A + B)")


class Intersection(Graph):
    """``left & right``: left's weights on the edges that right has too."""

    def __init__(self, left: Graph, right: Graph):
        self.left = left
        self.right = right

    @property
    def reads_labels(self) -> bool:
        return _any_reads_labels(self.left, self.right)

    def terms(self, sample: Sample) -> list[Term]:
        return [part.term(part.adjacency(sample)).scaled(coefficient) for coefficient, part in self.signed()]

    def term(self, W: sparse.csr_array) -> Term:
        return self.left.term(W)

    def signed(self) -> list[tuple[float, Graph]]:
        right = _graph("right", self.right)
        return [(coefficient, Intersection(leaf, right)) for coefficient, leaf in _graph("left", self.left).signed()]

    def adjacency(self, sample: Sample) -> sparse.csr_array:
        if any(search.is_sampled(sample.n_samples) for search in self.right.searches()):
            raise ValueError(
                f"{self.right!r} has links of a sample of the rows, and cannot say which links of another graph to keep; put it "
                "on the left of &"
            )
        W = self.left.adjacency(sample)
        edges = W if W is not None else self.right.adjacency(sample)
        if edges is None:
            raise ValueError(
                f"{type(self.left).__name__} & {type(self.right).__name__}: neither graph is sparse, so their common "
                "edges cannot be listed; one side must be a sparse graph such as KNN, Radius or Precomputed"
            )
        edges = sparse.coo_array(edges)
        other = self.right if W is not None else self.left
        weights = other.weights_at(sample, edges.row, edges.col)
        kept = np.where(weights != 0, edges.data, 0.0) if W is not None else weights
        common = sparse.csr_array((kept, (edges.row, edges.col)), shape=edges.shape)
        common.eliminate_zeros()
        return common

    def weights_at(self, sample: Sample, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        return lookup(self.adjacency(sample), rows, cols)

    def searches(self) -> list[Search]:
        return _graph("left", self.left).searches() + _graph("right", self.right).searches()

    def require_blocks(self, n: int) -> None:
        self.left.require_blocks(n)
        self.right.require_blocks(n)

    def resolved(self, sample: Sample) -> Graph:
        return Intersection(self.left.resolved(sample), self.right)

    @property
    def has_links(self) -> bool:
        return self.left.has_links

    def links(self, both: Sample) -> sparse.csr_array:
        """Those of the left side: what filters it reads labels or pairs, which new rows have not."""
        return self.left.links(both)


def lookup(W: sparse.csr_array, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    return np.asarray(W[rows, cols]).ravel()


def _graph(name: str, graph: Any) -> Graph:
    if not isinstance(graph, Graph):
        raise ValueError(f"{name}={graph!r} must be a graph, such as KNN(5)")
    return graph


def _any_reads_labels(*graphs: Any) -> bool:
    return any(graph.reads_labels for graph in graphs if isinstance(graph, Graph))


def _finite(scale: float) -> float:
    if not (isinstance(scale, Real) and np.isfinite(float(scale))):
        raise ValueError(f"scale={scale!r} must be a finite number")
    return float(scale)
