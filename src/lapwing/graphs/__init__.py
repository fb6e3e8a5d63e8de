"""Who pulls whom: graphs as parameter objects, combined by ``+ - * &``."""

from ._base import Combination, Graph, Intersection, Scaled
from ._classes import Complete, LocalClass, OtherClass, SameClass
from ._given import Empty, Pairs, Precomputed
from ._neighbors import KNN, ClosestPairs, Radius, Repulsion
from ._patches import Alignment, CodingLength, TangentAlignment, align
from ._patches import Local as Local
from ._patches import affine_extension as affine_extension
from ._patches import local_subspaces as local_subspaces
from ._reconstruction import Reconstruction
from ._reconstruction import barycentric_weights as barycentric_weights

__all__ = [
    "KNN",
    "Alignment",
    "ClosestPairs",
    "CodingLength",
    "Combination",
    "Complete",
    "Empty",
    "Graph",
    "Intersection",
    "LocalClass",
    "OtherClass",
    "Pairs",
    "Precomputed",
    "Radius",
    "Reconstruction",
    "Repulsion",
    "SameClass",
    "Scaled",
    "TangentAlignment",
    "align",
]
