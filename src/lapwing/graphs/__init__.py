"""Who pulls whom: parameter objects that combine by + - * / & | and build signed terms (coefficient, L, D)."""

from .._documented import public
from .base import Combination, Graph, Intersection, Scaled, Union
from .classes import Complete, LocalClass, OtherClass, SameClass
from .columns import On
from .given import Empty, Pairs, Precomputed
from .neighbors import KNN, ClosestPairs, Radius, Repulsion
from .neighbors import nearest_fitted as nearest_fitted
from .others import DensityCorrected, Similarity
from .patches import CodingLength, Reconstruction, TangentAlignment
from .patches import Local as Local
from .patches import affine_extension as affine_extension
from .patches import barycentric_weights as barycentric_weights
from .patches import local_subspaces as local_subspaces
from .propagated import Propagated
from .space import Chain, Delaunay, Grid, Target

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
