"""Locality preserving indexing."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import clone

from lapwing import LPI, LPP
from lapwing.graphs import SameClass


def documents(n=90, d=60, seed=0):
    """Counts of terms of four topics."""
    rng = np.random.RandomState(seed)
    y = np.arange(n) % 4
    topics = rng.gamma(0.3, size=(4, d))
    X = rng.poisson(12 * topics[y] / topics.sum(axis=1)[y, None] + 0.05)
    X[:, 0] += 1  # no empty document
    return sparse.csr_array(X.astype(float)), y


X, Y = documents()


EMPTY = sparse.vstack([X[:5], sparse.csr_array((2, 60)), X[5:]]).tocsr()


@pytest.mark.parametrize("graph", [None, 6, "supervised", SameClass()], ids=repr)
@pytest.mark.filterwarnings("ignore:documents without a term")
def test_dense_documents_in_blocks(graph, monkeypatch):
    """Those that fit are loaded, since the regression needs each; of others the directions are those of LPP."""
    zarr = pytest.importorskip("zarr")
    labels = np.insert(Y, 5, [-1, 2])
    blocks, model = zarr.array(EMPTY.toarray()), LPI(3, graph=graph, ridge=2.0)
    expected = clone(model).fit(EMPTY.toarray(), labels)
    np.testing.assert_array_equal(model.fit(blocks, labels).components_, expected.components_)
    monkeypatch.setattr("lapwing.methods._documents.fits_in_memory", lambda blocks: False)
    model.fit(blocks, labels)
    rows = X.toarray() / np.linalg.norm(X.toarray(), axis=1, keepdims=True)
    lpp = LPP(3, graph=model.graph_, ridge=2.0, pca=None, standardize=False, normalize=None).fit(rows, Y)
    assert subspace_angles(model.components_.T, lpp.components_.T).max() < 1e-6
