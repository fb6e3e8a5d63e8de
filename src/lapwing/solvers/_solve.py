"""``A v = lambda B v`` for the smallest lambda. B is made the identity, and a table says how the rest is solved."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import orth
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg

from ._block import block_largest
from ._lanczos import LanczosError, krylov, seeded_eigsh
from ._rank import RankError, whitening
from ._ways import (
    Pairs,
    Standard,
    block_lanczos,
    decomposed,
    dense,
    is_operator,
    lanczos,
    precision,
    shift_invert,
    whole,
)


class Way(NamedTuple):
    """A solver, and the name that it goes by."""

    name: str
    pairs: Callable[[Standard, int], Pairs]


# Seconds of CPU are those of benchmarks/solvers.py, on one thread.
FEW = 400  # rows: with 400, a Laplacian takes 0.05 s both densely and by Lanczos; with 800 it takes 0.18 s and 0.07 s
# Rows: a dense solution takes 2.4 s with 2000 and 5.9 s with 3000. Beyond, blocks follow where Lanczos fails: they may take
# longer than this, but do not grow as n^3.
MANY = 2000
# The restarts that Lanczos is allowed: few where the next way takes seconds, many where that may take minutes.
BRIEFLY, PATIENTLY = 100, 1000
DENSE = Way("dense", dense)
BRIEF = Way("lanczos", partial(lanczos, restarts=BRIEFLY))
PATIENT = Way("lanczos", partial(lanczos, restarts=PATIENTLY))
INVERTED = Way("shift-invert", partial(shift_invert, restarts=PATIENTLY))
BLOCKS = Way("block-lanczos", block_lanczos)

# The ways that are tried, in this order. Where one raises LanczosError, since eigenvalues crowd or repeat, the next one is
# tried; the last never raises it. The first column is for up to FEW rows, or more than a third of all eigenpairs, the second
# for up to MANY rows, and the third for more. Where B is an operator too, there is only Lanczos with conjugate gradients
# (_pencil).
# fmt: off
TABLE = {
    # A dense matrix. Take a pencil with k = 10 and 200, 1000 or 3000 columns. Making B the identity takes 0.01, 0.33 or 8.6
    # s. After that a dense solution takes 0.005, 0.08 or 2.5 s, and Lanczos 0.02, 0.06 or 1.2 s. Without a B, a dense
    # solution of 1000 columns takes 0.08 s, and Lanczos fails after 0.5 s.
    "array":      ([DENSE], [DENSE],                  [DENSE]),
    # Sparse and semidefinite, with eigenvalues crowding at 0. On 5000 points of a surface Lanczos fails after 0.5 s, and
    # factors take 0.13 s.
    "crowded":    ([DENSE], [INVERTED, DENSE],        [INVERTED, BLOCKS]),
    # Sparse and semidefinite, with eigenvalues apart. In many dimensions factors fill up: at 5000 rows they take 3.5 s, and
    # Lanczos takes 0.19 s.
    "apart":      ([DENSE], [BRIEF, INVERTED, DENSE], [BRIEF, INVERTED, BLOCKS]),
    # Sparse, but factors cannot be used. Either A is not semidefinite, so that an inverse would find eigenvalues near 0 and
    # not the smallest. Or the deflated vectors are not eigenvectors, so that the inverse on the remaining space is not that
    # of A.
    "indefinite": ([DENSE], [BRIEF, DENSE],           [PATIENT, BLOCKS]),
    # Products in double precision: GLPCA of 10,000 x 256 takes 0.95 s by Lanczos and 1.2 s by blocks.
    "operator":   ([DENSE], [BRIEF, DENSE],           [PATIENT, BLOCKS]),
    # Products in single precision: blocks take 0.35 s on the same problem (_block.py).
    "single":     ([DENSE], [BLOCKS],                 [BLOCKS]),
}
# fmt: on


class Solution(NamedTuple):
    """What was found, and the problem as it was solved.

    It is ``(A - shift B) v = (lambda - shift) (B + rho I) v`` on the range of T, less ``deflated``.

    Attributes
    ----------
    values, vectors : ndarray
        Eigenvalues, ascending, and eigenvectors in columns.
    rank : int or None
        How many there are in all; None where that is not known.
    solver : str
    A, B : matrices or operators
        B is None for the identity.
    T : ndarray, sparse array or None
        Orthogonal columns with ``Tᵀ (B + rho I) T = I``; None where B is the identity or an operator.
    deflated : ndarray or None
        An orthonormal basis of the directions that are kept out, in the coordinates of T.
    rho, shift : float
    following : float or None
        The eigenvalue after the last that was asked for; infinite where there is none, None where it is not known.
    scale : float
        The norm of the terms that add up to A, which may cancel one another.
    """

    values: np.ndarray
    vectors: np.ndarray
    rank: int | None
    solver: str
    A: Any
    B: Any = None
    T: Any = None
    deflated: np.ndarray | None = None
    rho: float = 0.0
    shift: float = 0.0
    following: float | None = None
    scale: float = 0.0


def solve(
    A: Any,
    B: Any,
    k: int | None,
    *,
    deflate: np.ndarray | None = None,
    ridge: float = 0.0,
    per: int | None = None,
    shift: float = 0.0,
    floor: float = 0.0,
    semidefinite: bool = False,
    crowded: bool = False,
    bound: float | None = None,
    diagonal: np.ndarray | None = None,
    tol: float | None = None,
) -> Solution:
    """The k smallest eigenpairs of ``A v = lambda B v`` on the range of B, with ``Vᵀ (B + rho I) V = I``.

    More pairs than there are raise a :class:`RankError`: fewer are never returned silently.

    Parameters
    ----------
    A : ndarray, sparse array or operator of shape (n, n)
        A symmetric matrix. An operator is whatever has a ``shape`` and a product ``A @ V`` with vectors and with blocks of
        them, such as a LinearOperator; where its ``dtype`` is float32, its products are in single precision.
    B : None, ndarray of shape (n, n) or (n,), or LinearOperator
        None is the identity. An array of shape (n,) is a diagonal, and rows where it is 0 stay at 0. A LinearOperator needs an
        A that is one, a ridge and its ``diagonal``; how many eigenpairs there are then stays unknown.
    k : int or None
        How many eigenpairs to find; None finds all.
    deflate : ndarray of shape (n, m), default=None
        Vectors d to keep out, ``dᵀ B v = 0``; not with a LinearOperator B.
    ridge, shift : float, default=0
        With a ridge, ``(A - shift B) v = (lambda - shift) (B + rho I) v``: what B does not see goes to lambda = shift, not to
        0. rho is ``ridge`` times the trace of B over ``per``.
    per : int, default=None
        None is the rank of B, so that the unit of the ridge is the mean eigenvalue of B; for operators it must be given.
    floor : float, default=0
        Eigenvalues of B up to here count as 0.
    semidefinite : bool, default=False
        A promise that a sparse A has no negative eigenvalue, so that it may be factorised.
    crowded : bool, default=False
        Whether the smallest eigenvalues of a sparse A crowd at 0, as those of a surface do, which takes Lanczos long.
    bound : float, default=None
        No lambda of an operator A is larger: the smallest are found as the largest of ``bound B - A``. None finds it first.
    diagonal : ndarray of shape (n,), default=None
        The diagonal of B, where B is a LinearOperator.
    tol : float, default=None
        The residuals that an iteration leaves, as a share of the largest eigenvalue. None is 1e-12, 1e-5 where products are in
        single precision, and 1e-8 with a LinearOperator B.
    """
    if isinstance(B, LinearOperator):
        if deflate is not None:
            raise ValueError("deflate= needs a B that is an array, and this one is a LinearOperator; leave deflate out")
        if diagonal is None or per is None:
            raise ValueError("a B that is a LinearOperator needs its diagonal= and per=, which give the ridge its unit")
        return _pencil(A, B, k, ridge * diagonal.sum() / per, shift, diagonal, 1e-8 if tol is None else tol)
    T: Any = None
    shift, out = shift if ridge and B is not None else 0.0, None
    if isinstance(A, np.ndarray) and deflate is None and (B is None or B.ndim == 2):  # always dense, without the table
        M = A = A.astype(np.float64, copy=False)
        if B is not None:
            M = M - shift * B if shift else M
            T = whitening(B, ridge, floor, per)
            M = T.T @ (M @ T) if isinstance(T, np.ndarray) else (T.T @ (T.T @ M).T)
            M = (M + M.T) / 2
        rank = len(M)
        k = _checked(k, rank)
        found, name = decomposed(M, k), DENSE.name
    else:
        A, B = _typed(A), _matrix(B, ridge)
        T = _whitening(B, ridge, per, floor)
        M = _reduced(A, B, T, shift)
        deflated = _deflated(B, T, deflate, M.shape[0])
        rank, out = M.shape[0] - deflated.shape[1], deflated if deflated.shape[1] else None
        k = _checked(k, rank)
        bound = largest_value(M) if bound is None and is_operator(M) else bound
        problem = Standard(M, deflated, bound, tol)
        found, name = _first(_tried(problem, rank, k, semidefinite, crowded), problem, k)
    rho = float(ridge * B.diagonal().sum() / (per or T.shape[1])) if ridge and B is not None else 0.0
    following = inf if k == rank else None if found.following is None else found.following + shift
    vectors = found.vectors if T is None else T @ found.vectors
    return Solution(found.values + shift, vectors, rank, name, A, B, T, out, rho, shift, following)


def _tried(problem: Standard, rank: int, k: int, semidefinite: bool, crowded: bool) -> list[Way]:
    """The ways that the table gives for a problem."""
    if is_operator(problem.M):
        kind = "single" if precision(problem.M) == np.float32 else "operator"
    elif not sparse.issparse(problem.M):
        kind = "array"
    elif semidefinite and problem.invariant:
        kind = "crowded" if crowded else "apart"
    else:
        kind = "indefinite"
    return TABLE[kind][0 if rank <= FEW or 3 * k > rank else 1 if rank <= MANY else 2]


def _first(ways: list[Way], problem: Standard, k: int) -> tuple[Pairs, str]:
    """The solution by the first way that does not fail, and the name of that way. The last one never fails."""
    for way in ways[:-1]:
        with suppress(LanczosError):
            return way.pairs(problem, k), way.name
    return ways[-1].pairs(problem, k), ways[-1].name


def largest_value(A: Any) -> float:
    """The largest eigenvalue of a symmetric matrix or operator.

    Where products are in single precision, it is right to 8 digits, and to 4 where eigenvalues crowd; otherwise to 12 and to 9.
    """
    A = _typed(A)
    n, dtype = A.shape[0], precision(A)
    # The error of the value is the square of the residual divided by the gap to the next one, and at most the residual.
    tol, none = 1e-4 if dtype == np.float32 else 1e-9, np.empty((n, 0))
    if n <= FEW:
        return float(np.linalg.eigvalsh(whole(A))[-1])
    if dtype != np.float32:
        with suppress(LanczosError):
            return float(krylov(A.__matmul__, np.random.RandomState(0).standard_normal(n), none, 1, BRIEFLY, tol)[0][0])
    return float(block_largest(A.__matmul__, none.astype(dtype), 1, tol)[0][0])


def _typed(A: Any) -> Any:
    """A matrix in double precision, or an operator that has a precision as its ``dtype``."""
    if not is_operator(A):
        return A.astype(np.float64, copy=False)
    if isinstance(A, LinearOperator):
        return A
    dtype = getattr(A, "dtype", np.float64)
    return LinearOperator(A.shape, matvec=A.__matmul__, matmat=A.__matmul__, dtype=dtype)


def _matrix(B: np.ndarray | None, ridge: float) -> Any:
    """B as a matrix, sparse where it is given by its diagonal; None for the identity."""
    if B is None or B.ndim == 2:
        return B
    return None if ridge == 0 and (B == 1).all() else sparse.diags_array(B, format="csr")


def _whitening(B: Any, ridge: float, per: int | None, floor: float) -> Any:
    """T with ``Tᵀ (B + rho I) T = I`` on the range of B."""
    if B is None or isinstance(B, np.ndarray):
        T: Any = None if B is None else whitening(B, ridge, floor, per)
        return T.toarray() if sparse.issparse(T) else T
    b = B.diagonal()
    live = b > floor
    rho = ridge * b[live].sum() / (per or max(live.sum(), 1))
    T = sparse.diags_array(1 / np.sqrt(np.where(live, b + rho, 1.0)), format="csr")
    return T if live.all() else T[:, np.flatnonzero(live)]


def _reduced(A: Any, B: Any, T: Any, shift: float) -> Any:
    """``Tᵀ (A - shift B) T``, of the kind that A is, or an array where T is one."""
    if shift:
        A = A - shift * (aslinearoperator(B) if is_operator(A) else B)
    if T is None:
        return A
    if is_operator(A) and sparse.issparse(T):
        T = aslinearoperator(T.astype(precision(A)))
    M = T.T @ (A @ T)
    if is_operator(M):
        return M
    return sparse.csr_array(M) if sparse.issparse(M) else (M + M.T) / 2


def _deflated(B: Any, T: Any, deflate: np.ndarray | None, n: int) -> np.ndarray:
    """An orthonormal basis of the directions that are kept out, in the coordinates of T."""
    if deflate is None:
        return np.empty((n, 0))
    return orth(deflate if B is None else T.T @ (B @ deflate))


def _checked(k: int | None, rank: int) -> int:
    if rank == 0:
        raise RankError(
            "no direction is left: X is constant, penalty= links equal samples only, or all but one sample have no links"
        )
    if k is not None and k > rank:
        raise RankError(
            f"n_components={k} is more than the {rank} directions that the data and the constraint leave (the rank); use "
            f"n_components={rank} or less"
        )
    return rank if k is None else k


def _pencil(A: Any, B: Any, k: int | None, ridge: float, shift: float, diagonal: Any, tol: float) -> Solution:
    """Lanczos on operators, with conjugate gradients for ``(B + ridge I)^-1``. The rank stays unknown."""
    if not diagonal.any():
        _checked(k, 0)
    if k is None or k >= A.shape[0] - 1 or ridge <= 0:
        raise ValueError(
            f"X is too large to be decomposed whole (n_components={k}); give n_components, and either ridge > 0 or a number of "
            "directions as pca="
        )
    M = B + ridge * aslinearoperator(sparse.eye_array(A.shape[0]))
    jacobi = aslinearoperator(sparse.diags_array(1 / (diagonal + ridge)))
    inverse = LinearOperator(A.shape, matvec=lambda b: _conjugate_gradients(M, b, jacobi, tol / 100), dtype=np.float64)
    try:
        values, vectors = seeded_eigsh(A - shift * B, k, M=M, Minv=inverse, which="SA", tol=tol)
    except LanczosError as error:
        raise ValueError(
            f"{error}; use a smaller n_components than {k}, a larger ridge, or a number as pca="
        ) from error
    seen = values < -tol * shift
    if not seen.all():
        raise RankError(
            f"n_components={k} is more than the {seen.sum()} directions that the graph tells from noise; use fewer"
        )
    order = np.argsort(values, kind="stable")
    return Solution(values[order] + shift, vectors[:, order], None, "lanczos", A, B, rho=ridge, shift=shift)


def _conjugate_gradients(M: LinearOperator, b: np.ndarray, preconditioner: LinearOperator, rtol: float) -> np.ndarray:
    x, failed = cg(M, b, rtol=rtol, atol=0.0, maxiter=10_000, M=preconditioner)
    if failed:
        raise ValueError("the constraint is too ill-conditioned to be inverted; use a larger ridge")
    return x


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Rows with their largest entry positive. Of entries that are equal to 1 part in a million, the first counts.

    The rule reads only the components, so that data, solver and number of threads do not matter.
    """
    sizes = np.abs(components)
    first = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=1, keepdims=True), axis=1)
    signs = np.where(components[np.arange(len(components)), first] < 0, -1.0, 1.0)
    return components * signs[:, None]
