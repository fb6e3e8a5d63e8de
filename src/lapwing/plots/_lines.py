"""Eigenvalues over dimensions, and scores of methods over dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._documented import documented
from .._validation import check_choice
from ..inspection import steps
from ._axes import new_figure, style

SPECTRA = {"eigenvalues_": "eigenvalue", "explained_variance_ratio_": "share of the variance"}


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
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The line that was drawn.

    Examples
    --------
    >>> from lapwing.plots import SpectrumDisplay
    >>> SpectrumDisplay([0.1, 0.2, 0.9]).plot().line_.get_xdata()
    array([1, 2, 3])
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
            The axes to draw on; None makes new ones.
        **options
            Further parameters of ``ax.plot``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from lapwing import LPP, plots
        >>> plots.spectrum(LPP(3).fit(load_iris().data)).ax_.get_ylabel()
        'eigenvalue'
        """
        check_is_fitted(estimator)
        last = (steps(estimator) or [estimator])[-1]
        for attribute, name in SPECTRA.items():
            if hasattr(last, attribute):
                return cls(np.ravel(getattr(last, attribute)), name=name).plot(ax=ax, **options)
        raise ValueError(f"{type(estimator).__name__} has no eigenvalues (eigenvalues_ or explained_variance_ratio_)")

    def plot(self, *, ax: Any = None, **options: Any) -> SpectrumDisplay:
        """Draw the values on ``ax``, by default in a new figure, with further parameters of ``ax.plot``."""
        ax = new_figure().add_subplot() if ax is None else ax
        values = np.ravel(self.values)
        (self.line_,) = ax.plot(np.arange(1, values.size + 1), values, **{**style(0), "markersize": 4, **options})
        ax.set(xlabel="dimension", ylabel=self.name)
        ax.grid(alpha=0.25)
        self.ax_, self.figure_ = ax, ax.figure
        return self


spectrum = SpectrumDisplay.from_estimator


@documented
class ComparisonDisplay:
    """A measure over the number of dimensions, one line per method, with standard errors over folds.

    Parameters
    ----------
    comparison : lapwing.comparison.Comparison
        What :func:`lapwing.comparison.compare` has found.
    measure : str or None, default=None
        The measure that is drawn, one of ``comparison.measures``; None is the criterion of the comparison.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    lines_ : list of matplotlib ErrorbarContainer
        The lines that were drawn, one per method.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import comparison, plots
    >>> found = comparison.compare(*load_iris(return_X_y=True), methods=["PCA", "LPP"])
    >>> plots.ComparisonDisplay(found, measure="recall").plot().ax_.get_ylabel()
    'recall'
    """

    def __init__(self, comparison: Any, *, measure: str | None = None):
        self.comparison = comparison
        self.measure = measure

    @classmethod
    @documented
    def from_comparison(
        cls, comparison: Any, *, measure: str | None = None, ax: Any = None, **options: Any
    ) -> ComparisonDisplay:
        """Draw the scores of methods over dimensions.

        Parameters
        ----------
        comparison, measure
            As in :class:`ComparisonDisplay`.
        ax : matplotlib Axes or None, default=None
            The axes to draw on; None makes new ones.
        **options
            Further parameters of ``ax.errorbar``.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from lapwing import comparison, plots
        >>> X, y = load_iris(return_X_y=True)
        >>> len(plots.compare(comparison.compare(X, y, methods=["PCA", "LPP"])).lines_)
        2
        """
        return cls(comparison, measure=measure).plot(ax=ax, **options)

    def plot(self, *, ax: Any = None, **options: Any) -> ComparisonDisplay:
        """Draw the scores on ``ax``, by default in a new figure, with further parameters of ``ax.errorbar``."""
        found = self.comparison
        measure = check_choice("measure", self.measure or found.criterion, found.measures)
        ax = new_figure(7.0, 4.6).add_subplot() if ax is None else ax
        self.lines_ = []
        for i, method in enumerate(found.methods):
            scores = found.scores(method, measure)
            error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else None
            look = {**style(i), "markersize": 4, "linewidth": 1.3, "capsize": 2, **options}
            line = ax.errorbar(found.dimensions(method), scores.mean(axis=0), error, label=method, **look)
            self.lines_.append(line)
        before = np.mean([record[measure] for record in found.baseline])
        ax.axhline(before, color="0.5", linestyle="--", linewidth=1, label="without reduction")
        ax.set(xlabel="dimensions", ylabel=measure, xscale="log")
        ticks = sorted({d for method in found.methods for d in found.dimensions(method)})
        ax.set_xticks(ticks, labels=[str(d) for d in ticks])
        ax.minorticks_off()
        ax.grid(alpha=0.25)
        ax.legend(fontsize="small", ncols=2)
        self.ax_, self.figure_ = ax, ax.figure
        return self


compare = ComparisonDisplay.from_comparison
