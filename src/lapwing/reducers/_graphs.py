"""From what the user wrote as a graph to the graph that is built."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._validation import check_count, outside
from ..graphs import KNN, Graph, Precomputed, SameClass
from ..operators import Structured
from ..problem import Term
from ..rows import Rows
from ..solvers import RankError

# The number of rows that default graphs search for, where rows come in blocks. The objective and the accuracy are as those of
# the whole graph (docs/scaling.md).
QUERIES = 20_000
NAMES = ("supervised", "semi")  # graphs that a user may give by name


class Graphs(NamedTuple):
    """``graph=`` and ``penalty=``, resolved, and what the rules of a fit ask about them, found once."""

    graph: Graph
    penalty: Graph | None
    queries: int | None  # rows that ``graph`` searches for; None for all of them
    equal_say: bool  # whether the graphs that attract are scaled to the same total degree, as ``normalize=`` asks for
    labels_attract: bool  # whether one of the graphs that attract reads labels
    labels_alone: bool  # whether all graphs that attract read labels
    of_classes: bool  # whether they read only labels, so that all samples of a class are alike to them
    repels: bool  # whether a part of ``graph`` repels
    only_attracts: bool  # whether no part repels, and there is no penalty
    is_euclidean: bool  # whether all neighbours are searched by Euclidean distances

    @classmethod
    def of(cls, graph: Graph, penalty: Graph | None, n: int, normalize: str | None, is_written: bool) -> Graphs:
        """Look at the graphs of n samples. ``normalize="auto"`` changes sums that a user writes, and not a method's own sum."""
        signed = graph.signed()
        pulling = [leaf for coefficient, leaf in signed if coefficient > 0]
        reading = [bool(leaf.reads_labels) for leaf in pulling]
        own: list[Any] = graph.searches()
        searches = own + ([] if penalty is None else penalty.searches())
        asked = [int(s.queries) for s in own if isinstance(s.queries, Integral) and s.queries < n]
        labels_alone = bool(reading) and all(reading)
        repels = any(coefficient < 0 for coefficient, _ in signed)
        is_sum = sum(not leaf.counts_pairs for leaf in pulling) > 1
        return cls(
            graph,
            penalty,
            queries=min(asked, default=None),
            equal_say=normalize == "degree" or (normalize == "auto" and is_written and is_sum),
            labels_attract=any(reading),
            labels_alone=labels_alone,
            of_classes=labels_alone and not any(leaf.reads_features or leaf.reads_targets for leaf in pulling),
            repels=repels,
            only_attracts=penalty is None and not repels,
            is_euclidean=all(s.metric in ("euclidean", "l2", "sqeuclidean") for s in searches),
        )

    @property
    def given(self) -> list[Graph]:
        """``graph``, and ``penalty`` where there is one."""
        return [self.graph] if self.penalty is None else [self.graph, self.penalty]

    def fitted(self, data: Rows) -> Graphs:
        """These graphs, once they have learnt from the rows what they need."""
        if not any(graph.learns for graph in self.given):
            return self
        penalty = None if self.penalty is None else self.penalty.fitted(data)
        return self._replace(graph=self.graph.fitted(data), penalty=penalty)

    def beside_columns(self, data: Rows) -> np.ndarray:
        """The columns of X that a graph reads and the map does not."""
        return np.unique(np.concatenate([graph.beside_columns(data) for graph in self.given]))


def as_graph(name: str, graph: Any, usual: Callable[[int], Graph], size: int, many: bool = False) -> Graph:
    """The graph that the user means by None, a size, a name, a graph or a matrix.

    With ``many`` rows a default graph is sampled.
    """
    default = (lambda k: sampled(usual(k))) if many else usual
    if graph is None:
        return default(size)
    if isinstance(graph, str) and graph in NAMES and name == "graph":
        if graph == "supervised":
            return SameClass()
        near = default(size)
        return (KNN(size) if near.reads_labels else near) + SameClass()
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, Integral) and not isinstance(graph, bool):
        return default(check_count(name, graph))
    if sparse.issparse(graph) or (hasattr(graph, "ndim") and graph.ndim == 2):
        return Precomputed(graph)
    given = repr(graph)
    given = given if len(given) < 100 else given[:97] + "..."
    raise ValueError(
        f'{name}={given} must be None, a number of neighbours, "supervised", "semi", a lapwing graph, or a matrix of weights'
    )


def sampled(graph: Graph) -> Graph:
    """The graph, with searches for a sample of the rows, as rows in blocks need it."""
    places = [name for name in graph.get_params() if name == "queries" or name.endswith("__queries")]
    return graph.set_params(**dict.fromkeys(places, QUERIES))


def sized(graph: Graph, n_components: int | None) -> Graph:
    """The graph with the ``n_components`` of the estimator, in those parts that leave it to the estimator."""
    for part in (graph, *graph.get_params().values()):
        if isinstance(part, Graph) and getattr(part, "n_components", 0) is None:
            part.set_params(n_components=n_components)
    return graph


def balanced(graph: Graph, data: Rows) -> list[tuple[float, Graph, list[Term]]]:
    """The graphs that add up to this one, with their coefficients and their terms.

    Graphs that attract are scaled to a total degree of n, so that in a sum with coefficients 1 and 1 both count equally.
    """
    found = []
    for coefficient, leaf in graph.signed():
        terms = leaf.terms(data)
        scaled = coefficient > 0 and not leaf.counts_pairs
        total = sum(data.total(term.coefficient * term.degrees.diagonal()) for term in terms) if scaled else 0.0
        found.append((coefficient * (data.n_samples / total if total > 0 else 1.0), leaf, terms))
    return found


def with_equal_say(graph: Graph, data: Rows) -> Graph:
    """The graph with coefficients such that all parts that attract have the same total degree."""
    first, *rest = [coefficient * leaf for coefficient, leaf, _ in balanced(graph, data)]
    return sum(rest, start=first)


def linked(name: str, graph: Graph, data: Rows, equal_say: bool = False) -> list[Term]:
    """The graph's terms that link samples. An empty graph is a warning where it repels, and an error where it attracts."""
    if equal_say:
        terms = [term.scaled(coefficient) for coefficient, _, parts in balanced(graph, data) for term in parts]
    else:
        terms = graph.terms(data)
    n = terms[0].laplacian.n
    most = n if data.counts is None else data.counts.sum()
    empty = [term.laplacian.n_connected_components(data.counts) == most for term in terms]
    pulling = [term.coefficient > 0 for term in terms]
    if all(e for e, p in zip(empty, pulling, strict=True) if p or not any(pulling)):
        raise RankError(
            f"{name} is empty: it links no two samples; use more neighbours, a larger radius, or classes of two samples or more"
        )
    if any(e and not p for e, p in zip(empty, pulling, strict=True)):
        warnings.warn(
            "the repulsion graph is empty, so nothing is repelled: no sample has one of another class among its nearest; "
            "use more neighbours",
            UserWarning,
            stacklevel=outside(),
        )
    # An empty graph may still have degrees, which belong to the constraint. Its Laplacian is set to exactly 0, without
    # rounding.
    nothing = Structured(n)
    return [term._replace(laplacian=nothing) if e else term for term, e in zip(terms, empty, strict=True)]
