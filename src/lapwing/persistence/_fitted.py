"""What a fitted model of each map holds, by the sizes that its arrays share."""

from __future__ import annotations

from math import prod
from operator import attrgetter
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..reducers import FeatureSelector, FreeReducer, KernelReducer, LinearReducer, MultilinearReducer

KINDS = {"support_": "b", "feature_names_in_": "O"}  # of arrays that hold no floats


def check_learnt(model: Any) -> None:
    """Raise unless the model is fitted, or has the sums of rows that did not suffice, and to which ``partial_fit`` adds more."""
    if getattr(model, "moments_", None) is None:
        check_is_fitted(model)


def check_fitted(model: Any) -> None:
    """Raise unless the arrays of the model fit each other, and ``n_features_in_``."""
    check_learnt(model)
    moments = getattr(model, "moments_", None)
    if type(model.n_features_in_) is not int or model.n_features_in_ < 1:
        raise ValueError(f"n_features_in_={model.n_features_in_!r} must be a whole number, 1 or more")
    if moments is not None:
        _check_moments(moments, model.n_features_in_)
        if not model.__sklearn_is_fitted__():
            return
    sizes = {"d": model.n_features_in_}
    names = {"feature_names_in_": "d"} if hasattr(model, "feature_names_in_") else {}
    scales = {"scale_": "d"} if getattr(model, "scale_", None) is not None else {}
    for name, letters in {**_arrays(model), **names, **scales}.items():
        array = attrgetter(name)(model)
        expected = tuple(sizes.setdefault(letter, size) for letter, size in zip(letters, array.shape, strict=False))
        if len(array.shape) != len(letters) or array.shape != expected or array.dtype.kind != KINDS.get(name, "f"):
            raise ValueError(
                f"{name}, of shape {array.shape} and {array.dtype}, does not fit n_features_in_ or the other arrays"
            )
    if isinstance(model, MultilinearReducer):
        _check_modes(model)
    if hasattr(model, "image_shape_"):
        _check_image_shape(model)


def _arrays(model: Any) -> dict[str, str]:
    """Attributes that say what the map is; a letter stands for one size: d features, n samples, k components, m landmarks."""
    if isinstance(model, KernelReducer):
        return _kernel_arrays(model)
    if isinstance(model, FreeReducer):
        represented = {"components_": "kd", "mean_": "d"} if hasattr(model, "inverse_transform") else {}
        return {"X_fit_": "nd", "embedding_": "nk", "eigenvalues_": "k", **represented}
    if isinstance(model, LinearReducer):
        return {"components_": "kd", "mean_": "d", "eigenvalues_": "k"}
    return {"support_": "d", "scores_": "d"} if isinstance(model, FeatureSelector) else {}


def _kernel_arrays(model: KernelReducer) -> dict[str, str]:
    if model.landmarks is not None:
        landmarks = {"nystroem_.components_": "md", "nystroem_.normalization_": "mm"}
        return {**landmarks, "components_": "km", "mean_": "m", "eigenvalues_": "k"}
    if model.X_fit_ is None:  # the kernel between new and fitted samples is what transform is given
        return {"dual_coef_": "kd", "intercept_": "k", "eigenvalues_": "k"}
    return {"X_fit_": "nd", "dual_coef_": "kn", "intercept_": "k", "eigenvalues_": "k"}


def _check_moments(moments: Any, d: int) -> None:
    """What partial_fit goes on from."""
    try:
        places = len(moments["labels"]) + 1
        shapes = {"counts": (places,), "means": (places, d), "stored": (d,)}
        shapes["scatters"] = (places if moments["by_class"] else 2, d, d)
        fits = all(moments[name].shape == shape and moments[name].dtype.kind == "f" for name, shape in shapes.items())
        fits = fits and moments["dtype"] in ("float32", "float64")
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"moments_ has not what partial_fit keeps of the rows ({error})") from error
    if not fits:
        raise ValueError("moments_ has arrays that do not fit each other or n_features_in_")


def _check_image_shape(model: Any) -> None:
    shape = model.image_shape_
    if not (isinstance(shape, tuple) and len(shape) > 1 and all(type(side) is int for side in shape)):
        raise ValueError(f"image_shape_={shape!r} must be sides of images")
    if prod(shape) != model.n_features_in_:
        raise ValueError(f"image_shape_={shape} does not fit n_features_in_={model.n_features_in_}")


def _check_modes(model: MultilinearReducer) -> None:
    shapes = [P.shape for P in model.components_]
    expected = list(zip(model.n_components_, model.mean_.shape, strict=True))
    if shapes != expected or prod(model.mean_.shape) != model.n_features_in_:
        raise ValueError(f"components_ have the shapes {shapes}, which do not fit n_components_ and mean_")
