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


class Links:
    """The weights of symmetric links between samples, on a device. Each pair is listed once.

    Parameters
    ----------
    n : int
        The number of samples.
    first, second : torch.Tensor of shape (n_pairs,)
        The numbers of the two samples of each pair, with ``first < second``.
    weights : torch.Tensor of shape (n_pairs,)
        The weights of the pairs, in float64.
    """

    def __init__(self, n: int, first: Any, second: Any, weights: Any):
        self.n, self.first, self.second, self.weights = n, first, second, weights
        self.shape, self.nnz = (n, n), 2 * len(weights)

    @classmethod
    def joined(cls, n: int, cols: Any, weights: Any, symmetry: str) -> Links:
        """The links from directed ones: row i has links to ``cols[i]``."""
        torch = sys.modules["torch"]
        rows = torch.arange(n, device=cols.device)[:, None].expand_as(cols)
        keys, order = (torch.minimum(rows, cols) * n + torch.maximum(rows, cols)).ravel().sort()
        weights = weights.ravel()[order]
        twice = torch.zeros(len(keys), dtype=torch.bool, device=keys.device)
        twice[:-1] = keys[1:] == keys[:-1]
        again = torch.roll(twice, 1)  # marks the second of two equal pairs; the first entry is never a second
        other = torch.where(twice, torch.roll(weights, -1), 0.0)
        if symmetry == "mean":
            weights = (weights + other) / 2
        elif symmetry == "or":
            weights = torch.maximum(weights, other)
        else:
            weights = torch.where(twice, torch.minimum(weights, other), 0.0)
        keys, weights = keys[~again], weights[~again]
        if symmetry == "and":
            keys, weights = keys[weights > 0], weights[weights > 0]
        return cls(n, keys // n, keys % n, weights)

    def __neg__(self) -> Links:
        return Links(self.n, self.first, self.second, -self.weights)

    def __mul__(self, scale: float) -> Links:
        return Links(self.n, self.first, self.second, self.weights * float(scale))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return self.tocsr() + (other.tocsr() if isinstance(other, Links) else other)

    __radd__ = __add__

    def __matmul__(self, columns: np.ndarray) -> np.ndarray:
        return self.tocsr() @ columns

    @cached_property
    def degrees(self) -> Any:
        """The sums of the rows, as a tensor. They are sums of sorted segments, which do not depend on the order of threads."""
        torch = sys.modules["torch"]
        rows, order = torch.cat([self.first, self.second]).sort(stable=True)
        weights = torch.cat([self.weights, self.weights])[order]
        counts = torch.bincount(rows, minlength=self.n)
        return torch.segment_reduce(weights, "sum", lengths=counts, unsafe=True, initial=0.0)

    def sum(self, axis: int) -> np.ndarray:
        """The sums of the rows, which equal those of the columns."""
        return host(self.degrees)

    def diagonal(self) -> np.ndarray:
        return np.zeros(self.n)

    def tocsr(self, copy: bool = False) -> sparse.csr_array:
        """The same matrix on the CPU, which is always a copy."""
        i, j, w = map(host, (self.first, self.second, self.weights))
        index = np.int32 if self.n < 2**31 else np.int64
        rows, cols = (np.concatenate(pair).astype(index) for pair in ((i, j), (j, i)))
        return sparse.csr_array((np.concatenate([w, w]), (rows, cols)), shape=self.shape)

    def n_connected_components(self) -> int:
        """How many connected components there are.

        On the CPU SciPy counts them. On a device, labels spread along links and jump to the label of their label.
        """
        torch = sys.modules["torch"]
        linked = self.weights != 0
        i, j = self.first[linked], self.second[linked]
        if i.device.type == "cpu":
            return int(connected_components(abs(self.tocsr()), directed=False)[0])
        labels = torch.arange(self.n, device=i.device)
        while True:
            a, b = labels[i], labels[j]
            low, high = torch.minimum(a, b), torch.maximum(a, b)
            new = labels.scatter_reduce(0, high, low, "amin")
            for _ in range(4):
                new = new[new]
            if bool((new == labels).all()):
                return int((labels == torch.arange(self.n, device=i.device)).sum())
            labels = new
