"""Features of images."""

from __future__ import annotations

import warnings
from math import isqrt
from typing import Any

import numpy as np
from skimage.feature import local_binary_pattern
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._validation import check_choice, check_count, check_positive

__all__ = ["LBPHistogram"]


class LBPHistogram(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Histograms of uniform local binary patterns over a grid of blocks.

    Each pixel is compared with P points on a circle around it; the signs are its pattern. The P (P - 1) + 2 patterns with at
    most two changes round the circle have a bin each, all others share the last. The histograms of the blocks, one after the
    other, describe a face well for recognition [1]_. They are counts, better compared by chi-squared than by Euclidean
    distance.

    Parameters
    ----------
    image_shape : tuple of int or None, default=None
        Height and width of the images; rows of X are images in C order, ``images.reshape(n, -1)``. None: squares, or one row
        of pixels where the number of features is not a square.
    grid : tuple of int, default=(7, 7)
        Blocks down and across. Their sizes differ by a pixel at most where the grid does not divide the image; a block without
        pixels has a histogram of zeros.
    n_points : int, default=8
        P, the points on the circle.
    radius : float, default=2
        Of the circle, in pixels. Points between pixels are interpolated; those outside the image are 0.
    normalize : bool, default=False
        Divide each histogram by the number of pixels in its block, so that it sums to 1.

    Attributes
    ----------
    image_shape_ : tuple of int
        Height and width.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)

    Notes
    -----
    Grey levels may be whole numbers or fractions. Their last bit (of 53) is cleared, and so the interpolation in a flat area is
    exact: ``X`` and ``X / 255`` have the same patterns. Whole numbers and float32 do not change by it.

    References
    ----------
    .. [1] T. Ahonen, A. Hadid and M. Pietikäinen, "Face description with local binary patterns: application to face
       recognition", IEEE Trans. Pattern Analysis and Machine Intelligence 28, 2006. https://doi.org/10.1109/TPAMI.2006.244

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from lapwing_papers.features import LBPHistogram
    >>> X, y = load_digits(return_X_y=True)
    >>> LBPHistogram((8, 8), grid=(2, 2), radius=1).fit_transform(X).shape
    (1797, 236)
    """

    def __init__(
        self,
        image_shape: Any = None,
        *,
        grid: Any = (7, 7),
        n_points: int = 8,
        radius: float = 2,
        normalize: bool = False,
    ):
        self.image_shape = image_shape
        self.grid = grid
        self.n_points = n_points
        self.radius = radius
        self.normalize = normalize

    def fit(self, X: Any, y: Any = None) -> LBPHistogram:
        """Check the parameters; nothing is learnt.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width)
        y : ignored

        Returns
        -------
        self
        """
        self.__dict__.pop("image_shape_", None)  # bad input leaves it unfitted
        _check_pair("grid", self.grid)
        check_count("n_points", self.n_points)
        check_positive("radius", self.radius)
        check_choice("normalize", self.normalize, (True, False))
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self.image_shape_ = self._resolved_shape(X.shape[1])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The histograms of each image.

        Parameters
        ----------
        X : array-like of shape (n_samples, height * width)

        Returns
        -------
        ndarray of shape (n_samples, n_blocks * n_bins)
            Blocks row by row; float32 where X is, else float64.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        block = self._blocks()
        out = np.empty((len(X), self._n_features_out), X.dtype)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Applying `local_binary_pattern` to floating-point")  # _even sees to it
            for histograms, row in zip(out, X, strict=True):
                image = _even(row).reshape(self.image_shape_)
                codes = local_binary_pattern(image, self.n_points, self.radius, method="nri_uniform")
                bins = block * self._n_bins + codes.ravel().astype(np.intp)
                histograms[:] = np.bincount(bins, minlength=len(histograms))
        if self.normalize:
            n_pixels = np.bincount(block, minlength=self.grid[0] * self.grid[1])
            out /= np.repeat(np.maximum(n_pixels, 1), self._n_bins).astype(out.dtype)
        return out

    def _resolved_shape(self, n_features: int) -> tuple[int, int]:
        if self.image_shape is None:
            side = isqrt(n_features)
            return (side, side) if side * side == n_features else (1, n_features)
        height, width = _check_pair("image_shape", self.image_shape)
        if height * width != n_features:
            raise ValueError(
                f"image_shape={self.image_shape!r} has {height * width} pixels, but X has {n_features} features; rows of X are "
                "flattened images"
            )
        return height, width

    def _blocks(self) -> np.ndarray:
        """The block of each pixel."""
        down, across = (np.arange(size) * n // size for size, n in zip(self.image_shape_, self.grid, strict=True))
        return np.add.outer(down * self.grid[1], across).ravel()

    @property
    def _n_bins(self) -> int:
        return self.n_points * (self.n_points - 1) + 3

    @property
    def _n_features_out(self) -> int:
        return self.grid[0] * self.grid[1] * self._n_bins

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "image_shape_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _even(grey: np.ndarray) -> np.ndarray:
    """The last bit of the significand cleared: then v (1 - t) + v t rounds to v, and flat areas are flat."""
    return (grey.astype(np.float64).view(np.int64) & -2).view(np.float64)


def _check_pair(name: str, value: Any) -> tuple[int, int]:
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"{name}={value!r} must be two whole numbers: (down, across)")
    return check_count(f"{name}[0]", value[0]), check_count(f"{name}[1]", value[1])
