"""Samples in one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ..inspection import steps
from ._axes import new_figure, style

UNKNOWN = "0.75"  # grey, for samples without a label
MANY_CLASSES = 20  # a legend cannot tell more classes apart


def scatter(
    estimator: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    dimensions: Sequence[int] | None = None,
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw samples: ``scatter(Z, y)`` an embedding, and ``scatter(model, X, y)`` what a fitted estimator makes of X.

    Parameters
    ----------
    estimator : fitted transformer, or array-like of shape (n_samples, n_dimensions)
        What the axes are named after, a pipeline by its last step; or the coordinates themselves.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        The samples, before they are transformed. After coordinates, what they are coloured by.
    y : array-like of shape (n_samples,), default=None
        The class of each sample, or a number that is not whole, for which the colour is a scale. Samples of None and NaN are
        unknown, and grey.
    dimensions : sequence of int, default=None
        The one, two or three columns to draw, from 0: one as histograms. None is all coordinates that were given, or the first
        two of an estimator.
    ax : matplotlib Axes, default=None
        The axes to draw on (three dimensions need ``projection="3d"``). None makes new ones.
    **options
        Further parameters of ``ax.scatter``, or of ``ax.hist``. Their ``c`` or ``color`` takes the place of the labels.

    Returns
    -------
    ax : matplotlib Axes
        It holds one collection per class, those of unknown class first, or one of all samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LPP(3).fit(X)
    >>> plots.scatter(model, X, y, dimensions=(0, 2)).get_ylabel()
    'LPP 3'
    >>> len(plots.scatter(model.transform(X), y, dimensions=(0, 2)).collections)
    3
    """
    is_fitted = hasattr(estimator, "transform") and not hasattr(estimator, "__array__")  # as data frames have
    if not is_fitted and X is not None and y is not None:
        raise TypeError("scatter takes coordinates and labels, or a fitted estimator, X and labels")
    Z = check_array(estimator.transform(X) if is_fitted else estimator)
    labels = y if is_fitted or X is None else X
    chosen = _checked(dimensions, Z.shape[1], 2 if is_fitted else Z.shape[1])
    Z, is_deep = Z[:, chosen], len(chosen) == 3
    if is_deep and ax is not None and ax.name != "3d":
        raise ValueError(
            'ax is flat, and there are three dimensions; make it by add_subplot(projection="3d"), or choose two'
        )
    ax = new_figure().add_subplot(projection="3d" if is_deep else None) if ax is None else ax
    if Z.shape[1] == 1:
        ax.set_ylabel("samples")
        options = {"alpha": 0.6, "bins": np.histogram_bin_edges(Z, "auto"), **options}
    else:
        options = {"s": 14, "alpha": 0.8, "linewidths": 0, **options}
    _draw(ax, Z, labels, options)
    if is_fitted:
        name = type((steps(estimator) or [estimator])[-1]).__name__
        for axis, d in zip("xyz", chosen, strict=False):
            getattr(ax, f"set_{axis}label")(f"{name} {d + 1}")
    return ax


def _checked(dimensions: Any, width: int, default: int) -> list[int]:
    given = tuple(range(min(width, default))) if dimensions is None else dimensions
    whole = isinstance(given, (tuple, list)) and all(isinstance(d, Integral) and 0 <= int(d) < width for d in given)
    if not whole or len(given) not in (1, 2, 3):
        raise ValueError(
            f"dimensions={given!r} must be one, two or three whole numbers from 0 to {width - 1}, such as (0, 1)"
        )
    return [int(d) for d in given]


def _draw(ax: Any, Z: np.ndarray, labels: Any, options: dict[str, Any]) -> None:
    """One artist per class, those of unknown class first; one for all where there are no classes, or too many."""
    is_flat, is_coloured = Z.shape[1] == 1, bool({"c", "color"} & options.keys())

    def draw(rows: Any, color: str, marker: str | None = None, **look: Any) -> None:
        if is_flat:
            ax.hist(Z[rows, 0], **{"color": color, **look, **options})
        else:
            tone = {} if is_coloured else {"color": color}
            ax.scatter(*Z[rows].T, **{**tone, "marker": marker, **look, **options})

    known, labels, classes = (None, None, None) if labels is None else _classes(labels, Z)
    if known is None or (is_coloured and not is_flat) or (classes is None and is_flat):
        return draw(slice(None), style(0)["color"])
    if not known.all():
        draw(~known, UNKNOWN, label="unknown")
    if classes is None:
        numbers = labels if labels.dtype.kind in "iufb" else np.unique(labels, return_inverse=True)[1]
        scale = ax.scatter(*Z[known].T, **{"c": numbers, "cmap": "viridis", **options})
        ax.figure.colorbar(scale, ax=ax)
        return None
    places = np.flatnonzero(known)
    for i, c in enumerate(classes):
        draw(places[labels == c], **style(i), label=str(c))
    ax.legend(fontsize="small", markerscale=1.5, ncols=1 + classes.size // 11)
    return None


def _classes(labels: Any, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Which labels are known, these labels, and their classes; None where they are numbers, or too many to tell apart."""
    labels = column_or_1d(labels)
    check_consistent_length(Z, labels)
    known = np.array([_is_known(label) for label in labels], dtype=bool)
    labels = labels[known]
    if labels.dtype == object:
        labels = np.array(labels.tolist())  # one type again, where None stood among numbers
    classes, is_scale = np.unique(labels), labels.dtype.kind == "f" and not np.array_equal(labels, np.round(labels))
    return known, labels, None if is_scale or classes.size > MANY_CLASSES else classes


def _is_known(label: Any) -> bool:
    """Whether a label is known: None is not, nor are NaN and pandas's NA, which do not equal themselves."""
    equal = label == label
    return label is not None and isinstance(equal, (bool, np.bool_)) and bool(equal)
