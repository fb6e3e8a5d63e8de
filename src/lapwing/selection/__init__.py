"""Model selection: every number of dimensions from one fit, the bootstrap, and validation where some labels are unknown."""

from .._public import public
from ._labels import (
    LabelledSplit,
    SemiSupervised,
    TimeSplit,
    labelled_scorer,
    reducer_of,
    retrieval_scorer,
    takes_unknown_for_a_class,
)
from ._pairs import QuerySplit, search_scorer
from ._scores import (
    BootstrapError,
    NestedScores,
    bootstrap_error,
    fitted_models,
    is_automatic,
    nested_scores,
    why_not_nested,
)

__all__ = [
    "BootstrapError",
    "LabelledSplit",
    "NestedScores",
    "QuerySplit",
    "SemiSupervised",
    "TimeSplit",
    "bootstrap_error",
    "fitted_models",
    "is_automatic",
    "labelled_scorer",
    "nested_scores",
    "reducer_of",
    "retrieval_scorer",
    "search_scorer",
    "takes_unknown_for_a_class",
    "why_not_nested",
]
public(__name__, __all__, globals())
