"""Problems written out densely, from the matrices that ``estimator.problem`` gives: what a fit must solve, and how certainly."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, sqrtm, subspace_angles
from scipy.spatial.distance import cdist

from lapwing.problem import ORTHOGONAL

EPS = np.finfo(float).eps


class Pencil(NamedTuple):
    """``(A - shift B) v = (lambda - shift) (B + rho I) v`` in coordinates: the rows of ``F`` on their principal directions."""

    F: np.ndarray
    A: np.ndarray
    B: np.ndarray  # with the ridge
    shift: float
    blur: float  # what rounding makes of the shortest direction, as a share of it
    size: float  # of the sums that the matrices are made of: their rounding is a share of it

    @property
    def noise(self):
        """What rounding may add to an eigenvalue."""
        values = self.solved()[0] - self.shift
        return EPS * self.size / eigh(self.B)[0][0] + self.blur * np.abs(values).max()

    def solved(self):
        values, vectors = eigh(self.A, self.B)
        return values + self.shift, vectors

    def directions(self, Z):
        """V with Z = F V, and what of Z is no such product, as a share of it."""
        V = np.linalg.lstsq(self.F, Z, rcond=None)[0]
        return V, np.linalg.norm(Z - self.F @ V) / np.linalg.norm(Z)

    def angle(self, Z, other):
        """Between the spaces of two sets of coordinates of the same rows, where B is the identity."""
        root = np.real(sqrtm(self.B))
        return subspace_angles(*(root @ self.directions(z)[0] for z in (Z, other))).max()

    def certainty(self, k):
        """How far rounding may turn the space of the k smallest eigenvalues (Davis and Kahan)."""
        values = self.solved()[0]
        if k >= values.size:
            return 0.0
        return self.noise / (values[k] - values[k - 1]) if values[k] > values[k - 1] else np.inf


def dense(X):
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def clear_rank(values, size=0.0, clear=100.0):
    """How many eigenvalues of a semidefinite matrix are not rounding; None where some are near the border between the two.

    ``size`` is that of the entries whose differences the matrix is made of.
    """
    border = 10 * values.size * EPS * max(values[-1], size)
    if values[-1] <= 0 or ((values > border / clear) & (values < border * clear)).any():
        return None
    return int((values > border).sum())


def features(model, X, weights):
    """The centred rows, in units of their own where columns are divided, or those that a kernel stands for."""
    X = dense(X)
    if getattr(model, "standardize", False):
        deviations = np.where(np.ptp(X, axis=0) > 0, X.std(axis=0), 1.0)
        X = X / np.where(deviations > 0, deviations, 1.0)
    if hasattr(model, "kernel"):
        K = np.exp(-model.gamma * cdist(X, X, "sqeuclidean"))
        C = np.eye(len(X)) - weights / weights.sum()  # subtracts the weighted mean
        values, vectors = eigh(C @ K @ C.T)
        return vectors * np.sqrt(np.maximum(values, 0))
    X = X - X[0]  # so that a constant column is 0
    return X - weights @ X / weights.sum()


def pencil(model, X, y):
    """The problem of a linear or kernel map in coordinates; None where the rank of something is a matter of opinion."""
    problem = model.problem(X, y)
    B = None if problem.subject_to is ORTHOGONAL else problem.subject_to.toarray()
    weights = np.ones(X.shape[0]) if B is None or np.any(B - np.diag(np.diag(B))) else np.diag(B)
    F = features(model, X, weights)
    _, lengths, Vt = np.linalg.svd(F if B is not None else features(model, X, np.ones(X.shape[0])), full_matrices=False)
    kernel = hasattr(model, "kernel")  # whose entries are up to 1
    rank = clear_rank(lengths[::-1] ** 2, 1.0 if kernel else 0.0)
    if not rank:
        return None
    F, spread = F @ Vt[:rank].T, lengths[0] / lengths[rank - 1]
    blur = EPS * X.shape[0] * (max(spread**2, lengths[rank - 1] ** -2) if kernel else spread)
    terms = [(term.coefficient, term.laplacian.toarray()) for term in problem.minimise]
    if getattr(model, "normalize", None) == "trace":
        traces = [np.trace(F.T @ L @ F) for _, L in terms]
        sizes = [np.abs(np.diag(L)) @ np.sum(F**2, axis=1) for _, L in terms]
        if any(abs(trace) <= 1e-6 * size for trace, size in zip(traces, sizes, strict=True)):
            return None
        terms = [(c / trace, L) for (c, L), trace in zip(terms, traces, strict=True)]
    A = sum(c * L for c, L in terms)
    size = sum(abs(c) * np.abs(np.diag(L)) for c, L in terms) @ np.sum(F**2, axis=1)
    if B is None:
        return Pencil(F, F.T @ A @ F, np.eye(rank), 0.0, blur, size)
    b = F.T @ B @ F
    values, N = eigh(b)
    rank = clear_rank(values)
    if rank is None:
        return None
    N, ridge = N[:, values.size - rank :], getattr(model, "ridge", 0.0)
    shift = np.abs(np.diag(A)).sum() / np.trace(B) if ridge else 0.0
    per = X.shape[0] if kernel else rank
    F, rho = F @ N, ridge * np.trace(b) / per
    b = N.T @ b @ N
    size += (abs(shift) + 1) * np.trace(np.abs(B)) * np.sum(F**2)
    return Pencil(F, F.T @ A @ F - shift * b, b + rho * np.eye(rank), shift, blur, size)
