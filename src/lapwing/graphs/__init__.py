"""Graphs, which say which rows attract or repel each other: objects with parameters, combined by ``+ - * &

``.
"""

from .._public import public
from ._base import Combination, Graph, Intersection, Scaled, Union
from ._classes import Complete, LocalClass, OtherClass, SameClass
from ._density import DensityCorrected
from ._given import Empty, Pairs, Precomputed
from ._gower import Gower
from ._neighbors import KNN, ClosestPairs, Radius, Repulsion
from ._on import On
from ._patches import Alignment, CodingLength, TangentAlignment, align
from ._patches import Local as Local
from ._patches import affine_extension as affine_extension
from ._patches import local_subspaces as local_subspaces
from ._places import Chain, Delaunay, Grid
from ._reconstruction import Reconstruction
from ._reconstruction import barycentric_weights as barycentric_weights
from ._similarity import Similarity
from ._target import Target

__all__ = [
    "KNN",
    "Alignment",
    "Chain",
    "ClosestPairs",
    "CodingLength",
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
    "Reconstruction",
    "Repulsion",
    "SameClass",
    "Scaled",
    "Similarity",
    "TangentAlignment",
    "Target",
    "Union",
    "align",
]
public(__name__, __all__, globals())
