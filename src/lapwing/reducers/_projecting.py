"""What the linear and the kernel map share: the problem is put into coordinates, solved there, and brought back."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..blocks import as_blocks, projected
from ..devices import is_tensor
from ..maps import Coordinates, Map, Preprojection, rounding
from ..operators import Array, Structured, canonical
from ..problem import ORTHOGONAL, Problem, Term, laplacian_sum
from ..rows import Rows, Units
from ..solvers import RankError, Solution, solve, trace_ratio
from ._base import DTYPES, Graphs, Reducer
from ._graphs import outside
from ._places import checked, inside, shared_place
from ._rules import Decided, Options, Rules, spread

# With scaling="objective", an objective of 0 counts as this; classes that become points have such an objective.
LEAST_OBJECTIVE = 1e-6


class Solved(NamedTuple):
    """A problem in coordinates, its matrices there, its solution, and what was decided about it."""

    coordinates: Coordinates
    pencil: tuple[Any, Any]
    solution: Solution
    decided: Decided
    proven: Solution | None = None  # the solution of the eigenproblem, where directions are made from it in another way


class ProjectingReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the linear and the kernel map. These say what F is and what is stored, and this class solves the problem."""

    _orthogonal: ClassVar[bool] = False
    _rules: ClassVar[Rules] = Rules()  # what "auto" stands for

    n_components: Any

    @property
    def is_nested(self) -> bool:
        """Whether a fit with fewer components, and the same ``pca``, finds the first components of this one.

        :func:`~lapwing.comparison.compare` then fits a method once for several numbers of dimensions.
        """
        return True

    def _check_parameters(self) -> None:
        Options.of(self).check()

    def _units(self, graphs: Graphs) -> Units | None:
        return self._rules.units(Options.of(self), graphs)

    def transform(self, X: Any) -> np.ndarray:
        """The coordinates of samples, one column per component.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, or whatever else :meth:`fit` takes. With ``kernel="precomputed"``, the kernel between new and fitted
            samples, of shape (n_samples, n_fitted).

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            The coordinates. For a dask array they are a dask array, which is not computed yet.
        """
        check_is_fitted(self)
        place, X = shared_place(self, X)
        if place is not None:
            model, X = inside(self, place), place.enter(X)
            return place.leave(self._projected_there(model, X) if is_tensor(X) else model.transform(X))
        blocks = as_blocks(X, columns=getattr(self, "feature_names_in_", None))
        if blocks is not None:
            return projected(self, blocks, self._projected, self._n_features_out)
        X = validate_data(self, X, accept_sparse="csr", dtype=DTYPES, reset=False)
        return self._projected(canonical(X))

    def _projected_there(self, model: Any, X: Any) -> Any:
        """:meth:`transform` of a tensor, by the model in the form that is computed with."""
        return model._projected(checked(self, X, fitting=False))

    def _projected(self, X: Array) -> np.ndarray:
        """:meth:`transform` of validated rows in memory."""
        raise NotImplementedError

    def preprojection(self, data: Rows) -> Preprojection:
        """What ``pca=`` comes to on these rows: how many principal directions are kept, or which share of the variance.

        Parameters
        ----------
        data : Rows
            The rows of X and y, as :meth:`rows` gives them.
        """
        return self._rules.decided(Options.of(self), self._graphs(data.n), data).preprojection

    def _solve(self, F: Any, data: Rows, problem: Problem, graphs: Graphs) -> Solved:
        decided = self._rules.decided(Options.of(self), graphs, data)
        try:
            solved = self._solved(F, data, problem, decided)
        except RankError:
            kept, by_classes = decided.preprojection, decided.given.counts_classes
            if not by_classes and (kept.is_whole or not kept.is_automatic or F.is_large):
                raise
            # The constraint may see directions outside those of large variance, and samples of many classes may lie in fewer
            # dimensions than there are classes. A default must not fail for that, so all directions are used.
            whole = decided._replace(preprojection=kept.whole(), k=None if by_classes else decided.k)
            solved = self._solved(F, data, problem, whole)
        if decided.given.share is not None:
            solved = solved._replace(solution=holding(decided.given.share, solved.solution, problem))
        if graphs.of_classes:
            self._warn_of_ties(data, problem, graphs, decided.k)
        return solved

    def _warn_of_ties(self, data: Rows, problem: Problem, graphs: Graphs, k: int | None) -> None:
        """Warn where more components are asked for than a graph of classes determines.

        With its own degrees as the constraint, a graph of c classes has c - 1 eigenvalues that tell classes apart. The others
        are all equal.
        """
        most = data.class_sizes.size - 1
        tied = problem.degrees is not None and not problem.ratio
        if tied and graphs.only_attracts and k is not None and k > most:
            warnings.warn(
                f"n_components={k} is more than the {most} directions that tell {most + 1} classes apart; the others have equal "
                f'eigenvalues, and which they are is arbitrary: use n_components={most} or "auto", or add a graph of neighbours',
                UserWarning,
                stacklevel=outside(),
            )

    def _solved(self, F: Map, data: Rows, problem: Problem, decided: Decided) -> Solved:
        """Form the matrices in coordinates, and solve the eigenproblem."""
        terms = problem.minimise
        constraint = None if problem.subject_to is ORTHOGONAL else problem.subject_to
        by_trace, centre = decided.given.normalize == "trace", decided.given.centre(problem)
        parts = [term.laplacian for term in terms] if by_trace else [laplacian_sum(terms)]
        matrices = parts if constraint is None else [*parts, constraint]
        coordinates = F.coordinates(matrices, centre, decided.preprojection)
        forms, B = coordinates.forms[: len(parts)], None if constraint is None else coordinates.forms[-1]
        A = forms[0]
        if by_trace:
            A, terms = of_equal_trace(terms, forms, partial(F.spread, coordinates.mean))
        if constraint is None:
            solution = solve(A, None, decided.k)
        elif problem.ratio:
            assert B is not None
            floor = cancelled(constraint, partial(F.spread, coordinates.mean))
            solution = trace_ratio(A, B, decided.k, floor)[1]
        else:
            solution = self._eigenpairs(A, B, F, data, Problem(terms, constraint), coordinates.mean, decided)
        return Solved(coordinates, (A, B), solution, decided)

    def _eigenpairs(
        self, A: Any, B: Any, F: Map, data: Rows, problem: Problem, mean: np.ndarray, decided: Decided
    ) -> Solution:
        """Solve the eigenproblem under a constraint B. The ridge is in units of the mean eigenvalue of B."""
        constraint, large = problem.subject_to, isinstance(B, LinearOperator)
        assert isinstance(constraint, Structured)
        ridge = spread(B) if decided.ridge is None else decided.ridge
        total = F.total(constraint.diagonal())
        diagonal = F.form_diagonal(constraint, mean) if large else np.diagonal(B)
        per = data.n_samples if self._rules.of_kernel else None
        floor = rounding(data.F.dtype, diagonal.sum() + total * (mean @ mean))
        if problem.degrees is None:
            floor = max(floor, cancelled(constraint, partial(F.spread, mean)))
        return solve(
            A,
            B,
            decided.k,
            ridge=ridge,
            per=min(data.n_samples, mean.size) if large else per,
            shift=F.total(np.abs(laplacian_sum(problem.minimise).diagonal())) / total if ridge else 0.0,
            floor=floor,
            diagonal=diagonal,
            tol=1e-8,
        )

    def _solved_problems(self, solution: Solved) -> Solution:
        return solution.proven or solution.solution

    def _store(self, F: Any, data: Rows, problem: Problem, graphs: Graphs, solution: Solved) -> None:
        super()._store(F, data, problem, graphs, solution)
        found, vectors = solution.solution, solution.solution.vectors
        self.scale_ = data.scale
        self.n_pca_ = solution.coordinates.n_pca
        self.rank_ = found.rank
        self.solver_ = found.solver
        self.eigenvalues_ = found.values
        if problem.ratio:
            attracted, kept_apart = (float(np.vdot(vectors, M @ vectors)) for M in solution.pencil)
            self.trace_ratio_ = attracted / kept_apart
        self._store_map(data, solution.coordinates, vectors / self._lengths(solution, graphs))
        self._report(data, problem, solution)

    def _lengths(self, solved: Solved, graphs: Graphs) -> Any:
        """What directions of unit constraint are divided by, as ``scaling=`` asks for."""
        scaling, V = getattr(self, "scaling", "constraint"), solved.solution.vectors
        if solved.decided.given.constraint != "matrix":
            return 1.0  # the directions are orthonormal
        if scaling == "auto":
            scaling = self._rules.scaling(graphs, solved.coordinates.spectrum, solved.pencil[1])
        if scaling == "constraint":
            return 1.0
        if scaling == "unit":
            return np.linalg.norm(V, axis=0)
        if graphs.repels:
            raise ValueError(
                f'scaling="objective" takes the length of a direction from what attracts, and graph={graphs.graph!r} repels as '
                'well; use scaling="unit" or "constraint"'
            )
        # Vᵀ(B + ridge)V = I, so that 1 - VᵀBV is the part of the ridge.
        A, B = (np.sum(V * (M @ V), axis=0) for M in solved.pencil)
        return np.sqrt(np.maximum(A + 1 - B, LEAST_OBJECTIVE))

    def _store_map(self, data: Rows, coordinates: Coordinates, V: np.ndarray) -> None:
        raise NotImplementedError

    def _report(self, data: Rows, problem: Problem, solved: Solved) -> None:
        """Store what a method reports beside the projection."""


def holding(share: float, solution: Solution, problem: Problem) -> Solution:
    """The first directions, as many as hold this share of the objective.

    The gain of a direction is the negative of its eigenvalue. Under a diagonal constraint D of A = D - W it is what the
    direction keeps of W, which is 1 minus its eigenvalue. With a ridge, directions that the data do not have get the mean
    eigenvalue of the graph, which then takes the place of 1. The sum of all gains above 0 is the best objective of any number
    of directions.
    """
    orthogonal = problem.subject_to is ORTHOGONAL
    if not orthogonal and (problem.degrees is None or problem.ratio):
        raise ValueError(
            f"n_components={share} is a share of the objective, and a ratio of two graphs, as with penalty=, has no total to "
            "take it of; give a number of components"
        )
    ridged = solution.shift if solution.rho else 0.0
    gains = -solution.values if orthogonal else (ridged or 1) - solution.values
    gains[np.abs(gains) <= 1e-10 * np.abs(gains).max()] = 0.0
    total = gains[gains > 0].sum()
    if total <= 1e-10 * np.abs(gains).sum():
        raise ValueError(
            f"n_components={share} is a share of the objective, and here each direction adds to a cost, with no gain to share; "
            "give a number of components, or a graph that repels, such as -Complete()"
        )
    k = 1 + int(np.searchsorted(np.cumsum(gains[gains > 0]), share * total * (1 - 1e-12)))
    return solution._replace(values=solution.values[:k], vectors=solution.vectors[:, :k])


def cancelled(M: Structured, spread: Callable[[np.ndarray], Any]) -> float:
    """What rounding leaves of a form of M that should be 0, as the form of a graph that links only equal samples.

    ``spread`` gives the sums of squares of the samples under weights. Under the diagonal of M as weights, they are the form
    before anything cancels.
    """
    return float(10 * np.sqrt(M.n) * np.finfo(np.float64).eps * np.sum(spread(np.abs(M.diagonal()))))


def is_zero(form: np.ndarray, M: Structured, spread: Callable[[np.ndarray], Any]) -> bool:
    """Whether a form is nothing but rounding. A form far above rounding is recognised without reading X again."""
    trace, even = abs(np.trace(form)), Structured(M.n, diag=np.full(M.n, np.abs(M.diagonal()).max()))
    return bool(trace <= cancelled(even, spread) and trace <= cancelled(M, spread))


def of_equal_trace(
    terms: Sequence[Term], forms: Sequence[np.ndarray], spread: Callable[[np.ndarray], Any]
) -> tuple[np.ndarray, list[Term]]:
    """The sum of the forms of terms, each scaled to trace 1 before its coefficient, and the terms with these scales."""
    pairs = [(term, 0 * M if is_zero(M, term.laplacian, spread) else M) for term, M in zip(terms, forms, strict=True)]
    scaled = [(term.scaled(1 / (np.trace(M) or 1.0)), M) for term, M in pairs]
    return np.sum([term.coefficient * M for term, M in scaled], axis=0), [term for term, _ in scaled]
