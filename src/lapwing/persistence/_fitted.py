"""The attributes that a fitted model of each map holds, and their shapes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from operator import attrgetter
from string import ascii_letters
from typing import Any

import numpy as np

from .._validation import check_choice
from ..graphs import Graph
from ..methods import GLPCA, L21PCA, DiffusionMaps, RobustGLPCA
from ..reducers import FeatureSelector, FreeReducer, KernelReducer, LinearReducer, MultilinearReducer, ProjectingReducer
from ._classes import NAMES
from ._held import LARGEST, Held, check_features, check_held, check_learnt, check_number, check_output

# The letters of sides are d for features, n for samples, k for components, m for landmarks, l for samples with links.
EVERY = {"feature_names_in_": Held("d", "names", optional=True), "scale_": Held("d", "divisors", optional=True)}
LINEAR = {"components_": Held("kd"), "mean_": Held("d"), "eigenvalues_": Held("k")}
FREE = {
    "X_fit_": Held("nd", may_be_sparse=True),
    "embedding_": Held("nk"),
    "eigenvalues_": Held("k"),
    "_linked": Held("l", "places"),
}
REPRESENTED = {"components_": Held("kd"), "mean_": Held("d")}
SCORES = {"support_": Held("d", "flags"), "scores_": Held("d", "scores")}
# Columns that only graphs read are divided by infinity, so that they are 0 for the kernel.
UNITS = {"scale_": Held("d", "divisors or infinity", optional=True)}
KERNEL = {"intercept_": Held("k"), "eigenvalues_": Held("k")}
LANDMARKS = {
    "nystroem_.components_": Held("md", may_be_sparse=True),
    "nystroem_.normalization_": Held("mm"),
    "components_": Held("km"),
    "mean_": Held("m"),
    "eigenvalues_": Held("k"),
}


def check_fitted(model: Any) -> None:
    """Raise unless the arrays of the model fit each other and ``n_features_in_``."""
    check_learnt(model)
    sizes = check_features(model, getattr(model, "n_features_in_", None))
    if getattr(model, "moments_", None) is not None:
        _check_moments(model.moments_, model.n_features_in_)
        if not model.__sklearn_is_fitted__():
            return  # a model of partial_fit that waits for more rows
    declared = {**_declared(model), **EVERY, **(UNITS if isinstance(model, KernelReducer) else {})}
    sizes = check_held(model, _values(model, declared), declared, sizes)
    if isinstance(model, ProjectingReducer) and not hasattr(model, "scale_"):
        raise ValueError(f"{type(model).__name__} has no scale_, not even None")
    check_output(model, vars(model).get("_sklearn_output_config", {}))
    if not isinstance(getattr(model, "graph_", None), Graph | None):
        raise ValueError(f"graph_={model.graph_!r:.60} is no graph")
    if isinstance(model, FreeReducer):
        _check_places(model, vars(model)["_linked"], sizes["n"])
    if isinstance(model, MultilinearReducer):
        _check_modes(model)
    if is_own(model):
        model.try_out()
    if hasattr(model, "image_shape_"):
        _check_image_shape(model)


def is_own(model: Any) -> bool:
    """Whether the model and its graph are of classes of lapwing. Classes of others may refuse rows for reasons of their own."""
    graph = getattr(model, "graph_", None)
    return {type(model), *(type(leaf) for _, leaf in (graph.signed() if graph is not None else ()))} <= NAMES.keys()


def _values(model: Any, names: Mapping[str, Held]) -> dict[str, Any]:
    """Those attributes of these names that the model, or a part of it, has."""
    found: dict[str, Any] = {}
    for name in names:
        try:
            found[name] = attrgetter(name)(model)
        except AttributeError:
            continue  # check_held raises for it, unless the attribute is optional
    return found


def _declared(model: Any) -> Mapping[str, Held]:
    """The attributes that say what the map is."""
    if isinstance(model, KernelReducer):
        return _of_kernel(model)
    if isinstance(model, FreeReducer):
        return FREE | REPRESENTED if hasattr(model, "inverse_transform") else FREE
    if isinstance(model, LinearReducer):
        return LINEAR
    return SCORES if isinstance(model, FeatureSelector) else {}


def _of_kernel(model: KernelReducer) -> Mapping[str, Held]:
    if model.landmarks is not None:
        return LANDMARKS
    if getattr(model, "X_fit_", None) is None:  # transform is given the kernel between new and fitted samples
        return {"dual_coef_": Held("kd"), **KERNEL}
    return {"X_fit_": Held("nd", may_be_sparse=True), "dual_coef_": Held("kn"), **KERNEL}


def _check_places(model: Any, linked: np.ndarray, n: int) -> None:
    """Check the rows, neighbours and weights by which new samples are placed."""
    if linked[-1] >= n:
        raise ValueError(f"_linked does not fit: it names row {linked[-1]} of {n}")
    if any(getattr(leaf, "n_neighbors", 0) >= n for _, leaf in model.graph_.signed()):
        raise ValueError(f"graph_={model.graph_!r:.60} has more neighbours than the {n} samples leave")
    if isinstance(model, GLPCA):
        check_number(model, "beta_", 0, 1)
        check_number(model, "_median_degree")  # below 0 where what repels is heavier
        if type(model.scales_) is not tuple or not all(1 / LARGEST < scale < LARGEST for scale in model.scales_):
            raise ValueError(f"scales_={model.scales_!r:.60} must be two numbers above 0")
    elif isinstance(model, RobustGLPCA | L21PCA):
        check_number(model, "alpha_", 0)
    elif isinstance(model, DiffusionMaps):
        check_held(model, vars(model), {"density_": Held("n")}, {"n": n})
        if model.density_.min() < 1 - 1e-9:
            raise ValueError(f"density_ has {model.density_.min()!r:.60}, and each row counts 1 at least")


def _check_moments(moments: Any, d: int) -> None:
    """Check what ``partial_fit`` needs to go on."""
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
        raise ValueError(f"image_shape_={shape!r:.60} must be sides of images")
    if prod(shape) != model.n_features_in_:
        raise ValueError(f"image_shape_={shape} does not fit n_features_in_={model.n_features_in_}")


def _check_modes(model: MultilinearReducer) -> None:
    """Check that there is one matrix and one row of eigenvalues per side of the images, and whether these are flattened."""
    check_choice("flatten", model.flatten, (False, True))
    check_held(model, vars(model), {"mean_": Held(ascii_letters[: np.ndim(model.mean_)])})
    if prod(model.mean_.shape) != model.n_features_in_:
        raise ValueError(f"mean_, of shape {model.mean_.shape}, does not fit n_features_in_={model.n_features_in_}")
    parts = (model.components_, model.eigenvalues_, model.n_components_)
    if not all(isinstance(part, list | tuple) and len(part) == model.mean_.ndim for part in parts):
        raise ValueError(f"components_, eigenvalues_ and n_components_ do not fit images of {model.mean_.ndim} sides")
    for P, values, k, side in zip(*parts, model.mean_.shape, strict=True):
        declared = {"components_": Held("kd"), "eigenvalues_": Held("k")}
        check_held(model, {"components_": P, "eigenvalues_": values}, declared, {"k": k, "d": side})
        if k > side:
            raise ValueError(f"components_, of shape {P.shape}, does not fit: more directions than there are")
