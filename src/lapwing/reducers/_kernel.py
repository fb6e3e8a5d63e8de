"""The kernel map: a linear map of the features that a kernel stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_random_state

from .._validation import check_count
from ..blocks import Blocks, as_blocks, working_memory
from ..devices import Place, host, is_tensor, mapped
from ..graphs import Graph
from ..maps import ON_DEVICES, Coordinates, Kernel, KernelMap, Map, as_map
from ..neighbors import DeviceRows
from ..operators import Array, row_blocks
from ..rows import KernelRows, Rows, Units, divided
from ..solvers import fix_signs
from ._base import Graphs
from ._projecting import ProjectingReducer
from ._rules import Rules, width_share

LARGEST = 10_000  # the kernel matrix of up to this many samples is formed and decomposed, which takes about 5 GB
FEATURES = 1 << 25  # a device computes this many entries of a kernel matrix at a time
KERNELS_WITH_UNITS = ("rbf", "laplacian", "linear", "poly", "polynomial", "sigmoid")


class KernelReducer(ProjectingReducer):
    """Base of the kernel methods; see :class:`Reducer` for what a method writes.

    Parameters
    ----------
    n_components, graph, kernel, gamma, degree, coef0, kernel_params, landmarks, random_state, pca, center, scaling, ridge
        As in :class:`lapwing.KernelLPP`.
    normalize, standardize
        As in :class:`lapwing.KernelLPP`.

    Examples
    --------
    A method of your own:

    >>> from sklearn.datasets import load_iris
    >>> from lapwing.graphs import KNN
    >>> from lapwing.operators import identity
    >>> from lapwing.problem import Problem
    >>> from lapwing.reducers import KernelReducer
    >>> class Smooth(KernelReducer):
    ...     "Functions of unit variance that differ little between neighbours."
    ...     def default_graph(self, n_neighbors):
    ...         return KNN(n_neighbors)
    ...     def _problem(self, data, graphs):
    ...         return Problem(self._terms(data, graphs), identity(data.n))
    >>> Smooth(2, graph=7).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _takes_blocks: ClassVar[bool] = True
    may_weigh: ClassVar[bool] = True
    why_not_elsewhere: ClassVar[str] = (
        f"with landmarks= and one of the kernels {', '.join(ON_DEVICES)} it takes others, too."
    )
    # In the features of a kernel, few directions hold neighbourhoods and many hold classes (docs/defaults.md).
    _rules: ClassVar[Rules] = Rules(neighbor_energy=0.0, label_ridge=0.03, of_kernel=True)

    def __init__(
        self,
        n_components: float | str | None = 2,
        *,
        graph: Graph | int | str | ArrayLike | None = None,
        kernel: str | Callable[..., float] = "rbf",
        gamma: float | str | None = "auto",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict | None = None,
        landmarks: int | None = None,
        random_state: int | RandomState | None = None,
        pca: float | str | None = "auto",
        center: str | bool = "auto",
        scaling: str = "auto",
        ridge: float | str = "auto",
        normalize: str | None = "auto",
        standardize: str | bool = "auto",
    ):
        self.n_components = n_components
        self.graph = graph
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.random_state = random_state
        self.pca = pca
        self.center = center
        self.scaling = scaling
        self.ridge = ridge
        self.normalize = normalize
        self.standardize = standardize

    @property
    def _kernel(self) -> Kernel:
        """The kernel, with the width that the fit found, where it found one."""
        gamma = getattr(self, "gamma_", self.gamma)
        return Kernel(self.kernel, gamma, self.degree, self.coef0, self.kernel_params)

    def fitted_width(self, X: Array, share: float = 1.0, variance: float | None = None) -> float | None:
        """``gamma`` as a number for these samples. ``"auto"`` is ``share`` times ``"scale"``."""
        return Kernel(self.kernel, self.gamma).width(X, share, variance)

    def _units(self, graphs: Graphs) -> Units | None:
        """The units of columns. "auto" divides columns for kernels of distances and products, and not for angles and others.

        Histograms and kernels that a user writes are left alone too.
        """
        has_units = isinstance(self.kernel, str) and self.kernel in KERNELS_WITH_UNITS
        if self._kernel.is_precomputed or (self.standardize == "auto" and not has_units):
            return None
        return super()._units(graphs)

    def why_unweighted(self) -> str | None:
        if self.landmarks is not None:
            return f"landmarks={self.landmarks!r} are drawn among rows, whatever these weigh; leave one of the two out"
        return super().why_unweighted()

    @property
    def is_nested(self) -> bool:
        """Whether fewer components are the first of more. This is not so where each fit draws other landmarks."""
        return self.landmarks is None or self.random_state is not None

    def _as_blocks(self, X: Any, y: Any) -> Blocks | None:
        """X as rows in blocks; None where it is an array, as a memory map of any size is."""
        blocks = as_blocks(X, y)
        return None if blocks is None or blocks.is_array else blocks

    def _block_rows(self, blocks: Blocks, y: Any, graphs: Graphs, weights: np.ndarray | None = None) -> Rows:
        n, d = blocks.shape
        if n * d * blocks.dtype.itemsize > working_memory():
            raise ValueError(
                f"{type(self).__name__} needs all rows in memory, also with landmarks=, and X, of shape {blocks.shape}, is "
                f"larger than scikit-learn's working_memory; fit a part of the rows, use a linear method such as LPP, or, if "
                f"there is room, sklearn.set_config(working_memory={n * d * blocks.dtype.itemsize // 2**20 + 1})"
            )
        return self._rows(blocks.load(), blocks.labels(y), graphs)

    def _rows(self, X: Array, y: Any, graphs: Graphs) -> Rows:
        self._require_room(X)
        return (KernelRows if self._kernel.is_precomputed else Rows)(X, y)

    def _rows_there(self, X: Any, y: Any, graphs: Graphs) -> Rows:
        self._require_room(X)
        return super()._rows_there(X, y, graphs)

    def _reads_classes_alone(self, graphs: list[Graph]) -> bool:
        """Always False, because the kernel reads all rows."""
        return False

    def _taken(self, X: Array, rows: np.ndarray) -> Array:
        return X[np.ix_(rows, rows)] if self._kernel.is_precomputed else X[rows]

    def _require_room(self, X: Array) -> None:
        if self.landmarks is not None:
            check_count("landmarks", self.landmarks)
            if self._kernel.is_precomputed:
                raise ValueError(
                    f'landmarks={self.landmarks!r} are rows of X, and kernel="precomputed" has none; leave one out'
                )
            if self.landmarks > X.shape[0]:
                raise ValueError(
                    f"landmarks={self.landmarks} is more than the {X.shape[0]} samples; use fewer, or None"
                )
        elif X.shape[0] > LARGEST:
            raise ValueError(
                f"the kernel matrix of {X.shape[0]} samples would take {8e-9 * X.shape[0] ** 2:.0f} GB; give landmarks=, such as "
                "landmarks=1000"
            )

    def _map(self, data: Rows, graphs: Graphs) -> Map:
        """The kernel matrix of all rows, or the features of all rows from landmarks that are drawn once per fit."""
        variance = None if data.scale is None else 1.0  # the variance of each divided column
        if variance is None and data.weights is not None:
            mean = data.F.plain_mean
            variance = float(np.mean(data.F.deviations().values ** 2) + np.var(mean))
        share = width_share(graphs, data) if isinstance(self.gamma, str) else 1.0
        if isinstance(data, DeviceRows):
            return self._map_there(data, share, variance)
        X = data.X
        self.gamma_ = self.fitted_width(X, share, variance)
        kernel = self._kernel
        if self.landmarks is None:
            K = kernel(X)
            return KernelMap(K, self.kernel, X.dtype if kernel.is_precomputed else K.dtype, data.weights)
        drawn = self._drawn(X.shape[0])
        self.nystroem_ = self._from_landmarks(X[drawn].astype(np.float64), drawn)
        return as_map(self._features(X))

    def _drawn(self, n: int) -> np.ndarray:
        """The rows that are landmarks: those that scikit-learn would draw."""
        return check_random_state(self.random_state).permutation(n)[: self.landmarks]

    def _from_landmarks(self, basis: Array, drawn: np.ndarray) -> Nystroem:
        """The features of scikit-learn from landmarks, by its formula. Only their kernel matrix is computed here."""
        options = {"kernel_params": self.kernel_params} if callable(self.kernel) else self._kernel.options
        nystroem = Nystroem(self.kernel, n_components=self.landmarks, random_state=self.random_state, **options)
        U, values, Vt = np.linalg.svd(self._kernel(basis))
        nystroem.components_, nystroem.component_indices_, nystroem.n_features_in_ = basis, drawn, basis.shape[1]
        nystroem.normalization_ = U / np.sqrt(np.maximum(values, 1e-12)) @ Vt
        return nystroem

    def _features(self, X: Array) -> np.ndarray:
        """The features of rows, from landmarks."""
        return self._kernel(X, self.nystroem_.components_) @ self.nystroem_.normalization_.T

    def _map_there(self, data: DeviceRows, share: float, variance: float | None) -> Map:
        """The features of rows on a device, from the landmarks that scikit-learn would draw."""
        X = data.tensor
        if variance is None and isinstance(self.gamma, str):
            variance = float(X.double().var(correction=0))
        self.gamma_ = self.fitted_width(X, share, variance)
        drawn = self._drawn(len(X))
        basis = host(X[data.torch.from_numpy(drawn).to(X.device)]).astype(np.float64)
        self.nystroem_ = self._from_landmarks(basis, drawn)
        features = self._features_there(
            X, mapped(basis, Place(X).leave), mapped(self.nystroem_.normalization_, Place(X).leave)
        )
        if not bool(features.isfinite().all()):
            raise ValueError(f"kernel={self.kernel!r} gives NaN or infinity; scale X or change its parameters")
        return as_map(features)

    def _features_there(self, X: Any, basis: Any, normalization: Any) -> Any:
        step = max(1, FEATURES // len(basis))
        found = X.new_empty((len(X), len(basis)), dtype=basis.dtype)
        for start in range(0, len(X), step):
            part = X[start : start + step]
            found[start : start + step] = self._kernel.of_tensors(part, basis) @ normalization.T
        return found

    def _of_features(self, X: Any, scale: Any, components: Any) -> Any:
        X = X if scale is None else X / scale.to(X.dtype)
        features = self._features_there(X, self.nystroem_.components_, self.nystroem_.normalization_)
        return ((features - self.mean_) @ components.to(features.dtype).T).to(X.dtype)

    def _store_map(self, data: Rows, coordinates: Coordinates, V: np.ndarray) -> None:
        if data.beside is not None:  # columns that the kernel does not read become 0 when they are divided by infinity
            self.scale_ = np.ones(data.X.shape[1]) if self.scale_ is None else self.scale_.copy()
            self.scale_[data.beside] = np.inf
        if self.landmarks is not None:
            self.mean_ = coordinates.mean.astype(data.F.dtype)
            self.components_ = fix_signs(coordinates.back(V)).astype(data.F.dtype)
            return
        X = data.X
        dual, means = coordinates.back(V), coordinates.kernel_means
        assert means is not None
        each = dual if data.weights is None else dual / data.weights  # a row may stand for several samples
        signs = np.sign(np.sum(each * fix_signs(each), axis=1))
        if data.kept is not None and self._kernel.is_precomputed:  # columns of samples of weight 0 count for nothing
            dual, means = (_placed(part, data.kept, self.n_features_in_) for part in (dual, means))
        self.intercept_ = (signs * (dual @ means + coordinates.mean @ V)).astype(X.dtype)
        self.X_fit_ = None if self._kernel.is_precomputed else X.copy()
        self.dual_coef_ = np.ascontiguousarray(signs[:, None] * dual, dtype=X.dtype)

    def _projected(self, X: Array) -> np.ndarray:
        """``K(X, X_fit_) @ dual_coef_.T - intercept_``, or the projection of the features from landmarks."""
        if is_tensor(X):
            return self._of_features(X, self.scale_, self.components_)
        X = X if self.scale_ is None else divided(X, self.scale_)
        if self.landmarks is not None:
            return ((self._features(X) - self.mean_) @ self.components_.T).astype(X.dtype)
        Z = np.empty((X.shape[0], len(self.dual_coef_)), dtype=X.dtype)
        for rows in row_blocks(X.shape[0], self.dual_coef_.shape[1]):
            Z[rows] = self._kernel(X[rows], self.X_fit_) @ self.dual_coef_.T - self.intercept_
        return Z

    @property
    def _n_features_out(self) -> int:
        return len(self.components_ if self.landmarks is not None else self.dual_coef_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dual_coef_") or hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._kernel.is_precomputed
        tags.array_api_support = (
            self.landmarks is not None and isinstance(self.kernel, str) and self.kernel in ON_DEVICES
        )
        return tags


def _placed(values: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    """The values in some of n places along their last axis, and 0 in the others."""
    whole = np.zeros((*values.shape[:-1], n))
    whole[..., places] = values
    return whole
