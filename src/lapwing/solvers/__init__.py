"""The eigenproblem ``A v = lambda B v``, with symmetric A and B, for the smallest lambda.

B is made the identity, and a table says how the rest is solved.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import orth
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg

from .._documented import public
from . import _ways as ways
from ._block import block_largest
from ._certificate import TOLERANCES as TOLERANCES
from ._certificate import Certificate as Certificate
from ._certificate import CertificateWarning as CertificateWarning
from ._certificate import certify as certify
from ._certificate import estimate_norm as estimate_norm
from ._ways import LanczosError as LanczosError
from ._ways import inverse as inverse
from ._ways import seeded_eigsh as seeded_eigsh
from ._ways import single_blas_thread as single_blas_thread

public(__name__.partition(".")[0], ["Certificate", "CertificateWarning"], globals())

NEWTON_STEPS = 100  # of Newton's method, which takes fewer than ten
# Seconds of CPU are those of benchmarks/solvers.py, on one thread.
FEW_ROWS = 400  # here a Laplacian takes 0.05 s both densely and by Lanczos; with 800 rows it takes 0.18 s and 0.07 s
MANY_ROWS = 2000  # here a dense solution takes 2.4 s. Blocks, which follow Lanczos beyond, do not grow as n^3
# The restarts that Lanczos is allowed: few where the next solver takes seconds, many where that may take minutes.
FEW_RESTARTS, MANY_RESTARTS = 100, 1000
DENSE = ("dense", ways.dense)
LANCZOS_100 = ("lanczos", partial(ways.lanczos, restarts=FEW_RESTARTS))
LANCZOS_1000 = ("lanczos", partial(ways.lanczos, restarts=MANY_RESTARTS))
INVERTED = ("shift-invert", partial(ways.shift_invert, restarts=MANY_RESTARTS))
BLOCKS = ("block-lanczos", ways.block_lanczos)
# Arrays are decomposed. Of other matrices, those of up to FEW_ROWS rows, or of which more than a third of all eigenpairs is
# wanted, are solved densely. For others these solvers are tried in order, up to MANY_ROWS rows and beyond. Where one raises
# LanczosError, since eigenvalues crowd or repeat, the next one is tried; the last never raises it.
TABLE: dict[str, tuple[list, list]] = {
    # Sparse and semidefinite, with eigenvalues crowding at 0, as of 5000 points of a surface: Lanczos fails after 0.5 s.
    "crowded": ([INVERTED, DENSE], [INVERTED, BLOCKS]),
    # The same with eigenvalues apart. In many dimensions factors fill up: at 5000 rows 3.5 s, and 0.19 s by Lanczos.
    "apart": ([LANCZOS_100, INVERTED, DENSE], [LANCZOS_100, INVERTED, BLOCKS]),
    # Sparse, but an inverse would find eigenvalues near 0 and not the smallest, or deflated vectors are no eigenvectors.
    # Operators in double precision, too: GLPCA of 10,000 x 256 takes 0.95 s by Lanczos and 1.2 s by blocks.
    "indefinite": ([LANCZOS_100, DENSE], [LANCZOS_1000, BLOCKS]),
    # Operators in single precision: blocks take 0.35 s on the same problem.
    "single": ([BLOCKS], [BLOCKS]),
}


class RankError(ValueError):
    """Raised where more directions are asked for than there are."""


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
        found, name = ways.decomposed(M, k), "dense"
    else:
        none = np.empty((M.shape[0], 0))
        found, name = _by_table(M, none if out is None else out, k, semidefinite, crowded, bound, tol)
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
    M = B + rho * aslinearoperator(sparse.eye_array(A.shape[0]))
    jacobi = aslinearoperator(sparse.diags_array(1 / (diagonal + rho)))

    def inverted(b: np.ndarray) -> np.ndarray:
        x, failed = cg(M, b, rtol=tol / 100, atol=0.0, maxiter=10_000, M=jacobi)
        if failed:
            raise ValueError("the constraint is too ill-conditioned to be inverted; use a larger ridge")
        return x

    inverse = LinearOperator(A.shape, matvec=inverted, dtype=np.float64)
    try:
        values, vectors = seeded_eigsh(A - shift * B, k, M=M, Minv=inverse, which="SA", tol=tol)
    except LanczosError as error:
        raise ValueError(f"{error}; use fewer components than {k}, a larger ridge, or a number as pca=") from error
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


def _by_table(
    M: Any, deflated: np.ndarray, k: int, semidefinite: bool, crowded: bool, bound: float | None, tol: float | None
) -> tuple[ways.Pairs, str]:
    """The solution by the first solver of the table that does not fail, and its name."""
    rank, is_sparse = M.shape[0] - deflated.shape[1], sparse.issparse(M)
    problem = ways.Standard(M, deflated, largest_value(M) if bound is None and not is_sparse else bound, tol)
    kind = "single" if M.dtype == np.float32 and not is_sparse else "indefinite"
    if is_sparse and semidefinite and problem.invariant:
        kind = "crowded" if crowded else "apart"
    solvers = [DENSE] if rank <= FEW_ROWS or 3 * k > rank else TABLE[kind][rank > MANY_ROWS]
    for name, pairs in solvers[:-1]:
        with suppress(LanczosError):
            return pairs(problem, k), name
    name, pairs = solvers[-1]
    return pairs(problem, k), name


def largest_value(A: Any) -> float:
    """The largest eigenvalue of a symmetric matrix or operator: 12 digits, 9 where eigenvalues crowd; of float32, 8 and 4."""
    A = A if isinstance(A, LinearOperator) else A.astype(np.float64, copy=False)
    n, dtype = A.shape[0], A.dtype
    # The error of the value is the square of the residual divided by the gap to the next one, and at most the residual.
    tol, none = 1e-4 if dtype == np.float32 else 1e-9, np.empty((n, 0))
    if n <= FEW_ROWS:
        return float(np.linalg.eigvalsh(ways.whole(A))[-1])
    if dtype != np.float32:
        with suppress(LanczosError):
            start = np.random.RandomState(0).standard_normal(n)
            return float(ways.krylov(A.__matmul__, start, none, 1, FEW_RESTARTS, tol)[0][0])
    return float(block_largest(A.__matmul__, none.astype(dtype), 1, tol)[0][0])


def fix_signs(components: np.ndarray) -> np.ndarray:
    """Rows with their largest entry positive; of entries that are equal to 1 part in a million, the first counts."""
    sizes = np.abs(components)
    first = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=1, keepdims=True), axis=1)
    signs = np.where(components[np.arange(len(components)), first] < 0, -1.0, 1.0)
    return components * signs[:, None]


def numerical_rank(values: np.ndarray, floor: float = 0.0) -> int:
    """How many eigenvalues of a semidefinite matrix, ascending, do not come from rounding; ``floor`` is that of the data."""
    largest = values[-1] if values.size else 0.0
    return int((values > max(10 * values.size * np.finfo(np.float64).eps * largest, floor)).sum()) if largest > 0 else 0


def whitening(B: np.ndarray, ridge: float = 0.0, floor: float = 0.0, per: float | None = None) -> Any:
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
