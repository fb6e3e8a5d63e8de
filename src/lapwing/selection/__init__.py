"""Validation by scikit-learn's tools: where some labels are unknown, in the order of time, and of searches."""

from .._documented import public
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

__all__ = [
    "LabelledSplit",
    "QuerySplit",
    "SemiSupervised",
    "TimeSplit",
    "labelled_scorer",
    "reducer_of",
    "retrieval_scorer",
    "search_scorer",
    "takes_unknown_for_a_class",
]
public(__name__, __all__, globals())
