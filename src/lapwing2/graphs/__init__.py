"""Who pulls whom: parameter objects that combine by + - * / & | and build signed terms (coefficient, L, D)."""

from .base import Combination, Graph, Intersection, Scaled, Union
from .classes import Complete, LocalClass, OtherClass, SameClass
from .columns import Gower, On
from .given import Empty, Pairs, Precomputed
from .neighbors import KNN, ClosestPairs, Radius, Repulsion
from .neighbors import nearest_fitted as nearest_fitted
from .others import DensityCorrected, Similarity
from .patches import affine_extension as affine_extension
from .patches import barycentric_weights as barycentric_weights
from .space import Chain, Delaunay, Grid, Target

__all__ = [
    "KNN",
    "Chain",
    "ClosestPairs",
    "Combination",
    "Complete",
    "Delaunay",
    "DensityCorrected",
    "Empty",
    "Gower",
    "Graph",
    "Grid",
    "Intersection",
    "LocalClass",
    "On",
    "OtherClass",
    "Pairs",
    "Precomputed",
    "Radius",
    "Repulsion",
    "SameClass",
    "Scaled",
    "Similarity",
    "Target",
    "Union",
]
