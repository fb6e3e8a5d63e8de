"""The problem of a fit: its graphs, the matrix to minimise, and the constraint."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..graphs import Complete, Graph, SameClass, Sample
from ..methods import LPDP
from ._graphs import graph_parts
from ._searches import distinct_searches, search_parts, touched
from ._sizes import Data, Matrix, Part, total


class Fit(NamedTuple):
    """A fit to be: the estimator, the size of X, and a sample of the same shape without any content."""

    estimator: Any
    data: Data
    sample: Sample
    k: int | None

    @property
    def graphs(self) -> list[Graph]:
        """The graph, and that of the constraint where there is one."""
        graph, penalty = self.estimator._graph(self.sample), self.estimator._penalty_of(self.sample.in_blocks)
        if isinstance(self.estimator, LPDP):
            graph = graph + (SameClass() * 2 - Complete(among="labelled"))
        return [graph] if penalty is None else [graph, penalty]


class Problem(NamedTuple):
    """The parts that make the problem; the matrices to minimise, one a term where each is scaled; and the constraint."""

    searches: list[Part]
    graph: list[Part]
    matrices: list[Matrix]
    constraint: Matrix | None
    touched: int  # rows that have links, at most; 0 where no search is sampled

    @property
    def parts(self) -> list[Part]:
        return self.searches + self.graph

    @property
    def every(self) -> list[Matrix]:
        return self.matrices + ([] if self.constraint is None else [self.constraint])

    @property
    def by_degrees(self) -> bool:
        return self.constraint is not None and not self.constraint.is_wide


def problem_of(fit: Fit) -> Problem:
    data, graphs = fit.data, fit.graphs
    searches = distinct_searches(graphs, data.n)
    found, rows = search_parts(searches, data), touched(searches, data.n)
    if fit.sample.in_blocks:
        data = data._replace(n=rows + data.n_classes)
    built = [graph_parts(graph, data) for graph in graphs]
    terms = [terms for _, terms in built]
    matrices = [matrix for _, matrix in terms[0]]
    if getattr(fit.estimator, "normalize", None) is None:
        matrices = [total(matrices)]
    return Problem(found, [part for parts, _ in built for part in parts], matrices, _constraint(fit, terms), rows)


def _constraint(fit: Fit, terms: list[list[tuple[float, Matrix]]]) -> Matrix | None:
    """The matrix of the penalty graph, or the degrees of the graph; None where V is orthogonal."""
    if len(terms) > 1:
        return total([matrix for _, matrix in terms[1]])
    if getattr(fit.estimator, "_orthogonal", False):
        return None
    even = all(matrix.diagonal != "uneven" for coefficient, matrix in terms[0] if coefficient > 0)
    return Matrix(diagonal="constant" if even else "uneven")


def with_halves(problem: Problem, solved: list[Part]) -> list[Part]:
    """Where a search is sampled, both halves of its links are solved for as well."""
    again = [*problem.graph, *solved, *solved] if problem.touched else []
    return [*solved, *(part._replace(name="halves", held=0.0, extra=part.held + part.extra) for part in again)]
