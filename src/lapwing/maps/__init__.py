"""The map F: it reads rows and gives their means, the forms FᵀMF, coordinates, and the way back from coordinates.

There is one class per kind of rows. :class:`DenseMap`, :class:`SparseMap`, :class:`SummaryMap` (rows in blocks),
:class:`KernelMap` and :class:`DeviceMap` (tensors) share the protocol of :class:`Map`. So do the maps that :func:`weighted`
makes of rows that stand for several samples each. :class:`TensorMap` takes images. This package alone decides where rows are
centred, how more columns than rows are handled, and where sparse rows stay sparse.
"""

from __future__ import annotations

from typing import Any

from scipy import sparse

from ..devices import is_tensor
from ._device import DeviceMap
from ._kernel import ON_DEVICES, Kernel, KernelMap
from ._map import Centre, Coordinates, DenseMap, Deviations, DividedMap, Map, Spectrum, is_far, rounding
from ._moments import ClassMoments, ColumnSums, Moments, Rest
from ._preprojection import Preprojection
from ._sparse import SparseMap
from ._summary import SummaryMap
from ._tensor import DeviceTensorMap, TensorMap, multiplied
from ._weighted import weighted

__all__ = [
    "ON_DEVICES",
    "Centre",
    "ClassMoments",
    "ColumnSums",
    "Coordinates",
    "DenseMap",
    "Deviations",
    "DeviceMap",
    "DeviceTensorMap",
    "DividedMap",
    "Kernel",
    "KernelMap",
    "Map",
    "Moments",
    "Preprojection",
    "Rest",
    "SparseMap",
    "Spectrum",
    "SummaryMap",
    "TensorMap",
    "as_map",
    "is_far",
    "multiplied",
    "rounding",
    "weighted",
]


def as_map(X: Any) -> Map:
    """The linear map of the rows X: an array, a sparse array, a tensor, or a map already."""
    if isinstance(X, Map):
        return X
    if is_tensor(X):
        return DeviceMap(X)
    return SparseMap(X) if sparse.issparse(X) else DenseMap(X)
