"""The times behind the choices of ``lapwing.solvers``: every way to solve each kind of matrix, and two ways of SciPy.

    python benchmarks/solvers.py                 all cases but the last, some minutes
    python benchmarks/solvers.py torus glpca     some of them
    python benchmarks/solvers.py p3000 mnist     by name only; the last is GLPCA of MNIST, read from the folder LAPWING_DATA

``g400`` to ``g5000`` are Laplacians of neighbours in many dimensions, and ``roll`` is that of a surface. ``p200``, ``p1000``
and ``p3000`` are dense pencils of LPP, whitened, and ``o1000`` is one of OLPP. ``ring``, ``torus`` and ``clusters`` are
graphs whose eigenvalues repeat and are known. ``glpca64``, ``glpca`` and ``mnist`` are the matrices of GLPCA, as products in
double and in single precision. All look for the k smallest eigenvalues, and the constant is deflated in all but the pencils.
``lobpcg`` multiplies blocks in the same precision, a quarter wider than k. It stops at the same residuals or after 500 steps,
and its preconditioner is the diagonal. The script prints seconds of CPU on one thread, the number of vectors multiplied, the
largest residual, and the largest error of an eigenvalue. The last two are shares of the bound of the spectrum. Errors are
taken from the eigenvalues that are known, or from the smallest that were found.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg
from sklearn.datasets import make_swiss_roll
from threadpoolctl import threadpool_limits

from lapwing.data import as_data
from lapwing.graphs import KNN
from lapwing.solvers import RESIDUALS, LanczosError, dense, lanczos, shift_invert, whitening

Pairs = tuple[np.ndarray, np.ndarray]


class Case(NamedTuple):
    """A symmetric matrix or operator, an upper bound of its eigenvalues, its diagonal, and its eigenvalues where known."""

    A: Any
    k: int
    bound: float
    diagonal: np.ndarray
    known: np.ndarray | None = None


class Problem(NamedTuple):
    """The eigenproblem of M, orthogonal to the columns of D."""

    M: Any
    D: Any
    bound: float
    tol: float


def neighbours(X: np.ndarray, k: int, n_neighbors: int = 10) -> Case:
    return laplacian(KNN(n_neighbors).adjacency(as_data(X)), k)


def laplacian(W: sparse.csr_array, k: int, known: np.ndarray | None = None) -> Case:
    degrees = np.asarray(W.sum(axis=1)).ravel()
    return Case(sparse.csr_array(sparse.diags_array(degrees) - W), k, 2 * degrees.max(), degrees, known)


def gaussian(n: int) -> Case:
    return neighbours(np.random.RandomState(0).standard_normal((n, 20)), 10)


def cycle(n: int) -> tuple[sparse.csr_array, np.ndarray]:
    """A ring, and the eigenvalues of its Laplacian."""
    rows = np.arange(n)
    W = sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n))
    return W + W.T, 2 - 2 * np.cos(2 * np.pi * rows / n)


def ring(n: int = 1000) -> Case:
    W, known = cycle(n)
    return laplacian(W, 10, known)


def torus(side: int = 70) -> Case:
    (W, values), eye = cycle(side), sparse.eye_array(side)
    return laplacian(sparse.csr_array(sparse.kron(W, eye) + sparse.kron(eye, W)), 20, np.add.outer(values, values))


def clusters(size: int = 100, many: int = 30) -> Case:
    W = sparse.csr_array(sparse.kron(sparse.eye_array(many), np.ones((size, size)) - np.eye(size)))
    return laplacian(W, 40, np.r_[np.zeros(many), np.full(many * (size - 1), float(size))])


def mid(dtype: type) -> np.ndarray:
    from speed import data

    return data("mid")[0].astype(dtype)


def glpca(X: np.ndarray, k: int, beta: float = 0.5) -> Case:
    """The matrix G of GLPCA, whose eigenvalues are 1 at the most."""
    W, X = KNN(5).adjacency(as_data(X)), X - X.mean(axis=0)
    degrees, dtype = np.asarray(W.sum(axis=1)).ravel(), X.dtype
    lam, xi = np.linalg.eigvalsh(X.T.astype(np.float64) @ X)[-1], 2 * degrees.max()
    root, rest = np.sqrt((1 - beta) / lam).astype(dtype), dtype.type(1 - beta)
    L = sparse.csr_array(beta / xi * (sparse.diags_array(degrees) - W)).astype(dtype)

    def apply(V: np.ndarray) -> np.ndarray:
        return rest * V - X @ (X.T @ V * root) * root + L @ V

    diagonal = rest - root**2 * np.einsum("ij,ij->i", X, X) + L.diagonal()
    return Case(operator(apply, len(X), dtype), k, 1.0, diagonal)


def mnist() -> Case:
    return glpca(np.load(f"{os.environ['LAPWING_DATA']}/MNIST.npz")["X"].astype(np.float32), 50)


def pencil(p: int, *, constrained: bool = True) -> Case:
    """LPP of 2 p samples of p features, B made the identity (which is timed); or OLPP, which has none."""
    F = np.random.RandomState(0).standard_normal((2 * p, p)) * np.geomspace(1, 0.03, p)
    W = KNN(10, weights="binary").adjacency(as_data(F[:, :50]))
    degrees = np.asarray(W.sum(axis=1)).ravel()[:, None]
    A, B = F.T @ (degrees * F - W @ F), F.T @ (degrees * F)
    start = time.process_time()
    with threadpool_limits(1):
        T = whitening(B) if constrained else np.eye(p)
        A = T.T @ A @ T
    if constrained:
        print(f"p{p:<9}{'whitening':18}{time.process_time() - start:9.3f}")
    return Case((A + A.T) / 2, 10, float(np.abs(A).sum(axis=0).max()), np.diagonal(A))


def operator(apply: Callable, n: int, dtype: Any) -> LinearOperator:
    return LinearOperator((n, n), matvec=apply, matmat=apply, dtype=dtype)


CASES: dict[str, Callable[[], Case]] = {
    "g400": partial(gaussian, 400),
    "g800": partial(gaussian, 800),
    "g2000": partial(gaussian, 2000),
    "g5000": partial(gaussian, 5000),
    "roll": lambda: neighbours(make_swiss_roll(5000, random_state=0)[0], 2),
    "p200": partial(pencil, 200),
    "p1000": partial(pencil, 1000),
    "o1000": partial(pencil, 1000, constrained=False),
    "ring": ring,
    "torus": torus,
    "clusters": clusters,
    "glpca64": lambda: glpca(mid(np.float64), 20),
    "glpca": lambda: glpca(mid(np.float32), 20),
    "p3000": partial(pencil, 3000),
    "mnist": mnist,
}
BY_NAME = ("p3000", "mnist")


def by_lobpcg(problem: Problem, k: int, inverse: np.ndarray | None = None) -> Pairs:
    A, D, bound, tol = problem
    n, dtype = len(D), D.dtype
    start = np.random.RandomState(0).standard_normal((n, k + k // 4)).astype(dtype)
    scale = None if inverse is None else operator(lambda V: inverse.astype(dtype)[:, None] * V.reshape(n, -1), n, dtype)
    values, V = lobpcg(A, start, M=scale, Y=D, tol=tol * bound, maxiter=500, largest=False)
    return values[:k], V[:, :k]


def by_eigsh(problem: Problem, k: int) -> Pairs:
    """As ``lanczos``, but without looking for eigenvalues that repeat."""
    M, D, bound, tol = problem

    def project(v: np.ndarray) -> np.ndarray:
        return v - D @ (D.T @ v)

    n, dtype = len(D), D.dtype
    start = project(np.random.RandomState(0).standard_normal(n).astype(dtype))
    A = operator(lambda v: project(bound * v.ravel() - M @ v.ravel()), n, dtype)
    values, V = eigsh(A, k=k, which="LA", v0=start, tol=tol, ncv=max(3 * k + 1, 20), rng=0)
    return bound - values[::-1], V[:, ::-1]


def ways(case: Case) -> dict[str, Callable[[Problem, int], Any]]:
    """Those that the kind and the size of a matrix allow."""
    found: dict[str, Callable] = {}
    if case.A.shape[0] <= 3000:
        found["dense"] = lambda problem, k: dense(problem.M, problem.D, k)
    found["lanczos"] = lambda problem, k: lanczos(problem.M, problem.D, k, problem.bound, problem.tol, 100)
    if isinstance(case.A, np.ndarray):
        return found
    if sparse.issparse(case.A):
        found["shift-invert"] = lambda problem, k: shift_invert(problem.M, problem.D, k, problem.tol)
    return found | {
        "lobpcg": by_lobpcg,
        "lobpcg, diagonal": partial(by_lobpcg, inverse=1 / case.diagonal),
        "eigsh": by_eigsh,
    }


def measured(case: Case, way: Callable) -> tuple[np.ndarray, str]:
    n, multiplied = case.A.shape[0], 0

    def counted(V: np.ndarray) -> np.ndarray:
        nonlocal multiplied
        multiplied += V.size // n
        return case.A @ V

    direct = not isinstance(case.A, LinearOperator)  # products of a matrix are not counted: solvers use more than them
    constant = np.full((n, 0 if isinstance(case.A, np.ndarray) else 1), n**-0.5, dtype=case.A.dtype)
    M = case.A if direct else operator(counted, n, case.A.dtype)
    problem = Problem(M, constant, case.bound, RESIDUALS[constant.dtype.name])
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            values, V, *_ = way(problem, case.k)
        except LanczosError:
            return np.full(case.k, np.inf), f"{time.process_time() - start:9.2f}  failed"
    seconds, vectors = time.process_time() - start, "" if direct else multiplied
    order = np.argsort(values)
    values, V = values[order], V[:, order]
    residual = np.linalg.norm(case.A @ V - V * values, axis=0).max() / case.bound
    return values, f"{seconds:9.2f}{vectors:>9}{residual:11.1e}"


def main() -> None:
    print(f"{'case':10}{'':18}{'seconds':>9}{'vectors':>9}{'residual':>11}{'error':>11}")
    for name in sys.argv[1:] or [name for name in CASES if name not in BY_NAME]:
        case = CASES[name]()
        with threadpool_limits(1):
            found = {way: measured(case, function) for way, function in ways(case).items()}
        if case.known is None:
            best = np.min([values for values, _ in found.values()], axis=0)
        else:
            best = np.sort(case.known, axis=None)[1 : case.k + 1]
        for way, (values, line) in found.items():
            error = "" if np.isinf(values).any() else f"{np.abs(values - best).max() / case.bound:11.1e}"
            print(f"{name:10}{way:18}{line}{error}", flush=True)


if __name__ == "__main__":
    main()
