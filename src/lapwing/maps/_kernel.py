"""The map of the features that a kernel stands for, which are known by their products only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels

from .._validation import check_choice, check_positive
from ..operators import Array, Structured, alike, row_blocks
from ._map import PILOT, Centre, Coordinates, DenseMap, Map, leading
from ._preprojection import Preprojection
from ._weighted import WeightedDenseMap

EPS = np.finfo(np.float64).eps
SEEN = 1e-12  # rounding of an exponent below this is not looked at
VANISHED = 750.0  # exp(-x) is 0 from here on
# The kernels that are computed on tensors.
ON_DEVICES = ("rbf", "laplacian", "linear", "poly", "polynomial", "sigmoid", "cosine")


@dataclass(frozen=True)
class Kernel:
    """A kernel function by name or as a callable, and its parameters."""

    kernel: Any = "rbf"
    gamma: Any = None
    degree: float = 3
    coef0: float = 1
    params: dict | None = None

    @property
    def is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def width(self, X: Array, share: float = 1.0, variance: float | None = None) -> float | None:
        """``gamma`` as a number. "scale" is 1 / (number of features times their variance), and "auto" is a share of that."""
        if not isinstance(self.gamma, str):
            return None if self.gamma is None else check_positive("gamma", self.gamma)
        check_choice("gamma", self.gamma, ("auto", "scale"))
        if self.is_precomputed or callable(self.kernel):
            return None
        variance = _variance(X) if variance is None else variance
        scale = 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        return scale * share if self.gamma == "auto" else scale

    @property
    def options(self) -> dict:
        """The parameters of a named kernel."""
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}

    def __call__(self, X: Array, Y: Array | None = None) -> np.ndarray:
        """The kernel between the rows of X and those of Y; None as Y is X."""
        if self.is_precomputed:
            return X
        # In float64, since float32 would lose digits here.
        X, Y = (A if A is None else A.astype(np.float64, copy=False) for A in (X, Y))
        try:
            if isinstance(self.kernel, str) and self.kernel == "rbf":
                K: Any = self._gaussian(X, Y)
            elif callable(self.kernel):
                K = pairwise_kernels(X, Y, metric=self.kernel, **(self.params or {}))
            else:
                if self.kernel in ("chi2", "additive_chi2"):  # scikit-learn has these for writable arrays only
                    X, Y = (A if A is None or sparse.issparse(A) else np.require(A, requirements="W") for A in (X, Y))
                elif self.kernel == "cosine":
                    X, Y = (A if A is None else _of_usual_length(A) for A in (X, Y))
                K = pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **self.options)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"kernel={self.kernel!r} cannot be evaluated (a callable is given two rows): {error}"
            ) from error
        return self.finite(K.toarray() if sparse.issparse(K) else np.asarray(K))

    def _gaussian(self, X: Array, Y: Array | None) -> np.ndarray:
        """exp(-gamma |x - y|²), from products of rows about the columns' medians, and from differences of rows where these
        products lose digits.

        Single rows that are far from all others do not move medians, and some of the rows are enough for these. Where rows are
        sparse, only columns without zeros are moved.
        """
        given = [X] if Y is None else [alike(X, Y), Y]
        near = given[-1]
        few = near[:: max(1, near.shape[0] // PILOT)]
        if not sparse.issparse(near):
            middle = np.median(few, axis=0)
            moved = [A - middle for A in given]
        else:
            full = np.all([np.bincount(A.indices, minlength=A.shape[1]) == A.shape[0] for A in given], axis=0)
            middle = np.zeros(full.size)
            middle[full] = np.median(few[:, full].toarray(), axis=0)
            moved = [sparse.csr_array((A.data - middle[A.indices], A.indices, A.indptr), A.shape) for A in given]
        gamma = 1 / near.shape[1] if self.gamma is None else check_positive("gamma", self.gamma)
        with np.errstate(over="ignore", invalid="ignore"):
            squared = euclidean_distances(*moved, squared=True)
            K = mended(squared, moved, given, gamma)
            K *= -gamma
        return np.exp(K, out=K)

    def of_tensors(self, X: Any, Y: Any) -> Any:
        """The kernel between the rows of two tensors, in float64."""
        X, Y = X.double(), Y.double()
        gamma = 1 / X.shape[1] if self.gamma is None else self.gamma
        kernel = self.kernel if isinstance(self.kernel, str) else ""
        if kernel == "rbf":
            middle = Y[:: max(1, len(Y) // PILOT)].median(0).values  # as in ``_gaussian``
            A, B = X - middle, Y - middle
            squared = A.square().sum(1)[:, None] + B.square().sum(1) - 2 * (A @ B.T)
            squared = mended(squared.clamp_(min=0), [A, B], [X, Y], gamma, sys.modules["torch"])
            return (-gamma * squared).exp_()
        if kernel == "laplacian":
            return (-gamma * sys.modules["torch"].cdist(X, Y, p=1)).exp_()
        if kernel == "cosine":
            X, Y = (A / A.norm(dim=1).clamp(min=1e-300)[:, None] for A in (X, Y))
            return X @ Y.T
        products = X @ Y.T
        if kernel == "linear":
            return products
        if kernel in ("poly", "polynomial"):
            return (gamma * products + self.coef0) ** self.degree
        if kernel == "sigmoid":
            return (gamma * products + self.coef0).tanh_()
        raise TypeError(
            f"kernel={self.kernel!r} is evaluated on NumPy arrays alone, and X is on a device; use one of "
            f"{', '.join(ON_DEVICES)}, or X on the CPU"
        )

    def finite(self, K: np.ndarray) -> np.ndarray:
        if not np.isfinite(K).all():
            raise ValueError(f"kernel={self.kernel!r} gives NaN or infinity; scale X or change its parameters")
        return K


def mended(squared: Any, moved: Sequence[Any], given: Sequence[Any], gamma: float, xp: Any = np) -> Any:
    """Squared distances from products of rows, computed from differences where their rounding would be seen in the kernel.

    The rounding is a share of the squared lengths of the rows about the medians. It is seen where both rows are long and their
    distance is not. The differences are those of the rows as given, since rows near the origin lose digits when a far median is
    subtracted. The arrays are NumPy's or, with ``xp=torch``, tensors.
    """
    X, Y = given[0], given[-1]
    lengths = [(A * A).sum(1) for A in (moved[0], moved[-1])]
    (i,), (j,) = (xp.where(part > SEEN / (EPS * gamma)) for part in lengths)
    if not (len(i) and len(j)):
        return squared
    reach = VANISHED / gamma + 8 * EPS * (lengths[0].max() + lengths[1].max())
    a, b = xp.where(squared[i][:, j] < reach)
    a, b = i[a], j[b]
    for some in row_blocks(len(a), X.shape[1]):
        difference = X[a[some]] - Y[b[some]]
        squared[a[some], b[some]] = (difference * difference).sum(1)
    return squared


def _of_usual_length(X: Array) -> Array:
    """Rows divided by their largest entry. scikit-learn takes dense rows shorter than 2e-15 for zeros when it finds angles."""
    largest = abs(X).max(axis=1)
    largest = largest.toarray().ravel() if sparse.issparse(X) else largest
    return sparse.diags_array(1 / np.where(largest > 0, largest, 1.0)) @ X


def _variance(X: Array) -> float:
    if not sparse.issparse(X):
        return float(X.var(dtype=np.float64))
    mean, n = float(X.mean(dtype=np.float64)), np.prod(X.shape)
    return float((np.sum((X.data - mean) ** 2, dtype=np.float64) + (n - X.nnz) * mean**2) / n)


class KernelMap(Map):
    """The map F to the features that a kernel stands for. Only the kernel matrix K of the rows is known.

    The centred kernel matrix U S Uᵀ is the Gram matrix of features whose principal coordinates are U S^½. The linear problem
    is solved in these coordinates. A direction V there is the function f(x) = k(x)ᵀ U S^-½ V.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
    name : object
        The kernel, for errors.
    dtype : numpy.dtype
        The precision that K is known in.
    counts : ndarray of shape (n_samples,), default=None
        How many samples each row stands for; None is 1.
    """

    def __init__(self, K: np.ndarray, name: Any, dtype: Any, counts: np.ndarray | None = None):
        super().__init__(K.astype(np.float64, copy=False))
        self.K, self.name, self.dtype, self.counts = self.X, name, np.dtype(dtype), counts
        if counts is not None:
            self.n_samples, self.roots = counts.sum(), np.sqrt(counts)[:, None]

    def total(self, values: np.ndarray) -> float:
        return super().total(values) if self.counts is None else float(values @ self.counts)

    def _means(self) -> np.ndarray:
        """The means of the columns of K over the samples."""
        return self.K.mean(axis=0) if self.counts is None else self.counts @ self.K / self.n_samples

    def coordinates(self, matrices: Sequence[Structured], centre: Centre, preprojection: Preprojection) -> Coordinates:
        """The forms in principal coordinates. ``mean`` is in these coordinates too."""
        K, roots = self.K, self.roots
        about_origin = centre.at_origin and preprojection.is_whole and centre.is_seen
        means = np.zeros(len(K)) if about_origin else self._means()
        overall = self.total(means) / self.n_samples
        gram = K - means
        gram -= means[:, None] - overall
        gram = gram if self.counts is None else roots * gram * roots.T
        values, U, _ = leading(*np.linalg.eigh(gram), self._floor(gram), preprojection.count)
        F, dual = _like(U * np.sqrt(values) / roots, self.counts), roots * U / np.sqrt(values)
        # In exact arithmetic all columns would sum to 0. Those of directions near rounding do not quite, and are corrected.
        if not about_origin:
            dual -= dual.sum(axis=0) * (1.0 if self.counts is None else self.counts[:, None]) / self.n_samples
        shift = np.zeros(F.shape[1])
        if centre.at_origin:
            shift = (overall - means) @ dual  # from the mean of the features to their origin
        elif centre.weights is not None:
            shift = F.mean(centre.weights)
        return Coordinates(F.forms(matrices, shift), shift, lambda V: (dual @ V).T, F.shape[1], means)

    def spread(self, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The sum over all features, about their plain mean. The features are not known one by one."""
        means = self._means()
        squares = np.diagonal(self.K) - 2 * means + self.total(means) / self.n_samples
        return np.atleast_1d(self.total(weights * squares))

    def _floor(self, gram: np.ndarray) -> float:
        """Up to here eigenvalues of the centred kernel matrix are rounding: of K, and of the differences that centre it."""
        trace, largest = float(np.trace(gram)), float(np.abs(self.K).max())
        if trace <= 0 and np.abs(gram).max() > 1e-10 * largest:
            raise ValueError(
                f"kernel={self.name!r} is not positive semi-definite on X; use another kernel or parameters"
            )
        return len(gram) * (np.finfo(self.dtype).eps * trace if self.dtype == np.float32 else 10 * EPS * largest)


def _like(coordinates: np.ndarray, counts: np.ndarray | None) -> Map:
    return DenseMap(coordinates) if counts is None else WeightedDenseMap(coordinates, counts)
