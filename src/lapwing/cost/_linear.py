"""Linear maps: principal directions, forms in their coordinates, and the solution."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from ..reducers import KernelReducer
from ..reducers._linear import is_large
from ..reducers._principal import is_truncated
from ._forms import eigen, forms, leading, matrix_free, solve
from ._problem import Fit
from ._searches import is_by_gram
from ._sizes import Data, Matrix, Part, Work, add, times

TRUNCATED = 2.0  # bases that Lanczos goes through for principal directions, as data mostly are (benchmarks/cost.py)
COVARIANCE = Matrix(diagonal="constant")


def reduced(fit: Fit, pca: Any, matrices: list[Matrix], by_degrees: bool) -> list[Part]:
    """From the problem on."""
    data, X = fit.data, fit.sample.X
    n, d = data.n, data.d
    constrained = not fit.estimator._orthogonal
    if pca is None and by_degrees and is_large(X):
        return [matrix_free(data, fit.k)]
    p = n_directions(fit, pca)
    if pca is None and by_degrees and d <= n:
        return [forms(matrices, n, d), solve(d, constrained)]
    at_most = int(pca) if isinstance(pca, (int, np.integer)) else None
    if d <= n and not is_truncated(X, at_most) and not any(M.is_wide for M in matrices):
        return [forms([COVARIANCE, *matrices], n, d), leading(d, p), solve(p, constrained)]
    F = n * p * data.itemsize
    return [_principal(fit, p, at_most), forms(matrices, n, p, held=F), solve(p, constrained)]


def n_directions(fit: Fit, pca: Any) -> int:
    """How many principal directions are kept."""
    n, d = fit.data.n, fit.data.d
    by_kernel = isinstance(fit.estimator, KernelReducer) and fit.estimator.landmarks is None
    variances = _variances(n - 1 if by_kernel else min(n - 1, d), fit.data.is_sparse)
    p = int(fit.estimator._keep(pca)(variances, 1.0))
    if fit.k is not None and fit.k > p:
        raise ValueError(
            f"n_components={fit.k} is more than the {p} directions that X of shape ({n}, {d}) has at most; use "
            f"n_components={p} or less"
        )
    return p


def _variances(rank: int, is_sparse: bool) -> np.ndarray:
    """The first p of r directions are assumed to hold a share ``1 - 0.1 ((1 - log p / log r) / s)^2.3`` of the variance, with
    s = 0.3 as in images, and 0.08 as in text for sparse X.
    """
    first = np.arange(1, rank + 1)
    fall = 0.08 if is_sparse else 0.3
    share = 1 - 0.1 * ((1 - np.log(first) / max(log(rank), 1e-9)) / fall) ** 2.3
    return np.diff(np.maximum(share, first / rank), prepend=0.0)


def _principal(fit: Fit, p: int, at_most: int | None) -> Part:
    """Principal directions by the smaller Gram matrix: :func:`lapwing.reducers._principal.principal`."""
    if is_truncated(fit.sample.X, at_most):
        return _truncated(fit.data, p, at_most or 128)
    return _from_rows(fit, p) if fit.data.n < fit.data.d else _from_columns(fit.data, p)


def _truncated(data: Data, p: int, at_most: int) -> Part:
    """Lanczos, by products with X."""
    size = float(min(data.n, data.d))
    basis = min(size, max(2.0 * at_most + 1, 20.0))
    matvec = {"gathers": 2 * data.entries, "elements": 2 * size * basis, "calls": 4.0}
    return Part("forms", times(TRUNCATED * basis, matvec), 8 * size * p, 16 * size * basis)


def _from_rows(fit: Fit, p: int) -> Part:
    """The Gram matrix of the rows, where no search has left it, and the way back to features."""
    data, n, d = fit.data, fit.data.n, fit.data.d
    gram: Work = {"products64": 1.2 * n * n * d, "elements": 1.0 * n * d}
    if data.is_sparse:
        gram = {"matches": n * n * data.shared, "elements": 4.0 * n * n}
    if any(is_by_gram(search, data) for search in fit.estimator._graph(fit.sample).searches()):
        gram = {}
    work = add(eigen(n), gram, {"products64": 2.0 * n * d * (fit.k or p)})
    return Part("forms", work, 8.0 * n * (p + (n if gram else 0)), 32.0 * n * n)


def _from_columns(data: Data, p: int) -> Part:
    n, d = data.n, data.d
    scatter = forms([COVARIANCE], n, d)
    project = {"products64": 2.0 * n * d * p, "elements": 2.0 * n * d}
    if data.is_sparse:
        project = {"gathers": data.entries * p}
    return Part("forms", add(scatter.work, eigen(d), project), 8.0 * d * p, max(scatter.extra, 32.0 * d * d))
