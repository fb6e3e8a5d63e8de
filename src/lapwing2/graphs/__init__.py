"""Who pulls whom: parameter objects that combine by + - * / & | and build signed terms (coefficient, L, D)."""

from .base import Graph
from .classes import Complete, LocalClass, OtherClass, SameClass
from .given import Empty, Pairs, Precomputed
from .neighbors import KNN, ClosestPairs, Radius, Repulsion
from .neighbors import nearest_fitted as nearest_fitted
from .patches import affine_extension as affine_extension
from .patches import barycentric_weights as barycentric_weights

__all__ = [
    "KNN",
    "ClosestPairs",
    "Complete",
    "Empty",
    "Graph",
    "LocalClass",
    "OtherClass",
    "Pairs",
    "Precomputed",
    "Radius",
    "Repulsion",
    "SameClass",
]
