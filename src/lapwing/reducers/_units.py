"""``standardize=``: columns in different units, which distances and variances would take at their word."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import spearmanr

from ..maps import Deviations
from ._graphs import outside

# Measured (docs/defaults.md). Columns of a sparse array that are mostly zeros do not count: rare words are not small units.
RATIO = 10.0  # columns are in one unit where the largest deviation is at most this many times the median one
ORDERED = (10, -0.9)  # deviations of so many columns or more fall where their rank correlation with place is below this


class UnitsWarning(UserWarning):
    """Says that the columns of X seem to be in different units, and were divided by their standard deviations.

    Give ``standardize=True`` or ``standardize=False`` where you have decided; then there is no warning.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_wine
    >>> from lapwing import LPP, UnitsWarning
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     model = LPP(2).fit(load_wine().data)
    >>> [warning.category.__name__ for warning in found]
    ['UnitsWarning']
    """


def divisors(deviations: Callable[[bool], Deviations], always: bool, invariant: bool = False) -> np.ndarray | None:
    """What columns are divided by: their deviations, 1 for constant ones; None where they stay as they are.

    They are divided ``always``, or where their deviations differ much, and where the problem is ``invariant`` but for its
    ridge, which is then one of the diagonal of the constraint: the units of columns do not matter at all. Columns that come
    by falling deviation, as those of a PCA or an SVD do, are left alone: these have one unit, and say what matters.
    """
    found = deviations(not (always or invariant))
    if not (found.values > 0).any():
        return None
    varying = found.values[found.values > 0]
    places = np.arange(varying.size)
    if not always and varying.size >= ORDERED[0] and spearmanr(varying, places).statistic < ORDERED[1]:
        return None
    if not (always or (invariant and found.filled.all())):
        ratio = float(found.values[found.filled].max(initial=0.0) / np.median(varying))
        if ratio <= RATIO:
            return None
        _warn_once(ratio)
    exact = deviations(False).values
    return np.where(exact > 0, exact, 1.0)


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
