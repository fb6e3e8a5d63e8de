"""The eigenproblem ``A v = lambda B v``, with symmetric A and B, for the smallest lambda, and the certificate of a solution.

B is made the identity. What is left is decomposed, or solved by Lanczos of the matrix or of its inverse.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from inspect import signature
from math import asin, inf, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh, orth, qr
from scipy.sparse.linalg import ArpackError, LinearOperator, aslinearoperator, cg, eigsh, splu
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ._documented import public
from ._validation import caller_stacklevel

Apply = Callable[[np.ndarray], np.ndarray]

NEWTON_STEPS = 100  # of Newton's method, which takes fewer than ten
# Seconds of CPU are those of benchmarks/solvers.py, on one thread.
FEW_ROWS = 400  # here a Laplacian takes 0.02 s both densely and by Lanczos; with 800 rows it takes 0.08 s and 0.05 s
MANY_ROWS = 2000  # here a dense solution takes 1 s. Lanczos does not grow as n^3
# How often Lanczos begins again: few times at first, and many from a long basis, where there is no other solver. On a path of
# 2600 rows, whose eigenvalues crowd, 1000 restarts from 16 vectors leave residuals of 1e-3, and 100 from 64 leave none.
FEW_RESTARTS, MANY_RESTARTS, SHORT_BASIS, LONG_BASIS = 100, 1000, 32, 64
RESIDUALS = {"float64": 1e-12, "float32": 1e-5}  # the largest residuals of eigenvectors, by the precision of products
SHIFT_SHARE = 1e-9  # of the mean of the diagonal, which is added, so that a matrix with a null space can be factorised
# In single precision Lanczos multiplies blocks: where X is too large for the cache, a product with 16 vectors takes as long as 4
# products with one vector. What a basis finds grows with the number of its blocks, so it has 16 blocks, and 3 k vectors or more.
WIDEST_BLOCK, NARROWEST_BLOCK, BASIS_BLOCKS, BASIS_PER_PAIR = 16, 4, 16, 3
ROTATED_ROWS = 4096  # this many rows are rotated at a time
# The largest residual and error of the constraint with which a certificate holds, by the precision of X.
TOLERANCES = {"float64": 1e-6, "float32": 1e-3}
POWER_STEPS = 6  # steps of the power method, whose estimate of a norm is then right to a few per cent
# Where a Krylov space ends, ARPACK goes on from a random vector, which has a seed since SciPy 1.17.
SEED = {"rng": 0} if "rng" in signature(eigsh).parameters else {}


class RankError(ValueError):
    """Raised where more directions are asked for than there are."""


class LanczosError(ArithmeticError):
    """Raised where Lanczos takes too long."""


class Pairs(NamedTuple):
    """Eigenvalues, ascending, eigenvectors in columns, and the next eigenvalue: infinite after the last, None where unknown."""

    values: np.ndarray
    vectors: np.ndarray
    following: float | None = None


class Solution(NamedTuple):
    """What was found, and the problem: ``(A - shift B) v = (lambda - shift) (B + rho I) v``, on the range of T where given."""

    values: np.ndarray  # ascending
    vectors: np.ndarray  # in columns
    rank: int | None  # how many there are in all; None where that is not known
    solver: str
    A: Any
    B: Any = None  # None for the identity
    T: Any = None  # orthogonal columns with Tᵀ (B + rho I) T = I; None where B is the identity or an operator
    deflated: np.ndarray | None = None  # an orthonormal basis of what is kept out, in the coordinates of T
    rho: float = 0.0
    shift: float = 0.0
    following: float | None = None  # the next eigenvalue; infinite where there is none, None where it is unknown
    scale: float = 0.0  # the norm of an operator A, or of parts of it that may cancel; 0 where it is unknown
    accuracy: float = 0.0  # what was aimed at or reached, where that is more than the tolerance of a certificate

    def first(self, k: int) -> Solution:
        """The first k of the pairs that were found."""
        following = self.values[k] if k < self.values.size else self.following
        return self._replace(values=self.values[:k], vectors=self.vectors[:, :k], following=following)


def solve(
    A: Any,
    B: Any,
    k: int | None,
    *,
    ridge: float = 0.0,
    per: float | None = None,
    shift: float = 0.0,
    floor: float = 0.0,
    deflate: np.ndarray | None = None,
    semidefinite: bool = False,
    crowded: bool = False,
    bound: float | None = None,
    tol: float | None = None,
) -> Solution:
    """The k smallest eigenpairs of ``A v = lambda B v`` on the range of B, with ``Vᵀ (B + rho I) V = I``; all where k is None.

    More pairs than there are raise a :class:`RankError`: fewer are never returned silently. A is symmetric: an array, a sparse
    array, or a LinearOperator, whose products are in single precision where it is of float32. B is None for the identity, a
    matrix, or its diagonal; rows where this is 0 stay at 0, as do those with eigenvalues up to ``floor``.

    With a ridge, ``(A - shift B) v = (lambda - shift) (B + rho I) v``: what B does not see goes to lambda = shift, not to 0. rho
    is ``ridge`` times the trace of B over ``per``, which is the rank of B where it is None. ``deflate`` are vectors d to keep
    out, ``dᵀ B v = 0``, where A is no array.

    ``semidefinite`` says that a sparse A has no negative eigenvalue, so that it may be factorised, and ``crowded`` that the
    smallest crowd at 0, as those of a surface do, which takes Lanczos long. No lambda of an operator A is larger than ``bound``,
    since the smallest are found as the largest of ``bound B - A``; None finds it first. ``tol`` is the residual that an iteration
    leaves, as a share of the largest eigenvalue: None is 1e-12, and 1e-5 in float32.
    """
    shift = shift if ridge and B is not None else 0.0
    B = None if B is None or (B.ndim == 1 and not ridge and (B == 1).all()) else B
    T: Any = None if B is None else whitening(B, ridge, floor, per)
    B = sparse.diags_array(B, format="csr") if B is not None and B.ndim == 1 else B
    rho = float(ridge * B.diagonal().sum() / (per or max(T.shape[1], 1))) if ridge and B is not None else 0.0
    A = M = A if isinstance(A, LinearOperator) else A.astype(np.float64, copy=False)
    if isinstance(A, np.ndarray):
        M = M if T is None else T.T @ ((A - shift * B if shift else A) @ T)
        M = (M + M.T) / 2
    elif T is not None and sparse.issparse(A):
        M = sparse.csr_array(T.T @ (A @ T))
    elif T is not None:
        M = aslinearoperator(T.T.astype(A.dtype)) @ A @ aslinearoperator(T.astype(A.dtype))
    out = None if deflate is None else orth(deflate if B is None else T.T @ (B @ deflate))
    rank = M.shape[0] - (0 if out is None else out.shape[1])
    if rank == 0 or (k or 0) > rank:
        raise RankError(too_few(k, rank))
    k = rank if k is None else k
    if isinstance(M, np.ndarray):
        found, name = _decomposed(M, k), "dense"
    else:
        none = np.empty((M.shape[0], 0))
        found, name = _first(M, none if out is None else out, k, semidefinite, crowded, bound, tol)
    following = inf if k == rank else None if found.following is None else found.following + shift
    vectors = found.vectors if T is None else T @ found.vectors
    return Solution(found.values + shift, vectors, rank, name, A, B, T, out, rho, shift, following)


def solve_operators(
    A: Any, B: Any, k: int | None, rho: float, shift: float, diagonal: np.ndarray, tol: float = 1e-12
) -> Solution:
    """The same where A and B, with this diagonal, are operators: Lanczos, with conjugate gradients for ``(B + rho I)^-1``."""
    if not diagonal.any():
        raise RankError(too_few(k, 0))
    if k is None or k >= A.shape[0] - 1 or rho <= 0:
        raise ValueError(
            f"X is too large to be decomposed whole (n_components={k}); give n_components, and either ridge > 0 or a number of "
            "directions as pca="
        )
    M = B + rho * aslinearoperator(sparse.eye_array(diagonal.size))
    jacobi = aslinearoperator(sparse.diags_array(1 / (diagonal + rho)))

    def inverted(b: np.ndarray) -> np.ndarray:
        x, failed = cg(M, b, rtol=tol / 100, atol=0.0, maxiter=10_000, M=jacobi)
        if failed:
            raise ValueError("the constraint is too ill-conditioned to be inverted; use a larger ridge")
        return x

    inverse = LinearOperator(A.shape, matvec=inverted, dtype=np.float64)
    start = np.random.RandomState(0).standard_normal(A.shape[0])
    try:
        with single_blas_thread():
            values, vectors = eigsh(A - shift * B, k, M=M, Minv=inverse, which="SA", tol=tol, v0=start, **SEED)
    except ArpackError as error:
        remedy = f"use fewer components than {k}, a larger ridge, or a number as pca="
        raise ValueError(f"Lanczos found no {k} eigenvectors of {A.shape[0]} rows: {error}; {remedy}") from error
    seen = values < -tol * shift
    if not seen.all():
        raise RankError(f"n_components={k} is more than the {seen.sum()} directions that the graph tells from noise")
    order = np.argsort(values, kind="stable")
    return Solution(values[order] + shift, vectors[:, order], None, "lanczos", A, B, rho=rho, shift=shift)


def too_few(k: int | None, rank: int) -> str:
    """What to say where k eigenpairs are asked for, and there are fewer."""
    if rank == 0:
        return "no direction is left: penalty= links equal samples only (copies in two classes), or just one sample has links"
    return (
        f"n_components={k} is more than the {rank} directions that the data and the constraint leave (the rank); use "
        f"n_components={rank} or less"
    )


def _first(
    M: Any, D: Any, k: int, semidefinite: bool, crowded: bool, bound: float | None, tol: float | None
) -> tuple[Pairs, str]:
    """The k smallest eigenpairs of M that are orthogonal to D, by what suits the matrix, and the name of that."""
    rank, is_sparse = M.shape[0] - D.shape[1], sparse.issparse(M)
    if rank <= FEW_ROWS or 3 * k > rank:
        return dense(M, D, k), "dense"
    D = D.astype(np.float64 if is_sparse else M.dtype, copy=False)
    tol = RESIDUALS[D.dtype.name] if tol is None else tol
    if is_sparse:  # abs of a copy, since SciPy sorts the entries of what it takes abs of
        bound = float(abs(M.copy()).sum(axis=1).max())
    top = largest_value(M) if bound is None else bound
    inverted, is_small = is_sparse and semidefinite and _keeps(M, D, top), rank <= MANY_ROWS
    # Eigenvalues that crowd at 0, as those of a surface do, are far apart in the inverse. Those of rows in many dimensions are
    # apart as they are, and factors fill up: with 5000 rows the inverse takes 2 s, and the matrix itself 0.2 s. An inverse would
    # find eigenvalues near 0, and not the smallest, where some are negative.
    if not (inverted and crowded):
        with suppress(LanczosError):
            return lanczos(M, D, k, top, tol, FEW_RESTARTS), "lanczos"
    if inverted:
        with suppress(LanczosError, RuntimeError):  # SuperLU says by a RuntimeError that the matrix is singular
            return shift_invert(M, D, k, tol), "shift-invert"
    return (dense(M, D, k), "dense") if is_small else (lanczos(M, D, k, top, tol, MANY_RESTARTS), "lanczos")


def _keeps(M: Any, D: Any, bound: float) -> bool:
    """Whether M maps the deflated space into itself, as it does for eigenvectors, and so the space orthogonal to it, too."""
    image = M @ D
    return bool(np.linalg.norm(image - D @ (D.T @ image)) <= RESIDUALS["float64"] * bound)


def dense(M: Any, D: Any, k: int) -> Pairs:
    M = _whole(M)
    if not D.shape[1]:
        return _decomposed(M, k)
    Q = np.linalg.qr(D.astype(np.float64, copy=False), mode="complete")[0][:, D.shape[1] :]
    found = _decomposed(Q.T @ M @ Q, k)
    return found._replace(vectors=Q @ found.vectors)


def _whole(M: Any) -> np.ndarray:
    if not isinstance(M, LinearOperator):
        return M.toarray() if sparse.issparse(M) else M
    found = np.asarray(M @ np.eye(M.shape[0], dtype=M.dtype), dtype=np.float64)
    return (found + found.T) / 2


def _decomposed(M: np.ndarray, k: int) -> Pairs:
    # For a small matrix, or where many are wanted, all eigenvectors cost no more, and the threads of NumPy's BLAS run already.
    if M.shape[0] < 500 or 3 * k > M.shape[0]:
        values, vectors = np.linalg.eigh(M)
        return Pairs(values[:k], vectors[:, :k], float(values[k]) if k < len(values) else inf)
    return Pairs(*eigh(M, subset_by_index=[0, k - 1]))


def lanczos(M: Any, D: Any, k: int, bound: float, tol: float, restarts: int) -> Pairs:
    """Lanczos on ``bound I - M``, whose largest eigenvalues are the smallest of M."""
    values, vectors, following = largest(lambda V: bound * V - M @ V, D, k, tol, restarts)
    return Pairs(bound - values, vectors, None if following is None else bound - following)


def shift_invert(M: Any, D: Any, k: int, tol: float) -> Pairs:
    """Lanczos on the inverse of a sparse, semidefinite matrix, by its factors."""
    shift = float(SHIFT_SHARE * M.diagonal().mean())
    inverted = inverse(M + shift * sparse.eye_array(M.shape[0]))
    # The inverse is huge along the constant, so what rounding leaves of the constant must be removed from each product.
    _, V, following = largest(lambda V: inverted @ (V - D @ (D.T @ V)), D, k, tol, FEW_RESTARTS)
    # The smallest eigenvalues are far below the shift, so that M itself is used to tell them apart.
    values, rotation = np.linalg.eigh(V.T @ (M @ V))
    return Pairs(values, V @ rotation, 1 / following - shift if following else None)


def inverse(M: Any) -> LinearOperator:
    """The inverse of a sparse, symmetric, positive definite matrix, by its factors. No dense matrix is formed."""
    options: Any = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    factor = splu(sparse.csc_array(M), **options)
    names = ("matvec", "matmat", "rmatvec", "rmatmat")
    products: Any = dict.fromkeys(names, lambda V: factor.solve(np.asarray(V, dtype=np.float64)))
    return LinearOperator(M.shape, dtype=np.float64, **products)


def single_blas_thread() -> threadpool_limits:
    """One BLAS thread, for iterations with sparse matrices, whose vectors are too short to be shared among threads."""
    return threadpool_limits(limits=1, user_api="blas")


def largest(
    apply: Apply, deflated: np.ndarray, k: int, tol: float, restarts: int
) -> tuple[np.ndarray, np.ndarray, float | None]:
    """The largest k eigenpairs, descending and orthogonal to ``deflated``, each as often as it repeats, and the next eigenvalue.

    ``apply`` multiplies blocks of vectors in the precision of ``deflated``. Residuals are at most ``tol`` times the eigenvalue.
    """
    random, width = np.random.RandomState(0), 1
    if deflated.dtype == np.float32:
        width = min(max(-(-BASIS_PER_PAIR * k // BASIS_BLOCKS), NARROWEST_BLOCK), WIDEST_BLOCK)
    with single_blas_thread() if width == 1 else nullcontext():
        values, vectors, following = _krylov(apply, deflated, k, width, tol, restarts, random)
        # A Krylov space shows an eigenvalue at most as often as its blocks are wide. One that occurs as often may hide more.
        while (values[: k - width + 1] - values[width - 1 :] <= tol * abs(values[0])).any():
            found, scale = np.hstack([deflated, vectors]), float(np.abs(values).max())
            # The error of a Ritz value is the square of the residual.
            following = float(_krylov(apply, found, 1, width, sqrt(tol), restarts, random, scale)[0][0])
            if following <= values[-1] + max(1e-8, 10 * tol) * abs(values[-1]) + 1e-15 * abs(values[0]):
                break
            more, others, _ = _krylov(apply, found, width, width, tol, restarts, random, scale)
            order = np.argsort(-np.append(values, more), kind="stable")[:k]
            values, vectors = np.append(values, more)[order], np.hstack([vectors, others])[:, order]
    return values, vectors, following


def _krylov(
    apply: Apply, deflated: np.ndarray, k: int, width: int, tol: float, restarts: int, random: Any, scale: float = 0.0
) -> tuple[np.ndarray, np.ndarray, float | None]:
    """Block Lanczos with thick restarts: an orthonormal basis V with ``A V = V T + F R``, where F is the next block."""
    (n, before), eps = deflated.shape, np.finfo(deflated.dtype).eps
    least = LONG_BASIS if restarts == MANY_RESTARTS else SHORT_BASIS
    blocks = max(-(-BASIS_PER_PAIR * k // width), BASIS_BLOCKS, least // width)
    size = width * min(blocks, (n - before) // width - 1)
    columns = np.empty((n, before + size + width), deflated.dtype, order="F")  # the deflated vectors, V and F
    columns[:, :before], V, T, count = deflated, columns[:, before:], np.zeros((size, size)), 0
    start = random.standard_normal((n, width)).astype(deflated.dtype)
    V[:, :width] = qr(start - deflated @ (deflated.T @ start), mode="economic")[0]
    for _ in range(restarts):
        near = 0
        while count < size:
            W = apply(V[:, count : count + width])
            count += width
            # W = columns H + F R, by a projection of what is large, and of all until that takes away little but rounding.
            known, H, R = columns[:, : before + count], np.zeros((before + count, width)), np.eye(width)
            H[near:] = inner = known[:, near:].T @ W
            W = W - known[:, near:] @ inner
            for _ in range(5):
                inner, lengths = known.T @ W, np.linalg.norm(W, axis=0)
                W = W - known @ inner
                length = np.linalg.norm(W) if width == 1 else 0.0
                W, factor = (W / length, np.array([[length]])) if length else qr(W, mode="economic", check_finite=False)
                H, R = H + inner @ R, factor @ R
                if (np.abs(np.diagonal(factor)) > 0.5 * lengths).all():
                    break
            V[:, count : count + width], T[count - width : count, :count] = W, H[before:].T
            near = before + count - width  # the next product is large along its own block and the one before alone
        values, rotation = np.linalg.eigh(T)  # which reads the lower triangle
        values, rotation = values[::-1], rotation[:, ::-1]
        residuals, scale = np.linalg.norm(R @ rotation[-width:], axis=0), max(scale, np.abs(values).max())
        if (residuals[:k] <= np.maximum(tol * np.abs(values[:k]), 10 * eps * scale)).all():
            break
        # Keep F and the first Ritz vectors: so many that half of the room beyond k is free.
        count = size - width * ((size - k) // (2 * width))
        for rows in range(0, n, ROTATED_ROWS):  # in place
            V[rows : rows + ROTATED_ROWS, :count] = V[rows : rows + ROTATED_ROWS, :size] @ rotation[:, :count].astype(
                V.dtype
            )
        V[:, count : count + width] = V[:, size:]
        T[:], T[np.arange(count), np.arange(count)] = 0, values[:count]
    else:
        left = residuals[:k].max() / scale
        if restarts < MANY_RESTARTS:
            raise LanczosError(f"Lanczos found no {k} eigenvectors of {n} rows in {restarts} restarts")
        said = f"the eigenvectors have residuals of {left:.2g} after {restarts} restarts, above {tol:.2g}"
        warnings.warn(said, ConvergenceWarning, stacklevel=2)
    following = float(values[k] + residuals[k]) if k < size else None
    return values[:k], V[:, :size] @ rotation[:, :k].astype(V.dtype), following


def largest_value(A: Any) -> float:
    """The largest eigenvalue of a symmetric matrix or operator: 12 digits, 9 where eigenvalues crowd; of float32, 8 and 4."""
    A = A if isinstance(A, LinearOperator) else A.astype(np.float64, copy=False)
    if (n := A.shape[0]) <= FEW_ROWS:
        return float(np.linalg.eigvalsh(_whole(A))[-1])
    # The error of the value is the square of the residual divided by the gap to the next one, and at most the residual.
    tol, none = 1e-4 if A.dtype == np.float32 else 1e-9, np.empty((n, 0), A.dtype)
    return float(_krylov(A.__matmul__, none, 1, NARROWEST_BLOCK, tol, MANY_RESTARTS, np.random.RandomState(0))[0][0])


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Rows with their largest entry positive; of entries that are equal to 1 part in a million, the first counts."""
    sizes = np.abs(components)
    first = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=1, keepdims=True), axis=1)
    signs = np.where(components[np.arange(len(components)), first] < 0, -1.0, 1.0)
    return components * signs[:, None]


def numerical_rank(values: np.ndarray, floor: float = 0.0, n: int | None = None) -> int:
    """How many eigenvalues of a semidefinite matrix, ascending, do not come from rounding; ``floor`` is that of the data.

    The matrix has ``n`` rows, where these are not all of its eigenvalues.
    """
    largest, n = values[-1] if values.size else 0.0, n or values.size
    return int((values > max(10 * n * np.finfo(np.float64).eps * largest, floor)).sum()) if largest > 0 else 0


def whitening(B: np.ndarray, ridge: float, floor: float, per: float | None) -> Any:
    """T with ``Tᵀ (B + rho I) T = I`` on the range of B. The null space is dropped first (thesis eq. 2.41 to 2.47).

    B is a matrix, or the diagonal of one, for which T is sparse.
    """
    if B.ndim == 1:
        values, vectors = B[floor < B], sparse.eye_array(B.size, format="csc")[:, floor < B].tocsr()
    else:
        values, vectors = np.linalg.eigh(B)
        if values.size and values[0] < -max(1e-8 * np.abs(values).max(), floor):
            raise ValueError(
                f"the constraint matrix has a negative eigenvalue ({values[0]:.3g}; the largest is {values[-1]:.3g}); "
                "penalty= must attract only: move what it repels to graph="
            )
        null = values.size - numerical_rank(values, floor)
        values, vectors = values[null:], vectors[:, null:]
    lengths = np.sqrt(values + ridge * values.sum() / (per or max(values.size, 1)))
    return vectors @ sparse.diags_array(1 / lengths) if sparse.issparse(vectors) else vectors / lengths


def trace_ratio(A: np.ndarray, B: np.ndarray, k: int | None, floor: float = 0.0) -> tuple[float, Solution]:
    """The smallest ``tr(VᵀAV) / tr(VᵀBV)`` with VᵀV = I, and the eigenpairs of ``A - ratio B`` that attain it.

    The least ``tr(Vᵀ (A - rho B) V)`` is concave in rho, falls, and is 0 at the smallest ratio, which Newton's method finds from
    above, with no local minimum to get stuck in (https://doi.org/10.1137/120864799). Eigenvalues of B up to ``floor`` count
    as 0.
    """

    def ratio_of(V: np.ndarray) -> float:
        return float(np.vdot(V, A @ V) / np.vdot(V, B @ V))

    longest = solve(-B, None, k)
    if -longest.values.min(initial=0.0) <= floor or not longest.values.min(initial=0.0) < 0:
        raise RankError("no direction is left: penalty= links equal samples only, or X is constant")
    ratio = ratio_of(longest.vectors)
    for _ in range(NEWTON_STEPS):
        found = solve(A - ratio * B, None, k)
        size = np.abs(A).max() + abs(ratio) * np.abs(B).max()
        if found.values.sum() >= -1e-14 * size * len(A):
            break  # no V has a smaller ratio
        seen = np.trace(found.vectors.T @ B @ found.vectors)
        if seen <= max(floor, 1e-14 * np.abs(B).max()):
            raise ValueError(
                "the ratio of the traces has no least value: along directions that penalty= does not see, graph= repels; take "
                "what repels out of graph=, or use fewer components"
            )
        ratio = ratio_of(found.vectors)
    return ratio, found._replace(solver="newton")


class CertificateWarning(UserWarning):
    """Says that a solution solves its problem less exactly than it should; ``certificate_`` has the numbers.

    Examples
    --------
    To make it an error, so that no such model is used:

    >>> import warnings
    >>> from lapwing import CertificateWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", CertificateWarning)  # and then the fit
    """


@dataclass(frozen=True)
class Certificate:
    r"""How well eigenvectors V and eigenvalues :math:`\lambda` solve :math:`A v = \lambda B v` subject to :math:`V^\top B V = I`.

    It is measured in the directions that ``pca=`` keeps and the constraint sees. With a ridge, B includes it. None is not known.

    Attributes
    ----------
    residual : float
        The largest :math:`\|A v - \lambda B v\| / ((\|A\| + |\lambda| \|B\|) \|v\|)`: v is exact for A and B that differ by
        this share.
    constraint_error : float
        :math:`\|V^\top B V - I\|`, or the part of V along directions that it must not have, such as the constant.
    rank : int or None
        How many directions the data and the constraint leave.
    condition : float or None
        The largest eigenvalue of B over the smallest that counts: where it is large, digits are lost.
    gap : float or None
        The distance from the last eigenvalue to the next one, infinite where all were kept: at 0, which direction came last is
        arbitrary.
    angle : float or None
        The largest angle, in radians, that the space of the directions can have with the true one (Davis and Kahan), as the
        inner product of B measures it. It takes A and B as exact.
    tolerance : float
        The largest ``residual`` and ``constraint_error`` with which the certificate holds: 1e-6, and 1e-3 for X in float32.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lapwing import LPP
    >>> certificate = LPP(2).fit(load_iris().data).certificate_
    >>> certificate.holds
    True
    >>> print(certificate)
    residual ..., constraint error ..., condition ..., gap ...
    """

    residual: float
    constraint_error: float
    rank: int | None = None
    condition: float | None = None
    gap: float | None = None
    angle: float | None = None
    tolerance: float = TOLERANCES["float64"]

    @property
    def holds(self) -> bool:
        """Whether residual and constraint are within the tolerance."""
        return self.residual <= self.tolerance and self.constraint_error <= self.tolerance

    def __str__(self) -> str:
        parts = [f"residual {self.residual:.1e}, constraint error {self.constraint_error:.1e}"]
        parts += [] if self.condition is None else [f"condition {self.condition:.1e}"]
        parts += [] if self.gap is None else [f"gap {'all directions kept' if self.gap == inf else f'{self.gap:.2g}'}"]
        degrees = self.angle and self.angle * 180 / pi
        parts += [] if degrees is None else [f"at most this far from the true directions {degrees:.1e} degrees"]
        return ", ".join(parts)


def certify(solution: Any, dtype: Any = np.float64, who: str = "the solver") -> Certificate:
    """Check eigenpairs, whichever solver found them: a ``Solution`` says what was to be solved. Warn where they are not right.

    By the theorem of Davis and Kahan (https://doi.org/10.1137/0707001), where B is the identity, the sine of the angle is at
    most the norm of the residuals, over the distance to the eigenvalues that are left out (the next may be wrong by as much as
    the residual), over the smallest singular value of the directions.
    """
    s, T, mu, n = solution, solution.T, solution.values - solution.shift, len(solution.vectors)
    V, known = np.asarray(s.vectors, np.float64), s.B is None or T is not None
    BV = V if s.B is None else s.B @ V
    right, AV = BV + s.rho * V, s.A @ (V.astype(np.float32) if s.A.dtype == np.float32 else V)
    residuals = AV.astype(np.float64, copy=False) - s.shift * BV - right * mu
    white = T.T @ residuals if T is not None else residuals if known else residuals / sqrt(s.rho)
    errors, unseen = [V.T @ right - np.eye(mu.size)], 0.0
    if s.deflated is not None:
        white = white - s.deflated @ (s.deflated.T @ white)
        errors.append(s.deflated.T @ (right if T is None else T.T @ right))
    if T is not None and T.shape[1] < T.shape[0]:  # what the constraint does not see must not be there
        unseen = float(np.linalg.norm(V - T @ (T.T @ right)) / np.linalg.norm(V))
    # The columns of T are orthogonal, and their lengths are 1 over the roots of the eigenvalues of B + rho.
    roots = np.ones(1) if T is None else 1 / np.sqrt(np.asarray((T * T).sum(axis=0)).ravel())
    largest = roots.max() ** 2 if known else estimate_norm(lambda U: s.B @ U + s.rho * U, n)
    if isinstance(s.A, np.ndarray):
        size = float(np.linalg.norm(s.A - s.shift * s.B if s.shift else s.A))
    elif sparse.issparse(s.A) and not s.shift:
        size = float(abs(s.A.copy()).sum(axis=1).max())  # of a copy, whose entries SciPy sorts
    else:
        size = s.scale or estimate_norm(lambda U: s.A @ U - s.shift * (U if s.B is None else s.B @ U), n)
    scale = (size + np.abs(mu) * largest) * np.linalg.norm(V, axis=0)
    shares = np.linalg.norm(white * (roots[:, None] if known else sqrt(s.rho)), axis=0) / np.where(scale > 0, scale, 1)
    error, residual = max(float(np.linalg.norm(np.vstack(errors))), unseen), float(np.linalg.norm(white))
    gap, angle = None if s.following is None else max(float(s.following - s.values[-1]), 0.0), None
    if gap is not None:
        apart = (gap - residual) * sqrt(max(1 - error, 0.0))
        angle = asin(min(1.0, residual / apart)) if apart > 0 else pi / 2
    condition = float((roots.max() / roots.min()) ** 2) if known else None
    tolerance = max(TOLERANCES[np.dtype(dtype).name], s.accuracy)
    found = Certificate(float(shares.max()), error, s.rank, condition, gap, angle, tolerance)
    if not max(found.residual, found.constraint_error) <= found.tolerance:  # also where one is NaN
        remedy = "ask for fewer components, or leave out what is near rounding, by pca= or ridge= where there is one"
        message = f"{who} solved its problem less well than to {found.tolerance:.1g} ({found}); {remedy}"
        warnings.warn(message, CertificateWarning, stacklevel=caller_stacklevel())
    return found


def estimate_norm(apply: Callable[[np.ndarray], np.ndarray], n: int) -> float:
    """The norm of a symmetric matrix of n rows, from a few steps of the power method: rarely much too small, never too large."""
    v, found = np.random.RandomState(0).standard_normal((n, 1)), 0.0
    for _ in range(POWER_STEPS):
        if before := float(np.linalg.norm(v)):
            v = apply(v / before)
            found = max(found, float(np.linalg.norm(v)))
    return found


public(__name__.partition(".")[0], ["Certificate", "CertificateWarning"], globals())
