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
    lanczos,
    shift_invert,
    whole,
)


class Solver(NamedTuple):
    name: str
    pairs: Callable[[Standard, int], Pairs]


# Seconds of CPU are those of benchmarks/solvers.py, on one thread.
FEW_ROWS = (
    400  # rows: with 400, a Laplacian takes 0.05 s both densely and by Lanczos; with 800 it takes 0.18 s and 0.07 s
)
# Rows: a dense solution takes 2.4 s with 2000 and 5.9 s with 3000. Beyond, blocks follow where Lanczos fails: they may take
# longer than this, but do not grow as n^3.
MANY_ROWS = 2000
# The restarts that Lanczos is allowed: few where the next solver takes seconds, many where that may take minutes.
FEW_RESTARTS, MANY_RESTARTS = 100, 1000
DENSE = Solver("dense", dense)
LANCZOS_100 = Solver("lanczos", partial(lanczos, restarts=FEW_RESTARTS))
LANCZOS_1000 = Solver("lanczos", partial(lanczos, restarts=MANY_RESTARTS))
INVERTED = Solver("shift-invert", partial(shift_invert, restarts=MANY_RESTARTS))
BLOCKS = Solver("block-lanczos", block_lanczos)

# The solvers that are tried, in this order. Where one raises LanczosError, since eigenvalues crowd or repeat, the next one is
# tried; the last never raises it. The first column is for up to FEW_ROWS rows, or more than a third of all eigenpairs, the second
# for up to MANY_ROWS rows, and the third for more. Where B is an operator too, there is only Lanczos with conjugate gradients
# (solve_operators).
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
    "apart":      ([DENSE], [LANCZOS_100, INVERTED, DENSE], [LANCZOS_100, INVERTED, BLOCKS]),
    # Sparse, but factors cannot be used. Either A is not semidefinite, so that an inverse would find eigenvalues near 0 and
    # not the smallest. Or the deflated vectors are not eigenvectors, so that the inverse on the remaining space is not that
    # of A.
    "indefinite": ([DENSE], [LANCZOS_100, DENSE],           [LANCZOS_1000, BLOCKS]),
    # Products in double precision: GLPCA of 10,000 x 256 takes 0.95 s by Lanczos and 1.2 s by blocks.
    "operator":   ([DENSE], [LANCZOS_100, DENSE],           [LANCZOS_1000, BLOCKS]),
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
        The norm of an operator A, or of the terms that add up to it and may cancel one another; 0 where it is not known.
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
    """The k smallest eigenpairs of ``A v = lambda B v`` on the range of B, with ``Vᵀ (B + rho I) V = I``.

    More pairs than there are raise a :class:`RankError`: fewer are never returned silently.

    Parameters
    ----------
    A : ndarray, sparse array or operator of shape (n, n)
        A symmetric matrix. An operator is a LinearOperator; where its ``dtype`` is float32, its products are in single
        precision.
    B : None, or ndarray of shape (n, n) or (n,)
        None is the identity. An array of shape (n,) is a diagonal, and rows where it is 0 stay at 0.
    k : int or None
        How many eigenpairs to find; None finds all.
    ridge, shift : float, default=0
        With a ridge, ``(A - shift B) v = (lambda - shift) (B + rho I) v``: what B does not see goes to lambda = shift, not to
        0. rho is ``ridge`` times the trace of B over ``per``.
    per : float, default=None
        None is the rank of B, so that the unit of the ridge is the mean eigenvalue of B.
    floor : float, default=0
        Eigenvalues of B up to here count as 0.
    deflate : ndarray of shape (n, m), default=None
        Vectors d to keep out, ``dᵀ B v = 0``.
    semidefinite : bool, default=False
        A promise that a sparse A has no negative eigenvalue, so that it may be factorised.
    crowded : bool, default=False
        Whether the smallest eigenvalues of a sparse A crowd at 0, as those of a surface do, which takes Lanczos long.
    bound : float, default=None
        No lambda of an operator A is larger: the smallest are found as the largest of ``bound B - A``. None finds it first.
    tol : float, default=None
        The residuals that an iteration leaves, as a share of the largest eigenvalue. None is 1e-12, and 1e-5 where products
        are in single precision.
    """
    shift = shift if ridge and B is not None else 0.0
    B = None if B is None or (B.ndim == 1 and not ridge and (B == 1).all()) else B
    T: Any = None if B is None else whitening(B, ridge, floor, per)
    B = sparse.diags_array(B, format="csr") if B is not None and B.ndim == 1 else B
    rho = float(ridge * B.diagonal().sum() / (per or T.shape[1])) if ridge and B is not None else 0.0
    out = None
    if isinstance(A, np.ndarray) and deflate is None:
        M = A.astype(np.float64, copy=False) if T is None else T.T @ ((A - shift * B if shift else A) @ T)
        rank, name = len(M), "dense"
        if rank == 0 or (k or 0) > rank:
            raise RankError(too_few(k, rank))
        k = rank if k is None else k
        found = decomposed((M + M.T) / 2, k)
    else:
        A = A if isinstance(A, LinearOperator) else A.astype(np.float64, copy=False)
        if T is None or (sparse.issparse(A) and sparse.issparse(T) and not shift):
            M = A if T is None else sparse.csr_array(T.T @ (A @ T))
        else:
            M = _reduced(A, B, T, shift)
        none = np.empty((M.shape[0], 0))
        deflated = none if deflate is None else orth(deflate if B is None else T.T @ (B @ deflate))
        rank, out = M.shape[0] - deflated.shape[1], deflated if deflated.shape[1] else None
        if rank == 0 or (k or 0) > rank:
            raise RankError(too_few(k, rank))
        k = rank if k is None else k
        if bound is None and not sparse.issparse(M):
            bound = 0.0 if isinstance(M, np.ndarray) else largest_value(M)
        found, name = _by_table(Standard(M, deflated, bound, tol), rank, k, semidefinite, crowded)
    following = inf if k == rank else None if found.following is None else found.following + shift
    vectors = found.vectors if T is None else T @ found.vectors
    return Solution(found.values + shift, vectors, rank, name, A, B, T, out, rho, shift, following)


def solve_operators(
    A: Any, B: Any, k: int | None, rho: float, shift: float, diagonal: np.ndarray, tol: float = 1e-8
) -> Solution:
    """The same where A and B are LinearOperators: Lanczos, with conjugate gradients for ``(B + rho I)^-1``.

    ``diagonal`` is that of B. How many eigenpairs there are stays unknown.
    """
    if not diagonal.any():
        raise RankError(too_few(k, 0))
    if k is None or k >= A.shape[0] - 1 or rho <= 0:
        raise ValueError(
            f"X is too large to be decomposed whole (n_components={k}); give n_components, and either ridge > 0 or a number of "
            "directions as pca="
        )
    M = B + rho * aslinearoperator(sparse.eye_array(A.shape[0]))
    jacobi = aslinearoperator(sparse.diags_array(1 / (diagonal + rho)))
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
    return Solution(values[order] + shift, vectors[:, order], None, "lanczos", A, B, rho=rho, shift=shift)


def too_few(k: int | None, rank: int) -> str:
    """What to say where k eigenpairs are asked for, and there are fewer."""
    if rank == 0:
        return "no direction is left: X is constant, penalty= links equal samples only, or all but one sample have no links"
    return (
        f"n_components={k} is more than the {rank} directions that the data and the constraint leave (the rank); use "
        f"n_components={rank} or less"
    )


def _by_table(problem: Standard, rank: int, k: int, semidefinite: bool, crowded: bool) -> tuple[Pairs, str]:
    """The solution by the first solver of the table that does not fail, and its name. The last one never fails."""
    M = problem.M
    if isinstance(M, np.ndarray):
        kind = "array"
    elif not sparse.issparse(M):
        kind = "single" if M.dtype == np.float32 else "operator"
    elif semidefinite and problem.invariant:
        kind = "crowded" if crowded else "apart"
    else:
        kind = "indefinite"
    *solvers, last = TABLE[kind][0 if rank <= FEW_ROWS or 3 * k > rank else 1 if rank <= MANY_ROWS else 2]
    for solver in solvers:
        with suppress(LanczosError):
            return solver.pairs(problem, k), solver.name
    return last.pairs(problem, k), last.name


def largest_value(A: Any) -> float:
    """The largest eigenvalue of a symmetric matrix or operator.

    Where products are in single precision, it is right to 8 digits, and to 4 where eigenvalues crowd; otherwise to 12 and to 9.
    """
    A = A if isinstance(A, LinearOperator) else A.astype(np.float64, copy=False)
    n, dtype = A.shape[0], A.dtype
    # The error of the value is the square of the residual divided by the gap to the next one, and at most the residual.
    tol, none = 1e-4 if dtype == np.float32 else 1e-9, np.empty((n, 0))
    if n <= FEW_ROWS:
        return float(np.linalg.eigvalsh(whole(A))[-1])
    if dtype != np.float32:
        with suppress(LanczosError):
            return float(
                krylov(A.__matmul__, np.random.RandomState(0).standard_normal(n), none, 1, FEW_RESTARTS, tol)[0][0]
            )
    return float(block_largest(A.__matmul__, none.astype(dtype), 1, tol)[0][0])


def _reduced(A: Any, B: Any, T: Any, shift: float) -> Any:
    """``Tᵀ (A - shift B) T``, of the kind that A is, or an array where T is one."""
    operator = isinstance(A, LinearOperator)
    if shift:
        A = A - shift * (aslinearoperator(B) if operator else B)
    if operator and sparse.issparse(T):
        T = aslinearoperator(T.astype(A.dtype))
    M = T.T @ (T.T @ A).T if isinstance(A, np.ndarray) and sparse.issparse(T) else T.T @ (A @ T)
    if isinstance(M, LinearOperator):
        return M
    return sparse.csr_array(M) if sparse.issparse(M) else (M + M.T) / 2


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
