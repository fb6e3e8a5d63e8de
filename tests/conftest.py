"""Its being here puts this folder on the import path, so that tests in subfolders can import ``helpers``."""

import numpy as np
import pytest
from scipy import sparse


def long_indices(X):
    rows = sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def in_parts(X):
    """Each entry stored as two halves, the columns in no order."""
    rows = sparse.csr_array(X)
    order = np.concatenate([np.r_[own[::-1], own] for own in np.split(np.arange(rows.nnz), rows.indptr[1:-1])])
    return sparse.csr_array((rows.data[order] / 2, rows.indices[order], 2 * rows.indptr), shape=rows.shape)


SPARSE = {
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "csc_matrix": sparse.csc_matrix,
    "coo_array": sparse.coo_array,
    "coo_matrix": sparse.coo_matrix,
    "64 bits": long_indices,
    "in parts": in_parts,
}


@pytest.fixture(params=SPARSE)
def sparse_kind(request):
    """Makes a sparse matrix of a dense one: every kind that a user may pass."""
    return SPARSE[request.param]


def pytest_collection_modifyitems(items):
    """What compiles pynndescent first: one of several test processes then does it all, and none waits for it at the end."""
    items.sort(key=lambda item: item.path.name != "test_approximate.py")
