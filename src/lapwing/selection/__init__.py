"""Model selection: every number of dimensions from one fit, the bootstrap, and validation where some labels are unknown."""

from ._bootstrap import BootstrapError, bootstrap_error
from ._labels import LabelledSplit, SemiSupervised, labelled_scorer, reducer_of, takes_unknown_for_a_class
from ._nested import NestedScores, nested_scores, why_not_nested

__all__ = [
    "BootstrapError",
    "LabelledSplit",
    "NestedScores",
    "SemiSupervised",
    "bootstrap_error",
    "labelled_scorer",
    "nested_scores",
    "reducer_of",
    "takes_unknown_for_a_class",
    "why_not_nested",
]
