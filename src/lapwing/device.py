"""Arrays of other libraries, on the CPU or on a device: what they are, how they come in, and how results go back.

Tensors of torch stay where they are, and the computations are made there. Arrays of other libraries are exchanged through
DLPack, without a copy. Those on the CPU become NumPy arrays, and those on a device, such as CuPy's, become tensors of torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator

from ._extras import require

CPU = 1  # the number by which DLPack calls the CPU


def is_tensor(X: Any) -> bool:
    """Whether X is a tensor of torch. Torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library than NumPy."""
    return hasattr(X, "__dlpack__") and hasattr(X, "shape") and not isinstance(X, np.ndarray | np.generic)


class Place:
    """Where arrays live: a library and a device.

    Parameters
    ----------
    X : array
        An array of that library, on that device.
    """

    def __init__(self, X: Any):
        self.library = type(X).__module__.split(".")[0]
        self.device = str(X.device) if is_tensor(X) else str(tuple(map(int, X.__dlpack_device__())))
        self.on_cpu = int(X.__dlpack_device__()[0]) == CPU if not is_tensor(X) else X.device.type == "cpu"
        self._of, self._like = type(X), X[:0] if X.ndim else X

    def __repr__(self) -> str:
        return f"{self.library} on {self.device}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and (self.library, self.device) == (other.library, other.device)

    def __hash__(self) -> int:
        return hash((self.library, self.device))

    def enter(self, X: Any) -> Any:
        """X in the form that computations take: a tensor or a NumPy array."""
        if is_tensor(X):
            return X.detach()
        if self.on_cpu:
            return np.array(np.from_dlpack(X))
        return require("torch", "gpu").from_dlpack(X)

    def leave(self, array: Any) -> Any:
        """A result, which is a NumPy array or a tensor, as an array of this library and device."""
        if self.library == "torch":
            torch = sys.modules["torch"]
            array = torch.from_numpy(np.ascontiguousarray(array)) if isinstance(array, np.ndarray) else array
            return array.to(self.device)
        if not self.on_cpu and isinstance(array, np.ndarray):
            array = require("torch", "gpu").from_numpy(np.ascontiguousarray(array)).to(self._tensor_device)
        module = sys.modules[self._namespace]
        return module.from_dlpack(array)

    @property
    def _namespace(self) -> str:
        """The module whose ``from_dlpack`` makes such arrays."""
        if hasattr(self._like, "__array_namespace__"):
            return self._like.__array_namespace__().__name__
        return self.library

    @property
    def _tensor_device(self) -> Any:
        return require("torch", "gpu").from_dlpack(self._like).device


def place_of(X: Any) -> Place | None:
    """Where X lives; None for NumPy arrays, lists, frames and sparse matrices."""
    if not is_foreign(X):
        return None
    if getattr(X, "is_sparse", False) or "sparse" in str(getattr(X, "layout", "")):
        raise TypeError(
            "X is a sparse tensor, which is not supported; pass X.to_dense(), or a sparse matrix of SciPy on the CPU"
        )
    return Place(X)


def host(array: Any) -> np.ndarray:
    """Any array as a NumPy array on the CPU."""
    if is_tensor(array):
        return array.detach().cpu().numpy()
    if not is_foreign(array):
        return array
    if int(array.__dlpack_device__()[0]) == CPU:
        return np.array(np.from_dlpack(array))
    return require("torch", "gpu").from_dlpack(array).cpu().numpy()


def to_numpy(model: Any) -> Any:
    """A copy of a fitted model with NumPy arrays for attributes, whatever library and device it was fitted on.

    Parameters
    ----------
    model : estimator
        Or a pipeline, whose steps are copied too. The model itself stays where it is.

    Returns
    -------
    estimator
        One that transforms NumPy arrays. Arrays that are NumPy's already are shared, not copied.

    Examples
    --------
    >>> import lapwing
    >>> from sklearn.datasets import load_iris
    >>> model = lapwing.LPP(2).fit(load_iris().data)
    >>> type(lapwing.to_numpy(model).components_).__name__
    'ndarray'
    """
    return moved(model, host)


def moved(model: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of an estimator, with ``change`` applied to the arrays among its attributes and among those of its parts."""
    other = copy(model)
    for name, value in vars(model).items():
        if is_learnt(name) or name in ("steps", "transformer_list"):
            setattr(other, name, mapped(value, change))
    return other


def is_learnt(name: str) -> bool:
    """Whether an attribute of an estimator holds what was learnt, public or private, and is not a parameter."""
    return (name.endswith("_") or name.startswith("_")) and name != "feature_names_in_"


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value of an attribute with ``change`` applied: an array, a list of arrays, or an estimator that holds some."""
    if type(value) in (list, tuple):
        return type(value)(mapped(v, change) for v in value)
    if isinstance(value, BaseEstimator):
        return moved(value, change)
    is_array = isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    return change(value) if is_array or is_foreign(value) else value
