"""All eigenvalues of a symmetric matrix and the eigenvectors of the largest, for less than all eigenvectors would take."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dormqr, dsytrd, dsytrd_lwork


class Tridiagonal:
    """A symmetric matrix A = Q T Qᵀ, T tridiagonal, reduced once.

    Seconds of one core for a Gram matrix of 2,000 rows and 34 vectors: reduction 0.54, values 0.05, vectors 0.17; all vectors by
    ``numpy.linalg.eigh`` take 1.41.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The eigenvalues, ascending.
    """

    def __init__(self, A: np.ndarray):
        length = int(dsytrd_lwork(len(A), lower=1)[0])
        reflectors, self._diagonal, self._off, self._tau, _ = dsytrd(A, lower=1, lwork=length)
        self._reflectors = np.asfortranarray(reflectors[1:, :-1])  # Q leaves the first coordinate alone
        self.values = eigh_tridiagonal(self._diagonal, self._off, eigvals_only=True, lapack_driver="sterf")

    def vectors(self, p: int) -> np.ndarray:
        """The eigenvectors of the p largest eigenvalues, these ascending; of close ones too they are orthogonal."""
        n = self.values.size
        chosen = {"select": "i", "select_range": (n - p, n - 1), "lapack_driver": "stemr"}
        vectors = eigh_tridiagonal(self._diagonal, self._off, **chosen)[1]
        turned = "L", "N", self._reflectors, self._tau, vectors[1:]
        length = int(dormqr(*turned, -1)[1][0])
        vectors[1:] = dormqr(*turned, length)[0]
        return vectors
