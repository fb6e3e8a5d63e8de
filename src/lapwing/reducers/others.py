"""The other maps: coordinates of each sample, one matrix per side of an image, and one feature at a time."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .._extras import verbosity
from .._validation import Array, caller_stacklevel, check_count, check_in_memory, is_foreign, row_blocks
from ..auto import GraphFacts, Rules, Settings
from ..data import FLOATS, KINDS, Data, SparseData, canonical, validated
from ..graphs import Graph, On, affine_extension, barycentric_weights, nearest_fitted
from ..maps import CONSTANT, ROUNDING, Free
from ..neighbors import NoPlaceError, Request, is_named
from ..operators import Structured
from ..problem import ORTHOGONAL, Problem, laplacian_sum
from ..solvers import RankError, Solution, certify, fix_signs, single_blas_thread, solve
from .base import Reducer, equal_coefficient, takes_tensors
from .projecting import of_equal_trace, rounding_of_form

AUTO_DIRECTIONS = 2  # n_components="auto" is this many directions per mode, where there are as many
Modes = list[Any]  # a matrix (l, n_m) for each mode, None for the identity
DIGITS = 12  # scores are compared by this many digits, so that rounding does not decide between features


class FreeReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the free methods. A method says what the problem is, and this class solves it and places new samples.

    See :class:`Reducer` for what a method writes.

    Parameters
    ----------
    ... : As in :class:`lapwing.TangentialMaps`

    Examples
    --------
    >>> from lapwing import LaplacianEigenmaps
    >>> from lapwing.reducers import FreeReducer
    >>> issubclass(LaplacianEigenmaps, FreeReducer)
    True
    """

    n_components: int = 2
    graph: Graph | int | str | ArrayLike | None = None
    extension: str = "affine"
    normalize: str | None = "auto"
    preset: str = "measured"
    verbose: bool | None = None

    n_neighbors: ClassVar[int] = 12  # how many neighbours the default graph has
    _choices: ClassVar[dict] = {"normalize": ("auto", None, "degree"), "extension": ("affine", "barycentric")}
    _beside: ClassVar[str] = "kept"  # "refused" where the problem reads X itself
    _crowded: ClassVar[bool] = True  # whether the smallest eigenvalues crowd at 0

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Free:
        check_count("n_components", self.n_components)
        if graphs.is_sampled:
            what = f"graph={graphs.graph!r} links a sample of the rows, and {type(self).__name__} has a place for each"
            raise ValueError(f"{what}; leave queries out, or use LPP")
        if (self._beside == "refused" or graphs.graph.reads_features) and not data.deviations.any():
            raise ValueError("X is constant: all samples are equal, so there is nothing to unfold")
        return Free(data.n)

    def _solve(self, F: Free, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Solution:
        b = np.asarray(problem.degrees)
        if (alone := np.flatnonzero(b == 0)).size:
            message = f"samples without links: {alone.size} (the first is row {alone[0]}); placed at 0"
            warnings.warn(message, UserWarning, stacklevel=caller_stacklevel())
        return solve(
            F.form(laplacian_sum(problem.minimise)),
            b,
            self.n_components,
            deflate=np.ones((data.n, 1)),
            semidefinite=graphs.graph.is_semidefinite,
            crowded=self._crowded or data.d <= 3,  # up to three columns are taken for a surface
        )

    def _store(self, data: Data, F: Free, problem: Problem, graphs: GraphFacts, found: Solution) -> None:
        del self.scale_  # columns are never divided
        self.solver_, self.eigenvalues_, self.X_fit_ = found.solver, found.values, data.X
        self.certificate_ = certify(found, data.X.dtype, type(self).__name__)
        self._linked = np.flatnonzero(np.asarray(problem.degrees))
        self.embedding_ = fix_signs(found.vectors.T).T.astype(data.X.dtype)
        # Widths and coefficients are written out, since new rows are linked by them.
        graph = graphs.graph
        if graphs.equal_say:
            each = [equal_coefficient(c, leaf, leaf.terms(data), data) * leaf for c, leaf in graph.signed()]
            graph = sum(each[1:], start=each[0])
        self.graph_ = graph.resolved(data)

    def transform(self, X: Any, links: Any = None) -> np.ndarray:
        """The coordinates of rows. Fitted rows keep theirs (equal ones the mean), and others are placed among their neighbours.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The samples, fitted or new.
        links : array-like or sparse matrix of shape (n_samples, n_fitted), default=None
            Weights that link the rows of X to the fitted ones, where the graph cannot search, as ``Precomputed`` cannot.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        data = validated(self, X, fitting=False)
        if data.device is not None:
            return takes_tensors(FreeReducer.transform)(self, X, links)
        X = data.X
        if sparse.issparse(X) != sparse.issparse(self.X_fit_):
            X = X.toarray() if sparse.issparse(X) else sparse.csr_array(X)
        if links is not None:
            W = sparse.csr_array(check_array(links, accept_sparse="csr", dtype=np.float64, input_name="links"))
            shape = (X.shape[0], len(self.embedding_))
            if W.shape != shape or W.data.min(initial=0) < 0:
                raise ValueError(f"links must be of shape {shape}, new by fitted, and not negative; got {W.shape}")
            return self._by_links(X, W).astype(X.dtype)
        known, group = places_among(self.X_fit_, X.astype(self.X_fit_.dtype, copy=False))
        columns = [np.bincount(known, column) / np.bincount(known) for column in self.embedding_.T.astype(np.float64)]
        Y = np.stack(columns, axis=1)[group].astype(X.dtype)
        if (group < 0).any():
            Y[group < 0] = self._extended(X[group < 0])
        return Y

    def _by_links(self, X: Array, W: sparse.csr_array) -> np.ndarray:
        """The means of the linked samples."""
        degrees = W.sum(axis=1)
        return sparse.diags_array(1 / np.where(degrees > 0, degrees, 1.0)) @ W @ self.embedding_.astype(np.float64)

    def _extended(self, X: Array) -> np.ndarray:
        """The places of new rows, by an affine map of the patch of their neighbours, or by barycentric weights."""
        searching = [graph for c, graph in self.graph_.signed() if c > 0 and _searches_features(graph)]
        if not searching:
            what = f"rows that were not fitted, and {type(self.graph_).__name__} has no neighbour search among features"
            raise NoPlaceError(f"X has {X.shape[0]} {what}; give links= to transform, or use KNN(5)")
        graph: Any = searching[0]
        both, n = self._both(X)
        while isinstance(graph, On):
            graph, both = graph.graph, graph.view(both)
        k, new = graph.n_neighbors, np.arange(n, both.n)
        request = Request(k, graph.metric, getattr(graph, "metric_params", None))
        near = nearest_fitted(both, n, request)[1].reshape(-1, k)
        Y = self.embedding_[self._linked].astype(np.float64)
        if self.extension == "barycentric":
            return np.einsum("bi,bid->bd", barycentric_weights(both, new, near, 1e-3), Y[near])
        return affine_extension(both, Y, new, near)

    def _both(self, X: Array) -> tuple[Data, int]:
        """The fitted rows that have links, the new rows after them, and how many of them are fitted."""
        fitted = self.X_fit_[self._linked]
        return (SparseData if sparse.issparse(fitted) else Data)(fitted).stacked(X), fitted.shape[0]

    def _links(self, X: Array, graph: Graph | None = None) -> sparse.csr_array:
        """The links of new rows by the graph, or by one part of it."""
        W = (self.graph_ if graph is None else graph).links(*self._both(X))
        return sparse.csr_array((W.data, self._linked[W.indices], W.indptr), shape=(X.shape[0], len(self.embedding_)))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]


def _searches_features(graph: Any) -> bool:
    if isinstance(graph, On):
        return _searches_features(graph.graph)
    named = is_named(getattr(graph, "metric", "precomputed"), "precomputed")
    plain = not named and getattr(graph, "search", None) is None
    return graph.reads_features and hasattr(graph, "n_neighbors") and plain


def places_among(fitted: Array, X: Array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that equal fitted rows share, and the number of each row of X, -1 where it is not a fitted row."""
    keys = []
    for rows in (fitted, X):
        if not sparse.issparse(rows):
            keys.append([row.tobytes() for row in rows + 0.0])  # adding 0.0 turns -0 into 0
            continue
        rows = canonical(rows).copy()
        rows.eliminate_zeros()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        keys.append([rows.indices[a:b].astype(np.int64).tobytes() + rows.data[a:b].tobytes() for a, b in ends])
    numbers: dict[bytes, int] = {}
    known = np.array([numbers.setdefault(row, len(numbers)) for row in keys[0]])
    return known, np.array([numbers.get(row, -1) for row in keys[1]])


class Images(NamedTuple):
    """The map F of samples of shape n1 x n2 x ..., each mode multiplied by its matrix, and seen from one of the modes."""

    X: np.ndarray
    mean: np.ndarray
    modes: Modes
    m: int = 0

    def form(self, M: Structured) -> np.ndarray:
        r""":math:`\sum_{ij} M_{ij} Y_i^{(m)} Y_j^{(m)\top}`: M couples the vectors in the same place of all samples.

        Seen from mode m, a projected sample is a bundle of vectors, in the last axis.
        """
        Y = multiplied(np.subtract(self.X, self.mean, dtype=np.float64), self.modes)
        bundles = np.moveaxis(Y, self.m + 1, -1).reshape(len(Y), -1, Y.shape[self.m + 1])
        n, _, size = bundles.shape
        total = np.zeros((size, size))
        for places in row_blocks(bundles.shape[1], n * size):
            block = np.ascontiguousarray(bundles[:, places])
            total += block.reshape(-1, size).T @ (M @ block).reshape(-1, size)
        return (total + total.T) / 2

    def form_diagonal(self, M: Structured) -> np.ndarray:
        """The diagonal of :meth:`form`."""
        return np.diagonal(self.form(M))


class MultilinearReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the multilinear methods. A method says what the problem is, and this class solves it, one mode after the other.

    See :class:`Reducer` for what a method writes.

    Parameters
    ----------
    ... : As in :class:`lapwing.TSA`

    Examples
    --------
    >>> from lapwing import TSA
    >>> from lapwing.reducers import MultilinearReducer
    >>> issubclass(TSA, MultilinearReducer)
    True
    """

    n_components: int | str | Sequence[int | str | None] | None = "auto"
    graph: Graph | int | str | ArrayLike | None = None
    penalty: Graph | int | ArrayLike | None = None
    max_iter: int = 3
    image_shape: Sequence[int] | None = None
    flatten: bool = False
    scaling: str = "unit"
    center: str | bool = "auto"
    normalize: str | None = "auto"
    preset: str = "measured"
    verbose: bool | None = None

    _takes_sparse, _takes_tensors, _beside = False, True, "refused"
    _choices: ClassVar[dict] = {"scaling": ("unit", "constraint"), "center": ("auto", "mean", False)}
    _choices |= {"flatten": (False, True)}
    _rules: ClassVar[Rules] = Rules(paper={"center": False})

    def _data(self, X: Any, y: Any = None, **weights: Any) -> Data:  # type: ignore[override]
        """Images as rows that know the shape of an image."""
        shape = self.image_shape
        if shape is None:
            X = self._images(X)
            shape, X = X.shape[1:], X.reshape(len(X), -1)
        data = validated(self, X, y, **weights)
        with suppress(TypeError, ValueError):
            data.image_shape = np.empty(data.d).reshape(shape).shape  # the side -1 is what is left
        if len(data.image_shape or ()) < 2:
            what = f"whose product is the number of columns of X, which has {data.d} features"
            raise ValueError(f"image_shape={shape!r} must be a tuple of two or more sides, such as (32, 32), {what}")
        return data

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Images:
        mean = np.zeros(data.d) if self.center is False else data.mean()
        return Images(data.X.reshape(-1, *data.image_shape), mean.reshape(data.image_shape), [])

    def _solve(self, F: Images, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> tuple[Any, ...]:
        """The solution of each mode, and their matrices, which start as the identity.

        One mode is solved for after the other, the last one first, while the other modes are kept.
        """
        sizes = self._sizes(F.mean.ndim)
        modes: Modes = [None] * len(sizes)
        solutions: list[Any] = [None] * len(sizes)
        with single_blas_thread():  # the matrices are as small as a side of an image
            for _ in range(check_count("max_iter", self.max_iter)):
                for m in reversed(range(len(sizes))):
                    modes[m] = None
                    solutions[m] = self._step(F._replace(modes=modes, m=m), problem, sizes[m])
                    P = solutions[m].vectors.T
                    modes[m] = P / np.linalg.norm(P, axis=1, keepdims=True) if self.scaling == "unit" else P
        return solutions, modes

    def _step(self, F: Images, problem: Problem, size: Any) -> Solution:
        """Solve the eigenproblem of one mode, for images that are projected along the other modes."""
        terms, constraint = problem.minimise, problem.subject_to
        assert constraint is not ORTHOGONAL
        if self.normalize == "trace":
            terms = of_equal_trace(terms, F)
        A, B = F.form(laplacian_sum(terms)), F.form(constraint)
        moved = np.sum(multiplied(F.mean[None], F.modes) ** 2)
        floor = ROUNDING[F.X.dtype.name] * (np.trace(B) + constraint.diagonal().sum() * moved)
        if problem.degrees is None:
            floor = max(floor, rounding_of_form(constraint, F))
        try:
            return solve(A, B, min(AUTO_DIRECTIONS, len(B)) if isinstance(size, str) else size, floor=floor)
        except RankError as error:
            if (F.X[:1] == F.X).all():
                raise RankError(CONSTANT) from None
            if isinstance(size, str):
                return solve(A, B, None, floor=floor)
            raise RankError(f"mode {F.m + 1} of the images, of size {len(B)}: {error}") from error

    def _store(self, data: Data, F: Images, problem: Problem, graphs: GraphFacts, found: Any) -> None:
        del self.scale_  # columns are never divided
        (solutions, modes), self.n_iter_ = found, int(self.max_iter)
        self.rank_ = tuple(solution.rank for solution in solutions)
        self.n_components_ = self.settings_["n_components"] = tuple(len(P) for P in modes)
        self.settings_["center"] = self.center and "mean"
        self.eigenvalues_ = [solution.values for solution in solutions]
        self.certificate_ = [certify(solution, F.X.dtype, type(self).__name__) for solution in solutions]
        self.mean_ = F.mean.astype(F.X.dtype)
        self.components_ = [fix_signs(P).astype(F.X.dtype) for P in modes]

    @takes_tensors
    def transform(self, X: Any) -> np.ndarray:
        """``X - mean_``, each mode multiplied by its matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n1, n2, ...), or (n_samples, n_features) with ``image_shape``
            The images, or their rows of pixels.

        Returns
        -------
        ndarray of shape (n_samples, l1, l2, ...), or (n_samples, l1 * l2 * ...) with ``flatten`` or ``image_shape``
        """
        check_is_fitted(self)
        rows = self.image_shape is not None
        X = validated(self, X, fitting=False).X.reshape(-1, *self.mean_.shape) if rows else self._images(X)
        if X.shape[1:] != self.mean_.shape:
            raise ValueError(f"X has images of shape {X.shape[1:]}; it is fitted on images of shape {self.mean_.shape}")
        Y = multiplied(np.subtract(X, self.mean_, dtype=np.float64), self.components_).astype(X.dtype, copy=False)
        return Y.reshape(len(X), -1) if self.flatten or rows else Y

    @takes_tensors
    def inverse_transform(self, X: Any) -> np.ndarray:
        """The images that have the given coordinates; of several, those nearest to ``mean_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, l1, l2, ...) or (n_samples, l1 * l2 * ...)
            The coordinates, as :meth:`transform` gives them.

        Returns
        -------
        ndarray of shape (n_samples, n1, n2, ...), or (n_samples, n_features) with ``image_shape``
        """
        check_is_fitted(self)
        X = check_array(X, dtype=FLOATS, ensure_2d=False, allow_nd=True, estimator=self)
        if X.shape[1:] not in (self.n_components_, (self._n_features_out,)):
            raise ValueError(f"X has shape {X.shape}, but the projection has {self.n_components_} components")
        back = [np.linalg.pinv(P.astype(np.float64)) for P in self.components_]
        images = (multiplied(X.reshape(len(X), *self.n_components_), back) + self.mean_).astype(X.dtype, copy=False)
        return images if self.image_shape is None else images.reshape(len(X), -1)

    def _sizes(self, order: int) -> list[Any]:
        """``n_components`` of each mode: a number, None for all there are, or "auto"."""
        given = self.n_components
        sizes = list(given) if isinstance(given, (tuple, list)) else [given] * order
        if len(sizes) != order:
            raise ValueError(f"n_components={given!r} is for {len(sizes)} modes; give one number for each of {order}")
        for size in sizes:
            if not (size is None or (isinstance(size, str) and size == "auto")):
                check_count("n_components", size)
        return sizes

    def _images(self, X: Any) -> np.ndarray:
        """X as a validated array of images."""
        if isinstance(X, np.ndarray) or not hasattr(X, "__dlpack__"):  # tensors are checked as rows
            check_in_memory(X, type(self).__name__)
            X = check_array(X, dtype=FLOATS, ensure_2d=False, allow_nd=True, input_name="X", estimator=self)
        if X.ndim < 3 or 0 in X.shape:
            what = f"X has shape {X.shape}, but {type(self).__name__} takes images, of shape (n_samples, n1, n2, ...)"
            raise ValueError(f"{what}; reshape X, or give image_shape=(n1, n2) to pass images as rows")
        return X

    @property
    def _n_features_out(self) -> int:
        return prod(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.input_tags.three_d_array = self.image_shape is None
        return tags


def multiplied(T: np.ndarray, modes: Modes) -> np.ndarray:
    """Each sample, with every mode multiplied by its matrix."""
    for axis, P in enumerate(modes, start=1):
        if P is not None:
            T = np.moveaxis(np.moveaxis(T, axis, -1) @ P.T, -1, axis)
    return T


class FeatureSelector(SelectorMixin, Reducer):
    """Base of the scores: a score says what each feature is worth, and this class selects features by it.

    A method also writes ``_scores(data, problem)``, which returns the scores, and which features vary.

    Parameters
    ----------
    ... : As in :class:`lapwing.LaplacianScore`

    Examples
    --------
    A score by the range of the features:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graphs import KNN
    >>> from lapwing.reducers import FeatureSelector
    >>> class Narrow(FeatureSelector):
    ...     default_graph = KNN
    ...     def _scores(self, data, problem):
    ...         ranges = np.ptp(data.X, axis=0)
    ...         return ranges, ranges > 0
    >>> Narrow(2).fit(load_iris().data).get_support(indices=True)
    array([1, 3])
    """

    n_features_to_select: int | None = None
    preset: str = "measured"
    verbose: bool | None = None

    _scores: ClassVar[Any]
    _largest: ClassVar[bool] = False  # whether large scores are the good ones
    _choices: ClassVar[dict[str, tuple]] = {"normalize": ("auto", None, "degree"), "constraint": ("degree", "identity")}
    _takes_tensors = _takes_weights = _takes_sums = _takes_blocks = True
    __metadata_request__fit: ClassVar[dict] = {"sample_weight": None}  # ``fit`` takes it where graphs are of classes

    def _map(self, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> Data:
        return data

    def _solve(self, F: Data, data: Data, problem: Problem, graphs: GraphFacts, chosen: Settings) -> tuple[Any, ...]:
        k = self.n_features_to_select
        k = k if k is None else check_count("n_features_to_select", k)
        scores, varying = self._scores(data, problem)
        most = int(varying.sum())
        if most == 0:
            raise RankError("X is constant: no feature varies, or so little that rounding hides it")
        if k is not None and k > most:
            what = f"n_features_to_select={k} is more than the {most} of {varying.size} features that vary"
            raise RankError(f"{what}; use n_features_to_select={most} or less")
        return scores, varying, min(max(1, varying.size // 2), most) if k is None else k

    def _store(self, data: Data, F: Data, problem: Problem, graphs: GraphFacts, found: Any) -> None:
        scores, varying, k = found
        mantissa, exponent = np.frexp(-scores if self._largest else scores)
        best_first = np.lexsort((np.ldexp(np.round(mantissa, DIGITS), exponent), ~varying))
        self.n_features_to_select_ = self.settings_["n_features_to_select"] = k
        self.scores_ = scores
        self.support_ = np.isin(np.arange(scores.size), best_first[:k])
        del self.scale_  # columns are never divided

    @takes_tensors
    def transform(self, X: Any) -> Any:
        """The selected features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Or whatever :meth:`fit` takes.

        Returns
        -------
        array of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        if type(X).__module__.partition(".")[0] not in KINDS:
            return super().transform(X)
        chosen = np.flatnonzero(self.support_)
        with verbosity(self.verbose):
            return validated(self, X, fitting=False, in_blocks=True).apply(lambda rows: rows.X[:, chosen], chosen.size)

    inverse_transform = takes_tensors(SelectorMixin.inverse_transform)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = self.support_
        return import_module("..device", __package__).host(mask) if is_foreign(mask) else mask
