"""Samples in one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ..inspection import steps
from ._axes import new_figure, style

UNKNOWN = "0.75"  # grey, for samples without a label
MANY_CLASSES = 20  # a legend cannot tell more classes apart


class EmbeddingDisplay:
    """Draws samples in two or three dimensions, or in one as histograms, coloured by class or by a number.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, 1), (n_samples, 2) or (n_samples, 3)
        The coordinates of the samples.
    labels : array-like of shape (n_samples,) or None, default=None
        The class of each sample, or a number that is not whole, for which the colour is a scale. Samples of None and NaN are
        unknown, and grey.
    names : sequence of str or None, default=None
        The names of the dimensions, for the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    artists_ : list
        What was drawn: one collection or histogram per class, those of unknown class first, or one for all samples.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.plots import EmbeddingDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> len(EmbeddingDisplay.from_embedding(X[:, :2], y).artists_)
    3
    """

    def __init__(self, embedding: ArrayLike, labels: ArrayLike | None = None, *, names: Sequence[str] | None = None):
        self.embedding = embedding
        self.labels = labels
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: Any,
        y: ArrayLike | None = None,
        *,
        dimensions: Sequence[int] = (0, 1),
        ax: Any = None,
        **options: Any,
    ) -> EmbeddingDisplay:
        """Draw what a fitted estimator makes of X. The parameters are those of :func:`scatter`."""
        Z = np.asarray(estimator.transform(X))
        chosen = _checked(dimensions, Z.shape[1])
        last = (steps(estimator) or [estimator])[-1]
        names = [f"{type(last).__name__} {d + 1}" for d in chosen]
        return cls(Z[:, chosen], y, names=names).plot(ax=ax, **options)

    @classmethod
    def from_embedding(
        cls, embedding: ArrayLike, y: ArrayLike | None = None, *, ax: Any = None, **options: Any
    ) -> EmbeddingDisplay:
        """Draw coordinates, as :func:`scatter` does."""
        return cls(embedding, y).plot(ax=ax, **options)

    def plot(self, *, ax: Any = None, **options: Any) -> EmbeddingDisplay:
        """Draw the samples on ``ax``, by default in a new figure, with further parameters of ``ax.scatter`` or ``ax.hist``."""
        Z = check_array(self.embedding)
        if Z.shape[1] > 3:
            raise ValueError(f"embedding has {Z.shape[1]} columns; choose up to three of them")
        if Z.shape[1] == 3 and ax is not None and ax.name != "3d":
            raise ValueError(
                'ax is flat, but the embedding has three dimensions; make it by add_subplot(projection="3d"), or choose two'
            )
        ax = new_figure().add_subplot(projection="3d" if Z.shape[1] == 3 else None) if ax is None else ax
        if Z.shape[1] == 1:
            ax.set_ylabel("samples")
            options = {"alpha": 0.6, "bins": np.histogram_bin_edges(Z, "auto"), **options}
        else:
            options = {"s": 14, "alpha": 0.8, "linewidths": 0, **options}
        self.artists_ = self._drawn(ax, Z, options)
        for axis, name in zip("xyz", self.names or (), strict=False):
            getattr(ax, f"set_{axis}label")(name)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _drawn(self, ax: Any, Z: np.ndarray, options: dict[str, Any]) -> list[Any]:
        """One artist per class, those of unknown class first; one for all where there are no classes, or too many."""

        def draw(rows: Any, color: str, marker: str | None = None, **look: Any) -> Any:
            if Z.shape[1] == 1:
                return ax.hist(Z[rows, 0], **{"color": color, **look, **options})[2]
            tone = {} if {"c", "color"} & options.keys() else {"color": color}
            return ax.scatter(*Z[rows].T, **{**tone, "marker": marker, **look, **options})

        is_coloured = Z.shape[1] > 1 and bool({"c", "color"} & options.keys())
        if self.labels is None or is_coloured:
            return [draw(slice(None), style(0)["color"])]
        known, labels, classes = self._classes(Z)
        if classes is None and Z.shape[1] == 1:
            return [draw(slice(None), style(0)["color"])]
        drawn = [] if known.all() else [draw(~known, UNKNOWN, label="unknown")]
        if classes is None:
            numbers = labels if labels.dtype.kind in "iufb" else np.unique(labels, return_inverse=True)[1]
            drawn.append(ax.scatter(*Z[known].T, **{"c": numbers, "cmap": "viridis", **options}))
            ax.figure.colorbar(drawn[-1], ax=ax)
            return drawn
        places = np.flatnonzero(known)
        drawn += [draw(places[labels == c], **style(i), label=str(c)) for i, c in enumerate(classes)]
        ax.legend(fontsize="small", markerscale=1.5, ncols=1 + classes.size // 11)
        return drawn

    def _classes(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Which labels are known, these labels, and their classes; None where they are numbers, or too many to tell apart."""
        labels = column_or_1d(self.labels)
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


def _checked(dimensions: Any, most: int) -> list[int]:
    whole = isinstance(dimensions, (tuple, list)) and all(isinstance(d, Integral) for d in dimensions)
    if not whole or len(dimensions) not in (2, 3):
        raise ValueError(f"dimensions={dimensions!r} must be two or three whole numbers, such as (0, 1)")
    if not all(0 <= d < most for d in dimensions):
        raise ValueError(f"dimensions={dimensions!r} must be from 0 to {most - 1}: the embedding has {most} columns")
    return [int(d) for d in dimensions]


def scatter(estimator: Any, X: Any = None, y: ArrayLike | None = None, **options: Any) -> EmbeddingDisplay:
    """Draw samples: ``scatter(Z, y)`` an embedding, and ``scatter(model, X, y)`` what a fitted estimator makes of X.

    Parameters
    ----------
    estimator : fitted transformer, or array-like of shape (n_samples, 1), (n_samples, 2) or (n_samples, 3)
        What the axes are named after, a pipeline by its last step; or the coordinates themselves. One column is drawn as
        histograms.
    X : array-like or sparse matrix of shape (n_samples, n_features), default=None
        The samples, before they are transformed. After coordinates, what they are coloured by.
    y : array-like of shape (n_samples,) or None, default=None
        What the samples are coloured by.
    **options
        ``dimensions``, the two or three columns to draw, of an estimator the first two by default; ``ax``, the axes to draw
        on, by default new ones (three dimensions need ``projection="3d"``); and further parameters of ``ax.scatter``, or of
        ``ax.hist``. Their ``c`` or ``color`` takes the place of the labels.

    Returns
    -------
    EmbeddingDisplay

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP, plots
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LPP(3).fit(X)
    >>> plots.scatter(model, X, y, dimensions=(0, 2)).ax_.get_ylabel()
    'LPP 3'
    >>> len(plots.scatter(model.transform(X), y, dimensions=(0, 2)).artists_)
    3
    """
    if hasattr(estimator, "transform"):
        return EmbeddingDisplay.from_estimator(estimator, X, y, **options)
    if X is not None and y is not None:
        raise TypeError("scatter takes coordinates and labels, or a fitted estimator, X and labels")
    Z = check_array(estimator)
    if "dimensions" in options:
        Z = Z[:, _checked(options.pop("dimensions"), Z.shape[1])]
    return EmbeddingDisplay.from_embedding(Z, X if y is None else y, **options)
