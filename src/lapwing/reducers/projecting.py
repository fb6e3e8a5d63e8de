"""What the linear and the kernel map share: the problem is put into coordinates, solved there, and brought back."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from .. import auto
from .._validation import caller_stacklevel
from ..data import Data
from ..maps import ROUNDING, Coordinates
from ..operators import Structured, diagonal
from ..problem import ORTHOGONAL, Problem, Term, laplacian_sum
from ..solvers import RankError, Solution, certify, solve, solve_operators, trace_ratio
from .base import Reducer


class Found(NamedTuple):
    """The coordinates that a problem was solved in, its matrices there, its solution, and the settings that were used."""

    F: Coordinates
    forms: tuple[Any, Any]
    solution: Solution
    chosen: auto.Settings


class ProjectingReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the linear and the kernel map. These say what F is and what is stored, and this class solves the problem."""

    n_components: Any
    center: Any = "auto"
    __metadata_request__fit: ClassVar[dict] = {"sample_weight": None}  # ``fit`` takes it where graphs are of classes

    def _solve(
        self, F: Coordinates, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings
    ) -> Found:
        """Form the matrices in coordinates, and solve the eigenproblem."""
        terms, B, k = problem.minimise, problem.subject_to, chosen.n_components
        if getattr(self, "normalize", None) == "trace":
            terms = of_equal_trace(terms, F)
        L = laplacian_sum(terms)
        forms: tuple[Any, Any] = F.form(L), None if B is ORTHOGONAL else F.form(B)
        used = chosen if chosen.ridge is not None else chosen._replace(ridge=auto.spread(forms[1]))
        try:
            solution = self._eigenpairs(forms, F, data, Problem(terms, B, ratio=problem.ratio), L, used)
        except RankError:
            keep, by_classes = chosen.keep, isinstance(self.n_components, str)
            if not by_classes and (keep.share is None or keep.least is None or data.is_large):
                raise
            # The constraint may see directions outside those of large variance, and samples of many classes may lie in fewer
            # dimensions than there are classes. A default must not fail for that, so all directions are used.
            chosen = chosen._replace(keep=keep._replace(share=None), n_components=None if by_classes else k)
            return self._solve(self._map(data, problem, graphs, chosen), data, problem, graphs, chosen)
        if isinstance(self.n_components, Real) and not isinstance(self.n_components, Integral):
            solution = truncate_to_share(float(self.n_components), solution, problem)
        # With its own degrees as the constraint, a graph of c classes has c - 1 eigenvalues that tell classes apart.
        tied = graphs.of_classes and graphs.only_attracts and problem.degrees is not None and not problem.ratio
        if tied and k is not None and k > data.class_sizes.size - 1:
            most = data.class_sizes.size - 1
            warnings.warn(
                f"n_components={k} is more than the {most} directions that tell {most + 1} classes apart; the others have equal "
                f'eigenvalues, and which they are is arbitrary: use n_components={most} or "auto", or add a graph of neighbours',
                UserWarning,
                stacklevel=caller_stacklevel(),
            )
        return Found(F, forms, solution, used)

    def _eigenpairs(
        self,
        forms: tuple[Any, Any],
        F: Coordinates,
        data: Data,
        problem: Problem,
        L: Structured,
        chosen: auto.Settings,
    ) -> Solution:
        """Solve the eigenproblem. The ridge is in units of the mean eigenvalue of the constraint."""
        (lhs, rhs), B, k = forms, problem.subject_to, chosen.n_components
        if B is ORTHOGONAL:
            return solve(lhs, None, k)
        if problem.ratio:
            return trace_ratio(lhs, rhs, k, rounding_of_form(B, F))[1]
        ridge = chosen.ridge or 0.0
        w = np.ones(data.n) if data.weights is None else data.weights
        degrees = problem.degrees
        total = float(w @ (B.diagonal() if degrees is None else degrees))
        shift = float(w @ np.abs(L.diagonal())) / total if ridge else 0.0
        if isinstance(rhs, LinearOperator):
            diagonal = F.data.form_diagonal(B, F.mean)
            rho = ridge * diagonal.sum() / min(data.size, data.d)
            return solve_operators(lhs, rhs, k, rho, shift, diagonal)
        floor = ROUNDING[data.dtype.name] * (np.trace(rhs) + total * (F.mean @ F.mean))
        if degrees is None:
            floor = max(floor, rounding_of_form(B, F))
        per = data.size if self._rules.of_kernel else None
        return solve(lhs, rhs, k, ridge=ridge, per=per, shift=shift, floor=floor)

    def _store(self, data: Data, F: Coordinates, problem: Problem, graphs: auto.GraphFacts, found: Found) -> None:
        solution, V, chosen = found.solution, found.solution.vectors, found.chosen
        self.n_pca_, self.rank_, self.solver_ = found.F.n_pca, solution.rank, solution.solver
        self.eigenvalues_, self.certificate_ = solution.values, certify(solution, data.dtype)
        if problem.ratio:
            attracted, kept_apart = (float(np.vdot(V, M @ V)) for M in found.forms)
            self.trace_ratio_ = attracted / kept_apart
        scaling, lengths = auto.lengths(self, graphs, solution, found.forms, found.F.spectrum)
        degree = self.center == "degree" or (self.center == "auto" and problem.degrees is not None)
        self.settings_ |= {
            "n_components": V.shape[1],
            "pca": None if chosen.keep.share is None else found.F.n_pca,
            "center": "degree" if degree else "mean" if self.center == "auto" else self.center,
            "scaling": scaling,
            "ridge": chosen.ridge,
        }
        self._store_map(data, found.F, V / lengths)

    def _store_map(self, data: Data, F: Coordinates, V: np.ndarray) -> None:
        raise NotImplementedError


def truncate_to_share(share: float, solution: Solution, problem: Problem) -> Solution:
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
    following = solution.values[k] if k < solution.values.size else np.inf
    return solution._replace(values=solution.values[:k], vectors=solution.vectors[:, :k], following=following)


def rounding_of_form(M: Structured, F: Any) -> float:
    """What rounding leaves of a form of M that should be 0, as the form of a graph that links only equal samples.

    Under the diagonal of M as weights, the sums of squares of the samples are the form before anything cancels. The diagonal
    of its factors is left out where M has another: sums over classes of different sizes do not know it.
    """
    weights = diagonal(np.abs(M.diagonal() if M.diag is None else M.diag))
    return float(10 * np.sqrt(M.n) * np.finfo(np.float64).eps * np.sum(F.form_diagonal(weights)))


def of_equal_trace(terms: Any, F: Any) -> list[Term]:
    """The terms, each scaled so that its form has trace 1 before its coefficient. A form that is rounding counts as 0."""
    scaled = []
    for term in terms:
        trace = float(np.trace(F.form(term.laplacian)))
        if abs(trace) <= rounding_of_form(term.laplacian, F):
            scaled.append(term._replace(laplacian=Structured(term.laplacian.n)))
        else:
            scaled.append(term.scaled(1 / trace))
    return scaled
