"""Quadratic forms and eigenproblems."""

from __future__ import annotations

from math import ceil

from ..operators import BLOCK_BYTES
from ..solvers import FEW as DENSE_SAMPLES
from ._sizes import Data, Matrix, Part, Work, add, times

# What depends on the data, as it mostly is (benchmarks/cost.py):
RESTARTS = 9.0  # bases that Lanczos goes through on a graph
REGRESSION = 25.0  # steps of conjugate gradients


def forms(matrices: list[Matrix], n: float, p: float, held: float = 0.0) -> Part:
    """Fᵀ M F for F of shape (n, p): :func:`lapwing.operators.quadratics`."""
    wide = [M for M in matrices if M.is_wide]
    far = min(4.0 * BLOCK_BYTES, 8 * n * p) if wide else 0.0
    block = min(float(BLOCK_BYTES), 8 * n * p)
    columns = sum(M.columns for M in matrices)
    work = add({"calls": 10.0}, _diagonals(matrices, n, p), _thin(matrices, n, p), *(_wide(M, n, p) for M in wide))
    return Part("forms", work, held + 8 * p * p * len(matrices), 4 * far + 2 * block + 24 * p * p + 16 * columns * p)


def _diagonals(matrices: list[Matrix], n: float, p: float) -> Work:
    """One pass over F, and a product for each diagonal; equal entries share one of a matrix with itself, which is cheaper."""
    read = 6.0 if any(M.diagonal or M.thin for M in matrices) else 0.0
    constant = 1.3 if any(M.diagonal == "constant" for M in matrices) else 0.0
    uneven = 2.0 * sum(M.diagonal == "uneven" for M in matrices)
    return {"products64": (constant + uneven) * n * p * p, "elements": (read + uneven) * n * p}


def _thin(matrices: list[Matrix], n: float, p: float) -> Work:
    """A row for each column of the factors, to which every block of F adds."""
    columns = sum(M.columns for M in matrices)
    return {
        "gathers": sum(M.thin for M in matrices) * p,
        "products64": 2 * columns * p * p,
        "elements": columns * p * (2 + 2 * ceil(8 * n * p / BLOCK_BYTES)),
    }


def _wide(M: Matrix, n: float, p: float) -> Work:
    """M F, some columns at a time, and its product with F."""
    passes = ceil(p * n / (4 * BLOCK_BYTES / 8))
    return {
        "products64": 2 * n * p * p,
        "elements": n * p * (passes + 4),
        "gathers": (M.entries + 2 * M.wide) * p,
    }


def eigen(p: float) -> Work:
    """All eigenvectors of a p x p matrix: about 9 p^3 flops, and a call for each of its columns, in which p matters little."""
    return {"products64": 9.0 * p**3, "calls": p * p / 1000}


def solve(p: float, constrained: bool) -> Part:
    """One eigenproblem, and another and three products for a constraint."""
    work = add({"calls": 20.0}, eigen(p))
    if constrained:
        work = add(work, eigen(p), {"products64": 6.0 * p**3})
    return Part("solve", work, 0.0, 8 * p * p * (6 if constrained else 4))


def leading(size: float, p: float) -> Part:
    """Eigenvectors of a Gram matrix."""
    return Part("forms", add(eigen(size), {"products64": 4 * size * size * p}), 8 * size * p, 32 * size * size)


def lanczos(k: int, n: float, matvec: Work, bases: float) -> tuple[Work, float]:
    """So many bases of ``max(3 k + 1, 20)`` vectors, each multiplied and made orthogonal to the rest; and the bytes of one."""
    basis = min(n, max(3 * k + 1, 20))
    steps = bases * basis
    return add(times(steps, matvec), {"elements": 2 * steps * n * basis, "calls": steps}), 8 * n * basis * 1.5


def graph_solution(matrix: Matrix, data: Data, k: int, *, crowded: bool) -> Part:
    """Eigenvectors of the sparse matrix of a graph: :func:`lapwing.solvers.solve`."""
    n, entries = data.n, matrix.entries + matrix.wide**2 / data.n + data.n
    if n <= DENSE_SAMPLES or 3 * k > n:
        return Part("solve", add(eigen(n), {"products64": 4.0 * n**3}), 0.0, 56.0 * n * n)
    copies = 12 * entries * 3
    if not crowded:
        work, basis = lanczos(k, n, {"gathers": entries}, RESTARTS)
        return Part("solve", work, 8.0 * n * k, copies + basis)
    # Factors fill up as those of a grid do, by a power of n that grows with its dimensions.
    dimensions = 2 if data.d <= 3 else max(2, k)
    filled = entries * max(2.0, 0.38 * n**0.285 if dimensions == 2 else 0.05 * n**0.65)
    factor = {"links": entries + filled / 3, "products64": 12 * filled**2 / n}
    work, basis = lanczos(k, n, {"gathers": 3.5 * filled}, 2.0)
    return Part("solve", add(factor, work), 8.0 * n * k, copies + basis + 12 * filled)


def matrix_free(data: Data, k: int | None) -> Part:
    """Lanczos with conjugate gradients for the constraint, on sparse X that is too large for a matrix."""
    basis = max(2.0 * (k or 1) + 1, 20.0)
    each = {"gathers": 2 * data.entries, "elements": 10.0 * (data.n + data.d), "calls": 6.0}
    return Part("solve", times(3 * basis * (REGRESSION + 2), each), 0.0, 16 * data.d * basis)


def regression(data: Data, k: int) -> Part:
    """Conjugate gradients for k targets at once, with two products a step."""
    each = {"gathers": 2 * data.entries * k, "elements": 6.0 * (data.n + data.d) * k, "calls": 8.0}
    extra = 8.0 * (min(data.n, data.d) * 5 + data.n + data.d) * k
    return Part("regression", times(REGRESSION, each), 8.0 * data.d * k, extra)


def by_products(data: Data, links: float, k: int) -> Part:
    """Lanczos on X Xᵀ and a graph: by blocks in single precision, which read X half as often."""
    n, blocks = data.n, data.itemsize == 4
    basis = max(5.0 * k, 64.0) if blocks else max(3.0 * k + 1, 20.0)
    vectors = basis * (2.2 if blocks else RESTARTS)
    each = {
        "elements": data.entries / (2 if blocks else 1),
        "gathers": links,
        data.products: 8 * n * basis,
        "calls": 4.0,
    }
    return Part("solve", times(vectors, each), 0.0, data.itemsize * n * basis * 2)
