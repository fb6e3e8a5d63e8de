"""The linear map: F = X, so that a fitted model is a mean and a matrix."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ..devices import is_tensor, to_numpy
from ..graphs import Graph
from ..maps import Coordinates, SummaryMap, as_map
from ..operators import Array
from ..rows import Rows
from ..solvers import fix_signs
from ._places import checked, inside, product_of, shared_place
from ._projecting import ProjectingReducer
from ._streams import StreamingReducer


class LinearReducer(ProjectingReducer, StreamingReducer):
    """Base of the linear methods; see :class:`Reducer` for what a method writes.

    Parameters
    ----------
    n_components, graph, pca, center, normalize, standardize
        As in :class:`lapwing.LPP`.

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

    _takes_blocks: ClassVar[bool] = True
    may_weigh: ClassVar[bool] = True
    _takes_tensors: ClassVar[bool] = True
    _samples_rows: ClassVar[bool] = True

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
    ):
        self.n_components = n_components
        self.graph = graph
        self.pca = pca
        self.center = center
        self.normalize = normalize
        self.standardize = standardize

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
        place, X = shared_place(self, X)
        if place is not None:
            model, X = inside(self, place), place.enter(X)
            return place.leave(model._back_there(X) if is_tensor(X) else model.inverse_transform(X))
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != len(self.components_):
            raise ValueError(f"X has {X.shape[1]} columns, but the projection has {len(self.components_)} components")
        return (X @ self._way_back() + self.mean_).astype(X.dtype, copy=False)

    def _way_back(self) -> np.ndarray:
        """The matrix from coordinates back to features."""
        scale = 1.0 if self.scale_ is None else self.scale_
        directions = self.components_ * scale  # the directions among the divided columns
        back = directions if self._orthogonal else np.linalg.pinv(directions.T)
        return back * scale

    def _back_there(self, X: Any) -> Any:
        """:meth:`inverse_transform` of a tensor."""
        X = checked(self, X, fitting=False, n_dims=None)
        if X.ndim != 2 or X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has shape {tuple(X.shape)}, but the projection has {len(self.components_)} components, one per column"
            )
        back = X.new_tensor(to_numpy(self)._way_back())
        mean: Any = self.mean_
        return X @ back + mean.to(X.dtype)

    def _projected_there(self, model: Any, X: Any) -> Any:
        return product_of(self, X, model._projected)

    def _projected(self, X: Array) -> np.ndarray:
        return as_map(X).projected(self.mean_, self.components_)

    def _store_map(self, data: Rows, coordinates: Coordinates, V: np.ndarray) -> None:
        scale = 1.0 if data.scale is None else data.scale
        self.mean_ = (coordinates.mean * scale).astype(data.F.dtype)
        directions = fix_signs(coordinates.back(V))
        self.components_ = (directions / scale).astype(data.F.dtype)
        self.explained_ratio_ = explained(data, directions)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")


def explained(data: Rows, directions: np.ndarray) -> np.ndarray | None:
    """The share of the variance of the rows that each direction adds to what those before it hold.

    None where rows came in blocks and only those with links were held.
    """
    if data.in_blocks and not isinstance(data.F, SummaryMap):
        return None
    Q = np.zeros(directions.shape)
    for i, direction in enumerate(directions):
        rest = direction
        for _ in range(2):  # orthogonalising twice is enough (Kahan)
            rest = rest - (Q[:i] @ rest) @ Q[:i]
        length = np.linalg.norm(rest)
        if length > 1e-10 * np.linalg.norm(direction):  # a direction that combines those before it adds nothing
            Q[i] = rest / length
    return data.F.variance_along(Q.T)
