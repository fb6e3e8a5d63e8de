"""Compare methods: every method, with every number of dimensions, on the same folds."""

from .._documented import public
from ._judges import GOALS, JUDGES, MEASURES, SCORERS, checked_judge, in_words
from ._leaks import Leak, LeakWarning, find_leaks
from ._methods import METHODS, default_methods, left_out, named_methods
from ._run import Comparison, Interrupted, compare

__all__ = [
    "GOALS",
    "JUDGES",
    "MEASURES",
    "METHODS",
    "SCORERS",
    "Comparison",
    "Interrupted",
    "Leak",
    "LeakWarning",
    "checked_judge",
    "compare",
    "default_methods",
    "find_leaks",
    "in_words",
    "left_out",
    "named_methods",
]
public(__name__, __all__, globals())
