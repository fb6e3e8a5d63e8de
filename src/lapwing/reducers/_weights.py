"""``sample_weight``: where it acts, and which rows it leaves."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from inspect import signature
from itertools import chain
from types import MethodType
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from ..graphs import Graph
from ..rows import encode_labels

WEIGHTS = re.compile(r"^( *)sample_weight : .*\n(?:\1 +.*\n)*", re.M)  # their entry in a docstring


class TakesWeights:
    """``fit``, whose signature has ``sample_weight`` only where the graphs of the estimator are of classes alone.

    scikit-learn reads signatures. So it passes weights, and tests their effect, exactly where they act. Weights that are
    given elsewhere still reach ``fit``, which says why they do not act.
    """

    def __init__(self, fit: Callable):
        @wraps(fit)
        def without(self: Any, X: Any, y: Any = None, **given: Any) -> Any:
            return fit(self, X, y, **given)

        own = signature(fit)
        kept = [parameter for name, parameter in own.parameters.items() if name != "sample_weight"]
        without.__signature__ = own.replace(parameters=kept)  # type: ignore[attr-defined]
        without.__doc__ = fit.__doc__ and WEIGHTS.sub("", fit.__doc__)  # there is none under ``python -OO``
        self._fit, self._without = fit, without
        self.__doc__ = fit.__doc__

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is None:
            return self._fit if owner.may_weigh else self._without
        return MethodType(self._without if estimator.why_unweighted() else self._fit, estimator)


def counting_rows(graphs: list[Graph]) -> Graph | None:
    """The first of the graphs that add up to these for which the samples of a class are not all alike; None where all are."""
    for _, leaf in chain(*(graph.signed() for graph in graphs)):
        if leaf.reads_features or leaf.indexes_rows or leaf.searches():
            return leaf
        try:
            leaf.require_blocks(1)  # raises unless the counts and sums of classes are enough
        except ValueError:
            return leaf
    return None


def checked_weights(weights: Any, n: int) -> np.ndarray:
    """Weights of n samples: finite, none negative, and not all of them 0."""
    weights = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, but X has {n} samples; pass one weight per sample")
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight has {int((weights < 0).sum())} negative weights; a weight says how many samples a row stands for"
        )
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for every sample, so that no sample is left; give some a weight above 0"
        )
    return weights


def present(weights: np.ndarray) -> np.ndarray | None:
    """The numbers of the rows whose weight is above 0; None where that holds for all rows."""
    kept = np.flatnonzero(weights)
    if kept.size < 2:
        raise ValueError("sample_weight leaves one sample, and 2 is the least: all others have the weight zero")
    return None if kept.size == weights.size else kept


def labels_of(y: Any, kept: np.ndarray, n: int) -> Any:
    """The labels of some of n rows."""
    if y is None:
        return None
    labels = column_or_1d(y)
    return labels[kept] if labels.size == n else encode_labels(y, n)  # raises, and says what is wrong
