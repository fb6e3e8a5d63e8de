"""The features that make components: directions as images or bars, and loadings with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from .._documented import documented
from .._validation import check_count
from ..inspection import Loadings, directions
from ..inspection import loadings as loadings_of
from ._axes import bars, grid_of_axes


@documented
class ComponentsDisplay:
    """Directions of a linear map: pictures where samples are images, else the features of largest weight.

    On faces the directions of PCA are known as Eigenfaces, those of linear discriminant analysis after PCA as Fisherfaces, and
    those of ``LPP(pca=0.98)`` as Laplacianfaces [1]_.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The directions, one per row.
    image_shape : (int, int), (int, int, 3) or None, default=None
        The rows and columns of an image, and 3 after them where it has colours. None draws bars.
    feature_names : sequence of str or None, default=None
        The names of the features, for the bars; None is numbers.

    Attributes
    ----------
    axes_, figure_ : list of matplotlib Axes, and their Figure or SubFigure
        Where the components were drawn, one per component.

    References
    ----------
    .. [1] X. He, S. Yan, Y. Hu, P. Niyogi and H.-J. Zhang, "Face recognition using Laplacianfaces", IEEE Trans. Pattern
       Analysis and Machine Intelligence 27, 2005. https://doi.org/10.1109/TPAMI.2005.55

    Examples
    --------
    >>> import numpy as np
    >>> from lapwing.plots import ComponentsDisplay
    >>> len(ComponentsDisplay(np.eye(64)[:16], image_shape=(8, 8)).plot().axes_)
    16
    """

    def __init__(
        self,
        components: np.ndarray,
        *,
        image_shape: Sequence[int] | None = None,
        feature_names: Sequence[str] | None = None,
    ):
        self.components = components
        self.image_shape = image_shape
        self.feature_names = feature_names

    @classmethod
    @documented
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        image_shape: Sequence[int] | None = None,
        feature_names: Sequence[str] | None = None,
        n_components: int | None = None,
        **options: Any,
    ) -> ComponentsDisplay:
        """Draw the directions of a fitted linear map, with names of features that it saw in ``fit``.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline of such
            A linear map with ``components_`` or ``scalings_``. In a pipeline all steps must have them, or scale features, as
            StandardScaler does; the product of the steps is shown, whose weights are those of the features as given.
        image_shape, feature_names
            As in :class:`ComponentsDisplay`.
        n_components : int or None, default=None
            How many components to show, the first ones; None shows all.
        **options
            Further parameters of :meth:`ComponentsDisplay.plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from lapwing import LPP, plots
        >>> iris = load_iris()
        >>> len(plots.components(LPP(2).fit(iris.data), feature_names=iris.feature_names).axes_)
        2
        """
        components = directions(estimator)
        k = len(components) if n_components is None else check_count("n_components", n_components)
        if k > len(components):
            raise ValueError(f"n_components={k} is more than the {len(components)} that {type(estimator).__name__} has")
        if image_shape is None and feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        return cls(components[:k], image_shape=image_shape, feature_names=feature_names).plot(**options)

    def plot(
        self,
        *,
        n_columns: int = 8,
        n_features: int = 8,
        title: str | None = None,
        cmap: Any = "gray",
        figure: Any = None,
    ) -> ComponentsDisplay:
        """Draw the components.

        Parameters
        ----------
        n_columns : int, default=8
            How many components stand side by side.
        n_features : int, default=8
            How many features have a bar, those of the largest absolute weight, where there is no image.
        title : str or None, default=None
            A title above all components.
        cmap : str or Colormap, default="gray"
            The colours of images. Each image has its own range, in colour too.
        figure : matplotlib Figure, SubFigure or None, default=None
            Where to draw; None is a new figure of pyplot.
        """
        k, d = self.components.shape
        shape = None if self.image_shape is None else _image_shape(self.image_shape, d)
        names = np.arange(d).astype(str) if self.feature_names is None else np.array([*map(str, self.feature_names)])
        if shape is None and len(names) != d:
            raise ValueError(f"feature_names has {len(names)} names, but the components have {d} features")
        shown = min(check_count("n_features", n_features), d)
        size = (1.1, 1.1 * shape[0] / shape[1]) if shape else (2.4, 0.4 + 0.2 * shown)
        self.figure_, self.axes_ = grid_of_axes(k, n_columns, size, figure, above=0.4)
        for number, (ax, component) in enumerate(zip(self.axes_, self.components, strict=True), start=1):
            if shape:
                image = component.reshape(shape)
                if len(shape) == 3:  # matplotlib draws colours from 0 to 1
                    image = (image - image.min()) / (np.ptp(image) or 1)
                ax.imshow(image, cmap=cmap)
                ax.set_axis_off()
            else:
                largest = np.argsort(-np.abs(component), kind="stable")[:shown]
                bars(ax, component[largest], names[largest].tolist(), f"component {number}")
        if title is not None:
            self.figure_.suptitle(title)
        return self


def _image_shape(image_shape: Any, n_features: int) -> tuple[int, ...]:
    whole = isinstance(image_shape, (tuple, list, np.ndarray)) and all(isinstance(s, Integral) for s in image_shape)
    shape = tuple(int(s) for s in image_shape) if whole else ()
    if not (len(shape) == 2 or (len(shape) == 3 and shape[2] == 3)) or min(shape) < 1:
        raise ValueError(
            f"image_shape={image_shape!r} must be two whole numbers, the rows and columns of an image, and 3 after them in colour"
        )
    if prod(shape) != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} has {prod(shape)} numbers, but the components have {n_features} features"
        )
    return shape


components = ComponentsDisplay.from_estimator


class LoadingsDisplay:
    """Draws the features of largest loading in each component, with their intervals.

    Parameters
    ----------
    loadings : Loadings
        What :func:`lapwing.loadings` has found.

    Attributes
    ----------
    axes_, figure_ : list of matplotlib Axes, and their Figure or SubFigure
        Where the components were drawn, one per component.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lapwing import MMC, loadings, plots
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> len(plots.LoadingsDisplay(loadings(MMC(2).fit(X, y), X, y, n_draws=20)).plot().axes_)
    2
    """

    def __init__(self, loadings: Loadings):
        self.loadings = loadings

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: Any = None, y: ArrayLike | None = None, *, n_draws: int = 100, **options: Any
    ) -> LoadingsDisplay:
        """Draw the features that make the components of a fitted linear map.

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
            Further parameters of :meth:`LoadingsDisplay.plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from lapwing import LPP, plots
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> len(plots.loadings(LPP(2).fit(X), n_features=3).axes_)
        2
        """
        return cls(loadings_of(estimator, X, y, n_draws=n_draws)).plot(**options)

    def plot(self, *, n_features: int = 10, n_columns: int = 4, figure: Any = None) -> LoadingsDisplay:
        """Draw the ``n_features`` largest loadings of each component, ``n_columns`` components side by side.

        ``figure`` is a figure or a part of one to draw in, by default a new one.
        """
        found = self.loadings
        k, d = found.values.shape
        shown = min(check_count("n_features", n_features), d)
        self.figure_, self.axes_ = grid_of_axes(k, n_columns, (3.2, 0.7 + 0.25 * shown), figure)
        for number, ax in enumerate(self.axes_):
            features = found.ranked(number)[:shown]
            bars(ax, found.values[number, features], [found.features[j] for j in features], found.components[number])
            if found.low is not None and found.high is not None:
                ends = found.low[number, features], found.high[number, features]
                ax.hlines(np.arange(shown), *ends, color="0.2", linewidth=1.2)
        return self


loadings = LoadingsDisplay.from_estimator
