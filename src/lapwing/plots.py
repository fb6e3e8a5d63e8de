"""Pictures."""

from __future__ import annotations

from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ._validation import check_count

__all__ = ["show_components"]


def show_components(
    estimator: Any,
    image_shape: tuple[int, int],
    *,
    n_components: int | None = None,
    n_columns: int = 8,
    title: str | None = None,
    cmap: Any = "gray",
    figure: Any = None,
) -> Any:
    """Show the directions of a linear map as images.

    On faces the directions of PCA are known as Eigenfaces, those of linear discriminant analysis after PCA as Fisherfaces, and
    those of ``LPP(pca=0.98)`` as Laplacianfaces [1]_.

    Parameters
    ----------
    estimator : fitted estimator, or Pipeline of such
        With ``components_``, as the linear methods of lapwing and PCA, or ``scalings_``, as LinearDiscriminantAnalysis. Of a
        pipeline all steps must have them; the product is shown.
    image_shape : (int, int)
        Rows and columns of an image.
    n_components : int or None, default=None
        How many to show, the first ones; None is all.
    n_columns : int, default=8
        Images side by side.
    title : str or None, default=None
        Above them all.
    cmap : str or Colormap, default="gray"
        Each image has its own range.
    figure : matplotlib Figure, SubFigure or None, default=None
        Where to draw; None is a new figure of pyplot.

    Returns
    -------
    Figure or SubFigure

    References
    ----------
    .. [1] X. He, S. Yan, Y. Hu, P. Niyogi and H.-J. Zhang, "Face recognition using Laplacianfaces", IEEE Trans. Pattern
       Analysis and Machine Intelligence 27, 2005. https://doi.org/10.1109/TPAMI.2005.55

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing import LPP
    >>> from lapwing.plots import show_components
    >>> X, y = load_digits(return_X_y=True)
    >>> figure = show_components(LPP(16, pca=0.98).fit(X), (8, 8))
    >>> len(figure.axes)
    16
    """
    components = _directions(estimator)
    height, width = _image_shape(image_shape, components.shape[1])
    k = len(components) if n_components is None else check_count("n_components", n_components)
    if k > len(components):
        raise ValueError(f"n_components={k} is more than the {len(components)} that {type(estimator).__name__} has")
    columns = min(check_count("n_columns", n_columns), k)
    rows = ceil(k / columns)
    figure = _new_figure(columns, rows * height / width) if figure is None else figure
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis, component in zip(axes, components[:k], strict=False):
        axis.imshow(component.reshape(height, width), cmap=cmap)
        axis.set_axis_off()
    for axis in axes[k:]:
        axis.remove()
    if title is not None:
        figure.suptitle(title)
    return figure


def _new_figure(width: float, height: float) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("show_components needs matplotlib: pip install 'lapwing[plots]'") from error
    return plt.figure(figsize=(1.1 * width, 1.1 * height + 0.4), layout="constrained")


def _directions(estimator: Any) -> np.ndarray:
    """The rows of the linear map."""
    if isinstance(estimator, Pipeline):
        product: Any = None
        for _, step in estimator.steps:
            if step not in (None, "passthrough"):
                product = _directions(step) if product is None else _directions(step) @ product
        if product is None:
            raise ValueError("the pipeline has no step but passthrough, so there is nothing to show")
        return product
    check_is_fitted(estimator)
    rows = None if hasattr(estimator, "nystroem_") else getattr(estimator, "components_", None)
    if rows is None and hasattr(estimator, "scalings_"):
        most = min(len(estimator.classes_) - 1, estimator.scalings_.shape[1])
        rows = estimator.scalings_[:, : min(estimator.n_components or most, most)].T
    if getattr(rows, "ndim", 0) != 2:
        raise ValueError(
            f"{type(estimator).__name__} has no matrix of directions (components_ or scalings_), so there is nothing to show; "
            "use a linear map, such as LPP or PCA"
        )
    assert rows is not None
    whitened = getattr(estimator, "whiten", False) is True and hasattr(estimator, "explained_variance_")
    return rows / np.sqrt(estimator.explained_variance_)[:, None] if whitened else np.asarray(rows)


def _image_shape(image_shape: Any, n_features: int) -> tuple[int, int]:
    whole = isinstance(image_shape, (tuple, list, np.ndarray)) and all(isinstance(s, Integral) for s in image_shape)
    if not whole or len(image_shape) != 2 or min(image_shape) < 1:
        raise ValueError(f"image_shape={image_shape!r} must be two whole numbers, the rows and columns of an image")
    height, width = (int(s) for s in image_shape)
    if height * width != n_features:
        raise ValueError(
            f"image_shape={image_shape!r} has {height * width} pixels, but the components have {n_features} features"
        )
    return height, width
