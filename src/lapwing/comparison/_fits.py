"""Fits of several methods to the same rows."""

from __future__ import annotations

from inspect import getattr_static
from typing import Any

import numpy as np

from ..operators import Array
from ..reducers import LinearReducer, Reducer
from ..rows import Rows
from ..selection import takes_unknown_for_a_class


class SharedFits:
    """Fits methods to the same validated rows. Linear methods share these rows, and so their neighbour searches."""

    def __init__(self, X: Array, y: np.ndarray | None):
        self.X, self.y, self.rows = X, y, Rows(X, y)

    def fit(self, model: Any) -> Any:
        X, y = self.X, self.y
        if shares_rows(model):
            return model.fit(self.rows)
        if y is not None and takes_unknown_for_a_class(model):
            X, y = X[y >= 0], y[y >= 0]
        return model.fit(X, y)


def shares_rows(model: Any) -> bool:
    """Whether it is a linear method with lapwing's own ``fit``, which can take rows that other methods are fitted to as well."""
    return isinstance(model, LinearReducer) and getattr_static(model, "fit") is getattr_static(Reducer, "fit")


def why_it_failed(error: Exception) -> str:
    """The message of an error. Where the error is not meant for the caller, its class too."""
    return str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
