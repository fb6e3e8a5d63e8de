"""Methods beside each other: every method, every number of dimensions, the same folds."""

from ._plan import METHODS, default_methods
from ._result import Comparison
from ._run import compare
from ._scores import neighborhood_preservation

__all__ = ["METHODS", "Comparison", "compare", "default_methods", "neighborhood_preservation"]
