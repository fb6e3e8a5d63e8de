"""``explained_ratio_``, the share of the variance that directions hold, and ``n_components`` as a share of the objective."""

import numpy as np
import oracles as o

X, Y = o.blobs(60, 6)


def held(data, directions):
    """What the least-squares fit of the centred rows by their first coordinates restores of them, by SVD."""
    centred = data - data.mean(axis=0)
    shares = []
    for j in range(len(directions) + 1):
        basis = np.linalg.svd(directions[:j].T, full_matrices=False)[0]
        shares.append(np.linalg.norm(centred @ basis @ basis.T) ** 2 / np.linalg.norm(centred) ** 2)
    return np.diff(shares)


def test_directions_that_say_the_same_add_nothing():
    from lapwing.reducers._linear import explained
    from lapwing.rows import Rows

    shares = explained(Rows(X), np.array([X[0], 2 * X[0], X[1]]))
    assert shares[1] == 0
    np.testing.assert_allclose(shares[[0, 2]], held(X, X[:2]), rtol=1e-10)
