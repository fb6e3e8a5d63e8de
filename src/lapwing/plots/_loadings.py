"""Which features make a component, and how certain that is."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .._validation import check_count
from ..inspection import Loadings
from ..inspection import loadings as loadings_of
from ._axes import COLORS, new_figure


class LoadingsDisplay:
    """Draws the features of largest loading in each component, with their intervals.

    Parameters
    ----------
    loadings : Loadings
        What :func:`lapwing.loadings` has found.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Where the components were drawn, one per component.
    figure_ : matplotlib Figure or SubFigure
        The figure of these axes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lapwing import LPP
    >>> from lapwing.plots import LoadingsDisplay
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = LPP(2, graph="supervised", standardize=True).fit(X, y)
    >>> len(LoadingsDisplay.from_estimator(model, X, y, n_draws=20).axes_)
    2
    """

    def __init__(self, loadings: Loadings):
        self.loadings = loadings

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: Any = None, y: ArrayLike | None = None, *, n_draws: int = 100, **options: Any
    ) -> LoadingsDisplay:
        """Draw the loadings of a fitted linear map.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline of such
            A linear map that :func:`lapwing.loadings` takes.
        X : array-like of shape (n_samples, n_features), default=None
            The data that it was fitted to, for intervals. None draws none.
        y : array-like of shape (n_samples,), default=None
            The labels that it was fitted to.
        n_draws : int, default=100
            How many random halves of the rows are fitted for intervals.
        **options
            Further parameters of :meth:`plot`.

        Returns
        -------
        LoadingsDisplay
        """
        return cls(loadings_of(estimator, X, y, n_draws=n_draws)).plot(**options)

    def plot(self, *, n_features: int = 10, n_columns: int = 4, figure: Any = None) -> LoadingsDisplay:
        """Draw the loadings.

        Parameters
        ----------
        n_features : int, default=10
            How many features per component are drawn, those of the largest loading.
        n_columns : int, default=4
            How many components stand side by side.
        figure : matplotlib Figure, SubFigure or None, default=None
            Where to draw; None is a new figure of pyplot.

        Returns
        -------
        LoadingsDisplay
        """
        k, d = self.loadings.values.shape
        columns = min(check_count("n_columns", n_columns), k)
        rows, shown = ceil(k / columns), min(check_count("n_features", n_features), d)
        figure = new_figure(3.2 * columns, (0.7 + 0.25 * shown) * rows) if figure is None else figure
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for number, ax in enumerate(axes[:k]):
            self._draw(ax, number, self.loadings.ranked(number)[:shown])
        for ax in axes[k:]:
            ax.remove()
        self.axes_, self.figure_ = list(axes[:k]), figure
        return self

    def _draw(self, ax: Any, number: int, features: np.ndarray) -> None:
        found, places = self.loadings, np.arange(features.size)
        values = found.values[number, features]
        ax.barh(places, values, color=[COLORS[int(value < 0)] for value in values])
        if found.low is not None and found.high is not None:
            ax.hlines(places, found.low[number, features], found.high[number, features], color="0.2", linewidth=1.2)
        ax.set_yticks(places, labels=[found.features[j] for j in features], fontsize="x-small")
        ax.invert_yaxis()
        ax.tick_params(axis="x", labelsize="x-small")
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set_title(found.components[number], fontsize="small")


def loadings(estimator: BaseEstimator, X: Any = None, y: ArrayLike | None = None, **options: Any) -> LoadingsDisplay:
    """Draw the features that make the components of a fitted linear map, by :meth:`LoadingsDisplay.from_estimator`.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline of such
        A linear map that :func:`lapwing.loadings` takes.
    X : array-like of shape (n_samples, n_features), default=None
        The data that it was fitted to, for intervals. None draws none.
    y : array-like of shape (n_samples,), default=None
        The labels that it was fitted to.
    **options
        ``n_draws`` of :meth:`LoadingsDisplay.from_estimator`, and the parameters of :meth:`LoadingsDisplay.plot`.

    Returns
    -------
    LoadingsDisplay

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP, plots
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> len(plots.loadings(LPP(2).fit(X), n_features=3).axes_)
    2
    """
    return LoadingsDisplay.from_estimator(estimator, X, y, **options)
