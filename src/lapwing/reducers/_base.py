"""What every map shares: the graph that was asked for, and its terms."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone

from .._validation import check_count
from ..graphs import Graph, Precomputed, Sample
from ..operators import Structured
from ..problem import Problem, Term, attraction


class Reducer(TransformerMixin, BaseEstimator):
    """Base of all maps. Methods write ``_problem(sample)`` and, where they have one, ``_default_graph(n_neighbors)``."""

    _n_neighbors: ClassVar[int] = 5  # of the default graph
    # Parameters that not every method has.
    graph: Any = None
    penalty: Any = None

    def _problem(self, sample: Sample) -> Problem:
        raise NotImplementedError

    def _default_graph(self, n_neighbors: int) -> Graph:
        raise NotImplementedError

    def _forget(self) -> None:
        """Unfit: a fit that fails must not leave an earlier one behind."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _graph(self, sample: Sample) -> Graph:
        """``graph=``, resolved."""
        return as_graph("graph", self.graph, self._default_graph, min(self._n_neighbors, sample.n - 1))

    def _own(self, graph: Graph) -> Graph:
        """The graph to be kept in ``graph_``: not the user's object, which may change."""
        return clone(graph) if graph is self.graph else graph

    def _terms(self, sample: Sample) -> list[Term]:
        return linked("graph", self._graph(sample).terms(sample))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        given = [graph for graph in (self.graph, self.penalty) if isinstance(graph, Graph)]
        by_size = isinstance(self.penalty, Integral)  # Repulsion, or ClosestPairs
        tags.target_tags.required = by_size or any(graph.reads_labels for graph in given)
        return tags


def combined(terms: Sequence[Term], forms: list[Any], normalize: str | None) -> Any:
    """FᵀAF: the one form of all terms, or, one a term, each scaled to trace 1 before its coefficient."""
    if normalize is None:
        return forms[0]
    return np.sum([term.coefficient / (np.trace(M) or 1.0) * M for term, M in zip(terms, forms, strict=True)], axis=0)


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
    given = repr(graph)
    given = given if len(given) < 100 else given[:97] + "..."
    raise ValueError(
        f"{name}={given} must be None, a number of neighbours, a lapwing graph, or a weight matrix (an array)"
    )


def connected_components(terms: Sequence[Term]) -> int:
    """Of the graph that attracts, or of the one that repels where nothing attracts."""
    first, *rest = [term.laplacian for term in attraction(terms) or terms]
    return sum(rest, start=first).n_connected_components()


def _outside() -> int:
    """The stack level, for the caller's warning, of the line that called into this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("lapwing."):
        frame, level = frame.f_back, level + 1
    return level


def linked(name: str, terms: list[Term]) -> list[Term]:
    """The terms that link samples: an empty repulsion is a warning, an empty attraction an error."""
    n_components = [term.laplacian.n_connected_components() for term in terms]
    n = terms[0].laplacian.n
    empty = [count == n for count in n_components]
    pulling = [term.coefficient > 0 for term in terms]
    if all(e for e, p in zip(empty, pulling, strict=True) if p or not any(pulling)):
        raise ValueError(
            f"{name} is empty: it links no two samples; use more neighbours, a larger radius, or classes of two samples or more"
        )
    if any(e and not p for e, p in zip(empty, pulling, strict=True)):
        warnings.warn(
            "the repulsion graph is empty, so nothing is repelled: no sample has one of another class among its nearest; "
            "use more neighbours",
            UserWarning,
            stacklevel=_outside(),
        )
    # An empty graph may still have degrees, which belong to the constraint, but its Laplacian is 0, not rounding.
    nothing = Structured(n)
    return [term._replace(laplacian=nothing) if e else term for term, e in zip(terms, empty, strict=True)]
