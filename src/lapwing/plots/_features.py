"""The features that make components: directions as images or bars, and loadings with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._validation import check_count
from ..inspection import Loadings, directions
from ..inspection import loadings as loadings_of
from ._axes import COLORS, new_figure


def components(
    estimator: Any,
    *,
    image_shape: Sequence[int] | None = None,
    feature_names: Sequence[str] | None = None,
    n_components: int | None = None,
    n_columns: int = 8,
    n_features: int = 8,
    title: str | None = None,
    cmap: Any = "gray",
    figure: Any = None,
) -> Any:
    """Draw the directions of a fitted linear map: pictures where samples are images, else the features of largest weight.

    On faces the directions of PCA are known as Eigenfaces, those of linear discriminant analysis after PCA as Fisherfaces, and
    those of ``LPP(pca=0.98)`` as Laplacianfaces [1]_.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline of such
        A linear map with ``components_`` or ``scalings_``. In a pipeline all steps must have them, or scale features, as
        StandardScaler does; the product of the steps is shown, whose weights are those of the features as given.
    image_shape : (int, int) or (int, int, 3), default=None
        The rows and columns of an image, and 3 after them where it has colours. None draws bars.
    feature_names : sequence of str, default=None
        The names of the features, for the bars. None is what ``fit`` saw, or numbers.
    n_components : int, default=None
        How many components to show, the first ones; None shows all.
    n_columns : int, default=8
        How many components stand side by side.
    n_features : int, default=8
        How many features have a bar, those of the largest absolute weight.
    title : str, default=None
        A title above all components.
    cmap : str or Colormap, default="gray"
        The colours of images. Each image has its own range, in colour too.
    figure : matplotlib Figure or SubFigure, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    figure : matplotlib Figure or SubFigure
        It has axes for each component.

    References
    ----------
    .. [1] X. He, S. Yan, Y. Hu, P. Niyogi and H.-J. Zhang, "Face recognition using Laplacianfaces", IEEE Trans. Pattern
       Analysis and Machine Intelligence 27, 2005. https://doi.org/10.1109/TPAMI.2005.55

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP, plots
    >>> X, y = load_digits(return_X_y=True)
    >>> len(plots.components(LPP(4).fit(X, y), image_shape=(8, 8)).axes)
    4
    """
    V = directions(estimator)
    k, d = V.shape
    if (wanted := check_count("n_components", k if n_components is None else n_components)) > k:
        raise ValueError(f"n_components={wanted} is more than the {k} that {type(estimator).__name__} has")
    shape = None if image_shape is None else _image_shape(image_shape, d)
    names = getattr(estimator, "feature_names_in_", np.arange(d)) if feature_names is None else feature_names
    if shape is None and len(names) != d:
        raise ValueError(f"feature_names has {len(names)} names, but the components have {d} features")
    shown = min(check_count("n_features", n_features), d)
    size = (1.1, 1.1 * shape[0] / shape[1]) if shape else (2.4, 0.4 + 0.2 * shown)
    figure, axes = _grid(wanted, n_columns, size, figure, above=0.4)
    for number, (ax, component) in enumerate(zip(axes, V, strict=False), start=1):
        if shape:
            image = component.reshape(shape)
            if len(shape) == 3:  # matplotlib draws colours from 0 to 1
                image = (image - image.min()) / (np.ptp(image) or 1)
            ax.imshow(image, cmap=cmap)
            ax.set_axis_off()
        else:
            largest = np.argsort(-np.abs(component), kind="stable")[:shown]
            _bars(ax, component[largest], [str(names[j]) for j in largest], f"component {number}")
    if title is not None:
        figure.suptitle(title)
    return figure


def _image_shape(image_shape: Any, n_features: int) -> tuple[int, ...]:
    shape: tuple[Any, ...] = tuple(image_shape) if isinstance(image_shape, (tuple, list, np.ndarray)) else ()
    if (
        not all(isinstance(side, Integral) and int(side) > 0 for side in shape)
        or len(shape) not in (2, 3)
        or shape[2:] not in ((), (3,))
    ):
        raise ValueError(
            f"image_shape={image_shape!r} must be two whole numbers, the rows and columns of an image, and 3 after them in colour"
        )
    if prod(shape) != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} has {prod(shape)} numbers, but the components have {n_features} features"
        )
    return shape


def loadings(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    n_draws: int = 100,
    n_features: int = 10,
    n_columns: int = 4,
    figure: Any = None,
) -> Any:
    """Draw the features of largest loading in each component of a fitted linear map, with their intervals.

    Parameters
    ----------
    model : fitted estimator, Pipeline of such, or Loadings
        A linear map that :func:`lapwing.loadings` takes, or what that has found.
    X : array-like of shape (n_samples, n_features), default=None
        The data that it was fitted to, for intervals. None draws none.
    y : array-like of shape (n_samples,), default=None
        The labels that it was fitted to.
    n_draws : int, default=100
        How many random halves of the rows are fitted for intervals.
    n_features : int, default=10
        How many features have a bar in each component.
    n_columns : int, default=4
        How many components stand side by side.
    figure : matplotlib Figure or SubFigure, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    figure : matplotlib Figure or SubFigure
        It has axes for each component.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP, plots
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> len(plots.loadings(LPP(2).fit(X), n_features=3).axes)
    2
    """
    found = model if isinstance(model, Loadings) else loadings_of(model, X, y, n_draws=n_draws)
    k, d = found.values.shape
    shown = min(check_count("n_features", n_features), d)
    figure, axes = _grid(k, n_columns, (3.2, 0.7 + 0.25 * shown), figure)
    for number, ax in enumerate(axes):
        features = found.ranked(number)[:shown]
        _bars(ax, found.values[number, features], [found.features[j] for j in features], found.components[number])
        if found.low is not None and found.high is not None:
            ends = found.low[number, features], found.high[number, features]
            ax.hlines(np.arange(shown), *ends, color="0.2", linewidth=1.2)
    return figure


def _grid(
    count: int, n_columns: int, size: tuple[float, float], figure: Any, above: float = 0.0
) -> tuple[Any, list[Any]]:
    """A figure and so many axes in it, ``n_columns`` side by side; a new figure has room for axes of this size."""
    columns = min(check_count("n_columns", n_columns), count)
    rows = ceil(count / columns)
    figure = new_figure(size[0] * columns, size[1] * rows + above) if figure is None else figure
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[count:]:
        ax.remove()
    return figure, list(axes[:count])


def _bars(ax: Any, weights: np.ndarray, features: Sequence[str], title: str) -> None:
    """Weights of features, the first on top, in two colours for the two signs."""
    places = np.arange(len(weights))
    ax.barh(places, weights, color=[COLORS[int(weight < 0)] for weight in weights])
    ax.set_yticks(places, labels=features, fontsize="x-small")
    ax.invert_yaxis()
    ax.tick_params(axis="x", labelsize="x-small")
    ax.axvline(0, color="0.5", linewidth=0.8)
    ax.set_title(title, fontsize="small")
