"""What all maps F share: means, forms FᵀMF, coordinates and projections, computed in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from math import ceil
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, solve_triangular
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from .._validation import OUT_OF_RANGE
from ..operators import BLOCK_BYTES, Structured, identity, row_blocks
from ..solvers import LanczosError, numerical_rank, seeded_eigsh, solve
from ._preprojection import Count, Preprojection

PILOT = 1000  # The mean of this many rows is subtracted before sums are taken, so that the sums keep their digits.
# Where X is farther from the origin than this many times its spread, rows are centred before they are multiplied.
FAR = 100.0
FEW_ROWS = 10_000  # the deviations of this many rows are enough to say whether columns are in different units
LARGE = 1500  # from this many rows of a Gram matrix on, it saves time to find only the eigenvectors that are wanted
LANCZOS_SHARE = 20  # a Gram matrix is decomposed whole unless fewer than 1 in this many directions are asked for
SHORT = 1e-3  # The squares of a direction shorter than this share of the longest one have lost six digits or more.
MOST_LINKED = 0.75  # where up to this share of the rows has links, the other rows are left out of the forms


def rounding(dtype: Any, squares: float) -> float:
    """The most that the rounding of data with this sum of squares, before it is centred, adds to an eigenvalue of its scatter."""
    if not np.isfinite(squares):
        raise ValueError(OUT_OF_RANGE)
    return float(np.finfo(dtype).eps) ** 2 * squares


def is_far(X: Any) -> bool:
    """Whether rows are so far from the origin that products lose the digits of their distances. Only some rows are looked at."""
    few = X[:: max(1, X.shape[0] // PILOT)]
    total, squares = np.zeros(X.shape[1]), 0.0
    for some in row_blocks(*few.shape):
        part = few[some].astype(np.float64)
        entries = part.data if sparse.issparse(part) else part
        total, squares = total + np.asarray(part.sum(axis=0)).ravel(), squares + np.vdot(entries, entries)
    return bool(total @ total > (1 - FAR**-2) * squares * few.shape[0])


class Centre(NamedTuple):
    """What is subtracted from the rows: their mean under ``weights``, their plain mean where these are None, or nothing.

    ``is_seen`` says whether the constraint changes with what is subtracted. A diagonal constraint does, and a Laplacian does
    not.
    """

    weights: np.ndarray | None = None
    at_origin: bool = False
    is_seen: bool = True


class Deviations(NamedTuple):
    """The standard deviations of the columns, exactly 0 for constant ones; and which columns have a number in most rows."""

    values: np.ndarray
    filled: np.ndarray


class Spectrum(NamedTuple):
    """The sums of squares along all principal directions, descending, without those that are rounding; and their total."""

    values: np.ndarray
    total: float

    def needed(self, share: float) -> int:
        """How many of the leading directions hold this share of the total."""
        return 1 + int(np.searchsorted(np.cumsum(self.values), share * self.total))

    def share(self, count: int) -> float:
        """The share of the total that so many leading directions hold."""
        return float(self.values[:count].sum() / self.total)


Leading = tuple[np.ndarray, np.ndarray, Spectrum]


class Principal(NamedTuple):
    """Coordinates of the rows on principal directions, the way back to features, and the place of the features' origin."""

    coordinates: Map
    back: Callable[[np.ndarray], np.ndarray]  # (p, k) in coordinates -> (k, n_features)
    origin: Callable[[], np.ndarray]
    spectrum: Spectrum | None = None


class Coordinates(NamedTuple):
    """The problem in coordinates: the forms FᵀMF, what was subtracted, the way back to features, and how many are kept."""

    forms: list[Any]
    mean: np.ndarray
    back: Callable[[np.ndarray], np.ndarray]  # (p, k) in coordinates -> (k, n_features)
    n_pca: int | None
    kernel_means: np.ndarray | None = None  # the means of the columns of a kernel matrix
    spectrum: Spectrum | None = None  # the spectrum of the rows, where it was computed on the way


class Map:
    """The map F: rows of numbers, as forms and projections read them.

    Each kind of rows writes :meth:`block` and :meth:`columns`, by which all sums below read it, and overrides what it can
    compute in a better way. Sums are in float64, whatever the type of the rows.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : numpy.dtype
    is_wide : bool
        Whether there are more columns than rows, so that the Gram matrix of the rows is the smaller one.
    is_large : bool
        Whether F is too large to be decomposed whole, so that forms are operators.
    n_samples : int
        How many samples the rows stand for.
    """

    is_large: bool = False
    # How many directions a rule needs to see how the variance is spread; 0 where there is no such rule.
    least_found: ClassVar[int] = 0
    roots: Any = 1.0  # the square roots of how many samples each row stands for, as a column
    plain_scatter: np.ndarray | None = None  # the scatter about the mean, once something else has computed it

    def __init__(self, X: Any):
        self.X, self.shape, self.dtype, self.n_samples = X, X.shape, X.dtype, X.shape[0]
        self.is_wide = X.shape[0] < X.shape[1]

    def block(self, rows: slice, shift: np.ndarray | None = None) -> np.ndarray:
        """Some rows as dense float64, minus ``shift``; a new array where there is a shift."""
        raise NotImplementedError

    def blocks(self, shift: np.ndarray | None = None) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows, in blocks. Every sum below reads F in this way."""
        n, p = self.shape
        step = max(1, BLOCK_BYTES // (8 * max(1, p)))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self.block(rows, shift)

    def columns(self, columns: Any, shift: np.ndarray | None = None) -> np.ndarray:
        """Some columns of all rows as dense float64, minus their ``shift``."""
        raise NotImplementedError

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The mean of the rows under weights, plain where these are None."""
        raise NotImplementedError

    @cached_property
    def plain_mean(self) -> np.ndarray:
        return self.mean()

    @property
    def is_constant(self) -> bool:
        """Whether all rows are equal."""
        raise NotImplementedError

    def total(self, values: np.ndarray) -> float:
        """The sum of values over the samples; a row counts for each sample that it stands for."""
        return float(values.sum())

    def forms(self, matrices: Sequence[Structured], shift: np.ndarray | None = None) -> list[np.ndarray]:
        """``(F - shift)ᵀ M (F - shift)`` for each matrix M.

        One pass over blocks of rows computes the forms of the thin parts of all matrices, so that several scatter matrices
        cost no more than one covariance.
        """
        n, p = self.shape
        totals = [np.zeros((p, p)) for _ in matrices]
        thin = [[(U, c) for U, c in M.factors if 2 * U.shape[1] <= n and hasattr(U, "__getitem__")] for M in matrices]
        sums = [[np.zeros((U.shape[1], p)) for U, _ in factors] for factors in thin]
        constants = [None if M.diag is None or np.ptp(M.diag) else M.diag[0] for M in matrices]
        gram = np.zeros((p, p))
        for rows, block in self.blocks(shift) if any(thin) or any(M.diag is not None for M in matrices) else ():
            if any(constants):
                gram += block.T @ block
            for M, total, constant, factors, products in zip(matrices, totals, constants, thin, sums, strict=True):
                if M.diag is not None and constant is None:
                    total += block.T @ (M.diag[rows, None] * block)
                for (U, _), UtF in zip(factors, products, strict=True):
                    UtF += U[rows].T @ block
        for M, total, constant, factors, products in zip(matrices, totals, constants, thin, sums, strict=True):
            if constant:
                total += constant * gram
            for (_, c), UtF in zip(factors, products, strict=True):
                total += UtF.T @ (c[:, None] * UtF)
            if M.sparse is not None or M.rest is not None or len(factors) < len(M.factors):
                self._add_wide(total, M, shift)
        return [(total + total.T) / 2 for total in totals]

    def _add_wide(self, total: np.ndarray, M: Structured, shift: np.ndarray | None) -> None:
        """Add the form of the wide part of M, a few columns of all rows at a time, in float64.

        Links join distant rows, so all rows are read together. Where F is smooth, L F is a small difference of large numbers,
        for which float32 has too few digits.
        """
        M, (n, p) = M.wide, self.shape
        for columns in row_blocks(p, n // 4):
            product = M @ self.columns(columns, None if shift is None else shift[columns])
            for rows, block in self.blocks(shift):
                total[:, columns] += block.T @ product[rows]

    def form_diagonal(self, M: Structured, shift: np.ndarray) -> np.ndarray:
        """The diagonal of the form, a few columns at a time."""
        n, p = self.shape
        found = np.empty(p)
        for columns in row_blocks(p, n):
            part = self.columns(columns, shift[columns])
            found[columns] = np.einsum("ij,ij->j", part, M @ part)
        return found

    def spread(self, mean: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The diagonal of ``(F - mean)ᵀ diag(weights) (F - mean)``, each entry centred before it is squared."""
        total = np.zeros(self.shape[1])
        for rows, block in self.blocks(mean):
            total += weights[rows] @ np.square(block, out=block)
        return total

    def deviations(self, few: bool = False) -> Deviations:
        """The standard deviations of all columns. With ``few``, only some evenly spaced rows are read where there are many."""
        return Deviations(np.sqrt(self.spread(self.plain_mean, np.ones(self.shape[0])) / self.n_samples), self.filled)

    @property
    def filled(self) -> np.ndarray:
        """Which columns hold a number in more than half of their rows, and are not mostly zeros of a sparse array."""
        return np.ones(self.shape[1], dtype=bool)

    def variance_along(self, Q: np.ndarray) -> np.ndarray:
        """The share of the variance of the rows along each of the orthonormal columns of Q."""
        if self.plain_scatter is not None:
            return np.einsum("ij,ij->j", Q, self.plain_scatter @ Q) / np.trace(self.plain_scatter)
        along, total = np.zeros(Q.shape[1]), 0.0
        for rows, block in self.blocks(self.plain_mean):
            block = block if np.ndim(self.roots) == 0 else self.roots[rows] * block
            along, total = along + np.square(block @ Q).sum(axis=0), total + np.vdot(block, block)
        return along / total

    def scatter(self, about: np.ndarray) -> np.ndarray:
        """``(F - about)ᵀ (F - about)``."""
        total = np.zeros((self.shape[1],) * 2)
        for _, block in self.blocks(about):
            total += block.T @ block
        return (total + total.T) / 2

    @cached_property
    def row_gram(self) -> np.ndarray:
        """The Gram matrix of the centred rows, where there are fewer rows than columns.

        The search and the projection share it.
        """
        return self.gram_about(self.plain_mean)

    def gram_about(self, mean: np.ndarray) -> np.ndarray:
        """``(F - mean)(F - mean)ᵀ``. Rows are centred before they are multiplied."""
        raise NotImplementedError

    @property
    def smaller_gram(self) -> np.ndarray:
        """The smaller of the two Gram matrices of the centred rows: their products, or those of the columns."""
        return self.row_gram if self.is_wide else self.scatter(self.plain_mean)

    @property
    def spectrum(self) -> tuple[np.ndarray, float]:
        """Sums of squares along the principal directions of the centred rows, descending, and their total."""
        gram = self.smaller_gram
        values = np.linalg.eigvalsh(gram)
        rank = numerical_rank(values, self._rounding(gram, self.plain_mean))
        return values[::-1][: min(rank, self.n_samples - 1)], float(np.maximum(values, 0).sum())

    def centred(self, shift: np.ndarray, scale: float = 1.0) -> LinearOperator:
        """``scale (F - 1 shiftᵀ)`` as an operator. Its products have the precision of what it is multiplied with."""
        raise NotImplementedError

    def projected(self, mean: np.ndarray, components: np.ndarray) -> np.ndarray:
        """``(F - mean) componentsᵀ`` in the precision of F: what transform gives."""
        raise NotImplementedError

    def combined(self, mean: np.ndarray, C: np.ndarray) -> np.ndarray:
        """``Cᵀ (F - mean)``: combinations of rows."""
        raise NotImplementedError

    def misfit(self, mean: np.ndarray, Q: np.ndarray, U: np.ndarray) -> float:
        """The distance of ``Q U`` from ``F - mean``, as a share of the length of ``F - mean``."""
        total = left = 0.0
        for rows, block in self.blocks(mean):
            total += np.vdot(block, block)
            block -= Q[rows] @ U
            left += np.vdot(block, block)
        return float(np.sqrt(left / total))

    def principal(self, preprojection: Preprojection, about: np.ndarray) -> Principal:
        """Coordinates of the rows on the leading directions of ``F - about``, from the smaller of the two Gram matrices.

        Where few of many directions are asked for, Lanczos finds them, and the Gram matrix stays an operator.
        """
        found = self._truncated(preprojection, about) if self._is_truncated(preprojection) else None
        if found is not None:
            return found
        values, N, spectrum = self._leading(preprojection, about)
        if self.is_wide:
            return self._combinations(about, N, np.sqrt(values))._replace(spectrum=spectrum)
        return Principal(self._like(self._onto(about, N)), lambda V: (N @ V).T, lambda: -(N.T @ about), spectrum)

    def _truncated(self, preprojection: Preprojection, about: np.ndarray) -> Principal | None:
        """Find twice as many directions each time until they are enough; None where a whole decomposition costs less."""
        n, d = self.shape
        if self.is_constant:
            preprojection.count(np.empty(0), 0.0)  # raises, and says what is wrong
        Xc, total = self._rooted(about), float(self.spread(about, np.ones(n)).sum())
        gram = Xc @ Xc.T if self.is_wide else Xc.T @ Xc
        floor = rounding(self.dtype, total + self.n_samples * (about @ about))
        size = max(preprojection.at_most or 128, self.least_found)
        while True:
            size = min(size, min(n, d) - 1)
            values, vectors = _largest(gram, size)
            found = int((values > max(10 * min(n, d) * np.finfo(np.float64).eps * values[0], floor)).sum())
            p = preprojection.count(values[:found], total)
            if p < size or found < size or preprojection.at_most is not None:
                break
            if size == min(n, d) - 1 or self._too_many(size):
                return None
            size *= 2
        spectrum = Spectrum(values[:found], total) if self.least_found else None
        if self.is_wide:
            return self._combinations(about, vectors[:, :p], np.sqrt(values[:p]))._replace(spectrum=spectrum)
        N = vectors[:, :p]
        return Principal(self._like(self._onto(about, N)), lambda V: (N @ V).T, lambda: -(N.T @ about), spectrum)

    def _too_many(self, size: int) -> bool:
        """Whether so many directions are better found by a whole decomposition."""
        return 2 * size * LANCZOS_SHARE > min(self.shape)

    def _rooted(self, about: np.ndarray) -> LinearOperator:
        """The centred rows, each multiplied by the square root of how many samples it stands for."""
        centred = self.centred(about)
        if np.ndim(self.roots) == 0:
            return centred
        return aslinearoperator(sparse.diags_array(self.roots.ravel())) @ centred

    def _leading(self, preprojection: Preprojection, about: np.ndarray) -> Leading:
        """The largest eigenpairs of the smaller Gram matrix. The one about the mean is decomposed only once."""
        if about is self.plain_mean and min(self.shape) >= LARGE and not preprojection.is_whole:
            gram = self.smaller_gram
            floor = self._rounding(gram, about)
            return leading(np.linalg.eigvalsh(gram), partial(_last_vectors, gram), floor, preprojection.count)
        if about is self.plain_mean:
            values, vectors, floor = self._decomposed
        else:
            gram = self.gram_about(about) if self.is_wide else self.scatter(about)
            floor = self._rounding(gram, about)
            values, vectors = np.linalg.eigh(gram)
        return leading(values, vectors, floor, preprojection.count)

    @cached_property
    def _decomposed(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Eigenvalues and eigenvectors of the smaller Gram matrix about the mean, and what rounding may add to them."""
        gram = self.smaller_gram
        return (*np.linalg.eigh(gram), self._rounding(gram, self.plain_mean))

    def _combinations(self, about: np.ndarray, U: np.ndarray, sigma: np.ndarray) -> Principal:
        """Directions that are combinations U / sigma of the rows. They are written out only for the components.

        Where rows stand for several samples, U belongs to their Gram matrix multiplied by their roots on both sides.

        The Gram matrix holds squares, so it has few digits for directions that are far shorter than the longest. These are
        made orthonormal again by the Cholesky factor R of their own Gram matrix.
        """
        C, F = self.roots * U / sigma, U * sigma / self.roots
        if sigma.size and sigma.min() < SHORT * sigma.max():
            R = np.linalg.cholesky(self._gram_of_combinations(about, C)).T
            C, F = solve_triangular(R, C.T, trans="T").T, F @ R.T
        return Principal(
            self._like(F.astype(self.dtype, copy=False)),
            lambda V: self.combined(about, C @ V),
            lambda: -(C.T @ (self.centred(about) @ about)),
        )

    def _gram_of_combinations(self, about: np.ndarray, C: np.ndarray) -> np.ndarray:
        """``Cᵀ (F - about) (F - about)ᵀ C``, some columns of F at a time."""
        total = np.zeros((C.shape[1],) * 2)
        for columns in row_blocks(*self.shape[::-1]):
            part = self.columns(columns, about[columns]).T @ C
            total += part.T @ part
        return total

    def _like(self, coordinates: Any) -> Map:
        """A map of other coordinates of the same rows, on the same device."""
        return DenseMap(coordinates)

    def _onto(self, about: np.ndarray, N: np.ndarray) -> Any:
        """``(F - about) N`` in the precision of F, summed in float64."""
        coordinates = np.empty((self.shape[0], N.shape[1]), dtype=self.dtype)
        for rows, block in self.blocks(about):
            coordinates[rows] = block @ N
        return coordinates

    def _rounding(self, gram: np.ndarray, about: np.ndarray) -> float:
        return rounding(self.dtype, np.trace(gram) + self.n_samples * (about @ about))

    def mean_at(self, centre: Centre) -> np.ndarray:
        """The point that is subtracted from the rows."""
        if centre.at_origin:
            return np.zeros(self.shape[1])
        return self.plain_mean if centre.weights is None else self.mean(centre.weights)

    def coordinates(self, matrices: Sequence[Structured], centre: Centre, preprojection: Preprojection) -> Coordinates:
        """The forms of the matrices, the last of which is the constraint, in the coordinates that the problem is solved in.

        These are the columns of F. They are its principal coordinates where directions are to be left out, or where the
        constraint does not reveal the rank of F.
        """
        whole = preprojection.share is None and centre.is_seen and not preprojection.principal
        mean = self.mean_at(centre)
        if whole and (self.is_large or not self.is_wide):
            return Coordinates(self.whole_forms(matrices, mean), mean, np.transpose, None)
        # Where the constraint depends on the origin, the matrix that reveals the rank must do so as well.
        about = mean if whole and centre.at_origin else self.plain_mean
        narrow = not self.is_wide and all(M.is_thin for M in matrices)
        if narrow and not (centre.at_origin and centre.is_seen) and not self._is_truncated(preprojection):
            return self._passed_once(matrices, centre, preprojection, mean)
        found = self.principal(preprojection, about)
        F = found.coordinates
        shift = np.zeros(F.shape[1])
        if centre.weights is not None:
            shift = F.mean(centre.weights)
        elif centre.at_origin and centre.is_seen and about is not mean:
            shift = found.origin()
        return Coordinates(F.forms(matrices, shift), mean, found.back, F.shape[1], spectrum=found.spectrum)

    def whole_forms(self, matrices: Sequence[Structured], mean: np.ndarray) -> list[Any]:
        """The forms in the columns of F themselves."""
        return self.forms(matrices, mean)

    def _is_truncated(self, preprojection: Preprojection) -> bool:
        """Whether so few directions are asked for that the scatter is not decomposed whole."""
        return False

    def _passed_once(
        self, matrices: Sequence[Structured], centre: Centre, preprojection: Preprojection, mean: np.ndarray
    ) -> Coordinates:
        """The scatter and the forms from one pass over the rows, for matrices without a wide part that share their mean."""
        plain = self.plain_mean
        C, *forms = self.forms([identity(self.shape[0]), *matrices], plain)
        self.plain_scatter = C
        floor = self._rounding(C, plain)  # raises where C is not finite
        _, N, spectrum = leading(*np.linalg.eigh(C), floor, preprojection.count)
        forms = [N.T @ M @ N for M in forms]
        # The last form, the constraint, is about another mean; the other forms do not depend on the mean.
        if centre.weights is not None:
            offset = N.T @ (mean - plain)
            forms[-1] -= self.total(centre.weights) * np.outer(offset, offset)
        return Coordinates(forms, mean, lambda V: (N @ V).T, N.shape[1], spectrum=spectrum)


def _linked(matrices: Sequence[Structured], centre: Centre) -> np.ndarray | None:
    """The rows that the matrices and the centre depend on; None where these are most rows."""
    if any(M.factors or M.rest is not None for M in matrices):
        return None
    seen = np.zeros(matrices[0].n, dtype=bool) if centre.weights is None else centre.weights != 0
    for M in matrices:
        if M.diag is not None:
            seen |= M.diag != 0
        if M.sparse is not None:
            seen |= np.diff(M.sparse.indptr) > 0
    return np.flatnonzero(seen) if seen.mean() < MOST_LINKED else None


def _last_vectors(gram: np.ndarray, p: int) -> np.ndarray:
    """The eigenvectors of the p largest eigenvalues, which are ascending."""
    return eigh(gram, subset_by_index=[len(gram) - p, len(gram) - 1])[1]


def leading(values: np.ndarray, vectors: Any, floor: float, count: Count) -> Leading:
    """The largest eigenvalues of a Gram matrix, descending, and their eigenvectors, as many as ``count`` says; and all values.

    ``values`` are ascending. ``vectors`` are their eigenvectors in columns, or a function that finds those of the p largest.
    ``count`` is given the eigenvalues above ``floor``, which are not rounding, and the sum of all eigenvalues.
    """
    spectrum = Spectrum(values[::-1][: numerical_rank(values, floor)], np.maximum(values, 0).sum())
    p = count(*spectrum)
    found = vectors(p) if callable(vectors) else vectors[:, -p:]
    return values[::-1][:p], found[:, ::-1], spectrum


class DenseMap(Map):
    """F = X, an array."""

    least_found: ClassVar[int] = 64
    limit: ClassVar[int] = 4000  # the largest Gram matrix that is formed where few of its eigenvectors are wanted

    def _is_truncated(self, preprojection: Preprojection) -> bool:
        """Whether few of very many directions are wanted. A share of the variance may turn out to need only few."""
        few = preprojection.at_most or 0
        return not preprojection.is_whole and min(self.shape) > self.limit and few * LANCZOS_SHARE < min(self.shape)

    def taken(self, rows: np.ndarray) -> DenseMap:
        """Some of the rows."""
        return DenseMap(self.X[rows])

    def coordinates(self, matrices: Sequence[Structured], centre: Centre, preprojection: Preprojection) -> Coordinates:
        """As for every F. Where many rows have no links, only the others are read, except for the principal directions."""
        linked = None if self.is_wide else _linked(matrices, centre)
        if linked is None:
            return super().coordinates(matrices, centre, preprojection)
        whole, rows = preprojection.share is None and centre.is_seen and not preprojection.principal, self.taken(linked)
        forms = [M.among(linked) for M in matrices]
        weights = None if centre.weights is None else centre.weights[linked]
        mean = self.mean_at(centre) if weights is None else rows.mean(weights)
        if whole:
            return Coordinates(rows.forms(forms, mean), mean, np.transpose, None)
        N, spectrum = self._directions(preprojection)
        F = DenseMap(rows._onto(self.plain_mean, N))
        shift = F.mean(weights) if weights is not None else np.zeros(N.shape[1])
        if centre.at_origin and centre.is_seen:
            shift = -(N.T @ self.plain_mean)
        return Coordinates(F.forms(forms, shift), mean, lambda V: (N @ V).T, N.shape[1], spectrum=spectrum)

    def _directions(self, preprojection: Preprojection) -> tuple[np.ndarray, Spectrum | None]:
        """The principal directions in columns, for X with fewer columns than rows."""
        about = self.plain_mean
        found = self._truncated(preprojection, about) if self._is_truncated(preprojection) else None
        if found is None:
            return self._leading(preprojection, about)[1:]
        return found.back(np.eye(found.coordinates.shape[1])).T, found.spectrum

    def block(self, rows: slice, shift: np.ndarray | None = None) -> np.ndarray:
        if shift is None:
            return np.asarray(self.X[rows], dtype=np.float64)
        # The conversion and the subtraction in place are faster than a subtraction of mixed types.
        block = self.X[rows].astype(np.float64)
        block -= shift
        return block

    def columns(self, columns: Any, shift: np.ndarray | None = None) -> np.ndarray:
        return np.subtract(self.X[:, columns], 0 if shift is None else shift, dtype=np.float64)

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        """The mean of the rows. For a constant column it is exactly that constant."""
        X, total = self.X, np.zeros(self.shape[1])
        size = float(len(X)) if weights is None else weights.sum()
        for rows, block in self.blocks():
            # ``sum`` starts no BLAS threads. These would go on spinning, and slow down a search that follows.
            total += block.sum(axis=0) if weights is None else weights[rows] @ block
        mean = total / size
        few = X[:: max(1, len(X) // 100)]
        flat = np.flatnonzero(np.ptp(few, axis=0) <= 1e-4 * np.abs(mean))
        if flat.size:  # columns that are large compared with their spread are summed about their first entry
            weights = np.ones(len(X)) if weights is None else weights
            total = np.zeros(flat.size)
            for rows, block in self.blocks():
                total += weights[rows] @ (block[:, flat] - X[0, flat])
            mean[flat] = X[0, flat] + total / size
        return mean

    def deviations(self, few: bool = False) -> Deviations:
        """The deviations from one pass over the rows, about a point near the mean."""
        if few and self.shape[0] > FEW_ROWS:
            return self.taken(np.arange(0, self.shape[0], ceil(self.shape[0] / FEW_ROWS))).deviations()
        n, pilot = self.shape[0], self.taken(np.arange(0, self.shape[0], max(1, len(self.X) // PILOT))).mean()
        sums, squares = np.zeros((2, self.shape[1]))
        for _, block in self.blocks(pilot):
            sums += block.sum(axis=0)
            squares += np.einsum("ij,ij->j", block, block)
        variances = (squares - sums**2 / n) / n
        return Deviations(np.sqrt(np.where(variances > 1e-14 * squares / n, variances, 0.0)), self.filled)

    @property
    def is_constant(self) -> bool:
        return not np.ptp(self.X, axis=0).any()

    def gram_about(self, mean: np.ndarray) -> np.ndarray:
        n, d = self.shape
        gram = np.zeros((n, n))
        step = max(1, 2 * BLOCK_BYTES // (8 * n))
        for start in range(0, d, step):
            block = self.columns(slice(start, start + step), mean[start : start + step])
            gram += block @ block.T
        return gram

    def centred(self, shift: np.ndarray, scale: float = 1.0) -> LinearOperator:
        return centred_operator(self.X, shift, scale)

    def _rooted(self, about: np.ndarray) -> LinearOperator:
        """As for every F.

        Rows in float32, or with divided columns, are read some at a time, so that X is not copied in float64.
        """
        if type(self).block is DenseMap.block and self.dtype == np.float64:
            return super()._rooted(about)

        def times(V: np.ndarray) -> np.ndarray:
            return self.roots * np.concatenate([block @ V for _, block in self.blocks(about)])

        def transposed(U: np.ndarray) -> np.ndarray:
            U = self.roots * U
            return np.sum([block.T @ U[rows] for rows, block in self.blocks(about)], axis=0)

        return LinearOperator(
            self.shape,
            matvec=lambda v: times(v.reshape(-1, 1)),
            rmatvec=lambda u: transposed(u.reshape(-1, 1)),
            matmat=times,
            rmatmat=transposed,
            dtype=np.float64,
        )

    def projected(self, mean: np.ndarray, components: np.ndarray) -> np.ndarray:
        X, V, mean = self.X, components.T.astype(self.dtype, copy=False), mean.astype(self.dtype, copy=False)
        projected = np.empty((len(X), V.shape[1]), self.dtype)
        for rows in row_blocks(*self.shape):
            projected[rows] = (X[rows] - mean) @ V
        return projected

    def combined(self, mean: np.ndarray, C: np.ndarray) -> np.ndarray:
        combined = np.empty((C.shape[1], self.shape[1]))
        for columns in row_blocks(*self.shape[::-1]):
            combined[:, columns] = C.T @ self.columns(columns, mean[columns])
        return combined


class DividedMap(DenseMap):
    """F = X with its columns divided by ``scale``, as they are read."""

    def __init__(self, X: np.ndarray, scale: np.ndarray):
        super().__init__(X)
        self.scale = scale

    def taken(self, rows: np.ndarray) -> DividedMap:
        return DividedMap(self.X[rows], self.scale)

    def block(self, rows: slice, shift: np.ndarray | None = None) -> np.ndarray:
        block = self.X[rows].astype(np.float64)
        block /= self.scale
        return block if shift is None else np.subtract(block, shift, out=block)

    def columns(self, columns: Any, shift: np.ndarray | None = None) -> np.ndarray:
        part = np.divide(self.X[:, columns], self.scale[columns], dtype=np.float64)
        return part if shift is None else np.subtract(part, shift, out=part)

    def mean(self, weights: np.ndarray | None = None) -> np.ndarray:
        return DenseMap(self.X).mean(weights) / self.scale

    def centred(self, shift: np.ndarray, scale: float = 1.0) -> LinearOperator:
        return centred_operator(self.columns(slice(None)), shift, scale)

    def projected(self, mean: np.ndarray, components: np.ndarray) -> np.ndarray:
        return DenseMap(self.X).projected(mean * self.scale, components / self.scale)


def centred_operator(F: Any, shift: np.ndarray, scale: float = 1.0) -> LinearOperator:
    """``scale (F - 1 shiftᵀ)``, which is never formed."""
    scale = float(scale)  # a NumPy scalar would turn products in single precision into double precision
    return LinearOperator(
        F.shape,
        matvec=lambda v: (F @ np.ravel(v) - shift @ np.ravel(v)) * scale,
        rmatvec=lambda u: (F.T @ np.ravel(u) - shift * float(np.sum(u, dtype=np.float64))) * scale,
        matmat=lambda V: (F @ V - shift @ V) * scale,
        rmatmat=lambda U: (F.T @ U - np.outer(shift, U.sum(axis=0))) * scale,
        dtype=np.float64,
    )


def _largest(gram: LinearOperator, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenpairs, descending. Where Lanczos fails, since eigenvalues repeat, other solvers find them."""
    try:
        values, vectors = seeded_eigsh(gram, k, tol=1e-10)
        return values[::-1], vectors[:, ::-1]
    except LanczosError:
        found = solve(-gram, None, k, bound=0.0, tol=1e-10)
        return -found.values, found.vectors
