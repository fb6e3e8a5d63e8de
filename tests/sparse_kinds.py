"""Every kind of sparse matrix that a user may pass."""

import numpy as np
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


def random_csr(shape, density, seed=0):
    """Uniform entries in (0, 1), in random places: SciPy's own changed the name of its seed."""
    random = np.random.RandomState(seed)
    return sparse.csr_array(random.uniform(size=shape) * (random.uniform(size=shape) < density))
