"""Rows in blocks that are no rows: what is wrong is named, and no model is left."""

import numpy as np
import pytest
import zarr
from rows_in_blocks import KINDS, METHODS, NEAR, D, N, data, in_memory, memmap, memory
from sklearn.base import clone

from lapwing import (
    LPDP,
    LPP,
    MMC,
    FisherScore,
)
from lapwing.graphs import (
    KNN,
    SameClass,
)

# Bad rows and labels.


def bad_rows():
    X, _ = data()
    for name, value in (("NaN", np.nan), ("infinity", np.inf), ("both", -np.inf)):
        rows = X.copy()
        rows[777, 3] = value
        if name == "both":
            rows[778, 1] = np.inf
        yield pytest.param(rows, id=name)


@pytest.mark.parametrize("rows", list(bad_rows()))
@pytest.mark.parametrize("kind", KINDS)
def test_nan_and_infinity_are_named(kind, rows, tmp_path):
    """By the block, its first row, and the row."""
    good = data()[0]
    model = clone(METHODS["MMC"]).fit(*data())
    with memory(rows):
        blocks = KINDS[kind](rows, tmp_path)
        words = r"block (\d+) of X \(from row \d+\) contains NaN or infinity \(the first in row 777\); impute"
        with pytest.raises(ValueError, match=words):
            clone(model).fit(blocks, data()[1])
        with pytest.raises(ValueError, match=words):
            np.asarray(model.transform(blocks))
    assert np.isfinite(good).all()


@pytest.mark.parametrize(
    ("shape", "dtype", "words"),
    [
        ((900,), "f8", r"X has 1 dimensions, shape \(900,\)"),
        ((3, 4, 5), "f8", "X has 3 dimensions"),
        ((30, 4), "c16", "holds complex128, not numbers"),
        ((30, 0), "f8", "X has 30 samples and 0 features, but"),
        ((1, 4), "f8", "X has 1 samples and 4 features, but 2"),
        ((0, 4), "f8", "X has 0 samples"),
        ((30, 4), "f8", "X is constant"),
    ],
)
def test_bad_arrays(shape, dtype, words):
    with pytest.raises(ValueError, match=words):
        LPP(2).fit(zarr.zeros(shape, dtype=dtype))


def test_a_group_is_no_array():
    with pytest.raises(TypeError, match=r"X is a zarr.* Group; pass an array"):
        LPP(2).fit(zarr.group())


def test_bad_memory_maps(tmp_path):
    line = memmap(np.zeros(5000), tmp_path)
    with memory(line), pytest.raises(ValueError, match="X has 1 dimensions"):
        LPP(2).fit(line)
    words = memmap(np.zeros((500, 3), "<U8"), tmp_path)
    with memory(words, 0.01), pytest.raises(ValueError, match="must be numbers"):
        LPP(2).fit(words)


def test_bad_labels(tmp_path):
    X, y = data()
    blocks = zarr.array(X, chunks=(90, D))
    for model in (MMC(2), FisherScore(2), LPP(2, graph=NEAR + SameClass()), LPDP(2, graph=NEAR), LPP(2, penalty=7)):
        with pytest.raises(ValueError, match=r"y to be passed, but the target y is None"):
            clone(model).fit(blocks)
        with pytest.raises(ValueError, match=r"y has 999 labels, but X has 1000 samples"):
            clone(model).fit(blocks, y[:-1])
        with pytest.raises(ValueError, match="one class only"):
            clone(model).fit(blocks, np.zeros(N, int))


def test_transform_of_another_number_of_columns():
    X, _ = data()
    for name in ("MMC", "FisherScore"):
        with pytest.raises(ValueError, match=r"X has 5 features, but \w+ is expecting 6 features"):
            in_memory(name).transform(zarr.array(X[:, :5], chunks=(90, 5)))


def test_a_failed_fit_leaves_no_model():
    X, y = data()
    model = clone(METHODS["MMC"]).fit(zarr.array(X, chunks=(90, D)), y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(zarr.array(np.full((30, 4), np.nan), chunks=(9, 4)), y[:30])
    assert not hasattr(model, "components_")


def test_zero_rows_have_no_cosine():
    X, _ = data()
    X[901] = 0
    with pytest.raises(ValueError, match=r"zero vectors.*row 901"):
        LPP(2, graph=KNN(4, metric="cosine", queries=20)).fit(zarr.array(X, chunks=(90, D)))
