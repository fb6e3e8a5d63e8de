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
from sklearn.utils import get_tags

from .._validation import check_count
from ..blocks import Blocks, DenseBlocks, as_blocks, working_memory
from ..graphs import Graph, Precomputed, Repulsion, Sample
from ..neighbors import BlockSample, require_room
from ..operators import Array, Structured
from ..problem import Problem, Term, attraction
from ..rows import encode_labels
from ._principal import DENSE_LIMIT

QUERIES = (
    20_000  # of default graphs on rows in blocks: objective and accuracy are those of the whole graph (docs/scaling.md)
)


class Reducer(TransformerMixin, BaseEstimator):
    """Base of all maps. Methods write ``_problem(sample)`` and, where they have one, ``_default_graph(n_neighbors)``."""

    _n_neighbors: ClassVar[int] = 5  # of the default graph
    _takes_sparse_blocks: ClassVar[bool] = False  # whether rows without links take no part, but for their mean
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
        return self._graph_of(sample.n_samples, sample.in_blocks)

    def _graph_of(self, n: int, in_blocks: bool) -> Graph:
        default = (lambda k: sampled(self._default_graph(k))) if in_blocks else self._default_graph
        return as_graph("graph", self.graph, default, min(self._n_neighbors, n - 1))

    def _penalty_of(self, in_blocks: bool) -> Graph | None:
        """``penalty=``, resolved; None where there is none."""
        if self.penalty is None:
            return None
        return as_graph("penalty", self.penalty, (lambda k: sampled(Repulsion(k))) if in_blocks else Repulsion, 15)

    def _own(self, graph: Graph) -> Graph:
        """The graph to be kept in ``graph_``: not the user's object, which may change."""
        return clone(graph) if graph is self.graph else graph

    def _terms(self, sample: Sample) -> list[Term]:
        return linked("graph", self._graph(sample).terms(sample), sample)

    def _penalty_terms(self, sample: Sample) -> list[Term]:
        penalty = self._penalty_of(sample.in_blocks)
        assert penalty is not None
        return linked("penalty", penalty.terms(sample), sample)

    def _sample(self, X: Array, y: Any, k: int | None) -> Sample:
        """Rows in memory as a sample."""
        return Sample(X, y, k)

    def _as_blocks(self, X: Any, y: Any) -> Blocks | None:
        """X as rows in blocks; None where it is an array, or a memory map whose graph asks for all rows."""
        blocks = as_blocks(X, y)
        if blocks is None or not blocks.is_array:
            return blocks
        n, graphs = blocks.shape[0], [self._graph_of(blocks.shape[0], False), self._penalty_of(False)]
        try:
            for graph in filter(None, graphs):
                graph.require_blocks(n)
        except ValueError:
            return None
        return blocks

    def _block_sample(self, blocks: Blocks, y: Any, k: int | None) -> Sample:
        """Rows in blocks as a sample; all rows, where they fit in memory and a graph needs them."""
        n, d = blocks.shape
        if blocks.is_sparse and n <= DENSE_LIMIT:
            return self._sample(blocks.load(), blocks.labels(y), k)
        if blocks.is_sparse and d <= DENSE_LIMIT:
            blocks = DenseBlocks(blocks)
        graphs = [graph for graph in (self._graph_of(n, True), self._penalty_of(True)) if graph is not None]
        searches = [search for graph in graphs for search in graph.searches()]
        try:
            for graph in graphs:
                graph.require_blocks(n)
            if blocks.is_sparse:
                self._require_links(graphs)
            require_room(blocks, [search.checked(n) for search in searches])
        except ValueError:
            if n > QUERIES or n * d * blocks.dtype.itemsize > working_memory():
                raise
            return self._sample(blocks.load(), blocks.labels(y), k)
        labelled = get_tags(self).target_tags.required or any(graph.reads_labels for graph in graphs)
        return BlockSample(blocks, _required(y) if labelled else None, k, searches)

    def _require_links(self, graphs: list[Graph]) -> None:
        """Of sparse rows with so many features only those with links are held, and the mean of all."""
        unlinked = [leaf for graph in graphs for _, leaf in graph.signed() if not leaf.searches()]
        given = self.get_params(deep=False)
        truncated = (
            not isinstance(given.get("pca"), str | None) or given.get("penalty") is not None or given.get("normalize")
        )
        if not self._takes_sparse_blocks or unlinked or truncated:
            raise ValueError(
                f"X has sparse rows in blocks, of more than {DENSE_LIMIT:,} features; LPP, LPI and LaplacianScore take them, "
                f"with graphs of neighbours and without pca=, penalty= and normalize=, and {self!r} is something else; use one "
                "of these, or X in memory"
            )

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


def announce(reducer: Any, blocks: Blocks) -> None:
    """The number of features, and their names, as scikit-learn has them."""
    if blocks.shape[0] < 2:
        raise ValueError(f"X has {blocks.shape[0]} samples, but 2 is the least; pass more rows")
    reducer.n_features_in_ = blocks.shape[1]
    if blocks.feature_names is not None:
        reducer.feature_names_in_ = np.asarray(blocks.feature_names, dtype=object)


def sampled(graph: Graph) -> Graph:
    """The graph with a sample of its searches, for rows in blocks."""
    places = [name for name in graph.get_params() if name == "queries" or name.endswith("__queries")]
    return graph.set_params(**dict.fromkeys(places, QUERIES))


def is_sampled(graph: Graph, n: int) -> bool:
    return any(search.is_sampled(n) for search in graph.searches())


def _required(y: Any) -> Any:
    if y is None:
        encode_labels(None, 0)  # says what is missing
    return y


def connected_components(graph: Graph, terms: Sequence[Term], sample: Sample) -> int | None:
    """Of the graph that attracts, or of the one that repels where nothing attracts; unknown where only a sample was built."""
    if is_sampled(graph, sample.n_samples):
        return None
    first, *rest = [term.laplacian for term in attraction(terms) or terms]
    return sum(rest, start=first).n_connected_components(sample.counts)


def _outside() -> int:
    """The stack level, for the caller's warning, of the line that called into this package."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("lapwing."):
        frame, level = frame.f_back, level + 1
    return level


def linked(name: str, terms: list[Term], sample: Sample) -> list[Term]:
    """The terms that link samples: an empty repulsion is a warning, an empty attraction an error."""
    n = terms[0].laplacian.n
    most = n if sample.counts is None else sample.counts.sum()
    empty = [term.laplacian.n_connected_components(sample.counts) == most for term in terms]
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
