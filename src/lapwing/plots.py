"""Pictures by matplotlib: each function draws one, and gives the axes, or the figure where there are several axes."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ._extras import require
from ._validation import check_choice, check_count
from .inspection import Loadings, directions, steps
from .inspection import loadings as loadings_of

__all__ = ["COLORS", "MARKERS", "compare", "components", "loadings", "scatter", "spectrum"]

# The colour-blind can tell these colours apart (Okabe and Ito, and two of Tol's). Where a colour repeats, the marker differs.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999", "#882255", "#BBCC33")
MARKERS = "osD^vPX*"
UNKNOWN = "0.75"  # grey, for samples without a label
MANY_CLASSES = 20  # a legend cannot tell more classes apart
SPECTRA = {"eigenvalues_": "eigenvalue", "explained_variance_ratio_": "share of the variance"}


def style(number: int) -> dict[str, Any]:
    """The colour and the marker of a class or a line. There are 80 different pairs."""
    return {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number // len(COLORS) % len(MARKERS)]}


def new_figure(width: float = 6.0, height: float = 4.2) -> Any:
    return require("matplotlib.pyplot", "plots").figure(figsize=(width, height), layout="constrained")


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
        The class of each sample, or a number that is not whole, for which the colour is a scale. Samples of None, NaN
        and -1 beside other classes are unknown, and grey.
    dimensions : sequence of int, default=None
        The one, two or three columns to draw, from 0; one is drawn over the numbers of the samples. None is all coordinates that
        were given, or the first two of an estimator.
    ax : matplotlib Axes, default=None
        The axes to draw on (three dimensions need ``projection="3d"``). None makes new ones.
    **options
        Further parameters of ``ax.scatter``. Their ``c`` or ``color`` takes the place of the labels.

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
    if len(chosen) == 3 and ax is not None and ax.name != "3d":
        raise ValueError('ax is flat, and there are three dimensions; make it by add_subplot(projection="3d")')
    ax = new_figure().add_subplot(projection="3d" if len(chosen) == 3 else None) if ax is None else ax
    _draw(ax, Z[:, chosen], labels, {"s": 14, "alpha": 0.8, "linewidths": 0, **options})
    if is_fitted:
        name = type((steps(estimator) or [estimator])[-1]).__name__
        for axis, d in zip("xyz", chosen, strict=False):
            getattr(ax, f"set_{axis}label")(f"{name} {d + 1}")
    if len(chosen) == 1:
        ax.set_ylabel("sample")
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
    Z = np.c_[Z, np.arange(len(Z))] if Z.shape[1] == 1 else Z
    if labels is None or {"c", "color"} & options.keys():
        ax.scatter(*Z.T, **options)
        return
    labels = column_or_1d(labels)
    check_consistent_length(Z, labels)
    equal = [label is not None and label == label for label in labels]  # NaN and NaT are not, and NA does not say
    known = np.array([isinstance(same, bool | np.bool_) and same for same in equal], dtype=bool)
    if labels.dtype.kind == "i" and not np.isin(labels, (-1, 1)).all() and np.unique(labels).size <= MANY_CLASSES:
        known &= labels != -1
    if not known.all():
        ax.scatter(*Z[~known].T, **{"color": UNKNOWN, "label": "unknown", **options})
    Z, labels = Z[known], np.array(labels[known].tolist()) if labels.dtype == object else labels[known]
    classes, codes = np.unique(labels, return_inverse=True)
    if classes.size > MANY_CLASSES or (labels.dtype.kind == "f" and (labels != np.round(labels)).any()):
        numbers = labels if labels.dtype.kind in "iufb" else codes
        ax.figure.colorbar(ax.scatter(*Z.T, **{"c": numbers, "cmap": "viridis", **options}), ax=ax)
        return
    for i, c in enumerate(classes):
        ax.scatter(*Z[codes == i].T, **{**style(i), "label": str(c), **options})
    ax.legend(fontsize="small", markerscale=1.5, ncols=1 + classes.size // 11)


def components(
    estimator: Any,
    image_shape: Sequence[int],
    *,
    n_components: int | None = None,
    n_columns: int = 8,
    cmap: Any = "gray",
) -> Any:
    """Draw the directions of a fitted linear map of images, each as an image; :func:`loadings` draws those of other samples.

    On faces the directions of PCA are known as Eigenfaces, those of linear discriminant analysis after PCA as Fisherfaces, and
    those of ``LPP(pca=0.98)`` as Laplacianfaces [1]_.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline of such
        A linear map with ``components_`` or ``scalings_``. In a pipeline all steps must have them, or scale features, as
        StandardScaler does; the product of the steps is shown, whose weights are those of the features as given.
    image_shape : (int, int) or (int, int, 3)
        The rows and columns of an image, and 3 after them where it has colours.
    n_components : int, default=None
        How many components to show, the first ones; None shows all.
    n_columns : int, default=8
        How many components stand side by side.
    cmap : str or Colormap, default="gray"
        The colours of images. Each image has its own range, in colour too.

    Returns
    -------
    figure : matplotlib Figure
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
    >>> len(plots.components(LPP(4).fit(X, y), (8, 8)).axes)
    4
    """
    V = directions(estimator)
    wanted = check_count("n_components", len(V) if n_components is None else n_components)
    if wanted > len(V):
        raise ValueError(f"n_components={wanted} is more than the {len(V)} that {type(estimator).__name__} has")
    try:
        images = V[:wanted].reshape(wanted, *image_shape)
    except (TypeError, ValueError):
        images = V
    if images.ndim < 3 or images.shape[3:] not in ((), (3,)):
        raise ValueError(
            f"image_shape={image_shape!r} must be two whole numbers, the rows and columns of an image, and 3 after them in "
            f"colour, and their product is {V.shape[1]}, the number of features"
        )
    figure, axes = _grid(wanted, n_columns, 1.1, 1.1 * images.shape[1] / images.shape[2])
    for ax, image in zip(axes, images, strict=True):
        if image.ndim == 3:  # matplotlib draws colours from 0 to 1
            image = (image - image.min()) / (np.ptp(image) or 1)
        ax.imshow(image, cmap=cmap)
        ax.set_axis_off()
    return figure


def loadings(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    n_draws: int = 100,
    n_features: int = 10,
    n_columns: int = 4,
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

    Returns
    -------
    figure : matplotlib Figure
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
    shown = min(check_count("n_features", n_features), len(found.features))
    places = np.arange(shown)
    figure, axes = _grid(len(found.components), n_columns, 3.2, 0.7 + 0.25 * shown)
    for number, ax in enumerate(axes):
        features = found.ranked(number)[:shown]
        weights = found.values[number, features]
        ax.barh(places, weights, color=[COLORS[int(weight < 0)] for weight in weights])
        ax.set_yticks(places, labels=[found.features[j] for j in features], fontsize="x-small")
        ax.invert_yaxis()
        ax.tick_params(axis="x", labelsize="x-small")
        ax.axvline(0, color="0.5", linewidth=0.8)
        ax.set_title(found.components[number], fontsize="small")
        if found.low is not None and found.high is not None:
            ax.hlines(places, found.low[number, features], found.high[number, features], color="0.2", linewidth=1.2)
    return figure


def _grid(count: int, n_columns: int, width: float, height: float) -> tuple[Any, list[Any]]:
    """A figure and so many axes of this size in it, ``n_columns`` side by side."""
    columns = min(check_count("n_columns", n_columns), count)
    rows = ceil(count / columns)
    figure = new_figure(width * columns, height * rows)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[count:]:
        ax.remove()
    return figure, list(axes[:count])


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
