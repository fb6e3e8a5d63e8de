"""The multilinear map: one matrix a mode, so that an image is never stretched into a vector."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_choice, check_count, check_not_negative
from ..graphs import Sample
from ..operators import Structured, row_blocks
from ..problem import ORTHOGONAL, Problem, laplacian_sum
from ..solvers import RankError, Solution, fix_signs, single_blas_thread, solve
from ._base import Reducer, combined, connected_components
from ._principal import OUT_OF_RANGE, rounding

DTYPES = [np.float64, np.float32]
AUTO = 2  # directions a mode of n_components="auto", where there are as many

Modes = Sequence[np.ndarray | None]  # a matrix (l, n_m) for each mode, None for the identity


class MultilinearReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the multilinear methods; they say what the problem is, this class solves it for each mode in turn.

    Subclasses write ``_problem(sample)`` and ``_default_graph(n_neighbors)``.
    """

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        graph: Any = None,
        penalty: Any = None,
        max_iter: int = 3,
        tol: float = 1e-6,
        image_shape: Any = None,
        flatten: bool = False,
        scaling: str = "unit",
        normalize: str | None = None,
    ):
        self.n_components = n_components
        self.graph = graph
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol
        self.image_shape = image_shape
        self.flatten = flatten
        self.scaling = scaling
        self.normalize = normalize

    def fit(self, X: Any, y: Any = None) -> MultilinearReducer:
        """Learn one projection a mode.

        Parameters
        ----------
        X : array-like of shape (n_samples, n1, n2, ...), or (n_samples, n_features) with ``image_shape``
        y : array-like of shape (n_samples,), default=None
            Class labels, -1 where unknown. They act only through graphs that read them.

        Returns
        -------
        self
        """
        self._forget()
        self._check_parameters()
        X = self._images(X, fitting=True)
        sizes = self._sizes(X.ndim - 1)
        sample = Sample(X.reshape(len(X), -1), y)
        graph = self._graph(sample)
        try:
            with np.errstate(over="raise"):
                problem = self._problem(sample)
                mean = sample.mean.reshape(X.shape[1:])
                with single_blas_thread():  # matrices as small as a side of an image
                    modes, solutions, n_iter = self._alternate(X, mean, problem, sizes)
        except FloatingPointError as error:
            raise ValueError(OUT_OF_RANGE) from error
        self.graph_ = self._own(graph)
        self.n_connected_components_ = connected_components(graph, problem.minimise, sample)
        self.n_iter_ = n_iter
        self.rank_ = tuple(solution.rank for solution in solutions)
        self.n_components_ = tuple(len(P) for P in modes)
        self.eigenvalues_ = [solution.values for solution in solutions]
        self.mean_ = mean.astype(X.dtype)
        self.components_ = [fix_signs(P).astype(X.dtype) for P in modes]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """``X - mean_``, each mode multiplied by its matrix.

        Parameters
        ----------
        X : array-like of shape (n_samples, n1, n2, ...), or (n_samples, n_features) with ``image_shape``

        Returns
        -------
        ndarray of shape (n_samples, l1, l2, ...), or (n_samples, l1 * l2 * ...) with ``flatten`` or ``image_shape``
        """
        check_is_fitted(self)
        X = self._images(X, fitting=False)
        Y = coordinates(X, self.mean_, self.components_).astype(X.dtype, copy=False)
        return Y.reshape(len(X), -1) if self.flatten or self.image_shape is not None else Y

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Of the images with the given coordinates, the nearest to ``mean_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, l1, l2, ...) or (n_samples, l1 * l2 * ...)

        Returns
        -------
        ndarray of shape (n_samples, n1, n2, ...), or (n_samples, n_features) with ``image_shape``
        """
        check_is_fitted(self)
        X = check_array(X, dtype=DTYPES, ensure_2d=False, allow_nd=True, estimator=self)
        if X.shape[1:] not in (self.n_components_, (self._n_features_out,)):
            raise ValueError(
                f"X has shape {X.shape}, but the projection has {self.n_components_} components; pass what transform returned"
            )
        back = [np.linalg.pinv(P.astype(np.float64)) for P in self.components_]
        images = (project(X.reshape(len(X), *self.n_components_), back) + self.mean_).astype(X.dtype, copy=False)
        return images if self.image_shape is None else images.reshape(len(X), -1)

    def _check_parameters(self) -> None:
        check_count("max_iter", self.max_iter)
        check_choice("flatten", self.flatten, (False, True))
        check_choice("scaling", self.scaling, ("unit", "constraint"))
        check_choice("normalize", self.normalize, (None, "trace"))
        check_not_negative("tol", self.tol)

    def _sizes(self, order: int) -> list[Any]:
        """``n_components`` of each mode: a number, None for all there are, or "auto"."""
        given = self.n_components
        sizes = list(given) if isinstance(given, (tuple, list)) else [given] * order
        if len(sizes) != order:
            raise ValueError(
                f"n_components={given!r} is for {len(sizes)} modes, but each sample of X has {order}; give one number for all "
                "of them, or one for each"
            )
        for size in sizes:
            if not (size is None or (isinstance(size, str) and size == "auto")):
                check_count("n_components", size)
        return sizes

    def _images(self, X: Any, *, fitting: bool) -> np.ndarray:
        """X as an array of images, validated."""
        least = 2 if fitting else 1
        if self.image_shape is not None:
            X = validate_data(self, X, dtype=DTYPES, ensure_min_samples=least, reset=fitting)
            return X.reshape(len(X), *(_resolved(self.image_shape, X.shape[1]) if fitting else self.mean_.shape))
        X = check_array(
            X, dtype=DTYPES, ensure_min_samples=least, ensure_2d=False, allow_nd=True, input_name="X", estimator=self
        )
        if X.ndim < 3 or 0 in X.shape:
            raise ValueError(
                f"X has shape {X.shape}, but {type(self).__name__} takes images, an array of shape (n_samples, n1, n2) or of "
                "higher order; reshape X, or give image_shape=(n1, n2) to pass images as the rows of a 2-D array"
            )
        if fitting:
            self.n_features_in_ = prod(X.shape[1:])
        elif X.shape[1:] != self.mean_.shape:
            raise ValueError(
                f"X holds images of shape {X.shape[1:]}, but {type(self).__name__} was fitted on images of shape "
                f"{self.mean_.shape}"
            )
        return X

    def _alternate(
        self, X: np.ndarray, mean: np.ndarray, problem: Problem, sizes: list[Any]
    ) -> tuple[list[np.ndarray], list[Solution], int]:
        """Solve for one mode after the other, the last first, while the rest stay as they are: at the start, the identity."""
        modes: list[Any] = [None] * len(sizes)
        solutions: list[Any] = [None] * len(sizes)
        for sweep in range(1, int(self.max_iter) + 1):
            before = list(modes)
            for m in reversed(range(len(sizes))):
                modes[m] = None
                solutions[m] = self._step(X, mean, problem, modes, m, sizes[m])
                P = solutions[m].vectors.T
                modes[m] = P / np.linalg.norm(P, axis=1, keepdims=True) if self.scaling == "unit" else P
            if sweep > 1 and all(_change(P, Q) <= self.tol for P, Q in zip(before, modes, strict=True)):
                break
        return modes, solutions, sweep

    def _step(self, X: np.ndarray, mean: np.ndarray, problem: Problem, others: Modes, m: int, size: Any) -> Solution:
        """The eigenproblem of mode m, the images being projected along the other modes."""
        terms, constraint = problem.minimise, problem.subject_to
        assert constraint is not ORTHOGONAL
        parts = [laplacian_sum(terms)] if self.normalize is None else [term.laplacian for term in terms]
        *forms, B = mode_forms([*parts, constraint], coordinates(X, mean, others), m)
        A = combined(terms, forms, self.normalize)
        squares = np.trace(B) + constraint.diagonal().sum() * np.sum(project(mean[None], others) ** 2)
        floor = rounding(X.dtype, squares)
        automatic = isinstance(size, str)
        try:
            return solve(A, B, min(AUTO, len(B)) if automatic else size, floor=floor)
        except RankError as error:
            if automatic:
                return solve(A, B, None, floor=floor)
            raise RankError(f"mode {m + 1} of the images, of size {len(B)}: {error}") from error

    @property
    def _n_features_out(self) -> int:
        return prod(self.n_components_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.input_tags.three_d_array = self.image_shape is None
        return tags


def project(T: np.ndarray, modes: Modes) -> np.ndarray:
    """Each sample's modes multiplied by their matrices."""
    for axis, P in enumerate(modes, start=1):
        if P is not None:
            T = np.moveaxis(np.moveaxis(T, axis, -1) @ P.T, -1, axis)
    return T


def coordinates(X: np.ndarray, mean: np.ndarray, modes: Modes) -> np.ndarray:
    """``X - mean``, projected; in float64, a block of samples at a time."""
    shape = [size if P is None else len(P) for size, P in zip(mean.shape, modes, strict=True)]
    Y = np.empty((len(X), *shape))
    for rows in row_blocks(len(X), mean.size):
        Y[rows] = project(np.subtract(X[rows], mean, dtype=np.float64), modes)
    return Y


def mode_forms(matrices: Sequence[Structured], Y: np.ndarray, m: int) -> list[np.ndarray]:
    r""":math:`\sum_{ij} M_{ij} Y_i^{(m)} Y_j^{(m)\top}` for each n x n matrix M, :math:`Y_i^{(m)}` being sample i with mode m
    as its rows.

    Seen from mode m a sample is a bundle of vectors, and M couples those in the same place of all samples: a product with M
    along the samples, for as many places at a time as a block holds, is all it takes.
    """
    n, size = len(Y), Y.shape[m + 1]
    bundles = np.moveaxis(Y, m + 1, -1).reshape(n, -1, size)
    totals = [np.zeros((size, size)) for _ in matrices]
    for places in row_blocks(bundles.shape[1], n * size):
        block = np.ascontiguousarray(bundles[:, places])
        for M, total in zip(matrices, totals, strict=True):
            total += block.reshape(-1, size).T @ (M @ block).reshape(-1, size)
    return [(total + total.T) / 2 for total in totals]


def _change(P: np.ndarray, Q: np.ndarray) -> float:
    """How far PᵀP, which is all that the other modes see of P, is from QᵀQ; as a share of it."""
    if P.shape != Q.shape:
        return np.inf
    return float(np.linalg.norm(P.T @ P - Q.T @ Q) / np.linalg.norm(P.T @ P))


def _resolved(image_shape: Any, n_features: int) -> tuple[int, ...]:
    """``image_shape`` with the side -1, if there is one, filled in."""
    sides = tuple(image_shape) if isinstance(image_shape, (tuple, list)) else ()
    whole = all(
        isinstance(side, Integral) and not isinstance(side, bool) and (side == -1 or int(side) > 0) for side in sides
    )
    if len(sides) < 2 or not whole or sides.count(-1) > 1:
        raise ValueError(
            f"image_shape={image_shape!r} must be a tuple of two or more sides, such as (32, 32); one of them may be -1, which "
            "stands for what is left"
        )
    known = prod(side for side in sides if side != -1)
    if n_features % known or (-1 not in sides and n_features != known):
        raise ValueError(
            f"image_shape={image_shape!r} does not fit X, which has {n_features} features; the product of the sides must be that"
        )
    return tuple(n_features // known if side == -1 else int(side) for side in sides)
