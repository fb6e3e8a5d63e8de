"""Which numbers of dimensions share a fit: those whose components are the first of a larger solution."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ..graphs import TangentAlignment
from ..methods import LPI
from ..reducers import KernelReducer, LinearReducer
from ..selection import reducer_of


def is_nested(reducer: Any) -> bool:
    """Whether the first components of a fit do not depend on how many there are.

    They do where fits draw other landmarks, and where LPI regresses on graph eigenvectors of equal eigenvalues.
    """
    parameters = reducer.get_params(deep=True) if hasattr(reducer, "get_params") else {}
    if isinstance(parameters.get("pca"), str):
        return False
    if any(isinstance(value, TangentAlignment) and value.n_components is None for value in parameters.values()):
        return False
    drawn = reducer if parameters.get("landmarks") is not None else parameters.get("features")
    if isinstance(reducer, PCA):
        known = reducer.svd_solver in ("full", "covariance_eigh")
    else:
        known = isinstance(reducer, LinearDiscriminantAnalysis | LinearReducer | KernelReducer) and not isinstance(
            reducer, LPI
        )
    return getattr(reducer, "is_nested", known and getattr(drawn, "random_state", 0) is not None)


def is_nested_but_for_pca(reducer: Any) -> bool:
    """Whether the first components depend on how many there are only because of ``pca="auto"``."""
    return isinstance(getattr(reducer, "pca", None), str) and is_nested(clone(reducer).set_params(pca=None))


def fitted_models(estimator: Any, dimensions: Iterable[int], fit: Callable[[Any], Any]) -> dict[int, Any]:
    """For each number of dimensions, a model that was fitted, and whose first components are those of that number.

    Where ``pca="auto"`` keeps more principal directions for more components, a fit serves the numbers with the same directions,
    and these ranges are found by halving.
    """
    dimensions, reducer, models = sorted(set(dimensions)), reducer_of(estimator), dict[int, Any]()

    def fitted(d: int) -> Any:
        if d not in models:
            models[d] = clone(estimator)
            reducer_of(models[d]).set_params(n_components=d)
            fit(models[d])
        return models[d]

    if not is_nested_but_for_pca(reducer):
        return {d: fitted(dimensions[-1] if is_nested(reducer) else d) for d in dimensions}

    def fill(low: int, high: int) -> None:
        above, below = fitted(dimensions[high]), fitted(dimensions[low])
        if reducer_of(below).n_pca_ == reducer_of(above).n_pca_:
            models.update(dict.fromkeys(dimensions[low:high], above))
        elif high - low > 1:
            middle = (low + high) // 2
            fill(middle, high)
            fill(low, middle)

    fill(0, len(dimensions) - 1)
    return models
