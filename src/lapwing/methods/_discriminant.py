"""Methods that need labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..graphs import KNN, ClosestPairs, Complete, Graph, OtherClass, SameClass, Sample
from ..problem import ORTHOGONAL, Problem, degree_sum, laplacian_sum
from ..reducers import LinearReducer
from ..reducers._linear import as_graph
from ..solvers import Solution


class _Supervised(LinearReducer):
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _margin() -> Graph:
    """S_w - S_b: with S_b = S_t - S_w it is twice the class graph minus the complete one."""
    return 2 * SameClass() - Complete(among="labelled")


class MMC(_Supervised):
    _orthogonal: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        pca: Any = "auto",
        center: Any = "auto",
        solver: str = "auto",
    ):
        self.n_components = n_components
        self.pca = pca
        self.center = center
        self.solver = solver

    def _auto_energy(self, sample: Sample) -> float:
        return 0.99  # the margin does not overfit as neighbourhoods do (docs/defaults.md)

    def _problem(self, sample: Sample) -> Problem:
        return Problem(_margin().terms(sample), ORTHOGONAL)


class LPDP(_Supervised):
    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Any = None,
        alpha: float = 1.0,
        pca: Any = "auto",
        center: Any = "auto",
        scaling: str = "unit",
        normalize: str | None = None,
        solver: str = "auto",
    ):
        super().__init__(n_components, graph=graph, pca=pca, center=center, normalize=normalize, solver=solver)
        self.alpha = alpha
        self.scaling = scaling

    def _default_graph(self, n_neighbors: int) -> Graph:
        return KNN(n_neighbors, weights="binary")

    def _problem(self, sample: Sample) -> Problem:
        local = self._terms(sample)
        return Problem(local + (self.alpha * _margin()).terms(sample), degree_sum(local))


class MFA(_Supervised):
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
        return KNN(n_neighbors, weights="binary", among="same_class")

    def _problem(self, sample: Sample) -> Problem:
        penalty = as_graph("penalty", self.penalty, ClosestPairs, 20)
        return Problem(self._terms(sample), laplacian_sum(penalty.terms(sample)))


class DNE(_Supervised):
    _orthogonal: ClassVar[bool] = True

    def _default_graph(self, n_neighbors: int) -> Graph:
        near = KNN(n_neighbors, weights="binary")
        return (near & SameClass()) - (near & OtherClass())

    def _problem(self, sample: Sample) -> Problem:
        return Problem(self._terms(sample), ORTHOGONAL)

    def _selected(self, solution: Solution) -> Solution:
        if self.n_components is not None:
            return solution
        negative = solution.values < -1e-10 * np.abs(solution.values).max()
        if not negative.any():
            raise ValueError(
                "n_components=None keeps the directions of negative eigenvalue, and there are none here; give a number"
            )
        return solution._replace(values=solution.values[negative], vectors=solution.vectors[:, negative])
