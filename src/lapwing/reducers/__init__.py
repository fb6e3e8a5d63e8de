"""The maps. Each decides what F is, and so what the fitted estimator can do."""

from ._feature import FeatureSelector
from ._free import FreeReducer
from ._kernel import KernelReducer
from ._linear import LinearReducer
from ._multilinear import MultilinearReducer

__all__ = ["FeatureSelector", "FreeReducer", "KernelReducer", "LinearReducer", "MultilinearReducer"]
