"""The multilinear map: one matrix per mode, so that an image is never flattened into a vector."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from .. import auto
from .._arrays import row_blocks
from .._validation import check_count, check_in_memory, check_not_negative
from ..data import FLOATS, Data, validated
from ..graphs import Graph
from ..maps import CONSTANT, ROUNDING
from ..operators import Structured
from ..problem import ORTHOGONAL, Problem, laplacian_sum
from ..solvers import RankError, Solution, certify, fix_signs, single_blas_thread, solve
from .base import Reducer, takes_tensors
from .projecting import of_equal_trace, rounding_of_form

AUTO_DIRECTIONS = 2  # n_components="auto" is this many directions per mode, where there are as many
Modes = list[Any]  # a matrix (l, n_m) for each mode, None for the identity


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
    tol: float = 1e-6
    image_shape: Sequence[int] | None = None
    flatten: bool = False
    scaling: str = "unit"
    center: str | bool = "auto"
    normalize: str | None = "auto"
    preset: str = "measured"
    verbose: bool | None = None

    _takes_sparse: ClassVar[bool] = False
    _takes_tensors: ClassVar[bool] = True
    _choices: ClassVar[dict[str, tuple]] = {
        "scaling": ("unit", "constraint"),
        "center": ("auto", "mean", False),
        "flatten": (False, True),
    }
    _rules: ClassVar[auto.Rules] = auto.Rules(paper={"center": False})

    def _data(self, X: Any, y: Any = None, **weights: Any) -> Data:  # type: ignore[override]
        """Images as rows that know the shape of an image."""
        check_count("max_iter", self.max_iter)
        check_not_negative("tol", self.tol)
        shape = self.image_shape
        if shape is None:
            X = self._images(X)
            shape, X = X.shape[1:], X.reshape(len(X), -1)
        data = validated(self, X, y, **weights)
        with suppress(TypeError, ValueError):
            data.image_shape = np.empty(data.d).reshape(shape).shape  # the side -1 is what is left
        if len(data.image_shape or ()) < 2:
            raise ValueError(
                f"image_shape={shape!r} must be a tuple of two or more sides, such as (32, 32), whose product is the number of "
                f"columns of X, which has {data.d} features"
            )
        self._sizes(len(data.image_shape))
        return data

    def _without(self, data: Data, graphs: auto.GraphFacts) -> Data:
        raise ValueError(f"graph={self.graph!r} has columns beside the features, and images none; use beside=False")

    def _map(self, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings) -> Images:
        mean = np.zeros(data.d) if self.center is False else data.mean()
        return Images(data.X.reshape(-1, *data.image_shape), mean.reshape(data.image_shape), [])

    def _solve(
        self, F: Images, data: Data, problem: Problem, graphs: auto.GraphFacts, chosen: auto.Settings
    ) -> tuple[list[Solution], Modes, int]:
        """The solution of each mode, their matrices, and how often each was found. All start as the identity.

        One mode is solved for after the other, the last one first, while the other modes are kept.
        """
        sizes = self._sizes(F.mean.ndim)
        modes: Modes = [None] * len(sizes)
        solutions: list[Any] = [None] * len(sizes)
        with single_blas_thread():  # the matrices are as small as a side of an image
            for sweep in range(1, int(self.max_iter) + 1):
                before = list(modes)
                for m in reversed(range(len(sizes))):
                    modes[m] = None
                    solutions[m] = self._step(F._replace(modes=modes, m=m), problem, sizes[m])
                    P = solutions[m].vectors.T
                    modes[m] = P / np.linalg.norm(P, axis=1, keepdims=True) if self.scaling == "unit" else P
                if sweep > 1 and all(_change(P, Q) <= self.tol for P, Q in zip(before, modes, strict=True)):
                    break
        return solutions, modes, sweep

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

    def _store(self, data: Data, F: Images, problem: Problem, graphs: auto.GraphFacts, found: Any) -> None:
        del self.scale_  # columns are never divided
        solutions, modes, self.n_iter_ = found
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
            raise ValueError(
                f"X has shape {X.shape}, but {type(self).__name__} takes images, an array of shape (n_samples, n1, n2) or of "
                "higher order; reshape X, or give image_shape=(n1, n2) to pass images as the rows of a 2-D array"
            )
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


def _change(P: np.ndarray, Q: np.ndarray) -> float:
    """How far PᵀP is from QᵀQ, as a share of it. The other modes see P only through PᵀP."""
    if P.shape != Q.shape:
        return np.inf
    return float(np.linalg.norm(P.T @ P - Q.T @ Q) / np.linalg.norm(P.T @ P))
