"""Methods beside each other: every method, every number of dimensions, the same folds."""

from ._folds import class_codes
from ._plan import METHODS, default_methods
from ._result import Comparison
from ._run import compare
from ._scores import neighborhood_preservation, spread_rows, standard_error

__all__ = [
    "METHODS",
    "Comparison",
    "class_codes",
    "compare",
    "default_methods",
    "neighborhood_preservation",
    "spread_rows",
    "standard_error",
]
