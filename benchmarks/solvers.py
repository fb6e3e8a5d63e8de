"""Block Lanczos (``lapwing.solvers``) beside SciPy's ``lobpcg`` and ``eigsh`` on the same products, of the same precision.

    python benchmarks/solvers.py             the small cases, about two minutes
    python benchmarks/solvers.py mnist       by name: GLPCA of MNIST, 70,000 x 784, read from the folder LAPWING_DATA

The cases are the matrices of GLPCA in single precision (``mid``: 10,000 x 256, 20 components; ``mnist``: 50), and in double
precision Laplacians whose eigenvalues repeat: a ring and a torus (each eigenvalue twice, four or eight times), and 30 complete
graphs (0 as often as there are graphs). All look for the largest eigenvalues of ``bound I - A``, the constant deflated;
``lobpcg`` also with a diagonal preconditioner, for the smallest of A. Printed are seconds of CPU on one thread, the vectors multiplied,
the largest residual as a share of the bound, and the largest error of an eigenvalue as a share of the bound: beside the known
spectrum where there is one, else beside the best that was found.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg
from threadpoolctl import threadpool_limits

from lapwing.graphs import KNN, Sample
from lapwing.solvers._block import block_largest

MOST = 500  # iterations of lobpcg


class Case(NamedTuple):
    """Products with a matrix, an upper bound of its eigenvalues, its diagonal, and its smallest eigenvalues where known."""

    apply: Callable[[np.ndarray], np.ndarray]
    n: int
    k: int
    bound: float
    diagonal: np.ndarray
    dtype: Any
    known: np.ndarray | None = None


def glpca(X: np.ndarray, k: int, beta: float = 0.5) -> Case:
    """The matrix G of GLPCA, whose eigenvalues are 1 at the most."""
    W = KNN(5).adjacency(Sample(X))
    degrees = np.asarray(W.sum(axis=1)).ravel()
    X = X - X.mean(axis=0)
    lam, xi = np.linalg.eigvalsh(X.T.astype(np.float64) @ X)[-1], 2 * degrees.max()
    root = np.sqrt((1 - beta) / lam).astype(X.dtype)
    L = (beta / xi * (sparse.diags_array(degrees) - W)).tocsr().astype(X.dtype)
    rest = X.dtype.type(1 - beta)
    diagonal = rest - root**2 * np.einsum("ij,ij->i", X, X) + L.diagonal()
    return Case(lambda V: rest * V - X @ (X.T @ V * root) * root + L @ V, len(X), k, 1.0, diagonal, X.dtype)


def laplacian(W: sparse.csr_array, k: int, known: np.ndarray) -> Case:
    degrees = np.asarray(W.sum(axis=1)).ravel()
    L = (sparse.diags_array(degrees) - W).tocsr()
    return Case(L.__matmul__, len(degrees), k, 2 * degrees.max(), degrees, np.float64, np.sort(known)[1 : k + 1])


def cycle(n: int) -> tuple[sparse.csr_array, np.ndarray]:
    """A ring, and the eigenvalues of its Laplacian."""
    rows = np.arange(n)
    W = sparse.csr_array((np.ones(n), (rows, (rows + 1) % n)), shape=(n, n))
    return W + W.T, 2 - 2 * np.cos(2 * np.pi * rows / n)


def ring() -> Case:
    return laplacian(*(cycle(1000)[0], 10, cycle(1000)[1]))


def torus(side: int = 70) -> Case:
    W, values = cycle(side)
    eye = sparse.eye_array(side)
    return laplacian(
        sparse.csr_array(sparse.kron(W, eye) + sparse.kron(eye, W)), 20, np.add.outer(values, values).ravel()
    )


def clusters(size: int = 100, many: int = 30) -> Case:
    W = sparse.csr_array(sparse.kron(sparse.eye_array(many), np.ones((size, size)) - np.eye(size)))
    return laplacian(W, 40, np.r_[np.zeros(many), np.full(many * (size - 1), float(size))])


def mid() -> Case:
    from speed import data

    return glpca(data("mid")[0], 20)


def mnist() -> Case:
    return glpca(np.load(f"{os.environ['LAPWING_DATA']}/MNIST.npz")["X"].astype(np.float32), 50)


CASES: dict[str, Callable[[], Case]] = {"ring": ring, "torus": torus, "clusters": clusters, "mid": mid, "mnist": mnist}


def by_blocks(case: Case, flipped: Callable, constant: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    values, V = block_largest(flipped, constant, case.k, tol)
    return case.bound - values, V


def by_lobpcg(case: Case, flipped: Callable, constant: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    start = np.random.RandomState(0).standard_normal((case.n, case.k)).astype(case.dtype)
    values, V = lobpcg(_operator(case, flipped), start, Y=constant, tol=tol * case.bound, maxiter=MOST)
    return case.bound - values, V


def by_lobpcg_and_diagonal(
    case: Case, flipped: Callable, constant: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    start = np.random.RandomState(0).standard_normal((case.n, case.k)).astype(case.dtype)
    inverse = (1 / case.diagonal).astype(case.dtype)[:, None]
    jacobi = _operator(case, lambda V: inverse * V.reshape(case.n, -1))

    def apply(V: np.ndarray) -> np.ndarray:
        return case.dtype(case.bound) * V - flipped(V) if False else case.bound * V - flipped(V)

    return lobpcg(
        _operator(case, apply), start, M=jacobi, Y=constant, tol=tol * case.bound, maxiter=MOST, largest=False
    )


def by_vectors(case: Case, flipped: Callable, constant: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    def project(v: np.ndarray) -> np.ndarray:
        return v - constant[:, 0] * (constant[:, 0] @ v)

    start = project(np.random.RandomState(0).standard_normal(case.n).astype(case.dtype))
    A = _operator(case, lambda v: project(flipped(v.ravel())))
    values, V = eigsh(A, k=case.k, which="LA", v0=start, tol=tol, ncv=max(3 * case.k + 1, 20))
    return case.bound - values[::-1], V[:, ::-1]


def _operator(case: Case, apply: Callable) -> LinearOperator:
    return LinearOperator((case.n, case.n), matvec=apply, matmat=apply, dtype=case.dtype)


WAYS = {
    "block Lanczos": by_blocks,
    "lobpcg": by_lobpcg,
    "lobpcg, diagonal": by_lobpcg_and_diagonal,
    "eigsh": by_vectors,
}


def measured(case: Case, way: Callable) -> tuple[np.ndarray, str]:
    multiplied = 0

    def flipped(V: np.ndarray) -> np.ndarray:
        nonlocal multiplied
        multiplied += V.size // case.n
        return case.bound * V - case.apply(V)

    constant = np.full((case.n, 1), case.n**-0.5, dtype=case.dtype)
    tol = 1e-12 if case.dtype == np.float64 else 1e-5
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, V = way(case, flipped, constant, tol)
    seconds, products = time.process_time() - start, multiplied
    order = np.argsort(values)
    values, V = values[order], V[:, order]
    left = case.apply(V).astype(np.float64) - V.astype(np.float64) * values
    residual = np.linalg.norm(left, axis=0).max() / case.bound
    return values, f"{seconds:9.2f}{products:9d}{residual:11.1e}"


def main() -> None:
    print(f"{'case':10}{'':18}{'seconds':>9}{'vectors':>9}{'residual':>11}{'error':>11}")
    for name in sys.argv[1:] or [name for name in CASES if name != "mnist"]:
        case = CASES[name]()
        with threadpool_limits(1):
            found = {}
            for way, function in WAYS.items():
                try:
                    found[way] = measured(case, function)
                except Exception as error:  # what the others do is still of interest
                    print(f"{name:10}{way:18}  failed: {str(error).splitlines()[0]}")
        best = case.known if case.known is not None else np.min([values for values, _ in found.values()], axis=0)
        for way, (values, line) in found.items():
            print(f"{name:10}{way:18}{line}{np.abs(values - best).max() / case.bound:11.1e}", flush=True)


if __name__ == "__main__":
    main()
