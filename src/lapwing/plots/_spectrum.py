"""Eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._axes import axes_or_new, explained, style

NAMES = {"eigenvalues_": "eigenvalue", "explained_variance_ratio_": "share of the variance"}


class SpectrumDisplay:
    """Eigenvalues over dimensions: where they jump, dimensions stop to matter.

    Parameters
    ----------
    values : array-like of shape (n_components,)
    name : str, default="eigenvalue"
        What they are.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : matplotlib Line2D

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.plots import SpectrumDisplay
    >>> display = SpectrumDisplay.from_estimator(LPP(10).fit(load_digits().data))
    >>> len(display.values)
    10
    """

    def __init__(self, values: Any, *, name: str = "eigenvalue"):
        self.values = values
        self.name = name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> SpectrumDisplay:
        """Draw the eigenvalues of a fitted estimator, or the shares of the variance of PCA or LDA.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline that ends in one
        ax : matplotlib Axes or None, default=None
        **options
            For ``ax.plot``.

        Returns
        -------
        SpectrumDisplay
        """
        check_is_fitted(estimator)
        found = explained(estimator)
        if found is None:
            raise ValueError(
                f"{type(estimator).__name__} has no eigenvalues (eigenvalues_ or explained_variance_ratio_)"
            )
        name, values = found
        return cls(values, name=NAMES[name]).plot(ax=ax, **options)

    def plot(self, *, ax: Any = None, **options: Any) -> SpectrumDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
        **options
            For ``ax.plot``.

        Returns
        -------
        SpectrumDisplay
        """
        ax = axes_or_new(ax)
        values = np.ravel(self.values)
        (self.line_,) = ax.plot(np.arange(1, values.size + 1), values, **{**style(0), "markersize": 4, **options})
        ax.set(xlabel="dimension", ylabel=self.name)
        ax.grid(alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def spectrum(estimator: Any, **options: Any) -> SpectrumDisplay:
    """The eigenvalues of a fitted estimator: :meth:`SpectrumDisplay.from_estimator`."""
    return SpectrumDisplay.from_estimator(estimator, **options)
