"""``standardize=``: columns in different units, whose distances and variances cannot be compared as they are."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import spearmanr

from ..maps import Deviations
from ._graphs import outside

# Both numbers are measured (docs/defaults.md). Columns of a sparse array that are mostly zeros do not count, since a rare
# word is not a small unit.
RATIO = 10.0  # columns count as in one unit where the largest deviation is at most this many times the median
# Deviations of at least 10 columns count as falling where their rank correlation with the place of the column is below -0.9.
ORDERED = (10, -0.9)


class UnitsWarning(UserWarning):
    """Says that the columns of X seem to be in different units, and were divided by their standard deviations.

    Give ``standardize=True`` or ``standardize=False`` where you have decided; then there is no warning.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_wine
    >>> from lapwing import LPP, UnitsWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", UnitsWarning)
    ...     model = LPP(2, standardize=True).fit(load_wine().data)
    """


def divisors(deviations: Callable[[bool], Deviations], always: bool, invariant: bool = False) -> np.ndarray | None:
    """What columns are divided by: their deviations, and 1 for constant columns. None where columns stay as they are.

    Columns are divided ``always``, or where their deviations differ much. They are also divided where the problem is
    ``invariant`` to units except for its ridge. The ridge is then relative to the diagonal of the constraint, so that units
    do not matter at all. Columns whose deviations fall from first to last, as those of a PCA or an SVD, are left alone: they
    share one unit, and their deviations say what matters.
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
    """Warn once per process, since the second model of a grid search has nothing new to say."""
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
