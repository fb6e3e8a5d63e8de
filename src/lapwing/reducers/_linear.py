"""The linear map: F = X, so a fitted model is a mean and a matrix."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_choice, check_count
from ..blocks import as_blocks, projected
from ..graphs import Graph, Sample
from ..operators import OUT_OF_RANGE, Array, Structured, Summary, identity, quadratics, row_blocks, weighted_mean
from ..problem import ORTHOGONAL, Problem, laplacian_sum
from ..solvers import RankError, Solution, fix_signs, solve
from ._base import Reducer, announce, combined, connected_components
from ._principal import DENSE_LIMIT, Keep, is_truncated, leading, principal, rounding
from ._sampling import halved

# On sparse X that is too large to be decomposed whole (measured on 20 Newsgroups, docs/defaults.md):
LARGE_RIDGE = 30.0  # ridge="auto", in units of the constraint's mean eigenvalue
LARGE_DIRECTIONS = 100  # pca="auto" of the methods without a ridge


class Reduced(NamedTuple):
    """The problem in coordinates: the forms FᵀMF, what was subtracted, and the way back to features."""

    forms: list[Any]
    mean: np.ndarray
    back: Callable[[np.ndarray], np.ndarray]  # (p, k) -> (k, n_features)
    n_pca: int | None
    kernel_means: np.ndarray | None = None
    pca: Any = None  # what was asked for


class LinearReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the linear methods; they say what the problem is, this class solves it.

    Subclasses write ``_problem(sample)`` and, where they have one, ``_default_graph(n_neighbors)``.
    """

    _orthogonal: ClassVar[bool] = False
    # What pca="auto" keeps: this share of the energy, and at least this many directions a component. The second share holds
    # where labels alone say what attracts and a class has fewer than ten samples on average. Measured (docs/defaults.md).
    _energies: ClassVar[tuple[float, float]] = (0.9, 1.0)
    _directions: ClassVar[float] = 1.25
    # Parameters that not every method has.
    normalize: str | None = None
    scaling: str = "constraint"
    ridge: Any = None

    def __init__(
        self,
        n_components: int | None = 2,
        *,
        graph: Any = None,
        pca: Any = "auto",
        center: Any = "auto",
        normalize: str | None = None,
        solver: str = "auto",
    ):
        self.n_components = n_components
        self.graph = graph
        self.pca = pca
        self.center = center
        self.normalize = normalize
        self.solver = solver

    def fit(self, X: Any, y: Any = None) -> LinearReducer:
        """Learn the projection.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or rows on disk or on a cluster: a numpy.memmap larger than scikit-learn's ``working_memory``, a Parquet data set of
            pyarrow, a Zarr array, a dask array (docs/scaling.md).
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown. They act only through graphs that read them. Of a Parquet data set, also the name of
            their column.

        Returns
        -------
        self
        """
        self._forget()
        blocks = self._as_blocks(X, y)
        if blocks is not None:
            announce(self, blocks)
            return self._fit_sample(self._block_sample(blocks, y, self._check_parameters()))
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2)
        k = self._check_parameters()
        return self._fit_sample(self._sample(X, y, k))

    def _fit_sample(self, sample: Sample) -> LinearReducer:
        """Learn from validated rows. Methods with the same ``_sample`` can share one, and then search it once."""
        k = sample.n_components
        graph = self._graph(sample)
        try:
            with np.errstate(over="raise"):
                problem = self._problem(sample)
                reduced, solution = self._truncated(sample, problem, k)
                solution = self._selected(solution)
                self.sampling_ = self._sampling(sample, graph, reduced.pca, solution.values.size)
        except FloatingPointError as error:
            raise ValueError(OUT_OF_RANGE) from error
        V = solution.vectors / (np.linalg.norm(solution.vectors, axis=0) if self.scaling == "unit" else 1.0)
        self._store(sample, problem, reduced, solution)
        self.graph_ = self._own(graph)
        self.n_connected_components_ = connected_components(graph, problem.minimise, sample)
        self.n_pca_ = reduced.n_pca
        self.rank_ = solution.rank
        self.solver_ = solution.solver
        self.eigenvalues_ = solution.values
        self._store_map(sample, reduced, V)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """``(X - mean_) @ components_.T``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or whatever :meth:`fit` takes.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Of a dask array, a dask array that is not computed yet.
        """
        check_is_fitted(self)
        blocks = as_blocks(X, columns=getattr(self, "feature_names_in_", None))
        if blocks is not None:
            return projected(self, blocks, self._projected, self._n_features_out)
        return self._projected(validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False))

    def _projected(self, X: Array) -> np.ndarray:
        """:meth:`transform` of rows in memory."""
        V = self.components_.T.astype(X.dtype, copy=False)
        if sparse.issparse(X):
            return X @ V - (self.mean_ @ self.components_.T).astype(X.dtype)
        projected, mean = np.empty((X.shape[0], V.shape[1]), X.dtype), self.mean_.astype(X.dtype, copy=False)
        for rows in row_blocks(*X.shape):
            projected[rows] = (X[rows] - mean) @ V
        return projected

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Points of the original space with the given coordinates: exact for orthogonal directions, else the nearest to
        ``mean_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=[np.float64, np.float32])
        if X.shape[1] != len(self.components_):
            raise ValueError(f"X has {X.shape[1]} columns, but the projection has {len(self.components_)} components")
        back = self.components_ if self._orthogonal else np.linalg.pinv(self.components_.T)
        return X @ back + self.mean_

    def _is_large(self, sample: Sample) -> bool:
        """Too large to be decomposed whole."""
        return sparse.issparse(sample.X) and min(sample.n_samples, sample.X.shape[1]) > DENSE_LIMIT

    def _store_map(self, sample: Sample, reduced: Reduced, V: np.ndarray) -> None:
        self.mean_ = reduced.mean.astype(sample.X.dtype)
        self.components_ = fix_signs(reduced.back(V)).astype(sample.X.dtype)

    def _check_parameters(self) -> int | None:
        check_choice("solver", self.solver, ("auto", "dense", "lanczos"))
        check_choice("normalize", self.normalize, (None, "trace"))
        check_choice("scaling", self.scaling, ("constraint", "unit"))
        check_choice("center", self.center, ("auto", "mean", "degree", False))
        self._check_ridge()
        pca = self.pca
        whole = isinstance(pca, Integral) and not isinstance(pca, bool) and int(pca) >= 1
        share = isinstance(pca, Real) and not isinstance(pca, Integral) and 0 < float(pca) <= 1
        if not (pca is None or whole or share or (isinstance(pca, str) and pca == "auto")):
            raise ValueError(
                f'pca={pca!r} must be "auto", None (the whole rank), a number of directions, or an energy in (0, 1]'
            )
        return None if self.n_components is None else check_count("n_components", self.n_components)

    def _check_ridge(self) -> None:
        ridge = self.ridge
        if ridge is None and "ridge" not in self.get_params(deep=False):
            return
        number = isinstance(ridge, Real) and not isinstance(ridge, bool) and 0 <= float(ridge) < np.inf
        if not number and not (isinstance(ridge, str) and ridge == "auto"):
            raise ValueError(f'ridge={ridge!r} must be "auto" or a finite number, 0 or more')
        if number and ridge > 0 and self.normalize is not None:
            raise ValueError(f'ridge={ridge!r} and normalize="trace" do not go together; leave one out')
        if number and ridge > 0 and self.penalty is not None:
            raise ValueError(
                f"ridge={ridge!r} regularises the degrees' constraint, which penalty= replaces; leave one out"
            )

    def _sampling(self, sample: Sample, graph: Graph, pca: Any, k: int) -> dict[str, Any] | None:
        """How certain the result of a sampled graph is, by its two halves; None where all rows were searched for."""
        n, graphs = sample.n_samples, [graph, *filter(None, [self._penalty_of(sample.in_blocks)])]
        queries = [search.queries or n for one in graphs for search in one.searches() if search.is_sampled(n)]
        return {"queries": min(queries), "samples": n, **halved(self, sample, pca, k)} if queries else None

    def _pencil(self, problem: Problem, reduced: Reduced) -> tuple[Any, Any]:
        """The matrices of the eigenproblem in the coordinates of ``reduced``."""
        if problem.subject_to is ORTHOGONAL:
            return combined(problem.minimise, reduced.forms, self.normalize), None
        return combined(problem.minimise, reduced.forms[:-1], self.normalize), reduced.forms[-1]

    def _truncated(self, sample: Sample, problem: Problem, k: int | None) -> tuple[Reduced, Solution]:
        pca = self._resolved_pca(sample, problem.degrees is not None)
        try:
            reduced, solution = self._solved(sample, problem, pca, k)
        except RankError:
            if pca is None or not isinstance(self.pca, str) or self._is_large(sample):
                raise
            # What the constraint sees may lie outside the directions of large variance: a default must not fail for that.
            return self._solved(sample, problem, None, k)
        return reduced._replace(pca=pca), solution

    def _solved(self, sample: Sample, problem: Problem, pca: Any, k: int | None) -> tuple[Reduced, Solution]:
        """The quadratic forms in coordinates, then the eigenproblem."""
        terms, constraint = problem.minimise, problem.subject_to
        parts = [laplacian_sum(terms)] if self.normalize is None else [term.laplacian for term in terms]
        if constraint is ORTHOGONAL:
            reduced = self._reduced(sample, problem, pca, parts)
            A, B = self._pencil(problem, reduced)
            return reduced, solve(A, None, k)
        reduced = self._reduced(sample, problem, pca, [*parts, constraint])
        A, B = self._pencil(problem, reduced)
        large = isinstance(B, LinearOperator)
        diagonal = constraint.quadratic_diagonal(sample.X, reduced.mean) if large else np.diagonal(B)
        ridge = self._auto_ridge(large) if isinstance(self.ridge, str) else float(self.ridge or 0.0)
        b, mean = constraint.diagonal(), reduced.mean
        return reduced, solve(
            A,
            B,
            k,
            ridge=ridge * diagonal.sum() / min(sample.n_samples, mean.size),
            shift=sample.total(np.abs(laplacian_sum(terms).diagonal())) / sample.total(b) if ridge else 0.0,
            floor=rounding(sample.X.dtype, diagonal.sum() + sample.total(b) * (mean @ mean)),
            diagonal=diagonal,
            tol=1e-3 if sample.is_half else 1e-8,
        )

    def _reduced(self, sample: Sample, problem: Problem, pca: Any, matrices: list[Structured]) -> Reduced:
        """FᵀMF of the matrices: F is X, centred, and projected on principal directions where asked or where the constraint
        does not reveal the rank of X.
        """
        X = sample.X
        n, d = X.shape
        weights = self._center_weights(problem)
        plain = sample.mean
        mean = np.zeros(d) if self.center is False else plain if weights is None else weighted_mean(X, weights)
        if isinstance(X, Summary):
            return self._of_summary(sample, problem, pca, matrices, mean)
        if pca is None and problem.degrees is not None and (d <= n or self._is_large(sample)):
            if self._is_large(sample):
                return Reduced([M.quadratic_operator(X, mean) for M in matrices], mean, np.transpose, None)
            return Reduced(quadratics(matrices, X, mean), mean, np.transpose, None)
        if self.center is False and pca is None and problem.degrees is not None:
            plain = mean  # the constraint sees where the origin is, and so must what reveals the rank
        at_most = int(pca) if isinstance(pca, Integral) else None
        about_mean = self.center is not False or problem.degrees is None
        if about_mean and d <= n and not is_truncated(X, at_most) and all(M.wide.is_diagonal for M in matrices):
            C, *forms = quadratics([identity(n), *matrices], X, plain)  # one pass over X in all
            _, N = leading(C, self._keep(pca), rounding(X.dtype, np.trace(C) + n * (plain @ plain)))
            forms = [N.T @ M @ N for M in forms]
            if weights is not None:  # the constraint, last, is about another mean; what attracts does not see the mean
                offset = N.T @ (mean - plain)
                forms[-1] -= weights.sum() * np.outer(offset, offset)
            return Reduced(forms, mean, lambda V: (N @ V).T, N.shape[1])
        gram = sample.row_gram if n < d and plain is sample.mean and not is_truncated(X, at_most) else None
        F, back, along = principal(X, plain, self._keep(pca), at_most, gram)
        if weights is not None:
            shift = weighted_mean(F, weights)
        else:
            shift = np.zeros(F.shape[1]) if mean is plain or problem.degrees is None else along(mean - plain)
        return Reduced(quadratics(matrices, F, shift), mean, back, F.shape[1])

    def _of_summary(
        self, sample: Sample, problem: Problem, pca: Any, matrices: list[Structured], mean: np.ndarray
    ) -> Reduced:
        """The same from a summary of the rows, whose forms are small beside what it took to make it."""
        X, plain = sample.X, sample.mean
        whole = pca is None and problem.degrees is not None
        about = mean if self.center is False and whole else plain
        (C,) = quadratics([identity(sample.n)], X, about)
        _, N = leading(C, self._keep(pca), rounding(X.dtype, np.trace(C) + sample.n_samples * (plain @ plain)))
        forms = [N.T @ M @ N for M in quadratics(matrices, X, mean)]
        return Reduced(forms, mean, lambda V: (N @ V).T, None if whole else N.shape[1])

    def _auto_ridge(self, large: bool) -> float:
        """What ``ridge="auto"`` is."""
        return LARGE_RIDGE if large else 0.0

    def _auto_energy(self, sample: Sample) -> float:
        """The share of the energy that ``pca="auto"`` keeps."""
        usual, few = self._energies if self.n_components is not None else (max(self._energies[0], 0.9), 1.0)
        pulling = [graph for coefficient, graph in self._graph(sample).signed() if coefficient > 0]
        if not pulling or not all(graph.reads_labels for graph in pulling):
            return usual
        return few if sample.class_sizes.mean() < 10 else usual

    def _settled_pca(self, sample: Sample, spectrum: tuple[np.ndarray, float] | None) -> int | None:
        """What ``pca="auto"`` comes to, as a number of directions (None: the whole rank), before the problem is built.

        ``spectrum`` is the variances of X along its principal directions and their total; None where X is too large for it.
        """
        pca = self._resolved_pca(sample, not self._orthogonal and self.penalty is None)
        return pca if spectrum is None else self._keep(pca)(*spectrum)

    def _resolved_pca(self, sample: Sample, has_degrees: bool) -> Any:
        """``pca="auto"`` as an energy; on large sparse X as nothing, a ridge doing its work, or a number of directions."""
        large = self._is_large(sample)
        ridge = self.ridge is not None and has_degrees and self.normalize is None
        if not isinstance(self.pca, str):
            if large and self.pca is None and not ridge:
                raise ValueError(
                    f"pca=None keeps the whole rank of X, which is too large for that (sparse, {sample.X.shape}); give a number "
                    "of directions, such as pca=300"
                )
            return self.pca
        if large:
            return None if ridge else max(LARGE_DIRECTIONS, 2 * (self.n_components or 1))
        return self._auto_energy(sample)

    def _center_weights(self, problem: Problem) -> np.ndarray | None:
        """The weights of the mean: degrees where the constraint is a diagonal matrix; None for the plain mean."""
        degrees = problem.degrees
        if self.center == "degree" and degrees is None:
            raise ValueError(
                'center="degree" needs a constraint of degrees; orthogonal directions and penalty= have none: use "mean"'
            )
        if self.center not in ("auto", "degree") or degrees is None or np.ptp(degrees) == 0:
            return None
        return degrees

    def _keep(self, pca: Any) -> Keep:
        """How many principal directions to keep."""
        wanted = self.n_components or 1
        automatic = isinstance(self.pca, str)

        def keep(values: np.ndarray, total: float) -> int:
            rank = values.size
            if rank == 0:
                raise ValueError(
                    "X is constant: all samples are equal, or so nearly that rounding hides it, so there is no direction to find"
                )
            if pca is None:
                return rank
            if isinstance(pca, Integral):
                kept = int(pca)
                if kept > rank and not automatic:
                    raise ValueError(
                        f"pca={pca} is more than the rank of the centred data, {rank}; use pca={rank} or less"
                    )
            else:
                kept = _count(pca, values, total)
            if automatic:
                kept = max(kept, ceil(self._directions * wanted))
            elif kept < min(wanted, rank):
                raise ValueError(
                    f"pca={pca} keeps {kept} directions, fewer than n_components={wanted}; raise pca, lower n_components, "
                    'or use pca="auto"'
                )
            return min(kept, rank)

        return keep

    def _selected(self, solution: Solution) -> Solution:
        return solution

    def _store(self, sample: Sample, problem: Problem, reduced: Reduced, solution: Solution) -> None:
        """What a method reports beside the projection."""

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def is_large(X: Array) -> bool:
    """Whether X is too large to be decomposed whole."""
    return sparse.issparse(X) and min(X.shape) > DENSE_LIMIT


def _count(energy: float, values: np.ndarray, total: float) -> int:
    """How many of the descending eigenvalues hold this share of their total."""
    return 1 + int(np.searchsorted(np.cumsum(values), energy * total * (1 - 1e-12)))
