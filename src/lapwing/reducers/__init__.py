"""The base classes of the methods, one per kind of map, and the one ``fit``.

A method of your own is a subclass of one of these classes. :class:`Reducer` says what it must, may and must not write.
"""

from .._public import public
from ._base import Graphs, Reducer, fits_in_memory
from ._feature import FeatureSelector
from ._free import FreeReducer
from ._graphs import as_graph, linked, outside
from ._kernel import KernelReducer
from ._linear import LinearReducer
from ._multilinear import MultilinearReducer
from ._projecting import ProjectingReducer, Solved
from ._rules import LARGE_RIDGE, Decided, Options, Rules
from ._units import RATIO, UnitsWarning

__all__ = [
    "LARGE_RIDGE",
    "RATIO",
    "Decided",
    "FeatureSelector",
    "FreeReducer",
    "Graphs",
    "KernelReducer",
    "LinearReducer",
    "MultilinearReducer",
    "Options",
    "ProjectingReducer",
    "Reducer",
    "Rules",
    "Solved",
    "UnitsWarning",
    "as_graph",
    "fits_in_memory",
    "linked",
    "outside",
]
public(__name__, __all__, globals())
public(__name__.partition(".")[0], ["UnitsWarning"], globals())
