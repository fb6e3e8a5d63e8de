"""Eigenvalues over dimensions, and scores of methods over dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._validation import check_choice
from ..inspection import steps
from ._axes import new_figure, style

SPECTRA = {"eigenvalues_": "eigenvalue", "explained_variance_ratio_": "share of the variance"}


def spectrum(estimator: Any, *, ax: Any = None, **options: Any) -> Any:
    """Draw eigenvalues over dimensions, or the shares of the variance of PCA or LDA. After a jump, dimensions matter little.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline that ends in one
        It must have ``eigenvalues_`` or ``explained_variance_ratio_``.
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes new ones.
    **options
        Further parameters of ``ax.plot``.

    Returns
    -------
    ax : matplotlib Axes
        It holds one line.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP, plots
    >>> plots.spectrum(LPP(3).fit(load_iris().data)).get_ylabel()
    'eigenvalue'
    """
    check_is_fitted(estimator)
    last = (steps(estimator) or [estimator])[-1]
    found = {name: getattr(last, attribute) for attribute, name in SPECTRA.items() if hasattr(last, attribute)}
    if not found:
        raise ValueError(f"{type(estimator).__name__} has no eigenvalues (eigenvalues_ or explained_variance_ratio_)")
    name, values = next(iter(found.items()))
    values, ax = np.ravel(values), new_figure().add_subplot() if ax is None else ax
    ax.plot(np.arange(1, values.size + 1), values, **{**style(0), "markersize": 4, **options})
    ax.set(xlabel="dimension", ylabel=name)
    ax.grid(alpha=0.25)
    return ax


def compare(comparison: Any, *, measure: str | None = None, ax: Any = None, **options: Any) -> Any:
    """Draw a measure over the number of dimensions, one line per method, with standard errors over folds.

    Parameters
    ----------
    comparison : lapwing.comparison.Comparison
        What :func:`lapwing.comparison.compare` has found.
    measure : str, default=None
        The measure that is drawn, one of ``comparison.measures``; None is the criterion of the comparison.
    ax : matplotlib Axes, default=None
        The axes to draw on; None makes new ones.
    **options
        Further parameters of ``ax.errorbar``.

    Returns
    -------
    ax : matplotlib Axes
        It holds one container per method.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import comparison, plots
    >>> found = comparison.compare(*load_iris(return_X_y=True), methods=["PCA", "LPP"])
    >>> plots.compare(found, measure="recall").get_ylabel()
    'recall'
    """
    measure = check_choice("measure", measure or comparison.criterion, comparison.measures)
    ax = new_figure(7.0, 4.6).add_subplot() if ax is None else ax
    for i, method in enumerate(comparison.methods):
        scores = comparison.scores(method, measure)
        error = scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else None
        look = {**style(i), "markersize": 4, "linewidth": 1.3, "capsize": 2, **options}
        ax.errorbar(comparison.dimensions(method), scores.mean(axis=0), error, label=method, **look)
    ax.axhline(
        comparison.lines["baseline"][measure], color="0.5", linestyle="--", linewidth=1, label="without reduction"
    )
    ax.set(xlabel="dimensions", ylabel=measure, xscale="log")
    ticks = sorted({d for method in comparison.methods for d in comparison.dimensions(method)})
    ax.set_xticks(ticks, labels=[str(d) for d in ticks])
    ax.minorticks_off()
    ax.grid(alpha=0.25)
    ax.legend(fontsize="small", ncols=2)
    return ax
