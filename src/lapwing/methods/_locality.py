"""Methods that keep neighbours together."""

from __future__ import annotations

from typing import Any, ClassVar

from ..graphs import KNN, Graph, Repulsion, Sample
from ..problem import ORTHOGONAL, Problem, degree_sum, laplacian_sum
from ..reducers import LinearReducer
from ..reducers._linear import as_graph


class LPP(LinearReducer):
    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Any = None,
        penalty: Any = None,
        pca: Any = "auto",
        center: Any = "auto",
        scaling: str = "unit",
        normalize: str | None = None,
        solver: str = "auto",
    ):
        super().__init__(n_components, graph=graph, pca=pca, center=center, normalize=normalize, solver=solver)
        self.penalty = penalty
        self.scaling = scaling

    def _default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors)

    def _problem(self, sample: Sample) -> Problem:
        terms = self._terms(sample)
        if self.penalty is None:
            return Problem(terms, degree_sum(terms))
        penalty = as_graph("penalty", self.penalty, Repulsion, 15)
        return Problem(terms, laplacian_sum(penalty.terms(sample)))


class OLPP(LinearReducer):
    _orthogonal: ClassVar[bool] = True

    def _default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors)

    def _problem(self, sample: Sample) -> Problem:
        return Problem(self._terms(sample), ORTHOGONAL)
