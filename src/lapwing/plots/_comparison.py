"""Methods over dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._validation import check_choice
from ._axes import axes_or_new, style


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
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of these axes.
    lines_ : list of matplotlib ErrorbarContainer
        The lines that were drawn, one per method.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.comparison import compare
    >>> from lapwing.plots import ComparisonDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = ComparisonDisplay.from_comparison(compare(X, y, methods=["PCA", "LPP"]))
    >>> display.ax_.get_ylabel()
    'accuracy'
    """

    def __init__(self, comparison: Any, *, measure: str | None = None):
        self.comparison = comparison
        self.measure = measure

    @classmethod
    def from_comparison(
        cls, comparison: Any, *, measure: str | None = None, ax: Any = None, **options: Any
    ) -> ComparisonDisplay:
        """Draw the scores of a comparison.

        Parameters
        ----------
        comparison : lapwing.comparison.Comparison
            What :func:`lapwing.comparison.compare` has found.
        measure : str or None, default=None
            The measure that is drawn, one of ``comparison.measures``; None is the criterion of the comparison.
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.
        **options
            Further parameters of ``ax.errorbar``.

        Returns
        -------
        ComparisonDisplay
        """
        return cls(comparison, measure=measure).plot(ax=ax, **options)

    def plot(self, *, ax: Any = None, **options: Any) -> ComparisonDisplay:
        """Draw the scores.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None is a new figure.
        **options
            Further parameters of ``ax.errorbar``.

        Returns
        -------
        ComparisonDisplay
        """
        found = self.comparison
        measure = check_choice("measure", self.measure or found.criterion, found.measures)
        ax = axes_or_new(ax, 7.0, 4.6)
        self.lines_ = [
            self._line(ax, method, measure, {**style(i), "markersize": 4, "linewidth": 1.3, "capsize": 2, **options})
            for i, method in enumerate(found.methods)
        ]
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

    def _line(self, ax: Any, method: str, measure: str, options: dict[str, Any]) -> Any:
        scores = self.comparison.scores(method, measure)
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else None
        return ax.errorbar(self.comparison.dimensions(method), scores.mean(axis=0), error, label=method, **options)


def compare(comparison: Any, **options: Any) -> ComparisonDisplay:
    """Draw the scores of methods over dimensions, by :meth:`ComparisonDisplay.from_comparison`.

    Parameters
    ----------
    comparison : lapwing.comparison.Comparison
        What :func:`lapwing.comparison.compare` has found.
    **options
        ``measure``, the measure to draw, ``ax``, where to draw, and further parameters of ``ax.errorbar``.

    Returns
    -------
    ComparisonDisplay

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import comparison, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> len(plots.compare(comparison.compare(X, y, methods=["PCA", "LPP"])).lines_)
    2
    """
    return ComparisonDisplay.from_comparison(comparison, **options)
