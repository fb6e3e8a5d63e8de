"""LBP histograms beside the definition, by loops, and as a scikit-learn transformer."""

import pickle
from math import ceil, cos, floor, pi, sin

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from lapwing_papers.features import LBPHistogram

RANDOM = np.random.RandomState(0)
IMAGES = RANDOM.randint(0, 256, (5, 19 * 16)).astype(float)


def interpolated(image, r, c):
    """Bilinear; 0 outside the image."""
    total = 0.0
    for row, share in ((floor(r), 1 - (r - floor(r))), (ceil(r), r - floor(r))):
        for column, part in ((floor(c), 1 - (c - floor(c))), (ceil(c), c - floor(c))):
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                total += share * part * image[row, column]
    return total


def uniform_patterns(P):
    """Every pattern with at most two changes round the circle."""
    patterns = [tuple(code >> i & 1 for i in range(P)) for code in range(2**P)]
    return [p for p in patterns if sum(p[i] != p[i - 1] for i in range(P)) <= 2]


def pattern(image, r, c, P, R):
    circle = [(-R * sin(2 * pi * i / P), R * cos(2 * pi * i / P)) for i in range(P)]
    points = [interpolated(image, r + round(dr, 5), c + round(dc, 5)) for dr, dc in circle]
    return tuple(int(value >= image[r, c]) for value in points)


def histograms(image, grid, P, R):
    """For each block, how often each uniform pattern occurs, and how often any other."""
    counts = {}
    for r in range(image.shape[0]):
        for c in range(image.shape[1]):
            block = (r * grid[0] // image.shape[0], c * grid[1] // image.shape[1])
            key = (block, pattern(image, r, c, P, R))
            counts[key] = counts.get(key, 0) + 1
    uniform = uniform_patterns(P)
    blocks = [(i, j) for i in range(grid[0]) for j in range(grid[1])]
    known = [[counts.pop((block, p), 0) for p in uniform] for block in blocks]
    others = [sum(n for (b, _), n in counts.items() if b == block) for block in blocks]
    return np.array(known), np.array(others)


@pytest.mark.parametrize(("P", "R", "grid"), [(8, 2, (7, 7)), (8, 1, (2, 3)), (4, 1.5, (1, 1)), (8, 2, (4, 20))])
def test_histograms_are_the_definition(P, R, grid):
    """The order of the uniform patterns is a convention: the same permutation of bins in every block of every image."""
    out = LBPHistogram((19, 16), grid=grid, n_points=P, radius=R).fit_transform(IMAGES)
    bins = P * (P - 1) + 3
    out = out.reshape(len(IMAGES) * grid[0] * grid[1], bins)
    expected = [histograms(image.reshape(19, 16), grid, P, R) for image in IMAGES]
    np.testing.assert_array_equal(out[:, -1], np.concatenate([others for _, others in expected]))
    known = np.vstack([counts for counts, _ in expected])
    assert known.shape[1] == bins - 1
    assert sorted(map(tuple, out[:, :-1].T)) == sorted(map(tuple, known.T))


def test_blocks_by_loops():
    from skimage.feature import local_binary_pattern

    out = LBPHistogram((19, 16)).fit_transform(IMAGES)
    assert out.shape == (5, 59 * 49)
    for row, image in zip(out, IMAGES, strict=True):
        codes = local_binary_pattern(image.reshape(19, 16).astype(int), 8, 2, method="nri_uniform")
        expected = np.zeros((7, 7, 59))
        for r in range(19):
            for c in range(16):
                expected[r * 7 // 19, c * 7 // 16, int(codes[r, c])] += 1
        np.testing.assert_array_equal(row, expected.ravel())


def test_normalize():
    counts = LBPHistogram((19, 16)).fit_transform(IMAGES).reshape(5, 49, 59)
    shares = LBPHistogram((19, 16), normalize=True).fit_transform(IMAGES).reshape(5, 49, 59)
    np.testing.assert_allclose(shares.sum(axis=2), 1)
    np.testing.assert_allclose(shares * counts.sum(axis=2, keepdims=True), counts)
    assert set(counts.sum(axis=2).ravel()) == {4, 6, 9}  # blocks of 2 or 3 by 2 or 3


@pytest.mark.parametrize("normalize", [False, True])
def test_images_smaller_than_the_grid(normalize):
    out = LBPHistogram((2, 3), grid=(4, 3), normalize=normalize).fit_transform(IMAGES[:, :6]).reshape(5, 4, 3, 59)
    np.testing.assert_array_equal(out.sum(axis=(2, 3))[:, [1, 3]], 0)
    np.testing.assert_array_equal(out.sum(axis=3)[:, [0, 2]], 1)


@pytest.mark.parametrize(("n_features", "shape"), [(16, (4, 4)), (1, (1, 1)), (15, (1, 15))])
def test_shape_by_default(n_features, shape):
    X = IMAGES[:, :n_features]
    fitted = LBPHistogram().fit(X)
    assert fitted.image_shape_ == shape
    np.testing.assert_array_equal(fitted.transform(X), LBPHistogram(shape).fit_transform(X))


def test_flat_areas_of_fractions_are_flat():
    """Without a warning, and with the patterns of whole numbers."""
    coarse = np.kron(RANDOM.randint(1, 256, (6, 4, 4)), np.ones((8, 8))).reshape(6, -1)
    expected = LBPHistogram().fit_transform(coarse.astype(int))
    for divisor in (255, 7, 1e9):
        np.testing.assert_array_equal(LBPHistogram().fit_transform(coarse / divisor), expected)
    flat = np.repeat(RANDOM.rand(50, 1), 12 * 12, axis=1)
    inner = LBPHistogram(grid=(3, 3)).fit_transform(flat).reshape(50, 3, 3, 59)[:, 1, 1]
    assert (inner[:, 57] == 16).all()  # all points of the circle at least as bright


def test_dtype_and_input_untouched():
    single = IMAGES.astype(np.float32)
    double = LBPHistogram((19, 16), normalize=True).fit(IMAGES)
    before = single.copy()
    out = double.transform(single)
    assert out.dtype == np.float32
    assert double.transform(IMAGES).dtype == double.transform(IMAGES.astype(np.uint8)).dtype == np.float64
    np.testing.assert_allclose(out, double.transform(IMAGES), rtol=1e-6)
    np.testing.assert_array_equal(single, before)


@parametrize_with_checks([LBPHistogram(), LBPHistogram(grid=(2, 3), n_points=4, radius=1.5, normalize=True)])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_names_frames_clone_and_pickle():
    pandas = pytest.importorskip("pandas")
    estimator = LBPHistogram((19, 16), grid=(2, 2))
    fitted = clone(estimator).fit(IMAGES)
    names = [f"lbphistogram{i}" for i in range(4 * 59)]
    assert list(fitted.get_feature_names_out()) == names
    frame = clone(estimator).set_output(transform="pandas").fit_transform(IMAGES)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == names
    np.testing.assert_array_equal(frame, fitted.transform(IMAGES))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(IMAGES), fitted.transform(IMAGES))
    assert repr(clone(fitted)) == repr(estimator)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"image_shape": (19, 17)}, r"image_shape=\(19, 17\) has 323 pixels, but X has 304"),
        ({"image_shape": 19}, "image_shape=19 must be two"),
        ({"image_shape": (19, 16, 1)}, r"image_shape=\(19, 16, 1\) must be two"),
        ({"image_shape": (-19, -16)}, r"image_shape\[0\]=-19"),
        ({"grid": 7}, "grid=7 must be two"),
        ({"grid": (7, 0)}, r"grid\[1\]=0"),
        ({"grid": (7, 1.5)}, r"grid\[1\]=1.5"),
        ({"n_points": 0}, "n_points=0"),
        ({"n_points": 8.0}, "n_points=8.0"),
        ({"radius": 0}, "radius=0"),
        ({"radius": np.nan}, "radius=nan"),
        ({"normalize": "l1"}, "normalize='l1'"),
    ],
)
def test_bad_parameters(parameters, match):
    fitted = LBPHistogram().fit(IMAGES).set_params(**parameters)
    for estimator in (LBPHistogram(**parameters), fitted):
        with pytest.raises(ValueError, match=match):
            estimator.fit(IMAGES)
        with pytest.raises(NotFittedError):
            estimator.transform(IMAGES)
