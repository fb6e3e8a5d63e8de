"""What the linear and the kernel map share: the problem is put into coordinates, solved there, and brought back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from .. import auto
from .._extras import verbosity
from ..data import EPS, Data, validated
from ..graphs import Graph
from ..maps import CONSTANT, ROUNDING, Coordinates, tell_hidden
from ..operators import Structured, diagonal
from ..problem import ORTHOGONAL, Problem, Term, laplacian_sum
from ..solvers import RankError, Solution, certify, solve, solve_operators, trace_ratio
from .base import Reducer


class Found(NamedTuple):
    """The coordinates that a problem was solved in, its matrices there, its solution, and the settings."""

    F: Coordinates
    forms: tuple[Any, Any]
    solution: Solution
    chosen: auto.Settings


class ProjectingReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the linear and the kernel map. These say what F is and what is stored, and this class solves the problem."""

    n_components: int | str | None = 2
    graph: Graph | int | str | ArrayLike | None = None
    pca: float | str | None = "auto"
    center: str | bool = "auto"
    normalize: str | None = "auto"
    standardize: str | bool = "auto"
    preset: str = "measured"
    verbose: bool | None = None

    _coordinates: ClassVar[Any]  # of rows under the fitted map
    _store_map: ClassVar[Any]
    __metadata_request__fit: ClassVar[dict] = {"sample_weight": None}  # ``fit`` takes it where graphs are of classes

    def transform(self, X: Any) -> Any:
        """The coordinates of samples, one column per component.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, as :meth:`fit` takes them. With ``kernel="precomputed"``, the kernel between these and the fitted
            samples, of shape (n_samples, n_fitted).

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            For a dask array, a dask array that is not computed yet.
        """
        check_is_fitted(self)
        with verbosity(self.verbose):
            return self._coordinates(validated(self, X, fitting=False, in_blocks=True))

    def _solve(
        self, F: Coordinates, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings
    ) -> Found:
        """Solve the problem in coordinates, with fewer demands where a default asks for more than the rank."""
        own, k = problem, chosen.n_components
        if getattr(self, "normalize", None) == "trace":
            own = replace(problem, minimise=of_equal_trace(problem.minimise, F))
        try:
            return self._eigenpairs(F, data, own, chosen)
        except RankError:
            if not data.deviations.any():
                raise RankError(CONSTANT) from None
            # The constraint may see directions outside those of large variance, a margin may have no direction at all, and
            # samples of many classes may lie in fewer dimensions than there are classes. A default must not fail for that, so
            # all directions are used, or many of rows that are too large for all.
            keep, by_classes = chosen.keep, isinstance(self.n_components, str)
            more = keep._replace(share=max(auto.WORD_DIRECTIONS, 2 * keep.n_components) if data.is_large else None)
            k = None if by_classes and not data.is_large else k
            other = chosen._replace(keep=more, n_components=k, by_products=False)
            if other == chosen or not (by_classes or keep.least):
                raise
            return self._solve(self._map(data, problem, graphs, other), data, problem, graphs, other)

    def _eigenpairs(self, F: Coordinates, data: Data, problem: Problem, chosen: auto.Settings) -> Found:
        """Form the matrices, and solve the eigenproblem. The ridge is in units of the mean eigenvalue of the constraint."""
        L, B, k = laplacian_sum(problem.minimise), problem.subject_to, chosen.n_components
        lhs = F.form(L)
        rhs: Any = None if B is ORTHOGONAL else F.form(B)
        if B is ORTHOGONAL:
            solution = solve(lhs, None, k, bound=self._bound)
            if F.by_products:
                # Beside directions along which X varies there are those of eigenvalue 0, along which it does not.
                if not solution.values[-1] < -1e-10 * abs(solution.values[0]):
                    raise RankError(f"n_components={k} is more than the directions that have a margin")
                solution = solution._replace(rank=None)
            return Found(F, (lhs, None), solution, chosen)
        if problem.ratio:
            return Found(F, (lhs, rhs), trace_ratio(lhs, rhs, k, rounding_of_form(B, F))[1], chosen)
        w, degrees = np.ones(data.n) if data.weights is None else data.weights, problem.degrees
        is_operator = isinstance(rhs, LinearOperator)
        diagonal = F.data.form_diagonal(B, F.mean) if is_operator else np.empty(0)
        ridge = chosen.ridge
        if ridge is None and is_operator:
            ridge = auto.spread_of_rows(F.data, F.mean, w if degrees is None else w * degrees)
        elif ridge is None:
            ridge = auto.spread(rhs)
        per = data.size if self._rules.of_kernel else None
        has_no_rank = chosen.by_products or (chosen.of_words and chosen.keep.share is None)
        if ridge and degrees is not None and per is None and has_no_rank:
            # The rank is not found: as many directions as there are rows and columns that vary.
            per = max(1.0, min(float(w @ (degrees > 0)) - bool(F.origin.any()), np.count_nonzero(data.deviations)))
        total = float(w @ (B.diagonal() if degrees is None else degrees))
        shift = float(w @ np.abs(L.diagonal())) / total if ridge else 0.0
        if is_operator:
            rho = ridge * diagonal.sum() / (per or min(data.size, data.d))
            solution = solve_operators(lhs, rhs, k, rho, shift, diagonal)
        else:
            floor = ROUNDING[data.dtype.name] * (np.trace(rhs) + total * (F.mean @ F.mean))
            floor = max(floor, rounding_of_form(B, F)) if degrees is None else floor
            if degrees is not None and F.data is data and floor > 10 * EPS * np.trace(rhs):
                tell_hidden(np.linalg.eigvalsh(rhs), floor, data, total, F.mean)
            solution = solve(lhs, rhs, k, ridge=ridge, per=per, shift=shift, floor=floor)
        return Found(F, (lhs, rhs), solution, chosen._replace(ridge=ridge))

    def _store(self, data: Data, F: Coordinates, problem: Problem, graphs: auto.GraphFacts, found: Found) -> None:
        solution, V, chosen = found.solution, found.solution.vectors, found.chosen
        self.n_pca_, self.solver_ = found.F.n_pca, solution.solver
        self.rank_ = None if found.forms[0] is None else solution.rank  # a regression does not find it
        self.eigenvalues_, self.certificate_ = solution.values, certify(solution, data.dtype, type(self).__name__)
        if problem.ratio:
            attracted, kept_apart = (float(np.vdot(V, M @ V)) for M in found.forms)
            self.trace_ratio_ = attracted / kept_apart
        scaling, lengths = auto.lengths(self, graphs, solution, found.forms, found.F.spectrum)
        center = getattr(self, "center", "auto")
        degree = center == "degree" or (center == "auto" and problem.degrees is not None)
        self.settings_ |= {
            "n_components": V.shape[1],
            "pca": None if chosen.keep.share is None else found.F.n_pca,
            "center": "degree" if degree else "mean" if center == "auto" else center,
            "scaling": scaling,
            "ridge": chosen.ridge,
        }
        self._store_map(data, found.F, V / lengths)


def rounding_of_form(M: Structured, F: Any) -> float:
    """What rounding leaves of a form of M that should be 0, as the form of a graph that links only equal samples.

    Under the diagonal of M as weights, the sums of squares of the samples are the form before anything cancels. Of its factors
    it is left out where M has another: sums over classes do not know it.
    """
    weights = diagonal(np.abs(M.diagonal() if M.diag is None else M.diag))
    return float(10 * np.sqrt(M.n) * np.finfo(np.float64).eps * np.sum(F.form_diagonal(weights)))


def of_equal_trace(terms: Any, F: Any) -> list[Term]:
    """The terms, each scaled so that its form has trace 1 before its coefficient. A form that is rounding counts as 0."""
    traces = [float(np.trace(F.form(term.laplacian))) for term in terms]
    none = [abs(trace) <= rounding_of_form(t.laplacian, F) for t, trace in zip(terms, traces, strict=True)]
    return [
        t._replace(laplacian=Structured(t.laplacian.n)) if empty else t.scaled(1 / trace)
        for t, trace, empty in zip(terms, traces, none, strict=True)
    ]
