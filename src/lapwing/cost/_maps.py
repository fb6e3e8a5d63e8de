"""The parts of a fit, by its map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..blocks._blocks import block_rows
from ..graphs import Sample
from ..methods import GLPCA, LPI, FisherScore, LaplacianScore
from ..operators import BLOCK_BYTES
from ..reducers import FreeReducer, KernelReducer, LinearReducer
from ..solvers import FEW as DENSE_SAMPLES
from ._forms import by_products, eigen, forms, graph_solution, lanczos, leading, matrix_free, regression, solve
from ._linear import COVARIANCE, n_directions, reduced
from ._problem import Fit, Problem, problem_of, with_halves
from ._sizes import Data, Part, add, entry_of, total


def fit_parts(fit: Fit) -> list[Part]:
    if fit.sample.in_blocks:
        return _in_blocks(fit)
    validation = Part("validation", {"elements": fit.data.entries, "calls": 30.0})
    return [validation, *entry_of(MAPS, fit.estimator, "estimator")(fit)]


def _linear(fit: Fit) -> list[Part]:
    fit.estimator._check_parameters()
    problem = problem_of(fit)
    pca = fit.estimator._resolved_pca(fit.sample, problem.by_degrees)
    return [*problem.parts, *with_halves(problem, reduced(fit, pca, problem.every, problem.by_degrees))]


def _kernel(fit: Fit) -> list[Part]:
    estimator = fit.estimator
    estimator._check_parameters()
    if estimator._is_precomputed:
        raise ValueError('kernel="precomputed" has no estimate; give a kernel by name')
    estimator._sample(fit.sample.X, fit.sample.y, fit.k)  # raises where the kernel matrix is too large
    problem = problem_of(fit)
    pca = estimator._resolved_pca(fit.sample, problem.by_degrees)
    solved = (_whole_kernel if estimator.landmarks is None else _landmarks)(fit, pca, problem)
    return [*problem.parts, *with_halves(problem, solved)]


def _whole_kernel(fit: Fit, pca: Any, problem: Problem) -> list[Part]:
    """The kernel matrix and its eigenvectors; X is kept."""
    data, n, p = fit.data, fit.data.n, n_directions(fit, pca)
    matrix = 8.0 * n * n
    work = add(eigen(n), {"products64": 2 * n * n * data.row, "elements": 20.0 * n * n})
    kernel = Part("kernel", work, matrix + 16 * n * p, 4 * matrix + 8 * data.entries)
    return [kernel, forms(problem.every, n, p, held=data.entries * data.itemsize), solve(p, True)]


def _landmarks(fit: Fit, pca: Any, problem: Problem) -> list[Part]:
    """The features of m landmarks, then the linear map of these."""
    data, n, m = fit.data, fit.data.n, int(fit.estimator.landmarks)
    if m > n:
        raise ValueError(f"landmarks={m} is more than the {n} samples; use fewer, or None")
    work = {"products64": 2.0 * n * m * (data.row + m) + 20.0 * m**3, "elements": 20.0 * n * m}
    kernel = Part("kernel", work, 8.0 * n * m, 16.0 * n * m + 8 * data.entries)
    features = Sample(np.broadcast_to(np.float64(0), (n, m)), fit.sample.y, fit.k)
    inner = fit._replace(data=data._replace(d=m, itemsize=8, density=None), sample=features)
    return [kernel, *reduced(inner, pca, problem.every, problem.by_degrees)]


def _documents(fit: Fit) -> list[Part]:
    """LPI: the graph's eigenvectors, and a regression on all of them at once."""
    data, k = fit.data, fit.k
    assert k is not None
    fit.estimator._check_parameters()
    problem = problem_of(fit)
    unit_rows = Part("validation", {"elements": 4 * data.entries}, (data.itemsize + 4) * data.entries)
    if problem.touched:
        few = data._replace(n=problem.touched)
        return [unit_rows, *problem.parts, *with_halves(problem, [matrix_free(few, k)])]
    solved = graph_solution(total(problem.matrices), data, k, crowded=False)
    return [unit_rows, *problem.parts, solved, regression(data, k)]


def _free(fit: Fit) -> list[Part]:
    data, k = fit.data, fit.k
    assert k is not None
    problem = problem_of(fit)
    crowded = fit.estimator._crowded or data.d <= 3
    return [*problem.parts, graph_solution(total(problem.matrices), data, k, crowded=crowded)]


def _glpca(fit: Fit) -> list[Part]:
    """Two largest eigenvalues, then Lanczos on products with X and the graph."""
    estimator, data, k = fit.estimator, fit.data, fit.k
    assert k is not None
    if estimator.alpha is None and estimator.beta == 1:
        return _free(fit)
    problem = problem_of(fit)
    n, d, links = data.n, data.d, total(problem.matrices).entries
    represented = {"products64": 4.0 * n * d * k, "elements": 4.0 * n * d}
    after = Part("solve", represented, 4.0 * n * k, 3 * min(BLOCK_BYTES, 8.0 * n * d))
    return [*problem.parts, _scales(data, links), by_products(data, links, k), after]


def _scales(data: Data, links: float) -> Part:
    """The largest eigenvalues of XᵀX, from a matrix where it is small, and of the graph."""
    size = min(data.n, data.d)
    whole = size <= DENSE_SAMPLES
    of_x = {data.products: 4.0 * data.n * data.d * (size if whole else 60)}
    of_graph, _ = lanczos(1, data.n, {"gathers": links}, 2.0)
    return Part("scales", add(eigen(size if whole else 0.0), of_x, of_graph), 12 * links, 12 * links)


def _laplacian_score(fit: Fit) -> list[Part]:
    """Products with the graph, a few columns at a time."""
    data, problem = fit.data, problem_of(fit)
    matrix = total(problem.matrices)
    links = matrix.entries + 2 * matrix.wide + matrix.thin
    if data.is_sparse:
        work = {"matches": 2 * links * data.row, "elements": 10 * data.entries}
        extra = 16 * data.entries + 4.0 * BLOCK_BYTES
    else:
        work = {"elements": 12 * data.entries, "gathers": links * data.d}
        extra = 4 * min(BLOCK_BYTES, 8 * data.entries)
    return [*problem.parts, Part("forms", work, 0.0, extra)]


def _fisher_score(fit: Fit) -> list[Part]:
    """Two passes over each class."""
    data = fit.data
    size = data.itemsize + (4 if data.is_sparse else 0)
    work = {"elements": 10 * data.entries, "calls": 20.0 * data.n_classes}
    copied = data.entries * size / data.n_classes
    return [Part("forms", work, 24.0 * data.n, copied + 2 * min(BLOCK_BYTES, 8 * data.entries))]


MAPS: dict[type, Callable[[Fit], list[Part]]] = {
    LPI: _documents,
    KernelReducer: _kernel,
    LinearReducer: _linear,
    GLPCA: _glpca,
    FreeReducer: _free,
    LaplacianScore: _laplacian_score,
    FisherScore: _fisher_score,
}


def _in_blocks(fit: Fit) -> list[Part]:
    """Two passes, for moments and for the search; what follows sees the rows with links, and a mean a class."""
    _require_blocks(fit)
    estimator, data, problem = fit.estimator, fit.data, problem_of(fit)
    d, rows = data.d, problem.touched + data.n_classes
    parts = [_moments(data, problem.touched), *problem.parts]
    solved = [forms([COVARIANCE, *problem.every], rows, d)]
    if not isinstance(estimator, LinearReducer):
        return parts + solved
    p = n_directions(fit, estimator._resolved_pca(fit.sample, problem.by_degrees))
    solved += [leading(d, p), solve(p, problem.constraint is not None)]
    return parts + with_halves(problem, solved)


def _require_blocks(fit: Fit) -> None:
    estimator, data = fit.estimator, fit.data
    if not isinstance(estimator, (LinearReducer, LaplacianScore, FisherScore)) or isinstance(estimator, KernelReducer):
        raise ValueError(
            f"blocks=True is for linear methods and scores, and {type(estimator).__name__} is neither; use blocks=False"
        )
    if data.is_sparse:
        raise ValueError(f"density={data.density} and blocks=True together have no estimate; leave one out")
    for graph in fit.graphs:
        graph.require_blocks(data.n)


def _moments(data: Data, touched: int) -> Part:
    """Sums over all rows, and the rows with links, which are kept."""
    n, d, size = data.n, data.d, data.itemsize
    work = {"products64": 1.3 * n * d * d, "elements": 8.0 * n * d, "calls": 100.0}
    held = 3.0 * touched * d * size + 16 * d * d + n
    return Part("moments", work, held, 2.0 * block_rows(d, size) * d * size + 16 * d * d)
