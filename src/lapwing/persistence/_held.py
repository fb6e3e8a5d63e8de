"""Declarations of what a fitted estimator holds. A file whose arrays do not fit each other is refused when it is read.

A forged file may have a correct checksum. So what it holds is checked here once, and not wherever a number is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

LARGEST = 1e154  # the squares of larger numbers leave the range of floating point


def _are_numbers(array: np.ndarray, least: float = -LARGEST) -> bool:
    if array.dtype not in (np.float32, np.float64) or not np.isfinite(array).all():
        return False
    return not array.size or (least <= float(array.min()) and float(array.max()) <= LARGEST)  # compared as float64


def _are_places(array: np.ndarray) -> bool:
    return array.dtype.kind == "i" and bool((np.diff(array, prepend=-1) > 0).all())


KINDS: dict[str, Callable[[np.ndarray], bool]] = {
    "numbers": _are_numbers,
    "divisors": lambda array: _are_numbers(array, 1 / LARGEST),
    "divisors or infinity": lambda array: KINDS["divisors"](np.where(np.isposinf(array), array.dtype.type(1), array)),
    "not negative": lambda array: _are_numbers(array, 0.0),
    "rows": lambda array: array.dtype.kind in "biu" or _are_numbers(array),
    "scores": lambda array: array.dtype.kind == "f",  # NaN and infinity are allowed
    "flags": lambda array: array.dtype == bool,
    "places": _are_places,  # the numbers of rows, in ascending order
    "labels": lambda array: array.dtype.kind in "biufUO",
    "names": lambda array: array.dtype == object and all(isinstance(name, str) for name in array),
}


@dataclass(frozen=True)
class Held:
    """The declaration of an array: one letter per side, where equal letters mean equal sizes, and the kind of its entries.

    The array may be missing where it is ``optional``. It may be None where the parameter ``needed_by`` is false.
    """

    sides: str
    kind: str = "numbers"
    optional: bool = False
    needed_by: str | None = None
    may_be_sparse: bool = False


def check_held(
    owner: Any, values: Mapping[str, Any], declared: Mapping[str, Held], sizes: dict[str, int] | None = None
) -> dict[str, int]:
    """Raise unless all arrays are as declared and fit each other. Returns the sizes by their letters."""
    sizes = {} if sizes is None else dict(sizes)
    for name, held in declared.items():
        value = values.get(name)
        if value is not None:
            _check(f"{type(owner).__name__}.{name}", value, held, sizes)
        elif not held.optional and (held.needed_by is None or getattr(owner, held.needed_by)):
            raise ValueError(f"{type(owner).__name__} is not fitted: it has no {name}")
    return sizes


def _check(what: str, value: Any, held: Held, sizes: dict[str, int]) -> None:
    is_sparse = sparse.issparse(value)
    if not (isinstance(value, np.ndarray) or (is_sparse and held.may_be_sparse)):
        raise ValueError(f"{what} is no array")
    if len(value.shape) != len(held.sides):
        raise ValueError(f"{what}, of shape {value.shape}, is no array of {len(held.sides)} dimensions")
    if 0 in value.shape or any(
        sizes.setdefault(side, size) != size for side, size in zip(held.sides, value.shape, strict=True)
    ):
        raise ValueError(f"{what}, of shape {value.shape}, does not fit n_features_in_ or the other arrays")
    if not KINDS[held.kind](value.data if is_sparse else value):
        what = f"{what}, of shape {value.shape} and {value.dtype}"
        raise ValueError(f"{what}, does not hold {held.kind} alone, or too large or too small ones to compute with")


def check_learnt(model: Any) -> None:
    """Raise unless the model is fitted, or holds the sums of too few rows, to which ``partial_fit`` can add more."""
    if getattr(model, "moments_", None) is None:
        check_is_fitted(model)


def check_number(
    owner: Any, name: str, least: float = -LARGEST, most: float = LARGEST, kind: Any = int | float | np.number
) -> float:
    """An attribute that must be a number between these bounds."""
    value = getattr(owner, name, None)
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
        what = "whole number" if kind is int else "number"
        raise ValueError(f"{type(owner).__name__}.{name}={value!r:.60} must be a {what} from {least:g} to {most:g}")
    return float(value)


def check_features(owner: Any, count: Any) -> dict[str, int]:
    """``n_features_in_`` as the size of the side d."""
    if type(count) is not int or count < 1:
        raise ValueError(f"{type(owner).__name__}.n_features_in_={count!r:.60} must be a whole number, 1 or more")
    return {"d": count}


def check_output(owner: Any, config: Any) -> None:
    """Raise unless ``set_output`` could have chosen what the estimator returns."""
    if type(config) is not dict or any(kind not in (None, "default", "pandas", "polars") for kind in config.values()):
        raise ValueError(f"the output {config!r:.60} of {type(owner).__name__} is unknown")


def require_room(what: str, size: int) -> None:
    """Raise before anything is allocated, where a small file asks for more than scikit-learn's ``working_memory``."""
    limit = int(get_config()["working_memory"] * 2**20)
    if size > limit:
        raise ValueError(
            f"{what} would take {size / 2**20:,.0f} MiB, above the limit of {limit / 2**20:,.0f} MiB (working_memory); where you "
            "trust the file, raise it by sklearn.set_config(working_memory=...)"
        )
