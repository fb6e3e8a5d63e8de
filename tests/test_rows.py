"""The one form that sparse rows have behind fit."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse

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
