"""The one form that sparse rows have behind fit."""

import numpy as np
import pytest
from helpers import each
from numpy.testing import assert_allclose
from scipy import sparse

from lapwing import LPP
from lapwing.data import canonical

RNG = np.random.RandomState(0)
X = np.where(RNG.rand(30, 12) < 0.5, RNG.rand(30, 12) - 0.3, 0)
X[4] = 0


def test_canonical(sparse_kind):
    given = sparse_kind(X)
    before = given.copy()
    rows = canonical(given)
    assert isinstance(rows, sparse.csr_array)
    assert rows.has_canonical_format
    assert rows.indices.dtype == rows.indptr.dtype == np.int32
    assert_allclose(rows.toarray(), X, rtol=1e-15)
    assert canonical(rows) is rows
    assert type(given) is type(before)
    assert given.data.tobytes() == before.data.tobytes()
    assert canonical(X) is X


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@each("largest", [1e-60, -1e-60, 1e60, -1e60])
def test_rows_whose_powers_leave_floating_point_are_refused(largest, kind):
    """By their largest entry, whatever its sign. Their fourth powers would be 1e-240 or 1e240."""
    positive = np.where(X == 0, 0, np.abs(X) + 0.1)
    rows = positive / positive.max() * largest
    with pytest.raises(ValueError, match="leave the range of floating point"):
        LPP(1).fit(kind(rows))
    LPP(1, standardize=False).fit(kind(rows / largest * np.sign(largest)))


def test_rows_of_zeros_alone_are_constant():
    with pytest.raises(ValueError, match="constant"):
        LPP(1).fit(sparse.csr_array((30, 12)))
