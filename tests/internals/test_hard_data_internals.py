"""Data on which careless arithmetic shows: equal distances, far origins, constant columns, repeated eigenvalues."""

import numpy as np
import oracles as o
import pytest
from limits import large_from
from scipy import sparse
from sklearn.datasets import load_digits
from sparse_kinds import random_csr

from lapwing import LPP, OLPP
from lapwing.maps import _map, _sparse

RNG = np.random.RandomState(0)
DIGITS = load_digits()
TIED = {
    "digits": DIGITS.data[:900],
    "binary": (RNG.rand(700, 20) < 0.5).astype(float),
    "grid": RNG.randint(0, 20, (1300, 2)).astype(float),
    "repeated": np.repeat(RNG.standard_normal((60, 30)), 12, axis=0),
    "repeated wide": np.repeat(RNG.standard_normal((15, 300)), 12, axis=0),
    "sparse": sparse.csr_array((RNG.rand(600, 80) < 0.05).astype(float)),
}
TIED["all equal but one"] = np.vstack([np.ones((400, 3)), np.eye(3)])


def test_truncation_doubles_until_the_energy_is_held(monkeypatch):
    X = random_csr((700, 600), 0.05)
    large_from(monkeypatch, 500)
    asked = []
    eigsh = _map.seeded_eigsh
    monkeypatch.setattr(_map, "seeded_eigsh", lambda A, k, **o: asked.append(k) or eigsh(A, k, **o))
    truncated = OLPP(3, pca=0.8).fit(X)
    assert asked == [128, 256, 512][: len(asked)]
    assert len(asked) > 1
    dense = OLPP(3, pca=0.8).fit(X.toarray())
    assert truncated.n_pca_ == dense.n_pca_
    assert o.angle(truncated.components_, dense.components_) < 1e-6
    monkeypatch.setattr(_sparse, "MOST_DIRECTIONS", 128)
    with pytest.raises(ValueError, match=r"first 128 directions.*pca=300"):
        OLPP(3, pca=0.8).fit(X)


def test_few_directions_of_sparse_data_are_found_by_lanczos(monkeypatch):
    X = random_csr((900, 700), 0.05)
    dense = LPP(3, pca=10).fit(X.toarray())
    monkeypatch.setattr(_map, "leading", None)  # not to be used
    assert o.angle(LPP(3, pca=10).fit(X).components_, dense.components_) < 1e-6
