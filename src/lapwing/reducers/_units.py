"""``standardize=``: columns in different units, which distances and variances would take at their word."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.stats import spearmanr

from ..graphs import Graph
from ..maps import Deviations
from ..neighbors import is_named
from ..rows import Units
from ._graphs import outside

# Measured (docs/defaults.md). Columns of a sparse array that are mostly zeros do not count: rare words are not small units.
RATIO = 10.0  # how many times the median deviation the largest may be
ORDERED = (10, -0.9)  # at least so many columns, whose rank correlation with their deviations is below this


class UnitsWarning(UserWarning):
    """The columns of X are in different units, and were divided by their standard deviations."""


def units(standardize: str | bool, graph: Graph, penalty: Graph | None, invariant: bool) -> Units | None:
    """From the deviations of the columns to what they are divided by; None where ``standardize=`` leaves them as they are.

    ``"auto"`` does so where a graph does not measure Euclidean distances: angles and given distances have no units to correct.
    It always divides where the problem is ``invariant`` but for its ridge, which is then one of the diagonal of the constraint:
    the units of columns do not matter at all. Columns that come by falling deviation, as those of a PCA do, it leaves alone.
    """
    searches = [search for given in (graph, penalty) if given is not None for search in given.searches()]
    euclidean = all(is_named(search.metric, "euclidean", "l2", "sqeuclidean") for search in searches)
    if standardize is False or (standardize == "auto" and not euclidean):
        return None
    return partial(divisors, always=standardize is True, invariant=invariant)


def divisors(deviations: Callable[[bool], Deviations], always: bool, invariant: bool = False) -> np.ndarray | None:
    """The deviations, 1 for constant columns; None unless they differ much, or are always wanted."""
    found = deviations(not (always or invariant))
    if not (found.values > 0).any():
        return None
    varying = found.values[found.values > 0]
    if not always and _are_ordered(varying):
        return None
    if not (always or (invariant and found.filled.all())):
        ratio = float(found.values[found.filled].max(initial=0.0) / np.median(varying))
        if ratio <= RATIO:
            return None
        _warn_once(ratio)
    exact = deviations(False).values
    return np.where(exact > 0, exact, 1.0)


def _are_ordered(deviations: np.ndarray) -> bool:
    """Whether columns come by falling deviation, as those of a PCA or an SVD do: these have one unit, and say what matters."""
    return deviations.size >= ORDERED[0] and spearmanr(deviations, np.arange(deviations.size)).statistic < ORDERED[1]


def _warn_once(ratio: float) -> None:
    """Once per process: the second model of a grid search has nothing new to say."""
    if not _warned:
        _warned.append(ratio)
        warnings.warn(
            f"the columns of X seem to be in different units: the largest standard deviation is {ratio:.3g} times the median "
            "one. Columns are divided by their deviations (scale_); standardize=False takes X as it is, and standardize=True "
            "divides without this warning",
            UnitsWarning,
            stacklevel=outside(),
        )


_warned: list[float] = []
