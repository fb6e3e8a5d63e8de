"""Who pulls whom: graphs as parameter objects, combined by ``+ - * &``."""

from ..rows import Sample
from ._base import Combination, Graph, Intersection, Scaled
from ._classes import Complete, OtherClass, SameClass
from ._given import Empty, Pairs, Precomputed
from ._neighbors import KNN, ClosestPairs, Radius, Repulsion
from ._patches import Alignment, CodingLength, TangentAlignment, align
from ._reconstruction import Reconstruction

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
    "OtherClass",
    "Pairs",
    "Precomputed",
    "Radius",
    "Reconstruction",
    "Repulsion",
    "SameClass",
    "Sample",
    "Scaled",
    "TangentAlignment",
    "align",
]
