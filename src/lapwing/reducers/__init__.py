"""The maps. Each decides what F is, and so what the fitted estimator can do."""

from ._linear import LinearReducer

__all__ = ["LinearReducer"]
