"""Who pulls whom: parameter objects that combine by + - * / & | and build signed terms (coefficient, L, D)."""

from .._documented import public
from .base import Combination, DensityCorrected, Graph, Intersection, Scaled, Similarity, Union
from .classes import Complete, LocalClass, OtherClass, Propagated, SameClass
from .given import Chain, Delaunay, Empty, Grid, On, Pairs, Precomputed, Target
from .neighbors import KNN, ClosestPairs, Radius, Repulsion
from .neighbors import nearest_fitted as nearest_fitted
from .patches import CodingLength, Reconstruction, TangentAlignment
from .patches import Local as Local
from .patches import affine_extension as affine_extension
from .patches import barycentric_weights as barycentric_weights
from .patches import local_subspaces as local_subspaces

__all__ = [
    "KNN",
    "Chain",
    "ClosestPairs",
    "CodingLength",
    "Combination",
    "Complete",
    "Delaunay",
    "DensityCorrected",
    "Empty",
    "Graph",
    "Grid",
    "Intersection",
    "LocalClass",
    "On",
    "OtherClass",
    "Pairs",
    "Precomputed",
    "Propagated",
    "Radius",
    "Reconstruction",
    "Repulsion",
    "SameClass",
    "Scaled",
    "Similarity",
    "TangentAlignment",
    "Target",
    "Union",
]
public(__name__, __all__, globals())
