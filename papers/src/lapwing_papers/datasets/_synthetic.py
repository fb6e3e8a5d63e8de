"""Toy data of the papers."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._validation import check_count, check_not_negative, check_positive

__all__ = ["make_patch", "make_perturbed_line", "make_scherk"]


def make_scherk(
    n_samples: int = 1200,
    *,
    b: float = 1.0,
    margin: float = 0.05,
    noise: float = 0.0,
    n_outliers: int = 0,
    displacement: float = 0.5,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Points of Scherk's minimal surface.

    .. math:: z = \frac{1}{b} \ln \frac{\cos bx}{\cos by}, \qquad |bx|, |by| < (1 - m)\,\pi / 2

    with m the margin. No map to the plane keeps its lengths, so unfolding it is harder than unfolding a Swiss roll [1]_. The
    surface of b is that of 1, divided by b.

    Parameters
    ----------
    n_samples : int, default=1200
        Rows in all, outliers included.
    b : float, default=1.0
        Above 0.
    margin : float, default=0.05
        Between 0 and 1: the share of the square that is left out at its edges, where z is infinite. With 0.05, z stays within
        2.55 / b.
    noise : float, default=0.0
        Standard deviation of the Gaussian noise on every coordinate of X.
    n_outliers : int, default=0
        The last rows that are off the surface. They are drawn from the inner half of the square, where the surface is nearly
        flat, and moved straight up or down. The rows before them do not depend on it.
    displacement : float, default=0.5
        How far outliers are moved, in units of 1 / b: by default more than twice the radius of a neighbourhood of 15 among 1,200
        points, and well inside the range of z.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
        Columns x, y and z.
    params : ndarray of shape (n_samples, 2)
        Columns x and y before noise.

    References
    ----------
    .. [1] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007, section 5.2, figures 6 and 7 (where
       the formula has a misprint).

    Examples
    --------
    >>> from lapwing_papers.datasets import make_scherk
    >>> X, params = make_scherk(300, n_outliers=5, random_state=0)
    >>> X.shape, params.shape
    ((300, 3), (300, 2))
    """
    check_count("n_samples", n_samples)
    check_positive("b", b)
    if not (isinstance(margin, Real) and 0 < float(margin) < 1):
        raise ValueError(f"margin={margin!r} must be a number between 0 and 1, both excluded; 0.05 is usual")
    check_not_negative("noise", noise)
    _check_part("n_outliers", n_outliers, n_samples)
    check_positive("displacement", displacement)

    random = check_random_state(random_state)
    half = (1 - margin) * np.pi / 2
    params = random.uniform(-half, half, (n_samples, 2))
    shaken = noise * random.standard_normal((n_samples, 3))
    outliers = slice(n_samples - n_outliers, None)
    params[outliers] /= 2
    z = np.log(np.cos(params[:, 0]) / np.cos(params[:, 1]))
    z[outliers] += displacement * random.choice([-1.0, 1.0], n_outliers)
    params /= b
    return np.column_stack([params, z / b]) + shaken, params


def make_perturbed_line(
    n_samples: int = 20,
    *,
    n_perturbed: int = 0,
    length: float = 20.0,
    width: float = 0.3,
    distance: float = 10.0,
    random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A long thin cloud in the plane, some of its points moved far off.

    The toy that shows how few points turn the first principal component [1]_.

    Parameters
    ----------
    n_samples : int, default=20
        Rows come from the two ends in turn: the first is the foremost along the direction, the second the hindmost, and so on
        inwards.
    n_perturbed : int, default=0
        How many of the first rows are moved, across the direction and each turning the line the same way round. The other rows
        do not depend on it.
    length : float, default=20.0
        Of the line; points are uniform on it.
    width : float, default=0.3
        Standard deviation of the points across it.
    distance : float, default=10.0
        How far the perturbed points are moved.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    direction : ndarray of shape (2,)
        Unit vector along the line, at 30 degrees.

    References
    ----------
    .. [1] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007, figure 1.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> from lapwing_papers.datasets import make_perturbed_line
    >>> for n_perturbed in (0, 1, 2):
    ...     X, direction = make_perturbed_line(n_perturbed=n_perturbed, random_state=0)
    ...     print(f"{abs(PCA(1).fit(X).components_[0] @ direction):.2f}")
    1.00
    0.99
    0.92
    """
    check_count("n_samples", n_samples)
    _check_part("n_perturbed", n_perturbed, n_samples)
    check_positive("length", length)
    check_not_negative("width", width)
    check_positive("distance", distance)

    random = check_random_state(random_state)
    along = np.sort(random.uniform(-length / 2, length / 2, n_samples))
    from_both_ends = np.column_stack([np.arange(n_samples)[::-1], np.arange(n_samples)]).ravel()[:n_samples]
    along = along[from_both_ends]
    across = width * random.standard_normal(n_samples)
    across[:n_perturbed] += distance * (-1.0) ** np.arange(n_perturbed)
    direction = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)])
    normal = np.array([-direction[1], direction[0]])
    return np.outer(along, direction) + np.outer(across, normal), direction


def make_patch() -> tuple[np.ndarray, int]:
    """A patch of six points: five along the first axis, one far below.

    The toy that sets weights by coding length against weights by distance [1]_: the perturbed point should count little, the
    two ends, which tell the direction, most.

    Returns
    -------
    X : ndarray of shape (6, 2)
    perturbed : int
        The row of the perturbed point.

    References
    ----------
    .. [1] D. Zhao, Z. Lin and X. Tang, "Laplacian PCA and its applications", ICCV 2007, section 4.2 and figure 2.

    Examples
    --------
    >>> from lapwing_papers.datasets import make_patch
    >>> X, perturbed = make_patch()
    >>> X[perturbed]
    array([ 2., -6.])
    """
    return np.array([[-6.0, 0.0], [-2.0, 0.4], [0.0, -0.3], [2.0, 0.4], [6.0, 0.0], [2.0, -6.0]]), 5


def _check_part(name: str, value: Any, n_samples: int) -> None:
    if check_count(name, value, 0) > n_samples:
        raise ValueError(f"{name}={value} is more than n_samples={n_samples}; use {n_samples} or less")
