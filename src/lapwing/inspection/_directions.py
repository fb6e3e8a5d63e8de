"""The matrix of a fitted linear map, whatever steps the map is made of."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

SCALERS = (StandardScaler, RobustScaler, MaxAbsScaler)  # scalers that divide features by scale_


def steps(estimator: Any) -> list[Any]:
    """The steps of a pipeline in their order, those of a reducer where a classifier follows; else a single step."""
    estimator = getattr(estimator, "reducer_", estimator)
    if not isinstance(estimator, Pipeline):
        return [estimator]
    return [part for _, step in estimator.steps if step not in (None, "passthrough") for part in steps(step)]


def directions(estimator: Any) -> np.ndarray:
    """The rows of the matrix of the linear map."""
    if isinstance(estimator, Pipeline):
        maps = [_scaling(step) if isinstance(step, SCALERS) else directions(step) for step in steps(estimator)]
        if all(sparse.issparse(linear) for linear in maps):
            raise ValueError("the pipeline has no step with directions, so there is nothing to show; end it in one")
        return np.asarray(reduce(lambda before, after: after @ before, maps))
    check_is_fitted(estimator)
    of_features = hasattr(estimator, "nystroem_") or hasattr(estimator, "features_")
    rows = None if of_features else getattr(estimator, "components_", None)
    if rows is None and hasattr(estimator, "scalings_"):
        most = min(len(estimator.classes_) - 1, estimator.scalings_.shape[1])
        rows = estimator.scalings_[:, : min(estimator.n_components or most, most)].T
    if rows is None or np.ndim(rows) != 2:
        raise ValueError(
            f"{type(estimator).__name__} has no matrix of directions (components_ or scalings_), so there is nothing to show; "
            "use a linear map, such as LPP or PCA"
        )
    whitened = getattr(estimator, "whiten", False) is True and hasattr(estimator, "explained_variance_")
    return rows / np.sqrt(estimator.explained_variance_)[:, None] if whitened else np.asarray(rows)


def _scaling(scaler: Any) -> Any:
    """What a scaler multiplies features by, as a diagonal matrix."""
    check_is_fitted(scaler)
    return sparse.diags_array(1 / (np.ones(scaler.n_features_in_) if scaler.scale_ is None else scaler.scale_))


def units(estimator: Any) -> np.ndarray:
    """What a fitted map divides the features by before anything else; 1 where it takes them as they are."""
    found = np.ones(steps(estimator)[0].n_features_in_)
    for step in steps(estimator):
        scale = getattr(step, "scale_", None)
        if scale is not None and hasattr(scale, "shape"):
            found = found * scale
        if not isinstance(step, SCALERS):
            break
    return found


def split(estimator: Any) -> tuple[Any, Any]:
    """A fitted pipeline in two parts: what makes the features, which may be anything or None, and the linear map of these."""
    parts = steps(estimator)
    first = len(parts)
    while first > 0 and (isinstance(parts[first - 1], SCALERS) or _has_directions(parts[first - 1])):
        first -= 1
    if first in (0, len(parts)):
        return None, make_pipeline(*parts) if len(parts) > 1 else parts[0]
    return make_pipeline(*parts[:first]), make_pipeline(*parts[first:])


def _has_directions(estimator: Any) -> bool:
    try:
        return directions(estimator).size > 0
    except ValueError:
        return False


def component_names(model: Any, k: int) -> list[str]:
    """The names of the coordinates. A discriminant analysis may give more names than there are components."""
    names = [str(name) for name in getattr(model, "get_feature_names_out", list)()]
    return names if len(names) == k else [f"component {i}" for i in range(k)]
