"""The rows a graph is built on: their lengths, the one form of sparse ones, and what is computed once."""

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse

from lapwing.operators import canonical
from lapwing.rows import Rows

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


def test_once():
    sample, made = Rows(X), []
    assert [sample.once("a", lambda: made.append(1) or 7) for _ in range(3)] == [7, 7, 7]
    assert made == [1]
