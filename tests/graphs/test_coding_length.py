"""Coding-length weights against exact arithmetic, whatever the unit of X."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from helpers import each
from scipy import sparse

from lapwing import LPCA, KernelLPP
from lapwing.data import as_data
from lapwing.graphs import CodingLength

DIGITS = 80
SCALES = [10.0**e for e in range(-12, 13, 2)]


def determinant(M):
    """By elimination; M is positive definite, so no pivot is zero."""
    M, product = [row[:] for row in M], Fraction(1)
    for k, row in enumerate(M):
        product *= row[k]
        for other in M[k + 1 :]:
            share = other[k] / row[k]
            other[k:] = [a - share * b for a, b in zip(other[k:], row[k:], strict=True)]
    return product


def logarithm(fraction):
    return (Decimal(fraction.numerator) / Decimal(fraction.denominator)).ln()


def scatter(points, mean):
    apart = [[x - c for x, c in zip(point, mean, strict=True)] for point in points]
    small = apart if len(points) <= len(mean) else list(zip(*apart, strict=True))
    return [[sum(a * b for a, b in zip(u, v, strict=True)) for v in small] for u in small]


def length(points, D, squared_distortion):
    """Eq. 24: of points about the mean of all data, with det(I + XXᵀ) = det(I + XᵀX)."""
    m = len(points)
    mean = [sum(column) / m for column in zip(*points, strict=True)]
    S, a = scatter(points, mean), D / (squared_distortion * m)
    B = [[(i == j) + a * s for j, s in enumerate(row)] for i, row in enumerate(S)]
    far = 1 + sum(c * c for c in mean) / squared_distortion
    return (m + D) / Decimal(2) * logarithm(determinant(B)) + D / Decimal(2) * logarithm(far)


def exact_weights(X, rows, squared_distortion, origin="mean"):
    """Eq. 22 and 23, in 80 digits."""
    D, eps2 = X.shape[1], Fraction(squared_distortion)
    given = [[Fraction(float(x)) for x in row] for row in X]
    by_mean = origin == "mean"
    centre = [by_mean * sum(column) / len(given) for column in zip(*given, strict=True)]
    points = [[x - c for x, c in zip(given[i], centre, strict=True)] for i in rows]
    with localcontext() as context:
        context.prec = DIGITS
        whole = length(points, D, eps2)
        change = [abs(whole - length(points[:r] + points[r + 1 :], D, eps2)) for r in range(len(points))]
        mean = sum(change) / len(change)
        variance = sum((c - mean) ** 2 for c in change) / len(change)
        return [float((-((c - mean) ** 2) / (2 * variance)).exp()) for c in change]


def found_and_exact(X, k, given=np.asarray, **options):
    rows, weights = CodingLength(k, **options).patches(as_data(given(X)))
    for i in (0, 5):
        yield weights[i], exact_weights(X, rows[i], 10 * X.shape[1] / k, options.get("origin", "mean"))


@each("scale", SCALES)
@each(("d", "k"), [(2, 6), (4, 5), (9, 5), (9, 3)])
def test_weights_in_any_unit(d, k, scale):
    X = np.random.RandomState(d).standard_normal((14, d)) * scale
    for given in (np.asarray, sparse.csr_array):
        for found, exact in found_and_exact(X, k, given):
            np.testing.assert_allclose(found, exact, atol=1e-9)


@pytest.mark.parametrize("d", [2, 9])
def test_codes_about_the_origin_as_eq_24_is_printed(d):
    X = np.random.RandomState(d).standard_normal((14, d)) + 3
    for given in (np.asarray, sparse.csr_array):
        for found, exact in found_and_exact(X, 5, given, origin=0):
            np.testing.assert_allclose(found, exact, atol=1e-9)
    by_mean, by_origin = (LPCA(2, graph=CodingLength(5, origin=origin)).fit(X) for origin in ("mean", 0))
    assert np.abs(by_mean.components_ - by_origin.components_).max() > 1e-3
    K = KernelLPP(2, kernel="precomputed", graph=CodingLength(5, distortion=(2 * d) ** 0.5, dimension=d, origin=0))
    np.testing.assert_allclose(
        K.problem(X @ X.T).subject_to.diagonal(), by_origin.problem(X).minimise[0].degrees.diagonal(), rtol=1e-8
    )
    with pytest.raises(ValueError, match="origin='centre' must be one of 'mean', 0"):
        LPCA(2, graph=CodingLength(5, origin="centre")).fit(X)


@pytest.mark.parametrize("d", [2, 9])
def test_patches_of_very_different_sizes(d):
    """One far patch must not make rounding noise of the weights of the small one, which is looked at beside it."""
    X = np.random.RandomState(0).standard_normal((14, d))
    X[:7] *= 1e-6
    X[7:] = 1e5 * (X[7:] - X[7:].mean(axis=0))  # the small patch is at the mean of all
    (found, exact), _ = found_and_exact(X, 4)
    np.testing.assert_allclose(found, exact, atol=1e-5)


def test_lpca_of_small_data():
    """Where codes are short, their length is a trace: the weights do not depend on the unit, nor do the directions."""
    X = np.random.RandomState(1).standard_normal((60, 6)) * np.arange(1, 7)
    tiny, small = (LPCA(2).fit(X * scale) for scale in (1e-10, 1e-6))
    np.testing.assert_allclose(tiny.components_, small.components_, atol=1e-6)
