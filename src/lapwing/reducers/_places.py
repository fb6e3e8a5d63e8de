"""Arrays of other libraries and devices: how estimators take them and give them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils import get_tags

from .._validation import OUT_OF_RANGE
from ..devices import Place, host, is_foreign, is_learnt, is_tensor, mapped, moved, place_of

EXACT_ROWS = 2_000_000  # up to this many rows on a GPU, default graphs search for the neighbours of all rows


def entered(estimator: Any, X: Any, y: Any) -> tuple[Place | None, Any, Any]:
    """Where X lives, X in the form that is computed with (a tensor or an array), and y."""
    place = place_of(X)
    if place is None:
        return None, X, host(y) if is_foreign(y) else y
    if not get_tags(estimator).array_api_support:
        raise TypeError(
            f"{estimator!r} takes NumPy arrays, and X is an array of {place}; {estimator.why_not_elsewhere} Pass X.cpu().numpy() "
            "or the like"
        )
    X = place.enter(X)
    return place, X, y if y is None or (is_tensor(X) and is_tensor(y)) else host(y)


def settle(estimator: Any, place: Place) -> None:
    """Turn the fitted attributes into arrays of the library and device that X came from."""
    for name, value in list(vars(estimator).items()):
        if is_learnt(name):
            setattr(estimator, name, mapped(value, place.leave))


def checked(
    estimator: Any, X: Any, *, fitting: bool, least: int = 2, n_dims: int | None = 2, is_read: bool = True
) -> Any:
    """A tensor in the form that is computed with: real, finite, in float32 or float64, with as many features as were fitted."""
    import torch

    if X.dtype not in (torch.float32, torch.float64):
        if X.dtype.is_complex or X.dtype == torch.bool:
            raise ValueError(f"X holds {X.dtype}, and numbers are needed; convert it to float32 or float64")
        X = X.to(torch.float32 if X.dtype in (torch.float16, torch.bfloat16) else torch.float64)
    if n_dims is not None and X.ndim != n_dims:
        raise ValueError(
            f"Expected 2D array, got an array of {X.ndim} dimensions: X has shape {tuple(X.shape)}; reshape it to "
            "(n_samples, n_features)"
        )
    if len(X) < (least if fitting else 1) or 0 in X.shape:
        raise ValueError(
            f"Found array with {len(X)} sample(s) (shape={tuple(X.shape)}) while a minimum of {least if fitting else 1} is "
            "required."
        )
    if is_read:
        lowest, highest = X.aminmax()
        if not bool((lowest > -torch.inf) & (highest < torch.inf)):
            raise ValueError("X contains NaN or infinity, or a value too large; remove or replace it")
        if X.dtype == torch.float64 and float(torch.maximum(-lowest, highest)) > 1e150:
            raise ValueError(OUT_OF_RANGE)
    if fitting and n_dims == 2:
        estimator.n_features_in_ = int(X.shape[1])
    elif n_dims == 2 and X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as "
            "input."
        )
    return X


def product_of(estimator: Any, X: Any, product: Callable[[Any], Any]) -> Any:
    """A product with a tensor, which is checked afterwards. A wrong entry of X shows in the product, which is smaller than X."""
    found = product(checked(estimator, X, fitting=False, is_read=False))
    if not bool(found.sum().isfinite()):
        checked(estimator, X, fitting=False)
    return found


def shared_place(estimator: Any, X: Any) -> tuple[Place | None, Any]:
    """Where both X and the fitted model live, None for NumPy, and X. A model on one device takes no rows of another device."""
    place, own = place_of(X), _own_place(estimator)
    if place == own:
        return place, X
    if own is None and place is not None and place.on_cpu:
        return None, host(X)  # NumPy arrays and other arrays on the CPU share their memory
    given = "not on a device" if place is None else f"an array of {place}"
    raise ValueError(
        f"{type(estimator).__name__} was fitted on {own or 'NumPy arrays'}, and X is {given}; move X there, or use "
        "lapwing.to_numpy(model), which transforms NumPy arrays"
    )


def _own_place(estimator: Any) -> Place | None:
    for name, value in vars(estimator).items():
        value = value[0] if isinstance(value, list) and value else value
        if name.endswith("_") and is_foreign(value):
            return place_of(value)
    return None


def inside(estimator: Any, place: Place) -> Any:
    """The model with its attributes in the form that is computed with."""
    return moved(estimator, place.enter)
