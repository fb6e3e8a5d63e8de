"""The linear map: F = X, so that a fitted model is a mean and a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .. import auto, maps
from ..data import FLOATS, Data
from ..maps import Coordinates
from ..problem import ORTHOGONAL, Problem
from ..solvers import fix_signs
from .base import takes_tensors
from .projecting import ProjectingReducer


class LinearReducer(ProjectingReducer):
    """Base of the linear methods; see :class:`Reducer` for what a method writes.

    Parameters
    ----------
    ... : As in :class:`lapwing.LPP`

    Examples
    --------
    A method of your own, which keeps apart what a graph links, by orthogonal directions:

    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graphs import KNN
    >>> from lapwing.problem import ORTHOGONAL, Problem
    >>> from lapwing.reducers import LinearReducer
    >>> class Apart(LinearReducer):
    ...     "Draws neighbours apart."
    ...     _orthogonal = True
    ...     def default_graph(self, n_neighbors):
    ...         return KNN(n_neighbors)
    ...     def _problem(self, data, graphs):
    ...         return Problem([term.scaled(-1.0) for term in self._terms(data, graphs)], ORTHOGONAL)
    >>> Apart(2, graph=7).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _takes_tensors = _takes_weights = _takes_sums = _takes_blocks = True

    def _coordinates(self, data: Data) -> Any:
        return data.project(self.mean_, self.components_)

    @takes_tensors
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Points of the original space that have the given coordinates.

        They are unique for orthogonal directions. For others they are the nearest to ``mean_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            The coordinates, as :meth:`transform` gives them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=FLOATS)
        if X.shape[1] != len(self.components_):
            raise ValueError(f"X has {X.shape[1]} columns, but the projection has {len(self.components_)} components")
        scale = 1.0 if self.scale_ is None else self.scale_
        directions = self.components_ * scale  # the directions among the divided columns
        back = (directions if self._orthogonal else np.linalg.pinv(directions.T)) * scale
        return (X @ back + self.mean_).astype(X.dtype, copy=False)

    def _map(self, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings) -> Coordinates:
        if chosen.is_too_large:
            what = f"pca={chosen.keep.share} takes all directions of X, which is too large for that (sparse, {data.X.shape})"
            raise ValueError(f"{what}; give a number of directions, such as pca=300")
        matrices = [problem.subject_to, *(term.laplacian for term in problem.minimise)]
        thin = all(M is ORTHOGONAL or (M.sparse is None and M.rest is None) for M in matrices)
        centre = auto.centre(getattr(self, "center", "auto"), problem, data.weights)
        # Rows without degrees are none of the constraint's directions, and may still repel.
        D, attracts = problem.degrees, all(term.coefficient > 0 for term in problem.minimise)
        whole = problem.subject_to is ORTHOGONAL or (D is not None and bool(attracts or D.all()))
        return maps.linear(data, chosen.keep, centre, thin, chosen.by_products and whole)

    def _store_map(self, data: Data, F: Coordinates, V: np.ndarray) -> None:
        scale, directions = 1.0 if self.scale_ is None else self.scale_, fix_signs(F.back(V))
        self.mean_ = (F.origin * scale).astype(data.dtype)
        self.components_ = (directions / scale).astype(data.dtype)
        self.explained_ratio_ = data.explained(directions)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
