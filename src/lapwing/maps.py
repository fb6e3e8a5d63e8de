"""F: rows as coordinates in which the problem is solved, and the way back to features."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, solve_triangular
from scipy.sparse.linalg import aslinearoperator
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels

from ._validation import Array, caller_stacklevel, row_blocks
from .data import EPS, MOST_ENTRY, Data, squared_lengths
from .solvers import RankError, largest_value, numerical_rank, solve

# The rounding of rows before they are centred adds at most this share of their sum of squares to an eigenvalue of their scatter.
ROUNDING = {"float64": EPS**2, "float32": float(np.finfo(np.float32).eps) ** 2}
FAR_ROW = 1e8  # how many times the second largest variance the largest is, where one row may be all there is to it
MOST_LOST = 1e-6  # the share of the median variance of a column that rounding of a mean may have
SHORT_SHARE = 1e-3  # the squares of a direction shorter than this share of the longest one have lost six digits or more
LARGE_GRAM = 1500  # from this size of a kernel matrix on, it saves time to find only the eigenvectors that are wanted
LANCZOS_ROWS = 500  # up to this size, Gram matrices are decomposed whole
LANCZOS_SHARE = 20  # of sparse rows, fewer than one in so many directions are found by Lanczos
# Of dense rows, up to so many are found by Lanczos from this size on; later, where there are more of them or rows are longer.
FEW, FEW_SIDE = 50, 2000
LANCZOS_STEPS = 12  # per component, with pca="lanczos", which keeps the larger half of what is found
FEWEST_FOUND = 64  # how many directions Lanczos finds at least, so that rules see how the variance is spread
SEEN_EXPONENT = 1e-12  # rounding of an exponent of a Gaussian kernel below this is not looked at
MEDIAN_ROWS = 1000  # this many rows show the medians of the columns well enough
CONSTANT = "X is constant: all samples are equal, or so nearly that rounding hides it, so there is no direction to find"


class Keep(NamedTuple):
    """``pca=``: how many principal directions the problem is solved in."""

    share: Any = None  # None keeps the whole rank, a whole number that many, and a fraction that share of the variance
    n_components: int = 1  # how many directions the method asks for
    least: int | None = None  # at least this many are kept, or all there are; None where the user chose ``share``
    principal: bool = False  # whether coordinates are along principal directions even where all are kept

    @property
    def at_most(self) -> int | None:
        """A bound on the number of directions that is known before the variances are."""
        return int(self.share) if isinstance(self.share, Integral) else self.least if self.share == 0 else None

    def kept(self, values: np.ndarray, total: float) -> int:
        """How many directions to keep, given the variances of all directions of the rank, descending, and their ``total``."""
        rank = values.size
        if rank == 0:
            raise RankError(CONSTANT)
        if self.share is None or self.share == "lanczos":
            return rank
        if isinstance(self.share, Integral):
            count = int(self.share)
        else:  # the fewest leading directions that hold this share of the total
            count = 1 + int(np.searchsorted(np.cumsum(values), self.share * total * (1 - 1e-12)))
        if self.least is not None:
            return min(max(count, self.least), rank)
        if isinstance(self.share, Integral) and count > rank:
            raise RankError(f"pca={self.share} is more than the rank of the centred data; use pca={rank} or less")
        if count < min(k := self.n_components, rank):
            raise ValueError(f"pca={self.share} keeps {count} directions, fewer than n_components={k}; raise pca")
        return min(count, rank)


class Centre(NamedTuple):
    """What is subtracted from the rows: their mean under ``degrees``, their plain mean where these are None, or nothing."""

    degrees: np.ndarray | None = None
    at_origin: bool = False
    is_seen: bool = True  # whether the constraint changes with it, as a diagonal one does and a Laplacian does not
    moves: bool = True  # whether the constraint or what is minimised changes with it


class Coordinates(NamedTuple):
    """The rows in the coordinates that the problem is solved in, and the way back."""

    data: Any  # the rows in these coordinates
    mean: np.ndarray  # what is subtracted, in these coordinates
    back: Callable[[np.ndarray], np.ndarray]  # from (p, k) in these coordinates to (k, n_features)
    origin: np.ndarray  # what is subtracted, in features; for a kernel, the means of the columns of its matrix
    spectrum: tuple[np.ndarray, float] | None = None  # the variances of all directions, descending, and their total
    n_pca: int | None = None  # how many directions were kept; None where all columns are the coordinates
    features: Any = None  # what gives the features of rows that a kernel stands for
    # The kept directions in columns, where ``data`` are the rows as they are: forms are found there, and then brought here.
    directions: np.ndarray | None = None
    by_products: bool = False  # whether forms of sparse rows are operators
    about: Any = None  # what is subtracted before forms are found there, near the rows also where the origin is 0

    def form(self, M: Any) -> Any:
        """``Fᵀ M F``."""
        N = self.directions
        if self.by_products:
            F, M = self.data.centred(self.mean), M if self.data.weights is None else M.repeated(self.data.weights)
            return F.T @ M.operator() @ F
        return self.data.form(M, self.mean) if N is None else N.T @ self.data.form(M, self.about) @ N

    def form_diagonal(self, M: Any) -> np.ndarray:
        """The diagonal of ``Fᵀ M F``; of the columns of X, where forms are found there first."""
        return self.data.form_diagonal(M, self.mean if self.directions is None else self.about)


class Free(NamedTuple):
    """F = I, so that forms are the matrices themselves."""

    n: int
    form: Any = methodcaller("tosparse")


def linear(data: Any, keep: Keep, centre: Centre, thin: bool = False, by_products: bool = False) -> Coordinates:
    """The columns of X, or its principal coordinates about its mean, where some are left out or the constraint shows no rank.

    Where the matrices of the problem are ``thin``, forms cost less in the columns of X, and no coordinates are computed.
    """
    plain = data.mean()
    mean = np.zeros(data.d) if centre.at_origin else plain if centre.degrees is None else data.mean(centre.degrees)
    whole = keep.share is None and not keep.principal
    if centre.at_origin:  # a constraint that is not centred may lose its digits to the mean
        variances = np.square(data.deviations)
        if not variances.any():
            raise RankError(CONSTANT)
        lost = EPS * (plain @ plain) / np.median(variances[variances > 0])
        if centre.moves and lost > MOST_LOST:
            message = f"X is so far from 0 that center=False leaves an accuracy of {lost:.0g}; subtract a mean first"
            warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())
    by_products = whole and (data.is_large or (by_products and data.is_sparse))
    if by_products or (whole and centre.is_seen and not data.is_wide):
        about = mean if centre.moves else plain
        return Coordinates(data, about, np.transpose, mean, by_products=by_products)
    moved = centre.at_origin and centre.moves
    about = mean if whole and moved else plain
    values, total, N, C = directions(data, about, keep)
    if thin and C is None and not moved and not _is_truncated(data, keep):
        near = plain if centre.degrees is None else mean
        spectrum, p = (values, total), N.shape[1]
        return Coordinates(data, np.zeros(p), lambda V: (N @ V).T, mean, spectrum, p, directions=N, about=near)
    F = data.in_coordinates(N, about) if C is None else Data(C, data.y, data.weights)
    shift = np.zeros(F.d)
    if centre.degrees is not None:
        shift = F.mean(centre.degrees)
    elif moved and about is not mean:
        shift = -(about @ N)
    return Coordinates(F, shift, lambda V: (N @ V).T, mean, (values, total), N.shape[1])


def directions(data: Any, about: np.ndarray, keep: Keep) -> tuple[np.ndarray, float, np.ndarray, np.ndarray | None]:
    """All variances, descending, their total, and the leading principal directions in columns.

    They come from the smaller Gram matrix. For wide rows the fourth result has the coordinates of the rows.
    """
    by_steps = keep.share == "lanczos"
    if by_steps or (min(data.n, data.d) > LANCZOS_ROWS and _is_truncated(data, keep)):
        values, total, vectors = _by_lanczos(data, about, keep)
    else:
        G = data.gram(about)
        floor = ROUNDING[data.dtype.name] * (np.trace(G) + data.size * (about @ about))
        values, vectors = np.linalg.eigh(G)
        if floor > 10 * EPS * np.trace(G):
            tell_hidden(values, floor, data, data.size, about)
        rank, total = numerical_rank(values, floor), float(np.maximum(values, 0).sum())
        values, vectors = values[::-1][:rank], vectors[:, ::-1]
        if len(G) > 1 and rank and values[0] > FAR_ROW * values[1:].max(initial=0.0):
            _tell_far_row(data, vectors[:, 0] if data.is_wide else data.centred(about) @ vectors[:, 0])
    p = keep.kept(values, total)
    if not data.is_wide:
        return values, total, vectors[:, :p], None
    sigma, roots = np.sqrt(values[:p]), 1.0 if data.weights is None else np.sqrt(data.weights)[:, None]
    C, F = roots * vectors[:, :p] / sigma, vectors[:, :p] * sigma / roots
    N = data.centred(about).T @ C
    F = data.centred(about) @ N if by_steps else F  # whose vectors are no eigenvectors
    if sigma.min() < SHORT_SHARE * sigma.max():  # a Gram matrix holds squares, and has few digits for short directions
        R = np.linalg.cholesky(N.T @ N).T
        N, F = solve_triangular(R, N.T, trans="T").T, F @ R.T
    return values, total, N, F.astype(data.dtype, copy=False)


def tell_hidden(values: np.ndarray, floor: float, data: Any, mass: float, about: np.ndarray) -> None:
    """Warn where directions are taken for rounding, as all columns may make it along one, and vary more than that of a column."""
    share = ROUNDING[data.dtype.name] * mass
    least = floor - share * (about @ about) + share * np.square(about).max(initial=0.0) / 3
    if values.size and (hidden := numerical_rank(values, least) - numerical_rank(values, floor)) > 0:
        message = f"{hidden} directions of X are left out: X is so far from 0 that they may be rounding in {data.dtype}"
        remedy = "fit X - X[0] instead, subtracted before X is rounded"
        warnings.warn(f"{message}; {remedy}", UserWarning, stacklevel=caller_stacklevel())


def _tell_far_row(data: Any, coordinates: np.ndarray) -> None:
    """Warn where the direction along which rows have these coordinates is that of one row."""
    along = np.square(coordinates)
    row = int(np.argmax(along))
    if data.weights is None and along.size > 3 and along[row] > (1 - 2 / along.size) * along.sum():
        message = f"row {row} of X is so far from all others that it hides smaller directions; correct it, or drop it"
        warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())


def _is_truncated(data: Any, keep: Keep) -> bool:
    """Whether so few of so many directions are asked for that Lanczos finds them faster than a whole decomposition."""
    side, few = min(data.n, data.d), keep.at_most
    if data.is_large or few is None:
        return data.is_large
    if data.is_sparse:
        return LANCZOS_SHARE * few < side
    return side**2 > FEW_SIDE * max(1.0, few / FEW) * max(data.n, data.d)


def _by_lanczos(data: Any, about: np.ndarray, keep: Keep) -> tuple[np.ndarray, float, np.ndarray]:
    """The largest eigenvalues of the smaller Gram matrix, its trace, and the eigenvectors, by products alone.

    They are as many as are asked for, or with ``pca="lanczos"`` the larger half of those that so many steps find (Kokiopoulou and
    Saad 2009, section 6.1).
    """
    variances, apart = data.deviations**2, data.mean() - about
    if not variances.any():
        keep.kept(np.empty(0), 0.0)  # raises, and says what is wrong
    total = float(data.size * (variances.sum() + apart @ apart))
    floor = ROUNDING[data.dtype.name] * (total + data.size * (about @ about))
    F = data.centred(about)
    if data.weights is not None:
        F = aslinearoperator(sparse.diags_array(np.sqrt(data.weights))) @ F
    gram = F @ F.T if data.is_wide else F.T @ F
    side, k, done = gram.shape[0], keep.n_components, 0
    if keep.share != "lanczos":
        count = min(max(keep.at_most or 1, 0 if data.is_sparse else FEWEST_FOUND), side - 1)
        found = solve(-gram, None, count, bound=0.0, tol=1e-10)
        values = -found.values
        return values[: numerical_rank(values[::-1], floor, side)], total, found.vectors
    v = gram @ np.random.RandomState(0).standard_normal(side)
    basis = np.empty((side, min(LANCZOS_STEPS * k, side)), order="F")
    while done < basis.shape[1]:
        Q, length = basis[:, :done], np.linalg.norm(v)
        for _ in range(2):
            v = v - Q @ (Q.T @ v)
        if np.linalg.norm(v) <= 1e-10 * length:
            break
        basis[:, done] = v / np.linalg.norm(v)
        v, done = gram @ basis[:, done], done + 1
    Q = basis[:, :done]
    values, vectors = (found[..., ::-1] for found in np.linalg.eigh(Q.T @ (gram @ Q)))
    count = min(max((values.size + 1) // 2, k), numerical_rank(values[::-1], floor))
    return values[:count], total, Q @ vectors


def effective_rank(data: Any, mean: np.ndarray, weights: np.ndarray, enough: float) -> float:
    """(tr B)² / ‖B‖² of the form B of sparse rows under these weights, which is not formed; ``enough`` where it is that at least.

    ‖B‖² is at most tr B times the largest eigenvalue, or else that of the products of all rows or columns, some at a time.
    """
    r, m = np.sqrt(weights), mean
    A = sparse.csr_array(sparse.diags_array(r) @ data.X.astype(np.float64))
    trace = A.power(2).sum() + (m @ m) * weights.sum() - 2 * m @ (A.T @ r)
    C = aslinearoperator(A) - aslinearoperator(r[:, None]) @ aslinearoperator(m[None])
    if largest_value(C.T @ C) * enough <= trace:
        return enough
    if A.shape[0] > A.shape[1]:
        A, r, m = sparse.csr_array(A.T), m, r
    At, along, squares = sparse.csr_array(A.T), A @ m, 0.0
    for rows in row_blocks(r.size, r.size):
        P = (A[rows] @ At).toarray() - np.outer(along[rows], r) - np.outer(r[rows], along - (m @ m) * r)
        squares += np.vdot(P, P)
    return float(trace**2 / squares)


def kernel(data: Any, keep: Keep, centre: Centre, K: np.ndarray, kernel: Kernel) -> Coordinates:
    """The same among the features that a kernel stands for; ``back`` gives coefficients of the rows.

    The centred kernel matrix U S Uᵀ is the Gram matrix of features whose principal coordinates are U S^½. A direction V there
    is the function f(x) = k(x)ᵀ U S^-½ V.
    """
    dtype, K = K.dtype, K.astype(np.float64, copy=False)
    w = np.ones(data.n) if data.weights is None else data.weights
    roots, about_origin = np.sqrt(w)[:, None], centre.at_origin and keep.share is None and centre.is_seen
    means = np.zeros(data.n) if about_origin else w @ K / w.sum()
    overall = float(w @ means / w.sum())
    G = roots * (K - means - (means[:, None] - overall)) * roots.T
    trace, largest = float(np.trace(G)), float(np.abs(K).max())
    if trace <= 0 and np.abs(G).max() > 1e-10 * largest:
        raise ValueError(f"kernel={kernel.kernel!r} is not positive semi-definite on X; use another one or parameters")
    floor = len(G) * (np.finfo(dtype).eps * trace if dtype == np.float32 else 10 * EPS * largest)
    few = keep.at_most if len(G) >= LARGE_GRAM else None  # then only the eigenvectors that are wanted are found
    subset = None if few is None else [max(len(G) - few, 0), len(G) - 1]
    values, U = np.linalg.eigh(G) if subset is None else eigh(G, subset_by_index=subset)
    rank = numerical_rank(values, floor, len(G))
    values, U = values[::-1][:rank], U[:, ::-1]
    if len(G) > 1 and rank and values[0] > FAR_ROW * values[1:].max(initial=0.0):
        _tell_far_row(data, U[:, 0])
    p = keep.kept(values, trace)
    values, U = values[:p], U[:, :p]
    F, dual = Data(U * np.sqrt(values) / roots, weights=data.weights), roots * U / np.sqrt(values)
    if not about_origin:  # in exact arithmetic columns sum to 0; those of directions near rounding do not quite
        dual -= w[:, None] / w.sum() * dual.sum(axis=0)
    shift = np.zeros(p)
    if centre.at_origin:
        shift = (overall - means) @ dual  # from the mean of the features to their origin
    elif centre.degrees is not None:
        shift = F.mean(centre.degrees)
    return Coordinates(F, shift, lambda V: (dual @ V).T, means, None, p, kernel)


class Kernel(NamedTuple):
    """A kernel function by name or as a callable, and its parameters."""

    kernel: Any = "rbf"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: dict | None = None

    def __call__(self, X: Array, Y: Array | None = None) -> np.ndarray:
        """The kernel between the rows of X and those of Y; None as Y is X."""
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
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
                options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
                K = pairwise_kernels(X, Y, metric=self.kernel, filter_params=True, **options)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"kernel={self.kernel!r} fails (a callable is given two rows): {error}") from error
        K = K.toarray() if sparse.issparse(K) else np.asarray(K)
        if not float(np.abs(K).max(initial=0.0)) < MOST_ENTRY:
            raise ValueError(f"kernel={self.kernel!r} gives NaN, infinity or nearly; scale X or change its parameters")
        return K

    def _gaussian(self, X: Array, Y: Array | None) -> np.ndarray:
        """exp(-gamma |x - y|²), from products of rows about the columns' medians, and from differences where these lose digits.

        Single rows that are far from all others do not move medians. Sparse rows stay where they are.
        """
        near = X if Y is None else Y
        if sparse.issparse(X) != sparse.issparse(near):
            X = X.toarray() if sparse.issparse(X) else sparse.csr_array(X)
        gamma = 1 / near.shape[1] if self.gamma is None else self.gamma
        moved = [X, near]
        if not sparse.issparse(near):
            middle = np.median(near[:: max(1, near.shape[0] // MEDIAN_ROWS)], axis=0)
            moved = [X - middle, near - middle]
        squared = euclidean_distances(*moved[: 1 if Y is None else 2], squared=True)
        # Rounding is a share of the squared lengths. It is seen where both rows are long and their distance is not.
        seen = SEEN_EXPONENT / (EPS * gamma)
        if near.shape[1] * min(np.abs(A).max() for A in moved) ** 2 > seen:
            long = [np.flatnonzero(squared_lengths(A) > seen) for A in moved]
            some = [A[part] for A, part in zip((X, near), long, strict=True)]
            squared[np.ix_(*long)] = cdist(*(A.toarray() if sparse.issparse(A) else A for A in some), "sqeuclidean")
        return np.exp(-gamma * squared)
