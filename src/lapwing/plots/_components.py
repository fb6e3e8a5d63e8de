"""The directions of a linear map, as images or as their largest weights."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._validation import check_count
from ..inspection import directions
from ._axes import COLORS, new_figure


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
    axes_ : list of matplotlib Axes
        Where the components were drawn, one per component.
    figure_ : matplotlib Figure or SubFigure
        The figure of these axes.

    References
    ----------
    .. [1] X. He, S. Yan, Y. Hu, P. Niyogi and H.-J. Zhang, "Face recognition using Laplacianfaces", IEEE Trans. Pattern
       Analysis and Machine Intelligence 27, 2005. https://doi.org/10.1109/TPAMI.2005.55

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.plots import ComponentsDisplay
    >>> model = LPP(16, pca=0.98).fit(load_digits().data)
    >>> len(ComponentsDisplay.from_estimator(model, image_shape=(8, 8)).axes_)
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
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        image_shape: Sequence[int] | None = None,
        feature_names: Sequence[str] | None = None,
        n_components: int | None = None,
        **options: Any,
    ) -> ComponentsDisplay:
        """Draw the directions of a fitted linear map.

        Parameters
        ----------
        estimator : fitted estimator, or Pipeline of such
            It must have ``components_``, as the linear methods of lapwing and PCA have, or ``scalings_``, as
            LinearDiscriminantAnalysis has. In a pipeline all steps must have them, or scale features, as StandardScaler does.
            The product of the steps is shown, whose weights are those of the features as given.
        image_shape : (int, int), (int, int, 3) or None, default=None
            The rows and columns of an image, and 3 after them where it has colours. None draws bars.
        feature_names : sequence of str or None, default=None
            The names of the features, for the bars. None takes those that the estimator saw in ``fit``, or numbers.
        n_components : int or None, default=None
            How many components to show, the first ones; None shows all.
        **options
            Further parameters of :meth:`plot`.

        Returns
        -------
        ComponentsDisplay
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

        Returns
        -------
        ComponentsDisplay
        """
        k, width = self.components.shape
        shape = None if self.image_shape is None else _image_shape(self.image_shape, width)
        columns = min(check_count("n_columns", n_columns), k)
        rows = ceil(k / columns)
        if figure is None:
            side = (1.1, 1.1 * shape[0] / shape[1]) if shape else (2.4, 0.4 + 0.2 * min(n_features, width))
            figure = new_figure(side[0] * columns, side[1] * rows + 0.4)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for number, (ax, component) in enumerate(zip(axes, self.components, strict=False), start=1):
            if shape:
                ax.imshow(_image(component, shape), cmap=cmap)
                ax.set_axis_off()
            else:
                self._bars(ax, component, check_count("n_features", n_features))
                ax.set_title(f"component {number}", fontsize="small")
        for ax in axes[k:]:
            ax.remove()
        if title is not None:
            figure.suptitle(title)
        self.axes_, self.figure_ = list(axes[:k]), figure
        return self

    def _bars(self, ax: Any, component: np.ndarray, n_features: int) -> None:
        largest = np.argsort(-np.abs(component), kind="stable")[:n_features][::-1]
        names = self.feature_names
        if names is not None and len(names) != component.size:
            raise ValueError(f"feature_names has {len(names)} names, but the components have {component.size} features")
        labels = [str(i if names is None else names[i]) for i in largest]
        ax.barh(np.arange(largest.size), component[largest], color=[COLORS[int(w < 0)] for w in component[largest]])
        ax.set_yticks(np.arange(largest.size), labels=labels, fontsize="x-small")
        ax.tick_params(axis="x", labelsize="x-small")
        ax.axvline(0, color="0.5", linewidth=0.8)


def _image(component: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A component as an image. Colour images go from 0 to 1, as matplotlib draws them."""
    image = component.reshape(shape)
    return image if len(shape) == 2 else (image - image.min()) / (np.ptp(image) or 1)


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


def components(estimator: BaseEstimator, **options: Any) -> ComponentsDisplay:
    """Draw the directions of a fitted linear map, by :meth:`ComponentsDisplay.from_estimator`.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline of such
        It must have ``components_`` or ``scalings_``.
    **options
        ``image_shape``, ``feature_names`` and ``n_components`` of :meth:`ComponentsDisplay.from_estimator`, and the
        parameters of :meth:`ComponentsDisplay.plot`.

    Returns
    -------
    ComponentsDisplay

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP, plots
    >>> iris = load_iris()
    >>> len(plots.components(LPP(2).fit(iris.data), feature_names=iris.feature_names).axes_)
    2
    """
    return ComponentsDisplay.from_estimator(estimator, **options)
