"""Methods that keep the shape of neighbourhoods."""

from __future__ import annotations

from typing import Any, ClassVar

from ..graphs import Graph, Reconstruction, Sample
from ..operators import identity
from ..problem import ORTHOGONAL, Problem
from ..reducers import LinearReducer


class NPE(LinearReducer):
    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Any = None,
        pca: Any = "auto",
        center: Any = "auto",
        scaling: str = "unit",
        normalize: str | None = None,
        solver: str = "auto",
    ):
        super().__init__(n_components, graph=graph, pca=pca, center=center, normalize=normalize, solver=solver)
        self.scaling = scaling

    def _default_graph(self, n_neighbors: int) -> Graph:
        return Reconstruction(n_neighbors)

    def _problem(self, sample: Sample) -> Problem:
        return Problem(self._terms(sample), identity(sample.n))


class ONPP(LinearReducer):
    _orthogonal: ClassVar[bool] = True

    def _default_graph(self, n_neighbors: int) -> Graph:
        return Reconstruction(n_neighbors)

    def _problem(self, sample: Sample) -> Problem:
        return Problem(self._terms(sample), ORTHOGONAL)
