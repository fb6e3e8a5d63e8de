"""standardize=: columns in different units."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.datasets import load_wine

from lapwing import LPP, MMC
from lapwing.blocks import working_memory
from lapwing.graphs import KNN

WINE, Y = load_wine(return_X_y=True)


@pytest.mark.filterwarnings("ignore::lapwing.UnitsWarning")
@pytest.mark.parametrize("kind", ["memmap", "dask", "sparse"])
@pytest.mark.parametrize("estimator", [LPP(3, graph=KNN(5, queries=60)), MMC(2), LPP(2, graph="supervised")], ids=str)
def test_rows_in_blocks(estimator, kind, tmp_path):
    rng = np.random.RandomState(0)
    X = np.vstack([WINE] * 30) + rng.standard_normal((178 * 30, 13)) * WINE.std(axis=0) / 5
    y = np.tile(Y, 30)
    expected = clone(estimator).fit(X, y)
    assert expected.scale_ is not None
    if kind == "memmap":
        np.save(tmp_path / "X.npy", X)
        from sklearn import config_context

        with config_context(working_memory=0.4):
            assert X.nbytes > working_memory()
            model = clone(estimator).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    elif kind == "dask":
        da = pytest.importorskip("dask.array")
        model = clone(estimator).fit(da.from_array(X, chunks=(700, 13)), y)
    else:
        model = clone(estimator).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(model.scale_, expected.scale_, rtol=1e-9)
    assert subspace_angles(model.components_.T, expected.components_.T).max() < 1e-6
    np.testing.assert_allclose(np.abs(model.components_), np.abs(expected.components_), rtol=1e-5, atol=1e-7)
