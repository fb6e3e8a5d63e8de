"""Compare methods: every method, with every number of dimensions, on the same folds."""

from .._public import public
from ._methods import METHODS, default_methods, left_out, named_methods
from ._result import Comparison
from ._run import compare
from ._scores import GOALS, MEASURES, neighborhood_preservation

__all__ = [
    "GOALS",
    "MEASURES",
    "METHODS",
    "Comparison",
    "compare",
    "default_methods",
    "left_out",
    "named_methods",
    "neighborhood_preservation",
]
public(__name__, __all__, globals())
