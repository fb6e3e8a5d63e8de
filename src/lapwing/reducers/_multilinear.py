"""The multilinear map: one matrix per mode, so that an image is never flattened into a vector."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from .._validation import check_choice, check_count, check_in_memory, check_not_negative, check_squares
from ..devices import host, is_tensor, to_numpy
from ..graphs import Graph
from ..maps import DeviceTensorMap, TensorMap, multiplied, rounding
from ..neighbors import DeviceRows
from ..problem import ORTHOGONAL, Problem, laplacian_sum
from ..rows import Rows
from ..solvers import RankError, Solution, fix_signs, single_blas_thread, solve
from ._base import DTYPES, Graphs, Reducer
from ._places import checked, shared_place
from ._projecting import cancelled, of_equal_trace
from ._rules import NORMALIZATIONS

AUTO = 2  # n_components="auto" is this many directions per mode, where there are as many


class MultilinearReducer(ClassNamePrefixFeaturesOutMixin, Reducer):
    """Base of the multilinear methods. A method says what the problem is, and this class solves it, one mode after the other.

    See :class:`Reducer` for what a method writes.

    Parameters
    ----------
    n_components, graph, penalty, max_iter, tol, image_shape, flatten, scaling, normalize
        As in :class:`lapwing.TSA`.

    Examples
    --------
    A method of your own:

    >>> from sklearn.datasets import load_digits
    >>> from lapwing.graphs import KNN
    >>> from lapwing.operators import identity
    >>> from lapwing.problem import Problem
    >>> from lapwing.reducers import MultilinearReducer
    >>> class SmoothImages(MultilinearReducer):
    ...     "Small images that differ little between neighbours, beside how much they vary."
    ...     def default_graph(self, n_neighbors):
    ...         return KNN(n_neighbors)
    ...     def _problem(self, data, graphs):
    ...         return Problem(self._terms(data, graphs), identity(data.n))
    >>> SmoothImages(3, graph=7).fit_transform(load_digits().images[:300]).shape
    (300, 3, 3)
    """

    _takes_sparse: ClassVar[bool] = False
    _takes_tensors: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int | str | Sequence[int | str | None] | None = "auto",
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        penalty: Graph | int | ArrayLike | None = None,
        max_iter: int = 3,
        tol: float = 1e-6,
        image_shape: Sequence[int] | None = None,
        flatten: bool = False,
        scaling: str = "unit",
        normalize: str | None = "auto",
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

    def _prepared(self, X: Any, y: Any, weights: Any = None) -> tuple[Rows, Graphs]:
        self._check_parameters()
        given, X = X, self._images(X, fitting=True)
        self._sizes(X.ndim - 1)
        if not is_tensor(X):
            check_squares(X)
        data = (DeviceRows if is_tensor(X) else Rows)(X.reshape(len(X), -1), y)
        data.sample_shape, graphs = tuple(X.shape[1:]), self._graphs(len(X))
        if graphs.beside_columns(data.named(given)).size:
            raise ValueError(
                f"graph={graphs.graph!r} has columns beside the features, and images have none; leave beside=True out"
            )
        return data, graphs

    def _map(self, data: Rows, graphs: Graphs) -> TensorMap:
        shape = data.sample_shape or ()
        if isinstance(data, DeviceRows):
            return DeviceTensorMap(data.tensor.reshape(-1, *shape), data.mean.reshape(shape))
        return TensorMap(data.X.reshape(-1, *shape), data.mean.reshape(shape))

    def _solved_problems(self, solution: Any) -> list[Solution]:
        """The problem of each mode that was solved last."""
        return solution[1]

    def _store(self, F: TensorMap, data: Rows, problem: Problem, graphs: Graphs, solution: Any) -> None:
        super()._store(F, data, problem, graphs, solution)
        modes, solutions, self.n_iter_ = solution
        self.rank_ = tuple(found.rank for found in solutions)
        self.n_components_ = tuple(len(P) for P in modes)
        self.eigenvalues_ = [found.values for found in solutions]
        self.mean_ = F.mean.astype(F.dtype)
        self.components_ = [fix_signs(P).astype(F.dtype) for P in modes]

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
        place, X = shared_place(self, X)
        if place is not None:
            model, X = to_numpy(self), place.enter(X)
            return place.leave(model._projected_there(X) if is_tensor(X) else model.transform(X))
        X = self._images(X, fitting=False)
        Y = TensorMap(X, self.mean_).projected(self.components_).astype(X.dtype, copy=False)
        return Y.reshape(len(X), -1) if self.flatten or self.image_shape is not None else Y

    def _projected_there(self, X: Any) -> Any:
        """:meth:`transform` of a tensor, by a model whose arrays are NumPy arrays."""
        X = self._images(X, fitting=False)
        Y = DeviceTensorMap(X, self.mean_).projected(self.components_).to(X.dtype)
        return Y.reshape(len(X), -1) if self.flatten or self.image_shape is not None else Y

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
        place, X = shared_place(self, X)
        if place is not None:
            return place.leave(to_numpy(self).inverse_transform(host(X)))
        X = check_array(X, dtype=DTYPES, ensure_2d=False, allow_nd=True, estimator=self)
        if X.shape[1:] not in (self.n_components_, (self._n_features_out,)):
            raise ValueError(
                f"X has shape {X.shape}, but the projection has {self.n_components_} components; pass what transform returned"
            )
        back = [np.linalg.pinv(P.astype(np.float64)) for P in self.components_]
        images = (multiplied(X.reshape(len(X), *self.n_components_), back) + self.mean_).astype(X.dtype, copy=False)
        return images if self.image_shape is None else images.reshape(len(X), -1)

    def _check_parameters(self) -> None:
        check_count("max_iter", self.max_iter)
        check_choice("flatten", self.flatten, (False, True))
        check_choice("scaling", self.scaling, ("unit", "constraint"))
        check_choice("normalize", self.normalize, NORMALIZATIONS)
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
        """X as a validated array of images."""
        least = 2 if fitting else 1
        if not is_tensor(X):
            check_in_memory(X, type(self).__name__)
        if self.image_shape is not None:
            X = (
                checked(self, X, fitting=fitting)
                if is_tensor(X)
                else validate_data(self, X, dtype=DTYPES, ensure_min_samples=least, reset=fitting)
            )
            return X.reshape(len(X), *(_resolved(self.image_shape, X.shape[1]) if fitting else self.mean_.shape))
        if is_tensor(X):
            X = checked(self, X, fitting=fitting, n_dims=None)
        else:
            X = check_array(
                X,
                dtype=DTYPES,
                ensure_min_samples=least,
                ensure_2d=False,
                allow_nd=True,
                input_name="X",
                estimator=self,
            )
        if X.ndim < 3 or 0 in X.shape:
            raise ValueError(
                f"X has shape {X.shape}, but {type(self).__name__} takes images, an array of shape (n_samples, n1, n2) or of "
                "higher order; reshape X, or give image_shape=(n1, n2) to pass images as the rows of a 2-D array"
            )
        if fitting:
            self.n_features_in_ = prod(X.shape[1:])
        elif tuple(X.shape[1:]) != tuple(self.mean_.shape):
            raise ValueError(
                f"X holds images of shape {X.shape[1:]}, but {type(self).__name__} was fitted on images of shape "
                f"{self.mean_.shape}"
            )
        return X

    def _solve(
        self, F: TensorMap, data: Rows, problem: Problem, graphs: Graphs
    ) -> tuple[list[np.ndarray], list[Solution], int]:
        """Solve for one mode after the other, the last one first. The other modes are kept, and start as the identity."""
        sizes = self._sizes(F.mean.ndim)
        modes: list[Any] = [None] * len(sizes)
        solutions: list[Any] = [None] * len(sizes)
        with single_blas_thread():  # the matrices are as small as a side of an image
            for sweep in range(1, int(self.max_iter) + 1):
                before = list(modes)
                for m in reversed(range(len(sizes))):
                    modes[m] = None
                    solutions[m] = self._step(F, problem, modes, m, sizes[m])
                    P = solutions[m].vectors.T
                    modes[m] = P / np.linalg.norm(P, axis=1, keepdims=True) if self.scaling == "unit" else P
                if sweep > 1 and all(_change(P, Q) <= self.tol for P, Q in zip(before, modes, strict=True)):
                    break
        return modes, solutions, sweep

    def _step(self, F: TensorMap, problem: Problem, modes: list[Any], m: int, size: Any) -> Solution:
        """Solve the eigenproblem of mode m, for images that are projected along the other modes."""
        terms, constraint = problem.minimise, problem.subject_to
        assert constraint is not ORTHOGONAL
        by_trace = self.normalize == "trace"
        parts = [term.laplacian for term in terms] if by_trace else [laplacian_sum(terms)]
        *forms, B = F.forms([*parts, constraint], modes, m)
        A = of_equal_trace(terms, forms, partial(F.spread, modes))[0] if by_trace else forms[0]
        total = np.trace(B) + constraint.diagonal().sum() * np.sum(multiplied(F.mean[None], modes) ** 2)
        floor = rounding(F.dtype, total)
        if problem.degrees is None:
            floor = max(floor, cancelled(constraint, partial(F.spread, modes)))
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


def _change(P: np.ndarray, Q: np.ndarray) -> float:
    """How far PᵀP is from QᵀQ, as a share of it. The other modes see P only through PᵀP."""
    if P.shape != Q.shape:
        return np.inf
    return float(np.linalg.norm(P.T @ P - Q.T @ Q) / np.linalg.norm(P.T @ P))


def _resolved(image_shape: Any, n_features: int) -> tuple[int, ...]:
    """``image_shape`` with the side -1 filled in, where there is one."""
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
