"""Who pulls whom: parameter objects that combine by + - * / & | and build signed terms (coefficient, L, D)."""

from .base import Graph
from .classes import Complete, LocalClass, OtherClass, SameClass
from .given import Empty, Pairs, Precomputed
from .neighbors import KNN, ClosestPairs, Radius, Repulsion
from .neighbors import nearest_fitted as nearest_fitted
from .patches import Alignment, CodingLength, Reconstruction, TangentAlignment, align
from .patches import Local as Local
from .patches import affine_extension as affine_extension
from .patches import barycentric_weights as barycentric_weights
from .patches import local_subspaces as local_subspaces

__all__ = [
    "KNN",
    "Alignment",
    "ClosestPairs",
    "CodingLength",
    "Complete",
    "Empty",
    "Graph",
    "LocalClass",
    "OtherClass",
    "Pairs",
    "Precomputed",
    "Radius",
    "Reconstruction",
    "Repulsion",
    "SameClass",
    "TangentAlignment",
    "align",
]
