"""The linear and the kernel map: the problem is put into coordinates, solved there, and brought back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin, clone
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import auto, maps
from .._extras import verbosity
from .._validation import check_choice, check_count, check_positive, row_blocks
from ..auto import GraphFacts, Settings
from ..data import EPS, FLOATS, Data, KernelData, validated
from ..graphs import Graph
from ..maps import CONSTANT, ROUNDING, Coordinates, Kernel, tell_hidden
from ..operators import Structured, diagonal
from ..problem import ORTHOGONAL, Problem, Term, laplacian_sum
from ..solvers import RankError, Solution, certify, fix_signs, solve, solve_operators, trace_ratio
from .base import Reducer, takes_tensors

LARGEST_KERNEL = 10_000  # the kernel matrix of up to this many samples is formed and decomposed, which takes about 5 GB


class Found(NamedTuple):
    """The coordinates that a problem was solved in, its matrices there, its solution, and the settings."""

    F: Coordinates
    forms: tuple[Any, Any]
    solution: Solution
    chosen: Settings


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

    def _solve(self, F: Coordinates, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Found:
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

    def _eigenpairs(self, F: Coordinates, data: Data, problem: Problem, chosen: Settings) -> Found:
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

    def _store(self, data: Data, F: Coordinates, problem: Problem, graphs: GraphFacts, found: Found) -> None:
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


class LinearReducer(ProjectingReducer):
    """Base of the linear methods; see :class:`Reducer` for what a method writes.

    Parameters
    ----------
    ... : As in :class:`lapwing.LPP`

    Examples
    --------
    A method of your own, which keeps apart what a graph links, by orthogonal directions:

    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graphs import KNN
    >>> from lapwing.problem import ORTHOGONAL, Problem
    >>> from lapwing.reducers import LinearReducer
    >>> class Apart(LinearReducer):
    ...     "Draws neighbours apart."
    ...     _orthogonal = True
    ...     def default_graph(self, n_neighbors):
    ...         return KNN(n_neighbors)
    ...     def _problem(self, data, graphs):
    ...         return Problem([term.scaled(-1.0) for term in self._terms(data, graphs)], ORTHOGONAL)
    >>> Apart(2, graph=7).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _takes_tensors = _takes_weights = _takes_sums = _takes_blocks = True

    def _coordinates(self, data: Data) -> Any:
        return data.project(self.mean_, self.components_)

    @takes_tensors
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Points of the original space that have the given coordinates.

        They are unique for orthogonal directions. For others they are the nearest to ``mean_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            The coordinates, as :meth:`transform` gives them.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_array(X, dtype=FLOATS)
        if X.shape[1] != len(self.components_):
            raise ValueError(f"X has {X.shape[1]} columns, but the projection has {len(self.components_)} components")
        scale = 1.0 if self.scale_ is None else self.scale_
        directions = self.components_ * scale  # the directions among the divided columns
        back = (directions if self._orthogonal else np.linalg.pinv(directions.T)) * scale
        return (X @ back + self.mean_).astype(X.dtype, copy=False)

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Coordinates:
        if chosen.is_too_large:
            what = f"pca={chosen.keep.share} takes all directions of X, which is too large for that (sparse, {data.X.shape})"
            raise ValueError(f"{what}; give a number of directions, such as pca=300")
        matrices = [problem.subject_to, *(term.laplacian for term in problem.minimise)]
        thin = all(M is ORTHOGONAL or (M.sparse is None and M.rest is None) for M in matrices)
        centre = auto.centre(getattr(self, "center", "auto"), problem, data.weights)
        # Rows without degrees are none of the constraint's directions, and may still repel.
        D, attracts = problem.degrees, all(term.coefficient > 0 for term in problem.minimise)
        whole = problem.subject_to is ORTHOGONAL or (D is not None and bool(attracts or D.all()))
        return maps.linear(data, chosen.keep, centre, thin, chosen.by_products and whole)

    def _store_map(self, data: Data, F: Coordinates, V: np.ndarray) -> None:
        scale, directions = 1.0 if self.scale_ is None else self.scale_, fix_signs(F.back(V))
        self.mean_ = (F.origin * scale).astype(data.dtype)
        self.components_ = (directions / scale).astype(data.dtype)
        self.explained_ratio_ = data.explained(directions)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class KernelReducer(ProjectingReducer):
    """Base of the kernel methods; see :class:`Reducer` for what a method writes.

    Parameters
    ----------
    ... : As in :class:`lapwing.KernelLPP`

    Examples
    --------
    >>> from lapwing import KernelLPP
    >>> from lapwing.reducers import KernelReducer
    >>> issubclass(KernelLPP, KernelReducer)
    True
    """

    kernel: str | Callable[..., float] = "rbf"
    gamma: float | str | None = "auto"
    degree: float = 3
    coef0: float = 1
    kernel_params: dict | None = None
    landmarks: int | None = None
    random_state: int | RandomState | None = None
    scaling: str = "auto"
    ridge: float | str = "auto"

    _takes_weights: ClassVar[bool] = True
    _takes_blocks: ClassVar[bool] = True
    # In the features of a kernel, few directions hold neighbourhoods and many hold classes (docs/defaults.md).
    _rules: ClassVar[auto.Rules] = auto.Rules(neighbor_energy=0.0, label_ridge=0.03, of_kernel=True)

    def _data(self, X: Any, y: Any = None, **weights: Any) -> Data:  # type: ignore[override]
        """The rows, or what a kernel matrix says of them. Raise where their kernel matrix would be too large."""
        if not (isinstance(self.kernel, str) or callable(self.kernel)):
            raise ValueError(f"kernel={self.kernel!r} must be a name, or a function of two rows")
        data: Any = validated(self, X, y, **weights | {"in_blocks": False})
        if getattr(self, "features", None) is not None:
            return self._in_features(data)
        if self.landmarks is not None:
            check_count("landmarks", self.landmarks)
            drawn = f"landmarks={self.landmarks} are drawn among the rows of X"
            if self.kernel == "precomputed":
                raise ValueError(f'{drawn}, and kernel="precomputed" has none; leave one out')
            if data.weights is not None:
                raise ValueError(f"sample_weight does not act on {self!r}: {drawn}, whatever they weigh; leave one out")
            if self.landmarks > data.n:
                raise ValueError(f"landmarks={self.landmarks} is more than the {data.n} samples; use fewer, or None")
        elif data.n > LARGEST_KERNEL:
            size = f"{8e-9 * data.n**2:.0f} GB"
            raise ValueError(f"the kernel matrix of {data.n} samples would take {size}; give landmarks=, such as 1000")
        if self.kernel != "precomputed":
            return data
        if data.weights is not None and data.n < data.d:
            raise ValueError('sample_weight has zeros; with kernel="precomputed" leave those rows and columns out of X')
        rows = KernelData(data.X, data.y, data.weights)
        rows.given = data.given
        return rows

    def _in_features(self, data: Data) -> Data:
        """The rows as ``features=`` maps them, which is fitted to all of them, or to the first of several batches."""
        if self.kernel != "rbf" or self.landmarks is not None or not isinstance(self.gamma, str):
            raise ValueError(f"leave kernel=, gamma= and landmarks= out: features={self.features!r} takes their place")
        seen = hasattr(self, "moments_")
        scale = self.scale_ if seen else auto.units(self, self._graphs(data), None, data)
        rows = data if scale is None else data.divided(scale)
        if not hasattr(self.features, "transform"):
            raise ValueError(f"features={self.features!r} must be a transformer or None")
        features = self.features_ if seen else clone(self.features).fit(rows.X, None)
        made = Data(_apply_features(features, rows.X), data.y, data.weights)
        made.given, made.n_columns, made.has_features = data.given, data.d, False
        made.learnt = {"scale_": scale, "features_": features}
        return made

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Coordinates:
        """The kernel matrix of all rows, or the features of all rows from landmarks that are drawn once per fit."""
        centre = auto.centre(getattr(self, "center", "auto"), problem, data.weights)
        if data.learnt:
            return maps.linear(data, chosen.keep, centre)._replace(features=(Kernel(), data.learnt))
        gamma = self._width(data, graphs)
        kernel = Kernel(self.kernel, gamma, self.degree, self.coef0, self.kernel_params)
        if self.landmarks is None:
            return maps.kernel(data, chosen.keep, centre, kernel(data.X), kernel)
        # The landmarks that scikit-learn would draw, and its features, by its formula: its own kernels lose digits of far rows.
        drawn = check_random_state(self.random_state).permutation(data.n)[: self.landmarks]
        basis = data.X[drawn].astype(np.float64)
        named = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        options = {"kernel_params": self.kernel_params} if callable(self.kernel) else named
        nystroem = Nystroem(self.kernel, n_components=self.landmarks, random_state=self.random_state, **options)
        U, values, Vt = np.linalg.svd(kernel(basis))
        nystroem.components_, nystroem.component_indices_, nystroem.n_features_in_ = basis, drawn, basis.shape[1]
        nystroem.normalization_ = U / np.sqrt(np.maximum(values, 1e-12)) @ Vt
        features = Data(kernel(data.X, basis) @ nystroem.normalization_.T)
        return maps.linear(features, chosen.keep, centre)._replace(features=(kernel, {"nystroem_": nystroem}))

    def _width(self, data: Data, graphs: GraphFacts) -> float | None:
        """``gamma`` as a number. "scale" is 1 / (number of features times their variance), and "auto" is a share of that."""
        if not isinstance(self.gamma, str):
            return None if self.gamma is None else check_positive("gamma", self.gamma)
        check_choice("gamma", self.gamma, ("auto", "scale"))
        if self.kernel == "precomputed" or callable(self.kernel):
            return None
        # Divided columns have a variance of 1 each; of others, what their means differ by counts as well.
        variance = 1.0 if data.is_divided else float(np.mean(data.deviations**2) + np.var(data.mean()))
        scale = 1 / (data.d * variance) if variance > 0 else 1.0
        return scale * (auto.width_share(graphs, data) if self.gamma == "auto" else 1.0)

    def _store_map(self, data: Data, F: Coordinates, V: np.ndarray) -> None:
        if data.beside is not None:  # columns that the kernel does not read become 0 when they are divided by infinity
            self.scale_ = np.ones(data.d) if self.scale_ is None else self.scale_.copy()
            self.scale_[data.beside] = np.inf
        if self._is_linear:
            kernel, given = F.features
            self.__dict__ |= given
            self.settings_["standardize"] = self.scale_ is not None
            self.mean_, self.components_ = F.origin, fix_signs(F.back(V))
        else:
            kernel, dual = F.features, F.back(V)
            each = dual if data.weights is None else dual / data.weights  # a row may stand for several samples
            signs = np.sign(np.sum(each * fix_signs(each), axis=1))
            self.intercept_ = (signs * (dual @ F.origin + F.mean @ V)).astype(data.X.dtype)
            self.X_fit_ = None if self.kernel == "precomputed" else data.X.copy()
            self.dual_coef_ = np.ascontiguousarray(signs[:, None] * dual, dtype=data.X.dtype)
        self.gamma_ = self.settings_["gamma"] = kernel.gamma

    transform = takes_tensors(ProjectingReducer.transform)

    def _coordinates(self, data: Data) -> Any:
        return data.apply(self._placed, self._n_features_out)

    def _placed(self, data: Data) -> np.ndarray:
        X = data.X if self.scale_ is None else data.divided(self.scale_).X
        kernel = Kernel(self.kernel, self.gamma_, self.degree, self.coef0, self.kernel_params)
        V = self.components_ if self._is_linear else self.dual_coef_
        Z = np.empty((X.shape[0], len(V)), dtype=X.dtype)
        for rows in row_blocks(X.shape[0], V.shape[1]):
            if not self._is_linear:
                Z[rows] = kernel(X[rows], self.X_fit_) @ V.T - self.intercept_
                continue
            if self.landmarks is None:
                features = _apply_features(self.features_, X[rows])
            else:
                features = kernel(X[rows], self.nystroem_.components_) @ self.nystroem_.normalization_.T
            Z[rows] = (features - self.mean_) @ V.T
        return Z

    @property
    def _n_features_out(self) -> int:
        return len(self.components_ if self._is_linear else self.dual_coef_)

    @property
    def _is_linear(self) -> bool:
        """Whether the map is a linear one of features that are computed."""
        return self.landmarks is not None or getattr(self, "features", None) is not None

    _takes_tensors = property(lambda self: self.landmarks is not None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _apply_features(features: Any, X: Any) -> np.ndarray:
    """What a fitted transformer makes of rows."""
    return check_array(features.transform(X), dtype=FLOATS, input_name=f"what {features!r} makes of X")
