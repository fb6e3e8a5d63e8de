"""The one ``fit``, and the maps: what F is, what is solved, what is kept and how new rows come in."""

from .._documented import public
from ..auto import Rules
from .base import WORDS as WORDS
from .base import Reducer, build_terms, resolve_graph, takes_tensors
from .others import FeatureSelector, FreeReducer, MultilinearReducer
from .projecting import Found, KernelReducer, LinearReducer, ProjectingReducer

__all__ = ["FeatureSelector", "Found", "FreeReducer", "KernelReducer", "LinearReducer", "MultilinearReducer"]
__all__ += ["ProjectingReducer", "Reducer", "Rules", "build_terms", "resolve_graph", "takes_tensors"]
public(__name__, __all__, globals())
