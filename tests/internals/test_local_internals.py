"""Patches, their weights and alignment; LPCA beyond its definition; tangential maps."""

import numpy as np
import oracles as o

from lapwing.graphs import (
    CodingLength,
    TangentAlignment,
)
from lapwing.rows import KernelRows, Rows

X, Y = o.blobs(60, 5)


def sample(X):
    return Rows.validated(X)


def test_weights_of_a_kernel_are_those_of_its_features():
    centred = X - X.mean(axis=0)
    given = CodingLength(6, dimension=5, distortion=2.0)
    plain = CodingLength(6, distortion=2.0)
    for K in (X @ X.T, centred @ centred.T):
        rows, weights = given.patches(KernelRows(K))
        assert np.array_equal(rows, plain.patches(sample(X)).rows)
        np.testing.assert_allclose(weights, plain.patches(sample(X)).weights, atol=1e-9)
        np.testing.assert_allclose(
            given.terms(KernelRows(K))[0].laplacian.toarray(), plain.build(X)[0].laplacian.toarray(), atol=1e-9
        )
    tangent = TangentAlignment(6, n_components=2, weights="uniform")
    of_kernel = tangent.terms(KernelRows(X @ X.T))[0].laplacian.toarray()
    np.testing.assert_allclose(of_kernel, tangent.build(X)[0].laplacian.toarray(), atol=1e-8)


def test_both_determinants_agree():
    from lapwing.graphs import _patches

    G = next(_patches.patch_grams(sample(o.blobs(40, 30)[0]), CodingLength(6).rows(sample(o.blobs(40, 30)[0]))))[1]
    Gc = _patches.centred_grams(G)
    for plain, by_modes in zip(
        _patches._determinants(Gc, 0.3, 0.4), _patches._determinants_by_modes(Gc, 0.3, 0.4), strict=True
    ):
        np.testing.assert_allclose(plain, by_modes, atol=1e-9)
