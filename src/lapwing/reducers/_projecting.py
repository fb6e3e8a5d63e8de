"""Linear and kernel maps: a problem in coordinates, solved there, and a way back."""

from __future__ import annotations

import warnings
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
from ..devices import is_tensor
from ..graphs import Graph
from ..maps import Centre, Coordinates, Map, Preprojection, check_pca, rounding
from ..operators import Array, Structured, canonical
from ..problem import ORTHOGONAL, Problem, Term, laplacian_sum
from ..rows import Rows, Units
from ..solvers import RankError, Solution, solve
from ._base import DTYPES, Graphs, Reducer
from ._graphs import outside, queried
from ._places import checked, inside, shared_place
from ._sampling import halved
from ._units import units

# On sparse X that is too large to be decomposed whole (measured on 20 Newsgroups, docs/defaults.md):
LARGE_RIDGE = 30.0  # ridge="auto", in units of the constraint's mean eigenvalue
LARGE_DIRECTIONS = 100  # pca="auto" of the methods without a ridge
# scaling="auto": so many leading directions hold more than this share of the variance, and more than so many hold 98 % of it.
FEW, SHARE_OF_FEW, MANY = 3, 0.58, 40
SPREAD = 50  # directions of equal variance, from which on the variance counts as spread (docs/defaults.md)
CENTRES = ("auto", "mean", "degree", False)
SCALINGS = ("auto", "constraint", "objective", "unit")
LEAST_OBJECTIVE = (
    1e-6  # scaling="objective": an objective of 0, as of classes that the map makes points of, counts as this
)
NORMALIZATIONS = ("auto", None, "degree", "trace")


class Options(NamedTuple):
    """The parameters that decide how a problem is solved; a method that has one of them not takes what stands here."""

    pca: Any = None
    center: Any = "auto"
    scaling: str = "constraint"
    ridge: Any = 0.0
    normalize: str | None = None
    standardize: Any = False

    @classmethod
    def of(cls, estimator: Any) -> Options:
        given = estimator.get_params(deep=False)
        return cls(**{name: given[name] for name in cls._fields if name in given})

    def check(self) -> None:
        check_choices(
            normalize=(self.normalize, NORMALIZATIONS),
            scaling=(self.scaling, SCALINGS),
            center=(self.center, CENTRES),
            standardize=(self.standardize, ("auto", True, False)),
        )
        check_pca(self.pca)
        ridge = self.ridge
        number = isinstance(ridge, Real) and not isinstance(ridge, bool) and 0 <= float(ridge) < np.inf
        if not number and not (isinstance(ridge, str) and ridge == "auto"):
            raise ValueError(f'ridge={ridge!r} must be "auto" or a finite number, 0 or more')

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
    _auto_ridge: ClassVar[float] = 0.0  # ridge="auto" where X can be decomposed whole, and no labels attract
    # ridge="auto" where labels alone say what attracts (None is by the spread of the variance), and where neighbours do so as
    # well. Measured (docs/defaults.md).
    _label_ridge: ClassVar[float | None] = None
    _sum_ridge: ClassVar[float] = 0.3
    # Whether a graph of classes is treated as discriminant analysis does it: the units of columns need not matter, and directions
    # have the same variance within classes. Features of a kernel want neither (docs/defaults.md).
    _like_discriminants: ClassVar[bool] = True

    n_components: Any

    @property
    def is_nested(self) -> bool:
        """Whether a fit with fewer components, and the same ``pca``, has the first of these components."""
        return True

    def _check_parameters(self) -> None:
        Options.of(self).check()
        if self.n_components is not None and not self._counts_classes:
            check_count("n_components", self.n_components)

    @property
    def _counts_classes(self) -> bool:
        return isinstance(self.n_components, str) and self.n_components == "auto"

    def _units(self, graphs: Graphs) -> Units | None:
        standardize, graph = getattr(self, "standardize", False), graphs.graph
        invariant = self._like_discriminants and graph.is_of_classes and self._is_regularised(graph)
        return units(standardize, graph, graphs.penalty, invariant)

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
        """:meth:`transform` of a tensor, by the model as it is computed with."""
        return model._projected(checked(self, X, fitting=False))

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
        graph = graph or self._graphs(data.n).graph
        pca, wanted = getattr(self, "pca", None), self._wanted(data, graph) or 1
        if isinstance(pca, str):
            share = None if self._keeps_all(data, graph) else self._automatic(data, graph)
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
        """Whether a ridge can do the work of truncation where X is too large to be decomposed whole."""
        return hasattr(self, "ridge") and getattr(self, "normalize", None) != "trace" and not self._has_penalty

    @property
    def _has_penalty(self) -> bool:
        return self._resolved_penalty(getattr(self, "penalty", None), False) is not None

    def _wanted(self, data: Rows, graph: Graph) -> int | None:
        """``n_components``; "auto" is the number of classes minus one, which is all that a graph of classes tells apart."""
        if not self._counts_classes:
            return self.n_components
        if not graph.is_of_classes:
            raise ValueError(
                f'n_components="auto" is the number of classes minus one where classes alone say what attracts, and '
                f'graph={graph!r} is something else; give a number of components, or graph="supervised"'
            )
        return max(1, data.class_sizes.size - 1)

    def _is_regularised(self, graph: Graph) -> bool:
        """Whether a ridge takes the place of truncation: one that is given, or, of defaults, where labels say what attracts.

        Not where something repels: with all directions at hand repulsion finds some that fit the training samples only.
        """
        ridge = getattr(self, "ridge", 0.0)
        if not isinstance(ridge, str):
            return float(ridge) > 0
        by_default = isinstance(getattr(self, "pca", None), str) and not (self._has_penalty or _repels(graph))
        return by_default and any(leaf.reads_labels for leaf in graph.attracting())

    def _ridge(self, data: Rows, graph: Graph) -> float | None:
        """``ridge=``; "auto" acts together with ``pca="auto"``. None is by the spread of the constraint, once that is known."""
        ridge, pca = getattr(self, "ridge", 0.0), getattr(self, "pca", None)
        if not isinstance(ridge, str):
            return float(ridge)
        if self._is_large(data):
            return LARGE_RIDGE if self._has_ridge and (pca is None or isinstance(pca, str)) else 0.0
        if not self._is_regularised(graph):
            return self._auto_ridge
        return self._label_ridge if all(leaf.reads_labels for leaf in graph.attracting()) else self._sum_ridge

    def _keeps_all(self, data: Rows, graph: Graph) -> bool:
        """Whether a ridge takes the place of truncation."""
        ridge = self._ridge(data, graph)
        return ridge is None or ridge > 0

    def _automatic(self, data: Rows, graph: Graph) -> Any:
        """``pca="auto"`` as an energy; on large sparse X as nothing, a ridge doing its work, or a number of directions."""
        if self._is_large(data):
            return None if self._has_ridge else max(LARGE_DIRECTIONS, 2 * (self.n_components or 1))
        usual, few = self._energies if self.n_components is not None else (max(self._energies[0], 0.9), 1.0)
        pulling = graph.attracting()
        by_labels = bool(pulling) and all(leaf.reads_labels for leaf in pulling)
        return few if by_labels and data.has_classes and data.class_sizes.mean() < 10 else usual

    def _solve(self, F: Any, data: Rows, problem: Problem, graphs: Graphs) -> Solved:
        graph = graphs.graph
        options = Options.of(self)._replace(ridge=self._ridge(data, graph))
        preprojection, k = self.preprojection(data, graph), self._wanted(data, graph)
        try:
            solved = self._solved(F, data, problem, preprojection, options, k)
        except RankError:
            kept = preprojection.share is None or preprojection.least is None or self._is_large(data)
            if kept and not self._counts_classes:
                raise
            # What the constraint sees may lie outside the directions of large variance, and samples of many classes in fewer
            # dimensions: a default must not fail for that.
            solved = self._solved(F, data, problem, preprojection.whole(), options, None if self._counts_classes else k)
        solved = solved._replace(solution=self._selected(solved.solution))
        self._warn_of_ties(data, problem, graphs, k)
        queries = min(filter(None, [graphs.queries, queried(graphs.penalty, data.n_samples)]), default=None)
        self.sampling_ = None if queries is None else self._sampling(F, data, graphs, solved, options, queries)
        return solved

    def _selected(self, solution: Solution) -> Solution:
        return solution

    def _warn_of_ties(self, data: Rows, problem: Problem, graphs: Graphs, k: int | None) -> None:
        """A graph of classes over its own degrees has c - 1 eigenvalues that tell classes apart, and ties behind them."""
        graph = graphs.graph
        if problem.degrees is None or graphs.penalty is not None or _repels(graph) or not graph.is_of_classes:
            return
        most = data.class_sizes.size - 1
        if k is not None and k > most:
            warnings.warn(
                f"n_components={k} is more than the {most} directions that tell {most + 1} classes apart; the others have equal "
                f'eigenvalues, and which they are is arbitrary: use n_components={most} or "auto", or add a graph of neighbours',
                UserWarning,
                stacklevel=outside(),
            )

    def _solved(
        self, F: Map, data: Rows, problem: Problem, preprojection: Preprojection, options: Options, k: int | None
    ) -> Solved:
        """The quadratic forms in coordinates, then the eigenproblem."""
        terms, start = problem.minimise, perf_counter()
        constraint = None if problem.subject_to is ORTHOGONAL else problem.subject_to
        by_trace = options.normalize == "trace"
        parts = [term.laplacian for term in terms] if by_trace else [laplacian_sum(terms)]
        coordinates = F.coordinates(parts, options.centre(problem), preprojection, constraint)
        forms, B = (coordinates.forms, None) if constraint is None else (coordinates.forms[:-1], coordinates.forms[-1])
        if by_trace:
            terms = normalized(terms, forms)
            A = np.sum([term.coefficient * M for term, M in zip(terms, forms, strict=True)], axis=0)
        else:
            A = forms[0]
        formed = perf_counter()
        solution = self._eigenpairs(A, B, k, F, data, Problem(terms, problem.subject_to), coordinates, options.ridge)
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
        ridge: float | None,
    ) -> Solution:
        """The eigenproblem; under a constraint B, with a ridge in units of its mean eigenvalue."""
        constraint, mean, large = problem.subject_to, found.mean, isinstance(B, LinearOperator)
        if not isinstance(constraint, Structured):
            return solve(A, None, k)
        ridge = spread(B) if ridge is None else ridge
        b = constraint.diagonal()
        diagonal = F.form_diagonal(constraint, mean) if large else np.diagonal(B)
        return solve(
            A,
            B,
            k,
            ridge=ridge,
            per=min(data.n_samples, mean.size) if large else self._ridge_per(data),
            shift=data.total(np.abs(laplacian_sum(problem.minimise).diagonal())) / data.total(b) if ridge else 0.0,
            floor=rounding(data.F.dtype, diagonal.sum() + data.total(b) * (mean @ mean)),
            diagonal=diagonal,
            tol=1e-8 if data.half is None else 1e-3,
        )

    def _ridge_per(self, data: Rows) -> int | None:
        """The ridge is in units of the constraint's trace over this number; None is the rank."""
        return None

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
        self.scale_ = data.scale
        self.n_pca_ = solution.coordinates.n_pca
        self.rank_ = found.rank
        self.solver_ = found.solver
        self.eigenvalues_ = found.values
        self._store_map(data, solution.coordinates, vectors / self._lengths(solution, graphs))
        self._report(data, problem, solution)

    def _lengths(self, solved: Solved, graphs: Graphs) -> Any:
        """What directions of constraint 1 are divided by, as ``scaling=`` asks for."""
        scaling, V = getattr(self, "scaling", "constraint"), solved.solution.vectors
        if scaling == "auto":
            scaling = self._automatic_scaling(solved, graphs)
        if scaling == "constraint":
            return 1.0
        if scaling == "unit":
            return np.linalg.norm(V, axis=0)
        if _repels(graphs.graph):
            raise ValueError(
                f'scaling="objective" takes the length of a direction from what attracts, and graph={graphs.graph!r} repels as '
                'well; use scaling="unit" or "constraint"'
            )
        A, B = (
            np.sum(V * (M @ V), axis=0) for M in solved.pencil
        )  # Vᵀ(B + ridge)V = I, and so 1 - B is the ridge's part
        return np.sqrt(np.maximum(A + 1 - B, LEAST_OBJECTIVE))

    def _automatic_scaling(self, solved: Solved, graphs: Graphs) -> str:
        """By measurement (docs/defaults.md). Where classes alone attract, it is the length that a discriminant analysis gives."""
        graph = graphs.graph
        if self._like_discriminants and graphs.penalty is None and graph.is_of_classes and not _repels(graph):
            return "objective"
        return "constraint" if self._is_dominated(solved, graphs.graph) else "unit"

    def _is_dominated(self, solved: Solved, graph: Graph) -> bool:
        """Whether a few directions of X hold most of its variance and many the rest, as light does in pictures of faces.

        Neighbours then differ along the few, and in unit directions these would drown the others (docs/defaults.md).
        """
        spectrum = solved.coordinates.spectrum
        if spectrum is None or any(leaf.reads_labels for leaf in graph.attracting()):
            return False
        return spectrum.share(FEW) > SHARE_OF_FEW and spectrum.needed(0.98) > MANY

    def _store_map(self, data: Rows, coordinates: Coordinates, V: np.ndarray) -> None:
        raise NotImplementedError

    def _report(self, data: Rows, problem: Problem, solved: Solved) -> None:
        """What a method reports beside the projection."""


def _repels(graph: Graph) -> bool:
    return any(coefficient < 0 for coefficient, _ in graph.signed())


def spread(B: np.ndarray) -> float:
    """From near 0, where few directions hold all the variance of a form, to 1, where that many hold it equally.

    (tr B)² / ‖B‖² is how many directions of equal variance would have this trace and norm.
    """
    return float(min(1.0, np.trace(B) ** 2 / np.vdot(B, B) / SPREAD)) if B.any() else 1.0


def normalized(terms: Sequence[Term], forms: list[np.ndarray]) -> list[Term]:
    """The terms with their forms, one per term, scaled to trace 1 before the coefficients."""
    return [term.scaled(1 / (np.trace(M) or 1.0)) for term, M in zip(terms, forms, strict=True)]
