"""Eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._axes import axes_or_new, explained, style

NAMES = {"eigenvalues_": "eigenvalue", "explained_variance_ratio_": "share of the variance"}


class SpectrumDisplay:
    """Draws eigenvalues over dimensions. Where they jump, further dimensions matter little.

    Parameters
    ----------
    values : array-like of shape (n_components,)
        The eigenvalues, or other numbers, one per dimension.
    name : str, default="eigenvalue"
        What the values are, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of these axes.
    line_ : matplotlib Line2D
        The line that was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.plots import SpectrumDisplay
    >>> display = SpectrumDisplay.from_estimator(LPP(10).fit(load_digits().data))
    >>> len(display.values)
    10
    """

    def __init__(self, values: ArrayLike, *, name: str = "eigenvalue"):
        self.values = values
        self.name = name

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Any = None, **options: Any) -> SpectrumDisplay:
        """Draw the eigenvalues of a fitted estimator, or the shares of the variance of PCA or LDA.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline that ends in one
            It must have ``eigenvalues_`` or ``explained_variance_ratio_``.
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.
        **options
            Further parameters of ``ax.plot``.

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
        """Draw the values.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.
        **options
            Further parameters of ``ax.plot``.

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


def spectrum(estimator: BaseEstimator, **options: Any) -> SpectrumDisplay:
    """Draw the eigenvalues of a fitted estimator, by :meth:`SpectrumDisplay.from_estimator`.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline that ends in one
        It must have ``eigenvalues_`` or ``explained_variance_ratio_``.
    **options
        ``ax``, where to draw, and further parameters of ``ax.plot``.

    Returns
    -------
    SpectrumDisplay

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP, plots
    >>> plots.spectrum(LPP(3).fit(load_iris().data)).ax_.get_ylabel()
    'eigenvalue'
    """
    return SpectrumDisplay.from_estimator(estimator, **options)
