"""Linear and kernel maps: a problem in coordinates, solved there, and a way back."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from numbers import Real
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_choices, check_count
from ..blocks import as_blocks, projected
from ..graphs import Graph
from ..maps import Centre, Coordinates, Map, Preprojection, check_pca, rounding
from ..operators import Array, Structured, canonical
from ..problem import ORTHOGONAL, Problem, Term, laplacian_sum
from ..rows import Rows
from ..solvers import RankError, Solution, solve
from ._base import DTYPES, Graphs, Reducer
from ._graphs import queried
from ._sampling import halved

# On sparse X that is too large to be decomposed whole (measured on 20 Newsgroups, docs/defaults.md):
LARGE_RIDGE = 30.0  # ridge="auto", in units of the constraint's mean eigenvalue
LARGE_DIRECTIONS = 100  # pca="auto" of the methods without a ridge


class Options(NamedTuple):
    """The parameters that decide how a problem is solved; a method that has one of them not takes what stands here."""

    pca: Any = None
    center: Any = "auto"
    scaling: str = "constraint"
    ridge: Any = 0.0
    normalize: str | None = None

    @classmethod
    def of(cls, estimator: Any) -> Options:
        given = estimator.get_params(deep=False)
        return cls(**{name: given[name] for name in cls._fields if name in given})

    def check(self, penalty: Any) -> None:
        check_choices(
            normalize=(self.normalize, (None, "trace")),
            scaling=(self.scaling, ("constraint", "unit")),
            center=(self.center, ("auto", "mean", "degree", False)),
        )
        check_pca(self.pca)
        self._check_ridge(penalty)

    def _check_ridge(self, penalty: Any) -> None:
        ridge = self.ridge
        number = isinstance(ridge, Real) and not isinstance(ridge, bool) and 0 <= float(ridge) < np.inf
        if not number and not (isinstance(ridge, str) and ridge == "auto"):
            raise ValueError(f'ridge={ridge!r} must be "auto" or a finite number, 0 or more')
        if number and ridge > 0 and self.normalize is not None:
            raise ValueError(f'ridge={ridge!r} and normalize="trace" do not go together; leave one out')
        if number and ridge > 0 and penalty is not None:
            raise ValueError(
                f"ridge={ridge!r} regularises the degrees' constraint, which penalty= replaces; leave one out"
            )

    def centre(self, problem: Problem) -> Centre:
        """What is subtracted: the mean weighted by the degrees where the constraint is a diagonal matrix."""
        degrees = problem.degrees
        if self.center == "degree" and degrees is None:
            raise ValueError(
                'center="degree" needs a constraint of degrees; orthogonal directions and penalty= have none: use "mean"'
            )
        weighted = self.center in ("auto", "degree") and degrees is not None and np.ptp(degrees) > 0
        return Centre(degrees if weighted else None, self.center is False, degrees is not None)


class Solved(NamedTuple):
    """A problem in coordinates, its matrices there, its solution, and the pre-projection that it was solved in."""

    coordinates: Coordinates
    pencil: tuple[Any, Any]
    solution: Solution
    preprojection: Preprojection


class ProjectingReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the linear and the kernel map; they say what F is and what is stored, this class solves the problem."""

    _orthogonal: ClassVar[bool] = False
    # What pca="auto" keeps: this share of the variance, and at least this many directions per component. The second share holds
    # where labels alone say what attracts and a class has fewer than ten samples on average. Measured (docs/defaults.md).
    _energies: ClassVar[tuple[float, float]] = (0.9, 1.0)
    _directions: ClassVar[float] = 1.25
    _auto_ridge: ClassVar[float] = 0.0  # ridge="auto" where X can be decomposed whole

    n_components: int | None

    @property
    def is_nested(self) -> bool:
        """Whether a fit with fewer components, and the same ``pca``, has the first of these components."""
        return True

    def _check_parameters(self) -> None:
        Options.of(self).check(getattr(self, "penalty", None))
        if self.n_components is not None:
            check_count("n_components", self.n_components)

    def transform(self, X: Any) -> np.ndarray:
        """The coordinates of samples, one column per component.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or whatever :meth:`fit` takes. With ``kernel="precomputed"``, the kernel between new and fitted samples, of shape
            (n_samples, n_fitted).

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Of a dask array, a dask array that is not computed yet.
        """
        check_is_fitted(self)
        blocks = as_blocks(X, columns=getattr(self, "feature_names_in_", None))
        if blocks is not None:
            return projected(self, blocks, self._projected, self._n_features_out)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)
        return self._projected(canonical(X))

    def _projected(self, X: Array) -> np.ndarray:
        """:meth:`transform` of validated rows in memory."""
        raise NotImplementedError

    def preprojection(self, data: Rows, graph: Graph | None = None) -> Preprojection:
        """``pca=`` as it acts on these rows: how many principal directions are kept.

        Parameters
        ----------
        data : Rows
            Of X and y.
        graph : Graph, default=None
            ``graph=``, resolved, where it is known.
        """
        pca, wanted = getattr(self, "pca", None), self.n_components or 1
        if isinstance(pca, str):
            share = self._automatic(data, graph or self._graphs(data.n).graph)
            return Preprojection(share, wanted, ceil(self._directions * wanted))
        if pca is None and not self._has_ridge and self._is_large(data):
            raise ValueError(
                f"pca=None keeps the whole rank of X, which is too large for that (sparse, {data.X.shape}); give a number of "
                "directions, such as pca=300"
            )
        return Preprojection(pca, wanted)

    def _is_large(self, data: Rows) -> bool:
        """Whether F is too large to be decomposed whole."""
        return data.F.is_large

    @property
    def _has_ridge(self) -> bool:
        """Whether a ridge can do the work of truncation."""
        plain = getattr(self, "normalize", None) is None and getattr(self, "penalty", None) is None
        return hasattr(self, "ridge") and plain

    def _automatic(self, data: Rows, graph: Graph) -> Any:
        """``pca="auto"`` as an energy; on large sparse X as nothing, a ridge doing its work, or a number of directions."""
        if self._is_large(data):
            return None if self._has_ridge else max(LARGE_DIRECTIONS, 2 * (self.n_components or 1))
        usual, few = self._energies if self.n_components is not None else (max(self._energies[0], 0.9), 1.0)
        pulling = [leaf for coefficient, leaf in graph.signed() if coefficient > 0]
        by_labels = bool(pulling) and all(leaf.reads_labels for leaf in pulling)
        return few if by_labels and data.has_classes and data.class_sizes.mean() < 10 else usual

    def _solve(self, F: Any, data: Rows, problem: Problem, graphs: Graphs) -> Solved:
        options, preprojection = Options.of(self), self.preprojection(data, graphs.graph)
        try:
            solved = self._solved(F, data, problem, preprojection, options, self._n_components)
        except RankError:
            if preprojection.share is None or preprojection.least is None or self._is_large(data):
                raise
            # What the constraint sees may lie outside the directions of large variance: a default must not fail for that.
            solved = self._solved(F, data, problem, preprojection.whole(), options, self._n_components)
        solved = solved._replace(solution=self._selected(solved.solution))
        queries = min(filter(None, [graphs.queries, queried(graphs.penalty, data.n_samples)]), default=None)
        self.sampling_ = None if queries is None else self._sampling(F, data, graphs, solved, options, queries)
        return solved

    def _selected(self, solution: Solution) -> Solution:
        return solution

    def _solved(
        self, F: Map, data: Rows, problem: Problem, preprojection: Preprojection, options: Options, k: int | None
    ) -> Solved:
        """The quadratic forms in coordinates, then the eigenproblem."""
        terms, start = problem.minimise, perf_counter()
        constraint = None if problem.subject_to is ORTHOGONAL else problem.subject_to
        parts = [laplacian_sum(terms)] if options.normalize is None else [term.laplacian for term in terms]
        coordinates = F.coordinates(parts, options.centre(problem), preprojection, constraint)
        forms, B = (coordinates.forms, None) if constraint is None else (coordinates.forms[:-1], coordinates.forms[-1])
        A = forms[0] if options.normalize is None else normalized(terms, forms)
        formed = perf_counter()
        solution = self._eigenpairs(A, B, k, F, data, problem, coordinates, options)
        data.times["forms"] = data.times.get("forms", 0.0) + formed - start
        data.times["solve"] = data.times.get("solve", 0.0) + perf_counter() - formed
        return Solved(coordinates, (A, B), solution, preprojection)

    def _eigenpairs(
        self,
        A: Any,
        B: Any,
        k: int | None,
        F: Map,
        data: Rows,
        problem: Problem,
        found: Coordinates,
        options: Options,
    ) -> Solution:
        """The eigenproblem; under a constraint B, with a ridge in units of its mean eigenvalue."""
        constraint, mean, large = problem.subject_to, found.mean, isinstance(B, LinearOperator)
        if not isinstance(constraint, Structured):
            return solve(A, None, k)
        b = constraint.diagonal()
        diagonal = F.form_diagonal(constraint, mean) if large else np.diagonal(B)
        ridge = (LARGE_RIDGE if large else self._auto_ridge) if isinstance(options.ridge, str) else options.ridge
        return solve(
            A,
            B,
            k,
            ridge=float(ridge) * diagonal.sum() / min(data.n_samples, mean.size),
            shift=data.total(np.abs(laplacian_sum(problem.minimise).diagonal())) / data.total(b) if ridge else 0.0,
            floor=rounding(data.X.dtype, diagonal.sum() + data.total(b) * (mean @ mean)),
            diagonal=diagonal,
            tol=1e-8 if data.half is None else 1e-3,
        )

    def _sampling(
        self, F: Any, data: Rows, graphs: Graphs, solved: Solved, options: Options, queries: int
    ) -> dict[str, Any]:
        """How certain the result of a sampled graph is, by its two halves."""
        k = solved.solution.values.size

        def fitted(half: Rows) -> tuple[np.ndarray, tuple[Any, Any]]:
            found = self._solved(F, half, self._problem(half, graphs), solved.preprojection, options, k)
            return found.solution.vectors, found.pencil

        return {"queries": queries, "samples": data.n_samples, **halved(data, fitted)}

    def _store(self, F: Any, data: Rows, problem: Problem, graphs: Graphs, solution: Solved) -> None:
        super()._store(F, data, problem, graphs, solution)
        found, vectors = solution.solution, solution.solution.vectors
        self.n_pca_ = solution.coordinates.n_pca
        self.rank_ = found.rank
        self.solver_ = found.solver
        self.eigenvalues_ = found.values
        unit = getattr(self, "scaling", "constraint") == "unit"
        self._store_map(data, solution.coordinates, vectors / np.linalg.norm(vectors, axis=0) if unit else vectors)
        self._report(data, problem, solution)

    def _store_map(self, data: Rows, coordinates: Coordinates, V: np.ndarray) -> None:
        raise NotImplementedError

    def _report(self, data: Rows, problem: Problem, solved: Solved) -> None:
        """What a method reports beside the projection."""


def normalized(terms: Sequence[Term], forms: list[np.ndarray]) -> np.ndarray:
    """FᵀAF from one form per term, each scaled to trace 1 before its coefficient."""
    return np.sum([term.coefficient / (np.trace(M) or 1.0) * M for term, M in zip(terms, forms, strict=True)], axis=0)
